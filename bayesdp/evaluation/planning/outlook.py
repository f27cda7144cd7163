r"""Outlook on a release that hasn't been made yet: its intervals, and an attacker's gain.

The criteria are those of Bayesian sample-size determination, with epsilon in the role of n. Let
l(z) be the length of the interval of probability `level` from the output z, and z come from the
design prior. The *average length criterion* asks that E[l(z)] be at most the target; the *modified
worst outcome criterion*, that l(z) be at most the target for a share of the outputs that is called
the *assurance* (Joseph, Wolfson and du Berger 1995; M'Lan, Joseph and Wolfson 2008, who review both
for proportions, with equal tails too; Adcock 1997).

What an attacker learns
-----------------------
An attacker who knows all but one record, or believes it independent of the others, asks which of
two values it has, under replace-one, or whether it is there at all, under add/remove-one (there two
values are two steps apart, and their odds may grow by the factor's square). So the output comes
from P or P', laws given two neighbours, averaged alike over the rest. Posterior odds are prior odds
times the ratio of P and P' at the output.

*Pure epsilon*: P <= exp(epsilon) P' for every output, so the odds grow by exp(epsilon) at most.

*With delta*: an event S has P(S) <= exp(epsilon) P'(S) + delta. Where the ratio is above
2 exp(epsilon), P' < P exp(-epsilon) / 2; so for that event, delta >= P(S) - exp(epsilon) P'(S) >=
P(S) / 2, and P(S) <= 2 delta: the odds grow by 2 exp(epsilon) at most, except with probability
2 delta. Kasiviswanathan and Smith (2014) compare posteriors in this way.

*The best guess*. Starting at even odds, any guess at which of the two it is, right with probability
1/2 without the output, is right with probability at most (1 + T) / 2, T the total variation
distance of P and P': the privacy profile's delta at epsilon = 0. For every S,
P(S) <= exp(epsilon) P'(S) + delta and 1 - P'(S) <= exp(epsilon) (1 - P(S)) + delta; adding them,
with S where P > P', 1 + T <= exp(epsilon) (1 - T) + 2 delta, and so

    T  <=  (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1)

(Kairouz, Oh and Viswanath 2015). For M independent copies T is at most 1 - (1 - T_1)^M, as two
draws of one copy can be coupled to be equal with probability 1 - T_1.
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


@dataclass(frozen=True)
class Attacker:
    """Bounds on an attacker's gain; the module's docstring proves each.

    Attributes
    ----------
    odds : float
        Largest factor by which the odds between two values of a record, or under add/remove-one
        between the record's presence and its absence, can grow.
    failure : float
        Probability of outputs where they may grow by more; 0 for a pure promise.
    posterior : float
        Largest posterior probability of a value, given its prior probability, outside those
        outputs.
    advantage : float
        Upper bound on the probability of guessing right minus that of guessing wrong, between two
        equally likely values: a total variation distance.
    """

    odds: float
    failure: float
    posterior: float
    advantage: float


def attacker(guarantee: Guarantee, prior: float, advantage: float = 1.0) -> Attacker:
    """Compute an attacker's largest gain under a promise.

    Parameters
    ----------
    guarantee : Guarantee
        A guarantee of differential privacy.
    prior : float
        The attacker's prior probability of a value, strictly between 0 and 1.
    advantage : float
        A bound on the total variation distance that is known for the mechanism.
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    odds = math.exp(epsilon) if epsilon < 700 else math.inf
    odds *= 1 if delta == 0 else 2
    shrunk = math.exp(-epsilon)
    bound = (1 - shrunk + 2 * delta * shrunk) / (1 + shrunk)
    posterior = 1 / (1 + (1 - prior) / prior / odds)
    return Attacker(odds, min(1.0, 2 * delta), posterior, min(1.0, bound, advantage))


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
