"""modips by sanitised statistics: what one record moves, what it costs, what is drawn."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.families import check_family
from bayesdp.mechanisms.families.gaussian_draws import moments
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.privacy.profile import hockey_stick

FALSE_ALARM = 1e-6
Bernoulli, Categorical, Gamma, Gaussian = (
    bdp.families.Bernoulli,
    bdp.families.Categorical,
    bdp.families.Gamma,
    bdp.families.Gaussian,
)
INTERVALS = [(-4.0, 4.0), (-4.0, 5.0), (0.1, 0.3), (1e6, 1e6 + 3), (-2.5e-7, 0.0)]


def moved(family: Any, one: Any, other: Any, public_n: bool) -> np.ndarray:
    """How far each number of the statistic is apart, in units of its sensitivity."""
    sums = [family.sums(np.asarray(data)) for data in (one, other)]
    n = len(one) if public_n else None
    each = [family.vector(family.statistic(s, public_n=public_n), n) for s in sums]
    sensitivities = [number.sensitivity for number in family.numbers(n)]
    return np.abs(each[0].astype(float) - each[1]) / sensitivities


def neighbours(records: list[float], other: float, public_n: bool) -> tuple[list, list]:
    return records, ([other, *records[1:]] if public_n else [*records, other])


# What one record moves.


@pytest.mark.slow
@pytest.mark.parametrize("bounds", INTERVALS)
@pytest.mark.parametrize("sd", [None, 1.0])
@pytest.mark.parametrize("public_n", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_pair_of_neighbours_is_further_apart(bounds, sd, public_n, data):
    """Ends, points within, and points a rounding away from one on the grid."""
    family, (low, high) = Gaussian(bounds, sd), bounds
    inside = st.floats(low, high, allow_subnormal=False)
    on_grid = st.integers(0, 2**20).map(lambda i: min(low + i * family.step, high))
    records = st.one_of(st.sampled_from(bounds), inside, on_grid)
    one = data.draw(st.lists(records, min_size=2, max_size=12))
    other = data.draw(records)
    apart = moved(family, *neighbours(one, other, public_n), public_n)
    assert np.all(apart <= 1)


@pytest.mark.parametrize("bounds", INTERVALS)
@pytest.mark.parametrize("n", [2, 3, 50, 1001])
@pytest.mark.parametrize("public_n", [True, False])
def test_the_worst_pair_moves_all_numbers_at_once(bounds, n, public_n):
    """So the joint L1 sensitivity is the sum of the numbers' own, and no smaller."""
    low, high = bounds
    apart = moved(Gaussian(bounds), *neighbours([low] * n, high, public_n), public_n)
    # What rounding adds is noticed where the bounds are far from 0.
    assert np.all(apart >= 1 - (1e-4 if low == 1e6 else 3e-7))
    assert np.all(apart <= 1)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(3), Categorical(2)])
@pytest.mark.parametrize("public_n", [True, False])
def test_counts_move_as_little_as_is_claimed_for_all_data(family, public_n):
    k = 2 if family.kind == "bernoulli" else family.k
    most = 0.0
    for one in itertools.product(range(k), repeat=3):
        for other in range(k):
            apart = moved(family, *neighbours(list(one), other, public_n), public_n)
            assert np.all(apart <= 1)
            most = max(most, apart.sum())
    assert most == family.together(3 if public_n else None)


@pytest.mark.parametrize("bounds", INTERVALS)
@pytest.mark.parametrize("n", [2, 3, 10, 11])
def test_the_range_of_the_variance_is_attained(bounds, n):
    """It exceeds the (high - low)^2 / 4 that Liu's section 5.3 gives, where n is even."""
    family, (low, high) = Gaussian(bounds), bounds
    data = [low] * (n // 2) + [high] * (n - n // 2)
    variance = family.statistic(family.sums(data), public_n=True)[1]
    most = family.numbers(n)[1].high
    assert most * (1 - 1e-6) <= variance <= most
    if n % 2 == 0:
        assert most > (high - low) ** 2 / 4


def test_statistics_are_those_of_the_records():
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 5, 2001)
    family = Gaussian((-3, 5))
    mean, variance = family.statistic(family.sums(x), public_n=True)
    assert (mean, variance) == pytest.approx((x.mean(), x.var(ddof=1)), rel=1e-6)
    noisy = np.array(family.statistic(family.sums(x), public_n=False))
    assert [float(v) for v in moments(family, noisy, None)] == pytest.approx([2001, mean, variance])


@pytest.mark.parametrize("family", [Gaussian((-1, 3)), Gaussian((0.1, 0.7), 0.2), Gamma((0.1, 9))])
def test_batches_give_the_same_bits(family):
    x = np.random.default_rng(2).uniform(*family.bounds, 50_000)
    whole = family.sums(x)
    parts = [family.sums(part) for part in np.array_split(x, [7, 7, 30_000])]
    assert sum(parts[1:], parts[0]) == whole
    declared = bdp.ModipsSynthesizer(family, copies=1, size=5)
    with bdp.reproducible(1):
        one = declared.release(x)
    with bdp.reproducible(1):
        assert declared.release(iter(np.array_split(x, 13))) == one


# What it costs.


def joint_law(
    mechanism: bdp.mechanisms.ModipsSBSMechanism, statistic: Any, points: np.ndarray
) -> np.ndarray:
    """log Pr of each combination of noisy integers."""
    vector = mechanism.family.vector(statistic, mechanism.n)
    each = [part.logp(points, x) for part, x in zip(mechanism.parts, vector, strict=True)]
    return sum(np.meshgrid(*each, indexing="ij"), np.zeros(()))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize(
    ("family", "n", "scales"),
    [
        (Bernoulli(), 6, (1.5,)),
        (Bernoulli(), None, (1.5, 0.9)),
        (Categorical(3), 3, (1.5, 0.9, 1.1)),
        (Categorical(3), None, (1.5, 0.9, 1.1)),
    ],
)
def test_the_promise_is_that_of_the_noisy_numbers(family, n, scales, noise, bounding):
    """Exactly, for pure promises; and delta never below the hockey-stick divergence."""
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 1, scales, n, noise, bounding)
    points = np.arange(41) if n is None else np.arange(n + 1)
    k = 2 if family.kind == "bernoulli" else family.k
    found, deltas = 0.0, {0.5: 0.0, 1.5: 0.0}
    for one in itertools.product(range(k), repeat=n or 2):
        for other in range(k):
            pair = neighbours(list(one), other, n is not None)
            laws = []
            for data in pair:
                sums = family.sums(np.array(data))
                statistic = family.statistic(sums, public_n=n is not None)
                laws.append(joint_law(mechanism, statistic, points))
            found = max(found, float(np.max(np.abs(laws[0] - laws[1]))))
            for epsilon in deltas:
                both = (hockey_stick(*order, epsilon) for order in (laws, laws[::-1]))
                deltas[epsilon] = max(deltas[epsilon], *both)
    claim = mechanism.epsilon()
    if math.isfinite(claim):
        assert found <= claim * (1 + 1e-12)
        # A truncated law on a half line attains it in the limit.
        assert found == pytest.approx(claim, rel=1e-9 if noise == "laplace" else 0.35)
    for epsilon, delta in deltas.items():
        assert delta <= mechanism.delta(epsilon) + 1e-13
        assert mechanism.delta(epsilon) <= 3.5 * delta + 1e-13 or noise == "gaussian"


@pytest.mark.parametrize("copies", [1, 4])
def test_gaussian_noise_of_several_scales_composes(copies):
    """As one continuous Gaussian with the norm of all shifts, and never below it."""
    mechanism = bdp.mechanisms.ModipsSBSMechanism(Gaussian((-1, 2)), 5, (0.3, 0.5), 10, "gaussian")
    mu = math.sqrt(copies * ((0.3 / 0.3) ** 2 + (0.9 / 0.5) ** 2))
    for epsilon in (0.5, 3.0):
        exact = stats.norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * stats.norm.sf(
            epsilon / mu + mu / 2
        )
        assert exact <= mechanism.delta(epsilon, copies=copies) <= exact * (1 + 1e-4)
    assert mechanism.guarantee(copies=copies, delta=1e-6).rho == pytest.approx(mu**2 / 2, rel=1e-5)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(4), Gaussian((0, 1)), Gamma((0, 1))])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_replacement_costs_at_most_twice_an_addition(family, noise):
    scales = (2.0,) * len(family.numbers(None))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 5, scales, noise=noise)
    delta = 1e-6 if noise == "gaussian" else 0.0
    one = mechanism.guarantee(delta=delta)
    two = mechanism.guarantee(neighbours="replace_one", delta=delta)
    assert two.neighbours is bdp.Neighbours.REPLACE_ONE
    if noise == "laplace":
        assert two.epsilon == pytest.approx(2 * one.epsilon)
    else:
        assert two.rho == pytest.approx(4 * one.rho)
        assert two.epsilon > one.epsilon


def test_allocations_are_lius():
    """Definitions 5 and 6, and Remark 6 (a)."""
    n, copies, epsilon, family = 100, 10, 1.0, Gaussian((-4, 5))
    known: dict[str, Any] = {"family": family, "size": n, "n": n, "epsilon": epsilon}
    known["copies"] = copies
    moves = np.array([9 / n, 81 / n])
    own = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, weights=(0.25, 0.75))
    assert own.scales == pytest.approx(moves / [0.25, 0.75] * copies / epsilon, rel=1e-5)
    together = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, allocation="communal")
    assert together.scales == pytest.approx([moves.sum() * copies / epsilon] * 2, rel=1e-5)
    same = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, weights=tuple(moves / moves.sum()))
    assert same.scales == pytest.approx(together.scales, rel=1e-5)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize(
    "family", [Bernoulli(), Categorical(3), Gaussian((0, 1)), Gaussian((0, 1), 1), Gamma((2, 5))]
)
def test_an_extreme_epsilon_has_its_noise(family, bounding):
    """At 1e-4 a lattice for far wider noise than is needed was found too coarse for the bounds."""
    known: dict[str, Any] = {"family": family, "size": 9, "n": 30, "bounding": bounding}
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, epsilon=1e-9, copies=3)
    assert 0.5e-9 < made.guarantee(copies=3).epsilon <= 1e-9
    if isinstance(family, Bernoulli):
        narrowest = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, epsilon=1e300)
        assert narrowest.scales == pytest.approx((2.0**-20,))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize(
    "family",
    [Bernoulli(), Categorical(3), Gaussian((0, 1)), Gaussian((0, 1), 1), Gamma((0, 1)),
     Gamma((2, 5), 3.0)],
)  # fmt: skip
def test_calibration_keeps_its_promise_with_the_least_noise(family, noise, bounding, delta):
    known: dict[str, Any] = {"family": family, "size": 9, "n": 30, "noise": noise}
    known["bounding"] = bounding
    promise: dict[str, Any] = {"epsilon": 2.0, "delta": delta, "copies": 3}
    if noise == "gaussian" and bounding == "inflated" and delta == 0:
        with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
            bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, **promise)
        return
    made = bdp.mechanisms.ModipsSBSMechanism.calibrate(**known, **promise)
    assert made.guarantee(copies=3, delta=delta).epsilon <= 2.0
    less = tuple(scale * (1 - 1e-4) for scale in made.scales)
    worse = bdp.mechanisms.ModipsSBSMechanism(scales=less, **known)
    assert worse.guarantee(copies=3, delta=delta).epsilon > 2.0


def test_an_audit_convicts_noise_that_is_too_small():
    class Cheat(bdp.mechanisms.ModipsSBSMechanism):
        def release(self, statistic: Any, copies: int = 1) -> Any:
            return bdp.mechanisms.ModipsSBSMechanism(Bernoulli(), 30, (0.25,), 4).release(
                statistic, copies
            )

    honest = bdp.mechanisms.ModipsSBSMechanism(Bernoulli(), 30, (1.0,), 4)
    with bdp.reproducible(1):
        assert not bdp.audit(honest, trials=100_000).convicted
        assert bdp.audit(Cheat(Bernoulli(), 30, (1.0,), 4), trials=100_000).convicted


# What is drawn, and with what probability.


def summed(mechanism: bdp.mechanisms.ModipsSBSMechanism, z: int, x: int, n: int) -> float:
    """The law by its definition."""
    (a, b), parts = mechanism.family.prior, mechanism.parts
    if mechanism.n is not None:
        s = np.arange(n + 1)
        law = parts[0].logp(s, x) + beta_binomial_logpmf(z, mechanism.size, a + s, b + n - s)
        return float(special.logsumexp(law))
    s, t = np.arange(220)[:, None], np.arange(220)
    noise = parts[0].logp(s, x) + parts[1].logp(t, n - x)
    law = noise + beta_binomial_logpmf(z, mechanism.size, a + s, b + t)
    return float(special.logsumexp(law))


@pytest.mark.parametrize("public_n", [True, False])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize(("scale", "prior"), [(0.3, (1, 1)), (2.0, (0.02, 3.5)), (4.0, (1, 1))])
def test_the_binary_law_is_the_sum_over_noisy_counts(public_n, noise, bounding, scale, prior):
    n, size = 7, 5
    scales = (scale,) if public_n else (scale, 1.0)
    mechanism = bdp.mechanisms.ModipsSBSMechanism(
        Bernoulli(prior), size, scales, n if public_n else None, noise, bounding
    )
    z = np.arange(size + 1)
    for x in (0, 3, 7):
        expected = [summed(mechanism, int(k), x, n) for k in z]
        assert mechanism.logp(z, bdp.Count(x, n)) == pytest.approx(expected, abs=1e-11)
    together = mechanism.logp(z[:, None], bdp.Count(np.arange(n + 1), n))
    assert together[:, 3] == pytest.approx(mechanism.logp(z, bdp.Count(3, n)), abs=1e-12)
    assert np.all(mechanism.logp([-1, size + 1], bdp.Count(3, n)) == -np.inf)


def test_the_binary_law_of_a_million_records():
    mechanism = bdp.mechanisms.ModipsSBSMechanism(Bernoulli(), 10**6, (10.0,), 10**6)
    s = np.arange(299_000, 301_000)
    noise = mechanism.parts[0].logp(s, 300_000)
    law = noise + beta_binomial_logpmf(300_700, 10**6, 1 + s, 1 + 10**6 - s)
    found = mechanism.logp(300_700, bdp.Count(300_000, 10**6))
    assert found == pytest.approx(special.logsumexp(law), abs=1e-9)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("prior", [None, (0.3, 0.7)])
@pytest.mark.parametrize("mean", [-1.0, 0.4])
def test_the_normal_law_integrates_to_one(bounding, noise, prior, mean):
    mechanism = bdp.mechanisms.ModipsSBSMechanism(
        Gaussian((-1, 2), 0.8, prior), 1, (0.5,), 6, noise, bounding
    )

    def density(y: float) -> float:
        return float(np.exp(mechanism.logp([y], (mean,))))

    inside = math.nextafter(-1, 0), math.nextafter(2, 0)
    whole = integrate.quad(density, *inside, epsabs=1e-12)[0]
    if bounding == "inflated":
        whole += density(-1.0) + density(2.0)
    assert whole == pytest.approx(1, abs=1e-11)


def test_the_normal_law_is_the_integral_over_the_noisy_mean():
    """Three records, none at a bound: normal given the noisy mean; an independent quadrature."""
    mechanism = bdp.mechanisms.ModipsSBSMechanism(Gaussian((-3, 2), 0.5), 3, (0.4,), 4)
    y, mean = np.array([-0.5, 0.1, 0.7]), 0.25
    covariance = 0.25 * np.eye(3) + 0.25 / 4

    def density(m: float) -> float:
        return float(stats.multivariate_normal.pdf(y, np.full(3, m), covariance))

    def weighted(m: float) -> float:
        return density(m) * float(stats.laplace.pdf(m, mean, 0.4))

    inside = integrate.quad(weighted, -3, 2, points=[mean], epsabs=1e-15, epsrel=1e-12)[0]
    low, high = stats.laplace.cdf(-3, mean, 0.4), stats.laplace.sf(2, mean, 0.4)
    expected = math.log(inside + low * density(-3) + high * density(2))
    # The mean is rounded to a lattice: the law is exact, and the oracle off by what that moves.
    assert float(mechanism.logp(y, (mean,))) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_draws_of_normal_records_follow_their_law(bounding, noise):
    """Kolmogorov and Smirnov on the records, those at a bound spread over it."""
    mechanism = bdp.mechanisms.ModipsSBSMechanism(
        Gaussian((-1, 2), 0.8), 1, (0.5,), 6, noise, bounding
    )
    with bdp.reproducible(3):
        drawn = mechanism.release((1.2,), 20_000)[:, 0]
    grid = np.linspace(math.nextafter(-1, 0), math.nextafter(2, 0), 2001)
    density = np.exp(mechanism.logp(grid[:, None], (1.2,)))
    inside = integrate.cumulative_simpson(density, x=grid, initial=0)
    at_low = float(np.exp(mechanism.logp([-1.0], (1.2,)))) if bounding == "inflated" else 0.0
    u = np.random.default_rng(4).random(drawn.size)
    below = at_low + np.interp(drawn, grid, inside)
    below = np.where((drawn == -1) & (bounding == "inflated"), u * at_low, below)
    top = at_low + inside[-1]
    below = np.where((drawn == 2) & (bounding == "inflated"), top + u * (1 - top), below)
    assert stats.kstest(below, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(("prior", "n"), [(None, 5), ((0.5, 2.0, 3.0, 4.0), 5), (None, 2)])
@pytest.mark.parametrize("public_n", [True, False])
def test_records_of_unknown_variance_are_students(prior, n, public_n):
    """With next to no noise and far bounds: the posterior predictive of the conjugate model."""
    family = Gaussian((-1e2, 1e2), None, prior)
    data = np.linspace(-1, 2, n)
    scales = (1e-3, 1e-3) if public_n else (0.02, 1e-3, 1e-3)
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 1, scales, n if public_n else None)
    statistic = family.statistic(family.sums(data), public_n=public_n)
    with bdp.reproducible(5):
        drawn = mechanism.release(statistic, 20_000)[:, 0]
    mean, squares = data.mean(), float(np.sum((data - data.mean()) ** 2))
    if prior is None:
        freedom, k, centre, scale = n - 1, n, mean, squares / 2
    else:
        m0, k0, a, b = prior
        freedom, k, centre = 2 * a + n, k0 + n, (k0 * m0 + n * mean) / (k0 + n)
        scale = b + squares / 2 + k0 * n / (k0 + n) * (mean - m0) ** 2 / 2
    width = math.sqrt(scale / (freedom / 2) * (1 + 1 / k))
    inside = np.abs(drawn) < 1e2  # Student's tails with one degree of freedom reach the bounds
    law = stats.t(freedom, centre, width)
    low, high = law.cdf([-1e2, 1e2])
    found = (law.cdf(drawn[inside]) - low) / (high - low)
    assert stats.kstest(found, "uniform").pvalue > FALSE_ALARM


def test_equal_records_are_what_a_variance_of_zero_gives():
    family = Gaussian((-1, 1))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 4, (1e-3, 1e-9), 10)
    with bdp.reproducible(1):
        drawn = mechanism.release((0.5, 0.0), 200)
    assert np.any(np.ptp(drawn, axis=1) == 0)
    for bounding in ("inflated", "truncated"):
        noisy = bdp.mechanisms.ModipsSBSMechanism(
            family, 50, (1.0, 9.0), 10, bounding=bounding
        ).release((0.0, 1.0), 50)
        assert noisy.shape == (50, 50)
        assert np.all(np.isfinite(noisy) & (np.abs(noisy) <= 1))


def test_several_statistics_are_released_at_once():
    counts = bdp.Count(np.arange(8), 7)
    assert bdp.mechanisms.ModipsSBSMechanism(Bernoulli(), 5, (1.0,), 7).release(
        counts, 3
    ).shape == (3, 8)
    means = np.linspace(-1, 1, 6)[:, None]
    assert bdp.mechanisms.ModipsSBSMechanism(Gaussian((-1, 1), 1), 5, (1.0,), 7).release(
        means, 3
    ).shape == (3, 6, 5)
    tables = np.array([[1, 2], [3, 0]])
    assert bdp.mechanisms.ModipsSBSMechanism(Categorical(2), 5, (1, 1), 3).release(
        tables, 4
    ).shape == (4, 2, 2)


def test_families_survive_a_manifest():
    for family in (
        Bernoulli((0.5, 2)),
        Categorical(3, [1, 2, 3]),
        Gaussian((-1, 2)),
        Gaussian((-1, 2), 3, (0, 1)),
        Gamma((0, 2)),
        Gamma((1, 2), 3, (0.5, 1)),
    ):
        import dataclasses
        import json

        again = json.loads(json.dumps(dataclasses.asdict(family)))
        assert check_family(again) == family
