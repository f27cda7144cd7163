"""Choices of a table's marginals on confidential counts: their law given latent records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.table_choice import Chosen, Offered
from bayesdp.engines.cell_layout import ends_of, laid_out
from bayesdp.kernels.table.choices import Offers

Floats = NDArray[np.float64]


def gaps_of(chosen: Sequence[Chosen], pooled: NDArray[Any]) -> Floats:
    """Count a table in all candidates' cells, less what was expected.

    Parameters
    ----------
    chosen : sequence of Chosen
    pooled : ndarray of int, shape (n, d)
        Pools of the records' levels.
    """
    made = [np.empty(0)]
    for one in _offered(chosen):
        cells = [pooled[:, k].astype(np.int64) for k in one.columns]
        place = np.ravel_multi_index(cells, one.shape)
        made.append(np.bincount(place, minlength=one.expected.size) - one.expected)
    return np.concatenate(made)


def log_choice(chosen: Sequence[Chosen], gaps: Floats) -> float:
    """Log probability of all choices, by the gaps of a table."""
    return math.fsum(float(one.log_law(u)) for one, u in _scored(chosen, gaps))


def draw_masses(chosen: Sequence[Chosen], offers: Offers, rng: np.random.Generator) -> None:
    """Draw the times by which a choice's law is a sum over candidates, given the scores."""
    offers.gone[:], offers.powers[:] = 0.0, 1.0
    made = [np.empty(0)]
    for one, u in _scored(chosen, offers.gaps):
        steps = zip(one.steps(u), rng.exponential(size=len(one.order)), strict=True)
        made.append(sum((time * np.exp(log) for log, time in steps), np.zeros(u.size)))
    offers.masses[:] = np.concatenate(made)


def offers_of(chosen: Sequence[Chosen], columns: int, gaps: Floats) -> Offers:
    """Lay out the candidates of all choices, and the gaps of a table.

    Parameters
    ----------
    chosen : sequence of Chosen
    columns : int
        Number of the table's columns.
    gaps : ndarray
        As `gaps_of` returns them.
    """
    each = _offered(chosen)
    shapes = [one.shape for one in each]
    rates = [one.rate for one in chosen for _ in one.offered]
    picked = [k in one.order for one in chosen for k in range(len(one.offered))]
    return Offers(
        laid=laid_out([one.columns for one in each], shapes, columns),
        rates=np.array(rates, dtype=np.float64),
        slopes=np.array(rates, dtype=np.float64) * np.array(picked, dtype=np.float64),
        gaps=gaps,
        gone=np.zeros(len(each)),
        powers=np.ones(len(each)),
        masses=np.zeros(len(each)),
    )


def resampled(log_weights: Floats, rng: np.random.Generator) -> tuple[NDArray[np.int64], float]:
    """Draw as many of some tables as there are, by their weights, and the effective number of them.

    Parameters
    ----------
    log_weights : ndarray, shape (tables,)
    rng : numpy Generator
    """
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    ends = np.cumsum(weights) * weights.size + rng.random()
    places = np.searchsorted(ends, np.arange(1, weights.size + 1))
    return np.minimum(places, weights.size - 1), float(1 / np.sum(weights**2))


def _offered(chosen: Sequence[Chosen]) -> list[Offered]:
    return [each for one in chosen for each in one.offered]


def _scored(chosen: Sequence[Chosen], gaps: Floats) -> list[tuple[Chosen, Floats]]:
    """Each choice, and the scores of its candidates."""
    made, start = [], 0
    for one in chosen:
        ends = ends_of([each.expected.size for each in one.offered])
        off = np.abs(gaps[start : start + ends[-1]])
        less = np.array([float(each.allowance) for each in one.offered])
        made.append((one, np.add.reduceat(off, ends[:-1]) - less))
        start += ends[-1]
    return made
