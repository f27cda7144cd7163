"""Several releases of the same table, answers or moments in one posterior."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.core.outputs.counts import all_counts
from bayesdp.inference.counts.multinomial_engines import _product
from bayesdp.inference.log_linear import fit as fits
from bayesdp.mechanisms.counts.cells import Axis
from tests.inference.regression import test_linear_regression as moments

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")

REPLACE = bdp.Neighbours.REPLACE_ONE
N, ALPHA = 12, (1.0, 0.5, 2.0)
NOISY = bdp.Release.of(
    bdp.mechanisms.PerturbedHistogramMechanism(1.5, 3, REPLACE, n=N), [(6, 3, 5), (4, 2, 4)]
)
HIDDEN = bdp.Release.of(
    bdp.mechanisms.DiscreteGaussianMechanism(1.2, 1.0, dimension=3), [(7, 2, 4)], delta=1e-6
)
COPIED = bdp.Release.of(
    bdp.mechanisms.DirichletMultinomialMechanism(N, 9, 3, (1.0, 2.0, 1.0)), [(4, 2, 3)]
)
DRAWN = bdp.Release.of(
    bdp.mechanisms.ConjugateMechanism("categorical", "synthetic_one", N, (2.0, 2.0, 2.0), size=9),
    [(3, 3, 3)],
)
MODIPS = bdp.Release.of(
    bdp.mechanisms.ModipsSBSMechanism(bdp.families.Categorical(3), 9, (2.0, 2.0, 2.0), N),
    [(5, 1, 3), (6, 1, 2)],
)
SETS = {
    "noise of two kinds": (NOISY, HIDDEN),
    "noise and copies": (NOISY, COPIED, DRAWN),
    "modips copies and noise": (MODIPS, NOISY),
    "modips copies of two releases": (MODIPS, HIDDEN, MODIPS),
}


def truth(releases):
    """All counts and the log of their joint probability with the outputs."""
    x = all_counts(N, 3)
    found = stats.dirichlet_multinomial.logpmf(x, ALPHA, N)
    for release in releases:
        for z in release.outputs:
            found = found + release.mechanism.logp(np.array(z), x)
    return x, found


@pytest.mark.parametrize("name", SETS)
def test_laws_of_counts_multiply(name):
    releases, model = list(SETS[name]), bdp.MultinomialModel(ALPHA)
    x, log_joint = truth(releases)
    shares = special.softmax(log_joint)
    assert model.log_evidence(releases) == pytest.approx(special.logsumexp(log_joint), abs=1e-9)
    for category in range(3):
        mean = shares @ (ALPHA[category] + x[:, category]) / (sum(ALPHA) + N)
        for order in (releases, releases[::-1]):
            found = model.posterior(order, category)
            assert found.mean() == pytest.approx(mean, abs=1e-10)
    base, mixture = _product([r.parts[0] for r in releases], ALPHA, [(N, 1.0)])
    if mixture is not None:
        likely = log_joint > log_joint.max() - 30
        assert mixture.log_joint(x[likely]) == pytest.approx(log_joint[likely], abs=1e-8)
    else:
        assert base.log_probability(x) == pytest.approx(np.log(shares), abs=1e-9)


@pytest.mark.slow
def test_chains_sample_them_together():
    """Gibbs sampling, within 5 of its standard errors, which is a false alarm of 1e-6 a number."""
    releases = list(SETS["modips copies and noise"])
    x, log_joint = truth(releases)
    mean = special.softmax(log_joint) @ (np.array(ALPHA) + x) / (sum(ALPHA) + N)
    model = bdp.MultinomialModel(ALPHA)
    idata = model.fit(releases, engine="gibbs", draws=3000, warmup=200, seed=1)
    theta = idata.posterior["theta"].to_numpy()
    batches = theta.reshape(40, -1, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(40)
    assert np.all(np.abs(theta.mean(axis=(0, 1)) - mean) < 5 * error)
    assert idata.attrs["release"].split() == [r.fingerprint for r in releases]
    assert idata.observed_data["outputs_2"].shape == (2, 3)


def test_answers_of_the_same_records_go_together():
    """Two randomized responses with their own matrices, against all that records may be."""
    one = bdp.mechanisms.RandomizedResponseMechanism(((3, 1, 1), (1, 4, 1), (1, 1, 2)), n=4)
    other = bdp.mechanisms.RandomizedResponseMechanism(((2, 1, 1), (1, 2, 1), (1, 1, 2)), n=4)
    outputs = (0, 1, 1, 2), (0, 1, 2, 2)
    releases = [bdp.Release.of(m, [z]) for m, z in zip((one, other), outputs, strict=True)]
    alpha, weights, means = np.array(ALPHA), [], []
    for records in itertools.product(range(3), repeat=4):
        x = np.bincount(records, minlength=3)
        law = special.gammaln(alpha + x).sum()
        for made, z in zip((one, other), outputs, strict=True):
            law += np.log(made.matrix[list(records), list(z)]).sum()
        weights.append(law)
        means.append((alpha + x) / (alpha.sum() + 4))
    mean = special.softmax(weights) @ np.array(means)
    idata = bdp.MultinomialModel(ALPHA).fit(releases, engine="marginal", draws=10_000, seed=1)
    theta = idata.posterior["theta"].to_numpy()
    error = theta.reshape(40, -1, 3).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(40)
    assert np.all(np.abs(theta.mean(axis=(0, 1)) - mean) < 5 * error)


@pytest.mark.parametrize("n", [30, None])
def test_moments_as_copies_or_as_releases(n):
    """Two copies of one mechanism are two releases of it, draw by draw."""
    rng = np.random.default_rng(1)
    made, model = moments.mechanism(2, 3.0, n), moments.model()
    numbers = moments.simulated(rng, 1, 30, 2)["numbers"][0]
    numbers = numbers if n else np.append(30.0, numbers)
    whole = moments.released(made, numbers, rng, copies=2)
    each = [bdp.Release.of(made, [z]) for z in whole.outputs]
    one, two = (model.fit(r, draws=30, seed=2).posterior for r in (whole, each))
    assert all(np.array_equal(one[name], two[name]) for name in one.data_vars)
    assert model.fit(each, draws=5, seed=2).observed_data["outputs_2"].shape[0] == 1


def test_moments_that_do_not_belong_together_are_refused():
    def release(n, **bounds):
        made = bdp.mechanisms.NoisyMomentsMechanism(bounds, 3.0, n)
        return bdp.Release.of(made, [(1.0,) * len(made.numbers)])

    unit = (-1.0, 1.0)
    one, model = release(30, x0=unit, y=unit), bdp.LinearRegressionModel("y")
    with pytest.raises(bdp.errors.InvalidInput, match="n = 30 and n = 31"):
        model.fit([one, release(31, x0=unit, y=unit)])
    with pytest.raises(bdp.errors.InvalidInput, match="bound 'x0'"):
        model.fit([one, release(30, x0=(-2.0, 1.0), y=unit)])
    with pytest.raises(bdp.errors.InvalidInput, match="say which predictors"):
        model.fit([one, release(30, x0=unit, x1=unit, y=unit)])
    with pytest.raises(bdp.errors.InvalidInput, match="the release's columns are"):
        model.fit([one, release(30, x0=unit, x1=unit)])
    chosen = bdp.LinearRegressionModel("y", predictors=["x0"])
    both = chosen.fit([one, release(30, x0=unit, x1=unit, y=unit)], draws=10, seed=1)
    assert both.posterior["beta"].sizes["coefficient"] == 2


def test_groups_of_tables_too():
    noise, copies = NOISY.mechanism, COPIED.mechanism
    both = [
        bdp.Release.of_groups({"a": (noise, [(6, 3, 5)]), "b": (noise, [(1, 2, 9)])}),
        bdp.Release.of_groups({"a": (copies, [(4, 2, 3)]), "b": (copies, [(0, 2, 7)])}),
    ]
    model = bdp.MultinomialModel(ALPHA)
    each = [model.log_evidence([release[g] for release in both]) for g in "ab"]
    assert model.log_evidence(both) == pytest.approx(sum(each), abs=1e-10)
    theta = model.fit(both, draws=20, seed=1).posterior["theta"]
    assert theta.dims == ("chain", "draw", "group", "category")


def test_tables_that_do_not_belong_together_are_refused():
    model = bdp.MultinomialModel(ALPHA)
    answers = bdp.mechanisms.RandomizedResponseMechanism(((2, 1, 1), (1, 2, 1), (1, 1, 2)), n=N)
    other = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.5, 3, REPLACE, n=N + 1), [(6, 3, 5)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="n = 12 and n = 13"):
        model.fit([NOISY, other])
    with pytest.raises(bdp.errors.InvalidInput, match="not both"):
        model.fit([NOISY, bdp.Release.of(answers, [(0,) * N])])
    with pytest.raises(bdp.errors.InvalidInput, match="one release at a time"):
        model.fit([NOISY, HIDDEN], engine="augmentation")
    with pytest.raises(bdp.errors.InvalidInput, match="n = 12"):
        bdp.MultinomialModel(ALPHA, n=N).fit([NOISY, HIDDEN])
    far = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(0.005, 3, REPLACE, n=N), [(0, 0, 12)]
    )
    with pytest.warns(UserWarning, match="noise hardly explains what was released"):
        model.fit([far, bdp.Release.of(far.mechanism, [(12, 0, 0)])])


# Tables with a formula.

SIZE = 6
AXES = (Axis("a", categories=("x", "y")), Axis("b", categories=(0, 1)))
CELLS = bdp.Release.of(
    bdp.mechanisms.PerturbedHistogramMechanism(1.5, 4, REPLACE, SIZE, AXES), [(3, 0, 2, 2)]
)
MARGINAL = bdp.Release.of(
    bdp.mechanisms.NoisyMarginalsMechanism(1.2, AXES, [("b",)], noise="gaussian"),
    [(4, 1), (6, 2)],
    delta=1e-6,
)
TURNED = bdp.Release.of(
    bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES, [("b", "a")]), [(2, 1, 3, 0)]
)
BOUNDED = bdp.Release.of(
    bdp.mechanisms.DiscreteGaussianMechanism(
        1.5, 1.0, dimension=4, bounds=(0, 4), bounding="truncated"
    ),
    [(2, 1, 1, 3)],
    delta=1e-6,
)
TABLES = {
    "cells twice, in either order": (CELLS, TURNED),
    "cells, bounded and not": (BOUNDED, CELLS),
    "cells and a marginal": (CELLS, MARGINAL),
    "bounded cells, a marginal and cells": (BOUNDED, MARGINAL, TURNED),
}


def effects_on_a_grid(releases, model):
    """The coordinates, and the log of their density with the outputs, by listing all tables."""
    setting = fits.setting_of(model, releases)
    grid = np.linspace(-5, 5, 101)
    u = np.stack([g.ravel() for g in np.meshgrid(grid, grid, indexing="ij")], axis=1)
    p = special.softmax(u @ setting.design.columns.T, axis=1)
    x = all_counts(SIZE, 4)
    law = special.gammaln(SIZE + 1) - special.gammaln(x + 1).sum(axis=1)
    for release in releases:
        made = release.mechanism
        marginal = isinstance(made, bdp.mechanisms.NoisyMarginalsMechanism)
        s = np.array([made.statistic(row) for row in x]) if marginal else x
        possible = np.all(s <= 4, axis=1) if release is BOUNDED else np.ones(len(s), dtype=bool)
        s = np.minimum(s, 4) if release is BOUNDED else s
        law = law + sum(made.logp(np.array(z), s) for z in release.outputs)
        law = np.where(possible, law, -np.inf)
    log_p = special.logsumexp(np.log(p) @ x.T + law, axis=1)
    return p, log_p + stats.norm.logpdf(u, 0, model.prior).sum(axis=1), float(grid[1] - grid[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_laws_of_tables_multiply(name):
    releases = list(TABLES[name])
    columns = {axis.name: axis.categories for axis in AXES} if BOUNDED in releases else None
    n = None if CELLS in releases else SIZE
    model = bdp.models.LogLinearModel("a + b", prior=1.0, categories=columns, n=n)
    p, log_joint, step = effects_on_a_grid(releases, model)
    idata = model.fit(releases, draws=4000, warmup=500, seed=1)
    found = idata.posterior["probability"].to_numpy()
    error = found.reshape(80, -1, 4).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(80)
    assert np.all(np.abs(found.mean(axis=(0, 1)) - special.softmax(log_joint) @ p) < 5 * error)
    assert len(idata.attrs["release"].split()) == len(releases)
    if MARGINAL in releases or BOUNDED in releases:  # the latter's law isn't log-concave
        with pytest.raises(bdp.errors.InvalidInput, match="doesn't sum out"):
            bdp.log_evidence(model, releases)
        return
    evidence = bdp.log_evidence(model, releases, draws=1000, seed=1)
    expected = special.logsumexp(log_joint) + 2 * np.log(step)
    assert abs(evidence.log_value - expected) < 5 * evidence.standard_error
    assert evidence.standard_error < 0.02


@pytest.mark.slow
def test_tables_as_copies_or_as_releases():
    """Two copies of one mechanism are two releases of it, draw by draw."""
    relation = bdp.Neighbours.ADD_REMOVE
    for made, size in (
        (bdp.mechanisms.PerturbedHistogramMechanism(1.5, 4, relation, None, AXES), 4),
        (bdp.mechanisms.NoisyMarginalsMechanism(1.5, AXES, [("a", "b"), ("b",)]), 6),
    ):
        z = [(3, 0, 2, 2, 4, 5)[:size], (4, 1, 1, 2, 6, 2)[:size]]
        model = bdp.models.LogLinearModel("a*b")
        each = [bdp.Release.of(made, [one]) for one in z]
        one, two = (model.fit(r, draws=30, seed=2) for r in (bdp.Release.of(made, z), each))
        assert one.attrs["engine"] == two.attrs["engine"]
        assert np.allclose(one.posterior["beta"], two.posterior["beta"], atol=1e-9)


@pytest.mark.slow
def test_a_whole_marginal_may_name_its_columns_in_any_order():
    """It has the same counts, in another order."""
    z = np.array([[2, 1], [3, 0]])
    plain, turned = (
        bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES, [names])
        for names in (("a", "b"), ("b", "a"))
    )
    model = bdp.models.LogLinearModel("a*b", n=SIZE)
    releases = (
        bdp.Release.of(plain, [tuple(z.ravel())]),
        bdp.Release.of(turned, [tuple(z.T.ravel())]),
    )
    one, other = (model.fit(release, draws=1000, seed=1) for release in releases)
    means = [each.posterior["probability"].mean(("chain", "draw")) for each in (one, other)]
    assert np.allclose(*means, atol=0.03)
    evidences = [bdp.log_evidence(model, release, seed=1) for release in releases]
    error = np.hypot(*(each.standard_error for each in evidences))
    assert abs(evidences[0].log_value - evidences[1].log_value) < 5 * error


def test_other_tables_are_refused():
    model = bdp.models.LogLinearModel("a + b")
    turned = bdp.Release.of(
        bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES[::-1], [("b", "a")]), [(2, 1, 3, 0)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="must be of one table"):
        model.fit([CELLS, turned])
    other = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.5, 4, REPLACE, 7, AXES), [(3, 0, 2, 2)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="n = 6 and n = 7"):
        model.fit([CELLS, other])
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't say what its 4 cells are"):
        model.fit([CELLS, BOUNDED])
    far = bdp.mechanisms.DiscreteGaussianMechanism(
        0.2, 1.0, dimension=4, bounds=(5, 9), bounding="truncated"
    )
    low = bdp.Release.of(far, [(5, 5, 5, 5)], delta=1e-6)
    model = bdp.models.LogLinearModel(
        "a + b", categories={axis.name: axis.categories for axis in AXES}
    )
    with pytest.raises(bdp.errors.InvalidInput, match="probability zero"):
        model.fit([CELLS, BOUNDED, low])
