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
Unless the last round's marginals are chosen on confidential counts, for a price of its own, by the
rule and the proof of `bayesdp.mechanisms.counts.table_choice`, which adds to what follows. The
numbers of rounds, J_r and s_r are fixed before any data are seen. So whatever was released
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
from collections.abc import Sequence
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
)
from bayesdp.core.fields import WRITTEN, later
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.table_choice import Chosen, Offered
from bayesdp.core.views import Measured, MeasuredTableView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.marginals import checked_codes, counted_codes
from bayesdp.mechanisms.counts.table_choice import (
    UNAUDITED,
    Choice,
    check_choice,
    chosen,
    interval,
    normal_move,
    offered,
    rate_of,
    scores,
)
from bayesdp.mechanisms.counts.table_rounds import (
    Pools,
    Round,
    all_are,
    check_pools,
    check_rounds,
    check_shares,
    most_of,
    moves_of,
    pool_of,
    shown_by_code,
)
from bayesdp.mechanisms.modips.promise import gaussian_profile
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

_LAWS: dict[str, type[Any]] = {
    "laplace": DiscreteLaplaceMechanism,
    "gaussian": DiscreteGaussianMechanism,
}
_MOST_COUNTS = 10**8


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
    rounds : sequence of `bayesdp.mechanisms.counts.table_rounds.Round`, or of mappings
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
    pools : sequence of `bayesdp.mechanisms.counts.table_rounds.Pools`, or of mappings
        Columns whose cells are pooled in marginals of several columns; a marginal of such a column
        alone counts its cells. Public; they may be chosen from the released numbers of earlier
        rounds than those that count by them.
    choice : `bayesdp.mechanisms.counts.table_choice.Choice`, or mapping, optional
        Candidates of which the last round's marginals were chosen, in their order, on confidential
        counts. Then the statistic has the counts of all candidates, after those of earlier rounds'
        marginals, and an output is of the marginals that were chosen.

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
    choice: Choice | None = later(None)  # noqa: RUF009

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
        object.__setattr__(self, "pools", check_pools(self.pools, self.schema))
        object.__setattr__(self, "rounds", check_rounds(self.rounds, self.schema.cells))
        if self.choice is not None:
            marginals = [one.marginals for one in self.rounds]
            made = check_choice(self.choice, marginals, self.schema.cells)
            object.__setattr__(self, "choice", made)
        if (size := self.wide._size) > _MOST_COUNTS:
            raise InvalidInput(
                f"the marginals have {size:,} counts together; at most {_MOST_COUNTS:,} are "
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
            with Laplace noise. The choice's, if there is one, is the last, of mu^2 / 2 or of
            epsilon. By default all are the same.
        **fields
            The mechanism's other parameters.

        Raises
        ------
        InvalidInput
            If no scales keep the promise, or an argument is out of its range.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        copies = check_at_least_one("copies", copies)
        if not isinstance(marginals, list | tuple) or not all_are(list | tuple, marginals):
            raise InvalidInput(
                f"marginals is {quoted(marginals)}; it must be a list of rounds, each a list of "
                "marginals, as [[('age', 'sex')], [('sex', 'job')]]"
            )
        rounds: Any = [{"marginals": each, "scale": 1.0} for each in marginals]
        like = cls(rounds=rounds, **fields)
        each = check_shares(shares, len(like.rounds) + (like.choice is not None))
        power = 1.0 if like.noise == "laplace" else 0.5
        weights = [
            part.sensitivity / share**power
            for part, share in zip(like._moving(like.neighbours), each, strict=False)
        ]

        def at(factor: float) -> NoisyTableMechanism:
            scales = [factor * weight for weight in weights]
            given = zip(like.rounds, scales, strict=True)
            made = tuple(dataclasses.replace(one, scale=scale) for one, scale in given)
            choice = like.choice
            if choice is not None:
                moved = moves_of(like.neighbours) * most_of(like.schema)
                share = each[-1] / len(made[-1].marginals)
                rate = rate_of(like.noise, share, factor, moved)
                choice = dataclasses.replace(choice, rate=rate)
            return dataclasses.replace(like, rounds=made, choice=choice)

        if like.noise == "laplace":
            factor = max(copies / epsilon, _LEAST)
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
        return counted_codes(checked, self._cells, self.wide.places, pool)

    @property
    def wide(self) -> NoisyTableMechanism:
        """The mechanism that measures all of a choice's candidates, whose statistic it shares."""
        if self.choice is None:
            return self
        last = dataclasses.replace(self.rounds[-1], marginals=self.choice.candidates)
        return dataclasses.replace(self, rounds=(*self.rounds[:-1], last), choice=None)

    def offered(self, output: Any) -> tuple[Offered, ...]:
        """A choice's candidates, with what the counts released before them let expect of each."""
        wide, z, counts = self.wide, np.asarray(output, dtype=np.float64), {}
        for columns, part in reversed([*zip(self.places, self.slices, strict=True)][: self._known]):
            if len(columns) == 1:
                counts[columns[0]] = z[..., part]
        shapes = [self.shape_of(part) for part in wide.marginals[self._known :]]
        firsts = {list(self.schema.columns).index(one.column): one.firsts for one in self.pools}
        deviation = self.rounds[-1].scale * (1 if self.noise == "gaussian" else math.sqrt(2))
        return offered(wide.places[self._known :], shapes, counts, firsts, self.n, deviation)

    def choose(self, output: Any, statistic: Any) -> NoisyTableMechanism:
        """Choose the last round's marginals on confidential counts, exactly, for good.

        The output has the released counts of all rounds before; the statistic, all counts.
        """
        choice: Any = self.choice
        scored = scores(self.offered(output), self._candidates(statistic))
        order = chosen(scored, len(self.rounds[-1].marginals), choice.rate)
        marginals = tuple(choice.candidates[k] for k in order)
        last = dataclasses.replace(self.rounds[-1], marginals=marginals)
        return dataclasses.replace(self, rounds=(*self.rounds[:-1], last))

    # What is promised.

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, one of records; else raise InvalidInput."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_unshown(relation, self.n)
        moves_of(relation)  # which there may be none of
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies, whatever marginals were chosen."""
        copies = check_at_least_one("copies", copies)
        parts = self._moving(self.relation(neighbours))
        each = self._intervals(self.relation(neighbours))
        if self.noise == "laplace":
            one = sum((Fraction(p.moved()) / Fraction(p.scale) for p in parts), Fraction(0))
            one += sum(map(Fraction, each))
            return pure_profile(up(one), copies, up(copies * one))
        if len(parts) == 1:
            single: Profile = parts[0].profile(copies=copies)
            return single
        ratios = [part.moved() / part.scale for part in parts] + list(map(normal_move, each))
        components = sum(part.dimension for part in parts) + len(each)
        least = min(part.noise.scale for part in parts)
        spread = [*ratios, *[0.0] * (components - len(ratios))]
        return gaussian_profile(least, spread, copies)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        relation = self.relation(neighbours)
        each = [part.rho(copies=copies) for part in self._moving(relation)]
        each += [up(copies * Fraction(one) ** 2 / 8) for one in self._intervals(relation)]
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
        if self.choice is not None:
            notes.append(
                "But the last round's marginals were chosen on confidential counts, by the "
                "exponential mechanism, which is in the promise; their candidates without the data."
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
        check_one_statistic(self.check_statistics(statistic).shape, (self.wide._size,))
        return statistic

    def check_statistics(self, statistic: Any) -> NDArray[np.int64]:
        """Return one statistic or several, whose last axis are the counts, or raise."""
        if self.choice is not None:
            return self.wide.check_statistics(statistic)
        given = self._split(statistic, "statistic")
        parts = zip(self._noises, given, strict=True)
        return np.concatenate([noise.check_statistics(x) for noise, x in parts], axis=-1)

    def draw(self, statistic: Any, copies: int) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator; the counts are the last axis.

        They are of the rounds' marginals: the last ones' choice is drawn by `choose`.
        """
        parts = zip(self._noises, self._split(self.of_rounds(statistic), "statistic"), strict=True)
        return np.concatenate([noise.draw(x, copies) for noise, x in parts], axis=-1)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic] given the marginals, vectorised over both.

        The last axis of both are the counts. It is the law of the whole transcript: the choice of a
        later round's marginals is a function of what earlier rounds released or, where there is a
        `choice`, has a law of its own given that and the statistic, which is a factor here.
        """
        both = self._split(output, "output"), self._split(self.of_rounds(statistic), "statistic")
        parts = zip(self._noises, *both, strict=True)
        log = np.asarray(sum(noise.logp(z, x) for noise, z, x in parts))
        if self.choice is None:
            return log
        made = self._chosen(output)
        scored = scores(made.offered, self._candidates(statistic))
        return np.asarray(log + made.log_law(scored))

    # What is written down, read, and what an audit tries.

    @property
    def views(self) -> tuple[View, ...]:
        """View of noisy counts of marginals of a table with a schema."""
        cells = [
            noise.cell
            for one, noise in zip(self.rounds, self._noises, strict=True)
            for _ in one.marginals
        ]
        shapes, choice = map(self.shape_of, self.marginals), self._chosen if self.choice else None
        measured = zip(self.places, shapes, cells, self.slices, strict=True)
        made = tuple(Measured(*each) for each in measured)
        return (MeasuredTableView(self.schema, self.schema.cells, made, self.pool, choice),)

    def _chosen(self, output: Any) -> Chosen:
        choice: Any = self.choice
        return Chosen(self.offered(output), self._order, choice.rate)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of one unit in the first cell of every marginal, and none, or one in the last."""
        if self.choice is not None:
            raise InvalidInput(UNAUDITED)
        first, last, none = ([0] * self._size for _ in range(3))
        for part in self.slices:
            first[part.start] = last[part.stop - 1] = most_of(self.schema)
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
        moves, most = moves_of(relation), most_of(self.schema)
        return tuple(
            _noise(self.noise, one.scale, moves * len(one.marginals), most, relation)
            for one in self.rounds
        )

    @property
    def _order(self) -> tuple[int, ...]:
        """Places of the chosen marginals among the candidates."""
        choice: Any = self.choice
        return tuple(choice.candidates.index(part) for part in self.rounds[-1].marginals)

    def _intervals(self, relation: Neighbours) -> list[float]:
        """Length of the interval of log ratios of each choice."""
        if self.choice is None:
            return []
        moved = moves_of(relation) * most_of(self.schema)
        return [interval(self.choice.rate, moved)] * len(self.rounds[-1].marginals)

    @property
    def _known(self) -> int:
        """Number of marginals before the last round's."""
        return len(self.marginals) - len(self.rounds[-1].marginals)

    def _candidates(self, statistic: Any) -> list[NDArray[Any]]:
        """Counts of a choice's candidates in a statistic."""
        return [np.asarray(statistic)[..., part] for part in self.wide.slices[self._known :]]

    def of_rounds(self, statistic: Any) -> Any:
        """Counts of the rounds' marginals in a statistic: all of them where there is no choice."""
        given = np.asarray(statistic)
        if self.choice is None or given.shape[-1:] != (self.wide._size,):
            return given
        each, start = self._candidates(given), self.slices[self._known].start
        return np.concatenate([given[..., :start], *[each[k] for k in self._order]], axis=-1)

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
