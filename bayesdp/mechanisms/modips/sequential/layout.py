"""Layout of a sequential model's steps: the columns that each is given, and its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs.records import Column
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import Floats
from bayesdp.mechanisms.families.regression_fields import RESERVED
from bayesdp.mechanisms.modips.sequential.steps import CategoricalColumns, NumericColumns, Step

_MOST_NUMBERS = 10**6  # of one step, so that they fit in memory
_KINDS: dict[Any, Any] = {"categorical": CategoricalColumns, "numeric": NumericColumns}


@dataclass(frozen=True)
class Layout:
    """One step's layout, with the columns that it is given.

    Attributes
    ----------
    step : CategoricalColumns or NumericColumns
    given : tuple of Axis
        Labels of the columns in its `by`.
    before : tuple of pairs
        Names and bounds of the columns in its `on`.
    """

    step: Step
    given: tuple[Axis, ...]
    before: tuple[tuple[str, tuple[float, float]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the step's own columns."""
        return tuple(name for name, _ in self.step.columns)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Labels of the step's own columns; none if they are numeric."""
        if isinstance(self.step, NumericColumns):
            return ()
        return tuple(Axis(name, categories=labels) for name, labels in self.step.columns)

    @property
    def columns(self) -> list[Column]:
        """The step's own columns, as a copy has them."""
        if isinstance(self.step, NumericColumns):
            return [Column(name, *ends) for name, ends in self.step.columns]
        return [Column(axis.name, 0, axis.size - 1, axis=axis) for axis in self.axes]

    @property
    def measured(self) -> tuple[str, ...]:
        """Numeric columns whose moments are the step's statistic."""
        return (*(name for name, _ in self.before), *self.names)

    @property
    def ends(self) -> Floats:
        """Bounds of the measured columns, shape (columns, 2)."""
        own: Any = self.step.columns
        return np.array([ends for _, ends in (*self.before, *own)])

    @property
    def width(self) -> int:
        """Number of sums of each cell: its combinations, or its records and their moments."""
        d = len(self.measured)
        return self.table if self.axes else 1 + d + d * (d + 1) // 2

    @property
    def cells(self) -> int:
        """Number of combinations of the labels that the step is given."""
        return math.prod(axis.size for axis in self.given)

    @property
    def table(self) -> int:
        """Number of combinations of the step's own labels."""
        return math.prod(axis.size for axis in self.axes)

    def cell_of(self, columns: Mapping[str, NDArray[Any]], size: int) -> NDArray[np.int64]:
        """Find each record's cell, from the codes of the columns that the step is given."""
        return _combined(self.given, columns, size)

    def label_of(self, columns: Mapping[str, NDArray[Any]], size: int) -> NDArray[np.int64]:
        """Find each record's combination of the step's own labels."""
        return _combined(self.axes, columns, size)

    def codes(self, combination: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Codes of the step's own columns, in each combination."""
        return list(np.unravel_index(combination, [axis.size for axis in self.axes]))


def _combined(
    axes: Sequence[Axis], columns: Mapping[str, NDArray[Any]], size: int
) -> NDArray[np.int64]:
    if not axes:
        return np.zeros(size, dtype=np.int64)
    each = tuple(columns[axis.name].astype(np.int64) for axis in axes)
    places = np.ravel_multi_index(each, tuple(axis.size for axis in axes))
    return np.asarray(places, dtype=np.int64)


def check_steps(given: Any) -> tuple[Step, ...]:
    """Return steps that fit together, made from a manifest if need be, or raise InvalidInput."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise InvalidInput(
            f"steps is {quoted(given)}; it must be a list of bdp.synthesizers.CategoricalColumns "
            "and bdp.synthesizers.NumericColumns, in the order of the model"
        )
    steps = tuple(_step(one) for one in given)
    labels: set[str] = set()
    seen: set[str] = set()
    for step in steps:
        names = [name for name, _ in step.columns]
        repeated = [name for name in names if name in seen or names.count(name) > 1]
        if repeated or set(names) & set(RESERVED):
            raise InvalidInput(
                f"steps has columns {names}; each column must be in one step, once, and none be "
                f"called {', '.join(map(repr, RESERVED))}"
            )
        _check_earlier("by", step.by, "categorical", labels)
        if isinstance(step, CategoricalColumns):
            labels |= set(names)
        else:
            _check_earlier("on", step.on, "numeric", seen - labels)
        seen |= set(names)
    for layout in layouts_of(steps):
        numbers = layout.cells * layout.width
        if numbers > _MOST_NUMBERS:
            raise InvalidInput(
                f"the step of columns {list(layout.names)} has {numbers} numbers, more than "
                f"{_MOST_NUMBERS}; give it fewer columns in by, or fewer labels"
            )
    return steps


def _check_earlier(argument: str, given: Sequence[str], kind: str, there: set[str]) -> None:
    unknown = [name for name in given if name not in there]
    if unknown:
        raise InvalidInput(
            f"{argument} is {list(given)}, but {unknown} aren't {kind} columns of an earlier step; "
            f"those are {sorted(there)}"
        )


def _step(given: Any) -> Step:
    if isinstance(given, CategoricalColumns | NumericColumns):
        return given
    if not isinstance(given, Mapping) or given.get("kind") not in _KINDS:
        raise InvalidInput(
            f"steps has {kind_of(given)}; each must be a bdp.synthesizers.CategoricalColumns or a "
            "bdp.synthesizers.NumericColumns"
        )
    parameters = {name: value for name, value in given.items() if name != "kind"}
    try:
        made: Step = _KINDS[given["kind"]](**parameters)
    except TypeError as error:
        raise InvalidInput(f"steps: {error}") from error
    return made


def layouts_of(steps: Sequence[Step]) -> tuple[Layout, ...]:
    """Lay out each step with the columns that it is given."""
    labels: dict[str, Axis] = {}
    bounds: dict[str, tuple[float, float]] = {}
    layouts = []
    for step in steps:
        given = tuple(labels[name] for name in step.by)
        if isinstance(step, NumericColumns):
            layouts.append(Layout(step, given, tuple((name, bounds[name]) for name in step.on)))
            bounds |= dict(step.columns)
        else:
            made = Layout(step, given, ())
            layouts.append(made)
            labels |= {axis.name: axis for axis in made.axes}
    return tuple(layouts)
