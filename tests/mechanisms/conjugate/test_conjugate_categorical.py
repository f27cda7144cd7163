"""Categorical conjugate releases: every neighbouring pair, in both directions."""

import math
from functools import cache
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.categorical import map_sensitivity
from bayesdp.mechanisms.counts.category_pairs import (
    dirichlet_multinomial_divergence,
    multinomial_divergence,
)
from tests.mechanisms.conjugate.test_conjugate_bernoulli import posterior_divergence


def release(n: int, prior, method: str = "parameter_draw") -> bdp.mechanisms.ConjugateMechanism:
    return bdp.mechanisms.ConjugateMechanism("categorical", method, n, prior)


@pytest.mark.parametrize("prior", [(1.0, 1.0, 1.0), (3.0, 0.5, 8.0), (2.0, 9.0, 5.0, 0.3)])
@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_a_draw_is_as_bad_as_its_worst_neighbours(n, prior, epsilon):
    shared = [c for c in product(range(n), repeat=len(prior)) if sum(c) == n - 1]
    pairs = {
        (prior[i] + c[i], prior[j] + c[j])
        for c in shared
        for i, j in product(range(len(prior)), repeat=2)
        if i != j
    }
    truth = max(posterior_divergence(u, v, epsilon) for u, v in pairs)
    claim = release(n, prior).delta(epsilon)
    assert truth <= claim <= truth * (1 + mp.mpf("1e-9"))


def test_two_of_the_probabilities_tell_all():
    """The divergence of whole Dirichlet draws, simulated: the reduction to a beta pair.

    400,000 draws; the tolerance is 6 standard errors, a false alarm below 1e-8.
    """
    prior, epsilon, draws = np.array([2.0, 0.8, 1.5]), 0.4, 400_000
    first, second = prior + np.eye(3)[1], prior + np.eye(3)[2]
    rng = np.random.default_rng(11)

    def log_density(theta, alpha):
        constant = math.lgamma(alpha.sum()) - sum(map(math.lgamma, alpha))
        return constant + np.log(theta) @ (alpha - 1)

    for p, q, (u, v) in ((first, second, (0.8, 1.5)), (second, first, (1.5, 0.8))):
        theta = rng.dirichlet(p, draws)
        loss = log_density(theta, p) - log_density(theta, q)
        gain = np.maximum(-np.expm1(epsilon - loss), 0)
        truth = float(posterior_divergence(u, v, epsilon))
        assert abs(gain.mean() - truth) < 6 * gain.std() / math.sqrt(draws)


def test_two_categories_are_the_bernoulli_family():
    bernoulli = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 30, (4.0, 9.0))
    assert release(30, (9.0, 4.0)).delta(0.5) == bernoulli.delta(0.5)


def test_more_records_protect_nobody_where_there_is_a_third_category():
    assert release(1, (5, 6, 7)).delta(1.0) == release(10**6, (5, 6, 7)).delta(1.0)


def test_calibration_is_tight_and_on_the_safe_side():
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="categorical", method="parameter_draw", n=9, categories=4, epsilon=1.0, delta=1e-6
    )
    assert len(set(made.prior)) == 1
    assert len(made.prior) == 4
    assert made.delta(1.0) <= 1e-6
    assert release(9, (made.prior[0] * (1 - 1e-8),) * 4).delta(1.0) > 1e-6


def test_the_mode_itself_promises_nothing():
    guarantee = release(9, (2, 2, 2), "parameter_map").guarantee(delta=1e-6)
    assert (guarantee.epsilon, guarantee.delta) == (math.inf, 1)


def test_categories_are_asked_for_where_they_are_needed():
    arguments = {"method": "parameter_draw", "n": 9, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(bdp.errors.InvalidInput, match="categories is None"):
        bdp.mechanisms.ConjugateMechanism.calibrate(family="categorical", **arguments)
    with pytest.raises(bdp.errors.InvalidInput, match="prior is"):
        bdp.mechanisms.ConjugateMechanism.calibrate(family="categorical", categories=1, **arguments)
    with pytest.raises(bdp.errors.InvalidInput, match="leave it out"):
        bdp.mechanisms.ConjugateMechanism.calibrate(family="bernoulli", categories=3, **arguments)


@pytest.mark.parametrize("prior", [(1.0,), (1, 0, 1), (1, math.nan, 2), 3, ("a", 1, 2)])
def test_bad_priors_are_named(prior):
    with pytest.raises(bdp.errors.InvalidInput, match="prior is"):
        release(9, prior)


def counts(total: int, categories: int) -> list[tuple[int, ...]]:
    return [c for c in product(range(total + 1), repeat=categories) if sum(c) == total]


@cache
def laws(method: str, n: int, prior: tuple[float, ...], size: int) -> dict:
    """The law of all the synthetic counts for every data set, in 40 digits, from its formula."""
    with mp.workdps(40):
        outputs = counts(size, len(prior))
        ways = [mp.factorial(size) / mp.fprod(map(mp.factorial, z)) for z in outputs]
        found = {}
        for c in counts(n, len(prior)):
            if method == "synthetic_one":
                a = [mp.mpf(p) + x for p, x in zip(prior, c, strict=True)]
                p = [mp.fprod(mp.rf(b, y) for b, y in zip(a, z, strict=True)) for z in outputs]
                p = [q / mp.rf(mp.fsum(a), size) for q in p]
            else:
                less = method == "synthetic_map"
                a = [mp.mpf(max(p + x - less, 0)) for p, x in zip(prior, c, strict=True)]
                a = [b / mp.fsum(a) for b in a]
                p = [mp.fprod(b**y for b, y in zip(a, z, strict=True)) for z in outputs]
            found[c] = [w * q for w, q in zip(ways, p, strict=True)]
        return found


def neighbours(n: int, categories: int):
    for c in counts(n, categories):
        for i, j in product(range(categories), repeat=2):
            if i != j and c[j]:
                yield c, tuple(x + (k == i) - (k == j) for k, x in enumerate(c))


def enumerated(every: dict, n: int, categories: int, epsilon: float) -> mp.mpf:
    with mp.workdps(40):
        gamma = mp.exp(mp.mpf(epsilon))
        return max(
            mp.fsum(max(p - gamma * q, 0) for p, q in zip(every[c], every[d], strict=True))
            for c, d in neighbours(n, categories)
        )


SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
SMALL = [
    *(
        (2, 3, (1.5, 4.0)),
        (3, 3, (1.0, 1.0, 1.0)),
        (1, 5, (2.0, 1.3, 1.1)),
        (4, 3, (6.0, 7.5, 9.0)),
    ),
    *((3, 4, (1.2, 30.0, 1.9)), (2, 3, (1.0, 2.5, 1.0, 3.0)), (3, 2, (20.0, 20.0, 21.0, 25.0))),
    *((1, 4, (1.0, 1.0, 1.0)), (1, 1, (1.0, 1.0, 2.0))),
]


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(("n", "size", "prior"), SMALL)
def test_synthetic_records_are_as_bad_as_their_worst_neighbours(method, n, size, prior):
    """Over all data sets, all replacements in both directions and all outputs."""
    every = laws(method, n, prior, size)
    made = bdp.mechanisms.ConjugateMechanism("categorical", method, n, prior, size=size)
    for epsilon in (0.0, 0.02, 0.2, 0.7, 1.1, 2.5, 6.0):
        truth = enumerated(every, n, len(prior), epsilon)
        claim = made.delta(epsilon)
        assert truth * (1 - mp.mpf("1e-35")) <= claim, epsilon
        assert claim <= truth * (1 + mp.mpf("1e-9")) + mp.mpf("1e-35"), (epsilon, truth)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(("n", "size", "prior"), SMALL)
def test_pure_epsilon_is_the_largest_log_ratio(method, n, size, prior):
    every = laws(method, n, prior, size)
    worst = mp.mpf(0)
    with mp.workdps(40):
        for c, d in neighbours(n, len(prior)):
            for p, q in zip(every[c], every[d], strict=True):
                if p or q:
                    worst = max(worst, abs(mp.log(p / q)) if p and q else mp.inf)
    claim = bdp.mechanisms.ConjugateMechanism("categorical", method, n, prior, size=size).epsilon(0)
    assert worst <= claim * (1 + mp.mpf("1e-30"))
    assert claim <= worst * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize("method", SYNTHETIC)
def test_two_categories_of_synthetic_records_are_the_bernoulli_family(method):
    for prior in ((4.0, 9.0), (1.0, 1.5), (0.3, 2.0)):
        one, other = (
            bdp.mechanisms.ConjugateMechanism(family, method, 30, prior, size=12)
            for family in ("categorical", "bernoulli")
        )
        for epsilon in (0.0, 0.5, 3.0):
            assert one.delta(epsilon) == other.delta(epsilon)
        assert one.epsilon(0) == other.epsilon(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("divergence", "law"),
    [
        (dirichlet_multinomial_divergence, stats.betabinom),
        (multinomial_divergence, lambda s, u, v: stats.binom(s, u / (u + v))),
    ],
)
@pytest.mark.parametrize(("u", "v"), [(0.02, 3.0), (3.0, 0.02), (30.0, 40.0), (1e-9, 1.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_the_walk_is_the_mixture_over_the_number_in_the_two_categories(
    divergence, law, u, v, epsilon
):
    """Each number of records in the pair summed by itself: an independent, quadratic way."""
    size, rest = 150, 200.0
    total = u + v + 1
    reach = (
        stats.betabinom(size, total, rest)
        if divergence is dirichlet_multinomial_divergence
        else stats.binom(size, total / (total + rest))
    )
    truth = 0.0
    for s in range(1, size + 1):
        z = np.arange(s + 1)
        p, q = law(s, u + 1, v).pmf(z), law(s, u, v + 1).pmf(z)
        truth += reach.pmf(s) * np.maximum(p - math.exp(epsilon) * q, 0).sum()
    assert divergence(u, v, rest, size, epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-14)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([dirichlet_multinomial_divergence, multinomial_divergence]),
    *(st.floats(0.05, 30) for _ in range(3)),
    *(st.floats(0, 1), st.booleans(), st.integers(1, 60), st.floats(0, 3)),
)
def test_records_outside_the_pair_are_worse_and_a_stronger_prior_costs_less(
    divergence, u, v, rest, share, first, size, epsilon
):
    base = divergence(u, v, rest, size, epsilon) * (1 + 1e-9)
    x = share * rest * 0.999
    into = (u + x, v) if first else (u, v + x)
    assert divergence(*into, rest - x, size, epsilon) <= base
    assert divergence(*into, rest, size, epsilon) <= base
    assert divergence(u, v, rest + x, size, epsilon) <= base


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 1e-6), (2.0, 1e-10)])
def test_calibration_of_synthetic_records_is_tight(method, epsilon, delta):
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="categorical", method=method, n=50, size=40, categories=5, epsilon=epsilon,
        delta=delta,
    )  # fmt: skip
    prior = made.prior[0]
    assert made.delta(epsilon) <= delta
    assert made.epsilon(delta) <= epsilon
    less = 1 + (prior - 1) * (1 - 1e-6) if method == "synthetic_map" else prior * (1 - 1e-8)
    weaker = bdp.mechanisms.ConjugateMechanism("categorical", method, 50, (less,) * 5, size=40)
    assert weaker.delta(epsilon) > delta


def test_zheng_6_21_has_half_the_epsilon():
    """1 + 1 / (exp(epsilon / 2m) - 1) is printed as enough: it gives epsilon / 2."""
    m, epsilon = 10, 1.0
    printed = 1 + 1 / math.expm1(epsilon / (2 * m))
    made = bdp.mechanisms.ConjugateMechanism(
        "categorical", "synthetic_map", 9, (printed,) * 4, size=m
    )
    assert made.epsilon(0) == pytest.approx(epsilon / 2, rel=1e-12)


def test_a_million_records_in_little_time():
    for method in SYNTHETIC:
        made = bdp.mechanisms.ConjugateMechanism(
            "categorical", method, 10**6, (3.0, 40.0, 50.0), size=10**5
        )
        assert 0 < made.delta(0.5) < 1


def test_a_mode_on_the_boundary_is_refused():
    for call in (
        lambda: bdp.mechanisms.ConjugateMechanism(
            "categorical", "synthetic_map", 9, (1, 0.9, 2), size=3
        ),
        lambda: map_sensitivity(release(9, (1, 0.9, 2), "parameter_map")),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="every parameter is 1 or more"):
            call()


@pytest.mark.parametrize("prior", [(1.0, 1.0), (3.0, 0.4), (1.0, 2.0, 5.5), (1.0, 1.0, 1.0, 1.0)])
@pytest.mark.parametrize("n", [1, 3])
def test_map_sensitivity_is_the_largest_move_of_the_mode(prior, n):
    def mode(c):
        weights = np.maximum(np.add(prior, c) - 1, 0)
        return weights / weights.sum()

    truth = max(np.abs(mode(c) - mode(d)).sum() for c, d in neighbours(n, len(prior)))
    claim = map_sensitivity(release(n, prior, "parameter_map"))
    assert truth * (1 - 1e-14) <= claim <= truth * (1 + 1e-11)
