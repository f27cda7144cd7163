"""Noisy marginals: tables over some of the columns each, with discrete noise.

Each record is counted in one cell of each of J marginals. Adding or removing it moves J counts by
1: sensitivity J in L1 norm and sqrt(J) in L2 norm. Replacing it moves at most 2 J counts by 1: 2 J
and sqrt(2 J). So discrete Laplace noise of one scale costs J / scale or 2 J / scale, purely, and
discrete Gaussian noise what `bayesdp.mechanisms.gaussian_noise` proves; each marginal has the same
part of the budget. Barak, Chaudhuri, Dwork, Kale, McSherry and Talwar (2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.cells import Axis, check_axes, shape_of
from bayesdp.mechanisms.gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise_fields import check_public_n
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile

_MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}
_LAWS: dict[str, type[Any]] = {
    "laplace": DiscreteLaplaceMechanism,
    "gaussian": DiscreteGaussianMechanism,
}


@dataclass(frozen=True, slots=True)
class NoisyMarginals:
    """Release every count of some marginals of a table plus discrete noise of one scale.

    Parameters
    ----------
    scale : float
        Of the noise: t of Pr[k] in proportion to exp(-|k| / t), or sigma of the Gaussian.
    axes : sequence of `bayesdp.mechanisms.cells.Axis`
        The columns and their bins, fixed without the data. Public.
    marginals : sequence of sequences of str
        Each marginal's columns. Public.
    noise : {"laplace", "gaussian"}
        The noise's law.
    neighbours : Neighbours
        Add/remove-one or replace-one: where its promise is stated if none is asked for.
    n : int, optional
        Number of records, where it is public: not under add/remove-one.

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

    name: ClassVar[str] = "noisy_marginals"
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        if self.noise not in _LAWS:
            raise InvalidInput(f"noise is {self.noise!r}; it must be 'laplace' or 'gaussian'")
        axes = tuple(Axis(**a) if isinstance(a, Mapping) else a for a in self.axes or ())
        if not axes or not all(isinstance(axis, Axis) for axis in axes):
            raise InvalidInput(f"axes is {self.axes!r}; it must be a sequence of Axis, one or more")
        check_axes(axes, math.prod(shape_of(axes)))
        relation = check_neighbours(self.neighbours)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "marginals", _check_marginals(self.marginals, axes))
        object.__setattr__(self, "neighbours", relation)
        object.__setattr__(self, "scale", self._of(relation).scale)
        object.__setattr__(self, "n", check_public_n(self.n, relation))

    @classmethod
    def calibrate(
        cls, *, epsilon: float, copies: int = 1, delta: float = 0.0, **fields: Any
    ) -> NoisyMarginals:
        """The mechanism with the smallest scale whose copies keep (epsilon, delta)."""
        example = cls(scale=1.0, **fields)
        inner = example._of(example.neighbours)
        found = type(inner).calibrate(
            epsilon=epsilon,
            delta=delta,
            copies=copies,
            sensitivity=inner.sensitivity,
            neighbours=inner.neighbours,
            dimension=inner.dimension,
        )
        return cls(scale=found.scale, **fields)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Each marginal's axes, by their numbers."""
        names = [axis.name for axis in self.axes]
        return tuple(tuple(names.index(name) for name in part) for part in self.marginals)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Each marginal's numbers of bins."""
        return tuple(tuple(self.axes[k].size for k in part) for part in self.places)

    def statistic(self, counts: Any) -> NDArray[np.int64]:
        """All marginals' counts in a row, from the counts of all cells, a table of any shape."""
        whole = np.asarray(counts).reshape(shape_of(self.axes))
        every = range(len(self.axes))
        return np.concatenate(
            [
                whole.sum(axis=tuple(k for k in every if k not in part))
                .transpose(np.argsort(np.argsort(part)))
                .ravel()
                for part in self.places
            ]
        )

    def tables(self, output: Any) -> list[NDArray[Any]]:
        """A released output as one array a marginal."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts = np.split(np.asarray(output), ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        made: Profile = self._asked(neighbours).profile(copies=copies)
        return made

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies at `delta`: one point of `profile`.

        Raises
        ------
        InvalidInput
            If n is public and `neighbours` is add/remove, or the relation is not one of records.
        """
        made: Guarantee = self._asked(neighbours).guarantee(copies=copies, delta=delta)
        return made

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """What holds when a record is removed: the same as when one is added."""
        return self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta)

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        return self._of(self.neighbours).check_statistic(statistic)

    def release(self, statistic: Any, copies: int = 1) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator; the statistic's axis is the last."""
        drawn: NDArray[np.int64] = self._of(self.neighbours).release(statistic, copies)
        return drawn

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """log Pr[output | statistic], vectorised over both; `statistic` makes the last axis."""
        law: NDArray[np.float64] = self._of(self.neighbours).logp(output, statistic)
        return law

    def pairs(self) -> list[tuple[Any, Any]]:
        """A record in the first cell, and none or one that is elsewhere in every column."""
        cells = np.eye(math.prod(shape_of(self.axes)), dtype=np.int64)[[0, -1]]
        first, last = (tuple(self.statistic(one).tolist()) for one in cells)
        if self.neighbours is Neighbours.REPLACE_ONE:
            return [(first, last)]
        return [((0,) * len(first), first)]

    def outputs(self) -> NDArray[Any] | None:
        """None: the noise is unbounded."""
        return None

    def check_output(self, output: Any) -> tuple[int, ...]:
        """The output as a tuple of ints, or InvalidInput if it can't be one."""
        made: tuple[int, ...] = self._of(self.neighbours).check_output(output)
        return made

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """One row a count: columns copy, component, value."""
        made: dict[str, Any] = self._of(self.neighbours).encode(outputs)
        return made

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """The outputs, in the order of their copies; raises InvalidInput if a row is missing."""
        made: list[Any] = self._of(self.neighbours).decode(columns)
        return made

    def records(self, output: Any) -> NDArray[Any]:
        """The released counts: a structured array of marginal, cell and count."""
        rows = []
        for part, counts in zip(self.places, self.tables(output), strict=True):
            label = " x ".join(self.axes[k].name for k in part)
            for bins, count in np.ndenumerate(counts):
                shown = [
                    "-".join(str(v[0]) for v in self.axes[k].shown(np.array([b])))
                    for k, b in zip(part, bins, strict=True)
                ]
                rows.append((label, ", ".join(shown), int(count)))
        return np.array(rows, dtype=[("marginal", object), ("cell", object), ("count", np.int64)])

    def _of(self, relation: Neighbours) -> Any:
        """The noise of a vector with the sensitivity of `relation`."""
        if relation not in _MOVES:
            raise InvalidInput(
                f"neighbours is {relation.value!r}; marginals of records have 'add_remove' and "
                "'replace_one'"
            )
        moved = float(_MOVES[relation] * len(self.marginals))
        if self.noise == "gaussian" and moved > 1:
            moved = math.nextafter(math.sqrt(moved), math.inf)
        size = sum(math.prod(shape) for shape in self.shapes)
        return _LAWS[self.noise](self.scale, moved, relation, size)

    def _asked(self, neighbours: Neighbours | None) -> Any:
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        if relation is Neighbours.ADD_REMOVE and self.n is not None:
            raise InvalidInput(
                "neighbours is 'add_remove', but n is public, so a record added or removed "
                "shows; keep n confidential (n=None) for an add/remove promise"
            )
        return self._of(relation)


def _check_marginals(marginals: Any, axes: Sequence[Axis]) -> tuple[tuple[str, ...], ...]:
    names = [axis.name for axis in axes]
    given = list(marginals) if isinstance(marginals, list | tuple) else []
    made = [(part,) if isinstance(part, str) else tuple(part) for part in given]
    distinct = {frozenset(part) for part in made}
    if (
        not made
        or len(distinct) < len(made)
        or not all(
            part and len(set(part)) == len(part) and set(part) <= set(names) for part in made
        )
    ):
        raise InvalidInput(
            f"marginals is {marginals!r}; it must be a list of different sets of the columns "
            f"{names}, for example [{tuple(names[:2])!r}]"
        )
    return tuple(made)
