r"""Nested modips: m sanitised posteriors, t draws and copies of each, and variance components.

Given the confidential data, copy j of sanitisation i has an estimate

    q_ij = q_hat + S_i + P_ij + E_ij,

S_i from sanitising (shared by the t copies of i), P_ij from the posterior draw given the
sanitised statistic, E_ij from sampling the copy given the draw; independent, with mean 0 and
variances b_1, b_21, b_22, whose sum is the b of Theorem 7. With the means q_i, q and v of q_ij over
j, of q_ij and of v_ij over all, and

    between  B = sum_i (q_i - q)^2 / (m - 1),             E B = b_1 + (b_21 + b_22) / t,
    within   W = sum_ij (q_ij - q_i)^2 / (m (t - 1)),     E W = b_21 + b_22,

and E v = b_22, as each v_ij estimates the sampling variance of its own copy, unbiased are

    b_1 = B - W / t,    b_21 = W - v,    b_22 = v.

The first two come out negative where the true ones are small; they are left negative, since
truncating them at 0 would bias them. q has variance b_1 / m + (b_21 + b_22) / (m t) = E B / m about
q_hat, which has variance E v about the estimand if copies are as large as the confidential data:

    T = v + B / m,    nu = (m - 1) (1 + m v / B)^2,

Liu's rule for the m averages q_i. The degrees of freedom are Satterthwaite's, B on m - 1. Treating
all m t copies as independent, v + b / (m t), would divide b_1 by m t draws where there are m.

Source: Liu, modips, section 3.1 (Figure 3) and Theorem 7, which names the components; the
formulas are derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.combining_inputs import check_variances, finite
from bayesdp.evaluation.combining_results import Combined
from bayesdp.evaluation.combining_rules import weights


@dataclass(frozen=True, slots=True)
class CombinedNested(Combined):
    """A combined estimate of copies in a nested design, with its interval and test.

    Attributes
    ----------
    b1 : float
        Variance of one copy's estimate from sanitising.
    b21 : float
        Variance from drawing the parameter from its posterior.
    b22 : float
        Variance from sampling the copy given the parameter.

    Notes
    -----
    Each estimate is unbiased, so that b1 and b21 may be negative; the sum of all three estimates
    Theorem 7's b.
    """

    b1: float
    b21: float
    b22: float


def combine_nested(estimates: ArrayLike, variances: ArrayLike) -> CombinedNested:
    """Combine the analyses of nested copies and tell the sources of variance apart.

    Parameters
    ----------
    estimates, variances : array_like, shape (m, t)
        Results from each copy, analysed as if it were real; row i has the t copies drawn given the
        i-th sanitised statistic. Copies have as many records as the confidential data.

    Returns
    -------
    CombinedNested

    Raises
    ------
    InvalidInput
        If the arrays don't match or aren't finite, a variance is negative, or m or t is 1.

    Notes
    -----
    The module's docstring has the formulas.
    """
    form = "finite numbers of shape (m, t): sanitisations, copies of each"
    q, v = finite("estimates", estimates, form, 2), finite("variances", variances, form, 2)
    if q.shape != v.shape:
        raise InvalidInput(f"estimates has shape {q.shape} and variances {v.shape}; match them")
    check_variances(v)
    m, t = q.shape
    if m < 2:
        raise InvalidInput(
            "there is 1 sanitisation; at least 2 are needed, since the noise that its copies share "
            "doesn't show between them"
        )
    if t < 2:
        raise InvalidInput(
            "there is 1 copy of each sanitisation; at least 2 are needed to tell the variances "
            "apart (use combine(estimates[:, 0], variances[:, 0]) without)"
        )
    between = np.asarray(q.mean(axis=1).var(ddof=1))
    within = float(q.var(axis=1, ddof=1).mean())
    mean = np.asarray(v.mean())
    w = weights("liu", m, 1.0)
    return CombinedNested(
        estimate=float(q.mean()),
        variance=float(w.variance(mean, between)),
        df=float(w.df(mean, between)),
        rule=w.rule,
        b1=float(between) - within / t,
        b21=within - float(mean),
        b22=float(mean),
    )
