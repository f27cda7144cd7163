r"""Groups' proportions from one beta distribution, with all counts and proportions summed out.

With m the mean and kappa the concentration of that beta distribution,

    x_g | m, kappa ~ BetaBinomial(n_g, m kappa, (1 - m) kappa),    outputs_g | x_g ~ mechanism,

so the likelihood of (m, kappa) is a product over groups of sums over x_g, and only two numbers are
left to sample, u = logit m and v = log kappa (`bayesdp.engines.partial_pooling`). Given them each
x_g is drawn from its sum, and p_g from its beta distribution: exact draws.

A sum runs over the counts that matter at that (m, kappa). A beta-binomial probability is at most 1,
so with any count x* the sum is at least w = law(x*) Pr[x*], and all counts whose law is below
e^-50 w together add less than (n + 1) e^-50 of it: the sum of an outlying group includes counts at
which its law is small, as far as the other groups' information about m and kappa outweighs it.

Along x the logs of the beta-binomial probabilities follow by the ratio

    (n - x) (m kappa + x) / ((x + 1) ((1 - m) kappa + n - x - 1)),

and from one stretch to another by rising factorials, which are taken by Stirling's series where
differences of log gamma functions would cancel. Where groups have more counts to look at than the
largest has records, all of them take rising factorials from one table.

A group with thousands of counts to look at has a curve in their place, its likelihood of p
(`bayesdp.engines.likelihood_curves`), whose integral over the beta distribution is that sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.likelihood_curves import Curve
from bayesdp.engines.pooled_laws import Given, in_a_row
from bayesdp.kernels.pooled.proportions import log_proportions

Floats = NDArray[np.float64]
_LONGEST = 20_000  # table of rising factorials, whose rounding errors add up


def given_proportions(
    laws: list[Floats],
    nodes: list[Any],
    sizes: list[int],
    prior: tuple[float, float, float],
    curves: list[Curve | None] | None = None,
) -> Given:
    """Prepare the arrays for `log_proportions`.

    Parameters
    ----------
    laws, nodes : list of ndarray
        log Pr[outputs | x] of each group, at ascending x.
    sizes : list of int
        n of each group.
    prior : tuple of three floats
        a and b of m's beta prior, and kappa's prior median, c of the density c / (c + kappa)^2.
    curves : list of Curve or None, optional
        Curves of the groups that have one; their laws and nodes aren't read.
    """
    if curves is not None:
        whole = [curve is None for curve in curves]
        laws = [law if keep else np.empty(0) for law, keep in zip(laws, whole, strict=True)]
        nodes = [x if keep else np.empty(0) for x, keep in zip(nodes, whole, strict=True)]

    ways = [
        special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
        for x, n in zip(nodes, sizes, strict=True)
    ]
    longest = 1 + max((n for n, law in zip(sizes, laws, strict=True) if law.size), default=0)
    tabled = longest <= min(sum(law.size for law in laws) / 2, _LONGEST)
    return in_a_row(laws, nodes, ways, sizes, prior, longest if tabled else 0, curves)


def start_proportions(given: Any, rng: np.random.Generator) -> Floats:
    """Draw a start from the prior where the posterior has a density."""
    a, b, median = given[-3]
    while True:
        m, shrunk = rng.beta(a, b), rng.random()
        if 0 < m < 1 and 0 < shrunk < 1:
            at = np.array([math.log(m / (1 - m)), math.log(median * (1 - shrunk) / shrunk)])
            if log_proportions(at[0], at[1], given) > -math.inf:
                return at
