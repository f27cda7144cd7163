"""Chains over a table's moments, the noise on them in each copy, and numbers beyond bounds."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bayesdp.inference.regression.chain import Moments
from bayesdp.inference.regression.copies_read import ReadCopies
from bayesdp.kernels.regression.coordinates import moments_at
from bayesdp.kernels.regression.copies_chain import State, copies_chain
from bayesdp.kernels.regression.moments import Floats
from bayesdp.progress import Step, no_step

THIN = 10
"""Sweeps of a chain for each draw that is kept, which take a millisecond or so."""
_WARMUP = (0.15, 0.25, 0.3)  # shares after which the proposals' covariance is taken anew
_PADDING = 5  # draws a coordinate that a diagonal covariance counts for, beside a whole one
_ONE = math.log(math.e - 1)  # log(1 + exp(_ONE)) = 1


def sample_copies(
    given: ReadCopies,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    thin: int = THIN,
    step: Step = no_step,
) -> Moments:
    """Draw the moments given the copies that were drawn by them."""
    n, whole, *_ = given.problem
    generators = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(chains)]
    states = [_start(given, rng) for rng in generators]
    size = states[0][0].size
    root = np.diag(np.full(size, 2.4 / math.sqrt(size * n)))
    with ThreadPoolExecutor(min(chains, os.cpu_count() or 1)) as pool:

        def run(adapting: bool, count: int) -> list[tuple[Floats, Floats]]:
            seeds = [int(rng.integers(2**31)) for rng in generators]
            futures = [
                pool.submit(copies_chain, state, root, adapting, count, thin, child, given.problem)
                for state, child in zip(states, seeds, strict=True)
            ]
            made = [each.result() for each in futures]
            step(count)
            return made

        spent = 0
        for share in _WARMUP:
            count = max(math.ceil(share * warmup), 1)
            root = _root([each[0] for each in run(True, count)], root)
            for state in states:
                state[4][:] = 0.0
            spent += count
        run(True, max(warmup - spent, 1))
        made = run(False, draws)
    return _moments(made, n, whole[0])


def _start(given: ReadCopies, rng: np.random.Generator) -> State:
    """Start near the pooled copies' moments, without noise."""
    _, whole, steps, copies = given.problem
    d = whole[0][0].size
    u = np.zeros(d + d * (d + 1) // 2)
    u[d : 2 * d] = _ONE
    u += 0.1 * rng.standard_normal(u.size)
    many, drawn, width, _ = copies.gram.shape
    noise = np.zeros((many, drawn, steps.where.shape[1]))
    moved = np.zeros((many, drawn, width - 1, width))
    return u, noise, copies.bound.copy(), moved, np.zeros(2)


def _root(kept: list[Floats], before: Floats) -> Floats:
    """Root of the covariance of proposals, by the later halves of the chains so far."""
    u = np.concatenate([each[len(each) // 2 :] for each in kept])
    count, size = u.shape
    if count < size + 2:
        return before
    share = count / (count + _PADDING * size)
    covariance = np.cov(u.T)
    variances = np.diag(covariance) + 1e-12
    covariance = share * covariance + np.diag(variances - share * np.diag(covariance))
    return np.ascontiguousarray(np.linalg.cholesky(covariance) * 2.4 / math.sqrt(size))


def _moments(made: list[tuple[Floats, Floats]], n: float, frame: tuple[Floats, Floats]) -> Moments:
    means, rows = [], []
    for kept, _ in made:
        each = [moments_at(u, frame, False) for u in kept]
        means.append(np.stack([mean for mean, _, _ in each]))
        rows.append(np.stack([root.T for _, root, _ in each]))
    stats = np.stack([each for _, each in made])
    names = ("lp", "acceptance_rate", "acceptance_rate_of_held_noise")
    mean = np.stack(means)
    return Moments(
        np.full(mean.shape[:2], n),
        mean,
        np.stack(rows),
        {name: stats[..., i] for i, name in enumerate(names)},
    )
