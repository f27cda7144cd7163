"""The models that errors point to read the release, and the others don't."""

import pytest

import bayesdp as bdp
from bayesdp.inference.readers import instead, models_of
from tests.contracts.test_models import CASES

MODELS = {
    "BinomialModel": bdp.BinomialModel(),
    "HierarchicalBinomialModel": bdp.models.HierarchicalBinomialModel(),
    "GammaModel": bdp.models.GammaModel((1.0, 1.0)),
    "GaussianModel": bdp.GaussianModel(sd=1.0),
    "HierarchicalGaussianModel": bdp.models.HierarchicalGaussianModel((0.0, 1.0), 1.0, sd=1.0),
    "MultinomialModel": bdp.MultinomialModel((1.0, 1.0)),
    "LogLinearModel": bdp.models.LogLinearModel("a"),
    "LogisticRegressionModel": bdp.LogisticRegressionModel("y ~ x"),
    "LinearRegressionModel": bdp.LinearRegressionModel("y"),
    "PoissonModel": bdp.models.PoissonModel(),
    "ERGMModel": bdp.models.ERGMModel("edges"),
    "NetworkBetaModel": bdp.models.NetworkBetaModel(),
    "BetaModel": bdp.models.BetaModel(n=9),
}


@pytest.mark.parametrize("name", CASES)
def test_what_fits_is_named_and_what_is_not_named_refuses(name):
    case = CASES[name]
    release = case.release()
    group = release.parts[0].group
    named = models_of(release.parts[0].mechanism)
    assert type(case.model).__name__ in named
    for other, model in MODELS.items():
        if other not in named:
            with pytest.raises(bdp.errors.InvalidInput) as refused:
                model.fit(release if group is None else release[group], draws=10)
            for right in named:
                assert f"bdp.models.{right}" in str(refused.value) or "groups" in str(refused.value)


def test_where_no_model_has_the_law():
    mechanism = bdp.mechanisms.PermuteAndFlipMechanism(1.0, 1.0, 3)
    assert models_of(mechanism) == ()
    assert "bdp.combine" in instead(mechanism)
