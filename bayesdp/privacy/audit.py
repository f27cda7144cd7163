r"""Audit a mechanism: does its sampler keep the promise that it makes?

An (epsilon, delta) promise says that for neighbours D, D' and every event E,
Pr[M(D) in E] <= exp(epsilon) Pr[M(D') in E] + delta. So any event gives a lower bound

    epsilon >= log((Pr[M(D) in E] - delta) / Pr[M(D') in E]),

and if that exceeds the claim, the claim is false. The probabilities are estimated from the
mechanism's own draws and bounded by Clopper and Pearson's exact intervals, so that a
mechanism which keeps its promise is convicted with probability at most `alpha`:

* events are sets {log Pr[z | D] - log Pr[z | D'] >= t}, the most powerful ones if the law
  is right, and valid ones if it isn't;
* t is chosen on one half of the draws and tested on the other, so that the choice is free;
* alpha is shared by all pairs of neighbours, both directions and both intervals
  (Bonferroni), so that the bounds hold together.

Where the outputs are finitely many, the exact largest log ratio of the law is computed too.
That is a statement about the law as written, the other about the sampler as it runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_delta
from bayesdp.errors import InvalidInput
from bayesdp.privacy.guarantee import Guarantee

Pair = tuple[Any, Any]
_THRESHOLDS = 400  # tried on the first half of the draws


class Auditable(Protocol):
    """What an audit needs of a mechanism."""

    def guarantee(self) -> Guarantee:
        """The claim, for one copy; takes `delta` if the claim depends on it."""

    def pairs(self) -> Iterable[Pair]:
        """Pairs of neighbouring statistics, the worst among them."""

    def outputs(self) -> NDArray[Any] | None:
        """All outputs, if they are few enough to list; else None."""

    def release(self, statistic: Any, copies: int = ...) -> NDArray[Any]:
        """`copies` independent outputs, first axis."""

    def logp(self, output: Any, statistic: Any) -> NDArray[Any]:
        """Law of the outputs."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    claim : Guarantee
        What the mechanism promises.
    epsilon_lower : float
        Largest lower bound on epsilon at the claimed delta, valid with probability
        1 - alpha; 0 where the draws show nothing.
    epsilon_exact : float or None
        Exact epsilon of the law at the claimed delta over the pairs tried, where the
        outputs can be listed.
    pair : tuple
        The neighbours, in the order that gave `epsilon_lower`.
    pairs, trials : int
        Pairs tried; draws from each of a pair's two members.
    alpha : float
        Probability of convicting a mechanism that keeps its promise.
    """

    claim: Guarantee
    epsilon_lower: float
    epsilon_exact: float | None
    pair: Pair
    pairs: int
    trials: int
    alpha: float

    @property
    def convicted(self) -> bool:
        """Whether the claim is false: refuted by the draws, or by the law itself."""
        # The law is computed to 13 digits, and a claim is rounded up in the 15th.
        by_law = self.epsilon_exact is not None and (
            self.epsilon_exact > self.claim.epsilon * (1 + 1e-9) + 1e-12
        )
        return by_law or self.epsilon_lower > self.claim.epsilon

    def __str__(self) -> str:
        verdict = "CONVICTED: the claim is false" if self.convicted else "no violation found"
        exact = "" if self.epsilon_exact is None else f", law epsilon = {self.epsilon_exact:.6g}"
        return (
            f"{verdict} (claim {self.claim}; draws show epsilon >= {self.epsilon_lower:.4g}"
            f"{exact}; {self.pairs} pairs of neighbours, {self.trials:,} draws each)"
        )


def audit(
    mechanism: Auditable,
    *,
    trials: int = 1_000_000,
    delta: float = 0.0,
    alpha: float = 1e-6,
    pairs: Sequence[Pair] | None = None,
) -> Audit:
    """Test a mechanism's claim on its own draws.

    Parameters
    ----------
    mechanism : Auditable
        Any mechanism of this package, or one of your own.
    trials : int
        Draws from each member of each pair, at least 100.
    delta : float
        In [0, 1): where the mechanism's claim is looked at, ``guarantee(delta=delta)``.
    alpha : float
        Probability of convicting a mechanism that keeps its promise, in (0, 1).
    pairs : sequence of pairs, optional
        Neighbouring statistics to try, instead of those that the mechanism proposes.

    Returns
    -------
    Audit

    Raises
    ------
    InvalidInput
        If an argument is out of its range, there is no pair to try, or the mechanism claims
        nothing at that delta.

    Notes
    -----
    An audit can refute a claim and never prove one. The module's docstring has the method.
    """
    if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 100:
        raise InvalidInput(f"trials is {trials!r}; it must be a whole number, at least 100")
    if not 0 < alpha < 1:
        raise InvalidInput(f"alpha is {alpha!r}; it must lie strictly between 0 and 1")
    tried = list(mechanism.pairs() if pairs is None else pairs)
    if not tried:
        raise InvalidInput("pairs is empty; give at least one pair of statistics")
    promise: Any = mechanism.guarantee  # one without a profile needn't take a delta
    claim = promise(delta=delta) if check_delta(delta) else promise()
    if math.isinf(claim.epsilon):
        raise InvalidInput(
            f"delta is {delta}, where the mechanism claims nothing (epsilon = inf), so there is "
            "nothing to refute; give a larger delta, for example delta=1e-6"
        )
    level = alpha / (4 * len(tried))  # two directions, two intervals
    best, worst = -math.inf, tried[0]
    for one, other in tried:
        draws = [mechanism.release(statistic, int(trials)) for statistic in (one, other)]
        ratios = [_log_ratios(mechanism, z, one, other) for z in draws]
        for bound, pair in (
            (_bound(ratios[0], ratios[1], claim.delta, level), (one, other)),
            (_bound(-ratios[1], -ratios[0], claim.delta, level), (other, one)),
        ):
            if bound > best:
                best, worst = bound, pair
    exact = _exact(mechanism, tried, claim.delta)
    return Audit(claim, max(best, 0.0), exact, worst, len(tried), int(trials), alpha)


def _log_ratios(
    mechanism: Auditable, draws: NDArray[Any], one: Any, other: Any
) -> NDArray[np.float64]:
    """log Pr[z | one] - log Pr[z | other] of each draw, computed once per distinct output."""
    if draws.ndim == 1 and draws.dtype.kind in "iu":
        distinct, places = np.unique(draws, return_inverse=True)
        return np.asarray(mechanism.logp(distinct, one) - mechanism.logp(distinct, other))[places]
    return np.asarray(mechanism.logp(draws, one) - mechanism.logp(draws, other))


def _bound(
    first: NDArray[np.float64], second: NDArray[np.float64], delta: float, level: float
) -> float:
    """Lower bound on epsilon from log ratios of draws from D and from D'."""
    half = first.size // 2
    tune_first, tune_second = np.sort(first[:half]), np.sort(second[:half])
    # Candidates: values that occur, from the whole range of the first sample.
    places = np.linspace(0, half - 1, _THRESHOLDS).astype(np.int64)
    thresholds = np.unique(tune_first[places])
    thresholds = thresholds[np.isfinite(thresholds) | np.isposinf(thresholds)]
    if thresholds.size == 0:
        return -math.inf
    hits = half - np.searchsorted(tune_first, thresholds)
    misses = half - np.searchsorted(tune_second, thresholds)
    chosen = thresholds[np.argmax(_log_ratio(hits, misses, half, delta, level))]
    rest = first.size - half
    return float(
        _log_ratio(
            np.count_nonzero(first[half:] >= chosen),
            np.count_nonzero(second[half:] >= chosen),
            rest,
            delta,
            level,
        )
    )


def _log_ratio(hits: Any, misses: Any, n: int, delta: float, level: float) -> NDArray[np.float64]:
    """log((p - delta) / q) with p bounded from below and q from above, each at `level`."""
    from scipy import special

    hits, misses = np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64)
    lower = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, level), 0.0)
    safe = np.minimum(misses, n - 1)
    upper = np.where(misses < n, special.betainccinv(safe + 1, n - safe, level), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(lower - delta, 0.0)) - np.log(upper))


def _exact(mechanism: Auditable, pairs: Sequence[Pair], delta: float) -> float | None:
    """Smallest epsilon for which the law keeps delta on all pairs, both directions."""
    outputs = mechanism.outputs()
    if outputs is None:
        return None
    largest = 0.0
    for one, other in pairs:
        p, q = mechanism.logp(outputs, one), mechanism.logp(outputs, other)
        largest = max(largest, _exact_epsilon(p, q, delta), _exact_epsilon(q, p, delta))
    return largest


def _exact_epsilon(log_p: NDArray[np.float64], log_q: NDArray[np.float64], delta: float) -> float:
    """Smallest epsilon >= 0 with sum of (p - exp(epsilon) q)+ <= delta.

    On the outputs sorted by falling ratio the sum over the first k is A_k - exp(epsilon) B_k,
    and the divergence is the largest of these; so epsilon = max over k of
    log((A_k - delta) / B_k).
    """
    possible = np.isfinite(log_p)
    log_p, log_q = log_p[possible], log_q[possible]
    if delta == 0:
        return max(0.0, float(np.max(log_p - log_q, initial=0.0)))
    order = np.argsort(log_q - log_p)
    a, b = np.cumsum(np.exp(log_p[order])), np.cumsum(np.exp(log_q[order]))
    over = a > delta
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.max(np.log(a[over] - delta) - np.log(b[over]), initial=0.0)))
