"""The lazy draw: its law, by enumeration of what it would do, is that of the whole grid."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.errors import EngineFailed
from bayesdp.mechanisms.censored import grid as censored_grid
from bayesdp.mechanisms.censored.grid import ClippedPosterior, Grid


def posterior(
    bits: tuple[int, int] = (4, 3),
    prior_phi: tuple[float, float] = (1.0, 1.0),
    interval: tuple[float, float] = (-2.0, 2.0),
    n: int = 40,
) -> ClippedPosterior:
    y = np.sort(np.random.default_rng(n).beta(0.5, 3, size=n))
    return ClippedPosterior(Grid(bits, prior_phi, (0.1, 1.5), 1000.0), *interval, y)


def by_brute_force(law: ClippedPosterior) -> np.ndarray:
    """Probabilities of all cells from every record, the textbook way."""
    grid = law.grid
    i, j = np.arange(1 << grid.bits[0]) + 0.5, np.arange(1 << grid.bits[1]) + 0.5
    phi = i[:, None, None] / (1 << grid.bits[0])
    start, end = math.log(grid.prior_lambda[0]), math.log(grid.largest)
    lam = np.exp(start + (end - start) * j[:, None] / (1 << grid.bits[1]))
    density = stats.beta(lam * phi, lam * (1 - phi)).logpdf(law.records)
    total = np.clip(density, law.low, law.high).sum(axis=2)
    prior = stats.beta(*grid.prior_phi).logpdf(phi[:, :, 0])
    prior = (
        prior + stats.pareto(grid.prior_lambda[1], scale=0.1).logpdf(lam[:, 0]) + np.log(lam[:, 0])
    )
    return special.softmax(total + prior)


CASES = [
    posterior(),
    posterior((0, 0)),
    posterior((5, 0)),
    posterior((0, 4), n=1),
    posterior((3, 5), prior_phi=(0.4, 3.0), interval=(-0.1, 0.3)),
    posterior((4, 4), prior_phi=(5.0, 0.7), interval=(-30.0, 30.0), n=300),
]
each = pytest.mark.parametrize("law", CASES, ids=range(len(CASES)))


@each
def test_the_weights_are_those_of_every_record_and_cell(law: ClippedPosterior):
    cells = [[law.log_weight(i, j) for j in range(1 << law.grid.bits[1])]
             for i in range(1 << law.grid.bits[0])]  # fmt: skip
    ours = special.softmax(np.array(cells, dtype=float))
    assert ours == pytest.approx(by_brute_force(law), rel=1e-9, abs=1e-300)


def implied(law: ClippedPosterior) -> dict[tuple[int, int], mp.mpf]:
    """Probability that a proposal is each cell and accepted, and that no cell is missed."""
    weights, totals, top = law._table
    blocks, found = law.blocks, {}
    with mp.workdps(60):
        for k, weight in enumerate(weights):
            wide, high = 1 << int(blocks.wide[k]), 1 << int(blocks.high[k])
            assert totals[k] - (totals[k - 1] if k else 0) == weight * wide * high
            for i in range(int(blocks.i[k]), int(blocks.i[k]) + wide):
                for j in range(int(blocks.j[k]), int(blocks.j[k]) + high):
                    gamma = top - law.log_weight(i, j)
                    accept = (
                        mp.mpf(2) ** 100
                        / weight
                        * mp.exp(-mp.mpf(gamma.numerator) / gamma.denominator)
                    )
                    assert 0 < accept <= 1
                    assert (i, j) not in found
                    found[i, j] = mp.mpf(weight) / totals[-1] * accept
    return found


@each
@pytest.mark.parametrize("excess", [math.log(1.5), 3.0, 1e-3])
def test_the_law_of_a_draw_is_that_of_the_grid(law, excess, monkeypatch):
    """Whether the blocks are large or single cells."""
    monkeypatch.setattr(censored_grid, "_EXCESS", excess)
    fresh = ClippedPosterior(law.grid, law.low, law.high, law.records)
    found = implied(fresh)
    assert len(found) == 1 << sum(law.grid.bits)
    whole = sum(found.values())
    for (i, j), truth in np.ndenumerate(by_brute_force(law)):
        assert float(found[i, j] / whole) == pytest.approx(truth, rel=1e-9, abs=1e-300)


def test_most_proposals_are_accepted():
    law = posterior((30, 30), n=2000)
    blocks = law.blocks
    assert 100 < blocks.i.size < 5000
    cells = [(1 << int(w)) * (1 << int(h)) for w, h in zip(blocks.wide, blocks.high, strict=True)]
    assert sum(cells) == 1 << 60
    with bdp.reproducible(1):
        taken = len(law._accepted(1000))
    assert stats.binom(1000, 0.5).cdf(taken) > 1e-6


@each
def test_draws_follow_the_law(law: ClippedPosterior):
    """Chi-square over the cells, false alarm below 1e-6."""
    with bdp.reproducible(2):
        drawn = law.draw(4000)
    places = drawn[:, 0] * (1 << law.grid.bits[1]) + drawn[:, 1]
    expected = by_brute_force(law).ravel() * 4000
    seen = np.bincount(places, minlength=expected.size)
    often = expected >= 5
    if often.sum() > 1:
        rest = max(expected[~often].sum(), 1.0)
        distance = np.sum((seen[often] - expected[often]) ** 2 / expected[often])
        distance += (seen[~often].sum() - expected[~often].sum()) ** 2 / rest
        assert stats.chi2.sf(distance, often.sum()) > 1e-6
    else:
        assert seen[often].sum() > 3900


def test_the_jitter_is_uniform_inside_the_cell():
    law = posterior((0, 0), n=1)
    with bdp.reproducible(3):
        phi, lam = law.drawn(3000).T
    assert stats.kstest(phi, "uniform").pvalue > 1e-6
    assert stats.kstest(np.log(lam / 0.1) / np.log(1e4), "uniform").pvalue > 1e-6


def test_a_broken_bound_stops_the_draw():
    law = posterior((2, 2))
    law.blocks.bound[:] -= 100
    with pytest.raises(EngineFailed, match="exceeds its bound"):
        law.draw(1)


def test_a_block_that_weighs_nothing_can_still_be_drawn():
    """Its integer weight is at least 1: no mass is left to a delta."""
    law = posterior((6, 6), n=5000)
    weights, _, _ = law._table
    assert min(weights) == 1
    assert all(isinstance(w, int) for w in weights)
    assert law.log_weight(63, 63) < Fraction(law.blocks.bound.max()) - 800
