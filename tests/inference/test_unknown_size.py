"""A number of records that the analyst doesn't know: priors of n, summed out by few numbers."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.inference.several import parts_alone
from bayesdp.inference.unknown_size import Impossible, over_sizes

GaussianModel, GammaModel = bdp.GaussianModel, bdp.models.GammaModel
Noise = bdp.mechanisms.LaplaceMechanism


def exactly(number):
    kinds = bdp.distributional
    promise = kinds.DistributionalGuarantee(0.5, 1e-6, "any", kinds.LawClass.of("any"))
    return bdp.Release.of(kinds.ExactStatisticMechanism(promise), [number])


def noisy(*numbers, scale=5.0):
    mechanism = Noise(scale, scale, dimension=None if len(numbers) == 1 else len(numbers))
    steps = [round(number / mechanism.granularity) * mechanism.granularity for number in numbers]
    return bdp.Release.of(mechanism, [steps[0] if len(steps) == 1 else tuple(steps)])


def summed(made, release, sizes):
    """Log evidence, means and sds by a sum over all numbers of records."""
    each = [made(n)._posterior_of(parts_alone(release)) for n, _ in sizes]
    logs = np.array([one.log_evidence for one in each]) + np.log([weight for _, weight in sizes])
    total = special.logsumexp(logs)
    weights = np.exp(logs - total)
    means = np.array([np.atleast_1d(one.mixture.mean()) for one in each])
    sds = np.array([np.atleast_1d(one.mixture.sd()) for one in each])
    mean = weights @ means
    return total, mean, np.sqrt(weights @ (sds**2 + (means - mean) ** 2))


PRIOR = (0.0, 0.01, 2.0, 1.0)
CASES = {
    "sum": (lambda n: GaussianModel((0, 10), 1.0, "sum", n=n), noisy(490.0), range(500, 1501)),
    "flat": (lambda n: GaussianModel(sd=1.0, statistic="sum", n=n), noisy(490.0), range(500, 901)),
    "evidence with a peak": (
        lambda n: GaussianModel((0.5, 0.05), 1.0, "sum", n=n),
        noisy(490.0),
        range(100, 3001),
    ),
    "widths that differ": (
        lambda n: GaussianModel((0, 10), 1.0, n=n),
        noisy(0.5, scale=0.01),
        range(1, 2000),
    ),
    "pair": (
        lambda n: GaussianModel(PRIOR, None, "sum", n=n),
        noisy(490.0, 1240.0),
        range(800, 1000),
    ),
    "gamma": (lambda n: GammaModel((1.0, 1.0), n=n), noisy(980.0), range(300, 1001)),
    "exact sum": (
        lambda n: GaussianModel((0, 10), 1.0, "sum", n=n),
        exactly(12.0),
        range(20, 80),
    ),
    "exact mean": (
        lambda n: GammaModel((3.0, 2.0), statistic="mean", n=n),
        exactly(1.5),
        range(5, 60),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_few_numbers_are_as_good_as_all(case):
    made, release, n = case
    found = made(n)._posterior_of(parts_alone(release))
    total, mean, sd = summed(made, release, [(each, 1 / len(n)) for each in n])
    assert found.log_evidence == pytest.approx(total, abs=1e-3)
    assert np.max(np.abs(found.mixture.mean() - mean) / sd) < 1e-3
    assert found.mixture.sd() == pytest.approx(sd if sd.size > 1 else sd[0], rel=1.5e-3)


def test_a_prior_of_any_shape():
    release = noisy(490.0)
    for probabilities in (
        stats.binom.pmf(np.arange(2001), 2000, 0.5),
        np.bincount([700, 1000, 1500], [0.2, 0.5, 0.3]),
    ):
        n = probabilities / probabilities.sum()
        sizes = [(int(k), n[k]) for k in np.flatnonzero(n)]

        def made(n):
            return GaussianModel((0.2, 0.05), 1.0, "sum", n=n)

        found = made(n)._posterior_of(parts_alone(release))
        total, mean, sd = summed(made, release, sizes)
        assert found.log_evidence == pytest.approx(total, abs=1e-3)
        assert found.mixture.mean() == pytest.approx(mean[0], abs=1e-3 * sd[0])
        assert found.mixture.sd() == pytest.approx(sd[0], rel=1e-3)


def test_a_noisy_sum_by_brute_force():
    sd, scale, z = 0.7, 2.0, 9.0
    model = GaussianModel((0.4, 0.3), sd, "sum", n=range(5, 41))
    posterior = model.posterior(noisy(z, scale=scale))
    mu, sums = np.linspace(-1.5, 2.5, 401), np.linspace(-40, 60, 4001)
    law = np.zeros(mu.size)
    for n in range(5, 41):
        given = stats.norm.pdf(sums, n * mu[:, None], sd * math.sqrt(n))
        law += given @ stats.laplace.pdf(z, sums, scale) * (sums[1] - sums[0])
    law *= stats.norm.pdf(mu, 0.4, 0.3)
    law /= law.sum() * (mu[1] - mu[0])
    np.testing.assert_allclose(posterior.pdf(mu), law, atol=2e-3 * law.max())


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_copies_with_a_confidential_n(family):
    if family == "gaussian":
        records = bdp.families.Gaussian((-4, 4), sd=1.0)

        def made(n):
            return GaussianModel((0.0, 2.0), 1.0, n=n)
    else:
        records = bdp.families.Gamma((0, 4))

        def made(n):
            return GammaModel((1.0, 1.0), n=n)

    synthesizer = bdp.ModipsSynthesizer(
        family=records, epsilon=4.0, copies=2, public_n=False, size=8
    )
    with bdp.reproducible(2):
        release = synthesizer.release(np.full(12, 0.8))
    found = made(range(10, 15))._posterior_of(parts_alone(release))
    total, mean, sd = summed(made, release, [(n, 1 / 5) for n in range(10, 15)])
    assert found.log_evidence == pytest.approx(total, abs=1e-6)
    assert found.mixture.mean() == pytest.approx(mean[0], abs=1e-6)
    assert found.mixture.sd() == pytest.approx(sd[0], rel=1e-6)
    fit = made(range(10, 15)).fit(release, draws=100, chains=2, seed=1)
    assert fit.posterior.sizes["draw"] == 100
    assert made(range(10, 15)).naive_posterior(release).mean() > 0


def test_the_right_number_of_records_and_mean_together():
    rng = np.random.default_rng(19)
    ranks = []
    for _ in range(150):
        n, mu = rng.integers(50, 151), rng.normal(1.0, 0.4)
        z = rng.normal(n * mu, math.sqrt(n)) + rng.laplace(scale=5.0)
        posterior = GaussianModel((1.0, 0.4), 1.0, "sum", n=range(50, 151)).posterior(noisy(z))
        ranks.append(float(posterior.cdf(mu)))
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3
    wrong = []
    for _ in range(150):  # as if n were known, which the check tells apart
        n, mu = rng.integers(50, 151), rng.normal(1.0, 0.4)
        z = rng.normal(n * mu, math.sqrt(n)) + rng.laplace(scale=5.0)
        wrong.append(
            float(GaussianModel((1.0, 0.4), 1.0, "sum", n=100).posterior(noisy(z)).cdf(mu))
        )
    assert stats.kstest(wrong, "uniform").pvalue < 1e-3


def test_few_numbers_are_looked_at():
    looked = []
    model = GaussianModel((0, 10), 1.0, "sum")

    def given(n):
        looked.append(n)
        return model._posterior_given(parts_alone(noisy(490.0)), n)

    over_sizes([(n, 1e-4) for n in range(1000, 11_000)], given)
    assert len(looked) == len(set(looked)) < 150


def test_numbers_that_the_outputs_rule_out_have_no_weight():
    # Of records within (0, 4), 30 in all are no fewer than 8.
    release = exactly(30.0)
    model = GammaModel((2.0, 2.0), bounds=(0, 4), n=range(1, 41))
    fewer = GammaModel((2.0, 2.0), bounds=(0, 4), n=range(8, 41))
    found, expected = model.posterior(release), fewer.posterior(release)
    assert found.mean() == pytest.approx(expected.mean(), rel=1e-3)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't that of records within the bounds"):
        GammaModel((2.0, 2.0), bounds=(0, 4), n=range(1, 7)).posterior(release)

    def alone(n):
        if n != 777:
            raise Impossible("no")
        return model._posterior_given(parts_alone(release), 30)

    assert over_sizes([(n, 1e-3) for n in range(1, 1001)], alone).mixture.mean() > 0


def test_each_group_has_its_own_number():
    mechanism = Noise(5.0, 5.0)
    release = bdp.Release.of_groups(
        {"a": (mechanism, [40.0]), "b": (mechanism, [90.0])}, by="village"
    )
    model = GaussianModel((0, 10), 1.0, "sum", n=range(50, 101))
    fit = model.fit(release, draws=4000, chains=1, seed=3)
    for group, z in (("a", 40.0), ("b", 90.0)):
        alone = model.posterior(noisy(z))
        drawn = fit.posterior["mu"].sel(group=group).to_numpy()
        assert drawn.mean() == pytest.approx(alone.mean(), abs=5 * alone.sd() / math.sqrt(4000))
        assert drawn.std() == pytest.approx(alone.sd(), rel=0.08)


def test_a_program_takes_a_prior_where_the_sum_is_integrated_out():
    release, model = noisy(60.0), GammaModel((2.0, 2.0), n=range(40, 61))
    exact = model.posterior(release)
    fit = model.fit(release, engine="pymc", draws=1000, chains=2, seed=5)
    assert float(fit.posterior["rate"].mean()) == pytest.approx(exact.mean(), abs=0.15 * exact.sd())
    assert float(fit.posterior["rate"].std()) == pytest.approx(exact.sd(), rel=0.15)


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (range(10), "must be non-empty and start at 1 or more"),
        (range(5, 5), "must be non-empty and start at 1"),
        ([0.5, 0.5], r"n has probability 0.5 of being 0, but it must be 1 or more"),
        ([0.0, 0.4, 0.5], "with sum 1"),
        ("ten", "n must be a number, a range of sizes"),
        (2.5, "n is 2.5"),
    ],
)
def test_bad_priors_are_refused(n, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        GaussianModel(sd=1.0, n=n)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        GammaModel((1.0, 1.0), n=n)


def test_what_needs_one_number_says_so():
    with pytest.raises(bdp.errors.InvalidInput, match="start at 2 or more"):
        GaussianModel(PRIOR, n=range(1, 10))
    model = GaussianModel((0, 10), 1.0, "sum", n=range(500, 601))
    release = noisy(490.0)
    with pytest.raises(bdp.errors.InvalidInput, match="takes one number of records, but n has a"):
        model.fit(release, engine="pymc")
    with pytest.raises(bdp.errors.InvalidInput, match="there is no naive posterior"):
        model.fit_naive(release)
    with pytest.raises(bdp.errors.InvalidInput, match="there is no naive posterior"):
        GammaModel((1, 1), n=range(5, 9)).fit_naive(release)
    public = bdp.Release.of(Noise(5.0, 5.0, bdp.Neighbours.REPLACE_ONE, n=550), [490.0])
    with pytest.raises(bdp.errors.InvalidInput, match="the release says n = 550; leave n out"):
        model.fit(public)
    exact = bdp.Release.of(replace(exactly(0.1).mechanism, n=9), [0.1])
    with pytest.raises(bdp.errors.InvalidInput, match="n = 20, but the release says n = 9"):
        GaussianModel((0, 10), 1.0, n=20).posterior(exact)  # which took the model's, once
    fit = model.fit(release, draws=20, chains=1, seed=1)
    with pytest.raises(bdp.errors.InvalidInput, match="unless the model knows n"):
        bdp.posterior_predictive(model, fit, release)


@pytest.mark.parametrize(
    ("n", "told"),
    [
        (100, 100),
        (range(90, 111), {"least": 90, "most": 110, "mean": 100.0}),
        ([0.0] * 50 + [0.5, 0.25, 0.25], {"least": 50, "most": 52, "mean": 50.75}),
    ],
)
def test_a_fit_says_the_number_of_records_that_its_model_was_given(n, told):
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale=1.0, sensitivity=1)
    fit = bdp.BinomialModel(n=n).fit(bdp.Release.of(noise, outputs=[38]), draws=20, seed=1)
    assert json.loads(fit.attrs["n"]) == told
    assert "n" not in bdp.BinomialModel().fit(KNOWN, draws=20, seed=1).attrs


KNOWN = bdp.Release.of(
    bdp.mechanisms.BetaBinomialMechanism.calibrate(n=9, size=9, epsilon=1.0), [4]
)
