"""Probabilities of ties between classes of nodes, against sums over all graphs."""

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.networks import Network, statistics
from bayesdp.networks.edge_probabilities import edge_probabilities
from tests.networks.oracles import all_graphs, with_everything

CASES = [
    ("edges + nodecov('x') + edgecov('near')", 4, False),
    ("edges + nodemix('group')", 4, False),
    ("nodemix('group', levels2=[-1, -5]) + absdiff('x')", 3, True),
    ("mutual + nodemix('group', levels2=True)", 3, True),
    ("edges + mutual + nodecov('x')", 3, True),
]


@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_they_are_shares_of_all_graphs(formula, n, directed):
    nodes = with_everything(np.zeros((n, n), dtype=int), directed)
    graphs = list(all_graphs(n, directed))
    seen = np.array(
        [
            [
                *statistics(
                    nodes.with_edges(np.argwhere(a if directed else np.triu(a))), formula
                ).values()
            ]
            for a in graphs
        ]
    )
    theta = np.random.default_rng(2).normal(size=(2, 3, seen.shape[1]))
    p = special.softmax(theta @ seen.T, axis=-1) @ np.reshape(graphs, (len(graphs), -1))
    tied = p.reshape(2, 3, n, n)
    group = nodes.attributes["group"]
    pairs, found = edge_probabilities(formula, nodes, theta, "group")
    expected = {}
    for b in "abc":
        for a in "abc":
            there = np.outer(group == a, group == b) & ~np.eye(n, dtype=bool)
            if there.any() and (directed or a <= b):
                expected[f"{a}.{b}"] = tied[..., there].mean(axis=-1)
    assert pairs == tuple(expected)
    np.testing.assert_allclose(found, np.stack([*expected.values()], axis=-1), rtol=1e-12)


def test_of_a_block_model_they_are_its_coefficients():
    """On 100,000 nodes, and at more draws than are computed at once."""
    nodes = Network(100_000, (), True, {"g.h": np.arange(100_000) % 2})
    theta = np.random.default_rng(1).normal(-3, 1, size=(4, 50_000, 4))
    pairs, found = edge_probabilities("nodemix('g.h', levels2=True)", nodes, theta, "g.h")
    assert pairs == ("0.0", "1.0", "0.1", "1.1")
    np.testing.assert_allclose(found, special.expit(theta), rtol=1e-12)


@pytest.mark.parametrize(
    ("formula", "by", "message"),
    [
        ("edges + triangle", "group", "depend on each other"),
        ("edges", "age", "no attribute 'age'"),
        ("edges", 3, "no attribute 3"),
    ],
)
def test_what_has_none(formula, by, message):
    nodes = with_everything(np.zeros((4, 4), dtype=int), False)
    theta = np.zeros(len(formula.split("+")))
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        edge_probabilities(formula, nodes, theta, by)
