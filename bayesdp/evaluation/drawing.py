"""Styles of the reproductions' figures, and their rendering."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

from bayesdp.evaluation.colours import COLOURS

_INK, _SOFT = COLOURS["ink"][0], COLOURS["soft"][0]
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # matplotlib brings it along: the same drawing everywhere
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.edgecolor": _SOFT,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "svg.fonttype": "path",
}
"""Settings for `matplotlib.rc_context`."""


def render(canvas: Figure) -> tuple[str, bytes]:
    """Render a drawing as SVG, the same bytes every time, and as PNG."""
    svg, png = io.StringIO(), io.BytesIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    canvas.savefig(png, format="png", dpi=200)
    return svg.getvalue(), png.getvalue()
