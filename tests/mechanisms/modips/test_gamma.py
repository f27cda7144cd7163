"""modips of exponential and gamma records: what one record moves, what is drawn, and its law."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.families.gamma_law import _NoisySum

FALSE_ALARM = 1e-6
Gamma, SBS = bdp.families.Gamma, bdp.mechanisms.ModipsSBSMechanism
INTERVALS = [(0.0, 4.0), (0.1, 0.3), (1e6, 1e6 + 3), (0.0, 2.5e-7)]


def moved(family: Any, one: Any, other: Any, public_n: bool) -> np.ndarray:
    """How far each number of the statistic is apart, in units of its sensitivity."""
    n = len(one) if public_n else None
    sums = [family.sums(np.asarray(data)) for data in (one, other)]
    each = [family.vector(family.statistic(s, public_n=public_n), n) for s in sums]
    return np.abs(each[0] - each[1]) / [number.sensitivity for number in family.numbers(n)]


def neighbours(records: list[float], other: float, public_n: bool) -> tuple[list, list]:
    return records, ([other, *records[1:]] if public_n else [*records, other])


@pytest.mark.slow
@pytest.mark.parametrize("bounds", INTERVALS)
@pytest.mark.parametrize("public_n", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_pair_of_neighbours_is_further_apart(bounds, public_n, data):
    """Ends, points within, and points a rounding away from one on the grid."""
    family, (low, high) = Gamma(bounds), bounds
    on_grid = st.integers(0, 2**20).map(lambda i: min(low + i * (high - low) * 2.0**-20, high))
    inside = st.floats(low, high, allow_subnormal=False)
    records = st.one_of(st.sampled_from(bounds), inside, on_grid)
    one = data.draw(st.lists(records, min_size=1, max_size=12))
    assert np.all(moved(family, *neighbours(one, data.draw(records), public_n), public_n) <= 1)


@pytest.mark.parametrize("bounds", INTERVALS)
@pytest.mark.parametrize("n", [1, 3, 50, 1001])
@pytest.mark.parametrize("public_n", [True, False])
def test_the_worst_pair_moves_all_numbers_at_once(bounds, n, public_n):
    """So no smaller sensitivity would do."""
    low, high = bounds
    apart = moved(Gamma(bounds), *neighbours([low] * n, high, public_n), public_n)
    # What rounding adds is noticed where the bounds are far from 0.
    assert np.all((apart >= 1 - (1e-4 if low == 1e6 else 3e-7)) & (apart <= 1))


def test_statistics_are_those_of_the_records():
    x = np.random.default_rng(1).uniform(0.5, 3, 2001)
    family = Gamma((0.5, 3))
    (total,) = family.statistic(family.sums(x), public_n=True)
    assert total == pytest.approx(x.sum(), rel=1e-7)
    n, away = family.statistic(family.sums(x), public_n=False)
    assert (n, away) == (2001, pytest.approx(np.sum(x - 1.75), abs=1e-4))
    clipped = family.sums(np.array([0.0, 1.0, 9.0]), clip=True)
    assert family.statistic(clipped, public_n=True)[0] == pytest.approx(4.5)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_an_audit_convicts_noise_that_is_too_small(noise):
    """On the sum of 20 records that are nearly 0 or nearly 1; the honest mechanism is let go."""
    family, delta = Gamma((0.0, 1.0), 1.0, (0.1, 0.01)), 0.0 if noise == "laplace" else 1e-3

    class Cheat(SBS):
        def release(self, statistic: Any, copies: int = 1) -> Any:
            return SBS(family, 40, (0.15,), 2, noise).release(statistic, copies)

    with bdp.reproducible(1):
        honest = bdp.audit(SBS(family, 40, (1.0,), 2, noise), trials=30_000, delta=delta)
        cheat = bdp.audit(Cheat(family, 40, (1.0,), 2, noise), trials=30_000, delta=delta)
    assert not honest.convicted
    assert cheat.convicted


# What is drawn, and with what probability.


def by_quadrature(made: Any, y: np.ndarray, total: float) -> float:
    """The law by its definition, with continuous noise."""
    (a, b), k, m = made.family.rate_prior, made.family.shape, made.size
    a, more, (scale,) = a + made.n * k, m * k, made.scales
    low, high = (made.n * end for end in made.family.bounds)
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[made.noise](total, scale)

    def log_g(s: Any) -> Any:
        return a * np.log(b + s) - (a + more) * np.log(b + s + y.sum())

    grid = np.linspace(low, high, 100_001)
    logs = log_g(grid) + law.logpdf(grid)
    most, top = float(grid[logs.argmax()]), float(logs.max())
    around = (b + most) / math.sqrt(a)
    points = [low, high, total, *(most + c * w for c in (-20, -5, 5, 20) for w in (scale, around))]
    points = np.unique(np.clip(points, low, high))
    whole = sum(
        integrate.quad(lambda s: math.exp(log_g(s) + law.logpdf(s) - top), *ends, epsrel=1e-12)[0]
        for ends in itertools.pairwise(points)
    )
    if made.bounding == "inflated":
        whole += math.exp(law.logcdf(low) + log_g(low) - top)
        whole += math.exp(law.logsf(high) + log_g(high) - top)
    else:
        whole /= law.cdf(high) - law.cdf(low)
    constant = special.gammaln(a + more) - special.gammaln(a) - m * special.gammaln(k)
    return float((k - 1) * np.log(y).sum() + constant + top + math.log(whole))


LAWS = [
    (1.0, 6, 3, (0, 5), None, 4.0),
    (2.5, 40, 10, (0, 4), (2, 0.3), 1.0),
    (0.5, 500, 500, (0, 10), None, 30.0),
    (1.0, 50, 50, (0.5, 6), None, 200.0),
    (1.0, 1000, 2000, (0, 8), (1, 0.1), 0.5),
    (3.0, 20, 100, (0, 9), None, 1e-3),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize(("k", "n", "size", "bounds", "prior", "scale"), LAWS)
def test_the_law_is_the_integral_over_the_noisy_sum(
    noise, bounding, k, n, size, bounds, prior, scale
):
    """Likely and unlikely copies, sums in the middle and at the upper end."""
    made = SBS(Gamma(bounds, k, prior), size, (scale,), n, noise, bounding)
    rng, (low, high) = np.random.default_rng(3), bounds
    for share, factor in itertools.product((0.2, 0.5, 1.0), (0.3, 1.0, 4.0)):
        total = n * (low + share * (high - low))
        y = rng.gamma(k, factor * total / n / k, size)
        # The oracle's noise isn't on a lattice: it is off by a step, where mass is at an end.
        assert float(made.logp(y, (total,))) == pytest.approx(
            by_quadrature(made, y, total), abs=5e-6
        )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("bounding", "n", "scales"),
    [("inflated", 6, (2.0,)), ("truncated", 6, (2.0,)), ("inflated", None, (1.5, 2.0))],
)
def test_the_law_of_many_outputs_is_that_of_each(noise, bounding, n, scales):
    """Many totals of one sum are read off a polynomial, a few are integrated one by one."""
    family = Gamma((0.5, 3.0), shape=2.5, prior=(2.0, 1.5))
    made = SBS(family, 3, scales, n, noise=noise, bounding=bounding)
    rng = np.random.default_rng(0)
    outputs = rng.lognormal(sigma=[[1.0], [4.0]] * 300, size=(600, 3))
    statistic = np.array([9.5]) if n else np.array([6.0, -2.0])
    at_once = made.logp(outputs, statistic)
    few = [made.logp(some, statistic) for some in np.array_split(outputs[:60], 6)]
    assert at_once[:60] == pytest.approx(np.concatenate(few), rel=1e-11, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
def test_the_law_is_the_sum_over_the_lattice(bounding):
    """Every point of it, of a sum at its lower end, where the law bends most."""
    made = SBS(Gamma((0, 1), 2.5, (2.0, 0.3)), 3, (1.0,), 8, "laplace", bounding)
    (part,), y, a = made.parts, np.array([0.01, 0.02, 0.05]), 2.0 + 8 * 2.5
    steps = np.arange(0, round(8.0 / part.step) + 1)
    s = steps * part.step
    logs = part.logp(s, 0.1) + a * np.log(0.3 + s) - (a + 7.5) * np.log(0.3 + s + y.sum())
    constant = 1.5 * np.log(y).sum() - 3 * special.gammaln(2.5)
    constant += special.gammaln(a + 7.5) - special.gammaln(a)
    expected = special.logsumexp(logs) + constant
    assert float(made.logp(y, (0.1,))) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("total", [0.0, 4.0, 18.0])
def test_the_law_integrates_to_one_and_draws_follow_it(bounding, noise, total):
    """Kolmogorov and Smirnov on one record, in its logarithm."""
    made = SBS(Gamma((0, 3), 1.5, (0.8, 0.6)), 1, (2.5,), 6, noise, bounding)
    x = np.linspace(-35.0, 12.0, 40_001)
    density = np.exp(x + made.logp(np.exp(x)[:, None], (total,)))
    below = integrate.cumulative_simpson(density, x=x, initial=0)
    assert below[-1] == pytest.approx(1, abs=1e-10)
    with bdp.reproducible(3):
        drawn = made.release((total,), 20_000)[:, 0]
    found = np.interp(np.log(drawn), x, below)
    assert stats.kstest(found, "uniform").pvalue > FALSE_ALARM


def test_a_law_of_a_slightly_wrong_posterior_would_be_found_out(monkeypatch):
    """The check above has power: the planted fault is a hundredth of a record's shape."""
    found = _NoisySum.log_g
    monkeypatch.setattr(_NoisySum, "log_g", lambda self, z, t: found(self, z, t) + 0.01 * np.log(z))
    made = SBS(Gamma((0, 3), 1.5, (0.8, 0.6)), 1, (2.5,), 6)
    x = np.linspace(-35.0, 12.0, 4001)
    density = np.exp(x + made.logp(np.exp(x)[:, None], (4.0,)))
    assert abs(integrate.simpson(density, x=x) - 1) > 1e-3


@pytest.mark.parametrize("public_n", [True, False])
def test_records_are_lomax_without_noise(public_n):
    """With next to no noise, one record is beta prime: the conjugate model's prediction."""
    family, data = Gamma((0, 50), 1.5, (2.0, 3.0)), np.linspace(0.5, 4, 9)
    made = SBS(family, 1, (1e-3,) if public_n else (0.02, 1e-3), 9 if public_n else None)
    statistic = family.statistic(family.sums(data), public_n=public_n)
    with bdp.reproducible(5):
        drawn = made.release(statistic, 20_000)[:, 0]
    law = stats.betaprime(1.5, 2.0 + 9 * 1.5, scale=3.0 + data.sum())
    assert stats.kstest(drawn, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [2.0**-10, 0.5, 1.0, 2.0**20])
@pytest.mark.parametrize("n", [1, 40, None])
def test_copies_are_positive_and_finite_whatever_the_noise(shape, n):
    """Noise takes most sums below 0, or above what records can have."""
    scales = (1e6,) if n else (50.0, 1e6)
    made = SBS(Gamma((0, 4), shape, (1e-3, 1.0)), 30, scales, n)
    statistic = (0.0,) if n else (1.0, -2.0)
    with bdp.reproducible(1):
        drawn = made.release(statistic, 200)
        noisy = made.noisy(np.array(statistic), 200)
    assert np.any(noisy[:, -1] <= 0)
    assert np.all((drawn > 0) & np.isfinite(drawn))
    for each in drawn[:5]:
        made.check_output(each)
    if n is not None:
        assert np.all(np.isfinite(made.logp(drawn[:20], statistic)))


def test_the_law_of_many_records():
    """A million of each; against the normal limit of the mean and its noise."""
    made = SBS(Gamma((0, 8)), 10**6, (500.0,), 10**6, "gaussian")
    y, totals = np.full(10**6, 1.002), np.linspace(0.99e6, 1.02e6, 601)
    found = made.logp(y, totals[:, None])
    weights = np.exp(found - found.max())
    mean = (weights @ totals) / weights.sum()
    sd = math.sqrt((weights @ (totals - mean) ** 2) / weights.sum())
    assert mean == pytest.approx(1.002e6, rel=1e-5)
    assert sd == pytest.approx(math.hypot(500.0, 1002 * math.sqrt(2)), rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": (-1, 4)}, r"bounds is \(-1.0, 4.0\).*at least 0"),
        ({"bounds": (4, 1)}, "lower first"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"shape": 0}, "shape is 0; it must be"),
        ({"shape": "one"}, "shape is 'one'"),
        ({"shape": math.nan}, "shape is nan"),
        ({"prior": (1,)}, "two positive finite"),
        ({"prior": (0, 1)}, "two positive finite"),
        ({"prior": (1, math.inf)}, "two positive finite"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Gamma(**{"bounds": (0, 4), **arguments})


def test_refusals_show_no_record():
    family = Gamma((0, 4))
    for data in ([1.0, 4.77771], [-0.77771, 1.0], [math.nan, 1.0]):
        with pytest.raises(bdp.errors.InvalidInput, match=r"clip=True|missing") as refused:
            family.sums(np.array(data))
        assert "7777" not in str(refused.value)
    for statistic in ((44.7777,), (-0.7777,)):
        with pytest.raises(bdp.errors.InvalidInput, match="can't be that of records") as refused:
            family.vector(statistic, 10)
        assert "7777" not in str(refused.value)
    narrow = SBS(Gamma((0, 4), 1.0, (1.0, 1e-9)), 3, (1.0,), 9)
    hidden = SBS(narrow.family, 3, (1.0, 2.0))
    for mechanism, statistic in ((narrow, (3.0,)), (hidden, (3.0, 1.0))):
        with pytest.raises(bdp.errors.InvalidInput, match="second number is so small"):
            mechanism.logp([1.0, 1.0, 2.0], statistic)
    with pytest.raises(bdp.errors.InvalidInput, match=r"must be \(\.\.\., 3\)"):
        narrow.logp([1.0, 1.0], (3.0,))
