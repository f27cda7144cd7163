"""Protocol of families, and the sums of records that statistics are made from."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number, plain
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import Cell, View
from bayesdp.errors import InvalidInput, kind_of

Floats = NDArray[np.float64]
_SMALLEST = 1e-100  # distance of bounds whose squares are floats with all their digits


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a sufficient statistic, to which noise of its own is added.

    Attributes
    ----------
    name : str
    sensitivity : float
        Largest difference between neighbours of the number as it is computed.
    low, high : float or None
        Range of the number for any records; None for an open end.
    whole : bool
        Whether the number is an integer.
    """

    name: str
    sensitivity: float
    low: float | None
    high: float | None
    whole: bool = False

    def __post_init__(self) -> None:
        plain(self)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over records, exact integers, so that those of batches add up to those of all.

    Attributes
    ----------
    n : int
        The number of records.
    totals : tuple of int
        Sums of functions of a record, which the family defines. Confidential.
    """

    n: int
    totals: tuple[int, ...]

    def __post_init__(self) -> None:
        plain(self)

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.n + other.n,
            tuple(a + b for a, b in zip(self.totals, other.totals, strict=True)),
        )


class NoisyStatistic(Protocol):
    """Protocol of the parameters of copies drawn given a noisy statistic."""

    @property
    def n(self) -> int | None:
        """Number of confidential records, where it is public."""

    @property
    def size(self) -> int:
        """Number of records in a copy."""

    @property
    def parts(self) -> tuple[Cell, ...]:
        """Noise on each number of the statistic."""

    @property
    def bounding(self) -> str:
        """Name of the way in which noisy numbers and records are kept in their range."""


class MakerOfCopies(NoisyStatistic, Protocol):
    """Protocol of the mechanism itself that draws a family's copies given a noisy statistic."""

    @property
    def clip(self) -> bool:
        """True if records beyond the family's bounds were moved to the nearest one."""

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""

    def logp(self, output: Any, statistic: Any) -> Floats:
        """Log-law of a copy given the statistic; InvalidInput where it is intractable."""


class Family(Protocol):
    """A model of records: prior, sufficient statistic, and how far one record moves it.

    An argument `n` is the number of records where it is public, and neighbours then replace one
    record; None where it is confidential, and neighbours then have one record more or less.
    """

    @property
    def kind(self) -> str:
        """Name of the family in a manifest."""

    def __hash__(self) -> int:
        """Hash of the family, which is a frozen value."""

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Sum over one batch of records, which may be empty.

        Raises
        ------
        InvalidInput
            If a record is missing or, unless `clip` moves it to the nearest bound, outside the
            public bounds. No message shows a value.
        """

    def statistic(self, sums: Sums, *, public_n: bool) -> Any:
        """Compute the sufficient statistic from the sums over all records."""

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers that make up the statistic, with their sensitivities and ranges."""

    def together(self, n: int | None) -> int:
        """Bound how many of the numbers one record can move by their full sensitivity at once."""

    def vector(self, statistic: Any, n: int | None) -> NDArray[Any]:
        """Return the numbers along the last axis, or raise InvalidInput without showing them."""

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> NDArray[Any]:
        """Draw copies from noisy numbers: post-processing, from the generator of releases."""

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Log-law of a copy given the statistic; InvalidInput where it is intractable."""

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """Views of copies' law given the statistic, or of why it is intractable."""

    def pairs(self, n: int | None) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible."""

    def space(self, size: int) -> OutputSpace:
        """The output space of copies of `size` records."""


@runtime_checkable
class JointMoves(Protocol):
    """Protocol of a family with a joint bound on one record's moves of its numbers."""

    def joint(self, rates: Sequence[Fraction], n: int | None) -> Fraction:
        """Bound the sum over i of rates[i] times the move of number i, for any two neighbours."""

    def joint_length(self, rates: Sequence[Fraction], n: int | None) -> float:
        """Bound the L2 norm of rates[i] times the move of number i; inf if unknown."""


@runtime_checkable
class NestedLaw(Protocol):
    """Protocol of a family with the law of several copies drawn from one noisy statistic."""

    def nested_logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Log-law of copies along the output's last axis, given the statistic; n is public."""

    def nested_views(self, nested: Any) -> tuple[View, ...]:
        """Views of such copies' law given the statistic, by the `logp` of what draws them."""


def sums_of(family: Family, data: Any, *, clip: bool = False, empty: bool = False) -> Sums:
    """Sum over records in memory, or over batches yielded by an iterator or a scan.

    Raises
    ------
    InvalidInput
        As for `Family.sums`; or if there are no records, unless `empty` allows it.
    """
    none = np.empty(0) if empty else None
    return added_up(data, lambda batch: family.sums(batch, clip=clip), none)


def added_up(data: Any, sums: Callable[[Any], Sums], empty: Any = None) -> Sums:
    """Add up the sums of batches; `empty` is a batch without records, if that is allowed.

    It must be allowed where n is confidential: a refusal would reveal that n is 0.
    """
    made: Sums | None = None
    if hasattr(data, "added"):  # a scan, whose workers may do it
        made = data.without_groups().added(sums, operator.add)
    else:
        for batch in data if isinstance(data, Iterator) else [data]:
            each = sums(batch)
            made = each if made is None else made + each
    if made is None and empty is not None:
        made = sums(empty)
    if made is None or (made.n == 0 and empty is None):
        raise InvalidInput("data is empty; there is nothing to release")
    return made


def check_interval(bounds: Any) -> tuple[float, float]:
    """Return public bounds as two floats, or raise InvalidInput."""
    try:
        low, high = (float(v) if is_number(v) else math.nan for v in bounds)
    except (TypeError, ValueError):  # not a pair
        low = high = math.nan
    if not (low < high and math.isfinite(high - low) and high - low >= _SMALLEST):
        raise InvalidInput(
            f"bounds is {kind_of(bounds)}; it must be two finite numbers, the lower first, chosen "
            "without the data, for example (-4, 4)"
        )
    return low, high
