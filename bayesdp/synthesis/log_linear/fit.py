r"""Fit of a hierarchical log-linear model to noisy marginals.

The model's probabilities are exp(sum_j theta_j[cell of marginal j]). For consistent marginals
iterative proportional fitting finds its maximum likelihood estimate (Bishop, Fienberg and Holland
1975). Noisy ones agree neither with each other nor with any table, so the estimate here is the
model's table closest to them, the p that minimises sum_j |M_j p - y_j|^2: proportional fitting
first, then entropic mirror descent, whose multiplicative steps stay in the model (McKenna, Sheldon
and Miklau 2019). Post-processing, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SWEEPS = 50
_STEPS = 300
_TOLERANCE = 1e-10


def fit_log_linear(
    shape: tuple[int, ...],
    places: Sequence[tuple[int, ...]],
    tables: Sequence[Any],
    possible: Any = None,
) -> Floats:
    """Fit probabilities of all cells, shape `shape`, from noisy counts of marginals.

    Parameters
    ----------
    shape : tuple of int
        Number of bins of each column.
    places : sequence of tuples of int
        Positions of each marginal's columns.
    tables : sequence of arrays
        The noisy counts, one axis for each column of the marginal, in its order. Negative counts
        are taken as 0.
    possible : array of bool, optional
        Which cells aren't structural zeros. The others start with probability 0, and keep it, as
        every step multiplies.
    """
    targets = []
    for part, table in zip(places, tables, strict=True):
        positive = np.maximum(np.asarray(table, dtype=np.float64), 0.0)
        if not positive.any():
            positive = np.ones_like(positive)
        ordered = np.transpose(positive / positive.sum(), np.argsort(part))
        targets.append(np.expand_dims(ordered, _others(part, len(shape))))
    start = np.ones(shape) if possible is None else np.asarray(possible, dtype=np.float64)
    p = start / start.sum()
    for _ in range(_SWEEPS):
        before = p
        for part, target in zip(places, targets, strict=True):
            now = _marginal(p, part)
            p = p * np.divide(target, now, out=np.zeros_like(now), where=now > 0)
            p = p / p.sum() if p.any() else before
        if np.abs(p - before).sum() < _TOLERANCE:
            break
    return _closest(p, places, targets)


def _closest(p: Floats, places: Sequence[tuple[int, ...]], targets: Sequence[Floats]) -> Floats:
    """Minimise by mirror descent from p, with steps that grow while they help."""
    step = 1.0 / len(targets)
    value, slope = _loss(p, places, targets)
    for _ in range(_STEPS):
        while True:
            q = p * np.exp(-step * (slope - slope[p > 0].min()))
            q /= q.sum()
            lower, next_slope = _loss(q, places, targets)
            if lower <= value or step < 1e-12:
                break
            step /= 2
        gain = value - lower
        if lower <= value:
            p, value, slope = q, lower, next_slope
        if gain <= _TOLERANCE * max(value, 1e-20) or step < 1e-12:
            break
        step *= 1.5
    return p


def _loss(
    p: Floats, places: Sequence[tuple[int, ...]], targets: Sequence[Floats]
) -> tuple[float, Floats]:
    """Compute half the squared distance from all marginals, and its gradient."""
    value, slope = 0.0, np.zeros((1,) * p.ndim)
    for part, target in zip(places, targets, strict=True):
        apart = _marginal(p, part) - target
        value += 0.5 * float(np.sum(apart * apart))
        slope = slope + apart
    return value, np.broadcast_to(slope, p.shape)


def _marginal(p: Floats, part: tuple[int, ...]) -> Floats:
    return np.asarray(p.sum(axis=_others(part, p.ndim), keepdims=True))


def _others(part: tuple[int, ...], columns: int) -> tuple[int, ...]:
    return tuple(k for k in range(columns) if k not in part)
