"""Linear regressions of a whole table by the moments of its released counts."""

import dataclasses
import functools
import itertools
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.latent_classes import Noisy
from bayesdp.errors import InvalidInput
from bayesdp.inference.table import moments
from bayesdp.inference.table.moments import design_of, estimates_by_moments
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


def estimated(formula, released, n=None, *, target="data", draws=3, names="yaes"):
    columns = {name: SCHEMA.columns[name] for name in names}
    group = stored(released, n, NAMES)
    return estimates_by_moments(formula, columns, group, target, draws, np.random.default_rng(1))


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


def test_counts_are_made_one_by_least_squares():
    """As the projection on the counts that some whole table has, by linear algebra."""
    rng = np.random.default_rng(3)
    shape, parts = (3, 2, 4), [(0, 1), (1, 2), (2, 0), (2,), (0, 1)]
    scales = [2.0, 1.0, 3.0, 1.5, 0.7]
    cells = np.indices(shape).reshape(3, -1)
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
    values = [rng.normal(size=(size, 2)) for size in shape]
    design = moments.Design(
        ["1", *"bcdef"],
        [moments.Block(k, values[k], [1 + 2 * k, 2 + 2 * k]) for k in range(3)],
        0,
    )
    still = [one._replace(scale=1e-9 * one.scale) for one in seen]  # without noise, alike weighed
    gram, total = moments._drawn_gram(design, still, None, 1, rng)
    parts = [value[cell] for value, cell in zip(values, cells, strict=True)]
    z = np.column_stack([np.ones(cells.shape[1]), *parts])
    np.testing.assert_allclose(gram[0], z.T @ (whole[:, None] * z), rtol=1e-9)
    np.testing.assert_allclose(total, whole.sum())


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ a:s", "yas"),
        ("y ~ a + I(a * s)", "yas"),
        ("y ~ a + I(2 * a)", "ya"),
        ("y ~ center(a)", "ya"),
        ("y ~ I(a - np.mean(a))", "ya"),
        ("y ~ I(a.rank())", "ya"),
        ("y ~ odd(a)", "ya"),
        ("y ~ m", "ym"),
    ],
)
def test_what_is_no_function_of_single_columns_is_left_to_tables(formula, names):
    assert design_of(formula, {name: SCHEMA.columns[name] for name in names}) is None
    frame = survey(np.random.default_rng(4), 200)
    everything = list(itertools.combinations(NAMES, 2))
    assert estimated(formula, noisy(frame, everything, 1.0), names=names) is None


def test_an_unmeasured_pair_drowned_moments_and_pools_are_left_to_tables():
    frame = survey(np.random.default_rng(5), 200)
    assert estimated("y ~ a + s", noisy(frame, PAIRS[:3], 1.0), names="yas") is None
    assert estimated("y ~ a", noisy(frame, PAIRS, 1.0), names="ya") is not None
    empty = noisy(frame[:1], PAIRS, 3.0)
    assert estimated("y ~ C(a) + e + s", empty, draws=2) is None
    pooled = noisy(frame, PAIRS, 1.0)
    pooled[0] = pooled[0]._replace(counts=pooled[0].counts[:3])
    assert estimated("y ~ a", pooled, names="ya") is None
    assert estimates_by_moments("y ~ a", {}, None, "data", 2, np.random.default_rng(1)) is None


FORMULA = "y ~ a + C(e) + s"


@functools.cache
def truth() -> pd.Series:
    """Coefficients in a population of 400,000."""
    frame = survey(np.random.default_rng(6), 400_000)
    return smf.ols(FORMULA, prepared(SCHEMA.columns, SCHEMA.coded(frame))).fit().params


def covered(scale, gaussian, n, replicates, *, seed) -> np.ndarray:
    """How often 95% intervals have each coefficient."""
    rng, hits = np.random.default_rng(seed), []
    for _ in range(replicates):
        released = noisy(survey(rng, n), PAIRS, scale, gaussian=gaussian, rng=rng)
        columns, group = COLUMNS, stored(released, None, NAMES)
        found = estimates_by_moments(FORMULA, columns, group, "population", 300, rng)
        lower, upper = np.quantile(found.draws, [0.025, 0.975], axis=0)
        hits.append((lower < truth().to_numpy()) & (truth().to_numpy() < upper))
    return np.mean(hits, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "gaussian"),
    [
        (12.0, True),
        pytest.param(12.0, False, marks=pytest.mark.calibrate),
        pytest.param(4.0, True, marks=pytest.mark.calibrate),
        pytest.param(30.0, True, marks=pytest.mark.calibrate),
    ],
)
def test_intervals_cover(scale, gaussian):
    """Cells have some 80 records on average, and noise a standard deviation of 12."""
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 100, 0.95) / 100
    found = covered(scale, gaussian, 1000, 100, seed=7)
    assert np.all((low <= found) & (found <= high)), found


def test_intervals_that_leave_the_noise_out_do_not(monkeypatch):
    drawn = Noisy.noise

    def forgotten(one, rng, copies):
        return drawn(one, rng, 1) if copies == 1 else np.zeros((copies, *one.counts.shape))

    monkeypatch.setattr(Noisy, "noise", forgotten)
    assert covered(12.0, True, 1000, 25, seed=8).mean() < 0.7


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


def test_a_posterior_takes_them_where_they_will_do(tmp_path, run_cli):
    fit = fitted()
    found = fit.regression("y ~ a + C(e)", draws=50, seed=1)
    assert (found.by, found.draws.shape, found.naive.shape) == ("moments", (50, 4), (8, 4))
    assert list(found.names) == ["Intercept", "C(e)[T.v]", "C(e)[T.w]", "a"]
    assert "by moments" in repr(found)
    by_tables = fit.regression("y ~ a + C(e)", by="tables", seed=1)
    assert (by_tables.by, by_tables.draws.shape) == ("tables", (8, 4))
    for asked in ({"formula": "y ~ a + m"}, {"formula": "s ~ a", "family": "logit"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert fit.regression(**asked, seed=1).by == "tables"
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "counts"}, "by is 'counts'"),
        ({"target": "sample"}, "target is 'sample'"),
        ({"by": "moments", "formula": "y ~ a * s"}, "whose moments weren't released"),
        ({"by": "moments", "family": "poisson"}, "whose moments weren't released"),
    ],
)
def test_what_is_refused(asked, said):
    with pytest.raises(InvalidInput, match=said):
        fitted().regression(**{"formula": "y ~ a", "seed": 1} | asked)
