"""Propose-test-release of a column: the promise, what is paid, and its posterior."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import BudgetExceeded, InvalidInput

Synthesizer = bdp.synthesizers.ProposeTestReleaseSynthesizer
RECORDS = np.random.default_rng(1).normal(40, 9, 1000)


def test_a_column_is_counted_by_cell_and_its_ends_hold_what_is_beyond():
    made = Synthesizer(2.0, (0, 100), 1, bins=[0, 30, 50, 70, 100], delta=0.1)
    tally = made.tally([-5, 3, 30, 49, 70, 400])
    assert made.statistic(tally).tolist() == [2, 2, 0, 2]


@pytest.mark.parametrize("copies", [1, 2])
def test_all_copies_and_quantiles_cost_what_is_declared(copies):
    made = Synthesizer(3.0, (0, 100), 4, probabilities=(0.25, 0.5), copies=copies)
    release = made.release(RECORDS)
    assert 2.999 < release.guarantee.epsilon <= 3.0
    assert release.guarantee.delta <= 1e-6
    assert release.guarantee == made.guarantee(1000)
    assert release.copies == copies


def test_groups_are_disjoint():
    made = Synthesizer(2.0, (0, 100), 2, groups=["a", "b"])
    release = made.release(RECORDS, by=["a", "b"] * 500)
    assert release.guarantee.epsilon <= 2.0
    assert release.guarantee.delta <= 1e-6
    assert [part.mechanism.n for part in release.parts] == [500, 500]


def test_a_refusal_is_paid_in_full(tmp_path):
    """And another proposal is another release."""
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    survey = ledger.create("survey", epsilon=2.0, delta=2e-6, neighbours="replace_one")
    made, split = Synthesizer(2.0, (0, 100), 1), np.repeat([5.0, 95.0], 500)
    with bdp.reproducible(1):
        mechanism = made.mechanism(1000, 2.0)
        assert mechanism.release(made.statistic(made.tally(split)))[0].tolist() == [-1]
    release = made.release(split, ledger=survey)
    assert release.outputs[0] == (-1,)
    assert survey.spent().epsilon == pytest.approx(2.0, rel=1e-4)
    with pytest.raises(BudgetExceeded):
        Synthesizer(2.0, (0, 100), 95).release(split, ledger=survey)


def test_too_few_records_are_refused_before_anything_is_paid(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    survey = ledger.create("survey", epsilon=2.0, delta=2e-6, neighbours="replace_one")
    with pytest.raises(InvalidInput, match="unlikely to be passed") as refused:
        Synthesizer(1.0, (0, 100), 1).release(RECORDS[:20], ledger=survey)
    assert survey.spent().epsilon == 0
    assert str(RECORDS[0])[:6] not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"proposal": 99}, "proposal is 99 with 100 cells"),
        ({"delta": 0}, "delta is 0"),
        ({"delta": 1}, "delta is 1"),
        ({"test_share": 0}, "test_share is 0"),
        ({"bins": 2}, "proposal is 1 with 2 cells"),
        ({"probabilities": (0.1234,)}, "three decimals"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, "bounds": (0, 100), "proposal": 1, **fields})
