"""Closed likelihoods: against sums over all graphs, R's figures, and themselves written longer."""

import itertools

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.networks import Network, fit_mple, statistics
from bayesdp.networks.dyad_table import hidden_table, is_pairwise, known_table
from bayesdp.networks.evidence import Evidence, SeenDegrees, SeenStatistics, together
from bayesdp.networks.formula import bind
from tests.networks.oracles import all_graphs, with_everything

UNDIRECTED = [
    "edges",
    "edges + nodematch('group', diff=True) + absdiff('x')",
    "nodecov('x') + edgecov('near') + nodefactor('group')",
    "nodemix('group', levels2=True) + absdiff('x')",
]
DIRECTED = [
    "edges + nodecov('x')",
    "mutual",
    "edges + mutual + nodematch('group') + edgecov('near')",
    "edges + nodemix('group')",
]


def flipped(network: Network, epsilon: float) -> Evidence:
    """What a graph says that left with each dyad flipped with odds exp(-epsilon)."""
    ties = network.edges.astype(np.int64)
    return Evidence(network.with_edges(()), ties, np.full(len(ties), epsilon), constant=-epsilon)


def uneven(network: Network, seed: int) -> Evidence:
    """Some dyads listed, each with its own offset, the others with another."""
    rng = np.random.default_rng(seed)
    return Evidence(
        network.with_edges(()),
        network.edges.astype(np.int64),
        rng.normal(1, 2, size=len(network.edges)),
        constant=-0.7,
    )


def whole(network: Network, seed: int) -> Evidence:
    matrix = np.random.default_rng(seed).normal(size=(network.n, network.n))
    if not network.directed:
        matrix = matrix + matrix.T
    np.fill_diagonal(matrix, np.nan)  # isn't read
    return Evidence(network.with_edges(()), np.empty((0, 2), np.int64), np.empty(0), matrix=matrix)


def offsets(evidence: Evidence) -> np.ndarray:
    if evidence.matrix is not None:
        return np.where(np.eye(evidence.n, dtype=bool), 0.0, evidence.matrix)
    matrix = np.full((evidence.n, evidence.n), evidence.constant)
    for (i, j), value in zip(evidence.ties, evidence.offset, strict=True):
        matrix[i, j] = value
        if not evidence.directed:
            matrix[j, i] = value
    return matrix


def by_all_graphs(formula: str, nodes: Network, evidence: Evidence, theta: np.ndarray) -> float:
    """log of sum p(x | theta) exp(offsets of x's ties)."""
    inside, outside = [], []
    for a in all_graphs(nodes.n, nodes.directed):
        pairs = np.argwhere(a if nodes.directed else np.triu(a))
        s = np.array(list(statistics(nodes.with_edges(pairs), formula).values()))
        outside.append(theta @ s)
        inside.append(theta @ s + sum(offsets(evidence)[i, j] for i, j in pairs))
    return float(special.logsumexp(inside) - special.logsumexp(outside))


def example(n: int, directed: bool, seed: int = 3) -> Network:
    a = (np.random.default_rng(seed).random((n, n)) < 0.4).astype(int)
    a = a if directed else np.triu(a, 1) + np.triu(a, 1).T
    np.fill_diagonal(a, 0)
    return with_everything(a, directed)


CASES = [(f, 4, False) for f in UNDIRECTED] + [(f, 3, True) for f in DIRECTED]


@pytest.mark.slow
@pytest.mark.parametrize("evidence", [uneven, whole])
@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_it_is_the_sum_over_all_graphs(formula, n, directed, evidence):
    net = example(n, directed)
    seen, bound = evidence(net, 1), bind(formula, net)
    table = hidden_table(bound, net, seen)
    for theta in np.random.default_rng(2).normal(0, 1.5, size=(3, len(bound.names))):
        expected = by_all_graphs(formula, net, seen, theta)
        assert table.log_likelihood(theta) == pytest.approx(expected, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_known_graphs_too(formula, n, directed):
    first, second = example(n, directed, 3), example(n, directed, 4)
    bound = bind(formula, first)
    theta = np.random.default_rng(2).normal(size=len(bound.names))
    log_z = special.logsumexp(
        [
            theta @ np.array([*statistics(first.with_edges(pairs), formula).values()])
            for pairs in (
                np.argwhere(a if directed else np.triu(a)) for a in all_graphs(n, directed)
            )
        ]
    )
    of_both = [theta @ np.array([*statistics(g, formula).values()]) for g in (first, second)]
    table = known_table(bound, [first, second.with_edges(second.edges)])
    assert table.log_likelihood(theta) == pytest.approx(sum(of_both) - 2 * log_z, abs=1e-11)


@pytest.mark.parametrize(
    ("formula", "directed"),
    [
        ("edges + nodematch('group') + nodefactor('group')", False),
        ("edges + mutual + nodematch('group', diff=True)", True),
        ("edges + nodefactor('group')", True),
        ("edges + nodemix('group')", False),
        ("nodemix('group', levels2=True)", True),
        ("mutual + nodemix('group', levels2=[-2, -6])", True),
    ],
)
def test_counting_alike_nodes_changes_nothing(formula, directed):
    """Against the offsets as a matrix, where every pair is its own row."""
    net = example(40, directed)
    seen = together([flipped(net, 2.0), uneven(net, 5), flipped(example(40, directed, 8), 0.5)])
    whole = Evidence(Network(40, (), directed), seen.ties, seen.offset, matrix=offsets(seen))
    bound = bind(formula, net)
    short, long = hidden_table(bound, net, seen), hidden_table(bound, net, whole)
    assert len(short.weight) == len(long.weight)
    for theta in np.random.default_rng(1).normal(0, 2, size=(4, len(bound.names))):
        assert short.log_likelihood(theta) == pytest.approx(
            float(long.log_likelihood(theta)), rel=1e-12
        )
    assert short.weight[short.weight > 0].sum() <= net.dyads


def test_the_written_formula_on_a_larger_network():
    """softplus(eta + o) - softplus(eta), dyad by dyad."""
    net = example(30, False)
    seen = flipped(net, 1.5)
    x = net.attributes["x"]
    i, j = np.triu_indices(30, 1)
    eta = -1.0 + 0.8 * (x[i] + x[j])
    expected = np.logaddexp(0, eta + offsets(seen)[i, j]) - np.logaddexp(0, eta)
    table = hidden_table(bind("edges + nodecov('x')", net), net, seen)
    assert table.log_likelihood([-1.0, 0.8]) == pytest.approx(expected.sum(), rel=1e-12)
    assert table.log_likelihood(np.tile([-1.0, 0.8], (2, 3, 1))).shape == (2, 3)


@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_derivatives(formula, n, directed):
    net = example(n + 3, directed)
    bound = bind(formula, net)
    for table in (hidden_table(bound, net, uneven(net, 1)), known_table(bound, [net])):
        theta = np.random.default_rng(4).normal(size=len(bound.names))
        value, gradient, hessian = table.derivatives(theta)
        assert value == pytest.approx(float(table.log_likelihood(theta)), rel=1e-12)
        for t, step in enumerate(1e-5 * np.eye(len(theta))):
            up, down = table.derivatives(theta + step), table.derivatives(theta - step)
            assert gradient[t] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-6)
            assert hessian[t] == pytest.approx((up[1] - down[1]) / 2e-5, abs=1e-6)


def test_a_large_sparse_graph_is_a_few_rows():
    rng = np.random.default_rng(0)
    n = 100_000
    ties = np.unique(np.sort(rng.integers(0, n, (200_000, 2)), axis=1), axis=0)
    net = Network(n, ties[ties[:, 0] < ties[:, 1]], False, {"g": rng.integers(0, 2, n)})
    table = hidden_table(bind("edges + nodematch('g')", net), net, flipped(net, 10.0))
    assert len(table.weight) == 6  # matching or not; released as a tie, not, or the constant
    released = table.weight[table.offset[:, 0] == 10.0].sum()
    assert released == len(net.edges)
    assert -table.weight[table.weight < 0].sum() == net.dyads


def test_evidence_that_says_nothing():
    net = example(5, False)
    table = hidden_table(bind("edges", net), net, flipped(net, 0.0))
    assert np.array_equal(table.log_likelihood(np.linspace(-3, 3, 7)[:, None]), np.zeros(7))


@pytest.mark.parametrize(
    ("formula", "directed", "closed"),
    [
        ("edges + nodecov('x') + absdiff('x')", False, True),
        ("edges + mutual + edgecov('near')", True, True),
        ("mutual + nodemix('group')", True, True),
        ("edges + triangle", False, False),
        ("degree(1)", False, False),
        ("edges + isolates", True, False),
    ],
)
def test_which_formulas_are_closed(formula, directed, closed):
    net = example(5, directed)
    bound = bind(formula, net)
    assert is_pairwise(bound) == closed
    if not closed:
        with pytest.raises(bdp.errors.InvalidInput, match="depend on each other"):
            hidden_table(bound, net, flipped(net, 1.0))
        with pytest.raises(bdp.errors.InvalidInput, match="depend on each other"):
            known_table(bound, [net])


def test_wrong_evidence():
    net = example(5, False)
    bound = bind("edges", net)
    noisy = Evidence.of_statistics(Network(5), SeenStatistics("edges", np.ones(1), np.ones(1)))
    degrees = Evidence.of_degrees(Network(5), SeenDegrees(np.ones(5), 1.0))
    for evidence in (noisy, degrees, together([flipped(net, 1.0), noisy])):
        with pytest.raises(bdp.errors.InvalidInput, match="noisy statistics or degrees"):
            hidden_table(bound, net, evidence)
    for other in (example(4, False), example(5, True)):
        with pytest.raises(bdp.errors.InvalidInput, match="the evidence is of"):
            hidden_table(bound, net, flipped(other, 1.0))
    broken = whole(net, 1)
    broken.matrix[1, 2] = broken.matrix[2, 1] = np.inf
    for evidence in (flipped(net, np.inf), flipped(net, np.nan), broken):
        with pytest.raises(bdp.errors.InvalidInput, match="isn't finite"):
            hidden_table(bound, net, evidence)


def test_too_many_kinds_of_nodes():
    rng = np.random.default_rng(1)
    net = Network(6_000, [[0, 1]], False, {"x": rng.normal(size=6_000)})
    with pytest.raises(bdp.errors.InvalidInput, match=r"tells 6,000 kinds of nodes apart.*round"):
        hidden_table(bind("edges + nodecov('x')", net), net, flipped(net, 1.0))
    rounded = Network(6_000, [[0, 1]], False, {"x": np.round(net.attributes["x"], 1)})
    table = hidden_table(bind("edges + nodecov('x')", rounded), rounded, flipped(rounded, 1.0))
    assert -table.weight[table.weight < 0].sum() == pytest.approx(net.dyads)


def test_a_constant_attribute_is_refused():
    net = Network(4, [[0, 1]], False, {"g": ["a"] * 4})
    with pytest.raises(bdp.errors.InvalidInput, match="the same for all nodes"):
        bind("edges + nodematch('g')", net)


def test_maximum_pseudo_likelihood_of_a_known_graph_is_its_maximum_likelihood():
    from bayesdp.inference.graphs.ergm_dyads import fit_mle

    for directed, formula in itertools.product(
        (False, True), ("edges", "edges + nodecov('x') + nodematch('group')")
    ):
        net = example(25, directed)
        ours = fit_mle(known_table(bind(formula, net), [net]))
        theirs = fit_mple(net, formula)
        assert ours.coef == pytest.approx(theirs.coef, rel=1e-7)
        assert ours.covariance == pytest.approx(theirs.covariance, rel=1e-6)
