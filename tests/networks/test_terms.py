"""Every term against its definition, and formulas against what they may say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.kernels.graphs.markov import changes_at
from bayesdp.networks import Network, statistics
from bayesdp.networks.formula import bind, parse
from bayesdp.networks.graph import graph_of
from bayesdp.networks.terms import TERMS
from tests.networks.oracles import ORACLES, florentine, karate, with_everything


def test_every_term_has_an_oracle():
    assert {parse(term)[0].name for term in ORACLES} | {"sociality"} == set(TERMS)
    degrees = {"degree", "kstar", "gwdegree", "concurrent", "sociality"}
    assert {name for name, term in TERMS.items() if not term.directed} == degrees
    assert {name for name, term in TERMS.items() if not term.undirected} == {"mutual"}


@pytest.mark.parametrize("bitsets", [True, False])
def test_sociality_is_each_node_s_degree(bitsets):
    network = florentine()
    degree = network.to_adjacency().astype(int).sum(axis=1)
    labels = [f"sociality.{node}" for node in network.nodes]
    assert statistics(network, "sociality") == dict(zip(labels[1:], degree[1:], strict=True))
    assert list(statistics(network, "sociality(nodes=True)").values()) == degree.tolist()
    some = bind("sociality(nodes=[-1, -3])", network)
    assert some.names == (labels[1], *labels[3:])
    change = np.empty(len(some.names))
    graph = graph_of(network.n, False, network.edges, bitsets=bitsets)
    changes_at(graph, some.model, 1, 5, network.to_adjacency()[1, 5], change)
    assert np.flatnonzero(change).tolist() == [0, 3]
    assert change[[0, 3]].tolist() == [1.0, 1.0]
    for wrong in ("0", "-17", "[-1, -1.5]", f"{[-k for k in range(1, 17)]}"):
        with pytest.raises(bdp.errors.InvalidInput, match="sociality's nodes is"):
            bind(f"sociality(nodes={wrong})", network)


def test_florentine_marriages():
    formula = (
        "edges + nodecov('wealth') + triangle + kstar(2) + gwesp(.5) + gwdegree(.5) + gwdsp(.5) "
        "+ absdiff('wealth')"
    )
    found = list(statistics(florentine(), formula).values())
    np.testing.assert_allclose(
        found, [20, 2168, 3, 47, 8.39347, 20.93767, 44.57388, 1146], atol=5e-6
    )


def test_karate_club():
    found = statistics(karate(), "triangle + gwesp(.5) + gwdegree(.5) + kstar(2)")
    np.testing.assert_allclose(list(found.values()), [45, 82.9286, 51.7009, 528], atol=5e-5)


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 9))
    directed = draw(st.booleans())
    a = np.random.default_rng(draw(st.integers(0, 2**31))).random((n, n)) < draw(st.floats(0, 1))
    a = a & ~np.eye(n, dtype=bool) if directed else np.triu(a, 1) | np.triu(a, 1).T
    i = draw(st.integers(0, n - 1))
    j = draw(st.integers(0, n - 1).filter(lambda j: j != i))
    return a.astype(int), directed, (i, j) if directed or i < j else (j, i)


@pytest.mark.slow
@pytest.mark.parametrize("bitsets", [True, False])
@pytest.mark.parametrize("term", ORACLES)
@given(drawn=graphs())
@settings(max_examples=40, deadline=None)
def test_statistics_and_changes_are_the_definition_s(term, bitsets, drawn):
    adjacency, directed, (i, j) = drawn
    oracle, where = ORACLES[term]
    if len(adjacency) < 3 and "group" in term:
        adjacency = np.pad(adjacency, (0, 1))
    network = with_everything(adjacency, directed)
    here = "directed" if directed else "undirected"
    if where not in ("both", here):
        if not getattr(TERMS[parse(term)[0].name], here):
            with pytest.raises(bdp.errors.InvalidInput, match="isn't defined for"):
                bind(term, network)
        return
    a = network.to_adjacency().astype(int)
    expected = [one(a, network) for one in oracle]
    np.testing.assert_allclose(list(statistics(network, term).values()), expected, atol=1e-9)
    bound, change = bind(term, network), np.empty(len(expected))
    graph = graph_of(network.n, directed, network.edges, bitsets=bitsets)
    changes_at(graph, bound.model, i, j, a[i, j], change)
    values = []
    for tie in (1, 0):
        toggled = a.copy()
        toggled[i, j] = tie
        if not directed:
            toggled[j, i] = tie
        values.append([one(toggled, network) for one in oracle])
    np.testing.assert_allclose(change, np.subtract(*values), atol=1e-9)


REFUSED = [
    ("", "must be a string"),
    (3, "must be a string"),
    ("edges +", "can't be read"),
    ("edges - triangle", "isn't a term"),
    ("edges + 2", "isn't a term"),
    ("edges + alien", "'alien', which doesn't exist; there are absdiff"),
    ("edges + edges", "twice"),
    ("gwesp(0.5) + gwesp(decay=0.5)", "'gwesp.0.5' twice"),
    ("edges + gwesp", "wrong arguments .* gwesp\\(decay, fixed\\)"),
    ("edges(3)", "wrong arguments"),
    ("gwesp(-1)", "decay is -1"),
    ("gwesp('a')", "decay is 'a'"),
    ("gwesp(0.5, fixed=False)", "isn't offered"),
    ("gwesp(__import__('os').getcwd())", "must be a number"),
    ("gwesp(x)", "must be a number"),
    ("kstar(0)", "k is 0"),
    ("degree(1.5)", "k is 1.5"),
    ("degree(True)", "k is True"),
    ("degree([])", "k is an empty list"),
    ("nodematch('age')", "no attribute 'age'; they have: 'constant', 'group', 'holes', 'x'"),
    ("nodematch('group', diff=1)", "diff is 1"),
    ("nodematch('constant')", "the same for all nodes"),
    ("nodemix('age')", "no attribute 'age'"),
    ("nodemix('constant')", "the same for all nodes"),
    ("nodemix('holes')", "missing for 1 of 3 nodes"),
    ("nodemix('group', levels2=False)", "levels2 is False; it must be True for all 3 pairs"),
    ("nodemix('group', levels2=2)", "levels2 is 2"),
    ("nodemix('group', levels2=-4)", "levels2 is -4"),
    ("nodemix('group', levels2=[-1, -2, -3])", "not all"),
    ("nodemix('group', levels2=[])", "levels2 is a list"),
    ("nodemix('group', levels2='a')", "levels2 is 'a'"),
    ("nodecov('group')", "isn't numeric"),
    ("nodecov('holes')", "missing for 1 of 3 nodes"),
    ("edgecov('x')", "no dyad attribute 'x'"),
    ("mutual", "isn't defined for undirected"),
]


@pytest.mark.parametrize(("formula", "message"), REFUSED)
def test_what_a_formula_may_not_say(formula, message):
    attributes = {"group": list("aab"), "x": [1, 2, 3], "constant": [1] * 3, "holes": [1, 2, None]}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bind(formula, Network(3, attributes=attributes))


@pytest.mark.parametrize("term", ["degree(1)", "kstar(2)", "gwdegree(0.5)", "concurrent"])
def test_terms_of_degree_are_refused_where_degrees_are_two(term):
    with pytest.raises(bdp.errors.InvalidInput, match="isn't defined for directed"):
        bind(term, Network(3, directed=True))


def test_a_formula_reads_as_in_r():
    network = with_everything(np.zeros((4, 4), dtype=int), False)
    r = bind("~ edges + nodematch('group', diff=TRUE) + gwesp(0.5, fixed=TRUE)", network)
    assert r.names == (
        "edges", "nodematch.group.a", "nodematch.group.b", "nodematch.group.c", "gwesp.0.5",
    )  # fmt: skip
    assert bind("nodefactor('group')", network).names == (
        "nodefactor.group.b",
        "nodefactor.group.c",
    )
    mix = bind("nodemix('group', levels2=TRUE)", network).names
    assert mix == tuple(f"mix.group.{p}" for p in ("a.a", "a.b", "b.b", "a.c", "b.c", "c.c"))
    assert bind("nodemix('group')", network).names == mix[1:]
    assert bind("nodemix('group', levels2=[-2, -5])", network).names == mix[:1] + mix[2:4] + mix[5:]


def test_numbers_of_ties_between_classes():
    """By hand: three of class a and two of b, where a has 0, 2, 4."""
    ties, group = [[0, 1], [0, 2], [1, 4], [1, 3]], {"g": list("abaab"), "h": [1, 2, 1, 2, 2]}
    mixed = "nodemix('g', levels2=True) + nodemix('h')"
    found = statistics(Network(5, ties, False, group), mixed)
    assert found == {
        "mix.g.a.a": 1, "mix.g.a.b": 2, "mix.g.b.b": 1, "mix.h.1.2": 1, "mix.h.2.2": 2,
    }  # fmt: skip
    found = statistics(Network(5, [*ties, [4, 0]], True, group), mixed)
    assert found == {
        "mix.g.a.a": 1, "mix.g.b.a": 2, "mix.g.a.b": 1, "mix.g.b.b": 1,
        "mix.h.2.1": 1, "mix.h.1.2": 1, "mix.h.2.2": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    "values", [["a", None, "b"], pd.array(["a", None, "b"], "string"), pd.array([1, None, 2])]
)
def test_missing_values_of_any_kind_are_no_level(values):
    network = Network(3, [(0, 1)], attributes={"x": values})
    with pytest.raises(bdp.errors.InvalidInput, match="'x' is missing for 1 of 3 nodes"):
        statistics(network, "nodefactor('x')")
