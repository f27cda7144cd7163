"""Conversions of guarantees between neighbouring relations, where a theorem allows.

If D' replaces a record of D, the data C without that record are an add/remove neighbour of
both. Nothing follows in the other direction, nor for edges and nodes.

*(epsilon, delta)* under add/remove-one is (2 epsilon, (1 + exp(epsilon)) delta) under
replace-one:

    P_D(S) <= exp(epsilon) P_C(S) + delta <= exp(epsilon) (exp(epsilon) P_D'(S) + delta) + delta.

*rho-zCDP* under add/remove-one is 4 rho-zCDP under replace-one (Bun and Steinke 2016,
Proposition 1.9). For alpha > 1, with densities p, c, q of D, C, D', Hoelder's inequality for
the conjugate exponents (2 alpha - 1) / alpha and (2 alpha - 1) / (alpha - 1) says

    E_C (p/c)^alpha (c/q)^(alpha - 1)
        <= (E_C (p/c)^(2 alpha - 1))^(alpha / (2 alpha - 1))
         * (E_C (c/q)^(2 alpha - 1))^((alpha - 1) / (2 alpha - 1)).

The left side is exp((alpha - 1) D_alpha(D | D')); the expectations on the right are
exp((2 alpha - 2) D_(2 alpha - 1)(D | C)) and exp((2 alpha - 1) D_(2 alpha)(C | D')). So

    D_alpha(D | D') <= 2 alpha / (2 alpha - 1) D_(2 alpha - 1)(D | C) + D_(2 alpha)(C | D')
                    <= 2 alpha rho + 2 alpha rho = alpha (4 rho).
"""

from __future__ import annotations

import dataclasses
import math

from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import refuse_distributional
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours


def convert(guarantee: Guarantee, neighbours: Neighbours) -> Guarantee:
    """Convert a guarantee to another neighbouring relation, rounded up.

    Raises
    ------
    InvalidInput
        If the guarantee doesn't convert to that relation.
    """
    refuse_distributional(guarantee, "a conversion between neighbouring relations")
    if guarantee.neighbours is neighbours:
        return guarantee
    if (guarantee.neighbours, neighbours) != (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
        raise InvalidInput(
            f"guarantee is under {quoted(guarantee.neighbours.value)}, which says nothing about "
            f"the other relation, {quoted(neighbours.value)} (only add_remove converts, to "
            f"replace_one). Ask the mechanism for its promise under {quoted(neighbours.value)}"
        )
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    if delta:
        growth = math.exp(epsilon) if epsilon < 700 else math.inf
        delta = math.nextafter(min((1 + growth) * delta * (1 + 2.0**-48), 1.0), 1.0)
    rho = None if guarantee.rho is None else 4 * guarantee.rho
    return dataclasses.replace(
        guarantee,
        epsilon=2 * epsilon,
        delta=delta,
        neighbours=neighbours,
        rho=rho if rho is not None and math.isfinite(rho) else None,
    )
