"""Approximate engines: normals, by Pathfinder or Laplace's method, checked by importance.

Draws of the normals are weighted by the posterior's density over theirs. Pareto-smoothed importance
sampling tells by the weights' tail how well that corrects them: its estimate k of the tail's shape
is above 0.7 where it doesn't, as with a posterior whose tails the normals miss. A region that no
draw comes near shows in no weight.

Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from bayesdp.engines.convergence import problems_of_weights
from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.engines.pymc.density import Floats, density_of
from bayesdp.engines.pymc.laplace import laplace
from bayesdp.engines.pymc.pathfinder import pathfinder
from bayesdp.errors import EngineFailed

if TYPE_CHECKING:
    import pymc as pm

_FEWEST = 1000  # draws to weight, for an estimate of k
_EQUAL = 1e-6  # of log weights


def approximate(
    model: pm.Model, engine: str, *, variables: Sequence[str], draws: int, chains: int, seed: Any
) -> Draws:
    """Draw from an approximation of a PyMC model's posterior, and resample by importance.

    Parameters
    ----------
    model : pm.Model
        A model with continuous free variables only.
    engine : {"pathfinder", "laplace"}
    variables : sequence of str
        The posterior variables to keep.
    draws, chains : int
        The numbers of draws to return: `chains` times `draws`. There are as many paths, or climbs
        to a mode, as chains.
    seed : int or None

    Returns
    -------
    Draws
        Resampled draws, with their log densities "lp", and "lp_approx" under the approximation.
        It tells "pareto_k", and "importance_ess", what the weighted draws are worth in independent
        ones.

    Raises
    ------
    EngineFailed
        If no normal approximates the posterior.
    """
    import numba
    import pymc

    rng = np.random.default_rng(seed)
    density = density_of(model, variables, int(rng.integers(2**32)))
    if engine == "laplace":
        mixture, doubts = laplace(density, chains, rng)
    else:
        mixture, doubts = pathfinder(density, chains, rng), []
    if mixture is None:
        raise EngineFailed(
            f"{engine} finds no point at which the posterior curves down in all directions, as it "
            "does at a mode without a kink; take NUTS: engine='pymc'"
        )
    x = mixture.draw(max(draws * chains, _FEWEST), rng)
    proposed, target = mixture.log_density(x), density.log_densities(x)
    weights, k = _smoothed(target - proposed)
    ess = 1 / float(weights @ weights)
    chosen = _resampled(weights, draws * chains, rng)
    kept, places = np.unique(chosen, return_inverse=True)
    values = [density.variables(each) for each in x[kept]]

    def shaped(each: Any) -> Any:
        array = np.asarray(each)
        return array.reshape(chains, draws, *array.shape[1:])

    return Draws(
        posterior={
            name: shaped(np.array([value[v] for value in values], dtype=np.float64)[places])
            for v, name in enumerate(variables)
        },
        sample_stats={
            "lp": shaped(target[chosen]),
            "lp_approx": shaped(proposed[chosen]),
            "approximate": np.ones((chains, draws), dtype=bool),
        },
        engine=engine,
        versions={"pymc": pymc.__version__, "numba": numba.__version__},
        doubts=(*problems_of_weights(k, ess), *doubts),
        told={"pareto_k": f"{k:.3g}", "importance_ess": f"{ess:.0f}"},
    )


def _smoothed(log_ratios: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed weights, which sum to one, and the shape k of their tail."""
    if np.ptp(log_ratios) < _EQUAL:  # equal weights have no tail to estimate
        return np.full(log_ratios.size, 1 / log_ratios.size), 0.0
    finite = np.maximum(log_ratios, np.max(log_ratios) - 700)  # of which psislw knows no infinity
    smoothed, k = import_arviz().psislw(finite)
    return np.asarray(special.softmax(np.asarray(smoothed))), float(k)


def _resampled(weights: Floats, size: int, rng: np.random.Generator) -> Any:
    """Indices of draws, each about as often as its weight says: systematic resampling."""
    levels = (rng.random() + np.arange(size)) / size
    chosen = np.searchsorted(np.cumsum(weights), levels)
    return rng.permutation(np.minimum(chosen, weights.size - 1))
