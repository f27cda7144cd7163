"""Regressions of groups of censored copies: what they read and refuse, and public data's own."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.evaluation.truth import truth

Beta, Logits = bdp.models.BetaRegressionModel, bdp.models.LogitNormalRegressionModel
AT = {"x": {"a": 0, "b": 1}}


def released(groups=("a", "b"), by=("a", "b"), **fields) -> bdp.Release:
    low, high = fields.get("bounds", (0.0, 1.0))
    records = low + (high - low) * np.linspace(0.2, 0.8, 12)
    with bdp.reproducible(1):
        made = bdp.synthesizers.CensoredBetaSynthesizer(4.0, size=9, groups=groups, **fields)
        return made.release(records, by=np.repeat(by, 6))


def ungrouped() -> bdp.Release:
    return bdp.synthesizers.CensoredBetaSynthesizer(4.0, size=9).release([0.2, 0.6])


def of_two_bounds() -> bdp.Release:
    parts = [released(bounds=(0, top)).parts[0] for top in (1.0, 10.0)]
    pairs = zip("ab", parts, strict=True)
    return bdp.Release.of_groups({label: (one.mechanism, one.outputs) for label, one in pairs})


@pytest.mark.parametrize("kind", [Beta, Logits])
@pytest.mark.parametrize(
    ("fields", "release", "message"),
    [
        ({}, released, "n isn't in this release; .*; or each group's, as n={'a': 1000"),
        ({"n": {"a": 6}}, released, "the release has the group 'b' too"),
        ({"n": 6}, ungrouped, "no groups, or one, .* or fit bdp.models.(Beta|LogitNormal)Model"),
        ({"n": 6}, of_two_bounds, "released between other bounds"),
        ({"n": 6}, lambda: released(("a", "b", "c")), "no 'x' of the group 'c'"),
        ({"n": 6}, lambda: released(weights=lambda y: 0.5), "weighted"),
        ({"n": 6}, lambda: [released()] * 2, "one release at a time"),
    ],
)
def test_what_it_cannot_read_is_refused(kind, fields, release, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        kind(AT, **fields).fit(release())


def test_a_release_that_says_n_is_believed():
    made = bdp.mechanisms.CensoredBetaMechanism((-1.0, 1.0), 3, bdp.Neighbours.REPLACE_ONE, n=6)
    release = bdp.Release.of_groups({k: (made, [[0.2, 0.3, 0.4]]) for k in "ab"})
    assert Beta(AT).read(release).sizes == [[(6, 1.0)]] * 2
    with pytest.raises(bdp.errors.InvalidInput, match="leave n out"):
        Beta(AT, n=6).read(release)


def test_other_mechanisms_are_refused():
    counts = {"a": bdp.Count(3, 9), "b": bdp.Count(4, 9)}
    release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(counts)
    with pytest.raises(bdp.errors.InvalidInput, match="BinomialModel"):
        Beta(AT).fit(release)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (Beta, {"predictors": [1, 2]}, "predictors is .*list"),
        (Beta, {"predictors": {"x": 3}}, "predictors has .* for 'x'"),
        (Beta, {"predictors": {"x": {"a": "south"}}}, "no number for 'x' of 'a'"),
        (Beta, {"predictors": {"x": {"a": np.inf}}}, "no number for 'x' of 'a'"),
        (Beta, {"predictors": pd.DataFrame({"x": [1, 2]}, index=["a", "a"])}, "label twice"),
        (Beta, {"predictors": {"x": pd.Series([1, 2], index=["a", "a"])}}, "label twice"),
        (Beta, {"predictors": {"intercept": {"a": 1}}}, "which there is anyhow"),
        (Beta, {"prior": (0, -1)}, "one for each of intercept, x"),
        (Beta, {"prior": ((0, 0, 0), 1)}, "prior is"),
        (Beta, {"prior": 3}, "prior is"),
        (Beta, {"precision": (2, 0)}, "precision is .* Gamma"),
        (Beta, {"precision": 2}, "precision is"),
        (Logits, {"variance": (2, "a")}, "variance is .* InverseGamma"),
        (Beta, {"n": range(5, 2)}, "n is"),
        (Beta, {"n": {"a": 0}}, r"n\['a'\] is 0"),
    ],
)
def test_bad_fields_are_named(kind, fields, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        kind(**({"predictors": AT} | fields))


def test_predictors_are_read_from_tables_and_files():
    """A table has a row for each group; a file's keys are texts, whatever the labels are."""
    table = pd.DataFrame({"x": [0.5, 1.5], "z": [1, 0]}, index=[2019, 2020])
    model = Beta(table, prior=(0.0, (5.0, 1.0, 2.0)))
    assert model.terms == ["intercept", "x", "z"]
    assert model.prior == (0.0, (5.0, 1.0, 2.0))
    assert model._regression(released((2020, 2019), by=[2020, 2019])).mean.tolist() == [0.0] * 3
    expected = [[1.0, 1.5, 0.0], [1.0, 0.5, 1.0]]
    assert model.design([2020, 2019]).tolist() == expected
    named = {"x": {"2019": 0.5, "2020": 1.5}, "z": {"2019": 1, "2020": 0}}
    assert Beta(named).design([2020, 2019]).tolist() == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit")  # so few draws tell nothing
@pytest.mark.parametrize("kind", [Beta, Logits])
def test_variables_are_in_the_records_unit(kind):
    release, few = released(bounds=(0.0, 10.0)), {"draws": 60, "warmup": 60, "chains": 2, "seed": 1}
    model = kind(AT, n={"a": range(4, 9), "b": 6})
    idata = model.fit(release, **few)
    posterior = idata.posterior
    beta, mean = posterior["beta"].to_numpy(), posterior["mean"].to_numpy()
    logits = np.stack([beta[..., 0], beta.sum(-1)], axis=-1)
    assert posterior["coefficient"].to_numpy().tolist() == ["intercept", "x"]
    if kind is Beta:
        assert mean == pytest.approx(10 * special.expit(logits))
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        wide = posterior["sigma"].to_numpy()[..., None, None]
        each = special.expit(logits[..., None] + wide * nodes)
        assert mean == pytest.approx(10 * each @ weights / weights.sum(), rel=1e-4)
    n = posterior["n"].to_numpy()
    assert set(np.unique(n[..., 0])) <= set(range(4, 9))
    assert set(np.unique(n[..., 1])) == {6}
    assert idata.constant_data["n_known"].to_numpy().tolist() == [False, True]
    prior = bdp.prior_predictive(model, release, draws=20, seed=1).prior
    assert {name: prior[name].dims[2:] for name in prior.data_vars} == {
        name: posterior[name].dims[2:] for name in posterior.data_vars
    }
    outputs = bdp.posterior_predictive(model, idata, release, draws=2, seed=1).posterior_predictive
    values = outputs["outputs"].to_numpy()
    assert np.all((values > 0) & (values < 10))
    naive = model.fit_naive(release, **few).posterior
    assert naive["mean"].dims == ("chain", "draw", "group")


@pytest.mark.slow
def test_new_records_have_the_regressions_law():
    """Means of a group's new records, given one draw: within 5 standard errors."""
    release, rng = released(), np.random.default_rng(1)
    part = release.parts[1]
    theta = {"beta": np.array([-0.5, 1.0]), "precision": 5.0, "sigma": 0.5}
    for kind in (Beta, Logits):
        model = kind(AT, n=20_000)
        drawn = model.predicted(release, part)(theta, rng)
        named = model._named(np.array([[0.5]]), np.log([theta[model_of_h(kind)]]), (0.0, 1.0))
        error = drawn.std() / np.sqrt(drawn.size)
        assert abs(drawn.mean() - float(named["mean"][0, 0])) < 5 * error


def model_of_h(kind) -> str:
    return "precision" if kind is Beta else "sigma"


def test_what_public_data_say():
    """Estimates from many records, by statsmodels, are near what they were drawn with."""
    rng, n = np.random.default_rng(2), 20_000
    by = pd.Series(np.repeat(["a", "b"], n))
    g = np.repeat([-0.5, 0.25], n)
    release = released(bounds=(0.0, 10.0))
    shares = {
        Beta: rng.beta(6 * special.expit(g), 6 * special.expit(-g)),
        Logits: special.expit(rng.normal(g, 0.8)),
    }
    for kind, x in shares.items():
        found = truth(kind(AT), pd.Series(10 * x), by, release, None)
        np.testing.assert_allclose(found["beta"], [-0.5, 0.75], atol=0.05)
        shared = {"precision": 6.0} if kind is Beta else {"sigma": 0.8}
        for name, value in shared.items():
            np.testing.assert_allclose(found[name], value, rtol=0.05)
        np.testing.assert_allclose(found["mean"], [10 * x[:n].mean(), 10 * x[n:].mean()])


def test_they_are_compared_by_their_fields():
    assert dataclasses.replace(Beta(AT), precision=(1.0, 1.0)) != Beta(AT)
