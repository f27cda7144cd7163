"""Tables of noisy counts, as other publishers release them, read into noisy marginals.

`Release.from_noisy_tables` says which tables can be read, and what their rows mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import LARGEST, check_at_least_one, check_one_of, check_path, listed_labels
from bayesdp.core.shared_sums import contradiction, of_release
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.mechanisms.counts.marginals import sums_over
from bayesdp.mechanisms.counts.noisy_marginals import NoisyMarginalsMechanism
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.table_files import batches_of, frame_in, is_table
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

COUNT = "count"
_MOST_CELLS = 1_000_000
ABSENT = ("refused", "impossible")

Made = tuple[NoisyMarginalsMechanism, list[Any]]


@dataclass(frozen=True)
class NoisyTable:
    """A table of noisy counts: its name, for errors, its columns, and the counts of its cells.

    Attributes
    ----------
    name : str
        How errors name it.
    columns : tuple of str
        Its columns, of those that the axes have.
    counts : ndarray of int64
        Noisy counts, one axis a column.
    present : ndarray of bool, optional
        Cells that the table has a count for; None if all.
    """

    name: str
    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    present: NDArray[np.bool_] | None = None


def read_frames(frames: Any) -> dict[str, pd.DataFrame]:
    """Read tables by name, from a mapping, a sequence or a folder of files."""
    given = frames
    if isinstance(frames, str | Path):
        frames = frames_in(frames)
    elif isinstance(frames, Sequence):
        frames = {f"frames[{k}]": frame for k, frame in enumerate(frames)}
    if not isinstance(frames, Mapping) or not frames:
        raise InvalidInput(
            f"frames is {quoted(given)}; it must be a mapping or list of DataFrames, one or more, "
            "or a folder of .csv or .parquet files"
        )
    made = {str(name): check_frame(str(name), frame) for name, frame in frames.items()}
    if len(made) < len(frames):
        raise InvalidInput("frames has two tables of one name; name each otherwise")
    return made


def frames_in(folder: str | Path) -> dict[str, pd.DataFrame]:
    """Read a folder's tables, by their files' names, in order; none if it is no folder.

    A column where a numeral begins with 0, such as an area's code 01, or that has other texts in
    a file, is of texts in all files.
    """
    folder = check_path("frames", folder)
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    read = {file: frame_in(str(file), None, ()) for file in files if is_table(str(file))}
    texts = [_numerals(file, frame) for file, frame in read.items()]
    codes = {
        name
        for text in texts
        for name in text
        if text[name].drop_duplicates().astype(str).str.match(r"\s*[+-]?0\d").any()
    } | {
        name
        for frame in read.values()
        for name in frame.columns.drop(COUNT, errors="ignore")
        if any(isinstance(label, str) for label in frame[name].unique())
    }
    return {
        file.name: frame.assign(**{str(c): text[c] for c in codes.intersection(text)})
        for (file, frame), text in zip(read.items(), texts, strict=True)
    }


def _numerals(file: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that were read as numbers, but for counts, as a file of text has them."""
    numbers = [c for c in frame.columns if c != COUNT and frame[c].dtype.kind in "iuf"]
    if not numbers or batches_of(file) != "csv":
        return frame[[]]
    return frame_in(str(file), numbers, numbers)


def as_pandas(given: Any) -> Any:
    """Return a table or a column of Polars or Arrow as pandas'; anything else as it is."""
    return given.to_pandas() if hasattr(given, "to_pandas") else given


def check_frame(name: str, frame: Any) -> pd.DataFrame:
    """Return a table if it has columns of categories and whole counts, else raise InvalidInput."""
    import pandas as pd

    frame = as_pandas(frame)
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(
            f"{quoted(name)} is {quoted(frame)}; each table must be a DataFrame, of pandas, Polars "
            "or Arrow"
        )
    columns = list(frame.columns)
    if columns.count(COUNT) != 1 or len(set(columns)) < len(columns) or len(columns) < 2:
        raise InvalidInput(
            f"{quoted(name)} has the columns {columns}; it must have one or more of categories, "
            f"each once, and {quoted(COUNT)}"
        )
    counts = frame[COUNT]
    whole = counts.dtype.kind in "iu" and len(frame) and not counts.isna().any()
    if not whole or max(int(counts.max()), -int(counts.min())) > LARGEST:
        raise InvalidInput(
            f"{quoted(COUNT)} of {quoted(name)} has {len(frame)} rows of type "
            f"{counts.dtype}; noisy counts are integers, as they were drawn: neither "
            "missing, nor beyond int64, rounded, scaled or made consistent afterwards"
        )
    return frame


def axes_of(frames: Mapping[str, pd.DataFrame]) -> tuple[Axis, ...]:
    """The columns of all tables, with all labels of each, in the order in which they appear."""
    labels: dict[str, dict[Any, None]] = {}
    for frame in frames.values():
        for name in frame.columns.drop(COUNT):
            column = frame[name]
            known = column.cat.categories if column.dtype == "category" else column
            if column.isna().any():
                raise InvalidInput(
                    f"column {quoted(name)} has missing labels; give missing values a label of "
                    "their own, such as 'missing'"
                )
            listed = listed_labels(f"column {quoted(name)}", known)
            labels.setdefault(name, {}).update(dict.fromkeys(listed))
    return tuple(Axis(name, categories=tuple(found)) for name, found in labels.items())


def tabulated(name: str, frame: pd.DataFrame, axes: Sequence[Axis], absent: str) -> NoisyTable:
    """Lay a frame's counts out along its axes; rows that it lacks are as `absent` says."""
    known = {axis.name: axis for axis in axes}
    own = [known[column] for column in frame.columns.drop(COUNT)]
    _check_size(own)
    places = tuple(axis.bins(frame[axis.name], clamp=False) for axis in own)
    counts = np.zeros(shape_of(own), dtype=np.int64)
    times = np.zeros(shape_of(own), dtype=np.int64)
    np.add.at(times, places, 1)
    if np.any(times > 1):
        raise InvalidInput(
            f"{quoted(name)} has {np.sum(times > 1)} combinations of labels in more than one row; "
            "each has one count"
        )
    if absent == "refused" and not np.all(times):
        first = np.argwhere(times == 0)[0]
        cell = ", ".join(
            f"{quoted(axis.name)} = {quoted(axis.shown(np.array([k]))[0][0])}"
            for axis, k in zip(own, first, strict=True)
        )
        raise InvalidInput(
            f"{quoted(name)} has no row for {np.sum(times == 0)} of its {times.size} combinations, "
            f"such as {cell}; give the noisy count of each, also where it is 0, or say "
            "absent='impossible' if no record can be there by a public rule, as of areas within "
            "areas: not if rows were left out because of their counts"
        )
    counts[places] = frame[COUNT].to_numpy()
    return NoisyTable(name, tuple(axis.name for axis in own), counts, times > 0)


def mechanism_and_output(
    axes: Sequence[Axis], tables: Sequence[NoisyTable], **fields: Any
) -> tuple[NoisyMarginalsMechanism, list[int]]:
    """Make the mechanism that released these tables, and its output.

    Parameters
    ----------
    axes : sequence of Axis
    tables : sequence of NoisyTable
    **fields
        The mechanism's scale, noise, neighbours and n.
    """
    sizes = _check_size(axes)
    known: dict[frozenset[str], str] = {}
    for table in tables:
        columns = frozenset(table.columns)
        if columns in known:
            raise InvalidInput(
                f"{quoted(known[columns])} and {quoted(table.name)} have the same columns; tables "
                "of a release have different sets of the columns: make a release of each, and give "
                "models both in a list"
            )
        known[columns] = table.name
    names = [axis.name for axis in axes]
    order = [[names.index(column) for column in table.columns] for table in tables]
    possible = np.ones(sizes, dtype=bool)
    for table, own in zip(tables, order, strict=True):
        if table.present is not None:
            moved = np.transpose(table.present, np.argsort(own))
            possible &= moved.reshape([n if k in own else 1 for k, n in enumerate(sizes)])
    for table, own in zip(tables, order, strict=True):
        held = sums_over(possible, [tuple(own)]).reshape(table.counts.shape) > 0
        if table.present is not None and np.any(table.present & ~held):
            raise InvalidInput(
                f"{quoted(table.name)} has counts of combinations that are impossible by the rows "
                "that another table lacks; no record can be counted there: correct either"
            )
    made = NoisyMarginalsMechanism(
        axes=tuple(axes),
        marginals=tuple(table.columns for table in tables),
        zeros=tuple(np.flatnonzero(~possible).tolist()),
        **fields,
    )
    return made, np.concatenate([table.counts.ravel() for table in tables]).tolist()


def _check_size(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the number of labels of each axis, or raise InvalidInput for too many cells."""
    sizes = shape_of(axes)
    if math.prod(sizes) > _MOST_CELLS:
        raise InvalidInput(
            f"the columns {[axis.name for axis in axes]} have {math.prod(sizes):,} combinations; "
            f"noisy marginals hold {_MOST_CELLS:,} at most: give the tables of fewer columns, or "
            "group labels"
        )
    return sizes


def parts_of(
    frames: Any, exact: Any, absent: Any, fields: Mapping[str, Any]
) -> tuple[str | None, dict[Any, Made]]:
    """Each group's mechanism and outputs, and the name of the column of groups, if there is one."""
    check_one_of("absent", absent, ABSENT)
    tables = read_frames(frames)
    if exact is not None and check_neighbours(fields["neighbours"]) is not Neighbours.REPLACE_ONE:
        raise InvalidInput(
            f"exact is {quoted(exact)}, public, but neighbours is "
            f"{quoted(fields['neighbours'])}, where a record added or removed shows in it; promise "
            "under neighbours='replace_one', or leave exact out"
        )
    if not hasattr(exact, "columns"):
        n = None if exact is None else check_at_least_one("exact", exact, "or a DataFrame")
        return None, warned_of({None: _read(tables, absent, n=n, **fields)}, 3)
    by, totals = _totals(exact)
    for name, frame in tables.items():
        if by not in frame.columns or len(frame.columns) < 3:
            raise InvalidInput(
                f"{quoted(name)} has the columns {list(frame.columns)}; where exact has the totals "
                f"by {quoted(by)}, each noisy table must have that column and another: no mechanism"
                " here has both a noisy and an exact count of the same. Give exact=None, or the "
                "total of all as a whole number, for tables across it"
            )
        if set(frame[by]) != set(totals):
            raise InvalidInput(
                f"column {quoted(by)} of {quoted(name)} has other labels than exact; both must "
                "have all groups"
            )
    if absent == "refused":  # a label that one group alone lacks isn't missed within that group
        axes = axes_of(tables)
        for name, frame in tables.items():
            tabulated(name, frame, axes, absent)
    parts = {
        label: _read(
            {name: frame[frame[by] == label].drop(columns=by) for name, frame in tables.items()},
            absent,
            n=n,
            **fields,
        )
        for label, n in totals.items()
    }
    return by, warned_of(parts, 3)


def warned_of(parts: dict[Any, Made], stacklevel: int) -> dict[Any, Made]:
    """Return each group's mechanism and outputs, and warn where its marginals contradict others."""
    for label, (made, outputs) in parts.items():
        told = contradiction(of_release(made, outputs))
        if told is not None:
            where = "" if label is None else f" (in the group {quoted(label)})"
            warn_about(f"{told}{where}", "conflict", stacklevel=stacklevel + 1)
    return parts


def _read(frames: Mapping[str, pd.DataFrame], absent: str, **fields: Any) -> Made:
    axes = axes_of(frames)
    tables = [tabulated(name, frame, axes, absent) for name, frame in frames.items()]
    made, output = mechanism_and_output(axes, tables, **fields)
    return made, [output]


def _totals(exact: Any) -> tuple[str, dict[Any, int]]:
    """The column of groups, and each one's exact number of records."""
    frame = check_frame("exact", exact)
    names = list(frame.columns.drop(COUNT))
    if len(names) > 1 or frame[names[0]].duplicated().any():
        raise InvalidInput(
            f"exact has the columns {list(frame.columns)}; it must be a whole number, or the "
            "totals of disjoint groups: one column that names them, each once, and "
            f"{quoted(COUNT)}"
        )
    totals = dict(zip(frame[names[0]].tolist(), frame[COUNT].tolist(), strict=True))
    for label, n in totals.items():
        if n < 1:
            raise InvalidInput(
                f"exact has {quoted(n)} for {quoted(label)}; it must be a whole number, at least "
                "1: leave a group without records out, of the noisy tables too"
            )
    return names[0], totals
