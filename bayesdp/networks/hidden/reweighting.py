r"""Weights of draws, for copies whose law the chain follows nearly.

The law of a cell from a noisy histogram takes milliseconds a graph, and the chain follows another
in its place (`bayesdp.kernels.hidden.choices`). With L the probability of all copies by the first
and L' by the second, draws weighted by L / L' have the posterior's law. Each chain's are drawn anew
in proportion, in their order and as evenly as whole numbers allow (systematic resampling), so that
all that are kept count alike. The logarithms of L and L' differ by nearly the same number for all
graphs: of one copy and any two graphs, by up to 0.4 where a histogram of two draws was tried, and
by up to 0.12 with 10 to 1,000 draws.

Draws of the same statistics need one computation. Where that takes too long, which is where there
are thousands of cells, it is made for some of them, and a linear function of the statistics goes
through their logarithms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.hidden.choices import Choices, log_choices
from bayesdp.networks.evidence import Histogram, SeenCopies
from bayesdp.networks.hidden.choices import choices_of
from bayesdp.networks.hidden.kept import Kept
from bayesdp.threads import in_threads

Floats = NDArray[np.float64]

_WORK = 2_000_000  # cells of all graphs whose law is computed: a minute or so
_FEWEST = 10  # graphs a coefficient of the linear function
_DECIMALS = 9  # sums of changes drift
_AT_ONCE = 100_000  # cells
_COUNTING, _RESIDUAL = 0.5, 0.05


def reweighted(
    kept: Kept, copies: Sequence[SeenCopies], choices: Choices, generator: np.random.Generator
) -> tuple[Kept, list[str]]:
    """Draw the moves of chains anew by their weights, where copies came from noisy histograms.

    Parameters
    ----------
    kept : Kept
        Of all chains, shapes (chains, moves, ...).
    copies : sequence of SeenCopies
    choices : Choices
        The same, as the chains followed them.
    generator : numpy Generator

    Returns
    -------
    Kept
    list of str
        Reasons to doubt the weights, in words.
    """
    log_weights, problems = np.zeros(kept.accepted.shape), []
    for c, seen in enumerate(copies):
        if seen.histogram is not None:
            place = choices.coordinate[c, : seen.slope.shape[1]]
            off, residual = _log_ratios(
                seen, seen.histogram, kept.statistics[..., place], generator
            )
            log_weights += off
            if residual > _RESIDUAL:
                problems.append(
                    "the law of copies, computed at some of the graphs drawn, is off at others, by "
                    f"an sd of its logarithm of {residual:.2g}; release with fewer cells"
                )
    if not log_weights.any():
        return kept, problems
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    counting = 1 / (weights**2).sum(axis=1).max() / weights.shape[1]
    if counting < _COUNTING:
        problems.append(
            f"a chain's draws, weighted by the law of the copies, count as {counting:.0%} of their "
            "number; take more draws"
        )
    chosen = [_resampled(each, generator) for each in weights]
    parts = ([part[i] for part, i in zip(every, chosen, strict=True)] for every in kept)
    return Kept(*map(np.array, parts)), problems


def _resampled(weights: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many numbers as there are weights, increasing, by systematic resampling."""
    count = len(weights)
    at = (generator.random() + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), at, side="right"), count - 1)


def _log_ratios(
    seen: SeenCopies, histogram: Histogram, statistics: Floats, generator: np.random.Generator
) -> tuple[Floats, float]:
    """Log L - log L' of each draw, and how far off these are.

    Parameters
    ----------
    seen : SeenCopies
    histogram : Histogram
    statistics : ndarray, shape (chains, draws, statistics)
    generator : numpy Generator

    Returns
    -------
    ndarray, shape (chains, draws)
    float
        Residual standard deviation of the linear function; 0 where all were computed.
    """
    each = np.round(statistics, _DECIMALS).reshape(-1, statistics.shape[-1]) + 0.0
    rows, which = np.unique(each, axis=0, return_inverse=True)
    sites = 1 + rows.shape[1]
    most = max(_WORK // len(seen.base), _FEWEST * sites)
    if len(rows) <= most:
        ratios, residual = _computed(seen, histogram, rows), 0.0
    else:
        some = generator.choice(len(rows), most, replace=False)
        middle, spread = rows.mean(axis=0), rows.std(axis=0)
        design = np.column_stack(
            [np.ones(len(rows)), (rows - middle) / np.where(spread, spread, 1)]
        )
        computed = _computed(seen, histogram, rows[some])
        line = np.linalg.lstsq(design[some], computed, rcond=None)[0]
        ratios = design @ line
        residual = float(np.sqrt(((computed - ratios[some]) ** 2).sum() / (most - sites)))
    return ratios[which.ravel()].reshape(statistics.shape[:-1]), residual


def _computed(seen: SeenCopies, histogram: Histogram, rows: Floats) -> Floats:
    """Log L - log L' at these statistics, shape (rows,)."""
    own = choices_of([seen], [np.arange(rows.shape[1])])
    likelihood = own.likelihood.reshape(seen.log_likelihood.shape).T

    def block(rows: Floats) -> Floats:
        room = np.empty(len(own.base) + len(own.slopes))
        followed = np.array([log_choices(own, row, room) for row in rows])
        chosen = np.exp(histogram.log_chosen(seen.base + rows @ seen.slope.T))
        return np.asarray(np.log(chosen @ likelihood).sum(axis=1) - followed)

    parts = max(os.cpu_count() or 1, rows.shape[0] * len(seen.base) // _AT_ONCE)
    return np.concatenate(in_threads(block, np.array_split(rows, min(len(rows), parts))))
