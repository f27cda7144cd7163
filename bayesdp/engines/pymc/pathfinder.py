r"""Pathfinder: normal approximations of a posterior along L-BFGS paths to its modes.

Along a path to a mode, theta_1, theta_2, ..., the steps s and the differences z of the gradients of
-log p estimate the inverse Hessian H. Of the normals N(theta_l + H grad log p(theta_l), H) the path
keeps the one with the largest evidence lower bound, E_q[log p - log q]. Several paths from
scattered starts find several modes; all their normals together are the approximation.

Zhang, Carpenter, Gelman and Vehtari (2022), "Pathfinder: Parallel quasi-Newton variational
inference", JMLR 23(306): algorithms 1 to 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bayesdp.engines.normals import Mixture, Normal
from bayesdp.engines.pymc.density import Density, Floats

_HISTORY = 6  # steps that an estimate of H remembers, as in the paper
_ELBO_DRAWS = 25
_SCATTER = 2.0  # starts differ from PyMC's by up to so much in each unconstrained coordinate


def pathfinder(density: Density, paths: int, rng: np.random.Generator) -> Mixture | None:
    """Approximate a posterior by a mixture of one normal for each path that leads anywhere.

    Parameters
    ----------
    density : Density
    paths : int
        Number of paths, from starts that are scattered around PyMC's.
    rng : Generator

    Returns
    -------
    Mixture or None
        None if no path found a normal whose draws all have a finite density.
    """
    starts = density.start + rng.uniform(-_SCATTER, _SCATTER, (paths, density.start.size))
    found = [best for start in starts if (best := _best(density, start, rng)) is not None]
    return Mixture(found) if found else None


def _best(density: Density, start: Floats, rng: np.random.Generator) -> Normal | None:
    """The normal with the largest evidence lower bound along one path."""
    points = [start]
    density.climb(start, _HISTORY, lambda x: points.append(x.copy()))
    best, most = None, -np.inf
    for normal in _along(density, points):
        x = normal.draw(_ELBO_DRAWS, rng)
        bound = float(np.mean(density.log_densities(x) - normal.log_density(x)))
        if bound > most:
            best, most = normal, bound
    return best


def _along(density: Density, points: list[Floats]) -> Iterator[Normal]:
    """The normal approximation at every point of a path but its first."""
    diagonal, pairs = np.ones(points[0].size), list[tuple[Floats, Floats]]()
    slope = density.gradient(points[0])
    for before, x in pairwise(points):
        slope_before, slope = slope, density.gradient(x)
        if not np.isfinite(slope).all():
            return
        s, z = x - before, slope_before - slope
        if s @ z > 1e-12 * (z @ z):  # curved as a density is at its mode
            diagonal = _updated(diagonal, s, z)
            pairs = [*pairs[1 - _HISTORY :], (s, z)]
        try:
            inverse = _inverse_hessian(diagonal, pairs)
            yield Normal(x + inverse @ slope, np.asarray(np.linalg.cholesky(inverse), float))
        except np.linalg.LinAlgError:  # rounding left it singular
            continue


def _updated(diagonal: Floats, s: Floats, z: Floats) -> Floats:
    """The inverse Hessian's diagonal after a step (algorithm 3)."""
    a, b, c = z @ (diagonal * z), z @ s, s @ (s / diagonal)
    changed = a / (b * diagonal) + z**2 / b - a * s**2 / (b * c * diagonal**2)
    return np.asarray(1 / changed)


def _inverse_hessian(diagonal: Floats, pairs: list[tuple[Floats, Floats]]) -> Floats:
    """The inverse Hessian by the BFGS formula, from its diagonal and the last steps."""
    inverse = np.diag(diagonal)
    for s, z in pairs:
        left = np.eye(s.size) - np.outer(s, z) / (s @ z)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ z)
    return (inverse + inverse.T) / 2
