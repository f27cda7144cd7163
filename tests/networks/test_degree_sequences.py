"""Which degrees a graph has, the nearest that one has, and such a graph: against all graphs."""

import functools
import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.networks import (
    Network,
    degrees,
    is_graphical,
    network_with_degrees,
    project_to_graphical,
)
from bayesdp.networks.degree_sequences import erdos_gallai_slack


@functools.cache
def all_sequences(n: int) -> np.ndarray:
    """The degrees of all graphs on n nodes, once each; shape (sequences, n)."""
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    tied = (np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    ends = np.zeros((len(pairs), n), dtype=np.int64)
    ends[np.arange(len(pairs)), pairs[:, 0]] = ends[np.arange(len(pairs)), pairs[:, 1]] = 1
    return np.unique(tied @ ends, axis=0)


noisy = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.integers(-4, n + 4), min_size=n, max_size=n)
)


def test_degrees_are_counted():
    assert degrees(Network(4, [(0, 1), (1, 3)])).tolist() == [1, 2, 0, 1]
    assert degrees(Network(3, [(0, 1), (0, 2)], True)).tolist() == [[2, 0, 0], [0, 1, 1]]
    karate = nx.karate_club_graph()
    assert degrees(karate).tolist() == [degree for _, degree in karate.degree]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_graphical_is_what_some_graph_has(n: int):
    there = {*map(tuple, all_sequences(n).tolist())}
    for d in itertools.product(range(-1, n + 1), repeat=n):
        assert is_graphical(d) == (d in there)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_graphical_agrees_with_networkx(d):
    assert is_graphical(d) == nx.is_graphical(d)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_slack_is_the_smallest_over_all_disjoint_sets(n: int):
    for d in itertools.product(range(n), repeat=n):
        smallest = [10**9] * n
        for places in itertools.product((0, 1, 2), repeat=n):
            part = np.array(places)
            s, t = part == 1, part == 2
            if s.any():
                slack = s.sum() * (n - 1 - t.sum()) - np.array(d)[s].sum() + np.array(d)[t].sum()
                smallest[s.sum() - 1] = min(smallest[s.sum() - 1], slack)
        assert erdos_gallai_slack(np.array(d))[0].tolist() == smallest


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(noisy)
def test_the_projection_is_a_nearest_sequence_of_all_graphs(z):
    every = all_sequences(len(z))
    found = project_to_graphical(z)
    assert (every == found).all(axis=1).any()
    assert np.abs(found - z).sum() == np.abs(every - z).sum(axis=1).min()
    assert (found <= np.clip(z, 0, len(z) - 1)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_projection_is_further_than_it_must_be(n: int):
    every = all_sequences(n)
    for z in itertools.product(range(-2, n + 2), repeat=n):
        found = project_to_graphical(z)
        assert (every == found).all(axis=1).any()
        assert np.abs(found - z).sum() == np.abs(every - z).sum(axis=1).min()


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 70), st.floats(0, 1), st.integers(0, 2**32))
def test_degrees_of_a_graph_stay_and_are_realised(n, density, seed):
    graph = nx.gnp_random_graph(n, density, seed=seed)
    d = degrees(graph)
    np.testing.assert_array_equal(project_to_graphical(d), d)
    made = network_with_degrees(d, nodes=[f"v{i}" for i in range(n)])
    np.testing.assert_array_equal(degrees(made), d)
    assert made.nodes[0] == "v0"


def test_a_hundred_thousand_noisy_degrees_are_projected():
    rng = np.random.default_rng(1)
    z = rng.negative_binomial(1, 0.1, 100_000) + rng.integers(-6, 7, 100_000)
    found = project_to_graphical(z)
    assert is_graphical(found)
    # Each is as near as it can be but for the sum's parity.
    clipped = np.clip(z, 0, None)
    assert np.abs(found - clipped).sum() == clipped.sum() % 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([1.0, 1.0], "integers"),
        ([0.5, 1], "integers"),
        ([True, False], "integers"),
        (["1", "1"], "integers"),
        ([], "integers"),
        (3, "integers"),
        ([2**60, 1], "2\\*\\*53"),
        ([-(2**63), 1], "2\\*\\*53"),
        ([2**70, 1], "integers"),
        ([[1, 0], [0, 1]], "directed"),
        (nx.path_graph(4).degree, r"shape \(4, 2\)"),
        (nx.path_graph(4), r"degrees is a Graph; .* as bdp\.networks\.degrees\(graph\)"),
        (Network(4), "degrees is a Network"),
        ([[1], [1, 2]], "entries of different lengths"),
        (np.ma.array([1, 1], mask=[0, 1]), "degrees has masked values"),
    ],
)
def test_what_are_no_degrees_is_refused(wrong, said):
    for function in (is_graphical, project_to_graphical, network_with_degrees):
        with pytest.raises(bdp.errors.InvalidInput, match=said):
            function(wrong)


def test_each_degree_has_a_label():
    """Two labels of three degrees made a network of two nodes, and four one of four."""
    for labels in (["a", "b"], list("abcd"), 5):
        with pytest.raises(bdp.errors.InvalidInput, match=r"labels, degrees 3; give one each"):
            network_with_degrees([1, 1, 0], nodes=labels)


@pytest.mark.parametrize("wrong", [[1, 0], [-1, 1], [3, 3, 1, 1], [4, 0, 0, 0]])
def test_a_graph_that_isnt_there_is_refused(wrong):
    with pytest.raises(bdp.errors.InvalidInput, match="project_to_graphical"):
        network_with_degrees(wrong)
