"""Plot of a density with its mean and interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from bayesdp.display.colours import COLOURS
from bayesdp.display.drawing import STYLE, axes_for

_STEPS = 240


def plot_density(
    ax: Any,
    cdf: Callable[[Any], Any],
    mean: float,
    interval: tuple[float, float],
    ends: tuple[float, float],
    *,
    xlabel: str,
    label: str | None = None,
    color: str | None = None,
) -> Axes:
    """Plot a law's density, with its interval below the curve and its mean as a dot.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None for a new figure.
    cdf : callable
        The law's distribution function, of an array; the density is that of its differences, which
        are finite where the density isn't.
    mean : float
    interval, ends : tuple of two floats
        Credible interval, and the ends of the curve.
    xlabel : str
    label, color : str, optional
        Of the curve, for a legend.
    """
    axes = axes_for(ax, (5.2, 2.6))
    grid = np.linspace(*ends, _STEPS + 1)
    middle, height = (grid[1:] + grid[:-1]) / 2, np.diff(cdf(grid)) / np.diff(grid)
    colour = COLOURS["posterior"][0] if color is None else color
    inside = (middle >= interval[0]) & (middle <= interval[1])
    with mpl.rc_context(STYLE):
        axes.plot(middle, height, color=colour, linewidth=1.4, label=label)
        axes.fill_between(middle, height, where=inside, color=colour, alpha=0.16, linewidth=0)
        axes.plot(interval, (0, 0), color=colour, linewidth=3, solid_capstyle="butt", clip_on=False)
        axes.plot(mean, 0, "o", color=colour, markersize=5.5, clip_on=False, zorder=3)
        axes.set_ylim(bottom=0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(xlabel)
        if label is not None:
            axes.legend(frameon=False)
    return axes
