"""The sensitivity of every term is the largest change over all graphs and toggles."""

import itertools

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.ergm_sensitivity import edge_sensitivities
from bayesdp.networks import Network
from bayesdp.networks.formula import bind
from bayesdp.networks.pseudolikelihood import dyads_of
from bayesdp.networks.terms import TERMS

BOTH = [
    "edges", "nodematch('g')", "nodematch('g', diff=True)", "nodefactor('g')", "nodecov('x')",
    "absdiff('x')", "triangle", "gwesp(0.5)", "gwesp(0)", "gwdsp(0.7)", "isolates",
]  # fmt: skip
UNDIRECTED = ["degree([0, 1, 2])", "kstar([1, 2, 3])", "gwdegree(0.5)", "concurrent"]
CASES = [
    *((4, False, term) for term in [*BOTH, *UNDIRECTED]),
    *((5, False, term) for term in ["triangle", "gwesp(0.5)", "gwdsp(0.7)", "kstar(3)"]),
    *((3, True, term) for term in [*BOTH, "mutual"] if "diff" not in term),
    *((4, True, term) for term in ["triangle", "gwesp(0.5)", "gwdsp(0.7)", BOTH[2]]),
]
ATTRIBUTES = {"g": ["a", "b", "b", "a", "a"], "x": [-2.5, 1.25, 4.0, 0.5, 0.1]}


def networks(n: int, directed: bool):
    pairs = [(i, j) for i in range(n) for j in range(n) if (i != j if directed else i < j)]
    attributes = {name: values[:n] for name, values in ATTRIBUTES.items()}
    for tied in itertools.product((False, True), repeat=len(pairs)):
        yield Network(n, list(itertools.compress(pairs, tied)), directed, attributes)


@pytest.mark.parametrize(("n", "directed", "term"), CASES)
def test_it_is_attained_and_never_exceeded(n, directed, term):
    largest = 0.0
    for network in networks(n, directed):
        bound = bind(term, network)
        largest = np.maximum(largest, np.abs(dyads_of(bound, network).changes).max(axis=0))
    found = np.array(edge_sensitivities(bound, network))
    assert np.all(largest <= found)
    assert found == pytest.approx(largest, rel=1e-12)


def test_every_term_has_one_but_those_of_dyad_attributes():
    covered = {term.split("(")[0] for _, _, term in CASES}
    assert covered == set(TERMS) - {"edgecov"}
    network = Network(3, dyad_attributes={"near": np.ones((3, 3))})
    with pytest.raises(bdp.InvalidInput, match=r"edgecov\.near"):
        edge_sensitivities(bind("edgecov('near')", network), network)


def test_sums_of_whole_numbers_have_no_rounding_and_others_a_little():
    network = Network(400, attributes={"x": np.linspace(0, 1, 400)})
    bound = bind("edges + triangle + kstar(2) + gwesp(0.5) + nodecov('x')", network)
    *whole, gwesp, nodecov = edge_sensitivities(bound, network)
    assert whole == [1, 398, 796]
    exact = np.exp(0.5) * (1 - (1 - np.exp(-0.5)) ** 398) + 796
    assert exact < gwesp < exact * (1 + 1e-5)
    assert 1 + 398 / 399 < nodecov < 2 * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_as_computed_neighbours_are_within_it(seed):
    """On a graph too large to enumerate, where sums have rounding errors."""
    random = np.random.default_rng(seed)
    n, formula = 60, "edges + gwesp(0.31) + gwdsp(1.3) + gwdegree(0.2)"
    ties = np.triu(random.random((n, n)) < 0.3, 1)
    network = Network.from_adjacency((ties | ties.T).astype(int))
    bound = bind(formula, network)
    limits = np.array(edge_sensitivities(bound, network))
    here = bound.graph(network)[1]
    for _ in range(30):
        i, j = np.sort(random.choice(n, 2, replace=False))
        other = ties.copy()
        other[i, j] ^= True
        there = bound.graph(Network.from_adjacency((other | other.T).astype(int)))[1]
        assert np.all(np.abs(here - there) <= limits)


def test_a_term_that_never_changes_is_refused():
    network = Network(2)
    with pytest.raises(bdp.InvalidInput, match=r"triangle never changes with a tie on 2 nodes"):
        edge_sensitivities(bind("edges + triangle", network), network)
