"""Codes of records, and records of codes: whatever pandas, NumPy or a file holds."""

import datetime as dt
import string
from decimal import Decimal

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.schema.labelled import _EMPTY
from tests.schema.example import CUTS, schema

InvalidInput = bdp.errors.InvalidInput
LABELS = st.one_of(
    st.lists(st.text(max_size=4).filter(lambda v: v != "missing"), min_size=1, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=1, unique=True),
    st.lists(st.booleans(), min_size=1, unique=True),
)
WHOLE = st.integers(-(2**53), 2**53)
DAYS = st.dates()
REAL = st.floats(-1e300, 1e300)


def edges_of(values):
    """Edges, or a number of intervals that all these types have room for."""
    edges = st.lists(values, min_size=2, max_size=6, unique=True).map(sorted)
    return edges.map(lambda v: {"bounds": [v[0], v[-1]], "bins": v})


@st.composite
def columns(draw):
    """Declaration of a column."""
    kind = draw(st.sampled_from(["category", "ordered", "boolean", "integer", "real", "date"]))
    made = {"type": kind, "missing": draw(st.booleans()), "public": draw(st.booleans())}
    if kind in ("category", "ordered"):
        labels = draw(LABELS)
        made["missing"] = made["missing"] and not _EMPTY & set(labels)  # as files write them
        other = draw(st.sampled_from([None, *labels]))
        return made | {"labels": labels} | ({} if other is None else {"other": other})
    if kind == "boolean":
        labels = draw(st.sampled_from([None, ("no", "yes"), (1, 0)]))
        return made if labels is None else made | {"labels": labels}
    made |= draw(edges_of({"integer": WHOLE, "real": REAL, "date": DAYS}[kind]))
    if kind == "date" and draw(st.booleans()):
        made["bins"] = draw(st.sampled_from(["year", "month"]))
    if kind == "integer" and draw(st.booleans()):
        made["bins"] = draw(st.integers(1, min(9, made["bounds"][1] - made["bounds"][0] + 1)))
    return made | {"outside": draw(st.sampled_from(["refuse", "clamp"]))}


@st.composite
def coded_tables(draw):
    """A schema, and any codes of its columns."""
    names = draw(
        st.lists(st.text(string.printable, min_size=1), min_size=1, max_size=3, unique=True)
    )
    made = bdp.Schema({name: draw(columns()) for name in names})
    n = draw(st.integers(0, 12))
    drawn = {
        name: draw(hnp.arrays(np.int64, n, elements=st.integers(0, cells - 1)))
        for name, cells in made.cells.items()
    }
    return made, pd.DataFrame(drawn, index=range(5, 5 + n)), draw(st.integers(0, 2**32))


@pytest.mark.slow
@settings(max_examples=40)
@given(coded_tables())
def test_codes_of_what_is_decoded_are_the_codes(table):
    made, codes, seed = table
    records = made.decoded(codes, np.random.default_rng(seed))
    found = made.coded(records)
    pd.testing.assert_frame_equal(found.astype(np.int64), codes)
    for name, column in made.columns.items():
        assert found[name].dtype == np.min_scalar_type(column.cells - 1)
        present = records[name].dropna()
        if hasattr(column, "bounds") and len(present):
            low, high = column.bounds
            ends = [v.date() if isinstance(column.bounds[0], dt.date) else v
                    for v in (present.min(), present.max())]  # fmt: skip
            assert low <= ends[0] <= ends[1] <= high


@settings(max_examples=40)
@given(coded_tables())
def test_a_saved_schema_is_the_same(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("schema") / "survey.toml"
    made, codes, seed = table
    made.save(path)
    assert bdp.Schema.load(path) == made
    batch = made.decoded(codes, np.random.default_rng(seed))
    again = pd.concat([made.coded(batch[k : k + 1]) for k in range(len(batch))] or [codes])
    assert again.astype(np.int64).equals(codes)  # a record's codes depend on it alone


@pytest.fixture
def survey(tmp_path):
    return schema(tmp_path).with_cuts(CUTS)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "sex": ["f", "m", "m"],
            "age": [18, 90, None],
            "income": [-5.0, 10_000, np.inf],
            "education": ["more", "none", "school"],
            "region": ["mars", "south", "islands"],
            "smokes": [True, None, False],
            "visit": ["2020-01-01", "2021-12-31T23:59:59", "2024-12-31"],
            "id": [1, 1, 2],
        },
        index=[7, 8, 9],
    )


def test_codes_by_hand(survey, frame):
    codes = survey.coded(frame)
    assert list(codes.columns) == list(survey.columns)
    assert list(codes.index) == [7, 8, 9]
    assert codes.to_numpy().tolist() == [
        [0, 0, 3, 2, 1, 0, 0],
        [4, 1, 0, 1, 2, 1, 1],
        [5, 2, 1, 2, 0, 4, 1],
    ]
    assert set(codes.dtypes) == {np.dtype(np.uint8)}
    assert survey.impossible(codes).tolist() == [True, False, False]
    assert survey.impossible(codes.assign(region=[0, 0, 1])).tolist() == [True, False, True]


def test_decoded_looks_like_the_original(survey, frame):
    records = survey.decoded(survey.coded(frame), np.random.default_rng(1))
    assert list(records.columns) == list(survey.columns)
    assert records.index.tolist() == [7, 8, 9]
    kinds = ["Int64", "float64", "category", "category", "boolean", "datetime64[us]", "category"]
    assert list(map(str, records.dtypes)) == kinds
    assert records.education.cat.ordered
    assert not records.region.cat.ordered
    assert records.education.cat.categories.tolist() == ["none", "school", "college", "more"]
    assert records.age.isna().tolist() == [False, False, True]
    assert records.smokes.isna().tolist() == [False, True, False]
    assert records.visit.dt.year.tolist() == [2020, 2021, 2024]
    plain = bdp.Schema(
        {"n": {"type": "integer", "bounds": (1, 3)}, "b": {"type": "boolean"},
         "r": {"type": "real", "bounds": (0, 1), "bins": 1, "missing": True}}
    )  # fmt: skip
    codes = pd.DataFrame({"n": [0, 2], "b": [1, 0], "r": [1, 0]})
    records = plain.decoded(codes, np.random.default_rng(1))
    assert list(map(str, records.dtypes)) == ["int64", "bool", "Float64"]
    assert records.n.tolist() == [1, 3]
    assert records.b.tolist() == [True, False]
    worded = bdp.Schema({"b": {"type": "boolean", "labels": ("no", "yes"), "missing": True}})
    records = worded.decoded(pd.DataFrame({"b": [1, 2, 0]}), np.random.default_rng(1))
    assert records.b.cat.categories.tolist() == ["no", "yes"]
    assert records.b.dropna().tolist() == ["yes", "no"]
    rule = {"b": True, "n": 3}
    barred = bdp.Schema({"b": {**worded.columns["b"].model_dump(), "missing": False},
                         "n": {"type": "integer", "bounds": (1, 3)}}, zeros=[rule])  # fmt: skip
    assert barred.impossible(pd.DataFrame({"b": [1, 0], "n": [2, 2]})).tolist() == [True, False]


def test_a_draw_that_is_rounded_stays_in_its_cell():
    """The first cell holds one float alone, and half of the draws in it round to the next."""
    bins = [1.0, np.nextafter(1.0, 2.0), 2.0]
    made = bdp.Schema({"r": {"type": "real", "bounds": (1, 2), "bins": bins}})
    records = made.decoded(pd.DataFrame({"r": np.zeros(40, int)}), np.random.default_rng(1))
    assert set(records.r) == {1.0}


def test_values_are_uniform_within_their_cell():
    """Kolmogorov-Smirnov and chi-squared of 20,000 values; false alarms: 1e-6 each."""
    from scipy import stats

    made = bdp.Schema(
        {
            "r": {"type": "real", "bounds": (0, 10), "bins": [0, 2, 10]},
            "n": {"type": "integer", "bounds": (0, 9), "bins": [0, 2, 9]},
        }
    )
    codes = pd.DataFrame({"r": np.ones(20_000, int), "n": np.ones(20_000, int)})
    records = made.decoded(codes, np.random.default_rng(2))
    assert stats.kstest(records.r, stats.uniform(2, 8).cdf).pvalue > 1e-6
    counts = np.bincount(records.n, minlength=10)
    assert counts[:2].sum() == 0
    assert stats.chisquare(counts[2:]).pvalue > 1e-6


ONE = {
    "text": {"type": "category", "labels": ["a", "b"], "missing": True},
    "code": {"type": "category", "labels": [1, 2], "missing": True},
    "flag": {"type": "category", "labels": [True, False], "missing": True},
    "boolean": {"type": "boolean", "missing": True},
    "answer": {"type": "boolean", "labels": ("no", "yes"), "missing": True},
    "digit": {"type": "boolean", "labels": (1, 0), "missing": True},
    "integer": {"type": "integer", "bounds": (0, 9), "missing": True},
    "real": {"type": "real", "bounds": (0, 9), "bins": [0, 1, 2, 9], "missing": True},
    "date": {"type": "date", "bounds": (dt.date(2020, 1, 1), dt.date(2020, 1, 3)), "bins": 3,
             "missing": True},
}  # fmt: skip
DAY, NEXT = dt.date(2020, 1, 1), dt.date(2020, 1, 2)
ZONE = dt.timezone(dt.timedelta(hours=14))
TAKEN = [
    ("text", ["a", "b", None], [0, 1, 2]),
    ("text", pd.Series(["a", "b", np.nan], dtype=object), [0, 1, 2]),
    ("text", pd.array(["a", "b", pd.NA], dtype="string"), [0, 1, 2]),
    ("text", pd.array(["a", None], dtype="string[pyarrow]"), [0, 2]),
    ("text", pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())), [0, 2]),
    ("text", pd.Categorical(["b", None, "a"], categories=["z", "b", "a"]), [1, 2, 0]),
    ("text", np.array(["a", "b"]), [0, 1]),
    ("text", np.ma.array(["a", "z"], mask=[False, True]), [0, 2]),
    ("text", [None, None], [2, 2]),
    ("text", pd.Series([np.nan, np.nan]), [2, 2]),
    ("text", [pd.NaT, pd.NA], [2, 2]),
    ("text", [], []),
    ("code", [1, 2], [0, 1]),
    ("code", [1.0, np.nan, 2.0], [0, 2, 1]),
    ("code", pd.Categorical([2, None, 1]), [1, 2, 0]),
    ("code", np.array([2, 1], dtype=np.uint64), [1, 0]),
    ("flag", [True, False], [0, 1]),
    ("flag", pd.Categorical([True, False, None]), [0, 1, 2]),
    ("boolean", [True, False, None], [1, 0, 2]),
    ("boolean", pd.array([True, pd.NA], dtype="boolean"), [1, 2]),
    ("boolean", pd.Series([True, None], dtype=pd.ArrowDtype(pa.bool_())), [1, 2]),
    ("boolean", pd.Categorical([True, None]), [1, 2]),
    ("boolean", np.ma.array([True, False], mask=[False, True]), [1, 2]),
    ("answer", ["yes", "no", None], [1, 0, 2]),
    ("answer", pd.Categorical(["yes", None, "no"]), [1, 2, 0]),
    ("digit", [0, 1], [1, 0]),
    ("digit", [0.0, np.nan, 1.0], [1, 2, 0]),
    ("integer", [3, 4], [3, 4]),
    ("integer", np.array([3, 4], dtype=np.int8), [3, 4]),
    ("integer", [3.0, np.nan], [3, 10]),
    ("integer", [3.0, None, 4], [3, 10, 4]),
    ("integer", pd.Series([3, None, 4.0], dtype=object), [3, 10, 4]),
    ("integer", pd.array([3, pd.NA], dtype="Int8"), [3, 10]),
    ("integer", pd.array([3, pd.NA], dtype="Float32"), [3, 10]),
    ("integer", pd.Series([3, None], dtype=pd.ArrowDtype(pa.int64())), [3, 10]),
    ("integer", np.ma.array([3, 99], mask=[False, True]), [3, 10]),
    ("integer", pd.Categorical([3, 4, 3]), [3, 4, 3]),
    ("integer", [Decimal(3), None], [3, 10]),
    ("integer", pd.Series([np.float32(3), np.int8(4)], dtype=object), [3, 4]),
    ("real", pd.Series([np.float32(3), None], dtype=object), [2, 3]),
    ("real", pd.Series([0, 1], dtype="Sparse[int]"), [0, 1]),
    ("real", [0.0, 1, 2.5, 9], [0, 1, 2, 2]),
    ("real", [0, 1], [0, 1]),
    ("real", pd.array([0.5, pd.NA], dtype="Float64"), [0, 3]),
    ("real", pd.array(np.array([0.5, np.nan]), dtype="Float64"), [0, 3]),
    ("real", pd.arrays.FloatingArray(np.array([0.5, np.nan]), np.zeros(2, bool)), [0, 3]),
    ("real", [Decimal("1.5"), None], [1, 3]),
    ("real", np.array([0.5], dtype=np.float16), [0]),
    ("date", [DAY, NEXT, None], [0, 1, 3]),
    ("date", pd.to_datetime(["2020-01-01", None]), [0, 3]),
    ("date", pd.to_datetime(["2020-01-02 23:59:59.999999999"]), [1]),
    ("date", [dt.datetime(2020, 1, 2, 0, 30, tzinfo=ZONE)], [1]),
    ("date", pd.Series(pd.to_datetime(["2020-01-02 00:30"]).tz_localize(ZONE)), [1]),
    ("date", ["2020-01-01", None, "2020-01-02T10:00"], [0, 3, 1]),
    ("date", pd.Categorical(["2020-01-02", None]), [1, 3]),
    ("date", np.array(["2020-01-02", "NaT"], dtype="datetime64[D]"), [1, 3]),
    ("date", pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date32())), [0, 3]),
    ("date", pd.Series([DAY, np.datetime64("NaT")], dtype=object), [0, 3]),
]


@pytest.mark.parametrize(("name", "given", "codes"), TAKEN)
def test_values_are_taken_however_they_are_held(name, given, codes):
    made = bdp.Schema({"x": ONE[name]})
    assert made.coded({"x": given}).x.tolist() == codes
    if len(codes):
        shifted = pd.Series(given).set_axis(range(3, 3 + len(codes)))
        if not isinstance(given, np.ma.MaskedArray):
            assert made.coded(pd.DataFrame({"x": shifted})).x.tolist() == codes


SECRET = "Quetzalcoatl"
NOT_TAKEN = [
    ("text", ["a", SECRET], "values outside its labels"),
    ("text", pd.Categorical(["a", SECRET]), "values outside its labels"),
    ("text", [1, 2], r"holds whole numbers, but its type is category; read it as text"),
    ("text", pd.Series(["a", 7306], dtype=object), "holds values of several kinds"),
    ("text", [b"a"], "holds values of several kinds, or of an unknown one"),
    ("text", np.array([["a"]]), "isn't a column; give one value for each record"),
    ("real", [[1], [1, 2]], "isn't a column"),
    ("text", ["\ud800 7306"], "isn't a column|values outside its labels"),
    ("text", pd.Series(["\ud800 7306"], dtype=object), "values outside its labels"),
    ("date", pd.Series(["\ud800 7306"], dtype=object), "texts that aren't dates"),
    ("code", [True, False], "holds booleans, but its type is category"),
    ("code", pd.Series([1, True], dtype=object), "holds values of several kinds"),
    ("code", [1.5], "numbers that aren't whole"),
    ("code", ["1"], "holds texts, but its type is category; convert it to whole numbers"),
    ("code", np.array([2**64 - 1], dtype=np.uint64), "outside its labels"),
    ("flag", [1, 0], "holds whole numbers"),
    ("boolean", [1, 0], "holds whole numbers, but its type is boolean; give what"),
    ("boolean", [1.0, None], "holds numbers, but its type is boolean"),
    ("boolean", ["true"], "holds texts, but its type is boolean"),
    ("answer", ["Yes"], "has values that are neither of its labels"),
    ("answer", [True], "holds booleans, but its type is boolean; give what"),
    ("digit", [0.5], "numbers that aren't whole"),
    ("digit", [2], "has values that are neither of its labels"),
    ("integer", [10], r"outside its bounds \[0, 9\]; choose wider"),
    ("integer", [-1], "outside its bounds"),
    ("integer", [2**70], "outside its bounds"),
    ("integer", np.array([2**64 - 1], dtype=np.uint64), "outside its bounds"),
    ("integer", [3.5], "numbers that aren't whole; round them"),
    ("integer", [True], "holds booleans, but its type is integer"),
    ("integer", ["3"], r"holds texts, but its type is integer; read it as numbers, as pd.read_csv"),
    ("integer", [np.inf], "outside its bounds"),
    ("real", ["3.5"], "holds texts, but its type is real; read it as numbers"),
    ("real", [9.000001], "outside its bounds"),
    ("real", [-np.inf], "outside its bounds"),
    ("real", [10**400], "outside its bounds"),
    ("real", [1j], "holds values of several kinds"),
    ("date", ["01/02/2020"], "texts that aren't dates; write them as 2024-12-31"),
    ("date", [""], "texts that aren't dates"),
    ("date", ["today"], "texts that aren't dates"),
    ("date", [20200101], "holds whole numbers, but its type is date"),
    ("date", [dt.date(2020, 1, 4)], r"outside its bounds \[2020-01-01, 2020-01-03\]"),
    ("date", np.array(["9999-12-31"], dtype="datetime64[s]"), "outside its bounds"),
]


@pytest.mark.parametrize(("name", "given", "said"), NOT_TAKEN)
def test_other_values_are_refused_and_not_shown(name, given, said):
    with pytest.raises(InvalidInput, match=f"column 'x' .*({said})") as caught:
        bdp.Schema({"x": ONE[name]}).coded({"x": given})
    for trace in (SECRET, "7306", "9.000001", "20200101", "01/02", "2020-01-04"):
        assert trace not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_values_that_may_not_be_missing_are_refused():
    for one in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(InvalidInput, match=r"column 'x' has missing values; declare missing ="):
            bdp.Schema({"x": {"type": "boolean"}}).coded({"x": [one, True]})


def test_values_outside_are_moved_where_the_schema_says():
    def codes(column, values):
        return bdp.Schema({"x": column}).coded({"x": values}).x.tolist()

    clamp = {"outside": "clamp"}
    assert codes(ONE["integer"] | clamp, [-5, 3, 2**70, -np.inf]) == [0, 3, 9, 0]
    assert codes(ONE["real"] | clamp, [-np.inf, 3.0, 10**400, 1e308]) == [0, 2, 2, 2]
    dates = np.array(["0001-01-01", "9999-12-31", "NaT"], dtype="datetime64[s]")
    assert codes(ONE["date"] | clamp, dates) == [0, 2, 3]
    assert codes(ONE["text"] | {"other": "b"}, ["a", SECRET, None]) == [0, 1, 2]
    assert codes(ONE["code"] | {"other": 1}, [7306.0, 2, np.nan]) == [0, 1, 2]
    only = {"type": "category", "labels": [True], "other": True}
    assert codes(only, [True, False]) == [0, 0]
    with pytest.raises(InvalidInput, match="holds whole numbers"):  # another kind is no other label
        codes(ONE["text"] | {"other": "b"}, [1, 2])


def test_all_columns_at_fault_are_named(survey, frame):
    wrong = frame.assign(sex="x", education=SECRET)
    with pytest.raises(
        InvalidInput, match=r"column 'education' has .*; column 'sex' has"
    ) as caught:
        survey.coded(wrong)
    assert SECRET not in str(caught.value)


def test_columns_that_are_not_the_schemas_are_refused(tmp_path, survey, frame):
    with pytest.raises(InvalidInput, match="frame lacks columns 'age'; each column of"):
        survey.coded(frame.drop(columns="age"))
    with pytest.raises(InvalidInput, match="frame has others than the schema's, 'more'; each"):
        survey.coded(frame.assign(more=1))
    for taken in ("id", "age"):
        with pytest.raises(InvalidInput, match=f"more than one column named '{taken}'; keep one"):
            survey.coded(frame.rename(columns={"sex": taken}))
    with pytest.raises(InvalidInput, match="frame is a list; it must be a DataFrame"):
        survey.coded([frame])
    with pytest.raises(InvalidInput, match="frame is a Table; it must be a DataFrame"):
        survey.coded(pa.Table.from_pandas(frame))
    with pytest.raises(InvalidInput, match="frame is a LazyFrame; it must be a DataFrame"):
        survey.coded(pl.DataFrame({"age": [1]}).lazy())
    with pytest.raises(InvalidInput, match=r"it must be a DataFrame of pandas: .*\.to_pandas\(\)"):
        survey.limited(pl.DataFrame({"id": ["1"]}))
    one = bdp.Schema({"collect": ONE["code"]})
    assert one.coded(pd.DataFrame({"collect": [1]})).shape == (1, 1)
    with pytest.raises(InvalidInput, match="columns of different lengths"):
        bdp.Schema({"a": ONE["code"], "b": ONE["code"]}).coded({"a": [1], "b": [1, 2]})
    with pytest.raises(InvalidInput, match="columns 'income' have no cut points yet; bdp"):
        schema(tmp_path).coded(frame)
    assert survey.coded(frame.drop(columns="id")).equals(survey.coded(frame))


def test_codes_that_are_none_are_refused(tmp_path, survey, frame):
    codes, rng = survey.coded(frame), np.random.default_rng(1)
    for wrong, said in [
        (codes.assign(age=6), "codes of column 'age' must be whole numbers from 0 to 5"),
        (codes.assign(age=-1), "codes of column 'age'"),
        (codes.assign(age=1.0), "codes of column 'age'"),
        (codes.assign(smokes=True), "codes of column 'smokes'"),
        (codes.drop(columns="age"), "once each; it has 'income'"),
        (codes.assign(more=1), "codes must have the schema's"),
        (codes.to_numpy(), "codes is a ndarray"),
    ]:
        for call in (survey.impossible, lambda codes: survey.decoded(codes, rng)):
            with pytest.raises(InvalidInput, match=said):
                call(wrong)
    with pytest.raises(InvalidInput, match=r"rng is 3; it must be np\.random\.default_rng"):
        survey.decoded(codes, 3)
    with pytest.raises(InvalidInput, match="'income' have no cut points yet"):
        schema(tmp_path).decoded(codes, rng)


def test_ten_thousand_labels():
    """A million records of them are looked up, whatever type holds them."""
    labels = [f"label {k}" for k in range(10_000)]
    made = bdp.Schema({"x": {"type": "category", "labels": labels}})
    codes = np.random.default_rng(1).integers(0, 10_000, 1_000_000)
    records = pd.DataFrame({"x": np.array(labels, dtype=object)[codes]})
    assert np.array_equal(made.coded(records).x, codes)


def test_text_is_read_back_from_files(tmp_path, survey, frame):
    codes = survey.coded(frame)
    frame.to_csv(tmp_path / "survey.csv", index=False)
    read = pd.read_csv(tmp_path / "survey.csv")
    assert survey.coded(read).to_numpy().tolist() == codes.to_numpy().tolist()
    survey.decoded(codes, np.random.default_rng(1)).to_parquet(tmp_path / "survey.parquet")
    again = pd.read_parquet(tmp_path / "survey.parquet")
    assert survey.coded(again).equals(codes)


def test_a_time_is_of_the_day_in_its_own_zone_whichever_package_holds_it():
    days = {"type": "date", "bounds": (dt.date(2020, 1, 1), dt.date(2020, 12, 31))}
    made = bdp.Schema({"day": days | {"bins": "month", "missing": True}})
    late = [dt.datetime(2020, 1, 31, 23, 30, tzinfo=dt.UTC), None]  # in February, in Berlin
    arrow = pa.array(late, type=pa.timestamp("us", tz="Europe/Berlin"))
    polars = pl.Series(late).dt.convert_time_zone("Europe/Berlin")
    for column in (arrow, pa.chunked_array([arrow]), polars, arrow.to_pandas()):
        assert made.coded({"day": column})["day"].tolist() == [1, 12], type(column)
    assert made.coded(pl.DataFrame({"day": polars}))["day"].tolist() == [1, 12]


def test_the_way_out_of_another_type_is_one():
    with pytest.raises(InvalidInput, match=r"a time of day, of Python's datetime\.date"):
        bdp.Schema({"a": {"type": "date", "bounds": ("2020-01-01", "2020-12-31")}})
    made = bdp.Schema({"a": {"type": "boolean", "labels": ["no", "yes"]}})
    with pytest.raises(InvalidInput, match=r"as the schema's labels: .* or none for booleans"):
        made.coded({"a": [True]})
    with pytest.raises(InvalidInput, match=r"frame\.to_pandas\(\) of an Arrow table"):
        made.coded(pa.table({"a": ["no"]}))
