"""Groups' proportions from one population of groups: kernels, posterior, calibration, refusals."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines import pooled_proportions as pooling
from bayesdp.kernels.pooled import proportions as kernels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),
]

FALSE_ALARM = 1e-6
MECHANISM = bdp.mechanisms.BetaBinomialMechanism(12, 12, (5.0, 5.0))


@pytest.mark.parametrize("a", [1e-8, 0.3, 7.0, 63.9, 64.1, 1e4, 1e12, 1e17])
@pytest.mark.parametrize("k", [0, 1, 5, 1000, 10**6])
def test_rising_factorials_keep_their_digits(a, k):
    with mpmath.workdps(50):
        right = float(mpmath.loggamma(mpmath.mpf(a) + k) - mpmath.loggamma(mpmath.mpf(a)))
    assert kernels.log_rising(a, float(k)) == pytest.approx(right, rel=2e-13, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "first", "length", "alpha", "beta"),
    [
        (12, 0, 13, 0.4, 2.0),
        (12, 5, 4, 1e-6, 1e-7),
        (3000, 0, 3001, 900.0, 300.0),
        (3000, 0, 3001, 3e6, 1e6),
        (3000, 2000, 1001, 0.01, 0.02),
        (50, 0, 51, 1e15, 3e15),
    ],
)
def test_sums_are_those_of_beta_binomials(n, first, length, alpha, beta):
    rng = np.random.default_rng(n)
    law = rng.random(length)
    x = np.arange(first, first + length)
    if alpha < 1e10:
        terms = stats.betabinom.logpmf(x, n, alpha, beta)
    else:
        terms = stats.binom.logpmf(x, n, alpha / (alpha + beta))
    right = special.logsumexp(terms, b=law)
    given = pooling.given_proportions([np.log(law)], [x], [n], (1.0, 1.0, 1.0))
    found = kernels.log_sum(given, 0, length, int(law.argmax()), n, alpha, beta)
    assert found == pytest.approx(right, abs=1e-8)


@pytest.mark.parametrize("u", [-900.0, -300.0, -40.0, 2.0, 40.0, 300.0, 900.0])
@pytest.mark.parametrize("v", [-250.0, 0.0, 3.0])
def test_densities_where_a_group_is_all_but_surely_of_one_kind(u, v):
    """Against mpmath: with m within e^-900 of 0 or 1, as a weak prior of m allows."""
    laws, sizes = [np.array([0.2, 1.0, 0.7]), np.array([0.3, 0.4, 1.0, 0.9])], [2, 3]
    nodes = [np.arange(n + 1) for n in sizes]
    logs = [np.log(law) for law in laws]
    given = pooling.given_proportions(logs, nodes, sizes, (0.01, 0.02, 5))
    with mpmath.workdps(1000):
        kappa, m = mpmath.exp(v), 1 / (1 + mpmath.exp(-mpmath.mpf(u)))
        a, b = m * kappa, (1 - m) * kappa
        right = 0.01 * mpmath.log(m) + 0.02 * mpmath.log(1 - m) + v - 2 * mpmath.log(5 + kappa)
        for law, n in zip(laws, sizes, strict=True):
            terms = [
                weight * math.comb(n, x) * mpmath.rf(a, x) * mpmath.rf(b, n - x)
                for x, weight in enumerate(law.tolist())
            ]
            right += mpmath.log(mpmath.fsum(terms) / mpmath.rf(a + b, n))
        assert kernels.log_proportions(u, v, given) == pytest.approx(float(right), abs=1e-9)


@pytest.mark.parametrize("end", [0, 2])
def test_a_weak_prior_of_the_mean(end):
    """All groups are of zeros, or of ones, and m has a Beta(0.01, 0.01) prior."""
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, neighbours="replace_one", n=2)
    release = bdp.Release.of_groups({g: (noise, [end]) for g in "ab"})
    idata = bdp.models.HierarchicalBinomialModel((0.01, 0.01)).fit(release, draws=4000, seed=3)
    import arviz as az

    u = np.sinh(np.linspace(-1, 1, 4001) * np.arcsinh(6000.0))
    v = np.linspace(-25, 30, 221)
    law = noise.logp(end, np.arange(3))
    given = pooling.given_proportions([law, law], [np.arange(3)] * 2, [2, 2], (0.01, 0.01, 10.0))
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    from bayesdp.engines.partial_pooling import log_targets

    log_p = log_targets(points, False, given).reshape(u.size, v.size)
    weights = np.exp(log_p - log_p.max()) * np.gradient(u)[:, None]
    expected = float(weights.sum(axis=1) @ special.expit(u) / weights.sum())
    drawn = idata.posterior["mean"].to_numpy()
    assert abs(drawn.mean() - expected) < 5 * float(np.squeeze(az.mcse(drawn)))
    assert np.isfinite(idata.posterior["p"]).all()


def test_counts_are_drawn_from_their_sums():
    rng, law = np.random.default_rng(1), np.array([0.2, 1.0, 0.0, 0.7, 0.1])
    with np.errstate(divide="ignore"):
        given = pooling.given_proportions([np.log(law)], [np.arange(3, 8)], [9], (1.0, 1.0, 1.0))
    drawn = [kernels.draw_count(given, 0, 4, 1, 9.0, 0.8, 1.7, rng) for _ in range(20_000)]
    weights = law * stats.betabinom.pmf(np.arange(3, 8), 9, 0.8, 1.7)
    seen = np.bincount(np.array(drawn, dtype=int) - 3, minlength=5)
    assert seen[2] == 0
    keep = weights > 0
    expected = weights[keep] / weights.sum() * len(drawn)
    assert stats.chisquare(seen[keep], expected).pvalue > FALSE_ALARM


def by_quadrature(release, prior, c):
    """Posterior means of m, of the sd and of each p, on a grid in (logit m, log kappa)."""
    u, v = np.linspace(-14, 14, 281), np.linspace(-14, 24, 381)
    m, kappa = special.expit(u)[:, None], np.exp(v)[None, :]
    alpha, beta = m * kappa, (1 - m) * kappa
    log_p = stats.beta.logpdf(m, *prior) + np.log(m * (1 - m))
    log_p = log_p + v - 2 * np.log(c + kappa)
    each = []
    for part in release.parts:
        n = part.mechanism.n
        x = np.arange(n + 1)
        law = part.mechanism.logp(np.array(part.outputs)[:, None], bdp.Count(x, n)).sum(axis=0)
        law = law + special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
        rest = special.betaln(alpha, beta)
        terms = [law[i] + special.betaln(alpha + i, beta + n - i) - rest for i in x]
        total = special.logsumexp(terms, axis=0)
        shares = np.exp(np.array(terms) - total)
        each.append(np.sum(shares * (alpha + x[:, None, None]), axis=0) / (kappa + n))
        log_p = log_p + total
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    found = {"mean": (w * m).sum(), "sd": (w * np.sqrt(m * (1 - m) / (kappa + 1))).sum()}
    return found, [float((w * p).sum()) for p in each]


@pytest.mark.parametrize(
    ("outputs", "prior", "c"),
    [
        ({"a": [3, 4], "b": [10, 9]}, (1.0, 1.0), 10.0),
        ({"a": [6, 6], "b": [5, 7], "c": [12, 11]}, (2.0, 1.5), 4.0),
    ],
)
def test_the_posterior_is_that_of_quadrature(outputs, prior, c):
    """Within 5 Monte Carlo standard errors: false alarms below 1e-6 each."""
    release = bdp.Release.of_groups({g: (MECHANISM, z) for g, z in outputs.items()})
    model = bdp.models.HierarchicalBinomialModel(prior, concentration=c)
    idata = model.fit(release, draws=4000, seed=2)
    scalars, ps = by_quadrature(release, prior, c)
    right = {**scalars, **{f"p[{g}]": p for g, p in zip(outputs, ps, strict=True)}}
    import arviz as az

    errors, means = az.mcse(idata), idata.posterior.mean(("chain", "draw"))
    for name, expected in right.items():
        variable, _, group = name.rstrip("]").partition("[")
        chosen = {"group": group} if group else {}
        error = float(errors[variable].sel(chosen))
        assert abs(float(means[variable].sel(chosen)) - expected) < 5 * error, name
        assert error < 0.01
    assert "no problem" in idata.attrs["verdict"]
    assert idata.posterior["mean"].dims == ("chain", "draw")


def simulated(rng, c, seed):
    """Mean, sd and proportions of four groups from a prior's population, and a release of them."""
    m, share = rng.beta(2, 2), rng.random()
    kappa = c * share / (1 - share)
    p = rng.beta(m * kappa, (1 - m) * kappa, size=4)
    counts = {g: bdp.Count(int(rng.binomial(20, each)), 20) for g, each in enumerate(p)}
    with bdp.reproducible(seed):
        release = bdp.BetaBinomialSynthesizer(epsilon=3.0, copies=2).release(counts)
    return m, math.sqrt(m * (1 - m) / (kappa + 1)), p, release


def test_it_is_calibrated():
    """Ranks of the truth among the draws are uniform, over the prior and releases."""
    rng, ranks, c = np.random.default_rng(6), [], 8.0
    model = bdp.models.HierarchicalBinomialModel((2.0, 2.0), concentration=c)
    for i in range(300):
        m, sd, p, release = simulated(rng, c, i)
        drawn = model.fit(release, draws=196, chains=1, warmup=150, seed=i).posterior
        thin = {"draw": slice(None, None, 4)}
        truths = {"mean": m, "sd": sd, "p": p[0]}
        values = {name: drawn[name].isel(thin).to_numpy() for name in truths}
        values["p"] = values["p"][..., 0]
        ranks.append([int((values[name] < truth).sum()) for name, truth in truths.items()])
    for column in np.array(ranks).T:  # of 49 draws: 50 ranks in 10 bins
        assert stats.chisquare(np.bincount(column // 5, minlength=10)).pvalue > FALSE_ALARM


def one_apart(many, n=1000):
    noise = {
        s: bdp.mechanisms.DiscreteLaplaceMechanism(s, 1.0, neighbours="replace_one", n=n)
        for s in (0.5, 2.0)
    }
    outputs = {g: (noise[0.5], [n // 2]) for g in range(many)} | {"apart": (noise[2.0], [0])}
    return bdp.Release.of_groups(outputs)


def test_a_group_that_others_draw_far_from_its_output():
    """Its counts are summed over as far as the others draw it: all n + 1 of them, in the oracle."""
    from bayesdp.engines.partial_pooling import log_targets

    release, n, many = one_apart(300), 1000, 300
    model = bdp.models.HierarchicalBinomialModel()
    u, v = np.linspace(-0.06, 0.06, 31), np.linspace(0.5, 16.5, 41)
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    found = log_targets(points, False, model.given(model.known(release)))
    m, kappa, x = special.expit(points[:, :1]), np.exp(points[:, 1:]), np.arange(n + 1)
    alpha, beta = m * kappa, (1 - m) * kappa
    probability = stats.betabinom.logpmf(x, n, alpha, beta)
    noises = [
        part.mechanism.logp(part.outputs[0], x)
        for part in (release["apart"].parts[0], release[0].parts[0])
    ]
    apart, usual = (special.logsumexp(probability + law, axis=1) for law in noises)
    right = apart + many * usual + np.log(m * (1 - m))[:, 0]
    right += points[:, 1] - 2 * np.log(10 + kappa[:, 0])
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=2e-3)
    log_evidence = special.logsumexp(right) + np.log(10 * (u[1] - u[0]) * (v[1] - v[0]))
    assert log_evidence == pytest.approx(-1340.02, abs=0.1)  # by a finer grid


def test_groups_lend_strength_and_the_naive_fit_is_another():
    counts = {g: (MECHANISM, z) for g, z in {"a": [4, 4], "b": [6, 6], "c": [8, 8]}.items()}
    release = bdp.Release.of_groups(counts)
    model = bdp.models.HierarchicalBinomialModel()

    def means(idata):
        return idata.posterior["p"].mean(("chain", "draw")).to_numpy()

    pooled = model.fit(release, draws=1000, seed=1)
    alone = bdp.BinomialModel().fit(release, draws=1000, seed=1)
    assert np.ptp(means(pooled)) < np.ptp(means(alone))
    naive = model.fit_naive(release, draws=1000, seed=1)
    assert naive.attrs["engine_reason"].startswith("naive")
    assert np.ptp(means(naive)) > np.ptp(means(pooled))
    again = model.fit(release, draws=1000, seed=1)
    assert again.posterior.equals(pooled.posterior)


def test_large_groups_take_their_part_of_the_sum_alone():
    counts = {g: bdp.Count(4000 + 600 * g, 20_000) for g in range(5)}
    with bdp.reproducible(1):
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(counts)
    idata = bdp.models.HierarchicalBinomialModel(concentration=100).fit(
        release, draws=100, warmup=90, seed=1, chains=2
    )
    p = idata.posterior["p"].mean(("chain", "draw")).to_numpy()
    assert np.all(np.abs(p - np.arange(0.20, 0.34, 0.03)) < 0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"engine": "exact"}, "engine is 'exact'"),
    ],
)
def test_bad_arguments_are_named(grouped_release, arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.HierarchicalBinomialModel().fit(grouped_release, **arguments)


def test_bad_releases_and_priors(charest_release):
    model = bdp.models.HierarchicalBinomialModel()
    with pytest.raises(bdp.errors.InvalidInput, match="one group"):
        model.fit(charest_release)
    hidden = bdp.mechanisms.BetaBinomialMechanism(None, 5, (2.0, 2.0))
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.fit(bdp.Release.of_groups({"a": (hidden, [1]), "b": (hidden, [2])}))
    table = bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2, "replace_one", n=9)
    with pytest.raises(
        bdp.errors.InvalidInput,
        match=r"such releases are for bdp\.models\.LogLinearModel, .*\.MultinomialModel",
    ):
        model.fit(bdp.Release.of_groups({"a": (table, [(1, 8)]), "b": (table, [(3, 6)])}))
    for wrong in (0.0, -1.0, math.inf, "ten"):
        with pytest.raises(bdp.errors.InvalidInput, match="concentration is"):
            bdp.models.HierarchicalBinomialModel(concentration=wrong)
    with pytest.raises(bdp.errors.InvalidInput, match="prior"):
        bdp.models.HierarchicalBinomialModel(prior=(0, 1))
