"""Style of all figures, and the axes that one is drawn in."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bayesdp.display.colours import COLOURS
from bayesdp.errors import InvalidInput

INK, SOFT, RULE = (COLOURS[role][0] for role in ("ink", "soft", "rule"))
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # matplotlib brings it along: the same drawing everywhere
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "svg.fonttype": "path",
}
"""Settings for `matplotlib.rc_context`."""


def axes_for(ax: Any, size: tuple[float, float]) -> Axes:
    """Return the axes given, with texts of our size, or those of a new figure of `size` inches.

    Raises
    ------
    InvalidInput
        If `ax` is neither None nor matplotlib's axes.
    """
    if ax is not None:
        if not isinstance(ax, Axes):
            raise InvalidInput(f"ax is a {type(ax).__name__}; it must be matplotlib Axes, or None")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=STYLE["font.size"])
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_fontsize(STYLE["axes.labelsize"])
        return ax
    # A notebook's first figure sets that later ones are shown: a context would undo it.
    figure = plt.figure(figsize=size, layout="constrained")
    with mpl.rc_context(STYLE):
        return figure.subplots()


def plain(text: Any) -> str:
    """Write a label as it is: a dollar sign would begin a formula."""
    return str(text).replace("$", r"\$")
