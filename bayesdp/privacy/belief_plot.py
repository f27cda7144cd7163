"""Plot of how far a belief of one half can move: the meaning of epsilon."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from bayesdp.display.colours import COLOURS
from bayesdp.display.drawing import INK, RULE, STYLE, axes_for
from bayesdp.privacy.attacker import Promise, attacker, in_words


def plot_belief(ax: Any, guarantee: Promise, about: str) -> Axes:
    """Plot the beliefs that one of 50% can become, as a bar from 0% to 100%.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw; None for a new figure.
    guarantee : Guarantee
    about : str
        The belief that it is about.
    """
    axes = axes_for(ax, (5.6, 1.5))
    nothing = math.isinf(guarantee.epsilon)
    high = 1.0 if nothing else attacker(guarantee, 0.5).posterior
    with mpl.rc_context(STYLE):
        axes.plot([0, 1], [0, 0], color=RULE, linewidth=8, solid_capstyle="butt")
        axes.plot(
            [1 - high, high], [0, 0], color=COLOURS["posterior"][0], linewidth=8,
            solid_capstyle="butt",
        )  # fmt: skip
        axes.plot([0.5, 0.5], [-0.5, 0.5], color=INK, linewidth=1.5)
        axes.annotate("50% before", (0.5, 0.6), ha="center", va="bottom")
        axes.set(xlim=(0, 1), ylim=(-0.9, 1.7))
        axes.set_xticks([0, 1], ["0%: surely not", "100%: surely"])
        first, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
        axes.set_yticks([])
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0)
        axes.set_xlabel(in_words(guarantee, about), wrap=True)
    return axes
