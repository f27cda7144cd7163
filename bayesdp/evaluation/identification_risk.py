"""Identification risk: can a person's record be found in partially synthetic copies?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
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
from bayesdp.release import Release

if TYPE_CHECKING:
    import pandas as pd

_CELLS = 1 << 22  # of a table of targets by candidates held at once
_ROUNDING = 2.0**-50  # of numbers: 0.8 - 0.7 is 0.1, whatever floats make of it


def identification_risk(
    confidential: pd.DataFrame,
    released: pd.DataFrame | Sequence[pd.DataFrame],
    *,
    known: Iterable[Any],
    synthetic: Iterable[Any],
    radius: float | Mapping[Any, float] | None = None,
    relative: bool = True,
    categorical: Iterable[Any] = (),
    by_record: bool = False,
) -> pd.DataFrame:
    """Compute expected match risk, true and false match rates of partially synthetic copies.

    The intruder knows the true values of `known` and `synthetic` of each of the n records, and
    looks for it in a copy whose row i was made from record i. Row j matches record i if it has
    the same categories, and each number within a radius r of i's:

        |y_j - y_i| <= r |y_i|   (relative),   or   |y_j - y_i| <= r.

    With c_i the number of rows that match, and T_i = 1 where row i is one of them, K_i = 1 where
    c_i T_i = 1, F_i = 1 where c_i (1 - T_i) = 1, and s the number of records with c_i = 1:

        expected match risk = sum over i with c_i > 0 of T_i / c_i
        true match rate     = sum_i K_i / n
        false match rate    = sum_i F_i / s

    The first is the expected number of records found by an intruder who picks one match at random;
    the last is the share of unique matches that are wrong. They are those of Reiter and Mitra
    (2009), as in Hu and Savitsky's R package IdentificationRiskCalculation, except in two cases: a
    distance of exactly the radius is a match here, and a relative radius of a negative number is
    positive.

    The result is computed from confidential records without any noise: it stays with the curator
    and may not be published. Nothing is spent.

    Parameters
    ----------
    confidential : DataFrame
        One row for each record.
    released : DataFrame or list of DataFrame
        Copies whose row i was made from the confidential row i, by position. A `Release` is
        refused: its rows are sorted, and none was made from one record.
    known : iterable of str
        Columns that the intruder knows from elsewhere; as a rule not synthesized.
    synthetic : iterable of str
        Columns that were synthesized, whose true values the intruder knows too.
    radius : float or mapping of float, optional
        Radius for all columns of numbers, or by column, 0 or more. Needed if there are any.
    relative : bool
        Whether a radius is a share of the true number.
    categorical : iterable of str
        Columns of numbers to compare as categories.
    by_record : bool
        Whether to return one row for each copy and record instead.

    Returns
    -------
    DataFrame
        One row for each copy: copy, expected_match_risk, true_match_rate, false_match_rate (NaN if
        no match is unique) and unique_matches, s. With `by_record`: copy, record (its position),
        matches c_i, true T_i and risk T_i / c_i, 0 where nothing matches.

    Raises
    ------
    InvalidInput
        If columns are missing, or named twice, rows differ in number, a value is missing or not
        finite, or a radius is missing or negative. No value of a record is ever shown.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> records = pd.DataFrame({"town": ["n", "n", "s", "s"], "pay": [20.0, 35.0, 24.0, 50.0]})
    >>> copy = records.assign(pay=[21.0, 60.0, 51.0, 49.0])    # row i made from record i
    >>> how = {"known": ["town"], "synthetic": ["pay"], "radius": 0.1}
    >>> bdp.evaluate.identification_risk(records, copy, **how)
       copy  expected_match_risk  true_match_rate  false_match_rate  unique_matches
    0     0                  1.5             0.25               0.0               1
    """
    import pandas as pd

    confidential = check_frame("confidential", confidential)
    copies = _aligned(confidential, released)
    listed = check_columns("known", known, confidential, "confidential")
    synthesized = check_columns("synthetic", synthetic, confidential, "confidential")
    if not synthesized or set(listed) & set(synthesized):
        raise InvalidInput(
            f"known is {listed} and synthetic {synthesized}; name at least one synthetic column, "
            "and none in both"
        )
    used = [*listed, *synthesized]
    categories = check_columns("categorical", categorical, confidential, "confidential")
    frames = [confidential[used]]
    for k, copy in enumerate(copies):
        name = f"released[{k}]"
        frame = check_frame(name, copy)
        frames.append(frame[check_columns("known and synthetic", used, frame, name)])
    names = ["confidential", *(f"released[{k}]" for k in range(len(copies)))]
    for name, frame in zip(names, frames, strict=True):
        check_complete(name, frame)
    numeric = [c for c in used if c not in categories and is_numeric(frames, c)]
    radii = _radii(radius, numeric)
    n = len(confidential)
    cells = [np.zeros(n, dtype=np.int64) for _ in frames]
    for column in used:
        if column not in numeric:
            cells = _refined(cells, category_codes(frames, column))
    values = [
        np.array([numbers(name, f, c) for c in numeric]).reshape(len(numeric), n).T
        for name, f in zip(names, frames, strict=True)
    ]
    around = radii * np.abs(values[0]) if relative else np.broadcast_to(radii, values[0].shape)
    around = around + _ROUNDING * (np.abs(values[0]) + around)
    rows = []
    for k in range(len(copies)):
        matches, true = _matches(cells[0], values[0], around, cells[1 + k], values[1 + k])
        risk = np.where(true, 1 / np.maximum(matches, 1), 0.0)
        if by_record:
            columns = {"copy": k, "record": np.arange(n), "matches": matches, "true": true}
            rows.append(pd.DataFrame({**columns, "risk": risk}))
            continue
        unique = matches == 1
        s = int(unique.sum())
        summary = {
            "copy": k,
            "expected_match_risk": float(risk.sum()),
            "true_match_rate": float((unique & true).sum() / n),
            "false_match_rate": float((unique & ~true).sum() / s) if s else np.nan,
            "unique_matches": s,
        }
        rows.append(pd.DataFrame([summary]))
    return pd.concat(rows, ignore_index=True)


def _aligned(confidential: pd.DataFrame, released: Any) -> list[pd.DataFrame]:
    """Return the copies, if row i of each can have been made from record i."""
    if isinstance(released, Release):
        raise InvalidInput(
            "released is a Release, whose rows are sorted and belong to no record; identification "
            "risk is for tables whose row i was made from record i: give those as DataFrames"
        )
    copies = copies_of(released)
    if any(len(copy) != len(confidential) for copy in copies):
        raise InvalidInput(
            "released and confidential differ in their number of rows; row i of a copy must be "
            "made from the confidential row i"
        )
    return copies


def _radii(radius: Any, numeric: Sequence[Any]) -> Floats:
    """Return one radius for each column of numbers."""
    given = radius if isinstance(radius, Mapping) else dict.fromkeys(numeric, radius)
    if set(given) != set(numeric) or not all(
        is_number(r) and 0 <= r < np.inf for r in given.values()
    ):
        raise InvalidInput(
            f"radius is {quoted(radius)}; give a number from 0 for each of {list(numeric)}, or "
            "name them in categorical="
        )
    return np.array([float(given[column]) for column in numeric])


def _refined(cells: Sequence[Codes], codes: Sequence[Codes]) -> list[Codes]:
    """Refine codes of cells by one more column each, as small whole numbers."""
    width = max(int(each.max()) for each in codes) + 1
    joint = np.concatenate([a * width + b for a, b in zip(cells, codes, strict=True)])
    dense = np.unique(joint, return_inverse=True)[1].astype(np.int64)
    return np.split(dense, len(cells))


def _matches(
    targets: Codes, values: Floats, around: Floats, candidates: Codes, others: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Compute c_i and T_i of each record, cell by cell, as only rows of one cell can match."""
    count = np.zeros(len(targets), dtype=np.int64)
    by_cell = np.argsort(candidates, kind="stable")
    ordered = candidates[by_cell]
    for cell in np.unique(targets):
        low, high = np.searchsorted(ordered, [cell, cell + 1])
        rivals = by_cell[low:high]
        wanted = np.flatnonzero(targets == cell)
        step = max(1, _CELLS // max(1, len(rivals)))
        for start in range(0, len(wanted), step):
            some = wanted[start : start + step]
            close = np.ones((len(some), len(rivals)), dtype=np.bool_)
            for j in range(values.shape[1]):
                gap = np.abs(others[rivals, j] - values[some, j, None])
                close &= gap <= around[some, j, None]
            count[some] = close.sum(axis=1)
    own = np.all(np.abs(others - values) <= around, axis=1) & (targets == candidates)
    return count, np.asarray(own)
