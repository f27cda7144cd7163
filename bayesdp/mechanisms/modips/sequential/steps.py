"""Declaration of a sequential model: groups of columns, each given earlier ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import check_interval
from bayesdp.mechanisms.families.regression_fields import check_prior


@dataclass(frozen=True, slots=True)
class CategoricalColumns:
    """Categorical columns: a table of all combinations of them, in each cell of earlier ones.

    Parameters
    ----------
    columns : mapping, or sequence of pairs
        All possible labels of each column by its name, fixed without the data; those of a column
        are all texts, all integers, all floats or all booleans.
    by : sequence of str
        Earlier categorical columns that these depend on; they are independent of all others.
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
                    f"labels of column {quoted(axis.name)} are {quoted(axis.categories)}; they "
                    "must be of one type, all texts, for example"
                )
        object.__setattr__(self, "columns", tuple((a.name, a.categories) for a in axes))
        object.__setattr__(self, "by", _names("by", self.by))
        if not (is_number(self.prior) and 0 < self.prior < math.inf):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be a positive finite number"
            )
        object.__setattr__(self, "prior", float(self.prior))


@dataclass(frozen=True, slots=True)
class NumericColumns:
    """Bounded numeric columns: each regressed on those before it, in each cell of labels.

    The records' sums of squares and products of all columns of a step, those in `on` among them,
    get their own noise: columns that depend on each other cost less in one step than in two.

    Parameters
    ----------
    columns : mapping, or sequence of pairs
        (low, high) of each column by its name, chosen without the data.
    by : sequence of str
        Earlier categorical columns: every combination has a regression of its own.
    on : sequence of str
        Numeric columns of earlier steps, on which all of these are regressed too.
    prior : tuple (m0, k, a, b)
        Normal-inverse-gamma prior of every regression, for columns rescaled to [-1, 1]: the
        coefficients' mean and precision in units of 1 / sigma^2, and the shape and scale of
        sigma^2. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> sex = bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")})
    >>> body = bdp.synthesizers.NumericColumns({"age": (18, 90), "pressure": (70, 220)}, by=["sex"])
    >>> print(
    ...     bdp.synthesizers.SequentialModipsSynthesizer([sex, body], epsilon=4.0).guarantee(n=5000)
    ... )
    epsilon = 4 (replace_one, proved)
    """

    columns: tuple[tuple[str, tuple[float, float]], ...]
    by: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    prior: tuple[float, float, float, float] = (0.0, 0.1, 1.0, 0.1)
    kind: str = field(default="numeric", init=False)

    def __post_init__(self) -> None:
        checked = []
        for name, ends in _pairs(self.columns):
            try:
                checked.append((name, check_interval(ends)))
            except InvalidInput as error:
                raise InvalidInput(f"column {quoted(name)}: {error}") from error
        object.__setattr__(self, "columns", tuple(checked))
        object.__setattr__(self, "by", _names("by", self.by))
        object.__setattr__(self, "on", _names("on", self.on))
        prior = check_prior(self.prior, 0)
        if any(isinstance(value, tuple) for value in prior):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be four numbers (m0, k, a, b)"
            )
        object.__setattr__(self, "prior", prior)


Step = CategoricalColumns | NumericColumns


def _pairs(given: Any) -> list[tuple[str, Any]]:
    """Return names of columns with what is declared of each, or raise InvalidInput."""
    try:
        pairs = list(given.items()) if isinstance(given, Mapping) else [(a, b) for a, b in given]
    except (TypeError, ValueError):
        pairs = []
    if not pairs or not all(isinstance(name, str) and name for name, _ in pairs):
        raise InvalidInput(
            f"columns is {quoted(given)}; it must have names of columns with their labels, or "
            "their bounds, for example {'sex': ('f', 'm')} or {'age': (18, 90)}"
        )
    return pairs


def _names(argument: str, given: Any) -> tuple[str, ...]:
    good = isinstance(given, Sequence) and not isinstance(given, str)
    if not good or not all(isinstance(name, str) for name in given) or len({*given}) < len(given):
        raise InvalidInput(f"{argument} is {quoted(given)}; it must be a list of different columns")
    return tuple(given)
