r"""Design of a logistic regression: which numbers its coefficients multiply.

A column of numbers enters as it is, a column of labels by an indicator of each category except its
first. An interaction has the products. Priors are for coefficients of columns of numbers v that are
rescaled to [-1, 1] by their smallest and largest value, (v - middle) / half the width, so that they
don't depend on units; the coefficients shown are those of the same regression in the columns' own
units.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.design import beside
from bayesdp.inference.log_linear.formula import Term, terms_of
from bayesdp.mechanisms.counts.cells import Axis

Floats = NDArray[np.float64]

INTERCEPT = "intercept"


@dataclass(frozen=True)
class Predictor:
    """A column of predictors.

    Attributes
    ----------
    name : str
    bins : ndarray of int
        For each pattern of predictors, the index of its value.
    values : ndarray or None
        The numbers, or None for labels.
    labels : tuple of str
    """

    name: str
    bins: NDArray[np.int64]
    values: Floats | None
    labels: tuple[str, ...]

    @property
    def scale(self) -> tuple[float, float]:
        """Middle and half the width of the predictor's numbers."""
        values = np.zeros(1) if self.values is None else self.values
        low, high = float(values.min()), float(values.max())
        return low / 2 + high / 2, high / 2 - low / 2

    def columns(self) -> Floats:
        """Columns that the predictor adds to the design, rescaled; shape (patterns, columns)."""
        if self.values is None:
            return np.asarray(self.bins[:, None] == np.arange(1, len(self.labels)), dtype=float)
        middle, half = self.scale
        return np.asarray(((self.values - middle) / half)[self.bins][:, None])

    @property
    def names(self) -> list[str]:
        """Names of the predictor's columns."""
        if self.values is None:
            return [f"{self.name}[{label}]" for label in self.labels[1:]]
        return [self.name]


@dataclass(frozen=True)
class LogitDesign:
    """Design: log odds are `columns` @ u; coefficients as they are shown, `shown` @ u.

    Attributes
    ----------
    columns : ndarray, shape (patterns, coefficients)
    shown : ndarray, shape (coefficients, coefficients)
    labels : tuple of str
    """

    columns: Floats
    shown: Floats
    labels: tuple[str, ...]


def split(formula: Any) -> tuple[str, str]:
    """Split a formula into the response and the predictors' side.

    Raises
    ------
    InvalidInput
        If it isn't such a formula.
    """
    sides = formula.split("~") if isinstance(formula, str) else []
    response = sides[0].strip().strip("`") if len(sides) == 2 else ""
    if not response or not sides[1].strip():
        raise InvalidInput(
            f'formula is {quoted(formula)}; it must be a response, "~" and its predictors, as '
            '"smokes ~ age + sex", "smokes ~ age*sex", "smokes ~ ." or "smokes ~ 1"'
        )
    terms_of(sides[1])
    return response, sides[1]


def predictors_of_axes(axes: Sequence[Axis], factors: Sequence[str]) -> list[Predictor]:
    """Make predictors of all combinations of the axes' bins, the last axis moving fastest."""
    shape = tuple(axis.size for axis in axes)
    bins = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    return [
        _predictor(axis.name, which, axis.categories, _labels(axis), factors)
        for axis, which in zip(axes, bins, strict=True)
    ]


def _labels(axis: Axis) -> tuple[str, ...]:
    shown = axis.shown(np.arange(axis.size))
    return tuple("-".join(str(column[k]) for column in shown) for k in range(axis.size))


def _predictor(
    name: str, bins: Any, values: Any, labels: tuple[str, ...], factors: Sequence[str]
) -> Predictor:
    numbers = values is not None and all(is_number(v) for v in values) and name not in factors
    given = np.array(values, dtype=np.float64) if numbers else None
    return Predictor(name, np.asarray(bins, dtype=np.int64), given, labels)


def predictors_of_data(
    data: Any, response: str, factors: Sequence[str]
) -> tuple[list[Predictor], NDArray[np.int64]]:
    """Make predictors of the public records' distinct patterns, and find each record's pattern.

    Raises
    ------
    InvalidInput
        If `data` isn't a table of complete columns of one length.
    """
    names = [str(name) for name in data]
    columns = {str(name): np.asarray(data[name]) for name in data}
    lengths = {column.shape for column in columns.values()}
    if not names or len(lengths) > 1 or len(next(iter(lengths))) != 1:
        raise InvalidInput(
            f"data has columns {names} of shapes {[c.shape for c in columns.values()]}; it must "
            "have one or more columns with one number or label for each record"
        )
    if response in names:
        raise InvalidInput(
            f"data has the response {quoted(response)}; it holds public predictors alone, and the "
            "response is what was released"
        )
    described, codes = [], []
    for name, column in columns.items():
        number = column.dtype.kind in "iuf"
        if column.dtype.kind == "f" and not np.all(np.isfinite(column)):
            raise InvalidInput(f"data has missing or infinite values in column {quoted(name)}")
        if not number and not all(isinstance(v, str | bool | np.bool_) for v in column.tolist()):
            raise InvalidInput(
                f"data has column {quoted(name)} of type {column.dtype}; it must be of numbers, or "
                "all of texts or booleans, none missing"
            )
        values, code = np.unique(column if number else column.astype(str), return_inverse=True)
        codes.append(code.ravel())
        described.append((name, values.tolist() if number else None, tuple(map(str, values))))
    patterns, where = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    made = [_predictor(n, patterns[:, k], v, s, factors) for k, (n, v, s) in enumerate(described)]
    return made, where.ravel()


def logit_design(
    formula: str, predictors: Sequence[Predictor], factors: Sequence[str], patterns: int
) -> LogitDesign:
    """Build the design of the predictors' side of a formula, for a number of patterns.

    Raises
    ------
    InvalidInput
        If the formula doesn't fit the predictors.
    """
    named: Mapping[str, Predictor] = {p.name: p for p in predictors}
    if unknown := [name for name in factors if name not in named]:
        raise InvalidInput(f"factors has {unknown}; the predictors are {list(named)}")
    terms = terms_of(formula, list(named), every=False)
    used = {name for term in terms for name in term}
    if single := [name for name in named if name in used and len(named[name].labels) < 2]:
        raise InvalidInput(
            f"predictors {single} have a single value, so that nothing can be said of their "
            "effects; leave them out of the formula"
        )
    blocks = [np.ones((patterns, 1))]
    labels, starts = [INTERCEPT], {frozenset[str](): 0}
    for term in terms:
        starts[frozenset(term)] = len(labels)
        blocks.append(functools.reduce(beside, [named[c].columns() for c in term]))
        each = itertools.product(*(named[c].names for c in term))
        labels += [":".join(combination) for combination in each]
    if len(set(labels)) < len(labels):
        raise InvalidInput(
            f"coefficients would be called {labels}, two of them the same; rename a column"
        )
    shown = _own_units(terms, named, starts, [b.shape[1] for b in blocks])
    return LogitDesign(np.concatenate(blocks, axis=1), shown, tuple(labels))


def _own_units(
    terms: Sequence[Term],
    named: Mapping[str, Predictor],
    starts: Mapping[frozenset[str], int],
    sizes: Sequence[int],
) -> Floats:
    """Multiply out a term's product of (v - middle) / half over its columns of numbers.

    Its contributions to lower-order terms have a place, as an interaction needs those terms.
    """
    shown = np.zeros((sum(sizes), sum(sizes)))
    shown[0, 0] = 1.0
    for term, size in zip(terms, sizes[1:], strict=True):
        numbers = [c for c in term if named[c].values is not None]
        start = starts[frozenset(term)]
        for kept in itertools.product((True, False), repeat=len(numbers)):
            share, lower = 1.0, set(term)
            for column, stays in zip(numbers, kept, strict=True):
                middle, half = named[column].scale
                share *= 1 / half if stays else -middle / half
                lower -= set() if stays else {column}
            there = starts[frozenset(lower)]
            for k in range(size):
                shown[there + k, start + k] += share
    return shown
