"""The risk-utility map of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

# Okabe and Ito's, distinct to the colour-blind.
_LINES = ("#0072b2", "#c65100", "#009e73", "#a5488a", "#56b4e9", "#8a6d00", "#4d4d4d")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_MARKS = "osD^vP"


def plot_plan(
    table: pd.DataFrame,
    chosen: Mapping[str, Any] | pd.Series[Any],
    designs: Iterable[tuple[str, int]],
    *,
    criterion: str,
    target: float,
    level: float,
    assurance: float | None,
    attacker_prior: float,
    axes: Axes | None = None,
) -> Axes:
    """Draw the length of the interval against epsilon, one line for each design.

    Colours are mechanisms, dashes numbers of copies. The upper axis shows the largest posterior
    probability that an attacker can reach; a star marks the chosen design.

    Parameters
    ----------
    table, chosen
        The plan's table, and its row of the chosen design.
    designs : iterable of (mechanism, copies)
    criterion : str
        The column that the target is compared with.
    target, level, assurance, attacker_prior
        As in `Plan`.
    axes : matplotlib Axes, optional
        Where to draw; by default the axes of a new figure.
    """
    if axes is not None and not isinstance(axes, Axes):
        raise InvalidInput(f"axes is a {type(axes).__name__}; it must be matplotlib Axes, or None")
    if axes is None:
        # A notebook's first figure sets that later ones are shown: a context would undo it.
        figure = plt.figure(figsize=(6.4, 4.6), layout="constrained")
        with mpl.rc_context(STYLE):
            axes = figure.subplots()
    with mpl.rc_context(STYLE):
        ink, soft = COLOURS["ink"][0], COLOURS["soft"][0]
        mechanisms = list(dict.fromkeys(table["mechanism"]))
        copies = sorted({int(m) for m in table["copies"]})
        for name, m in designs:
            rows = table[(table["mechanism"] == name) & (table["copies"] == m)]
            k, j = mechanisms.index(name), copies.index(m)
            simulated = bool((rows["how"] == "simulated").any())
            axes.plot(
                rows["epsilon"],
                rows[criterion],
                color=_LINES[k % len(_LINES)],
                linestyle=_DASHES[j % len(_DASHES)],
                marker=_MARKS[k % len(_MARKS)],
                markersize=3.2,
                markerfacecolor=COLOURS["paper"][0] if simulated else None,
                linewidth=1.3,
                label=f"{name}, {m} copies" if m > 1 else name,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        _reference(axes, target, "target", ink, (0, (4, 3)), 2.5)
        bare = chosen["without_privacy"]
        if np.isfinite(bare):
            _reference(axes, bare, "without privacy", soft, (0, (1, 1.5)), -9)
            axes.set_ylim(bottom=min(axes.get_ylim()[0], 0.85 * bare))
        axes.plot(
            [chosen["epsilon"]], [chosen[criterion]], marker="*", markersize=13, color=ink,
            linestyle="none", label=f"found: epsilon = {chosen['epsilon']:g}", zorder=5,
        )  # fmt: skip
        interval = f"{100 * level:g}% interval"
        what = f"mean length of the {interval}"
        if assurance is not None:
            what = f"length of the {interval}, {assurance:.0%} of releases within"
        axes.set_xlabel("epsilon")
        axes.set_ylabel(what)
        _ticks(axes)
        axes.grid(color=COLOURS["rule"][0], linewidth=0.5)
        axes.set_axisbelow(True)
        _risk(axes, attacker_prior, mixed=bool(table["delta"].gt(0).any()))
        axes.legend(
            frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2,
            title="hollow marks are simulated" if (table["how"] == "simulated").any() else None,
            title_fontsize=7.5,
        )  # fmt: skip
    return axes


def _reference(axes: Axes, at: float, label: str, colour: str, dashes: Any, above: float) -> None:
    axes.axhline(at, color=colour, linewidth=0.9, linestyle=dashes, zorder=1)
    axes.annotate(
        label, (0.0, at), xycoords=("axes fraction", "data"), xytext=(3, above),
        textcoords="offset points", fontsize=7.5, color=colour,
    )  # fmt: skip


def _ticks(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(mpl.ticker.LogLocator(base=10, subs=(1, 2, 5)))
        axis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
        axis.set_minor_locator(mpl.ticker.NullLocator())


def _risk(axes: Axes, prior: float, *, mixed: bool) -> None:
    """Label the ticks above by the attacker's probability, under a pure promise."""
    above = axes.twiny()
    above.set_xscale("log")
    above.set_xlim(axes.get_xlim())
    low, high = axes.get_xlim()
    ticks = [e for e in axes.get_xticks() if low <= e <= high]
    posterior = [1 / (1 + (1 - prior) / prior * np.exp(-e)) for e in ticks]
    above.set_xticks(ticks, [f"{p:.2g}" if p < 0.995 else f"{p:.5g}" for p in posterior])
    above.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    above.spines["right"].set_visible(False)
    above.set_xlabel(
        f"an attacker's probability, from {prior:g}, at most" + (" (delta = 0)" if mixed else "")
    )
