"""Models of exact statistics: the textbook's conjugate posteriors."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

D = bdp.distributional
PROMISE = D.DistributionalGuarantee(0.5, 1e-6, "any records", D.LawClass.of("any"))


def exact(value, n=None, **shape):
    dimension = len(value) if isinstance(value, tuple) else None
    return bdp.publish(D.ExactStatisticMechanism(PROMISE, n, dimension, **shape), value)


def test_a_count_is_beta_binomial():
    release = exact(38, 100, whole=True)
    model = bdp.BinomialModel((2.0, 3.0))
    posterior = model.posterior(release)
    p = np.linspace(0.01, 0.99, 25)
    assert posterior.pdf(p) == pytest.approx(stats.beta(40, 65).pdf(p))
    assert model.log_evidence(release) == pytest.approx(stats.betabinom.logpmf(38, 100, 2, 3))
    large = exact(41_234, 100_000, whole=True)
    assert bdp.BinomialModel().posterior(large).mean() == pytest.approx(41_235 / 100_002)
    fitted = model.fit(release, draws=4000, seed=1)
    assert float(fitted.posterior["p"].mean()) == pytest.approx(40 / 105, abs=6 * 0.048 / 126)
    assert "distributional" in fitted.attrs["guarantee"]


def test_a_count_of_a_confidential_n_keeps_the_prior_on_n():
    model = bdp.BinomialModel(n=range(3, 8))
    posterior = model.posterior(exact(2, whole=True))
    weights = {n: stats.betabinom.pmf(2, n, 1, 1) for n in range(3, 8)}
    total = sum(weights.values())
    mean = sum(w / total * 3 / (n + 2) for n, w in weights.items())
    assert posterior.mean() == pytest.approx(mean)


def test_a_count_beside_a_noisy_one():
    noisy = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [41])
    both = bdp.BinomialModel()
    posterior = both.posterior([exact(38, 100, whole=True), noisy])
    assert posterior.mean() == pytest.approx(39 / 102)


def test_the_naive_posterior_of_an_exact_statistic_is_the_right_one():
    for model, release in (
        (bdp.BinomialModel((2.0, 3.0)), exact(38, 100, whole=True)),
        (bdp.GaussianModel(prior=(0, 2), sd=1.5, statistic="sum"), exact(21.0, 50)),
        (bdp.GaussianModel(prior=(0, 1, 2, 1)), exact((0.5, 1.25), 9)),
    ):
        right, naive = model.posterior(release), model.naive_posterior(release)
        for name, value in vars(right).items():
            if value is not None:
                assert getattr(naive, name) == pytest.approx(value), name


def test_a_truncated_count_may_be_any_below():
    release = exact(3, 20, whole=True, threshold=5)
    assert release.outputs == (0,)
    posterior = bdp.BinomialModel().posterior(release)
    mean = np.mean([(x + 1) / 22 for x in range(5)])  # a uniform prior makes all counts alike
    assert posterior.mean() == pytest.approx(mean)


@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_a_mean_is_normal(statistic):
    n, sd, mean = 50, 1.5, 0.42
    release = exact(mean * (n if statistic == "sum" else 1), n)
    flat = bdp.GaussianModel(sd=sd, statistic=statistic).posterior(release)
    assert (flat.means, flat.sds) == (pytest.approx([mean]), pytest.approx([sd / math.sqrt(n)]))
    model = bdp.GaussianModel(prior=(1.0, 0.3), sd=sd, statistic=statistic)
    precision = n / sd**2 + 0.3**-2
    centre = (n / sd**2 * mean + 0.3**-2 * 1.0) / precision
    posterior = model.posterior(release)
    assert posterior.means == pytest.approx([centre])
    assert posterior.sds == pytest.approx([precision**-0.5])
    unit = n if statistic == "sum" else 1
    marginal = stats.norm(unit * 1.0, unit * math.hypot(0.3, sd / math.sqrt(n)))
    assert model.log_evidence(release) == pytest.approx(marginal.logpdf(unit * mean))
    fitted = model.fit(release, seed=2)
    assert float(fitted.posterior["mu"].mean()) == pytest.approx(centre, abs=6 * 0.2 / 126)


def test_mean_and_variance_are_normal_inverse_gamma():
    n, mean, variance, (m0, k, a, b) = 12, 0.7, 1.9, (0.2, 0.5, 3.0, 2.0)
    model = bdp.GaussianModel(prior=(m0, k, a, b))
    posterior = model.posterior(exact((mean, variance), n))
    assert posterior.shape == a + n / 2
    assert posterior.means == pytest.approx([(k * m0 + n * mean) / (k + n)])
    scale = b + ((n - 1) * variance + k * n / (k + n) * (mean - m0) ** 2) / 2
    assert posterior.scales == pytest.approx([scale])

    log_v, mu = np.linspace(-2.5, 3.5, 201)[:, None], np.linspace(-2, 3.5, 201)
    sigma2 = np.exp(log_v)
    density = (
        stats.invgamma(a, scale=b).pdf(sigma2)
        * sigma2
        * stats.norm(m0, np.sqrt(sigma2 / k)).pdf(mu)
        * stats.norm(mu, np.sqrt(sigma2 / n)).pdf(mean)
        * stats.chi2(n - 1).pdf((n - 1) * variance / sigma2)
        * ((n - 1) / sigma2)
    )
    total = integrate.simpson(integrate.simpson(density, x=mu), x=log_v[:, 0])
    found = model.log_evidence(exact((mean, variance), n))
    assert found == pytest.approx(math.log(total), abs=1e-5)
    sums = (n * mean, (n - 1) * variance + n * mean**2)
    by_sums = bdp.GaussianModel(prior=(m0, k, a, b), statistic="sum")
    again = by_sums.posterior(exact(sums, n))
    assert again.scales == pytest.approx(posterior.scales)
    moved = model.log_evidence(exact((mean, variance), n)) - math.log(n * (n - 1))
    assert by_sums.log_evidence(exact(sums, n)) == pytest.approx(moved)


def test_counts_of_categories_are_dirichlet():
    counts, prior = (9, 7, 4), (1.0, 2.0, 0.5)
    model = bdp.MultinomialModel(prior)
    fitted = model.fit(exact(counts, 20, whole=True), draws=4000, seed=3)
    theta = fitted.posterior["theta"] if "theta" in fitted.posterior else fitted.posterior["p"]
    found = np.asarray(theta).reshape(-1, 3)
    law = stats.dirichlet(np.add(counts, prior))
    error = np.sqrt(law.var() / len(found))
    assert np.all(np.abs(found.mean(axis=0) - law.mean()) < 6 * error)


def test_truncated_counts_of_categories():
    """Of three counts that sum to 6, the first is shown and the others are below 4."""
    release = exact((4, 1, 1), 6, whole=True, threshold=4)
    assert release.outputs == ((4, 0, 0),)
    fitted = bdp.MultinomialModel((1.0, 1.0, 1.0)).fit(release, draws=8000, seed=4)
    found = np.asarray(next(iter(fitted.posterior.values()))).reshape(-1, 3)
    # Uniform over (4, 0, 2), (4, 1, 1), (4, 2, 0).
    assert abs(found[:, 0].mean() - 5 / 9) < 6 * 0.16 / math.sqrt(len(found))
    assert abs(found[:, 1].mean() - 2 / 9) < 6 * 0.16 / math.sqrt(len(found))


def test_observe_takes_what_is_exact():
    import pymc as pm

    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        bdp.observe(exact(38, 100, whole=True), pm.Binomial.dist(n=100, p=p))
        mu = pm.Normal("mu", 0, 1)
        bdp.observe(exact(0.3, 50), pm.Normal.dist(mu, 0.1))
        both = pm.Binomial.dist(n=20, p=p, shape=2)
        bdp.observe(exact((3, 9), 20, whole=True, threshold=5), both)
    values = [_at(each, model, {"p": 0.4, "mu": 0.25}) for each in model.potentials]
    assert values[0] == pytest.approx(stats.binom.logpmf(38, 100, 0.4))
    assert values[1] == pytest.approx(stats.norm.logpdf(0.3, 0.25, 0.1))
    hidden = math.log(stats.binom.cdf(4, 20, 0.4)) + stats.binom.logpmf(9, 20, 0.4)
    assert values[2] == pytest.approx(hidden)


def _at(potential, model, given):
    import pytensor

    inputs = {name: model[name] for name in given}
    function = pytensor.function(list(inputs.values()), potential, on_unused_input="ignore")
    return function(*given.values())


KNOWN, UNKNOWN = bdp.GaussianModel(sd=1.0), bdp.GaussianModel(prior=(0, 1, 1, 1))
TWO = bdp.MultinomialModel((1.0, 1.0))


def noisy_mean(value=0.25):
    return bdp.Release.of(bdp.mechanisms.GaussianMechanism(0.1, 0.1, "replace_one", n=50), [value])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: KNOWN.posterior(exact(0.5)), "n isn't in this release"),
        (lambda: UNKNOWN.posterior(exact((0.5, 1.0), 1)), "n is 1; with sd unknown"),
        (lambda: KNOWN.posterior(exact((0.5, 1.0), 9)), "sd known"),
        (lambda: KNOWN.posterior([exact(0.5, 9), exact(0.6, 9)]), "one statistic"),
        (lambda: KNOWN.naive_posterior(exact((0.5, 1.0), 9)), "sd known"),
        (lambda: UNKNOWN.naive_posterior(exact(0.5, 9)), "as a vector"),
        (lambda: KNOWN.fit(exact(0.5, 9), engine="pymc"), "doesn't randomise"),
        (lambda: UNKNOWN.posterior(exact(0.5, 9)), "as a vector"),
        (lambda: UNKNOWN.posterior(exact((0.5, -1.0), 9)), "positive"),
        (lambda: TWO.fit(exact((3, 4, 5), 12, whole=True)), "prior has 2"),
        (lambda: TWO.fit(exact((3.0, 4.0), 7)), "doesn't randomise"),
        (lambda: TWO.fit(exact((3, 9), 7, whole=True)), "probability zero"),
        (lambda: bdp.BinomialModel().posterior(exact(9, 7, whole=True)), "probability zero"),
        (lambda: bdp.BinomialModel().posterior(exact(0.5, 7)), "count of ones"),
    ],
)  # fmt: skip
def test_bad_inputs(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call()


def test_copies_that_differ_are_nobodys():
    release = bdp.Release.of(D.ExactStatisticMechanism(PROMISE, 9), [0.5, 0.6])
    with pytest.raises(bdp.errors.InvalidInput, match="differ"):
        bdp.GaussianModel(sd=1.0).posterior(release)


def test_a_noisy_mean_beside_an_exact_one_matters_to_the_evidence_alone():
    model = bdp.GaussianModel(prior=(0.0, 1.0), sd=1.0)
    alone, both = exact(0.25, 50), [exact(0.25, 50), noisy_mean()]
    assert model.posterior(both).means == pytest.approx(model.posterior(alone).means)
    extra = model.log_evidence(both) - model.log_evidence(alone)
    law = noisy_mean().mechanism.logp(noisy_mean().outputs[0], 0.25)
    assert extra == pytest.approx(float(law))
