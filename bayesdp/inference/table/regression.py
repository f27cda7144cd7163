"""Regressions of a latent table's columns, by statsmodels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import Column

if TYPE_CHECKING:
    import pandas as pd

FAMILIES = ("linear", "logit", "poisson", "ordinal")


def prepared(columns: Mapping[str, Column], codes: pd.DataFrame) -> pd.DataFrame:
    """Make a DataFrame of coded columns as `coefficients` takes it: numbers, and categories."""
    import pandas as pd

    made: dict[str, Any] = {}
    for name, column in columns.items():
        given = codes[name].to_numpy()
        missing = given >= column.size
        middles = column.middles
        if middles is not None:
            made[name] = np.where(missing, np.nan, middles[np.where(missing, 0, given)])
        else:
            ordered = column.type == "ordered"
            dtype = pd.CategoricalDtype(list(column.shown), ordered=ordered)
            made[name] = pd.Categorical.from_codes(np.where(missing, -1, given), dtype=dtype)
    return pd.DataFrame(made)


def coefficients(formula: str, family: str, frame: pd.DataFrame) -> tuple[Any, bool]:
    """Fit a regression by statsmodels; its coefficients as a Series, and whether it converged.

    Raises
    ------
    InvalidInput
        If statsmodels can't fit it.
    """
    import statsmodels.formula.api as smf
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    outcome = formula.split("~")[0].strip()
    if outcome in frame and hasattr(frame[outcome], "cat"):
        frame = frame.assign(**{outcome: _coded_outcome(frame[outcome], family)})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if family == "linear":
                return smf.ols(formula, frame).fit().params, True
            if family == "ordinal":
                frame = frame.dropna()
                fitted = OrderedModel.from_formula(formula, frame, distr="logit").fit(disp=False)
            else:
                fitted = getattr(smf, family)(formula, frame).fit(disp=False, maxiter=100)
    except Exception as error:  # statsmodels, patsy and LAPACK raise many kinds
        raise InvalidInput(
            f"formula {quoted(formula)} can't be fitted to a latent table by {family} regression "
            f"({type(error).__name__}: {error}); leave out rare labels, or take another family"
        ) from error
    return fitted.params, bool(fitted.mle_retvals["converged"])


def _coded_outcome(outcome: pd.Series[Any], family: str) -> Any:
    """Code a categorical outcome: 0 and 1, or for ordered logistic regression as it is."""
    import pandas as pd

    if family == "ordinal":
        if not outcome.cat.ordered:
            raise InvalidInput(
                f"the outcome {quoted(outcome.name)} is a category without an order; ordinal "
                "regression takes a column whose type is 'ordered'"
            )
        return outcome
    labels = outcome.cat.categories
    if family != "logit" or len(labels) != 2:
        raise InvalidInput(
            f"the outcome {quoted(outcome.name)} is a category of {len(labels)} labels; "
            f"{family} regression takes numbers{' or two labels' if family == 'logit' else ''}"
        )
    codes = outcome.cat.codes.astype(float)
    return codes.where(codes >= 0, np.nan) if isinstance(codes, pd.Series) else codes
