"""Outputs far from anything that may be: the posterior all the same, and one rule that says so."""

import numpy as np
import pytest
from scipy import integrate, stats

import bayesdp as bdp
from bayesdp.inference.conflict import (
    Noise,
    conflict_in,
    noise_from,
    noise_from_marginals,
    noise_from_moments,
)
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.release import Part

REPLACE = bdp.Neighbours.REPLACE_ONE
FALSE_ALARM = 1e-6
WARNS = "noise hardly explains what was released"


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore:{WARNS}:UserWarning")
@pytest.mark.parametrize("variance", [-1.0, -0.125, 400.0])
def test_a_variance_that_none_has(variance):
    """Given sigma the variance is gamma, and exponential noise is its transform; sigma by a sum."""
    n, b, z = 100, 0.01, 0.5
    m0, k, shape, rate = 0.0, 1.0, 2.0, 1.0
    release = bdp.Release.of(
        bdp.mechanisms.LaplaceMechanism(b, 0.01, REPLACE, n=n, dimension=2), [(z, variance)]
    )
    model, h = bdp.GaussianModel((m0, k, shape, rate)), (n - 1) / 2
    sigma = np.exp(np.linspace(np.log(0.1), np.log(60), 4001))
    log_p = stats.invgamma.logpdf(sigma**2, shape, scale=rate) + np.log(2 * sigma**2)
    if variance < 0:
        log_p += variance / b - h * np.log1p(sigma**2 / (h * b))
    else:  # so wide that noise is but a point
        log_p += stats.gamma.logpdf(variance, h, scale=sigma**2 / h) + np.log(2 * b)
    s = z + b * np.linspace(-40, 40, 8001)
    width = sigma[:, None] * np.sqrt(1 / k + 1 / n)
    normal = stats.norm.pdf(s, m0, width) * np.exp(-np.abs(s - z) / b)
    log_p += np.log(integrate.simpson(normal, x=s, axis=1))
    at = np.array(release.outputs)[0]
    log_p += float(release.mechanism.logp(at, at))  # of no noise
    weights = np.exp(log_p - log_p.max())
    total = integrate.simpson(weights, x=np.log(sigma))
    assert model.log_evidence(release) == pytest.approx(np.log(total) + log_p.max(), abs=2e-3)
    posterior = model.posterior(release)
    mean = integrate.simpson(weights * sigma, x=np.log(sigma)) / total
    assert posterior.mean()[1] == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("outputs", [(50.0,), (50.0, 20.0)])
def test_a_mean_that_the_prior_all_but_excludes(outputs):
    """Noise has a constant slope there, which tilts a normal prior; of one release and of two."""
    noise = bdp.mechanisms.LaplaceMechanism(0.01, 0.01, REPLACE, n=100)
    releases = [bdp.Release.of(noise, [z]) for z in outputs]
    posterior = bdp.GaussianModel((0.0, 0.01), sd=0.01).posterior(releases)
    assert posterior.mean() == pytest.approx(len(outputs) * 100 * 0.01**2, rel=1e-5)
    assert posterior.sd() == pytest.approx(0.01, rel=1e-5)


def test_releases_that_contradict_each_other():
    """Between two outputs of Laplace noise the law is flat, and the prior is left."""
    noise = bdp.mechanisms.LaplaceMechanism(0.01, 0.01, REPLACE, n=100)
    releases = [bdp.Release.of(noise, [z]) for z in (40.0, -40.0)]
    posterior = bdp.GaussianModel((3.0, 1.0), sd=0.01).posterior(releases)
    assert (posterior.mean(), posterior.sd()) == pytest.approx((3.0, 1.0), rel=1e-4)


def moments(squares, scale, n=100):
    made = bdp.mechanisms.NoisyMomentsMechanism({"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, scale, n)
    return bdp.Release.of(made, [(0.0, 0.0, squares, 30.0, 0.0)])


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.parametrize("squares", [-50.0, 180.0])
def test_a_regression_says_that_no_records_have_such_moments(squares):
    options = {"draws": 20, "warmup": 30, "chains": 1, "seed": 1}
    with pytest.warns(UserWarning, match=WARNS):
        found = bdp.LinearRegressionModel("y").fit(moments(squares, 0.01), **options)
    assert WARNS in found.attrs["verdict"]
    good = bdp.LinearRegressionModel("y").fit(moments(25.0, 0.01), **options)
    assert WARNS not in good.attrs["verdict"]


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_every_model_of_noisy_numbers_says_so():
    def one(size, **more):
        return bdp.mechanisms.DiscreteLaplaceMechanism(
            1.0, 1.0, neighbours=REPLACE, n=50, **more
        ), size

    count, table = one(None)[0], one(2, dimension=2)[0]
    pair = bdp.mechanisms.LaplaceMechanism(0.1, 0.1, REPLACE, n=50, dimension=2)
    groups = bdp.Release.of_groups({"a": (count, [-60]), "b": (count, [20])})
    for model, release in (
        (bdp.BinomialModel(), bdp.Release.of(count, [120])),
        (bdp.models.HierarchicalBinomialModel(), groups),
        (bdp.MultinomialModel((1, 1)), bdp.Release.of(table, [(60, 50)])),
        (bdp.models.PoissonModel(), bdp.Release.of(table, [(-60, 10)])),
        (bdp.GaussianModel((0, 1, 2, 1), statistic="sum"), bdp.Release.of(pair, [(100.0, 150.0)])),
    ):
        with pytest.warns(UserWarning, match=WARNS):
            found = model.fit(release, draws=40, seed=1)
        assert WARNS in found.attrs["verdict"]


@pytest.mark.parametrize(
    "kind", [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
)
def test_the_rule_bounds_what_noise_does(kind):
    """D of noise itself is at most a gamma variable; of matrices of moments, of no spread, too."""
    scale, numbers, size = 0.5, 3, 400
    made = kind(scale, 0.01, REPLACE, n=9, dimension=numbers)
    with bdp.reproducible(1):
        released = made.release(np.zeros(numbers), size)
    found = []
    for z in released:
        (noise,) = noise_from([Part(None, made, (tuple(z),))], 0.0, 0.0)
        assert noise.numbers == numbers
        found.append(noise.needed)
    for q in (0.5, 0.1, 0.01):
        above = int(np.sum(np.array(found) > stats.gamma.isf(q, numbers)))
        assert stats.binomtest(above, len(found), q, alternative="greater").pvalue > FALSE_ALARM
    matrices = np.zeros((size, 2, 2))
    matrices[:, 0, 0], matrices[:, 1, 1] = released[:, 0], released[:, 2]
    matrices[:, 0, 1] = matrices[:, 1, 0] = released[:, 1]
    gaussian = np.full(size, kind is bdp.mechanisms.GaussianMechanism)
    each = list(noise_from_moments(matrices, np.full(size, scale), gaussian))
    needed = np.array([one.needed for one in each])
    whole = np.abs(released) / scale
    whole = (whole**2 / 2 if gaussian[0] else whole).sum(axis=1)
    assert np.all(needed <= whole + 1e-9)  # a bound from below
    assert needed.max() > 0


def test_the_rule_alone():
    assert conflict_in([]) is None
    assert conflict_in([Noise(20.0, 1)]) is None
    assert conflict_in([Noise(20.0, 1), Noise(20.0, 9)]) is None
    assert "noise on 1 number with" in str(conflict_in([Noise(21.0, 1)]))


def test_copies_that_contradict_each_other_are_said_to():
    """Each alone is as it may be; together no noise of that scale explains them."""
    for mechanism, far in (
        (bdp.mechanisms.DiscreteLaplaceMechanism(2.0, n=100, neighbours="replace_one"), 40),
        (bdp.mechanisms.DiscreteGaussianMechanism(2.0, n=100, neighbours="replace_one"), 40),
    ):
        near = bdp.Release.of(mechanism, [50, 52, 49], delta=1e-6)
        apart = bdp.Release.of(mechanism, [50, 50 + far, 50 - far], delta=1e-6)
        assert "noise" not in bdp.BinomialModel().fit(near, draws=10, chains=1).attrs["verdict"]
        with pytest.warns(UserWarning, match="noise hardly explains what was released"):
            bdp.BinomialModel().fit(apart, draws=10, chains=1)
        two = [bdp.Release.of(mechanism, [z], delta=1e-6) for z in (50 - far, 50 + far)]
        with pytest.warns(UserWarning, match="noise hardly explains what was released"):
            bdp.BinomialModel().fit(two, draws=10, chains=1)


AXES = tuple(Axis(name, categories=("u", "v")) for name in "ab")
FEW = {"draws": 20, "warmup": 30, "chains": 1, "seed": 1}


def means(first, second, kind=bdp.mechanisms.LaplaceMechanism):
    """Two releases of one mean, and two copies of it."""
    noise = kind(0.1, 0.01, REPLACE, n=50)
    alone = [bdp.Release.of(noise, [z], delta=1e-6) for z in (first, second)]
    return alone, bdp.Release.of(noise, [first, second], delta=1e-6)


@pytest.mark.parametrize(
    "kind", [bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.GaussianMechanism]
)
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_means_that_contradict_each_other(kind):
    model = bdp.GaussianModel((0.0, 5.0), sd=1.0)
    pooled = bdp.models.HierarchicalGaussianModel((0.0, 5.0), spread=1.0, sd=1.0)
    for release in means(2.0, -2.0, kind):
        with pytest.warns(UserWarning, match=WARNS):
            assert WARNS in model.fit(release, **FEW).attrs["verdict"]
        with pytest.warns(UserWarning, match=WARNS):
            bdp.log_evidence(model, release)
    for release in means(2.0, 1.75, kind):
        assert WARNS not in model.fit(release, **FEW).attrs["verdict"]
        bdp.log_evidence(model, release)
    noise = kind(0.1, 0.01, REPLACE, n=50)
    groups = {"a": (noise, [2.0, -2.0]), "b": (noise, [0.25, 0.375])}
    with pytest.warns(UserWarning, match=WARNS):
        pooled.fit(bdp.Release.of_groups(groups, delta=1e-6), **FEW)


def test_moments_of_several_releases_that_contradict_each_other():
    noise = bdp.mechanisms.LaplaceMechanism(0.1, 0.01, REPLACE, n=50, dimension=2)
    model = bdp.GaussianModel((0.0, 1.0, 2.0, 1.0))
    apart = [bdp.Release.of(noise, [(z, 1.0)]) for z in (2.0, -2.0)]
    with pytest.warns(UserWarning, match=WARNS):
        model.fit(apart, **FEW)
    near = [bdp.Release.of(noise, [(z, 1.0)]) for z in (2.0, 1.75)]
    assert WARNS not in model.fit(near, **FEW).attrs["verdict"]


def tables(kind):
    """Outputs that no table explains, of the mechanism they are of; and a model's n."""
    relation = bdp.Neighbours.ADD_REMOVE if kind != "total" else REPLACE
    cells = bdp.mechanisms.PerturbedHistogramMechanism(
        1.0, 4, relation, 40 if kind == "total" else None, AXES
    )
    margins = bdp.mechanisms.NoisyMarginalsMechanism(
        axes=AXES, marginals=(("a",), ("b",)), scale=1.0, noise="laplace"
    )
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, dimension=4)
    return {
        "below 0": (noise, [(-60, 9, 8, 7)]),
        "total": (cells, [(30, 20, 25, 25)]),
        "copies": (cells, [(75, 9, 8, 7), (5, 9, 8, 7)]),
        "totals of marginals": (margins, [(30, 40, 10, 12)]),
        "fine": (cells, [(12, 9, 0, 7), (14, 9, 1, 8)]),
    }[kind]


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.parametrize("kind", ["below 0", "total", "copies", "totals of marginals", "fine"])
@pytest.mark.parametrize("family", ["log-linear", "logistic"])
def test_tables_that_noise_does_not_explain(kind, family):
    mechanism, outputs = tables(kind)
    release = bdp.Release.of(mechanism, outputs)
    columns = {"a": ("u", "v"), "b": ("u", "v")} if kind == "below 0" else None
    model = bdp.models.LogLinearModel("a + b", categories=columns)
    if family == "logistic":
        model = bdp.LogisticRegressionModel("a ~ b", categories=columns)
    if kind == "fine":
        assert WARNS not in model.fit(release, **FEW).attrs["verdict"]
        return
    with pytest.warns(UserWarning, match=WARNS):
        assert WARNS in model.fit(release, **FEW).attrs["verdict"]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_least_noise_on_marginals_is_no_more_than_what_there_is(kind):
    """Whatever the table; with its total known and unknown, and of copies with two scales."""
    rng, laplace = np.random.default_rng(4), kind == "laplace"
    marginals = [np.array([0, 1]), np.array([2, 3, 4])]
    scales = np.array([0.7, 3.0])
    rate = np.tile(1 / scales if laplace else 0.5 / scales**2, (5, 1))
    for _ in range(300):
        table = rng.integers(0, 4, (2, 3))
        true = np.concatenate([table.sum(axis=1), table.sum(axis=0)])[:, None]
        away = np.rint(rng.normal(size=(5, 2)) * scales * rng.choice([0.3, 1, 6]))
        whole = (rate * np.abs(away) ** (1 if laplace else 2)).sum()
        gaussian = np.full(rate.shape, not laplace)
        for total in (None, float(table.sum())):
            noise = noise_from_marginals(
                true + away, rate, gaussian, marginals, float(table.sum()), total
            )
            assert noise.needed <= whole + 1e-9
            assert noise.numbers == 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:this log evidence:UserWarning")
def test_evidences_say_so_too():
    count = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, neighbours=REPLACE, n=50)
    table = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 1.0, neighbours=REPLACE, n=50, dimension=2)
    for model, release in (
        (bdp.BinomialModel(), bdp.Release.of(count, [120])),
        (bdp.MultinomialModel((1, 1)), bdp.Release.of(table, [(60, 50)])),
        (bdp.models.PoissonModel(), bdp.Release.of(table, [(-60, 10)])),
        (bdp.LinearRegressionModel("y"), moments(-50.0, 0.01)),
    ):
        options = FEW | {"draws": 200, "warmup": 200}
        with pytest.warns(UserWarning, match=WARNS):
            bdp.log_evidence(model, release, **options)
