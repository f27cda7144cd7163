"""PyMC and Stan sample the posterior that the exact engine has in closed form."""

import asyncio

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from tests.conftest import require_pystan

MODELS = {
    "one count": (bdp.BinomialModel(), "charest_release"),
    "groups": (bdp.BinomialModel(prior=(0.5, 2.0)), "grouped_release"),
    "unknown n": (bdp.BinomialModel(n=range(30, 61)), "hidden_release"),
}


@pytest.fixture
def hidden_release() -> bdp.Release:
    return bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(None, 25, (6.0, 4.0)), [9, 12])


@pytest.fixture(params=["pymc", pytest.param("stan", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "stan":
        require_pystan()
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_within_four_monte_carlo_standard_errors(case, engine, request):
    model, fixture = MODELS[case]
    release = request.getfixturevalue(fixture)
    idata = model.fit(release, engine=engine, draws=2500, seed=11)
    assert idata.attrs["engine"] == engine
    assert idata.attrs["engine_reason"] == "asked for"
    assert idata.attrs["verdict"].startswith("no problem found")
    assert not idata.sample_stats["diverging"].any()
    assert float(az.rhat(idata)["p"].max()) < 1.01
    for label in release.groups:
        exact = model.posterior(release if release.by is None else release[label])
        p = idata.posterior["p"] if release.by is None else idata.posterior["p"].sel(group=label)
        for moment, expected in ((p, exact.mean()), ((p - exact.mean()) ** 2, exact.sd() ** 2)):
            draws = moment.to_numpy()
            assert abs(draws.mean() - expected) < 4 * az.mcse(draws)


@pytest.mark.slow
def test_too_few_draws_are_convicted(charest_release):
    with pytest.warns(UserWarning, match="the chains of this fit can't be relied on"):
        idata = bdp.BinomialModel().fit(
            charest_release, engine="pymc", draws=50, chains=2, warmup=200, seed=1
        )
    assert "ESS is under 400" in idata.attrs["verdict"]


@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")  # few draws
@pytest.mark.slow
def test_stan_runs_inside_an_event_loop(charest_release):
    """As in a notebook, whose cells run inside one."""
    require_pystan()

    async def cell():
        return bdp.BinomialModel().fit(charest_release, engine="stan", draws=200, chains=2, seed=1)

    idata = asyncio.run(cell())
    assert idata.posterior["p"].shape == (2, 200)


@pytest.mark.slow
def test_it_embeds_in_a_larger_pymc_model(grouped_release):
    """A hierarchical prior on the groups' proportions, with the release's likelihood."""
    import pymc as pm

    from bayesdp.engines.pymc import sampling as engine
    from bayesdp.engines.pymc.programs import latent_count_logp

    cells = bdp.BinomialModel().cells(grouped_release)
    with pm.Model(coords={"group": list(grouped_release.groups)}) as model:
        center = pm.Normal("center", 0, 1.5)
        spread = pm.HalfNormal("spread", 1)
        p = pm.Deterministic(
            "p", pm.math.invlogit(pm.Normal("logit", center, spread, dims="group"))
        )
        pm.Potential("release", latent_count_logp(p, cells).sum())
    drawn = engine.sample(model, variables=["p", "center"], draws=500, chains=2, seed=3)
    assert drawn.posterior["p"].shape == (2, 500, 3)
    means = drawn.posterior["p"].mean(axis=(0, 1))
    alone = [bdp.BinomialModel().posterior(grouped_release[g]).mean() for g in "abc"]
    assert np.ptp(means) < np.ptp(alone)  # pooled towards each other


@pytest.mark.slow
def test_a_model_that_cannot_be_sampled_says_why():
    import pymc as pm

    from bayesdp.engines.pymc import sampling as engine

    with pm.Model() as model:
        pm.Normal("a", 0, 1)
        pm.Potential("impossible", pm.math.log(-1.0))
    with pytest.raises(bdp.errors.EngineFailed, match="nutpie could not sample"):
        engine.sample(model, variables=["a"], draws=10, chains=1, warmup=10, seed=1)
