"""Releases made elsewhere, of tables of noisy counts: the law and the promise that ours has."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

AXES = (
    Axis("sex", categories=("f", "m")),
    Axis("age", categories=(20, 40, 60)),
    Axis("ill", categories=(True, False)),
)
PAIRS = (("sex", "age"), ("ill", "age"))


def frames_of(made: bdp.mechanisms.NoisyMarginalsMechanism, output: Any) -> list[pd.DataFrame]:
    """A frame for each marginal, without the rows of counts that have no noise."""
    found = []
    still = made.tables(~made._moving)
    for part, counts, left_out in zip(made.places, made.tables(output), still, strict=True):
        axes = [made.axes[k] for k in part]
        rows = itertools.product(*(axis.categories or () for axis in axes))
        frame = pd.DataFrame(list(rows), columns=[axis.name for axis in axes])
        frame["count"] = counts.ravel()
        found.append(frame[~left_out.ravel().astype(bool)])
    return found


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("neighbours", "n", "zeros"),
    [("add_remove", None, ()), ("replace_one", None, ()), ("replace_one", 40, (4, 5, 10))],
)
def test_ours_comes_back(noise: str, neighbours: Any, n: int | None, zeros: tuple[int, ...]):
    """From frames in any order of their rows: the same outputs, law and promise."""
    # Zeros that show as cells of a marginal: sex = f, age = 60; and ill = True, age = 60.
    made = bdp.mechanisms.NoisyMarginalsMechanism(2.5, AXES, PAIRS, noise, neighbours, n, zeros)
    rng = np.random.default_rng(1)
    counts = rng.multinomial(40, made.possible.ravel() / made.possible.sum())
    with bdp.reproducible(2):
        output = made.release(made.statistic(counts))[0]
    frames = [frame.sample(frac=1, random_state=3) for frame in frames_of(made, output)]
    for frame, part in zip(frames, PAIRS, strict=True):  # whose order would be that of the rows
        for name in part:
            labels = next(axis.categories for axis in AXES if axis.name == name)
            frame[name] = pd.Categorical(frame[name], labels)
    read = bdp.Release.from_noisy_tables(
        frames, noise=noise, scale=2.5, neighbours=neighbours, exact=n, absent="impossible"
    )
    back: Any = read.mechanism
    assert read.origin == "elsewhere"
    assert read.outputs == (tuple(output.tolist()),)
    assert read.guarantee.epsilon == made.guarantee().epsilon
    assert read.guarantee.strength is bdp.Strength.CONDITIONAL
    assert {axis.name: axis.categories for axis in back.axes} == {
        axis.name: axis.categories for axis in AXES
    }
    assert (back.marginals, back.n, back.neighbours) == (PAIRS, n, neighbours)
    other = made.release(made.statistic(counts))[0]
    statistic = made.statistic(counts)
    assert back.logp(other, statistic) == made.logp(other, statistic)


def test_the_law_is_the_noise_of_each_count():
    frame = pd.DataFrame({"sex": ["f", "m"], "count": [7, -2]})
    read = bdp.Release.from_noisy_tables({"a": frame}, noise="laplace", scale=2.0)
    expected = stats.dlaplace.logpmf([7 - 5, -2 - 1], 1 / 2.0).sum()
    assert read.mechanism.logp((7, -2), (5, 1)) == pytest.approx(expected, rel=1e-12)
    assert read.guarantee.epsilon == 0.5


COUNTIES = pd.DataFrame(
    {"state": ["A", "A", "B", "B"], "county": ["x", "y", "x", "z"], "count": [812, 95, 410, -3]}
)
STATES = pd.DataFrame({"state": ["A", "B"], "count": [903, 412]})
NOISY: dict[str, Any] = {"noise": "gaussian", "scale": 4.0}


def test_a_county_is_in_its_state_alone():
    """The other combinations are structural zeros, without noise; also in a table of counties."""
    county = pd.DataFrame({"county": ["x", "y", "z"], "count": [1200, 90, 2]})
    read = bdp.Release.from_noisy_tables([STATES, COUNTIES, county], absent="impossible", **NOISY)
    made: Any = read.mechanism
    assert made.possible.tolist() == [[True, True, False], [True, False, True]]
    assert read.outputs[0] == (903, 412, 812, 95, 0, 410, 0, -3, 1200, 90, 2)
    assert made.rho() == pytest.approx(3 / (2 * 16))
    counted = made.statistic([[800, 90, 0], [400, 0, 1]])
    noise = stats.norm(scale=4.0)  # to which the discrete law of this scale is equal, to 1e-60
    moved = np.delete(np.subtract(read.outputs[0], counted), [4, 6])
    assert made.logp(read.outputs[0], counted) == pytest.approx(noise.logpdf(moved).sum())
    assert made.logp((*read.outputs[0][:4], 1, *read.outputs[0][5:]), counted) == -math.inf


def test_exact_totals_make_groups_of_public_size():
    read = bdp.Release.from_noisy_tables(
        {"counties": COUNTIES},
        exact=STATES,
        neighbours="replace_one",
        absent="impossible",
        **NOISY,
    )
    assert (read.by, read.groups) == ("state", ("A", "B"))
    assert [part.mechanism.n for part in read.parts] == [903, 412]
    assert [axis.categories for axis in read["B"].mechanism.axes] == [("x", "z")]  # type: ignore[attr-defined]
    assert read["B"].outputs == ((410, -3),)
    assert read.guarantee.epsilon == read["A"].guarantee.epsilon
    assert "group" in " ".join(read.guarantee.assumptions)


def test_a_folder_is_read_file_by_file(tmp_path: Path):
    STATES.to_csv(tmp_path / "1.csv", index=False)
    COUNTIES.to_parquet(tmp_path / "2.parquet")
    (tmp_path / "README.md").write_text("Noisy counts.")
    read = bdp.Release.from_noisy_tables(tmp_path, absent="impossible", **NOISY)
    whole = bdp.Release.from_noisy_tables([STATES, COUNTIES], absent="impossible", **NOISY)
    assert read.fingerprint == whole.fingerprint
    read.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release").guarantee == read.guarantee


def test_codes_that_begin_with_0_are_texts_in_all_files_of_a_folder(tmp_path: Path):
    """Read as numbers, 01 would be called 1, and 001 would be the same area."""
    (tmp_path / "1.csv").write_text("area,age,count\n01,20,3\n01,40,5\n10,20,2\n10,40,0\n")
    (tmp_path / "2.csv").write_text(
        "age,area,sex,count\n20,10,f,2\n40,10,f,2\n20,01,f,2\n40,01,f,1\n"
    )
    (tmp_path / "3.csv").write_text("area,count\n10,4\n01,8\n")
    read = bdp.Release.from_noisy_tables(tmp_path, **NOISY)
    axes: Any = read.mechanism.axes  # type: ignore[attr-defined]
    assert {axis.name: axis.categories for axis in axes} == {
        "area": ("01", "10"), "age": (20, 40), "sex": ("f",)
    }  # fmt: skip
    (tmp_path / "3.csv").write_text("area,count\n10,4\n1,8\n")
    with pytest.raises(bdp.errors.InvalidInput, match="no row for"):
        bdp.Release.from_noisy_tables(tmp_path, **NOISY)


def test_a_column_with_texts_in_one_file_has_texts_in_all(tmp_path: Path):
    (tmp_path / "1.csv").write_text("age,count\n1,3\n2,5\n90+,1\n")
    (tmp_path / "2.csv").write_text("age,sex,count\n1,f,3\n2,f,5\n90+,f,1\n")
    whole = bdp.Release.from_noisy_tables(tmp_path, **NOISY)
    assert whole.mechanism.axes[0].categories == ("1", "2", "90+")  # type: ignore[attr-defined]
    (tmp_path / "1.csv").write_text("age,count\n1,3\n2,5\n")
    with pytest.raises(bdp.errors.InvalidInput, match=r"no row for 1 of its 3.*'age' = '90\+'"):
        bdp.Release.from_noisy_tables(tmp_path, **NOISY)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_tables_may_be_of_polars_or_arrow(kind: str):
    table = getattr(pytest.importorskip(kind), {"polars": "DataFrame", "pyarrow": "table"}[kind])
    made = [table(frame.to_dict("list")) for frame in (STATES, COUNTIES)]
    fields = NOISY | {"absent": "impossible"}
    read = bdp.Release.from_noisy_tables(made, **fields)
    assert (
        read.fingerprint == bdp.Release.from_noisy_tables([STATES, COUNTIES], **fields).fingerprint
    )
    exact = bdp.Release.from_noisy_tables(
        made[1:], exact=made[0], neighbours="replace_one", **fields
    )
    assert [part.mechanism.n for part in exact.parts] == [903, 412]


def changed(frame: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    return frame.assign(**columns)


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        ([], {}, r"a mapping or list of DataFrames"),
        (3, {}, r"frames is 3"),
        ("no folder", {}, r"'no folder'.*or a folder of \.csv or \.parquet"),
        ([STATES["count"]], {}, r"each table must be a DataFrame, of pandas"),
        ([STATES[["count"]]], {}, r"one or more of categories"),
        ([STATES.rename(columns={"count": "n"})], {}, r"and 'count'"),
        ({1: STATES, "1": COUNTIES}, {}, r"two tables of one name"),
        ([changed(STATES, count=[1.0, 2.5])], {}, r"type float64.*as they were drawn"),
        ([changed(STATES, count=pd.array([1, None], dtype="Int64"))], {}, r"neither missing"),
        ([changed(STATES, count=np.array([1, 2**63 + 1], np.uint64))], {}, r"nor beyond int64"),
        ([changed(STATES, count=[1, -(2**63)])], {}, r"nor beyond int64"),
        ([STATES[:0]], {}, r"has 0 rows"),
        ([changed(STATES, state=["A", None])], {}, r"column 'state' has missing labels"),
        ([changed(STATES, state=[["A"], ["B"]])], {}, r"column 'state' holds lists"),
        ([changed(STATES, state="A")], {}, r"1 combinations of labels in more than one row"),
        ([COUNTIES], {}, r"no row for 2 of its 6.*'state' = 'A', 'county' = 'z'.*impossible"),
        ([COUNTIES], {"absent": "zero"}, r"absent is 'zero'"),
        ([STATES, STATES], {}, r"'frames\[0\]' and 'frames\[1\]' have the same columns.*in a list"),
        ([STATES], {"noise": "normal"}, r"noise is 'normal'"),
        ([STATES], {"noise": ["gaussian"]}, r"noise is a list"),
        ([STATES], {"scale": 0.0}, r"scale is 0"),
        ([STATES], {"exact": 7}, r"exact is 7, public.*'replace_one'"),
        ([STATES], {"exact": "7", "neighbours": "replace_one"}, r"exact is a text"),
        ([STATES], {"exact": STATES, "neighbours": "replace_one"}, r"a noisy and an exact count"),
        (
            [COUNTIES],
            {"exact": changed(STATES, count=[907, 0]), "neighbours": "replace_one"},
            r"exact has 0 for 'B'.*leave a group without records out",
        ),
        ([COUNTIES], {"exact": COUNTIES, "neighbours": "replace_one"}, r"exact has the columns"),
        (
            [COUNTIES],
            {"exact": STATES[:1], "neighbours": "replace_one"},
            r"other labels than exact",
        ),
        ([COUNTIES], {"exact": STATES}, r"exact is a DataFrame, public"),
        (  # A alone lacks z, B alone y: counts left out for their size would look the same
            [COUNTIES],
            {"exact": STATES, "neighbours": "replace_one"},
            r"no row for 2 of its 6.*not if rows were left out because of their counts",
        ),
        (
            [
                COUNTIES,
                COUNTIES.rename(columns={"county": "town"})[:3].assign(state=["A", "A", "C"]),
            ],
            {"absent": "impossible"},
            r"'frames\[0\]' has counts of combinations that are impossible",
        ),
    ],
)
def test_what_no_mechanism_says_is_refused(frames: Any, options: Any, message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.Release.from_noisy_tables(frames, **(NOISY | options))


def test_a_table_of_too_many_cells_is_refused():
    frames = [pd.DataFrame({name: range(101), "count": 0}) for name in ("a", "b", "c")]
    with pytest.raises(bdp.errors.InvalidInput, match=r"1,030,301 combinations.*1,000,000 at most"):
        bdp.Release.from_noisy_tables(frames, **NOISY)
    names = {"a": range(40_000), "b": range(40_000), "count": 0}  # of 13 GB
    with pytest.raises(bdp.errors.InvalidInput, match="1,600,000,000 combinations"):
        bdp.Release.from_noisy_tables([pd.DataFrame(names)], **NOISY)
