"""Propensity scores: can a model tell released from confidential records? The pMSE.

Of N = n + n_syn records stacked, c = n_syn / N are synthetic. A logistic regression of "synthetic"
on the columns, with k coefficients, the intercept among them, gives every record a propensity
score p_i. Then (Woo, Reiter, Oganian and Karr 2009)

    pMSE = (1/N) sum_i (p_i - c)^2,   between 0 and c (1 - c)

where 0 says that the model can't tell them apart, and c (1 - c) that it always can.

The pMSE under chance alone. To first order, p - c is the projection of (synthetic - c) on the k - 1
columns besides the intercept, and sum (p_i - c)^2 is c (1 - c) times a chi-squared variable with
k - 1 degrees of freedom, scaled by how much the two groups' means vary:

- the synthetic records are drawn from the fitted law of the confidential ones, taken as it is
  (Snoke, Raab, Nowok, Dibben and Slavkovic 2018). Only the synthetic means vary, by a share
  (1/n_syn) / (1/n_syn + 1/n) = 1 - c of the whole:
  expectation (k - 1) (1 - c)^2 c / N, standard deviation sqrt(2 (k - 1)) (1 - c)^2 c / N;
- both are independent samples of one law, as with draws from a posterior as wide as the sampling
  variance: expectation (k - 1) (1 - c) c / N.

Both assume independent records, a model whose terms the synthesizer has reproduced, N large
relative to k, and a maximum likelihood estimate that exists. Where the groups can be separated (one
of them lacks a category), the scores are those at the limit of the likelihood, and the expectations
don't hold. Neither allows for noise added for privacy, which also raises the ratio above 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from bayesdp.errors import EngineFailed, InvalidInput
from bayesdp.evaluation.compared_frames import Codes, Floats

_STEPS = 200
_MOST = 1000  # coefficients
# Of the log-likelihood: propensities are then right to about 1e-5 even where it has no maximum.
_GAIN = 1e-9


def design(
    numeric: Mapping[Any, tuple[Floats, Floats]],
    categories: Mapping[Any, tuple[Codes, Codes]],
    interactions: bool,
) -> Floats:
    """Build predictors of the stacked records, the confidential first: main effects, products.

    Numbers are centred and divided by their standard deviation; categories have an indicator for
    each label except one. Columns that depend on earlier ones are left out, so that k is the rank.

    Raises
    ------
    InvalidInput
        If there would be more than 1,000 columns.
    """
    widths = [1] * len(numeric) + [int(max(map(np.max, each))) for each in categories.values()]
    if sum(widths) + interactions * (sum(widths) ** 2 - sum(w * w for w in widths)) / 2 > _MOST:
        raise InvalidInput(
            f"the propensity model would have more than {_MOST} coefficients; leave columns with "
            "many labels out by columns=, or set interactions=False"
        )
    blocks: list[Floats] = []
    for values in numeric.values():
        stacked = np.concatenate(values)
        spread = stacked.std()
        if spread > 0:
            blocks.append(((stacked - stacked.mean()) / spread)[:, None])
    for codes in categories.values():
        together = np.concatenate(codes)
        labels = np.unique(together)[1:]
        if labels.size:
            blocks.append((together[:, None] == labels).astype(np.float64))
    if interactions:
        blocks += [
            (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
            for i, one in enumerate(blocks)
            for other in blocks[i + 1 :]
        ]
    rows = sum(len(each) for each in next(iter([*numeric.values(), *categories.values()])))
    return _independent(np.hstack([np.ones((rows, 1)), *blocks]))


def _independent(columns: Floats) -> Floats:
    """Select the columns that aren't linear combinations of earlier ones."""
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    triangle: Floats = np.asarray(np.linalg.qr(columns, mode="r"))
    # A dependent column has nothing left but rounding once the earlier ones are taken out.
    kept: list[int] = []
    basis = np.zeros((triangle.shape[0], 0))
    for j in range(triangle.shape[1]):
        rest = triangle[:, j] - basis @ (basis.T @ triangle[:, j])
        rest -= basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size > 1e-8:
            kept.append(j)
            basis = np.hstack([basis, (rest / size)[:, None]])
    return np.asarray(columns[:, kept])


def propensities(predictors: Floats, synthetic: Floats) -> Floats:
    """Fit probabilities of a logistic regression, by Newton's method with halved steps.

    Raises
    ------
    EngineFailed
        If Newton's method doesn't converge.
    """
    coefficients = np.zeros(predictors.shape[1])
    linear = predictors @ coefficients
    fit = _log_likelihood(linear, synthetic)
    for _ in range(_STEPS):
        p = expit(linear)
        weighted = predictors * (p * (1 - p))[:, None]
        step = np.linalg.lstsq(predictors.T @ weighted, predictors.T @ (synthetic - p))[0]
        size = 1.0
        while (new := _log_likelihood(predictors @ (coefficients + size * step), synthetic)) < fit:
            size /= 2
            if size < 1e-10:
                return np.asarray(p)  # no uphill step is left but rounding
        coefficients = coefficients + size * step
        linear = predictors @ coefficients
        gain, fit = new - fit, new
        if gain < _GAIN:
            return np.asarray(expit(linear))
    raise EngineFailed(
        f"the propensity model didn't converge in {_STEPS} steps; compare fewer columns, or "
        "without interactions"
    )


def _log_likelihood(linear: Floats, synthetic: Floats) -> float:
    return float(np.sum(synthetic * linear - np.logaddexp(0, linear)))


def propensity_measures(predictors: Floats, n: int) -> dict[str, float]:
    """Compute pMSE, its standardised forms, and the distance of the scores' distributions.

    Parameters
    ----------
    predictors : ndarray, shape (n + n_syn, k)
        Predictors of the confidential records and then of the synthetic ones.
    n : int
        Number of confidential records.

    Returns
    -------
    dict
        pmse; pmse_ratio, pmse / E0, and pmse_standardized, (pmse - E0) / SD0, with Snoke's
        expectation and standard deviation; pmse_ratio_independent, with the expectation of
        independent samples; propensity_ks, the largest distance between the distribution
        functions of confidential and synthetic scores (SPECKS: Bowen, Liu and Su 2021). The
        ratios are NaN where k = 1: no column varies.
    """
    total, k = predictors.shape
    c = (total - n) / total
    synthetic = np.repeat([0.0, 1.0], [n, total - n])
    p = propensities(predictors, synthetic)
    pmse = float(np.mean((p - c) ** 2))
    unit = (1 - c) ** 2 * c / total
    known = k > 1
    return {
        "pmse": pmse,
        "pmse_ratio": pmse / ((k - 1) * unit) if known else np.nan,
        "pmse_standardized": (
            (pmse - (k - 1) * unit) / (np.sqrt(2 * (k - 1)) * unit) if known else np.nan
        ),
        "pmse_ratio_independent": pmse * (1 - c) / ((k - 1) * unit) if known else np.nan,
        # rounding alone orders scores that are equal
        "propensity_ks": ecdf_distances(np.round(p[:n], 9), np.round(p[n:], 9))[0],
    }


def ecdf_distances(confidential: Floats, released: Floats) -> tuple[float, float]:
    """Largest and mean squared distance between two empirical distribution functions.

    max_x |F(x) - G(x)|, and (1/N) sum over all N = n + n_syn stacked records of (F - G)^2 at them
    (Woo, Reiter, Oganian and Karr 2009).
    """
    stacked = np.concatenate([confidential, released])
    gap = np.searchsorted(np.sort(confidential), stacked, side="right") / len(confidential)
    gap = gap - np.searchsorted(np.sort(released), stacked, side="right") / len(released)
    return float(np.max(np.abs(gap))), float(np.mean(gap**2))
