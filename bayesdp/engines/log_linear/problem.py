"""The sampling problem of a log-linear model and a release, and the tuning of its chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayesdp.engines.log_linear.coefficients import information
from bayesdp.kernels.log_linear.chain import Tuning
from bayesdp.kernels.log_linear.likelihood import Model
from bayesdp.kernels.log_linear.moves import ANSWERS, COEFFICIENTS, NUMBERS, Released

Floats = NDArray[np.float64]

_MOST_JOINT = 2000  # released numbers whose covariance is inverted whole
_NEWTON = 40
_KNOWN = 100_000


@dataclass(frozen=True)
class Problem:
    """Problem of a chain: design, priors, released numbers and guesses.

    Attributes
    ----------
    columns : ndarray, shape (cells, coordinates)
    mean, sd : ndarray, shape (coordinates,)
        The coordinates' prior, with sd where it is fixed.
    owners : ndarray of int, shape (coordinates,)
        The number of a coordinate's tau, or -1.
    scales : ndarray
        Scales of the half-normal priors of tau.
    sizes : sequence of (int, float), optional
        Possible totals and their probabilities; None for independent Poisson counts.
    released : Released
    centre : ndarray
        Estimate of each number's count, averaged over its copies.
    noise : float
        Variance of that estimate around the count.
    information : float
        Information of all copies about a count: the mean squared slope of their log law.
    pairs : ndarray of int, shape (pairs, 2)
        Pairs of cells of a logistic model (`bayesdp.kernels.log_linear.likelihood`).
    """

    columns: Floats
    mean: Floats
    sd: Floats
    owners: NDArray[np.int64]
    scales: Floats
    sizes: Sequence[tuple[int, float]] | None
    released: Released
    centre: Floats
    noise: float
    information: float
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def model(self, *, summed: bool) -> Model:
        """Convert the problem to the model that kernels take."""
        log_sizes = np.zeros(0)
        if self.sizes is not None:
            numbers = np.array([n for n, _ in self.sizes])
            log_sizes = np.full(numbers.max() + 1, -np.inf)
            weights = np.log([p for _, p in self.sizes])
            log_sizes[numbers] = weights + special.gammaln(numbers + 1.0)
        return Model(
            np.ascontiguousarray(self.columns.T),
            self.mean,
            self.sd,
            self.owners,
            self.scales,
            self.sizes is None,
            summed,
            self.sizes is None or len(self.sizes) > 1,
            log_sizes,
            special.gammaln(np.arange(_KNOWN) + 1.0),
            self.pairs,
        )

    def sizes_from_prior(self, draws: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw "n", the total, from its prior; nothing where it is known, or Poisson."""
        if self.sizes is None or len(self.sizes) == 1:
            return {}
        numbers, chances = (np.array(column) for column in zip(*self.sizes, strict=True))
        return {"n": np.asarray(rng.choice(numbers, size=draws, p=chances / chances.sum()))}

    def log_rates(self, u: Floats) -> tuple[Floats, Floats]:
        """Log rates before they are normalised; and derivatives, shape (cells, coordinates)."""
        eta, x = self.columns @ u, self.columns
        if len(self.pairs):
            x = x.copy()
            zero, one = self.pairs.T
            log_odds, effect = eta[one] - eta[zero], x[one] - x[zero]
            for cell in (zero, one):
                eta[cell] -= np.logaddexp(0.0, log_odds)
                x[cell] -= special.expit(log_odds)[:, None] * effect
        return eta, x

    def rates(self, u: Floats) -> Floats:
        """Rates: expected counts of cells, with the total's mean where they are normalised."""
        eta, _ = self.log_rates(u)
        if self.sizes is None:
            return np.exp(np.minimum(eta, 30.0))
        total = sum(n * p for n, p in self.sizes) / sum(p for _, p in self.sizes)
        return np.asarray(special.softmax(eta) * max(total, 1.0))

    def tuning(self, u: Floats) -> tuple[Tuning, Floats]:
        """Tune the moves at one u; return their scales and the release's approximate slope."""
        rates, (_, x) = self.rates(u), self.log_rates(u)
        released = self.released
        if self.sizes is None and released.kind == NUMBERS:
            # Where rates are lower, a step that suits the prior would lead over a wall.
            rates *= max(1.0, 1 / max(rates.max(), 1e-300))
        weighted = rates[:, None] * x
        full = x.T @ weighted
        if self.sizes is not None:
            middle = rates @ x
            full -= np.outer(middle, middle) / rates.sum()
            weighted = weighted - np.outer(rates / rates.sum(), middle)
        if released.kind == ANSWERS:
            return self._answered(rates, weighted)
        shares = rates if self.sizes is None else rates / rates.sum()
        if released.kind == COEFFICIENTS:
            seen, told, score = information(released, rates, weighted)
            return Tuning(full, seen, told, shares, self._widths(rates)), score
        numbers, marginals = len(released.observed), released.places.shape[1]
        moved, expected = np.zeros((numbers, x.shape[1])), np.zeros(numbers)
        for j in range(marginals):
            np.add.at(moved, released.places[:, j], weighted)
            np.add.at(expected, released.places[:, j], rates)
        noise = self.noise
        if marginals == 1 or numbers > _MOST_JOINT:
            weights = moved / (expected + noise)[:, None]
        else:
            covariance = np.diag(np.full(numbers, noise))
            for i in range(marginals):
                for j in range(marginals):
                    pair = (released.places[:, i], released.places[:, j])
                    np.add.at(covariance, pair, rates)
            weights = linalg.solve(covariance, moved, assume_a="pos")
        seen = moved.T @ weights
        score = weights.T @ (self.centre - expected)
        tuning = Tuning(
            np.ascontiguousarray(full),
            np.ascontiguousarray((seen + seen.T) / 2),
            moved.T @ moved * self.information,
            shares,
            self._widths(rates),
        )
        return tuning, score

    def _answered(self, rates: Floats, weighted: Floats) -> tuple[Tuning, Floats]:
        """Tune the moves where records answered; return their scales and the release's slope."""
        starts, cells, weights = (self.released.starts, self.released.cells, self.released.weights)
        counts = self.released.observed[:, 0]
        chance = np.add.reduceat(weights * rates[cells], starts[:-1])
        moved = np.add.reduceat(weights[:, None] * weighted[cells], starts[:-1])
        moved /= chance[:, None]
        seen = moved.T @ (counts[:, None] * moved)
        none = np.zeros((4, rates.size), dtype=np.int64)
        return Tuning(seen, seen, seen, rates, none), moved.T @ counts

    def middle(self) -> Floats:
        """Find a u near its posterior's mode, by Gauss and Newton's steps with normal noise."""
        sd = np.where(self.owners >= 0, np.append(self.scales, 0.0)[self.owners] / 2, self.sd)
        u = self.mean.copy()
        if self.sizes is None and self.released.kind != ANSWERS:
            seen = max(self.centre.sum() / self.released.places.shape[1], 1.0)
            u[0] = np.log(seen / len(self.columns))
        for _ in range(_NEWTON):
            tuning, score = self.tuning(u)
            matrix = tuning.seen + np.diag(1 / sd**2)
            step = linalg.solve(matrix, score - (u - self.mean) / sd**2, assume_a="pos")
            u = u + step * min(1.0, 1 / max(np.abs(self.columns @ step).max(), 1e-12))
            if np.abs(step).max() < 1e-3:
                break
        return u

    def _widths(self, rates: Floats) -> NDArray[np.int64]:
        """Widths of moves, about 1.7 conditional standard deviations of what each changes."""
        within = self.released.within
        share = within.mean(axis=1)
        reached = (within.shape[0], within.shape[0], share.sum(), (share**2).sum())
        made = [
            1.7 / np.sqrt(1 / np.maximum(rates, 1e-3) + numbers / self.noise) for numbers in reached
        ]
        widths = np.maximum(1, np.rint(made)).astype(np.int64)
        if self.sizes is not None and len(self.sizes) > 1:  # so that a total reaches the next one
            widths[0] = np.maximum(widths[0], np.diff(sorted(n for n, _ in self.sizes)).max())
        return widths
