"""Regressions by moments whose terms are of several columns, by counts of three and more."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.inference.table import moments
from bayesdp.inference.table.doubts import doubts_of_unmeasured
from bayesdp.schema.formulas import columns_and_sums
from tests.inference.table import test_moments_missing as gaps
from tests.inference.table.test_moments import (
    FIRSTS,
    NAMES,
    PAIRS,
    SCHEMA,
    Study,
    codes_of,
    covered,
    covered_by_pools,
    estimated,
    fit_of,
    fitted,
    noisy,
    pooled,
    survey,
    with_means,
)

TRIPLES = list(itertools.combinations("yaes", 3))
MEASURED = (*PAIRS, *TRIPLES)
FORMULAS = [
    ("y ~ a * s", "yas"),
    ("y ~ a:C(e) + s", "yaes"),
    ("y ~ I(a - 2.5) * C(e, Sum)", "yae"),
    ("np.log(y) ~ C(a) * e - 1", "yae"),
    ("y ~ (a + e + s)**2", "yaes"),
    ("a ~ I(y * s) + y + e", "yaes"),
    ("I(y - a) ~ s + e", "yaes"),
    ("y ~ a:s - 1", "yas"),
]


@pytest.mark.parametrize("n", [None, 300])
@pytest.mark.parametrize("marginals", [[*MEASURED], [("s", "e", "y", "a"), ("e", "a"), ("m",)]])
@pytest.mark.parametrize(("formula", "names"), FORMULAS)
def test_without_noise_it_is_least_squares(n, marginals, formula, names):
    frame = survey(np.random.default_rng(2), 300)
    found = estimated(formula, noisy(frame, marginals, 1e-3), n, names=names)
    fit = fit_of(formula, "ols", frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-7, atol=1e-8)
    many = estimated(
        formula, noisy(frame, marginals, 1e-3), n, names=names, draws=4000, target="population"
    )
    # 4,000 draws: a standard deviation is within .07 of its own but once in a million.
    np.testing.assert_allclose(many.draws.std(axis=0) / fit.bse, 1, atol=0.07)


@pytest.mark.parametrize("formula", ["y ~ a * e * s", "I(y * s) ~ a:C(e)"])
def test_sums_of_four_columns_need_a_marginal_of_four(formula):
    frame = survey(np.random.default_rng(2), 300)
    assert estimated(formula, noisy(frame, MEASURED, 1e-3)) is None
    found = estimated(formula, noisy(frame, [tuple("yaes")], 1e-3))
    fit = fit_of(formula, "ols", frame)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("formula", "names"), FORMULAS)
def test_each_sum_that_is_said_to_be_needed_is(formula, names):
    """With the marginals of a workload of the formula alone, and without any one of the triples."""
    frame = survey(np.random.default_rng(4), 300)
    schema = bdp.Schema({name: SCHEMA.columns[name] for name in NAMES[:4]})
    measured = bdp.TableSynthesizer(schema, workload=[formula]).measured
    triples = [one for one in measured if len(one) == 3]
    _, sums = columns_and_sums(formula, NAMES)
    assert triples == [one for one in sums if len(one) == 3]
    assert estimated(formula, noisy(frame, measured, 1e-3), names=names) is not None
    for one in triples:
        less = [part for part in measured if part != one]
        assert estimated(formula, noisy(frame, less, 1e-3), names=names) is None
        (doubt,) = doubts_of_unmeasured(names, less, sums)
        assert f"has {', '.join(one[:-1])} and {one[-1]} together" in doubt
    assert not [*doubts_of_unmeasured(names, measured, sums)]


@pytest.mark.parametrize(
    ("formula", "family", "names"),
    [
        ("s ~ C(a) * e", "logit", "sae"),
        ("s ~ y * e", "logit", "sye"),
        ("a ~ s:C(e) - 1", "poisson", "aes"),
        ("I(a * s) ~ y + e", "poisson", "yaes"),
    ],
)
def test_without_noise_it_is_the_likelihood_s_maximum(formula, family, names):
    frame = survey(np.random.default_rng(2), 300)
    tables = [codes_of(frame, names)] * 2
    asked = {"family": family, "tables": tables, "names": names}
    assert estimated(formula, noisy(frame, PAIRS, 1e-3), **asked) is None
    found = estimated(formula, noisy(frame, MEASURED, 1e-3), **asked)
    fit = fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", ["", "y", "es", "yaes"])
@pytest.mark.parametrize(
    ("formula", "family", "names"),
    [
        ("y ~ a * s", "linear", "yas"),
        ("y ~ a:C(e) + s", "linear", "yaes"),
        ("s ~ C(a) * e", "logit", "sae"),
        ("y ~ a * e + s:e", "linear", "yaes"),
    ],
)
def test_without_noise_it_is_the_regression_of_complete_records(formula, family, names, missing):
    """Of three columns the counts say which are complete; of four, a latent table says the rest."""
    rng = np.random.default_rng(2)
    frame = gaps.survey(rng, 400, missing)
    codes = gaps.codes_of(frame)
    tables = [codes] * 2 if len(names) > 3 else [rng.permuted(codes, axis=0)]
    if family == "logit":
        tables = [codes]  # whose predictors' law together is asked for too
    found = gaps.estimated(formula, family, names, gaps.released(codes, 1e-3, sizes=[2, 3]), tables)
    fit = gaps.fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)
    whole = gaps.estimated(
        formula, family, names, gaps.released(codes, 1e-3, sizes=[2, 4]), [codes]
    )
    np.testing.assert_allclose(whole.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


def test_records_with_a_missing_value_are_in_no_sum(monkeypatch):
    """A fault: their cells have 0 in the design, but would count as records."""
    monkeypatch.setattr(moments, "_with", lambda columns, missing, counted: columns)
    found = moments.left_out
    monkeypatch.setattr(
        moments, "left_out", lambda *given: {k: 0 * each for k, each in found(*given).items()}
    )
    codes = gaps.codes_of(frame := gaps.survey(np.random.default_rng(2), 400, "yas"))
    found = gaps.estimated(
        "y ~ a * s", "linear", "yas", gaps.released(codes, 1e-3, sizes=[2, 3]), [codes]
    )
    fit = gaps.fit_of("y ~ a * s", "linear", frame)
    assert np.abs((found.draws[0] - fit.params) / fit.bse).max() > 0.3


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("a ~ y * s", "yas"),
        ("a ~ s * y", "asy"),
        ("a ~ y:C(e) + s", "yaes"),
        ("y ~ a * s", "yas"),
    ],
)
def test_pooled_columns_of_terms_are_their_pools_means(formula, names):
    frame = survey(np.random.default_rng(2), 300)
    found = estimated(formula, pooled(frame, 1e-6, marginals=MEASURED), names=names, pools=FIRSTS)
    fit = smf.ols(formula, with_means(frame)).fit()
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6)


def test_pools_in_an_outcome_of_two_columns_are_left_to_tables():
    frame = survey(np.random.default_rng(5), 200)
    seen = pooled(frame, 1.0, marginals=MEASURED)
    assert estimated("I(y * a) ~ s", seen, names="yas", pools=FIRSTS) is None


def test_a_term_of_too_many_cells_is_left_to_tables():
    columns = {name: {"type": "integer", "bounds": (1, 400)} for name in "ab"}
    schema = bdp.Schema({"y": {"type": "boolean"}} | columns)
    assert moments.design_of("y ~ a + b", schema.columns, "linear") is not None
    assert moments.design_of("y ~ a:b", schema.columns, "linear") is None


def interacting(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Records whose slope by a is .2, and 1 more among those with s."""
    frame = survey(rng, n)
    y = 3 + 0.2 * frame["a"] + (frame["a"] - 2) * frame["s"] + rng.normal(0, 1.5, n)
    return frame.assign(y=y.clip(0, 10))


def resampled(frame: pd.DataFrame, names: str, rng: np.random.Generator) -> np.ndarray:
    return codes_of(frame, names)[rng.integers(0, len(frame), len(frame))]


CASES = {
    "linear": Study("y ~ a * s + e", "yaes", "linear", interacting, MEASURED),
    "logit": Study("s ~ a * y", "say", "logit", interacting, MEASURED, resampled),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "scale"),
    [
        ("linear", 12.0),
        ("logit", 12.0),
        pytest.param("linear", 4.0, marks=pytest.mark.calibrate),
        pytest.param("linear", 30.0, marks=pytest.mark.calibrate),
        pytest.param("logit", 4.0, marks=pytest.mark.calibrate),
    ],
)
def test_intervals_cover(family, scale):
    """Cells of a triple have some 20 records on average, and noise a standard deviation of 12."""
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 100, 0.95) / 100
    found = covered(scale, True, 1000, 100, seed=7, study=CASES[family])
    assert np.all((low <= found) & (found <= high)), found


def test_intervals_that_leave_the_noise_of_triples_out_do_not(monkeypatch):
    drawn = moments.Noisy.noise

    def forgotten(one, rng, copies):
        still = copies > 1 and len(one.columns) > 2
        return np.zeros((copies, *one.counts.shape)) if still else drawn(one, rng, copies)

    monkeypatch.setattr(moments.Noisy, "noise", forgotten)
    assert covered(12.0, True, 1000, 25, seed=8, study=CASES["linear"])[-1] < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "firsts"), [("a ~ y * s", [0, 1, 3]), ("y ~ a * s", [0, 1, 2, 3])]
)
def test_intervals_by_pools_cover(formula, firsts):
    found = covered_by_pools(formula, "yas", firsts, made=interacting, marginals=MEASURED)
    assert np.all(found >= stats.binom.ppf(1e-7, 100, 0.95) / 100), found


def test_a_posterior_says_which_columns_its_terms_need():
    asked = "y ~ a * C(e)"
    with pytest.warns(
        UserWarning, match="no released marginal has y, a and e together: what terms"
    ):
        assert fitted().regression(asked, seed=1).by == "tables"
    with (
        pytest.warns(UserWarning, match="no released marginal has y, a and e together"),
        pytest.raises(InvalidInput, match="triples for a term of two columns"),
    ):
        fitted().regression(asked, by="moments", seed=1)
    made = bdp.TableSynthesizer(SCHEMA, epsilon=5.0, delta=1e-6, workload=[asked])
    with bdp.reproducible(1):
        release = made.release(survey(np.random.default_rng(9), 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = bdp.TableModel(classes=4).fit(
            release, draws=8, warmup=4, tables=4, chains=2, thin=1, seed=1, progress=False
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "regressions|.* of the spread")
        found = fit.regression(asked, draws=50, seed=1)
    assert (found.by, found.draws.shape) == ("moments", (50, 6))
    names = ["Intercept", "C(e)[T.v]", "C(e)[T.w]", "a", "a:C(e)[T.v]", "a:C(e)[T.w]"]
    assert list(found.names) == names
