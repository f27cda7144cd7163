"""Records read in batches: the sums of records in memory, bounded memory, refusals."""

import subprocess
import sys
import traceback
from pathlib import PurePath

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

import bayesdp as bdp
from bayesdp.networks import Network

pytestmark = pytest.mark.slow

ROWS = 97  # a batch: not a divisor of anything


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({
        "age": rng.integers(0, 100, 5000),
        "income": rng.normal(50, 10, 5000).clip(0, 100),
        "share": rng.uniform(0.01, 0.99, 5000),
        "sex": rng.choice(["f", "m"], 5000),
        "region": rng.choice(["east", "north", "west"], 5000),
        "votes": rng.integers(0, 2, 5000),
    })  # fmt: skip


@pytest.fixture(scope="module", params=["parquet", "csv", "folder", "dataset", "dask"])
def source(request, people, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "csv":
        people.to_csv(folder / "people.csv", index=False)
        return folder / "people.csv"
    if request.param == "dask":
        import dask.dataframe as dd

        return dd.from_pandas(people, npartitions=37)
    (folder / "a").mkdir()
    people[:1700].to_parquet(folder / "a" / "1.parquet", row_group_size=300)
    people[1700:].to_parquet(folder / "b.parquet")
    if request.param == "folder":
        return folder
    files = [str(folder / "a" / "1.parquet"), str(folder / "b.parquet")]
    return pyarrow.dataset.dataset(files) if request.param == "dataset" else files


def same(synthesizer, scanned, *given, **options):
    """The release of a scan is that of the records in memory, noise and all."""
    with bdp.reproducible(5):
        found = synthesizer.release(scanned)
    with bdp.reproducible(5):
        right = synthesizer.release(*given, **options)
    assert found.parts == right.parts
    assert (found.by, found.variable) == (right.by, right.variable)


def test_tables_by_groups(people, source):
    columns = ["age", "sex"]
    cells = {"bounds": {"age": (0, 100)}, "categories": {"sex": ["f", "m"]}, "bins": 7}
    table, by = people[columns], people["region"]
    scanned = bdp.scan(source, columns, rows=ROWS)
    grouped = bdp.scan(source, columns, by="region", rows=ROWS)
    same(bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, **cells), scanned, table)
    by_rule = {**cells, "bins": "sqrt", "neighbours": "replace_one"}
    same(bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, **by_rule), scanned, table)
    same(bdp.synthesizers.DirichletMultinomialSynthesizer(1.0, **cells), scanned, table)
    same(bdp.synthesizers.DirichletMultinomialSynthesizer(1.0, **cells), grouped, table, by=by)
    regions = sorted(set(people["region"]))
    marginals = bdp.synthesizers.LogLinearSynthesizer(
        1.0, marginals=[("age",), ("sex",)], groups=regions, **cells
    )
    same(marginals, grouped, table, by=by)


def test_counts_and_events(people, source):
    votes = bdp.scan(source, "votes", rows=ROWS)
    same(bdp.BetaBinomialSynthesizer(epsilon=1.0), votes, people["votes"])
    grouped = bdp.scan(source, "votes", by="region", rows=ROWS)
    same(bdp.BetaBinomialSynthesizer(epsilon=1.0), grouped, people["votes"], by=people["region"])
    expected = {"east": 1600.0, "north": 1700.0, "west": 1700.0}
    events = bdp.synthesizers.PoissonGammaSynthesizer(4.0, expected=expected)
    same(events, bdp.scan(source, "region", rows=ROWS), people["region"])
    each = dict.fromkeys("fm", expected)
    events = bdp.synthesizers.PoissonGammaSynthesizer(4.0, expected=each)
    scanned = bdp.scan(source, "region", by="sex", rows=ROWS)
    same(events, scanned, people["region"], by=people["sex"])


def test_moments(people, source):
    bounds = {"age": (0, 100), "income": (0, 100)}
    scanned = bdp.scan(source, list(bounds), rows=ROWS)
    same(
        bdp.synthesizers.NoisyMomentsSynthesizer(bounds, epsilon=1.0), scanned, people[list(bounds)]
    )
    family = bdp.families.Gaussian(bounds=(0, 100))
    income = bdp.scan(source, "income", rows=ROWS)
    same(bdp.ModipsSynthesizer(family=family, epsilon=1.0, copies=2), income, people["income"])
    grouped = bdp.scan(source, "income", by="sex", rows=ROWS)
    by = {"by": people["sex"]}
    same(
        bdp.ModipsSynthesizer(family=family, epsilon=1.0, copies=2), grouped, people["income"], **by
    )
    sex = bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")})
    body = bdp.synthesizers.NumericColumns(bounds, by=["sex"])
    made = bdp.synthesizers.SequentialModipsSynthesizer([sex, body], epsilon=4.0, copies=2)
    same(made, bdp.scan(source, ["sex", *bounds], rows=ROWS), people)


def test_a_column_for_the_censored_synthesizer(people, source):
    scanned = bdp.scan(source, "share", rows=ROWS)
    assert np.array_equal(scanned.to_numpy(), people["share"])
    assert scanned.count() == 5000
    assert sum(map(len, scanned)) == sum(map(len, scanned)) == 5000  # any number of times
    with bdp.reproducible(5):
        found = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).release(scanned, size=20)
    with bdp.reproducible(5):
        right = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).release(
            people["share"], size=20
        )
    assert found.parts == right.parts
    assert found.variable == "share"


def test_ties_in_batches(tmp_path):
    ties = np.column_stack(np.triu_indices(40, 1))[::7]
    frame = pd.DataFrame(ties.astype(str), columns=["source", "target"])
    frame.to_csv(tmp_path / "ties.csv", index=False)
    nodes = pd.DataFrame({"age": np.arange(40)}, index=[str(i) for i in range(40)])
    types = {"source": "string", "target": "string"}
    scanned = bdp.scan(tmp_path / "ties.csv", ["source", "target"], rows=11, types=types)
    found = Network.from_pandas(scanned, nodes)
    assert found == Network.from_pandas(frame, nodes)
    assert np.array_equal(found.attributes["age"], np.arange(40))
    with pytest.raises(bdp.errors.InvalidInput, match="nodes is missing"):
        Network.from_pandas(scanned)
    with pytest.raises(bdp.errors.InvalidInput, match="isn't among the nodes"):
        Network.from_pandas(scanned, nodes[:20])
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't have both 'a' and 'target'"):
        Network.from_pandas(scanned, nodes, source="a")


@pytest.mark.skipif(sys.platform != "linux", reason="no measure of memory there")
def test_memory_holds_a_batch_and_the_sums(tmp_path):
    """24 million records, 384 MB in memory, in a process of its own."""
    n, path = 1 << 21, tmp_path / "people.parquet"
    rng = np.random.default_rng(1)
    schema = pa.schema({"x": pa.float64(), "y": pa.float64()})
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(12):
            columns = [rng.uniform(size=n), rng.uniform(size=n)]
            writer.write_table(pa.table(columns, schema), row_group_size=1 << 18)
    program = f"""
import pathlib
import bayesdp as bdp, pandas, pyarrow.dataset
def peak():
    # Not getrusage's, which begins with that of the process that started this one.
    words = pathlib.Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 1024
cells = {{"bounds": {{"x": (0, 1), "y": (0, 1)}}, "bins": 20}}
made = bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, **cells, n=100)
small = bdp.scan({str(path)!r}, ["x", "y"], rows=1 << 16)
made.release(next(iter(small)))
before = peak()
counts = made.release(small).outputs[0]
print(sum(counts), peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    total, grown = map(float, done.stdout.split())
    assert abs(total - 12 * n) < 1000
    assert grown < 150


def test_progress_is_shown_where_asked_for(people, tmp_path, capsys):
    people.to_parquet(tmp_path / "people.parquet")
    list(bdp.scan(tmp_path / "people.parquet", "age", progress=True))
    assert "5,000 records" in capsys.readouterr().err


def test_nothing_to_read(tmp_path):
    with pytest.raises(bdp.errors.InvalidInput, match="no such file or folder"):
        bdp.scan(tmp_path / "none.parquet", "a")
    with pytest.raises(bdp.errors.InvalidInput, match="source holds no files"):
        bdp.scan(tmp_path, "a")
    for source in (7, None, pd.DataFrame({"a": [1]})):
        with pytest.raises(bdp.errors.InvalidInput, match=f"source is a {type(source).__name__}"):
            bdp.scan(source, "a")
    (tmp_path / "bad.parquet").write_bytes(b"not this")
    with pytest.raises(bdp.errors.InvalidInput, match="can't be read as a table"):
        bdp.scan(tmp_path / "bad.parquet", "a")
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(bdp.errors.InvalidInput, match=r"source holds \.csv, \.parquet files"):
        bdp.scan(tmp_path, "a")
    for made in (
        bdp.synthesizers.PerturbedHistogramSynthesizer(
            1.0, bounds={"a": (0, 1)}, bins=2, neighbours="replace_one"
        ),
        bdp.synthesizers.DirichletMultinomialSynthesizer(1.0, categories={"a": [0, 1]}),
        bdp.BetaBinomialSynthesizer(epsilon=1.0),
        bdp.synthesizers.NoisyMomentsSynthesizer({"a": (0, 1), "b": (0, 1)}),
        bdp.ModipsSynthesizer(family=bdp.families.Gaussian(bounds=(0, 1)), epsilon=1.0),
        bdp.synthesizers.CensoredBetaSynthesizer(epsilon=1.0, engine="pymc"),
    ):
        columns = ["a", "b"] if isinstance(made, bdp.synthesizers.NoisyMomentsSynthesizer) else "a"
        empty = bdp.scan(tmp_path / "a.csv", columns)
        with pytest.raises(bdp.errors.InvalidInput, match="data is empty"):
            made.release(empty)


def test_wrong_columns_and_types(people, tmp_path):
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    with pytest.raises(bdp.errors.InvalidInput, match="column 'height' isn't in the source"):
        bdp.scan(path, ["age", "height"])
    with pytest.raises(bdp.errors.InvalidInput, match="column 'height' isn't in the source"):
        bdp.scan(path, "age", by="height")
    wrong = ([], None), ([1], None), (3, None), (["age", "age"], None), (["age"], "age")
    for columns, by in wrong:
        with pytest.raises(bdp.errors.InvalidInput, match=r"name (one column|each column once)"):
            bdp.scan(path, columns, by=by)
    with pytest.raises(bdp.errors.InvalidInput, match="rows is 0"):
        bdp.scan(path, "age", rows=0)
    with pytest.raises(bdp.errors.InvalidInput, match="types is"):
        bdp.scan(path, "age", types={"age": "whole"})
    people.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(bdp.errors.InvalidInput, match="a Parquet file has its own"):
        bdp.scan(tmp_path / "people.parquet", "age", types={"age": "int64"})
    path.write_text("a\n" + "1\n" * 1_000_000 + "SECRET\n")
    made = bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, bounds={"a": (0, 1)}, bins=2)
    for source, message in (
        (path, "people.csv' can't be read as a table: column 'a' has values that aren't a number"),
        (
            [path, path],
            "the source can't be read as a table: a file is damaged, or a column's type",
        ),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message) as refused:
            made.release(bdp.scan(source, "a"))
        assert "SECRET" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__


def test_a_data_set_whose_file_lacks_a_column_is_refused_too(people, tmp_path):
    """Its columns may be in its folders' names instead."""
    parts = tmp_path / "parts"
    people.to_parquet(parts, partition_cols=["sex"])
    hive = pyarrow.dataset.dataset(parts, partitioning="hive")
    assert pd.concat(bdp.scan(hive, ["sex", "votes"])).notna().all(axis=None)
    people.drop(columns="votes").to_parquet(parts / "sex=f" / "more.parquet")
    again = pyarrow.dataset.dataset(parts, partitioning="hive", schema=hive.schema)
    with pytest.raises(bdp.errors.InvalidInput, match=r"'votes' isn't in .*more\.parquet'"):
        bdp.scan(again, ["sex", "votes"])
    assert len(pd.concat(bdp.scan(again, ["sex", "age"]))) > len(people)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex;votes\nf;1\n", r"1\.csv' with ',' between fields and '.*3\.csv' with ';'"),
        ("sex,vote\nf,1\n", r"isn't in .*3\.csv'"),
        ("Quetzal,7919\nf,1\n", r"isn't in .*3\.csv'"),
    ],
)
def test_a_file_that_lacks_another_s_column_is_refused(text, message, people, tmp_path):
    """Its records would be missing values."""
    people.to_csv(tmp_path / "1.csv", index=False)
    (tmp_path / "2.csv").write_text(people.to_csv(index=False, columns=["votes", "sex"]))
    assert pd.concat(bdp.scan(tmp_path, ["sex", "votes"])).notna().all(axis=None)
    (tmp_path / "3.csv").write_text(text)
    with pytest.raises(bdp.errors.InvalidInput, match=message) as refused:
        bdp.scan(tmp_path, ["sex", "votes"])
    assert not any(word in str(refused.value) for word in ("Quetzal", "7919"))


def test_what_scans_are_not_for(people, tmp_path):
    people.to_parquet(tmp_path / "p.parquet")
    grouped = bdp.scan(tmp_path / "p.parquet", "votes", by="sex")
    several = bdp.scan(tmp_path / "p.parquet", ["votes", "age"])
    with pytest.raises(bdp.errors.InvalidInput, match="by is given with a scan"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(grouped, by=people["sex"])
    with pytest.raises(bdp.errors.InvalidInput, match="has no groups; leave it out"):
        bdp.synthesizers.PerturbedHistogramSynthesizer(
            1.0, bounds={"votes": (0, 1)}, bins=2
        ).release(grouped)
    with pytest.raises(bdp.errors.InvalidInput, match="has no groups; leave it out"):
        bdp.synthesizers.NoisyMomentsSynthesizer({"votes": (0, 1), "age": (0, 99)}).release(grouped)
    with pytest.raises(bdp.errors.InvalidInput, match="one column"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(several)
    with pytest.raises(bdp.errors.InvalidInput, match="scan a single one"):
        bdp.synthesizers.CensoredBetaSynthesizer(epsilon=1.0).release(several)
    unnamed = bdp.synthesizers.PoissonGammaSynthesizer(4.0, expected=(10.0, 20.0))
    with pytest.raises(bdp.errors.InvalidInput, match="name the areas in expected"):
        unnamed.release(bdp.scan(tmp_path / "p.parquet", "region"))
    listed = bdp.BetaBinomialSynthesizer(epsilon=1.0, size=10, public_n=False, groups=("f", "m"))
    with pytest.raises(bdp.errors.InvalidInput, match="groups is given, but by is not"):
        listed.release(bdp.scan(tmp_path / "p.parquet", "votes"))


@pytest.mark.parametrize(
    "synthesizer",
    [
        bdp.synthesizers.DirichletMultinomialSynthesizer,
        bdp.synthesizers.PerturbedHistogramSynthesizer,
    ],
)
def test_columns_keep_their_names_whatever_their_order_in_the_file(synthesizer, people, source):
    bounds = {"age": (0, 100), "income": (0, 200)}
    made = synthesizer(1.0, copies=1, bounds=bounds, bins=2)
    same(made, bdp.scan(source, ["income", "age"], rows=ROWS), people[["income", "age"]])


@pytest.mark.parametrize("path", ["people.csv", PurePath("people.csv")])
def test_a_path_in_place_of_records_is_told_how_a_file_is_read(path):
    schema = bdp.Schema({"age": {"type": "integer", "bounds": (0, 9)}})
    table = bdp.TableSynthesizer(schema, epsilon=1.0)
    for made in (table, bdp.BetaBinomialSynthesizer(1.0)):
        with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.scan\(file, columns\)"):
            made.release(path)


@pytest.mark.parametrize("text", ["x\n1\n\n0\n", "x\n1\n0\n\n"])
def test_an_empty_line_of_one_field_is_no_record_that_is_dropped(tmp_path, text):
    """It may be a record with a missing value, which Arrow would leave out in silence."""
    file = tmp_path / "one.csv"
    file.write_text(text)
    with pytest.raises(bdp.errors.InvalidInput, match="values other than 0 and 1"):
        bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.scan(file, "x"))
    schema = bdp.Schema({"x": {"type": "category", "labels": ["0", "1"], "missing": True}})
    with pytest.raises(bdp.errors.InvalidInput, match="outside its labels"):
        bdp.TableSynthesizer(schema, epsilon=1.0).release(bdp.scan(file, ["x"]))
    file.write_text("x,y\n1,1\n\n0,1\n")  # a record of two fields has a comma
    release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.scan(file, "x"))
    assert release.mechanism.n == 2


@pytest.mark.parametrize("at", [1, 500, 999])
def test_a_quote_that_is_not_closed_is_refused(tmp_path, at):
    """Arrow took all lines from there on for one value, and so left their records out."""
    lines = [f"{k % 2},place {k}" for k in range(1000)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["voted,place", *lines]) + "\n")
    made = bdp.synthesizers.DiscreteLaplaceSynthesizer(1.0)
    assert made.release(bdp.scan(path, "voted")).parts[0].mechanism.n == 1000
    lines[at] = '1,"Quetzal'
    path.write_text("\n".join(["voted,place", *lines]) + "\n")
    for source in (path, [path], tmp_path):
        with pytest.raises(bdp.errors.InvalidInput, match="a quote isn't closed") as caught:
            bdp.scan(source, "voted")
        assert "Quetzal" not in str(caught.value)
    lines[at] = '1,6" pipe'  # no quote begins here
    path.write_text("\n".join(["voted,place", *lines]))
    assert made.release(bdp.scan(path, "voted")).parts[0].mechanism.n == 1000


def test_what_dask_says_of_records_is_not_repeated(tmp_path):
    import dask
    import dask.dataframe as dd

    path = tmp_path / "a.csv"
    path.write_text("voted\n" + "1\n" * 100_000 + "Quetzal\n")
    frame = dd.read_csv(path, blocksize=100_000)
    made = bdp.synthesizers.DiscreteLaplaceSynthesizer(1.0)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(bdp.errors.InvalidInput, match="stopped with a ValueError") as caught,
    ):
        made.release(bdp.scan(frame, "voted"))
    assert "Quetzal" not in "".join(traceback.format_exception(caught.value))
