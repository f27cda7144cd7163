"""Laws of released counts of categories that are products over the categories, given n.

Each function is of one category. It returns the log law of its released numbers z, one for each
copy, at counts x, and the log of the constant factor of each copy at each possible number n of
records. `prior` holds the Dirichlet law's parameters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import Floats, Integers
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.laws import negative_binomial


def one_draw(
    prior: Floats, size: float, z: NDArray[Any], i: int, x: Integers, n: Integers
) -> tuple[Floats, Floats]:
    """The law of `size` records from one draw of the probabilities: Dirichlet-multinomial."""
    weights = prior.sum() + n
    total, log_law = float(np.median(weights)), np.zeros(x.size)
    for each in z.tolist():
        counts, odds, rest = (np.full(x.size, v) for v in (float(each), total, size))
        log_law += negative_binomial(counts, prior[i] + x, odds, rest)
    counts, odds, rest = (np.full(n.size, v) for v in (size, total, size))
    return log_law, -negative_binomial(counts, weights, odds, rest)


def many_draws(
    prior: Floats, size: int, z: NDArray[Any], i: int, x: Integers, n: Integers
) -> tuple[Floats, Floats]:
    """The law of `size` records, each from its own draw of the probabilities: multinomial."""
    law = z.sum() * np.log(prior[i] + x) - special.gammaln(z + 1.0).sum()
    return np.asarray(law), math.lgamma(size + 1) - size * np.log(prior.sum() + n)


def parameter(
    prior: Floats, theta: NDArray[Any], i: int, x: Integers, n: Integers
) -> tuple[Floats, Floats]:
    """The density of the probabilities themselves, drawn from the posterior: Dirichlet."""
    if np.any(theta == 0):
        raise InvalidInput(
            "a released probability is 0, rounded from one that wasn't: its density is 0 or "
            "infinite; release it with more digits"
        )
    shape = prior[i] + x
    law = (shape - 1) * np.log(theta).sum() - theta.size * special.gammaln(shape)
    return np.asarray(law), special.gammaln(prior.sum() + n)
