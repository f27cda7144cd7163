"""Laws of a category's released numbers given its latent count, where they are products.

Of one category each: the law of all copies at x, and a constant for each copy; n are the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.conjugate.release import ConjugateRelease
from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism
from bayesdp.mechanisms.laws import negative_binomial

Floats = NDArray[np.float64]


def one_draw(
    mechanism: Any, z: NDArray[Any], i: int, x: NDArray[np.int64], n: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Law of Dirichlet-multinomial copies; the constant is one for each of the sizes n."""
    if isinstance(mechanism, DirichletMultinomialMechanism):
        prior, size = mechanism.alpha, float(mechanism.size)
    else:
        prior, size = np.array(mechanism.prior), float(mechanism.synthetic_size)
    weights = prior.sum() + n
    total, found = float(np.median(weights)), np.zeros(x.size)
    for each in z.tolist():
        counts, odds, rest = (np.full(x.size, v) for v in (float(each), total, size))
        found += negative_binomial(counts, prior[i] + x, odds, rest)
    counts, odds, rest = (np.full(n.size, v) for v in (size, total, size))
    return found, -negative_binomial(counts, weights, odds, rest)


def _many_draws(
    mechanism: ConjugateRelease,
    z: NDArray[Any],
    i: int,
    x: NDArray[np.int64],
    n: NDArray[np.int64],
) -> tuple[Floats, float]:
    size, total = mechanism.synthetic_size, sum(mechanism.prior) + mechanism.n
    law = z.sum() * np.log((mechanism.prior[i] + x) / total) - special.gammaln(z + 1.0).sum()
    return np.asarray(law), math.lgamma(size + 1)


def _parameter(
    mechanism: ConjugateRelease,
    theta: NDArray[Any],
    i: int,
    x: NDArray[np.int64],
    n: NDArray[np.int64],
) -> tuple[Floats, float]:
    if np.any(theta == 0):
        raise InvalidInput(
            "a released probability is 0, rounded from one that wasn't: its density is 0 or "
            "infinite; release it with more digits"
        )
    shape = mechanism.prior[i] + x
    law = (shape - 1) * np.log(theta).sum() - theta.size * special.gammaln(shape)
    return np.asarray(law), math.lgamma(sum(mechanism.prior) + mechanism.n)


CONJUGATE: dict[str, Callable[..., tuple[Floats, Any]]] = {
    "synthetic_one": one_draw,
    "synthetic_many": _many_draws,
    "parameter_draw": _parameter,
}
