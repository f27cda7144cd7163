"""Noisy statistics: what they promise against all small graphs and all their neighbours."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.graphs.noisy_statistics.scales import calibrated
from bayesdp.networks import Network, statistics
from bayesdp.networks.formula import parse
from bayesdp.networks.terms import TERMS
from bayesdp.privacy.profile import hockey_stick
from tests.networks.oracles import all_graphs

ATTRIBUTES = (("g", ("a", "b", "a", "b")), ("x", (0.5, -2.25, 1.0, 3.1)), ("k", (1, -2, 0, 3)))
EXACT = [  # one pair of graphs has the largest change of all terms
    "edges",
    "isolates",
    "triangle",
    "nodematch('g')",
    "nodematch('g', diff=True)",
    "nodemix('g')",
    "nodecov('k')",
    "absdiff('k')",
    "edges + triangle",
    "edges + nodecov('k')",
]
UNDIRECTED = [
    *EXACT,
    "kstar([2, 3])",
    "degree([0, 1, 2])",
    "concurrent",
    "gwdegree(0.5)",
    "nodefactor('g') + nodecov('x') + absdiff('x')",
    "edges + sociality(nodes=[-1, -3])",
    "edges + gwesp(0.5)",
    "gwdsp(0.2) + isolates + gwesp(0.1)",
    "edges + kstar(2) + triangle + degree(1)",
]
DIRECTED = [
    *EXACT,
    "mutual",
    "edges + mutual + gwesp(0.5)",
    "gwdsp(0.3) + nodecov('x')",
    "nodematch('g') + nodefactor('g') + isolates",
]
CASES = [(f, 4, False) for f in UNDIRECTED] + [(f, 3, True) for f in DIRECTED]


def nodes(n, attributes=ATTRIBUTES):
    """Fields of the mechanism; on three nodes, with the first values."""
    return {"nodes": n, "attributes": tuple((name, v[:n]) for name, v in attributes)}


def graphs(n, directed, max_degree=None):
    found = []
    for a in all_graphs(n, directed):
        if max_degree is None or a.sum(axis=1).max() <= max_degree:
            found.append(Network(n, np.argwhere(a if directed else np.triu(a)), directed))
    return found


def near(n, directed, node, found):
    """All neighbours among those graphs, as pairs of numbers."""
    ties = [{(i, j) for i, j in graph.edges.tolist()} for graph in found]
    pairs = []
    for (p, one), (q, other) in itertools.combinations(enumerate(ties), 2):
        changed = one ^ other
        if len(changed) == 1 or (node and any(all(v in d for d in changed) for v in range(n))):
            pairs.append((p, q))
    return np.array(pairs)


def log_ratio(mechanism, found, pairs):
    """The largest, over outputs beyond all statistics, where Laplace laws are furthest apart."""
    size = len(mechanism.statistics)
    far = 2.0**14
    corners = [np.array(signs) * far for signs in itertools.product((-1, 1), repeat=size)]
    law = np.array([mechanism.logp(corner, found) for corner in corners])
    return np.abs(law[:, pairs[:, 0]] - law[:, pairs[:, 1]]).max()


@pytest.mark.slow
@pytest.mark.parametrize("max_degree", [None, 2])
@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_no_neighbours_have_a_larger_log_ratio(formula, n, directed, max_degree):
    for neighbours in ("edge", "node"):
        mechanism = calibrated(
            formula=formula, epsilon=1.0, directed=directed, max_degree=max_degree,
            neighbours=neighbours, **nodes(n),
        )  # fmt: skip
        found = graphs(n, directed, max_degree)
        for relation in ("edge", "node"):
            claim = mechanism.guarantee(neighbours=relation)
            largest = log_ratio(mechanism, found, near(n, directed, relation == "node", found))
            assert largest <= claim.epsilon * (1 + 1e-9)
            assert (claim.strength is bdp.Strength.PROVED) == (max_degree is None)
            if formula in EXACT and (relation == "edge" or "triangle" not in formula):
                if formula == "edges + nodecov('k')" and relation == "node":
                    continue  # ties of weights of both signs
                assert largest == pytest.approx(claim.epsilon, rel=1e-9)
        assert 1 - 1e-5 <= mechanism.guarantee().epsilon <= 1


def test_rounding_to_the_lattice_is_charged():
    """On a coarse lattice neighbours may move by a step more than their difference says."""
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism(
        "nodecov('x')", (1.0,), granularity=(0.5,), **nodes(4)
    )
    found = graphs(4, False)
    largest = log_ratio(mechanism, found, near(4, False, False, found))
    assert mechanism.guarantee().epsilon == pytest.approx(largest) == pytest.approx(4.5)
    assert mechanism.frame.sensitivities(node=False)[0] < 4.2


@pytest.mark.parametrize("neighbours", ["edge", "node"])
@pytest.mark.parametrize(
    ("formula", "scales"),
    [("edges", (1.25,)), ("edges + triangle", (0.75, 1.5)), ("sociality", (1.25, 1.25))],
)
def test_gaussian_noise_keeps_its_profile_and_rho(formula, scales, neighbours):
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism(formula, scales, 3, noise="gaussian")
    outputs = np.array(list(itertools.product(range(-20, 24), repeat=len(scales))))
    found = graphs(3, False)
    laws = [mechanism.logp(outputs, graph) for graph in found]
    profile = mechanism.profile(neighbours=neighbours)
    rho = mechanism.rho(neighbours=neighbours)
    tight = []
    for p, q in near(3, False, neighbours == "node", found):
        for one, other in ((laws[p], laws[q]), (laws[q], laws[p])):
            tight.append([hockey_stick(one, other, epsilon) for epsilon in (0.1, 1.0, 3.0)])
            for alpha in (1.5, 2.0, 8.0):
                renyi = np.log(np.exp(alpha * one + (1 - alpha) * other).sum()) / (alpha - 1)
                assert renyi <= alpha * rho * (1 + 1e-9)
    claims = np.array([profile.delta(epsilon) for epsilon in (0.1, 1.0, 3.0)])
    largest = np.max(tight, axis=0)
    assert (largest <= claims * (1 + 1e-9)).all()
    if formula == "edges" and neighbours == "edge":
        np.testing.assert_allclose(largest, claims, rtol=1e-6)
    promise = mechanism.guarantee(delta=1e-3, neighbours=neighbours)
    assert promise.rho == rho
    assert mechanism.rho(copies=3) == pytest.approx(3 * mechanism.rho())
    assert mechanism.guarantee().epsilon == math.inf


def test_scales_share_the_budget_by_weight():
    def scales(**given):
        made = calibrated(formula="edges + kstar(2)", epsilon=2.0, nodes=10, **given)
        assert made.guarantee(delta=given.get("delta", 0.0)).epsilon <= 2
        return made.scales

    assert scales() == (1.0, 16.0)
    assert scales(weights=(3, 1)) == pytest.approx((2 / 3, 32.0), rel=1e-12)
    assert scales(max_degree=4) == (1.0, 6.0)
    assert scales(neighbours="node") == (9.0, 108.0)
    a, b = scales(noise="gaussian", delta=1e-6, weights=(4, 1))
    assert b / a == pytest.approx(16 * 2)
    levels = calibrated(formula="nodematch('g', diff=True)", epsilon=1.0, **nodes(4))
    assert levels.scales == (1.0, 1.0)  # a tie is in one level
    mixing = calibrated(formula="nodemix('g', levels2=True)", epsilon=1.0, **nodes(4))
    assert mixing.scales == (1.0, 1.0, 1.0)  # and in one pair of levels
    constant = calibrated(formula="edges + degree(9)", epsilon=1.0, nodes=4)
    assert constant.scales == (1.0, 1.0)  # the second never changes, and costs nothing
    assert constant.guarantee().epsilon == 1


def test_levels_of_a_single_node_have_no_more_noise_than_ties_within_others_need():
    """Level c has two nodes, b and d have one: ties b - d and c - c cost as much."""
    columns = (("h", ("a", "b", "c", "c", "d")),)
    asked = {"formula": "nodefactor('h')", "epsilon": 1.0, "nodes": 5, "attributes": columns}
    assert calibrated(**asked).scales == (2.0, 2.0, 2.0)  # as many in L1 norm
    made = calibrated(noise="gaussian", delta=1e-6, **asked)
    b, c, d = made.scales
    assert b == d == pytest.approx(c / math.sqrt(2), rel=1e-9)
    assert float(made.cost()) == pytest.approx(4 / c**2, rel=1e-9)
    assert 1 - 1e-5 <= made.guarantee(delta=1e-6).epsilon <= 1


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_calibration_keeps_the_promise_and_wastes_little(epsilon, noise):
    delta = 1e-6 if noise == "gaussian" else 0.0
    made = calibrated(
        formula="edges + gwesp(0.7) + nodecov('x')", epsilon=epsilon, delta=delta, noise=noise,
        **nodes(4),
    )  # fmt: skip
    assert epsilon * (1 - 1e-5) <= made.guarantee(delta=delta).epsilon <= epsilon
    less = dataclasses.replace(made, scales=[0.999 * scale for scale in made.scales])
    assert less.guarantee(delta=delta).epsilon > epsilon


@pytest.mark.parametrize("neighbours", ["edge", "node"])
@pytest.mark.parametrize(("formula", "n", "directed"), CASES)
def test_pairs_are_neighbours_and_the_worst_where_that_is_known(formula, n, directed, neighbours):
    for most in (None, 1, 2):
        if most == 1 and formula in ("triangle", "concurrent", "kstar([2, 3])"):
            continue  # they can't change then
        mechanism = calibrated(
            formula=formula, epsilon=1.0, directed=directed, neighbours=neighbours,
            max_degree=most, **nodes(n),
        )  # fmt: skip
        pairs = mechanism.pairs()
        assert pairs
        for one, other in pairs:
            mechanism.check_statistic(one)
            mechanism.check_statistic(other)
            changed = {*map(tuple, one.edges.tolist())} ^ {*map(tuple, other.edges.tolist())}
            assert changed
            if neighbours == "edge":
                assert len(changed) == 1
            assert any(all(v in dyad for dyad in changed) for v in range(n))
        one, other = pairs[0]
        if formula in EXACT and neighbours == "edge" and most is None:
            found = log_ratio(mechanism, [one, other], np.array([[0, 1]]))
            assert found == pytest.approx(mechanism.guarantee().epsilon, rel=1e-9)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_evidence_is_the_law(noise):
    """Up to a constant, over all graphs on the public nodes that it comes with."""
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism(
        "edges + gwesp(0.5) + nodecov('x')", (1.5, 2.0, 3.0), noise=noise, **nodes(4),
        granularity=(1.0, 0.25, 2.0**-20),
    )  # fmt: skip
    output = (3, 1.75, -2.5)
    evidence = mechanism.evidence(output)
    network = evidence.nodes
    (seen,) = evidence.statistics
    assert (evidence.n, evidence.directed, seen.law) == (4, False, noise)
    assert len(evidence.ties) == 0
    likelihood = []
    for graph in graphs(4, False):
        x = np.array([*statistics(network.with_edges(graph.edges), seen.formula).values()])
        fine = np.where(seen.granularity > 0, seen.granularity, 1.0)
        x = np.where(seen.granularity > 0, np.floor(x / fine + 0.5) * fine, x)
        u = (seen.values - x) / seen.scale
        likelihood.append(-np.abs(u).sum() if noise == "laplace" else -(u**2).sum() / 2)
    law = mechanism.logp(output, graphs(4, False))
    constant = law - likelihood
    np.testing.assert_allclose(constant, constant[0], atol=1e-9)


def test_the_law_broadcasts_and_refuses_what_cannot_be():
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism("edges + triangle", (1.0, 1.0), 3)
    empty, full = Network(3), Network(3, [[0, 1], [0, 2], [1, 2]])
    z = np.array([[0, 0], [3, 1], [0.5, 0]])
    assert mechanism.logp(z, empty).shape == (3,)
    assert mechanism.logp(z[0], [empty, full]).shape == (2,)
    assert mechanism.logp(z[:, None, :], [empty, full]).shape == (3, 2)
    assert mechanism.logp(z[2], empty) == -np.inf
    assert mechanism.logp(z[0], empty) - mechanism.logp(z[1], empty) == pytest.approx(4)
    for wrong in (Network(4), Network(3, directed=True), Network(["a", "b", "c"]), 3, None):
        with pytest.raises(bdp.errors.InvalidInput):
            mechanism.logp(z[0], wrong)


def test_numbers_come_back_as_the_statistics_are():
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism("edges + gwdegree(0.5)", (1.0, 1.0), 4)
    with bdp.reproducible(1):
        whole, real = mechanism.check_output(mechanism.release(Network(4))[0])
    assert type(whole) is int
    assert type(real) is float
    for wrong in ((1,), (0.5, 0.0), (1, math.nan), (1, 1e300), (1, 1e-9), "ab", 3, (True, 0.0)):
        with pytest.raises(bdp.errors.InvalidInput):
            mechanism.check_output(wrong)
    columns = mechanism.encode([(1, 0.5)])
    for name, values in (("statistic", ["edges", "edges"]), ("copy", [0, 1])):
        with pytest.raises(bdp.errors.InvalidInput, match="rows are missing"):
            mechanism.decode({**columns, name: np.array(values)})


GOOD = {"formula": "edges + nodecov('x')", "scales": (1.0, 2.0), **nodes(4)}


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"formula": "edges + nothing"}, "doesn't exist"),
        ({"formula": "edges + edgecov('near')"}, "edgecov"),
        ({"formula": "edges + mutual"}, "isn't defined for undirected"),
        ({"formula": "edges + kstar(2)", "directed": True}, "isn't defined for directed"),
        ({"formula": "edges + nodecov('age')"}, "no finite sensitivity"),
        ({"formula": "edges + nodecov('g')"}, "isn't numeric"),
        ({"formula": "edges + nodecov"}, "wrong arguments"),
        ({"formula": "triangle", "nodes": 2, "attributes": ()}, "nothing to release"),
        ({"formula": "edges + nodecov('x')", "attributes": [("x", (1, 1, 1, 1))]}, "the same"),
        ({"formula": "edges + nodecov('x')", "attributes": [("x", (1, 2, None, 1))]}, "missing"),
        ({"formula": "kstar(3)", "nodes": 10**5, "attributes": (), "scales": (1.0,)}, "max_degree"),
        ({"scales": (1.0,)}, "must be 2 numbers"),
        ({"scales": 1.0}, "must be 2 numbers"),
        ({"scales": (1.0, 0.0)}, "positive"),
        ({"scales": (1.0, math.inf)}, "positive"),
        ({"scales": (1e-9, 1.0)}, "scale is"),
        ({"granularity": (2.0, 2.0**-20)}, "granularity of edges"),
        ({"granularity": (1.0, 0.3)}, "power of two"),
        ({"granularity": (1.0, 2.0**-60)}, "granularity of nodecov"),
        ({"granularity": (1.0, None)}, "power of two"),
        ({"noise": "uniform"}, "noise is"),
        ({"directed": 1}, "directed is"),
        ({"max_degree": 0}, "max_degree is"),
        ({"neighbours": "replace_one"}, "'edge' or 'node'"),
        ({"neighbours": "nearby"}, "neighbours is"),
        ({"nodes": 1, "attributes": ()}, "at least 2"),
        ({"nodes": ["a", "b", "c", 4]}, "labels of type"),
        ({"nodes": [(0, 1), (1, 2), (0, 2), (3, 3)]}, "labels of type"),
        ({"attributes": [("x", (1.0, 2.0))]}, "one value"),
        ({"attributes": [("x", (1, "a", 2, 3))]}, "of one type"),
        ({"attributes": [("x", (1, 2, 2, 3)), ("x", (1, 2, 2, 3))]}, "twice"),
        ({"attributes": 3}, "pairs of a name"),
    ],
)
def test_wrong_parameters_are_refused(changed, match):
    assert bdp.mechanisms.NoisyStatisticsMechanism(**GOOD)
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        bdp.mechanisms.NoisyStatisticsMechanism(**{**GOOD, **changed})


def test_every_term_but_edgecov_is_offered():
    offered = {call.name for f in UNDIRECTED + DIRECTED for call in parse(f)}
    assert offered == set(TERMS) - {"edgecov"}


def test_a_promise_under_another_relation_is_refused():
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism(**GOOD)
    for relation in ("add_remove", "replace_one"):
        with pytest.raises(bdp.errors.InvalidInput, match="'edge' or 'node'"):
            mechanism.guarantee(neighbours=relation)
    assert mechanism.removal_guarantee() == mechanism.guarantee()


@pytest.mark.parametrize("values", [(1, 0, 0), (True, False, False), (1.0, 0.0, 0.0)])
def test_statistics_are_named_by_the_values_given_and_not_by_equal_ones(values):
    for first in ((1, 0, 0), values):
        made = bdp.mechanisms.NoisyStatisticsMechanism(
            "nodefactor('a')", (1.0,), 3, False, {"a": first}
        )
    assert made.statistics == (f"nodefactor.a.{values[0]}",)
