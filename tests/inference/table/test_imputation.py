"""Missing values of latent tables, imputed at random: their law by enumeration, and coverage."""

import itertools
import json
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from scipy.special import gammaln

import bayesdp as bdp
from bayesdp.engines.imputed_tables import Imputation, imputed_tables
from bayesdp.engines.latent_classes import Noisy
from bayesdp.engines.latent_records import CONCENTRATION, grid_of
from bayesdp.errors import InvalidInput
from bayesdp.inference.table.model import TableModel
from bayesdp.inference.table.posterior import TablePosterior
from bayesdp.inference.table.released import stored
from bayesdp.report.whole_table import summarize_table
from tests.inference.table.test_adversaries import posterior as posterior_of
from tests.inference.table.test_moments import fitted
from tests.latent_classes import over_bases
from tests.statistical.test_table_calibration import measured

YES = ["no", "yes"]
MEN = {"sex": "m", "pregnant": YES}
SCHEMA = bdp.Schema(
    {
        "sex": {"type": "category", "labels": ["f", "m"], "missing": True},
        "pregnant": {"type": "category", "labels": YES, "missing": True},
        "rich": {"type": "boolean"},
    },
    zeros=[MEN],
)
SURVEY = bdp.Schema(
    {
        "sex": {"type": "category", "labels": ["f", "m"]},
        "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 40, 60, 90]},
        "votes": {"type": "boolean", "missing": True},
    }
)
VOTING, GONE, AGES = np.array([0.2, 0.5, 0.9]), np.array([0.7, 0.4, 0.05]), [0.4, 0.3, 0.3]
TRUE = float(VOTING @ AGES)
"""The population's share of voters. Half of those who answered are old, and vote."""


def survey(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Who is young votes seldom, and answers seldom; codes."""
    age, sex = rng.choice(3, n, p=AGES), rng.integers(0, 2, n)
    votes = np.where(rng.random(n) < GONE[age], 2, rng.random(n) < VOTING[age])
    return pd.DataFrame({"sex": sex, "age": age, "votes": votes})


def posterior(tables, schema=SCHEMA, classes=6):
    made = posterior_of(tables, schema, [tuple(schema.columns)])
    made.attrs["classes"] = str(classes)
    return made


def law_of(completions, classes: int, ends) -> np.ndarray:
    """Probability of each table that missing values may make, its classes summed out.

    A value that doesn't apply, whose code is 2, is in no count.
    """

    def rest(counts, whole):  # counts, shape (groups, cells); of each value of a grid
        each = gammaln(whole) - gammaln(counts.sum(axis=1)[:, None] + whole)
        return np.exp(each.sum(axis=0))

    def shares(counts):
        a = grid_of(ends)
        each = np.exp(np.sum(gammaln(counts[:, None] + a) - gammaln(a), axis=0))
        return np.mean(each * rest(counts[None], counts.size * a))

    def columns(counts):
        b = counts.shape[1] * grid_of(ends)
        key = tuple(tuple(map(int, row)) for row in counts)
        return np.mean([over_bases(key, weight) for weight in b] * rest(counts, b))

    found = np.zeros(len(completions))
    for t, table in enumerate(completions):
        for given in itertools.product(range(classes), repeat=len(table)):
            weight = shares(np.bincount(given, minlength=classes))
            for column in table.T:
                counts = np.zeros((classes, 3))
                np.add.at(counts, (list(given), column), 1)
                weight *= columns(counts[:, :2])
            found[t] += weight
    return found / found.sum()


@pytest.mark.parametrize("ends", [CONCENTRATION, (1.0, 4.0)])
def test_imputed_tables_have_their_law_rules_included(ends):
    """Eight records, of whom one is of unknown sex: a man, or a woman who is pregnant or isn't.

    Pearson's statistic of 1,000 tables, each 20 sweeps after the one before; false alarms 1e-6.
    """
    known = [[0, 0, 0]] * 3 + [[0, 1, 1]] * 2
    table = np.array([*known, [2, 2, 1], [0, 2, 1], [2, 1, 0]])
    made = []
    for unknown, woman in itertools.product([(0, 0), (0, 1), (1, 2)], [0, 1]):
        made.append(table.copy())
        made[-1][5, :2], made[-1][6, 1], made[-1][7, 0] = unknown, woman, 0
    law = law_of(made, 2, ends)
    rules = [dict(enumerate(SCHEMA.excluding[0].values()))]
    imputation = Imputation((3, 3, 2), frozenset({0, 1}), rules, 2, ends)
    tables = np.tile(table.astype(np.uint16), (2, 500, 1, 1))
    drawn = imputed_tables(tables, imputation, seed=1).reshape(1000, *table.shape)
    counts = np.array([np.all(drawn == one, axis=(1, 2)).sum() for one in made])
    assert counts.sum() == 1000
    assert stats.chisquare(counts, 1000 * law).pvalue > 1e-6
    assert np.ptp(law) > 0.05  # all of which are far from equal
    for other in {CONCENTRATION, (1.0, 4.0)} - {ends}:
        assert stats.chisquare(counts, 1000 * law_of(made, 2, other)).pvalue < 1e-6


def test_a_fits_own_concentrations_are_those_of_its_imputation(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "bayesdp.inference.table.imputation.imputed_tables",
        lambda records, imputation, seed: seen.append(imputation.concentration) or records,
    )
    fitted = posterior([np.array([[0, 1, 0]])])
    fitted.imputed("sex", seed=1)
    fitted.attrs["concentration"] = "[1.0, 4.0]"
    fitted.imputed("sex", seed=1)
    assert seen == [CONCENTRATION, (1.0, 4.0)]


def test_many_columns_are_followed():
    """Of 60 columns that say the same, one is missing: products of factors don't underflow."""
    rng = np.random.default_rng(1)
    bit = rng.integers(0, 2, 200)
    table = np.repeat(bit[:, None], 60, axis=1).astype(np.uint16)
    gone = rng.random(200) < 0.4
    table[gone, 0] = 2
    imputation = Imputation((3, *[2] * 59), frozenset({0}), [], 4)
    (drawn,) = imputed_tables(table[None, None], imputation, seed=1)[0]
    np.testing.assert_array_equal(drawn[:, 1:], table[:, 1:])
    assert np.mean(drawn[:, 0] == bit) > 0.95


@pytest.mark.slow
def test_intervals_of_releases_cover_where_complete_cases_do_not():
    """Sum of squared errors in posterior standard deviations, 6 releases; false alarms 1e-6."""
    rng, squares = np.random.default_rng(5), []
    for seed in range(6):
        release = measured(SURVEY, survey(rng, 1000), 1.0, "gaussian", seed)
        run = {"draws": 40, "warmup": 60, "chains": 1, "thin": 1, "tables": 40, "seed": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = TableModel(classes=12).fit(release, **run)
        alike = whole._with({"classes": "1"})  # a planted fault: by the overall margin
        cases = whole.table("votes", seed=seed).draws
        each = [made.imputed(seed=seed).table("votes", seed=seed).draws for made in (whole, alike)]
        shares = [cases[:, 1] / cases[:, :2].sum(axis=1), *(one[:, 1] for one in each)]
        squares.append([((one.mean() - TRUE) / one.std(ddof=1)) ** 2 for one in shares])
    complete, right, fault = np.sum(squares, axis=0)
    most = stats.chi2.isf(1e-6, 6)
    assert right < most
    assert min(complete, fault) > 2 * most


def test_what_does_not_apply_stays_missing_and_what_does_is_imputed():
    rng = np.random.default_rng(2)
    sex, rich = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    pregnant = np.where(sex == 1, 2, rng.integers(0, 3, 80))
    table = np.stack([np.where(rng.random(80) < 0.3, 2, sex), pregnant, rich], axis=1)
    table[table[:, 1] < 2, 0] = 0
    made = posterior([table] * 6).imputed(seed=1)
    assert made.schema.cells == {"sex": 2, "pregnant": 3, "rich": 2}
    assert made.schema.zeros == (MEN | {"pregnant": tuple(YES)},)
    counts = made.table(["sex", "pregnant"], target="data").draws.reshape(6, 2, 3)
    assert np.all(counts[:, 0, 2] == 0)  # women without an answer
    assert np.all(counts[:, 1, :2] == 0)  # men with one
    assert np.all(counts.sum(axis=(1, 2)) == 80)
    assert [str(one["sex"].dtype) for one in made.synthetic(2)] == ["category"] * 2
    again = made.imputed(seed=3)  # nothing is left to impute
    np.testing.assert_array_equal(again.tables["records"], made.tables["records"])
    assert again.attrs["imputed"] == '["sex", "pregnant"]'


def test_released_counts_of_an_imputed_column_that_may_not_apply_are_not_of_its_tables():
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.integers(0, 2, 80)], 1)
    counts = np.zeros((3, 2))
    np.add.at(counts, (codes[:, 1], codes[:, 2]), 1)
    made = posterior([codes] * 4)
    made.add_groups(released=stored([Noisy((1, 2), counts, 0.1, True)], 80, list(SCHEMA.columns)))
    assert made.regression("rich ~ pregnant", seed=1).by == "moments"
    assert made.imputed("pregnant", seed=1).schema.columns["pregnant"].missing
    assert made.imputed("pregnant", seed=1).regression("rich ~ pregnant", seed=1).by == "tables"


def test_rules_about_missing_values_and_pools_lose_them():
    """Nobody of 20 has no answer; those of 23 have one, which isn't no."""
    schema = bdp.Schema(
        {
            "age": {"type": "integer", "bounds": (20, 23), "missing": True},
            "votes": {"type": "category", "labels": YES, "missing": True},
        },
        zeros=[{"age": 20, "votes": "missing"}, {"age": 23, "votes": ["no", "missing"]}],
    )
    tables = [[[0, 0], [1, 2], [2, 1], [3, 1], [4, 1], [4, 0]]] * 3
    made = posterior(tables, schema)
    share = np.full((1, 9, 8), 0.25)
    made.add_groups({"posterior": xr.Dataset({"share": (("chain", "draw", "level"), share)})})
    made.attrs["pools"] = json.dumps({"age": [0, 2, 4]})
    found = made.imputed(seed=1)
    assert found.schema.zeros == ({"age": 23, "votes": ("no",)},)
    assert found.attrs["pools"] == '{"age": [0, 2]}'
    assert found.posterior["level"].to_numpy().tolist()[-3:] == [
        "age[23]",
        "votes[no]",
        "votes[yes]",
    ]
    assert found.posterior.sizes == {"chain": 1, "draw": 3, "level": 6}
    np.testing.assert_allclose(found.posterior["share"].sum(axis=-1), 2)
    assert list(found.table("age", target="data").names) == ["[20, 22)", "[22, 23]"]
    assert found.table("age", target="data").draws.sum() == 18
    alone = made.imputed("votes", seed=1)
    assert list(alone.schema.cells.values()) == [5, 2]
    assert alone.attrs["pools"] == made.attrs["pools"]


def test_what_does_not_apply_stays_missing_by_pools_too():
    """A rule on a column whose cut points were private names all of it, or what is missing."""
    columns = {
        "works": {"type": "boolean"},
        "income": {"type": "integer", "bounds": (0, 3), "missing": True},
    }
    schema = bdp.Schema(columns, zeros=[{"works": False, "income": (0, 3)}])
    made = posterior([[[0, 4], [0, 4], [1, 0], [1, 3], [1, 4]]] * 4, schema)
    made.add_groups(
        {"posterior": xr.Dataset({"share": (("chain", "draw", "level"), np.full((1, 4, 7), 0.25))})}
    )
    made.attrs["pools"] = json.dumps({"income": [0, 2, 4]})
    for found in (made.imputed(seed=1).pooled, made.pooled.imputed(seed=1)):
        counts = found.table(["works", "income"], target="data").draws.reshape(4, 2, 3)
        assert counts[:, 0].tolist() == [[0, 0, 2]] * 4
        assert np.all(counts[:, 1, 2] == 0)
    rules = [{"works": True, "income": (0, 1)}, {"works": True, "income": (0, 2)}]
    pooled = bdp.Schema(columns, zeros=rules).pooled({"income": [0, 2, 4]})
    assert pooled.zeros == (rules[1],)


def test_nothing_changes_where_nothing_is_missing():
    table = np.stack([np.arange(40) % 2, np.arange(40) % 3 % 2, np.arange(40) % 5 % 2], axis=1)
    table = table[(table[:, 0] == 0) | (table[:, 1] == 2)]
    made = posterior([table] * 3)
    found = made.imputed(seed=1)
    np.testing.assert_array_equal(found.tables["records"], made.tables["records"])
    one, other = (each.table("rich", seed=1).draws for each in (made, found))
    np.testing.assert_array_equal(one, other)
    whole = posterior([table[:, 2:]], bdp.Schema({"rich": {"type": "boolean"}}))
    assert whole.imputed() is whole
    nobody = posterior([np.empty((0, 3)), table])
    assert nobody.imputed(seed=1).table("rich", target="data").draws.sum() == len(table)


@pytest.mark.slow
def test_regressions_of_imputed_columns_are_by_tables_and_of_others_as_before(tmp_path):
    fit = fitted()
    made = fit.imputed(seed=1)
    before, after = (each.regression("y ~ a", draws=20, seed=1) for each in (fit, made))
    assert after.by == "moments"
    np.testing.assert_array_equal(before.draws, after.draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert made.regression("a ~ m", draws=4, seed=1).by == "tables"
    with pytest.raises(InvalidInput, match="aren't imputed or weighed"):
        made.regression("a ~ m", by="moments")
    assert made.regression("a ~ m", draws=4, seed=1).by == "tables"
    assert "8 latent tables, missing values imputed>" in repr(made)
    assert "imputed" in made._repr_html_()
    made.to_netcdf(str(tmp_path / "p.nc"))
    again = TablePosterior.of(az.from_netcdf(str(tmp_path / "p.nc")))
    assert again.attrs["assumed"].startswith("missing at random: ")
    one, other = (each.table("m", seed=1) for each in (made, again))
    np.testing.assert_array_equal(one.draws, other.draws)
    assert list(one.names) == [False, True]
    raked = again.poststratified({"m": {"False": 1, "True": 1}})
    assert repr(raked).endswith("imputed, raked to 1 margin>")
    with pytest.raises(InvalidInput, match="impute first"):
        fit.poststratified({"s": {"False": 1, "True": 1}}).imputed()


@pytest.mark.parametrize("columns", ["rich", "age", [], ["sex", "sex"], ("sex", "rich"), 3])
def test_columns_without_missing_values_are_refused(columns):
    with pytest.raises(InvalidInput, match=r"columns is .* which are sex, pregnant"):
        posterior([[[0, 0, 0]]]).imputed(columns)


def test_what_an_imputed_posterior_cannot_do_is_refused():
    made = posterior([[[2, 0, 0], [0, 0, 0]]])
    with pytest.raises(InvalidInput, match="seed is 'x'"):
        made.imputed(seed="x")
    with pytest.raises(InvalidInput, match="a report shows what was released"):
        summarize_table(made.imputed(seed=1), None)
    alone = posterior_of([[[2, 0, 0], [0, 0, 0]]], SCHEMA, [["sex"], ["pregnant", "rich"]])
    alone.attrs["classes"] = "2"
    with pytest.warns(UserWarning, match="no released marginal has sex with another column"):
        alone.imputed("sex", seed=1)


def test_the_command_line_writes_one(tmp_path, run_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    posterior([[[2, 0, 0], [0, 0, 1], [1, 2, 0]]] * 4).to_netcdf("t.nc")
    status, out, _ = run_cli("impute t.nc --columns sex --seed 1 --out i.nc")
    assert (status, "4 latent tables, missing values imputed> written to i.nc" in out) == (0, True)
    line = out.splitlines()[-1].partition("bayesdp ")[2]
    assert line == "estimate i.nc --table sex"
    rows = json.loads(run_cli(f"{line} --target data --json")[1])
    assert [row["mean"] for row in rows] == [2, 1]
    said = json.loads(run_cli("impute t.nc --json")[1])
    assert said["imputed"] == ["sex", "pregnant"]
    for wrong, message in (
        ("t.nc --out i.nc", "--force"),
        ("none.nc --out j.nc", "there is no such file"),
        ("t.nc --columns rich --out j.nc", "which are sex, pregnant"),
    ):
        status, out, err = run_cli(f"impute {wrong}")
        assert (status, out) == (2, "")
        assert message in err
