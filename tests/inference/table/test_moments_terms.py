"""Regressions by moments whose terms are of several columns, by counts of three and more."""

import functools
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import bayesdp as bdp
from bayesdp.inference.table import moments
from bayesdp.inference.table.doubts import doubts_of_unmeasured
from bayesdp.inference.table.moments import estimates_by_moments
from bayesdp.inference.table.regression import prepared
from bayesdp.inference.table.released import stored
from bayesdp.schema.formulas import sums_of
from tests.inference.table import test_moments_missing as gaps
from tests.inference.table.test_moments import (
    FIRSTS,
    NAMES,
    PAIRS,
    SCHEMA,
    codes_of,
    estimated,
    fit_of,
    noisy,
    pooled,
    survey,
    torn,
    with_means,
)

TRIPLES = list(itertools.combinations("yaes", 3))
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
@pytest.mark.parametrize("marginals", [PAIRS + TRIPLES, [("s", "e", "y", "a"), ("e", "a"), ("m",)]])
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
    assert estimated(formula, noisy(frame, PAIRS + TRIPLES, 1e-3)) is None
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
    assert triples == [one for one in sums_of(formula, NAMES) if len(one) == 3]
    assert estimated(formula, noisy(frame, measured, 1e-3), names=names) is not None
    for one in triples:
        less = [part for part in measured if part != one]
        assert estimated(formula, noisy(frame, less, 1e-3), names=names) is None
        (doubt,) = doubts_of_unmeasured(names, less, sums_of(formula, NAMES))
        assert f"has {', '.join(one[:-1])} and {one[-1]} together" in doubt
    assert not [*doubts_of_unmeasured(names, measured, sums_of(formula, NAMES))]


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
    found = estimated(formula, noisy(frame, PAIRS + TRIPLES, 1e-3), **asked)
    fit = fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


def released(codes: np.ndarray, sizes, scale=1e-3):
    """Counts of pairs and of all triples of the columns that may have missing values."""
    made = []
    for size in sizes:
        for places in itertools.combinations(range(4), size):
            counts = np.zeros([list(gaps.SCHEMA.cells.values())[k] for k in places])
            np.add.at(counts, tuple(codes[:, k] for k in places), 1)
            made.append(moments.Noisy(places, counts, scale, gaussian=True))
    return stored(made, None, gaps.NAMES)


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
    found = gaps.estimated(formula, family, names, released(codes, [2, 3]), tables)
    fit = gaps.fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)
    whole = gaps.estimated(formula, family, names, released(codes, [2, 4]), [codes])
    np.testing.assert_allclose(whole.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


def test_records_with_a_missing_value_are_in_no_sum(monkeypatch):
    """A fault: their cells have 0 in the design, but would count as records."""
    monkeypatch.setattr(moments, "_with", lambda columns, missing, counted: columns)
    monkeypatch.setattr(moments, "left_out", lambda *_: (np.zeros((1, 1, 1)), np.zeros(1)))
    codes = gaps.codes_of(frame := gaps.survey(np.random.default_rng(2), 400, "yas"))
    found = gaps.estimated("y ~ a * s", "linear", "yas", released(codes, [2, 3]), [codes])
    fit = gaps.fit_of("y ~ a * s", "linear", frame)
    assert np.abs((found.draws[0] - fit.params) / fit.bse).max() > 0.3


@pytest.mark.parametrize(
    ("formula", "names"), [("a ~ y * s", "yas"), ("a ~ y:C(e) + s", "yaes"), ("y ~ a * s", "yas")]
)
def test_pooled_columns_of_terms_are_their_pools_means(formula, names):
    frame = survey(np.random.default_rng(2), 300)
    found = estimated(
        formula, pooled(frame, 1e-6, marginals=PAIRS + TRIPLES), names=names, pools=FIRSTS
    )
    fit = smf.ols(formula, with_means(frame)).fit()
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6)


def test_pools_in_an_outcome_of_two_columns_or_with_a_link_are_left_to_tables():
    frame = survey(np.random.default_rng(5), 200)
    seen = pooled(frame, 1.0, marginals=PAIRS + TRIPLES)
    assert estimated("I(y * a) ~ s", seen, names="yas", pools=FIRSTS) is None
    linked = {"family": "logit", "tables": [codes_of(frame, "sya")], "names": "sya"}
    assert estimated("s ~ y * a", seen, pools=FIRSTS, **linked) is None


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


CASES = {"linear": ("y ~ a * s + e", "yaes"), "logit": ("s ~ a * y", "say")}


@functools.cache
def truth(family: str) -> pd.Series:
    """Coefficients in a population of 400,000."""
    made = prepared(SCHEMA.columns, SCHEMA.coded(interacting(np.random.default_rng(6), 400_000)))
    name = "ols" if family == "linear" else family
    return getattr(smf, name)(CASES[family][0], made).fit(disp=False).params


def covered(scale, replicates, *, seed, family="linear", pools=None) -> np.ndarray:
    """How often 95% intervals have each coefficient, where latent tables relate no columns.

    A logistic regression's tables are resamples.
    """
    rng, hits = np.random.default_rng(seed), []
    formula, names = CASES[family]
    columns = {name: SCHEMA.columns[name] for name in names}
    for _ in range(replicates):
        frame = interacting(rng, 1000)
        seen = noisy(frame, PAIRS + TRIPLES, scale, rng=rng)
        each = [torn(frame, names, rng) for _ in range(10)]
        if family != "linear":
            each = [codes_of(frame, names)[rng.integers(0, 1000, 1000)] for _ in range(10)]
        tables = functools.partial(iter, each)
        group = stored(seen, None, NAMES)
        given = (formula, family, columns, group, {}, tables, "population", 300, rng)
        found = estimates_by_moments(*given)
        lower, upper = np.quantile(found.draws, [0.025, 0.975], axis=0)
        hits.append((lower < truth(family).to_numpy()) & (truth(family).to_numpy() < upper))
    return np.mean(hits, axis=0)
