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

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = tuple[int, NDArray[np.int64], Floats]
"""A number of records n, counts of ones x in ascending order, and log of law(x | n) Pr[n]."""


def law_of_largest(laws: Iterable[Law]) -> Law:
    """Compute the log law given each count of ones among the largest number of records.

    Parameters
    ----------
    laws : iterable of Law
        By ascending n; counts that aren't there have probability 0.

    Returns
    -------
    Law
        At the last n, and all counts from the smallest on that any had.
    """
    whole, first, size = np.empty(0), 0, 0
    for n, counts, law in laws:
        for most in range(size + 1, n + 1) if whole.size else ():
            whole = _raised(whole, first, most)
        if not whole.size:
            first = int(counts[0])
        low, high = min(first, int(counts[0])), max(first + whole.size, int(counts[-1]) + 1)
        before, after = first - low, high - first - whole.size
        whole = np.pad(whole, (before, after), constant_values=-np.inf)
        whole[counts - low] = np.logaddexp(whole[counts - low], law)
        first, size = low, n
    return size, first + np.arange(whole.size), whole


def _raised(law: Floats, first: int, n: int) -> Floats:
    """The law given `first` ones and more among n records, from that among n - 1."""
    share = (first + np.arange(law.size + 1)) / n
    with np.errstate(divide="ignore"):
        added, other = np.log(share), np.log1p(-share)
    raised = np.logaddexp(added + np.append(-np.inf, law), other + np.append(law, -np.inf))
    return np.asarray(raised)
