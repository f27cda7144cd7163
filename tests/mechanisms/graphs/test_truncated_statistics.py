"""Statistics of truncated graphs: how far they move, the promise, the law, and what is refused."""

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.graphs.degree_truncation import DegreeSum, degree_sums, truncated_degrees
from bayesdp.networks import Network, statistics
from tests.mechanisms.graphs.test_noisy_triangles import all_graphs, one_more_or_less
from tests.networks.oracles import karate

NODE, EDGE = bdp.Neighbours.NODE, bdp.Neighbours.EDGE
TERMS = (
    "edges",
    "kstar(1)",
    "kstar(2)",
    "kstar(3)",
    "isolates",
    "concurrent",
    "degree(0)",
    "degree(1)",
    "degree(2)",
    "gwdegree(0.5)",
)


def allowed_sums(max_degree: int) -> list[DegreeSum]:
    """The statistics that can differ where degrees are at most that."""
    needed = {"kstar(2)": 2, "kstar(3)": 3, "concurrent": 2, "degree(2)": 2}
    return [degree_sums(term, max_degree)[0] for term in TERMS if needed.get(term, 1) <= max_degree]


def without_a_node(n: int) -> list[np.ndarray]:
    """For each node, the number of each graph without that node's ties."""
    dyads = list(itertools.combinations(range(n), 2))
    graphs = np.arange(1 << len(dyads))
    return [graphs & ~sum(1 << k for k, d in enumerate(dyads) if v in d) for v in range(n)]


def spread_by_node(n: int, values: np.ndarray) -> float:
    """Largest difference of values, last axis the graphs, between all neighbours by node."""
    worst = 0.0
    for rest in without_a_node(n):
        for bare in np.unique(rest):
            same = values[..., rest == bare]
            worst = max(worst, float((same.max(axis=-1) - same.min(axis=-1)).max()))
    return worst


def cut_by_hand(network: Network, max_degree: int) -> Network:
    kept: list[tuple[int, int]] = []
    for i, j in sorted(map(tuple, network.edges.tolist())):
        if all(sum(node in tie for tie in kept) < max_degree for node in (i, j)):
            kept.append((i, j))
    return network.with_edges(np.array(kept, dtype=np.int64).reshape(-1, 2))


@pytest.mark.parametrize(("n", "max_degree"), [(n, d) for n in (4, 5) for d in range(1, n)])
def test_no_neighbours_move_a_statistic_further_than_proved(n: int, max_degree: int):
    """All graphs, all neighbours by node and by edge, all statistics, and the degrees."""
    _, graphs = all_graphs(n)
    degrees = np.array([truncated_degrees(graph, max_degree) for graph in graphs])
    for each in allowed_sums(max_degree):
        values = np.array([float(each.of(kept)) for kept in degrees])
        by_edge = max(np.abs(values - other).max() for other in one_more_or_less(n, values))
        by_node = spread_by_node(n, values)
        assert by_edge <= each.sensitivity(EDGE)
        assert by_node <= each.sensitivity(NODE)
        assert by_edge == each.sensitivity(EDGE)  # attained
        if each.name == "edges":
            assert by_node == each.sensitivity(NODE) == max_degree
    rows = degrees.T
    for other in one_more_or_less(n, rows):
        assert np.abs(rows - other).sum(axis=0).max() <= 2
    for v, rest in enumerate(without_a_node(n)):
        others = np.abs(rows - rows[:, rest])
        others[v] = 0
        assert np.all(others.sum(axis=0) <= rows[v])
        moved = rows.sum(axis=0) - rows[:, rest].sum(axis=0)
        assert np.all((moved >= 0) & (moved <= 2 * rows[v]))


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_of_larger_graphs_stay_as_near(seed: int):
    rng = np.random.default_rng(seed)
    n, max_degree = 30, int(rng.integers(1, 6))
    pairs = np.argwhere(np.triu(rng.random((n, n)) < rng.uniform(0.05, 0.4), 1))
    sums = allowed_sums(max_degree)
    for _ in range(60):
        node = int(rng.integers(n))
        others = np.delete(np.arange(n), node)
        both = []
        for _ in range(2):
            own = others[rng.random(n - 1) < rng.random()]
            ties = pairs[(pairs != node).all(axis=1)]
            new = np.column_stack([np.full(own.size, node), own])
            both.append(truncated_degrees(Network(n, np.vstack([ties, new])), max_degree))
        for each in sums:
            assert abs(each.of(both[0]) - each.of(both[1])) <= each.sensitivity(NODE)
        assert np.abs(both[0] - both[1]).sum() <= 2 * max_degree


@pytest.mark.parametrize("max_degree", [1, 3, 17])
def test_cut_graph_and_its_statistics_are_as_the_terms_say(max_degree: int):
    for network in (karate(), Network(5, []), Network.from_networkx(nx.complete_graph(8))):
        cut = cut_by_hand(network, max_degree)
        degrees = truncated_degrees(network, max_degree)
        assert np.array_equal(degrees, cut.to_adjacency().sum(axis=0))
        for each, term in zip(allowed_sums(max_degree), allowed_terms(max_degree), strict=True):
            (expected,) = statistics(cut, term).values()
            assert float(each.of(degrees)) == pytest.approx(expected, abs=network.n * 2.0**-20)
            assert not each.whole or float(each.of(degrees)) == expected


def allowed_terms(max_degree: int) -> list[str]:
    names = {each.name for each in allowed_sums(max_degree)}
    return [t for t in TERMS if t.replace("(", ".").rstrip(")") in names]


def test_a_large_degree_cuts_nothing():
    assert np.array_equal(truncated_degrees(karate(), 33), karate().to_adjacency().sum(axis=0))


def test_order_of_ties_is_that_of_labels_and_not_of_the_listing():
    """Listed by their ties, as networkx does, nodes' numbers tell of the ties."""
    ties = [("d", "c"), ("c", "b"), ("b", "a"), ("a", "e")]
    labels = [*"edcba"]
    one = Network.from_edges(ties, nodes=labels)
    other = Network.from_edges(ties, nodes=sorted(labels))
    kept = [dict(zip(g.nodes, truncated_degrees(g, 1).tolist(), strict=True)) for g in (one, other)]
    assert kept[0] == kept[1] == {"a": 1, "b": 1, "c": 1, "d": 1, "e": 0}
    mechanism = bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 1)
    assert mechanism.exact(nx.Graph(ties)) == mechanism.exact(nx.Graph(ties[::-1])) == 2


def test_which_ties_are_kept_may_change_all_along_a_path():
    """Why nodematch isn't offered: one tie more, and every kept tie is another one."""
    n = 20
    path = [[i, i + 1] for i in range(1, n - 1)]
    group = {"group": [(i + 1) // 2 for i in range(n)]}
    before = cut_by_hand(Network(n, path, attributes=group), 1)
    after = cut_by_hand(Network(n, [[0, 1], *path], attributes=group), 1)
    assert statistics(before, "nodematch('group')") == {"nodematch.group": 9.0}
    assert statistics(after, "nodematch('group')") == {"nodematch.group": 0.0}


@pytest.mark.parametrize(
    ("formula", "epsilon", "max_degree", "weights"),
    [
        ("edges", 1.0, 1, None),
        ("edges", 0.5, 3, None),
        ("edges + kstar(2)", 1.0, 2, (3, 1)),
        ("edges + isolates + concurrent", 2.0, 2, None),
        ("gwdegree(0.5)", 1.0, 2, None),
        ("degree([0, 1]) + gwdegree(1.0)", 3.0, 3, None),
    ],
)
def test_no_neighbours_on_four_nodes_cost_more_than_promised(formula, epsilon, max_degree, weights):
    """Log ratios of the exact law at outputs on either side of all that there can be.

    A log ratio of Laplace noise is extreme where the output is beyond both statistics, so for
    several of them at the corners of a box around all.
    """
    mechanism = bdp.mechanisms.TruncatedStatisticsMechanism(formula, epsilon, max_degree, weights)
    _, graphs = all_graphs(4)
    corners = np.array(list(itertools.product((-64, 64), repeat=len(mechanism.noises))))
    law = mechanism.logp(corners[:, None], graphs)
    assert law.shape == (len(corners), 64)
    by_edge = max(np.abs(law - other).max() for other in one_more_or_less(4, law))
    by_node = spread_by_node(4, law)
    assert by_edge <= mechanism.guarantee(neighbours=EDGE).epsilon * (1 + 1e-12)
    assert by_node <= mechanism.guarantee().epsilon * (1 + 1e-12)
    assert mechanism.guarantee().epsilon <= epsilon
    assert mechanism.guarantee().epsilon == pytest.approx(epsilon, rel=1e-9)
    if formula == "edges":
        assert by_node == pytest.approx(epsilon, rel=1e-12)
        assert by_edge == pytest.approx(epsilon / max_degree, rel=1e-12)


def test_law_is_that_of_noise_of_the_stated_scales():
    mechanism = bdp.mechanisms.TruncatedStatisticsMechanism(
        "edges + gwdegree(0.5)", 2.0, 4, (3.0, 1.0)
    )
    edges, gwdegree = mechanism.noises
    assert edges.scale == pytest.approx(4 / 1.5)
    assert gwdegree.scale == pytest.approx(8 / 0.5, rel=1e-5)
    truth = mechanism.exact(karate())
    z = np.array([truth[0] + 3, 7 * gwdegree.granularity])
    expected = edges.logp(z[0], truth[0]) + gwdegree.logp(z[1], truth[1])
    assert mechanism.logp(z, karate()) == pytest.approx(float(expected), rel=1e-14)
    several = mechanism.logp(z, [karate(), Network(34, [])])
    assert several.shape == (2,)
    assert several[0] == mechanism.logp(z, karate())
    assert mechanism.logp([0.5, 0.0], karate()) == -math.inf
    with bdp.reproducible(5):
        drawn = mechanism.release(karate(), copies=20_000)
    for k, noise in enumerate(mechanism.noises):
        error = 6 * math.sqrt(2) * noise.scale / math.sqrt(len(drawn))
        assert abs(drawn[:, k].mean() - truth[k]) < error  # false alarm below 1e-8


def test_gwdegree_is_summed_exactly():
    (each,) = degree_sums("gwdegree(0.5)", 40)
    assert all((f * 2**24).denominator == 1 for f in each.values)
    degrees = np.random.default_rng(1).integers(41, size=10_000)
    assert each.of(degrees) == sum((each.values[d] for d in degrees.tolist()), Fraction(0))
    assert Fraction(float(each.of(degrees))) == each.of(degrees)


def test_release_survives_the_disk_and_the_ledger(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("club", epsilon=2.0, neighbours="node")
    declared = bdp.synthesizers.TruncatedStatisticsSynthesizer(
        "edges + gwdegree(0.5) + kstar([2, 3])", 2.0, 5
    )
    release = declared.release(nx.karate_club_graph(), copies=2, ledger=ledger.dataset("club"))
    assert release.guarantee.epsilon == pytest.approx(2.0, rel=1e-9)
    assert release.guarantee.epsilon <= 2.0
    assert release.guarantee.neighbours is NODE
    assert release.guarantee.strength is bdp.Strength.PROVED
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    frame = loaded.to_frames()[1]
    assert list(frame.columns) == ["edges", "gwdegree.0.5", "kstar.2", "kstar.3"]
    assert tuple(frame.iloc[0]) == release.outputs[1]
    assert [type(z) for z in release.outputs[0]] == [int, float, int, int]
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(karate(), ledger=ledger.dataset("club"))


def test_promise_is_made_from_a_declaration():
    declared = bdp.synthesizers.TruncatedStatisticsSynthesizer(
        "edges + isolates", epsilon=1.0, max_degree=4
    )
    release = bdp.Release.of(declared, outputs=[(70, 3)])
    assert release.guarantee.epsilon == pytest.approx(1.0)
    assert release.mechanism.guarantee(neighbours=EDGE).epsilon == pytest.approx(0.25)
    smaller = release.mechanism.guarantee(copies=2, delta=0.1)
    assert smaller.epsilon < 2.0
    assert smaller.delta == 0.1


@pytest.mark.slow
def test_large_graphs_are_cut_within_seconds():
    rng = np.random.default_rng(1)
    ties = np.unique(np.sort(rng.integers(100_000, size=(300_000, 2)), axis=1), axis=0)
    network = Network(100_000, ties[ties[:, 0] != ties[:, 1]])
    mechanism = bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 100)
    assert mechanism.exact(network) == [len(network.edges)]


CLUB = karate()


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", epsilon=0),
            "epsilon is 0",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", epsilon=-2),
            "epsilon is -2",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", max_degree=0),
            "max_degree is 0",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", max_degree=2.5),
            r"max_degree is 2\.5",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges + triangle"),
            "'triangle'.*which ties are kept",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("nodematch('group')"),
            "'nodematch'",
        ),
        (lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("gwesp(0.5)"), "'gwesp'"),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges + nothing"),
            "doesn't exist",
        ),
        (lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer(""), "formula is ''"),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("kstar(3)", max_degree=2),
            "same for all graphs",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("degree(9)", max_degree=8),
            "same for all graphs",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("concurrent", max_degree=1),
            "same for all graphs",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", weights=(1, 2)),
            "1 positive numbers",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", weights=(0,)),
            "weights is",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges", weights="a"),
            "weights is",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges").release(
                nx.DiGraph([(0, 1)])
            ),
            "directed",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges").release(
                nx.Graph([(0, "a")])
            ),
            "of one type",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges").release(
                nx.Graph([(0.5, math.nan)])
            ),
            "None or NaN",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("edges").release([[0, 1]]),
            "a network is wanted",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer(
                "kstar(5)", max_degree=300
            ).release(Network(1_000_000, [])),
            "too large",
        ),
        (
            lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer("kstar(9)", max_degree=400),
            "no scale",
        ),
        (
            lambda: bdp.Release.of(
                bdp.synthesizers.TruncatedStatisticsSynthesizer("edges"), outputs=[3]
            ),
            "output is 3",
        ),
        (
            lambda: bdp.Release.of(
                bdp.synthesizers.TruncatedStatisticsSynthesizer("edges"), outputs=[(3, 4)]
            ),
            "1 numbers",
        ),
        (
            lambda: bdp.Release.of(
                bdp.synthesizers.TruncatedStatisticsSynthesizer("edges"), outputs=[(3.5,)]
            ),
            r"3\.5",
        ),
        (
            lambda: bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 3).logp([1, 2], CLUB),
            "shape",
        ),
        (
            lambda: bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 3).evidence((3,)),
            "how many nodes",
        ),
        (
            lambda: bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 3).guarantee(
                neighbours="replace_one"
            ),
            "'edge' or 'node'",
        ),
        (
            lambda: bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.0, 3).decode(
                {"copy": [1], "edges": [1]}
            ),
            "one row for each copy",
        ),
    ],
)
def test_what_cannot_be_is_refused(declare, message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        declare()
