"""Choices among candidates: law and privacy by enumeration, exact draws, what is refused."""

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
from bayesdp.mechanisms.selection import exponential, permute_and_flip
from bayesdp.mechanisms.selection.utilities import exact_exponent, exponents

FAMILIES = [bdp.mechanisms.ExponentialMechanism, bdp.mechanisms.PermuteAndFlipMechanism]
family = pytest.mark.parametrize("made", FAMILIES)
utilities = st.lists(st.floats(-30, 30), min_size=2, max_size=7)


def true_law(mechanism, u) -> list[mp.mpf]:
    """By definition: weights; or all orders of visit, by the sets that come before a candidate."""
    rate = mp.mpf(mechanism.rate.numerator) / mechanism.rate.denominator
    p = [mp.exp(rate * (mp.mpf(v) - mp.mpf(max(u)))) for v in u]
    if isinstance(mechanism, bdp.mechanisms.ExponentialMechanism):
        return [v / mp.fsum(p) for v in p]
    k, law = len(p), []
    for i in range(k):
        others = [p[j] for j in range(k) if j != i]
        total = mp.mpf(0)
        for size in range(k):
            orders = mp.factorial(size) * mp.factorial(k - 1 - size) / mp.factorial(k)
            for before in itertools.combinations(others, size):
                total += orders * mp.fprod(1 - v for v in before)
        law.append(p[i] * total)
    return law


@family
@settings(max_examples=40, deadline=None)
@given(u=utilities, epsilon=st.floats(0.01, 20), monotone=st.booleans())
def test_the_law_is_that_of_the_definition(made, u, epsilon, monotone):
    mechanism = made(epsilon, 0.75, len(u), monotone)
    with mp.workdps(60):
        truth = [float(mp.log(p)) for p in true_law(mechanism, u)]
    found = mechanism.logp(np.arange(len(u)), u)
    assert found == pytest.approx(truth, rel=1e-12, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 97, 1000, 5000])
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_permute_and_flip_is_right_for_thousands_of_candidates(k: int, spread: float):
    """Against the product's own coefficients where all are alike, and mpmath's quadrature."""
    u = -spread * np.random.default_rng(k).random(k)
    mechanism = bdp.mechanisms.PermuteAndFlipMechanism(2.0, 1, k)
    found = mechanism.logp(np.arange(k), u)
    assert math.fsum(np.exp(found)) == pytest.approx(1, abs=1e-12)
    if spread == 0:
        assert found == pytest.approx(np.full(k, -math.log(k)), abs=1e-13 * math.log(k))
    elif k <= 1000:
        p = np.exp(u - u.max())
        with mp.workdps(25):
            others = [mp.mpf(v) for v in p[1:]]
            ends = [0, *(min(1, c / p.sum()) for c in (4, 16, 50)), 1]
            integral = mp.quad(lambda t: mp.fprod(1 - t * v for v in others), sorted(set(ends)))
            truth = float(mp.log(mp.mpf(p[0]) * integral))
        assert found[0] == pytest.approx(truth, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(u=utilities, epsilon=st.floats(0.01, 20))
def test_permute_and_flip_loses_no_more_than_the_exponential_mechanism(u, epsilon):
    """McKenna and Sheldon (2020), Theorem 2."""
    u = np.array(u)
    loss = [
        np.sum(np.exp(made(epsilon, 1.0, len(u)).logp(np.arange(len(u)), u)) * (u.max() - u))
        for made in FAMILIES
    ]
    assert loss[1] <= loss[0] * (1 + 1e-12) + 1e-12


def largest_log_ratio(mechanism, starts, moves) -> float:
    outputs = np.arange(mechanism.k)[:, None, None]
    before, moved = starts[:, None], starts[:, None] + np.asarray(moves)
    return np.max(np.abs(mechanism.logp(outputs, before) - mechanism.logp(outputs, moved)))


@family
@pytest.mark.parametrize("monotone", [False, True])
def test_epsilon_is_the_supremum_over_all_extreme_changes(made, monotone):
    """Under add/remove; and replace-one, a removal and an addition, costs exactly twice that."""
    epsilon, s, k = 0.8, 0.5, 3
    mechanism = made(epsilon, s, k, monotone)
    ends = [(0, 1), (-1, 0)] if monotone else [(-1, 0, 1)]
    steps = [s * np.array(d) for e in ends for d in itertools.product(e, repeat=k)]
    starts = s * np.array(list(itertools.product((0, 1, 3, 100), repeat=k)))
    worst = largest_log_ratio(mechanism, starts, steps)
    assert worst <= epsilon * (1 + 1e-13)
    assert worst == pytest.approx(epsilon, rel=1e-9)
    down, up = (steps[8:], steps[:8]) if monotone else (steps, steps)
    twice = [d + e for d in down for e in up]
    worst = largest_log_ratio(mechanism, starts, np.unique(twice, axis=0))
    claim = mechanism.guarantee(neighbours=bdp.Neighbours.REPLACE_ONE).epsilon
    assert claim == 2 * epsilon
    assert worst <= claim * (1 + 1e-13)
    assert worst == pytest.approx(claim, rel=1e-9)


@family
def test_taking_utilities_as_monotone_where_they_are_not_is_convicted(made):
    mechanism = made(1.0, 1, 3, monotone=True)
    one, other = np.array([0.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0])
    with bdp.reproducible(1):
        found = bdp.audit(mechanism, trials=100_000, pairs=[(one, other)])
    assert found.convicted
    assert found.epsilon_lower > 1.2


@family
def test_draws_follow_the_law_for_many_candidates_and_a_batch(made):
    """Chi-square on 200,000 draws, false alarm below 1e-8; few left to accept, and many rows."""
    k, copies = 60, 100_000
    u = np.stack([np.arange(k) / 8, -np.arange(k) % 7.0])
    mechanism = made(1.0, 0.5, k)
    with bdp.reproducible(4):
        drawn = mechanism.release(u, copies)
    assert drawn.shape == (copies, 2)
    for row in (0, 1):
        expected = copies * np.exp(mechanism.logp(np.arange(k), u[row]))
        seen = np.bincount(drawn[:, row], minlength=k)
        distance = np.sum((seen - expected) ** 2 / expected)
        assert stats.chi2.sf(distance, k - 1) > 1e-8


@family
def test_draws_come_in_blocks_and_the_rare_winner_is_found(made, monkeypatch):
    monkeypatch.setattr(exponential, "_BLOCK", 64)
    monkeypatch.setattr(permute_and_flip, "_BLOCK", 64)
    u = np.zeros(500)
    u[123] = 1e4
    assert set(made(1.0, 1, 500).release(u, 300).tolist()) == {123}
    assert made(1.0, 1, 500).release(np.zeros((3, 2, 500)), 7).shape == (7, 3, 2)


@pytest.mark.parametrize(
    "u",
    [
        np.array([2**63 - 1, -(2**63), 0]),
        np.array([2**64 - 1, 0, 2**63], dtype=np.uint64),
        np.array([1.7e308, -1.7e308, 0.0]),
        np.array([1e16, 1e16 + 2, 3.0]),
        np.array([0.1, 0.3, 5e-324]),
        np.array([2**53 + 1, 2**53, 2**53 - 1]),
    ],
)
@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1e-308), Fraction(1e-16), Fraction(1, 3)])
def test_exponents_are_near_the_exact_ones(u, rate):
    for i, gamma in enumerate(exponents(u, rate).tolist()):
        exact = exact_exponent(u, i, rate)
        assert exact == rate * (max(map(Fraction, u.tolist())) - Fraction(u.tolist()[i]))
        assert gamma == pytest.approx(float(min(exact, Fraction(1e300))), rel=1e-15, abs=1e-15)


@family
def test_huge_gaps_are_drawn_and_evaluated(made):
    mechanism = made(1.0, 1e-3, 3)
    u = [1.7e308, -1.7e308, 1.7e308]
    assert set(mechanism.release(u, 200).tolist()) == {0, 2}
    assert np.exp(mechanism.logp([0, 1, 2], u)) == pytest.approx([0.5, 0, 0.5])


@family
def test_integers_and_floats_of_the_same_value_are_the_same(made):
    mechanism = made(1.0, 1, 3)
    for kind in (np.int8, np.uint16, np.int64, np.float32, np.float64):
        u = np.array([3, 100, 98], dtype=kind)
        assert mechanism.logp(np.arange(3), u) == pytest.approx(
            mechanism.logp([0, 1, 2], [3, 100, 98])
        )


@family
def test_the_law_is_vectorised_over_outputs_and_utilities(made):
    mechanism = made(1.0, 1, 4)
    u = np.random.default_rng(0).normal(size=(5, 6, 4))
    law = mechanism.logp(np.arange(4)[:, None, None], u)
    assert law.shape == (4, 5, 6)
    assert np.exp(law).sum(axis=0) == pytest.approx(np.ones((5, 6)), abs=1e-13)
    assert law[2, 1, 3] == pytest.approx(float(mechanism.logp(2, u[1, 3])))
    assert np.isneginf(mechanism.logp([-1, 4, 0.5], u[0, 0])).all()


@family
def test_copies_cost_their_exact_sum_rounded_up(made):
    claim = made(0.1, 1, 2).guarantee(copies=3).epsilon
    assert Fraction(claim) >= 3 * Fraction(0.1)
    assert claim == pytest.approx(0.3)


@family
def test_labels_are_shown(made):
    mechanism = made(1.0, 1, ["bus", "car"])
    assert mechanism == made(1.0, 1, ("bus", "car"))
    assert mechanism.records(1).tolist() == ["car"]
    assert made(1.0, 1, 3).labels == (0, 1, 2)
    frames = bdp.Release.of(mechanism, [1, 0]).to_frames()
    assert [frame["value"].tolist() for frame in frames] == [["car"], ["bus"]]


@family
def test_the_promise_names_what_is_assumed(made):
    mechanism = made(1.0, 2, 3, monotone=True)
    assert "No utility moves by more than 2" in mechanism.guarantee().assumptions[0]
    assert "one direction" in mechanism.guarantee().assumptions[0]
    public = made(1.0, 2, 3, n=10, neighbours="replace_one").guarantee()
    assert any("number of records is public" in line for line in public.assumptions)


@family
def test_an_audit_proposes_true_neighbours(made):
    rng = np.random.default_rng(5)
    for monotone in (False, True):
        mechanism = made(0.7, 0.3, 3, monotone)
        pair = mechanism.pairs()[0]
        for _ in range(200):
            pair = mechanism.nearby(pair, rng)
            moves = [Fraction(b) - Fraction(a) for a, b in zip(*pair, strict=True)]
            assert max(map(abs, moves)) <= Fraction(0.3)
            assert not monotone or min(moves) >= 0 or max(moves) <= 0


@family
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": math.inf}, "epsilon is inf"),
        ({"sensitivity": -1}, "sensitivity is -1"),
        ({"sensitivity": 1e-309}, "too large for a float"),
        ({"candidates": 1}, "candidates is 1"),
        ({"candidates": True}, "candidates is True"),
        ({"candidates": 2.5}, "candidates is 2.5"),
        ({"candidates": math.nan}, "candidates is nan"),
        ({"candidates": ("a",)}, "candidates is"),
        ({"candidates": ("a", "a")}, "different labels"),
        ({"candidates": ("a", None)}, "different labels"),
        ({"candidates": (math.inf, 1)}, "finite numbers"),  # which no manifest keeps
        ({"candidates": ("a", "\ud800")}, "different labels"),
        ({"candidates": "ab"}, "different labels"),
        ({"monotone": 1}, "monotone is 1"),
        ({"n": 0, "neighbours": "replace_one"}, "n is 0"),
        ({"n": 5}, "n is 5, public"),
        ({"neighbours": "edge"}, "neighbours is 'edge'"),
        ({"neighbours": "near"}, "neighbours is 'near'"),
        ({"neighbours": "replace_one", "monotone": True}, "monotone is True, but"),
    ],
)
def test_wrong_parameters_are_named(made, change, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made(**{"epsilon": 1.0, "sensitivity": 1.0, "candidates": 3, **change})


@family
def test_wrong_statistics_and_outputs_are_named(made):
    mechanism = made(1.0, 1, 3)
    for wrong in ([1, 2], 5, ["a", "b", "c"], [True, False, True], [1j, 2, 3]):
        with pytest.raises(
            bdp.errors.InvalidInput, match="one number, a utility, for each of the 3"
        ):
            mechanism.release(wrong)
    for wrong in ([0, 1, math.inf], [0.0, math.nan, 1]):
        with pytest.raises(bdp.errors.InvalidInput, match="not finite"):
            mechanism.logp(0, wrong)
    for wrong in (-1, 3, 1.0, "0", [1], True):
        with pytest.raises(bdp.errors.InvalidInput, match="an integer from 0 to 2"):
            mechanism.check_output(wrong)
    replaced = made(1.0, 1, 3, neighbours="replace_one")
    with pytest.raises(bdp.errors.InvalidInput, match="from which nothing follows"):
        replaced.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="copies is 0"):
        mechanism.guarantee(copies=0)
