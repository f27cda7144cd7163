r"""Integrals of a likelihood of p over a beta distribution, and draws in proportion to it.

With t = log(p / (1 - p)) and f(t) = L(p) p^alpha (1 - p)^beta, both tails of f are exponential, and

    integral of L(p) Beta(p | alpha, beta) dp = h sum over j of f(o + j h) / B(alpha, beta)

for any offset o, but for an error that falls faster than exponentially in 1 / h. f is a sum of
multiples of p^a (1 - p)^b with a + b = alpha + beta + n, which aren't negative, and of each
Poisson's formula gives the relative error, at most

    2 sum over k >= 1 of |Gamma(a + 2 pi i k / h) Gamma(b - 2 pi i k / h)| / Gamma(a) Gamma(b),

about 2 exp(-2 pi^2 (a + b) / (a b h^2)). So a stride of 0.45 / sqrt((alpha + beta + n) p (1 - p))
is always fine enough. Outputs are mostly less informative about p than n records, and the stride is
that for the number of records that they are worth; it is halved until the sums over even and over
odd j agree to 1e-9, where the error of their average is far smaller still if L is smooth.

As the sum doesn't depend on o, a node of a lattice with an offset drawn at random, chosen in
proportion to f, is an exact draw of t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.engines.likelihood_curves import POINTS, Curve


def in_one(curves: Sequence[Curve | None]) -> tuple[Any, ...]:
    """Join the groups' curves one after the other, for `curve_of`; None has no panels."""
    panels = [0 if curve is None else curve.highest.size for curve in curves]
    some = [curve for curve in curves if curve is not None]
    before = [np.maximum.accumulate(curve.highest) for curve in some]
    after = [np.maximum.accumulate(curve.highest[::-1])[::-1] for curve in some]
    return (
        np.r_[0, np.cumsum(panels)],
        np.concatenate([np.zeros(1) if curve is None else curve.edges for curve in curves]),
        np.concatenate([np.empty((0, POINTS)), *(curve.coefficients for curve in some)]),
        np.concatenate([np.empty(0), *before]),
        np.concatenate([np.empty(0), *after]),
        np.concatenate([np.empty(0), *(curve.worth for curve in some)]),
        np.array([np.zeros(4) if curve is None else curve.ends for curve in curves]),
    )
