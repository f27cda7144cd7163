"""Errata of Ju, Awan, Gong and Rao (2022)."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from bayesdp.papers.erratum import Erratum, Flaw, Relation, Shown

Floats = NDArray[np.float64]


def _moments() -> tuple[Shown, ...]:
    """Check p = 1: z_1, z_2 and their products, between a corner and the best of a grid."""

    def row(z: Floats) -> Floats:
        products = [z[..., i] * z[..., j] for i in range(2) for j in range(i + 1)]
        return np.stack([z[..., 0], z[..., 1], *products], axis=-1)

    grid = np.array(list(itertools.product(np.linspace(-1, 1, 31), repeat=2)))
    farthest = float(np.abs(row(grid)[:, None] - row(grid)).sum(axis=-1).max())
    case = "how far one record moves all moments of p = 1 predictor together"
    return (Shown(case, 1 + 4 + 3, farthest, 2 * 16 / (2 * 3), relation=Relation.EQUAL),)


ROWS = (
    Erratum("ju", "Sensitivity", Flaw.LOOSE, "p^2 + 4p + 3", "(p + 1)(p + 3)^2 / (2(p + 2))",
         _moments),
)  # fmt: skip
"""In the order of the paper."""
