r"""Groups' means from one normal distribution, with all means of records and of groups summed out.

With m the centre and t the spread of that distribution, and records of sd sigma,

    s_g | m, t ~ N(m, t^2 + sigma^2 / n_g),    outputs_g | s_g ~ mechanism,

for the mean s_g of a group's records, so the likelihood of (m, t) is a product over groups of
integrals over s_g: sums over nodes that hold the law of the outputs. u = m and v = log t are left
to sample (`bayesdp.engines.partial_pooling`). Given them each s_g is drawn from its sum, and the
group's mean from its normal distribution given s_g.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.pooled_laws import Given, in_a_row
from bayesdp.kernels.pooled.means import log_means

Floats = NDArray[np.float64]


def given_means(
    nodes: list[Floats],
    laws: list[Floats],
    variances: list[float],
    prior: tuple[float, float, float],
) -> Given:
    """Prepare the arrays for `log_means`.

    Parameters
    ----------
    nodes, laws : list of ndarray
        For each group, ascending means, and the log of the density of the outputs there times the
        node's weight.
    variances : list of float
        sigma^2 / n of each group.
    prior : tuple of three floats
        m's mean and sd, and the scale of t's half-normal prior.
    """
    return in_a_row(laws, nodes, [np.zeros(law.size) for law in laws], variances, prior)


def start_means(given: Any, rng: np.random.Generator) -> Floats:
    """Draw a start from the prior where the posterior has a density."""
    centre, sd, scale = given[-3]
    while True:
        at = np.array([rng.normal(centre, sd), math.log(abs(rng.normal(0, scale)))])
        if log_means(at[0], at[1], given) > -math.inf:
            return at
