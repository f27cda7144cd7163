r"""The law of counts' outputs at given probabilities of categories, the counts summed out.

Where the mechanism's law is a product over the categories given the sum n of the counts,

    Pr[z | theta, n]  =  n! lambda^-n [t^n] prod over i of  sum over x of
                         Pr[z_i | x] (lambda theta_i)^x / x!  t^x

for any lambda: the law of a log-linear model's table, whose cells are the categories
(`bayesdp.engines.log_linear.evidence`). Elsewhere all vectors of counts are listed, where they are
few.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.count_vectors import Factored
from bayesdp.engines.log_linear.evidence import totals_likelihood
from bayesdp.engines.log_sums import log_sum
from bayesdp.errors import InvalidInput
from bayesdp.inference.counts import multinomial_release as law
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.release import Part

Floats = NDArray[np.float64]

_MOST_PRODUCTS = 10**11  # of all draws: a minute or so
_LEAST = -700.0  # in place of the log of 0


def log_law_of_counts(
    parts: Sequence[Part], prior: Sequence[float], sizes: law.Sizes, theta: Floats
) -> Floats:
    """Compute log Pr[all outputs | theta] at probabilities theta, shape (draws, k).

    Parameters
    ----------
    parts : sequence of Part
        Releases of counts of the same records.
    prior : sequence of k floats
        The Dirichlet prior of a posterior that has the draws, by which what counts matter is
        judged.
    sizes : sequence of (int, float)
        Possible numbers of records, and their probabilities.
    theta : ndarray, shape (draws, k)

    Raises
    ------
    InvalidInput
        If the counts are neither a product over the categories nor few, or have too many values.
    """
    concave = all(part.mechanism.log_concave for part in parts)
    known = law.factored(parts, prior, sizes) if concave else None
    if known is not None:
        return _convolved(known, prior, sizes, theta)
    each = law.listed(parts, prior, sizes)
    if each is None:
        raise InvalidInput(
            "the release's counts are too many to be listed, and don't sum out at every draw, as "
            "their law isn't a product over the categories, or not log-concave in each; "
            "bdp.log_evidence compares models of them"
        )
    x = each.counts
    alike = special.gammaln(np.sum(x, axis=1) + 1) - special.gammaln(x + 1).sum(axis=1)
    outputs = each.log_weights + alike - _before(x, prior)

    def term(some: slice) -> Floats:
        return np.asarray(outputs + special.xlogy(x, theta[some, None]).sum(axis=-1))

    return log_sum(len(theta), len(x), term)


def _before(x: NDArray[np.int64], prior: Sequence[float]) -> Floats:
    """Log Dirichlet-multinomial probabilities of counts, which may have different sums."""
    n = x.sum(axis=1)
    made = np.zeros(len(x))
    for total in np.unique(n[n > 0]):
        own = n == total
        made[own] = dirichlet_multinomial_logpmf(x[own], int(total), prior)
    return made


def _convolved(known: Factored, prior: Sequence[float], sizes: law.Sizes, theta: Floats) -> Floats:
    widths = [table.size for table in known.tables]
    products = (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2 * len(theta)
    if products > _MOST_PRODUCTS:
        raise InvalidInput(
            f"the release's counts have up to {max(widths):,} values each in {len(widths)} "
            f"categories, too many to be summed out at each of {len(theta):,} draws; fit with "
            "fewer draws, or take bdp.log_evidence"
        )
    windows = [(f, f + size - 1) for f, size in zip(known.firsts, widths, strict=True)]
    n, before, log_sizes = law.prior_of(prior, sizes, windows)
    totals = np.full(n.max() + 1, -np.inf)
    chances = np.log([chance for _, chance in sizes])
    totals[n] = known.log_sizes - log_sizes + chances + special.gammaln(n + 1.0)
    laws = np.full((len(widths), totals.size), -np.inf)
    for row, table, own, (first, last) in zip(laws, known.tables, before, windows, strict=True):
        row[first : last + 1] = table - own
    with np.errstate(divide="ignore"):
        return totals_likelihood(laws, totals)(np.maximum(np.log(theta), _LEAST))
