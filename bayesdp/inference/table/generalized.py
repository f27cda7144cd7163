r"""Logistic and Poisson regressions by measured marginals' moments and latent tables' predictors.

With a canonical link, coefficients beta are the root of

    sum over records of x_i mu(x_i' beta) = X'y.

X'y is a sum over counts of marginals, which `moments` draws, but the left side rests on the law of
all predictors together. Latent tables have one, in which predictors are drawn to independence where
noise is wide, as the outcome is. So a latent table's counts t in the predictors' cells are moved to

    w = t + diag(m) F (F' diag(m) F)^+ (s - F't),

which have the sums s = F'w that were drawn: the number of records and X'X. F are the products of
each two predictors in each cell, m the mean of all latent tables. That is calibration by least
squares (Deville and Sarndal 1992, case 1) in the metric of m. What X'X leaves open of the law,
three predictors together, is the latent table's; for least squares nothing is left open. Newton's
steps begin where the intercept alone has the outcome's mean, and a draw is kept if they end with
the information X' diag(w mu') X positive definite all along, as that of real records is.

With y'y from the moments too, the population's coefficients are drawn from

    N(beta, phi (X' diag(w mu') X)^-1),

phi = n (y'y - sum w mu^2) / (sum w mu') / chi^2(n - p) in Poisson regression, which is
quasi-likelihood (Wedderburn 1974), and for least squares what `moments` draws; phi = 1 in logistic
regression.

In simulated surveys of five columns, three related predictors, 95% intervals cover in logistic and
Poisson regression 95 and 98% at epsilon .5 (1,000 records, 20 surveys), 93 and 93% at 1 (1,000, 25)
and 93 and 97% at 2 (2,000, 20); those of latent tables cover 76 and 81%, 91 and 93%, 92 and 95%,
and are from .3 to .95 times as long. How much the latent tables' law matters: of 10,000 records of
the census table adult, income regressed on five columns at epsilon 1, 94% of coefficients are
covered with resamples of the records for tables, and 87% with tables whose columns are shuffled, 20
releases. Where a label's records are as few as the noise, as good as no draw has a root, and tables
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayesdp.inference.table.design import Design, scaled

Floats = NDArray[np.float64]
_STEPS, _LONGEST, _NEAR, _FAR = 60, 4.0, 1e-9, 100.0
"""Newton's steps, the longest, one that ends them, and where there is no maximum any more, in
linear predictors."""
_MOST = 5 * 10**7
"""Products of predictors, or counts of all tables, in all cells: 400 MB."""
_HELD = 10**6
"""Cells of all draws that Newton's steps are taken for at once."""
_DETERMINED = 1e-10
"""Eigenvalue, of a matrix scaled to a diagonal of 1, of what its other columns determine."""


class Link(NamedTuple):
    """A canonical link.

    Attributes
    ----------
    mean : callable
        Mean of the outcome by the linear predictor.
    slope : callable
        Derivative of the mean, by the mean: the outcome's variance but for phi.
    predictor : callable
        Linear predictor by the mean.
    dispersed : bool
        Whether phi is estimated.
    outcomes : callable
        Whether numbers can be outcomes.
    """

    mean: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    predictor: Callable[[Floats], Floats]
    dispersed: bool
    outcomes: Callable[[Floats], bool]


LINKS = {
    "logit": Link(
        expit, lambda mean: mean * (1 - mean), logit, False, lambda y: set(y) <= {0.0, 1.0}
    ),
    "poisson": Link(np.exp, lambda mean: mean, np.log, True, lambda y: bool(np.all(y >= 0))),
}


@dataclass(frozen=True)
class Predictors:
    """Predictors in the cells that latent tables have, and the tables' counts there.

    Attributes
    ----------
    x : ndarray, shape (cells, coefficients)
    intercept : int or None
        Its place among the coefficients.
    tables : ndarray, shape (tables, cells)
    pairs : tuple of ndarray of int, shape (products,) each
        Places of the predictors whose products' sums are drawn.
    products : ndarray, shape (cells, products + 1)
        These products, and 1.
    sums : ndarray, shape (tables, products + 1)
        Sums of the products over each table, and the number of its records.
    shift : ndarray, shape (products + 1, cells)
        What is added to counts for each unit that a table's sum is short of.
    """

    x: Floats
    intercept: int | None
    tables: Floats
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
    products: Floats
    sums: Floats
    shift: Floats

    @classmethod
    def of(cls, design: Design, tables: Iterable[NDArray[np.integer]]) -> Predictors | None:
        """Count latent tables' records in the predictors' cells; None if too many or none.

        Parameters
        ----------
        design : Design
        tables : iterable of ndarray of int, shape (records, columns)
            Columns in the order by which the design's blocks are numbered, of the records that have
            a value in each.
        """
        p = design.size - 1
        blocks = [block for block in design.blocks if min(block.places) < p]
        used = sorted({k for block in blocks for k in block.columns})
        sizes = (1, *(design.levels[k] for k in used))  # one cell without predictors
        each = [_cells(one, used, sizes) for one in tables]
        cells, where = np.unique(np.concatenate(each), return_inverse=True)
        pairs = np.triu_indices(p)
        if not 0 < cells.size * max(pairs[0].size, len(each)) <= _MOST:
            return None
        split = np.split(where, np.cumsum([len(one) for one in each])[:-1])
        counts = np.array([np.bincount(one, minlength=cells.size) for one in split], dtype=float)
        x = np.ones((cells.size, p))
        codes = dict(zip(used, np.unravel_index(cells, sizes)[1:], strict=True))
        for block in blocks:
            for k, place in enumerate(block.places):
                if place < p:
                    x[:, place] = block.values[*(codes[column] for column in block.columns), k]
        products = np.column_stack([x[:, pairs[0]] * x[:, pairs[1]], np.ones(cells.size)])
        shift = _shift(products, counts.mean(axis=0))
        return cls(x, design.intercept, counts, pairs, products, counts @ products, shift)

    def coefficients(
        self, link: Link, gram: Floats, n: Floats, rng: np.random.Generator, *, sampled: bool
    ) -> Floats:
        """Coefficients of those drawn Z'Z that have some, shape (kept, coefficients).

        Parameters
        ----------
        link : Link
        gram : ndarray, shape (draws, coefficients + 1, coefficients + 1)
            The outcome is the last column of Z.
        n : ndarray, shape (draws,)
            Number of records.
        rng : numpy Generator
        sampled : bool
            Whether the coefficients are the population's, with sampling error.
        """
        size = max(1, _HELD // len(self.x))
        parts = [slice(first, first + size) for first in range(0, len(n), size)]
        made = [self._made(link, gram[one], n[one], rng, sampled=sampled) for one in parts]
        return np.concatenate([np.empty((0, self.x.shape[1])), *made])

    def _made(
        self, link: Link, gram: Floats, n: Floats, rng: np.random.Generator, *, sampled: bool
    ) -> Floats:
        chosen = rng.integers(0, len(self.tables), len(n))
        sums = np.column_stack([gram[:, *self.pairs], n])
        weights = self.tables[chosen] + (sums - self.sums[chosen]) @ self.shift
        beta, fine = self._roots(link, weights, gram[:, :-1, -1], n)
        beta, weights, squares, n = beta[fine], weights[fine], gram[fine, -1, -1], n[fine]
        if not sampled:
            return beta
        mean = link.mean(beta @ self.x.T)
        phi = np.ones(len(n))
        if link.dispersed:
            rest = squares - np.sum(weights * mean**2, axis=1)
            variance = np.sum(weights * link.slope(mean), axis=1)
            phi = n * rest / variance / rng.chisquare(n - beta.shape[1])
        kept = phi > 0  # where not, no outcomes have these squares
        roots = np.linalg.cholesky(self._information(link, weights[kept], mean[kept]))
        errors = np.sqrt(phi[kept])[:, None] * rng.standard_normal(beta[kept].shape)
        moved = np.linalg.solve(roots.swapaxes(1, 2), errors[..., None])[..., 0]
        return np.asarray(beta[kept] + moved)

    def _roots(
        self, link: Link, weights: Floats, goal: Floats, n: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Find where sum w mu x = X'y by Newton's steps, and say where they found a maximum."""
        beta = np.zeros(goal.shape)
        going = np.ones(len(n), dtype=bool)
        if self.intercept is not None:
            overall = goal[:, self.intercept] / n
            going = link.slope(overall) > 0
            beta[going, self.intercept] = link.predictor(overall[going])
        fine = np.zeros(len(n), dtype=bool)
        for _ in range(_STEPS):
            going &= np.abs(beta @ self.x.T).max(axis=1) < _FAR
            k = np.flatnonzero(going)
            mean = link.mean(beta[k] @ self.x.T)
            information = self._information(link, weights[k], mean)
            definite = np.linalg.eigvalsh(scaled(information)[0])[:, 0] > _DETERMINED
            going[k[~definite]] = False
            k, short = k[definite], goal[k] - (weights[k] * mean) @ self.x
            step = np.linalg.solve(information[definite], short[definite][..., None])[..., 0]
            longest = np.abs(step @ self.x.T).max(axis=1)
            beta[k] += step / np.maximum(1.0, longest / _LONGEST)[:, None]
            done = k[longest < _NEAR]
            fine[done], going[done] = True, False
            if not going.any():
                break
        return beta, fine

    def _information(self, link: Link, weights: Floats, mean: Floats) -> Floats:
        """X' diag(w mu') X for each draw."""
        p = self.x.shape[1]
        made = np.empty((len(mean), p, p))
        halves = (weights * link.slope(mean)) @ self.products[:, :-1]
        made[:, *self.pairs] = made[:, *self.pairs[::-1]] = halves
        return made


def _cells(
    table: NDArray[np.integer], columns: Sequence[int], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """Number the cell of some columns that each record is in."""
    codes = [table[:, k].astype(np.int64) for k in columns]
    return np.asarray(np.ravel_multi_index([np.zeros(len(table), np.int64), *codes], sizes))


def _shift(products: Floats, mean: Floats) -> Floats:
    """Make diag(m) F (F' diag(m) F)^+, transposed."""
    weighed = products * mean[:, None]
    gram, length = scaled(products.T @ weighed)
    values, vectors = np.linalg.eigh(gram)
    kept = values > _DETERMINED
    roots = vectors[:, kept] / length[:, None]
    return np.asarray((roots / values[kept]) @ (weighed @ roots).T)
