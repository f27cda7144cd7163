r"""Draws of a population's shares from noisy weighted counts by sampled cluster.

Clusters (primary sampling units) j = 1 .. m_h of stratum h are taken for drawn independently, with
replacement, and have the noisy sums of weights t_j, vectors of k categories. The share estimate
p = sum t / sum 1't is a ratio, whose linearised error is a sum over clusters of

    z_j = (t_j - p 1't_j) / sum 1't,

and its variance is estimated by that of the ultimate clusters,

    V = sum_h m_h / (m_h - 1) sum_j (z_j - mean of the stratum's z) (..)'.

The noise is in t_j, independent of cluster to cluster as the sampling is, so that V estimates the
variance of both together, as it does for errors of measurement (Hansen, Hurwitz and Bershad 1961):
no part of it is to be added, and a t law around p, with the scale V, is the posterior that a flat
prior gives under normal totals. With g_j standard normal, and chi^2 of f degrees of freedom,

    p + sum_j g_j sqrt(m_h / (m_h - 1)) (z_j - mean) / sqrt(chi^2 / f)

is a draw of it that needs no matrix. Each is moved to the nearest point of the simplex (Duchi et
al. 2008). f is Welch's (1947) estimate from the strata's own v_h = tr V_h,

    f = (sum_h v_h)^2 / sum_h (v_h^2 / (m_h + 1)) - 2,

from the least m_h - 1 to their sum: it is m - 1 in a single stratum, and in many like ones the
number of clusters less that of strata. Several groups' draws share g and the quantile of chi^2, as
the clusters are the same.

Doubts
------
In simulations of 2 to 30 clusters, with 2 to 12 categories, 95% intervals of the largest share
cover it in less than 93% of samples where the noise in 1't is over a third of it; where the simplex
moves its median by over a quarter of its standard deviation, as it does where many small shares are
in noise around 0; and where f is under 3 and there are over two categories.

Sources: Hansen, Hurwitz and Bershad (1961), Measurement errors in censuses and surveys; Welch
(1947), The generalization of Student's problem; Wolter (2007), Introduction to variance estimation;
Duchi, Shalev-Shwartz, Singer and Chandra (2008), Efficient projections onto the l1-ball.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import Floats

Strata = Sequence[NDArray[np.int64]]
"""Places of each stratum's clusters, two or more."""

_NOISE, _MOVED, _FEW = 1 / 3, 0.25, 3.0  # this module's docstring says why


@dataclass(frozen=True)
class Spread:
    """An estimate of shares, and how far from it the population's may be.

    Attributes
    ----------
    centre : ndarray, shape (k,)
        The estimate.
    parts : ndarray, shape (clusters, k)
        Each cluster's part in its error.
    df : float
        Degrees of freedom.
    noise : float
        Standard deviation of the noise in the sum of all weights, relative to it, from 0 to 1.
    """

    centre: Floats
    parts: Floats
    df: float
    noise: float

    @classmethod
    def between(cls, totals: Floats, strata: Strata, error: float) -> Spread:
        """Find the spread of shares between clusters.

        Parameters
        ----------
        totals : ndarray, shape (clusters, k)
            Noisy sums of weights.
        strata : sequence of ndarray of int
            Places of each stratum's clusters, two or more.
        error : float
            Standard deviation of the noise in the sum of all totals, which is taken for no less.
        """
        whole = max(float(totals.sum()), error)
        centre = totals.sum(axis=0) / whole
        z = (totals - centre * totals.sum(axis=-1, keepdims=True)) / whole
        parts, variance = np.empty_like(z), np.empty(len(strata))
        clusters = np.array([places.size for places in strata])
        for h, places in enumerate(strata):
            m = places.size
            parts[places] = np.sqrt(m / (m - 1)) * (z[places] - z[places].mean(axis=0))
            variance[h] = np.sum(parts[places] ** 2)
        noise = error / whole if whole > 0 else 1.0
        return cls(centre, parts, _degrees(variance, clusters), noise)

    def draw(self, normal: Floats, quantile: Floats) -> Floats:
        """Draw shares, (draws, k), from (draws, clusters) normal and (draws,) uniform variables."""
        chi = 2 * special.gammaincinv(self.df / 2, quantile) / self.df
        return _nearest_shares(self.centre + normal @ self.parts / np.sqrt(chi)[:, None])

    def doubts(self, shares: Floats) -> list[str]:
        """List why intervals of drawn shares, (draws, k), may not cover as they should."""
        found = []
        if self.noise > _NOISE:
            found.append(f"noise is {self.noise:.0%} of their sum of weights")
        largest = int(np.argmax(self.centre))
        sd = math.sqrt(float(np.sum(self.parts[:, largest] ** 2)))
        moved = abs(float(np.median(shares[:, largest]) - self.centre[largest]))
        if moved > _MOVED * sd:
            found.append(
                f"noise around the small shares moves the largest by {moved / sd:.1f} of its "
                "standard deviations"
            )
        if self.df < _FEW:
            found.append(f"their spread is known with {self.df:.1f} degrees of freedom")
        return found


def _nearest_shares(values: Floats) -> Floats:
    """The nearest point of the simplex to each row."""
    ordered = -np.sort(-values, axis=-1)
    over = (ordered.cumsum(axis=-1) - 1) / np.arange(1, values.shape[-1] + 1)
    last = np.sum(ordered > over, axis=-1, keepdims=True) - 1
    return np.maximum(values - np.take_along_axis(over, last, axis=-1), 0.0)


def _degrees(variance: Floats, clusters: NDArray[np.int64]) -> float:
    """Welch's degrees of freedom of a sum of strata's variances."""
    least, most = float(clusters.min() - 1), float(np.sum(clusters - 1))
    squares = float(np.sum(variance**2 / (clusters + 1)))
    if squares == 0:  # no spread at all
        return least
    return float(np.clip(variance.sum() ** 2 / squares - 2, least, most))
