"""Answers as a logistic regression reads them: records whose true categories are summed out.

A record of cell c gives the answers j_1..j_M with probability K[c, j_1] ... K[c, j_M], so records
with equal answers and equal public predictors are counted together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import AnswersView, view_of
from bayesdp.engines.log_linear.problem import Problem
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.release import axes_of
from bayesdp.inference.regression.logistic_design import logit_design, predictors_of_data, split
from bayesdp.inference.regression.logistic_problem import (
    Setting,
    paired,
    prior_of,
    problem_of,
    success_of,
)
from bayesdp.kernels.log_linear.moves import ANSWERS, Released
from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.release import Part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def setting_of_answers(model: Any, view: AnswersView, part: Part, naive: bool) -> Setting:
    """Read a randomized response's release; with `naive`, as if each answer were true.

    Raises
    ------
    InvalidInput
        If the release doesn't fit the model.
    """
    if model.zeros is not None:
        raise InvalidInput("zeros is given, but the release is of answers; leave it out")
    answers, matrix = np.array(part.outputs, dtype=np.int64), view.matrix
    if naive:
        matrix = np.eye(view.k)
    if model.data is not None:
        return _of_public_predictors(model, view, answers, matrix, naive)
    axes = axes_of(part.mechanism, model.categories, view.k)
    design, pairs = paired(model, axes, np.ones(shape_of(axes), dtype=bool))
    patterns, counts = _patterns(answers, naive)
    weights = matrix[:, patterns].prod(axis=1).T  # of a pattern, one a cell
    released = _answered(counts, np.tile(np.arange(view.k), len(counts)), weights)
    nothing = np.zeros(0)
    problem = problem_of(model, design, pairs, released, [(1, 1.0)], nothing, 1.0, 1.0)
    return Setting(design, problem, None)


def _patterns(answers: Integers, naive: bool) -> tuple[Integers, Integers]:
    """Find the different columns of answers, shape (copies, patterns), and their frequencies."""
    if naive:  # each answer a record
        answers = answers.reshape(1, -1)
    patterns, counts = np.unique(answers, axis=1, return_counts=True)
    return patterns, counts


def _of_public_predictors(
    model: Any, view: AnswersView, answers: Integers, matrix: Floats, naive: bool
) -> Setting:
    response, formula = split(model.formula)
    labels = (model.categories or {}).get(response, (0, 1))
    if model.categories is not None and list(model.categories) != [response]:
        raise InvalidInput(
            f"categories is of {list(model.categories)}; where data holds public predictors, it "
            f"says those of the response {quoted(response)} alone, by default (0, 1)"
        )
    axis = Axis(response, categories=tuple(labels))
    one = success_of(axis, model.success)
    predictors, where = predictors_of_data(model.data, response, model.factors)
    if view.k != 2 or len(where) != view.n:
        raise InvalidInput(
            f"data has {len(where)} records, and the release is of {view.n} answers of {view.k} "
            "categories; give the predictors of each record, in the order of the answers, of which "
            "there must be two"
        )
    design = logit_design(formula, predictors, model.factors, len(predictors[0].bins))
    if naive:
        where, answers = np.tile(where, len(answers)), answers.reshape(1, -1)
    patterns, counts = np.unique(np.vstack([where, answers]), axis=1, return_counts=True)
    weights = matrix[:, patterns[1:]].prod(axis=1).T
    pairs = np.arange(2 * len(design.columns)).reshape(-1, 2)
    cells = pairs[patterns[0]]
    released = _answered(counts, cells.ravel(), weights[:, [1 - one, one]])
    rates = np.zeros((pairs.size, len(design.labels)))
    rates[pairs[:, 1]] = design.columns
    none = np.full(len(design.labels), -1)
    prior = prior_of(model, design)
    nothing = np.zeros(0)
    problem = Problem(rates, *prior, none, nothing, None, released, nothing, 1.0, 1.0, pairs)
    return Setting(design, problem, None, records=where, one=one)


def public_records(model: Any, part: Part) -> tuple[Setting, AnswersView]:
    """Read the answers of records with public predictors, for what is computed record by record.

    Raises
    ------
    InvalidInput
        If predictors are confidential, of whose frequencies a fit keeps no draws.
    """
    view = view_of(part.mechanism, AnswersView)
    if model.data is None or view is None:
        raise InvalidInput(
            "a logistic regression says this of records with public predictors alone (data=...), "
            "since a fit keeps no draws of other predictors; for a table compare log-linear "
            "models of it, which hold the same regressions"
        )
    return setting_of_answers(model, view, part, naive=False), view


def chances_at(setting: Setting, beta: Floats) -> Floats:
    """Compute each public record's probabilities of categories, shape (draws, records, 2).

    `beta` are draws of the coefficients in the columns' own units, shape (draws, coefficients).
    """
    u = np.linalg.solve(setting.design.shown, beta.T).T
    log_odds = (u @ setting.design.columns.T)[:, setting.records]
    ends = np.empty((*log_odds.shape, 2))
    ends[..., setting.one] = special.expit(log_odds)
    ends[..., 1 - setting.one] = special.expit(-log_odds)
    return ends


def _answered(counts: Integers, cells: Integers, weights: Floats) -> Released:
    """Lay out answers with one row of `weights` for each pattern, over as many cells each."""
    if np.any(weights.max(axis=1) == 0):
        raise InvalidInput("the outputs have probability zero under the model")
    whole = int(cells.max()) + 1
    return Released(
        places=np.zeros((whole, 0), dtype=np.int64),
        within=np.zeros((0, 1), dtype=np.bool_),
        levels=np.zeros((whole, 1), dtype=np.int64),
        sizes=np.ones(1, dtype=np.int64),
        strides=np.ones(1, dtype=np.int64),
        numbers=np.zeros(1, dtype=np.int64),
        observed=counts[:, None].astype(np.float64),
        rate=np.zeros((len(counts), 1)),
        gaussian=np.zeros((len(counts), 1), dtype=bool),
        first=np.zeros(0, dtype=np.int64),
        table=np.zeros((0, 0)),
        kind=ANSWERS,
        starts=np.arange(len(counts) + 1) * weights.shape[1],
        cells=np.ascontiguousarray(cells, dtype=np.int64),
        weights=np.ascontiguousarray(weights.ravel()),
    )
