"""Every row of a registry resolves, and other packages add to one without replacing anything."""

from pathlib import Path

import pytest

import bayesdp as bdp
from bayesdp.evaluation.declarations import MODELS, SYNTHESIZERS, model_of, synthesizer_of
from bayesdp.evaluation.planning.count_designs import DESIGNS
from bayesdp.inference.base import Model
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.registry import REGISTRY, mechanism_named

MODULE = """
from dataclasses import dataclass
import bayesdp as bdp
from bayesdp.evaluation.planning.count_designs import BetaBinomial

@dataclass(frozen=True)
class OtherNoise(bdp.mechanisms.DiscreteLaplaceMechanism):
    name = "other_noise"

@dataclass(frozen=True)
class OtherSynthesizer(bdp.BetaBinomialSynthesizer):
    pass

@dataclass(frozen=True)
class OtherModel(bdp.BinomialModel):
    family = "other_model"

@dataclass(frozen=True)
class OtherDesign(BetaBinomial):
    pass

def function():
    pass
"""
POINTS = """
[bayesdp.mechanisms]
other_noise = other_noises:OtherNoise
beta_binomial = other_noises:OtherNoise
misnamed = other_noises:OtherNoise
missing = other_noises:Nothing
broken = other_noises_broken:OtherNoise
function = other_noises:function

[bayesdp.synthesizers]
other_synthesizer = other_noises:OtherSynthesizer

[bayesdp.models]
other_model = other_noises:OtherModel
binomial = other_noises:OtherModel

[bayesdp.designs]
other_design = other_noises:OtherDesign
"""


def install(folder: Path, name: str, points: str) -> None:
    """What pip leaves of a package with these entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "installed"
    folder.mkdir()
    (folder / "other_noises.py").write_text(MODULE)
    (folder / "other_noises_broken.py").write_text("raise RuntimeError('half installed')")
    install(folder, "other_noises", POINTS)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_mechanisms_and_models_have_one_base_each():
    """Which alone says how a model is fitted: its arguments, their checks and their order."""
    assert all(issubclass(cls, Mechanism) for cls in REGISTRY.values())
    for cls in (*MODELS.values(), bdp.models.RecordModel):
        assert issubclass(cls, Model)
        assert cls.fit is Model.fit
        assert cls.fit_naive is Model.fit_naive
        assert len(set(cls.engines)) == len(cls.engines) > 0


def test_all_rows_resolve():
    for registry in (REGISTRY, MODELS, SYNTHESIZERS, DESIGNS):
        assert all(isinstance(registry[name], type) for name in registry)
        assert all(
            registry.find(name, bdp.errors.InvalidInput) is registry[name] for name in registry
        )
    assert {name: made.name for name, made in REGISTRY.items()} == {n: n for n in REGISTRY}
    assert {name: made.family for name, made in MODELS.items()} == {n: n for n in MODELS}


def test_a_release_by_another_package_is_loaded(other: Path, tmp_path: Path):
    made = mechanism_named("other_noise")
    release = bdp.Release.of(made.calibrate(epsilon=1.0, sensitivity=1), [38])
    loaded = bdp.Release.load(release.save(tmp_path / "release"))
    assert type(loaded.parts[0].mechanism) is made
    assert loaded.fingerprint == release.fingerprint
    assert loaded.guarantee.epsilon == pytest.approx(1.0)
    assert type(model_of("other_model", {})).__name__ == "OtherModel"
    declared = synthesizer_of("other_synthesizer", {"epsilon": 1.0})
    assert type(declared).__name__ == "OtherSynthesizer"


def test_a_plan_takes_a_design_of_another_package(other: Path):
    """By its name; not unless it is asked for."""
    names = ["other_design", "beta_binomial"]
    found = bdp.plan(bdp.BinomialModel(), n=30, target=0.7, mechanisms=names, copies=1)
    assert found.best["other_design", 1] == found.best["beta_binomial", 1] is not None
    with pytest.raises(bdp.errors.InvalidInput, match=r"must be one of \['beta_binomial', "):
        bdp.plan(bdp.BinomialModel(), n=30, target=0.7, mechanisms=["another_design"])


def test_none_replaces_a_name_of_bayesdp(other: Path):
    assert mechanism_named("beta_binomial") is bdp.mechanisms.BetaBinomialMechanism
    assert type(model_of("binomial", {})) is bdp.BinomialModel


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("misnamed", r"'misnamed' is other_noises\.OtherNoise, whose own name is 'other_noise'"),
        ("missing", r"Nothing of other_noises, which can't be imported \(AttributeError\)"),
        ("broken", r"of other_noises, which can't be imported \(RuntimeError\)"),
        ("function", "function of other_noises, which isn't a dataclass"),
        ("unknown", "doesn't know; it knows beta_binomial,.* other_noise,"),
    ],
)
def test_what_is_wrong_with_one_is_said(other: Path, name: str, message: str):
    with pytest.raises(bdp.errors.InvalidRelease, match=message):
        mechanism_named(name)


def test_a_name_of_two_packages_is_refused(other: Path):
    install(other, "more_noises", "[bayesdp.mechanisms]\nother_noise = more_noises:Other\n")
    with pytest.raises(
        bdp.errors.InvalidRelease, match=r"of more_noises and .*; uninstall all but one"
    ):
        mechanism_named("other_noise")


def test_models_say_which_there_are(other: Path):
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"'probit'; it must be one of .*, other_model,"
    ):
        model_of("probit", {})
