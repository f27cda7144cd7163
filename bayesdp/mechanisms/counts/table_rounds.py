"""Rounds in which marginals of a table are measured, and pools of cells; how counts are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.core.fields import of_table
from bayesdp.core.outputs import structured
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.marginals import check_marginals
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.schema.schema import Schema
from bayesdp.schema.units import Person

_MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}
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


def pool_of(firsts: Sequence[int], cells: int) -> NDArray[np.int64]:
    """The pool of each of a column's cells, by the first cell of each pool."""
    return np.searchsorted(firsts, np.arange(cells), side="right").astype(np.int64) - 1


def check_rounds(rounds: Any, cells: dict[str, int]) -> tuple[Round, ...]:
    """Return the rounds with their marginals as tuples of columns, or raise InvalidInput."""
    if not isinstance(rounds, list | tuple) or not rounds or not all_are(Round | Mapping, rounds):
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


def check_pools(pools: Any, schema: Schema) -> tuple[Pools, ...]:
    """Return the pools, of intervals of the schema, or raise InvalidInput."""
    if not isinstance(pools, list | tuple) or not all_are(Pools | Mapping, pools):
        raise InvalidInput(
            f"pools is {quoted(pools)}; it must be a list of Pools, or of mappings of a column and "
            "firsts, the first cell of each pool"
        )
    made = [of_table(Pools)("pools", one) for one in pools]
    if len({one.column for one in made}) < len(made):
        raise InvalidInput("pools has a column twice; give each once")
    for one in made:
        if not isinstance(one.firsts, list | tuple) or not all_are(int, one.firsts):
            raise InvalidInput(
                f"firsts is {quoted(one.firsts)}; it must be a list of whole numbers"
            )
    schema.pooled({one.column: one.firsts for one in made})
    return tuple(Pools(one.column, tuple(one.firsts)) for one in made)


def check_shares(shares: Any, rounds: int) -> list[float]:
    """Return each round's share of a budget, or raise InvalidInput."""
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


def all_are(kind: Any, values: Sequence[Any]) -> bool:
    """Return True if all values are of a kind."""
    return all(isinstance(value, kind) for value in values)


def shown_by_code(mechanism: Any, output: NDArray[Any]) -> NDArray[Any]:
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


def most_of(schema: Schema) -> int:
    """Largest number of records of the unit that is protected."""
    return schema.unit.most if isinstance(schema.unit, Person) else 1


def moves_of(relation: Neighbours) -> int:
    """Number of units that are taken away or added between neighbours."""
    if relation not in _MOVES:
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; tables of records have 'add_remove' and "
            "'replace_one'"
        )
    return _MOVES[relation]
