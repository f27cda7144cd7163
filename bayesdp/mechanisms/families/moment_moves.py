r"""How far a replaced record moves first and second moments in L1 norm, and it isn't the sum.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def largest_replacement(rates: Sequence[Fraction], d: int) -> Fraction:
    """An upper bound of F, exact where the rates of each kind are equal and 2 c >= b.

    Parameters
    ----------
    rates : sequence of Fraction
        Of the d sums, the d sums of squares and the d (d - 1) / 2 sums of products.
    d : int
    """
    a, c = max(rates[:d]), max(rates[d : 2 * d])
    b = max(rates[2 * d :], default=Fraction(0))
    if 2 * c >= b:
        slope, bend = a + b * (d - 1) + 2 * c, (b * (d - 1) / 2 + c) / d
    else:
        slope, bend = a + b * d, b / 2
    at = min(slope / (2 * bend), Fraction(2 * d))
    return slope * at - bend * at**2
