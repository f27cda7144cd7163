"""Graphs and coefficients given copies from sanitised coefficients, by full enumeration."""

import functools
import itertools

import arviz as az
import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.selection.histogram_law import log_probabilities
from bayesdp.networks import Network
from bayesdp.networks.evidence import together
from tests.mechanisms.graphs.test_dp_ergm import Small, cells_law, made, network_law
from tests.networks.test_hidden_moves import check_law, run_codes

pytestmark = pytest.mark.slow

CASES = {  # nodes, directed, the mechanism's formula, its grid, epsilon, copies, the analyst's
    "edges": (4, False, "edges", (-1.0,), (0.7,), 1e3, [11], "edges"),
    "two copies": (4, False, "edges + triangle", (-1.0, 0.2), (0.8, 0.3), 1e3, [7, 41],
                   "edges + triangle"),
    "little epsilon": (4, False, "edges + triangle", (0.5, 0.5), (0.9, 0.6), 3.0, [7, 41, 20],
                       "edges + triangle"),
    "another formula": (4, False, "edges + gwesp(0.5)", (-0.5, 0.0), (0.5, 0.25), 1e3, [3, 60],
                        "edges + kstar(2)"),
    "directed": (3, True, "edges + mutual", (-1.0, 0.5), (0.6, 0.9), 1e3, [5, 50],
                 "edges + mutual"),
    "five nodes": (5, False, "edges + triangle", (-1.0, 0.2), (0.8, 0.3), 1e3, [100, 1000],
                   "edges + triangle"),
    "histogram": (4, False, "edges + triangle", (-1.0, 0.2), (2.0, 0.8), 8.0, [7, 41],
                  "edges + triangle"),
    "histogram of few": (4, False, "edges", (-1.0,), (3.0,), 8.0, [11, 63, 62, 0], "edges"),
}  # fmt: skip
PERTURBED = {
    "histogram": {"method": "sphc", "draws": 30},
    "histogram of few": {"method": "sphc", "draws": 2, "bins": 4},
}
FAULTS = ("power", "constant of cells", "constant of copies", "prior of cells")


@functools.cache
def small_graphs(n, directed, formula):
    return Small(n, directed, formula)


def setting(case):
    n, directed, formula, centre, scale, epsilon, numbers, analysed = CASES[case]
    small = small_graphs(n, directed, formula)
    perturbed = PERTURBED.get(case, {})
    mechanism = made(n, directed, formula, centre, scale, epsilon=epsilon, **perturbed)
    return mechanism, small, numbers, small_graphs(n, directed, analysed).statistics, analysed


def log_law(mechanism, small, numbers, fault=None):
    """log Pr[copies | graph], of every graph; with one of `FAULTS`, a wrong one."""
    grid = mechanism.public_grid(small.networks[0])
    networks = network_law(grid, small, points=12)
    if mechanism.method == "sphc":
        cells = perturbed_law(mechanism, grid, small, nearly=fault == "nearly")
    else:
        cells = cells_law(mechanism, grid, small)
    if fault == "power":
        cells = special.log_softmax(cells * 0.4, axis=1)
    if fault == "constant of cells":
        steps = 2 * np.arange(grid.bins) + 1 - grid.bins
        axes = np.meshgrid(*(float(w) * steps for w in grid.width), indexing="ij")
        away = np.stack([a.ravel() for a in axes], axis=1)
        cells = mechanism.power * (grid.public.ravel() + small.statistics @ away.T)
    if fault == "constant of copies":
        networks = networks / networks[:, :1]
    if fault == "prior of cells":
        cells = special.log_softmax(cells - mechanism.power * grid.public.ravel(), axis=1)
    each = np.log(np.exp(cells) @ networks)
    return each[:, numbers].sum(axis=1)


def perturbed_law(mechanism, grid, small, *, nearly):
    """log Pr[cell | graph] from a noisy histogram; or `nearly`, as means in place of the ratio's.

    The means of positive noisy counts are added up over all counts and 4,000 numbers of noise.
    """
    u = np.array([grid.utilities(s) for s in small.statistics]) * 2.0**-grid.bits
    draws, scale = mechanism.draws, mechanism.noise_scale
    if not nearly:
        return log_probabilities(u, draws, scale, whole=True)
    counts, e = np.arange(draws + 1), np.arange(-2000, 2001)
    noise = special.softmax(-np.abs(e) / scale)
    means = np.maximum(counts[:, None] + e, 0) @ noise
    p = special.softmax(u, axis=1)
    found = stats.binom.pmf(counts, draws, p[..., None]) @ means
    return np.log(found / found.sum(axis=1, keepdims=True))


@functools.cache
def codes_of(case, bitsets):
    mechanism, small, numbers, values, formula = setting(case)
    theta = np.array([-0.4, 0.3])[: values.shape[1]]
    evidence = together([mechanism.evidence(small.networks[k]) for k in numbers])
    return theta, run_codes(
        evidence, formula, theta, small.networks[0], (), 60_000, 60, bitsets=bitsets
    )


def check_chain(case, fault=None, bitsets=True):
    mechanism, small, numbers, values, _ = setting(case)
    theta, codes = codes_of(case, bitsets)
    fault = "nearly" if mechanism.method == "sphc" and fault is None else fault
    graphs = [np.asarray(network.to_adjacency()) for network in small.networks]
    law = special.softmax(values @ theta + log_law(mechanism, small, numbers, fault))
    check_law(codes[100:], graphs, mechanism.directed, law)


@pytest.mark.parametrize("bitsets", [True, False])
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.calibrate) if c == "five nodes" else c for c in CASES],
)
def test_the_law_of_the_hidden_graph_is_exact(case, bitsets):
    check_chain(case, bitsets=bitsets)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", ["two copies", "directed"])
def test_the_check_convicts_a_wrong_law(case, fault):
    with pytest.raises(AssertionError):
        check_chain(case, fault)


class Posterior:
    """Moments of coefficients and of the hidden graph's statistics, by a grid and all graphs."""

    def __init__(self, values, support, sd, *, points=101, missing=False):
        axis = np.linspace(-6.5 * sd, 6.5 * sd, points)
        theta = np.array(list(itertools.product(axis, repeat=values.shape[1])))
        kinds, which = np.unique(values, axis=0, return_inverse=True)
        each = [support[which.ravel() == k] for k in range(len(kinds))]
        power = theta @ kinds.T
        joint = power + [special.logsumexp(s) for s in each]
        joint -= (theta**2).sum(axis=1, keepdims=True) / (2 * sd**2)
        if not missing:  # the constant Z of the analyst's model
            joint -= special.logsumexp(power + [np.log(len(s)) for s in each], axis=1)[:, None]
        weight = special.softmax(joint)
        self.theta = moments(theta, weight.sum(axis=1))
        self.statistics = moments(kinds, weight.sum(axis=0))


def moments(x, weight):
    mean = weight @ x
    return mean, np.sqrt(weight @ (x - mean) ** 2)


def worst_error(draws, law):
    """The largest of the errors of means and variances, in standard errors of simulation."""
    mean, sd = law
    z = (draws - mean) / sd
    found = np.concatenate([z, z**2 - 1], axis=-1)
    error = az.mcse(az.convert_to_dataset(found))["x"].to_numpy()
    return float(np.abs(found.mean((0, 1)) / error).max())


@functools.cache
def fitted(case, auxiliary):
    mechanism, small, numbers, _, formula = setting(case)
    release = bdp.Release.of(mechanism, outputs=[small.networks[k] for k in numbers])
    model = bdp.models.ERGMModel(formula, prior=bdp.networks.NormalPrior(0, 1.0))
    return model.fit(release, draws=2_500, warmup=500, auxiliary=auxiliary, seed=1)


def error_of(case, auxiliary="exact", fault=None, **options):
    mechanism, small, numbers, values, _ = setting(case)
    exact = Posterior(values, log_law(mechanism, small, numbers, fault), 1.0, **options)
    posterior = fitted(case, auxiliary).posterior
    return max(
        worst_error(posterior[name].to_numpy(), getattr(exact, name))
        for name in ("theta", "statistics")
    )


@pytest.mark.parametrize(
    ("case", "auxiliary"),
    [("edges", "exact"), ("two copies", "exact"), ("two copies", 300), ("little epsilon", "exact"),
     ("histogram", "exact"), ("histogram of few", "exact"), ("histogram of few", 300),
     pytest.param("another formula", "exact", marks=pytest.mark.calibrate),
     pytest.param("directed", "exact", marks=pytest.mark.calibrate),
     pytest.param("five nodes", "exact", marks=pytest.mark.calibrate)],
)  # fmt: skip
def test_a_fit_is_the_enumerated_posterior(case, auxiliary):
    assert error_of(case, auxiliary) < 5


def test_the_comparison_convicts_a_wrong_posterior():
    assert error_of("two copies", fault="constant of cells") > 10
    assert error_of("two copies", fault="constant of copies") > 10
    assert error_of("two copies", missing=True) > 10


def test_a_release_of_a_confidential_graph_is_read():
    with bdp.reproducible(1):
        release = bdp.synthesizers.DPERGMSynthesizer(
            "edges", epsilon=4.0, centre=-2.0, scale=0.5
        ).release(Network(20, [[i, (i + 3) % 20] for i in range(20)]), copies=2)
    model = bdp.models.ERGMModel("edges", prior=bdp.networks.NormalPrior(-2, 1))
    idata = model.fit(release, draws=1_000, warmup=300, seed=1)
    assert np.isfinite(idata.posterior["theta"]).all()
    assert idata.attrs["engine"] == "exchange"
