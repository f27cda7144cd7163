"""Base of the mechanisms that choose one of finitely many candidates.

A candidate i has a utility u_i(x), a function of the confidential data x, and the law depends
on the utilities alone, through gamma_i = rate * (max_j u_j - u_i) >= 0. The sensitivity s is the
largest |u_i(x) - u_i(x')| over candidates i and neighbours x, x'. The rate is

    epsilon / (2 s),   or, for monotone utilities,   epsilon / s.

Monotone means that when one record is added, either no utility falls or none rises. Counts are
monotone: an added record raises those it is counted in. Then neighbours x, x' have all u_i(x') -
u_i(x) in [0, s], or all in [-s, 0].

Both families of choice satisfy one inequality. Let d_i = u_i(x') - u_i(x). For each candidate i,

    log Pr[i | x] - log Pr[i | x'] <= rate * (max_j d_j - d_i),                           (*)

which their modules prove. If every |d_j| <= s, the right side is at most 2 s rate; if all d_j
are in an interval of length s, as for monotone utilities, at most s rate. Either way it is
epsilon. And epsilon is no less: `pairs` has the pair where the bound is attained or approached.

*From add/remove to replace-one.* To replace a record is to remove it and add another. In general
d is the sum of two steps, each in [-s, s]: |d_i| <= 2 s, and the cost is 4 s rate = 2 epsilon. For
monotone utilities one step is in [0, s] and the other in [-s, 0], so d_i is in [-s, s], and the
cost is 2 s rate = 2 epsilon again. So replace-one costs 2 epsilon in both cases, and nothing
smaller holds for all utilities: the removal may lower the candidate alone and the addition raise
all others. Under replace-one itself, utilities are not taken as monotone: the replacement that
raises one count lowers another.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_statistic, is_label
from bayesdp.core.outputs import WholeNumbers
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.selection.utilities import check_utilities, chosen_law, exponents
from bayesdp.privacy.composition import repeated
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile, pure_profile

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Selection(Mechanism):
    """Base of mechanisms that choose a candidate; a subclass adds its law.

    The fields, and what they raise, are described in `ExponentialMechanism`.
    """

    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    sensitivity: float
    candidates: Any
    monotone: bool = False
    n: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    pure: ClassVar[bool] = True
    log_concave: ClassVar[bool] = False

    if TYPE_CHECKING:

        def release(self, statistic: Any, copies: int = 1) -> NDArray[np.int64]: ...

    def __post_init__(self) -> None:
        sensitivity = check_positive("sensitivity", self.sensitivity, "utilities' unit")
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "candidates", _check_candidates(self.candidates))
        object.__setattr__(self, "neighbours", check_neighbours(self.neighbours))
        if self.n is not None:
            object.__setattr__(
                self, "n", check_at_least_one("n", self.n, "or None if confidential")
            )
        check_flag("monotone", self.monotone)
        if self.neighbours not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
            raise InvalidInput(
                f"neighbours is {quoted(self.neighbours.value)}; utilities of records have "
                "'add_remove' and 'replace_one'"
            )
        if self.monotone and self.neighbours is Neighbours.REPLACE_ONE:
            raise InvalidInput(
                "monotone is True, but a replaced record raises one count and lowers another; "
                "state the mechanism under 'add_remove' (replace_one then costs twice epsilon)"
            )
        if 2 * self.rate > sys.float_info.max:
            raise InvalidInput(
                f"sensitivity is {self.sensitivity} with epsilon {self.epsilon}: their quotient is "
                "too large for a float; give the utilities in another unit"
            )
        if self.n is not None and self.neighbours is Neighbours.ADD_REMOVE:
            raise InvalidInput(
                f"n is {self.n}, public, so a record added or removed shows; keep n confidential "
                "(n=None), or give the epsilon and sensitivity of neighbours='replace_one'"
            )

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the candidates; 0, 1, ... where only their number was given."""
        return self.candidates if isinstance(self.candidates, tuple) else tuple(range(self.k))

    @property
    def k(self) -> int:
        """Number of candidates."""
        return len(self.candidates) if isinstance(self.candidates, tuple) else int(self.candidates)

    @property
    def rate(self) -> Fraction:
        """Exact factor of a gap of utilities in its exponent."""
        return Fraction(self.epsilon) / Fraction(self.sensitivity) / (1 if self.monotone else 2)

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, by default that of the sensitivity.

        Replace-one costs twice what add/remove-one does.

        Raises
        ------
        InvalidInput
            If an add/remove promise is asked of utilities whose sensitivity is replace-one's.
        """
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        if relation not in (self.neighbours, Neighbours.REPLACE_ONE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}, but the sensitivity is stated under "
                f"{quoted(self.neighbours.value)}, from which nothing follows; state the "
                "mechanism's epsilon and sensitivity under 'add_remove'"
            )
        return relation

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` choices, as their pure epsilon implies it."""
        copies, moves = check_at_least_one("copies", copies), 1
        if self.relation(neighbours) is not self.neighbours:
            moves = 2
        total = repeated(self.epsilon, copies * moves)
        return pure_profile(repeated(self.epsilon, moves), copies, total)

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise: first, the sensitivity that the caller states."""
        moves = "and moves all utilities in one direction" if self.monotone else "in any direction"
        return (
            f"No utility moves by more than {self.sensitivity:g} between "
            f"{self.neighbours.value} neighbours, {moves}: utilities aren't checked.",
            "The candidates were chosen without the data.",
            *(() if self.n is None else (PUBLIC_N,)),
        )

    def nearby(self, pair: Pair, generator: np.random.Generator) -> Pair:
        """Draw utilities near the pair's first ones, and neighbours of them, for an audit."""
        s = self.sensitivity
        one = np.array(pair[0], dtype=np.float64)
        one += s * generator.integers(-1, 2, self.k) * 2.0 ** generator.integers(-1, 5)
        sign = generator.choice([-1, 1])
        steps = [0, sign] if self.monotone else [-1, 0, 1]
        changes = (s * generator.choice(steps, self.k)).tolist()
        return one, np.array([_moved(u, v) for u, v in zip(one.tolist(), changes, strict=True)])

    def check_statistic(self, statistic: Any) -> NDArray[Any]:
        """Return the utilities as an array if they are those of one choice, else raise."""
        utilities = self.check_statistics(statistic)
        check_one_statistic(utilities.shape, (self.k,))
        return utilities

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return the utilities of one choice or several, shape (..., k), or raise InvalidInput."""
        return check_utilities(statistic, self.k)

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[np.int64]:
        """Choose candidates exactly; returns positions in 0..k-1, shape (copies, ...)."""
        rows, gamma = (
            each.reshape(-1, self.k) for each in (statistic, exponents(statistic, self.rate))
        )
        return self._choose(rows, gamma, copies).reshape(copies, *statistic.shape[:-1])

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf outside 0..k-1.

        Parameters
        ----------
        output : array_like of int
            Positions; broadcast with all axes of the statistic but the last.
        statistic : array_like, shape (..., k)
            Utilities.
        """
        gamma = exponents(self.check_statistics(statistic), self.rate)
        return chosen_law(output, self.log_law(gamma))

    def _choose(
        self, rows: NDArray[Any], gamma: NDArray[np.float64], copies: int
    ) -> NDArray[np.int64]:
        """Choose positions, all rows once, then all again; rows and gamma are (rows, k)."""
        raise NotImplementedError

    def log_law(self, gamma: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-probability of each candidate, from gamma = rate * its distance from the best."""
        raise NotImplementedError

    @property
    def space(self) -> WholeNumbers:
        """Positions of the candidates, which are shown by their labels."""
        what = "the position of a candidate, an integer"
        return WholeNumbers(0, self.k - 1, "chosen", what, shown=self._shown)

    def _shown(self, output: int) -> NDArray[Any]:
        return np.array([self.labels[output]])

    def far_pair(self, gap: float) -> Pair:
        """Pair of utilities where the first candidate trails by `gap`, with the worst change."""
        s = self.sensitivity
        one, other = np.zeros(self.k), np.full(self.k, 0.0 if self.monotone else -s)
        one[0], other[0] = -gap, _moved(-gap, s)
        return one, other


def _check_candidates(candidates: Any) -> int | tuple[Any, ...]:
    if isinstance(candidates, list | tuple):
        labels = tuple(candidates)
        if all(map(is_label, labels)) and len(labels) >= 2 and len(set(labels)) == len(labels):
            return labels
    elif isinstance(candidates, Integral) and int(candidates) >= 2:  # True is 1
        return int(candidates)
    raise InvalidInput(
        f"candidates is {quoted(candidates)}; it must be their number, two or more, or a tuple of "
        "different labels (texts, finite numbers or booleans)"
    )


def _moved(value: float, change: float) -> float:
    """Round value + change so that the exact difference is no larger than `change`."""
    moved = value + change
    if abs(Fraction(moved) - Fraction(value)) > abs(Fraction(change)):
        moved = math.nextafter(moved, value)
    return moved
