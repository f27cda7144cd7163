"""Estimates from a table's posterior, with the naive answer beside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.mixture import check_level

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimates:
    """Posterior draws of some numbers, and draws of the naive answer.

    The naive draws take one synthetic copy for real data, as who analyses the published file as it
    is: they have sampling error alone, and leave out the noise that was added.

    Attributes
    ----------
    draws : ndarray, shape (draws, numbers)
    naive : ndarray, shape (draws, numbers)
    names : pandas.Index
        Names of the numbers; a MultiIndex of cells for a table.
    target : {"population", "data"}
        The quantity: the population's, or what the confidential table itself says.

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
        lower, upper = np.quantile(self.draws, [tail, 1 - tail], axis=0)
        naive_lower, naive_upper = np.quantile(self.naive, [tail, 1 - tail], axis=0)
        columns = {
            "mean": self.draws.mean(axis=0),
            "sd": self.draws.std(axis=0, ddof=1) if len(self.draws) > 1 else np.nan,
            "lower": lower,
            "upper": upper,
            "naive_lower": naive_lower,
            "naive_upper": naive_upper,
        }
        return pd.DataFrame(columns, index=self.names)

    def __repr__(self) -> str:
        return f"Estimates of {self.target}'s {len(self.names)} numbers, {len(self.draws)} draws"
