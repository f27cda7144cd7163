r"""Ridge regression on bounded columns: its exact minimiser and its sensitivity.

Columns are rescaled by their public bounds to [-1, 1] and rounded to steps of 2^-23, record by
record (`bayesdp.mechanisms.families.moments`). With x = (1, predictors), ||x|| <= R = sqrt(p + 1),
|y| <= 1, and a public penalty l > 0, the minimiser of sum (y - w'x)^2 + l ||w||^2 is

    w = A^-1 X'y,    A = X'X + l I,

a rational number, as all sums are whole numbers of steps, and it is computed as one: no solver
stops early, and only the last rounding to floats loses anything.

How long w is: its singular values are s / (s^2 + l) <= 1 / (2 sqrt(l)) and ||y|| <= sqrt(n), so
||w|| <= B(n) = sqrt(n) / (2 sqrt(l)).

How far a replacement moves it. Let C be the n - 1 other records, and w_C, A_C theirs. With record
(x, y) beside them, A w = A_C w_C + x y = A w_C + x (y - x'w_C), so

    w - w_C = A^-1 x (y - x'w_C),    A^-1 x = v / (1 + x'v),    v = A_C^-1 x

(Sherman and Morrison). A_C >= l I gives ||v|| <= R / l and x'v = v'A_C v >= l ||v||^2, so
||A^-1 x|| <= max of v / (1 + l v^2) over v <= R / l, which is

    c = R / (l + R^2) where l >= R^2, and 1 / (2 sqrt(l)) elsewhere,

and |y - x'w_C| <= 1 + R B(n - 1). Another record in its place moves w as far from w_C, so
neighbours' minimisers are apart by at most

    2 min(c (1 + R B(n - 1)), B(n)),

in L2 norm. That of Chaudhuri, Monteleoni and Sarwate (2011, Lemma 7), 2 L / l with the gradient's
bound L = R (1 + R B), is no smaller. For one record more or fewer, with n confidential, there is no
such bound: B grows with n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from bayesdp.mechanisms.families.moments import STEPS

_UP = 1 + 2.0**-40  # more than what a handful of floating-point operations round


def longest(n: int, penalty: float) -> float:
    """Bound B(n) on the length of any minimiser, rounded up."""
    return math.sqrt(n) / (2 * math.sqrt(penalty)) * _UP


def sensitivity(n: int, predictors: int, penalty: float) -> float:
    """L2 sensitivity of the minimiser, as floats; rounded up."""
    radius = math.sqrt(predictors + 1)
    pull = 1 / (2 * math.sqrt(penalty))
    if penalty >= radius * radius:
        pull = radius / (penalty + radius * radius)
    one = pull * (1 + radius * longest(n - 1, penalty))
    # Each is rounded to floats, by 2^-53 of its numbers at most.
    return 2 * min(one, longest(n, penalty)) * _UP + 2.0**-51 * longest(n, penalty)


def minimiser(
    totals: Sequence[int], n: int, columns: int, place: int, penalty: float
) -> tuple[float, ...]:
    """Compute the intercept and the coefficients, in the columns' order, each rounded once.

    Parameters
    ----------
    totals : sequence of int
        Sums of columns, of squares and of products, in steps, as `moments.totals_of` has them.
    n, columns : int
        Numbers of records and of columns.
    place : int
        Index of the response among the columns.
    penalty : float
        The public penalty l.
    """
    second = {(j, j): totals[columns + j] for j in range(columns)}
    for pair, total in zip(combinations(range(columns), 2), totals[2 * columns :], strict=True):
        second[pair] = second[pair[1], pair[0]] = total
    others = [j for j in range(columns) if j != place]
    # Rows of (A, X'y), times 2^46.
    rows = [[n * STEPS**2, *(totals[j] * STEPS for j in [*others, place])]]
    rows += [[totals[j] * STEPS, *(second[j, k] for k in [*others, place])] for j in others]
    ridge = Fraction(penalty) * STEPS**2
    exact = [list(map(Fraction, row)) for row in rows]
    for i, row in enumerate(exact):
        row[i] += ridge
    return tuple(map(float, _solved(exact)))


def _solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """Solve exactly a positive definite system, given by rows with the right-hand side last."""
    size = len(rows)
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for j in range(i + 1, size):
            factor = rows[j][i]
            rows[j] = [x - factor * y for x, y in zip(rows[j], rows[i], strict=True)]
    solution = [Fraction(0)] * size
    for i in reversed(range(size)):
        solution[i] = rows[i][size] - sum(rows[i][j] * solution[j] for j in range(i + 1, size))
    return solution
