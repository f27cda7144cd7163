"""Evidence on a hidden graph, as kernels take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.hidden.whole import Whole


class Seen(NamedTuple):
    """Evidence on a hidden graph as arrays for kernels; made by `seen_of`.

    Attributes
    ----------
    pairs : ndarray of int64, shape (listed, 2)
        The dyads listed, sorted.
    first : ndarray of int64, shape (n + 1,)
        Where the listed dyads of node i begin.
    offset : ndarray of float, shape (listed,)
        Offsets of the listed dyads.
    constant : float
        The offset of every other dyad.
    matrix : ndarray of float, shape (n, n) or (0, 0)
        Offsets of all dyads, if given whole.
    coordinate : ndarray of int64, shape (statistics,)
        Number of each noisy statistic among the bound ones.
    values, scale, step, law : ndarray, shape (statistics,)
        The noisy statistics; the noise's scale; the multiple to which the statistic was rounded
        before, or 0; index of the noise's law in `LAWS`.
    degrees : ndarray of float, shape (sequences, rows)
        Noisy degrees, with one column for each row of the graph.
    degree_scale, degree_law : ndarray, shape (sequences,)
    most : int
        Largest degree, out-degree if directed.
    triangles : ndarray of int64, shape (triangles, 3)
        Numbers of three listed dyads that form a triangle, where the model has ties in triangles.
    whole : Whole
        Evidence that depends on the whole graph; no triangles are listed then.
    """

    pairs: NDArray[np.int64]
    first: NDArray[np.int64]
    offset: NDArray[np.float64]
    constant: float
    matrix: NDArray[np.float64]
    coordinate: NDArray[np.int64]
    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    step: NDArray[np.float64]
    law: NDArray[np.int64]
    degrees: NDArray[np.float64]
    degree_scale: NDArray[np.float64]
    degree_law: NDArray[np.int64]
    most: int
    triangles: NDArray[np.int64]
    whole: Whole
