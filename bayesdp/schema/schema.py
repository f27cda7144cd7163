"""The schema of a whole table, and the codes of its records."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_plain, check_path, keep
from bayesdp.core.axis import Axis
from bayesdp.declared_files import Fault, read_toml, said_of_file
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names
from bayesdp.schema.columns import declared_column, declared_columns, private_bins
from bayesdp.schema.faults import Contradiction, Unfit
from bayesdp.schema.files import template_of, text_of
from bayesdp.schema.intervals import Intervals
from bayesdp.schema.rules import Rule, declared_rules, excluded, is_of
from bayesdp.schema.units import RECORD, FirstOfEach, Person, check_frame, declared_unit
from bayesdp.storage import check_file, whole_file

if TYPE_CHECKING:
    import pandas as pd

_KEYS = ("unit", "columns", "zeros")
_ARROW = {"text": "string", "date": "string", "boolean": "bool"}
"""Arrow types of columns by what they take; numbers are read as floats."""


@dataclass(frozen=True)
class Schema:
    """Declaration of what each column of a table may hold, from its codebook alone.

    All of it is public, so that nothing in it may be taken from the confidential records. A column
    is cut into cells: its labels, or intervals between edges, of which each holds its lower edge
    but not its upper one, except the last, which holds both. A record's code is the number of its
    cell, from 0; a missing value's is the last. Nothing is dropped: a value that the schema doesn't
    hold is refused, or moved where the schema says.

    Parameters
    ----------
    columns : mapping of str to mapping
        Each column's declaration, by its name. Its ``type`` is

        - "category" or "ordered", with ``labels``: all texts, all integers or all booleans; and
          ``other``, the label that other values are moved to, and ``hierarchy``, a mapping of
          names to groups of labels;
        - "boolean", with ``labels`` where texts or whole numbers stand for False and True in the
          data, in this order, as ("no", "yes");
        - "integer", "real" or "date", with ``bounds``, the least and the largest value; ``bins``,
          edges from bound to bound, a number of intervals of equal width, "year" or "month" for
          dates, or ``{"private": 8, "share": 0.1}``, a number of intervals whose cut points are to
          be chosen privately for that share of the budget, among the edges of a ``grid``, which may
          be given beside them as bins are; and ``outside``, "refuse" (the default) or "clamp".
          Without bins each integer is a cell of its own.

        Each may have ``missing``, whether missing values are a value of their own, and ``public``.
    zeros : sequence of mapping, optional
        Combinations that no record has: each maps columns to a label, labels or a group of them, a
        boolean, an interval from edge to edge, a single whole number or day that is a cell, or
        "missing".
    unit : "record" or mapping
        What the promise protects: one record, or ``{"person": "id", "most": 3}``, a person with at
        most so many records, whose id is in a column that isn't one of `columns`.

    Raises
    ------
    InvalidInput
        If a declaration isn't allowed, or contradicts another.

    Examples
    --------
    >>> import pandas as pd, bayesdp as bdp
    >>> schema = bdp.Schema(
    ...     {
    ...         "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 30, 60, 90]},
    ...         "smokes": {"type": "boolean", "missing": True},
    ...     }
    ... )
    >>> codes = schema.coded(pd.DataFrame({"age": [21, 90], "smokes": [None, True]}))
    >>> codes.to_numpy().tolist()
    [[0, 2], [2, 1]]
    >>> schema.cells
    {'age': 3, 'smokes': 3}
    """

    columns: Mapping[str, Any]
    zeros: Sequence[Mapping[str, Any]] = ()
    unit: Any = RECORD
    _rules: tuple[Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = declared_columns(_plain(self.columns))
        zeros = _plain(self.zeros)
        faults: list[Fault] = []
        try:
            unit = declared_unit(_plain(self.unit), columns)
        except Contradiction as error:
            faults += error.faults
        try:
            rules = declared_rules(zeros, columns)
        except Contradiction as error:
            faults += error.faults
        if faults:
            raise Contradiction(faults)
        keep(self, columns=columns, zeros=zeros, unit=unit, _rules=rules)

    def __hash__(self) -> int:
        return hash(tuple(self.cells.items()))

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file.

        Parameters
        ----------
        path : path
            A file with ``[columns.NAME]`` for each column, ``[[zeros]]`` for each rule, and
            ``unit``; `template` writes one to be filled in.

        Raises
        ------
        InvalidInput
            If the file isn't a schema; the message has each fault's column and line.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> bdp.Schema({"smokes": {"type": "boolean"}}).save("survey.toml")
        >>> bdp.Schema.load("survey.toml").cells
        {'smokes': 2}
        """
        file = check_path("path", path)
        declared = read_toml(file)
        faults: list[Fault] = [
            ((key,), f" isn't known; there are {', '.join(_KEYS)}")
            for key in declared
            if key not in _KEYS
        ]
        try:
            if faults:
                raise Contradiction(faults)
            return cls(**{"columns": None} | declared)
        except Contradiction as error:
            raise InvalidInput(said_of_file(file, error.faults)) from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the schema as a TOML file, which `load` reads.

        Parameters
        ----------
        path : path
            The file to write.
        force : bool
            Whether an existing file may be replaced; what is written has no comments.

        Raises
        ------
        ReleaseExists
            If the file exists and `force` isn't given.
        """
        file = check_path("path", path)
        check_file(file, force=force)
        with whole_file(file) as work:
            work.write_text(text_of(self.unit, self.columns, self.zeros), encoding="utf-8")

    @staticmethod
    def template(columns: Sequence[str] | str | Path) -> str:
        """Write a schema to be filled in, as commented TOML, from the names of columns alone.

        Parameters
        ----------
        columns : sequence of str, or path
            The names, or a file: of a CSV file or an Excel sheet the first line is read, which must
            be its header, of a Parquet, Stata or SPSS file what it says of itself, and no record.

        Returns
        -------
        str
            The file's text.

        Raises
        ------
        InvalidInput
            If names are empty or repeated, or a file's are numbers or dates, as without a header.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> bdp.Schema.template(["age"]).splitlines()[-2:]
        ['[columns.age]', 'type = ""']
        """
        return template_of(columns)

    @property
    def cells(self) -> dict[str, int]:
        """Number of cells of each column, that of missing values included."""
        return {name: column.cells for name, column in self.columns.items()}

    @property
    def excluding(self) -> tuple[Rule, ...]:
        """The cells that each rule of `zeros` names: no record is in all of a rule's."""
        return self._rules

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Axes of the coded table, whose categories are the codes, for synthesizers of tables."""
        return tuple(
            Axis(name, categories=tuple(range(cells))) for name, cells in self.cells.items()
        )

    @property
    def types(self) -> dict[str, str]:
        """Arrow types that a text file's columns are read as, whatever their values: for `scan`."""
        return {name: _ARROW.get(col.takes[0], "double") for name, col in self.columns.items()}

    def coded(self, frame: Any) -> pd.DataFrame:
        """Return the records' codes, each of which depends on that record alone.

        Parameters
        ----------
        frame : DataFrame, or mapping of str to array_like
            Confidential records, all or a batch of them: the schema's columns, in any order, and
            that of persons' ids, which is left out. None, NaN, NaT, NA and what an array masks are
            missing.

        Returns
        -------
        DataFrame
            Small unsigned integers, in the schema's order, with the frame's index.

        Raises
        ------
        InvalidInput
            If columns are missing or unknown, a column holds values of another kind or outside the
            schema, or its cut points aren't chosen yet. The message names all such columns, and
            neither a value nor how many records there are. Records that `zeros` exclude are coded
            too; `impossible` marks them.
        """
        import pandas as pd

        given = self._given(frame)
        if private := private_bins(self.columns):
            raise InvalidInput(
                f"columns {', '.join(map(quoted, private))} have no cut points yet; "
                "bdp.TableSynthesizer chooses them privately: give them by schema.with_cuts, or "
                "code the records by the grid's cells, schema.on_grid"
            )
        codes: dict[str, NDArray[Any]] = {}
        unfit = []
        for name, column in self.columns.items():
            try:
                codes[name] = column.coded(given[name])
            except Unfit as error:
                unfit.append(f"column {quoted(name)} {error}")
        if unfit:
            raise InvalidInput("; ".join(unfit)) from None
        if len({column.size for column in codes.values()}) > 1:
            raise InvalidInput("frame has columns of different lengths; give one value a record")
        return pd.DataFrame(codes, index=getattr(frame, "index", None))

    def _given(self, frame: Any) -> dict[str, Any]:
        """Return the schema's columns of a frame, which has no others."""
        lazy = hasattr(type(frame), "collect")  # one of Polars, which has no values yet
        given = None if lazy else getattr(frame, "columns", None)
        given = frame if isinstance(frame, Mapping) else given
        if given is None or not all(isinstance(name, Hashable) for name in given):  # as Arrow's
            raise InvalidInput(
                f"frame is {quoted(frame)}; it must be a DataFrame, or a mapping of columns' names "
                "to their values: frame.to_pandas() of an Arrow table, frame.collect() if lazy"
            )
        there = list(given)
        ids = {self.unit.person} if isinstance(self.unit, Person) else set()
        absent = [name for name in self.columns if name not in there]
        unknown = [name for name in there if name not in self.columns and name not in ids]
        if twice := [name for name in (*self.columns, *ids) if there.count(name) > 1]:
            raise InvalidInput(
                f"frame has more than one column named {_listed(twice)}; keep one of each"
            )
        if absent or unknown:
            lacks = f"lacks columns {_listed(absent)}" if absent else ""
            others = f"has others than the schema's, {shown_names(unknown)}" if unknown else ""
            raise InvalidInput(
                f"frame {' and '.join(filter(None, (lacks, others)))}; each column of the schema "
                "must be there once: take frame[list(schema.columns)], or declare the others"
            )
        return {name: frame[name] for name in self.columns}

    def decoded(self, codes: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Return records with these codes, which look like the original's.

        A number or a date is drawn uniformly within its interval, so that the codes of what is
        returned are `codes` again.

        Parameters
        ----------
        codes : DataFrame
            Codes of the schema's columns, in any order, as of a synthetic table.
        rng : numpy Generator

        Returns
        -------
        DataFrame
            The schema's columns in its order, with the index of `codes`: categoricals, booleans,
            int64, float64 and datetime64; nullable boolean, Int64 and Float64 where values may be
            missing.

        Raises
        ------
        InvalidInput
            If columns are missing or unknown, or a code isn't one of its column's cells.
        """
        import pandas as pd

        if not isinstance(rng, np.random.Generator):
            raise InvalidInput(f"rng is {quoted(rng)}; it must be np.random.default_rng(seed)")
        if private := private_bins(self.columns):
            raise InvalidInput(
                f"columns {', '.join(map(quoted, private))} have no cut points yet; give them by "
                "schema.with_cuts"
            )
        drawn = {}
        for name, given in self._codes(codes).items():
            column = self.columns[name]
            missing = given >= column.size
            drawn[name] = column.drawn(np.where(missing, 0, given), missing, rng)
        return pd.DataFrame(drawn, index=codes.index)

    def impossible(self, codes: pd.DataFrame) -> NDArray[np.bool_]:
        """Mark the records whose combination of codes a rule of `zeros` excludes.

        Parameters
        ----------
        codes : DataFrame
            Codes of the schema's columns, in any order.

        Returns
        -------
        array of bool, shape (n,)

        Raises
        ------
        InvalidInput
            If columns are missing or unknown, or a code isn't one of its column's cells.

        Notes
        -----
        A synthesizer of tables takes this method as its `zeros`.
        """
        return excluded(self._rules, self._codes(codes), len(codes))

    def _codes(self, codes: Any) -> dict[str, NDArray[np.int64]]:
        """Return each column's codes, checked."""
        if not hasattr(codes, "columns") or not hasattr(codes, "index"):
            raise InvalidInput(f"codes is {quoted(codes)}; it must be a DataFrame of codes")
        if sorted(map(str, codes.columns)) != sorted(self.columns):
            raise InvalidInput(
                f"codes must have the schema's columns, {_listed(self.columns)}, once each; it has "
                f"{shown_names(list(codes.columns))}"
            )
        checked = {}
        for name, cells in self.cells.items():
            given = codes[name].to_numpy()
            whole = given.dtype.kind in "iu"
            if not whole or np.any((given < 0) | (given >= cells)):
                raise InvalidInput(
                    f"codes of column {quoted(name)} must be whole numbers from 0 to {cells - 1}"
                )
            checked[name] = given.astype(np.int64)
        return checked

    def with_cuts(self, cuts: Mapping[str, Sequence[Any]]) -> Schema:
        """Return the schema with cut points in place of those to be chosen privately.

        Parameters
        ----------
        cuts : mapping of str to sequence
            Cut points of such columns: numbers or dates that increase, strictly within the bounds,
            and fewer than the intervals that are declared. A value at a cut is in the cell above.

        Raises
        ------
        InvalidInput
            If a column has no such bins, or its cut points aren't allowed; no cut is shown.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> bins = {"private": 3, "share": 0.1}
        >>> schema = bdp.Schema({"income": {"type": "real", "bounds": (0, 9e5), "bins": bins}})
        >>> schema.with_cuts({"income": [2e4, 6e4]}).columns["income"].bins
        (0.0, 20000.0, 60000.0, 900000.0)
        """
        private = private_bins(self.columns)
        given = _plain(cuts)
        if not isinstance(given, Mapping) or not set(given) <= set(private):
            raise InvalidInput(
                f"cuts is {quoted(cuts)}; it must be cut points for the columns whose bins are "
                f"private: {_listed(private)}"
            )
        columns = dict(self.columns)
        for name, points in given.items():
            column, most = columns[name], private[name].private - 1
            low, high = column.bounds
            fits = isinstance(points, tuple) and len(points) <= most
            declared = dict(column) | {"bins": (low, *points, high) if fits else None}
            try:
                if not fits:
                    raise Contradiction([])
                columns[name] = declared_column(name, declared)
            except Contradiction:
                raise InvalidInput(
                    f"cuts of column {quoted(name)} must be at most {most} values of its type that "
                    "increase, strictly within its bounds"
                ) from None
        return replace(self, columns=columns)

    @property
    def on_grid(self) -> Schema:
        """The schema with a grid's cells for columns whose cut points are to be chosen privately.

        A grid is public, as the column's bounds are. Without one it is the schema itself.
        """
        if not private_bins(self.columns):
            return self
        return replace(
            self,
            columns={
                name: column.on_grid if isinstance(column, Intervals) else column
                for name, column in self.columns.items()
            },
        )

    def pooled(self, firsts: Mapping[str, Sequence[int]]) -> Schema:
        """Return the schema with pools of neighbouring cells in place of some columns' intervals.

        Those of its `zeros` whose edges pools don't keep to are left out.

        Parameters
        ----------
        firsts : mapping of str to sequence of int
            The first cell of each pool, from 0; that of missing values is a pool of its own.

        Raises
        ------
        InvalidInput
            If a column hasn't intervals, or these aren't their first cells.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> schema = bdp.Schema({"age": {"type": "integer", "bounds": (18, 90), "bins": 6}})
        >>> schema.pooled({"age": [0, 2, 5]}).columns["age"].shown
        ('[18, 42)', '[42, 78)', '[78, 90]')
        """
        columns = dict(self.columns)
        for name, given in firsts.items():
            try:
                columns[name] = columns[name].pooled(given)
            except (KeyError, AttributeError, TypeError, IndexError, ValueError):
                raise InvalidInput(
                    f"firsts is {quoted(dict(firsts))}; it must be the first cells of pools, by "
                    "the column, which must have intervals: increasing from 0, missing values' by "
                    "itself"
                ) from None
        zeros = tuple(rule for rule in self.zeros if is_of(rule, columns))
        return replace(self, columns=columns, zeros=zeros)

    @overload
    def limited(self, frame: pd.DataFrame) -> pd.DataFrame: ...

    @overload
    def limited(self, frame: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]: ...

    def limited(self, frame: Any) -> Any:
        """Return at most `most` records of each person: the first, in the order of the records.

        Where the unit is a record, all are returned. Otherwise the rule is public and part of the
        promise: a record is kept if fewer than `most` records of its person came before it. The
        rule reads the ids alone, each by itself, and counts those that are equal to the record's:
        which of a person's records are kept depends on that person's records and their order, and
        on nothing of others or of where batches end. So:

        - add/remove: let two tables differ in all records of one person, those of others being the
          same and in the same order. A record of another person is kept from both or from neither,
          since the number of that person's records before it is the same. The tables of kept
          records thus differ in the records kept of the one person, which are at most `most`.
        - replace: where one person's records are replaced by any number of others, at most `most`
          kept records go and at most `most` come. Their numbers may differ, so that the number of
          kept records isn't public, and the change is worth up to ``2 * most`` of the former.

        So a mechanism that promises epsilon to a record under add/remove promises at most
        ``most * epsilon`` to a person, and one whose noise is for ``most`` times the sensitivity
        promises epsilon (group privacy; Dwork and Roth 2014, Theorem 2.2).

        Parameters
        ----------
        frame : DataFrame, or iterator of DataFrames
            All confidential records, or batches of them one after another, in an order that depends
            on no other person's records, with the column of ids: all texts, which are one if they
            are written alike, or all whole numbers, of which 1 and 1.0 are one. An id names one
            person.

        Returns
        -------
        DataFrame, or iterator of DataFrames
            The kept records, in their order, with all columns; of an iterator, those of each batch.

        Raises
        ------
        InvalidInput
            If the ids' column isn't there, or an id is missing or blank, texts and numbers are
            mixed, be it in different batches, or ids are floats that aren't whole or too large to
            tell whole numbers apart. An iterator raises it when it comes to such a batch.

        Notes
        -----
        Memory holds one batch, and each person's number of records so far: about 120 bytes a person
        whose id is a number, 170 where it is a short text. Nothing is written.
        """
        batches = isinstance(frame, Iterator)
        if not batches:
            check_frame(frame)
        if not isinstance(self.unit, Person):
            return frame
        first = FirstOfEach(self.unit)
        return map(first.of, frame) if batches else first.of(frame)


def schema_of(text: str) -> Schema:
    """Read a schema from the TOML that `text_of` wrote, as fits and copies keep it."""
    return Schema(**tomllib.loads(text))


def _plain(value: Any) -> Any:
    """Return a declaration with tuples for lists and arrays, and Python's own numbers."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # NumPy's and pandas'
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return tuple(map(_plain, value))
    return as_plain(value)


def _listed(names: Any) -> str:
    return ", ".join(quoted(name) for name in names) or "none"
