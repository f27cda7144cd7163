r"""Combining rules: one estimate and variance from analyses of several copies.

With q_i and v_i from copy i of M, q = mean(q_i), v = mean(v_i) and
b = sum((q_i - q)^2) / (M - 1):

=================  ==============================  ====================================
rule               variance                        degrees of freedom
=================  ==============================  ====================================
liu                v + b / M                       (M - 1) (1 + M v / b)^2
rubin              v + (1 + 1/M) b                 (M - 1) (1 + v / ((1 + 1/M) b))^2
reiter             (1 + 1/M) b - v                 (M - 1) (1 - v / ((1 + 1/M) b))^2
reiter_positive    reiter's where positive,        as reiter's
                   else (n_syn / n) v
raab               v (n_syn/n + (1 + n_syn/n)/M)   infinite (normal)
=================  ==============================  ====================================

Sources: Liu, modips, Theorem 7 (b with M - 1 below, as its Appendix F has it; the theorem
prints M); Rubin (1987); Raghunathan, Reiter and Rubin (2003), as equation (3) of Charest
(2010); Reiter (2002), her equation (4); Raab, Nowok and Dibben (2017), for copies from a
posterior draw, 1 + 2/M at n_syn = n.

None of them knows that the copies were drawn under a prior made for privacy, and none
removes the bias this causes: see `BinomialModel` for what does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Combined:
    """A combined estimate.

    Attributes
    ----------
    estimate, variance, df : float
        Point estimate, its estimated variance (negative where Reiter's rule makes it so),
        degrees of freedom of the t reference.
    rule : str
        The rule.
    """

    estimate: float
    variance: float
    df: float
    rule: str

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Two-sided confidence interval, estimate -+ t sqrt(variance).

        Raises
        ------
        InvalidInput
            If the variance is negative, or `level` isn't in (0, 1).
        """
        tail = check_level(level) / 2
        if self.variance < 0:
            raise InvalidInput(
                f"the variance is {self.variance:.3g}: rule {self.rule!r} subtracts the variance "
                "within copies and may end below zero; use rule='reiter_positive'"
            )
        # Below, the quantile exceeds 10^100 and scipy's is no longer monotone in df.
        quantile = math.inf if self.df < 0.01 else float(stats.t.ppf(1 - tail, self.df))
        half = quantile * math.sqrt(self.variance) if self.variance > 0 else 0.0
        return self.estimate - half, self.estimate + half


class _Summary(NamedTuple):
    copies: int
    between: float
    within: float
    size_ratio: float


def _liu(s: _Summary) -> tuple[float, float]:
    return s.within + s.between / s.copies, _df(s, s.between / s.copies, 1)


def _rubin(s: _Summary) -> tuple[float, float]:
    inflated = (1 + 1 / s.copies) * s.between
    return s.within + inflated, _df(s, inflated, 1)


def _reiter(s: _Summary) -> tuple[float, float]:
    inflated = (1 + 1 / s.copies) * s.between
    return inflated - s.within, _df(s, inflated, -1)


def _reiter_positive(s: _Summary) -> tuple[float, float]:
    variance, df = _reiter(s)
    return (variance if variance >= 0 else s.size_ratio * s.within), df


def _raab(s: _Summary) -> tuple[float, float]:
    return s.within * (s.size_ratio + (1 + s.size_ratio) / s.copies), math.inf


def _df(s: _Summary, inflated: float, sign: int) -> float:
    if inflated == 0:
        return math.inf
    return (s.copies - 1) * (1 + sign * s.within / inflated) ** 2


RULES: dict[str, Callable[[_Summary], tuple[float, float]]] = {
    "liu": _liu,
    "rubin": _rubin,
    "reiter": _reiter,
    "reiter_positive": _reiter_positive,
    "raab": _raab,
}


def combine(
    estimates: ArrayLike, variances: ArrayLike, rule: str = "liu", *, size_ratio: float = 1.0
) -> Combined:
    """Combine the analyses of several copies.

    Parameters
    ----------
    estimates, variances : array_like, shape (copies,)
        From each copy, analysed as if it were real.
    rule : {"liu", "rubin", "reiter", "reiter_positive", "raab"}
        See the module's table.
    size_ratio : float
        n_syn / n, records in a copy over records in the confidential data; used by
        reiter_positive and raab.

    Raises
    ------
    InvalidInput
        If the rule is unknown, the arrays don't match or aren't finite, a variance is
        negative, size_ratio isn't positive, or there is one copy and the rule needs two.
    """
    if rule not in RULES:
        raise InvalidInput(f"rule is {rule!r}; it must be one of {', '.join(map(repr, RULES))}")
    q, v = _vector("estimates", estimates), _vector("variances", variances)
    if q.size != v.size:
        raise InvalidInput(f"estimates has {q.size} elements and variances {v.size}; match them")
    if np.any(v < 0):
        raise InvalidInput(
            "variances has a negative element; variances are squared standard errors"
        )
    if not (size_ratio > 0 and math.isfinite(size_ratio)):
        raise InvalidInput(f"size_ratio is {size_ratio!r}; it must be positive and finite")
    if q.size < 2 and rule != "raab":
        raise InvalidInput(
            f"there is 1 copy; rule {rule!r} needs at least 2, since it uses the variance between "
            "copies (rule='raab' takes one)"
        )
    between = float(q.var(ddof=1)) if q.size > 1 else 0.0
    variance, df = RULES[rule](_Summary(q.size, between, float(v.mean()), size_ratio))
    return Combined(float(q.mean()), variance, df, rule)


def proportions(ones: ArrayLike, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimate z / size and variance q (1 - q) / size of each copy, shape of `ones`."""
    q = np.asarray(ones, dtype=np.float64) / size
    return q, q * (1 - q) / size


def _vector(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)):
        raise InvalidInput(f"{name} must be a non-empty list of finite numbers, one per copy")
    return array
