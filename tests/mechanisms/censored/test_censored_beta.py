"""The censored beta mechanism: its exact epsilon by enumeration, and what it refuses."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import bayesdp as bdp
from bayesdp.mechanisms.censored.beta import CensoredBetaMechanism

RELATIONS = ["add_remove", "replace_one"]
DELICATE = [5e-324, 1e-9, 0.03, 0.3, 0.5, 0.97, 1 - 1e-9, 1 - 2.0**-53]


def made(relation: str = "add_remove", **options) -> CensoredBetaMechanism:
    given_options = {"interval": (-2.0, 2.0), "size": 3, "grid": (4, 4)} | options
    return CensoredBetaMechanism(neighbours=relation, **given_options)


def log_law(mechanism: CensoredBetaMechanism, records) -> np.ndarray:
    """log probabilities of all cells: exact weights, normalised in floating point."""
    law = mechanism.posterior(np.asarray(records))
    cells = itertools.product(*(range(1 << bits) for bits in mechanism.grid))
    weights = [law.log_weight(i, j) for i, j in cells]
    top = max(weights)
    relative = np.array([float(w - top) for w in weights])
    return relative - special.logsumexp(relative)


def found(mechanism: CensoredBetaMechanism, one, other) -> float:
    return float(np.abs(log_law(mechanism, one) - log_law(mechanism, other)).max())


@pytest.mark.parametrize("interval", [(-2.0, 2.0), (-0.5, 0.0), (1.0, 1.25)])
def test_the_epsilon_is_attained_by_a_record_added_or_removed(interval):
    """All mass where the new record counts `low`, and a cell where it counts `high`."""
    mechanism = made(interval=interval)
    usual = [0.3] * 400
    worst = max(found(mechanism, usual, [*usual, y]) for y in DELICATE)
    claim = mechanism.epsilon()
    assert 0.99 * claim < worst <= claim + 1e-12
    assert claim == pytest.approx(interval[1] - interval[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("interval", [(-2.0, 2.0), (-0.5, 0.0), (1.0, 1.25)])
def test_twice_the_epsilon_is_attained_by_a_record_replaced(interval):
    mechanism = made("replace_one", interval=interval)
    usual = [0.3] * 400
    pairs = itertools.combinations([*DELICATE, 0.9, 0.7], 2)
    worst = max(found(mechanism, [*usual, y], [*usual, z]) for y, z in pairs)
    claim = mechanism.epsilon()
    assert 0.99 * claim < worst <= claim + 1e-12
    assert claim == pytest.approx(2 * (interval[1] - interval[0]), rel=1e-6)


records = st.floats(5e-324, 1 - 2.0**-53)


@settings(max_examples=40, deadline=None)
@given(
    data=st.lists(records, min_size=1, max_size=6),
    y=records,
    low=st.floats(-5, 5),
    width=st.floats(1e-3, 8),
    prior=st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)),
)
def test_no_neighbour_costs_more_than_the_claim(data, y, low, width, prior):
    options = {"interval": (low, low + width), "grid": (3, 3), "prior_phi": prior}
    added, replaced = made(**options), made("replace_one", **options)
    assert found(added, data, [*data, y]) <= added.epsilon() + 1e-12
    assert found(replaced, data, [y, *data[1:]]) <= replaced.epsilon() + 1e-12


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_pairs_of_an_audit_are_neighbours_and_costly(relation):
    mechanism = made(relation)
    worst = max(found(mechanism, *pair) for pair in mechanism.pairs())
    assert 0.3 * mechanism.epsilon() < worst <= mechanism.epsilon()
    for one, other in mechanism.pairs():
        assert other.size - one.size == (1 if relation == "add_remove" else 0)


def test_the_epsilon_includes_rounding():
    mechanism = made(interval=(-0.5, 0.5))
    eta = 2.0**-40 * 1002
    assert mechanism.epsilon() >= 1 + 2 * eta
    assert mechanism.epsilon() == pytest.approx(1 + 2 * eta, rel=1e-14)
    assert mechanism.epsilon(neighbours="replace_one") == pytest.approx(2 + 4 * eta, rel=1e-14)
    assert mechanism.epsilon(copies=3) == pytest.approx(3 + 6 * eta, rel=1e-14)


@settings(max_examples=200, deadline=None)
@given(
    epsilon=st.floats(1e-6, 600),
    copies=st.integers(1, 40),
    relation=st.sampled_from(RELATIONS),
    center=st.floats(-1e4, 1e4),
)
def test_calibration_keeps_to_epsilon_and_wastes_little(epsilon, copies, relation, center):
    try:
        mechanism = CensoredBetaMechanism.calibrate(
            epsilon=epsilon, copies=copies, neighbours=relation, center=center, size=1
        )
    except bdp.errors.InvalidInput:
        assert epsilon / copies < 1e-7
        return
    cost = mechanism.guarantee(copies=copies).epsilon
    assert cost <= epsilon
    room = copies * (4 * mechanism.excess + 16 * math.ulp(abs(center) + epsilon))
    assert cost >= epsilon * (1 - 1e-12) - room
    low, high = mechanism.interval
    assert low <= center <= high


def test_an_epsilon_below_rounding_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="rounding alone"):
        CensoredBetaMechanism.calibrate(epsilon=1e-10, size=1)
    with pytest.raises(bdp.errors.InvalidInput, match="rounding alone"):
        CensoredBetaMechanism.calibrate(epsilon=1.0, center=1e30, size=1)


def test_a_public_n_goes_with_replace_one_only():
    mechanism = made("replace_one", n=3)
    assert mechanism.release([0.1, 0.2, 0.3]).shape == (1, 3)
    assert any("number of records" in text for text in mechanism.guarantee().assumptions)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made("add_remove", n=3)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="another number of records"):
        mechanism.release([0.1, 0.2])


def test_records_stay_inside_and_sorted():
    """Shapes near 0, where a beta sampler returns 0 and 1."""
    mechanism = made(size=500, largest=0.11, grid=(3, 1))
    drawn = mechanism.release([0.5], copies=3)
    assert drawn.shape == (3, 500)
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert np.all(np.diff(drawn, axis=1) >= 0)


def test_the_law_is_said_to_be_intractable():
    with pytest.raises(bdp.errors.InvalidInput, match=r"intractable.*combine"):
        made().logp((0.1, 0.2, 0.3), [0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": (2.0, -2.0)}, "interval"),
        ({"interval": (1.0, 1.0)}, "interval"),
        ({"interval": (0.0, math.inf)}, "interval"),
        ({"interval": (-1e308, 1e308)}, "interval"),
        ({"interval": 3.0}, "interval"),
        ({"interval": (0.0, 1.0, 2.0)}, "interval"),
        ({"size": 0}, "size"),
        ({"prior_phi": (0.0, 1.0)}, "prior_phi"),
        ({"prior_phi": (1.0, 1e300)}, "at most 1e6"),
        ({"prior_lambda": (0.1, -1.0)}, "prior_lambda"),
        ({"prior_lambda": (1e-7, 1.0)}, "smallest"),
        ({"largest": 0.1}, "largest"),
        ({"largest": math.nan}, "largest"),
        ({"largest": 1e7}, "largest"),
        ({"grid": (33, 1)}, "grid"),
        ({"grid": (1, -1)}, "grid"),
        ({"grid": (1.5, 1)}, "grid"),
        ({"grid": (True, 1)}, "grid"),
        ({"grid": 5}, "grid"),
        ({"n": 0}, "n is 0"),
        ({"relation": "edge"}, "neighbours"),
        ({"relation": "other"}, "neighbours"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made(**options)


@pytest.mark.parametrize(
    "output", [(0.1, 0.2), (0.1, 0.2, 1.0), (0.0, 0.2, 0.3), (0.1, math.nan, 0.3), (1, 2, 3), 0.5]
)
def test_what_it_cannot_have_released_is_refused(output):
    with pytest.raises(bdp.errors.InvalidInput, match="output has"):
        made().check_output(output)
