"""What rounding to a lattice moves, and what noise promises there, against enumeration."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.noise.gaussian_profiles import divergence, scalar_divergence
from bayesdp.mechanisms.noise.lattice import moved_steps, to_steps
from bayesdp.mechanisms.noise.laws import GaussianNoise, LaplaceNoise
from bayesdp.mechanisms.noise.pure import laplace_divergence, truncated_gaussian, truncated_laplace
from bayesdp.privacy.conversions import zcdp_to_delta
from bayesdp.privacy.profile import composed_pure, gaussian_divergence, hockey_stick

SCALES = [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4), Fraction(9)]
scales = pytest.mark.parametrize("scale", SCALES, ids=str)
LINE = np.arange(-300, 301)


def truncated_law(noise, width: int) -> np.ndarray:
    """log Pr[z | c], rows c in 0..width, by normalising the untruncated law."""
    c = np.arange(width + 1)
    law = noise.log_pmf(c[None, :] - c[:, None])
    return law - np.log(np.sum(np.exp(law), axis=1, keepdims=True))


# The lattice.


@given(
    st.floats(-1e3, 1e3),
    st.floats(0, 5),
    st.sampled_from([1.0, 0.25, 2.0**-10, 8.0]),
    st.booleans(),
)
def test_rounding_moves_a_scalar_by_at_most_its_ceiling(x, sensitivity, step, up):
    other = x + (sensitivity if up else -sensitivity)
    apart = abs(Fraction(x) - Fraction(other))  # as floats they are
    one, two = (
        int(to_steps(v, step, dimension=None, whole=False, within=None)) for v in (x, other)
    )
    assert one == math.floor(Fraction(x) / Fraction(step) + Fraction(1, 2))
    assert abs(one - two) <= moved_steps("L1", apart, step, dimension=None, whole=False)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-2, 2)), min_size=2, max_size=5))
def test_rounding_moves_a_vector_by_at_most_what_is_charged(pairs):
    x, y = ([Fraction(a) for a, _ in pairs], [Fraction(a + b) for a, b in pairs])
    d = len(pairs)
    moved = np.subtract(
        *(
            to_steps([float(v) for v in p], 0.5, dimension=d, whole=False, within=None)
            for p in (x, y)
        )
    )
    apart = [abs(a - b) for a, b in zip(x, y, strict=True)]
    if (l1 := sum(apart)) > 0:
        assert np.abs(moved).sum() <= moved_steps("L1", l1, 0.5, dimension=d, whole=False)
        l2 = Fraction(math.sqrt(float(sum(a * a for a in apart))) * (1 + 1e-15))
        length = moved_steps("L2", l2, 0.5, dimension=d, whole=False)
        assert np.sum(moved.astype(float) ** 2) <= length**2


def test_the_charge_for_rounding_is_attained():
    """Under L1, d components can each cross a boundary: ceil(S) + d - 1 steps."""
    x, y = np.array([0.49, 0.49, 0.49]), np.array([0.51, 0.51, 1.51])
    moved = np.subtract(
        *(to_steps(v, 1.0, dimension=3, whole=False, within=None) for v in (y, x))
    ).sum()
    assert moved == 4 == moved_steps("L1", Fraction(106, 100), 1.0, dimension=3, whole=False)
    assert moved_steps("L1", Fraction(5), 1.0, dimension=3, whole=True) == 5
    assert moved_steps("L2", Fraction(5), 1.0, dimension=None, whole=False) == 5


@pytest.mark.parametrize(
    "x", [0.49999999999999994, -0.5000000000000001, -1e-300, 2**51 + 0.5, -0.5]
)
def test_rounding_is_exact_next_to_ties(x):
    true = math.floor(Fraction(x) + Fraction(1, 2))
    assert to_steps(x, 1.0, dimension=None, whole=False, within=None) == true


# What is promised, against enumeration.


@scales
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_scalar_profiles_agree_with_sums_over_the_lattice(scale, shift):
    laplace, gaussian = LaplaceNoise(scale), GaussianNoise(scale)
    pure = shift / float(scale)
    for epsilon in (0.0, 0.01, 0.3, 1.0, 0.7 * pure, 0.999 * pure, 3.0):
        for noise, found in (
            (laplace, laplace_divergence(laplace, shift, epsilon)),
            (gaussian, scalar_divergence(gaussian, shift, epsilon)),
        ):
            true = hockey_stick(noise.log_pmf(LINE), noise.log_pmf(LINE - shift), epsilon)
            assert found == pytest.approx(true, rel=1e-9, abs=1e-15)
            nearer = hockey_stick(noise.log_pmf(LINE), noise.log_pmf(LINE - 1), epsilon)
            assert nearer <= found * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("epsilon", [0.5, 700.0, 999.0])
def test_a_thousandth_of_a_step_has_a_profile(epsilon):
    """Of noise that is 0 but for exp(-1000), delta is that of a pure epsilon of 1000."""
    found = bdp.mechanisms.DiscreteLaplaceMechanism(scale=1e-3).delta(epsilon)
    assert found == pytest.approx(-math.expm1(epsilon - 1000.0), rel=1e-9)
    made = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=1e3, sensitivity=1, delta=1e-9)
    assert made.scale == pytest.approx(1e-3, rel=1e-9)
    assert made.delta(1e3) <= 1e-9


@scales
@pytest.mark.parametrize("width", [1, 2, 6, 25])
def test_truncation_costs_what_the_worst_pair_of_all_does(scale, width):
    for noise, cost in (
        (LaplaceNoise(scale), truncated_laplace),
        (GaussianNoise(scale), truncated_gaussian),
    ):
        law = truncated_law(noise, width)
        for steps in {1, 2, width // 2 or 1, width, width + 3}:
            true = max(
                float(np.max(np.abs(law[a] - law[b])))
                for a, b in itertools.combinations(range(width + 1), 2)
                if b - a <= steps
            )
            found = cost(noise, steps, 1, width)
            assert true * (1 - 1e-13) <= found <= true * (1 + 1e-11) + 3e-13


@pytest.mark.parametrize("width", [1, 3, 4])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2)])
def test_truncated_vectors_cost_at_least_their_worst_split(scale, width):
    """Exactly that under L1; under L2 an upper bound, met where one or all components move."""
    for noise, cost, norm in (
        (LaplaceNoise(scale), truncated_laplace, 1),
        (GaussianNoise(scale), truncated_gaussian, 2),
    ):
        law = truncated_law(noise, width)
        alone = [0.0] + [
            max(
                float(np.max(np.abs(law[a] - law[b])))
                for a, b in itertools.combinations(range(width + 1), 2)
                if b - a <= j
            )
            for j in range(1, width + 1)
        ]
        for d in (2, 3):
            for length in (1.0, 2.0, math.sqrt(3), math.sqrt(d), 2 * math.sqrt(d), 5.0):
                if norm == 1 and length % 1:
                    continue
                splits = [
                    split
                    for split in itertools.product(range(width + 1), repeat=d)
                    if np.linalg.norm(split, norm) <= length + 1e-12
                ]
                true = max(sum(alone[j] for j in split) for split in splits)
                found = cost(noise, int(length) if norm == 1 else length, d, width)
                assert found >= true * (1 - 1e-13)
                if norm == 1 or length in (1.0, math.sqrt(d)):
                    assert found == pytest.approx(true, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 2.5])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_composed_pure_promises_hold_and_are_met_by_randomised_response(epsilon, copies):
    alone, bits = 0.9, np.array(list(itertools.product([0, 1], repeat=copies)))
    ones = bits.sum(axis=1)
    log_p = ones * math.log(stats.logistic.cdf(alone))
    log_p = log_p + (copies - ones) * math.log(stats.logistic.cdf(-alone))
    true = hockey_stick(log_p, log_p[::-1], epsilon)
    assert composed_pure(alone, copies, epsilon) == pytest.approx(true, rel=1e-12, abs=1e-16)
    noise = LaplaceNoise(Fraction(10, 9))
    line, log_q = np.arange(-25, 27), None
    one, other = noise.log_pmf(line), noise.log_pmf(line - 1)
    log_p, log_q = one, other
    for _ in range(copies - 1):
        log_p, log_q = np.add.outer(log_p, one), np.add.outer(log_q, other)
    assert hockey_stick(log_p.ravel(), log_q.ravel(), epsilon) <= true + 1e-10


@pytest.mark.parametrize("scale", [Fraction(4, 5), Fraction(3, 2), Fraction(5, 2), Fraction(5)])
@pytest.mark.parametrize("moves", [(1, 0), (1, 1), (3, 1), (2, 2)])
def test_gaussian_vectors_cost_at_most_their_bound(scale, moves):
    """All outputs of a two-dimensional vector, on a lattice coarse enough to matter."""
    noise, length = GaussianNoise(scale), math.hypot(*moves)
    line = np.arange(-60, 64)
    log_p = np.add.outer(noise.log_pmf(line), noise.log_pmf(line)).ravel()
    log_q = np.add.outer(*(noise.log_pmf(line - m) for m in moves)).ravel()
    rho = length**2 / (2 * float(scale) ** 2)
    for epsilon in (0.0, 0.1, 1.0, 2.0, 4.0):
        true = hockey_stick(log_p, log_q, epsilon)
        found = divergence(noise, length, 2, 1, epsilon)
        assert true * (1 - 1e-9) <= found <= 1
        assert true <= zcdp_to_delta(rho, epsilon) * (1 + 1e-9)
        if moves[0] == moves[1]:  # and two copies of a scalar are such a vector
            assert true * (1 - 1e-9) <= divergence(noise, moves[0], 1, 2, epsilon)
        if scale == 5 and true > 1e-3:  # and it isn't idle
            assert found < 1.5 * true


@pytest.mark.parametrize(
    ("shift", "epsilon"),
    [(1.5, 0.1), (1.2, 0.71), (10, 49), (100, 4990), (1e5, 4.999e9), (1e6, 5e11), (4.4e9, 9.68e18)],
)
def test_the_gaussian_profile_keeps_its_digits_however_large_epsilon_is(shift, epsilon):
    """Where a logarithm is as large as epsilon, its rounding was of the second term's size."""
    with mpmath.workdps(80):
        x = mpmath.mpf(epsilon) / mpmath.mpf(shift) - mpmath.mpf(shift) / 2
        tail = mpmath.exp(epsilon) * mpmath.erfc((x + shift) / mpmath.sqrt(2))
        right = (mpmath.erfc(x / mpmath.sqrt(2)) - tail) / 2
    assert gaussian_divergence(shift, epsilon) == pytest.approx(float(right), rel=1e-7)


@pytest.mark.parametrize("shift", [0.001, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("dimension", [None, 3])
def test_a_fine_lattice_has_the_continuous_profile(shift, dimension):
    mechanism = bdp.mechanisms.GaussianMechanism(1 / shift, 1.0, dimension=dimension)
    for epsilon in (0.01, shift, 3 * shift, 1.0):
        continuous = gaussian_divergence(shift, epsilon)
        if continuous > 1e-200:
            found = mechanism.delta(epsilon)
            assert continuous <= found <= continuous * (1 + 1e-2)
            again = mechanism.epsilon(found)
            assert again == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(3)])
@pytest.mark.parametrize("width", [2, 7, 30])
def test_truncated_gaussians_keep_their_delta_for_all_pairs(scale, width):
    mechanism = bdp.mechanisms.DiscreteGaussianMechanism(
        float(scale), 2, bounds=(0, width), bounding="truncated"
    )
    law = truncated_law(GaussianNoise(scale), width)
    found = [mechanism.delta(epsilon) for epsilon in (0.0, 0.3, 1.0, 2.0)]
    assert sorted(found, reverse=True) == found
    for epsilon, delta in zip((0.0, 0.3, 1.0, 2.0), found, strict=True):
        for a, b in itertools.permutations(range(width + 1), 2):
            if abs(a - b) <= 2:
                assert hockey_stick(law[a], law[b], epsilon) <= delta + 1e-15


def test_a_wide_truncated_gaussian_costs_far_less_than_its_pure_epsilon():
    mechanism = bdp.mechanisms.GaussianMechanism(3.0, 1.0, bounds=(-30, 30), bounding="truncated")
    assert mechanism.epsilon() == pytest.approx(6.379, abs=1e-3)
    assert mechanism.epsilon(1e-6) < 1.75
    assert bdp.mechanisms.GaussianMechanism(3.0, 1.0).epsilon(1e-6) < 1.45
    half_open = bdp.mechanisms.GaussianMechanism(3.0, 1.0, bounds=(0, None), bounding="truncated")
    assert math.isinf(half_open.epsilon())
    assert half_open.epsilon(1e-6) < 1.75
    assert half_open.guarantee(delta=1e-6).rho is None  # as its pure epsilon is infinite
    assert mechanism.guarantee(delta=1e-6).rho == pytest.approx(mechanism.epsilon() ** 2 / 2)


def test_known_values():
    assert bdp.mechanisms.DiscreteLaplaceMechanism(1.0).epsilon() == 1.0
    assert bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 3).epsilon(copies=4) == 6.0
    assert bdp.mechanisms.PerturbedHistogramMechanism(2.0, 7).epsilon() == 0.5
    assert bdp.mechanisms.PerturbedHistogramMechanism(2.0, 7, "replace_one").epsilon() == 1.0
    assert bdp.mechanisms.LaplaceMechanism(0.5, 0.25).epsilon() == 0.5
    gaussian = bdp.mechanisms.GaussianMechanism.calibrate(epsilon=1, delta=1e-5, sensitivity=1.0)
    assert gaussian.scale == pytest.approx(3.730631634815942, rel=1e-5)  # Balle and Wang (2018)
    assert gaussian.rho() == pytest.approx(1 / (2 * gaussian.scale**2), rel=1e-5)
