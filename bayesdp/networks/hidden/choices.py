"""Copies whose laws a hidden graph's statistics chose, in the form that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.kernels.hidden.choices import Choices
from bayesdp.networks.evidence import SeenCopies


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
    laws = [len(seen.base) for seen in copies]
    coordinate = np.zeros((len(copies), width), dtype=np.int64)
    slope = np.zeros((sum(laws), width))
    first = np.concatenate([[0], np.cumsum(laws)]).astype(np.int64)
    for c, (seen, place) in enumerate(zip(copies, places, strict=True)):
        _check(seen, len(place))
        coordinate[c, : len(place)] = place
        slope[first[c] : first[c + 1], : len(place)] = seen.slope
    empty = np.empty(0)
    logs = [s.log_likelihood - s.log_likelihood.max(axis=1, keepdims=True) for s in copies]
    log_likelihood = np.concatenate([empty, *(each.ravel() for each in logs)])
    return Choices(
        first=first,
        coordinate=coordinate,
        slope=slope,
        base=np.concatenate([empty, *(seen.base for seen in copies)]),
        copies=np.array([len(each) for each in logs], dtype=np.int64),
        log_likelihood=log_likelihood,
        likelihood=np.exp(log_likelihood),
    )


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
