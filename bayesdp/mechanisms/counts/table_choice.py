r"""Choice of a table's last marginals by the exponential mechanism on confidential counts.

Released before are noisy counts z_j of each column alone. With p_j their shares, negative counts
taken as 0, and N their mean total (or n, where it is public), a candidate marginal C of two or more
columns is expected, were they independent, to have e = N prod_j p_j records in a cell. Its score is

    u_C = sum over cells |c - e| - b_C,
    b_C = sum over cells [min(sqrt(2 e f / pi), 2 e) + sqrt(2 / pi) t],

c its confidential counts, t the standard deviation of the last round's noise, and f = 1 - (1 + sum
(a_j - 1)) / prod a_j, a_j the columns' cells: the records that independence misplaces, less about
what sampling alone would show and what is lost to noise if C is measured (as in AIM: McKenna,
Mullins, Sheldon and Miklau 2022). e and b are rounded to sixteenths, so that scores are exact.

K marginals are chosen one after another, each with probability proportional to exp(r u) among those
that are left (`bayesdp.mechanisms.selection.exponential`, whose draws are exact). The law of the
choice c_1, ..., c_K is

    prod_k exp(r u_{c_k}) / sum over C not among c_1, ..., c_{k-1} of exp(r u_C).

One choice
----------
e and b are functions of what was released before, and so the same for neighbours with the same
past. A unit of at most k records (k = 1 for a record) that is added or removed moves a candidate's
counts by at most k in L1 norm, and the score by no more; one that is replaced, by at most 2 k.
Let D be either. A log ratio is log sum_C w_C exp(r d_C) - r d_i for some weights w and changes
|d| <= D: the log ratios of all outputs are in an interval of length h = 2 r D, which holds 0. So
a choice has a pure epsilon of h, which adds to that of Laplace noise.

Beside Gaussian noise
---------------------
Let [s - h, s] be the interval. The trade-off function of the two laws (the least error of the
second kind at each of the first) is convex, from 1 to 0, with slopes between -exp(s) and
-exp(s - h). So it is nowhere below that of two coins whose log odds differ by h: two lines, from
(0, 1) to a corner and from there to (1, 0). That of N(0, 1) and N(mu, 1) is convex too, and so
below the two lines if it isn't above the corner; which, for coins of probabilities p > q, it isn't
from mu = g(logit p) - g(logit q) on, where g(x) = Phi^-1(1 / (1 + exp(-x))). So with

    mu(h) = largest of g(x + h/2) - g(x - h/2) = 2 g(h / 2) <= h sqrt(2 pi) / 4

one choice, given the past, is dominated by this pair (Dong, Roth and Su 2022, Theorem 2), and
counts as one more Gaussian component, which moves by mu standard deviations
(`bayesdp.mechanisms.counts.noisy_table`). In the bounds of `bayesdp.mechanisms.modips.promise` its
rho is at most mu^2 / 2; it takes no part in the ratio of a discrete law to a continuous one; and
where these reduce the scales, its own, which needn't be, is reduced too.

The largest is at x = 0, as g' is even and falls on x > 0. To see this, let y = g(x) and write Phi
and phi for the normal law at y. Then g' = Phi (1 - Phi) / phi, and (log g')' = 1 - 2 Phi + y g' is
at most 0 if v = (2 Phi - 1) phi - y Phi (1 - Phi) >= 0. v is 0 at 0 and at infinity, and v' =
2 phi^2 - Phi (1 - Phi) is positive at 0. The log of Phi (1 - Phi) / phi^2 has the slope
2 y - [m(y) - m(-y)], m = phi / (1 - Phi), which is at least 0 as m' < 1 (Sampford 1953). So v'
changes its sign once, from + to -, and v >= 0. The bound is by the slope of g at 0, where it is
steepest. As a choice's log ratios are in an interval of length h, its rho is also at most h^2 / 8
(Cesar and Rogers 2021).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.fields import of_table
from bayesdp.core.table_choice import Offered
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.marginals import check_marginals
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism

Floats = NDArray[np.float64]
Marginals = tuple[tuple[str, ...], ...]

_STEPS = 16  # of a record, in which scores are whole numbers
_MEAN = math.sqrt(2 / math.pi)  # of the absolute value of a standard normal number
_NARROW = 0.01  # length of an interval below which the bound on mu is within 1e-6 of it

UNAUDITED = (
    "choice is in the mechanism, whose draws are of the counts given the marginals that were "
    "chosen, so that an audit by draws can't see what the choice costs: audit the mechanism "
    "without it (choice=None), and take the choice's price from its proof"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice of the last round's marginals, in their order, by the exponential mechanism.

    Parameters
    ----------
    candidates : sequence of sequences of str
        Columns of each marginal to choose from, two or more of each, more than are chosen. Public.
    rate : float
        Factor of a score, in records, in the exponent.
    """

    candidates: Marginals
    rate: float


def check_choice(choice: Any, marginals: Sequence[Marginals], cells: Mapping[str, int]) -> Choice:
    """Return the choice of the last of the rounds' marginals, or raise InvalidInput."""
    made: Choice = of_table(Choice)("choice", choice)
    candidates = check_marginals(made.candidates, cells)
    alone = {part[0] for one in marginals[:-1] for part in one if len(part) == 1}
    if missing := [name for part in candidates for name in part if name not in alone]:
        raise InvalidInput(
            f"choice has column {quoted(missing[0])}, which no round before the last counts by "
            "itself: a choice compares counts with what was released of single columns; count it"
        )
    last = marginals[-1] if marginals else ()
    if min(map(len, candidates)) < 2 or len(candidates) <= len(last):
        raise InvalidInput(
            f"choice has {len(candidates)} candidates; they must be of two or more columns each, "
            f"and more than the {len(last)} that are chosen: measure all without a choice"
        )
    if other := [part for part in last if part not in candidates]:
        raise InvalidInput(
            f"the last round's marginal {quoted(other[0])} isn't among the choice's candidates"
        )
    return Choice(candidates, check_positive("rate", made.rate))


def interval(rate: float, moved: int) -> float:
    """Length of the interval of a choice's log ratios, where a score moves by at most `moved`."""
    return up(2 * moved * Fraction(rate))


def normal_move(length: float) -> float:
    """Move of a standard normal number that dominates a choice, from above."""
    most = length * math.sqrt(2 * math.pi) / 4 * (1 + 2.0**-50)
    if length < _NARROW:
        return most
    tail = float(scipy.special.ndtri_exp(-np.logaddexp(0.0, length / 2)))
    return min(most, -2 * tail * (1 + 1e-12))


def rate_of(noise: str, share: float, factor: float, moved: int) -> float:
    """The rate of a choice that costs a share of the budget, as a mechanism's scales measure it.

    Beside Laplace noise the interval of its log ratios is share / factor long; beside Gaussian
    noise it moves a standard normal number by sqrt(share) / factor.
    """
    length = share / factor
    if noise == "gaussian":
        move = math.sqrt(share) / factor
        length = move * 4 / math.sqrt(2 * math.pi)
        if move >= _NARROW:
            both = scipy.special.log_ndtr([move / 2, -move / 2])
            length = float(2 * (both[0] - both[1]))
    return length / (2 * moved)


def offered(
    parts: Sequence[tuple[int, ...]],
    shapes: Sequence[tuple[int, ...]],
    released: Mapping[int, Floats],
    firsts: Mapping[int, Sequence[int]],
    n: int | None,
    deviation: float,
) -> tuple[Offered, ...]:
    """Candidates, with what is expected in their cells if columns are independent.

    Parameters
    ----------
    parts, shapes : sequence of tuple of int
        Columns of each candidate, and the numbers of cells or pools that it counts of them.
    released : mapping of int to ndarray, shape (..., cells)
        Noisy counts of each column alone.
    firsts : mapping of int to sequence of int
        The first cell of each pool, of the columns whose cells are pooled.
    n : int or None
        The number of records, where it is public.
    deviation : float
        Standard deviation of the noise that the chosen ones get.
    """
    totals = np.stack([each.sum(axis=-1) for each in released.values()], axis=-1)
    precision = [1 / each.shape[-1] for each in released.values()]
    total = np.maximum(np.average(totals, axis=-1, weights=precision), 1)
    total = total if n is None else np.full_like(total, n)
    shares = {
        k: _shares(np.add.reduceat(each, firsts[k], axis=-1) if k in firsts else each)
        for k, each in released.items()
    }
    made = []
    for columns, shape in zip(parts, shapes, strict=True):
        each = total[..., None]
        for k in columns:
            each = (each[..., None] * shares[k][..., None, :]).reshape(*total.shape, -1)
        records = np.rint(_STEPS * each) / _STEPS
        made.append(Offered(columns, shape, records, _allowance(records, shape, deviation)))
    return tuple(made)


def _allowance(records: Floats, shape: Sequence[int], deviation: float) -> Floats:
    """Records of a marginal that sampling shows and noise hides, rounded to sixteenths."""
    free = 1 - (1 + sum(size - 1 for size in shape)) / math.prod(shape)
    sampled = np.minimum(_MEAN * np.sqrt(records * free), 2 * records)
    return np.asarray(np.rint(_STEPS * (sampled + _MEAN * deviation).sum(axis=-1)) / _STEPS)


def _shares(released: Floats) -> Floats:
    """Shares of a column's cells by its noisy counts; all alike where none is positive."""
    kept = np.maximum(released, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, kept / np.maximum(total, 1), 1 / kept.shape[-1]))


def scores(offered: Sequence[Offered], counts: Sequence[NDArray[Any]]) -> Floats:
    """Scores of candidates by their counts, shape (..., candidates), exact."""
    each = [
        np.abs(x - one.expected).sum(axis=-1) - one.allowance
        for one, x in zip(offered, counts, strict=True)
    ]
    return np.stack(np.broadcast_arrays(*each), axis=-1)


def chosen(scored: Floats, number: int, rate: float) -> list[int]:
    """Choose candidates one after another, exactly, from the secure generator."""
    left, made = list(range(scored.size)), []
    for _ in range(number):
        draw = ExponentialMechanism(rate, 0.5, len(left))  # of which the rate is epsilon / 1
        made.append(left.pop(int(draw.release(scored[left])[0])))
    return made
