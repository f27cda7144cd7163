"""View of a graph's statistics with independent noise, of each its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.vector_views import SeparateNoiseView
from bayesdp.core.views import Cell, Integer
from bayesdp.mechanisms.noise.reach import integers


def separate(cells: Sequence[Cell]) -> SeparateNoiseView:
    """Return the view of a vector whose components have these noises."""

    def each(outputs: Sequence[Any]) -> list[Integer]:
        columns = np.array(outputs).T[:, :, None]
        laws = [integers(cell, z) for cell, z in zip(cells, columns, strict=True)]
        return [law for (law,) in laws]

    return SeparateNoiseView(tuple(cells), each)
