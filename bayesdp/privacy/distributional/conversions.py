r"""Conversions of distributional guarantees to posteriors, and of DP to semantic privacy.

F is the mechanism and S its simulator; f_v and s_v are the laws of F(X) and of S(alt(X)) given
priv(X) = v and Z = z, so f_v and s_v are within (epsilon, delta) of each other. Results are rounded
up.

To posteriors
-------------
With p_v = Pr[priv(X) = v], f = sum p_v f_v and s = sum p_v s_v (Z is taken as part of the output:
its law is the same in both worlds). Let eta > epsilon. For sets of outputs, f(T) <= exp(epsilon)
s(T) + delta and the reverse, hence

    f{f > exp(eta) s} <= delta / (1 - exp(epsilon - eta)),
    f{s > exp(eta) f} <= delta / (exp(eta) - exp(epsilon)).

Elsewhere let t be such that for a set of values the posterior, the sum of p_v f_v(t) / f(t),
exceeds exp(epsilon + eta) times that of p_v s_v(t) / s(t), plus d. Multiplied by f(t), which is at
least exp(-eta) s(t), one joint law exceeds exp(epsilon) times the other by d f(t); over all such t
that is at most delta, so f gives them at most delta / d. With the worlds exchanged, s gives such t
at most delta / d, and f at most exp(epsilon) delta / d + delta. So except for a set of t to which f
gives at most

    delta (1 + exp(epsilon)) / d + delta c,
    c = 1 + 1 / (1 - exp(epsilon - eta)) + 1 / (exp(eta) - exp(epsilon)),

the posteriors are within (epsilon + eta, d) of each other. With delta = 0 all f_v / s_v lie within
exp(-epsilon) and exp(epsilon), and f / s too: 2 epsilon is enough.

Groce's Lemma 5.1 has 2 delta / d + 2 delta / (epsilon exp(epsilon)) for that sum. It is false: it
counts the second direction by f as if by s. So are, with the simulator that they are given, his
Theorems 5.1 and 5.2, that (3 epsilon, 2 sqrt(delta |Gamma|)) holds. Let priv be 1 with probability
0.9, else 0, epsilon = 2, delta = 1e-6, and one output t have f_1(t) = 0, s_1(t) = delta, s_0(t) =
3.5e-3, f_0(t) = exp(2) s_0(t). Who sees t gives priv = 1 the probability 0 in the real world and
more than 2 sqrt(delta) in the simulator's, and sees it with probability 2.6e-3 > 2 sqrt(delta).
What is promised here is the least d for which the sum above, times |Gamma|, is at most d.

To statistical distance
-----------------------
Laws within (e, d) of each other differ on every event by at most (exp(e) - 1 + 2 d) / (exp(e) + 1),
the largest a - b with a <= exp(e) b + d and 1 - b <= exp(e) (1 - a) + d. Densities whose ratio
varies by a factor of exp(2 epsilon) differ by at most tanh(epsilon / 2).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from bayesdp.checks import as_float, check_at_least_one, check_delta, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import (
    Definition,
    DistributionalGuarantee,
    check_coupled,
    refuse_distributional,
)
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours

_UP = 1 + 2.0**-46  # above the rounding of a dozen operations


def to_inference(
    guarantee: DistributionalGuarantee, pairs: int, *, epsilon: float | None = None
) -> DistributionalGuarantee:
    """Convert a guarantee to posteriors: (3 epsilon, delta') (Groce 2014, Theorem 5.2, corrected).

    With probability at least 1 - delta' over what is released and what the adversary knows, for
    every secret the posteriors of what is private, in the real world and in the simulator's, are
    within (3 epsilon, delta') of each other; with delta = 0 within 2 epsilon, always.

    Parameters
    ----------
    guarantee : DistributionalGuarantee
        Its definition is coupled-worlds or distributional.
    pairs : int
        |Gamma|, the number of secrets; where records are protected, their number (Theorem 5.1).
    epsilon : float, optional
        Wanted instead of 3 epsilon: above 2 epsilon, or at least 2 epsilon where delta is 0.

    Raises
    ------
    InvalidInput
        If the guarantee is of another definition, `pairs` isn't a whole number from 1, or
        `epsilon` is too small.

    Notes
    -----
    The printed theorem says 2 sqrt(delta |Gamma|) for delta', which is false for epsilon = 2; the
    module's docstring has the example and the proof of what is returned.
    """
    check_coupled(guarantee, "to_inference")
    pairs = check_at_least_one("pairs", pairs)
    own, delta = guarantee.epsilon, guarantee.delta
    if epsilon is not None and not is_number(epsilon):
        raise InvalidInput(f"epsilon is {quoted(epsilon)}; it must be a number above 2 * {own}")
    asked = as_float(epsilon) if epsilon is not None else (2 if delta == 0 else 3) * own
    if asked < 2 * own or (asked == 2 * own and delta > 0 and math.isfinite(own)):
        raise InvalidInput(
            f"epsilon is {asked}; a promise with epsilon = {own} and delta = {delta} says "
            f"something about posteriors only for epsilon above {2 * own}: give, for example, "
            f"epsilon={2 * own + 0.1:.3g}"
        )
    share = 0.0 if delta == 0 else 1.0
    if delta > 0 and asked < 300:
        linear = pairs * delta * _ratio_cost(own, asked - own)
        square = 4 * pairs * delta * (1 + math.exp(own))
        share = (linear + math.sqrt(linear * linear + square)) / 2
    return dataclasses.replace(
        guarantee,
        epsilon=asked * _UP,
        delta=min(1.0, share * _UP),
        definition=Definition.INFERENCE_BASED,
        source=f"bayesdp.privacy.distributional.conversions, of: {guarantee.source}",
    )


@dataclass(frozen=True, slots=True)
class SemanticPrivacy:
    """Distance of a posterior from that of a world without a record (Groce 2014, Definition 3.4).

    Attributes
    ----------
    distance : float
        The statistical distance of the two posteriors of the data is at most this.
    delta : float
        Probability, at most, of data and outputs for which the distance may be larger.
    """

    distance: float
    delta: float


def semantic_privacy(
    guarantee: Guarantee, *, delta: float = 0.0, records: int = 1
) -> SemanticPrivacy:
    """Return the semantic privacy that differential privacy implies (Theorem 3.1, without O(.)).

    Whatever the prior of the data, with probability at least 1 - `delta` over data and output, the
    posterior given F(x) and the one given the release without record i, or with a default value in
    its place, differ by at most `distance`.

    Parameters
    ----------
    guarantee : Guarantee
        Under add_remove (the record is removed) or replace_one (it has a default value).
    delta : float
        The probability of an exception, in [0, 1); 0 only for a pure epsilon.
    records : int
        For how many records i at once, at least 1.

    Returns
    -------
    SemanticPrivacy
        distance 1, which says nothing, where `delta` is too small.

    Raises
    ------
    InvalidInput
        If the guarantee is of another kind or relation, or an argument out of its range.
    """
    refuse_distributional(guarantee, "semantic_privacy")
    if not isinstance(guarantee, Guarantee) or guarantee.neighbours not in (
        Neighbours.ADD_REMOVE,
        Neighbours.REPLACE_ONE,
    ):
        raise InvalidInput(
            f"guarantee is {quoted(guarantee)}; it must be a Guarantee under add_remove or "
            "replace_one"
        )
    delta = check_delta(delta)
    records = check_at_least_one("records", records)
    epsilon = guarantee.epsilon
    if guarantee.delta == 0:
        return SemanticPrivacy(min(1.0, math.tanh(epsilon / 2) * _UP), 0.0)
    best, cost = 1.0, records * guarantee.delta
    for k in range(400) if epsilon < 300 else ():  # every eta gives a bound
        eta = epsilon + 1e-6 * (3e7) ** (k / 399)
        left = delta - cost * _ratio_cost(epsilon, eta) * _UP
        if left > 0:
            d = cost * (1 + math.exp(epsilon)) / left
            total = epsilon + eta
            best = min(best, math.tanh(total / 2) + 2 * d / (math.exp(min(total, 700)) + 1))
    return SemanticPrivacy(min(1.0, best * _UP), delta)


def _ratio_cost(epsilon: float, eta: float) -> float:
    """Compute 1 + 1 / (1 - exp(epsilon - eta)) + 1 / (exp(eta) - exp(epsilon))."""
    gap = eta - epsilon
    return 1 - 1 / math.expm1(-gap) + math.exp(-epsilon) / math.expm1(gap)
