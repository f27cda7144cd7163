"""A bound on degrees as the model's sample space, against all graphs on a few nodes."""

import itertools

import arviz as az
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.inference.graphs.ergm_dyads import is_closed
from bayesdp.networks import Network, NormalPrior, goodness_of_fit, simulate
from bayesdp.networks.dyad_table import hidden_table
from bayesdp.networks.evidence import Evidence, SeenStatistics
from bayesdp.networks.formula import bind
from bayesdp.networks.hidden.sampling import sample_hidden
from bayesdp.networks.listing import listed
from bayesdp.networks.normalizing_constant import log_constants

FORMULA = "edges + kstar(2)"
SD = 2.0
SEEN, SCALE, MOST = np.array([4.0, 4.0]), np.array([1.0, 2.0]), 2


def every_graph(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of all graphs on n nodes, shape (graphs, 2), and their largest degrees."""
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    tied = np.array(list(itertools.product((0, 1), repeat=len(pairs))))
    degree = tied @ (pairs[:, :, None] == np.arange(n)).any(axis=1)
    stars = (degree * (degree - 1) // 2).sum(axis=1)
    return np.column_stack([tied.sum(axis=1), stars]).astype(float), degree.max(axis=1)


def enumerated(bounded: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, sd and correlation of the coefficients; Z is of the bounded graphs, or of all."""
    values, largest = every_graph(5)
    rows = np.column_stack([values, largest <= MOST])
    (*values, inside), times = (a.T for a in np.unique(rows, axis=0, return_counts=True))
    values, inside = np.array(values).T, inside.astype(bool)
    axis = np.linspace(-7 * SD, 7 * SD, 141)
    theta = np.array(list(itertools.product(axis, axis)))
    support = np.where(inside, -(np.abs(SEEN - values) / SCALE).sum(axis=1), -np.inf)
    power = theta @ values.T + np.log(times)
    space = power[:, inside] if bounded else power
    weight = special.softmax(
        special.logsumexp(power + support, axis=1)
        - special.logsumexp(space, axis=1)
        - (theta**2).sum(axis=1) / (2 * SD**2)
    )
    mean = weight @ theta
    spread = (theta - mean).T @ ((theta - mean) * weight[:, None])
    sd = np.sqrt(np.diag(spread))
    return mean, sd, spread[0, 1] / sd.prod()


def errors(theta: np.ndarray, mean, sd, correlation: float) -> np.ndarray:
    """How many Monte Carlo standard errors means, variances and correlation are off."""
    z = (theta - mean) / sd
    found = np.concatenate([z, z**2 - 1, z[..., :1] * z[..., 1:] - correlation], axis=-1)
    return found.mean((0, 1)) / az.mcse(az.convert_to_dataset(found))["x"].to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constraint", "auxiliary"), [("max_degree", "exact"), ("max_degree", 300), ("none", "exact")]
)
def test_both_readings_of_a_bound_are_the_enumerated_ones(constraint, auxiliary):
    seen = SeenStatistics(FORMULA, SEEN, SCALE)
    drawn = sample_hidden(
        FORMULA, Network(5), Evidence.of_statistics(Network(5), seen, max_degree=MOST),
        prior=NormalPrior(0, SD), constraint=constraint, draws=2_500, tune=500, auxiliary=auxiliary,
        levels=20, seed=3,
    )  # fmt: skip
    mean, sd, correlation = enumerated(constraint == "max_degree")
    found = np.abs(errors(drawn.theta, mean, sd, correlation))
    assert (found[: 5 if constraint == "max_degree" else 2] < 5).all()  # of all graphs, a long tail
    both = [enumerated(bounded)[0][1] for bounded in (True, False)]
    assert both[0] > 0.5 > -0.5 > both[1]


@pytest.mark.slow
def test_a_fit_takes_the_bound_of_the_release_for_the_sample_space():
    mechanism = bdp.mechanisms.NoisyStatisticsMechanism(FORMULA, SCALE, 5, max_degree=MOST)
    release = bdp.Release.of(mechanism, outputs=[(4, 4)])
    options = {"draws": 4_000, "warmup": 1_000, "auxiliary": "exact", "seed": 2}
    idata = bdp.models.ERGMModel(FORMULA, prior=NormalPrior(0, SD)).fit(release, **options)
    assert idata.attrs["constraint"] == "max_degree = 2"
    found = errors(idata.posterior["theta"].to_numpy(), *enumerated(True))
    assert (np.abs(found) < 5).all()
    free = bdp.models.ERGMModel(FORMULA, prior=NormalPrior(0, SD), constraint="none")
    other = free.fit(release, **options)
    assert other.attrs["constraint"] == "none"
    assert float(other.posterior["theta"][..., 1].mean()) < 0


@pytest.mark.parametrize(("n", "directed", "most"), [(4, False, 2), (5, False, 1), (3, True, 1)])
def test_simulated_graphs_keep_to_the_bound_and_have_its_law(n, directed, most):
    theta = np.array([0.8, -0.3])
    formula = "edges + triangle" if not directed else "edges + mutual"
    nodes = Network(n, (), directed)
    every = listed(formula, nodes, most=most)
    values = every.points.statistics.T
    law = special.softmax(values @ theta + np.log(every.count))
    drawn = simulate(
        nodes, formula, theta, draws=10_000, interval=30, max_degree=most, seed=1
    )  # fmt: skip
    trace = drawn.statistics[0]
    for network in drawn.networks[0][:200]:
        ends = network.edges[:, 0] if directed else network.edges.ravel()
        assert np.bincount(ends, minlength=1).max() <= most
    for power in (1, 2):
        expected = law @ values**power
        error = az.mcse(az.convert_to_dataset(trace[None] ** power))["x"].to_numpy()
        assert (np.abs((trace**power).mean(axis=0) - expected) <= 5 * error).all()


def test_graphs_listed_are_those_within_the_bound():
    values, largest = every_graph(5)
    for most in (1, 2, 3, 4, None):
        every = listed(FORMULA, Network(5), most=most)
        inside = values[largest <= (4 if most is None else most)]
        found = np.repeat(every.points.statistics.T, every.count.astype(int), axis=0)
        assert len(found) == len(inside)
        order = [rows[np.lexsort(rows.T)] for rows in (found, inside)]
        np.testing.assert_allclose(*order)


@pytest.mark.parametrize("formula", ["edges", "edges + kstar(2)"])
def test_normalizing_constants_sum_over_the_same_graphs(formula):
    """Of `edges` alone too, whose dyads the bound makes depend on each other."""
    values, largest = every_graph(5)
    axes = [np.linspace(-0.6, 0.6, 5)] * len(formula.split("+"))
    points = np.array(list(itertools.product(*axes)))
    power = points @ values[largest <= MOST, : len(axes)].T
    exact = special.logsumexp(power, axis=1)
    found = log_constants(Network(5), formula, axes, max_degree=MOST, seed=1).ravel()
    assert np.abs(found - exact + exact.max()).max() < 0.15
    free = log_constants(Network(5), formula, axes, seed=1).ravel()
    assert np.abs(free - exact + exact.max()).max() > 0.3


def test_goodness_of_fit_draws_within_the_bound():
    ring = Network(8, [[i, i + 1] for i in range(7)])
    fit = goodness_of_fit(ring, "edges", [1.0], draws=30, max_degree=2, seed=1)
    degrees = fit.distributions["degree"]
    assert max(int(label) for label in degrees.labels) <= 2
    free = goodness_of_fit(ring, "edges", [1.0], draws=30, seed=1)
    assert max(int(label) for label in free.distributions["degree"].labels) > 2


def test_a_bound_alone_leaves_no_closed_likelihood():
    nodes = Network(5)
    assert is_closed(bind("edges", nodes), Evidence.of_statistics(nodes))
    bounded = Evidence.of_statistics(nodes, max_degree=2)
    assert not is_closed(bind("edges", nodes), bounded)
    with pytest.raises(bdp.errors.InvalidInput, match="a bound on degrees"):
        hidden_table(bind("edges", nodes), nodes, bounded)


def test_what_is_refused():
    star = Network(4, [[0, 1], [0, 2], [0, 3]])
    with pytest.raises(bdp.errors.InvalidInput, match="max_degree is 2, but a node of the network"):
        simulate(star, "edges", [0.0], max_degree=2)
    with pytest.raises(bdp.errors.InvalidInput, match="max_degree is 0"):
        simulate(4, "edges", [0.0], max_degree=0)
    with pytest.raises(
        bdp.errors.InvalidInput, match="constraint is 'bd'; it must be 'max_degree'"
    ):
        bdp.models.ERGMModel("edges", constraint="bd")
    nodes = Network(4)
    bounded = Evidence.of_statistics(nodes, max_degree=2)
    with pytest.raises(
        bdp.errors.InvalidInput, match="'tempered', and the sample space has degrees up"
    ):
        sample_hidden("edges", nodes, bounded, auxiliary="tempered")
    with pytest.raises(bdp.errors.InvalidInput, match="constraint is None"):
        sample_hidden(
            "edges", nodes, Evidence.of_statistics(nodes), constraint=None
        )  # fmt: skip
