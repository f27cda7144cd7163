"""The synthesizer of whole tables: noisy counts of marginals of all columns, by a schema."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.marginals import counted_codes
from bayesdp.mechanisms.counts.noisy_table import NoisyTableMechanism
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release.manifest import Label
from bayesdp.schema.columns import private_bins
from bayesdp.schema.labelled import Boolean, Labels
from bayesdp.schema.plain import check_schema
from bayesdp.schema.schema import Schema
from bayesdp.schema.units import Person
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.scan import Scan


class Counted(NamedTuple):
    """Counts of records in all marginals, and the number of records. Confidential."""

    counts: NDArray[np.int64]
    n: int


@dataclass(frozen=True, eq=False)
class TableSynthesizer(RecordSynthesizer):
    """Synthesize a whole table of many columns from noisy counts of its marginals.

    The release holds the noisy counts (`NoisyTableMechanism`), of all pairs of columns if no others
    are named, so that the analyst has their exact law. `bdp.TableModel` infers the table from them:
    its posterior has synthetic copies, and intervals of any function of the table that account for
    the noise. The whole table's cells, which may be 10^60, are never held.

    Parameters
    ----------
    schema : `bayesdp.Schema`, mapping, or path
        Declaration of the columns, from the codebook alone, or its TOML file. Its unit is what the
        promise protects: a record, or a person, whose first records are used. Columns that it calls
        public are protected as the others are, and its structural zeros get noise as other counts.
    epsilon : float
        Total privacy cost.
    delta : float
        The delta, in [0, 1), at which the promise is stated.
    noise : {"gaussian", "laplace"}, optional
        Discrete Gaussian noise, whose scale grows with the square root of the number of marginals
        and which needs a delta; or discrete Laplace noise, whose scale grows with their number.
        Default: "gaussian" if there is a delta.
    marginals : sequence of sequences of str, optional
        Columns of each marginal, chosen without the data: all that the planned analyses relate to
        one another. Default: all pairs of columns.
    copies : int
        Number of independent releases of the counts. One is enough for any number of synthetic
        tables.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. Under replace-one, where the unit is a
        record, the number of records is public and in the release.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or cut points of the schema aren't chosen yet.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> columns = {"smokes": {"type": "boolean"}, "age": {"type": "integer", "bounds": (18, 21)}}
    >>> made = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=1.0)
    >>> release = made.release(pd.DataFrame({"smokes": [True, False], "age": [20, 18]}))
    >>> release.guarantee.epsilon, len(release.to_frames()[0])
    (1.0, 8)
    """

    schema: str | Path | Mapping[str, Any] | Schema
    epsilon: float = declared(by_value(check_epsilon), default=1.0)
    delta: float = declared(by_value(check_delta), default=0.0)
    noise: str | None = None
    marginals: Sequence[Sequence[str]] | None = None
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"

    grouped: ClassVar[bool] = False
    named: ClassVar[bool] = True
    variable: ClassVar[str | None] = "table"

    def __post_init__(self) -> None:
        given = self.schema
        loaded = Schema.load(given) if isinstance(given, str | Path) else given
        keep(
            self,
            schema=check_schema("schema", loaded),
            neighbours=check_neighbours(self.neighbours).value,
        )
        super().__post_init__()
        if private := private_bins(self._schema.columns):
            raise InvalidInput(
                f"columns {', '.join(map(quoted, private))} have no cut points yet; choose them "
                "privately, by an exponential mechanism on quantiles for example, and give them by "
                "schema.with_cuts"
            )
        if self.noise is None:
            keep(self, noise="gaussian" if self.delta else "laplace")
        self.mechanism(1 if self.public_n else None, self.epsilon)  # whose checks are these

    @property
    def public_n(self) -> bool:
        """True if the number of records is public."""
        replaced = self.neighbours == Neighbours.REPLACE_ONE.value
        return replaced and not isinstance(self._schema.unit, Person)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that `release` takes."""
        unit = self._schema.unit
        return [*self._schema.columns, *([unit.person] if isinstance(unit, Person) else [])]

    @property
    def categories(self) -> dict[str, tuple[Any, ...]]:
        """Labels of the columns that have them, by which a file is read."""
        return {
            name: column.shown
            for name, column in self._schema.columns.items()
            if isinstance(column, Labels | Boolean)
        }

    @property
    def axes(self) -> Sequence[Axis]:
        """Columns with labels, by whose types a file is read."""
        return [
            Axis(name, categories=labels)
            for name, labels in self.categories.items()
            if len(labels) > 1
        ]

    @property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """Columns of each marginal that is released."""
        if self.marginals is not None:
            return tuple(map(tuple, self.marginals))
        names = list(self._schema.columns)
        return tuple(itertools.combinations(names, min(2, len(names))))

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Counted]:
        """Count all records, those of a person up to the limit."""
        unit = self._schema.unit
        if isinstance(unit, Person):
            if isinstance(data, Scan | Iterator):
                raise InvalidInput(
                    f"data is read in batches, but the unit is a person, {quoted(unit.person)}, "
                    "whose records may be in several; give all records at once, as a DataFrame"
                )
            data = self._schema.limited(data)
        return super().tallies(data, by, name)

    def tally(self, records: Any) -> Counted:
        """Count records in the cells of all marginals; refuse those that the schema doesn't hold.

        Raises
        ------
        InvalidInput
            If a record doesn't fit the schema; the message has no value of it.
        """
        schema = self._schema
        codes = schema.coded(records)
        if schema.impossible(codes).any():
            raise InvalidInput(
                "data have records that the schema's zeros exclude; correct them by a public rule, "
                "or take the rule out"
            )
        names = list(schema.columns)
        columns = [codes[name].to_numpy() for name in names]
        places = [tuple(names.index(name) for name in part) for part in self.measured]
        counts = counted_codes(columns, list(schema.cells.values()), places)
        return Counted(counts, len(codes))

    def add(self, one: Counted, other: Counted) -> Counted:
        """Add the counts of two batches."""
        return Counted(one.counts + other.counts, one.n + other.n)

    def empty(self) -> Counted:
        """Count no records."""
        sizes = [np.prod([self._schema.cells[name] for name in part]) for part in self.measured]
        return Counted(np.zeros(int(sum(sizes)), dtype=np.int64), 0)

    def statistic(self, tally: Counted) -> NDArray[np.int64]:
        """The counts of all marginals."""
        return tally.counts

    def mechanism(self, known: int | None, epsilon: float | None) -> NoisyTableMechanism:
        """The mechanism whose copies together cost `epsilon`."""
        noise: Any = self.noise
        return NoisyTableMechanism.calibrate(
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta,
            copies=self.copies,
            schema=self._schema,
            marginals=[self.measured],
            noise=noise,
            neighbours=check_neighbours(self.neighbours),
            n=known,
        )

    @property
    def _schema(self) -> Schema:
        """The schema, which was read from its file or mapping when this was made."""
        made: Any = self.schema
        return made  # type: ignore[no-any-return]
