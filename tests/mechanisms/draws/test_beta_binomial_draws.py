"""Exact draws of any size: their laws, the staircase, and the decisions that 64 bits can't make."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from mpmath import iv
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms import randomness
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.draws import beta_binomial as draws
from bayesdp.mechanisms.draws import category_splitting, exact_comparison
from bayesdp.mechanisms.draws import log_concave as log_concave_draws
from bayesdp.mechanisms.laws import beta_binomial_logpmf

CASES = [
    (1, 1.0, 1.0),
    (10, 1.0, 1.0),
    (10, 0.5, 0.5),
    (7, 0.01, 0.02),
    (30, 2.5, 7.0),
    (100, 1.0, 30.0),
    (100, 0.1, 3.0),
    (100, 3.0, 0.2),
    (5, 1.5, 1e-5),
    (400, 50.0, 3000.0),
    (3, 1e8, 2e8),
    (400, 1e-3, 1e-3),
]


def drawn(m: int, a: float, b: float, count: int) -> np.ndarray:
    exact = (Fraction(a), Fraction(b))
    return draws.beta_binomial_draws(
        np.full(count, m), np.full(count, a), np.full(count, b), lambda i: exact
    )


@pytest.mark.parametrize(("m", "a", "b"), CASES)
def test_draws_follow_the_law(m: int, a: float, b: float):
    """Chi-square over all outputs, 100,000 draws, false alarm 1e-7 a case."""
    with bdp.reproducible(5):
        z = drawn(m, a, b, 100_000)
    expected = np.exp(beta_binomial_logpmf(np.arange(m + 1), m, a, b)) * z.size
    seen = np.bincount(z, minlength=m + 1)
    assert seen.size == m + 1
    likely = expected >= 10
    seen = np.append(seen[likely], seen[~likely].sum())
    expected = np.append(expected[likely], max(expected[~likely].sum(), 1.0))
    distance = np.sum((seen - expected) ** 2 / expected)
    assert stats.chi2.sf(distance, likely.sum()) > 1e-7


@pytest.mark.parametrize(("m", "a", "b"), [(10**6, 30.0, 40.0), (2**38, 2.0, 9.0)])
def test_the_share_of_many_is_nearly_beta(m: int, a: float, b: float):
    """Kolmogorov-Smirnov by the inequality of Massart, false alarm 1e-7."""
    with bdp.reproducible(6):
        shares = np.sort((drawn(m, a, b, 20_000) + 0.5) / m)
    seen = np.arange(1, shares.size + 1) / shares.size
    distance = np.max(np.abs(seen - stats.beta(a, b).cdf(shares)))
    assert distance < math.sqrt(math.log(2e7) / 2 / shares.size) + 1e-3


@pytest.mark.parametrize(
    ("m", "a", "b"), [(10**8, 5.8e7, 2e3), (10**8, 5.8e7, 6e7), (999, 1e5, 3e3)]
)
def test_the_moments_of_large_draws(m: int, a: float, b: float):
    """Within 6 standard errors."""
    with bdp.reproducible(6):
        z = drawn(m, a, b, 20_000)
    n = a + b
    sd = math.sqrt(m * a / n * b / n * (n + m) / (n + 1))
    assert abs(z.mean() - m * (a / n)) < 6 * sd / math.sqrt(z.size)
    fourth = np.mean(((z - z.mean()) / z.std()) ** 4)
    assert abs((z.std() / sd) ** 2 - 1) < 6 * math.sqrt((fourth - 1) / z.size)


@pytest.mark.parametrize(("m", "a", "b"), CASES)
def test_the_staircase_lies_above_the_law(m: int, a: float, b: float):
    """f(k) <= f(mode) 2^-j / c at every k: no probability of acceptance exceeds 1."""
    a, b = max(a, 1.0), max(b, 1.0)
    mode = draws._mode(np.array([m]), np.array([a]), np.array([b]))

    def log_law(k, i):
        return beta_binomial_logpmf(k, m, a, b)

    top, ones = log_law(mode, 0), np.array([1])
    above = log_concave_draws.widths(log_law, mode, top, ones, m - mode + 1, 1)
    below = log_concave_draws.widths(log_law, mode, top, np.minimum(ones, mode), mode, -1)
    k = np.arange(m + 1)
    up = k >= mode
    width = np.where(up, above, np.maximum(below, 1))
    j = np.where(up, k - mode, mode - 1 - k) // width
    law = beta_binomial_logpmf(k, m, a, b) - top + j * math.log(2)
    assert np.all(law + math.log(log_concave_draws.KEPT) < 0)
    assert law.max() == pytest.approx(0, abs=1e-9)
    mass = np.sum(np.exp(beta_binomial_logpmf(k, m, a, b)))
    assert mass / (2 * float(above[0] + below[0]) * math.exp(top[0])) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("m", "a", "b"), [(6, 1.5, 2.0), (9, 0.25, 0.5), (40, 3.0, 0.125)])
def test_exact_decisions_agree_with_those_in_floats(
    monkeypatch: pytest.MonkeyPatch, m: int, a: float, b: float
):
    """With a slack of 1 interval arithmetic makes every comparison; none comes out otherwise."""
    with bdp.reproducible(7):
        by_floats = drawn(m, a, b, 40)
    monkeypatch.setattr(exact_comparison, "SLACK", 1.0)
    with bdp.reproducible(7):
        assert np.array_equal(drawn(m, a, b, 40), by_floats)


@pytest.mark.parametrize("x", [1e-100, 1e-3, 0.5, 1.0, 1.4616, 2.0, 31.75, 1e8 + 0.25, 1e12])
@pytest.mark.parametrize("precision", [128, 192, 320])
def test_intervals_hold_the_log_gamma_function(x: float, precision: int):
    before = iv.prec
    try:
        iv.prec = precision
        found = exact_comparison.log_gamma(Fraction(x))
        with mp.workprec(2 * precision + 400):
            true = mp.loggamma(mp.mpf(x))
            assert mp.mpf(found.a) <= true <= mp.mpf(found.b)
            assert mp.mpf(found.delta) < mp.mpf(2) ** (20 - precision) * (1 + abs(true))
    finally:
        iv.prec = before


def test_further_bits_settle_what_the_first_ones_leave_open(monkeypatch: pytest.MonkeyPatch):
    """U and p = exp(-1) agree in 64 bits; the next word decides, either way."""
    with mp.workprec(400):
        shared = int(mp.floor(mp.ldexp(mp.exp(-1), 64)))
        following = int(mp.floor(mp.ldexp(mp.exp(-1), 128))) - (shared << 64)
    for word, expected in ((following - 1, True), (following + 1, False)):
        coming = iter([word])
        monkeypatch.setattr(
            exact_comparison,
            "random_words",
            lambda count, c=coming: np.array([next(c)], dtype=np.uint64),
        )
        assert exact_comparison.Uniform(shared).below(lambda: -iv.mpf(1)) is expected
        assert next(coming, None) is None
    assert iv.prec == 53


def test_error_of_the_law_is_far_below_the_slack():
    rng = np.random.default_rng(2)
    with mp.workdps(60):
        for _ in range(60):
            m = int(10 ** rng.uniform(0, 9))
            a, b = 10 ** rng.uniform(-3, 9, 2)
            k = min(m, max(0, int(m * rng.beta(a, b))))
            A, B = mp.mpf(float(a)), mp.mpf(float(b))
            true = (
                mp.loggamma(m + 1) - mp.loggamma(k + 1) - mp.loggamma(m - k + 1)
                + mp.loggamma(A + k) + mp.loggamma(B + m - k) - mp.loggamma(A + B + m)
                + mp.loggamma(A + B) - mp.loggamma(A) - mp.loggamma(B)
            )  # fmt: skip
            error = abs(float(beta_binomial_logpmf(k, m, a, b) - true))
            assert error < exact_comparison.SLACK / 100 * (1 + abs(float(true)))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_splitting_is_dirichlet_multinomial(monkeypatch: pytest.MonkeyPatch, k: int):
    """By the tree of halves alone, for odd numbers of cells too; false alarm 1e-7."""
    monkeypatch.setattr(category_splitting, "_URN", 0)
    size, rows = 4, 60_000
    counts = np.arange(k) % 3
    prior = [0.5 + 0.75 * i for i in range(k)]
    with bdp.reproducible(8):
        z = category_splitting.dirichlet_multinomial_draws(
            np.broadcast_to(counts, (rows, k)), prior, size
        )
    assert np.all(z.sum(axis=1) == size)
    seen, times = np.unique(z, axis=0, return_counts=True)
    expected = rows * np.exp(dirichlet_multinomial_logpmf(seen, size, np.array(prior) + counts))
    assert abs(expected.sum() / rows - 1) < 0.02
    likely = expected >= 10
    distance = np.sum((times - expected)[likely] ** 2 / expected[likely])
    assert stats.chi2.sf(distance, likely.sum()) > 1e-7


def test_splitting_asks_for_exact_weights_of_the_right_cells(monkeypatch: pytest.MonkeyPatch):
    """Every pair's exact weights are what its floats round, at every height and in every row."""
    asked = []

    def checked(size, a, b, exact):
        for i in range(size.size):
            one, other = exact(i)
            assert (float(one), float(other)) == (a[i], b[i])
            asked.append(i)
        return size // 2

    monkeypatch.setattr(category_splitting, "_URN", 0)
    monkeypatch.setattr(category_splitting, "beta_binomial_draws", checked)
    counts = np.arange(22).reshape(2, 11)
    category_splitting.dirichlet_multinomial_draws(counts, [0.25 * (i + 1) for i in range(11)], 99)
    assert len(asked) == 2 * 10


def test_coins_count_zeros_of_any_number_of_words(monkeypatch: pytest.MonkeyPatch):
    words = iter([[1, 8, 0], [0], [4]])
    monkeypatch.setattr(
        log_concave_draws, "random_words", lambda n: np.array(next(words), dtype=np.uint64)
    )
    assert log_concave_draws.coins(3).tolist() == [0, 3, 130]
    monkeypatch.undo()
    with randomness.reproducible(9):
        assert abs(log_concave_draws.coins(100_000).mean() - 1) < 6 * math.sqrt(2 / 100_000)
