"""The log-linear model's posterior against quadrature and enumeration, and what it refuses.

Means and standard deviations of chains are compared to within 5 Monte Carlo standard errors: a
false alarm has probability 6e-7 a number. Two engines, whose errors add up, likewise.
"""

import functools
import itertools

import arviz as az
import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

REPLACE = bdp.Neighbours.REPLACE_ONE
AB = (Axis("a", categories=("x", "y")), Axis("b", categories=(0, 1)))
ABC = (*AB, Axis("c", categories=("p", "q")))
ERRORS = 5


def error(draws) -> float:
    """Monte Carlo standard error of the mean of draws, shape (chains, draws)."""
    return float(az.mcse({"p": np.asarray(draws)})["p"])


def close(draws, mean, sd, what="") -> None:
    """Of one number's draws, shape (chains, draws)."""
    draws = np.asarray(draws)
    assert abs(draws.mean() - mean) < ERRORS * error(draws), what
    centred = (draws - mean) ** 2
    assert abs(centred.mean() - sd**2) < ERRORS * error(centred), what


def hermite(mean, sd, points):
    """Points and weights of a normal prior."""
    x, w = np.polynomial.hermite_e.hermegauss(points)
    return mean + sd * x, w / w.sum()


def product(*rules):
    """All combinations, and their weights."""
    points = np.stack([g.ravel() for g in np.meshgrid(*(r[0] for r in rules), indexing="ij")], 1)
    weights = np.stack([g.ravel() for g in np.meshgrid(*(r[1] for r in rules), indexing="ij")], 1)
    return points, weights.prod(axis=1)


def contrast(cells, terms):
    """Columns of +1 and -1, the first category +1: what beta multiplies in binary tables."""
    return np.stack([np.prod(1 - 2 * cells[:, list(t)], axis=1) for t in terms], axis=1)


def moments(values, weights):
    """Posterior means and standard deviations of columns of values."""
    weights = weights / weights.sum()
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


def likelihood(points, columns, tables, law, *, poisson):
    """Pr[outputs | beta] by summing over all tables."""
    eta = points @ columns.T
    if poisson:
        log_p = -np.exp(eta).sum(axis=1)
    else:
        eta -= special.logsumexp(eta, axis=1, keepdims=True)
        log_p = np.zeros(len(points))
    found = np.empty(len(points))
    weight = law - special.gammaln(tables + 1.0).sum(axis=1)
    if not poisson:
        weight = weight + special.gammaln(tables.sum(axis=1) + 1.0)
    for some in np.array_split(np.arange(len(points)), max(1, len(points) * len(tables) // 10**7)):
        found[some] = np.exp(special.logsumexp(eta[some] @ tables.T + weight, axis=1) + log_p[some])
    return found


def all_tables(cells, total=None, most=None):
    return np.array(
        [
            t
            for t in itertools.product(range((most or total) + 1), repeat=cells)
            if total is None or sum(t) == total
        ]
    )


def law_of(mechanism, outputs, tables):
    statistics = tables
    if isinstance(mechanism, bdp.mechanisms.NoisyMarginalsMechanism):
        statistics = np.array([mechanism.statistic(t) for t in tables])
    return sum(mechanism.logp(np.array(z), statistics) for z in outputs)


def fitted(model, mechanism, outputs, **options):
    release = bdp.Release.of(mechanism, outputs)
    options = {"draws": 2500, "chains": 4, "warmup": 500, "seed": 3, **options}
    return model.fit(release, **options)


@pytest.mark.slow
def test_overlapping_marginals_with_laplace_noise_and_n_public():
    made = bdp.mechanisms.NoisyMarginalsMechanism(
        1.5, AB, (("a", "b"), ("b",)), neighbours=REPLACE, n=6
    )
    outputs = [(4, 1, -1, 2, 3, 2), (3, 0, 1, 3, 5, 1)]
    idata = fitted(bdp.models.LogLinearModel("a*b", prior=0.8), made, outputs)
    cells = np.argwhere(np.ones((2, 2)))
    points, weights = product(*[hermite(0, 0.8, 40)] * 3)
    tables = all_tables(4, total=6)
    columns = contrast(cells, [(0,), (1,), (0, 1)])
    found = likelihood(points, columns, tables, law_of(made, outputs, tables), poisson=False)
    mean, sd = moments(points, weights * found)
    assert idata.posterior["term"].to_numpy().tolist() == ["a[x]", "b[0]", "a[x]:b[0]"]
    for k in range(3):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])
    p, _ = moments(special.softmax(points @ columns.T, axis=1), weights * found)
    for k in range(4):
        draws = idata.posterior["probability"][..., k].to_numpy()
        assert abs(draws.mean() - p[k]) < ERRORS * error(draws)
    assert idata.attrs["engine"] == "gibbs"
    assert "known" in idata.attrs["engine_reason"]


@pytest.mark.slow
def test_marginals_of_three_columns_with_gaussian_noise_and_structural_zeros():
    made = bdp.mechanisms.NoisyMarginalsMechanism(
        1.1, ABC, (("a", "b"), ("c",)), "gaussian", REPLACE, n=3, zeros=(0, 3)
    )
    outputs = [(1, 0, 3, 0, 2, 1)]
    idata = fitted(
        bdp.models.LogLinearModel("a*b + c", prior={"a": 0.7, "b": 0.7, "c": 1.2, "b:a": 0.5}),
        made,
        outputs,
    )
    possible = np.array([1, 2, 4, 5, 6, 7])
    cells = np.argwhere(np.ones((2, 2, 2)))[possible]
    tables = all_tables(6, total=3)
    whole = np.zeros((len(tables), 8), dtype=np.int64)
    whole[:, possible] = tables
    rules = [hermite(0, sd, 18) for sd in (0.7, 0.7, 1.2, 0.5)]
    points, weights = product(*rules)
    columns = contrast(cells, [(0,), (1,), (2,), (0, 1)])
    found = likelihood(points, columns, tables, law_of(made, outputs, whole), poisson=False)
    mean, sd = moments(points, weights * found)
    for k in range(4):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])


@pytest.mark.slow
def test_marginals_with_n_confidential():
    """Poisson counts, and the same with a prior on n."""
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AB, (("a",), ("b",)))
    outputs, cells = [(3, 1, 2, 4)], np.argwhere(np.ones((2, 2)))
    idata = fitted(
        bdp.models.LogLinearModel("a + b", prior=0.6, intercept=(0.2, 0.5)), made, outputs
    )
    points, weights = product(hermite(0.2, 0.5, 14), *[hermite(0, 0.6, 14)] * 2)
    columns = np.concatenate([np.ones((4, 1)), contrast(cells, [(0,), (1,)])], axis=1)
    tables = all_tables(4, most=10)
    law = law_of(made, outputs, tables)
    found = likelihood(points, columns, tables, law, poisson=True)
    mean, sd = moments(points, weights * found)
    assert idata.posterior["term"].to_numpy().tolist() == ["Intercept", "a[x]", "b[0]"]
    for k in range(3):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])

    sizes = np.array([0.1, 0.0, 0.2, 0.1, 0.3, 0.2, 0.1])
    idata = fitted(bdp.models.LogLinearModel("a + b", prior=0.6, n=sizes), made, outputs)
    tables = np.concatenate([all_tables(4, total=n) for n in np.flatnonzero(sizes)])
    log_n = np.log(sizes[tables.sum(axis=1)])
    points, weights = product(*[hermite(0, 0.6, 30)] * 2)
    law = law_of(made, outputs, tables)
    found = likelihood(points, columns[:, 1:], tables, law + log_n, poisson=False)
    mean, sd = moments(points, weights * found)
    for k in range(2):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])
    eta = points @ columns[:, 1:].T
    eta -= special.logsumexp(eta, axis=1, keepdims=True)
    n = tables.sum(axis=1)
    joint = eta @ tables.T - special.gammaln(tables + 1.0).sum(1) + special.gammaln(n + 1.0)
    of_table = weights @ np.exp(joint + law + log_n)
    mean, sd = moments(n[:, None].astype(float), of_table)
    close(idata.posterior["n"], mean[0], sd[0])


CELLS = {
    "laplace": (
        bdp.mechanisms.DiscreteLaplaceMechanism(1.2, dimension=4),
        [(4, 0, 2, 7), (5, 1, 0, 6)],
    ),
    "gaussian": (bdp.mechanisms.DiscreteGaussianMechanism(1.3, 1.0, dimension=4), [(4, -2, 2, 7)]),
    "histogram": (bdp.mechanisms.PerturbedHistogramMechanism(1.2, 4), [(4, 0, 2, 7), (5, 1, 0, 6)]),
}


@functools.cache
def moments_of_cells(noise):
    mechanism, outputs = CELLS[noise]
    cells = np.argwhere(np.ones((2, 2)))
    points, weights = product(hermite(0.5, 1.0, 20), *[hermite(0, 0.9, 20)] * 3)
    eta = np.concatenate([np.ones((4, 1)), contrast(cells, [(0,), (1,), (0, 1)])], axis=1)
    eta = points @ eta.T
    one = np.arange(60)
    for c in range(4):
        table = np.zeros((60, 4), dtype=np.int64)
        table[:, c] = one
        law = law_of(mechanism, outputs, table) - special.gammaln(one + 1.0)
        log_p = special.logsumexp(eta[:, c, None] * one + law, axis=1) - np.exp(eta[:, c])
        weights = weights * np.exp(log_p - log_p.max())
    return moments(points, weights)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hmc", "gibbs"])
@pytest.mark.parametrize("noise", CELLS)
def test_cells_with_poisson_counts(noise, engine):
    columns = {"a": ["x", "y"], "b": [0, 1]}
    model = bdp.models.LogLinearModel("a*b", prior=0.9, intercept=(0.5, 1.0), categories=columns)
    idata = fitted(model, *CELLS[noise], engine=engine, draws=1500)
    mean, sd = moments_of_cells(noise)
    for k in range(4):
        close(idata.posterior["beta"][..., k], mean[k], sd[k], (noise, engine, k))


@pytest.mark.slow
def test_hierarchical_scales():
    """Each of two terms has a tau, integrated by quadrature with its effect."""
    made = bdp.mechanisms.PerturbedHistogramMechanism(0.8, 4, REPLACE, n=5, axes=AB)
    outputs = [(4, 1, 0, 1)]
    idata = fitted(bdp.models.LogLinearModel("a + b", scale=1.5), made, outputs, draws=4000)
    x, w = np.polynomial.legendre.leggauss(24)
    tau = (np.abs(1.5 * special.ndtri(0.5 + (x + 1) / 4)), w / w.sum())
    points, weights = product(tau, tau, hermite(0, 1, 20), hermite(0, 1, 20))
    beta = points[:, :2] * points[:, 2:]
    tables, cells = all_tables(4, total=5), np.argwhere(np.ones((2, 2)))
    columns = contrast(cells, [(0,), (1,)])
    found = likelihood(beta, columns, tables, law_of(made, outputs, tables), poisson=False)
    mean, sd = moments(np.concatenate([beta, points[:, :2]], axis=1), weights * found)
    assert idata.posterior["tau"].dims == ("chain", "draw", "scale")
    assert idata.posterior["scale"].to_numpy().tolist() == ["a", "b"]
    for k in range(2):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])
        close(idata.posterior["tau"][..., k], mean[2 + k], sd[2 + k])


@pytest.mark.slow
@pytest.mark.parametrize("cell_effects", [0.8, True])
def test_effects_of_cells_beside_a_terms(cell_effects):
    """Of two cells, the log odds are 2 beta + e_1 - e_2, normal with variance 4 sd^2 + 2 tau^2."""
    axis = Axis("a", categories=("x", "y"))
    made = bdp.mechanisms.PerturbedHistogramMechanism(0.8, 2, REPLACE, n=9, axes=(axis,))
    outputs = [(9, 1)]
    model = bdp.models.LogLinearModel("a", prior=0.4, scale=1.2, cell_effects=cell_effects)
    idata = fitted(model, made, outputs, draws=4000)
    x, w = np.polynomial.legendre.leggauss(40)
    unknown = (np.abs(1.2 * special.ndtri(0.5 + (x + 1) / 4)), w / w.sum())
    tau = unknown if cell_effects is True else (np.array([0.8]), np.ones(1))
    points, weights = product(tau, hermite(0, 1, 40))
    variance = 4 * 0.4**2 + 2 * points[:, 0] ** 2
    odds = points[:, 1] * np.sqrt(variance)
    tables = all_tables(2, total=9)
    p = np.stack([special.expit(odds), special.expit(-odds)], axis=1)
    log_law = law_of(made, outputs, tables) - special.gammaln(tables + 1.0).sum(axis=1)
    weights = weights * np.exp(special.logsumexp(np.log(p) @ tables.T + log_law, axis=1))
    mean, sd = moments(np.stack([p[:, 0], points[:, 0]], axis=1), weights)
    close(idata.posterior["probability"][..., 0], mean[0], sd[0])
    if cell_effects is True:
        assert idata.posterior["scale"].to_numpy().tolist() == ["1|cell"]
        close(idata.posterior["tau"][..., 0], mean[1], sd[1])
    names = ["a[x]", "1|cell[x]", "1|cell[y]"]
    assert idata.posterior["term"].to_numpy().tolist() == names
    share = np.array([2 * 0.4**2, 0.0, 0.0]) + points[:, :1] ** 2 * np.array([0, 1, -1])
    mean, _ = moments(share / variance[:, None] * odds[:, None], weights)
    for k in range(3):
        draws = idata.posterior["beta"][..., k].to_numpy()
        assert abs(draws.mean() - mean[k]) < ERRORS * error(draws), names[k]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hmc", "gibbs"])
def test_effects_of_cells_with_poisson_counts(engine):
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(1.5, dimension=2)
    model = bdp.models.LogLinearModel(
        "a", prior=0.4, intercept=(1.0, 0.7), cell_effects=0.8, categories={"a": ["x", "y"]}
    )
    outputs = [(9, 1)]
    idata = fitted(model, mechanism, outputs, engine=engine)
    spread = np.full((2, 2), 0.7**2) + 0.4**2 * np.array([[1, -1], [-1, 1]]) + 0.8**2 * np.eye(2)
    points, weights = product(hermite(0, 1, 60), hermite(0, 1, 60))
    eta = 1.0 + points @ np.linalg.cholesky(spread).T
    one = np.arange(120)
    for c in range(2):
        table = np.zeros((120, 2), dtype=np.int64)
        table[:, c] = one
        law = law_of(mechanism, outputs, table) - special.gammaln(one + 1.0)
        log_p = special.logsumexp(eta[:, c, None] * one + law, axis=1) - np.exp(eta[:, c])
        weights = weights * np.exp(log_p - log_p.max())
    mean, sd = moments(special.softmax(eta, axis=1), weights)
    close(idata.posterior["probability"][..., 0], mean[0], sd[0])
    cross = np.stack([np.full(2, 0.7**2), *(0.8**2 * np.eye(2))])  # of Intercept, e_1, e_2 and eta
    mean, _ = moments((eta - 1.0) @ np.linalg.solve(spread, cross.T), weights)
    for k, expected in zip((0, 2, 3), mean + np.array([1.0, 0, 0]), strict=True):
        draws = idata.posterior["beta"][..., k].to_numpy()
        assert abs(draws.mean() - expected) < ERRORS * error(draws), k


@pytest.mark.slow
def test_bounded_gaussian_noise_with_n_known_to_the_analyst():
    mechanism = bdp.mechanisms.DiscreteGaussianMechanism(1.5, 1.0, dimension=4, bounds=(0, 4),
                                              bounding="truncated")  # fmt: skip
    model = bdp.models.LogLinearModel("a + b", prior=0.7, n=7, categories={"a": "xy", "b": [0, 1]})
    with pytest.raises(bdp.errors.InvalidInput, match="categories of column 'a'"):
        fitted(model, mechanism, [(4, 0, 2, 1)])
    model = bdp.models.LogLinearModel(
        "a + b", prior=0.7, n=7, categories={"a": ["x", "y"], "b": [0, 1]}
    )
    outputs = [(4, 0, 2, 1), (3, 1, 4, 0)]
    idata = fitted(model, mechanism, outputs)
    tables = all_tables(4, total=7)
    tables = tables[tables.max(axis=1) <= 4]
    points, weights = product(*[hermite(0, 0.7, 40)] * 2)
    columns = contrast(np.argwhere(np.ones((2, 2))), [(0,), (1,)])
    found = likelihood(points, columns, tables, law_of(mechanism, outputs, tables), poisson=False)
    mean, sd = moments(points, weights * found)
    for k in range(2):
        close(idata.posterior["beta"][..., k], mean[k], sd[k])


@pytest.mark.slow
def test_engines_agree_on_a_table_that_none_can_list():
    """3 x 4 x 2 cells of some hundred records; the summed-out engine against the latent table."""
    shape = {"a": ["x", "y", "z"], "b": [1, 2, 3, 4], "c": [False, True]}
    axes = tuple(Axis(name, categories=labels) for name, labels in shape.items())
    counts = np.random.default_rng(2).negative_binomial(2, 0.1, 24)
    with bdp.reproducible(3):
        release = bdp.publish(
            bdp.mechanisms.PerturbedHistogramMechanism(2.0, 24, axes=axes), counts
        )
    model = bdp.models.LogLinearModel("(a + b + c)^2")
    options = {"draws": 1000, "thin": 4, "seed": 4}
    one, other = (model.fit(release, engine=e, **options) for e in ("hmc", "gibbs"))
    assert "no problem" in one.attrs["verdict"]
    for name in ("beta", "tau"):
        for k in range(one.posterior[name].shape[-1]):
            pair = [idata.posterior[name][..., k].to_numpy() for idata in (one, other)]
            both = np.hypot(*(error(draws) for draws in pair))
            assert abs(pair[0].mean() - pair[1].mean()) < ERRORS * both, (name, k)
