"""Closed likelihoods of graph models: R's figures, a grid, and engines against each other."""

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.inference.graphs.ergm_dyads import (
    climb,
    fit_mle,
    is_closed,
    pymc_model,
    sample_dyads,
    sample_table,
    stan_data,
)
from bayesdp.networks import Network
from bayesdp.networks.dyad_table import DyadTable, hidden_table, known_table
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.formula import bind
from tests.conftest import require_pystan
from tests.networks.oracles import florentine
from tests.networks.test_dyad_table import example, flipped

WEALTH = "edges + nodecov('wealth')"


def table_of(formula: str, network: Network, epsilon: float) -> DyadTable:
    return hidden_table(bind(formula, network), network, flipped(network, epsilon))


@pytest.mark.parametrize(
    ("flip", "edges", "wealth"),
    [
        (0.01, ("-2.68431", "0.56932"), ("0.010934", "0.004881")),
        (0.1, ("-3.93463", "1.20519"), ("0.016318", "0.008460")),
    ],
)
def test_florentine_marriages_under_randomized_response(flip, edges, wealth):
    """The reference's exact maximum likelihood and standard errors, to the digits printed."""
    fit = fit_mle(table_of(WEALTH, florentine(), np.log((1 - flip) / flip)))
    assert (f"{fit.coef[0]:.5f}", f"{fit.standard_error[0]:.5f}") == edges
    assert (f"{fit.coef[1]:.6f}", f"{fit.standard_error[1]:.6f}") == wealth


def test_florentine_marriages_as_they_are():
    net = florentine()
    fit = fit_mle(known_table(bind(WEALTH, net), [net]))
    assert f"{fit.coef[0]:.5f}" == "-2.59493"
    assert f"{fit.coef[1]:.7f}" == "0.0105459"
    assert f"{fit.standard_error[0]:.5f}" == "0.53606"
    assert f"{fit.standard_error[1]:.7f}" == "0.0046743"


def grid_moments(table: DyadTable, prior: bdp.networks.NormalPrior, points: int = 401) -> tuple:
    """Posterior means and covariances by summation over a grid of two coefficients.

    The box is seven prior sds either way of the prior's mean: 2e-12 lies outside of it before
    the data, which here don't favour it.
    """
    mean, sd = prior.of(2)
    axes = [np.linspace(m - 7 * s, m + 7 * s, points) for m, s in zip(mean, sd, strict=True)]
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p = np.concatenate([table.log_likelihood(part) for part in np.array_split(theta, 50)])
    log_p -= ((theta - mean) ** 2 / sd**2).sum(axis=1) / 2
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    first = w @ theta
    return first, (theta - first).T @ (w[:, None] * (theta - first))


def check_moments(draws: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Means, variances and the covariance within four Monte Carlo standard errors."""
    for t in range(2):
        x = draws[..., t]
        assert float(az.rhat(x)) < 1.01
        assert abs(x.mean() - mean[t]) < 4 * az.mcse(x)
        for u in range(t + 1):
            product = (x - mean[t]) * (draws[..., u] - mean[u])
            assert abs(product.mean() - covariance[t, u]) < 4 * az.mcse(product)


CASES = {
    "wealth": (WEALTH, florentine(), np.log(9.0), bdp.networks.NormalPrior(0, [3, 0.03])),
    "mutual": ("edges + mutual", example(12, True), 2.0, bdp.networks.NormalPrior(0, 1.5)),
    "empty": (
        "edges + nodematch('group')",
        example(9, False).with_edges([]),
        1.0,
        bdp.networks.NormalPrior(0, 2),
    ),
    "complete": (
        "edges + nodematch('group')",
        example(9, False).with_edges(np.column_stack(np.triu_indices(9, 1))),
        1.0,
        bdp.networks.NormalPrior([-1, 0], 2),
    ),
}


# PyMC compiles each model anew: all have the density below, and one is sampled in every run.
FIRST, *OTHERS = CASES
SAMPLED = [
    (FIRST, "pymc"),
    *(pytest.param(case, "pymc", marks=pytest.mark.calibrate) for case in OTHERS),
    *(pytest.param(case, "stan", marks=pytest.mark.slow) for case in CASES),
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "engine"), SAMPLED)
def test_engines_sample_the_posterior_of_a_grid(case, engine):
    if engine == "stan":
        require_pystan()
    formula, network, epsilon, prior = CASES[case]
    drawn = sample_dyads(
        formula,
        network.with_edges([]),
        flipped(network, epsilon),
        prior,
        engine=engine,
        draws=2500,
        chains=4,
        warmup=1000,
        seed=11,
    )
    assert not drawn.sample_stats["diverging"].any()
    assert drawn.posterior["theta"].shape == (4, 2500, 2)
    check_moments(
        drawn.posterior["theta"], *grid_moments(table_of(formula, network, epsilon), prior)
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", pytest.param("stan", marks=pytest.mark.slow)])
def test_the_naive_posterior_is_that_of_the_released_graphs(engine):
    if engine == "stan":
        require_pystan()
    net = example(9, False)
    graphs = [net, example(9, False, seed=6)]
    formula, prior = "edges + nodematch('group')", bdp.networks.NormalPrior(0, 2)
    table = known_table(bind(formula, net), graphs)
    drawn = sample_table(table, prior, engine=engine, draws=2500, chains=4, warmup=1000, seed=3)
    check_moments(drawn.posterior["theta"], *grid_moments(table, prior))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_pymc_model_has_this_density(case):
    """Prior times likelihood, up to a constant, at any point."""
    formula, network, epsilon, prior = CASES[case]
    table = table_of(formula, network, epsilon)
    model, data = pymc_model(table, prior), stan_data(table, prior)
    assert model.coords["term"] == table.names
    logp = model.compile_logp()
    mean, sd = prior.of(2)
    gaps = []
    for z in np.random.default_rng(1).normal(0, 2, size=(5, 2)):
        theta = data["centre"] + data["scale"] * z
        ours = table.log_likelihood(theta) - (((theta - mean) / sd) ** 2).sum() / 2
        gaps.append(float(logp({"z": z})) - ours)
    assert np.ptp(gaps) < 1e-9


def test_chains_start_at_the_mode():
    formula, network, epsilon, prior = CASES["wealth"]
    table = table_of(formula, network, epsilon)
    mean, sd = prior.of(2)
    mode, information = climb(table, mean, 1 / sd**2)
    _, gradient, hessian = table.derivatives(mode)
    assert np.abs(gradient - (mode - mean) / sd**2).max() < 1e-6
    assert information == pytest.approx(np.diag(1 / sd**2) - hessian, rel=1e-9)


def test_which_evidence_is_closed():
    net = example(5, False)
    noisy = Evidence.of_statistics(Network(5), SeenStatistics("edges", np.ones(1), np.ones(1)))
    assert is_closed(bind("edges + nodecov('x')", net), flipped(net, 1.0))
    assert not is_closed(bind("edges + nodecov('x')", net), noisy)
    assert not is_closed(bind("edges + triangle", net), flipped(net, 1.0))


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_there_is_no_maximum_for_an_empty_or_a_complete_graph(epsilon):
    for case in ("empty", "complete"):
        network = CASES[case][1]
        with pytest.raises(
            bdp.errors.InvalidInput, match="no single maximum at finite coefficients"
        ):
            fit_mle(table_of("edges", network, epsilon))
        with pytest.raises(
            bdp.errors.InvalidInput, match="no single maximum at finite coefficients"
        ):
            fit_mle(known_table(bind("edges", network), [network]))


def test_there_is_no_maximum_with_fewer_ties_than_noise_alone_gives():
    """One tie of 190 dyads, each flipped with probability 0.27."""
    with pytest.raises(bdp.errors.InvalidInput, match="as if no dyad"):
        fit_mle(table_of("edges", Network(20, [[0, 1]]), 1.0))


def test_there_is_no_single_maximum_where_statistics_repeat_each_other():
    net = Network(8, [[0, 1], [2, 5], [1, 6]], False, {"g": ["a", "b"] * 4, "h": ["x", "y"] * 4})
    with pytest.raises(bdp.errors.InvalidInput, match="a statistic repeats others"):
        fit_mle(table_of("edges + nodematch('g') + nodematch('h')", net, 4.0))


def test_wrong_arguments():
    net = example(6, False)
    options = {"draws": 10, "chains": 1, "warmup": 10, "seed": 1}
    with pytest.raises(bdp.errors.InvalidInput, match="engine is 'jags'"):
        sample_dyads(
            "edges", net, flipped(net, 1.0), bdp.networks.NormalPrior(), engine="jags", **options
        )
    prior = bdp.networks.NormalPrior(0, [1, 2])
    with pytest.raises(bdp.errors.InvalidInput, match="the prior's sd has 2 numbers"):
        sample_dyads("edges", net, flipped(net, 1.0), prior, engine="pymc", **options)
    with pytest.raises(bdp.errors.InvalidInput, match="depend on each other"):
        sample_dyads(
            "triangle", net, flipped(net, 1.0), bdp.networks.NormalPrior(), engine="pymc", **options
        )
