"""The statistic of a sequential model: exact sums of records, and copies from noisy sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import Floats, Sums
from bayesdp.mechanisms.families.linear_regression_draws import (
    bounded,
    drawn_regression,
    projected,
)
from bayesdp.mechanisms.families.moments import MOST, in_steps, rescaled, totals_of
from bayesdp.mechanisms.families.regression_fields import table_of
from bayesdp.mechanisms.modips.sequential.layout import Layout
from bayesdp.mechanisms.modips.sequential.steps import NumericColumns
from bayesdp.mechanisms.randomness import generator

Columns = dict[str, NDArray[Any]]


def columns_of(layouts: Sequence[Layout], frame: Any, *, clip: bool) -> tuple[Columns, int]:
    """Read a DataFrame's labels as codes, its numbers within bounds, and its size.

    Raises
    ------
    InvalidInput
        If a column is missing, a label isn't listed, or a number is missing or, unless `clip`, out
        of bounds. No message shows a value.
    """
    if not hasattr(frame, "columns"):
        raise InvalidInput(
            f"data is a {type(frame).__name__}; it must be a DataFrame, or an iterator of them"
        )
    wanted = [name for layout in layouts for name in layout.names]
    there = list(frame.columns)
    missing = [name for name in wanted if there.count(name) != 1]
    if missing:
        raise InvalidInput(
            f"data has no columns {missing}, or has them twice; the steps' are {wanted}"
        )
    columns: Columns = {}
    for layout in layouts:
        if isinstance(layout.step, NumericColumns):
            own = layout.ends[len(layout.before) :]
            table = table_of(frame, layout.names, own, clip=clip)
            columns |= {name: table[:, j] for j, name in enumerate(layout.names)}
        else:
            columns |= {axis.name: axis.bins(frame[axis.name], clamp=False) for axis in layout.axes}
    return columns, len(frame)


def declared_axes(layouts: Sequence[Layout]) -> list[Axis]:
    """Axes of all columns: the labels of categorical ones, and an interval of each numeric one."""
    axes: list[Axis] = []
    for layout in layouts:
        own: Any = layout.step.columns
        axes += layout.axes or [Axis(name, edges=ends) for name, ends in own]
    return axes


def no_records(layouts: Sequence[Layout]) -> Any:
    """Make a table of all columns without rows."""
    import pandas as pd

    return pd.DataFrame({name: [] for layout in layouts for name in layout.names})


def sums_of_columns(layouts: Sequence[Layout], columns: Mapping[str, Any], size: int) -> Sums:
    """Sum over all cells of all steps, one after the other."""
    totals: list[int] = []
    for layout in layouts:
        cell, width = layout.cell_of(columns, size), layout.width
        if not isinstance(layout.step, NumericColumns):
            place = cell * width + layout.label_of(columns, size)
            totals += np.bincount(place, minlength=layout.cells * width).tolist()
            continue
        table = np.column_stack([columns[name] for name in layout.measured])
        u = in_steps(table, layout.ends)
        for inside in _members(cell, layout.cells):
            totals += [len(inside), *totals_of(u[inside])]
    return Sums(size, tuple(totals))


def statistic_of(layouts: Sequence[Layout], sums: Sums, n: int | None) -> Floats:
    """Compute the joint statistic, shape (numbers,): by step, by cell, counts or moments.

    Moments are of rescaled columns. Where the number of records is public, it isn't among the
    numbers of a step that is given no labels.
    """
    if sums.n > MOST:
        raise InvalidInput(f"data has more than {MOST} records, the most that are allowed")
    numbers: list[float] = []
    start = 0
    for layout in layouts:
        d, width = len(layout.measured), layout.width
        for _ in range(layout.cells):
            part = sums.totals[start : start + width]
            start += width
            if layout.axes:
                numbers += map(float, part)
                continue
            known = public_of(layout, n) is not None
            numbers += ([] if known else [float(part[0])]) + list(rescaled(part[1:], d))
    return np.array(numbers)


def split(layouts: Sequence[Layout], statistic: Floats, n: int | None) -> list[Floats]:
    """Split a statistic by step, shape (cells, numbers) each, or raise InvalidInput."""
    known = [not layout.axes and public_of(layout, n) is not None for layout in layouts]
    widths = [x.width - less for x, less in zip(layouts, known, strict=True)]
    ends = np.cumsum([x.cells * width for x, width in zip(layouts, widths, strict=True)])
    if statistic.shape != (ends[-1],):
        raise InvalidInput(
            f"the statistic has shape {statistic.shape}; it must be {ends[-1]} numbers, as the "
            "synthesizer counts them"
        )
    parts = np.split(statistic, ends[:-1])
    return [part.reshape(-1, width) for part, width in zip(parts, widths, strict=True)]


def public_of(layout: Layout, n: int | None) -> int | None:
    """Number of records in a step's one cell, where there is one and it is public."""
    return None if layout.given else n


def drawn_copy(
    layouts: Sequence[Layout], noisy: Sequence[NDArray[Any]], size: int, n: int | None
) -> Floats:
    """Draw one synthetic table, shape (size, columns): labels' codes, numbers within bounds."""
    columns: Columns = {}
    for layout, numbers in zip(layouts, noisy, strict=True):
        cell = layout.cell_of(columns, size)
        if isinstance(layout.step, NumericColumns):
            columns |= _numbers(layout, layout.step.prior, numbers, columns, cell, n)
        else:
            codes = layout.codes(_combinations(layout.step.prior + numbers, cell))
            columns |= dict(zip(layout.names, codes, strict=True))
    return np.column_stack([columns[name] for layout in layouts for name in layout.names])


def _combinations(alpha: Floats, cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw labels for each record, from Dirichlet draws of its cell's probabilities."""
    rng = generator()
    # In logarithms, as gamma variables of a small shape may all round to 0.
    uniform = np.log1p(-rng.random(alpha.shape))
    log_gamma = np.log(rng.standard_gamma(alpha + 1)) + uniform / alpha
    theta = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    below = np.cumsum(theta, axis=-1)
    labels, u = np.empty(cell.size, dtype=np.int64), rng.random(cell.size)
    for c, inside in enumerate(_members(cell, len(alpha))):
        labels[inside] = np.searchsorted(below[c], u[inside] * below[c, -1], side="right")
    return np.asarray(np.minimum(labels, alpha.shape[-1] - 1))


def _members(cell: NDArray[np.int64], cells: int) -> list[NDArray[np.intp]]:
    """Find the places of each cell's records."""
    order = np.argsort(cell, kind="stable")
    return np.split(order, np.searchsorted(cell[order], np.arange(1, cells)))


def _numbers(
    layout: Layout,
    prior: tuple[float, ...],
    noisy: Floats,
    columns: Columns,
    cell: NDArray[np.int64],
    n: int | None,
) -> Columns:
    """Draw each column given those before it, by the regression of the record's cell."""
    rng, d, start = generator(), len(layout.measured), len(layout.before)
    (low, high), drawn = layout.ends.T, {}
    count, mean, rows = projected(noisy, d, public_of(layout, n))
    z = np.empty((cell.size, d))
    for j, name in enumerate(layout.measured):
        if j < start:
            z[:, j] = np.clip((columns[name] - low[j]) / (high[j] - low[j]) * 2 - 1, -1, 1)
            continue
        before = list(range(j))
        intercept, slopes, sd = drawn_regression(prior, count, mean, rows, j, before, rng)
        along = np.sum(slopes[cell] * z[:, :j], axis=1)
        z[:, j] = bounded(intercept[cell] + along, sd[cell], "inflated", rng)
        x = np.clip(low[j] + (high[j] - low[j]) * ((z[:, j] + 1) / 2), low[j], high[j])
        drawn[name] = np.where(z[:, j] <= -1, low[j], np.where(z[:, j] >= 1, high[j], x))
    return drawn
