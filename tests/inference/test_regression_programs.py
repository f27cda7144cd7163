"""Programs of regressions and log-linear models: one density, that of their own engine too."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.inference.regression.start import white_space
from bayesdp.kernels.log_linear.likelihood import log_likelihood
from bayesdp.kernels.regression.coordinates import sampled_density
from bayesdp.mechanisms.counts.cells import Axis
from tests.conftest import require_pystan
from tests.inference.regression import test_linear_regression as moments
from tests.inference.regression import test_perturbed_coefficients as ridge
from tests.inference.test_programs import agree, pymc_log_densities
from tests.stan_log_density import log_densities

M = bdp.mechanisms
REPLACE = bdp.Neighbours.REPLACE_ONE
LABELS = {"a": (1, 2, 6), "b": ("u", "v"), "y": (0, 1)}
AXES = tuple(Axis(name, categories=labels) for name, labels in LABELS.items())
TABLE = ((4, 9, 2, 0, 7, 12, -3, 1, 5, 6, 3, 8), (6, 7, 2, 1, 9, 10, -1, -1, 5, 4, 4, 9))
DATA = {"a": [1.0, 2.0, 2.0, 6.0, 1.0, 6.0, 2.0, 1.0], "b": list("uvuvvuuv")}


def noisy_moments(p: int, n: int | None, noise: str) -> bdp.Release:
    rng = np.random.default_rng(p)
    numbers = moments.simulated(rng, 1, 30, p)["numbers"][0]
    made = moments.mechanism(p, 4.0, n, noise)
    return moments.released(made, numbers if n else np.append(30.0, numbers), rng, copies=2)


def coefficients() -> bdp.Release:
    return ridge.released(ridge.mechanism(), [(0.35, 0.2), (0.2, 0.4)])


def counts(kind: type = M.DiscreteLaplaceMechanism) -> bdp.Release:
    return bdp.Release.of(kind(1.5, dimension=12), list(TABLE))


def records() -> bdp.Release:
    made = M.RandomizedResponseMechanism.kary(2.5, 12, 8)
    return bdp.Release.of(made, [(0, 3, 11, 3, 5, 7, 0, 2), (0, 3, 10, 4, 5, 7, 0, 1)])


def answers(copies: int = 2) -> bdp.Release:
    made = M.RandomizedResponseMechanism(((3, 1), (2, 5)), n=8)
    return bdp.Release.of(made, [(0, 1, 1, 0, 1, 1, 0, 0), (0, 1, 0, 0, 1, 1, 1, 0)][:copies])


LINEAR = moments.model()
LOG_LINEAR = bdp.models.LogLinearModel("a + b*y", 0.7, intercept=(1.5, 0.5), categories=LABELS)
LOGISTIC = bdp.LogisticRegressionModel(
    "y ~ a + b", (0.1, 1.2), spread=0.8, rate=(1.5, 0.5), categories=LABELS
)
PUBLIC = bdp.LogisticRegressionModel("y ~ a*b", (0.1, 1.2), success=0, data=DATA)
CASES: dict[str, tuple[Any, Callable[[], bdp.Release]]] = {
    "moments, laplace": (LINEAR, lambda: noisy_moments(3, 30, "laplace")),
    "moments, normal": (LINEAR, lambda: noisy_moments(1, 30, "gaussian")),
    "moments, n unknown": (
        moments.model(n=range(9, 90)),
        lambda: noisy_moments(2, None, "laplace"),
    ),
    "moments, few n": (moments.model(n=range(29, 32)), lambda: noisy_moments(1, None, "gaussian")),
    "coefficients": (ridge.model(), coefficients),
    "table": (LOG_LINEAR, counts),
    "table, scales": (
        dataclasses.replace(LOG_LINEAR, prior={"a": 0.5}),
        lambda: counts(M.DiscreteGaussianMechanism),
    ),
    "logistic, table": (LOGISTIC, counts),
    "logistic, records": (dataclasses.replace(LOGISTIC, success=0), records),
    "logistic, public": (PUBLIC, answers),
    "logistic, one copy": (PUBLIC, lambda: answers(1)),
}


def points_of(model: Any, data: dict[str, Any]) -> list[dict[str, Any]]:
    """Random points of a Stan program's parameters, about where it starts."""
    rng = np.random.default_rng(4)
    if model.family == "linear_regression":
        unknown = int(data["n_low"] < data["n_high"])
        return [
            {
                "q": rng.normal(0, 1, len(data["origin"])),
                "more": rng.normal(),
                "away": rng.normal(0, 1, data["d"]),
                "place": rng.random(unknown),
            }
            for _ in range(10)
        ]
    near = [data["centre"] + data["scale"] * rng.normal(0, 1, data["J"]) for _ in range(10)]
    if model.family == "log_linear":
        return [{"effect": u, "tau": rng.gamma(4.0, 0.25, data["T"])} for u in near]
    return [
        {
            "coefficient": u,
            "frequency": rng.normal(0, 1, data["F"]),
            "level": rng.normal(1.5, 0.5, data["L"]),
        }
        for u in near
    ]


def for_pymc(model: Any, data: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    """The same point as the PyMC program has it."""
    if model.family == "linear_regression":
        return {**point, "place": point["place"][:1].sum()}
    if model.family == "log_linear":
        return {"effect_z": (point["effect"] - data["centre"]) / data["scale"], "tau": point["tau"]}
    kinds = {"coefficient": "", "frequency": "frequency_", "level": "level_"}
    made = {
        f"{name}_z": (point[name] - data[f"{start}centre"]) / data[f"{start}scale"]
        for name, start in kinds.items()
    }
    return {**made, "level_z": made["level_z"].sum()}


def by_its_own_engine(model: Any, given: Any, data: dict[str, Any], point: dict[str, Any]) -> float:
    """Log density of the point, by the kernels that the model's own engine runs."""
    if model.family == "linear_regression":
        space = white_space(given.hidden)
        shape = data["a"] + data["n_low"] / 2
        log_precision = np.log(shape) + point["more"] / np.sqrt(shape)
        moved = sampled_density(point["q"], np.empty(point["q"].size), space)
        drawn = shape * log_precision - np.exp(log_precision) - np.sum(point["away"] ** 2) / 2
        return float(moved + drawn)
    problem = given.problem
    if model.family == "log_linear":
        tau, own = point["tau"], problem.owners >= 0
        u = point["effect"] * np.append(tau, 1.0)[problem.owners]
        away = np.where(own, point["effect"], (u - problem.mean) / problem.sd)
        prior = -np.sum((tau / problem.scales) ** 2) / 2
    else:
        u = np.concatenate([point["level"], point["frequency"], point["coefficient"]])
        away, prior = (u - problem.mean) / problem.sd, 0.0
    size, nothing = len(problem.columns), np.zeros(u.size)
    found = log_likelihood(
        problem.model(summed=True), problem.released, u, np.zeros(size, dtype=np.int64), nothing, 0,
        np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size), nothing.copy(),
    )  # fmt: skip
    return float(found + prior - np.sum(away**2) / 2)


def compared(name: str, changed: dict[str, float] | None = None) -> tuple[float, float]:
    """Ranges of Stan's log densities and of PyMC's gap to them, some of Stan's data changed."""
    require_pystan()
    model, made = CASES[name]
    release = made()
    data = model.stan_data(release)
    points = points_of(model, data)
    changed = {key: data[key] * factor for key, factor in (changed or {}).items()}
    in_stan = log_densities(model.program, {**data, **changed}, points)
    there = [for_pymc(model, data, point) for point in points]
    in_pymc = pymc_log_densities(model.pymc_model(release), there)
    if not changed and name not in ("moments, n unknown", "moments, few n"):
        given = model.read(release)
        own = [by_its_own_engine(model, given, data, point) for point in points]
        assert np.ptp(np.subtract(in_stan, own)) < 1e-10 * np.ptp(in_stan)
    return float(np.ptp(in_stan)), float(np.ptp(np.subtract(in_stan, in_pymc)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_all_programs_have_the_density_of_the_own_engine(name):
    """Up to a constant, at random points; an unknown n is summed over there given other things."""
    whole, gap = compared(name)
    assert whole > 1
    assert gap < 1e-10 * whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("moments, n unknown", {"psi": 1.0001}),
        ("coefficients", {"penalty": 1.0001}),
        ("table, scales", {"tau_scale": 1.0001}),
        ("logistic, table", {"spread": 1.0001}),
        ("logistic, records", {"counts": 1.0001}),
    ],
)
def test_the_check_convicts_other_data(name, changed):
    whole, gap = compared(name, changed)
    assert gap > 1e-8 * whole  # 100 times what is allowed


ENGINES = [
    ("moments, n unknown", "stan"),
    ("moments, normal", "pymc"),
    ("coefficients", "stan"),
    ("table", "pymc"),
    ("table, scales", "stan"),
    ("logistic, table", "stan"),
    ("logistic, records", "pymc"),
    ("logistic, public", "stan"),
]


@functools.cache
def fast(name: str) -> Any:
    """The fit by the model's own engine."""
    model, made = CASES[name]
    return model.fit(made(), engine="hmc", draws=3000, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_draws_agree_with_the_own_engine(name, engine):
    if engine == "stan":
        require_pystan()
    model, made = CASES[name]
    idata = model.fit(made(), engine=engine, draws=1500, warmup=700, seed=5)
    assert idata.attrs["engine"] == engine
    assert idata.attrs["verdict"].startswith("no problem found")
    agree(fast(name), idata)
    for variable, draws in idata.posterior.items():
        for dim in draws.dims[2:]:
            assert draws[dim].equals(fast(name).posterior[variable][dim])


@pytest.mark.parametrize(
    ("name", "dims", "size"),
    [
        ("moments, few n", {"beta": ("coefficient",), "sigma": (), "n": ()}, "d"),
        ("table, scales", {"beta": ("term",), "tau": ("scale",), "probability": ("cell",)}, "B"),
        ("logistic, public", {"beta": ("coefficient",)}, "J"),
    ],
)
def test_the_dimensions_of_a_pymc_model_have_names(name, dims, size):
    model, made = CASES[name]
    program = model.pymc_model(made())
    for variable, expected in dims.items():
        assert tuple(program.named_vars_to_dims.get(variable, ())) == expected
        assert program[variable].ndim == len(expected)
    labels = program.coords[dims["beta"][0]]
    assert labels[0].lower() == "intercept"
    assert len(labels) == len(set(labels)) == model.stan_data(made())[size]


def marginals() -> bdp.Release:
    pairs = (("a", "y"), ("b", "y"))
    made = M.NoisyMarginalsMechanism(2.0, AXES, pairs)
    return bdp.Release.of(made, [made.statistic(np.arange(12))])


def synthetic() -> bdp.Release:
    made = M.DirichletMultinomialMechanism(60, 60, 12, 4.0, (), AXES)
    return bdp.Release.of(made, [(5,) * 12])


def of_logits() -> bdp.Release:
    bounds = {"a": (1, 6), "b": (0, 1), "y": (0, 1)}
    made = M.PerturbedCoefficientsMechanism(bounds, "y", 3.0, 0.3, 60, loss="logistic")
    return bdp.Release.of(made, [(0.0, 0.0, 0.0)])


@pytest.mark.parametrize(
    ("model", "made", "why"),
    [
        (dataclasses.replace(LOG_LINEAR, n=60), counts, "their total is known"),
        (dataclasses.replace(LOG_LINEAR, categories=None), marginals, "counts overlap"),
        (dataclasses.replace(LOGISTIC, n=60), counts, "their total is known"),
        (dataclasses.replace(LOGISTIC, categories=None), synthetic, "given all of them"),
        (
            dataclasses.replace(LOGISTIC, categories={"a": (1, 2, 6), "b": (0, 1)}, factors=["b"]),
            of_logits,
            "a function of the whole table",
        ),
    ],
)
def test_tables_that_do_not_sum_out_are_refused_in_a_line(model, made, why):
    release = made()
    calls = [lambda: model.pymc_model(release), lambda: model.stan_data(release)]
    calls += [lambda e=e: model.fit(release, engine=e) for e in ("pymc", "stan")]
    for call in calls:
        with pytest.raises(
            bdp.errors.InvalidInput, match=f"{why}.*; use engine='.*gibbs'"
        ) as error:
            call()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("scale", "outputs"),
    [(500.0, [(10**6,) * 12]), (1e7, [(3,) * 12]), (1.0, [(0,) * 12, (10**9,) * 12])],
)
def test_more_counts_than_a_program_takes_are_refused(scale, outputs):
    """Before so many are listed."""
    wide = bdp.Release.of(M.DiscreteLaplaceMechanism(scale, dimension=12), outputs)
    for model in (LOG_LINEAR, LOGISTIC):
        for call in (model.pymc_model, model.stan_data):
            with pytest.raises(bdp.errors.InvalidInput, match="use engine='hmc'"):
                call(wide)


def test_counts_within_the_reach_of_noise_are_summed_over():
    """All that have a law within e^-60 of the largest, those of copies far apart too."""
    made = M.DiscreteLaplaceMechanism(1.5, dimension=12)
    release = bdp.Release.of(made, [(40,) * 12, (400,) * 12])
    data = LOG_LINEAR.stan_data(release)
    x, law = (data[name][: data["last"][0]] for name in ("x", "log_law"))
    every = np.arange(600)
    right = -(np.abs(every - 40) + np.abs(every - 400)) / 1.5
    kept = right >= right.max() - 60
    assert np.array_equal(x, every[kept])
    assert law == pytest.approx(right[kept], abs=1e-9)


def test_thinning_is_not_left_out_in_silence():
    with pytest.raises(bdp.errors.InvalidInput, match="thin is 3, but engine='pymc' keeps every"):
        LOG_LINEAR.fit(counts(), engine="pymc", thin=3)
    with pytest.raises(bdp.errors.InvalidInput, match="thin is 3, but engine='pymc' keeps every"):
        PUBLIC.fit(answers(), engine="pymc", thin=3)
