"""The law of posterior predictive outputs, against weighted draws from the whole model.

Parameters, records' statistics and outputs are drawn here from the model's formulas, and weighted
by the law of what was released, written out here too. Within 5 Monte Carlo standard errors: false
alarms below 1e-6 a number.
"""

import arviz as az
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

REPLACE = bdp.Neighbours.REPLACE_ONE
SIZE = 400_000

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")


def laplace(away, scale):
    """log of the discrete Laplace law, or of Laplace's density, but for their constants."""
    return -np.abs(away) / scale


def noise(rng, scale, shape):
    """Discrete Laplace noise: the difference of two geometric numbers."""
    chance = 1 - np.exp(-1 / scale)
    return rng.geometric(chance, shape) - rng.geometric(chance, shape)


def agree(found, independent, expected, log_weights):
    """Means of each number, of its square and of what lies in its tails."""
    w = special.softmax(log_weights)
    assert 1 / (w**2).sum() > 500  # weighted draws that count
    for z, right in zip(found.T, with_sum(expected).T, strict=True):
        low, high = np.quantile(z, [0.2, 0.8])
        for of in (lambda x: x, lambda x: x**2, lambda x: x <= low, lambda x: x <= high):  # noqa: B023
            f = of(right).astype(float)
            mean = w @ f
            error = np.hypot(
                np.sqrt(w**2 @ (f - mean) ** 2), of(z).astype(float).std() / np.sqrt(independent)
            )
            assert abs(of(z).mean() - mean) < 5 * error + 1e-9


def predicted(model, release, draws=4000):
    """Outputs, one number a column and their sum, and how many are as good as independent."""
    idata = model.fit(release, draws=2000, seed=2)
    made = bdp.posterior_predictive(model, idata, release, draws=draws, seed=3)
    outputs = made.posterior_predictive["outputs"].to_numpy()[0]
    outputs = with_sum(outputs.reshape(draws, -1))
    chains = outputs.T.reshape(outputs.shape[1], 4, -1).astype(float)
    return outputs, min(float(az.ess(each)) for each in chains)


def with_sum(outputs):
    return np.column_stack([outputs, outputs.sum(axis=1)])


@pytest.mark.slow
def test_probabilities_of_categories():
    rng, alpha, a, n, size = np.random.default_rng(1), (0.8, 2.0, 1.0), np.array([2.0, 1, 3]), 6, 5
    made = bdp.mechanisms.DirichletMultinomialMechanism(n, size, 3, tuple(a))
    z = np.array([4, 0, 1])
    found, independent = predicted(bdp.MultinomialModel(alpha), bdp.Release.of(made, [tuple(z)]))
    theta = rng.dirichlet(alpha, SIZE)
    x, new = rng.multinomial(n, theta), rng.multinomial(n, theta)
    log_w = (special.gammaln(a + x + z) - special.gammaln(a + x)).sum(axis=1)
    share = rng.standard_gamma(a + new)
    agree(found, independent, rng.multinomial(size, share / share.sum(1, keepdims=True)), log_w)


@pytest.mark.slow
@pytest.mark.parametrize("n", [None, 14])
def test_rates_of_events(n):
    rng, prior, e, scale = np.random.default_rng(2), (2.0, 1.5), np.array([4.0, 1.0, 7.0]), 1.5
    z = np.array([4, 0, 9])
    made = bdp.mechanisms.PerturbedHistogramMechanism(
        scale, 3, bdp.Neighbours.ADD_REMOVE if n is None else REPLACE, n
    )
    model = bdp.models.PoissonModel(prior, tuple(e))
    found, independent = predicted(model, bdp.Release.of(made, [tuple(z)]))
    rate = rng.gamma(prior[0], 1 / prior[1], (SIZE, 3))
    x, new = rng.poisson(rate * e), rng.poisson(rate * e)
    if n is not None:
        kept = x.sum(axis=1) == n
        rate, x = rate[kept], x[kept]
        share = rate * e
        new = rng.multinomial(n, share / share.sum(axis=1, keepdims=True))
    # What noise makes negative is released as 0, in proportion to exp(-x / scale) all the same.
    log_w = laplace(z - x, scale).sum(axis=1)
    agree(found, independent, np.maximum(new + noise(rng, scale, new.shape), 0), log_w)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_normal_means_and_variances(known):
    rng, n, scale, (m0, k, a, b) = np.random.default_rng(3), 12, 0.4, (0.5, 2.0, 4.0, 3.0)
    made = bdp.mechanisms.LaplaceMechanism(scale, 0.1, REPLACE, n=n, dimension=None if known else 2)
    z = np.array([1.0]) if known else np.array([1.0, 0.5])
    model = bdp.GaussianModel((m0, 0.6), sd=0.8) if known else bdp.GaussianModel((m0, k, a, b))
    release = bdp.Release.of(made, [float(z[0]) if known else tuple(z)])
    found, independent = predicted(model, release)
    sigma = np.full(SIZE, 0.8) if known else np.sqrt(b / rng.standard_gamma(a, SIZE))
    mu = rng.normal(m0, 0.6 if known else sigma / np.sqrt(k), SIZE)

    def statistic():
        mean = rng.normal(mu, sigma / np.sqrt(n))
        variance = sigma**2 * rng.chisquare(n - 1, SIZE) / (n - 1)
        return mean[:, None] if known else np.stack([mean, variance], axis=1)

    x, new = statistic(), statistic()
    log_w = laplace(z - x, scale).sum(axis=1)
    agree(found, independent, new + rng.laplace(scale=scale, size=new.shape), log_w)


@pytest.mark.slow
def test_proportions_of_groups():
    rng, n, scale, c = np.random.default_rng(4), np.array([9, 30]), 0.7, 10.0
    made = [
        bdp.mechanisms.DiscreteLaplaceMechanism(scale, 1.0, neighbours=REPLACE, n=int(k)) for k in n
    ]
    z = np.array([7, 8])
    groups = {g: (m, [int(v)]) for g, m, v in zip("ab", made, z, strict=True)}
    model = bdp.models.HierarchicalBinomialModel((1.5, 1.0), concentration=c)
    found, independent = predicted(model, bdp.Release.of_groups(groups))
    m, share = rng.beta(1.5, 1.0, (SIZE, 1)), rng.random((SIZE, 1))
    kappa = np.clip(c * share / (1 - share), 1e-9, 1e9)
    p = rng.beta(np.maximum(m * kappa, 1e-12), np.maximum((1 - m) * kappa, 1e-12), (SIZE, 2))
    x, new = rng.binomial(n, p), rng.binomial(n, p)
    log_w = laplace(z - x, scale).sum(axis=1)
    agree(found, independent, new + noise(rng, scale, new.shape), log_w)


@pytest.mark.slow
def test_means_of_groups():
    rng, n, scale, sd = np.random.default_rng(5), 20, 0.5, 1.2
    made = bdp.mechanisms.LaplaceMechanism(scale, 0.1, REPLACE, n=n)
    z = np.array([1.25, -0.5])
    release = bdp.Release.of_groups({g: (made, [v]) for g, v in zip("ab", z.tolist(), strict=True)})
    model = bdp.models.HierarchicalGaussianModel((0.3, 2.0), spread=1.0, sd=sd)
    found, independent = predicted(model, release)
    m, t = rng.normal(0.3, 2.0, (SIZE, 1)), np.abs(rng.normal(0, 1.0, (SIZE, 1)))
    mu = rng.normal(m, t, (SIZE, 2))
    x, new = (rng.normal(mu, sd / np.sqrt(n)) for _ in range(2))
    log_w = laplace(z - x, scale).sum(axis=1)
    agree(found, independent, new + rng.laplace(scale=scale, size=new.shape), log_w)


@pytest.mark.slow
@pytest.mark.parametrize("n", [None, 28])
def test_tables(n):
    """Main effects of two columns: log rates of cells, or probabilities where n is known."""
    rng, scale, sd = np.random.default_rng(6), 1.0, 0.15
    axes = tuple(Axis(name, categories=("x", "y")) for name in "ab")
    made = bdp.mechanisms.PerturbedHistogramMechanism(
        scale, 4, bdp.Neighbours.ADD_REMOVE if n is None else REPLACE, n, axes
    )
    z = np.array([9, 7, 5, 8])
    model = bdp.models.LogLinearModel("a + b", prior=sd, intercept=(2.0, 0.5))
    found, independent = predicted(model, bdp.Release.of(made, [tuple(z.tolist())]))
    u = rng.normal(0, sd, (SIZE, 2))
    eta = u @ np.array([[1, 1, -1, -1], [1, -1, 1, -1]])  # effects u and -u of two categories
    if n is None:
        rate = np.exp(rng.normal(2.0, 0.5, (SIZE, 1)) + eta)
        x, new = rng.poisson(rate), rng.poisson(rate)
    else:
        p = special.softmax(eta, axis=1)
        x, new = rng.multinomial(n, p), rng.multinomial(n, p)
    log_w = laplace(z - x, scale).sum(axis=1)
    agree(found, independent, np.maximum(new + noise(rng, scale, new.shape), 0), log_w)
