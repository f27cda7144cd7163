"""Utility of synthetic copies: their closeness to the confidential records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_called, check_flag, is_number
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
from bayesdp.evaluation.interval_overlap import interval_overlap
from bayesdp.evaluation.propensity import design, ecdf_distances, propensity_measures

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release

COLUMNS = ("measure", "column", "other", "level", "copy", "value")
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def utility(
    confidential: pd.DataFrame,
    released: Release | pd.DataFrame | Sequence[pd.DataFrame],
    *,
    columns: Iterable[Any] | None = None,
    categorical: Iterable[Any] = (),
    quantiles: Iterable[float] = _QUANTILES,
    bins: int = 10,
    interactions: bool = False,
    analysis: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Compare synthetic copies with the confidential (or public benchmark) records.

    The result is computed from confidential records without any noise: it stays with the curator
    and may not be published. Nothing is spent. Choosing by it which release to publish would be a
    further use of the records, which no release's guarantee covers.

    Parameters
    ----------
    confidential : DataFrame
        One row for each record; columns of numbers or of categories (strings, booleans,
        `category`).
    released : Release, DataFrame or list of DataFrame
        Copies of synthetic records with the same columns, in any order of columns and rows. A
        release of noisy numbers has no records to compare.
    columns : iterable of str, optional
        The columns to compare; by default all, which must then be the same.
    categorical : iterable of str
        Columns of numbers to treat as categories, for example codes 0 and 1.
    quantiles : iterable of float
        Levels in [0, 1].
    bins : int
        A column of numbers with more distinct values than this enters tables cut at the
        confidential quantiles 1/bins, 2/bins, ...
    interactions : bool
        Whether the propensity model also has products of all pairs of columns.
    analysis : callable, optional
        Takes a table of records, the confidential one or a copy, and returns a DataFrame with
        columns estimate, low and high, one row for each component. The measures of
        `interval_overlap` are then added.

    Returns
    -------
    DataFrame
        One row for each measure: measure, column, other (the second column of a pair), level (of a
        quantile), copy (from 0) and value; entries that don't apply are None or NaN. The measures:

        ecdf_max, ecdf_mean_squared
            For each column of numbers: max_x |F(x) - G(x)|, and the mean over all n + n_syn records
            of (F - G)^2 (Woo, Reiter, Oganian and Karr 2009).
        quantile_difference
            Released minus confidential quantile, in the column's unit; linear between order
            statistics.
        marginal_tv, pairwise_tv
            Total variation distance, 1/2 sum over cells |p - q|, of the tables of each column and
            each pair, in shares of records.
        pmse, pmse_ratio, pmse_standardized, pmse_ratio_independent, propensity_ks
            For all columns together, by logistic regression: see `propensity`, which states what
            the ratios assume.
        interval_overlap, interval_overlap_signed, covered, coverage
            See `interval_overlap`; the component is in `column`.

    Raises
    ------
    InvalidInput
        If columns differ, or have missing or infinite values, or there are no rows, or columns
        have so many labels that the propensity model would have over 1,000 coefficients, or the
        analysis returns something else. No value of a record is ever shown.
    EngineFailed
        If the propensity model doesn't converge.

    Examples
    --------
    >>> import bayesdp as bdp, pandas as pd
    >>> records = pd.DataFrame({"x": [1, 2, 3, 4] * 25})
    >>> copy = pd.DataFrame({"x": [1, 2, 2, 4] * 25})
    >>> found = bdp.evaluate.utility(records, copy).set_index("measure")["value"]
    >>> found["ecdf_max"], found["marginal_tv"]
    (np.float64(0.25), np.float64(0.25))
    """
    import pandas as pd

    confidential = check_frame("confidential", confidential)
    copies = copies_of(released)
    categories = check_columns("categorical", categorical, confidential, "confidential")
    levels = _check_quantiles(quantiles)
    bins = check_at_least_one("bins", bins)
    check_flag("interactions", interactions)
    check_called("analysis", analysis, "a function of a table of records")
    whole = [confidential, *copies]
    chosen = [confidential, *copies]
    if columns is not None:
        listed = check_columns("columns", columns, confidential, "confidential")
        if not listed:
            raise InvalidInput("columns is empty; name at least one, or leave it out for all")
        for k, copy in enumerate(copies):
            check_columns("columns", listed, check_frame(f"released[{k}]", copy), f"released[{k}]")
        chosen = [frame[listed] for frame in whole]
    check_same_columns(chosen[0], chosen[1:])
    names = ["confidential", *(f"released[{k}]" for k in range(len(copies)))]
    for name, frame in zip(names, chosen, strict=True):
        check_complete(name, frame)
    numeric: dict[Any, list[Floats]] = {}
    codes: dict[Any, list[Codes]] = {}
    for column in chosen[0].columns:
        if column not in categories and is_numeric(chosen, column):
            numeric[column] = [
                numbers(n, frame, column) for n, frame in zip(names, chosen, strict=True)
            ]
        else:
            codes[column] = category_codes(chosen, column)
    cells = {c: cut(numeric[c], bins) if c in numeric else codes[c] for c in chosen[0].columns}
    rows: list[tuple[Any, ...]] = []
    for k in range(len(copies)):
        rows += _columns(numeric, k, levels)
        rows += _tables(cells, k)
        predictors = design(_pair(numeric, k), _pair(codes, k), interactions)
        for measure, value in propensity_measures(predictors, len(confidential)).items():
            rows.append((measure, None, None, np.nan, k, value))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    if analysis is not None:
        overlaps = _overlaps([analysis(records) for records in whole])
        overlaps = overlaps.rename(columns={"component": "column"}).reindex(columns=list(COLUMNS))
        overlaps = overlaps.astype({"other": object})
        frame = pd.concat([frame.astype({"copy": "Int64"}), overlaps], ignore_index=True)
    return frame.astype({"copy": "Int64"})


def _overlaps(analysed: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Compute the overlaps of an analysis's intervals, those of the confidential records first."""
    try:
        return interval_overlap(analysed[0], analysed[1:])
    except InvalidInput as error:
        raise InvalidInput(f"of what analysis returned, {error}") from None


def cut(values: Sequence[Floats], bins: int) -> list[Codes]:
    """Code each table's numbers by cells: its own values, or between confidential quantiles."""
    stacked = np.concatenate(values)
    different = np.unique(stacked)
    if len(different) <= bins:
        codes = np.searchsorted(different, stacked)
    else:
        edges = np.unique(np.quantile(values[0], np.arange(1, bins) / bins))
        codes = np.searchsorted(edges, stacked, side="left")  # a cell holds its upper edge
    return np.split(codes.astype(np.int64), np.cumsum([len(each) for each in values])[:-1])


def total_variation(confidential: Codes, released: Codes) -> float:
    """Total variation distance 1/2 sum |p - q|, of the shares of two columns of codes."""
    size = int(max(confidential.max(), released.max())) + 1
    shares = [np.bincount(each, minlength=size) / len(each) for each in (confidential, released)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _columns(
    numeric: Mapping[Any, Sequence[Floats]], k: int, levels: Sequence[float]
) -> list[tuple[Any, ...]]:
    """Compute the measures of each column of numbers in copy `k`."""
    rows: list[tuple[Any, ...]] = []
    for column, values in numeric.items():
        largest, squared = ecdf_distances(values[0], values[1 + k])
        rows.append(("ecdf_max", column, None, np.nan, k, largest))
        rows.append(("ecdf_mean_squared", column, None, np.nan, k, squared))
        gaps = np.quantile(values[1 + k], levels) - np.quantile(values[0], levels)
        for level, gap in zip(levels, gaps, strict=True):
            rows.append(("quantile_difference", column, None, level, k, float(gap)))
    return rows


def _tables(cells: Mapping[Any, Sequence[Codes]], k: int) -> list[tuple[Any, ...]]:
    """Compute the distances between tables of each column and each pair in copy `k`."""
    rows: list[tuple[Any, ...]] = []
    for column, codes in cells.items():
        rows.append(
            ("marginal_tv", column, None, np.nan, k, total_variation(codes[0], codes[1 + k]))
        )
    for (one, a), (other, b) in itertools.combinations(cells.items(), 2):
        width = int(max(b[0].max(), b[1 + k].max())) + 1
        joint = np.concatenate([a[0] * width + b[0], a[1 + k] * width + b[1 + k]])
        # As many cells as occur, however many labels the columns have.
        dense = np.unique(joint, return_inverse=True)[1]
        distance = total_variation(dense[: len(a[0])], dense[len(a[0]) :])
        rows.append(("pairwise_tv", one, other, np.nan, k, distance))
    return rows


def _pair(columns: Mapping[Any, Sequence[Any]], k: int) -> dict[Any, tuple[Any, Any]]:
    return {column: (values[0], values[1 + k]) for column, values in columns.items()}


def _check_quantiles(quantiles: Any) -> list[float]:
    listed = list(quantiles) if isinstance(quantiles, Iterable) else [quantiles]
    if not all(is_number(level) and 0 <= level <= 1 for level in listed):
        raise InvalidInput(
            f"quantiles is {quoted(quantiles)}; give levels from 0 to 1, for example (0.25, 0.5, "
            "0.75)"
        )
    return [float(level) for level in listed]
