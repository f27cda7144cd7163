"""Declaration of confidential data, in a file or on a command line, and their reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bayesdp.display.words import listed
from bayesdp.errors import InvalidInput, quoted
from bayesdp.synthesis.base import Synthesizer
from bayesdp.synthesis.network_tables import NETWORKX, read_network
from bayesdp.synthesis.scan import scan
from bayesdp.synthesis.tables import (
    answers,
    check_values,
    group_labels,
    guessed,
    read_table,
    repeated,
)
from bayesdp.table_files import STANDARD_INPUT, batches_of, is_table

_WAYS = {
    "records": "records: give column, or several columns",
    "network": f"a network: give ties and nodes, or source = '{NETWORKX}NAME'",
}


class DataSection(BaseModel):
    """Declaration of the confidential data: records of a table, or a network.

    See `bayesdp.synthesis.tables` and `bayesdp.synthesis.network_tables.read_network`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    column: str | None = None
    columns: list[str] | None = None
    """Several, for a synthesizer of tables."""
    by: str | None = None
    equals: str | None = None
    values: list[str] | None = None
    """All that may occur, with `equals`."""
    above: float | None = None
    labels: dict[str, int | str] | None = None
    """Names of all groups or, without `by`, of all values of the column, as they are written."""
    counts: str | None = None
    """Column of how many records each row stands for."""
    ties: list[str] | None = None
    """Columns of the ends of a network's ties."""
    nodes: int | str | list[int | str] | None = None
    directed: bool = False
    public: bool = False
    """Public benchmark data: the report may show what is true of them."""

    @model_validator(mode="after")
    def _one_way(self) -> DataSection:
        given = self.column is not None, self.columns is not None, self.takes == "network"
        if sum(given) != 1:
            raise ValueError("give either column or columns, or ties for a network")
        of_one = (self.equals, self.above) != (None, None)
        if self.column is None and of_one:
            raise ValueError("equals and above are about one column; give column, not columns")
        if self.labels is not None and self.by is None and (self.column is None or of_one):
            raise ValueError("labels are of by, or else of the one column without equals and above")
        protected = {self.column, *(self.columns or ())} - {None}
        if self.counts in protected:
            raise ValueError(
                f"counts is {quoted(self.counts)}, a column to protect too: its sum is the number "
                "of records, which is public but where it is declared confidential; leave it out "
                "of either"
            )
        if self.by in protected:
            raise ValueError(
                f"by is {quoted(self.by)}, a column to protect too: groups' labels are public, and "
                "so are their sizes, but where they are declared confidential, which would publish "
                "its exact counts; leave it out of either"
            )
        of_records = (self.by, self.labels, self.counts) != (None, None, None)
        if self.takes == "network" and of_records:
            raise ValueError("by, labels and counts are of records; a network has none")
        if self.takes == "records" and (self.nodes is not None or self.directed):
            raise ValueError("nodes and directed are of a network; give ties, not columns")
        if self.source.startswith(NETWORKX) and (self.ties, self.nodes) != (None, None):
            raise ValueError("ties and nodes are of a file; a network of networkx has its own")
        check_values(self.equals, self.values)
        return self

    @classmethod
    def declared(cls, **given: Any) -> DataSection:
        """Make it of arguments, or raise InvalidInput."""
        try:
            return cls(**given)
        except ValidationError as error:
            faults = "; ".join(
                "".join(f"{place}: " for place in fault["loc"][:1])
                + fault["msg"].removeprefix("Value error, ")
                for fault in error.errors()
            )
            raise InvalidInput(faults) from error

    @property
    def takes(self) -> str:
        """Kind of data, as of `Synthesizer.takes`."""
        network = self.ties is not None or self.source.startswith(NETWORKX)
        return "network" if network else "records"

    def check_taken_by(self, name: str, synthesizer: type[Synthesizer]) -> None:
        """Raise InvalidInput, before anything is read, if a synthesizer takes other data."""
        if synthesizer.takes == self.takes:
            return
        way = _WAYS.get(synthesizer.takes)
        if way is None:
            raise InvalidInput(
                f"synthesizer is {quoted(name)}, which takes a {synthesizer.takes} in Python: use "
                f"bdp.synthesizers.{synthesizer.__name__}"
            )
        raise InvalidInput(f"synthesizer is {quoted(name)}, which takes {way}")

    def check_named_by(self, name: str, synthesizer: Any) -> None:
        """Raise InvalidInput, before anything is read, if it names other columns than these."""
        if not synthesizer.named:
            return
        given = self.columns or [str(self.column)]
        if absent := [each for each in synthesizer.columns if each not in given]:
            raise InvalidInput(
                f"the data are said to be of {quoted(','.join(given))}, but {quoted(name)} takes "
                f"all columns of its own declaration, as of a schema, and so {listed(absent)} too: "
                "leave out the data's column or columns, or declare these alone"
            )

    def scanned(self, folder: Path, synthesizer: Any) -> tuple[Any, Any]:
        """Read the data as `read` does, but a file of text or Parquet for a whole table in batches.

        It may be larger than memory, and its types don't depend on the records.
        """
        source, columns = _located(self.source, folder), self.columns
        batched = type(synthesizer).batched and not (self.by or self.counts)
        by_batches = batches_of(Path(source)) is not None and Path(source).is_file()
        if batched and by_batches and columns is not None:
            return scan(source, columns), None
        return self.read(folder, synthesizer)

    def read(self, folder: Path, synthesizer: Any = None) -> tuple[Any, Any]:
        """Read the data, as a synthesizer's `release` takes them, and each record's group or None.

        Parameters
        ----------
        folder : Path
            The folder that a source's path is relative to.
        synthesizer : Synthesizer, optional
            What is declared of columns, such as labels that are texts, says how a file is read.
        """
        source = _located(self.source, folder)
        if self.takes == "network":
            nodes = self.nodes
            if isinstance(nodes, str) and is_table(nodes):
                nodes = _located(nodes, folder)
            return read_network(source, self.ties, nodes, directed=self.directed), None
        columns = self.columns or [str(self.column)]
        written = ((self.column, self.equals), (self.by or self.column, self.labels))
        text = [name for name, given in written if name and given is not None]
        text += _texts(synthesizer, self.by)
        others = [name for name in (self.by, self.counts) if name is not None]
        codes = [self.by] if self.by and self.by not in text and _is_text(source) else []
        frame = read_table(source, [*columns, *others], text=[*text, *codes])
        for name in codes:
            frame = frame.assign(**{name: guessed(frame[name])})
        if self.counts is not None:
            frame = repeated(frame, self.counts)
        by = group_labels(frame[self.by], self.labels) if self.by else None
        if self.column is None:
            return frame[columns], by
        if self.labels is not None and by is None:
            named = group_labels(frame[self.column], self.labels)
            return named.astype(object), None
        shown = answers(
            frame[self.column], equals=self.equals, values=self.values, above=self.above
        )
        return shown, by


def _located(source: str, folder: Path) -> str:
    """Return a file's path, relative to the folder, or a data set's name as it is."""
    if source == STANDARD_INPUT:
        return source
    return source if ":" in source or Path(source).is_absolute() else str(folder / source)


def _is_text(source: str) -> bool:
    """Return True for a source of text, which doesn't say its columns' types."""
    return source == STANDARD_INPUT or batches_of(Path(source)) == "csv"


def _texts(synthesizer: Any, by: str | None) -> list[str]:
    """List the columns whose listed labels are strings, or that are ids, and are read as such."""
    labels = dict(getattr(synthesizer, "categories", None) or {})
    for step in getattr(synthesizer, "steps", ()):
        labels |= dict(step.columns)
    if by is not None:
        labels[by] = getattr(synthesizer, "groups", None) or ()
    texts = [name for name, given in labels.items() if {type(v) for v in given} == {str}]
    return [*texts, *getattr(synthesizer, "written", ())]
