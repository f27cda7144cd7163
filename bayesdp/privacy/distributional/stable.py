r"""Stable functions: those that one record hardly ever changes.

The simulator is the function without the record. If in every context the two differ with
probability at most mu, the promise is (0, mu): an event has probabilities that differ by no more
(Groce 2014, Theorem 6.1). If every output also has a probability of at least c > mu in every
context, N and N' of one output differ by at most mu and N >= c, so that delta = 0 with

    epsilon = -log(1 - mu / c),

the larger of log N / (N - mu) and log (N + mu) / N. Theorem 6.2 has log (c + mu) / (c - mu), the
sum of the two. Where the contexts can be listed, the two laws of the output are computed instead,
and with them the smallest delta of any epsilon that this simulator has.

Functions here are symmetric: they read how many records have each value. Records are independent
draws from one of a few laws on finitely many values, and the adversary knows some of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    as_float,
    check_at_least_one,
    check_below,
    check_delta,
    check_share,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.families import finite_laws
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    LawClass,
    check_known_records,
)
from bayesdp.privacy.distributional.worlds import hockey_sticks, smallest_common

Floats = NDArray[np.float64]
Counts = tuple[int, ...]

_UP = 1 + 1e-9  # above the rounding of multinomial probabilities
_ERROR = 1e-10  # and of sums of them, or of the logarithm of their ratios
_MOST = 300_000


@dataclass(frozen=True)
class StableFunction:
    """Stability of a symmetric function: how seldom a record changes it; see `stable_function`.

    Attributes
    ----------
    changed : float
        mu, the largest probability in any context that a record changes the output.
    real, simulated : ndarray, shape (contexts, outputs), or None
        The output's laws with the record and without; None where `changed` is from draws.
    alpha : float
        The probability, at most, that `changed` is too small, where it was estimated from draws; 0
        where it was computed.
    """

    changed: float
    real: Floats | None
    simulated: Floats | None
    alpha: float
    about: LawClass
    in_words: str
    known_records: int

    @property
    def least(self) -> float:
        """Smallest probability c of an output in any context; 0 where it isn't computed."""
        return 0.0 if self.real is None else float(self.real.min()) / _UP

    def delta(self, epsilon: float = 0.0) -> float:
        """A delta that the function keeps at `epsilon`, rounded up; from draws, alpha included."""
        epsilon = check_below("epsilon", epsilon, 700)
        if self.real is None or self.simulated is None:
            return min(1.0, self.changed + self.alpha)
        return min(
            1.0, float(hockey_sticks(self.real, self.simulated, epsilon).max()) * _UP + 1e-15
        )

    def epsilon(self, delta: float = 0.0) -> float:
        """The smallest epsilon that the function keeps at `delta`, rounded up; inf if none."""
        delta = check_delta(delta)
        if self.real is None or self.simulated is None:
            return 0.0 if self.delta() <= delta else math.inf
        return smallest_common(self.real, self.simulated, max(0.0, delta - _ERROR)) + _ERROR

    def guarantee(self, *, delta: float | None = None) -> DistributionalGuarantee:
        """Return the promise at `delta`; without it, at epsilon = 0 with the smallest delta."""
        drawn = (
            f"How often a record changes the output was drawn; the chance of {self.alpha:.3g} that "
            "the bound fails is part of delta.",
        )
        return DistributionalGuarantee(
            0.0 if delta is None else self.epsilon(delta),
            self.delta() if delta is None else check_delta(delta),
            self.in_words,
            self.about,
            known_records=self.known_records,
            assumptions=drawn if self.alpha else (),
            source="bayesdp.privacy.distributional.stable; Groce (2014), Theorems 6.1 and 6.2",
        )


def stable_promise(changed: float, least: float) -> float:
    """The epsilon of a stable function at delta = 0, -log(1 - changed / least) (Theorem 6.2).

    Parameters
    ----------
    changed : float
        mu: a record changes the output with at most this probability, in every context.
    least : float
        c: every output has at least this probability in every context.

    Returns
    -------
    float
        Rounded up; inf where `changed` isn't below `least`.

    Raises
    ------
    InvalidInput
        If a probability is out of its range.
    """
    changed, least = _probability("changed", changed), _probability("least", least)
    return -math.log1p(-changed / least) * (1 + 2.0**-48) if changed < least else math.inf


def _probability(name: str, value: Any) -> float:
    checked = as_float(value)
    if not 0 <= checked <= 1:
        raise InvalidInput(f"{name} is {quoted(value)}; it must be a probability, from 0 to 1")
    return checked


def stable_function(
    function: Callable[[Counts], Hashable],
    laws: Sequence[Any],
    n: int,
    *,
    known_records: int = 0,
    draws: int | None = None,
    alpha: float = 1e-9,
) -> StableFunction:
    """Compute how seldom one of n records changes a symmetric function of them, under a few laws.

    Parameters
    ----------
    function : callable
        A function of a tuple of counts, one for each value, that sum to n or, without a record,
        to n - 1.
    laws : sequence of scipy.stats or PyMC distributions
        Discrete, on the same finitely many values. The promise extends to all mixtures: an
        adversary may be unsure which law holds (Theorem 5.4).
    n : int
        Number of records, at least 2.
    known_records : int
        How many the adversary knows, whichever they are.
    draws : int, optional
        Number of draws in each context, instead of a sum over all counts where there are too many.
        The bound then fails with probability at most `alpha`, which is part of delta.
    alpha : float
        In (0, 1); used with `draws` alone.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or there are too many counts to sum over.
    """
    names, values, logs = finite_laws(laws)
    n = check_at_least_one("n", n)
    known = check_known_records(known_records, n)
    if draws is not None:
        draws = check_at_least_one("draws", draws)
    alpha = check_share("alpha", alpha)
    k, unknown = values.size, n - 1 - known
    contexts = _number(known, k) * k * len(names)
    work = contexts * (_number(unknown, k) if draws is None else draws)
    if work > (_MOST if draws is None else 100 * _MOST):
        raise InvalidInput(
            f"there are {contexts:,} contexts and {_number(unknown, k):,} counts of {unknown} "
            f"records with {k} values, too many; take coarser values or fewer known records, or "
            "give draws=..."
        )
    memory: dict[Counts, Hashable] = {}

    def value_of(counts: NDArray[np.int64]) -> Hashable:
        key = tuple(counts.tolist())
        if key not in memory:
            memory[key] = function(key)
        return memory[key]

    about = LawClass.of("one_of_a_family", laws=names, n=n)
    words = (
        f"{n} independent records from one of the laws {', '.join(names)}, whichever it is; the "
        f"adversary knows any {known} of them"
    )
    if draws is not None:
        changed = _drawn(value_of, logs, known, unknown, draws, alpha / contexts)
        return StableFunction(changed, None, None, alpha, about, words, known)
    others = np.array(list(_all_counts(unknown, k)), dtype=np.int64)
    laws_of = [_multinomial(others, row) for row in logs]
    columns: dict[Hashable, int] = {}
    cells: list[tuple[Floats, list[int], list[int]]] = []
    changed = 0.0
    for seen in _all_counts(known, k):
        for x in range(k):
            record = np.eye(k, dtype=np.int64)[x]
            pairs = [(value_of(u + seen + record), value_of(u + seen)) for u in others]
            ids = [[columns.setdefault(t, len(columns)) for t in pair] for pair in pairs]
            differ = np.array([a != b for a, b in ids])
            for law in laws_of:
                changed = max(changed, float(law[differ].sum()))
                cells.append((law, [a for a, _ in ids], [b for _, b in ids]))
    real, simulated = (np.zeros((len(cells), len(columns))) for _ in range(2))
    for row, (law, one, other) in enumerate(cells):
        np.add.at(real[row], one, law)
        np.add.at(simulated[row], other, law)
    return StableFunction(min(1.0, changed * _UP), real, simulated, 0.0, about, words, known)


def _number(total: int, k: int) -> int:
    return math.comb(total + k - 1, k - 1)


def _all_counts(total: int, k: int) -> Iterator[tuple[int, ...]]:
    """List all vectors of k counts with that sum."""
    if k == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _all_counts(total - first, k - 1):
            yield (first, *rest)


def _multinomial(counts: NDArray[np.int64], log_p: Floats) -> Floats:
    from scipy import special

    total = int(counts[0].sum())
    logs = special.gammaln(total + 1) - special.gammaln(counts + 1).sum(axis=1)
    return np.asarray(np.exp(logs + (counts * log_p).sum(axis=1)))


def _drawn(
    value_of: Callable[[NDArray[np.int64]], Hashable],
    logs: Floats,
    known: int,
    unknown: int,
    draws: int,
    alpha: float,
) -> float:
    """The largest of Clopper and Pearson's upper bounds over contexts, each at level alpha."""
    from scipy import stats

    generator, worst, k = np.random.default_rng(), 0.0, logs.shape[1]
    for seen in _all_counts(known, k):
        for log_p in logs:
            p = np.exp(log_p)
            others = generator.multinomial(unknown, p / p.sum(), size=draws) + np.array(seen)
            before = [value_of(u) for u in others]
            for x in range(k):
                record = np.eye(k, dtype=np.int64)[x]
                times = sum(value_of(u + record) != b for u, b in zip(others, before, strict=True))
                bound = 1.0 if times == draws else stats.beta.isf(alpha, times + 1, draws - times)
                worst = max(worst, float(bound))
    return worst
