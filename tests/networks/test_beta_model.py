"""The beta-model: where its estimate exists, what it is, its errors, its draws."""

import functools
import itertools

import networkx as nx
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

import bayesdp as bdp
from bayesdp.networks import (
    BetaModelFit,
    degrees,
    fit_beta_model,
    is_graphical,
    project_to_graphical,
)
from tests.networks.oracles import florentine
from tests.networks.test_degree_sequences import all_sequences


def model(beta: np.ndarray) -> BetaModelFit:
    """One with these coefficients, to draw from."""
    none = np.zeros(len(beta))
    return BetaModelFit(range(len(beta)), none.astype(np.int64), beta, none, "")


def probabilities(beta: np.ndarray) -> np.ndarray:
    tie = special.expit(beta[:, None] + beta)
    np.fill_diagonal(tie, 0.0)
    return tie


def exists(d: np.ndarray) -> bool:
    """Whether d = sum of probabilities that are all within (0, 1), by a linear program.

    The hull of the degree sequences is the image of the cube of dyads' probabilities under a
    linear map onto R^n (n >= 3), and its interior that of the open cube.
    """
    n = len(d)
    pairs = list(itertools.combinations(range(n), 2))
    ends = np.zeros((n, len(pairs) + 1))
    for k, pair in enumerate(pairs):
        ends[list(pair), k] = 1
    from_one = np.column_stack([np.eye(len(pairs)), np.ones(len(pairs))])
    from_zero = np.column_stack([-np.eye(len(pairs)), np.ones(len(pairs))])
    found = optimize.linprog(
        np.append(np.zeros(len(pairs)), -1.0),
        A_eq=ends,
        b_eq=d,
        A_ub=np.vstack([from_one, from_zero]),
        b_ub=np.append(np.ones(len(pairs)), np.zeros(len(pairs))),
        bounds=[(0, 1)] * len(pairs) + [(None, None)],
    )
    return bool(found.status == 0 and -found.fun > 1e-9)


@functools.cache
def sorted_sequences(n: int) -> list[tuple[int, ...]]:
    return sorted({tuple(sorted(d)) for d in all_sequences(n).tolist()})


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_it_exists_in_the_interior_of_the_hull_of_all_graphs(n: int):
    there = 0
    for d in sorted_sequences(n):
        if n > 2 and exists(np.array(d)):
            there += 1
            fit = fit_beta_model(d)
            np.testing.assert_allclose(probabilities(fit.coef).sum(axis=1), d, atol=1e-9)
        else:
            with pytest.raises(
                bdp.errors.InvalidInput, match="no maximum likelihood estimate exists"
            ):
                fit_beta_model(d)
    assert there == {2: 0, 3: 0, 4: 2, 5: 6, 6: 28}[n]


def log_likelihood(beta: np.ndarray, d: np.ndarray) -> float:
    odds = (beta[:, None] + beta)[np.triu_indices(len(d), 1)]
    return float(beta @ d - np.logaddexp(0, odds).sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 12), st.floats(0.3, 0.7), st.integers(0, 2**32))
def test_it_is_the_maximum_that_a_general_optimiser_finds(n, density, seed):
    d = degrees(nx.gnp_random_graph(n, density, seed=seed))
    assume(exists(d))
    fit = fit_beta_model(d)
    found = optimize.minimize(lambda b: -log_likelihood(b, d), np.zeros(n), method="BFGS")
    assert log_likelihood(fit.coef, d) >= -found.fun - 1e-9
    np.testing.assert_allclose(fit.coef, found.x, atol=1e-2 * (1 + np.abs(fit.coef).max()))


@pytest.mark.parametrize("prior", [None, bdp.networks.NormalPrior(-0.5, 0.7)])
def test_standard_errors_are_those_of_the_whole_information_matrix(prior):
    fit = fit_beta_model(degrees(nx.karate_club_graph()), prior=prior)
    tie = probabilities(fit.coef)
    weight = tie * (1 - tie)
    information = weight + np.diag(weight.sum(axis=1))
    if prior is not None:
        information += np.eye(34) / 0.7**2
        slope = fit.degrees - tie.sum(axis=1) - (fit.coef + 0.5) / 0.7**2
        np.testing.assert_allclose(slope, 0, atol=1e-9)
    direct = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(fit.standard_error, direct, rtol=1e-10)


def test_equal_degrees_have_the_closed_form():
    """A regular graph: 2 beta = log odds of the density."""
    fit = fit_beta_model([4] * 15)
    np.testing.assert_allclose(fit.coef, special.logit(4 / 14) / 2, rtol=1e-12)


def test_it_is_the_logistic_regression_of_the_dyads_on_their_ends():
    """Estimates and standard errors, those of nodes of equal degree too."""
    network = florentine()
    d = degrees(network)
    kept = np.flatnonzero(d)
    tied = network.to_adjacency()[np.ix_(kept, kept)]
    pairs = np.array(list(itertools.combinations(range(kept.size), 2)))
    ends = np.zeros((len(pairs), kept.size))
    ends[np.arange(len(pairs))[:, None], pairs] = 1
    regression = sm.Logit(tied[tuple(pairs.T)], ends).fit(disp=0, tol=1e-12)
    fit = fit_beta_model(d[kept], nodes=[network.nodes[i] for i in kept])
    np.testing.assert_allclose(fit.coef, regression.params, rtol=1e-8)
    np.testing.assert_allclose(fit.standard_error, regression.bse, rtol=1e-8)


def test_a_posterior_mode_exists_for_every_graph():
    prior = bdp.networks.NormalPrior(-1.0, 2.0)
    for d in (*sorted_sequences(2), *sorted_sequences(5), (0,) * 50, (49,) * 50):
        fit = fit_beta_model(d, prior=prior)
        slope = np.array(d) - fit.expected_degrees - (fit.coef + 1.0) / 4.0
        np.testing.assert_allclose(slope, 0, atol=1e-8)
        assert fit.method == "posterior mode"


@pytest.mark.parametrize("n", [200, 1000])
def test_it_converges_where_the_coefficients_are_far_apart(n: int):
    """Near a half graph, whose coefficients would be infinite."""
    place = np.arange(n)
    tied = np.triu(place[:, None] + place > n, 1)
    tied ^= np.triu(np.random.default_rng(0).random((n, n)) < 2 / n, 1)
    d = tied.sum(axis=0) + tied.sum(axis=1)
    fit = fit_beta_model(d)
    np.testing.assert_allclose(fit.expected_degrees, d, atol=1e-7)
    assert np.abs(fit.coef).max() > 10


@pytest.mark.slow
def test_a_hundred_thousand_nodes_are_fitted():
    rng = np.random.default_rng(0)
    d = project_to_graphical(np.maximum(rng.negative_binomial(1, 0.05, 100_000), 1))
    fit = fit_beta_model(d)
    np.testing.assert_allclose(fit.expected_degrees, d, atol=1e-7)


@pytest.mark.slow
def test_draws_have_the_probabilities_of_the_model():
    beta = np.array([-2.0, -0.5, -0.5, 0.3, 1.5])
    fit, draws = model(beta), 20_000
    total = sum(network.to_adjacency().astype(float) for network in fit.simulate(draws, seed=1))
    tie = probabilities(beta)
    z = (total / draws - tie) / np.sqrt(np.maximum(tie * (1 - tie), 1e-300) / draws)
    above = np.triu_indices(5, 1)
    assert stats.chi2.sf(float((z[above] ** 2).sum()), 10) > 1e-6
    np.testing.assert_array_equal(np.diag(total), 0)


def test_draws_are_seeded_and_labelled():
    fit = fit_beta_model([2, 2, 1, 1, 2], nodes=list("abcde"))
    first, second = (fit.simulate(2, seed=4) for _ in range(2))
    assert first == second
    assert first[0].nodes == tuple("abcde")
    assert fit.simulate(30, seed=4) != fit.simulate(30, seed=5)
    assert fit.to_frame().loc["c"].degree == 1


def test_the_estimate_covers_the_truth():
    """95% intervals of 80 coefficients over 300 graphs; asymptotic, so that 1 point is allowed.

    With the tolerance of 5 standard errors, graphs being independent, the false alarm is < 1e-6.
    """
    beta = np.random.default_rng(3).normal(-0.5, 0.4, 80)
    covered = []
    for network in model(beta).simulate(300, seed=5):
        fit = fit_beta_model(degrees(network))
        covered.append(
            (np.abs(fit.coef - beta) < stats.norm.ppf(0.975) * fit.standard_error).mean()
        )
    error = np.std(covered) / np.sqrt(len(covered))
    assert abs(np.mean(covered) - 0.95) < 0.01 + 5 * error


@pytest.mark.parametrize(
    ("d", "said"),
    [
        ([0] * 5, "no tie"),
        ([4] * 5, "every tie"),
        ([0, 1, 1, 2, 2, 0], "'a', 'f' tied to no node"),
        ([5, 2, 2, 1, 2, 2], "'a' tied to every node"),
        ([3, 3, 1, 1, 1, 1], "'a', 'b' tied to each other and to all but 'c', 'd', 'e', 'f'"),
        ([1, 1], "every tie"),
        ([0] * 8 + [1] * 2, "'a', 'b', 'c', 'd', 'e' and 3 others tied to no node"),
    ],
)
def test_where_none_exists_the_nodes_are_named(d, said):
    with pytest.raises(bdp.errors.InvalidInput, match=f"{said}.*prior=") as caught:
        fit_beta_model(d, nodes=list("abcdefghijkl"[: len(d)]))
    assert "posterior mode" in str(caught.value)


@pytest.mark.parametrize(
    ("d", "known", "said"),
    [
        ([2, 2, 1, 1, 1], {}, "project_to_graphical"),
        ([-1, 2, 1, 1, 1], {}, "project_to_graphical"),
        ([9, 2, 1, 1, 1], {"prior": bdp.networks.NormalPrior()}, "project_to_graphical"),
        ([2.0, 2, 1, 1, 2], {}, "integers"),
        ([[1, 1], [1, 1]], {}, "directed"),
        ([2, 2, 1, 1, 2], {"nodes": ["a", "b"]}, "2 labels"),
        ([2, 2, 1, 1, 2], {"nodes": ["a"] * 5}, "twice"),
        ([2, 2, 1, 1, 2], {"prior": bdp.networks.NormalPrior([0.0] * 5, 1.0)}, "one mean"),
        ([2, 2, 1, 1, 2], {"prior": (0, 1)}, "prior is a tuple; it must be a NormalPrior"),
    ],
)
def test_what_cant_be_fitted_is_refused(d, known, said):
    with pytest.raises(bdp.errors.InvalidInput, match=said):
        fit_beta_model(d, **known)


@pytest.mark.parametrize("wrong", [{"draws": 0}, {"seed": -1}, {"draws": 1.5}])
def test_what_cant_be_drawn_is_refused(wrong):
    with pytest.raises(bdp.errors.InvalidInput):
        fit_beta_model([2, 2, 1, 1, 2]).simulate(**wrong)


def test_every_sequence_in_the_interior_is_graphical_if_its_sum_is_even():
    """So that degrees which are refused for having no graph are never fit ones."""
    for d in itertools.product(range(1, 4), repeat=5):
        if exists(np.array(d)):
            assert is_graphical(d) == (sum(d) % 2 == 0)
