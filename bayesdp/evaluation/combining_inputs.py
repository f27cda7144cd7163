"""Checks of combined analyses: estimates and variances of every copy as arrays of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput

Floats = NDArray[np.float64]

_ESTIMATES = "a non-empty list of finite numbers, one per copy, or an array (copies, p) of them"
_VARIANCES = (
    "a non-empty list of finite numbers, one per copy; for estimates (copies, p), covariance "
    "matrices (copies, p, p) or variances (copies, p)"
)
# Relative to the standard deviations: rounding of an analyst's inverse, not another matrix.
_ROUNDING = 1e-8


def finite(name: str, values: Any, form: str, *dimensions: int) -> Floats:
    """Return `values` as an array of floats, or raise InvalidInput with the allowed form."""
    try:
        given = np.asarray(values)
        texts = given.dtype.kind in "SU" or any(isinstance(v, str | bytes) for v in _objects(given))
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        texts = True
    if texts or np.ma.is_masked(values):
        raise InvalidInput(f"{name} must be {form}, none of them masked")
    if array.ndim not in dimensions or array.size == 0 or not np.all(np.isfinite(array)):
        problem = "is not finite" if array.ndim in dimensions and array.size else "is wrong"
        raise InvalidInput(f"{name} must be {form}; its value of shape {array.shape} {problem}")
    return array


def _objects(array: NDArray[Any]) -> list[Any]:
    """List an array's elements, if its type doesn't say what they are."""
    return array.ravel().tolist() if array.dtype.kind in "OT" else []


def analyses(estimates: ArrayLike, variances: ArrayLike) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return estimates, variances and the components' names, or raise InvalidInput."""
    q = finite("estimates", estimates, _ESTIMATES, 1, 2)
    v = finite("variances", variances, _VARIANCES, 1, 2, 3)
    if q.ndim == 1 and q.shape != v.shape:
        count = v.size if v.ndim == 1 else f"shape {v.shape}"
        raise InvalidInput(f"estimates has {q.size} elements and variances {count}; match them")
    if q.ndim == 2 and v.shape not in (q.shape, (*q.shape, q.shape[1])):
        raise InvalidInput(
            f"estimates has shape {q.shape} and variances {v.shape}; match them: give covariance "
            f"matrices {(*q.shape, q.shape[1])} or variances {q.shape}"
        )
    names = _names(estimates, variances, 1 if q.ndim == 1 else q.shape[1])
    diagonal = np.einsum("ijj->ij", v) if v.ndim == 3 else v
    check_variances(diagonal)
    if v.ndim == 3:
        _check_covariances(v, diagonal)
        v = (v + v.transpose(0, 2, 1)) / 2
    return q, v, names


def check_variances(variances: Floats) -> None:
    """Raise InvalidInput if a variance is negative."""
    if np.any(variances < 0):
        raise InvalidInput(
            "variances has a negative element; variances are squared standard errors"
        )


def _check_covariances(v: Floats, diagonal: Floats) -> None:
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = v / scale[:, :, None] / scale[:, None, :]
    asymmetric = np.abs(scaled - scaled.transpose(0, 2, 1)).max(axis=(1, 2)) > _ROUNDING
    if np.any(asymmetric):
        raise InvalidInput(
            f"variances[{int(np.argmax(asymmetric))}] isn't symmetric; give covariance matrices"
        )
    smallest = np.linalg.eigvalsh(scaled)[:, 0]
    if np.any(smallest < -_ROUNDING * v.shape[1]):
        raise InvalidInput(
            f"variances[{int(np.argmin(smallest))}] isn't positive semidefinite; give covariance "
            "matrices of the estimates, not their inverses' or Hessians' negatives"
        )


def _names(estimates: Any, variances: Any, size: int) -> tuple[str, ...]:
    """Return the columns of `estimates`, which labels of `variances` must match in order.

    A list of Series, as of fits' parameters, has its Series' labels.
    """
    columns = getattr(estimates, "columns", None)
    if columns is None and isinstance(estimates, list | tuple):
        columns = _labels(estimates)
    if columns is None:
        return tuple(str(j) for j in range(size))
    tables = variances if isinstance(variances, (list, tuple)) else [variances]
    for table in tables:
        # An index of a table (copies, p) is of copies; of a covariance matrix, of components.
        for side in ("columns",) if table is variances else ("columns", "index"):
            labels = getattr(table, side, columns)
            if not callable(labels) and list(labels) != list(columns):
                raise InvalidInput(
                    f"estimates has columns {list(columns)} and variances {list(labels)}; put both "
                    "in one order"
                )
    return tuple(str(name) for name in columns)


def _labels(estimates: Sequence[Any]) -> Any:
    """Return the labels of a list of Series, which must be the same; None of anything else."""
    first, *others = (getattr(one, "index", None) for one in estimates)
    if first is None or callable(first):
        return None
    for other in others:
        if other is None or callable(other) or list(other) != list(first):
            raise InvalidInput(
                f"estimates has a copy with labels {list(first)} and one with other labels, or in "
                "another order; give pd.DataFrame(estimates), which puts them in one order"
            )
    return first
