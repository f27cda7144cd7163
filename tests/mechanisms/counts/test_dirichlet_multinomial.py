"""The Dirichlet-multinomial mechanism: its exact epsilon by enumeration, and what it refuses."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism as Table
from bayesdp.privacy.profile import hockey_stick

ADD_REMOVE = bdp.Neighbours.ADD_REMOVE
CASES = [
    (1, 1, (1.0, 1.0, 1.0)),
    (2, 3, (0.5, 4.0, 1.5)),
    (3, 2, (2.0, 0.25, 3.0, 0.75)),
    (4, 4, (1.5, 2.5)),
    (1, 5, (1e-3, 3.0, 2.0)),
]


def tables(total: int, k: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(total + 1), repeat=k) if sum(c) == total]


def log_laws(n: int, size: int, prior: tuple[float, ...]) -> dict[tuple[int, ...], list[mp.mpf]]:
    """Every data set's law, by its formula in 40 digits."""
    found = {}
    for x in tables(n, len(prior)):
        a = [mp.mpf(p) + c for p, c in zip(prior, x, strict=True)]
        found[x] = [
            mp.log(mp.factorial(size) / mp.fprod(map(mp.factorial, z)))
            + mp.log(mp.fprod(mp.rf(b, y) for b, y in zip(a, z, strict=True)))
            - mp.log(mp.rf(mp.fsum(a), size))
            for z in tables(size, len(prior))
        ]
    return found


def largest(laws, others, distance: int) -> mp.mpf:
    return max(
        p - q
        for x, y in itertools.product(laws, others)
        if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == distance
        for p, q in zip(laws[x], others[y], strict=True)
    )


@pytest.mark.parametrize(("n", "size", "prior"), CASES)
def test_replace_one_epsilon_is_exact(n, size, prior):
    with mp.workdps(40):
        laws = log_laws(n, size, prior)
        truth = float(largest(laws, laws, 2))
    claim = Table(n, size, len(prior), prior).guarantee().epsilon
    assert truth <= claim <= truth * (1 + 1e-12)


@pytest.mark.parametrize(("size", "prior"), [(s, p) for _, s, p in CASES])
def test_add_remove_epsilon_is_the_supremum_over_n(size, prior):
    made = Table(None, size, len(prior), prior)
    claim = made.guarantee(neighbours=ADD_REMOVE).epsilon
    with mp.workdps(40):
        laws = [log_laws(n, size, prior) for n in range(4)]
        added = max(largest(laws[n + 1], laws[n], 1) for n in range(3))
        removed = max(largest(laws[n], laws[n + 1], 1) for n in range(3))
        # Approached as the records elsewhere grow: all of a copy in the smallest cell.
        total, least = mp.mpf(10) ** 15, mp.mpf(min(prior))
        ratio = mp.log((least + size) / least) + mp.log(total / (total + size))
    assert float(added) <= claim
    assert float(removed) == pytest.approx(made.removal_guarantee().epsilon, rel=1e-12)
    assert claim == pytest.approx(float(ratio), rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.05, 20), min_size=2, max_size=4), st.integers(1, 3), st.integers(1, 4))
def test_no_two_data_sets_exceed_the_claim(prior, n, size):
    made = Table(None, size, len(prior), prior)
    outputs = np.array(tables(size, len(prior)))
    laws = {x: made.logp(outputs, np.array(x)) for x in tables(n, len(prior))}
    epsilon = made.guarantee().epsilon
    for x, y in itertools.permutations(laws, 2):
        if np.abs(np.subtract(x, y)).sum() == 2:
            assert np.max(laws[x] - laws[y]) <= epsilon * (1 + 1e-11) + 1e-12


@pytest.mark.parametrize("prior", [(1.5, 1.0, 2.0, 4.0), (2.0, 3.0)])
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
def test_a_confidential_n_has_the_profile_of_one_record(prior, epsilon):
    """No number of records has a larger delta, and n = 1 attains it."""
    size, k = 3, len(prior)
    claim = Table(None, size, k, prior).delta(epsilon)
    found = []
    for n in range(1, 4):
        public = Table(n, size, k, prior)
        outputs = np.array(tables(size, k))
        laws = {x: public.logp(outputs, np.array(x)) for x in tables(n, k)}
        found.append(
            max(
                hockey_stick(laws[x], laws[y], epsilon)
                for x, y in itertools.permutations(laws, 2)
                if np.abs(np.subtract(x, y)).sum() == 2
            )
        )
        assert found[-1] == pytest.approx(public.delta(epsilon), rel=1e-8)
    assert max(found) == found[0] == pytest.approx(claim, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("proportions", [None, (3.0, 0.0, 1.0, 0.7)])
def test_calibration_is_tight_and_on_the_safe_side(epsilon, copies, proportions):
    made = Table.calibrate(
        n=60, size=60, cells=4, epsilon=epsilon, copies=copies, proportions=proportions, zeros=(1,)
    )
    claim = made.guarantee(copies=copies).epsilon
    with mp.workdps(60):
        true = copies * mp.log(1 + 60 / mp.mpf(float(made.alpha.min())))
        assert true <= mp.mpf(epsilon)
        assert true > epsilon * (1 - mp.mpf(10) ** -12)
    assert float(true) <= claim <= epsilon
    if proportions:
        assert made.prior[1] == 0
        assert made.prior[0] / made.prior[2] == pytest.approx(3)


def test_a_delta_allows_a_smaller_prior():
    known = {"n": None, "size": 50, "cells": 1000, "epsilon": 1.0, "copies": 2}
    pure, approximate = (Table.calibrate(delta=d, **known) for d in (0.0, 1e-6))
    assert approximate.prior < 0.75 * pure.prior
    promise = approximate.guarantee(copies=2, delta=1e-6)
    assert promise.epsilon <= 1
    assert promise.delta <= 1e-6
    smaller = Table(None, 50, 1000, approximate.prior * (1 - 1e-6))
    assert smaller.guarantee(copies=2, delta=1e-6).epsilon > 1


def test_the_profile_is_the_conjugate_releases_own():
    prior = (2.0, 5.0, 1.0, 3.0, 0.5)
    conjugate = bdp.mechanisms.ConjugateMechanism("categorical", "synthetic_one", 7, prior, 6)
    made = Table(7, 6, 5, prior)
    for epsilon in (0.0, 0.5, 2.0):
        assert made.delta(epsilon) == pytest.approx(conjugate.delta(epsilon), rel=1e-12)
    assert made.epsilon() == conjugate.epsilon(0)
    assert made.logp((6, 0, 0, 0, 0), (0, 7, 0, 0, 0)) == conjugate.logp(
        (6, 0, 0, 0, 0), (0, 7, 0, 0, 0)
    )
    assert made.pld().get_delta_for_epsilon(1.0) >= made.delta(1.0)


def test_more_records_than_a_profile_sums_keep_the_pure_epsilon():
    made = Table.calibrate(n=None, size=10**9, cells=3, epsilon=1.0, delta=1e-6)
    assert made.guarantee(delta=1e-6).delta == 0
    assert made.guarantee(delta=1e-6).epsilon <= 1
    assert made.delta(1.0) == 0  # as its pure epsilon is no more
    with pytest.raises(bdp.errors.InvalidInput, match="size is 1000000000"):
        made.delta(0.9)


def test_structural_zeros_are_outside_of_the_law():
    made = Table(4, 3, 4, 1.5, zeros=(2,))
    x = np.array([1, 2, 0, 1])
    outputs = np.array(tables(3, 4))
    law = made.logp(outputs, x)
    assert np.all(np.isneginf(law[outputs[:, 2] > 0]))
    assert math.fsum(np.exp(law)) == pytest.approx(1, abs=1e-12)
    assert not made.release(x, 500)[:, 2].any()
    assert made.guarantee().epsilon == Table(4, 3, 3, 1.5).guarantee().epsilon
    with pytest.raises(bdp.errors.InvalidInput, match="structural zero"):
        made.release(np.array([1, 2, 1, 0]))
    with pytest.raises(bdp.errors.InvalidInput, match="structural zeros"):
        made.check_output((1, 1, 1, 0))


def test_law_is_vectorised_over_the_statistic():
    made = Table(None, 2, 3, 0.5)
    x = np.array(tables(2, 3))
    together = made.logp((1, 1, 0), x)
    assert together.shape == (6,)
    assert together.tolist() == [float(made.logp((1, 1, 0), one)) for one in x]


def test_synthetic_records_are_the_counts():
    axes = (Axis("c", categories=("a", "b")), Axis("x", edges=(0, 1, 3)))
    made = Table(None, 5, 4, 1.0, axes=axes)
    shown = made.synthetic((1, 0, 2, 2), np.random.default_rng(1))
    assert shown["c"].tolist() == ["a", "b", "b", "b", "b"]
    assert (shown["x"] < 1).tolist() == [True, True, True, False, False]
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't say what its cells are"):
        Table(None, 5, 4, 1.0).synthetic((1, 0, 2, 2), np.random.default_rng(1))


GOOD = {"n": 5, "size": 3, "cells": 3, "prior": 1.0}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"size": 0}, "size is 0"),
        ({"size": 2**38 + 1}, "at most"),
        ({"cells": 1}, "at least 2 cells"),
        ({"cells": 2.5}, "cells is 2.5"),
        ({"prior": 0.0}, "prior is 0.0"),
        ({"prior": (1.0, 2.0)}, "prior is"),
        ({"prior": (1.0, 2.0, 0.0)}, "prior has"),
        ({"prior": (1.0, 2.0, math.inf)}, "prior has"),
        ({"prior": ("1", 2.0, 1.0)}, "prior is"),
        ({"prior": (1.0, 2.0, 1.0), "zeros": (1,)}, "prior has"),
        ({"zeros": (0, 1)}, "at least 2 cells"),
        ({"zeros": (3,)}, "from 0 to 2"),
        ({"zeros": (0.5,)}, "zeros is"),
        ({"zeros": 1}, "zeros is"),
        ({"axes": (Axis("c", categories=("a", "b")),)}, "cells is 3"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Table(**{**GOOD, **wrong})


@pytest.mark.parametrize(
    "statistic", [(1, 2), (1, 2, 3), (5.0, 0.0, 0.0), (-1, 3, 3), ((5, 0, 0), (0, 5, 0)), "abc"]
)
def test_a_wrong_statistic_is_refused_without_its_values(statistic):
    with pytest.raises(bdp.errors.InvalidInput) as caught:
        Table(**GOOD).check_statistic(statistic)
    assert "(1, 2" not in str(caught.value)


def test_relations_never_mix():
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        Table(**GOOD).guarantee(neighbours=ADD_REMOVE)
    with pytest.raises(bdp.errors.InvalidInput, match="neighbours is 'edge'"):
        Table(**GOOD).guarantee(neighbours=bdp.Neighbours.EDGE)
