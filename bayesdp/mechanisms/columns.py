"""Outputs of one number or of several, as columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput


def encode_numbers(outputs: Sequence[Any]) -> dict[str, Any]:
    """`copy` and `value`, a row a copy; a tuple takes a row a component, numbered in `component`.

    Integers and floats keep their type, and so every digit.
    """
    values = np.asarray(outputs)
    copies = np.arange(len(values))
    if values.ndim == 1:
        return {"copy": copies, "value": values}
    return {
        "copy": np.repeat(copies, values.shape[1]),
        "component": np.tile(np.arange(values.shape[1]), len(values)),
        "value": values.ravel(),
    }


def decode_numbers(columns: Mapping[str, Any]) -> list[Any]:
    """What `encode_numbers` encoded, in the order of the copies; rows in any order.

    Raises
    ------
    InvalidInput
        If copies have other components than 0, 1, ..., each once.
    """
    copy, value = np.asarray(columns["copy"]), np.asarray(columns["value"])
    if "component" not in columns:
        return list(value[np.argsort(copy, kind="stable")].tolist())
    component = np.asarray(columns["component"])
    order = np.lexsort((component, copy))
    copies = len(np.unique(copy))
    width = len(copy) // max(copies, 1)
    expected = np.tile(np.arange(width), copies)
    if not np.array_equal(component[order], expected):
        raise InvalidInput("component must number the parts of each copy from 0, each once")
    return [tuple(row) for row in value[order].reshape(copies, width).tolist()]
