r"""Mixed tables by a sequence of conditionals, each from its own noisy sufficient statistic.

The columns come in steps, and the model is p(step 1) p(step 2 | earlier) ... . A categorical step
has a table of probabilities in each cell of the labels that it is given, with a Dirichlet prior. A
numeric step has, in each cell, normal linear regressions of each of its columns on the numeric ones
that it is given and those before it in the step, with normal-inverse-gamma priors. The sufficient
statistic T_j of a categorical step is the counts of combinations in each cell; of a numeric one,
each cell's number of records, and the sums of those rescaled columns, of their squares and of their
products (`bayesdp.mechanisms.families.moments`). One copy is made by

    T_j* = T_j + noise of scale b_j times each number's sensitivity, j = 1..J,
    theta_j ~ p(theta_j | T_j*),    a record: step after step, given its own earlier columns.

Bounding
--------
Noisy counts are set to the nearest end of their range, as are noisy moments where their range is
public; else they are once the noisy number of the cell's records is known. What is left of noise is
projected as in `bayesdp.mechanisms.families.linear_regression_draws`. Synthetic numbers beyond a
bound are set to it.

What it promises
----------------
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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_flag, check_one_of
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families.base import Floats, Number
from bayesdp.mechanisms.families.moment_moves import largest_replacement
from bayesdp.mechanisms.families.moments import MOST, check_vector, moment_numbers
from bayesdp.mechanisms.modips.calibration import FURTHEST, gaussian_scale
from bayesdp.mechanisms.modips.promise import (
    check_weights,
    gaussian_profile,
)
from bayesdp.mechanisms.modips.sbs import NOISE
from bayesdp.mechanisms.modips.sequential.counts import (
    drawn_copy,
    public_of,
    split,
    statistic_of,
    sums_of_columns,
)
from bayesdp.mechanisms.modips.sequential.layout import Layout, check_steps, layouts_of
from bayesdp.mechanisms.modips.sequential.moments_view import moments_view
from bayesdp.mechanisms.modips.sequential.steps import Step
from bayesdp.mechanisms.modips.sequential.views import table_view
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.fields import check_each_positive
from bayesdp.mechanisms.noise.lattice import moved_steps
from bayesdp.mechanisms.noise.pure import up
from bayesdp.privacy.composition import total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, pure_profile, smallest_satisfying


@dataclass(frozen=True, slots=True)
class SequentialModipsMechanism(Mechanism):
    """Synthetic tables from noisy statistics of a sequence of conditionals.

    Parameters
    ----------
    steps : sequence of CategoricalColumns and NumericColumns
        The model, with its priors and bounds.
    size : int
        Number of synthetic records in a copy.
    scales : sequence of float
        Scale of the noise of each step, in units of each number's sensitivity.
    n : int, optional
        Number of confidential records, where it is public; neighbours then replace one. None where
        it is confidential; neighbours then add or remove one.
    noise : {"laplace", "gaussian"}
        The noise's law; discrete for counts.
    clip : bool
        Whether numbers outside their bounds were moved to the nearest bound, each by itself. If
        False, there were none: such data are refused.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    steps: tuple[Step, ...]
    size: int
    scales: tuple[float, ...]
    n: int | None = None
    noise: str = "laplace"
    clip: bool = False

    name: ClassVar[str] = "modips_sequential"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.modips.sequential.mechanism; Liu (2016), Proposition 2"
    )
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"steps": check_steps(self.steps)}
        checked["size"] = check_at_least_one("size", self.size)
        if self.n is not None:
            checked["n"] = check_at_least_one("n", self.n, "or None if confidential")
            if self.n > MOST:
                raise InvalidInput(f"n is {self.n}; it must be at most {MOST}")
        check_one_of("noise", self.noise, tuple(NOISE))
        check_flag("clip", self.clip)
        scales = self.scales
        if not isinstance(scales, Sequence) or len(scales) != len(checked["steps"]):
            raise InvalidInput(f"scales is {quoted(scales)}; it must be one number for each step")
        checked["scales"] = check_each_positive("scales", scales)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for j in range(len(self.steps)):
            _ = self.parts(j)  # whose own checks raise

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        delta: float = 0.0,
        copies: int = 1,
        weights: Sequence[float] | None = None,
        **parameters: Any,
    ) -> SequentialModipsMechanism:
        """Make the mechanism with the smallest noise whose copies keep (epsilon, delta).

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in [0, 1), above 0 for Gaussian noise.
        weights : sequence of float, optional
            Share of each step, of epsilon or, with Gaussian noise, of rho; positive with sum 1.
            Default: equal.
        **parameters
            The class's other parameters.

        Raises
        ------
        InvalidInput
            If an argument is out of its range.
        """
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
                "delta is 0, but Gaussian noise has no pure epsilon: ask for a positive delta, "
                "such as 1e-6, or take noise='laplace'"
            )
        each = range(len(steps))
        if gaussian:
            costs = [math.hypot(*unit.moves(j, relation)) for j in each]
            scales = [c / math.sqrt(w) for c, w in zip(costs, shares, strict=True)]
        else:
            costs = [unit.cost(j, relation) for j in each]
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
                lambda f: at(f).profile(copies=copies).delta(epsilon),
                delta,
                start=guess,
                least=guess,
                largest=guess * FURTHEST,
            )
        more = 2.0**-52
        while at(factor).profile(copies=copies).epsilon(delta) > epsilon:  # as the lattices round
            factor, more = factor * (1 + more), 2 * more
        return at(factor)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Steps with the labels that they are given."""
        return layouts_of(self.steps)

    def numbers(self, j: int) -> tuple[Number, ...]:
        """Numbers of one cell of step j; for a categorical step, one count that stands for all."""
        layout = self.layouts[j]
        if layout.axes:
            return (Number("count", 1.0, 0, self.n, whole=True),)
        return moment_numbers(layout.measured, public_of(layout, self.n))

    def parts(self, j: int) -> tuple[AdditiveNoise, ...]:
        """Noise of a step's numbers, the same in all cells."""
        noises: list[AdditiveNoise] = []
        for number in self.numbers(j):
            law = NOISE[self.noise][number.whole]
            ends = (number.low, number.high)
            bounds = None if ends == (None, None) else ends
            scale = self.scales[j] * number.sensitivity
            bounding = bounds and "inflated"
            noises.append(law(scale, number.sensitivity, bounds=bounds, bounding=bounding))
        return tuple(noises)

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        steps = range(len(self.steps))
        if self.noise == "laplace":
            one = total([self.cost(j, relation) for j in steps])
            return pure_profile(one, copies, up(copies * Fraction(one)))
        scale = min(part.noise.scale for j in steps for part in self.parts(j))
        return gaussian_profile(scale, [r for j in steps for r in self.moves(j, relation)], copies)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        if self.noise != "gaussian":
            return None
        ratios = [r for j in range(len(self.steps)) for r in self.moves(j, relation)]
        return copies * math.fsum(r * r for r in ratios) / 2 * (1 + 2.0**-48)

    def cost(self, j: int, relation: Neighbours) -> float:
        """Pure epsilon of step j of one copy with Laplace noise, rounded up."""
        layout, parts = self.layouts[j], self.parts(j)
        apart, public = total([part.epsilon() for part in parts]), public_of(layout, self.n)
        if layout.axes or public is None:
            return apart if relation is Neighbours.ADD_REMOVE else 2 * apart
        rates = [1 / Fraction(part.scale) for part in parts]
        rounding = sum(rates, Fraction(0)) * Fraction(public, 2**52)
        lattice = sum((1 / part.noise.scale for part in parts), Fraction(0))
        together = largest_replacement(rates, len(layout.measured)) + rounding + lattice
        return min(apart, up(together))

    def moves(self, j: int, relation: Neighbours) -> list[float]:
        """Ratios of sensitivity to scale of step j's numbers, for the worst neighbours."""
        layout, parts = self.layouts[j], self.parts(j)
        apart = [part.moved() / float(part.noise.scale) for part in parts]
        if relation is Neighbours.ADD_REMOVE:
            return apart
        if layout.axes:
            return 2 * apart
        if public_of(layout, self.n) is not None:
            return apart
        staying = []
        for part, number in zip(parts[1:], moment_numbers(layout.measured, MOST), strict=True):
            move = Fraction(number.sensitivity)
            steps = moved_steps("L2", move, part.step, dimension=None, whole=False)
            staying.append(steps / float(part.noise.scale))
        if layout.cells == 1:
            return staying
        return max(2 * apart, staying, key=lambda ratios: math.hypot(*ratios))

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        chosen = "The model, its priors and bounds, and all scales were chosen without the data."
        within = "All numbers are within their bounds: others are refused."
        listed = "All labels are among the listed ones: others are refused."
        shown = () if self.n is None else (PUBLIC_N,)
        return (chosen, *shown, *(() if self.clip else (within,)), listed)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Floats:
        """Return the statistic if it is one of `sequential.counts.statistic_of`, else raise."""
        x = np.asarray(statistic)
        if x.dtype.kind not in "iuf":
            raise InvalidInput(f"the statistic has type {x.dtype}; it must be numbers")
        for j, part in enumerate(split(self.layouts, x, self.n)):
            if not self.layouts[j].axes:
                check_vector(part, self.numbers(j))
            elif not np.all((part >= 0) & (part == np.floor(part))) or (
                self.n is not None and part.sum() != self.n
            ):
                raise InvalidInput(
                    f"the statistic of step {j + 1} must be counts, with sum n where that is public"
                )
        return x.astype(np.float64)

    def noisy(self, statistic: Floats, copies: int) -> list[NDArray[Any]]:
        """Draw T* of each step, shape (copies, cells, numbers); no longer confidential."""
        drawn = []
        for j, x in enumerate(split(self.layouts, statistic, self.n)):
            parts = self.parts(j)
            if self.layouts[j].axes:
                drawn.append(parts[0].release(x, copies))
            else:
                each = [part.release(x[:, i], copies) for i, part in enumerate(parts)]
                drawn.append(np.stack(each, axis=-1))
        return drawn

    def draw(self, statistic: Floats, copies: int) -> Floats:
        """Draw copies from the secure generator, with noise of their own.

        They have shape (copies, size, columns); labels are given by their numbers, in the steps'
        order.
        """
        noisy, layouts = self.noisy(statistic, copies), self.layouts
        each = [
            drawn_copy(layouts, [x[k] for x in noisy], self.size, self.n) for k in range(copies)
        ]
        return np.stack(each)

    def logp(self, output: Any, statistic: Any) -> Floats:
        """Raise InvalidInput: the law is intractable, but for models that draw what was unseen."""
        raise InvalidInput(
            "the law of a synthetic table is intractable: its parameters and noisy statistics are "
            "integrated over; fit bdp.TableModel, which reads the categorical columns, or "
            "bdp.LinearRegressionModel, which reads numeric ones drawn without labels, or analyse "
            "each copy as data and combine the results with bdp.combine, whose caveats then hold"
        )

    # What is written down, read, and what an audit tries.

    @property
    def tractable(self) -> bool:
        """False: the law of a synthetic table is an integral over what was unseen."""
        return False

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records, of labels drawn by noisy counts, and of numbers drawn by noisy sums."""
        cells = [self.parts(j)[0] for j in range(len(self.steps))]
        table = table_view(self.layouts, cells, self._share_of_labels)
        return table, moments_view(self.layouts, self.parts, self.n), RecordsView()

    def _share_of_labels(self) -> float:
        """The share of epsilon, or of rho with Gaussian noise, that categorical steps have."""
        each, relation = range(len(self.steps)), self.neighbours
        if self.noise == "gaussian":
            costs = [math.fsum(r * r for r in self.moves(j, relation)) for j in each]
        else:
            costs = [self.cost(j, relation) for j in each]
        return sum(costs[j] for j in each if self.layouts[j].axes) / sum(costs)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs where a record with the last labels and upper bounds is added, or replaces one.

        The others, and the one replaced, have the first labels and numbers in the middle.
        """
        columns = self._columns
        others = 4 if self.n is None else self.n - 1
        usual = {
            each.name: each.low / 2 + each.high / 2 if each.axis is None else 0 for each in columns
        }
        far = {each.name: each.high for each in columns}
        ends = []
        for rows in (
            [usual] * others + ([] if self.n is None else [usual]),
            [usual] * others + [far],
        ):
            table = {name: np.array([row[name] for row in rows]) for name in usual}
            sums = sums_of_columns(self.layouts, table, len(rows))
            ends.append(statistic_of(self.layouts, sums, self.n))
        return [(ends[0], ends[1])]

    @property
    def space(self) -> Records:
        """Tables with a column of labels or of numbers for each column of the steps."""
        return Records(self.size, self._columns)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return tuple(column for layout in self.layouts for column in layout.columns)
