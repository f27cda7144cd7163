"""Declared noisy statistics: what crosses, what is paid, and what is refused before."""

import networkx as nx
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.networks import Network
from bayesdp.networks.exact_statistics import exact_statistics
from tests.networks.oracles import florentine

FORMULA = "edges + kstar(2) + absdiff('wealth')"


def declared(**changed):
    given = {"formula": FORMULA, "epsilon": 1.0, "attributes": ("wealth",)}
    return bdp.synthesizers.NoisyStatisticsSynthesizer(**{**given, **changed})


@pytest.fixture
def budget(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("families", epsilon=2.5, delta=1e-5, neighbours="edge")
    return ledger.dataset("families")


def test_a_release_says_all_that_an_analyst_needs_and_no_more(tmp_path):
    network = florentine()
    secret = Network(
        network.nodes,
        network.edges,
        attributes={**network.attributes, "secret": [f"hidden{k}" for k in range(16)]},
    )
    release = declared(epsilon=2.0).release(secret, copies=2)
    assert release.guarantee.epsilon == 2
    assert release.guarantee.neighbours is bdp.Neighbours.EDGE
    assert release.guarantee.strength is bdp.Strength.PROVED
    folder = release.save(tmp_path / "release")
    assert "hidden" not in (folder / "manifest.json").read_text()
    loaded = bdp.Release.load(folder)
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    mechanism = loaded.mechanism
    nodes = mechanism.evidence(loaded.outputs[0]).nodes
    assert tuple(nodes.nodes) == tuple(network.nodes)
    assert len(nodes.edges) == 0
    assert nodes.attributes["wealth"].tolist() == network.attributes["wealth"].tolist()
    assert exact_statistics(nodes.with_edges(network.edges), FORMULA) == (20, 47, 1146)
    assert mechanism.statistics == ("edges", "kstar.2", "absdiff.wealth")
    assert np.isfinite(mechanism.logp(loaded.outputs[0], network))
    (frame, _) = loaded.to_frames()
    assert frame["statistic"].tolist() == list(mechanism.statistics)
    assert frame["value"].tolist() == list(loaded.outputs[0])


def test_numbers_are_near_the_truth_with_little_noise():
    with bdp.reproducible(4):
        release = declared(epsilon=300.0).release(florentine())
    np.testing.assert_allclose(release.outputs[0], [20, 47, 1146], atol=40)
    assert release.guarantee.epsilon == np.inf


def test_an_extreme_epsilon_has_the_narrowest_noise_or_is_named():
    """Errors were about a scale and a granularity that nobody gave."""
    for options in ({}, {"noise": "gaussian", "delta": 1e-6}):
        huge = declared(formula="edges + triangle", epsilon=1e13, **options)
        made = huge.mechanism_like(florentine())
        assert max(made.scales) < 1e-5
        assert made.guarantee(delta=huge.delta).epsilon <= 1e13
    with pytest.raises(bdp.errors.InvalidInput, match=r"epsilon is 1e-16, .* a larger epsilon"):
        declared(epsilon=1e-16).mechanism_like(florentine())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_empty_and_complete_graphs_are_allowed(directed, full):
    kind = nx.DiGraph if directed else nx.Graph
    graph = nx.complete_graph(6, kind) if full else nx.empty_graph(6, kind)
    release = bdp.synthesizers.NoisyStatisticsSynthesizer(
        "edges + triangle + isolates", 1.0
    ).release(graph)
    assert len(release.outputs[0]) == 3
    assert release.mechanism.directed is directed


def test_the_ledger_is_paid_before_noise_is_drawn(budget):
    declared().release(florentine(), ledger=budget)
    declared(epsilon=0.5, noise="gaussian", delta=1e-6).release(florentine(), ledger=budget)
    before = budget.spent()
    assert before.epsilon == pytest.approx(1.5)
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared(epsilon=2.0).release(florentine(), ledger=budget)
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="reproducible"):
        declared().release(florentine(), ledger=budget)
    with pytest.raises(bdp.errors.InvalidInput, match="public claim"):
        declared(max_degree=5).release(florentine(), ledger=budget)
    with pytest.raises(bdp.errors.InvalidInput):
        declared(neighbours="node", epsilon=0.1).release(florentine(), ledger=budget)
    with pytest.raises(bdp.errors.InvalidInput):  # Gaussian noise promises nothing there
        declared(epsilon=0.1, noise="gaussian", delta=1e-6).release(
            florentine(), delta=0.0, ledger=budget
        )
    assert budget.spent() == before


def test_a_bound_on_degrees_lowers_the_noise_and_is_an_assumption():
    with_bound = declared(max_degree=6).release(florentine())
    assert with_bound.guarantee.strength is bdp.Strength.CONDITIONAL
    assert any("max_degree = 6" in each for each in with_bound.guarantee.assumptions)
    free = declared().mechanism_like(florentine())
    assert with_bound.mechanism.scales[1] == pytest.approx(free.scales[1] * 5 / 14)
    with pytest.raises(bdp.errors.InvalidInput, match="public claim"):
        with_bound.mechanism.logp((20, 47, 1146), florentine().with_edges(_star(16)))
    outward = nx.DiGraph([(0, 1), (0, 2), (1, 2), (3, 2), (4, 2)])
    assert bdp.synthesizers.NoisyStatisticsSynthesizer("triangle", 1.0, max_degree=2).release(
        outward
    )
    with pytest.raises(bdp.errors.InvalidInput, match="public claim"):
        bdp.synthesizers.NoisyStatisticsSynthesizer("triangle", 1.0, max_degree=1).release(outward)


def _star(n):
    return [[0, k] for k in range(1, n)]


def test_one_made_elsewhere_needs_its_nodes():
    mechanism = declared().mechanism_like(florentine().with_edges([]))
    release = bdp.Release.of(mechanism, [(21, 50, 1100)])
    assert release.guarantee.epsilon == 1
    assert release.guarantee.strength is bdp.Strength.CONDITIONAL
    assert release.mechanism == declared().mechanism_like(florentine())
    with pytest.raises(bdp.errors.InvalidInput, match="mechanism_like"):
        bdp.Release.of(declared(), [(21, 50, 1100)])


def test_nodes_without_labels_are_numbers():
    network = Network(5, [[0, 1]])
    assert (
        bdp.synthesizers.NoisyStatisticsSynthesizer("edges", 1.0).release(network).mechanism.nodes
        == 5
    )
    missing = Network(4, attributes={"x": [1.0, np.nan, 2.0, 3.0], "y": [1, 2, 3, 4]})
    release = bdp.synthesizers.NoisyStatisticsSynthesizer(
        "nodecov('y')", 1.0, attributes=("x", "y")
    ).release(missing)
    assert release.mechanism.attributes[0] == ("x", (1.0, None, 2.0, 3.0))
    assert release.mechanism.evidence(release.outputs[0]).nodes.attributes["x"].tolist() == [
        1.0,
        None,
        2.0,
        3.0,
    ]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"formula": "edges + nothing"}, "doesn't exist"),
        ({"formula": 3}, "formula is 3"),
        ({"formula": "edges + edgecov('near')"}, "edgecov"),
        ({"attributes": ()}, "no finite sensitivity"),
        ({"attributes": "wealth"}, "list of names"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"delta": 1e-6}, "Laplace noise needs none"),
        ({"noise": "gaussian"}, "between 0 and 1"),
        ({"noise": "gaussian", "delta": 1.0}, "between 0 and 1"),
        ({"noise": "cauchy"}, "noise is"),
        ({"weights": (1, 2)}, "3 positive numbers"),
        ({"weights": (1, 2, 0)}, "weights is 0"),
        ({"weights": (1, 2, -1)}, "weights is -1"),
        ({"weights": 2.0}, "3 positive numbers"),
        ({"max_degree": 0}, "max_degree"),
        ({"max_degree": 2.5}, "max_degree"),
        ({"neighbours": "add_remove"}, "'edge' or 'node'"),
    ],
)
def test_wrong_declarations_are_refused(changed, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        declared(**changed)


@pytest.mark.parametrize(
    ("graph", "formula", "match"),
    [
        (nx.path_graph(4), "edges + nodecov('wealth')", "attributes names 'wealth'"),
        (nx.path_graph(4), "edges + mutual", "isn't defined for undirected"),
        (nx.DiGraph([(0, 1), (1, 2)]), "edges + kstar(2)", "isn't defined for directed"),
        (Network(3, attributes={"wealth": [1, 1, 1]}), "nodecov('wealth')", "the same for all"),
        (Network(3, attributes={"wealth": [1, None, 2]}), "nodecov('wealth')", "missing"),
        (nx.Graph([(0, 0), (0, 1)]), "edges", "loops"),
        ([[0, 1]], "edges", "network is wanted"),
    ],
)
def test_wrong_graphs_are_refused_and_nothing_is_paid(graph, formula, match, budget):
    names = ("wealth",) if "wealth" in formula else ()
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        bdp.synthesizers.NoisyStatisticsSynthesizer(formula, 1.0, attributes=names).release(
            graph, ledger=budget
        )
    assert budget.spent().epsilon == 0


def test_a_large_sparse_graph_takes_seconds():
    graph = nx.gnm_random_graph(20_000, 100_000, seed=1)
    declared = bdp.synthesizers.NoisyStatisticsSynthesizer(
        "edges + gwesp(0.5) + kstar(2)", 1.0, max_degree=40
    )
    release = declared.release(graph)
    assert release.guarantee.epsilon <= 1
