"""Copies of normal records whose number is confidential: their law, and what models make of it."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.families import Gaussian

PRIOR = pytest.mark.parametrize("prior", [None, (0.5, 0.4)])
NOISE = pytest.mark.parametrize("noise", ["laplace", "gaussian"])
GIVEN = (6.0, 4.0)


def made(size, prior=None, noise="laplace", scales=(2.0, 3.0)):
    return bdp.mechanisms.ModipsSBSMechanism(
        Gaussian((-1, 3), 0.8, prior), size, scales, noise=noise
    )


@PRIOR
@NOISE
def test_the_law_of_one_record_is_a_law_and_draws_follow_it(prior, noise):
    mechanism = made(1, prior, noise)
    edges = np.linspace(-1, 3, 21)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    y = edges[:-1, None] + 0.1 * (1 + nodes)
    inner = np.exp(mechanism.logp(y.reshape(-1, 1), GIVEN)).reshape(y.shape) @ weights * 0.1
    law = np.concatenate([inner, np.exp(mechanism.logp([[-1.0], [3.0]], GIVEN))])
    assert law.sum() == pytest.approx(1, rel=1e-9)
    with bdp.reproducible(8):
        drawn = mechanism.release(GIVEN, 40_000)[:, 0]
    inside = (drawn > -1) & (drawn < 3)
    seen = [*np.histogram(drawn[inside], bins=edges)[0], (drawn == -1).sum(), (drawn == 3).sum()]
    assert stats.chisquare(seen, law * len(drawn)).pvalue > 1e-3


@PRIOR
@NOISE
@pytest.mark.parametrize("y", [(0.1, 0.4, 2.0), (-1.0, 0.0, 3.0)])
def test_the_law_is_the_integral_over_noise_and_parameter(prior, noise, y):
    """By sums and integrals as the definition has them: over n*, S* and theta."""
    mechanism = made(3, prior, noise)
    theta = np.linspace(-7, 9, 401)
    likelihood = np.zeros(theta.size)
    for each in y:
        if each == -1:
            likelihood += stats.norm.logcdf((-1 - theta) / 0.8)
        elif each == 3:
            likelihood += stats.norm.logsf((3 - theta) / 0.8)
        else:
            likelihood += stats.norm.logpdf(each, theta, 0.8)
    laplace = noise == "laplace"
    sums = np.linspace(-86, 94, 2401) if laplace else np.linspace(-26, 34, 1201)
    law = (stats.laplace if laplace else stats.norm).pdf(sums, 4, 3)
    total, integers = 0.0, mechanism.parts[0].noise
    m0, s0 = prior or (0.0, np.inf)
    for v in range(1, 40):
        at_least = np.array([1 - 6])
        chance = (
            -np.expm1(integers.log_upper(at_least + 1))
            if v == 1
            else np.exp(integers.log_pmf(np.array([v - 6])))
        )
        precision = v / 0.64 + s0**-2
        centre = (v / 0.64 * np.clip(1 + sums / v, -1, 3) + m0 * s0**-2) / precision
        given = stats.norm.pdf(theta[:, None], centre, precision**-0.5)
        inner = integrate.trapezoid(np.exp(likelihood)[:, None] * given, theta, axis=0)
        total += chance[0] * integrate.trapezoid(law * inner, sums)
    assert mechanism.logp(np.array(y), GIVEN) == pytest.approx(np.log(total), abs=2e-4)


def test_the_law_is_vectorised_over_outputs_and_statistics():
    mechanism = made(2)
    outputs = np.array([[0.0, 1.0], [-1.0, 0.5], [3.0, 3.0]])
    statistics = np.array([[6.0, 4.0], [2.0, -1.0]])
    each = mechanism.logp(outputs[:, None], statistics)
    assert each.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        alone = mechanism.logp(outputs[i], statistics[j])
        assert each[i, j] == pytest.approx(float(alone), rel=1e-10)
    assert mechanism.logp([0.0, 3.1], GIVEN) == -np.inf
    with pytest.raises(bdp.errors.InvalidInput, match="has shape"):
        mechanism.logp([0.0], GIVEN)


@pytest.mark.parametrize("method", ["sbs", "sdd", "sphc"])
def test_the_posterior_is_that_of_the_mechanisms_own_law(method):
    """Bayes' rule on a fine grid of means, with each copy's density from `logp`."""
    rng, family = np.random.default_rng(6), Gaussian((-4, 4), 1.0)
    given = {} if method == "sbs" else {"grid": (-2, 2), "bins": 8}
    synthesizer = bdp.ModipsSynthesizer(
        family, method, 6.0, copies=2, size=9, public_n=False, clip=True, **given
    )
    with bdp.reproducible(9):
        release = synthesizer.release(rng.normal(0.7, 1, 40))
    assert release.mechanism.n is None
    means = np.linspace(-4, 4, 1001 if method == "sbs" else 4001)
    statistic = np.column_stack([np.full(means.size, 40.0), 40 * means])
    logs = stats.norm.logpdf(means, 0.5, np.hypot(2, 40**-0.5))
    logs = logs + sum(release.mechanism.logp(np.array(y), statistic) for y in release.outputs)
    weights = np.exp(logs - special.logsumexp(logs))
    slope = 40 / (40 + 1 / 4)
    mean = slope * (weights @ means) + (1 - slope) * 0.5
    model = bdp.GaussianModel(prior=(0.5, 2.0), sd=1.0, n=40)
    posterior = model.posterior(release)
    assert posterior.mean() == pytest.approx(mean, abs=2e-4)
    spread = slope**2 * (weights @ means**2 - (weights @ means) ** 2) + slope / 40
    assert posterior.sd() == pytest.approx(spread**0.5, rel=2e-3)
    evidence = special.logsumexp(logs) + np.log(means[1] - means[0])
    assert model.log_evidence(release) == pytest.approx(evidence, abs=2e-3)


def test_what_is_missing_is_asked_for():
    rng = np.random.default_rng(2)
    synthesizer = bdp.ModipsSynthesizer(Gaussian((-4, 4), 1.0), epsilon=4.0, size=5, public_n=False)
    release = synthesizer.release(rng.uniform(-1, 1, 30))
    with pytest.raises(bdp.errors.InvalidInput, match=r"n isn't in this release; .*n=1000"):
        bdp.GaussianModel(sd=1.0).posterior(release)
    with pytest.raises(bdp.errors.InvalidInput, match=r"deviation was known.* give the model sd"):
        bdp.GaussianModel(prior=(0, 1, 2, 1), n=30).posterior(release)
    with pytest.raises(bdp.errors.InvalidInput, match="engine 'exact' has"):
        bdp.GaussianModel(sd=1.0, n=30).fit(release, engine="pymc", draws=10)
    unknown = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=4.0, size=5, public_n=False)
    other = unknown.release(rng.uniform(-1, 1, 30))
    with pytest.raises(bdp.errors.InvalidInput, match="intractable where sd is unknown"):
        bdp.GaussianModel(prior=(0, 1, 2, 1), n=30).posterior(other)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sbs", "sdd"])
def test_intervals_are_calibrated(method):
    """Ranks of the truth in its posterior, with the prior that it is drawn from."""
    family, rng = Gaussian((-6, 6), 1.0), np.random.default_rng(31)
    given = {} if method == "sbs" else {"grid": (-3, 3), "bins": 12}
    synthesizer = bdp.ModipsSynthesizer(
        family, method, 4.0, copies=1, size=10, public_n=False, clip=True, **given
    )
    model, ranks = bdp.GaussianModel(prior=(0.0, 0.7), sd=1.0, n=25), []
    for seed in range(100 if method == "sbs" else 400):
        mu = rng.normal(0, 0.7)
        with bdp.reproducible(7000 + seed):
            release = synthesizer.release(rng.normal(mu, 1, 25))
        ranks.append(model.posterior(release).cdf(mu))
    assert stats.kstest(ranks, "uniform").pvalue > 0.01
