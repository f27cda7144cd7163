"""Laws of one record whose exact sums can be bounded, by what is known of them and no more.

Each law has bounds on every record and parts that are uniform on a box; in one coordinate it may
have log-concave steps below its density. A bound on a sum uses these alone, so that its promise is
about every law with the same bounds and at least these parts or steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesdp.checks import as_float, is_number, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import LawClass
from bayesdp.privacy.distributional.uniform_part import UniformPart, check_intervals

_POINTS = 20_000
_DOWN = 1 - 1e-12  # so that a step computed from a density is below it


class RecordLaw(Protocol):
    """Protocol of a record's law, as the bounds on exact sums use it."""

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """Bounds on every record, one interval a coordinate."""

    @property
    def words(self) -> str:
        """The law, for the reader of a report: "records are ..."."""

    def parts(self) -> Sequence[UniformPart]:
        """Boxes on which the density is at least a height, the promising ones."""

    def steps(self, cells: int) -> tuple[float, ...] | None:
        """Shares below the law on equal cells of its support, log-concave; or None."""

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: with its steps on so many cells where those are used, else its boxes."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Records that are uniform on an interval, or independently so in each coordinate.

    Parameters
    ----------
    lower, upper : float or sequence of float
        The ends; sequences for several coordinates.

    Raises
    ------
    InvalidInput
        If an interval is empty or unbounded.
    """

    lower: Any = 0.0
    upper: Any = 1.0

    def __post_init__(self) -> None:
        plain(self)
        lows, highs = _numbers("lower", self.lower), _numbers("upper", self.upper)
        if len(lows) != len(highs):
            raise InvalidInput(
                f"lower has {len(lows)} numbers and upper {len(highs)}; give as many of each"
            )
        check_intervals("the law", list(zip(lows, highs, strict=True)))

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """Bounds on every record."""
        lows, highs = _numbers("lower", self.lower), _numbers("upper", self.upper)
        return tuple(zip(lows, highs, strict=True))

    @property
    def words(self) -> str:
        """The law in words."""
        return f"independent records, uniform on {_shown(self.support)}"

    def parts(self) -> Sequence[UniformPart]:
        """The law itself."""
        volume = math.prod(high - low for low, high in self.support)
        return (UniformPart(self.support, 1 / volume, self.support),)

    def steps(self, cells: int) -> None:
        """Return None: the sum of uniform numbers is known exactly."""
        return

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: its support."""
        return LawClass.of("uniform_records", support=self.support)


@dataclass(frozen=True, slots=True)
class TopCodedNormal:
    """Normal records, those beyond public bounds recorded as the bound itself.

    Parameters
    ----------
    mean, sd : float
        Mean and standard deviation of the normal law, before top-coding.
    lower, upper : float
        The bounds; the mean lies between them.

    Raises
    ------
    InvalidInput
        If a number is out of its range or unbounded: without top-coding no sum is private.
    """

    mean: float
    sd: float
    lower: float
    upper: float

    def __post_init__(self) -> None:
        plain(self)
        if not is_number(self.sd) or not 0 < self.sd < math.inf:
            raise InvalidInput(f"sd is {quoted(self.sd)}; it must be a positive finite number")
        ((low, high),) = check_intervals("the law", [(self.lower, self.upper)])
        if not low < as_float(self.mean) < high:
            raise InvalidInput(f"mean is {quoted(self.mean)}; it must be between {low} and {high}")

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """Bounds on every record."""
        return ((float(self.lower), float(self.upper)),)

    @property
    def words(self) -> str:
        """The law in words."""
        return (
            f"independent records, normal with mean {self.mean:g} and standard deviation "
            f"{self.sd:g}, top-coded at {self.lower:g} and {self.upper:g}"
        )

    def parts(self) -> Sequence[UniformPart]:
        """Boxes about the mean, .1 to 3 standard deviations to a side."""
        boxes = []
        for half in np.linspace(0.1, 3.0, 59):
            low, high = self.mean - half * self.sd, self.mean + half * self.sd
            box = (max(low, self.lower), min(high, self.upper))
            height = float(np.min(self._density(np.array(box)))) * _DOWN
            boxes.append(UniformPart((box,), height, self.support))
            if low <= self.lower and high >= self.upper:
                break
        return boxes

    def steps(self, cells: int) -> tuple[float, ...]:
        """Steps below the normal density between the bounds."""
        return _steps(self._density, self.support[0], cells)

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: mean, standard deviation and bounds."""
        return LawClass.of(
            "top_coded_normal_records",
            mean=self.mean,
            sd=self.sd,
            lower=self.lower,
            upper=self.upper,
        )

    def _density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(stats.norm.pdf(x, self.mean, self.sd))


@dataclass(frozen=True, slots=True)
class BoundedLaw:
    """Any law within bounds whose density is at least a height on a box.

    Parameters
    ----------
    support : sequence of (float, float)
        Bounds on every record, one interval a coordinate.
    box : sequence of (float, float)
        Where the density is at least `height`.
    height : float
        That lower bound.
    density : callable, optional
        The density itself, a function of an array of shape (points, d) or, for d = 1, (points,):
        the box is checked against it on a grid of points.
    log_concave : bool
        Whether the density's logarithm is concave on the support, in one coordinate: its values at
        the cells' ends are then below it between them, and the sum's law is computed from these.

    Raises
    ------
    InvalidInput
        If the box leaves the support, exceeds the density somewhere or holds more than 1, or the
        density turns out not to be log-concave.

    Notes
    -----
    A grid can't prove that the box is below the density between its points: that remains an
    assumption, listed with the promise.
    """

    support: tuple[tuple[float, float], ...]
    box: tuple[tuple[float, float], ...]
    height: float
    density: Callable[[NDArray[np.float64]], ArrayLike] | None = None
    log_concave: bool = False

    def __post_init__(self) -> None:
        part = UniformPart(self.box, self.height, self.support)
        object.__setattr__(self, "support", part.support)
        object.__setattr__(self, "box", part.box)
        object.__setattr__(self, "height", part.height)
        if self.density is not None:
            self._check_box(part)
        if self.log_concave:
            if self.density is None or len(part.box) > 1:
                raise InvalidInput("log_concave is True; it needs the density, of one coordinate")
            self.steps(256)

    @property
    def words(self) -> str:
        """The law in words."""
        least = "the steps given as data" if self.log_concave else f"{self.height:g}"
        where = self.support if self.log_concave else self.box
        return (
            f"independent records within {_shown(self.support)}, with a density of at least "
            f"{least} on {_shown(where)}"
        )

    def parts(self) -> Sequence[UniformPart]:
        """The box."""
        return (UniformPart(self.box, self.height, self.support),)

    def steps(self, cells: int) -> tuple[float, ...] | None:
        """Steps below the density where it is log-concave, else None."""
        if not self.log_concave or self.density is None:
            return None
        return _steps(self.density, self.support[0], cells)

    def as_class(self, cells: int | None = None) -> LawClass:
        """The law as data: support, box and height, and its steps where they are used."""
        fields = {"support": self.support, "box": self.box, "height": self.height}
        if cells is not None:
            return LawClass.of("log_concave_records", **fields, steps=self.steps(cells))
        return LawClass.of("bounded_records", **fields)

    def _check_box(self, part: UniformPart) -> None:
        d = len(part.box)
        each = max(2, round(_POINTS ** (1 / d)))
        axes = [np.linspace(low, high, each) for low, high in part.box]
        points = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)
        values = np.asarray(self.density(points[:, 0] if d == 1 else points), dtype=float)  # type: ignore[misc]
        if values.shape != (len(points),):
            raise InvalidInput(
                f"density returned shape {values.shape} for {len(points)} points; it must return "
                "one number for each point"
            )
        worst = int(np.argmin(np.where(np.isnan(values), -np.inf, values)))
        if not values[worst] >= part.height * (1 - 1e-9):
            at = tuple(float(round(v, 6)) for v in points[worst])
            raise InvalidInput(
                f"height is {part.height}, but the density is {values[worst]:.6g} at {at}, inside "
                "the box: the box exceeds it there. Lower the height, or shrink the box"
            )


def _steps(
    density: Callable[[NDArray[np.float64]], ArrayLike], interval: tuple[float, float], cells: int
) -> tuple[float, ...]:
    """Lower bounds on cells' shares, from the smaller of the density's values at their ends."""
    ends = np.linspace(*interval, cells + 1)
    values = np.asarray(density(ends), dtype=float)
    if values.shape != ends.shape or not np.all((values >= 0) & np.isfinite(values)):
        raise InvalidInput("density must give one finite number, at least 0, for each point")
    steps = np.minimum(values[1:], values[:-1]) * (ends[1] - ends[0]) * _DOWN
    if steps.sum() > 1 + 1e-9:
        raise InvalidInput(
            f"density integrates to at least {steps.sum():.6g} over its support; it must be at "
            "most 1"
        )
    inner = steps > 0
    with np.errstate(divide="ignore"):
        bends = np.diff(np.log(steps[inner]), 2)
    places = np.nonzero(inner)[0]
    if len(places) == 0 or len(places) != places[-1] - places[0] + 1 or np.any(bends > 1e-9):
        raise InvalidInput(
            "log_concave is True, but the density's logarithm bends upwards on the support; give "
            "log_concave=False, and the box alone is used"
        )
    return tuple(float(q) for q in steps)


def _numbers(name: str, given: Any) -> tuple[float, ...]:
    values = np.atleast_1d(np.asarray(given))
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InvalidInput(f"{name} is {quoted(given)}; give a number, or one for each coordinate")
    return tuple(float(v) for v in values)


def _shown(intervals: Sequence[tuple[float, float]]) -> str:
    return " x ".join(f"[{low:g}, {high:g}]" for low, high in intervals)
