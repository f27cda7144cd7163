"""The posterior of mean and sd together, against quadrature and against importance sampling."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.inference.gaussian import pair as gaussian_pair

REPLACE = bdp.Neighbours.REPLACE_ONE
PRIOR = (0.2, 0.5, 3.0, 2.0)


def prior_draws(rng, size):
    m0, k, a, b = PRIOR
    sigma = np.sqrt(b / rng.standard_gamma(a, size))
    return rng.normal(m0, sigma / np.sqrt(k)), sigma


def statistics(rng, n, mu, sigma):
    """Mean and variance of n normal records."""
    mean = rng.normal(mu, sigma / np.sqrt(n))
    return mean, sigma**2 * rng.chisquare(n - 1, mu.size) / (n - 1)


def check_by_importance(posterior, mu, sigma, log_weights):
    """Means, sds and a distribution function, within 5 standard errors."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 2000  # effective draws

    def close(values, expected):
        mean = np.sum(weights * values)
        error = np.sqrt(np.sum((weights * (values - mean)) ** 2))
        assert abs(mean - expected) < 5 * error

    means, sds = posterior.mean(), posterior.sd()
    for values, mean, sd in zip((mu, sigma), means, sds, strict=True):
        close(values, mean)
        close((values - mean) ** 2, sd**2)
    close(mu <= means[0] + 0.3, posterior.cdf_mu(means[0] + 0.3))
    close(sigma <= means[1] * 0.9, posterior.cdf_sigma(means[1] * 0.9))


@pytest.mark.slow
@pytest.mark.parametrize("bounding", [None, "inflated", "truncated"])
def test_noisy_mean_and_variance_by_quadrature(bounding):
    """Given mu and sigma the two are independent: one integral each, over a plain grid."""
    n, scale = 12, 0.4
    bounds = bounding and (-2.0, 3.0)
    mechanism = bdp.mechanisms.LaplaceMechanism(
        scale, 0.2, REPLACE, 2, bounds=bounds, bounding=bounding, n=n, granularity=2.0**-30
    )
    z = [(0.5, 1.5), (0.25, 3.0 if bounding == "inflated" else 0.75)]
    noise = stats.laplace(scale=scale)

    def law(column, s):
        found = np.ones(s.shape)
        for each in (row[column] for row in z):
            density = noise.pdf(each - s)
            if bounding == "inflated" and each == 3.0:
                density = noise.sf(3.0 - s)
            if bounding == "truncated":
                density = density / (noise.cdf(3.0 - s) - noise.cdf(-2.0 - s))
                density = density * ((s >= -2) & (s <= 3))
            found *= density
        return found

    mu, log_sigma = np.linspace(-5, 5.5, 241), np.linspace(np.log(0.15), np.log(12), 161)
    s = np.arange(-8.0, 8.5, 1 / 64)
    v = np.exp(np.arange(-9.0, 5.0, 1 / 64))
    m0, k, a, b = PRIOR
    density = np.empty((mu.size, log_sigma.size))
    for j, sigma in enumerate(np.exp(log_sigma)):
        first = stats.norm.pdf(s[None], mu[:, None], sigma / np.sqrt(n)) * law(0, s)
        chi = stats.gamma.pdf(v, (n - 1) / 2, scale=2 * sigma**2 / (n - 1)) * law(1, v) * v
        prior = stats.norm.pdf(mu, m0, sigma / np.sqrt(k))
        prior = prior * stats.invgamma.pdf(sigma**2, a, scale=b) * 2 * sigma**2
        density[:, j] = integrate.simpson(first, x=s) * integrate.simpson(chi, x=np.log(v)) * prior
    total = integrate.simpson(integrate.simpson(density, x=log_sigma), x=mu)

    def average(values):
        return integrate.simpson(integrate.simpson(density * values, x=log_sigma), x=mu) / total

    model = bdp.GaussianModel(PRIOR)
    release = bdp.Release.of(mechanism, z)
    posterior = model.posterior(release)
    sigma = np.exp(log_sigma)
    means, sds = posterior.mean(), posterior.sd()
    assert means == pytest.approx((average(mu[:, None]), average(sigma)), rel=2e-4)
    spread = average((mu[:, None] - means[0]) ** 2), average((sigma - means[1]) ** 2)
    assert sds == pytest.approx(np.sqrt(spread), rel=2e-3)
    atoms = 3 if bounding == "inflated" else 4
    expected = np.log(total) + atoms * np.log(mechanism.step)
    assert model.log_evidence(release) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noisy_sums_by_importance_sampling(noise):
    rng, n = np.random.default_rng(1), 20
    made = (
        bdp.mechanisms.LaplaceMechanism if noise == "laplace" else bdp.mechanisms.GaussianMechanism
    )
    mechanism = made(6.0, 5.0, REPLACE, 2, n=n)
    z = np.round(np.array([(8.0, 30.0), (2.0, 41.0)]) / mechanism.step) * mechanism.step
    mu, sigma = prior_draws(rng, 1_500_000)
    mean, variance = statistics(rng, n, mu, sigma)
    squares = (n - 1) * variance + n * mean**2
    seen = np.stack([n * mean, squares], axis=1)
    away = [np.abs(row - seen) / 6.0 for row in z]
    log_weights = -sum((each if noise == "laplace" else each**2 / 2).sum(axis=1) for each in away)
    release = bdp.Release.of(mechanism, [tuple(row) for row in z.tolist()])
    posterior = bdp.GaussianModel(PRIOR, statistic="sum").posterior(release)
    check_by_importance(posterior, mu, sigma, log_weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "noise", "bounding", "y"),
    [
        (10, "laplace", "inflated", (-0.9, 0.3, 0.8, 1.7)),
        (10, "gaussian", "inflated", (-0.9, 0.3, 0.8, 1.7)),
        (10, "laplace", "inflated", (-0.9, 0.3, 1.1, 4.0)),
        (10, "gaussian", "inflated", (-3.0, -3.0, -3.0, -1.0)),
        (10, "laplace", "inflated", (4.0, 4.0, 4.0, 4.0)),
        (10, "gaussian", "inflated", (-3.0, -3.0, -3.0, -3.0)),
        (10, "gaussian", "truncated", (-0.9, 0.3, 1.1, 3.9)),
        # of so few records sigma may be any number: much wider than the noise
        (3, "laplace", "inflated", (-0.9, 4.0, 4.0, 4.0)),
    ],
)
def test_copies_by_importance_sampling(n, noise, bounding, y):
    """Every step of the release is simulated but the last, whose law is the weight."""
    rng, low, high = np.random.default_rng(2), -3.0, 4.0
    family = bdp.families.Gaussian(bounds=(low, high))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, len(y), (0.4, 0.5), n, noise, bounding)
    mu, sigma = prior_draws(rng, 2_000_000)
    mean, variance = statistics(rng, n, mu, sigma)
    most = float(family.largest_variance(n))
    possible = (mean >= low) & (mean <= high) & (variance <= most)
    mean, variance = np.clip(mean, low, high), np.minimum(variance, most)
    if bounding == "inflated":
        draw = rng.laplace if noise == "laplace" else rng.normal
        noisy_mean = np.clip(draw(mean, 0.4), low, high)
        noisy_variance = np.clip(draw(variance, 0.5), 0.0, most)
    else:
        ends = (low - mean) / 0.4, (high - mean) / 0.4
        noisy_mean = stats.truncnorm.rvs(*ends, mean, 0.4, random_state=rng)
        ends = -variance / 0.5, (most - variance) / 0.5
        noisy_variance = stats.truncnorm.rvs(*ends, variance, 0.5, random_state=rng)
    shape = (n - 1) / 2
    sd = np.sqrt(shape * noisy_variance / rng.standard_gamma(shape, mu.size))
    theta = rng.normal(noisy_mean, sd / np.sqrt(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = -(((np.array(y)[:, None] - theta) / sd) ** 2) / 2 - np.log(sd)
        if bounding == "truncated":
            between -= np.log(stats.norm.cdf(high, theta, sd) - stats.norm.cdf(low, theta, sd))
        above, below = special.log_ndtr((theta - high) / sd), special.log_ndtr((low - theta) / sd)
        log_weights = sum(
            above if each == high else below if each == low else between[i]
            for i, each in enumerate(y)
        )
    alike = np.where((noisy_mean == y[0]) & (np.ptp(y) == 0), 0.0, -np.inf)
    log_weights = np.where(noisy_variance > 0, log_weights, alike)
    log_weights = np.where(possible, log_weights, -np.inf)
    posterior = bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(mechanism, [y]))
    check_by_importance(posterior, mu, sigma, log_weights)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_copies_with_hardly_any_noise(noise):
    """Then a copy is a draw from the posterior predictive of the records, of known law."""
    n, size, rng = 12, 6, np.random.default_rng(4)
    family = bdp.families.Gaussian(bounds=(-60.0, 60.0))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, size, (1e-3, 1e-3), n, noise)
    y = [-0.7, 0.1, 0.4, 0.9, 1.2, 1.4]
    mu, sigma = prior_draws(rng, 400_000)
    mean, variance = statistics(rng, n, mu, sigma)
    sd = np.sqrt((n - 1) * variance / 2 / rng.standard_gamma((n - 1) / 2, mu.size))
    theta = rng.normal(mean, sd / np.sqrt(n))
    log_weights = stats.norm.logpdf(np.array(y)[:, None], theta, sd).sum(axis=0)
    posterior = bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(mechanism, [y]))
    check_by_importance(posterior, mu, sigma, log_weights)


def test_a_copy_whose_records_are_alike_tells_its_noisy_mean():
    """A noisy variance below 0, and so a sigma of 0: as if the mean and that had been released."""
    rng, n, scales = np.random.default_rng(3), 10, (0.5, 0.75)
    family = bdp.families.Gaussian(bounds=(-8.0, 8.0))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 4, scales, n)
    step = mechanism.parts[0].step
    same = np.round(0.6 / step) * step
    mu, sigma = prior_draws(rng, 1_000_000)
    mean, variance = statistics(rng, n, mu, sigma)
    log_weights = -np.abs(same - mean) / scales[0] - variance / scales[1]
    posterior = bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(mechanism, [(same,) * 4]))
    check_by_importance(posterior, mu, sigma, log_weights)
    truncated = bdp.mechanisms.ModipsSBSMechanism(family, 4, scales, n, bounding="truncated")
    with pytest.raises(bdp.errors.InvalidInput, match="all alike"):
        bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(truncated, [(same,) * 4]))


def test_a_sharp_release_gives_the_real_data_posterior():
    """With hardly any noise, and with so much that nothing but the prior is left."""
    n = 50
    sharp = bdp.mechanisms.GaussianMechanism(1e-7, 1e-7, REPLACE, 2, n=n)
    z = np.round(np.array([0.7, 1.8]) / sharp.step) * sharp.step
    posterior = bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(sharp, [tuple(z.tolist())]))
    naive = bdp.GaussianModel(PRIOR).naive_posterior(bdp.Release.of(sharp, [tuple(z.tolist())]))
    assert posterior.mean() == pytest.approx(naive.mean(), rel=1e-6)
    assert posterior.sd() == pytest.approx(naive.sd(), rel=1e-5)
    m0, k, a, b = PRIOR
    dull = bdp.mechanisms.GaussianMechanism(1e5, 1.0, REPLACE, 2, n=n)
    posterior = bdp.GaussianModel(PRIOR).posterior(bdp.Release.of(dull, [(0.0, 0.0)]))
    variance = b / (a - 1)
    assert posterior.mean()[0] == pytest.approx(m0, abs=1e-3)
    assert posterior.sd()[0] == pytest.approx(np.sqrt(variance / k), rel=5e-3)


def test_outputs_that_are_all_at_an_upper_bound():
    """They say that mean and variance are not much below it, as if nothing were above it."""
    rng, n = np.random.default_rng(5), 20
    noise = bdp.mechanisms.LaplaceMechanism(
        0.5, 0.1, REPLACE, 2, bounds=(0, 2), bounding="inflated", n=n
    )
    release = bdp.Release.of(noise, [(2.0, 2.0)])
    mu, sigma = prior_draws(rng, 400_000)
    above = [stats.laplace.logsf(2.0 - each, scale=0.5) for each in statistics(rng, n, mu, sigma)]
    check_by_importance(bdp.GaussianModel(PRIOR).posterior(release), mu, sigma, sum(above))
    with pytest.raises(bdp.errors.InvalidInput, match=r"a = 0.01 of the prior leaves sigma free"):
        bdp.GaussianModel((0.0, 1.0, 0.01, 0.01)).posterior(release)


def test_draws_follow_the_mixture():
    mechanism = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, 2, n=30, granularity=2.0**-20)
    release = bdp.Release.of_groups(
        {"a": (mechanism, [(1.0, 2.0)]), "b": (mechanism, [(-1.0, 0.5)])}
    )
    model = bdp.GaussianModel(PRIOR)
    idata = model.fit(release, draws=10_000, seed=4)
    for label in "ab":
        exact = model.posterior(release[label])
        at = idata.posterior.sel(group=label)
        for name, cdf in (("mu", exact.cdf_mu), ("sigma", exact.cdf_sigma)):
            places = cdf(at[name].to_numpy().ravel()[:60])
            assert stats.kstest(places, "uniform").pvalue > 1e-6
    naive = model.fit_naive(release, draws=100, seed=1)
    assert set(naive.posterior.data_vars) == {"mu", "sigma"}


def test_what_has_no_law_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="prior is None"):
        bdp.GaussianModel()
    with pytest.raises(bdp.errors.InvalidInput, match="prior is a tuple"):
        bdp.GaussianModel((0.0, 1.0))
    for prior in ((0.0, 1.0, -1.0, 2.0), (0.0, 0.0, 1.0, 2.0), (np.nan, 1.0, 1.0, 2.0), "abcd"):
        with pytest.raises(bdp.errors.InvalidInput, match=r"it must be \(m0, k, a, b\)"):
            bdp.GaussianModel(prior)
    model = bdp.GaussianModel(PRIOR)
    few = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gaussian((-3, 3)), 2, (0.5, 0.5), 9)
    with pytest.raises(bdp.errors.InvalidInput, match="fewer than 3 records"):
        model.posterior(bdp.Release.of(few, [(0.0, 1.0)]))
    one = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, n=9), [3.0])
    with pytest.raises(bdp.errors.InvalidInput, match="reads two numbers"):
        model.posterior(one)
    with pytest.raises(bdp.errors.InvalidInput, match="'randomized_response' doesn't randomise"):
        model.posterior(
            bdp.Release.of(bdp.mechanisms.RandomizedResponseMechanism.binary(1.0), [(0,)])
        )
    coarse = bdp.mechanisms.DiscreteLaplaceMechanism(3.0, 1.0, REPLACE, 2, n=9)
    with pytest.raises(bdp.errors.InvalidInput, match="too coarse"):
        model.posterior(bdp.Release.of(coarse, [(3, 4)]))
    pair = bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, 2, n=9, granularity=0.5**10)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't positive"):
        model.naive_posterior(bdp.Release.of(pair, [(3.0, -1.0)]))
    for family, message in (
        (bdp.families.Gaussian((-3, 3), sd=1.0), "give the model sd"),
        (bdp.families.Gaussian((-3, 3), prior=(0.0, 1.0, 2.0, 2.0)), "under a prior"),
    ):
        scales = (0.5, 0.5)[: 1 if family.sd else 2]
        copies = bdp.Release.of(
            bdp.mechanisms.ModipsSBSMechanism(family, 3, scales, 9), [(0.0, 1.0, 2.0)]
        )
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            model.posterior(copies)
    unknown = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gaussian((-3, 3)), 3, (0.5, 0.5), 9)
    copies = bdp.Release.of(unknown, [(0.0, 1.0, 2.0)])
    with pytest.raises(bdp.errors.InvalidInput, match="standard deviation was unknown"):
        bdp.GaussianModel(sd=1.0).posterior(copies)


def noisy_moments(bounding) -> bdp.Release:
    bounds = bounding and (-1.0, 3.0)
    noise = bdp.mechanisms.LaplaceMechanism(
        0.3, 0.2, REPLACE, 2, bounds=bounds, bounding=bounding, n=15, granularity=2.0**-30
    )
    last = 3.0 if bounding == "inflated" else 2.5
    return bdp.Release.of_groups({"a": (noise, [(0.5, 1.0)]), "b": (noise, [(-0.5, last)])})


def copies_of(noise, bounding, *copies) -> bdp.Release:
    family = bdp.families.Gaussian(bounds=(-3.0, 4.0))
    mechanism = bdp.mechanisms.ModipsSBSMechanism(family, 6, (0.3, 0.4), 12, noise, bounding)
    return bdp.Release.of(mechanism, copies)


SPREAD, AT_BOUND = (-0.7, 0.1, 0.4, 0.9, 1.2, 1.4), (-3.0, 0.3, 0.5, 1.0, 1.5, 4.0)
ALIKE = (2.0**-20,) * 6
NUTS = {
    "moments": ("mean", lambda: noisy_moments(None)),
    "inflated": ("mean", lambda: noisy_moments("inflated")),
    "truncated": ("mean", lambda: noisy_moments("truncated")),
    "sums": (
        "sum",
        lambda: bdp.Release.of(
            bdp.mechanisms.GaussianMechanism(5.0, 5.0, REPLACE, 2, n=20), [(8.0, 30.0)]
        ),
    ),
    "copies": ("mean", lambda: copies_of("laplace", "inflated", SPREAD, AT_BOUND, ALIKE)),
    "truncated copies": ("mean", lambda: copies_of("gaussian", "truncated", SPREAD)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["moments", "sums", "sharp sums", "copies"])
def test_the_quadrature_has_converged(kind, monkeypatch):
    """Twice as many nodes a piece change nothing, with wide noise or narrow, kinks or none."""
    scale, z = {
        "moments": (0.3, [(0.5, 1.0), (0.75, 0.5)]),
        "sums": (6.0, [(8.0, 30.0), (2.0, 41.0)]),
        "sharp sums": (0.125, [(8.0, 30.0)]),  # narrower than the first search's grid
        "copies": (0.3, [SPREAD, AT_BOUND, ALIKE]),
    }[kind]
    if kind == "copies":
        release = copies_of("laplace", "inflated", *z)
    else:
        mechanism = bdp.mechanisms.LaplaceMechanism(scale, scale, REPLACE, 2, n=20)
        release = bdp.Release.of(mechanism, z)
    model = bdp.GaussianModel(PRIOR, statistic="sum" if "sums" in kind else "mean")
    posterior = model.posterior(release)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    monkeypatch.setattr(gaussian_pair, "_NODES", nodes)
    monkeypatch.setattr(gaussian_pair, "_WEIGHTS", weights)
    finer = model.posterior(release)
    assert posterior.mean() == pytest.approx(finer.mean(), rel=1e-6)
    assert posterior.sd() == pytest.approx(finer.sd(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:under this posterior")
@pytest.mark.filterwarnings("ignore:the chains of this fit")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(name, marks=() if name in ("sums", "copies") else pytest.mark.calibrate)
        for name in NUTS
    ],
)
def test_nuts_agrees_with_the_exact_engine(case):
    """Means and variances of mu and sigma, within 4 Monte Carlo standard errors, at a seed."""
    import arviz as az

    statistic, made = NUTS[case]
    model, release = bdp.GaussianModel(PRIOR, statistic=statistic), made()
    idata = model.fit(release, engine="pymc", draws=4000, seed=7)
    assert idata.attrs["engine"] == "pymc"
    for g in release.groups:
        exact = model.posterior(release if g is None else release[g])
        at = idata.posterior if g is None else idata.posterior.sel(group=g)
        for i, name in enumerate(("mu", "sigma")):
            draws = at[name].to_numpy()
            assert az.rhat(draws) < 1.02
            assert abs(draws.mean() - exact.mean()[i]) < 4 * az.mcse(draws)
            square = (draws - exact.mean()[i]) ** 2
            assert abs(square.mean() - exact.sd()[i] ** 2) < 4 * az.mcse(square)


def test_nuts_refuses_what_it_cannot_sample():
    for statistic, release, message in (
        ("mean", copies_of("laplace", "inflated", (4.0,) * 6), "records at a bound"),
        (
            "sum",
            bdp.Release.of(
                bdp.mechanisms.LaplaceMechanism(
                    5.0, 5.0, REPLACE, 2, bounds=(-60, 60), bounding="truncated", n=20
                ),
                [(8.0, 30.0)],
            ),
            "kept in a range",
        ),
        (
            "sum",
            bdp.Release.of(
                bdp.mechanisms.DiscreteLaplaceMechanism(200.0, 9.0, REPLACE, 2, n=9), [(3, 400)]
            ),
            "by 'discrete_laplace'",
        ),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            bdp.GaussianModel(PRIOR, statistic=statistic).fit(release, engine="pymc")


def test_intervals_are_inverses_of_the_distribution_functions():
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(30))
    mixture = gaussian_pair.NormalInverseGammaMixture(
        weights, rng.normal(size=30), rng.gamma(3.0, size=30), 2.5, 4.0
    )
    for cdf, interval in (
        (mixture.cdf_mu, mixture.interval_mu),
        (mixture.cdf_sigma, mixture.interval_sigma),
    ):
        for level in (0.5, 0.95, 1 - 1e-6):
            low, high = interval(level)
            assert cdf(low) == pytest.approx((1 - level) / 2, rel=1e-6)
            assert cdf(high) == pytest.approx((1 + level) / 2, rel=1e-9)
        with pytest.raises(bdp.errors.InvalidInput, match="level is 1"):
            interval(1)
