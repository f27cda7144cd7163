"""What one cell of a noisy histogram costs, against every histogram there can be."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.families import Bernoulli, Categorical
from bayesdp.mechanisms.selection import histogram_cost
from bayesdp.mechanisms.selection.histogram_cost import cell_cost, scale_for
from bayesdp.mechanisms.selection.histogram_law import log_probabilities


def chances(counts, scale):
    """The cells' probabilities given the counts, by convolving the laws of positive parts."""
    a, top = math.exp(-1 / scale), math.ceil(45 * scale) + sum(counts)
    w = np.arange(top + 1)
    laws = [(1 - a) / (1 + a) * a ** np.abs(w - k) for k in counts]
    for law, k in zip(laws, counts, strict=True):
        law[0] = a**k / (1 + a)
    none = math.prod(law[0] for law in laws) / len(counts)
    found = []
    for c, law in enumerate(laws):
        rest = np.ones(1)
        for j, other in enumerate(laws):
            rest = rest if j == c else np.convolve(rest, other)
        share = w[1:, None] / (w[1:, None] + np.arange(rest.size))
        found.append(law[1:] @ share @ rest + none)
    return np.array(found)


def furthest(draws, cells, scale):
    """The largest log ratio of a cell's probabilities, of all pairs of histograms."""
    listed = [
        each for each in itertools.product(range(draws + 1), repeat=cells) if sum(each) == draws
    ]
    logs = np.log([chances(each, scale) for each in listed])
    return float(np.ptp(logs, axis=0).max())


@pytest.mark.parametrize(
    ("draws", "cells", "scale"),
    [(1, 2, 0.5), (2, 2, 3.0), (4, 3, 0.3), (4, 3, 1.0), (3, 4, 2.0), (5, 3, 6.0)],
)
def test_no_two_histograms_are_further_apart(draws, cells, scale):
    true = furthest(draws, cells, scale)
    cost = cell_cost(draws, cells, scale)
    assert true < cost < 2 * true + 1e-6
    assert cost <= 2 * draws / scale


def test_a_bound_that_forgets_the_other_cells_draws_is_exceeded():
    """As a fault would: with e_c^+ / (e_c^+ + sum e_j^+) in the place of L's."""
    draws, cells, scale = 4, 3, 1.0
    nothing = chances((0,) * cells, scale)[0]
    wrong = math.log(chances((draws, 0, 0), scale)[0] / nothing)
    assert wrong < furthest(draws, cells, scale) < cell_cost(draws, cells, scale)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0, 40.0])
@pytest.mark.parametrize(("draws", "cells"), [(2, 2), (1000, 20), (10**6, 400)])
def test_posteriors_that_share_no_cell_are_within_epsilon(draws, cells, epsilon):
    scale = scale_for(draws, cells, epsilon)
    assert scale <= 2 * draws / epsilon * (1 + 1e-11)
    with np.errstate(divide="ignore"):
        apart = np.log(np.eye(cells)[:2])
    logs = log_probabilities(apart, draws, scale, whole=True)
    true = float(logs[0, 0] - logs[1, 0])
    assert 0.45 * epsilon < true < epsilon
    if cells > 2:  # where the bound is nearly attained
        assert true > 0.9 * epsilon


def test_much_less_noise_keeps_epsilon():
    assert 2 * 1000 / 4.0 / scale_for(1000, 20, 4.0) == pytest.approx(12.928, rel=1e-3)
    assert cell_cost(1000, 20, 500.0) == pytest.approx(1.53099, rel=1e-4)


def test_where_integrals_disagree_the_whole_histogram_is_charged(monkeypatch):
    monkeypatch.setattr(histogram_cost, "_GRIDS", ((0.05, 4.2), (0.9, 4.2)))
    assert cell_cost.__wrapped__(1000, 20, 500.0) == pytest.approx(4.0, rel=1e-12)


def test_very_many_cells_have_a_scale():
    """Their integrals don't agree at small scales, with two draws."""
    assert 2 * 2 / 50.0 / scale_for(2, 100_000, 50.0) >= 1 - 1e-9
    assert 2 * 1000 / 10.0 / scale_for(1000, 100_000, 10.0) > 600


@pytest.mark.parametrize(("family", "bins", "cells"), [(Bernoulli(), 7, 7), (Categorical(3), 3, 9)])
def test_the_synthesizer_takes_the_scale_of_one_cell(family, bins, cells):
    made = bdp.ModipsSynthesizer(
        family, "sphc", epsilon=6.0, copies=2, bins=bins, samples=50, public_n=False, size=4
    )
    release = made.release([0, 1, 1, 0])
    assert release.mechanism.scale == scale_for(50, cells, 3.0)
    assert release.guarantee.epsilon == 6.0
    assert release.guarantee.strength is bdp.Strength.PROVED


WRONG = [
    ({"scale": 0.0}, "scale is 0"),
    ({"scale": 1e-5}, "at which one cell costs up to 6e\\+06, more"),
    ({"scale": 1.0}, "at which one cell costs up to .*, more than epsilon, 2"),
    ({"scale": 3.0, "method": "sdd"}, "for method='sphc' with calibration='corrected'"),
    ({"scale": 3.0, "calibration": "published"}, "alone; leave it out"),
    ({"scale": 1e30}, "exceeds 64 bits"),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_a_scale_is_checked(given, said):
    plain = {"method": "sphc", "bins": 5, "samples": 30, "n": 9, "scale": 20.0}
    with pytest.raises(bdp.errors.InvalidInput, match=said):
        bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 3, 2.0, (0, 1), **{**plain, **given})
