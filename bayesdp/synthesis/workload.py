"""Workloads: the analyses that are planned of a table, and the marginals that these need."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.formulas import columns_and_sums

Marginals = tuple[tuple[str, ...], ...]


def marginals_of(workload: Any, columns: Sequence[str]) -> Marginals:
    """Marginals that planned analyses need: what each relates, and all else column by column.

    A formula and a list of columns relate all pairs of their columns; a list of three relates these
    three too, and a formula the three of each sum that its least squares takes, where it has terms
    of two columns: "y ~ a * b" those of a b and y. Sums of more are left to who names `marginals`.
    A column that no analysis has is counted alone, so that the table is whole.

    Parameters
    ----------
    workload : sequence of str or sequence of str, or None
        Formulas and lists of columns; None relates all pairs.
    columns : sequence of str
        The table's columns.

    Raises
    ------
    InvalidInput
        If it isn't such a list, names other columns, or has a formula that can't be read.
    """
    found: dict[tuple[str, ...], None] = {}
    for given in [columns] if workload is None else _checked(workload):
        names, sums = _columns_and_sums(given, columns)
        found |= dict.fromkeys(itertools.combinations(names, min(2, len(names))))
        if workload is not None:
            found |= dict.fromkeys(one for one in sums if len(one) == 3)
    alone = [name for name in columns if not any(name in part for part in found)]
    return (*found, *((name,) for name in alone))


def check_cells(marginals: Marginals, cells: Mapping[str, int], most: int) -> None:
    """Raise InvalidInput if a marginal has too many cells; the message says what to do."""
    for part in marginals:
        if (size := size_of(part, cells)) > most:
            raise InvalidInput(
                f"the marginal of {' x '.join(map(quoted, part))} has {size:,} cells, and "
                f"most_cells is {most:,}: give its columns fewer bins, merge labels, leave it out "
                "by a workload or marginals without it, or allow more (most_cells)"
            )


def size_of(marginal: Sequence[str], cells: Mapping[str, int]) -> int:
    """Number of cells of a marginal."""
    return math.prod(cells[name] for name in marginal)


def _checked(workload: Any) -> Sequence[Any]:
    good = isinstance(workload, list | tuple) and workload
    if not good or not all(isinstance(given, str | list | tuple) for given in workload):
        raise InvalidInput(
            f"workload is {quoted(workload)}; it must be a list of formulas and of lists of "
            "columns, as ['income ~ age + C(sex)', ['age', 'school']]"
        )
    return list(workload)


def _columns_and_sums(given: Any, columns: Sequence[str]) -> tuple[list[str], Sequence[Any]]:
    """Columns of one planned analysis, and of the sums that it takes, in the table's order."""
    if isinstance(given, str):
        names, sums = columns_and_sums(given, columns, name="workload's formula")
        return [name for name in columns if name in names], sums
    known = set(columns)
    if not given or not all(isinstance(name, str) and name in known for name in given):
        raise InvalidInput(
            f"workload has {quoted(given)} that isn't of columns; the columns are "
            f"{', '.join(columns)}"
        )
    chosen = set(given)
    names = [name for name in columns if name in chosen]
    return names, [tuple(names)]
