"""Missing values of a column of records."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted


def is_missing(values: Any) -> Any:
    """Mark missing values, elementwise: None, NaN, NaT or pandas' NA."""
    if hasattr(values, "isna"):  # pandas, without importing it
        return np.asarray(values.isna())
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        return np.fromiter((_is_missing_value(v) for v in array.ravel()), dtype=bool)
    return False


def check_present(name: str, column: Any) -> None:
    """Raise InvalidInput, which shows no value, if a column has missing or masked ones."""
    if np.any(is_missing(column)) or np.ma.is_masked(column):
        raise InvalidInput(
            f"column {quoted(name)} has missing values; drop or impute them by a public rule"
        )


def _is_missing_value(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True
