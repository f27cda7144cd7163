r"""Answers of a randomized response, as a multinomial with mixed probabilities.

Every record is answered on its own, M times: with K[i, j] = Pr[answer j | category i] the answers
j_1..j_M of a record have probability sum_i theta_i K[i, j_1] ... K[i, j_M]. So the answers that are
alike count together, and their number, not that of the records, is what a likelihood costs:

    log Pr[answers | theta] = sum over patterns p of count_p log(theta . columns[:, p]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.engines.count_vectors import Listed
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.mechanisms.randomized_response import RandomizedResponse
from bayesdp.release import Part

Floats = NDArray[np.float64]

_MOST_BINARY = 5000  # records of two categories whose posterior is listed


@dataclass(frozen=True)
class Responses:
    """Patterns of answers.

    Attributes
    ----------
    counts : ndarray of int, shape (patterns,)
        Records that were answered so.
    columns : ndarray, shape (k, patterns)
        Pr[pattern | category].
    where : ndarray of int, shape (n,)
        Each record's pattern.
    """

    counts: NDArray[np.int64]
    columns: Floats
    where: NDArray[np.int64]


def responses(parts: Sequence[Part], k: int) -> Responses:
    """The patterns of answers of one release, or of several of the same records in one order.

    Raises
    ------
    InvalidInput
        If one is of another number of categories, or an answer can't be.
    """
    for part in parts:
        if not isinstance(part.mechanism, RandomizedResponse) or part.mechanism.k != k:
            raise InvalidInput(
                f"prior has {k} numbers, but the release is of "
                f"{getattr(part.mechanism, 'k', 'no')} categories; give one number a category"
            )
    return patterns_of([(part.mechanism, np.array(part.outputs)) for part in parts])


def patterns_of(seen: Sequence[tuple[Any, NDArray[np.int64]]]) -> Responses:
    """The patterns of answers, shape (copies, n) each; InvalidInput where one can't be."""
    answers = np.concatenate([each for _, each in seen])
    patterns, where, counts = np.unique(answers, axis=1, return_inverse=True, return_counts=True)
    matrices = [made.matrix for made, each in seen for _ in each]
    columns = np.prod([m[:, row] for m, row in zip(matrices, patterns, strict=True)], axis=0)
    if not np.all(columns.max(axis=0) > 0):
        raise InvalidInput("the outputs have probability zero under the model's prior")
    return Responses(counts, columns, where.ravel())


def listed_binary(seen: Responses, alpha: tuple[float, ...]) -> Listed | None:
    """Of two categories: the posterior of the counts, by powers of polynomials.

    Given that x of n records are of the second category, which ones is uniform, so
    C(n, x) Pr[answers | x] is the coefficient of y^x in prod_p (columns[0, p] + columns[1, p] y)^c.
    """
    n = int(seen.counts.sum())
    if len(alpha) != 2 or n > _MOST_BINARY:
        return None
    law, log_scale = np.ones(1), 0.0
    for count, column in zip(seen.counts, seen.columns.T, strict=True):
        share = column[1] / column.sum()
        law = np.convolve(law, stats.binom.pmf(np.arange(count + 1), count, share))
        log_scale += count * np.log(column.sum())
    x = np.arange(n + 1)
    log_choose = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    with np.errstate(divide="ignore"):
        law = np.log(law)
    law = law + log_scale - log_choose + beta_binomial_logpmf(x, n, alpha[1], alpha[0])
    return Listed(np.stack([n - x, x], axis=1), law)
