r"""The privacy profile of an exact sum: a bound of our own, tighter than the theorems.

n independent records from one law, of which the adversary knows some; the sum of all is released.
For a record with value x that isn't known, both worlds add the N = n - known - 1 others:

- distributional privacy (Definition 5.3, the pair X_i and X_{-i}): against the simulator that adds
  the middle of the support to the sum of the others. The shift is at most half the support's width;
- noiseless privacy (Definition 5.7): against the world where the record has the value x'. The shift
  is at most the whole width.

For given known records the rest are independent of what is known, and the known ones shift both
worlds alike. A record that is known itself leaves N + 1 others. So delta(epsilon) is at most the
divergence between the law of the N others' sum and itself moved by a vector within those shifts:

- uniform records, one coordinate: exactly that, by `sums.shift`. No simulator does better than
  `simulator_floor`, which isn't far;
- a log-concave density, one coordinate: `sums.steps`, averaged over how many of the N records come
  from the part below its steps (`sums.mixture`), as the divergence is jointly convex;
- a uniform part on a box, any number of coordinates: the same with `sums.shift`. In several
  coordinates one cut m is used: Pr[fewer than m from the part] + the divergence for m.

Mixtures of such laws, and dependent records that are such given something unknown, are covered for
distributional privacy, as the simulator depends on the bounds alone (Theorem 5.4). They aren't for
noiseless privacy, where a record's value tells of the law.

Groce's Corollary 6.3 takes classes of several laws with the largest of their own epsilons and
deltas. That is false where their supports differ, as a simulator must serve them all: here every
law of the class has the same bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from bayesdp.checks import check_at_least_one, check_delta, check_share, keep
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import Definition, check_known_records
from bayesdp.privacy.distributional.record_laws import RecordLaw
from bayesdp.privacy.distributional.sums.mixture import below, largest_cut, mixture_delta
from bayesdp.privacy.distributional.sums.shift import gaussian_guess, shift_delta, shifts_delta
from bayesdp.privacy.distributional.sums.steps import steps_delta
from bayesdp.privacy.distributional.uniform_part import UniformPart
from bayesdp.privacy.profile import check_profile_epsilon, gaussian_profile, smallest_satisfying

_CELLS = ((20_000, 256), (200_000, 128), (1_500_000, 64), (10_000_000, 32))
_SHARE = 1 / 20  # of delta, for too few records of a uniform part in several coordinates
_FRACTION = {Definition.DISTRIBUTIONAL: 0.5, Definition.NOISELESS: 1.0}


@dataclass(frozen=True, slots=True)
class SumProfile:
    """Privacy profile delta(epsilon) of an exact sum, rounded up.

    Parameters
    ----------
    n : int
        Number of records; public.
    law : RecordLaw
        The law of each record: `Uniform`, `TopCodedNormal` or `BoundedLaw`.
    known_records : int
        How many of the others the adversary may know, at most n - 1; which of them doesn't depend
        on the values of the rest.
    definition : Definition
        DISTRIBUTIONAL or NOISELESS.

    Raises
    ------
    InvalidInput
        If a number is out of its range, or there is no such profile.
    """

    n: int
    law: RecordLaw
    known_records: int = 0
    definition: Definition = Definition.DISTRIBUTIONAL

    def __post_init__(self) -> None:
        n = check_at_least_one("n", self.n)
        object.__setattr__(self, "n", n)
        keep(self, known_records=check_known_records(self.known_records, n))
        if not hasattr(self.law, "parts"):
            raise InvalidInput(
                f"law is {quoted(self.law)}; it must be a Uniform, TopCodedNormal or BoundedLaw of "
                "bdp.distributional"
            )
        if self.definition not in _FRACTION:
            raise InvalidInput(
                f"definition is {quoted(self.definition)}; a sum's profile is distributional or "
                "noiseless"
            )
        object.__setattr__(self, "definition", Definition(self.definition))

    @property
    def others(self) -> int:
        """N, the number of unknown records that hide one."""
        return self.n - self.known_records - 1

    @property
    def cells(self) -> int | None:
        """Number of cells that the support is cut into, where the law has log-concave steps."""
        for most, cells in _CELLS:
            if self.others <= most:
                return cells if self.law.steps(cells) is not None else None
        return None

    def delta(self, epsilon: float) -> float:
        """The smallest delta found at epsilon >= 0, rounded up."""
        epsilon = check_profile_epsilon(epsilon)
        if self.others == 0:
            return 1.0
        if self.cells is not None:
            return self._by_steps(epsilon)
        part, shifts = self._box()
        if len(shifts) == 1:
            return mixture_delta(
                lambda m: shift_delta(epsilon, shifts[0], m), self.others, part.volume, 16
            )
        guess = max(1e-200, gaussian_guess(epsilon, shifts, self.others * part.volume))
        first = self._by_cut(epsilon, part, shifts, guess)
        return min(first, self._by_cut(epsilon, part, shifts, first))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon found at delta in (0, 1); inf where there is none."""
        delta = check_delta(delta)
        if delta == 0 or self.others == 0:
            return math.inf  # two sums' supports differ, however many records hide them
        start = self._guess(delta)
        function: Callable[[float], float] = self.delta
        if self.cells is None:
            part, shifts = self._box()
            if len(shifts) > 1:
                cut = largest_cut(self.others, part.volume, delta * _SHARE)
                if cut == 0 or any(shift >= cut for shift in shifts):
                    return math.inf
                few = below(cut, self.others, part.volume) if part.volume < 1 else 0.0

                def of_cut(epsilon: float) -> float:
                    return few + shifts_delta(epsilon, shifts, cut)

                function = of_cut
        tried = (1.05 * start, 1.3 * start, 4 * start, _LARGEST_EPSILON)
        largest = next((e for e in tried if function(e) <= delta), None)
        if largest is None:
            return math.inf
        return _smallest(function, delta, largest)

    # By each of the ways.

    def _box(self) -> tuple[UniformPart, tuple[float, ...]]:
        """The best box, and the shifts where its sides are 1."""
        part = min(self.law.parts(), key=lambda each: sum(w**2 for w in each.widths) / each.volume)
        return part, tuple(_FRACTION[self.definition] * width for width in part.widths)

    def _by_cut(
        self, epsilon: float, part: UniformPart, shifts: tuple[float, ...], delta: float
    ) -> float:
        cut = largest_cut(self.others, part.volume, delta * _SHARE)
        few = below(cut, self.others, part.volume) if part.volume < 1 else 0.0
        return min(1.0, few + shifts_delta(epsilon, shifts, cut))

    def _by_steps(self, epsilon: float) -> float:
        cells = self.cells or 2
        steps: Any = self.law.steps(cells)
        positive = tuple(q for q in steps if q > 0)
        moved = round(cells * _FRACTION[self.definition])
        return mixture_delta(
            lambda m: steps_delta(epsilon, positive, moved, m),
            self.others,
            min(1.0, math.fsum(steps)),
            9,
        )

    def _guess(self, delta: float) -> float:
        """Approximate epsilon of a delta, from a normal law of nearly the same variance."""
        if self.cells is not None:
            q = np.array(self.law.steps(self.cells))
            j = np.arange(len(q)) - q @ np.arange(len(q)) / q.sum()
            moved = self.cells * _FRACTION[self.definition]
            mu = moved / math.sqrt(self.others * (q @ j**2))
        else:
            part, shifts = self._box()
            mu = math.hypot(*shifts) / math.sqrt(self.others * part.volume / 12)
        epsilon = gaussian_profile(mu).epsilon(delta)
        return min(max(epsilon, 1e-9), _LARGEST_EPSILON / 5)


_LARGEST_EPSILON = 50.0


def _smallest(function: Callable[[float], float], delta: float, largest: float) -> float:
    """An epsilon up to `largest`, which satisfies; within a part in 10^7 of the smallest."""
    if function(0.0) <= delta:
        return 0.0
    low, high, factor = largest / 1.2, largest, 1.5
    while function(low) <= delta:
        low, high, factor = low / factor, low, 2 * factor
    log_delta = math.log(delta)

    def excess(epsilon: float) -> float:
        return math.log(function(epsilon)) - log_delta

    epsilon: float = optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-8)
    step = 1e-8
    while function(epsilon) > delta:
        epsilon, step = min(high, epsilon * (1 + step)), 2 * step
    return epsilon


def simulator_floor(profile: SumProfile, delta: float) -> float:
    """An epsilon below which no simulator keeps delta, for uniform records of one coordinate.

    If F given either value of a record is within (epsilon, delta) of the same simulator, the two
    are within (2 epsilon, (1 + exp(epsilon)) delta) of each other; and how far apart the two are is
    known exactly. A better simulator could gain at most the gap to `profile.epsilon(delta)`.

    Parameters
    ----------
    profile : SumProfile
        The profile for uniform records of one coordinate.
    delta : float
        In (0, 1).

    Raises
    ------
    InvalidInput
        If the profile is for records of another law.
    """
    delta, part = check_share("delta", delta), profile.law.parts()[0]
    if len(part.box) > 1 or part.volume < 1:
        raise InvalidInput("the law isn't uniform in one coordinate; its floor isn't known")
    exact = SumProfile(profile.n, profile.law, profile.known_records, Definition.NOISELESS)

    def excess(epsilon: float) -> float:
        return exact.delta(2 * epsilon) / (1 + math.exp(epsilon))

    if excess(0.0) <= delta:
        return 0.0
    return smallest_satisfying(excess, delta, start=profile.epsilon(delta)) * (1 - 1e-6)
