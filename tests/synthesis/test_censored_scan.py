"""The censored synthesizer on records sorted on disk: the bits, the bound of memory, refusals."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.censored import disk_sort
from bayesdp.mechanisms.censored import inputs as censored_inputs
from bayesdp.mechanisms.censored import records as censored_records
from bayesdp.mechanisms.censored import sums as censored_sums
from bayesdp.mechanisms.censored.beta import CensoredBetaMechanism
from bayesdp.mechanisms.censored.records import StoredRecords
from bayesdp.synthesis import pseudo_posterior

PUBLIC = bdp.synthesizers.PublicWeights(1.5, phi=(0.05, 0.5), lam=(0.5, 20.0))
ROWS = 97


@pytest.fixture(scope="module")
def shares() -> pd.Series:
    """Records with ties, and some at the ends of the floats."""
    y = np.random.default_rng(1).beta(0.4, 2.0, 5000).clip(1e-300, 1 - 2.0**-53)
    y[::10] = np.round(y[::10], 2).clip(0.01, 0.99)
    return pd.Series(y, name="share")


@pytest.fixture(scope="module")
def path(shares, tmp_path_factory):
    file = tmp_path_factory.mktemp("shares") / "shares.parquet"
    shares.to_frame().to_parquet(file, row_group_size=700)
    return file


@pytest.fixture(params=[(1000, 64), (4999, 5000), (61, 300)], ids=str)
def on_disk(request, monkeypatch):
    """Lengths of runs, and how many sums are kept; each makes other stretches of records."""

    def patch() -> None:
        monkeypatch.setattr(disk_sort, "_RUN", request.param[0])
        monkeypatch.setattr(censored_sums, "_MOST_SUMS", request.param[1])
        monkeypatch.setattr(censored_sums, "_PIECE", 1024)
        monkeypatch.setattr(censored_records, "_PIECE", 501)
        monkeypatch.setattr(pseudo_posterior, "_PIECE", 777)
        monkeypatch.setattr(censored_sums, "_BLOCKS", 5)

    return patch


def law(posterior) -> list:
    summary = posterior.summary().to_numpy().tolist()
    return [summary, posterior.sample(20, seed=3).to_numpy().tolist(), posterior.censored]


@pytest.mark.slow
def test_a_release_has_the_bits_of_that_in_memory(shares, path, on_disk):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    with bdp.reproducible(5):
        right = made.release(shares, size=200)
    posterior = made.pseudo_posterior(shares)
    right_law = [*law(posterior), posterior.lipschitz]
    on_disk()
    scanned = bdp.scan(path, "share", rows=ROWS)
    assert isinstance(made.tally(scanned), StoredRecords)
    with bdp.reproducible(5):
        found = made.release(scanned, size=200)
    assert found.parts == right.parts
    assert found.variable == "share"
    posterior = made.pseudo_posterior(scanned)
    assert [*law(posterior), posterior.lipschitz] == right_law


@pytest.mark.slow
def test_so_it_has_with_public_weights(shares, path, on_disk):
    grid = {"grid": (7, 7)}
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, copies=2, weights=PUBLIC, **grid)
    on_disk()
    with bdp.reproducible(5):
        right = made.release(shares, size=50)
    scanned = bdp.scan(path, "share", rows=ROWS)
    statistic = made.tally(scanned)
    assert isinstance(statistic, StoredRecords)
    assert np.array_equal(statistic.weights[0:5000], PUBLIC(np.sort(shares)))
    with bdp.reproducible(5):
        found = made.release(scanned, size=50)
    assert found.parts == right.parts
    posterior, again = made.pseudo_posterior(shares), made.pseudo_posterior(scanned)
    assert law(again) == law(posterior)
    assert again.lipschitz == posterior.lipschitz


@pytest.mark.parametrize("kind", ["csv", "dask", "floats of 32 bits"])
def test_other_sources(shares, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(disk_sort, "_RUN", 800)
    made, wanted = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0), shares
    if kind == "csv":
        shares.to_csv(tmp_path / "shares.csv", index=False)
        source = tmp_path / "shares.csv"
    elif kind == "dask":
        import dask.dataframe as dd

        empty = shares[:0].to_frame()
        source = dd.concat([dd.from_pandas(shares.to_frame(), npartitions=7),
                            dd.from_pandas(empty, npartitions=1)])  # fmt: skip
    else:
        wanted = shares[shares < 0.99].clip(1e-30).astype(np.float32)
        source = pyarrow.dataset.dataset(pa.table({"share": wanted}))
    scanned = bdp.scan(source, "share", rows=ROWS)
    assert isinstance(made.tally(scanned), StoredRecords)
    with bdp.reproducible(5):
        right = made.release(wanted, size=50)
    with bdp.reproducible(5):
        assert made.release(scanned, size=50).parts == right.parts


@pytest.mark.parametrize("run", [1, 2])
def test_one_record(run, monkeypatch):
    monkeypatch.setattr(disk_sort, "_RUN", run)
    one = bdp.scan(pyarrow.dataset.dataset(pa.table({"y": [0.3]})), "y")
    for weights in (None, PUBLIC):
        made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
        assert isinstance(made.tally(one), StoredRecords) == (run == 1)
        with bdp.reproducible(5):
            right = made.release([0.3], size=5)
        with bdp.reproducible(5):
            assert made.release(one, size=5).parts == right.parts


def test_what_needs_all_records_in_memory_has_them_there(shares, path, monkeypatch):
    scanned = bdp.scan(path, "share")
    monkeypatch.setattr(disk_sort, "_RUN", 10)
    weights = np.linspace(0.1, 1, 5000)
    for given in (weights, lambda y: y / 2):
        made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=given, grid=(6, 6))
        with bdp.reproducible(5):
            right = made.release(shares, size=5)
        with bdp.reproducible(5):
            assert made.release(scanned, size=5).parts == right.parts
    by_chains = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, engine="pymc")
    assert np.array_equal(by_chains.tally(scanned), shares)


def test_the_weights_must_be_the_mechanisms(path, monkeypatch):
    monkeypatch.setattr(disk_sort, "_RUN", 1000)
    scanned = bdp.scan(path, "share")
    plain = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).tally(scanned)
    weighted = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=PUBLIC).tally(scanned)
    other = bdp.synthesizers.PublicWeights(1.0, PUBLIC.phi, PUBLIC.lam)
    for weights, statistic in (
        (None, weighted),
        (PUBLIC, plain),
        (other, weighted),
        ("attached", weighted),
    ):
        mechanism = CensoredBetaMechanism((-2.0, 2.0), 5, weights=weights)
        with pytest.raises(bdp.errors.InvalidInput, match="other weights than the mechanism"):
            mechanism.release(statistic)
    public_n = CensoredBetaMechanism((-2.0, 2.0), 5, neighbours="replace_one", n=4999)
    with pytest.raises(bdp.errors.InvalidInput, match="another number of records"):
        public_n.release(plain)


def ledger(folder) -> bdp.Ledger:
    made = bdp.Ledger.open(f"sqlite:///{folder}/budget.db")
    made.create("people", epsilon=10.0, neighbours="add_remove")
    return made


@pytest.mark.parametrize("bad", [0.0, 1.0, -3.25, float("nan")])
def test_a_bad_record_in_a_late_batch(shares, tmp_path, monkeypatch, bad):
    monkeypatch.setattr(disk_sort, "_RUN", 1000)
    y = shares.copy()
    y[4900] = bad
    y.to_frame().to_parquet(tmp_path / "y.parquet", row_group_size=700)
    budget = ledger(tmp_path).dataset("people")
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    with pytest.raises(bdp.errors.InvalidInput, match="at 0 or 1, or outside") as refused:
        made.release(bdp.scan(tmp_path / "y.parquet", "share", rows=ROWS), ledger=budget)
    assert "3.25" not in str(refused.value)
    assert budget.remaining().epsilon == 10.0


def test_words_none_and_too_many(path, monkeypatch):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    words = pyarrow.dataset.dataset(pa.table({"y": ["a", "SECRET"]}))
    with pytest.raises(bdp.errors.InvalidInput, match="one column of numbers") as refused:
        made.release(bdp.scan(words, "y"))
    assert "SECRET" not in str(refused.value)
    none = pyarrow.dataset.dataset(pa.table({"y": pa.array([], pa.float64())}))
    assert len(made.release(bdp.scan(none, "y"), size=3).outputs[0]) == 3
    monkeypatch.setattr(censored_inputs, "_MOST_RECORDS", 4999)
    with pytest.raises(bdp.errors.InvalidInput, match="more than 4999 records"):
        made.release(bdp.scan(path, "share", rows=ROWS))
    with pytest.raises(bdp.errors.InvalidInput, match="more than 4999 records"):
        made.release(np.full(5000, 0.5))


def test_progress_is_shown(path, capsys):
    scanned = bdp.scan(path, "share", progress=True)
    bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).release(scanned, size=5)
    assert "5,000 records" in capsys.readouterr().err


def ran(program: str) -> list:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size there")
@pytest.mark.parametrize("limit", [20_000, 41_000])  # in the runs of 40,000 bytes; in the weights
def test_a_full_disk_costs_nothing_and_leaves_nothing(path, tmp_path, limit):
    ledger(tmp_path)
    (tmp_path / "temporary").mkdir()
    weights = "bdp.synthesizers.PublicWeights(1.5, phi=(0.05, 0.5), lam=(0.5, 20.0))"
    program = f"""
import json, os, resource, tempfile
import bayesdp as bdp
from bayesdp.mechanisms.censored import disk_column
from bayesdp.mechanisms.censored import disk_sort
tempfile.tempdir = {str(tmp_path / "temporary")!r}
disk_sort._RUN = 1000
budget = bdp.Ledger.open("sqlite:///{tmp_path}/budget.db").dataset("people")
made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights={weights})
made.pseudo_posterior([0.5])
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
real, columns = disk_column.DiskColumn.__init__, []
def limited(self):
    real(self)
    columns.append(self)
    wanted = 20_000 if {limit} == 20_000 or len(columns) == 3 else limits[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (wanted, limits[1]))
disk_column.DiskColumn.__init__ = limited
try:
    made.release(bdp.scan({str(path)!r}, "share"), ledger=budget)
except bdp.errors.InvalidInput as error:
    message = str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
closed = all(column._file.closed for column in columns)
print(json.dumps([message, len(columns), closed, budget.remaining().epsilon]))
"""
    message, columns, closed, left = ran(program)
    assert "File too large" in message
    assert "nothing was released or spent" in message
    assert "TMPDIR" in message
    assert (columns, closed, left) == (1 if limit == 20_000 else 3, True, 10.0)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no measure of memory there")
def test_memory_holds_a_batch_and_some_runs(tmp_path):
    """24 million records: in memory they take 192 MB twice, sorted, and as much again in checks."""
    n, path = 1 << 21, tmp_path / "shares.parquet"
    rng, schema = np.random.default_rng(1), pa.schema({"x": pa.float64()})
    with pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(12):
            writer.write_table(pa.table([1 - rng.random(n) * 0.9], schema), row_group_size=1 << 17)
    program = f"""
import json, pathlib
import bayesdp as bdp
def peak():
    # Not getrusage's, which begins with that of the process that started this one.
    words = pathlib.Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 1024
made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
scanned = bdp.scan({str(path)!r}, "x", rows=1 << 16)
made.release(next(iter(scanned))["x"], size=10)
before = peak()
made.release(scanned, size=10)
print(json.dumps([peak() - before]))
"""
    (grown,) = ran(program)
    assert grown < 220
