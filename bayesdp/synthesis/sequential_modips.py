"""Private copies of mixed tables: categorical and numeric columns, one group given another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesdp.checks import keep, plain
from bayesdp.mechanisms.families.base import Sums, added_up
from bayesdp.mechanisms.modips.sequential.counts import (
    columns_of,
    declared_axes,
    no_records,
    statistic_of,
    sums_of_columns,
)
from bayesdp.mechanisms.modips.sequential.layout import check_steps, layouts_of
from bayesdp.mechanisms.modips.sequential.mechanism import SequentialModipsMechanism
from bayesdp.mechanisms.modips.sequential.steps import Step
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.parameters import check_known, check_size
from bayesdp.synthesis.publish import publish
from bayesdp.synthesis.tally import typed

if TYPE_CHECKING:
    import pandas as pd

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class SequentialModipsSynthesizer:
    """Synthesize whole tables, privately, from a sequence of conditional models.

    Every copy has all columns of all steps, and records of its own. What a step's columns depend
    on is what it says: categorical ones on the labels in `by`, numeric ones also on the numeric
    columns in `on` and those before them in the same step. Given these the model has them
    independent of all others, and so are they in the copies. The model is that of
    `bayesdp.mechanisms.modips.sequential.mechanism`, the proof in
    `bayesdp.mechanisms.modips.sequential.mechanism`.

    Cells cost nothing, but each has noise of its own: where one has few records next to the noise's
    scale (``release.mechanism.scales``), its part of a copy is close to what the priors say.
    Copies are analysed as data, and combined by `bdp.combine`.

    Parameters
    ----------
    steps : sequence of CategoricalColumns and NumericColumns
        In the order of the model.
    epsilon, delta : float
        Total privacy cost of all copies; delta in [0, 1), 0 for a pure promise.
    copies : int
        Number of independent copies, each with noise and parameters of its own.
    size : int, optional
        Synthetic records a copy. Default: the number of confidential ones, where it is public.
    public_n : bool
        Whether the number of records is public. If it is, it is written into the release, and the
        promise is about replacing one record. If not, the promise is about adding or removing one,
        and `size` must be given.
    weights : sequence of float, optional
        Each step's share of epsilon, or with Gaussian noise of rho, positive with sum 1. Default:
        equal ones.
    noise : {"laplace", "gaussian"}
        Of every number of the statistics. Gaussian noise needs a delta; it grows with the number
        of numeric columns in a step, and Laplace noise with its square.
    clip : bool
        Whether numbers out of their bounds are moved to them, each by itself; else such data are
        refused. The release says which.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> import pandas as pd
    >>> synthesizer = SequentialModipsSynthesizer(
    ...     [
    ...         bdp.synthesizers.CategoricalColumns({"sex": ("f", "m"), "smokes": (False, True)}),
    ...         bdp.synthesizers.NumericColumns(
    ...             {"age": (18, 90), "pressure": (70, 250)}, by=["sex"]
    ...         ),
    ...     ],
    ...     epsilon=2.0,
    ...     copies=3,
    ... )
    >>> people = {"sex": ["f", "m"], "smokes": [False, True], "age": [30, 41]}
    >>> release = synthesizer.release(pd.DataFrame(people | {"pressure": [99, 120]}))
    >>> list(release.to_frames()[0].columns)
    ['sex', 'smokes', 'age', 'pressure']
    """

    steps: Sequence[Step]
    epsilon: float = 1.0
    copies: int = 5
    size: int | None = None
    public_n: bool = True
    weights: Sequence[float] | None = None
    noise: str = "laplace"
    delta: float = 0.0
    clip: bool = False

    def __post_init__(self) -> None:
        plain(self)
        object.__setattr__(self, "steps", check_steps(self.steps))
        keep(self, size=check_size(self.size, self.public_n))
        self._mechanism(_ANY_N if self.public_n else None)  # whose own checks raise

    def release(
        self, data: pd.DataFrame | Iterator[pd.DataFrame], *, ledger: DatasetLedger | None = None
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : DataFrame, Scan, or iterator of DataFrames
            The confidential records, in memory or in files (`bdp.scan`); columns of no step aren't
            read. An iterator yields batches of them and is read once.
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are checked
            first, then the guarantee is spent, then the copies are drawn. What is spent stays
            spent, even if this process is killed before the release is saved.

        Returns
        -------
        Release

        Raises
        ------
        InvalidInput
            If the data are empty where n is public, missing somewhere, outside the bounds (unless
            `clip`), or have labels that aren't listed; or if there is a ledger and the draws would
            be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        layouts = layouts_of(self.steps)

        def sums_of_batch(batch: Any) -> Sums:
            return sums_of_columns(layouts, *columns_of(layouts, batch, clip=self.clip))

        sums = added_up(
            typed(data, declared_axes(layouts)),
            sums_of_batch,
            None if self.public_n else no_records(layouts),
        )
        n = sums.n if self.public_n else None
        return publish(
            self._mechanism(n),
            statistic_of(layouts, sums, n),
            copies=self.copies,
            delta=self.delta,
            ledger=ledger,
        )

    def guarantee(self, n: int | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            The public number of records; not where it is confidential.
        """
        check_known(n, self.public_n)
        return self._mechanism(n).guarantee(copies=self.copies, delta=self.delta)

    def _mechanism(self, n: int | None) -> SequentialModipsMechanism:
        return SequentialModipsMechanism.calibrate(
            epsilon=self.epsilon,
            delta=self.delta,
            copies=self.copies,
            weights=self.weights,
            noise=self.noise,
            steps=self.steps,
            size=self.size or n,
            n=n,
            clip=self.clip,
        )
