"""Laplace's approximation: the normal at a posterior's mode, by the curvature there."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from bayesdp.engines.normals import Mixture, Normal
from bayesdp.engines.pymc.density import Density, Floats

_HISTORY = 30  # steps that L-BFGS remembers
_SCATTER = 2.0
_STEP = np.finfo(float).eps ** (1 / 3)


def laplace(
    density: Density, starts: int, rng: np.random.Generator
) -> tuple[Mixture | None, list[str]]:
    """Approximate a posterior by the normal at the highest mode that is found.

    Parameters
    ----------
    density : Density
    starts : int
        Number of climbs to a mode, from starts that are scattered around PyMC's.
    rng : Generator

    Returns
    -------
    tuple of Mixture or None, and list of str
        The normal, with the mode's Hessian as its precision, and a doubt if other climbs ended at
        other modes. None if the density doesn't curve down in all directions at the highest point
        found, as where noise with a kink has its mode there.
    """
    scattered = rng.uniform(-_SCATTER, _SCATTER, (starts, density.start.size))
    ends = [density.climb(density.start + each, _HISTORY, lambda _: None) for each in scattered]
    mode = ends[int(np.argmax(density.log_densities(np.array(ends))))]
    try:
        lower = np.linalg.cholesky(-_hessian(density, mode))
    except np.linalg.LinAlgError:
        return None, []
    away = [float(np.linalg.norm(lower.T @ (x - mode))) for x in ends]  # in standard deviations
    other = sum(distance > 1 for distance in away)
    doubts = [f"{other} of {starts} climbs didn't end at the highest mode"] if other else []
    root = linalg.solve_triangular(lower, np.eye(mode.size), lower=True).T
    return Mixture([Normal(mode, np.linalg.cholesky(root @ root.T))]), doubts


def _hessian(density: Density, x: Floats) -> Floats:
    """The log density's second derivatives, by central differences of its gradient."""
    rows = []
    for k, step in enumerate(_STEP * np.maximum(np.abs(x), 1)):
        ahead = np.where(np.arange(x.size) == k, step, 0.0)
        rows.append((density.gradient(x + ahead) - density.gradient(x - ahead)) / (2 * step))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
