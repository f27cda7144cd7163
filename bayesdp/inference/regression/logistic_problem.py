"""A logistic regression as a problem of the log-linear engine: cells in pairs, and coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.log_linear.problem import Problem
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.release import NoisyTable
from bayesdp.inference.regression.logistic_design import (
    LogitDesign,
    logit_design,
    predictors_of_axes,
    split,
)
from bayesdp.kernels.log_linear.moves import Released
from bayesdp.mechanisms.counts.cells import Axis, shape_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_PATTERNS = 1024


@dataclass(frozen=True)
class Setting:
    """A model and a release together.

    Attributes
    ----------
    design : LogitDesign
    problem : Problem
    noisy : NoisyTable or None
        The released table; None where records answered.
    copies : ndarray or None
        Counts in the possible cells of synthetic tables, shape (copies, cells).
    records : ndarray of int, or None
        Where predictors are public: each record's row of the design.
    one : int
        There, the category of the response that counts as 1.
    """

    design: LogitDesign
    problem: Problem
    noisy: NoisyTable | None
    copies: Integers | None = None
    records: Integers | None = None
    one: int = 1


def paired(
    model: Any, axes: Sequence[Axis], possible: NDArray[np.bool_]
) -> tuple[LogitDesign, Integers]:
    """Build the design of the possible patterns, and their pairs of cells."""
    response, formula = split(model.formula)
    names = [axis.name for axis in axes]
    if response not in names:
        raise InvalidInput(
            f"formula has the response {quoted(response)}; the table's columns are {names}"
        )
    place = names.index(response)
    one = success_of(axes[place], model.success)
    shape = shape_of(axes)
    others = [axis for axis in axes if axis.name != response]
    patterns = math.prod(shape_of(others))
    if patterns > _MOST_PATTERNS:
        raise InvalidInput(
            f"the predictors have {patterns:,} combinations, more than the {_MOST_PATTERNS:,} "
            "whose frequencies a model may hold; merge categories, or leave columns out of the "
            "release"
        )
    numbers = np.full(possible.size, -1)
    numbers[possible.ravel()] = np.arange(int(possible.sum()))
    both = np.moveaxis(numbers.reshape(shape), place, -1).reshape(-1, 2)
    pairs = both[:, [1 - one, one]]
    kept = (pairs >= 0).any(axis=1)
    if np.any(pairs[kept] < 0):
        raise InvalidInput(
            "a structural zero has one value of the response and not the other, so that its log "
            "odds would be infinite; take both for possible, or neither"
        )
    predictors = predictors_of_axes(others, model.factors)
    design = logit_design(formula, predictors, model.factors, patterns)
    kept_design = LogitDesign(design.columns[kept], design.shown, design.labels)
    return kept_design, np.ascontiguousarray(pairs[kept])


def success_of(axis: Axis, success: Any) -> int:
    """Find which of a response's two categories is 1, or raise InvalidInput."""
    labels = list(axis.categories or ())
    if len(labels) != 2:
        raise InvalidInput(
            f"the response {quoted(axis.name)} has {axis.size} "
            f"{'categories' if labels else 'intervals'}; it must have two categories, as a table "
            "released with it merged into two"
        )
    if success is None:
        return 1
    if success not in labels:
        raise InvalidInput(f"success is {quoted(success)}; the response's categories are {labels}")
    return labels.index(success)


def problem_of(
    model: Any,
    design: LogitDesign,
    pairs: Integers,
    released: Released,
    sizes: Sequence[tuple[int, float]] | None,
    centre: Floats,
    noise: float,
    information: float,
) -> Problem:
    """Build the problem: a common log rate if n isn't known, the patterns' rates, coefficients."""
    patterns, coefficients = design.columns.shape
    cells = pairs.size
    blocks, mean, sd = [], [], []
    if sizes is None:
        blocks.append(np.ones((cells, 1)))
        mean, sd = [model.rate[0]], [model.rate[1]]
    if patterns > 1:
        which = np.zeros((cells, patterns))
        which[pairs, np.arange(patterns)[:, None]] = 1.0
        blocks.append(which)
        mean, sd = mean + [0.0] * patterns, sd + [float(model.spread)] * patterns
    odds = np.zeros((cells, coefficients))
    odds[pairs[:, 1]] = design.columns
    columns = np.concatenate([*blocks, odds], axis=1)
    before, spreads = prior_of(model, design)
    return Problem(
        columns,
        np.array([*mean, *before]),
        np.array([*sd, *spreads]),
        np.full(columns.shape[1], -1),
        np.zeros(0),
        sizes,
        released,
        centre,
        noise,
        information,
        pairs,
    )


def prior_of(model: Any, design: LogitDesign) -> tuple[Floats, Floats]:
    """Prior means and sds, one for each coefficient."""
    count = len(design.labels)
    for name, each in zip(("means", "sds"), model.prior, strict=True):
        if np.ndim(each) and len(each) != count:
            raise InvalidInput(
                f"prior has {len(each)} {name}; give one number for all coefficients, or one for "
                f"each of {list(design.labels)}"
            )
    mean, sd = (np.broadcast_to(np.array(each), count).copy() for each in model.prior)
    return mean, sd
