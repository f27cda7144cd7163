"""Noisy weighted counts: sensitivity and promise by enumeration, rounding, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts import weighted_counts
from bayesdp.mechanisms.counts.weighted_counts import steps_of, sums_by_cell

R, A = bdp.Neighbours.REPLACE_ONE, bdp.Neighbours.ADD_REMOVE
TWO = [{"name": "y", "categories": ("a", "b")}]
ONE = [{"name": "y", "categories": ("a",)}]
K, STEPS = 2, 8


def made(axes=TWO, max_weight=1.0, scale=1.0, **fields) -> bdp.mechanisms.WeightedCountsMechanism:
    return bdp.mechanisms.WeightedCountsMechanism(axes, max_weight, scale, **fields)


def moves(relation: bdp.Neighbours, most: int, sums=sums_by_cell) -> np.ndarray:
    """All that a unit of up to that many records moves, or that a record's replacement moves."""
    records = itertools.product(range(K), range(STEPS + 1))
    each = [sums(np.array([cell]), np.array([u]), K, STEPS) for cell, u in records]
    if relation is R:
        return np.array([one - other for one in each for other in each])
    units = [u for m in range(most + 1) for u in itertools.combinations_with_replacement(each, m)]
    return np.array([np.sum(unit, axis=0) if unit else 0 * each[0] for unit in units])


@pytest.mark.parametrize(("relation", "most"), [(A, 1), (A, 2), (R, 1)])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_sensitivity_is_what_is_proved_and_no_less(relation, most, noise):
    mechanism = made(n=5 if relation is R else None, most=most, noise=noise, steps=STEPS)
    order = 1 if noise == "laplace" else 2
    largest = np.linalg.norm(moves(relation, most), order, axis=1).max()
    claimed = mechanism._noise.sensitivity
    assert largest <= claimed <= largest * (1 + 1e-15)
    attained = [np.subtract(one, other) for one, other in mechanism.pairs()]
    assert max(np.linalg.norm(move, order) for move in attained) == largest


def test_squares_in_place_of_the_rest_would_cost_twice_as_much():
    """So the check of the sensitivity convicts."""

    def squares(cells, u, k, steps):
        found = sums_by_cell(cells, u, k, steps)
        return np.concatenate([found[:k], found[:k] - found[k:]])

    assert (
        np.abs(moves(A, 1, squares)).sum(axis=1).max() == 2 * made(steps=STEPS)._noise.sensitivity
    )


def test_the_rest_is_the_weight_less_its_square_rounded_up():
    for u in range(STEPS + 1):
        total, rest = sums_by_cell(np.array([0]), np.array([u]), 1, STEPS)
        assert total == u
        assert total - rest == math.ceil(u * u / STEPS)


def test_records_add_up():
    rng = np.random.default_rng(1)
    cells, u = rng.integers(0, 3, 40), rng.integers(0, 17, 40)
    alone = [sums_by_cell(cells[[i]], u[[i]], 3, 16) for i in range(40)]
    assert sums_by_cell(cells, u, 3, 16).tolist() == np.sum(alone, axis=0).tolist()


@pytest.mark.parametrize(("fields", "epsilon"), [({}, 1.3), ({"n": 3}, 1.3), ({"most": 2}, 1.3)])
def test_the_promise_holds_for_all_moves_and_is_attained(fields, epsilon):
    """The log ratio of Laplace noise is largest far out, where it is the sum of all moves."""
    mechanism = bdp.mechanisms.WeightedCountsMechanism.calibrate(
        epsilon=epsilon, axes=TWO, max_weight=3.0, steps=STEPS, **fields
    )
    start = np.array([200, 200, 100, 100])
    far = np.array([*itertools.product((0, 400), (0, 400), (0, 400), (0, 400))])
    near = start + np.unique(moves(mechanism.neighbours, mechanism.most), axis=0)[:, None]
    ratio = np.abs(mechanism.logp(far, near) - mechanism.logp(far, start)).max()
    claimed = mechanism.guarantee().epsilon
    assert 0.999999 * claimed < ratio <= claimed * (1 + 1e-12)
    assert claimed == pytest.approx(epsilon, rel=1e-9)
    assert claimed <= epsilon


def test_an_audit_acquits():
    with bdp.reproducible(1):
        assert not bdp.audit(made(scale=0.5), trials=2000).convicted


def test_promises_in_numbers():
    assert made(scale=2.0).guarantee().epsilon == 0.5
    assert made(scale=2.0).guarantee(neighbours=R).epsilon == 1.0
    assert made(scale=2.0, n=9).guarantee().epsilon == 1.0
    assert made(scale=2.0, most=3).guarantee().epsilon == 1.5
    assert made(scale=2.0, n=9, noise="gaussian").rho() == pytest.approx(2 / (2 * 4))
    words = " ".join(made(most=3, clip=True, max_weight=40.0).guarantee().assumptions)
    for part in ("at most 3 records", "counted as 40", "doesn't depend on other records"):
        assert part in words
    assert "are refused" in " ".join(made().guarantee().assumptions)


def test_weights_are_rounded_each_by_itself():
    weights = np.array([0.0, 0.49, 0.51, 3.0, 7.9, 8.0, 1e300])
    assert steps_of(weights, 8.0, 8).tolist() == [0, 0, 1, 3, 8, 8, 8]
    alone = [int(steps_of(weights[[i]], 8.0, 8)[0]) for i in range(weights.size)]
    assert steps_of(weights, 8.0, 8).tolist() == alone


def test_sums_are_shown_in_weights():
    mechanism = made(max_weight=4.0, steps=8)
    shown = mechanism.records((8, 12, 0, 6))
    assert shown["y"].tolist() == ["a", "b"]
    assert shown["weighted_count"].tolist() == [4.0, 6.0]
    assert shown["squared_weights"].tolist() == [16.0, 12.0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"axes": ()}, "axes is"),
        ({"max_weight": 0}, "max_weight is 0"),
        ({"max_weight": math.inf}, "max_weight is inf"),
        ({"scale": -1}, "scale is -1"),
        ({"weights": "y"}, "weights is 'y'"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
        ({"most": 0}, "most is 0"),
        ({"n": 5, "most": 2}, "keep n confidential"),
        ({"clip": 1}, "clip is 1"),
        ({"steps": 12}, "steps is 12"),
        ({"steps": 2**21}, "power of two"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        made(**fields)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        ([7.5, 0, 0, 0], "whole numbers"),
        ([7, 0, 77, 0], "no weights have"),
        ([7, 0, -77, 0], "no weights have"),
        ([7, 7], "must hold 4"),
        ([[7, 7, 0, 0]], "one statistic"),
    ],
)
def test_bad_statistics_are_refused_without_their_values(sums, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        bdp.publish(made(), sums)
    assert "7" not in str(raised.value)


def test_a_million_records_of_the_largest_weight_are_summed_exactly():
    n = 1_000_000
    sums = sums_by_cell(np.zeros(n, np.int64), np.full(n, weighted_counts.STEPS), 1, 2**20)
    assert sums.tolist() == [n * 2**20, 0]
    mechanism = made(ONE)
    assert mechanism.check_statistic(sums).tolist() == sums.tolist()
