"""Where networks come from, what they refuse, and where they go."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bayesdp as bdp
from bayesdp.kernels.graphs.graph import duplicate
from bayesdp.networks import Network
from bayesdp.networks.graph import BITSET_BYTES, graph_of
from tests.networks.oracles import florentine, karate


@pytest.mark.parametrize("directed", [False, True])
def test_every_source_gives_the_same_network(directed):
    rng = np.random.default_rng(1)
    a = np.triu(rng.random((9, 9)) < 0.3, 1).astype(int)
    a = (a | np.tril(rng.random((9, 9)) < 0.3, -1)) if directed else a | a.T
    pairs = np.argwhere(a if directed else np.triu(a))
    from_edges = Network.from_edges(map(tuple, pairs.tolist()), nodes=range(9), directed=directed)
    table = pd.DataFrame(pairs, columns=["from", "to"])
    nodes = pd.DataFrame({"age": range(9)}, index=range(9))
    others = [
        Network(9, pairs[::-1], directed),
        Network.from_adjacency(a, directed=directed),
        Network.from_adjacency(sparse.csr_array(a), directed=directed),
        Network.from_adjacency(pd.DataFrame(a), directed=directed),
        Network.from_pandas(table, nodes, source="from", target="to", directed=directed),
        Network.from_networkx(from_edges.to_networkx()),
    ]
    for other in others:
        assert other == from_edges
        np.testing.assert_array_equal(other.to_adjacency(), a)
    assert others[4].attributes["age"].tolist() == list(range(9))
    assert {*from_edges.to_networkx().edges} == {*map(tuple, pairs.tolist())}


def test_real_networks_keep_their_attributes():
    club = karate()
    assert (club.n, len(club.edges), set(club.attributes)) == (34, 78, {"club"})
    back = club.to_networkx()
    assert back.nodes[33]["club"] == "Officer"
    assert repr(florentine()) == "Network(16 nodes, 20 ties, undirected)"
    assert florentine().density == 20 / 120


HIDDEN = np.ma.array([[0, 1], [1, 0]], mask=[[1, 0], [0, 0]])
REFUSED = [
    (lambda: Network(3, [[0, 0]]), "to itself"),
    (lambda: Network(3, [[0, 1], [1, 0]]), "twice"),
    (lambda: Network(3, [[0, 3]]), "outside 0 to 2"),
    (lambda: Network(3, [[0.5, 1]]), "pairs of node numbers"),
    (lambda: Network(1), "at least 2"),
    (lambda: Network(nx.karate_club_graph()), "type Graph, whose ties Network doesn't read"),
    (lambda: Network({"a": ["b"], "b": ["a"]}), "type dict"),
    (lambda: Network(pd.DataFrame([[0, 1], [1, 0]])), "type DataFrame"),
    (lambda: Network("abc"), "nodes is"),
    (lambda: Network(["a", "a"]), "one label twice, at 0 and at 1"),
    (lambda: Network([None, "a"]), "nodes has a label that is missing"),
    (lambda: Network([np.nan, 1.0]), "nodes has a label that is missing"),
    (lambda: Network([[1], [2]]), "can't be looked up"),
    (lambda: Network(3, [(0, 1), (1,)]), "different lengths"),
    (lambda: Network(3, directed="no"), "directed is 'no'"),
    (lambda: Network(3, attributes={"x": [1, 2]}), "one value for each node"),
    (lambda: Network(2, attributes={"5": [1, 2], 5: [1, 2]}), "two attributes have the name '5'"),
    (lambda: Network(2, dyad_attributes={"d": [[0, 1], [2, 0]]}), "symmetric"),
    (lambda: Network(2, dyad_attributes={"d": [[0, np.nan], [np.nan, 0]]}), "finite"),
    (lambda: Network(2, dyad_attributes={"d": [0, 1]}), "shape"),
    (lambda: Network.from_edges([("a", "b"), ("a", "a")]), "ties a node to itself"),
    (lambda: Network.from_edges([("a", "b"), ("b", "a")]), "twice"),
    (lambda: Network.from_edges([("a", "b")], nodes=["a"]), "isn't among"),
    (lambda: Network.from_edges([("a", "b", "c")]), "pair"),
    (lambda: Network.from_edges([("a", None), ("b", None)]), "edges has a label that is missing"),
    (lambda: Network.from_edges([("a", pd.NA)], nodes=["a", "b"]), "edges has a label"),
    (lambda: Network.from_edges([(["a"], "b")]), "can't be looked up"),
    (lambda: Network.from_edges([1, 2]), "list of pairs"),
    (lambda: Network.from_networkx(nx.MultiGraph([(0, 1), (0, 1)])), "twice"),
    (lambda: Network.from_adjacency([[0, 1], [0, 0]]), "isn't symmetric"),
    (lambda: Network.from_adjacency([[1, 1], [1, 0]]), "to itself"),
    (lambda: Network.from_adjacency([[0, 2], [2, 0]]), "zeros and ones"),
    (lambda: Network.from_adjacency([[0, 1, 0], [1, 0, 0]]), "square"),
    (lambda: Network.from_adjacency([["0", "1"], ["1", "0"]]), "square one of numbers"),
    (lambda: Network.from_adjacency(np.zeros((3, 3)), nodes=["a", "b"]), "of 3 nodes.* 2 labels"),
    (lambda: Network.from_adjacency(np.zeros((2, 2)), nodes="abc"), "of 2 nodes.* 3 labels"),
    (lambda: Network.from_adjacency(HIDDEN), "matrix has masked values"),
    (lambda: Network(2, HIDDEN[:1]), "edges has masked values"),
    (lambda: Network(2, attributes={"x": HIDDEN[0]}), "'x' has masked values"),
    (lambda: Network(2, dyad_attributes={"d": HIDDEN}), "'d' has masked values"),
    (lambda: Network.from_pandas(pd.DataFrame({"a": [1], "b": [2]})), "no column 'source'"),
    (lambda: Network(np.array(3)), "nodes is a ndarray; it must be a whole number"),
    (lambda: Network(3, attributes=[1, 2, 3]), "attributes is a list; it must be a mapping"),
    (lambda: Network(3, dyad_attributes=None), "dyad_attributes is None; it must be a mapping"),
    (lambda: Network(2, attributes={"x": [[1], [2, 3]]}), "'x' has entries of different lengths"),
    (lambda: Network(2, np.ma.array([[0, 1]], mask=[[0, 1]])), "edges has masked values"),
    (lambda: Network(2, dyad_attributes={"d": MASKED}), "dyad attribute 'd' has masked values"),
    (lambda: Network.from_adjacency(MASKED), "matrix has masked values"),
    (lambda: Network.from_adjacency(np.array([["a"]], dtype=object)), "hold only numbers"),
    (lambda: Network.from_edges([("a", "b")], nodes="ab"), "nodes is 'ab'"),
    (lambda: Network.from_edges([("a", "b")], attributes=AGES), "index with labels of the nodes"),
    (lambda: Network.from_pandas(TIES, ["a", "b"]), "nodes is a list; it must be a DataFrame"),
    (lambda: Network.from_pandas([TIES], AGES.loc[["a", "a"]]), "one label twice, at 0 and at 1"),
    (lambda: Network.from_pandas(pl.DataFrame(TIES)), r"give it as edges\.to_pandas\(\)"),
    (lambda: Network.from_pandas(pa.table(TIES)), r"give it as edges\.to_pandas\(\)"),
    (lambda: Network.from_pandas(TIES, pa.table({"x": [1, 2]})), r"to_pandas\(\)\.set_index"),
]

MASKED = np.ma.array([[0, 1], [1, 0]], mask=[[0, 1], [1, 0]])
AGES = pd.DataFrame({"age": [31, 40]}, index=["b", "a"])
TIES = pd.DataFrame({"source": ["a"], "target": ["b"]})


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_not_a_simple_graph_is_refused(make, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        make()


MATRIX = pd.DataFrame([[0, 1], [1, 0]], index=["b", "a"], columns=["b", "a"])
IN_ANOTHER_ORDER = [
    lambda: Network(["a", "b"], attributes={"x": pd.Series([1, 2], index=["b", "a"])}),
    lambda: Network([1, 2, 3], attributes={"x": pd.Series([1, 2, 3], index=[1, 3, 5])}),
    lambda: Network([1, 0], attributes={"x": pd.Series([1, 2])}),
    lambda: Network(["a", "b"], dyad_attributes={"d": MATRIX}),
    lambda: Network.from_adjacency(MATRIX, nodes=["a", "b"]),
]


@pytest.mark.parametrize("make", IN_ANOTHER_ORDER)
def test_an_index_in_another_order_than_the_nodes_is_refused(make):
    with pytest.raises(bdp.errors.InvalidInput, match="index with labels of the nodes, but not"):
        make()


@pytest.mark.parametrize(
    "values",
    [["a", np.nan, "b"], {0: "a", 1: float("nan"), 2: "b"}],
)
def test_a_missing_value_is_no_text(values):
    """NaN among texts was the level 'nan'."""
    with pytest.raises(bdp.errors.InvalidInput, match="'x' is missing for 1 of 3 nodes"):
        bdp.networks.statistics(Network(3, attributes={"x": values}), "nodematch('x')")


def test_a_number_and_its_numeral_are_two_levels():
    """As numpy's texts they were one, and their ties counted as matches."""
    both = Network(3, [(0, 1)], attributes={"x": [1, "1", "2"]})
    assert bdp.networks.statistics(both, "nodematch('x')") == {"nodematch.x": 0.0}


def test_a_range_that_does_not_count_from_zero_is_labels(tmp_path):
    """A saved release forgot them, and its nodes were 0, 1, 2."""
    graph = Network(range(3, 0, -1), [(0, 1)])
    release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=30.0).release(graph)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release").outputs[0]
    assert loaded == release.outputs[0]
    assert tuple(loaded.nodes) == (1, 2, 3)


def test_a_matrix_of_pandas_own_integers_is_read():
    frame = pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["a", "b"], dtype="Int64")
    assert Network.from_adjacency(frame) == Network(["a", "b"], [(0, 1)])


def test_an_index_that_says_nothing_of_the_nodes_is_not_read():
    labels = ["a", "b", "c"]
    for index in (labels, range(3), [5, 2, 9]):
        given = {"x": pd.Series([1, 2, 3], index=index)}
        assert Network(labels, attributes=given).attributes["x"].tolist() == [1, 2, 3]
    from_one = Network([1, 2, 3], attributes={"x": pd.Series([1, 2, 3])})
    assert from_one.attributes["x"].tolist() == [1, 2, 3]
    assert Network.from_adjacency(MATRIX, nodes=["c", "d"]).nodes == ("c", "d")


def test_labels_of_numpy_are_those_of_python():
    network = Network.from_edges(np.array([[3, 1], [1, 2]]))
    assert [type(label) for label in network.nodes] == [int, int, int]
    release = bdp.synthesizers.NoisyStatisticsSynthesizer("edges", epsilon=1.0).release(network)
    assert release.mechanism.nodes == (1, 2, 3)


def test_both_directions_are_two_ties_of_a_directed_network():
    assert len(Network(3, [[0, 1], [1, 0]], directed=True).edges) == 2


@given(
    n=st.integers(2, 12),
    directed=st.booleans(),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=30, deadline=None)
def test_bitsets_and_lists_hold_the_same_graph(n, directed, density, seed):
    a = np.random.default_rng(seed).random((n, n)) < density
    pairs = Network(
        n, np.argwhere(a & ~np.eye(n, dtype=bool) if directed else np.triu(a, 1)), directed
    ).edges
    bits, lists = (graph_of(n, directed, pairs, bitsets=b) for b in (True, False))
    np.testing.assert_array_equal(bits.degree, lists.degree)
    for row in range(len(bits.degree)):
        words = bits.bits[row]
        members = [k for k in range(n) if int(words[k // 64]) >> (k % 64) & 1]
        first = lists.start[row]
        assert lists.pool[first : first + lists.degree[row]].tolist() == members
    assert bits.sizes[0] == lists.sizes[0] == len(pairs)


@pytest.mark.slow
def test_a_hundred_thousand_nodes_fit():
    rng = np.random.default_rng(1)
    pairs = np.unique(np.sort(rng.integers(0, 100_000, (500_000, 2)), axis=1), axis=0)
    network = Network(100_000, pairs[pairs[:, 0] < pairs[:, 1]])
    graph = graph_of(network.n, False, network.edges)
    assert len(graph.bits) == 0
    assert sum(part.nbytes for part in duplicate(graph)[2:]) < 64 << 20
    np.testing.assert_array_equal(
        graph.degree, np.bincount(network.edges.ravel(), minlength=100_000)
    )


def test_the_choice_of_storage_is_by_memory():
    small, large = (graph_of(n, False, np.empty((0, 2), np.int32)) for n in (5_760, 6_000))
    assert 0 < small.bits.nbytes <= BITSET_BYTES
    assert large.bits.nbytes == 0


class TestAttributesByNode:
    def test_they_are_read_by_label_wherever_attributes_are_given(self):
        by_node = {"c": 3, "a": 1, "b": 2}
        network = Network(["a", "b", "c"], [[0, 1]], attributes={"x": by_node})
        assert network.attributes["x"].tolist() == [1, 2, 3]
        frame = Network.from_adjacency(network.to_adjacency(), attributes={"x": {0: 5, 2: 7, 1: 6}})
        assert frame.attributes["x"].tolist() == [5, 6, 7]
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes=("x",)).release(
            network
        )
        assert release.outputs[0].attributes["x"].tolist() == [1, 2, 3]
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(network)
        model = bdp.models.ERGMModel("edges + nodecov('x')", attributes={"x": by_node})
        lists = bdp.models.ERGMModel("edges + nodecov('x')", attributes={"x": [1, 2, 3]})
        theta = [-1.0, 0.4]
        assert model.log_likelihood(release, theta) == lists.log_likelihood(release, theta)

    @pytest.mark.parametrize("make", [Network, Network.from_edges])
    def test_missing_and_unknown_nodes_are_counted_and_not_named(self, make):
        """In `from_edges` a node left out was missing in silence."""
        nodes = {"nodes": ["ann", "bob", "cy"]}
        options = nodes if make is Network else nodes | {"edges": [("ann", "bob")]}
        for values, message in (
            (
                {"ann": 1, "bob": 2},
                "without a value for 1 of the 3 nodes, and with values for 0 oth",
            ),
            (
                {"ann": 1, "bob": 2, "cy": 3, "dee": 4},
                "for 0 of the 3 nodes, and with values for 1 ",
            ),
            ({"ann": 1, "dee": 4}, "for 2 of the 3 nodes, and with values for 1 others"),
        ):
            with pytest.raises(bdp.errors.InvalidInput, match=message) as caught:
                make(**options, attributes={"x": values})
            assert not any(name in str(caught.value) for name in ("ann", "bob", "cy", "dee"))

    def test_errors_about_attributes_name_where_they_are_given(self):
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(Network(4, [[0, 1]]))
        with pytest.raises(bdp.errors.InvalidInput) as caught:
            bdp.models.ERGMModel("edges + nodematch('club')").fit(release)
        assert "EdgeFlipSynthesizer(attributes=...)" in str(caught.value)
        assert "ERGMModel(attributes=...)" in str(caught.value)
        with pytest.raises(bdp.errors.InvalidInput, match="attributes is a dict; it must be names"):
            bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes={"club": {0: "secret"}})
        holes = Network(["ann", "bob"], attributes={"x": [1, None]})
        with pytest.raises(
            bdp.errors.InvalidInput, match="missing for 1 of 2 nodes; fill"
        ) as caught:
            bdp.networks.statistics(holes, "nodecov('x')")
        assert "bob" not in str(caught.value)
