"""Copies of synthetic records, as other programs publish them, read into a mechanism's outputs.

`Release.of_copies` says which tables can be read, and what their rows mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesdp.checks import listed_labels
from bayesdp.core.outputs import FromRecords
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.release.noisy_tables import as_pandas, frames_in

Parts = dict[Any, tuple[Mechanism, list[Any]]]
_ONLY = None  # the label of a release without groups


def parts_of(frames: Any, mechanism: Any, column: str | None, by: str | None) -> tuple[str, Parts]:
    """Read copies into the name of their variable, and each group's mechanism and outputs."""
    tables = [_table(name, each, column) for name, each in _named(frames).items()]
    grouped = [_groups(name, table, by) for name, table in tables]
    labels = list(dict.fromkeys(label for _, groups in grouped for label in groups))
    mechanisms = _mechanisms(mechanism, by, labels)
    parts: Parts = {label: (each, []) for label, each in mechanisms.items()}
    for name, groups in grouped:
        for label, (each, outputs) in parts.items():
            where = name if label is _ONLY else f"group {quoted(label)} of {name}"
            if label not in groups:
                raise InvalidInput(f"{where} has no rows; every copy has those of all groups")
            outputs.append(_output(where, each, groups[label], column))
    first = next(iter(grouped[0][1].values()))
    alone = len(first.columns) == 1 and isinstance(first.columns[0], str)
    return column or (first.columns[0] if alone else "value"), parts


def _named(frames: Any) -> dict[str, Any]:
    """The copies, by the names that errors give them."""
    frames = as_pandas(frames)
    if isinstance(frames, str | Path):
        made = frames_in(frames)
    elif isinstance(frames, pd.DataFrame | pd.Series) or _dimensions(_peek(frames)) == 0:
        made = {"frames": frames}
    else:
        made = {f"frames[{k}]": each for k, each in enumerate(frames)}
    if not made:
        raise InvalidInput(
            f"frames is {quoted(frames)}; give a DataFrame, a Series or an array for each copy, or "
            "a folder of a .csv or .parquet file for each"
        )
    return made


def _peek(frames: Any) -> Any:
    """The first of several copies, or a number where there is but one, a list of numbers."""
    if not isinstance(frames, Sequence | np.ndarray) or getattr(frames, "ndim", 1) == 0:
        raise InvalidInput(
            f"frames is of type {type(frames).__name__}; give a DataFrame, a Series or an array, "
            "or a list of them, one for each copy, or a folder"
        )
    return frames[0] if len(frames) else []


def _table(name: str, given: Any, column: str | None) -> tuple[str, pd.DataFrame]:
    """Return a copy as a DataFrame whose columns differ, or raise InvalidInput."""
    given = as_pandas(given)
    if isinstance(given, pd.DataFrame):
        table = given
    elif _dimensions(given) == 1:
        made = pd.Series(given)
        label = made.name if isinstance(made.name, str) else column or "value"
        table = made.to_frame(label)
    else:
        raise InvalidInput(
            f"{name} has {_dimensions(given)} dimensions; a copy is a DataFrame, or a Series or "
            "array of one column"
        )
    if not len(table):
        raise InvalidInput(f"{name} has no rows; a copy has one for each synthetic record")
    if table.columns.has_duplicates:
        raise InvalidInput(f"{name} has the columns {list(table.columns)}; each must differ")
    return name, table


def _dimensions(given: Any) -> int:
    """Number of dimensions; 2 where lists differ in length."""
    try:
        return np.ndim(given)
    except ValueError:
        return 2


def _groups(name: str, table: pd.DataFrame, by: str | None) -> tuple[str, dict[Any, pd.DataFrame]]:
    """Split a copy by its groups, and drop their column."""
    if by is None:
        return name, {_ONLY: table}
    if not isinstance(by, str) or by not in table.columns:
        raise InvalidInput(
            f"by is {quoted(by)}; {name} has the columns {list(table.columns)}, and a group's "
            "label must be in one of them"
        )
    if table[by].isna().any():
        raise InvalidInput(
            f"column {quoted(by)} of {name} has missing labels; each row has a group"
        )
    labels = table[by].to_numpy()
    listed_labels(f"column {quoted(by)} of {name}", labels)
    split = table.drop(columns=by).groupby(labels, sort=True)
    return name, {
        getattr(label, "item", lambda label=label: label)(): each for label, each in split
    }


def _mechanisms(given: Any, by: str | None, labels: list[Any]) -> dict[Any, Mechanism]:
    """Each group's mechanism, in the order of the mapping or of the labels."""
    made = given if isinstance(given, Mapping) else dict.fromkeys(labels, given)
    if isinstance(given, Mapping) and by is None:
        raise InvalidInput("mechanism has one for each group, but by doesn't say which column is")
    if set(made) != set(labels):
        raise InvalidInput(
            f"mechanism has the groups {list(made)}, and the copies have {labels}; give one for "
            "each"
        )
    for each in made.values():
        if isinstance(each, type) or not hasattr(each, "space"):
            raise InvalidInput(
                f"mechanism is {quoted(each)}; it must be a mechanism of bdp.mechanisms with the "
                "public parameters that the copies were drawn with, or a mapping of one for each "
                "group"
            )
    return dict(made)


def _output(where: str, mechanism: Mechanism, table: pd.DataFrame, column: str | None) -> Any:
    """Read and check the output that a group's records stand for."""
    reader = mechanism.space.from_records
    if reader is None:
        raise InvalidInput(
            f"mechanism {quoted(mechanism.name)} releases no synthetic records that its outputs "
            "could be read from; give the outputs themselves to bdp.Release.of"
        )
    names = _columns(where, reader, table, column)
    try:
        return mechanism.check_output(reader.output([table[name].to_numpy() for name in names]))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _columns(
    where: str, reader: FromRecords, table: pd.DataFrame, column: str | None
) -> Sequence[Any]:
    """Names of the columns that a mechanism's records are read from, in its order."""
    have = list(table.columns)
    if reader.names:
        if column is not None or set(have) != set(reader.names):
            raise InvalidInput(
                f"{where} has the columns {have}{'' if column is None else ', and column is given'}"
                f"; this mechanism's records have the columns {list(reader.names)}, all of them "
                "and no others: rename or drop, and leave column out"
            )
        return reader.names
    if column is None and len(have) == 1:
        return have
    if column not in have:
        raise InvalidInput(
            f"column is {quoted(column)}; this mechanism's records have one column: say which of "
            f"{have} of {where}"
        )
    return [column]
