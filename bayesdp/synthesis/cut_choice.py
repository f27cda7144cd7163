r"""Choice of a column's cut points from the released counts of a fine grid.

With S(e) the sum of the noisy counts below edge e, made to rise by taking the middle between its
running maximum and its running minimum from above, cut k of K - 1 is the edge whose S is nearest to
k / K of the total. So each pool holds about as many records as another; where one cell of the grid
has more than its part, cuts fall together and there are fewer pools. It is a function of released
numbers and public parameters: by `bayesdp.mechanisms.counts.noisy_table` it costs nothing beyond
the grid's counts, all of which are released, so that the posterior loses nothing of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pools_of(counts: NDArray[Any], pools: int) -> tuple[int, ...]:
    """Choose pools of about as many records from a grid's noisy counts.

    Parameters
    ----------
    counts : ndarray of int, shape (cells,)
        Released counts of the cells that a pool may begin at, or that are in the first.
    pools : int
        Largest number of pools.

    Returns
    -------
    tuple of int
        The first cell of each pool, increasing from 0.

    Examples
    --------
    >>> pools_of(np.array([40, 2, 3, 40, -2, 1, 1, 39]), 3)
    (0, 2, 4)
    """
    below = np.cumsum(counts, dtype=np.float64)
    if below[-1] <= 0:  # noise alone: cells of equal number
        return tuple(np.unique(np.linspace(0, counts.size, pools + 1).astype(int)[:-1]).tolist())
    down = np.minimum.accumulate(below[::-1])[::-1]
    rising = ((np.maximum.accumulate(below) + down) / 2)[:-1]
    if not rising.size:
        return (0,)
    aims = below[-1] * np.arange(1, pools) / pools
    nearest = np.abs(rising[:, None] - aims).argmin(axis=0) + 1
    return (0, *np.unique(nearest).tolist())
