"""Marginals of a table: the columns of each, its counts, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis

Places = Sequence[tuple[int, ...]]


def check_marginals(marginals: Any, axes: Sequence[Axis]) -> tuple[tuple[str, ...], ...]:
    """Return each marginal's columns as a tuple, or raise InvalidInput."""
    names = [axis.name for axis in axes]
    given = list(marginals) if isinstance(marginals, list | tuple) else []
    made = [(part,) if isinstance(part, str) else tuple(part) for part in given]
    distinct = {frozenset(part) for part in made}
    if (
        not made
        or len(distinct) < len(made)
        or not all(
            part and len(set(part)) == len(part) and set(part) <= set(names) for part in made
        )
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
