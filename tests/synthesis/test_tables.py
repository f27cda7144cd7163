"""Records of files: what one counts as doesn't depend on the others."""

from __future__ import annotations

from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.synthesis.tables import answers, group_labels, guessed, read_table


def column_of(place: Path, *values: str, text: bool = True):
    path = place / "data.csv"
    path.write_text("\n".join(["x", *values]) + "\n")
    return read_table(path, ["x"], text=["x"] if text else ())["x"]


@pytest.mark.parametrize("other", ["0.5", "yes", "1.0", "9" * 30, "True", "2020-01-01", "1e5"])
def test_one_record_never_changes_what_the_others_count_as(tmp_path, other):
    before = answers(
        column_of(tmp_path, "1", "0", "1", "1", "1"), equals="1", values=["1", "0", other]
    )
    after = answers(
        column_of(tmp_path, "1", "0", "1", "1", other), equals="1", values=["1", "0", other]
    )
    assert int(before.sum()) == 4
    assert int(after.sum()) == 3
    names = {"1": 1, "0": "none", other: "other"}
    assert group_labels(column_of(tmp_path, "1", "0", "1"), names).tolist() == [1, "none", 1]
    assert group_labels(column_of(tmp_path, "1", "0", other), names).tolist() == [
        1,
        "none",
        "other",
    ]


def test_the_command_line_counts_each_record_by_itself(tmp_path, monkeypatch, run_cli):
    """The neighbour's count would be 0: one 0.5 more made every other 1 a 1.0."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("\n".join(["v", *["1"] * 300, "0.5"]) + "\n")
    assert (
        run_cli("synthesize data.csv --column v --equals 1 --values 1,0.5 --epsilon 60 --out r")[0]
        == 0
    )
    assert bdp.BinomialModel().posterior(bdp.Release.load("r")).mean() > 0.9


def test_a_listed_group_without_records_is_no_error_on_the_command_line(
    tmp_path, monkeypatch, run_cli
):
    """Whether someone is in group a would show in the column's type, and so in a refusal."""
    monkeypatch.chdir(tmp_path)
    line = (
        "synthesize data.csv --column v --by g --groups 1,2,{} --confidential-n --size 9 "
        "--epsilon 1 --out {}"
    )
    for name, last in (("none", "2"), ("one", "a")):
        Path("data.csv").write_text(f"v,g\n1,1\n0,2\n1,{last}\n")
        assert run_cli(line.format("a", name))[0] == 0
        assert bdp.Release.load(name).groups == ("1", "2", "a")
    Path("data.csv").write_text("v,g\n1,1\n0,2.0\n")
    assert run_cli(line.format("3", "whole"))[0] == 0
    assert bdp.Release.load("whole").groups == (1, 2, 3)


def test_other_groups_are_refused_and_not_shown(tmp_path):
    column = column_of(tmp_path, "1", "secret")
    with pytest.raises(bdp.errors.InvalidInput, match="others occur too") as caught:
        group_labels(column, {"1": 1})
    assert "secret" not in str(caught.value)
    with pytest.raises(bdp.errors.InvalidInput, match="missing values"):
        group_labels(column_of(tmp_path, "1", "NA"), {"1": 1})


def test_a_file_that_is_no_table_shows_no_record(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('x\n1\n2,"Smith\n')
    with pytest.raises(bdp.errors.InvalidInput, match=r"can't be read as a csv table") as caught:
        read_table(path, ["x"])
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


LABELS = ["1", "2", "a"]
HIDDEN = {"public_n": False, "size": 2}
OF_LABELS = {
    "table": bdp.synthesizers.DirichletMultinomialSynthesizer(
        1.0, categories={"x": LABELS}, **HIDDEN
    ),
    "histogram": bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, categories={"x": LABELS}),
    "marginals": bdp.synthesizers.LogLinearSynthesizer(
        1.0, marginals=["x"], categories={"x": LABELS}
    ),
    "events": bdp.synthesizers.PoissonGammaSynthesizer(
        1.0, dict.fromkeys(LABELS, 2.0), total=2, public_n=False
    ),
    "predictive": bdp.synthesizers.SequentialDirichletMultinomialSynthesizer(
        [bdp.synthesizers.CategoricalColumns({"x": LABELS})], **HIDDEN
    ),
    "sequence": bdp.synthesizers.SequentialModipsSynthesizer(
        [bdp.synthesizers.CategoricalColumns({"x": LABELS})], **HIDDEN
    ),
}
OF_GROUPS = {
    "binary": bdp.BetaBinomialSynthesizer(1.0, groups=LABELS, **HIDDEN),
    "modips": bdp.ModipsSynthesizer(bdp.families.Bernoulli(), groups=LABELS, **HIDDEN),
}


@pytest.mark.parametrize("last", LABELS)
@pytest.mark.parametrize("name", [*OF_LABELS, *OF_GROUPS])
def test_types_of_a_scanned_file_are_those_declared(tmp_path, name, last):
    """Guessed from the records, they were numbers unless one was an a: the others were refused."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["x,v", "1,0", "2,1", f"{last},1"]) + "\n")
    if name in OF_LABELS:
        OF_LABELS[name].release(bdp.scan(path, "x"))
    else:
        assert list(OF_GROUPS[name].release(bdp.scan(path, "v", by="x")).groups) == LABELS


def test_a_partition_without_records_is_no_empty_data():
    people = pd.DataFrame({"a": [0, 1, 0, 1], "g": ["u", "u", "v", "v"]})
    some = dd.from_pandas(people, npartitions=2)
    some = some[some["g"] == "u"]
    assert bdp.BetaBinomialSynthesizer(1.0).release(bdp.scan(some, "a")).mechanism.n == 2
    assert bdp.BetaBinomialSynthesizer(1.0).release(bdp.scan(some, "a", by="g")).groups == ("u",)


def test_types_that_are_given_or_that_a_file_has_are_kept(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x\n01\n1\n")
    made = bdp.synthesizers.PerturbedHistogramSynthesizer(60.0, categories={"x": [0, 1]})
    assert made.release(bdp.scan(path, "x")).outputs == ((0, 2),)
    with pytest.raises(bdp.errors.InvalidInput, match="outside its categories"):
        made.release(bdp.scan(path, "x", types={"x": "string"}))
    text = bdp.synthesizers.PerturbedHistogramSynthesizer(60.0, categories={"x": ["01", "1"]})
    assert text.release(bdp.scan(path, "x")).outputs == ((1, 1),)


def test_a_column_that_misses_its_first_megabyte_is_of_numbers(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n" + ",1\n" * 400_000 + "0.5,1\n")
    bounds = {"x": (0, 1), "y": (0, 1)}
    made = bdp.synthesizers.NoisyMomentsSynthesizer(
        bounds, epsilon=60.0, neighbours="add_remove", missing="drop"
    )
    assert np.isclose(made.release(bdp.scan(path, ["x", "y"])).outputs[0][0], 1, atol=3)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["2", "1", "2"], [2, 1, 2]),
        (["2.5", "1", "2"], [2.5, 1.0, 2.0]),
        (["True", "False"], [True, False]),
        (["01", "1", "10"], ["01", "1", "10"]),
        (["-01", "x,y", '"'], ["-01", "x,y", '"']),
        (["0", "0.5"], [0.0, 0.5]),
        (["a", "1"], ["a", "1"]),
    ],
)
def test_codes_stay_texts_and_other_numerals_are_numbers(written, read):
    found = guessed(pd.Series(written, dtype=object))
    assert found.tolist() == read
    assert [type(each) for each in found.tolist()] == [type(each) for each in read]
    assert guessed(pd.Series([*written, None], dtype=object)).isna().tolist()[-1]
