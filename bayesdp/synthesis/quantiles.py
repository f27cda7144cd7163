"""The quantile synthesizer: a bounded column in, the cells where its quantiles lie out."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_of
from bayesdp.core.axis import Axis
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import counted
from bayesdp.mechanisms.selection.quantiles import (
    CHOICES,
    QuantileMechanism,
    check_probabilities,
)
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.groups import name_of
from bayesdp.synthesis.histogram_bins import check_one_pair, columns_of, make_axes
from bayesdp.synthesis.parameters import by_value


class CountsByCell(NamedTuple):
    """Numbers of records by cell. Confidential."""

    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


class CellSynthesizer(RecordSynthesizer):
    """Base of synthesizers that read a bounded column by its numbers of records by cell."""

    if TYPE_CHECKING:

        @property
        def bounds(self) -> tuple[float, float]: ...
        @property
        def bins(self) -> Any: ...

    @property
    def axis(self) -> Axis:
        """The cells."""
        return make_axes(["value"], self.bounds, {}, self.bins, 2)[0]

    def tally(self, records: Any) -> CountsByCell:
        """Count records by cell, those beyond the bounds in the cell at that end."""
        named = columns_of(records, name_of(records, "value"), self.bounds, {})
        ((name, column),) = named.items()
        axis = dataclasses.replace(self.axis, name=str(name) or "value")  # for messages
        return CountsByCell(counted([axis], [column], clamp=True))

    def add(self, one: CountsByCell, other: CountsByCell) -> CountsByCell:
        """Add the counts of two disjoint sets of records."""
        return CountsByCell(one.counts + other.counts)

    def statistic(self, tally: CountsByCell) -> NDArray[np.int64]:
        """The counts of all cells."""
        return tally.counts


@dataclass(frozen=True, eq=False)
class QuantileSynthesizer(CellSynthesizer):
    """Release a bounded column's quartiles or other quantiles, each as a cell of a public grid.

    A cell is chosen by the distance, in records, of its ranks from the quantile's
    (`QuantileMechanism`). `bdp.models.QuantileModel` infers the population's quantiles from the
    cells, with intervals that account for the choice and the sample.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies and quantiles, which have equal shares.
    bounds : tuple of two floats
        (low, high), chosen without the data. Records beyond them are counted in the cell at that
        end, whatever they are: they cost nothing, and a quantile there is only known to be so.
    bins : int, or sequence of float
        Number of cells of equal width, 2 or more, or their edges, from bound to bound. A cell that
        is wide beside the records' spread hides where in it the quantile is; many narrow ones share
        the noise, and cost the logarithm of their number.
    probabilities : sequence of float
        Probabilities of the quantiles, decimals with at most three digits. Default: the quartiles,
        which tell of the records' spread, too: without it, nobody can say how far a sample's median
        is from the population's.
    copies : int
        Number of independent releases; each gets epsilon / copies. One is more informative.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. Under replace-one the number of records is
        public and in the release.
    choice : {"exponential", "permute_and_flip"}
        How a cell is chosen; the second is right a little more often.
    groups : sequence of labels, optional
        All groups that may occur; needed where there are groups and n is confidential.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Cells are equally likely before the data, so that edges that are dense where the quantile is
    thought to be help the choice. Quantiles are chosen one by one and may come out of order.

    Examples
    --------
    >>> made = QuantileSynthesizer(epsilon=1.0, bounds=(0, 100), bins=50)
    >>> release = made.release([23, 31, 35, 38, 44, 52, 61, 70])
    >>> print(release.guarantee)
    epsilon = 1 (add_remove, proved)
    """

    epsilon: float = declared(by_value(check_epsilon))
    bounds: tuple[float, float] = declared(check_one_pair)
    bins: Any = 100
    probabilities: Sequence[float] = declared(check_probabilities, default=(0.25, 0.5, 0.75))
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    choice: str = "exponential"
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = check_neighbours(self.neighbours)
        if relation not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; quantiles of records have 'add_remove' "
                "and 'replace_one'"
            )
        check_one_of("choice", self.choice, tuple(CHOICES))
        self.mechanism(1 if self.public_n else None, self.epsilon)  # whose own checks raise

    @property
    def public_n(self) -> bool:
        """True if the number of records is public: under replace-one."""
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    def mechanism(self, known: int | None, epsilon: Any) -> QuantileMechanism:
        """The mechanism of a group of `known` records, or of a confidential number."""
        share, edges = shared(epsilon, self.copies), self.axis.edges or ()
        relation = check_neighbours(self.neighbours)
        made = partial(QuantileMechanism, share, edges, tuple(self.probabilities))
        return made(relation, known, self.choice)
