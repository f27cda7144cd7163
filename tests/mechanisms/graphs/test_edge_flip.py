"""Edge randomized response: law, epsilon and draws by enumeration of all small graphs."""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.graphs import edge_flip, edge_flip_draws
from bayesdp.mechanisms.graphs.edge_flip_promise import dyad_epsilon, symmetric
from bayesdp.mechanisms.graphs.network_columns import as_networks
from bayesdp.networks import Network
from bayesdp.networks.dyads import dyad_numbers
from bayesdp.networks.evidence import together
from bayesdp.privacy.audit_search import pair_epsilon
from bayesdp.privacy.profile import hockey_stick

EDGE, NODE = bdp.Neighbours.EDGE, bdp.Neighbours.NODE


def by_dyad(n: int, directed: bool, seed: int) -> Any:
    """A matrix of probabilities, one a dyad."""
    matrix = np.round(np.random.default_rng(seed).uniform(0.05, 0.95, (n, n)), 3)
    return matrix if directed else np.triu(matrix, 1) + np.triu(matrix, 1).T


MECHANISMS = [
    bdp.mechanisms.EdgeFlipMechanism(4, *symmetric(1.0)),
    bdp.mechanisms.EdgeFlipMechanism(4, 0.9, 0.02),
    bdp.mechanisms.EdgeFlipMechanism(4, 0.2, 0.7),
    bdp.mechanisms.EdgeFlipMechanism(4, by_dyad(4, False, 1), by_dyad(4, False, 2)),
    bdp.mechanisms.EdgeFlipMechanism(4, 0.8, by_dyad(4, False, 3)),
    bdp.mechanisms.EdgeFlipMechanism(3, *symmetric(0.5), directed=True),
    bdp.mechanisms.EdgeFlipMechanism(3, 0.6, 0.1, directed=True),
    bdp.mechanisms.EdgeFlipMechanism(3, by_dyad(3, True, 4), by_dyad(3, True, 5), directed=True),
    bdp.mechanisms.EdgeFlipMechanism(2, ((0, 0.75), (0.75, 0)), 0.5),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=range(len(MECHANISMS)))


def dyads_of(mechanism) -> list[tuple[int, int]]:
    choose = itertools.permutations if mechanism.directed else itertools.combinations
    return list(choose(range(mechanism.nodes), 2))


def ties_of(network) -> frozenset[tuple[int, int]]:
    return frozenset(map(tuple, network.edges.tolist()))


def probability(side: Any, i: int, j: int) -> Fraction:
    return Fraction(float(side if isinstance(side, float) else side[i][j]))


def all_graphs(mechanism) -> list[frozenset[tuple[int, int]]]:
    """All graphs as sets of ties, without any code of the package."""
    dyads = dyads_of(mechanism)
    return [
        frozenset(itertools.compress(dyads, tied))
        for tied in itertools.product((0, 1), repeat=len(dyads))
    ]


@functools.cache
def exact_law(mechanism) -> tuple[list[Any], np.ndarray]:
    """All graphs, and Pr[graph z | graph x] in row x and column z, as Fractions."""
    graphs = all_graphs(mechanism)
    law = np.full((len(graphs), len(graphs)), Fraction(1))
    for i, j in dyads_of(mechanism):
        here = np.array([(i, j) in graph for graph in graphs]).astype(int)
        tie, gap = (probability(side, i, j) for side in (mechanism.tie, mechanism.gap))
        answers = np.array([[1 - gap, gap], [1 - tie, tie]])
        law = law * answers[here[:, None], here[None, :]]
    return graphs, law


@functools.cache
def neighbours_of(mechanism, relation) -> list[tuple[int, int]]:
    """All ordered pairs of neighbours, as numbers of graphs."""
    graphs = all_graphs(mechanism)
    pairs = []
    for (a, x), (b, y) in itertools.permutations(enumerate(graphs), 2):
        differ = x ^ y
        common = set(range(mechanism.nodes)).intersection(*map(set, differ))
        if len(differ) == 1 if relation is EDGE else common:
            pairs.append((a, b))
    return pairs


@each
def test_the_law_is_the_product_of_the_answers(mechanism):
    graphs, law = exact_law(mechanism)
    assert all(sum(row) == 1 for row in law)
    networks = list(mechanism.outputs())
    assert {ties_of(network) for network in networks} == {*graphs}
    place = [graphs.index(ties_of(network)) for network in networks]
    law = law[np.ix_(place, place)].astype(float)
    rows = np.array([mechanism.logp(mechanism.outputs(), x) for x in networks])
    np.testing.assert_allclose(rows, np.log(law), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_array_equal(mechanism.logp(networks[1], networks), rows[:, 1])
    np.testing.assert_array_equal(mechanism.logp(networks, networks), np.diagonal(rows))
    assert mechanism.logp(networks[1], networks[0]).shape == ()
    nx_graph = networks[-1].to_networkx()
    assert mechanism.logp(nx_graph, [nx_graph])[0] == rows[-1, -1]


@each
@pytest.mark.parametrize("relation", [EDGE, NODE])
def test_epsilon_is_that_of_the_worst_neighbours(mechanism, relation):
    """All ordered pairs of neighbours, all outputs, exactly."""
    _, law = exact_law(mechanism)
    pairs = np.array(neighbours_of(mechanism, relation))
    logs = np.log(law.astype(float))
    gaps = np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]])
    p, z = np.unravel_index(gaps.argmax(), gaps.shape)
    one, other = (law[pairs[p, side], z] for side in (0, 1))
    claim = mechanism.guarantee(neighbours=relation)
    with mp.workdps(40):
        worst = max(one / other, other / one)
        truth = mp.log(mp.mpf(worst.numerator) / worst.denominator)
        assert truth <= claim.epsilon
        assert claim.epsilon <= truth * (1 + mp.mpf(2) ** -50)
    assert (claim.neighbours, claim.delta) == (relation, 0)
    assert claim.strength is bdp.Strength.PROVED


@each
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.9, 2.0])
def test_the_profile_is_that_of_the_worst_edge_neighbours(mechanism, epsilon):
    _, law = exact_law(mechanism)
    logs = np.log(law.astype(float))
    pairs = neighbours_of(mechanism, EDGE)
    true = max(hockey_stick(logs[a], logs[b], epsilon) for a, b in pairs)
    found = mechanism.delta(epsilon)
    assert true <= found + 1e-15
    assert found <= true * (1 + 1e-9) + 1e-11
    if found > 0:
        claim = mechanism.guarantee(delta=found)
        assert claim.delta == found
        assert claim.epsilon <= epsilon * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@each
@pytest.mark.parametrize("delta", [1e-3, 0.05, 0.3])
def test_a_node_is_promised_what_its_worst_neighbours_keep(mechanism, delta):
    _, law = exact_law(mechanism)
    logs = np.log(law.astype(float))
    claim = mechanism.guarantee(neighbours=NODE, delta=delta)
    pure = mechanism.guarantee(neighbours=NODE)
    assert claim.epsilon <= pure.epsilon
    for a, b in neighbours_of(mechanism, NODE):
        assert hockey_stick(logs[a], logs[b], claim.epsilon) <= delta * (1 + 1e-12)


@each
@pytest.mark.parametrize("delta", [1e-3, 0.2])
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_keep_their_promise(mechanism, copies, delta):
    """All answers of the one dyad that differs, in all copies."""
    claim = mechanism.guarantee(copies=copies, delta=delta)
    assert claim.epsilon <= mechanism.guarantee(copies=copies).epsilon
    for i, j in dyads_of(mechanism):
        tie, gap = (float(probability(side, i, j)) for side in (mechanism.tie, mechanism.gap))
        for p, q in ((tie, gap), (gap, tie)):
            both = [
                [math.prod(v) for v in itertools.product((r, 1 - r), repeat=copies)] for r in (p, q)
            ]
            assert hockey_stick(*np.log(both), claim.epsilon) <= delta * (1 + 1e-12)


@each
def test_the_profile_of_a_node_holds_for_its_worst_neighbours(mechanism):
    """All ordered pairs of neighbours, all outputs; and it is as good as the guarantee."""
    _, law = exact_law(mechanism)
    logs = np.log(law.astype(float))
    profile = mechanism.profile(neighbours=NODE)
    pairs = np.array(neighbours_of(mechanism, NODE))
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        gaps = np.minimum(epsilon + logs[pairs[:, 1]] - logs[pairs[:, 0]], 0.0)
        true = (np.exp(logs[pairs[:, 0]]) * -np.expm1(gaps)).sum(axis=1).max()
        assert true <= profile.delta(epsilon) + 1e-15


@each
@pytest.mark.parametrize("copies", [2, 5])
def test_the_profile_of_copies_holds_for_every_dyad(mechanism, copies):
    """The law of one dyad's answers in all copies is that of a binomial's."""
    profile, k = mechanism.profile(copies=copies), np.arange(copies + 1)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        true = 0.0
        for i, j in dyads_of(mechanism):
            sides = (float(probability(side, i, j)) for side in (mechanism.tie, mechanism.gap))
            one, other = (stats.binom.logpmf(k, copies, p) for p in sides)
            true = max(true, hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))
        found = profile.delta(epsilon)
        assert true <= found + 1e-15
        uniform = isinstance(mechanism.tie, float) and isinstance(mechanism.gap, float)
        if uniform and mechanism.tie + mechanism.gap == 1:  # one pair of laws dominates
            assert found <= true * (1 + 1e-3) + 1e-11


@each
@pytest.mark.parametrize("relation", [EDGE, NODE])
@pytest.mark.parametrize("copies", [1, 3])
def test_the_profile_is_as_good_as_the_guarantee(mechanism, relation, copies):
    profile = mechanism.profile(copies=copies, neighbours=relation)
    for delta in (1e-6, 0.2):
        claim = mechanism.guarantee(copies=copies, neighbours=relation, delta=delta)
        assert profile.delta(claim.epsilon) <= delta * (1 + 1e-3)


@pytest.mark.slow
def test_composition_is_near_the_truth():
    """Of one dyad's 20 copies, or a node's 20 dyads: the law is that of a binomial's answers."""
    mechanism = bdp.mechanisms.EdgeFlipMechanism(21, *symmetric(0.4))
    delta, k = 1e-6, np.arange(21)
    for claim in (
        mechanism.guarantee(copies=20, delta=delta),
        mechanism.guarantee(neighbours=NODE, delta=delta),
    ):
        logs = [stats.binom.logpmf(k, 20, p) for p in (mechanism.tie, mechanism.gap)]
        assert hockey_stick(*logs, claim.epsilon) <= delta
        assert hockey_stick(*logs, claim.epsilon * (1 - 1e-3)) > delta
        assert claim.epsilon < 8


def test_a_directed_node_has_twice_the_dyads():
    one = bdp.mechanisms.EdgeFlipMechanism(50, 0.9, 0.1)
    two = bdp.mechanisms.EdgeFlipMechanism(50, 0.9, 0.1, directed=True)
    assert one.guarantee(neighbours="node").epsilon == pytest.approx(49 * math.log(9))
    assert two.guarantee(neighbours="node").epsilon == pytest.approx(98 * math.log(9))
    assert "one direction" in two.guarantee().assumptions[0]
    assert one.removal_guarantee(copies=2, delta=0.1) == one.guarantee(copies=2, delta=0.1)


@settings(max_examples=150, deadline=None)
@given(
    tie=st.floats(0, 1, exclude_min=True, exclude_max=True),
    gap=st.floats(0, 1, exclude_min=True, exclude_max=True),
)
def test_a_dyads_epsilon_is_exact_and_rounded_up(tie, gap):
    """From the smallest float to the largest below 1."""
    claim = dyad_epsilon(tie, gap)
    with mp.workdps(700):
        a, b = mp.mpf(tie), mp.mpf(gap)
        truth = max(abs(mp.log(a / b)), abs(mp.log((1 - a) / (1 - b))))
        assert truth <= claim
        assert claim == 0 or math.nextafter(claim, 0) < truth
    mechanism = bdp.mechanisms.EdgeFlipMechanism(2, tie, gap)
    assert mechanism.epsilon() == claim
    with mp.workdps(700):
        for epsilon in (0.0, claim / 2, math.nextafter(claim, 0)):
            factor = mp.exp(mp.mpf(epsilon))
            true = max(
                max(p - factor * q, 0) + max((1 - p) - factor * (1 - q), 0)
                for p, q in ((a, b), (b, a))
            )
            assert true <= mechanism.delta(epsilon)


@settings(max_examples=200, deadline=None)
@given(epsilon=st.floats(1e-12, 60))
def test_the_symmetric_flip_is_on_the_safe_side(epsilon):
    tie, gap = symmetric(epsilon)
    assert Fraction(tie) + Fraction(gap) == 1
    with mp.workdps(60):
        truth = mp.log(mp.mpf(tie) / mp.mpf(gap))
        assert truth <= epsilon
        finer = gap - 2.0**-53
        if finer > 0:  # one step less would cost more
            assert mp.log((1 - mp.mpf(finer)) / mp.mpf(finer)) > epsilon
    assert dyad_epsilon(tie, gap) <= epsilon


def test_the_symmetric_flip_at_its_ends():
    assert symmetric(800.0) == (1 - 2.0**-53, 2.0**-53)
    assert dyad_epsilon(*symmetric(10.0)) == pytest.approx(10, rel=1e-11)
    with pytest.raises(bdp.errors.InvalidInput, match="can't depend on the tie"):
        symmetric(1e-17)


def drawn_law(mechanism, statistic, copies: int) -> float:
    """p-value of chi-square of draws over all outputs."""
    outputs = mechanism.outputs()
    number = {ties_of(z): k for k, z in enumerate(outputs)}
    drawn = mechanism.release(statistic, copies)
    seen = np.bincount([number[ties_of(z)] for z in drawn], minlength=len(outputs))
    expected = np.exp(mechanism.logp(outputs, statistic)) * copies
    likely = expected >= 5
    seen = np.append(seen[likely], copies - seen[likely].sum())
    expected = np.append(expected[likely], max(copies - expected[likely].sum(), 1.0))
    return float(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), likely.sum()))


@pytest.mark.slow
@each
def test_draws_follow_the_law(mechanism):
    """Four true graphs, all outputs, 30,000 draws of each; also by the secure generator."""
    graphs = mechanism.outputs()
    for k in np.linspace(0, len(graphs) - 1, 4).astype(int):
        with bdp.reproducible(int(k)):
            assert drawn_law(mechanism, graphs[k], 30_000) > 1e-6
    assert drawn_law(mechanism, graphs[len(graphs) // 2], 30_000) > 1e-6


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("probabilities", [(0.7, 0.05), (0.99, 0.4)])
def test_every_dyad_is_flipped_alike(directed, probabilities):
    """Chi-square over the dyads of a 40-node graph, 2,000 copies; and the flips' binomial law."""
    n, copies = 40, 2_000
    a = np.random.default_rng(1).random((n, n)) < 0.2
    mask = ~np.eye(n, dtype=bool) if directed else np.triu(np.ones((n, n), dtype=bool), 1)
    network = Network(n, np.argwhere(a & mask), directed)
    mechanism = bdp.mechanisms.EdgeFlipMechanism(n, *probabilities, directed)
    with bdp.reproducible(2):
        drawn = mechanism.release(network, copies)
    seen = np.zeros((n, n))
    for z in drawn:
        seen[z.edges[:, 0], z.edges[:, 1]] += 1
    assert not seen[~mask].any()
    true = np.zeros((n, n), dtype=bool)
    true[network.edges[:, 0], network.edges[:, 1]] = True
    for own, p in zip((true, ~true & mask), probabilities, strict=True):
        counts = seen[own]
        distance = np.sum((counts - copies * p) ** 2) / (copies * p * (1 - p))
        assert 1e-6 < stats.chi2.sf(distance, counts.size) < 1 - 1e-6
        each_copy = np.array([own[z.edges[:, 0], z.edges[:, 1]].sum() for z in drawn])
        spread = each_copy.var(ddof=1) / (own.sum() * p * (1 - p)) * (copies - 1)
        assert 1e-6 < stats.chi2.sf(spread, copies - 1) < 1 - 1e-6


@pytest.mark.parametrize("directed", [False, True])
def test_each_dyad_has_its_own_probability(directed):
    n, copies = 12, 4_000
    tie, gap = by_dyad(n, directed, 6), by_dyad(n, directed, 7)
    network = Network(n, [[i, i + 1] for i in range(n - 1)], directed)
    mechanism = bdp.mechanisms.EdgeFlipMechanism(n, tie, gap, directed)
    with bdp.reproducible(3):
        seen = sum(z.to_adjacency().astype(int) for z in mechanism.release(network, copies))
    p = np.where(network.to_adjacency() == 1, tie, gap)
    inside = ~np.eye(n, dtype=bool) if directed else np.triu(np.ones((n, n), dtype=bool), 1)
    distance = np.sum((seen - copies * p)[inside] ** 2 / (copies * p * (1 - p))[inside])
    assert 1e-6 < stats.chi2.sf(distance, inside.sum()) < 1 - 1e-6


def test_blocks_of_copies_are_joined(monkeypatch):
    monkeypatch.setattr(edge_flip_draws, "_TOGETHER", 20)
    for mechanism in (MECHANISMS[1], MECHANISMS[3]):
        with bdp.reproducible(4):
            assert drawn_law(mechanism, mechanism.outputs()[21], 5_000) > 1e-6


@pytest.mark.slow
def test_a_hundred_thousand_nodes():
    """500,000 ties at epsilon = 10: numbers of kept ties and of flips are binomial."""
    n = 100_000
    rng = np.random.default_rng(0)
    ties = np.unique(np.sort(rng.integers(0, n, (500_000, 2)), axis=1), axis=0)
    network = Network(n, ties[ties[:, 0] < ties[:, 1]])
    with bdp.reproducible(5):
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=10.0).release(network)
    keys, released = (z.edges.astype(np.int64) @ [n, 1] for z in (network, release.outputs[0]))
    kept, flip = np.isin(released, keys), release.mechanism.gap
    assert stats.binomtest(int(kept.sum()), keys.size, 1 - flip).pvalue > 1e-6
    gaps = network.dyads - keys.size
    assert stats.binomtest(int((~kept).sum()), gaps, flip).pvalue > 1e-6
    places = dyad_numbers(release.outputs[0].edges[~kept], n, False)
    assert stats.kstest((places + 0.5) / network.dyads, "uniform").pvalue > 1e-6


@each
def test_evidence_is_the_law_up_to_a_constant(mechanism):
    graphs = mechanism.outputs()
    for output in (graphs[0], graphs[len(graphs) // 3], graphs[-1]):
        seen = mechanism.evidence(output)
        assert (seen.n, seen.directed) == (mechanism.nodes, mechanism.directed)
        assert {*map(tuple, seen.ties.tolist())} == ties_of(output)
        offset = dict(zip(map(tuple, seen.ties.tolist()), seen.offset.tolist(), strict=True))
        law = mechanism.logp(output, graphs)
        for x, log_p in zip(graphs, law, strict=True):
            if seen.matrix is None:
                total = sum(offset.get(d, seen.constant) for d in ties_of(x))
            else:
                total = sum(seen.matrix[d] for d in ties_of(x))
                assert all(seen.matrix[d] == value for d, value in offset.items())
            assert total == pytest.approx(log_p - law[0], abs=1e-12)
        twice = together([seen, seen])
        assert twice.offset == pytest.approx(2 * seen.offset)


def test_evidence_of_a_symmetric_flip_is_epsilon():
    seen = (
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.5)
        .mechanism_like(Network(6))
        .evidence(Network(6, [[1, 4]]))
    )
    assert seen.offset == pytest.approx([2.5])
    assert seen.constant == pytest.approx(-2.5)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS[1::3], ids=range(3))
def test_an_audit_acquits_the_sampler_and_convicts_a_cheat(mechanism, monkeypatch):
    with bdp.reproducible(6):
        found = bdp.audit(mechanism, trials=5_000, search=10)
        assert not found.convicted
        assert found.epsilon_exact == pytest.approx(found.claim.epsilon, rel=1e-9)
        honest = edge_flip.released_ties

        def cheat(ties, dyads, tie, gap, copies):
            return honest(ties, dyads, np.full(1, 0.999), np.full(1, 0.001), copies)

        monkeypatch.setattr(edge_flip, "released_ties", cheat)
        assert bdp.audit(mechanism, trials=5_000).convicted


def test_pairs_are_the_dearest_first_and_searches_stay_among_neighbours():
    uniform, own = bdp.mechanisms.EdgeFlipMechanism(5, 0.9, 0.2), MECHANISMS[3]
    assert len(uniform.pairs()) == 1
    costs = [pair_epsilon(own, pair, 0.0, own.outputs()) for pair in own.pairs()]
    assert len(costs) == own.dyads
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == pytest.approx(own.epsilon(), rel=1e-12)
    for mechanism in (uniform, own, MECHANISMS[6]):
        generator = np.random.default_rng(0)
        for _ in range(50):
            one, other = mechanism.nearby(mechanism.pairs()[0], generator)
            assert len(ties_of(one) ^ ties_of(other)) == 1


def test_larger_graphs_are_not_listed():
    assert bdp.mechanisms.EdgeFlipMechanism(6, 0.9, 0.1).outputs() is None
    assert len(bdp.mechanisms.EdgeFlipMechanism(5, 0.9, 0.1).outputs()) == 1024


def test_probabilities_that_are_equal_cost_nothing():
    mechanism = bdp.mechanisms.EdgeFlipMechanism(4, 0.3, 0.3)
    assert mechanism.guarantee().epsilon == 0
    assert mechanism.delta(0.0) == 0
    assert mechanism.guarantee(neighbours="node", delta=0.1).epsilon == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 1}, "from 2 to"),
        ({"nodes": 2**31}, "from 2 to"),
        ({"nodes": 2.0}, "whole number"),
        ({"tie": 0}, "tie is 0; it must lie strictly between"),
        ({"tie": 1.0}, "strictly between"),
        ({"gap": 0.0}, "gap is 0.0; it must lie strictly"),
        ({"gap": 1}, "strictly between"),
        ({"gap": -0.1}, "strictly between"),
        ({"gap": math.nan}, "strictly between"),
        ({"gap": True}, "gap has shape"),
        ({"gap": "much"}, "gap has shape"),
        ({"gap": None}, "gap"),
        ({"tie": [[0, 0.5], [0.5, 0]]}, r"tie has shape \(2, 2\).*\(3, 3\)"),
        ({"tie": np.ones((3, 3))}, "has a number out of its range off its diagonal"),
        ({"tie": [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.4, 0.5, 0]]}, "isn't symmetric"),
        (
            {"tie": [[0, 0.5, math.nan], [0.5, 0, 0.5], [math.nan, 0.5, 0]]},
            "out of its range off its diagonal",
        ),
        ({"directed": 1}, "directed is 1"),
        ({"attributes": "grade"}, "names of node attributes"),
    ],
)
def test_wrong_parameters_are_named(fields, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.EdgeFlipMechanism(**({"nodes": 3, "tie": 0.9, "gap": 0.1} | fields))


def test_a_matrix_keeps_what_is_read_of_it():
    tie = np.full((3, 3), 0.75)
    one = bdp.mechanisms.EdgeFlipMechanism(3, tie, 0.25)
    np.fill_diagonal(tie, np.nan)
    assert bdp.mechanisms.EdgeFlipMechanism(3, tie, 0.25) == one
    assert one.tie == ((0.0, 0.75, 0.75), (0.75, 0.0, 0.75), (0.75, 0.75, 0.0))
    assert one.epsilon() == bdp.mechanisms.EdgeFlipMechanism(3, 0.75, 0.25).epsilon()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Network(4), "has 4 nodes and is undirected.* 3 nodes, undirected"),
        (Network(3, directed=True), "is directed"),
        (nx.DiGraph([(0, 1), (1, 2)]), "is directed"),
        (nx.Graph([(0, 1), (1, 2), (2, 2)]), "to itself"),
        (nx.MultiGraph([(0, 1), (0, 1), (1, 2)]), "twice"),
        (np.zeros((3, 3)), "a network is wanted"),
        (Network(3), "names 'grade', which the network's nodes don't have"),
    ],
)
def test_graphs_that_it_does_not_take_are_refused(graph, message):
    mechanism = bdp.mechanisms.EdgeFlipMechanism(3, 0.9, 0.1, attributes=("grade",))
    for use in (mechanism.check_statistic, mechanism.release, mechanism.check_output):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            use(graph)
    if "grade" not in message:
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            mechanism.logp(mechanism.outputs()[0], [graph])
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            mechanism.evidence(graph)


def test_outputs_with_other_attributes_are_refused():
    mechanism = bdp.mechanisms.EdgeFlipMechanism(3, 0.9, 0.1)
    extra = Network(3, attributes={"grade": [1, 2, 3]})
    with pytest.raises(bdp.errors.InvalidInput, match=r"\['grade'\].*attributes="):
        mechanism.check_output(extra)
    with pytest.raises(bdp.errors.InvalidInput, match=r"\['distance'\]"):
        mechanism.check_output(Network(3, dyad_attributes={"distance": np.ones((3, 3))}))
    assert mechanism.check_output(nx.path_graph(3)) == Network((0, 1, 2), [[0, 1], [1, 2]])
    assert mechanism.check_statistic(extra).attributes == {}


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_other_relations_are_refused(relation):
    with pytest.raises(bdp.errors.InvalidInput, match="'edge' or 'node'"):
        MECHANISMS[0].guarantee(neighbours=relation)


def test_a_loaded_table_is_checked():
    mechanism = bdp.mechanisms.EdgeFlipMechanism(3, 0.9, 0.1)
    columns = mechanism.encode([Network(4, [[0, 1]])])
    with pytest.raises(bdp.errors.InvalidInput, match="has 4 nodes"):
        mechanism.decode(columns)
    assert as_networks(mechanism.decode(mechanism.encode([Network(3)])))[0] == Network(3)
