r"""Likelihoods of a proportion, its count summed out: smooth curves, tabulated to ten digits.

    L(p) = sum over x of law(x) C(n, x) p^x (1 - p)^(n - x)

is the likelihood of p from a group's outputs, whatever the prior of p. Where law is log-concave,
so are the terms, and L(p) is summed outwards from its largest term until the rest is below e^-40
of it.
log L is smooth in t = log(p / (1 - p)): it is interpolated in Chebyshev points on panels, which are
halved until L summed at other points agrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import special

from bayesdp.kernels.likelihood_curves import sums_around
from bayesdp.mechanisms.laws import beta_log_kernel

Floats = NDArray[np.float64]

POINTS = 16  # of a panel
_CHECKS = np.cos(np.pi * np.arange(0.35, 16.0, 1.7) / 16)  # between its points, and near its ends
_NEAR = 1e-9  # what log L may be off by
_NEAR_ENOUGH = 1e-3  # where L is negligible
_NEGLIGIBLE = 40.0  # log of the share of what isn't seen in a double
_MOST = 2000  # panels


@dataclass(frozen=True)
class Curve:
    """log L on panels of t, and beyond them where a single count is all that remains of the sum.

    Attributes
    ----------
    edges : ndarray, shape (panels + 1,)
        Ascending t.
    coefficients : ndarray, shape (panels, 16)
        Coefficients of Chebyshev polynomials on each panel.
    highest : ndarray, shape (panels,)
        An upper bound of log L on each panel.
    ends : tuple of four floats
        The first and the last count, and the logs of law(x) C(n, x) at them.
    worth : ndarray, shape (panels,)
        How many records would be as informative about p: the largest curvature of log L in t,
        divided by p (1 - p).
    """

    edges: Floats
    coefficients: Floats
    highest: Floats
    ends: tuple[float, float, float, float]
    worth: Floats


def likelihood_curve(law: Floats, counts: NDArray[np.int64], n: int, least: float) -> Curve | None:
    """Tabulate log L of a group.

    Parameters
    ----------
    law : ndarray, shape (counts,)
        log Pr[outputs | x], log-concave in x.
    counts : ndarray of int, shape (counts,)
        These x, consecutive; the law of others is negligible.
    n : int
        Number of records.
    least : float
        How far below its largest log L is negligible.

    Returns
    -------
    Curve or None
        None where the panels never agree with the sums, or there are fewer than three counts.
    """
    if law.size < 3:
        return None
    x = counts.astype(np.float64)
    slopes = np.diff(law) + np.log((n - x[:-1]) / (x[1:]))
    # Beyond these two, the first or the last count's term is all but e^-40 of the sum.
    low, high = -_NEGLIGIBLE - float(slopes[0]), _NEGLIGIBLE - float(slopes[-1])
    if not (np.isfinite(slopes).all() and low < high):
        return None
    ratios = np.exp(slopes)

    def exact(t: Floats) -> Floats:
        modes = slopes.size - np.searchsorted(slopes[::-1], -t.ravel())
        sums = sums_around(ratios, t.ravel(), modes)
        logs = law[modes] + _log_binomial(x[modes], n, t.ravel()) + np.log(sums)
        return np.asarray(logs.reshape(t.shape))

    nodes = chebyshev.chebpts1(POINTS)
    fit = np.linalg.inv(chebyshev.chebvander(nodes, POINTS - 1)).T
    seen = chebyshev.chebvander(_CHECKS, POINTS - 1).T
    edges = np.linspace(low, high, int(np.ceil((high - low) / 2)) + 1)
    left, right, best = edges[:-1], edges[1:], -np.inf
    done: list[tuple[Floats, Floats, Floats, Floats]] = []
    panels = 0
    while left.size:
        middle, half = ((left + right) / 2)[:, None], ((right - left) / 2)[:, None]
        at_nodes, at_checks = exact(middle + half * nodes), exact(middle + half * _CHECKS)
        coefficients = at_nodes @ fit
        highest = np.maximum(at_nodes.max(axis=1), at_checks.max(axis=1))
        best = max(best, float(highest.max()))
        off = np.abs(coefficients @ seen - at_checks).max(axis=1)
        good = off <= np.where(highest > best - least, _NEAR, _NEAR_ENOUGH)
        done.append((left[good], right[good], coefficients[good], highest[good]))
        panels += left.size
        if panels > _MOST:
            return None
        centre = middle[~good, 0]
        left, right = np.r_[left[~good], centre], np.r_[centre, right[~good]]
    lefts, rights, every, tops = (np.concatenate(each) for each in zip(*done, strict=True))
    order = np.argsort(lefts)
    ways = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    return Curve(
        np.r_[lefts[order], rights.max()],
        np.ascontiguousarray(every[order]),
        tops[order] + 1.0,
        (x[0], x[-1], float(law[0] + ways[0]), float(law[-1] + ways[-1])),
        _worth(lefts[order], rights[order], every[order], n),
    )


def _worth(left: Floats, right: Floats, coefficients: Floats, n: int) -> Floats:
    nodes, half = chebyshev.chebpts1(POINTS), ((right - left) / 2)[:, None]
    t = ((left + right) / 2)[:, None] + half * nodes
    bend = chebyshev.chebval(nodes, chebyshev.chebder(coefficients.T, 2)) / half**2
    variance = special.expit(t) * special.expit(-t) + 1 / n
    return np.asarray(np.maximum((-bend / variance).max(axis=1), 0.0))


def _log_binomial(x: Floats, n: int, t: Floats) -> Floats:
    """Log of the binomial probability of x at log odds t."""
    inside = (x > 0) & (x < n)
    k = np.where(inside, x, n / 2)
    law = beta_log_kernel(special.expit(t), special.expit(-t), k, n - k) + np.log(n / k / (n - k))
    alike = np.where(x == 0, special.log_expit(-t), special.log_expit(t))
    return np.asarray(np.where(inside, law, n * alike))
