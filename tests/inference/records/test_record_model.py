"""Chains over records against enumeration, quadrature and the exact engines; false alarm 1e-6."""

import doctest
import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.outputs.counts import all_counts
from bayesdp.inference.records import model as record_model
from tests.inference import record_functions as f

REPLACE = bdp.Neighbours.REPLACE_ONE
SIZES = {3: 0.2, 4: 0.3, 7: 0.5}  # with a gap


def one_by_one(k, statistic=f.itself, n=None):
    return bdp.models.RecordModel(
        {"theta": (k,)}, f.start, f.categories_given, statistic, f.category, n=n
    )


def counted(k, statistic=f.itself, n=None):
    return bdp.models.RecordModel(
        {"theta": (k,)},
        f.start,
        f.counts_given,
        statistic,
        support=np.arange(k),
        probabilities=f.chances,
        n=n,
    )


MODELS = {"one by one": one_by_one, "counted": counted}


def prior_of(sizes):
    found = np.zeros(max(sizes) + 1)
    for n, p in sizes.items():
        found[n] = p
    return found


def by_counts(mechanism, outputs, table, sizes):
    """Posterior means of theta, theta^2 and Pr[n], from all counts of a uniform prior."""
    k = len(table)
    rows, logs = [], []
    for n, p in sizes.items():
        for x in all_counts(n, k):
            total = x @ table
            shown = total if np.ndim(outputs[0]) else total[0]
            if getattr(mechanism, "bounding", None) == "truncated" and not 2 <= shown <= 8:
                continue  # never released
            law = sum(float(mechanism.logp(np.array(z), shown)) for z in outputs)
            rows.append(x)
            logs.append(law + stats.dirichlet_multinomial.logpmf(x, np.ones(k), n) + np.log(p))
    return summary(np.array(rows), np.array(logs))


def by_records(mechanism, outputs, k):
    """The same from all lists of records, for answers of each record."""
    rows, logs = [], []
    for records in itertools.product(range(k), repeat=mechanism.n):
        x = np.bincount(records, minlength=k)
        law = sum(float(mechanism.logp(np.array(z), np.array(records))) for z in outputs)
        alike = special.gammaln(mechanism.n + 1) - special.gammaln(x + 1).sum()
        logs.append(law + stats.dirichlet_multinomial.logpmf(x, np.ones(k), mechanism.n) - alike)
        rows.append(x)
    return summary(np.array(rows), np.array(logs))


def summary(x, logs):
    weights = np.exp(logs - special.logsumexp(logs))
    n, k = x.sum(axis=1), x.shape[1]
    mean = (x + 1) / (n + k)[:, None]
    second = mean * (x + 2) / (n + k + 1)[:, None]
    sizes = {size: weights[n == size].sum() for size in np.unique(n).tolist()}
    return weights @ mean, weights @ second, sizes


def agrees(idata, truth):
    mean, second, sizes = truth
    theta = idata.posterior["theta"].to_numpy()
    for j in range(mean.size):
        assert f.standard_errors(theta[..., j], mean[j]) < f.LIMIT
        assert f.standard_errors(theta[..., j] ** 2, second[j]) < f.LIMIT
    if len(sizes) > 1:
        for size, probability in sizes.items():
            at = (idata.posterior["n"].to_numpy() == size) + 0.0
            assert f.standard_errors(at, probability) < f.LIMIT
    else:
        assert "n" not in idata.posterior


CASES = {
    "binary, laplace": (bdp.mechanisms.LaplaceMechanism(0.8, 1.0, REPLACE, n=6), [4.75, 3.875], 2),
    "three, laplace": (bdp.mechanisms.DiscreteLaplaceMechanism(1.2, 2.0, REPLACE, n=6), [9, 10], 3),
    "three, truncated": (
        bdp.mechanisms.DiscreteGaussianMechanism(1.5, 2.0, REPLACE, None, (2, 8), "truncated", n=6),
        [4],
        3,
    ),
    "binary, laplace, n unknown": (bdp.mechanisms.LaplaceMechanism(0.8, 1.0), [3.25], 2),
    "three, inflated, n unknown": (
        bdp.mechanisms.DiscreteLaplaceMechanism(1.2, 2.0, bounds=(0, 9), bounding="inflated"),
        [9, 7],
        3,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_sums_equal_enumeration(name, model):
    mechanism, outputs, k = CASES[name]
    known = mechanism.n is not None
    release = bdp.Release.of(mechanism, outputs)
    fitted = MODELS[model](k, n=None if known else prior_of(SIZES))
    idata = fitted.fit(release, draws=20_000, warmup=200, seed=1)
    table = np.arange(k)[:, None]
    agrees(idata, by_counts(mechanism, outputs, table, {6: 1.0} if known else SIZES))
    assert idata.attrs["records"] == model
    assert idata.attrs["verdict"].startswith("no problem")


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("k", [2, 3])
def test_answers_equal_enumeration(model, k):
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.kary(1.2, k, n=5)
    outputs = [(0, 1, 1, k - 1, 0), (1, 1, 0, k - 1, 0)]
    idata = MODELS[model](k).fit(
        bdp.Release.of(mechanism, outputs), draws=20_000, warmup=100, seed=2
    )
    agrees(idata, by_records(mechanism, outputs, k))
    if model == "one by one":  # at least exp(-epsilon), two copies
        rate = idata.sample_stats["acceptance_rate"].to_numpy()
        assert np.exp(-2 * 1.2) < rate.mean() < 1


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_vectors_equal_enumeration(model):
    """Noisy cells and copies, with n unknown; a choice, with n known.

    Of counts the first two are in test_record_families.
    """
    histogram, copies = (
        bdp.mechanisms.PerturbedHistogramMechanism(1.1, 3),
        bdp.mechanisms.DirichletMultinomialMechanism,
    )
    cases = [
        (histogram, [(3, 0, 2)], SIZES),
        (copies(None, 5, 3, 1.0), [(3, 0, 2), (2, 1, 2)], SIZES),
        (bdp.mechanisms.ExponentialMechanism(2.0, 1.0, 3, monotone=True, n=None), [1, 1], {6: 1.0}),
    ]
    for mechanism, outputs, sizes in cases if model == "one by one" else cases[2:]:
        known = len(sizes) == 1
        fitted = MODELS[model](3, f.one_of_three, n=6 if known else prior_of(sizes))
        idata = fitted.fit(
            bdp.Release.of(mechanism, outputs, delta=1e-3), draws=20_000, warmup=100, seed=3
        )
        if isinstance(mechanism, bdp.mechanisms.ExponentialMechanism):
            truth = by_counts(
                _Choice(mechanism), [(z,) for z in outputs], np.eye(3, dtype=int), sizes
            )
        else:
            truth = by_counts(mechanism, outputs, np.eye(3, dtype=int), sizes)
        agrees(idata, truth)


class _Choice:
    """A choice shown as a vector of length one, as `by_counts` has it."""

    def __init__(self, mechanism):
        self.mechanism = mechanism

    def logp(self, output, statistic):
        return self.mechanism.logp(output[0], statistic)


@pytest.mark.slow
def test_a_normal_mean_equals_quadrature():
    """n = 1000, a noisy mean of records that are hardly ever clamped: the exact engine's."""
    noise = bdp.mechanisms.LaplaceMechanism(0.02, 0.016, REPLACE, n=1000)
    release = bdp.Release.of(noise, [0.3125])
    model = bdp.models.RecordModel({"mu": ()}, f.normal_start, f.normal_given, share, f.normal)
    idata = model.fit(release, draws=4000, warmup=500, seed=4)
    exact = bdp.GaussianModel((0.0, 1.0), sd=1.0).posterior(release)
    mu = idata.posterior["mu"].to_numpy()
    assert f.standard_errors(mu, exact.mean()) < f.LIMIT
    assert f.standard_errors((mu - exact.mean()) ** 2, exact.sd() ** 2) < f.LIMIT
    rate = idata.sample_stats["acceptance_rate"].to_numpy().mean()
    assert rate > np.exp(-0.016 / 0.02)


@pytest.mark.slow
def test_a_clamped_normal_mean_equals_quadrature():
    """n = 1000 and clamping to [-1/2, 1/2]: the law of the sum by convolution on a lattice."""
    noise, n = bdp.mechanisms.LaplaceMechanism(5.0, 1.0, REPLACE, n=1000), 1000
    release = bdp.Release.of(noise, [151.0])
    model = bdp.models.RecordModel({"mu": ()}, f.normal_start, f.normal_given, clamped, f.normal)
    idata = model.fit(release, draws=4000, warmup=500, seed=5)
    step = 1 / 128
    edges = np.concatenate([[-np.inf], np.arange(-63.5, 64) * step, [np.inf]])
    sums = (np.arange(128 * n + 1) - 64 * n) * step
    law = np.exp(noise.logp(151.0, sums))
    grid = np.linspace(-0.1, 0.9, 101)
    density = []
    for mu in grid:
        one = np.diff(stats.norm.cdf(edges, mu))
        whole = np.fft.irfft(np.fft.rfft(one, 1 << 17) ** n, 1 << 17)[: sums.size]
        density.append(stats.norm.pdf(mu) * (whole @ law))
    weights = np.array(density) / np.sum(density)
    mean = weights @ grid
    mu = idata.posterior["mu"].to_numpy()
    assert f.standard_errors(mu, mean) < f.LIMIT
    assert f.standard_errors((mu - mean) ** 2, weights @ (grid - mean) ** 2) < f.LIMIT


@f.numba.njit
def share(record, out):
    out[0] = min(max(record[0], -8.0), 8.0) / 1000


@f.numba.njit
def clamped(record, out):
    out[0] = min(max(record[0], -0.5), 0.5)


@pytest.mark.slow
def test_the_shape_of_a_fit(tmp_path):
    import arviz as az

    release = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(0.8, 1.0), [3.25])
    model = one_by_one(2, n=range(3, 8))
    with pytest.warns(UserWarning, match="can't be relied on"):
        idata, again, other = (model.fit(release, draws=50, chains=3, seed=s) for s in (4, 4, 5))
    assert idata.posterior["theta"].dims == ("chain", "draw", "theta_dim_0")
    assert idata.posterior["n"].dims == ("chain", "draw")
    assert set(idata.posterior["n"].to_numpy().ravel().tolist()) <= set(range(3, 8))
    assert set(idata.sample_stats) == {"acceptance_rate", "log_law"}
    assert np.all(np.isfinite(idata.sample_stats["log_law"]))
    assert idata.attrs["engine"] == "augmentation"
    assert "has no law" in idata.attrs["engine_reason"]
    assert idata.attrs["release"] == release.fingerprint
    assert idata.observed_data["outputs"].to_numpy().tolist() == [3.25]
    assert np.array_equal(idata.posterior["theta"], again.posterior["theta"])
    assert not np.array_equal(idata.posterior["theta"], other.posterior["theta"])
    idata.to_netcdf(str(tmp_path / "fit.nc"))
    assert az.from_netcdf(str(tmp_path / "fit.nc")).attrs["records"] == "one by one"


@pytest.mark.slow
def test_high_acceptance_that_leads_nowhere_is_called_a_failure():
    """The noise swamps the sum, so every record is accepted and the mean hardly moves."""
    release = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(5000.0, 1.0, REPLACE, n=300), [30.0])
    model = bdp.models.RecordModel({"mu": ()}, f.normal_start, f.normal_given, f.itself, f.normal)
    with pytest.warns(UserWarning, match="high acceptance is no success here"):
        idata = model.fit(release, draws=1000, warmup=100, seed=6)
    assert "% of the proposals were accepted, and still 4,000 draws" in idata.attrs["verdict"]
    assert idata.sample_stats["acceptance_rate"].to_numpy().mean() > 0.99


@pytest.mark.slow
def test_the_example_runs():
    found = doctest.DocTestFinder().find(bdp.models.RecordModel, globs={}, module=record_model)
    runner = doctest.DocTestRunner()
    for example in found:
        runner.run(example)
    assert runner.summarize(verbose=False).attempted >= 8
    assert runner.summarize(verbose=False).failed == 0
