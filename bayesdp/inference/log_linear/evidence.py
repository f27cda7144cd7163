"""Log evidence of a log-linear model, where the latent table sums out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.bridge import log_integral
from bayesdp.engines.log_linear.chains import sample
from bayesdp.engines.log_linear.evidence import log_law_at, log_prior_density, summed_likelihood
from bayesdp.errors import InvalidInput
from bayesdp.inference.evidence_ways import ALL, BRIDGE, FEW, Answer, moved, proposals
from bayesdp.inference.log_linear import fit as fits
from bayesdp.inference.log_linear.release import statistic_of
from bayesdp.inference.several import Releases, parts_of
from bayesdp.release import Part

Floats = NDArray[np.float64]


def log_linear(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence by a bridge over the effects, where the latent table sums out."""
    setting = fits.setting_of(model, release)
    if not setting.noisy.independent:
        raise InvalidInput(
            "the released counts overlap, or their noise's law isn't log-concave, so that the "
            "latent table doesn't sum out and the evidence is intractable; compare such models by "
            "bdp.posterior_predictive, or release the cells of one table"
        )
    problem = setting.problem
    poisson = problem.sizes is None
    options: Any = {"draws": draws, "chains": chains, "warmup": warmup, "thin": 2, "seed": seed}
    u = sample(problem, summed=poisson, **options).posterior["u"]
    if not poisson:  # whose likelihood is a convolution over the cells
        u = u[:, :: max(1, u.shape[0] * u.shape[1] // FEW)]
    kernels = problem.model(summed=True)
    likelihood = summed_likelihood(kernels, problem.released)

    def log_density(points: Floats) -> Floats:
        points = np.ascontiguousarray(points)
        return np.asarray(likelihood(points) + log_prior_density(kernels, points))

    integral = log_integral(log_density, u, generator=proposals(seed))
    how = BRIDGE.format("the latent table is summed out, the rest is the effects")
    return moved(integral, log_constant_of_table(setting, parts_of(release)[0])), how, ALL


def log_constant_of_table(setting: Any, parts: Sequence[Part]) -> float:
    """Log ratio of the mechanism's law to the chains' law of the outputs, whatever the table.

    Both are taken at one table, near the released one.
    """
    released, possible = setting.noisy.released, setting.noisy.possible
    near = np.rint(setting.noisy.centre)[released.places[:, 0]]
    table = np.maximum(near, 0).astype(np.int64)
    if released.table.shape[1]:
        table = (released.first + released.table.argmax(axis=1))[released.places[:, 0]]
    whole = np.zeros(possible.size, dtype=np.int64)
    whole[possible.ravel()] = table
    exact = 0.0
    for each in parts:
        made: Any = each.mechanism
        statistic = statistic_of(made, whole)
        exact += float(np.sum(made.logp(np.array(each.outputs), statistic)))
    return exact - log_law_at(released, table)
