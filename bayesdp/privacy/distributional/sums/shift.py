r"""Exact privacy profiles of a sum of uniform numbers against itself shifted.

P is the law of a sum of k uniform numbers, with density f and distribution F, and Q that of the
sum shifted by s > 0. log f(y) / f(y - s) decreases, as f is log-concave, so that the set S that
tells P from Q best is a half-line, and

    sup_S P(S) - exp(epsilon) Q(S) = F(t) - exp(epsilon) F(t - s),  log f(t) / f(t - s) = epsilon.

By symmetry Q from P is the same, and at a given t it increases in s: of several shifts the largest
is the worst. In several coordinates the sums are independent; each coordinate's divergence
increases in its shift, the others given, so that the largest shifts are the worst together, and
their loss distributions convolve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesdp.privacy.distributional.irwin_hall import (
    centred_distribution,
    centred_log_ratio,
    error,
    further,
)
from bayesdp.privacy.profile import gaussian_divergence, symmetric_pld

_FLOOR = 1e-300  # below, doubles lose their digits
_POINTS = 400
_NEGLIGIBLE = 1e-22


def shift_delta(epsilon: float, shift: float, count: int) -> float:
    """Delta at epsilon of a sum of `count` uniform numbers against itself shifted, rounded up.

    At a t where the log ratio is epsilon or a little less, the result is that of this smaller
    epsilon, which is more.

    Parameters
    ----------
    epsilon : float
        At least 0.
    shift : float
        s, at least 0.
    count : int
        k, at least 0.
    """
    if shift == 0:
        return 0.0
    if shift >= count:
        return 1.0
    if count == 1:
        return shift
    slack = 4 * error(count)
    low, end = -shift / 2, count / 2 - shift  # of x, with t = count/2 - x
    x = _crossing(epsilon, shift, count, low, end)
    step = slack * max(x - low, shift)
    ratio = centred_log_ratio(x, further(x, shift), count)
    while ratio + slack > epsilon and x > low:
        x, step = max(low, x - step), 2 * step
        ratio = centred_log_ratio(x, further(x, shift), count)
    above = centred_distribution(x, count) * (1 + slack)
    below = centred_distribution(further(x, shift), count) * (1 - slack)
    return min(1.0, max(_FLOOR, above - math.exp(ratio - slack) * below))


def _crossing(epsilon: float, shift: float, count: int, low: float, end: float) -> float:
    """Find the x where the log ratio, increasing from 0 at `low` to inf at `end`, is epsilon."""
    if epsilon == 0:
        return low

    def excess(x: float) -> float:
        return centred_log_ratio(x, x + shift, count) - epsilon

    guess = min(epsilon * count / (12 * shift) - shift / 2, (low + 3 * end) / 4)
    gap = excess(guess)
    first, step = guess, max(0.05 * (guess - low), 1e-6)
    while gap > 0:
        first, step = max(low, first - step), 2 * step
        gap = excess(first) if first > low else -epsilon
    last, step = guess, max(0.05 * (guess - low), 1e-6)
    if first == guess:
        gap = excess(last)
        while gap < 0:
            last = last + step if last + step < end else (last + end) / 2
            step, gap = 2 * step, excess(last)
            if last >= math.nextafter(end, low):
                return math.nextafter(end, low)
        if math.isinf(gap):
            return first
    root: float = optimize.brentq(excess, first, last, xtol=1e-300, rtol=1e-14)
    return root


@dataclass(frozen=True, slots=True)
class _Curve:
    """Points on a profile: exp(epsilon), ascending, and upper bounds of delta there."""

    factors: NDArray[np.float64]
    deltas: NDArray[np.float64]

    def delta(self, epsilon: float) -> float:
        """Delta on the chord between points, an upper bound as delta is convex in exp(epsilon)."""
        return float(np.interp(math.exp(min(epsilon, 700.0)), self.factors, self.deltas))


@lru_cache(maxsize=64)
def _curve(shift: float, count: int) -> _Curve:
    """The profile at half-lines that end at _POINTS places, down to negligible deltas."""
    slack = 4 * error(count)
    furthest = min(11 * math.sqrt(count / 12), (count / 2 - shift) * (1 - 1e-9))
    factors, deltas = [1.0], [shift_delta(0.0, shift, count)]
    for x in np.linspace(-shift / 2, furthest, _POINTS)[1:].tolist():
        far = further(x, shift)
        ratio = centred_log_ratio(x, far, count)
        above = centred_distribution(x, count) * (1 + slack)
        below = centred_distribution(far, count) * (1 - slack)
        # At a little more than this ratio, the delta of a little less.
        factors.append(math.exp(min(ratio + slack, 700.0)))
        deltas.append(max(_FLOOR, above - math.exp(min(ratio - slack, 700.0)) * below))
        if deltas[-1] < _NEGLIGIBLE or ratio > 60:
            break
    return _Curve(np.array(factors), np.array(deltas))


@lru_cache(maxsize=64)
def _loss(shift: float, count: int, interval: float) -> Any:
    curve = _curve(shift, count)
    places = np.unique(np.round(np.log(curve.factors) / interval).astype(np.int64))
    deltas = [min(1.0, curve.delta(k * interval) * (1 + 1e-9)) for k in places.tolist()]
    return symmetric_pld(interval, places, np.array(deltas))


def shifts_delta(epsilon: float, shifts: tuple[float, ...], count: int) -> float:
    """Bound the delta of independent sums of uniform numbers, each coordinate shifted by its own.

    In several coordinates each one's profile is rounded up between its points, and their loss
    distributions are convolved on a grid, rounded up too.
    """
    if len(shifts) == 1:
        return shift_delta(epsilon, shifts[0], count)
    if count < 2 or any(shift >= count for shift in shifts):
        return 1.0
    interval = min(shifts) / math.sqrt(count / 12) / 25
    together = None
    for shift in shifts:
        one = _loss(shift, count, interval)
        together = one if together is None else together.compose(one)
    return min(1.0, float(together.get_delta_for_epsilon(epsilon)) * (1 + 1e-9))  # type: ignore[union-attr]


def gaussian_guess(epsilon: float, shifts: tuple[float, ...], count: float) -> float:
    """Delta of a normal law of the same variance as the sum: no bound, but near."""
    return gaussian_divergence(math.hypot(*shifts) / math.sqrt(count / 12), epsilon)
