"""Perturbed coefficients of a regression on a table's columns: check, pay, draw."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayesdp.checks import check_at_least_one, check_even
from bayesdp.core.fields import declared
from bayesdp.mechanisms.regression.perturbed_coefficients import PerturbedCoefficientsMechanism
from bayesdp.mechanisms.regression.perturbed_coefficients_records import coefficients, gathered
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer

_FEWEST = 1  # records: what can't be declared of them can't be of more


@dataclass(frozen=True)
class PerturbedCoefficientsSynthesizer(RecordSynthesizer):
    """Release the coefficients of a penalised regression of bounded columns, plus Gaussian noise.

    `bdp.LinearRegressionModel` or `bdp.LogisticRegressionModel` infers from them the regression
    without penalty and noise.

    Parameters
    ----------
    bounds : mapping
        (low, high) of each column by its name, chosen without the data; two columns or more. A
        table's other columns aren't read.
    response : str
        The column that is regressed on the others.
    penalty : float
        Weight of the sum of squared coefficients, of columns rescaled to [-1, 1] and with the
        intercept, relative to the sum of squared residuals; half of it is the weight relative to
        the sum of logistic losses. The larger it is, the less noise there is, and the more the
        coefficients shrink; about a tenth of the number of records is a good start.
    epsilon, delta : float
        Total privacy cost of all copies; delta is positive, since noise is Gaussian. The promise
        is about replacing a record, and n is public.
    copies : int
        Number of independent releases of the same coefficients.
    loss : {"linear", "logistic"}
        The regression's loss. For logistic regression the response must be at one of its bounds in
        every record, and the upper bound counts as 1.
    clip : bool
        Whether values out of their bounds are clipped to them; if not, such data are refused. The
        release says which.

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
    copies: int = declared(check_at_least_one, default=1)
    loss: str = "linear"
    clip: bool = False

    grouped = False
    variable = "coefficient"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._like  # whose own checks raise

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Any]:
        """Gather the statistics of all records, or of their batches, for the coefficients."""
        check_even(data)
        self.check_by(data, by)
        return {None: gathered(self._like.family, self.loss, data, clip=self.clip)}

    def statistic(self, tally: Any) -> Any:
        """The coefficients before noise."""
        return coefficients(tally, self._like.family, self._like.penalty)

    def mechanism(self, known: int, epsilon: Any) -> PerturbedCoefficientsMechanism:
        """The mechanism of the coefficients of `known` records."""
        return PerturbedCoefficientsMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            copies=self.copies,
            bounds=self.bounds,
            response=self.response,
            penalty=self.penalty,
            loss=self.loss,
            n=known,
            clip=self.clip,
        )

    def release(
        self,
        data: Any,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
        clip: bool | None = None,
    ) -> Release:
        """Draw the noisy coefficients; with a ledger, only once their cost is recorded for good.

        Parameters
        ----------
        data : DataFrame, array of shape (n, columns), or iterator of those
            The confidential records; an array has the columns in the order of `bounds`. An iterator
            yields batches of them and is read once.
        by : None
            There are no groups.
        variable, ledger
            As for `BetaBinomialSynthesizer`.
        clip : bool, optional
            Instead of the declared value.

        Raises
        ------
        InvalidInput
            If a column isn't there, or the data are empty, have missing values or are out of bounds
            (unless clipped); or if there is a ledger and the draws would be seeded. Nothing is
            spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        made = self if clip is None else dataclasses.replace(self, clip=clip)
        return RecordSynthesizer.release(made, data, by=by, variable=variable, ledger=ledger)

    @cached_property
    def _like(self) -> PerturbedCoefficientsMechanism:
        """The mechanism of the fewest records."""
        return self.mechanism(_FEWEST, self.epsilon)
