"""The censored regression synthesizer: its laws, its programs, and what it promises."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.draws import Draws
from bayesdp.engines.stan import sampling as stan
from bayesdp.synthesis import posterior
from bayesdp.synthesis.censored_chains import Chains
from bayesdp.synthesis.censored_regression_law import CATEGORICAL, FAMILIES, RegressionLaw, Rows
from tests.conftest import require_pystan
from tests.stan_log_density import log_densities

N = 30
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2))
Y: dict[str, Any] = {
    "normal": RNG.normal(size=N),
    "log_normal": RNG.lognormal(size=N),
    "gamma": RNG.gamma(2, 1, size=N),
    "poisson": RNG.poisson(3, size=N),
    "negative_binomial": RNG.poisson(RNG.gamma(2, 2, size=N)),
    "categorical": RNG.integers(0, 3, size=N),
    "binary": RNG.integers(0, 2, size=N),
}
WEIGHTS = np.append(0.0, RNG.random(N - 1) * 2)
LABELS = ("low", "middle", "high")


def synthesizer(family: str, **options: Any) -> Any:
    usual: dict[str, Any] = {"epsilon": 4.0, "family": family, "size": 50}
    if family == CATEGORICAL:
        usual["categories"] = {options.get("response", "value"): LABELS}
    return bdp.synthesizers.CensoredRegressionSynthesizer(**(usual | options))


def law_of(family: str, predictors: int) -> RegressionLaw:
    family, categories = ("categorical", 2) if family == "binary" else (family, 3)
    categories = categories if family == CATEGORICAL else 2
    names, sds = ("a", "b")[:predictors], (1.5, 2.5)[:predictors]
    return RegressionLaw(family, names, categories, (0.3, 2.0), sds, 1.2)


def points_of(law: RegressionLaw) -> list[dict[str, Any]]:
    """Random parameters, in the shapes of the Stan program."""
    rng, j, k = np.random.default_rng(1), law.categories - 1, len(law.predictors)
    return [
        {
            "intercept": rng.normal(size=j),
            "slope": rng.normal(size=(k, j)),
            "sigma": np.exp(rng.normal(size=1) / 2) if law.known.spread else np.empty(0),
        }
        for _ in range(3)
    ]


def in_pymc(law: RegressionLaw, point: dict[str, Any]) -> dict[str, Any]:
    """The same parameters, in the shapes of the PyMC model."""
    kept = {name: np.asarray(point[name])[None, None] for name in law.parameters}
    return {name: each[0, 0] for name, each in law.from_stan(kept).items()}


def log_prior(law: RegressionLaw, point: dict[str, Any]) -> float:
    pairs = zip(law.prior_slope, point["slope"], strict=True)
    slopes = (stats.norm(0, s).logpdf(b).sum() for s, b in pairs)
    spread = stats.halfnorm(scale=1.2).logpdf(point["sigma"]).sum()
    return float(stats.norm(0.3, 2.0).logpdf(point["intercept"]).sum() + sum(slopes) + spread)


def by_hand(law: RegressionLaw, point: dict[str, Any], y: Any, x: Any) -> np.ndarray:
    """Log densities by SciPy's distributions."""
    eta = point["intercept"] + x @ point["slope"]
    if law.family == CATEGORICAL:
        eta = np.column_stack([np.zeros(len(y)), eta])
        return eta[np.arange(len(y)), y] - special.logsumexp(eta, axis=1)
    eta, s = eta[:, 0], (point["sigma"][0] if law.known.spread else math.nan)
    if law.family == "poisson":
        return stats.poisson(np.exp(eta)).logpmf(y)
    if law.family == "negative_binomial":
        return stats.nbinom(s**-2, 1 / (1 + s**2 * np.exp(eta))).logpmf(y)
    made: Any = {
        "normal": stats.norm(eta, s),
        "log_normal": stats.lognorm(s, scale=np.exp(eta)),
        "gamma": stats.gamma(s**-2, scale=s**2 * np.exp(eta)),
    }[law.family]
    return made.logpdf(y)


CASES = [(f, k, w) for f in Y for k, w in ((0, None), (2, None), (2, WEIGHTS))]


@pytest.mark.parametrize(("family", "predictors", "weights"), CASES)
def test_pymcs_density_is_the_law_clipped(family: str, predictors: int, weights: Any):
    law = law_of(family, predictors)
    rows, points = Rows(Y[family], X[:, :predictors]), points_of(law)
    chains = Chains("pymc", 0.8, 1, "add_remove", None, law)
    model = chains.censored_model(rows, weights)
    density = model.compile_logp(jacobian=False)
    for point in points:
        right = by_hand(law, point, rows.y, rows.x)
        given = in_pymc(law, point)
        drawn = {name: np.asarray(each)[None, None] for name, each in given.items()}
        assert law.log_density(drawn, rows)[0, 0] == pytest.approx(right, rel=1e-10, abs=1e-10)
        if "sigma" in given:
            given["sigma_log__"] = np.log(given.pop("sigma"))
        clipped = np.clip(right if weights is None else weights * right, *chains.interval)
        assert (clipped != right).any()
        right_sum = clipped.sum() + log_prior(law, point)
        assert float(density(given)) == pytest.approx(right_sum, rel=1e-10)


@pytest.mark.slow
def test_stans_density_is_the_law_clipped():
    """Differences between random points, for each family, with predictors and without."""
    require_pystan()
    for family, predictors, weights in [("normal", 0, None), *((f, 2, WEIGHTS) for f in Y)]:
        law = law_of(family, predictors)
        rows, points = Rows(Y[family], X[:, :predictors]), points_of(law)
        chains = Chains("stan", 0.8, 1, "add_remove", None, law)
        seen = log_densities(law.program, chains.stan_data(rows, weights), points)
        right = []
        for point in points:
            each = by_hand(law, point, rows.y, rows.x) * (1.0 if weights is None else weights)
            right.append(np.clip(each, *chains.interval).sum() + log_prior(law, point))
        assert np.ptp(seen - right) < 1e-10 * np.abs(right).max(), (family, predictors)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_a_pseudo_posterior_is_that_of_quadrature(engine: str):
    """Means within 5.2 Monte Carlo standard errors; log densities are each record's."""
    if engine == "stan":
        require_pystan()
    y = Y["poisson"]
    made = synthesizer("poisson", engine=engine, prior_intercept=(0.3, 2.0))
    idata = made.pseudo_posterior(y, seed=2, log_lik=True)
    grid = np.linspace(-4, 6, 20_001)
    terms = np.clip(stats.poisson(np.exp(grid)[:, None]).logpmf(y), -4.0, 0.0).sum(axis=1)
    weight = special.softmax(terms + stats.norm(0.3, 2.0).logpdf(grid))
    mean = float(weight @ grid)
    sd = math.sqrt(float(weight @ (grid - mean) ** 2))
    drawn = idata.posterior["intercept"]
    from bayesdp.engines.draws import import_arviz

    error = float(import_arviz().mcse(idata)["intercept"])
    assert error < 0.05 * sd
    assert abs(float(drawn.mean()) - mean) < 5.2 * error
    assert float(drawn.std()) == pytest.approx(sd, rel=0.1)
    found = idata.log_likelihood["log_lik"][1, 5].to_numpy()
    right = np.clip(stats.poisson(math.exp(float(drawn[1, 5]))).logpmf(y), -4.0, 0.0)
    assert found == pytest.approx(right, rel=1e-9)
    assert idata.constant_data["lipschitz"].shape == (N,)
    assert float(idata.constant_data["lipschitz"].max()) <= 4.0


ALMOST = 1e-7
TRUTH = {"intercept": 0.4, "slope_x": -0.3, "sigma": 0.5}


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != CATEGORICAL])
def test_synthetic_records_follow_the_family(family: str):
    """Moments of records at known parameters, 6 standard errors; the grid is one point, nearly."""
    size = 20_000
    x = np.repeat([0.0, 2.0], size // 2)
    names = [n for n in TRUTH if n != "sigma" or FAMILIES[family].spread]
    made = synthesizer(
        family,
        engine="grid",
        response="y",
        predictors=("x",),
        covariates={"x": x},
        size=size,
        grid_bounds={n: (TRUTH[n] - ALMOST, TRUTH[n] + ALMOST) for n in names},
        grid_size=2,
    )
    with bdp.reproducible(4):
        release = made.release({"y": Y[family], "x": X[:, 0]})
    (frame,) = release.to_frames()
    for value in (0.0, 2.0):
        y = frame["y"][frame["x"] == value].to_numpy(dtype=np.float64)
        assert y.size == size // 2
        y = np.log(y) if family == "log_normal" else y
        eta = 0.4 - 0.3 * value
        mean = eta if family in ("normal", "log_normal") else math.exp(eta)
        variance = {
            "normal": 0.25,
            "log_normal": 0.25,
            "gamma": 0.25 * mean**2,
            "poisson": mean,
            "negative_binomial": mean + 0.25 * mean**2,
        }[family]
        assert abs(y.mean() - mean) < 6 * y.std() / math.sqrt(y.size)
        squares = (y - y.mean()) ** 2
        assert abs(squares.mean() - variance) < 6 * squares.std() / math.sqrt(y.size)


HUGE: dict[str, tuple[float, ...]] = {
    "normal": (1e300, -1e300, 0.0),
    "log_normal": (1e300, 1e-300, 1.0),
    "gamma": (1e300, 1e-300, 1.0),
    "poisson": (0, 2**31 - 1, 3),
    "negative_binomial": (0, 2**31 - 1, 3),
}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("family", list(HUGE))
def test_one_record_moves_no_cell_by_more_than_epsilon(family: str, neighbours: str):
    """The law of the grid's cells, by enumeration, for records at the ends of their range."""
    spread = FAMILIES[family].spread
    bounds = {"intercept": (-3.0, 3.0), **({"sigma": (0.1, 3.0)} if spread else {})}
    made = synthesizer(
        family, epsilon=1.0, engine="grid", grid_bounds=bounds, grid_size=9, neighbours=neighbours
    )
    laws = []
    for extra in HUGE[family]:
        rows, weights = made._read(np.append(Y[family][:5], extra))
        grid = made._posterior(rows, weights, None)._grid()
        logs = grid.log_weights * 2.0**-grid.bits
        laws.append(logs - special.logsumexp(logs))
    rows, weights = made._read(Y[family][:5])
    grid = made._posterior(rows, weights, None)._grid()
    without = grid.log_weights * 2.0**-grid.bits
    without -= special.logsumexp(without)
    pairs = [(a, b) for a in laws for b in laws]
    if neighbours == "add_remove":
        pairs = [(a, without) for a in laws]
    most = max(float(np.abs(a - b).max()) for a, b in pairs)
    assert 0.01 < most <= 1.0 + 1e-12


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Draws of Stan without sampling: intercept 1, slope 0 and sigma 0.5."""
    seen: dict[str, Any] = {}

    def fake(program: str, data: Any, *, variables: Any, draws: int, chains: int, **more: Any):
        seen.update(program=program, data=data, variables=variables, chains=chains)
        shape = (chains, draws)
        made = {
            "intercept": np.ones((*shape, data["J"])),
            "slope": np.zeros((*shape, data["K"], data["J"])),
            "sigma": np.full((*shape, 1), 0.5),
        }
        return Draws({name: made[name] for name in variables}, {}, "stan")

    monkeypatch.setattr(stan, "sample", fake)
    monkeypatch.setattr(stan, "compile_program", lambda name: None)
    monkeypatch.setattr(posterior, "check_converged", lambda draws: None)
    return seen


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_release_by_stan(family: str, quick: dict[str, Any], tmp_path: Any):
    y = np.array(LABELS)[Y[family]] if family == CATEGORICAL else Y[family]
    public = np.linspace(-1, 1, 50)
    made = synthesizer(
        family,
        engine="stan",
        copies=2,
        response="y",
        predictors=("age",),
        covariates=pd.DataFrame({"age": public}),
        neighbours="replace_one",
    )
    release = made.release(pd.DataFrame({"age": X[:, 0], "y": y, "other": "kept out"}))
    assert release.mechanism.n == N
    assert release.mechanism.engine == "stan"
    assert release.guarantee == made.guarantee()
    assert release.guarantee.strength is bdp.Strength.CONDITIONAL
    assert quick["program"] == "censored_regression"
    ends = release.mechanism.lower, release.mechanism.upper
    assert (quick["data"]["low"], quick["data"]["high"]) == ends
    width = quick["data"]["high"] - quick["data"]["low"]
    assert width == pytest.approx(1.0)  # a quarter of epsilon: two copies, and replace-one
    assert [sorted(frame) for frame in release.to_frames()] == [["age", "y"]] * 2
    for frame in release.to_frames():
        assert sorted(frame["age"]) == pytest.approx(public)
        if family == CATEGORICAL:
            assert set(frame["y"]) == set(LABELS)
            continue
        assert FAMILIES[family].allowed(frame["y"].to_numpy(dtype=np.float64)).all()
    if family == CATEGORICAL:
        assert (quick["data"]["category"] - 1 == Y[family]).all()
    release.save(tmp_path / "out")
    loaded = bdp.Release.load(tmp_path / "out")
    assert loaded.fingerprint == release.fingerprint
    for one, other in zip(loaded.to_frames(), release.to_frames(), strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(("b", "a"), "O"), ((3, 1), "i"), ((0.5, 0.25), "f"), ((True, False), "b")],
)
def test_copies_have_the_declared_labels(labels: Any, kind: str, tmp_path: Any):
    """The second is a third of the records, within 6 standard errors: another order would show."""
    size, intercept = 3000, (-0.70, -0.68)
    made = synthesizer(
        CATEGORICAL,
        engine="grid",
        grid_bounds={"intercept": intercept},
        size=size,
        categories={"value": labels},
    )
    with bdp.reproducible(1):
        release = made.release(pd.Series([labels[0]] * 60 + [labels[1]] * 30, name="value"))
    release.save(tmp_path / "out")
    for found in (release, bdp.Release.load(tmp_path / "out")):
        (frame,) = found.to_frames()
        assert frame["value"].dtype.kind == kind
        assert set(frame["value"]) == set(labels)
        share = float((frame["value"] == labels[1]).mean())
        assert abs(share - special.expit(-0.69)) < 6 * math.sqrt(0.25 / size)
    assert found.mechanism.axes[0].categories == labels


def test_a_release_by_pymc(monkeypatch: pytest.MonkeyPatch):
    def fake(model: Any, *, variables: Any, draws: int, chains: int, **more: Any) -> Draws:
        assert "censored_log_likelihood" in model.named_vars
        assert list(variables) == ["intercept"]
        return Draws({"intercept": np.full((chains, draws), 1.0)}, {}, "pymc")

    monkeypatch.setattr(posterior, "sample", fake)
    monkeypatch.setattr(posterior, "check_converged", lambda draws: None)
    made = synthesizer("poisson", size=2000)
    release = made.release(pd.Series(Y["poisson"], name="visits"))
    (frame,) = release.to_frames()
    assert list(frame) == ["visits"]
    assert release.mechanism.engine == "pymc"
    assert release.guarantee == made.guarantee()
    assert abs(frame["visits"].mean() - math.e) < 6 * math.sqrt(math.e / 2000)


def test_weights_are_not_shown():
    """Those of confidential records may be confidential too."""
    import pymc as pm

    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu"), observed=[0.5])
    given: dict[str, Any] = {"epsilon": 1.0, "weights": [0.1234567]}
    for made in (
        bdp.synthesizers.CensoredRegressionSynthesizer(**given),
        bdp.synthesizers.CensoredBetaSynthesizer(**given, engine="stan"),
        bdp.PosteriorSynthesizer(model, **given, size=1),
    ):
        assert "1234567" not in repr(made)


def test_weights_are_functions_of_one_record():
    seen: list[Any] = []

    def weight(record: Any) -> float:
        seen.append(record)
        return 0.5 if record["a"][0] > 0 else 1.0

    made = synthesizer(
        "normal",
        response="y",
        predictors=("a",),
        covariates={"a": np.zeros(50)},
        weights=weight,
        engine="stan",
    )
    data = made.stan_data({"y": Y["normal"], "a": X[:, 0]})
    assert len(seen) == N
    assert all(len(each["y"]) == len(each["a"]) == 1 for each in seen)
    assert data["weight"].tolist() == [0.5 if a > 0 else 1.0 for a in X[:, 0]]
    alone = synthesizer("normal", weights=lambda y: 1.0 / (1.0 + abs(float(y[0]))))
    assert alone.stan_data(Y["normal"])["weight"] == pytest.approx(1 / (1 + np.abs(Y["normal"])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon is 0"),
        ({"family": "cauchy"}, "family is 'cauchy'"),
        ({"engine": "exact"}, "engine is 'exact'"),
        ({"neighbours": "edge"}, "neighbours"),
        ({"categories": {"value": ("a", "b")}}, "categories go with"),
        ({"family": "categorical", "categories": {"value": ("a",)}}, "two or more"),
        ({"family": "categorical", "categories": ("a", "b")}, "must map the response"),
        ({"family": "categorical", "categories": {"y": "ab"}, "response": "z"}, "must map the"),
        ({"family": "categorical", "categories": None}, "categories go with"),
        ({"family": "categorical", "categories": {"y": (1, "a")}}, "of several types"),
        ({"predictors": ("a",)}, "response is missing"),
        ({"predictors": ("y",), "response": "y"}, "all different"),
        ({"predictors": "age", "response": "y"}, "all different"),
        ({"predictors": ("sigma",), "response": "y"}, "none of intercept"),
        ({"predictors": ("a",), "response": "slope_a", "engine": "grid"}, "rename the column"),
        ({"predictors": ("a", "slope_a"), "response": "y"}, "rename the column"),
        ({"predictors": ("a",), "response": "y"}, "give public values of each"),
        ({"covariates": {"a": [1.0]}}, "and nothing else"),
        ({"covariates": [1.0]}, "covariates is a list; it must map each predictor"),
        ({"prior_intercept": (0.0, 0.0)}, "prior_intercept"),
        ({"prior_intercept": 1.0}, "prior_intercept"),
        ({"prior_slope": -1.0, "response": "y", "predictors": ("a",)}, "prior_slope is -1"),
        ({"prior_slope": (1.0, 2.0)}, "prior_slope has 2 numbers"),
        ({"prior_sigma": math.inf}, "prior_sigma"),
        ({"center": math.nan}, "center"),
        ({"size": 0}, "size is 0"),
        ({"copies": 1.5}, "copies is 1.5"),
        ({"grid_size": 10}, "for engine='grid'"),
        ({"weights": [-1.0]}, "weights must be"),
        ({"weights": np.ma.array([1.0], mask=[1])}, "weights must be"),
    ],
)
def test_wrong_parameters_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        synthesizer(**({"family": "normal"} | options))


TABLE = {"y": [1.0, 2.0], "a": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("family", "data", "message"),
    [
        ("normal", [0.1234567, math.nan], "missing"),
        ("normal", [0.1234567, math.inf], "infinite"),
        ("normal", [], "data is empty"),
        ("normal", [[0.1234567]], "2 dimensions"),
        ("normal", ["0.1234567"], "doesn't hold numbers"),
        ("normal", np.ma.masked_array([0.1234567], [True]), "missing"),
        ("gamma", [0.1234567, 0.0], "positive numbers"),
        ("log_normal", [0.1234567, -1.0], "positive numbers"),
        ("poisson", [2, 0.1234567], "whole numbers from 0"),
        ("poisson", [2, -1], "whole numbers from 0"),
        ("negative_binomial", [2, 2**31], "whole numbers from 0"),
        ("categorical", ["low", "0.1234567"], "outside its categories"),
        ("normal", {"x": [0.1234567]}, "no column 'value'"),
    ],
)
def test_wrong_data_are_refused_and_not_shown(family: str, data: Any, message: str):
    made = synthesizer(family, engine="stan")
    with pytest.raises(bdp.errors.InvalidInput, match=message) as caught:
        made.release(data)
    assert "1234567" not in str(caught.value)


def test_tables_need_all_columns():
    made = synthesizer(
        "normal", response="y", predictors=("a",), covariates={"a": np.zeros(50)}, engine="stan"
    )
    assert made.stan_data(TABLE)["x"].tolist() == [[0.5], [0.25]]
    for wrong, message in (
        ([1.0, 2.0], "must be a table"),
        ({"y": [1.0, 2.0]}, "no column 'a'"),
        (TABLE | {"a": ["u", "v"]}, "doesn't hold numbers"),
        (TABLE | {"a": [0.5]}, "columns of different lengths"),
        (pa.table(TABLE), r"columns have no names.*data\.to_pandas\(\)"),
        ("rows.csv", "no records; those of a file"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            made.stan_data(wrong)


def test_the_grid_has_no_chains():
    bounds = {"intercept": (-1.0, 2.0)}
    made = synthesizer("poisson", engine="grid", grid_bounds=bounds, grid_size=30)
    with pytest.raises(bdp.errors.InvalidInput, match="which has no chains"):
        made.pseudo_posterior(Y["poisson"])
    with pytest.raises(bdp.errors.InvalidInput, match="grid_bounds is None"):
        synthesizer("poisson", engine="grid").guarantee()
    assert made.guarantee().strength is bdp.Strength.PROVED


def test_its_programs_are_public():
    made = synthesizer("gamma")
    assert "inv_square(sigma)" in made.stan_code()
    model = made.pymc_model(Y["gamma"])
    assert {each.name for each in model.free_RVs} == {"intercept", "sigma"}
    assert "censored_log_likelihood" in model.named_vars
    assert made.stan_data(Y["gamma"], log_lik=True)["log_densities"] == 1
