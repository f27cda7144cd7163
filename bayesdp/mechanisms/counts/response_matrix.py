"""Matrices of response probabilities, as integer weights: row i is the law of category i's answer.

Weight w_ij over the sum of row i is Pr[j | i], exactly: only what is shown is rounded.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.randomness import uniform_below
from bayesdp.privacy.profile import Profile

Weights = tuple[tuple[int, ...], ...]

LARGEST_SUM = 1 << 62
_BLOCK = 1 << 16  # answers drawn at once, to bound memory
_SLACK = 4e-14  # logarithms of weights are at most 44, so a log ratio errs by less


def check_weights(weights: Any) -> Weights:
    """Return weights as a tuple of tuples of Python ints, else raise InvalidInput."""
    try:
        rows = tuple(tuple(_whole(w) for w in row) for row in weights)
    except TypeError:  # not a matrix, or a weight that isn't whole
        rows = ()
    square = len(rows) >= 2 and all(len(row) == len(rows) for row in rows)
    if not square or not all(min(row) >= 0 and 0 < sum(row) <= LARGEST_SUM for row in rows):
        raise InvalidInput(
            f"weights is {quoted(weights)}; it must be a square matrix of whole numbers, at least "
            "0, two rows or more, each with a sum from 1 to 2^62: row i is the law of category "
            "i's answer"
        )
    return rows


def _whole(weight: Any) -> int:
    if isinstance(weight, bool | np.bool_) or not isinstance(weight, int | np.integer):
        raise TypeError
    return int(weight)


def weights_of(probabilities: Any) -> Weights:
    """Weights of exactly these probabilities, each row over its least common denominator.

    Raises
    ------
    InvalidInput
        If a row doesn't sum to 1 exactly, or its denominator exceeds 2^62.
    """
    rows = []
    for row in _matrix(probabilities):
        if (total := sum(row)) != 1:
            raise InvalidInput(
                f"probabilities has a row whose exact sum is 1 {float(total - 1):+.3g}; floats are "
                "taken as the binary fractions they are: give weights, whole numbers, or Fractions"
            )
        scale = math.lcm(*(p.denominator for p in row))
        if scale > LARGEST_SUM:
            raise InvalidInput(
                f"probabilities has a row whose common denominator, about 2^{scale.bit_length()}, "
                "exceeds 2^62; round the probabilities, or give weights, whole numbers"
            )
        rows.append(tuple(int(p * scale) for p in row))
    return check_weights(rows)


def _matrix(probabilities: Any) -> list[list[Fraction]]:
    """Probabilities as exact fractions by row; a pair stands for (p, 1 - p), (1 - q, q)."""
    try:
        given = list(probabilities)
        if len(given) == 2 and all(is_number(p) for p in given):
            p, q = map(Fraction, given)
            rows = [[p, 1 - p], [1 - q, q]]
        else:
            rows = [[Fraction(p) for p in row] for row in given]
        if all(p >= 0 for row in rows for p in row):
            return rows
    except (TypeError, ValueError, OverflowError):  # not numbers, or not finite ones
        pass
    raise InvalidInput(
        f"probabilities is {quoted(probabilities)}; it must be a square matrix of numbers from 0 "
        "to 1, or, for two categories, the pair of probabilities that 0 and 1 are answered truly"
    )


def weights_within(epsilon: float, categories: int) -> Weights:
    """Integer weights of the truth and of every other answer, whose ratio is at most exp(epsilon).

    b = floor(2^62 / (exp(epsilon) + k - 1)) and a = floor(b exp(epsilon)), from a lower bound on
    exp(epsilon); above epsilon = 43, b = 1 and a is the largest there is.
    """
    down = decimal.Context(80, decimal.ROUND_FLOOR)
    odds = down.next_minus(down.exp(decimal.Decimal(min(epsilon, 50.0))))
    others = categories - 1
    b = max(1, int(down.divide(decimal.Decimal(LARGEST_SUM), odds + others)))
    a = min(int(down.multiply(odds, decimal.Decimal(b))), LARGEST_SUM - others * b)
    if a <= b:
        raise InvalidInput(
            f"epsilon is {epsilon} for {categories} categories, where answers with weights up to "
            "2^62 can't depend on the record; ask for a larger epsilon"
        )
    return tuple(tuple(a if i == j else b for j in range(categories)) for i in range(categories))


@lru_cache(maxsize=64)
def pure_epsilon(weights: Weights) -> float:
    """Pure epsilon: the largest log(Pr[j | i] / Pr[j | i']) over j, i and i', rounded up."""
    worst = Fraction(1)
    for column in zip(*_fractions(weights), strict=True):
        if max(column) > 0:
            if min(column) == 0:
                return math.inf
            worst = max(worst, max(column) / min(column))
    return log_up(worst)


def log_up(ratio: Fraction) -> float:
    """Return the smallest float known to be at least log(ratio), for a ratio of at least 1.

    Decimal's logarithm is correctly rounded, so within one unit of its 80 digits.
    """
    if ratio == 1:
        return 0.0
    up = decimal.Context(80, decimal.ROUND_CEILING)
    quotient = up.divide(decimal.Decimal(ratio.numerator), decimal.Decimal(ratio.denominator))
    bound = up.next_plus(up.ln(quotient))
    nearest = float(bound)
    return nearest if decimal.Decimal(nearest) >= bound else math.nextafter(nearest, math.inf)


def probabilities_of(weights: Weights) -> NDArray[np.float64]:
    """Probabilities Pr[j | i] as floats, each the nearest one; shape (k, k)."""
    return np.array([[w / sum(row) for w in row] for row in weights])


def profile(weights: Weights) -> Profile:
    """Privacy profile: hockey-stick divergences of the worst pair of rows, in the worse order."""
    pure = pure_epsilon(weights)
    p = probabilities_of(weights)
    return Profile(
        lambda epsilon: _divergence(p, epsilon),
        pure,
        limit=float((p @ (p == 0).T).max()) if math.isinf(pure) else 0.0,
        why="An answer that one category gives and another never does tells the two apart.",
    )


def _divergence(p: NDArray[np.float64], epsilon: float) -> float:
    """Largest sum over j of (p_ij - exp(epsilon) p_i'j)^+, at most a rounding error too large.

    It is evaluated at an epsilon smaller by more than the error of a log ratio, as it decreases in
    epsilon: near the pure epsilon its terms are differences of nearly equal numbers.
    """
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    largest = 0.0
    for row, log_row in zip(p, log_p, strict=True):
        possible = row > 0
        gap = epsilon - _SLACK + log_p[:, possible] - log_row[possible]
        terms = row[possible] * -np.expm1(np.minimum(gap, 0.0))
        largest = max(largest, float(terms.sum(axis=1).max()))
    return largest


def check_records(statistic: Any, k: int, n: int) -> NDArray[Any]:
    """Return n records of k categories as an integer array (..., n), else raise InvalidInput."""
    records = np.asarray(statistic)
    if records.dtype.kind not in "iu" or records.shape[-1:] != (n,):
        raise InvalidInput(
            f"the statistic has type {records.dtype} and shape {records.shape}; it must hold "
            f"n = {n} records, integers, along its last axis"
        )
    if np.any((records < 0) | (records >= k)):
        raise InvalidInput(
            f"the statistic has records outside 0..{k - 1}; recode them as integers from 0"
        )
    return records


@lru_cache(maxsize=64)
def unlike_rows(weights: Weights) -> tuple[tuple[int, int], ...]:
    """List pairs of different rows, one of each kind.

    Pairs of one kind are the same up to their order and the order of the answers, and have the
    same divergences. Where all rows are alike, a single pair is listed.
    """
    rows = _fractions(weights)
    kinds: dict[Any, tuple[int, int]] = {}
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            there = tuple(sorted(zip(rows[i], rows[j], strict=True)))
            back = tuple(sorted(zip(rows[j], rows[i], strict=True)))
            if rows[i] != rows[j]:
                kinds.setdefault(min(there, back), (i, j))
    return tuple(kinds.values()) or ((0, 1),)


def _fractions(weights: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def answers(weights: Weights, records: NDArray[Any], copies: int) -> NDArray[Any]:
    """Draw answers to each of `copies` times these records, exactly; shape (copies * n,)."""
    k = len(weights)
    drawn = np.empty(copies * records.size, dtype=np.int8 if k <= 128 else np.int64)
    upper = [np.cumsum(np.array(row, dtype=np.uint64)) for row in weights]
    for start in range(0, drawn.size, _BLOCK):
        block = drawn[start : start + _BLOCK]
        asked = records[np.arange(start, start + block.size) % records.size]
        for category in np.flatnonzero(np.bincount(asked, minlength=k)):
            here = np.flatnonzero(asked == category)
            picks = uniform_below(np.full(here.size, upper[category][-1], np.uint64))
            block[here] = np.searchsorted(upper[category], picks, side="right")
    return drawn
