"""Sums of exponentials over latent values, at every draw of parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
_CHUNK = 1 << 16  # terms held at once, which fit into a core's cache


def log_sum(draws: int, cells: int, term: Callable[[slice], Floats]) -> Floats:
    """Log of a sum of exp over cells at every draw, some draws at a time.

    Parameters
    ----------
    draws, cells : int
        Their numbers.
    term : callable
        Called with a slice of draws; returns log terms, shape (draws, cells).
    """
    step, sums = max(1, _CHUNK // cells), np.empty(draws)
    for start in range(0, draws, step):
        sums[start : start + step] = special.logsumexp(term(slice(start, start + step)), axis=1)
    return sums
