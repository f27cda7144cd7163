r"""Choose a, r and the box of Groce's bounds on exact sums that are best for a target.

Any choice is a valid bound. The search takes normal tails for the sum's and looks at 60 values of r
and every box that the law proposes; the best of them is then computed exactly, with r refined and
the cuts a solved so that the target is met. Coordinates are cut at equal tails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.privacy.distributional.guarantee import check_known_records
from bayesdp.privacy.distributional.record_laws import RecordLaw
from bayesdp.privacy.distributional.sums.published import (
    SumBound,
    published,
    published_uniform,
    tight,
    tight_uniform,
)
from bayesdp.privacy.distributional.uniform_part import UniformPart
from bayesdp.privacy.guarantee import check_epsilon

_VALUES = 60


@dataclass(frozen=True, slots=True)
class _Search:
    rest: int
    as_published: bool

    def few(self, part: UniformPart, r: float) -> float:
        """Approximate delta of too few hiding records, without the factor 1 + exp(epsilon)."""
        if part.volume >= 1 and (len(part.widths) == 1 or not self.as_published):
            return 0.0
        if self.as_published:
            return math.exp(-2 * self.rest * part.volume**2 * (1 - r) ** 2)
        hidden = math.ceil(r * part.volume * self.rest)
        if hidden < 2:
            return 0.0
        # Pr[Binomial(rest - 1, volume) <= hidden - 2]
        return float(special.betainc(self.rest - hidden + 1, hidden - 1, 1 - part.volume))

    def bound(self, part: UniformPart, cut: float, r: float) -> SumBound:
        """The bound on an exact sum with cuts `cut` standard deviations beyond the wider tails."""
        count = math.ceil(r * part.volume * self.rest) - 1
        sd = math.sqrt(count / 12)
        if part.volume >= 1 and len(part.widths) == 1:
            function = published_uniform if self.as_published else tight_uniform
            return function(self.rest, max(1.0, min(self.rest / 2, self.rest / 2 - cut * sd - 0.5)))
        a = [max(w / 2, min(count / 2, (count - w) / 2 - cut * sd)) for w in part.widths]
        return (published if self.as_published else tight)(self.rest, part, a, r)

    def at_delta(self, part: UniformPart, r: float, delta: float) -> SumBound | None:
        """The bound with the smallest epsilon at this delta, or None where there is none."""
        count = math.ceil(r * part.volume * self.rest) - 1
        if count < 2 or self.few(part, r) >= delta:
            return None
        guess = _cut(max(delta - 2 * self.few(part, r), delta / 100), len(part.widths))
        most = math.sqrt(3 * count)  # where the cut is at the end of the range

        def excess(cut: float) -> float:
            return math.log(self.bound(part, cut, r).delta / delta)

        low, high = 0.0, min(guess, most)
        while excess(high) > 0:
            if high >= most:
                return None
            low, high = high, min(most, high + 0.5)
        if low == 0.0:
            low = max(0.0, high - 0.5)
            while low > 0 and excess(low) <= 0:
                low = max(0.0, low - 0.5)
        if excess(low) <= 0:
            return self.bound(part, low, r)
        cut = float(optimize.brentq(excess, low, high, xtol=1e-9))
        while (bound := self.bound(part, cut, r)).delta > delta:
            cut += 1e-9 * (1 + cut)
        return bound


def best_bound(
    n: int, law: RecordLaw, *, delta: float, known_records: int = 0, as_published: bool = False
) -> SumBound:
    """Return the bound on an exact sum with the smallest epsilon at a delta.

    Parameters
    ----------
    n : int
        The number of records.
    law : RecordLaw
        The law of each record.
    delta : float
        In (0, 1).
    known_records : int
        How many the adversary may know.
    as_published : bool
        Whether to take Groce's delta (Theorem 6.6, Corollary 6.2) instead of the smaller one that
        the proof gives.

    Returns
    -------
    SumBound
        Its delta is at most the target.

    Raises
    ------
    InvalidInput
        If no choice reaches the target, or an argument is out of its range.
    """
    n = check_at_least_one("n", n)
    delta = check_delta(delta)
    search = _Search(n - check_known_records(known_records, n), as_published)
    if delta == 0:
        raise InvalidInput(
            "delta is 0; it must be above 0, as the exact sums of neighbouring data have "
            "different supports"
        )
    part, r = _roughly(search, law.parts(), delta)
    bounds = [b for b in (search.at_delta(part, r, delta),) if b]
    if part.volume < 1 or len(part.widths) > 1:
        width = 1 / _VALUES
        for _ in range(3):
            for near in (r - width, r + width):
                if 0 < near <= 1 and (b := search.at_delta(part, near, delta)):
                    bounds.append(b)
            if bounds:
                best = min(bounds, key=lambda b: b.epsilon)
                r = min(1.0, (best.hidden - 0.5) / (part.volume * search.rest))
            width /= 3
    bounds = [b for b in bounds if b.epsilon < math.inf]
    if not bounds:
        raise InvalidInput(
            f"delta is {delta}, which no choice of the bound reaches with {search.rest} unknown "
            "records of this law; allow a larger delta, or use more records"
        )
    return min(bounds, key=lambda b: b.epsilon)


def best_bound_at_epsilon(
    n: int, law: RecordLaw, *, epsilon: float, known_records: int = 0, as_published: bool = False
) -> SumBound:
    """Return the bound on an exact sum with the smallest delta at an epsilon.

    Parameters
    ----------
    n, law, known_records, as_published
        As for `best_bound`.
    epsilon : float
        Positive.

    Raises
    ------
    InvalidInput
        If no choice reaches the target, or an argument is out of its range.
    """
    epsilon = check_epsilon(epsilon)

    def least(log_delta: float) -> float:
        try:
            return best_bound(n, law, delta=math.exp(log_delta), known_records=known_records,
                              as_published=as_published).epsilon  # fmt: skip
        except InvalidInput:
            return math.inf

    best_bound(n, law, delta=0.999, known_records=known_records, as_published=as_published)
    # By how many powers of e delta can be below 1.
    low, high = 0.0, 1.0
    if least(-1e-3) > epsilon:
        raise InvalidInput(
            f"epsilon is {epsilon}, which no choice of the bound reaches with delta below 1"
        )
    while least(-high) <= epsilon and high < 650:
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if least(-middle) <= epsilon else (low, middle)
    return best_bound(n, law, delta=math.exp(-max(low, 1e-3)), known_records=known_records,
                      as_published=as_published)  # fmt: skip


def _roughly(
    search: _Search, parts: Sequence[UniformPart], delta: float
) -> tuple[UniformPart, float]:
    """Choose the best part and r as if the tails were normal."""
    best, chosen = math.inf, (parts[0], 1.0)
    for part in parts:
        for r in (
            (1.0,) if search.few(part, 1.0) == 0 else np.linspace(1, 0, _VALUES, endpoint=False)
        ):
            few = search.few(part, float(r))
            count = r * part.volume * search.rest - 1
            if count < 2 or few >= delta:
                continue
            epsilon = 0.0
            for _ in range(3 if search.as_published else 1):
                left = delta - few * (1 + math.exp(min(epsilon, 50)) * search.as_published)
                if left <= 0:
                    epsilon = math.inf
                    break
                z = _cut(left, len(part.widths))
                sd = math.sqrt(count / 12)
                epsilon = sum(w / 2 * (z * sd + 0.75 * w) / sd**2 for w in part.widths)
            if epsilon < best:
                best, chosen = epsilon, (part, float(r))
    return chosen


def _cut(delta: float, coordinates: int) -> float:
    """Number of standard deviations beyond which normal tails of all coordinates hold delta."""
    return max(0.0, -float(special.ndtri(min(0.5, delta / (2 * coordinates)))))
