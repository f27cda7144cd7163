"""The posterior that knows the noise beside Liu's combination rule, from the same copies."""

from __future__ import annotations

import numpy as np

from bayesdp.evaluation.combining_rules import half_widths, weights
from bayesdp.evaluation.liu_study import Design
from bayesdp.inference.binomial import BinomialModel
from bayesdp.mechanisms.count import Count
from bayesdp.mechanisms.families import Bernoulli
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.release import Release


def compare(
    design: Design, replicates: int, rng: np.random.Generator, level: float
) -> dict[str, float]:
    """Coverage and mean length of both intervals for p, from releases of the mechanism itself."""
    n, truth = design.n, design.truth
    mechanism = mechanism_of(design)
    ones = rng.binomial(n, truth, replicates)
    with reproducible(int(rng.integers(1 << 63))):
        z = mechanism.release(Count(ones, n), design.copies)
    q = z / n
    within, between = (q * (1 - q) / n).mean(axis=0), q.var(axis=0, ddof=1)
    row = weights("liu", design.copies, 1.0)
    half = half_widths(row.variance(within, between), row.df(within, between), level)
    model = BinomialModel()
    ends = np.array(
        [model.posterior(release_of(mechanism, copies)).interval(level) for copies in z.T]
    )
    holds = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    return {
        "posterior_coverage": float(np.mean(holds)),
        "posterior_length": float(np.mean(ends[:, 1] - ends[:, 0])),
        "liu_coverage": float(np.mean(np.abs(q.mean(axis=0) - truth) <= half)),
        "liu_length": float(np.mean(2 * half)),
        "replicates": float(replicates),
    }


def mechanism_of(design: Design) -> ModipsSBS:
    """Of binary records, with the published scale."""
    return ModipsSBS(
        family=Bernoulli(),
        size=design.n,
        scales=design.scales,
        n=design.n,
        bounding=design.bounding,
    )


def release_of(mechanism: ModipsSBS, copies: np.ndarray) -> Release:
    """What an analyst gets."""
    return Release.of(mechanism, [int(z) for z in copies])
