"""Errata of Liu (2016) on modips, and of Liu, Eugenio, Jin and Bowen (2020) on graph models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.mechanisms.families import Bernoulli
from bayesdp.mechanisms.graphs.dp_ergm.published import largest_log_density, log_masses
from bayesdp.mechanisms.modips.grid import ModipsGridMechanism, noise_scale
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.papers.erratum import FINITE, Erratum, Flaw, Relation, Shown
from bayesdp.papers.liu.tables import BINARY
from bayesdp.synthesis.dp_ergm import DPERGMSynthesizer

Floats = NDArray[np.float64]
_CELLS, _DRAWS, _EPSILON = 3, 6, 0.5


def _made(method: str) -> ModipsGridMechanism:
    return ModipsGridMechanism(
        Bernoulli(), 3, _EPSILON, (0.0, 1.0), method, "published", bins=_CELLS, samples=_DRAWS, n=1
    )


def _chances(made: ModipsGridMechanism) -> list[Floats]:
    """Probabilities of the cells, given a record of 0 and one of 1."""
    weights = [made.model.log_weights(np.array([float(x)])) for x in (0, 1)]
    return [np.exp(each - special.logsumexp(each)) for each in weights]


def _bins() -> tuple[Shown, ...]:
    """Check a histogram of 6 draws in 3 cells: the exact loss over all outputs on whole numbers.

    Further out, the noise changes all probabilities by one factor.
    """
    made = _made("sphc")
    every = np.array(list(itertools.product(range(_DRAWS + 1), repeat=_CELLS)))
    counts = every[every.sum(axis=1) == _DRAWS]
    away = np.abs(every[:, None, :] - counts).sum(axis=-1)

    def loss(scale: float) -> float:
        one, other = (
            special.logsumexp(
                stats.multinomial.logpmf(counts, _DRAWS, chance) - away / scale, axis=-1
            )
            for chance in _chances(made)
        )
        return float(np.abs(one - other).max())

    case = "epsilon of a histogram of 6 posterior draws of one record, in 3 cells"
    return (
        Shown(
            case,
            _EPSILON,
            loss(noise_scale(made)),
            _EPSILON,
            found_true=loss(2 * _DRAWS / _EPSILON),
        ),
    )


def _empty_bin() -> tuple[Shown, ...]:
    made = _made("sdd.mc")
    empty = min(float((1 - each).min()) for each in _chances(made)) ** _DRAWS
    least = -math.inf if empty > 0 else -math.log(_DRAWS)
    case = f"how far log(N_i/N) of {_DRAWS} draws moves, as a cell may be empty"
    return (Shown(case, noise_scale(made) * _EPSILON, 0.0 - least, math.inf),)


def _largest_log_density() -> tuple[Shown, ...]:
    """Check the largest |log f| of the posteriors of 10 records, Beta(1 + x, 11 - x)."""
    x = np.arange(11)
    at_the_end = special.xlogy(x, 0.0) - special.betaln(1 + x, 11 - x)
    case = "sup |log f| of the beta posteriors of 10 records"
    return (Shown(case, FINITE, float(np.abs(at_the_end).max()), math.inf),)


def _counts_of_draws() -> tuple[Shown, ...]:
    """Check N = 24 draws with density at most G = 0.1 in a cell of width 0.3: possible counts."""
    n, height, width = 24, 0.1, 0.3
    possible = [k for k in range(n + 1) if stats.binom.pmf(k, n, height * width) > 0]
    case = "how far a count of 24 draws may move, G = 0.1, h = 0.3"
    return (Shown(case, n * height * width, possible[-1] - possible[0], n),)


def _example() -> tuple[Shown, ...]:
    case = "1/(G h) at G = 0.1, h = 3/10"
    return (Shown(case, 24, 1 / (0.1 * 0.3), 100 / 3, relation=Relation.EQUAL, tolerance=0.5),)


def _truncated() -> tuple[Shown, ...]:
    shown = []
    for scale in (1.0, 10.0):
        laws = []
        for x in range(101):
            mass = np.exp(-np.abs(np.arange(101) - x) / scale)
            laws.append(np.log(mass / mass.sum()))
        largest = max(float(np.abs(a - b).max()) for a, b in pairwise(laws))
        case = f"epsilon of a count from 0 to 100 with noise of scale {scale:g}, truncated"
        shown.append(Shown(case, 1 / scale, largest, 2 / scale))
    return tuple(shown)


def _between() -> tuple[Shown, ...]:
    """Check two copies, each -1 or 1: the mean of b over all four, beside the variance of one."""
    q = np.array(list(itertools.product((-1.0, 1.0), repeat=2)))
    by_m, by_less = (float(q.var(axis=1, ddof=less).mean()) for less in (0, 1))
    case = "the variance between copies, m = 2, that b is to estimate without bias"
    return (Shown(case, by_m, 1.0, by_less, relation=Relation.EQUAL),)


def _labels() -> tuple[Shown, ...]:
    """Check the printed coverage of the original records' interval, from 5000 replicates."""

    def coverage(n: int, p: float) -> float:
        x = np.arange(n + 1)
        half = stats.norm.ppf(0.975) * np.sqrt(x / n * (1 - x / n) / n)
        return float(stats.binom.pmf(x, n, p)[np.abs(x / n - p) <= half].sum())

    shown = []
    for (epsilon, n, p), (printed, *_) in BINARY.items():
        if epsilon == 1.0 and n == 100:
            true = coverage(n, p)
            case = f"coverage printed for the original records, label n = {n // 10}, p = {p:g}"
            error = math.sqrt(true * (1 - true) / 5000)
            shown.append(Shown(case, coverage(n // 10, p), printed, true, relation=Relation.EQUAL,
                               tolerance=5 * error))  # fmt: skip
    return tuple(shown)


def _graphs() -> tuple[Shown, ...]:
    """Check networks of 4 nodes, edges alone: the law of the ties from a coefficient, exactly."""
    ties, claim, bins, reach = np.arange(7), 0.1, 20, 3.0
    nodes, weights = np.polynomial.legendre.leggauss(20)
    middles = reach / bins * (2 * np.arange(bins) + 1 - bins)
    grid = np.linspace(-30, 30, 6001)

    def law(chances: Floats, centre: float, scale: float) -> Floats:
        theta = centre + scale * (middles[:, None] + reach / bins * nodes)
        each = np.exp(ties * theta[..., None] - 6 * np.logaddexp(0, theta)[..., None])
        return np.asarray(np.einsum("c,k,ckt->t", chances, weights / 2, each))

    bound = largest_log_density(reach, 1, 0.0)
    chosen = special.softmax(log_masses(reach, bins, 1, 0.0) * claim / (4 * bound))
    made = DPERGMSynthesizer("edges", claim, "sdd", prior=NormalPrior(0, 5), bins=bins)
    power = made.mechanism_like(Network(4, [])).power
    published, corrected = [], []
    for seen in (0, 1):
        posterior = special.softmax(
            seen * grid - 6 * np.logaddexp(0, grid) - grid**2 / (2 * 5.0**2)
        )
        mean = float(posterior @ grid)
        sd = math.sqrt(float(posterior @ (grid - mean) ** 2))
        published.append(law(chosen, mean, sd))
        theta = 5.0 * middles
        height = seen * theta - 6 * np.logaddexp(0, theta) - theta**2 / (2 * 5.0**2)
        corrected.append(law(special.softmax(power * height), 0.0, 5.0))
    measured, mended = (
        float(np.abs(np.log(one / other)).max()) for one, other in (published, corrected)
    )
    case = "epsilon of a network of 4 nodes by sdd, no tie against one, claimed 0.1"
    return (Shown(case, claim, measured, claim, found_true=mended),)


def _row(place: str, flaw: Flaw, printed: str, true: str, evidence: Callable[[], tuple[Shown, ...]],
         paper: str = "liu") -> Erratum:  # fmt: skip
    return Erratum(paper, place, flaw, printed, true, evidence)


ROWS = (
    _row("Proposition 3", Flaw.FALSE, "Delta_u = 2A, A = sup |log f(theta | x)|",
         "A is infinite for most posteriors; a bound on one record's log-likelihood will do",
         _largest_log_density),
    _row("Algorithms 3, 4", Flaw.FALSE, "SDD.MC and SPHC: all of epsilon in every bin",
         "every bin depends on all records: the losses add up, and 2N/epsilon is the scale", _bins),
    _row("Algorithm 3", Flaw.FALSE, "log(N_i/N) has sensitivity 2A",
         "none is enough: an empty bin has minus infinity", _empty_bin),
    _row("Proposition 5", Flaw.FALSE, "N_i has sensitivity N G V",
         "N: it is a number of random draws, of which all or none may fall in a bin",
         _counts_of_draws),
    _row("Section 3.3, example", Flaw.PRINT, "1/(G h) is 24 at G = 0.1, h = 3/10", "33", _example),
    _row("Section 4, truncation", Flaw.FALSE, "noise truncated to bounds costs 1/scale",
         "up to twice that, by the normalising constant", _truncated),
    _row("Theorem 7", Flaw.PRINT, "b divides by m", "by m - 1, as in Appendix F", _between),
    _row("Table 1(a)", Flaw.PRINT, "n = 10 and 100", "n = 100 and 1000", _labels),
    _row("DP-ERGM", Flaw.FALSE, "coefficients by SDD, SDD.MC and SPHC are epsilon-private",
         "moved and scaled by the posterior's own mean and sd, they tell of the ties", _graphs,
         "liu-eugenio-jin-bowen"),
)  # fmt: skip
"""In the order of the papers."""
