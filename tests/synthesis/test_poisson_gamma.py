"""The Poisson-gamma synthesizer: events by area in, counts out, nothing on error."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Synthesizer = bdp.synthesizers.PoissonGammaSynthesizer
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
    with pytest.raises(bdp.errors.InvalidInput, match="delta is 0"):
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
    table = bdp.synthesizers.DirichletMultinomialSynthesizer(epsilon=1.0, copies=1)
    with bdp.reproducible(5):
        flat = np.array([table.release(counts=counts).outputs[0] for _ in range(20)])
    assert flat[:, :10].mean() > 10


def test_the_budget_is_spent_first_and_not_on_errors(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("deaths", epsilon=1.5, neighbours="replace_one")
    budget = ledger.dataset("deaths")
    made = Synthesizer(epsilon=1.0, expected=[1.0, 2.0], copies=1)
    with pytest.raises(bdp.errors.InvalidInput):
        made.release([1, 2, 3], ledger=budget)
    assert budget.spent().epsilon == 0
    made.release([1, 2], ledger=budget)
    with pytest.raises(bdp.errors.BudgetExceeded):
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
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, "expected": [1.0, 2.0], **wrong})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"north": 1}, "areas aren't those of expected"),
        (["north", "west"], "outside its categories"),
        ({"north": 1.5, "south": 2, "isle": 0}, "whole number"),
        ({"north": -1, "south": 2, "isle": 0}, "whole number"),
        ({"north": 0, "south": 0, "isle": 0}, "no events"),
        (pd.Series([1, 2, 3, 4], index=["north", "north", "south", "isle"]), "a label twice"),
        (3.0, "data is a float"),
    ],
)
def test_bad_data_are_refused(data, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(epsilon=1.0, expected=EXPECTED).release(data)


def test_a_series_whose_rows_numbers_may_be_its_areas_is_refused():
    made = Synthesizer(epsilon=1.0, expected={0: 1.0, 1: 2.0, 2: 3.0}, copies=1)
    events = pd.Series([0, 2, 2])
    with pytest.raises(bdp.errors.InvalidInput, match=r"data\.to_dict\(\), or .*data\.tolist\(\)"):
        made.release(events)
    assert made.release(events.tolist()).mechanism.n == 3
    assert made.release(events.to_dict()).mechanism.n == 4
    assert made.release(events.rename_axis("area")).mechanism.n == 4
    assert made.release(pd.Series([0, 2, 2, 1])).mechanism.n == 4


def test_the_number_of_events_is_asked_for_where_it_matters():
    with pytest.raises(bdp.errors.InvalidInput, match="n is missing"):
        Synthesizer(epsilon=1.0, expected=[1.0, 2.0]).guarantee()
    with pytest.raises(bdp.errors.InvalidInput, match="mapping whose areas"):
        Synthesizer(epsilon=1.0, expected=[1.0, 2.0]).release({"a": 1, "b": 2})


# Groups, and areas where no event can be.

BY_SEX = {"men": {"north": 3.0, "south": 40.0, "isle": 0.2}, "women": {"north": 2.0, "south": 30.0}}
DEATHS = {"men": {"north": 4, "south": 33, "isle": 0}, "women": {"north": 1, "south": 20}}


def test_an_area_where_nobody_lives_has_no_events():
    expected = {**EXPECTED, "rock": 0}
    made = Synthesizer(epsilon=2.0, expected=expected, copies=4)
    release = made.release({"north": 5, "south": 31, "isle": 0, "rock": 0})
    assert all(output[3] == 0 for output in release.outputs)
    without = Synthesizer(epsilon=2.0, expected=EXPECTED, copies=4)
    assert release.guarantee == without.guarantee(36)
    with pytest.raises(bdp.errors.InvalidInput, match="in a structural zero"):
        made.release({"north": 5, "south": 31, "isle": 0, "rock": 1})
    scaled = Synthesizer(epsilon=2.0, expected=expected, prior=[1, 2, 3, 7], copies=1)
    assert scaled.release([*["north"] * 3, "isle"]).mechanism.prior[3] == 0
    given = Synthesizer(expected=expected, prior=[1, 2, 3, 7], copies=1)
    assert given.release([*["north"] * 3, "isle"]).mechanism.prior == (1, 2, 3, 0)


def test_groups_of_public_sizes_together_cost_what_one_does(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    budget = ledger.create("deaths", epsilon=1.5, neighbours="replace_one")
    made = Synthesizer(epsilon=1.0, expected=BY_SEX, copies=2)
    release = made.release(DEATHS, ledger=budget)
    assert release.by == "group"
    assert budget.spent().epsilon == release.guarantee.epsilon <= 1
    assert release.guarantee == made.guarantee({"men": 37, "women": 21})
    assert [part.mechanism.guarantee(copies=2).epsilon for part in release.parts] == pytest.approx(
        [1, 1]
    )
    frame = release.to_frames()[0]
    assert frame.groupby("group")["count"].sum().to_dict() == {"men": 37, "women": 21}
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release


def test_events_with_their_groups_are_counted():
    areas = ["north"] * 5 + ["south"] * 3
    by = pd.Series(["men", "women", "men", "women", "women", "men", "men", "women"], name="sex")
    made = Synthesizer(epsilon=1.0, expected=BY_SEX, copies=1)
    with bdp.reproducible(3):
        release = made.release(areas, by=by)
    assert release.by == "sex"
    counts = {"men": {"north": 2, "south": 2, "isle": 0}, "women": {"north": 3, "south": 1}}
    with bdp.reproducible(3):
        same = made.release(counts)
    assert [part.outputs for part in release] == [part.outputs for part in same]


def test_a_group_without_events_does_not_show_where_sizes_are_confidential():
    made = Synthesizer(
        epsilon=1.0, expected=BY_SEX, copies=1, public_n=False, total={"men": 40, "women": 20}
    )
    release = made.release({**DEATHS, "women": {"north": 0, "south": 0}})
    assert [sum(part.outputs[0]) for part in release] == [40, 20]
    assert release.guarantee == made.guarantee()
    assert 0.995 < release.guarantee.epsilon <= 1
    free = Synthesizer(
        epsilon=1.0, expected=BY_SEX, copies=1, public_n=False, fixed=False, delta=1e-6
    )
    promise = free.release(DEATHS).guarantee
    assert promise.neighbours is bdp.Neighbours.ADD_REMOVE
    assert (promise.epsilon <= 1, promise.delta) == (True, 1e-6)


def groups_law(release: bdp.Release, data: tuple[int, ...]) -> np.ndarray:
    """log Pr of all outputs of two groups of two possible areas each."""
    each = []
    for part, x in zip(release.parts, (data[:2], data[2:]), strict=True):
        full = (*x, 0) if len(part.mechanism.expected) == 3 else x
        each.append(part.mechanism.logp(part.mechanism.outputs(), full))
    return np.add.outer(*each).ravel()


@pytest.mark.parametrize("public", [True, False])
def test_the_promise_of_groups_is_that_of_their_joint_law(public):
    """Data sets of up to four events: one replaced within its group, or moved to any other."""
    made = Synthesizer(
        epsilon=1.4,
        expected={"m": [0.5, 3.0, 0.0], "w": [1.0, 2.0]},
        copies=1,
        total=3,
        public_n=public,
    )
    if public:
        release = made.release({"m": [1, 1, 0], "w": [0, 2]})
        sets = [(i, 2 - i, j, 2 - j) for i in range(3) for j in range(3)]
    else:
        release = made.release({"m": [1, 0, 0], "w": [0, 2]})
        sets = [s for s in np.ndindex(4, 4, 4, 4) if sum(s) <= 4]
    laws = {data: groups_law(release, data) for data in sets}
    worst = {True: 0.0, False: 0.0}
    for one, law in laws.items():
        for i, j in np.ndindex(4, 4):
            other = list(one)
            other[i] -= 1
            other[j] += 1
            if i != j and tuple(other) in laws:
                apart = np.abs(law - laws[tuple(other)]).max()
                worst[i // 2 == j // 2] = max(worst[i // 2 == j // 2], apart)
    promise = release.guarantee.epsilon
    assert max(worst.values()) <= promise <= 1.4
    if public:
        assert worst[True] > 0.8 * promise
    else:
        # To change group costs more, which is why it is charged.
        assert promise >= worst[False] > worst[True]
        assert worst[False] > 0.8 * promise


@pytest.mark.parametrize(
    ("data", "by", "message"),
    [
        ({"men": {"north": 1, "south": 1, "isle": 1}}, None, "of the groups of expected"),
        (DEATHS, ["men"], "by is given with counts"),
        (["north", "south"], None, "of the groups of expected"),
        (["north", "south"], ["men"], "as long as data"),
        (["north", "south"], ["men", None], "missing values"),
        (["north", "south"], ["men", "dog"], "other groups than expected"),
        (["north", "isle"], ["men", "women"], "outside its categories"),
        ({**DEATHS, "women": {"north": 0, "south": 0}}, None, "a group has no events"),
    ],
)
def test_bad_groups_are_refused(data, by, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(epsilon=1.0, expected=BY_SEX).release(data, by=by)


def test_totals_and_sizes_are_of_the_groups():
    with pytest.raises(bdp.errors.InvalidInput, match="give each group's"):
        Synthesizer(epsilon=1.0, expected=BY_SEX, total={"men": 3})
    with pytest.raises(bdp.errors.InvalidInput, match="total is 0"):
        Synthesizer(epsilon=1.0, expected=BY_SEX, total={"men": 3, "women": 0})
    with pytest.raises(bdp.errors.InvalidInput, match="n has groups"):
        Synthesizer(epsilon=1.0, expected=BY_SEX).guarantee({"men": 3})
    with pytest.raises(bdp.errors.InvalidInput, match="expected has no groups"):
        Synthesizer(epsilon=1.0, expected=EXPECTED).release(["north"], by=["men"])
