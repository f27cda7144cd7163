"""Section [combine] of an analysis: a quantity of each copy, combined by a rule.

Above all it is for releases whose law is intractable, so that no model reads them: each copy is
analysed as if it were real, and the analyses are combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, field_validator, model_validator
from scipy import stats

from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.combining import RULES, combine, proportions

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

CAVEATS = (
    "The intervals take each copy for real data, and join what is found by the rule {rule}. They "
    "are no posterior: the rule knows nothing of how the release was randomised.",
    "The rule adds the variance between copies. It removes no bias: a prior made for privacy, "
    "clipped log densities or noisy sums may move all copies together, and then the interval "
    "misses more often than it says.",
    "Where all copies come from one draw or one noisy statistic, their common noise is in no "
    "variance.",
    "The naive interval takes all copies together for one real data set: it is there to show what "
    "not to report.",
)


class CombineSection(BaseModel):
    """Declaration of a quantity that is estimated from each copy, and of the combining rule."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean: str | None = None
    """A column, whose mean is estimated."""
    proportion: dict[str, Any] | None = None
    """A column and one of its values, whose share of the records is estimated."""
    regression: list[str] | None = None
    """The response and then the predictors, of a linear regression by least squares."""
    rule: str = "liu"
    size_ratio: float = 1.0
    level: float = 0.95

    @model_validator(mode="after")
    def _one_quantity(self) -> CombineSection:
        given = [name for name in ("mean", "proportion", "regression") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("give one of mean, proportion and regression")
        if self.proportion is not None and len(self.proportion) != 1:
            raise ValueError("proportion must be one column and its value, as { vote = 1 }")
        if self.regression is not None and len(set(self.regression)) < max(len(self.regression), 2):
            raise ValueError("regression must be different columns, the response and predictors")
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}")
        return self

    @field_validator("level")
    @classmethod
    def _level(cls, level: float) -> float:
        return check_level(level)

    @property
    def columns(self) -> list[str]:
        """The columns that the quantity is of."""
        return [self.mean] if self.mean else [*(self.proportion or self.regression or ())]

    @property
    def caveats(self) -> Iterator[str]:
        """Caveats of the intervals, in words."""
        return (caveat.format(rule=self.rule) for caveat in CAVEATS)

    def combined(self, copies: Sequence[pd.DataFrame], data: Any = None) -> pd.DataFrame:
        """Combine the estimates of copies.

        Parameters
        ----------
        copies : sequence of DataFrame
            The copies of one release.
        data : Series or DataFrame, optional
            Public benchmark data, to have what they say themselves.

        Returns
        -------
        DataFrame
            Index: component, "mean", "proportion" or a coefficient. Columns: estimate, low, high
            (the rule's interval), naive, naive_low, naive_high and, with `data`, reference.

        Raises
        ------
        InvalidInput
            If a copy hasn't the columns, or they don't hold numbers, or the rule needs more copies
            or has a negative variance.
        """
        import pandas as pd

        each = [self._estimated(copy) for copy in copies]
        q, v = (np.array(part) for part in zip(*each, strict=True))
        low, high = combine(q, v, self.rule, size_ratio=self.size_ratio).interval(self.level)
        half = stats.norm.ppf((1 + self.level) / 2) * np.sqrt(v.mean(axis=0) / len(each))
        middle = q.mean(axis=0)
        found = {"estimate": middle, "low": low, "high": high}
        found |= {"naive": middle, "naive_low": middle - half, "naive_high": middle + half}
        if data is not None:
            frame = data if hasattr(data, "columns") else data.to_frame()
            found["reference"] = self._estimated(frame)[0]
        return pd.DataFrame(found, index=pd.Index(self._names, name="component"))

    @property
    def _names(self) -> list[str]:
        if self.regression is not None:
            return ["intercept", *self.regression[1:]]
        return [f"mean of {self.mean}"] if self.mean else [f"{k} = {v}" for k, v in _pairs(self)]

    def _estimated(self, copy: pd.DataFrame) -> tuple[Floats, Floats]:
        """Estimate the components, and their variances, each of shape (p,)."""
        if missing := [name for name in self.columns if name not in copy]:
            raise InvalidInput(
                f"combine names column {quoted(missing[0])}; a copy has "
                f"{', '.join(map(str, copy.columns))}"
            )
        if self.proportion is not None:
            ((name, label),) = _pairs(self)
            ones = np.array([np.count_nonzero(copy[name] == label)])
            return proportions(ones, len(copy))
        if not all(copy[name].dtype.kind in "biuf" for name in self.columns):
            raise InvalidInput(f"combine needs numbers in {', '.join(self.columns)}")
        numbers = copy[self.columns].to_numpy(dtype=np.float64)
        if self.mean is not None:
            return numbers.mean(axis=0), numbers.var(axis=0, ddof=1) / len(copy)
        import statsmodels.api as sm

        fit = sm.OLS(numbers[:, 0], sm.add_constant(numbers[:, 1:], has_constant="add")).fit()
        return np.asarray(fit.params), np.asarray(fit.bse) ** 2


def _pairs(section: CombineSection) -> list[tuple[str, Any]]:
    return list((section.proportion or {}).items())
