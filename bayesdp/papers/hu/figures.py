"""Figures 1 to 10 of the supplement of Hu, Williams and Savitsky (2025), as violins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from scipy import stats

from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE, render
from bayesdp.papers.hu.study import DOWNSCALED, EPSILONS, SHAPES, Outcome
from bayesdp.papers.reproduction import Figure, Table, Value

WEIGHTED = ("Weighted", "Weighted-e", "Censor_w")
PROVED = {"Censor_uw": "DP, add/remove-one", "PH": "DP, replace-one"}
ALL = (*WEIGHTED, *PROVED)
_INK, _SOFT = COLOURS["ink"][0], COLOURS["soft"][0]
_WIDTH = 0.8

Study = Sequence[Sequence[Outcome]]
Panel = tuple[float, float]  # epsilon and factor

_BY_EPSILON: tuple[Panel, ...] = tuple((epsilon, 1.0) for epsilon in EPSILONS)
_BY_FACTOR: tuple[Panel, ...] = ((DOWNSCALED[0], 1.0), DOWNSCALED)


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a figure of the supplement: its quantity, panels and synthesizers.

    Attributes
    ----------
    number : int
    quantity : str
        An attribute of `Outcome`.
    words : str
        What it is.
    panels : tuple of pairs
        Epsilon and factor.
    synthesizers : tuple of str
    truth : float or None
        Of Beta(0.5, 3): the dashed line; None where it is epsilon / 2, or there is none.
    """

    number: int
    quantity: str
    words: str
    panels: tuple[Panel, ...]
    synthesizers: tuple[str, ...]
    truth: float | None


def _truths() -> dict[str, float]:
    law = stats.beta(*SHAPES)
    low, middle, high = (float(law.ppf(level)) for level in (0.15, 0.5, 0.9))
    return {"q15": low, "median": middle, "q90": high, "mean": float(law.mean())}


TRUTHS = _truths()
"""The population's quantiles and mean."""
WORDS = {
    "lipschitz": "Lipschitz bound",
    "q15": "15th percentile",
    "median": "median",
    "q90": "90th percentile",
    "mean": "mean",
    "max_ecdf": "max-ECDF distance",
}


def _plans() -> tuple[Plan, ...]:
    five = _BY_EPSILON[:1]
    rows: list[tuple[str, tuple[Panel, ...], tuple[str, ...]]] = [
        ("lipschitz", _BY_EPSILON, ("Unweighted", *WEIGHTED, "Censor_uw")),
        ("q15", five, ALL),
        ("q90", five, ALL),
        ("q15", _BY_EPSILON, ALL),
        ("q90", _BY_EPSILON, ALL),
        ("median", _BY_EPSILON, ALL),
        ("max_ecdf", _BY_FACTOR, WEIGHTED),
        ("mean", _BY_FACTOR, WEIGHTED),
        ("median", _BY_FACTOR, WEIGHTED),
        ("q90", _BY_FACTOR, WEIGHTED),
    ]
    return tuple(
        Plan(k, quantity, WORDS[quantity], panels, names, TRUTHS.get(quantity))
        for k, (quantity, panels, names) in enumerate(rows, start=1)
    )


PLANS = _plans()


def values(study: Study, plan: Plan, panel: Panel, synthesizer: str) -> list[float]:
    """List the numbers of one violin: one for each replicate, in order."""
    wanted = (synthesizer, *panel)
    return [
        float(getattr(outcome, plan.quantity))
        for outcomes in study
        for outcome in outcomes
        if (outcome.synthesizer, outcome.epsilon, outcome.factor) == wanted
    ]


def figure(study: Study, plan: Plan, caption: str) -> Figure:
    """Draw one of the figures, with a number for each replicate as its table."""
    name = f"figure{plan.number}"
    rows: list[tuple[Value, ...]] = []
    for panel in plan.panels:
        for synthesizer in plan.synthesizers:
            for k, value in enumerate(values(study, plan, panel, synthesizer)):
                rows.append((*panel, synthesizer, k, value))
    data = Table(
        name=name,
        title=plan.words,
        columns=("epsilon", "factor", "synthesizer", "replicate", plan.words),
        values=tuple(rows),
        formats=("g", "g", "", "d", ".5g"),
    )
    svg, png = _draw(study, plan)
    return Figure(name, f"Figure {plan.number}: {title(plan)}", caption, svg, png, data)


def title(plan: Plan) -> str:
    """Write a figure's title, in words."""
    if plan.panels == _BY_FACTOR:
        return f"{plan.words}, ε = {DOWNSCALED[0]:g}, without and with downscaling"
    return f"{plan.words}, ε = " + ", ".join(f"{epsilon:g}" for epsilon, _ in plan.panels)


def colour(synthesizer: str) -> str:
    """Choose blue where a guarantee is proved, orange where it is false, grey where none is."""
    if synthesizer == "Unweighted":
        return _SOFT
    return COLOURS["posterior" if synthesizer in PROVED else "naive"][0]


def _draw(study: Study, plan: Plan) -> tuple[str, bytes]:
    count = len(plan.panels)
    with mpl.rc_context({**STYLE, "svg.hashsalt": f"figure{plan.number}"}):
        canvas = Canvas(figsize=(7.2, 1.1 + 2.0 * count), layout="constrained")
        grid = canvas.subplots(count, 1, sharey=plan.truth is not None, squeeze=False)
        for axes, panel in zip(grid[:, 0], plan.panels, strict=True):
            _panel(axes, study, plan, panel)
        canvas.supylabel(plan.words, fontsize=8.5)
        return render(canvas)


def _panel(axes: Axes, study: Study, plan: Plan, panel: Panel) -> None:
    epsilon, factor = panel
    line = plan.truth
    if plan.quantity == "lipschitz":
        line = epsilon / 2
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(mpl.ticker.ScalarFormatter())
        axes.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axes.set_yticks([1, 1.5, 2, 2.5, 3, 5, 8, 12])
    if line is not None:
        axes.axhline(line, color=_INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for k, synthesizer in enumerate(plan.synthesizers):
        drawn = np.array(values(study, plan, panel, synthesizer))
        _violin(axes, k, drawn, colour(synthesizer))
    labels = [f"{name}\n{PROVED.get(name, 'not DP')}" for name in plan.synthesizers]
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0, labelcolor=_INK)
    axes.set_xlim(-0.6, len(plan.synthesizers) - 0.4)
    scaled = "" if plan.panels != _BY_FACTOR else f", weights times {factor:g}"
    axes.set_title(f"ε = {epsilon:g}{scaled}", loc="left")


def _violin(axes: Axes, place: int, drawn: np.ndarray, shade: str) -> None:
    """Draw a violin, its quartiles and median; a line where all values are as good as equal."""
    low, middle, high = np.quantile(drawn, [0.25, 0.5, 0.75])
    if np.ptp(drawn) > 1e-6 * abs(middle):
        body = axes.violinplot([drawn], [place], widths=_WIDTH, showextrema=False)
        for part in body["bodies"]:  # type: ignore[attr-defined]
            part.set(facecolor=shade, edgecolor=shade, alpha=0.45, linewidth=0.8)
    axes.vlines(place, low, high, color=shade, linewidth=2.6)
    axes.hlines(middle, place - 0.16, place + 0.16, color=_INK, linewidth=1.6)
