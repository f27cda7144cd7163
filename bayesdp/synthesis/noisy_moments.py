"""Noisy moments of a table's columns, for regressions: check, pay, draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one, keep, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import Sums, added_up
from bayesdp.mechanisms.regression.noisy_moments import NoisyMomentsMechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish
from bayesdp.synthesis.tally import typed

if TYPE_CHECKING:
    import pandas as pd

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class NoisyMomentsSynthesizer:
    """Release X'X, X'y and y'y of bounded columns, with the sums of columns, each plus noise.

    Any linear regression among the columns can be fitted to them: `bdp.LinearRegressionModel`.

    Parameters
    ----------
    bounds : mapping
        (low, high) of each column by its name, chosen without the data; two columns or more. A
        table's other columns aren't read.
    epsilon, delta : float
        Total privacy cost of all copies. delta is 0 for a pure promise, and positive for Gaussian
        noise.
    noise : {"laplace", "gaussian"}
        Exact on a lattice, and discrete for n.
    copies : int
        Number of independent releases of the same moments. Several tell no more than one that
        costs as much as all of them, with Laplace noise less.
    neighbours : {"replace_one", "add_remove"}
        What the promise is about. If a record is replaced, n is public and written into the
        release; if one is added or removed, n is confidential, and one of the noisy numbers.
    missing : {"refuse", "drop"}
        What is done with records that have a missing value in one of the columns: refuse the data,
        or leave such records out, each by itself, where n is confidential
        (`bayesdp.mechanisms.regression.noisy_moments`).

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
    copies: int = 1
    neighbours: str = "replace_one"
    missing: str = "refuse"

    def __post_init__(self) -> None:
        plain(self)
        relation = check_neighbours(self.neighbours)
        if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; moments of records have 'replace_one' (n "
                "public) and 'add_remove' (n confidential)"
            )
        keep(self, copies=check_at_least_one("copies", self.copies))
        self._mechanism(_ANY_N if self._public_n else None)  # whose own checks raise

    def release(
        self, data: Any, *, ledger: DatasetLedger | None = None, clip: bool = False
    ) -> Release:
        """Draw the noisy moments; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : DataFrame, array of shape (n, columns), Scan, or iterator of those
            The confidential records, in memory or in files (`bdp.scan`); an array has the columns
            in the order of `bounds`. An iterator yields batches and is read once.
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are checked
            first, then the guarantee is spent, then the noise is drawn. What is spent stays spent.
        clip : bool
            Whether values out of their bounds are moved to them, each by itself; else such data
            are refused. The release says which.

        Returns
        -------
        Release
            Its outputs are tuples of numbers; `to_frames` names them.

        Raises
        ------
        InvalidInput
            If a column isn't there, the data are empty where n is public, missing somewhere
            (unless dropped) or out of bounds (unless clipped); or if there is a ledger and the
            draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        family = self._mechanism(_ANY_N if self._public_n else None, clip).family

        def sums(batch: Any) -> Sums:
            complete = _complete(batch, family.columns) if self.missing == "drop" else batch
            return family.sums(complete, clip=clip)

        # Where n is confidential, so is that it is 0.
        axes = [Axis(name, edges=ends) for name, ends in family.bounds]
        found = added_up(typed(data, axes), sums, None if self._public_n else [])
        mechanism = self._mechanism(found.n if self._public_n else None, clip)
        return publish(
            mechanism,
            family.statistic(found, public_n=self._public_n),
            copies=self.copies,
            delta=self.delta,
            variable="moment",
            ledger=ledger,
        )

    def guarantee(self, n: int | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            The public number of records; not where it is confidential.
        """
        if (n is None) == self._public_n:
            raise InvalidInput(
                f"n is {quoted(n)} and neighbours is {quoted(self.neighbours)}; give n where it is "
                "public, under 'replace_one', and only there"
            )
        return joint_guarantee([self._mechanism(n)], self.copies, self.delta)

    @property
    def _public_n(self) -> bool:
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    def _mechanism(self, n: int | None, clip: bool = False) -> NoisyMomentsMechanism:
        return NoisyMomentsMechanism.calibrate(
            epsilon=self.epsilon,
            delta=self.delta,
            copies=self.copies,
            bounds=self.bounds,
            n=n,
            noise=self.noise,
            missing=self.missing,
            clip=clip,
        )


def _complete(batch: Any, columns: tuple[str, ...]) -> pd.DataFrame:
    """Drop the records that miss any of the columns."""
    import pandas as pd

    if not hasattr(batch, "columns"):
        table = pd.DataFrame(batch)
        return table[table.notna().all(axis=1)].to_numpy()  # type: ignore[return-value]
    known = [name for name in columns if name in batch.columns]
    kept: pd.DataFrame = batch[batch[known].notna().all(axis=1)]
    return kept
