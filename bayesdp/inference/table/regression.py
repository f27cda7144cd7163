"""Regressions of a latent table's columns, by statsmodels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import Column
from bayesdp.schema.formulas import columns_of_term, outcome_of
from bayesdp.schema.rules import excluded
from bayesdp.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

FAMILIES = ("linear", "logit", "poisson", "ordinal")
_TRIED = 10_000
"""Combinations of cells, of as many as there are, that show what records may determine."""
_DEPENDENT = 1e-9  # of columns of length 1
_NONE = (
    "and a table has no record with a value of all that it has, as where a column is missing in "
    "all; leave that out"
)


def prepared(columns: Mapping[str, Column], codes: pd.DataFrame) -> pd.DataFrame:
    """Make a DataFrame of coded columns as `Regression` takes it: numbers, and categories."""
    import pandas as pd

    made: dict[str, Any] = {}
    for name, column in columns.items():
        given = codes[name].to_numpy().astype(np.int64)  # as -1 is no unsigned code
        missing = given >= column.size
        middles = column.middles
        if middles is not None:
            made[name] = np.where(missing, np.nan, middles[np.where(missing, 0, given)])
        else:
            ordered = column.type == "ordered"
            dtype = pd.CategoricalDtype(list(column.shown), ordered=ordered)
            made[name] = pd.Categorical.from_codes(np.where(missing, -1, given), dtype=dtype)
    return pd.DataFrame(made)


class Fit(NamedTuple):
    """A regression of one table.

    Attributes
    ----------
    coefficients : Series
        NaN where the table doesn't determine one, as that of a label without records or of a
        constant column beside an intercept; statsmodels takes the shortest solution there.
    converged : bool
    result : statsmodels results, or None
        None where the outcome is constant.
    """

    coefficients: pd.Series[Any]
    converged: bool
    result: Any

    @property
    def variances(self) -> pd.Series[Any]:
        """Squared standard errors; NaN of coefficients that the table doesn't determine."""
        import pandas as pd

        if self.result is None:
            return pd.Series(np.nan, index=self.coefficients.index)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a Hessian that has no inverse: NaN says it
            errors: pd.Series[Any] = self.result.bse
        return (errors**2).reindex(self.coefficients.index)


@dataclass(frozen=True)
class Regression:
    """A regression to be fitted by statsmodels to tables of the same columns.

    Parameters
    ----------
    formula, family : str
    columns : mapping of str to Column
        The formula's columns.
    """

    formula: str
    family: str
    columns: Mapping[str, Column]

    def fit(self, codes: pd.DataFrame) -> Fit:
        """Fit to the records of a coded table that have a value of all that is asked.

        Raises
        ------
        InvalidInput
            If statsmodels can't fit it.
        """
        import patsy

        frame = prepared(self.columns, codes)
        if frame.isna().to_numpy().any():
            frame = frame.dropna(subset=self._valued)
            if not len(frame):
                raise InvalidInput(f"formula is {quoted(self.formula)}, {_NONE}")
        frame, labels = coded(self.formula, self.family, frame, self.columns)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sides = patsy.dmatrices(self.formula, frame, return_type="dataframe")
                outcome, design = (side.reset_index(drop=True) for side in sides)
                if fault := _fault(outcome, design):
                    raise InvalidInput(f"formula is {quoted(self.formula)}, {fault}")
                return _fitted(outcome.iloc[:, 0], design, self.family, labels)
        except InvalidInput:
            raise
        except Exception as error:  # statsmodels, patsy and LAPACK raise many kinds
            raise InvalidInput(
                f"formula {quoted(self.formula)} can't be fitted to a latent table by "
                f"{self.family} regression ({type(error).__name__}: {error}); leave out rare "
                "labels, or take another family"
            ) from error

    def is_determined(self, schema: Schema) -> bool:
        """Return True if records that rules allow determine all that is asked, where there are any.

        Counts of a cell that a rule excludes are noise alone. Moments take them for records, which
        determine what no record does: the slope of a column that has one value wherever another has
        any; or a finite one where a rule leaves one outcome alone, in a family with a link.
        Rules that name other columns too exclude no cell of these.
        """
        import pandas as pd

        names = list(self.columns)
        rules = [rule for rule in schema.excluding if set(rule) <= set(names)]
        if not rules:
            return True
        sizes = [column.size for column in self.columns.values()]
        cells = math.prod(sizes)
        places = np.arange(cells)
        if cells > _TRIED:
            places = np.random.default_rng(0).integers(0, cells, _TRIED)
        codes = dict(zip(names, np.unravel_index(places, sizes), strict=True))
        kept = ~excluded(rules, codes, len(places))
        frame = pd.DataFrame({name: each[kept] for name, each in codes.items()})
        if (sides := sides_of(self.formula, self.family, self.columns, frame)) is None:
            return bool(kept.any())
        outcome, design = map(np.asarray, sides)
        if self.family != "linear":  # where one outcome alone may be, it tells no slope's end
            each = np.unique(design, axis=0, return_inverse=True)[1].ravel()
            first = np.empty(each.max() + 1)
            first[each] = outcome[:, 0]
            several = np.bincount(each, outcome[:, 0] != first[each]) > 0
            design = design[several[each]]
        return bool(len(design) and determined(design)[1].all())

    @cached_property
    def _valued(self) -> list[str]:
        """Columns of which the formula asks a value, and not only whether it is missing.

        Of a missing number, income > 40 is false, so that patsy alone would leave in some that have
        no value. What has one value wherever its column has any, as np.isnan(income), asks none.
        """
        import pandas as pd
        import patsy

        known, keep = list(self.columns), patsy.NAAction(NA_types=[])
        most = max(column.size for column in self.columns.values())
        codes = pd.DataFrame(cycled(self.columns, most))
        sides = sides_of(self.formula, self.family, self.columns, codes, NA_action=keep)
        if sides is None:
            return known
        asked: set[str] = set()
        for side in sides:
            for term, where in side.design_info.term_slices.items():
                owners = columns_of_term(term, known)
                if len(owners) > 1 or np.any(side[:, where] != side[:1, where]):
                    asked |= owners
        return [name for name in known if name in asked]


def cycled(columns: Mapping[str, Column], rows: int) -> dict[str, NDArray[np.int64]]:
    """Make rows that have each column's cells one after another, and again."""
    return {name: np.arange(rows) % column.size for name, column in columns.items()}


def sides_of(
    formula: str,
    family: str,
    columns: Mapping[str, Column],
    codes: pd.DataFrame,
    **options: Any,
) -> Any:
    """Make patsy's outcome and design of a coded table; None if it can't."""
    import patsy

    try:
        frame = coded(formula, family, prepared(columns, codes), columns)[0]
        return patsy.dmatrices(formula, frame, **options)
    except Exception:  # patsy raises many kinds; the tables' regression says what is wrong
        return None


def _fault(outcome: pd.DataFrame, design: pd.DataFrame) -> str:
    """Words about a formula whose sides in a table can't be fitted; empty where they can."""
    if outcome.shape[1] != 1:
        return (
            "whose outcome isn't one column of numbers; name one column, and write a condition as "
            "a number, as I(1 * (age > 40))"
        )
    if not design.shape[1]:
        return "which has no predictor; write 'outcome ~ 1' for the mean alone"
    if not len(design):
        return _NONE
    return ""


def coded(
    formula: str, family: str, frame: pd.DataFrame, columns: Mapping[str, Column]
) -> tuple[pd.DataFrame, Any]:
    """Code an outcome that is a category by its labels' places; its labels, or None.

    The cells of numbers are the labels of an ordinal regression, whichever a table has.

    Raises
    ------
    InvalidInput
        If the family doesn't take it.
    """
    import pandas as pd

    outcome = outcome_of(formula)
    if outcome is None or outcome not in frame:
        return frame, None
    given = frame[outcome]
    if family == "ordinal" and columns[outcome].middles is not None:
        given = pd.Series(
            pd.Categorical(given, columns[outcome].middles, ordered=True), given.index
        )
    if not hasattr(given, "cat"):
        return frame, None
    made = frame.assign(**{outcome: _coded_outcome(given, family)})
    return made, given.cat.categories


def _fitted(y: Any, design: pd.DataFrame, family: str, labels: Any) -> Fit:
    """Fit the columns of a design that are independent; NaN for what that leaves open."""
    import pandas as pd
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    kept, known = determined(design.to_numpy())
    chosen, names = design.iloc[:, kept], list(design.columns)
    constant = y.nunique() < 2 and (family != "poisson" or not y.any())
    if family == "linear":
        fit = sm.OLS(y, chosen).fit()
        found, converged = fit.params, True
    elif constant:
        return Fit(pd.Series(np.nan, index=names), True, None)
    elif family == "ordinal":
        names = [name for name in names if name != "Intercept"]  # thresholds take its place
        if labels is None:  # the outcome is a function of columns
            labels, y = np.unique(y, return_inverse=True)
        used = pd.Categorical.from_codes(np.asarray(y, dtype=int), labels, ordered=True)
        fit = OrderedModel(
            pd.Series(used.remove_unused_categories()),
            chosen.drop(columns="Intercept", errors="ignore"),
            distr="logit",
        ).fit(disp=False)
        thresholds, vague = _thresholds(used)
        found, converged = fit.params, bool(fit.mle_retvals["converged"])
        found = found.drop(vague, errors="ignore")
        names += thresholds
    else:
        fit = getattr(sm, family.capitalize())(y, chosen).fit(disp=False, maxiter=100)
        found, converged = fit.params, bool(fit.mle_retvals["converged"])
    open_ = [name for name, one in zip(design.columns, known, strict=True) if not one]
    return Fit(found.drop(open_, errors="ignore").reindex(names), converged, fit)


def _thresholds(outcome: pd.Categorical) -> tuple[list[str], list[str]]:
    """Names of the thresholds between an outcome's labels, and of those that records leave open.

    Each but the first is how far it is from the one before, which three labels determine.
    """
    names = [f"{a}/{b}" for a, b in pairwise(outcome.categories)]
    there = np.isin(np.arange(len(names) + 1), outcome.codes)
    return names, [t for k, t in enumerate(names) if not there[max(k - 1, 0) : k + 2].all()]


def determined(design: Any) -> tuple[Any, Any]:
    """Places of as many independent columns as there are, and which coefficients they determine.

    A column is independent of all others if its coefficient in every combination of columns that
    comes to 0 is 0.
    """
    scaled = design / np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    r, order = linalg.qr(np.linalg.qr(scaled, mode="r"), mode="r", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(r)) > _DEPENDENT))
    known = np.zeros(order.size, dtype=bool)
    rest = linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    known[order[:rank]] = np.all(np.abs(rest) < _DEPENDENT, axis=1)
    return np.sort(order[:rank]), known


def _coded_outcome(outcome: pd.Series[Any], family: str) -> Any:
    """Code a categorical outcome by its labels' places, from 0."""
    labels = outcome.cat.categories
    if family == "ordinal" and not outcome.cat.ordered:
        raise InvalidInput(
            f"the outcome {quoted(outcome.name)} is a category without an order; ordinal "
            "regression takes a column whose type is 'ordered'"
        )
    if family != "ordinal" and (family != "logit" or len(labels) != 2):
        fitting = ["logit"] * (len(labels) == 2) + ["ordinal"] * bool(outcome.cat.ordered)
        way = f"; ask for {' or '.join(map(quoted, fitting))}" if fitting else ""
        raise InvalidInput(
            f"the outcome {quoted(outcome.name)} is a category of {len(labels)} labels; "
            f"{family} regression takes numbers{' or two labels' if family == 'logit' else ''}{way}"
        )
    codes = outcome.cat.codes.astype(float)
    return codes.where(codes >= 0, np.nan)
