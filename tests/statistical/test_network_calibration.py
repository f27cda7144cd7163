"""Simulation-based calibration of graph models of independent dyads under a flip.

Replicates are independent blocks of one long table, so that one fit samples many of them (Talts
et al. 2018). Chi-square on the ranks of each coefficient, false alarm 1e-6 a test.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.inference.graphs.ergm_dyads import sample_table
from bayesdp.networks import Network
from bayesdp.networks.dyad_table import DyadTable, hidden_table, known_table
from bayesdp.networks.formula import bind
from tests.conftest import require_pystan
from tests.networks.test_dyad_table import flipped

EPSILON = 2.0
KEPT, BINS, FALSE_ALARM = 99, 20, 1e-6


class Graphs(NamedTuple):
    """A formula, the prior of its coefficients, and the log odds that these give a dyad's tie."""

    formula: str
    groups: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    log_odds: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    replicates: int
    fits: dict[str, int]  # PyMC compiles for every fit


def matched(theta, group, i, j):
    return theta[0] + theta[1] * (group[i] == group[j])


def corrected(theta, group, i, j):
    blocks, sociality = theta[:3], np.append(0.0, theta[3:])
    return blocks[group[i] + group[j]] + sociality[i] + sociality[j]


MATCHED = Graphs(
    "edges + nodematch('group')",
    np.arange(30) % 3,
    np.array([-1.5, 0.5]),
    np.array([1.0, 1.0]),
    matched,
    200,
    {"stan": 4, "pymc": 1},
)
CORRECTED = Graphs(  # a degree-corrected block model
    "nodemix('group', levels2=True) + sociality",
    np.arange(14) % 2,
    np.repeat([-0.5, 0.0], [3, 13]),
    np.repeat([1.0, 0.7], [3, 13]),
    corrected,
    200,
    {"stan": 20, "pymc": 10},
)


def replicate(
    graphs: Graphs, rng: np.random.Generator, naive: bool
) -> tuple[np.ndarray, DyadTable]:
    """Coefficients from the prior, a graph from the model, a release of it, its likelihood."""
    theta, n = rng.normal(graphs.mean, graphs.sd), len(graphs.groups)
    i, j = np.triu_indices(n, 1)
    odds = graphs.log_odds(theta, graphs.groups, i, j)
    tied = rng.random(len(i)) < special.expit(odds)
    released = tied ^ (rng.random(len(i)) < special.expit(-EPSILON))
    net = Network(n, np.column_stack([i, j])[released], False, {"group": graphs.groups})
    bound = bind(graphs.formula, net)
    return theta, (
        known_table(bound, [net]) if naive else hidden_table(bound, net, flipped(net, EPSILON))
    )


def ranks(graphs: Graphs, engine: str, *, naive: bool = False) -> np.ndarray:
    fits = graphs.fits[engine]
    each = [
        ranks_of_a_fit(graphs, engine, seed, graphs.replicates // fits, naive)
        for seed in range(31, 31 + fits)
    ]
    return np.concatenate(each)


def ranks_of_a_fit(
    graphs: Graphs, engine: str, seed: int, replicates: int, naive: bool
) -> np.ndarray:
    rng, terms = np.random.default_rng(seed), len(graphs.mean)
    truth, tables = zip(*(replicate(graphs, rng, naive) for _ in range(replicates)), strict=True)
    rows = np.cumsum([0, *(len(table.weight) for table in tables)])
    changes = np.zeros((rows[-1], 1, terms * replicates))
    for k, table in enumerate(tables):
        changes[rows[k] : rows[k + 1], :, terms * k : terms * (k + 1)] = table.changes
    whole = DyadTable(
        tuple(f"{name}.{k}" for k in range(replicates) for name in tables[0].names),
        changes,
        *(np.concatenate([getattr(t, name) for t in tables]) for name in ("offset", "weight")),
        np.concatenate([table.observed for table in tables]),
    )
    prior = bdp.networks.NormalPrior(
        np.tile(graphs.mean, replicates), np.tile(graphs.sd, replicates)
    )
    drawn = sample_table(
        whole, prior, engine=engine, draws=5 * KEPT, chains=2, warmup=400, seed=seed
    )
    assert not drawn.sample_stats["diverging"].any()
    draws = drawn.posterior["theta"].reshape(-1, replicates, terms)
    return (draws[::10] < np.array(truth)).sum(axis=0)


def p_values(observed: np.ndarray) -> list[float]:
    counts = [np.bincount(r * BINS // (KEPT + 1), minlength=BINS) for r in observed.T]
    return [float(stats.chisquare(count).pvalue) for count in counts]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_coefficients_are_calibrated(engine):
    if engine == "stan":
        require_pystan()
    assert min(p_values(ranks(MATCHED, engine))) > FALSE_ALARM


@pytest.mark.calibrate
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_a_degree_corrected_block_model_is_calibrated(engine):
    if engine == "stan":
        require_pystan()
    assert min(p_values(ranks(CORRECTED, engine))) > FALSE_ALARM


@pytest.mark.slow
def test_the_check_convicts_the_naive_posterior():
    """The same test sees that the posterior which takes the release for real is wrong."""
    assert max(p_values(ranks(MATCHED, "pymc", naive=True))) < FALSE_ALARM
