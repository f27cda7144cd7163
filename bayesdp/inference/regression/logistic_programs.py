"""Data of the programs of PyMC and Stan of a logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.inference.log_linear.programs import around, possible_counts, refuse_tied
from bayesdp.inference.regression.logistic_problem import Setting


def data_of(model: Any, setting: Setting, obstacle: str) -> dict[str, Any]:
    """Build the data of stan/logistic_regression.stan, by its names.

    Parameters
    ----------
    model : LogisticRegressionModel
    setting : Setting
    obstacle : str
        Why the latent table doesn't sum out; empty where it does.

    Raises
    ------
    InvalidInput
        If it doesn't, or counts are too many.
    """
    refuse_tied(obstacle)
    problem, released = setting.problem, setting.problem.released
    patterns, coefficients = setting.design.columns.shape
    answers = setting.noisy is None
    level = int(not answers)
    frequencies = problem.columns.shape[1] - coefficients - level
    cells = problem.pairs.ravel()
    middle, spread = around(problem)
    level_at, frequency_at, at = np.split(middle, [level, level + frequencies])
    level_sd, frequency_sd, sd = np.split(spread, [level, level + frequencies])
    order = np.empty(cells.size, dtype=np.int64)
    order[cells] = np.arange(cells.size) + 1
    none = {"K": 0, "first": [], "last": [], "x": [], "log_law": []}
    return {
        "P": patterns,
        "J": coefficients,
        "predictors": setting.design.columns,
        "prior_mean": problem.mean[-coefficients:],
        "prior_sd": problem.sd[-coefficients:],
        "centre": at,
        "scale": sd,
        "F": frequencies,
        "spread": float(model.spread),
        "frequency_centre": frequency_at,
        "frequency_scale": frequency_sd,
        "L": level,
        "level_mean": float(model.rate[0]),
        "level_sd": float(model.rate[1]),
        "level_centre": float(level_at[0]) if level else 0.0,
        "level_scale": float(level_sd[0]) if level else 1.0,
        "C": 0 if answers else cells.size,
        **(none if answers else possible_counts(released, cells)),
        "A": len(released.observed) if answers else 0,
        "counts": released.observed[:, 0] if answers else np.zeros(0),
        "E": released.cells.size,
        "weight": released.weights,
        "cell": order[released.cells],
        "start": released.starts + 1,
        "shown": setting.design.shown,
    }
