"""Persons with several records, in batches: the same records count as of a whole frame."""

import itertools

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.errors import InvalidInput

COLUMNS = {
    "smokes": {"type": "boolean"},
    "school": {"type": "ordered", "labels": ["none", "some", "more"]},
    "visits": {"type": "integer", "bounds": (0, 3)},
}
MOST = 2
SCHEMA = bdp.Schema(COLUMNS, unit={"person": "id", "most": MOST})
MADE = bdp.TableSynthesizer(SCHEMA, epsilon=1.0)
IN_ROUNDS = bdp.TableSynthesizer(SCHEMA, epsilon=1.0, chosen=1)


def visits(n: int = 60) -> pd.DataFrame:
    """Records of a dozen persons, five of each, in any order."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "smokes": rng.random(n) < 0.4,
            "school": rng.choice(["none", "some", "more"], n),
            "visits": rng.integers(0, 4, n),
            "id": rng.permutation(np.arange(n) % 12),
        }
    )


def batches(frame, ends):
    """The frame, cut at those places."""
    cuts = [0, *sorted(ends), len(frame)]
    return [frame[a:b] for a, b in itertools.pairwise(cuts)]


def released(made, data):
    with bdp.reproducible(5):
        return made.release(data).parts[0].outputs


@pytest.mark.parametrize("kind", [int, str, "category"])
def test_batches_of_persons_are_released_as_a_frame(kind, tmp_path):
    frame = visits().astype({"id": kind})
    files = [tmp_path / f"{k}.parquet" for k in range(3)]
    for path, part in zip(files, batches(frame, [9, 31]), strict=True):
        part.to_parquet(path)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    scans = [
        bdp.scan(files, MADE.columns, rows=7),
        bdp.scan(tmp_path / "visits.csv", MADE.columns, rows=11),
        bdp.scan(dd.from_pandas(frame, npartitions=4), MADE.columns),
    ]
    for made in (MADE, IN_ROUNDS):
        whole = released(made, frame)
        for scan in scans:
            assert released(made, scan) == whole
            assert released(made, scan) == whole  # which is limited anew
    for ends in ([], [1], [0, 30, 30], range(1, 60)):
        assert released(MADE, iter(batches(frame, ends))) == released(MADE, frame)
    assert released(MADE, frame) != released(MADE, frame[::-1])  # the first, not any, are counted
    assert released(MADE, iter([])) == released(MADE, frame[:0])


def restarted(parts):
    """Planted: each batch is limited by itself."""
    return [SCHEMA.limited(part) for part in parts]


def fewer_of_few(parts):
    """Planted: how many records of a person are kept depends on how many persons there are."""
    frame = pd.concat(parts)
    return [frame[frame.groupby("id").cumcount() < min(MOST, frame["id"].nunique() - 1)]]


def limited(parts):
    return list(SCHEMA.limited(iter(parts)))


def faults(limit, counts, person, seed):
    """What a person's records change beside that person's own, and how many of these are kept."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    frame = pd.DataFrame({"id": ids, "row": range(ids.size)})
    ends = np.sort(rng.integers(0, ids.size + 1, 3))
    parts = batches(frame, ends)
    kept = pd.concat(limit(parts))
    others = pd.concat(limit([part[part["id"] != person] for part in parts]))
    changed = set(kept["row"][kept["id"] != person]) ^ set(others["row"])
    return len(changed), (kept["id"] == person).sum() > MOST


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(0, 2**32))
def test_which_records_are_kept_depends_on_no_other_person(counts, seed):
    assert faults(limited, counts, seed % len(counts), seed) == (0, False)


def test_a_planted_fault_is_seen():
    found = [faults(restarted, [4, 5, 6], seed % 3, seed) for seed in range(10)]
    assert any(more for _, more in found)
    found = [faults(fewer_of_few, [1, 5, 6], 0, seed) for seed in range(10)]
    assert all(changed for changed, _ in found)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1, 7919], ["7919", "2"], "must have ids that are all texts, or all whole numbers"),
        ([1, "7919"], [], "all texts, or all whole numbers"),
        ([True, False], [], "all texts, or all whole numbers"),
        (pd.to_datetime(["7919-01-01", "2024-01-01"], format="ISO8601"), [], "all texts, or"),
        ([b"7919"], [], "all texts, or all whole numbers"),
        ([1, 2], [7919, None], "has missing values; give every record"),
        (["a", "7919"], [pd.NA], "has missing values"),
        (["a", "7919"], [" "], "has missing values"),
        (pd.Categorical(["7919", None]), [], "has missing values"),
        ([7919.5], [], r"not whole numbers below 2\^53"),
        ([np.inf], [], r"not whole numbers below 2\^53"),
        ([1], [2.0**53], r"not whole numbers below 2\^53"),
        ([2**70, 7919], [], r"not whole numbers below 2\^53"),
        (np.array([2**24], np.float32), [], r"below 2\^24, which floats of 32 bits"),
        (pd.array([2**24], "Float32"), [], r"below 2\^24, which floats of 32 bits"),
    ],
)
def test_ids_that_are_not_told_apart_are_refused_and_not_shown(first, second, said):
    parts = [
        pd.DataFrame({"id": ids, "smokes": True, "school": "none", "visits": 1})
        for ids in (first, second)
    ]
    with pytest.raises(InvalidInput, match=said) as caught:
        MADE.release(iter(parts))
    assert "7919" not in str(caught.value)
    assert caught.value.__cause__ is None
    if not len(second):
        with pytest.raises(InvalidInput, match=said):
            MADE.release(parts[0])


def test_ids_of_several_types_are_one_where_their_values_are():
    types = ([1, 2], [1.0, 2.0], pd.array([1, 2], "Int64"), np.array([1, 2], np.uint8))
    parts = [pd.DataFrame({"id": ids, "row": k}) for k, ids in enumerate(types)]
    assert [len(part) for part in SCHEMA.limited(iter(parts))] == [2, 2, 0, 0]
    texts = (pd.Categorical(["b", "a"]), ["a", "c"], pd.Categorical(["c", "a"]), ["01", "1"])
    parts = [pd.DataFrame({"id": ids, "row": k}) for k, ids in enumerate(texts)]
    assert [part["id"].tolist() for part in SCHEMA.limited(iter(parts))] == [
        ["b", "a"],
        ["a", "c"],
        ["c"],
        ["01", "1"],
    ]


def test_a_scan_has_the_ids_and_no_groups(tmp_path):
    visits().to_csv(tmp_path / "visits.csv")
    with pytest.raises(InvalidInput, match=r"no single column 'id'.* bdp.scan\(files, synth"):
        MADE.release(bdp.scan(tmp_path / "visits.csv", list(COLUMNS)))
    with pytest.raises(InvalidInput, match="by is 'school', but this synthesizer has no groups"):
        MADE.release(bdp.scan(tmp_path / "visits.csv", ["smokes", "visits", "id"], by="school"))
    with pytest.raises(InvalidInput, match="frame is 3; it must be a DataFrame"):
        MADE.release(iter([3]))


def test_ids_in_a_file_are_read_each_by_itself(tmp_path, run_cli):
    """By numbers, where all are, "01" and "1" were one person, and two where another's isn't."""
    schema = tmp_path / "s.toml"
    bdp.Schema({"smokes": {"type": "boolean"}}, unit={"person": "id", "most": 1}).save(schema)
    made = bdp.TableSynthesizer(schema, epsilon=1e4)
    counts = []
    for other in ("2", "x"):
        path = tmp_path / f"{other}.csv"
        path.write_text(f"id,smokes\n01,True\n1,True\n1,True\n{other},False\n")
        counts.append(made.release(bdp.scan(path, made.columns)).outputs)
        line = f"synthesize {path} --schema {schema} --epsilon 1e4 --out {tmp_path / other}"
        assert run_cli(line)[0] == 0
        counts.append(bdp.Release.load(tmp_path / other).outputs)
    assert counts == [((1, 2),)] * 4
