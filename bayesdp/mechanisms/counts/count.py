"""Statistic of binary records: the number of ones and the number of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_missing, plain
from bayesdp.core.views import CountView, DrawnCountsView
from bayesdp.errors import InvalidInput


@dataclass(frozen=True, slots=True, repr=False)
class Count:
    """Statistic of binary records: `successes` ones among `n` of them.

    The fields are integers; a law that is evaluated at many statistics at once takes
    integer arrays that broadcast together.

    Parameters
    ----------
    successes : int or array of int
        Number of ones. Confidential.
    n : int or array of int
        Number of records.

    Raises
    ------
    InvalidInput
        If a field is not an integer, is negative, or successes exceed n. The message
        never shows the confidential values.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> bdp.Count(38, 100).failures
    62
    >>> bdp.Count.of([0, 1, 1, 0])
    <Count: its numbers are confidential>
    """

    successes: Any
    n: Any

    def __post_init__(self) -> None:
        plain(self)
        for name in ("successes", "n"):
            value = np.asarray(getattr(self, name))
            if value.dtype.kind not in "iu" or np.ma.is_masked(getattr(self, name)):
                raise InvalidInput(
                    f"Count.{name} has type {value.dtype}; it must be an integer (or an integer "
                    "array, none of it masked): the number of records, not a proportion or a text"
                )
        if np.any(np.asarray(self.successes) < 0) or np.any(self.successes > np.asarray(self.n)):
            raise InvalidInput(
                "Count.successes must lie between 0 and Count.n; "
                "check that the two are in this order: Count(successes, n)"
            )

    def __repr__(self) -> str:
        return "<Count: its numbers are confidential>"  # a log or a traceback shows reprs

    def __add__(self, other: Count) -> Count:
        """The count of two disjoint sets of records."""
        return Count(self.successes + other.successes, self.n + other.n)

    @property
    def failures(self) -> Any:
        """Number of zeros, n - successes."""
        return self.n - self.successes

    @classmethod
    def of(cls, data: Any, *, empty: bool = False) -> Count:
        """Count 0/1 records, given as an array, a Series or a sequence.

        Raises
        ------
        InvalidInput
            If a record is missing, or neither 0 nor 1; or if there are no records, unless `empty`
            allows it.
        """
        if isinstance(data, cls):
            if np.ndim(data.successes) or np.ndim(data.n):
                raise InvalidInput("data is a Count of arrays; release one Count at a time")
            if data.n == 0 and not empty:
                raise InvalidInput("data is a Count of n = 0 records; there is nothing to release")
            return data
        if empty and np.shape(data) == (0,):
            return cls(0, 0)
        array = column_of(data, "0 and 1")
        if not np.all((array == 0) | (array == 1)):
            raise InvalidInput(
                "data has values other than 0 and 1 (or True and False); recode the column, "
                "for example with (column == 'yes'), or with --equals yes --values yes,no"
            )
        return cls(int(np.count_nonzero(array)), int(array.size))


def check_count(statistic: Any, n: int | None) -> Count:
    """Return the statistic if it is a Count of n records (any number if n is None), else raise.

    Its fields may be arrays.
    """
    if not isinstance(statistic, Count):
        raise InvalidInput(
            f"statistic is a {type(statistic).__name__}; it must be a Count, for example "
            "bdp.Count(successes=38, n=100) or bdp.Count.of(records)"
        )
    if n is not None and np.any(np.asarray(statistic.n) != n):
        raise InvalidInput(
            f"the statistic has another number of records than the mechanism's n = {n}"
        )
    return statistic


def column_of(data: Any, holds: str) -> NDArray[Any]:
    """Return the records as a column of numbers, NaN where they aren't numbers.

    Parameters
    ----------
    data : array, Series or sequence
        Confidential: no message shows a value.
    holds : str
        What the column must hold, for the messages.

    Raises
    ------
    InvalidInput
        If any record is missing, there are none, or they aren't one column.
    """
    if np.any(is_missing(data)):
        raise InvalidInput(
            "data has missing values; drop or impute them first (a dropped record is no "
            "longer protected by a public n: decide before counting)"
        )
    array = np.asarray(data)
    if array.ndim != 1:
        raise InvalidInput(f"data has {array.ndim} dimensions; it must be one column of {holds}")
    if array.size == 0:
        raise InvalidInput("data is empty; there is nothing to release")
    if array.dtype == object:
        try:
            array = np.array([_as_float(value) for value in array])
        except (TypeError, ValueError):
            return np.full(array.shape, np.nan)
    return array if array.dtype.kind in "biuf" else np.full(array.shape, np.nan)


def _as_float(value: Any) -> float:
    if isinstance(value, str | bytes):  # as where a whole column has their type
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer of any length, beyond all bounds
        return math.inf if value > 0 else -math.inf


def count_view(mechanism: Any) -> CountView:
    """The view of a mechanism whose statistic is a `Count`.

    Parameters
    ----------
    mechanism : Mechanism
        One whose `logp` takes outputs and counts that broadcast.
    """
    return CountView(
        lambda z, x, n: mechanism.logp(z, Count(x, n)),
        lambda n: mechanism.check_statistic(Count(0, n)),
    )


def drawn_ones(prior: tuple[float, ...], size: int) -> DrawnCountsView:
    """The view of copies of ones and zeros, in this order, drawn from a beta posterior's draw."""

    def counts(outputs: Sequence[Any]) -> NDArray[np.float64]:
        ones = np.asarray(outputs, dtype=np.float64).ravel()
        return np.stack([ones, size - ones], axis=1)

    return DrawnCountsView(np.array(prior, dtype=np.float64), size, counts, ones=True)
