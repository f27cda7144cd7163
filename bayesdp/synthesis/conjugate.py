"""The conjugate synthesizer: records in, draws from the posterior of their mean or rate out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_one_of
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.conjugate.families import FAMILIES, METHODS
from bayesdp.mechanisms.conjugate.multivariate_gaussian import check_columns, check_covariance
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.parameters import by_value

_OF_NUMBERS = ("gaussian", "multivariate_gaussian", "gamma")
_METHODS = tuple(method for method in METHODS if method != "parameter_map")
_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class ConjugateSynthesizer(RecordSynthesizer):
    """Release draws from the posterior of a mean, a mean vector or a rate, or records from them.

    The prior is the weakest that keeps the promise; it alone protects the records
    (`bdp.mechanisms.ConjugateMechanism`). The number of records is public.

    Parameters
    ----------
    family : {"gaussian", "multivariate_gaussian", "gamma"}
        Law of the records. For counts there are `BetaBinomialSynthesizer` and
        `DirichletMultinomialSynthesizer`, of the same kind.
    epsilon : float
        Total privacy cost of all copies, under replace-one.
    delta : float
        In [0, 1). Normal laws need one, unless `bounded`.
    method : {"synthetic_one", "synthetic_many", "synthetic_map", "parameter_draw"}
        What is released: synthetic records from one posterior draw, each from its own, or around
        the posterior mode; or one draw itself.
    copies : int
        Number of independent copies.
    size : int, optional
        Synthetic records in each copy. Default: the number of confidential ones.
    R : float, or sequence of floats for multivariate_gaussian
        Records, or each column's, lie in [-R, R]; gamma ones in [0, R]. Chosen without the data.
    sigma : float, optional
        For gaussian only: known standard deviation of the records.
    bounded : bool
        For gaussian only: whether what is released is conditioned to [-R, R], for a pure epsilon.
    shape : float, optional
        For gamma only: known shape of the records' law. Default: 1, the exponential law.
    covariance : sequence of sequences of floats, optional
        For multivariate_gaussian only: known covariance matrix of the columns.
    names : sequence of str, optional
        For multivariate_gaussian only: names of the columns, in the order of `covariance`; a
        table's columns are then taken by their names.

    Raises
    ------
    InvalidInput
        If a parameter is missing, superfluous or out of its range. If no prior keeps the promise,
        that is said when a number of records is known.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = ConjugateSynthesizer(
    ...     "multivariate_gaussian", 1.0, 1e-6, R=(3, 6), covariance=((1, 0.5), (0.5, 4))
    ... )
    >>> release = made.release([[0.2, 1.0], [-0.3, 2.5], [0.7, 0.1]])
    >>> low, high = bdp.models.MultivariateGaussianModel().posterior(release).marginal(0).interval()
    """

    family: str
    epsilon: float = declared(by_value(check_epsilon))
    delta: float = declared(by_value(check_delta), default=0.0)
    method: str = "synthetic_one"
    copies: int = declared(check_at_least_one, default=1)
    size: int | None = declared(check_at_least_one, optional=True, default=None)
    R: Any = None
    sigma: float | None = None
    bounded: bool = False
    shape: float | None = None
    covariance: Any = None
    names: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("family", self.family, _OF_NUMBERS)
        check_one_of("method", self.method, _METHODS)
        if self.size is not None and self.method == "parameter_draw":
            raise InvalidInput(
                f"size is {self.size}, but method 'parameter_draw' releases no records; leave it "
                "out"
            )
        if self.family == "multivariate_gaussian":
            check_columns("names", self.names, len(check_covariance("covariance", self.covariance)))
        elif self.names is not None:
            raise InvalidInput(
                f"names is {quoted(self.names)}, but family {quoted(self.family)} is of one "
                "column; leave it out"
            )
        self._of_any_prior(_ANY_N)

    def tally(self, records: Any) -> NDArray[np.float64]:
        """Check records, in memory or a batch of them, and return them as an array."""
        columns = getattr(records, "columns", None)
        if columns is not None and self.family != "multivariate_gaussian" and len(columns) == 1:
            records = records[columns[0]]
        if not hasattr(records, "__len__") or getattr(records, "shape", None) == ():
            raise InvalidInput("data is one thing; it must be records, a row for each")
        if not len(records):
            return np.empty(0)
        self._of_any_prior(len(records)).statistic(records)  # which checks them
        if columns is not None and self.names is not None:
            records = records[list(self.names)]
        return np.asarray(records, dtype=np.float64)

    def add(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put the records of two batches together."""
        return np.concatenate([one, other])

    def count(self, tally: NDArray[np.float64]) -> int:
        """The number of records."""
        return len(tally)

    def statistic(self, tally: NDArray[np.float64]) -> Any:
        """The sum of the records, or of each of their columns."""
        return self._of_any_prior(len(tally)).statistic(tally)

    def mechanism(self, known: int, epsilon: float | None) -> Mechanism:
        """The mechanism of a group of n records, with the weakest prior."""
        return ConjugateMechanism.calibrate(
            family=self.family,
            method=self.method,
            n=known,
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta,
            copies=self.copies,
            **self._more(known),
        )

    def _of_any_prior(self, n: int) -> ConjugateMechanism:
        """A mechanism of n records, for all that doesn't depend on its prior."""
        more = self._more(n)
        prior = FAMILIES[self.family].prior_of_strength(1.0, more)
        return ConjugateMechanism(self.family, self.method, n, prior, **more)

    def _more(self, n: int) -> dict[str, Any]:
        size = None if self.method == "parameter_draw" else self.size or n
        known = ("R", "sigma", "bounded", "shape", "covariance")
        more = {name: getattr(self, name) for name in known}
        return {"size": size, "columns": self.names, **more}
