"""Disclosure through a table's cells: what a synthetic count tells of the confidential one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.compared_frames import (
    Codes,
    category_codes,
    check_columns,
    check_complete,
    check_frame,
    copies_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release

_QUANTILES = {"low": 0.05, "median": 0.5, "high": 0.95}


def cell_risk(
    confidential: pd.DataFrame,
    released: Release | pd.DataFrame | list[pd.DataFrame],
    *,
    columns: Iterable[Any],
) -> pd.DataFrame:
    """Describe the confidential counts of a table's cells, given their synthetic counts.

    A cell is a combination of labels, one of each column's that occur in the confidential table or
    in a copy. Of all cells of all copies with one synthetic count, the confidential counts have a
    median and a spread: where they vary, an intruder who reads the synthetic count learns little
    (Young, Graham and Penny 2009). Their share with the same count is, at 0, that of empty cells
    which truly are empty, and at 1 that of unique rows which stand for a unique record.

    The result is computed from confidential records without any noise: it stays with the curator
    and may not be published. It describes these copies, and promises nothing; the release's
    guarantee does.

    Parameters
    ----------
    confidential : DataFrame
        The records.
    released : Release, DataFrame or list of DataFrame
        The copies, with one row for each record.
    columns : iterable of str
        The table's columns. Every distinct value is a label, of numbers too: group numbers into
        ranges first.

    Returns
    -------
    DataFrame
        One row for each synthetic count that occurs, ascending: synthetic; cells, how many of all
        copies have it; low, median and high, the 5%, 50% and 95% quantiles of their confidential
        counts (the smallest number with that share of the cells at or below it); and same, the
        share of cells whose confidential count is this one.

    Raises
    ------
    InvalidInput
        If a column isn't in a table or is named twice, there is none, there are no rows, or a value
        is missing.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> true = pd.DataFrame({"sex": list("ffmm"), "job": ["nurse", "clerk", "clerk", "clerk"]})
    >>> copy = pd.DataFrame({"sex": list("ffmm"), "job": ["clerk", "clerk", "nurse", "clerk"]})
    >>> bdp.evaluate.cell_risk(true, copy, columns=["sex", "job"])
       synthetic  cells  low  median  high  same
    0          0      1    1       1     1   0.0
    1          1      2    0       0     2   0.0
    2          2      1    1       1     1   0.0
    """
    import pandas as pd

    check_frame("confidential", confidential)
    names = check_columns("columns", columns, confidential, "confidential")
    if not names:
        raise InvalidInput("columns is empty; name the columns of the table, one or more")
    tables = [confidential[names]]
    for k, table in enumerate(copies_of(released)):
        copy = check_frame(f"released[{k}]", table)
        tables.append(copy[check_columns("columns", names, copy, f"released[{k}]")])
    for k, table in enumerate(tables):
        check_complete("confidential" if k == 0 else f"released[{k - 1}]", table)
    codes = [category_codes(tables, name) for name in names]
    cells = math.prod(1 + max(int(each.max()) for each in column) for column in codes)
    rows = [np.column_stack([column[k] for column in codes]) for k in range(len(tables))]
    pairs = pd.concat([_pairs(rows[0], copy, cells) for copy in rows[1:]])
    return pd.DataFrame([_row(count, each) for count, each in pairs.groupby("synthetic")])


def _pairs(true: Codes, copy: Codes, cells: int) -> pd.DataFrame:
    """Count the cells with each pair of counts, those that are empty in both included."""
    import pandas as pd

    found, place = np.unique(np.concatenate([true, copy]), axis=0, return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(found)) for part in np.split(place.ravel(), [len(true)])
    ]
    pairs = pd.DataFrame({"synthetic": counts[1], "true": counts[0], "cells": 1})
    empty = pd.DataFrame({"synthetic": [0], "true": [0], "cells": [cells - len(found)]})
    together = pd.concat([pairs, empty]).groupby(["synthetic", "true"], as_index=False).sum()
    return together[together["cells"] > 0]


def _row(synthetic: Any, pairs: pd.DataFrame) -> dict[str, Any]:
    """Describe the cells of one synthetic count."""
    by_true = pairs.groupby("true")["cells"].sum()  # ascending
    true, cells = by_true.index.to_numpy(), by_true.to_numpy(dtype=np.float64)
    below = np.cumsum(cells) / cells.sum()
    quantiles = {name: int(true[np.searchsorted(below, q)]) for name, q in _QUANTILES.items()}
    same = float(cells[true == synthetic].sum() / cells.sum())
    return {"synthetic": int(synthetic), "cells": int(cells.sum()), **quantiles, "same": same}
