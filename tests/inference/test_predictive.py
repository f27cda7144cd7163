"""Posterior predictive outputs: their law, their shape, and what is refused."""

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.laws import beta_binomial_logpmf

FALSE_ALARM = 1e-6


def predicted(model, release, draws=4000):
    idata = model.fit(release, draws=1000, seed=2)
    return bdp.posterior_predictive(model, idata, release, draws=draws, seed=3)


@pytest.mark.slow
def test_counts_follow_their_law(charest_release):
    """Against the sum over confidential counts, old and new; chi-square over the outputs."""
    model, mechanism = bdp.BinomialModel(), charest_release.mechanism
    outputs = predicted(model, charest_release).posterior_predictive["outputs"].to_numpy()
    mixture = model.posterior(charest_release)
    x = np.arange(101)
    new = special.logsumexp(
        [
            np.log(w) + beta_binomial_logpmf(x, 100, a, b)
            for w, a, b in zip(mixture.weights, mixture.a, mixture.b, strict=True)
        ],
        axis=0,
    )
    law = np.array([
        np.exp(special.logsumexp(new + mechanism.logp(z, bdp.Count(x, 100)))) for z in range(101)
    ])  # fmt: skip
    seen = np.bincount(outputs.ravel(), minlength=101)
    bins = np.minimum((np.cumsum(law) * 20).astype(int), 19)
    expected = np.bincount(bins, law * outputs.size)
    observed = np.bincount(bins, seen)
    keep = expected > 0
    assert stats.chisquare(observed[keep], expected[keep]).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_noisy_means_have_the_variances_of_all_that_is_random():
    noise = bdp.mechanisms.GaussianMechanism(0.4, 0.01, neighbours="replace_one", n=25)
    release = bdp.Release.of_groups(
        {"a": (noise, [1.0, 1.5]), "b": (noise, [-2.0, -1.0])}, delta=1e-6
    )
    model = bdp.GaussianModel(sd=3.0)
    made = predicted(model, release)
    outputs = made.posterior_predictive["outputs"]
    assert outputs.dims == ("chain", "draw", "copy", "group")
    for label in ("a", "b"):
        posterior = model.posterior(release[label])
        z = outputs.sel(group=label).to_numpy()[0, :, 0]
        variance = posterior.sd() ** 2 + 9 / 25 + 0.16
        error = np.sqrt(variance / z.size)
        assert abs(z.mean() - posterior.mean()) < 5 * error
        assert abs(z.var() - variance) < 5 * variance * np.sqrt(2 / z.size)


def test_moments_are_of_records_within_their_bounds():
    mechanism = bdp.mechanisms.LaplaceMechanism(
        0.5, 0.1, neighbours="replace_one", n=30, dimension=2, bounds=(0.0, 4.0),
        bounding="truncated",
    )  # fmt: skip
    release = bdp.Release.of(mechanism, outputs=[(0.5, 3.5)])
    model = bdp.GaussianModel(prior=(0, 0.1, 2, 4))
    z = predicted(model, release, draws=300).posterior_predictive["outputs"]
    assert z.shape == (1, 300, 1, 2)
    assert float(z.min()) >= 0.0
    assert float(z.max()) <= 4.0


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_copies_of_normal_records_are_predicted_in_their_mechanism_s_own_unit(statistic):
    """A mechanism says itself what it takes of records; the model's word is about bare numbers.

    A copy's mean has the variances of mu, of n records' mean, of noise, of a draw given it and of
    the copy's own records, bounds being far away.
    """
    n, sd, size, scale = 50, 2.0, 40, 0.1
    family = bdp.families.Gaussian((-30.0, 30.0), sd=sd)
    made = bdp.mechanisms.ModipsSBSMechanism(family, size, (scale,), n=n, noise="gaussian")
    y = np.linspace(-3.0, 5.0, size)
    release, model = (
        bdp.Release.of(made, [y], delta=1e-6),
        bdp.GaussianModel(sd=sd, statistic=statistic),
    )
    z = predicted(model, release, draws=2000).posterior_predictive["outputs"].to_numpy()[0, :, 0]
    means, mu = z.mean(axis=1), model.posterior(release)
    variance = mu.sd() ** 2 + 2 * sd**2 / n + scale**2 + sd**2 / size
    assert abs(means.mean() - mu.mean()) < 5 * np.sqrt(variance / means.size)
    assert abs(means.var() - variance) < 5 * variance * np.sqrt(2 / means.size)


@pytest.mark.slow
@pytest.mark.parametrize("clip", [True, False])
def test_copies_of_exponential_records_are_predicted_within_their_bounds(clip):
    """New sums of records that are moved to their bound, or refused, given rates of the posterior.

    Copies' mean times their rate is known: its law is that of a second release of such records.
    """
    n, size, family = 40, 60, bdp.families.Gamma((0.0, 2.0))
    made = bdp.mechanisms.ModipsSBSMechanism(family, size, (0.5,), n, clip=clip)
    with bdp.reproducible(1):
        release = bdp.Release.of(made, made.release((36.0 if clip else 28.0,)))
    model = bdp.models.GammaModel((20.0, 20.0))
    z = predicted(model, release, draws=1500).posterior_predictive["outputs"].to_numpy()[0, :, 0]
    rng, own = np.random.default_rng(5), []
    for rate in model.posterior(release).sample(1500, rng):
        x = rng.exponential(1 / rate, 400)
        x = np.minimum(x, 2.0)[:n] if clip else x[x <= 2.0][:n]
        own.append(made.family.draw(np.array([x.sum() + rng.laplace(0, 0.5)]), made).mean())
    assert stats.ks_2samp(z.mean(axis=1), own).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_answers_and_tables():
    answers = bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 3, n=200)
    release = bdp.Release.of(answers, [tuple([0] * 120 + [1] * 50 + [2] * 30)])
    model = bdp.MultinomialModel(prior=(1, 1, 1))
    made = predicted(model, release, draws=1500)
    z = made.posterior_predictive["outputs"].to_numpy()
    share = (z[0, :, 0] == 0).mean(axis=1)
    theta = made.posterior["theta"].to_numpy().reshape(-1, 3)
    mean = (theta @ answers.matrix[:, 0]).mean()
    # As if a tenth of the draws were independent, which chains here exceed.
    assert abs(share.mean() - mean) < 5 * share.std() / np.sqrt(share.size / 10)
    table = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, bdp.Neighbours.REPLACE_ONE, n=20),
        [(9, 7, 5), (10, 3, 8)],
    )
    outputs = predicted(model, table, draws=50).posterior_predictive["outputs"]
    assert outputs.shape == (1, 50, 2, 3)
    assert outputs.dtype.kind == "i"


def check_means(z, expected):
    """Of each column; as if a tenth of the draws were independent, which chains here exceed."""
    error = z.std(axis=0) / np.sqrt(len(z) / 10)
    assert np.all(np.abs(z.mean(axis=0) - expected) < 5 * error)


@pytest.mark.slow
def test_events_by_area():
    mechanism = bdp.mechanisms.PoissonGammaMechanism(None, (20.0, 5.0), (9.0, 4.0), None)
    release = bdp.Release.of(mechanism, [(11, 4), (14, 9)])
    made = predicted(bdp.models.PoissonModel(), release, draws=2000)
    z = made.posterior_predictive["outputs"].to_numpy()[0]
    assert z.shape == (2000, 2, 2)
    # A copy's own rate is Gamma(a + x, a / e + 1), and x has mean e times the area's rate.
    e, a = np.array([20.0, 5.0]), np.array([9.0, 4.0])
    rate = made.posterior["rate"].to_numpy().mean(axis=(0, 1))
    check_means(z[:, 0], (a + e * rate) / (a / e + 1))
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, bdp.Neighbours.REPLACE_ONE, n=20)
    made = predicted(bdp.models.PoissonModel(), bdp.Release.of(noise, [(9, 7, 5)]), draws=2000)
    z = made.posterior_predictive["outputs"].to_numpy()[0, :, 0]
    rates = made.posterior["rate"].to_numpy().reshape(-1, 3)
    check_means(z, 20 * (rates / rates.sum(axis=1, keepdims=True)).mean(axis=0))


@pytest.mark.slow
def test_groups_of_one_population():
    mechanism = bdp.mechanisms.BetaBinomialMechanism(12, 12, (5.0, 5.0))
    release = bdp.Release.of_groups({"a": (mechanism, [3, 4]), "b": (mechanism, [10, 9])})
    made = predicted(bdp.models.HierarchicalBinomialModel(), release, draws=2000)
    z = made.posterior_predictive["outputs"].to_numpy()[0]
    p = made.posterior["p"].to_numpy().mean(axis=(0, 1))
    check_means(z[:, 0], 12 * (5 + 12 * p) / 22)
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, neighbours="replace_one", n=20)
    release = bdp.Release.of_groups({"a": (noise, [1.25]), "b": (noise, [-0.5])})
    model = bdp.models.HierarchicalGaussianModel((0.0, 2.0), spread=1.0, sd=1.0)
    made = predicted(model, release, draws=2000)
    z = made.posterior_predictive["outputs"].to_numpy()[0, :, 0]
    check_means(z, made.posterior["mu"].to_numpy().mean(axis=(0, 1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.parametrize("n", [None, 28])
def test_tables_of_a_log_linear_model(n):
    axes = tuple(Axis(name, categories=("x", "y")) for name in "ab")
    relation = bdp.Neighbours.ADD_REMOVE if n is None else bdp.Neighbours.REPLACE_ONE
    made = bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, relation, n, axes)
    release = bdp.Release.of(made, [(9, 7, 5, 8), (10, 3, 8, 9)])
    found = predicted(bdp.models.LogLinearModel("a + b"), release, draws=2000)
    z = found.posterior_predictive["outputs"].to_numpy()[0, :, 0]
    assert found.posterior_predictive["outputs"].shape == (1, 2000, 2, 4)
    p = found.posterior["probability"].to_numpy().mean(axis=(0, 1))
    total = z.sum(axis=1).mean()
    check_means(z, total * p)
    assert abs(total - 29) < 6


def test_arviz_compares_them_with_what_was_released(grouped_release):
    model = bdp.BinomialModel()
    made = predicted(model, grouped_release, draws=200)
    assert made.posterior_predictive["outputs"].dims[2:] == made.observed_data["outputs"].dims
    axes = az.plot_ppc(made, num_pp_samples=20, random_seed=1)
    assert axes is not None
    again = predicted(model, grouped_release, draws=200)
    assert made.posterior_predictive.equals(again.posterior_predictive)


def test_refusals(charest_release, grouped_release):
    model = bdp.BinomialModel()
    idata = model.fit(charest_release, draws=10, seed=1)
    with pytest.raises(bdp.errors.InvalidInput, match="given this release"):
        bdp.posterior_predictive(model, idata, grouped_release)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't this model's"):
        bdp.posterior_predictive(bdp.GaussianModel(sd=1), idata, charest_release)
    with pytest.raises(bdp.errors.InvalidInput, match="there are beta, beta_regression, binomial"):
        bdp.posterior_predictive(bdp.models.ERGMModel("edges"), idata, charest_release)
    with pytest.raises(bdp.errors.InvalidInput, match="draws is 0"):
        bdp.posterior_predictive(model, idata, charest_release, draws=0)
    with pytest.raises(bdp.errors.InvalidInput, match="release is an InferenceData"):
        bdp.posterior_predictive(model, charest_release, idata)
    hidden = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(None, 10, (4.0, 4.0)), [3])
    prior = bdp.BinomialModel(n=range(5, 20))
    with pytest.raises(bdp.errors.InvalidInput, match="n is confidential"):
        bdp.posterior_predictive(prior, prior.fit(hidden, draws=10), hidden)
