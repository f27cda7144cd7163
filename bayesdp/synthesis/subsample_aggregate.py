r"""Subsample and aggregate: any estimator, computed on random blocks of the records.

Each record is put into one of k public blocks, drawn uniformly for it alone. The estimator is
computed on each block, and the k estimates are released by a mechanism for k bounded numbers
(Nissim, Raskhodnikova and Smith 2007; Smith 2011): `QuantileMechanism`, under replace-one with
n = k. A block without records, or whose estimate fails, counts as the middle of the public bounds.

Privacy
-------
Let x and x' be data sets of which one has a record more, or one record is another. Put all other
records into the same blocks, in the same order: both divisions have their right law, as each
record's block is drawn by itself, whatever the records and their number. Then the blocks differ in
one alone; under replace-one that of the record, in the same block as what replaces it. The
estimator is a function of its block alone, so that at most one of the k estimates differs, and by
the mechanism's promise

    Pr[z | x, division] <= exp(epsilon) Pr[z | x', division]    for every division of the others,

which averaging over divisions preserves. So the epsilon holds where a record is replaced, and as it
is where one is added or removed. The release states the first, in which the mechanism's promise is.
With blocks of equal sizes one record more would make another block the longer one, and so move a
second record into it: two blocks would change.

This needs an estimator that can't tell anything else about the other records. So a block holds
copies, in an array or a frame with an index of its own, and a column there has the type of these
values alone: floats where they are numbers or missing, whatever is in other blocks. An estimator
that keeps or writes anything, or whose running time is seen, is beyond this proof.

What the mechanism is, and why
------------------------------
A record moves the estimates' mean by up to (upper - lower) / k, and their variance by its square
over k, nearly: noise on these is in proportion to the bounds' distance, and drowns the variance.
Ranks move by 1, however wide the bounds are, and two quartiles tell location and spread of k nearly
normal numbers. The median of Gamma(3) records, scale 10, in bounds from 0 to 100 at epsilon = 1 had
95% intervals of length 4.7, and 91% of 200 covered it, with n = 1,000 and k = 100; 1.8 and 95% with
n = 5,000 and k = 250. From blocks' medians, too, Laplace noise on mean and variance, in units of
the bounds' distance, made the lengths 12.5 and 5.2 by `GaussianModel`; noise on the mean alone,
given the medians' true spread, 6.4 and 2.6.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_below, is_number, keep
from bayesdp.core.axis import Axis
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import counted
from bayesdp.mechanisms.counts.count import column_of
from bayesdp.mechanisms.randomness import uniform_below
from bayesdp.mechanisms.selection.quantiles import QuantileMechanism, check_probabilities
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.histogram_bins import check_one_pair, columns_of, make_axes
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.publish import pay_then_draw

Floats = NDArray[np.float64]


def _trimmed_mean(records: Floats, share: float) -> float:
    cut = math.floor(share * len(records))
    return float(np.sort(records)[cut : len(records) - cut].mean())


ESTIMATORS: dict[str, Callable[..., Any]] = {"mean": np.mean, "median": np.median}
"""By name: of one column."""
WITH_NUMBER: dict[str, tuple[Callable[..., Any], float]] = {
    "quantile": (np.quantile, 1.0),
    "trimmed_mean": (_trimmed_mean, 0.5),
}
"""By name: of one column and a public number, from 0 to below what stands here."""


def _check_estimator(value: Any) -> Any:
    if callable(value) or (isinstance(value, str) and value in ESTIMATORS):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        ((called, number),) = value.items()
        if called in WITH_NUMBER and is_number(number):
            return {called: check_below(called, number, WITH_NUMBER[called][1])}
    raise InvalidInput(
        f"estimator is {quoted(value)}; it must be 'mean', 'median', {{'quantile': 0.9}}, "
        "{'trimmed_mean': 0.1} (the share that is left out at each end), or a function of a "
        "block's records that returns a number"
    )


class HeldRecords(NamedTuple):
    """Records as blocks are made of them, an array or a DataFrame. Confidential."""

    records: Any

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.records)

    def at(self, places: Any) -> Any:
        """Copy some records, with an index and types that say nothing of the others."""
        if not hasattr(self.records, "iloc"):
            return _plain(self.records[places])
        block = self.records.iloc[places].reset_index(drop=True)
        for k, kind in enumerate(block.dtypes):
            if kind.kind == "O":
                block.isetitem(k, _plain(block.iloc[:, k].to_numpy()))
        return block


@dataclass(frozen=True, eq=False)
class SubsampleAggregateSynthesizer(RecordSynthesizer):
    """Release quartiles of an estimator's values on random blocks of the records.

    Any estimator can be released so: nothing need be known of how far a record moves it.
    `bdp.models.QuantileModel` reads the release, taking the blocks' estimates for normal: its
    "location" is the estimator's expectation on a block, with intervals that account for the choice
    and for the sample.

    Parameters
    ----------
    estimator : callable, str or mapping
        The function of a block's records that returns one number, or the name of one of a column.
        Names are "mean", "median", ``{"quantile": 0.9}`` and ``{"trimmed_mean": 0.1}``, with the
        share that is left out at each end. A function gets some of the rows of an array or a
        DataFrame, a column's numbers and truth values as floats where the block has nothing else
        there, and other values as Python objects. It must depend on these rows alone, and keep and
        write nothing.
    bounds : tuple of two floats
        (low, high) of the estimates, chosen without the data; those beyond count as the nearest.
        A block without records, or where the estimator raises an error or returns no number, counts
        as their middle.
    epsilon : float
        Total privacy cost of all copies.
    blocks : int
        Number k of blocks, chosen without the data; epsilon times it should be 100 or more.
    bins : int or sequence of float
        Cells between the bounds: their number, or their edges, from bound to bound.
    probabilities : sequence of float
        Probabilities of the quantiles of the blocks' estimates that are released.
    copies : int
        Number of independent releases for the same blocks; each gets epsilon / copies.
    choice : {"exponential", "permute_and_flip"}
        How a cell is chosen; the second is right a little more often.
    groups : sequence of labels, optional
        All groups that may occur. Each has k blocks of its own.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The promise is proved in `bayesdp.synthesis.subsample_aggregate`: where a record is replaced,
    added or removed, for an estimator that is a function of its block alone, which is among the
    release's assumptions, as it can't be checked. The release states the first, and so needs a
    ledger under replace-one; it says n = k, as its records are the blocks, and the number of
    confidential ones isn't in it. An estimator is code, and isn't in it either; its name is, in the
    variable's, as "block_median". No error has the text of an estimator's error, as that may show
    records.

    The posterior is of the estimator's expectation on a block of about n / k records. An
    estimator's bias there stays, and for a median or a ratio is of the order of k / n; the
    estimates must be nearly normal, which needs blocks that aren't too small. An estimator whose
    variance falls as 1 / n loses next to nothing by the blocks: sigma / sqrt(k) is its standard
    error on all records.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> incomes = np.random.default_rng(1).lognormal(3, 0.5, size=4000)
    >>> made = SubsampleAggregateSynthesizer("median", bounds=(0, 100), epsilon=1.0, blocks=200)
    >>> release = made.release(incomes)
    >>> release.variable, release.mechanism.n
    ('block_median', 200)
    """

    estimator: Any
    bounds: tuple[float, float] = declared(check_one_pair)
    epsilon: float = declared(by_value(check_epsilon), default=1.0)
    blocks: int = declared(check_at_least_one, default=100)
    bins: Any = 100
    probabilities: Sequence[float] = declared(check_probabilities, default=(0.25, 0.75))
    copies: int = declared(check_at_least_one, default=1)
    choice: str = "exponential"
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, estimator=_check_estimator(self.estimator))
        self.mechanism(None, self.epsilon)  # whose own checks raise

    @property
    def variable(self) -> str:  # type: ignore[override]
        """Name of what is released, from the estimator's."""
        if isinstance(self.estimator, Mapping):
            ((name, number),) = self.estimator.items()
            return f"block_{name}_{number:g}"
        name = getattr(self.estimator, "__name__", self.estimator)
        return f"block_{name}" if str(name).isidentifier() else "block_estimate"

    @property
    def axis(self) -> Axis:
        """The cells of the blocks' estimates."""
        return make_axes(["value"], self.bounds, {}, self.bins, 2)[0]

    def tally(self, records: Any) -> HeldRecords:
        """Hold the records, as the estimator takes them."""
        if not callable(self.estimator):
            (column,) = columns_of(records, "value", self.bounds, {}).values()
            values = column_of(column, "numbers").astype(np.float64)
            if np.any(np.isnan(values)):
                raise InvalidInput("data has values that aren't numbers; they aren't shown")
            return HeldRecords(values)
        if hasattr(records, "columns"):
            if not hasattr(records, "iloc"):
                raise InvalidInput(
                    "data is a DataFrame that isn't pandas', which a function of blocks gets; give "
                    "data.to_pandas()"
                )
            kinds = {name: _plain_kind(kind) for name, kind in records.dtypes.items()}
            return HeldRecords(records.astype(kinds))
        array = np.asarray(records)
        if array.ndim == 0 or np.ma.is_masked(records):
            raise InvalidInput(
                f"data is a {type(records).__name__}; it must be an array or a DataFrame of "
                "records, none of them masked"
            )
        return HeldRecords(array.astype(_plain_kind(array.dtype)))

    def add(self, one: HeldRecords, other: HeldRecords) -> HeldRecords:
        """Put two disjoint sets of records together."""
        if hasattr(one.records, "iloc"):
            import pandas as pd

            return HeldRecords(pd.concat([one.records, other.records], ignore_index=True))
        return HeldRecords(np.concatenate([one.records, other.records]))

    def publish(
        self,
        tallies: Mapping[Label, HeldRecords],
        *,
        by: str = "group",
        variable: str = "value",
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Release each group's blocks, which are drawn once they are paid for.

        Raises
        ------
        InvalidInput
            If a group has fewer records than blocks, or the estimator fails on all blocks of k that
            follow each other in its rows. Nothing is spent or drawn then, and what is said isn't
            for publication.
        """
        for held in tallies.values():
            self._check(held)
        made = self.mechanisms({label: self.known(held) for label, held in tallies.items()})

        def draw() -> dict[Any, tuple[QuantileMechanism, list[Any]]]:
            return {
                label: (made[label], list(made[label].release(self.statistic(held), self.copies)))
                for label, held in tallies.items()
            }

        by_group = None if None in tallies else by
        return pay_then_draw(
            made, draw, by=by_group, copies=self.copies, variable=variable, ledger=ledger
        )

    def statistic(self, tally: HeldRecords) -> NDArray[np.int64]:
        """Divide the records into blocks, and count the blocks' estimates by cell."""
        return counted([self.axis], [self.estimates(tally)], clamp=True)

    def estimates(self, held: HeldRecords) -> Floats:
        """Draw a division, and compute each block's estimate; shape (blocks,). Confidential."""
        block = uniform_below(np.full(held.n, self.blocks, dtype=np.uint64))
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(self.blocks + 1, dtype=np.uint64))
        found = [self._estimate(held.at(order[low:high])) for low, high in pairwise(ends)]
        middle = self.bounds[0] / 2 + self.bounds[1] / 2
        return np.array([middle if math.isnan(each) else each for each in found])

    def _estimate(self, records: Any) -> float:
        """The estimate from some records, or NaN where there is none."""
        if not len(records):
            return math.nan
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # their texts may hold records
                return float(self._function(records))
        except Exception:  # any that the user's own code may raise, with records in its text
            return math.nan

    @property
    def _function(self) -> Callable[[Any], Any]:
        if isinstance(self.estimator, Mapping):
            ((name, number),) = self.estimator.items()
            return lambda records: WITH_NUMBER[name][0](records, number)
        made: Callable[[Any], Any] = ESTIMATORS.get(self.estimator, self.estimator)
        return made

    def _check(self, held: HeldRecords) -> None:
        """Refuse what a single record can hardly cause: an estimator that never succeeds."""
        if held.n < self.blocks:
            raise InvalidInput(
                f"blocks is {self.blocks}, more than there are records; take fewer blocks"
            )
        trials = np.array_split(np.arange(held.n), self.blocks)
        if all(math.isnan(self._estimate(held.at(places))) for places in trials):
            raise InvalidInput(
                "estimator raises an error, or returns no number, whatever the block; try it on "
                "simulated records (its error isn't shown, as it may hold confidential ones)"
            )

    def sizes(self, n: int | Mapping[Any, int] | None) -> dict[Any, int | None]:
        """The number of records of each group, on which the promise doesn't depend."""
        return super().sizes(self.blocks if n is None else n)

    def mechanism(self, known: int | None, epsilon: Any) -> QuantileMechanism:
        """The mechanism of a group's blocks, however many records they have."""
        share, edges = shared(epsilon, self.copies), self.axis.edges or ()
        probabilities, relation = tuple(self.probabilities), Neighbours.REPLACE_ONE
        return QuantileMechanism(
            share, edges, probabilities, relation, self.blocks, self.choice, of_blocks=True
        )


def _plain_kind(kind: Any) -> type[Any]:
    """The type that a column is held in: floats, or objects."""
    return float if getattr(kind, "kind", "O") in "biuf" else object


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return objects as floats where each is such a number or missing, and others as they are."""
    import pandas as pd

    if values.dtype.kind != "O":
        return values
    missing = pd.isna(values)
    if not all(isinstance(each, Real | np.bool_) for each in values[~missing].tolist()):
        return values
    try:
        return np.where(missing, math.nan, values).astype(np.float64)
    except OverflowError:  # a whole number beyond all floats
        return values
