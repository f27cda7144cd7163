r"""Promise of noisy statistics of a sequence of conditionals, and the noise that keeps one.

The joint statistic is T = (T_1, ..., T_J). Only T* = (T_1*, ..., T_J*) depends on the records;
parameters and copies are post-processing of it. All its noises are independent, so what T* promises
follows from how many scales each of its numbers moves by between neighbours: Laplace noise from the
sum over the numbers, Gaussian noise from the root of the sum of squares, as
`bayesdp.mechanisms.modips.promise` proves for scales that differ.

Adding or removing one record. In step j the record is in one cell, and of no other cell does any
number change: parallel composition over cells. A categorical step's one count moves by 1; of a
numeric step of d columns, those that it is given among them, the r = 1 + d + d (d + 1) / 2 numbers
of one cell move, by at most their sensitivities. So with Laplace noise step j has a log ratio of at
most 1 / b_j, or r / b_j but for what rounding to lattices adds; call it e_j. By sequential
composition over steps

    epsilon = e_1 + ... + e_J.

A record may be in any cell of any step, so this is attained: by one at a corner of the numeric
columns' bounds. With Gaussian noise the squares 1 / b_j^2 and r / b_j^2 are added up.

Replacing one is a removal and an addition, and at most 2 epsilon; a record that moves to another
cell of every step attains that. With Gaussian noise, a record that moves to another cell has twice
the square, as no number moves twice; one that stays in its cell moves no count, and sums and
products by 2 and squares by 1; the larger counts. A numeric step that is given no labels, where the
number of all records is public, is one cell that the record can't leave: there n is no noisy
number, the others have sensitivities 2 (sums, products) and 1 (squares), and the L1 norm of the
moves together is bounded by `bayesdp.mechanisms.families.moment_moves`.

Copies have noise of their own: m of them cost m epsilon, or m times the sum of squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.families.moment_moves import largest_replacement
from bayesdp.mechanisms.families.moments import MOST, moment_numbers
from bayesdp.mechanisms.modips.calibration import FURTHEST, gaussian_scale
from bayesdp.mechanisms.modips.promise import (
    check_weights,
    gaussian_profile,
)
from bayesdp.mechanisms.modips.sequential.counts import public_of
from bayesdp.mechanisms.modips.sequential.layout import check_steps
from bayesdp.mechanisms.noise.lattice import moved_steps
from bayesdp.mechanisms.noise.pure import up
from bayesdp.privacy.composition import total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, pure_profile, smallest_satisfying

if TYPE_CHECKING:
    from bayesdp.mechanisms.modips.sequential.mechanism import SequentialModipsMechanism


def cost(made: SequentialModipsMechanism, j: int, relation: Neighbours) -> float:
    """Pure epsilon of step j of one copy with Laplace noise, rounded up."""
    layout, parts = made.layouts[j], made.parts(j)
    apart, public = total([part.epsilon() for part in parts]), public_of(layout, made.n)
    if layout.axes or public is None:
        return apart if relation is Neighbours.ADD_REMOVE else 2 * apart
    rates = [1 / Fraction(part.scale) for part in parts]
    rounding = sum(rates, Fraction(0)) * Fraction(public, 2**52)
    lattice = sum((1 / part.noise.scale for part in parts), Fraction(0))
    together = largest_replacement(rates, len(layout.measured)) + rounding + lattice
    return min(apart, up(together))


def moves(made: SequentialModipsMechanism, j: int, relation: Neighbours) -> list[float]:
    """Sensitivities of step j's numbers over the scales of their noise, where largest in all."""
    layout, parts = made.layouts[j], made.parts(j)
    apart = [part.moved() / float(part.noise.scale) for part in parts]
    if relation is Neighbours.ADD_REMOVE:
        return apart
    if layout.axes:
        return 2 * apart
    if public_of(layout, made.n) is not None:
        return apart
    staying = []
    for part, number in zip(parts[1:], moment_numbers(layout.measured, MOST), strict=True):
        move = Fraction(number.sensitivity)
        steps = moved_steps("L2", move, part.step, dimension=None, whole=False)
        staying.append(steps / float(part.noise.scale))
    if layout.cells == 1:
        return staying
    return max(2 * apart, staying, key=lambda ratios: math.hypot(*ratios))


def profile_of(
    made: SequentialModipsMechanism, copies: int, neighbours: Neighbours | None
) -> Profile:
    """Privacy profile of `copies` independent copies; the module's docstring has the proofs."""
    copies, relation = check_at_least_one("copies", copies), made.relation(neighbours)
    steps = range(len(made.steps))
    if made.noise == "laplace":
        one = total([cost(made, j, relation) for j in steps])
        return pure_profile(one, copies, up(copies * Fraction(one)))
    scale = min(part.noise.scale for j in steps for part in made.parts(j))
    return gaussian_profile(scale, [r for j in steps for r in moves(made, j, relation)], copies)


def rho_of(made: SequentialModipsMechanism, copies: int, relation: Neighbours) -> float | None:
    """The zCDP parameter of copies, where more is known than what a pure epsilon implies."""
    if made.noise != "gaussian":
        return None
    ratios = [r for j in range(len(made.steps)) for r in moves(made, j, relation)]
    return copies * math.fsum(r * r for r in ratios) / 2 * (1 + 2.0**-48)


def calibrated(
    cls: type[SequentialModipsMechanism],
    epsilon: float,
    delta: float,
    copies: int,
    weights: Sequence[float] | None,
    **parameters: Any,
) -> SequentialModipsMechanism:
    """Find the smallest noise that keeps a promise; see `SequentialModipsMechanism.calibrate`."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    copies = check_at_least_one("copies", copies)
    steps = parameters["steps"] = check_steps(parameters["steps"])
    if isinstance(weights, Sequence) and len(weights) != len(steps):
        raise InvalidInput(f"weights has {len(weights)} numbers; give one for each step")
    shares = check_weights("individualized", weights, len(steps))
    unit = cls(scales=(1.0,) * len(steps), **parameters)
    gaussian, relation = unit.noise == "gaussian", unit.neighbours
    if gaussian and delta == 0:
        raise InvalidInput(
            "delta is 0, but Gaussian noise has no pure epsilon: ask for a positive delta, such as "
            "1e-6, or take noise='laplace'"
        )
    each = range(len(steps))
    if gaussian:
        costs = [math.hypot(*moves(unit, j, relation)) for j in each]
        scales = [c / math.sqrt(w) for c, w in zip(costs, shares, strict=True)]
    else:
        costs = [cost(unit, j, relation) for j in each]
        scales = [c * copies / (w * epsilon) for c, w in zip(costs, shares, strict=True)]

    def at(factor: float) -> SequentialModipsMechanism:
        return cls(scales=tuple(factor * scale for scale in scales), **parameters)

    factor = 1.0
    if delta:
        guess = (
            gaussian_scale(math.sqrt(copies), epsilon, delta) / 8
            if gaussian
            else epsilon / (8 * copies * (1 + epsilon))
        )
        factor = smallest_satisfying(
            lambda f: profile_of(at(f), copies, None).delta(epsilon),
            delta,
            start=guess,
            least=guess,
            largest=guess * FURTHEST,
        )
    more = 2.0**-52
    while profile_of(at(factor), copies, None).epsilon(delta) > epsilon:  # as the lattices round
        factor, more = factor * (1 + more), 2 * more
    return at(factor)
