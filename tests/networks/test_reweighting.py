"""Weights of draws that followed nearly the law of copies from noisy histograms."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.selection.histogram_law import log_probabilities
from bayesdp.networks import Network
from bayesdp.networks.evidence import together
from bayesdp.networks.hidden import reweighting
from bayesdp.networks.hidden.evidence import seen_of
from bayesdp.networks.hidden.kept import Kept
from tests.mechanisms.graphs.test_dp_ergm import Small, made, network_law
from tests.mechanisms.graphs.test_dp_ergm_law import evidence_on

NUMBERS = [11, 63, 62, 0]
CASES = [("edges", (-1.0,), (1.2,)), ("edges + triangle", (-1.0, 0.2), (0.9, 0.4))]


class Setting:
    """Copies of some graphs, and the laws of the graph, by the chain's and the exact one."""

    def __init__(self, formula, centre, scale, **changed):
        self.small = Small(4, False, formula)
        given = {"epsilon": 8.0, "method": "sphc", "draws": 2, "bins": 4} | changed
        mechanism = made(4, False, formula, centre, scale, **given)
        copies = [self.small.networks[k] for k in NUMBERS]
        self.evidence = together([mechanism.evidence(copy) for copy in copies])
        self.seen = seen_of(self.evidence, formula, Network(4))[0]
        self.followed = evidence_on(self.evidence, formula, self.small.networks)
        grid = mechanism.public_grid(Network(4))
        u = np.array([grid.utilities(s) for s in self.small.statistics]) * 2.0**-grid.bits
        scale = mechanism.noise_scale or 1.0
        cells = np.exp(log_probabilities(u, mechanism.draws, scale, whole=True))
        self.exact = np.log(cells @ network_law(grid, self.small, points=20)[:, NUMBERS]).sum(
            axis=1
        )

    def drawn(self, chains, moves):
        """Draws by the law that a chain follows: graph, as its number, and statistics."""
        rng = np.random.default_rng(7)
        p = special.softmax(self.followed)
        number = np.sort(rng.choice(len(p), size=(chains, moves), p=p), axis=1)
        share = self.small.ties.mean(axis=1)[number]
        return Kept(
            draws=number[..., None].astype(float),
            accepted=number % 2 == 0,
            statistics=self.small.statistics[number],
            density=np.stack([share, np.full(share.shape, np.nan)], axis=-1),
            variance=number[..., None] + 0.5,
        )

    def reweighted(self, kept):
        generator = np.random.default_rng(8)
        copies, choices = self.evidence.copies, self.seen.whole.choices
        return reweighting.reweighted(kept, copies, choices, generator)


@pytest.mark.parametrize(("formula", "centre", "scale"), CASES)
def test_weights_are_those_of_the_exact_law(formula, centre, scale):
    setting = Setting(formula, centre, scale)
    statistics = setting.small.statistics[None]
    (seen,) = setting.evidence.copies
    rng = np.random.default_rng(1)
    found, _ = reweighting._log_ratios(seen, seen.histogram, statistics, rng)
    off = setting.exact - setting.followed
    assert np.ptp(off) > 0.1
    np.testing.assert_allclose(found[0] - off, (found[0] - off).mean(), atol=1e-6)


@pytest.mark.parametrize(("formula", "centre", "scale"), CASES)
def test_draws_come_as_often_as_their_weights_say(formula, centre, scale):
    setting = Setting(formula, centre, scale)
    kept = setting.drawn(2, 5_000)
    found, problems = setting.reweighted(kept)
    assert problems == []
    before = 0.0
    for chain in range(2):
        number = kept.draws[chain, :, 0].astype(int)
        weights = special.softmax((setting.exact - setting.followed)[number])
        expected = np.bincount(number, weights, minlength=64) * 5_000
        came = np.bincount(found.draws[chain, :, 0].astype(int), minlength=64)
        before = max(before, np.abs(np.bincount(number, minlength=64) - expected).max())
        assert np.abs(came - expected).max() < 1
    assert before > 1
    number = found.draws[..., 0].astype(int)
    assert np.array_equal(found.statistics, setting.small.statistics[number])
    assert np.array_equal(found.accepted, number % 2 == 0)
    assert np.array_equal(found.variance[..., 0], number + 0.5)
    assert np.array_equal(found.density[..., 0], setting.small.ties.mean(axis=1)[number])
    assert np.isnan(found.density[..., 1]).all()


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_resampling_is_even_and_right_on_average(count, seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(count, 0.5))
    chosen = reweighting._resampled(weights, rng)
    assert (np.diff(chosen) >= 0).all()
    assert len(chosen) == count
    times = np.bincount(chosen, minlength=count)
    assert (np.abs(times - count * weights) < 1 + 1e-9).all()


def test_draws_keep_their_order():
    setting = Setting(*CASES[0])
    kept = setting.drawn(3, 200)
    ordered = kept._replace(draws=np.arange(600.0).reshape(3, 200, 1))
    found, _ = setting.reweighted(ordered)
    assert (np.diff(found.draws[..., 0], axis=1) >= 0).all()
    for chain, draws in enumerate(found.draws[..., 0]):
        assert set(draws) <= set(ordered.draws[chain, :, 0])
        assert np.unique(draws).size > 150


def test_without_histograms_nothing_changes():
    setting = Setting("edges", (-1.0,), (0.7,), method="sdd", draws=100)
    kept = setting.drawn(2, 50)
    found, problems = setting.reweighted(kept)
    assert found is kept
    assert problems == []


def test_where_some_graphs_are_computed_a_line_goes_through_them(monkeypatch):
    setting = Setting(*CASES[1])
    (seen,) = setting.evidence.copies
    rng = np.random.default_rng(1)
    statistics = rng.normal([3.0, 1.0], [0.3, 0.1], size=(2, 200, 2))
    every, none = reweighting._log_ratios(seen, seen.histogram, statistics, rng)
    monkeypatch.setattr(reweighting, "_WORK", 100 * len(seen.base))
    some, residual = reweighting._log_ratios(seen, seen.histogram, statistics, rng)
    assert none == 0 < residual < 0.7 * every.std()
    assert 0 < (every - some).std() < 0.7 * every.std()


def test_weights_that_cannot_be_trusted_are_told(monkeypatch):
    setting = Setting(*CASES[0])
    kept = setting.drawn(1, 400)._replace(statistics=np.linspace(0, 6, 400)[None, :, None])
    (seen,) = setting.evidence.copies

    def steep(log_weights):
        return special.log_softmax(-3 * log_weights, axis=1)

    histogram = dataclasses.replace(seen.histogram, log_chosen=steep)
    setting.evidence = dataclasses.replace(
        setting.evidence, copies=(dataclasses.replace(seen, histogram=histogram),)
    )
    (told,) = setting.reweighted(kept)[1]
    assert "take more draws" in told
    monkeypatch.setattr(reweighting, "_WORK", 1)
    told = " ".join(setting.reweighted(kept)[1])
    assert "release with fewer cells" in told


def test_a_fit_says_so(monkeypatch):
    monkeypatch.setattr(reweighting, "_COUNTING", 1.01)
    copy = Network(5, [[0, 1], [1, 2], [0, 2]])
    mechanism = made(5, False, "edges", (-1.0,), (1.0,), method="sphc", epsilon=4.0, draws=20)
    release = bdp.Release.of(mechanism, outputs=[copy])
    model = bdp.models.ERGMModel("edges", prior=bdp.networks.NormalPrior(-1, 1))
    with pytest.warns(UserWarning, match="weighted by the law of the copies"):
        model.fit(release, draws=200, warmup=200, chains=2, seed=1)
