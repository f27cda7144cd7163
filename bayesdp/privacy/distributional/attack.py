r"""Simulated adversary of Definition 5.2: beliefs about a record in the real and simulated worlds.

For each value of the record, releases are drawn from the real world and from the simulator's, under
one law of the class. The adversary knows the law and so the probability of every release given the
value, which the draws estimate; Bayes' theorem gives their posterior in either world.

A promise says that every event has probabilities within (epsilon, delta) of each other, so each
event gives a lower bound on delta at the promise's epsilon. The event is chosen on one half of the
draws, and its probabilities are bounded on the other half by Clopper and Pearson's intervals, so
that a true promise is refuted with probability at most alpha. What holds for one law and one
simulator refutes or supports that simulator's promise; it proves none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one, check_below, check_seed, check_share
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee, check_coupled
from bayesdp.privacy.distributional.worlds import hockey_sticks

Floats = NDArray[np.float64]
Draws = Callable[[np.random.Generator, Any, int], Any]
"""Takes a generator, the record's value and a number of draws; returns that many releases."""

_BINS = 64


@dataclass(frozen=True)
class Attack:
    """Result of a simulated attack: the adversary's beliefs, and a lower bound on delta.

    Attributes
    ----------
    claim : DistributionalGuarantee
    delta_lower : float
        The largest lower bound on delta at the claim's epsilon; valid with probability 1 - alpha.
    outputs : ndarray, shape (outputs,)
        The releases, or the lower ends of intervals of them.
    probability : ndarray, shape (2, values, outputs)
        Estimated probabilities given each value, in the real world and in the simulator's.
    posterior : ndarray, shape (2, values, outputs)
        The adversary's belief in each value after each output; NaN where it wasn't seen.
    alpha : float
    """

    claim: DistributionalGuarantee
    delta_lower: float
    outputs: NDArray[Any]
    probability: Floats
    posterior: Floats
    alpha: float

    @property
    def refuted(self) -> bool:
        """True if the draws refute the claim for this simulator."""
        return self.delta_lower > self.claim.delta

    @property
    def shift(self) -> float:
        """Mean total variation distance of the two worlds' posteriors over the real releases."""
        real = self.probability[0].mean(axis=0)
        apart = np.abs(self.posterior[0] - self.posterior[1]).sum(axis=0) / 2
        seen = np.isfinite(apart) & (real > 0)
        return float((real[seen] * apart[seen]).sum() / real[seen].sum())


def attack(
    claim: DistributionalGuarantee,
    real: Draws,
    simulated: Draws,
    *,
    values: Sequence[Any],
    prior: Sequence[float] | None = None,
    trials: int = 100_000,
    alpha: float = 1e-6,
    seed: int | None = None,
) -> Attack:
    """Attack a record with draws from both worlds.

    Parameters
    ----------
    claim : DistributionalGuarantee
        A promise with a simulator: its definition is coupled-worlds or distributional.
    real, simulated : callable
        Called as ``real(generator, value, number)``: that many releases, numbers or labels, from
        data in which the record has this value, or from the simulator, which doesn't see the
        record. What the adversary knows of the other records is one fixed value, built into both.
    values : sequence
        Values of the record, two or more.
    prior : sequence of float, optional
        The adversary's prior probabilities of the values, positive; equal by default.
    trials : int
        Draws from each world for each value, at least 100.
    alpha : float
        Largest probability, in (0, 1), of refuting a true claim.
    seed : int, optional
        For reproducible draws; nothing confidential is drawn from here.

    Raises
    ------
    InvalidInput
        If an argument is out of its range.
    """
    check_coupled(claim, "attack")
    if len(values) < 2:
        raise InvalidInput(
            f"values is {quoted(list(values))}; an adversary chooses between two or more"
        )
    trials, alpha = check_at_least_one("trials", trials), check_share("alpha", alpha)
    if trials < 100:
        raise InvalidInput(f"trials is {trials}; it must be at least 100")
    before = np.ones(len(values)) if prior is None else np.array([as_float(p) for p in prior])
    if before.shape != (len(values),) or not np.all((before > 0) & (before < np.inf)):
        raise InvalidInput(f"prior is {quoted(prior)}; it must be {len(values)} positive numbers")
    generator = np.random.default_rng(check_seed(seed))
    drawn = np.array(
        [[np.asarray(world(generator, v, trials)) for v in values] for world in (real, simulated)]
    )
    if drawn.shape != (2, len(values), trials):
        raise InvalidInput(
            f"the draws have shape {drawn.shape[2:]}; there must be one number or label for each"
        )
    half = trials // 2
    outputs, cells = _cells(drawn, half)
    counts = np.array(
        [
            [[np.bincount(part, minlength=outputs.size) for part in (row[:half], row[half:])]
             for row in world]
            for world in cells
        ]
    )  # fmt: skip
    total = counts.sum(axis=2) / trials
    joint = (before / before.sum())[:, None] * total
    with np.errstate(invalid="ignore"):
        posterior = joint / joint.sum(axis=1, keepdims=True)
    level = alpha / (4 * len(values))
    lower = max(
        _lower_bound(counts[a, v], counts[b, v], claim.epsilon, level)
        for v in range(len(values))
        for a, b in ((0, 1), (1, 0))
    )
    return Attack(claim, lower, outputs, total, posterior, alpha)


def _cells(drawn: NDArray[Any], half: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Group the outputs into values or intervals, with edges from the first halves of the draws."""
    labels, numbers = np.unique(drawn, return_inverse=True)
    if labels.size <= _BINS or drawn.dtype.kind not in "iuf":
        return labels, numbers.reshape(drawn.shape)
    edges = np.unique(np.quantile(drawn[:, :, :half], np.arange(1, _BINS) / _BINS))
    return np.r_[-np.inf, edges], np.searchsorted(edges, drawn, side="right")


def _lower_bound(
    one: NDArray[np.int64], other: NDArray[np.int64], epsilon: float, level: float
) -> float:
    """A lower bound on delta of Definition 5.2, from counts of both halves, shape (2, outputs)."""
    from scipy import stats

    bound = math.exp(min(epsilon, 700.0))
    event = one[0] / one[0].sum() > bound * other[0] / other[0].sum()
    n = int(one[1].sum())
    m = int(other[1].sum())
    k, j = int(one[1][event].sum()), int(other[1][event].sum())
    low = 0.0 if k == 0 else float(stats.beta.ppf(level, k, n - k + 1))
    high = 1.0 if j == m else float(stats.beta.isf(level, j + 1, m - j))
    return low - bound * high


def believed_delta(attack: Attack, epsilon: float) -> float:
    """The smallest delta of Definition 5.2 that the estimated posteriors keep at `epsilon`.

    With probability at least 1 - delta over the real release, the posteriors of the two worlds are
    within (epsilon, delta) of each other. Computed from estimates, it is itself an estimate.

    Parameters
    ----------
    attack : Attack
        Result of a simulated attack.
    epsilon : float
        At least 0.
    """
    epsilon = check_below("epsilon", epsilon, 700)
    real = attack.probability[0].mean(axis=0)
    needed = np.full(real.size, 2.0)
    known = np.isfinite(attack.posterior).all(axis=(0, 1))
    pair = attack.posterior[:, :, known]
    needed[known] = hockey_sticks(pair[0].T, pair[1].T, epsilon)
    order = np.argsort(-needed)
    failing, least = 0.0, 1.0
    for k in order:
        least = min(least, max(float(needed[k]), failing))
        failing += float(real[k])
    return least
