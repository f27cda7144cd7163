"""Noisy marginals: tables over subsets of the columns, with discrete noise.

Each record is counted in one cell of each of J marginals. Adding or removing it moves J counts by
1: sensitivity J in L1 norm and sqrt(J) in L2 norm. Replacing it moves at most 2 J counts by 1: 2 J
and sqrt(2 J). So discrete Laplace noise of one scale costs J / scale or 2 J / scale, purely, and
discrete Gaussian noise what `bayesdp.mechanisms.noise.gaussian_profiles` proves; each marginal has
the same share of the budget. Barak, Chaudhuri, Dwork, Kale, McSherry and Talwar (2007).

Structural zeros are cells of the whole table where, by a public rule, no record can be. A count of
such cells alone is 0 for all data, and released as 0, without noise: whoever knows the rule learns
nothing from it. Of the other counts a record moves as many as before, at most: an addition moves J,
and a replacement 2 J where two possible cells differ in all marginals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_one_of
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import MarginalsView, RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.cells import Axis, check_axes, shape_of
from bayesdp.mechanisms.counts.marginals import check_marginals, shown_counts, sums_over
from bayesdp.mechanisms.counts.table_fields import check_zeros
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.privacy.neighbours import (
    PUBLIC_N,
    Neighbours,
    check_neighbours,
    check_public_n,
    check_unshown,
)
from bayesdp.privacy.profile import Profile

_MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}
_LAWS: dict[str, type[Any]] = {
    "laplace": DiscreteLaplaceMechanism,
    "gaussian": DiscreteGaussianMechanism,
}


@dataclass(frozen=True, slots=True)
class NoisyMarginalsMechanism(Mechanism):
    """Release every count of some marginals of a table plus discrete noise of one scale.

    Parameters
    ----------
    scale : float
        Scale of the noise, in records: t where Pr[k] is proportional to exp(-|k| / t), or sigma of
        the Gaussian.
    axes : sequence of `bayesdp.mechanisms.counts.cells.Axis`
        The columns and their bins, fixed without the data. Public.
    marginals : sequence of sequences of str
        Columns of each marginal. Public.
    noise : {"laplace", "gaussian"}
        The noise's law.
    neighbours : Neighbours
        Add/remove-one or replace-one: the relation of its promise where no other is asked for.
    n : int, optional
        Number of records, where it is public: not under add/remove-one.
    zeros : sequence of int
        The structural zeros: cells of the whole table by their numbers, the last column moving
        fastest. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    scale: float
    axes: tuple[Axis, ...]
    marginals: tuple[tuple[str, ...], ...]
    noise: str = "laplace"
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    n: int | None = None
    zeros: tuple[int, ...] = ()

    name: ClassVar[str] = "noisy_marginals"
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        check_one_of("noise", self.noise, tuple(_LAWS))
        axes = tuple(Axis(**a) if isinstance(a, Mapping) else a for a in self.axes or ())
        if not axes or not all(isinstance(axis, Axis) for axis in axes):
            raise InvalidInput(
                f"axes is {quoted(self.axes)}; it must be a sequence of Axis, one or more"
            )
        relation = check_neighbours(self.neighbours)
        object.__setattr__(self, "axes", check_axes(axes, math.prod(shape_of(axes))))
        object.__setattr__(
            self, "marginals", check_marginals(self.marginals, [axis.name for axis in axes])
        )
        object.__setattr__(self, "neighbours", relation)
        object.__setattr__(self, "zeros", check_zeros(self.zeros, math.prod(shape_of(axes))))
        object.__setattr__(self, "scale", self._of(relation).scale)
        object.__setattr__(self, "n", check_public_n(self.n, relation))

    @classmethod
    def calibrate(
        cls, *, epsilon: float, copies: int = 1, delta: float = 0.0, **fields: Any
    ) -> NoisyMarginalsMechanism:
        """Make the mechanism with the smallest scale whose copies keep (epsilon, delta)."""
        example = cls(scale=1.0, **fields)
        noise = example._of(example.neighbours)
        scale = noise.smallest_scale(epsilon=epsilon, delta=delta, copies=copies)
        return cls(scale=scale, **fields)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Axes of each marginal, by their numbers."""
        names = [axis.name for axis in self.axes]
        return tuple(tuple(names.index(name) for name in part) for part in self.marginals)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each marginal: its numbers of bins."""
        return tuple(tuple(self.axes[k].size for k in part) for part in self.places)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Cells of the whole table that aren't structural zeros, as booleans of its shape."""
        mask = np.ones(math.prod(shape_of(self.axes)), dtype=bool)
        mask[list(self.zeros)] = False
        return mask.reshape(shape_of(self.axes))

    def statistic(self, counts: Any) -> NDArray[np.int64]:
        """Concatenate all marginals' counts, from the counts of all cells, a table of any shape."""
        whole = np.asarray(counts).reshape(shape_of(self.axes))
        if self.zeros and np.any(whole[~self.possible]):
            raise InvalidInput(
                f"counts has records in a structural zero, one of {len(self.zeros)} cells where "
                "the mechanism says that none can be; correct them by a public rule, or take the "
                "cell out of zeros"
            )
        return sums_over(whole, self.places)

    def tables(self, output: Any) -> list[NDArray[Any]]:
        """Split a released output into one array for each marginal."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts = np.split(np.asarray(output), ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, one of records; else raise InvalidInput."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_unshown(relation, self.n)
        self._of(relation)  # which there may be none of
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        made: Profile = self._asked(neighbours).profile(copies=copies)
        return made

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        known: float | None = self._asked(neighbours).rho(copies=copies)
        return known

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return f"bayesdp.mechanisms.counts.noisy_marginals; {_LAWS[self.noise].source}"

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise: the noise's, except for the sensitivity, proved here."""
        notes = list(self._of(relation).assumptions(relation)[1:])
        if self.n is not None:
            notes.insert(1, PUBLIC_N)
        return tuple(notes)

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        self._of(self.neighbours).check_statistic(self._noisy(statistic, "statistic"))
        return statistic

    def check_statistics(self, statistic: Any) -> Any:
        """Return the counts that get noise, of one or several statistics, or raise."""
        return self._of(self.neighbours).check_statistics(self._noisy(statistic, "statistic"))

    def draw(self, statistic: Any, copies: int) -> NDArray[np.int64]:
        """Draw copies, exactly, of the counts that get noise; all others are 0."""
        drawn = self._of(self.neighbours).draw(statistic, copies)
        made = np.zeros((*drawn.shape[:-1], self._size), dtype=np.int64)
        made[..., self._moving] = drawn
        return made

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; `statistic` makes the last axis."""
        x, z, moving = self._noisy(statistic, "statistic"), np.asarray(output), self._moving
        law: NDArray[np.float64] = self._of(self.neighbours).logp(z[..., moving], x)
        never = np.any(z[..., ~moving], axis=-1)
        return np.where(never, -np.inf, law)

    @property
    def views(self) -> tuple[View, ...]:
        """View of noisy counts of a table's marginals."""
        cell = self._of(self.neighbours).cell
        about = self.axes, self.possible, self.marginals, self.places
        records = RecordsView("bdp.synthesizers.LogLinearSynthesizer.records(release, size)")
        return MarginalsView(*about, self.statistic, cell), records

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of one record in the first possible cell, and none, or one far from it.

        The far record differs in every column, unless structural zeros forbid it.
        """
        cells = np.argwhere(self.possible)
        apart = [np.any(cells[:, part] != cells[0, part], axis=1) for part in self.places]
        furthest = len(cells) - 1 - int(np.argmax(sum(apart)[::-1]))
        first, last = (self._at(cells[k]) for k in (0, furthest))
        if self.neighbours is Neighbours.REPLACE_ONE:
            return [(first, last)]
        return [((0,) * len(first), first)]

    def _at(self, cell: NDArray[np.int64]) -> tuple[int, ...]:
        """Statistic of a single record in a cell."""
        one = np.zeros(shape_of(self.axes), dtype=np.int64)
        one[tuple(cell)] = 1
        return tuple(sums_over(one, self.places).tolist())

    @property
    def space(self) -> Numbers:
        """Noisy counts; a structured array shows the marginal, cell and count of each."""
        still = tuple(np.flatnonzero(~self._moving).tolist())
        return Numbers(self._size, whole=True, zeros=still, shown=self._shown)

    def _shown(self, output: Any) -> NDArray[Any]:
        return shown_counts(self.axes, self.places, self.tables(output))

    def _of(self, relation: Neighbours) -> Any:
        """Noise of a vector with the sensitivity of `relation`."""
        if relation not in _MOVES:
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; marginals of records have 'add_remove' "
                "and 'replace_one'"
            )
        moved = float(_MOVES[relation] * len(self.marginals))
        if self.noise == "gaussian" and moved > 1:
            moved = math.nextafter(math.sqrt(moved), math.inf)
        return _LAWS[self.noise](self.scale, moved, relation, int(self._moving.sum()))

    @property
    def _size(self) -> int:
        """Number of all marginals' counts."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def _moving(self) -> NDArray[np.bool_]:
        """Counts that get noise, as booleans: those of a cell that isn't a structural zero."""
        if not self.zeros:
            return np.ones(self._size, dtype=bool)
        return sums_over(self.possible, self.places) > 0

    def _noisy(self, values: Any, name: str) -> NDArray[Any]:
        """Select a statistic's or an output's counts that get noise; all others must be 0."""
        given = np.asarray(values)
        if given.shape[-1:] != (self._size,):
            raise InvalidInput(
                f"{name} has shape {given.shape}; its last axis must hold the {self._size} counts "
                "of all marginals"
            )
        moving = self._moving
        if np.any(given[..., ~moving]):
            raise InvalidInput(f"{name} has a count other than 0 of structural zeros alone")
        return given[..., moving]

    def _asked(self, neighbours: Neighbours | None) -> Any:
        return self._of(self.relation(neighbours))
