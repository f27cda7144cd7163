"""Triangles by smooth sensitivity: the sensitivity, the law, the promise, and what is refused."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.graphs import triangle_sensitivity
from bayesdp.mechanisms.graphs.noisy_triangles import FURTHEST
from bayesdp.mechanisms.graphs.triangle_sensitivity import triangles
from bayesdp.mechanisms.noise import cauchy as cauchy_noise
from bayesdp.mechanisms.noise.cauchy import (
    ENOUGH,
    cauchy_draw,
    cauchy_log_pmf,
    cauchy_log_upper,
    largest_alpha,
)
from bayesdp.networks import Network
from tests.networks.oracles import karate


def all_graphs(n: int) -> tuple[list[tuple[int, int]], list[Network]]:
    """The dyads, and the graphs: number x has dyad k if bit k of x is set."""
    dyads = list(itertools.combinations(range(n), 2))
    return dyads, [
        Network(n, [d for k, d in enumerate(dyads) if x >> k & 1]) for x in range(1 << len(dyads))
    ]


def one_more_or_less(n: int, values: np.ndarray) -> list[np.ndarray]:
    """Last axis: a value a graph on n nodes; now that of the graph with each tie changed."""
    dyads = n * (n - 1) // 2
    return [values[..., np.arange(1 << dyads) ^ (1 << k)] for k in range(dyads)]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_sensitivity_within_some_changes_is_the_largest_there_is(n: int):
    """Nissim, Raskhodnikova and Smith (2007), Claim 3.13, on all graphs and all distances."""
    dyads, graphs = all_graphs(n)
    number = np.array([sum(nx.triangles(g.to_networkx()).values()) // 3 for g in graphs])
    within = [np.max([abs(number - other) for other in one_more_or_less(n, number)], axis=0)]
    for _ in range(len(dyads) + 2):
        within.append(np.max([within[-1], *one_more_or_less(n, within[-1])], axis=0))
    found = [triangles(graph) for graph in graphs]
    assert [t.number for t in found] == number.tolist()
    s = np.arange(len(within))
    assert np.array_equal([t.local_sensitivity(s) for t in found], np.array(within).T)
    for beta in (0.02, 0.5, 4.0):
        smooth = np.array([t.smooth_sensitivity(beta) for t in found])
        expected = np.max(np.exp(-beta * s)[:, None] * within, axis=0)
        np.testing.assert_allclose(smooth, expected, rtol=1e-14)
        for other in one_more_or_less(n, smooth):
            assert np.all(smooth <= math.exp(beta) * other * (1 + 1e-14))


def dense_sensitivity(network: Network, s: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of triangles and LS(s), over all pairs of nodes."""
    ties = network.to_adjacency().astype(np.int64)
    common, degree = ties @ ties, ties.sum(axis=0)
    i, j = np.triu_indices(network.n, 1)
    a = common[i, j]
    b = degree[i] + degree[j] - 2 * a - 2 * ties[i, j]
    reached = a[:, None] + (s + np.minimum(s, b[:, None])) // 2
    return int(np.trace(common @ ties)) // 6, np.minimum(reached.max(axis=0), network.n - 2)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1 << 22, 50])
@pytest.mark.parametrize("density", [0.0, 0.03, 0.1, 0.5, 0.97, 1.0])
def test_sparse_search_finds_what_all_pairs_have(block: int, density: float, monkeypatch):
    monkeypatch.setattr(triangle_sensitivity, "_BLOCK", block)
    rng = np.random.default_rng(int(100 * density))
    for n in (3, 17, 60):
        pairs = np.argwhere(np.triu(rng.random((n, n)) < density, 1))
        network, s = Network(n, pairs), np.arange(2 * n)
        found = triangles(network)
        number, expected = dense_sensitivity(network, s)
        assert found.number == number
        assert np.array_equal(found.local_sensitivity(s), expected)
        for beta in (0.01, 1.0):
            assert found.smooth_sensitivity(beta) == np.max(np.exp(-beta * s) * expected)


@settings(max_examples=200)
@given(st.integers(0, 2**53), st.floats(1e-9, 1e9))
def test_law_keeps_its_digits_far_into_the_tails(k: int, scale: float):
    with mp.workdps(80):
        c = mp.mpf(scale)
        lower, upper = (mp.atan((k + h) / c) for h in (mp.mpf(-1) / 2, mp.mpf(1) / 2))
        pmf, tail = (upper - lower) / mp.pi, mp.mpf(1) / 2 - lower / mp.pi
        assert abs(mp.exp(mp.mpf(float(cauchy_log_pmf(k, scale)))) / pmf - 1) < 1e-13
        assert abs(mp.exp(mp.mpf(float(cauchy_log_upper(k, scale)))) / tail - 1) < 1e-13
    assert cauchy_log_pmf(-k, scale) == cauchy_log_pmf(k, scale)


def words(*each: int):
    """A generator of random words that gives these."""
    given = iter(each)
    return lambda count: np.array([next(given) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ((2**63, 2**62, 0), 50),  # y / x = 1 / 2, which is far from a boundary
        ((2**63, 2**62, 1), -50),
        ((200 * 2**50, 2**50, 5, 2**63, 0), 1),  # across 1 / 2: more bits
        ((0, 2**63, 2**60, 0, 0), 100 * 2**67),  # x wants more bits
        ((2**64 - 1, 2**64 - 1, 2**63, 2**62, 0), 50),  # outside the disc: drawn again
        ((2**64 - 1, 0, 2**63, 2**62, 2**63, 2**62, 0), 0),  # across the circle: more bits
    ],
)
def test_draw_takes_as_many_bits_as_it_needs(drawn, expected: int, monkeypatch):
    monkeypatch.setattr(cauchy_noise, "random_words", words(*drawn))
    cut = min(abs(expected), ENOUGH)
    assert cauchy_draw(Fraction(100)) == (cut if expected >= 0 else -cut)


@settings(max_examples=300)
@given(
    st.fractions(Fraction(1, 50), 50), st.lists(st.integers(0, 2**64 - 1), min_size=8, max_size=8)
)
def test_draw_rounds_the_point_that_its_bits_begin(scale: Fraction, drawn: list[int]):
    """Whatever bits follow, the integer nearest to scale y / x is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cauchy_noise, "random_words", words(*drawn))
        try:
            found = cauchy_noise._one_point(scale)
        except StopIteration:  # bits beyond those given
            return
    x, y = (sum(w << 64 * (3 - k) for k, w in enumerate(drawn[s::2])) for s in (0, 1))
    if x * x + y * y >= 1 << 512:
        assert found is None
    elif found != ENOUGH:
        assert found == math.floor(scale * Fraction(y, x) + Fraction(1, 2))


@pytest.mark.parametrize(
    ("epsilon", "beta"), [(0.3, None), (1.0, 0.2), (1.0, 0.95), (2.0, None), (20.0, None)]
)
def test_no_neighbours_on_four_nodes_cost_more_than_promised(epsilon: float, beta: float | None):
    """The largest log ratio of the exact law, over all graphs, neighbours and outputs."""
    mechanism = bdp.mechanisms.NoisyTrianglesMechanism(epsilon, beta, nodes=4)
    _, graphs = all_graphs(4)
    far = [int(1.1**k) for k in range(60, 370)]
    z = np.array([*range(-300, 301), *far, -FURTHEST, FURTHEST, FURTHEST - 1])
    law = mechanism.logp(z[:, None], graphs)
    assert law.shape == (z.size, 64)
    by_tie = max(np.max(np.abs(law - other)) for other in one_more_or_less(4, law))
    assert 0.85 * epsilon < by_tie <= mechanism.guarantee().epsilon == epsilon
    # Graphs that differ in node 0's dyads alone, the first three, have the same other bits.
    by_node = max(
        np.max(law[:, x].max(axis=1) - law[:, x].min(axis=1))
        for x in (np.arange(8) + 8 * rest for rest in range(8))
    )
    promised = mechanism.guarantee(neighbours=bdp.Neighbours.NODE).epsilon
    assert by_tie <= by_node <= promised
    assert 3 * Fraction(epsilon) <= promised == pytest.approx(3 * epsilon, rel=1e-15)


positive = st.floats(1e-3, 1e3)


@given(positive, positive, positive | st.just(0.0))
def test_log_ratio_of_two_cauchy_densities_is_known_exactly(c: float, other: float, shift: float):
    """The largest over all x, where the derivative of the log ratio vanishes."""
    d = math.acosh(1 + ((c - other) ** 2 + shift**2) / (2 * c * other))
    x = np.roots([shift, c**2 - other**2 - shift**2, -shift * c**2]).real if shift else np.zeros(1)
    ratio = np.log(c / other) + np.log((other**2 + (x - shift) ** 2) / (c**2 + x**2))
    at_infinity = abs(math.log(c / other))
    assert max(np.abs(ratio).max(), at_infinity) == pytest.approx(d, rel=1e-6, abs=1e-6)


@given(st.floats(1e-4, 20), st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1))
def test_no_pair_within_smoothness_costs_more(epsilon, part: float, slide: float, dilate: float):
    """With S = 1 and S' = exp(u), and the local sensitivity at most both: in high precision."""
    beta = part * epsilon
    with mp.workdps(60):
        alpha = mp.mpf(largest_alpha(epsilon, beta))
        for u in (dilate * beta, 0.0, beta):
            for shift in (slide * alpha, alpha):  # the smaller scale is 1
                cost = mp.acosh(mp.cosh(u) + shift**2 * mp.exp(-mp.mpf(u)) / 2)
                assert cost <= epsilon * (1 + mp.mpf(10) ** -13)
        ends = [mp.acosh(mp.cosh(u) + alpha**2 * mp.exp(-mp.mpf(u)) / 2) for u in (0, beta)]
        assert max(ends) >= epsilon * (1 - mp.mpf(10) ** -13)
        assert alpha >= (epsilon - beta) * (1 - mp.mpf(10) ** -13)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 20.0])
def test_rounding_is_paid_for(epsilon: float):
    """alpha is that of an epsilon smaller by what errors of S, alpha and c cost both graphs."""
    mechanism = bdp.mechanisms.NoisyTrianglesMechanism(epsilon)
    beta = mp.mpf(mechanism.beta)
    with mp.workdps(60):

        def cost(u):
            return mp.acosh(mp.cosh(u) + mp.mpf(mechanism.alpha) ** 2 * mp.exp(-u) / 2)

        missing = epsilon - max(cost(0), cost(beta))
    assert missing >= 2 * (5 * epsilon + 45) * 2.0**-53
    assert missing <= 2e-14 * (1 + epsilon)


def test_beta_suits_epsilon():
    """On a real graph the noise is within a tenth of the narrowest that any beta gives."""
    club = triangles(karate())
    for epsilon in (0.1, 1.0, 3.0):
        chosen = bdp.mechanisms.NoisyTrianglesMechanism(epsilon)
        widths = [
            club.smooth_sensitivity(b) / largest_alpha(epsilon, b)
            for b in epsilon * np.linspace(0.02, 0.98, 97)
        ]
        assert chosen.scale(karate()) <= 1.1 * min(widths)


def test_noise_follows_the_graph_and_not_the_worst_one():
    mechanism = bdp.mechanisms.NoisyTrianglesMechanism(1.0)
    ring = Network.from_networkx(nx.cycle_graph(3000))
    assert mechanism.scale(ring) < 2
    assert mechanism.scale(nx.complete_bipartite_graph(2, 500)) > 475
    sparse = nx.gnm_random_graph(3000, 9000, seed=1)
    assert mechanism.scale(sparse) == pytest.approx(
        triangles(Network.from_networkx(sparse)).smooth_sensitivity(mechanism.beta)
        / (2 * math.sinh(0.5)),
        rel=1e-12,
    )


def test_outputs_are_cut_off_where_floats_stop_being_exact(monkeypatch):
    mechanism = bdp.mechanisms.NoisyTrianglesMechanism(1.0)
    monkeypatch.setattr(cauchy_noise, "random_words", words(0, 2**63, 2**60, 0, 0))
    assert mechanism.release(karate()).tolist() == [FURTHEST]
    monkeypatch.setattr(cauchy_noise, "random_words", words(0, 2**63, 2**60, 0, 1))
    assert mechanism.release(karate()).tolist() == [-FURTHEST]
    law = mechanism.logp([-FURTHEST - 1, 0.5, math.inf, math.nan], karate())
    assert np.all(law == -np.inf)


def test_release_survives_the_disk_and_the_ledger(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("club", epsilon=3.0, neighbours="edge")
    release = bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=3.0).release(
        nx.karate_club_graph(), copies=2, ledger=ledger.dataset("club")
    )
    assert release.guarantee.epsilon == 3.0
    assert release.guarantee.neighbours is bdp.Neighbours.EDGE
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert release.mechanism.nodes == 34
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.to_frames()[1]["triangle"].tolist() == [release.outputs[1]]
    with pytest.raises(bdp.errors.BudgetExceeded):
        bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=0.1).release(
            karate(), ledger=ledger.dataset("club")
        )


def test_promise_is_made_from_a_declaration():
    release = bdp.Release.of(
        bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=2.0, beta=0.5), outputs=[37]
    )
    assert release.mechanism == bdp.mechanisms.NoisyTrianglesMechanism(2.0, 0.5)
    assert release.guarantee.epsilon == 2.0
    declared = bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=2.0)
    assert declared.mechanism_like(karate()).nodes == 34
    assert declared.mechanism_like(nx.path_graph(5)).nodes == 5
    smaller = release.mechanism.guarantee(copies=2, delta=0.1)
    assert smaller.epsilon < 4.0
    assert smaller.delta == 0.1


@pytest.mark.slow
def test_search_for_worse_neighbours_finds_none():
    with bdp.reproducible(1):
        found = bdp.audit(
            bdp.mechanisms.NoisyTrianglesMechanism(1.0, nodes=5), trials=2000, search=30
        )
    assert not found.convicted


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=0), "epsilon is 0"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=-1.0), "epsilon is -1"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1e-7), "from 1e-06 to 20"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=21), "from 1e-06 to 20"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1.0, beta=0), "beta is 0"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1.0, beta=1.0), "beta"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1.0, beta=math.nan), "beta"),
        (lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1.0, beta="half"), "beta"),
        (lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0, nodes=2), "nodes is 2"),
        (
            lambda: bdp.synthesizers.NoisyTrianglesSynthesizer().release(
                nx.DiGraph([(0, 1), (1, 2)])
            ),
            "directed",
        ),
        (
            lambda: bdp.synthesizers.NoisyTrianglesSynthesizer().release(Network(2, [[0, 1]])),
            "nodes is 2",
        ),
        (
            lambda: bdp.synthesizers.NoisyTrianglesSynthesizer().release([[0, 1]]),
            "a network is wanted",
        ),
        (
            lambda: bdp.synthesizers.NoisyTrianglesSynthesizer().release(karate(), copies=0),
            "copies is 0",
        ),
        (
            lambda: bdp.Release.of(bdp.synthesizers.NoisyTrianglesSynthesizer(), outputs=[1.5]),
            r"output is 1\.5",
        ),
        (
            lambda: bdp.Release.of(bdp.synthesizers.NoisyTrianglesSynthesizer(), outputs=[True]),
            "output is True",
        ),
        (
            lambda: bdp.Release.of(bdp.synthesizers.NoisyTrianglesSynthesizer(), outputs=[2**53]),
            "output is",
        ),
        (
            lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0, nodes=5).release(karate()),
            "34 nodes",
        ),
        (lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0).evidence(3), "how many nodes"),
        (
            lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0).guarantee(neighbours="node"),
            "nodes=",
        ),
        (
            lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0).guarantee(neighbours="add_remove"),
            "'edge'",
        ),
        (
            lambda: bdp.mechanisms.NoisyTrianglesMechanism(1.0).decode(
                {"copy": [0, 0], "triangles": [1, 2]}
            ),
            "one row for each copy",
        ),
    ],
)
def test_what_cannot_be_is_refused(declare, message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        declare()
