"""Logistic regression's posterior against quadrature and enumeration of all that may be true.

Means and standard deviations of chains are compared to within 5 Monte Carlo standard errors: a
false alarm has probability 6e-7 a number.
"""

import itertools

import numpy as np
import pytest
from scipy import optimize, special

import bayesdp as bdp
from bayesdp.inference.regression.logistic_release import setting_of
from bayesdp.mechanisms.counts.cells import Axis
from tests.inference.log_linear.test_log_linear import (
    all_tables,
    close,
    hermite,
    law_of,
    likelihood,
    moments,
    product,
)

REPLACE = bdp.Neighbours.REPLACE_ONE
AXES = (Axis("dose", categories=(0, 4)), Axis("ill", categories=("no", "yes")))
CATEGORIES = {axis.name: axis.categories for axis in AXES}
PRIOR, SPREAD = ((-0.3, 0.4), (0.9, 0.8)), 0.7
X = np.array([[1, -1], [1, 1]])  # of the patterns dose = 0 and dose = 4, as the prior takes them


def model(**given) -> bdp.LogisticRegressionModel:
    return bdp.LogisticRegressionModel("ill ~ dose", PRIOR, spread=SPREAD, **given)


def odds_rules(points):
    return [hermite(m, s, points) for m, s in zip(*PRIOR, strict=True)]


def log_probabilities(u):
    """Of ill = no and yes in each pattern; shape (points, 4), in the order of the cells."""
    log_odds = u @ X.T
    both = np.stack([special.log_expit(-log_odds), special.log_expit(log_odds)], axis=2)
    return both.reshape(len(u), 4)


def in_own_units(u):
    """The intercept at dose 0 and the slope a unit of dose."""
    return np.stack([u[:, 0] - u[:, 1], u[:, 1] / 2], axis=1)


def agrees(idata, u, weights) -> None:
    mean, sd = moments(in_own_units(u), weights)
    assert idata.posterior["coefficient"].to_numpy().tolist() == ["intercept", "dose"]
    for k in range(2):
        close(idata.posterior["beta"][..., k], mean[k], sd[k], k)


def fitted(made, mechanism, outputs, **options):
    options = {"draws": 2500, "warmup": 500, "seed": 3, **options}
    return made.fit(bdp.Release.of(mechanism, outputs), **options)


def cells_of(points):
    """Prior points: log probabilities of cells, u, weights. One pattern's log odds of the other."""
    rule = hermite(0, SPREAD * np.sqrt(2), points)
    at, weights = product(rule, *odds_rules(points))
    frequent = np.stack([special.log_expit(at[:, 0]), special.log_expit(-at[:, 0])], axis=1)
    return np.repeat(frequent, 2, axis=1) + log_probabilities(at[:, 1:]), at[:, 1:], weights


def of_tables(eta, tables, law):
    """Pr[outputs | rates that sum to 1], by summing over all tables."""
    return likelihood(eta, np.eye(4), tables, law, poisson=False)


MATRIX = bdp.mechanisms.RandomizedResponseMechanism(
    ((6, 2, 1, 1), (1, 5, 2, 2), (0, 1, 8, 1), (3, 3, 3, 1)), n=4
)


@pytest.mark.parametrize("outputs", [[(3, 0, 1, 3)], [(3, 0, 1, 3), (1, 0, 2, 1)]])
def test_answers_of_whole_records(outputs):
    """Against the sum over all 4^4 records."""
    idata = fitted(model(categories=CATEGORIES), MATRIX, outputs)
    eta, u, weights = cells_of(24)
    records = np.array(list(itertools.product(range(4), repeat=4)))
    law = sum(MATRIX.logp(np.array(z), records) for z in outputs)
    found = np.exp(np.stack([eta[:, r].sum(axis=1) for r in records], axis=1)) @ np.exp(law)
    agrees(idata, u, weights * found)
    assert idata.attrs["engine"] == "hmc"
    assert "true categories are summed out" in idata.attrs["engine_reason"]


@pytest.mark.parametrize("success", [None, "no"])
def test_answers_with_public_predictors(success):
    """Against the sum over all responses; an unlike chance of lying either way."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (2, 5)), n=6)
    outputs, dose = [(1, 0, 1, 1, 0, 1), (1, 1, 1, 0, 0, 1)], np.array([0, 4, 4, 0, 0, 4])
    made = model(
        data={"dose": dose}, success=success, categories=success and {"ill": ["no", "yes"]}
    )
    idata = fitted(made, mechanism, outputs)
    u, weights = product(*odds_rules(60))
    records = np.array(list(itertools.product(range(2), repeat=6)))
    law = sum(mechanism.logp(np.array(z), records) for z in outputs)
    eta = log_probabilities(u).reshape(-1, 2, 2)
    if success == "no":
        eta = eta[..., ::-1]
    which = (dose > 0).astype(int)
    found = np.stack([eta[:, which, r].sum(axis=1) for r in records], axis=1)
    agrees(idata, u, weights * (np.exp(found) @ np.exp(law)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["hmc", "gibbs"])
def test_noisy_cells_with_poisson_counts(engine):
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(1.2, 4, axes=AXES)
    outputs = [(4, 0, 2, 7), (5, 1, 0, 6)]
    idata = fitted(model(rate=(0.8, 0.6)), mechanism, outputs, engine=engine)
    rules = [hermite(0.8, 0.6, 12), *[hermite(0, SPREAD, 12)] * 2, *odds_rules(12)]
    points, weights = product(*rules)
    eta = log_probabilities(points[:, 3:]) + points[:, :1] + np.repeat(points[:, 1:3], 2, axis=1)
    one = np.arange(40)
    for c in range(4):
        table = np.zeros((40, 4), dtype=np.int64)
        table[:, c] = one
        law = law_of(mechanism, outputs, table) - special.gammaln(one + 1.0)
        log_p = special.logsumexp(eta[:, c, None] * one + law, axis=1) - np.exp(eta[:, c])
        weights = weights * np.exp(log_p - log_p.max())
    agrees(idata, points[:, 3:], weights)


TABLES = {
    "cells": (bdp.mechanisms.PerturbedHistogramMechanism(1.2, 4, REPLACE, 6, AXES), [(4, 0, 1, 3)]),
    "marginals": (
        bdp.mechanisms.NoisyMarginalsMechanism(
            1.1, AXES, (("dose",), ("dose", "ill")), "gaussian", REPLACE, 6
        ),
        [(3, 2, 2, 1, 1, 3)],
    ),
    "copies": (
        bdp.mechanisms.DirichletMultinomialMechanism(6, 5, 4, (1.0, 0.5, 2.0, 1.0), (), AXES),
        [(2, 0, 1, 2), (1, 1, 0, 3)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_tables_with_n_public(kind):
    idata = fitted(model(), *TABLES[kind])
    eta, u, weights = cells_of(24)
    tables = all_tables(4, total=6)
    agrees(idata, u, weights * of_tables(eta, tables, law_of(*TABLES[kind], tables)))
    assert idata.attrs["engine"] == "gibbs"


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("cells", "copies"), ("copies", "marginals", "copies")])
def test_several_releases_of_a_table(kinds):
    releases = [bdp.Release.of(*TABLES[kind]) for kind in kinds]
    idata = model().fit(releases, draws=2500, warmup=500, seed=3)
    eta, u, weights = cells_of(24)
    tables = all_tables(4, total=6)
    law = sum(law_of(*TABLES[kind], tables) for kind in kinds)
    agrees(idata, u, weights * of_tables(eta, tables, law))
    assert idata.attrs["release"] == " ".join(each.fingerprint for each in releases)


def test_several_releases_say_what_n_may_be():
    made = bdp.mechanisms.DirichletMultinomialMechanism(None, 6, 4, (1.0, 0.5, 2.0, 1.0), (), AXES)
    outputs, sizes = [[(2, 0, 1, 3)], [(1, 1, 0, 4)]], np.array([0, 0.2, 0.1, 0.3, 0.0, 0.4])
    releases = [bdp.Release.of(made, each) for each in outputs]
    one = bdp.Release.of(made, [each[0] for each in outputs])
    found = [
        setting_of(model(n=sizes), each).problem.sizes for each in (releases, releases[::-1], one)
    ]
    for other in found[1:]:
        assert [n for n, _ in found[0]] == [n for n, _ in other]
        ratio = np.array([a / b for (_, a), (_, b) in zip(found[0], other, strict=True)])
        assert np.ptp(ratio) < 1e-9 * ratio[0]


@pytest.mark.slow
def test_copies_with_n_confidential():
    """A law of n that the copies have too; and cells in another order, the response first."""
    axes = (AXES[1], AXES[0])
    mechanism = bdp.mechanisms.DirichletMultinomialMechanism(
        None, 6, 4, (1.0, 0.5, 2.0, 1.0), (), axes
    )
    outputs, sizes = [(2, 0, 1, 3)], np.array([0, 0.2, 0.1, 0.3, 0.0, 0.4])
    idata = fitted(model(n=sizes), mechanism, outputs)
    eta, u, weights = cells_of(20)
    eta = eta.reshape(-1, 2, 2).transpose(0, 2, 1).reshape(-1, 4)
    tables = np.concatenate([all_tables(4, total=n) for n in np.flatnonzero(sizes)])
    n = tables.sum(axis=1)
    law = law_of(mechanism, outputs, tables) + np.log(sizes[n])
    agrees(idata, u, weights * of_tables(eta, tables, law))
    log_p = eta @ tables.T - special.gammaln(tables + 1.0).sum(1) + special.gammaln(n + 1.0)
    mean, sd = moments(n[:, None].astype(float), weights @ np.exp(log_p + law))
    close(idata.posterior["n"], mean[0], sd[0])


@pytest.mark.slow
def test_perturbed_coefficients_of_all_tables():
    """Against the sum over all tables, each with its own minimiser."""
    bounds = {"ill": (0.0, 1.0), "dose": (-2.0, 6.0)}  # dose is rescaled to -1/2 and 1/2
    made = bdp.mechanisms.PerturbedCoefficientsMechanism(
        bounds, "ill", 1.5, 0.4, 7, loss="logistic"
    )
    outputs = np.array([(0.3, 0.9), (0.6, 0.2)])
    outputs = np.rint(outputs / made.granularity) * made.granularity
    release = bdp.Release.of(made, [tuple(z) for z in outputs])
    idata = model(categories={"dose": (0, 4)}).fit(release, draws=2500, seed=3)
    tables = all_tables(4, total=7)
    signed = np.array([[-1, 0.5], [1, -0.5], [-1, -0.5], [1, 0.5]])
    law = np.zeros(len(tables))
    for k, table in enumerate(tables):
        w = optimize.minimize(
            lambda w, x=table: x @ np.logaddexp(0, -signed @ w) + 0.75 * w @ w, np.zeros(2),
            tol=1e-10,
        ).x  # fmt: skip
        law[k] = -((outputs - w) ** 2).sum() / (2 * 0.4**2)
    eta, u, weights = cells_of(24)
    agrees(idata, u, weights * of_tables(eta, tables, law))
    assert idata.attrs["engine"] == "gibbs"
    with pytest.raises(bdp.errors.InvalidInput, match="no naive one"):
        model(categories={"dose": (0, 4)}).fit_naive(release)


def test_what_coefficients_need():
    bounds = {"ill": (0.0, 1.0), "dose": (-2.0, 6.0)}
    made = bdp.mechanisms.PerturbedCoefficientsMechanism(
        bounds, "ill", 1.5, 0.4, 7, loss="logistic"
    )
    release = bdp.Release.of(made, [(0.25, 0.5)])
    for given, message in (
        ({}, "continuous one can't be listed"),
        ({"categories": {"dose": (0, 9)}}, "within its bounds"),
        ({"categories": {"dose": ("a", "b")}}, "within its bounds"),
        ({"categories": {"dose": (0, 4), "ill": (0, 2)}}, "within its bounds"),
        ({"categories": {"dose": (0, 4), "ill": (0, 0.5)}}, "they are its bounds"),
        ({"categories": {"dose": range(-2, 7), "sex": (0, 1)}}, "must list all values"),
        ({"categories": {"dose": (0, 4)}, "zeros": [True]}, "zeros is given"),
        ({"categories": {"dose": (0, 4)}, "n": 5}, "says n = 7"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            model(**given).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match=r"the table's columns are \['dose', 'ill'\]"):
        bdp.LogisticRegressionModel("dos ~ ill", categories={"dose": (0, 4)}).fit(release)
    linear = bdp.mechanisms.PerturbedCoefficientsMechanism(bounds, "ill", 1.5, 0.4, 7)
    with pytest.raises(bdp.errors.InvalidInput, match=r"take bdp\.LinearRegressionModel"):
        model(categories={"dose": (0, 4)}).fit(bdp.Release.of(linear, [(0.25, 0.5)]))
    with pytest.raises(bdp.errors.InvalidInput, match=r"take bdp\.LogisticRegressionModel"):
        bdp.LinearRegressionModel("ill").fit(release)
    coarse = bdp.mechanisms.PerturbedCoefficientsMechanism(
        bounds, "ill", 1.5, 1.5, 7, loss="logistic", granularity=0.25
    )
    with pytest.raises(bdp.errors.InvalidInput, match="granularity"):
        model(categories={"dose": (0, 4)}).fit(bdp.Release.of(coarse, [(0.25, 0.5)]))


@pytest.mark.slow
@pytest.mark.parametrize("n", [None, 48])
def test_known_records_tell_of_the_odds_what_a_logistic_regression_does(n):
    """However uneven patterns are; the noise is below 1e-30 here."""
    counts = np.array([1, 2, 40, 5])
    relation = REPLACE if n else bdp.Neighbours.ADD_REMOVE
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(0.01, 4, relation, n, AXES)
    u, weights = product(*odds_rules(80))
    found = weights * np.exp(log_probabilities(u) @ counts)
    release = bdp.Release.of(mechanism, [counts])
    for idata in (
        model().fit(release, draws=2500, seed=5),
        model().fit_naive(release, draws=2500, seed=5),
    ):
        agrees(idata, u, found)


@pytest.mark.slow
def test_naive_answers_are_taken_for_the_truth():
    outputs = [(3, 0, 1, 3), (1, 0, 2, 1)]
    release = bdp.Release.of(MATRIX, outputs)
    u, weights = product(*odds_rules(60))
    counts = np.bincount(np.ravel(outputs), minlength=4)
    found = weights * np.exp(log_probabilities(u) @ counts)
    idata = model(categories=CATEGORIES).fit_naive(release, draws=2500, seed=1)
    agrees(idata, u, found)
    public = bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 3)), n=3), [(1, 0, 1), (1, 1, 0)]
    )
    found = weights * np.exp(log_probabilities(u) @ np.array([1, 3, 1, 1]))
    agrees(model(data={"dose": [0, 4, 0]}).fit_naive(public, draws=2500, seed=1), u, found)


def test_coefficients_in_the_columns_own_units():
    """All patterns' log odds from the shown coefficients, by a design written out here."""
    shape = {"age": [20, 35, 80], "sex": ["f", "m"], "ill": [True, False], "step": [1, 2, 5]}
    axes = tuple(Axis(name, categories=tuple(v)) for name, v in shape.items())
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 36, axes=axes), [tuple(range(36))]
    )
    made = bdp.LogisticRegressionModel("ill ~ age*sex + step + step:age", factors=["step"])
    design = setting_of(made, release).design
    assert design.labels == (
        "intercept", "age", "sex[m]", "step[2]", "step[5]", "age:sex[m]", "age:step[2]",
        "age:step[5]",
    )  # fmt: skip
    u = np.random.default_rng(1).normal(size=8)
    raw = np.array(
        [
            [1, a, s, p == 2, p == 5, a * s, a * (p == 2), a * (p == 5)]
            for a, s, p in itertools.product(shape["age"], (0, 1), shape["step"])
        ]
    )
    assert np.allclose(raw @ (design.shown @ u), design.columns @ u, atol=1e-12)
    pairs = setting_of(made, release).problem.pairs
    levels = np.argwhere(np.ones((3, 2, 2, 3)))
    assert np.array_equal(levels[pairs[:, 0]][:, [0, 1, 3]], levels[pairs[:, 1]][:, [0, 1, 3]])
    assert set(levels[pairs[:, 1], 2]) == {1}  # the last category: False
    made = bdp.LogisticRegressionModel("ill ~ 1", success=True)
    setting = setting_of(made, release)
    assert set(levels[setting.problem.pairs[:, 1], 2]) == {0}
    assert setting.design.labels == ("intercept",)


def test_public_predictors_of_any_values():
    rng = np.random.default_rng(2)
    data = {"age": rng.uniform(20, 80, 40), "sex": rng.choice(["f", "m"], 40)}
    release = bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, 40), [tuple([0, 1] * 20)]
    )
    setting = setting_of(bdp.LogisticRegressionModel("ill ~ .", data=data), release)
    u = rng.normal(size=3)
    b = setting.design.shown @ u
    expected = b[0] + b[1] * data["age"] + b[2] * (data["sex"] == "m")
    assert np.allclose(np.sort(setting.design.columns @ u), np.sort(expected))


def test_structural_zeros_of_whole_patterns():
    zeros = [[True, True], [False, False]]
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(1.0, dimension=4)
    release = bdp.Release.of(mechanism, [(0, 0, 12, 30)])
    made = bdp.LogisticRegressionModel("ill ~ 1", categories=CATEGORIES, zeros=zeros)
    idata = made.fit(release, draws=500, seed=1)
    assert abs(float(idata.posterior["beta"].mean()) - np.log(30 / 12)) < 0.2
    half = [True, False, False, False]
    made = bdp.LogisticRegressionModel("ill ~ 1", categories=CATEGORIES, zeros=half)
    with pytest.raises(bdp.errors.InvalidInput, match="log odds would be infinite"):
        made.fit(release)
