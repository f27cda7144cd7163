r"""Likelihood of the mean of n records given a release, and the posterior of mu by quadrature.

Records are N(mu, sd^2) with sd known, so their mean s is N(mu, sd^2 / n); a mechanism's law is a
function of s alone. With a normal prior, or a flat one, mu given s is normal and so is s, so

    mu | z  ~  integral of N(a + b s, tau^2) w(s) ds,    w(s) ~ p(s) prod_k p(z_k | s),

a mixture of normals. Between the points where the law has a kink (an output of Laplace noise, half
a step of an integer statistic) w is smooth, on the scale of the noise and of sd / sqrt(n), and is
integrated by Gauss and Legendre's rule on pieces no longer than twice either. A law of noise on a
lattice has steps; where they are finer than 1/1024 of its scale they are integrated over as they
come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import Cell, NormalView
from bayesdp.engines.normal_mixture import NormalMixture, normal_logpdf
from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian.windows import shared, window, within
from bayesdp.inference.unknown_size import Impossible
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FAR = 60.0  # log of what is negligible beside the largest
_COARSE_STEPS = 1024  # to a scale: a lattice with fewer is integrated step by step
_MOST_PIECES = 1 << 17


@dataclass(frozen=True)
class Seen:
    """Likelihood of the mean of n normal records, given the copies of one release.

    Attributes
    ----------
    n : int
        Number of records.
    ends : tuple of two floats
        Range of possible means; infinite where there is no end.
    scale : float
        Scale on which the law varies.
    kinks : callable
        Returns the points between two means where the law isn't smooth.
    log_law : callable
        Log law of all copies, at an array of means.
    near : tuple of two floats
        Interval from which a search for the posterior's mass starts; infinite where the law
        doesn't fall.
    """

    n: int
    ends: tuple[float, float]
    scale: float
    kinks: Callable[[float, float], Floats]
    log_law: Callable[[Floats], Floats]
    near: tuple[float, float] = (-math.inf, math.inf)


def seen_through_noise(part: Part, cell: Cell, n: int, unit: float) -> Seen:
    """Read the likelihood of the mean from a noisy number that is `unit` times the mean."""
    outputs = np.array(part.outputs, dtype=np.float64)
    low, high = range_of(cell)
    ends, near = ends_of(cell, outputs, low, high)

    def kinks(start: float, end: float) -> Floats:
        breaks = outputs / unit
        if cell.step * _COARSE_STEPS > cell.scale:
            steps = np.arange(np.floor(start * unit / cell.step), end * unit / cell.step)
            breaks = np.concatenate([breaks, (steps + 0.5) * cell.step / unit])
        return breaks

    def log_law(means: Floats) -> Floats:
        statistic = means * unit
        if cell.whole:
            statistic = np.floor(statistic + 0.5)
        if cell.bounding == "truncated":
            statistic = np.clip(statistic, low, high)
        return np.asarray(cell.logp(outputs[:, None], statistic).sum(axis=0))

    (low_end, high_end), (first, last) = (np.array(each) / unit for each in (ends, near))
    return Seen(
        n, (low_end, high_end), cell.scale / unit, kinks, log_law, (first, last)
    )  # fmt: skip


def ends_of(
    cell: Cell, outputs: Floats, low: float, high: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of a number with noise, within two given ends, and the interval that noise suggests."""
    cut = cell.bounding == "truncated"
    ends = (low, high) if cut else (-math.inf, math.inf)
    reach = _FAR * cell.scale
    first, last = float(outputs.min()) - reach, float(outputs.max()) + reach
    if not cut and np.all(outputs == high):
        last = math.inf
    elif not cut and np.all(outputs == low):
        first = -math.inf
    return ends, within((first, last), ends)


def seen_through_law(part: Part, normal: NormalView, n: int) -> Seen:
    """Read the likelihood of the mean of n records by the mechanism's own law given it."""
    law = normal.law(part.outputs, n)
    return Seen(n, normal.bounds, law.scale, no_kinks, law.logp)


def seen_together(each: Sequence[Seen]) -> Seen:
    """Combine the likelihoods of several releases of the same records."""
    if len(each) == 1:
        return each[0]
    low, high = max(one.ends[0] for one in each), min(one.ends[1] for one in each)
    if not low < high:
        raise Impossible("the releases together have probability zero under the model")
    return Seen(
        each[0].n,
        (low, high),
        min(one.scale for one in each),
        lambda start, end: np.concatenate([one.kinks(start, end) for one in each]),
        lambda means: np.sum([one.log_law(means) for one in each], axis=0),
        shared([one.near for one in each], (low, high)),
    )


def no_kinks(start: float, end: float) -> Floats:
    """No points: a law that is smooth everywhere."""
    return np.empty(0)


@dataclass(frozen=True)
class MeanPosterior:
    """Posterior of mu, and the log probability of the outputs, with density 1 for a flat prior."""

    mixture: NormalMixture
    log_evidence: float


def posterior_of_mean(seen: Seen, sd: float, prior: tuple[float, float] | None) -> MeanPosterior:
    """Compute the exact posterior of mu; see the module's docstring.

    Raises
    ------
    InvalidInput
        If the prior is flat and the law has no end, so that there is no posterior; or if the
        outputs have probability zero.
    """
    spread = sd / math.sqrt(seen.n)
    if prior is None:
        at_zero, slope, tau, width = 0.0, 1.0, spread, math.inf
    else:
        precision, before = spread**-2, prior[1] ** -2
        slope = precision / (precision + before)
        at_zero, tau = (1 - slope) * prior[0], 1 / math.sqrt(precision + before)
        width = math.hypot(spread, prior[1])

    def log_weight(means: Floats) -> Floats:
        law = seen.log_law(means)
        return law if prior is None else law + normal_logpdf(means, prior[0], width)

    low, high = window(log_weight, *_start(seen, prior, width), seen.ends)
    nodes, log_lengths, lengths = nodes_of(seen, low, high, min(tau / slope, seen.scale))
    log_weights = log_weight(nodes) + log_lengths
    total = float(special.logsumexp(log_weights))
    weights = np.exp(log_weights - total)
    keep = weights > 1e-20
    # Where pieces are longer than the components are wide, as much wider ones fill the gaps.
    sds = np.maximum(tau, slope * lengths[keep] / 2)
    kept = weights[keep] / weights[keep].sum()
    return MeanPosterior(NormalMixture(kept, at_zero + slope * nodes[keep], sds), total)


def nodes_of(seen: Seen, low: float, high: float, scale: float) -> tuple[Floats, Floats, Floats]:
    """Nodes between two means, logs of their weights, and the lengths of their pieces.

    Pieces are no longer than twice `scale`, unless that makes too many, and none has a kink inside.
    """
    kinks = seen.kinks(low, high)
    edges = np.unique([low, *kinks[(kinks > low) & (kinks < high)], high])
    longest = max(2 * scale, (high - low) / _MOST_PIECES)
    parts = np.ceil(np.diff(edges) / longest).astype(np.int64)
    lengths = np.repeat(np.diff(edges) / parts, parts)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(edges[:-1], parts) + within * lengths
    nodes = (starts[:, None] + lengths[:, None] * (1 + _NODES) / 2).ravel()
    log_weights = np.log(lengths[:, None] / 2 * _WEIGHTS).ravel()
    return nodes, log_weights, np.repeat(lengths, _NODES.size)


def known_mean(n: int, mean: float, sd: float, prior: tuple[float, float] | None) -> NormalMixture:
    """Compute the posterior of mu from the mean of n records: a single normal."""
    precision, centre = n / sd**2, mean
    if prior is not None:
        before = prior[1] ** -2
        centre = (precision * mean + before * prior[0]) / (precision + before)
        precision += before
    return NormalMixture(np.ones(1), np.array([centre]), np.array([precision**-0.5]))


def _start(seen: Seen, prior: tuple[float, float] | None, width: float) -> tuple[float, float]:
    """Finite ends of a search: where the law has none, the prior's."""
    low, high = within(seen.near, seen.ends)
    if prior is not None:
        reach = 12 * width
        if math.isinf(low):
            low = min(prior[0], high) - reach
        if math.isinf(high):
            high = max(prior[0], low) + reach
    if math.isinf(high - low):
        raise InvalidInput(
            "all outputs are at one bound, beyond which any mean is as likely, and the prior is "
            "flat: there is no posterior; give a prior, as GaussianModel(prior=(0, 10), sd=1)"
        )
    return low, high
