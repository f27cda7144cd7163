"""Plot of what a release tells, as it is: its numbers, or shares of its synthetic records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from bayesdp.display.colours import COLOURS
from bayesdp.display.drawing import INK, RULE, STYLE, axes_for, plain
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS = 40
_MOST_VALUES = 12  # of numbers that are shown as categories
_NUMBERS = ("value", "count", "degree")
"""Last columns of tables that hold named numbers instead of records."""


def plot_frames(
    ax: Any, frames: list[pd.DataFrame], by: str | None, variable: str, column: str | None
) -> Axes:
    """Plot a release's frames, with a mark or a line for each copy.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None for a new figure.
    frames : list of DataFrame
        One for each copy.
    by : str or None
        Name of the column of groups.
    variable : str
        Name of the variable.
    column : str or None
        The column to show.
    """
    columns = [name for name in frames[0].columns if name != by]
    if column is not None and column not in columns:
        raise InvalidInput(
            f"column is {quoted(column)}; this release has {', '.join(map(str, columns))}"
        )
    if column is None and columns == ["source", "target"]:
        return _ties(ax, frames[0])
    if column is None and (rows := _named_numbers(frames, columns, by, variable)) is not None:
        return _marks(ax, rows, f"{columns[-1] if len(columns) > 1 else variable}, as released")
    shown = column or (variable if variable in columns else columns[0])
    every = pd.concat([frame[shown] for frame in frames])
    if pd.api.types.is_numeric_dtype(every) and every.nunique() > _MOST_VALUES:
        return _steps(ax, frames, by, shown)
    return _marks(ax, *_shares(frames, by, shown, list(pd.unique(every.dropna()))))


def _named_numbers(
    frames: list[pd.DataFrame], columns: list[str], by: str | None, variable: str
) -> dict[str, list[float]] | None:
    """Each released number in each copy, by its name; None if the rows are records."""
    names = [*([by] if by else []), *columns[:-1]]
    last = columns[-1]
    labelled = len(columns) > 1 and last in _NUMBERS
    single = len(columns) == 1 and all(
        len(frame) == (1 if by is None else frame[by].nunique()) for frame in frames
    )
    if not (labelled or single) or not pd.api.types.is_numeric_dtype(frames[0][last]):
        return None
    if names and any(frame.duplicated(names).any() for frame in frames):
        return None
    rows: dict[str, list[float]] = {}
    for frame in frames:
        labels = frame[names].astype(str).agg(": ".join, axis=1) if names else [variable]
        for label, value in zip(labels, frame[last], strict=True):
            rows.setdefault(label, []).append(float(value))
    return rows


def _shares(
    frames: list[pd.DataFrame], by: str | None, shown: str, values: list[Any]
) -> tuple[dict[str, list[float]], str]:
    """Share of each value in each copy, and in each group; of 0 and 1, the share of ones."""
    binary = set(values) <= {0, 1}
    kept = [1] if binary else sorted(values, key=_order)
    rows: dict[str, list[float]] = {}
    for frame in frames:
        for group, some in [(None, frame)] if by is None else frame.groupby(by, sort=False):
            for value in kept:
                parts = [] if by is None else [str(group)]
                parts += [] if binary and by is not None else [f"{shown} = {value}"]
                rows.setdefault(": ".join(parts), []).append(float((some[shown] == value).mean()))
    return rows, f"share of records with {shown} = 1" if binary else "share of records"


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _marks(ax: Any, rows: Mapping[str, list[float]], xlabel: str) -> Axes:
    """Plot a row for each label, with a mark for each copy."""
    labels = list(rows)[:_MOST_ROWS]
    axes = axes_for(ax, (6.0, 0.8 + 0.24 * max(3, len(labels))))
    with mpl.rc_context(STYLE):
        axes.grid(axis="x", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        for row, label in enumerate(labels):
            axes.plot(
                rows[label], np.full(len(rows[label]), row), "|", markersize=9, markeredgewidth=1.3,
                color=COLOURS["posterior"][0],
            )  # fmt: skip
        axes.set_yticks(range(len(labels)), [plain(label) for label in labels])
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.spines["left"].set_visible(False)
        copies = max(map(len, rows.values()))
        each = f"; {copies} copies" if copies > 1 else ""
        left = f"; the first {len(labels)} of {len(rows)}" if len(labels) < len(rows) else ""
        axes.set_xlabel(plain(f"{xlabel}{each}{left}"))
    return axes


def _steps(ax: Any, frames: list[pd.DataFrame], by: str | None, shown: str) -> Axes:
    """Plot the share of records up to each value, a line for each copy and group."""
    axes = axes_for(ax, (5.2, 2.8))
    groups = [None] if by is None else list(pd.unique(frames[0][by]))
    colours = [COLOURS[role][0] for role in ("posterior", "naive", "reiter", "ink")]
    with mpl.rc_context(STYLE):
        for k, group in enumerate(groups):
            colour = colours[k] if len(groups) <= len(colours) else COLOURS["soft"][0]
            for j, frame in enumerate(frames):
                some = frame if group is None else frame[frame[by] == group]
                x = np.sort(some[shown].dropna().to_numpy(dtype=np.float64))
                label = plain(group) if j == 0 and 1 < len(groups) <= len(colours) else None
                axes.step(
                    x, np.arange(1, x.size + 1) / x.size, where="post", color=colour, linewidth=1,
                    alpha=0.8, label=label,
                )  # fmt: skip
        axes.grid(color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_ylim(0, 1)
        axes.set(xlabel=plain(shown), ylabel="share of released records up to it")
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False, title=plain(by))
    return axes


def _ties(ax: Any, ties: pd.DataFrame) -> Axes:
    """Plot the first copy's ties as dots in a matrix."""
    axes = axes_for(ax, (3.4, 3.4))
    with mpl.rc_context(STYLE):
        axes.plot(ties["source"], ties["target"], "s", markersize=3, color=COLOURS["posterior"][0])
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xlabel="node", ylabel="node")
        axes.set_title("released ties, first copy", loc="left")
    return axes
