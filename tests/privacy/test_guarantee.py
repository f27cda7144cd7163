"""Guarantees: their ranges, how they read, and how they compose."""

import dataclasses
import math
from fractions import Fraction

import pytest

import bayesdp as bdp
from bayesdp.privacy.composition import one_record_moves, parallel, repeated


def guarantee(epsilon: float = 1.0, delta: float = 0.0) -> bdp.Guarantee:
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours.REPLACE_ONE, bdp.Strength.PROVED, (), "a test"
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (-1, 0, "epsilon is -1"),
        (math.nan, 0, "epsilon is nan"),
        (1, -0.1, "delta is -0.1"),
        (1, 1.1, "delta is 1.1"),
        (1, math.nan, "delta is nan"),
    ],
)
def test_ranges(epsilon, delta, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        guarantee(epsilon, delta)


def test_names_are_what_they_name(tmp_path):
    """A claim that is only published may not pass a ledger because its strength is a text."""
    named = bdp.Guarantee(1.0, 0.0, "replace_one", "as_published", (), "a test")
    assert named.neighbours is bdp.Neighbours.REPLACE_ONE
    assert named.strength is bdp.Strength.AS_PUBLISHED
    assert str(named) == "epsilon = 1 (replace_one, as_published)"
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    account = ledger.create("s", epsilon=4.0, neighbours="replace_one")
    with pytest.raises(bdp.errors.InvalidInput, match="only as published"):
        account.spend(named)
    made = bdp.mechanisms.CensoredBetaMechanism.calibrate(epsilon=1.0, size=10)
    assert str(made.guarantee(neighbours="replace_one")) == "epsilon = 2 (replace_one, proved)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"neighbours": "friends"}, "neighbours is 'friends'; it must be one of"),
        ({"neighbours": None}, "neighbours is None"),
        ({"strength": "certain"}, "strength is 'certain'; it must be one of"),
        ({"strength": True}, "strength is True"),
    ],
)
def test_other_names_are_refused(change, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        dataclasses.replace(guarantee(), **change)


@pytest.mark.parametrize("rho", [-0.1, math.nan, math.inf, "0.1", True])
def test_rho_is_checked(rho):
    with pytest.raises(bdp.errors.InvalidInput, match="rho is"):
        dataclasses.replace(guarantee(), rho=rho)
    assert dataclasses.replace(guarantee(), rho=0).rho == 0
    assert guarantee().rho is None


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (1.2345671e-310, "1.23457e-310"),
        (2.0, "2"),
        (2.0000000000000004, "2"),
        (1.23456749, "1.23457"),
        (1.2345611, "1.23457"),
        (0.012345611, "0.0123457"),
        (123456.1, "123457"),
        (0.9538499, "0.95385"),
        (0.0, "0"),
        (math.inf, "inf"),
    ],
)
def test_it_never_reads_better_than_it_is(epsilon, shown):
    assert str(guarantee(epsilon)) == f"epsilon = {shown} (replace_one, proved)"
    assert float(shown) >= epsilon * (1 - 1e-12)


def test_delta_is_shown_where_there_is_one():
    assert "delta = 1e-06" in str(guarantee(1, 1e-6))
    assert "delta = 1.01e-06" in str(guarantee(1, 1.001e-6))


@pytest.mark.parametrize("cost", [0.1, 1 / 3, 0.7, 2.3, 1e-300])
@pytest.mark.parametrize("times", [1, 3, 7, 1001])
def test_costs_repeat_to_the_next_float_at_least(cost, times):
    total = repeated(cost, times)
    assert Fraction(math.nextafter(total, 0)) < times * Fraction(cost) <= Fraction(total)


def test_parallel_is_the_largest():
    assert parallel([0.5, 2.0, 1.0]) == 2.0


@pytest.mark.parametrize(
    ("within", "addition", "removal", "expected"),
    [
        ([1.0, 1.0], [0.5, 0.7], [0.3, 0.1], 1.0),
        ([1.0, 1.0], [1.0, 1.0], [0.6, 0.6], 1.6),
        ([1.0, 2.0], [1.0, 2.0], [0.4, 1.5], 2.5),
        ([3.0], [3.0], [2.0], 3.0),
    ],
)
def test_a_move_pays_for_both_ends_but_not_within_one_part(within, addition, removal, expected):
    cost = one_record_moves(within, addition, removal)
    assert expected <= cost <= expected * (1 + 1e-15)
