"""Quadrature over a parameter that is uniform in a cell of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def between_edges(edges: Floats, cells: NDArray[np.int64]) -> Floats:
    """Draw a uniform number in each of the cells, from the generator of releases."""
    return np.asarray(generator().uniform(edges[cells], edges[cells + 1]))


def rule(edges: Floats, pieces: int) -> tuple[Floats, Floats]:
    """Points and log weights within each interval, shape (intervals, pieces nodes).

    Each interval is cut into `pieces`, with Gauss and Legendre's rule of 20 points on each.
    """
    width = np.diff(edges) / pieces
    places = (np.arange(pieces)[:, None] + (1 + _NODES) / 2).ravel()
    points = edges[:-1, None] + width[:, None] * places
    weights = np.log(width / 2)[:, None] + np.log(np.tile(_WEIGHTS, pieces))
    return points, weights
