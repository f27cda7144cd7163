r"""What noisy statistics of a sequence of conditionals promise, and the noise for a promise.

The joint statistic is T = (T_1, ..., T_J). Only T* = (T_1*, ..., T_J*) depends on the records;
parameters and copies are post-processing of it. All its noises are independent, so the log ratio of
T* between neighbours is the sum of those of its numbers.

Adding or removing one record. In step j the record is in one cell, and of no other cell does any
number change: parallel composition over cells. A categorical step's one count moves by 1; of a
numeric step of d columns, those that it is given among them, the r = 1 + d + d (d + 1) / 2 numbers
of one cell move, by at most their sensitivities. So step j has a log ratio of at most 1 / b_j, or
r / b_j but for what rounding to lattices adds; call it e_j. By sequential composition over steps

    epsilon = e_1 + ... + e_J.

A record may be in any cell of any step, so this is attained: by one at a corner of the numeric
columns' bounds.

Replacing one is a removal and an addition, and at most 2 epsilon; a record that moves to another
cell of every step attains that. A numeric step that is given no labels, where the number of all
records is public, is one cell that the record can't leave: there n is no noisy number, the others
have sensitivities 2 (sums, products) and 1 (squares), and the moves together are bounded by
`bayesdp.mechanisms.families.moment_moves`.

Copies have noise of their own: m of them cost m epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.families.moment_moves import largest_replacement
from bayesdp.mechanisms.modips_promise import check_weights, relation_of
from bayesdp.mechanisms.pure_noise import pure_profile, up
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.mechanisms.sequential_counts import public_of
from bayesdp.mechanisms.sequential_layout import check_steps
from bayesdp.privacy.composition import total
from bayesdp.privacy.guarantee import Guarantee, Strength, check_epsilon
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from bayesdp.mechanisms.modips_sequential import SequentialModipsMechanism


def cost(made: SequentialModipsMechanism, j: int, relation: Neighbours) -> float:
    """What step j of one copy costs, rounded up."""
    layout, parts = made.layouts[j], made.parts(j)
    apart, public = total([part.epsilon() for part in parts]), public_of(layout, made.n)
    if layout.axes or public is None:
        return apart if relation is Neighbours.ADD_REMOVE else 2 * apart
    rates = [1 / Fraction(part.scale) for part in parts]
    rounding = sum(rates, Fraction(0)) * Fraction(public, 2**52)
    lattice = sum((1 / part.noise.scale for part in parts), Fraction(0))
    together = largest_replacement(rates, len(layout.measured)) + rounding + lattice
    return min(apart, up(together))


def guarantee(
    made: SequentialModipsMechanism, copies: int, neighbours: Neighbours | None, delta: float
) -> Guarantee:
    """The promise of `copies` copies at `delta`; see `SequentialModipsMechanism.guarantee`."""
    copies, delta = check_at_least_one("copies", copies), check_delta(delta)
    relation = relation_of(made, neighbours)
    one = total([cost(made, j, relation) for j in range(len(made.steps))])
    notes = ["The model, its priors and bounds, and all scales were chosen without the data."]
    if made.n is not None:
        notes.append("The number of records is public and not protected.")
    if not made.clip:
        notes.append("All numbers are within their bounds: others are refused.")
    notes.append("All labels are among the listed ones: others are refused.")
    return Guarantee(
        epsilon=pure_profile(one, copies, up(copies * Fraction(one))).epsilon(delta),
        delta=delta,
        neighbours=relation,
        strength=Strength.PROVED,
        assumptions=(*notes, COMPUTATIONAL),
        source="bayesdp.mechanisms.sequential_promise; Liu (2016), Proposition 2",
    )


def calibrated(
    cls: type[SequentialModipsMechanism],
    epsilon: float,
    copies: int,
    weights: Sequence[float] | None,
    **parameters: Any,
) -> SequentialModipsMechanism:
    """The smallest noise that keeps a promise; see `SequentialModipsMechanism.calibrate`."""
    epsilon, copies = check_epsilon(epsilon), check_at_least_one("copies", copies)
    steps = parameters["steps"] = check_steps(parameters["steps"])
    if isinstance(weights, Sequence) and len(weights) != len(steps):
        raise InvalidInput(f"weights has {len(weights)} numbers; give one for each step")
    shares = check_weights("individualized", weights, len(steps))
    unit = cls(scales=(1.0,) * len(steps), **parameters)
    costs = [cost(unit, j, unit.neighbours) for j in range(len(steps))]
    scales = [c * copies / (w * epsilon) for c, w in zip(costs, shares, strict=True)]
    factor, more = 1.0, 2.0**-52
    while True:
        made = cls(scales=tuple(factor * scale for scale in scales), **parameters)
        if guarantee(made, copies, None, 0.0).epsilon <= epsilon:
            return made
        factor, more = factor * (1 + more), 2 * more  # as the lattices round
