"""Noisy degrees from a graph to a folder, and synthetic networks from them."""

import networkx as nx
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.networks import (
    BetaModelFit,
    Network,
    degrees,
    fit_beta_model,
    is_graphical,
    project_to_graphical,
)
from tests.networks.oracles import florentine, karate


def test_a_release_keeps_labels_and_promise(tmp_path):
    release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=3.0).release(
        florentine(), copies=2, delta=1e-6
    )
    pure = release.mechanism.guarantee(copies=2)
    assert pure.epsilon == pytest.approx(3.0)
    assert release.guarantee.epsilon < 3.0
    assert release.guarantee.neighbours is bdp.Neighbours.EDGE
    assert release.guarantee.strength is bdp.Strength.PROVED
    release.save(tmp_path / "out")
    loaded = bdp.Release.load(tmp_path / "out")
    assert loaded == release
    first = loaded.to_frames()[0]
    assert first["node"].tolist() == list(florentine().nodes)
    assert tuple(first["degree"]) == release.outputs[0]
    assert "wealth" not in (tmp_path / "out" / "manifest.json").read_text()


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_graphs_and_outputs_make_the_same_mechanism(directed):
    graph = nx.gnp_random_graph(5, 0.4, seed=1, directed=directed)
    declared = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=0.7)
    release = declared.release(graph)
    assert release.mechanism == declared.mechanism_like(degrees(graph))
    outputs = [np.reshape(release.outputs[0], degrees(graph).shape)]
    elsewhere = bdp.Release.of(declared, outputs=outputs)
    assert elsewhere.outputs == release.outputs
    assert elsewhere.guarantee.strength is bdp.Strength.CONDITIONAL


def test_a_ledger_is_charged_first(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    dataset = ledger.create("ties", epsilon=2.0, neighbours="edge")
    bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=1.5).release(karate(), ledger=dataset)
    with pytest.raises(bdp.errors.BudgetExceeded):
        bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=1.0).release(karate(), ledger=dataset)


def test_karate_club_at_epsilon_2():
    """400 copies: unbiased noise, graphical projections, an estimate as often as no 0 is left.

    Noise has scale 1. Where an estimate exists, one synthetic network has the projected degrees
    on average. Tolerances are 5 standard errors.
    """
    d = degrees(karate())
    with bdp.reproducible(11):
        release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=800.0).release(
            karate(), copies=400
        )
    noise = release.mechanism.noise
    z = np.array(release.outputs)
    sd = np.sqrt(2 * np.exp(-1)) / (1 - np.exp(-1))
    assert (np.abs(z.mean(axis=0) - d) < 5 * sd / np.sqrt(len(z))).all()
    near = np.array([project_to_graphical(output) for output in z])
    assert all(is_graphical(output) for output in near)
    positive = np.exp(noise.log_upper(1 - d).sum())
    kept = [k for k, output in enumerate(near) if output.min() > 0]
    # The projection takes away at most a tie too many, so 0 may come of a 1 as well.
    share, error = len(kept) / len(z), np.sqrt(positive * (1 - positive) / len(z))
    assert positive - 0.1 - 5 * error < share < positive + 5 * error
    gaps = []
    for k in kept:
        one = bdp.Release.of(release.mechanism, [release.outputs[k]])
        (synthetic,) = bdp.synthesizers.NoisyDegreesSynthesizer.networks(one, seed=k)
        gaps.append(degrees(synthetic) - near[k])
    gaps = np.array(gaps)
    tie = near[kept].mean() / 33
    error = np.sqrt(33 * tie * (1 - tie) / gaps.size * 2)  # a tie is in two degrees
    assert abs(gaps.mean()) < 5 * error
    correlation = np.corrcoef((gaps + near[kept]).mean(axis=0), d)[0, 1]
    assert correlation > 0.99


def test_with_a_prior_every_release_gives_networks():
    with bdp.reproducible(5):
        release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=60.0).release(
            florentine(), copies=30
        )
    with pytest.raises(bdp.errors.InvalidInput, match=r"Pucci.*prior="):
        bdp.synthesizers.NoisyDegreesSynthesizer.networks(release)
    made = bdp.synthesizers.NoisyDegreesSynthesizer.networks(
        release, 2, prior=bdp.networks.NormalPrior(-0.5, 2.0), seed=1
    )
    assert len(made) == 60
    assert made == bdp.synthesizers.NoisyDegreesSynthesizer.networks(
        release, 2, prior=bdp.networks.NormalPrior(-0.5, 2.0), seed=1
    )
    assert made[0].nodes == florentine().nodes
    ties = np.array([len(network.edges) for network in made])
    assert abs(ties.mean() - 20) < 5


def test_synthetic_degrees_are_distributed_as_the_true_ones():
    """400 nodes: the sorted degrees are as far from the true ones as those of draws without noise.

    Of epsilon = 2 a copy the noise, of scale 1, is small beside a degree's own standard deviation.
    """
    beta = np.random.default_rng(3).normal(-0.5, 0.5, 400)
    none = np.zeros(400)
    graph = BetaModelFit(range(400), none.astype(np.int64), beta, none, "").simulate(1, seed=1)[0]
    d = degrees(graph)
    with bdp.reproducible(2):
        release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=30.0).release(graph, copies=15)

    def distances(networks):
        return [np.abs(np.sort(degrees(one)) - np.sort(d)).mean() for one in networks]

    synthetic = np.array(
        distances(bdp.synthesizers.NoisyDegreesSynthesizer.networks(release, seed=1))
    )
    plain = np.array(distances(fit_beta_model(d).simulate(15, seed=2)))
    error = np.hypot(synthetic.std(), plain.std()) / np.sqrt(15)
    assert abs(synthetic.mean() - plain.mean()) < 0.25 + 5 * error
    assert synthetic.mean() < 0.1 * d.std()


def test_what_has_no_synthetic_networks_says_so():
    directed = bdp.synthesizers.NoisyDegreesSynthesizer(1.0).release(Network(4, [(0, 1)], True))
    counts = bdp.publish(bdp.mechanisms.DiscreteLaplaceMechanism(1.0), 3)
    for release, said in ((directed, "undirected"), (counts, "NoisyDegreesSynthesizer")):
        with pytest.raises(bdp.errors.InvalidInput, match=said):
            bdp.synthesizers.NoisyDegreesSynthesizer.networks(release)
    with pytest.raises(bdp.errors.InvalidInput, match="size"):
        bdp.synthesizers.NoisyDegreesSynthesizer.networks(
            bdp.synthesizers.NoisyDegreesSynthesizer(1.0).release(karate()), 0
        )


@pytest.mark.parametrize("epsilon", [0, -1.0, float("inf"), float("nan"), "1", None, True])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon"):
        bdp.synthesizers.NoisyDegreesSynthesizer(epsilon)


@pytest.mark.parametrize("graph", [[(0, 1)], np.zeros((3, 3)), 5])
def test_what_is_no_network_is_refused(graph):
    with pytest.raises(bdp.errors.InvalidInput, match="network"):
        bdp.synthesizers.NoisyDegreesSynthesizer(1.0).release(graph)


@pytest.mark.parametrize("graph", [Network(4), Network.from_networkx(nx.complete_graph(4))])
def test_an_empty_or_complete_graph_is_released_as_any_other(graph):
    """That it is so must not show; only a fit of its degrees is degenerate."""
    assert len(bdp.synthesizers.NoisyDegreesSynthesizer(1.0).release(graph).outputs[0]) == 4


@pytest.mark.parametrize("example", [3, np.zeros((3, 4), dtype=int), np.zeros((1, 2, 2))])
def test_outputs_of_another_shape_make_no_mechanism(example):
    with pytest.raises(bdp.errors.InvalidInput, match="shape"):
        bdp.synthesizers.NoisyDegreesSynthesizer(1.0).mechanism_like(example)
