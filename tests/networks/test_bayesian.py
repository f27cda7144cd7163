"""The exchange algorithm against posteriors by enumeration; goodness of fit."""

import itertools

import arviz as az
import networkx as nx
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.networks import BayesianERGM, Network, NormalPrior, goodness_of_fit, simulate
from tests.networks.oracles import ORACLES, all_graphs, florentine, karate

pytestmark = pytest.mark.slow
calibrate = pytest.mark.calibrate


def exact_posterior(network: Network, terms: list[str], sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of two coefficients, on a grid, all graphs enumerated."""
    every = np.array(
        [[ORACLES[t][0][0](a, network) for t in terms] for a in all_graphs(network.n, False)]
    )
    distinct, multiplicity = np.unique(every, axis=0, return_counts=True)
    observed = [ORACLES[t][0][0](network.to_adjacency().astype(int), network) for t in terms]
    axis = np.linspace(-7 * sd, 7 * sd, 281)
    theta = np.array(list(itertools.product(axis, axis)))
    constant = special.logsumexp(theta @ distinct.T, b=multiplicity, axis=1)
    weight = special.softmax(theta @ observed - constant - (theta**2).sum(axis=1) / (2 * sd**2))
    mean = weight @ theta
    return mean, (theta - mean).T @ ((theta - mean) * weight[:, None])


@pytest.mark.parametrize(
    ("n", "pairs", "offset", "auxiliary"),
    [
        pytest.param(5, [[0, 1], [0, 2], [1, 2], [2, 3]], None, 4_000, marks=calibrate),
        (5, [[0, 1], [0, 2], [1, 2], [2, 3]], None, "tempered"),
        pytest.param(6, [[0, 1], [1, 2], [2, 3]], None, 4_000, marks=calibrate),
        (6, [[0, 1], [1, 2], [2, 3]], None, None),
        (5, [[0, 1], [0, 2], [1, 2], [2, 3]], 0.5, 4_000),
        (5, [[0, 1], [0, 2], [1, 2], [2, 3]], 0.5, "tempered"),
        (5, [[0, 1], [0, 2], [1, 2], [2, 3]], 0.5, None),
    ],
)
def test_a_fit_is_the_exact_posterior(n, pairs, offset, auxiliary):
    """An offset common to all dyads is a prior mean of edges in disguise."""
    network, terms = Network(n, pairs), ["edges", "triangle"]
    mean, covariance = exact_posterior(network, terms, 2.0)
    prior, given = NormalPrior(0.0, 2.0), None
    if offset is not None:
        prior, given = NormalPrior([-offset, 0.0], 2.0), np.full((n, n), offset)
        mean = mean - [offset, 0.0]
    idata = BayesianERGM("edges + triangle", prior).fit(
        network, draws=4_000, tune=1_000, auxiliary=auxiliary, tempering=64_000, offset=given,
        seed=1,
    )  # fmt: skip
    theta = idata.posterior["theta"]
    error = az.mcse(theta)["theta"].values
    assert (np.abs(theta.mean(("chain", "draw")).values - mean) < 4 * error).all()
    square = (theta - mean) ** 2
    error = az.mcse(square)["theta"].values
    assert (np.abs(square.mean(("chain", "draw")).values - np.diag(covariance)) < 4 * error).all()
    assert float(az.rhat(theta)["theta"].max()) < 1.02


def test_what_a_fit_returns():
    model = BayesianERGM("edges + gwesp(0.5)", NormalPrior(0, [5, 3]))
    options = {"draws": 200, "tune": 200, "chains": 3}
    idata = model.fit(florentine(), seed=5, **options)
    assert idata.posterior["theta"].dims == ("chain", "draw", "term")
    assert idata.posterior["theta"].shape == (3, 200, 2)
    assert idata.posterior["term"].values.tolist() == ["edges", "gwesp.0.5"]
    assert set(idata.sample_stats) == {"acceptance_rate"}
    assert idata.sample_stats["acceptance_rate"].shape == (3, 200)
    np.testing.assert_allclose(idata.observed_data["statistics"], [20, 8.39347], atol=5e-6)
    assert idata.attrs["engine"] == "exchange"
    assert idata.attrs["auxiliary"] == "tempered"
    assert idata.attrs["problems"] == "[]"
    assert 0.1 < float(idata.sample_stats["acceptance_rate"].mean()) < 0.9
    again = model.fit(florentine(), seed=5, **options)
    np.testing.assert_array_equal(again.posterior["theta"], idata.posterior["theta"])
    chains = idata.posterior["theta"].values
    assert not np.array_equal(chains[0], chains[1])
    by_auxiliary = model.fit(florentine(), seed=5, auxiliary=1_000, **options)
    assert set(by_auxiliary.sample_stats) == {"acceptance_rate", "auxiliary_density"}
    assert by_auxiliary.attrs["auxiliary"] == "1000"


def test_florentine_posterior_is_near_its_maximum_likelihood():
    idata = BayesianERGM("edges + nodecov('wealth')", NormalPrior(0, 10)).fit(
        florentine(), draws=2_000, tune=500, auxiliary=2_000, seed=1
    )
    found = idata.posterior["theta"].mean(("chain", "draw")).values
    assert (np.abs(found - [-2.59493, 0.0105459]) < 0.3 * np.array([0.53606, 0.0046743])).all()


def test_doubling_shows_the_bias_of_short_auxiliary_graphs():
    model = BayesianERGM("edges", NormalPrior(0, 2))
    network = Network(6, [[0, 1]])
    options = {"draws": 4_000, "tune": 500, "seed": 1}
    with pytest.warns(UserWarning, match="graphs of 3 proposals don't forget where they start"):
        short = model.compare_auxiliary(network, auxiliary=3, **options)
    long = model.compare_auxiliary(network, auxiliary=400, **options)
    assert short.index.tolist() == ["edges"]
    assert abs(short.loc["edges", "change_in_mcse"]) > 10
    assert abs(long.loc["edges", "change_in_mcse"]) < 5
    assert abs(long.loc["edges", "change_in_sd"]) < 0.2


@pytest.mark.parametrize("pairs", [[], [[0, 1], [0, 2], [1, 2]]])
def test_an_empty_or_complete_network_is_said_to_be(pairs):
    with pytest.warns(UserWarning, match="empty or complete: the posterior rests on the prior"):
        BayesianERGM("edges", NormalPrior(0, 1)).fit(Network(3, pairs), draws=100, tune=100, seed=1)


def test_a_degenerate_model_is_said_to_be():
    rng = np.random.default_rng(1)
    network = Network(30, np.argwhere(np.triu(rng.random((30, 30)) < 0.3, 1)))
    for auxiliary in ("tempered", 20_000):
        with pytest.warns(UserWarning, match="435 ties, and those that the model is fitted to"):
            BayesianERGM("edges + triangle", NormalPrior([2, 2], 0.001)).fit(
                network, draws=50, tune=50, chains=2, auxiliary=auxiliary, seed=1
            )


REFUSED = [
    (lambda: BayesianERGM("edges", prior=3), "prior is 3"),
    (lambda: BayesianERGM("alien"), "alien"),
    (lambda: NormalPrior(0, 0), "above zero"),
    (lambda: NormalPrior(np.inf, 1), "finite"),
    (lambda: NormalPrior("a", 1), "must be a number"),
    (lambda: BayesianERGM("edges", NormalPrior([0, 0])).fit(florentine()), "2 numbers"),
    (lambda: BayesianERGM("edges").fit(florentine(), chains=0), "chains is 0"),
    (lambda: BayesianERGM("edges").fit(florentine(), auxiliary=0), "auxiliary is 0"),
    (lambda: BayesianERGM("edges").fit(florentine(), seed=1.5), "seed is 1.5"),
    (lambda: goodness_of_fit(florentine(), "edges", []), "coef has shape"),
    (lambda: goodness_of_fit(florentine(), "edges", [1, 2]), "coef has shape"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused(make, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        make()


@pytest.mark.parametrize("directed", [False, True])
def test_goodness_of_fit_counts_what_networkx_counts(directed):
    drawn = simulate(Network(25, directed=directed), "edges", [-2.5], seed=3).networks[0][0]
    graph, n = drawn.to_networkx(), drawn.n
    fit = goodness_of_fit(drawn, "edges", [-2.5], draws=3, seed=1).distributions
    degrees = {"degree": graph.degree}
    if directed:
        degrees = {"out-degree": graph.out_degree, "in-degree": graph.in_degree}
    a = nx.to_numpy_array(graph).astype(int)
    tied = a == 1 if directed else np.triu(a) == 1
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    pairs = itertools.permutations(range(n), 2) if directed else itertools.combinations(range(n), 2)
    far = [lengths[i].get(j) for i, j in pairs]
    expected = {
        **{name: np.bincount([d for _, d in view]) for name, view in degrees.items()},
        "edgewise shared partners": np.bincount((a @ a)[tied]),
        "geodesic distance": np.bincount([d for d in far if d is not None]),
    }
    assert set(fit) == set(expected)
    for name, counts in expected.items():
        found = dict(zip(fit[name].labels, fit[name].observed.tolist(), strict=True))
        assert found.pop("inf", 0) == (far.count(None) if name == "geodesic distance" else 0)
        assert {int(k): v for k, v in found.items() if v} == {
            k: v for k, v in enumerate(counts.tolist()) if v
        }


def test_goodness_of_fit_tells_a_good_model_from_a_bad_one():
    club = karate()
    bad = goodness_of_fit(club, "edges", [0.0], draws=40, seed=1)
    assert bad.distributions["degree"].p_values.min() == 0.0
    draws = np.tile([-3.12, 0.82], (40, 1))
    good = goodness_of_fit(club, "edges + gwesp(0.5)", draws, seed=1)
    shared = good.distributions["edgewise shared partners"]
    assert shared.simulated.shape == (40, len(shared.labels))
    assert shared.p_values[:5].min() > 0.05
    frame = shared.to_frame()
    assert frame.columns.tolist() == ["observed", "minimum", "mean", "maximum", "p_value"]
    figure = good.plot()
    assert [panel.get_xlabel() for panel in figure.axes] == list(good.distributions)
