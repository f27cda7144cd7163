"""PyMC and Stan programs of the models: complete, of one density, and of one posterior."""

import pytest

import bayesdp as bdp
from bayesdp.engines.stan.programs import Program

MODELS = {
    "binomial": bdp.BinomialModel(),
    "multinomial": bdp.MultinomialModel((1.0, 1.0)),
    "beta_model": bdp.models.NetworkBetaModel(),
    "ergm": bdp.models.ERGMModel("edges"),
}
WITHOUT = {
    "log_linear": bdp.models.LogLinearModel("a*b"),
    "linear_regression": bdp.LinearRegressionModel("y"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_code_is_a_complete_program_of_the_models_variables(name):
    model = MODELS[name]
    code = model.stan_code()
    assert "#include" not in code
    assert all(f"{block} {{" in code for block in ("data", "parameters", "model"))
    assert set(model.variables) <= set(Program(model.program, code).parameters)


@pytest.mark.parametrize("name", WITHOUT)
def test_a_model_without_a_program_says_which_engines_it_has(name, charest_release):
    model = WITHOUT[name]
    calls = {
        "PyMC": [lambda: model.pymc_model(charest_release)],
        "Stan": [model.stan_code, lambda: model.stan_data(charest_release)],
    }
    for program, each in calls.items():
        for call in each:
            with pytest.raises(bdp.errors.InvalidInput) as error:
                call()
            assert f"has no {program} program; its engines are: hmc" in str(error.value)
            assert "\n" not in str(error.value)
