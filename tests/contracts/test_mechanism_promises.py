"""What every mechanism promises: no pair of neighbours exceeds it, and copies add up."""

import importlib.util
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.privacy.profile import hockey_stick
from tests.contracts.examples import COMPUTABLE, EXAMPLES, LISTED, each
from tests.contracts.examples.example import Example

DISTRIBUTIONAL = [e for e in EXAMPLES if e.mechanism.name == "exact_statistic"]


def with_neighbours(examples: Sequence[Example]) -> list[Example]:
    """Those that promise under a neighbouring relation: all but the distributional ones."""
    return [example for example in examples if example not in DISTRIBUTIONAL]


@each(DISTRIBUTIONAL)
def test_an_exact_statistic_promises_nothing_about_neighbours(example: Example):
    mechanism: Any = example.mechanism
    assert mechanism.neighbours is None
    assert mechanism.guarantee(copies=3, delta=0.1) == mechanism.promise
    assert mechanism.outputs() is None
    assert not list(mechanism.pairs())
    for attempt in (
        lambda: mechanism.guarantee(neighbours="add_remove"),
        mechanism.removal_guarantee,
        lambda: bdp.audit(mechanism, trials=100, pairs=example.pairs),
        lambda: bdp.compose([mechanism]),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="distributional"):
            attempt()
    for one, other in example.pairs:
        assert mechanism.logp(mechanism.release(one)[0], other) == -math.inf


@each(EXAMPLES)
def test_its_proof_is_where_its_source_says(example: Example):
    source = example.mechanism.guarantee(delta=example.delta).source
    for module in re.findall(r"bayesdp(?:\.\w+)+", source):
        assert importlib.util.find_spec(module) is not None


@each(with_neighbours(LISTED))
def test_no_neighbour_costs_more_than_it_claims(example: Example):
    """The hockey-stick divergence at the claimed epsilon is within the claimed delta."""
    guarantee = example.mechanism.guarantee(delta=example.delta)
    for one, other in example.pairs:
        for p, q in ((one, other), (other, one)):
            log_p, log_q = example.law(p), example.law(q)
            found = hockey_stick(log_p, log_q, guarantee.epsilon)
            assert found <= guarantee.delta + 1e-13
            if guarantee.delta == 0:
                assert np.nanmax(log_p - log_q) <= guarantee.epsilon * (1 + 1e-12)


@each(with_neighbours(LISTED))
def test_no_neighbour_costs_more_than_its_profile(example: Example):
    """At any epsilon, as its guarantee is one point of it."""
    profile = example.mechanism.profile()
    for one, other in example.pairs:
        log_p, log_q = example.law(one), example.law(other)
        for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0):
            most = profile.delta(epsilon) * (1 + 1e-9) + 1e-13
            assert hockey_stick(log_p, log_q, epsilon) <= most
            assert hockey_stick(log_q, log_p, epsilon) <= most


@each(with_neighbours(EXAMPLES))
def test_its_profile_says_what_its_guarantee_does(example: Example):
    """For several copies too; the profile may be the looser of the two where both are bounds."""
    mechanism = example.mechanism
    for copies in (1, 3):
        guarantee = mechanism.guarantee(copies=copies)
        pure = mechanism.profile(copies=copies).epsilon(0.0)
        assert pure == pytest.approx(guarantee.epsilon, rel=1e-9)
        if callable(mechanism.epsilon):  # of some it is a parameter
            assert mechanism.epsilon(copies=copies) == pure


@each(with_neighbours(EXAMPLES))
def test_its_profile_is_as_good_as_its_guarantee(example: Example):
    """At the guarantee's epsilon its delta is no larger, but for how far equations are solved."""
    mechanism = example.mechanism
    for copies in (1, 3):
        claim = mechanism.guarantee(copies=copies, delta=0.01)
        found = mechanism.profile(copies=copies).delta(claim.epsilon)
        assert found <= claim.delta * (1 + 1e-3) + 1e-13


@pytest.mark.slow
@each(with_neighbours(COMPUTABLE))
def test_an_audit_acquits_it_and_tries_the_worst_pair(example: Example):
    mechanism = example.mechanism
    with bdp.reproducible(3):
        found = bdp.audit(mechanism, trials=20_000, delta=example.delta)
        assert found.impossible == found.departures == 0
    assert not found.convicted
    if found.epsilon_exact is not None:
        claim = mechanism.guarantee(delta=example.delta).epsilon
        if example.loose:
            assert 0.1 * claim < found.epsilon_exact < claim
        else:
            assert found.epsilon_exact == pytest.approx(claim, rel=1e-9)


@each(with_neighbours(EXAMPLES))
def test_copies_cost_more_and_the_promise_names_its_relation(example: Example):
    mechanism, delta = example.mechanism, example.delta
    one = mechanism.guarantee(delta=delta)
    three = mechanism.guarantee(copies=3, delta=delta)
    assert one.epsilon < three.epsilon
    if one.delta == 0:
        assert three.epsilon == pytest.approx(3 * one.epsilon)
    assert one.delta <= delta
    assert one.neighbours is mechanism.neighbours
    assert one.source
    assert any("Computational" in assumption for assumption in one.assumptions)
    try:
        added = mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE, delta=delta)
    except bdp.errors.InvalidInput:
        return
    assert mechanism.removal_guarantee(delta=delta).epsilon <= added.epsilon * (1 + 1e-12)
