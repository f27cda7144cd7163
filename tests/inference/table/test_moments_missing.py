"""Regressions by moments of columns with missing values: those of the records that have all."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.latent_classes import Noisy
from bayesdp.errors import InvalidInput
from bayesdp.inference.table import moments
from bayesdp.inference.table.moments import estimates_by_moments
from bayesdp.inference.table.regression import prepared
from bayesdp.inference.table.released import read, stored
from tests.inference.table.test_adversaries import posterior
from tests.inference.table.test_moments import survey as complete_survey

SCHEMA = bdp.Schema(
    {
        "y": {"type": "real", "bounds": (0, 10), "bins": 5, "missing": True},
        "a": {"type": "integer", "bounds": (1, 4), "missing": True},
        "e": {"type": "category", "labels": ("u", "v", "w"), "missing": True},
        "s": {"type": "boolean", "missing": True},
    }
)
NAMES = list(SCHEMA.columns)


def survey(rng: np.random.Generator, n: int, gaps: str) -> pd.DataFrame:
    """Records whose columns in `gaps` are missing the more often, the larger a is."""
    whole = complete_survey(rng, n)
    frame = whole[NAMES].astype({"a": "Int64", "e": object, "s": "boolean"})
    for name in gaps:
        frame.loc[rng.random(n) < 0.08 * whole["a"], name] = pd.NA if name != "y" else np.nan
    return frame


def released(
    codes: np.ndarray, scale: float, rng: np.random.Generator | None = None, *, sizes=(2,)
):
    """The group of all marginals of so many columns, with noise where there is a generator."""
    made = []
    for places in itertools.chain(*(itertools.combinations(range(4), size) for size in sizes)):
        counts = np.zeros([list(SCHEMA.cells.values())[k] for k in places])
        np.add.at(counts, tuple(codes[:, k] for k in places), 1)
        one = Noisy(places, counts, scale, gaussian=True)
        made.append(one if rng is None else one._replace(counts=counts + one.noise(rng, 1)[0]))
    return stored(made, None, NAMES)


def codes_of(frame: pd.DataFrame) -> np.ndarray:
    return SCHEMA.coded(frame).to_numpy()


def estimated(formula, family, names, group, tables, *, draws=3, target="data", seed=1):
    columns = {name: SCHEMA.columns[name] for name in names}
    places = [NAMES.index(name) for name in names]
    each = [table[:, places] for table in tables]
    rng = np.random.default_rng(seed)
    return estimates_by_moments(
        formula, family, columns, group, {}, lambda: each, target, draws, rng
    )


def fit_of(formula, family, frame):
    made = prepared(SCHEMA.columns, SCHEMA.coded(frame).astype("int64"))
    name = "ols" if family == "linear" else family
    return getattr(smf, name)(formula, made).fit(disp=False)


@pytest.mark.parametrize(
    ("formula", "family", "names"),
    [
        ("y ~ 1", "linear", "y"),
        ("y ~ a", "linear", "ya"),
        ("y ~ C(a) + C(e) + s", "linear", "yaes"),
        ("s ~ y - 1", "linear", "ys"),
        ("s ~ C(e) + y", "logit", "sey"),
        ("a ~ s + e", "poisson", "sea"),
    ],
)
@pytest.mark.parametrize("gaps", ["", "y", "es", "yaes"])
def test_without_noise_it_is_the_regression_of_complete_records(formula, family, names, gaps):
    frame = survey(np.random.default_rng(2), 300, gaps)
    codes = codes_of(frame)
    found = estimated(formula, family, names, released(codes, 1e-3), [codes] * 2)
    fit = fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


def test_two_columns_need_nothing_of_the_tables():
    """Which records have both is in their pair's counts."""
    rng = np.random.default_rng(3)
    frame = survey(rng, 300, "ya")
    codes = codes_of(frame)
    torn = [rng.permuted(codes, axis=0) for _ in range(5)]
    found = estimated("y ~ C(a)", "linear", "ya", released(codes, 1e-3), torn)
    fit = fit_of("y ~ C(a)", "linear", frame)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6)


def test_the_populations_spread_is_that_of_complete_records():
    frame = survey(np.random.default_rng(4), 400, "yas")
    codes = codes_of(frame)
    asked = ("y ~ a + s", "linear", "yas", released(codes, 1e-3), [codes])
    found = estimated(*asked, draws=4000, target="population")
    # 4,000 draws: a standard deviation is within .07 of its own but once in a million.
    np.testing.assert_allclose(
        found.draws.std(axis=0) / fit_of("y ~ a + s", "linear", frame).bse, 1, atol=0.07
    )


def test_records_that_lack_another_column_have_to_be_left_out(monkeypatch):
    """As they would be in pairwise deletion, which is another regression."""
    frame = survey(np.random.default_rng(2), 300, "yaes")
    codes = codes_of(frame)
    asked = ("y ~ C(a) + C(e) + s", "linear", "yaes", released(codes, 1e-3), [codes])
    seen = read(asked[3], NAMES)[0]
    design = moments.design_of(asked[0], SCHEMA.columns, "linear")
    found = moments.left_out(moments._Layout.of(design, {}, seen), lambda: [codes])
    assert found[()][0] > 0
    monkeypatch.setattr(moments, "left_out", lambda *_: {k: 0 * each for k, each in found.items()})
    fit = fit_of(asked[0], "linear", frame)
    apart = (estimated(*asked).draws[0] - fit.params) / fit.bse
    assert np.abs(apart).max() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "sizes", "scale"),
    [
        ("y ~ a + C(e) + s", [2], 12.0),
        pytest.param("y ~ a * s + C(e)", [2, 3], 6.0, marks=pytest.mark.calibrate),
    ],
)
def test_intervals_cover(formula, sizes, scale):
    """Tables are resamples of the records."""
    rng, hits = np.random.default_rng(7), []
    truth = fit_of(formula, "linear", survey(np.random.default_rng(6), 400_000, "yaes")).params
    for _ in range(100):
        codes = codes_of(survey(rng, 1000, "yaes"))
        tables = [codes[rng.integers(0, 1000, 1000)] for _ in range(10)]
        group = released(codes, scale, rng, sizes=sizes)
        found = estimated(
            formula, "linear", "yaes", group, tables, draws=300, target="population", seed=rng
        )
        lower, upper = np.quantile(found.draws, [0.025, 0.975], axis=0)
        hits.append((lower < truth.to_numpy()) & (truth.to_numpy() < upper))
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 100, 0.95) / 100
    found = np.mean(hits, axis=0)
    assert np.all((low <= found) & (found <= high)), found


def test_coefficients_that_rules_leave_open_are_left_to_tables():
    """Released counts where no record can be are noise, of which moments made a finite slope."""
    rng = np.random.default_rng(9)
    schema = bdp.Schema(
        {
            "works": {"type": "boolean"},
            "income": {"type": "integer", "bounds": (1, 4), "missing": True},
            "sex": {"type": "category", "labels": ["f", "m"]},
            "pregnant": {"type": "boolean"},
        },
        zeros=[{"works": False, "income": (1, 4)}, {"sex": "m", "pregnant": True}],
    )
    works, sex = rng.integers(0, 2, 900), rng.integers(0, 2, 900)
    income = np.where(works == 1, rng.integers(0, 4, 900), 4)
    pregnant = (sex == 0) & (rng.random(900) < 0.3)
    codes = np.stack([works, income, sex, pregnant], axis=1)
    pairs = list(itertools.combinations(range(4), 2))
    fit = posterior([codes] * 20, schema, [[*schema.columns]])
    shown = []
    for pair in pairs:
        counts = np.rint(rng.normal(0, 2, [(2, 5, 2, 2)[k] for k in pair]))
        np.add.at(counts, tuple(codes[:, pair].T), 1)
        shown.append(Noisy(pair, counts, 2.0, True))
    fit.add_groups(released=stored(shown, 900, list(schema.columns)))
    ask = {"draws": 20, "seed": 1}
    for formula, family, name in (
        ("income ~ works", "linear", "works"),
        ("sex ~ income + works", "logit", "works"),
        ("pregnant ~ sex", "logit", "sex[T.m]"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of coefficients without an end, by tables
            found = fit.regression(formula, family=family, **ask)
        assert found.by == "tables"
        ends = found.interval().loc[name]
        assert ends["lower"] < -20  # whose end is none, or as far as the optimiser went
        with pytest.raises(InvalidInput, match="rules leave open or noise drowns; by='moments'"):
            fit.regression(formula, family=family, by="moments", **ask)
    for formula, family in (
        ("pregnant ~ sex", "linear"),  # of which each label has some
        ("income ~ sex", "linear"),
        ("pregnant ~ income", "logit"),
        ("works ~ income + sex", "linear"),
    ):
        assert fit.regression(formula, family=family, **ask).by == "moments"
