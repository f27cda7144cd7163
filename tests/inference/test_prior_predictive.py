"""Prior draws: the law of every model's parameters, of outputs, and what is refused."""

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.cells import Axis

M = bdp.mechanisms
FALSE_ALARM = 1e-6
DRAWS = 4000
COPIES = M.BetaBinomialMechanism(20, 20, (3.0, 2.0))
GROUPS = bdp.Release.of_groups({"a": (COPIES, [3, 4]), "b": (COPIES, [10, 9])})
NOISY = bdp.Release.of(M.LaplaceMechanism(0.5, 0.1, "replace_one", n=20), [1.0])
PAIRS = bdp.Release.of(M.LaplaceMechanism(0.5, 0.1, "replace_one", 2, n=20), [(1.0, 2.0)])
MEANS = bdp.Release.of_groups({g: (NOISY.mechanism, [1.0]) for g in "ab"})
CELLS = bdp.Release.of(M.PerturbedHistogramMechanism(1.0, 3), [(3, 4, 5)])
AXES = (Axis("a", categories=("x", "y")), Axis("b", categories=(10, 30)))
TABLE = bdp.Release.of(M.PerturbedHistogramMechanism(1.0, 4, axes=AXES), [(9, 7, 5, 8)])
TIES = bdp.synthesizers.EdgeFlipSynthesizer(3.0).release(nx.karate_club_graph())
MOMENTS = bdp.synthesizers.NoisyMomentsSynthesizer({"x": (0, 10), "y": (-2, 6)}, epsilon=1.0)


def drawn(model: Any, release: bdp.Release, **options: Any) -> Any:
    return bdp.prior_predictive(model, release, draws=DRAWS, seed=1, **options)


def check(values: Any, law: Any) -> None:
    assert stats.kstest(np.ravel(values), law.cdf).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_proportions():
    check(drawn(bdp.BinomialModel((2.0, 3.0)), GROUPS).prior["p"], stats.beta(2, 3))
    prior = drawn(bdp.models.HierarchicalBinomialModel((2.0, 3.0), 7.0), GROUPS).prior
    mean, sd = prior["mean"].to_numpy(), prior["sd"].to_numpy()
    kappa = mean * (1 - mean) / sd**2 - 1
    check(mean, stats.beta(2, 3))
    check(7 / (7 + kappa), stats.uniform())
    p = prior["p"].sel(group="b").to_numpy()
    check(stats.beta(mean * kappa, (1 - mean) * kappa).cdf(p), stats.uniform())
    prior = drawn(bdp.MultinomialModel((1.0, 2.0, 4.0), n=12), CELLS).prior
    check(prior["theta"].sel(category=1), stats.beta(2, 5))


def test_rates():
    rates = drawn(bdp.models.PoissonModel((3.0, 2.0)), CELLS).prior["rate"]
    assert rates.dims == ("chain", "draw", "area")
    check(rates, stats.gamma(3, scale=1 / 2))


def test_rates_of_records():
    prior = drawn(bdp.models.GammaModel((3.0, 2.0), shape=1.5), NOISY).prior
    check(prior["rate"], stats.gamma(3, scale=1 / 2))
    assert np.allclose(prior["mean"], 1.5 / prior["rate"])


@pytest.mark.slow
def test_means():
    check(drawn(bdp.GaussianModel((1.0, 3.0), sd=1.0), NOISY).prior["mu"], stats.norm(1, 3))
    prior = drawn(bdp.GaussianModel((1.0, 0.5, 3.0, 2.0)), PAIRS, outputs=False).prior
    mu, sigma = prior["mu"].to_numpy(), prior["sigma"].to_numpy()
    check(sigma**2, stats.invgamma(3, scale=2))
    check((mu - 1) / sigma, stats.norm(0, math.sqrt(2)))
    model = bdp.models.HierarchicalGaussianModel((1.0, 3.0), 2.0, variance=(3.0, 2.0))
    release = bdp.Release.of_groups({g: (PAIRS.mechanism, [(1.0, 2.0)]) for g in "ab"})
    prior = drawn(model, release).prior
    check(prior["mean"], stats.norm(1, 3))
    check(prior["spread"], stats.halfnorm(scale=2))
    check(((prior["mu"] - prior["mean"]) / prior["spread"]).sel(group="a"), stats.norm())
    check(prior["sigma"] ** 2, stats.invgamma(3, scale=2))


def test_regressions():
    """In units of columns rescaled to [-1, 1], half of 10 and of 8 wide."""
    rng = np.random.default_rng(1)
    release = MOMENTS.release(rng.uniform((0, -2), (10, 6), size=(50, 2)))
    prior = drawn(
        bdp.LinearRegressionModel("y", (0.5, 0.2, 3.0, 2.0)), release, outputs=False
    ).prior
    sigma, slope = prior["sigma"].to_numpy(), prior["beta"].sel(coefficient="x").to_numpy()
    check((sigma / 4) ** 2, stats.invgamma(3, scale=2))
    check((slope * 5 / 4 - 0.5) / (sigma / 4), stats.norm(0, math.sqrt(5)))
    at_centre = prior["beta"].sel(coefficient="intercept").to_numpy() + 5 * slope
    check(((at_centre - 2) / 4 - 0.5) / (sigma / 4), stats.norm(0, math.sqrt(5)))
    prior = drawn(bdp.LogisticRegressionModel("a ~ b", (1.0, 2.0)), TABLE, outputs=False).prior
    check(prior["beta"].sel(coefficient="b") * 10, stats.norm(1, 2))


@pytest.mark.slow
def test_tables():
    model = bdp.models.LogLinearModel("a + b", prior={"a": 0.5}, scale=2.0, intercept=(2.0, 0.3))
    prior = drawn(model, TABLE).prior
    check(prior["beta"].sel(term="Intercept"), stats.norm(2, 0.3))
    check(prior["beta"].sel(term="a[x]"), stats.norm(0, 0.5))
    check(prior["tau"], stats.halfnorm(scale=2))
    check(prior["beta"].sel(term="b[10]") / prior["tau"].sel(scale="b"), stats.norm())
    known = bdp.Release.of(M.PerturbedHistogramMechanism(1.0, 4, axes=AXES), [(9, 7, 5, 8)])
    made = drawn(bdp.models.LogLinearModel("a + b", 1.0, n=range(10, 13)), known)
    assert set(np.unique(made.prior["n"])) == {10, 11, 12}


def test_networks():
    law = bdp.networks.NormalPrior(1.0, 0.5)
    prior = drawn(bdp.models.NetworkBetaModel(law), TIES, outputs=False).prior
    assert prior["beta"].dims == ("chain", "draw", "node")
    check(prior["beta"], stats.norm(1, 0.5))
    prior = drawn(bdp.models.NetworkBetaModel(law, spread=2.0), TIES, outputs=False).prior
    check(prior["mean"], stats.norm(1, 0.5))
    check(prior["spread"], stats.halfnorm(scale=2))
    check((prior["beta"][..., 0] - prior["mean"]) / prior["spread"], stats.norm())
    two = bdp.networks.NormalPrior([1.0, -1.0], [0.5, 2.0])
    prior = drawn(bdp.models.ERGMModel("edges + triangle", two), TIES, outputs=False).prior
    check(prior["theta"].sel(term="triangle"), stats.norm(-1, 2))


@pytest.mark.slow
def test_outputs_have_the_evidence_of_each():
    model = bdp.BinomialModel((2.0, 3.0))
    release = bdp.Release.of(COPIES, [7])
    made = bdp.prior_predictive(model, release, draws=20_000, seed=1)
    assert made.groups() == ["prior", "prior_predictive", "observed_data", "constant_data"]
    seen = np.bincount(made.prior_predictive["outputs"].to_numpy().ravel(), minlength=21)
    logs = [model.log_evidence(bdp.Release.of(COPIES, [z])) for z in range(21)]
    assert stats.chisquare(seen, 20_000 * np.exp(logs)).pvalue > FALSE_ALARM


@pytest.mark.filterwarnings("ignore:Passing a dict:DeprecationWarning")  # ArviZ's
def test_arviz_plots_it_beside_a_fit():
    az = import_arviz()
    import matplotlib.pyplot as plt

    model = bdp.BinomialModel()
    idata = model.fit(GROUPS, draws=100, seed=1)
    idata.extend(bdp.prior_predictive(model, GROUPS, draws=100, seed=1))
    idata = bdp.posterior_predictive(model, idata, GROUPS, draws=100, seed=1)
    for group in ("prior", "posterior"):
        az.plot_ppc(idata, group=group, num_pp_samples=20)
    az.plot_dist_comparison(idata, var_names=["p"])
    plt.close("all")
    assert idata.attrs["engine"] == "exact"


@pytest.mark.slow
def test_nothing_depends_on_what_was_released():
    one = bdp.Release.of(COPIES, [0, 20])
    other = bdp.Release.of(COPIES, [7, 8])
    found = [drawn(bdp.BinomialModel(), each) for each in (one, other)]
    assert np.array_equal(*(each.prior["p"] for each in found))
    assert np.array_equal(*(each.prior_predictive["outputs"] for each in found))


def test_what_has_no_prior_draws_is_refused():
    with pytest.raises(InvalidInput, match="the prior is flat"):
        drawn(bdp.GaussianModel(sd=1.0), NOISY)
    with pytest.raises(InvalidInput, match="aren't predicted here"):
        drawn(bdp.models.NetworkBetaModel(), TIES)
    with pytest.raises(InvalidInput, match="n is confidential"):
        drawn(bdp.BinomialModel(n=range(9, 12)), bdp.Release.of(
            M.DiscreteLaplaceMechanism(2.0, 1, "add_remove"), [4]
        ))  # fmt: skip
    with pytest.raises(InvalidInput, match="model is a str"):
        bdp.prior_predictive("binomial", GROUPS)
    with pytest.raises(InvalidInput, match="release is a list"):
        bdp.prior_predictive(bdp.BinomialModel(), [GROUPS])
    with pytest.raises(InvalidInput, match="draws is 0"):
        bdp.prior_predictive(bdp.BinomialModel(), GROUPS, draws=0)
