"""The exchange algorithm's sweeps with a conjugate mechanism, whose posterior is known exactly.

The sweeps are those of the engine. Their parts are replaced: the population by 0/1 records of
probability p, and the mechanism by theta ~ Beta(a + s, b + n - s), s the number of ones, and copies
of theta's records, which is `BetaBinomialMechanism`'s law. Steps that exchange need to know of that
no more than of the clipped posterior: exact draws, and a score without its constant.
"""

import math
from collections.abc import Callable
from types import FunctionType

import arviz as az
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.kernels.censored import exchange

MANY = 5.0  # standard errors, of a false alarm of 6e-7
SIZE, PRIOR, OUTPUTS = 12, (0.6, 0.9), [11, 8]


def log_bernoulli(s: float, n: float, u: float) -> float:
    return s * math.log(u) + (n - s) * math.log1p(-u)


def expit(g: float) -> float:
    return 1 / (1 + math.exp(-g))


def draw_points(t1, t2, n, law, work, used, rng, drawn):
    s = t1[:n].sum()
    drawn[:, 0] = rng.beta(law[0] + s, law[1] + n - s, len(drawn))
    drawn[:, 1] = 0.5
    return used


def from_the_prior(t1, t2, n, law, work, used, rng, drawn):
    drawn[:] = rng.beta(*law, drawn.shape)
    return used


def draw_records(kind, t1, t2, first, last, eta, rng):
    t1[first:last] = rng.random(last - first) < expit(eta[0])


PARTS = {
    "draw_points": draw_points,
    "score_at": lambda t1, t2, n, u, v, law: log_bernoulli(t1[:n].sum(), n, u),
    "prior_at": lambda u, v, law: (law[0] - 1) * math.log(u) + (law[1] - 1) * math.log1p(-u),
    "copy_at": lambda copies, m, u, v, law: log_bernoulli(copies[m], SIZE, u),
    "draw_records": draw_records,
    "sums_of": lambda kind, t1, t2, n: (t1[:n].sum(), 0.0),
    "log_of_records": lambda kind, n, sums, g, h: log_bernoulli(sums[0], n, expit(g)),
    # p ~ Uniform(0, 1), and a second parameter that nothing depends on
    "log_prior_of_eta": lambda kind, g, h, prior: math.log(expit(g) * expit(-g)) - h * h / 2,
    "in_range": lambda kind, g, h: abs(g) < 30,
}


def sweeps_of(parts: dict[str, Callable]) -> Callable:
    """The engine's sweeps, uncompiled, with these parts in the place of its own."""
    names = vars(exchange) | parts
    for name, each in vars(exchange).items():
        if getattr(each, "__module__", None) == exchange.__name__ and hasattr(each, "py_func"):
            names[name] = FunctionType(each.py_func.__code__, names)
    return names["exchange_sweeps"]


def sampled(parts: dict[str, Callable], sizes: range, sweeps: int, seed: int) -> np.ndarray:
    """Draws of p and n, shape (sweeps, 2), after a warmup of 300."""
    rng, warmup = np.random.Generator(np.random.SFC64(seed)), 300
    log_sizes = np.full(sizes[-1] + 1, -np.inf)
    log_sizes[list(sizes)] = 0.0
    records, n = (np.zeros(log_sizes.size), np.zeros(log_sizes.size)), sizes[0]
    tuned, mean = np.zeros(12), np.array([0.0, 0.0, 1.0, 0.0, 1.0])
    tuned[:6], tuned[9], tuned[11] = (-1.0, -1.0, 0.0, 0.0, 1.0, 0.0), 1.0, 1.0
    rows, *_ = sweeps_of(parts)(
        0, records, n, np.zeros(2), np.full((len(OUTPUTS), 2), 0.5), OUTPUTS, PRIOR, None,
        log_sizes, tuned, mean, 0, warmup, warmup + sweeps, rng,
    )  # fmt: skip
    return np.column_stack([special.expit(rows[warmup:, 0]), rows[warmup:, 2]])


def scores(found: np.ndarray, exact: tuple[float, float]) -> list[float]:
    """Distances of the chain's mean and mean square of p from exact ones, in standard errors."""
    powers = [found[:, 0], found[:, 0] ** 2]
    error = [each.std() / math.sqrt(float(az.ess(each[None]))) for each in powers]
    return [abs(v.mean() - e) / s for v, e, s in zip(powers, exact, error, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [range(7, 8), range(4, 11)], ids=["known", "unknown"])
def test_conjugate_draws_have_their_exact_posterior(sizes):
    """As `BinomialModel` sums it out; and a wrong auxiliary draw is found out."""
    known = len(sizes) == 1
    mechanism = bdp.mechanisms.BetaBinomialMechanism(sizes[0] if known else None, SIZE, PRIOR)
    release = bdp.Release.of(mechanism, OUTPUTS)
    exact = bdp.BinomialModel(n=None if known else sizes).posterior(release)
    moments = exact.mean(), exact.sd() ** 2 + exact.mean() ** 2
    found = sampled(PARTS, sizes, 4000, seed=1)
    assert max(scores(found, moments)) < MANY
    wrong = sampled(PARTS | {"draw_points": from_the_prior}, sizes, 1500, seed=1)
    assert max(scores(wrong, moments)) > 2 * MANY
    if not known:  # Pr[n | copies]: the number of ones is uniform, given n
        each = [
            np.exp(sum(mechanism.logp(z, bdp.Count(np.arange(n + 1), n)) for z in OUTPUTS)).mean()
            for n in sizes
        ]
        expected = float(np.average(sizes, weights=each))
        error = found[:, 1].std() / math.sqrt(float(az.ess(found[None, :, 1])))
        assert abs(found[:, 1].mean() - expected) < MANY * error
