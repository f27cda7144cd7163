"""A declared epsilon is of all copies together, of every synthesizer."""

import networkx as nx
import pytest

import bayesdp as bdp

PRIOR = bdp.networks.NormalPrior(0, 1)
DECLARED = {
    "DPERGMSynthesizer": {"formula": "edges", "prior": PRIOR},
    "EdgeFlipSynthesizer": {},
    "NoisyDegreesSynthesizer": {},
    "NoisyStatisticsSynthesizer": {"formula": "edges + triangle"},
    "NoisyTrianglesSynthesizer": {},
    "TruncatedStatisticsSynthesizer": {"formula": "edges"},
}


def test_all_that_are_told_their_copies_at_the_release_are_here():
    found = {
        name
        for name in bdp.synthesizers.__all__
        if {"mechanism_like", "release"} <= set(dir(getattr(bdp.synthesizers, name)))
    }
    assert found == set(DECLARED)


@pytest.mark.parametrize("copies", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("name", DECLARED)
def test_copies_share_it(name, epsilon, copies):
    declared = getattr(bdp.synthesizers, name)(epsilon=epsilon, **DECLARED[name])
    release = declared.release(nx.path_graph(6), copies=copies)
    assert release.copies == copies
    assert epsilon * (1 - 1e-9) <= release.guarantee.epsilon <= epsilon
    again = bdp.Release.of(release.mechanism, release.outputs)
    assert again.guarantee.epsilon == release.guarantee.epsilon


def test_delta_is_shared_too():
    declared = bdp.synthesizers.NoisyStatisticsSynthesizer(
        "edges", epsilon=1.0, delta=1e-6, noise="gaussian"
    )
    release = declared.release(nx.path_graph(6), copies=4)
    assert release.guarantee.delta == 1e-6
    assert release.guarantee.epsilon <= 1.0


def test_probabilities_are_of_each_copy():
    release = bdp.synthesizers.EdgeFlipSynthesizer(tie=0.75, gap=0.25).release(
        nx.path_graph(6), copies=2
    )
    one = release.mechanism.guarantee(copies=1).epsilon
    assert release.guarantee.epsilon == pytest.approx(2 * one)
