"""Figures 6, 7 and 8 of Liu (2016), drawn from their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE, render
from bayesdp.papers.liu.cells import (
    BINARY_SIZES,
    BOUNDING,
    BOUNDS,
    LEVEL,
    PROPORTIONS,
    RULES,
    SIZES,
    Cell,
    Numbers,
)
from bayesdp.papers.liu.study import Design
from bayesdp.papers.reproduction import Figure, Table, Value

_INK, _SOFT, _GREY = (COLOURS[role][0] for role in ("ink", "soft", "rule"))
_DASHED = (0, (4, 3))
SHADES = {"inflated": COLOURS["posterior"][0], "truncated": COLOURS["naive"][0]}
RULE_SHADES = {
    "liu": (COLOURS["posterior"][0], "o", "v+b/m"),
    "raab": (_SOFT, "^", "(1+2/m)v"),
    "reiter": (COLOURS["reiter"][0], "s", "(1+1/m)b-v"),
    "rubin": (COLOURS["naive"][0], "D", "(1+1/m)b+v"),
}
Cells = Mapping[Cell, Numbers]
Group = tuple[str, Callable[[Design], bool]]  # a column of panels: its title, and its designs


@dataclass(frozen=True, slots=True)
class Row:
    """Row of panels: a quantity of a cell, the original's if there is one, and its scale."""

    quantity: str
    words: str
    original: str | None = None
    log: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """Figure of `rows` of panels against a field of the designs, which `words` name."""

    name: str
    title: str
    part: str
    rows: Sequence[Row]
    field: str
    words: str


def selected(
    cells: Cells, part: str, chosen: Callable[[Design], bool]
) -> list[tuple[Design, Numbers]]:
    """Select the part's designs that are chosen, with their numbers."""
    return [
        (c.design, numbers) for c, numbers in cells.items() if c.part == part and chosen(c.design)
    ]


def figures(cells: Cells) -> tuple[Figure, ...]:
    """Draw all figures."""
    return (
        *(_figure6_binary(cells, p, letter) for p, letter in zip(PROPORTIONS, "ab", strict=True)),
        _figure6_normal(cells),
        _figure7(cells),
        _figure8(cells),
    )


_FIGURE_6 = (
    Row("bias", "bias"),
    Row("liu_sd", "estimated sd", "original_sd"),
    Row("liu_coverage", "coverage", "original_coverage"),
)
_FIGURE_8 = (
    Row("bias", "bias"),
    Row("liu_coverage", "coverage", "original_coverage"),
    Row("liu_half", "half width", "original_half", log=True),
)
_LINES = (
    "Blue: inflated. Orange: truncated, with the published scale of the noise, at which its true "
    "ε is nearly 2 (see what truncated noise costs). Dashed: the confidential records' own."
)


def _figure6_binary(cells: Cells, p: float, letter: str) -> Figure:
    groups = [(f"n = {n:,}", _of(p=p, n=n)) for n in BINARY_SIZES]
    title = f"Figure 6(a): binary records, p = {p:g}, ε = 1"
    sheet = Sheet(f"figure6{letter}", title, "figure6", _FIGURE_6, "copies", "copies m")
    caption = (
        f"Bias, mean estimated standard deviation and coverage of Theorem 7. {_LINES} The paper "
        "has two sizes, n = 100 and 1000; what its text says of them comes true at 10,000 and "
        "100,000. Axes differ."
    )
    return _against(cells, sheet, groups, caption)


def _figure6_normal(cells: Cells) -> Figure:
    title = "Figure 6(b): normal records, sd 1 known, ε = 1"
    sheet = Sheet("figure6c", title, "figure6", _FIGURE_6, "copies", "copies m")
    caption = f"Bias, mean estimated standard deviation and coverage of Theorem 7. {_LINES}"
    return _against(cells, sheet, _normal_groups(), caption)


def _figure8(cells: Cells) -> Figure:
    title = "Figure 8: normal records, sd unknown, ε = 1, m = 10"
    words = "w, share of ε for the mean"
    sheet = Sheet("figure8", title, "figure8", _FIGURE_8, "share", words)
    caption = (
        f"Bias, coverage and mean half width of Theorem 7's interval for the mean. {_LINES} The "
        "communal allocation is w = 0.11 for bounds [-4, 4] and 0.1 for [-4, 5]."
    )
    return _against(cells, sheet, _normal_groups(), caption)


def _normal_groups() -> list[Group]:
    return [
        (f"[{bounds[0]:g}, {bounds[1]:g}], n = {n:,}", _of(bounds=bounds, n=n))
        for bounds in BOUNDS
        for n in SIZES
    ]


def _of(**fields: Any) -> Callable[[Design], bool]:
    return lambda design: all(getattr(design, name) == v for name, v in fields.items())


def _against(cells: Cells, sheet: Sheet, groups: Sequence[Group], caption: str) -> Figure:
    """Draw a line for each bounding."""
    values: list[tuple[Value, ...]] = []
    shown = ("bias", "spread", "liu_sd", "liu_coverage", "liu_half", "original_sd",
             "original_coverage", "original_half")  # fmt: skip
    for label, chosen in groups:
        for design, numbers in selected(cells, sheet.part, chosen):
            at = getattr(design, sheet.field)
            values.append((label, design.bounding, at, *(numbers[each] for each in shown)))
    data = Table(
        name=sheet.name,
        title=sheet.title,
        columns=("panel", "bounding", sheet.words, "bias", "sd of the estimate",
                 "mean estimated sd", "coverage", "mean half width", "original, sd",
                 "original, coverage", "original, half width"),
        values=tuple(values),
        formats=("", "", "g", *[".4f"] * len(shown)),
    )  # fmt: skip
    svg, png = _draw(cells, sheet, groups)
    return Figure(sheet.name, sheet.title, caption, svg, png, data)


def _draw(cells: Cells, sheet: Sheet, groups: Sequence[Group]) -> tuple[str, bytes]:
    with mpl.rc_context({**STYLE, "svg.hashsalt": sheet.name}):
        canvas = Canvas(figsize=(7.2, 5.2), layout="constrained")
        grid = canvas.subplots(len(sheet.rows), len(groups), sharex=True, squeeze=False)
        for axes_row, row in zip(grid, sheet.rows, strict=True):
            for axes, (_, chosen) in zip(axes_row, groups, strict=True):
                _panel(axes, selected(cells, sheet.part, chosen), row, sheet.field)
            axes_row[0].set_ylabel(row.words)
        for axes, (label, _) in zip(grid[0], groups, strict=True):
            axes.set_title(label)
        canvas.supxlabel(sheet.words, fontsize=8.5)
        return render(canvas)


def _panel(axes: Axes, rows: Sequence[tuple[Design, Numbers]], row: Row, field: str) -> None:
    for bounding in BOUNDING:
        line = [(getattr(d, field), f) for d, f in rows if d.bounding == bounding]
        at = [x for x, _ in line]
        mark = {"inflated": "o-", "truncated": "s-"}[bounding]
        axes.plot(at, [f[row.quantity] for _, f in line], mark, color=SHADES[bounding],
                  markersize=2.6, linewidth=1.2)  # fmt: skip
    if row.original is not None:
        level = sum(f[row.original] for _, f in rows) / len(rows)
        axes.axhline(level, color=_INK, linewidth=0.8, linestyle=_DASHED)
    if row.quantity == "bias":
        axes.axhline(0, color=_INK, linewidth=0.8, linestyle=_DASHED)
        _at_least(axes, rows[0][1]["original_sd"] / 4)
    if row.log:
        axes.set_yscale("log")
        _plain(axes.yaxis)
    if field == "copies":
        axes.set_xscale("log")
        axes.set_xticks([2, 10, 50, 500], ["2", "10", "50", "500"])
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    if row.quantity == "liu_coverage":
        axes.axhline(LEVEL, color=_GREY, linewidth=0.8, zorder=0)
        axes.set_ylim(min(axes.get_ylim()[0], 0.85), 1.02)
    axes.tick_params(labelsize=7)


def _at_least(axes: Axes, half: float) -> None:
    """Widen an axis so that the noise of the simulation doesn't fill a panel."""
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -half), max(high, half))
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)


def _plain(axis: Any) -> None:
    """Label the ticks of a logarithmic axis as numbers, few."""
    axis.set_major_locator(mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(mpl.ticker.NullLocator())


def _figure7(cells: Cells) -> Figure:
    groups: list[Group] = [
        (f"binary, n = {n:,}, p = {p:g}", _of(n=n, p=p)) for p in PROPORTIONS for n in SIZES
    ]
    groups += [(f"normal, n = {n}", _of(n=n, bounds=BOUNDS[0])) for n in (10, 100)]
    values: list[tuple[Value, ...]] = []
    for label, chosen in groups:
        for design, numbers in selected(cells, "table1", chosen):
            sds = (numbers[f"{rule}_sd"] for rule in RULES)
            row = (*sds, numbers["reiter_negative"], numbers["spread"], numbers["original_sd"])
            values.append((label, design.epsilon, *row))
    title = "Figure 7: estimated standard deviation by rule, m = 10, inflated"
    names = [RULE_SHADES[rule][2] for rule in RULES]
    data = Table(
        name="figure7",
        title=title,
        columns=("panel", "ε", *names, "share of negative (1+1/m)b-v", "sd of the estimate",
                 "original, sd"),
        values=tuple(values),
        formats=("", "g", *[".4f"] * (len(names) + 3)),
    )  # fmt: skip
    with mpl.rc_context({**STYLE, "svg.hashsalt": "figure7"}):
        canvas = Canvas(figsize=(7.2, 4.6), layout="constrained")
        grid = canvas.subplots(2, 3, sharex=True)
        order = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1], grid[0, 2], grid[1, 2]]
        for axes, (label, chosen) in zip(order, groups, strict=True):
            line = selected(cells, "table1", chosen)
            _rules(axes, line)
            axes.set_title(label)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper center", ncols=5, frameon=False,
                      fontsize=7.5)  # fmt: skip
        canvas.supxlabel("ε of all copies together", fontsize=8.5)
        canvas.supylabel("mean estimated sd", fontsize=8.5)
        svg, png = render(canvas)
    caption = (
        "Mean of the square root of each rule's variance, a negative one counted as 0; dashed: the "
        "standard deviation that the combined estimate truly has, over the replicates."
    )
    return Figure("figure7", title, caption, svg, png, data)


def _rules(axes: Axes, line: Sequence[tuple[Design, Numbers]]) -> None:
    epsilons = [d.epsilon for d, _ in line]
    for rule in RULES:
        shade, mark, words = RULE_SHADES[rule]
        sds = [f[f"{rule}_sd"] for _, f in line]
        axes.plot(epsilons, sds, f"{mark}-", color=shade, label=words, markersize=3, linewidth=1.2)
    true = [f["spread"] for _, f in line]
    axes.plot(epsilons, true, color=_INK, linewidth=0.9, linestyle=_DASHED, label="true")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([0.5, 1, 10, 100], ["0.5", "1", "10", "100"])
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    _plain(axes.yaxis)
    axes.tick_params(labelsize=7)
