"""Checks of mechanisms of tables of counts: cells, priors, statistics and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.draws.beta_binomial import LARGEST_SIZE


def check_size(size: Any, name: str = "size") -> int:
    """Return a copy's number of records if it can be drawn exactly, else raise InvalidInput."""
    checked = check_at_least_one(name, size)
    if checked > LARGEST_SIZE:
        raise InvalidInput(f"{name} is {checked}; a copy has at most {LARGEST_SIZE:,} records")
    return checked


def check_zeros(zeros: Any, cells: int) -> tuple[int, ...]:
    """Return the structural zeros in order if they leave at least two cells, else raise."""
    given = zeros.tolist() if isinstance(zeros, np.ndarray) else zeros
    good = isinstance(given, Sequence) and not isinstance(given, str)
    if not good or not all(isinstance(c, Integral) and not isinstance(c, bool) for c in given):
        raise InvalidInput(
            f"zeros is {quoted(zeros)}; it must be a sequence of cells, whole numbers"
        )
    made = tuple(sorted(int(c) for c in given))
    if made and (made[0] < 0 or made[-1] >= cells or len(set(made)) < len(made)):
        raise InvalidInput(
            f"zeros names a cell twice, or one that isn't from 0 to {cells - 1}, the last of the "
            f"{cells}"
        )
    if cells - len(made) < 2:
        raise InvalidInput(
            f"cells is {cells} with {len(made)} structural zeros; at least 2 cells must be left"
        )
    return made


def check_prior(
    prior: Any, cells: int, zeros: Sequence[int], name: str = "prior"
) -> float | tuple[float, ...]:
    """Return the prior as one float, or one for each cell, 0 in structural zeros; else raise."""
    if is_number(prior):
        if 0 < prior < np.inf:
            return float(prior)
        raise InvalidInput(f"{name} is {quoted(prior)}; it must be positive and finite")
    given = prior.tolist() if isinstance(prior, np.ndarray) else prior
    if not isinstance(given, Sequence) or len(given) != cells or not all(map(is_number, given)):
        raise InvalidInput(
            f"{name} is a {type(prior).__name__} of another length or kind; it must be a positive "
            f"number, or one for each of the {cells} cells"
        )
    values = np.array(given, dtype=np.float64)
    possible = np.delete(values, list(zeros))
    if not (np.all(possible > 0) and np.isfinite(possible.sum())) or np.any(values[list(zeros)]):
        raise InvalidInput(
            f"{name} has an entry that is not positive and finite, or not 0 in a structural zero; "
            "each other cell needs a positive one, since a cell without one can't be private"
        )
    return tuple(values.tolist())


def check_cell_counts(
    statistic: Any, cells: int, n: int | None, zeros: Sequence[int]
) -> NDArray[np.int64]:
    """Return tables of counts, shape (..., cells), or raise without showing a value."""
    counts = np.asarray(statistic)
    if counts.dtype.kind not in "iu" or counts.shape[-1:] != (cells,):
        raise InvalidInput(
            f"the statistic has type {counts.dtype} and shape {counts.shape}; it must be the "
            f"counts of the {cells} cells, integers of shape (..., {cells})"
        )
    if np.any(counts < 0):
        raise InvalidInput("the statistic has counts below 0; counts must be at least 0")
    if n is not None and np.any(counts.sum(axis=-1) != n):
        raise InvalidInput(
            f"the statistic has another number of records than the mechanism's n = {n}"
        )
    if len(zeros) and np.any(counts[..., list(zeros)]):
        raise InvalidInput(
            f"the statistic has records in a structural zero, one of {len(zeros)} cells where "
            "the mechanism says that none can be; correct them by a public rule, or allow the cell"
        )
    return counts.astype(np.int64)
