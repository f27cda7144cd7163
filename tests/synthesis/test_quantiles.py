"""The quantile synthesizer: cells and clamping, groups, the promise, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput

Synthesizer = bdp.synthesizers.QuantileSynthesizer


def test_records_beyond_the_bounds_are_in_the_end_cells():
    made = Synthesizer(1.0, (0, 10), 5)
    tally = made.tally([-1e300, -1, 0, 1.999, 2, 9, 10, 11, np.inf])
    assert tally.counts.tolist() == [4, 1, 0, 0, 4]
    assert made.add(tally, tally).n == 18


def test_at_a_large_epsilon_it_finds_the_samples_quartiles():
    values = np.arange(1, 101)
    release = Synthesizer(1000.0, (0, 100), 100).release(pd.Series(values, name="age"))
    assert release.variable == "age"
    assert release.mechanism.records(release.outputs[0])["to"] == pytest.approx([26, 51, 76], abs=1)


def test_groups_copies_and_the_promise():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 30), "g": ["a", "b", "b"] * 10})
    made = Synthesizer(2.0, (0, 1), copies=2, groups=["a", "b", "c"])
    release = made.release(frame["x"], by=frame["g"])
    assert (release.groups, release.copies) == (("a", "b", "c"), 2)
    assert 1.99 < release.guarantee.epsilon <= 2.0
    replaced = Synthesizer(2.0, (0, 1), neighbours="replace_one").release(frame["x"], by=frame["g"])
    assert [part.mechanism.n for part in replaced.parts] == [10, 20]
    assert made.guarantee() == release.guarantee
    assert any("outer edges" in each for each in release.guarantee.assumptions)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": -1}, "epsilon is -1"),
        ({"bounds": (1, 0)}, "bounds must"),
        ({"bounds": [(0, 1), (0, 2)]}, "one pair"),
        ({"bins": 1}, "one cell"),
        ({"bins": (0, 0.5, 2)}, "begin and end at its bounds"),
        ({"probabilities": (0.5, 1.5)}, "probabilities is"),
        ({"neighbours": "node"}, "neighbours is 'node'"),
        ({"choice": "first"}, "choice is 'first'"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, "bounds": (0, 1), **fields})


def test_bad_records_are_refused():
    with pytest.raises(InvalidInput, match="missing"):
        Synthesizer(1.0, (0, 1)).release([0.5, None])
    income = pd.Series([0.5, None], name="income")
    for records in (income, income.to_frame()):
        with pytest.raises(InvalidInput, match="column 'income' has missing"):
            Synthesizer(1.0, (0, 1)).release(records)
    with pytest.raises(InvalidInput, match="by is"):
        Synthesizer(1.0, (0, 1), groups=["a"]).release([0.5])
