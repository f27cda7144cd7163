r"""Likelihood of mean s and variance v of normal records, given modips copies.

A copy's sigma follows from its noisy variance w alone, under the flat prior of the copies, and its
theta from sigma and the noisy mean; the two noises are independent. So

    p(y | s, v) = integral of p(y | s, sigma) (integral of p(sigma | w) p(w | v) dw) dlog sigma,

a product of two matrices, of s and sigma and of sigma and v. What is integrated over log sigma is
analytic and falls off like a normal density or faster, so that sums over equally spaced nodes do
it, on which p(y | s, sigma) is

- of a copy with all its records between the bounds, in closed form: its mean is theta with more
  normal noise, and its squares are sigma^2 times a chi-square variable;
- of another copy the integral over theta of its likelihood and of theta's density, by equally
  spaced nodes too.

Where noise has moved w up to 0, as it often does, all records of the copy are its noisy mean: that
has a probability, Pr[noisy mean = y | s] Pr[w = 0 | v]. If they all are at a bound, it adds to the
probability that records which vary are all beyond it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import NormalCopiesView
from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian.pair import SeenPair
from bayesdp.mechanisms.families.gaussian_laws import Blurred, likely_thetas_each
from bayesdp.mechanisms.laws import HALF_LOG_2PI
from bayesdp.release import Part

Floats = NDArray[np.float64]

_SHORT, _SHORT_WEIGHTS = np.polynomial.legendre.leggauss(4)
_FAR = 45.0  # log of what is negligible beside the largest
_STEP = 0.7  # standard deviations between equally spaced nodes, whose error is below 1e-17
_TOGETHER = 8  # sigmas, whose likely thetas are nearly the same
_TINY = 1e-6  # scales of noise: a variance below which hardly any noisy one is
_NEAR = np.array([0.0, 1, 2, 4, 7, 11, 16, 24])  # scales of noise, between which it is smooth


@dataclass(frozen=True)
class _Copy:
    """One copy whose records vary, or may do so.

    Attributes
    ----------
    y : ndarray
        The records.
    sigmas : ndarray
        Nodes, spaced equally in their logarithm.
    step : float
        Their spacing.
    thetas, likelihoods : ndarray, shape (sigmas, thetas), or None
        Nodes of theta, and log likelihoods of the records there times their spacing; None where
        all records are between the bounds.
    least : float
        Likelihood below which others are negligible.
    """

    y: Floats
    sigmas: Floats
    step: float
    thetas: Floats | None = None
    likelihoods: Floats | None = None
    least: float = -math.inf


def pair_through_copies(part: Part, copies: NormalCopiesView) -> SeenPair:
    """Read the likelihood from modips copies of records with unknown sd.

    Raises
    ------
    InvalidInput
        If the copies' law is intractable.
    """
    if copies.family.prior is not None:
        raise InvalidInput(
            "the copies were drawn under a prior, which ties their mean to their variance, and "
            "their law is intractable; analyse each copy as data and combine with bdp.combine"
        )
    every, (low, high) = np.array(part.outputs), copies.bounds
    alike = np.ptp(every, axis=1) == 0
    truncated = copies.bounding == "truncated"
    if copies.size < 3 or (truncated and np.any(alike)):
        raise InvalidInput(
            "the copies have fewer than 3 records, or truncated records that are all alike, of "
            "which sigma has no law here; combine the copies with bdp.combine, or take more "
            "records a copy in the next release"
        )
    same = every[alike, 0]
    varied = ~alike | (every[:, 0] <= low) | (every[:, 0] >= high)
    varying = [_prepared(copies, y) for y in every[varied]]
    noise, most = copies.parts, copies.largest_variance
    sigmas = np.concatenate([copy.sigmas for copy in varying]) if varying else np.empty(0)
    cuts = np.cumsum([copy.sigmas.size for copy in varying])[:-1]

    def log_law(s: Floats, v: Floats) -> Floats:
        s, v = np.clip(s, low, high), np.clip(v, 0.0, most)  # ends may be rounded
        points = noise[0].logp(same[:, None], s)[:, :, None] + noise[1].logp(0.0, v)
        result = points[(same > low) & (same < high)].sum(axis=0)
        if not varying:
            return np.asarray(result)
        at_bounds = iter(points[(same <= low) | (same >= high)])
        weights = _sigma_given_variance(copies, sigmas, v)
        for copy, rows in zip(varying, np.split(weights, cuts), strict=True):
            law = log_product(_given_sigma(copies, copy, s), rows) + math.log(copy.step)
            if np.ptp(copy.y) == 0:
                law = np.logaddexp(law, next(at_bounds))
            result = result + law
        return np.asarray(result)

    scales, variances = [float(cell.scale) for cell in copies.parts], (0.0, most)
    if not np.any(alike):
        # Beyond a copy's sigmas and the noise nothing is likely, and it varies no faster than they.
        # Below them v falls like v^{(n - 1) / 2}, and so does what it says of any of them.
        least, last = (np.array([copy.sigmas[i] for copy in varying]) ** 2 for i in (0, -1))
        reach = 60 * scales[1]
        least *= math.exp(-_FAR / (copies.n - 1))
        variances = max(0.0, float(least.max()) - reach), min(most, float(last.min()) + reach)
        own = np.min(np.var(every, axis=1)) * math.sqrt(2 / (copies.n + every.size))
        scales[1] = max(scales[1], float(own))
    return SeenPair(
        copies.n,
        (low, high),
        variances,
        (scales[0], scales[1]),
        (same, np.empty(0)),
        log_law,
    )


def log_product(a: Floats, b: Floats) -> Floats:
    """Log of the matrix product of exp(a) and exp(b)."""
    rows, columns = a.max(axis=1, keepdims=True), b.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(a - rows) @ np.exp(b - columns)) + rows + columns)


def _prepared(copies: NormalCopiesView, y: Floats) -> _Copy:
    low, high = copies.bounds
    inner = y if copies.bounding == "truncated" else y[(y > low) & (y < high)]
    sigmas, step = _sigmas(copies, y, inner)
    if copies.bounding == "inflated" and inner.size == y.size:
        return _Copy(y, sigmas, step)
    thetas, likelihoods = likely_thetas_each(copies.family, copies, y, sigmas)
    # Whatever the statistic, noise doesn't make up for records that are less likely than that.
    reaches = [(each.ends[1] or 0) - (each.ends[0] or 0) for each in copies.parts]
    falls = [
        float(each.noise.log_pmf(0) - each.noise.log_pmf(reach))
        for each, reach in zip(copies.parts, reaches, strict=True)
    ]
    top, largest = likelihoods.max(axis=1), copies.largest_variance
    least = float(top[sigmas**2 <= largest].max()) - _FAR - sum(falls)
    kept = top >= least
    return _Copy(y, sigmas[kept], step, thetas[kept], likelihoods[kept], least)


def _sigmas(copies: NormalCopiesView, y: Floats, inner: Floats) -> tuple[Floats, float]:
    """Nodes of sigma, and their spacing in the logarithm.

    Below the first, exp(-squares / (2 sigma^2)) of the records between the bounds is negligible, or
    so small a noisy variance is. Above the last the likelihood is, which falls like
    sigma^-(size - 1), or p(sigma) given the largest variance, like sigma^-(n - 1).
    """
    n, size = copies.n, copies.size
    part = copies.parts[1]
    squares = np.sum((y - y.mean()) ** 2)
    least = np.sum((inner - inner.mean()) ** 2) if inner.size > 1 else 0.0
    of_noise = max(math.sqrt(_TINY * part.scale), 16 * copies.parts[0].step * math.sqrt(n))
    first = math.sqrt(least / (2 * (60 + size))) or of_noise
    last = math.log(copies.largest_variance) / 2 + 12 / math.sqrt(2 * (n - 1)) + _FAR / (n - 1)
    if inner.size == size and copies.bounding == "inflated":
        own = math.log(squares / (size - 1)) / 2
        last = max(own, min(own + _FAR / (size - 1), last)) + 12 / math.sqrt(2 * (size - 1))
    start = math.log(first)
    count = math.ceil((last - start) / (_STEP / math.sqrt(2 * (size + n))))
    return np.exp(np.linspace(start, last, count + 1)), (last - start) / count


def _given_sigma(copies: NormalCopiesView, copy: _Copy, s: Floats) -> Floats:
    """Log p(y | s, sigma), shape (means, sigmas)."""
    n, size = copies.n, copies.size
    low, high = copies.bounds
    known = dataclasses.replace(copies.family, sd=high - low)
    alone = dataclasses.replace(copies, parts=copies.parts[:1])
    of_theta, sigmas = Blurred(known, alone, s), copy.sigmas[:, None, None]
    if copy.thetas is not None and copy.likelihoods is not None:
        rows = []
        for k in range(0, copy.sigmas.size, _TOGETHER):
            block = slice(k, k + _TOGETHER)
            likely = np.any(copy.likelihoods[block] >= copy.least, axis=0)
            law = of_theta.at(sigmas[block]).log_density(copy.thetas[block, None, likely])
            rows.append(special.logsumexp(law + copy.likelihoods[block, None, likely], axis=2))
        return np.concatenate(rows).T
    blurred = of_theta.at(sigmas * math.sqrt(1 + n / size))
    density = blurred.log_density(np.array([copy.y.mean()]))[..., 0].T
    squares = np.sum((copy.y - copy.y.mean()) ** 2)
    constant = (size - 1) * HALF_LOG_2PI + math.log(size) / 2
    constant = constant + (size - 1) * np.log(copy.sigmas) + squares / (2 * copy.sigmas**2)
    return np.asarray(density - constant)


def _sigma_given_variance(copies: NormalCopiesView, sigmas: Floats, v: Floats) -> Floats:
    """Log-density of log sigma, given the confidential variance, shape (sigmas, variances).

    The noisy variance w is integrated over on pieces that end at the variances asked for, where
    noise has its kink, and are shorter than p(sigma | w) and noise are wide.
    """
    part, half = copies.parts[1], (copies.n - 1) / 2
    g, last = part.step, float(part.ends[1] or 0) * part.step
    sd = math.sqrt(half + 1) / half  # relative, of the noisy variance that fits a sigma
    squares = sigmas**2
    low = float(squares.min()) * max(1e-3, 1 - 12 * sd) * math.exp(-_FAR / (half + 1))
    edges = np.exp(np.arange(math.log(low), math.log(last), 1.5 * sd))
    near = _NEAR if part.scale < 1.5 * sd * v.max() else np.zeros(1)
    around = v[:, None] + part.scale * np.concatenate([-near, near[1:]])
    edges = np.unique(np.clip([0.0, *edges, *around.ravel(), last], 0.0, last))
    lengths = np.diff(edges)
    w = (edges[:-1, None] + lengths[:, None] * (1 + _SHORT) / 2).ravel()
    log_weights = np.log(lengths[:, None] / 2 * _SHORT_WEIGHTS).ravel()

    def density(noisy: Floats) -> Floats:
        law = half * np.log(half * noisy) - math.lgamma(half) + math.log(2)
        return np.asarray(law - half * np.log(squares)[:, None] - half * noisy / squares[:, None])

    law = part.noise.log_pmf((w[:, None] - v) / g) - math.log(g)
    if part.bounding == "truncated":
        law = law - part.noise.log_mass(v / g, (last - v) / g)
    log_density = log_product(density(w) + log_weights, law)
    if part.bounding == "inflated":
        beyond = part.noise.log_upper(np.ceil((last - v) / g))
        log_density = np.logaddexp(log_density, density(np.array([last])) + beyond)
    return log_density
