"""Conjugate releases of binary records: how they are drawn, and their laws.

The statistic is a `Count`. A released parameter is the probability of a one, synthetic records
are their number of ones. Zeros and ones are two categories, so all methods but `synthetic_one`,
which is the beta-binomial mechanism, are those of `categorical_outputs` with k = 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace
from bayesdp.core.outputs.counts import Probabilities
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.conjugate import categorical_outputs as two_categories
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism, ones_among
from bayesdp.mechanisms.counts.count import Count, count_view, drawn_ones
from bayesdp.mechanisms.laws import beta_logpdf
from bayesdp.mechanisms.randomness import generator

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism


def statistic_of(release: ConjugateMechanism, data: Any) -> Count:
    """Count the ones among 0/1 records."""
    return Count.of(data)


def check_statistic(release: ConjugateMechanism, statistic: Any) -> Count:
    """Return the statistic if it is a count of n records, else raise InvalidInput."""
    if not isinstance(statistic, Count):
        raise InvalidInput(
            f"the statistic is of type {type(statistic).__name__}; it must be a Count of the "
            "ones, which release.statistic(data) makes"
        )
    if np.any(np.asarray(statistic.n) != release.n):
        raise InvalidInput(
            f"the statistic has another number of records than the mechanism's n = {release.n}"
        )
    return statistic


def one_statistic(release: ConjugateMechanism, statistic: Any) -> Count:
    """Return the statistic if it is a count of n records for one release alone, else raise."""
    checked = check_statistic(release, statistic)
    if np.ndim(checked.successes) or np.ndim(checked.n):
        raise InvalidInput("the statistic is an array of several; release one at a time")
    return checked


def draw(release: ConjugateMechanism, statistic: Count, copies: int) -> NDArray[Any]:
    """Draw outputs, shape (copies, *shape of the statistic)."""
    if release.method == "synthetic_one":
        return _beta_binomial(release).draw(statistic, copies)
    if release.method == "parameter_draw":
        (a, b), counts = release.prior, _counts(statistic)
        shape = (copies, *counts.shape[:-1])
        return generator().beta(a + counts[..., 0], b + counts[..., 1], size=shape)
    return two_categories.draw(release, _counts(statistic), copies)[..., 0]


def logp(release: ConjugateMechanism, output: Any, statistic: Count) -> NDArray[np.float64]:
    """Log-probability of the number of ones, or log-density of their probability."""
    (a, b), value = release.prior, np.asarray(output)
    if release.method == "synthetic_one":
        return _beta_binomial(release).logp(value, statistic)
    if release.method == "parameter_draw":
        return beta_logpdf(value, a + statistic.successes, b + statistic.failures)
    both = np.stack([value, (release.size or 1) - value], axis=-1)
    if release.method == "parameter_map":  # 1 - p may be rounded: only p is compared
        mode = two_categories.mode(release, _counts(statistic))[..., 0]
        return np.where(value == mode, 0.0, -np.inf)
    return two_categories.logp(release, both, _counts(statistic))


def pairs(release: ConjugateMechanism) -> list[tuple[Count, Count]]:
    """Pairs of neighbouring counts: the first, the middle and the last replacement.

    The ends are worst for pure epsilon, and for a draw at every epsilon; at other points of a
    profile the worst neighbours may lie between them.
    """
    n = release.n
    return [(Count(x, n), Count(x + 1, n)) for x in sorted({0, (n - 1) // 2, n - 1})]


def space(release: ConjugateMechanism) -> OutputSpace:
    """Numbers of ones, shown as records with the ones first, or the probability of a one."""
    return ones_among(release.size, "value") if release.size else Probabilities()


def _beta_binomial(release: ConjugateMechanism) -> BetaBinomialMechanism:
    a, b = release.prior
    return BetaBinomialMechanism(release.n, release.synthetic_size, (a, b))


def _counts(statistic: Count) -> NDArray[np.int64]:
    return np.stack(np.broadcast_arrays(statistic.successes, statistic.failures), axis=-1)


def views(release: Any) -> list[View]:
    """Views given a count of ones and, where one parameter is drawn, counts of both values."""
    offered: list[View] = [count_view(release)]
    if release.method == "synthetic_one":
        offered.append(drawn_ones(release.prior, release.synthetic_size))
    return offered
