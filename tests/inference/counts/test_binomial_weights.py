"""A proportion from noisy weighted counts: against all that the records may be; calibration."""

import itertools
import json

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
WEIGHTS = {0.75: 4, 2.0: 3, 1.5: 2}
PRIOR = (0.7, 1.6)


def noisy(outputs, law=bdp.mechanisms.LaplaceMechanism, scale=1.3, largest=2.0, **parameters):
    made = law(scale, largest, REPLACE, **{"n": 9, **parameters})
    return bdp.Release.of(made, outputs, delta=1e-6)


def by_records(releases, weights=WEIGHTS):
    """log Pr[outputs], and the mean and variance of p, by listing the records' answers."""
    w = np.repeat(list(weights), list(weights.values()))
    y = np.array(list(itertools.product([0, 1], repeat=len(w))))
    x, n, (a, b) = y.sum(axis=1), len(w), PRIOR
    log_p = special.betaln(a + x, b + n - x) - special.betaln(a, b)
    for release in releases:
        for z in release.outputs:
            log_p = log_p + release.mechanism.logp(np.array(z), y @ w)
    shares, mean = special.softmax(log_p), (a + x) / (a + b + n)
    second = shares @ (mean * (a + x + 1) / (a + b + n + 1))
    return special.logsumexp(log_p), shares @ mean, second - (shares @ mean) ** 2


RELEASES = {
    "one": [noisy([6.25])],
    "copies": [noisy([6.25, 9.5])],
    "n not in the release": [noisy([6.25], n=None)],
    "several": [noisy([6.25]), noisy([4.0, 3.5], bdp.mechanisms.GaussianMechanism, 2.0)],
    "bounded": [noisy([0.0, 14.0], bounds=(0.0, 14.0), bounding="inflated")],
    "truncated": [noisy([1.0, 13.5], bounds=(-1.0, 14.0), bounding="truncated")],
}


@pytest.mark.parametrize("name", RELEASES)
def test_it_is_the_sum_over_all_records(name):
    releases, model = RELEASES[name], bdp.BinomialModel(PRIOR, weights=WEIGHTS)
    log_evidence, mean, variance = by_records(releases)
    assert model.log_evidence(releases) == pytest.approx(log_evidence, abs=1e-11)
    posterior = model.posterior(releases)
    assert posterior.mean() == pytest.approx(mean, abs=1e-12)
    assert posterior.sd() == pytest.approx(np.sqrt(variance), abs=1e-12)
    assert bdp.log_evidence(model, releases).log_value == model.log_evidence(releases)


def test_whole_weights_and_whole_noise():
    releases, weights = (
        [noisy([7], bdp.mechanisms.DiscreteLaplaceMechanism, largest=3.0)],
        {1: 6, 3: 3},
    )
    model = bdp.BinomialModel(PRIOR, weights=weights)
    log_evidence, mean, _ = by_records(releases, weights)
    assert model.log_evidence(releases) == pytest.approx(log_evidence, abs=1e-11)
    assert model.posterior(releases).mean() == pytest.approx(mean, abs=1e-12)


def test_evidences_of_all_outputs_sum_to_one():
    made = bdp.mechanisms.DiscreteLaplaceMechanism(
        1.3, 2.0, REPLACE, n=9, bounds=(0, 12), bounding="inflated"
    )
    model = bdp.BinomialModel(PRIOR, weights={1: 6, 2: 3})
    each = [model.log_evidence(bdp.Release.of(made, [z])) for z in range(13)]
    assert special.logsumexp(each) == pytest.approx(0.0, abs=1e-11)


def test_weights_of_one_are_a_noisy_count():
    release = noisy([7, 4], bdp.mechanisms.DiscreteGaussianMechanism, largest=1.0, n=50)
    model, x = bdp.BinomialModel(PRIOR, weights={1.0: 50}), np.arange(51)
    log_p = stats.betabinom.logpmf(x, 50, *PRIOR)
    log_p = log_p + release.mechanism.logp(np.array([[7], [4]]), x).sum(axis=0)
    assert model.log_evidence(release) == pytest.approx(special.logsumexp(log_p), abs=1e-10)
    mean = special.softmax(log_p) @ (PRIOR[0] + x) / (sum(PRIOR) + 50)
    assert model.posterior(release).mean() == pytest.approx(mean, abs=1e-12)


def test_the_naive_posterior_takes_the_share_for_the_records():
    found = bdp.BinomialModel(PRIOR, weights=WEIGHTS).naive_posterior(noisy([6.0, 6.5]))
    share = 6.25 / 12
    assert found.mean() == pytest.approx((PRIOR[0] + 9 * share) / (sum(PRIOR) + 9))


def test_groups_have_weights_of_their_own():
    made = {n: bdp.mechanisms.LaplaceMechanism(1.3, 2.0, REPLACE, n=n) for n in (9, 5)}
    release = bdp.Release.of_groups({"a": (made[9], [6.25]), "b": (made[5], [3.0])})
    model = bdp.BinomialModel(PRIOR, weights={"a": WEIGHTS, "b": {1.0: 5}})
    expected = [by_records([noisy([6.25])])[1], by_records([noisy([3.0], n=5)], {1.0: 5})[1]]
    idata = model.fit(release, draws=5000, seed=1)
    p = idata.posterior["p"].to_numpy().reshape(-1, 2)
    assert np.all(np.abs(p.mean(axis=0) - expected) < 5 * p.std(axis=0) / np.sqrt(len(p)))
    assert "0.75" in idata.attrs["weights"]
    assert tuple(json.loads(idata.attrs["prior"])) == PRIOR
    with pytest.raises(bdp.errors.InvalidInput, match=r"groups \['a'\], but the release has 'b'"):
        bdp.BinomialModel(weights={"a": WEIGHTS}).fit(release)


def test_it_is_calibrated():
    """The exact cdf at the truth is uniform; false alarm 1e-6."""
    rng, weights = np.random.default_rng(3), {1.0: 30, 2.5: 12, 4.0: 6}
    model, pit = bdp.BinomialModel(PRIOR, weights=weights), []
    made = bdp.mechanisms.LaplaceMechanism(6.0, 4.0, REPLACE, n=48)
    with bdp.reproducible(4):
        for _ in range(400):
            p = rng.beta(*PRIOR)
            total = sum(w * rng.binomial(k, p) for w, k in weights.items())
            pit.append(model.posterior(bdp.publish(made, total)).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue > 1e-6


def test_nuts_samples_the_same_and_outputs_are_predicted():
    model, release = bdp.BinomialModel(PRIOR, weights=WEIGHTS), noisy([6.25])
    at = {"p_logodds__": 0.3}
    p = special.expit(0.3)
    found = float(model.pymc_model(release).compile_logp()(at))
    a, b = PRIOR
    density = stats.beta.logpdf(p, a, b) + np.log(p * (1 - p))
    cells = model.cells(release)[0]
    likelihood = special.logsumexp(cells.log_law + stats.binom.logpmf(cells.successes, 9, p))
    assert found == pytest.approx(density + likelihood, abs=1e-8)
    idata = model.fit(release, draws=100, seed=1)
    outputs = bdp.posterior_predictive(model, idata, release, draws=50, seed=2)
    assert outputs.posterior_predictive["outputs"].shape == (1, 50, 1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "weights is"),
        ([1.0, 2.0], "weights is"),
        ({0.0: 3}, "positive and finite"),
        ({np.inf: 3}, "positive and finite"),
        ({"a": 3}, "positive and finite"),
        ({1.0: 0}, r"weights\[1.0\] is 0"),
        ({1.0: 2.5}, r"weights\[1.0\] is 2.5"),
        ({"a": {1.0: 0}}, r"weights\['a'\]\[1.0\] is 0"),
        ({1.0: 2000, 2.0: 2000}, "4,004,001 vectors"),
    ],
)
def test_bad_weights_are_named(weights, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.BinomialModel(weights=weights)


def test_releases_that_weights_do_not_fit_are_refused():
    model = bdp.BinomialModel(PRIOR, weights=WEIGHTS)
    for release, message in (
        (noisy([6.25], largest=1.5), "sensitivity is 1.5"),
        (noisy([6.25], n=10), "of 9 records, but the release says n = 10"),
        (noisy([6], bdp.mechanisms.DiscreteLaplaceMechanism), "weights aren't whole"),
        (noisy([6.0], bounds=(0.0, 9.0), bounding="truncated"), "keeps the number within"),
        (
            bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(9, 9, (3.0, 3.0)), [4]),
            "has weights",
        ),
        (noisy([(6.25, 1.0)], dimension=2), "takes one number"),
        ([noisy([6.25], n=9), noisy([6.25], n=8)], "n = 8 and n = 9"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            model.fit(release)
    for outside in (-0.5, 14.5):
        with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
            model.fit_naive(noisy([outside]))
    with pytest.raises(bdp.errors.InvalidInput, match="has no weights"):
        model.fit(noisy([6.25]), engine="augmentation")
    with pytest.raises(bdp.errors.InvalidInput, match="n is given"):
        bdp.BinomialModel(n=range(5, 9), weights=WEIGHTS)


NOISES = {
    "laplace": bdp.mechanisms.LaplaceMechanism(1.3, 1.0, REPLACE, n=12),
    "whole": bdp.mechanisms.DiscreteGaussianMechanism(2.0, 1.0, REPLACE, n=12),
    "truncated": bdp.mechanisms.DiscreteLaplaceMechanism(
        2.0, 1.0, REPLACE, n=12, bounds=(0, 12), bounding="truncated"
    ),
}


@pytest.mark.parametrize("kind", NOISES)
def test_a_noisy_count_is_one_of_records_of_weight_one(kind):
    release = bdp.Release.of(NOISES[kind], [4, 7], delta=1e-6)
    plain, weighted = bdp.BinomialModel(PRIOR), bdp.BinomialModel(PRIOR, weights={1.0: 12})
    assert plain.log_evidence(release) == pytest.approx(weighted.log_evidence(release), abs=1e-11)
    assert plain.posterior(release).mean() == pytest.approx(weighted.posterior(release).mean())
    assert plain.naive_posterior(release) == weighted.naive_posterior(release)
    synthetic = bdp.mechanisms.BetaBinomialMechanism(12, 12, (5.0, 5.0))
    both = [release, bdp.Release.of(synthetic, [3])]
    x = np.arange(13)
    log_p = stats.betabinom.logpmf(x, 12, *PRIOR) + synthetic.logp(3, bdp.Count(x, 12))
    log_p = log_p + sum(NOISES[kind].logp(z, x) for z in (4, 7))
    assert plain.log_evidence(both) == pytest.approx(special.logsumexp(log_p), abs=1e-11)


def test_a_noisy_count_of_an_unknown_number():
    made = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0)
    release = bdp.Release.of(made, [6])
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        bdp.BinomialModel(PRIOR).posterior(release)
    known = bdp.BinomialModel(PRIOR, n=9)
    weighted = bdp.BinomialModel(PRIOR, weights={1.0: 9})
    assert known.posterior(release).mean() == pytest.approx(weighted.posterior(release).mean())
    log_p, means = [], []
    for n in range(5, 9):
        x = np.arange(n + 1)
        log_p.append(stats.betabinom.logpmf(x, n, *PRIOR) + made.logp(6, x) - np.log(4))
        means.append((PRIOR[0] + x) / (sum(PRIOR) + n))
    model, shares = bdp.BinomialModel(PRIOR, n=range(5, 9)), np.exp(np.concatenate(log_p))
    mean = shares @ np.concatenate(means) / shares.sum()
    assert model.posterior(release).mean() == pytest.approx(mean, abs=1e-12)
    with pytest.raises(bdp.errors.InvalidInput, match="there is no naive posterior"):
        model.naive_posterior(release)
    with pytest.raises(bdp.errors.InvalidInput, match="which reads no noisy counts"):
        known.fit(release, engine="augmentation")
    mean_of_more = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(0.1, 0.01, REPLACE, n=9), [0.5])
    with pytest.raises(bdp.errors.InvalidInput, match=r"sensitivity is 0\.01"):
        bdp.BinomialModel(PRIOR).posterior(mean_of_more)


def test_noisy_counts_are_pooled():
    made = NOISES["whole"]
    release = bdp.Release.of_groups({"a": (made, [3]), "b": (made, [11])}, delta=1e-6)
    idata = bdp.models.HierarchicalBinomialModel().fit(release, draws=500, seed=1)
    alone = [bdp.BinomialModel().posterior(release[g]).mean() for g in "ab"]
    pooled = idata.posterior["p"].mean(("chain", "draw")).to_numpy()
    assert alone[0] < pooled[0] < pooled[1] < alone[1]
    checked = bdp.posterior_predictive(
        bdp.models.HierarchicalBinomialModel(), idata, release, draws=20
    )
    assert checked.posterior_predictive["outputs"].shape == (1, 20, 1, 2)
