"""Perturbed coefficients of a regression on a table's columns: check, pay, draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, keep, plain
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.regression.perturbed_coefficients import PerturbedCoefficientsMechanism
from bayesdp.mechanisms.regression.perturbed_coefficients_records import gathered
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class PerturbedCoefficientsSynthesizer:
    """Release the coefficients of a penalised regression of bounded columns, plus Gaussian noise.

    `bdp.LinearRegressionModel` or `bdp.LogisticRegressionModel` infers from them what the
    regression is without penalty and noise.

    Parameters
    ----------
    bounds : mapping
        (low, high) of each column by its name, chosen without the data; two columns or more. A
        table's other columns aren't read.
    response : str
        Which column is regressed on the others.
    penalty : float
        What the sum of squared coefficients, of columns rescaled to [-1, 1] and with the
        intercept, costs beside that of squared residuals; half of it beside that of logistic
        losses. The larger it is, the less noise there is, and
        the more the coefficients shrink; about a tenth of the number of records is a start.
    epsilon, delta : float
        Total privacy cost of all copies; delta is positive, since noise is Gaussian. The promise
        is about replacing a record, and n is public.
    copies : int
        Number of independent releases of the same coefficients.
    loss : {"linear", "logistic"}
        Of a logistic regression the response is at one of its bounds in every record, and the
        upper counts as 1.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> age = np.linspace(18, 90, 5000)
    >>> table = pd.DataFrame({"age": age, "pressure": 100 + 0.5 * age})
    >>> bounds = {"age": (18, 90), "pressure": (70, 250)}
    >>> declared = PerturbedCoefficientsSynthesizer(
    ...     bounds, "pressure", penalty=500, epsilon=1.0, delta=1e-6
    ... )
    >>> declared.release(table).mechanism.numbers
    ('intercept', 'age')
    """

    bounds: Mapping[str, tuple[float, float]]
    response: str
    penalty: float
    epsilon: float = 1.0
    delta: float = 1e-6
    copies: int = 1
    loss: str = "linear"

    def __post_init__(self) -> None:
        plain(self)
        keep(self, copies=check_at_least_one("copies", self.copies))
        self._mechanism(_ANY_N)  # whose own checks raise

    def release(
        self, data: Any, *, ledger: DatasetLedger | None = None, clip: bool = False
    ) -> Release:
        """Draw the noisy coefficients; with a ledger, only once their cost is recorded for good.

        Parameters
        ----------
        data : DataFrame, array of shape (n, columns), or iterator of those
            The confidential records; an array has the columns in the order of `bounds`. An iterator
            yields batches of them and is read once.
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are checked
            first, then the guarantee is spent, then the noise is drawn. What is spent stays spent.
        clip : bool
            Whether values out of their bounds are moved to them, each by itself; else such data
            are refused. The release says which.

        Returns
        -------
        Release
            Its outputs are tuples of coefficients; `to_frames` names them.

        Raises
        ------
        InvalidInput
            If a column isn't there, the data are empty, missing somewhere or out of bounds (unless
            clipped); or if there is a ledger and the draws would be seeded. Nothing is spent or
            drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        family = self._mechanism(_ANY_N).family
        found = gathered(family, self.loss, data, clip=clip)
        mechanism = self._mechanism(found.n, clip)
        return publish(
            mechanism,
            mechanism.statistic(found),
            copies=self.copies,
            delta=self.delta,
            variable="coefficient",
            ledger=ledger,
        )

    def guarantee(self, n: int) -> Guarantee:
        """Return the guarantee of a release of n records, before any data are touched."""
        return joint_guarantee([self._mechanism(n)], self.copies, self.delta)

    def _mechanism(self, n: int, clip: bool = False) -> PerturbedCoefficientsMechanism:
        return PerturbedCoefficientsMechanism.calibrate(
            epsilon=self.epsilon,
            delta=self.delta,
            copies=self.copies,
            bounds=self.bounds,
            response=self.response,
            penalty=self.penalty,
            loss=self.loss,
            n=n,
            clip=clip,
        )
