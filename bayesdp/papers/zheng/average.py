r"""Section 6.3 of Zheng (2015): average-case privacy of binary records.

(epsilon, delta, Delta) asks for one simulator, without record i, that is (epsilon, delta) close to
the release given either value of record i (Definition 2.14). With D the divergence between the two,
averaged over the others, the smallest such delta is at least D(2 epsilon) / (1 + exp(epsilon))
(Proposition 2.15) and at most D(log(2 exp(epsilon) - 1)) / 2
(`bayesdp.mechanisms.conjugate.average`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from bayesdp.mechanisms.conjugate.average import average_case_delta
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.papers.reproduction import Table, Value
from bayesdp.papers.zheng.tables import NAMES

_PRIOR = (10.0, 10.0)
INTERVALS = ((0.0, 1.0), (0.25, 0.75), (0.5, 0.5))
"""Of the probability of a one, which the adversary knows or anything in it."""
EPSILONS = (0.5, 2.0, 5.0)


def average_case() -> list[Table]:
    """Compute Theorems 6.18 and 6.20, Corollary 6.19 and Proposition 6.17."""
    return [_impossible(), _condition(), _rate()]


def _release(method: str, n: int) -> ConjugateMechanism:
    return ConjugateMechanism("bernoulli", method, n, _PRIOR)


def floor(release: ConjugateMechanism, epsilon: float, theta: tuple[float, float]) -> float:
    """Lower bound on any simulator's delta: D(2 epsilon) / (1 + exp(epsilon))."""
    return average_case_delta(release, 2 * epsilon, theta=theta) / (1 + math.exp(epsilon))


def ceiling(release: ConjugateMechanism, epsilon: float, theta: tuple[float, float]) -> float:
    """Delta that a simulator attains: D(log(2 exp(epsilon) - 1)) / 2."""
    inner = math.log(2 * math.exp(epsilon) - 1)
    return average_case_delta(release, inner, theta=theta) / 2


def _impossible() -> Table:
    values: list[tuple[Value, ...]] = []
    for theorem, method in (("6.18", "parameter_map"), ("6.20", "parameter_draw")):
        for theta in INTERVALS:
            made = _release(method, 100)
            least = [floor(made, epsilon, theta) for epsilon in EPSILONS]
            most = ceiling(made, EPSILONS[0], theta)
            verdict = "holds" if all(value > 0 for value in least) else "not shown"
            row = theorem, NAMES.get(method, method), "[{:g}, {:g}]".format(*theta)
            values.append((*row, *least, most, verdict))
    return Table(
        name="average_case",
        title="Section 6.3: average-case privacy, n = 100, Beta(10, 10)",
        columns=("theorem", "release", "theta in",
                 *(f"delta at least, epsilon = {epsilon:g}" for epsilon in EPSILONS),
                 f"at most, epsilon = {EPSILONS[0]:g}", "verdict"),
        values=tuple(values),
        formats=("", "", "", *[".3g"] * (len(EPSILONS) + 1), ""),
        note="Records are independent, a one with probability theta, and the adversary knows no "
        "other. Both theorems say that no epsilon is enough with delta = 0, and hold for every "
        "interval: a positive delta is needed at each epsilon. For the mode it is large only where "
        "theta may be near 0 or 1; at theta = 1/2 it is small.",
    )  # fmt: skip


def condition(n: int, theta: float, epsilon: float) -> float:
    """Delta that Proposition 6.17's condition asks for: of single sums next to each other."""
    mass = stats.binom.pmf(np.arange(n + 1), n, theta)
    gaps = [mass[1:] - math.exp(epsilon) * mass[:-1], mass[:-1] - math.exp(epsilon) * mass[1:]]
    return max(float(np.max(gaps)), 0.0) / 2


def _condition() -> Table:
    values: list[tuple[Value, ...]] = []
    for n in (100, 1000, 10_000):
        for theta in (0.5, 0.0):
            claimed = condition(n, theta, 0.0)
            least = floor(_release("parameter_map", n), 0.0, (theta, theta))
            verdict = "holds" if claimed >= least else f"FALSE: {least / claimed:.3g} times as much"
            values.append(("6.17", n, theta, claimed, least, verdict))
    return Table(
        name="average_case_condition",
        title="Proposition 6.17: delta at epsilon = 0 by its condition, PARAM_MAP",
        columns=(
            "theorem",
            "n",
            "theta",
            "delta by the condition",
            "no simulator below",
            "verdict",
        ),
        values=tuple(values),
        formats=("", "d", "g", ".4g", ".4g", ""),
        note="The condition compares the probabilities of single sums, and what it allows of each "
        "adds up over a set of them. Of one theta it is false. Of all theta at once, as the "
        "section has it, it is empty: theta = 0 alone asks for delta = 1/2, at which a fair coin "
        "in place of the record is always close enough.",
    )


def rate(n: int, epsilon: float) -> float:
    """Difference of Corollary 6.19: Pr[B = s] - exp(2 epsilon) Pr[B = s - 1], theta = 1/2."""
    s = (n - 1) // 2
    one, other = (float(stats.binom.pmf(k, n - 1, 0.5)) for k in (s, s - 1))
    return one - math.exp(2 * epsilon) * other


def _rate() -> Table:
    values: list[tuple[Value, ...]] = []
    for n in (101, 301, 1001):
        for epsilon in (0.1, 0.5):
            made, half = _release("parameter_map", n), (0.5, 0.5)
            bound = rate(n, epsilon)
            row = "6.19", n, epsilon, (1 - math.exp(2 * epsilon)) / math.sqrt(n - 1), bound
            needed = ceiling(made, epsilon, half)
            values.append((*row, needed, "shows nothing" if bound <= 0 else "holds"))
    return Table(
        name="average_case_rate",
        title="Corollary 6.19: the difference that delta is to be below, theta = 1/2, PARAM_MAP",
        columns=("theorem", "n", "epsilon", "printed rate", "difference", "enough: delta",
                 "verdict"),
        values=tuple(values),
        formats=("", "d", "g", ".4g", ".4g", ".3g", ""),
        note="The printed rate, (1 - e^(2 epsilon))/sqrt(n), is negative for every epsilon above "
        "0, and no delta is below it. Of theta = 1/2, the delta that is enough falls faster than "
        "any power of n. That the mode has no small delta for all theta is true, by theta near 0 "
        "and 1: see the first table.",
    )  # fmt: skip
