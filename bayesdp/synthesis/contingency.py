"""Base of synthesizers of contingency tables, from records or from their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.groups import name_of
from bayesdp.synthesis.structural_zeros import check_possible, zero_masks
from bayesdp.synthesis.table_counts import tabulated
from bayesdp.synthesis.tally import groups_name


@dataclass(frozen=True)
class Cells:
    """The public part of a table: its number of records, unless confidential, and its cells."""

    n: int | None
    axes: tuple[Axis, ...] | None
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Counts of records in all cells, shape (cells,). Confidential, except for the cells."""

    counts: NDArray[np.int64]
    axes: tuple[Axis, ...] | None
    shape: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.counts.sum())


class ContingencySynthesizer(RecordSynthesizer):
    """Base of synthesizers of contingency tables, whose records may be given as counts.

    Among its fields are `categories`, `bounds`, `bins` and `outside`, which declare the cells,
    `zeros` and `groups`. It defines `mechanism`, or `mechanisms`, from the `Cells` of each group.
    """

    if TYPE_CHECKING:

        @property
        def zeros(self) -> Any: ...
        @property
        def public_n(self) -> bool: ...

    def release(
        self,
        data: Any = None,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
        counts: Any = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : DataFrame, Series, array_like or Scan
            The confidential records, as for `PerturbedHistogramSynthesizer`: the declared columns
            and no others.
        by : array_like, optional
            Each record's group, of the length of `data`.
        variable : str, optional
            Name of a column that has none. Default: the Series' name, or "value".
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are
            checked first, then the guarantee is charged, then the copies are drawn.
        counts : array of int, or mapping of label to one, optional
            Instead of `data`, the number of records in each cell: a table in the order of the
            columns, bounded ones first, or all cells in one row, the last column varying fastest.
            A pandas index with the cells' labels must have them in that order.

        Returns
        -------
        Release
            `to_frames` has one row for each cell of the table or of its marginals: its categories
            or edges, and its released count.

        Raises
        ------
        InvalidInput
            If the data are empty where n is public, have missing values, other columns, values
            outside the bounds or the categories, or records in structural zeros, or the groups
            don't fit; or if there is a ledger and the draws would be seeded. Nothing is spent or
            drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        name = variable or self.variable or name_of(data, "value")
        tables = self.tables(data, counts, by, name)
        return self.publish(tables, by=groups_name(data, by), variable=name, ledger=ledger)

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Table]:
        """The table of each group's records, or of all records, whose label is None."""
        return self.tables(data, None, by, name)

    def tables(self, data: Any, counts: Any, by: Any, name: str) -> dict[Label, Table]:
        """The table of each group, or of all records under None, from data or from counts."""
        axes, counted = tabulated(self, data, counts, by, name)
        whole = next(iter(counts.values())) if isinstance(counts, Mapping) else counts
        shape = shape_of(axes) if axes else np.shape(whole)
        masks = zero_masks(self.zeros, axes, shape)
        for one in counted.values():
            check_possible(one, masks)
        return {label: Table(one, axes, shape) for label, one in counted.items()}

    def statistic(self, tally: Table) -> Any:
        """The counts of all cells."""
        return tally.counts

    def known(self, tally: Table) -> Cells:
        """The cells, and the number of records where that is public."""
        return Cells(tally.n if self.public_n else None, tally.axes, tally.shape)
