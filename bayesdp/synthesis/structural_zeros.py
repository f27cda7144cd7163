"""Structural zeros: cells of a table where, by a public rule, no record can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_missing
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, check_order, shape_of, table

_ALLOWED = (
    "it must be a list of rules, each a mapping of columns to the categories that don't go "
    'together, such as [{"sex": "male", "pregnant": "yes"}]; or a boolean array over the cells, '
    "True where no record can be; or a function of a DataFrame of all cells that gives one"
)


def zero_masks(
    zeros: Any, axes: Sequence[Axis] | None, shape: tuple[int, ...]
) -> dict[str, NDArray[np.bool_]]:
    """Mark the cells that each rule excludes, by the rule's name; shape (cells,).

    Parameters
    ----------
    zeros : None, sequence of mapping, array of bool, or callable
        As given to the synthesizer: a function of public information alone.
    axes : sequence of Axis or None
        The axes of the cells; None where the cells have no names.
    shape : tuple of int
        Shape of the table.

    Raises
    ------
    InvalidInput
        If a rule is none of these, or names another column or category.
    """
    if zeros is None:
        return {}
    if callable(zeros):
        return {"zeros": _mask(zeros(_frame(_named(axes))), shape, "what zeros returns")}
    if isinstance(zeros, Sequence) and zeros and all(isinstance(r, Mapping) for r in zeros):
        known = _named(axes)
        return {f"zeros[{k}]": _ruled(f"zeros[{k}]", rule, known) for k, rule in enumerate(zeros)}
    mask = _mask(zeros, shape, "zeros")
    check_order("zeros", zeros, axes)
    return {"zeros": mask}


def check_possible(counts: NDArray[np.int64], masks: Mapping[str, NDArray[np.bool_]]) -> None:
    """Raise InvalidInput if a record is in a structural zero, naming the rule, not the record."""
    for rule, mask in masks.items():
        if np.any(counts[mask]):
            raise InvalidInput(
                f"data has records where {rule} says that there can be none; correct them by a "
                "public rule, or leave this rule out of zeros"
            )


def _mask(given: Any, shape: tuple[int, ...], what: str) -> NDArray[np.bool_]:
    if np.any(is_missing(given)):
        raise InvalidInput(f"{what} has missing values; {_ALLOWED}")
    mask = np.asarray(given)
    if mask.dtype.kind != "b" or mask.shape not in (shape, (math.prod(shape),)):
        raise InvalidInput(
            f"{what} has type {mask.dtype} and shape {mask.shape}, but the table has shape "
            f"{shape}; {_ALLOWED}"
        )
    return mask.ravel()


def _ruled(what: str, rule: Mapping[Any, Any], axes: Sequence[Axis]) -> NDArray[np.bool_]:
    columns = {axis.name: axis.categories for axis in axes if axis.categories is not None}
    excluded = []
    for name, given in rule.items():
        labels = list(given) if isinstance(given, list | tuple | set) else [given]
        if name not in columns or not set(labels) <= set(columns[name] or ()):
            raise InvalidInput(
                f"{what} is of {quoted(name)}, which isn't a column with these categories; the "
                f"categorical columns are {columns}"
            )
    if not rule:
        raise InvalidInput(f"{what} is an empty rule, which excludes every cell; {_ALLOWED}")
    for axis in axes:
        given = rule.get(axis.name, axis.categories)
        labels = list(given) if isinstance(given, list | tuple | set) else [given]
        every = axis.name not in rule
        excluded.append(
            np.array([every or label in labels for label in axis.categories or [None] * axis.size])
        )
    mask = np.ones((), dtype=bool)
    for part in excluded:
        mask = np.logical_and.outer(mask, part)
    return np.asarray(mask).ravel()


def _named(axes: Sequence[Axis] | None) -> Sequence[Axis]:
    if axes is None:
        raise InvalidInput(
            "zeros is about columns, but the cells have no names; give categories or bounds, or "
            "zeros as a boolean array over the cells"
        )
    return axes


def _frame(axes: Sequence[Axis]) -> Any:
    import pandas as pd

    cells = math.prod(shape_of(axes))
    return pd.DataFrame(table(axes, np.zeros(cells, dtype=np.int64))).drop(columns="count")
