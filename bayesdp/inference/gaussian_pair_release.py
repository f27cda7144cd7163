r"""What a release says of the mean and the variance of normal records.

Modips copies. A copy's theta and sigma_j come from a noisy mean and a noisy variance, whose noise
is independent. Given sigma_j, what the copy says of s is the law of records with a known sd; and
sigma_j follows from the noisy variance alone, under the flat prior of the copies. Hence

    p(y | s, v) = integral of p(y | s, sigma) (integral of p(w | v) p(sigma | w) dw) dlog sigma,

a product of two matrices, of s and sigma and of sigma and v. Where a noisy variance was moved up to
0, the copy's records all are its noisy mean, and tell it.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian_pair import SeenPair
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.gaussian_laws import Blurred, gaussian_law
from bayesdp.mechanisms.laws import HALF_LOG_2PI
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.noise import AdditiveNoise
from bayesdp.release import Part

Floats = NDArray[np.float64]

_SHORT, _SHORT_WEIGHTS = np.polynomial.legendre.leggauss(4)
_FAR = 45.0
_COARSEST = 100  # steps of the lattice to a scale of integer noise, at least


def pair_through_noise(part: Part, cell: AdditiveNoise, n: int, statistic: str) -> SeenPair:
    """From noisy (mean, variance) or (sum, sum of squares), each with the noise of `cell`."""
    if cell.scale < _COARSEST * cell.step:
        raise InvalidInput(
            f"the noise has scale {cell.scale!r} on a lattice of step {cell.step!r}, too coarse "
            "for the quadrature over a mean and a variance; give sd, if it is known"
        )
    outputs = np.array(part.outputs, dtype=np.float64)
    low, high = (None if end is None else end * cell.step for end in cell.ends)

    def ends(column: Floats) -> tuple[float, float]:
        reach = 60 * cell.scale
        first, last = float(column.min()) - reach, float(column.max()) + reach
        if cell.bounding == "truncated":
            first = first if low is None else max(first, low)
            last = last if high is None else min(last, high)
        elif high is not None and np.all(column == high):
            last = math.inf
        elif low is not None and np.all(column == low):
            first = -math.inf
        return first, last

    def law(column: Floats, values: Floats) -> Floats:
        inside = np.ones(values.shape, dtype=bool)
        if cell.bounding == "truncated":
            inside = (values >= (-math.inf if low is None else low)) & (
                values <= (math.inf if high is None else high)
            )
        values = np.where(inside, values, np.clip(values, low, high))
        values = np.floor(values + 0.5) if cell.whole else values
        found = cell.logp(column.reshape(-1, *[1] * values.ndim), values).sum(axis=0)
        return np.where(inside, found, -np.inf)

    first, second = ends(outputs[:, 0]), ends(outputs[:, 1])
    if statistic == "mean":
        return SeenPair(
            n,
            first,
            second,
            (cell.scale, cell.scale),
            (outputs[:, 0], outputs[:, 1]),
            lambda s, v: law(outputs[:, 0], s)[:, None] + law(outputs[:, 1], v),
        )
    scales = cell.scale / n, cell.scale / max(n - 1, 1)
    centre = outputs.mean(axis=0)
    likely = max((centre[1] - centre[0] ** 2 / n) / (n - 1), scales[1])

    def of_squares(s: Floats, v: Floats) -> Floats:
        squares = (n - 1) * v + n * s[:, None] ** 2
        return law(outputs[:, 0], n * s)[:, None] + law(outputs[:, 1], squares)

    means = first[0] / n, first[1] / n
    kinks = outputs[:, 0] / n, np.array([likely])
    return SeenPair(n, means, (0.0, second[1] / (n - 1)), scales, kinks, of_squares)


def pair_through_copies(part: Part, mechanism: ModipsSBS, family: Gaussian) -> SeenPair:
    """From modips copies of records with unknown sd."""
    if family.prior is not None:
        raise InvalidInput(
            "the copies were drawn under a prior, which ties their mean to their variance, and "
            "their law is intractable; analyse each copy as data and combine with bdp.combine"
        )
    n, size = int(mechanism.n or 0), mechanism.size
    every = np.array(part.outputs)
    low, high = family.bounds
    alike = np.ptp(every, axis=1) == 0
    same, y = every[alike, 0], every[~alike]
    ambiguous = (same <= low) | (same >= high) | (mechanism.bounding == "truncated")
    if size < 3 or np.any(ambiguous):
        raise InvalidInput(
            "the copies have fewer than 3 records, or records all alike for one of several reasons "
            "that the law of copies with an unknown sd can't tell; combine them with bdp.combine"
        )
    squares = np.sum((y - y.mean(axis=1, keepdims=True)) ** 2, axis=1)
    at_bounds = mechanism.bounding == "truncated" or bool(np.any((y <= low) | (y >= high)))
    most = float(mechanism.parts[1].bounds[1])  # type: ignore[index]
    sigmas, step = np.ones(1), 1.0
    if len(y):
        sigmas, step = _sigmas(mechanism, y, squares, most, at_bounds)
    noise = mechanism.parts

    def log_law(s: Floats, v: Floats) -> Floats:
        s = np.clip(s, low, high)  # the ends themselves may be rounded
        v = np.clip(v, 0.0, most)
        found = noise[0].logp(same[:, None], s).sum(axis=0)[:, None]
        found = found + len(same) * noise[1].logp(0.0, v)
        if not len(y):
            return found
        given = _given_sigma(mechanism, y, squares, sigmas, s, at_bounds)
        weights = _sigma_given_variance(mechanism, sigmas, v) + math.log(step)
        for law in given:
            tops, others = law.max(axis=1, keepdims=True), weights.max(axis=0)
            with np.errstate(divide="ignore"):
                found = (
                    found + np.log(np.exp(law - tops) @ np.exp(weights - others)) + tops + others
                )
        return found

    scales = mechanism.scales[0], mechanism.scales[1]
    return SeenPair(n, (low, high), (0.0, most), scales, (same, np.empty(0)), log_law)


def _sigmas(
    mechanism: ModipsSBS, y: Floats, squares: Floats, most: float, at_bounds: bool
) -> tuple[Floats, float]:
    """Nodes for sigma, spaced equally in its logarithm, and their spacing.

    Below the first, exp(-squares / (2 sigma^2)) is negligible, of the records between the bounds;
    above the last the likelihood, which falls like sigma^-(size - 1), or that with its law given
    the largest variance, which falls like sigma^-(n - 1).
    """
    n, size = int(mechanism.n or 0), mechanism.size
    low, high = mechanism.family.bounds  # type: ignore[attr-defined]
    least = squares
    if at_bounds:
        inner = [row[(row > low) & (row < high)] for row in y]
        least = np.array([((x - x.mean()) ** 2).sum() if x.size > 1 else 0.0 for x in inner])
    first = math.log(max(float(least.min()), 1e-6 * (high - low) ** 2) / (2 * (60 + size))) / 2
    spread = math.log(float(squares.max()) / (size - 1)) / 2 + (math.log(10) if at_bounds else 0.0)
    last = min(
        spread + 12 / math.sqrt(2 * (size - 1)) + _FAR / (size - 1),
        max(spread, math.log(most) / 2) + (12 + _FAR) / math.sqrt(2 * (size + n)),
    )
    count = math.ceil((last - first) / (0.4 / math.sqrt(2 * (size + n))))
    return np.exp(np.linspace(first, last, count + 1)), (last - first) / count


def _given_sigma(
    mechanism: ModipsSBS, y: Floats, squares: Floats, sigmas: Floats, s: Floats, at_bounds: bool
) -> Floats:
    """log p(y_j | s, sigma), shape (copies, means, sigmas)."""
    n, size = int(mechanism.n or 0), mechanism.size
    bounds = mechanism.family.bounds  # type: ignore[attr-defined]
    found = np.empty((len(y), s.size, sigmas.size))
    for i, sigma in enumerate(sigmas.tolist()):
        known = Gaussian(bounds, sigma if at_bounds else sigma * math.sqrt(1 + n / size))
        alone = dataclasses.replace(mechanism, family=known, scales=mechanism.scales[:1])
        if at_bounds:
            found[..., i] = gaussian_law(known, y[:, None, :], s[:, None], alone)
            continue
        # theta integrates out: a copy's mean is normal around the noisy one.
        found[..., i] = Blurred(known, alone, s).log_density(y.mean(axis=1)).T
        constant = (size - 1) * (HALF_LOG_2PI + math.log(sigma)) + math.log(size) / 2
        found[..., i] -= (constant + squares / (2 * sigma**2))[:, None]
    return found


def _sigma_given_variance(mechanism: ModipsSBS, sigmas: Floats, v: Floats) -> Floats:
    """log density of log sigma, given the confidential variance, shape (sigmas, variances).

    The noisy variance is integrated over on pieces that end at the variances asked for.
    """
    part, half = mechanism.parts[1], (int(mechanism.n or 0) - 1) / 2
    g, last = part.step, float(part.ends[1] or 0) * part.step
    sd = math.sqrt(half + 1) / half  # relative, of the noisy variance that fits a sigma
    squares = sigmas**2
    low = float(squares[0]) * max(1e-3, 1 - 12 * sd) * math.exp(-_FAR / (half + 1))
    edges = np.exp(np.arange(math.log(low), math.log(last), 1.5 * sd))
    edges = np.unique([0.0, *edges, *np.clip(v, 0.0, last), last])
    lengths = np.diff(edges)
    w = (edges[:-1, None] + lengths[:, None] * (1 + _SHORT) / 2).ravel()
    log_weights = np.log(lengths[:, None] / 2 * _SHORT_WEIGHTS).ravel()

    def density(noisy: Floats) -> Floats:
        law = half * np.log(half * noisy) - math.lgamma(half) + math.log(2)
        return np.asarray(law - half * np.log(squares)[:, None] - half * noisy / squares[:, None])

    law = part.noise.log_pmf((w[:, None] - v) / g) - math.log(g)
    if part.bounding == "truncated":
        law = law - part.noise.log_mass(v / g, (last - v) / g)
    joint, noise = density(w) + log_weights, law
    tops, peaks = joint.max(axis=1, keepdims=True), noise.max(axis=0)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(joint - tops) @ np.exp(noise - peaks)) + tops + peaks
    if part.bounding == "inflated":  # at 0 the copy's records are alike
        beyond = part.noise.log_upper(np.ceil((last - v) / g))
        found = np.logaddexp(found, density(np.array([last])) + beyond)
    return np.asarray(found)
