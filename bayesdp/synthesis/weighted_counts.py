"""The weighted counts synthesizer: survey records with weights in, noisy weighted counts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_flag, check_present, is_number
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names
from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.mechanisms.counts.weighted_counts import (
    WeightedCountsMechanism,
    steps_of,
    sums_by_cell,
)
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release.manifest import Label
from bayesdp.schema.units import FirstOfEach, Person, declared_unit
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.groups import check_rows, labels_of
from bayesdp.synthesis.histogram_bins import check_categories

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


class WeightedSums(NamedTuple):
    """Sums of weights by cell, as `WeightedCountsMechanism` has them, and n. Confidential."""

    sums: NDArray[np.int64]
    n: int


@dataclass(frozen=True)
class WeightedCountsSynthesizer(RecordSynthesizer):
    """Release a survey's weighted counts by category, and its sums of squared weights, with noise.

    `bdp.models.WeightedShareModel` infers the population's shares and totals from them, with
    intervals that account for the noise and for the sampling design. A record's weight is as
    confidential as its categories are.

    Parameters
    ----------
    categories : mapping of str to sequence of labels
        The categorical columns of a DataFrame, one or several, and all labels that each may have.
        Weights are added up by the cells of all of them together. A table's other columns aren't
        read.
    max_weight : float
        The largest weight that a record counts with, chosen without the data: of a design's own
        weights, say, or as the public file's documentation gives it. The noise is in proportion to
        it.
    epsilon, delta : float
        Total privacy cost of all copies. delta is 0 for a pure promise, and positive for Gaussian
        noise.
    weights : str
        The column of weights: finite numbers, at least 0.
    clip : bool
        Whether weights above `max_weight` count as `max_weight`, which biases shares where many
        do; if not, such data are refused. The release says which.
    noise : {"laplace", "gaussian"}
        The noise's law, discrete.
    copies : int
        Number of independent releases of the same sums. One is more informative.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. If a record is replaced, the number of
        records is public and written into the release.
    unit : "record", or mapping
        What is protected: one record, or whatever has several, as
        ``{"person": "household", "most": 4}``: the column of ids, and the largest number of a
        unit's records that count. The first of each do, and noise is that many times as wide.
        For records in memory, under add/remove-one.
    groups : sequence of labels, optional
        All groups (strata) that may occur; needed where there are groups and n is confidential.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or two contradict each other.

    Notes
    -----
    Where weights were raked or otherwise adjusted to the sample, each depends on all records. The
    promise takes them as they are: it is about files that differ in one record (or unit), and in no
    other weight. The release says so.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"work": ["yes", "no", "yes"] * 50, "weight": [1.5, 12.0, 30.0] * 50})
    >>> made = WeightedCountsSynthesizer({"work": ["yes", "no"]}, max_weight=40.0, epsilon=1.0)
    >>> release = made.release(people)
    >>> release.to_frames()[0].columns.tolist()
    ['work', 'weighted_count', 'squared_weights']
    """

    categories: Mapping[str, Sequence[Any]]
    max_weight: float
    epsilon: float = 1.0
    delta: float = 0.0
    weights: str = "weight"
    clip: bool = declared(check_flag, default=False)
    noise: str = "laplace"
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    unit: Any = "record"
    groups: Sequence[Any] | None = None

    variable = "weighted_count"
    named = True

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = check_neighbours(self.neighbours)
        if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; weighted counts of records have "
                "'add_remove' (n confidential) and 'replace_one' (n public)"
            )
        check_categories(self.categories)
        if self.person and self.public_n:
            raise InvalidInput(
                f"unit is {quoted(self.unit)} and neighbours is 'replace_one', but units of "
                "different sizes change the number of records; take neighbours='add_remove'"
            )
        _ = self._like  # whose own checks raise

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Any]:
        """Sum weights by cell, of each group's records; of each unit, those of its first records.

        Parameters
        ----------
        data, by
            As for `release`.
        name : str
            Not used.
        """
        if self.person is not None:
            self.check_by(data, by)  # while it is as it was given
            if not hasattr(data, "groupby"):
                raise InvalidInput(
                    f"data is a {type(data).__name__}; where a unit has several records, it must "
                    "be a DataFrame of pandas, as data.to_pandas(), with the units' ids"
                )
            labels = None if by is None else labels_of(by)
            if labels is not None and labels.shape != (len(data),):
                raise InvalidInput("by must be one column, as long as data")
            check_rows(by, data)
            data = FirstOfEach(self.person).of(data.reset_index(drop=True))
            by = None if labels is None else labels[data.index]
        return super().tallies(data, by, name)

    def tally(self, records: Any) -> WeightedSums:
        """Sum the weights of a DataFrame's records by cell, and check every one of them."""
        like = self._like
        wanted = [*(axis.name for axis in like.axes), self.weights]
        if not hasattr(records, "columns"):
            raise InvalidInput(
                f"data is a {type(records).__name__}; it must be a DataFrame with the columns "
                f"{wanted}"
            )
        there = list(records.columns)
        for name in wanted:
            if there.count(name) != 1:
                raise InvalidInput(
                    f"data has no single column {quoted(name)}; its columns are "
                    f"{shown_names(there)}"
                )
        bins = [axis.bins(records[axis.name], clamp=False) for axis in like.axes]
        cells = np.ravel_multi_index(bins, shape_of(like.axes)).astype(np.int64)
        u = steps_of(self._checked_weights(records[self.weights]), like.max_weight, like.steps)
        return WeightedSums(sums_by_cell(cells, u, like.k, like.steps), len(cells))

    def _checked_weights(self, column: Any) -> NDArray[np.float64]:
        """Weights as floats, from 0 to the largest one or, where they are clipped, above it."""
        check_present(self.weights, column)
        values = np.asarray(column)
        if values.dtype.kind not in "iuf" and not all(map(is_number, values.tolist())):
            raise InvalidInput(
                f"column {quoted(self.weights)} doesn't hold numbers; it must have the records' "
                "weights"
            )
        values = values.astype(np.float64)
        if not np.all((values >= 0) & np.isfinite(values)):
            raise InvalidInput(
                f"column {quoted(self.weights)} has weights that are negative or infinite; correct "
                "them by a public rule"
            )
        if not self.clip and np.any(values > self._like.max_weight):
            raise InvalidInput(
                f"column {quoted(self.weights)} has weights above max_weight = "
                f"{self._like.max_weight:g}; choose a larger one without looking at the data, or "
                "clip=True to count such records with max_weight"
            )
        return values

    def add(self, one: WeightedSums, other: WeightedSums) -> WeightedSums:
        """Add the sums of two disjoint sets of records."""
        return WeightedSums(one.sums + other.sums, one.n + other.n)

    def empty(self) -> WeightedSums:
        """The sums of no records."""
        return WeightedSums(np.zeros(2 * self._like.k, dtype=np.int64), 0)

    def statistic(self, tally: WeightedSums) -> NDArray[np.int64]:
        """The sums by cell."""
        return tally.sums

    def mechanism(self, known: int | None, epsilon: Any) -> WeightedCountsMechanism:
        """The mechanism of a group of `known` records, or of a confidential number."""
        return WeightedCountsMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            copies=self.copies,
            axes=[Axis(name, categories=tuple(labels)) for name, labels in self.categories.items()],
            max_weight=self.max_weight,
            weights=self.weights,
            n=known,
            noise=self.noise,
            most=1 if self.person is None else self.person.most,
            clip=self.clip,
        )

    @property
    def public_n(self) -> bool:
        """True if the number of records is public: under replace-one."""
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    @property
    def person(self) -> Person | None:
        """The protected unit where it may have several records, else None."""
        unit = declared_unit(self.unit, {})
        return unit if isinstance(unit, Person) else None

    @property
    def columns(self) -> list[str]:
        """Names of the columns that `release` takes."""
        return [*self.categories, self.weights, *self.written]

    @property
    def written(self) -> list[str]:
        """Names of the columns that are read from a file as they are written: units' ids."""
        return [] if self.person is None else [self.person.person]

    @property
    def axes(self) -> list[Axis]:
        """The categorical columns, and that of weights."""
        return [*self._like.axes, Axis(self.weights, edges=(0.0, self._like.max_weight))]

    @cached_property
    def _like(self) -> WeightedCountsMechanism:
        """The mechanism; where n is public, with a placeholder for it."""
        return self.mechanism(_ANY_N if self.public_n else None, self.epsilon)
