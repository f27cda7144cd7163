"""Tables of records to compare: checked, and without a confidential value in any error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import RecordsView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names
from bayesdp.release import Release

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NUMBERS = {"integer", "floating", "boolean", "mixed-integer-float", "decimal"}


def copies_of(released: Any) -> list[pd.DataFrame]:
    """Return the synthetic tables of a Release, of a list of tables, or of a single one.

    Raises
    ------
    InvalidInput
        If it is none of these, or the release holds counts or other numbers, whose rows would be
        mistaken for records.
    """
    import pandas as pd

    if isinstance(released, Release):
        _check_records(released)
        return released.to_frames()
    tables = [released] if isinstance(released, pd.DataFrame) else released
    if (
        not isinstance(tables, Sequence)
        or not tables
        or not all(isinstance(table, pd.DataFrame) for table in tables)
    ):
        raise InvalidInput(
            f"released is a {type(released).__name__}; it must be a Release, a DataFrame, or a "
            "non-empty list of DataFrames"
        )
    return list(tables)


def _check_records(release: Release) -> None:
    for part in release.parts:
        shown = view_of(part.mechanism, RecordsView)
        if shown is None or shown.drawn_by is not None:
            way = "DataFrames of records" if shown is None else shown.drawn_by
            raise InvalidInput(
                f"released is a Release of {quoted(part.mechanism.name)}, which holds counts or "
                f"other numbers, a row each, and no records; give {way}"
            )


def check_frame(name: str, frame: Any) -> pd.DataFrame:
    """Return `frame`, if it is a DataFrame with rows and with columns of different names."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(f"{name} is a {type(frame).__name__}; it must be a DataFrame")
    if frame.empty:
        raise InvalidInput(f"{name} has no rows or no columns; give at least one of each")
    if not frame.columns.is_unique:
        raise InvalidInput(f"{name} has two columns of one name; rename one")
    return frame


def check_columns(argument: str, columns: Any, frame: pd.DataFrame, name: str) -> list[Any]:
    """Return `columns` as a list, if each is a different column of `frame`."""
    listed = list(columns) if isinstance(columns, Iterable) else []
    if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
        raise InvalidInput(f"{argument} is {quoted(columns)}; give a list of names of columns")
    missing = [column for column in listed if column not in frame.columns]
    if missing or len(set(listed)) < len(listed):
        raise InvalidInput(
            f"{argument} is {quoted(listed)}; each must be a different column of {name}, whose "
            f"columns are {shown_names(list(frame.columns))}"
        )
    return listed


def check_same_columns(confidential: pd.DataFrame, copies: Sequence[pd.DataFrame]) -> None:
    """Raise InvalidInput unless every copy has the confidential table's columns, in any order."""
    for k, table in enumerate(copies):
        copy = check_frame(f"released[{k}]", table)
        if set(copy.columns) != set(confidential.columns):
            raise InvalidInput(
                "released and confidential have other columns: rename them alike, or choose those "
                f"to compare by columns=; released[{k}] has {shown_names(list(copy.columns))}, and "
                f"confidential {shown_names(list(confidential.columns))}"
            )


def check_complete(name: str, frame: pd.DataFrame) -> None:
    """Raise InvalidInput if a value is missing; it says in which columns, not in which rows."""
    missing = [column for column in frame.columns if frame[column].isna().any()]
    if missing:
        raise InvalidInput(
            f"{name} has missing values in {missing}; leave their rows out, or give them a "
            "category of their own"
        )


def is_numeric(frames: Sequence[pd.DataFrame], column: Any) -> bool:
    """Return True if a column holds numbers in all tables, False if categories in all."""
    from pandas.api import types

    numeric = []
    for frame in frames:
        dtype = frame[column].dtype
        number = types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype)
        if types.is_complex_dtype(dtype) or not (
            number
            or types.is_bool_dtype(dtype)
            or types.is_string_dtype(dtype)
            or types.is_object_dtype(dtype)
            or dtype.name == "category"
        ):
            raise InvalidInput(
                f"column {quoted(column)} is of type {dtype}; convert it to numbers or to "
                "categories"
            )
        numeric.append(number)
    if any(numeric) != all(numeric):
        raise InvalidInput(
            f"column {quoted(column)} holds numbers in some tables and categories in others; "
            "convert it, or name it in categorical="
        )
    return all(numeric)


def numbers(name: str, frame: pd.DataFrame, column: Any) -> Floats:
    """Return a numeric column as floats, or raise InvalidInput if one isn't finite."""
    values = frame[column].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise InvalidInput(f"{name} has values in {quoted(column)} that aren't finite; remove them")
    return np.asarray(values)


def category_codes(frames: Sequence[pd.DataFrame], column: Any) -> list[Codes]:
    """Code each table's categories as whole numbers from 0, the same number for equal labels."""
    import pandas as pd
    from pandas.api.types import infer_dtype

    labels = [frame[column].astype(object) for frame in frames]
    kinds = {infer_dtype(each, skipna=False) for each in labels}
    kinds = {"number" if kind in _NUMBERS else kind for kind in kinds}
    if len(kinds) > 1:
        raise InvalidInput(
            f"labels of {quoted(column)} are of types {sorted(kinds)} in different tables, and so "
            "are never equal; convert them to one type"
        )
    try:
        codes = pd.factorize(pd.concat(labels, ignore_index=True))[0]
    except TypeError:
        raise InvalidInput(
            f"labels of {quoted(column)} can't be compared; convert them to strings"
        ) from None
    ends = np.cumsum([len(frame) for frame in frames])[:-1]
    return np.split(codes.astype(np.int64), ends)
