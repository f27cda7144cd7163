"""Pointwise log likelihoods: against enumeration, and leave-one-out against exact evidences."""

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.cells import Axis

M = bdp.mechanisms
LAPLACE = M.DiscreteLaplaceMechanism(scale=2.0, sensitivity=1, neighbours="add_remove")
COUNTS = {"a": [9, 12, 10], "b": [3, 1, 4], "c": [15, 17, 20], "d": [5, 8, 6]}


def of_groups(mechanism: Any, outputs: Any = COUNTS) -> bdp.Release:
    return bdp.Release.of_groups({g: (mechanism, each) for g, each in outputs.items()})


def binomial() -> tuple[Any, bdp.Release]:
    return bdp.BinomialModel((2.0, 3.0)), of_groups(M.BetaBinomialMechanism(20, 20, (3.0, 2.0)))


def hierarchical_binomial() -> tuple[Any, bdp.Release]:
    return bdp.models.HierarchicalBinomialModel((2.0, 2.0)), binomial()[1]


def poisson() -> tuple[Any, bdp.Release]:
    noise = M.PerturbedHistogramMechanism(scale=2.0, cells=3)
    outputs = {g: [(z, z + 2, 5) for z in each] for g, each in COUNTS.items()}
    return bdp.models.PoissonModel((2.0, 0.2)), of_groups(noise, outputs)


def gaussian() -> tuple[Any, bdp.Release]:
    noise = M.LaplaceMechanism(0.5, 0.1, "replace_one", n=20)
    outputs = {"a": [1.25, 0.5, 1.0], "b": [-0.5, 0.0, -1.5], "c": [0.75, 2.0, 1.5]}
    return bdp.GaussianModel((0.0, 2.0), sd=1.0), of_groups(noise, outputs)


def gamma() -> tuple[Any, bdp.Release]:
    noise = M.LaplaceMechanism(3.0, 4.0, "replace_one", n=20)
    outputs = {"a": [12.5, 15.0, 21.0], "b": [3.0, -1.0, 4.5], "c": [40.0, 38.5, 44.0]}
    return bdp.models.GammaModel((2.0, 1.5)), of_groups(noise, outputs)


def hierarchical_gaussian() -> tuple[Any, bdp.Release]:
    return bdp.models.HierarchicalGaussianModel((0.0, 2.0), 1.0, sd=1.0), gaussian()[1]


def responses() -> tuple[Any, bdp.Release]:
    matrix = [[14, 4, 2], [2, 16, 2], [5, 5, 10]]
    mechanism = M.RandomizedResponseMechanism(matrix, n=30)
    rng = np.random.default_rng(1)
    copies = [rng.integers(0, 3, 30).tolist() for _ in range(2)]
    return bdp.MultinomialModel((1.0, 2.0, 1.5)), bdp.Release.of(mechanism, copies)


def gaussian_pair() -> tuple[Any, bdp.Release]:
    noise = M.LaplaceMechanism(0.5, 0.1, "replace_one", dimension=2, n=20)
    outputs = {"a": [(1.25, 2.0), (0.5, 1.0)], "b": [(-0.5, 0.5), (0.0, 1.5)]}
    return bdp.GaussianModel((0.0, 0.5, 3.0, 2.0)), of_groups(noise, outputs)


def counts() -> tuple[Any, bdp.Release]:
    noise = M.PerturbedHistogramMechanism(1.0, 3, "replace_one", n=14)
    outputs = {"a": [(4, 6, 3), (5, 7, 2)], "b": [(9, 1, 4), (10, 0, 5)]}
    return bdp.MultinomialModel((1.0, 2.0, 1.5)), of_groups(noise, outputs)


TABLE = tuple(Axis(name, categories=("x", "y")) for name in "ab")


def cells() -> tuple[Any, bdp.Release]:
    noise = M.PerturbedHistogramMechanism(1.0, 4, axes=TABLE)
    outputs = [(9, 7, 0, 8), (10, 3, 2, 9)]
    return bdp.models.LogLinearModel("a + b", prior=1.0), bdp.Release.of(noise, outputs)


def cells_of_known_number() -> tuple[Any, bdp.Release]:
    noise = M.PerturbedHistogramMechanism(1.0, 4, "replace_one", 13, TABLE)
    outputs = [(4, 2, 3, 3), (5, 1, 2, 4)]
    return bdp.models.LogLinearModel("a + b", prior=1.0), bdp.Release.of(noise, outputs)


X = np.linspace(-1.0, 1.0, 12)


def answers() -> tuple[Any, bdp.Release]:
    mechanism = M.RandomizedResponseMechanism([[3, 1], [1, 2]], n=12)
    rng = np.random.default_rng(1)
    copies = [rng.integers(0, 2, 12).tolist() for _ in range(2)]
    model = bdp.LogisticRegressionModel("y ~ x", data={"x": X.round(1)}, success=0)
    return model, bdp.Release.of(mechanism, copies)


CASES = {
    each.__name__: each
    for each in (
        binomial, hierarchical_binomial, poisson, gamma, gaussian, hierarchical_gaussian, responses,
        gaussian_pair, counts, cells, cells_of_known_number, answers,
    )
}  # fmt: skip
UNITS = [
    (name, unit) for name in CASES for unit in ("outputs", "groups")
    if (name, unit) != ("cells_of_known_number", "groups")  # of which there are none
]  # fmt: skip


class Fits(dict[str, Any]):
    """Each case's model, release and fit, made at its first use."""

    def __missing__(self, name: str) -> Any:
        model, release = CASES[name]()
        self[name] = model, release, model.fit(release, draws=1000, chains=2, seed=3)
        return self[name]


@pytest.fixture(scope="module")
def fits() -> Fits:
    return Fits()


def of_counts(mechanism: Any, outputs: Any, n: int, p: Any) -> float:
    """Log probability of counts' outputs, by all vectors of counts."""
    k = len(p)
    every = [x for x in itertools.product(range(n + 1), repeat=k) if sum(x) == n]
    logs = stats.multinomial(n, p / np.sum(p)).logpmf(every)
    for z in outputs:
        logs = logs + np.array([mechanism.logp(np.array(z), np.array(x)) for x in every])
    return float(special.logsumexp(logs))


def of_cells(release: bdp.Release, beta: Any) -> Any:
    """Log probability of each Poisson cell's outputs, of which those below 0 are shown as 0."""
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    x, law = np.arange(400), stats.dlaplace(1.0)
    return [
        special.logsumexp(
            sum(law.logpmf(z - x) if z > 0 else -x - math.log1p(math.exp(-1.0)) for z in seen)
            + stats.poisson(np.exp(beta[0] + np.dot(sign, beta[1:]))).logpmf(x)
        )
        for sign, seen in zip(signs, np.array(release.outputs).T, strict=True)
    ]


def of_pair(part: Any, mu: float, sigma: float) -> float:
    """Log density of noisy means and variances, integrated one by one: they are independent."""
    n, s = 20, np.linspace(mu - 8 * sigma / 4, mu + 8 * sigma / 4, 100_001)
    v = np.linspace(1e-9, 8 * sigma**2, 200_001)
    alone = M.LaplaceMechanism(0.5, 0.1, "replace_one", n=20)
    mean = stats.norm(mu, sigma / math.sqrt(n)).logpdf(s)
    chi = stats.chi2(n - 1).logpdf(v * (n - 1) / sigma**2) + math.log((n - 1) / sigma**2)
    for z in part.outputs:
        mean = mean + np.asarray(alone.logp(z[0], s))
        chi = chi + np.asarray(alone.logp(z[1], v))
    both = (special.logsumexp(mean) + math.log(s[1] - s[0]), special.logsumexp(chi))
    return float(sum(both) + math.log(v[1] - v[0]))


def by_hand(name: str, release: bdp.Release, values: dict[str, Any], g: str | None) -> Any:
    """Log probability of a group's outputs, by enumeration or quadrature of the latent number."""
    if name == "answers":
        matrix, seen = np.array([[3, 1], [1, 2]]) / [[4], [3]], np.array(release.outputs)
        p = special.expit(values["beta"][0] + values["beta"][1] * X.round(1))  # of category 0
        laws = matrix[:, seen].prod(axis=1)
        return np.log(p * laws[0] + (1 - p) * laws[1])
    if name == "cells":
        return of_cells(release, values["beta"])
    if name == "cells_of_known_number":
        return of_counts(release.mechanism, release.outputs, 13, values["probability"])
    if name == "responses":
        matrix, answers = np.array(release.mechanism.weights) / 20, np.array(release.outputs)
        chances = matrix[:, answers].prod(axis=1)  # (category, record)
        return np.log(values["theta"] @ chances)
    part = next(part for part in release.parts if part.group == g)
    if name == "counts":
        return of_counts(part.mechanism, part.outputs, 14, values["theta"])
    if name == "gaussian_pair":
        return of_pair(part, values["mu"], values["sigma"])
    if "binomial" in name:
        x = np.arange(21)
        law = sum(part.mechanism.logp(z, bdp.Count(x, 20)) for z in part.outputs)
        return special.logsumexp(law + stats.binom(20, values["p"]).logpmf(x))
    if name == "poisson":
        x, law = np.arange(400), stats.dlaplace(1 / 2.0)
        each = np.array(part.outputs)
        return [
            special.logsumexp(
                sum(law.logpmf(z - x) for z in each[:, j]) + stats.poisson(rate).logpmf(x)
            )
            for j, rate in enumerate(np.asarray(values["rate"]))
        ]
    if name == "gamma":
        total = np.linspace(0.0, 200.0, 1_000_001)[1:]
        law = sum(np.asarray(part.mechanism.logp(z, total)) for z in part.outputs)
        terms = law + stats.gamma(20, scale=1 / values["rate"]).logpdf(total)
        return special.logsumexp(terms) + math.log(total[1] - total[0])
    mean = np.linspace(values["mu"] - 3.0, values["mu"] + 3.0, 600_001)
    law = sum(np.asarray(part.mechanism.logp(z, mean)) for z in part.outputs)
    terms = law + stats.norm(values["mu"], 1 / math.sqrt(20)).logpdf(mean)
    return special.logsumexp(terms) + math.log(mean[1] - mean[0])


@pytest.mark.parametrize("name", list(CASES))
def test_groups_have_the_sum_over_latent_numbers(name: str, fits: Fits):
    model, release, idata = fits[name]
    unit = "outputs" if name == "cells_of_known_number" else "groups"
    if unit == "outputs":
        release_of_one = bdp.Release.of(release.mechanism, release.outputs[:1])
        release, idata = release_of_one, model.fit(release_of_one, draws=1000, chains=2, seed=3)
    found = bdp.evaluate.log_likelihood(model, idata, release, unit=unit)
    assert "log_likelihood" not in idata.groups()
    law, groups = found.log_likelihood["outputs"], release.groups if release.by else [None]
    for chain, draw in ((0, 0), (1, 500), (1, 999)):
        point = idata.posterior.isel(chain=chain, draw=draw)
        for g in groups:
            here = {
                str(k): (v.sel(group=g) if "group" in v.dims else v).to_numpy()
                for k, v in point.data_vars.items()
            }
            seen = law.isel(chain=chain, draw=draw)
            seen = seen if g is None else seen.sel(group=g)
            right = by_hand(name, release, here, g)
            tolerance = 1e-6 if "gaussian" in name or name == "gamma" else 1e-9
            assert np.ravel(seen) == pytest.approx(np.ravel(right), rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["binomial", "hierarchical_binomial", "poisson", "responses", "cells", "answers"]
)
def test_stan_programs_generate_it(name: str):
    """Up to a constant of each cell in tables, and by pattern where records answered alike."""
    pytest.importorskip("stan", reason='install PyStan: pip install "bayesdp[stan]"')
    from bayesdp.engines.stan import sampling

    model, release = CASES[name]()
    kept = {"hierarchical_binomial": "p", "answers": "beta"}.get(name, model.variables[0])
    data = model.stan_data(release)
    options = {"draws": 20, "chains": 1, "warmup": 100, "seed": 1, "progress": False}
    drawn = sampling.sample(model.program, data, variables=[kept, "log_lik"], **options)
    values, found = (drawn.posterior[each][0] for each in (kept, "log_lik"))
    if name in ("responses", "answers"):
        law = model.pointwise(
            release.parts, {kept: values[:, 0] if name == "responses" else values}
        )
        for of_patterns, of_records in zip(found, law, strict=True):
            assert np.unique(of_patterns.round(8)) == pytest.approx(np.unique(of_records.round(8)))
    elif name == "cells":
        right = model.pointwise(release.parts, {kept: values}) - found
        assert right == pytest.approx(np.broadcast_to(right[0], right.shape), abs=1e-8)
    else:
        for g, part in enumerate(release.parts):
            right = model.pointwise([part], {kept: values[:, g]})
            assert found[:, g] == pytest.approx(right, rel=1e-9)


def without(release: bdp.Release, g: Any, i: int) -> bdp.Release:
    """The release of one group without an output."""
    part = next(part for part in release.parts if part.group == g)
    return bdp.Release.of(part.mechanism, [*part.outputs[:i], *part.outputs[i + 1 :]])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binomial", "gamma", "gaussian", "gaussian_pair", "counts"])
def test_the_inverse_averages_to_that_of_leaving_one_out(name: str, fits: Fits):
    """1 / p(z_i | z_-i) is the posterior mean of 1 / p(z_i | z_-i, theta): exact evidences."""
    model, release, idata = fits[name]
    law = bdp.evaluate.log_likelihood(model, idata, release).log_likelihood["outputs"]
    assert law.dims == ("chain", "draw", "copy", "group")
    for part in release.parts:
        alone = bdp.Release.of(part.mechanism, part.outputs)
        for i in range(len(part.outputs)):
            rest = without(release, part.group, i)
            right = model.log_evidence(alone) - model.log_evidence(rest)
            inverse = np.exp(right - law.sel(group=part.group, copy=i).to_numpy().ravel())
            error = inverse.std() / math.sqrt(inverse.size)
            assert error < 0.05
            assert abs(inverse.mean() - 1) < 5.2 * error + 1e-9


@pytest.mark.parametrize(("name", "unit"), UNITS)
def test_arviz_takes_it(name: str, unit: str, fits: Fits):
    az = import_arviz()
    model, release, idata = fits[name]
    found = bdp.evaluate.log_likelihood(model, idata, release, unit=unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ArviZ about single units that weigh a lot
        loo, waic = az.loo(found, pointwise=True), az.waic(found)
    units = found.log_likelihood["outputs"].size // idata.posterior["draw"].size // 2
    assert loo.n_data_points == units
    assert bool(np.isfinite(loo.elpd_loo))
    assert waic.n_data_points == units


@pytest.mark.filterwarnings("ignore:Passing a dict:DeprecationWarning")  # ArviZ's, in Matplotlib
@pytest.mark.parametrize("name", list(CASES))
def test_fits_are_plotted(name: str, fits: Fits):
    az = import_arviz()
    import matplotlib.pyplot as plt

    model, release, idata = fits[name]
    az.plot_trace(idata)
    predicted = bdp.posterior_predictive(model, idata, release, draws=30, seed=1)
    assert predicted.posterior_predictive["outputs"].dims[2:] == (
        predicted.observed_data["outputs"].dims
    )
    az.plot_ppc(predicted, num_pp_samples=10)
    plt.close("all")
    tree = idata.to_datatree()  # of ArviZ's successor
    assert tree["posterior"].sizes["draw"] == 1000
    assert tree.attrs["verdict"] == idata.attrs["verdict"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.filterwarnings("ignore:Passing a dict:DeprecationWarning")  # ArviZ's, in Matplotlib
@pytest.mark.parametrize("family", ["linear_regression", "beta_model", "ergm"])
def test_fits_without_outputs_to_leave_out_are_plotted(family: str):
    az = import_arviz()
    import matplotlib.pyplot as plt

    if family == "linear_regression":
        x = np.random.default_rng(1).uniform(size=(60, 2))
        made = bdp.synthesizers.NoisyMomentsSynthesizer({"x": (0, 1), "y": (0, 1)}, epsilon=4.0)
        model: Any = bdp.LinearRegressionModel("y")
        release = made.release(x)
    else:
        graph = bdp.networks.Network(5, [(0, 1), (0, 2), (0, 3), (1, 2)])
        models = {"beta_model": bdp.models.NetworkBetaModel, "ergm": bdp.models.ERGMModel}
        model = models[family](*(["edges"] if family == "ergm" else []))
        release = bdp.synthesizers.EdgeFlipSynthesizer(3.0).release(graph)
    idata = model.fit(release, draws=50, chains=2, warmup=50, seed=1)
    az.plot_trace(idata)
    az.plot_forest(idata)
    plt.close("all")
    with pytest.raises(InvalidInput, match="no likelihood of its parameters alone"):
        bdp.evaluate.log_likelihood(model, idata, release)


def test_models_are_compared(fits: Fits):
    az = import_arviz()
    found = {}
    for name in ("binomial", "hierarchical_binomial"):
        model, release, idata = fits[name]
        found[name] = bdp.evaluate.log_likelihood(model, idata, release, unit="groups")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = az.compare(found, ic="loo")
    assert set(table.index) == {*found}
    assert bool(np.isfinite(table["elpd_loo"]).all())


def test_one_output_is_left_out_whole():
    release = bdp.Release.of(M.BetaBinomialMechanism(20, 20, (3.0, 2.0)), [7])
    model = bdp.BinomialModel()
    idata = model.fit(release, draws=10, chains=1, seed=1)
    law = bdp.evaluate.log_likelihood(model, idata, release).log_likelihood["outputs"]
    assert law.dims == ("chain", "draw", "copy")
    p = idata.posterior["p"].to_numpy()[0]
    right = [by_hand("binomial", release, {"p": each}, None) for each in p]
    assert law[0, :, 0].to_numpy() == pytest.approx(right, rel=1e-9)


def test_several_releases_of_the_same_records_are_one_unit_a_group(fits: Fits):
    model, release = binomial()
    both = [release, of_groups(M.BetaBinomialMechanism(20, 20, (3.0, 2.0)))]
    idata = model.fit(both, draws=20, chains=1, seed=1)
    law = bdp.evaluate.log_likelihood(model, idata, both, unit="groups").log_likelihood["outputs"]
    assert law.sizes == {"chain": 1, "draw": 20, "group": 4}
    with pytest.raises(InvalidInput, match="there are several"):
        bdp.evaluate.log_likelihood(model, idata, both)


def test_a_flat_prior_has_a_likelihood_too(fits: Fits):
    _, release, idata = fits["gaussian"]
    flat = bdp.GaussianModel(sd=1.0)
    for part in release.parts:
        values = {"mu": idata.posterior["mu"].sel(group=part.group).to_numpy().ravel()[:9]}
        law = bdp.GaussianModel((0.0, 2.0), sd=1.0).pointwise([part], values)
        assert flat.pointwise([part], values) == pytest.approx(law, rel=1e-8)


def test_outputs_that_contradict_one_another_are_not_left_out():
    """What is left would have its posterior where no draw of the fit is, and no sum reaches."""
    noise = M.DiscreteLaplaceMechanism(1.5, 1.0, "replace_one", n=100)
    release = of_groups(noise, {"a": [10, 90], "b": [40, 42], "c": [50, 51]})
    model = bdp.BinomialModel()
    with pytest.warns(UserWarning, match="noise hardly explains"):
        idata = model.fit(release, draws=50, seed=1)
    with pytest.raises(InvalidInput, match="take unit='groups'"):
        bdp.evaluate.log_likelihood(model, idata, release)
    found = bdp.evaluate.log_likelihood(model, idata, release, unit="groups")
    p = float(idata.posterior["p"].sel(group="a")[0, 0])
    x = np.arange(101)
    law = sum(np.asarray(noise.logp(z, x)) for z in (10, 90)) + stats.binom(100, p).logpmf(x)
    value = float(found.log_likelihood["outputs"].sel(group="a")[0, 0])
    assert value == pytest.approx(special.logsumexp(law), rel=1e-9)


def test_what_has_no_likelihood_is_refused(fits: Fits):
    log_likelihood = bdp.evaluate.log_likelihood
    model, release, idata = fits["binomial"]
    with pytest.raises(InvalidInput, match="unit is 'copies'"):
        log_likelihood(model, idata, release, unit="copies")
    with pytest.raises(InvalidInput, match="isn't this model's posterior"):
        log_likelihood(bdp.GaussianModel(sd=1.0), idata, release)
    with pytest.raises(InvalidInput, match="isn't this model's posterior"):
        log_likelihood(model, idata, fits["gaussian"][1])
    with pytest.raises(InvalidInput, match="no likelihood of its parameters alone"):
        log_likelihood(bdp.models.NetworkBetaModel(), idata, release)
    alone = bdp.Release.of(release.parts[0].mechanism, [7, 8])
    with pytest.raises(InvalidInput, match="nothing is left"):
        log_likelihood(model, model.fit(alone, draws=5, seed=1), alone, unit="groups")
    table = bdp.Release.of(M.PerturbedHistogramMechanism(scale=2.0, cells=2), [(4, 6)])
    events = bdp.models.PoissonModel((2.0, 0.2), n=10)
    with pytest.raises(InvalidInput, match="tie the counts"):
        log_likelihood(events, events.fit(table, draws=1000, seed=1), table)
