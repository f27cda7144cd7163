"""Distances from synthetic records to the closest confidential ones, beside those to a holdout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.compared_frames import (
    Codes,
    Floats,
    category_codes,
    check_columns,
    check_complete,
    check_frame,
    check_same_columns,
    copies_of,
    is_numeric,
    numbers,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release

_BLOCK = 1 << 22  # distances at a time


def closest_records(
    confidential: pd.DataFrame,
    released: Release | pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame,
    *,
    columns: Iterable[Any] | None = None,
    categorical: Iterable[Any] = (),
    ranges: Mapping[Any, float] | None = None,
) -> pd.DataFrame:
    """Measure how often a synthetic record is closer to a confidential one than to a holdout's.

    The holdout are as many records of the same population that nothing was made from. Of synthetic
    records that depend on no single confidential one, half are closer to the confidential records,
    but for chance. With d the distance to the closest record (DCR),

        share = (#{d(confidential) < d(holdout)} + #{equal} / 2) / m.

    The distance is Gower's: the mean over columns of |a - b| / range for numbers, at most 1, and
    of whether they differ for categories (Gower 1971).

    It isn't a privacy guarantee, and bounds nothing: a share of one half doesn't protect the one
    record that was copied, and which record that is, it can't say (Ganev and De Cristofaro 2025,
    *The inadequacy of similarity-based privacy metrics*). A share far above one half convicts a
    synthesizer. What protects is the release's guarantee, and what an attacker of a mechanism
    reaches `bdp.audit` finds. The result is computed from confidential records without noise, and
    is confidential itself.

    Parameters
    ----------
    confidential : DataFrame
        The records that the copies were made from, one row each.
    released : Release, DataFrame or list of DataFrame
        Copies of synthetic records with the same columns.
    holdout : DataFrame
        As many records as `confidential`, with the same columns.
    columns : iterable of str, optional
        The columns to compare; by default all, which must then be the same.
    categorical : iterable of str
        Columns of numbers to treat as categories.
    ranges : mapping of str to float, optional
        Range of each column of numbers, such as its public bounds' difference; by default that of
        the confidential records and the holdout together.

    Returns
    -------
    DataFrame
        One row for each copy: copy (from 0), share, its standard error, sqrt(v / m) with v the
        variance of 1, 1/2 and 0 over m synthetic records, and identical and identical_holdout, the
        shares of synthetic records of which there is an exact one.

    Raises
    ------
    InvalidInput
        If columns differ, or have missing or infinite values, there are no rows, the holdout has
        another number of them, or a range isn't positive.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people, others = (pd.DataFrame({"age": rng.uniform(18, 90, 200)}) for _ in range(2))
    >>> bdp.evaluate.closest_records(people, people, others)["share"].item()
    1.0
    """
    tables = copies_of(released)
    whole = [check_frame("confidential", confidential), check_frame("holdout", holdout), *tables]
    if columns is None:
        check_same_columns(whole[0], whole[1:])
    chosen = check_columns(
        "columns", whole[0].columns if columns is None else columns, whole[0], "confidential"
    )
    for name, frame in (
        ("holdout", whole[1]),
        *((f"released[{k}]", t) for k, t in enumerate(tables)),
    ):
        check_columns("columns", chosen, check_frame(name, frame), name)
    frames = [frame[chosen] for frame in whole]
    if len(frames[0]) != len(frames[1]):
        raise InvalidInput(
            f"holdout has {len(frames[1]):,} rows and confidential {len(frames[0]):,}: the larger "
            "is closer by its number alone; give as many of both"
        )
    for name, frame in zip(("confidential", "holdout"), frames, strict=False):
        check_complete(name, frame)
    for k, frame in enumerate(frames[2:]):
        check_complete(f"released[{k}]", frame)
    listed = check_columns("categorical", categorical, whole[0], "confidential")
    scaled = _scaled(frames, [name for name in listed if name in chosen], dict(ranges or {}))
    return _compared(scaled)


def _scaled(
    frames: list[pd.DataFrame], categorical: Sequence[Any], ranges: dict[Any, float]
) -> list[tuple[Floats, Codes]]:
    """Each table's numbers in units of their ranges, and codes of its categories."""
    there = frames[0].columns
    of_numbers = [name for name in there if name not in categorical and is_numeric(frames, name)]
    if unknown := [name for name in ranges if name not in of_numbers]:
        raise InvalidInput(
            f"ranges has {quoted(unknown[0])}; it must have columns of numbers, of which there are "
            f"{of_numbers}"
        )
    made: list[tuple[list[Floats], list[Codes]]] = [([], []) for _ in frames]
    for name in of_numbers:
        each = [numbers("a table", frame, name) for frame in frames]
        known = np.concatenate(each[:2])
        width = ranges.get(name, float(np.ptp(known)) or 1.0)
        if not is_number(width) or not 0 < width < math.inf:
            raise InvalidInput(f"ranges[{quoted(name)}] is {quoted(width)}; it must be positive")
        for (own, _), values in zip(made, each, strict=True):
            own.append(values / width)
    for name in there:
        if name not in of_numbers:
            coded = category_codes(frames, name)
            for (_, codes), one in zip(made, coded, strict=True):
                codes.append(one)
    shapes = [len(frame) for frame in frames]
    return [
        (np.array(own).reshape(-1, n), np.array(codes, dtype=np.int64).reshape(-1, n))
        for (own, codes), n in zip(made, shapes, strict=True)
    ]


def _compared(scaled: list[tuple[Floats, Codes]]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for copy, table in enumerate(scaled[2:]):
        near, other = (_closest(table, records) for records in scaled[:2])
        score = np.where(near < other, 1.0, np.where(near == other, 0.5, 0.0))
        rows.append(
            {
                "copy": copy,
                "share": score.mean(),
                "standard_error": score.std() / math.sqrt(score.size),
                "identical": np.mean(near == 0),
                "identical_holdout": np.mean(other == 0),
            }
        )
    return pd.DataFrame(rows)


def _closest(table: tuple[Floats, Codes], records: tuple[Floats, Codes]) -> Floats:
    """Distance of each row of a table to the closest record, times the number of columns."""
    (own, codes), (theirs, labels) = table, records
    m, n = own.shape[1], theirs.shape[1]
    found = np.empty(m)
    for start in range(0, m, step := max(_BLOCK // n, 1)):
        rows = slice(start, start + step)
        total = np.zeros((len(range(*rows.indices(m))), n))
        for a, b in zip(own, theirs, strict=True):
            total += np.minimum(np.abs(a[rows, None] - b), 1.0)
        for x, y in zip(codes, labels, strict=True):
            total += x[rows, None] != y
        found[rows] = total.min(axis=1)
    return found
