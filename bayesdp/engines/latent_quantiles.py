r"""Chains over a population's location and scale, and confidential records that were only ranked.

    location ~ N(m, s^2),  log scale ~ N(log c, d^2),  w_i ~ N(0, 1),  x_i = location + scale w_i,

i = 1, ..., n, where n may have a prior, and Pr[outputs | x] depends on the numbers of records in
the cells of a grid alone. A release says little of single records, so that steps of location and
scale given x would crawl, while given w they move all of x at once. A sweep has, for each chain,

* steps of location given w, and of the scale with one of the sample's quantiles kept, or a draw of
  it from the prior. Lengths of steps are drawn from decades, so that none need be tuned.
* some records' w drawn anew from N(0, 1), any number from one to all; none, one or two of the
  sample's quantiles are kept, by moving location and scale, so that outputs stay as likely. Where
  outputs tell of a mean between two quantiles, that mean of w stands for a quantile;
* location or scale given x, where the law cancels: this mixes where epsilon is large;
* where n has a prior, some records more or fewer, or a draw of n; those that come, from N(0, 1).

Each is a Metropolis step on the target, whose ratio is that of Pr[outputs | x], the prior, or both.
Chains are steps of one array, as the law of all of them is computed at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.progress import Step, no_step

Floats = NDArray[np.float64]
Rng = np.random.Generator
Prior = tuple[float, float, float, float]
"""(m, s, c, d): location ~ N(m, s^2), log scale ~ N(log c, d^2)."""

_SWEEPS = 5  # for each draw
_STARTS = 60  # draws from the prior that a chain's start is chosen from
_GRID, _ZOOMS, _DEEP = 121, 6, 18.0  # of a naive posterior: points, and how far below its top


@dataclass(frozen=True)
class QuantilePosterior:
    """Posterior of a population given cells that were released by the ranks of its records.

    Attributes
    ----------
    law : callable
        Function of counts of records, shape (chains, cells): log Pr[outputs | counts], (chains,).
    cuts : ndarray
        Inner edges of the cells, on the scale where records are normal.
    prior : tuple of four floats
    sizes : sequence of pairs
        Possible numbers of records, at least 1, in increasing order, and their probabilities.
    windows : sequence of pairs of float
        Probabilities of pairs of the sample's quantiles. Steps keep the mean between two: those
        which the outputs tell of.
    """

    law: Callable[[NDArray[np.int64]], Floats]
    cuts: Floats
    prior: Prior
    sizes: Sequence[tuple[int, float]]
    windows: Sequence[tuple[float, float]] = ((0.5, 0.5),)

    def log_prior(self, location: Floats, log_scale: Floats) -> Floats:
        """Log prior density of location and log scale, up to a constant."""
        m, s, c, d = self.prior
        return np.asarray(
            -0.5 * ((location - m) / s) ** 2 - 0.5 * ((log_scale - math.log(c)) / d) ** 2
        )

    def from_prior(self, shape: Any, rng: Rng) -> tuple[Floats, Floats]:
        """Draw locations and log scales of this shape."""
        m, s, c, d = self.prior
        return rng.normal(m, s, shape), rng.normal(math.log(c), d, shape)

    def counted(self, location: Floats, log_scale: Floats, w: Sequence[Floats]) -> Any:
        """Count each chain's records by cell, shape (chains, cells); each w is in order."""
        rows = []
        for mu, h, each in zip(location, log_scale, w, strict=True):
            below = np.searchsorted(each, (self.cuts - mu) * math.exp(-h))
            rows.append(np.diff(below, prepend=0, append=each.size))
        return np.array(rows)


class _Chains:
    """State of the chains: location and log scale, records in order, and n by its place."""

    def __init__(self, target: QuantilePosterior, chains: int, rng: Rng) -> None:
        self.target, self.rng = target, rng
        self.sizes = np.array([n for n, _ in target.sizes])
        self.log_sizes = np.log([chance for _, chance in target.sizes])
        best = np.full(chains, -np.inf)
        for _ in range(_STARTS):
            location, log_scale = target.from_prior(chains, rng)
            place = rng.choice(self.sizes.size, chains, p=np.exp(self.log_sizes))
            w = [self.drawn(n) for n in self.sizes[place]]
            law = self.law_of(location, log_scale, w)
            score = law + rng.gumbel(size=chains)
            if not np.isfinite(best).all():
                self.location, self.log_scale, self.place = location, log_scale, place
                self.w, self.law, best = w, law, score
                continue
            better = score > best
            self.keep(better, location, log_scale, w, law, place)
            best = np.where(better, score, best)

    def drawn(self, n: int) -> Floats:
        return np.sort(self.rng.standard_normal(int(n)))

    def law_of(self, location: Floats, log_scale: Floats, w: Sequence[Floats]) -> Floats:
        return np.asarray(self.target.law(self.target.counted(location, log_scale, w)))

    def keep(
        self, yes: Any, location: Floats, log_scale: Floats, w: Any, law: Floats, place: Any
    ) -> None:
        """Move the chains for which a step was accepted."""
        self.location = np.where(yes, location, self.location)
        self.log_scale = np.where(yes, log_scale, self.log_scale)
        self.law, self.place = np.where(yes, law, self.law), np.where(yes, place, self.place)
        self.w = [new if y else old for y, new, old in zip(yes, w, self.w, strict=True)]

    def accepted(self, log_ratio: Floats) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self.rng.random(log_ratio.size)) < log_ratio

    def length(self, longest: float, shortest: Any) -> Floats:
        """Lengths of steps, one a chain, from all decades between the two alike."""
        u = self.rng.random(self.location.size)
        return np.asarray(longest * np.exp(u * np.log(shortest / longest)))

    def move(self, location: Floats, log_scale: Floats, gain: Any = 0.0) -> Any:
        """Step to another location and scale, given w."""
        law = self.law_of(location, log_scale, self.w)
        prior = self.target.log_prior
        gain = gain + prior(location, log_scale) - prior(self.location, self.log_scale)
        yes = self.accepted(law - self.law + gain)
        self.keep(yes, location, log_scale, self.w, law, self.place)
        return yes

    def shift(self) -> Any:
        """Step of location, from what n records tell of it to twice their scale."""
        n = np.array([each.size for each in self.w])
        step = self.rng.standard_normal(n.size) * self.length(2.0, 1 / np.sqrt(n))
        return self.move(self.location + step * np.exp(self.log_scale), self.log_scale)

    def stretch(self) -> None:
        """Step of the scale, or a draw from its prior, that keeps one of the sample's quantiles."""
        _, _, c, d = self.target.prior
        windows = self.target.windows
        z = self.anchors(self.w, windows[self.rng.choice(len(windows))])
        n = np.array([each.size for each in self.w])
        a, b = self.rng.standard_normal((2, z.size))
        near = self.log_scale + a * self.length(2 * d, d / (d * np.sqrt(n) + 1))
        far = self.rng.random(z.size) < 0.5
        log_scale = np.where(far, math.log(c) + d * b, near)
        # Where it was drawn from the prior, that cancels.
        before, now = ((h - math.log(c)) ** 2 / (2 * d**2) for h in (self.log_scale, log_scale))
        moved = self.location - z * (np.exp(log_scale) - np.exp(self.log_scale))
        self.move(moved, log_scale, np.where(far, now - before, 0.0))

    def anchors(self, w: Sequence[Floats], window: tuple[float, float]) -> Floats:
        """The sample's quantile in each chain, among its w, or mean between two."""
        low, high = window
        if low == high:
            return np.array([each[int(low * each.size)] for each in w])
        cuts = [int(low * each.size) for each in w]
        return np.array([each[g : each.size - g].mean() for g, each in zip(cuts, w, strict=True)])

    def replace(self, w: Sequence[Floats], place: Any, gain: Any = 0.0) -> None:
        """Step to other w, drawn given the old ones, with none, one or two sample quantiles kept.

        Location, or location and scale, move so that they are. Given both w, that is a shift of
        location and log scale, so that the ratio is that of the law and their prior.
        """
        windows = self.target.windows
        order = self.rng.permutation(len(windows))[: self.rng.integers(3)]
        kept = [windows[place] for place in order]
        location, log_scale = self.location, self.log_scale
        if len(kept) == 2:
            old, new = (self.anchors(v, kept[0]) - self.anchors(v, kept[1]) for v in (self.w, w))
            apart = (old * new > 0) | (old == new)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_scale = log_scale + np.where(apart, np.log(old / new), 0.0)
            gain = np.where(apart, gain, -np.inf)
        if len(kept):
            old, new = (self.anchors(v, kept[0]) for v in (self.w, w))
            location = location + np.exp(self.log_scale) * old - np.exp(log_scale) * new
        law, prior = self.law_of(location, log_scale, w), self.target.log_prior
        gain = gain + prior(location, log_scale) - prior(self.location, self.log_scale)
        yes = self.accepted(law - self.law + gain)
        self.keep(yes, location, log_scale, w, law, place)

    def renew(self) -> None:
        """Draw some records' w anew from N(0, 1), or all."""
        w = []
        for each in self.w:
            many = int(each.size ** min(1.0, 2 * self.rng.random()))
            new = each.copy()
            where = self.rng.integers(each.size, size=many) if many < each.size else slice(None)
            new[where] = self.rng.standard_normal(many)
            w.append(np.sort(new))
        self.replace(w, self.place)

    def refit(self) -> None:
        """Step of location or scale that keeps all records, and so the law."""
        n = np.array([each.size for each in self.w])
        squares = np.array([each @ each for each in self.w])
        sums = np.array([each.sum() for each in self.w])
        step, first = self.rng.standard_normal(n.size) * 2.4 / np.sqrt(n), self.rng.random() < 0.5
        a, b = (step, 0 * step) if first else (0 * step, step / math.sqrt(2))
        location, log_scale = self.location + a * np.exp(self.log_scale), self.log_scale + b
        ratio = np.exp(-b)
        # w' = (w - a) ratio, each.
        changed = ratio**2 * (squares - 2 * a * sums + n * a**2)
        prior = self.target.log_prior
        gain = prior(location, log_scale) - prior(self.location, self.log_scale)
        gain = gain + (squares - changed) / 2 + n * (self.log_scale - log_scale)
        w = [(each - x) * r for each, x, r in zip(self.w, a, ratio, strict=True)]
        self.keep(self.accepted(gain), location, log_scale, w, self.law, self.place)

    def resize(self) -> None:
        """Step to another number of records, or a draw of it from its prior."""
        far = np.maximum(1, np.rint(self.length(self.sizes.size, 1.0))).astype(int)
        near = self.place + self.rng.choice([-1, 1], far.size) * far
        inside = (near >= 0) & (near < self.sizes.size)
        near = np.where(inside, near, self.place)
        drawn = self.rng.choice(self.sizes.size, far.size, p=np.exp(self.log_sizes))
        anew = self.rng.random(far.size) < 0.5
        place = np.where(anew, drawn, near)
        w = []
        for each, n in zip(self.w, self.sizes[place], strict=True):
            left = np.sort(self.rng.permutation(each)[:n]) if n < each.size else each
            w.append(np.sort(np.concatenate([left, self.drawn(n - left.size)])))
        gain = np.where(inside, self.log_sizes[place] - self.log_sizes[self.place], -np.inf)
        self.replace(w, place, np.where(anew, 0.0, gain))  # what is drawn from the prior cancels

    def sweep(self) -> Any:
        """Take each step; returns which chains took that of location."""
        self.stretch()
        self.renew()
        yes = self.shift()
        self.refit()
        if self.sizes.size > 1:
            self.resize()
        return yes


def sample_quantiles(
    target: QuantilePosterior,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: Any,
    step: Step = no_step,
) -> dict[str, NDArray[Any]]:
    """Draw from the posterior by Metropolis steps; the module's docstring says which.

    Parameters
    ----------
    target : QuantilePosterior
    draws, chains, warmup : int
        Draws that each chain keeps, chains, and draws discarded before.
    seed : int, SeedSequence or None
    step : callable
        Called after each draw of all chains with their number.

    Returns
    -------
    mapping of str to ndarray, shape (chains, draws)
        "location", "log_scale", "n", "lp" and "acceptance_rate".
    """
    state = _Chains(target, chains, np.random.default_rng(seed))
    kept: dict[str, list[Any]] = {
        name: [] for name in ("location", "log_scale", "n", "lp", "acceptance_rate")
    }
    for sweep in range(warmup + draws):
        for _ in range(_SWEEPS):
            yes = state.sweep()
        step(chains)
        if sweep >= warmup:
            lp = state.law + target.log_prior(state.location, state.log_scale)
            now = (state.location, state.log_scale, state.sizes[state.place], lp, 1.0 * yes)
            for name, value in zip(kept, now, strict=True):
                kept[name].append(value)
    return {name: np.stack(values, axis=1) for name, values in kept.items()}


def sample_naive(
    values: Floats,
    probabilities: Floats,
    n: float,
    target: QuantilePosterior,
    shape: Any,
    seed: Any,
) -> tuple[Floats, Floats, Floats]:
    """Draw location, log scale and lp as if values were the sample's quantiles, without noise.

    They are order statistics then: the numbers of records between them are multinomial given the
    population, which has a density at each.
    The posterior is computed on a grid that zooms in on it.

    Parameters
    ----------
    values : ndarray
        Different values on the scale where records are normal, in increasing order. Where there are
        none, draws are from the prior.
    probabilities : ndarray
        Their probabilities as quantiles, which increase.
    n : float
        Number of records.
    target : QuantilePosterior
        The prior's.
    shape : tuple of int
        Shape of the draws.
    seed : int, SeedSequence or None
    """
    rng = np.random.default_rng(seed)
    if not values.size:
        location, log_scale = target.from_prior(shape, rng)
        return location, log_scale, target.log_prior(location, log_scale)
    between = n * np.diff(probabilities, prepend=0, append=1)
    pivot = values[np.abs(probabilities - 0.5).argmin()]

    def log_posterior(t: Floats, h: Floats) -> Floats:
        """At location = pivot + scale t, and log scale h."""
        z = (values - pivot) * np.exp(-h)[..., None] - t[..., None]
        ends = np.concatenate([np.full_like(z[..., :1], -40), z, np.full_like(z[..., :1], 40)], -1)
        upper = ends[..., :-1] > 0  # differences of tails, where these are small
        low = np.where(upper, -ends[..., 1:], ends[..., :-1])
        high = np.where(upper, -ends[..., :-1], ends[..., 1:])
        chance = np.maximum(special.ndtr(high) - special.ndtr(low), 1e-300)
        density = (-(z**2) / 2 - h[..., None]).sum(axis=-1)
        prior = target.log_prior(pivot + np.exp(h) * t, h) + h
        return np.asarray(prior + density + np.log(chance) @ between)

    t, h, lp = drawn_on_grid(log_posterior, target.prior, shape, rng)
    return pivot + np.exp(h) * t, h, lp


def drawn_on_grid(
    log_posterior: Callable[[Floats, Floats], Floats], prior: Prior, shape: Any, rng: Rng
) -> tuple[Floats, Floats, Floats]:
    """Draw t and log scale from a density of both, up to a constant, on a grid that zooms in on it.

    Returns
    -------
    tuple of ndarray of the given shape
        t, within -8 to 8; log scale, within six of its prior's standard deviations; log density.
    """
    _, _, c, d = prior
    box = np.array([[-8.0, 8.0], [math.log(c) - 6 * d, math.log(c) + 6 * d]])
    for _ in range(_ZOOMS):
        axes = [np.linspace(low, high, _GRID) for low, high in box]
        t, h = np.meshgrid(*axes, indexing="ij")
        log = log_posterior(t, h)
        near = log > log.max() - _DEEP
        for k, axis in enumerate(axes):
            inside = np.flatnonzero(near.any(axis=1 - k))
            box[k] = axis[max(inside[0] - 1, 0)], axis[min(inside[-1] + 1, _GRID - 1)]
    cell = rng.choice(log.size, shape, p=special.softmax(log.ravel()))
    jitter = rng.random((2, *shape)) - 0.5
    t, h = (
        grid.ravel()[cell] + (axis[1] - axis[0]) * u
        for grid, axis, u in zip((t, h), axes, jitter, strict=True)
    )
    return t, h, log.ravel()[cell]
