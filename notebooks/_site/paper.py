"""The figure of the paper: the same releases read twice, from the study that stands on its page."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE, render

PAGE = Path(__file__).parents[1] / "paper.md"
PICTURE = "_site/paper.svg"
SHOWN = 20  # releases
PANELS = (
    ("naive", "Copies taken for real", "s"),
    ("posterior", "Posterior given the mechanism", "o"),
)


def run(page: str) -> tuple[Any, str]:
    """Run the page's example; return the study's results, and what it printed."""
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        exec(compile(block, PAGE.name, "exec"), names)
    return names["results"], printed.getvalue()


def covered(results: Any, analysis: str) -> list[tuple[float, float, float, bool]]:
    """Low, mean and high of an analysis of the first releases, and whether they hold the truth."""
    rows = results.frame.query("analysis == @analysis and replicate < @SHOWN")
    return [
        (row.low, row.mean, row.high, row.low <= row.truth <= row.high)
        for row in rows.sort_values("replicate")[["low", "mean", "high", "truth"]].itertuples()
    ]


def drawn(results: Any) -> Figure:
    """Draw both readings of the same releases, row by row, and the truth across them."""
    truth = results.frame["truth"].iloc[0]
    figure, panels = plt.subplots(1, 2, sharex=True, figsize=(7, 3.3), layout="constrained")
    for axis, (analysis, title, marker) in zip(panels, PANELS, strict=True):
        colour, found = COLOURS[analysis][0], covered(results, analysis)
        axis.axvline(truth, color=COLOURS["ink"][0], lw=1.2, zorder=0)
        for place, (low, mean, high, _) in enumerate(found):
            axis.plot([low, high], [place] * 2, color=colour, lw=2.2, solid_capstyle="butt")
            axis.plot(mean, place, marker, color=colour, ms=3.6)
        held = sum(each[-1] for each in found)
        axis.set_title(f"{title}:\n{held} of {SHOWN} intervals hold the truth", color=colour)
        axis.text(truth + 0.008, -1.1, "truth", va="center")
        axis.set(xlim=(0, 0.75), ylim=(SHOWN - 0.3, -1.7), yticks=[])
        axis.set_xlabel("proportion: mean and 95% interval")
        axis.spines["left"].set_visible(False)
    panels[0].set_ylabel(f"the same {SHOWN} releases, a row each")
    return figure


def picture() -> bytes:
    """Draw the figure of the page as SVG."""
    with plt.rc_context({**STYLE, "svg.hashsalt": "bayesdp"}):
        figure = drawn(run(PAGE.read_text(encoding="utf-8"))[0])
        try:
            return render(figure)[0].encode()
        finally:
            plt.close(figure)
