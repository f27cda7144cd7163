"""Log probabilities of a table's outputs at a log-linear model's effects, counts summed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import Cell, MarginalsView, NoiseView, view_of
from bayesdp.engines.log_linear.evidence import summed_likelihood
from bayesdp.engines.log_sums import log_sum
from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.evidence import log_constant_of_table
from bayesdp.inference.log_linear.fit import Setting
from bayesdp.inference.log_linear.programs import counts_of
from bayesdp.release import Part

Floats = NDArray[np.float64]


def pointwise(setting: Setting, parts: Sequence[Part], beta: Floats) -> Floats:
    """Compute the log law of each cell's outputs, or of all where their total ties them.

    Parameters
    ----------
    setting : Setting
        The model, and the releases together.
    parts : sequence of Part
        The releases.
    beta : ndarray, shape (draws, terms)
        Effects as they are shown, the intercept first where counts are Poisson.

    Returns
    -------
    ndarray, shape (draws, cells), or (draws,) where the number of records has a law

    Raises
    ------
    InvalidInput
        If the counts don't sum out, as the released ones overlap.
    """
    if not setting.noisy.independent:
        raise InvalidInput(
            "the released counts overlap, or their noise's law isn't log-concave, so that the "
            "latent table doesn't sum out; compare such models by bdp.posterior_predictive"
        )
    poisson, design = setting.problem.sizes is None, setting.design
    u = np.linalg.solve(design.shown, beta[:, int(poisson) :].T).T
    if not poisson:
        likelihood = summed_likelihood(setting.problem.model(summed=True), setting.noisy.released)
        return np.asarray(likelihood(u) + log_constant_of_table(setting, parts))
    eta = beta[:, :1] + u @ design.columns.T
    law, released = np.empty(eta.shape), setting.noisy.released
    constants = _constants(parts, released.observed)
    for c, k in enumerate(released.places[:, 0]):
        x, log_law = counts_of(released, int(k))
        weights = log_law - special.gammaln(x + 1)

        def term(some: slice, x: Floats = x, weights: Floats = weights, c: int = c) -> Floats:
            return np.asarray(weights + x * eta[some, c, None])

        law[:, c] = log_sum(len(eta), x.size, term) - np.exp(eta[:, c]) + constants[k]
    return law


def _constants(parts: Sequence[Part], observed: Floats) -> Floats:
    """Log ratio of the law of each number's outputs to that of the chains, which has no constant.

    The copies of a number are those of the first part, then of the second, and so on.
    """
    made = np.zeros(len(observed))
    copy = 0
    for part in parts:
        cell = _cell(part)
        rate = 1 / cell.scale if cell.noise.laplace else 0.5 / cell.scale**2
        for _ in part.outputs:
            z = observed[:, copy]
            x = np.maximum(np.rint(z), 0.0)
            away = np.abs(z - x)
            made += cell.logp(z, x) + rate * (away if cell.noise.laplace else away**2)
            copy += 1
    return made


def _cell(part: Part) -> Cell:
    marginals = view_of(part.mechanism, MarginalsView)
    if marginals is not None:
        return marginals.count
    noise: Any = view_of(part.mechanism, NoiseView)  # from which the setting was read
    cell: Cell = noise.cell
    return cell
