"""A graph's release by randomized response: what crosses, what it costs, what is refused."""

import math

import networkx as nx
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.networks import Network

CLUB = nx.karate_club_graph()


@pytest.fixture
def school(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    return ledger.create("school", epsilon=4.0, neighbours="edge")


def test_a_graph_is_released_with_its_promise(tmp_path):
    release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=6.0).release(CLUB, copies=2)
    promise = release.guarantee
    assert promise.neighbours is bdp.Neighbours.EDGE
    assert promise.strength is bdp.Strength.PROVED
    assert 6 - 1e-9 < promise.epsilon <= 6
    assert promise.delta == 0
    assert any("Computational" in each for each in promise.assumptions)
    node = release.mechanism.guarantee(neighbours="node")
    assert node.epsilon == pytest.approx(33 * 3.0)
    one, other = release.outputs
    assert one != other
    assert one.nodes == tuple(CLUB)
    assert one.attributes == {}
    frame = release.to_frames()[0]
    assert list(frame.columns) == ["source", "target"]
    assert len(frame) == len(one.edges)
    assert {*zip(frame.source, frame.target, strict=True)} == {*one.to_networkx().edges}
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.guarantee == release.guarantee
    assert loaded.fingerprint == release.fingerprint
    assert loaded.mechanism.logp(loaded.outputs[0], Network.from_networkx(CLUB)) < 0


def test_probabilities_and_delta():
    release = bdp.synthesizers.EdgeFlipSynthesizer(tie=0.9, gap=0.02).release(CLUB, delta=0.01)
    assert (release.mechanism.tie, release.mechanism.gap) == (0.9, 0.02)
    assert release.guarantee.delta == 0.01
    assert release.guarantee.epsilon < math.log(0.9 / 0.02)
    tie, gap = np.full((34, 34), 0.8), np.full((34, 34), 0.1)
    own = bdp.synthesizers.EdgeFlipSynthesizer(tie=tie, gap=gap, attributes=["club"]).release(CLUB)
    assert own.guarantee.epsilon == pytest.approx(math.log(8))
    assert own.outputs[0].attributes["club"].tolist() == [CLUB.nodes[k]["club"] for k in CLUB]


def test_a_directed_graph_stays_one():
    graph = nx.gn_graph(30, seed=1)
    release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(graph)
    assert release.outputs[0].directed
    assert release.mechanism.dyads == 30 * 29


def test_a_graph_released_elsewhere():
    release = bdp.Release.of(
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=4.0), outputs=[nx.path_graph(7), Network(7)]
    )
    assert release.mechanism.nodes == 7
    assert release.guarantee.strength is bdp.Strength.CONDITIONAL
    assert release.guarantee.epsilon == pytest.approx(4.0)
    assert release.outputs[0] == Network(range(7), [[k, k + 1] for k in range(6)])
    with pytest.raises(bdp.errors.InvalidInput, match="'club'"):
        bdp.Release.of(bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0), outputs=[CLUB])
    kept = bdp.Release.of(
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes=("club",)), outputs=[CLUB]
    )
    assert kept.outputs[0].attributes["club"][0] == "Mr. Hi"
    with pytest.raises(bdp.errors.InvalidInput, match="has 8 nodes"):
        bdp.Release.of(
            bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0),
            outputs=[nx.path_graph(7), nx.path_graph(8)],
        )
    with pytest.raises(bdp.errors.InvalidInput, match="outputs is empty"):
        bdp.Release.of(bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0), outputs=[])


def test_what_is_not_named_never_crosses(tmp_path):
    """Other attributes of nodes, those of dyads and of ties, in no file and no object."""
    graph = nx.Graph()
    graph.add_node("ann", grade=7, diagnosis="confidential-word")
    graph.add_node("bob", grade=8, diagnosis="confidential-word")
    graph.add_edge("ann", "bob", note="confidential-word")
    network = Network.from_networkx(graph)
    network = Network(network.nodes, network.edges, attributes=network.attributes,
                      dyad_attributes={"confidential-word": np.ones((2, 2))})  # fmt: skip
    for given in (graph, network):
        release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0, attributes=("grade",)).release(
            given
        )
        assert {*release.outputs[0].attributes} == {"grade"}
        assert release.outputs[0].dyad_attributes == {}
        folder = release.save(tmp_path / "release", force=True)
        for file in folder.iterdir():
            assert b"confidential-word" not in file.read_bytes()
            assert b"diagnosis" not in file.read_bytes()
    with pytest.raises(bdp.errors.InvalidInput, match=r"names 'class'.*'diagnosis', 'grade'"):
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0, attributes=("class",)).release(graph)


def test_the_cost_is_charged_before_anything_is_drawn(school, monkeypatch):
    bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0).release(CLUB, ledger=school)
    (entry,) = school.history()
    assert 3 - 1e-9 < entry.epsilon <= 3
    drawn = []
    monkeypatch.setattr(
        bdp.mechanisms.EdgeFlipMechanism, "release", lambda *a: drawn.append(a) or 1 / 0
    )
    with pytest.raises(bdp.errors.BudgetExceeded):
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0).release(CLUB, ledger=school)
    assert drawn == []
    with pytest.raises(ZeroDivisionError):
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=0.5).release(CLUB, ledger=school)
    assert len(school.history()) == 2


def test_a_graph_that_is_refused_costs_nothing(school):
    loop = nx.Graph([(0, 1), (1, 1)])
    matrix = np.full((5, 5), 0.5)
    for attempt in (
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(loop, ledger=school),
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(
            [[0, 1], [1, 0]], ledger=school
        ),
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0, attributes=("x",)).release(
            CLUB, ledger=school
        ),
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(tie=matrix, gap=0.1).release(
            CLUB, ledger=school
        ),
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(
            CLUB, copies=0, ledger=school
        ),
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(
            CLUB, delta=1.0, ledger=school
        ),
    ):
        with pytest.raises(bdp.errors.InvalidInput):
            attempt()
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="reproducible"):
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(CLUB, ledger=school)
    assert school.history() == []


def test_a_budget_for_nodes_takes_no_promise_about_edges(tmp_path):
    nodes = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db").create(
        "school", epsilon=400.0, neighbours="node"
    )
    with pytest.raises(bdp.errors.InvalidInput, match="says nothing about the other relation"):
        bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0).release(CLUB, ledger=nodes)


def test_it_is_reproducible_and_then_promises_nothing():
    def drawn():
        with bdp.reproducible(3):
            return bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(CLUB, copies=3)

    one, other = drawn(), drawn()
    assert one == other
    assert one.fingerprint == other.fingerprint
    assert math.isinf(one.guarantee.epsilon)
    assert len({z.edges.tobytes() for z in one.outputs}) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "given: nothing; give either epsilon, or both"),
        ({"epsilon": 1.0, "tie": 0.9}, "given: epsilon, tie; give"),
        ({"epsilon": 1.0, "tie": 0.9, "gap": 0.1}, "given: epsilon, tie, gap;"),
        ({"tie": 0.9}, "given: tie; give either"),
        ({"gap": 0.1}, "given: gap; give either"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": -1.0}, "positive"),
        ({"epsilon": math.inf}, "finite"),
        ({"epsilon": 1e-18}, "larger epsilon"),
        ({"tie": 1.0, "gap": 0.1}, "tie is 1.0"),
        ({"tie": 0.9, "gap": 0}, "gap is 0"),
        ({"tie": [[0.5, 0.5]], "gap": 0.1}, "tie has shape"),
        ({"tie": 0.5, "gap": [0.5, 0.5]}, "gap has shape"),
        ({"epsilon": 1.0, "attributes": "grade"}, "names of node attributes"),
    ],
)
def test_what_contradicts_itself_is_refused(given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.EdgeFlipSynthesizer(**given)


def test_a_matrix_must_suit_the_graph():
    own = np.triu(np.full((4, 4), 0.4)) + np.tril(np.full((4, 4), 0.3))
    assert (
        bdp.synthesizers.EdgeFlipSynthesizer(tie=own, gap=0.1)
        .release(Network(4, directed=True))
        .copies
        == 1
    )
    with pytest.raises(bdp.errors.InvalidInput, match="isn't symmetric"):
        bdp.synthesizers.EdgeFlipSynthesizer(tie=own, gap=0.1).release(Network(4))
    with pytest.raises(bdp.errors.InvalidInput, match=r"shape \(4, 4\).*\(5, 5\)"):
        bdp.synthesizers.EdgeFlipSynthesizer(tie=own, gap=0.1).release(Network(5, directed=True))
