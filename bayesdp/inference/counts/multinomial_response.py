r"""Answers of a randomized response, as a multinomial with mixed probabilities.

Every record is answered on its own, M times: with K[i, j] = Pr[answer j | category i] the answers
j_1..j_M of a record have probability sum_i theta_i K[i, j_1] ... K[i, j_M]. So equal patterns of
answers are counted together, and the likelihood costs as much as there are patterns, not records:

    log Pr[answers | theta] = sum over patterns p of count_p log(theta . columns[:, p]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.core.views import AnswersView, view_of
from bayesdp.engines.count_vectors import Listed
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.laws import beta_binomial_logpmf, binomial_logpmf
from bayesdp.release import Part

Floats = NDArray[np.float64]

_MOST_BINARY = 5000  # records of two categories whose posterior is listed
_STRETCH = 500  # counts at once: probabilities this near a mean are above 1e-280


@dataclass(frozen=True)
class Responses:
    """Patterns of answers, with their frequencies and laws.

    Attributes
    ----------
    counts : ndarray of int, shape (patterns,)
        Number of records with each pattern.
    columns : ndarray, shape (k, patterns)
        Pr[pattern | category].
    where : ndarray of int, shape (n,)
        Each record's pattern.
    """

    counts: NDArray[np.int64]
    columns: Floats
    where: NDArray[np.int64]


def responses(parts: Sequence[Part], k: int) -> Responses:
    """Collect the patterns of answers of one release, or several of the same records in order.

    Raises
    ------
    InvalidInput
        If a release has another number of categories, or an answer is impossible.
    """
    seen = []
    for part in parts:
        view = view_of(part.mechanism, AnswersView)
        if view is None or view.k != k:
            raise InvalidInput(
                f"prior has {k} numbers, but the release is of "
                f"{'no' if view is None else view.k} categories; give one number a category"
            )
        seen.append((view, np.array(part.outputs)))
    return patterns_of(seen)


def patterns_of(seen: Sequence[tuple[AnswersView, NDArray[np.int64]]]) -> Responses:
    """Collect the patterns of answers, shape (copies, n) each; refuse impossible ones."""
    answers = np.concatenate([each for _, each in seen])
    patterns, where, counts = np.unique(answers, axis=1, return_inverse=True, return_counts=True)
    matrices = [view.matrix for view, each in seen for _ in each]
    columns = np.prod([m[:, row] for m, row in zip(matrices, patterns, strict=True)], axis=0)
    if not np.all(columns.max(axis=0) > 0):
        raise InvalidInput("the outputs have probability zero under the model's prior")
    return Responses(counts, columns, where.ravel())


def listed_binary(seen: Responses, alpha: tuple[float, ...]) -> Listed | None:
    """Compute the posterior of two categories' counts, by powers of polynomials.

    Given that x of n records are of the second category, which ones is uniform, so
    C(n, x) Pr[answers | x] is the coefficient of y^x in prod_p (columns[0, p] + columns[1, p] y)^c.
    """
    n = int(seen.counts.sum())
    if len(alpha) != 2 or n > _MOST_BINARY:
        return None
    law = _log_coefficients(seen.counts, seen.columns)
    x = np.arange(n + 1)
    log_choose = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    law = law - log_choose + beta_binomial_logpmf(x, n, alpha[1], alpha[0])
    return Listed(np.stack([n - x, x], axis=1), law)


def _log_coefficients(counts: NDArray[np.int64], columns: Floats) -> Floats:
    """Log coefficients of prod_p (columns[0, p] + columns[1, p] y)^counts_p, shape (n + 1,).

    They are in proportion to the probabilities of a sum of independent binomials, which far from
    its mean are below the smallest float. Under a prior that is wide beside what the answers say
    they matter there too. So each stretch of them is computed with y scaled by exp(tilt), which
    puts the mean into it.
    """
    n = int(counts.sum())
    coefficients = np.full(n + 1, -np.inf)
    with np.errstate(divide="ignore"):
        log_no, log_yes = np.log(columns)
    least, most = counts[np.isneginf(log_no)].sum(), n - counts[np.isneginf(log_yes)].sum()

    def excess(tilt: float, mean: float) -> float:
        return float(counts @ special.expit(log_yes - log_no + tilt)) - mean

    for first in range(0, n + 1, _STRETCH):
        last = min(first + _STRETCH, n + 1)
        if last <= least or first > most:  # no count is there
            continue
        middle = min(max((first + last) / 2, least + 0.5), most - 0.5)
        tilt = optimize.brentq(excess, -1e3, 1e3, args=(middle,)) if most > least else 0.0
        law, log_odds = np.ones(1), log_yes - log_no + tilt
        for count, odds in zip(counts.tolist(), log_odds, strict=True):
            share, rest = special.expit(odds), special.expit(-odds)
            law = np.convolve(
                law, np.exp(binomial_logpmf(np.arange(count + 1), count, share, rest))
            )
        scale = counts @ np.logaddexp(log_no, log_yes + tilt)
        here = np.arange(first, last)
        with np.errstate(divide="ignore"):
            coefficients[here] = np.log(law[here]) + scale - tilt * here
    return coefficients
