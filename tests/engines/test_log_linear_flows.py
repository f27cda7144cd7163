"""Balance of leaps: kept by draws of a law, broken by draws that miss a part of it."""

import numpy as np
import pytest

from bayesdp.engines.log_linear.flows import one_sided

pytestmark = pytest.mark.slow

LOW, HIGH = -5.0, 1.0  # two places, of weights 0.1 and 0.9


def leaps_of(low):
    """Chances by Metropolis and Hastings's ratio, of proposals of either place as likely."""
    rng = np.random.default_rng(1)
    u = np.where(low, LOW, HIGH)
    new = rng.choice([LOW, HIGH], size=(*low.shape, 4))
    chance = np.where((u[..., None] == HIGH) & (new == LOW), 1 / 9, 1.0)
    old = np.broadcast_to(u[..., None], new.shape)
    return np.stack([np.zeros_like(new), old, new, chance], axis=-1), u[..., None]


def said(low):
    leaps, u = leaps_of(low)
    return list(one_sided(leaps, u, np.zeros(1), np.full(1, 10.0)))


def test_draws_of_the_law_are_balanced():
    rng = np.random.default_rng(2)
    assert not said(rng.random((4, 500)) < 0.1)


def test_draws_that_miss_a_place_are_named():
    (found,) = said(np.zeros((4, 500), dtype=bool))
    assert "is seldom visited" in found
    assert "only 0 back" in found


def test_draws_too_few_to_judge_by_pass():
    """Other checks refuse so few."""
    assert not said(np.zeros((1, 2), dtype=bool))
