"""Noisy moments of a table's columns, for regressions: check, pay, draw."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import Sums
from bayesdp.mechanisms.regression.noisy_moments import NoisyMomentsMechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release import Release
from bayesdp.synthesis.base import RecordSynthesizer

if TYPE_CHECKING:
    import pandas as pd

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class NoisyMomentsSynthesizer(RecordSynthesizer):
    """Release X'X, X'y and y'y of bounded columns, with the sums of columns, each plus noise.

    `bdp.LinearRegressionModel` fits any linear regression among the columns to them.

    Parameters
    ----------
    bounds : mapping
        (low, high) of each column by its name, chosen without the data, for two columns or more. A
        table's other columns aren't read.
    epsilon, delta : float
        Total privacy cost of all copies. delta is 0 for a pure promise, and positive for Gaussian
        noise.
    noise : {"laplace", "gaussian"}
        The noise, exact on a lattice, and discrete for n.
    copies : int
        Number of independent releases of the same moments. Several are no more informative than
        one that costs as much as all of them; with Laplace noise they are less so.
    neighbours : {"replace_one", "add_remove"}
        The relation under which the promise is stated. If a record is replaced, n is public and
        written into the release; if one is added or removed, n is confidential, and one of the
        noisy numbers.
    missing : {"refuse", "drop"}
        How records with a missing value in one of the columns are treated: refuse the data, or,
        where n is confidential, leave those records out
        (`bayesdp.mechanisms.regression.noisy_moments`).
    clip : bool
        Whether values out of their bounds are clipped to them; if not, such data are refused. The
        release says which.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [41.0, 60.0, 25.0], "pressure": [120.0, 140.0, 115.0]})
    >>> declared = NoisyMomentsSynthesizer({"age": (18, 90), "pressure": (70, 250)}, epsilon=1.0)
    >>> round(declared.release(table).mechanism.scale, 3)
    5.333
    """

    bounds: Mapping[str, tuple[float, float]]
    epsilon: float = 1.0
    delta: float = 0.0
    noise: str = "laplace"
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "replace_one"
    missing: str = "refuse"
    clip: bool = False

    grouped = False
    variable = "moment"

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = check_neighbours(self.neighbours)
        if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; moments of records have 'replace_one' (n "
                "public) and 'add_remove' (n confidential)"
            )
        _ = self._like  # whose own checks raise

    def tally(self, records: Any) -> Sums:
        """Sum over a DataFrame, or an array with the columns in the order of `bounds`."""
        family = self._like.family
        complete = _complete(records, family.columns) if self.missing == "drop" else records
        return family.sums(complete, clip=self.clip)

    def empty(self) -> Sums:
        """The sums of no records."""
        return self.tally([])

    def statistic(self, tally: Sums) -> Any:
        """The moments, computed from the sums."""
        return self._like.family.statistic(tally, public_n=self.public_n)

    def mechanism(self, known: int | None, epsilon: Any) -> NoisyMomentsMechanism:
        """The mechanism of the moments of `known` records; None if that number is confidential."""
        return NoisyMomentsMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            copies=self.copies,
            bounds=self.bounds,
            n=known,
            noise=self.noise,
            missing=self.missing,
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
        """Draw the noisy moments; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : DataFrame, array of shape (n, columns), Scan, or iterator of those
            The confidential records, in memory or in files (`bdp.scan`); an array has the columns
            in the order of `bounds`. An iterator yields batches and is read once.
        by : None
            There are no groups.
        variable, ledger
            As for `BetaBinomialSynthesizer`.
        clip : bool, optional
            Instead of the declared value.

        Raises
        ------
        InvalidInput
            If a column isn't there, or the data are empty where n is public, have missing values
            (unless dropped) or are out of bounds (unless clipped); or if there is a ledger and the
            draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        made = self if clip is None else dataclasses.replace(self, clip=clip)
        return RecordSynthesizer.release(made, data, by=by, variable=variable, ledger=ledger)

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            The public number of records; None where it is confidential.
        """
        if (n is None) == self.public_n:
            raise InvalidInput(
                f"n is {quoted(n)} and neighbours is {quoted(self.neighbours)}; give n where it is "
                "public, under 'replace_one', and only there"
            )
        return super().guarantee(n)

    @property
    def public_n(self) -> bool:
        """True if the number of records is public: under replace-one."""
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    @property
    def axes(self) -> list[Axis]:
        """The bounded columns."""
        return [Axis(name, edges=ends) for name, ends in self._like.family.bounds]

    @cached_property
    def _like(self) -> NoisyMomentsMechanism:
        """The mechanism; where n is public, with a placeholder for it."""
        return self.mechanism(_ANY_N if self.public_n else None, self.epsilon)


def _complete(batch: Any, columns: tuple[str, ...]) -> pd.DataFrame:
    """Drop the records that miss any of the columns."""
    import pandas as pd

    if not hasattr(batch, "columns"):
        table = pd.DataFrame(batch)
        return table[table.notna().all(axis=1)].to_numpy()  # type: ignore[return-value]
    known = [name for name in columns if name in batch.columns]
    kept: pd.DataFrame = batch[batch[known].notna().all(axis=1)]
    return kept
