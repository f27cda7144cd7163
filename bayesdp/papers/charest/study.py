r"""The experiment of Charest (2010), sections 4.3 and 4.4: exact moments and simulation.

A count x ~ Binomial(n, p) of n = 100 confidential records is released as M beta-binomial
copies z_1..z_M of 100 records, at epsilon in all, so epsilon / M each. Write
S = 2a + n for the total of a copy's beta distribution, mu = (a + n p) / S, and
t^2 = n p (1 - p) / S^2. With q_i = z_i / n, the laws of total expectation and variance give

    E[q_i] = mu,
    W = E[Var(q_i | x)] = (mu (1 - mu) - t^2) (S + n) / (n (S + 1)),
    Var(mean of the q_i) = t^2 + W / M,

and, for the terms of the variance estimator T_M = (1 + 1/M) b - v,

    E[b] = W,    E[v] = (mu (1 - mu) - t^2 - W) / n.

Everything else is enumerated (two copies: 101^2 outputs) or simulated with the mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.engines.mixture import BetaMixture
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.mechanisms.randomness import reproducible

RECORDS = 100
"""Confidential records, and records in a copy, in all of the paper's experiments."""

PRIOR = (1.0, 1.0)
"""The analyst's beta prior of p: uniform. The paper doesn't print the one it used."""

LEVEL = 0.95

ONES = 25
"""The confidential count behind Figure 2. The paper doesn't print the one it used."""

_COUNTS = np.arange(RECORDS + 1)
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Design:
    """Design of an experiment: `copies` at `epsilon` in all, by the smallest symmetric prior."""

    epsilon: float
    copies: int

    @property
    def mechanism(self) -> BetaBinomialMechanism:
        """Calibrate the mechanism."""
        return BetaBinomialMechanism.calibrate(
            n=RECORDS, size=RECORDS, epsilon=self.epsilon, copies=self.copies
        )

    def law(self) -> Floats:
        """Log Pr[z | x] of one copy; shape (z, x), both from 0 to 100."""
        return self.mechanism.logp(_COUNTS[:, None], Count(_COUNTS, RECORDS))


@dataclass(frozen=True, slots=True)
class Moments:
    """Exact moments of the estimates at one p; see the module's docstring.

    Attributes
    ----------
    bias : float
        E[q] - p, the same for any number of copies at the same epsilon per copy.
    variance : float
        Of the mean of the copies' estimates.
    between, within : float
        E[b] and E[v].
    """

    bias: float
    variance: float
    between: float
    within: float


def moments(design: Design, p: float) -> Moments:
    """Compute the exact bias and variance of the mean estimate, and the expected b and v."""
    a = design.mechanism.prior[0]
    total = 2 * a + RECORDS
    mean = (a + RECORDS * p) / total
    explained = RECORDS * p * (1 - p) / total**2
    spread = mean * (1 - mean) - explained
    between = spread * (total + RECORDS) / (RECORDS * (total + 1))
    return Moments(
        bias=mean - p,
        variance=explained + between / design.copies,
        between=between,
        within=(spread - between) / RECORDS,
    )


@dataclass(frozen=True, slots=True)
class Outputs:
    """Released outputs with the truth behind them, or all possible ones with their probability.

    Attributes
    ----------
    p : ndarray, shape (k,)
        The true proportions.
    ones : ndarray of int, shape (k,), or None
        The confidential counts, where simulated.
    copies : ndarray of int, shape (copies, k)
        Synthetic counts.
    probability : ndarray, shape (k,), or None
        Exact probabilities, where enumerated.
    """

    p: Floats
    ones: Counts | None
    copies: Counts
    probability: Floats | None = None

    def average(self, values: NDArray[np.generic]) -> tuple[float, float]:
        """Expected value of `values`, shape (k,), and its standard error: 0 where exact."""
        x = np.asarray(values, dtype=np.float64)
        if self.probability is not None:
            return float((x * self.probability).sum()), 0.0
        return float(x.mean()), self.sd(x) / math.sqrt(x.size)

    def sd(self, values: NDArray[np.generic]) -> float:
        """Standard deviation of `values`, shape (k,)."""
        x = np.asarray(values, dtype=np.float64)
        if self.probability is None:
            return float(x.std(ddof=1))
        return math.sqrt(self.average((x - self.average(x)[0]) ** 2)[0])


def simulate(design: Design, p: float | None, replicates: int, seed: int) -> Outputs:
    """Simulate data and release them through the mechanism itself.

    Parameters
    ----------
    p : float or None
        The true proportion; None draws a new one from the analyst's prior each time.
    replicates, seed : int
        A (design, p, seed) gives the same outputs always, whatever else is simulated.
    """
    code = 0 if p is None else round(1e6 * p)
    rng = np.random.default_rng([seed, round(1e6 * design.epsilon), design.copies, code])
    truth = rng.beta(*PRIOR, replicates) if p is None else np.full(replicates, p)
    ones = rng.binomial(RECORDS, truth)
    with reproducible(int(rng.integers(1 << 63))):
        copies = design.mechanism.release(Count(ones, RECORDS), design.copies)
    return Outputs(truth, ones, copies)


def every_pair(design: Design, p: float) -> Outputs:
    """List all outputs of a design with two copies, with their exact probabilities at p."""
    law = np.exp(design.law())
    weighted = law * stats.binom.pmf(_COUNTS, RECORDS, p)
    probability = np.einsum("ix,jx->ij", weighted, law).ravel()
    first, second = np.divmod(np.arange(probability.size), _COUNTS.size)
    return Outputs(np.full(probability.size, p), None, np.stack([first, second]), probability)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Reiter's combined estimate for many releases at once, each field of shape (k,)."""

    estimate: Floats
    variance: Floats
    df: Floats


def reiter_positive(copies: Counts, *, inflation: float | None = None) -> Estimates:
    """Reiter's estimate q, T*_M and nu_M of each column of `copies`, shape (copies, k).

    The vectorised form of ``combine(..., rule="reiter_positive")`` at n_syn = n.

    Parameters
    ----------
    inflation : float, optional
        Factor of b, which is 1 + 1/M in equation (3); 1 is what the paper's Table 2 used.
    """
    count = copies.shape[0]
    q = copies / RECORDS
    within = (q * (1 - q)).mean(axis=0) / RECORDS
    inflated = (1 + 1 / count if inflation is None else inflation) * q.var(axis=0, ddof=1)
    variance = np.where(inflated > within, inflated - within, within)
    df = np.full(within.shape, np.inf)
    differ = inflated > 0
    df[differ] = (count - 1) * (1 - within[differ] / inflated[differ]) ** 2
    return Estimates(q.mean(axis=0), variance, df)


def covered_by_rule(outputs: Outputs) -> NDArray[np.bool_]:
    """Test whether estimate -+ t sqrt(T*_M) holds p; shape (k,).

    The t distribution function at the standardised error is compared with 0.975, since
    quantiles overflow at the tiny degrees of freedom that occur when T_M is close to 0.
    """
    e = reiter_positive(outputs.copies)
    with np.errstate(divide="ignore"):  # T* = 0, all copies 0 or all 100: a point without p
        t = np.abs(e.estimate - outputs.p) / np.sqrt(e.variance)
    finite = np.isfinite(e.df)
    level = np.where(finite, special.stdtr(np.where(finite, e.df, 1.0), t), special.ndtr(t))
    return np.asarray(level <= (1 + LEVEL) / 2)


def posterior_weights(law: Floats, copies: Counts) -> Floats:
    """Posterior weights Pr[x | copies]; shape (k, 101). `law` is `Design.law()`."""
    log_weights = np.repeat(_log_marginal()[None, :], copies.shape[1], axis=0)
    for outputs in copies:
        log_weights += law[outputs]
    log_weights -= log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def covered_by_posterior(law: Floats, outputs: Outputs) -> NDArray[np.bool_]:
    """Test whether the posterior's equal-tailed 95% interval holds p; shape (k,).

    It does where the posterior distribution function at p lies in [0.025, 0.975].
    """
    a, b = _parameters()
    same = bool(np.all(outputs.p == outputs.p[0]))
    components = special.betainc(a, b, outputs.p[:1, None] if same else outputs.p[:, None])
    below = (posterior_weights(law, outputs.copies) * components).sum(axis=1)
    return np.asarray(np.abs(below - 0.5) <= LEVEL / 2)


def posterior_moments(law: Floats, copies: Counts) -> tuple[Floats, Floats]:
    """Mean and standard deviation of p given each column of `copies`; shape (k,) each."""
    a, b = _parameters()
    weights = posterior_weights(law, copies)
    total = a + b
    mean = (weights * (a / total)).sum(axis=1)
    second = (weights * (a * (a + 1) / (total * (total + 1)))).sum(axis=1)
    return mean, np.asarray(np.sqrt(second - mean**2))


def real_posterior() -> BetaMixture:
    """Posterior of p from the confidential count of Figure 2 itself."""
    a, b = _parameters()
    return BetaMixture(np.ones(1), a[[ONES]], b[[ONES]])


def _parameters() -> tuple[Floats, Floats]:
    """Parameters of the beta posterior of p given each x."""
    ones = _COUNTS.astype(np.float64)
    return PRIOR[0] + ones, PRIOR[1] + RECORDS - ones


def _log_marginal() -> Floats:
    return beta_binomial_logpmf(_COUNTS, RECORDS, *PRIOR)
