r"""Weights fitted to confidential data, as the pseudo-posterior papers define them.

For records y_i in (0, 1) with log density l_i(theta) = log Beta(y_i | lambda phi,
lambda (1 - phi)), theta = (phi, lambda), weights alpha_i in [0, 1] and draws theta_1..theta_k of
the posterior that they define, proportional to prior(theta) exp(sum_i alpha_i l_i(theta)), record
i's Lipschitz bound is

    Delta_i = max_k |alpha_i l_i(theta_k)|,

with alpha_i l_i clipped first if the posterior's are. The weights are, in two steps:

1. alpha_i = c (1 - risk(Delta_i)) + g, truncated to [0, 1], from the bounds of the posterior
   without weights (`fitted_weights`);
2. alpha_i target / Delta_i, truncated to [0, 1], from the bounds of the posterior with the
   weights of step 1, so that those of all records that can reach it are near the target
   (`reweighted`).

Sources: Savitsky, Williams and Hu (2022), Bayesian Pseudo Posterior Mechanism under Asymptotic
Differential Privacy; Hu, Savitsky and Williams (2020), Re-weighting of Vector-weighted Mechanisms;
the maps of the risk, c, g and the factor as in their R package LipschitzWeights.

Nothing made with these weights is differentially private: a weight depends on all records, through
the draws and through the least and the largest bound, so that one record more changes every term
of the sum (`bayesdp.papers.hu.comparators`). The draws are by ordinary floating point on a
grid: for comparison, never for a release that promises something.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.mechanisms.censored.grid import Grid
from bayesdp.mechanisms.censored.inputs import check_interval, check_some
from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]
_RISKS = ("linear", "softmax", "logistic")
_POINTS = 64  # of the grid along each axis: at least four a standard deviation
_NATS = 25.0  # below the highest point, where a normal posterior has less than 1e-10 of its mass
_CHUNK = 1 << 16  # terms at a time, which fit a cache


@dataclass(frozen=True, slots=True)
class BetaPrior:
    """Prior phi ~ Beta(*phi), lambda ~ Pareto(*lam) up to `largest`."""

    phi: tuple[float, float] = (1.0, 1.0)
    lam: tuple[float, float] = (0.1, 1.5)
    largest: float = 1000.0

    def log_density(self, phi: Floats, log_lam: Floats) -> Floats:
        """Log-density with respect to (phi, log lambda), up to a constant, at all pairs."""
        grid = Grid((0, 0), self.phi, self.lam, self.largest)
        return grid.log_priors(phi[:, None], np.exp(log_lam)[None, :])


def pseudo_draws(
    records: Floats,
    weights: Floats,
    *,
    interval: tuple[float, float] | None = None,
    count: int = 1000,
    prior: BetaPrior | None = None,
) -> Floats:
    """Draw (phi, lambda) independently from a weighted posterior, clipped or not.

    Parameters
    ----------
    records : array_like
        Confidential records in (0, 1), shape (n,).
    weights : array_like
        From 0 to 1, shape (n,).
    interval : tuple of two floats, optional
        What each record's weighted log density is clipped to.
    count : int
        Number of draws.
    prior : BetaPrior, optional
        By default that of the paper: phi uniform, lambda ~ Pareto(0.1, 1.5).

    Returns
    -------
    ndarray, shape (count, 2)
        From a grid over the box that carries the posterior, uniform within a cell.
    """
    y, alpha = check_some(records), check_weights(weights, np.size(records))
    count = check_at_least_one("count", count)
    bounds = None if interval is None else check_interval(interval)
    density = prior or BetaPrior()
    logs = np.stack([np.log(y), np.log1p(-y), np.ones(y.size)]) * alpha
    box = [(0.0, 1.0), (math.log(density.lam[0]), math.log(density.largest))]
    domain = tuple(box)
    for _ in range(100):
        phi, log_lam = (low + _places() * (high - low) for low, high in box)
        heights = _log_likelihood(logs, phi, np.exp(log_lam), bounds)
        heights += density.log_density(phi, log_lam)
        kept = heights > heights.max() - _NATS
        sides = [_around(kept.any(axis=1 - k), box[k], domain[k]) for k in range(2)]
        if all(settled for _, settled in sides):
            return _drawn(heights, box, count)
        box = [side for side, _ in sides]
    raise EngineFailed("the box that carries the posterior wasn't found; nothing was drawn")


def record_lipschitz(
    records: Floats,
    draws: Floats,
    weights: Floats,
    *,
    interval: tuple[float, float] | None = None,
) -> Floats:
    """Compute each record's largest absolute weighted log density over draws of (phi, lambda).

    Clipped to `interval` first, if there is one. Shape (n,).
    """
    y, alpha = check_some(records), check_weights(weights, np.size(records))
    bounds = None if interval is None else check_interval(interval)
    logs = np.stack([np.log(y), np.log1p(-y), np.ones(y.size)]) * alpha
    largest = np.zeros(y.size)
    for terms in _terms(logs, draws[:, 0], draws[:, 1], bounds):
        np.maximum(largest, np.abs(terms).max(axis=0), out=largest)
    return largest


def risks(bounds: Floats, method: str = "linear") -> Floats:
    """Map Lipschitz bounds increasingly to [0, 1].

    With min, max, mean and sd (of n - 1) those of the bounds x:

    - linear: (x - min) / (max - min), 0 where all are equal;
    - softmax: 1 / (1 + exp(-1.69897 (x - mean) / sd)), 1/2 where all are equal;
    - logistic: 2 / (1 + exp(-x / 2)) - 1.
    """
    x = np.asarray(bounds, dtype=np.float64)
    if x.ndim != 1 or not x.size or not np.all((x >= 0) & np.isfinite(x)):
        raise InvalidInput("bounds has values that aren't finite, below 0, or none at all")
    if method == "linear":
        width = float(x.max() - x.min())
        return (x - x.min()) / width if width > 0 else np.zeros_like(x)
    if method == "softmax":
        sd = float(x.std(ddof=1)) if x.size > 1 else 0.0
        return np.asarray(special.expit(1.69897 * (x - x.mean()) / sd if sd > 0 else 0 * x))
    if method == "logistic":
        return np.asarray(2 * special.expit(x / 2) - 1)
    raise InvalidInput(f"method is {quoted(method)}; it must be one of {', '.join(_RISKS)}")


def fitted_weights(
    bounds: Floats, *, method: str = "linear", scale: float = 1.0, shift: float = 0.0
) -> Floats:
    """Weights c (1 - risk) + g truncated to [0, 1], c the scale and g the shift; shape (n,)."""
    for name, value in (("scale", scale), ("shift", shift)):
        if not (is_number(value) and math.isfinite(value)):
            raise InvalidInput(f"{name} is {quoted(value)}; it must be a finite number")
    return np.clip(scale * (1 - risks(bounds, method)) + shift, 0.0, 1.0)


def reweighted(weights: Floats, bounds: Floats, target: float) -> Floats:
    """Compute weights alpha_i target / Delta_i truncated to [0, 1], from weights and bounds.

    A record whose weight is 0 keeps it.
    """
    alpha, reached = check_weights(weights, np.size(bounds)), np.asarray(bounds, np.float64)
    if not (is_number(target) and target > 0 and math.isfinite(target)):
        raise InvalidInput(f"target is {quoted(target)}; it must be a positive finite number")
    if not np.all(reached >= 0):
        raise InvalidInput("bounds has values below 0 or missing")
    # alpha target >= Delta is where the ratio is cut off, also for a bound of 0.
    free = alpha * target >= reached
    ratio = alpha * target / np.where(free, 1.0, reached)
    return np.where(alpha == 0, 0.0, np.where(free, 1.0, ratio))


def check_weights(weights: Floats, size: int) -> Floats:
    """Return weights as an array of `size` floats if all are from 0 to 1, else raise."""
    alpha = np.asarray(weights)
    if alpha.shape != (size,) or alpha.dtype.kind not in "fiub":
        raise InvalidInput(
            f"weights has shape {alpha.shape}; it must be one number for each of {size} records"
        )
    if not np.all((alpha >= 0) & (alpha <= 1)):
        raise InvalidInput("weights has values below 0, above 1 or missing")
    return alpha.astype(np.float64)


def _places() -> Floats:
    return np.asarray((np.arange(_POINTS) + 0.5) / _POINTS)


def _terms(
    logs: Floats, phi: Floats, lam: Floats, interval: tuple[float, float] | None
) -> Iterator[Floats]:
    """Yield weighted log densities, about `_CHUNK` at a time; each shape (parameters, n)."""
    a, b = lam * phi, lam * (1 - phi)
    curves = np.stack([a - 1, b - 1, -special.betaln(a, b)], axis=1)
    step = max(_CHUNK // logs.shape[1], 1)
    for start in range(0, phi.size, step):
        part = curves[start : start + step, :, None]
        terms = part[:, 0] * logs[0]
        terms += part[:, 1] * logs[1]
        terms += part[:, 2] * logs[2]
        yield terms if interval is None else np.clip(terms, *interval, out=terms)


def _log_likelihood(
    logs: Floats, phi: Floats, lam: Floats, interval: tuple[float, float] | None
) -> Floats:
    """Log-likelihood at all pairs of phi and lambda; without clipping from three sums."""
    shape = (phi.size, lam.size)
    along_phi, along_lam = np.repeat(phi, lam.size), np.tile(lam, phi.size)
    if interval is None:
        logs = logs.sum(axis=1, keepdims=True)
    sums = [terms.sum(axis=1) for terms in _terms(logs, along_phi, along_lam, interval)]
    return np.concatenate(sums).reshape(shape)


def _around(
    kept: NDArray[np.bool_], side: tuple[float, float], domain: tuple[float, float]
) -> tuple[tuple[float, float], bool]:
    """Side of the next box, two cells beyond what is kept, and whether this one will do.

    It will where the next is no narrower than 3/4 of it and doesn't leave it.
    """
    index, step = np.flatnonzero(kept), (side[1] - side[0]) / _POINTS
    low = max(domain[0], side[0] + (int(index[0]) - 2) * step)
    high = min(domain[1], side[0] + (int(index[-1]) + 3) * step)
    inside = index[0] > 0 or low == domain[0], index[-1] < _POINTS - 1 or high == domain[1]
    return (low, high), all(inside) and high - low >= 0.75 * (side[1] - side[0])


def _drawn(heights: Floats, box: list[tuple[float, float]], count: int) -> Floats:
    cumulated = np.cumsum(np.exp(heights - heights.max()))
    source = generator()
    uniform = source.random((3, count))
    cells = np.searchsorted(cumulated, uniform[0] * cumulated[-1], side="right")
    places = np.unravel_index(np.minimum(cells, cumulated.size - 1), heights.shape)
    drawn = [
        low + (place + inside) / _POINTS * (high - low)
        for place, inside, (low, high) in zip(places, uniform[1:], box, strict=True)
    ]
    phi = np.clip(drawn[0], 2.0**-1022, 1 - 2.0**-53)
    return np.stack([phi, np.exp(drawn[1])], axis=1)
