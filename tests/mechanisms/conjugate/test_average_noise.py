"""Average-case privacy of noisy releases: bounds between thetas, small deltas, one draw."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.conjugate.average import average_case_delta, distributional_delta
from bayesdp.mechanisms.conjugate.average_draw import PosteriorDraw
from bayesdp.mechanisms.conjugate.average_synthetic import SyntheticRecords, synthetic_laws

SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")


def drawn(n, prior=(2.0, 3.0)):
    return bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", n, prior)


def synthetic(method, n, size, prior=(2.0, 3.0)):
    return bdp.mechanisms.ConjugateMechanism("bernoulli", method, n, prior, size=size)


def draw_divergence(n, prior, theta, epsilon, points=40_001):
    """Over a grid of log odds; the larger of both directions."""
    y = np.linspace(-60, 60, points)
    p, q, s = special.expit(y), special.expit(-y), np.arange(n + 1)[:, None]
    a, b = prior
    log_laws = (a + s) * np.log(p) + (b + n - s) * np.log(q) - special.betaln(a + s, b + n - s)
    laws = np.exp(log_laws)
    others = stats.binom.pmf(np.arange(n), n - 1, theta)
    one, zero = others @ laws[1:], others @ laws[:-1]
    step, gamma = y[1] - y[0], math.exp(epsilon)
    return max(np.maximum(v - gamma * w, 0).sum() * step for v, w in ((one, zero), (zero, one)))


@pytest.mark.slow
@pytest.mark.parametrize("prior", [(2.0, 3.0), (0.5, 0.5)])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 0.9), (0.3, 0.45), (0.6, 0.6)])
def test_a_draw_is_the_worst_over_the_interval(prior, n, low, high):
    """Against the integral of |density difference|, with neither a crossing nor a tail."""
    for epsilon in (0.0, 0.5, 2.0):
        found = [draw_divergence(n, prior, theta, epsilon) for theta in np.linspace(low, high, 21)]
        claim = average_case_delta(drawn(n, prior), epsilon, theta=(low, high))
        assert max(found) <= claim * (1 + 1e-4)  # the grid's step
        # Between the grid's thetas, and what the search may overstate.
        assert claim <= max(found) * (1.02 if low < high else 1 + 1e-4)


def exact_draw_divergence(n, prior, theta, epsilon):
    """One against zero by 50 digits: P1 - gamma P0 beyond the crossing, which is bisected."""
    with mpmath.workdps(60):
        (a, b), theta = map(mpmath.mpf, prior), mpmath.mpf(theta)
        others = [
            mpmath.binomial(n - 1, j) * theta**j * (1 - theta) ** (n - 1 - j) for j in range(n)
        ]
        norm = [mpmath.beta(a + s, b + n - s) for s in range(n + 1)]

        def excess(y):
            one = mpmath.fsum(w * mpmath.exp(y * (j + 1)) / norm[j + 1] for j, w in others_at)
            zero = mpmath.fsum(w * mpmath.exp(y * j) / norm[j] for j, w in others_at)
            return one - mpmath.exp(epsilon) * zero

        others_at = list(enumerate(others))
        low, high = mpmath.mpf(-1000), mpmath.mpf(1000)
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (low, middle) if excess(middle) > 0 else (middle, high)
        q = 1 / (1 + mpmath.exp(low))
        tails = [mpmath.betainc(b + n - s, a + s, 0, q, regularized=True) for s in range(n + 1)]
        return mpmath.fsum(
            w * (tails[j + 1] - mpmath.exp(epsilon) * tails[j]) for j, w in others_at
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "prior", "theta", "epsilon"),
    [
        (1, (2, 3), 0.3, 0.5),
        (5, (0.5, 0.5), 0.01, 1.0),
        (40, (1, 1), 0.5, 20.0),
        (120, (2, 3), 0.3, 1.0),
        (30, (0.001, 2.0), 0.9, 3.0),
        (30, (0.001, 2.0), 0.0, 3.0),
        (8, (1000.0, 1000.0), 0.4, 0.1),
        (12, (1.0, 0.7), 0.4, 200.0),
        (12, (1e-6, 1e-6), 0.4, 50.0),
    ],
)
def test_small_deltas_of_a_draw_keep_their_digits(n, prior, theta, epsilon):
    sides = [(prior, theta), (prior[::-1], 1 - theta)]
    truths = [exact_draw_divergence(n, side, at, epsilon) for side, at in sides]
    for (side, at), truth in zip(sides, truths, strict=True):
        (point,) = (noise := PosteriorDraw(n, *side, epsilon)).points([at])
        bound = noise.bound(point, point)
        assert truth * (1 - 1e-8) <= point.delta <= truth <= bound <= truth * (1 + 1e-8)
    claim = average_case_delta(drawn(n, prior), epsilon, theta=(theta, theta))
    assert max(truths) <= claim <= max(truths) * (1 + 1e-8)


@pytest.mark.parametrize("theta", [(0.5, 0.5), (0.3, 0.7), (0.0, 0.0)])
def test_zheng_6_20_a_draw_has_no_pure_epsilon(theta):
    """Whatever theta is restricted to: even the lower bound on delta is positive."""
    for epsilon in (0.1, 1.0, 5.0, 20.0):
        below, above = distributional_delta(drawn(12), epsilon, theta=theta)
        assert 0 < below < above


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 3.0, 30.0])
def test_if_theta_is_anything_a_draw_costs_what_its_worst_case_does(epsilon):
    made = drawn(50)
    claim = average_case_delta(made, epsilon, theta=(0.0, 1.0))
    assert claim == pytest.approx(made.delta(epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_the_worst_theta_of_a_draw_at_n_300(epsilon):
    made = drawn(300)
    grid = np.linspace(0.2, 0.7, 41)
    found = max(average_case_delta(made, epsilon, theta=(t, t)) for t in grid)
    claim = average_case_delta(made, epsilon, theta=(0.2, 0.7))
    assert found * (1 - 1e-7) <= claim <= found * 1.0051


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize(("n", "size"), [(100, 300), (12, 2000), (200, 5)])
def test_the_worst_theta_of_many_records(method, n, size):
    """Where synthetic records are many, delta(theta) is a row of peaks, one for each sum."""
    made = synthetic(method, n, size)
    law, grid = synthetic_laws(made), np.linspace(0.2, 0.7, 501)
    others = stats.binom.pmf(np.arange(n), n - 1, grid[:, None])
    one, zero = others @ law[1:], others @ law[:-1]
    for epsilon in (0.0, 0.01, 0.3):
        gamma = math.exp(epsilon)
        found = max(
            np.maximum(p - gamma * q, 0).sum(1).max() for p, q in ((one, zero), (zero, one))
        )
        claim = average_case_delta(made, epsilon, theta=(0.2, 0.7))
        assert found * (1 - 1e-9) <= claim <= found * 1.006 + 1e-280


NOISES = st.one_of(
    st.builds(
        lambda method, n, size, a, b, epsilon: SyntheticRecords(
            synthetic_laws(synthetic(method, n, size, (a, b))), epsilon, 1e-290
        ),
        st.sampled_from(SYNTHETIC),
        st.integers(1, 15),
        st.integers(1, 60),
        st.floats(0.1, 5),
        st.floats(0.1, 5),
        st.floats(0, 4),
    ),
    st.builds(
        PosteriorDraw, st.integers(1, 40), st.floats(0.1, 5), st.floats(0.1, 5), st.floats(0, 4)
    ),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(NOISES, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_no_theta_between_two_exceeds_their_bound(noise, low, high, share):
    low, high = sorted((low, high))
    between = min(max(low + share * (high - low), low), high)
    left, point, right = noise.points([low, between, high])
    assert point.delta <= noise.bound(left, right)


@pytest.mark.slow
def test_deltas_too_small_for_products_of_floats():
    n, size, theta, epsilon = 800, 1600, 0.5, 1.2
    made = synthetic("synthetic_one", n, size)
    z, s = np.arange(size + 1), np.arange(n + 1)[:, None]
    a, b = made.prior
    log_law = stats.betabinom.logpmf(z, size, a + s, b + n - s)
    others = stats.binom.logpmf(np.arange(n), n - 1, theta)[:, None]
    one, zero = (special.logsumexp(others + law, axis=0) for law in (log_law[1:], log_law[:-1]))
    log_found = max(
        special.logsumexp(p[gap > 0] + np.log(-np.expm1(-gap[gap > 0])))
        for p, q in ((one, zero), (zero, one))
        if ((gap := p - q - epsilon) > 0).any()
    )
    assert -550 < log_found < -300
    claim = average_case_delta(made, epsilon, theta=(theta, theta))
    assert math.log(claim) == pytest.approx(log_found, abs=1e-6)


@pytest.mark.parametrize("method", SYNTHETIC)
def test_synthetic_records_have_a_pure_epsilon_and_theta_lowers_it(method):
    """The ratio is largest where all m are ones (or zeros), and at the least theta."""
    n, size, theta = 60, 4, (0.4, 0.6)
    made = synthetic(method, n, size, (2.0, 2.0))
    law = synthetic_laws(made)[:, -1]
    others = stats.binom.pmf(np.arange(n), n - 1, theta[0])
    pure = math.log((others @ law[1:]) / (others @ law[:-1]))
    assert pure < made.epsilon(0) / 5
    assert average_case_delta(made, pure * 1.001, theta=theta) == 0
    assert average_case_delta(made, pure * 0.999, theta=theta) > 1e-8
    below, _ = distributional_delta(made, pure * 0.45, theta=theta)
    assert below > 0


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
@pytest.mark.parametrize("prior", [(1e-300, 1e-300), (1e-100, 1.0), (1e-5, 1e8)])
def test_extreme_priors_are_at_most_the_worst_case(method, prior):
    """And as much for the record that stands alone, where theta is 0: so the two agree there."""
    made = drawn(6, prior) if method == "parameter_draw" else synthetic(method, 6, 4, prior)
    for epsilon in (0.0, 1.0):
        alone = average_case_delta(made, epsilon, theta=(0.0, 0.0))
        assert alone <= average_case_delta(made, epsilon, theta=(0.0, 1e-310)) * (1 + 1e-9)
        assert alone <= made.delta(epsilon)
        if prior[0] <= min(prior[1], 1e-100) and method == "parameter_draw":
            assert alone == pytest.approx(1.0)
