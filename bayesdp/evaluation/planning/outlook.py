r"""Outlook on a release that hasn't been made yet: its intervals, and an attacker's gain.

The criteria are those of Bayesian sample-size determination, with epsilon in the role of n. Let
l(z) be the length of the interval of probability `level` from the output z, and z come from the
design prior. The *average length criterion* asks that E[l(z)] be at most the target; the *modified
worst outcome criterion*, that l(z) be at most the target for a share of the outputs that is called
the *assurance* (Joseph, Wolfson and du Berger 1995; M'Lan, Joseph and Wolfson 2008, who review both
for proportions, with equal tails too; Adcock 1997).

An attacker's gain is `bayesdp.privacy.attacker`'s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.planning.lengths import Lengths
from bayesdp.mechanisms.base import Mechanism
from bayesdp.privacy.guarantee import Guarantee

SURE = 2.0
"""Number of standard errors by which a simulated length must be below the target."""


def known_advantage(mechanism: Mechanism, copies: int) -> float:
    """Return a bound on the total variation distance between the laws of neighbours' copies.

    It is their profile's delta at epsilon = 0, or the bound that follows from one copy's distance
    t: if each of `copies` pairs of independent outputs can be coupled to be equal with probability
    1 - t, all can with probability (1 - t)^copies. Where there is no profile, it is 1.
    """
    try:
        one = mechanism.profile().delta(0.0)
        return min(mechanism.profile(copies=copies).delta(0.0), 1 - (1 - one) ** copies)
    except InvalidInput:  # of these parameters there is none
        return 1.0


@dataclass(frozen=True)
class Outlook:
    """Outlook at one epsilon: interval lengths, coverage, guarantee and attacker's advantage.

    Attributes
    ----------
    width, width_se : float
        Mean length of the interval, and its Monte Carlo standard error, 0 where it is exact.
    assured, assured_safe : float
        The length that the assured share doesn't exceed, and that length plus two standard errors;
        NaN without an assurance.
    coverage, coverage_se : float
        Probability that the interval covers the true value, over the design prior, and its standard
        error.
    guarantee : Guarantee
        The mechanism's own promise.
    advantage : float
        A bound on the total variation distance.
    how : {"exact", "simulated"}
    """

    width: float
    width_se: float
    assured: float
    assured_safe: float
    coverage: float
    coverage_se: float
    guarantee: Guarantee
    advantage: float
    how: str

    @property
    def safe(self) -> float:
        """The criterion's value, on the safe side of the simulation."""
        if not math.isnan(self.assured):
            return self.assured_safe
        return self.width + SURE * self.width_se


def outlook(
    lengths: Lengths, guarantee: Guarantee, assurance: float | None, advantage: float
) -> Outlook:
    """Summarise lengths of intervals."""
    width = float(lengths.chances @ lengths.lengths) + lengths.lost
    coverage = float(lengths.chances @ lengths.covered)
    assured = safe = math.nan
    if assurance is not None:
        assured, safe = assured_length(lengths, assurance)
    count = lengths.lengths.size
    exact = lengths.exact
    return Outlook(
        width,
        0.0 if exact else float(np.std(lengths.lengths, ddof=1) / math.sqrt(count)),
        assured,
        safe,
        coverage,
        0.0 if exact else _coverage_error(lengths.covered),
        guarantee,
        advantage,
        "exact" if exact else "simulated",
    )


def assured_length(lengths: Lengths, assurance: float) -> tuple[float, float]:
    """Find the smallest length that a share `assurance` doesn't exceed, and a safe one.

    For simulated lengths the safe one is the order statistic `SURE` standard errors higher.
    """
    order = np.argsort(lengths.lengths)
    below = np.cumsum(lengths.chances[order])

    def at(share: float) -> float:
        rank = int(np.searchsorted(below, share - 1e-12))
        return float(lengths.lengths[order[rank]]) if rank < order.size else math.inf

    if lengths.exact:
        return at(assurance), at(assurance)
    error = math.sqrt(assurance * (1 - assurance) / order.size)
    return at(assurance), at(assurance + SURE * error)


def _coverage_error(covered: NDArray[np.float64]) -> float:
    """Standard error of a mean; for zeros and ones with two of each added, so that it isn't 0."""
    count = covered.size
    if np.ptp(covered) == 0 and 0 < covered[0] < 1:
        return 0.0  # known without simulation
    if np.isin(covered, (0.0, 1.0)).all():
        share = (covered.sum() + 2) / (count + 4)
        return math.sqrt(share * (1 - share) / (count + 4))
    return float(np.std(covered, ddof=1) / math.sqrt(count))
