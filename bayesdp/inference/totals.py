"""Known totals of a population: read from a mapping, a Series or a DataFrame, and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number, listed_labels
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.release.noisy_tables import as_pandas

if TYPE_CHECKING:
    import pandas as pd

TOTAL = "total"
"""Name of a DataFrame's column of totals."""
_SHOWN = 5


def totals_from(
    totals: Any, names: Sequence[str] | None
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return the labels that totals are of, as a DataFrame, and the totals.

    Parameters
    ----------
    totals : mapping, Series or DataFrame
        A mapping or a Series has labels, or tuples of them, as its index. A DataFrame may be of
        pandas, Polars or Arrow.
    names : sequence of str, optional
        What the labels of a mapping or a Series are of; by default the names of its index.

    Raises
    ------
    InvalidInput
        If it isn't one of these, or holds anything but finite numbers of at least 0, not all 0.
    """
    import pandas as pd

    given = as_pandas(totals)
    if not isinstance(given, pd.DataFrame):
        if not isinstance(totals, Mapping | pd.Series) or not len(totals):
            raise InvalidInput(
                f"totals is {kind_of(totals)}; it must be a mapping or a Series of totals "
                f'by label, or a DataFrame of labels with a column "{TOTAL}", and not empty'
            )
        labels, given = _of_index(pd.Series(totals), names)
    elif TOTAL not in given.columns or not given.columns.is_unique or given.empty:
        raise InvalidInput(
            f"totals has the columns {', '.join(map(quoted, given.columns))}; it needs labels and "
            f'"{TOTAL}", each column once, and a row at least'
        )
    else:
        labels, given = given.drop(columns=TOTAL), given[TOTAL]
    numbers = given.tolist()
    wrong = [each for each in numbers if not (is_number(each) and 0 <= each < math.inf)]
    if wrong:
        raise InvalidInput(
            f"totals has {quoted(wrong[0])}; a total must be a finite number of at least 0"
        )
    if not 0 < sum(map(float, numbers)) < math.inf:
        raise InvalidInput(
            "totals adds up to 0 or to infinity; the population must have a number of members"
        )
    return labels, np.array(numbers, dtype=np.float64)


def _of_index(
    series: pd.Series[Any], names: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return a Series' labels, in columns that are named by what they are of, and its totals."""
    index = series.index
    if names is not None and index.nlevels != len(names):
        raise InvalidInput(
            f"totals has labels of {index.nlevels} kinds; here they must be of "
            f"{len(names)}: {', '.join(names)}"
        )
    kinds: Any = [*(names or index.names)]
    if None in kinds or len(set(kinds)) < len(kinds):
        raise InvalidInput(
            "totals is a Series whose index has no names, or one twice; name its levels by their "
            "columns, as by rename_axis"
        )
    return index.set_names(kinds).to_frame(index=False), series


def places_of(name: str, labels: Any, known: Sequence[Any]) -> NDArray[np.int64]:
    """Return each label's place among those known, by itself or by its text.

    Raises
    ------
    InvalidInput
        If one isn't known.
    """
    by_text = {str(label): place for place, label in enumerate(known)}
    by_label = {label: place for place, label in enumerate(known)}
    given = listed_labels(f"column {quoted(name)} of totals", labels)
    found = [by_label.get(label, by_text.get(str(label))) for label in given]
    strange = [label for label, place in zip(given, found, strict=True) if place is None]
    if strange:
        raise InvalidInput(
            f"totals has {name} {quoted(strange[0])}, which the posterior hasn't: there "
            f"{_are(known)}. Leave it out, or count its members with those of another"
        )
    return np.array(found, dtype=np.int64)


def indexed(
    codes: Sequence[NDArray[np.int64]],
    totals: Any,
    labels: Sequence[Sequence[Any]],
    names: Sequence[str],
    *,
    again: bool,
) -> NDArray[np.float64]:
    """Lay totals out in an array of all cells, one axis for each kind of label.

    Parameters
    ----------
    codes : sequence of ndarray
        Places of each row's labels.
    totals : array_like, shape (rows,)
    labels : sequence of sequence
        All labels of each kind, by whose number the array is as long.
    names : sequence of str
        What they are of.
    again : bool
        Whether a cell may be in several rows, which are added up.

    Raises
    ------
    InvalidInput
        If a cell has no total, or has one twice.
    """
    shape = tuple(map(len, labels))
    cells = np.ravel_multi_index(list(codes), shape)
    there, rows = np.unique(cells, return_counts=True)
    faults = []
    if there.size < math.prod(shape):
        absent = np.append(there != np.arange(there.size), True)
        faults.append(("no total for", int(np.argmax(absent))))
    if not again and np.any(rows > 1):
        faults.append(("more than one total for", int(there[np.argmax(rows > 1)])))
    for said, cell in faults:
        each = zip(names, labels, np.unravel_index(cell, shape), strict=True)
        told = ", ".join(f"{name} {quoted(of[int(k)])}" for name, of, k in each)
        raise InvalidInput(
            f"totals has {said} {told}; give one, which is 0 where the population has no member"
        )
    summed = np.bincount(cells, np.asarray(totals), minlength=math.prod(shape))
    return np.asarray(summed.reshape(shape))


def _are(known: Sequence[Any]) -> str:
    """List a few of the labels that are known."""
    shown = ", ".join(map(quoted, known[:_SHOWN]))
    more = len(known) - _SHOWN
    return f"are {shown}" + (f" and {more} more" if more > 0 else "")
