"""The smallest epsilon at which a criterion is met, and the curve that leads there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bayesdp.evaluation.planning.outlook import Outlook

_DIGITS = 3
_WITHIN = {"exact": 1.01, "simulated": 1.05}
_POINTS = {"exact": 8, "simulated": 6}
_STRAIGHT = 6


@dataclass
class Curve:
    """Curve of one design's outlooks, at all epsilons evaluated so far.

    Attributes
    ----------
    at : callable
        Returns the outlook at an epsilon.
    known : dict of float to Outlook
    """

    at: Callable[[float], Outlook]
    known: dict[float, Outlook] = field(default_factory=dict)

    def __call__(self, epsilon: float) -> Outlook:
        if epsilon not in self.known:
            self.known[epsilon] = self.at(epsilon)
        return self.known[epsilon]


def smallest_epsilon(curve: Curve, target: float, ends: tuple[float, float]) -> float | None:
    """Find the smallest epsilon that meets the target, or None.

    The criterion is evaluated at both ends and between them; from the smallest epsilon that meets
    the target, the search goes down towards the largest below it that doesn't. The criterion
    needn't decrease everywhere: the epsilon returned was itself found to meet the target. If it
    does decrease, no epsilon that is 1% smaller meets the target (5% where the criterion is
    simulated).
    """
    low, high = ends
    how = curve(high).how
    points = min(_POINTS[how], math.ceil(math.log2(high / low)) + 1)
    between = np.geomspace(low, high, points)[1:-1]
    grid = sorted({low, high, *(e for e in map(_rounded, between) if low < e < high)})
    met = [curve(epsilon).safe <= target for epsilon in grid]
    if not any(met):
        return None
    first = met.index(True)
    if first == 0:
        return low
    fails, meets = grid[first - 1], grid[first]
    for tries in itertools.count():
        middle = _between(curve, target, fails, meets, _WITHIN[how], straight=tries < _STRAIGHT)
        if meets / fails <= _WITHIN[how] or not fails < middle < meets:
            return meets
        if curve(middle).safe <= target:
            meets = middle
        else:
            fails = middle
    return None


def _between(
    curve: Curve, target: float, fails: float, meets: float, within: float, *, straight: bool
) -> float:
    """Choose the next epsilon: near the root if lengths fall as a power, or half-way."""
    middle = _rounded(math.sqrt(fails * meets))
    above, below = curve(fails).safe, curve(meets).safe
    if not straight or not 0 < below < above < math.inf:
        return middle
    share = math.log(above / target) / math.log(above / below)
    root, aside = fails * (meets / fails) ** share, within**0.45
    aimed = _rounded(root * aside if root * aside < meets / within**0.1 else root / aside)
    return aimed if fails < aimed < meets else middle


def _rounded(epsilon: float) -> float:
    return float(f"{epsilon:.{_DIGITS}g}")
