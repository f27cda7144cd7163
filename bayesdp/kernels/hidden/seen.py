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
        Where those of node i begin.
    offset : ndarray of float, shape (listed,)
        Theirs.
    constant : float
        The offset of every other dyad.
    matrix : ndarray of float, shape (n, n) or (0, 0)
        Offsets of all dyads, if given whole.
    coordinate : ndarray of int64, shape (statistics,)
        Which of the bound statistics each noisy one is of.
    values, scale, step, law : ndarray, shape (statistics,)
        As seen; the noise's scale; what the statistic was rounded to before, or 0; place of
        the noise's law in `LAWS`.
    degrees : ndarray of float, shape (sequences, rows)
        Noisy degrees, a column a row of the graph.
    degree_scale, degree_law : ndarray, shape (sequences,)
    most : int
        What no degree exceeds, out-degree if directed.
    triangles : ndarray of int64, shape (triangles, 3)
        Places of three dyads listed that form one, where the model has ties in triangles.
    whole : Whole
        What follows the whole graph; then no triangles are listed.
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
