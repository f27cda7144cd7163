r"""The normalising constant of an exponential random graph model, on a grid of coefficients.

    Z(theta) = sum over graphs y on the nodes of exp(theta . s(y)),

a function of the nodes, their attributes and theta alone: no ties of any network are in it. Where
dyads are independent, log Z is a sum over dyads. Otherwise it is integrated: its derivatives are
the statistics' means and variances at theta, which are simulated at every point of the grid, and
between neighbours a and b along an axis, h apart, Euler and Maclaurin's corrected trapezium rule is

    log Z(b) - log Z(a) = h (mean_a + mean_b) / 2 - h^2 (variance_b - variance_a) / 12 + O(h^5)

(path sampling: Gelman and Meng 1998), kept between h mean_a and h mean_b, where it lies since log Z
is convex. There are more such steps than points, and each has
its own error; the values with the least squared disagreement solve a Poisson equation on the grid,
which the cosine transform makes diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from bayesdp.errors import InvalidInput
from bayesdp.networks.formula import BoundFormula, bind
from bayesdp.networks.network import Network
from bayesdp.networks.pseudolikelihood import dyads_of
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import Start, default_steps
from bayesdp.threads import in_threads

Floats = NDArray[np.float64]
_DRAWS = 100  # a point
_CHUNK = 1 << 22  # log-odds at once


def log_constants(
    network: Network,
    formula: str,
    axes: Sequence[ArrayLike],
    *,
    burn_in: int | None = None,
    max_degree: int | None = None,
    seed: Seed = None,
) -> Floats:
    """Compute log Z on a grid of coefficients, up to a constant; exact if dyads are independent.

    Parameters
    ----------
    network : Network
        The nodes and their attributes; ties aren't read.
    formula : str
        As for `parse`.
    axes : sequence of array_like, one for each statistic
        Values of each coefficient, increasing and equally spaced, two or more.
    burn_in : int or None
        Proposals before the first of the draws at a point, which start without ties; None for
        twice the number of dyads, at least 1,000.
    max_degree : int or None
        The sum is over graphs with degrees, out-degrees if directed, up to this; None for all.
    seed : int, numpy Generator or None
        The same seed gives the same values.

    Returns
    -------
    ndarray of float, one axis for each statistic
        log Z, with largest value 0.

    Raises
    ------
    InvalidInput
        If the axes don't fit the formula.
    """
    empty = network.with_edges(())
    bound = bind(formula, empty).within(max_degree)
    values = [np.asarray(axis, dtype=np.float64) for axis in axes]
    if len(values) != len(bound.names) or any(v.ndim != 1 or v.size < 2 for v in values):
        raise InvalidInput(
            f"axes has shapes {[v.shape for v in values]}; it must have {len(bound.names)} lists "
            f"of two values or more, for {', '.join(bound.names)}"
        )
    points = np.stack([m.ravel() for m in np.meshgrid(*values, indexing="ij")], axis=1)
    if bound.dyad_independent:
        logs = _of_dyads(bound, empty, points).reshape([v.size for v in values])
    else:
        mean, variance = _moments(bound, empty, points, default_steps(empty, burn_in), seed)
        shape = [v.size for v in values]
        logs = integrated(
            [
                _step(np.diff(v), mean[:, t].reshape(shape), variance[:, t].reshape(shape), t)
                for t, v in enumerate(values)
            ]
        )
    return np.asarray(logs - logs.max(), dtype=np.float64)


def integrated(steps: Sequence[Floats]) -> Floats:
    """Integrate: values on a grid whose differences along each axis are nearest to `steps`.

    Parameters
    ----------
    steps : sequence of ndarray, one an axis
        Each has the grid's shape, but one fewer along its own axis.

    Returns
    -------
    ndarray
        The L with the least sum of (difference of L - step)^2; in one dimension, the cumulative
        sums of the steps.
    """
    shape = tuple(step.shape[t] + 1 for t, step in enumerate(steps))
    right, eigenvalues = np.zeros(shape), np.zeros(shape)
    for t, step in enumerate(steps):
        around = [(1, 1) if u == t else (0, 0) for u in range(len(shape))]
        right -= np.diff(np.pad(step, around), axis=t)
        along = 2 - 2 * np.cos(np.pi * np.arange(shape[t]) / shape[t])
        eigenvalues += np.expand_dims(along, [u for u in range(len(shape)) if u != t])
    waves = np.asarray(fft.dctn(right))
    eigenvalues.flat[0], waves.flat[0] = 1.0, 0.0
    return np.asarray(fft.idctn(waves / eigenvalues), dtype=np.float64)


def _step(gap: Floats, mean: Floats, variance: Floats, axis: int) -> Floats:
    h = np.expand_dims(gap, [u for u in range(mean.ndim) if u != axis])
    here = [slice(None)] * mean.ndim
    there = list(here)
    here[axis], there[axis] = slice(None, -1), slice(1, None)
    a, b = tuple(here), tuple(there)
    step = h * (mean[a] + mean[b]) / 2 - h**2 * (variance[b] - variance[a]) / 12
    return np.asarray(
        np.clip(step, h * np.minimum(mean[a], mean[b]), h * np.maximum(mean[a], mean[b]))
    )


def _of_dyads(bound: BoundFormula, network: Network, points: Floats) -> Floats:
    """Sum over dyads of log(1 + exp(theta . change))."""
    changes, times = np.unique(dyads_of(bound, network).changes, axis=0, return_counts=True)
    rows = max(1, _CHUNK // len(changes))
    parts = [
        np.logaddexp(0.0, points[start : start + rows] @ changes.T) @ times
        for start in range(0, len(points), rows)
    ]
    return np.concatenate(parts) + points @ bound.at_empty


def _moments(
    bound: BoundFormula, network: Network, points: Floats, burn_in: int, seed: Seed
) -> tuple[Floats, Floats]:
    """Simulate means and variances of the statistics at each point, shapes of `points`."""
    start = Start.of(bound, network)
    interval = max(network.dyads // 5, 100)

    def moments(work: Any) -> tuple[Floats, Floats]:
        theta, generator = work
        trace, _, _ = start.trace(theta, generator, _DRAWS, burn_in, interval)
        return trace.mean(axis=0), trace.var(axis=0)

    drawn = in_threads(moments, list(zip(points, generators(seed, len(points)), strict=True)))
    mean, variance = (np.array(part) for part in zip(*drawn, strict=True))
    return mean, variance
