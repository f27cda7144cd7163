r"""Perturbed coefficients: a penalised regression of bounded columns, with Gaussian noise added.

Output perturbation (Chaudhuri, Monteleoni and Sarwate 2011). The statistic is the intercept and the
coefficients of columns that are rescaled by their public bounds to [-1, 1]. For a linear regression
they are the exact minimiser, rounded once to floats (`bayesdp.mechanisms.regression.ridge`); for a
logistic one they are certified to be as near to the minimiser as the sensitivity allows for,
whatever the data (`bayesdp.mechanisms.regression.logistic_minimiser`). Both prove how far one
replaced record moves them in L2 norm. They are rounded to a lattice, and exact discrete Gaussian
noise is added (`bayesdp.mechanisms.noise.gaussian`).

n is public, and neighbours replace a record. With n confidential, the length of linear coefficients
grows with the number of records, and one more record may move them by any amount, so there is no
such release of them.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_one_of
from bayesdp.core.outputs.named import NamedNumbers
from bayesdp.core.views import CoefficientsView
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families.base import Sums
from bayesdp.mechanisms.families.linear_regression import LinearRegression
from bayesdp.mechanisms.families.regression_fields import check_columns, check_response
from bayesdp.mechanisms.noise.fields import check_granularity, check_positive
from bayesdp.mechanisms.noise.gaussian import GaussianMechanism
from bayesdp.mechanisms.noise.lattice import FURTHEST
from bayesdp.mechanisms.regression import logistic_minimiser as logistic
from bayesdp.mechanisms.regression import ridge
from bayesdp.mechanisms.regression.perturbed_coefficients_records import Signed, coefficients
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, replace_one_alone
from bayesdp.privacy.profile import Profile

INTERCEPT = "intercept"
PROOFS = {
    "linear": "bayesdp.mechanisms.regression.ridge",
    "logistic": "bayesdp.mechanisms.regression.logistic_minimiser",
}
LOSSES = tuple(PROOFS)


@dataclass(frozen=True, slots=True)
class PerturbedCoefficientsMechanism(Mechanism):
    """Release the coefficients of a penalised regression, each plus Gaussian noise of one scale.

    The statistic and an output are numbers in the order of `numbers`.

    Parameters
    ----------
    bounds : mapping, or sequence of pairs
        (low, high) of each column by its name, chosen without the data; two columns or more.
    response : str
        The column that is regressed on the others.
    penalty : float
        Factor of the sum of squared coefficients, of rescaled columns and including the intercept,
        that is added to the sum of squared residuals; half of it is added to the sum of logistic
        losses. Public.
    scale : float
        The noise's standard deviation, in units of coefficients of rescaled columns.
    n : int
        Number of records. Public.
    clip : bool
        Whether values outside their bounds were moved to the nearest bound, each by itself; if
        False, there were none.
    loss : {"linear", "logistic"}
        The regression's loss. For "logistic", the response is at one of its bounds, and the upper
        one counts as 1.
    granularity : float, optional
        The lattice's step, a power of two. Default: 2^-20 of the smaller of the scale and the
        sensitivity.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    bounds: tuple[tuple[str, tuple[float, float]], ...]
    response: str
    penalty: float
    scale: float
    n: int
    clip: bool = False
    loss: str = "linear"
    granularity: float = None  # type: ignore[assignment]

    name: ClassVar[str] = "perturbed_coefficients"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"bounds": check_columns(self.bounds)}
        check_response(self.response, [name for name, _ in checked["bounds"]])
        checked["penalty"] = check_positive("penalty", self.penalty, "unit of rescaled columns")
        if not 2.0**-100 <= checked["penalty"] <= 2.0**100:
            raise InvalidInput(
                f"penalty is {quoted(self.penalty)}; it must be from 2^-100 to 2^100"
            )
        checked["scale"] = check_positive("scale", self.scale, "unit of rescaled columns")
        checked["n"] = check_at_least_one("n", self.n)
        check_flag("clip", self.clip)
        check_one_of("loss", self.loss, LOSSES)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.loss == "logistic":
            logistic.check_reachable(self.n, len(self.predictors), self.penalty)
        step = check_granularity(self.granularity, self.scale, self.sensitivity)
        object.__setattr__(self, "granularity", step)
        longest = ridge.longest(self.n, self.penalty)
        if self.loss == "logistic":
            longest = logistic.longest(self.n, len(self.predictors), self.penalty)
        if longest > FURTHEST * step / 2:
            raise InvalidInput(
                f"granularity is {quoted(step)}, and coefficients may be up to {longest:.3g}, too "
                "many steps of the lattice; take a coarser one or a larger penalty"
            )
        _ = self.part  # whose own checks raise

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float, copies: int = 1, **parameters: Any
    ) -> PerturbedCoefficientsMechanism:
        """Make the mechanism with the smallest noise whose copies keep (epsilon, delta).

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or no scale keeps the promise, as with
            delta = 0.
        """
        example = cls(scale=1.0, **{**parameters, "granularity": None})
        noise = GaussianMechanism.calibrate(
            epsilon=epsilon,
            delta=delta,
            copies=copies,
            sensitivity=example.sensitivity,
            neighbours=Neighbours.REPLACE_ONE,
            dimension=len(example.numbers),
            n=example.n,
            granularity=parameters.get("granularity"),
        )
        parameters["granularity"] = noise.granularity
        return cls(scale=noise.scale, **parameters)

    @property
    def family(self) -> LinearRegression:
        """Family of models from whose sums the coefficients are computed."""
        return _family(self.bounds, self.response)

    @property
    def predictors(self) -> tuple[str, ...]:
        """Names of the other columns, in order."""
        return tuple(name for name, _ in self.bounds if name != self.response)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return INTERCEPT, *self.predictors

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of the rescaled columns' coefficients to a replaced record."""
        if self.loss == "logistic":
            return logistic.sensitivity(len(self.predictors), self.penalty)
        return ridge.sensitivity(self.n, len(self.bounds) - 1, self.penalty)

    @property
    def part(self) -> GaussianMechanism:
        """Noise of the coefficients."""
        return _part(self)

    def statistic(self, given: Sums | Signed) -> tuple[float, ...]:
        """Compute the coefficients of records, from the result of `gathered`. Confidential."""
        if given.n != self.n or isinstance(given, Sums) != (self.loss == "linear"):
            raise InvalidInput(
                f"the mechanism is for {self.loss} loss and n = {self.n} records; the result of "
                "gathered() is for another loss or number of records"
            )
        made: tuple[float, ...] = coefficients(given, self.family, self.penalty)
        return made

    # What is promised.

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return replace-one, or raise InvalidInput if another relation is asked for."""
        return replace_one_alone(
            neighbours,
            "; perturbed coefficients promise under 'replace_one' alone, as their number of "
            "records is public",
        )

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""
        self.relation(neighbours)
        return self.part.profile(copies=copies)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` copies."""
        self.relation(neighbours)
        return self.part.rho(copies=copies)

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return PROOFS[self.loss]

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        notes = [
            "The columns, their bounds, the penalty and the scale were chosen without the data.",
            "No record has a missing value, whatever the data: such are refused.",
        ]
        if self.loss == "logistic":
            notes.append("The machine's logistic function has a relative error below 2^-45.")
            notes.append("Every record's response is at one of its bounds: others are refused.")
        if not self.clip:
            notes.append("All values are within their columns' bounds: others are refused.")
        return (*notes, PUBLIC_N)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        return self.part.check_statistic(statistic)

    def check_statistics(self, statistic: Any) -> Any:
        """Return coefficients of one statistic or several, in steps of the lattice; or raise."""
        return self.part.check_statistics(statistic)

    def draw(self, statistic: Any, copies: int) -> NDArray[np.float64]:
        """Draw copies, exactly, from the secure generator."""
        return self.part.draw(statistic, copies)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; -inf where there is no such output."""
        return self.part.logp(output, statistic)

    # What is written down, and what an audit tries.

    @property
    def views(self) -> tuple[CoefficientsView, ...]:
        """View of noisy coefficients of the regression."""
        bounds, predictors = dict(self.bounds), self.predictors
        about = self.loss, bounds, predictors, self.response, self.penalty, self.n
        return (CoefficientsView(*about, self.part.cell),)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of statistics as far apart as neighbours' can be."""
        return self.part.pairs()

    @property
    def space(self) -> NamedNumbers:
        """Multiples of the lattice's step, one for each coefficient."""
        steps = (self.granularity,) * len(self.numbers)
        return NamedNumbers(self.numbers, steps, "coefficient")


@functools.lru_cache(maxsize=64)
def _family(bounds: tuple[tuple[str, tuple[float, float]], ...], response: str) -> LinearRegression:
    return LinearRegression(bounds, response)


@functools.lru_cache(maxsize=64)
def _part(mechanism: PerturbedCoefficientsMechanism) -> GaussianMechanism:
    with warnings.catch_warnings():
        # Of the lattice: these numbers are no sum of the caller's.
        warnings.filterwarnings("ignore", message="granularity is")
        return GaussianMechanism(
            mechanism.scale,
            mechanism.sensitivity,
            Neighbours.REPLACE_ONE,
            len(mechanism.bounds),
            n=mechanism.n,
            granularity=mechanism.granularity,
        )
