"""The records of one column as they are given, read as values of one kind."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.schema.faults import Unfit

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 2**53
"""Whole numbers up to it are the same as floats, which columns with missing values have."""
_MOST = int(sys.float_info.max)
_OBJECTS = {
    "string": "text",
    "boolean": "boolean",
    "integer": "integer",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "date": "date",
    "datetime": "date",
    "datetime64": "date",
}
"""Kinds by what pandas calls them."""
WORDS = {
    "text": "texts",
    "boolean": "booleans",
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "other": "values of several kinds, or of an unknown one",
}


@dataclass(frozen=True)
class Values:
    """The values of one column's records, those that aren't missing.

    Parameters
    ----------
    kind : str
        A key of `WORDS`, or "nothing" where all are missing.
    values : array
        Booleans, integers, floats, texts or days, one for each record or all that occur.
    places : array of int, optional
        Which of `values` each record has; None where there is one for each.
    missing : array of bool, shape (n,)
        Whether each record's value is missing.
    """

    kind: str
    values: NDArray[Any]
    places: NDArray[np.int64] | None
    missing: NDArray[np.bool_]

    def each(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what was found for `values` for each record that isn't missing."""
        return found if self.places is None else found[self.places]


def read(given: Any) -> Values:
    """Read a column of a table, an array or a list; its kind depends on no missing value.

    Raises
    ------
    Unfit
        If it isn't a column.
    """
    import pandas as pd

    masked = np.ma.getmaskarray(given) if isinstance(given, np.ma.MaskedArray) else None
    data = np.ma.getdata(given) if masked is not None else given
    try:
        if hasattr(data, "to_pandas"):  # Polars' and Arrow's, whose arrays have no time zone
            data = data.to_pandas()
        flat = np.ndim(data) == 1
        series = data if isinstance(data, pd.Series) else pd.Series(data if flat else [])
    except (TypeError, ValueError, OverflowError):  # whose messages may show a value
        flat = False
    if not flat:
        raise Unfit("isn't a column; give one value for each record")
    missing = series.isna().to_numpy(dtype=bool, copy=True)
    if masked is not None:
        missing |= masked
    if pd.api.types.is_float_dtype(series.dtype):
        floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
        missing |= np.isnan(floats)  # pandas' nullable floats may hold NaN too
        return _of("number", floats, missing)
    present = series[~missing] if missing.any() else series
    if not len(present):
        return Values("nothing", np.empty(0), None, missing)
    return _read(present, missing)


def _read(present: pd.Series[Any], missing: NDArray[np.bool_]) -> Values:
    import pandas as pd

    types, dtype = pd.api.types, present.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical(present, missing)
    if types.is_bool_dtype(dtype):
        return Values("boolean", present.to_numpy(dtype=bool), None, missing)
    if types.is_integer_dtype(dtype):
        wide = np.uint64 if types.is_unsigned_integer_dtype(dtype) else np.int64
        return Values("integer", present.to_numpy(dtype=wide), None, missing)
    if isinstance(dtype, pd.DatetimeTZDtype):
        present = present.dt.tz_localize(None)  # the day in its own time zone
    if isinstance(present.dtype, np.dtype) and present.dtype.kind == "M":
        days = present.to_numpy().astype("datetime64[D]")
        return Values("date", days, None, missing)
    if not isinstance(dtype, pd.StringDtype):
        present = present.astype(object)
        kind = _OBJECTS.get(pd.api.types.infer_dtype(present, skipna=False), "other")
        if kind in ("boolean", "integer", "number"):
            return _numbers(kind, present.tolist(), missing)
        if kind not in ("text", "date"):
            return Values("other", np.empty(0), None, missing)
    else:
        kind = "text"
    places, unique = pd.factorize(present)
    values = np.asarray(unique, dtype=object)
    return Values(kind, values if kind == "text" else _days(values), places, missing)


def _of(kind: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> Values:
    present = values[~missing] if missing.any() else values
    return Values(kind if present.size else "nothing", present, None, missing)


def _categorical(present: pd.Series[Any], missing: NDArray[np.bool_]) -> Values:
    """Read the categories that occur, and which of them each record has."""
    codes = present.cat.codes.to_numpy(dtype=np.int64)
    occur = np.bincount(codes, minlength=len(present.cat.categories)) > 0
    found = read(present.cat.categories.to_series()[occur])
    places = (np.cumsum(occur) - 1)[codes]
    if found.places is not None:  # texts, of which all are different
        places = found.places[places]
    return Values(found.kind, found.values, places, missing)


def _numbers(kind: str, values: list[Any], missing: NDArray[np.bool_]) -> Values:
    """Read numbers of Python's; whole ones beyond all of NumPy's are floats."""
    if kind == "boolean":
        return Values(kind, np.array(values, dtype=bool), None, missing)
    if kind == "integer":
        try:
            return Values(kind, np.array(values, dtype=np.int64), None, missing)
        except OverflowError:
            pass
    floats = [float(max(min(v, _MOST), -_MOST) if isinstance(v, int) else v) for v in values]
    return Values("number", np.array(floats), None, missing)


def _days(values: NDArray[Any]) -> NDArray[Any]:
    """Return the days of dates and times, each in its own time zone."""
    days = [
        v.astype("datetime64[D]")
        if isinstance(v, np.datetime64)
        else dt.date(v.year, v.month, v.day)
        for v in values
    ]
    return np.array(days, dtype="datetime64[D]")


def whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return whole numbers as integers; those beyond 2^53, of either sign, as ones beyond it too.

    Raises
    ------
    Unfit
        If one isn't whole.
    """
    if values.dtype.kind == "f" and not np.all(np.trunc(values) == values):
        raise Unfit("has numbers that aren't whole; round them by a public rule")
    low = 0 if values.dtype.kind == "u" else -2 * LARGEST
    return np.asarray(np.clip(values, low, 2 * LARGEST)).astype(np.int64)


def days_of(values: NDArray[Any], kind: str) -> NDArray[np.int64]:
    """Return dates, or texts that are dates by ISO 8601, as days since 1970-01-01.

    Raises
    ------
    Unfit
        If a text is no date.
    """
    if kind == "text":
        try:
            values = _days(np.array([dt.datetime.fromisoformat(text) for text in values], object))
        except ValueError:
            raise Unfit("has texts that aren't dates; write them as 2024-12-31") from None
    return np.asarray(values.astype(np.int64))
