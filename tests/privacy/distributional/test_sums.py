"""Bounds on exact sums against brute force, and where the published statements go wrong."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.privacy.distributional.irwin_hall import density
from bayesdp.privacy.distributional.sums import published as published_bounds
from bayesdp.privacy.distributional.sums.mixture import below, cuts_of, mixture_delta
from bayesdp.privacy.distributional.sums.shift import shift_delta, shifts_delta
from bayesdp.privacy.distributional.sums.steps import steps_delta

pytestmark = pytest.mark.slow

D = bdp.distributional
NORMAL = D.TopCodedNormal(0, 1, -2.5, 2.5)


def power(law: np.ndarray, n: int) -> np.ndarray:
    """The n-fold convolution, positive terms only."""
    found = np.ones(1)
    for _ in range(n):
        found = np.convolve(found, law)
    return found


def between(law: np.ndarray, shift: int, epsilon: float) -> float:
    """The larger divergence between a law on a lattice and itself moved by `shift`."""
    gap = np.zeros(abs(shift))
    one, other = np.concatenate([law, gap]), np.concatenate([gap, law])
    factor = math.exp(epsilon)
    return float(
        max(np.maximum(one - factor * other, 0).sum(), np.maximum(other - factor * one, 0).sum())
    )


def spiky(cells: int) -> np.ndarray:
    """.7 parts uniform on [0, 1], .15 each at -1/2 and 3/2, on a lattice of 1/cells."""
    law = np.zeros(2 * cells + 1)
    law[cells // 2 : cells // 2 + cells] = 0.7 / cells
    law[[0, -1]] = 0.15
    return law


SPIKY = D.BoundedLaw([(-0.5, 1.5)], [(0, 1)], 0.7)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 60])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7, 2.0])
def test_a_shift_of_a_uniform_sum_against_its_density(count, epsilon):
    for shift in (0.5, 0.9):
        points = (np.arange(1000) + 0.5) / 1000 * (count + shift)
        one, other = density(points, count), density(points - shift, count)
        true = np.maximum(one - math.exp(epsilon) * other, 0).sum() * (points[1] - points[0])
        ours = shift_delta(epsilon, shift, count)
        assert ours == pytest.approx(true, rel=2e-3, abs=1e-3 if count < 3 else 1e-9)
    assert shift_delta(epsilon, count + 0.5, count) == 1.0
    assert shift_delta(epsilon, 0.0, count) == 0.0


@pytest.mark.parametrize(("n", "a"), [(4, 1.5), (10, 3.2), (100, 37), (100, 44), (1000, 450)])
def test_theorem_6_6_holds_and_its_proof_gives_less(n, a):
    theorem, proof = published_bounds.published_uniform(n, a), published_bounds.tight_uniform(n, a)
    assert theorem.epsilon == proof.epsilon
    true = shift_delta(theorem.epsilon, 0.5, n - 1)  # the worst record is at an end
    assert true <= proof.delta <= theorem.delta


@pytest.mark.parametrize("n", [12, 60])
def test_theorem_6_7_holds_for_a_law_with_atoms(n):
    cells = 50
    law = power(spiky(cells), n - 1)
    part = SPIKY.parts()[0]
    assert part.widths == (2.0,)
    profile = D.SumProfile(n, SPIKY)
    for epsilon in (0.3, 1.0, 2.5):
        # Records at the ends and within; on so coarse a lattice the truth is a little more.
        worst = max(between(law, move, epsilon) for move in (cells, cells // 2, 7))
        assert worst == between(law, cells, epsilon)
        assert 0.98 * worst <= profile.delta(epsilon)
    if n == 60:
        for r, a in ((0.7, 10.0), (0.8, 11.0), (0.85, 10.5)):
            for bound in (published_bounds.tight(n, part, a, r),
                          published_bounds.published(n, part, a, r)):  # fmt: skip
                assert 0.98 * between(law, cells, bound.epsilon) <= bound.delta
            assert published_bounds.tight(n, part, a, r).delta < bound.delta


def test_top_coded_normal_against_its_convolution():
    n, cells = 14, 500
    ends = np.linspace(-2.5, 2.5, cells + 1)
    law = np.zeros(cells + 1)
    law[:-1] = np.diff(stats.norm.cdf(ends))
    law[0] += stats.norm.cdf(-2.5)
    law[-1] += stats.norm.cdf(-2.5)
    total, profile = power(law, n - 1), D.SumProfile(n, NORMAL)
    for epsilon in (0.2, 1.0, 3.0):
        true = between(total, cells // 2, epsilon)
        assert 0.99 * true <= profile.delta(epsilon) <= (1.6 if epsilon < 3 else 4) * true
    noiseless = D.SumProfile(n, NORMAL, definition="noiseless")
    assert (
        0.99 * between(total, cells, 1.0)
        <= noiseless.delta(1.0)
        <= 1.6 * between(total, cells, 1.0)
    )


@pytest.mark.parametrize("count", [1, 3, 25, 80])
def test_steps_against_convolution_in_both_directions(count):
    skew = np.exp(-0.25 * np.arange(16.0))
    for steps in (skew, skew[::-1], np.minimum(skew, skew[::-1])):
        law = power(steps / steps.sum(), count)
        for cells in (1, 5, 16):
            for epsilon in (1e-3, 0.4, 2.0, 6.0):
                true = between(law, cells, epsilon)
                ours = steps_delta(epsilon, tuple(steps), cells, count)
                assert ours >= true * (1 - 1e-13)
                assert ours <= max(true * (1 + 1e-8), 1e-60)


def test_long_sums_of_steps_agree_with_direct_ones(monkeypatch):
    """The transform, with short sums sent to it too."""
    from bayesdp.privacy.distributional.sums import steps as sums_steps

    monkeypatch.setattr(sums_steps, "_SHORT", 300)
    steps = np.exp(-0.5 * ((np.arange(32.0) - 12) / 6) ** 2)
    law = power(steps / steps.sum(), 60)
    for epsilon in (0.01, 0.3, 1.0, 3.0, 5.0):
        true = between(law, 16, epsilon)
        ours = steps_delta(epsilon, tuple(steps), 16, 60)
        assert true * (1 - 1e-13) <= ours <= true * (1 + 1e-7)
    # Nor where the law is so narrow that its copy lies where only rounding is left.
    narrow = np.exp(-0.5 * (np.arange(32.0) - 12) ** 2)
    law = power(narrow / narrow.sum(), 60)
    for cells in (5, 20, 40, 90, 140):
        for epsilon in (0.1, 3.0):
            true = between(law, cells, epsilon)
            ours = steps_delta(epsilon, tuple(narrow), cells, 60)
            assert true * (1 - 1e-13) <= ours <= true * (1 + 1e-6 if cells < 21 else 1.01)
    # A heavy tilt of a law that spans hundreds of powers of e.
    wide = np.exp(-0.5 * ((np.arange(32.0) - 16) / 0.5) ** 2)
    law = power(wide / wide.sum(), 60)
    for epsilon in (0.5, 20.0):
        true = between(law, 3, epsilon)
        assert true * (1 - 1e-13) <= steps_delta(epsilon, tuple(wide), 3, 60) <= true * (1 + 1e-6)
    # Far out nothing is sought: the tail up to where it would be is enough.
    law = power(steps / steps.sum(), 60)
    assert between(law, 16, 60.0) <= steps_delta(60.0, tuple(steps), 16, 60) < 1e-30


@pytest.mark.parametrize("shifts", [(0.5, 0.5), (0.8, 0.4)])
def test_two_coordinates_against_their_joint_density(shifts):
    count, step = 12, 0.02
    laws = []
    for shift in shifts:
        places = np.arange(step / 2, count + shift, step)
        laws.append((density(places, count), density(places - shift, count)))
    one, other = (np.outer(laws[0][k], laws[1][k]) for k in (0, 1))
    for epsilon in (0.5, 1.5, 3.0):
        true = np.maximum(one - math.exp(epsilon) * other, 0).sum() * step**2
        assert true * (1 - 1e-4) <= shifts_delta(epsilon, shifts, count) <= true * 1.04


def test_a_mixture_is_bounded_by_its_blocks():
    records, share = 30, 0.8
    weights = stats.binom.pmf(np.arange(31), records, share)
    deltas = np.array([shift_delta(0.5, 0.5, k) if k else 1.0 for k in range(31)])
    assert np.all(np.diff(deltas) <= 1e-12)
    for blocks in (4, 16, 60):
        bound = mixture_delta(lambda k: float(deltas[k]), records, share, blocks)
        assert weights @ deltas <= bound * (1 + 1e-12)
    assert bound == pytest.approx(weights @ deltas, rel=1e-3)
    assert cuts_of(3, 0.5, 9)[0] == 0


@pytest.mark.parametrize(("n", "share"), [(1000, 0.777), (10**5, 0.98), (10**6, 0.5)])
def test_binomial_tails_against_40_digits(n, share):
    sd = math.sqrt(n * share * (1 - share))
    for z in (-9, -6, -3, 0):
        m = round(n * share + z * sd)
        with mpmath.workdps(40):
            p = mpmath.mpf(share)
            term = mpmath.binomial(n, m - 1) * p ** (m - 1) * (1 - p) ** (n - m + 1)
            total, k = mpmath.mpf(0), m - 1
            while term > total * mpmath.mpf(10) ** -20:
                total += term
                term *= k * (1 - p) / ((n - k + 1) * p)
                k -= 1
            assert total <= below(m, n, share) <= total * (1 + 3e-9)


def test_known_records_are_records_fewer():
    for law, n in ((D.Uniform(0, 1), 300), (SPIKY, 300), (NORMAL, 300)):
        some, none = D.SumProfile(n, law, 50), D.SumProfile(n - 50, law)
        assert some.delta(0.5) == none.delta(0.5)
        assert some.delta(0.5) > D.SumProfile(n, law).delta(0.5)
    assert D.SumProfile(300, D.Uniform(0, 1), 299).delta(1.0) == 1.0
    assert D.SumProfile(300, D.Uniform(0, 1), 299).epsilon(1e-6) == math.inf


@pytest.mark.parametrize(
    "law", [D.Uniform(0, 1), SPIKY, NORMAL, D.Uniform([0, 0], [1, 3])], ids=lambda law: law.words
)
def test_an_epsilon_keeps_its_delta_and_is_the_smallest(law):
    profile = D.SumProfile(400, law)
    for delta in (1e-3, 1e-8):
        epsilon = profile.epsilon(delta)
        assert profile.delta(epsilon) <= delta * (1 + 1e-9)
        assert profile.delta(epsilon * 0.999) > delta


def test_units_and_places_do_not_matter():
    one = D.SumProfile(200, D.Uniform(0, 1)).epsilon(1e-5)
    assert D.SumProfile(200, D.Uniform(-30, 70)).epsilon(1e-5) == pytest.approx(one, rel=1e-6)
    moved = D.TopCodedNormal(100, 15, 62.5, 137.5)
    scaled = D.SumProfile(200, moved).epsilon(1e-5)
    assert scaled == pytest.approx(D.SumProfile(200, NORMAL).epsilon(1e-5), rel=1e-6)


@pytest.mark.parametrize("n", [50, 1000, 10**6])
def test_no_simulator_does_much_better_for_uniform_records(n):
    profile = D.SumProfile(n, D.Uniform(0, 1))
    floor, found = D.simulator_floor(profile, 1e-6), profile.epsilon(1e-6)
    assert 0.985 * found < floor <= found


@pytest.mark.parametrize("as_published", [True, False])
def test_the_best_choice_beats_the_papers(as_published):
    function = published_bounds.published if as_published else published_bounds.tight
    for n, t, a, r in ((1000, 1.5, 130, 0.79), (10000, 1.5, 1725, 0.93)):
        part = D.UniformPart([(-t, t)], stats.norm.pdf(t), [(-2.5, 2.5)])
        theirs = function(n, part, a, r)
        ours = D.best_bound(n, NORMAL, delta=theirs.delta, as_published=as_published)
        assert ours.delta <= theirs.delta
        assert D.SumProfile(n, NORMAL).epsilon(theirs.delta) < ours.epsilon < theirs.epsilon
        again = function(n, ours.part, ours.a, (ours.hidden - 1e-6) / (n * ours.part.volume))
        assert again.epsilon == pytest.approx(ours.epsilon)
    uniform = D.best_bound(1000, D.Uniform(0, 1), delta=1e-6, known_records=9,
                           as_published=as_published)  # fmt: skip
    assert uniform.delta == pytest.approx(1e-6, rel=1e-3)
    back = D.best_bound_at_epsilon(1000, D.Uniform(0, 1), epsilon=uniform.epsilon,
                                   known_records=9, as_published=as_published)  # fmt: skip
    assert back.epsilon <= uniform.epsilon * (1 + 1e-9)
    assert back.delta == pytest.approx(1e-6, rel=0.01)


def test_corollary_6_3_fails_for_supports_that_differ():
    """Two laws that can't be told from 4,000 records, but each with an outlier of its own."""
    n, rare = 4000, 1e-9
    one = D.BoundedLaw([(0, 10)], [(0, 1)], 1 - rare)
    other = D.BoundedLaw([(-9, 1)], [(0, 1)], 1 - rare)
    bounds = [D.best_bound(n, law, delta=1e-6, as_published=True) for law in (one, other)]
    epsilon, delta = max(b.epsilon for b in bounds), max(b.delta for b in bounds)
    # If one simulator served both, sums with a record of 10 and of -9 would be this close:
    apart = 2 * n * rare
    allowed = (1 + math.exp(epsilon)) * delta + math.exp(epsilon) * apart
    # They are farther, even if outliers among the others always helped.
    assert shift_delta(2 * epsilon, 19.0, n - 1) - apart > 20 * allowed
    # With common bounds the promise says so.
    common = D.BoundedLaw([(-9, 10)], [(0, 1)], 1 - rare)
    assert D.best_bound(n, common, delta=1e-6, as_published=True).epsilon > 1.5 * epsilon


def test_the_printed_simulator_of_theorem_6_7_is_not_in_the_middle():
    """(w_2 - w_1)/2 is the upper end of [-.5, .5]: a record at the other end is w away."""
    bound = published_bounds.published_uniform(1000, 460)
    assert shift_delta(bound.epsilon, 0.5, 999) < bound.delta
    assert shift_delta(bound.epsilon, 1.0, 999) > 10 * bound.delta


def test_least_squares_with_two_predictors_is_not_the_printed_formula():
    rng = np.random.default_rng(1)
    g = rng.uniform(-1, 1, (500, 2)) @ np.array([[1, 0.6], [0, 1]])
    h = g @ [1.0, -1.0]
    printed = (g * h[:, None]).sum(0) / (g**2).sum()
    assert np.linalg.lstsq(g, h)[0] == pytest.approx([1, -1])
    assert abs(printed - [1, -1]).max() > 0.5


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda p: published_bounds.published_uniform(1, 1), "n is 1"),
        (lambda p: published_bounds.published_uniform(10, 0.9), "a is"),
        (lambda p: published_bounds.tight_uniform(10, 5.1), "a is"),
        (lambda p: published_bounds.published(100, p, 20, 0.0), "r is"),
        (lambda p: published_bounds.published(100, p, 0.9, 0.9), "a is"),
        (lambda p: published_bounds.published(100, p, 32, 0.9), "a is"),
        (lambda p: published_bounds.published(100, p, math.nan, 0.9), "a is"),
        (lambda p: published_bounds.published(100, p, (20, 20), 0.9), "1 coordinates"),
        (lambda p: published_bounds.tight(3, p, 1, 0.3), "at least 2"),
        (lambda p: published_bounds.tight(100, p, 20, 0.9, known_records=100), "known_records"),
    ],
)
def test_choices_that_are_refused(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call(SPIKY.parts()[0])


# Attack: the Bayesian adversary of Definition 5.2, who knows all but some records.


@pytest.mark.parametrize("law", [D.Uniform(0, 1), NORMAL], ids=["uniform", "top-coded"])
@pytest.mark.parametrize("definition", ["distributional", "noiseless"])
def test_an_adversary_stays_under_the_claim(law, definition):
    """Sums with a record at an end, against the simulator's or one at the other end.

    The adversary picks the half-line by which their odds move most. False alarms: 1e-7 a side.
    """
    n, known, trials = 40, 10, 400_000
    rng = np.random.default_rng(20)
    (low, high), middle = law.support[0], sum(law.support[0]) / 2
    profile = D.SumProfile(n, law, known, definition)
    unknown = n - known - 1
    draws = np.zeros((2, trials))
    for _ in range(unknown):
        if isinstance(law, D.Uniform):
            draws += rng.random((2, trials))
        else:
            draws += np.clip(rng.standard_normal((2, trials)), low, high)
    worlds = draws[0] + low, draws[1] + (middle if definition == "distributional" else high)
    for epsilon in (0.1, 0.4, 1.0):
        claim = profile.delta(epsilon)
        grid = np.quantile(worlds[0], np.linspace(0.02, 0.98, 49))
        inside = [np.searchsorted(np.sort(world), grid) for world in worlds]
        best = int(np.argmax(inside[0] - math.exp(epsilon) * inside[1]))
        counts = [int(each[best]) for each in inside]
        lower = stats.beta.ppf(1e-7, counts[0], trials - counts[0] + 1)
        upper = stats.beta.isf(1e-7, counts[1] + 1, trials - counts[1])
        assert lower - math.exp(epsilon) * upper <= claim
        measured = (counts[0] - math.exp(epsilon) * counts[1]) / trials
        assert measured > 0.75 * claim - 0.004  # an attack that finds nothing proves nothing


def test_posterior_odds_stay_within_epsilon_but_for_delta():
    """Odds of a record at 0 against 1 from its sum with 29 others: the ratio of densities."""
    n, trials, rng = 30, 200_000, np.random.default_rng(4)
    profile = D.SumProfile(n, D.Uniform(0, 1), definition="noiseless")
    grid = np.linspace(0, n, 3001)
    log_odds = np.log(np.maximum(density(grid, n - 1), 1e-300)) - np.log(
        np.maximum(density(grid - 1, n - 1), 1e-300)
    )
    total = rng.random((n - 1, trials)).sum(0)
    moved = np.interp(total, grid, log_odds)
    for epsilon in (1.0, 1.5, 2.0):
        # E (1 - exp(epsilon - loss))+ under the record at 0 is the profile's delta.
        terms = np.maximum(-np.expm1(epsilon - moved), 0)
        error = 5.5 * terms.std() / math.sqrt(trials)
        assert abs(terms.mean() - profile.delta(epsilon)) < error + 1e-4
