"""Laws of categories against 40-digit arithmetic."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from bayesdp.mechanisms.counts.category_laws import (
    dirichlet_logpdf,
    dirichlet_multinomial_logpmf,
    multinomial_logpmf,
)

CASES = [
    ((1, 0, 2), (0.5, 3.0, 1.25)),
    ((0, 0, 9), (1e-8, 2.0, 1e5)),
    ((250, 0, 740, 10), (40.0, 1e-3, 90.0, 3.0)),
    ((300_000, 500_000, 200_000), (3e5, 5e5, 2.5e5)),
    ((1, 999_999), (1e-5, 400.0)),
]


def log_factorials(counts):
    return mp.loggamma(sum(counts) + 1) - sum(mp.loggamma(z + 1) for z in counts)


@pytest.mark.parametrize(("counts", "weights"), CASES)
def test_multinomial(counts, weights):
    with mp.workdps(40):
        total = sum(map(mp.mpf, weights))
        logs = [z * mp.log(mp.mpf(w) / total) for z, w in zip(counts, weights, strict=True)]
        truth = float(log_factorials(counts) + sum(logs))
    found = multinomial_logpmf(counts, sum(counts), weights)
    assert float(found) == pytest.approx(truth, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("counts", "alpha"), CASES)
def test_dirichlet_multinomial(counts, alpha):
    with mp.workdps(40):
        a = list(map(mp.mpf, alpha))
        truth = log_factorials(counts) + mp.loggamma(sum(a)) - mp.loggamma(sum(a) + sum(counts))
        pairs = zip(counts, a, strict=True)
        truth = float(truth + sum(mp.loggamma(z + v) - mp.loggamma(v) for z, v in pairs))
    found = dirichlet_multinomial_logpmf(counts, sum(counts), alpha)
    assert float(found) == pytest.approx(truth, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("theta", "alpha"),
    [
        ((0.25, 0.5, 0.25), (0.5, 3.0, 1.25)),
        ((2.0**-20, 1 - 2.0**-10, 2.0**-10 - 2.0**-20), (1.5, 4e5, 300.0)),
        ((0.0, 0.5, 0.5), (1.0, 2.5, 7.0)),
        ((0.0, 0.0, 1.0), (1.0, 1.0, 7.0)),
    ],
)
def test_dirichlet(theta, alpha):
    with mp.workdps(40):
        a, p = list(map(mp.mpf, alpha)), list(map(mp.mpf, theta))
        truth = mp.loggamma(sum(a)) - sum(map(mp.loggamma, a))
        truth += sum((v - 1) * mp.log(t) for t, v in zip(p, a, strict=True) if v != 1)
    assert float(dirichlet_logpdf(theta, alpha)) == pytest.approx(float(truth), rel=1e-12)


def test_the_density_at_the_boundary():
    assert dirichlet_logpdf((0.0, 0.4, 0.6), (2.0, 1.0, 1.0)) == -math.inf
    assert dirichlet_logpdf((0.0, 0.4, 0.6), (0.5, 1.0, 1.0)) == math.inf
    assert dirichlet_logpdf((0.0, 0.0, 1.0), (0.5, 2.0, 1.0)) == -math.inf


@pytest.mark.slow
def test_the_density_integrates_to_one():
    alpha = (1.5, 2.0, 3.25)
    mass, _ = integrate.dblquad(
        lambda q, p: math.exp(dirichlet_logpdf((p, q, 1 - p - q), alpha)),
        0, 1, 0, lambda p: 1 - p, epsabs=1e-9,
    )  # fmt: skip
    assert mass == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("law", [multinomial_logpmf, dirichlet_multinomial_logpmf])
def test_they_sum_to_one_broadcast_and_know_what_is_impossible(law):
    size, weights = 4, np.array([[0.5, 2.0, 0.25], [3.0, 1.0, 8.0]])
    every = np.array([z for z in product(range(size + 1), repeat=3) if sum(z) == size])
    table = law(every[:, None, :], size, weights)
    assert table.shape == (len(every), 2)
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(2), abs=1e-13)
    assert table[3, 1] == law(every[3], size, weights[1])
    outside = law([[5, -1, 0], [1, 1, 1], [2, 2, 1]], size, weights[0])
    assert np.all(outside == -np.inf)


def test_a_category_without_weight_is_never_seen():
    table = multinomial_logpmf([[0, 1, 1], [1, 1, 0]], 2, (0.0, 1.0, 3.0))
    assert np.exp(table) == pytest.approx([2 * 0.25 * 0.75, 0.0])
