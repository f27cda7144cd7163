r"""Sensitivity of first and second moments to a replaced record, jointly and not one by one.

A record is z in [-1, 1]^d; replacing it by z' moves sums of z_j, of z_j^2, and of z_j z_k. What is
wanted is the largest

    F = sum_j a_j |z_j - z'_j| + sum_{j<k} b_jk |z_j z_k - z'_j z'_k| + sum_j c_j |z_j^2 - z'_j^2|

for rates a, b, c >= 0, such as one over the scales of Laplace noise, whose log ratio F then bounds.
Let D_j = |z_j - z'_j| and M_j = |z_j + z'_j|. Then

    D_j + M_j = 2 max(|z_j|, |z'_j|) <= 2,        z_j^2 - z'_j^2 = +- D_j M_j,
    2 (z_j z_k - z'_j z'_k) = (z_j - z'_j)(z_k + z'_k) + (z_j + z'_j)(z_k - z'_k),

so that 2 |z_j z_k - z'_j z'_k| <= D_j M_k + M_j D_k, with equality where all z_j >= |z'_j|. So F is
at most, and at its largest equal to, the largest over D in [0, 2]^d, with M = 2 - D, of

    sum_j a_j D_j + sum_{j<k} b_jk (D_j M_k + M_j D_k) / 2 + sum_j c_j D_j M_j.

Let a, b, c be each kind's largest rate (no less than its own), and A = sum_j D_j. As
sum_{j<k} (D_j M_k + M_j D_k) = A (2 d - A) - sum_j D_j M_j and sum_j D_j M_j = 2 A - sum_j D_j^2,

    F <= a A + b A (2 d - A) / 2 + (c - b / 2) (2 A - sum_j D_j^2).

* 2 c >= b: sum_j D_j^2 >= A^2 / d, equal where all D_j are. So F <= s A - t A^2 with
  s = a + b (d - 1) + 2 c and t = (b (d - 1) / 2 + c) / d, largest at A = s / (2 t), or 2 d if that
  is less. With equal rates of each kind this is attained.
* 2 c < b: sum_j D_j^2 <= 2 A, so the last term is at most 0: F <= a A + b A (2 d - A) / 2, largest
  at A = d + a / b, or 2 d if that is less.

With a = b = c = 1 the first gives d (d + 2)^2 / (2 (d + 1)), at z = (1, ..., 1) and z' =
-(1, ..., 1) / (d + 1). The moves taken one by one sum to d (d + 2), which no replacement attains:
z' = -z leaves all products as they are.

In L2 norm
----------
With all rates 1, the squares sum to at most those of D_j, D_j M_j and (D_j M_k + M_j D_k) / 2, all
of which increase in M_j; so M = 2 - D again, and z = (1, ..., 1) is as bad as any. With
S = sum_j z'_j, Q = sum_j z'_j^2 and R = sum_j z'_j^4 the squared length is

    sum_j (1 - z'_j)^2 + sum_j (1 - z'_j^2)^2 + sum_{j<k} (1 - z'_j z'_k)^2
        = (d^2 + 3 d) / 2 + 1 - (S + 1)^2 + (R + Q^2) / 2.

For a given S it is convex in z', and so largest at a vertex of the cube's slice, where all but one
z'_j are -1 or 1. In that one, u, it is -(S + 1)^2 + u^4 + (d - 1) u^2 and a constant, convex for
d >= 2: so u is at an end too. At a corner R = Q = d, and the squared length is
(d + 1)^2 - (S + 1)^2: with S = -1 for an odd d, and S = 0 or -2 for an even one,

    the largest squared length is (d + 1)^2 for odd d and d (d + 2) for even d,

about half of the sum of the largest squares, 2 d^2 + 3 d. Other rates are at most the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def largest_replacement(rates: Sequence[Fraction], d: int) -> Fraction:
    """Upper bound on F, exact where the rates of each kind are equal and 2 c >= b.

    Parameters
    ----------
    rates : sequence of Fraction
        Rates of the d sums, the d sums of squares and the d (d - 1) / 2 sums of products.
    d : int
        Number of columns.
    """
    a, c = max(rates[:d]), max(rates[d : 2 * d])
    b = max(rates[2 * d :], default=Fraction(0))
    if 2 * c >= b:
        slope, bend = a + b * (d - 1) + 2 * c, (b * (d - 1) / 2 + c) / d
    else:
        slope, bend = a + b * d, b / 2
    at = min(slope / (2 * bend), Fraction(2 * d))
    return slope * at - bend * at**2


def longest_replacement(d: int) -> int:
    """The largest squared L2 norm of a replaced record's moves, for d >= 2 columns; exact."""
    return (d + 1) ** 2 if d % 2 else d * (d + 2)
