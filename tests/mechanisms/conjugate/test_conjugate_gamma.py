"""Gamma conjugate releases: profiles against other formulas, and against all neighbours' laws."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate import rate_pairs
from bayesdp.privacy.loss_distribution import composed_delta

METHODS = ("parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")
LEAST = 1e-7  # p-value below which a fixed seed fails


def release(method: str, n: int = 4, prior=(2.0, 6.0), R: float = 3.0, size: int = 1, shape=None):
    size = size if method.startswith("synthetic") else None
    return bdp.mechanisms.ConjugateMechanism("gamma", method, n, prior, size=size, R=R, shape=shape)


def divergence(made, one: float, other: float, epsilon: float) -> float:
    """Divergence of the law given one sum from that given another, of a single number."""
    w = np.linspace(-30, 25, 60_001)
    y = np.exp(w)[:, None] if made.size else np.exp(w)
    p, q = (made.logp(y, total) + w for total in (one, other))
    return float(np.maximum(np.exp(p) - np.exp(epsilon + q), 0).sum() * (w[1] - w[0]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("prior", "shape"), [((2.0, 6.0), None), ((0.3, 20.0), 2.5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.5])
def test_it_is_as_bad_as_the_worst_replacement(method, prior, shape, epsilon):
    """Integrals of the densities of one number, for all replacements on a grid."""
    made = release(method, prior=prior, shape=shape)
    sums = [(kept + one, kept + other)
            for kept, one, other in product((0.0, 2.0, 9.0), (0.0, 1.5, 3.0), (0.0, 1.5, 3.0))
            if one != other]  # fmt: skip
    worst = max(divergence(made, *pair, epsilon) for pair in sums)
    assert made.delta(epsilon) == pytest.approx(worst, rel=2e-5, abs=1e-9)


def by_mpmath(law: str, a: float, b: float, change: float, epsilon: float, up: bool) -> float:
    """Difference of the two tails, to 60 digits; a of the numerator, b of the denominator."""
    with mp.workdps(60):
        a, b, d, epsilon = map(mp.mpf, (a, b, change, epsilon))
        log_r, factor = mp.log1p(d), mp.exp(epsilon)
        if law == "gamma":
            x = (a * log_r + (epsilon if up else -epsilon)) / d
            if x <= 0:
                return 0.0
            ends = (x, mp.inf), ((1 + d) * x, mp.inf)
            if not up:
                ends = (0, (1 + d) * x), (0, x)
            p, q = (mp.gammainc(a, *each, regularized=True) for each in ends)
            return float(p - factor * q)
        cut = ((b * log_r - epsilon) if up else (b * log_r + epsilon)) / (a + b)
        if not 0 < cut < log_r:
            return 0.0
        x = (1 + d - mp.exp(cut)) / mp.expm1(cut)
        if up:
            first, second = (1 + d) / (1 + d + x), 1 / (1 + x)
            p, q = (mp.betainc(b, a, 0, each, regularized=True) for each in (first, second))
        else:
            first, second = x / (1 + x), x / (1 + d + x)
            p, q = (mp.betainc(a, b, 0, each, regularized=True) for each in (first, second))
        return float(p - factor * q)


@pytest.mark.parametrize("shift", [1e-4, 0.1, 0.9, 3.0])
@pytest.mark.parametrize("shape", [0.02, 1.0, 40.0, 3000.0])
@pytest.mark.parametrize("up", [True, False])
def test_gamma_laws_against_sixty_digits(shape, shift, up):
    change = math.expm1(min(shift / math.sqrt(shape), 15.0))
    for epsilon in (0.0, 0.013, 0.5, 3.0, 20.0):
        truth = by_mpmath("gamma", shape, 0.0, change, epsilon, up)
        if truth > 1e-250:
            found = rate_pairs.gamma_divergence(shape, change, epsilon, up)
            assert found == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("shift", [1e-3, 0.1, 0.9, 3.0])
@pytest.mark.parametrize("records", [0.02, 1.0, 70.0])
@pytest.mark.parametrize("shape", [0.5, 3.0, 900.0])
@pytest.mark.parametrize("up", [True, False])
def test_beta_primes_against_sixty_digits(records, shape, shift, up):
    informs = records * shape / (records + shape)
    change = math.expm1(min(shift / math.sqrt(informs), 15.0))
    for epsilon in (0.0, 0.013, 0.5, 3.0):
        truth = by_mpmath("beta prime", records, shape, change, epsilon, up)
        if truth > 1e-250:
            found = rate_pairs.beta_prime_divergence(records, shape, change, epsilon, up)
            assert found == pytest.approx(truth, rel=1e-10)


@pytest.mark.parametrize("of", [(1.0, 30.0, 0.1), (0.3, 2.0, 1.5), (200.0, 5.0, 0.01)])
def test_the_law_of_the_loss_dominates_and_hardly_exceeds(of):
    exact = rate_pairs.beta_prime_profile(*of)
    for epsilon in (0.0, 0.02, 0.1):
        found = [composed_delta([(law, 1)], epsilon) for law in rate_pairs.losses(*of)]
        truth = exact.divergence(epsilon)
        assert truth * (1 - 1e-9) <= max(found) <= truth * 1.001 + 1e-12


def test_two_records_of_a_rate_each():
    """Against the double integral of the joint law's divergence."""
    shape, change = 4.0, 0.8
    w = np.linspace(-30, 12, 3001)
    t = np.exp(w)
    log_p = w - (shape + 1) * np.log1p(t) + math.log(shape)
    s = t / (1 + change)
    log_q = np.log(s) - (shape + 1) * np.log1p(s) + math.log(shape)
    for epsilon in (0.1, 0.7):
        both = []
        for one, other in ((log_p, log_q), (log_q, log_p)):
            two, second = one[:, None] + one, other[:, None] + other
            both.append(np.maximum(np.exp(two) - np.exp(epsilon + second), 0).sum())
        truth = max(both) * (w[1] - w[0]) ** 2
        found = rate_pairs.repeated_profile(1.0, shape, change, 2).divergence(epsilon)
        assert truth * (1 - 1e-4) <= found <= truth * 1.002


def test_pure_epsilons_are_the_largest_log_ratios():
    tiny, huge = np.array([1e-200] * 3), np.array([1e200] * 3)
    for method, prior in product(("synthetic_one", "synthetic_many"), [(2.0, 6.0), (0.3, 20.0)]):
        made = release(method, 2, prior, size=3, shape=2.0)
        ratios = [float(made.logp(y, 0.0) - made.logp(y, 3.0)) for y in (tiny, huge)]
        assert made.epsilon() == pytest.approx(max(map(abs, ratios)), rel=1e-12)
    assert release("parameter_draw").epsilon() == release("synthetic_map").epsilon() == math.inf


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("total", [0.0, 4.0])
def test_draws_follow_the_law(method, total):
    """The smallest number of a copy, and the copy's sum, against their laws."""
    made, times = release(method, 5, (2.0, 6.0), size=3, shape=1.5), 4000
    with bdp.reproducible(7):
        drawn = np.array(made.draw(np.float64(total), times))
    A, B, m = 2.0 + 5 * 1.5, 6.0 + total, 3 * 1.5
    if method == "parameter_draw":
        law = stats.gamma(A, scale=1 / B)
    elif method == "synthetic_map":
        law = stats.gamma(m, scale=B / (A - 1))
    elif method == "synthetic_one":
        law = stats.betaprime(m, A, scale=B)
    else:
        least = stats.betaprime(1.5, A, scale=B)
        p = stats.kstest(1 - least.sf(drawn[:, 0]) ** 3, "uniform").pvalue
        assert p > LEAST
        return
    assert stats.kstest(drawn if drawn.ndim == 1 else drawn.sum(axis=1), law.cdf).pvalue > LEAST


@pytest.mark.parametrize("method", METHODS)
def test_laws_add_up_to_one(method):
    made = release(method, 5, (2.0, 6.0), shape=1.5)
    w = np.linspace(-40, 30, 200_001)
    y = np.exp(w)
    density = np.exp(made.logp(y[:, None] if made.size else y, 4.0) + w)
    assert density.sum() * (w[1] - w[0]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_calibration_keeps_the_promise_with_a_prior_that_is_no_larger(method):
    size = {"size": 7} if method.startswith("synthetic") else {}
    fields = {"family": "gamma", "method": method, "n": 30, "R": 12.0, **size}
    made = bdp.mechanisms.ConjugateMechanism.calibrate(**fields, epsilon=0.8, delta=1e-5)
    assert made.epsilon(1e-5) <= 0.8
    assert made.prior[1] == pytest.approx(made.prior[0] * 6.0)
    weaker = release(method, 30, tuple(0.999 * p for p in made.prior), 12.0, size.get("size", 1))
    assert weaker.epsilon(1e-5) > 0.8


@pytest.mark.parametrize("method", METHODS)
def test_a_stronger_prior_costs_no_more(method):
    strengths = np.geomspace(1.0, 1e4, 12)
    deltas = [release(method, 50, (c, c * 1.5), size=3).delta(0.5) for c in strengths]
    assert np.all(np.diff(deltas) <= 1e-12 * np.array(deltas[:-1]))


@pytest.mark.parametrize("method", METHODS)
def test_copies_cost_what_one_release_of_all_does(method):
    """By basic composition no less, and by the moments of the losses no more than is possible."""
    made = release(method, 20, (30.0, 60.0), size=2)
    together, one = made.profile(copies=3), made.profile()
    assert one.epsilon(1e-5) < together.epsilon(1e-5) < 3 * one.epsilon(1e-5 / 3)


def test_copies_of_a_draw_are_their_sum():
    made = release("parameter_draw", 3, (2.0, 6.0))
    whole = rate_pairs.gamma_profile((2.0 + 3) * 4, 0.5)
    assert made.profile(copies=4).delta(1.0) == pytest.approx(whole.delta(1.0), rel=1e-9)


def test_the_noisy_mode_has_the_modes_sensitivity():
    made = release("parameter_map", 3, (2.5, 6.0), shape=2.0)
    modes = [(2.5 + 6 - 1) / (6.0 + total) for total in (0.0, 3.0)]
    noisy = bdp.mechanisms.noisy_mode(made, epsilon=1.0)
    assert noisy.sensitivity == pytest.approx(modes[0] - modes[1], rel=1e-9)
    assert noisy.sensitivity >= modes[0] - modes[1]
    assert noisy.bounds == pytest.approx(((2.5 + 6 - 1) / (6.0 + 9.0), modes[0]))
    assert made.release(made.statistic([1.0, 0.5, 3.0]))[0] == pytest.approx(7.5 / 10.5)
    assert made.delta(50.0) == 1.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"prior": (0.0, 1.0)}, "two positive finite numbers"),
        ({"prior": (1.0, 1e-150)}, "from 1e-100"),
        ({"R": 0.0}, "R is 0.0"),
        ({"R": None}, "R is None"),
        ({"shape": 0.0}, "shape is 0.0"),
        ({"sigma": 1.0}, "has no sigma"),
        ({"bounded": True}, "has no bound"),
    ],
)
def test_wrong_parameters_are_refused(wrong, said):
    right = {"family": "gamma", "method": "parameter_draw", "n": 3, "prior": (1.0, 2.0), "R": 3.0}
    with pytest.raises(bdp.errors.InvalidInput, match=said):
        bdp.mechanisms.ConjugateMechanism(**right | wrong)


def test_a_mode_of_0_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="mode of the rate"):
        release("synthetic_map", 1, (0.25, 1.0), shape=0.5)


def test_records_beyond_the_bounds_are_refused_without_being_shown():
    made = release("synthetic_one", 3)
    for data in ([1.0, 2.0, 3.25], [-0.5, 1.0, 2.0], [1.0, 2.0]):
        with pytest.raises(bdp.errors.InvalidInput) as caught:
            made.statistic(data)
        assert "3.25" not in str(caught.value)
        assert "-0.5" not in str(caught.value)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't a sum of n = 3"):
        made.check_statistic(9.5)


def test_all_of_a_law_is_kept_in_floats():
    """A shape of which most records round to 0 gives positive ones."""
    made = release("synthetic_one", 2, (1.0, 5.0), size=50, shape=2.0**-10)
    drawn = made.draw(np.float64(1.0), 20)
    assert np.all(drawn > 0)
    assert np.all(np.isfinite(drawn))
    assert np.all(np.isfinite(made.logp(drawn, 1.0)))
    assert special.gammaln(2.0**-10) > 0


def shares_that_can_be(numbers, rate):
    """Share of numbers that are the float quotient of some float and the rate."""
    near = [numbers * rate]
    for end in (0.0, np.inf):
        at = numbers * rate
        for _ in range(3):
            near.append(at := np.nextafter(at, end))
    return np.mean(np.any([at / rate == numbers for at in near], axis=0))


def test_quotients_of_floats_tell_rates_apart():
    """The leak that rounding closes: about a tenth of what a rate gives, another never does."""
    drawn = np.random.default_rng(1).standard_gamma(5.0, 20_000)
    assert shares_that_can_be(drawn / 4.7, 4.7) == 1
    assert shares_that_can_be(drawn / 4.7, 6.2) < 0.9


@pytest.mark.parametrize("method", METHODS)
def test_the_last_bits_of_gamma_outputs_tell_no_neighbours_apart(method):
    """A number of 32 bits has a million floats near it, whatever the rate is."""
    made = release(method, size=3)
    for total in (0.0, 1.7, 9.0):
        with bdp.reproducible(1):
            drawn = np.asarray(made.release(total, 2000))
        whole = np.frexp(drawn)[0] * 2.0**32
        assert np.array_equal(np.rint(whole), whole)
        assert np.unique(drawn).size == drawn.size
