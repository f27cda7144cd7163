"""Regressions of a whole table by the moments of its released counts."""

import dataclasses
import functools
import itertools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import arviz as az
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.latent_classes import Noisy
from bayesdp.errors import InvalidInput
from bayesdp.inference.table import generalized, moments
from bayesdp.inference.table.design import Block, Design, design_of
from bayesdp.inference.table.moments import estimates_by_moments
from bayesdp.inference.table.regression import prepared
from bayesdp.inference.table.released import stored

SCHEMA = bdp.Schema(
    {
        "y": {"type": "real", "bounds": (0, 10), "bins": 5},
        "a": {"type": "integer", "bounds": (1, 4)},
        "e": {"type": "category", "labels": ("u", "v", "w")},
        "s": {"type": "boolean"},
        "m": {"type": "boolean", "missing": True},
    }
)
NAMES = list(SCHEMA.columns)
COLUMNS = dict(itertools.islice(SCHEMA.columns.items(), 4))


def survey(rng: np.random.Generator, n: int) -> pd.DataFrame:
    a, e, s = rng.integers(1, 5, n), rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.random(n) < 0.4
    y = (2 + 0.8 * a + 0.5 * e - s + rng.normal(0, 1.5, n)).clip(0, 10)
    return pd.DataFrame({"y": y, "a": a, "e": np.array(["u", "v", "w"])[e], "s": s, "m": s})


def noisy(frame: pd.DataFrame, marginals, scale: float, *, gaussian=True, rng=None) -> list[Noisy]:
    """Marginals' counts, with noise where there is a generator."""
    codes, sizes = SCHEMA.coded(frame).to_numpy(), list(SCHEMA.cells.values())
    made = []
    for names in marginals:
        places = tuple(NAMES.index(name) for name in names)
        counts = np.zeros([sizes[k] for k in places])
        np.add.at(counts, tuple(codes[:, k] for k in places), 1)
        one = Noisy(places, counts, scale, gaussian)
        made.append(one if rng is None else one._replace(counts=counts + one.noise(rng, 1)[0]))
    return made


PAIRS = list(itertools.combinations("yaes", 2))


def estimated(
    formula,
    released,
    n=None,
    *,
    family="linear",
    tables=(),
    target="data",
    draws=3,
    names="yaes",
    pools=None,
):
    columns = {name: SCHEMA.columns[name] for name in names}
    group, rng = stored(released, n, NAMES), np.random.default_rng(1)
    given = (formula, family, columns, group, pools or {}, lambda: tables, target, draws, rng)
    return estimates_by_moments(*given)


@pytest.mark.parametrize("n", [None, 300])
@pytest.mark.parametrize(
    "marginals", [PAIRS, [("y", "e", "a"), ("s", "y"), ("a", "s"), ("s", "e"), ("e",), ("m",)]]
)
@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ a + C(e) + s", "yaes"),
        ("np.log(y) ~ e + I(a**2) + a", "yae"),
        ("a ~ y - 1", "ay"),
        ("y ~ C(e, Sum) + C(a)", "yea"),
        ("s ~ 1", "s"),
    ],
)
def test_without_noise_it_is_least_squares(n, marginals, formula, names):
    frame = survey(np.random.default_rng(2), 300)
    found = estimated(formula, noisy(frame, marginals, 1e-3), n, names=names)
    fit = smf.ols(formula, prepared(SCHEMA.columns, SCHEMA.coded(frame))).fit()
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-7, atol=1e-9)
    seen = noisy(frame, marginals, 1e-3)
    many = estimated(formula, seen, n, names=names, draws=4000, target="population")
    # 4,000 draws: a standard deviation is within .07 of its own but once in a million.
    np.testing.assert_allclose(many.draws.std(axis=0) / fit.bse, 1, atol=0.07)
    centre = (many.draws.mean(axis=0) - fit.params) / fit.bse * np.sqrt(4000)
    assert np.abs(centre).max() < 5.5


@pytest.mark.parametrize(
    ("parts", "terms"),
    [
        ([(0, 1), (1, 2), (2, 0), (2,), (0, 1)], [(0,), (1,), (2,)]),
        ([(0, 1), (2, 1, 0), (2, 0), (2,), (0, 1, 2)], [(0,), (1,), (2,), (0, 1), (0, 1, 2)]),
        ([(3, 0, 1), (2, 1, 0), (2, 3), (3, 1), (3, 2)], [(2,), (3,), (0, 1)]),
    ],
)
def test_counts_are_made_one_by_least_squares(parts, terms):
    """As the projection on the counts that some whole table has, by linear algebra."""
    rng = np.random.default_rng(3)
    shape = (3, 2, 4, 3)[: 1 + max(max(part) for part in parts)]
    scales = [2.0, 1.0, 3.0, 1.5, 0.7]
    cells = np.indices(shape).reshape(len(shape), -1)
    seen, rows = [], []
    for columns, scale in zip(parts, scales, strict=True):
        size = tuple(shape[k] for k in columns)
        seen.append(Noisy(columns, rng.normal(50, 20, size), scale, gaussian=True))
        where = np.ravel_multi_index([cells[k] for k in columns], size)
        rows.append(np.eye(int(np.prod(size)))[:, where])
    weights = np.concatenate([np.full(one.counts.size, 1 / one.scale) for one in seen])
    stacked = np.concatenate(rows)
    target = np.concatenate([one.counts.ravel() for one in seen])
    whole = np.linalg.lstsq(stacked * weights[:, None], target * weights, rcond=None)[0]
    values = [rng.normal(size=(*(shape[k] for k in term), 2)) for term in terms]
    blocks = [
        Block(term, value, [1 + 2 * k, 2 + 2 * k])
        for k, (term, value) in enumerate(zip(terms, values, strict=True))
    ]
    names = [str(k) for k in range(2 * len(terms))]
    design = Design(names, [Block((), np.ones(1), [0]), *blocks])
    still = [one._replace(scale=1e-9 * one.scale) for one in seen]  # without noise, alike weighed
    layout = moments._Layout.of(design, {}, still)
    gram, total, _ = moments._drawn_gram(layout, still, None, 1, rng)
    columns = [value[*cells[list(term)]] for term, value in zip(terms, values, strict=True)]
    z = np.column_stack([np.ones(cells.shape[1]), *columns])
    np.testing.assert_allclose(gram[0], z.T @ (whole[:, None] * z), rtol=1e-9)
    np.testing.assert_allclose(total, whole.sum())


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ a + I(2 * a)", "ya"),
        ("y ~ a * s + I(a * s)", "yas"),
        ("y ~ I(1 / (a - 1)) * s", "yas"),
        ("y ~ I((a - s - 0.5) ** 0.5)", "yas"),
        ("y ~ a:I(s - np.mean(s))", "yas"),
        ("y ~ center(a)", "ya"),
        ("y ~ I(a - np.mean(a))", "ya"),
        ("y ~ I(a.rank())", "ya"),
        ("y ~ odd(a)", "ya"),
    ],
)
def test_what_is_no_function_of_each_record_is_left_to_tables(formula, names):
    assert design_of(formula, {name: SCHEMA.columns[name] for name in names}, "linear") is None
    frame = survey(np.random.default_rng(4), 200)
    everything = list(itertools.combinations(NAMES, 3))
    assert estimated(formula, noisy(frame, everything, 1.0), names=names) is None


def test_a_column_of_one_label_is_left_to_tables():
    columns = SCHEMA.columns | bdp.Schema({"one": {"type": "category", "labels": ["x"]}}).columns
    for formula in ("s ~ one", "s ~ a + one"):
        used = {name: columns[name] for name in ("s", "a", "one") if name in formula}
        assert design_of(formula, used, "logit") is None


def test_an_unmeasured_pair_drowned_moments_and_pools_are_left_to_tables():
    rng = np.random.default_rng(5)
    frame = survey(rng, 200)
    assert estimated("y ~ a + s", noisy(frame, PAIRS[:3], 1.0), names="yas") is None
    assert estimated("y ~ a", noisy(frame, PAIRS, 1.0), names="ya") is not None
    empty = noisy(frame[:1], PAIRS, 3.0)
    assert estimated("y ~ C(a) + e + s", empty, draws=2) is None
    pooled = noisy(frame, PAIRS, 1.0)
    pooled[0] = pooled[0]._replace(counts=pooled[0].counts[:3])
    assert estimated("y ~ a", pooled, names="ya") is None
    assert estimates_by_moments("y ~ a", "linear", {}, None, {}, tuple, "data", 2, rng) is None


FIRSTS = {"y": [0, 1, 3]}


def pooled(
    frame: pd.DataFrame, scale: float, *, rng=None, firsts=FIRSTS["y"], marginals=PAIRS
) -> list[Noisy]:
    """Counts of y alone in its cells, and with others in pools of them."""
    made = noisy(frame, [("y",), *marginals], scale, rng=None)
    for k, one in enumerate(made[1:], 1):
        if 0 in one.columns:
            counts = np.add.reduceat(one.counts, firsts, axis=one.columns.index(0))
            made[k] = one._replace(counts=counts)
    if rng is None:
        return made
    return [one._replace(counts=one.counts + one.noise(rng, 1)[0]) for one in made]


def with_means(frame: pd.DataFrame) -> pd.DataFrame:
    """Records with the mean of their pool's y."""
    made = prepared(SCHEMA.columns, SCHEMA.coded(frame))
    pool = np.searchsorted(FIRSTS["y"], codes_of(frame, "y")[:, 0], side="right")
    return made.assign(y=made["y"].groupby(pool).transform("mean"), exact=made["y"])


def test_pooled_predictors_are_their_pools_means():
    frame = survey(np.random.default_rng(2), 300)
    found = estimated("a ~ y + s", pooled(frame, 1e-6), names="yas", pools=FIRSTS)
    fit = smf.ols("a ~ y + s", with_means(frame)).fit()
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6)
    seen = {"pools": FIRSTS, "draws": 4000, "target": "population"}
    for formula, names in (("a ~ y + s", "yas"), ("y ~ a + C(e)", "yae")):
        made = with_means(frame)
        fit = smf.ols(formula, made).fit()
        many = estimated(formula, pooled(frame, 1e-6), names=names, **seen)
        errors = fit.bse
        if formula.startswith("y"):  # whose own squares are by the grid
            rest = made["exact"] @ made["exact"] - made["y"] @ fit.fittedvalues
            errors = errors * np.sqrt(rest / fit.df_resid / fit.mse_resid)
        np.testing.assert_allclose(many.draws.std(axis=0) / errors, 1, atol=0.07)


def test_pools_without_a_grid_are_left_to_tables():
    frame = survey(np.random.default_rng(5), 200)
    seen = pooled(frame, 1.0)
    assert estimated("y ~ a", seen, names="ya", pools=FIRSTS) is not None
    assert estimated("y ~ a", seen[1:], names="ya", pools=FIRSTS) is None
    assert estimated("y ~ 1", seen, names="y", pools=FIRSTS) is None


def covered_by_pools(formula, names, firsts, *, made=survey, marginals=PAIRS) -> np.ndarray:
    """How often 95% intervals have each coefficient, where y is in pools."""
    rng, hits = np.random.default_rng(8), []
    right = fit_of(formula, "ols", made(np.random.default_rng(6), 400_000)).params.to_numpy()
    given = {"target": "population", "draws": 300, "names": names, "pools": {"y": firsts}}
    for _ in range(100):
        seen = pooled(made(rng, 1000), 12.0, rng=rng, firsts=firsts, marginals=marginals)
        lower, upper = np.quantile(estimated(formula, seen, **given).draws, [0.025, 0.975], axis=0)
        hits.append((lower < right) & (right < upper))
    return np.mean(hits, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "names", "firsts"), [("a ~ y", "ya", [0, 1, 3]), ("y ~ a + s", "yas", [0, 1, 2, 3])]
)
def test_intervals_by_pools_cover(formula, names, firsts):
    """An outcome's pools are wide where there are few records alone, else slopes are too small."""
    found = covered_by_pools(formula, names, firsts)
    assert np.all(found >= stats.binom.ppf(1e-7, 100, 0.95) / 100), found


def codes_of(frame: pd.DataFrame, names: str) -> np.ndarray:
    return SCHEMA.coded(frame).to_numpy()[:, [NAMES.index(name) for name in names]]


def torn(frame: pd.DataFrame, names: str, rng: np.random.Generator) -> np.ndarray:
    """Latent tables at worst: each column in an order of its own, so that none is related."""
    return rng.permuted(codes_of(frame, names), axis=0)


def fit_of(formula: str, family: str, frame: pd.DataFrame):
    made = prepared(SCHEMA.columns, SCHEMA.coded(frame))
    return getattr(smf, family)(formula, made).fit(disp=False)


LINKED = [("s ~ C(a) + C(e)", "logit", "sae"), ("a ~ C(e) + s - 1", "poisson", "aes")]


@pytest.mark.parametrize(
    ("formula", "family", "names"),
    [*LINKED, ("s ~ y + a", "logit", "sya"), ("a ~ 1", "poisson", "a")],
)
def test_without_noise_it_is_the_likelihood_s_maximum(formula, family, names):
    frame = survey(np.random.default_rng(2), 300)
    seen, tables = noisy(frame, PAIRS, 1e-3), [codes_of(frame, names)] * 2
    asked = {"family": family, "tables": tables, "names": names}
    found = estimated(formula, seen, **asked)
    fit = fit_of(formula, family, frame)
    assert list(found.names) == list(fit.params.index)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)
    many = estimated(formula, seen, draws=4000, target="population", **asked)
    dispersion = 1.0
    if family == "poisson":
        y, mean = fit.model.endog, fit.predict()
        dispersion = (y @ y - mean @ mean) / mean.sum()
    bse = fit.bse * np.sqrt(dispersion)
    # As for least squares; the dispersion's own draw widens by less than 1% at 300 records.
    np.testing.assert_allclose(many.draws.std(axis=0) / bse, 1, atol=0.08)
    assert np.abs((many.draws.mean(axis=0) - fit.params) / bse).max() * np.sqrt(4000) < 5.5


@pytest.mark.parametrize(("formula", "family", "names"), LINKED)
def test_two_predictors_need_nothing_of_the_tables(formula, family, names):
    """Their law together is in their pair's counts."""
    rng = np.random.default_rng(3)
    frame = survey(rng, 300)
    tables = [torn(frame, names, rng) for _ in range(20)]
    seen = noisy(frame, PAIRS, 1e-3)
    found = estimated(formula, seen, family=family, tables=tables, names=names)
    fit = fit_of(formula, family, frame)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-6, atol=1e-6)


def test_a_category_of_two_labels_is_an_outcome():
    columns = {"two": {"type": "category", "labels": ("no", "yes")}, "s": {"type": "boolean"}}
    schema = bdp.Schema(columns)
    two, s = np.divmod(np.repeat(np.arange(4), [40, 20, 15, 25]), 2)
    counts = np.array([[40.0, 20.0], [15.0, 25.0]])
    group = stored([Noisy((0, 1), counts, 1e-3, True)], None, ["two", "s"])
    tables, rng = [np.column_stack([two, s])], np.random.default_rng(1)
    given = ("two ~ s", "logit", schema.columns, group, {}, lambda: tables, "data", 2, rng)
    odds = np.log([15 / 40, (25 / 20) / (15 / 40)])
    np.testing.assert_allclose(estimates_by_moments(*given).draws, [odds] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("formula", "family"),
    [("y ~ a", "logit"), ("I(y - 5) ~ a", "poisson"), ("e ~ a", "logit"), ("a ~ y", "ordinal")],
)
def test_outcomes_that_no_link_has_are_left_to_tables(formula, family):
    frame = survey(np.random.default_rng(4), 200)
    names = "".join(name for name in "yae" if name in formula)
    tables = [codes_of(frame, names)]
    given = {"family": family, "tables": tables, "names": names}
    assert estimated(formula, noisy(frame, PAIRS, 1.0), **given) is None


@pytest.mark.parametrize(
    ("formula", "family"),
    [("s ~ C(e)", "logit"), ("s ~ C(e)", "poisson"), ("s ~ C(e) - 1", "poisson")],
)
def test_separated_outcomes_have_no_root(formula, family):
    """All who are u have s and nobody else, by counts that hardly have noise."""
    frame = survey(np.random.default_rng(4), 200)
    frame["s"] = frame["e"] == "u"
    tables = [codes_of(frame, "es")]
    given = {"family": family, "tables": tables, "names": "es"}
    assert estimated(formula, noisy(frame, PAIRS, 1e-9), **given) is None


@pytest.mark.slow
@pytest.mark.parametrize("family", ["logit", "poisson"])
def test_noise_that_drowns_all_leaves_no_root_or_a_number(family):
    rng = np.random.default_rng(4)
    frame = survey(rng, 40)
    tables, columns = [torn(frame, "sae", rng)] * 3, {k: SCHEMA.columns[k] for k in "sae"}
    for _ in range(10):
        group = stored(noisy(frame, PAIRS, 9.0, rng=rng), None, NAMES)
        given = ("s ~ a + C(e)", family, columns, group, {}, lambda: tables, "population", 50, rng)
        found = estimates_by_moments(*given)
        assert found is None or np.isfinite(found.draws).all()


class Study(NamedTuple):
    """A regression of simulated surveys, and what is released of them."""

    formula: str
    names: str
    family: str = "linear"
    survey: Callable[[np.random.Generator, int], pd.DataFrame] = survey
    marginals: tuple[tuple[str, ...], ...] = tuple(PAIRS)
    tables: Callable[..., np.ndarray] = torn


CASES = {
    "linear": Study("y ~ a + C(e) + s", "yaes"),
    "logit": Study("s ~ C(e) + y", "sey", "logit"),
    "poisson": Study("a ~ C(e) + s", "aes", "poisson"),
}


@functools.cache
def truth(study: Study) -> pd.Series:
    """Coefficients in a population of 400,000."""
    name = "ols" if study.family == "linear" else study.family
    return fit_of(study.formula, name, study.survey(np.random.default_rng(6), 400_000)).params


def covered(scale, gaussian, n, replicates, *, seed, study=CASES["linear"]) -> np.ndarray:
    """How often 95% intervals have each coefficient."""
    rng, hits, right = np.random.default_rng(seed), [], truth(study).to_numpy()
    columns = {name: SCHEMA.columns[name] for name in study.names}
    for _ in range(replicates):
        frame = study.survey(rng, n)
        seen = noisy(frame, study.marginals, scale, gaussian=gaussian, rng=rng)
        made = [study.tables(frame, study.names, rng) for _ in range(10)]
        found = estimates_by_moments(
            study.formula,
            study.family,
            columns,
            stored(seen, None, NAMES),
            {},
            functools.partial(iter, made),
            "population",
            300,
            rng,
        )
        lower, upper = np.quantile(found.draws, [0.025, 0.975], axis=0)
        hits.append((lower < right) & (right < upper))
    return np.mean(hits, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "scale", "gaussian"),
    [
        ("linear", 12.0, True),
        ("logit", 12.0, True),
        ("poisson", 12.0, False),
        pytest.param("linear", 12.0, False, marks=pytest.mark.calibrate),
        pytest.param("linear", 4.0, True, marks=pytest.mark.calibrate),
        pytest.param("linear", 30.0, True, marks=pytest.mark.calibrate),
        pytest.param("logit", 4.0, True, marks=pytest.mark.calibrate),
        pytest.param("poisson", 4.0, True, marks=pytest.mark.calibrate),
    ],
)
def test_intervals_cover(family, scale, gaussian):
    """Cells have some 80 records on average, and noise a standard deviation of 12."""
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 100, 0.95) / 100
    found = covered(scale, gaussian, 1000, 100, seed=7, study=CASES[family])
    assert np.all((low <= found) & (found <= high)), found


def test_intervals_that_leave_the_noise_out_do_not(monkeypatch):
    drawn = Noisy.noise

    def forgotten(one, rng, copies):
        return drawn(one, rng, 1) if copies == 1 else np.zeros((copies, *one.counts.shape))

    monkeypatch.setattr(Noisy, "noise", forgotten)
    assert covered(12.0, True, 1000, 25, seed=8).mean() < 0.7


def test_predictors_that_are_not_moved_bias_coefficients(monkeypatch):
    monkeypatch.setattr(generalized, "_shift", lambda products, mean: 0 * products.swapaxes(1, 2))
    assert covered(1.0, True, 1000, 25, seed=8, study=CASES["logit"]).min() < 0.7


@functools.cache
def fitted() -> bdp.models.TablePosterior:
    schema = dataclasses.replace(SCHEMA)
    made = bdp.TableSynthesizer(schema, epsilon=3.0, delta=1e-6)
    with bdp.reproducible(1):
        release = made.release(survey(np.random.default_rng(9), 300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bdp.TableModel(classes=4).fit(
            release, draws=8, warmup=4, tables=4, chains=2, thin=1, seed=1, progress=False
        )


@pytest.mark.filterwarnings("ignore:no released marginal has y, a and s together")
def test_a_posterior_takes_them_where_they_will_do(tmp_path, run_cli):
    fit = fitted()
    found = fit.regression("y ~ a + C(e)", draws=50, seed=1)
    assert (found.by, found.draws.shape, found.naive.shape) == ("moments", (50, 4), (8, 4))
    assert list(found.names) == ["Intercept", "C(e)[T.v]", "C(e)[T.w]", "a"]
    assert "by moments" in repr(found)
    by_tables = fit.regression("y ~ a + C(e)", by="tables", seed=1)
    assert (by_tables.by, by_tables.draws.shape) == ("tables", (8, 4))
    linked = fit.regression("s ~ a", family="logit", draws=50, seed=1)
    assert (linked.by, linked.draws.shape, linked.naive.shape) == ("moments", (50, 2), (8, 2))
    assert fit.regression("y ~ m", draws=50, seed=1).by == "moments"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fit.regression("a ~ s", family="ordinal", seed=1).by == "tables"
    path = tmp_path / "posterior.nc"
    fit.to_netcdf(str(path))
    again = bdp.models.TablePosterior.of(az.from_netcdf(str(path)))
    same = again.regression("y ~ a + C(e)", draws=50, seed=1)
    np.testing.assert_array_equal(same.draws, found.draws)
    status, out, _ = run_cli(f"estimate {path} 'y ~ a' --by moments --draws 50 --seed 1")
    assert status == 0
    assert "from 50 draws of the released counts' moments" in out
    status, _, err = run_cli(f"estimate {path} 'y ~ a * s' --by moments")
    assert status != 0
    assert "by='tables'" in err


def test_tables_that_are_weighed_have_no_moments():
    weighed = fitted().poststratified({"s": {"False": 700, "True": 300}})
    assert weighed.regression("y ~ a", seed=1).by == "tables"


@pytest.mark.filterwarnings("ignore:no released marginal has y, a and s together")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "counts"}, "by is 'counts'"),
        ({"target": "sample"}, "target is 'sample'"),
        ({"by": "moments", "formula": "y ~ a * s"}, "whose moments weren't released"),
        ({"by": "moments", "formula": "a ~ s", "family": "ordinal"}, "weren't released"),
    ],
)
def test_what_is_refused(asked, said):
    with pytest.raises(InvalidInput, match=said):
        fitted().regression(**{"formula": "y ~ a", "seed": 1} | asked)
