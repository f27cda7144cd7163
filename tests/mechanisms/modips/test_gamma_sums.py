"""Copies of gamma records whose number is confidential: their law, and what models make of it."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.inference.readers import models_of
from bayesdp.mechanisms.families import Gamma
from bayesdp.models import GammaModel

SBS = bdp.mechanisms.ModipsSBSMechanism
NOISE = pytest.mark.parametrize("noise", ["laplace", "gaussian"])
CASES = pytest.mark.parametrize(
    ("family", "given"),
    [
        (Gamma((0, 4)), (6.0, -4.0)),
        (Gamma((0.5, 3), 2.5, (2.0, 1.5)), (5.0, 1.0)),
        (Gamma((0, 4)), (2.0, -4.0)),  # noise may put the sum far below that of no records
    ],
)


@CASES
@NOISE
def test_the_law_of_one_record_is_a_law_and_draws_follow_it(family, given, noise):
    mechanism = SBS(family, 1, (2.0, 3.0), noise=noise)
    u = np.linspace(-25, 16, 1641)
    law = np.exp(mechanism.logp(np.exp(u)[:, None], given) + u)
    assert integrate.trapezoid(law, u) == pytest.approx(1, rel=1e-8)
    below = np.concatenate([[0], integrate.cumulative_trapezoid(law, u)])
    with bdp.reproducible(8):
        drawn = np.log(mechanism.release(given, 20_000)[:, 0])
    assert stats.kstest(drawn, lambda at: np.interp(at, u, below)).pvalue > 1e-3


@CASES
@NOISE
def test_the_law_is_the_mean_over_noise(family, given, noise):
    """Over n* by a sum, over the noisy sum by an integral, the rate integrated out by its law."""
    mechanism = SBS(family, 3, (2.0, 3.0), noise=noise)
    y, (n, centred) = np.array([0.3, 0.9, 2.0]), given
    k, (a, b), (low, high) = family.shape, family.rate_prior, family.bounds
    middle = float(mechanism.family.middle)
    laplace = noise == "laplace"
    away = np.linspace(-90, 90, 14_401) if laplace else np.linspace(-30, 30, 4801)
    chances = (stats.laplace if laplace else stats.norm).pdf(away, 0, 3)
    integers, total = mechanism.parts[0].noise, 0.0
    for v in range(1, 70):
        if v == 1:
            chance = np.exp(integers.log_upper(np.array([n - 1.0])))
        else:
            chance = np.exp(integers.log_pmf(np.array([v - n])))
        sums = np.clip(v * middle + centred + away, v * low, v * high)
        shape, rate = a + v * k, b + sums
        logs = shape * np.log(rate) - special.gammaln(shape) + special.gammaln(shape + 3 * k)
        logs = logs - (shape + 3 * k) * np.log(rate + y.sum())
        logs += (k - 1) * np.log(y).sum() - 3 * special.gammaln(k)
        total += chance[0] * integrate.trapezoid(chances * np.exp(logs), away)
    assert mechanism.logp(y, given) == pytest.approx(np.log(total), abs=2e-5)


def test_the_law_is_vectorised_over_outputs_and_statistics():
    mechanism = SBS(Gamma((0, 4)), 2, (2.0, 3.0))
    outputs, statistics = np.array([[0.1, 1.0], [2.0, 7.0]]), np.array([[6.0, 4.0], [2.0, -1.0]])
    each = mechanism.logp(outputs[:, None], statistics)
    assert each.shape == (2, 2)
    for i, j in np.ndindex(2, 2):
        alone = mechanism.logp(outputs[i], statistics[j])
        assert each[i, j] == pytest.approx(float(alone), rel=1e-12)
    assert mechanism.logp([-1.0, 2.0], (6.0, 4.0)) == -np.inf


def test_the_posterior_is_that_of_the_mechanisms_own_law():
    """Bayes' rule on a fine grid of sums; the bounds are so far that sums have a gamma law."""
    rng, family = np.random.default_rng(6), Gamma((0, 200))
    synthesizer = bdp.ModipsSynthesizer(family, epsilon=20.0, copies=2, size=9, public_n=False)
    with bdp.reproducible(9):
        release = synthesizer.release(rng.exponential(2.0, 40))
    assert models_of(release.mechanism) == ("GammaModel",)
    sums = np.geomspace(1, 4000, 1201)
    logs = special.gammaln(42.0) - special.gammaln(40.0) - special.gammaln(2.0) + 2 * np.log(3.0)
    logs = logs + 40 * np.log(sums) - 42 * np.log(3.0 + sums)  # of log S, rate integrated out
    statistic = np.column_stack([np.full(sums.size, 40.0), sums - 40 * family.middle])
    logs = logs + sum(release.mechanism.logp(np.array(y), statistic) for y in release.outputs)
    weights = np.exp(logs - special.logsumexp(logs))
    model = GammaModel((2.0, 3.0), n=40)
    posterior = model.posterior(release)
    assert posterior.mean() == pytest.approx(weights @ (42 / (3 + sums)), rel=1e-3)
    evidence = special.logsumexp(logs) + np.log(np.log(sums[1] / sums[0]))
    assert model.log_evidence(release) == pytest.approx(evidence, abs=2e-3)


def test_new_sums_and_what_is_missing():
    synthesizer = bdp.ModipsSynthesizer(
        Gamma((0, 9)), epsilon=4.0, copies=2, size=5, public_n=False
    )
    release = synthesizer.release(np.random.default_rng(2).uniform(1, 2, 30))
    model = GammaModel((2.0, 3.0), n=30)
    fit = model.fit(release, draws=50, chains=2, seed=1)
    drawn = bdp.posterior_predictive(model, fit, release, draws=20, seed=1)
    assert drawn.posterior_predictive["outputs"].shape == (1, 20, 2, 5)
    with pytest.raises(bdp.errors.InvalidInput, match=r"n isn't in this release"):
        GammaModel((2.0, 3.0)).posterior(release)


@pytest.mark.slow
def test_intervals_are_calibrated():
    """Ranks of the truth in its posterior, with the prior that it is drawn from, bounds and all."""
    family, rng = Gamma((0, 6)), np.random.default_rng(31)
    synthesizer = bdp.ModipsSynthesizer(
        family, epsilon=4.0, copies=1, size=10, public_n=False, clip=True
    )
    model, ranks = GammaModel((4.0, 4.0), n=20), []
    for seed in range(50):
        rate = rng.gamma(4, 1 / 4)
        with bdp.reproducible(7000 + seed):
            release = synthesizer.release(rng.exponential(1 / rate, 20))
        ranks.append(model.posterior(release).cdf(rate))
    assert stats.kstest(ranks, "uniform").pvalue > 0.01
