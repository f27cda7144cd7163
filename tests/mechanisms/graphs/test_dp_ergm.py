"""The corrected calibrations: every epsilon, over all small graphs and their neighbours."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_softmax, logsumexp

import bayesdp as bdp
from bayesdp.core.fields import written
from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism
from bayesdp.mechanisms.selection import posterior_cells
from bayesdp.mechanisms.selection.histogram_cost import scale_for
from bayesdp.mechanisms.selection.histogram_law import log_probabilities
from bayesdp.networks import Network, statistics

CASES = [
    (4, False, "edges", (-1.0,), (0.7,)),
    (4, False, "edges + triangle", (-1.0, 0.2), (0.8, 0.3)),
    (4, False, "edges + gwesp(0.5)", (-0.5, 0.0), (0.5, 0.25)),
    (4, False, "degree(1) + isolates", (0.0, 0.0), (0.3, 1.0)),
    (3, True, "edges + mutual", (-1.0, 0.5), (0.6, 0.9)),
]
CASE = pytest.mark.parametrize(("n", "directed", "formula", "centre", "scale"), CASES)


class Small:
    """All graphs on few nodes, as rows of ties, and their statistics."""

    def __init__(self, n, directed, formula):
        pairs = [(i, j) for i in range(n) for j in range(n) if (i != j if directed else i < j)]
        self.ties = np.array(list(itertools.product((0, 1), repeat=len(pairs))))
        self.networks = [
            Network(n, [p for p, tied in zip(pairs, row, strict=True) if tied], directed)
            for row in self.ties
        ]
        self.statistics = np.array([[*statistics(g, formula).values()] for g in self.networks])
        self.edge = [self._differing([dyad]) for dyad in range(len(pairs))]
        self.node = [
            self._differing([k for k, pair in enumerate(pairs) if node in pair])
            for node in range(n)
        ]

    def _differing(self, dyads):
        """Groups of graphs that differ in these dyads alone: neighbours of each other."""
        kept = np.delete(self.ties, dyads, axis=1)
        groups = np.unique(kept, axis=0, return_inverse=True)[1].ravel()
        return [np.flatnonzero(groups == k) for k in range(groups.max() + 1)]

    def loss(self, log_law, relation):
        """The largest log ratio between neighbours; log_law of shape (graphs, outputs)."""
        return max(
            np.ptp(log_law[group], axis=0).max()
            for groups in getattr(self, relation)
            for group in groups
        )


def made(n, directed, formula, centre, scale, **changed):
    mechanism = bdp.synthesizers.DPERGMSynthesizer(
        formula, **({"epsilon": 1.0, "centre": centre, "scale": scale, "bins": 6} | changed)
    )
    return mechanism.mechanism_like(Network(n, directed=directed))


def cells_law(mechanism, grid, small):
    """log Pr[cell | graph], shape (graphs, cells)."""
    choice = grid.exponential(mechanism.cost)
    utilities = np.array([grid.utilities(s) for s in small.statistics])
    return np.array([choice.logp(np.arange(choice.k), u) for u in utilities])


def network_law(grid, small, points=5):
    """Pr[network | cell], shape (cells, graphs), over uniform points of a cell."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    steps = 2 * np.arange(grid.bins) + 1 - grid.bins
    law = 0.0
    for where in itertools.product(range(points), repeat=len(grid.centre)):
        axes = [
            c + float(w) * (steps + nodes[k])
            for c, w, k in zip(grid.centre, grid.width, where, strict=True)
        ]
        theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        law = law + np.prod(weights[list(where)] / 2) * np.exp(
            log_softmax(theta @ small.statistics.T, axis=1)
        )
    return law


@pytest.mark.slow
@CASE
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 1e3])
def test_sdd_keeps_its_epsilon_on_all_graphs(n, directed, formula, centre, scale, epsilon):
    small = Small(n, directed, formula)
    mechanism = made(n, directed, formula, centre, scale, epsilon=epsilon)
    grid = mechanism.public_grid(Network(n, directed=directed))
    log_law = cells_law(mechanism, grid, small)
    edge = mechanism.guarantee().epsilon
    node = mechanism.guarantee(neighbours="node").epsilon
    assert edge <= epsilon
    assert node == pytest.approx((n - 1) * (2 if directed else 1) * edge, rel=1e-12)
    assert 0.2 * edge < small.loss(log_law, "edge") <= edge * (1 + 1e-12)
    assert small.loss(log_law, "node") <= node * (1 + 1e-12)
    # What crosses is the network alone, drawn from the cell.
    crossed = np.log(np.exp(log_law) @ network_law(grid, small))
    assert np.exp(crossed).sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert 0 < small.loss(crossed, "edge") <= edge
    assert small.loss(crossed, "node") <= node


@CASE
@pytest.mark.parametrize("epsilon", [2.0, 30.0, 1e4])
def test_an_epsilon_under_node_is_kept_on_all_graphs(n, directed, formula, centre, scale, epsilon):
    small, empty = Small(n, directed, formula), Network(n, directed=directed)
    mechanism = made(n, directed, formula, centre, scale, epsilon=epsilon, neighbours="node")
    law = cells_law(mechanism, mechanism.public_grid(empty), small)
    promised = mechanism.guarantee()
    assert (promised.neighbours, promised.epsilon <= epsilon) == ("node", True)
    assert mechanism.guarantee(neighbours="edge").epsilon == mechanism.cost
    assert 0 < small.loss(law, "edge") <= mechanism.cost * (1 + 1e-12)
    assert 0.1 * promised.epsilon < small.loss(law, "node") <= promised.epsilon * (1 + 1e-12)
    # Where the grid is too wide for epsilon, all of it is spent.
    assert promised.epsilon == pytest.approx(epsilon) or mechanism.power == 1
    assert mechanism.guarantee(copies=3).epsilon <= 3 * epsilon


def test_a_ledger_of_node_neighbours_is_charged_what_was_declared(tmp_path):
    network = Network(6, [(0, 1), (2, 5)])
    for method in ("sdd", "sphc"):
        declared = bdp.synthesizers.DPERGMSynthesizer(
            "edges", 3.0, method, centre=-1, scale=1, bins=4, neighbours="node"
        )
        ledger = bdp.Ledger.open(f"sqlite:///{tmp_path / method}.db")
        ledger = ledger.create("friends", epsilon=3, neighbours="node")
        release = declared.release(network, copies=3, ledger=ledger)
        assert release.guarantee == declared.guarantee(network, copies=3)
        assert ledger.remaining().epsilon == pytest.approx(0, abs=1e-12)
        assert 2.9 < release.guarantee.epsilon <= 3


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-3, 1.0, 1e4, 1e9]))
@settings(max_examples=25, deadline=None)
def test_whatever_stands_for_the_constant_costs_no_privacy(seed, spread):
    """A simulated log Z may be far off: the epsilon holds for any public numbers."""
    n, directed, formula, centre, scale = CASES[2]
    small = Small(n, directed, formula)
    mechanism = made(n, directed, formula, centre, scale, epsilon=0.7)
    grid = mechanism.public_grid(Network(n))
    public = spread * np.random.default_rng(seed).normal(size=grid.public.shape)
    log_law = cells_law(mechanism, dataclasses.replace(grid, public=public), small)
    assert small.loss(log_law, "edge") <= 0.7 * (1 + 1e-9)


@pytest.mark.slow
def test_sdd_draws_the_posterior_to_its_power():
    n, formula = 4, "edges + nodematch('g')"
    network = Network(n, [[0, 1], [0, 2], [1, 3]], attributes={"g": ["a", "a", "b", "b"]})
    for epsilon, power in ((0.5, None), (1e3, 1.0)):
        prior = bdp.networks.NormalPrior([-1.0, 0.0], [1.0, 0.8])
        declared = bdp.synthesizers.DPERGMSynthesizer(
            formula, epsilon, prior=prior, bins=7, attributes=("g",)
        )
        mechanism = declared.mechanism_like(network)
        grid = mechanism.public_grid(network.with_edges(()))
        s = mechanism.bound_on(network.with_edges(())).graph(network)[1]
        theta = [np.linspace(-3, 3, 15)[1::2] * c + m for m, c in ((-1, 1), (0, 0.8))]
        points = np.stack(np.meshgrid(*theta, indexing="ij"), axis=-1).reshape(-1, 2)
        # Two dyads match and four don't.
        log_z = 2 * np.logaddexp(0, points.sum(axis=1)) + 4 * np.logaddexp(0, points[:, 0])
        log_prior = stats.norm.logpdf(points, [-1, 0], [1, 0.8]).sum(axis=1)
        expected = log_softmax(mechanism.power * (log_prior + points @ s - log_z))
        choice = grid.exponential(mechanism.cost)
        assert choice.logp(np.arange(49), grid.utilities(s)) == pytest.approx(expected, abs=1e-6)
        if power:
            assert mechanism.power == power
            whole = 2 * 6 * 3 / 7 * (1.0 + 0.8)
            assert mechanism.cost == pytest.approx(whole, rel=1e-12) != epsilon
        else:
            assert mechanism.cost == epsilon


@pytest.mark.slow
def test_coefficients_are_uniform_in_the_cells_drawn():
    """Chi-square over 36 cells and over tenths of a cell, false alarm 1e-8; seeded."""
    n, directed, formula, centre, scale = CASES[1]
    mechanism = made(n, directed, formula, centre, scale, epsilon=4.0)
    network = Network(4, [[0, 1], [1, 2], [0, 2]])
    with bdp.reproducible(5):
        grid = mechanism.public_grid(network.with_edges(()))
    with bdp.reproducible(5):
        drawn = mechanism.coefficients(network, 20_000)
    low = np.array(centre) - 3 * np.array(scale)
    place = (drawn - low) / np.array(scale)
    assert np.all((place >= 0) & (place <= 6))
    cell = np.floor(place).astype(int)
    law = np.exp(cells_law(mechanism, grid, Small(n, directed, formula)))
    s = np.array([3.0, 1.0])
    choice = grid.exponential(mechanism.cost)
    expected = np.exp(choice.logp(np.arange(36), grid.utilities(s))) * 20_000
    assert law.shape == (64, 36)
    seen = np.bincount(cell[:, 0] * 6 + cell[:, 1], minlength=36)
    assert stats.chisquare(seen, expected).pvalue > 1e-8
    for axis in range(2):
        tenths = np.bincount((10 * (place[:, axis] % 1)).astype(int), minlength=10)
        assert stats.chisquare(tenths).pvalue > 1e-8


def histogram_loss(small, pi, draws, scale, relation, bins=3):
    """The exact largest log ratio of noisy histograms of `draws` draws from the rows of pi.

    Beyond 0 and N a count's noise changes all probabilities by one factor, so that outputs from 0
    to N have all the ratios there are.
    """
    counts = np.array(list(itertools.product(range(draws + 1), repeat=bins)))
    drawn = counts[counts.sum(axis=1) == draws]
    chance = np.array([stats.multinomial.logpmf(drawn, draws, p) for p in pi])
    noise = -np.abs(counts[:, None] - drawn[None]).sum(axis=2) / scale
    return small.loss(logsumexp(chance[:, None] + noise[None], axis=2), relation)


@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("draws", [1, 4])
def test_sphc_keeps_its_epsilon_on_all_graphs(epsilon, draws):
    small = Small(4, False, "edges")
    mechanism = made(4, False, "edges", (-1,), (3,), epsilon=epsilon, method="sphc", bins=3)
    grid = mechanism.public_grid(Network(4))
    u = np.array([grid.utilities(s) for s in small.statistics]) * 2.0**-grid.bits
    pi = np.exp(log_softmax(u, axis=1))
    for relation in ("edge", "node"):
        assert mechanism.guarantee(neighbours=relation).epsilon == epsilon
        loss = histogram_loss(small, pi, draws, 2 * draws / epsilon, relation)
        assert 0 < loss <= epsilon
    # Posteriors that share no cell, with which it is attained.
    apart = np.eye(3)[small.ties[:, 0]]
    loss = histogram_loss(small, apart.clip(1e-300), draws, 2 * draws / epsilon, "edge")
    assert loss == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.4, 3.0])
@pytest.mark.parametrize("draws", [2, 40])
def test_one_cell_of_sphc_keeps_epsilon_with_less_noise(epsilon, draws):
    small = Small(4, False, "edges")
    declared = {"epsilon": epsilon, "method": "sphc", "bins": 6, "draws": draws}
    mechanism = made(4, False, "edges", (-1,), (3,), **declared)
    assert mechanism.noise_scale == scale_for(draws, 6, epsilon) < 2 * draws / epsilon
    grid = mechanism.public_grid(Network(4))
    u = np.array([grid.utilities(s) for s in small.statistics]) * 2.0**-grid.bits
    apart = np.where(np.eye(6)[small.ties.sum(axis=1) % 6] > 0, 0.0, -700.0)
    for relation in ("edge", "node"):
        assert mechanism.guarantee(neighbours=relation).epsilon == epsilon
        for weights in (u, apart):
            law = log_probabilities(weights, draws, mechanism.noise_scale, whole=True)
            assert 0 < small.loss(law, relation) <= epsilon
    less = log_probabilities(apart, draws, mechanism.noise_scale / 4, whole=True)
    assert small.loss(less, "edge") > epsilon


def test_coefficients_by_sphc_follow_the_law_of_less_noise():
    mechanism = made(4, False, "edges", (-1,), (3,), epsilon=3.0, method="sphc", draws=50)
    network, grid = Network(4, [[0, 1], [1, 2]]), mechanism.public_grid(Network(4))
    weights = grid.utilities([Fraction(2)]) * 2.0**-grid.bits
    law = np.exp(log_probabilities(weights, 50, mechanism.noise_scale, whole=True))
    with bdp.reproducible(3):
        drawn = mechanism.coefficients(network, 6000)[:, 0]
    seen = np.histogram(drawn, bins=np.linspace(-10, 8, 7))[0]
    assert stats.chisquare(seen, 6000 * law).pvalue > 1e-3
    whole = np.exp(log_probabilities(weights, 50, 100 / 3.0, whole=True))
    assert stats.chisquare(seen, 6000 * whole).pvalue < 1e-6


def test_a_release_without_a_scale_has_noise_of_twice_the_draws(monkeypatch):
    asked = []

    def noise(scale, count):
        asked.append((scale, count))
        return np.arange(count)

    monkeypatch.setattr(posterior_cells, "discrete_laplace", noise)
    found = posterior_cells.noisy_counts(np.array([3, 0, 4]), Fraction(14) / Fraction(0.1))
    assert found.tolist() == [3, 1, 6]
    assert asked == [(14 / Fraction(0.1), 3)]
    mechanism = made(4, False, "edges", (-1,), (3,), method="sphc", epsilon=0.1, draws=7)
    mechanism = dataclasses.replace(mechanism, noise_scale=None)
    mechanism.coefficients(Network(4, [[0, 1]]), 3)
    assert asked[1:] == [(14 / Fraction(0.1), 3 * 6)]
    assert "noise_scale" not in written(mechanism)


def test_a_cell_is_drawn_in_proportion_to_what_is_positive():
    with bdp.reproducible(1):
        seen = {posterior_cells.cell_of(np.array([-5, 0, 2, -1, 1])) for _ in range(200)}
        assert seen == {2, 4}
        none = [posterior_cells.cell_of(np.array([-5, 0, -2])) for _ in range(200)]
    assert set(none) == {0, 1, 2}


def test_extreme_graphs_are_not_refused():
    """A refusal that depends on the ties would tell of them."""
    full = list(itertools.combinations(range(6), 2))
    for ties, method in itertools.product(([], full), ("sdd", "sphc")):
        declared = bdp.synthesizers.DPERGMSynthesizer(
            "edges + gwesp(0.5)", 1.0, method, centre=-1, scale=1, bins=4
        )
        network = Network(6, ties)
        assert declared.mechanism_like(network) == declared.mechanism_like(Network(6))
        assert len(declared.mechanism_like(network).release(network, 2)) == 2


BASE = {"formula": "edges", "epsilon": 1.0, "nodes": 5, "directed": False, "sensitivities": (1.0,)}
GRID = {"centre": (-1.0,), "scale": (1.0,)}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"formula": "edges +"}, "formula is"),
        ({"formula": "bees"}, "'bees'"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"nodes": 0}, "nodes is 0"),
        ({"directed": 1}, "directed is 1"),
        ({"sensitivities": ()}, "sensitivities is"),
        ({"sensitivities": (0.0,)}, "sensitivities is"),
        ({"sensitivities": (float("inf"),)}, "sensitivities is"),
        ({"sensitivities": (1.0, 1.0)}, "centre has 1 numbers"),
        ({"method": "mcmc"}, "method is 'mcmc'"),
        ({"calibration": "hoped"}, "calibration is 'hoped'"),
        ({"method": "sdd_mc"}, "empty bin"),
        ({"calibration": "published"}, "centre and scale"),
        ({"centre": None}, "centre is missing"),
        ({"scale": (0.0,)}, "scale is"),
        ({"scale": "wide"}, "scale is a str"),
        ({"prior": (1.0,)}, "prior is"),
        ({"prior": ((0.0,), (-1.0,))}, "prior's sd"),
        ({"bins": 1}, "bins is 1"),
        ({"bins": 100_001}, "bins is 100001"),
        ({"reach": 0.0}, "reach is 0"),
        ({"draws": 1}, "draws is 1"),
        ({"draws": 10**8}, "draws is"),
        ({"method": "sphc", "epsilon": 1e-13}, "64 bits"),
        ({"noise_scale": 9.0}, "for method='sphc' with calibration='corrected' alone"),
        ({"method": "sphc", "noise_scale": 9.0}, "at which one cell costs up to .*, more than eps"),
        ({"method": "sphc", "noise_scale": "much"}, "noise_scale is 'much'"),
        ({"correlation": 1.0}, "correlation is 1"),
        ({"attributes": "grade"}, "attributes is 'grade'"),
        ({"burn_in": 0}, "burn_in is 0"),
        ({"neighbours": "replace_one"}, "of graphs it must be 'edge' or 'node'"),
        (
            {"neighbours": "node", "calibration": "published", "centre": None, "scale": None},
            "claims nothing",
        ),
    ],
)
def test_wrong_parameters_are_named(changed, words):
    with pytest.raises(bdp.errors.InvalidInput, match=words):
        DPERGMMechanism(**(BASE | GRID | changed))


def test_wrong_networks_and_relations_are_refused():
    mechanism = DPERGMMechanism(**BASE, **GRID)
    for wrong in (Network(4), Network(5, directed=True)):
        with pytest.raises(bdp.errors.InvalidInput, match="5 nodes"):
            mechanism.check_statistic(wrong)
        with pytest.raises(bdp.errors.InvalidInput, match="output isn't"):
            mechanism.check_output(wrong)
    with pytest.raises(bdp.errors.InvalidInput, match="a network is wanted"):
        mechanism.check_statistic([[0, 1]])
    for relation in ("add_remove", "replace_one"):
        with pytest.raises(bdp.errors.InvalidInput, match="'edge' or 'node'"):
            mechanism.guarantee(neighbours=relation)
    low = dataclasses.replace(mechanism, sensitivities=(0.5,))
    with pytest.raises(bdp.errors.InvalidInput, match=r"on these nodes they are \(1\.0,\)"):
        low.check_statistic(Network(5))
    wide = dataclasses.replace(mechanism, scale=(1e16,))
    with pytest.raises(bdp.errors.InvalidInput, match="smaller scale"):
        wide.check_statistic(Network(5))
    with pytest.raises(bdp.errors.InvalidInput, match="dyads"):
        dataclasses.replace(mechanism, nodes=20_000).check_statistic(Network(20_000))
    published = dataclasses.replace(mechanism, calibration="published", centre=None, scale=None)
    for attempt in (published.evidence, lambda z: mechanism.logp(z, z)):
        with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.combine"):
            attempt(Network(5))
    perturbed = dataclasses.replace(mechanism, method="sphc")
    with pytest.raises(bdp.errors.InvalidInput, match="power is defined for"):
        _ = perturbed.power
