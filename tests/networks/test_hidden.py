"""Coefficients and hidden graph together, against posteriors by enumeration."""

import itertools
import warnings

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.kernels.hidden.pace import PARTS, levels_between
from bayesdp.networks import Network, NormalPrior, simulate, statistics
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.hidden.pace import fit_pace
from bayesdp.networks.hidden.sampling import sample_hidden
from tests.networks.hidden_oracles import EVIDENCE, every_graph, flipped, log_likelihood

# REFERENCE: all 2^21 graphs on 7 nodes, prior N(0, 4 I), edges + triangle
LABELS = [7, 9, 11, 13, 14, 15, 16]
RELEASED = Network.from_edges(
    [(7, 16), (9, 13), (9, 14), (9, 16), (11, 15), (13, 15), (13, 16)], nodes=LABELS
)
SEVEN = {
    1.0: ((-1.3176, -1.1815), (1.5853, 1.4795), -0.3265),
    4.0: ((-0.4399, -1.0308), (0.6872, 1.1247), -0.3735),
}


def errors(theta: np.ndarray, mean, sd, correlation: float) -> np.ndarray:
    """How many Monte Carlo standard errors means, variances and correlation are off."""
    z = (theta - np.array(mean)) / np.array(sd)
    found = np.concatenate([z, z**2 - 1, z[..., :1] * z[..., 1:] - correlation], axis=-1)
    return found.mean((0, 1)) / az.mcse(az.convert_to_dataset(found))["x"].to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("levels", [None, 1])
@pytest.mark.parametrize("epsilon", SEVEN)
def test_seven_nodes(epsilon, levels):
    drawn = sample_hidden(
        "edges + triangle", RELEASED, flipped(RELEASED, epsilon), prior=NormalPrior(0, 2),
        draws=5_000 if levels is None else 15_000, levels=levels, seed=1,
    )  # fmt: skip
    assert drawn.constant.kind == "exact"
    assert (np.abs(errors(drawn.theta, *SEVEN[epsilon])) < 4).all()
    if levels is None:
        assert max(float(az.rhat(drawn.theta[..., k])) for k in (0, 1)) < 1.01


@pytest.mark.slow
def test_short_auxiliary_graphs_bias_towards_the_prior():
    """Then the ratio is nearer to that of the priors: means nearer to 0, sds to 2."""
    (mean, sd, _) = SEVEN[4.0]
    off = []
    for auxiliary in (2, 20, 400):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            drawn = sample_hidden(
                "edges + triangle", RELEASED, flipped(RELEASED, 4.0), prior=NormalPrior(0, 2),
                draws=2_500, auxiliary=auxiliary, levels=1, seed=2,
            )  # fmt: skip
        theta = drawn.theta
        assert bool(said) == bool(drawn.problems)
        if auxiliary == 2:
            assert "2 proposals don't forget where they start" in drawn.problems[0]
        if auxiliary == 400:
            assert not drawn.problems
        error = az.mcse(az.convert_to_dataset(theta))["x"].to_numpy()
        off.append((theta.mean((0, 1)) - mean) / error)
        wider = theta.std((0, 1)) / sd
        if auxiliary == 2:
            assert (wider > 1.15).all()
            assert abs(theta[..., 1].mean()) < abs(mean[1])
    assert np.abs(off[0]).max() > 5
    assert np.abs(off[0]).max() > np.abs(off[1]).max()
    assert np.abs(off[2]).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["statistics, rounded", "degrees, gaussian", "all"])
def test_five_nodes_seen_in_every_way(kind):
    terms, sd = ["edges", "triangle"], 1.0
    nodes, graphs, values = every_graph(5, False, terms)
    evidence = EVIDENCE[kind](5, False)
    support = np.array([log_likelihood(evidence, a, nodes) for a in graphs])
    axis = np.linspace(-6.5 * sd, 6.5 * sd, 131)
    theta = np.array(list(itertools.product(axis, axis)))
    power = theta @ values.T
    weight = special.softmax(
        special.logsumexp(power + support, axis=1)
        - special.logsumexp(power, axis=1)
        - (theta**2).sum(axis=1) / (2 * sd**2)
    )
    hidden = special.softmax(power + support, axis=1)
    mean = weight @ theta
    spread = (theta - mean).T @ ((theta - mean) * weight[:, None])
    root = np.sqrt(np.diag(spread))
    drawn = sample_hidden(
        " + ".join(terms), nodes, evidence, prior=NormalPrior(0, sd), draws=3_000, tune=500,
        auxiliary="exact", levels=20, seed=1,
    )  # fmt: skip
    correlation = spread[0, 1] / root.prod()
    assert (np.abs(errors(drawn.theta, mean, root, correlation)) < 4).all()
    expected = weight @ hidden @ values
    error = az.mcse(az.convert_to_dataset(drawn.statistics))["x"].to_numpy()
    assert (np.abs(drawn.statistics.mean((0, 1)) - expected) < 4 * error).all()


@pytest.mark.slow
def test_statistics_that_are_nought_are_nought():
    """Sums of changes drift; a chain that moved well had an R-hat of 1.36, of their last bits."""
    ties = [(k, (k + step) % 20) for k in range(20) for step in (1, 4)]
    network = Network.from_edges(ties, nodes=range(20))
    options = {"draws": 60, "tune": 60, "chains": 2, "levels": 10}
    drawn = sample_hidden("edges + gwesp(0.5)", network, flipped(network, 3.0), seed=3, **options)
    shared = drawn.statistics[..., 1]
    assert (shared == 0.0).any()
    assert not ((shared != 0.0) & (np.abs(shared) < 0.5)).any()


@pytest.mark.slow
def test_what_is_returned():
    network = simulate(40, "edges + gwesp(0.5)", [-2.5, 0.4], seed=1).networks[0][0]
    options = {"draws": 60, "tune": 60, "chains": 2, "levels": 10, "keep_networks": 3}
    evidence = flipped(network, 3.0)
    drawn = sample_hidden("edges + gwesp(0.5)", network, evidence, seed=3, **options)
    assert drawn.terms == ("edges", "gwesp.0.5")
    assert drawn.theta.shape == drawn.statistics.shape == (2, 60, 2)
    assert drawn.accepted.shape == drawn.density.shape == drawn.auxiliary_density.shape == (2, 60)
    assert drawn.accepted.dtype == bool
    assert drawn.constant.kind == "tempered"
    assert drawn.problems == ()
    np.testing.assert_allclose(drawn.density, drawn.statistics[..., 0] / network.dyads)
    for chain, networks in enumerate(drawn.networks):
        assert len(networks) == 3
        for draw, kept in zip((19, 39, 59), networks, strict=True):
            found = list(statistics(kept, "edges + gwesp(0.5)").values())
            np.testing.assert_allclose(found, drawn.statistics[chain, draw], atol=1e-9)
    again = sample_hidden("edges + gwesp(0.5)", Network(40), evidence, seed=3, **options)
    np.testing.assert_array_equal(again.theta, drawn.theta)
    assert again.networks == drawn.networks
    assert not np.array_equal(drawn.theta[0], drawn.theta[1])
    other = sample_hidden("edges + gwesp(0.5)", network, evidence, seed=4, **options)
    assert not np.array_equal(other.theta, drawn.theta)


@pytest.mark.slow
@pytest.mark.calibrate
def test_annealed_moves_and_the_plain_exchange_agree_on_thirty_nodes():
    network = simulate(30, "edges + gwesp(0.5)", [-2.6, 0.5], seed=1).networks[0][0]
    evidence = flipped(network, 2.5)
    both = [
        sample_hidden(
            "edges + gwesp(0.5)", network, evidence, prior=NormalPrior(0, [3, 1]), draws=draws,
            auxiliary=3_000, levels=levels, seed=5,
        ).theta
        for draws, levels in ((1_500, None), (15_000, 1))
    ]  # fmt: skip
    found = [np.concatenate([theta, theta**2], axis=-1) for theta in both]
    error = np.hypot(*(az.mcse(az.convert_to_dataset(f))["x"].to_numpy() for f in found))
    assert (np.abs(found[0].mean((0, 1)) - found[1].mean((0, 1))) < 4 * error).all()
    ess = [float(az.ess(theta[..., 0])) / theta[..., 0].size for theta in both]
    assert ess[0] > 5 * ess[1]


@pytest.mark.slow
def test_sparse_networks_of_many_nodes():
    """Rows are lists above 5,792 nodes; almost all ties of the release are there, and few more."""
    n, epsilon = 6_000, 9.0
    rng = np.random.default_rng(1)
    pairs = np.unique(np.sort(rng.integers(0, n, (9_000, 2)), axis=1), axis=0)
    network = Network(n, pairs[pairs[:, 0] != pairs[:, 1]])
    drawn = sample_hidden(
        "edges", network, flipped(network, epsilon), draws=20, tune=30, chains=2,
        auxiliary=200_000, levels=30, seed=1,
    )  # fmt: skip
    density = len(network.edges) / network.dyads
    flip = special.expit(-epsilon)
    expected = (density - flip) / (1 - 2 * flip)  # unbiased for the hidden graph's
    assert drawn.density.mean() == pytest.approx(expected, rel=0.03)
    assert drawn.theta.mean() == pytest.approx(special.logit(expected), abs=0.1)
    for chain in (0, 1):
        last = statistics(drawn.networks[chain][-1], "edges")["edges"]
        assert last == drawn.statistics[chain, -1, 0]


@pytest.mark.slow
def test_collapsed_graphs_are_said_to_be():
    nodes = Network(8)
    nothing = Evidence(Network(8), np.empty((0, 2), np.int64), np.empty(0), constant=-30.0)
    with pytest.warns(UserWarning, match="hidden graphs were empty or complete"):
        sample_hidden("edges", nodes, nothing, prior=NormalPrior(0, 1), draws=50, tune=50, seed=1)
    with pytest.warns(UserWarning, match="28 ties, and those that the model is fitted to 1[4-6]"):
        sample_hidden(
            "edges", nodes,
            Evidence.of_statistics(
                Network(8), SeenStatistics("edges", np.array([14.0]), np.array([0.5]), "gaussian")
            ),
            prior=NormalPrior(9, 0.01), draws=50, tune=50, seed=1,
        )  # fmt: skip


REFUSED = [
    ({"draws": 0}, "draws is 0"),
    ({"tune": 0}, "tune is 0"),
    ({"chains": 1.5}, "chains is 1.5"),
    ({"levels": 0}, "levels is 0"),
    ({"keep_networks": 0}, "keep_networks is 0"),
    ({"keep_networks": 11, "draws": 10}, "more than the 10 draws"),
    ({"auxiliary": 0}, "auxiliary is 0"),
    ({"auxiliary": "long"}, "'long'"),
    ({"auxiliary": "exact"}, "45 dyads"),
    ({"seed": -1}, "seed is -1"),
    ({"prior": 3}, "prior is 3"),
    ({"prior": NormalPrior([0, 0, 0])}, "3 numbers"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "message"), REFUSED)
def test_arguments_that_are_refused(changed, message):
    nodes = Network(10, [[0, 1]])
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        sample_hidden("edges + triangle", nodes, flipped(nodes, 2.0), **changed)


def test_levels_lie_where_statistics_vary_and_the_same_in_both_directions():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(2_000, 2))
    truth = np.array([[0.0, 0.5, 1.0], [0.0, 1.0, -1.0]])
    variance = rng.gamma(0.5, 2.0, theta.shape) * np.exp(theta @ truth[:, :2].T + truth[:, 2])
    pace = fit_pace(theta, variance)
    np.testing.assert_allclose(pace, truth, atol=0.25)
    a, b, most = np.array([-0.3, -1.0]), np.array([0.2, 1.5]), 80
    there, back = np.empty(most + 1), np.empty(most + 1)
    levels = levels_between(a, b, pace, most, np.empty(PARTS + 1), there)
    assert levels == levels_between(b, a, pace, most, np.empty(PARTS + 1), back)
    there, back = there[: levels + 1], back[: levels + 1]
    assert 2 < levels <= most
    np.testing.assert_allclose(there, 1 - back[::-1], atol=1e-12)
    assert (np.diff(there) > 0).all()
    assert np.diff(there)[-1] < np.diff(there)[0] / 2
    assert levels_between(a, a, pace, most, np.empty(PARTS + 1), np.empty(most + 1)) == 2
    still = fit_pace(theta, np.zeros((2_000, 2)))
    assert np.isfinite(still).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*graphs were empty or complete")  # on six nodes, some are
@pytest.mark.parametrize(
    "terms",
    [
        ["edges", "triangle"],
        pytest.param(["edges", "gwesp(0.5)"], marks=pytest.mark.calibrate),
    ],
)
def test_simulation_based_calibration_on_six_nodes(terms):
    """Prior draws, exact graphs, flips of them: ranks of coefficients and of ties are uniform.

    Chi-square on 20 bins, false alarm 1e-6 a test (Talts et al. 2018). Equal values are ranked
    at random.
    """
    replicates, kept, bins, thin = 400, 39, 20, 6
    rng = np.random.default_rng(1)
    nodes, graphs, values = every_graph(6, False, terms)
    formula, prior = " + ".join(terms), NormalPrior([-0.5, 0.0], [1.0, 0.7])
    mean, sd = prior.of(2)
    ranks = []
    for seed in range(replicates):
        theta = rng.normal(mean, sd)
        k = rng.choice(len(graphs), p=special.softmax(values @ theta))
        flips = np.triu(rng.random((6, 6)) < special.expit(-1.5), 1)
        released = nodes.with_edges(np.argwhere(np.triu(graphs[k]).astype(bool) ^ flips))
        drawn = sample_hidden(
            formula, nodes, flipped(released, 1.5), prior=prior, draws=kept * thin, tune=150,
            chains=1, auxiliary="exact", levels=15, seed=seed,
        )  # fmt: skip
        draws = np.column_stack([drawn.theta[0], drawn.statistics[0]])[thin - 1 :: thin].round(9)
        truth = np.append(theta, values[k]).round(9)
        ties = (draws == truth).sum(axis=0)
        ranks.append((draws < truth).sum(axis=0) + rng.integers(0, ties + 1))
    for column in np.array(ranks).T:
        counts = np.bincount(column * bins // (kept + 1), minlength=bins)
        assert stats.chisquare(counts).pvalue > 1e-6
