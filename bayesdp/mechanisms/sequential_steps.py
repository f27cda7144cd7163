"""What a sequential model is declared by: groups of columns, each given earlier ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.cells import Axis
from bayesdp.mechanisms.families.base import Floats
from bayesdp.mechanisms.families.gaussian import check_interval
from bayesdp.mechanisms.families.regression_fields import RESERVED, check_prior

MOST_NUMBERS = 10**6
"""Noisy numbers of one step, so that they fit in memory."""


@dataclass(frozen=True, slots=True)
class CategoricalColumns:
    """Categorical columns: a table of all combinations of them, in each cell of earlier ones.

    Parameters
    ----------
    columns : mapping, or sequence of pairs
        All labels that there may be, by the column's name, fixed without the data; those of a
        column are all texts, all integers, all floats or all booleans.
    by : sequence of str
        Earlier categorical columns that these depend on; of others they are independent.
    prior : float
        alpha of the Dirichlet prior of the combinations' probabilities in each cell, the same
        for all. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    columns: tuple[tuple[str, tuple[Any, ...]], ...]
    by: tuple[str, ...] = ()
    prior: float = 1.0
    kind: str = field(default="categorical", init=False)

    def __post_init__(self) -> None:
        axes = [Axis(name, categories=given) for name, given in _pairs(self.columns)]
        for axis in axes:
            if len({type(label) for label in axis.categories or ()}) > 1:
                raise InvalidInput(
                    f"labels of column {axis.name!r} are {axis.categories!r}; they must be of one "
                    "type, all texts, for example"
                )
        object.__setattr__(self, "columns", tuple((a.name, a.categories) for a in axes))
        object.__setattr__(self, "by", _names("by", self.by))
        if not (is_number(self.prior) and 0 < self.prior < math.inf):
            raise InvalidInput(f"prior is {self.prior!r}; it must be a positive finite number")
        object.__setattr__(self, "prior", float(self.prior))


@dataclass(frozen=True, slots=True)
class NumericColumns:
    """Bounded numeric columns: each regressed on those before it here, in each cell of labels.

    Parameters
    ----------
    columns : mapping, or sequence of pairs
        (low, high) of each column by its name, chosen without the data.
    by : sequence of str
        Earlier categorical columns: every combination has a regression of its own.
    prior : tuple (m0, k, a, b)
        Normal-inverse-gamma prior of every regression, of columns rescaled to [-1, 1]: the
        coefficients' mean and precision in units of 1 / sigma^2, and the shape and scale of
        sigma^2. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    columns: tuple[tuple[str, tuple[float, float]], ...]
    by: tuple[str, ...] = ()
    prior: tuple[float, float, float, float] = (0.0, 0.1, 1.0, 0.1)
    kind: str = field(default="numeric", init=False)

    def __post_init__(self) -> None:
        found = []
        for name, ends in _pairs(self.columns):
            try:
                found.append((name, check_interval(ends)))
            except InvalidInput as error:
                raise InvalidInput(f"column {name!r}: {error}") from error
        object.__setattr__(self, "columns", tuple(found))
        object.__setattr__(self, "by", _names("by", self.by))
        prior = check_prior(self.prior, 0)
        if any(isinstance(value, tuple) for value in prior):
            raise InvalidInput(f"prior is {self.prior!r}; it must be four numbers (m0, k, a, b)")
        object.__setattr__(self, "prior", prior)

    @property
    def ends(self) -> Floats:
        """Bounds of the columns, shape (columns, 2)."""
        return np.array([ends for _, ends in self.columns])


Step = CategoricalColumns | NumericColumns
_KINDS: dict[Any, Any] = {"categorical": CategoricalColumns, "numeric": NumericColumns}


def _pairs(given: Any) -> list[tuple[str, Any]]:
    """Names of columns and what is said of each, or InvalidInput."""
    try:
        pairs = list(given.items()) if isinstance(given, Mapping) else [(a, b) for a, b in given]
    except (TypeError, ValueError):
        pairs = []
    if not pairs or not all(isinstance(name, str) and name for name, _ in pairs):
        raise InvalidInput(
            f"columns is {given!r}; it must have names of columns with their labels, or their "
            "bounds, for example {'sex': ('f', 'm')} or {'age': (18, 90)}"
        )
    return pairs


def _names(argument: str, given: Any) -> tuple[str, ...]:
    good = isinstance(given, Sequence) and not isinstance(given, str)
    if not good or not all(isinstance(name, str) for name in given) or len({*given}) < len(given):
        raise InvalidInput(f"{argument} is {given!r}; it must be a list of different columns")
    return tuple(given)


@dataclass(frozen=True)
class Layout:
    """One step, and the columns that it is given.

    Attributes
    ----------
    step : CategoricalColumns or NumericColumns
    given : tuple of Axis
        The labels of the columns that it is `by`.
    """

    step: Step
    given: tuple[Axis, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The step's own columns."""
        return tuple(name for name, _ in self.step.columns)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The labels of its own columns; none if they are numeric."""
        if isinstance(self.step, NumericColumns):
            return ()
        return tuple(Axis(name, categories=labels) for name, labels in self.step.columns)

    @property
    def cells(self) -> int:
        """Combinations of the labels that it is given."""
        return math.prod(axis.size for axis in self.given)

    @property
    def table(self) -> int:
        """Combinations of its own labels."""
        return math.prod(axis.size for axis in self.axes)

    def cell_of(self, columns: Mapping[str, NDArray[Any]], size: int) -> NDArray[np.int64]:
        """Each record's cell, from the codes of the columns that it is given."""
        return _combined(self.given, columns, size)

    def label_of(self, columns: Mapping[str, NDArray[Any]], size: int) -> NDArray[np.int64]:
        """Each record's combination of the step's own labels."""
        return _combined(self.axes, columns, size)

    def codes(self, combination: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The codes of the step's own columns, in each combination."""
        return list(np.unravel_index(combination, [axis.size for axis in self.axes]))


def _combined(
    axes: Sequence[Axis], columns: Mapping[str, NDArray[Any]], size: int
) -> NDArray[np.int64]:
    if not axes:
        return np.zeros(size, dtype=np.int64)
    each = tuple(columns[axis.name].astype(np.int64) for axis in axes)
    found = np.ravel_multi_index(each, tuple(axis.size for axis in axes))
    return np.asarray(found, dtype=np.int64)


def check_steps(given: Any) -> tuple[Step, ...]:
    """Steps that fit together, from themselves or as a manifest holds them, or InvalidInput."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise InvalidInput(
            f"steps is {given!r}; it must be a list of bdp.CategoricalColumns and "
            "bdp.NumericColumns, in the order of the model"
        )
    steps = tuple(_step(one) for one in given)
    labels: dict[str, Axis] = {}
    seen: set[str] = set()
    for step in steps:
        names = [name for name, _ in step.columns]
        repeated = [name for name in names if name in seen or names.count(name) > 1]
        if repeated or set(names) & set(RESERVED):
            raise InvalidInput(
                f"steps has columns {names}; each column must be in one step, once, and none be "
                f"called {', '.join(map(repr, RESERVED))}"
            )
        unknown = [name for name in step.by if name not in labels]
        if unknown:
            raise InvalidInput(
                f"by is {list(step.by)}, but {unknown} are no categorical columns of an earlier "
                f"step; those are {list(labels)}"
            )
        seen |= set(names)
        if isinstance(step, CategoricalColumns):
            labels |= {name: Axis(name, categories=given) for name, given in step.columns}
    for layout in layouts_of(steps):
        d = len(layout.names)
        each = layout.table if layout.axes else 1 + d + d * (d + 1) // 2
        if layout.cells * each > MOST_NUMBERS:
            raise InvalidInput(
                f"the step of columns {list(layout.names)} has {layout.cells * each} numbers, more "
                f"than {MOST_NUMBERS}; give it fewer columns in by, or fewer labels"
            )
    return steps


def _step(given: Any) -> Step:
    if isinstance(given, CategoricalColumns | NumericColumns):
        return given
    if not isinstance(given, Mapping) or given.get("kind") not in _KINDS:
        raise InvalidInput(
            f"steps has {given!r}; each must be a bdp.CategoricalColumns or a bdp.NumericColumns"
        )
    parameters = {name: value for name, value in given.items() if name != "kind"}
    try:
        made: Step = _KINDS[given["kind"]](**parameters)
    except TypeError as error:
        raise InvalidInput(f"steps: {error}") from error
    return made


def layouts_of(steps: Sequence[Step]) -> tuple[Layout, ...]:
    """Each step with the labels that it is given."""
    labels = {
        name: Axis(name, categories=given)
        for name, given in chain.from_iterable(
            step.columns for step in steps if isinstance(step, CategoricalColumns)
        )
    }
    return tuple(Layout(step, tuple(labels[name] for name in step.by)) for step in steps)
