"""The law of a cell chosen from a noisy histogram, against sums over all histograms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.selection import histogram_law
from bayesdp.mechanisms.selection.histogram_law import log_probabilities
from bayesdp.mechanisms.selection.posterior_cells import perturbed_cells


def histograms(chances, draws):
    """All histograms, with their probabilities."""
    listed = [
        each
        for each in itertools.product(range(draws + 1), repeat=len(chances))
        if sum(each) == draws
    ]
    return listed, stats.multinomial.pmf(listed, draws, chances)


def discrete(chances, draws, scale):
    """The cells' probabilities by convolving the laws of positive parts."""
    a, top = math.exp(-1 / scale), math.ceil(40 * scale) + draws
    w = np.arange(top + 1)
    laws = [(1 - a) / (1 + a) * a ** np.abs(w - k) for k in range(draws + 1)]
    for k, law in enumerate(laws):
        law[0] = a**k / (1 + a)
    total = np.zeros(len(chances))
    for counts, probability in zip(*histograms(chances, draws), strict=True):
        for c, count in enumerate(counts):
            rest = np.ones(1)
            for j, other in enumerate(counts):
                rest = rest if j == c else np.convolve(rest, laws[other])
            share = w[1:, None] / (w[1:, None] + np.arange(rest.size))
            total[c] += probability * (laws[count][1:] @ share @ rest)
        total += probability * math.prod(laws[k][0] for k in counts) / len(chances)
    return total


def continuous(chances, draws, scale):
    """The probabilities of two cells, by quadrature over Laplace noise."""

    def points(count):
        """Gauss-Legendre points of a positive part, with the density there."""
        x, weights = np.polynomial.legendre.leggauss(60)
        ends = np.concatenate([[0.0], np.geomspace(1e-9, 40 * scale, 90) + count])
        ends = np.union1d(ends, np.geomspace(1e-9, max(count, 1), 60))
        middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
        w = (middle[:, None] + half[:, None] * x).ravel()
        return w, (half[:, None] * weights).ravel() * stats.laplace(count, scale).pdf(w)

    def chance(n, m):
        """Mean share of a cell of n draws beside one of m."""
        (w, own), (v, other) = points(n), points(m)
        none = stats.laplace(m, scale).cdf(0)
        positive = sum(
            own[i : i + 500] @ (w[i : i + 500, None] / (w[i : i + 500, None] + v)) @ other
            for i in range(0, w.size, 500)
        )
        return positive + own.sum() * none + stats.laplace(n, scale).cdf(0) * none / 2

    made = [
        probability * np.array([chance(n, m), chance(m, n)])
        for (n, m), probability in zip(*histograms(chances, draws), strict=True)
    ]
    return np.sum(made, axis=0)


def law(chances, draws, scale, *, whole=True):
    with np.errstate(divide="ignore"):
        return np.exp(log_probabilities(np.log(chances), draws, scale, whole=whole))


@pytest.mark.parametrize(
    ("chances", "draws", "scale"),
    [
        ((0.2, 0.8), 2, 2.0),
        ((0.2, 0.5, 0.3), 4, 3.0),
        ((0.9, 0.1, 0.0), 3, 0.5),
        ((1.0, 0.0, 0.0), 5, 1.5),
        ((0.3, 0.7), 2, 1 / 6),
        ((0.4, 0.3, 0.2, 0.1), 3, 1.0),
    ],
)
def test_discrete_noise_against_all_histograms(chances, draws, scale):
    found = law(chances, draws, scale)
    assert found == pytest.approx(discrete(chances, draws, scale), abs=1e-10)
    assert abs(found[0] - chances[0]) > 1e-4  # the noise is seen


@pytest.mark.slow
@pytest.mark.parametrize(("chances", "draws", "scale"), [((0.2, 0.8), 2, 1.5), ((1.0, 0.0), 3, 4)])
def test_laplace_noise_against_quadrature(chances, draws, scale):
    found = law(chances, draws, scale, whole=False)
    assert found == pytest.approx(continuous(chances, draws, scale), abs=1e-9)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("cells", "draws", "scale"),
    [(2, 1, 50.0), (20, 2, 0.004), (20, 1000, 2000.0), (6, 10**7, 4e6), (300, 1000, 7.0)],
)
def test_more_points_change_nothing(monkeypatch, cells, draws, scale, whole):
    chances = np.random.default_rng(cells).dirichlet(np.full(cells, 0.3), size=2)
    chances[0] = np.eye(cells)[1]
    found = law(chances, draws, scale, whole=whole)
    monkeypatch.setattr(histogram_law, "_STEP", 0.04)
    monkeypatch.setattr(histogram_law, "_REACH", 5.0)
    monkeypatch.setattr(histogram_law, "_AWAY", 12.0)
    assert found == pytest.approx(law(chances, draws, scale, whole=whole), abs=1e-10)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-10)


def test_cells_are_drawn_by_the_law():
    chances, draws, scale = np.array([0.6, 0.3, 0.1, 0.0]), 12, Fraction(4, 5)
    with bdp.reproducible(4), np.errstate(divide="ignore"):
        cells = perturbed_cells(np.log(chances), draws, scale, 20_000)
    expected = 20_000 * law(chances, draws, float(scale))
    assert stats.chisquare(np.bincount(cells, minlength=4), expected).pvalue > 1e-6


def test_little_noise_leaves_the_draws_and_much_noise_nothing():
    chances = np.array([0.7, 0.2, 0.1])
    assert law(chances, 50, 1e-6) == pytest.approx(chances, abs=1e-9)
    assert law(chances, 50, 1e9) == pytest.approx(1 / 3, abs=1e-6)


def test_a_law_whose_points_are_too_few_says_so(monkeypatch):
    monkeypatch.setattr(histogram_law, "_AWAY", 1.0)
    with pytest.raises(FloatingPointError, match="add up to 1"):
        law((0.3, 0.7), 40, 3.0)
