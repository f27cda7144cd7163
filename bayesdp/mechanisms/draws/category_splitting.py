"""Exact Dirichlet-multinomial draws of any size: an urn for small ones, a tree for large ones.

The number of records in one half of the categories is beta-binomial, with the sums of the two
halves' weights; given it, the two halves are independent and Dirichlet-multinomial again. So k - 1
exact beta-binomial draws, each at a cost that doesn't grow with the number of records, split any
number of records over k categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.beta_binomial import beta_binomial_draws
from bayesdp.mechanisms.draws.polya import polya_urns

_URN = 1 << 18  # records times categories up to which an urn is faster


def dirichlet_multinomial_draws(
    counts: NDArray[Any], prior: Sequence[float], size: int
) -> NDArray[np.int64]:
    """Draw DirichletMultinomial(size, prior + counts), exactly.

    Parameters
    ----------
    counts : ndarray of int, shape (..., k)
        The confidential counts.
    prior : sequence of k floats
        Positive; taken exactly as the binary fractions they are.
    size : int
        Records per draw, at most `beta_binomial_draws.LARGEST_SIZE`.

    Returns
    -------
    ndarray of int64, shape of `counts`, each row with sum `size`
    """
    if size * counts.shape[-1] <= _URN:
        return polya_urns(counts, prior, size)
    return _split(counts.reshape(-1, counts.shape[-1]), prior, size).reshape(counts.shape)


def _split(counts: NDArray[Any], prior: Sequence[float], size: int) -> NDArray[np.int64]:
    """Split rows of counts, shape (rows, k), by halves from the top of the tree to its leaves."""
    weights = [counts + np.array(prior, dtype=np.float64)]
    while weights[-1].shape[1] > 1:
        level = weights[-1]
        if level.shape[1] % 2:  # nothing ever falls into what has no weight
            level = np.column_stack([level, np.zeros(len(level))])
            weights[-1] = level
        weights.append(level[:, ::2] + level[:, 1::2])
    sizes = np.full((len(counts), 1), size, dtype=np.int64)
    for height in range(len(weights) - 2, -1, -1):
        level = weights[height]
        left = sizes.copy()
        # Only the last pair may lack its second half.
        pairs = level.shape[1] // 2 - int(not level[0, -1])
        leaves = 1 << height

        def exact(i: int, pairs: int = pairs, leaves: int = leaves) -> tuple[Fraction, Fraction]:
            row, place = divmod(i, pairs)
            first = 2 * leaves * place
            return (
                _weight(counts[row], prior, first, first + leaves),
                _weight(counts[row], prior, first + leaves, first + 2 * leaves),
            )

        a, b = level[:, : 2 * pairs : 2], level[:, 1 : 2 * pairs : 2]
        drawn = beta_binomial_draws(sizes[:, :pairs].ravel(), a.ravel(), b.ravel(), exact)
        left[:, :pairs] = drawn.reshape(len(counts), pairs)
        sizes = np.stack([left, sizes - left], axis=-1).reshape(len(counts), -1)
    return sizes[:, : counts.shape[1]]


def _weight(counts: NDArray[Any], prior: Sequence[float], first: int, stop: int) -> Fraction:
    """The exact weight of a range of categories."""
    total = sum(map(Fraction, prior[first:stop]), start=Fraction(0))
    return total + int(counts[first:stop].sum())
