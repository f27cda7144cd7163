"""The posterior of category probabilities against enumeration of all latent counts."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.outputs.counts import all_counts
from tests.conftest import require_pystan

REPLACE = bdp.Neighbours.REPLACE_ONE
ALPHA = (0.7, 1.0, 2.5)
N = 12


def conjugate(method, n=N, prior=(2.0, 1.5, 3.0), size=9):
    size = size if method.startswith("synthetic") else None
    return bdp.mechanisms.ConjugateMechanism("categorical", method, n, prior, size=size)


def modips(bounding="inflated", noise="laplace", n=N, public=True):
    family = bdp.families.Categorical(3, (1.0, 0.5, 2.0))
    return bdp.mechanisms.ModipsSBSMechanism(
        family, 9, (1.2, 1.2, 2.0), n=n if public else None, noise=noise, bounding=bounding
    )


def around_a_cell(method, **grid):
    """Mechanism that chooses a cell for N records of three categories."""
    with bdp.reproducible(1):
        made = bdp.ModipsSynthesizer(
            family=bdp.families.Categorical(k=3), method=method, epsilon=9.0, size=9, **grid
        )
        return made.release([k % 3 for k in range(N)]).mechanism


def copied(n):
    return bdp.mechanisms.DirichletMultinomialMechanism(n, 9, 3, (2.0, 1.5, 3.0))


# A mechanism, two of its outputs, and what the model says of n.
RELEASES = {
    "copies": (copied(N), [(4, 0, 5), (2, 3, 4)], None),
    "copies, n unknown": (copied(None), [(4, 0, 5), (2, 3, 4)], range(9, 13)),
    "one draw": (conjugate("synthetic_one"), [(4, 0, 5), (2, 3, 4)], None),
    "many draws": (conjugate("synthetic_many"), [(4, 0, 5), (2, 3, 4)], None),
    "parameter": (conjugate("parameter_draw"), [(0.25, 0.25, 0.5), (0.5, 0.125, 0.375)], None),
    "mode": (conjugate("synthetic_map"), [(4, 0, 5), (2, 3, 4)], None),
    "modips": (modips(), [(4, 0, 5), (2, 3, 4)], None),
    "modips truncated": (modips("truncated", "gaussian"), [(4, 0, 5), (2, 3, 4)], None),
    "laplace": (
        bdp.mechanisms.DiscreteLaplaceMechanism(1.7, 2.0, REPLACE, 3, n=N),
        [(4, -2, 7), (6, 1, 3)],
        None,
    ),
    "gaussian, real": (
        bdp.mechanisms.GaussianMechanism(1.5, 1.5, REPLACE, 3, n=N, granularity=0.5),
        [(4.5, -2.0, 7.0), (6.0, 1.0, 3.5)],
        None,
    ),
    "truncated": (
        bdp.mechanisms.DiscreteGaussianMechanism(2.0, 2.0, REPLACE, 3, (0, N), "truncated", n=N),
        [(4, 0, 12), (6, 1, 3)],
        None,
    ),
    "histogram": (
        bdp.mechanisms.PerturbedHistogramMechanism(1.3, 3),
        [(5, 0, 6), (3, 2, 9)],
        range(8, 15),
    ),
    "events by area": (
        bdp.mechanisms.PoissonGammaMechanism(None, (3.0, 2.0, 6.0), 2.0, None),
        [(4, 0, 5), (2, 3, 4)],
        range(9, 13),
    ),
    "sdd": (around_a_cell("sdd"), [(4, 0, 5), (2, 3, 4)], None),
    "sphc": (around_a_cell("sphc", bins=4, samples=30), [(4, 0, 5), (2, 3, 4)], None),
    "modips, n unknown": (modips(public=False), [(4, 0, 5), (2, 3, 4)], range(9, 13)),
}


class BruteForce:
    """Every vector of counts, by the mechanism's law and the textbook's prior."""

    def __init__(self, mechanism, outputs, n, alpha=ALPHA):
        sizes = [(N, 1.0)] if n is None else [(size, 1 / len(n)) for size in n]
        rows, logs = [], []
        for size, probability in sizes:
            for x in all_counts(size, len(alpha)):
                law = sum(float(mechanism.logp(np.array(z), x)) for z in outputs)
                prior = stats.dirichlet_multinomial.logpmf(x, alpha, size)
                rows.append(x)
                logs.append(law + prior + np.log(probability))
        self.x, logs = np.array(rows), np.array(logs)
        self.log_evidence = special.logsumexp(logs)
        self.weights = np.exp(logs - self.log_evidence)
        total = sum(alpha) + self.x.sum(axis=1)
        p = (self.x + np.array(alpha)) / total[:, None]
        self.mean = self.weights @ p
        second = self.weights @ (p * (self.x + np.array(alpha) + 1) / (total + 1)[:, None])
        self.sd = np.sqrt(second - self.mean**2)

    def check_counts(self, drawn):
        """Chi-square of sampled vectors, false alarm 1e-6."""
        index = {tuple(x): i for i, x in enumerate(self.x.tolist())}
        seen = np.bincount([index[tuple(x)] for x in drawn.tolist()], minlength=len(self.x))
        expected = self.weights * len(drawn)
        big = expected > 5
        counts = [[*each[big], each[~big].sum()] for each in (seen, expected)]
        observed, expected = np.array(counts)[:, : len(counts[0]) - bool(big.all())]
        assert stats.chisquare(observed, expected, sum_check=False).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_exact_equals_enumeration(name):
    mechanism, outputs, n = RELEASES[name]
    release = bdp.Release.of(mechanism, outputs, delta=1e-3)
    model = bdp.MultinomialModel(ALPHA, n=n)
    truth = BruteForce(mechanism, outputs, n)
    assert model.log_evidence(release) == pytest.approx(truth.log_evidence, rel=1e-10)
    for i in range(3):
        one = model.posterior(release, i)
        assert one.mean() == pytest.approx(truth.mean[i], rel=1e-10)
        assert one.sd() == pytest.approx(truth.sd[i], rel=1e-9)
    drawn = model.counts(release).sample(40_000, np.random.default_rng(5))
    truth.check_counts(drawn)
    log_p = model.counts(release).log_probability(truth.x)
    assert np.exp(log_p) == pytest.approx(truth.weights, rel=1e-9, abs=1e-14)
    idata = model.fit(release, draws=20_000, seed=2)
    theta = idata.posterior["theta"].to_numpy().reshape(-1, 3)
    assert np.all(np.abs(theta.mean(axis=0) - truth.mean) < 5 * truth.sd / np.sqrt(len(theta)))
    assert theta.std(axis=0) == pytest.approx(truth.sd, rel=0.02)


def test_a_range_of_sizes_that_falls_is_the_range_that_rises():
    """Its last size was taken for the largest, so that likely counts were left out in silence."""
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3)
    release = bdp.Release.of(mechanism, [(80, 10, 5)])
    falling = bdp.MultinomialModel((1, 1, 1), n=range(100, 49, -1))
    rising = bdp.MultinomialModel((1, 1, 1), n=range(50, 101))
    assert falling.log_evidence(release) == rising.log_evidence(release)
    assert falling.posterior(release, 0).mean() == rising.posterior(release, 0).mean()


GIBBS = [name for name in RELEASES if name not in ("mode", "sdd", "sphc")]


@pytest.mark.slow
@pytest.mark.parametrize("name", GIBBS)
def test_gibbs_samples_the_same_counts(name):
    """Every 20th sweep is nearly independent of the last."""
    from bayesdp.engines.count_gibbs import sample_counts
    from bayesdp.inference.counts.multinomial_engines import _product

    mechanism, outputs, n = RELEASES[name]
    release = bdp.Release.of(mechanism, outputs, delta=1e-3)
    sizes = [(N, 1.0)] if n is None else [(size, 1 / len(n)) for size in n]
    base, mixture = _product(release.parts, ALPHA, sizes)
    tables = mixture.tables if mixture else ()
    drawn = sample_counts(base, tables, draws=200_000, chains=1, warmup=100, seed=3)[0, ::20]
    truth = BruteForce(mechanism, outputs, n)
    truth.check_counts(drawn)
    one, other = sample_counts(base, tables, draws=200, chains=2, warmup=100, seed=3)
    assert not np.array_equal(one, other)
    if mixture:
        joint = mixture.log_joint(truth.x)
        assert special.logsumexp(joint) == pytest.approx(truth.log_evidence, rel=1e-9)


def test_a_mode_has_no_gibbs_sampler():
    mechanism, outputs, _ = RELEASES["mode"]
    release = bdp.Release.of(mechanism, outputs, delta=1e-3)
    with pytest.raises(bdp.errors.InvalidInput, match="no law in products"):
        bdp.MultinomialModel(ALPHA).fit(release, engine="gibbs")


@pytest.mark.parametrize("n", [60, 3000])
def test_two_categories_agree_with_the_binomial_model(n):
    """Copies from one draw are beta-binomial, with the first category as ones."""
    m, prior = n // 2, (15.0, 20.0)
    categorical = bdp.mechanisms.ConjugateMechanism(
        "categorical", "synthetic_one", n, prior, size=m
    )
    binary = bdp.mechanisms.BetaBinomialMechanism(n=n, size=m, prior=prior)
    z = [m // 3, m // 4]
    many = bdp.MultinomialModel((0.5, 2.0)).posterior(
        bdp.Release.of(categorical, [(k, m - k) for k in z], delta=1e-3), 0
    )
    two = bdp.BinomialModel(prior=(0.5, 2.0)).posterior(bdp.Release.of(binary, z))
    assert many.mean() == pytest.approx(two.mean(), rel=1e-10)
    assert many.sd() == pytest.approx(two.sd(), rel=1e-10)
    q = np.array([1e-5, 0.025, 0.5, 0.975])
    assert many.quantile(q) == pytest.approx(two.quantile(q), rel=1e-8)


class TestRandomizedResponse:
    """Of three categories, one answer or two a record."""

    matrix = ((6, 1, 1), (2, 5, 1), (1, 1, 2))
    answers = ((0, 2, 1, 0, 2, 2, 0, 1), (0, 1, 1, 2, 2, 0, 0, 1))

    def truth(self, copies):
        """All 3^8 records, by the mechanism's law."""
        mechanism = bdp.mechanisms.RandomizedResponseMechanism(self.matrix, n=8)
        records = np.array(list(itertools.product(range(3), repeat=8)))
        law = sum(mechanism.logp(np.array(z), records) for z in self.answers[:copies])
        x = np.stack([(records == i).sum(axis=1) for i in range(3)], axis=1)
        a = np.array(ALPHA)
        log_prior = special.gammaln(x + a).sum(axis=1)  # of one ordered set of records
        weights = special.softmax(law + log_prior)
        p = (x + a) / (8 + a.sum())
        mean = weights @ p
        second = weights @ (p * (x + a + 1) / (9 + a.sum()))
        return mean, np.sqrt(second - mean**2)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("engine", "copies"),
        [("pymc", 2), ("gibbs", 1), ("gibbs", 2), pytest.param("stan", 2, marks=pytest.mark.slow)],
    )
    def test_engines_against_enumeration(self, engine, copies):
        import arviz as az

        if engine == "stan":
            require_pystan()
        mechanism = bdp.mechanisms.RandomizedResponseMechanism(self.matrix, n=8)
        release = bdp.Release.of(mechanism, list(self.answers[:copies]))
        mean, sd = self.truth(copies)
        idata = bdp.MultinomialModel(ALPHA).fit(release, engine=engine, draws=5000, seed=7)
        theta = idata.posterior["theta"].to_numpy()
        for i in range(3):
            assert abs(theta[..., i].mean() - mean[i]) < 5 * az.mcse(theta[..., i])
            square = (theta[..., i] - mean[i]) ** 2
            assert abs(square.mean() - sd[i] ** 2) < 5 * az.mcse(square)
        assert idata.attrs["verdict"].startswith("no problem")

    @pytest.mark.parametrize("copies", [1, 2])
    def test_two_categories_are_exact(self, copies):
        mechanism = bdp.mechanisms.RandomizedResponseMechanism(((5, 2), (1, 4)), n=8)
        answers = ((0, 1, 1, 0, 1, 1, 0, 1), (0, 1, 1, 1, 0, 1, 0, 1))[:copies]
        release = bdp.Release.of(mechanism, list(answers))
        records = np.array(list(itertools.product(range(2), repeat=8)))
        law = sum(mechanism.logp(np.array(z), records) for z in answers)
        ones = records.sum(axis=1)
        logs = law + special.betaln(1.5 + 8 - ones, 0.5 + ones) - special.betaln(1.5, 0.5)
        weights = special.softmax(logs)
        model = bdp.MultinomialModel((1.5, 0.5))
        assert model.log_evidence(release) == pytest.approx(special.logsumexp(logs), rel=1e-11)
        exact = model.posterior(release, 1)
        assert exact.mean() == pytest.approx(weights @ ((0.5 + ones) / 10), rel=1e-11)
        assert model.fit(release, draws=10, seed=1).attrs["engine"] == "exact"

    def test_the_dapper_papers_example(self):
        """400 admissions, each of two bits kept with probability 3/4; released 74, 102, 104, 120.

        In the order of the counts, by admission and then by sex, the means are those that the
        paper prints for the third, the fourth, the first and the second: its labels are shifted.
        Its figures are of chains with about 120 effective draws, hence the tolerance.
        """
        bit = np.array([[3, 1], [1, 3]])
        mechanism = bdp.mechanisms.RandomizedResponseMechanism(np.kron(bit, bit).tolist(), n=400)
        answers = np.repeat(np.arange(4), [74, 102, 104, 120])
        release = bdp.Release.of(mechanism, [answers])
        idata = bdp.MultinomialModel((1, 1, 1, 1)).fit(release, engine="gibbs", draws=5000, seed=1)
        theta = idata.posterior["theta"].to_numpy().reshape(-1, 4)
        assert np.abs(theta.mean(axis=0) - [0.111, 0.268, 0.281, 0.339]).max() < 0.01
        assert theta.std(axis=0) == pytest.approx([0.056, 0.062, 0.063, 0.068], rel=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # few draws
@pytest.mark.parametrize("engine", ["gibbs", "marginal", "augmentation", "exact"])
def test_a_single_group_is_a_group(engine):
    response = bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 3, n=3)
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one", n=20)
    outputs = {"a": (noise, [(9, 7, 5)]) if engine == "exact" else (response, [(0, 1, 2)])}
    release, model = bdp.Release.of_groups(outputs), bdp.MultinomialModel(ALPHA)
    for idata in (
        model.fit(release, engine=engine, draws=20, warmup=20, seed=1),
        model.fit_naive(release, draws=20, seed=1),
    ):
        assert idata.posterior["theta"].dims == ("chain", "draw", "group", "category")
        assert idata.posterior["theta"].sizes["group"] == 1


def test_bad_models_and_releases_are_refused(charest_release):
    for prior in ((1.0,), (1.0, 0.0), (1.0, np.inf), "ab", 3, (1.0, True)):
        with pytest.raises(bdp.errors.InvalidInput, match="prior is"):
            bdp.MultinomialModel(prior)
    for n in (0, 1.5, range(0), [0.5, 0.6]):
        with pytest.raises(bdp.errors.InvalidInput, match=r"n is|n must be"):
            bdp.MultinomialModel(ALPHA, n=n)
    model = bdp.MultinomialModel(ALPHA)
    with pytest.raises(bdp.errors.InvalidInput, match="'beta_binomial' doesn't randomise counts"):
        model.fit(charest_release)
    mechanism, outputs, _ = RELEASES["laplace"]
    release = bdp.Release.of(mechanism, outputs)
    with pytest.raises(bdp.errors.InvalidInput, match="says n = 12"):
        bdp.MultinomialModel(ALPHA, n=12).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="is of 3 categories"):
        bdp.MultinomialModel((1, 1)).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="category is 3"):
        model.posterior(release, 3)
    for engine in ("pymc", "stan"):
        with pytest.raises(bdp.errors.InvalidInput, match="don't sum out"):
            model.fit(release, engine=engine)
    with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
        model.fit_naive(bdp.Release.of(mechanism, [(-4, 8, 8)]))
    hidden = bdp.Release.of(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 3), [(3, 4, 5)])
    with pytest.raises(bdp.errors.InvalidInput, match="n isn't in this release"):
        model.fit(hidden)
    response = bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 4, n=2), [(0, 3)]
    )
    zeros = bdp.mechanisms.DirichletMultinomialMechanism(N, 9, 3, (2.0, 0.0, 3.0), zeros=(1,))
    with pytest.raises(bdp.errors.InvalidInput, match="1 structural zero,"):
        bdp.MultinomialModel(ALPHA).fit(bdp.Release.of(zeros, [(4, 0, 5)]))
    with pytest.raises(bdp.errors.InvalidInput, match="is of 4 categories"):
        model.fit(response)


def test_a_category_without_answers_is_impossible():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((1, 1, 0), (1, 1, 0), (1, 1, 0)), n=2)
    release = bdp.Release.of(mechanism, [(0, 2)])
    with pytest.raises(bdp.errors.InvalidInput, match="probability zero"):
        bdp.MultinomialModel(ALPHA).fit(release)


UNLIKELY = pytest.mark.filterwarnings("ignore:noise hardly explains:UserWarning")


@pytest.mark.slow
@pytest.mark.parametrize("n", [2000, 10**4])
def test_counts_far_from_what_was_released(n):
    """Given n the law is the same of all counts, and the posterior is the prior."""
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 3, "replace_one", n=n), [(0, 0, 0)]
    )
    model = bdp.MultinomialModel((1, 1, 1))
    right = float(release.mechanism.logp(np.zeros(3), np.array([n, 0, 0])))
    assert model.log_evidence(release) == pytest.approx(right, rel=1e-12)
    posterior = model.posterior(release, 0)
    assert posterior.mean() == pytest.approx(1 / 3, rel=1e-9)
    assert posterior.interval(0.5) == pytest.approx(stats.beta.ppf([0.25, 0.75], 1, 2), abs=1e-6)
    with pytest.warns(UserWarning, match="noise hardly explains what was released"):
        found = model.fit(release, draws=100, seed=1)
    assert found.attrs["verdict"].startswith("noise hardly explains")


@UNLIKELY
@pytest.mark.parametrize("outputs", [(0, 0, 0), (-900, 30, 900), (5, 7, 2)])
@pytest.mark.parametrize("alpha", [(1.0, 2.0, 0.5), (300.0, 1.0, 1.0)])
def test_wide_windows_lose_nothing(outputs, alpha):
    """Against a list of all vectors of 200 records, noise at scale 0.2."""
    n, mechanism = 200, bdp.mechanisms.DiscreteLaplaceMechanism(0.2, 1.0, dimension=3)
    release, model = bdp.Release.of(mechanism, [outputs]), bdp.MultinomialModel(alpha, n=n)
    x = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    a = np.array(alpha)
    law = special.gammaln(n + 1) - special.gammaln(x + 1).sum(axis=1)
    law += special.gammaln(a + x).sum(axis=1) - special.gammaln(a).sum()
    law += special.gammaln(a.sum()) - special.gammaln(a.sum() + n)
    law += mechanism.logp(np.array(outputs), x)
    right = special.logsumexp(law)
    assert model.log_evidence(release) == pytest.approx(right, rel=1e-11)
    means = special.softmax(law) @ (a + x) / (a.sum() + n)
    for i, mean in enumerate(means):
        assert model.posterior(release, i).mean() == pytest.approx(mean, rel=1e-9)
