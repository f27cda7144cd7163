"""Copies whose laws a hidden graph's statistics chose, in the form that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.kernels.hidden.choices import Choices
from bayesdp.networks.evidence import SeenCopies

_RATE = 500.0  # of noise that is never there: it is 0 but for e^-500


def choices_of(copies: Sequence[SeenCopies], places: Sequence[NDArray[np.int64]]) -> Choices:
    """Convert copies for kernels.

    Parameters
    ----------
    copies : sequence of SeenCopies
    places : sequence of ndarray of int64
        Numbers of each one's statistics among the bound ones.

    Raises
    ------
    InvalidInput
        If the arrays don't fit each other, or a number in them isn't allowed.
    """
    width = max((len(place) for place in places), default=0)
    first = np.cumsum([0, *(len(seen.base) for seen in copies)]).astype(np.int64)
    coordinate, origin = np.zeros((2, len(copies), width))
    begin = np.zeros((len(copies), width + 1), dtype=np.int64)
    at = np.zeros((first[-1], width), dtype=np.int64)
    bases, slopes, number = [np.empty(0)], [np.empty(0)], 0
    for c, (seen, place) in enumerate(zip(copies, places, strict=True)):
        _check(seen, len(place))
        own, laws = len(place), slice(first[c], first[c + 1])
        coordinate[c, :own], origin[c, :own] = place, _origin(seen)
        base = seen.base + seen.slope @ origin[c, :own]
        bases.append(base - base.max())
        for t in range(width):
            along = seen.slope[:, t] if t < own else np.zeros(len(base))
            axis, where = np.unique(along, return_inverse=True)
            at[laws, t], begin[c, t] = number + where, number
            slopes.append(axis)
            number += len(axis)
        begin[c, width] = number
    logs = [s.log_likelihood - s.log_likelihood.max(axis=1, keepdims=True) for s in copies]
    base, histograms = np.concatenate(bases), [seen.histogram for seen in copies]
    log_likelihood = np.concatenate([np.empty(0), *(each.ravel() for each in logs)])
    return Choices(
        first=first,
        coordinate=coordinate.astype(np.int64),
        origin=origin,
        begin=begin,
        slopes=np.concatenate(slopes),
        at=at,
        base=base,
        weight=np.exp(base),
        copies=np.array([len(each) for each in logs], dtype=np.int64),
        draws=np.array([h.draws if h else 0 for h in histograms], dtype=np.int64),
        rate=np.array([min(1 / h.scale, _RATE) if h else 0.0 for h in histograms]),
        log_likelihood=log_likelihood,
        likelihood=np.exp(log_likelihood),
    )


def _origin(seen: SeenCopies) -> NDArray[np.float64]:
    """Statistics at which the laws' weights differ least, by least squares."""
    away = seen.slope - seen.slope.mean(axis=0)
    found: NDArray[np.float64] = np.linalg.lstsq(away, seen.base.mean() - seen.base, rcond=None)[0]
    return found


def _check(seen: SeenCopies, statistics: int) -> None:
    laws = len(seen.base)
    shapes = seen.slope.shape, seen.base.shape, seen.log_likelihood.shape[1:]
    if laws == 0 or shapes != ((laws, statistics), (laws,), (laws,)):
        raise InvalidInput(
            f"the evidence's copies have slope, base and log_likelihood of shapes {shapes}; with "
            f"{statistics} statistics they must be (laws, {statistics}), (laws,) and (copies, laws)"
        )
    finite = np.isfinite(seen.slope).all() and np.isfinite(seen.base).all()
    if not (finite and np.isfinite(seen.log_likelihood).all()):
        raise InvalidInput("the evidence's copies have a number that isn't finite; all must be")
