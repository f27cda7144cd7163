r"""Joint promise of copies of a Dirichlet-multinomial table, and its proof.

Write m = size, x for the counts of n records in the k possible cells, alpha for their priors and
A = sum alpha + n. From

    P(z | x) = (m! / prod z_c!) prod (alpha_c + x_c)_{z_c} / (A)_m

with the rising factorial (u)_z, a record added in cell i multiplies the law by

    P(z | x + e_i) / P(z | x) = (u + z_i) / u * A / (A + m),    u = alpha_i + x_i.

*Replace-one* (n fixed), a record of cell j moved to cell i: let u and v be the weights of i and j
without that record. The ratio is [(u + z_i) / u] [v / (v + z_j)], at most 1 + m / u, which is at
most 1 + m / alpha_i, attained at z_i = m, where z_j = 0, with no other record in i; and its
inverse is the same with i and j exchanged. Any cell can be i, for any n >= 1, so

    epsilon = log(1 + m / min alpha),   exactly, for every n >= 1,

that is, min alpha >= m / (exp(epsilon) - 1). How many cells there are doesn't matter.

*Adding a record* raises the probability of z by at most (1 + m / alpha_i) A / (A + m), at z_i = m
and x_i = 0, which approaches 1 + m / min alpha as the records elsewhere grow in number.
*Removing* one raises it by at most (A + m) / A, at z_i = 0 and with A = sum alpha: no other record.
So the add/remove-one epsilon is log(1 + m / min alpha) too, as a supremum over n, and removal
alone has log(1 + m / sum alpha).

Independent copies multiply the ratios at the same data sets: M copies have M times the epsilon.

*With a delta*, under replace-one: the profile of `bayesdp.mechanisms.counts.category_pairs`, which
is the one of `ConjugateMechanism`'s categorical `synthetic_one`. Where n is confidential it is
taken at n = 1: more records elsewhere make the other cells' weight larger, which costs less, and so
do more of them in i or j (both proved there). It needs the two smallest priors and the sum of the
rest.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.promise import promise
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours, check_unshown

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism

LARGEST_PROFILE = 10**6
"""Records of a copy up to which delta(epsilon) is summed."""
_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the products below


def promised(
    mechanism: DirichletMultinomialMechanism,
    copies: int,
    neighbours: Neighbours | None,
    delta: float,
) -> Guarantee:
    """Return the guarantee of `copies` copies at `delta`; see the mechanism's own."""
    copies, delta = check_at_least_one("copies", copies), check_delta(delta)
    relation = mechanism.neighbours if neighbours is None else check_neighbours(neighbours)
    check_relation(relation, mechanism.n)
    made = Guarantee(
        epsilon=copies * pure_epsilon(mechanism.size, float(mechanism.alpha.min())),
        delta=0.0,
        neighbours=relation,
        strength=Strength.PROVED,
        assumptions=(
            "The size of a copy was chosen without the data." if mechanism.n is None else PUBLIC_N,
            "The cells and the prior were chosen without the data.",
            COMPUTATIONAL,
        ),
        source="bayesdp.mechanisms.counts.dirichlet_multinomial_promise; Machanavajjhala, Kifer, "
        "Abowd, Gehrke and Vilhuber (2008)",
    )
    if delta == 0 or relation is Neighbours.ADD_REMOVE or mechanism.size > LARGEST_PROFILE:
        return made
    point = promise(collapsed(mechanism.n, mechanism.size, mechanism.alpha), copies, None, delta)
    return dataclasses.replace(made, epsilon=point.epsilon, delta=point.delta)


def pure_epsilon(size: int, weight: float) -> float:
    """Pure epsilon log(1 + size / weight), rounded up."""
    return math.log1p(size / weight) * _SAFE


def collapsed(n: int | None, size: int, alpha: NDArray[np.float64]) -> ConjugateMechanism:
    """The release with the same privacy profile, its third category all but the two worst ones."""
    few = np.sort(alpha)
    if few.size > 3:
        few = np.append(few[:2], math.fsum(few[2:]))
    return ConjugateMechanism("categorical", "synthetic_one", n or 1, tuple(few.tolist()), size)


def check_relation(relation: Neighbours, n: int | None) -> None:
    """Raise unless the relation is one of records that a table of n has; n None: confidential."""
    if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; a table of records has 'replace_one' and "
            "'add_remove'"
        )
    check_unshown(relation, n)
