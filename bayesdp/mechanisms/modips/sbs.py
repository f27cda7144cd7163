r"""Sanitization through Bayesian sufficiency (SBS), the first of Liu's modips procedures.

Given the sufficient statistic s of n records under a family of models, one copy is made by

    s* = s + noise,    theta ~ p(theta | s*),    y_1, ..., y_size ~ p(y | theta),

where the posterior takes s* for the statistic of n records, and only y is released (Liu 2016,
section 3.3, with Definitions 5 and 6; Proposition 2).

Privacy
-------
Only s* depends on the records: theta and y are post-processing. Each number of s has noise of its
own, independent of the others', which is the package's (`bayesdp.mechanisms.noise.laplace`,
`gaussian`): with the number's sensitivity, one copy of it has some epsilon_i. The family says how
many of the numbers, t, one record can move at once (`Family.together`), so that the others' laws
are the same for two neighbours, and the log ratio of all is at most

    epsilon = the sum of the t largest epsilon_i,

or less, where the family knows that no record moves all as far as they may at once (`JointMoves`).
For a statistic whose numbers all depend on the same records, t is the number of them, sequential
composition; for counts of disjoint records it is 1 where a record is added or removed, parallel
composition, and 2 where it is replaced. Copies have noise of their own, and multiply epsilon. With
Gaussian noise what adds is (sensitivity_i / scale_i)^2, of the t largest
(`bayesdp.mechanisms.modips.promise`).

Allocation (Liu's Definitions 5 and 6) is a choice of scales, not another mechanism: `communal`
gives every number the same; `individualized` gives number i a share w_i of the promise, a scale
in proportion to sensitivity_i / w_i (Laplace) or sensitivity_i / sqrt(w_i) (Gaussian).

Bounding
--------
Noisy numbers may leave the range that statistics have, and records that of the data. `inflated`
moves them to the nearest end, which costs nothing; `truncated` draws given the range, which for the
numbers costs what `bayesdp.mechanisms.noise.pure` proves, and for the records nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_of, check_one_statistic
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families import Family, check_family
from bayesdp.mechanisms.families.base import Number
from bayesdp.mechanisms.modips import calibration as modips_calibration
from bayesdp.mechanisms.modips import promise as modips_promise
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.fields import BOUNDING, check_each_positive
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism, GaussianMechanism
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile

NOISE: dict[str, tuple[Any, Any]] = {
    "laplace": (LaplaceMechanism, DiscreteLaplaceMechanism),
    "gaussian": (GaussianMechanism, DiscreteGaussianMechanism),
}
"""By name: for real numbers, and for integers."""


@dataclass(frozen=True, slots=True)
class ModipsSBSMechanism(Mechanism):
    """Synthetic records from a posterior given a noisy sufficient statistic.

    Parameters
    ----------
    family : Family
        The model of the records, one of `bdp.families`, with its priors and bounds.
    size : int
        Number of synthetic records in a copy.
    scales : sequence of float
        Scale of the noise of each number of the statistic, in that number's unit; see `numbers`.
    n : int, optional
        Number of confidential records, where it is public; neighbours then replace one. None where
        it is confidential; neighbours then add or remove one.
    noise : {"laplace", "gaussian"}
        The noise's law; discrete for the numbers that are integers.
    bounding : {"inflated", "truncated"}
        How noisy numbers and synthetic records are kept in their range.
    clip : bool
        Whether records outside the family's bounds were moved to the nearest bound, each by itself.
        If False, there were none: such data are refused.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    family: Family
    size: int
    scales: tuple[float, ...]
    n: int | None = None
    noise: str = "laplace"
    bounding: str = "inflated"
    clip: bool = False

    name: ClassVar[str] = "modips_sbs"
    source: ClassVar[str] = "bayesdp.mechanisms.modips.sbs; Liu (2016), Proposition 2"
    log_concave: ClassVar[bool] = False
    """Not in general: what piles up at a bound isn't."""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"family": check_family(self.family)}
        checked["size"] = check_at_least_one("size", self.size)
        if self.n is not None:
            checked["n"] = check_at_least_one("n", self.n, "or None if confidential")
        for argument, allowed in (("noise", tuple(NOISE)), ("bounding", BOUNDING)):
            check_one_of(argument, getattr(self, argument), allowed)
        check_flag("clip", self.clip)
        numbers = checked["family"].numbers(checked.get("n"))
        scales = self.scales
        if not isinstance(scales, Sequence) or len(scales) != len(numbers):
            names = ", ".join(number.name for number in numbers)
            raise InvalidInput(
                f"scales is {quoted(scales)}; it must be {len(numbers)} numbers: {names}"
            )
        checked["scales"] = check_each_positive("scales", scales)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _ = self.parts  # whose own checks raise

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        delta: float = 0.0,
        copies: int = 1,
        allocation: str = "individualized",
        weights: Sequence[float] | None = None,
        **parameters: Any,
    ) -> ModipsSBSMechanism:
        """Make the mechanism with the smallest noise whose copies keep (epsilon, delta).

        Parameters
        ----------
        epsilon, delta, copies
            The promise of all copies together; delta in [0, 1), 0 for a pure one.
        allocation : {"individualized", "communal"}
            Whether numbers have shares of the promise (`weights`), or all the same noise.
        weights : sequence of float, optional
            Share of each number, for "individualized": positive, with sum 1. Default: equal.
        **parameters
            The class's other parameters.

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or no scale keeps the promise.
        """
        return modips_calibration.calibrated(
            cls, epsilon, delta, copies, allocation, weights, **parameters
        )

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers of the statistic, in the order of the scales."""
        return self.family.numbers(self.n)

    @property
    def parts(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each number."""
        made: dict[Any, AdditiveNoise] = {}  # numbers that are alike share theirs
        noises = []
        for number, scale in zip(self.numbers, self.scales, strict=True):
            key = dataclasses.replace(number, name=""), scale
            if key not in made:
                made[key] = self._part(number, scale)
            noises.append(made[key])
        return tuple(noises)

    def _part(self, number: Number, scale: float) -> AdditiveNoise:
        bounds = None if number.low is None and number.high is None else (number.low, number.high)
        if bounds is None and self.bounding == "truncated":
            raise InvalidInput(
                f"bounding is 'truncated', but {number.name} has no range where n is confidential; "
                "take bounding='inflated', or give n if it is public"
            )
        made: AdditiveNoise = NOISE[self.noise][number.whole](
            scale,
            number.sensitivity,
            self.neighbours,
            bounds=bounds,
            bounding=bounds and self.bounding,
            n=self.n,
        )
        return made

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        return modips_promise.profile_of(self, copies, neighbours)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies of Gaussian noise; None for Laplace."""
        copies = check_at_least_one("copies", copies)
        return modips_promise.rho_of(self, copies, self.relation(neighbours))

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        chosen = "The model, its priors and bounds, and all scales were chosen without the data."
        within = "All records are within the family's bounds: others are refused."
        shown = () if self.n is None else (PUBLIC_N,)
        return (chosen, *shown, *(() if self.clip else (within,)))

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""
        vector = self.family.vector(statistic, self.n)
        check_one_statistic(vector.shape, (len(self.scales),))
        for part, value in zip(self.parts, vector, strict=True):
            part.check_statistic(value)
        return statistic

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return the numbers of one statistic or several, along the last axis; else raise."""
        return self.family.vector(statistic, self.n)

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[Any]:
        """Draw copies from the secure generator, each with noise of its own.

        They have shape (copies, *shape of the statistics), and then that of an output.
        """
        return self.family.draw(self.noisy(statistic, copies), self)

    def noisy(self, vector: NDArray[Any], copies: int) -> NDArray[Any]:
        """Draw noisy numbers along the last axis, copies along the first; not confidential."""
        drawn = [part.release(vector[..., i], copies) for i, part in enumerate(self.parts)]
        return np.stack(drawn, axis=-1)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log-probability, or density, of a copy given the statistic, vectorised over both.

        Raises
        ------
        InvalidInput
            If the law is intractable, which depends on the family.
        """
        return self.family.logp(output, statistic, self)

    # What is written down, and what an audit tries.

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records, and of their law given the family's statistic, where tractable."""
        return (*self.family.views(self), RecordsView())

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible, for an audit."""
        return self.family.pairs(self.n)

    @property
    def space(self) -> OutputSpace:
        """Copies of synthetic records, in the family's output space."""
        return self.family.space(self.size)
