"""A fixed number added to the log-odds of each dyad, from a matrix or a sparse list."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.graphs.offset import Offset
from bayesdp.networks.network_checks import check_index, check_unmasked


def _offset(matrix: NDArray[np.float64]) -> Offset:
    return Offset(
        matrix, 0.0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    )


NO_OFFSET = _offset(np.empty((0, 0)))


def offset_from(
    given: ArrayLike | tuple[ArrayLike, ArrayLike, float] | None,
    n: int,
    directed: bool,
    nodes: Sequence[Hashable] = (),
) -> Offset:
    """Convert an offset for kernels.

    Parameters
    ----------
    given : array_like of shape (n, n), or (pairs, values, constant), or None
        A matrix, symmetric if undirected, whose diagonal isn't read; or pairs of node numbers,
        shape (k, 2), their values, shape (k,), and the value of every other dyad.
    nodes : sequence of hashable
        Labels that a DataFrame must have in this order, if it has any of them.

    Raises
    ------
    InvalidInput
        If the shape, a node number, a value or an index isn't allowed.
    """
    if given is None:
        return NO_OFFSET
    if isinstance(given, tuple) and len(given) == 3:
        return _sparse(*given, n=n, directed=directed)
    for side in ("index", "columns"):
        check_index("offset", getattr(given, side, None), nodes)
    check_unmasked("offset", given)
    try:
        matrix = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"offset is {quoted(given)}; it must be a matrix of numbers, of shape {(n, n)}, or "
            "(pairs, values, constant)"
        ) from None
    if matrix.shape != (n, n) or not np.isfinite(matrix[~np.eye(n, dtype=bool)]).all():
        raise InvalidInput(
            f"offset has shape {matrix.shape}; it must be a finite matrix of shape {(n, n)}, or "
            "(pairs, values, constant)"
        )
    np.fill_diagonal(matrix, 0.0)
    if not directed and not np.array_equal(matrix, matrix.T):
        raise InvalidInput("offset isn't symmetric; in an undirected network it must be")
    return _offset(matrix)


def _sparse(
    pairs: ArrayLike, values: ArrayLike, constant: float, *, n: int, directed: bool
) -> Offset:
    try:
        listed, value = np.asarray(pairs), np.array(values, dtype=np.float64)
        constant = float(constant)
    except (TypeError, ValueError):
        raise InvalidInput(
            "offset's pairs, values and constant must be whole numbers, numbers, and a number"
        ) from None
    if listed.size and (listed.ndim != 2 or listed.shape[1] != 2 or listed.dtype.kind not in "iu"):
        raise InvalidInput(
            f"offset's pairs have shape {listed.shape} and type {listed.dtype}; they must be pairs "
            "of node numbers, shape (k, 2)"
        )
    dyads = listed.astype(np.int64).reshape(-1, 2)
    if value.shape != (len(dyads),) or not np.isfinite(np.append(value, constant)).all():
        raise InvalidInput(
            f"offset lists {len(dyads)} pairs and values of shape {value.shape}; there must be "
            "one finite value for each pair, and a finite constant"
        )
    if dyads.size and (dyads.min() < 0 or dyads.max() >= n or (dyads[:, 0] == dyads[:, 1]).any()):
        raise InvalidInput(f"offset's pairs must be of two different nodes from 0 to {n - 1}")
    if not directed:
        dyads.sort(axis=1)
    order = np.lexsort((dyads[:, 1], dyads[:, 0]))
    dyads, value = dyads[order], value[order]
    if (np.diff(dyads[:, 0] * n + dyads[:, 1]) == 0).any():
        raise InvalidInput("offset lists a dyad twice; give each one value")
    start = np.searchsorted(dyads[:, 0], np.arange(n + 1)).astype(np.int64)
    return Offset(np.empty((0, 0)), float(constant), start, dyads[:, 1].copy(), value)
