"""Kernels of the clipped beta posterior: logarithms, sums and bounds against plain versions."""

import math
import subprocess
import sys
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from bayesdp.kernels.censored import ordered as kernels
from bayesdp.mechanisms.censored import sums as censored_sums
from bayesdp.mechanisms.censored.grid import ClippedPosterior, Grid
from bayesdp.mechanisms.censored.sums import SortedRecords

TOP = 1 - 2.0**-53
EXTREMES = [5e-324, 2.0**-1022, 1e-300, 1e-20, 1e-9, 0.1, 0.25, 0.5, 0.75, 1 - 1e-9, TOP]


def columns(seed: int, n: int) -> np.ndarray:
    """Sorted records, some at the ends of the floats and some equal."""
    rng = np.random.default_rng(seed)
    y = rng.beta(0.4, 1.2, size=n).clip(1e-300, TOP)
    y[: n // 5] = rng.choice(EXTREMES, size=n // 5)
    return np.sort(y)


def plain(y: np.ndarray, phi: float, lam: float, low: float, high: float) -> float:
    a, b = lam * phi, lam * (1 - phi)
    density = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
    return math.fsum(np.clip(density, low, high))


def test_logarithms_are_as_close_as_the_proof_says():
    rng = np.random.default_rng(1)
    points = [*EXTREMES, *rng.random(300), *(10 ** rng.uniform(-300, 0, 300))]
    points += [1 - 2.0**-k for k in range(1, 54)] + [2.0**-k for k in range(1, 1075)]
    near = [0.25, 0.5, math.sqrt(0.5)]
    points += [math.nextafter(v, to) for v in near for to in (0.0, 1.0)]
    with mp.workdps(60):
        for y in points:
            if not 0 < y < 1:
                continue
            t1, t2 = (mp.mpf(int(v)) / 2**50 for v in kernels.fixed_logs(float(y)))
            assert abs(t1 - mp.log(mp.mpf(float(y)))) < mp.mpf(2) ** -43
            assert abs(t2 - mp.log(1 - mp.mpf(float(y)))) < mp.mpf(2) ** -43


def test_log_beta_and_digamma_are_as_close_as_the_bound_allows():
    rng = np.random.default_rng(2)
    for a, b in 10 ** rng.uniform(-12, 6, size=(300, 2)):
        lam = a + b
        room = 2.0**-46 * (lam * (1 + abs(math.log(lam))) + 64)
        assert abs(kernels.log_beta(a, b) - float(mp.log(mp.beta(a, b)))) < room
        assert kernels.digamma(a) == pytest.approx(float(mp.digamma(a)), rel=1e-13, abs=1e-13)


# Hills, bowls, rising and falling curves, flat ones, and turns at the ends.
SHAPES = [(0.3, 6.0), (0.5, 0.8), (0.9, 1.5), (0.1, 1.5), (0.5, 2.0), (2.0**-31, 0.1), (0.5, 999.0),
          (1 - 2.0**-31, 1000.0), (0.001, 1000.0), (0.5, 2 + 1e-12), (0.25, 4.0)]  # fmt: skip


@pytest.mark.parametrize("interval", [(-2.0, 2.0), (-0.01, 0.02), (1.0, 40.0), (-900.0, -3.0)])
def test_the_clipped_sum_is_that_over_every_record(interval: tuple[float, float]):
    rng = np.random.default_rng(3)
    random = zip(rng.beta(0.5, 0.5, 150), np.exp(rng.uniform(-2, 6.9, 150)), strict=True)
    for seed, n in ((1, 1), (2, 7), (3, 500)):
        y = columns(seed, n)
        law = ClippedPosterior(Grid((30, 30), (1.0, 1.0), (0.1, 1.5), 1000.0), *interval, y)
        for phi, lam in [*SHAPES, *random]:
            a, b = lam * phi, lam * (1 - phi)
            truth = plain(y, phi, lam, *interval)
            size = max(1.0, lam / 10, sum(map(abs, interval)))
            exact = exact_sum(law, phi, lam)
            assert float(exact) == pytest.approx(truth, abs=1e-9 * size)
            quick, _ = kernels.clipped_sum(law.likelihood.table, a, b, *interval)
            assert quick == pytest.approx(truth, abs=1e-9 * size)


def exact_sum(law: ClippedPosterior, phi: float, lam: float) -> Fraction:
    curve, counts = kernels.clipped_parts(law.likelihood.table, phi, lam, law.low, law.high)
    at_low, at_high, between, *halves = (int(v) for v in counts)
    assert at_low + at_high + between == law.records.size
    assert min(at_low, at_high, between) >= 0
    a, b, c = (Fraction(float(v)) for v in curve)
    t1, t2 = ((halves[k] << 30) + halves[k + 1] for k in (0, 2))
    ends = Fraction(law.low) * at_low + Fraction(law.high) * at_high
    return ends + (a * t1 + b * t2) / 2**50 - c * between


@pytest.mark.parametrize("most", [1, 3, 100, 1000])
def test_sums_of_every_few_records_give_those_of_all(most: int, monkeypatch):
    """To the last bit, also where a piece that is read ends within a stretch of records."""
    y, phi, lam = columns(8, 1000), *(np.array(v) for v in zip(*SHAPES, strict=True))
    whole = SortedRecords(y, -2.0, 2.0)
    assert whole.table[1].shape == (1001, 4)
    monkeypatch.setattr(censored_sums, "_MOST_SUMS", most)
    monkeypatch.setattr(censored_sums, "_PIECE", 301)
    few = SortedRecords(y, -2.0, 2.0)
    assert few.table[1].shape[0] == (1000 >> few.table[2]) + 1 <= most + 1
    for i in (0, 1, 511, 512, 513, 999, 1000):
        assert np.array_equal(kernels.sums_to(few.table, i), whole.table[1][i])
    assert np.array_equal(few.rounded(phi, lam), whole.rounded(phi, lam))
    for point in SHAPES:
        assert few.exact(*point) == whole.exact(*point)


def test_the_number_of_clipped_records():
    y = columns(4, 400)
    table = SortedRecords(y, -2.0, 2.0).table
    for phi, lam in SHAPES:
        a, b = lam * phi, lam * (1 - phi)
        density = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
        if np.min(np.abs(np.abs(density) - 2)) < 1e-6:
            continue
        _, clipped = kernels.clipped_sums(table, np.array([phi]), np.array([lam]), -2.0, 2.0)
        assert clipped[0] == np.sum(np.abs(density) > 2)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    phi=st.floats(2.0**-33, 1 - 2.0**-33),
    log_lam=st.floats(math.log(0.1), math.log(1000)),
    level=st.floats(-50, 50),
    width=st.floats(1e-6, 10),
)
def test_no_record_exceeds_the_interval_by_more_than_eta(phi, log_lam, level, width):
    """Beside every cutoff, where rounding decides, and at the turn: eta is 2^-40 (lambda + 2)."""
    lam = math.exp(log_lam)
    low, high = level, level + width
    a, b = lam * phi, lam * (1 - phi)
    curve = kernels._curve(a, b, kernels.log_beta(a, b))
    places = {5e-324, TOP, curve[4]}
    for bound in (low, high):
        for cut in kernels._cutoffs(curve, bound):
            places |= {cut, math.nextafter(cut, 0), math.nextafter(cut, 1)}
    eta = Fraction(lam + 2) / 2**40
    for y in places:
        if 0 < y < 1:
            record = np.array([y])
            law = ClippedPosterior(Grid((1, 1), (1.0, 1.0), (0.1, 1.5), 1e3), low, high, record)
            assert Fraction(low) - eta <= exact_sum(law, phi, lam) <= Fraction(high) + eta


def test_a_sum_is_that_of_its_records_one_by_one():
    """No rounding: f is a function of the record, whatever the others are."""
    y = columns(5, 60)
    grid = Grid((30, 30), (1.0, 1.0), (0.1, 1.5), 1000.0)
    together = ClippedPosterior(grid, -2.0, 2.0, y)
    alone = [ClippedPosterior(grid, -2.0, 2.0, y[k : k + 1]) for k in range(y.size)]
    for phi, lam in SHAPES:
        assert exact_sum(together, phi, lam) == sum(exact_sum(one, phi, lam) for one in alone)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), depth=st.floats(0, 5))
def test_a_block_holds_nothing_above_its_bound(seed: int, depth: float):
    rng = np.random.default_rng(seed)
    y = columns(seed % 50, int(rng.integers(1, 300)))
    low = rng.uniform(-6, 3)
    interval = (low, low + rng.exponential(3) + 1e-3)
    grid = Grid((30, 30), tuple(rng.uniform(0.3, 4, 2)), (0.1, rng.uniform(0.5, 3)), 1000.0)
    law = ClippedPosterior(grid, *interval, y)
    bits = np.maximum(30 - (depth * rng.uniform(0.5, 3, 2)).astype(int), 0)
    i, j = (int(rng.integers(0, 1 << (30 - w))) << int(w) for w in bits)
    block = law._bounded(*(np.array([v]) for v in (i, j, *bits.tolist())))
    inside = rng.integers(0, 1 << bits, size=(40, 2)).tolist()
    corners = [(p, q) for p in (0, (1 << int(bits[0])) - 1) for q in (0, (1 << int(bits[1])) - 1)]
    for p, q in [*inside, *corners]:
        assert law.log_weight(i + p, j + q) <= block.bound[0]


def test_a_small_block_has_a_tight_bound():
    """Its slack falls with the square of its width: by 16 where that is a quarter."""
    y = columns(6, 2000)
    law = ClippedPosterior(Grid((30, 30), (1.0, 1.0), (0.1, 1.5), 1000.0), -2.0, 2.0, y)
    slack = []
    for bits in (24, 22, 20):
        block = law._bounded(*(np.array([v]) for v in (3 << 28, 1 << 28, bits, bits)))
        ends = np.linspace(0, (1 << bits) - 1, 33).astype(int).tolist()
        most = max(law.log_weight((3 << 28) + p, (1 << 28) + q) for p in ends for q in ends)
        slack.append(float(block.bound[0] - most))
    assert slack[0] > 10 * slack[1] > 100 * slack[2] > 0


@pytest.mark.slow
def test_kernels_compile_where_nothing_can_be_cached():
    """A read-only installation, whose user has no home: numba's cache refuses."""
    code = (
        "import numba, numba.core.caching as caching, numpy\n"
        "caching.CacheImpl._locator_classes = []\n"
        "try:\n    numba.njit(cache=True)(lambda: 0)\n"
        "except RuntimeError as error:\n    print('no locator' in str(error))\n"
        "from bayesdp.kernels.censored import ordered as kernels\n"
        "print(kernels.logs(numpy.array([0.5]))[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["True", "(1,)"]
