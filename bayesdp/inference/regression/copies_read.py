"""Copies of a table's numbers as a linear regression reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.core.drawn_moments import DrawnMomentsView, places_of_sums
from bayesdp.core.views import view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise
from bayesdp.inference.regression.linear_read import (
    INTERCEPT,
    check_fine,
    in_own_units,
    possible_sizes,
    priors_of,
)
from bayesdp.inference.several import Releases, releases_of
from bayesdp.kernels.regression.copies_chain import Problem
from bayesdp.kernels.regression.copies_law import Copies, Integers, Steps
from bayesdp.kernels.regression.moments import Floats

OTHER = (0.0, 0.1, 1.0, 0.1)
"""Prior (m0, k, a, b) of the regressions of columns that aren't in the model."""


@dataclass(frozen=True)
class ReadCopies:
    """Copies of a regression's columns, the predictors first, then the response, then others.

    Attributes
    ----------
    problem : Problem
        What the kernels are given.
    clipped : int
        Number of the copies' numbers that were set to a bound.
    known : tuple of n, mean and rows
        Moments of all copies' records, as if these were the confidential ones; rows S of S'S, the
        scatter.
    prior : tuple
        The prior (m0, k, a, b) in its standard form.
    names : tuple of str
        Names of the coefficients.
    ends : ndarray, shape (chosen columns, 2)
        Bounds of the predictors and the response.
    left_out : tuple of str
        Columns of the release that tell nothing here.
    """

    problem: Problem
    clipped: int
    known: tuple[Floats, Floats, Floats]
    prior: tuple[Any, ...]
    names: tuple[str, ...]
    ends: Floats
    left_out: tuple[str, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """The least and the largest number of records, which is public."""
        return int(self.problem[0]), int(self.problem[0])

    @property
    def noises(self) -> list[Noise]:
        """None: no noisy number was released that could be too far from all that records have."""
        return []

    def coefficients(
        self, n: Floats, mean: Floats, rows: Floats, rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Draw "beta" and "sigma" for each draw of the moments, in the columns' own units."""
        d = len(self.ends)
        return in_own_units(self.prior, self.ends, n, mean[..., :d], rows[..., :d], rng)


def reads_copies(release: Releases) -> bool:
    """Return True if one of the releases is of copies whose numbers were drawn by noisy sums."""
    return any(
        view_of(p.mechanism, DrawnMomentsView) for r in releases_of(release) for p in r.parts
    )


def read_copies(
    release: Releases,
    *,
    response: str,
    predictors: Sequence[str] | None,
    prior: Any,
    predictors_prior: Any,
    sizes: range | None,
) -> ReadCopies:
    """Read the copies of one release.

    Raises
    ------
    InvalidInput
        If there are several releases, or groups, or the columns or priors don't fit.
    """
    releases = releases_of(release)
    if len(releases) > 1:
        raise InvalidInput(
            f"there are {len(releases)} releases, and one is of synthetic copies, whose noisy sums "
            "were not released; such copies are fitted by themselves: give that release alone"
        )
    view: Any = view_of(releases[0].mechanism, DrawnMomentsView)
    order = _order(view, response, predictors)
    p = len(order) - 1 if predictors is None else len(predictors)
    possible_sizes(view.n, sizes, len(order) + 1)
    checked, arrays = priors_of(prior, predictors_prior, p)
    names = list(view.bounds)
    place = [names.index(name) for name in order]
    ends = np.array([view.bounds[name] for name in order])
    tables = [view.numbers(output) for output in releases[0].outputs]
    pooled = np.concatenate(tables)[:, place]
    mean = pooled.mean(axis=0)
    rows = np.linalg.qr(pooled - mean).R
    steps = _steps(view, place)
    copies = _copies(view, tables)
    base = _base(np.cov(pooled.T, bias=True), view, len(tables))
    whole = (mean, base), arrays, np.array(OTHER)
    return ReadCopies(
        (float(view.n), whole, steps, copies),
        copies[3].size,
        (np.array(float(len(pooled))), mean, rows),
        checked,
        (INTERCEPT, *order[:p]),
        ends[: p + 1],
        view.left_out,
    )


def _order(view: DrawnMomentsView, response: str, predictors: Sequence[str] | None) -> list[str]:
    """Order the view's columns: predictors, response, others."""
    columns = list(view.bounds)
    asked = [response, *(predictors or ())]
    if unknown := [name for name in asked if name not in columns]:
        why = ""
        if left := [name for name in unknown if name in view.left_out]:
            why = (
                f" (columns {left} of it are labels, or numbers drawn in cells of labels, whose "
                "law no model here has: analyse each copy as data and combine the results with "
                "bdp.combine)"
            )
        raise InvalidInput(
            f"response is {quoted(response)} and predictors is {quoted(predictors)}, but {unknown} "
            f"aren't among the columns that a regression can read here, {columns}{why}"
        )
    if predictors is None:
        predictors = [name for name in columns if name != response]
    if not predictors:
        raise InvalidInput(
            f"response is {quoted(response)}, and the release has no other column to regress it "
            "on that was drawn without labels; bdp.combine is for anything else in its copies"
        )
    if INTERCEPT in predictors:
        raise InvalidInput(
            f"a predictor is called {quoted(INTERCEPT)}, as the regression's constant is; release "
            "it under another name"
        )
    chosen = [*predictors, response]
    return [*chosen, *(name for name in columns if name not in chosen)]


def _steps(view: DrawnMomentsView, place: Sequence[int]) -> Steps:
    """Lay out the steps for the kernels, columns by their places in the model's order."""
    many, d = len(view.drawn), len(place)
    width = max(len(step.cells) for step in view.drawn)
    where = np.zeros((many, width), dtype=np.int64)
    sizes = np.zeros((many, 3), dtype=np.int64)
    most = max(len(step.columns) for step in view.drawn)
    products = np.zeros((many, most, most + 1, most + 1))
    variance = np.ones((many, most, 2))
    scales = np.ones((many, width))
    ends = np.zeros((many, 2, width))
    laplace = set()
    for s, step in enumerate(view.drawn):
        own = [place.index(c) for c in step.columns]
        sums, cells = places_of_sums(own, d), step.cells
        where[s, : len(sums)] = sums
        sizes[s] = len(own), step.given, len(sums)
        for i, cell in enumerate(cells):
            check_fine(cell)
            low, high = cell.bounds or (None, None)
            ends[s, 0, i] = -math.inf if low is None else float(low)
            ends[s, 1, i] = math.inf if high is None else float(high)
            scales[s, i] = cell.scale
            laplace.add(cell.noise.laplace)
        for j, prior in enumerate(step.priors, step.given):
            products[s, j, : j + 2, : j + 2] = prior.products
            variance[s, j] = prior.shape, prior.rate
    return Steps(where, sizes, products, variance, scales, ends, not laplace.pop())


def _copies(view: DrawnMomentsView, tables: Sequence[Floats]) -> Copies:
    """Sums of each copy's steps, and its numbers that were set to a bound."""
    many, widest = len(tables), max(len(step.columns) for step in view.drawn)
    shape = (many, len(view.drawn), widest + 1)
    grams = np.zeros((*shape, widest + 1))
    firsts: Integers = np.zeros(shape, dtype=np.int64)
    designs, bounds, count = [np.zeros((0, widest + 1))], [np.zeros(0)], 0
    for m, table in enumerate(tables):
        for s, step in enumerate(view.drawn):
            d = len(step.columns)
            x = np.zeros((len(table), widest + 1))
            x[:, 0], x[:, 1 : d + 1] = 1.0, table[:, step.columns]
            grams[m, s] = x.T @ x
            for j in range(d):
                firsts[m, s, j] = count
                if j >= step.given:
                    at = np.abs(x[:, j + 1]) >= 1
                    designs.append(x[at])
                    bounds.append(x[at, j + 1])
                    count += int(at.sum())
            firsts[m, s, d:] = count
    return Copies(grams, firsts, np.concatenate(designs), np.concatenate(bounds))


def _base(covariance: Floats, view: DrawnMomentsView, copies: int) -> Floats:
    """Root of the copies' covariance, no variance of which is less than noise's share of it."""
    scale = min(cell.scale for step in view.drawn for cell in step.cells)
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    least = min(scale / (view.n * math.sqrt(copies)), 0.01)
    values = np.maximum(values, least + 1e-9)
    root = np.linalg.cholesky((vectors * values) @ vectors.T)
    return np.ascontiguousarray(root)
