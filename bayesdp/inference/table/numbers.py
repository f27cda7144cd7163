"""Numbers that a function of a table returns, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


def numbers_of(found: Any, *, finite: bool) -> pd.Series[Any]:
    """Return the numbers that a function of a table returned, with their names.

    Parameters
    ----------
    found : number, array, Series, DataFrame or mapping
    finite : bool
        Whether one that isn't finite is refused; NaN stands for it otherwise.
    """
    import pandas as pd

    if isinstance(found, Mapping):
        found = pd.Series(found)
    if isinstance(found, pd.DataFrame):
        found = found.stack(future_stack=True)
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if finite and not np.all(np.isfinite(values)):
        raise InvalidInput(
            f"function returned a {type(found).__name__} that isn't finite numbers for one of the "
            "latent tables; return numbers, and mind that a rare cell may be empty"
        )
    flat = np.where(np.isfinite(values), values, np.nan).ravel()
    return pd.Series(flat, index=found.index if isinstance(found, pd.Series) else None)


def aligned(found: pd.Series[Any], names: Any) -> NDArray[np.float64]:
    """Return numbers of a table in the order of another's, which must be the same ones.

    Parameters
    ----------
    found : Series
    names : Index
        The other's names.
    """
    if not found.index.equals(names):
        same = len(found) == len(names) and found.index.is_unique and names.is_unique
        if not same or not found.index.isin(names).all():
            raise InvalidInput(
                "the numbers of one latent table differ in how many they are, or in their names, "
                "from another's, as where a label has no records; ask for the same ones of each, "
                "as by groupby(..., observed=False) or value_counts().reindex(labels)"
            )
        found = found.reindex(names)
    return found.to_numpy()


def resampled(counts: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Shares in a resample of each table with these counts."""
    sizes = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    drawn = [rng.multinomial(int(n[0]), row / n) for row, n in zip(counts, sizes, strict=True)]
    return np.asarray(np.array(drawn) / sizes)
