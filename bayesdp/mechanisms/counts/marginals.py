"""Marginals of a table: the columns of each, its counts, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis

Places = Sequence[tuple[int, ...]]
_BLOCK = 1 << 16  # records that are counted at once, whose codes a processor's cache holds


def check_marginals(marginals: Any, columns: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return each marginal's columns as a tuple, or raise InvalidInput."""
    names = list(columns)
    known = set(names)
    given = list(marginals) if isinstance(marginals, list | tuple) else []
    try:
        made = [(part,) if isinstance(part, str) else tuple(part) for part in given]
        distinct = {frozenset(part) for part in made}
    except TypeError:  # a part that isn't a sequence, of what may be a name
        made, distinct = [], set()
    if (
        not made
        or len(distinct) < len(made)
        or not all(part and len(set(part)) == len(part) and known.issuperset(part) for part in made)
    ):
        raise InvalidInput(
            f"marginals is {quoted(marginals)}; it must be a list of different sets of the columns "
            f"{names}, for example [{tuple(names[:2])}]"
        )
    return tuple(made)


def sums_over(whole: NDArray[Any], places: Places) -> NDArray[np.int64]:
    """Concatenate all marginals' counts, from the table of all cells; `places` number the axes."""
    every = range(whole.ndim)
    return np.concatenate(
        [
            whole.sum(axis=tuple(k for k in every if k not in part))
            .transpose(np.argsort(np.argsort(part)))
            .ravel()
            for part in places
        ]
    )


def shown_counts(
    axes: Sequence[Axis], places: Places, tables: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    """Show counts as a structured array of marginal, cell and count."""
    rows = []
    for part, counts in zip(places, tables, strict=True):
        label = " x ".join(axes[k].name for k in part)
        for bins, count in np.ndenumerate(counts):
            cell = [
                "-".join(str(v[0]) for v in axes[k].shown(np.array([b])))
                for k, b in zip(part, bins, strict=True)
            ]
            rows.append((label, ", ".join(cell), int(count)))
    return np.array(rows, dtype=[("marginal", object), ("cell", object), ("count", np.int64)])


def counted_codes(
    codes: Sequence[NDArray[Any]],
    cells: Sequence[int],
    places: Places,
    pool: Mapping[int, NDArray[np.int64]] | None = None,
) -> NDArray[np.int64]:
    """Concatenate all marginals' counts, from each column's codes, without the whole table.

    Parameters
    ----------
    codes : sequence of ndarray of int, shape (n,)
        Code of each record in each column, from 0 to below the column's number of cells.
    cells : sequence of int
        Number of cells of each column.
    places : sequence of tuple of int
        Columns of each marginal.
    pool : mapping of int to ndarray of int, optional
        The pool of each cell, of the columns that marginals of several columns count by pools.
    """
    pools = pool or {}
    wide = [1 + int(pools[k][-1]) if k in pools else size for k, size in enumerate(cells)]
    shapes = [wide if len(part) > 1 else cells for part in places]
    sizes = [math.prod(shape[k] for k in part) for part, shape in zip(places, shapes, strict=True)]
    ends = np.cumsum(sizes)
    counts = np.zeros(int(ends[-1]), dtype=np.int64)
    used = sorted({k for part in places for k in part})
    for start in range(0, len(codes[0]), _BLOCK):
        block = {k: codes[k][start : start + _BLOCK].astype(np.int64) for k in used}
        pooled = block | {k: pools[k][block[k]] for k in used if k in pools}
        for part, size, end in zip(places, sizes, ends, strict=True):
            coded = pooled if len(part) > 1 else block
            cell = coded[part[0]]
            for k in part[1:]:
                cell = cell * wide[k] + coded[k]
            counts[end - size : end] += np.bincount(cell, minlength=size)
    return counts


def checked_codes(codes: Any, schema: Any) -> list[NDArray[Any]]:
    """Return each column's codes, in the schema's order, or raise InvalidInput."""
    if not hasattr(codes, "columns") or not set(schema.columns) <= set(codes.columns):
        raise InvalidInput(
            f"codes is {quoted(codes)}; it must be a DataFrame of the schema's columns, as "
            "schema.coded(frame)"
        )
    made = [codes[name].to_numpy() for name in schema.columns]
    for (name, cells), given in zip(schema.cells.items(), made, strict=True):
        whole = given.dtype.kind in "iu"
        if not whole or (given.size and not 0 <= given.min() <= given.max() < cells):
            raise InvalidInput(
                f"codes of column {quoted(name)} must be whole numbers from 0 to {cells - 1}"
            )
    return made
