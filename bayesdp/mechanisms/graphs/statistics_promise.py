r"""Promise of noisy network statistics, from their scales, and its proof.

By `bayesdp.networks.sensitivity`, the change of a term's statistics is in absolute value at most
an average of its moves; a statistic that changes by c changes by ceil(c / g) steps at most. A log
ratio of two Laplace laws is at most sum_t (steps of t) g_t / b_t, attained at outputs beyond both
statistics; the Renyi divergence of order alpha of two Gaussians is at most alpha mu^2 / 2 with
mu^2 = sum_t ((steps of t) g_t / b_t)^2. Both are convex and increasing in the steps, so

    epsilon = sum over terms of max over moves of sum_t ceil(move_t / g_t) g_t / b_t,
    mu^2    = sum over terms of max over moves of sum_t (ceil(move_t / g_t) g_t / b_t)^2

hold, and are exact where one pair of graphs has the largest move of every term. (Where a term has
several moves, its statistics are integers and 1 / g is whole, so that ceil loses nothing.)

Copies of Laplace noise cost as many times epsilon, and at delta > 0 what follows from a pure
epsilon (`pure_profile`). For Gaussian noise, `bayesdp.mechanisms.noise.gaussian_profiles` proves a
profile for components of one scale s, in steps, and a shift of M steps: with a^2 of each variance
given to the rounding, it is that of continuous Gaussians M / sqrt(s^2 - a^2) apart. For scales s_t
and shifts j_t, that distance squared is

    sum_t j_t^2 / (s_t^2 - a^2)  <=  sum_t j_t^2 / s_t^2 / (1 - a^2 / s^2) = (s mu)^2 / (s^2 - a^2)

with s the least of them: the profile of scale s and shift s mu holds. So does rho = mu^2 / 2.
Statistics that no change moves are independent of the graph, and don't count.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.noise.gaussian_profiles import gaussian_profile
from bayesdp.mechanisms.noise.laws import GaussianNoise
from bayesdp.mechanisms.noise.pure import up
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile, pure_profile

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.noisy_statistics import NoisyStatisticsMechanism


def check_relation(neighbours: str) -> Neighbours:
    """Return the relation, `edge` or `node`, or raise InvalidInput."""
    relation = check_neighbours(neighbours)
    if relation not in (Neighbours.EDGE, Neighbours.NODE):
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; statistics of a graph have 'edge' and 'node'"
        )
    return relation


def relation_of(mechanism: NoisyStatisticsMechanism, neighbours: str | None) -> Neighbours:
    """Return the relation asked for; the mechanism's own if none is."""
    return check_relation(mechanism.neighbours if neighbours is None else neighbours)


def cost(mechanism: NoisyStatisticsMechanism, neighbours: Neighbours | None = None) -> Fraction:
    """Exact cost of a copy: epsilon with Laplace noise, or mu^2 with Gaussian noise."""
    return sum(term_costs(mechanism, neighbours), Fraction(0))


def term_costs(
    mechanism: NoisyStatisticsMechanism, neighbours: Neighbours | None = None
) -> list[Fraction]:
    """Part of `cost` that each term has."""
    node = relation_of(mechanism, neighbours) is Neighbours.NODE
    power = 1 if mechanism.noise == "laplace" else 2
    frame, scales = mechanism.frame, [noise.scale for noise in mechanism.noises]
    found, first = [], 0
    for moves, size in zip(frame.moves(node), frame.sizes, strict=True):
        here = slice(first, first + size)
        statistics = list(zip(mechanism.granularity[here], scales[here], strict=True))
        found.append(max(_cost(move, statistics, power) for move in moves))
        first += size
    return found


def _cost(
    move: tuple[Fraction, ...], statistics: list[tuple[float, Fraction]], power: int
) -> Fraction:
    steps = [math.ceil(m / Fraction(g)) for m, (g, _) in zip(move, statistics, strict=True)]
    ratios = [(k / b) ** power for k, (_, b) in zip(steps, statistics, strict=True)]
    return sum(ratios, Fraction(0))


def rho(
    mechanism: NoisyStatisticsMechanism, *, copies: int = 1, neighbours: Neighbours | None = None
) -> float | None:
    """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
    copies = check_at_least_one("copies", copies)
    if mechanism.noise == "laplace":
        return None
    return up(copies * cost(mechanism, neighbours) / 2)


def profile(
    mechanism: NoisyStatisticsMechanism, *, copies: int = 1, neighbours: Neighbours | None = None
) -> Profile:
    """The privacy profile of `copies` copies, as good as the module's docstring proves it."""
    copies, charged = check_at_least_one("copies", copies), cost(mechanism, neighbours)
    if mechanism.noise == "laplace":
        return pure_profile(up(charged), copies, up(copies * charged))
    node = relation_of(mechanism, neighbours) is Neighbours.NODE
    moved = mechanism.frame.sensitivities(node)
    found = [
        (noise.scale, math.ceil(most / Fraction(g)))
        for noise, most, g in zip(mechanism.noises, moved, mechanism.granularity, strict=True)
        if most
    ]
    least = min(scale for scale, _ in found)
    length = float(found[0][1])  # of a single statistic, exactly
    if len(found) > 1:
        length = math.sqrt(up(charged * least**2)) * (1 + 2.0**-50)
    return gaussian_profile(GaussianNoise(least), length, len(found), copies, None)
