"""Noisy degrees: epsilon by enumerating graphs, the whole profile, the law, what is refused."""

import functools
import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.networks import Network, degrees
from bayesdp.privacy.profile import hockey_stick

EDGE, NODE = bdp.Neighbours.EDGE, bdp.Neighbours.NODE
SIZES = pytest.mark.parametrize(("nodes", "directed"), [(4, False), (3, True)])


@functools.cache
def graphs(nodes: int, directed: bool) -> tuple[Network, ...]:
    """All of them."""
    dyads = [*(itertools.permutations if directed else itertools.combinations)(range(nodes), 2)]
    return tuple(
        Network(nodes, [dyad for dyad, tied in zip(dyads, ties, strict=True) if tied], directed)
        for ties in itertools.product((False, True), repeat=len(dyads))
    )


@functools.cache
def worst_ratios(nodes: int, directed: bool, scale: float) -> np.ndarray:
    """Largest log ratio of all pairs of graphs over outputs from below to above all degrees.

    Outputs further away have the same ratios: each component's is constant there.
    """
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(scale, nodes, directed)
    window = np.array(list(itertools.product(range(-1, nodes + 1), repeat=mechanism.dimension)))
    law = mechanism.logp(window[:, None, :], list(graphs(nodes, directed)))
    return np.array([(one[:, None] - law).max(axis=0) for one in law.T])


def differing(one: Network, other: Network) -> list[tuple[int, int]]:
    return [tuple(d) for d in np.argwhere(one.to_adjacency() != other.to_adjacency()).tolist()]


def are_neighbours(one: Network, other: Network, relation: bdp.Neighbours) -> bool:
    """By the definition: one dyad's tie differs; or all that differ share a node."""
    dyads = {dyad if one.directed else tuple(sorted(dyad)) for dyad in differing(one, other)}
    if relation is EDGE:
        return len(dyads) == 1
    return any(all(v in dyad for dyad in dyads) for v in range(one.n)) and bool(dyads)


@pytest.mark.slow
@SIZES
@pytest.mark.parametrize("relation", [EDGE, NODE])
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_epsilon_is_the_worst_over_all_graphs_and_neighbours(nodes, directed, relation, scale):
    every = graphs(nodes, directed)
    near = np.array([[are_neighbours(a, b, relation) for b in every] for a in every])
    found = worst_ratios(nodes, directed, scale)[near]
    promise = bdp.mechanisms.NoisyDegreesMechanism(scale, nodes, directed).guarantee(
        neighbours=relation
    )
    assert found.max() == pytest.approx(promise.epsilon, rel=1e-12)
    moved = 2 if relation is EDGE else (4 if directed else 2) * (nodes - 1)
    assert moved / scale <= promise.epsilon <= moved / scale * (1 + 1e-15)
    if relation is EDGE:  # every pair is as bad
        assert found.min() == pytest.approx(promise.epsilon, rel=1e-12)


@SIZES
def test_moves_are_those_that_the_proof_counts(nodes, directed):
    """Largest L1 distance of the degrees, and largest sum of squares, over all neighbours."""
    every = graphs(nodes, directed)
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(1.0, nodes, directed)
    for relation in (EDGE, NODE):
        moves = np.array(
            [
                (degrees(a) - degrees(b)).ravel()
                for a, b in itertools.product(every, repeat=2)
                if are_neighbours(a, b, relation)
            ]
        )
        assert np.abs(moves).sum(axis=1).max() == mechanism.moved(relation)
        assert (moves**2).sum(axis=1).max() / 2 == mechanism.rho(neighbours=relation)


def all_laws(
    mechanism: bdp.mechanisms.NoisyDegreesMechanism,
    pair: tuple[Network, Network],
    copies: int,
    reach: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The joint law of the copies under both graphs, but for a negligible rest."""
    moved = np.flatnonzero((degrees(pair[0]) != degrees(pair[1])).ravel())
    window = np.arange(-reach, reach + 1)
    each = []
    for graph in pair:
        d = degrees(graph).ravel()[moved]
        parts = [mechanism.noise.log_pmf(window - x) for x in d] * copies
        each.append(functools.reduce(np.add.outer, parts).ravel())
    return each[0], each[1]


@pytest.mark.parametrize(("scale", "copies", "reach"), [(1.3, 1, 45), (0.6, 2, 19)])
def test_the_profile_under_edge_is_exact(scale, copies, reach):
    """Components that don't move have a ratio of 1 and are left out."""
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(scale, 3)
    pair = Network(3, [(1, 2)]), Network(3, [(0, 1), (1, 2)])
    log_p, log_q = all_laws(mechanism, pair, copies, reach)
    profile = mechanism.profile(copies=copies)
    for epsilon in np.linspace(0, 2 * copies / scale, 9)[:-1]:
        truth = hockey_stick(log_p, log_q, epsilon)
        assert profile.delta(epsilon) == pytest.approx(truth, rel=1e-8)
        assert profile.delta(epsilon) >= truth - 1e-13
    assert mechanism.profile(copies=copies).delta(2 * copies / scale * (1 + 1e-12)) == 0


def test_under_node_the_promise_holds_at_a_positive_delta():
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(1.5, 4)
    star = Network(4, [(0, 1), (0, 2), (0, 3)])
    log_p, log_q = all_laws(mechanism, (Network(4), star), 1, 20)
    for epsilon in (0.5, 2.0, 3.5):
        claim = mechanism.delta(epsilon, neighbours=NODE)
        assert hockey_stick(log_p, log_q, epsilon) <= claim
    promise = mechanism.guarantee(neighbours=NODE, delta=0.1)
    assert promise.epsilon < 4.0
    assert hockey_stick(log_p, log_q, promise.epsilon) <= 0.1


@pytest.mark.parametrize("relation", [EDGE, NODE])
@pytest.mark.parametrize("scale", [0.8, 2.5])
def test_renyi_divergences_are_within_rho(relation, scale):
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(scale, 4)
    full = Network(4, [(0, 1), (0, 2), (0, 3)] if relation is NODE else [(0, 1)])
    rho = mechanism.guarantee(neighbours=relation).rho
    window = np.arange(-120, 121)
    for alpha in (1.01, 1.5, 2.0, 5.0, 30.0):
        divergence = 0.0
        for move in degrees(full):
            p, q = mechanism.noise.log_pmf(window), mechanism.noise.log_pmf(window - move)
            divergence += float(special.logsumexp(alpha * p + (1 - alpha) * q)) / (alpha - 1)
        assert divergence <= alpha * rho
    assert mechanism.rho(copies=3, neighbours=relation) == pytest.approx(3 * rho)
    assert rho < mechanism.guarantee(neighbours=relation).epsilon ** 2 / 2


def test_the_law_is_discrete_laplace_on_each_degree():
    graph = Network(4, [(0, 1), (0, 2)])
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(0.9, 4)
    z, d = (3, -1, 1, 7), (2, 1, 1, 0)
    with mp.workdps(40):
        q = mp.exp(-1 / mp.mpf(0.9))
        distance = sum(abs(a - b) for a, b in zip(z, d, strict=True))
        truth = 4 * mp.log((1 - q) / (1 + q)) - distance / mp.mpf(0.9)
    assert float(mechanism.logp(z, graph)) == pytest.approx(float(truth), rel=1e-13)
    both = mechanism.logp(np.array([z, d])[:, None, :], [graph, Network(4)])
    assert both.shape == (2, 2)
    assert both[0, 0] == mechanism.logp(z, graph)
    assert both[1, 1] == mechanism.logp(d, Network(4))
    assert mechanism.logp((0.5, 0, 0, 0), graph) == -math.inf


def test_out_degrees_come_before_in_degrees():
    graph = Network(3, [(0, 1), (0, 2)], True)
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(1e-3, 3, directed=True)
    assert mechanism.release(graph).tolist() == [[2, 0, 0, 0, 1, 1]]
    assert mechanism.check_output([[2, 0, 0], [0, 1, 1]]) == (2, 0, 0, 0, 1, 1)
    table = mechanism.records((2, 0, 0, 0, 1, 1))
    assert table["out_degree"].tolist() == [2, 0, 0]
    assert table["in_degree"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("directed", [False, True])
def test_noise_is_independent_and_has_its_law(directed):
    """Chi-square of 40,000 draws, and correlations of neighbours in the output; 1e-8 each."""
    n = 2000
    graph = Network(n, [(0, i) for i in range(1, n)], directed)
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(2.0, n, directed)
    with bdp.reproducible(7):
        drawn = mechanism.release(graph, 10)
    noise = drawn - degrees(graph).ravel()
    window = np.arange(-8, 9)
    seen = np.array([(noise == k).sum() for k in window])
    expected = np.exp(mechanism.noise.log_pmf(window)) * noise.size
    distance = ((seen - expected) ** 2 / expected).sum()
    rest = noise.size - expected.sum()
    distance += (noise.size - seen.sum() - rest) ** 2 / rest
    assert stats.chi2.sf(distance, window.size) > 1e-8
    scaled = noise / noise.std()
    for product in (scaled[:, 1:] * scaled[:, :-1], scaled[1:] * scaled[:-1]):
        assert abs(product.mean()) * math.sqrt(product.size) < 6


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 1 / 3, 7.7])
def test_calibration_is_on_the_safe_side(epsilon):
    made = bdp.mechanisms.NoisyDegreesMechanism.calibrate(epsilon=epsilon, nodes=5)
    assert epsilon * (1 - 1e-15) <= made.guarantee().epsilon <= epsilon
    four = bdp.mechanisms.NoisyDegreesMechanism.calibrate(epsilon=epsilon, nodes=5, copies=4)
    assert epsilon * (1 - 1e-15) <= four.guarantee(copies=4).epsilon <= epsilon
    looser = bdp.mechanisms.NoisyDegreesMechanism.calibrate(
        epsilon=epsilon, nodes=5, copies=20, delta=1e-6
    )
    assert looser.guarantee(copies=20, delta=1e-6).epsilon <= epsilon


def test_a_search_finds_nothing_worse():
    with bdp.reproducible(2):
        found = bdp.audit(bdp.mechanisms.NoisyDegreesMechanism(2.0, 4), trials=50_000, search=30)
    assert not found.convicted
    assert found.epsilon_lower > 0.8  # of 1


@pytest.mark.parametrize("directed", [False, True])
def test_evidence_has_the_ratios_of_the_law(directed):
    every = graphs(3, directed)
    mechanism = bdp.mechanisms.NoisyDegreesMechanism(1.7, 3, directed)
    output = tuple(range(-1, mechanism.dimension - 1))
    evidence = mechanism.evidence(output)
    (seen,) = evidence.degrees
    assert (evidence.n, evidence.directed, seen.law) == (3, directed, "laplace")
    followed = [-np.abs(seen.values - degrees(graph)).sum() / seen.scale for graph in every]
    law = mechanism.logp(output, list(every))
    np.testing.assert_allclose(np.diff(law), np.diff(followed), atol=1e-12)


def test_labels_are_public_and_plain():
    made = bdp.mechanisms.NoisyDegreesMechanism(1.0, np.array(["x", "y"]))
    assert made.nodes == ("x", "y")
    assert made.records((1, 0))["node"].tolist() == ["x", "y"]
    assert bdp.mechanisms.NoisyDegreesMechanism(1.0, [0, 1, 2]).nodes == 3
    assert bdp.mechanisms.NoisyDegreesMechanism(1.0, [1, 2, 3]).nodes == (1, 2, 3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nodes": 1}, "at least 2"),
        ({"nodes": "ab"}, "list of labels"),
        ({"nodes": ["a", "a"]}, "twice"),
        ({"nodes": ["a", 1]}, "of one type"),
        ({"nodes": [(0, 0), (0, 1)]}, "of one type"),
        ({"nodes": [0.5, math.inf]}, "finite"),
        ({"scale": 0.0}, "scale"),
        ({"scale": math.nan}, "scale"),
        ({"directed": 1}, "directed"),
    ],
)
def test_wrong_parameters_are_refused(wrong, said):
    with pytest.raises(bdp.errors.InvalidInput, match=said):
        bdp.mechanisms.NoisyDegreesMechanism(**({"scale": 1.0, "nodes": 3} | wrong))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Network(4), "by their labels"),
        (Network(["a", "b", "c"]), "by their labels"),
        (Network(3, [], True), "undirected"),
        ((1, 1, 0), "network"),
        (np.zeros((3, 3)), "network"),
    ],
)
def test_other_statistics_are_refused(wrong, said):
    with pytest.raises(bdp.errors.InvalidInput, match=said):
        bdp.mechanisms.NoisyDegreesMechanism(1.0, 3).check_statistic(wrong)


@pytest.mark.parametrize("wrong", [(1, 2), (1, 2, 0.5), (1, 2, "3"), 7, [[1, 2, 3]], (1, 2, True)])
def test_other_outputs_are_refused(wrong):
    with pytest.raises(bdp.errors.InvalidInput, match="output"):
        bdp.mechanisms.NoisyDegreesMechanism(1.0, 3).check_output(wrong)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one", "dyad"])
def test_other_relations_are_refused(relation):
    with pytest.raises(bdp.errors.InvalidInput, match="edge"):
        bdp.mechanisms.NoisyDegreesMechanism(1.0, 3).guarantee(neighbours=relation)
