"""Noisy tables in rounds: the promise of whole transcripts, enumerated; counts; refusals."""

import dataclasses
import itertools
import json
import math
from datetime import date

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.core.views import MeasuredTableView, view_of
from bayesdp.mechanisms.counts import marginals as counting
from bayesdp.mechanisms.counts.table_rounds import Round
from bayesdp.privacy.profile import hockey_stick
from bayesdp.release.manifest import MechanismEntry

ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE
COLUMNS = {
    "a": {"type": "boolean"},
    "b": {"type": "boolean"},
    "c": {"type": "category", "labels": ("x", "y", "z"), "missing": True},
    "d": {"type": "date", "bounds": (date(2020, 1, 1), date(2021, 12, 31)), "bins": "year"},
}
ZEROS = ({"d": (date(2020, 1, 1), date(2021, 1, 1)), "c": "missing"},)
SCHEMA = bdp.Schema(COLUMNS, ZEROS)
NoisyTable = bdp.mechanisms.NoisyTableMechanism


def records(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cells = {name: rng.integers(0, size, n) for name, size in SCHEMA.cells.items()}
    return pd.DataFrame(cells).astype(np.uint8)


def chosen(first: tuple[int, int]) -> tuple[str, ...]:
    """The marginal of the second round, by the released counts of the first."""
    return ("a", "b") if first[0] > first[1] else ("b",)


WITHIN = range(-4, 8)


def log_pmf(law: str, scale: float, shift: int) -> np.ndarray:
    """The noise's law at WITHIN, around a count, by the sum of all its terms."""
    k = np.arange(-400, 401)
    terms = np.exp(-np.abs(k) / scale if law == "laplace" else -(k**2) / (2 * scale**2))
    at = np.array(WITHIN) - shift
    power = np.abs(at) / scale if law == "laplace" else at**2 / (2 * scale**2)
    return -power - math.log(math.fsum(terms))


def transcript(made: bdp.mechanisms.NoisyTableMechanism, data: list[tuple[int, int]]) -> np.ndarray:
    """Log probability of every pair of outputs of both rounds, the second's marginal chosen."""
    counts = {
        ("a",): [sum(a == i for a, _ in data) for i in (0, 1)],
        ("b",): [sum(b == i for _, b in data) for i in (0, 1)],
        ("a", "b"): [
            sum(one == cell for one in data) for cell in itertools.product((0, 1), (0, 1))
        ],
    }
    one, two = (round.scale for round in made.rounds)
    first = np.add.outer(*(log_pmf(made.noise, one, x) for x in counts["a",]))
    # Of the joint table's counts only those that move matter: all but two are 0 in all the data.
    second = {}
    for part in (("b",), ("a", "b")):
        moving = counts[part] if part == ("b",) else [counts[part][0], counts[part][3]]
        second[part] = np.add.outer(*(log_pmf(made.noise, two, x) for x in moving)).ravel()
    rows = [
        first[i, j] + second[chosen(z)] for (i, j), z in zip(
            itertools.product(range(len(WITHIN)), repeat=2), itertools.product(WITHIN, repeat=2),
            strict=True,
        )
    ]  # fmt: skip
    return np.concatenate(rows)


NEAR, FAR = (0, 0), (1, 1)


@pytest.mark.parametrize("unit", ["record", {"person": "id", "most": 2}])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_no_transcript_costs_more_than_the_profile_though_marginals_are_chosen(unit, law, relation):
    """All outputs of two rounds, the second of a marginal that the first's outputs choose."""
    schema = bdp.Schema({name: COLUMNS[name] for name in ("a", "b")}, unit=unit)
    rounds = [Round(["a"], 0.7), Round(["b"], 0.55)]
    made = NoisyTable(schema, rounds, law, relation)
    k = 1 if unit == "record" else 2
    left = [NEAR] * k if relation is REPLACE_ONE else []
    pairs = [(left, [FAR] * k), (left, [FAR])] if relation is REPLACE_ONE else [
        (left, [FAR] * k), (left, [NEAR]), (left, [NEAR, FAR][:k])
    ]  # fmt: skip
    profile, worst, near = made.profile(), 0.0, 0.0
    for one, other in pairs:
        laws = transcript(made, one), transcript(made, other)
        assert math.fsum(np.exp(laws[0])) == pytest.approx(1, abs=0.01)
        for p, q in (laws, laws[::-1]):
            for epsilon in (0.0, 0.3, 1.0, 2.0, 4.0, 6.0):
                found = hockey_stick(p, q, epsilon)
                assert found <= profile.delta(epsilon) * (1 + 1e-9) + 1e-13
                near = max(near, found / (profile.delta(epsilon) or 1.0))
            worst = max(worst, float(np.max(p - q)))
    if law == "laplace":
        assert worst == pytest.approx(profile.epsilon(0.0), rel=1e-12)
    assert near > 0.3  # the bound isn't far from what is found


def test_its_law_is_the_noises_over_all_rounds():
    made = NoisyTable(SCHEMA, [Round([("a",)], 0.7), Round([("b",), ("d", "a")], 0.55)])
    x = np.array([4, 1, 2, 3, 1, 0, 2, 2])
    z = np.array([3, 1, 5, 3, 1, 2, 2, 1])
    expected = 0.0
    for scale, part in ((0.7, slice(0, 2)), (0.55, slice(2, 8))):
        k = np.arange(-50, 51)
        log_total = math.log(math.fsum(np.exp(-(k**2) / (2 * scale**2))))
        expected += sum(
            -((a - b) ** 2) / (2 * scale**2) - log_total
            for a, b in zip(z[part], x[part], strict=True)
        )
    assert made.logp(z, x) == pytest.approx(expected, rel=1e-12)
    assert made.logp(np.stack([z, x]), x).shape == (2,)
    view = view_of(made, MeasuredTableView)
    by_view = sum(each.cell.logp(z[each.slice], x[each.slice]).sum() for each in view.measured)
    assert by_view == pytest.approx(expected, rel=1e-12)
    assert [each.columns for each in view.measured] == [(0,), (1,), (3, 0)]
    assert view.axes == SCHEMA.cells == {"a": 2, "b": 2, "c": 4, "d": 2}
    assert made.records(z)["cell"].tolist()[-2:] == ["1, 0", "1, 1"]


def test_counts_are_the_tables_own_in_blocks_too(monkeypatch):
    made = NoisyTable(SCHEMA, [Round([("c", "a"), ("b",)], 1.0), Round([("d", "a", "c")], 2.0)])
    codes = records(1000)
    tables = made.statistic_of(codes)
    for part, columns in zip(made.slices, made.marginals, strict=True):
        whole = np.zeros([SCHEMA.cells[name] for name in columns], dtype=np.int64)
        for row in codes[list(columns)].to_numpy():
            whole[tuple(row)] += 1
        assert tables[part].tolist() == whole.ravel().tolist()
    monkeypatch.setattr(counting, "_BLOCK", 7)
    assert made.statistic_of(codes).tolist() == tables.tolist()
    assert made.statistic_of(codes.iloc[:0]).sum() == 0


def test_a_promise_depends_on_numbers_of_marginals_and_scales_alone():
    made = NoisyTable(SCHEMA, [Round([("a",), ("b",)], 9.0), Round([("c",)], 4.0)])
    other = [Round([("a", "c"), ("d", "b", "a")], 9.0), Round([("a", "b", "c", "d")], 4.0)]
    chosen = dataclasses.replace(made, rounds=other)
    for copies, relation in itertools.product((1, 3), (ADD_REMOVE, REPLACE_ONE)):
        asked = {"copies": copies, "neighbours": relation, "delta": 1e-6}
        assert made.guarantee(**asked) == chosen.guarantee(**asked)
    one = NoisyTable(SCHEMA, [Round([("a",), ("b",)], 9.0)])
    assert one.guarantee(delta=1e-6).epsilon < made.guarantee(delta=1e-6).epsilon


@pytest.mark.parametrize(("law", "delta"), [("laplace", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("unit", ["record", {"person": "id", "most": 3}])
def test_calibration_is_tight_on_the_safe_side_and_shares_the_budget(law, delta, relation, unit):
    marginals, shares = [[("a",), ("b",), ("c",)], [("a", "b")]], (0.25, 0.75)
    made = NoisyTable.calibrate(
        epsilon=1.0, delta=delta, copies=2, marginals=marginals, shares=shares,
        schema=bdp.Schema(COLUMNS, unit=unit), noise=law, neighbours=relation,
    )  # fmt: skip
    assert 1 - 1e-6 < made.guarantee(copies=2, delta=delta).epsilon <= 1
    smaller = [dataclasses.replace(one, scale=one.scale * (1 - 1e-5)) for one in made.rounds]
    less = dataclasses.replace(made, rounds=smaller)
    assert less.guarantee(copies=2, delta=delta).epsilon > 1
    alone = [dataclasses.replace(made, rounds=(one,)) for one in made.rounds]
    cost = [one.rho() if law == "gaussian" else one.epsilon() for one in alone]
    assert cost[0] / sum(cost) == pytest.approx(0.25, rel=1e-9)
    if law == "gaussian":
        assert made.rho() == pytest.approx(sum(cost), rel=1e-12)


def test_a_manifest_is_of_plain_values_and_keeps_dates():
    made = NoisyTable(SCHEMA, [Round([("d",)], 1.0)])
    entry = MechanismEntry.of(made)
    assert entry.parameters["schema"]["columns"]["d"]["bounds"] == ["2020-01-01", "2021-12-31"]
    assert entry.parameters["schema"]["zeros"][0]["d"] == ["2020-01-01", "2021-01-01"]
    again = MechanismEntry.model_validate_json(entry.model_dump_json()).build()
    assert again == made
    assert hash(again) == hash(made)
    assert again.schema.impossible(pd.DataFrame({"a": [0], "b": [0], "c": [3], "d": [0]})).all()
    declared = json.loads(entry.model_dump_json())["parameters"]["schema"]
    assert NoisyTable(declared, [Round([("d",)], 1.0)]) == made


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"schema": 3}, r"schema is 3; it must be a bdp\.Schema"),
        ({"schema": {"columns": {}, "zero": ()}}, "schema is a dict"),
        ({"schema": {"column": {}}}, r"columns\.column\.type is missing"),
        ({"schema": {"columns": {}}}, "table of columns"),
        ({"schema": {"columns": {"d": {"type": "date", "bounds": ("x", "y")}}}}, "bounds"),
        ({"rounds": ()}, "rounds is"),
        ({"rounds": [3]}, "rounds is a list; it must be a list of Round"),
        ({"rounds": [{"marginals": [("a",)]}]}, "rounds lacks"),
        ({"rounds": [Round([], 1.0)]}, "marginals is"),
        ({"rounds": [Round([("a", "z")], 1.0)]}, "marginals is"),
        ({"rounds": [Round([("a", "b"), ("b", "a")], 1.0)]}, "marginals is"),
        ({"rounds": [Round([("a",)], 0.0)]}, "scale is 0"),
        ({"rounds": [Round([("a",)], 1e300)]}, "scale is"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
        ({"neighbours": "edge"}, "neighbours is 'edge'"),
        ({"n": 5}, "n is 5"),
        ({"n": 0, "neighbours": "replace_one"}, "n is 0"),
        (
            {
                "n": 5,
                "neighbours": "replace_one",
                "schema": bdp.Schema(COLUMNS, unit={"person": "id", "most": 2}),
            },
            "n is 5, but the schema's unit is a person",
        ),
        (
            {
                "schema": {
                    "columns": {
                        name: {"type": "integer", "bounds": (0, 99_999)} for name in ("a", "b")
                    }
                },
                "rounds": [Round([("a", "b")], 1.0)],
            },
            "10,000,000,000 counts together",
        ),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    good = {"schema": SCHEMA, "rounds": [Round([("a", "b")], 1.0)]}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        NoisyTable(**{**good, **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shares": (0.5, 0.6)}, "shares is"),
        ({"shares": (1.0,)}, "shares is"),
        ({"shares": (1.5, -0.5)}, "shares is a tuple"),
        ({"delta": 0.0}, "delta is 0, and Gaussian"),
        ({"marginals": []}, "rounds is"),
        ({"marginals": ["ab"]}, "marginals is a list; it must be a list of rounds"),
    ],
)
def test_what_cannot_be_calibrated_is_named(wrong, message):
    good = {"schema": SCHEMA, "marginals": [[("a",)], [("b",)]], "delta": 1e-6}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        NoisyTable.calibrate(epsilon=1.0, **{**good, **wrong})


def test_wrong_statistics_and_codes_are_refused_without_a_value():
    made = NoisyTable(SCHEMA, [Round([("a",)], 1.0)])
    for attempt in (made.check_statistic, made.release, lambda x: made.logp(x, x)):
        with pytest.raises(bdp.errors.InvalidInput, match="last axis must hold the 2 counts"):
            attempt([7, 77, 777])
    with pytest.raises(bdp.errors.InvalidInput, match="must be made of numbers"):
        made.release(["7", "77"])
    codes = records(5).astype(np.int64)
    for wrong in (codes.drop(columns="c"), codes.to_numpy(), {"a": [0]}):
        with pytest.raises(bdp.errors.InvalidInput, match="codes is"):
            made.statistic_of(wrong)
    for value in (2, -1, 0.5):
        with pytest.raises(bdp.errors.InvalidInput, match="codes of column 'b'") as caught:
            made.statistic_of(codes.assign(b=[0, 0, value, 0, 0]))
        assert "0.5" not in str(caught.value)


def test_a_public_n_has_no_added_records():
    made = NoisyTable(SCHEMA, [Round([("a",)], 1.0)], neighbours=REPLACE_ONE, n=5)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made.guarantee(neighbours=ADD_REMOVE)
