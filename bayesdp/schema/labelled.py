"""Columns of labels: categories, ordered ones, and booleans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator

from bayesdp.checks import is_text
from bayesdp.errors import quoted
from bayesdp.schema.column import MISSING, MOST_CELLS, Column
from bayesdp.schema.records import LARGEST, whole

_KINDS = {str: "text", int: "integer", bool: "boolean"}
_WAYS = {
    "text": "read it as text, as pd.read_csv(..., dtype=str), or list labels of its own kind",
    "integer": "convert it to whole numbers, or list its labels as they are",
    "boolean": "convert it, as column.astype('boolean'), or list its labels as they are",
}
_EMPTY = {"", "<NA>", "#N/A", "#N/A N/A", "#NA", "N/A", "NA", "NULL", "NaN", "None"} | {
    "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "n/a", "nan", "null"
}  # fmt: skip
"""Texts that pandas or Arrow reads from a CSV file as missing values."""


class Labels(Column):
    """Column whose values are listed labels: all texts, all integers or all booleans.

    Parameters
    ----------
    labels : tuple of str, int or bool
        All labels, different; an ordered column's in their order.
    other : label, optional
        The label that values outside `labels` are moved to; by default they are refused.
    hierarchy : mapping of str to tuple of labels
        Groups of labels, by name; no label is in two.
    """

    type: Literal["category", "ordered"]
    labels: Any = Field(default=None, validate_default=True)
    other: Any = None
    hierarchy: Any = Field(default_factory=dict)

    @field_validator("labels")
    @classmethod
    def _labels(cls, labels: Any, info: ValidationInfo) -> Any:
        if not isinstance(labels, tuple) or not labels or len(labels) > MOST_CELLS:
            raise ValueError(f"it must be a list of labels, from 1 to {MOST_CELLS:,}")
        kinds = {type(label) for label in labels}
        if len(kinds) > 1 or not kinds <= set(_KINDS):
            raise ValueError("labels must be all texts, all whole numbers or all booleans")
        first: dict[Any, int] = {}
        for k, label in enumerate(labels, 1):
            if first.setdefault(label, k) < k:
                raise ValueError(f"labels {first[label]} and {k} are the same; list each once")
        _check_readable(labels, missing=info.data.get("missing"))
        return labels

    @field_validator("other")
    @classmethod
    def _other(cls, other: Any, info: ValidationInfo) -> Any:
        if other is not None and "labels" in info.data:
            _check_labels([other], info.data["labels"])
        return other

    @field_validator("hierarchy")
    @classmethod
    def _hierarchy(cls, hierarchy: Any, info: ValidationInfo) -> Any:
        if not isinstance(hierarchy, Mapping) or not all(
            isinstance(name, str) and isinstance(group, tuple) and group
            for name, group in hierarchy.items()
        ):
            raise ValueError("it must be groups of labels, as { mainland = ['north', 'south'] }")
        labels = info.data.get("labels", ())
        seen: set[Any] = set()
        for name, group in hierarchy.items() if labels else ():
            if name in labels or name == MISSING:
                raise ValueError(f"group {quoted(name)} has the name of a label; rename it")
            _check_labels(group, labels, f"group {quoted(name)} has ")
            if len(set(group)) < len(group) or seen & set(group):
                raise ValueError(f"group {quoted(name)} has a label twice, or one of another group")
            seen |= set(group)
        return hierarchy

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def shown(self) -> tuple[Any, ...]:
        return tuple(self.labels)

    @property
    def takes(self) -> tuple[str, ...]:
        return _kinds_of(self.labels)

    @property
    def way_out(self) -> str:
        return _WAYS[self.takes[0]]

    @property
    def outside_said(self) -> str:
        return (
            "has values outside its labels; list all that can occur, without looking at the data, "
            "or declare the label they are moved to, as other"
        )

    def places(self, kind: str, values: NDArray[Any]) -> NDArray[np.int64]:
        found = _found(self.labels, kind, values)
        if self.other is not None:
            found = np.where(found < 0, _place(self.other, self.labels), found)
        return found

    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        import pandas as pd

        dtype = pd.CategoricalDtype(list(self.labels), ordered=self.type == "ordered")
        return pd.Categorical.from_codes(np.where(missing, -1, codes), dtype=dtype)

    def picked(self, given: Any) -> NDArray[np.bool_]:
        each = given if isinstance(given, tuple) else (given,)
        if len(each) == 0:
            raise ValueError("it is an empty list; name a label or more")
        picked = [
            label
            for one in each
            for label in (self.hierarchy.get(one, (one,)) if isinstance(one, str) else (one,))
        ]
        _check_labels(picked, self.labels)
        named = set(picked)
        return np.array([label in named for label in self.labels])


class Boolean(Column):
    """Column of booleans, whose cells are False and True.

    Parameters
    ----------
    labels : tuple of two str, or of two int, optional
        What stands for False and for True in the data, as ("no", "yes"), in this order; by default
        they are booleans.
    """

    type: Literal["boolean"]
    labels: Any = (False, True)

    @field_validator("labels")
    @classmethod
    def _labels(cls, labels: Any, info: ValidationInfo) -> Any:
        kinds = {type(label) for label in labels} if isinstance(labels, tuple) else set()
        if (
            len(kinds) != 1
            or not kinds <= {str, int}
            or len(labels) != len(set(labels))
            or len(labels) != 2
        ):
            raise ValueError(
                "it must be two texts or whole numbers, that of false and that of true, as "
                "['no', 'yes']"
            )
        _check_readable(labels, missing=info.data.get("missing"))
        return labels

    @property
    def size(self) -> int:
        return 2

    @property
    def shown(self) -> tuple[Any, ...]:
        return tuple(self.labels)

    @property
    def middles(self) -> NDArray[np.float64]:
        return np.array([0.0, 1.0])

    @property
    def takes(self) -> tuple[str, ...]:
        return _kinds_of(self.labels)

    @property
    def way_out(self) -> str:
        return (
            "give what stands for false and for true in the data as the schema's labels: labels = "
            "['no', 'yes'], or none for booleans"
        )

    @property
    def way_out_of_file(self) -> str:
        return self.way_out

    @property
    def outside_said(self) -> str:
        return "has values that are neither of its labels, those of false and of true"

    def places(self, kind: str, values: NDArray[Any]) -> NDArray[np.int64]:
        return _found(self.labels, kind, values)

    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        import pandas as pd

        if self.takes != ("boolean",):  # 0 and 1 are no booleans
            dtype = pd.CategoricalDtype(list(self.labels))
            return pd.Categorical.from_codes(np.where(missing, -1, codes), dtype=dtype)
        values = codes.astype(bool)
        return pd.arrays.BooleanArray(values, missing) if self.missing else values

    def picked(self, given: Any) -> NDArray[np.bool_]:
        if isinstance(given, bool):
            return np.array([not given, given])
        if _place(given, self.labels) < 0:
            raise ValueError("it must be true or false, or a label")
        return np.array([label == given for label in self.labels])


def _kinds_of(labels: tuple[Any, ...]) -> tuple[str, ...]:
    """Kinds of values that labels stand for; whole numbers beside missing ones are floats."""
    kind = _KINDS[type(labels[0])]
    return ("integer", "number") if kind == "integer" else (kind,)


def _check_readable(labels: tuple[Any, ...], *, missing: Any) -> None:
    """Raise ValueError if a label can't be told from another, or from a missing value."""
    if type(labels[0]) is int and max(map(abs, labels)) > LARGEST:
        raise ValueError("a label is beyond 2^53, where floats can't tell it from the next")
    if isinstance(labels[0], str) and not all(map(is_text, labels)):
        raise ValueError("a label has NUL or half a surrogate pair, which files don't keep")
    if missing and MISSING in labels:
        raise ValueError("'missing' is a label, and means missing values too; rename it")
    if missing and (empty := _EMPTY & set(labels)):
        raise ValueError(
            f"label {quoted(min(empty))} is how files write a missing value, so that its "
            "records would count as missing; rename it, there and here"
        )


def _found(labels: tuple[Any, ...], kind: str, values: NDArray[Any]) -> NDArray[np.int64]:
    """Place of each value among labels, or -1."""
    import pandas as pd

    if kind == "boolean":  # of which there are two
        known = [_place(label, labels) for label in (False, True)]
        return np.where(values, known[1], known[0])
    dtype = object if kind == "text" else np.int64
    given = values if kind == "text" else whole(values)
    found = pd.Index(labels, dtype=dtype).get_indexer(pd.Index(given, dtype=dtype))
    return np.asarray(found, dtype=np.int64)


def _place(label: Any, labels: tuple[Any, ...]) -> int:
    """Place of a label, or -1; a boolean is no integer."""
    return labels.index(label) if type(label) is type(labels[0]) and label in labels else -1


def _check_labels(given: Any, labels: tuple[Any, ...], said: str = "it has ") -> None:
    """Raise ValueError unless all that are given are labels."""
    known = set(labels)
    if not all(type(label) is type(labels[0]) and label in known for label in given):
        raise ValueError(f"{said}a value that isn't one of the column's labels")
