r"""Promise of a noisy sufficient statistic: r numbers, of which a record moves at most t at once.

Number i alone, with noise of its own, has a log ratio of at most epsilon_i between neighbours,
whatever the other numbers are; and where a record doesn't move it, its law is the same. So r
independent numbers of which at most t move have at most the sum of the t largest epsilon_i. Copies
are independent, and what delta(epsilon) follows from that sum is `noise.pure.pure_profile`.

Some numbers can't all move as far as they may at once. Laplace noise of scale b_i on a lattice of
step g_i has a log ratio of at most ceil(m_i / g_i) g_i / b_i <= (m_i + g_i) / b_i where number i
moves by m_i. So where a family bounds the sum of m_i / b_i (`JointMoves`), that bound plus the sum
of g_i / b_i holds too, and the smaller is taken.

Gaussian noise
--------------
Number i moves by at most M_i steps of its lattice, with a scale of s_i steps. In
`bayesdp.mechanisms.noise.gaussian_profiles` the bounds for D components with one scale s and a
shift of M steps use the scale and the shift in three ways: by rho = M^2 / (2 s^2); by
M / sqrt(s^2 - a^2), where a < s; and by constants that depend on a alone. Replace s by the smallest
scale and M by s sqrt(sum (M_i / s_i)^2). Then rho is the sum of the components' own; and
sqrt(s_i^2 - a^2) >= s_i sqrt(1 - a^2 / s^2), so that the root of the sum of M_i^2 / (s_i^2 - a^2)
is at most the new M / sqrt(s^2 - a^2). So `divergence` with these holds for scales that differ. The
sum is largest with the t largest M_i / s_i.

Where a family bounds the root of the sum of (m_i / b_i)^2, that bound and the root of the sum of
(g_i / b_i)^2 bound the root of the sum of (M_i / s_i)^2 together, as norms add up at most; and the
smaller is taken.

One number alone, or t = 1, has its own profile, and of several numbers the largest.

Under replace-one where n is confidential
-----------------------------------------
A replacement is a removal and an addition. Pure: twice epsilon. Gaussian: the two moves' vectors of
M_i / s_i add, and the norm of the sum is at most twice the larger norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from bayesdp.checks import check_at_least_one, check_one_of, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import JointMoves
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.gaussian_profiles import divergence
from bayesdp.mechanisms.noise.laws import GaussianNoise
from bayesdp.mechanisms.noise.pure import up
from bayesdp.privacy.composition import total
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

if TYPE_CHECKING:
    from bayesdp.mechanisms.families.base import Family


class Noisy(Protocol):
    """Protocol of a statistic whose numbers have noise of their own."""

    @property
    def n(self) -> int | None:
        """The number of records, where it is public."""

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation of the promise where no other is asked for."""

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for."""

    @property
    def family(self) -> Family:
        """Family of models, which defines the statistic and how far a record moves it."""

    @property
    def noise(self) -> str:
        """Name of the noise, "laplace" or "gaussian"."""

    @property
    def scales(self) -> tuple[float, ...]:
        """Scale of each number's noise."""

    @property
    def parts(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each number."""


ALLOCATIONS = ("individualized", "communal")
_SUM_TO_ONE = 1e-9  # how far from 1 weights may be, as their sum rounds


def profile_of(made: Noisy, copies: int, neighbours: Neighbours | None) -> Profile:
    """Privacy profile of `copies` independent copies; the module's docstring has the proofs."""
    copies = check_at_least_one("copies", copies)
    relation = made.relation(neighbours)
    times = 1 if relation is made.neighbours else 2
    parts = made.parts
    moving = min(made.family.together(made.n), len(parts))
    if moving == 1 and times == 1:
        return _worst([part.profile(copies=copies) for part in dict.fromkeys(parts)])
    if made.noise == "gaussian" and not any(part.bounding == "truncated" for part in parts):
        return _gaussian(made, moving, copies, relation)
    return _pure(made, moving * times, times, copies)


def _worst(profiles: Sequence[Profile]) -> Profile:
    if len(profiles) == 1:
        return profiles[0]
    return Profile(
        lambda epsilon: max(profile.delta(epsilon) for profile in profiles),
        max(profile.pure_epsilon for profile in profiles),
        why=profiles[0].why,
    )


def _pure(made: Noisy, terms: int, times: int, copies: int) -> Profile:
    """Privacy profile from the largest epsilons alone, each of which may count `times` times."""
    parts = made.parts
    each = sorted((part.epsilon() for part in parts for _ in range(times)), reverse=True)
    one = total(each[:terms])
    if made.noise == "laplace" and not any(part.bounding == "truncated" for part in parts):
        lattice = sum((1 / Fraction(part.noise.scale) for part in parts), Fraction(0))
        together = moved_together(made.family, [Fraction(x) for x in made.scales], made.n)
        one = one if together is None else min(one, up(times * (together + lattice)))
    whole = math.inf if math.isinf(one) else up(copies * Fraction(one))
    return pure_profile(one, copies, whole)


def moved_together(family: Family, scales: Sequence[Fraction], n: int | None) -> Fraction | None:
    """The family's bound on the sum of moves over scales, if it has one."""
    return family.joint([1 / x for x in scales], n) if isinstance(family, JointMoves) else None


def _gaussian(made: Noisy, moving: int, copies: int, relation: Neighbours) -> Profile:
    ratios = sorted(_ratios(made.parts, relation), reverse=True)[:moving]
    scale = min(part.noise.scale for part in made.parts)
    return gaussian_profile(scale, ratios, copies, _length(made, relation))


def gaussian_profile(
    scale: Fraction, ratios: Sequence[float], copies: int, most: float = math.inf
) -> Profile:
    """Privacy profile of numbers with Gaussian noise that all move at once, by given ratios.

    Parameters
    ----------
    scale : Fraction
        The smallest of the scales, in steps of its lattice.
    ratios : sequence of float
        Largest move of each number over its scale.
    copies : int
    most : float
        Upper bound on the root of the sum of the ratios' squares, where a smaller one is known.
    """
    noise = GaussianNoise(scale)
    length = float(scale) * min(math.hypot(*ratios), most) * (1 + 2.0**-48)
    components = max(2, len(ratios))  # one alone would be summed as a whole number of steps

    def bound(epsilon: float) -> float:
        return divergence(noise, length, components, copies, epsilon)

    why = "Gaussian noise has no pure epsilon: ask for a positive delta, such as 1e-6."
    return Profile(bound, math.inf, why=why)


def _length(made: Noisy, relation: Neighbours) -> float:
    """The family's bound on the root of the sum of squared moves over scales, as rounded."""
    if not isinstance(made.family, JointMoves):
        return math.inf
    times = 1 if relation is made.neighbours else 2
    moves = made.family.joint_length([1 / Fraction(x) for x in made.scales], made.n)
    return times * moves + math.hypot(*(1 / float(part.noise.scale) for part in made.parts))


def _ratios(parts: Sequence[AdditiveNoise], relation: Neighbours) -> list[float]:
    return [part.moved(relation) / float(part.noise.scale) for part in parts]


def rho_of(made: Noisy, copies: int, relation: Neighbours) -> float | None:
    """The zCDP parameter of copies; None where a pure epsilon says as much."""
    if made.noise != "gaussian":
        return None
    times = 1 if relation is made.neighbours else 4  # as the norm is at most doubled
    rhos = [part.rho() for part in made.parts]
    moving = min(made.family.together(made.n), len(rhos))
    each = sorted((rho for rho in rhos if rho is not None), reverse=True)[:moving]
    if len(each) < moving:
        return None
    together = math.inf
    if not any(part.bounding == "truncated" for part in made.parts):
        together = copies * _length(made, relation) ** 2 / 2 * (1 + 2.0**-48)
    cost = min(copies * times * math.fsum(each) * (1 + 2.0**-50), together)
    return cost if math.isfinite(cost) else None


def check_weights(
    allocation: str, weights: Sequence[float] | None, numbers: int
) -> tuple[float, ...]:
    """Return each number's share of the promise, or raise InvalidInput."""
    check_one_of("allocation", allocation, ALLOCATIONS)
    if weights is None:
        return (1 / numbers,) * numbers
    if allocation == "communal":
        raise InvalidInput(
            f"weights is {quoted(weights)}, but allocation is 'communal', where all numbers have "
            "the same noise; leave weights out, or take allocation='individualized'"
        )
    good = isinstance(weights, Sequence) and all(is_number(w) and w > 0 for w in weights)
    if not good or abs(math.fsum(weights) - 1) > _SUM_TO_ONE:
        raise InvalidInput(
            f"weights is {quoted(weights)}; it must be positive numbers with sum 1, a share of "
            "epsilon for each number of the statistic"
        )
    if len(weights) != numbers:
        raise InvalidInput(
            f"weights has {len(weights)} numbers; the statistic has {numbers}: one for each"
        )
    return tuple(map(float, weights))
