"""Records and their groups belong together by place, so their indexes may not differ."""

import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesdp as bdp

GROUPS = pd.Series(list("abab") * 20)
MADE = {
    "count": (bdp.BetaBinomialSynthesizer(epsilon=2.0), pd.Series([1, 0, 1, 1] * 20)),
    "table": (
        bdp.synthesizers.DirichletMultinomialSynthesizer(2.0, categories={"x": [0, 1]}),
        pd.DataFrame({"x": [1, 0, 1, 1] * 20}),
    ),
    "modips": (
        bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=2.0),
        pd.Series([1, 0, 1, 1] * 20),
    ),
    "events": (
        bdp.synthesizers.PoissonGammaSynthesizer(4.0, {g: {"A": 9.0, "B": 9.0} for g in "ab"}),
        pd.Series(list("AABB") * 20),
    ),
    "households": (
        bdp.synthesizers.WeightedCountsSynthesizer(
            {"x": [0, 1]}, 2.0, unit={"person": "home", "most": 2}, groups=["a", "b"]
        ),
        pd.DataFrame({"x": [1, 0, 1, 1] * 20, "weight": 1.0, "home": range(80)}),
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_groups_in_another_order_are_refused(kind):
    made, data = MADE[kind]
    moved = data.set_axis(pd.Index([*range(3, len(data)), 0, 1, 2]), axis=0)
    with pytest.raises(bdp.errors.InvalidInput, match="different indexes"):
        made.release(moved, by=GROUPS)
    for by in (GROUPS, GROUPS.to_numpy(), GROUPS.tolist()):
        assert made.release(data, by=by).groups == ("a", "b")
    assert made.release(moved, by=GROUPS.to_numpy()).groups == ("a", "b")
    assert made.release(moved, by=GROUPS.loc[moved.index]).groups == ("a", "b")


@pytest.mark.parametrize("kind", ["count", "table", "modips"])
def test_labels_that_are_nearly_each_records_own_are_published_on_request_alone(kind):
    made, data = MADE[kind]
    ids = pd.Series(range(80))
    with pytest.raises(bdp.errors.InvalidInput, match="by has 80 groups for 80 records"):
        made.release(data, by=ids)
    listed = dataclasses.replace(made, groups=ids.tolist())
    assert listed.release(data, by=ids).groups == tuple(range(80))
    assert len(made.release(data, by=ids // 2).groups) == 40


@pytest.mark.parametrize(
    "by",
    [
        np.ma.array(GROUPS.tolist(), mask=[True] + [False] * 79),
        [float("nan"), *GROUPS[1:]],
        [None, *GROUPS[1:]],
        pd.Series([pd.NA, *GROUPS[1:]], dtype="string"),
    ],
    ids=["masked", "nan beside texts", "None", "NA"],
)
@pytest.mark.parametrize("kind", MADE)
def test_records_without_a_group_are_refused(kind, by):
    made, data = MADE[kind]
    with pytest.raises(bdp.errors.InvalidInput, match="by has missing values"):
        made.release(data, by=by)


@pytest.mark.parametrize("kind", ["count", "modips", "events"])
def test_rows_of_different_lengths_are_refused(kind):
    with pytest.raises(bdp.errors.InvalidInput, match="rows of different lengths"):
        MADE[kind][0].release([[1], [1, 0]], by=["a", "b"])


def test_masked_events_are_refused():
    made, data = MADE["events"]
    with pytest.raises(bdp.errors.InvalidInput, match="masked"):
        made.release(np.ma.array(data.tolist(), mask=[True] + [False] * 79), by=GROUPS)


@pytest.mark.parametrize("kind", ["polars", "arrow", "chunks"])
def test_columns_of_other_libraries_are_counted_as_lists_are(kind):
    polars = pytest.importorskip("polars") if kind == "polars" else None

    def column(values):
        if polars is not None:
            return polars.Series(values)
        return pa.array(values) if kind == "arrow" else pa.chunked_array([values[:2], values[2:]])

    records, regions = [0, 1, 1, 0, 1], ["n", "s", "n", "s", "s"]
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    found = synthesizer.tallies(column(records), column(regions))
    assert found == synthesizer.tallies(records, regions)


def test_an_ordered_categorical_keeps_its_order_bare_or_in_a_series():
    regions = pd.Categorical(["n", "s", "n"], categories=["s", "w", "n"], ordered=True)
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    assert list(synthesizer.tallies([0, 1, 1], regions)) == ["s", "n"]
    assert list(synthesizer.tallies([0, 1, 1], pd.Series(regions))) == ["s", "n"]


def test_the_order_of_groups_shows_nothing_of_the_order_of_records():
    """Arrow's dictionaries and Polars' categories become categories in the records' order."""
    arrow = pa.array(["s", "n", "s"]).dictionary_encode()
    synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    assert list(arrow.to_pandas().cat.categories) == ["s", "n"]
    for by in (arrow, arrow.to_pandas(), arrow.to_pandas().array):
        assert list(synthesizer.tallies([0, 1, 1], by)) == ["n", "s"]


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), "several labels a record"),
        ([{"a": 1}] * 3, "lists or the like"),
        ([1j, 2j, 1j], "labels are texts"),
    ],
)
def test_what_is_no_label_is_refused_as_such(by, told):
    with pytest.raises(bdp.errors.InvalidInput, match=told):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1, 1], by=by)


def test_an_index_and_a_frame_that_is_not_computed_are_refused_with_the_way_out():
    made = bdp.BetaBinomialSynthesizer(epsilon=1.0)
    with pytest.raises(bdp.errors.InvalidInput, match=r"data\.to_frame\(\)"):
        made.release(pd.MultiIndex.from_tuples([("a", 1), ("b", 0)]))
    polars = pytest.importorskip("polars")
    with pytest.raises(bdp.errors.InvalidInput, match=r"data\.collect\(\)"):
        made.release(polars.LazyFrame({"x": [0, 1]}))


def test_a_table_of_arrows_is_refused_with_the_way_out():
    with pytest.raises(bdp.errors.InvalidInput, match=r"data is a Table .* data\.to_pandas\(\)"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(pa.table({"x": [0, 1, 1]}))


def test_records_are_not_their_own_groups():
    """Sizes of groups are public: grouped by themselves, records would leave with exact counts."""
    answers, frame = np.array([0, 1, 1]), pd.DataFrame({"voted": [0, 1, 1]})
    made = bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1.0)
    for data, by in ((answers, answers), (frame["voted"], frame["voted"].map({0: "no", 1: "yes"}))):
        with pytest.raises(bdp.errors.InvalidInput, match="by is what is to be protected"):
            made.release(data, by=by)
    with pytest.raises(bdp.errors.InvalidInput, match="by is what is to be protected"):
        made.release(frame["voted"], by=frame["voted"].rename("other"))  # one in memory
    other = pd.Series([1, 0, 0], name="other")
    assert made.release(frame["voted"], by=other).groups == (0, 1)


def test_records_are_not_grouped_by_a_column_of_theirs():
    """By name or in memory: a table grouped by its own column left its exact counts, too."""
    frame = pd.DataFrame({"voted": [0, 1, 1, 0], "age": [3, 4, 4, 3], "region": list("nsns")})
    table, column = frame[["voted", "age"]], frame["voted"]
    dirichlet = bdp.synthesizers.DirichletMultinomialSynthesizer
    two = dirichlet(categories={"voted": [0, 1], "age": [3, 4]}, epsilon=1.0)
    one = dirichlet(categories={"voted": [0, 1]}, epsilon=1.0)
    beta = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=1.0, size=5, engine="grid")
    shares = pd.Series([0.2, 0.4, 0.4, 0.2], name="share")
    weighted = bdp.synthesizers.WeightedCountsSynthesizer(
        categories={"voted": [0, 1]}, weights="age", max_weight=5.0, epsilon=1.0, groups=["n", "s"]
    )
    persons = dataclasses.replace(weighted, unit={"person": "region", "most": 2}, groups=[0, 1])
    cases = [
        (two, table, column),
        (two, table, column.to_numpy()),
        (one, column, column),
        (one, frame[["voted"]], column),
        (beta, shares, shares),
        (weighted, frame, column.rename("age")),
        (persons, frame, column),
    ]
    for made, data, by in cases:
        with pytest.raises(bdp.errors.InvalidInput, match="by is what is to be protected"):
            made.release(data, by=by)
    assert two.release(table, by=frame["region"]).groups == ("n", "s")
    assert weighted.release(frame, by=frame["region"]).groups == ("n", "s")
    assert two.release(table, by=[0, 1, 1, 0]).groups == (0, 1)
