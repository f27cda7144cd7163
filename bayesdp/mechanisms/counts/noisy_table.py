r"""Noisy marginals of a table of many columns, in rounds, of which later ones may be chosen.

The records are coded by a schema, and the cells of the whole table, which may be 10^60, are never
held. Round r releases all counts of J_r marginals, each plus independent discrete noise of scale
s_r. Which marginals those of a later round are may be chosen from the released numbers of earlier
ones, and from nothing else that depends on the data; and so may the pools of cells, neighbours
together, that a column is counted by where it is counted with others.

One round
---------
The unit is a record, or a person with at most k records (k = 1 for a record), of which
`Schema.limited` has kept the first. A record is counted in one cell of each marginal. So adding or
removing the unit moves at most k counts of each marginal, by k together: J k in L1 norm and
sqrt(J) k in L2 norm. Replacing it takes such a vector from the counts and adds another, both
without negative entries: at most 2 J k in L1 norm and sqrt(2 J) k in L2 norm, since the square of
a difference of such vectors has no more than both squares. This holds for any J marginals, so it
doesn't matter which are chosen, nor how many cells they have, nor which of these are pooled.
At most J k counts (2 J k for a replacement) move; all others have the same law for both neighbours,
and independent noise, so that they change no divergence. A promise about m moving components is
thus one about all.

All rounds, whatever is chosen
------------------------------
The numbers of rounds, J_r and s_r are fixed before any data are seen. So whatever was released
before, and whatever was chosen from it, round r is dominated by the same pair of laws; then the
whole transcript is dominated by the product of the rounds' pairs (Zhu, Dong and Wang 2022, Theorem
10; for Gaussian pairs Dong, Roth and Su 2022, Theorem 4). This is the pair of a mechanism whose
marginals were all fixed: the choice costs nothing, and every promise here depends on J_r, s_r, k
and the relation alone.

- Laplace: log ratios add up, epsilon = sum of (L1 sensitivity of round r) / s_r.
- Gaussian: `bayesdp.mechanisms.modips.promise` bounds the profile of independent components with
  scales of their own, by m = sum m_r components whose root of the sum of (move / scale)^2 is
  L = sqrt(sum (L2 sensitivity of round r / s_r)^2). Its steps hold round by round given what was
  released before: the ratio of the discrete law to a randomisation of the continuous one is within
  exp(e_r), where e_r depends on m_r and the scale alone, so the product is within exp(sum e_r); the
  continuous rounds are dominated by N(L, 1) and N(0, 1) as above; and rho adds up.

Structural zeros that the schema declares aren't used: a count of cells where no record can be gets
noise as any other. Public columns get noise as the others do.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    check_at_least_one,
    check_delta,
    check_one_of,
    check_one_statistic,
    is_number,
)
from bayesdp.core.fields import WRITTEN, later, of_table
from bayesdp.core.outputs import structured
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import Measured, MeasuredTableView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.marginals import check_marginals, checked_codes, counted_codes
from bayesdp.mechanisms.modips.promise import gaussian_profile
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.pure import up
from bayesdp.privacy.composition import total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import (
    PUBLIC_N,
    Neighbours,
    check_neighbours,
    check_public_n,
    check_unshown,
)
from bayesdp.privacy.profile import Profile, pure_profile, smallest_satisfying
from bayesdp.schema.plain import check_schema, plain_of
from bayesdp.schema.schema import Schema
from bayesdp.schema.units import Person

_MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}
_LAWS: dict[str, type[Any]] = {
    "laplace": DiscreteLaplaceMechanism,
    "gaussian": DiscreteGaussianMechanism,
}
_MOST_COUNTS = 10**8
_SUM_TO_ONE = 1e-9  # how far from 1 shares may be, as their sum rounds


@dataclass(frozen=True, slots=True)
class Round:
    """Marginals that are measured at once, with noise of one scale.

    Parameters
    ----------
    marginals : sequence of sequences of str
        Columns of each marginal, no set of them twice.
    scale : float
        Scale of the noise on each count, in records.
    """

    marginals: tuple[tuple[str, ...], ...]
    scale: float


@dataclass(frozen=True, slots=True)
class Pools:
    """Pools of a column's cells, neighbours together.

    Parameters
    ----------
    column : str
    firsts : sequence of int
        The first cell of each pool, from 0, increasing.
    """

    column: str
    firsts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NoisyTableMechanism(Mechanism):
    """Release noisy counts of marginals of a table of records, in rounds.

    The statistic and an output are the counts of all rounds' marginals, one after another; of each
    marginal in the order of its columns, the last of which moves fastest.

    Parameters
    ----------
    schema : `bayesdp.Schema`, or mapping
        Declaration of the table's columns, or the mapping of columns, zeros and unit that makes
        one. Public. Its unit is what the promise protects.
    rounds : sequence of `bayesdp.mechanisms.counts.noisy_table.Round`, or of mappings
        Marginals and scale of each round. Public. A later round's marginals, but neither their
        number nor the scale, may be chosen from the released numbers of earlier rounds.
    noise : {"gaussian", "laplace"}
        The noise's law, discrete: Pr[k] is proportional to exp(-k^2 / (2 scale^2)) or
        exp(-|k| / scale).
    neighbours : Neighbours
        Add/remove-one or replace-one: the relation of its promise where no other is asked for.
    n : int, optional
        Number of records, where it is public: not under add/remove-one, nor where the unit is a
        person.
    pools : sequence of `bayesdp.mechanisms.counts.noisy_table.Pools`, or of mappings
        Columns whose cells are pooled in marginals of several columns; a marginal of such a column
        alone counts its cells. Public; they may be chosen from the released numbers of earlier
        rounds than those that count by them.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import pandas as pd, bayesdp as bdp
    >>> schema = bdp.Schema({name: {"type": "boolean"} for name in ("smokes", "drinks", "eats")})
    >>> noise = bdp.mechanisms.NoisyTableMechanism.calibrate(
    ...     epsilon=1.0, delta=1e-6, schema=schema, marginals=[[("smokes", "drinks")], [("eats",)]]
    ... )
    >>> print(noise.guarantee(delta=1e-6))
    epsilon = 1, delta = 1e-06 (add_remove, proved)
    >>> records = pd.DataFrame({"smokes": [True], "drinks": [False], "eats": [True]})
    >>> noise.statistic_of(schema.coded(records)).tolist()
    [0, 0, 1, 0, 0, 1]
    """

    schema: Schema = field(metadata={WRITTEN: plain_of})
    rounds: tuple[Round, ...]
    noise: str = "gaussian"
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    n: int | None = None
    pools: tuple[Pools, ...] = later(())

    name: ClassVar[str] = "noisy_table"
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", check_schema("schema", self.schema))
        check_one_of("noise", self.noise, tuple(_LAWS))
        relation = check_neighbours(self.neighbours)
        if self.n is not None and isinstance(self.schema.unit, Person):
            raise InvalidInput(
                f"n is {quoted(self.n)}, but the schema's unit is a person, who may have fewer "
                "records than another: keep n confidential (n=None)"
            )
        object.__setattr__(self, "neighbours", relation)
        object.__setattr__(self, "n", check_public_n(self.n, relation))
        object.__setattr__(self, "pools", _check_pools(self.pools, self.schema))
        object.__setattr__(self, "rounds", _check_rounds(self.rounds, self.schema.cells))
        if self._size > _MOST_COUNTS:
            raise InvalidInput(
                f"the marginals have {self._size:,} counts together; at most {_MOST_COUNTS:,} are "
                "released: leave large ones out, or give their columns fewer bins"
            )
        self._moving(relation)  # which there may be none of, and whose checks are of the scales

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        delta: float = 0.0,
        copies: int = 1,
        marginals: Sequence[Sequence[Sequence[str]]],
        shares: Sequence[float] | None = None,
        **fields: Any,
    ) -> NoisyTableMechanism:
        """Make the mechanism with the smallest scales whose copies keep (epsilon, delta).

        The scales depend on the number of each round's marginals, and on nothing else of them: a
        later round's may be replaced by others once they are chosen.

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in [0, 1).
        marginals : sequence of sequences of sequences of str
            Marginals of each round.
        shares : sequence of float, optional
            Share of the budget that each round takes, positive, with sum 1: of rho with Gaussian
            noise, whose scale is then proportional to sensitivity / sqrt(share), and of epsilon
            with Laplace noise. By default all are the same.
        **fields
            The mechanism's other parameters.

        Raises
        ------
        InvalidInput
            If no scales keep the promise, or an argument is out of its range.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        copies = check_at_least_one("copies", copies)
        if not isinstance(marginals, list | tuple) or not _all(list | tuple, marginals):
            raise InvalidInput(
                f"marginals is {quoted(marginals)}; it must be a list of rounds, each a list of "
                "marginals, as [[('age', 'sex')], [('sex', 'job')]]"
            )
        rounds: Any = [{"marginals": each, "scale": 1.0} for each in marginals]
        like = cls(rounds=rounds, **fields)
        each = _check_shares(shares, len(like.rounds))
        power = 1.0 if like.noise == "laplace" else 0.5
        weights = [
            part.sensitivity / share**power
            for part, share in zip(like._moving(like.neighbours), each, strict=True)
        ]

        def at(factor: float) -> NoisyTableMechanism:
            scales = [factor * weight for weight in weights]
            given = zip(like.rounds, scales, strict=True)
            made = tuple(dataclasses.replace(one, scale=scale) for one, scale in given)
            return dataclasses.replace(like, rounds=made)

        if like.noise == "laplace":
            factor = copies / epsilon
        elif delta == 0:
            raise InvalidInput(
                "delta is 0, and Gaussian noise has no pure epsilon: ask for a positive delta, "
                "such as 1e-6, or take noise='laplace'"
            )
        else:
            factor = smallest_satisfying(
                lambda factor: at(factor).delta(epsilon, copies=copies), delta, least=_LEAST
            )
        more = 2.0**-52
        while at(factor).epsilon(delta, copies=copies) > epsilon:  # as the guarantee rounds it
            factor, more = factor * (1 + more), 2 * more
        return at(factor)

    # What is measured.

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """Columns of each marginal, of all rounds."""
        return tuple(part for one in self.rounds for part in one.marginals)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Places in the schema of each marginal's columns."""
        place = {name: k for k, name in enumerate(self.schema.columns)}
        return tuple(tuple(place[name] for name in part) for part in self.marginals)

    @property
    def pool(self) -> dict[str, NDArray[np.int64]]:
        """The pool of each cell, by the columns whose cells are pooled."""
        cells = self.schema.cells
        return {one.column: pool_of(one.firsts, cells[one.column]) for one in self.pools}

    def shape_of(self, marginal: Sequence[str]) -> tuple[int, ...]:
        """Numbers of cells, or of pools, that a marginal counts of each of its columns."""
        sizes = dict(self.schema.cells)
        if len(marginal) > 1:
            sizes |= {one.column: len(one.firsts) for one in self.pools}
        return tuple(sizes[name] for name in marginal)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Start and stop of each marginal's counts in an output."""
        sizes = [math.prod(self.shape_of(part)) for part in self.marginals]
        return tuple(slice(*ends) for ends in pairwise(accumulate(sizes, initial=0)))

    def statistic_of(self, codes: Any) -> NDArray[np.int64]:
        """Count records in the cells of all marginals.

        Parameters
        ----------
        codes : DataFrame
            Confidential records' codes, as `Schema.coded` returns them: all records, or a batch,
            whose counts add up.

        Returns
        -------
        ndarray of int, shape (size,)

        Raises
        ------
        InvalidInput
            If columns are missing, or a code isn't one of its column's cells.
        """
        names = list(self.schema.columns)
        pool = {names.index(name): each for name, each in self.pool.items()}
        checked = checked_codes(codes, self.schema)
        return counted_codes(checked, self._cells, self.places, pool)

    # What is promised.

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, one of records; else raise InvalidInput."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_unshown(relation, self.n)
        _moves_of(relation)  # which there may be none of
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies, whatever marginals were chosen."""
        copies = check_at_least_one("copies", copies)
        parts = self._moving(self.relation(neighbours))
        if self.noise == "laplace":
            one = sum((Fraction(p.moved()) / Fraction(p.scale) for p in parts), Fraction(0))
            return pure_profile(up(one), copies, up(copies * one))
        if len(parts) == 1:
            single: Profile = parts[0].profile(copies=copies)
            return single
        ratios = [part.moved() / part.scale for part in parts]
        components = sum(part.dimension for part in parts)
        least = min(part.noise.scale for part in parts)
        spread = [*ratios, *[0.0] * (components - len(ratios))]
        return gaussian_profile(least, spread, copies)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        each = [part.rho(copies=copies) for part in self._moving(self.relation(neighbours))]
        return None if None in each else total(each)

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return (
            f"bayesdp.mechanisms.counts.noisy_table; {_LAWS[self.noise].source}; "
            "Zhu, Dong and Wang (2022)"
        )

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        notes = [
            "The schema, and each round's number of marginals and scale, were chosen without the "
            "data; which marginals a later round has, from nothing of the data but what earlier "
            "rounds released."
        ]
        if self.pools:
            notes.append(
                "The pools of cells were chosen without the data, or from nothing of them but what "
                "had been released before."
            )
        unit = self.schema.unit
        if isinstance(unit, Person):
            notes.append(
                "The unit is a person. The first records of each are counted, "
                f"{unit.most} at most, in an order that depends on no other person."
            )
        if self.n is not None:
            notes.append(PUBLIC_N)
        return tuple(notes)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        check_one_statistic(self.check_statistics(statistic).shape, (self._size,))
        return statistic

    def check_statistics(self, statistic: Any) -> NDArray[np.int64]:
        """Return one statistic or several, whose last axis are the counts, or raise."""
        given = self._split(statistic, "statistic")
        parts = zip(self._noises, given, strict=True)
        return np.concatenate([noise.check_statistics(x) for noise, x in parts], axis=-1)

    def draw(self, statistic: Any, copies: int) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator; the counts are the last axis."""
        parts = zip(self._noises, self._split(statistic, "statistic"), strict=True)
        return np.concatenate([noise.draw(x, copies) for noise, x in parts], axis=-1)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic] given the marginals, vectorised over both.

        The last axis of both are the counts. It is the law of the whole transcript: the choice of a
        later round's marginals is a function of what earlier rounds released.
        """
        both = self._split(output, "output"), self._split(statistic, "statistic")
        parts = zip(self._noises, *both, strict=True)
        return np.asarray(sum(noise.logp(z, x) for noise, z, x in parts))

    # What is written down, read, and what an audit tries.

    @property
    def views(self) -> tuple[View, ...]:
        """View of noisy counts of marginals of a table with a schema."""
        cells = [
            noise.cell
            for one, noise in zip(self.rounds, self._noises, strict=True)
            for _ in one.marginals
        ]
        shapes = map(self.shape_of, self.marginals)
        measured = zip(self.places, shapes, cells, self.slices, strict=True)
        made = tuple(Measured(*each) for each in measured)
        return (MeasuredTableView(self.schema, self.schema.cells, made, self.pool),)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of one unit in the first cell of every marginal, and none, or one in the last."""
        unit = _most(self.schema)
        first, last, none = ([0] * self._size for _ in range(3))
        for part in self.slices:
            first[part.start] = last[part.stop - 1] = unit
        if self.neighbours is Neighbours.REPLACE_ONE:
            return [(tuple(first), tuple(last))]
        return [(tuple(none), tuple(first))]

    @property
    def space(self) -> Numbers:
        """Noisy counts; a structured array shows the round, marginal, cell and count of each."""
        return Numbers(self._size, whole=True, shown=self._shown)

    def _shown(self, output: Any) -> NDArray[Any]:
        return shown_by_code(self, np.asarray(output))

    @property
    def _cells(self) -> tuple[int, ...]:
        return tuple(self.schema.cells.values())

    @property
    def _size(self) -> int:
        """Number of all marginals' counts."""
        return sum(math.prod(self.shape_of(part)) for part in self.marginals)

    @property
    def _noises(self) -> tuple[Any, ...]:
        """Noise of each round's counts."""
        sizes = [
            sum(math.prod(self.shape_of(part)) for part in one.marginals) for one in self.rounds
        ]
        return tuple(
            dataclasses.replace(part, dimension=size)
            for part, size in zip(self._moving(self.neighbours), sizes, strict=True)
        )

    def _moving(self, relation: Neighbours) -> tuple[Any, ...]:
        """Noise of the counts that move between neighbours, at most, in each round."""
        moves, most = _moves_of(relation), _most(self.schema)
        return tuple(
            _noise(self.noise, one.scale, moves * len(one.marginals), most, relation)
            for one in self.rounds
        )

    def _split(self, values: Any, name: str) -> list[NDArray[Any]]:
        """Split counts by their rounds, along the last axis."""
        given = np.asarray(values)
        if given.shape[-1:] != (self._size,):
            raise InvalidInput(
                f"{name} has shape {given.shape}; its last axis must hold the {self._size} counts "
                "of all marginals"
            )
        firsts = np.cumsum([len(one.marginals) for one in self.rounds])[:-1]
        return np.split(given, [self.slices[k].start for k in firsts], axis=-1)


def pool_of(firsts: Sequence[int], cells: int) -> NDArray[np.int64]:
    """The pool of each of a column's cells, by the first cell of each pool."""
    return np.searchsorted(firsts, np.arange(cells), side="right").astype(np.int64) - 1


_LEAST = 2.0**-20  # of the factor that scales are multiplied by


@functools.lru_cache(maxsize=256)
def _noise(law: str, scale: float, moving: int, most: int, relation: Neighbours) -> Any:
    """Noise of `moving` marginals' counts, in each of which at most `most` records move."""
    moved = float(moving)
    if law == "gaussian" and moving > 1:
        moved = math.nextafter(math.sqrt(moving), math.inf)
    sensitivity = moved * most
    if Fraction(sensitivity) < Fraction(moved) * most:
        sensitivity = math.nextafter(sensitivity, math.inf)
    return _LAWS[law](scale, sensitivity, relation, dimension=moving * most)


def _most(schema: Schema) -> int:
    """Largest number of records of the unit that is protected."""
    return schema.unit.most if isinstance(schema.unit, Person) else 1


def _moves_of(relation: Neighbours) -> int:
    """Number of units that are taken away or added between neighbours."""
    if relation not in _MOVES:
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; tables of records have 'add_remove' and "
            "'replace_one'"
        )
    return _MOVES[relation]


def _check_rounds(rounds: Any, cells: dict[str, int]) -> tuple[Round, ...]:
    """Return the rounds with their marginals as tuples of columns, or raise InvalidInput."""
    if not isinstance(rounds, list | tuple) or not rounds or not _all(Round | Mapping, rounds):
        raise InvalidInput(
            f"rounds is {quoted(rounds)}; it must be a list of Round, or of mappings of marginals "
            "and scale, one or more"
        )
    made = []
    for given in rounds:
        one = of_table(Round)("rounds", given)
        marginals = check_marginals(one.marginals, cells)
        made.append(Round(marginals, check_positive("scale", one.scale)))
    return tuple(made)


def _check_pools(pools: Any, schema: Schema) -> tuple[Pools, ...]:
    """Return the pools, of intervals of the schema, or raise InvalidInput."""
    if not isinstance(pools, list | tuple) or not _all(Pools | Mapping, pools):
        raise InvalidInput(
            f"pools is {quoted(pools)}; it must be a list of Pools, or of mappings of a column and "
            "firsts, the first cell of each pool"
        )
    made = [of_table(Pools)("pools", one) for one in pools]
    if len({one.column for one in made}) < len(made):
        raise InvalidInput("pools has a column twice; give each once")
    for one in made:
        if not isinstance(one.firsts, list | tuple) or not _all(int, one.firsts):
            raise InvalidInput(
                f"firsts is {quoted(one.firsts)}; it must be a list of whole numbers"
            )
    schema.pooled({one.column: one.firsts for one in made})
    return tuple(Pools(one.column, tuple(one.firsts)) for one in made)


def _check_shares(shares: Any, rounds: int) -> list[float]:
    if shares is None:
        return [1 / rounds] * rounds
    given = list(shares) if isinstance(shares, list | tuple) else []
    good = len(given) == rounds and all(is_number(one) and one > 0 for one in given)
    if not good or not abs(math.fsum(given) - 1) <= _SUM_TO_ONE:
        raise InvalidInput(
            f"shares is {quoted(shares)}; it must be one positive number for each of the {rounds} "
            "rounds, with sum 1"
        )
    return [float(one) for one in given]


def _all(kind: Any, values: Sequence[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def shown_by_code(mechanism: NoisyTableMechanism, output: NDArray[Any]) -> NDArray[Any]:
    """Show counts as a structured array of round, marginal, cell by codes or pools, and count."""
    of = [k for k, one in enumerate(mechanism.rounds, 1) for _ in one.marginals]
    rounds, labels, cells = [], [], []
    for number, columns in zip(of, mechanism.marginals, strict=True):
        shape = mechanism.shape_of(columns)
        size = math.prod(shape)
        rounds.append(np.full(size, number))
        labels.append(np.full(size, " x ".join(columns), dtype=object))
        cells += [", ".join(map(str, cell)) for cell in np.ndindex(shape)]
    return structured(
        [
            ("round", np.concatenate(rounds)),
            ("marginal", np.concatenate(labels)),
            ("cell", np.array(cells, dtype=object)),
            ("count", output.astype(np.int64)),
        ]
    )
