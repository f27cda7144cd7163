"""Reading of confidential columns and their groups from a table."""

from __future__ import annotations

import importlib
import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.table_files import check_columns, frame_in

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    source: str | Path, columns: list[str] | None = None, *, text: Collection[str] = ()
) -> pd.DataFrame:
    """Read some columns of a file, or of a data set of statsmodels.

    A CSV file, with commas, semicolons or tabs, doesn't say its columns' types. Those that are
    guessed are a function of all records: one 0.5 turns every other 1 into 1.0.

    Parameters
    ----------
    source : path or str
        A `.csv`, `.tsv`, `.parquet`, `.xlsx` (its first sheet), `.dta` or `.sav` file, `-` for CSV
        from standard input, or `statsmodels:NAME`.
    columns : list of str, optional
        The columns to read; others aren't read from a Parquet file. Default: all.
    text : collection of str
        Columns of a CSV or Excel file whose values are kept as they are written, each record by
        itself.

    Raises
    ------
    InvalidInput
        If the file doesn't exist or isn't a table, or a column isn't in it or is in it twice.
    MissingDependency
        If the package that reads such files isn't installed.
    """
    name = str(source)
    if name.startswith("statsmodels:"):
        frame = _statsmodels(name.partition(":")[2])
        columns = list(frame.columns) if columns is None else columns
        check_columns(list(frame.columns), columns, name)
        return frame[list(dict.fromkeys(columns))]
    return frame_in(name, columns, text)


def answers(
    column: pd.Series[Any],
    *,
    equals: str | None = None,
    values: Collection[str] | None = None,
    above: float | None = None,
) -> pd.Series[Any]:
    """Return a column as 0/1 answers.

    Parameters
    ----------
    column : Series
        Missing values stay missing, for the synthesizer to refuse.
    equals : str, optional
        The value that counts as 1, as it is written in a CSV file; the others in `values` count as
        0. A column from there must have been read as text.
    values : collection of str, optional
        All values that may occur, with `equals`: public, chosen without the data. A mistyped value
        is then found without looking at the records.
    above : float, optional
        Numbers above it count as 1, the others as 0.

    Raises
    ------
    InvalidInput
        If both are given, or `above` with a column of text; if `equals` isn't among `values`, or
        one is given without the other; or if another value occurs, which isn't shown.
    """
    listed = check_values(equals, values, above)
    present = column.notna()
    if equals is not None:
        written = column.astype(str).str.strip()
        if not written[present].isin(listed).all():
            raise InvalidInput(
                f"column {quoted(column.name)} has a record that is none of values = "
                f"{sorted(listed)}; list all that may occur"
            )
        chosen = written == equals.strip()
    elif above is not None:
        if column.dtype.kind not in "iufb":
            raise InvalidInput(
                f"above is {above}, but column {quoted(column.name)} is not of numbers"
            )
        chosen = column > above
    else:
        return column
    return chosen.astype(object).where(present, None) if not present.all() else chosen


def check_values(
    equals: str | None, values: Collection[str] | None, above: float | None = None
) -> list[str]:
    """Return all values that may occur, or none where `equals` isn't given; else raise."""
    if equals is not None and above is not None:
        raise InvalidInput("equals and above are both given; choose one")
    listed = [value.strip() for value in values or ()]
    if equals is None:
        if values is not None:
            raise InvalidInput(f"values is {listed}, but equals is not given; say what counts as 1")
        return []
    if values is None:
        raise InvalidInput(
            f"equals is {quoted(equals)}, but values is not given; list all values that may occur, "
            f"without looking at the data, for example --values {equals.strip()},no"
        )
    if equals.strip() not in listed or len(set(listed)) < max(len(listed), 2):
        raise InvalidInput(
            f"equals is {quoted(equals)} and values is {listed}; it must be one of them, and each "
            "of them, two or more, listed once"
        )
    return listed


def group_labels(column: pd.Series[Any], names: Mapping[str, Any] | None = None) -> pd.Series[Any]:
    """Return a column as group labels: whole numbers as integers, or named by `names`, in order.

    Parameters
    ----------
    column : Series
    names : mapping of str to label, optional
        All groups that may occur, by how they are written: 1 is also 1.0, unless that is listed
        too. Each record is named by itself, whatever the others are.

    Raises
    ------
    InvalidInput
        If `names` leaves out a value that occurs; it isn't shown.
    """
    import pandas as pd

    if names is None:
        if column.dtype.kind == "f" and column.notna().all() and (column % 1 == 0).all():
            return column.astype("int64")
        return column
    if column.isna().any():
        raise InvalidInput(
            f"column {quoted(column.name)} has missing values; give every record a group"
        )
    written = [as_written(value, names) for value in column.tolist()]
    if not set(written) <= set(names):
        raise InvalidInput(f"groups are {sorted(names)}, but others occur too; list them all")
    listed = list(names.values())
    named = pd.Categorical([names[key] for key in written], listed, ordered=True)
    return pd.Series(named, index=column.index, name=column.name)


def guessed(written: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of texts as the numbers or truth values that they are, if all are.

    Where a numeral begins with 0, as 01, all are codes and stay texts: 01 isn't 1, nor 001. What
    they are depends on the labels that occur alone, and those of groups are public.
    """
    import pandas as pd

    labels = pd.Series(written.dropna().unique(), name="label")
    if labels.empty or labels.str.match(r"\s*[+-]?0\d").any():
        return written
    read = pd.read_csv(io.StringIO(labels.to_csv(index=False)))["label"]
    return written.map(dict(zip(labels, read, strict=True)))


def as_written(value: Any, names: Mapping[str, Any]) -> str:
    """Return a label as it is among `names`: 1.0 as 1, unless that is there too."""
    key = str(value).strip()
    if key in names:
        return key
    try:
        number = float(key)
    except ValueError:
        return key
    return str(int(number)) if number.is_integer() else key


def repeated(frame: pd.DataFrame, counts: str) -> pd.DataFrame:
    """Repeat each row as many times as its column `counts` says: one row for each record.

    Raises
    ------
    InvalidInput
        If a number isn't whole, is below 0 or is missing; it isn't shown.
    """
    import numpy as np

    numbers = frame[counts]
    if numbers.dtype.kind not in "iuf" or not np.all((numbers >= 0) & (numbers % 1 == 0)):
        raise InvalidInput(
            f"column {quoted(counts)} isn't of whole numbers from 0: it must say how many records "
            "each row stands for"
        )
    rows = np.repeat(np.arange(len(frame)), numbers.astype(int))
    return frame.iloc[rows].reset_index(drop=True)


def _statsmodels(name: str) -> pd.DataFrame:
    try:
        module = importlib.import_module(f"statsmodels.datasets.{name}")
    except ImportError as error:
        raise InvalidInput(f"statsmodels has no data set {quoted(name)}") from error
    frame: pd.DataFrame = module.load_pandas().data
    return frame
