"""Files of every kind: the same records, and a reason and a way out where one can't be read."""

import importlib
import importlib.util
import io
import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp import table_files
from bayesdp.errors import InvalidInput, MissingDependency
from bayesdp.synthesis.scan import scan
from bayesdp.synthesis.tables import read_table
from tests.conftest import missing

FRAME = pd.DataFrame(
    {"voted": [0, 1, 1, 0], "region": ["e", "nö", "e", "nö"], "age": [1.5, 2, 3, 4]}
)
CANARIES = ("Quetzal", "7919")
"""Of a record, which no message may show."""


def written(kind: str, folder: Path) -> Path:
    """The frame, as a file of a kind."""
    path = folder / f"a.{kind}"
    if kind == "xlsx" and importlib.util.find_spec("openpyxl") is None:
        missing("openpyxl", 'pip install "bayesdp[files]"')
    if kind == "sav" and importlib.util.find_spec("pyreadstat") is None:
        missing("pyreadstat", 'pip install "bayesdp[files]"')
    text: dict[str, Any] = {"index": False, "encoding": "utf-8-sig"}
    write = {
        "csv": lambda: FRAME.to_csv(path, **text),
        "tsv": lambda: FRAME.to_csv(path, sep="\t", **text),
        "parquet": lambda: FRAME.to_parquet(path),
        "xlsx": lambda: FRAME.to_excel(path, index=False),
        "dta": lambda: FRAME.to_stata(path, write_index=False),
        "sav": lambda: __import__("pyreadstat").write_sav(FRAME, str(path)),
    }
    write[kind]()
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "xlsx", "dta", "sav"])
def test_each_kind_has_the_same_records(kind, tmp_path):
    path = written(kind, tmp_path)
    whole = read_table(path)
    assert list(whole.columns) == list(FRAME.columns)
    pd.testing.assert_frame_equal(whole, FRAME, check_dtype=False)
    some = read_table(path, ["age", "voted"])
    assert list(some.columns) == ["age", "voted"]
    texts = read_table(path, ["voted"], text=["voted"])["voted"]
    assert texts.astype(str).tolist() == ["0", "1", "1", "0"]
    with pytest.raises(InvalidInput, match=r"'vote' isn't in .*, which has voted, region, age"):
        read_table(path, ["vote"])
    assert set(table_files.KINDS) == {".csv", ".tsv", ".parquet", ".xlsx", ".dta", ".sav"}


@pytest.mark.parametrize("first", ["Anna,Berlin,ill", "Anna,7,ill", "Anna,2020-01-02,ill"])
def test_a_first_line_that_may_be_a_record_is_not_shown(first, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\nBen,Bonn,well\n")
    for read in (lambda: read_table(path, ["income", "age"]), lambda: scan(path, "age")):
        with pytest.raises(InvalidInput, match="may be a record and isn't shown") as refused:
            read()
        assert not {"Anna", "Berlin", "ill", "7", "2020"} & set(
            re.findall(r"\w+", str(refused.value))
        )


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_stands_between_fields_is_seen_in_the_first_line_alone(separator, tmp_path):
    """A record with other signs changes nothing."""
    path = tmp_path / "a.CSV"
    other = ";" if separator == "," else ","
    path.write_text(f"a{separator}b\n1{separator}x{other}y{other}z\n2{separator}w\n")
    assert read_table(path)["b"].tolist() == [f"x{other}y{other}z", "w"]
    assert pd.concat(scan(path, "b"))["b"].tolist() == [f"x{other}y{other}z", "w"]


def test_a_name_may_have_another_sign_in_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("income, net;age;job\n1;2;a,b\n")
    assert read_table(path)["income, net"].tolist() == [1]
    assert pd.concat(scan(path, "job"))["job"].tolist() == ["a,b"]


def test_empty_lines_that_are_no_records_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    for text in ("voted\n1\n0\n\n\n", "voted,age\n1,20\n\n0,\n"):
        path.write_text(text)
        assert read_table(path)["voted"].tolist() == [1, 0]
    path.write_text("voted\n1\n0\nNA\n\n")
    assert read_table(path)["voted"].isna().tolist() == [False, False, True]


def test_an_index_that_has_a_name_is_a_column(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.set_index("region").to_parquet(path)
    assert table_files.names_in(path) == ["voted", "age", "region"]
    for names in (None, ["region", "voted"]):
        read = read_table(path, names)
        assert list(read.columns) == (names or ["voted", "age", "region"])
        assert read["region"].tolist() == FRAME["region"].tolist()
    batches = list(scan(path, ["region", "voted"]))
    assert [list(batch.columns) for batch in batches] == [["region", "voted"]]
    FRAME.set_index([[7, 8, 9, 9]]).to_parquet(path)
    assert list(read_table(path).columns) == list(FRAME.columns)


def test_labels_stand_for_values(tmp_path):
    frame = FRAME.assign(voted=pd.Categorical.from_codes(FRAME["voted"], ["no", "yes"]))
    frame.to_stata(tmp_path / "a.dta", write_index=False)
    read = read_table(tmp_path / "a.dta", ["voted"])["voted"]
    assert read.tolist() == ["no", "yes", "yes", "no"]
    assert read.dtype == object


def test_a_text_that_is_missing_in_stata_is_missing(tmp_path):
    """Stata has none but the empty text, which would count as the label of other values."""
    frame = pd.DataFrame({"sex": ["f", "", "m"], "age": [1, 2, 3], "id": ["1", "", "2"]})
    frame.to_stata(tmp_path / "a.dta", write_index=False)
    read = read_table(tmp_path / "a.dta", text=["id"])
    assert read.isna().to_numpy().tolist() == [[False] * 3, [True, False, True], [False] * 3]
    assert read["age"].dtype.kind == "i"
    sex = {"type": "category", "labels": ["f", "m"], "other": "m", "missing": True}
    codes = bdp.Schema({"sex": sex}).coded(read[["sex"]])
    assert codes["sex"].tolist() == [0, 2, 1]


def test_standard_input(monkeypatch, tmp_path, run_cli):
    monkeypatch.chdir(tmp_path)
    again = io.BytesIO(FRAME.to_csv(index=False, sep=";").encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=again))
    assert run_cli("synthesize - --column voted --epsilon 1 --out r")[0] == 0
    again.seek(0)
    pd.testing.assert_frame_equal(read_table("-"), FRAME)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    status, _, err = run_cli("synthesize - --column voted --epsilon 1 --out -")
    assert (status, "a release is a folder" in err) == (2, True)


ROWS = f"voted,name\n1,{CANARIES[0]}\n0,{CANARIES[1]}\n"
BAD = {
    "utf-16": (ROWS.encode("utf-16"), "a.csv", "isn't text in UTF-8, but in UTF-16: save it as"),
    "utf-16, no mark": (ROWS.encode("utf-16-le"), "a.csv", "but in UTF-16"),
    "latin-1": (f"{ROWS}1,é\n".encode("latin-1"), "a.csv", "perhaps it is in Windows-1252"),
    "a name in latin-1": (f"é,{ROWS}".encode("latin-1"), "a.csv", "iconv -f WINDOWS-1252 -t UTF-8"),
    "empty": (b"", "a.csv", "is empty, or its first line is: that must have the columns' names"),
    "a blank line": (b"\n1,2\n", "a.csv", "is empty"),
    "a blank record": (b"voted\n1\n\n0\n", "a.csv", "which may be a missing value: write NA there"),
    "a long row": (f"{ROWS}1,2,3\n".encode(), "a.csv", "a row has more fields than the first"),
    "all rows long": (
        b"voted,name\n1,Quetzal,7919\n", "a.csv", "has rows with more fields than its first line"
    ),
    "no line of names": (b"1,7919\n0,Quetzal\n", "a.csv", "its first line may be a record"),
    "not Parquet": (ROWS.encode(), "a.parquet", "can't be read as a parquet table: it is damaged"),
    "not Stata": (ROWS.encode(), "a.dta", "can't be read as a dta table: it is damaged"),
    "another kind": (ROWS.encode(), "a.txt", "it must be a .csv, .tsv, .parquet, .xlsx, .dta or"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_has_a_reason_and_shows_no_record(case, tmp_path, monkeypatch, run_cli):
    content, name, said = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    status, out, err = run_cli(f"synthesize {name} --column voted --epsilon 1 --out r")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert said in err
    assert not any(canary in err for canary in CANARIES)


def test_a_scan_of_a_file_without_names_shows_no_record(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Quetzal,7919\nQuetzal,7919\n")
    with pytest.raises(InvalidInput, match="its first line may be a record") as refused:
        scan(path, "age")
    assert not any(canary in str(refused.value) for canary in CANARIES)


@pytest.mark.parametrize("kind", ["xlsx", "sav"])
def test_a_missing_package_is_named_with_its_install_line(kind, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    (tmp_path / f"a.{kind}").write_bytes(b"x")
    with pytest.raises(MissingDependency, match=r'needs .*: pip install "bayesdp\[files\]"'):
        read_table(tmp_path / f"a.{kind}")


@pytest.mark.parametrize(("name", "separator"), [("s.csv", ";"), ("s.tsv", "\t")])
def test_a_schema_is_checked_against_either(name, separator, tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv(name, index=False, sep=separator)
    Path("s.toml").write_text(
        '[columns.voted]\ntype = "integer"\nbounds = [0, 1]\n[columns.region]\ntype = "category"\n'
        'labels = ["e", "nö"]\n[columns.age]\ntype = "real"\nbounds = [0, 9]\nbins = 3\n'
    )
    assert run_cli(f"schema check s.toml {name}")[0] == 0
    line = f"synthesize {name} --schema s.toml --epsilon 2 --out r"
    assert run_cli(f"{line} --noise laplace")[0] == 0


def test_a_packages_warnings_show_no_record(tmp_path):
    """Of a cell that is no date, openpyxl shows place and number."""
    path = written("xlsx", tmp_path)
    openpyxl = importlib.import_module("openpyxl")
    book = openpyxl.load_workbook(path)
    book.active["C3"].value, book.active["C3"].number_format = 79191919191, "yyyy-mm-dd"
    book.save(path)
    for read in (lambda: read_table(str(path), ["voted"]), lambda: table_files.names_in(path)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            read()
        said = [str(each.message) for each in found]
        assert not [text for text in said for trace in CANARIES if trace in text]
    with pytest.warns(UserWarning, match=r"warned of it \(UserWarning\), in words"):
        read_table(str(path), ["voted"])
