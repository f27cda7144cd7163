"""Kernel of Hamiltonian Monte Carlo over the moments of a regression's records.

Trajectories have a random length, uniform between a half and three halves of `_LENGTH`.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.coordinates import Space, sampled_density
from bayesdp.kernels.regression.moments import Floats

_LENGTH = 2.4  # of a trajectory: with a random length, near the best for a normal density
_MOST = 1023  # steps of a trajectory


@kernel
def chain(
    start: Floats,
    step: float,
    warmup: int,
    draws: int,
    target: float,
    seed: int,
    space: Space,
) -> tuple[Floats, Floats]:
    """Run a chain after `warmup` draws that adapt its step (Nesterov's dual averaging).

    The statistics are log density, acceptance probability, step size, number of steps, and whether
    the trajectory diverged.
    """
    np.random.seed(seed)
    size = start.size
    q, slope = start.copy(), np.empty(size)
    kept, stats = np.empty((draws, size)), np.empty((draws, 5))
    value = sampled_density(q, slope, space)
    most, average, error = math.log(10 * step), math.log(step), 0.0
    p, there, at = np.empty(size), np.empty(size), np.empty(size)
    for t in range(warmup + draws):
        energy = -value
        for i in range(size):
            p[i] = np.random.normal()
            there[i], at[i] = q[i], slope[i]
            energy += p[i] * p[i] / 2
        count = min(math.ceil(_LENGTH * (0.5 + np.random.random()) / step), _MOST)
        reached, done = value, 0
        while done < count:
            for i in range(size):
                p[i] += step / 2 * at[i]
                there[i] += step * p[i]
            reached = sampled_density(there, at, space)
            done += 1
            if not reached > -np.inf:
                break
            for i in range(size):
                p[i] += step / 2 * at[i]
        change = energy + reached
        for i in range(size):
            change -= p[i] * p[i] / 2
        diverged = not change > -1000.0  # NaN too
        accepted = 0.0 if diverged else math.exp(min(change, 0.0))
        if np.random.random() < accepted:
            for i in range(size):
                q[i], slope[i] = there[i], at[i]
            value = reached
        if t < warmup:
            past = t + 1.0
            error += (target - accepted - error) / (past + 10)
            step = math.exp(most - math.sqrt(past) / 0.05 * error)
            average += past**-0.75 * (math.log(step) - average)
            if t == warmup - 1:
                step = math.exp(average)
            continue
        for i in range(size):
            kept[t - warmup, i] = q[i]
        stats[t - warmup, 0], stats[t - warmup, 1] = value, accepted
        stats[t - warmup, 2], stats[t - warmup, 3] = step, done
        stats[t - warmup, 4] = 1.0 if diverged else 0.0
    return kept, stats
