"""Hamiltonian Monte Carlo of regression moments: chains that are compiled as a whole.

A density of Laplace noise has a kink in every number, and needs many short steps. They are cheap
here: a step costs some microseconds, as long as no Python is run between.

The coordinates are first whitened by the curvature at a mode (`start`); then, during
warm-up, by the covariance of all chains' draws.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.inference.regression.start import Hidden, first_point, white_space
from bayesdp.kernels.regression.chain import chain
from bayesdp.kernels.regression.coordinates import Space, read_moments
from bayesdp.kernels.regression.moments import Floats
from bayesdp.progress import Step, no_step

_ACCEPTED = {False: 0.75, True: 0.9}  # aimed at, by whether all noise is Gaussian
_ACCEPTED_OF_COEFFICIENTS = 0.99  # which leave curved ridges of moments
_WARMUP = ((0.05, 0.1), (0.05, 0.15), (0.1, 0.35))  # shares: for the step, for the covariance
_FEWEST = 20  # draws that a covariance is taken from
_PADDING = 5  # draws a coordinate that a diagonal covariance counts for, beside a whole one


@dataclass(frozen=True)
class Moments:
    """Draws of the moments, shape (chains, draws, ...).

    Attributes
    ----------
    n, mean : ndarray
    rows : ndarray
        A' of the covariance A A', so that the scatter is n A A'.
    sample_stats : dict of str to ndarray
    """

    n: Floats
    mean: Floats
    rows: Floats
    sample_stats: dict[str, NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]]


def sample_moments(
    hidden: Hidden,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    step: Step = no_step,
) -> Moments:
    """Draw the moments given what was released of them.

    Raises
    ------
    EngineFailed
        If no point with a density is found.
    """
    generators = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(chains)]
    space, kept, stats = sample_coordinates(hidden, generators, draws, warmup, step)
    uniform = np.stack([rng.random(draws) for rng in generators])
    read = [read_moments(q, each, space) for q, each in zip(kept, uniform, strict=True)]
    n, mean, rows = (np.stack(each) for each in zip(*read, strict=True))
    return Moments(
        n,
        mean,
        rows,
        {
            "lp": stats[..., 0],
            "acceptance_rate": stats[..., 1],
            "step_size": stats[..., 2],
            "n_steps": stats[..., 3].astype(np.int64),
            "diverging": stats[..., 4] > 0,
        },
    )


def sample_coordinates(
    hidden: Hidden,
    generators: Sequence[np.random.Generator],
    draws: int,
    warmup: int,
    step: Step = no_step,
) -> tuple[Space, Floats, Floats]:
    """Run chains in their coordinates; return these, draws and statistics; a generator a chain."""
    space, chains = white_space(hidden), len(generators)
    gaussian, penalty = hidden.seen[2:]
    target = _ACCEPTED_OF_COEFFICIENTS if penalty else _ACCEPTED[bool(gaussian.all())]
    points = [first_point(space, rng) for rng in generators]
    steps = [0.1] * chains
    with ThreadPoolExecutor(min(chains, os.cpu_count() or 1)) as pool:

        def run(adapting: int, keeping: int) -> list[tuple[Floats, ...]]:
            seeds = [int(rng.integers(2**31)) for rng in generators]
            futures = [
                pool.submit(chain, q, step, adapting, keeping, target, child, space)
                for q, step, child in zip(points, steps, seeds, strict=True)
            ]
            return [each.result() for each in futures]

        spent = 0
        for for_step, for_covariance in _WARMUP:
            adapting, keeping = math.ceil(for_step * warmup), math.ceil(for_covariance * warmup)
            made = run(adapting, keeping)
            space, points = _whitened(space, [each[0] for each in made])
            steps = [float(each[1][-1, 2]) for each in made]
            spent += adapting + keeping
            step(adapting + keeping)
        made = run(max(warmup - spent, 1), draws)
        step(warmup + draws - spent)
    return space, np.stack([each[0] for each in made]), np.stack([each[1] for each in made])


def _whitened(space: Space, kept: list[Floats]) -> tuple[Space, list[Floats]]:
    """Find coordinates in which the draws have mean 0 and covariance 1, and each chain's last."""
    origin, rotation, *rest = space
    q = np.concatenate(kept)
    if len(q) < _FEWEST:
        return space, [each[-1] for each in kept]
    share = len(q) / (len(q) + _PADDING * q.shape[1])
    covariance = np.atleast_2d(np.cov(q.T))
    variances = np.maximum(np.diag(covariance), 1e-6)
    covariance = share * covariance + np.diag(variances - share * np.diag(covariance))
    root = np.linalg.cholesky(covariance)
    centre = q.mean(axis=0)
    points = [np.linalg.solve(root, each[-1] - centre) for each in kept]
    moved = origin + centre @ rotation, np.ascontiguousarray(root.T @ rotation)
    return (*moved, *rest), points
