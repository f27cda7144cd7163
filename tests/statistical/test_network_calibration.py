"""Simulation-based calibration of a dyad-independent graph model under a flip, on 30 nodes.

Replicates are independent blocks of one long table, so that one fit samples many of them (Talts
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
REPLICATES = 200
FITS = {"stan": 4, "pymc": 1}  # which compiles for every fit
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
    fits = FITS[engine]
    each = [
        ranks_of_a_fit(engine, seed, REPLICATES // fits, naive) for seed in range(31, 31 + fits)
    ]
    return np.concatenate(each)


def ranks_of_a_fit(engine: str, seed: int, replicates: int, naive: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth, tables = zip(*(replicate(rng, naive) for _ in range(replicates)), strict=True)
    rows = np.cumsum([0, *(len(table.weight) for table in tables)])
    changes = np.zeros((rows[-1], 1, 2 * replicates))
    for k, table in enumerate(tables):
        changes[rows[k] : rows[k + 1], :, 2 * k : 2 * k + 2] = table.changes
    whole = DyadTable(
        tuple(f"{name}.{k}" for k in range(replicates) for name in tables[0].names),
        changes,
        *(np.concatenate([getattr(t, name) for t in tables]) for name in ("offset", "weight")),
        np.concatenate([table.observed for table in tables]),
    )
    prior = bdp.networks.NormalPrior(np.tile(MEAN, replicates), np.tile(SD, replicates))
    drawn = sample_table(
        whole, prior, engine=engine, draws=5 * KEPT, chains=2, warmup=400, seed=seed
    )
    assert not drawn.sample_stats["diverging"].any()
    draws = drawn.posterior["theta"].reshape(-1, replicates, 2)
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
