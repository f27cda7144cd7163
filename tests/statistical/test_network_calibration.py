"""Simulation-based calibration of a dyad-independent graph model under a flip, on 30 nodes.

The replicates are independent blocks of one long table, so that one fit samples them all (Talts
et al. 2018). Chi-square on the ranks of each coefficient, false alarm 1e-6 a test.
"""

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

N, EPSILON = 30, 2.0
REPLICATES, SEED = 200, 31
KEPT, BINS, FALSE_ALARM = 99, 20, 1e-6
MEAN, SD = np.array([-1.5, 0.5]), np.array([1.0, 1.0])
GROUP = np.arange(N) % 3


def replicate(rng: np.random.Generator, naive: bool) -> tuple[np.ndarray, DyadTable]:
    """Coefficients from the prior, a graph from the model, a release of it, its likelihood."""
    theta = rng.normal(MEAN, SD)
    i, j = np.triu_indices(N, 1)
    tied = rng.random(len(i)) < special.expit(theta[0] + theta[1] * (GROUP[i] == GROUP[j]))
    released = tied ^ (rng.random(len(i)) < special.expit(-EPSILON))
    net = Network(N, np.column_stack([i, j])[released], False, {"group": GROUP})
    bound = bind("edges + nodematch('group')", net)
    return theta, (
        known_table(bound, [net]) if naive else hidden_table(bound, net, flipped(net, EPSILON))
    )


def ranks(engine: str, *, naive: bool = False) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    truth, tables = zip(*(replicate(rng, naive) for _ in range(REPLICATES)), strict=True)
    rows = np.cumsum([0, *(len(table.weight) for table in tables)])
    changes = np.zeros((rows[-1], 1, 2 * REPLICATES))
    for k, table in enumerate(tables):
        changes[rows[k] : rows[k + 1], :, 2 * k : 2 * k + 2] = table.changes
    whole = DyadTable(
        tuple(f"{name}.{k}" for k in range(REPLICATES) for name in tables[0].names),
        changes,
        *(np.concatenate([getattr(t, name) for t in tables]) for name in ("offset", "weight")),
        np.concatenate([table.observed for table in tables]),
    )
    prior = bdp.networks.NormalPrior(np.tile(MEAN, REPLICATES), np.tile(SD, REPLICATES))
    drawn = sample_table(
        whole, prior, engine=engine, draws=5 * KEPT, chains=2, warmup=400, seed=SEED
    )
    assert not drawn.sample_stats["diverging"].any()
    draws = drawn.posterior["theta"].reshape(-1, REPLICATES, 2)
    return (draws[::10] < np.array(truth)).sum(axis=0)


def p_values(observed: np.ndarray) -> list[float]:
    counts = [np.bincount(r * BINS // (KEPT + 1), minlength=BINS) for r in observed.T]
    return [float(stats.chisquare(count).pvalue) for count in counts]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_coefficients_are_calibrated(engine):
    if engine == "stan":
        require_pystan()
    assert min(p_values(ranks(engine))) > FALSE_ALARM


@pytest.mark.slow
def test_the_check_convicts_the_naive_posterior():
    """The same test sees that the posterior which takes the release for real is wrong."""
    assert max(p_values(ranks("pymc", naive=True))) < FALSE_ALARM
