"""Plots of the measures of risk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

if TYPE_CHECKING:
    import pandas as pd

    Draw = Callable[[Axes, pd.DataFrame], None]

_MARKS = (("posterior", "o"), ("naive", "s"), ("reiter", "^"), ("ink", "D"), ("soft", "v"))


def plot_risk(risk: pd.DataFrame) -> Figure:
    """Plot risks from `identification_risk`, `attribute_risk` or `anonymity`.

    A plot of results from confidential records is as confidential as they are.

    Parameters
    ----------
    risk : DataFrame
        The result of `identification_risk`, with or without `by_record`, `attribute_risk` or
        `anonymity`.

    Returns
    -------
    matplotlib Figure
        For measures of whole copies, one panel for each, with one mark for each copy and sensitive
        column. For records, the share of them whose risk, number of matches, posterior probability
        (and, dashed, prior probability) or odds ratio is at least a given value, one line for each
        copy. Ratios that are NaN are left out.

    Raises
    ------
    InvalidInput
        If it isn't such a table, or is empty.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> table = pd.DataFrame({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    >>> risk = bdp.evaluate.anonymity(table, quasi_identifiers=["age"], sensitive=["ill"])
    >>> bdp.evaluate.plot_risk(risk).savefig("risk.png")
    """
    import pandas as pd

    if not isinstance(risk, pd.DataFrame) or risk.empty:
        raise InvalidInput("risk must be a DataFrame of a measure of risk, and not be empty")
    kind = next((k for k in _PANELS if {*_NEEDED[k]} <= {*risk.columns}), None)
    if kind is None:
        raise InvalidInput(
            f"risk has columns {list(risk.columns)}; give what bdp.evaluate.identification_risk, "
            "bdp.evaluate.attribute_risk or bdp.evaluate.anonymity returns"
        )
    panels = list(_PANELS[kind](risk))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * len(panels), 2.6), layout="constrained")
        for axes, draw in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            axes.grid(color=COLOURS["rule"][0], linewidth=0.6)
            axes.set_axisbelow(True)
            draw(axes, risk)
    return figure


def _of_copies(names: dict[str, str]) -> Callable[[pd.DataFrame], Iterator[Draw]]:
    """Plot a panel for each measure that has numbers."""

    def panels(risk: pd.DataFrame) -> Iterator[Draw]:
        for k, (name, label) in enumerate(names.items()):
            if risk[name].notna().any():
                yield partial(_marks, name=name, label=label, legend=k == 0)

    return panels


def _marks(axes: Axes, risk: pd.DataFrame, *, name: str, label: str, legend: bool) -> None:
    sensitive = risk.get("sensitive")
    columns = [None] if sensitive is None else list(dict.fromkeys(sensitive))
    for k, column in enumerate(columns):
        rows = risk if column is None else risk[sensitive == column]
        role, marker = _MARKS[k % len(_MARKS)]
        axes.plot(
            rows["copy"].astype(int),
            rows[name].astype(float),
            marker,
            color=COLOURS[role][0],
            ms=5,
            mew=0,
            label=str(column),
        )
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("copy")
    axes.set_title(label, loc="left")
    if legend and columns != [None]:
        axes.legend(frameon=False, fontsize=7.5, title="sensitive", title_fontsize=7.5)


def _records(risk: pd.DataFrame) -> Iterator[Draw]:
    lines = {"risk": ("posterior", "-")}
    yield partial(_shares, lines=lines, label="probability of a find")
    yield _matches


def _matches(axes: Axes, risk: pd.DataFrame) -> None:
    _shares(axes, risk, {"matches": ("posterior", "-")}, "matching rows")
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True, min_n_ticks=1))


def _attributes(risk: pd.DataFrame) -> Iterator[Draw]:
    both = {"posterior": ("posterior", "-"), "prior": ("ink", "--")}
    yield partial(_shares, lines=both, label="probability of the true value")
    if np.isfinite(risk["odds_ratio"]).any():
        yield _odds


def _odds(axes: Axes, risk: pd.DataFrame) -> None:
    _shares(axes, risk, {"odds_ratio": ("posterior", "-")}, "posterior odds / prior odds")
    ratios = risk["odds_ratio"][np.isfinite(risk["odds_ratio"]) & (risk["odds_ratio"] > 0)]
    if ratios.max() > 10 * ratios.min():
        axes.set_xscale("log")
    axes.axvline(1, color=COLOURS["ink"][0], linewidth=0.8, linestyle="--")


def _shares(axes: Axes, risk: pd.DataFrame, lines: dict[str, tuple[str, str]], label: str) -> None:
    """Plot the share of records with at least each value, one line for each copy."""
    copies = [risk] if "copy" not in risk else [rows for _, rows in risk.groupby("copy")]
    for name, (role, style) in lines.items():
        for k, rows in enumerate(copies):
            x, y = at_least(rows[name].to_numpy(dtype=np.float64))
            axes.step(
                x,
                y,
                where="pre",
                linestyle=style,
                color=COLOURS[role][0],
                linewidth=1.2,
                alpha=0.8,
                label=name if k == 0 else None,
            )
    axes.set_ylim(0, 1.03)
    axes.set_xlabel(label)
    axes.set_ylabel("share of records with at least")
    if len(lines) > 1:
        axes.legend(frameon=False, fontsize=7.5)


def at_least(values: Any) -> tuple[Any, Any]:
    """Sort the finite values; return them with the share of all numbers that are no smaller.

    The last value comes twice: the share beyond it is that of infinite values.
    """
    numbers = np.sort(values[~np.isnan(values)])
    finite = numbers[np.isfinite(numbers)]
    first = np.searchsorted(numbers, finite, side="left")
    share = 1 - first / max(len(numbers), 1)
    beyond = 1 - len(finite) / max(len(numbers), 1)
    return np.append(finite, finite[-1:]), np.append(share, [beyond] * len(finite[-1:]))


_NEEDED = {
    "records": ("copy", "record", "matches", "risk"),
    "copies": ("copy", "expected_match_risk", "true_match_rate", "false_match_rate"),
    "attributes": ("prior", "posterior", "odds_ratio"),
    "anonymity": ("copy", "sensitive", "k", "l_distinct", "l_entropy", "t"),
}
_PANELS: dict[str, Callable[[pd.DataFrame], Iterator[Draw]]] = {
    "records": _records,
    "copies": _of_copies(
        {
            "expected_match_risk": "expected match risk",
            "true_match_rate": "true match rate",
            "false_match_rate": "false match rate",
        }
    ),
    "attributes": _attributes,
    "anonymity": _of_copies(
        {"k": "k", "l_distinct": "l, distinct", "l_entropy": "l, entropy", "t": "t"}
    ),
}
"""Panels by the kind of table, which its columns tell."""
