"""Files of tables: text, Parquet, Excel, Stata and SPSS, as frames of their columns.

Nothing that is said of a file depends on a record, but that the whole can't be read.
"""

from __future__ import annotations

import csv
import difflib
import io
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesdp.checks import check_path
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import LONGEST, are_names, head_of, not_utf_8, separator_of
from bayesdp.optional import needed
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import pandas as pd

_OF_PROGRAMS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
STANDARD_INPUT = "-"
"""Name of a CSV file that is read from standard input."""


def is_table(source: str) -> bool:
    """Return True for the name of a file that `frame_in` reads."""
    return Path(source).suffix.lower() in KINDS


def said_kinds() -> str:
    """List the kinds of files in words, by their suffixes."""
    *most, last = KINDS
    return f"{', '.join(most)} or {last}"


def batches_of(path: Path) -> str | None:
    """Return Arrow's name of a file's kind, or None where Arrow reads no batches of such files."""
    kind = KINDS.get(path.suffix.lower())
    return kind.batches if kind else None


def frame_in(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    """Read some columns of a file, or of standard input.

    Parameters
    ----------
    name : str
        A file, by whose suffix its kind is known, or `STANDARD_INPUT`.
    columns : list of str, optional
        The columns to read. Default: all.
    text : collection of str
        Columns whose values are kept as they are written, each record by itself.

    Raises
    ------
    InvalidInput
        If there is no such file, it can't be read, or a column isn't in it or is in it twice.
    MissingDependency
        If a package that reads such files isn't installed.
    """
    path = Path(name)
    kind = ".csv" if name == STANDARD_INPUT else path.suffix.lower()
    if kind not in KINDS:
        raise InvalidInput(
            f"data is {quoted(name)}; it must be a {said_kinds()} file, or - for CSV "
            "from standard input"
        )
    if name != STANDARD_INPUT and not path.is_file():
        raise InvalidInput(f"data is {quoted(name)}, but there is no such file")
    try:
        with _without_words(name):
            return KINDS[kind].frame(name, columns, text)
    except (InvalidInput, ImportError):
        raise
    except UnicodeDecodeError:
        raise not_utf_8(name) from None
    except Exception:  # of several packages, whose messages may show records
        raise InvalidInput(
            f"{name} can't be read as a {kind[1:]} table: {KINDS[kind].fault}"
        ) from None


def names_in(path: str | Path) -> list[str]:
    """Names of a file's columns, from a text's or a sheet's first line or a file's header alone.

    Raises
    ------
    InvalidInput
        If the file can't be read, is of another kind, or its first line is no header.
    MissingDependency
        If the package that reads such files isn't installed.
    """
    file = check_path("columns", path)
    kind = file.suffix.lower()
    if not file.is_file() or kind not in KINDS:
        raise InvalidInput(
            f"{quoted(file)} isn't a {said_kinds()} file that exists; of another, "
            "give the columns' names"
        )
    try:
        with _without_words(str(file)):
            return KINDS[kind].names(file)
    except (InvalidInput, ImportError):
        raise
    except Exception:  # of several packages, whose messages may show records
        raise InvalidInput(f"{quoted(file)} can't be read as a {kind} file") from None


@contextmanager
def _without_words(name: str) -> Iterator[None]:
    """Warn that a package warned of a file, and not in its words, which may show a record."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for category in _OF_PROGRAMS:
            warnings.simplefilter("ignore", category)
        yield
    if found:
        kinds = ", ".join(sorted({each.category.__name__ for each in found}))
        warn_about(
            f"the package that reads {name} warned of it ({kinds}), in words that may show records "
            "and aren't repeated",
            "files",
            stacklevel=5,
        )


def _text(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    whole = sys.stdin.buffer.read() if name == STANDARD_INPUT else b""
    head = whole[:LONGEST] if name == STANDARD_INPUT else head_of(Path(name))
    separator = separator_of(name, head)

    def file() -> Any:
        return io.BytesIO(whole) if name == STANDARD_INPUT else name

    # pandas would rename a column whose name is there twice.
    header = pd.read_csv(file(), header=None, nrows=1, dtype=str, sep=separator)
    there = header.iloc[0].tolist()
    check_columns(there, there if columns is None else columns, name)
    frame = pd.read_csv(file(), dtype=dict.fromkeys(text, object), sep=separator)
    if not isinstance(frame.index, pd.RangeIndex):  # else the first fields would be no columns
        raise InvalidInput(f"{name} has rows with more fields than its first line has names")
    if len(there) == 1:  # of several columns, a record without any value has separators still
        whole = pd.read_csv(file(), dtype=object, sep=separator, skip_blank_lines=False)
        if _until_the_last(whole) > _until_the_last(frame):
            raise InvalidInput(
                f"{name} has a line between records that is empty, which may be a missing value: "
                "write NA there, or leave the line out"
            )
    return frame if columns is None else frame[list(dict.fromkeys(columns))]


def _until_the_last(frame: pd.DataFrame) -> int:
    """Number of rows up to the last that isn't missing."""
    there = frame.iloc[:, 0].notna().to_numpy().nonzero()[0]
    return int(there[-1]) + 1 if there.size else 0


def _parquet(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    import pyarrow.parquet as pq

    there = _parquet_names(Path(name))
    columns = there if columns is None else columns
    check_columns(there, columns, name)
    table = pq.read_table(name, columns=list(dict.fromkeys(columns)))
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)  # pandas' makes columns an index
    return frame


def _excel(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    """The first sheet; its first row has the names."""
    import pandas as pd

    needed("openpyxl", "an .xlsx file", "files")
    header = pd.read_excel(name, header=None, nrows=1)
    there = [] if header.empty else header.iloc[0].tolist()
    check_columns(there, there if columns is None else columns, name)
    types: Any = dict.fromkeys(text, object)
    frame = pd.read_excel(name, dtype=types)
    return frame if columns is None else frame[list(dict.fromkeys(columns))]


def _stata(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    frame = _labelled(pd.read_stata(name), columns, text, name)
    return frame.mask(frame == "")  # Stata's missing value of a text


def _spss(name: str, columns: list[str] | None, text: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    needed("pyreadstat", "an .sav file", "files")
    return _labelled(pd.read_spss(name), columns, text, name)


def _labelled(
    frame: pd.DataFrame, columns: list[str] | None, text: Collection[str], name: str
) -> pd.DataFrame:
    """Some columns, with values' labels instead of them, and whole numbers as such in a text."""
    columns = list(frame.columns) if columns is None else columns
    check_columns(list(frame.columns), columns, name)
    chosen = frame[list(dict.fromkeys(columns))].copy()
    for column in chosen:
        if chosen[column].dtype == "category":
            chosen[column] = chosen[column].astype(object)
        if column in text:
            chosen[column] = chosen[column].astype(object).map(_whole)
    return chosen


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _csv_names(file: Path) -> list[str]:
    line = head_of(file)
    separator = separator_of(str(file), line)
    try:
        lines = [line.decode("utf-8-sig")]
        names = next(csv.reader(lines, strict=True, delimiter=separator), [])
    except csv.Error:
        names = []
    if not names or len(set(names)) < len(names) or not are_names(names):
        raise InvalidInput(
            f"{quoted(file)} has no line of names first: texts in UTF-8 with commas, semicolons or "
            "tabs between them, "
            "all different, none empty, a number or a date; write such a line, or give the names"
        )
    return names


def _parquet_names(file: Path) -> list[str]:
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(file).names
    return [name for name in names if not name.startswith("__index_level_")]


def _excel_names(file: Path) -> list[str]:
    """The first row of the first sheet."""
    import pandas as pd

    needed("openpyxl", "an .xlsx file", "files")
    header = pd.read_excel(file, header=None, nrows=1)
    names = [] if header.empty else header.iloc[0].tolist()
    if not names or len(set(names)) < len(names) or not are_names(names):
        raise InvalidInput(
            f"{quoted(file)} has no row of names first: texts, all different, none empty, a number "
            "or a date; write such a row, or give the names"
        )
    return names


def _stata_names(file: Path) -> list[str]:
    import pandas as pd

    with pd.read_stata(file, iterator=True) as reader:
        return list(reader.variable_labels())


def _spss_names(file: Path) -> list[str]:
    needed("pyreadstat", "an .sav file", "files")
    import pyreadstat

    return list(pyreadstat.read_sav(str(file), metadataonly=True)[1].column_names)


def check_columns(there: list[Any], wanted: list[str], name: str) -> None:
    """Raise InvalidInput unless each column is in a file once.

    Where the first line may be a record, it isn't shown: one with numbers, or in which nothing is
    like a column that is asked for.
    """
    for column in wanted:
        if column not in there:
            if not seem_names(there, wanted):
                named = are_names(there)
                what = "no name like it" if named else "names that are empty, numbers or dates"
                raise InvalidInput(
                    f"column {quoted(column)} isn't in {name}, which has {what}, so that its first "
                    "line may be a record and isn't shown; begin a file of text with a line of "
                    "names"
                )
            known = ", ".join(there)
            raise InvalidInput(f"column {quoted(column)} isn't in {name}, which has {known}")
        if there.count(column) > 1:
            raise InvalidInput(
                f"column {quoted(column)} is {there.count(column)} times in {name}; give each "
                "column a name of its own"
            )


def seem_names(there: list[Any], wanted: list[str]) -> bool:
    """Return True unless a first line may be a record: by what is asked for, and what is there."""
    asked = any(difflib.get_close_matches(str(each), map(str, there)) for each in wanted)
    return asked and are_names(there)


class Kind(NamedTuple):
    """A kind of file: what reads it, and what may be wrong with it."""

    names: Callable[[Path], list[str]]
    """Reader of the columns' names alone."""
    frame: Callable[[str, list[str] | None, Collection[str]], pd.DataFrame]
    """Reader of columns, of which some are kept as they are written."""
    batches: str | None = None
    """Name of Arrow's reader of batches, where there is one."""
    fault: str = "it is damaged, or of another kind than its name says"
    """Words about a file that can't be read."""


_CSV = Kind(
    _csv_names,
    _text,
    "csv",
    "a row has more fields than the first line has names, or a quote isn't closed",
)
KINDS: Mapping[str, Kind] = {
    ".csv": _CSV,
    ".tsv": _CSV,
    ".parquet": Kind(_parquet_names, _parquet, "parquet"),
    ".xlsx": Kind(_excel_names, _excel),
    ".dta": Kind(_stata_names, _stata),
    ".sav": Kind(_spss_names, _spss),
}
"""Kinds of files, by their suffixes."""
