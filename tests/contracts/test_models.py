"""What every model keeps: the InferenceData that ArviZ takes as it is, and engines that agree."""

import json

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp

MODELS = [bdp.BinomialModel(), bdp.BinomialModel(prior=(0.5, 2.0))]
each = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(params=["one count", "groups"])
def release(request, charest_release, grouped_release) -> bdp.Release:
    return charest_release if request.param == "one count" else grouped_release


@each
@pytest.mark.parametrize("method", ["fit", "fit_naive"])
def test_the_shape_of_a_fit(model, release, method):
    idata = getattr(model, method)(release, draws=50, chains=3, seed=4)
    p = idata.posterior["p"]
    assert p.dims == ("chain", "draw") + (("group",) if release.by else ())
    assert (p.sizes["chain"], p.sizes["draw"]) == (3, 50)
    if release.by:
        assert p["group"].to_numpy().tolist() == list(release.groups)
    outputs = idata.observed_data["outputs"].to_numpy()
    assert np.array_equal(outputs.T.reshape(len(release.parts), -1), [p.outputs for p in release])
    assert "mechanism_prior" in idata.constant_data
    assert set(idata.sample_stats["lp"].dims) == {"chain", "draw"}


@each
def test_it_says_how_it_was_made(model, release):
    attrs = model.fit(release, draws=10, seed=1).attrs
    assert attrs["engine"] == "exact"
    assert "summed out" in attrs["engine_reason"]
    assert attrs["release"] == release.fingerprint
    assert attrs["guarantee"] == str(release.guarantee)
    assert tuple(json.loads(attrs["prior"])) == model.prior
    assert json.loads(attrs["engine_versions"])
    naive = model.fit_naive(release, draws=10, seed=1).attrs
    assert "naive" in naive["engine_reason"]


@each
def test_a_seed_fixes_the_draws(model, release):
    first, second, other = (
        model.fit(release, draws=30, seed=seed).posterior["p"].to_numpy() for seed in (7, 7, 8)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@each
def test_arviz_takes_it_as_it_is(model, release, tmp_path):
    idata = model.fit(release, draws=500, seed=1)
    summary = az.summary(idata)
    assert (summary["r_hat"] < 1.01).all()
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    again = az.from_netcdf(str(tmp_path / "posterior.nc"))
    assert again.attrs["release"] == release.fingerprint
    assert np.array_equal(again.posterior["p"], idata.posterior["p"])


@each
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"chains": 0}, "chains is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"draws": 2.5}, "draws is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"engine": "jags"}, "engine is 'jags'"),
    ],
)
def test_bad_arguments_are_named(model, charest_release, arguments, message):
    with pytest.raises(bdp.InvalidInput, match=message):
        model.fit(charest_release, **arguments)


def test_labels_of_several_types_become_text():
    mechanism = bdp.BetaBinomialMechanism(5, 5, (1.0, 1.0))
    release = bdp.Release.of_groups({True: (mechanism, [1]), "x": (mechanism, [2])})
    idata = bdp.BinomialModel().fit(release, draws=5)
    assert idata.posterior["group"].to_numpy().tolist() == ["True", "x"]
