"""The chain's law against enumeration, its randomness, its storage under growth."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import bayesdp as bdp
from bayesdp.kernels.bits import count_ones, lowest_one
from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.offset import dyad_offset
from bayesdp.kernels.randomness import below, next_word, uniform
from bayesdp.networks import Network, fit_mple, goodness_of_fit, simulate, statistics
from bayesdp.networks.formula import bind
from bayesdp.networks.graph import graph_of
from bayesdp.networks.offset import NO_OFFSET, offset_from
from bayesdp.networks.simulation import Start
from tests.networks.oracles import ORACLES, all_graphs, karate, with_everything

MODELS = [
    (4, False, {"edges": -0.4, "triangle": 0.7, "degree([0, 2])": [0.5, -0.3]}),
    (4, False, {"gwesp(0.5)": 0.6, "gwdsp(0.7)": -0.2, "nodecov('x')": 0.4, "isolates": 0.5}),
    (5, False, {"edges": -1.5, "kstar([2, 3])": [0.2, -0.1], "concurrent": -0.5}),
    (5, False, {"edges": 1.2, "gwdegree(0.3)": 0.5}),
    (3, True, {"edges": -0.5, "mutual": 1.0, "gwesp(0.5)": 0.8}),
    (3, True, {"triangle": 0.5, "nodefactor('group')": [0.3, -0.4], "edgecov('near')": 0.5}),
]


def code(pairs: np.ndarray, n: int) -> int:
    """A number that tells a graph from the others."""
    return int((1 << (pairs[:, 0].astype(object) * n + pairs[:, 1])).sum()) if len(pairs) else 0


@pytest.mark.slow
@pytest.mark.parametrize("bitsets", [True, False])
@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize("model", range(len(MODELS)))
def test_the_chain_s_law_is_the_model_s(model, with_offset, bitsets):
    """Chi-square over all graphs, cells of less than eight draws together; false alarm 1e-6."""
    n, directed, coefficients = MODELS[model]
    network = with_everything(np.zeros((n, n), dtype=int), directed)
    bound = bind(" + ".join(coefficients), network)
    theta = np.hstack(list(coefficients.values())).astype(float)
    shift = np.random.default_rng(3).normal(size=(n, n)) if with_offset else np.zeros((n, n))
    shift = shift if directed else shift + shift.T
    weights = {}
    for a in all_graphs(n, directed):
        pairs = np.argwhere(a if directed else np.triu(a))
        found = [s(a, network) for term in coefficients for s in ORACLES[term][0]]
        weights[code(pairs, n)] = np.exp(theta @ found + shift[tuple(pairs.T)].sum())
    start = Start(
        bound,
        graph_of(n, directed, network.edges, bitsets=bitsets),
        bound.at_empty,
        offset_from(shift, n, directed) if with_offset else NO_OFFSET,
    )
    draws = 20_000
    trace, ties, ends = start.trace(theta, np.random.default_rng(1), draws, 500, 60, True)
    counts = dict.fromkeys(weights, 0)
    for part in np.split(ties, ends[:-1]):
        counts[code(part, n)] += 1
    observed = np.array(list(counts.values()), dtype=float)
    expected = draws * np.array(list(weights.values())) / sum(weights.values())
    rare = expected < 8
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-6
    for k in (0, 777, draws - 1):
        drawn = network.with_edges(np.split(ties, ends[:-1])[k])
        np.testing.assert_allclose(
            list(statistics(drawn, " + ".join(coefficients)).values()), trace[k], atol=1e-6
        )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("bitsets", [True, False])
def test_a_graph_that_grows_stays_whole(directed, bitsets):
    network = Network(90, directed=directed)
    bound = bind("edges + triangle", network)
    start = Start(
        bound, graph_of(90, directed, network.edges, bitsets=bitsets), np.zeros(2), NO_OFFSET
    )
    theta, generator = np.array([1.0, 0.0]), np.random.default_rng(2)
    trace, ties, _ = start.trace(theta, generator, 1, 60_000, 1, True)
    grown = network.with_edges(ties)
    assert grown.density == pytest.approx(1 / (1 + np.exp(-1)), abs=6 * 0.0075)
    np.testing.assert_allclose(list(statistics(grown, "edges + triangle").values()), trace[0])


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_may_become_full_with_the_last_step_of_a_run(directed):
    """Runs of one step each: every list that fills up does so at the end of one."""
    network = Network(40, directed=directed)
    bound = bind("edges + triangle", network)
    graph = graph_of(40, directed, network.edges, bitsets=False)
    start = Start(bound, graph, np.zeros(2), NO_OFFSET)
    theta, draws = np.array([1.5, 0.0]), 8_000
    trace, ties, ends = start.trace(theta, np.random.default_rng(4), draws, 1, 1, True)
    assert trace[:, 0].max() > 0.7 * network.dyads
    for k in range(99, draws, 400):
        drawn = network.with_edges(ties[ends[k - 1] : ends[k]])
        found = list(statistics(drawn, "edges + triangle").values())
        np.testing.assert_allclose(found, trace[k])


def test_a_sparse_offset_is_the_matrix_it_stands_for():
    network = karate()
    pairs = np.random.default_rng(1).permutation(list(itertools.combinations(range(network.n), 2)))[
        :200
    ]
    values = np.linspace(-1, 1, 200)
    matrix = np.full((network.n, network.n), -0.3)
    for (i, j), value in zip(pairs.tolist(), values, strict=True):
        matrix[i, j] = matrix[j, i] = value
    sparse = offset_from((pairs[:, ::-1], values, -0.3), network.n, False)
    for i, j in itertools.combinations(range(network.n), 2):
        assert dyad_offset(sparse, i, j) == matrix[i, j]
    ours, theirs = (
        simulate(network, "edges", [-1.0], offset=offset, seed=4, draws=5).statistics
        for offset in ((pairs, values, -0.3), matrix)
    )
    np.testing.assert_array_equal(ours, theirs)


BAD_OFFSETS = [
    (np.zeros((2, 2)), "shape"),
    (np.triu(np.ones((3, 3))), "symmetric"),
    (np.full((3, 3), np.inf), "finite"),
    ("x", "matrix of numbers"),
    (([[0, 1]], [1, 2], 0.0), "one finite value for each pair"),
    (([[0, 0]], [1], 0.0), "two different nodes"),
    (([[0, 3]], [1], 0.0), "two different nodes"),
    (([[0, 1], [1, 0]], [1, 2], 0.0), "twice"),
    (([[0, 1]], [1], np.nan), "finite"),
    (([["a", "b"]], [1], 0.0), "pairs of node numbers"),
    (([[0.5, 1]], [1], 0.0), "pairs of node numbers"),
    (([[0, 1]], ["x"], 0.0), "whole numbers, numbers, and a number"),
    (pd.DataFrame(np.zeros((3, 3)), index=[1, 0, 2]), "not all of them in the network's order"),
    (np.ma.array(np.ones((3, 3)), mask=np.eye(3)[::-1]), "masked"),
]


@pytest.mark.parametrize(("offset", "message"), BAD_OFFSETS)
def test_offsets_that_are_refused(offset, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        simulate(3, "edges", [0.0], offset=offset)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        fit_mple(Network(3, [(0, 1)]), "edges", offset=offset)


BAD_ARGUMENTS = [
    ({"coef": [1.0, 2.0]}, "1 finite numbers, for edges"),
    ({"coef": [np.nan]}, "coef has 1 numbers, not all of them finite"),
    ({"coef": np.zeros(4000)}, "coef has 4000 numbers; it must be 1 finite"),
    ({"coef": pd.Series([0.0], ["mutual"])}, "other labels than the statistics' names, edges"),
    ({"coef": pd.Series([0.0, 0.0], ["edges", "edges"])}, "other labels"),
    ({"draws": 0}, "draws is 0"),
    ({"chains": True}, "chains is True"),
    ({"burn_in": -1}, "burn_in is -1"),
    ({"interval": 0.5}, "interval is 0.5"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": "a"}, "seed is 'a'"),
    ({"network_or_n": 1}, "at least 2"),
    ({"keep_networks": "no"}, "keep_networks is 'no'"),
    ({"network_or_n": 100_000}, "burn_in isn't given"),
]


@pytest.mark.parametrize(("changed", "message"), BAD_ARGUMENTS)
def test_arguments_that_are_refused(changed, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        simulate(**{"network_or_n": 3, "formula": "edges", "coef": [0.0], **changed})


def test_the_same_seed_gives_the_same_draws_and_chains_differ():
    def draw(seed):
        return simulate(karate(), "edges + gwesp(0.5)", [-3.0, 0.7], chains=3, draws=4, seed=seed)

    first, second, other = draw(7), draw(7), draw(8)
    np.testing.assert_array_equal(first.statistics, second.statistics)
    assert first.networks == second.networks
    assert not np.array_equal(first.statistics, other.statistics)
    assert len({tuple(chain.ravel()) for chain in first.statistics}) == 3
    assert first.statistics.shape == (3, 4, 2)
    assert first.networks[0][0].attributes["club"][0] == "Mr. Hi"
    bare = simulate(karate(), "edges", [-3.0], keep_networks=False, seed=1)
    assert bare.networks == ((),)


def test_labelled_coefficients_are_read_by_name():
    formula, coef = "edges + gwesp(0.5)", pd.Series({"edges": -3.0, "gwesp.0.5": 0.7})
    frame = pd.DataFrame([coef, coef])

    def draw(theta):
        return simulate(karate(), formula, theta, draws=4, seed=7).statistics

    def fit(theta):
        found = goodness_of_fit(karate(), formula, theta, draws=2, burn_in=500, seed=7)
        return found.distributions["degree"].simulated

    for given in (coef[::-1], pd.Series([-3.0, 0.7])):
        np.testing.assert_array_equal(draw(given), draw(coef.to_numpy()))
        np.testing.assert_array_equal(fit(given), fit(coef.to_numpy()))
    np.testing.assert_array_equal(fit(frame.iloc[:, ::-1]), fit(frame.to_numpy()))
    with pytest.raises(bdp.errors.InvalidInput, match="other labels than the statistics' names"):
        goodness_of_fit(karate(), formula, frame.rename(columns={"edges": "mutual"}))


def test_a_posterior_s_draws_are_read_by_name():
    """They were refused as a fit has them, and in another order of terms read by position."""
    formula, values = "edges + gwesp(0.5)", np.array([[[-3.0, 0.7], [-2.0, 0.1]]])
    coords = {"term": ["edges", "gwesp.0.5"]}
    theta = xr.DataArray(values, coords, ("chain", "draw", "term"))

    def fit(theta):
        found = goodness_of_fit(karate(), formula, theta, draws=2, burn_in=500, seed=7)
        return found.distributions["degree"].simulated

    other = theta.sel(term=coords["term"][::-1])
    for given in (theta, other, theta.transpose("term", ...), values, theta.drop_vars("term")):
        np.testing.assert_array_equal(fit(given), fit(values[0]))
    np.testing.assert_array_equal(fit(other[0, 0]), fit(values[0, 0]))
    with pytest.raises(bdp.errors.InvalidInput, match="other labels than the statistics' names"):
        goodness_of_fit(karate(), formula, theta.assign_coords(term=["edges", "mutual"]))


def test_a_hundred_thousand_nodes_are_sampled():
    n, ties = 100_000, 100_000
    theta = np.log(2 * ties / n**2)
    drawn = simulate(n, "edges + gwesp(0.5)", [theta, 0.1], burn_in=1_500_000, interval=1, seed=1)
    assert drawn.statistics[0, 0, 0] == len(drawn.networks[0][0].edges)
    assert drawn.statistics[0, 0, 0] == pytest.approx(ties, rel=0.05)


def test_the_generator_is_xoshiro256plusplus():
    """First outputs from the state (1, 2, 3, 4), as of the authors' C code."""
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [int(next_word(state)) for _ in range(6)] == [
        41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205,
        9973669472204895162,
    ]  # fmt: skip
    numbers = np.array([uniform(state) for _ in range(20_000)])
    assert stats.kstest(numbers, "uniform").pvalue > 1e-6
    counts = np.bincount([below(state, 7) for _ in range(20_000)], minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-6


def test_words_are_counted():

    @kernel
    def ones(word):
        return count_ones(word)

    @kernel
    def lowest(word):
        return lowest_one(word)

    for word in (1, 6, 2**63, 2**64 - 1, 0b1011000):
        assert ones(np.uint64(word)) == word.bit_count()
        assert lowest(np.uint64(word)) == (word & -word).bit_length() - 1
    assert ones(np.uint64(0)) == 0
