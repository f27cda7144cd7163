"""Settings of NUTS: they reach the engine that draws, and no other takes them in silence."""

import json
from typing import Any

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.engines.settings import SAMPLERS, SETTINGS
from bayesdp.engines.stan.programs import read_program
from bayesdp.errors import InvalidInput
from tests.conftest import require_jax, require_pystan

pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # few draws
    pytest.mark.filterwarnings("ignore:More chains"),
]
MODEL = bdp.BinomialModel()


@pytest.fixture
def fit(charest_release: bdp.Release) -> Any:
    def run(engine: str, **options: Any) -> az.InferenceData:
        return MODEL.fit(charest_release, engine=engine, seed=1, **options)

    return run


@pytest.mark.parametrize("progress", ["yes", 1])
def test_progress_is_no_text(fit: Any, progress: Any) -> None:
    with pytest.raises(InvalidInput, match=r"progress is .*; it must be True or False"):
        fit("exact", progress=progress)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_pymc_samples_as_it_is_told(fit: Any, charest_release: bdp.Release, sampler: str) -> None:
    most = 0.9
    if sampler in ("numpyro", "blackjax"):
        require_jax()
        most = 0.93  # theirs end nearer to 1 by default
    usual = fit("pymc", sampler=sampler, draws=1500, cores=1)
    exact = MODEL.posterior(charest_release)
    p = usual.posterior["p"].to_numpy()
    assert abs(p.mean() - exact.mean()) < 5 * az.mcse(p)
    assert abs(((p - exact.mean()) ** 2).mean() - exact.sd() ** 2) < 5 * az.mcse(
        (p - exact.mean()) ** 2
    )
    careful = fit("pymc", sampler=sampler, draws=300, target_accept=0.97, max_treedepth=1)
    accepted = [float(f.sample_stats["acceptance_rate"].mean()) for f in (usual, careful)]
    assert accepted[0] < most < 0.94 < accepted[1]
    assert int(usual.sample_stats["tree_depth"].max()) > 1
    assert int(careful.sample_stats["tree_depth"].max()) == 1
    assert json.loads(careful.attrs["engine_settings"]) == {
        "sampler": sampler, "target_accept": 0.97, "max_treedepth": 1
    }  # fmt: skip
    assert {*json.loads(usual.attrs["engine_versions"])} & {*SAMPLERS} == {"pymc", sampler}
    lp, centre = usual.sample_stats["lp"].to_numpy(), np.abs(p - np.median(p))
    assert np.corrcoef(lp.ravel(), centre.ravel())[0, 1] < -0.5  # no potential energy


def test_samplers_start_where_they_are_told(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = pymc.import_pymc()
    import nutpie

    asked: dict[str, Any] = {}

    def caught(*_: Any, **given: Any) -> None:
        asked.update(given)
        raise RuntimeError("asked")

    monkeypatch.setattr(nutpie, "compile_pymc_model", caught)
    monkeypatch.setattr(own, "sample", caught)
    for sampler, name in (("nutpie", "initial_points"), ("pymc", "initvals")):
        with pytest.raises(bdp.errors.EngineFailed, match="asked"):
            fit("pymc", sampler=sampler, initvals={"p": 0.02})
        assert asked[name] == {"p": 0.02}


def test_nutpie_adapts_the_metric_it_is_told(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import nutpie

    asked: list[bool] = []

    def caught(*_: Any, low_rank_modified_mass_matrix: bool, **given: Any) -> None:
        asked.append(low_rank_modified_mass_matrix)
        raise RuntimeError("asked")

    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda *_, **__: None)
    monkeypatch.setattr(nutpie, "sample", caught)
    for given in ({}, {"metric": "diag"}, {"metric": "low_rank"}):
        with pytest.raises(bdp.errors.EngineFailed, match="asked"):
            fit("pymc", **given)
    assert asked == [False, False, True]


@pytest.mark.slow
def test_stan_samples_as_it_is_told(fit: Any, charest_release: bdp.Release) -> None:
    require_pystan()
    usual = fit("stan", draws=400)
    careful = fit("stan", draws=400, adapt_delta=0.99, max_treedepth=1, thin=3)
    assert careful.posterior.sizes["draw"] == 400
    accepted = [float(f.sample_stats["acceptance_rate"].mean()) for f in (usual, careful)]
    # From seed to seed 0.92 and 0.99, with standard deviations of 0.011 and 0.004.
    assert accepted[0] < 0.96 < accepted[1]
    assert int(careful.sample_stats["tree_depth"].max()) == 1
    p = careful.posterior["p"].to_numpy()
    assert abs(p.mean() - MODEL.posterior(charest_release).mean()) < 5 * az.mcse(p)
    few = {"draws": 1, "warmup": 1, "chains": 2, "max_treedepth": 1, "adapt_delta": 0.9999}
    starts = [{"p": [0.001]}, {"p": [0.999]}]
    p = fit("stan", inits=starts, **few).posterior["p"].to_numpy()
    assert p[0, 0] < 0.2 < 0.6 < p[1, 0]
    same = fit("stan", inits=starts[0], **few).posterior["p"].to_numpy()
    assert (same < 0.2).all()
    for setting in ({"metric": "dense_e"}, {"parallel_chains": 1}, {"threads_per_chain": 2}):
        with pytest.raises(InvalidInput, match=f"{next(iter(setting))} is a setting of CmdStan's"):
            fit("stan", **setting)


@pytest.mark.parametrize(
    ("engine", "given", "said"),
    [
        ("auto", {"target_accept": 0.9}, "engine='pymc', but engine='exact' draws here"),
        ("pymc", {"adapt_delta": 0.9}, "adapt_delta is a setting of engine='stan', but"),
        ("pymc", {"target_accept": 1.0}, r"target_accept is 1\.0; it must lie strictly"),
        ("pymc", {"max_treedepth": 0}, "max_treedepth is 0"),
        ("pymc", {"cores": 1.5}, r"cores is 1\.5"),
        ("pymc", {"metric": "dense_e"}, "metric is 'dense_e'; it must be one of"),
        ("pymc", {"metric": "low_rank", "sampler": "pymc"}, "sampler='nutpie' alone adapts"),
        ("pymc", {"sampler": "emcee"}, "sampler is 'emcee'; it must be one of"),
        ("pymc", {"initvals": [0.2]}, "initvals is a list; it must map names"),
        ("pymc", {"initvals": {"p": "a"}}, "it must hold only numbers"),
        ("pymc", {"initvals": {"q": 0.2}}, "initvals has 'q', which is no parameter.*it has p"),
        ("stan", {"inits": {"q": 0.2}}, "inits has 'q', which is no parameter.*it has p"),
        ("stan", {"inits": [{"p": [0.2]}]}, "inits has 1 mappings for 4 chains"),
        ("stan", {"metric": "euclidean"}, "metric is 'euclidean'; it must be one of"),
        ("stan", {"thin": 0}, "thin is 0"),
        ("stan", {"threads_per_chain": 0}, "threads_per_chain is 0"),
    ],
)
def test_what_is_refused(fit: Any, engine: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        fit(engine, draws=10, **given)


def test_an_unknown_option_names_those_there_are(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"no option 'adapt'.*'pymc' takes sampler.*'stan' takes"):
        fit("pymc", adapt=0.9)
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, bdp.Neighbours.REPLACE_ONE, n=9)
    release = bdp.Release.of(noise, [0.25])
    monkeypatch.setattr(bdp.GaussianModel, "engines", ("exact", "pymc"))
    with pytest.raises(TypeError, match="'pymc' takes") as caught:
        bdp.GaussianModel(sd=1.0).fit(release, adapt=0.9)
    assert "stan" not in str(caught.value)


def test_programs_say_their_parameters() -> None:
    assert read_program("binomial").parameters == ("p",)
    assert read_program("censored_beta").parameters == ("phi", "v")
    assert read_program("beta_model").parameters == ("mean", "spread", "beta")
    pooled = ("variance", "mean", "spread", "mu", "around")
    assert read_program("hierarchical_gaussian").parameters[:5] == pooled


def test_an_interrupt_of_pymc_is_no_wish_for_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyMC returns the draws that there are: a chain's last isn't the posterior's."""
    own = pymc.import_pymc()
    monkeypatch.setattr(own, "sample", lambda **_: az.from_dict({"x": np.zeros((2, 3))}))
    with own.Model() as model:
        own.Normal("x")
    with pytest.raises(KeyboardInterrupt):
        pymc.sample(model, variables=["x"], draws=10, sampler="pymc")


def test_every_setting_is_said_in_the_docstring_of_a_fit() -> None:
    for name in {name for each in SETTINGS.values() for name in each}:
        assert f"`{name}`" in str(type(MODEL).fit.__doc__)
