"""Numbers of records that the model says, of all groups or of each by its label."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.partial_pooling import log_targets
from bayesdp.engines.unknown_trials import law_of_largest
from bayesdp.inference.sizes import kept_sizes
from tests.conftest import require_pystan

GaussianModel, HierarchicalGaussianModel = bdp.GaussianModel, bdp.models.HierarchicalGaussianModel
HierarchicalBinomialModel = bdp.models.HierarchicalBinomialModel
COUNT = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0)
SUM = bdp.mechanisms.LaplaceMechanism(3.0, 1.0)
WIDE = np.r_[np.zeros(20), np.full(6, 1 / 6)]
SIZES = {"a": 60, "b": range(20, 41), "c": WIDE}
COUNTS = {"a": 30, "b": 12, "c": 9}
FALSE_ALARM = 1e-6


def released(mechanism, values):
    return bdp.Release.of_groups({g: (mechanism, [z]) for g, z in values.items()})


MODELS = {
    "binomial": (lambda n: bdp.BinomialModel((2.0, 3.0), n=n), COUNT, COUNTS),
    "gaussian": (
        lambda n: GaussianModel((0, 10), 1.0, "sum", n=n),
        SUM,
        {"a": 30.0, "b": 12.5, "c": -9.0},
    ),
    "gamma": (
        lambda n: bdp.models.GammaModel((1.0, 1.0), n=n),
        SUM,
        {"a": 30.0, "b": 12.5, "c": 90.0},
    ),
}


VECTOR = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=3)
VECTORS = {"a": (30, 12, 15), "b": (12, 6, 5), "c": (9, 4, 8)}


def test_categories_of_each_group_have_their_own_number():
    release = released(VECTOR, VECTORS)
    model = bdp.MultinomialModel((1.0, 2.0, 1.0), n=SIZES)
    idata = model.fit(release, draws=1000, seed=1)
    for group, n in SIZES.items():
        alone = bdp.MultinomialModel((1.0, 2.0, 1.0), n=n).fit(release[group], draws=1000, seed=2)
        mine, right = idata.posterior["theta"].sel(group=group), alone.posterior["theta"]
        gap = mine.mean(("chain", "draw")) - right.mean(("chain", "draw"))
        assert np.all(np.abs(gap) < 0.1 * right.std(("chain", "draw")))
    with pytest.raises(bdp.errors.InvalidInput, match="has the group 'c' too"):
        bdp.MultinomialModel((1.0, 2.0, 1.0), n={"a": 60, "b": 23}).fit(release)


def test_events_of_each_group_have_their_own_number():
    release = released(VECTOR, VECTORS)
    model = bdp.models.PoissonModel((1.0, 1.0), n={"a": 57, "b": 20, "c": 21})
    for group, n in {"a": 57, "b": 20, "c": 21}.items():
        mine = model.fit(release, draws=1000, seed=1).posterior["rate"].sel(group=group)
        alone = bdp.models.PoissonModel((1.0, 1.0), n=n)
        right = alone.fit(release[group], draws=1000, seed=2).posterior["rate"]
        gap = mine.mean(("chain", "draw")) - right.mean(("chain", "draw"))
        assert np.all(np.abs(gap) < 0.15 * right.std(("chain", "draw")))
    with pytest.raises(bdp.errors.InvalidInput, match="a PoissonModel takes numbers"):
        bdp.models.PoissonModel(n=SIZES)
    with pytest.raises(bdp.errors.InvalidInput, match="has the group 'b' too"):
        bdp.models.PoissonModel(n={"a": 57}).fit(release)


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # which are short
def test_quantiles_of_each_group_are_of_its_own_records():
    made = bdp.mechanisms.QuantileMechanism(6.0, (0, 1, 1.5, 3), (0.5, 0.8))
    release = bdp.Release.of_groups({"a": (made, [(1, 2)]), "b": (made, [(0, 1)])})
    model = bdp.models.QuantileModel(prior=(1.2, 1.0, 0.8, 0.6), n={"a": 8, "b": range(5, 8)})
    assert [each.target.sizes for each in model.read(release)] == [
        [(8, 1.0)],
        [(n, 1 / 3) for n in range(5, 8)],
    ]
    idata = model.fit(release, draws=1000, seed=1)
    assert set(np.unique(idata.posterior["n"].sel(group="a"))) == {8}
    assert set(np.unique(idata.posterior["n"].sel(group="b"))) == {5, 6, 7}
    with pytest.raises(bdp.errors.InvalidInput, match=r"n\['b'\] is range\(0, 8\).*start at 1"):
        bdp.models.QuantileModel(n={"a": 8, "b": range(8)})


@pytest.mark.parametrize("family", MODELS)
def test_each_group_has_its_own_posterior(family):
    made, mechanism, values = MODELS[family]
    release = released(mechanism, values)
    idata, log_evidence = made(SIZES).fit(release, draws=1000, seed=1), 0.0
    told = json.loads(idata.attrs["n"])
    assert (told["a"], told["b"]) == (60, {"least": 20, "most": 40, "mean": 30.0})
    for group, n in SIZES.items():
        drawn = idata.posterior[made(SIZES).variables[0]].sel(group=group).to_numpy()
        alone = made(n).posterior(release[group])
        assert drawn.mean() == pytest.approx(alone.mean(), abs=5 * alone.sd() / drawn.size**0.5)
        log_evidence += made(n).log_evidence(release[group])
    assert made(SIZES).log_evidence(release) == pytest.approx(log_evidence, rel=1e-12)
    assert made({**SIZES, "a": 50}).log_evidence(release) != made(SIZES).log_evidence(release)


@pytest.mark.parametrize("family", MODELS)
def test_labels_in_files_are_texts(family):
    made, mechanism, values = MODELS[family]
    release = released(mechanism, dict(zip([1, 2, 3], values.values(), strict=True)))
    texts, numbers = made({"1": 60, "2": 30, "3": 25}), made({1: 60, 2: 30, 3: 25})
    assert texts.log_evidence(release) == numbers.log_evidence(release)


def test_models_with_such_numbers_compare_and_hash():
    for made, *_ in MODELS.values():
        one, other = made(SIZES), made({**SIZES, "c": range(20, 26)})
        assert one == made({**SIZES, "c": WIDE.copy()})
        assert hash(one) == hash(made(dict(reversed(SIZES.items()))))
        assert one != other
    assert kept_sizes(kept_sizes(SIZES)) == kept_sizes(SIZES)


def test_models_without_groups_compare_by_n_too():
    for made in (
        lambda n: bdp.models.LogLinearModel("a + b", n=n),
        lambda n: bdp.LogisticRegressionModel("a ~ b", n=n),
        lambda n: bdp.models.BetaModel(n=n),
    ):
        assert made(range(5, 9)) == made(range(5, 9))
        assert made(7) != made(8)
        assert "range(5, 9)" in repr(made(range(5, 9)))
    table = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=4)
    model = bdp.models.LogLinearModel("a + b", n={"x": 40}, categories={"a": [0, 1], "b": [0, 1]})
    with pytest.raises(bdp.errors.InvalidInput, match="no groups; give the number of its records"):
        model.fit(bdp.Release.of(table, [(5, 3, 4, 9)]))


def test_means_of_groups_of_known_numbers_are_pooled():
    """As where the release says the numbers."""
    values, sizes = {"a": 30.0, "b": 12.5, "c": -9.0}, {"a": 60, "b": 30, "c": 25}
    public = {
        g: (bdp.mechanisms.LaplaceMechanism(3.0, 1.0, "replace_one", n=sizes[g]), [z])
        for g, z in values.items()
    }
    release, said = released(SUM, values), bdp.Release.of_groups(public)
    model = HierarchicalGaussianModel((0, 10), 2.0, 1.0, statistic="sum", n=sizes)
    known = HierarchicalGaussianModel((0, 10), 2.0, 1.0, statistic="sum")
    points = np.random.default_rng(1).normal(size=(20, 2))
    found, right = (
        log_targets(points, True, m.given(m.known(r))) for m, r in ((model, release), (known, said))
    )
    np.testing.assert_array_equal(found, right)
    programs = model.pymc_model(release), known.pymc_model(said)
    found, right = (
        program.compile_logp(mode="FAST_COMPILE")(program.initial_point()) for program in programs
    )
    assert found == pytest.approx(right, abs=1e-10)
    naive = model.fit_naive(release, draws=1000, seed=1).posterior["mu"]
    same = known.fit_naive(said, draws=1000, seed=1).posterior["mu"]
    np.testing.assert_array_equal(naive, same)


SUMS = {"a": 30.0, "b": 12.5, "c": -9.0}


def numbers_of(n):
    if isinstance(n, int):
        return [(n, 1.0)]
    return [(k, 1 / len(n)) for k in n] if isinstance(n, range) else list(enumerate(n))


def pooled_by_quadrature(z, n, u, t, sd, nodes=6_001):
    """Log likelihood of (m, t) by sums over all n and a grid of means, and mu's mean there."""
    s = np.linspace(-9, 9, nodes)
    whole, weighted = np.zeros(u.size), np.zeros(u.size)
    for size, probability in numbers_of(n):
        if probability == 0:
            continue
        law = probability * stats.laplace.pdf(z, size * s, 3.0) * (s[1] - s[0])
        variance = t**2 + sd**2 / size
        joint = law * np.exp(-((s - u[:, None]) ** 2) / (2 * variance[:, None]))
        joint /= np.sqrt(2 * np.pi * variance[:, None])
        whole += joint.sum(axis=1)
        weighted += u * joint.sum(axis=1) + t**2 / variance * (joint @ s - u * joint.sum(axis=1))
    return np.log(whole), weighted / whole


def test_means_of_groups_of_unknown_numbers_are_pooled():
    """Against sums over all numbers and means, at points of the population's parameters."""
    sd, prior, c, release = 1.3, (0.2, 2.0), 1.5, released(SUM, SUMS)
    model = HierarchicalGaussianModel(prior, c, sd, statistic="sum", n=SIZES)
    points = np.random.default_rng(2).normal(size=(30, 2)) * (1.0, 2.0)
    u, t = points[:, 0], np.exp(points[:, 1])
    right = points[:, 1] - ((u - prior[0]) / prior[1]) ** 2 / 2 - (t / c) ** 2 / 2
    each = (pooled_by_quadrature(SUMS[g], n, u, t, sd, 60_001) for g, n in SIZES.items())
    right += sum(law for law, _ in each)
    found = log_targets(points, True, model.given(model.known(release)))
    # Up to the noise's step, in the sum's unit.
    np.testing.assert_allclose(found - right, 3 * np.log(SUM.step), atol=1e-5)


def test_many_numbers_are_stood_for_by_few():
    """Means, and steps of a sum of thousands of records, against all of them."""
    for statistic, z, n in (("sum", 520.0, range(500, 1500)), ("mean", 0.53125, range(5, 3000))):
        noise = bdp.mechanisms.GaussianMechanism(8.0 if statistic == "sum" else 0.02, 1.0)
        release = bdp.Release.of_groups({g: (noise, [z]) for g in "ab"})
        model = HierarchicalGaussianModel((0.0, 1.0), 1.0, 1.0, statistic=statistic, n=n)
        points = np.array([[0.5, -1.0], [0.7, -4.0], [0.4, -3.0], [0.9, -2.0], [0.52, -8.0]])
        u, t, m = points[:, 0], np.exp(points[:, 1]), np.array(n)[:, None]
        unit = m if statistic == "sum" else 1.0
        law = stats.norm.logpdf(z, unit * u, np.hypot(noise.scale, unit * np.hypot(t, m**-0.5)))
        right = points[:, 1] - (u**2 + t**2) / 2
        right += 2 * (special.logsumexp(law, axis=0) - np.log(len(n)))
        found = log_targets(points, True, model.given(model.known(release)))
        np.testing.assert_allclose(found - right, 2 * np.log(noise.step), atol=2e-3)


def test_draws_of_means_are_those_of_unknown_numbers():
    sd, prior, c, release = 1.3, (0.2, 2.0), 1.5, released(SUM, SUMS)
    model = HierarchicalGaussianModel(prior, c, sd, statistic="sum", n=SIZES)
    grid = np.meshgrid(np.linspace(-3, 4, 29), np.linspace(-4, 2.5, 27), indexing="ij")
    points = np.stack(grid, axis=-1).reshape(-1, 2)
    logs = log_targets(points, True, model.given(model.known(release)))
    weights = special.softmax(logs)
    keep = weights > 1e-6
    u, t, weights = points[keep, 0], np.exp(points[keep, 1]), weights[keep] / weights[keep].sum()
    idata = model.fit(release, draws=4000, seed=1)
    assert json.loads(idata.attrs["n"])["b"] == {"least": 20, "most": 40, "mean": 30.0}
    for g in "bc":
        mean = pooled_by_quadrature(SUMS[g], SIZES[g], u, t, sd)[1]
        drawn = idata.posterior["mu"].sel(group=g).to_numpy()
        error = 5 * drawn.std() / np.sqrt(drawn.size / 3)
        assert drawn.mean() == pytest.approx(weights @ mean, abs=error)
    found = bdp.log_evidence(model, release, seed=1)
    area = (7 / 28) * (6.5 / 26)
    right = special.logsumexp(logs) + np.log(area / (np.pi * prior[1] * c))
    assert found.log_value == pytest.approx(right, abs=0.01 + 5 * found.standard_error)


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # which are short
@pytest.mark.slow
def test_pooling_of_means_is_calibrated_where_numbers_are_unknown():
    """Ranks of the truth among the draws are uniform, over the priors and releases."""
    rng, ranks, noise = np.random.default_rng(9), [], bdp.mechanisms.GaussianMechanism(3.0, 1.0)
    model = HierarchicalGaussianModel((0.0, 1.0), 0.7, 1.0, statistic="sum", n=range(3, 10))
    for i in range(300):
        m, t = rng.normal(), abs(rng.normal(0.0, 0.7))
        mu, n = rng.normal(m, t, size=4), rng.integers(3, 10, size=4)
        sums = n * mu + np.sqrt(n) * rng.normal(size=4)
        with bdp.reproducible(5000 + i):
            outputs = {g: (noise, noise.release(float(x))) for g, x in enumerate(sums)}
        release = bdp.Release.of_groups(outputs)
        drawn = model.fit(release, draws=196, chains=1, warmup=150, seed=i).posterior
        values = (drawn["mean"], drawn["spread"], drawn["mu"].isel(group=0))
        truths = (m, t, mu[0])
        ranks.append([
            int((each.to_numpy()[0, ::4] < truth).sum())
            for each, truth in zip(values, truths, strict=True)
        ])  # fmt: skip
    for column in np.array(ranks).T:  # of 49 draws: 50 ranks in 10 bins
        assert stats.chisquare(np.bincount(column // 5, minlength=10)).pvalue > FALSE_ALARM


def test_a_prior_on_numbers_needs_the_marginal_engine():
    release, sizes = released(SUM, SUMS), {**SIZES, "c": 20}
    model = HierarchicalGaussianModel((0, 10), 2.0, 1.0, statistic="sum", n=sizes)
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match="n has a prior; use engine='marginal'"):
            call(release)
    with pytest.raises(bdp.errors.InvalidInput, match="n has a prior, and noisy numbers"):
        model.fit_naive(release)
    pairs = bdp.mechanisms.LaplaceMechanism(3.0, 1.0, dimension=2)
    two = released(pairs, {"a": (30.0, 90.0), "b": (12.5, 40.0), "c": (-9.0, 30.0)})
    unknown = HierarchicalGaussianModel((0, 10), 2.0, variance=(2, 2), statistic="sum", n=sizes)
    with pytest.raises(bdp.errors.InvalidInput, match="n has a prior; give sd, if it is known"):
        unknown.fit(two)
    with pytest.raises(bdp.errors.InvalidInput, match="has the group 'b' too"):
        HierarchicalGaussianModel((0, 10), 2.0, 1.0, n={"a": range(3, 9)}).fit(release)


@pytest.mark.parametrize("seed", range(5))
def test_the_law_of_the_largest_number_has_the_same_likelihood(seed):
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice(12, rng.integers(1, 6), replace=False))
    laws, p = [], np.linspace(0.0, 1.0, 31)
    for n in sizes.tolist():
        counts = np.sort(rng.choice(n + 1, rng.integers(1, n + 2), replace=False))
        laws.append((n, counts, rng.normal(scale=5.0, size=counts.size)))
    right = sum(np.exp(law) @ stats.binom.pmf(x[:, None], n, p) for n, x, law in laws)
    most, counts, law = law_of_largest(iter(laws))
    assert most == sizes[-1]
    mine = np.exp(law) @ stats.binom.pmf(counts[:, None], most, p)
    np.testing.assert_allclose(mine, right, rtol=1e-12)


def log_likelihood(group, n, m, kappa):
    """By the sum over all numbers and counts, and the mean of p there."""
    numbers = [(n, 1.0)] if isinstance(n, int) else [(k, 1 / len(n)) for k in n]
    if isinstance(n, np.ndarray):
        numbers = [(k, p) for k, p in enumerate(n) if p > 0]
    logs, means = [], []
    for size, probability in numbers:
        x = np.arange(size + 1)[:, None]
        law = COUNT.logp(COUNTS[group], x) + np.log(probability)
        logs.append(law + stats.betabinom.logpmf(x, size, m * kappa, (1 - m) * kappa))
        means.append((m * kappa + x) / (kappa + size))
    whole, every = np.concatenate(logs), np.concatenate(means)
    total = special.logsumexp(whole, axis=0)
    return total, (np.exp(whole - total) * every).sum(axis=0)


def test_proportions_of_groups_of_unknown_numbers_are_pooled():
    """Against sums over all numbers and counts, on a grid of the population's parameters."""
    prior, c, release = (2.0, 3.0), 15.0, released(COUNT, COUNTS)
    model = HierarchicalBinomialModel(prior, concentration=c, n=SIZES)
    u, v = np.linspace(-5, 5, 81), np.linspace(-5, 14, 96)
    points = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    m, kappa = special.expit(points[:, 0]), np.exp(points[:, 1])
    right = prior[0] * np.log(m) + prior[1] * np.log1p(-m) + points[:, 1] - 2 * np.log(c + kappa)
    each = {g: log_likelihood(g, n, m, kappa) for g, n in SIZES.items()}
    right += sum(law for law, _ in each.values())
    found = log_targets(points, False, model.given(model.known(release)))
    np.testing.assert_allclose(found, right, atol=1e-8)
    weights = special.softmax(right)
    idata = model.fit(release, draws=4000, seed=1)
    for g, (_, mean) in each.items():
        drawn = idata.posterior["p"].sel(group=g).to_numpy()
        error = 5 * drawn.std() / np.sqrt(drawn.size / 3)
        assert drawn.mean() == pytest.approx(weights @ mean, abs=error)
    parts = bdp.evaluate.variance_parts(model, release, idata)
    assert parts["variance"].to_numpy() == pytest.approx(
        idata.posterior["p"].var(("chain", "draw")).to_numpy(), rel=0.1
    )


def test_programs_of_pooled_proportions_have_the_same_density():
    model = HierarchicalBinomialModel((2.0, 3.0), concentration=15.0, n=SIZES)
    release = released(COUNT, COUNTS)
    density = model.pymc_model(release).compile_logp(jacobian=True)
    given, apart = model.given(model.known(release)), []
    for u, v in ((0.3, 2.0), (-1.0, 5.0), (1.5, -2.0)):
        own = log_targets(np.array([[u, v]]), False, given)[0]
        apart.append(float(density({"logit_mean": u, "log_kappa": v})) - own)
    assert np.ptp(apart) < 1e-9  # the priors' constants
    data = model.stan_data(release)
    assert (data["R"], data["replicates"]) == (0, 0)  # no new outputs without a number of records
    known = HierarchicalBinomialModel(n={"a": 60, "b": 30, "c": 25}).stan_data(release)
    assert known["R"] == 3


@pytest.mark.slow
def test_stan_draws_pooled_proportions_of_unknown_numbers():
    require_pystan()
    release = released(COUNT, COUNTS)
    model = HierarchicalBinomialModel((2.0, 3.0), concentration=15.0, n=SIZES)
    marginal = model.fit(release, draws=2000, seed=1).posterior
    stan = model.fit(release, engine="stan", draws=1000, chains=2, seed=2).posterior
    for name in ("p", "mean"):
        mine, other = (each[name].mean(("chain", "draw")).to_numpy() for each in (marginal, stan))
        sd = marginal[name].std(("chain", "draw")).to_numpy()
        assert np.all(np.abs(mine - other) < 0.2 * sd)


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # which are short
def test_pooling_is_calibrated_where_numbers_are_unknown():
    """Ranks of the truth among the draws are uniform, over the priors and releases."""
    rng, ranks, c = np.random.default_rng(8), [], 8.0
    model = HierarchicalBinomialModel((2.0, 2.0), concentration=c, n=range(10, 31))
    for i in range(300):
        m, shrunk = rng.beta(2, 2), rng.random()
        kappa = c * (1 - shrunk) / shrunk
        p = rng.beta(m * kappa, (1 - m) * kappa, size=4)
        counts = rng.binomial(rng.integers(10, 31, size=4), p)
        with bdp.reproducible(1000 + i):
            outputs = {g: (COUNT, COUNT.release(int(x))) for g, x in enumerate(counts)}
        release = bdp.Release.of_groups(outputs)
        drawn = model.fit(release, draws=196, chains=1, warmup=150, seed=i).posterior
        values = (drawn["mean"].to_numpy()[0, ::4], drawn["p"].to_numpy()[0, ::4, 0])
        ranks.append(
            [int((each < truth).sum()) for each, truth in zip(values, (m, p[0]), strict=True)]
        )
    for column in np.array(ranks).T:  # of 49 draws: 50 ranks in 10 bins
        assert stats.chisquare(np.bincount(column // 5, minlength=10)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("n", "message"),
    [
        ({}, "n is an empty mapping"),
        ({"a": 60}, "the first 'a', but the release has the group 'b' too"),
        ({**SIZES, "b": "x"}, r"n\['b'\] must be a number, a range"),
        ({**SIZES, "b": {"c": 3}}, r"n\['b'\] must be a number, a range"),
        ({**SIZES, "b": range(9, 3)}, r"n\['b'\] is range\(9, 3\)"),
        ({**SIZES, "b": 0}, r"n\['b'\] is 0"),
        ({**SIZES, "b": range(5_000, 9_000)}, "pairs of a size and a count.*more than 20,000,000"),
        (None, r"HierarchicalBinomialModel\(n=range.*or each group's, as n=\{'a': 1000"),
    ],
)
def test_numbers_that_a_model_cannot_take_are_named(n, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        HierarchicalBinomialModel(n=n).fit(released(COUNT, COUNTS))


def test_a_series_has_labels_of_groups():
    release, sizes = released(COUNT, COUNTS), {"a": 60, "b": 30, "c": 25}
    labelled = bdp.BinomialModel(n=pd.Series(sizes))
    assert labelled == bdp.BinomialModel(n=sizes)
    assert labelled.log_evidence(release) == bdp.BinomialModel(n=sizes).log_evidence(release)
    even = pd.Series(np.full(40, 1 / 40))
    assert bdp.BinomialModel(n=even) == bdp.BinomialModel(n=even.to_numpy())
    by_number = pd.Series([0.2, 0.8], index=[500, 501])
    with pytest.raises(bdp.errors.InvalidInput, match=r"n\[500\] is 0\.2; it must be a whole"):
        bdp.BinomialModel(n=by_number)
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"n\['a'\] is .* whose labels aren't 0, 1, 2"
    ):
        bdp.BinomialModel(n={"a": by_number})
    with pytest.raises(bdp.errors.InvalidInput, match="n has a label twice"):
        bdp.BinomialModel(n=pd.Series([60, 50, 30], index=["a", "a", "b"]))


def test_groups_that_a_release_lacks_are_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="but the release has no groups"):
        bdp.BinomialModel(n={"a": 60}).posterior(bdp.Release.of(COUNT, [3]))
    public = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, "replace_one", n=60)
    mixed = bdp.Release.of_groups({"a": (public, [30]), "b": (public, [12])})
    with pytest.raises(bdp.errors.InvalidInput, match="the release says n = 60; leave n out"):
        bdp.BinomialModel(n={"a": 60, "b": 60}).fit(mixed)
