"""Run the chains of a log-linear model: start, tune, and collect."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayesdp.engines.draws import Draws
from bayesdp.engines.log_linear_chain import Tuning, chain
from bayesdp.engines.log_linear_coefficients import information
from bayesdp.engines.log_linear_likelihood import Model
from bayesdp.engines.log_linear_moves import ANSWERS, COEFFICIENTS, NUMBERS, Released
from bayesdp.errors import EngineFailed
from bayesdp.progress import Step, bar

Floats = NDArray[np.float64]

_STAGES = (0.2, 0.3, 0.5)  # of the warm-up: after each but the last, moves are scaled anew
_MOST_JOINT = 2000  # released numbers whose covariance is inverted whole
_NEWTON = 40
_JOINTS = 2  # joint moves an iteration
_JOINTS_OF_COEFFICIENTS = 10  # which leave the table nearly free
_RARELY = 0.01  # joint moves accepted less often in a stage of the warm-up are left out
_KNOWN = 100_000


@dataclass(frozen=True)
class Problem:
    """What a chain needs.

    Attributes
    ----------
    columns : ndarray, shape (cells, coordinates)
    mean, sd : ndarray, shape (coordinates,)
        The coordinates' prior, with sd where it is fixed.
    owners : ndarray of int, shape (coordinates,)
        The number of a coordinate's tau, or -1.
    scales : ndarray
        Of the half-normal priors of tau.
    sizes : sequence of (int, float), optional
        Possible totals and their probabilities; None for independent Poisson counts.
    released : Released
    centre : ndarray
        What each number's copies say of its count, on average.
    noise : float
        Variance of that about the count.
    information : float
        What all copies tell of it: the squared slope of their log law, on average.
    pairs : ndarray of int, shape (pairs, 2)
        Of a logistic model (`bayesdp.engines.log_linear_likelihood`).
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
        """What kernels take."""
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

    def log_rates(self, u: Floats) -> tuple[Floats, Floats]:
        """Before they are normalised; and their derivatives, shape (cells, coordinates)."""
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
        """Expected counts of the cells, with the total's mean where they are normalised."""
        eta, _ = self.log_rates(u)
        if self.sizes is None:
            return np.exp(np.minimum(eta, 30.0))
        total = sum(n * p for n, p in self.sizes) / sum(p for _, p in self.sizes)
        return np.asarray(special.softmax(eta) * max(total, 1.0))

    def tuning(self, u: Floats) -> tuple[Tuning, Floats]:
        """Scales of the moves at one value of u, and the release's slope there, both nearly."""
        rates, (_, x) = self.rates(u), self.log_rates(u)
        released = self.released
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
        """The same where records answered."""
        starts, cells, weights = (self.released.starts, self.released.cells, self.released.weights)
        counts = self.released.observed[:, 0]
        chance = np.add.reduceat(weights * rates[cells], starts[:-1])
        moved = np.add.reduceat(weights[:, None] * weighted[cells], starts[:-1])
        moved /= chance[:, None]
        seen = moved.T @ (counts[:, None] * moved)
        none = np.zeros((4, rates.size), dtype=np.int64)
        return Tuning(seen, seen, seen, rates, none), moved.T @ counts

    def middle(self) -> Floats:
        """A u near its posterior's mode, by Gauss and Newton's steps with normal noise."""
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
        """About 1.7 standard deviations of what a move changes, given all else."""
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


def sample(
    problem: Problem,
    *,
    summed: bool,
    draws: int,
    chains: int,
    warmup: int,
    thin: int,
    seed: int | None,
    known: NDArray[np.int64] | None = None,
    progress: bool | None = False,
) -> Draws:
    """Draws of "u", shape (chains, draws, coordinates), of "tau" where one isn't fixed, and of "n".

    With `known`, the table is this one, and only u and tau are drawn.

    Raises
    ------
    EngineFailed
        If a chain comes to where the likelihood is no number.
    """
    import numba

    model = problem.model(summed=summed)
    middle = problem.middle()
    children = np.random.SeedSequence(seed).spawn(chains)
    pool = ThreadPoolExecutor(min(chains, os.cpu_count() or 1))
    with bar(progress, chains * (warmup + draws * thin)) as step, pool:
        given = (draws, warmup, thin, known, step)
        found = list(pool.map(lambda s: _one(problem, model, middle, s, *given), children))
    u, tau, totals, lp, rates = (np.stack(each) for each in zip(*found, strict=True))
    if not np.all(np.isfinite(lp)):
        raise EngineFailed("a chain came to where the likelihood is no number; tighten the priors")
    posterior = {"u": u} | ({"tau": tau} if problem.scales.size else {})
    if problem.sizes is not None and len(problem.sizes) > 1:
        posterior["n"] = totals
    stats = {"lp": lp, "acceptance_rate": rates[..., 0], "diverging": rates[..., 2] > 0}
    if not summed:
        stats["acceptance_rate_joint"] = rates[..., 1]
    return Draws(posterior, stats, "hmc" if summed else "gibbs", {"numba": numba.__version__})


def _one(
    problem: Problem,
    model: Model,
    middle: Floats,
    seed: np.random.SeedSequence,
    draws: int,
    warmup: int,
    thin: int,
    known: NDArray[np.int64] | None,
    step: Step,
) -> tuple[Any, ...]:
    """One chain, from a start that is spread wider than the posterior, nearly."""
    rng = np.random.default_rng(seed)
    often = _JOINTS_OF_COEFFICIENTS if problem.released.kind == COEFFICIENTS else _JOINTS
    joints = 0 if model.summed else often if known is None else -1
    tau = problem.scales * np.abs(rng.normal(0.5, 0.2, problem.scales.size))
    sd = np.where(problem.owners >= 0, np.append(tau, 0.0)[problem.owners], problem.sd)
    tuning = problem.tuning(middle)[0]
    factor = np.linalg.cholesky(tuning.seen + np.diag(1 / sd**2))
    u = middle + 1.5 * linalg.solve_triangular(factor.T, rng.normal(size=middle.size))
    rates = problem.rates(u)
    if problem.sizes is None:
        x = rng.poisson(rates)
    else:
        weights = np.array([p for _, p in problem.sizes])
        total = rng.choice([n for n, _ in problem.sizes], p=weights / weights.sum())
        x = rng.multinomial(total, rates / rates.sum())
    x = _possible(x.astype(np.int64), problem.released) if known is None else known.copy()
    log_steps = np.log([0.2, 0.2])
    run: Any = chain
    for k, share in enumerate(_STAGES):
        tuning, last = problem.tuning(middle)[0], k == len(_STAGES) - 1
        early = max(1, round(share * warmup))
        plan = (early, draws, thin) if last else (early - early // 2, max(1, early // 2), 1)
        found: tuple[Any, ...] = run(
            model, problem.released, tuning, u, tau, x, log_steps, *plan, joints,
            int(rng.integers(2**31)),
        )  # fmt: skip
        step(early + (draws * thin if last else 0))
        middle = found[0].mean(axis=0)
        if not last and joints > 0 and found[-1][:, 1].mean() < _RARELY:
            joints = 0
    return found


def _possible(x: NDArray[np.int64], released: Released) -> NDArray[np.int64]:
    """The table moved to where its law isn't zero, with the same total if there is room."""
    if released.kind != NUMBERS or not released.table.shape[1]:
        return x
    finite = released.table > -np.inf
    first = released.first + finite.argmax(axis=1)
    last = released.first + finite.shape[1] - 1 - finite[:, ::-1].argmax(axis=1)
    low, high = first[released.places].max(axis=1), last[released.places].min(axis=1)
    made = np.clip(x, low, high)
    for c in range(x.size):
        excess = int(made.sum() - x.sum())
        made[c] -= min(max(excess, made[c] - high[c]), made[c] - low[c])
    return np.asarray(made)
