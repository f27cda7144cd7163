"""Combining the analyses of several copies, scalar or vector, by one rule or by all.

The rules, their degrees of freedom and sources are tabulated in `combining_rules`; tests are
derived in `combining_tests`; copies in a nested design are combined by `combine_nested`.

None of the rules knows that the copies were drawn under a prior made for privacy, and none
removes the bias this causes: see `BinomialModel` for what does. None sees noise that all copies
share, either: where a statistic was sanitised once and all copies drawn from it, the variance
between copies leaves that noise out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bayesdp.engines.mixture import check_level
from bayesdp.evaluation.combining_inputs import Floats, analyses
from bayesdp.evaluation.combining_results import Combined, CombinedVector
from bayesdp.evaluation.combining_rules import RULES, Weights, check_size_ratio, weights

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RULES", "Combined", "CombinedVector", "combine", "combine_all", "proportions"]


def combine(
    estimates: ArrayLike, variances: ArrayLike, rule: str = "liu", *, size_ratio: float = 1.0
) -> Combined | CombinedVector:
    """Combine the analyses of several copies.

    Parameters
    ----------
    estimates : array_like, shape (copies,) or (copies, p)
        Estimates from each copy, analysed as if it were real; a DataFrame's columns name the
        components.
    variances : array_like, shape (copies,); for vectors (copies, p, p), or (copies, p)
        Squared standard errors; for vectors covariance matrices, or variances alone, which give
        intervals but no Wald test. For example
        ``combine(pd.DataFrame([f.params for f in fits]), [f.cov_params() for f in fits])``.
    rule : {"liu", "rubin", "reiter", "reiter_positive", "raab"}
        The combining rule; see the table in `combining_rules`.
    size_ratio : float
        n_syn / n, records in a copy over records in the confidential data; used by
        reiter_positive and raab.

    Returns
    -------
    Combined or CombinedVector
        The latter for estimates of shape (copies, p).

    Raises
    ------
    InvalidInput
        If the rule is unknown, the arrays don't match or aren't finite, a variance is
        negative, a covariance matrix isn't symmetric and positive semidefinite, size_ratio
        isn't positive, or there is one copy and the rule needs two.

    Notes
    -----
    Each component of a vector is combined as it would be alone, with one exception: from
    covariance matrices, reiter_positive keeps the whole matrix positive semidefinite, and takes
    (n_syn / n) V where T isn't, as for p >= M.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mean = bdp.combine([0.31, 0.35, 0.33], [0.002, 0.0022, 0.0024])
    >>> mean.estimate, [round(end, 3) for end in mean.interval(0.95)]
    (0.33, [0.235, 0.425])
    """
    q, v, names = analyses(estimates, variances)
    w = weights(rule, q.shape[0], size_ratio)
    return _scalar(q, v, w) if q.ndim == 1 else _vector(q, v, w, names)


def combine_all(
    estimates: ArrayLike, variances: ArrayLike, *, size_ratio: float = 1.0, level: float = 0.95
) -> pd.DataFrame:
    """Combine the analyses of several copies by all rules, side by side.

    Parameters
    ----------
    estimates, variances, size_ratio
        As for `combine`.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    DataFrame
        Index: rule; for vectors, rule and component. Columns: estimate, variance, df, low, high
        (the interval) and note, which says why a rule doesn't apply (its numbers are then NaN,
        except for a negative variance, which is shown) and is empty where it does. A variance of 0,
        as of proportions that are 0 in all copies, is noted: its interval has no width.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> bdp.evaluate.combine_all([0.31, 0.35, 0.33], [0.002, 0.0022, 0.0024])["variance"].round(5)
    rule
    liu                0.00233
    rubin              0.00273
    reiter            -0.00167
    reiter_positive    0.00220
    raab               0.00367
    Name: variance, dtype: float64
    """
    import pandas as pd

    level = check_level(level)
    size_ratio = check_size_ratio(size_ratio)
    q, v, names = analyses(estimates, variances)
    if scalar := q.ndim == 1:
        q, v = q[:, None], v[:, None]
    rows = [_rows(rule, q, v, names, size_ratio, level) for rule in RULES]
    table = pd.concat(rows, keys=list(RULES), names=["rule", "component"])
    return table.droplevel("component") if scalar else table


def proportions(ones: ArrayLike, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimate z / size and variance q (1 - q) / size of each copy, in the shape of `ones`."""
    q = np.asarray(ones, dtype=np.float64) / size
    return q, q * (1 - q) / size


def _scalar(q: Floats, v: Floats, w: Weights) -> Combined:
    within = np.asarray(v.mean())
    between = np.asarray(q.var(ddof=1) if q.size > 1 else 0.0)
    variance, df = float(w.variance(within, between)), float(w.df(within, between))
    return Combined(float(q.mean()), variance, df, w.rule)


def _vector(q: Floats, v: Floats, w: Weights, names: tuple[str, ...]) -> CombinedVector:
    centred = q - q.mean(axis=0)
    between = centred.T @ centred / max(q.shape[0] - 1, 1)
    within = v.mean(axis=0)
    spread = np.diag(between)
    if within.ndim == 1:
        variance, df = w.variance(within, spread), w.df(within, spread)
        return CombinedVector(q.mean(axis=0), variance, df, None, None, None, names, w.rule, w)
    covariance = w.total(within, between)
    if w.fallback is not None and np.linalg.eigvalsh(covariance)[0] < 0:
        covariance = w.fallback * within
    df = w.df(np.diag(within), spread)
    variance = np.diag(covariance).copy()
    return CombinedVector(
        q.mean(axis=0), variance, df, covariance, within, between, names, w.rule, w
    )


def _rows(
    rule: str, q: Floats, v: Floats, names: tuple[str, ...], size_ratio: float, level: float
) -> pd.DataFrame:
    """Combine by one rule, as a part of `combine_all`, a row per component."""
    import pandas as pd

    if q.shape[0] < RULES[rule].needs():
        index = pd.Index(names, name="component")
        numbers = pd.DataFrame(math.nan, index, ["estimate", "variance", "df", "low", "high"])
        return numbers.assign(note="needs two copies")
    combined = _vector(q, v, weights(rule, q.shape[0], size_ratio), names)
    note = np.where(combined.variance < 0, "negative variance", "")
    note = np.where(combined.variance == 0, "no variance: an interval of no width", note)
    return combined.to_frame(level).assign(note=note)
