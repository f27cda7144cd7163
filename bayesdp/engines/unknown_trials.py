r"""Likelihood of a proportion where the number of records is unknown, as if it were the largest.

With law(x | n) Pr[n] the probability of a group's outputs and of n, given x ones among n records,
the likelihood of p is

    L(p) = sum over n and x of law(x | n) Pr[n] C(n, x) p^x (1 - p)^(n - x).

For one n that is a polynomial of degree n, whose coefficients in Bernstein's basis are the law. It
is one of degree n + 1 too, with the coefficients (degree elevation, Farouki 2012)

    y / (n + 1) law(y - 1 | n) + (1 - y / (n + 1)) law(y | n),    y = 0, ..., n + 1:

the law given y ones among n + 1 records, of which one at random wasn't there. So n is raised one by
one, what is of the next n is added, and what comes out is the law of the outputs given a count of
ones among the largest number N: for any prior of p the posterior of p is the same, and N + 1 counts
stand for all pairs (n, x). All terms are positive, so that no digits are lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def law_of_largest(law: Floats, counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    """Compute the log law given each count of ones among the largest number of records.

    Parameters
    ----------
    law : ndarray, shape (pairs,)
        log of law(x | n) Pr[n]; pairs that aren't there have probability 0.
    counts, sizes : ndarray of int, shape (pairs,)
        x and n of each pair, sorted by n.

    Returns
    -------
    ndarray, shape (N + 1,)
        At 0, ..., N, the last of `sizes`.
    """
    least, most = int(sizes[0]), int(sizes[-1])
    whole = np.full(least + 1, -np.inf)
    ends = np.searchsorted(sizes, np.arange(least, most + 2))
    for n, start, end in zip(range(least, most + 1), ends[:-1], ends[1:], strict=True):
        if n > least:
            whole = _raised(whole)
        own = counts[start:end]
        whole[own] = np.logaddexp(whole[own], law[start:end])
    return whole


def _raised(law: Floats) -> Floats:
    """The law given ones among one record more."""
    n = law.size
    share = np.arange(n + 1) / n
    with np.errstate(divide="ignore"):
        added, other = np.log(share), np.log1p(-share)
    raised = np.logaddexp(added + np.append(-np.inf, law), other + np.append(law, -np.inf))
    return np.asarray(raised)
