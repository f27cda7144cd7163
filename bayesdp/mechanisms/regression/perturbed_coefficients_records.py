"""Inputs of perturbed coefficients: sums of records, or the records themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import Floats, Sums, sums_of
from bayesdp.mechanisms.families.linear_regression import LinearRegression
from bayesdp.mechanisms.families.moments import STEPS, in_steps
from bayesdp.mechanisms.families.regression_fields import table_of
from bayesdp.mechanisms.regression import logistic_minimiser, ridge


@dataclass(frozen=True)
class Signed:
    """Records of a logistic regression. Confidential.

    Attributes
    ----------
    x : ndarray, shape (n, coefficients)
        Ones and the rescaled predictors.
    y : ndarray, shape (n,)
        -1 and 1.
    """

    x: Floats
    y: Floats

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self.y)


def gathered(family: LinearRegression, loss: str, data: Any, *, clip: bool) -> Sums | Signed:
    """Gather the confidential sums or records from which coefficients are computed.

    Parameters
    ----------
    family : LinearRegression
        The columns, and which is the response.
    loss : {"linear", "logistic"}
    data : DataFrame, array of shape (n, columns), or iterator of those
    clip : bool
        Whether values outside their bounds are moved to the nearest bound.

    Raises
    ------
    InvalidInput
        If there are no records, a value is missing or, unless clipped, out of its bounds, or a
        logistic regression's response isn't at one of its bounds. No message shows a value.
    """
    if loss == "linear":
        return sums_of(family, data, clip=clip)
    batches = data if isinstance(data, Iterator) else [data]
    tables = [table_of(x, family.columns, family.ends, clip=clip) for x in batches]
    if not sum(map(len, tables)):
        raise InvalidInput("data is empty; there is nothing to release")
    steps = in_steps(np.concatenate(tables), family.ends) / STEPS
    y = steps[:, family.place]
    if not np.all(np.abs(y) == 1):
        raise InvalidInput(
            f"the response {quoted(family.response)} isn't at one of its bounds in every record, "
            "as that of a logistic regression must be; give the two values as its bounds"
        )
    return Signed(
        np.column_stack([np.ones(len(y)), np.delete(steps, family.place, axis=1)]), y.copy()
    )


def coefficients(given: Sums | Signed, family: LinearRegression, penalty: float) -> Any:
    """Compute the intercept and the coefficients; see `ridge`, `logistic_minimiser`."""
    if isinstance(given, Signed):
        return logistic_minimiser.minimiser(given.x, given.y, penalty)
    return ridge.minimiser(given.totals, given.n, len(family.bounds), family.place, penalty)
