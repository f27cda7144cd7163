"""Plot of estimates with their intervals, a row for each quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from bayesdp.display.colours import COLOURS
from bayesdp.display.drawing import INK, RULE, STYLE, axes_for, plain
from bayesdp.errors import InvalidInput

MOST_ROWS = 40
"""Rows of a picture."""
Row = tuple[float, float, float]
"""An estimate, and the lower and upper end of its interval."""


@dataclass(frozen=True)
class Method:
    """A method's estimates.

    Attributes
    ----------
    label : str
    role : {"posterior", "naive"}
        Its role, and so its colour.
    rows : mapping of label to Row
    """

    label: str
    role: str
    rows: Mapping[Any, Row]


_MARKS = {"posterior": "o", "naive": "s"}


def plot_intervals(
    ax: Any,
    methods: Sequence[Method],
    truth: Mapping[Any, float],
    *,
    xlabel: str,
) -> Axes:
    """Plot each quantity's estimates in a row, the methods below each other, and the truth.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None for a new figure.
    methods : sequence of Method
        At most two.
    truth : mapping of label to float
        True values; those of rows that no method has are left out.
    xlabel : str

    Raises
    ------
    InvalidInput
        If there are more than 40 rows.
    """
    labels = list(dict.fromkeys(label for method in methods for label in method.rows))
    if len(labels) > MOST_ROWS:
        raise InvalidInput(
            f"there are {len(labels)} rows to plot; at most {MOST_ROWS} can be read: choose some"
        )
    axes = axes_for(ax, (6.0, 0.9 + 0.34 * max(2, len(labels))))
    apart = 0.26 if len(methods) > 1 else 0.0
    with mpl.rc_context(STYLE):
        axes.grid(axis="x", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        for k, method in enumerate(methods):
            colour = COLOURS[method.role][0]
            for row, label in enumerate(labels):
                if label in method.rows:
                    mean, *ends = method.rows[label]
                    at = row + apart * (k - (len(methods) - 1) / 2)
                    axes.plot(ends, [at, at], color=colour, linewidth=2, solid_capstyle="butt")
                    mark = _MARKS[method.role]
                    axes.plot(mean, at, mark, color=colour, markersize=4.5)
            axes.plot([], [], _MARKS[method.role], ls="-", lw=2, color=colour, label=method.label)
        known = [(row, truth[label]) for row, label in enumerate(labels) if label in truth]
        if known:
            rows, values = np.transpose(known)
            axes.plot(values, rows, "|", color=INK, markersize=15, mew=1.6, label="truth")
        axes.set_yticks(range(len(labels)), [plain(label) for label in labels])
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(xlabel)
        if len(methods) > 1 or known:
            axes.legend(
                frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3,
                borderaxespad=0.2, handlelength=1.6, fontsize=7.5,
            )  # fmt: skip
    return axes
