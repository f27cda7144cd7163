"""Checks of arguments, shared by all parts of the package.

Each returns the plain Python number that it checked, and only that is used from there on: a
`numpy.int8` of 64 is a valid number of copies, but four times it is 0.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.errors import InvalidInput, kind_of, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 2**63 - 1
"""The largest whole number that an argument may be: larger ones fit in no array's type."""


def is_number(value: Any) -> bool:
    """Return True if `value` is a real number that fits in a float; booleans aren't numbers."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:  # a whole number or a fraction
        return False
    return True


def is_text(value: Any) -> bool:
    """Return True if `value` is a text that files keep: without NUL, and Unicode throughout."""
    return isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)


def is_label(value: Any) -> bool:
    """Return True if `value` is a boolean, a finite number or a text that files keep."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) or is_text(value)


def as_float(value: Any) -> float:
    """Return `value` as a float, or NaN where it isn't a number."""
    return float(value) if is_number(value) else math.nan


def plain(made: Any) -> None:
    """Convert the numbers among a frozen dataclass's fields to Python's own, before any check.

    Those in tuples, lists and mappings are converted too. Other values are left for the checks.
    """
    for field in dataclasses.fields(made):
        if field.init:
            object.__setattr__(made, field.name, as_plain(getattr(made, field.name)))


def as_plain(value: Any) -> Any:
    """Return `value` with plain Python numbers, also inside tuples, lists and mappings.

    NumPy's numbers aren't compared as they are: a plain float next to a `numpy.float16` is rounded
    to that type first, to 0 or to infinity.
    """
    if type(value) in (int, float, bool, str):
        return value
    if type(value) in (tuple, list):
        return type(value)(map(as_plain, value))
    if type(value) is dict:
        return {key: as_plain(each) for key, each in value.items()}
    if not is_number(value):
        return value
    return int(value) if isinstance(value, Integral) else as_float(value)


def keep(made: Any, **checked: Any) -> None:
    """Set fields of a frozen dataclass to what their checks returned."""
    for name, value in checked.items():
        object.__setattr__(made, name, value)


def check_at_least_one(name: str, value: Any, also: str = "") -> int:
    """Return `value` as an int if it is a whole number from 1.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
    also : str
        Other allowed values, such as "or None if confidential", for the message.

    Raises
    ------
    InvalidInput
        If `value` isn't a whole number from 1.
    """
    return check_at_least(name, value, 1, also)


def check_at_least(
    name: str, value: Any, least: int, also: str = "", *, most: float = LARGEST
) -> int:
    """Return `value` as an int if it is a whole number from `least`, else raise InvalidInput."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        end = f" and at most {most}" if whole and value > most else ""
        given = "a text" if isinstance(value, str) else quoted(value)  # no option's name
        raise InvalidInput(
            f"{name} is {given}; it must be a whole number, at least {least}{end}"
            f"{also and ' ' + also}"
        )
    return int(value)


def check_seed(seed: Any) -> int | None:
    """Return None, or a non-negative integer as an int; else raise InvalidInput."""
    if seed is None:
        return None
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or seed < 0:
        raise InvalidInput(f"seed is {quoted(seed)}; it must be None or a non-negative integer")
    return int(seed)


def check_numbers(name: str, given: Any) -> NDArray[np.float64]:
    """Return `given` as an array of floats, or raise InvalidInput that doesn't show any of it.

    NumPy's own message shows the first element that isn't a number, which may be a record.
    """
    import numpy as np  # here, so that the command line starts without it

    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} is {kind_of(given)}; it must hold only numbers") from None


def check_each_at_least_one(name: str, values: Sequence[Any]) -> list[int]:
    """Return the values as ints if all are whole numbers from 1, else raise, showing none."""
    try:
        return [check_at_least_one(name, value) for value in values]
    except InvalidInput:
        raise InvalidInput(f"{name} has something else than whole numbers, at least 1") from None


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False, else raise InvalidInput."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is {quoted(value)}; it must be True or False")
    return value


def check_path(name: str, value: Any) -> Path:
    """Return `value` as a Path if it is a path or a string, else raise InvalidInput."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{name} is {quoted(value)}; it must be a path, as 'results/'")
    return Path(value)


def check_called(name: str, value: Any, kind: str = "a function") -> None:
    """Raise InvalidInput unless `value` can be called, or is None."""
    if value is not None and not callable(value):
        raise InvalidInput(f"{name} is a {type(value).__name__}; it must be {kind}")


def check_one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise InvalidInput unless `value` is one of the allowed strings."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(f"{name} is {quoted(value)}; it must be one of {allowed}")


def check_one_statistic(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Raise InvalidInput unless a confidential statistic has the shape of a single statistic."""
    if shape != expected:
        raise InvalidInput(
            f"the statistic has shape {shape}; one release takes one statistic, of shape {expected}"
        )


def check_delta(delta: Any) -> float:
    """Return `delta` as a float if it is in [0, 1), else raise InvalidInput."""
    checked = as_float(delta)
    if not 0 <= checked < 1:
        raise InvalidInput(
            f"delta is {quoted(delta)}; it must be a number from 0 to below 1 "
            "(0 asks for pure epsilon; 1 would promise nothing; try 1e-6)"
        )
    return checked


def check_share(name: str, value: Any) -> float:
    """Return `value` as a float if it lies strictly between 0 and 1, else raise InvalidInput."""
    checked = as_float(value)
    if not 0 < checked < 1:
        raise InvalidInput(f"{name} is {quoted(value)}; it must lie strictly between 0 and 1")
    return checked


def check_quantile_levels(name: str, value: Any) -> tuple[float, ...]:
    """Return levels of quantiles, different and within (0, 1), or raise InvalidInput."""
    try:
        checked = tuple(map(as_float, value))
    except TypeError:  # not a sequence
        checked = ()
    inside = checked and all(0 < each < 1 for each in checked)
    if not inside or len(set(checked)) < len(checked):
        raise InvalidInput(
            f"{name} is {quoted(value)}; it must be probabilities between 0 and 1, each once, for "
            "example (0.1, 0.5, 0.9)"
        )
    return checked


def check_below(name: str, value: Any, most: float) -> float:
    """Return `value` as a float if it is from 0 to below `most`, else raise InvalidInput."""
    checked = as_float(value)
    if not 0 <= checked < most:
        raise InvalidInput(f"{name} is {quoted(value)}; it must be a number from 0 to below {most}")
    return checked


def check_even(data: Any) -> None:
    """Raise InvalidInput if records are uneven rows, Arrow's table, an index, a path, or lazy."""
    import numpy as np

    if isinstance(data, str | os.PathLike):
        raise InvalidInput(
            f"data is {kind_of(data)}, and no records; those of a file are bdp.scan(file, columns)"
        )
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # Polars' lazy frames
        raise InvalidInput(f"data is {kind_of(data)}, and not computed yet; give data.collect()")
    if getattr(data, "nlevels", 1) > 1:
        raise InvalidInput(
            f"data is {kind_of(data)}, an index; give its records as a DataFrame, data.to_frame()"
        )
    if not all(isinstance(name, Hashable) for name in getattr(data, "columns", ())):
        raise InvalidInput(
            f"data is {kind_of(data)} whose columns have no names; give a DataFrame, as "
            "data.to_pandas(), or bdp.scan(pyarrow.dataset.dataset(data), 'column')"
        )
    if isinstance(data, list | tuple):
        try:
            np.shape(data)
        except ValueError:
            raise InvalidInput(
                "data has rows of different lengths; give one column, or a DataFrame"
            ) from None


def is_missing(values: Any) -> Any:
    """Mark missing values, elementwise: None, NaN, NaT, pandas' NA, or masked."""
    import numpy as np

    if hasattr(values, "isna"):  # pandas, without importing it
        return np.asarray(values.isna())
    if np.ma.is_masked(values):
        return np.ma.getmaskarray(values) | is_missing(np.ma.getdata(values))
    # in an array of one type, a str would turn every NaN into "nan"
    array = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        found = np.fromiter((_is_missing_value(v) for v in array.ravel()), dtype=bool)
        return found.reshape(array.shape)
    return False


def as_mapping(name: str, given: Any) -> Any:
    """Return pandas' data as a mapping of their labels, and anything else as it is.

    Raises
    ------
    InvalidInput
        If a label is there twice, of which pandas would keep the last; none is shown.
    """
    if not hasattr(given, "to_dict") or not hasattr(given, "index"):
        return given
    if not given.index.is_unique or not getattr(given, "columns", given.index).is_unique:
        raise InvalidInput(
            f"{name} has a label twice in its index or columns; give each label once, with the sum "
            "or whatever is meant"
        )
    return given.to_dict()


def listed_labels(what: str, column: Any) -> list[Any]:
    """List a column's labels, or raise InvalidInput, which shows none, if one is a list or such."""
    labels: list[Any] = column.tolist()
    try:
        set(labels)
    except TypeError:
        raise InvalidInput(
            f"{what} holds lists or the like; labels are texts, numbers or booleans"
        ) from None
    return labels


def check_present(name: str, column: Any) -> None:
    """Raise InvalidInput, which shows no value, if a column has missing or masked ones."""
    import numpy as np

    if np.any(is_missing(column)):
        raise InvalidInput(
            f"column {quoted(name)} has missing values; drop or impute them by a public rule"
        )


def _is_missing_value(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True
