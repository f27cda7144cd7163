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

from bayesdp.checks import check_at_least_one, check_delta, check_one_statistic
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import CountView, IntegersView, NoiseView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.noise.fields import (
    check_bounds,
    check_granularity,
    check_positive,
    check_scale_in_steps,
    scale_range,
)
from bayesdp.mechanisms.noise.lattice import FURTHEST, lattice_ends, moved_steps, to_steps
from bayesdp.mechanisms.noise.laws import Noise
from bayesdp.mechanisms.noise.reach import integers
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours, check_public_n
from bayesdp.privacy.profile import Profile, gaussian_divergence, smallest_satisfying
from bayesdp.warned import warn_about

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

        The noise and its tails are log-concave; dividing by the probability of the bounds, which
        varies with the statistic, can break it.
        """
        return self.bounding != "truncated" and self.step <= 1

    def __post_init__(self) -> None:
        whole = self.whole
        checked: dict[str, Any] = {
            "scale": check_positive("scale", self.scale),
            "sensitivity": check_positive("sensitivity", self.sensitivity),
            "neighbours": check_neighbours(self.neighbours),
            "dimension": self.dimension,
            "bounds": check_bounds(self.bounds, self.bounding, whole),
        }
        if self.dimension is not None:
            checked["dimension"] = check_at_least_one("dimension", self.dimension, "or None")
        checked["n"] = check_public_n(self.n, checked["neighbours"])
        scale, sensitivity = checked["scale"], checked["sensitivity"]
        if not whole:
            step = check_granularity(self.granularity, scale, sensitivity)
            checked["granularity"] = step
            if step >= sensitivity:
                warn_about(
                    f"granularity is {quoted(step)}, no finer than the sensitivity, "
                    f"{quoted(sensitivity)}: the statistic is rounded to multiples of it, so that "
                    "the last digit of a sum may move it by a whole step; take a finer one, or "
                    "none, or where none was given a larger epsilon or delta",
                    "granularity",
                    stacklevel=3,
                )
        else:
            step = 1.0
            any_length = self.norm == "L2" and self.dimension is not None
            if sensitivity < 1 or (sensitivity % 1 and not any_length):
                raise InvalidInput(
                    f"sensitivity is {quoted(sensitivity)}; an integer statistic moves by whole "
                    "numbers, at least 1"
                )
        check_scale_in_steps(scale, step)
        lattice_ends(checked["bounds"], step)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float = 0.0, copies: int = 1, **parameters: Any
    ) -> Self:
        """Make the mechanism with the smallest scale whose copies keep (epsilon, delta).

        The scale is on the safe side of the root: the mechanism returned keeps the promise, by its
        own guarantee, and its scale exceeds the smallest by about one part in 10^12.

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in [0, 1).
        **parameters
            The class's other fields.

        Raises
        ------
        InvalidInput
            If no scale keeps the promise, or an argument is out of its range.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        copies = check_at_least_one("copies", copies)
        step = 1.0
        if "granularity" in cls.__dataclass_fields__:
            sensitivity = check_positive("sensitivity", parameters.get("sensitivity"))
            guess = _continuous_scale(cls.norm, epsilon, delta, copies, sensitivity)
            step = check_granularity(parameters.get("granularity"), guess, sensitivity)
            parameters["granularity"] = step
        build: Any = cls

        def at(scale: float) -> AdditiveNoise:
            made: AdditiveNoise = build(scale=scale, **parameters)
            return made

        def cost(scale: float) -> float:
            mechanism = at(scale)
            if delta:
                return mechanism.delta(epsilon, copies=copies)
            return mechanism.epsilon(copies=copies)

        least, largest = scale_range(step)
        if not cost(largest) <= (delta or epsilon):
            raise InvalidInput(
                f"no scale up to {largest:.3g} keeps epsilon = {quoted(epsilon)} with delta = "
                f"{quoted(delta)}: ask for a positive delta, such as 1e-6, or for a larger epsilon "
                "or delta"
            )
        widest = at(largest)
        if delta == 0 and widest.norm == "L1" and widest.bounding != "truncated":
            scale = max(copies * widest.moved() * step / epsilon, least)
        else:
            start = min(max(step, least), largest)
            scale = smallest_satisfying(
                cost, delta or epsilon, start=start, least=least, largest=largest
            )
        more = 2.0**-52
        while at(scale).epsilon(delta, copies=copies) > epsilon:  # as the guarantee rounds it
            scale, more = scale * (1 + more), 2 * more
        calibrated: Self = build(scale=scale, **parameters)
        return calibrated

    def smallest_scale(self, *, epsilon: float, delta: float, copies: int) -> float:
        """Return the smallest scale at which this statistic's copies keep (epsilon, delta).

        A granularity is chosen afresh, as of `calibrate`; all else is as it is here.
        """
        names = {field.name for field in dataclasses.fields(self)} - {"scale", "granularity"}
        kept = {name: getattr(self, name) for name in names}
        return self.calibrate(epsilon=epsilon, delta=delta, copies=copies, **kept).scale

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
        """Return the neighbouring relation asked for; `moved` raises where nothing is promised."""
        return self.neighbours if neighbours is None else check_neighbours(neighbours)

    def _spanned(self, relation: Neighbours) -> Fraction:
        """Largest move of the statistic between neighbours, as a multiple of its sensitivity.

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
        """Assumptions of the promise: first, the sensitivity that the caller states."""
        told = [self._stated(), "The mechanism's parameters were chosen without the data."]
        if self.bounding == "truncated":
            told.append("The statistic is always within the bounds: one outside is refused.")
        elif not self.whole:
            told.append(self._reach())
        if self.n is not None:
            told.append(PUBLIC_N)
        return tuple(told)

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
        """Views of noise on a number, a vector, integers or a number of ones."""
        return noise_views(self)

    def check_statistics(self, statistic: Any) -> Any:
        """Return one statistic or several, in steps of the lattice; a vector is the last axis.

        Raises
        ------
        InvalidInput
            If the statistic isn't made of such numbers; no message shows one.
        """
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
        check_one_statistic(self.check_statistics(statistic).shape, shape)
        return statistic

    def draw(self, statistic: NDArray[np.int64], copies: int) -> NDArray[Any]:
        """Draw copies, exactly, of a statistic in steps of the lattice, from the secure generator.

        Copies are integers or, for real statistics, floats.
        """
        shape = (copies, *statistic.shape)
        flat = np.broadcast_to(statistic, shape).ravel()
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
        centre = self.check_statistics(statistic)
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

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as the lattice points that they are rounded to.

        They lie at each bound, where the worst are, and in the middle. One component moves as far
        as it can or, where truncation makes that worse, all move by about the same.
        """
        low, high = self.ends
        d, budget = self.dimension or 1, math.floor(self.moved())
        # Where rounding can push every component over a boundary, it does.
        furthest = self.sensitivity / self.step
        furthest = math.floor(furthest) if self.whole else math.ceil(furthest)
        moves = [np.array([furthest] + [0 if self.whole else 1] * (d - 1))]
        if self.bounding == "truncated":
            each, more = divmod(budget, d)
            if self.norm == "L2":
                each, more = math.floor(budget / math.sqrt(d)), 0
            moves.append(np.array([each + (i < more) for i in range(d)]))
            moves = [np.minimum(move, self.width).astype(np.int64) for move in moves]
        pairs: dict[tuple[Any, Any], None] = {}
        for move in moves:
            starts = [
                end for end in (low, None if high is None else high - move) if end is not None
            ]
            if self.bounding != "truncated":
                centre = (low + high) // 2 if low is not None and high is not None else 0
                starts.append(centre - move // 2)
            for start in starts:
                one = start + 0 * move
                pairs[self._as_statistic(one), self._as_statistic(one + move)] = None
        return list(pairs)

    def _as_statistic(self, steps: NDArray[np.int64]) -> Any:
        values = (steps if self.whole else steps * self.step).tolist()
        return values[0] if self.dimension is None else tuple(values)

    @property
    def space(self) -> Numbers:
        """Multiples of the lattice's step, within the bounds."""
        return noise_space(self)


def noise_space(mechanism: AdditiveNoise) -> Numbers:
    """The space of a statistic plus noise: multiples of the lattice's step, within the bounds."""
    return Numbers(mechanism.dimension, mechanism.whole, mechanism.step, mechanism.bounds)


def noise_views(mechanism: AdditiveNoise) -> tuple[View, ...]:
    """The views of noise on a number, a vector, integers or a number of ones."""
    shape = () if mechanism.dimension is None else (mechanism.dimension,)
    cell = mechanism.cell
    whole = IntegersView(shape, partial(integers, cell), mechanism.complete)
    if shape:
        return NoiseView(shape, cell), whole
    count = CountView(lambda z, x, n: mechanism.logp(z, x), lambda n: None)
    return NoiseView(shape, cell), whole, count


def _continuous_scale(
    norm: str, epsilon: float, delta: float, copies: int, sensitivity: float
) -> float:
    """Approximate scale of continuous noise, to choose a lattice by."""
    if norm == "L1" or delta == 0:
        return copies * sensitivity / epsilon
    length = sensitivity * math.sqrt(copies)
    return smallest_satisfying(
        lambda scale: gaussian_divergence(length / scale, epsilon),
        delta,
        start=length,
        least=length * 1e-9,
    )
