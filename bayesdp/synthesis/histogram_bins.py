"""The bins of a histogram from bounds, categories and a rule: public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from bayesdp.checks import check_even, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names
from bayesdp.mechanisms.counts.cells import Axis, check_axes, check_edges

RULES = ("sqrt", "log")
_MOST_CELLS = 1_000_000
_ALLOWED = "it must be 'sqrt', 'log', a whole number from 1, or edges from bound to bound"


def check_bounds(bounds: Any) -> tuple[bool, list[tuple[float, float]]]:
    """Return whether the bounds are a table's, and each bounded column's pair; else raise."""
    if bounds is None or isinstance(bounds, Mapping):
        given, table = list((bounds or {}).values()), True
    else:
        given = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise InvalidInput(
                f"bounds is {quoted(bounds)}; it must be (low, high), or such a pair for each "
                "column"
            )
        table = not any(is_number(v) for v in given)
    return table, [_check_pair(pair) for pair in (given if table else [given])]


def check_one_pair(name: str, bounds: Any) -> tuple[float, float]:
    """Return the bounds of a single column, or raise InvalidInput."""
    table, pairs = check_bounds(bounds)
    if table:
        raise InvalidInput(f"{name} is {quoted(bounds)}; it must be one pair, (low, high)")
    return pairs[0]


def check_categories(categories: Any) -> None:
    """Raise InvalidInput unless each column's labels are given by its name, or none are."""
    if categories is not None and not isinstance(categories, Mapping):
        raise InvalidInput(
            f"categories is {quoted(categories)}; it must be a mapping of each column's name to "
            "its labels, as {'level': [1, 2, 3]}"
        )


def _check_pair(pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) if is_number(v) else math.nan for v in pair)
    except (TypeError, ValueError, OverflowError):  # not a pair
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InvalidInput("bounds must have two finite numbers for each column, the lower first")
    return low, high


def intervals(rule: str, n: int, columns: int) -> int:
    """Number of intervals of each of several columns, whose boxes are at least the rule's number.

    The rule's number is the square root of n or its natural logarithm, rounded up.
    """
    whole = math.isqrt(n - 1) + 1 if rule == "sqrt" else max(1, math.ceil(math.log(n)))
    each = 1
    while each**columns < whole:
        each += 1
    return each


def make_axes(
    names: Sequence[str], bounds: Any, categories: Mapping[str, Any], bins: Any, n: int
) -> tuple[Axis, ...]:
    """Make one axis for each column, the bounded ones first.

    Parameters
    ----------
    names : sequence of str
        Names of the bounded columns.
    bounds, categories, bins
        As given to the synthesizer.
    n : int
        Public number for the rules.

    Raises
    ------
    InvalidInput
        If the arguments don't fit together, or make more than a million cells.
    """
    check_categories(categories)
    _, pairs = check_bounds(bounds)
    each = _bins_of_columns(bins, bounds, len(pairs), n)
    axes = [
        Axis(name, edges=_edges(name, pair, given))
        for name, pair, given in zip(names, pairs, each, strict=True)
    ]
    axes += [Axis(name, categories=labels) for name, labels in categories.items()]
    if not axes:
        raise InvalidInput("bounds is missing; give each column's bounds, or its categories")
    sizes = [axis.size for axis in axes]
    if math.prod(sizes) > _MOST_CELLS:
        raise InvalidInput(
            f"bins make {math.prod(sizes):,} cells; at most {_MOST_CELLS:,} are allowed: take fewer"
        )
    return check_axes(axes, math.prod(sizes)) or ()


def columns_of(data: Any, name: str, bounds: Any, categories: Mapping[str, Any]) -> dict[str, Any]:
    """Return the records' columns by name: the bounded ones, then the categorical ones.

    Parameters
    ----------
    data : array_like, Series or DataFrame
        The confidential records.
    name : str
        Name of a column that has none.
    bounds, categories
        As given to the synthesizer.

    Raises
    ------
    InvalidInput
        If the data have other columns.
    """
    check_even(data)
    if isinstance(data, Mapping):
        raise InvalidInput("data is a mapping; give the DataFrame, as pd.DataFrame(data)")
    table, pairs = check_bounds(bounds)
    categorical, named = list(categories), isinstance(bounds, Mapping)
    if hasattr(data, "columns"):
        there = list(data.columns)
        bounded = list(bounds) if named else [c for c in there if c not in categorical]
        names = [*bounded, *categorical]
        if len(bounded) == len(pairs) and sorted(map(str, there)) == sorted(map(str, names)):
            return {column: data[column] for column in names}
        raise InvalidInput(
            f"data must have the {len(pairs)} columns that have bounds and those of categories, "
            f"{categorical}, and no others: select them first; it has {shown_names(there)}"
        )
    if categorical or named:
        raise InvalidInput(
            "data has no names of columns; give a DataFrame, or bounds as pairs in their order"
        )
    values = data if hasattr(data, "isna") else np.ma.asanyarray(data)
    shape = np.shape(values)
    if len(shape) != 1 + table or shape[1:] != (len(pairs),) * table:
        wanted = f"a table of {len(pairs)} columns" if table else "one column"
        raise InvalidInput(f"data has shape {shape}; with these bounds it must be {wanted}")
    if not table:
        return {name: values}
    return {f"{name}[{k}]": values[:, k] for k in range(len(pairs))}


def _bins_of_columns(bins: Any, bounds: Any, columns: int, n: int) -> list[Any]:
    """Return each bounded column's number of intervals or edges."""
    table, _ = check_bounds(bounds)
    if isinstance(bins, str) and bins in RULES:
        return [intervals(bins, n, max(columns, 1))] * columns
    if isinstance(bins, Integral):
        return [bins] * columns
    if isinstance(bins, Mapping):
        if not isinstance(bounds, Mapping) or set(bins) != set(bounds):
            raise InvalidInput(
                f"bins is for columns {list(bins)}; name the same ones in bounds and in bins"
            )
        return [bins[name] for name in bounds]
    if not table:
        return [bins]
    if isinstance(bins, Sequence) and not isinstance(bins, str):
        if len(bins) == columns:
            return list(bins)
        if columns == 1:
            return [bins]
    raise InvalidInput(
        f"bins is {quoted(bins)}; {_ALLOWED}, or a number or edges for each of the {columns} "
        "columns with bounds"
    )


def _edges(name: str, pair: tuple[float, float], bins: Any) -> tuple[float, ...]:
    if is_number(bins) or isinstance(bins, str | bool):
        count = int(bins) if isinstance(bins, Integral) and not isinstance(bins, bool) else 0
        if not 1 <= count <= _MOST_CELLS:
            raise InvalidInput(
                f"bins of column {quoted(name)} is {quoted(bins)}; {_ALLOWED}, and at most "
                f"{_MOST_CELLS:,}"
            )
        return check_edges(name, np.linspace(*pair, count + 1))
    edges = check_edges(name, bins)
    if (edges[0], edges[-1]) != pair:
        raise InvalidInput(
            f"edges of column {quoted(name)} don't begin and end at its bounds, which are {pair}"
        )
    return edges
