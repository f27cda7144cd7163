"""The posterior that knows the noise beside Liu's combination rule, from the same copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.engines.normal_mixture import NormalMixture
from bayesdp.evaluation.combining_rules import half_widths, weights
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.inference.gaussian.model import GaussianModel
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.families import Bernoulli, Family, Gaussian
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.papers.liu.study import Design, Floats, bounds_of, summaries
from bayesdp.release import Release

PRIOR = (0.0, 0.01, 1.0, 1.0)
"""Of mu and sigma: mu within about 10 sigma of 0, sigma of any size from a half to several."""


def compare(
    design: Design, replicates: int, rng: np.random.Generator, level: float
) -> dict[str, float]:
    """Simulate coverage and mean length of both intervals, from the mechanism's own releases.

    With binary records for p; with normal records, of known or unknown sd, for their mean.
    """
    n, truth, mechanism = design.n, design.truth, mechanism_of(design)
    statistic: Any
    if design.bounds is None:
        statistic = Count(rng.binomial(n, truth, replicates), n)
    else:
        centre, sd = np.full(replicates, truth), np.ones(replicates)
        summary = summaries(centre, sd, n, bounds_of(design), True, rng)
        statistic = np.stack(summary if design.share is not None else summary[:1], axis=-1)
    with reproducible(int(rng.integers(1 << 63))):
        z = mechanism.release(statistic, design.copies)
    q, v = estimates(design, z)
    within, between = v.mean(axis=0), q.var(axis=0, ddof=1)
    row = weights("liu", design.copies, 1.0)
    half = half_widths(row.variance(within, between), row.df(within, between), level)
    ends = np.array(
        [interval(design, release_of(mechanism, each), level) for each in np.moveaxis(z, 1, 0)]
    )
    lengths, others = ends[:, 1] - ends[:, 0], 2 * half
    ratio = lengths.mean() / others.mean()
    # Of a ratio of means, to first order.
    spread = np.std(lengths - ratio * others, ddof=1) / others.mean()
    return {
        "posterior_coverage": float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))),
        "posterior_length": float(lengths.mean()),
        "liu_coverage": float(np.mean(np.abs(q.mean(axis=0) - truth) <= half)),
        "liu_length": float(others.mean()),
        "ratio": float(ratio),
        "ratio_error": float(spread / np.sqrt(replicates)),
        "replicates": float(replicates),
    }


def interval(design: Design, release: Release, level: float) -> tuple[float, float]:
    """Compute the exact posterior's equal-tailed interval."""
    if design.bounds is None:
        return BinomialModel().posterior(release).interval(level)
    model = GaussianModel(sd=1.0) if design.share is None else GaussianModel(prior=PRIOR)
    posterior = model.posterior(release)
    if isinstance(posterior, NormalMixture):
        return posterior.interval(level)
    return posterior.interval_mu(level)


def estimates(design: Design, z: np.ndarray) -> tuple[Floats, Floats]:
    """Compute each copy's q and v, shape (copies, replicates)."""
    if design.bounds is None:
        q = z / design.n
        return q, q * (1 - q) / design.n
    return z.mean(axis=-1), z.var(axis=-1, ddof=1) / design.n


def mechanism_of(design: Design) -> ModipsSBSMechanism:
    """Make the mechanism of binary records or of normal ones, with the published scale."""
    family: Family = Bernoulli()
    if design.bounds is not None:
        family = Gaussian(bounds=design.bounds, sd=1.0 if design.share is None else None)
    return ModipsSBSMechanism(
        family=family,
        size=design.n,
        scales=design.scales,
        n=design.n,
        bounding=design.bounding,
    )


def release_of(mechanism: ModipsSBSMechanism, copies: np.ndarray) -> Release:
    """Make the release that an analyst gets."""
    return Release.of(mechanism, [tuple(z) if np.ndim(z) else z for z in copies.tolist()])
