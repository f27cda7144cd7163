r"""Audit a mechanism: does its sampler keep the promise that it makes?

An (epsilon, delta) promise says that for neighbours D, D' and every event E,
Pr[M(D) in E] <= exp(epsilon) Pr[M(D') in E] + delta. So any event gives a lower bound

    epsilon >= log((Pr[M(D) in E] - delta) / Pr[M(D') in E]),

and if that exceeds the claim, the claim is false. The probabilities are estimated from the
mechanism's own draws and bounded by Clopper and Pearson's exact intervals, so that a
mechanism which keeps its promise is convicted with probability at most `alpha`:

* events are sets {log Pr[z | D] - log Pr[z | D'] >= t}, the most powerful ones if the law
  is right, and valid ones if it isn't; and sets of outputs whose number, or that of their numbers
  which differs most between D and D', is above or below a t, or has its last bit there: these see
  a leak that the law hides;
* t is chosen on one half of the draws and tested on the other, so that choosing it costs nothing;
* alpha is shared by all pairs of neighbours, both directions and both intervals
  (Bonferroni), so that the bounds hold jointly. A search for worse pairs uses the law, or draws
  of its own, and adds one pair: the draws that convict play no part in the choice.

Where there are only finitely many outputs, the exact largest log ratio of the law is computed too.
That is a statement about the law as written, the other about the sampler as it runs. Where the
sampler doesn't follow the law (`bayesdp.privacy.audit_law`), the result says so: events chosen by
the law may then be blind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from bayesdp.checks import check_at_least, check_delta, check_share
from bayesdp.errors import InvalidInput
from bayesdp.privacy.audit_draws import bounds_from_draws, largest_bound, smallest_fault
from bayesdp.privacy.audit_law import departure, draws_of, pair_departure, repeats
from bayesdp.privacy.audit_search import pair_epsilon, search_pair
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    refuse_distributional,
)
from bayesdp.privacy.guarantee import Guarantee

Pair = tuple[Any, Any]
_POWER = 0.99


class Auditable(Protocol):
    """Protocol of a mechanism that can be audited: its claim, worst pairs, sampler and law."""

    def guarantee(self) -> Guarantee | DistributionalGuarantee:
        """The claimed guarantee of one copy; takes `delta` if the claim depends on it."""

    def pairs(self) -> Iterable[Pair]:
        """Pairs of neighbouring statistics, the worst among them."""

    def outputs(self) -> NDArray[Any] | None:
        """List all outputs, if they are few enough; else None."""

    def release(self, statistic: Any, copies: int = ...) -> NDArray[Any]:
        """Draw `copies` independent outputs, first axis."""

    def logp(self, output: Any, statistic: Any) -> NDArray[Any]:
        """Log-probability or log-density of the outputs given the statistic."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Result of an audit: a claim, and the bounds on epsilon that its draws and its law give.

    Attributes
    ----------
    claim : Guarantee
        What the mechanism promises.
    epsilon_lower : float
        Largest lower bound on epsilon at the claimed delta, valid with probability
        1 - alpha; 0 where the draws show nothing. Judge it by how much the draws could have shown:
        see `epsilon_attainable` and `smallest_fault`.
    epsilon_exact : float or None
        Exact epsilon of the law at the claimed delta over the pairs tried, where the
        outputs can be listed.
    pair : tuple
        The neighbours, in the order that gave `epsilon_lower`.
    pairs, trials : int
        Number of pairs tried; number of draws from each of a pair's two members.
    alpha : float
        Probability of convicting a mechanism that keeps its promise.
    searched : int
        Number of other pairs whose law was evaluated; the worst of them is among those tried if it
        is worse than every pair that the mechanism proposes.
    impossible : int
        Number of draws, among a tenth as many as `trials` (or all, up to 100,000), or 1,000 where
        they can't be counted, to which the law of the statistic they were drawn from gives
        probability 0: no event chosen by that law measures what such outputs reveal.
    departures : int
        Number of outputs, of as many draws that can be counted, that come more often or less often
        than by that law; of outputs that can't be counted, as numbers with a density, of ranges of
        the log ratio of two neighbours in which the draws have another. The sampler doesn't follow
        the law then, and events chosen by it may be blind. 0 with probability 1 - alpha where the
        sampler does.
    repeats : int
        Number of statistics, of those tried, whose draws came again when they were drawn anew, as
        by a seed that is used twice: what is added to one release is known from another.
    """

    claim: Guarantee
    epsilon_lower: float
    epsilon_exact: float | None
    pair: Pair
    pairs: int
    trials: int
    alpha: float
    searched: int = 0
    impossible: int = 0
    departures: int = 0
    repeats: int = 0

    @property
    def convicted(self) -> bool:
        """True if the claim is false: refuted by the draws, which may repeat, or by the law."""
        # The law is computed to 13 digits, and a claim is rounded up in the 15th.
        by_law = self.epsilon_exact is not None and (
            self.epsilon_exact > self.claim.epsilon * (1 + 1e-9) + 1e-12
        )
        return by_law or self.repeats > 0 or self.epsilon_lower > self.claim.epsilon

    @property
    def follows_law(self) -> bool:
        """True unless draws are impossible by the law, or departed from it."""
        return not (self.impossible or self.departures)

    @property
    def epsilon_attainable(self) -> float:
        """The largest `epsilon_lower` that this many draws can show for any mechanism."""
        return largest_bound(self.trials, self.claim.delta, self._level)

    @property
    def smallest_fault(self) -> float | None:
        """Smallest probability of a fault that such an audit convicts in most runs, or None.

        A fault is an event that one neighbour gives and the other never does, and that the law's
        log ratios separate from all others. Once the half of the draws that chooses an event has
        chosen this one, the other half convicts with probability 0.99. A rarer fault, or one that
        differs less between neighbours, may go unseen, and with it a promise that is false by as
        much. None if no fault, however frequent, would be convicted.
        """
        return smallest_fault(
            self.trials, self.claim.delta, self._level, self.claim.epsilon, _POWER
        )

    @property
    def _level(self) -> float:
        return self.alpha / (4 * self.pairs)  # two directions, two intervals

    def _power(self) -> str:
        most, least = self.epsilon_attainable, self.smallest_fault
        if least is None:
            return f"this many draws show at most {most:.4g}, and could convict nothing"
        return (
            f"this many draws show at most {most:.4g}, and in most runs convict an output that "
            f"only one neighbour gives, if it comes at least once in {1 / least:,.0f} draws"
        )

    def __str__(self) -> str:
        blind = self.smallest_fault is None and self.epsilon_exact is None
        verdict = "no violation could be found" if blind else "no violation found"
        if not self.follows_law:
            verdict += ", BUT THE DRAWS AREN'T OF THE LAW by which it was looked for"
        if self.convicted:
            verdict = "CONVICTED: the claim is false"
        if self.repeats:
            verdict += ", AS THE DRAWS REPEAT when they are drawn anew"
        share = self.epsilon_lower / self.claim.epsilon if self.claim.epsilon else 1.0
        reach = f", {share:.0%} of the claim" if share < 1 else ""
        exact = "" if self.epsilon_exact is None else f", law epsilon = {self.epsilon_exact:.6g}"
        searched = f", {self.searched:,} others looked at" if self.searched else ""
        pairs = f"{self.pairs} pair{'' if self.pairs == 1 else 's'} of neighbours"
        beyond = f"; {self.impossible:,} draws that the law calls impossible"
        departing = (
            f"; {self.departures:,} outputs, or ranges of them, more or less often than by the law"
        )
        return (
            f"{verdict} (claim {self.claim}; draws show epsilon >= {self.epsilon_lower:.4g}"
            f"{reach}; {self._power()}{exact}; {pairs}{searched}, "
            f"{self.trials:,} draws each{beyond if self.impossible else ''}"
            f"{departing if self.departures else ''})"
        )


def audit(
    mechanism: Auditable,
    *,
    trials: int = 1_000_000,
    delta: float = 0.0,
    alpha: float = 1e-6,
    pairs: Sequence[Pair] | None = None,
    search: int = 0,
) -> Audit:
    """Test a mechanism's claim on its own draws.

    Parameters
    ----------
    mechanism : Auditable
        Any mechanism of this package, or one of your own.
    trials : int
        Draws from each member of each pair, at least 100.
    delta : float
        The delta, in [0, 1), at which the claim is tested: ``guarantee(delta=delta)``.
    alpha : float
        Probability of convicting a mechanism that keeps its promise, in (0, 1).
    pairs : sequence of pairs, optional
        Neighbouring statistics to try, instead of those that the mechanism proposes.
    search : int
        Number of other pairs, near those, to search for one with a larger epsilon. The mechanism
        proposes them by its method ``nearby(pair, generator)``, if it has one; otherwise the whole
        numbers in both members of a pair are shifted by the same amount.

    Returns
    -------
    Audit

    Raises
    ------
    InvalidInput
        If an argument is out of its range, there is no pair to try, the mechanism claims nothing
        at that delta, pairs near others can't be proposed, or the law of an output is no number.

    Notes
    -----
    An audit can refute a claim but never prove one. The module's docstring describes the method.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> found = bdp.audit(
    ...     bdp.mechanisms.BetaBinomialMechanism(n=5, size=5, prior=(3, 3)), trials=10_000
    ... )
    >>> found.convicted, round(found.epsilon_exact, 4)
    (False, 0.9808)
    """
    trials = check_at_least("trials", trials, 100)
    search, alpha = check_at_least("search", search, 0), check_share("alpha", alpha)
    delta = check_delta(delta)
    promise: Any = mechanism.guarantee  # one without a profile needn't take a delta
    claim = promise(delta=delta) if delta else promise()
    refuse_distributional(claim, "an audit of neighbours")
    tried = list(mechanism.pairs() if pairs is None else pairs)
    if not tried:
        raise InvalidInput("pairs is empty; give at least one pair of statistics")
    if math.isinf(claim.epsilon):
        raise InvalidInput(
            f"delta is {delta}, where the mechanism claims nothing (epsilon = inf), so there is "
            "nothing to refute; give a larger delta, for example delta=1e-6"
        )
    if search and (worse := search_pair(mechanism, tried, claim.delta, int(search))) is not None:
        tried.append(worse)
    level = alpha / (4 * len(tried))  # two directions, two intervals
    best, worst = -math.inf, tried[0]
    for pair in tried:
        both = bounds_from_draws(mechanism, pair, int(trials), claim.delta, level)
        for bound, ordered in zip(both, (pair, pair[::-1]), strict=True):
            if bound > best:
                best, worst = bound, ordered
    exact = _exact(mechanism, tried, claim.delta)
    off, apart = [], 0
    for pair in tried:
        drawn = draws_of(mechanism, pair, int(trials))
        off += [departure(mechanism, *each, level) for each in zip(pair, drawn, strict=True)]
        apart += pair_departure(mechanism, pair, drawn, level)
    return Audit(
        claim,
        max(best, 0.0),
        exact,
        worst,
        len(tried),
        int(trials),
        alpha,
        int(search),
        sum(each.impossible for each in off),
        sum(each.outputs for each in off) + apart,
        sum(repeats(mechanism, one, level / 2) for pair in tried for one in pair),
    )


def _exact(mechanism: Auditable, pairs: Sequence[Pair], delta: float) -> float | None:
    """Smallest epsilon for which the law keeps delta on all pairs, both directions."""
    outputs = mechanism.outputs()
    if outputs is None:
        return None
    return max(pair_epsilon(mechanism, pair, delta, outputs) for pair in pairs)
