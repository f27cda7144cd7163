r"""Combining rules as weights: the total variance is T = w_v v + w_b b, for each rule.

With q_i and v_i from copy i of M, v = mean(v_i) and b = sum((q_i - q)^2) / (M - 1); for vectors
v and b are covariance matrices. r = n_syn / n, records in a copy over confidential records:

=================  ===============  =========  ====================================
rule               w_v              w_b        degrees of freedom
=================  ===============  =========  ====================================
liu                1                1 / M      (M - 1) (1 + M v / b)^2
rubin              1                1 + 1/M    (M - 1) (1 + v / ((1 + 1/M) b))^2
reiter             -1               1 + 1/M    (M - 1) (1 - v / ((1 + 1/M) b))^2
reiter_positive    reiter's where positive, else T = r v; df as reiter's
raab               r + (1 + r)/M    0          infinite (normal)
=================  ===============  =========  ====================================

Sources: Liu, modips, Theorem 7 (b with M - 1 below, as its Appendix F has it; the theorem
prints M), for copies as large as the confidential data; Rubin (1987); Raghunathan, Reiter and
Rubin (2003), as equation (3) of Charest (2010); Reiter (2002), her equation (4); Raab, Nowok
and Dibben (2017), for copies from a posterior draw, 1 + 2/M at r = 1.

Degrees of freedom are Satterthwaite's: b on M - 1, v as if known. T then varies with variance
2 (w_b b)^2 / (M - 1), a scaled chi^2 on nu degrees with 2 T^2 / nu, so that
nu = (M - 1) (T / (w_b b))^2 = (M - 1) (1 + w_v v / (w_b b))^2.

An interval on few of these covers too seldom, as b isn't known where nu is computed from it. Of
normal estimates 95% intervals by Liu's rule cover, where b / M is some times v and it is worst,
87.1% with 2 copies, 92.1% with 3, 93.5% with 4, 94.1% with 5 and 94.8% with 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from bayesdp.checks import as_float, check_one_of
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.combining_inputs import Floats

# Below, the t quantile exceeds 10^100 and scipy's is no longer monotone in df.
NO_INFORMATION = 0.01


class Rule(NamedTuple):
    """Combining rule: w_v(M, r), w_b(M), and whether T is kept positive, by the module's table."""

    within: Callable[[int, float], float]
    between: Callable[[int], float]
    positive: bool = False

    def needs(self) -> int:
        """Smallest number of copies that the rule takes."""
        return 2 if self.between(2) > 0 else 1


RULES: dict[str, Rule] = {
    "liu": Rule(lambda m, r: 1.0, lambda m: 1 / m),
    "rubin": Rule(lambda m, r: 1.0, lambda m: 1 + 1 / m),
    "reiter": Rule(lambda m, r: -1.0, lambda m: 1 + 1 / m),
    "reiter_positive": Rule(lambda m, r: -1.0, lambda m: 1 + 1 / m, positive=True),
    "raab": Rule(lambda m, r: r + (1 + r) / m, lambda m: 0.0),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a combining rule at a number of copies.

    Attributes
    ----------
    rule : str
    copies : int
    within, between : float
        w_v and w_b of T = w_v v + w_b b.
    fallback : float or None
        T is fallback * v where the weighted sum is negative; None: it is left negative.
    """

    rule: str
    copies: int
    within: float
    between: float
    fallback: float | None

    def total(self, v: Floats, b: Floats) -> Floats:
        """Weighted sum of the variances, which may be negative."""
        return np.asarray(self.within * v + self.between * b)

    def variance(self, v: Floats, b: Floats) -> Floats:
        """Total variance T of scalar estimands, of the shape of v and b."""
        total = self.total(v, b)
        return total if self.fallback is None else np.where(total >= 0, total, self.fallback * v)

    def df(self, v: Floats, b: Floats) -> Floats:
        """Degrees of freedom of scalar estimands, infinite where nothing varies between copies."""
        inflated = self.between * np.asarray(b)
        varies = inflated > 0
        with np.errstate(over="ignore"):  # beyond floats is infinite
            ratio = np.divide(v, inflated, out=np.zeros(np.shape(v)), where=varies)
            return np.where(varies, (self.copies - 1) * (1 + self.within * ratio) ** 2, math.inf)


def weights(rule: str, copies: int, size_ratio: float) -> Weights:
    """Compute the weights of a rule.

    Raises
    ------
    InvalidInput
        If the rule is unknown, size_ratio isn't positive, or there is one copy and the rule
        needs two.
    """
    check_one_of("rule", rule, tuple(RULES))
    size_ratio = check_size_ratio(size_ratio)
    row = RULES[rule]
    if copies < row.needs():
        raise InvalidInput(
            f"there is 1 copy; rule {quoted(rule)} needs at least 2, since it uses the variance "
            "between copies (rule='raab' takes one)"
        )
    fallback = size_ratio if row.positive else None
    return Weights(rule, copies, row.within(copies, size_ratio), row.between(copies), fallback)


def check_size_ratio(size_ratio: float) -> float:
    """Return an n_syn / n as a float if it is positive and finite, else raise InvalidInput."""
    checked = as_float(size_ratio)
    if not 0 < checked < math.inf:
        raise InvalidInput(f"size_ratio is {quoted(size_ratio)}; it must be positive and finite")
    return checked


def half_widths(variance: Floats, df: Floats, level: float) -> Floats:
    """Half widths t sqrt(variance), infinite where df is next to 0, NaN if variance is negative."""
    tail = (1 - check_level(level)) / 2
    informed = df >= NO_INFORMATION
    quantile = np.where(informed, stats.t.ppf(1 - tail, np.where(informed, df, 1.0)), math.inf)
    root = np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.where(variance > 0, quantile * root, np.where(variance == 0, 0.0, math.nan))


def negative_variance(what: str, variance: float, rule: str) -> InvalidInput:
    """The error of an interval or test whose variance is negative."""
    return InvalidInput(
        f"{what} is {variance:.3g}: rule {quoted(rule)} subtracts the variance "
        "within copies and may end below zero; use rule='reiter_positive'"
    )
