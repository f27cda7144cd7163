"""Columns of numbers and dates, cut into intervals."""

from __future__ import annotations

import datetime as dt
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator

from bayesdp.checks import is_number
from bayesdp.errors import quoted
from bayesdp.schema.column import MOST_CELLS, Column
from bayesdp.schema.faults import Unfit
from bayesdp.schema.records import LARGEST, days_of, whole


@dataclass(frozen=True)
class PrivateBins:
    """Intervals whose cut points are to be chosen privately.

    Parameters
    ----------
    private : int
        Number of intervals, at least 2.
    share : float
        Share of the privacy budget that the cut points spend, strictly between 0 and 1.
    grid : sequence of edges, int, or str, optional
        Intervals among whose edges the cut points are chosen, declared as bins are, at least as
        many as `private`. Default: 100 of equal width, or as many as there are whole numbers.
    """

    private: int
    share: float
    grid: Any = None


class Intervals(Column):
    """Column whose cells are intervals between increasing edges.

    An interval holds its lower edge but not its upper one, except the last, which holds both.

    Parameters
    ----------
    bounds : pair
        Least and largest value.
    bins : sequence of edges, int, PrivateBins, or str
        Edges from bound to bound, or the number of intervals of equal width.
    outside : {"refuse", "clamp"}
        Whether a value outside the bounds is refused, or counts as the nearest bound.
    """

    bounds: Any = Field(default=None, validate_default=True)
    bins: Any = Field(default=None, validate_default=True)
    outside: Literal["refuse", "clamp"] = "refuse"

    @classmethod
    @abstractmethod
    def number(cls, value: Any) -> Any:
        """Return a value as the number that it is coded by; None where it isn't one."""

    @classmethod
    @abstractmethod
    def value(cls, number: Any) -> Any:
        """Return a number as the value that a declaration shows."""

    @classmethod
    @abstractmethod
    def starts_of(cls, low: Any, high: Any, bins: Any) -> NDArray[Any]:
        """Least number of each interval, of bins that are neither edges nor private."""

    @classmethod
    @abstractmethod
    def bounds_fault(cls, low: Any, high: Any) -> str:
        """Words about bounds that aren't allowed; empty where they are."""

    @field_validator("bounds")
    @classmethod
    def _bounds(cls, bounds: Any) -> Any:
        pair = isinstance(bounds, tuple) and len(bounds) == 2
        numbers = [cls.number(bound) for bound in bounds] if pair else [None]
        if None in numbers:
            raise ValueError(f"bounds must be the least and the largest value, {cls.example()}")
        if fault := cls.bounds_fault(*numbers):
            raise ValueError(fault)
        return tuple(map(cls.value, numbers))

    @field_validator("bins")
    @classmethod
    def _bins(cls, bins: Any, info: ValidationInfo) -> Any:
        if "bounds" not in info.data:
            return bins
        low, high = map(cls.number, info.data["bounds"])
        if isinstance(bins, Mapping | PrivateBins):
            private = _private(bins, public=info.data.get("public", False))
            return cls._on_grid(private, low, high)
        return cls._cells(bins, low, high)

    @classmethod
    def _cells(cls, bins: Any, low: Any, high: Any) -> Any:
        if isinstance(bins, tuple):
            return cls._edges(bins, low, high)
        starts = cls.starts_of(low, high, bins)
        if np.any(np.diff(starts) <= 0) or starts[-1] > high:
            raise ValueError("bins are too many: some would be empty")
        return bins

    @classmethod
    def _on_grid(cls, bins: PrivateBins, low: Any, high: Any) -> PrivateBins:
        given = cls.usual_grid(low, high, bins.private) if bins.grid is None else bins.grid
        try:
            grid = cls._cells(given, low, high)
        except ValueError as error:
            raise ValueError(f"grid isn't allowed: {error}") from None
        cells = len(grid) - 1 if isinstance(grid, tuple) else cls.starts_of(low, high, grid).size
        if cells < bins.private:
            raise ValueError(
                f"private is {bins.private}, but the grid has {cells} cells, between which the cut "
                "points are chosen; take fewer intervals, or a finer grid"
            )
        return bins if bins.grid is None else replace(bins, grid=grid)

    @classmethod
    def usual_grid(cls, low: Any, high: Any, private: int) -> int:
        """Number of cells of the grid where none is declared."""
        return max(_GRID, private)

    @classmethod
    def _edges(cls, bins: tuple[Any, ...], low: Any, high: Any) -> tuple[Any, ...]:
        numbers = [cls.number(edge) for edge in bins]
        if len(numbers) < 2 or None in numbers:
            raise ValueError(f"bins must be edges from bound to bound, {cls.example()}")
        if any(a >= b for a, b in pairwise(numbers)):
            raise ValueError("edges must increase")
        if (numbers[0], numbers[-1]) != (low, high):
            raise ValueError("edges must begin and end at the bounds")
        return tuple(map(cls.value, numbers))

    @classmethod
    def example(cls) -> str:
        """Return an example of a declaration."""
        return "as [18, 90]"

    @property
    def private(self) -> PrivateBins | None:
        """Declaration of cut points that are to be chosen privately."""
        return self.bins if isinstance(self.bins, PrivateBins) else None

    @property
    def on_grid(self) -> Intervals:
        """The column with the grid as its cells, where cut points are to be chosen privately."""
        if not self.private:
            return self
        grid = self.private.grid
        if grid is None:
            grid = self.usual_grid(*self.ends, self.private.private)
        return self.model_copy(update={"bins": grid})

    def pooled(self, firsts: Sequence[int]) -> Intervals:
        """The column with cells that are runs of its own, neighbours together.

        Parameters
        ----------
        firsts : sequence of int
            The first cell of each run, increasing from 0; that of missing values by itself.

        Raises
        ------
        ValueError
            If they aren't such cells, or the last run is of the upper bound alone.
        """
        own = [first for first in firsts if first < self.size]
        low, high = self.ends
        rest = [self.size] if self.missing else []
        starts = self.starts[own]
        if [*own, *rest] != list(firsts) or own[:1] != [0] or (len(own) > 1 and starts[-1] >= high):
            raise ValueError("runs of cells begin at the first, and missing values have their own")
        edges = (low, *starts[1:].tolist(), high)
        return self.model_copy(
            update={"bins": self._edges(tuple(map(self.value, edges)), low, high)}
        )

    @property
    def size(self) -> int:
        return self.private.private if self.private else len(self.starts)

    @property
    def starts(self) -> NDArray[Any]:
        """Least number of each interval."""
        if isinstance(self.bins, tuple):
            return np.array([self.number(edge) for edge in self.bins[:-1]])
        return self.starts_of(*self.ends, self.bins)

    @property
    def ends(self) -> tuple[Any, Any]:
        """Bounds as numbers."""
        return self.number(self.bounds[0]), self.number(self.bounds[1])

    @property
    def shown(self) -> tuple[Any, ...]:
        """Intervals from edge to edge, or single whole numbers and days."""
        starts, last = [*self.starts.tolist()], self.ends[1]
        edges = [_text(self.value(number)) for number in [*starts, last]]
        whole = self.starts.dtype.kind == "i"
        pairs = zip(starts, [*starts[1:], last + 1 if whole else last], strict=True)
        single = [whole and after == start + 1 for start, after in pairs]
        ends = [")"] * (len(starts) - 1) + ["]"]
        return tuple(
            a if one else f"[{a}, {b}{end}"
            for (a, b), end, one in zip(pairwise(edges), ends, single, strict=True)
        )

    @property
    def outside_said(self) -> str:
        low, high = self.bounds
        return (
            f"has values outside its bounds [{low}, {high}]; choose wider ones without looking at "
            'the data, or outside = "clamp" to move them to the nearest bound'
        )

    @abstractmethod
    def numbers(self, kind: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return values as the numbers that they are coded by."""

    def places(self, kind: str, values: NDArray[Any]) -> NDArray[np.int64]:
        if self.private:
            raise Unfit("has no cut points yet; give them by schema.with_cuts")
        low, high = self.ends
        numbers = self.numbers(kind, values)
        found = np.searchsorted(self.starts, np.clip(numbers, low, high), side="right") - 1
        if self.outside == "refuse":
            found[(numbers < low) | (numbers > high)] = -1
        return np.asarray(found, dtype=np.int64)

    def picked(self, given: Any) -> NDArray[np.bool_]:
        low, high = self.ends
        pair = given if isinstance(given, tuple) else (given,)
        numbers = [self.number(value) for value in pair]
        if None in numbers or len(numbers) not in (1, 2):
            raise ValueError(f"it must be an interval from edge to edge, {self.example()}")
        if self.private:
            if numbers != [low, high]:
                raise ValueError("the column's cut points aren't known; name its bounds, or none")
            return np.ones(self.size, dtype=bool)
        return self._between(numbers)

    def _between(self, numbers: list[Any]) -> NDArray[np.bool_]:
        """Mark the cells of an interval, or the cell of a single value."""
        first, last = numbers[0], numbers[-1]
        _, high = self.ends
        starts = self.starts.tolist()
        if len(numbers) == 1:
            follow = [*starts[1:], high + 1]
            if first in starts and follow[starts.index(first)] - first == 1 and self.type != "real":
                return np.asarray(self.starts == first)
            raise ValueError("no cell holds this value alone; give an interval from edge to edge")
        if (
            first not in starts
            or last not in (*starts, high)
            or first > last
            or first == last < high
        ):
            raise ValueError("it must be an interval from edge to edge of the column's bins")
        return np.asarray((self.starts >= first) & ((self.starts < last) | (last == high)))


class _Whole(Intervals):
    """Intervals of whole numbers, or of days."""

    @classmethod
    def usual_grid(cls, low: Any, high: Any, private: int) -> int:
        return int(min(max(_GRID, private), high - low + 1))

    @classmethod
    def bounds_fault(cls, low: Any, high: Any) -> str:
        if low > high:
            return "bounds are reversed; give the lower one first"
        return "" if max(-low, high) <= LARGEST else "bounds must be within 2^53 of 0"

    @classmethod
    def starts_of(cls, low: Any, high: Any, bins: Any) -> NDArray[Any]:
        count = high - low + 1
        if bins is None:
            bins = count
        if not isinstance(bins, int) or isinstance(bins, bool) or bins < 1:
            raise ValueError(f"bins must be edges, a number of intervals, or {_PRIVATE}")
        if bins > min(count, MOST_CELLS):
            most = min(count, MOST_CELLS)
            raise ValueError(f"bins make {bins:,} cells; at most {most:,} are allowed")
        k, (each, more) = np.arange(bins), divmod(count, bins)
        return np.asarray(low + k * each + k * more // bins, dtype=np.int64)

    @property
    def middles(self) -> NDArray[np.float64]:
        after = np.append(self.starts[1:], self.ends[1] + 1)
        return np.asarray(self.starts + after - 1) / 2

    @property
    def widths(self) -> NDArray[np.float64]:
        return np.diff(np.append(self.starts, self.ends[1] + 1)).astype(np.float64)

    @property
    def variances(self) -> NDArray[np.float64]:
        return np.asarray(self.widths**2 - 1) / 12

    def points(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a whole number in each interval, uniformly."""
        follow = np.append(self.starts[1:], self.ends[1] + 1)
        return rng.integers(self.starts[codes], follow[codes])


class Integer(_Whole):
    """Column of whole numbers; without bins each is a cell of its own."""

    type: Literal["integer"]

    @classmethod
    def number(cls, value: Any) -> Any:
        return value if type(value) is int else None

    @classmethod
    def value(cls, number: Any) -> Any:
        return number

    @property
    def takes(self) -> tuple[str, ...]:
        return ("integer", "number")

    @property
    def way_out(self) -> str:
        return _NUMERIC

    def numbers(self, kind: str, values: NDArray[Any]) -> NDArray[Any]:
        return whole(values)

    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        import pandas as pd

        values = self.points(codes, rng)
        return pd.arrays.IntegerArray(values, missing) if self.missing else values


class Date(_Whole):
    """Column of days; a time of day is left out."""

    type: Literal["date"]

    @classmethod
    def number(cls, value: Any) -> Any:
        return (value - _EPOCH).days if type(value) is dt.date else None

    @classmethod
    def value(cls, number: Any) -> Any:
        return _EPOCH + dt.timedelta(days=number)

    @classmethod
    def example(cls) -> str:
        return (
            "as [2020-01-01, 2024-12-31], dates without quotes or a time of day, of Python's "
            "datetime.date"
        )

    @classmethod
    def starts_of(cls, low: Any, high: Any, bins: Any) -> NDArray[Any]:
        if bins is None:
            raise ValueError(f'give "year", "month", dates, a number, or {_PRIVATE}')
        if bins not in ("year", "month"):
            return super().starts_of(low, high, bins)
        unit = f"datetime64[{'Y' if bins == 'year' else 'M'}]"
        first, last = np.array([low, high], "datetime64[D]").astype(unit).astype(np.int64)
        periods = np.arange(first, last + 1).astype(unit)
        days = periods.astype("datetime64[D]").astype(np.int64)
        return np.asarray(np.maximum(days, low))

    @property
    def middles(self) -> NDArray[np.float64]:
        return 1970 + super().middles / _YEAR

    @property
    def variances(self) -> NDArray[np.float64]:
        return super().variances / _YEAR**2

    @property
    def takes(self) -> tuple[str, ...]:
        return ("date", "text")

    @property
    def way_out(self) -> str:
        return "convert it by a public rule, as pd.to_datetime(column, format=...)"

    def numbers(self, kind: str, values: NDArray[Any]) -> NDArray[Any]:
        return days_of(values, kind)

    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        values = self.points(codes, rng).astype("datetime64[D]").astype("datetime64[us]")
        values[missing] = np.datetime64("NaT")
        return values


class Real(Intervals):
    """Column of real numbers."""

    type: Literal["real"]

    @classmethod
    def number(cls, value: Any) -> Any:
        return float(value) if is_number(value) and math.isfinite(value) else None

    @classmethod
    def value(cls, number: Any) -> Any:
        return number

    @classmethod
    def bounds_fault(cls, low: Any, high: Any) -> str:
        if low >= high:
            return "bounds are reversed or equal; give the lower one first"
        return "" if math.isfinite(high - low) else "bounds are too far apart for floats"

    @classmethod
    def starts_of(cls, low: Any, high: Any, bins: Any) -> NDArray[Any]:
        if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MOST_CELLS:
            raise ValueError(
                f"bins must be edges, a number of intervals from 1 to {MOST_CELLS:,}, or {_PRIVATE}"
            )
        return np.linspace(low, high, bins + 1)[:-1]

    @property
    def middles(self) -> NDArray[np.float64]:
        return np.asarray(self.starts + np.append(self.starts[1:], self.ends[1])) / 2

    @property
    def widths(self) -> NDArray[np.float64]:
        return np.diff(np.append(self.starts, self.ends[1])).astype(np.float64)

    @property
    def variances(self) -> NDArray[np.float64]:
        return np.asarray(self.widths**2) / 12

    @property
    def takes(self) -> tuple[str, ...]:
        return ("number", "integer")

    @property
    def way_out(self) -> str:
        return _NUMERIC

    def numbers(self, kind: str, values: NDArray[Any]) -> NDArray[Any]:
        return values.astype(np.float64)

    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        import pandas as pd

        low, high = self.starts[codes], np.append(self.starts[1:], self.ends[1])[codes]
        values = low + rng.random(codes.size) * (high - low)
        values = np.clip(values, low, np.nextafter(high, low))  # rounding may reach the next cell
        return pd.arrays.FloatingArray(values, missing) if self.missing else values


_EPOCH = dt.date(1970, 1, 1)
_YEAR = 365.2425
_GRID = 100
_PRIVATE = "{ private = 8, share = 0.1 } for cut points chosen privately"
_NUMERIC = (
    "read it as numbers, as pd.read_csv(..., dtype='Float64'), after correcting what isn't one"
)


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _private(bins: Any, *, public: bool) -> PrivateBins:
    given = bins if isinstance(bins, Mapping) else vars(bins)
    if not {"private", "share"} <= set(given) <= {"private", "share", "grid"}:
        raise ValueError(f"bins has keys {', '.join(map(str, given))}; write {_PRIVATE}")
    private, share = given["private"], given["share"]
    if type(private) is not int or not 2 <= private <= MOST_CELLS:
        raise ValueError(f"private is {quoted(private)}; it must be a number of intervals from 2")
    if not is_number(share) or not 0 < share < 1:
        raise ValueError(f"share is {quoted(share)}; it must lie strictly between 0 and 1")
    if public:
        raise ValueError("the column is public, so that its cut points may be given: list them")
    return PrivateBins(private, float(share), given.get("grid"))
