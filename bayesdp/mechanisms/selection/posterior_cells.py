r"""Private choice of one of a parameter's public cells, shared by all such mechanisms.

A posterior is cut into B public cells. Given data x, cell i has the weight exp(u_i(x)).

SDD: the exponential mechanism
------------------------------
For neighbours x, x' let d_i = u_i(x') - u_i(x). What is common to all cells cancels, so that what
counts is the range of d over cells, max_j d_j - min_j d_j; let R be its largest value over
neighbours. A cell drawn with probability proportional to exp(power u_i) costs power R at most, by
inequality (*) of `bayesdp.mechanisms.selection.candidates`: power = min(1, epsilon / R) costs
min(epsilon, R). It is a draw from the posterior on the cells, with prior and likelihood both to
that power; where R is at most epsilon, of the posterior itself.

SPHC: the perturbed histogram
-----------------------------
N cells are drawn from exp(u) and counted; each count gets discrete Laplace noise; negative counts
become 0; one cell is drawn in proportion (uniformly, if no count is positive). The histograms of
any two data sets, given all that was random in either, have N draws each, so their L1 distance is
at most 2 N: for any neighbours, and for any two data sets. So all noisy counts, of scale
2 N / epsilon, keep epsilon given the draws, hence on average over them; how they were drawn doesn't
matter. The distance is attained: where two posteriors have no cell in common. But one cell alone is
released, which tells less: `bayesdp.mechanisms.selection.histogram_cost` has a bound of its epsilon
at any scale, and `histogram_law` beside it the cell's law, by which models read what follows.

SDD.MC: the logarithms of a histogram
-------------------------------------
log(N_i / N) of an empty cell is minus infinity, with any noise: there is no finite sensitivity, and
no corrected form. It approximates SDD, which has one.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.integer_noise import discrete_laplace
from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def noise_of(draws: int, epsilon: float) -> Fraction:
    """Scale of noise at which all noisy counts of `draws` draws together keep epsilon."""
    return 2 * draws / Fraction(epsilon)


def noisy_counts(counts: Integers, scale: Fraction) -> Integers:
    """Add discrete Laplace noise to each count of histograms."""
    return counts + discrete_laplace(scale, counts.size).reshape(counts.shape)


def perturbed_cells(log_weights: Floats, draws: int, scale: Fraction, times: int) -> Integers:
    """Choose `times` cells by SPHC, each from its own histogram of `draws` draws."""
    weights = np.exp(log_weights - log_weights.max())
    counts = generator().multinomial(draws, weights / weights.sum(), size=times)
    return np.array([cell_of(each) for each in noisy_counts(counts, scale)])


def cell_of(weights: Integers | Floats) -> int:
    """Choose a cell in proportion to weights; negative ones are 0; uniformly if all are."""
    kept = np.maximum(weights, 0).astype(np.float64)
    kept = kept if kept.any() else np.ones(kept.size)
    return int(generator().choice(kept.size, p=kept / kept.sum()))


def published_cell(counts: Integers, draws: int, scale: float, *, logarithms: bool) -> int:
    """Choose a cell from a histogram with Laplace noise on counts, or on log(N_i / N).

    Its privacy isn't what was claimed; see `bayesdp.mechanisms.graphs.dp_ergm.published`.
    """
    noise = generator().laplace(0, scale, counts.size)
    if not logarithms:
        return cell_of(counts + noise)
    with np.errstate(divide="ignore"):
        noisy = np.log(counts / draws) + noise
    top = noisy.max()
    return cell_of(np.exp(noisy - top) if top > -np.inf else np.zeros(noisy.size))


def uniform_in(cells: Integers, bins: int, centre: Floats, width: Floats) -> Floats:
    """Draw a uniform point in each of these cells of a grid, shape (len(cells), terms).

    Along each axis there are `bins` cells of half-width `width` around `centre`.
    """
    places = np.stack(np.unravel_index(cells, (bins,) * centre.size), axis=1)
    jitter = generator().uniform(-1, 1, places.shape)
    points: Floats = centre + width * (2 * places + 1 - bins + jitter)
    return points
