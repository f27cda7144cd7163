"""Randomized response: exact privacy and draws, calibration on the safe side, what is refused."""

import decimal
import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.response_matrix import LARGEST_SUM, log_up, unlike_rows


@st.composite
def matrices(draw, least: int = 0):
    k = draw(st.integers(2, 4))
    row = st.lists(st.integers(least, 30), min_size=k, max_size=k).filter(any)
    return tuple(tuple(r) for r in draw(st.lists(row, min_size=k, max_size=k)))


def exact_rows(weights) -> list[list[Fraction]]:
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def true_epsilon(weights) -> mp.mpf:
    rows = exact_rows(weights)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    return mp.log(mp.mpf(worst.numerator) / worst.denominator)


def true_delta(weights, epsilon: float) -> mp.mpf:
    factor = mp.exp(mp.mpf(epsilon))
    rows = [[mp.mpf(p.numerator) / p.denominator for p in row] for row in exact_rows(weights)]
    return max(
        mp.fsum(max(p - factor * q, 0) for p, q in zip(a, b, strict=True))
        for a, b in itertools.permutations(rows, 2)
    )


@settings(max_examples=80, deadline=None)
@given(weights=matrices(least=1))
def test_pure_epsilon_is_exact_and_rounded_up(weights):
    claim = bdp.mechanisms.RandomizedResponseMechanism(weights).epsilon()
    with mp.workdps(50):
        truth = true_epsilon(weights)
        assert truth <= claim
        assert math.nextafter(claim, 0) < truth or claim == 0


@settings(max_examples=30, deadline=None)
@given(weights=matrices(), epsilon=st.floats(0, 5))
def test_the_profile_is_the_worst_pair_of_rows(weights, epsilon):
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(weights)
    with mp.workdps(50):
        truth = true_delta(weights, epsilon)
        found = mechanism.delta(epsilon)
        assert truth <= found
        assert found <= truth * (1 + 1e-9) + 1e-12
        if 0 < found < 1:
            back = mechanism.epsilon(found)
            assert true_delta(weights, back) <= found
            assert back <= epsilon * (1 + 1e-9) + 1e-9


def test_the_smallest_epsilon_is_found_where_delta_is_flat():
    """From log 3 on, delta is 1/8: the answer that the last category alone gives."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((0, 1, 1), (0, 1, 1), (1, 1, 6)))
    assert mechanism.delta(1.5) == mechanism.delta(2.5)
    assert mechanism.epsilon(mechanism.delta(2.0)) == pytest.approx(math.log(3), rel=1e-9)


def test_just_below_the_pure_epsilon_delta_is_not_understated():
    """There the terms are differences of nearly equal numbers."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 5)
    pure = mechanism.epsilon()
    with mp.workdps(60):
        for step in (1, 2, 10, 1000):
            epsilon = pure - step * 2.0**-53
            assert mechanism.delta(epsilon) >= true_delta(mechanism.weights, epsilon)
    assert mechanism.delta(pure) == 0


@settings(max_examples=30, deadline=None)
@given(weights=matrices(least=1), n=st.integers(1, 3))
def test_a_record_costs_the_same_among_any_number(weights, n):
    """Enumerated: all data sets of n records and all replacements of one of them."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(weights, n)
    outputs, k = mechanism.outputs(), mechanism.k
    data = np.array(list(itertools.product(range(k), repeat=n)))
    law = mechanism.logp(outputs[:, None, :], data)
    one_differs = np.count_nonzero(data[:, None] != data, axis=-1) == 1
    gaps = np.abs(law[:, :, None] - law[:, None, :]).max(axis=0)
    claim = mechanism.guarantee().epsilon
    assert gaps[one_differs].max() <= claim * (1 + 1e-12) + 1e-13
    assert gaps[one_differs].max() == pytest.approx(claim, rel=1e-12, abs=1e-13)
    assert np.exp(law).sum(axis=0) == pytest.approx(np.ones(len(data)), abs=1e-12)


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3])
def test_copies_keep_their_promise(copies: int, delta: float):
    """All outputs of the copies together, both orders of each pair of rows."""
    impossible = int(delta < 0.3)  # an answer of the first category, unless delta allows it
    weights = ((50, 10, impossible), (20, 30, 1), (30, 30, 2))
    claim = bdp.mechanisms.RandomizedResponseMechanism(weights).guarantee(
        copies=copies, delta=delta
    )
    assert claim.delta <= delta
    rows = exact_rows(weights)
    with mp.workdps(40):
        factor = mp.exp(mp.mpf(claim.epsilon))
        for a, b in itertools.permutations(rows, 2):
            p, q = ([math.prod(v) for v in itertools.product(r, repeat=copies)] for r in (a, b))
            excess = mp.fsum(
                max(mp.mpf(x.numerator) / x.denominator - factor * y.numerator / y.denominator, 0)
                for x, y in zip(p, q, strict=True)
            )
            assert excess <= delta + (mp.mpf(10) ** -35 if delta == 0 else 0)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.7, 1.0, 5.0, 20.0, 40.0, 43.5, 800.0])
@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("copies", [1, 7])
def test_calibration_is_tight_and_on_the_safe_side(epsilon: float, k: int, copies: int):
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.calibrate(
        epsilon=epsilon, categories=k, copies=copies
    )
    assert mechanism.guarantee(copies=copies).epsilon <= epsilon
    with mp.workdps(60):
        true = copies * true_epsilon(mechanism.weights)
        assert true <= epsilon
        if epsilon / copies < 42:
            assert true >= epsilon * (1 - mp.mpf(10) ** -9)
        else:
            assert true > copies * 42
    assert len(unlike_rows(mechanism.weights)) == 1


def test_shorthands_are_calibrations():
    assert bdp.mechanisms.RandomizedResponseMechanism.binary(
        0.9, n=5
    ) == bdp.mechanisms.RandomizedResponseMechanism.calibrate(epsilon=0.9, n=5)
    three = bdp.mechanisms.RandomizedResponseMechanism.kary(0.9, 3)
    truth = math.exp(0.9) / (math.exp(0.9) + 2)
    assert three.matrix.diagonal() == pytest.approx(np.full(3, truth), rel=1e-14)
    assert three.matrix.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-15)


def test_probabilities_are_taken_exactly():
    pair = bdp.mechanisms.RandomizedResponseMechanism.of((0.1, 0.75))
    assert exact_rows(pair.weights) == [
        [Fraction(0.1), 1 - Fraction(0.1)],
        [Fraction(1, 4), Fraction(3, 4)],
    ]
    thirds = bdp.mechanisms.RandomizedResponseMechanism.of(
        [[Fraction(1, 3), Fraction(2, 3)], [0, 1]]
    )
    assert thirds.weights == ((1, 2), (0, 1))
    assert bdp.mechanisms.RandomizedResponseMechanism.of(np.eye(3)).weights == (
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    )


def test_a_logarithm_is_rounded_up():
    with mp.workdps(100):
        for ratio in (Fraction(3), Fraction(10**18 + 1, 10**18), Fraction(2**62), Fraction(1)):
            bound = log_up(ratio)
            true = mp.log(mp.mpf(ratio.numerator) / ratio.denominator)
            assert true <= bound
            assert ratio == 1 or math.nextafter(bound, 0) < true
    assert decimal.getcontext().prec == 28  # nothing global was touched


def test_the_identity_promises_nothing_and_a_constant_everything():
    identity = bdp.mechanisms.RandomizedResponseMechanism(((1, 0), (0, 1)))
    assert math.isinf(identity.guarantee(delta=0.5).epsilon)
    assert identity.guarantee(delta=0.5).delta == 1
    assert "tells the two apart" in identity.guarantee().assumptions[-1]
    constant = bdp.mechanisms.RandomizedResponseMechanism(((1, 3), (2, 6)))
    assert constant.guarantee().epsilon == 0
    assert constant.delta(0.0) == 0
    leaky = bdp.mechanisms.RandomizedResponseMechanism(((99, 1), (100, 0)))
    assert math.isinf(leaky.epsilon())
    assert math.isfinite(leaky.epsilon(0.02))
    assert leaky.guarantee(copies=2).delta == pytest.approx(0.02)


def test_answers_follow_each_records_row():
    """Chi-square for each category among a million records, false alarm below 1e-8."""
    weights = ((7, 1, 0), (1, 1, 1), (0, 2, 3))
    records = np.random.default_rng(0).integers(0, 3, 1_000_000)
    answers = bdp.mechanisms.RandomizedResponseMechanism(weights, records.size).release(records)[0]
    assert answers.dtype == np.int8
    for category, row in enumerate(weights):
        seen = np.bincount(answers[records == category], minlength=3)
        possible = np.array(row) > 0
        assert not seen[~possible].any()
        expected = seen.sum() * np.array(row)[possible] / sum(row)
        distance = np.sum((seen[possible] - expected) ** 2 / expected)
        assert stats.chi2.sf(distance, possible.sum() - 1) > 1e-8


def test_each_copy_and_row_of_a_batch_has_its_own_records():
    identity = bdp.mechanisms.RandomizedResponseMechanism(
        tuple(tuple(r) for r in np.eye(200, dtype=int)), n=5
    )
    records = np.random.default_rng(0).integers(0, 200, (4, 3, 5))
    drawn = identity.release(records, copies=2)
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn, np.broadcast_to(records, (2, 4, 3, 5)))


def test_the_law_is_vectorised_over_data_sets():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 2)), n=2)
    data = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    law = mechanism.logp((0, 1), data)
    assert np.exp(law) == pytest.approx([3 / 16, 1 / 2, 1 / 12, 2 / 9])
    assert np.isneginf(mechanism.logp([[2, 0], [-1, 1], [0.5, 0]], [0, 0])).all()


def test_pairs_are_of_every_kind_and_searches_stay_among_neighbours():
    assert unlike_rows(((3, 1), (1, 3))) == ((0, 1),)
    assert unlike_rows(((2, 1, 1), (1, 2, 1), (1, 1, 1))) == ((0, 1), (0, 2))
    assert unlike_rows(((1, 1), (2, 2))) == ((0, 1),)
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((2, 1, 1), (1, 2, 1), (1, 1, 1)), n=3)
    rng, pair = np.random.default_rng(0), mechanism.pairs()[1]
    assert pair[0].tolist() == [0, 0, 0]
    assert pair[1].tolist() == [2, 0, 0]
    for _ in range(50):
        pair = mechanism.nearby(pair, rng)
        assert np.count_nonzero(pair[0] != pair[1]) == 1


def test_many_records_are_not_enumerated_but_audited():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, n=1000)
    assert mechanism.outputs() is None
    with bdp.reproducible(0):
        assert not bdp.audit(mechanism, trials=2000).convicted


@pytest.mark.parametrize(
    "weights",
    [
        ((1, 2),),
        ((1,),),
        ((1, 2), (3,)),
        ((1, 2, 3), (1, 2, 3)),
        ((1, -1), (1, 1)),
        ((0, 0), (1, 1)),
        ((1.0, 2), (1, 1)),
        ((True, 2), (1, 1)),
        ((LARGEST_SUM, 1), (1, 1)),
        5,
        None,
        "ab",
    ],
)
def test_wrong_weights_are_named(weights):
    with pytest.raises(bdp.errors.InvalidInput, match="square matrix of whole numbers"):
        bdp.mechanisms.RandomizedResponseMechanism(weights)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (((0.1, 0.8, 0.1), (0, 1, 0), (0, 0, 1)), "exact sum is 1 "),
        (((0.5, 0.6), (0.5, 0.5)), r"exact sum is 1 \+0.1"),
        ((1e-30, 0.5), "common denominator, about 2"),
        ((1.5, 0.5), "probabilities is"),
        ((math.nan, 0.5), "probabilities is"),
        (((math.inf, 0), (0, 1)), "probabilities is"),
        (((None, 1), (0, 1)), "probabilities is"),
        (3, "probabilities is 3"),
        (((1,),), "square matrix"),
    ],
)
def test_wrong_probabilities_are_named(probabilities, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.RandomizedResponseMechanism.of(probabilities)


def test_what_is_refused():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, n=2)
    for wrong in (1, [0], [0.0, 1.0], [[0, 1, 1]], [True, False]):
        with pytest.raises(bdp.errors.InvalidInput, match="n = 2 records"):
            mechanism.release(wrong)
    for wrong in ([0, 2], [-1, 0]):
        with pytest.raises(bdp.errors.InvalidInput, match=r"outside 0\.\.1; recode"):
            mechanism.logp([0, 0], wrong)
    for wrong in (0, [0], [0, 2], [0.0, 1.0], [True, False], [[0, 1]]):
        with pytest.raises(bdp.errors.InvalidInput, match="n = 2 integers from 0 to 1"):
            mechanism.check_output(wrong)
    for call in (
        lambda: mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE),
        mechanism.removal_guarantee,
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="their number shows"):
            call()
    with pytest.raises(bdp.errors.InvalidInput, match="every copy"):
        mechanism.decode({"copy": [0, 0], "record": [0, 0], "answer": [1, 1]})
    with pytest.raises(bdp.errors.InvalidInput, match="n is 0"):
        bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, n=0)
    with pytest.raises(bdp.errors.InvalidInput, match="categories is 1"):
        bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 1)
    with pytest.raises(bdp.errors.InvalidInput, match="epsilon is 0"):
        bdp.mechanisms.RandomizedResponseMechanism.binary(0)
    with pytest.raises(bdp.errors.InvalidInput, match="ask for a larger epsilon"):
        bdp.mechanisms.RandomizedResponseMechanism.binary(1e-20)
