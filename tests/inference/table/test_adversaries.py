"""Whole tables that invite a wrong answer: each gets a right one, a warning or a refusal."""

import json

import arviz as az
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.miscmodels.ordinal_model import OrderedModel

import bayesdp as bdp
from bayesdp.engines.latent_records import ABSENT
from bayesdp.errors import InvalidInput
from bayesdp.inference.table.regression import prepared
from bayesdp.schema.files import text_of

SCHEMA = bdp.Schema(
    {
        "age": {"type": "integer", "bounds": (20, 23)},
        "smokes": {"type": "boolean"},
        "school": {"type": "ordered", "labels": ["none", "some", "more"]},
    }
)
ALL = [tuple(SCHEMA.columns)]


def posterior(tables, schema=SCHEMA, measured=ALL):
    """A posterior of these latent tables alone."""
    longest = max(map(len, tables))
    records = np.full((1, len(tables), longest, len(schema.columns)), ABSENT, dtype=np.uint16)
    for place, table in enumerate(tables):
        records[0, place, : len(table)] = np.reshape(table, (-1, len(schema.columns)))
    text = text_of(schema.unit, schema.columns, schema.zeros)
    attrs = {"family": "table", "schema": text, "measured": json.dumps(measured)}
    return bdp.models.TablePosterior.of(az.InferenceData(attrs=attrs), records)


def drawn(seed: int, schools: int = 3, n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, 4, n), rng.integers(0, 2, n), rng.integers(0, schools, n)], 1)


def test_numbers_of_a_function_are_matched_by_their_names():
    """value_counts sorts by frequency, which differs between tables."""
    tables = [np.repeat([[0, 0, 0], [0, 0, 1]], [a, 9 - a], axis=0) for a in (2, 7)]
    made = posterior(tables)
    found = made.estimate(lambda f: f["school"].value_counts(), target="data", seed=1)
    assert found.mean.to_dict() == {"some": 4.5, "none": 4.5, "more": 0.0}
    both = made.estimate(lambda f: pd.crosstab(f["age"], f["school"]), target="data")
    assert list(both.names) == [(20, "none"), (20, "some")]
    with pytest.raises(InvalidInput, match="differ in how many they are, or in their names"):
        posterior([[[0, 0, 0]], [[0, 0, 1]]]).estimate(
            lambda f: f["school"].astype(str).value_counts(), target="data"
        )


def test_what_a_table_leaves_open_is_no_estimate():
    """A label without records: statsmodels' least squares would say 0 of it."""
    tables = [drawn(k, schools=2) for k in range(4)]
    with pytest.warns(UserWarning, match=r"8 of 8 regressions leave .*: C\(school\)\[T\.more\]\."):
        found = posterior(tables).regression("age ~ C(school) + smokes", seed=1)
    ends = found.interval()
    open_ = ends.loc["C(school)[T.more]"]
    assert (open_["lower"], open_["upper"], open_["naive_upper"]) == (-np.inf, np.inf, np.inf)
    assert np.isnan(open_["mean"])
    assert np.all(np.isfinite(ends.drop(index="C(school)[T.more]")))
    with pytest.warns(UserWarning, match="leave coefficients open"):
        exact = posterior(tables).regression("age ~ C(school) + smokes", target="data")
    frame = pd.DataFrame(tables[2], columns=list(SCHEMA.columns)).assign(age=lambda f: f.age + 20)
    wanted = smf.ols("age ~ C(school) + smokes", frame).fit().params.to_numpy()
    np.testing.assert_allclose(exact.draws[2][[0, 1, 3]], wanted)


def test_few_open_draws_leave_an_interval_its_ends():
    tables = [drawn(k) for k in range(40)] + [drawn(40, schools=2)]
    with pytest.warns(UserWarning, match="1 of 42 regressions leave"):
        ends = posterior(tables).regression("age ~ C(school)", target="data").interval(0.9)
    assert np.all(np.isfinite(ends[["lower", "upper"]]))


@pytest.mark.parametrize(
    ("formula", "family", "open_"),
    [
        ("smokes ~ C(school)", "logit", ["C(school)[T.more]"]),
        ("age ~ C(school)", "poisson", ["C(school)[T.more]"]),
        ("school ~ age", "ordinal", ["some/more"]),
        ("school ~ C(smokes)", "ordinal", ["some/more"]),
    ],
)
def test_every_family_says_what_is_open(formula, family, open_):
    with pytest.warns(UserWarning, match="2 of 2 regressions leave"):
        found = posterior([drawn(1, schools=2)]).regression(formula, family=family, seed=1,
                                                            target="data")  # fmt: skip
    assert list(found.names[np.isnan(found.draws[0])]) == open_


@pytest.mark.parametrize(
    ("formula", "family", "open_"),
    [
        ("age ~ smokes + C(school)", "linear", ["Intercept", "smokes"]),
        ("smokes ~ age", "logit", ["Intercept", "age"]),
    ],
)
def test_a_constant_column_tells_no_slope(formula, family, open_):
    table = drawn(1)
    table[:, 1] = 1
    with pytest.warns(UserWarning, match="or a column is constant"):
        found = posterior([table]).regression(formula, family=family, target="data")
    assert sorted(found.names[np.isnan(found.draws[0])]) == open_


@pytest.mark.filterwarnings("ignore:.*of the spread of age is in cells that noise drowns")
@pytest.mark.parametrize(
    ("lacking", "open_"),
    [
        (0, ["20.0/21.0", "21.0/22.0"]),
        (1, ["20.0/21.0", "21.0/22.0", "22.0/23.0"]),
        (2, ["21.0/22.0", "22.0/23.0"]),
        (3, ["22.0/23.0"]),
    ],
)
def test_thresholds_about_a_label_without_records_are_open_and_no_others(lacking, open_):
    """Whichever cells of a number a table has, they are the same for all tables."""
    whole, less = drawn(1, n=400), drawn(2, n=400)
    less[less[:, 0] == lacking, 0] = (lacking + 1) % 4
    with pytest.warns(UserWarning, match="1 of 3 regressions leave"):
        found = posterior([whole, less]).regression("age ~ smokes", family="ordinal", target="data")
    assert list(found.names) == ["smokes", "20.0/21.0", "21.0/22.0", "22.0/23.0"]
    assert list(found.names[np.isnan(found.draws[1])]) == open_
    frame = prepared(SCHEMA.columns, pd.DataFrame(less, columns=list(SCHEMA.columns)))
    outcome = pd.Series(pd.Categorical(frame["age"], np.unique(frame["age"]), ordered=True))
    fit = OrderedModel(outcome, frame[["smokes"]], distr="logit").fit(disp=False)
    same = fit.params.reindex(found.names).to_numpy()
    known = ~found.names.isin(open_)
    np.testing.assert_allclose(found.draws[1][known], same[known], rtol=1e-6)


def test_a_table_that_may_be_empty_says_nothing_of_a_population():
    made = posterior([np.empty((0, 3), dtype=int), [[0, 1, 2]]])
    assert made.table("smokes", target="data").draws.tolist() == [[0, 0], [0, 1]]
    assert [len(copy) for copy in made.synthetic(2, seed=1)] == [0, 1]
    for ask in (
        lambda: made.table("smokes"),
        lambda: made.estimate(len),
        lambda: made.regression("age ~ smokes"),
    ):
        with pytest.raises(InvalidInput, match="may have no record at all"):
            ask()


def test_a_column_that_was_not_measured_is_said_alone_too():
    made = posterior([drawn(1)], measured=[("age", "smokes")])
    with pytest.warns(UserWarning, match="no released marginal has school: what is said of it is"):
        made.table("school")


def test_large_tables_and_columns_are_refused_by_their_numbers():
    large = {name: {"type": "integer", "bounds": (0, 60_000)} for name in "ab"}
    schema = bdp.Schema(large)
    with pytest.raises(InvalidInput, match="3,600,120,001 cells; with 1 latent tables"):
        posterior([[[0, 60_000]]], schema, ["ab"]).table(["a", "b"])
    largest = posterior([[[0, 60_000]]], schema, ["ab"]).table("b", target="data")
    assert largest.draws[0].nonzero()[0].tolist() == [60_000]
    schema = bdp.Schema({"a": {"type": "integer", "bounds": (0, ABSENT)}})
    made = bdp.mechanisms.NoisyTableMechanism(schema, [{"marginals": ["a"], "scale": 1.0}])
    release = bdp.Release.of(made, [(0,) * (ABSENT + 1)], delta=1e-6)
    with pytest.raises(InvalidInput, match=r"column 'a' has 65,536 cells; .* 65,535 a"):
        bdp.TableModel().read(release)


def test_a_record_that_alone_fills_a_cell_is_as_hidden_as_any():
    """What an attacker who knows all others learns of it is within the promise, and no more."""
    others, epsilon = pd.DataFrame({"age": [20] * 30, "smokes": [True] * 30, "school": "none"}), 1.0
    alone = pd.DataFrame({"age": [23], "smokes": [False], "school": "more"})
    made = bdp.TableSynthesizer(SCHEMA, epsilon=epsilon, copies=2)
    noise, seen = made.mechanism(None, epsilon), []
    with_, without = (
        noise.statistic_of(SCHEMA.coded(frame)) for frame in (pd.concat([others, alone]), others)
    )
    with bdp.reproducible(3):
        for frame in (pd.concat([others, alone]), others) * 25:
            outputs = np.array(made.release(frame).parts[0].outputs)
            seen.append(np.sum(noise.logp(outputs, with_) - noise.logp(outputs, without)))
    assert np.max(np.abs(seen)) <= epsilon * (1 + 1e-9)
    # Both ways of an even ratio would each come up in a run of 50 but for 1e-9.
    assert min(seen) < 0 < max(seen)
