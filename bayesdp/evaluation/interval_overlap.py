"""Overlap of intervals from released data with those from the confidential records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("estimate", "low", "high")


def interval_overlap(
    confidential: pd.DataFrame,
    released: pd.DataFrame | Sequence[pd.DataFrame],
    *,
    truth: Mapping[Any, float] | pd.Series[float] | None = None,
) -> pd.DataFrame:
    """Measure the overlap of confidence (or posterior) intervals, and how often they cover.

    With the confidential interval (L, U), the released (l, u), and what both share,
    I = min(U, u) - max(L, l):

        interval_overlap        = 1/2 (max(I, 0) / (U - L) + max(I, 0) / (u - l))
        interval_overlap_signed = 1/2 (I / (U - L) + I / (u - l))

    The first is Karr, Kohnen, Oganian, Reiter and Sanil's (2006), from 0, where the intervals don't
    meet, to 1. The second (Snoke, Raab, Nowok, Dibben and Slavkovic 2018) may be negative, and then
    says how far apart they are.

    Where `confidential` comes from confidential records, the result is confidential too, and stays
    with the curator. Nothing is spent.

    Parameters
    ----------
    confidential : DataFrame
        One row for each component, with columns estimate, low and high, like `to_frame()` of
        `combine`.
    released : DataFrame or list of DataFrame
        Such a table from each copy (or each replicate of a study), with the same index; estimate
        isn't needed.
    truth : mapping or Series, optional
        The values that intervals should cover, by component; by default the confidential estimates.

    Returns
    -------
    DataFrame
        Columns measure, component, copy and value. Besides the overlaps, each copy has covered, 1
        where low <= truth <= high; and coverage, its mean over copies, has copy NA.

    Raises
    ------
    InvalidInput
        If components differ or appear twice, or an interval isn't finite with low < high.
    """
    import pandas as pd

    whole = _check("confidential", confidential, _COLUMNS)
    several = [released] if isinstance(released, pd.DataFrame) else released
    if not isinstance(several, Sequence) or not several:
        raise InvalidInput(
            "released is empty or not a list; give a DataFrame of intervals, or a list of them"
        )
    tables = [_check(f"released[{k}]", table, _COLUMNS[1:]) for k, table in enumerate(several)]
    for k, table in enumerate(tables):
        if set(table.index) != set(whole.index):
            raise InvalidInput(
                f"released[{k}] has components {list(table.index)} and confidential "
                f"{list(whole.index)}; give intervals of the same"
            )
    names = list(whole.index)
    target = whole["estimate"].to_dict() if truth is None else _check_truth(truth, names)
    rows: list[tuple[Any, ...]] = []
    for k, table in enumerate(tables):
        theirs = table.loc[names, ["low", "high"]].to_numpy()
        ours = whole[["low", "high"]].to_numpy()
        for name, (start, end), (low, high) in zip(names, ours, theirs, strict=True):
            signed = _signed(start, end, low, high)
            covered = float(low <= target[name] <= high)
            rows.append(("interval_overlap", name, k, max(signed, 0.0)))
            rows.append(("interval_overlap_signed", name, k, signed))
            rows.append(("covered", name, k, covered))
    frame = pd.DataFrame(rows, columns=["measure", "component", "copy", "value"])
    covered_rows = frame[frame["measure"] == "covered"]
    means = covered_rows.groupby("component", sort=False)["value"].mean()
    coverage = pd.DataFrame(
        {"measure": "coverage", "component": means.index, "copy": pd.NA, "value": means.to_numpy()}
    )
    typed = {"copy": "Int64"}
    return pd.concat([frame.astype(typed), coverage.astype(typed)], ignore_index=True)


def _signed(low: float, high: float, other_low: float, other_high: float) -> float:
    shared = min(high, other_high) - max(low, other_low)
    return (shared / (high - low) + shared / (other_high - other_low)) / 2


def _check(name: str, table: Any, columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(table, pd.DataFrame) or not set(columns) <= set(table.columns):
        raise InvalidInput(
            f"{name} must be a DataFrame with columns {list(columns)}, one row for each component"
        )
    if table.empty or not table.index.is_unique:
        raise InvalidInput(f"{name} must have at least one component, each once in its index")
    try:
        numbers = table[list(columns)].astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers in columns {list(columns)}") from None
    if not np.all(np.isfinite(numbers.to_numpy())) or np.any(numbers["low"] >= numbers["high"]):
        raise InvalidInput(f"{name} must have finite intervals, each with low below high")
    return numbers


def _check_truth(truth: Any, names: Sequence[Any]) -> dict[Any, float]:
    true = dict(truth) if hasattr(truth, "keys") else {}
    if set(true) != set(names):
        raise InvalidInput(
            f"truth must be a mapping or a Series with one number for each of {list(names)}"
        )
    if not all(is_number(value) and np.isfinite(value) for value in true.values()):
        raise InvalidInput("truth must be finite numbers")
    return {name: float(value) for name, value in true.items()}
