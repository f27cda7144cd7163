"""A trimmed mean of a column by propose-test-release: the promise, what is paid, its release."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput

Synthesizer = bdp.synthesizers.TrimmedMeanSynthesizer
RECORDS = np.random.default_rng(1).normal(40, 9, 1000)


@pytest.mark.parametrize("copies", [1, 2])
def test_all_copies_cost_what_is_declared(copies):
    made = Synthesizer(3.0, (0, 100), 32, copies=copies)
    release = made.release(RECORDS)
    assert 2.999 < release.guarantee.epsilon <= 3.0
    assert release.guarantee.delta <= 1e-6
    assert release.guarantee == made.guarantee(1000)
    assert release.copies == copies


def test_groups_are_disjoint():
    made = Synthesizer(2.0, (0, 100), 32, groups=["a", "b"])
    release = made.release(RECORDS, by=["a", "b"] * 500)
    assert release.guarantee.epsilon <= 2.0
    assert release.guarantee.delta <= 1e-6
    assert [part.mechanism.n for part in release.parts] == [500, 500]


def test_a_mean_is_near_that_of_the_records():
    """Where the noise is small; records far beyond the bounds don't count as what they are."""
    records = np.concatenate([RECORDS, [1e9] * 50, [-np.inf] * 50])
    with bdp.reproducible(1):
        release = Synthesizer(20.0, (0, 100), 500, bins=1000).release(records)
    shown = release.to_frames()[0]["trimmed_mean"].to_numpy()
    kept = np.sort(records)[110:-110]
    assert shown == pytest.approx([kept.mean()], abs=0.05)


def test_a_refusal_is_paid_in_full(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    survey = ledger.create("survey", epsilon=2.0, delta=2e-6, neighbours="replace_one")
    release = Synthesizer(2.0, (0, 100), 5).release(RECORDS, ledger=survey)
    assert release.outputs[0] == -1
    assert np.isnan(release.to_frames()[0]["trimmed_mean"]).all()
    assert survey.spent().epsilon == pytest.approx(2.0, rel=1e-4)


def test_too_few_records_are_refused_before_anything_is_paid(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    survey = ledger.create("survey", epsilon=2.0, delta=2e-6, neighbours="replace_one")
    with pytest.raises(InvalidInput, match=r"unlikely to be passed.*larger trim,") as refused:
        Synthesizer(1.0, (0, 100), 32).release(RECORDS[:100], ledger=survey)
    assert survey.spent().epsilon == 0
    assert str(RECORDS[0])[:6] not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"proposal": 99}, "proposal is 99 with 100 cells"),
        ({"delta": 0}, "delta is 0; a mean"),
        ({"delta": 1}, "delta is 1"),
        ({"test_share": 0}, "test_share is 0"),
        ({"bins": 2, "proposal": 1}, "proposal is 1 with 2 cells"),
        ({"bins": [0, 10, 50, 100], "proposal": 1}, "equally wide"),
        ({"trim": 0.5}, "trim is 0.5"),
        ({"trim": 0.1234}, "three decimals"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, "bounds": (0, 100), "proposal": 32, **fields})
