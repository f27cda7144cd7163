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

`bayesdp.mechanisms.modips.sequential.promise` proves what that promises.

Bounding
--------
Noisy counts are set to the nearest end of their range, as are noisy moments where their range is
public; else they are once the noisy number of the cell's records is known. What is left of noise is
projected as in `bayesdp.mechanisms.families.linear_regression_draws`. Synthetic numbers beyond a
bound are set to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_of
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families.base import Floats, Number
from bayesdp.mechanisms.families.moments import MOST, check_vector, moment_numbers
from bayesdp.mechanisms.modips.sbs import NOISE
from bayesdp.mechanisms.modips.sequential import outputs as sequential_outputs
from bayesdp.mechanisms.modips.sequential import promise as sequential_promise
from bayesdp.mechanisms.modips.sequential.counts import drawn_copy, public_of, split
from bayesdp.mechanisms.modips.sequential.layout import Layout, check_steps, layouts_of
from bayesdp.mechanisms.modips.sequential.steps import Step
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.fields import check_each_positive
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile


@dataclass(frozen=True, slots=True)
class SequentialModipsMechanism(Mechanism):
    """Synthetic tables from noisy statistics of a sequence of conditionals.

    Parameters
    ----------
    steps : sequence of CategoricalColumns and NumericColumns
        The model, with its priors and bounds.
    size : int
        Synthetic records a copy.
    scales : sequence of float
        Of the noise of each step, in units of each number's sensitivity.
    n : int, optional
        Number of confidential records, where it is public, and then neighbours replace one; None
        where it is confidential, and they add or remove one.
    noise : {"laplace", "gaussian"}
        Discrete for counts.
    clip : bool
        Whether numbers outside their bounds were moved to them, each by itself. Else there were
        none: such data are refused.

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
        "bayesdp.mechanisms.modips.sequential_promise; Liu (2016), Proposition 2"
    )
    views: ClassVar[tuple[View, ...]] = (RecordsView(),)
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
        """The smallest noise whose `copies` copies keep (epsilon, delta), steps having shares.

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in [0, 1), above 0 for Gaussian noise.
        weights : sequence of float, optional
            Each step's share, of epsilon or with Gaussian noise of rho, positive with sum 1.
            Default: equal ones.
        **parameters
            The class's other parameters but the scales.

        Raises
        ------
        InvalidInput
            If an argument is out of its range.
        """
        return sequential_promise.calibrated(cls, epsilon, delta, copies, weights, **parameters)

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Steps with the labels that they are given."""
        return layouts_of(self.steps)

    def numbers(self, j: int) -> tuple[Number, ...]:
        """Numbers of one cell of step j; of a categorical one, a count that stands for all."""
        layout = self.layouts[j]
        if layout.axes:
            return (Number("count", 1.0, 0, self.n, whole=True),)
        return moment_numbers(layout.measured, public_of(layout, self.n))

    def parts(self, j: int) -> tuple[AdditiveNoise, ...]:
        """Noise of a step's numbers, the same in all cells."""
        found: list[AdditiveNoise] = []
        for number in self.numbers(j):
            law = NOISE[self.noise][number.whole]
            ends = (number.low, number.high)
            bounds = None if ends == (None, None) else ends
            scale = self.scales[j] * number.sensitivity
            bounding = bounds and "inflated"
            found.append(law(scale, number.sensitivity, bounds=bounds, bounding=bounding))
        return tuple(found)

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        return sequential_promise.profile_of(self, copies, neighbours)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        copies = check_at_least_one("copies", copies)
        return sequential_promise.rho_of(self, copies, self.relation(neighbours))

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """What must hold for the promise to hold, in words for the reader of a report."""
        chosen = "The model, its priors and bounds, and all scales were chosen without the data."
        within = "All numbers are within their bounds: others are refused."
        listed = "All labels are among the listed ones: others are refused."
        shown = () if self.n is None else (PUBLIC_N,)
        return (chosen, *shown, *(() if self.clip else (within,)), listed)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Floats:
        """Return the statistic as `sequential.counts.statistic_of` gives it, or InvalidInput."""
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

    def noisy(self, statistic: Any, copies: int) -> list[NDArray[Any]]:
        """Draw T* of each step, shape (copies, cells, numbers); confidential no more."""
        found = []
        for j, x in enumerate(split(self.layouts, self.check_statistic(statistic), self.n)):
            parts = self.parts(j)
            if self.layouts[j].axes:
                found.append(parts[0].release(x, copies))
            else:
                each = [part.release(x[:, i], copies) for i, part in enumerate(parts)]
                found.append(np.stack(each, axis=-1))
        return found

    def release(self, statistic: Any, copies: int = 1) -> Floats:
        """Draw copies from the secure generator.

        Parameters
        ----------
        statistic : array_like, shape (numbers,)
            Confidential.
        copies : int
            Independent copies, with noise of their own.

        Returns
        -------
        ndarray, shape (copies, size, columns)
            Labels by their numbers in the steps' order.
        """
        copies = check_at_least_one("copies", copies)
        noisy, layouts = self.noisy(statistic, copies), self.layouts
        each = [
            drawn_copy(layouts, [x[k] for x in noisy], self.size, self.n) for k in range(copies)
        ]
        return np.stack(each)

    def logp(self, output: Any, statistic: Any) -> Floats:
        """Raise InvalidInput: the law is intractable."""
        raise InvalidInput(
            "the law of a synthetic table is intractable: its parameters and noisy statistics are "
            "integrated over; analyse each copy as data and combine the results with bdp.combine, "
            "whose caveats then hold"
        )

    # What is written down, and what an audit tries.

    pairs = sequential_outputs.pairs
    check_output = sequential_outputs.check_output
    records = sequential_outputs.records

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns, one row a record: its copy, its labels and its numbers."""
        return sequential_outputs.encode(self, outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Read the copies that `encode` wrote, in their order."""
        return sequential_outputs.decode(self, columns)
