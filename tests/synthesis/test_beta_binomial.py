"""The synthesizer: what it releases and promises, alone and by group, and what it refuses."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.mechanisms import randomness


@pytest.fixture
def nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int):
        raise AssertionError("randomness was spent")

    monkeypatch.setattr(randomness, "random_words", refuse)


def test_the_signature_of_the_tutorial():
    release = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=5, size=None).release(
        bdp.Count(38, 100)
    )
    assert release.copies == 5
    assert release.mechanism.size == release.mechanism.n == 100
    a = 100 / math.expm1(2.0 / 5)
    assert release.mechanism.prior == pytest.approx((a, a), rel=1e-12)
    guarantee = release.guarantee
    assert guarantee.strength is bdp.Strength.PROVED
    assert guarantee.neighbours is bdp.Neighbours.REPLACE_ONE
    assert guarantee.epsilon == pytest.approx(2.0, rel=1e-12)
    assert guarantee.epsilon <= 2.0


@pytest.mark.parametrize(
    "data",
    [
        [0, 1, 1, 0],
        np.array([False, True, True, False]),
        pd.Series([0.0, 1.0, 1.0, 0.0]),
        pd.Series([0, 1, 1, 0], dtype="Int64"),
        pd.Series([False, True, True, False], dtype="boolean"),
        bdp.Count(2, 4),
    ],
)
def test_every_form_of_data_is_the_same(data):
    synthesizer = bdp.BetaBinomialSynthesizer(1.0)
    with bdp.reproducible(1):
        expected = synthesizer.release([0, 1, 1, 0])
    with bdp.reproducible(1):
        assert synthesizer.release(data) == expected


def test_releases_differ_and_seeded_ones_do_not():
    synthesizer = bdp.BetaBinomialSynthesizer(1.0, size=1000)
    data = np.arange(1000) % 2
    assert synthesizer.release(data) != synthesizer.release(data)
    with bdp.reproducible(9):
        first = synthesizer.release(data)
    with bdp.reproducible(9):
        assert synthesizer.release(data) == first
    assert first.reproducible
    assert not synthesizer.release(data).reproducible


def test_groups_keep_their_order_and_counts():
    frame = pd.DataFrame({"answer": [1, 0, 1, 1, 0, 0], "region": ["b", "a", "b", "a", "b", "b"]})
    release = bdp.BetaBinomialSynthesizer(1.0).release(frame["answer"], by=frame["region"])
    assert release.groups == ("a", "b")
    assert [part.mechanism.n for part in release.parts] == [2, 4]
    assert (release.by, release.variable) == ("region", "answer")
    for ordered, groups in ((True, ("b", "a")), (False, ("a", "b"))):
        ranks = pd.Series(pd.Categorical(frame["region"], ["b", "a"], ordered=ordered))
        found = bdp.BetaBinomialSynthesizer(1.0).release(frame["answer"], by=ranks)
        assert found.groups == groups


def test_public_groups_compose_in_parallel():
    counts = {"a": bdp.Count(3, 10), "b": bdp.Count(30, 200)}
    release = bdp.BetaBinomialSynthesizer(1.5, copies=2).release(counts)
    assert release.guarantee.epsilon == pytest.approx(1.5, rel=1e-12)
    assert "public and not protected" in release.guarantee.assumptions[0]


def grouped_epsilon_by_enumeration(mechanisms, most_records: int) -> mp.mpf:
    """Worst log ratio over all pairs of two-group data sets that differ in one record.

    Each group's counts are (ones, zeros); a neighbour moves one record between groups or
    changes its answer, and the outputs of the two groups are independent.
    """
    states = [(x, y) for x in range(most_records + 1) for y in range(most_records + 1 - x)]
    laws = []
    for mechanism in mechanisms:
        a, b = map(mp.mpf, mechanism.prior)
        m = mechanism.size
        laws.append(
            {
                (x, y): [
                    mp.log(mp.binomial(m, z))
                    + mp.log(mp.beta(a + x + z, b + y + m - z) / mp.beta(a + x, b + y))
                    for z in range(m + 1)
                ]
                for x, y in states
            }
        )

    def worst(law, before, after):
        if before not in law or after not in law:
            return None
        return max(q - p for p, q in zip(law[before], law[after], strict=True))

    largest = mp.mpf(0)
    steps = [(1, 0), (0, 1)]
    for (first, second), out, into in product([(0, 1), (1, 0)], steps, steps):
        leave = [worst(laws[first], s, (s[0] - out[0], s[1] - out[1])) for s in states]
        join = [worst(laws[second], s, (s[0] + into[0], s[1] + into[1])) for s in states]
        swap = [
            worst(laws[first], s, (s[0] - out[0] + into[0], s[1] - out[1] + into[1]))
            for s in states
        ]
        both = max(v for v in leave if v is not None) + max(v for v in join if v is not None)
        largest = max(largest, both, *(v for v in swap if v is not None))
    return largest


def test_confidential_groups_charge_a_record_that_moves():
    """The claim covers every move between groups of up to 12 records, and is approached."""
    synthesizer = bdp.BetaBinomialSynthesizer(
        1.0, copies=1, size=3, public_n=False, groups=["a", "b"]
    )
    release = synthesizer.release({"a": bdp.Count(2, 5), "b": bdp.Count(0, 0)})
    claim = release.guarantee.epsilon
    assert claim == pytest.approx(1.0, rel=1e-12)
    assert claim <= 1.0
    mechanisms = [part.mechanism for part in release.parts]
    truth = [grouped_epsilon_by_enumeration(mechanisms, k) for k in (3, 12)]
    assert truth[0] < truth[1] < claim
    t = 3 / mechanisms[0].prior[0]
    assert math.log1p(t) + math.log1p(t / 2) == pytest.approx(1.0, rel=1e-12)
    assert "its group are both protected" in release.guarantee.assumptions[0]


def test_unequal_confidential_groups_charge_the_worst_move():
    parts = {
        "a": (bdp.mechanisms.BetaBinomialMechanism(None, 2, (0.5, 3.0)), [1]),
        "b": (bdp.mechanisms.BetaBinomialMechanism(None, 4, (2.0, 1.0)), [1]),
    }
    release = bdp.Release.of_groups(parts)
    expected = max(
        math.log1p(2 / 3.5) + math.log1p(4 / 1.0), math.log1p(4 / 3.0) + math.log1p(2 / 0.5)
    )
    assert release.guarantee.epsilon == pytest.approx(expected, rel=1e-12)
    truth = grouped_epsilon_by_enumeration([m for m, _ in parts.values()], 14)
    assert truth < release.guarantee.epsilon


def test_groups_without_records_are_released_where_n_is_confidential():
    synthesizer = bdp.BetaBinomialSynthesizer(1.0, size=9, public_n=False, groups=["x", "y", "z"])
    release = synthesizer.release([1, 0, 1], by=["y", "y", "x"])
    assert release.groups == ("x", "y", "z")


def test_an_asymmetric_prior_reports_its_exact_epsilon():
    synthesizer = bdp.BetaBinomialSynthesizer(prior=(2.0, 9.0), copies=3, size=10)
    release = synthesizer.release([0, 1, 0])
    assert release.mechanism.prior == (2.0, 9.0)
    assert release.guarantee.epsilon == pytest.approx(3 * math.log1p(10 / 2.0), rel=1e-12)
    assert synthesizer.guarantee(3) == release.guarantee


def test_the_guarantee_is_known_before_any_data():
    synthesizer = bdp.BetaBinomialSynthesizer(0.7, copies=4)
    assert synthesizer.guarantee(55) == synthesizer.release(bdp.Count(5, 55)).guarantee
    sizes = {"a": 5, "b": 9}
    counts = {"a": bdp.Count(1, 5), "b": bdp.Count(1, 9)}
    assert synthesizer.guarantee(sizes) == synthesizer.release(counts).guarantee
    hidden = bdp.BetaBinomialSynthesizer(0.7, size=4, public_n=False, groups="ab")
    assert hidden.guarantee() == hidden.release(counts).guarantee
    with pytest.raises(bdp.errors.InvalidInput, match="n is missing"):
        synthesizer.guarantee()


@pytest.mark.usefixtures("nothing_is_drawn")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "empty"),
        ([0, 1, 2], "other than 0 and 1"),
        ([0, -1], "other than 0 and 1"),
        ([0.5, 1], "other than 0 and 1"),
        (["0", "1"], "other than 0 and 1"),
        (pd.Series(["0", "1"], dtype=object), "other than 0 and 1"),
        (np.array([b"0", 1], dtype=object), "other than 0 and 1"),
        ([0, 1, math.nan], "missing"),
        ([0, None], "missing"),
        (pd.Series([1, pd.NA], dtype="Int64"), "missing"),
        (pd.Series([True, pd.NA], dtype="boolean"), "missing"),
        ([0, pd.NA], "missing"),
        (np.ma.masked_array([0, 1], mask=[0, 1]), "missing"),
        ([[0, 1], [1, 0]], "2 dimensions"),
        (pd.Series(["yes", "no"]), "recode"),
        (bdp.Count(0, 0), "n = 0"),
        ({}, "empty"),
        ({"a": bdp.Count(0, 0)}, "n = 0"),
        ({"a": [0, 1]}, "must be a Count"),
        (math.inf, "0 dimensions"),
    ],
)
def test_bad_data_are_refused_before_anything_is_drawn(data, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.BetaBinomialSynthesizer(1.0).release(data)


@pytest.mark.usefixtures("nothing_is_drawn")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": -1.0}, "epsilon is -1"),
        ({"epsilon": math.inf}, "epsilon is inf"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"epsilon": "2"}, "epsilon is '2'"),
        ({"epsilon": True}, "epsilon is True"),
        ({"prior": ("1", "1")}, "prior is"),
        ({}, "epsilon is missing"),
        ({"epsilon": 1, "copies": 0}, "copies is 0"),
        ({"epsilon": 1, "copies": 2.0}, "copies is 2.0"),
        ({"epsilon": 1, "size": 0}, "size is 0"),
        ({"epsilon": 1, "public_n": False}, "size is missing"),
        ({"prior": (1, 0)}, "prior is"),
        ({"epsilon": 0.1, "prior": (1, 1)}, "costs epsilon"),
        ({"epsilon": 1, "groups": ["a"]}, "by is not"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.BetaBinomialSynthesizer(**options).release([0, 1])


@pytest.mark.usefixtures("nothing_is_drawn")
@pytest.mark.parametrize(
    ("options", "by", "message"),
    [
        ({}, ["a", "b"], "as long as data"),
        ({}, ["a", None, "b"], "missing values"),
        ({}, [1.0, math.nan, 2.0], "missing values"),
        ({}, [(1,), (2,), (3,)], "one column"),
        ({}, list(pd.to_datetime(["2020", "2021", "2022"])), "labels are"),
        ({"groups": ["a", "a"]}, ["a", "a", "a"], "once"),
        ({}, [True, 1, False], "mixes True or False with the number 1 or 0"),
        ({}, [1, "1", 1], "two groups have labels that are one text"),
        ({"groups": [1]}, ["1", "1", "1"], "one text, as 1 and '1' are"),
        ({"groups": ["a"]}, ["a", "b", "a"], "outside the listed"),
        ({"groups": ["a", "b", "c"]}, ["a", "b", "a"], "no records"),
        ({"public_n": False, "size": 5}, ["a", "b", "a"], "groups is missing"),
    ],
)
def test_bad_groups_are_refused(options, by, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.BetaBinomialSynthesizer(1.0, **options).release([0, 1, 1], by=by)


@pytest.mark.parametrize(
    ("successes", "n", "message"),
    [(3, 2, "between 0 and"), (-1, 2, "between 0 and"), (1.0, 2, "integer"), ("1", 2, "integer")],
)
def test_bad_counts_are_refused(successes, n, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.Count(successes, n)


def test_errors_never_show_the_data():
    for data in ([0, 1, 7919], bdp.Count):
        with pytest.raises(bdp.errors.InvalidInput) as caught:
            bdp.Count(7919, 5) if data is bdp.Count else bdp.BetaBinomialSynthesizer(1.0).release(
                data
            )
        assert "7919" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1.5, None, True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(bdp.errors.InvalidInput, match="seed is"), bdp.reproducible(seed):
        pass
