"""Likelihood of the mean and the variance of normal records, given noisy moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Cell
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.gaussian.mean import ends_of
from bayesdp.inference.gaussian.pair import SeenPair
from bayesdp.inference.gaussian.windows import within
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

Floats = NDArray[np.float64]

_FAR = 60.0  # scales of noise
_COARSEST = 100  # steps of the lattice to a scale of integer noise, at least


def pair_through_noise(part: Part, cell: Cell, n: int, statistic: str) -> SeenPair:
    """Read the likelihood from noisy (mean, variance) or (sum, sum of squares) by `cell`."""
    if cell.scale < _COARSEST * cell.step:
        raise InvalidInput(
            f"the noise has scale {quoted(cell.scale)} on a lattice of step {quoted(cell.step)}, "
            "too coarse for the quadrature over a mean and a variance; give sd, if it is known"
        )
    outputs = np.array(part.outputs, dtype=np.float64)
    reach = _FAR * cell.scale
    low, high = range_of(cell)

    def law(column: Floats, values: Floats) -> Floats:
        inside = np.ones(values.shape, dtype=bool)
        if cell.bounding == "truncated":
            inside = (values >= low) & (values <= high)
        values = np.where(inside, values, np.clip(values, low, high))
        if np.all(column == low) or np.all(column == high):
            # Beyond an inflated end the probability is 1 as soon as noise can't lead back.
            values = np.clip(values, column.min() - reach, column.max() + reach)
        values = np.floor(values + 0.5) if cell.whole else values
        logs = cell.logp(column.reshape(-1, *[1] * values.ndim), values).sum(axis=0)
        return np.where(inside, logs, -np.inf)

    ends, first = ends_of(cell, outputs[:, 0], low, high)
    # Neither a variance nor a sum of squares is below 0.
    second = ends_of(cell, np.maximum(outputs[:, 1], 0.0), low, high)[1]
    positive = max(ends[0], 0.0), ends[1]
    if not positive[1] > 0:
        raise InvalidInput(
            f"the release keeps its numbers within {cell.bounds}, where no variance is; was "
            "something else released?"
        )
    if statistic == "mean":
        return SeenPair(
            n,
            ends,
            positive,
            (cell.scale, cell.scale),
            (outputs[:, 0], outputs[:, 1]),
            lambda s, v: law(outputs[:, 0], s)[:, None] + law(outputs[:, 1], v),
            near=(first, within(second, positive)),
        )

    def of_squares(s: Floats, v: Floats) -> Floats:
        squares = (n - 1) * v + n * s[:, None] ** 2
        return law(outputs[:, 0], n * s)[:, None] + law(outputs[:, 1], squares)

    return SeenPair(
        n,
        (ends[0] / n, ends[1] / n),
        (0.0, positive[1] / (n - 1)),
        (cell.scale / n, cell.scale / (n - 1)),
        (outputs[:, 0] / n, np.empty(0)),
        of_squares,
        lambda s: (outputs[:, 1] - n * s[:, None] ** 2) / (n - 1),
        near=((first[0] / n, first[1] / n), (0.0, second[1] / (n - 1))),
    )
