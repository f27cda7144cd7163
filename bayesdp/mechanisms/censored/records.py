"""The statistic of a censored beta posterior: records and weights, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.censored.disk_column import DiskColumn
from bayesdp.mechanisms.censored.disk_sort import sort
from bayesdp.mechanisms.censored.inputs import check_number, check_records
from bayesdp.mechanisms.censored.weights import ATTACHED, PublicWeights, check_weights

Floats = NDArray[np.float64]
_PIECE = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class StoredRecords:
    """Records on disk, checked and sorted, with the weights that public weights give them.

    Parameters
    ----------
    records : DiskColumn
        The records in (0, 1), sorted.
    weighting : PublicWeights or None
        Weight of a record, as a function of it.
    weights : DiskColumn or None
        Weight of each record, if there is a weighting.
    """

    records: DiskColumn
    weighting: PublicWeights | None = None
    weights: DiskColumn | None = None


def stored(pieces: Iterable[Any], weighting: PublicWeights | None) -> Floats | StoredRecords:
    """Read and sort records; those that are more than memory should hold are kept on disk.

    Parameters
    ----------
    pieces : iterable of array_like
        The records, some at a time, in any order.
    weighting : PublicWeights, optional
        Weight of a record, as a function of it.

    Returns
    -------
    ndarray or StoredRecords
        The records, sorted; an ndarray if there are fewer than 2^22, and nothing was written to
        disk then.

    Raises
    ------
    InvalidInput
        If a piece doesn't hold numbers in (0, 1), there are no records or too many, or the disk has
        no room. Nothing is left there.
    """
    records = sort(_checked(pieces))
    if isinstance(records, np.ndarray):
        check_number(records.size)
        return records
    if weighting is None:
        return StoredRecords(records)
    try:
        starts = range(0, records.size, _PIECE)
        weights = DiskColumn.of(weighting(records[start : start + _PIECE]) for start in starts)
    except BaseException:
        records.close()
        raise
    return StoredRecords(records, weighting, weights)


def _checked(pieces: Iterable[Any]) -> Iterator[Floats]:
    count = 0
    for piece in pieces:
        if len(piece):
            count += len(piece)
            check_number(count)
            yield check_records(piece)


def check_statistic(statistic: Any, weighting: PublicWeights | str | None) -> Any:
    """Return a mechanism's statistic if it is in range, as arrays unless on disk, else raise."""
    if isinstance(statistic, StoredRecords):
        if weighting != statistic.weighting:
            raise InvalidInput("the statistic has other weights than the mechanism; sort it again")
        return statistic
    if weighting != ATTACHED:
        return check_records(statistic)
    if not isinstance(statistic, tuple) or len(statistic) != 2:
        raise InvalidInput("the statistic must be a pair, records and their weights")
    records = check_records(statistic[0])
    return records, check_weights(statistic[1], records.size)


def with_weights(statistic: Any, weighting: PublicWeights | str | None) -> tuple[Any, Any]:
    """Return a mechanism's records and weights (None for none), all checked."""
    checked = check_statistic(statistic, weighting)
    if isinstance(checked, StoredRecords):
        return checked.records, checked.weights
    if weighting == ATTACHED:
        records, weights = checked
        return records, weights
    return checked, weighting(checked) if isinstance(weighting, PublicWeights) else None


def in_order(records: Any, weights: Any) -> tuple[Any, Any]:
    """Sort records and weights by both; those on disk are sorted already."""
    if isinstance(records, DiskColumn):
        return records, weights
    if weights is None:
        return np.sort(records), None
    order = np.lexsort((weights, records))
    return records[order], weights[order]
