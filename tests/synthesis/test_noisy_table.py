"""Whole tables: what is counted, paid for and released."""

import datetime as dt
import itertools

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import BudgetExceeded, InvalidInput
from bayesdp.report.whole_table import summarize_table

COLUMNS = {
    "age": {"type": "integer", "bounds": (18, 90), "bins": [18, 30, 60, 90]},
    "smokes": {"type": "boolean", "missing": True},
    "school": {"type": "ordered", "labels": ["none", "some", "more"]},
    "born": {"type": "date", "bounds": (dt.date(1930, 1, 1), dt.date(2007, 12, 31)), "bins": 3},
}
SCHEMA = bdp.Schema(COLUMNS)


def people(n: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    smokes = pd.array(rng.random(n) < 0.4, dtype="boolean")
    smokes[:5] = pd.NA
    days = rng.integers(0, 25_000, n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "smokes": smokes,
            "school": rng.choice(["none", "some", "more"], n),
            "born": np.datetime64("1935-01-01", "s") + days * np.timedelta64(86400, "s"),
        }
    )


def test_all_pairs_are_counted_without_noise_to_speak_of():
    frame, made = people(), bdp.TableSynthesizer(SCHEMA, epsilon=1e4)
    release = made.release(frame)
    codes = SCHEMA.coded(frame)
    expected = []
    for a, b in itertools.combinations(SCHEMA.columns, 2):
        cells = SCHEMA.cells[a], SCHEMA.cells[b]
        places = np.ravel_multi_index([codes[a].astype(int), codes[b]], cells)
        expected.append(np.bincount(places, minlength=cells[0] * cells[1]))
    np.testing.assert_array_equal(release.parts[0].outputs[0], np.concatenate(expected))
    assert made.measured == tuple(itertools.combinations(SCHEMA.columns, 2))
    beyond = bdp.TableSynthesizer(SCHEMA, epsilon=1e16).release(frame)  # of the narrowest noise
    assert beyond.parts[0].outputs == release.parts[0].outputs


def test_a_mapping_of_columns_is_a_schema():
    """It is what `bdp.Schema` takes first, and was refused."""
    for given in (COLUMNS, {"columns": COLUMNS}, SCHEMA):
        assert bdp.TableSynthesizer(given)._schema == SCHEMA


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_in_batches_is_counted_as_the_records_in_memory(tmp_path, suffix):
    frame, made = people(), bdp.TableSynthesizer(SCHEMA, epsilon=1.0, delta=1e-6)
    path = tmp_path / f"people.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    released = []
    for data in (
        frame,
        bdp.scan(path, list(SCHEMA.columns), rows=7),
        iter([frame[:20], frame[20:]]),
        bdp.scan(dd.from_pandas(frame, npartitions=3), list(SCHEMA.columns)),
    ):
        with bdp.reproducible(4):
            released.append(made.release(data).parts[0].outputs)
    assert released[0] == released[1] == released[2] == released[3]


def test_promises():
    laplace, normal = (bdp.TableSynthesizer(SCHEMA, epsilon=1.0, delta=d) for d in (0.0, 1e-6))
    assert (laplace.noise, normal.noise) == ("laplace", "gaussian")
    assert laplace.guarantee().epsilon == 1.0
    assert laplace.guarantee().delta == 0
    assert 0.999 < normal.guarantee().epsilon <= 1.0
    assert laplace.mechanism(None, 1.0).rounds[0].scale == pytest.approx(6.0)
    twice = bdp.TableSynthesizer(SCHEMA, epsilon=1.0, copies=2)
    assert twice.mechanism(None, 1.0).rounds[0].scale == pytest.approx(12.0)
    assert twice.release(people()).guarantee.epsilon <= 1.0
    one = bdp.TableSynthesizer(SCHEMA, epsilon=1.0, marginals=[("age", "smokes", "school")])
    assert one.mechanism(None, 1.0).rounds[0].scale == pytest.approx(1.0)
    public = bdp.TableSynthesizer(SCHEMA, epsilon=1.0, neighbours="replace_one")
    assert public.release(people()).parts[0].mechanism.n == 50
    assert public.mechanism(50, 1.0).rounds[0].scale == pytest.approx(12.0)
    single = bdp.Schema({"age": COLUMNS["age"]})
    assert bdp.TableSynthesizer(single).measured == (("age",),)


def test_a_person_has_records_up_to_a_limit():
    schema = bdp.Schema(COLUMNS, unit={"person": "id", "most": 2})
    frame = people().assign(id=np.repeat(np.arange(10), 5))
    made = bdp.TableSynthesizer(schema, epsilon=1e4)
    output = np.array(made.release(frame).parts[0].outputs[0])
    assert output[:9].sum() == 20
    scale = bdp.TableSynthesizer(schema, epsilon=1.0).mechanism(None, 1.0).rounds[0].scale
    assert scale == pytest.approx(12.0)
    replaced = bdp.TableSynthesizer(schema, epsilon=1.0, neighbours="replace_one")
    assert replaced.release(frame).parts[0].mechanism.n is None


def test_what_is_refused_is_not_paid_for(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("people", epsilon=1.2, delta=1e-5, neighbours="add_remove")
    account = ledger.dataset("people")
    schema = bdp.Schema(COLUMNS, zeros=[{"age": [18, 30], "school": "more"}])
    made = bdp.TableSynthesizer(schema, epsilon=1.0, delta=1e-6)
    frame = people()
    impossible = frame.assign(age=20, school="more")
    for wrong, message in (
        (impossible, "records that the schema's zeros exclude"),
        (frame.assign(age=200), "outside its bounds"),
        (frame.drop(columns="born"), "lacks columns 'born'"),
        (frame.assign(weight=1.0), "has others than the schema's, 'weight'"),
    ):
        with pytest.raises(InvalidInput, match=message) as caught:
            made.release(wrong, ledger=account)
        assert "20" not in str(caught.value).replace("2007", "").replace("200", "")
    assert account.remaining().epsilon == 1.2
    frame.loc[frame["age"] < 30, "school"] = "none"
    made.release(frame, ledger=account)
    assert account.remaining().epsilon == pytest.approx(0.2, abs=0.1)
    with pytest.raises(BudgetExceeded):
        made.release(frame, ledger=account)


def test_wrong_fields_are_named(tmp_path):
    private = dict(COLUMNS, age=COLUMNS["age"] | {"bins": {"private": 3, "share": 0.1}})
    pools = {"age": (0, 1)}
    for arguments, message in (
        ({"schema": 3}, "schema is 3; it must be a bdp.Schema"),
        ({"schema": bdp.Schema(private), "copies": 2}, "copies is 2, but a later round"),
        ({"schema": bdp.Schema(private), "pools": pools}, "'age' have cut points to be chosen"),
        ({"schema": SCHEMA, "pools": {"sex": (0, 1)}}, "first cells of pools"),
        ({"schema": SCHEMA, "pools": 3}, "first cells of pools"),
        ({"schema": SCHEMA, "marginals": [("age", "weight")]}, "sets of the columns"),
        ({"schema": SCHEMA, "marginals": []}, "marginals"),
        ({"schema": SCHEMA, "noise": "cauchy"}, "noise is 'cauchy'"),
        ({"schema": SCHEMA, "noise": "gaussian"}, "delta is 0"),
        ({"schema": SCHEMA, "neighbours": "edge"}, "neighbours"),
        ({"schema": SCHEMA, "epsilon": 0}, "epsilon is 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            bdp.TableSynthesizer(**arguments)
    with pytest.raises(InvalidInput, match="by"):
        bdp.TableSynthesizer(SCHEMA).release(people(), by=["a"] * 50)
    SCHEMA.save(tmp_path / "people.toml")
    assert bdp.TableSynthesizer(tmp_path / "people.toml").schema == SCHEMA


def test_strange_values_are_counted_where_the_schema_says_and_are_in_no_file_or_repr(tmp_path):
    moved = {
        "note": {"type": "category", "labels": ["seen", "other"], "other": "other"},
        "income": {"type": "real", "bounds": (0, 9), "bins": 3, "outside": "clamp"},
        "born": COLUMNS["born"] | {"outside": "clamp"},
    }
    strange = pd.DataFrame(
        {
            "note": ["Quetzalcoatl", "Xochimilco"],
            "income": [7306.5812, -9182.0457],
            "born": pd.to_datetime(["1613-07-29", "2219-03-17"]),
        }
    )
    release = bdp.TableSynthesizer(bdp.Schema(moved), epsilon=1e4).release(strange)
    assert release.parts[0].outputs[0][:6] == (0, 0, 0, 1, 0, 1)
    release.save(tmp_path / "release")
    files = [path.read_bytes() for path in (tmp_path / "release").iterdir()]
    shown = b"\0".join([*files, repr(release).encode(), release.to_frames()[0].to_csv().encode()])
    assert b"seen" in shown
    for trace in (b"Quetz", b"Xochi", b"7306", b"9182", b"1613", b"2219"):
        assert trace not in shown


def test_a_table_without_a_record_is_fitted_and_reported():
    """So little noise that all latent tables are empty."""
    schema = bdp.Schema({"a": {"type": "boolean"}, "b": {"type": "integer", "bounds": (0, 3)}})
    frame = pd.DataFrame({"a": pd.array([], dtype="boolean"), "b": np.array([], dtype=np.int64)})
    with bdp.reproducible(3):
        release = bdp.TableSynthesizer(schema, epsilon=40.0).release(frame)
    run = {"draws": 20, "warmup": 20, "chains": 2, "thin": 1, "tables": 5, "seed": 1}
    with pytest.warns(UserWarning, match="below 6 slopes by latent tables"):
        posterior = bdp.TableModel(classes=2).fit(release, **run)
    assert posterior.posterior["n"].max() == 0
    assert [len(copy) for copy in posterior.synthetic(2)] == [0, 0]
    assert posterior.table(["a"], target="data").interval()["upper"].tolist() == [0, 0]
    with pytest.raises(InvalidInput, match="may have no record at all"):
        posterior.table(["a"])
    assert summarize_table(posterior, release).classes == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*of the spread of")  # which is asserted of the verdict
def test_tables_at_the_edge_are_released_and_fitted():
    """No record, a single one, columns that are constant, all missing or of 1,000 labels."""
    many = {"type": "category", "labels": [f"label {k}" for k in range(1000)]}
    schema = bdp.Schema({"many": many, **COLUMNS})
    made = bdp.TableSynthesizer(
        schema, epsilon=1.0,
        marginals=[("many",), ("age", "smokes"), ("smokes", "school"), ("school", "born")],
    )  # fmt: skip
    one = people().assign(many="label 7", smokes=pd.array([pd.NA] * 50, dtype="boolean"))
    run = {"draws": 20, "warmup": 10, "chains": 1, "thin": 4, "tables": 20, "seed": 1}
    with pytest.raises(InvalidInput, match="data is empty"):
        bdp.TableSynthesizer(schema, neighbours="replace_one", marginals=[("age",)]).release(
            one[:0]
        )
    for frame in (one[:0], one[:1], one.assign(school="some")):
        release = made.release(frame)
        with pytest.warns(UserWarning, match=r"can't be relied on.*more latent tables"):
            posterior = bdp.TableModel(classes=4).fit(release, **run)
        assert np.all(np.isfinite(posterior.posterior["share"]))
        said = "of the spread of age is in cells that noise drowns"
        assert len(frame) > 1 or said in posterior.attrs["verdict"]
