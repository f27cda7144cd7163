"""Exact draws of independent records of k categories, in integer arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.polya import colour_counts, colour_of, scaled_edges
from bayesdp.mechanisms.randomness import uniform_below

_BLOCK = 1 << 15  # records drawn at once, to bound memory


def multinomial_draws(
    counts: NDArray[Any], prior: Sequence[Fraction], size: int
) -> NDArray[np.int64]:
    """Draw counts of `size` records that are i with probability proportional to prior_i + counts_i.

    Everything is counted in units of 1 / s for one power of two s, and a record picks a uniform
    integer below the sum: no probability is ever rounded.

    Parameters
    ----------
    counts : ndarray of int, shape (..., k)
        The confidential counts.
    prior : sequence of k Fractions
        Fractions whose denominators are powers of two. A negative sum prior_i + counts_i counts as
        0; at least one must be positive.
    size : int
        Records per draw.

    Returns
    -------
    ndarray of int64, shape of `counts`, each row with sum `size`
    """
    flat = counts.reshape(-1, counts.shape[-1])
    drawn = np.zeros(flat.shape, dtype=np.int64)
    edges, _ = scaled_edges(flat, prior)
    rows = max(1, _BLOCK // size)
    for first in range(0, len(flat), rows):
        some = edges[first : first + rows]
        for start in range(0, size, _BLOCK):
            width = min(size - start, _BLOCK)
            picks = uniform_below(np.repeat(some[:, -1], width)).reshape(len(some), width)
            colours = colour_of(picks, some)
            drawn[first : first + rows] += colour_counts(colours, some.shape[1])
    return drawn.reshape(counts.shape)
