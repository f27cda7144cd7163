"""A template of a schema, and what the command line says of one."""

import importlib.util
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from tests.conftest import missing
from tests.schema.example import TEXT, schema

InvalidInput = bdp.errors.InvalidInput
ROWS = """\
age,income,education,region,smokes,visit,sex,id
20,1000,none,north,false,2020-03-04,f,1
,9e9,college,mars,,2021-03-04,m,1
"""


def test_a_template_is_filled_in(tmp_path):
    text = bdp.Schema.template(["age", "a b", 'x"y'])
    path = tmp_path / "survey.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"columns.age.type is ''; it must be one of category"):
        bdp.Schema.load(path)
    path.write_text(text.replace('type = ""', 'type = "boolean"'))
    assert list(bdp.Schema.load(path).columns) == ["age", "a b", 'x"y']
    assert "no record was read" in text
    # Whatever it shows can be written.
    shown = [line.removeprefix("#").strip() for line in text.splitlines() if "# " in line]
    assert sum(line.startswith("type = ") for line in shown) == 6


class Counted(io.FileIO):
    """A file that counts the bytes that are read of it."""

    count = 0

    def read(self, size=-1):
        found = super().read(size)
        Counted.count += len(found)
        return found

    def readinto(self, buffer):
        size = super().readinto(buffer)
        Counted.count += size
        return size


def test_the_first_line_of_a_file_alone_is_read(tmp_path, monkeypatch):
    """Not even a buffer holds a byte of the records."""

    def opened(path, mode="r", buffering=-1, **options):
        raw = Counted(path, "r")
        return raw if buffering == 0 else io.TextIOWrapper(io.BufferedReader(raw))

    (tmp_path / "file.csv").write_text(ROWS)
    monkeypatch.setattr(Path, "open", opened)
    assert bdp.Schema.template(tmp_path / "file.csv").count('type = ""') == 8
    assert Counted.count == len(ROWS.split("\n")[0]) + 1


def test_names_of_files(tmp_path):
    frame = pd.DataFrame({"a,b": [1], "ü": [2]}, index=[3])
    frame.to_csv(tmp_path / "a.csv", index=False, encoding="utf-8-sig")
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        assert bdp.Schema.template(str(tmp_path / name)) == bdp.Schema.template(frame.columns)
    (tmp_path / "b.csv").write_text("a;b;c,d\n1;2;3,5\n")
    named = bdp.Schema.template(["a", "b", "c,d"])
    assert bdp.Schema.template(tmp_path / "b.csv") == named
    for text in ("a\tb;\n", "a;\n", "1,2\n", "a,a\n", "a,,b\n", "nan,b\n", '"a\n'):
        (tmp_path / "b.csv").write_text(text)
        with pytest.raises(InvalidInput, match=r"b\.csv' has no line of names first: texts in"):
            bdp.Schema.template(tmp_path / "b.csv")
    for text, said in (("", "is empty"), ("\n", "is empty"), ("\xff", "isn't text in UTF-8; perh")):
        (tmp_path / "b.csv").write_text(text, encoding="latin-1")
        with pytest.raises(InvalidInput, match=rf"b\.csv {said}"):
            bdp.Schema.template(tmp_path / "b.csv")
    for name, text in (("b.csv", "a;b\n1;2\n"), ("b.csv", "a\tb\n"), ("b.tsv", "a\tb\n")):
        (tmp_path / name).write_text(text)
        assert bdp.Schema.template(tmp_path / name) == bdp.Schema.template(["a", "b"])
    (tmp_path / "b.parquet").write_text("a,b")
    with pytest.raises(InvalidInput, match=r"can't be read as a \.parquet file"):
        bdp.Schema.template(tmp_path / "b.parquet")
    for path in ("none.csv", tmp_path / "a.txt"):
        with pytest.raises(InvalidInput, match=r"isn't a \.csv, \.tsv, .* or \.sav file that"):
            bdp.Schema.template(path)
    for names in ([], [1], [""], 3, None, frame):
        with pytest.raises(InvalidInput, match=r"columns is .*; it must be a file, or the columns"):
            bdp.Schema.template(names if names is not frame else [frame])
    with pytest.raises(InvalidInput, match="has a name twice"):
        bdp.Schema.template(["a", "a"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema(tmp_path)
    return tmp_path


def test_the_command_writes_a_template(folder, run_cli):
    (folder / "survey.csv").write_text(ROWS)
    status, out, _ = run_cli("schema template survey.csv --out new.toml")
    assert (status, out) == (
        0,
        "wrote new.toml: fill it in from the codebook; no record was read\n"
        "next: bayesdp schema check new.toml survey.csv\n",
    )
    assert (folder / "new.toml").read_text() == bdp.Schema.template("survey.csv")
    assert run_cli("schema template survey.csv --out -")[1] == bdp.Schema.template("survey.csv")
    assert run_cli("schema template survey.csv --out new.toml")[0] == 2
    assert run_cli("schema template survey.csv --out new.toml --force")[0] == 0


def test_the_command_shows_a_schema(folder, run_cli):
    status, out, _ = run_cli("schema check survey.toml")
    assert status == 0
    lines = {line.split()[1]: line.split() for line in out.splitlines() if line.startswith("│")}
    assert lines["age"][3:7:2] == ["integer", "6"]
    assert "confidential" in lines["income"]
    assert " ".join(lines["income"]).endswith("private, share 0.1 │")
    assert "public" in lines["sex"]
    assert "17,280 cells in all, 2 rules of zeros; unit: person (id), at most 2 records" in out
    (folder / "b.toml").write_text(TEXT.replace("[18, 90]", "[90, 18]"))
    status, _, said = run_cli("schema check b.toml")
    assert status == 2
    assert "columns.age.bounds: bounds are reversed; give the lower one first (line 4)" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", None),
        ("20,", "99,", ["column 'age' has values outside its bounds [18, 90]"]),
        ("20,", "20.0,", None),
        ("20,", "20.5,", ["column 'age' has numbers that aren't whole"]),
        ("college", "doctor", ["column 'education' has values outside its labels"]),
        ("f,1", ",1", ["column 'sex' has missing values; declare missing = true"]),
        ("9e9", "lots", ["column 'income' has values that aren't a number"]),
        ("false", "no", ["column 'smokes' has values that aren't true or false (or 1 or 0); give"]),
        ("2020-03-04", "04/03/20", ["column 'visit' has texts that aren't dates"]),
        ("20,", "Quetzalcoatl,", ["column 'age' has values that aren't a number"]),
        ("age,", "years,", ["column 'age' isn't there; column 'years' isn't in the schema"]),
        (",id", ",pid", ["column 'id' isn't there; column 'pid' isn't in the schema"]),
        ("mars", "south", ["there are records that zeros say there are none of"]),
        ("f,1\n", "f,\n", ["column 'id' has missing values; give each record its person's"]),
        ("mars", "", ["column 'region' has missing values"]),
        ("20,1000,none", "99,1000,nil", ["column 'age' has", "column 'education' has"]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_says_whether_records_fit(folder, run_cli, kind, old, new, said):
    rows = ROWS.replace(old, new, 1)
    (folder / "survey.csv").write_text(rows)
    if kind == "parquet":
        pd.read_csv("survey.csv").to_parquet("survey.parquet")
        if said and "values that aren't" in said[0]:
            said = [said[0].split(" has ")[0] + " holds texts, but its type is"]
    status, out, error = run_cli(f"schema check survey.toml survey.{kind}")
    if said is None:
        assert (status, error) == (0, "")
        assert out.endswith(
            f"all records of survey.{kind} fit\nnext: bayesdp synthesize survey.{kind} --schema "
            "survey.toml --epsilon 1 --out release/\n"
        )
        return
    assert status == 2
    assert all(each in error for each in said), error
    for trace in ("Quetz", "99", "20.5", "doctor", "lots", "04/03", "nil"):
        assert trace not in error.replace("2024", "")


def test_a_release_says_what_booleans_are_and_how_others_are_declared(folder, run_cli):
    """It asked for types, which the schema already gives."""
    (folder / "survey.csv").write_text(ROWS.replace("false", "no", 1))
    line = "synthesize survey.csv --schema survey.toml --epsilon 1 --out release"
    said = "column 'smokes' has values that aren't true or false (or 1 or 0); give what stands for"
    status, _, error = run_cli(line)
    assert status == 2
    assert said in error
    assert "labels = ['no', 'yes']" in error


def test_columns_that_a_release_leaves_out_are_named(folder, run_cli):
    """A release by the schema reads its columns alone, so that others are no fault."""
    header, *rows = ROWS.splitlines()
    lines = [f"{header},phone", *(f"{row},7919" for row in rows)]
    (folder / "survey.csv").write_text("\n".join(lines))
    status, out, error = run_cli("schema check survey.toml survey.csv")
    assert (status, error) == (0, "")
    said = "all records of survey.csv fit\nleft out, as the schema doesn't have them: 'phone'\n"
    assert said in out
    assert json.loads(run_cli("schema check survey.toml survey.csv --json")[1])["left_out"] == [
        "phone"
    ]
    line = "synthesize survey.csv --schema survey.toml --epsilon 1 --out release"
    assert run_cli(line)[0] == 0
    assert "7919" not in out


def test_a_first_line_that_may_be_a_record_is_not_shown(folder, run_cli):
    """As of a file without a line of names, in which nothing is like the schema's columns."""
    (folder / "survey.csv").write_text("Maria,Schmidt,positive\n" + "Jan,Smit,negative\n" * 9)
    status, out, said = run_cli("schema check survey.toml survey.csv")
    assert status == 2
    assert "column 'age' isn't there" in said
    assert "may be a record and isn't shown" in said
    assert not re.search("Maria|Schmidt|positive|Jan", out + said)


def test_all_batches_are_looked_at(folder, run_cli):
    """The first of them fits."""
    lines = ["20,1,none,south,true,2020-01-01,f,1\n".replace("true", "false")] * 270_000
    text = ROWS.splitlines(keepends=True)[0] + "".join(lines) + lines[0].replace("20,", "91,")
    (folder / "survey.csv").write_text(text)
    status, _, said = run_cli("schema check survey.toml survey.csv")
    assert status == 2
    assert "column 'age' has values outside its bounds" in said


@pytest.mark.parametrize("line", ["20,1\n", "20,1,none,south,true,2020-01-01,f,1,1,1,1\n"])
def test_a_line_of_another_length_is_no_fault_of_all_columns(folder, run_cli, line):
    whole = ROWS.splitlines(keepends=True)[0] + "20,1,none,south,true,2020-01-01,f,1\n"
    (folder / "survey.csv").write_text(whole + line)
    for command in ("schema check survey.toml survey.csv", RELEASED):
        status, _, said = run_cli(command)
        assert status == 2
        assert "a line has more fields, or fewer, than the first has names" in said
        assert "column" not in said


RELEASED = "synthesize survey.csv --schema survey.toml --epsilon 1 --out r"


@pytest.mark.parametrize("kind", ["xlsx", "dta", "sav"])
def test_files_of_other_programs(tmp_path, monkeypatch, run_cli, kind):
    """Their columns' names make a template, and their records are checked as those of a CSV."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"age": [30, 41, 90], "sex": ["f", "m", "f"], "income": [1.5, np.nan, 9]})
    package = {"xlsx": "openpyxl", "sav": "pyreadstat"}.get(kind, "pandas")
    if importlib.util.find_spec(package) is None:
        missing(package, 'pip install "bayesdp[files]"')
    write = {
        "xlsx": lambda frame, name: frame.to_excel(name, index=False),
        "dta": lambda frame, name: frame.to_stata(name, write_index=False),
        "sav": lambda frame, name: importlib.import_module("pyreadstat").write_sav(frame, name),
    }[kind]
    write(frame, f"s.{kind}")
    assert run_cli(f"schema template s.{kind} --out made.toml")[0] == 0
    made = Path("made.toml").read_text()
    assert re.findall(r"^\[columns\.(.*)\]$", made, re.MULTILINE) == list(frame.columns)
    Path("s.toml").write_text(
        '[columns.age]\ntype = "integer"\nbounds = [18, 90]\n'
        '[columns.sex]\ntype = "category"\nlabels = ["f", "m"]\n'
        '[columns.income]\ntype = "real"\nbounds = [0, 10]\nbins = 2\nmissing = true\n'
    )
    status, out, error = run_cli(f"schema check s.toml s.{kind}")
    assert (status, error) == (0, "")
    assert f"all records of s.{kind} fit" in out
    write(frame.assign(age=[30, 41, 97]), f"t.{kind}")
    status, _, error = run_cli(f"schema check s.toml t.{kind}")
    assert status == 2
    assert "column 'age' has values outside its bounds" in error
    assert "97" not in error
    Path(f"u.{kind}").write_text("no such file")
    status, _, error = run_cli(f"schema template u.{kind} --out other.toml")
    assert status == 2
    assert f"'u.{kind}' can't be read as a .{kind} file" in error
