"""Estimates against R's ergm and against exact likelihoods by enumeration."""

import networkx as nx
import numpy as np
import pytest
from scipy import optimize, special

import bayesdp as bdp
from bayesdp.networks import (
    BayesianERGM,
    Network,
    fit_mle,
    fit_mple,
    goodness_of_fit,
    simulate,
    statistics,
)
from bayesdp.networks.maximum_likelihood import step_length
from tests.networks.oracles import ORACLES, all_graphs, florentine, karate, with_everything

FLORENTINE = [
    ("edges", [-1.60944], [0.24495]),
    ("edges + nodecov('wealth')", [-2.59493, 0.0105459], [0.53606, 0.0046743]),
    ("edges + absdiff('wealth')", [-2.30204, 0.015519], [0.40191, 0.006157]),
]


@pytest.mark.parametrize(("formula", "coef", "error"), FLORENTINE)
@pytest.mark.parametrize("fit", [fit_mple, fit_mle])
def test_florentine_marriages_as_r_fits_them(fit, formula, coef, error):
    found = fit(florentine(), formula)
    np.testing.assert_allclose(found.coef, coef, atol=6e-6)
    np.testing.assert_allclose(found.standard_error, error, atol=6e-6)
    assert found.method == "maximum likelihood"
    frame = found.to_frame()
    assert frame.index.tolist() == list(found.terms)
    assert (frame["monte_carlo_error"] == 0).all()


@pytest.mark.slow
def test_karate_club_as_r_fits_it():
    """R's own estimate is simulated too, to about a hundredth."""
    found = fit_mle(karate(), "edges + gwesp(0.5)", seed=1)
    assert found.method == "Monte Carlo maximum likelihood"
    assert (found.monte_carlo_error < 0.01).all()
    np.testing.assert_allclose(found.coef, [-3.126, 0.822], atol=0.02)
    np.testing.assert_allclose(found.standard_error, [0.276, 0.167], rtol=0.05)


SEPARATED = [(5, False, "edges + triangle", [[2, 3], [2, 4], [3, 4]]),
             (5, False, "edges + gwesp(0.5)",
              [[0, 3], [0, 4], [1, 2], [1, 4], [2, 4], [3, 4]])]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "directed", "formula", "pairs"),
    [
        (5, False, "edges + gwesp(0.5)", [[0, 1], [0, 2], [1, 2], [2, 3]]),
        (4, True, "edges + mutual", [[0, 1], [1, 0], [1, 2], [2, 3], [3, 0]]),
        *SEPARATED,
    ],
)
def test_the_maximum_is_the_exact_likelihood_s(n, directed, formula, pairs):
    empty = with_everything(np.zeros((n, n), dtype=int), directed)
    network, terms = empty.with_edges(pairs), formula.split(" + ")

    def of(a: np.ndarray) -> list[float]:
        return [one(a, empty) for term in terms for one in table[term]]

    table = {term: ORACLES[term][0] for term in terms}
    every = np.array([of(a) for a in all_graphs(n, directed)])
    observed = np.array(of(network.to_adjacency().astype(int)))
    exact = optimize.minimize(
        lambda theta: special.logsumexp(every @ theta) - theta @ observed,
        np.zeros(len(observed)),
        tol=1e-12,
    ).x
    weight = special.softmax(every @ exact)
    covariance = np.linalg.inv(np.cov(every.T, aweights=weight, ddof=0))
    found = fit_mle(network, formula, seed=1, interval=200, draws=8_000)
    assert (np.abs(found.coef - exact) < 5 * found.monte_carlo_error).all()
    assert (found.monte_carlo_error < 0.1 * found.standard_error).all()
    np.testing.assert_allclose(found.covariance, covariance, rtol=0.15)


@pytest.mark.parametrize(("n", "directed", "formula", "pairs"), SEPARATED)
def test_the_likelihood_has_a_maximum_where_the_pseudo_likelihood_has_none(
    n, directed, formula, pairs
):
    """`fit_mle` refused these, whose estimate is compared with the exact one above."""
    with pytest.raises(bdp.errors.InvalidInput, match="the pseudo-likelihood's estimate is infin"):
        fit_mple(Network(n, pairs, directed), formula)


@pytest.mark.slow
def test_the_estimate_is_where_the_observed_statistics_were_reached():
    """With seed 2 it stopped halfway, 30 simulation errors off: few draws were near them."""
    corners = 3 * np.arange(10)[:, None]
    triangles = np.vstack([corners + pair for pair in ([0, 1], [0, 2], [1, 2])])
    found = [fit_mle(Network(30, triangles), "edges + gwesp(0.5)", seed=s) for s in (1, 2)]
    error = np.hypot(*(each.monte_carlo_error for each in found))
    assert (np.abs(found[0].coef - found[1].coef) < 6 * error).all()


def test_an_offset_shifts_the_intercept():
    shift = np.full((16, 16), 0.7)
    for fit in (fit_mple, fit_mle):
        found = fit(florentine(), "edges", offset=shift)
        assert found.coef[0] == pytest.approx(np.log(20 / 100) - 0.7, abs=1e-9)


def test_the_step_stops_short_of_the_hull():
    corners = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert step_length(corners, np.array([0.5, 0.0])) == 1.0
    assert step_length(corners, np.array([2.0, 0.0])) == pytest.approx(0.95 / 2)
    assert step_length(corners, np.array([2.0, 4.0])) == pytest.approx(0.95 / 4)


STAR = [[0, k] for k in range(1, 6)]
REFUSED = [
    (Network(4), "edges", "has no tie"),
    (Network(3, [[0, 1], [0, 2], [1, 2]]), "edges", "has every tie"),
    (Network(6, STAR), "edges + triangle", "triangle.* separate.* the pseudo-likelihood's"),
    (Network(6, STAR, attributes={"hub": [1] + [0] * 5}), "edges + nodecov('hub')", "separate"),
    (Network(4, [[0, 1]], attributes={"x": range(4)}), "edges + nodecov('x') + absdiff('x') "
     "+ nodefactor('x')", "can't be told apart"),
    (Network(3, [[0, 1]], dyad_attributes={"d": np.zeros((3, 3))}),
     "edgecov('d')", "never changes"),
    (Network(30_000, [[0, 1]]), "edges", "isn't offered"),
]  # fmt: skip


@pytest.mark.parametrize(("network", "formula", "message"), REFUSED)
def test_likelihoods_without_a_maximum_are_refused(network, formula, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        fit_mple(network, formula)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("edges + triangle", "don't surround the observed"),
        ("edges + kstar(2) + triangle", "never changes in the simulated networks"),
    ],
)
def test_degenerate_models_are_reported(formula, message):
    """Triangles and stars put the mass on nearly empty and nearly complete graphs."""
    with pytest.raises(bdp.errors.EngineFailed, match=message):
        fit_mle(karate(), formula, seed=1, iterations=20)


@pytest.mark.parametrize("changed", [{"draws": 0}, {"iterations": 0}, {"interval": 0}])
def test_arguments_that_are_refused(changed):
    with pytest.raises(bdp.errors.InvalidInput, match=next(iter(changed))):
        fit_mle(karate(), "edges + triangle", **changed)


def test_graphs_of_networkx_are_read_wherever_a_network_is():
    graph = nx.path_graph(5, create_using=nx.DiGraph)
    network, quick = Network.from_networkx(graph), {"draws": 20, "seed": 1}
    assert statistics(graph, "edges + mutual") == statistics(network, "edges + mutual")
    for fit in (fit_mle, fit_mple):
        np.testing.assert_array_equal(fit(graph, "edges").coef, fit(network, "edges").coef)
    drawn = simulate(graph, "edges", [0.0], **quick).networks[0]
    assert drawn == simulate(network, "edges", [0.0], **quick).networks[0]
    assert drawn[0].directed
    fits = [goodness_of_fit(each, "edges", [0.0], **quick) for each in (graph, network)]
    assert {*fits[0].distributions} == {*fits[1].distributions}
    model = BayesianERGM("edges")
    posteriors = [model.fit(each, tune=20, **quick).posterior["theta"] for each in (graph, network)]
    np.testing.assert_array_equal(*posteriors)


@pytest.mark.parametrize("coef", ["a", {"edges": 1.0}])
def test_coefficients_that_are_no_numbers_are_refused(coef):
    for call in (simulate, goodness_of_fit):
        with pytest.raises(bdp.errors.InvalidInput, match="it must be numbers, one for each"):
            call(Network(4), "edges", coef)
