"""The posterior of a normal mean against closed forms and brute-force integration."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

SD = 1.5
REPLACE = bdp.Neighbours.REPLACE_ONE


def check(posterior, density, low, high):
    """Against an unnormalised density on an interval that holds all of its mass."""
    grid = np.linspace(low, high, 4001)
    values = np.array([density(m) for m in grid])
    total = integrate.simpson(values, x=grid)
    mean = integrate.simpson(values * grid, x=grid) / total
    sd = np.sqrt(integrate.simpson(values * (grid - mean) ** 2, x=grid) / total)
    assert posterior.mean() == pytest.approx(mean, rel=1e-6, abs=1e-6 * sd)
    assert posterior.sd() == pytest.approx(sd, rel=1e-6)
    assert posterior.pdf(grid[1000:3000]) == pytest.approx(values[1000:3000] / total, rel=2e-5)
    q = np.array([0.01, 0.4, 0.975])
    assert posterior.cdf(posterior.quantile(q)) == pytest.approx(q, rel=1e-9)
    return np.log(total)


@pytest.mark.parametrize("prior", [None, (0.3, 0.4)])
@pytest.mark.parametrize("copies", [1, 3])
def test_gaussian_noise_has_a_normal_posterior(prior, copies):
    mechanism = bdp.mechanisms.GaussianMechanism(0.2, 0.1, REPLACE, n=50)
    z = np.round(np.array([0.9, 0.6, 0.7][:copies]) / mechanism.step) * mechanism.step
    posterior = bdp.GaussianModel(prior, sd=SD).posterior(bdp.Release.of(mechanism, list(z)))
    precision = 1 / (SD**2 / 50 + 0.2**2 / copies)
    centre = precision * z.mean()
    if prior:
        precision, centre = precision + prior[1] ** -2, centre + prior[0] * prior[1] ** -2
    assert posterior.mean() == pytest.approx(centre / precision, rel=1e-6)
    assert posterior.sd() == pytest.approx(precision**-0.5, rel=1e-6)


@pytest.mark.parametrize("unit", ["mean", "sum"])
@pytest.mark.parametrize("bounding", [None, "inflated", "truncated"])
def test_laplace_noise_against_brute_force(unit, bounding):
    """The inner integral by scipy, of the density of continuous noise."""
    n, scale, prior = 30, 0.35, (0.0, 2.0)
    times = n if unit == "sum" else 1
    bounds = None if bounding is None else (-1.0 * times, 1.0 * times)
    mechanism = bdp.mechanisms.LaplaceMechanism(
        scale * times, 0.1 * times, REPLACE, bounds=bounds, bounding=bounding, n=n
    )
    z = np.round(np.array([0.75, -0.25]) * times / mechanism.step) * mechanism.step
    if bounding == "inflated":
        z[0] = 1.0 * times
    model = bdp.GaussianModel(prior, sd=SD, statistic=unit)
    release = bdp.Release.of(mechanism, list(z))
    noise = stats.laplace(scale=scale)

    def law(s):
        found = noise.pdf(z / times - s)
        if bounding == "inflated":
            found[0] = noise.sf(1.0 - s)
        if bounding == "truncated":
            found = found / (noise.cdf(1.0 - s) - noise.cdf(-1.0 - s))
        return found.prod()

    ends = (-1.0, 1.0) if bounding == "truncated" else (-9.0, 9.0)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    edges = np.unique([*ends, *np.clip(z / times, *ends)])
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in itertools.pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(edges)])
    w = w * np.array([law(each) for each in s])

    def density(mu):
        return stats.norm.pdf(mu, *prior) * (w * stats.norm.pdf(s, mu, SD / np.sqrt(n))).sum()

    log_total = check(model.posterior(release), density, -6.0, 7.0)
    atoms = 1 if bounding == "inflated" else 2  # the others have a density of a step of the lattice
    expected = log_total + atoms * np.log(mechanism.step / times)
    assert model.log_evidence(release) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "kind", [bdp.mechanisms.DiscreteLaplaceMechanism, bdp.mechanisms.DiscreteGaussianMechanism]
)
def test_integer_sums_against_brute_force(kind):
    """The sum is rounded to the nearest integer, and summed over all integers."""
    n, prior = 8, (1.0, 3.0)
    mechanism = kind(2.5, 2.0, REPLACE, n=n)
    z = [7, 12]
    model = bdp.GaussianModel(prior, sd=SD, statistic="sum")
    j = np.arange(-120, 140)
    law = np.exp(mechanism.logp(np.array(z)[:, None], j).sum(axis=0))

    def density(mu):
        ends = (np.append(j, 140) - 0.5 - n * mu) / (SD * np.sqrt(n))
        return stats.norm.pdf(mu, *prior) * (np.diff(special.ndtr(ends)) * law).sum()

    release = bdp.Release.of(mechanism, z)
    log_total = check(model.posterior(release), density, -6.0, 8.0)
    assert model.log_evidence(release) == pytest.approx(log_total, abs=1e-8)


def copies_of(noise, bounding, family_prior=None, bounds=(-6.0, 6.0), epsilon=1.0, count=3):
    family = bdp.families.Gaussian(bounds=bounds, sd=SD, prior=family_prior)
    delta = 1e-5 if noise == "gaussian" else 0.0
    made = bdp.ModipsSynthesizer(
        family=family,
        epsilon=epsilon,
        delta=delta,
        copies=count,
        noise=noise,
        bounding=bounding,
        size=150,
    )
    x = np.clip(np.random.default_rng(3).normal(0.4, SD, 200), *bounds)
    with bdp.reproducible(4):
        return made.release(x)


@pytest.mark.parametrize("family_prior", [None, (0.0, 1.0)])
def test_copies_with_gaussian_noise_have_a_normal_posterior(family_prior):
    """All is normal where no bound is near: theta, the copies' means, the noisy mean."""
    release = copies_of("gaussian", "inflated", family_prior, bounds=(-30.0, 30.0), epsilon=5.0)
    n, size = 200, 150
    (scale,) = release.mechanism.scales
    before = 0.0 if family_prior is None else family_prior[1] ** -2
    kappa = n / SD**2 / (n / SD**2 + before)
    tau2 = 1 / (n / SD**2 + before)
    means = np.array([np.mean(y) for y in release.outputs]) / kappa
    each = scale**2 + (tau2 + SD**2 / size) / kappa**2
    variance = SD**2 / n + each / len(means)
    posterior = bdp.GaussianModel(sd=SD).posterior(release)
    assert posterior.mean() == pytest.approx(means.mean(), rel=1e-6)
    assert posterior.sd() == pytest.approx(np.sqrt(variance), rel=1e-6)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_copies_against_brute_force(noise, bounding):
    """The latent mean by Simpson's rule on a plain grid of the bounds."""
    release = copies_of(noise, bounding, bounds=(-4.0, 4.0))
    s = np.linspace(-4, 4, 2001)
    laws = [release.mechanism.logp(y, s[:, None]) for y in np.array(release.outputs)]
    law = np.exp(np.sum(laws, axis=0) - np.max(np.sum(laws, axis=0)))

    def density(mu):
        return integrate.simpson(law * stats.norm.pdf(s, mu, SD / np.sqrt(200)), x=s)

    check(bdp.GaussianModel(sd=SD).posterior(release), density, -4.0, 4.0)


@pytest.mark.parametrize(
    ("method", "epsilon", "calibration", "prior"),
    [
        ("sdd", 20.0, "corrected", None),
        ("sdd", 20.0, "corrected", (0.3, 0.7)),
        pytest.param("sphc", 100.0, "corrected", None, marks=pytest.mark.slow),
        pytest.param("sphc", 5e3, "corrected", (0.3, 0.7), marks=pytest.mark.slow),
        pytest.param("sphc", 20.0, "published", (0.3, 0.7), marks=pytest.mark.slow),
    ],
)
def test_copies_around_a_cell_against_brute_force(method, epsilon, calibration, prior):
    """The mean decides the cells' probabilities, of which few matter."""
    family = bdp.families.Gaussian(bounds=(-4.0, 4.0), sd=1.0)
    chosen = {"method": method, "epsilon": epsilon, "calibration": calibration}
    with bdp.reproducible(1):
        made = bdp.ModipsSynthesizer(family=family, copies=2, size=6, **chosen)
        release = made.release(np.linspace(-1, 2, 50))
    posterior = bdp.GaussianModel(prior=prior, sd=1.0).posterior(release)
    x, w = np.polynomial.legendre.leggauss(20)
    s = (np.linspace(-3.9, 3.9, 40)[:, None] + x / 10).ravel()
    mu = np.linspace(-7, 7, 2001)
    law = np.sum([release.mechanism.logp(np.array(z), s[:, None]) for z in release.outputs], axis=0)
    law = law + np.tile(np.log(w), 40)
    log_p = special.logsumexp(law + stats.norm.logpdf(s, mu[:, None], 50**-0.5), axis=1)
    log_p += 0 if prior is None else stats.norm.logpdf(mu, *prior)
    weights = special.softmax(log_p)
    assert posterior.mean() == pytest.approx(weights @ mu, abs=1e-9)
    assert posterior.sd() ** 2 == pytest.approx(weights @ (mu - weights @ mu) ** 2, rel=1e-8)


def test_histograms_of_logarithms_have_no_law():
    family = bdp.families.Gaussian(bounds=(-4.0, 4.0), sd=1.0)
    made = bdp.ModipsSynthesizer(
        family=family, method="sdd.mc", calibration="published", epsilon=20.0
    )
    with bdp.reproducible(1):
        release = made.release([0.5] * 30)
    with pytest.raises(bdp.errors.InvalidInput, match=r"'sdd\.mc', whose law is intractable"):
        bdp.GaussianModel(sd=1.0).posterior(release)


def test_a_conjugate_draw_has_a_normal_posterior():
    """Given theta drawn from N(b s, v) the records' mean, and so mu, is normal."""
    n, R, sigma = 40, 9.0, 2.0
    mechanism = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_draw", n, (0.0, 1.0), R=R, sigma=sigma
    )
    variance = 1 / (1 + n / sigma**2)
    slope = variance * n / sigma**2
    release = bdp.Release.of(mechanism, [0.7], delta=1e-3)
    posterior = bdp.GaussianModel(sd=SD).posterior(release)
    assert posterior.mean() == pytest.approx(0.7 / slope, rel=1e-9)
    expected = np.sqrt(variance / slope**2 + SD**2 / n)
    assert posterior.sd() == pytest.approx(expected, rel=1e-9)
    mode = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_map", n, (0.0, 1.0), R=R, sigma=sigma
    )
    with pytest.raises(bdp.errors.InvalidInput, match="tells the mean"):
        bdp.GaussianModel(sd=SD).posterior(bdp.Release.of(mode, [0.7], delta=1e-3))


def test_many_records_and_much_noise():
    """Components a million times narrower than the noise: the posterior is the noise's law."""
    mechanism = bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, n=10**12)
    posterior = bdp.GaussianModel(sd=1.0).posterior(bdp.Release.of(mechanism, [3.0]))
    assert posterior.mean() == pytest.approx(3.0, abs=1e-6)
    assert posterior.sd() == pytest.approx(np.sqrt(2), rel=1e-5)
    assert posterior.quantile(0.975) == pytest.approx(3 + np.log(20), rel=1e-5)


def test_naive_posteriors_pool_the_copies():
    release = copies_of("laplace", "inflated")
    naive = bdp.GaussianModel(sd=SD).naive_posterior(release)
    assert naive.mean() == pytest.approx(np.mean(release.outputs))
    assert naive.sd() == pytest.approx(SD / np.sqrt(450))
    mechanism = bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, n=10, granularity=0.5)
    noisy = bdp.Release.of(mechanism, [3.0, 4.0])
    naive = bdp.GaussianModel((1.0, 2.0), sd=SD, statistic="sum").naive_posterior(noisy)
    precision = 10 / SD**2 + 1 / 4
    assert naive.mean() == pytest.approx((10 / SD**2 * 0.35 + 1 / 4) / precision)


def test_groups_are_independent():
    mechanism = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, n=20, granularity=2.0**-10)
    release = bdp.Release.of_groups({"a": (mechanism, [1.0, 1.5]), "b": (mechanism, [-2.0, 0.0])})
    model = bdp.GaussianModel((0.0, 3.0), sd=SD)
    idata = model.fit(release, draws=20_000, seed=5)
    for label in "ab":
        alone = model.posterior(release[label])
        draws = idata.posterior["mu"].sel(group=label).to_numpy()
        assert abs(draws.mean() - alone.mean()) < 5 * alone.sd() / np.sqrt(draws.size)
    with pytest.raises(bdp.errors.InvalidInput, match="has 2 groups"):
        model.posterior(release)


@pytest.mark.parametrize("method", ["sbs", "sdd"])
def test_records_beyond_the_bounds_are_warned_of(method):
    family = bdp.families.Gaussian(bounds=(-1.0, 1.0), sd=1.0)
    x = np.clip(np.random.default_rng(1).normal(0, 1, 500), -1, 1)
    with bdp.reproducible(1):
        made = bdp.ModipsSynthesizer(family=family, method=method, epsilon=40.0, copies=2)
        release = made.release(x)
    model = bdp.GaussianModel(sd=1.0)
    with pytest.warns(UserWarning, match="beyond the public bounds"):
        idata = model.fit(release, draws=10, seed=1)
    assert float(idata.attrs["expected_share_outside_bounds"]) == pytest.approx(0.317, abs=0.01)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sd": 0.0}, "sd is 0"),
        ({"sd": 1e-300}, "sd is 1e-300; it must be from 1e-100"),
        ({"sd": 1e300}, r"sd is 1e\+300; it must be from 1e-100"),
        ({"sd": 1.0, "prior": (0.0, 1e-300)}, "at least 1e-100"),
        ({"sd": np.nan}, "sd is nan"),
        ({"sd": 1.0, "prior": (0.0, 0.0)}, "prior is"),
        ({"sd": 1.0, "prior": (0.0,)}, "prior is"),
        ({"sd": 1.0, "prior": (np.inf, 1.0)}, "prior is"),
        ({"sd": 1.0, "statistic": "median"}, "statistic is"),
        ({"sd": 1.0, "n": 0}, "n is 0"),
    ],
)
def test_bad_models_are_refused(parameters, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.GaussianModel(**parameters)


def test_releases_that_do_not_fit_are_refused(charest_release):
    model = bdp.GaussianModel(sd=1.0)
    with pytest.raises(bdp.errors.InvalidInput, match="'beta_binomial' doesn't randomise"):
        model.posterior(charest_release)
    hidden = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0), [3.0])
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.posterior(hidden)
    assert bdp.GaussianModel(sd=1.0, n=5).posterior(hidden).mean() == pytest.approx(3.0)
    public = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, n=4), [3.0])
    with pytest.raises(bdp.errors.InvalidInput, match="says n = 4"):
        bdp.GaussianModel(sd=1.0, n=5).posterior(public)
    ends = bdp.mechanisms.LaplaceMechanism(
        1.0, 1.0, REPLACE, bounds=(0, 3), bounding="inflated", n=4
    )
    piled = bdp.Release.of(ends, [3.0, 3.0])
    with pytest.raises(bdp.errors.InvalidInput, match="there is no posterior"):
        model.posterior(piled)
    assert bdp.GaussianModel((0.0, 1.0), sd=1.0).posterior(piled).mean() > 0
    with pytest.raises(bdp.errors.InvalidInput, match="the prior is flat"):
        model.log_evidence(public)
    vector = bdp.Release.of(
        bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, 2, n=4), [(3.0, 1.0)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="leave sd out"):
        model.posterior(vector)
    hidden_n = bdp.ModipsSynthesizer(
        family=bdp.families.Gaussian((-4, 4), sd=1.0), epsilon=1.0, public_n=False, size=10
    )
    with bdp.reproducible(1):
        confidential = hidden_n.release(np.zeros(10))
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.posterior(confidential)


def noisy_release(bounding, high=1.0) -> bdp.Release:
    bounds = bounding and (-1.0, high)
    noise = bdp.mechanisms.LaplaceMechanism(
        0.3, 0.1, REPLACE, bounds=bounds, bounding=bounding, n=25
    )
    last = 1.0 if bounding == "inflated" else 0.5
    return bdp.Release.of_groups({"a": (noise, [0.25, last]), "b": (noise, [-0.5, 0.0])})


CASES = {
    "noise": lambda: noisy_release(None),
    "inflated": lambda: noisy_release("inflated"),
    "truncated": lambda: noisy_release("truncated"),
    "truncated on one side": lambda: noisy_release("truncated", None),
    "copies": lambda: copies_of("laplace", "inflated", bounds=(-2.0, 2.0), epsilon=0.2),
    "truncated copies": lambda: copies_of("gaussian", "truncated", bounds=(-2.0, 2.0), epsilon=2.0),
}


@pytest.mark.filterwarnings("ignore:under this posterior")
@pytest.mark.filterwarnings("ignore:the chains of this fit")
@pytest.mark.parametrize(
    "case",
    [
        name
        if name in ("inflated", "truncated", "truncated on one side", "copies")
        else pytest.param(name, marks=pytest.mark.calibrate)
        for name in CASES
    ],
)
def test_nuts_agrees_with_the_exact_engine(case):
    import arviz as az

    release = CASES[case]()
    model = bdp.GaussianModel((0.1, 1.0), sd=SD)
    idata = model.fit(release, engine="pymc", draws=4000, seed=3)
    assert idata.attrs["engine"] == "pymc"
    for g in release.groups:
        exact = model.posterior(release if g is None else release[g])
        mu = idata.posterior["mu"] if g is None else idata.posterior["mu"].sel(group=g)
        mu = mu.to_numpy()
        assert az.rhat(mu) < 1.02
        assert abs(mu.mean() - exact.mean()) < 5 * az.mcse(mu)
        square = (mu - exact.mean()) ** 2
        assert abs(square.mean() - exact.sd() ** 2) < 5 * az.mcse(square)


def test_nuts_refuses_integers_and_conjugate_draws():
    model = bdp.GaussianModel(sd=1.0, statistic="sum")
    whole = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, REPLACE, n=5), [3])
    with pytest.raises(bdp.errors.InvalidInput, match="by 'discrete_laplace'; use bdp"):
        model.fit(whole, engine="pymc")
