r"""Noisy weighted counts: sums of survey weights by cell, with what their design variance needs.

Each record is in one of k cells and has a weight, at most a public largest one. The weight is
rounded to u steps of the largest / G, 0 <= u <= G, and the record also has the number

    v = floor(u (G - u) / G),  so that  u - v = u^2 / G rounded up to a whole step.

The statistic is, for each cell, the sum of u and the sum of v. The first is the weighted count; the
first less the second is the sum of squared weights, too large by less than one step a record. With
both, an estimated share p = sum w y / sum w has its linearised variance under the design,

    sum w^2 (y - p)^2 / (sum w)^2,

which is linear in the sums of squares by cell. All 2k numbers get independent discrete noise of one
scale: integers, so that nothing of a weight is in the last bits of a float.

Privacy
-------
*Add or remove a record.* It moves its cell's two sums by u and v, which aren't negative, and

    u + v <= u + u (G - u) / G = G - (G - u)^2 / G <= G.

So the statistic's L1 sensitivity is G, one largest weight, and so is its L2 sensitivity, which is
no greater; u = G, v = 0 attains both. The sums of squares cost nothing: had they been released
instead of the sums of v, u + u^2 / G would be up to 2 G, and all noise twice as wide.

*Replace a record.* A removal and an addition: 2 G in L1 norm. Its two vectors a and b have no
negative number, so that |a - b|^2 = |a|^2 + |b|^2 - 2 a.b <= 2 G^2: in L2 norm, sqrt(2) G. Two
records of the largest weight in two cells attain both.

*A household*, or any other unit with at most m records of which all may come or go at once: m G in
either norm, by the triangle inequality; m records of the largest weight in one cell attain it. That
holds as well where its records are in different groups, each with sums of its own and noise of the
same scale: then the sums of all groups are one vector, which it moves by no more.

Where u depends on its own record alone, as a weight that is rounded, or clipped to the largest one,
does. A weight that was raked, calibrated or adjusted for nonresponse depends on other records, too:
of such weights, the promise is about files that differ by a record and in no other weight.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_of, check_one_statistic
from bayesdp.core.outputs import structured
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.weighted_views import WeightedSumsView
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.cells import Axis, check_axes, shape_of
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.mechanisms.noise.reach import integers
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile

Integers = NDArray[np.int64]
NOISE: dict[str, Any] = {"laplace": DiscreteLaplaceMechanism, "gaussian": DiscreteGaussianMechanism}
STEPS = 2**20
"""Usual number of steps in the largest weight."""
_SHOWN = ("weighted_count", "squared_weights")


@dataclass(frozen=True, slots=True)
class WeightedCountsMechanism(Mechanism):
    """Release sums of survey weights by cell, and of their squares, each plus discrete noise.

    The statistic and an output are 2k whole numbers of steps: for each of the k cells the sum of
    weights u, and then for each the sum of u less its square (`weighted_counts`, this module, says
    why).

    Parameters
    ----------
    axes : sequence of `bayesdp.mechanisms.counts.cells.Axis`
        The columns whose cells weights are added up by, and their categories. Public.
    max_weight : float
        The largest weight, chosen without the data.
    scale : float
        b, in largest weights: noise k steps from 0 has a probability in proportion to
        exp(-k / (b steps)), or exp(-(k / (b steps))^2 / 2).
    weights : str
        Name of the weights' column.
    n : int, optional
        Number of records, where it is public; neighbours then replace one. None where it is
        confidential; neighbours then add or remove one, or a unit of at most `most`.
    noise : {"laplace", "gaussian"}
        The noise's law, discrete.
    most : int
        Largest number of records of one protected unit, such as a household.
    clip : bool
        Whether weights above the largest were set to it; if False, there were none.
    steps : int
        Number of steps in the largest weight, a power of two, to which weights are rounded.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or two contradict each other.

    Notes
    -----
    epsilon = most / b for Laplace noise, and 2 / b where a record is replaced: this module's
    docstring proves it.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> work = {"name": "work", "categories": ("yes", "no")}
    >>> made = bdp.mechanisms.WeightedCountsMechanism.calibrate(
    ...     epsilon=0.5, axes=[work], max_weight=40.0
    ... )
    >>> made.scale
    2.0
    """

    axes: tuple[Axis, ...]
    max_weight: float
    scale: float
    weights: str = "weight"
    n: int | None = None
    noise: str = "laplace"
    most: int = 1
    clip: bool = False
    steps: int = STEPS

    name: ClassVar[str] = "weighted_counts"
    source: ClassVar[str] = "bayesdp.mechanisms.counts.weighted_counts"

    def __post_init__(self) -> None:
        axes = tuple(Axis(**a) if isinstance(a, Mapping) else a for a in self.axes or ())
        if not axes or not all(isinstance(axis, Axis) for axis in axes):
            raise InvalidInput(
                f"axes is {quoted(self.axes)}; it must be a sequence of Axis, one or more"
            )
        checked: dict[str, Any] = {
            "axes": check_axes(axes, math.prod(shape_of(axes)), _SHOWN),
            "max_weight": check_positive("max_weight", self.max_weight, "weights' unit"),
            "scale": check_positive("scale", self.scale, "unit of the largest weight"),
            "most": check_at_least_one("most", self.most),
        }
        if not isinstance(self.weights, str) or self.weights in [axis.name for axis in axes]:
            raise InvalidInput(
                f"weights is {quoted(self.weights)}; it must be the name of the weights' column, "
                "which isn't one of those that they are added up by"
            )
        if self.n is not None:
            checked["n"] = check_at_least_one("n", self.n, "or None if confidential")
            if checked["most"] > 1:
                raise InvalidInput(
                    f"n is {quoted(self.n)} and most is {quoted(self.most)}, but a unit of several "
                    "records may have fewer, which changes their number; keep n confidential"
                )
        check_one_of("noise", self.noise, tuple(NOISE))
        check_flag("clip", self.clip)
        checked["steps"] = _checked_steps(self.steps)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _ = self._noise  # whose own checks raise

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float = 0.0, copies: int = 1, **parameters: Any
    ) -> WeightedCountsMechanism:
        """Make the mechanism with the smallest noise whose copies keep (epsilon, delta).

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or no scale keeps the promise.
        """
        example = cls(scale=1.0, **parameters)
        scale = example._noise.smallest_scale(epsilon=epsilon, delta=delta, copies=copies)
        return cls(scale=scale / example.steps, **parameters)  # exact: a power of two

    @property
    def k(self) -> int:
        """Number of cells."""
        return math.prod(shape_of(self.axes))

    @property
    def unit(self) -> float:
        """Weight of one step."""
        return self.max_weight / self.steps

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def _noise(self) -> AdditiveNoise:
        return _noise_of(self)

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        return self._noise.profile(copies=copies, neighbours=self.relation(neighbours))

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        known = self._noise.rho(copies=copies, neighbours=self.relation(neighbours))
        return None if known is None else float(known)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        notes = [
            "The columns, their categories, the largest weight and the scale were chosen without "
            "the data.",
            "A record's weight doesn't depend on other records: weights that were adjusted to the "
            "sample are taken as they are, and stay where another record comes or goes.",
        ]
        largest = f"{self.max_weight:g}"
        if self.clip:
            notes.append(f"Weights above {largest}, the largest, are counted as {largest}.")
        else:
            notes.append(f"No weight is above {largest}, whatever the data: such are refused.")
        if self.most > 1:
            notes.append(
                f"The protected unit has at most {self.most} records: the first of each are "
                "counted, in an order that depends on no other unit."
            )
        return (*notes, PUBLIC_N) if self.n is not None else tuple(notes)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Integers:
        """Return one data set's sums, or raise InvalidInput without its values."""
        sums = self.check_statistics(statistic)
        check_one_statistic(sums.shape, (2 * self.k,))
        return sums

    def check_statistics(self, statistic: Any) -> Integers:
        """Return sums of one data set or several, shape (..., 2k), or raise InvalidInput."""
        given = np.asarray(statistic)
        if given.dtype.kind not in "iu" or given.shape[-1:] != (2 * self.k,):
            raise InvalidInput(
                f"the statistic has type {given.dtype} and shape {given.shape}; its last axis must "
                f"hold {2 * self.k} whole numbers of steps, each cell's sum of weights and then "
                "each one's second sum"
            )
        sums: Integers = self._noise.check_statistics(given)
        of_weights, of_rest = np.split(sums, 2, axis=-1)
        if np.any(of_rest < 0) or np.any(of_rest > of_weights):
            raise InvalidInput(
                "the statistic has a sum that no weights have; each cell's second sum is from 0 to "
                "its first"
            )
        return sums

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Draw copies, exactly, from the secure generator; shape (copies, ..., 2k)."""
        return np.asarray(self._noise.draw(statistic, copies))

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf where there is no such output."""
        return self._noise.logp(output, self.check_statistics(statistic))

    # What is written down, and what an audit tries.

    @property
    def views(self) -> tuple[WeightedSumsView, ...]:
        """View of noisy sums of weights, and of their squares."""
        cell, sums = self._noise.cell, partial(integers, self._noise.cell)
        law = cell.scale, cell.noise.laplace, self.n, self.most, sums
        return (WeightedSumsView(self.axes, self.unit, self.steps, *law),)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics: a unit of the largest weights comes, or is replaced."""
        none = (0,) * (2 * self.k)
        first, last = list(none), list(none)
        first[0] = last[self.k - 1] = self.most * self.steps
        if self.n is None:
            return [(none, tuple(first)), (tuple(last), none)]
        return [(tuple(first), tuple(last if self.k > 1 else none))]

    @property
    def space(self) -> Numbers:
        """Whole numbers of steps; a table shows each cell's weighted count and squared weights."""
        return Numbers(2 * self.k, whole=True, shown=self._by_cell)

    def _by_cell(self, output: Any) -> NDArray[Any]:
        """Sums by cell, in weights and squared weights: a structured array, shape (k,)."""
        sums, rest = np.split(np.asarray(output, dtype=np.float64), 2)
        places = np.unravel_index(np.arange(self.k), shape_of(self.axes))
        columns = [
            v for axis, bins in zip(self.axes, places, strict=True) for v in axis.shown(bins)
        ]
        columns += [sums * self.unit, (sums - rest) * self.unit * self.max_weight]
        names = [field for axis in self.axes for field in axis.fields]
        return structured(zip([*names, *_SHOWN], columns, strict=True))


@functools.lru_cache(maxsize=64)
def _noise_of(mechanism: WeightedCountsMechanism) -> AdditiveNoise:
    """The noise on all sums, in steps, with the sensitivity that the module's docstring proves."""
    moved = float(mechanism.most * mechanism.steps)
    law = NOISE[mechanism.noise]
    if mechanism.n is not None:
        root = math.nextafter(math.sqrt(2) * moved, math.inf)
        moved = 2 * moved if law.norm == "L1" else root
    made: AdditiveNoise = law(
        mechanism.scale * mechanism.steps,
        moved,
        mechanism.neighbours,
        2 * mechanism.k,
        n=mechanism.n,
    )
    return made


def steps_of(weights: NDArray[np.float64], max_weight: float, steps: int) -> Integers:
    """Round weights up to the largest one to whole steps, each by itself."""
    rounded: Integers = np.rint(np.minimum(weights / max_weight, 1.0) * steps).astype(np.int64)
    return rounded


def sums_by_cell(cells: Integers, u: Integers, k: int, steps: int) -> Integers:
    """Sums of weights u by cell, and of u less its square, as the statistic; shape (2k,)."""
    sums = np.zeros(2 * k, dtype=np.int64)
    np.add.at(sums, cells, u)
    np.add.at(sums, cells + k, u * (steps - u) // steps)
    return sums


def _checked_steps(steps: Any) -> int:
    whole = check_at_least_one("steps", steps)
    if whole > STEPS or whole & (whole - 1):
        raise InvalidInput(f"steps is {quoted(steps)}; it must be a power of two, at most 2**20")
    return whole
