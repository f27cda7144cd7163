"""Errata of Hu, Williams and Savitsky (2025)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.mechanisms.censored.beta import CensoredBetaMechanism
from bayesdp.papers.erratum import Erratum, Flaw, Shown
from bayesdp.privacy.neighbours import Neighbours

Floats = NDArray[np.float64]


def _weights() -> tuple[Shown, ...]:
    """Check 2,000 records clipped at 2, and one of 1e-13 more: the posteriors' log ratio.

    Weights are the paper's first step: 1 less the record's largest absolute log-likelihood under
    the posterior, rescaled to [0, 1]; over a grid where the log posterior is near its largest.
    """
    records = stats.beta.ppf((np.arange(2000) + 0.5) / 2000, 0.5, 3)
    more = np.append(records, 1e-13)

    def points(phi: Floats, lam: Floats) -> tuple[Floats, Floats]:
        along = np.meshgrid(phi, lam)
        return along[0].ravel(), along[1].ravel()

    def terms(y: Floats, at: tuple[Floats, Floats]) -> Floats:
        a, b = at[1] * at[0], at[1] * (1 - at[0])
        log_ratio = np.outer(a - 1, np.log(y)) + np.outer(b - 1, np.log1p(-y))
        return np.asarray(log_ratio - special.betaln(a, b)[:, None])

    near = points(np.linspace(0.08, 0.2, 50), np.geomspace(2, 5, 50))
    wide = points(np.linspace(0.005, 0.995, 50), np.geomspace(0.1, 1000, 50))

    def fitted(y: Floats) -> Floats:
        each = terms(y, near)
        height = -1.5 * np.log(near[1]) + each.sum(axis=1)
        largest = np.abs(each[height > height.max() - 6]).max(axis=0)
        return np.asarray(1 - (largest - largest.min()) / np.ptp(largest))

    def law(y: Floats, weights: Floats | float) -> Floats:
        total = -1.5 * np.log(wide[1]) + np.clip(weights * terms(y, wide), -2, 2).sum(axis=1)
        return np.asarray(total - special.logsumexp(total))

    log_ratio, plain = (
        float(np.abs(law(more, after) - law(records, before)).max())
        for after, before in ((fitted(more), fitted(records)), (1.0, 1.0))
    )
    case = "largest log ratio with a record of 1e-13 added to 2,000, M = 2"
    return (Shown(case, 4.0, log_ratio, 4.0, found_true=plain),)


def _relations() -> tuple[Shown, ...]:
    made = CensoredBetaMechanism.calibrate(epsilon=4.0, size=2000)
    case = "Censor_uw's epsilon under PH's neighbours, replace-one"
    return (Shown(case, 4.0, made.guarantee(neighbours=Neighbours.REPLACE_ONE).epsilon, 8.0),)


ROWS = (
    Erratum("hu", "Censor_w", Flaw.FALSE, "epsilon-private",
         "not where weights are fitted to the data: one record more moves every term", _weights),
    Erratum("hu", "Comparison", Flaw.FALSE, "PH and Censor_uw are compared at one epsilon",
         "PH's is under replace-one; under it Censor_uw's is twice as much", _relations),
)  # fmt: skip
"""In the order of the paper."""
