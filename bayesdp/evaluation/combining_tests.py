r"""Wald and likelihood-ratio tests over copies, by every combining rule.

A rule's total covariance is T = w_v V + w_b B (see `combining_rules`). Where B is proportional
to V, T = (w_v + rho) V with the relative increase rho = w_b tr(B V^-1) / p, and

    D = (q - q_0)' V^-1 (q - q_0) / (p (w_v + rho)),    reference F(p, w).

tr(B V^-1) / p varies as its expectation times chi^2_t / t, t = p (M - 1). Given the observed rho,
(w_v + rho t / chi^2_t) / (w_v + rho) is approximated by a multiple of w / chi^2_w; equal
coefficients of variation, 2 / (t - 4) / (1 + w_v (1 - 2/t) / rho)^2 = 2 / (w - 4), give

    w = 4 + (t - 4) (1 + w_v (1 - 2/t) / rho)^2         for t > 4,
    w = t (1 + 1/p) (1 + w_v / rho)^2 / 2               for t <= 4, where no variance exists.

With w_v = 1 and w_b = 1 + 1/M this is Li, Raghunathan and Rubin (1991), whose choice for small t
is kept for all rules; with w_v = -1 it is Reiter (2005) for fully synthetic data; with w_v = 1
and w_b = 1/M, Reiter (2005) for partially synthetic data, which is Liu's total variance, so that
the same derivation holds for Liu's rule. For one component w is the rule's own df, and the test
rejects exactly where the interval leaves out q_0.

Exact sizes at 5%, B proportional to V, p = 3: Liu's rule 3.4% at M = 3, 4.8% at 5, 5.0% at 10;
Rubin's 4.6% at 5; Reiter's 7.2% at 5, 5.9% at 10, 5.0% at 30 (B / V = 2, for Rubin's 1).

The likelihood-ratio test (Meng and Rubin, 1992; Reiter, 2005) finds both parts without covariance
matrices. d_own, the mean over copies of 2 (l_i(full_i) - l_i(null_i)), is near the mean of the
copies' own Wald statistics and d_mean, the same at the averages over copies, near that of the
average, (q - q_0)' V^-1 (q - q_0); their difference is near (1 - 1/M) tr(B V^-1), hence

    rho = w_b M (d_own - d_mean) / ((M - 1) p),    D = d_mean / (p (w_v + rho)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.combining_inputs import Floats, finite
from bayesdp.evaluation.combining_rules import (
    NO_INFORMATION,
    Weights,
    negative_variance,
    weights,
)

# A maximum that an optimiser missed by less changes no conclusion.
_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class FTest:
    """Result of a test: statistic, degrees of freedom and p-value.

    Attributes
    ----------
    statistic : float
        Compared with the F law.
    df : tuple of float
        Degrees of freedom of the F law's numerator and denominator; the latter may be infinite.
    p_value : float
        Probability of a larger statistic under the null hypothesis.
    """

    statistic: float
    df: tuple[float, float]
    p_value: float


def f_test(statistic: float, components: int, df: float) -> FTest:
    """Upper tail of F(components, df); 1 where df is close to 0, as nothing is known then."""
    if df < NO_INFORMATION:
        tail = 1.0
    elif math.isinf(df):
        tail = float(stats.chi2.sf(components * statistic, components))
    else:
        tail = float(stats.f.sf(statistic, components, df))
    return FTest(statistic, (float(components), df), tail)


def wald_scalar(difference: float, variance: float, df: float, rule: str) -> FTest:
    """Wald statistic difference^2 / variance, the square of the t statistic."""
    if variance < 0:
        raise negative_variance("the variance", variance, rule)
    if variance == 0:
        raise InvalidInput("the variance is 0 and a test divides by it; the copies are all alike")
    return f_test(difference**2 / variance, 1, df)


def wald_proportional(difference: Floats, within: Floats, between: Floats, w: Weights) -> FTest:
    """Wald test with B proportional to V, for two components or more."""
    root = _cholesky("the mean of variances", within)
    size = difference.size
    rho = w.between * float(np.trace(_in_units(root, between))) / size
    distance = float(np.sum(np.linalg.solve(root, difference) ** 2))
    return _proportional(distance, max(0.0, rho), size, w)


def wald_general(difference: Floats, between: Floats, total: Floats, w: Weights) -> FTest:
    r"""Wald test with T itself, which needs no proportional B but more copies.

    T varies as a Wishart matrix over its degrees of freedom nu: with A = T^-1 w_b B, equal
    total variances (M - 1)^-1 (tr(A^2) + tr(A)^2) = nu^-1 (p + p^2) give nu, as in the
    multivariate Behrens-Fisher problem (Krishnamoorthy and Yu, 2004); nu is the rule's own df at
    p = 1. By Hotelling's law (nu - p + 1) / (nu p) (q - q_0)' T^-1 (q - q_0) is F(p, nu - p + 1).
    """
    root = _cholesky(f"the covariance by rule {quoted(w.rule)}", total)
    size = difference.size
    distance = float(np.sum(np.linalg.solve(root, difference) ** 2))
    share = _in_units(root, w.between * between)
    spread = float(np.sum(share**2) + np.trace(share) ** 2)
    if spread == 0:
        return f_test(distance / size, size, math.inf)
    nu = (w.copies - 1) * (size + size**2) / spread
    if nu <= size - 1:
        raise InvalidInput(
            f"the covariance has {nu:.2g} degrees of freedom and {size} components need more than "
            f"{size - 1}; use more copies, fewer components or proportional=True"
        )
    return f_test(distance * (nu - size + 1) / (nu * size), size, nu - size + 1)


def likelihood_ratio_test(
    log_likelihoods: Sequence[Callable[[Floats], float]],
    full: ArrayLike,
    null: ArrayLike,
    constraints: int,
    rule: str = "liu",
    *,
    size_ratio: float = 1.0,
) -> FTest:
    """Test a null hypothesis over copies by the likelihood ratio.

    Parameters
    ----------
    log_likelihoods : sequence of callable, one per copy
        Each takes parameters, shape (k,), and returns its copy's log-likelihood, up to a constant
        of the copy's own; for example ``[model.loglike for model in models]`` of statsmodels.
    full, null : array_like, shape (copies, k)
        Each copy's maximum likelihood estimates without and under the null hypothesis, in the
        same k parameters (with the values that it fixes filled in).
    constraints : int
        How many constraints the null hypothesis imposes, p.
    rule, size_ratio
        As for `combine`.

    Returns
    -------
    FTest

    Raises
    ------
    InvalidInput
        If shapes don't match, a value isn't finite, the rule needs more copies or gives a variance
        that isn't positive, or a copy's `full` isn't its maximum.

    Notes
    -----
    The module's docstring has the formulas. An estimate of rho below 0 is taken as 0.
    """
    theta = finite("full", full, "finite numbers of shape (copies, parameters)", 2)
    theta_0 = finite("null", null, "finite numbers of shape (copies, parameters)", 2)
    if theta.shape != theta_0.shape or len(log_likelihoods) != theta.shape[0]:
        raise InvalidInput(
            f"there are {len(log_likelihoods)} log_likelihoods, full has shape {theta.shape} and "
            f"null {theta_0.shape}; give each copy one function and one row of each"
        )
    copies, parameters = theta.shape
    constraints = check_at_least_one("constraints", constraints)
    if constraints > parameters:
        raise InvalidInput(
            f"constraints is {quoted(constraints)}; {parameters} parameters allow {parameters} at "
            "most"
        )
    w = weights(rule, copies, size_ratio)
    mean, mean_0 = theta.mean(axis=0), theta_0.mean(axis=0)
    own, averaged = np.empty(copies), np.empty(copies)
    for i, log_likelihood in enumerate(log_likelihoods):
        points = (theta[i], theta_0[i], mean, mean_0)
        top, *others = (_evaluate(log_likelihood, i, point) for point in points)
        if max(others) > top + _SLACK + 1e-9 * abs(top):
            raise InvalidInput(
                f"copy {i}'s log-likelihood is {top:.6g} at full[{i}] and {max(others):.6g} "
                "elsewhere; full must hold each copy's maximum, over a space that contains null's"
            )
        own[i], averaged[i] = 2 * (top - others[0]), 2 * (others[1] - others[2])
    distance, rho = float(averaged.mean()), 0.0
    if w.between > 0:
        spread = max(0.0, float(own.mean()) - distance)
        rho = w.between * copies * spread / ((copies - 1) * constraints)
    return _proportional(distance, rho, constraints, w)


def _proportional(distance: float, rho: float, size: int, w: Weights) -> FTest:
    scale = w.within + rho
    if scale < 0 and w.fallback is not None:
        scale = w.fallback
    if scale < 0:
        raise negative_variance("the variance relative to that within copies", scale, w.rule)
    if scale == 0:
        raise InvalidInput(
            f"the variance by rule {quoted(w.rule)} is 0; use rule='reiter_positive'"
        )
    return f_test(distance / (size * scale), size, _denominator_df(rho, size, w))


def _denominator_df(rho: float, size: int, w: Weights) -> float:
    if rho == 0:
        return math.inf
    t = size * (w.copies - 1)
    if size == 1:
        return float(t * (1 + w.within / rho) ** 2)
    if t > 4:
        return float(4 + (t - 4) * (1 + w.within * (1 - 2 / t) / rho) ** 2)
    return float(t * (1 + 1 / size) * (1 + w.within / rho) ** 2 / 2)


def _evaluate(log_likelihood: Callable[[Floats], Any], copy: int, point: Floats) -> float:
    value = np.asarray(log_likelihood(point.copy()), dtype=np.float64)
    if value.shape != () or not np.isfinite(value):
        raise InvalidInput(
            f"log_likelihoods[{copy}] returned {quoted(value)} at {point}; it must be one finite "
            "number there"
        )
    return float(value)


def _in_units(root: Floats, matrix: Floats) -> Floats:
    """Rescale a matrix to root^-1 matrix root^-T."""
    half = np.linalg.solve(root, matrix)
    return np.asarray(np.linalg.solve(root, half.T))


def _cholesky(what: str, matrix: Floats) -> Floats:
    """Lower root of a positive definite matrix, judged in units of its own diagonal."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    if np.all(scale > 0):
        correlation = matrix / np.outer(scale, scale)
        if np.linalg.eigvalsh(correlation)[0] > 1e-12:
            return np.asarray(scale[:, None] * np.linalg.cholesky(correlation))
    raise InvalidInput(
        f"{what} isn't positive definite, and a Wald test inverts it; leave out components that "
        "depend on the others, or, where a rule made it so, take another rule or proportional=True"
    )
