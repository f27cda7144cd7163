"""Perturbed coefficients as a logistic regression reads them: through a latent table.

Predictors of finitely many values make a table of the records, and the coefficients are a function
of it; the table is sampled, and its coefficients are found anew for every change of it
(`bayesdp.engines.log_linear.coefficients`). The error of the mechanism's solver is below 2^-15 of
the noise for epsilon of 1 or less, and is neglected, as is the lattice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.core.views import CoefficientsView
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.release import NoisyTable, closed, released_of
from bayesdp.inference.regression.linear_read import check_fine
from bayesdp.inference.regression.logistic_problem import Setting, paired, problem_of
from bayesdp.kernels.log_linear.moves import COEFFICIENTS
from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.mechanisms.families.moments import STEPS, in_steps
from bayesdp.release import Part

_MOST_CELLS = 2048


def setting_of_coefficients(model: Any, seen: CoefficientsView, part: Part) -> Setting:
    """Read a release of a logistic regression's coefficients.

    Raises
    ------
    InvalidInput
        If the release doesn't fit the model.
    """
    if seen.loss != "logistic":
        raise InvalidInput(
            "the release is of a linear regression's coefficients; take bdp.LinearRegressionModel"
        )
    if model.zeros is not None:
        raise InvalidInput("zeros is given, but the release is of coefficients; leave it out")
    check_fine(seen.coefficient)
    scale = seen.coefficient.scale
    axes = _axes(model.categories, seen)
    possible = np.ones(shape_of(axes), dtype=bool)
    if possible.size > _MOST_CELLS:
        raise InvalidInput(
            f"the predictors' values make a table of {possible.size:,} cells, more than the "
            f"{_MOST_CELLS:,} whose counts can be sampled; merge values"
        )
    design, pairs = paired(model, axes, possible)
    cells = np.argwhere(possible)
    columns = [np.ones(len(cells))]
    for k, axis in enumerate(axes):
        ends = np.array([seen.bounds[axis.name]])
        steps = in_steps(np.array(axis.categories, dtype=np.float64)[:, None], ends)[:, 0] / STEPS
        columns.append(steps[cells[:, k]])
    signed = np.stack(columns[:-1], axis=1) * columns[-1][:, None]
    z = np.array(part.outputs, dtype=np.float64)
    none = closed(np.zeros((len(cells), 0)), 0.0, laplace=True)
    law = {**none, "kind": COEFFICIENTS, "table": z}
    released = released_of(axes, possible, [tuple(range(len(axes)))], law)
    released = released._replace(
        design=np.ascontiguousarray(signed), penalty=seen.penalty, precision=1 / scale**2
    )
    # How many records of a cell move the coefficients by about the noise.
    noise = (scale * seen.penalty) ** 2 / len(columns) / len(z)
    sizes = [(seen.n, 1.0)]
    names = (tuple(axis.name for axis in axes),)
    centre = np.zeros(len(cells))
    noisy = NoisyTable(axes, possible, names, released, centre, noise, 1 / noise, False)
    problem = problem_of(model, design, pairs, released, sizes, centre, noise, 1.0)
    return Setting(design, problem, noisy)


def _axes(categories: Any, seen: CoefficientsView) -> tuple[Axis, ...]:
    """Axes of the table: the predictors' values and then the response's."""
    given, ends = dict(categories or {}), seen.bounds
    given.setdefault(seen.response, ends[seen.response])
    if set(given) != set(ends):
        raise InvalidInput(
            f"categories is of {list(given)}; it must list all values that each of the predictors "
            f"{list(seen.predictors)} may have. Those of a continuous one can't be listed: for "
            "such, combine estimates by bdp.combine, or see bdp.models.RecordModel"
        )
    axes = []
    for name in (*seen.predictors, seen.response):
        axis, (low, high) = Axis(name, categories=tuple(given[name])), ends[name]
        values = axis.categories or ()
        if not all(
            isinstance(v, int | float) and math.isfinite(v) and low <= v <= high for v in values
        ):
            raise InvalidInput(
                f"categories of column {quoted(name)} are {values}; they must be numbers within "
                f"its bounds [{low}, {high}], as the release is of coefficients of such"
            )
        axes.append(axis)
    if axes[-1].categories != ends[seen.response]:
        raise InvalidInput(
            f"categories of the response {quoted(seen.response)} are {axes[-1].categories}; they "
            f"are its bounds, {ends[seen.response]}: leave them out"
        )
    return tuple(axes)
