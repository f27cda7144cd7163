r"""Copies given that theta is uniform in a cell, and their laws.

The law of a copy y given the cell from e to f is (integral of p(y | theta) dtheta) / (f - e).

Binary records: with theta = sin^2(phi) the likelihood sin^(2 z) cos^(2 (size - z)), and the
derivative sin(2 phi) of theta, are as wide as 1 / (2 sqrt(size)), wherever phi is: Gauss and
Legendre's rule on pieces of that width. Normal records: the log-likelihood bends by at most
size / sd^2, and the rule is on pieces of 3 sd / sqrt(size). Three categories: `triangles`.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.gaussian_draws import records_around
from bayesdp.mechanisms.families.gaussian_laws import GaussianRecords
from bayesdp.mechanisms.families.triangles import log_given_triangle, points_in
from bayesdp.mechanisms.randomness import generator

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


class Copying(Protocol):
    """Protocol of the parts of a mechanism that a copy depends on, given the parameter."""

    @property
    def family(self) -> Family:
        """Model of the records."""

    @property
    def size(self) -> int:
        """Number of records in a copy."""

    @property
    def bounding(self) -> str:
        """Name of the way in which records are kept within the family's bounds."""


def parameters_in(edges: Floats, cells: NDArray[np.int64]) -> Floats:
    """Draw a uniform parameter in each of the cells: post-processing."""
    if edges.ndim > 1:
        return points_in(edges[cells])
    return np.asarray(generator().uniform(edges[cells], edges[cells + 1]))


def copies_at(mechanism: Copying, theta: Floats) -> NDArray[Any]:
    """Draw one copy for each parameter, from the generator of releases: post-processing."""
    family = mechanism.family
    if isinstance(family, Gaussian):
        sd = np.full(theta.shape, float(family.sd or 0))
        return records_around(family, theta, sd, mechanism.size, mechanism.bounding)
    if isinstance(family, Categorical):
        return np.asarray(generator().multinomial(mechanism.size, theta), dtype=np.int64)
    return np.asarray(generator().binomial(mechanism.size, theta), dtype=np.int64)


def log_given_cell(mechanism: Copying, output: Any, edges: Floats) -> Floats:
    """Log Pr[output | theta uniform in each cell]; the outputs' axes, then the cells."""
    if isinstance(mechanism.family, Bernoulli):
        return _counts_given_cell(np.asarray(output), mechanism.size, edges)
    if isinstance(mechanism.family, Categorical):
        return log_given_triangle(output, mechanism.size, edges)
    y = np.asarray(output, dtype=np.float64)
    if y.ndim == 0 or y.shape[-1] != mechanism.size:
        raise InvalidInput(f"output has shape {y.shape}; it must be (..., {mechanism.size})")
    records = GaussianRecords(mechanism.family, mechanism.bounding, y)  # type: ignore[arg-type]
    sd = float(getattr(mechanism.family, "sd", None) or 0)
    width = edges[1] - edges[0]
    pieces = math.ceil(width * math.sqrt(mechanism.size) / (3 * sd))
    theta, weights = _rule(edges, pieces)
    logs = np.full((*y.shape[:-1], edges.size - 1), -np.inf)
    for c, (points, log_weights) in enumerate(zip(theta, weights, strict=True)):
        terms = records.log_likelihood(points) + log_weights
        logs[..., c] = scipy.special.logsumexp(terms, axis=-1) - math.log(edges[c + 1] - edges[c])
    return np.where(records.inside[..., None], logs, -np.inf)


def _counts_given_cell(z: NDArray[Any], size: int, edges: Floats) -> Floats:
    angles = np.arcsin(np.sqrt(edges))
    pieces = math.ceil(float(np.diff(angles).max()) * 2 * math.sqrt(size + 1))
    phi, log_weights = _rule(angles, pieces)
    one, zero = 2 * np.log(np.sin(phi)), 2 * np.log(np.cos(phi))
    log_weights = log_weights + np.log(np.sin(2 * phi)) - np.log(np.diff(edges))[:, None]
    logs = np.full((*z.shape, edges.size - 1), -np.inf)
    for each in np.unique(z[(z >= 0) & (z <= size) & (z == np.floor(z))]):
        log_choose = -math.log1p(size) - scipy.special.betaln(each + 1, size - each + 1)
        terms = each * one + (size - each) * zero + log_weights
        logs[z == each] = scipy.special.logsumexp(terms, axis=-1) + log_choose
    return logs


def _rule(edges: Floats, pieces: int) -> tuple[Floats, Floats]:
    """Points and log weights within each interval, shape (intervals, pieces nodes)."""
    width = np.diff(edges) / pieces
    places = (np.arange(pieces)[:, None] + (1 + _NODES) / 2).ravel()
    points = edges[:-1, None] + width[:, None] * places
    weights = np.log(width / 2)[:, None] + np.log(np.tile(_WEIGHTS, pieces))
    return points, weights
