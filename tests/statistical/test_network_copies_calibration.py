"""Simulation-based calibration of coefficients and graphs given copies from a sanitised model.

Coefficients are drawn from their prior, a graph from the model by listing all graphs, and copies by
the mechanism itself (Talts et al. 2018). Chi-square on the ranks of coefficients and of the hidden
graph's statistics, whose ties are broken at random; false alarm 1e-6 a test.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.networks import Network, NormalPrior
from bayesdp.networks.evidence import Evidence, together
from bayesdp.networks.hidden.sampling import sample_hidden

KEPT, BINS, FALSE_ALARM = 99, 10, 1e-6


class Case(NamedTuple):
    """An analyst's formula and prior, and a release."""

    nodes: int
    directed: bool
    formula: str
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    released: str
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    epsilon: float
    copies: int
    replicates: int
    bins: int = 12
    draws: int | None = None  # of a noisy histogram, for "sphc" in place of "sdd"


CASES = {
    "edges": Case(6, False, "edges", (-0.5,), (1.0,), "edges", (-0.5,), (0.6,), 6.0, 2, 48),
    "triangles": Case(6, False, "edges + triangle", (-0.5, 0.1), (0.8, 0.4), "edges + triangle",
                      (-0.5, 0.1), (0.4, 0.2), 20.0, 2, 200, 8),
    "another formula": Case(6, False, "edges + triangle", (-0.5, 0.1), (0.8, 0.4), "edges",
                            (-0.5,), (0.6,), 4.0, 3, 200),
    "directed": Case(4, True, "edges + mutual", (-0.5, 0.3), (0.8, 0.8), "edges + mutual",
                     (-0.5, 0.3), (0.4, 0.4), 12.0, 1, 200, 8),
    "histogram": Case(6, False, "edges", (-0.5,), (1.0,), "edges", (-0.5,), (0.6,), 3.0, 2, 48,
                      8, 20),
    "histogram of two": Case(6, False, "edges + triangle", (-0.5, 0.1), (0.8, 0.4),
                             "edges + triangle", (-0.5, 0.1), (0.4, 0.2), 6.0, 2, 200, 6, 100),
}  # fmt: skip


@functools.cache
def every(case: Case) -> tuple[list[np.ndarray], np.ndarray]:
    """Ties of all graphs, and the statistics of the formula, once for each graph."""
    pairs = [
        (i, j) for i, j in itertools.permutations(range(case.nodes), 2) if case.directed or i < j
    ]
    masks = np.array(list(itertools.product((False, True), repeat=len(pairs))))
    matrices = np.zeros((len(masks), case.nodes, case.nodes), dtype=bool)
    i, j = np.array(pairs).T
    matrices[:, i, j] = masks
    if not case.directed:
        matrices[:, j, i] = masks
    return matrices, statistics_of(case, matrices)


def statistics_of(case: Case, a: np.ndarray) -> np.ndarray:
    """Statistics of many graphs, written without the package's."""
    whole = a.astype(np.int64)
    both = 1 if case.directed else 2
    values = {
        "edges": whole.sum(axis=(1, 2)) / both,
        "triangle": np.einsum("gij,gjk,gki->g", whole, whole, whole, optimize=True) / 6,
        "mutual": (whole * whole.swapaxes(1, 2)).sum(axis=(1, 2)) / 2,
    }
    return np.column_stack([values[name] for name in case.formula.split(" + ")])


def replicate(case: Case, seed: int) -> tuple[np.ndarray, Evidence]:
    """Coefficients and statistics of a graph, and what its copies are evidence of."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(case.mean, case.sd)
    matrices, values = every(case)
    number = rng.choice(len(values), p=special.softmax(values @ theta))
    a = matrices[number]
    graph = Network(case.nodes, np.argwhere(a if case.directed else np.triu(a)), case.directed)
    perturbed = {} if case.draws is None else {"method": "sphc", "draws": case.draws}
    declared = bdp.synthesizers.DPERGMSynthesizer(
        case.released, case.epsilon, centre=case.centre, scale=case.scale, bins=case.bins,
        **perturbed,
    )  # fmt: skip
    with bdp.reproducible(seed):
        release = declared.release(graph, copies=case.copies)
    evidence = together([release.mechanism.evidence(output) for output in release.outputs])
    return np.concatenate([theta, values[number]]), evidence


def ranks(case: Case, fault: str | None = None) -> np.ndarray:
    """Ranks of coefficients and statistics, shape (replicates, 2 terms)."""
    found = []
    for seed in range(case.replicates):
        truth, evidence = replicate(case, seed)
        (seen,) = evidence.copies
        if fault == "power":  # the posterior itself is taken to have chosen the cells
            own = dataclasses.replace(seen, slope=seen.slope * 4, base=seen.base * 4)
            evidence = dataclasses.replace(evidence, copies=(own,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few nodes are often empty or complete
            drawn = sample_hidden(
                case.formula, evidence.nodes, evidence, prior=NormalPrior(case.mean, case.sd),
                draws=4 * KEPT, tune=150, chains=2, levels=20, seed=seed,
            )  # fmt: skip
        both = np.concatenate([drawn.theta, drawn.statistics], axis=-1)[:, ::8]
        draws = both.reshape(-1, len(truth))[:KEPT]
        least = (draws < truth).sum(axis=0)
        equal = (draws == truth).sum(axis=0)
        found.append(np.random.default_rng(seed).integers(least, least + equal + 1))
    return np.array(found)


def p_values(found: np.ndarray) -> list[float]:
    counts = [np.bincount(r * BINS // (KEPT + 1), minlength=BINS) for r in found.T]
    return [float(stats.chisquare(count).pvalue) for count in counts]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["edges", "histogram"])
def test_coefficients_and_graphs_are_calibrated(case):
    assert min(p_values(ranks(CASES[case]))) > FALSE_ALARM


@pytest.mark.calibrate
@pytest.mark.parametrize("case", CASES)
def test_they_are_calibrated(case):
    own = CASES[case]._replace(replicates=200)
    assert min(p_values(ranks(own))) > FALSE_ALARM


@pytest.mark.calibrate
def test_the_check_convicts_the_posterior_itself_in_place_of_its_power():
    own = CASES["edges"]._replace(replicates=200, epsilon=2.0, copies=6)
    assert min(p_values(ranks(own))) > FALSE_ALARM
    assert min(p_values(ranks(own, "power"))) < FALSE_ALARM
