"""The log-linear synthesizer: noisy marginals of a table, and records from a model of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.cells import Axis, points_in, shape_of
from bayesdp.mechanisms.noisy_marginals import NoisyMarginals
from bayesdp.mechanisms.randomness import generator, reproducible
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release import Release
from bayesdp.synthesis.log_linear_fit import fit_log_linear
from bayesdp.synthesis.publish import publish
from bayesdp.synthesis.table_counts import declared_axes, table_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LogLinearSynthesizer:
    """Synthesize a table with many cells by a hierarchical log-linear model of its marginals.

    The release holds the noisy counts of the marginals (`NoisyMarginals`), so that the analyst has
    their exact law, `release.mechanism.logp`. `fitted` is the log-linear model's table closest to
    them, and `records` draws synthetic records from it, any number at no cost.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    marginals : sequence of sequences of str
        Each marginal's columns: the model's highest interactions, ``[("age", "sex"), ("sex",
        "job")]``. Chosen without the data. Each gets the same part of the budget.
    categories, bounds, bins, outside
        The columns, as for `DirichletMultinomialSynthesizer`.
    noise : {"laplace", "gaussian"}
        Discrete Laplace noise, whose scale grows with the number of marginals, or discrete Gaussian
        noise, whose scale grows with its square root and which needs a delta.
    delta : float
        Where the promise is stated, in [0, 1).
    copies : int
        Number of independent releases of the marginals. One is enough for any number of synthetic
        data sets.
    neighbours : {"add_remove", "replace_one"}
        The relation that the promise is stated under. Under replace-one the number of records is
        public and in the release.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> columns = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    >>> made = LogLinearSynthesizer(2.0, marginals=[("a", "b"), ("b", "c")], categories=columns)
    >>> release = made.release(counts=[10, 2, 3, 5, 1, 8, 2, 9])
    >>> len(made.records(release, size=50)[0])
    50
    """

    epsilon: float
    marginals: Sequence[Sequence[str]] = ()
    categories: Mapping[str, Sequence[Any]] | None = None
    bounds: Any = None
    bins: Any = None
    outside: str = "refuse"
    noise: str = "laplace"
    delta: float = 0.0
    copies: int = 1
    neighbours: str = "add_remove"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_at_least_one("copies", self.copies)
        check_delta(self.delta)
        if self.outside not in ("refuse", "clamp"):
            raise InvalidInput(f"outside is {self.outside!r}; it must be 'refuse' or 'clamp'")
        self._mechanism()

    def release(
        self,
        data: Any = None,
        *,
        counts: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Draw the noisy marginals; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : DataFrame, optional
            The confidential records: the declared columns and no others.
        counts : array of int, optional
            Instead of `data`, the number of records in each cell of the whole table.
        variable : str, optional
            What was counted. Default: "value".
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``.

        Returns
        -------
        Release
            `to_frames` has one row a cell of a marginal, and its noisy count.

        Raises
        ------
        InvalidInput
            If the data are empty, missing somewhere, have other columns, or values outside the
            bounds or the categories. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        if (data is None) == (counts is None):
            raise InvalidInput("give either data or counts, one of them")
        table = table_of(self, data, counts)
        made = self._mechanism()
        if made.neighbours is Neighbours.REPLACE_ONE:
            made = dataclasses.replace(made, n=int(table.sum()))
        return publish(
            made,
            tuple(made.statistic(table).tolist()),
            copies=self.copies,
            delta=self.delta,
            variable=variable or "value",
            ledger=ledger,
        )

    def guarantee(self) -> Guarantee:
        """What a release will promise, before any data are touched."""
        return self._mechanism().guarantee(copies=self.copies, delta=self.delta)

    @staticmethod
    def fitted(release: Release) -> list[NDArray[np.float64]]:
        """The fitted probabilities of all cells, one table a copy, an axis a column."""
        made = _of_marginals(release)
        return [
            fit_log_linear(shape_of(made.axes), made.places, made.tables(output))
            for output in release.outputs
        ]

    @staticmethod
    def records(
        release: Release, size: int | None = None, *, seed: int | None = None
    ) -> list[pd.DataFrame]:
        """Synthetic records from the fitted model, one DataFrame a copy: post-processing.

        Parameters
        ----------
        release : Release
            By this synthesizer, as drawn or loaded.
        size : int, optional
            Records a copy. Default: the number of confidential ones, where it is public.
        seed : int, optional
            Of the draw, which needs no secrecy.

        Raises
        ------
        InvalidInput
            If the release isn't of marginals, or has no public n and `size` isn't given.
        """
        import pandas as pd

        made = _of_marginals(release)
        wanted = made.n if size is None else check_at_least_one("size", size)
        if wanted is None:
            raise InvalidInput(
                "size is missing; the number of records is confidential, so choose one, for "
                "example the sum of a marginal's released counts"
            )
        with nullcontext() if seed is None else reproducible(seed):
            random = generator()
        frames = []
        for p in LogLinearSynthesizer.fitted(release):
            cells = random.choice(p.size, wanted, p=p.ravel())
            frames.append(pd.DataFrame(points_in(made.axes, cells, random)))
        return frames

    def _axes(self) -> tuple[Axis, ...]:
        axes = declared_axes(self.bounds, self.categories, self.bins)
        if axes is None or (self.bounds is not None and not isinstance(self.bounds, Mapping)):
            raise InvalidInput(
                "categories is missing; list the columns' labels, or give bounds by their names"
            )
        return axes

    def _mechanism(self) -> NoisyMarginals:
        return NoisyMarginals.calibrate(
            epsilon=self.epsilon,
            copies=self.copies,
            delta=self.delta,
            axes=self._axes(),
            marginals=self.marginals,
            noise=self.noise,
            neighbours=check_neighbours(self.neighbours),
        )


def _of_marginals(release: Release) -> NoisyMarginals:
    made = release.mechanism
    if not isinstance(made, NoisyMarginals):
        raise InvalidInput(
            f"release is of mechanism {made.name!r}; give one of a log-linear synthesizer"
        )
    return made
