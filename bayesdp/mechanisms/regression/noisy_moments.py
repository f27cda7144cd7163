r"""Noisy moments of bounded columns, from which linear regressions of them are computed.

The statistic is that of `bayesdp.mechanisms.families.linear_regression`: the sums of columns that
are rescaled by their public bounds to [-1, 1], of their squares and of their products, as exact
integers, and before them n where that is confidential. Whichever column is the response, these are
X'X, X'y and y'y. All numbers get independent noise of one scale b, on a lattice, and are released
as they are: nothing is projected or moved into a range, so that the law of the release is known.

Privacy
-------
n public, neighbours replace a record. The log ratio of Laplace noise is at most the L1 norm of
what a replacement moves over b: with d columns d (d + 2)^2 / (2 (d + 1)), with p = d - 1 predictors
(p + 1)(p + 3)^2 / (2 (p + 2)), two thirds or less of the p^2 + 4 p + 3 in general use (Ju, Awan,
Gong and Rao 2022), which sums the moves one by one. Gaussian noise pays for the L2 norm: d + 1 for
odd d, sqrt(d (d + 2)) for even d. Both are attained; `bayesdp.mechanisms.families.moment_moves`
proves them.

n confidential, neighbours add or remove a record. One at a corner moves all 1 + d (d + 3) / 2
numbers by 1.

`bayesdp.mechanisms.modips.promise` adds what rounding to the lattice costs.

Records with a missing value
----------------------------
With `missing="drop"` a record with a missing value isn't counted, nor is any other value of it.
That depends on the record alone, so two data sets that differ by one record are, of complete ones,
the same or differ by one: the promise holds as it is, for incomplete records too, where n is
confidential. Where n is public it would be the number of complete records, which a replaced record
may change: then that number is no longer public, and the release is refused. What is released is
about the complete records; that they are like the others is for the analyst to judge.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_of, check_one_statistic
from bayesdp.core.outputs.named import NamedNumbers
from bayesdp.core.views import MomentsView
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families.linear_regression import LinearRegression
from bayesdp.mechanisms.families.regression_fields import check_columns
from bayesdp.mechanisms.modips import promise as modips_promise
from bayesdp.mechanisms.modips.calibration import calibrated
from bayesdp.mechanisms.modips.sbs import NOISE
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.fields import check_granularity, check_positive
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile

MISSING = ("refuse", "drop")


@functools.lru_cache(maxsize=64)
def _family(bounds: tuple[tuple[str, tuple[float, float]], ...]) -> LinearRegression:
    """The family of these columns; which is the response makes no difference to the moments."""
    return LinearRegression(bounds, bounds[-1][0])


@dataclass(frozen=True, slots=True)
class NoisyMomentsMechanism(Mechanism):
    """Release the moments of bounded columns, each plus noise of one scale.

    The statistic and an output are numbers in the order of `numbers`.

    Parameters
    ----------
    bounds : mapping, or sequence of pairs
        (low, high) of each column by its name, chosen without the data; two columns or more.
    scale : float
        b, in units of rescaled columns: the noise has density nearly proportional to exp(-|z| / b),
        or exp(-(z / b)^2 / 2).
    n : int, optional
        Number of records, where it is public; neighbours then replace one. None where it is
        confidential; neighbours then add or remove one.
    noise : {"laplace", "gaussian"}
        The noise's law; discrete for n.
    missing : {"refuse", "drop"}
        Whether records with a missing value were left out ("drop"); if "refuse", there were none.
    clip : bool
        Whether values outside their bounds were moved to the nearest bound, each by itself; if
        False, there were none.
    granularity : float, optional
        The lattice's step, a power of two. Default: 2^-20 of the smaller of the scale and 1.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    bounds: tuple[tuple[str, tuple[float, float]], ...]
    scale: float
    n: int | None = None
    noise: str = "laplace"
    missing: str = "refuse"
    clip: bool = False
    granularity: float = None  # type: ignore[assignment]

    name: ClassVar[str] = "noisy_moments"
    source: ClassVar[str] = "bayesdp.mechanisms.regression.noisy_moments"
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"bounds": check_columns(self.bounds)}
        checked["scale"] = check_positive("scale", self.scale, "unit of rescaled columns")
        if self.n is not None:
            checked["n"] = check_at_least_one("n", self.n, "or None if confidential")
        for argument, allowed in (("noise", tuple(NOISE)), ("missing", MISSING)):
            check_one_of(argument, getattr(self, argument), allowed)
        if self.missing == "drop" and self.n is not None:
            raise InvalidInput(
                "missing is 'drop' and n is public, but the number of complete records changes "
                "with a record's missing value; keep n confidential (neighbours='add_remove')"
            )
        check_flag("clip", self.clip)
        checked["granularity"] = check_granularity(self.granularity, checked["scale"], 1.0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _ = self.parts  # whose own checks raise

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float = 0.0, copies: int = 1, **parameters: Any
    ) -> NoisyMomentsMechanism:
        """Make the mechanism with the smallest noise whose copies keep (epsilon, delta).

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or no scale keeps the promise.
        """
        example = cls(scale=1.0, **parameters)

        def made(scales: Sequence[float], **_: Any) -> NoisyMomentsMechanism:
            return cls(scale=scales[0], **parameters)

        known = {"family": example.family, "n": example.n, "noise": example.noise}
        return calibrated(made, epsilon, delta, copies, "communal", None, **known)

    @property
    def family(self) -> LinearRegression:
        """Family of models that have the moments as their sufficient statistic."""
        return _family(self.bounds)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return self.family.columns

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the statistic's numbers: n, sums, sums of squares, sums of products."""
        return tuple(number.name for number in self.family.numbers(self.n))

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def scales(self) -> tuple[float, ...]:
        """Scale of each number's noise: all the same."""
        return (self.scale,) * len(self.family.numbers(self.n))

    @property
    def parts(self) -> tuple[AdditiveNoise, ...]:
        """Noise of each number."""
        return _parts(self)

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
        notes = ["The columns, their bounds and the scale were chosen without the data."]
        if self.n is not None:
            notes.append(PUBLIC_N)
        if self.missing == "drop":
            notes.append("Records with a missing value are left out, and protected as others are.")
        else:
            notes.append("No record has a missing value, whatever the data: such are refused.")
        if not self.clip:
            notes.append("All values are within their columns' bounds: others are refused.")
        return tuple(notes)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that records can have, else raise."""
        vector = self.family.vector(statistic, self.n)
        check_one_statistic(vector.shape, (len(self.parts),))
        for part, value in zip(self.parts, vector, strict=True):
            part.check_statistic(value)
        return statistic

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return the numbers of one statistic or several, shape (..., numbers), or raise."""
        return self.family.vector(statistic, self.n)

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[np.float64]:
        """Draw copies, exactly, from the secure generator; shape (copies, ..., numbers)."""
        drawn = [part.release(statistic[..., i], copies) for i, part in enumerate(self.parts)]
        return np.stack(drawn, axis=-1).astype(np.float64)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf where there is no such output."""
        vector, z = self.family.vector(statistic, self.n), np.asarray(output, dtype=np.float64)
        if z.shape[-1:] != (len(self.parts),):
            raise InvalidInput(f"output has shape {z.shape}; its last axis must be {self.numbers}")
        law = [part.logp(z[..., i], vector[..., i]) for i, part in enumerate(self.parts)]
        return np.asarray(np.sum(law, axis=0))

    # What is written down, and what an audit tries.

    @property
    def views(self) -> tuple[MomentsView, ...]:
        """View of noisy sums of the columns, of their squares and of their products."""
        size = self.parts[0] if self.n is None else None
        return (MomentsView(dict(self.bounds), self.n, size, self.parts[-1]),)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible."""
        return self.family.pairs(self.n)

    @property
    def space(self) -> NamedNumbers:
        """Multiples of the lattice's step, one for each number of the statistic."""
        return NamedNumbers(self.numbers, tuple(part.step for part in self.parts))


@functools.lru_cache(maxsize=64)
def _parts(mechanism: NoisyMomentsMechanism) -> tuple[AdditiveNoise, ...]:
    def part(sensitivity: float, whole: bool) -> AdditiveNoise:
        lattice = {} if whole else {"granularity": mechanism.granularity}
        made: AdditiveNoise = NOISE[mechanism.noise][whole](
            mechanism.scale, sensitivity, mechanism.neighbours, n=mechanism.n, **lattice
        )
        return made

    numbers = mechanism.family.numbers(mechanism.n)
    kinds = {(x.sensitivity, x.whole) for x in numbers}
    made = {kind: part(*kind) for kind in kinds}
    return tuple(made[x.sensitivity, x.whole] for x in numbers)
