"""Estimates from a table's posterior, with the naive answer beside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bayesdp.display.intervals import Method
    from bayesdp.schema.schema import Schema

TARGETS = ("population", "data")


@dataclass(frozen=True)
class Estimates:
    """Posterior draws of some numbers, and draws of the naive answer.

    The naive draws take one synthetic copy for real data, as who analyses the published file as it
    is: they have sampling error alone, and leave out the noise that was added.

    Attributes
    ----------
    draws : ndarray, shape (draws, numbers)
        NaN where a table leaves a regression's coefficient open: it may have any value there, as
        the intervals' ends take it, so that one of a label often without records has none.
    naive : ndarray, shape (draws, numbers)
    names : pandas.Index
        Names of the numbers; a MultiIndex of cells for a table.
    target : {"population", "data"}
        The quantity: the population's, or what the confidential table itself says.
    by : {"tables", "moments"}
        Whether the draws are of latent tables, or of moments of the released counts.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> draws = np.random.default_rng(1).normal(size=(4000, 1))
    >>> made = Estimates(draws, draws / 2, pd.Index(["mean"]), "population")
    >>> list(made.interval(0.95).round(0)["upper"])
    [2.0]
    """

    draws: NDArray[np.float64]
    naive: NDArray[np.float64]
    names: Any
    target: str
    by: str = "tables"

    @property
    def mean(self) -> pd.Series[Any]:
        """Posterior means."""
        import pandas as pd

        return pd.Series(self.draws.mean(axis=0), index=self.names, name="mean")

    def interval(self, level: float = 0.95) -> pd.DataFrame:
        """Central credible intervals, and what the naive analysis would report.

        Parameters
        ----------
        level : float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        DataFrame
            A row for each number: mean, sd, lower, upper, naive_lower and naive_upper.

        Raises
        ------
        InvalidInput
            If `level` is out of its range.
        """
        import pandas as pd

        tail = (1 - check_level(level)) / 2
        lower, upper = _ends(self.draws, tail)
        naive_lower, naive_upper = _ends(self.naive, tail)
        columns = {
            "mean": self.draws.mean(axis=0),
            "sd": self.draws.std(axis=0, ddof=1) if len(self.draws) > 1 else np.nan,
            "lower": lower,
            "upper": upper,
            "naive_lower": naive_lower,
            "naive_upper": naive_upper,
        }
        return pd.DataFrame(columns, index=self.names)

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Plot each number's interval, with what the naive analysis would report.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.
        level : float
            Probability of the intervals, in (0, 1).

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInput
            If `level` is out of its range, `ax` is anything else, or there are more than 40 rows.
        """
        from bayesdp.display.intervals import plot_intervals

        return plot_intervals(
            ax, self.methods(level), {}, xlabel=f"{self.target}: mean and {100 * level:g}% interval"
        )

    def methods(self, level: float) -> list[Method]:
        """List the estimates and the naive ones with their intervals, for a picture."""
        from bayesdp.display.intervals import Method

        shown = self.interval(level)
        names = [_label(name) for name in shown.index]
        right, wrong = shown[["mean", "lower", "upper"]], shown[["naive_lower", "naive_upper"]]
        naive = np.column_stack([self.naive.mean(axis=0), wrong])
        return [
            Method(role, role, dict(zip(names, map(tuple, rows), strict=True)))
            for role, rows in (("posterior", right.to_numpy()), ("naive", naive))
        ]

    def __repr__(self) -> str:
        made = f"{len(self.draws)} draws by {self.by}"
        return f"Estimates of {self.target}'s {len(self.names)} numbers, {made}"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import MOST_ROWS, card

        shown = self.interval().head(MOST_ROWS)
        rows = [{"of": _label(name), **dict(row)} for name, row in shown.iterrows()]
        facts = {
            "target": self.target,
            "by": self.by,
            "draws": f"{len(self.draws):,}",
            "intervals": "95%",
        }
        return card("Estimates", facts, rows=rows, among=len(self.names))


def _label(name: Any) -> str:
    """Write a number's name; those of a cell in a line."""
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _ends(draws: NDArray[np.float64], tail: float) -> list[NDArray[np.float64]]:
    """Quantiles, the lower one with draws that have no value at -inf, the upper one at inf."""
    ends = []
    for end, level in ((-np.inf, tail), (np.inf, 1 - tail)):
        with np.errstate(invalid="ignore"):
            found = np.quantile(np.where(np.isnan(draws), end, draws), level, axis=0)
        ends.append(np.where(np.isnan(found), end, found))  # between an infinite draw and another
    return ends


def cell_name(column: str, label: Any) -> str:
    """Name of a column's cell: smokes[True], or age[18, 30) for an interval."""
    text = str(label)
    return f"{column}{text}" if text.startswith("[") else f"{column}[{text}]"


def cell_names(schema: Schema) -> list[str]:
    """Names of all columns' cells, column after column."""
    return [cell_name(name, one) for name, each in schema.columns.items() for one in each.names]


def check_fitted(idata: Any) -> None:
    """Raise InvalidInput unless a posterior is that of a whole table."""
    family = getattr(idata, "attrs", {}).get("family")
    if family != "table":
        given = f"of the family {quoted(family)}" if family else quoted(idata)
        raise InvalidInput(
            f"the posterior is {given}; it must be a fit of a whole table, of the family 'table' "
            "(bdp.TableModel, bayesdp fit --family table)"
        )


def check_target(target: Any) -> str:
    """Return what is estimated, the population's numbers or the data's, or raise InvalidInput."""
    if target not in TARGETS:
        raise InvalidInput(f"target is {quoted(target)}; it must be 'population' or 'data'")
    return str(target)
