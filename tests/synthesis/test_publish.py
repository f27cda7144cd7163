"""Check, pay, draw: in this order, for any mechanism."""

import numpy as np
import pytest

import bayesdp as bdp

MECHANISM = bdp.mechanisms.BetaBinomialMechanism(n=10, size=8, prior=(20.0, 20.0))


@pytest.fixture
def survey(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    return ledger.create("survey", epsilon=1.0, neighbours="replace_one")


def test_it_spends_what_the_release_promises(survey):
    release = bdp.publish(MECHANISM, bdp.Count(3, 10), copies=2, variable="ill", ledger=survey)
    assert release.copies == 2
    assert release.variable == "ill"
    assert release.guarantee.strength is bdp.Strength.PROVED
    (entry,) = survey.history()
    assert entry.epsilon == release.guarantee.epsilon
    assert entry.released["copies"] == 2


@pytest.mark.parametrize(
    "statistic",
    [3, None, bdp.Count(3, 11), bdp.Count([3, 4], [10, 10])],
    ids=["a number", "nothing", "another n", "two counts"],
)
def test_a_statistic_that_it_cant_take_costs_nothing(survey, statistic):
    with pytest.raises(bdp.errors.InvalidInput):
        bdp.publish(MECHANISM, statistic, ledger=survey)
    assert survey.history() == []


def test_nothing_is_drawn_that_cant_be_paid(survey, monkeypatch):
    drawn = []
    monkeypatch.setattr(bdp.mechanisms.BetaBinomialMechanism, "release", lambda *a: drawn.append(a))
    with pytest.raises(bdp.errors.BudgetExceeded):
        bdp.publish(MECHANISM, bdp.Count(3, 10), copies=20, ledger=survey)
    assert drawn == []


def test_a_promise_of_nothing_is_refused_by_the_ledger(survey):
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="reproducible"):
        bdp.publish(MECHANISM, bdp.Count(3, 10), ledger=survey)
    assert survey.history() == []


@pytest.mark.parametrize("name", [5, ["ill"], b"ill", "\ud800", "a\0"])
def test_a_name_that_no_manifest_has_costs_nothing(survey, name):
    with pytest.raises(bdp.errors.InvalidInput, match=r"variable is .* a column's name, a text"):
        bdp.publish(MECHANISM, bdp.Count(3, 10), variable=name, ledger=survey)
    assert survey.history() == []


@pytest.mark.parametrize("label", [float("inf"), "\ud800", "a\0", ("a", 1)])
def test_a_label_that_no_manifest_has_costs_nothing(survey, label):
    by = np.empty(2, dtype=object)
    by[:] = ["a", label]
    with pytest.raises(bdp.errors.InvalidInput, match="group label is of type"):
        bdp.BetaBinomialSynthesizer(epsilon=0.5).release([0, 1], by=by, ledger=survey)
    with pytest.raises(bdp.errors.InvalidInput, match="categories of column"):
        bdp.synthesizers.DirichletMultinomialSynthesizer(0.5, categories={"x": ["a", label]})
    assert survey.history() == []


def test_a_masked_statistic_costs_nothing(survey):
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, dimension=2, neighbours="replace_one", n=5)
    for statistic in (np.ma.array([1, 2], mask=[True, False]), np.ma.array([1, 2], mask=True)):
        with pytest.raises(bdp.errors.InvalidInput, match="none of them masked"):
            bdp.publish(noise, statistic, ledger=survey)
    with pytest.raises(bdp.errors.InvalidInput, match="none of it masked"):
        bdp.Count(np.ma.array([1, 2], mask=[True, False]), [3, 4])
    assert survey.history() == []
