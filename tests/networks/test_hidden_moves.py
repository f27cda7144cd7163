"""Moves of a hidden graph: their law against enumeration, their probabilities, their places."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.hidden.graph import copied, hidden_of
from bayesdp.kernels.hidden.moves import TO_LISTED, TO_TIES, TO_TIES_ALONE, run_hidden
from bayesdp.kernels.hidden.triangles import MOST_TRIANGLES, flip_triangles, triangles_among
from bayesdp.networks import Network
from bayesdp.networks.evidence import Evidence, SeenDegrees, SeenStatistics
from bayesdp.networks.graph import graph_of
from bayesdp.networks.hidden.evidence import seen_of
from bayesdp.networks.hidden.start import first_guess
from bayesdp.networks.randomness import state_from
from tests.networks.hidden_oracles import EVIDENCE, every_graph, flipped, log_likelihood

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6


@kernel
def codes_of(hidden, model, seen, coef, random, statistics, steps, fresh, codes):
    """A number of the graph after each run; each from the one before, or all from the first."""
    first, at_first = copied(hidden), statistics.copy()
    for d in range(len(codes)):
        if fresh:
            hidden = copied(first)
            statistics[:] = at_first
        hidden = run_hidden(hidden, model, seen, coef, random, statistics, steps)
        code = 0
        for e in range(hidden.graph.sizes[0]):
            i, j = np.int64(hidden.graph.edges[e, 0]), np.int64(hidden.graph.edges[e, 1])
            code |= 1 << (i * hidden.graph.n + j)
        codes[d] = code
    return hidden


def code_of(a: np.ndarray, directed: bool) -> int:
    pairs = np.argwhere(a if directed else np.triu(a))
    return sum(1 << int(i * len(a) + j) for i, j in pairs)


def run_codes(evidence, formula, theta, nodes, start, draws, steps, fresh=False, bitsets=True):
    """Codes of graphs, one a draw; the statistics and the hidden graph at the end."""
    seen, bound, _ = seen_of(evidence, formula, nodes)
    _, statistics = bound.graph(nodes.with_edges(start))
    graph = graph_of(nodes.n, nodes.directed, nodes.with_edges(start).edges, bitsets=bitsets)
    codes = np.empty(draws, dtype=np.int64)
    random = state_from(np.random.default_rng(1))
    hidden = codes_of(
        hidden_of(graph, seen), bound.model, seen, np.array(theta), random, statistics, steps,
        fresh, codes,
    )  # fmt: skip
    final = nodes.with_edges(hidden.graph.edges[: hidden.graph.sizes[0]])
    np.testing.assert_allclose(bound.graph(final)[1], statistics, atol=1e-9)
    check_places(hidden, seen)
    return codes


def check_places(hidden, seen):
    """Each tie knows its place in the list, and each listed dyad its place among the ties."""
    edges = hidden.graph.edges[: hidden.graph.sizes[0]].tolist()
    listed = seen.pairs.tolist()
    for e, pair in enumerate(edges):
        assert hidden.back[e] == (listed.index(pair) if pair in listed else -1)
    for r, pair in enumerate(listed):
        assert hidden.place[r] == (edges.index(pair) if pair in edges else -1)


def check_law(codes: np.ndarray, graphs: list[np.ndarray], directed: bool, law: np.ndarray) -> None:
    """Chi-square; the rarest cells together, so that at least eight draws are due in them."""
    found = dict(zip(*np.unique(codes, return_counts=True), strict=True))
    observed = np.array([found.get(code_of(a, directed), 0) for a in graphs], dtype=float)
    assert observed.sum() == len(codes)
    assert (observed[law < 1e-12] == 0).all()
    expected = len(codes) * law
    order = np.argsort(expected)
    rare = np.searchsorted(expected[order], 8.0)
    while rare > 0 and expected[order[:rare]].sum() < 8:
        rare += 1
    merged = [
        np.append(cells[order[rare:]], cells[order[:rare]].sum() if rare else [])
        for cells in (observed, expected)
    ]
    merged[1] *= merged[0].sum() / merged[1].sum()
    assert stats.chisquare(*merged).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("n", "directed"),
    [(4, False), pytest.param(5, False, marks=pytest.mark.calibrate), (3, True)],
)
@pytest.mark.parametrize("kind", EVIDENCE)
def test_the_law_of_the_hidden_graph_is_exact(kind, n, directed):
    terms = ["edges", "triangle", "nodecov('x')"]
    theta = np.array([-0.4, 0.5, 0.3])
    nodes, graphs, values = every_graph(n, directed, terms)
    evidence = EVIDENCE[kind](n, directed)
    law = special.softmax(values @ theta + [log_likelihood(evidence, a, nodes) for a in graphs])
    for bitsets in (True, False):
        codes = run_codes(
            evidence, " + ".join(terms), theta, nodes, (), 30_000, 60, bitsets=bitsets
        )
        check_law(codes[100:], graphs, directed, law)


def proposal(a: np.ndarray, dyads: list, listed: list) -> np.ndarray:
    """Probability that each dyad is flipped, one way of drawing it after the other."""
    q = np.zeros(len(dyads))
    tied = [d for d, (i, j) in enumerate(dyads) if a[i, j]]
    to_listed = TO_LISTED if listed else 0.0
    to_ties = TO_TIES if listed else TO_TIES_ALONE
    to_all = 1 - to_listed - to_ties
    for d in listed:
        q[d] += to_listed / len(listed)
    for d in tied:
        q[d] += to_ties / len(tied)
    for d in range(len(dyads)):
        share = (to_all if tied else to_all + to_ties) / len(dyads)
        if d in tied:  # drawn again from the ties
            q[tied] += share / len(tied)
        else:
            q[d] += share
    return q


@pytest.mark.parametrize(("n", "directed"), [(3, False), (4, False), (3, True)])
@pytest.mark.parametrize("kind", ["listed", "constant", "all"])
def test_transitions_are_in_detailed_balance_and_those_of_the_kernel(kind, n, directed):
    theta = np.array([-0.4, 0.5])
    nodes, graphs, values = every_graph(n, directed, ["edges", "triangle"])
    evidence = EVIDENCE[kind](n, directed)
    logp = values @ theta + [log_likelihood(evidence, a, nodes) for a in graphs]
    dyads = [
        (i, j) for i, j in itertools.product(range(n), repeat=2) if (i != j if directed else i < j)
    ]
    listed = [dyads.index(tuple(pair)) for pair in evidence.ties.tolist()]
    number = {code_of(a, directed): k for k, a in enumerate(graphs)}
    transition = np.zeros((len(graphs), len(graphs)))
    for k, a in enumerate(graphs):
        q = proposal(a, dyads, listed)
        assert q.sum() == pytest.approx(1.0)
        for d, (i, j) in enumerate(dyads):
            b = a.copy()
            b[i, j] = 1 - b[i, j]
            if not directed:
                b[j, i] = b[i, j]
            to = number[code_of(b, directed)]
            ratio = np.exp(logp[to] - logp[k]) * proposal(b, dyads, listed)[d] / q[d]
            transition[k, to] = q[d] * min(1.0, ratio)
        transition[k, k] = 1.0 - transition[k].sum()
    flow = special.softmax(logp)[:, None] * transition
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    for k in {0, 1, len(graphs) // 2, len(graphs) - 2, len(graphs) - 1}:
        pairs = np.argwhere(graphs[k] if directed else np.triu(graphs[k]))
        codes = run_codes(evidence, "edges + triangle", theta, nodes, pairs, 20_000, 1, fresh=True)
        check_law(codes, graphs, directed, transition[k])


@kernel
def flipped_codes(hidden, model, seen, coef, random, statistics, codes):
    """A number of the graph after one move of a triangle, each from the same graph."""
    at_first, change = statistics.copy(), np.empty_like(statistics)
    for d in range(len(codes)):
        moved = copied(hidden)
        statistics[:] = at_first
        moved = flip_triangles(moved, model, seen, coef, random, change, statistics, 1)
        codes[d] = 0
        for e in range(moved.graph.sizes[0]):
            i, j = np.int64(moved.graph.edges[e, 0]), np.int64(moved.graph.edges[e, 1])
            codes[d] |= 1 << (i * moved.graph.n + j)


@pytest.mark.parametrize("most", [4, 2])
def test_flips_of_triangles_are_in_detailed_balance_and_those_of_the_kernel(most):
    """Listed dyads 01, 02, 12, 13, 23 of four nodes: two triangles; offsets of their own."""
    theta, pairs = np.array([-0.4, 0.5]), np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    nodes, graphs, values = every_graph(4, False, ["edges", "triangle"])
    evidence = Evidence(
        nodes, pairs, np.array([0.3, -0.2, 1.0, 0.4, 0.6]), constant=-0.5,
        statistics=(SeenStatistics("edges", np.array([3.0]), np.array([1.5])),),
        max_degree=None if most == 4 else most,
    )  # fmt: skip
    seen, bound, _ = seen_of(evidence, "edges + triangle", nodes)
    assert seen.triangles.tolist() == [[0, 1, 2], [2, 3, 4]]
    logp = values @ theta + [log_likelihood(evidence, a, nodes) for a in graphs]
    number = {code_of(a, False): k for k, a in enumerate(graphs)}
    transition = np.zeros((len(graphs), len(graphs)))
    possible = np.flatnonzero(np.isfinite(logp))
    for k, a in ((k, graphs[k]) for k in possible):
        for triangle, kept in itertools.product(seen.triangles, range(4)):
            b = a.copy()
            for i, j in pairs[np.delete(triangle, kept) if kept < 3 else triangle]:
                b[i, j] = b[j, i] = 1 - b[i, j]
            to = number[code_of(b, False)]
            transition[k, to] += min(1.0, np.exp(logp[to] - logp[k])) / 8
        transition[k, k] += 1.0 - transition[k].sum()
    flow = (special.softmax(logp)[:, None] * transition)[np.ix_(possible, possible)]
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    for k in possible[:: 7 if most == 4 else 4]:
        start = nodes.with_edges(np.argwhere(np.triu(graphs[k])))
        graph, statistics = bound.graph(start)
        codes, random = np.empty(20_000, dtype=np.int64), state_from(np.random.default_rng(1))
        flipped_codes(hidden_of(graph, seen), bound.model, seen, theta, random, statistics, codes)
        check_law(codes, graphs, False, transition[k])


def test_triangles_among_listed_dyads():
    """Against every triple of nodes, and none for directed graphs or terms without triangles."""
    rng, n = np.random.default_rng(2), 30
    adjacent = np.triu(rng.random((n, n)) < 0.3, 1)
    evidence = flipped(Network(n, np.argwhere(adjacent)), 2.0)
    seen, _, _ = seen_of(evidence, "edges + gwesp(0.5)", Network(n))
    found = {tuple(sorted(set(seen.pairs[places].ravel().tolist()))) for places in seen.triangles}
    expected = {
        (i, j, k)
        for i, j, k in itertools.combinations(range(n), 3)
        if adjacent[i, j] and adjacent[i, k] and adjacent[j, k]
    }
    assert found == expected
    assert len(seen.triangles) == len(expected)
    assert len(seen_of(evidence, "edges + kstar(2)", Network(n))[0].triangles) == 0
    directed = flipped(Network(4, [(0, 1), (1, 2), (0, 2)], directed=True), 2.0)
    nodes = Network(4, directed=True)
    assert len(seen_of(directed, "edges + triangle", nodes)[0].triangles) == 0


def test_of_very_many_triangles_some_are_drawn_from():
    every = np.array(list(itertools.combinations(range(190), 2)))
    first = np.searchsorted(every[:, 0], np.arange(191))
    some = triangles_among(every, first)
    assert 190 * 189 * 188 // 6 > MOST_TRIANGLES >= len(some) > MOST_TRIANGLES // 2
    sides = every[some]
    assert (sides[:, 0, 0] == sides[:, 1, 0]).all()
    assert (sides[:, 0, 1] == sides[:, 2, 0]).all()
    assert (sides[:, 1, 1] == sides[:, 2, 1]).all()


def test_a_hidden_graph_that_grows_stays_whole():
    network = Network(90)
    pairs = np.array(list(itertools.combinations(range(90), 2)))[::7]
    evidence = Evidence(Network(90), pairs, np.full(len(pairs), 1.0), constant=0.5)
    for bitsets in (True, False):
        run_codes(evidence, "edges + triangle", [1.0, 0.0], network, (), 1, 60_000, bitsets=bitsets)
        run_codes(evidence, "edges", [1.0], network, (), 4_000, 1, bitsets=bitsets)
        run_codes(evidence, "edges + triangle", [1.0, 0.5], network, (), 8, 40, bitsets=bitsets)


def test_a_first_guess_has_the_density_that_the_evidence_has():
    rng = np.random.default_rng(1)
    n, density, epsilon = 300, 0.03, 2.0
    truth = np.triu(rng.random((n, n)) < density, 1)
    released = truth ^ np.triu(rng.random((n, n)) < special.expit(-epsilon), 1)
    evidence = flipped(Network(n, np.argwhere(released)), epsilon)
    matrix = np.where(released | released.T, epsilon, -epsilon)
    degrees = SeenDegrees((truth | truth.T).sum(axis=1).astype(float), 1.0)
    edges = SeenStatistics("edges", np.array([float(truth.sum())]), np.array([1.0]))
    for seen_so in (
        evidence,
        Evidence(Network(n), evidence.ties, evidence.offset, matrix=matrix),
        Evidence.of_degrees(Network(n), degrees),
        Evidence.of_statistics(Network(n), edges),
    ):
        seen, bound, _ = seen_of(seen_so, "edges", Network(n))
        guess = Network(n, first_guess(seen, bound, Network(n), rng))
        assert guess.density == pytest.approx(density, abs=0.01)


NODES = Network(4)
REFUSED = [
    (Evidence(Network(5), np.empty((0, 2)), np.empty(0)), "n = 5"),
    (Evidence(Network(4, (), True), np.empty((0, 2)), np.empty(0)), "directed = True"),
    (Evidence(Network(4), np.array([[0, 4]]), np.ones(1)), "two different nodes from 0 to 3"),
    (Evidence(Network(4), np.array([[0, 1]]), np.ones(2)), "one finite value for each pair"),
    (Evidence(Network(4), np.array([[0, 1]]), np.array([np.inf])), "finite"),
    (Evidence(Network(4), np.empty((0, 2)), np.empty(0), matrix=np.ones((3, 3))), "shape"),
    (Evidence.of_degrees(Network(4), SeenDegrees(np.ones(3), 1.0)), r"shape \(4,\)"),
    (Evidence.of_degrees(Network(4), SeenDegrees(np.ones(4), 0.0)), "above zero"),
    (Evidence.of_degrees(Network(4), SeenDegrees(np.ones(4), 1.0, "cauchy")), "cauchy"),
    (
        Evidence.of_statistics(Network(4), SeenStatistics("edges", np.ones(2), np.ones(2))),
        r"shape \(1,\)",
    ),
    (
        Evidence.of_statistics(
            Network(4), SeenStatistics("edges", np.ones(1), np.ones(1), "laplace", -np.ones(1))
        ),
        "0 or above",
    ),
    (Evidence.of_statistics(Network(4), SeenStatistics("alien", np.ones(1), np.ones(1))), "alien"),
]


@pytest.mark.parametrize(("evidence", "message"), REFUSED)
def test_evidence_that_is_refused(evidence, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        seen_of(evidence, "edges + triangle", NODES)


@pytest.mark.parametrize("directed", [False, True])
def test_starts_keep_to_a_bound_on_degrees(directed):
    nodes = Network(30, (), directed)
    seen, bound, _ = seen_of(
        Evidence.of_statistics(
            nodes, SeenStatistics("edges", np.array([200.0]), np.ones(1)), max_degree=3
        ),
        "edges",
        nodes,
    )
    ties = first_guess(seen, bound, nodes, np.random.default_rng(1))
    graph = Network(30, ties, directed).to_adjacency()
    assert graph.sum(axis=1).max() == 3
