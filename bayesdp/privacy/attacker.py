r"""Attacker's gain under a promise: how far odds and beliefs can move, and the best guess.

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
from typing import Protocol


class Promise(Protocol):
    """Protocol of an (epsilon, delta) promise; `bdp.Guarantee` satisfies it."""

    @property
    def epsilon(self) -> float:
        """The epsilon, in [0, inf]."""

    @property
    def delta(self) -> float:
        """The delta, in [0, 1]."""


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


def attacker(guarantee: Promise, prior: float, advantage: float = 1.0) -> Attacker:
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


def in_words(guarantee: Promise, about: str) -> str:
    """Say what a promise means for somebody who believes something at even odds.

    Parameters
    ----------
    guarantee : Guarantee
        A guarantee of differential privacy.
    about : str
        The belief that it is about, such as "that a record is among the data".
    """
    if math.isinf(guarantee.epsilon):
        return "This promises nothing about any one record."
    gain = attacker(guarantee, 0.5)
    most = math.ceil(1e4 * gain.posterior - 1e-8) / 100
    least = "nearly 0" if most >= 100 else f"{100 - most:.4g}"
    high = "nearly 100" if most >= 100 else f"{most:.4g}"
    unless = f", but for outputs of probability {gain.failure:.3g}" if gain.failure else ""
    return (
        f"A belief of 50% {about} can become at most {high}%, and at least {least}%{unless}, "
        "whatever else is known."
    )
