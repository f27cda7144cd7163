"""Events for dp_accounting: no accountant promises less than a mechanism costs."""

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import GaussianDpEvent, ZCDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import bayesdp as bdp
from bayesdp.privacy.profile import hockey_stick
from tests.contracts.examples import EXAMPLES, LISTED, each
from tests.contracts.examples.example import Example


def event_of(example: Example, copies: int = 1) -> Any:
    try:
        return example.mechanism.dp_event(copies=copies)
    except bdp.errors.InvalidInput:
        return None


def accountant_of(event: Any) -> Any:
    """It composes events of each kind; under the relation where it doubles nothing."""
    one = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    one = one if one.supports(event) else RdpAccountant()
    return one.compose(event)


WITH = [example for example in EXAMPLES if event_of(example) is not None]
WITHOUT = [example for example in EXAMPLES if event_of(example) is None]


@each([example for example in LISTED if example in WITH])
@pytest.mark.parametrize("copies", [1, 2])
def test_no_pair_of_neighbours_costs_more_than_its_event(example: Example, copies: int):
    """Against all outputs of one copy and of two; an accountant's grid of losses is pessimistic."""
    accountant = accountant_of(event_of(example, copies))
    for one, other in example.pairs:
        log_p, log_q = example.law(one), example.law(other)
        if copies == 2:
            if log_p.size > 200:
                continue
            log_p, log_q = (np.add.outer(each, each).ravel() for each in (log_p, log_q))
        for p, q in ((log_p, log_q), (log_q, log_p)):
            for epsilon in (0.1, 1.0, 3.0):
                assert hockey_stick(p, q, epsilon) <= accountant.get_delta(epsilon) + 1e-12


@each(WITH)
def test_its_event_is_no_less_than_its_profile(example: Example):
    accountant = accountant_of(event_of(example))
    for delta in (1e-6, 1e-2):
        found = accountant.get_epsilon(delta)
        assert found >= example.mechanism.profile().epsilon(delta) * (1 - 1e-9) - 1e-9


@each(WITHOUT)
def test_what_has_no_event_is_refused_by_name(example: Example):
    mechanism: Any = example.mechanism
    words = f"{mechanism.name} has no event|{mechanism.name}'s promise is only as|distributional"
    with pytest.raises(bdp.errors.InvalidInput, match=words):
        mechanism.dp_event(copies=2)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("copies", [1, 10])
@pytest.mark.parametrize(
    "made",
    [
        bdp.mechanisms.DiscreteGaussianMechanism(300.0, 20),
        bdp.mechanisms.GaussianMechanism(3.0, 1.0),
    ],
)
def test_gaussian_noise_costs_what_we_say(made: Any, copies: int, neighbours: str):
    """Within the accountant's discretisation, and the scale's 2 steps: 2 parts in 10^5 of 300."""
    accountant = accountant_of(made.dp_event(copies=copies, neighbours=neighbours))
    for delta in (1e-9, 1e-4):
        ours = made.guarantee(copies=copies, neighbours=neighbours, delta=delta).epsilon
        assert accountant.get_epsilon(delta) == pytest.approx(ours, rel=2e-4, abs=2e-4)
        assert accountant.get_epsilon(delta) >= ours * (1 - 1e-6)


@pytest.mark.parametrize("copies", [1, 10])
@pytest.mark.parametrize(
    "made",
    [
        bdp.mechanisms.DiscreteLaplaceMechanism(3.0, 2),
        bdp.mechanisms.LaplaceMechanism(3.0, 2.0, granularity=1 / 64),
    ],
)
def test_laplace_noise_costs_what_we_say(made: Any, copies: int):
    """By the composition of its own privacy loss; accountants round losses up by 1e-4 at most."""
    accountant = accountant_of(made.dp_event(copies=copies))
    for delta in (1e-9, 1e-4):
        ours = bdp.compose([(made, copies)], delta=delta).epsilon
        assert ours * (1 - 1e-6) <= accountant.get_epsilon(delta) <= ours + copies * 1.1e-4


def test_the_ends_of_what_an_event_can_say():
    """A scale of 2 steps or less is known by its rho alone; other arguments are checked."""
    coarse, finer = (bdp.mechanisms.DiscreteGaussianMechanism(scale) for scale in (2.0, 2.5))
    assert coarse.dp_event() == ZCDpEvent(coarse.rho())
    assert finer.dp_event() == GaussianDpEvent(pytest.approx(math.sqrt(2.5**2 - 4)))
    for copies in (0, 1.5):
        with pytest.raises(bdp.errors.InvalidInput, match="copies is"):
            coarse.dp_event(copies=copies)
    with pytest.raises(bdp.errors.InvalidInput, match="neighbours is"):
        coarse.dp_event(neighbours="edge")
