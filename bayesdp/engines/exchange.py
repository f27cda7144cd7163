r"""Exchange algorithm for copies whose law has a normalizing constant that nobody knows.

Records x_1, ..., x_n of q(x | eta) are confidential. Copy m is drawn from theta_m, which the
mechanism drew with probability g(x, theta_m) / Z(x), g = prior(theta) exp(S(x, theta)), where Z is
a sum over a grid as large as the mechanism likes. The target over all that isn't seen is

    pi(eta) prod_i q(x_i | eta) prod_m g(x, theta_m) / Z(x) p(y_m | theta_m).

A step to other records x' would need Z(x) / Z(x'). But whoever can draw theta' from the mechanism
at x' can do without it (Murray, Ghahramani and MacKay 2006): accept x' with probability

    min(1, q-ratio prod_m g(x', theta_m) / g(x, theta_m) g(x, theta'_m) / g(x', theta'_m)).

That is a Metropolis step on the target times prod_m g(x, theta'_m) / Z(x), in which theta' is drawn
anew and exchanged with theta; the constants cancel, and so does the mechanism's prior. It is exact
only because theta' is.

A sweep
-------
* theta_m given x and y_m: Metropolis steps, as Z(x) is a constant.
* A block of records drawn anew from q(. | eta), so that q cancels. As theta' is about as near to x'
  as theta is to x, the log ratio is of order 1 even if all records are drawn anew: the block's
  size, tuned in warm-up, is a share of n.
* (eta, x) together: eta by a normal step, and all records drawn anew from q(. | eta'). The ratio
  is that of pi(eta), times that of the exchange. Where the copies say little of single records,
  eta is far less certain than it would be given x, and steps of eta given x would crawl.
* Where n is unknown, some records more, from q, or fewer; the ratio has that of Pr[n].
* eta given x: Metropolis steps; two sufficient statistics of q are enough.

Nothing here but the exact draw and S depends on the mechanism, and nothing but draws and densities
on q: the sweeps are written once (`bayesdp.kernels.censored.exchange`), and name their parts.

Exact draws from the mechanism
------------------------------
The grid's square is cut into blocks with a bound as in `bayesdp.mechanisms.censored.grid`, in
floating point; a block is proposed by its bound, a point uniform in it, and that accepted with
probability weight over bound. A block whose proposals are rejected is split, and so on: each
proposal is accepted or not by the bounds that hold at that time, so that an accepted one has the
posterior's law whatever was rejected before. A weight is that of the point's cell at its centre,
which makes coarse grids exact too.

A record's term is at most max(low, M), with M its tangent plane at the block's centre, and at most
high; of these two, both convex in phi and in lambda apart, the bound takes that which is less on
average over the corners. What remains is rounding, of 2^-45 or so of the log weights, by which the
bounds are enlarged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.engines.generators import generators
from bayesdp.errors import EngineFailed
from bayesdp.kernels.censored import clipped_beta as clipped
from bayesdp.kernels.censored import exchange as kernels
from bayesdp.kernels.censored import populations
from bayesdp.progress import Step, no_step
from bayesdp.threads import Halting, in_threads

Floats = NDArray[np.float64]
_PIECE = 20  # sweeps between steps of progress, at which an interrupt ends a chain
_TUNED = 12


@dataclass(frozen=True)
class CopiesPosterior:
    """Posterior of a population given copies from draws of its records' clipped beta posterior.

    Parameters
    ----------
    view : BetaCopiesView
        Law of the copies.
    outputs : sequence of ndarray
        The copies.
    prior : tuple of four floats
        The population's, as `populations.log_prior_of_eta` takes it.
    sizes : sequence of pairs
        Possible numbers of records, and their probabilities.
    population : {"beta", "logit_normal"}
        The family of the confidential records (`bayesdp.kernels.censored.populations`).
    """

    view: BetaCopiesView
    outputs: Sequence[Floats]
    prior: tuple[float, float, float, float]
    sizes: Sequence[tuple[int, float]]
    population: str = "beta"

    def law(self) -> clipped.Posterior:
        """Public numbers of the mechanism's posterior, as kernels take them."""
        return law_of(self.view)

    def copies(self) -> clipped.Copies:
        """Sufficient statistics of the copies, records that were rounded to an end apart."""
        return copies_of(self.outputs, self.view.bounds)


@dataclass
class _Chain:
    """State of one chain."""

    target: CopiesPosterior
    rng: np.random.Generator
    eta: Floats = field(init=False)
    points: Floats = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.kind, start_of = POPULATIONS[self.target.population]
        self.law, self.seen = self.target.law(), self.target.copies()
        self.log_sizes, self.prior = logs_of(self.target.sizes), np.array(self.target.prior)
        start = moments_of(self.seen)
        self.points = np.array([place(self.law, *each) for each in start])
        near = np.mean(start, axis=0)
        self.eta = start_of(*near) + 0.5 * self.rng.standard_normal(2)
        possible = np.flatnonzero(self.log_sizes > -np.inf)
        self.n = int(self.rng.choice(possible))
        self.records = np.zeros(self.log_sizes.size), np.zeros(self.log_sizes.size)
        populations.draw_records(self.kind, *self.records, 0, self.n, self.eta, self.rng)
        self.tuned, self.mean = first_steps(self.n), np.array([*self.eta, 0.1, 0.0, 0.1])

    def run(self, warmup: int, draws: int, step: Step) -> Floats:
        """Run the chain, piece by piece; shape (draws, 5)."""

        def sweep(begun: int, sweeps: int) -> tuple[Floats, int]:
            rows, self.n, status = kernels.exchange_sweeps(
                self.kind, self.records, self.n, self.eta, self.points, self.seen, self.law,
                self.prior, self.log_sizes, self.tuned, self.mean, begun, warmup, sweeps, self.rng,
            )  # fmt: skip
            return rows, status

        return in_pieces(sweep, warmup, draws, step)


def _as_is(logit: float, log_lambda: float) -> Floats:
    return np.array([logit, log_lambda])


def _of_logits(logit: float, log_lambda: float) -> Floats:
    """Mean and log standard deviation of the logit of a beta variable."""
    a, b = np.maximum(math.exp(log_lambda) * special.expit([logit, -logit]), 0.05)
    variance = special.polygamma(1, a) + special.polygamma(1, b)
    return np.array([special.digamma(a) - special.digamma(b), 0.5 * math.log(variance)])


POPULATIONS = {
    "beta": (populations.BETA, _as_is),
    "logit_normal": (populations.LOGIT_NORMAL, _of_logits),
}
"""A population's number, and its parameters near copies of this logit phi and log lambda."""

_WHY = {
    clipped.BOUND: "a bound on the mechanism's grid didn't hold, so nothing could be drawn exactly",
    clipped.ROUGH: "the mechanism's posterior was too rough to draw from it exactly: a million "
    "proposals were rejected",
}


def law_of(view: BetaCopiesView) -> clipped.Posterior:
    """Return public numbers of the mechanism's posterior, as kernels take them."""
    smallest, shape = view.prior_lambda
    span = math.log(view.largest / smallest)
    cells = (math.ldexp(1.0, bits) for bits in view.grid)
    return clipped.Posterior(
        *view.interval, *view.prior_phi, shape, math.log(smallest), span, *cells
    )


def logs_of(sizes: Sequence[tuple[int, float]]) -> Floats:
    """Return log Pr[n] at each n from 0 to the largest."""
    logs = np.full(max(n for n, _ in sizes) + 1, -np.inf)
    for n, probability in sizes:
        logs[n] = math.log(probability)
    return logs


def place(law: clipped.Posterior, logit: float, log_lambda: float) -> tuple[float, float]:
    """Return a point of the grid's square at (phi, lambda), or as near as there is one."""
    along = (log_lambda - law.least) / law.span
    return 1 / (1 + math.exp(-logit)), min(max(along, 0.01), 0.99)


def first_steps(n: int) -> Floats:
    """Return what `exchange_sweeps` tunes, as it starts with n records."""
    tuned = np.zeros(_TUNED)
    tuned[:6] = -4.0, -4.0, -1.0, -1.0, math.log(n + 1), -1.0
    tuned[9:] = math.sqrt(0.1), 0.0, math.sqrt(0.1)
    return tuned


def sample_exchange(
    target: CopiesPosterior,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    step: Step = no_step,
) -> Floats:
    """Draw the population's parameters and n, the log density and the share of accepted exchanges.

    Parameters
    ----------
    target : CopiesPosterior
    draws, chains, warmup : int
    seed : int or None
    step : callable
        Called with the number of further sweeps done.

    Returns
    -------
    ndarray, shape (chains, draws, 5)
        In this order. The log density is that of eta, the records and the copies' records given
        their parameters, which leaves the intractable law of those out.

    Raises
    ------
    EngineFailed
        If the mechanism's posterior can't be drawn from.
    """
    return side_by_side(partial(_Chain, target), draws, chains, warmup, seed, step)


class Chain(Protocol):
    """Protocol of a chain that is where it starts."""

    def run(self, warmup: int, draws: int, step: Step) -> Floats:
        """Run it, and return its draws after the warmup; shape (draws, columns)."""
        ...


def side_by_side(
    start: Callable[[np.random.Generator], Chain],
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    step: Step,
) -> Floats:
    """Run chains in threads, each from its own start; shape (chains, draws, columns)."""
    halting = Halting(step)

    def run(rng: np.random.Generator) -> Floats:
        return start(rng).run(warmup, draws, halting)

    return np.stack(in_threads(run, generators(seed, chains), halting))


def in_pieces(
    sweep: Callable[[int, int], tuple[Floats, int]], warmup: int, draws: int, step: Step
) -> Floats:
    """Sweep piece by piece; return what is kept after the warmup, shape (draws, columns).

    Parameters
    ----------
    sweep : callable
        Function of the numbers of sweeps done and to do: a row for each, and 0 or why there was no
        draw.
    warmup, draws : int
    step : callable
        Called with the number of further sweeps done.

    Raises
    ------
    EngineFailed
        If there was no draw.
    """
    kept, begun = [], 0
    while begun < warmup + draws:
        sweeps = min(_PIECE, warmup + draws - begun)
        rows, status = sweep(begun, sweeps)
        if status:
            raise EngineFailed(_WHY[status])
        kept.append(rows)
        begun += sweeps
        step(sweeps)
    return np.concatenate(kept)[warmup:]


def sample_records(
    population: str,
    records: Floats,
    prior: tuple[float, float, float, float],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> Floats:
    """Draw the population's parameters given copies taken for records, and the log density.

    Parameters
    ----------
    population : {"beta", "logit_normal"}
    records : ndarray
        All copies' records, between 0 and 1.
    prior : tuple of four floats
        As for `CopiesPosterior`.
    draws, chains, warmup : int
    seed : int or None

    Returns
    -------
    ndarray, shape (chains, draws, 3)
    """
    kind, start_of = POPULATIONS[population]
    t1, t2, n = np.log(records), np.log1p(-records), records.size
    sums = populations.sums_of(kind, t1, t2, n)
    near, made, kept = moments_of(copies_of([records], (0.0, 1.0))), np.array(prior), []
    start = start_of(*near[0])
    for rng in generators(seed, chains):
        eta = start + 0.1 * rng.standard_normal(2)
        tuned = kernels.eta_sweeps(kind, n, sums, eta, made, warmup, rng)
        kept.append(kernels.eta_draws(kind, n, sums, eta, made, tuned, draws, rng))
    return np.stack(kept)


def copies_of(outputs: Sequence[Floats], bounds: tuple[float, float]) -> clipped.Copies:
    """Return sufficient statistics of copies between their bounds.

    A record nearer to an end than floating-point numbers tell apart was rounded to the last of
    them, and only that it is so near counts.
    """
    low, high = bounds
    width = high - low
    near_low = max(1.5 * (math.nextafter(low, high) - low) / width, 2.0**-1022)
    near_high = max(1.5 * (high - math.nextafter(high, low)) / width, 1.5 * 2.0**-53)
    rows = []
    for copy in outputs:
        y = np.asarray(copy, dtype=np.float64)
        above, below = (y - low) / width, (high - y) / width
        at_low, at_high = above <= near_low, below <= near_high
        within = ~(at_low | at_high)
        logs = np.log(above[within]).sum(), np.log(below[within]).sum()
        rows.append((*logs, within.sum(), at_low.sum(), at_high.sum()))
    t1, t2, inside, first_end, last_end = np.array(rows, dtype=np.float64).T.copy()
    ends = math.log(near_low), math.log(near_high)
    return clipped.Copies(t1, t2, inside, first_end, last_end, *ends)


def moments_of(copies: clipped.Copies) -> list[tuple[float, float]]:
    """Return logit phi and log lambda near each copy's likeliest, from its mean logarithms.

    exp(mean log y) and exp(mean log(1 - y)) are phi and 1 - phi less about 1 / (2 lambda) each.
    """
    made = []
    for t1, t2, within in zip(copies.t1, copies.t2, copies.within, strict=True):
        one, other = (math.exp(max(t / max(within, 1.0), -50.0)) for t in (t1, t2))
        short = max(1.0 - one - other, 1e-6)
        made.append((math.log(one / other), math.log(1.0 / short)))
    return made
