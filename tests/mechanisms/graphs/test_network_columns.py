"""Released graphs as tables and back, and what of a graph may be released."""

import datetime
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.graphs.network_columns import (
    as_networks,
    check_attribute_names,
    decode_networks,
    encode_networks,
    public_part,
    tie_records,
)
from bayesdp.networks import Network

LABELS = {
    "numbers": 5,
    "text": ["a", "b", "", "naïve", "e" * 40],
    "integers": [7, 3, -2, 2**40, 0],
    "floats": [0.5, 1e300, -0.25, 3.0, 2.0],
    "networkx's": tuple(nx.path_graph(5)),
}
VALUES = {
    "text": ["x", "yy", "", "x", "z"],
    "text, one missing": ["x", None, "yy", "x", "z"],
    "whole": [3, -1, 2**53 + 1, 0, 5],
    "floats": [0.1, math.nan, -0.0, 1e-300, math.inf],
    "floats, one missing": [0.1, None, 2.0, 3.0, 4.0],
    "boolean": [True, False, True, True, False],
    "boolean, one missing": [True, None, True, False, False],
}
TIES = [[], [[0, 1], [1, 3]], [[0, 1], [0, 2], [1, 2], [2, 4]]]


def plain(values):
    """As a list that tells NaN from other floats and is equal to itself."""
    return [("nan",) if v is None or v != v else (type(v), v) for v in values]


def through_the_disk(networks, directed, tmp_path):
    """Saved and loaded as a release, whatever the mechanism."""
    first = networks[0]
    mechanism = bdp.mechanisms.EdgeFlipMechanism(
        first.n, 0.9, 0.1, directed, tuple(first.attributes)
    )
    release = bdp.Release.of(mechanism, networks)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    return loaded.outputs


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("kind", [None, *VALUES])
def test_graphs_survive_the_table_and_the_disk(label, kind, directed, tmp_path):
    """Isolates, an empty graph, several copies; labels and attributes of every type."""
    attributes = {} if kind is None else {"it": VALUES[kind]}
    given = Network(LABELS[label], (), directed, attributes)
    networks = [public_part(given.with_edges(ties), tuple(attributes)) for ties in TIES]
    columns = encode_networks(networks)
    shuffled = np.random.default_rng(0).permutation(len(columns["copy"]))
    back = decode_networks({k: np.asarray(v)[shuffled] for k, v in columns.items()}, directed)
    for found in (back, through_the_disk(networks, directed, tmp_path)):
        assert list(found) == networks
        for one, other in zip(found, networks, strict=True):
            assert list(map(type, one.nodes)) == list(map(type, other.nodes))
            assert {*one.attributes} == {*attributes}
            for name in attributes:
                found_values = dict(
                    zip(one.nodes, plain(one.attributes[name].tolist()), strict=True)
                )
                assert found_values == dict(zip(given.nodes, plain(attributes[name]), strict=True))


def test_several_attributes_keep_their_names():
    given = {"grade": [1, 2, 3], "node.x": [0.5, 1.5, 2.5], "copy": ["a", "b", "c"]}
    network = public_part(Network(3, [[0, 2]], attributes=given), ("copy", "grade", "node.x"))
    (back,) = decode_networks(encode_networks([network]), False)
    assert list(back.attributes) == ["copy", "grade", "node.x"]
    assert {name: values.tolist() for name, values in back.attributes.items()} == given


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 9),
    directed=st.booleans(),
    copies=st.integers(1, 4),
    seed=st.integers(0, 2**31),
    labelled=st.booleans(),
)
def test_any_copies_come_back_in_their_order(n, directed, copies, seed, labelled):
    rng = np.random.default_rng(seed)
    nodes = [f"n{k}" for k in rng.permutation(n)] if labelled else n
    networks = []
    for _ in range(copies):
        a = rng.random((n, n)) < rng.random()
        mask = ~np.eye(n, dtype=bool) if directed else np.triu(np.ones((n, n), dtype=bool), 1)
        networks.append(Network(nodes, np.argwhere(a & mask), directed))
    columns = encode_networks(networks)
    order = rng.permutation(len(columns["copy"]))
    assert decode_networks({k: v[order] for k, v in columns.items()}, directed) == networks


def test_only_what_is_named_is_public():
    whole = Network(3, [[0, 1]], attributes={"a": [1, 2, 3], "b": list("xyz")},
                    dyad_attributes={"d": np.ones((3, 3))})  # fmt: skip
    part = public_part(whole, ("b",))
    assert (part, {*part.attributes}, {*part.dyad_attributes}) == (whole, {"b"}, set())
    assert not public_part(whole, ()).attributes


@pytest.mark.parametrize(
    ("network", "names", "message"),
    [
        (Network(2, attributes={"a": [1, 2]}), ("b",), "names 'b'.* they have: 'a'"),
        (Network(2), ("b",), "they have: none"),
        (Network(["a", 1]), (), "label has values of type int, str"),
        (Network([True, 3]), (), "label has values of type bool, int"),
        (Network([1, 2.5]), (), "label has values of type float, int"),
        (Network([(0, 0), (0, 1)]), (), "label has values of type tuple"),
        (Network([1, 2**63]), (), "beyond 64 bits"),
        (Network(2, attributes={"a": [None, None]}), ("a",), "type none at all"),
        (Network(2, attributes={"a": [1, None]}), ("a",), "missing or beyond"),
        (Network(2, attributes={"a": np.array([1, "x"], object)}), ("a",), "int, str"),
        (Network(["a", "\udcffb"]), (), "label has NUL or half a surrogate pair"),
        (Network(2, attributes={"a": ["x", "\udcff"]}), ("a",), "a.* has NUL"),
        (Network(2, attributes={"a": [datetime.date.today()] * 2}), ("a",), "type date"),
    ],
)
def test_what_a_table_would_change_is_refused(network, names, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        public_part(network, names)


@pytest.mark.parametrize(
    "other",
    [
        Network(["a", "c"]),
        Network(2),
        Network(3),
        Network(["a", "b"], attributes={"x": [1, 2]}),
    ],
)
def test_copies_of_other_nodes_or_attributes_are_refused(other):
    with pytest.raises(bdp.errors.InvalidInput, match="copies have other nodes"):
        encode_networks([Network(["a", "b"]), other])
    with pytest.raises(bdp.errors.InvalidInput, match="copies have other nodes"):
        encode_networks([Network(2, attributes={"x": ["a", "b"]}),
                         Network(2, attributes={"x": [1, 2]})])  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"copy": [0, 0], "source": [0, 2], "target": [-1, -1]}, "every node"),
        ({"copy": [0, 0, 0], "source": [0, 1, 1], "target": [-1, -1, -1]}, "every node"),
        ({"copy": [0, 0, 0], "source": [0, 1, 0], "target": [-1, -1, -2]}, "every node"),
        ({"copy": [0, 0, 0], "source": [0, 1, 0], "target": [-1, -1, 2]}, "outside 0 to 1"),
        ({"copy": [0, 0, 0], "source": [0, 1, 1], "target": [-1, -1, 1]}, "to itself"),
        ({"copy": [0] * 4, "source": [0, 1, 1, 0], "target": [-1, -1, 0, 1]}, "twice"),
        ({"copy": [0, 1], "source": [0, 0], "target": [-1, -1]}, "at least 2"),
        ({"copy": [1, 1], "source": [0, 1], "target": [-1, -1]}, "copies numbered from 0"),
    ],
)
def test_a_damaged_table_is_refused(columns, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        decode_networks(columns, False)


def test_an_empty_table_holds_no_copies():
    assert decode_networks({"copy": [], "source": [], "target": []}, False) == []


def test_ties_are_shown_by_labels():
    records = tie_records(Network(["a", "bb", "c"], [[0, 1], [1, 2]]))
    assert records["source"].tolist() == ["a", "bb"]
    assert records["target"].tolist() == ["bb", "c"]
    assert tie_records(Network(3)).size == 0


def test_graphs_become_an_array():
    one = nx.path_graph(3)
    assert as_networks(one).shape == ()
    assert as_networks([one, Network(3)]).shape == (2,)
    assert all(isinstance(graph, Network) for graph in as_networks((one, one)))
    with pytest.raises(bdp.errors.InvalidInput, match="a network is wanted"):
        as_networks(3)


def test_names_of_attributes_are_checked():
    assert check_attribute_names(["a", "b"]) == ("a", "b")
    assert check_attribute_names(()) == ()
    for wrong in ("grade", ("a", "a"), (1,), ("",), [None], None, 3):
        with pytest.raises(bdp.errors.InvalidInput, match="names of node attributes"):
            check_attribute_names(wrong)


TIES_FIRST = [("pat", "ann"), ("lee", "pat"), ("ann", "lee")]


@pytest.mark.parametrize(
    "declared",
    [
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0),
        bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=2.0),
        bdp.synthesizers.DPERGMSynthesizer("edges", epsilon=2.0, centre=-1.0, scale=1.0),
    ],
    ids=lambda d: type(d).__name__,
)
def test_the_order_in_which_ties_were_listed_never_leaves(declared):
    """Built from ties alone, a graph's nodes come in the order they were first tied."""
    one, other = (Network.from_edges(ties) for ties in (TIES_FIRST, TIES_FIRST[::-1]))
    assert tuple(one.nodes) != tuple(other.nodes)
    seen = []
    for graph in (one, other):
        with bdp.reproducible(1):
            seen.append(declared.release(graph, copies=1))
    assert seen[0].fingerprint == seen[1].fingerprint


def test_in_label_order_carries_everything_along():
    graph = Network(
        ["b", "c", "a"], [(0, 1), (1, 2)], True, {"x": [2, 3, 1]}, {"w": np.arange(9).reshape(3, 3)}
    )
    turned = graph.in_label_order()
    assert turned.nodes == ("a", "b", "c")
    assert {(turned.nodes[i], turned.nodes[j]) for i, j in turned.edges} == {("b", "c"), ("c", "a")}
    assert turned.attributes["x"].tolist() == [1, 2, 3]
    assert turned.dyad_attributes["w"][1, 2] == 1  # from b to c
    assert turned.in_label_order() is turned
    with pytest.raises(bdp.errors.InvalidInput, match="can't be sorted"):
        Network(["a", 1], [(0, 1)]).in_label_order()


def test_matrices_by_number_need_a_graph_in_label_order():
    tie = np.full((3, 3), 0.9)
    with pytest.raises(bdp.errors.InvalidInput, match="in_label_order"):
        bdp.synthesizers.EdgeFlipSynthesizer(tie=tie, gap=0.1).release(
            Network.from_edges(TIES_FIRST)
        )


def test_public_attributes_stay_with_their_nodes_when_these_are_sorted():
    x = {"ann": 1.0, "lee": 20.0, "pat": 300.0}
    ties = [("pat", "lee"), ("lee", "ann")]
    declared = bdp.synthesizers.NoisyStatisticsSynthesizer(
        "edges + nodecov('x')", epsilon=2.0, attributes=("x",)
    )
    graph = Network.from_edges(ties, attributes={"x": x})
    mechanism = declared.mechanism_like(graph)
    nodes = mechanism.evidence((2, 341)).nodes
    assert dict(zip(nodes.nodes, nodes.attributes["x"].tolist(), strict=True)) == x
    exact = mechanism.logp((2, 341), graph)
    assert exact > mechanism.logp((2, 340), graph)  # 320 + 21, and no other assignment
