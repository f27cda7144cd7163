"""Rendering of figures, in the style of all."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from bayesdp.display.drawing import STYLE as STYLE


def render(canvas: Figure) -> tuple[str, bytes]:
    """Render a drawing as SVG, the same bytes every time, and as PNG."""
    svg, png = io.StringIO(), io.BytesIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    canvas.savefig(png, format="png", dpi=200)
    return svg.getvalue(), png.getvalue()
