"""Parameters of `LinearRegression` and its records, validated; no message shows a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.counts.count import column_of
from bayesdp.mechanisms.families.base import check_interval

Floats = NDArray[np.float64]
Bounds = tuple[tuple[str, tuple[float, float]], ...]

RESERVED = ("copy", "draw", "part")
"""Columns of a release's own table."""


def check_columns(given: Any) -> Bounds:
    """Names and bounds of two columns or more, in order, or InvalidInput."""
    try:
        pairs = list(given.items()) if isinstance(given, Mapping) else [(a, b) for a, b in given]
    except (TypeError, ValueError):
        pairs = []
    names = [name for name, _ in pairs]
    if len(pairs) < 2 or not all(isinstance(name, str) and name for name in names):
        raise InvalidInput(
            f"bounds is {quoted(given)}; it must have the names and the bounds of two columns or "
            "more, for example {'age': (18, 90), 'pressure': (70, 250)}"
        )
    if len(set(names)) < len(names) or set(names) & set(RESERVED):
        raise InvalidInput(
            f"bounds has columns {names}; each must be named once, and none called "
            f"{', '.join(map(repr, RESERVED))}, which a release's table has itself"
        )
    checked = []
    for name, ends in pairs:
        try:
            checked.append((name, check_interval(ends)))
        except InvalidInput as error:
            raise InvalidInput(f"column {quoted(name)}: {error}") from error
    return tuple(checked)


def check_response(response: Any, columns: Sequence[str]) -> None:
    """Raise InvalidInput unless the response is one of the columns."""
    if response not in columns:
        raise InvalidInput(f"response is {quoted(response)}; it must be one of {list(columns)}")


def check_prior(prior: Any, p: int) -> tuple[Any, ...]:
    """Return the prior (m0, k, a, b) in its standard form, or raise InvalidInput."""
    if isinstance(prior, Sequence) and len(prior) == 4:
        m0, k, a, b = prior
        m0, k = _numbers(m0, p + 1), _numbers(k, p + 1, positive=True)
        a, b = _numbers(a, 0, positive=True), _numbers(b, 0, positive=True)
        if None not in (m0, k, a, b):
            return m0, k, a, b
    raise InvalidInput(
        f"prior is {quoted(prior)}; it must be (m0, k, a, b): the coefficients' mean and "
        f"precision, each one number or {p + 1}, the intercept's first, and the variance's shape "
        "and scale; all finite, and positive but for m0"
    )


def check_predictors_prior(prior: Any, p: int) -> tuple[Any, ...]:
    """Return the predictors' prior (m, r, nu, psi) in its standard form, or raise InvalidInput."""
    if prior is None:
        return (0.0, 0.1, p + 2.0, 0.1)
    if isinstance(prior, Sequence) and len(prior) == 4:
        m, r, nu, psi = prior
        m, psi = _numbers(m, p), _numbers(psi, p, positive=True)
        r, nu = _numbers(r, 0, positive=True), _numbers(nu, 0, positive=True)
        if None not in (m, r, nu, psi) and nu > p - 1:
            return m, r, nu, psi
    raise InvalidInput(
        f"predictors_prior is {quoted(prior)}; it must be (m, r, nu, psi): mean, number of "
        f"records, degrees of freedom above p - 1 = {p - 1} and diagonal of the scale matrix; m "
        f"and psi one number or {p}; all finite, and positive but for m"
    )


def _numbers(given: Any, count: int, *, positive: bool = False) -> Any:
    """Return a float, or `count` of them; None if the value is neither."""
    several = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    values = list(given) if several else [given]
    good = all(is_number(v) and math.isfinite(v) and (v > 0 or not positive) for v in values)
    if not good or (several and len(values) != count):
        return None
    return tuple(float(v) for v in values) if several else float(given)


def table_of(records: Any, columns: Sequence[str], ends: Floats, *, clip: bool) -> Floats:
    """Return the records' columns within their bounds, shape (n, columns).

    Raises
    ------
    InvalidInput
        If a column is missing, or a value is missing or, unless `clip`, out of bounds.
    """
    if not hasattr(records, "__len__") or getattr(records, "shape", None) == ():
        raise InvalidInput(
            f"data is {kind_of(records)}; it must be a DataFrame with columns {list(columns)}, or "
            "an array of them"
        )
    if len(records) == 0:
        return np.empty((0, len(columns)))
    if hasattr(records, "columns"):  # a DataFrame, without importing pandas
        missing = [name for name in columns if name not in records.columns]
        if missing:
            raise InvalidInput(f"data has no columns {missing}; the family's are {list(columns)}")
        each = [records[name] for name in columns]
    else:
        table = np.asanyarray(records)
        if table.ndim != 2 or table.shape[1] != len(columns):
            raise InvalidInput(
                f"data has shape {table.shape}; it must be a DataFrame with columns "
                f"{list(columns)}, or an array of shape (records, {len(columns)}) in that order"
            )
        each = list(table.T)
    read_columns = []
    for name, (low, high), column in zip(columns, ends.tolist(), each, strict=True):
        try:
            x = column_of(column, f"numbers from {low} to {high}").astype(np.float64)
        except InvalidInput as error:
            raise InvalidInput(f"column {quoted(name)}: {error}") from error
        if clip and not np.any(np.isnan(x)):
            x = np.clip(x, low, high)
        if not np.all((x >= low) & (x <= high)):
            raise InvalidInput(
                f"column {quoted(name)} has values that aren't numbers within its bounds ({low}, "
                f"{high}); choose bounds without looking at the data, and take clip=True to move "
                "values beyond a bound to it"
            )
        read_columns.append(x)
    return np.column_stack(read_columns)
