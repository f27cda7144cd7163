"""New tables, given a log-linear model's parameters, in the form that mechanisms take."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.fit import Setting
from bayesdp.inference.log_linear.release import statistic_of
from bayesdp.inference.predictive_statistics import Rng, Theta
from bayesdp.release import Part


def table(setting: Setting, part: Part, theta: Theta, rng: Rng) -> Any:
    """Draw the table's cells, or their marginals where these were released.

    Raises
    ------
    InvalidInput
        If the fit kept no probabilities of cells.
    """
    sizes, possible = setting.problem.sizes, setting.noisy.possible.ravel()
    if "probability" not in theta:
        raise InvalidInput("idata has no 'probability'; fit with cells=True")
    if sizes is None:
        u = np.linalg.solve(setting.design.shown, theta["beta"][1:])
        eta = theta["beta"][0] + setting.design.columns @ u
        counts = rng.poisson(np.exp(np.minimum(eta, 40.0)))
    else:
        p = np.asarray(theta["probability"])
        counts = rng.multinomial(int(theta.get("n", sizes[0][0])), p / p.sum())
    whole = np.zeros(possible.size, dtype=np.int64)
    whole[possible] = counts
    return statistic_of(part.mechanism, whole)
