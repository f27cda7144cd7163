"""Groups' means from one population of groups: kernels, posterior, calibration, refusals."""

import math

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines import partial_pooling, pooled_means
from bayesdp.kernels.pooled import means as kernels
from tests.conftest import require_pystan

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")

FALSE_ALARM = 1e-6
REPLACE = bdp.Neighbours.REPLACE_ONE
NOISE = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, n=20)
OUTPUTS = {"a": [1.25, 1.0], "b": [-0.5, 0.0], "c": [2.0, 2.5]}
MODEL = bdp.models.HierarchicalGaussianModel((0.5, 2.0), spread=1.5, sd=1.0)


def noisy_means() -> bdp.Release:
    return bdp.Release.of_groups({g: (NOISE, z) for g, z in OUTPUTS.items()})


@pytest.mark.parametrize("centre", [-80.0, -1.0, 0.37, 3.0, 500.0])
@pytest.mark.parametrize("variance", [1e-4, 0.3, 50.0])
def test_integrals_are_sums_over_all_nodes(centre, variance):
    rng = np.random.default_rng(1)
    nodes = np.sort(rng.normal(size=500))
    law = np.exp(-rng.uniform(0, 50, 500))
    right = special.logsumexp(stats.norm.logpdf(nodes, centre, math.sqrt(variance)), b=law)
    given = pooled_means.given_means([nodes], [np.log(law)], [1.0], (0.0, 1.0, 1.0))
    best, room = int(law.argmax()), np.empty(500)
    found = kernels.log_integral(given, 0, 500, best, centre, variance, room)
    assert found == pytest.approx(right, rel=1e-12, abs=1e-11)


def test_nodes_are_drawn_by_their_share():
    rng, nodes = np.random.default_rng(1), np.array([-2.0, -1.0, 0.5, 0.6, 4.0])
    law = np.array([0.2, 1.0, 0.0, 0.7, 0.1])
    with np.errstate(divide="ignore"):
        given = pooled_means.given_means([nodes], [np.log(law)], [1.0], (0.0, 1.0, 1.0))
    room = np.empty(4)
    drawn = [kernels.draw_node(given, 0, 4, 1, 0.3, 2.0, rng, room) for _ in range(20_000)]
    weights = law * stats.norm.pdf(nodes, 0.3, math.sqrt(2.0))
    seen = np.array([drawn.count(node) for node in nodes])
    assert seen[2] == 0
    keep = weights > 0
    expected = weights[keep] / weights.sum() * len(drawn)
    assert stats.chisquare(seen[keep], expected).pvalue > FALSE_ALARM


def by_quadrature(sigmas, log_weights):
    """Posterior means of m, t, sigma and mu on a grid, and log evidence; noise continuous."""
    m, t = np.arange(-6, 7, 0.1), (np.arange(80) + 0.5) * 0.08
    s = np.arange(-4, 6.01, 0.04)
    grid = np.zeros((len(sigmas), t.size, m.size)) + np.reshape(log_weights, (-1, 1, 1))
    grid += stats.norm.logpdf(m, 0.5, 2.0) + stats.halfnorm.logpdf(t, scale=1.5)[:, None]
    mus = []
    for z in OUTPUTS.values():
        law = stats.laplace.pdf(np.array(z)[:, None], s, 0.5).prod(axis=0) * 0.04
        one, weighted = (np.empty(grid.shape) for _ in range(2))
        for k, j in np.ndindex(len(sigmas), t.size):
            variance = t[j] ** 2 + sigmas[k] ** 2 / 20
            density = np.exp(-((m[:, None] - s) ** 2) / (2 * variance)) * law
            density += 1e-290  # where m is far off
            one[k, j] = density.sum(axis=1) / math.sqrt(2 * math.pi * variance)
            away = (density @ s) / density.sum(axis=1) - m
            weighted[k, j] = m + t[j] ** 2 / variance * away
        grid += np.log(one)
        mus.append(weighted)
    total = special.logsumexp(grid)
    w = np.exp(grid - total)
    found = {
        "mean": (w * m).sum(),
        "spread": (w * t[:, None]).sum(),
        "sigma": w.sum(axis=(1, 2)) @ np.asarray(sigmas),
    }
    found.update({f"mu[{g}]": (w * mu).sum() for g, mu in zip(OUTPUTS, mus, strict=True)})
    return found, total + math.log(0.1 * 0.08)


def check_means(idata, right):
    """Within 5 Monte Carlo standard errors, and the grid's 1e-3: false alarms below 1e-6 each."""
    import arviz as az

    errors, means = az.mcse(idata), idata.posterior.mean(("chain", "draw"))
    for name in (f"mu[{g}]" for g in OUTPUTS):
        group = name[3:-1]
        error = float(errors["mu"].sel(group=group))
        assert abs(float(means["mu"].sel(group=group)) - right[name]) < 5 * error + 1e-3, name
    for name in set(idata.posterior.data_vars) - {"mu"}:
        assert abs(float(means[name]) - right[name]) < 5 * float(errors[name]) + 1e-3, name
        assert float(errors[name]) < 0.05


@pytest.mark.slow
def test_the_posterior_and_the_evidence_are_those_of_quadrature():
    release = noisy_means()
    idata = MODEL.fit(release, draws=4000, seed=2)
    right, log_evidence = by_quadrature([1.0], [0.0])
    check_means(idata, right)
    assert "no problem" in idata.attrs["verdict"]
    assert idata.posterior["mean"].dims == ("chain", "draw")
    # An output is one of a lattice; the density times its step.
    per_step = 6 * math.log(NOISE.step)
    found = bdp.log_evidence(MODEL, release, seed=1)
    error = 5 * found.standard_error + 1e-3
    assert abs(found.log_value - (log_evidence + per_step)) < error
    assert found.standard_error < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_nuts_agrees_where_sd_is_known(engine):
    if engine == "stan":
        require_pystan()
    idata = MODEL.fit(noisy_means(), engine=engine, draws=2000, seed=2)
    check_means(idata, by_quadrature([1.0], [0.0])[0])
    assert idata.attrs["engine"] == engine


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", pytest.param("stan", marks=pytest.mark.calibrate)])
def test_an_unknown_sd_is_shared_by_the_groups(engine):
    """Against a grid over m, t and sigma, noise on variances integrated out."""
    if engine == "stan":
        require_pystan()
    variances = {"a": 1.5, "b": 0.75, "c": 1.0}
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, 2, n=20)
    outputs = {
        g: (noise, [(z, variances[g]) for z in means]) for g, means in OUTPUTS.items()
    }  # fmt: skip
    model = bdp.models.HierarchicalGaussianModel((0.5, 2.0), spread=1.5, variance=(3.0, 2.0))
    idata = model.fit(bdp.Release.of_groups(outputs), engine=engine, draws=2000, seed=3)
    sigmas = np.linspace(0.35, 2.0, 23)
    prior = stats.invgamma.logpdf(sigmas**2, 3.0, scale=2.0) + np.log(sigmas)
    v = np.linspace(1e-4, 8, 4000)
    law = np.zeros(sigmas.size)
    for each in variances.values():
        density = stats.gamma.logpdf(v, 9.5, scale=sigmas[:, None] ** 2 / 9.5)
        law += special.logsumexp(density + 2 * stats.laplace.logpdf(each, v, 0.5), axis=1)
    right, _ = by_quadrature(sigmas, prior + law)
    check_means(idata, right)
    assert idata.attrs["engine"] == ("pymc" if engine == "auto" else engine)
    assert ("sampled" in idata.attrs["engine_reason"]) == (engine == "auto")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", pytest.param("copies", marks=pytest.mark.calibrate)])
def test_it_is_calibrated(kind):
    """Ranks of the truth among the draws are uniform, over the prior and releases."""
    rng, ranks = np.random.default_rng(6), []
    model = bdp.models.HierarchicalGaussianModel((0.0, 1.0), spread=1.0, sd=1.0)
    family = bdp.families.Gaussian(bounds=(-30, 30), sd=1.0)
    copies = bdp.ModipsSynthesizer(family=family, epsilon=40.0, copies=2)
    noise = bdp.mechanisms.LaplaceMechanism(0.4, 0.1, REPLACE, n=15)
    for i in range(200):
        mean, spread = rng.normal(), abs(rng.normal())
        mu = rng.normal(mean, spread, size=4)
        records = rng.normal(np.repeat(mu, 15), 1.0)
        by = np.repeat(list("abcd"), 15)
        with bdp.reproducible(i):
            if kind == "copies":
                release = copies.release(records, by=by)
            else:
                outputs = {g: (noise, noise.release(records[by == g].mean(), 1)) for g in "abcd"}
                release = bdp.Release.of_groups(outputs)
        drawn = model.fit(release, draws=196, chains=1, warmup=150, seed=i).posterior
        truths = {"mean": mean, "spread": spread, "mu": mu[0]}
        values = {
            name: drawn[name].isel(draw=slice(None, None, 4)).to_numpy().reshape(49, -1)[:, 0]
            for name in truths
        }
        ranks.append([int((values[name] < truth).sum()) for name, truth in truths.items()])
    for column in np.array(ranks).T:  # of 49 draws: 50 ranks in 10 bins
        assert stats.chisquare(np.bincount(column // 5, minlength=10)).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_groups_lend_strength_and_the_naive_fit_is_another():
    def means(idata):
        return idata.posterior["mu"].mean(("chain", "draw")).to_numpy()

    release = noisy_means()
    pooled = MODEL.fit(release, draws=1000, seed=1)
    alone = bdp.GaussianModel(prior=(0.5, 5.0), sd=1.0).fit(release, draws=1000, seed=1)
    assert np.ptp(means(pooled)) < np.ptp(means(alone))
    naive = MODEL.fit_naive(release, draws=1000, seed=1)
    assert naive.attrs["engine_reason"].startswith("naive")
    assert np.ptp(means(naive)) > np.ptp(means(pooled))
    assert MODEL.fit(release, draws=1000, seed=1).posterior.equals(pooled.posterior)


def test_several_releases_are_of_the_same_records():
    once = bdp.Release.of_groups({g: (NOISE, z[:1]) for g, z in OUTPUTS.items()})
    again = bdp.Release.of_groups({g: (NOISE, z[1:]) for g, z in OUTPUTS.items()})
    points = np.random.default_rng(1).normal(0.5, 1.0, (20, 2))
    each = [
        partial_pooling.log_targets(points, True, MODEL.given(MODEL.known(seen)))
        for seen in ([once, again], noisy_means())
    ]
    assert np.ptp(each[0] - each[1]) < 1e-7  # by other nodes, and up to a constant
    assert MODEL.fit([once, again], draws=100, seed=1).observed_data


def test_outputs_at_a_bound_are_of_any_mean_beyond_it():
    """An output that was moved to its bound has a law that doesn't fall there."""
    noise = bdp.mechanisms.LaplaceMechanism(
        0.3, 0.1, REPLACE, n=20, bounds=(0, 1), bounding="inflated"
    )
    outputs = {"a": 1.0, "b": 0.375, "c": 0.0}
    release = bdp.Release.of_groups({g: (noise, [z]) for g, z in outputs.items()})
    points = np.random.default_rng(1).normal((0.5, -0.5), (1.0, 0.6), (20, 2))
    found = partial_pooling.log_targets(points, True, MODEL.given(MODEL.known(release)))
    u, t, s = points[:, 0], np.exp(points[:, 1]), np.linspace(-30, 30, 60_001)
    right = points[:, 1] - ((u - 0.5) / 2.0) ** 2 / 2 - (t / 1.5) ** 2 / 2
    density = stats.norm.pdf(s[:, None], u, np.sqrt(t**2 + 1 / 20)) * (s[1] - s[0])
    for z in outputs.values():
        law = np.exp(noise.logp(z, s))
        right += np.log(law @ density)
    np.testing.assert_allclose(found, right, atol=1e-4)
    MODEL.fit(release, draws=50, warmup=50, chains=1, seed=1)


@pytest.mark.parametrize("apart", [0.5, 8.0])
def test_outputs_that_the_prior_all_but_excludes(apart):
    """Against closed forms: with normal noise the outputs are normal given (m, t)."""
    far = bdp.models.HierarchicalGaussianModel((0.0, 0.01), spread=0.001, sd=0.01)
    noise = bdp.mechanisms.GaussianMechanism(0.01, 0.1, REPLACE, n=10)
    release = bdp.Release.of_groups({"a": (noise, [apart]), "b": (noise, [0.0])})
    rng = np.random.default_rng(1)
    near = np.stack([rng.normal(0, 0.02, 40), rng.uniform(-12, 2, 40)], axis=1)
    points = np.concatenate([near, [[apart / 2, 0.0], [apart, -3.0], [0.0, -9.0]]])
    found = partial_pooling.log_targets(points, True, far.given(far.known(release)))
    u, t = points[:, 0], np.exp(points[:, 1])
    right = points[:, 1] - (u / 0.01) ** 2 / 2 - (t / 0.001) ** 2 / 2
    sd = np.sqrt(t**2 + 0.01**2 / 10 + 0.01**2)
    right += stats.norm.logpdf(apart, u, sd) + stats.norm.logpdf(0.0, u, sd)
    gap = found - right  # up to the noise's step, and its rounding
    np.testing.assert_allclose(gap, gap[0], atol=1e-6 * np.abs(right).max())
    far.fit(release, draws=50, warmup=50, chains=1, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"engine": "exact"}, "engine is 'exact'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        MODEL.fit(noisy_means(), **arguments)


def test_bad_releases_and_models():
    release = noisy_means()
    with pytest.raises(bdp.errors.InvalidInput, match=r"one group.*GaussianModel"):
        MODEL.fit(release["a"])
    unknown = bdp.models.HierarchicalGaussianModel((0, 1), 1.0, variance=(2, 2))
    with pytest.raises(bdp.errors.InvalidInput, match="engine is 'marginal', but sd is unknown"):
        unknown.fit(release, engine="marginal")
    with pytest.raises(bdp.errors.InvalidInput, match="no naive fit here"):
        unknown.fit_naive(release)
    with pytest.raises(bdp.errors.InvalidInput, match="no log evidence here"):
        bdp.log_evidence(unknown, release)
    with pytest.raises(bdp.errors.InvalidInput, match="takes one release at a time"):
        MODEL.fit([release, release], engine="pymc")
    for wrong in (
        {"sd": 1.0, "variance": (1, 1)},
        {},
        {"sd": -1.0},
        {"variance": (0, 1)},
        {"variance": "ab"},
        {"sd": 1.0, "statistic": "median"},
        {"sd": 1.0, "n": 0},
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=r"sd is|variance is|statistic is|n is"):
            bdp.models.HierarchicalGaussianModel((0, 1), 1.0, **wrong)
    for prior, spread in (((0, -1), 1.0), ((0, 1), 0.0), ((0, 1), math.inf)):
        with pytest.raises(bdp.errors.InvalidInput, match=r"prior is|spread is"):
            bdp.models.HierarchicalGaussianModel(prior, spread, sd=1.0)
