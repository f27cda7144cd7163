"""Errata of Hu, Williams and Savitsky (2025), Charest (2010) and Ju and others (2022)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.evaluation.papers.charest_study import (
    RECORDS,
    Design,
    covered_by_rule,
    every_pair,
    moments,
    posterior_moments,
)
from bayesdp.evaluation.papers.charest_tables import (
    PRINTED_BIAS,
    PRINTED_RUNS,
    PRINTED_VARIANCE,
    estimated_variance,
)
from bayesdp.evaluation.papers.erratum import Erratum, Flaw, Relation, Shown
from bayesdp.mechanisms.censored.beta import CensoredBetaMechanism
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
        found = np.outer(a - 1, np.log(y)) + np.outer(b - 1, np.log1p(-y))
        return np.asarray(found - special.betaln(a, b)[:, None])

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

    found, plain = (
        float(np.abs(law(more, after) - law(records, before)).max())
        for after, before in ((fitted(more), fitted(records)), (1.0, 1.0))
    )
    case = "largest log ratio with a record of 1e-13 added to 2,000, M = 2"
    return (Shown(case, 4.0, found, 4.0, found_true=plain),)


def _relations() -> tuple[Shown, ...]:
    made = CensoredBetaMechanism.calibrate(epsilon=4.0, size=2000)
    case = "Censor_uw's epsilon under PH's neighbours, replace-one"
    return (Shown(case, 4.0, made.guarantee(neighbours=Neighbours.REPLACE_ONE).epsilon, 8.0),)


def _percent() -> tuple[Shown, ...]:
    shown = []
    for copies in (1, 2, 10):
        exact = moments(Design(2.0, copies), 0.25)
        error = 100 * math.sqrt(exact.variance / PRINTED_RUNS)
        case = f"the printed number at epsilon = 2, p = 0.25, M = {copies}"
        printed = PRINTED_BIAS[2.0, 0.25][copies]
        shown.append(Shown(case, 400 * exact.bias, printed, 100 * exact.bias,
                           relation=Relation.EQUAL, tolerance=5 * error))  # fmt: skip
    return tuple(shown)


def _digit() -> tuple[Shown, ...]:
    exact = moments(Design(2.0, 5), 0.25)
    error = 100 * math.sqrt(exact.variance / PRINTED_RUNS)
    case = "100 times the bias at epsilon = 2, p = 0.25, M = 5"
    return (Shown(case, PRINTED_BIAS[2.0, 0.25][5], 100 * exact.bias, 20.07,
                  relation=Relation.EQUAL, tolerance=5 * error),)  # fmt: skip


def _unit() -> tuple[Shown, ...]:
    exact = moments(Design(2.0, 2), 0.25).variance
    printed = PRINTED_VARIANCE[2.0, 0.25][2][0]
    case = "the variance of q at epsilon = 2, p = 0.25, M = 2"
    return (Shown(case, 1e-2 * printed, exact, 1e-4 * printed, relation=Relation.EQUAL,
                  tolerance=5 * exact * math.sqrt(2 / PRINTED_RUNS)),)  # fmt: skip


def _estimator() -> tuple[Shown, ...]:
    """Check by enumeration of both copies; the printed number's own error is of 1,000 runs."""
    shown = []
    for p in (0.25, 0.5):
        design = Design(2.0, 2)
        variance, printed = PRINTED_VARIANCE[2.0, p][2]
        implied = variance * (1 + printed / 100)
        (mean, _, _), (without, _, sd) = (
            estimated_variance(design, p, every_pair(design, p), inflation=inflation)
            for inflation in (None, 1.0)
        )
        case = f"the estimate's mean that is implied (x 10^-4), epsilon = 2, p = {p:g}, M = 2"
        shown.append(Shown(case, 1e4 * mean, implied, 1e4 * without, relation=Relation.EQUAL,
                           tolerance=3e4 * sd / math.sqrt(PRINTED_RUNS)))  # fmt: skip
    return tuple(shown)


def _coverage() -> tuple[Shown, ...]:
    """Check the coverage exactly, over both copies, p = 0.25."""
    outputs = every_pair(Design(3.0, 2), 0.25)
    found, *_ = outputs.average(covered_by_rule(outputs).astype(float))
    case = "coverage of the combining rule's 95% intervals, epsilon = 3, M = 2, p = 0.25"
    return (Shown(case, 0.80, found, 0.87, relation=Relation.EQUAL, tolerance=0.01),)


def _copies() -> tuple[Shown, ...]:
    """Check the mean posterior sd given 25 ones of 100: over every output, or seeded draws."""
    spread = {}
    for copies in (1, 10):
        design = Design(2.0, copies)
        law = design.law()
        rng = np.random.default_rng(copies)
        chances = special.softmax(law[:, 25])
        drawn = rng.choice(RECORDS + 1, size=(copies, 1000), p=chances)
        _, sd = posterior_moments(law, drawn)
        spread[copies] = float(sd.mean())
    case = "mean posterior sd of 10 copies at epsilon = 2 in all; printed: no more than of one"
    return (Shown(case, spread[1], spread[10], 0.144, tolerance=0.005),)


def _moments() -> tuple[Shown, ...]:
    """Check p = 1: z_1, z_2 and their products, between a corner and the best of a grid."""

    def row(z: Floats) -> Floats:
        products = [z[..., i] * z[..., j] for i in range(2) for j in range(i + 1)]
        return np.stack([z[..., 0], z[..., 1], *products], axis=-1)

    grid = np.array(list(itertools.product(np.linspace(-1, 1, 31), repeat=2)))
    found = float(np.abs(row(grid)[:, None] - row(grid)).sum(axis=-1).max())
    case = "how far one record moves all moments of p = 1 predictor together"
    return (Shown(case, 1 + 4 + 3, found, 2 * 16 / (2 * 3), relation=Relation.EQUAL),)


def _row(paper: str, place: str, flaw: Flaw, printed: str, true: str,
         evidence: Callable[[], tuple[Shown, ...]]) -> Erratum:  # fmt: skip
    return Erratum(paper, place, flaw, printed, true, evidence)


ROWS = (
    _row("hu", "Censor_w", Flaw.FALSE, "epsilon-private",
         "not where weights are fitted to the data: one record more moves every term", _weights),
    _row("hu", "Comparison", Flaw.FALSE, "PH and Censor_uw are compared at one epsilon",
         "PH's is under replace-one; under it Censor_uw's is twice as much", _relations),
    _row("charest", "Table 1", Flaw.PRINT, "relative bias in %", "100 times the absolute bias",
         _percent),
    _row("charest", "Table 1, M = 5", Flaw.PRINT, "20.57", "20.07", _digit),
    _row("charest", "Table 2, unit", Flaw.PRINT, "variance x 10^-2", "variance x 10^-4", _unit),
    _row("charest", "Table 2, bias", Flaw.PRINT, "of (1 + 1/M) b - v", "of b - v", _estimator),
    _row("charest", "Figure 1", Flaw.FALSE, "barely 80% coverage at epsilon = 3, M = 2",
         "87% by its own equations", _coverage),
    _row("charest", "Figure 2", Flaw.FALSE, "more copies bring the posterior nearer",
         "at one epsilon in all they take it further away", _copies),
    _row("ju", "Sensitivity", Flaw.LOOSE, "p^2 + 4p + 3", "(p + 1)(p + 3)^2 / (2(p + 2))",
         _moments),
)  # fmt: skip
"""In the order of the papers."""
