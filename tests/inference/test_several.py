"""Several releases of the same records in one posterior."""

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp

N, SD = 40, 2.0


def noisy(outputs, scale=0.7, law=bdp.mechanisms.LaplaceMechanism, n=N):
    mechanism = law(scale, 0.1, neighbours="replace_one", n=n)
    return bdp.Release.of(mechanism, outputs=outputs, delta=1e-6)


@pytest.fixture(scope="module")
def copies():
    x = np.random.default_rng(3).normal(1.0, SD, size=N)
    family = bdp.families.Gaussian(bounds=(-9, 11), sd=SD)
    with bdp.reproducible(4):
        return bdp.ModipsSynthesizer(family=family, epsilon=2.0, copies=2).release(x)


def test_laws_of_a_mean_multiply(copies):
    """Noise of two kinds and modips copies: against Bayes' rule on a fine grid of means."""
    releases = [noisy([1.5, 0.25]), noisy([0.75], 0.4, bdp.mechanisms.GaussianMechanism), copies]
    model = bdp.GaussianModel(prior=(0, 3), sd=SD)
    s = np.linspace(-4, 6, 20001)
    law = stats.norm.logpdf(s, 0, np.hypot(3, SD / np.sqrt(N)))
    for release in releases[:2]:
        law = law + release.mechanism.logp(np.array(release.outputs)[:, None], s).sum(axis=0)
    # What the copies say of the mean is their own posterior over their prior, at a flat prior.
    alone = bdp.GaussianModel(prior=(0, 3), sd=SD)
    weights = np.exp(law - law.max())
    two = float(weights @ s / weights.sum())
    slope = 9 / (9 + SD**2 / N)
    assert alone.posterior(releases[:2]).mean() == pytest.approx(slope * two, abs=2e-6)
    together = model.posterior(releases)
    assert together.sd() < min(model.posterior(one).sd() for one in releases)
    for order in (releases[::-1], [releases[1], releases[2], releases[0]]):
        assert model.posterior(order).mean() == pytest.approx(together.mean(), abs=1e-9)


def test_the_same_outputs_as_copies_or_as_releases():
    """Two copies of one mechanism are two releases of it, in every number."""
    model = bdp.GaussianModel(prior=(0, 3), sd=SD)
    one, two = noisy([1.5, 0.25]), [noisy([1.5]), noisy([0.25])]
    # Their pieces of quadrature differ.
    assert model.log_evidence(two) == pytest.approx(model.log_evidence(one), abs=1e-7)
    assert model.posterior(two).interval(0.9) == pytest.approx(model.posterior(one).interval(0.9))
    pair = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, neighbours="replace_one", n=N, dimension=2)
    whole = bdp.Release.of(pair, outputs=[(1.5, 4.0), (0.25, 3.5)])
    each = [bdp.Release.of(pair, outputs=[z]) for z in whole.outputs]
    model = bdp.GaussianModel(prior=(0, 0.1, 2, 4))
    assert model.log_evidence(each) == pytest.approx(model.log_evidence(whole), abs=1e-7)
    assert model.posterior(each).mean() == pytest.approx(model.posterior(whole).mean())


def test_a_fit_observes_them_all(copies):
    releases = [noisy([1.5, 0.25]), copies]
    idata = bdp.GaussianModel(prior=(0, 3), sd=SD).fit(releases, draws=50, seed=1)
    assert idata.observed_data["outputs"].dims == ("copy",)
    assert idata.observed_data["outputs_2"].shape == (2, N)
    assert idata.constant_data["mechanism_scale"] == 0.7
    assert idata.constant_data["mechanism_2_n"] == N
    assert idata.attrs["release"].split() == [release.fingerprint for release in releases]
    assert float(idata.attrs["expected_share_outside_bounds"]) < 0.01


def test_one_release_tells_the_size_of_another():
    hidden = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(0.7, 0.1), outputs=[1.5])
    model = bdp.GaussianModel(prior=(0, 3), sd=SD)
    known = bdp.GaussianModel(prior=(0, 3), sd=SD, n=N)
    both = model.posterior([hidden, noisy([0.25])])
    assert both.mean() == known.posterior([hidden, noisy([0.25])]).mean()


def test_what_does_not_belong_together_is_refused(grouped_release):
    model = bdp.GaussianModel(prior=(0, 3), sd=SD)
    one = noisy([1.5])
    with pytest.raises(bdp.errors.InvalidInput, match="n = 40 and n = 41"):
        model.posterior([one, noisy([1.5], n=41)])
    with pytest.raises(bdp.errors.InvalidInput, match="have the groups"):
        model.fit([one, grouped_release])
    with pytest.raises(bdp.errors.InvalidInput, match="release is a list"):
        model.fit([])
    with pytest.raises(bdp.errors.InvalidInput, match="release is a float"):
        model.fit(1.5)
    with pytest.raises(bdp.errors.InvalidInput, match="one release at a time"):
        model.fit([one, one], engine="pymc")
    sums = bdp.mechanisms.LaplaceMechanism(
        5.0, 0.1, neighbours="replace_one", n=N, dimension=2, bounds=(-90.0, 900.0),
        bounding="truncated",
    )  # fmt: skip
    squares = bdp.Release.of(sums, outputs=[(40.0, 300.0)])
    with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.observe"):
        bdp.GaussianModel(prior=(0, 0.1, 2, 4), statistic="sum").posterior([squares, squares])


def test_releases_that_contradict_each_other_have_their_exact_posterior():
    """Between their outputs the law has one slope, which tilts the normal prior."""
    far = bdp.Release.of(
        bdp.mechanisms.LaplaceMechanism(0.1, 0.1, neighbours="replace_one", n=N), outputs=[500.0]
    )
    posterior = bdp.GaussianModel(prior=(0, 3), sd=SD).posterior([noisy([1.5]), far])
    assert posterior.mean() == pytest.approx((1 / 0.1 - 1 / 0.7) * 3**2, rel=1e-6)
    assert posterior.sd() == pytest.approx(3.0, rel=1e-5)


def test_evidence_is_that_of_the_product():
    """By quadrature over mu and the mean of the records."""
    releases = [noisy([1.5]), noisy([0.75], 0.4)]
    s = np.linspace(-30, 30, 400_001)
    law = stats.norm.logpdf(s, 0, np.hypot(3, SD / np.sqrt(N)))
    for release in releases:
        law = law + release.mechanism.logp(np.array(release.outputs)[:, None], s).sum(axis=0)
    expected = special.logsumexp(law) + np.log(s[1] - s[0])
    found = bdp.GaussianModel(prior=(0, 3), sd=SD).log_evidence(releases)
    assert found == pytest.approx(expected, abs=1e-5)


COUNTED = bdp.mechanisms.BetaBinomialMechanism(30, 30, (6.0, 6.0))


@pytest.mark.slow
def test_laws_of_a_count_multiply():
    """Of two mechanisms, one of which doesn't say n: against the sum over all counts."""
    hidden = bdp.mechanisms.BetaBinomialMechanism(None, 12, (4.0, 4.0))
    releases = [bdp.Release.of(COUNTED, [11, 17]), bdp.Release.of(hidden, [7])]
    x = np.arange(31)
    law = sum(
        release.mechanism.logp(np.array(release.outputs)[:, None], bdp.Count(x, 30)).sum(axis=0)
        for release in releases
    )
    weights = law + stats.betabinom.logpmf(x, 30, 2.0, 3.0)
    model = bdp.BinomialModel(prior=(2.0, 3.0))
    assert model.log_evidence(releases) == pytest.approx(special.logsumexp(weights), abs=1e-10)
    shares = special.softmax(weights)
    assert model.posterior(releases).mean() == pytest.approx(shares @ (2 + x) / 35, abs=1e-12)
    idata = model.fit(releases, draws=50, seed=1)
    assert idata.observed_data["outputs_2"].to_numpy().tolist() == [7]
    with pytest.raises(bdp.errors.InvalidInput, match="one release at a time"):
        model.fit(releases, engine="augmentation")
    potential = model.pymc_model(releases).compile_logp()
    alone = model.pymc_model(releases[0]).compile_logp()
    point = model.pymc_model(releases).initial_point()
    assert potential(point) != alone(point)


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_groups_of_counts_too():
    one = bdp.Release.of_groups({"a": (COUNTED, [11, 17]), "b": (COUNTED, [20, 25])})
    two = [
        bdp.Release.of_groups({"a": (COUNTED, [11]), "b": (COUNTED, [20])}),
        bdp.Release.of_groups({"a": (COUNTED, [17]), "b": (COUNTED, [25])}),
    ]
    model = bdp.models.HierarchicalBinomialModel()
    together, whole = (model.fit(r, draws=50, seed=1).posterior["p"] for r in (two, one))
    assert np.allclose(together, whole, atol=1e-6)
    assert bdp.BinomialModel().log_evidence(two) == pytest.approx(
        bdp.BinomialModel().log_evidence(one), abs=1e-9
    )
