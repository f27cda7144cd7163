"""Formulas, designs, names, what is refused, and a real table from release to fit."""

import itertools
import json
import warnings

import numpy as np
import pytest
import statsmodels.datasets

import bayesdp as bdp
from bayesdp.core.views import NoiseView, view_of
from bayesdp.inference.log_linear.design import contrasts, design_of
from bayesdp.inference.log_linear.formula import terms_of
from bayesdp.inference.log_linear.release import _variance
from bayesdp.mechanisms.counts.cells import Axis

pytestmark = pytest.mark.slow

REPLACE = bdp.Neighbours.REPLACE_ONE
AXES = (
    Axis("a", categories=("x", "y")),
    Axis("b", categories=(0, 1, 2)),
    Axis("c d", edges=(0.0, 1.0, 5.0)),
)
QUICK = {"draws": 20, "chains": 2, "warmup": 20, "seed": 1}
FEW = pytest.mark.filterwarnings("ignore:the chains of this fit")


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("a + b + c", "a b c"),
        ("a*b + c", "a b c a:b"),
        ("c + b + a + b:a", "c b a a:b"),
        ("(a + b + c)^2", "a b c a:b a:c b:c"),
        ("(a + b + c)**2 - b:c", "a b c a:b a:c"),
        ("(.)^2 + a:b:c", "a b c a:b a:c b:c a:b:c"),
        ("a*b*c", "a b c a:b a:c b:c a:b:c"),
        ("1 + a + `b` + c:(a + b) + c", "a b c a:c b:c"),
        (".^9", "a b c a:b a:c b:c a:b:c"),
        ("  a+b +c  ", "a b c"),
    ],
)
def test_formulas(formula, terms):
    assert [":".join(term) for term in terms_of(formula, "abc")] == terms.split()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("a +", "position 4 it ends where a column"),
        ("(a + b", r"position 7 it ends where '\)'"),
        ("a ++ b", r"position 4 '\+' stands where a column"),
        ("a b", "position 3 'b' stands where an operator"),
        ("a ~ b", "position 3 '~' isn't a part"),
        ("a^b", "position 3 'b' stands where a whole number"),
        ("a^0", "position 3 the power is 0"),
        ("0 + a", "position 1 0 isn't a column; the model always has its intercept"),
        ("a - 1", "position 3 the intercept is taken out, which the model always has"),
        ("", "position 1 it ends"),
        ("a)", r"position 2 '\)' stands"),
        (None, "formula is None"),
    ],
)
def test_what_is_no_formula_is_refused_where_it_goes_wrong(formula, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.LogLinearModel(formula)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("a + b + c + z", "formula has 'z', but the table's columns are"),
        ("a*b", r"without the column 'c'.*\+ c"),
        ("a + b + c + a:b:c", "has 'a:b:c' without"),
        ("a + b + c - a", "without the column 'a'"),
    ],
)
def test_formulas_that_dont_fit_the_table(formula, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        terms_of(formula, "abc")


def test_contrasts_give_all_categories_the_same_variance_and_sum_to_zero():
    for k in (2, 3, 7):
        q = contrasts(k)
        assert np.allclose(q.sum(axis=0), 0)
        expected = k / (k - 1) * (np.eye(k) - 1 / k)
        assert np.allclose(q @ q.T, expected)
    assert contrasts(1).shape == (1, 0)


def test_a_design_shows_the_effects_of_combinations():
    possible = np.ones((2, 3, 2), dtype=bool)
    design = design_of([("a",), ("b",), ("a", "b")], AXES, possible)
    assert design.labels == (
        *("a[x]", "b[0]", "b[1]"),
        *("a[x]:b[0]", "a[x]:b[1]"),
    )
    u = np.random.default_rng(1).normal(size=design.columns.shape[1])
    effects = (design.columns[:, 3:] @ u[3:]).reshape(2, 3, 2)[:, :, 0]
    assert np.allclose(effects.sum(axis=0), 0)
    assert np.allclose(effects.sum(axis=1), 0)
    assert np.allclose(design.shown[3:] @ u, effects[0, :2])
    assert np.array_equal(design.owners, [0, 1, 1, 2, 2])


@FEW
def test_names_in_the_posterior_and_marginals_of_it():
    made = bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES, (("a", "c d"), ("b",)), zeros=(0, 7))
    release = bdp.Release.of(made, [(10, 12, 9, 13, 20, 11, 14)])
    model = bdp.models.LogLinearModel("a*`c d` + b", prior={"c d:a": 0.5, "b": 1.0})
    idata = model.fit(release, **QUICK)
    terms = ["Intercept", "a[x]", "c d[0.0-1.0]", "b[0]", "b[1]", "a[x]:c d[0.0-1.0]"]
    assert idata.posterior["term"].to_numpy().tolist() == terms
    assert idata.posterior["scale"].to_numpy().tolist() == ["a", "c d"]
    assert idata.posterior["cell"].to_numpy()[0] == "x, 0, 1.0-5.0"
    assert json.loads(idata.attrs["prior"]) == {"c d:a": 0.5, "b": 1.0}
    p = model.marginal(idata, release, ["b", "a"])
    assert p.dims == ("chain", "draw", "b", "a")
    assert np.allclose(p.sum(["b", "a"]), 1)
    cell = idata.posterior["probability"].sel(cell="x, 0, 1.0-5.0")
    assert np.allclose(p.sel(b=0, a="x"), cell)
    for wrong in (["z"], None, 3):
        with pytest.raises(bdp.errors.InvalidInput, match="columns is"):
            model.marginal(idata, release, wrong)
    another = bdp.Release.of(made, [(10, 12, 9, 13, 20, 11, 15)])
    with pytest.raises(bdp.errors.InvalidInput, match="isn't this model's posterior given this"):
        model.marginal(idata, another, ["a"])
    with pytest.raises(bdp.errors.InvalidInput, match="cells is 'yes'; it must be True or False"):
        model.fit(release, cells="yes", **QUICK)
    without = model.fit(release, cells=False, **QUICK)
    with pytest.raises(bdp.errors.InvalidInput, match="fit with cells=True"):
        model.marginal(without, release, ["a"])
    with pytest.raises(bdp.errors.InvalidInput, match="several marginals"):
        model.fit_naive(release, **QUICK)
    drawn = bdp.posterior_predictive(model, idata, release, draws=20, seed=1)
    assert drawn.posterior_predictive["outputs"].shape == (1, 20, 1, 7)
    with pytest.raises(bdp.errors.InvalidInput, match="fit with cells=True"):
        bdp.posterior_predictive(model, without, release)


@FEW
def test_terms_that_no_marginal_shows_are_named():
    made = bdp.mechanisms.NoisyMarginalsMechanism(2.0, AXES, (("a", "b"), ("b", "c d")))
    release = bdp.Release.of(made, [(10, 12, 9, 13, 20, 11, 14, 8, 11, 20, 9, 13)])
    with pytest.warns(UserWarning, match="hardly anything of a:c d,"):
        bdp.models.LogLinearModel("a*b + a*`c d`").fit(release, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the chains of this fit")
        bdp.models.LogLinearModel("a*b + `c d`").fit(release, **QUICK)


def cells(mechanism, outputs=((4, 0, 2, 7),)):
    return bdp.Release.of(mechanism, outputs)


NAMED = {"a": ["x", "y"], "b": [0, 1]}
NAMED_AXES = tuple(Axis(name, categories=labels) for name, labels in NAMED.items())
BOUNDED = bdp.mechanisms.DiscreteLaplaceMechanism(
    1.2, dimension=4, bounds=(0, 9), bounding="inflated"
)
PLAIN = cells(bdp.mechanisms.DiscreteLaplaceMechanism(1.2, dimension=4))


@pytest.mark.parametrize(
    ("release", "options", "message"),
    [
        (PLAIN, {}, "categories is None, and the release doesn't say what its 4 cells are"),
        (PLAIN, {"categories": {"a": ["x", "y"]}}, "cells is 4, but the axes have"),
        (PLAIN, {"categories": NAMED, "zeros": [1, 0]}, "zeros has type int64"),
        (PLAIN, {"categories": NAMED, "zeros": [True, True, True, False]}, "fewer than 2"),
        (PLAIN, {"categories": NAMED, "prior": {"c": 1.0}}, r"prior has \['c'\], but"),
        (
            cells(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, axes=NAMED_AXES)),
            {"categories": NAMED},
            "the release says its own",
        ),
        (
            cells(bdp.mechanisms.DiscreteLaplaceMechanism(1.2, 2.0, REPLACE, 4, n=13)),
            {"categories": NAMED, "n": 12},
            "the model has n, but the release says n = 13",
        ),
        (
            cells(BOUNDED),
            {"categories": NAMED},
            "give the model n, or a prior on it",
        ),
        (
            cells(BOUNDED),
            {"categories": NAMED, "n": 10**8},
            "narrow n, or merge categories",
        ),
        (
            bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(5, 5, (1.0, 1.0)), [1]),
            {},
            "a LogLinearModel takes NoisyMarginalsMechanism.*bdp.combine",
        ),
        (
            bdp.Release.of_groups(dict.fromkeys("uv", (PLAIN.mechanism, PLAIN.outputs))),
            {},
            "this release has 2 groups",
        ),
    ],
)  # fmt: skip
def test_what_a_model_does_not_take(release, options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.LogLinearModel("a*b", **options).fit(release, **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": 0.0}, "prior is 0.0; it must be positive and finite"),
        ({"prior": np.inf}, "prior is inf"),
        ({"prior": {"a": -1}}, r"prior\['a'\] is -1"),
        ({"prior": {3: 1.0}}, "prior has the name 3; terms are named as in the formula"),
        ({"scale": np.nan}, "scale is nan"),
        ({"cell_effects": 0.0}, "cell_effects is 0.0; it must be positive and finite"),
        ({"cell_effects": "yes"}, "cell_effects is 'yes'; .* or True or False"),
        ({"intercept": (0.0, np.inf)}, r"intercept\[1\] is inf"),
        ({"intercept": 3}, "intercept is 3"),
        ({"n": 0}, "n is 0"),
        ({"n": range(5, 5)}, "must be non-empty"),
    ],
)
def test_priors_that_are_none(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.LogLinearModel("a*b", **options)


def test_an_engine_that_cannot_and_a_table_that_is_too_large():
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES[:2], (("a",), ("b",)))
    release = bdp.Release.of(made, [(4, 5, 2, 3, 6)])
    with pytest.raises(bdp.errors.InvalidInput, match="the latent counts don't sum out"):
        bdp.models.LogLinearModel("a + b").fit(release, engine="hmc", **QUICK)
    wide = tuple(Axis(f"c{k}", categories=(0, 1)) for k in range(23))
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, wide, (("c0",),))
    with pytest.raises(bdp.errors.InvalidInput, match="8,388,608 cells"):
        bdp.models.LogLinearModel("(.)").fit(bdp.Release.of(made, [(4, 5)]), **QUICK)
    made = bdp.mechanisms.NoisyMarginalsMechanism(1.0, wide[:16], (("c0",),))
    with pytest.raises(bdp.errors.InvalidInput, match="more than the 100,000,000"):
        bdp.models.LogLinearModel("(.)^4").fit(bdp.Release.of(made, [(4, 5)]), **QUICK)


@FEW
def test_naive_fits_take_no_counts_below_0():
    model = bdp.models.LogLinearModel("a*b", categories=NAMED)
    release = cells(bdp.mechanisms.DiscreteLaplaceMechanism(1.2, dimension=4), [(4, -1, 2, 7)])
    with pytest.raises(bdp.errors.InvalidInput, match="1 released counts are below 0"):
        model.fit_naive(release, **QUICK)
    with pytest.raises(bdp.errors.InvalidInput, match="all released counts are 0"):
        bdp.models.LogLinearModel("a*b").fit_naive(
            cells(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, axes=NAMED_AXES), [(0,) * 4]),
            **QUICK,
        )
    idata = model.fit_naive(PLAIN, **QUICK)
    assert "naive" in idata.attrs["engine_reason"]


def test_a_real_table_from_release_to_fit():
    """Affairs, by the rating of the marriage, children and religiousness: Fair (1978), 6,366 women.

    The table's own log odds ratios, which are public, lie where the posterior says.
    """
    data = statsmodels.datasets.fair.load_pandas().data
    table = {
        "affair": (data["affairs"] > 0).map({True: "yes", False: "no"}),
        "marriage": np.where(data["rate_marriage"] >= 4, "good", "poor"),
        "religious": np.where(data["religious"] >= 3, "yes", "no"),
    }
    columns = {"affair": ["no", "yes"], "marriage": ["good", "poor"], "religious": ["no", "yes"]}
    pairs = list(itertools.combinations(columns, 2))
    frame = data.assign(**table)[list(columns)]
    with bdp.reproducible(1):
        made = bdp.synthesizers.LogLinearSynthesizer(1.0, marginals=pairs, categories=columns)
        release = made.release(frame)
    model = bdp.models.LogLinearModel("(.)^2")
    idata = model.fit(release, seed=2)
    assert "no problem" in idata.attrs["verdict"]
    counts = frame.value_counts().unstack("affair")
    for first, second in pairs:
        p = model.marginal(idata, release, [first, second]).to_numpy()
        odds = np.log(p[..., 0, 0] * p[..., 1, 1] / p[..., 0, 1] / p[..., 1, 0])
        n = frame.value_counts([first, second]).unstack().to_numpy().astype(float)
        true = np.log(n[0, 0] * n[1, 1] / n[0, 1] / n[1, 0])
        assert abs(odds.mean() - true) < 5 * odds.std()
        assert odds.std() < 0.2
    assert counts.to_numpy().sum() == 6366
    drawn = bdp.posterior_predictive(model, idata, release, draws=4000, seed=3)
    drawn = drawn.posterior_predictive["outputs"].to_numpy().reshape(-1, 12)
    low, high = np.quantile(drawn, [1e-3, 1 - 1e-3], axis=0)
    assert np.all((low <= release.outputs[0]) & (release.outputs[0] <= high))


@pytest.mark.parametrize("scale", [0.3, 2.0, 1e4, 1e9, 3e13])
def test_the_variance_of_noise_is_a_sum_over_its_law(scale):
    """Or, where that is too long, that of Laplace noise on real numbers, less 1/6."""
    cell = view_of(bdp.mechanisms.DiscreteLaplaceMechanism(scale), NoiseView).cell
    x = np.arange(-2000, 2001)
    law = np.exp(-np.abs(x) / scale)
    exact = (x**2 * law).sum() / law.sum() if scale < 50 else 2 * scale**2 - 1 / 6
    assert _variance(cell, 4)[0] * 4 == pytest.approx(exact, rel=1e-12)
