"""Errata of Charest (2010)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.papers.charest.study import (
    RECORDS,
    Design,
    covered_by_rule,
    every_pair,
    moments,
    posterior_moments,
)
from bayesdp.papers.charest.tables import (
    PRINTED_BIAS,
    PRINTED_RUNS,
    PRINTED_VARIANCE,
    estimated_variance,
)
from bayesdp.papers.erratum import Erratum, Flaw, Relation, Shown

Floats = NDArray[np.float64]


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
    coverage, *_ = outputs.average(covered_by_rule(outputs).astype(float))
    case = "coverage of the combining rule's 95% intervals, epsilon = 3, M = 2, p = 0.25"
    return (Shown(case, 0.80, coverage, 0.87, relation=Relation.EQUAL, tolerance=0.01),)


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


ROWS = (
    Erratum("charest", "Table 1", Flaw.PRINT, "relative bias in %", "100 times the absolute bias",
         _percent),
    Erratum("charest", "Table 1, M = 5", Flaw.PRINT, "20.57", "20.07", _digit),
    Erratum("charest", "Table 2, unit", Flaw.PRINT, "variance x 10^-2", "variance x 10^-4", _unit),
    Erratum("charest", "Table 2, bias", Flaw.PRINT, "of (1 + 1/M) b - v", "of b - v", _estimator),
    Erratum("charest", "Figure 1", Flaw.FALSE, "barely 80% coverage at epsilon = 3, M = 2",
         "87% by its own equations", _coverage),
    Erratum("charest", "Figure 2", Flaw.FALSE, "more copies bring the posterior nearer",
         "at one epsilon in all they take it further away", _copies),
)  # fmt: skip
"""In the order of the paper."""
