r"""Mixture of normals from which far moves of coefficients are proposed.

A posterior of coefficients given a noisy graph is often bent, with a narrow ridge where triangles
are likely and a wide plain where there are none. One normal that covers both has most of its mass
elsewhere. So the guide has a component around each of some points of the chains' warm-up, with mean
and covariance of the points nearest to it, and a wide one for the tails:

    q(c)  =  tails N(c; m, w^2 S)  +  (1 - tails) / J  sum_j N(c; m_j, w^2 S_j).

A move proposes b from q whatever the coefficients a are, and its ratio has q(a) / q(b).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_COMPONENTS = 100
_NEAREST = 20  # points a term about each, at least; else the next share of all
_SHARE = 0.025
_TAILS, _WIDER, _TAILS_WIDER = 0.1, 1.2, 1.5
_LEAST = 1e-4  # of the start's covariance, so that no component is flat


class Mixture(NamedTuple):
    """Mixture of normal components, none before the first fit.

    Attributes
    ----------
    mean : ndarray of float, shape (components, terms)
    root : ndarray of float, shape (components, terms, terms)
        Lower Cholesky factors of the covariances.
    inverse : ndarray of float, shape (components, terms, terms)
        Their inverses.
    weight : ndarray of float, shape (components,)
        Weights, with sum 1.
    """

    mean: NDArray[np.float64]
    root: NDArray[np.float64]
    inverse: NDArray[np.float64]
    weight: NDArray[np.float64]

    def draw(self, generator: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw from the mixture, shape (size, terms)."""
        which = generator.choice(len(self.weight), size, p=self.weight)
        z = generator.standard_normal((size, self.mean.shape[1]))
        drawn: NDArray[np.float64] = self.mean[which] + (self.root[which] @ z[..., None])[..., 0]
        return drawn


def no_mixture(terms: int) -> Mixture:
    """Make a mixture without components."""
    none = np.empty((0, terms, terms))
    return Mixture(none[:, 0], none, none, np.empty(0))


def fit_mixture(
    points: NDArray[np.float64], least: NDArray[np.float64], generator: np.random.Generator
) -> Mixture:
    """Fit a mixture to points, shape (points, terms); `least` is the covariance of the start.

    Fewer than two points get no mixture.
    """
    size, terms = points.shape
    if size < 2:
        return no_mixture(terms)
    own = np.cov(points.T).reshape(terms, terms) + _LEAST * least
    scaled = points @ np.linalg.inv(np.linalg.cholesky(own)).T
    near = min(size, max(_NEAREST * terms, int(_SHARE * size)))
    means, covariances = [points.mean(axis=0)], [_TAILS_WIDER**2 * own]
    for j in generator.choice(size, min(_COMPONENTS, size), replace=False):
        distance = ((scaled - scaled[j]) ** 2).sum(axis=1)
        nearest = points[np.argpartition(distance, near - 1)[:near]]
        means.append(nearest.mean(axis=0))
        about = np.cov(nearest.T).reshape(terms, terms) + _LEAST * least
        covariances.append(_WIDER**2 * about)
    root: NDArray[Any] = np.linalg.cholesky(np.array(covariances))
    back: NDArray[Any] = np.linalg.inv(root)
    rest = (1.0 - _TAILS) / (len(means) - 1)
    weight = np.append(_TAILS, np.full(len(means) - 1, rest))
    return Mixture(np.array(means), root, back, weight / weight.sum())
