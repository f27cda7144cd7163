"""Confidential records that are read in batches, so that they may be larger than memory."""

from __future__ import annotations

import collections
import csv
import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import BayesDPError, InvalidInput, kind_of, quoted
from bayesdp.headers import fields_of, head_of, separator_of
from bayesdp.table_files import batches_of, check_columns, names_in

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_TOGETHER = 16  # partial sums that one task of Dask adds up
_COLUMN = re.compile(r"In CSV column #(\d+)")
_UNEVEN = re.compile(r"Expected \d+ columns, got \d+")
READ_AS = {"double": "a number", "bool": "true or false (or 1 or 0)", "string": "a text in UTF-8"}
"""Values that a CSV file's column is read as, by its type."""
_AFTER = "after the last line"
_PANDAS_MISSING = ("None", "<NA>")  # beside what Arrow takes for missing in a text


def scan(
    source: Any,
    columns: Sequence[str] | str,
    *,
    by: str | None = None,
    rows: int = 1 << 18,
    types: Mapping[str, str] | None = None,
    progress: bool = False,
) -> Scan:
    """Scan records in files, for a synthesizer to read in batches instead of a DataFrame.

    Synthesizers that only need sums, of counts or of moments, accept it: memory holds one batch and
    the sums. Counts are exactly those of the same records in memory. `CensoredBetaSynthesizer`
    accepts it too, and sorts the records on disk.

    Parameters
    ----------
    source : path, sequence of paths, pyarrow Dataset, or Dask DataFrame
        Parquet or CSV files, or a folder of them; Dask's workers sum a DataFrame's partitions.
    columns : str or sequence of str
        The columns to read; no others are.
    by : str, optional
        The column that holds each record's group.
    rows : int
        Largest number of records in a batch.
    types : mapping of str to str, optional
        Arrow types of columns of CSV files, such as ``{"postcode": "string"}``. By default a column
        has the type of the labels or bounds that a synthesizer is declared with, whatever the
        records are; a column without either has the type inferred from a file's first megabyte.
    progress : bool
        Whether to show how many records have been read.

    Returns
    -------
    Scan
        It can be iterated over, any number of times, and yields DataFrames.

    Raises
    ------
    InvalidInput
        If there is nothing to read, a file lacks a column, or a parameter is out of its range.

    Examples
    --------
    >>> import pandas as pd, bayesdp as bdp
    >>> pd.DataFrame({"age": [34, 71, 8]}).to_parquet("people.parquet")
    >>> people = bdp.scan("people.parquet", "age")
    >>> made = bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, bounds={"age": (0, 100)}, bins=4)
    >>> len(made.release(people).outputs[0])
    4
    """
    several = columns if isinstance(columns, list | tuple) else ()
    names = (columns,) if isinstance(columns, str) else tuple(several)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"columns is {quoted(columns)}; name one column or more")
    if len({*names, by}) <= len(names):
        raise InvalidInput("columns and by must name each column once")
    made = Scan(source, names, by, check_at_least_one("rows", rows), types, bool(progress))
    return made._checked()


@dataclass(frozen=True)
class Scan:
    """Confidential records that are read in batches, as returned by `scan`."""

    source: Any
    columns: tuple[str, ...]
    by: str | None
    rows: int
    types: Mapping[str, str] | None
    progress: bool
    advice: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Yield the records, `rows` at a time."""
        names, done = self._names, 0
        with self._shown() as tell:
            for batch in self._batches(names):
                done += len(batch)
                tell(done)
                yield batch

    def count(self) -> int:
        """Count the records; a Parquet file says their number without being read."""
        if self._on_dask:
            return int(_computed(self.source.shape[0]))
        return int(_read(self._dataset.count_rows, self))

    def added(self, sums: Callable[[pd.DataFrame], T], add: Callable[[T, T], T]) -> T | None:
        """Add up sums over all batches; None where there is no batch."""
        if not self._on_dask:
            return _reduced(add, map(sums, self))
        from dask.delayed import delayed

        parts = [delayed(sums)(part) for part in self.source[self._names].to_delayed()]
        together = delayed(functools.partial(_reduced, add))
        while len(parts) > 1:
            groups = [parts[i : i + _TOGETHER] for i in range(0, len(parts), _TOGETHER)]
            parts = [together(group) for group in groups]
        total: T | None = _computed(parts[0]) if parts else None
        return total

    def pieces(self) -> Iterator[NDArray[Any]]:
        """Yield the only column, a batch at a time."""
        name = self.column()
        for batch in self.without_groups():
            yield batch[name].to_numpy()

    def to_numpy(self) -> NDArray[Any]:
        """Return the only column, in memory."""
        column, at = None, 0
        for values in self.pieces():
            if column is None:
                column = np.empty(self.count(), dtype=values.dtype)
            column = column.astype(np.result_type(column, values), copy=False)
            column[at : at + len(values)] = values
            at += len(values)
        return np.empty(0) if column is None else column

    def without_groups(self) -> Scan:
        """Return the scan itself, or raise InvalidInput if it has groups."""
        if self.by is not None:
            by = quoted(self.by)
            raise InvalidInput(f"by is {by}, but this synthesizer has no groups; leave it out")
        return self

    def typed(
        self, types: Mapping[str, str | None], advice: Mapping[str, str] | None = None
    ) -> Scan:
        """Return the scan with types for a CSV file's columns, where known and not given.

        The types are public: an inferred one is a function of all records, and so is whether it
        fits. `advice` says of a column what to do where it doesn't.
        """
        if not self._is_text:
            return self
        known = {name: kind for name, kind in types.items() if kind and name in self._names}
        return dataclasses.replace(
            self, types=known | dict(self.types or {}), advice=advice or self.advice
        )

    def column(self) -> str:
        """Name of the only column, or InvalidInput if there are several."""
        if len(self.columns) > 1:
            raise InvalidInput(f"the scan has columns {list(self.columns)}; scan a single one")
        return self.columns[0]

    @property
    def name(self) -> str | None:
        """Name of the only column, if there is one."""
        return self.columns[0] if len(self.columns) == 1 else None

    @property
    def _names(self) -> list[str]:
        return [*self.columns, *([self.by] if self.by else [])]

    @property
    def _on_dask(self) -> bool:
        return hasattr(self.source, "to_delayed") and hasattr(self.source, "npartitions")

    @functools.cached_property
    def _found(self) -> tuple[str, list[str]]:
        return _files(self.source)

    @functools.cached_property
    def _sign(self) -> str:
        return _separator(self._found[1])

    @property
    def _is_text(self) -> bool:
        """True if the source is CSV files."""
        ready = self._on_dask or not isinstance(self.source, str | Path | Sequence)
        return not ready and self._found[0] == "csv"

    def _checked(self) -> Scan:
        for file in self._found[1] if self._is_text else ():
            _check_closed(file, self._sign)
        there = list(self.source.columns) if self._on_dask else self._dataset.schema.names
        check_columns(there, self._names, "the source")
        for file in [] if self._on_dask else self._dataset.get_fragments():
            # Arrow takes what a file lacks of the data set's columns for missing.
            schema = _read(functools.partial(getattr, file, "physical_schema"), self)
            name = quoted(Path(file.path)) if hasattr(file, "path") else "a part of the source"
            check_columns([*schema.names, *(_partition(file) - {*schema.names})], self._names, name)
        return self

    def _batches(self, names: list[str]) -> Iterator[pd.DataFrame]:
        if self._on_dask:
            for part in self.source[names].to_delayed():
                yield _computed(part)
            return
        import pyarrow.dataset

        # Arrow reads ahead, by default so far that memory holds all of a file's columns; its
        # threads do so whatever is asked for, where batches are used more slowly than read.
        options: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}
        options["use_threads"] = False
        if getattr(getattr(self._dataset, "format", None), "default_extname", "") == "parquet":
            scanning = pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=False)
            options["fragment_scan_options"] = scanning
        batches = _read(
            lambda: self._dataset.to_batches(columns=names, batch_size=self.rows, **options),
            self,
        )
        while True:
            batch = _read(lambda: next(batches, None), self)
            if batch is None:
                return
            if batch.num_rows:
                yield batch.to_pandas(ignore_metadata=True)  # pandas' own makes columns an index

    @functools.cached_property
    def _dataset(self) -> Any:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.dataset

        if isinstance(self.source, pyarrow.dataset.Dataset):
            return self.source
        kind, files = self._found
        form: Any = kind
        if kind == "csv":
            try:
                types = {name: pa.type_for_alias(t) for name, t in (self.types or {}).items()}
            except ValueError as error:
                raise InvalidInput(f"types is {quoted(self.types)}: {error}") from None
            missing = {*pyarrow.csv.ConvertOptions().null_values, *_PANDAS_MISSING}
            # An empty line of one field may be a record, and is then no value of its column.
            alone = all(fields_of(head_of(Path(file)), self._sign) == 1 for file in files)
            if alone:
                missing -= {""}
            options = pyarrow.csv.ConvertOptions(
                column_types=types, strings_can_be_null=True, null_values=sorted(missing)
            )
            parsing = pyarrow.csv.ParseOptions(delimiter=self._sign, ignore_empty_lines=not alone)
            form = pyarrow.dataset.CsvFileFormat(parsing, convert_options=options)
        elif self.types:
            raise InvalidInput("types is given, but a Parquet file has its own; leave it out")
        return _read(lambda: pyarrow.dataset.dataset(files, format=form), self)

    def _shown(self) -> Any:
        """Open a context whose value is called with the number of records read."""
        if not self.progress:
            return nullcontext(lambda done: None)
        return _bar()


def _reduced(add: Callable[[T, T], T], parts: Iterable[T]) -> T | None:
    total: T | None = None
    for part in parts:
        total = part if total is None else add(total, part)
    return total


def _files(source: Any) -> tuple[str, list[str]]:
    """Return the format, and all files."""
    given = [source] if isinstance(source, str | Path) else source
    if not isinstance(given, Sequence) or not all(isinstance(p, str | Path) for p in given):
        raise InvalidInput(
            f"source is a {type(source).__name__}; it must be a path, several in a list, a pyarrow "
            "Dataset (pyarrow.dataset.dataset(table) of a table of Arrow's or DuckDB's), or a Dask "
            "DataFrame; one of pandas needs no scan: give it to the synthesizer"
        )
    paths: list[Path] = []
    for path in map(Path, given):
        if path.is_dir():
            paths += sorted(p for p in path.rglob("*") if batches_of(p))
        elif path.is_file():
            paths.append(path)
        else:
            raise InvalidInput(f"source is {quoted(path)}, but there is no such file or folder")
    kinds = {path.suffix.lower() for path in paths}
    kind = batches_of(paths[0]) if len(kinds) == 1 else None
    if kind is None:
        raise InvalidInput(
            f"source holds {', '.join(sorted(kinds)) or 'no'} files; it must be of .parquet files, "
            "or of .csv or .tsv files"
        )
    return kind, [str(path) for path in paths]


def _separator(files: Sequence[str]) -> str:
    """Return the sign between fields, which Arrow takes to be the same in all files."""
    first, *others = ((separator_of(file, head_of(Path(file))), file) for file in files)
    for sign, file in others:
        if sign != first[0]:
            raise InvalidInput(
                f"source has {quoted(first[1])} with {quoted(first[0])} between fields and "
                f"{quoted(file)} with {quoted(sign)}; write all files with the same sign"
            )
    return first[0]


def _check_closed(file: str, sign: str) -> None:
    """Refuse a file that ends within quotes: Arrow takes all lines from there on for one value."""
    with Path(file).open("rb") as raw:
        quotes = sum(part.count(b'"') for part in iter(functools.partial(raw.read, 1 << 20), b""))
    if quotes % 2 == 0:  # a value in quotes has two, and two for each that is in it
        return
    with Path(file).open(encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = csv.reader(itertools.chain(text, [_AFTER]), delimiter=sign)
        try:
            last = collections.deque(rows, maxlen=1)
        except csv.Error:  # a value that goes on for 100,000 characters
            last = collections.deque()
    if [*last] != [[_AFTER]]:
        raise InvalidInput(
            f"{quoted(Path(file))} can't be read as a table: a quote isn't closed, so that all "
            "that follows would be one value; correct it"
        )


def _partition(file: Any) -> set[str]:
    """Return the columns whose values the names of a file's folders say."""
    import pyarrow.dataset

    return set(pyarrow.dataset.get_partition_keys(file.partition_expression))


def _read(step: Callable[[], Any], scan: Scan) -> Any:
    """Run a step of Arrow; its errors show values, so they are replaced."""
    import pyarrow as pa

    try:
        return step()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        uneven = _UNEVEN.search(str(error)) is not None
        raise _unread(scan, _COLUMN.search(str(error)), uneven) from None


def _computed(task: Any) -> Any:
    """Compute a task of Dask; its errors, and those of what it calls, show values."""
    try:
        return task.compute()
    except BayesDPError:
        raise
    except Exception as error:  # any that the source's own tasks may raise
        raise InvalidInput(
            f"the source can't be read: Dask stopped with {kind_of(error)}, whose words may show "
            "records and aren't repeated; correct the DataFrame, for example by dtype= of "
            "dask.dataframe.read_csv"
        ) from None


def _unread(scan: Scan, column: re.Match[str] | None, uneven: bool) -> InvalidInput:
    """Say that a source can't be read, and which column of a single file of text, if one."""
    source = scan.source
    if not isinstance(source, str | Path):
        name = "the source"
    else:
        name = quoted(Path(source))
        if column is not None and Path(source).is_file():
            read = names_in(source)[int(column[1])]
            kind = (scan.types or {}).get(read)
            said = "of another type than it is read as"
            if kind is not None:
                said = f"that aren't {READ_AS.get(kind, f'of type {kind}')}"
            otherwise = "correct them by a public rule, or give types, as {'postcode': 'string'}"
            return InvalidInput(
                f"{name} can't be read as a table: column {quoted(read)} has values {said}; "
                + scan.advice.get(read, otherwise)
            )
    if uneven:
        return InvalidInput(
            f"{name} can't be read as a table: a line has more fields, or fewer, than the first "
            "has names; correct it, or quote what has the sign between fields in it"
        )
    return InvalidInput(
        f"{name} can't be read as a table: a file is damaged, or a column's type changes; give "
        "types, as {'postcode': 'string'}"
    )


@contextmanager
def _bar() -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.completed:,.0f} records"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True, force_jupyter=False)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done: bar.update(task, completed=done)
