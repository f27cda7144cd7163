"""Draws that chains over tables have in common: by weights, and of a prior's parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined, kernel

WIDEST = 16
"""Columns whose probabilities are multiplied at once: each is above 1e-18, and a float 1e-308."""
_DENSE = 8.0
"""Tables of a restaurant are drawn one by one where one in so many is new."""


@inlined
def chosen(weights: Any, size: int, total: float, rng: Any) -> int:
    """Draw an index in proportion to weights of this total."""
    rest = rng.random() * total
    last = 0
    for c in range(size):
        if weights[c] > 0.0:
            last = c
            rest -= weights[c]
            if rest < 0.0:
                break
    return last


@kernel
def draw_concentration(counts: Any, totals: Any, base: Any, grid: Any, rng: Any) -> Any:
    """Draw b of a grid of equally likely values, where shares ~ Dirichlet(b L base).

    Parameters
    ----------
    counts : ndarray, shape (multinomials, L)
    totals : ndarray, shape (multinomials,)
        Their sums.
    base : ndarray, shape (L,)
        Sums to 1.
    grid : ndarray
    rng : numpy Generator
    """
    multinomials, levels = counts.shape
    weights, constants = np.empty(grid.size), np.empty(levels)
    for g in range(grid.size):
        whole = grid[g] * levels
        for c in range(levels):
            constants[c] = math.lgamma(whole * base[c])
        log = multinomials * math.lgamma(whole)
        for k in range(multinomials):
            log -= math.lgamma(totals[k] + whole)
            for c in range(levels):
                if counts[k, c] > 0.0:
                    log += math.lgamma(counts[k, c] + whole * base[c]) - constants[c]
        weights[g] = log
    weights[:] = np.exp(weights - weights.max())
    return grid[chosen(weights, grid.size, weights.sum(), rng)]


@kernel
def draw_concentration_of_classes(sizes: Any, grid: Any, rng: Any) -> Any:
    """Draw a of a grid of equally likely values, where class shares ~ Dirichlet(a, ..., a).

    Parameters
    ----------
    sizes : ndarray, shape (K,)
        Records of each class.
    grid : ndarray
    rng : numpy Generator
    """
    counts, even = sizes.reshape((1, sizes.size)), np.full(sizes.size, 1.0 / sizes.size)
    return draw_concentration(counts, np.full(1, sizes.sum()), even, grid, rng)


@inlined
def _tables(count: float, w: float, rng: Any) -> float:
    """Draw the sum of Bernoulli(w / (w + i)) over i below a count.

    Where these are seldom 1, candidates are drawn with the first one's probability, which is above
    all later ones', and accepted by the ratio of both.
    """
    i, tables = 0.0, 0.0
    while i < count:
        step, accepted = 0.0, w
        if i > _DENSE * w:
            step = math.floor(math.log(1.0 - rng.random()) / math.log1p(-w / (w + i)))
            accepted = w + i
        i += step
        if i < count and rng.random() * (w + i) < accepted:
            tables += 1.0
        i += 1.0
    return tables


@inlined
def _draw_base(counts: Any, weight: float, base: Any, rng: Any) -> None:
    """Draw the base, uniform a priori, of multinomials whose shares ~ Dirichlet(weight base).

    Counts are seated in Chinese restaurants: given the sums of their tables over multinomials, the
    base is Dirichlet(1 + these) (Teh, Jordan, Beal and Blei 2006, section 5).
    """
    multinomials, levels = counts.shape
    total = 0.0
    for c in range(levels):
        tables = 0.0
        for k in range(multinomials):
            tables += _tables(counts[k, c], weight * base[c], rng)
        base[c] = rng.standard_gamma(1.0 + tables)
        total += base[c]
    for c in range(levels):
        base[c] /= total


@kernel
def draw_prior(counts: Any, totals: Any, prior: Any, grid: Any, rng: Any) -> Any:
    """Draw the prior that multinomials have in common: its base, then its concentration b.

    Parameters
    ----------
    counts : ndarray, shape (multinomials, L)
    totals : ndarray, shape (multinomials,)
        Their sums.
    prior : ndarray, shape (L,)
        Their shares ~ Dirichlet(prior), which is b L base; overwritten.
    grid : ndarray
        Equally likely values of b.
    rng : numpy Generator

    Returns
    -------
    b
    """
    weight = prior.sum()
    prior /= weight
    _draw_base(counts, weight, prior, rng)
    b = draw_concentration(counts, totals, prior, grid, rng)
    prior *= b * prior.size
    return b
