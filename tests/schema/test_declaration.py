"""What a schema may say, and what it is refused for, with the column and the line."""

import datetime as dt
import json
import pickle

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.declared_files import line_of
from bayesdp.schema.plain import check_schema, plain_of
from tests.schema.example import CUTS, TEXT, schema

InvalidInput = bdp.errors.InvalidInput


def test_a_file_and_the_same_in_python(tmp_path):
    loaded = schema(tmp_path)
    made = bdp.Schema(
        {
            "age": {
                "type": "integer",
                "bounds": np.array([18, 90]),
                "bins": [18, 30, 45, 60, 75, 90],
                "missing": True,
            },
            "income": {
                "type": "real",
                "bounds": (0, np.float32(500000)),
                "bins": {"private": np.int8(8), "share": 0.1},
                "outside": "clamp",
            },
            "education": {"type": "ordered", "labels": ["none", "school", "college", "more"]},
            "region": {
                "type": "category",
                "labels": ["north", "south", "islands"],
                "other": "islands",
                "hierarchy": {"mainland": ["north", "south"]},
            },
            "smokes": {"type": "boolean", "missing": True},
            "visit": {
                "type": "date",
                "bounds": [dt.date(2020, 1, 1), dt.date(2024, 12, 31)],
                "bins": "year",
            },
            "sex": {"type": "category", "labels": ["f", "m"], "public": True},
        },
        zeros=[{"age": [18, 30], "smokes": True}, {"age": "missing", "region": "mainland"}],
        unit={"person": "id", "most": 2},
    )
    assert made == loaded
    sizes = [6, 8, 4, 3, 3, 5, 2]
    assert loaded.cells == dict(zip(loaded.columns, sizes, strict=True))
    assert [axis.size for axis in loaded.axes] == sizes


def test_what_is_saved_is_loaded(tmp_path):
    odd = {
        'a "b"\\c\n': {"type": "category", "labels": ['"', "\\", "é\x7f\t", "", "a = b"]},
        "x.y": {"type": "category", "labels": [3, 1, -2], "other": 1},
        "ü": {"type": "ordered", "labels": [True, False], "missing": True},
        "r": {"type": "real", "bounds": [-1e-300, 1e16], "bins": 3},
        "d": {
            "type": "date",
            "bounds": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
            "bins": [dt.date(1, 1, 1), dt.date(1999, 1, 1), dt.date(9999, 12, 31)],
        },
    }
    for k, one in enumerate(
        [schema(tmp_path), bdp.Schema(odd, zeros=[{"x.y": [3, 1], "ü": True}, {"ü": "missing"}])]
    ):
        one.save(tmp_path / f"{k}.toml")
        assert bdp.Schema.load(tmp_path / f"{k}.toml") == one
        with pytest.raises(bdp.errors.ReleaseExists):
            one.save(tmp_path / f"{k}.toml")
        one.save(tmp_path / f"{k}.toml", force=True)


REFUSED = [
    ("[18, 90]", "[90, 18]", "columns.age.bounds: bounds are reversed", 4),
    ("[18, 90]", "[18]", "columns.age.bounds: bounds must be the least and the largest", 4),
    ("[18, 90]", "[18.5, 90]", "columns.age.bounds: bounds must be", 4),
    ("[18, 90]", "[true, 90]", "columns.age.bounds: bounds must be", 4),
    ("[18, 90]", "[18, 9007199254740993]", "columns.age.bounds: bounds must be within 2^53", 4),
    ("[18, 90]", "[17, 90]", "columns.age.bins: edges must begin and end at the bounds", 5),
    ("45, 60,", "60, 45,", "columns.age.bins: edges must increase", 5),
    ("45, 60,", "45.5, 60,", "columns.age.bins: bins must be edges", 5),
    ("[18, 30, 45, 60, 75, 90]\n", "74\n", "columns.age.bins is 74: bins make 74 cells", 5),
    ("[18, 30, 45, 60, 75, 90]\n", "0\n", "columns.age.bins is 0: bins must be edges", 5),
    ("[18, 30, 45, 60, 75, 90]\n", '"year"\n', "columns.age.bins is 'year': bins must be", 5),
    ("missing = true", "missing = 1", "columns.age.missing is 1: Input should be a valid bool", 6),
    ("missing = true", "mising = true", "columns.age.mising isn't known; there are type, mis", 6),
    ("[0.0, 500000.0]", "[0.0, 0.0]", "columns.income.bounds: bounds are reversed or equal", 9),
    ("[0.0, 500000.0]", "[0.0, inf]", "columns.income.bounds: bounds must be", 9),
    ("[0.0, 500000.0]", "[-1.7e308, 1.7e308]", "columns.income.bounds: bounds are too far", 9),
    ("bins = { private = 8, share = 0.1 }\n", "", "columns.income.bins is missing", 7),
    ("{ private = 8, share = 0.1 }", "0", "columns.income.bins is 0: bins must be edges", 10),
    ("{ private = 8, share = 0.1 }", "[0, 5]", "columns.income.bins: edges must begin", 10),
    ("private = 8,", "private = 1,", "columns.income.bins: private is 1; it must be", 10),
    ("private = 8,", "", "columns.income.bins: bins has keys share; write { private", 10),
    ("share = 0.1", "share = 1.0", "columns.income.bins: share is 1.0; it must lie", 10),
    ('outside = "clamp"', 'outside = "drop"', "columns.income.outside is 'drop': Input sho", 11),
    ('outside = "clamp"', "public = true", "columns.income.bins: the column is public", 10),
    ('"none", "school"', '"none", "none"', "columns.education.labels: labels 1 and 2 are the", 14),
    ('"none", "school"', '"none", 1', "columns.education.labels: labels must be all texts", 14),
    ('"none", "school"', '"none", 1.5', "columns.education.labels: labels must be all texts", 14),
    ('["f", "m"]', "[1, 9007199254740994]", "columns.sex.labels: a label is beyond 2^53", 29),
    ('["f", "m"]', "[]", "columns.sex.labels: it must be a list of labels", 29),
    (
        '"boolean"\n',
        '"boolean"\nlabels = ["no"]\n',
        "columns.smokes.labels: it must be two texts",
        22,
    ),
    ('"boolean"\n', '"boolean"\nlabels = ["no", 1]\n', "columns.smokes.labels: it must be two", 22),
    ('"boolean"\n', '"boolean"\nlabels = [1, 1]\n', "columns.smokes.labels: it must be two", 22),
    ('"boolean"\n', '"boolean"\nlabels = "no"\n', "columns.smokes.labels is 'no': it must", 22),
    (
        '"boolean"\n',
        '"boolean"\nlabels = ["no", "NA"]\n',
        "columns.smokes.labels: label 'NA' is",
        22,
    ),
    ('["f", "m"]', '["f", "missing"]\nmissing = true', "columns.sex.labels: 'missing' is a", 29),
    ('other = "islands"', 'other = "island"', "columns.region.other is 'island': it has a val", 18),
    ('["north", "south"] }', '["nord"] }', "columns.region.hierarchy: group 'mainland' has", 19),
    ('"south"] }', '"south"], n = ["north"] }', "hierarchy: group 'n' has a label twice", 19),
    ("mainland =", "south =", "columns.region.hierarchy: group 'south' has the name of a", 19),
    ('["north", "south"] }', '"north" }', "columns.region.hierarchy: it must be groups", 19),
    ('type = "boolean"', 'type = "bool"', "columns.smokes.type is 'bool'; it must be one of", 21),
    ('type = "boolean"\n', "", "columns.smokes.type is missing; it must be one of category", 20),
    ('bins = "year"', 'bins = "week"', "columns.visit.bins is 'week': bins must be", 26),
    ('bins = "year"\n', "", 'columns.visit.bins is missing: give "year", "month"', 23),
    ("2024-12-31]", "2019-12-31]", "columns.visit.bounds: bounds are reversed", 25),
    ("2024-12-31]", '"2024-12-31"]', "columns.visit.bounds: bounds must be", 25),
    ("smokes = true", "smoker = true", "zeros.0.smoker isn't a column; the columns are age", 33),
    ("smokes = true", "smokes = 1", "zeros.0.smokes: it must be true or false", 33),
    ("age = [18, 30]", "age = [18, 31]", "zeros.0.age: it must be an interval from edge to", 32),
    ("age = [18, 30]", "age = [30, 30]", "zeros.0.age: it must be an interval from edge to", 32),
    ("age = [18, 30]", "age = 18", "zeros.0.age: no cell holds this value alone", 32),
    ("age = [18, 30]", "age = []", "zeros.0.age: it must be an interval", 32),
    ("age = [18, 30]", "income = [0.0, 5.0]", "zeros.0.income: the column's cut points", 32),
    ('region = "mainland"', 'region = "nord"', "zeros.1.region: it has a value that isn't", 36),
    ('region = "mainland"', "region = []", "zeros.1.region: it is an empty list", 36),
    ('region = "mainland"', 'sex = "missing"', "zeros.1.sex: it has a value that isn't", 36),
    ("[[zeros]]\nage", "[[zero]]\nage", "zero isn't known; there are unit, columns, zeros", 31),
    ("most = 2", "most = 0", "unit: most must be a whole number of records", 1),
    ("most = 2", "least = 2", "unit is a dict; it must be 'record', or { person", 1),
    ('"id"', '""', "unit: person must be the name of the column", 1),
    ('"id"', '"age"', "unit: person is column 'age', which would be modelled", 1),
    ('"id"', '"sex"', "unit: person is column 'sex', which is public, but ids name persons", 1),
]


@pytest.mark.parametrize(("old", "new", "said", "line"), REFUSED)
def test_a_contradiction_is_refused_with_its_line(tmp_path, old, new, said, line):
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    with pytest.raises(InvalidInput) as caught:
        schema(tmp_path, text)
    assert said in str(caught.value)
    assert f"(line {line})" in str(caught.value)


def test_lines_are_those_of_the_file():
    text = (
        '# a comment: bins = 3\n[columns."a.b"]\nlabels = [\n  "labels = 1",\n  "x",\n]\n'
        "'type' = 1\n[columns]\nc = { type = 2 }\n[[zeros]]\nx = 1\n[[zeros]]\nx = 2\n"
    )
    assert line_of(text, ("columns", "a.b", "labels")) == 3
    assert line_of(text, ("columns", "a.b", "type")) == 7
    assert line_of(text, ("columns", "a.b", "none")) == 2
    assert line_of(text, ("columns", "c", "type")) == 9
    assert line_of(text, ("zeros", 1, "x")) == 13
    assert line_of(text, ("zeros",)) == 10
    assert line_of(text, ("unit",)) is None


def test_what_is_no_schema_is_refused(tmp_path):
    for text, said in [
        ("", "columns is missing; it must be a table of columns"),
        ("columns = 3", "columns is 3; it must be a table of columns"),
        ("columns.age = 3", "columns.age: it must be a table with a type"),
        ('columns."" = {}', "columns.: a column's name must be a text"),
        ('zeros = 1\ncolumns.a.type = "boolean"', "zeros is 1; it must be a list of rules"),
        ('zeros = [3]\ncolumns.a.type = "boolean"', "zeros.0: it must be a table of one"),
        ('zeros = [{}]\ncolumns.a.type = "boolean"', "zeros.0: it must be a table of one"),
        ("a = ", "is not valid TOML"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            schema(tmp_path, text)
        assert said in str(caught.value)
    with pytest.raises(InvalidInput, match="can't be read"):
        bdp.Schema.load(tmp_path / "none.toml")


def test_all_faults_are_said_at_once(tmp_path):
    text = TEXT.replace("[18, 90]", "[90, 18]").replace('["f", "m"]', "[]")
    with pytest.raises(InvalidInput, match=r"age\.bounds: .*line 4.*; columns\.sex\.labels: .*29"):
        schema(tmp_path, text)


def test_shares_leave_something_for_the_tables():
    bins = {"private": 4, "share": 0.5}
    column = {"type": "real", "bounds": (0, 1), "bins": bins}
    assert bdp.Schema({"a": column}).cells == {"a": 4}
    with pytest.raises(InvalidInput, match=r"b\.bins: the shares of columns a, b come to 1 or mo"):
        bdp.Schema({"a": column, "b": column})


FLAG = {"type": "boolean"}


@pytest.mark.parametrize(
    ("zeros", "said"),
    [
        ([{"a": True}, {"a": False}], r"zeros\.1\.a: it leaves no cell of column 'a'"),
        ([{"a": True}, {"a": False, "b": True}, {"a": False, "b": False}], "exclude every record"),
        (
            [{"a": i, "b": j, "c": k} for i in (0 > 1, 1 > 0) for j in (0 > 1, 1 > 0)
             for k in (0 > 1, 1 > 0)],
            "exclude every record",
        ),
    ],
)  # fmt: skip
def test_rules_that_leave_no_record_are_refused(zeros, said):
    columns = {"a": FLAG, "b": FLAG, "c": FLAG}
    with pytest.raises(InvalidInput, match=said):
        bdp.Schema(columns, zeros=zeros)
    assert bdp.Schema(columns, zeros=zeros[:-1]).zeros == tuple(zeros[:-1])


@pytest.mark.parametrize("text", ["\ud800", "a\0b"])
def test_texts_that_no_file_keeps_are_refused(text):
    with pytest.raises(InvalidInput, match="without NUL or half a surrogate pair") as refused:
        bdp.Schema({text: {"type": "boolean"}})
    str(refused.value).encode()
    with pytest.raises(InvalidInput, match=r"columns\.a\.labels.*which files don't keep"):
        bdp.Schema({"a": {"type": "category", "labels": ["x", text]}})


def test_labels_that_files_read_as_missing_values_are_refused_beside_them():
    """Of Namibia's records in a CSV file all would count as missing."""
    country = {"type": "category", "labels": ["DE", "NA"]}
    assert bdp.Schema({"country": country}).cells == {"country": 2}
    with pytest.raises(InvalidInput, match="label 'NA' is how files write a missing value"):
        bdp.Schema({"country": country | {"missing": True}})


def test_a_schema_is_sent_to_other_processes(tmp_path):
    one = schema(tmp_path)
    assert pickle.loads(pickle.dumps(one)) == one


def test_cut_points_are_given_later(tmp_path):
    declared = schema(tmp_path)
    cut = declared.with_cuts(CUTS)
    assert cut.columns["income"].bins == (0.0, 10_000.0, 20_000.5, 500_000.0)
    assert cut.cells["income"] == 3
    assert declared.cells["income"] == 8
    assert cut.with_cuts({}) == cut
    assert declared.with_cuts({"income": []}).cells["income"] == 1
    whole = bdp.Schema(
        {"n": {"type": "integer", "bounds": (0, 9), "bins": {"private": 4, "share": 0.5}}}
    )
    assert whole.with_cuts({"n": np.array([3, 7])}).columns["n"].bins == (0, 3, 7, 9)
    for points in ([1.5], [0], [9], [5, 3], [1, 2, 3, 4], 3, [True], None, "37", {"a": 1}):
        with pytest.raises(InvalidInput, match="cuts of column 'n' must be at most 3 values"):
            whole.with_cuts({"n": points})
    for cuts in ({"age": [30]}, {"none": [1]}, [3], None):
        with pytest.raises(InvalidInput, match="it must be cut points for the columns whose bins"):
            declared.with_cuts(cuts)


def test_equal_widths():
    def starts(column):
        return bdp.Schema({"x": column}).columns["x"].starts.tolist()

    assert starts({"type": "integer", "bounds": (1, 10), "bins": 3}) == [1, 4, 7]
    assert starts({"type": "integer", "bounds": (0, 4)}) == [0, 1, 2, 3, 4]
    assert starts({"type": "integer", "bounds": (7, 7)}) == [7]
    assert starts({"type": "real", "bounds": (0, 2), "bins": 4}) == [0, 0.5, 1, 1.5]
    huge = {"type": "integer", "bounds": (-(2**53), 2**53), "bins": 999_983}
    exact = [-(2**53) + (2**54 + 1) * k // 999_983 for k in range(999_983)]
    assert starts(huge) == exact
    day = dt.date(2019, 12, 15), dt.date(2021, 1, 1)
    for bins, size in (("year", 3), ("month", 14), (2, 2)):
        assert bdp.Schema({"x": {"type": "date", "bounds": day, "bins": bins}}).cells["x"] == size
    with pytest.raises(InvalidInput, match="some would be empty"):
        bdp.Schema({"x": {"type": "real", "bounds": (1, 1 + 1e-15), "bins": 50}})
    with pytest.raises(InvalidInput, match="bins make 2,000,001 cells; at most 1,000,000"):
        bdp.Schema({"x": {"type": "integer", "bounds": (0, 2_000_000)}})


def test_a_grid_and_its_pools():
    day = dt.date
    private = {"private": 3, "share": 0.1}
    whole = {"type": "integer", "bounds": (0, 9), "bins": private}
    real = {"type": "real", "bounds": (0, 9), "bins": private | {"grid": (0, 1, 4, 9)}}
    months = {"type": "date", "bounds": (day(2020, 1, 1), day(2020, 12, 31))}
    made = bdp.Schema(
        {
            "whole": whole,
            "real": real | {"missing": True},
            "months": months | {"bins": private | {"grid": "month"}},
            "wide": {"type": "integer", "bounds": (0, 999), "bins": private},
            "plain": {"type": "boolean"},
        }
    )
    assert list(made.cells.values()) == [3, 4, 3, 3, 2]
    grid = made.on_grid
    assert list(grid.cells.values()) == [10, 4, 12, 100, 2]
    assert grid.on_grid == grid
    firsts = {"whole": (0, 4, 8), "real": (0, 2, 3), "months": [0, 6]}
    pooled = grid.pooled(firsts)
    assert pooled.columns["whole"].shown == ("[0, 4)", "[4, 8)", "[8, 9]")
    assert pooled.columns["real"].names == ("[0, 4)", "[4, 9]", "missing")
    assert pooled.columns["months"].bins == (day(2020, 1, 1), day(2020, 7, 1), day(2020, 12, 31))
    assert pooled.columns["plain"] == grid.columns["plain"]
    for wrong in (
        {"whole": (0, 9)},  # whose last pool has no edges
        {"whole": (1, 2)},
        {"whole": (0, 4, 4)},
        {"whole": ()},
        {"real": (0, 2)},  # missing values with others
        {"plain": (0, 1)},
        {"none": (0,)},
        {"whole": None},
    ):
        with pytest.raises(InvalidInput, match="first cells of pools"):
            grid.pooled(wrong)
    for bins, message in (
        (private | {"grid": 2}, "private is 3, but the grid has 2 cells"),
        (private | {"grid": 11}, "grid isn't allowed: bins make 11 cells"),
        (private | {"grid": (0, 5)}, "grid isn't allowed: edges must begin and end"),
        (private | {"size": 3}, "bins has keys private, share, size"),
    ):
        with pytest.raises(InvalidInput, match=message):
            bdp.Schema({"whole": whole | {"bins": bins}})


def test_a_grid_is_written_and_read(tmp_path):
    bins = {"private": 2, "share": 0.1, "grid": (dt.date(2020, 1, 1), dt.date(2020, 6, 1))}
    bounds = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    bins["grid"] += (bounds[1],)
    made = bdp.Schema({"day": {"type": "date", "bounds": bounds, "bins": bins}})
    made.save(tmp_path / "schema.toml")
    assert bdp.Schema.load(tmp_path / "schema.toml") == made
    assert check_schema("schema", json.loads(json.dumps(plain_of(made)))) == made


def test_zero_and_one_are_no_booleans_when_a_schema_is_written(tmp_path):
    """(0, 1) equals (False, True), the default, and was left out of files and manifests."""
    column = {"type": "boolean", "labels": (0, 1), "missing": True}
    schema = bdp.Schema({"yes": column}, zeros=[{"yes": 1}])
    schema.save(tmp_path / "a.toml")
    frame = pd.DataFrame({"yes": [1, None, 0]})
    for read in (
        bdp.Schema.load(tmp_path / "a.toml"),
        check_schema("schema", json.loads(json.dumps(plain_of(schema)))),
    ):
        assert read.columns["yes"].names == (0, 1, "missing")
        codes = read.coded(frame)
        drawn = read.decoded(codes, np.random.default_rng(1))["yes"]
        assert drawn.cat.categories.tolist() == [0, 1]
        assert read.coded(drawn.to_frame()).equals(codes)
        assert read.impossible(codes).tolist() == [True, False, False]
