"""Normalising constants by listing and by tempered chains, against all graphs."""

import numpy as np
import pytest
from scipy import special, stats

from bayesdp.kernels.graphs.normalizer import log_constant
from bayesdp.networks import BayesianERGM, Network, NormalPrior, simulate
from bayesdp.networks.auxiliary import Constant, covers, normalizer_about
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.hidden.sampling import sample_hidden
from bayesdp.networks.listing import listed
from bayesdp.networks.tempering import Tempering
from tests.networks.hidden_oracles import every_graph, flipped
from tests.networks.oracles import karate, ties

pytestmark = pytest.mark.slow

CASES = [
    (5, False, ["edges", "triangle"]),
    (6, False, ["edges", "gwesp(0.5)"]),
    (5, False, ["edges", "nodematch('group')", "gwdegree(0.3)"]),
    (5, False, ["triangle"]),
    (4, True, ["edges", "mutual", "gwesp(0.5)"]),
    (5, False, ["edges", "gwesp(0.5)", "nodecov('x')"]),
]


PRIOR = NormalPrior(0, [5, 3])


def cloud(terms: int, size: int = 100) -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.7, (size, terms))


def log_constants(values: np.ndarray, theta: np.ndarray, shift: np.ndarray | float = 0.0):
    return special.logsumexp(theta @ values.T + shift, axis=1)


@pytest.mark.parametrize(("n", "directed", "terms"), CASES)
@pytest.mark.parametrize("with_offset", [False, True])
def test_both_are_the_sum_over_all_graphs(n, directed, terms, with_offset):
    """Listed to rounding; tempered within 5 standard errors, which are small."""
    nodes, graphs, values = every_graph(n, directed, terms)
    offset, shift = None, 0.0
    if with_offset:
        offset = np.random.default_rng(7).normal(0, 0.5, (n, n))
        offset = offset if directed else offset + offset.T
        np.fill_diagonal(offset, 0.0)
        shift = np.array([(ties(a, nodes) * offset).sum() for a in graphs])
    formula, theta = " + ".join(terms), cloud(len(terms), 20)
    wanted = log_constants(values, theta, shift)
    whole = listed(formula, nodes, offset)
    np.testing.assert_allclose(whole.log(theta), wanted, rtol=1e-12)
    assert whole.exact
    assert whole.count.sum() == len(graphs)
    tempered = Tempering.of(formula, nodes, offset).normalizer(
        cloud(len(terms)), 16_000, np.random.default_rng(1)
    )
    error, off = tempered.error(theta), tempered.log(theta) - wanted
    assert (np.abs(off - off.mean()) < 5 * error + 0.003).all()  # cells are this wide
    assert error.max() < 0.1
    assert np.abs(off).max() < 0.15  # the constant itself, not only its differences
    assert covers(tempered, theta)
    near = np.array([(ties(a, nodes)).sum() for a in graphs])
    expected = special.softmax(theta @ values.T + shift, axis=1) @ near
    np.testing.assert_allclose(whole.mean_ties(theta), expected, rtol=1e-9)
    np.testing.assert_allclose(tempered.mean_ties(theta), expected, atol=0.05 * near.max())


def test_errors_are_as_large_as_they_say():
    """Over 30 seeds, squares of differences over errors have a mean near 1: jackknifed, of 8."""
    nodes, _, values = every_graph(6, False, ["edges", "triangle"])
    theta = cloud(2, 2)
    wanted = np.diff(log_constants(values, theta))
    made = Tempering.of("edges + triangle", nodes)
    ratio = []
    for seed in range(30):
        found = made.normalizer(cloud(2), 2_000, np.random.default_rng(seed))
        # the jackknife's error of a difference is twice that of each less their mean
        ratio.append(((np.diff(found.log(theta)) - wanted) / (2 * found.error(theta)[0]))[0])
    assert 0.3 < np.mean(np.square(ratio)) < 4


def test_it_crosses_between_phases_where_a_chain_stays():
    """Ten nodes: at (-3, 1.2) nearly complete graphs have the weight, and a chain from the empty
    graph sees none of them. Their part of Z is known: ties miss seldom, and never two together."""
    nodes, theta = Network(10), np.array([[-3.0, 1.2]])
    stuck = simulate(nodes, "edges + triangle", theta[0], draws=200, burn_in=2_000, interval=100,
                     seed=1).statistics[0, :, 0]  # fmt: skip
    assert stuck.max() < 20
    found = Tempering.of("edges + triangle", nodes).normalizer(
        theta + np.random.default_rng(1).normal(0, 0.1, (100, 2)), 16_000, np.random.default_rng(1)
    )
    dense = found.ties > 30
    weight = special.softmax(theta @ found.points.statistics + found.points.log_weight)[0]
    assert weight[dense].sum() > 0.999
    one_missing = 45 * np.exp(3.0 - 8 * 1.2)  # of the complete graph's weight
    wanted = -3.0 * 45 + 1.2 * 120 + np.log1p(one_missing)  # two missing add less than 0.003
    assert found.log(theta)[0] == pytest.approx(wanted, abs=0.15)


@pytest.mark.parametrize("shift", [[-3.0, 0.0], [0.0, -1.0], [0.0, 0.5], [2.0, -0.5]])
def test_a_region_that_was_not_looked_at_is_said_to_be(shift):
    """Planted: karate's constant about coefficients that are far from those asked for."""
    made = Tempering.of("edges + triangle", karate())
    rng = np.random.default_rng(1)
    near = rng.multivariate_normal([-1.96, 0.16], np.diag([0.05, 0.01]) ** 2, 200)
    away = normalizer_about(made, near + shift, 4_000, rng)
    assert covers(away, near + shift)
    assert not covers(away, near)
    assert not covers(normalizer_about(made, near, 16, rng), near)  # nor by so few steps


def kind(formula: str, nodes: Network, ties: int = 10**6) -> int | str:
    return Constant.of(formula, nodes, None, None, ties=ties).kind


def test_what_is_taken_by_default():
    two, four = "edges + triangle", "edges + triangle + gwesp(0.5) + kstar(2)"
    assert kind(two, Network(7)) == "exact"
    assert kind(two, Network(8)) == "tempered"
    assert kind(four, Network(30)) == 1_000
    assert kind(two, Network(200)) == 39_800
    assert kind(two, Network(200), ties=50) == 20_000
    assert kind(two, Network(200), ties=0) == 1_000
    assert Constant.of(four, Network(30), "tempered", 100, ties=5).steps == 100
    real = {"x": np.random.default_rng(1).normal(size=7)}  # of 2^21 graphs no two are alike
    assert kind("triangle + nodecov('x')", Network(7, attributes=real)) == "tempered"
    apart = Constant.of("edges + nodecov('x')", Network(7, attributes=real), None, None, ties=5)
    assert apart.kind == "exact"
    assert "pairs of nodes are independent" in apart.reason
    many = np.random.default_rng(1).normal(size=300)  # a row for each pair
    assert kind("edges + nodecov('x')", Network(300, attributes={"x": many})) == 89_700
    assert kind("edges + nodematch('x')", Network(300, attributes={"x": many > 0})) == "exact"
    most = Network(4_000, attributes={"x": np.arange(4_000.0)})  # more than a table may have
    assert kind("edges + nodecov('x')", most, ties=50) == 20_000


@pytest.mark.parametrize(
    ("formula", "nodes"),
    [
        ("edges", Network(6)),
        ("edges + nodecov('x') + nodematch('g')",
         Network(6, attributes={"x": [1.0, -2, 0.5, 0, 3, 1], "g": list("aabbba")})),
        ("edges + mutual + nodematch('g')", Network(4, directed=True,
                                                    attributes={"g": list("aabb")})),
        ("edges + nodecov('x')", Network(4, directed=True,
                                         attributes={"x": [1.0, -2, 0.5, 0]})),
    ],
)  # fmt: skip
def test_a_product_over_pairs_is_the_sum_over_all_graphs(formula, nodes):
    product = Constant.of(formula, nodes, None, None, ties=5).known
    every = listed(formula, nodes)
    terms = len(every.points.statistics)
    rng = np.random.default_rng(3)
    theta = np.vstack([rng.normal(0, 1, (8, terms)), rng.normal(0, 30, (4, terms))])
    np.testing.assert_allclose(product.log(theta), every.log(theta), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(product.mean_ties(theta), every.mean_ties(theta), atol=1e-9)
    assert product.exact
    assert covers(product, theta)
    for known in (product, every):
        room = np.empty(len(known.points.log_weight))
        found = [log_constant(known.points, each, room) for each in theta]
        np.testing.assert_allclose(found, every.log(theta), rtol=1e-12, atol=1e-12)
    at = np.repeat(theta[:2], 20_000, axis=0)
    drawn = [k.draw_ties(at, np.random.default_rng(4)).reshape(2, -1) for k in (product, every)]
    for own, other in zip(*drawn, strict=True):
        top = int(max(own.max(), other.max())) + 1
        counts = [np.bincount(d.astype(int), minlength=top) for d in (own, other)]
        kept = np.sum(counts, axis=0) > 0
        assert stats.chi2_contingency(np.array(counts)[:, kept]).pvalue > 1e-4


def test_evidence_that_says_little_does_not_run_away():
    """Karate's ties by a noisy count that tells next to nothing: the prior's, by all counts."""
    seen = SeenStatistics("edges", np.array([78.0]), np.array([150.0]))
    evidence = Evidence.of_statistics(Network(34), seen)
    prior = NormalPrior(-2, 1)
    drawn = sample_hidden(
        "edges", Network(34), evidence, prior=prior, draws=1_500, tune=500, seed=2
    )
    ties, theta = np.arange(562.0), np.linspace(-7, 4, 1101)
    law = special.gammaln(562) - special.gammaln(ties + 1) - special.gammaln(562 - ties)
    law = law + theta[:, None] * ties - np.abs(78 - ties) / 150
    law -= 561 * np.logaddexp(0, theta)[:, None] + (theta[:, None] + 2) ** 2 / 2
    law = special.softmax(law)
    mean = law.sum(axis=1) @ theta, law.sum(axis=0) @ ties
    sd = np.sqrt(law.sum(axis=1) @ (theta - mean[0]) ** 2)
    assert abs(drawn.theta.mean() - mean[0]) < 0.15 * sd
    assert abs(drawn.theta.std() - sd) < 0.15 * sd
    assert abs(drawn.statistics.mean() - mean[1]) < 0.15 * drawn.statistics.std()
    assert drawn.problems == ()


def released_karate(epsilon: float) -> Evidence:
    """Of the karate club's graph, each dyad flipped with probability 1 / (1 + exp(epsilon))."""
    club = karate()
    flips = np.triu(np.random.default_rng(5).random((34, 34)) < special.expit(-epsilon), 1)
    pairs = np.argwhere(np.triu(club.to_adjacency()).astype(bool) ^ flips)
    return flipped(club.with_edges(pairs), epsilon)


@pytest.mark.parametrize("private", [True, pytest.param(False, marks=pytest.mark.calibrate)])
def test_karate_edges_and_triangles(private):
    """Ten times the tempering moves no mean by a tenth of a posterior sd; and graphs that long
    chains draw at the posterior mean, from the empty and from the complete one, have the ties seen.
    """
    found = []
    for tempering in (16_000, 160_000):
        if private:
            drawn = sample_hidden(
                "edges + triangle", Network(34), released_karate(3.0), prior=PRIOR, draws=2_000,
                tempering=tempering, seed=1,
            )  # fmt: skip
            assert drawn.problems == ()
            found.append(drawn.theta)
        else:
            idata = BayesianERGM("edges + triangle", PRIOR).fit(
                karate(), tempering=tempering, seed=1
            )
            assert idata.attrs["problems"] == "[]"
            found.append(idata.posterior["theta"].to_numpy())
    mean, sd = (f(found[1], axis=(0, 1)) for f in (np.mean, np.std))
    assert (np.abs(found[0].mean((0, 1)) - mean) < 0.1 * sd).all()
    assert 0.05 < mean[1] < 0.2  # auxiliary graphs of 1,122 proposals: 0.4 and 0.6
    pairs = np.argwhere(np.triu(np.ones((34, 34)), 1))
    for start in (Network(34), Network(34, pairs)):
        ties_drawn = simulate(
            start, "edges + triangle", mean, draws=400, burn_in=200_000, interval=2_000, seed=1
        ).statistics[0, :, 0]
        assert np.quantile(ties_drawn, 0.05) < 78 < np.quantile(ties_drawn, 0.95)


@pytest.mark.parametrize("seed", range(3))
def test_auxiliary_graphs_that_stay_in_their_phase_are_convicted(seed):
    message = "1,122 proposals don't forget where they start"
    with pytest.warns(UserWarning, match=message):
        idata = BayesianERGM("edges + triangle", PRIOR).fit(
            karate(), auxiliary=1_122, draws=1_000, tune=500, seed=seed
        )
    assert message in idata.attrs["problems"]
    with pytest.warns(UserWarning, match=message):
        drawn = sample_hidden(
            "edges + triangle", Network(34), released_karate(3.0), prior=PRIOR, draws=1_000,
            tune=500, auxiliary=1_122, seed=seed,
        )  # fmt: skip
    assert message in drawn.problems[0]


def test_gwesp_whose_auxiliary_graphs_forget_is_not_convicted():
    idata = BayesianERGM("edges + gwesp(0.5)", PRIOR).fit(
        karate(), auxiliary=1_122, draws=1_000, tune=500, seed=1
    )
    assert idata.attrs["problems"] == "[]"
