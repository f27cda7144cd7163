"""Noisy statistics and degrees of a graph, within a user's own model."""

import networkx as nx
import numpy as np
import pymc as pm
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.vector_views import SeparateNoiseView
from bayesdp.core.views import view_of
from bayesdp.networks import Network

Synthesizer = bdp.synthesizers.NoisyStatisticsSynthesizer
GAUSSIAN = {"noise": "gaussian", "delta": 1e-6}
DECLARED = [
    (Synthesizer("edges + triangle", 1.0), False),
    (Synthesizer("edges + triangle", 1.0, **GAUSSIAN), False),
    (Synthesizer("edges + gwesp(0.5)", 1.0), False),
    (Synthesizer("edges + gwesp(0.5)", 1.0, **GAUSSIAN), False),
    (bdp.synthesizers.NoisyDegreesSynthesizer(1.0), False),
    (bdp.synthesizers.NoisyDegreesSynthesizer(1.0), True),
]


def released(made, directed):
    graph = nx.gnp_random_graph(7, 0.4, seed=1, directed=directed)
    return made.release(graph)


def statistics(release, graph):
    """The confidential vector, as an output without noise would have it."""
    if hasattr(release.mechanism, "formula"):
        return list(dict(bdp.networks.statistics(graph, release.mechanism.formula)).values())
    table = graph.to_adjacency()
    return [*table.sum(axis=1), *(table.sum(axis=0) if graph.directed else [])]


@pytest.mark.parametrize(("made", "directed"), DECLARED)
def test_the_law_of_the_vector_is_that_of_the_graph(made, directed):
    release = released(made, directed)
    view, (output,) = view_of(release.mechanism, SeparateNoiseView), release.outputs
    for seed in (1, 2, 3):
        drawn = nx.gnp_random_graph(7, 0.5, seed=seed, directed=directed)
        graph = Network.from_networkx(drawn)
        s = statistics(release, graph)
        assert view.shape == (len(s),)
        law = sum(cell.logp(z, x) for cell, z, x in zip(view.cells, output, s, strict=True))
        assert law == pytest.approx(float(release.mechanism.logp(output, graph)), rel=1e-9)


@pytest.mark.parametrize(("made", "directed"), DECLARED)
def test_they_are_observed_as_numbers_and_summed_out_as_integers(made, directed):
    release = released(made, directed)
    view, (output,) = view_of(release.mechanism, SeparateNoiseView), release.outputs
    k = len(view.cells)
    one, other = np.full(k, 5.0), np.linspace(2, 9, k)
    with pm.Model() as model:
        pm.Flat("statistic", shape=k)
        bdp.observe(release)
    at = model.compile_logp()
    ratio = at({"statistic": one}) - at({"statistic": other})
    power = 2 if getattr(release.mechanism, "noise", "") == "gaussian" else 1
    scales = np.array([cell.scale for cell in view.cells])
    away = [np.abs((np.array(output) - s) / scales) ** power / power for s in (one, other)]
    assert ratio == pytest.approx(float(np.sum(away[1] - away[0])), rel=1e-9)
    with pm.Model():
        law = bdp.observe(release, pm.Poisson.dist(mu=np.full(k, 6.0)))
    x = np.arange(200)
    prior = stats.poisson.logpmf(x, 6.0)
    each = [
        special.logsumexp(prior + c.logp(z, x)) for c, z in zip(view.cells, output, strict=True)
    ]
    assert law.eval() == pytest.approx(sum(each), rel=1e-9)


def test_data_of_a_stan_program():
    """Statistics one of which is no integer are real numbers, all of them."""
    whole, mixed = (released(DECLARED[k][0], False) for k in (0, 2))
    assert bdp.stan.data(whole)["E"] == 2
    made = bdp.stan.data(mixed)
    assert made["N"] == 2
    np.testing.assert_array_equal(made["z"], mixed.outputs[0])
    assert made["scale"] == list(mixed.mechanism.scales)


def test_models_of_counts_do_not_read_them():
    """Degrees are functions of one graph, and no independent counts."""
    release = released(bdp.synthesizers.NoisyDegreesSynthesizer(1.0), False)
    for model in (
        bdp.models.PoissonModel(expected=np.ones(7)),
        bdp.MultinomialModel([1.0] * 7, n=20),
        bdp.GaussianModel(sd=1.0, n=7),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="ERGMModel"):
            model.fit(release)
