"""Doubts about numbers of latent tables: chains that differ, beside what chance does."""

import numpy as np
import pytest

from bayesdp.inference.table.doubts import doubts_of_chains


@pytest.mark.parametrize("size", [5, 20, 100])
def test_independent_chains_are_doubted_at_most_once_in_a_thousand(size):
    """300 numbers of four chains, 300 times: more than five have a probability of 1e-7."""
    rng = np.random.default_rng(5)
    chain = np.repeat(np.arange(4), size)
    told = sum(
        bool(list(doubts_of_chains(rng.normal(size=(4 * size, 300)), chain))) for _ in range(300)
    )
    assert told <= 5


@pytest.mark.parametrize(("size", "away"), [(5, 6.0), (20, 2.0), (100, 1.0)])
def test_a_chain_that_is_elsewhere_is_told(size, away):
    rng = np.random.default_rng(6)
    chain = np.repeat(np.arange(4), size)
    draws = rng.normal(size=(4 * size, 8))
    draws[chain == 2, 3] += away
    (doubt,) = doubts_of_chains(draws, chain)
    assert doubt.startswith("the chains differ in 1 of 8 numbers (R-hat up to ")


def test_numbers_that_hardly_move_or_few_draws_tell_nothing():
    rng = np.random.default_rng(7)
    still = np.repeat([[1.0], [1.0 + 1e-9]], 10, axis=0)
    assert not list(doubts_of_chains(still, np.repeat([0, 1], 10)))
    assert not list(doubts_of_chains(rng.normal(size=(8, 2)), np.repeat([0, 1], 4)))
    assert not list(doubts_of_chains(rng.normal(size=(9, 2)), np.zeros(9, dtype=int)))
