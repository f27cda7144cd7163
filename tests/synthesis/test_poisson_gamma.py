"""The Poisson-gamma synthesizer: events by area in, counts out, nothing on error."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Synthesizer = bdp.PoissonGammaSynthesizer
EXPECTED = {"north": 3.0, "south": 40.0, "isle": 0.2}


def test_counts_by_name_are_released_by_name(tmp_path):
    made = Synthesizer(epsilon=2.0, expected=EXPECTED, copies=2)
    release = made.release({"south": 35, "north": 5, "isle": 0})
    assert release.guarantee.epsilon <= 2
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert release.guarantee == made.guarantee(n=40)
    frame = release.to_frames()[1]
    assert frame["area"].tolist() == ["north", "south", "isle"]
    assert frame["count"].sum() == 40
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release


def test_counts_series_sequences_and_events_agree():
    counts = pd.Series({"north": 2, "south": 3, "isle": 1}, name="deaths")
    events = ["south", "north", "isle", "south", "north", "south"]
    releases = []
    for given in (counts, dict(counts), events):
        with bdp.reproducible(1):
            made = Synthesizer(epsilon=1.0, expected=pd.Series(EXPECTED), copies=3)
            releases.append(made.release(given, variable="deaths"))
    assert releases[0] == releases[1] == releases[2]
    bare = Synthesizer(epsilon=1.0, expected=list(EXPECTED.values()), copies=3)
    with bdp.reproducible(1):
        assert bare.release([2, 3, 1]).outputs == releases[0].outputs


def test_a_confidential_number_of_events_needs_a_public_total():
    made = Synthesizer(epsilon=1.0, expected=EXPECTED, copies=1, total=45, public_n=False)
    release = made.release({"north": 1, "south": 30, "isle": 0})
    assert release.mechanism.n is None
    assert sum(release.outputs[0]) == 45
    added = release.mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE)
    assert added.epsilon <= release.guarantee.epsilon <= 1
    made.release({"north": 0, "south": 0, "isle": 0})


def test_a_random_total_needs_a_delta():
    made = Synthesizer(
        epsilon=1.0, expected=EXPECTED, copies=1, fixed=False, public_n=False, delta=1e-6
    )
    release = made.release({"north": 1, "south": 30, "isle": 0})
    assert release.guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    assert release.guarantee.epsilon <= 1
    assert release.guarantee.delta == 1e-6
    pure = Synthesizer(epsilon=1.0, expected=EXPECTED, fixed=False, public_n=False)
    with pytest.raises(bdp.InvalidInput, match="delta is 0"):
        pure.release({"north": 1, "south": 30, "isle": 0})


def test_a_given_prior_is_taken_as_it_is_or_scaled():
    made = Synthesizer(expected=EXPECTED, prior=30.0, copies=1)
    release = made.release({"north": 1, "south": 8, "isle": 1})
    assert release.mechanism.prior == 30.0
    assert release.guarantee.epsilon >= math.log(1 + 10 / 30)
    scaled = Synthesizer(epsilon=1.0, expected=EXPECTED, prior=[1, 2, 3], copies=1)
    prior = scaled.release({"north": 1, "south": 8, "isle": 1}).mechanism.prior
    assert np.array(prior) / prior[0] == pytest.approx([1, 2, 3])


def test_areas_shrink_towards_their_own_expected_counts():
    """At the same epsilon, small and large areas keep their sizes; 6 standard errors."""
    expected = np.repeat([2.0, 50.0], 10)
    counts = expected.astype(int)
    made = Synthesizer(epsilon=1.0, expected=expected, copies=1)
    with bdp.reproducible(5):
        z = np.array([made.release(counts).outputs[0] for _ in range(20)])
    small = z[:, :10].mean()
    assert abs(small - 2) < 6 * z[:, :10].std() / math.sqrt(200)
    table = bdp.DirichletMultinomialSynthesizer(epsilon=1.0, copies=1)
    with bdp.reproducible(5):
        flat = np.array([table.release(counts=counts).outputs[0] for _ in range(20)])
    assert flat[:, :10].mean() > 10


def test_the_budget_is_spent_first_and_not_on_errors(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("deaths", epsilon=1.5, neighbours="replace_one")
    budget = ledger.dataset("deaths")
    made = Synthesizer(epsilon=1.0, expected=[1.0, 2.0], copies=1)
    with pytest.raises(bdp.InvalidInput):
        made.release([1, 2, 3], ledger=budget)
    assert budget.spent().epsilon == 0
    made.release([1, 2], ledger=budget)
    with pytest.raises(bdp.BudgetExceeded):
        made.release([1, 2], ledger=budget)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"expected": None}, "expected is missing"),
        ({"expected": 3.0}, "two or more"),
        ({"expected": [1.0, -1.0]}, "expected has"),
        ({"copies": 0}, "copies is 0"),
        ({"total": 0}, "total is 0"),
        ({"total": 5, "fixed": False}, "fixed is False"),
        ({"public_n": False}, "total is missing"),
        ({"delta": -1}, "delta is -1"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    with pytest.raises(bdp.InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, "expected": [1.0, 2.0], **wrong})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"north": 1}, "areas aren't those of expected"),
        (["north", "west"], "outside its categories"),
        ({"north": 1.5, "south": 2, "isle": 0}, "whole number"),
        ({"north": -1, "south": 2, "isle": 0}, "whole number"),
        ({"north": 0, "south": 0, "isle": 0}, "no events"),
    ],
)
def test_bad_data_are_refused(data, message):
    with pytest.raises(bdp.InvalidInput, match=message):
        Synthesizer(epsilon=1.0, expected=EXPECTED).release(data)


def test_the_number_of_events_is_asked_for_where_it_matters():
    with pytest.raises(bdp.InvalidInput, match="n is missing"):
        Synthesizer(epsilon=1.0, expected=[1.0, 2.0]).guarantee()
    with pytest.raises(bdp.InvalidInput, match="mapping whose areas"):
        Synthesizer(epsilon=1.0, expected=[1.0, 2.0]).release({"a": 1, "b": 2})
