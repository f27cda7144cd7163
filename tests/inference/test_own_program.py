"""PyMC models of one's own, fitted as all models are."""

from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.errors import InvalidInput

COPIES = bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65))
RELEASE = bdp.Release.of(COPIES, [38])
GROUPS = bdp.Release.of_groups({"a": (COPIES, [38]), "b": (COPIES, [50])})
FILE = """
import pymc as pm
import bayesdp as bdp

def model(release):
    with pm.Model() as made:
        p = pm.Beta("p", 1, 1)
        bdp.observe(release, pm.Binomial.dist(n=100, p=p))
    return made
"""


def share(release: bdp.Release) -> pm.Model:
    with pm.Model() as made:
        p = pm.Beta("p", 1, 1)
        pm.Deterministic("odds", p / (1 - p))
        bdp.observe(release, pm.Binomial.dist(n=100, p=p))
    return made


def shares(release: bdp.Release) -> pm.Model:
    with pm.Model(coords={"place": list(release.groups), "other": [1, 2]}) as made:
        p = pm.Beta("p", 2, 3, dims="place")
        pm.Beta("apart", 1, 1, shape=2)
        bdp.observe(release, pm.Binomial.dist(n=[100, 100], p=p))
    return made


@pytest.mark.slow
def test_the_posterior_is_the_binomial_s():
    idata = bdp.models.PyMCModel(share).fit(RELEASE, seed=1, target_accept=0.9)
    exact = bdp.BinomialModel().posterior(RELEASE)
    p = idata.posterior["p"].to_numpy()
    assert abs(p.mean() - exact.mean()) < 0.01
    assert abs(p.std() - exact.sd()) < 0.01
    assert np.allclose(idata.posterior["odds"], p / (1 - p))
    assert idata.attrs["family"] == "pymc"
    assert idata.attrs["source"] == "share"
    assert idata.attrs["verdict"].startswith("no problem found")
    assert idata.observed_data["outputs"].to_numpy().tolist() == [38]


@pytest.mark.slow
def test_a_constant_of_the_model_is_no_stuck_chain_but_a_discrete_variable_may_be():
    def constant(release: bdp.Release) -> pm.Model:
        made = share(release)
        with made:
            pm.Deterministic("diagonal", pm.math.constant(1.0) * np.ones(2))
        return made

    def stuck(release: bdp.Release) -> pm.Model:
        made = share(release)
        with made:  # Metropolis can't leave the first value
            pm.DiscreteUniform("far", 0, 10**9)
            pm.Potential("held", -1e6 * pm.math.abs(made["far"] - 5 * 10**8))
        return made

    fit = {"seed": 1, "target_accept": 0.9}
    idata = bdp.models.PyMCModel(constant).fit(RELEASE, **fit)
    assert idata.attrs["verdict"].startswith("no problem found")
    with pytest.warns(UserWarning, match="can't be relied on: R-hat"):
        bdp.models.PyMCModel(stuck).fit(RELEASE, sampler="pymc", **fit)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
def test_dimensions_are_the_model_s_own():
    model = bdp.models.PyMCModel(shares)
    idata = model.fit(GROUPS, draws=50, chains=2, warmup=50, seed=1)
    assert idata.posterior["p"].dims == ("chain", "draw", "place")
    assert idata.posterior["place"].to_numpy().tolist() == ["a", "b"]
    assert idata.posterior["apart"].shape == (2, 50, 2)
    assert "other" not in idata.posterior.coords
    kept = bdp.models.PyMCModel(shares, variables=["p"])
    assert list(kept.fit(GROUPS, draws=50, chains=2, seed=1).posterior.data_vars) == ["p"]


def test_prior_draws_are_of_the_model_without_the_release():
    made = bdp.prior_predictive(
        bdp.models.PyMCModel(shares), GROUPS, draws=2000, seed=1, outputs=False
    )
    assert stats.kstest(np.ravel(made.prior["p"]), stats.beta(2, 3).cdf).pvalue > 1e-6
    same = bdp.prior_predictive(
        bdp.models.PyMCModel(shares), GROUPS, draws=2000, seed=1, outputs=False
    )
    assert np.array_equal(made.prior["p"], same.prior["p"])


def test_a_file_is_a_program(tmp_path: Path):
    path = tmp_path / "share.py"
    path.write_text(FILE)
    model = bdp.models.PyMCModel(str(path))
    assert [str(each.name) for each in model.pymc_model(RELEASE).free_RVs] == ["p"]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("missing.py", {}, "source is 'missing.py'; it must be a function"),
        (3, {}, "source is no path"),
        (share, {"variables": "p"}, "variables is 'p'; it must be names"),
        (share, {"variables": []}, "variables is a list; it must be names"),
    ],
)
def test_what_is_no_program_is_refused(source: Any, options: Any, message: str):
    with pytest.raises(InvalidInput, match=message):
        bdp.models.PyMCModel(source, **options)


def test_what_a_program_returns_is_checked(tmp_path: Path):
    with pytest.raises(InvalidInput, match="variables has 'q'; the model has p, odds"):
        bdp.models.PyMCModel(share, variables=["q"]).fit(RELEASE)
    with pytest.raises(InvalidInput, match="source returned an int"):
        bdp.models.PyMCModel(lambda _: 3).fit(RELEASE)
    (path := tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InvalidInput, match="defines no function 'model'"):
        bdp.models.PyMCModel(path).fit(RELEASE)
    with pytest.raises(InvalidInput, match="engine is 'stan'"):
        bdp.models.PyMCModel(share).fit(RELEASE, engine="stan")
    with pytest.raises(InvalidInput, match="no naive fit"):
        bdp.models.PyMCModel(share).fit_naive(RELEASE)
