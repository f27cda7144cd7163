r"""Errata of Groce (2014), New Notions and Mechanisms for Statistical Privacy.

*Theorem 5.1 is false whatever the simulator.* Let the data be two records, v and u, of two kinds,
so that a simulator sees which of them it has. F says 1 with probability f_v; given v, u is 1 with
probability s_v, and

    f_1 = 0,  s_1 = delta,  s_0 small,  f_0 = exp(epsilon) s_0.

F is (epsilon, delta) private in the sense of Definition 5.3: for the first record the simulator
says u, for the second it runs F. Who sees a 1 knows that v = 0. A simulator without the first
record sees u alone, so that whatever it says, the chance that v = 1 is an average of those given
u = 1 and given u = 0, and no smaller than the one given u = 1. So the two differ, by more than
2 sqrt(2 delta), with the probability that F says 1, which is more too. With one secret and this
simulator the example is one for Lemma 5.1 and for Theorem 5.2, whose bound is 2 sqrt(delta).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

from bayesdp.errors import EngineFailed
from bayesdp.papers.erratum import Erratum, Flaw, Relation, Shown
from bayesdp.papers.groce.tables import MEANS, PRODUCTS, TOP_CODED
from bayesdp.privacy.distributional.conversions import to_inference
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee, LawClass
from bayesdp.privacy.distributional.irwin_hall import centred_distribution
from bayesdp.privacy.distributional.least_squares import UniformProducts
from bayesdp.privacy.distributional.map_estimator import MAPEstimator
from bayesdp.privacy.distributional.record_laws import BoundedLaw, Uniform
from bayesdp.privacy.distributional.sums.choice import best_bound
from bayesdp.privacy.distributional.sums.published import SumBound, published, published_uniform
from bayesdp.privacy.distributional.sums.shift import shift_delta
from bayesdp.privacy.distributional.uniform_part import UniformPart

DELTA = 1e-6
_ONE = 0.9  # Pr[v = 1]


def told_apart(epsilon: float, s_0: float) -> tuple[float, float]:
    """Probability of a 1, and by how much the chance of v = 1 then differs between the worlds.

    Raises
    ------
    EngineFailed
        If the worlds aren't (epsilon, delta) close, as the theorems suppose.
    """
    real = np.array([[1 - math.exp(epsilon) * s_0, math.exp(epsilon) * s_0], [1.0, 0.0]])
    simulated = np.array([[1 - s_0, s_0], [1 - DELTA, DELTA]])
    for f, s in ((real, simulated), (simulated, real)):
        sticks = np.maximum(f - math.exp(epsilon) * s, 0).sum(axis=1)
        if sticks.max() > DELTA * (1 + 1e-9):
            raise EngineFailed("the example isn't one: its two worlds are too far apart")
    weights = np.array([1 - _ONE, _ONE])
    seen = weights @ real[:, 1]
    chances = [weights[1] * law[1, 1] / (weights @ law[:, 1]) for law in (real, simulated)]
    return float(seen), float(chances[1] - chances[0])


def _posteriors(epsilon: float, s_0: float, secrets: int) -> tuple[Shown, ...]:
    seen, apart = told_apart(epsilon, s_0)
    printed = 2 * math.sqrt(DELTA * secrets)
    promise = DistributionalGuarantee(
        epsilon, DELTA, "an example", LawClass.of("two records", n=2), source="errata"
    )
    corrected = to_inference(promise, secrets).delta
    return tuple(
        Shown(f"{what}, epsilon = {epsilon:g}, delta = 1e-6", printed, shown, corrected)
        for what, shown in (
            ("how often posteriors are further apart than 3 epsilon and what is printed", seen),
            ("how far apart they then are", apart),
        )
    )


def _lemma() -> tuple[Shown, ...]:
    epsilon, d = 2.0, 2 * math.sqrt(DELTA)
    seen, apart = told_apart(epsilon, 3.5e-3)
    if apart <= d:
        raise EngineFailed("the example isn't one: the posteriors are close")
    printed = 2 * DELTA / d + 2 * DELTA / (epsilon * math.exp(epsilon))
    eta = 2 * epsilon  # epsilon + eta = 3 epsilon
    c = 1 + 1 / (1 - math.exp(epsilon - eta)) + 1 / (math.exp(eta) - math.exp(epsilon))
    corrected = DELTA * (1 + math.exp(epsilon)) / d + DELTA * c
    case = f"how often posteriors aren't (3 epsilon, {d:g}) close, epsilon = 2, delta = 1e-6"
    return (Shown(case, printed, seen, corrected),)


def _theorem_5_1() -> tuple[Shown, ...]:
    return _posteriors(3.0, 3.1e-3, 2)


def _theorem_5_2() -> tuple[Shown, ...]:
    return _posteriors(2.0, 3.5e-3, 1)


def _theorem_6_2() -> tuple[Shown, ...]:
    c, mu = 0.3, 0.1
    one = np.linspace(c, 1, 701)
    worst = float(np.log(one / (one - mu)).max())
    case = "the largest log ratio of probabilities within 0.1, one of them at least 0.3"
    printed, true = math.log((c + mu) / (c - mu)), -math.log1p(-mu / c)
    return (Shown(case, printed, worst, true, relation=Relation.EQUAL),)


def _known_records() -> tuple[Shown, ...]:
    """Check the MAP estimate of (0.9, 0.1) or (0.1, 0.9) from 21 records, 10 of them known."""
    n, known = 21, 10
    others = n - 1 - known
    said = [float(stats.binom.sf(n // 2 - mine, others, 0.9)) for mine in (0, 1)]
    laws = [stats.bernoulli(0.1), stats.bernoulli(0.9)]
    proved = MAPEstimator(laws).guarantee(n, known_records=known).delta
    case = "the smallest delta of a simulator, 21 records of which 10 are known"
    return (Shown(case, 10 * 0.6**others, abs(said[1] - said[0]) / 2, proved),)


def _exponent() -> tuple[Shown, ...]:
    n, t, a, r, *_ = TOP_CODED[0]
    part = UniformPart(((-t, t),), float(stats.norm.pdf(t)), ((-2.5, 2.5),))
    bound = published(n, part, a, r)
    slack = 2 * part.volume**2 * (1 - r) ** 2
    rest = bound.delta - (1 + math.exp(bound.epsilon)) * math.exp(-n * slack)
    with_nu = rest + (1 + math.exp(bound.epsilon))  # nu = 0 known records
    case = "delta of Table 6.2's first row, no record known"
    return (Shown(case, with_nu, bound.delta, 3.124e-5, relation=Relation.EQUAL, tolerance=1e-8),)


def _classes() -> tuple[Shown, ...]:
    n, rare, delta = 4000, 1e-9, 1e-6
    one = BoundedLaw(((0, 10),), ((0, 1),), 1 - rare)
    other = BoundedLaw(((-9, 1),), ((0, 1),), 1 - rare)
    common = BoundedLaw(((-9, 10),), ((0, 1),), 1 - rare)
    bounds = [best_bound(n, law, delta=delta, as_published=True) for law in (one, other)]
    apart = 2 * n * rare  # in probability, all other records under the two laws

    def excess(epsilon: float) -> float:
        """Distance of sums with a record of 10 and of -9, beyond what a simulator allows."""
        allowed = (1 + math.exp(epsilon)) * delta + math.exp(epsilon) * apart
        return shift_delta(2 * epsilon, 19.0, n - 1) - apart - allowed

    least = float(optimize.brentq(excess, 1e-3, 5.0))
    case = "the smallest epsilon of a common simulator at delta = 1e-6, 4,000 records"
    shared = best_bound(n, common, delta=delta, as_published=True).epsilon
    return (Shown(case, max(b.epsilon for b in bounds), least, shared),)


def _middle() -> tuple[Shown, ...]:
    bound = published_uniform(1000, 460)
    case = f"delta at epsilon = {bound.epsilon:.3g} of the simulator, uniform on [-1/2, 1/2]"
    return (
        Shown(
            case,
            bound.delta,
            shift_delta(bound.epsilon, 1.0, 999),
            bound.delta,
            found_true=shift_delta(bound.epsilon, 0.5, 999),
        ),
    )


def _least_squares() -> tuple[Shown, ...]:
    rng = np.random.default_rng(1)
    g = rng.uniform(-1, 1, (500, 2)) @ np.array([[1, 0.6], [0, 1]])
    h = g @ [1.0, -1.0]  # no error: the slopes are 1 and -1
    printed, solved = (g * h[:, None]).sum(0) / (g**2).sum(), np.linalg.solve(g.T @ g, g.T @ h)
    fitted = np.linalg.lstsq(g, h)[0]
    return tuple(
        Shown(
            f"slope {k + 1} of two, h = g_1 - g_2 without error",
            *(float(printed[k]), float(fitted[k]), float(solved[k])),
            relation=Relation.EQUAL,
        )
        for k in range(2)
    )


def _factor() -> tuple[Shown, ...]:
    shown = []
    for n, t, a, r, _, delta in TOP_CODED:
        part = UniformPart(((-t, t),), float(stats.norm.pdf(t)), ((-2.5, 2.5),))
        shown.append(_by_corollary(f"n = {n}, t = {t:g}, a = {a:g}", delta, n, part, (a,), r))
    return tuple(shown)


def _means() -> tuple[Shown, ...]:
    part = Uniform((-1, -1), (1, 1)).parts()[0]
    return tuple(
        _by_corollary(f"n = {n}, a = {a:g}", delta, n, part, (a, a), r)
        for n, a, r, _, delta in MEANS
    )


def _products() -> tuple[Shown, ...]:
    part = UniformPart(((0.36, 1), (-0.6, 0.6)), 0.25, UniformProducts().support)
    return tuple(
        _by_corollary(f"n = {n}, a = {a:g}", delta, n, part, (a, a), r)
        for n, a, r, _, delta in PRODUCTS
    )


def _by_corollary(
    row: str, delta: float, n: int, part: UniformPart, a: tuple[float, ...], r: float
) -> Shown:
    """Compare a printed delta, rounded to three digits, with Corollary 6.2's, written out again."""
    bound: SumBound = published(n, part, a[0], r)
    count = math.ceil(r * part.volume * n) - 1
    tails = sum(
        2 * centred_distribution(count / 2 - each - w / 2, count)
        for each, w in zip(a, part.widths, strict=True)
    )
    few = (1 + math.exp(bound.epsilon)) * math.exp(-2 * n * part.volume**2 * (1 - r) ** 2)
    return Shown(
        f"delta of Corollary 6.2, {row}",
        *(delta, bound.delta, tails + few),
        relation=Relation.EQUAL,
        tolerance=0.02 * delta,
    )


def _row(place: str, flaw: Flaw, printed: str, true: str, evidence: Callable[[], tuple[Shown, ...]]
         ) -> Erratum:  # fmt: skip
    return Erratum("groce", place, flaw, printed, true, evidence)


ROWS = (
    _row("Lemma 5.1", Flaw.FALSE,
         "posteriors are (3 epsilon, d) close but for 2 delta/d + 2 delta/(epsilon e^epsilon)",
         "(1 + e^epsilon) delta/d for the first term: one direction counts by the other world",
         _lemma),
    _row("Theorem 5.1", Flaw.FALSE, "(3 epsilon, 2 sqrt(delta n)) for posteriors of n records",
         "a larger delta: bdp.distributional.to_inference", _theorem_5_1),
    _row("Theorem 5.2", Flaw.FALSE,
         "(3 epsilon, 2 sqrt(delta |Gamma|)) for posteriors, by the same simulator",
         "a larger delta: bdp.distributional.to_inference", _theorem_5_2),
    _row("Theorem 6.2", Flaw.LOOSE, "log (c + mu)/(c - mu)", "-log(1 - mu/c)", _theorem_6_2),
    _row("Corollary 6.1", Flaw.FALSE, "L known records only take the place of n",
         "they are read by the estimator too, which they sway", _known_records),
    _row("Corollary 6.2", Flaw.PRINT, "exponent -2 nu v^2 (1 - r)^2", "-2 n v^2 (1 - r)^2",
         _exponent),
    _row("Corollary 6.3", Flaw.FALSE, "a class of laws takes the largest of their epsilons",
         "where supports differ one simulator must serve all: the class needs common bounds",
         _classes),
    _row("Theorem 6.7", Flaw.PROOF, "the simulator adds (w_2 - w_1)/2",
         "(w_1 + w_2)/2; and what the proof discloses shows whether it failed. The theorem holds",
         _middle),
    _row("Section 6.4", Flaw.FALSE, "least squares is (sum |g|^2)^-1 sum gh",
         "(sum g g')^-1 sum gh; the printed is right for one predictor", _least_squares),
    _row("Table 6.2", Flaw.PRINT, "delta, without Corollary 6.2's factor 1 + e^epsilon",
         "the corollary's is larger; the printed hold by a proof that needs no factor", _factor),
    _row("Table 6.3", Flaw.PRINT, "delta with F(a - w/2)",
         "F(a + w/2) by Corollary 6.2; the printed hold by the sum's own profile", _means),
    _row("Table 6.4", Flaw.PRINT, "delta with F(a - w/2)",
         "F(a + w/2) by Corollary 6.2; the printed hold by the sum's own profile", _products),
)  # fmt: skip
"""In the order of the thesis."""
