"""The synthesizer of whole tables: noisy counts of marginals of all columns, by a schema."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_one_of, check_share, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.marginals import check_marginals, counted_codes
from bayesdp.mechanisms.counts.noisy_table import NoisyTableMechanism
from bayesdp.mechanisms.counts.table_rounds import Pools, pool_of
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.private_folder import sweep
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.schema.columns import private_bins
from bayesdp.schema.intervals import PrivateBins
from bayesdp.schema.labelled import Boolean, Labels
from bayesdp.schema.plain import check_schema
from bayesdp.schema.schema import Schema
from bayesdp.schema.units import Person
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.cut_choice import pools_of
from bayesdp.synthesis.marginal_choice import candidates, chosen_marginals, deviation
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.publish import pay_then_draw
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.workload import Marginals, check_cells, marginals_of, size_of


class Counted(NamedTuple):
    """Counts of records in all marginals, and the number of records. Confidential."""

    counts: NDArray[np.int64]
    n: int


@dataclass(frozen=True, eq=False)
class TableSynthesizer(RecordSynthesizer):
    """Synthesize a whole table of many columns from noisy counts of its marginals.

    The release holds the noisy counts (`NoisyTableMechanism`), of all pairs of columns if nothing
    else is asked for, so that the analyst has their exact law. `bdp.TableModel` infers the table
    from them: its posterior has synthetic copies, and intervals of any function of the table that
    account for the noise. The whole table's cells, which may be 10^60, are never held.

    Parameters
    ----------
    schema : `bayesdp.Schema`, mapping, or path
        Declaration of the columns, from the codebook alone, or its TOML file. A mapping is one of
        the columns, as `Schema` takes it, or of columns, zeros and unit. Its unit is what the
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
    workload : sequence of str or sequence of str, optional
        Planned analyses: formulas, "income ~ age + C(sex)", and lists of columns. All pairs of an
        analysis's columns are counted, of a list of three the triple too, of a formula with terms
        of two columns, "income ~ age * C(sex)", the triples that its sums are of, and a column that
        none has by itself. Default: all pairs of columns.
    marginals : sequence of sequences of str, optional
        Columns of each marginal, in place of a workload's, chosen without the data.
    most_cells : int
        Largest number of cells of a marginal. A larger one that is asked for is refused.
    chosen : int, optional
        Number of marginals of a second round, which are chosen among the first round's pairs, and
        triples of these, by its released counts. Default: there is one round.
    choosing : {"released", "exponential"}
        Whether a second round's marginals are chosen by released counts, or by the exponential
        mechanism on the confidential ones (`bayesdp.mechanisms.counts.table_choice`), whose exact
        law is then part of the posterior: the first round counts each column alone, and candidates
        are the workload's marginals of two or more columns, but for those with too many cells.
    pilot : float, optional
        Share of the budget that the first round takes where there are two, in (0, 1): of rho with
        Gaussian noise, of epsilon with Laplace noise. It is of what the schema's private cut points
        leave. Default: 0.8, or 0.2 where the exponential mechanism chooses.
    choice_share : float
        Share of the same that the exponential mechanism takes, in (0, 1), where it chooses.
    pools : mapping of str to sequence of int, optional
        Columns whose cells are pooled, neighbours together, wherever they are counted with others:
        the first cell of each pool. Chosen without the data, or by an earlier release of them.
    copies : int
        Number of independent releases of the counts. One is enough for any number of synthetic
        tables.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. Under replace-one, where the unit is a
        record, the number of records is public and in the release.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Where the schema leaves cut points to be chosen privately, ``bins = { private = 8, share = 0.1
    }``, the first rounds count such a column alone, in the cells of its grid, for its share of the
    budget. By these released counts the grid's cells are pooled into that many intervals, shorter
    where there are more records (`bayesdp.synthesis.cut_choice`), in which the column is then
    counted with others. Nothing is spent on the choice itself, nor lost: the grid's counts are in
    the release, and the posterior's tables have the grid's cells. Within an interval, how a
    column's values go with other columns rests on the model. So does a long tail with next to no
    records, where a grid of equal width has many cells of noise: let its cells widen there. In 24
    surveys of 3,000 records at epsilon 1, slopes of a log-normal income, on a grid of 100 cells of
    equal width to 25 times the median, came by latent tables to 1.2 times the truth with eight
    private intervals, and 95% intervals had it in 86% of cases; with eight of equal width to .7
    times and in 47%. Linear regressions have moments of the released counts, whose intervals cover
    either way (`bayesdp.inference.table.moments`).

    A second round serves strong relations between columns of few cells, at the others' cost. Where
    all pairs matter alike one round is about as good or better, and is the default. The exponential
    mechanism leaves all pairs that it doesn't choose to the model, and pays where few are related
    among many. `bayesdp.synthesis.marginal_choice` has figures.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> columns = {"smokes": {"type": "boolean"}, "age": {"type": "integer", "bounds": (18, 21)}}
    >>> made = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=1.0)
    >>> release = made.release(pd.DataFrame({"smokes": [True, False], "age": [20, 18]}))
    >>> release.guarantee.epsilon, len(release.to_frames()[0])
    (1.0, 8)

    Counted are the pairs that planned analyses relate, and then, more exactly, the two marginals
    that these counts show to matter most:

    >>> names = ["smokes", "drinks", "runs", "eats"]
    >>> schema = bdp.Schema({name: {"type": "boolean"} for name in names})
    >>> planned = ["smokes ~ drinks + runs", ["eats", "runs"]]
    >>> made = bdp.TableSynthesizer(schema, epsilon=1.0, workload=planned, chosen=2)
    >>> made.measured
    (('smokes', 'drinks'), ('smokes', 'runs'), ('drinks', 'runs'), ('runs', 'eats'))
    >>> [len(one.marginals) for one in made.mechanism(None, 1.0).rounds], made.guarantee().epsilon
    ([4, 2], 1.0)
    """

    schema: str | Path | Mapping[str, Any] | Schema
    epsilon: float = declared(by_value(check_epsilon), default=1.0)
    delta: float = declared(by_value(check_delta), default=0.0)
    noise: str | None = None
    workload: Sequence[str | Sequence[str]] | None = None
    marginals: Sequence[Sequence[str]] | None = None
    most_cells: int = declared(check_at_least_one, default=10_000)
    chosen: int | None = declared(check_at_least_one, optional=True, default=None)
    choosing: str = "released"
    pilot: float = declared(check_share, optional=True, default=None)
    choice_share: float = declared(check_share, default=0.1)
    pools: Mapping[str, Sequence[int]] | None = None
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"

    grouped: ClassVar[bool] = False
    named: ClassVar[bool] = True
    batched: ClassVar[bool] = True
    variable: ClassVar[str | None] = "table"
    paths: ClassVar[tuple[str, ...]] = ("schema",)

    def __post_init__(self) -> None:
        given = self.schema
        loaded = Schema.load(given) if isinstance(given, str | Path) else given
        keep(
            self,
            schema=check_schema("schema", loaded),
            neighbours=check_neighbours(self.neighbours).value,
        )
        super().__post_init__()
        if self.noise is None:
            keep(self, noise="gaussian" if self.delta else "laplace")
        check_one_of("choosing", self.choosing, ("released", "exponential"))
        if self.pilot is None:
            keep(self, pilot=0.2 if self._confidential else 0.8)
        self._check_rounds()
        self.mechanism(1 if self.public_n else None, self.epsilon)  # whose checks are these

    def _check_rounds(self) -> None:
        if self.pools is not None:
            self._schema.on_grid.pooled(self.pools if isinstance(self.pools, Mapping) else {"": []})
        if self.workload is not None and self.marginals is not None:
            raise InvalidInput("workload and marginals are both given; give one of them")
        if self.pools is not None and (private := [*self._private]):
            raise InvalidInput(
                f"pools is {quoted(self.pools)}, but the schema's columns "
                f"{', '.join(map(quoted, private))} have cut points to be chosen; give one of both"
            )
        check_cells(self.measured, self._sizes, self.most_cells)
        if self.copies > 1 and self._in_rounds:
            raise InvalidInput(
                f"copies is {self.copies}, but a later round (chosen, or after private cut points) "
                "follows from one release of the first; take copies=1, which is enough for any "
                "number of synthetic tables"
            )
        if self.chosen is None:
            if self._confidential:
                raise InvalidInput(
                    "choosing is 'exponential', but chosen is None; give the number of marginals "
                    "that are to be chosen"
                )
            return
        if self._confidential and self.pilot + self.choice_share >= 1:
            raise InvalidInput(
                f"pilot is {self.pilot} and choice_share {self.choice_share}; they must leave a "
                "share of the budget for what is chosen, below 1 together"
            )
        if (most := len(self._candidates)) < self.chosen:
            raise InvalidInput(
                f"chosen is {self.chosen}; there are {most} marginals to choose from, pairs of the "
                "first round and triples of these: take fewer, or more pairs in the first round"
            )

    @property
    def public_n(self) -> bool:
        """True if the number of records is public."""
        replaced = self.neighbours == Neighbours.REPLACE_ONE.value
        return replaced and not isinstance(self._schema.unit, Person)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that `release` takes."""
        return [*self._schema.columns, *self.written]

    @property
    def written(self) -> list[str]:
        """Names of the columns that are read from a file as they are written: persons' ids.

        Read as numbers where all are, "01" and "1" would be one person or two as others' ids are.
        """
        unit = self._schema.unit
        return [unit.person] if isinstance(unit, Person) else []

    @property
    def categories(self) -> dict[str, tuple[Any, ...]]:
        """Labels of the columns that have them, by which a file is read."""
        return {
            name: column.shown
            for name, column in self._schema.columns.items()
            if isinstance(column, Labels | Boolean)
        }

    @property
    def measured(self) -> Marginals:
        """Columns of each marginal that is released, in the first round if a second is chosen.

        A column whose cut points are chosen privately is counted by itself before.
        """
        made = self._asked
        if self._confidential:
            made = tuple((name,) for name in self._schema.columns)
        return tuple(part for part in made if part not in self._grids)

    @property
    def _confidential(self) -> bool:
        """True if a second round's marginals are chosen on confidential counts."""
        return self.choosing == "exponential"

    @property
    def _asked(self) -> Marginals:
        """Columns of each marginal that was asked for."""
        if self.marginals is not None:
            return check_marginals(self.marginals, self._schema.columns)
        return marginals_of(self.workload, list(self._schema.columns))

    @property
    def _private(self) -> Mapping[str, PrivateBins]:
        """Cut points that are to be chosen, by column."""
        return private_bins(self._schema.columns)

    @property
    def _grids(self) -> Marginals:
        """Marginals by whose counts cut points are chosen."""
        return tuple((name,) for name in self._private)

    @property
    def _first(self) -> Marginals:
        """Marginals of what is counted first."""
        return self._grids or self.measured

    @property
    def _in_rounds(self) -> bool:
        """True if later rounds follow from what the first releases."""
        return self.chosen is not None or bool(self._private)

    @property
    def _sizes(self) -> dict[str, int]:
        """Number of cells of each column where it is counted with others, at most."""
        pooled = {name: len(firsts) for name, firsts in (self.pools or {}).items()}
        return self._schema.cells | pooled

    @property
    def _candidates(self) -> Marginals:
        if self._confidential:
            sizes = {part: size_of(part, self._sizes) for part in self._asked if len(part) > 1}
            return tuple(part for part, size in sizes.items() if size <= self.most_cells)
        return candidates(self.measured, self._sizes, self.most_cells)

    def release(
        self,
        data: Any,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Count, pay and draw, in rounds where later ones follow from what the first release.

        Parameters
        ----------
        data : DataFrame, iterator of DataFrames, or Scan
            The confidential records. A later round reads them again, so that an iterator, which can
            be read once, won't do. Where the unit is a person, the first records of each are
            counted over all batches in their order, and the column of ids is read with the others,
            ``bdp.scan(files, synthesizer.columns)``: of CSV files as texts (`Schema.limited`).
            Dask's partitions are then counted here, one after another, in place of by its workers.
        by : None
            There are no groups.
        variable : str, optional
            Name of the table. Default: "table".
        ledger : DatasetLedger, optional
            The budget of these records. The data are checked first, then all rounds are charged
            together, then the first is drawn. A charge is final, even if a later round fails. The
            entry is written before any choice: in place of what will be chosen it has the first so
            many candidates, and pools of as many cells, whose promise is the same.

        Returns
        -------
        Release

        Raises
        ------
        InvalidInput
            If the data can't be taken, or there is a ledger and the draws would be seeded: nothing
            is spent or drawn then. Or if the data change between two rounds.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        if not self._in_rounds:
            return super().release(data, by=by, variable=variable, ledger=ledger)
        if isinstance(data, Iterator):
            raise InvalidInput(
                "data is an iterator, which can be read once, and a later round (chosen, or after "
                "private cut points) reads it again; give a DataFrame, bdp.scan(files, columns), "
                "or chosen=None and a schema with cut points"
            )
        tally = self.tallies(data, by)[None]
        (planned,) = self.mechanisms({None: self.known(tally)}).values()
        first = _rounds(planned, slice(max(len(self._grids), 1)))
        counts = first.check_statistic(tally.counts)
        sweep()

        def draw() -> dict[None, tuple[NoisyTableMechanism, list[Any]]]:
            made, output, seen = planned, first.draw(counts, 1)[0], [counts]
            for place in range(len(first.rounds), len(planned.rounds)):
                made, last = self._decided(made, output, place), place == len(planned.rounds) - 1
                part = _rounds(made.wide if last else made, slice(place, place + 1))
                seen.append(self._counted_again(data, part, tally.n))
                if last and made.choice:
                    made = made.choose(output, np.concatenate(seen))
                    part = _rounds(made, slice(place, None))
                    seen[-1] = made.of_rounds(np.concatenate(seen))[output.size :]
                output = np.concatenate([output, part.draw(seen[-1], 1)[0]])
            return {None: (made, [output.tolist()])}

        return pay_then_draw(
            {None: planned},
            draw,
            delta=self.delta,
            variable=variable or str(self.variable),
            ledger=ledger,
        )

    def choice(self, released: Any) -> Marginals:
        """Choose the marginals of the second round by the counts that were released before.

        Parameters
        ----------
        released : array_like of int
            Noisy counts of all rounds before the last, one after another.

        Returns
        -------
        tuple of tuples of str
            `chosen` pairs and triples, those with the largest gain by
            `bayesdp.synthesis.marginal_choice`: a function of public parameters and these counts.

        Raises
        ------
        InvalidInput
            If there is no such round, or these aren't such counts.
        """
        if self.chosen is None:
            raise InvalidInput("chosen is None, so that there is no second round to choose")
        if self._confidential:
            raise InvalidInput(
                "choosing is 'exponential', whose choice isn't a function of released counts; take "
                "choosing='released', or read the last round in the release's mechanism"
            )
        made, counts = self.mechanism(1 if self.public_n else None, self.epsilon), released
        for place in range(1, len(made.rounds)):
            made = self._decided(made, counts, place)
        _rounds(made, slice(-1)).check_statistic(counts)
        return made.rounds[-1].marginals

    def _decided(
        self, mechanism: NoisyTableMechanism, released: Any, place: int
    ) -> NoisyTableMechanism:
        """The mechanism with what earlier rounds' counts decide about the round at a place."""
        grids, counts = len(self._grids), np.asarray(released)
        if place == grids > 0:
            ends = [part.stop for part in mechanism.slices[:grids]]
            _rounds(mechanism, slice(grids)).check_statistic(counts[: ends[-1]])
            parts = zip(np.split(counts, ends), mechanism.rounds, strict=False)
            given = [(part, deviation(mechanism.noise, one.scale)) for part, one in parts]
            return dataclasses.replace(mechanism, pools=self._pooled(given))
        if self.chosen is not None and place == grids + 1 and not self._confidential:
            last = dataclasses.replace(
                mechanism.rounds[-1], marginals=self._chosen(mechanism, counts)
            )
            return dataclasses.replace(mechanism, rounds=(*mechanism.rounds[:-1], last))
        return mechanism

    def _pooled(
        self, released: Sequence[tuple[NDArray[Any], float]] | None = None
    ) -> tuple[Pools, ...]:
        """Pools by the grids' counts and noise; of as many cells each before these are released."""
        made, columns = [], self._schema.on_grid.columns
        for place, (name, bins) in enumerate(self._private.items()):
            column = columns[name]
            counts, noise = released[place] if released else (np.zeros(column.cells), 1.0)
            missing = (column.size,) if column.missing else ()
            own = counts[: column.size].copy()
            if column.starts[-1] >= column.ends[1]:  # a pool of the upper bound alone has no edges
                own[-2] += own[-1]
                own = own[:-1]
            made.append(Pools(name, (*pools_of(own, bins.private, noise), *missing)))
        return tuple(made)

    def _chosen(self, mechanism: NoisyTableMechanism, released: Any) -> Marginals:
        """Marginals of the last round, by the counts of the rounds before it."""
        before = _rounds(mechanism, slice(-1))
        counts = np.asarray(before.check_statistic(released))
        start = len(self._grids)
        pilot = list(zip(before.marginals, before.slices, strict=True))[start:]
        cells = dict(self._schema.on_grid.cells)
        cells |= {one.column: len(one.firsts) for one in before.pools}
        return chosen_marginals(
            {
                pair: counts[part].reshape(before.shape_of(pair))
                for pair, part in pilot
                if len(pair) == 2
            },
            cells,
            number=self.chosen or 0,
            noise=before.noise,
            scales=(mechanism.rounds[-2].scale, mechanism.rounds[-1].scale),
            most_cells=self.most_cells,
        )

    def _counted_again(self, data: Any, part: NoisyTableMechanism, n: int) -> NDArray[np.int64]:
        """Count the records in the marginals of one round."""
        other = dataclasses.replace(
            self,
            schema=self._schema.on_grid,
            marginals=part.marginals,
            workload=None,
            chosen=None,
            choosing="released",
            pools={one.column: one.firsts for one in part.pools},
        )
        tally = other.tallies(data)[None]
        if tally.n != n:
            raise InvalidInput("data changed between two rounds; a table must stay as it is")
        return tally.counts

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Counted]:
        """Count all records, those of a person up to the limit."""
        scanned = isinstance(data, Scan)
        if scanned:
            types = dict.fromkeys(self.written, "string") | self._schema.types
            data = data.typed(
                types, {n: c.way_out_of_file for n, c in self._schema.columns.items()}
            )
        if self.written:  # in order, as of each person the first records count
            self.check_by(data, by)
            data = self._schema.limited(iter(data) if scanned else data)
        return super().tallies(data, by, name)

    def tally(self, records: Any) -> Counted:
        """Count records in the cells of all marginals; refuse those that the schema doesn't hold.

        Raises
        ------
        InvalidInput
            If a record doesn't fit the schema; the message has no value of it.
        """
        schema = self._schema.on_grid
        codes = schema.coded(records)
        if schema.impossible(codes).any():
            raise InvalidInput(
                "data have records that the schema's zeros exclude; correct them by a public rule, "
                "or take the rule out"
            )
        names, cells = list(schema.columns), schema.cells
        columns = [codes[name].to_numpy() for name in names]
        places = [tuple(names.index(name) for name in part) for part in self._first]
        pool = {
            names.index(name): pool_of(firsts, cells[name])
            for name, firsts in (self.pools or {}).items()
        }
        counts = counted_codes(columns, list(cells.values()), places, pool)
        return Counted(counts, len(codes))

    def add(self, one: Counted, other: Counted) -> Counted:
        """Add the counts of two batches."""
        return Counted(one.counts + other.counts, one.n + other.n)

    def empty(self) -> Counted:
        """Count no records."""
        cells = self._schema.on_grid.cells
        sizes = [size_of(part, cells if len(part) == 1 else self._sizes) for part in self._first]
        return Counted(np.zeros(sum(sizes), dtype=np.int64), 0)

    def statistic(self, tally: Counted) -> NDArray[np.int64]:
        """The counts of all marginals."""
        return tally.counts

    def mechanism(self, known: int | None, epsilon: float | None) -> NoisyTableMechanism:
        """The mechanism whose copies together cost `epsilon`."""
        rounds: list[Marginals] = [(part,) for part in self._grids]
        shares = [bins.share for bins in self._private.values()]
        rest = 1 - math.fsum(shares)
        choice = None
        if self.chosen is not None:
            spent = self.choice_share if self._confidential else 0.0
            if self.measured:
                rounds.append(self.measured)
                shares.append(rest * self.pilot)
            rounds.append(self._candidates[: self.chosen])
            shares.append(rest * (1 - self.pilot - spent))
            if self._confidential:
                choice = {"candidates": self._candidates, "rate": 1.0}
                shares.append(rest * spent)
        elif self.measured:
            rounds.append(self.measured)
            shares.append(rest)
        noise: Any = self.noise
        given = [Pools(name, tuple(firsts)) for name, firsts in (self.pools or {}).items()]
        return NoisyTableMechanism.calibrate(
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta,
            copies=self.copies,
            schema=self._schema.on_grid,
            marginals=rounds,
            shares=[share / math.fsum(shares) for share in shares],
            noise=noise,
            neighbours=check_neighbours(self.neighbours),
            n=known,
            pools=given or self._pooled(),
            choice=choice,
        )

    @property
    def _schema(self) -> Schema:
        """The schema, which was read from its file or mapping when this was made."""
        made: Any = self.schema
        return made  # type: ignore[no-any-return]


def _rounds(mechanism: NoisyTableMechanism, part: slice) -> NoisyTableMechanism:
    """The mechanism of some of the rounds, of which none is chosen on confidential counts."""
    return dataclasses.replace(mechanism, rounds=mechanism.rounds[part], choice=None)
