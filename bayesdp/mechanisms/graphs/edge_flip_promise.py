r"""Promise of independent answers of dyads, from their probabilities.

Dyad d is answered independently: "tie" with probability tie_d if it is tied, gap_d if it isn't.
These are floats, taken as the binary fractions they are.

Privacy, edges. Let two graphs on the same nodes differ in the tie of one dyad d. Given all other
answers, which have the same laws under both, the two laws of the released graph are those of the
answer of d. So for a set S of graphs Pr[S] - exp(epsilon) Pr'[S], an average over the other
answers, is at most the hockey-stick divergence of the two laws of one answer; an event of d alone
attains it:

    delta(epsilon) = max over d and both orders p, q of tie_d, gap_d of
                     (p - exp(epsilon) q)^+ + ((1 - p) - exp(epsilon) (1 - q))^+,
    epsilon        = max over d of max(|log(tie_d / gap_d)|, |log((1 - tie_d) / (1 - gap_d))|).

Privacy, nodes. Let two graphs on the same nodes differ in any dyads of one node i. All its answers
are independent, so their log ratios add up; which of the two graphs has the tie, and what is
released, may be chosen for each dyad. So the sum of the dyads' epsilons is attained, and the
largest such sum over the nodes is the pure epsilon: n - 1 times that of one dyad where all are
alike, 2 (n - 1) times if the graph is directed.

Privacy, copies and delta > 0. The laws of one answer under both members are dominated, in either
order, by the pair of laws whose profile is delta(epsilon) above (`Profile.pld`). Independent
answers, of M copies of one dyad or of k dyads, are dominated by the product of as many such pairs
(`privacy.loss_distribution`), whichever the order at each. The product's hockey-stick divergence,
as computed there from either end, bounds delta at an epsilon, and epsilon at a delta (`compose`);
so do basic composition and, of epsilon, the sum of pure epsilons, and the smallest is promised. For
one answer it is exact.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.response_matrix import log_up
from bayesdp.privacy.composition import total
from bayesdp.privacy.profile import Profile

Floats = NDArray[np.float64]

_FINEST = 1 << 53  # flip probabilities are multiples of its inverse, so that 1 minus one is a float
_SLACK = 2e-12  # a log ratio errs by less: floats' logarithms are at most 745, and right to 4 ulps


def symmetric(epsilon: float) -> tuple[float, float]:
    """Probabilities of a released tie given a tie and given none, for answers of `epsilon`.

    The flip's probability is 1 / (1 + exp(epsilon)) rounded up to a multiple of 2^-53, so that
    the truth's is a float too; from epsilon = 36.7 on it stays 2^-53.
    """
    down, up = (decimal.Context(80, r) for r in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING))
    odds = down.next_minus(down.exp(decimal.Decimal(min(epsilon, 50.0))))
    flips = math.ceil(up.divide(decimal.Decimal(_FINEST), down.add(1, odds)))
    if 2 * flips >= _FINEST:
        raise InvalidInput(
            f"epsilon is {epsilon}, where a float's answer can't depend on the tie; ask for a "
            "larger epsilon"
        )
    return 1 - flips / _FINEST, flips / _FINEST


def check_probability(name: str, given: Any, nodes: int | None, directed: bool) -> Any:
    """Return a float, or an (n, n) matrix as tuples with a zero diagonal, else raise InvalidInput.

    `nodes` is None where the number of nodes isn't known yet.
    """
    if is_number(given):
        if not 0 < as_float(given) < 1:
            raise InvalidInput(f"{name} is {quoted(given)}; {_ALLOWED}")
        return float(given)
    try:
        matrix = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    n = len(matrix) if nodes is None and matrix.ndim else nodes
    if matrix.shape != (n, n) or matrix.size < 4:
        raise InvalidInput(
            f"{name} has shape {matrix.shape}; it must be one probability, or a matrix of "
            f"probabilities, one for each dyad, shape {'(n, n)' if nodes is None else (n, n)}"
        )
    inside = matrix[~np.eye(len(matrix), dtype=bool)]
    if not np.all((inside > 0) & (inside < 1)):  # NaN isn't
        raise InvalidInput(f"{name} has a number out of its range off its diagonal; {_ALLOWED}")
    np.fill_diagonal(matrix, 0.0)
    if not directed and not np.array_equal(matrix, matrix.T):
        raise InvalidInput(f"{name} isn't symmetric; in an undirected network it must be")
    return tuple(map(tuple, matrix.tolist()))


_ALLOWED = (
    "it must lie strictly between 0 and 1: otherwise an answer would be impossible for some "
    "graphs, and no epsilon finite"
)


@lru_cache(maxsize=1 << 16)
def dyad_epsilon(tie: float, gap: float) -> float:
    """The larger log ratio of the probabilities of a dyad's answers, rounded up."""
    a, b = Fraction(tie), Fraction(gap)
    return log_up(max(a / b, b / a, (1 - a) / (1 - b), (1 - b) / (1 - a)))


def nearly(tie: Floats, gap: Floats) -> Floats:
    """Approximate epsilon of many dyads' answers, each with an absolute error below `_SLACK`."""
    yes, no = np.log(tie) - np.log(gap), np.log1p(-tie) - np.log1p(-gap)
    return np.asarray(np.maximum(np.abs(yes), np.abs(no)))


def edge_epsilon(tie: Floats, gap: Floats) -> float:
    """The largest epsilon of all dyads, computed exactly for those that may attain it."""
    about = nearly(tie, gap)
    near = about >= about.max() - 2 * _SLACK
    return max(dyad_epsilon(*kind) for kind in _kinds(tie[near], gap[near]))


def node_epsilon(tie: Floats, gap: Floats, pairs: NDArray[np.int64]) -> float:
    """The largest sum over the dyads of one node, each rounded up; `pairs` are the dyads' nodes."""
    about = nearly(tie, gap)
    sums = np.bincount(pairs[:, 0], about, pairs.max() + 1) + np.bincount(pairs[:, 1], about)
    worst = 0.0
    for node in np.flatnonzero(sums >= sums.max() - 4 * _SLACK * len(sums)):
        own = (pairs == node).any(axis=1)
        each = zip(tie[own].tolist(), gap[own].tolist(), strict=True)
        worst = max(worst, total([dyad_epsilon(*kind) for kind in each]))
    return worst


def profile(tie: Floats, gap: Floats) -> Profile:
    """The largest hockey-stick divergence of a dyad's answer, in the worse order."""
    a, b = np.array(sorted(_kinds(tie, gap))).T
    laws = np.log([a, b]), np.log1p(-np.array([a, b]))  # of answers "tie" and "no tie"
    log_p = np.stack(laws)
    log_q = log_p[:, ::-1]

    def divergence(epsilon: float) -> float:
        # A little below epsilon, as it decreases: near the pure epsilon terms are differences.
        gaps = np.minimum(epsilon - _SLACK + log_q - log_p, 0.0)
        return float((np.exp(log_p) * -np.expm1(gaps)).sum(axis=0).max())

    return Profile(divergence, edge_epsilon(tie, gap))


def _kinds(tie: Floats, gap: Floats) -> set[tuple[float, float]]:
    return set(zip(tie.tolist(), gap.tolist(), strict=True))
