"""Poisson-gamma counts: exact epsilons by enumeration, laws against recurrences, exact draws."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.negative_binomial_sums import log_coefficient, record_ratios
from bayesdp.mechanisms.counts.poisson_gamma import added, removed, worst_areas
from bayesdp.mechanisms.draws import exact_comparison
from bayesdp.mechanisms.draws.negative_binomial import (
    draws_of_a_sum,
    log_negative_binomial,
    negative_binomial_draws,
)
from bayesdp.privacy.profile import hockey_stick

Counts = bdp.mechanisms.PoissonGammaMechanism
ADD_REMOVE = bdp.Neighbours.ADD_REMOVE
CASES = [
    ((0.5, 2.0, 7.0), (3.0, 3.0, 3.0), 4),
    ((0.5, 2.0, 7.0), (1.0, 1.5, 4.0), 3),
    ((5.0, 0.1), (1.0, 2.0), 6),
    ((1.0, 2.0, 4.0), (1.5, 3.0, 6.0), 3),
    ((30.0, 1.0, 0.01), (1.0, 20.0, 1.25), 4),
]


def tables(total: int, k: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(total + 1), repeat=k) if sum(c) == total]


def log_laws(n: int, expected, prior, total: int) -> dict[tuple[int, ...], list[mp.mpf]]:
    """Every data set's law: gamma-Poisson weights of all outputs, divided by their sum."""
    found = {}
    for x in tables(n, len(prior)):
        weights = []
        for z in tables(total, len(prior)):
            weight = mp.mpf(1)
            for a, e, c, k in zip(prior, expected, x, z, strict=True):
                p = mp.mpf(e) / (mp.mpf(a) + 2 * mp.mpf(e))
                weight *= mp.rf(mp.mpf(a) + c, k) * p**k / mp.factorial(k)
            weights.append(weight)
        whole = mp.fsum(weights)
        found[x] = [mp.log(w / whole) for w in weights]
    return found


def largest(laws, others, distance: int) -> mp.mpf:
    return max(
        p - q
        for x, y in itertools.product(laws, others)
        if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == distance
        for p, q in zip(laws[x], others[y], strict=True)
    )


@pytest.mark.parametrize(("expected", "prior", "total"), CASES)
def test_epsilons_with_a_fixed_total(expected, prior, total):
    """No data set of up to 4 events exceeds them, and they are approached, or attained at one."""
    made = Counts(None, expected, prior, total)
    with mp.workdps(40):
        laws = [log_laws(n, expected, prior, total) for n in range(4)]
        replaced = [largest(laws[n], laws[n], 2) for n in range(1, 4)]
        plus = max(largest(laws[n + 1], laws[n], 1) for n in range(3))
        minus = max(largest(laws[n], laws[n + 1], 1) for n in range(3))
        k, far = len(prior), 10**9
        # Events elsewhere in their thousands of millions: what the suprema are approached by.
        near = []
        for i, j in itertools.permutations(range(k), 2):
            ratio = mp.log(1 + mp.mpf(total) / mp.mpf(prior[i]))
            near.append((ratio, i, j, far))
    claim, moved = made.guarantee().epsilon, made.guarantee(neighbours=ADD_REMOVE).epsilon
    assert float(max(replaced)) <= claim
    assert max(float(replaced[0]), float(max(near)[0])) == pytest.approx(claim, rel=1e-8)
    assert float(plus) <= moved
    assert float(minus) == pytest.approx(made.removal_guarantee().epsilon, rel=1e-8)
    assert moved == pytest.approx(max(float(max(near)[0]), float(minus)), rel=1e-8)


def test_the_supremum_over_other_events_is_approached():
    expected, prior, total = (0.5, 2.0, 7.0), (1.0, 1.5, 4.0), 3
    with mp.workdps(40):
        base, found = [0, 0, 10**9], []
        weights = {}
        for move in (0, 1):
            x = [b + (move == i) for i, b in enumerate(base)]
            weights[move] = [
                mp.fprod(
                    mp.rf(mp.mpf(a) + c, k) * (mp.mpf(e) / (a + 2 * mp.mpf(e))) ** k
                    / mp.factorial(k)
                    for a, e, c, k in zip(prior, expected, x, z, strict=True)
                )
                for z in tables(total, 3)
            ]  # fmt: skip
        for p, q in zip(*weights.values(), strict=True):
            found.append(mp.log(p / mp.fsum(weights[0]) * mp.fsum(weights[1]) / q))
    assert float(max(found)) == pytest.approx(math.log(1 + 3 / 1.0), rel=1e-7)


def test_proportional_priors_are_dirichlet_multinomial():
    expected, prior = (1.0, 2.5, 4.0), (2.0, 5.0, 8.0)
    counts = Counts(6, expected, prior, 6)
    table = bdp.mechanisms.DirichletMultinomialMechanism(6, 6, 3, prior)
    assert counts.guarantee().epsilon == pytest.approx(table.guarantee().epsilon, rel=1e-8)
    outputs, x = counts.outputs(), np.array([1, 3, 2])
    assert counts.logp(outputs, x) == pytest.approx(table.logp(outputs, x), abs=1e-11)


def test_a_random_total_has_no_pure_epsilon():
    made = Counts(None, (3.0, 1.0), 50.0, None)
    promise = made.guarantee()
    assert promise.epsilon == math.inf
    assert any("unbounded" in text for text in promise.assumptions)
    z = np.stack([np.array([10**3, 10**5, 10**7]), np.zeros(3, int)], axis=-1)
    ratios = made.logp(z, np.array([1, 0])) - made.logp(z, np.array([0, 0]))
    assert np.all(np.diff(ratios) > 1)


@pytest.mark.parametrize(("a", "e"), [(1.0, 0.5), (20.0, 3.0), (400.0, 80.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.3, 1.5])
def test_divergences_of_one_event_more_or_less(a: float, e: float, epsilon: float):
    """Against sums over the counts in 40 digits; more events cost less."""
    p = e / (a + 2 * e)
    truth = {}
    with mp.workdps(40):
        P, G = mp.mpf(p), mp.exp(mp.mpf(epsilon))
        for r in (a, a + 1):
            law = [(1 - P) ** r]
            for k in range(1500):
                law.append(law[-1] * P * (r + k) / (k + 1))
            truth[r] = law
        plus = mp.fsum(max(f - G * g, 0) for f, g in zip(truth[a + 1], truth[a], strict=True))
        minus = mp.fsum(max(f - G * g, 0) for f, g in zip(truth[a], truth[a + 1], strict=True))
    assert added(a, p, epsilon) == pytest.approx(float(plus), rel=1e-10, abs=1e-300)
    assert removed(a, p, epsilon) == pytest.approx(float(minus), rel=1e-10, abs=1e-300)
    assert added(a + 1, p, epsilon) <= added(a, p, epsilon) * (1 + 1e-12)
    assert removed(a + 1, p, epsilon) <= removed(a, p, epsilon) * (1 + 1e-12)


def test_only_areas_with_a_small_prior_and_a_large_chance_count():
    """All areas' divergences, in both directions, against those of the undominated ones."""
    rng = np.random.default_rng(7)
    a, e = rng.uniform(1, 60, 40), rng.gamma(0.7, 20, 40)
    p = e / (a + 2 * e)
    few = worst_areas(a, p)
    assert 1 < len(few) < 20
    assert worst_areas(np.full(3, 2.0), np.array([0.1, 0.3, 0.2])) == [(2.0, 0.3)]
    assert len(worst_areas(np.full(3, 2.0), np.full(3, 0.2))) == 1
    for epsilon in (0.0, 0.1, 0.7):
        for divergence in (added, removed):
            every = max(divergence(float(u), float(v), epsilon) for u, v in zip(a, p, strict=True))
            assert max(divergence(u, v, epsilon) for u, v in few) == every


@pytest.mark.parametrize("epsilon", [0.4, 0.8, 1.6])
def test_replacing_an_event_keeps_the_bound(epsilon: float):
    made = Counts(None, (2.0, 0.5), 9.0, None)
    z = np.array(list(itertools.product(range(80), range(30))))
    claim = made.profile(bdp.Neighbours.REPLACE_ONE).delta(epsilon)
    for x, y in itertools.permutations([(1, 0), (0, 1)], 2):
        truth = hockey_stick(made.logp(z, np.array(x)), made.logp(z, np.array(y)), epsilon)
        assert truth <= claim
    assert claim < 1


@pytest.mark.parametrize(
    ("k", "total", "a"),
    [(2, 3, 1.0), (2, 60, 1.0), (3, 150, 2.5), (20, 100, 60.0), (2, 200, 1.0), (4, 400, 900.0)],
)
def test_coefficients_against_their_recurrence(k: int, total: int, a: float):
    """m c_m = sum_l (sum_i r_i p_i^l) c_{m-l}, in 50 digits."""
    expected = np.random.default_rng(1).gamma(1, total / k, k) + 0.01
    r, p = np.full(k, a), expected / (a + 2 * expected)
    with mp.workdps(50):
        powers = [
            mp.fsum(mp.mpf(float(w)) * mp.mpf(float(q)) ** s for w, q in zip(r, p, strict=True))
            for s in range(total + 1)
        ]
        c = [mp.mpf(1)]
        for m in range(1, total + 1):
            c.append(mp.fsum(powers[s] * c[m - s] for s in range(1, m + 1)) / m)
        ratios = [
            float(
                mp.fsum(mp.mpf(float(q)) ** s * c[total - s] for s in range(total + 1)) / c[total]
            )
            for q in p
        ]
    assert log_coefficient(r, p, total) == pytest.approx(float(mp.log(c[total])), abs=1e-11)
    assert record_ratios(r, p, total) == pytest.approx(ratios, rel=1e-12)


@pytest.mark.parametrize(("r", "p"), [(1.0, 0.5), (1.0, 0.02), (2.5, 0.9), (40.0, 0.3), (900, 0.4)])
def test_negative_binomial_draws_follow_the_law(r: float, p: float):
    """Chi-square, 60,000 draws, false alarm 1e-7."""
    with bdp.reproducible(3):
        z = negative_binomial_draws(
            np.full(60_000, r), np.full(60_000, p), lambda i: (Fraction(r), Fraction(p))
        )
    k = np.arange(z.max() + 1)
    expected = z.size * np.exp(log_negative_binomial(k, r, p))
    likely = expected >= 10
    seen = np.append(np.bincount(z)[likely], z.size - np.bincount(z)[likely].sum())
    expected = np.append(expected[likely], max(z.size - expected[likely].sum(), 1.0))
    assert stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), likely.sum()) > 1e-7


@pytest.mark.slow
def test_exact_decisions_agree_with_those_in_floats(monkeypatch: pytest.MonkeyPatch):
    made, x = Counts(None, (0.5, 2.0, 7.0), (1.5, 2.0, 3.0), 9), np.array([0, 2, 5])
    free = Counts(None, (0.5, 2.0, 7.0), (1.5, 2.0, 3.0), None)
    drawn = []
    for slack in (exact_comparison.SLACK, 1.0):
        monkeypatch.setattr(exact_comparison, "SLACK", slack)
        with bdp.reproducible(2):
            drawn.append((made.release(x, 1), free.release(x, 8)))
    assert np.array_equal(drawn[0][0], drawn[1][0])
    assert np.array_equal(drawn[0][1], drawn[1][1])


@pytest.mark.slow
def test_many_areas_given_their_sum():
    """Each area's mean and variance, where all p are equal; false alarm below 1e-6."""
    k, total = 400, 20_000
    r, p = np.random.default_rng(4).gamma(4, 20, k) + 1, np.full(400, 0.375)
    with bdp.reproducible(4):
        z = draws_of_a_sum(
            r, p, lambda i: (Fraction(float(r[i])), Fraction(float(p[i]))), total, 100
        )
    assert np.all(z.sum(axis=1) == total)
    share = r / r.sum()
    variance = total * share * (1 - share) * (r.sum() + total) / (r.sum() + 1)
    score = (z.mean(axis=0) - total * share) / np.sqrt(variance / len(z))
    assert np.max(np.abs(score)) < 7
    assert np.mean(z.var(axis=0) / variance) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_calibration_is_tight_and_on_the_safe_side(epsilon: float, delta: float):
    total = 200 if delta == 0 else None
    expected = (3.0, 20.0, 80.0, 97.0)
    made = Counts.calibrate(
        n=None, expected=expected, total=total, epsilon=epsilon, copies=2, delta=delta
    )
    assert made.guarantee(copies=2, delta=delta).epsilon <= epsilon
    smaller = Counts(None, expected, made.prior * (1 - 1e-4), total)
    assert smaller.guarantee(copies=2, delta=delta).epsilon > epsilon


GOOD = {"n": 5, "expected": (1.0, 2.0), "prior": 2.0, "total": 5}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"total": 0}, "total is 0"),
        ({"expected": (1.0,)}, "two or more"),
        ({"expected": (1.0, 0.0)}, "expected has"),
        ({"expected": (1.0, 1e-11)}, "each area's must be"),
        ({"prior": 0.5}, "from 1 to"),
        ({"prior": (2.0, 0.9)}, "from 1 to"),
        ({"prior": (2.0, 1.0, 1.0)}, "prior is"),
        ({"areas": ("a",)}, "areas has 1 names"),
        ({"areas": ("a", "a")}, "categories of column 'area'"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Counts(**{**GOOD, **wrong})


def test_relations_and_outputs_are_checked():
    made = Counts(**GOOD)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made.guarantee(neighbours=ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made.removal_guarantee()
    with pytest.raises(bdp.errors.InvalidInput, match="whose sum is 5"):
        made.check_output((1, 2))
    with pytest.raises(bdp.errors.InvalidInput, match="output has shape"):
        made.logp((1, 2, 2), (5, 0))
    with pytest.raises(bdp.errors.InvalidInput, match="another number of records"):
        made.release((1, 2))
    with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
        Counts.calibrate(n=None, expected=(1.0, 2.0), total=None, epsilon=1.0)


@pytest.mark.parametrize("total", [4, None])
def test_an_area_where_no_event_can_be_changes_nothing_elsewhere(total):
    """The same promise, law and draws as without it, and no event in it."""
    known = {"n": None, "total": total}
    with_it = Counts(expected=(0.5, 0.0, 2.0, 7.0), prior=(1.0, 0.0, 1.5, 4.0), **known)
    without = Counts(expected=(0.5, 2.0, 7.0), prior=(1.0, 1.5, 4.0), **known)
    for relation in (None, ADD_REMOVE):
        asked = {"neighbours": relation, "delta": 1e-4, "copies": 2}
        assert with_it.guarantee(**asked) == without.guarantee(**asked)
    assert with_it.removal_guarantee() == without.removal_guarantee()
    x, z = np.array([[1, 0, 2], [0, 1, 1]]), np.array([[2, 1, 1], [4, 0, 0]])
    spread = [np.insert(each, 1, 0, axis=1) for each in (x, z)]
    assert with_it.logp(spread[1], spread[0]) == pytest.approx(without.logp(z, x), rel=1e-14)
    assert np.all(with_it.logp([1, 1, 1, 1], spread[0]) == -np.inf)
    for one, other in (with_it.pairs() + without.pairs())[:1]:
        assert one[1] == other[1] == 0
    assert [np.delete(one, 1).tolist() for one, _ in with_it.pairs()] == [
        list(one) for one, _ in without.pairs()
    ]
    with bdp.reproducible(2):
        drawn = with_it.release(spread[0], 5)
    with bdp.reproducible(2):
        assert np.array_equal(np.delete(drawn, 1, axis=-1), without.release(x, 5))
    assert np.all(drawn[..., 1] == 0)
    with pytest.raises(bdp.errors.InvalidInput, match="in a structural zero"):
        with_it.release([0, 1, 0, 0])
    with pytest.raises(bdp.errors.InvalidInput, match="structural zeros"):
        with_it.check_output((1, 1, 1, 1))


def test_calibration_leaves_areas_without_events_out():
    known = {"n": None, "total": 9, "epsilon": 1.0}
    without = Counts.calibrate(expected=(1.0, 3.0), proportions=(1, 2), **known)
    made = Counts.calibrate(expected=(1.0, 0.0, 3.0), proportions=(1, 5, 2), **known)
    assert made.prior == (without.prior[0], 0.0, without.prior[1])
    flat = Counts.calibrate(expected=(1.0, 0.0, 3.0), **known)
    assert flat.prior == Counts.calibrate(expected=(1.0, 3.0), **known).prior
    with pytest.raises(bdp.errors.InvalidInput, match="proportions has shape"):
        Counts.calibrate(expected=(1.0, 3.0), proportions=(1, 2, 3), **known)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"expected": (0.0, 0.0, 1.0), "prior": 2.0}, "expected has 1 positive"),
        ({"prior": (2.0, 2.0, 2.0)}, "not 0 in a structural zero"),
        ({"prior": (2.0, 0.0, 0.5)}, "prior has a number out of its range"),
    ],
)
def test_bad_structural_zeros_are_named(wrong, message):
    good = {"n": None, "expected": (1.0, 0.0, 2.0), "prior": 2.0, "total": 4}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Counts(**{**good, **wrong})


def test_copies_without_a_fixed_total_compose():
    made = bdp.mechanisms.PoissonGammaMechanism(10, (9.0, 5.0), 20.0, None)
    alone = made.guarantee(copies=3, delta=1e-3)
    together = bdp.compose([(made, 3)], delta=1e-3)
    assert made.guarantee(delta=1e-3).epsilon < together.epsilon <= alone.epsilon
