r"""Latent class model of a table, fitted to noisy counts of its marginals: where chains start.

With class shares w and a column's probabilities psi_j in each class, the expected count of a
marginal's cell is n sum_k w_k prod_j psi_jk(x_j). The mode minimizes

    sum over cells of (seen - expected)^2 / (2 v) + ridge / 2 sum of squared logits,

v the noise's variance plus that of a count, by L-BFGS over the logits of w and psi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Floats = NDArray[np.float64]

_RIDGE = 0.05
_STEPS = 500
_SQUARE = 2000
"""Levels of all columns up to which all pairs' counts are held as one square."""


class Copied(NamedTuple):
    """Synthetic copy drawn by a marginal's noisy counts, which weren't released themselves.

    Attributes
    ----------
    counts : ndarray of float, a dimension for each of the marginal's columns
        Records of the copy.
    given : int
        Number of the first columns, given whose levels the copy has the others'.
    prior : float
        Parameter of the Dirichlet prior of their probabilities, the same for all.
    ends : tuple of float
        Ends of the range that noisy counts were kept in, each set to the nearest.
    """

    counts: Floats
    given: int
    prior: float
    ends: tuple[float, float]


class Noisy(NamedTuple):
    """Noisy counts of one marginal, and the law of their noise.

    Attributes
    ----------
    columns : tuple of int
        Places of its columns.
    counts : ndarray of float, a dimension for each column
        Whole numbers. Where they weren't released, those that a chain starts from.
    scale : float
        sigma where the noise is discrete Gaussian, else t of discrete Laplace noise.
    gaussian : bool
    copied : Copied, optional
        What was released instead, if they weren't.
    """

    columns: tuple[int, ...]
    counts: Floats
    scale: float
    gaussian: bool
    copied: Copied | None = None

    @property
    def rate(self) -> float:
        """Factor in the exponent of the noise's law."""
        return 0.5 / self.scale**2 if self.gaussian else 1 / self.scale

    def margin(self, column: int) -> Floats:
        """Counts of one of its columns, which are summed over the others."""
        return np.asarray(
            self.counts.sum(axis=tuple(t for t, k in enumerate(self.columns) if k != column))
        )

    @property
    def variance(self) -> float:
        """Variance of the noise: of Laplace's 2 q / (1 - q)^2, q = exp(-1 / t)."""
        if self.gaussian:
            return self.scale**2
        return max(0.5 * math.sinh(min(0.5 / self.scale, 250.0)) ** -2, 1e-2)

    def noise(self, rng: np.random.Generator, copies: int) -> Floats:
        """Draw noise of its law, shape (copies, ...), rounded to whole numbers if Gaussian."""
        shape = (copies, *self.counts.shape)
        if self.gaussian:
            return np.asarray(np.rint(rng.normal(0.0, self.scale, shape)))
        chance = -np.expm1(-1 / self.scale)
        both = rng.geometric(chance, (2, *shape))
        return np.asarray(both[0] - both[1], dtype=np.float64)


class Mode(NamedTuple):
    """A fitted latent class model.

    Attributes
    ----------
    shares : ndarray, shape (classes,)
    columns : list of ndarray, shape (classes, levels) each
        Each column's probabilities in each class.
    """

    shares: Floats
    columns: list[Floats]


def fitted_mode(
    levels: Sequence[int], seen: Sequence[Noisy], n: float, classes: int, rng: np.random.Generator
) -> Mode:
    """Fit the model from a random start near the columns' own shares.

    Parameters
    ----------
    levels : sequence of int
        Numbers of levels of the columns.
    seen : sequence of Noisy
    n : float
        Approximate number of records.
    classes : int
    rng : numpy Generator
    """
    ends = np.concatenate([[0], np.cumsum(levels)])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    base = _own_logits(levels, seen)
    at_once = base.size <= _SQUARE
    pairs = [one for one in seen if len(one.columns) == 2 and at_once]
    whole, weights = _square(ends if at_once else ends[:1])
    for one in pairs:
        a, b = (parts[k] for k in one.columns)
        inverse = 1 / (one.variance + np.maximum(one.counts, 0))
        whole[a, b] += inverse * one.counts
        weights[a, b] += inverse
        whole[b, a], weights[b, a] = whole[a, b].T, weights[a, b].T
    whole = np.divide(whole, weights, out=whole, where=weights > 0)
    others = [one for one in seen if len(one.columns) != 2 or not at_once]

    def split(point: Floats) -> tuple[Floats, Floats, Floats]:
        logits = point[classes:].reshape(classes, -1)
        psi = np.concatenate([_softmax(logits[:, part]) for part in parts], axis=1)
        return _softmax(point[None, :classes])[0], logits, psi

    def loss(point: Floats) -> tuple[float, Floats]:
        w, logits, psi = split(point)
        value, by_w, by_psi = 0.0, np.zeros(classes), np.zeros_like(psi)
        if pairs:
            off = n * (psi.T @ (psi * w[:, None])) - whole
            pull = off * weights  # each pair is in it twice
            along = psi @ pull
            value = 0.25 * float(np.sum(pull * off))
            by_w, by_psi = 0.5 * n * (along * psi).sum(axis=1), n * w[:, None] * along
        for one in others:
            value += _add_marginal(one, n, w, psi, parts, by_w, by_psi)
        away = logits - base
        value += 0.5 * _RIDGE * float(np.sum(away**2) + np.sum(point[:classes] ** 2))
        slopes = [
            psi[:, part] * (by_psi[:, part] - (by_psi[:, part] * psi[:, part]).sum(1)[:, None])
            for part in parts
        ]
        by_logits = np.concatenate(slopes, axis=1) + _RIDGE * away
        by_shares = w * (by_w - by_w @ w) + _RIDGE * point[:classes]
        return value, np.concatenate([by_shares, by_logits.ravel()])

    noise = rng.normal(0, 0.5, (classes, base.size))
    start = np.concatenate([rng.normal(0, 0.3, classes), (base + noise).ravel()])
    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "maxcor": 20}
    minimize: Any = optimize.minimize
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    w, _, psi = split(found.x)
    return Mode(w, [psi[:, part] for part in parts])


def _square(ends: Any) -> tuple[Floats, Floats]:
    return np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))


def _softmax(logits: Floats) -> Floats:
    """Probabilities along the last axis."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    made: Floats = raised / raised.sum(axis=1, keepdims=True)
    return made


def _own_logits(levels: Sequence[int], seen: Sequence[Noisy]) -> Floats:
    """Logs of each column's own shares, from the marginals that have it."""
    made = []
    for k, size in enumerate(levels):
        total = np.full(size, 0.5)
        for one in seen:
            if k in one.columns:
                cells = one.counts.size / size
                total += np.maximum(one.margin(k), 0.5) / (1 + one.variance * cells)
        made.append(np.log(total / total.sum()))
    return np.concatenate(made)


def _add_marginal(
    one: Noisy, n: float, w: Floats, psi: Floats, parts: Sequence[slice], by_w: Any, by_psi: Any
) -> float:
    """Return what a marginal adds to the loss, and add to its slopes by w and psi."""
    each = [psi[:, parts[k]] for k in one.columns]
    product = _product(each)
    off = n * (w @ product) - one.counts.ravel()
    pull = off / (one.variance + np.maximum(one.counts.ravel(), 0))
    by_w += n * (product @ pull)
    table = pull.reshape(one.counts.shape)
    for place, k in enumerate(one.columns):
        rest = _product(each[:place] + each[place + 1 :])
        turned = np.moveaxis(table, place, 0).reshape(table.shape[place], -1)
        by_psi[:, parts[k]] += n * w[:, None] * (rest @ turned.T)
    return 0.5 * float(pull @ off)


def _product(each: Sequence[Floats]) -> Floats:
    """Probabilities of all cells of some columns in each class, the last moving fastest."""
    made = np.ones((each[0].shape[0] if each else 1, 1))
    for one in each:
        made = (made[:, :, None] * one[:, None, :]).reshape(one.shape[0], -1)
    return made
