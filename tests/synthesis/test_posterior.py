"""Synthetic records from any PyMC model: draws, predictions, promises and refusals."""

import math
from traceback import format_exception
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines.draws import Draws
from bayesdp.engines.pymc.sampling import import_pymc, sample
from bayesdp.synthesis import posterior
from bayesdp.synthesis.posterior import check_converged

pm = import_pymc()

N = 40
RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=N)
Y = 1.5 + RANDOM.normal(size=N)
COUNT = RANDOM.poisson(3.0, N)
PUBLIC = np.linspace(-2, 2, 100)
SECRET = 7306.5


def plain(y: Any = Y) -> Any:
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 2)
        pm.Normal("y", theta, 1, observed=y)
    return model


def regression(x: Any = X, y: Any = Y, count: Any = COUNT) -> Any:
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        pm.Normal("y", a + b * pm.Data("x", x), 0.5, observed=pm.Data("answer", y))
        pm.Poisson("k", pm.math.exp(a), observed=count)
    return model


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Draws without sampling: the last of chain k has every parameter at (1 + k) / 2."""
    seen: dict[str, Any] = {}

    def fake(model: Any, *, variables: Any, draws: int, chains: int, **options: Any) -> Draws:
        seen.update(options, model=model, chains=chains)
        levels = (1 + np.arange(chains)) / 2
        kept = {v: np.tile(levels[:, None], (1, 5)) for v in variables}
        return Draws(kept, {}, "pymc")

    monkeypatch.setattr(posterior, "sample", fake)
    monkeypatch.setattr(posterior, "check_converged", lambda draws: None)
    return seen


@pytest.mark.slow
def test_draws_of_a_censored_model_without_binding_clips_are_the_exact_posterior():
    """Normal mean, known scale: within 4 Monte Carlo standard errors, at a fixed seed."""
    private = bdp.censor(plain(), epsilon=1e6)
    draws = sample(private, variables=["theta"], draws=1000, chains=4, warmup=500, seed=3)
    check_converged(draws)
    az = posterior.import_arviz()
    theta = az.convert_to_dataset({"theta": draws.posterior["theta"]})
    precision = N + 1 / 4
    mean, sd = Y.sum() / precision, precision**-0.5
    ess = float(az.ess(theta)["theta"])
    assert abs(float(theta["theta"].mean()) - mean) < 4 * sd / math.sqrt(ess)
    squares = (theta["theta"] - mean) ** 2
    error = float(squares.std()) / math.sqrt(float(az.ess((theta - mean) ** 2)["theta"]))
    assert abs(float(squares.mean()) - sd**2) < 4 * error


@pytest.mark.slow
def test_a_release_end_to_end(tmp_path: Any):
    synthesizer = bdp.PosteriorSynthesizer(plain(), epsilon=4.0, copies=2, center=-1.4, size=25)
    release = synthesizer.release()
    assert release.copies == 2
    assert not release.reproducible
    guarantee = release.guarantee
    assert guarantee.epsilon == pytest.approx(4.0, rel=1e-12)
    assert guarantee.epsilon <= 4.0
    assert guarantee.strength is bdp.Strength.CONDITIONAL
    assert guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    frames = release.to_frames()
    assert [list(frame.columns) for frame in frames] == [["y"], ["y"]]
    assert [len(frame) for frame in frames] == [25, 25]
    assert not frames[0].equals(frames[1])
    assert release.mechanism.n is None
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    text = (tmp_path / "release" / "manifest.json").read_text()
    assert "seed" not in text
    assert "rhat" not in text


def test_predictions_follow_the_model_at_public_covariates(quick: dict[str, Any]):
    """At a = b = 0.5: y ~ N(0.5 + 0.5 x, 0.5), k ~ Poisson(e^0.5), within 5 standard errors."""
    size = 4000
    x = np.linspace(-2, 2, size)
    with bdp.reproducible(5):
        release = bdp.PosteriorSynthesizer(
            regression(), epsilon=2.0, size=size, covariates={"x": x}
        ).release()
    (frame,) = release.to_frames()
    assert list(frame.columns) == ["y", "k", "x"]
    assert frame.dtypes.tolist() == [np.float64, np.int64, np.float64]
    assert np.array_equal(np.sort(frame["x"]), x)
    rest = frame["y"] - 0.5 - 0.5 * frame["x"]
    assert abs(rest.mean()) < 5 * 0.5 / math.sqrt(size)
    assert abs(rest.std() / 0.5 - 1) < 5 / math.sqrt(2 * size)
    assert abs(np.corrcoef(rest, frame["x"])[0, 1]) < 5 / math.sqrt(size)
    rate = math.exp(0.5)
    assert abs(frame["k"].mean() - rate) < 5 * math.sqrt(rate / size)
    # No batch of records repeats another.
    assert frame["y"].nunique() == size


def test_given_the_parameters_nothing_of_the_data_is_in_the_release(quick: dict[str, Any]):
    def release(model: Any) -> bdp.Release:
        options = {"epsilon": 2.0, "size": 100, "covariates": {"x": PUBLIC}}
        with bdp.reproducible(6):
            return bdp.PosteriorSynthesizer(model, **options).release()

    one = release(regression())
    other = release(regression(X[::-1] * 7 + 3, -Y - 11, COUNT + 5))
    assert one == other


def test_copies_use_different_chains_and_a_wide_secret_seed(
    quick: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    words = iter(np.array([[2**63 + 5], [2**64 - 1]], dtype=np.uint64))
    monkeypatch.setattr(posterior, "random_words", lambda count: next(words))
    synthesizer = bdp.PosteriorSynthesizer(plain(), epsilon=2.0, copies=6, size=4000)
    with bdp.reproducible(2):
        frames = synthesizer.release().to_frames()
    assert quick["chains"] == 6
    assert quick["seed"] == 2**63 + 5
    for k, frame in enumerate(frames):
        assert abs(frame["y"].mean() - (1 + k) / 2) < 5 / math.sqrt(4000)
    (potential,) = quick["model"].potentials
    assert potential.name == "censored_log_likelihood"
    bdp.PosteriorSynthesizer(plain(), epsilon=2.0, size=3).release()
    assert (quick["chains"], quick["seed"]) == (4, 2**64 - 1)


def test_replace_one_publishes_n_and_halves_the_interval(quick: dict[str, Any]):
    release = bdp.PosteriorSynthesizer(
        plain(), epsilon=3.0, copies=3, neighbours="replace_one"
    ).release()
    mechanism = release.mechanism
    assert (mechanism.n, mechanism.size) == (N, N)
    assert (mechanism.lower, mechanism.upper) == (-0.25, 0.25)
    assert release.guarantee.epsilon == 3.0
    assert release.guarantee.neighbours is bdp.Neighbours.REPLACE_ONE


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 3, 7, 11])
def test_copies_never_cost_more_than_epsilon(quick: dict[str, Any], copies: int):
    for epsilon in (0.1, 1.0, math.pi):
        synthesizer = bdp.PosteriorSynthesizer(plain(), epsilon=epsilon, copies=copies, size=1)
        spent = synthesizer.release().guarantee.epsilon
        assert epsilon * (1 - 1e-14) <= spent <= epsilon


def test_several_numbers_a_record_are_several_columns(quick: dict[str, Any]):
    with pm.Model(coords={"visit": range(3), "person": range(N)}) as model:
        a = pm.Normal("a", 0, 1)
        pm.Normal("z", a, 1, observed=np.outer(np.ones(3), Y), dims=("visit", "person"))
    release = bdp.PosteriorSynthesizer(model, epsilon=1.0, size=7, record_dim="person").release()
    assert list(release.to_frames()[0].columns) == ["z[0]", "z[1]", "z[2]"]
    assert release.to_frames()[0].shape == (7, 3)


def test_the_ledger_is_charged_before_anything_is_drawn(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
):
    def fail(*args: Any, **options: Any) -> Draws:
        raise bdp.errors.EngineFailed("stopped")

    monkeypatch.setattr(posterior, "sample", fail)
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("survey", epsilon=3.0, delta=0.0, neighbours="add_remove")
    budget = ledger.dataset("survey")
    synthesizer = bdp.PosteriorSynthesizer(plain(), epsilon=2.0, size=5)
    with pytest.raises(bdp.errors.EngineFailed, match="stopped"):
        synthesizer.release(ledger=budget)
    assert budget.remaining().epsilon == pytest.approx(1.0)
    with pytest.raises(bdp.errors.BudgetExceeded):
        synthesizer.release(ledger=budget)


def test_chains_that_disagree_or_do_not_move_are_refused_without_figures():
    random = np.random.default_rng(1)
    good = random.normal(size=(4, 500))
    check_converged(Draws({"theta": good}, {}, "pymc"))
    corner = np.stack([np.ones_like(good), good], axis=-1)  # of a correlation matrix, say
    check_converged(Draws({"theta": corner}, {}, "pymc"))
    apart = good + np.arange(4)[:, None]
    stuck = np.repeat(np.arange(4.0)[:, None], 500, axis=1)
    slow = np.cumsum(good, axis=1)
    for bad in (apart, stuck, slow):
        with pytest.raises(bdp.errors.EngineFailed, match="clearly not converged") as caught:
            check_converged(Draws({"fine": good, "theta": bad}, {}, "pymc"))
        assert not any(character.isdigit() for character in str(caught.value))


def with_constant_covariate() -> Any:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("a", 0, 1) * X, 1, observed=Y)
    return model


def with_discrete_parameter() -> Any:
    with pm.Model() as model:
        pm.Normal("y", pm.Poisson("a", 1), 1, observed=Y)
    return model


def with_a_parameter_a_record() -> Any:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("a", 0, 1, shape=N), 1, observed=Y)
    return model


def without_a_sampler() -> Any:
    with pm.Model() as model:
        pm.CustomDist("y", pm.Normal("a", 0, 1), logp=lambda v, a: -((v - a) ** 2), observed=Y)
    return model


def without_parameters() -> Any:
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=Y)
    return model


@pytest.mark.parametrize(
    ("build", "options", "message"),
    [
        (plain, {"size": None}, "size is missing"),
        (plain, {"size": 0}, "size is 0"),
        (plain, {"copies": 0}, "copies is 0"),
        (plain, {"epsilon": -1.0}, "epsilon is -1"),
        (plain, {"engine": "stan"}, "engine is 'stan'"),
        (plain, {"neighbours": "node"}, "neighbours is 'node'"),
        (plain, {"covariates": {"x": PUBLIC}}, "depend on is \\[\\]"),
        (plain, {"covariates": PUBLIC}, "covariates is a ndarray; it must be a mapping"),
        (plain, {"weights": [1.0]}, "weights must be"),
        (regression, {}, "depend on is \\['x'\\]"),
        (regression, {"covariates": {"z": PUBLIC}}, "depend on is \\['x'\\]"),
        (regression, {"covariates": {"x": PUBLIC[:9]}}, "of shape \\(100,\\)"),
        (regression, {"covariates": {"x": PUBLIC[:, None]}}, "of shape \\(100,\\)"),
        (regression, {"covariates": {"x": ["a"] * 100}}, "must be numbers"),
        (regression, {"covariates": {"x": np.full(100, np.nan)}}, "without NaN"),
        (with_constant_covariate, {}, "write it as a pm\\.Data"),
        (with_discrete_parameter, {}, "discrete free variables"),
        (without_parameters, {}, "no free variable"),
        (without_a_sampler, {}, "can't be predicted from.*random="),
        (
            with_a_parameter_a_record,
            {"neighbours": "replace_one"},
            "may have an entry for each",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch, build: Any, options: dict[str, Any], message: str
):
    def never(*args: Any, **options: Any) -> Draws:
        raise AssertionError("drawn")

    monkeypatch.setattr(posterior, "sample", never)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.PosteriorSynthesizer(build(), **{"epsilon": 1.0, "size": 100, **options}).release()


def test_a_table_is_one_frame_a_copy(quick: dict[str, Any]):
    with bdp.reproducible(1):
        release = bdp.PosteriorSynthesizer(plain(), epsilon=1.0, size=4).release()
    (frame,) = release.to_frames()
    assert isinstance(frame, pd.DataFrame)
    assert frame["y"].is_monotonic_increasing
    assert release.guarantee.epsilon == math.inf  # seeded


def by_group(group: Any) -> Any:
    with pm.Model() as model:
        level = pm.Normal("level", 0, 1, shape=3)
        pm.Normal("y", level[pm.Data("group", group)], 1, observed=Y[:4])
    return model


def traceback(error: BaseException) -> str:
    return "".join(format_exception(error))  # and of its causes


def test_a_model_that_fails_on_records_shows_none():
    """PyTensor's errors show the arrays that an operation was given, NumPy's an index."""
    declared = bdp.PosteriorSynthesizer(
        by_group([int(SECRET), 9182, 0, 1]), 1.0, size=4, covariates={"group": np.zeros(4, int)}
    )
    with pytest.raises(bdp.errors.InvalidInput, match="index … is out of bounds") as caught:
        declared.release()
    assert str(int(SECRET)) not in traceback(caught.value)


def test_sampling_and_predicting_that_fail_on_records_show_none(monkeypatch: pytest.MonkeyPatch):
    def failing(*args: Any, **options: Any) -> Draws:
        try:
            raise ValueError(f"at {SECRET}\nInputs values: [array([{SECRET}])]")
        except ValueError as error:
            raise bdp.errors.EngineFailed(f"it could not sample: {error}") from error

    monkeypatch.setattr("bayesdp.engines.pymc.sampling.sample", failing)
    with pytest.raises(bdp.errors.EngineFailed, match="could not sample: at … ") as caught:
        bdp.PosteriorSynthesizer(plain(), 1.0, size=4).release()
    assert str(SECRET) not in traceback(caught.value)

    def drawn(*args: Any) -> Any:
        return [{"s": np.array(-SECRET)}]

    with pm.Model() as scaled:
        pm.Normal("y", 0, pm.Normal("s", 5, 1), observed=Y)
    monkeypatch.setattr(posterior, "last_draws", drawn)
    with pytest.raises(bdp.errors.EngineFailed, match="can't be predicted from") as caught:
        bdp.PosteriorSynthesizer(scaled, 1.0, size=4).release()
    assert str(SECRET) not in traceback(caught.value)
