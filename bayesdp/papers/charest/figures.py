"""Figures 1 and 2 of Charest (2010), drawn from their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE, render
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.papers.charest.study import LEVEL, ONES, PRIOR, RECORDS, real_posterior
from bayesdp.papers.reproduction import Figure, Table, Value
from bayesdp.release import Release

_RULE, _POSTERIOR, _NAIVE, _INK, _SOFT, _GRID = (
    COLOURS[role][0] for role in ("reiter", "posterior", "naive", "ink", "soft", "rule")
)
_DASHED = (0, (4, 3))
_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, LEVEL, 1.0)
_NAME: dict[str, Any] = {"va": "top", "ha": "center"}


_QUANTILES = (0.025, 0.25, 0.5, 0.75, 0.975)

CAPTION_1 = (
    "Coverage of 95% intervals for p against epsilon in all, by true p (rows) and number of "
    "copies (columns); dashed: 95%. Combining rule: q with T*_M and t at nu_M degrees of "
    "freedom, equations (3) and (4). Posterior: the equal-tailed interval of the exact "
    "posterior that knows the mechanism, with a uniform prior, from the same copies. At one "
    "fixed p such an interval may cover more or less than 95%; averaged over p drawn from its "
    "prior, in the last row, it covers 95% exactly, and so it does here but for simulation error "
    "(standard errors in figure1.csv, with the exact coverage for two copies). The paper's "
    "text doesn't give its range of epsilon."
)


@dataclass(frozen=True, slots=True)
class Box:
    """A posterior's 2.5, 25, 50, 75 and 97.5% quantiles, under a label, in a role's colour."""

    label: str
    quantiles: Sequence[float]
    colour: str


def coverage_figure(table: Table) -> Figure:
    """Draw Figure 1 from `charest.coverage_table`."""
    svg, png = _draw_coverage(table)
    return Figure("figure1", "Figure 1: coverage of 95% intervals", CAPTION_1, svg, png, table)


def posterior_figure(table: Table, releases: Mapping[int, Release]) -> Figure:
    """Draw Figure 2 from `charest.spread_table` and one release for each number of copies."""
    model = BinomialModel(PRIOR)
    real = real_posterior()
    mixtures = {
        "real\ndata": (real, _INK),
        "one copy\nas real": (model.naive_posterior(releases[1]), _NAIVE),
        **{f"M = {m}": (model.posterior(r), _POSTERIOR) for m, r in releases.items()},
    }
    boxes = [
        Box(label, [float(q) for q in mixture.quantile(_QUANTILES)], colour)
        for label, (mixture, colour) in mixtures.items()
    ]
    svg, png = _draw_posteriors(boxes, table, real.sd())
    outputs = "; ".join(f"{', '.join(map(str, r.outputs))} (M = {m})" for m, r in releases.items())
    caption = (
        f"a: 95% and 50% intervals and median of p, from {ONES} ones among {RECORDS} confidential "
        "records (the paper doesn't print its count), from the copy of M = 1 taken for real, and "
        "from M copies with their mechanism known, at epsilon = 2 in all; dashed: 0.25. "
        f"Released: {outputs}. b: mean and 5 to 95% range of the posterior standard deviation over "
        "many such releases. A fixed epsilon buys less the more copies share it; the improvement "
        "with M that the paper describes appears if each copy is given all of it, so that M "
        "copies cost M times as much."
    )
    return Figure("figure2", "Figure 2: posteriors of p", caption, svg, png, table)


def _draw_coverage(table: Table) -> tuple[str, bytes]:
    """Draw a row a true p, a column a number of copies; coverage against epsilon in each panel."""
    truths: dict[Value, str] = {0.25: "p = 0.25", 0.5: "p = 0.5", "prior": "average over uniform p"}
    copies = [int(m) for m in sorted(set(table.numbers("M")))]
    with mpl.rc_context({**STYLE, "svg.hashsalt": "figure1"}):
        canvas = Canvas(figsize=(7.2, 6.2), layout="constrained")
        grid = canvas.subplots(len(truths), len(copies), sharex=True, sharey=True)
        for panel, (p, m) in zip(grid.flat, itertools.product(truths, copies), strict=True):
            panel.axhline(LEVEL, color=_INK, linewidth=0.8, linestyle=_DASHED)
            for name, colour, mark in (
                ("combining rule", _RULE, "s"),
                ("posterior", _POSTERIOR, "o"),
            ):
                where = {"p": p, "M": m, "interval": name}
                line = table.numbers("epsilon", **where), table.numbers("coverage", **where)
                panel.plot(*line, f"{mark}-", color=colour, markersize=3.4, linewidth=1.4)
        for panel, m in zip(grid[0], copies, strict=True):
            panel.set_title(f"M = {m}")
        for panel, truth in zip(grid[:, 0], truths.values(), strict=True):
            panel.set_ylabel(truth)
        _dress_coverage(grid)
        canvas.supxlabel("ε of all copies together", fontsize=8.5)
        canvas.supylabel("coverage of the 95% interval", fontsize=8.5)
        return render(canvas)


def _dress_coverage(grid: Any) -> None:
    """Dress the panels with axes, and with the lines' names where there is room for them."""
    for panel in grid.flat:
        panel.set_xlim(0, 5.2)
        panel.set_ylim(0.5, 1.02)
        panel.set_xticks(range(6))
        panel.set_yticks(_TICKS, [f"{tick:.0%}" for tick in _TICKS])
    grid[0][2].text(2.5, 0.93, "posterior that\nknows the mechanism", color=_POSTERIOR, **_NAME)
    grid[0][2].text(2.5, 0.635, "combining rule", color=_RULE, **_NAME)


def _draw_posteriors(boxes: Sequence[Box], table: Table, real_sd: float) -> tuple[str, bytes]:
    with mpl.rc_context({**STYLE, "svg.hashsalt": "figure2"}):
        canvas = Canvas(figsize=(7.2, 3.6), layout="constrained")
        left, right = canvas.subplots(1, 2, width_ratios=[1.4, 1])
        _draw_boxes(left, boxes)
        _draw_spreads(right, table, real_sd)
        return render(canvas)


def _draw_boxes(axes: Axes, boxes: Sequence[Box]) -> None:
    axes.axhline(ONES / RECORDS, color=_INK, linewidth=0.8, linestyle=_DASHED)
    for k, box in enumerate(boxes):
        low, lower, middle, upper, high = box.quantiles
        axes.vlines([k, k], [low, upper], [lower, high], color=box.colour, linewidth=1.3)
        axes.bar(k, upper - lower, 0.52, lower, fill=False, edgecolor=box.colour, linewidth=1.3)
        axes.hlines(middle, k - 0.26, k + 0.26, color=box.colour, linewidth=2.6)
    axes.set_xticks(range(len(boxes)), [box.label for box in boxes])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(boxes) - 0.5)
    axes.set_ylim(0, None)
    axes.set_ylabel("proportion p")
    axes.set_title("a  Posterior from one release each", loc="left")


def _draw_spreads(axes: Axes, table: Table, real_sd: float) -> None:
    """Draw mean and 5 to 95% range of the posterior sd; epsilon shared, and epsilon each."""
    copies = [int(m) for m in table.numbers("M", budget="in all")]
    axes.axhline(real_sd, color=_INK, linewidth=0.8, linestyle=_DASHED)
    for share, colour, mark, shift in (
        ("in all", _POSTERIOR, "o", -0.04),
        ("each copy", _SOFT, "^", 0.04),
    ):
        mean, low, high = (
            table.numbers(column, budget=share) for column in ("mean sd", "5% of sd", "95% of sd")
        )
        at = [k + shift for k in range(len(copies))]
        axes.vlines(at, low, high, color=colour, linewidth=1.1)
        axes.plot(at, mean, f"{mark}-", color=colour, markersize=4.5, linewidth=1.4)
    axes.text(1.75, 0.135, "ε = 2 in all", color=_POSTERIOR, ha="right")
    axes.text(2.95, 0.071, "ε = 2 each copy", color=_SOFT, ha="right")
    axes.text(-0.35, real_sd - 0.002, "real data", color=_INK, va="top")
    axes.set_xticks(range(len(copies)), [str(m) for m in copies])
    axes.set_xlim(-0.4, len(copies) - 0.6)
    axes.set_ylim(0, None)
    axes.set_xlabel("M")
    axes.set_title("b  Posterior sd over many releases", loc="left")
