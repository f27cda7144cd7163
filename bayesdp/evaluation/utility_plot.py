"""Plot of the results of `bdp.evaluate.utility`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE
from bayesdp.evaluation.utility import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_DOTS = {
    "ecdf_max": ("largest ECDF distance", "posterior", "o"),
    "marginal_tv": ("total variation", "naive", "s"),
}
_RATIOS = {
    "pmse_ratio": ("if drawn from the fitted law", "posterior", "o"),
    "pmse_ratio_independent": ("if independent samples", "naive", "s"),
}
_OVERLAPS = {"interval_overlap": ("overlap", "posterior", "o")}


def plot_utility(comparison: pd.DataFrame) -> Figure:
    """Plot a comparison of confidential and released records, from `utility`.

    The plot shows confidential results, and stays with the curator as they do.

    Parameters
    ----------
    comparison : DataFrame
        The result of `utility`, or several concatenated.

    Returns
    -------
    matplotlib Figure
        Distances by column, one mark for each copy; distances of pairs, averaged over copies; the
        pMSE ratios, with a line at 1, their expectation by chance alone; and where there was an
        analysis, the overlap of its intervals.

    Raises
    ------
    InvalidInput
        If it isn't such a table.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> records = pd.DataFrame({"age": [30, 41, 52, 63] * 25})
    >>> copies = [pd.DataFrame({"age": [31, 40, 55, 60] * 25}), records]
    >>> bdp.evaluate.plot_utility(bdp.evaluate.utility(records, copies)).savefig("utility.png")
    """
    import pandas as pd

    if not isinstance(comparison, pd.DataFrame) or not set(COLUMNS) <= set(comparison.columns):
        raise InvalidInput("comparison must be the DataFrame that bdp.evaluate.utility returns")
    measures = set(comparison["measure"])
    names = list(dict.fromkeys(_of(comparison, "marginal_tv")["column"]))
    if not names:
        raise InvalidInput(
            "comparison has no rows of marginal_tv; give all that bdp.evaluate.utility found"
        )
    shown = ["columns", *(["pairs"] if "pairwise_tv" in measures else []), "propensity"]
    shown += ["overlap"] if "interval_overlap" in measures else []
    with mpl.rc_context(STYLE):
        height = 1.6 + 0.28 * max(len(names), 4)
        figure = Figure(figsize=(3.3 * len(shown), height), layout="constrained")
        for axes, kind in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
            if kind == "columns":
                _marks(axes, comparison, _DOTS, names)
                axes.set_xlim(left=0)
                axes.set_title("columns", loc="left")
            elif kind == "pairs":
                _pairs(axes, comparison, names)
            elif kind == "propensity":
                _ratios(axes, comparison)
            else:
                overlaps = _of(comparison, "interval_overlap")
                _marks(axes, comparison, _OVERLAPS, list(dict.fromkeys(overlaps["column"])))
                axes.set_xlim(-0.03, 1.03)
                axes.set_title("intervals", loc="left")
    return figure


def _of(comparison: pd.DataFrame, measure: str) -> pd.DataFrame:
    return comparison[comparison["measure"] == measure]


def _marks(
    axes: Axes, comparison: pd.DataFrame, styles: dict[str, tuple[str, str, str]], names: list[str]
) -> None:
    """Plot one row for each name, with one mark for each copy and measure."""
    places = {name: k for k, name in enumerate(names)}
    for k, (measure, (label, role, marker)) in enumerate(styles.items()):
        rows = _of(comparison, measure)
        if rows.empty:
            continue
        y = np.array([places[name] for name in rows["column"]]) + 0.2 * (k - (len(styles) - 1) / 2)
        axes.plot(
            rows["value"],
            y,
            marker,
            color=COLOURS[role][0],
            ms=4,
            alpha=0.6,
            label=label,
            mew=0,
            clip_on=False,
        )
    axes.set_yticks(range(len(names)), [str(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color=COLOURS["rule"][0], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("distance" if len(styles) > 1 else next(iter(styles.values()))[0])
    if len(styles) > 1:
        axes.legend(frameon=False, fontsize=7.5, loc="best")


def _pairs(axes: Axes, comparison: pd.DataFrame, names: list[str]) -> None:
    """Plot the total variation distances of pairs, averaged over copies."""
    table = np.full((len(names), len(names)), np.nan)
    rows = _of(comparison, "pairwise_tv")
    means = rows.groupby(["column", "other"], sort=False, as_index=False)["value"].mean()
    for one, other, value in means.itertuples(index=False):
        table[names.index(other), names.index(one)] = value
    shades = mpl.colors.LinearSegmentedColormap.from_list(
        "distance", [COLOURS["paper"][0], COLOURS["posterior"][0]]
    )
    top = np.nanmax(table)
    image = axes.imshow(table, cmap=shades, vmin=0, vmax=top if top > 0 else 1, aspect="auto")
    for row, column in np.argwhere(~np.isnan(table)):
        if len(names) <= 8:
            value = table[row, column]
            ink = COLOURS["paper" if value > 0.6 * top else "ink"][0]
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=ink)
    labels = [str(name) for name in names]
    axes.set_xticks(range(len(names) - 1), labels[:-1], rotation=45, ha="right")
    axes.set_yticks(range(1, len(names)), labels[1:])
    axes.set_xlim(-0.5, len(names) - 1.5)
    axes.set_ylim(len(names) - 0.5, 0.5)
    axes.set_title("pairs: total variation", loc="left")
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _ratios(axes: Axes, comparison: pd.DataFrame) -> None:
    """Plot the pMSE relative to its expectation by chance alone, by copy."""
    for measure, (label, role, marker) in _RATIOS.items():
        rows = _of(comparison, measure)
        axes.plot(
            rows["copy"].astype(int), rows["value"], marker, color=COLOURS[role][0], ms=5, mew=0,
            label=label,
        )  # fmt: skip
    axes.axhline(1, color=COLOURS["ink"][0], linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("copy")
    axes.set_title("pMSE ratio", loc="left")
    axes.legend(frameon=False, fontsize=7.5, loc="best")
