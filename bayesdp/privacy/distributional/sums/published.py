r"""Bounds (epsilon, delta) on an exact sum as Groce (2014) states them, and tighter ones.

Theorems 6.6 and 6.7 and Corollary 6.2: n independent records of d coordinates from a law that is
at least a height on a box; v is the law's uniform share there, w_j the support's widths where the
box's are 1, and f_k, F_k the density and distribution of a sum of k uniform numbers. The adversary
knows the law and nothing more. With m = ceil(r v n),

    epsilon = sum_j log f_{m-1}(a_j) / f_{m-1}(a_j - w_j/2),
    delta = 2 sum_j F_{m-1}(a_j + w_j/2) + (1 + exp(epsilon)) exp(-2 n v^2 (1 - r)^2).

Corollary 6.2 prints nu for n in the last exponent; the proof of Theorem 6.7 has n.

**Proof**, for the simulator that adds the middle of the support to the sum of the others. Each
record is, with probability v, uniform on the box and marked; else it comes from the rest of the
law. Fix a record's value x. The number M of marked records among the n - 1 others is
Binomial(n - 1, v). Given the marks, the values of the unmarked records and of all marked beyond
m - 1, both worlds' sums are a known point plus, in each coordinate, a sum of m - 1 uniform numbers:
in one of them moved by e_j, |e_j| <= w_j/2. Where M >= m - 1, look at the box a_j <= u_j <= m - 1 -
a_j about the sum of these: there the log ratio of the two densities is at most the epsilon above,
as f is log-concave, whatever e is; and either world's sum leaves the box with probability at most
sum_j F(a_j + e_j) + F(a_j - e_j), which increases in e_j >= 0, as f is symmetric and unimodal. The
divergence sup_S Pr[one in S] - exp(epsilon) Pr[other in S] is jointly convex, so that the average
over what was fixed bounds that of the whole:

    delta = sum_j F_{m-1}(a_j + w_j/2) + F_{m-1}(a_j - w_j/2) + Pr[Binomial(n - 1, v) < m - 1].

That is `tight`. It implies the published statement: Binomial(n - 1, v) < m - 1 only if
Binomial(n, v) < m, whose probability Hoeffding bounds by the exponential.

Three things about the printed proof. It discloses the unmarked records, or records drawn afresh
where too few are marked, as part of what the adversary knows, and takes the probability of failure
not to depend on what they see; but a disclosed value that differs from x shows the failure. The
factor 1 + exp(epsilon) comes from that step, and isn't needed. The simulator's middle is
(w_1 + w_2)/2, not (w_2 - w_1)/2.

Nothing more than the uniform share is used of the law: a top-coded one, with atoms, is covered.
Known records, Corollary 6.3: n is replaced by n less their number, where which records are known
doesn't depend on the unknown ones' values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import check_known_records
from bayesdp.privacy.distributional.irwin_hall import (
    centred_distribution,
    centred_log_ratio,
    check_position,
    error,
    further,
)
from bayesdp.privacy.distributional.sums.mixture import below
from bayesdp.privacy.distributional.uniform_part import UniformPart


@dataclass(frozen=True, slots=True)
class SumBound:
    """An (epsilon, delta) bound on an exact sum, by one choice of a and r.

    Attributes
    ----------
    epsilon, delta : float
        Rounded up by the error of their computation; delta may exceed 1, promising nothing.
    a : tuple of float
        Where the tails are cut, shape (d,).
    hidden : int
        m: the number of records from the uniform part that the bound relies on.
    part : UniformPart or None
        The part of the law that was used; None where the whole law is uniform.
    """

    epsilon: float
    delta: float
    a: tuple[float, ...]
    hidden: int
    part: UniformPart | None = None


def published_uniform(n: int, a: float) -> SumBound:
    """The bound on a sum of n uniform records as Groce states it (Theorem 6.6).

    epsilon = log f_{n-1}(a - .5) / f_{n-1}(a - 1) and delta = F_{n-1}(a - .5) + F_{n-1}(a).

    Parameters
    ----------
    n : int
        The number of records, at least 2.
    a : float
        Where the tails are cut, from 1 to n/2.

    Raises
    ------
    InvalidInput
        If n or a is out of range.
    """
    return _uniform(n, a, 0.5)


def tight_uniform(n: int, a: float) -> SumBound:
    """The bound of Theorem 6.6 with the delta that its proof gives: F_{n-1}(a - 1) + F_{n-1}(a).

    The tails hold F(a - c) + F(a - 1 + c), which is largest at c = 0 and 1, as F is convex there.
    """
    return _uniform(n, a, 1.0)


def published(
    n: int, part: UniformPart, a: float | Sequence[float], r: float, *, known_records: int = 0
) -> SumBound:
    """The bound of Groce's Corollaries 6.2, with n in its last exponent, and 6.3; see the module.

    Parameters
    ----------
    n : int
        The number of records.
    part : UniformPart
        The box on which the law has a height, and the law's support.
    a : float or sequence of float
        Where the tails are cut, in each coordinate, from w_j/2 to (m - 1)/2.
    r : float
        In (0, 1]: the fraction of the expected number of uniform records that is relied on.
    known_records : int
        How many the adversary may know.

    Raises
    ------
    InvalidInput
        If a number is out of its range.
    """
    rest, hidden, cuts = _checked(n, part, a, r, known_records)
    epsilon, tails = _cut(hidden - 1, cuts, part.widths, 1.0)
    few = math.exp(-2 * rest * part.volume**2 * (1 - r) ** 2)
    few *= 1 + math.exp(epsilon) if epsilon < 700 else math.inf
    return SumBound(epsilon, tails + few, cuts, hidden, part)


def tight(
    n: int, part: UniformPart, a: float | Sequence[float], r: float, *, known_records: int = 0
) -> SumBound:
    """The bound of Corollaries 6.2 and 6.3 with no more delta than their proof needs."""
    rest, hidden, cuts = _checked(n, part, a, r, known_records)
    epsilon, tails = _cut(hidden - 1, cuts, part.widths, -1.0)
    return SumBound(epsilon, tails + too_few(rest, part.volume, hidden), cuts, hidden, part)


def too_few(n: int, share: float, hidden: int) -> float:
    """Probability that Binomial(n - 1, share) < hidden - 1, rounded up."""
    return below(hidden - 1, n - 1, share)


def _uniform(n: int, a: float, lower: float) -> SumBound:
    n = check_at_least_one("n", n)
    if n < 2:
        raise InvalidInput("n is 1; it must be at least 2: the sum of one record is that record")
    a = check_position("a", a)
    if not 1 <= a <= n / 2:
        raise InvalidInput(f"a is {a}; it must be from 1 to n/2 = {n / 2}")
    k, x = n - 1, n / 2 - a  # (n - 1)/2 - (a - 1/2)
    epsilon = centred_log_ratio(x, further(x, 0.5), k) + error(k)
    tails = centred_distribution(x - 0.5, k) + centred_distribution(x - 0.5 + lower, k)
    return SumBound(epsilon, tails * (1 + error(k)), (a,), n)


def _cut(
    count: int, cuts: Sequence[float], widths: Sequence[float], sign: float
) -> tuple[float, float]:
    """Epsilon of a cut, and the sum of its tails, F(a + w/2) + F(a + sign w/2)."""
    epsilon, tails = 0.0, 0.0
    for a, width in zip(cuts, widths, strict=True):
        x = count / 2 - a
        epsilon += centred_log_ratio(x, further(x, width / 2), count) + error(count)
        for half in (width / 2, sign * width / 2):
            tails += centred_distribution(-further(-x, half), count)
    return epsilon, tails * (1 + error(count))


def _checked(
    n: int, part: UniformPart, a: float | Sequence[float], r: float, known_records: int
) -> tuple[int, int, tuple[float, ...]]:
    n = check_at_least_one("n", n)
    rest = n - check_known_records(known_records, n)
    if not is_number(r) or not 0 < r <= 1:
        raise InvalidInput(f"r is {quoted(r)}; it must be a number above 0, at most 1")
    hidden = math.ceil(r * part.volume * rest)
    if hidden < 2:
        raise InvalidInput(
            f"the bound would rely on {hidden} uniform records among {rest} unknown ones, and "
            "needs at least 2: use more records, or a larger box"
        )
    given = tuple(a) if isinstance(a, Sequence) else (a,) * len(part.widths)
    cuts = tuple(check_position("a", each) for each in given)
    if len(cuts) != len(part.widths):
        raise InvalidInput(f"a has {len(cuts)} numbers; the law has {len(part.widths)} coordinates")
    for each, width in zip(cuts, part.widths, strict=True):
        if not width / 2 <= each <= (hidden - 1) / 2:
            raise InvalidInput(
                f"a is {each}; it must be from half the width, {width / 2}, to half the number of "
                f"uniform records counted on, {(hidden - 1) / 2}"
            )
    return rest, hidden, cuts
