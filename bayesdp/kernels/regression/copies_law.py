r"""Law of numbers of a synthetic table, drawn by regressions from a noisy matrix of sums.

A step's columns z_1, ..., z_d lie in [-1, 1]; a copy has each drawn given those before it, by a
regression whose parameters are one draw from their conjugate posterior given the projected noisy
matrix. With these parameters integrated out, the column's numbers have the density

    (2 pi)^(-size / 2) (|L_0| / |L_1|)^(1 / 2) Gamma(a_1) / Gamma(a_0) b_0^a_0 / b_1^a_1,

L, a and b those of the normal-inverse-gamma law given the noisy matrix (0), and given the copy's
records too (1). Twice b, but for the prior's, is the last pivot of the matrix of sums of products
of (1, columns before, column), the prior's rows among them.

A number that was set to a bound stands for one beyond it: the density is that of the latent number,
which only enters as its own column's response, as later columns were drawn by the bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.factors import Floats, factor

Integers = NDArray[np.int64]

_LOG_TWO_PI = math.log(2 * math.pi)


class Steps(NamedTuple):
    """Steps by which a copy's numbers are drawn, and the noise on each one's sums.

    Attributes
    ----------
    where : shape (steps, most sums)
        Places of a step's sums among those of all columns.
    sizes : shape (steps, 3)
        Numbers of columns, of those that are given, and of sums.
    products : shape (steps, d, d + 1, d + 1)
        What each column's prior adds to sums of products of (1, columns before, column).
    variance : shape (steps, d, 2)
        Shape and rate of each column's variance a priori.
    scale : shape (steps, most sums)
    ends : shape (steps, 2, most sums)
        Least and greatest noisy sums.
    gaussian : bool
    """

    where: Integers
    sizes: Integers
    products: Floats
    variance: Floats
    scale: Floats
    ends: Floats
    gaussian: bool


class Copies(NamedTuple):
    """Copies' numbers, as their law needs them; d columns in the widest step.

    Attributes
    ----------
    gram : shape (copies, steps, d + 1, d + 1)
        Sums of products of (1, columns).
    first : shape (copies, steps, d + 1)
        Where a column's numbers that were set to a bound begin.
    design : shape (numbers at bounds, d + 1)
        Of each, (1, columns before).
    bound : shape (numbers at bounds,)
        -1 or 1.
    """

    gram: Floats
    first: Integers
    design: Floats
    bound: Floats


@kernel
def noisy_matrix(
    sums: Floats, noise: Floats, n: float, which: int, steps: Steps, copy: int
) -> Floats:
    """Noisy sums of products of (1, columns) of one copy of a step, bounded and projected."""
    where, ends = steps.where, steps.ends
    d, count = steps.sizes[which, 0], steps.sizes[which, 2]
    z = np.empty(count)
    for i in range(count):
        z[i] = sums[where[which, i]] + noise[copy, which, i]
        z[i] = min(max(z[i], ends[which, 0, i]), ends[which, 1, i])
    scatter, place = np.empty((d, d)), 2 * d
    for i in range(d):
        scatter[i, i] = z[d + i] - z[i] * z[i] / n
        for j in range(i + 1, d):
            scatter[i, j] = scatter[j, i] = z[place] - z[i] * z[j] / n
            place += 1
    if factor(scatter.copy(), d) == -np.inf:
        values, vectors = np.linalg.eigh(scatter)
        for i in range(d):
            for j in range(i + 1):
                entry = 0.0
                for c in range(d):
                    entry += max(values[c], 0.0) * vectors[i, c] * vectors[j, c]
                scatter[i, j] = scatter[j, i] = entry
    whole = np.empty((d + 1, d + 1))
    whole[0, 0] = n
    for i in range(d):
        whole[i + 1, 0] = whole[0, i + 1] = z[i]
        for j in range(d):
            whole[i + 1, j + 1] = scatter[i, j] + z[i] * z[j] / n
    return whole


@kernel
def _response(whole: Floats, column: int, prior: Floats) -> Floats:
    """Sums of products of (1, columns before, column), the prior's among them."""
    return whole[: column + 2, : column + 2] + prior[column, : column + 2, : column + 2]


@kernel
def _with_copy(whole: Floats, column: int, prior: Floats, gram: Floats, moved: Floats) -> Floats:
    """Add the copy's sums, its bounds moved to the latent numbers."""
    made = _response(whole, column, prior)
    for i in range(column + 2):
        for j in range(i + 1):
            made[i, j] += gram[i, j]
        made[column + 1, i] += moved[i]
    return made


@kernel
def copy_density(
    whole: Floats, which: int, copy: int, moved: Floats, steps: Steps, copies: Copies
) -> float:
    """Log p(a copy's numbers of a step | its noisy matrix), numbers at bounds by their latents."""
    prior, gram = steps.products[which], copies.gram[copy, which]
    d, start = steps.sizes[which, 0], steps.sizes[which, 1]
    size, total = gram[0, 0], 0.0
    for j in range(start, d):
        shape, rate = steps.variance[which, j]
        before = shape + whole[0, 0] / 2
        after = before + size / 2
        matrix = _response(whole, j, prior)
        total += factor(matrix, j + 1) / 2
        total += before * math.log(rate + matrix[j + 1, j + 1] ** 2 / 2)
        matrix = _with_copy(whole, j, prior, gram, moved[copy, which, j])
        total -= factor(matrix, j + 1) / 2
        total -= after * math.log(rate + matrix[j + 1, j + 1] ** 2 / 2)
        total += math.lgamma(after) - math.lgamma(before) - size / 2 * _LOG_TWO_PI
    return total


@kernel
def _beyond(at: float) -> float:
    """Draw a standard normal number of at least this (Robert 1995)."""
    if at < 0.4:
        while True:
            x = np.random.normal()
            if x >= at:
                return x
    rate = (at + math.sqrt(at * at + 4)) / 2
    while True:
        x = at - math.log(1 - np.random.random()) / rate
        if np.random.random() <= math.exp(-((x - rate) ** 2) / 2):
            return x


@kernel
def draw_latents(
    whole: Floats,
    which: int,
    copy: int,
    latent: Floats,
    moved: Floats,
    steps: Steps,
    copies: Copies,
) -> None:
    """Draw the numbers that were set to a bound, given a draw of the regression's parameters."""
    gram, design, bound = copies.gram[copy, which], copies.design, copies.bound
    prior, d = steps.products[which], steps.sizes[which, 0]
    for j in range(steps.sizes[which, 1], d):
        first, last = copies.first[copy, which, j], copies.first[copy, which, j + 1]
        if first == last:
            continue
        own = moved[copy, which, j]
        matrix = _with_copy(whole, j, prior, gram, own)
        factor(matrix, j + 1)
        shape = steps.variance[which, j, 0] + (whole[0, 0] + gram[0, 0]) / 2
        left = steps.variance[which, j, 1] + matrix[j + 1, j + 1] ** 2 / 2
        sd = math.sqrt(left / np.random.standard_gamma(shape))
        c = np.empty(j + 1)
        for i in range(j, -1, -1):
            c[i] = matrix[j + 1, i] + sd * np.random.normal()
        for i in range(j, -1, -1):
            for later in range(i + 1, j + 1):
                c[i] -= matrix[later, i] * c[later]
            c[i] /= matrix[i, i]
        own[:] = 0.0
        for t in range(first, last):
            around = 0.0
            for i in range(j + 1):
                around += c[i] * design[t, i]
            latent[t] = around + bound[t] * sd * _beyond((1 - bound[t] * around) / sd)
            for i in range(j + 1):
                own[i] += (latent[t] - bound[t]) * design[t, i]
            own[j + 1] += latent[t] * latent[t] - 1
