"""Censored beta records released by group: each from its own records, for the price of one."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayesdp as bdp

Synthesizer = bdp.synthesizers.CensoredBetaSynthesizer
RECORDS, BY = [0.2, 0.3, 0.6, 0.7], ["a", "b", "a", "b"]
GRID = {"grid": (2, 2), "largest": 20.0}


def test_each_group_has_copies_of_its_own_records():
    made = Synthesizer(epsilon=3.0, copies=2, size=5, groups=["b", "a", "c"])
    tallies = made.tallies(pd.Series(RECORDS), BY)
    assert {label: x.tolist() for label, x in tallies.items()} == {
        "b": [0.3, 0.7], "a": [0.2, 0.6], "c": [],
    }  # fmt: skip
    release = made.release(RECORDS, by=pd.Series(BY, name="region"))
    assert (release.by, release.groups, release.copies) == ("region", ("b", "a", "c"), 2)
    assert str(release.guarantee) == str(made.guarantee()) == "epsilon = 3 (add_remove, proved)"
    assert any("groups was chosen without" in one for one in release.guarantee.assumptions)


def laws(groups: dict[str, list[float]], made: Synthesizer) -> dict[str, np.ndarray]:
    """Probabilities of each group's cells, by the formula."""
    mechanism = made.mechanism(None, made.epsilon)
    phi = (np.arange(4) + 0.5) / 4
    lam = 0.1 * 200.0 ** ((np.arange(4) + 0.5) / 4)
    a, b = np.outer(phi, lam).ravel(), np.outer(1 - phi, lam).ravel()
    found = {}
    for label, y in groups.items():
        logs = -1.5 * np.log(np.tile(lam, 4))
        for x in y:
            one = (a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - special.betaln(a, b)
            logs = logs + np.clip(one, *mechanism.interval)
        found[label] = special.softmax(logs)
    return found


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_epsilon_bounds_what_one_record_changes_wherever_it_is(neighbours):
    """Log ratios of both groups' cells together, a record added, or replaced and moved."""
    made = Synthesizer(epsilon=1.5, groups=["a", "b"], neighbours=neighbours, **GRID)
    places = [(g, y) for g in "ab" for y in (1e-6, 0.4, 1 - 1e-6)]
    worst = 0.0
    for base in itertools.product(places, repeat=2):
        before = {g: [y for k, y in base if k == g] for g in "ab"}
        for group, y in places:
            kept = base if neighbours == "add_remove" else base[1:]
            after = {g: [x for k, x in (*kept, (group, y)) if k == g] for g in "ab"}
            one, other = laws(before, made), laws(after, made)
            ratio = sum(np.max(np.abs(np.log(one[g] / other[g]))) for g in "ab")
            worst = max(worst, float(ratio))
    assert worst <= made.guarantee().epsilon
    assert worst > 0.3 * made.guarantee().epsilon


def test_a_scan_is_released_by_group(tmp_path):
    table = pd.DataFrame({"y": RECORDS, "year": [1, 2, 1, 2]})
    table.to_csv(tmp_path / "people.csv", index=False)
    scanned = bdp.scan(tmp_path / "people.csv", "y", by="year")
    made = Synthesizer(epsilon=2.0, size=3, groups=[1, 2])
    found, right = made.tallies(scanned), made.tallies(table["y"], table["year"])
    assert list(found) == [1, 2]
    assert all(np.array_equal(found[label], right[label]) for label in right)
    assert made.release(scanned).by == "year"
    with pytest.raises(bdp.errors.InvalidInput, match="by is given with a scan"):
        made.release(scanned, by=BY)


def test_weights_of_one_record_at_a_time_go_with_groups():
    made = Synthesizer(epsilon=2.0, size=3, groups=["a", "b"], weights=lambda y: 0.5 + y[0])
    records, weights = made.tallies(RECORDS, BY)["b"]
    assert (records.tolist(), weights.tolist()) == ([0.3, 0.7], [0.8, 1.2])


@pytest.mark.parametrize(
    ("fields", "by", "message"),
    [
        ({}, BY, "groups is missing"),
        ({"groups": ["a"]}, BY, "outside the listed groups"),
        ({"groups": ["a", "b"]}, None, "groups is given, but by is not"),
        ({"groups": ["a", "b"], "engine": "pymc"}, BY, "engine is 'pymc'.* take engine='grid'"),
        ({"groups": ["a", "b"], "weights": [1.0] * 4}, BY, "weights is a vector; give a function"),
        ({"groups": ["a", "b"]}, BY[:3], "by must be one column, as long as data"),
    ],
)
def test_what_does_not_fit_is_refused(fields, by, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(epsilon=1.0, **fields).release(RECORDS, by=by)
