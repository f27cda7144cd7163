"""Models as analyses of a study: their numbers are those of the posterior that they fit."""

import warnings
from functools import partial

import numpy as np
import pytest

import bayesdp as bdp

ANY = np.random.default_rng(1)


@pytest.fixture
def binary() -> bdp.Release:
    with bdp.reproducible(5):
        return bdp.BetaBinomialSynthesizer(epsilon=3.0, copies=2).release([0, 1, 1, 0] * 20)


def test_the_exact_posterior(binary):
    (name, numbers), *others = bdp.evaluate.ModelAnalysis(bdp.BinomialModel(), level=0.8)(
        binary, ANY
    ).items()
    posterior = bdp.BinomialModel().posterior(binary)
    low, high = posterior.interval(0.8)
    assert (name, others) == ("p", [])
    assert numbers == {
        "mean": posterior.mean(), "sd": posterior.sd(), "low": low, "high": high
    }  # fmt: skip


def test_groups_are_estimands(grouped_release):
    found = bdp.evaluate.ModelAnalysis(bdp.BinomialModel())(grouped_release, ANY)
    assert list(found) == ["p[a]", "p[b]", "p[c]"]
    assert found["p[b]"]["mean"] == bdp.BinomialModel().posterior(grouped_release["b"]).mean()


@pytest.mark.parametrize("sd", [1.0, None])
def test_normal_records(sd):
    family = bdp.families.Gaussian(bounds=(-4, 4), sd=sd)
    x = np.clip(np.random.default_rng(1).normal(size=100), -4, 4)
    with bdp.reproducible(1):
        release = bdp.ModipsSynthesizer(family=family, epsilon=20.0, copies=3).release(x)
    model = bdp.GaussianModel(sd=1.0) if sd else bdp.GaussianModel(prior=(0, 0.01, 1, 1))
    found, posterior = bdp.evaluate.ModelAnalysis(model)(release, ANY), model.posterior(release)
    assert list(found) == (["mu"] if sd else ["mu", "sigma"])
    if sd:
        assert found["mu"]["mean"] == posterior.mean()
        assert (found["mu"]["low"], found["mu"]["high"]) == posterior.interval(0.95)
    else:
        assert (found["mu"]["mean"], found["sigma"]["mean"]) == posterior.mean()
        ends = found["sigma"]["low"], found["sigma"]["high"]
        assert ends == posterior.interval_sigma(0.95)


def test_draws(binary):
    """Sampled where arguments of fit are given, with the replicate's seed."""
    model = bdp.BinomialModel()
    analysis = bdp.evaluate.ModelAnalysis(model, options={"draws": 200, "chains": 2})
    seed = int(np.random.default_rng(4).integers(1 << 31))
    drawn = model.fit(binary, draws=200, chains=2, seed=seed).posterior["p"].to_numpy()
    numbers = analysis(binary, np.random.default_rng(4))["p"]
    assert numbers["mean"] == drawn.mean()
    assert [numbers["low"], numbers["high"]] == np.quantile(drawn, [0.025, 0.975]).tolist()
    again = analysis(binary, np.random.default_rng(4))["p"]
    assert again == numbers


def test_variables_with_labels(monkeypatch):
    """A model whose posterior needs more than a release is sampled; warnings are counted."""
    rng = np.random.default_rng(1)
    with bdp.reproducible(3):
        counts = bdp.publish(
            bdp.mechanisms.PerturbedHistogramMechanism.calibrate(epsilon=0.5, cells=3), [120, 45, 9]
        )
    model = bdp.MultinomialModel((1, 1, 1), n=174)
    options = {"draws": 100, "chains": 2}
    found = bdp.evaluate.ModelAnalysis(model, options=options)(counts, rng)
    assert len(found) == 3
    assert sum(numbers["mean"] for numbers in found.values()) == pytest.approx(1, rel=1e-9)
    assert {numbers["warned"] for numbers in found.values()} == {0.0}
    name = next(iter(found)).partition("[")[0]
    again = bdp.evaluate.ModelAnalysis(model, options=options, variables=(name,))(counts, rng)
    assert again.keys() == found.keys()
    with pytest.raises(bdp.errors.InvalidInput, match=r"variables has \['gamma'\]"):
        bdp.evaluate.ModelAnalysis(model, options=options, variables=("gamma",))(counts, rng)
    fitting = type(model).fit

    def warns(self, *args, **kwargs):
        warnings.warn("the chains of this fit can't be relied on", UserWarning, stacklevel=2)
        return fitting(self, *args, **kwargs)

    monkeypatch.setattr(type(model), "fit", warns)
    found = bdp.evaluate.ModelAnalysis(model, options=options)(counts, rng)
    assert {numbers["warned"] for numbers in found.values()} == {1.0}


def test_models_in_a_study(tmp_path):
    """By the class's name, or a name of one's own, beside functions."""
    declared = bdp.Study(
        data=[0, 1] * 50,
        synthesizers=[partial(bdp.BetaBinomialSynthesizer, copies=1)],
        analyses={"uniform": bdp.BinomialModel(), "narrow": bdp.BinomialModel((50, 50))},
        grid={"epsilon": [1.0]},
        replicates=3,
        seed=1,
        truth={"p": 0.5},
    )
    summary = declared.run(tmp_path / "s", client=None).summary()
    assert summary["estimand"].tolist() == ["p", "p"]
    sd = dict(zip(summary["analysis"], summary["sd"], strict=True))
    assert sd["narrow"] < sd["uniform"]
    assert summary["coverage"].notna().all()
