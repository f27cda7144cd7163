"""Kernel of chains over a table's moments, and the noise on them in each of its copies.

The moments are moved with the noisy ones held, which suits little noise, and with the noise held,
which suits much: both by Metropolis steps in the moments' coordinates. Given the moments, each
copy's noise is drawn by elliptical slice sampling (Murray, Adams and MacKay 2010), on the columns'
sums, and on squares and products, which a copy tells more exactly; Laplace noise is normal given
its variance, exponential, which is drawn first, given the noise.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.copies_law import (
    Copies,
    Steps,
    copy_density,
    draw_latents,
    noisy_matrix,
)
from bayesdp.kernels.regression.copies_prior import Whole, sums_density
from bayesdp.kernels.regression.factors import Floats

State = tuple[Floats, Floats, Floats, Floats, Floats]
"""Coordinates, noise (copies, steps, sums), latent numbers, what these move, logs of the moves'
lengths."""
Problem = tuple[float, Whole, Steps, Copies]

_ACCEPTED = 0.28
_CENTRED = 2  # moves a coordinate with the noisy moments held, which are cheap


@kernel
def _log_noise(noise: Floats, steps: Steps) -> float:
    sizes, scale, gaussian = steps.sizes, steps.scale, steps.gaussian
    total = 0.0
    for copy in range(noise.shape[0]):
        for which in range(noise.shape[1]):
            for i in range(sizes[which, 2]):
                away = noise[copy, which, i] / scale[which, i]
                total -= away * away / 2 if gaussian else abs(away)
    return total


@kernel
def _spread(noise: float, scale: float) -> float:
    """Draw the standard deviation of Laplace noise, given the noise.

    The variance in units of scale^2 is exponential with mean 2, and its inverse, given the noise,
    inverse Gaussian of mean 1 / |noise| and shape 1 (Park and Casella 2008).
    """
    mean = 1 / max(abs(noise) / scale, 1e-12)
    half = mean * np.random.normal() ** 2 / 2
    inverse = mean / (1 + half + math.sqrt(half * half + 2 * half))
    if np.random.random() * (mean + inverse) > mean:
        inverse = mean * mean / inverse
    return scale / math.sqrt(inverse)


@kernel
def _slice(
    sums: Floats,
    value: float,
    which: int,
    copy: int,
    block: tuple[int, int],
    noise: Floats,
    moved: Floats,
    problem: Problem,
) -> float:
    """Draw a block of one copy's noise of a step given the rest; return the copy's log density."""
    n, _, steps, copies = problem
    (first, last), gaussian = block, steps.gaussian
    own, here, other = noise[copy, which], np.empty(last), np.empty(last)
    for i in range(first, last):
        here[i], sd = own[i], steps.scale[which, i]
        if not gaussian:
            sd = _spread(own[i], sd)
        other[i] = sd * np.random.normal()
    least = value + math.log(1 - np.random.random())
    angle = 2 * math.pi * np.random.random()
    low, high = angle - 2 * math.pi, angle
    while True:
        for i in range(first, last):
            own[i] = here[i] * math.cos(angle) + other[i] * math.sin(angle)
        whole = noisy_matrix(sums, noise, n, which, steps, copy)
        there = copy_density(whole, which, copy, moved, steps, copies)
        if there >= least:
            return there
        if angle < 0:
            low = angle
        else:
            high = angle
        if high - low < 1e-12:  # back where it was, but for rounding
            own[first:last] = here[first:last]
            return value
        angle = low + (high - low) * np.random.random()


@kernel
def _all_densities(
    sums: Floats, noise: Floats, moved: Floats, problem: Problem, values: Floats
) -> float:
    n, _, steps, copies = problem
    total = 0.0
    for copy in range(noise.shape[0]):
        for which in range(noise.shape[1]):
            whole = noisy_matrix(sums, noise, n, which, steps, copy)
            values[copy, which] = copy_density(whole, which, copy, moved, steps, copies)
            total += values[copy, which]
    return total


@kernel
def _proposed(u: Floats, length: float, root: Floats) -> Floats:
    there = u.copy()
    for j in range(u.size):
        step = length * np.random.normal()
        for i in range(j, u.size):
            there[i] += root[i, j] * step
    return there


@kernel
def copies_chain(
    state: State, root: Floats, adapting: bool, draws: int, thin: int, seed: int, problem: Problem
) -> tuple[Floats, Floats]:
    """Run a chain on, its state written over; return coordinates and statistics of its draws.

    `root` is of the covariance of proposals. The statistics are the log density and the shares of
    moves that were accepted, of both kinds.
    """
    np.random.seed(seed)
    n, whole, steps, copies = problem
    u, noise, latent, moved, lengths = state
    many, each = noise.shape[0], noise.shape[1]
    where, sizes = steps.where, steps.sizes
    kept, stats = np.empty((draws, u.size)), np.empty((draws, 3))
    prior, sums = sums_density(u, n, whole)
    values, others = np.empty((many, each)), np.empty((many, each))
    accepted, centred = np.zeros(2), _CENTRED * u.size
    for t in range(draws * thin):
        for copy in range(many):
            for which in range(each):
                matrix = noisy_matrix(sums, noise, n, which, steps, copy)
                draw_latents(matrix, which, copy, latent, moved, steps, copies)
                value = copy_density(matrix, which, copy, moved, steps, copies)
                d, count = sizes[which, 0], sizes[which, 2]
                for block in ((0, d), (d, count)):
                    value = _slice(sums, value, which, copy, block, noise, moved, problem)
                values[copy, which] = value
        law = _log_noise(noise, steps)
        for move in range(centred + 1):
            held = 0 if move < centred else 1
            there = _proposed(u, math.exp(lengths[held]), root)
            density, at = sums_density(there, n, whole)
            change = density - prior
            turned = noise
            if change == change and change > -np.inf:
                if held == 0:
                    turned = noise.copy()
                    for copy in range(many):
                        for which in range(each):
                            for i in range(sizes[which, 2]):
                                place = where[which, i]
                                turned[copy, which, i] += sums[place] - at[place]
                    change += _log_noise(turned, steps) - law
                else:
                    change += _all_densities(at, noise, moved, problem, others) - values.sum()
            chance = math.exp(min(change, 0.0)) if change == change else 0.0
            if adapting:
                lengths[held] += (chance - _ACCEPTED) / (1 + t / 10) ** 0.6
            accepted[held] += chance
            if np.random.random() < chance:
                u[:], prior, sums = there, density, at
                if held == 0:
                    noise[:] = turned
                    law = _log_noise(noise, steps)
                else:
                    values[:] = others
        if t % thin == thin - 1:
            kept[t // thin] = u
            stats[t // thin, 0] = prior + law + values.sum()
            stats[t // thin, 1] = accepted[0] / (centred * thin)
            stats[t // thin, 2] = accepted[1] / thin
            accepted[:] = 0.0
    return kept, stats
