"""Gaussian conjugate releases conditioned to [-R, R], from the densities themselves."""

import math
from functools import cache
from itertools import combinations_with_replacement, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.gaussian import map_sensitivity
from bayesdp.mechanisms.conjugate.truncated_pairs import (
    composed_divergence,
    truncated_divergence,
    truncated_pure_epsilon,
    worst_truncated_divergence,
)

CONDITIONED = ("parameter_draw", "synthetic_map", "synthetic_many")


def release(method, n, prior, R, sigma=1.0, size=1, bounded=True):
    size = size if method.startswith("synthetic") else None
    return bdp.mechanisms.ConjugateMechanism(
        "gaussian", method, n, prior, size=size, R=R, sigma=sigma, bounded=bounded
    )


def centre_and_sd(method, data, prior, sigma):
    """Of the law before it is conditioned, from Bayes' rule with the data in hand."""
    precision = prior[1] ** -2 + len(data) / sigma**2
    mean = (prior[0] * prior[1] ** -2 + sum(data) / sigma**2) / precision
    variance = {
        "parameter_draw": 1 / precision,
        "synthetic_map": sigma**2,
        "synthetic_many": 1 / precision + sigma**2,
    }[method]
    return mean, math.sqrt(variance)


def conditioned(centre, sd, R):
    return stats.truncnorm((-R - centre) / sd, (R - centre) / sd, loc=centre, scale=sd)


@cache
def enumerated(method, prior, R, sigma, epsilon) -> tuple[float, float]:
    """Divergence, and log ratio, of all replacements on a grid, by integrating the densities."""
    grid = np.linspace(-R, R, 5)
    z = np.linspace(-R, R, 4001)
    log_density = {
        data: conditioned(*centre_and_sd(method, data, prior, sigma), R).logpdf(z)
        for data in combinations_with_replacement(grid, 3)  # whose order changes nothing
    }
    worst, ratio = 0.0, 0.0
    for kept, old, new in product(combinations_with_replacement(grid, 2), grid, grid):
        first, second = (log_density[tuple(sorted((*kept, x)))] for x in (old, new))
        gain = np.maximum(np.exp(first) - math.exp(epsilon) * np.exp(second), 0)
        worst = max(worst, integrate.simpson(gain, x=z))
        ratio = max(ratio, float(np.max(first - second)))
    return worst, ratio


@pytest.mark.slow
@pytest.mark.parametrize("method", CONDITIONED)
@pytest.mark.parametrize(("prior", "R", "sigma"), [((0.0, 5.0), 1.3, 0.8), ((1.0, 0.4), 1.0, 0.6)])
def test_it_is_as_bad_as_the_worst_replacement(method, prior, R, sigma):
    """The grid of records can miss the worst pair for delta, by little, and never exceeds it."""
    made = release(method, 3, prior, R, sigma)
    for epsilon in (0.0, 0.5):
        worst, ratio = enumerated(method, prior, R, sigma, epsilon)
        claim = made.delta(epsilon)
        assert worst * (1 - 1e-6) <= claim <= worst * 1.01 + 1e-9
        assert made.epsilon(0) == pytest.approx(ratio, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(
    ("low", "high", "shift", "r"),
    [(-1, 1, 0.2, 1), (-3, 3, 0.6, 3), (-9, 9, 0.5, 9), (2, 4, 1, 3), (-0.05, 0.05, 0.1, 0.05)],
)
def test_no_pair_is_worse_than_the_worst_found_and_one_is_as_bad(low, high, shift, r, epsilon):
    """Both directions, centres on a fine grid, divergences from scipy's cdf at the optimal end."""
    c, z = np.linspace(low, high - shift, 401), np.linspace(-r, r, 3)
    p, q = conditioned(c + shift, 1, r), conditioned(c, 1, r)
    found = []
    for first, second, sign in ((p, q, 1), (q, p, -1)):
        log_ratio = first.logpdf(z[:, None]) - second.logpdf(z[:, None])
        ratio = np.polyfit(z, log_ratio, 1)  # linear in z
        end = np.clip((epsilon - ratio[1]) / ratio[0], -r, r)
        tails = (first.sf(end), second.sf(end)) if sign > 0 else (first.cdf(end), second.cdf(end))
        found.append(tails[0] - math.exp(epsilon) * tails[1])
    claim, worst = worst_truncated_divergence(low, high, shift, r, epsilon), np.max(found)
    assert np.size(found) == 2 * 401
    assert worst <= claim + 1e-13
    assert claim <= worst * (1 + 5e-5) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lower", "shift", "r", "epsilon"),
    [(-0.3, 0.2, 1.0, 0.05), (0.1, 2.0, 4.0, 1.0), (5.0, 0.3, 3.0, 0.05), (-40.0, 0.1, 50.0, 0.7)],
)
def test_one_pair_in_many_digits(lower, shift, r, epsilon):
    with mp.workdps(40):
        a, b, r_, gamma = mp.mpf(lower), mp.mpf(lower) + mp.mpf(shift), mp.mpf(r), mp.exp(epsilon)

        def mass(c, start):
            return mp.quad(lambda z: mp.exp(-((z - c) ** 2) / 2), mp.linspace(start, r_, 60))

        def log_ratio(z):
            return ((z - a) ** 2 - (z - b) ** 2) / 2 + mp.log(mass(a, -r_) / mass(b, -r_))

        slope = log_ratio(r_) - log_ratio(-r_)
        start = -r_ + (mp.mpf(epsilon) - log_ratio(-r_)) * 2 * r_ / slope
        truth = mass(b, start) / mass(b, -r_) - gamma * mass(a, start) / mass(a, -r_)
        pure = max(log_ratio(r_), -log_ratio(-r_))
    found = truncated_divergence(lower, shift, r, epsilon)
    assert float(found) == pytest.approx(float(truth), rel=1e-10)
    claim = truncated_pure_epsilon(lower, lower + shift, shift, r)
    assert pure <= claim <= pure * (1 + mp.mpf("1e-10"))


def test_without_truncation_it_is_the_normal_law():
    """R is 40 posterior standard deviations, and only centres near the ends notice."""
    prior, R, n = (0.0, 100.0), 4.0, 100
    free = release("parameter_draw", n, prior, R, bounded=False).delta(1.0)
    assert release("parameter_draw", n, prior, R).delta(1.0) >= free * (1 - 1e-9)
    assert worst_truncated_divergence(-2, 2, 0.5, 40.0, 0.3) == pytest.approx(
        worst_truncated_divergence(-2, 2, 0.5, 60.0, 0.3), rel=2e-6
    )


@pytest.mark.parametrize("n", [10, 1000])
def test_zheng_7_7_holds_though_its_proof_forgets_the_normalising_constant(n):
    """R / sigma = sqrt(epsilon) / 2 is printed as enough: 0.975 of epsilon at n = 1000."""
    epsilon = 1.0
    cost = release("parameter_draw", n, (0.0, 1e8), math.sqrt(epsilon) / 2).epsilon(0)
    assert cost < epsilon
    if n == 1000:
        assert cost == pytest.approx(0.975, abs=5e-4)
    not_enough = release("parameter_draw", n, (0.0, 1e8), math.sqrt(epsilon)).epsilon(0)
    assert not_enough > epsilon  # the second half of the theorem


def test_the_largest_ratio_of_one_record_is_a_closed_form():
    """n = 1: the centres are symmetric, E z integrates to 0, and 2 R^2 / sigma^2 is left."""
    for sd in (0.1, 1.0, 50.0):
        cost = release("parameter_draw", 1, (0.0, sd), 0.7, 1.3).epsilon(0)
        assert cost == pytest.approx(2 * 0.7**2 / 1.3**2, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(CONDITIONED),
    st.integers(1, 300),
    st.floats(0.1, 20),
    st.floats(0.4, 3),
    st.floats(0, 0.95),
)
def test_a_profile_decreases_ends_at_pure_epsilon_and_orders(method, n, sd, R, share):
    made, stronger = (release(method, n, (0.0, s), R) for s in (sd, sd / 1.2))
    pure = made.epsilon(0)
    assert made.delta(pure) == 0
    delta = made.delta(share * pure)
    assert 0 < made.delta(share * pure + 0.04 * pure) <= delta * (1 + 2e-6)
    assert delta <= max(
        -math.expm1((share - 1) * pure) * 1.001, 1e-289
    )  # Pr[S] (1 - gamma / e^pure)
    assert stronger.epsilon(0) <= pure * (1 + 1e-11)
    assert stronger.delta(share * pure) <= delta * (1 + 2e-6) + 1e-289


@pytest.mark.parametrize("method", ["synthetic_map", "synthetic_many"])
def test_many_records_cost_as_many_pure_epsilons_and_at_most_the_bound(method):
    """All records at one end attain it; delta is bounded, here against the exact law of two."""
    n, prior, R, size = 5, (0.0, 2.0), 0.9, 2
    one, two = (release(method, n, prior, R, size=m) for m in (1, size))
    assert two.epsilon(0) == pytest.approx(2 * one.epsilon(0), rel=1e-14)
    z = np.linspace(-R, R, 801)
    sides = []
    for last in (R, -R):
        law = conditioned(*centre_and_sd(method, [-R] * (n - 1) + [last], prior, 1.0), R).pdf(z)
        sides.append(np.multiply.outer(law, law))
    for epsilon in (0.0, 0.1):
        gain = np.maximum(sides[0] - math.exp(epsilon) * sides[1], 0)
        truth = integrate.simpson(integrate.simpson(gain, x=z), x=z)
        assert truth <= two.delta(epsilon)


def test_synthetic_one_is_bounded_by_its_draw():
    draw = release("parameter_draw", 9, (0.0, 1.0), 0.8)
    made = release("synthetic_one", 9, (0.0, 1.0), 0.8, size=7)
    assert made.epsilon(0) == draw.epsilon(0)
    assert made.delta(0.2) == draw.delta(0.2)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("each", [0.1, 1.0])
def test_composition_is_that_of_randomized_responses(count, each):
    """All 2^count answers of two people who answer alike, one yes and one no throughout."""
    truth, lie = math.exp(each) / (1 + math.exp(each)), 1 / (1 + math.exp(each))
    for epsilon in (0.0, 0.3 * count * each, 0.9 * count * each):
        total = 0.0
        for answers in product((0, 1), repeat=count):
            p = truth ** sum(answers) * lie ** (count - sum(answers))
            q = lie ** sum(answers) * truth ** (count - sum(answers))
            total += max(0.0, p - math.exp(epsilon) * q)
        assert composed_divergence(each, count, epsilon) == pytest.approx(total, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("method", CONDITIONED)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_calibration_finds_the_widest_prior(method, delta):
    size = {"size": 1} if method != "parameter_draw" else {}
    known = {"n": 20, "R": 2.0, "sigma": 2.0, "bounded": True} | size
    epsilon = (1.0 if delta else 2.6) if method == "parameter_draw" else 0.05
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="gaussian", method=method, epsilon=epsilon, delta=delta, **known
    )
    assert made.epsilon(delta) <= epsilon
    assert made.delta(epsilon) <= delta
    sd = made.prior[1]
    wider = bdp.mechanisms.ConjugateMechanism("gaussian", method, prior=(0, sd * 1.0001), **known)
    assert wider.delta(epsilon) > delta


def test_a_draw_of_bounded_records_needs_a_ratio_that_no_prior_gives():
    with pytest.raises(bdp.errors.InvalidInput, match="no prior gives gaussian parameter_draw"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="gaussian", method="parameter_draw", n=9, R=1.0, sigma=1.0, bounded=True,
            epsilon=1.9,
        )  # fmt: skip


@pytest.mark.parametrize(("n", "prior", "R"), [(1, (0.0, 1.0), 2.0), (50, (3.0, 1e6), 0.5)])
def test_map_sensitivity_is_the_largest_move_of_the_mode(n, prior, R):
    made = release("parameter_draw", n, prior, R, 0.7)
    ends = [centre_and_sd("parameter_draw", [R] * (n - 1) + [x], prior, 0.7)[0] for x in (R, -R)]
    assert map_sensitivity(made) == pytest.approx(ends[0] - ends[1], rel=1e-9)
    assert map_sensitivity(made) <= 2 * R / n * (1 + 1e-12)


def test_bad_bounds_are_named():
    with pytest.raises(bdp.errors.InvalidInput, match="bounded is 1"):
        release("parameter_draw", 3, (0, 1), 1.0, bounded=1)
    with pytest.raises(bdp.errors.InvalidInput, match="'bernoulli' has no bound"):
        bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 3, (1, 1), bounded=True)


@pytest.mark.parametrize(("prior", "R"), [((0, 1), 1e20), ((0, 1), 1e100), ((1e30, 1), 1000.0)])
@pytest.mark.parametrize("method", ["synthetic_one", *CONDITIONED])
def test_bounds_so_wide_that_floats_give_no_cost_are_named(method, prior, R):
    with pytest.raises(bdp.errors.InvalidInput, match=r"R is .*prior nearer to the records"):
        release(method, 2, prior, R).guarantee()


@pytest.mark.parametrize("share", [0.1, 0.11, 0.15, 0.2, 0.6])
def test_delta_is_found_where_no_output_of_many_neighbours_is_worth_epsilon(share):
    """The worst are far from the bounds, where the law is normal; at others delta is 0."""
    made = release("parameter_draw", 4, (3, 0.01), 1.0, sigma=0.01)
    epsilon = share * made.epsilon()
    with mp.workdps(40):
        shift, gamma = 2 / mp.mpf("0.01") / mp.sqrt(5), mp.exp(epsilon)  # in posterior sds
        ends = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
        truth = mp.ncdf(ends[0]) - gamma * mp.ncdf(ends[1])
        assert truth <= made.delta(epsilon) <= max(truth * (1 + mp.mpf("2e-6")), 2e-290)
