r"""Privacy amplification by subsampling: a release from a secret random sample of the records.

Let M be (epsilon, delta)-DP, and let M run on a sample that nobody sees. Then the whole is
(log(1 + q (exp(epsilon) - 1)), q delta)-DP under

* add/remove-one, where every record enters the sample independently with probability q;
* replace-one, where the sample is a uniform one of m of the n records without replacement, q = m/n

(Balle, Barthe and Gaboardi 2018, Theorems 8 and 9), each for an M that promises under the same
relation.

*Proof*. Let D and D' be neighbours that differ in record r. Given that r isn't in the sample,
both releases have one law, F. Given that it is, let them be G and G'; of a D without r, let it be
F, as the rest of a Poisson sample is the same independent one. So the laws are
(1 - q) F + q G and (1 - q) F + q G', where for every event S

    G(S) <= exp(epsilon) G'(S) + delta    and    G(S) <= exp(epsilon) F(S) + delta.

The first holds sample by sample, as adding or replacing r in the rest of a sample makes a
neighbour. So does the second where one of D and D' lacks r: there it is the first, or says that
F <= exp(epsilon) F + delta. Under replace-one, keep the rest of a sample with r, m - 1 records,
and put one of the other n - m in the place of r, each with the same probability: that is a
uniform sample without r, and a neighbour of the one with r.

Let e' = log(1 + q (exp(epsilon) - 1)) and b = exp(e' - epsilon). By the first with weight b and
the second with weight 1 - b,

    (1 - q) F(S) + q G(S) <= (1 - q) F(S) + q (exp(epsilon) (b G'(S) + (1 - b) F(S)) + delta)
                           = exp(e') ((1 - q) F(S) + q G'(S)) + q delta,

since q exp(epsilon) b = q exp(e'), and 1 - q + q exp(epsilon) (1 - b) = exp(e') (1 - q). For the
other direction exchange D and D'.

A rho of M stays one of the whole: the Renyi divergence of two mixtures with the same weights is
at most the largest of their parts'.

Sampling m of n without replacement says nothing under add/remove-one, where n itself differs, nor
does this proof for Poisson sampling under replace-one.
"""

from __future__ import annotations

import dataclasses
import math

from bayesdp.checks import as_float, check_one_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import refuse_distributional
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import SMALLEST

SCHEMES = {
    "poisson": Neighbours.ADD_REMOVE,
    "without_replacement": Neighbours.REPLACE_ONE,
}
"""Each way to sample, and the relation under which it amplifies."""


def subsampled(guarantee: Guarantee, *, rate: float, scheme: str = "poisson") -> Guarantee:
    """Return the promise of a release from a secret random sample; the module has the proof.

    Parameters
    ----------
    guarantee : Guarantee
        The promise of the release about the records of the sample.
    rate : float
        In (0, 1]: the probability that a record enters (poisson), or m/n (without_replacement).
    scheme : {"poisson", "without_replacement"}
        How the sample is drawn; the first needs a guarantee under add_remove, the second one under
        replace_one.

    Returns
    -------
    Guarantee
        About the records that the sample was drawn from.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or the guarantee is under another relation.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=1.0, sensitivity=1)
    >>> round(bdp.privacy.subsampled(noise.guarantee(), rate=0.1).epsilon, 4)
    0.1586
    """
    refuse_distributional(guarantee, "amplification by subsampling")
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(f"guarantee is {quoted(guarantee)}; it must be a Guarantee")
    share = as_float(rate)
    if not 0 < share <= 1:
        raise InvalidInput(f"rate is {quoted(rate)}; it must be a number above 0, at most 1")
    check_one_of("scheme", scheme, sorted(SCHEMES))
    if guarantee.neighbours is not SCHEMES[scheme]:
        raise InvalidInput(
            f"guarantee is under {quoted(guarantee.neighbours.value)}, but scheme {quoted(scheme)} "
            f"amplifies under {quoted(SCHEMES[scheme].value)} alone; ask the mechanism for its "
            "promise under that"
        )
    epsilon, delta, rate = guarantee.epsilon, guarantee.delta, share
    amplified = _amplified(epsilon, rate)
    return dataclasses.replace(
        guarantee,
        epsilon=min(epsilon, amplified),
        delta=min(delta, math.nextafter(rate * delta, 1.0)) if delta else 0.0,
        assumptions=(
            *guarantee.assumptions,
            f"The sample ({scheme}, rate {rate}) is drawn at random, and nobody learns who is in "
            "it.",
        ),
        source=f"bayesdp.privacy.subsampling, of: {guarantee.source}",
    )


def _amplified(epsilon: float, rate: float) -> float:
    """Amplified epsilon log(1 + rate (exp(epsilon) - 1)), rounded up."""
    if epsilon == 0 or math.isinf(epsilon):
        return epsilon
    if epsilon < 700:
        return max(math.log1p(rate * math.expm1(epsilon)) * (1 + 2.0**-49), SMALLEST)
    return (epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon))) * (1 + 2.0**-49)
