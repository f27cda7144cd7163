"""PyMC and Stan programs of the models: complete, of one density, and of one posterior."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import without_notices
from bayesdp.engines.stan.programs import Program
from tests.conftest import require_pystan
from tests.inference.records.test_record_refusals import model as model_of_records
from tests.stan_log_density import log_densities

MODELS = {
    "binomial": bdp.BinomialModel(),
    "multinomial": bdp.MultinomialModel((1.0, 1.0)),
    "hierarchical_binomial": bdp.models.HierarchicalBinomialModel(),
    "poisson": bdp.models.PoissonModel(),
    "gamma": bdp.models.GammaModel((1.0, 1.0)),
    "multivariate_gaussian": bdp.models.MultivariateGaussianModel(),
    "beta_model": bdp.models.NetworkBetaModel(),
    "ergm": bdp.models.ERGMModel("edges"),
    "linear_regression": bdp.LinearRegressionModel("y"),
    "logistic_regression": bdp.LogisticRegressionModel("y ~ a"),
    "log_linear": bdp.models.LogLinearModel("a*b"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_code_is_a_complete_program_of_the_models_variables(name):
    model = MODELS[name]
    code = model.stan_code()
    assert "#include" not in code
    assert all(f"{block} {{" in code for block in ("data", "parameters", "model"))
    blocks = code[code.index("\nparameters {") :].split("model {")
    for name in model.variables:
        declaration = rf"(?m)^  [a-z_]+(<.*>)?(\[.*\])* {name}( = [^;]*)?;"
        assert any(re.search(declaration, block) for block in blocks), name
    assert Program(model.program, code).parameters


def test_a_model_without_a_program_says_which_engines_it_has(charest_release):
    model = model_of_records()
    calls = {
        "PyMC": [lambda: model.pymc_model(charest_release)],
        "Stan": [model.stan_code, lambda: model.stan_data(charest_release)],
    }
    for program, each in calls.items():
        for call in each:
            with pytest.raises(bdp.errors.InvalidInput) as error:
                call()
            assert f"has no {program} program; its engines are: augmentation" in str(error.value)
            assert "\n" not in str(error.value)


def test_counts_that_are_tied_are_refused():
    model = bdp.models.PoissonModel(n=40)
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match="tie the counts; use engine='gibbs'"):
            call(noisy_events())
    with pytest.raises(bdp.errors.InvalidInput, match="engine is 'pymc', but a known number"):
        model.fit(noisy_events(), engine="pymc")


def test_counts_that_do_not_sum_out_are_refused():
    model = bdp.MultinomialModel((1.0, 1.0, 1.0))
    noise = bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, "replace_one", n=20)
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match=r"don't sum out .*; use engine='auto'"):
            call(bdp.Release.of(noise, [(9, 7, 5)]))


@pytest.mark.parametrize(
    ("model", "release", "dims"),
    [
        ("hierarchical_binomial", "counts_of_groups", {"logit_mean": (), "release": ("group",)}),
        ("poisson", "noisy_events", {"rate": ("area",)}),
        ("poisson", "events_by_area", {"rate": ("group", "area")}),
        ("gamma", "sums_of_groups", {"rate": ("group",), "mean": ("group",)}),
        ("multinomial", "answers", {"theta": ("category",)}),
        ("multinomial", "answers_of_groups", {"theta": ("group", "category")}),
    ],
)
def test_the_dimensions_of_a_pymc_model_have_names(model, release, dims):
    prior = {"multinomial": (1.0, 1.0, 1.0)}.get(model, (2.0, 2.0))
    made = type(MODELS[model])(prior).pymc_model(globals()[release]())
    for name, expected in dims.items():
        assert tuple(made.named_vars_to_dims.get(name, ())) == expected
    if "group" in made.coords:
        assert list(made.coords["group"]) == list(globals()[release]().groups)


def test_more_counts_than_a_program_takes_are_refused():
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(3000.0, 1.0, "replace_one", n=150_000)
    release = bdp.Release.of_groups({g: (noise, [50_000]) for g in "ab"})
    model = bdp.models.HierarchicalBinomialModel()
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match="use engine='marginal'"):
            call(release)
    wide = bdp.mechanisms.DiscreteLaplaceMechanism(3000.0, 1.0, dimension=2)
    model = bdp.models.PoissonModel((1.0, 1e-6))
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match="use engine='exact'"):
            call(bdp.Release.of(wide, [(10**6, 10**6)]))


def test_more_terms_than_a_program_takes_are_refused(monkeypatch):
    monkeypatch.setattr("bayesdp.inference.gamma.model._MOST_TERMS", 100)
    model = bdp.models.GammaModel((1.0, 1.0))
    for call in (model.pymc_model, model.stan_data):
        with pytest.raises(bdp.errors.InvalidInput, match=r"than 100; use engine='exact'"):
            call(sums_of_groups())


@dataclass(frozen=True)
class Case:
    """A model, a release, and a random point of its programs' parameters.

    `also` turns a point of the Stan program into one of the PyMC program, where they differ, and
    `log_jacobian` is the log of how much that stretches.
    """

    model: Any
    release: Callable[[], bdp.Release]
    point: Callable[[Any], dict[str, Any]]
    also: Callable[[Any, Any], dict[str, Any]] = lambda data, point: point
    log_jacobian: Callable[[dict[str, Any]], float] = lambda point: 0.0


def counts_of_groups() -> bdp.Release:
    """Three groups, with as many cells as they have records and one."""
    copies = {n: bdp.mechanisms.BetaBinomialMechanism(n, 12, (5.0, 3.0)) for n in (12, 30)}
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(0.5, 1.0, "replace_one", n=7)
    outputs = {"a": (copies[12], [3, 4]), "b": (copies[30], [10, 9]), "c": (noise, [0, 1])}
    return bdp.Release.of_groups(outputs)


def events_by_area() -> bdp.Release:
    """Copies of two groups; in one of their areas no event can be."""
    made = [
        bdp.mechanisms.PoissonGammaMechanism(None, expected, 2.0, None)
        for expected in ((20.0, 0.0, 5.0), (2.0, 1.5, 40.0))
    ]
    outputs = [[(23, 0, 3), (20, 0, 4)], [(0, 3, 31), (1, 1, 40)]]
    return bdp.Release.of_groups(dict(zip("xy", zip(made, outputs, strict=True), strict=True)))


def noisy_events() -> bdp.Release:
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0, dimension=3)
    return bdp.Release.of(noise, [(3, -1, 40), (5, 0, 37)])


def sums_of_groups() -> bdp.Release:
    """Noisy sums of two groups, of different sizes."""
    made = [bdp.mechanisms.LaplaceMechanism(8.0, 8.0, "replace_one", n=n) for n in (30, 400)]
    outputs = [[20.0, 31.5], [1300.0, 1310.25]]
    return bdp.Release.of_groups(dict(zip("xy", zip(made, outputs, strict=True), strict=True)))


def moved_to_bounds() -> bdp.Release:
    """Copies of exponential records, of which many are moved to a bound."""
    made = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gamma((0, 1)), 20, (2.0,), 40, clip=True)
    with bdp.reproducible(5):
        return bdp.Release.of(made, made.release((25.0,), 2))


def answers_of_groups() -> bdp.Release:
    """Two groups of different size, with patterns of their own."""
    response = bdp.mechanisms.RandomizedResponseMechanism.kary
    return bdp.Release.of_groups(
        {
            "x": (response(1.0, 3, n=7), [(0, 1, 1, 2, 0, 0, 0), (0, 1, 0, 2, 0, 0, 1)]),
            "y": (response(2.0, 3, n=4), [(2, 2, 1, 2), (2, 2, 2, 0)]),
        }
    )


def answers() -> bdp.Release:
    one = answers_of_groups().parts[0]
    return bdp.Release.of(one.mechanism, list(one.outputs))


def flipped_ties() -> bdp.Release:
    import networkx as nx

    with bdp.reproducible(1):
        return bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(nx.path_graph(5))


def tied_one_way() -> bdp.Release:
    import networkx as nx

    with bdp.reproducible(1):
        declared = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0)
        return declared.release(nx.path_graph(4, create_using=nx.DiGraph))


def stretch(point: dict[str, Any]) -> Any:
    """Spread of each coefficient of a directed graph."""
    return np.repeat(point["spread"], 4)


CASES = {
    "binomial": Case(
        bdp.BinomialModel((0.5, 2.0)), counts_of_groups, lambda rng: {"p": rng.random(3)}
    ),
    "hierarchical_binomial": Case(
        bdp.models.HierarchicalBinomialModel((2.0, 0.7), concentration=4.0),
        counts_of_groups,
        lambda rng: {"logit_mean": rng.normal(0, 3), "log_kappa": rng.normal(1, 3)},
    ),
    "poisson": Case(
        bdp.models.PoissonModel((2.0, 0.7)),
        events_by_area,
        lambda rng: {"rate": rng.gamma(2.0, 1.0, (2, 3))},
    ),
    "gamma": Case(
        bdp.models.GammaModel((2.0, 0.7), 1.5),
        sums_of_groups,
        lambda rng: {"log_rate": rng.normal(0, 1, 2)},
        lambda data, point: {"rate": np.exp(point["log_rate"])},
        lambda point: point["log_rate"].sum(),
    ),
    "multinomial": Case(
        bdp.MultinomialModel((2.0, 0.7, 1.0)),
        answers_of_groups,
        lambda rng: {"theta": rng.dirichlet((1.0, 1.0, 1.0), 2)},
    ),
    "beta_model": Case(
        bdp.models.NetworkBetaModel(),
        flipped_ties,
        lambda rng: {"mean": np.zeros(0), "spread": np.zeros(0), "beta": rng.normal(0, 2, 5)},
    ),
    "beta_model of a population": Case(
        bdp.models.NetworkBetaModel(bdp.networks.NormalPrior(0.5, 2.0), spread=1.5),
        tied_one_way,
        lambda rng: {
            "mean": rng.normal(0, 2, 1),
            "spread": rng.gamma(2, 1, 2),
            "beta": rng.normal(0, 2, 8),
        },
        lambda data, point: point | {"z": (point["beta"] - point["mean"]) / stretch(point)},
        lambda point: -np.log(stretch(point)).sum(),
    ),
    "ergm": Case(
        bdp.models.ERGMModel("edges", bdp.networks.NormalPrior(0.5, 2.0)),
        flipped_ties,
        lambda rng: {"theta": rng.normal(0, 2, 1)},
        lambda data, point: {"z": (point["theta"] - data["centre"]) / data["scale"]},
    ),
}


def pymc_log_densities(model: Any, points: Sequence[dict[str, Any]]) -> list[float]:
    """Log density of its free variables, without the Jacobians of their transforms."""
    with without_notices():
        logp, found = model.compile_logp(jacobian=False), []
    for point in points:
        values = {}
        for free in model.free_RVs:
            value, transform = np.asarray(point[free.name]), model.rvs_to_transforms[free]
            if transform is not None:
                value = transform.forward(value, *free.owner.inputs).eval()
            values[model.rvs_to_values[free].name] = value
        found.append(float(logp(values)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_both_programs_have_one_density(name):
    """Up to a constant, at random points."""
    require_pystan()
    case, rng = CASES[name], np.random.default_rng(1)
    release, points = case.release(), [case.point(rng) for _ in range(20)]
    data = case.model.stan_data(release)
    in_stan = log_densities(case.model.program, data, points)
    model = case.model.pymc_model(release)
    in_pymc = pymc_log_densities(model, [case.also(data, point) for point in points])
    in_pymc = np.add(in_pymc, [case.log_jacobian(point) for point in points])
    assert np.ptp(in_stan) > 1
    assert np.ptp(np.subtract(in_stan, in_pymc)) < 1e-10 * np.ptp(in_stan)


@pytest.mark.slow
def test_the_check_convicts_another_prior():
    require_pystan()
    case, rng = CASES["hierarchical_binomial"], np.random.default_rng(1)
    release, points = case.release(), [case.point(rng) for _ in range(5)]
    data = {**case.model.stan_data(release), "concentration": 4.001}
    in_stan = log_densities(case.model.program, data, points)
    in_pymc = pymc_log_densities(case.model.pymc_model(release), points)
    assert np.ptp(np.subtract(in_stan, in_pymc)) > 1e-6 * np.ptp(in_stan)


def agree(first: Any, second: Any) -> None:
    """Means and variances within 5.2 Monte Carlo standard errors: false alarms of 2e-7 each."""
    assert set(first.posterior) == set(second.posterior)
    for name in first.posterior:
        one, other = (each.posterior[name] for each in (first, second))
        assert one.dims == other.dims
        middle = one.mean(("chain", "draw"))
        for power in (1, 2):
            moments = [(draws - middle * (power - 1)) ** power for draws in (one, other)]
            gap = moments[0].mean(("chain", "draw")) - moments[1].mean(("chain", "draw"))
            error = np.hypot(*(az.mcse(each)[name] for each in moments))
            assert bool((abs(gap) < 5.2 * error).all()), name


FITS = {
    "hierarchical_binomial": (
        bdp.models.HierarchicalBinomialModel((2.0, 0.7), concentration=4.0),
        counts_of_groups,
        "marginal",
    ),
    "poisson": (bdp.models.PoissonModel((2.0, 0.5)), noisy_events, "exact"),
    "poisson, groups": (bdp.models.PoissonModel((2.0, 0.5)), events_by_area, "exact"),
    "gamma": (bdp.models.GammaModel((2.0, 1.5)), moved_to_bounds, "exact"),
    "gamma, groups": (bdp.models.GammaModel((2.0, 1.5), 1.5), sums_of_groups, "exact"),
    "multinomial": (bdp.MultinomialModel((2.0, 0.7, 1.0)), answers, "marginal"),
    "multinomial, groups": (
        bdp.MultinomialModel((2.0, 0.7, 1.0)),
        answers_of_groups,
        "marginal",
    ),
}


@pytest.fixture(scope="module")
def fast() -> Callable[[str], Any]:
    """The fit by an engine of our own, made once."""

    @functools.cache
    def fit(name: str) -> Any:
        model, release, engine = FITS[name]
        return model.fit(release(), engine=engine, draws=3000, seed=4)

    return fit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("hierarchical_binomial", "pymc"),
        ("hierarchical_binomial", "stan"),
        ("poisson", "stan"),
        ("poisson, groups", "pymc"),
        ("gamma", "pymc"),
        ("gamma", "stan"),
        ("gamma, groups", "pymc"),
        ("gamma, groups", "stan"),
        ("multinomial", "stan"),
        ("multinomial, groups", "pymc"),
    ],
)
def test_draws_agree_with_the_fast_engine(name, engine, fast):
    if engine == "stan":
        require_pystan()
    model, release, _ = FITS[name]
    idata = model.fit(release(), engine=engine, draws=1500, warmup=700, seed=5)
    assert idata.attrs["engine"] == engine
    assert idata.attrs["verdict"].startswith("no problem found")
    assert not idata.sample_stats["diverging"].any()
    agree(fast(name), idata)


@pytest.mark.slow
def test_the_stan_program_of_pooled_proportions_draws_them_itself(fast):
    """As its users see it, whose program it is from `stan_code` and `stan_data` on."""
    require_pystan()
    from bayesdp.engines.stan import sampling as stan

    model, release, _ = FITS["hierarchical_binomial"]
    drawn = stan.sample(
        model.program, model.stan_data(release()), variables=["p"], draws=1500, seed=6
    )
    found, expected = drawn.posterior["p"], fast("hierarchical_binomial").posterior["p"]
    for g in range(3):
        here, there = found[..., g], expected.isel(group=g).to_numpy()
        for moments in ((here, there), (here**2, there**2)):
            error = np.hypot(*(az.mcse(each) for each in moments))
            assert abs(moments[0].mean() - moments[1].mean()) < 5.2 * error
