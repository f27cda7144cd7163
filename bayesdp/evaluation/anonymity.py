"""Anonymity of a table's rows: k-anonymity, l-diversity and t-closeness.

pyCANON has the same measures, and on random tables the same numbers. It isn't used, as version
1.3.6 requires one version each of numpy, pandas and scipy, rounds the entropy's l down after a
floating-point error (5 for six equally frequent values), and takes over a minute for the t of a
thousand rows of distinct numbers in hundreds of classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.compared_frames import (
    Codes,
    Floats,
    category_codes,
    check_columns,
    check_complete,
    check_frame,
    copies_of,
    is_numeric,
    numbers,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release


def anonymity(
    released: Release | pd.DataFrame | Sequence[pd.DataFrame],
    *,
    quasi_identifiers: Iterable[Any],
    sensitive: Iterable[Any] = (),
    categorical: Iterable[Any] = (),
) -> pd.DataFrame:
    """Measure the k-anonymity, l-diversity and t-closeness of each copy.

    Rows with the same quasi-identifiers make a class. With p the shares of a sensitive column's
    values in the whole copy, and q those in a class:

    k
        The smallest class's rows (Samarati and Sweeney 1998).
    l_distinct
        The smallest number of different values in a class (Machanavajjhala, Kifer, Gehrke and
        Venkatasubramaniam 2007).
    l_entropy
        exp of the smallest entropy, -sum q log q, in a class; at most l_distinct (ibid.).
    t
        The largest distance of a class from the whole (Li, Li and Venkatasubramanian 2007). For
        categories, 1/2 sum |q - p|. For numbers, with m distinct values in order,
        1/(m - 1) sum_i |sum_{j <= i} (q_j - p_j)|, and 0 if m = 1.

    These measures describe a table as if its rows were people's. Rows drawn at random from a
    synthesizer belong to nobody: a small k there discloses no one, and a large k promises nothing;
    only the release's guarantee does. The measures are here because agencies' rules ask for them.
    Computed from a release, they reveal nothing that the release doesn't, and may be published with
    it; computed from confidential records, they are confidential themselves.

    Parameters
    ----------
    released : Release, DataFrame or list of DataFrame
        The copies, with one row for each record.
    quasi_identifiers : iterable of str
        Columns that somebody may know from elsewhere. Every distinct value counts, of numbers too:
        group numbers into ranges first where only ranges are known.
    sensitive : iterable of str
        Columns that should stay unknown.
    categorical : iterable of str
        Sensitive columns of numbers to treat as categories.

    Returns
    -------
    DataFrame
        One row for each copy and sensitive column, or for each copy where there is none: copy,
        sensitive, classes (their number), k, l_distinct, l_entropy and t, the last three NaN
        without a sensitive column.

    Raises
    ------
    InvalidInput
        If a column isn't there or is named twice, there are no rows, or a value is missing.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> table = pd.DataFrame({"age": [30, 30, 40, 40], "ill": ["no", "yes", "no", "no"]})
    >>> bdp.evaluate.anonymity(table, quasi_identifiers=["age"], sensitive=["ill"])
       copy sensitive  classes  k  l_distinct  l_entropy     t
    0     0       ill        2  2         1.0        1.0  0.25
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for copy, table in enumerate(copies_of(released)):
        name = f"released[{copy}]"
        frame = check_frame(name, table)
        given = check_columns("quasi_identifiers", quasi_identifiers, frame, name)
        hidden = check_columns("sensitive", sensitive, frame, name)
        categories = check_columns("categorical", categorical, frame, name)
        if not given or set(given) & set(hidden):
            raise InvalidInput(
                f"quasi_identifiers is {given} and sensitive {hidden}; name at least one "
                "quasi-identifier, and no column in both"
            )
        check_complete(name, frame[[*given, *hidden]])
        groups = _classes(frame, given)
        sizes = np.bincount(groups)
        base = {"copy": copy, "sensitive": None, "classes": len(sizes), "k": int(sizes.min())}
        if not hidden:
            rows.append({**base, "l_distinct": np.nan, "l_entropy": np.nan, "t": np.nan})
        for column in hidden:
            ordered = column not in categories and is_numeric([frame], column)
            if ordered:
                values = np.unique(numbers(name, frame, column), return_inverse=True)[1]
            else:
                values = category_codes([frame], column)[0]
            diversity = _diversity(groups, values.astype(np.int64), sizes, ordered)
            rows.append({**base, "sensitive": column, **diversity})
    return pd.DataFrame(rows)


def _classes(frame: pd.DataFrame, columns: Sequence[Any]) -> Codes:
    """Number each row's class, from 0."""
    groups = np.zeros(len(frame), dtype=np.int64)
    for column in columns:
        codes = category_codes([frame], column)[0]
        joint = groups * (int(codes.max()) + 1) + codes
        groups = np.unique(joint, return_inverse=True)[1].astype(np.int64)
    return groups


def _diversity(groups: Codes, values: Codes, sizes: Codes, ordered: bool) -> dict[str, float]:
    """Compute l-diversity and t-closeness from the cells of class by value that occur."""
    count = int(values.max()) + 1
    cells, inside = np.unique(groups * count + values, return_counts=True)
    owner, value = cells // count, cells % count
    q = inside / sizes[owner]
    p = np.bincount(values, minlength=count) / len(values)
    entropy = np.bincount(owner, weights=-q * np.log(q), minlength=len(sizes))
    distances = _ordered(owner, value, q, p) if ordered else _equal(owner, value, q, p)
    return {
        "l_distinct": float(np.bincount(owner).min()),
        "l_entropy": float(np.exp(entropy.min())),
        "t": float(distances.max()),
    }


def _equal(owner: Codes, value: Codes, q: Floats, p: Floats) -> Floats:
    """Distance 1/2 sum |q - p| of each class: the excess of q over p, as both sum to 1."""
    excess: Floats = np.zeros(int(owner.max()) + 1)
    np.add.at(excess, owner, np.maximum(q - p[value], 0))
    return excess


def _ordered(owner: Codes, value: Codes, q: Floats, p: Floats) -> Floats:
    """Distance 1/(m - 1) sum_i |Q_i - P_i| of each class, with cumulative shares Q and P."""
    if len(p) == 1:
        return np.zeros(int(owner.max()) + 1)
    below = np.cumsum(p)
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    ends = np.r_[starts[1:], len(owner)]
    distances = []
    for start, end in zip(starts, ends, strict=True):
        own = np.zeros(len(p))
        own[value[start:end]] = q[start:end]
        # The last term is 0: both are cumulated to 1.
        distances.append(np.abs(np.cumsum(own) - below)[:-1].sum() / (len(p) - 1))
    return np.array(distances)
