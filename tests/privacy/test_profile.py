"""Hockey-stick divergences against mpmath, and roots on the safe side."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.privacy.profile import (
    Profile,
    after_pure,
    gaussian_divergence,
    gaussian_profile,
    hockey_stick,
    round_up,
    smallest_satisfying,
)


def normal_divergence(shift: float, epsilon: float) -> mp.mpf:
    with mp.workdps(60):
        shift, epsilon = mp.mpf(shift), mp.mpf(epsilon)
        x = epsilon / shift - shift / 2
        return mp.ncdf(-x) - mp.e**epsilon * mp.ncdf(-x - shift)


@settings(max_examples=200, deadline=None)
@given(st.floats(-6, 1.5), st.floats(-4, 1.5))
def test_gaussian_divergence_keeps_its_digits(log_shift: float, log_epsilon: float):
    shift, epsilon = 10**log_shift, 10**log_epsilon
    truth = normal_divergence(shift, epsilon)
    if truth > 1e-290:
        assert abs(gaussian_divergence(shift, epsilon) / truth - 1) < 2e-12


@pytest.mark.parametrize(("shift", "epsilon"), [(1.0, 0.0), (1e-3, 0.0), (80.0, 0.5), (1.5, 1.125)])
def test_gaussian_divergence_at_its_seams(shift: float, epsilon: float):
    truth = normal_divergence(shift, epsilon)
    assert abs(gaussian_divergence(shift, epsilon) / truth - 1) < 2e-12


def test_an_epsilon_that_nothing_costs_leaves_no_delta():
    assert gaussian_divergence(1e-10, 1e300) == 0  # epsilon over shift is no float
    assert gaussian_divergence(2.0, 1e300) == 0
    assert gaussian_divergence(1.0, 38.0) > 0


def test_no_shift_costs_nothing():
    assert gaussian_divergence(0.0, 0.0) == 0


def test_hockey_stick_of_finite_laws():
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.2, 0.5, 0.0, 0.3])
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    for epsilon in (0.0, 0.3, 2.0):
        truth = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert hockey_stick(log_p, log_q, epsilon) == pytest.approx(truth, rel=1e-14)
    assert hockey_stick(log_p, log_q, math.inf) == 0.25


@given(st.floats(1e-12, 1e12), st.floats(0.1, 5.0))
def test_roots_are_on_the_safe_side_and_tight(root: float, power: float):
    def function(x: float) -> float:
        return math.inf if x == 0 else (root / x) ** power

    found = smallest_satisfying(function, 1.0)
    assert function(found) <= 1
    assert found == pytest.approx(root, rel=1e-11)


def test_roots_at_the_ends():
    assert smallest_satisfying(lambda x: 0.5 / (1 + x), 0.6) == 0
    assert smallest_satisfying(lambda x: 1.0, 0.6) == math.inf
    assert smallest_satisfying(lambda x: 0.0 if x >= 3 else 1.0, 0.6, largest=3.0) == pytest.approx(
        3
    )


@pytest.mark.parametrize("name", ["GaussianMechanism", "DiscreteGaussianMechanism"])
def test_a_delta_below_what_floats_resolve_has_no_epsilon(name):
    made = getattr(bdp.mechanisms, name)(2.0, 1.0)
    assert 18 < made.guarantee(delta=1e-289).epsilon < 19
    for delta in (1e-291, 1e-300, 1e-320):
        assert made.guarantee(delta=delta).epsilon == math.inf


def test_a_jump_ends_on_its_safe_side():
    found = smallest_satisfying(lambda x: 1.0 if x < 1 / 3 else 0.1, 0.5)
    assert 1 / 3 <= found < 1 / 3 + 1e-12


def test_rounding_up_never_passes_one_and_keeps_zero():
    assert round_up(0.0) == 0
    assert round_up(1.0) == 1
    assert 1e-5 < round_up(1e-5) < 1e-5 * (1 + 1e-9)


def test_a_profile_with_a_limit_has_no_epsilon_below_it():
    profile = Profile(lambda epsilon: 0.1 + 0.5 * math.exp(-epsilon), math.inf, limit=0.1)
    assert profile.epsilon(0.05) == math.inf
    assert profile.epsilon(0) == math.inf
    assert profile.epsilon(0.2) == pytest.approx(math.log(5))
    assert profile.delta(math.inf) == pytest.approx(0.1)


@pytest.mark.parametrize("value", [-1, -1e-300, math.nan, "one", None, True])
def test_bad_epsilon_and_delta_are_named(value: object):
    profile = Profile(lambda epsilon: math.exp(-epsilon), math.inf)
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is"):
        profile.delta(value)
    with pytest.raises(bdp.errors.InvalidInput, match="delta is"):
        profile.epsilon(value)


@pytest.mark.parametrize("value", [1, 1.5, math.inf])
def test_delta_is_below_one(value: float):
    with pytest.raises(bdp.errors.InvalidInput, match="delta is"):
        Profile(lambda epsilon: math.exp(-epsilon), math.inf).epsilon(value)


def as_delta(pld, epsilon: float) -> float:
    return float(pld.get_delta_for_epsilon(epsilon))


@pytest.mark.parametrize("shift", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("interval", [None, 1e-3])
def test_a_loss_distribution_is_above_its_profile_and_close(shift, interval):
    profile = gaussian_profile(shift)
    pld = profile.pld(interval)
    for epsilon in shift * np.linspace(0, 6, 37):
        true, made = profile.delta(epsilon), as_delta(pld, epsilon)
        assert made >= true * (1 - 1e-13)
        # Between two points the chord is above the profile by some (log slope * gap)^2 / 8.
        coarse = 0 if interval is None else interval
        assert made <= true * 1.02 + 1e-18 or made <= profile.delta(max(0, epsilon - coarse))


def test_a_loss_distribution_reads_few_deltas():
    read = []

    def divergence(epsilon: float) -> float:
        read.append(epsilon)
        return gaussian_divergence(1.0, epsilon)

    Profile(divergence, math.inf).pld()
    assert len(read) <= 300


def test_a_pure_loss_distribution_ends_at_its_epsilon():
    """Randomized response: all its losses are ends of the grid."""
    p = 1 / (1 + math.exp(-1.0))
    profile = Profile(lambda e: p - math.exp(e) * (1 - p), 1.0)
    pld = profile.pld()
    assert as_delta(pld, 1.0) == 0
    for epsilon in (0.0, 0.3, 0.9):
        assert profile.delta(epsilon) <= as_delta(pld, epsilon) <= profile.delta(epsilon) + 1e-6
    nothing = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_map", 10, (2.0, 2.0)).pld()
    assert as_delta(nothing, 5.0) == 1
    assert as_delta(gaussian_profile(0.0).pld(), 0.0) == 0


@pytest.mark.parametrize("interval", [0, -1.0, math.inf, math.nan, "1", True])
def test_an_interval_is_positive(interval):
    with pytest.raises(bdp.errors.InvalidInput, match="interval is"):
        gaussian_profile(1.0).pld(interval)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["parameter_draw", "synthetic_one"])
def test_a_conjugate_release_has_a_loss_distribution(method):
    size = 20 if method == "synthetic_one" else None
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", method, 100, (30.0, 30.0), size)
    for epsilon in (0.0, 0.05, 0.2):
        true = made.delta(epsilon)
        assert true <= as_delta(made.pld(), epsilon) <= true * 1.05 + 1e-12


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.floats(0, 4))
def test_post_processing_never_raises_a_divergence(seed, outputs, results, epsilon):
    random = np.random.default_rng(seed)
    p, q = random.dirichlet(np.full(outputs, 0.3), 2)
    kernel = random.dirichlet(np.full(results, 0.3), outputs)
    with np.errstate(divide="ignore"):
        before = hockey_stick(np.log(p), np.log(q), epsilon)
        after = hockey_stick(np.log(p @ kernel), np.log(q @ kernel), epsilon)
    assert after <= before + 1e-13


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("bernoulli", "gaussian")),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 40),
    st.floats(0.05, 3),
)
def test_what_is_made_of_a_release_costs_no_more(family, n, size, more, epsilon):
    """Records of a draw cost at most the draw, and fewer records at most what more cost."""
    other = {"R": 1.0, "sigma": 0.7} if family == "gaussian" else {}
    prior = (0.3, 1.2) if family == "gaussian" else (1.5, 4.0)

    def delta(method: str, size: int | None = None) -> float:
        return bdp.mechanisms.ConjugateMechanism(
            family, method, n, prior, size=size, **other
        ).delta(epsilon)

    above = 1 + 1e-9  # each is computed, and rounded up, to that
    assert delta("synthetic_one", size) <= delta("parameter_draw") * above
    for method in ("synthetic_one", "synthetic_many", "synthetic_map"):
        assert delta(method, size) <= delta(method, size + more) * above


@settings(max_examples=60, deadline=None)
@given(st.floats(0.3, 5), st.integers(-3, 0), st.integers(1, 4), st.floats(0, 3))
def test_clamping_a_release_costs_nothing_more(scale, low, width, epsilon):
    free = bdp.mechanisms.DiscreteLaplaceMechanism(scale)
    held = bdp.mechanisms.DiscreteLaplaceMechanism(
        scale, bounds=(low, low + width), bounding="inflated"
    )
    assert held.delta(epsilon) <= free.delta(epsilon)
    outputs = held.outputs()
    for x in range(low - 2, low + width + 2):
        found = hockey_stick(held.logp(outputs, x), held.logp(outputs, x + 1), epsilon)
        assert found <= held.delta(epsilon) * (1 + 1e-12) + 2**-53  # rounding of the sum's terms


def test_a_delta_that_came_out_as_nan_is_one():
    assert round_up(math.nan) == 1
    assert Profile(lambda epsilon: math.nan, math.inf).delta(1.0) == 1


def test_a_bound_that_is_no_profile_has_a_loss_distribution():
    sure = Profile(lambda at: 1.0 if at < 1 else 0.3 * -math.expm1(at - 2), 2.0)
    pld = sure.pld()
    for epsilon in (1.2, 1.7, 1.99):
        assert sure.delta(epsilon) <= pld.get_delta_for_epsilon(epsilon) * (1 + 1e-6)
    # What follows at 0 from the bound at 1: the line between its two mirrored points.
    d = 0.3 * -math.expm1(-1)
    assert pld.get_delta_for_epsilon(0.0) == pytest.approx(
        (math.e - 1 + 2 * d) / (math.e + 1), rel=0.02
    )


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("choice", [0.4, 2.0])
def test_choices_beside_another_mechanism_have_the_profile_of_their_product(copies, choice):
    """Of randomized response, once a choice, and of the other's law, which is its own mirror."""
    law = np.array([0.6, 0.3, 0.1])
    pure = math.log(6)
    one = Profile(lambda at: hockey_stick(np.log(law), np.log(law[::-1]), at), pure)
    made = after_pure(one, choice, copies)
    coin = np.array([math.exp(choice), 1.0]) / (1 + math.exp(choice))
    joint = np.log(law)
    for _ in range(copies):
        joint = np.add.outer(joint, np.log(coin))
    mirrored = np.flip(joint).ravel()
    assert made.pure_epsilon == pytest.approx(copies * choice + pure, rel=1e-14)
    for at in (0.0, 0.3, 0.9, 1.7, 3.1, 6.0):
        true = hockey_stick(joint.ravel(), mirrored, at)
        assert true <= made.delta(at) <= true * (1 + 1e-9) + 1e-12
