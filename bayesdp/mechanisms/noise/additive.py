"""Base of the additive-noise mechanisms: a statistic plus integer noise on a lattice.

Bounding (Liu 2019): `truncated` conditions the law of each component on the bounds, and its
probability of lying there depends on the data, which costs privacy; `inflated` sets what lies
beyond a bound to the bound (boundary-inflated truncation), post-processing that costs nothing.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_statistic
from bayesdp.core.views import CountView, IntegersView, NoiseView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.noise import outputs as noise_outputs
from bayesdp.mechanisms.noise.calibration import calibrated
from bayesdp.mechanisms.noise.fields import check_fields
from bayesdp.mechanisms.noise.lattice import FURTHEST, lattice_ends, moved_steps, to_steps
from bayesdp.mechanisms.noise.laws import Noise
from bayesdp.mechanisms.noise.reach import integers
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile

_OPEN = 2**62  # steps to a bound that isn't there


class AdditiveNoise(Mechanism):
    """Base of the additive-noise mechanisms; a subclass declares its fields and its noise's law."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def scale(self) -> float: ...
        @property
        def sensitivity(self) -> float: ...
        @property
        def neighbours(self) -> Neighbours: ...
        @property
        def dimension(self) -> int | None: ...
        @property
        def bounds(self) -> tuple[Any, Any] | None: ...
        @property
        def bounding(self) -> str | None: ...
        @property
        def n(self) -> int | None: ...
        @property
        def granularity(self) -> float: ...

        __dataclass_fields__: ClassVar[dict[str, Any]]

        def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile: ...

    complete: ClassVar[bool] = False
    """Whether its statistic counts all records, cell by cell."""
    norm: ClassVar[str]
    """The norm of its sensitivity, "L1" or "L2"."""
    law: ClassVar[Any]
    """The law of one component's noise, of a scale in steps."""
    source: ClassVar[str]
    """Where its promise is proved."""

    @property
    def step(self) -> float:
        """Distance between lattice points; 1 for integer statistics."""
        return 1.0 if self.whole else self.granularity

    @property
    def whole(self) -> bool:
        """True if statistics and outputs are integers."""
        return "granularity" not in self.__dataclass_fields__

    @property
    def noise(self) -> Noise:
        """Law of one component's noise, in steps of the lattice."""
        made: Noise = self.law(Fraction(self.scale) / Fraction(self.step))
        return made

    @property
    def log_concave(self) -> bool:
        """True if the law is log-concave in an integer statistic, for every output.

        The noise is, and so are its tails; dividing by the probability of the bounds, which
        varies with the statistic, can break it.
        """
        return self.bounding != "truncated" and self.step <= 1

    def __post_init__(self) -> None:
        for name, value in check_fields(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float = 0.0, copies: int = 1, **parameters: Any
    ) -> Self:
        """The smallest scale whose `copies` copies keep (epsilon, delta); the rest as the class."""
        return calibrated(cls, epsilon, delta, copies, **parameters)

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The first and the last lattice point within the bounds, in steps; None if open."""
        return lattice_ends(self.bounds, self.step)

    @property
    def width(self) -> float:
        """Steps between the bounds; inf if one is open."""
        low, high = self.ends
        return math.inf if low is None or high is None else high - low

    # What is promised.

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the relation that a promise is asked under; `moved` says of which there is one."""
        return self.neighbours if neighbours is None else check_neighbours(neighbours)

    def _spanned(self, relation: Neighbours) -> Fraction:
        """Multiple of its sensitivity that the statistic moves by between neighbours at most.

        A replacement is a removal and an addition: twice.
        """
        if relation is self.neighbours:
            return Fraction(1)
        if (relation, self.neighbours) == (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
            return Fraction(2)
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}, but the sensitivity was given under "
            f"{quoted(self.neighbours.value)}, from which nothing follows; give the mechanism "
            f"neighbours={quoted(relation.value)} and the sensitivity under it"
        )

    def moved(self, neighbours: Neighbours | None = None) -> float:
        """Sensitivity in steps of the lattice, of the rounded statistic."""
        return moved_steps(
            self.norm,
            Fraction(self.sensitivity) * self._spanned(self.relation(neighbours)),
            self.step,
            dimension=self.dimension,
            whole=self.whole,
        )

    def _stated(self) -> str:
        return (
            f"The statistic's {self.norm} sensitivity is at most {self.sensitivity!r} under "
            f"{self.neighbours.value}, as the caller states."
        )

    def _reach(self) -> str:
        return (
            f"The statistic is always finite and at most {FURTHEST * self.step:g} in size: "
            "another is refused."
        )

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """What must hold for the promise to hold: the sensitivity that the caller states, first."""
        found = [self._stated(), "The mechanism's parameters were chosen without the data."]
        if self.bounding == "truncated":
            found.append("The statistic is always within the bounds: one outside is refused.")
        elif not self.whole:
            found.append(self._reach())
        if self.n is not None:
            found.append(PUBLIC_N)
        return tuple(found)

    # What is drawn, and with what probability.

    @property
    def cell(self) -> AdditiveNoise:
        """The mechanism's noise on a single number."""
        if self.dimension is None:
            return self
        one: Any = self
        # No law depends on it; above the step, so that a coarse lattice isn't warned of again.
        sensitivity = max(1.0, math.ceil(self.sensitivity), 0 if self.whole else 2 * self.step)
        made: AdditiveNoise = dataclasses.replace(one, dimension=None, sensitivity=sensitivity)
        return made

    @property
    def views(self) -> tuple[View, ...]:
        """Noise on a number or a vector, which may be of integers, and a number of ones."""
        return noise_views(self)

    def _to_steps(self, statistic: Any) -> Any:
        return to_steps(
            statistic,
            self.step,
            dimension=self.dimension,
            whole=self.whole,
            within=self.bounds if self.bounding == "truncated" else None,
        )

    def _gaps(self, centre: Any) -> tuple[Any, Any]:
        low, high = self.ends
        below = np.full_like(centre, _OPEN) if low is None else centre - low
        return below, np.full_like(centre, _OPEN) if high is None else high - centre

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        shape = () if self.dimension is None else (self.dimension,)
        check_one_statistic(self._to_steps(statistic).shape, shape)
        return statistic

    def release(self, statistic: Any, copies: int = 1) -> NDArray[Any]:
        """Draw copies, exactly, from the secure generator.

        Parameters
        ----------
        statistic : array_like
            Confidential. Scalar mechanisms take any shape, each element a statistic of its own;
            with a dimension, the last axis is the vector.
        copies : int
            Independent copies of each.

        Returns
        -------
        ndarray of int64 or, for real statistics, float64, shape (copies, *shape of the statistic)
        """
        copies = check_at_least_one("copies", copies)
        centre = self._to_steps(statistic)
        shape = (copies, *centre.shape)
        flat = np.broadcast_to(centre, shape).ravel()
        if self.bounding == "truncated":
            drawn = flat + self.noise.draw_within(*self._gaps(flat))
        else:
            drawn = flat + self.noise.draw(flat.size)
        if self.bounding == "inflated":
            drawn = np.clip(drawn, *self.ends)
        drawn = drawn.reshape(shape)
        return drawn if self.whole else drawn * self.step

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf where there is no such output.

        With a dimension, the last axis of both is the vector, and the others broadcast.
        """
        centre = self._to_steps(statistic)
        with np.errstate(over="ignore"):  # too large to be an output
            y = np.asarray(output, dtype=np.float64) / self.step
        d = self.dimension
        if d is not None and (y.ndim == 0 or y.shape[-1] != d):
            raise InvalidInput(f"output has shape {y.shape}; its last axis must have length {d}")
        low, high = self.ends
        possible = (np.abs(y) < 2.0**62) & (y == np.floor(y))
        possible &= (y >= (-math.inf if low is None else low)) & (
            y <= (math.inf if high is None else high)
        )
        k, centre = np.broadcast_arrays(np.where(possible, y, 0).astype(np.int64), centre)
        law, noise = self.noise.log_pmf(k - centre), self.noise
        if self.bounding == "truncated":
            law = law - noise.log_mass(*self._gaps(centre))
        elif self.bounding == "inflated":
            below, above = self._gaps(centre)
            for end, gap in ((low, below), (high, above)):
                if end is not None:
                    law = np.where(k == end, noise.log_upper(gap), law)
        law = np.where(possible, law, -np.inf)
        return np.asarray(law if d is None else law.sum(axis=-1))

    # What is written down, and what an audit tries.

    pairs = noise_outputs.worst_pairs
    outputs = noise_outputs.all_outputs
    check_output = noise_outputs.check_output
    encode = noise_outputs.encode
    decode = noise_outputs.decode


def noise_views(mechanism: AdditiveNoise) -> tuple[View, ...]:
    """The views of noise on a number or a vector, which may be of integers, or a number of ones."""
    shape = () if mechanism.dimension is None else (mechanism.dimension,)
    cell = mechanism.cell
    whole = IntegersView(shape, partial(integers, cell), mechanism.complete)
    if shape:
        return NoiseView(shape, cell), whole
    count = CountView(lambda z, x, n: mechanism.logp(z, x), lambda n: None)
    return NoiseView(shape, cell), whole, count
