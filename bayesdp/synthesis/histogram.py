"""The perturbed histogram synthesizer: bounded and categorical columns in, noisy cells out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, counted, shape_of
from bayesdp.mechanisms.counts.histogram import PerturbedHistogramMechanism
from bayesdp.mechanisms.randomness import generator_of
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.contingency import Cells, Table
from bayesdp.synthesis.histogram_bins import check_bounds, columns_of, make_axes
from bayesdp.synthesis.parameters import by_value, check_outside
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.tally import tallied, typed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PerturbedHistogramSynthesizer(RecordSynthesizer):
    """Synthesize bounded numbers and categories by a histogram with discrete Laplace noise.

    The release holds each cell's noisy count, negative ones set to 0
    (`PerturbedHistogramMechanism`), so that the analyst has its exact law,
    `release.mechanism.logp`; `to_frames` shows the cells, and `records` draws synthetic records
    from them, any number at no cost. It is Hu, Williams and Savitsky's PH (2025, S1) with integer
    noise instead of continuous noise, which leaks through floating point.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    copies : int
        Number of independent noisy histograms; each gets epsilon / copies. One is enough for
        any number of synthetic data sets.
    bounds : tuple of two floats, or sequence or mapping of them
        For one column, (low, high); for a table, one pair for each column, in the columns' order or
        by their names. Chosen without the data.
    categories : mapping of str to sequence of labels, optional
        The categorical columns of a DataFrame, and all labels that each may have.
    bins : {"sqrt", "log"}, int or edges, or sequence or mapping of ints or edges
        How the bounded columns are cut into intervals. A rule gives the square root or the natural
        logarithm of n, rounded up, as the number of intervals of equal width; several columns get
        equally many each, so that their boxes are at least that many. An int is the number of
        intervals of each column. Edges begin and end at the bounds. For a table, a sequence or
        mapping has an int or edges for each bounded column.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. The noise's scale is copies / epsilon under
        add/remove-one, and twice that under replace-one, where the number of records is public
        and in the release.
    n : int, optional
        A public number for the rules, near the number of records. Needed under add/remove-one,
        where the number of records is confidential; under replace-one that number is the default.
    outside : {"refuse", "clamp"}
        Whether records outside the bounds are refused, or set to the nearest bound.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Every record is counted in one cell, which depends on that record and public edges alone, so
    the counts' L1 sensitivity is 1, or 2 under replace-one. With "refuse", the fact that all
    records are within the bounds is taken as public: other data are refused.

    Examples
    --------
    >>> synthesizer = PerturbedHistogramSynthesizer(2.0, bounds=(0, 1), bins=4)
    >>> release = synthesizer.release([0.1, 0.3, 0.2])
    >>> len(synthesizer.records(release, size=50)[0])
    50
    """

    epsilon: float = declared(by_value(check_epsilon))
    copies: int = declared(check_at_least_one, default=1)
    bounds: Any = None
    categories: Mapping[str, Sequence[Any]] | None = None
    bins: Any = "sqrt"
    neighbours: str = "add_remove"
    n: int | None = declared(check_at_least_one, optional=True, default=None)
    outside: str = declared(check_outside, default="refuse")

    grouped = False

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = check_neighbours(self.neighbours)
        if relation not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE):
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; a histogram of records has 'add_remove' "
                "and 'replace_one'"
            )
        pairs = check_bounds(self.bounds)[1]
        self._axes([f"{k}" for k in range(len(pairs))], self.n or 2)
        by_rule = isinstance(self.bins, str) and pairs
        if by_rule and self.n is None and relation is Neighbours.ADD_REMOVE:
            raise InvalidInput(
                f"n is missing; bins is {quoted(self.bins)}, a function of the number of records, "
                "which is confidential under add/remove-one: give a public number near it, or the "
                "bins"
            )

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Table]:
        """Count all records by cell; the counts' label is None.

        Parameters
        ----------
        data : array_like, Series, DataFrame or Scan
            The confidential records: one column, or a table with the bounded columns, and the
            categorical ones, and no others; or in files, as `bdp.scan` reads them.
        by : None
            There are no groups.
        name : str
            Name of a column that has none; the columns of a two-dimensional array are ``value[0]``,
            ``value[1]``, ...
        """
        self.check_by(data, by)

        def columns(batch: Any) -> dict[str, Any]:
            return columns_of(batch, name, self.bounds, self.categories or {})

        known = None if isinstance(data, Scan) else columns(data)
        if known is None:
            names, n = list(data.columns), data.count()
        else:
            names, n = list(known), len(next(iter(known.values())))
        if n == 0 and self.public_n:
            raise InvalidInput("data is empty; there is nothing to release")
        bounded = [column for column in names if column not in (self.categories or ())]
        axes, clamp = self._axes(bounded, n if self.n is None else self.n), self.outside == "clamp"

        def tally(batch: Any, _: Any) -> dict[Label, NDArray[np.int64]]:
            return {None: counted(axes, [*(known or columns(batch)).values()], clamp=clamp)}

        nothing = np.zeros(math.prod(shape_of(axes)), dtype=np.int64)
        empty = None if self.public_n else nothing
        counts = tallied(typed(data, axes), tally, add, empty=empty)[None]
        return {None: Table(counts, axes, shape_of(axes))}

    def statistic(self, tally: Table) -> Any:
        """The counts of all cells."""
        return tally.counts

    def known(self, tally: Table) -> Cells:
        """The cells, and the number of records where that is public."""
        return Cells(tally.n if self.public_n else None, tally.axes, tally.shape)

    def mechanism(self, known: Cells, epsilon: Any) -> PerturbedHistogramMechanism:
        """The mechanism of a histogram with these cells."""
        made: PerturbedHistogramMechanism = PerturbedHistogramMechanism.calibrate(
            epsilon=epsilon,
            copies=self.copies,
            cells=math.prod(known.shape),
            neighbours=self.neighbours,
        )
        return dataclasses.replace(made, axes=known.axes, n=known.n)

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            Not needed: the guarantee is the same for any number of records.
        """
        return self.promise({None: Cells(None, None, (1,))})

    @staticmethod
    def records(
        release: Release, size: int | None = None, *, seed: int | None = None
    ) -> list[pd.DataFrame]:
        """Draw synthetic records from released counts, one DataFrame for each copy.

        This is post-processing. Each record falls into a cell with probability proportional to the
        cell's count and is uniform within it; where all counts are 0, it is uniform over the bounds
        and the categories. A column of whole numbers comes out as real numbers: where that won't
        do, declare it in `categories`.

        Parameters
        ----------
        release : Release
            A release of this synthesizer, as drawn or loaded.
        size : int, optional
            Records in each copy. Default: the number of confidential ones, where it is public.
        seed : int, optional
            Seed of the draws, which need no secrecy.

        Raises
        ------
        InvalidInput
            If the release isn't of such a histogram, or has no public n and `size` isn't given.
        """
        import pandas as pd

        mechanism = release.mechanism
        if not isinstance(mechanism, PerturbedHistogramMechanism):
            raise InvalidInput(
                f"release is of mechanism {quoted(mechanism.name)}; give a release of a perturbed "
                "histogram"
            )
        wanted = mechanism.n if size is None else size
        if wanted is None:
            raise InvalidInput(
                "size is missing; the number of records is confidential, so choose one, for "
                "example the sum of the released counts"
            )
        random = generator_of(seed)
        return [
            pd.DataFrame(mechanism.synthetic(output, wanted, random)) for output in release.outputs
        ]

    @property
    def public_n(self) -> bool:
        """True if the number of records is public: under replace-one."""
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    def _axes(self, names: Sequence[str], n: int) -> tuple[Axis, ...]:
        named = list(self.bounds) if isinstance(self.bounds, Mapping) else names
        return make_axes(named, self.bounds, self.categories or {}, self.bins, n)
