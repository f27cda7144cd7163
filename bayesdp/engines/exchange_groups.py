r"""Exchange algorithm for groups' copies, where the groups' parameters are a regression.

Group k has confidential records x_k1, x_k2, ... of q(x | g_k, h), and copies from its own run of
the mechanism, as `bayesdp.engines.exchange` has them for one group:

    g_k = z_k . beta,    beta_j ~ N(m_j, s_j^2),    x_ki ~ q(. | g_k, h),
    theta_km ~ g(x_k, theta) / Z(x_k),    y_km ~ p(. | theta_km).

A group's copies depend on its records alone, so given beta and h the groups are independent, and
each one's points, blocks of records and size move by that module's steps. What is common to all
moves by three steps more:

* (beta_j, h) given all records: Metropolis steps.
* One coefficient, or h, together with all records of all groups, by the exchange. Were the records
  drawn anew, the log ratio would be a sum of one term of order 1 for each group, however short the
  step, and many groups would never move. So records are *carried*: a record's logit z, whose mean
  and standard deviation are mu(g, h) and tau(g, h), goes to

      z' = mu(g', h') + tau(g', h') / tau(g, h) (z - mu(g, h)).

  The way back is the same map with (g, h) and (g', h') exchanged, and its Jacobian is
  (tau' / tau)^n, so that the step is accepted with probability min(1, r), r the product of the
  prior's ratio and, for each group, of q_z(z' | g', h') / q_z(z | g, h), of the Jacobian and of
  the ratio of the exchange, with auxiliary draws at the carried records. Any functions mu and
  tau > 0 would do; with these the densities' ratio is exactly 1 over the Jacobian where logits are
  normal, and near it where records are beta.
* The same with the points, too. Steps that leave theta where it is are as short as theta is certain
  given x, and where a copy has fewer records than x, that is far less than eta is uncertain. So
  theta is carried by a bijection T of the square's inside, the shift of logit phi by g' - g and of
  log lambda by as much as records became narrower, and the auxiliary draw theta' is carried back:

      r = ... prod_m g(x', T theta_m) g(x, T^-1 theta'_m) / (g(x, theta_m) g(x', theta'_m))
              p(y_m | T theta_m) / p(y_m | theta_m) |T'(theta_m)| |(T^-1)'(theta'_m)|,

  where g, the density on the square with the prior, is 0 outside. The way back draws T^-1 theta' at
  x with probability g(x, T^-1 theta') / Z(x) and carries it to theta', so the constants cancel as
  before: a Metropolis step on the target times g(x, theta') / Z(x), whose proposal is the map
  (theta, theta') -> (T theta, T^-1 theta'), theta' drawn at x' before and at x after. Where the
  mechanism's posterior moves with x as T does, all ratios but the copies' are near 1.

Coefficients are taken as b = m + L^-T c, where L L' is about beta's posterior precision, so that
steps along single c's do whatever the predictors' units are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.engines.exchange import (
    POPULATIONS,
    copies_of,
    first_steps,
    in_pieces,
    law_of,
    logs_of,
    moments_of,
    place,
    side_by_side,
)
from bayesdp.engines.generators import generators
from bayesdp.kernels.censored import clipped_beta as clipped
from bayesdp.kernels.censored import populations
from bayesdp.kernels.censored import regression as kernels
from bayesdp.progress import Step, no_step

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
    """Regression of groups' parameters, and its prior.

    Parameters
    ----------
    rows : ndarray, shape (groups, terms)
        Each group's predictors, the intercept's ones among them.
    mean, sd : ndarray, shape (terms,)
        The coefficients' normal priors.
    spread : tuple of two floats
        Prior of h, as `populations.log_prior_of_spread` takes it.
    population : {"beta", "logit_normal"}
        The family of the confidential records (`bayesdp.kernels.censored.populations`).
    """

    rows: Floats
    mean: Floats
    sd: Floats
    spread: tuple[float, float]
    population: str = "beta"

    def root(self, weights: Floats) -> Floats:
        """L^-T, given about how precisely each group's g would be known alone."""
        precision = self.rows.T @ (weights[:, None] * self.rows) + np.diag(self.sd**-2.0)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(precision)).T)

    def design(self, root: Floats) -> kernels.Design:
        """The regression as kernels take it."""
        return kernels.Design(
            self.rows @ self.mean, self.rows @ root, root / self.sd[:, None], *self.spread
        )

    def near(self, logits: Floats, weights: Floats) -> Floats:
        """Coefficients near each group's g."""
        precision = self.rows.T @ (weights[:, None] * self.rows) + np.diag(self.sd**-2.0)
        away = self.rows.T @ (weights * (logits - self.rows @ self.mean))
        return np.asarray(self.mean + np.linalg.solve(precision, away))


@dataclass(frozen=True)
class GroupsPosterior:
    """Posterior of a regression given groups' copies from their clipped beta posteriors.

    Parameters
    ----------
    views : sequence of BetaCopiesView
        Law of each group's copies; all have the same bounds.
    outputs : sequence of sequences of ndarray
        Each group's copies.
    sizes : sequence of sequences of pairs
        Each group's possible numbers of records, and their probabilities.
    regression : Regression
    """

    views: Sequence[BetaCopiesView]
    outputs: Sequence[Sequence[Floats]]
    sizes: Sequence[Sequence[tuple[int, float]]]
    regression: Regression

    def log_sizes(self) -> Floats:
        """Log probabilities of sizes from 0 to the largest of all groups, a row for each."""
        each = [logs_of(one) for one in self.sizes]
        most = max(logs.size for logs in each)
        padded = [np.pad(logs, (0, most - logs.size), constant_values=-np.inf) for logs in each]
        return np.array(padded)


@dataclass
class _Chain:
    """State of one chain."""

    target: GroupsPosterior
    rng: np.random.Generator
    coefs: Floats = field(init=False)
    points: Floats = field(init=False)

    def __post_init__(self) -> None:
        target, regression = self.target, self.target.regression
        self.kind, start_of = POPULATIONS[regression.population]
        laws = [law_of(view) for view in target.views]
        seen = [
            copies_of(outputs, view.bounds)
            for outputs, view in zip(target.outputs, target.views, strict=True)
        ]
        starts = [moments_of(each) for each in seen]
        self.laws, self.seen = np.array(laws), stacked(seen)
        self.points = np.array(
            [[place(law, *one) for one in each] for law, each in zip(laws, starts, strict=True)]
        )
        self.log_sizes = target.log_sizes()
        possible = [np.flatnonzero(row > -np.inf) for row in self.log_sizes]
        self.sizes = np.array([self.rng.choice(each) for each in possible], dtype=np.int64)
        near = np.array([start_of(*np.mean(each, axis=0)) for each in starts])
        self._start(near, np.array([each.mean() for each in possible]) / 4 + 1.0)
        shape = self.log_sizes.shape
        self.records = np.zeros(shape), np.zeros(shape)
        rows = regression.rows @ (regression.mean + self.root @ self.coefs[:-1])
        for k, n in enumerate(self.sizes):
            eta = np.array([rows[k], self.coefs[-1]])
            mine = self.records[0][k], self.records[1][k]
            populations.draw_records(self.kind, *mine, 0, int(n), eta, self.rng)
        self.tuned = np.array([first_steps(int(n)) for n in self.sizes])
        self.steps = np.full((3, self.coefs.size), -1.0)

    def _start(self, near: Floats, weights: Floats) -> None:
        """Coefficients somewhere near the copies'."""
        regression = self.target.regression
        self.root = regression.root(weights)
        away = regression.near(near[:, 0], weights) - regression.mean
        first = np.linalg.solve(self.root, away) + self.rng.standard_normal(away.size)
        self.coefs = np.append(first, near[:, 1].mean() + 0.5 * self.rng.standard_normal())

    def run(self, warmup: int, draws: int, step: Step) -> Floats:
        """Run the chain, piece by piece; shape (draws, terms + groups + 3)."""
        regression = self.target.regression
        design = regression.design(self.root)

        def sweep(begun: int, sweeps: int) -> tuple[Floats, int]:
            made: tuple[Floats, int] = kernels.group_sweeps(
                self.kind, self.records, self.sizes, self.coefs, self.points, self.seen, self.laws,
                design, self.log_sizes, self.tuned, self.steps, begun, warmup, sweeps, self.rng,
            )  # fmt: skip
            return made

        return in_terms(regression, self.root, in_pieces(sweep, warmup, draws, step))


def in_terms(regression: Regression, root: Floats, kept: Floats) -> Floats:
    """Write the coefficients beta in the place of the kernels' own, in the first columns."""
    terms = regression.mean.size
    return np.hstack([regression.mean + kept[:, :terms] @ root.T, kept[:, terms:]])


def stacked(seen: Sequence[clipped.Copies]) -> clipped.Copies:
    """Return groups' statistics of copies in arrays with a row for each group."""
    t1, t2, within, first, last = (np.array([each[k] for each in seen]) for k in range(5))
    return clipped.Copies(t1, t2, within, first, last, seen[0].low, seen[0].high)


def sample_groups(
    target: GroupsPosterior,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    step: Step = no_step,
) -> Floats:
    """Draw coefficients, h, sizes, the log density and the share of accepted common steps.

    Parameters
    ----------
    target : GroupsPosterior
    draws, chains, warmup : int
    seed : int or None
    step : callable
        Called with the number of further sweeps done.

    Returns
    -------
    ndarray, shape (chains, draws, terms + groups + 3)
        In this order. The log density is as that of `sample_exchange`.

    Raises
    ------
    EngineFailed
        If the mechanism's posterior can't be drawn from.
    """
    return side_by_side(partial(_Chain, target), draws, chains, warmup, seed, step)


def sample_known(
    regression: Regression,
    records: Sequence[Floats],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> Floats:
    """Draw coefficients and h given groups' copies taken for records, and the log density.

    Parameters
    ----------
    regression : Regression
    records : sequence of ndarray
        Each group's copies' records, between 0 and 1.
    draws, chains, warmup : int
    seed : int or None

    Returns
    -------
    ndarray, shape (chains, draws, terms + 2)
    """
    kind, start_of = POPULATIONS[regression.population]
    sizes, kept = np.array([each.size for each in records]), []
    logs = [(np.log(each), np.log1p(-each)) for each in records]
    sums = np.array(
        [populations.sums_of(kind, *each, n) for each, n in zip(logs, sizes, strict=True)]
    )
    near = np.array([start_of(*moments_of(copies_of([x], (0.0, 1.0)))[0]) for x in records])
    root = regression.root(sizes / 4)
    design = regression.design(root)
    first = np.linalg.solve(root, regression.near(near[:, 0], sizes / 4) - regression.mean)
    for rng in generators(seed, chains):
        coefs = np.append(first, near[:, 1].mean())
        coefs += 0.1 * rng.standard_normal(coefs.size)
        steps = np.full(coefs.size, -1.0)
        rows = kernels.coef_sweeps(kind, sizes, sums, coefs, design, steps, warmup, draws, rng)
        kept.append(in_terms(regression, root, rows))
    return np.stack(kept)
