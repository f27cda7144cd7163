"""R-hat is judged beside chance: of few draws, independent ones exceed its limit as well."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bayesdp.engines.convergence import LARGEST_RHAT, Sampling, problems, sampling_of_chains
from bayesdp.engines.draws import Draws, constants_beside
from bayesdp.inference.verdict import NO_PROBLEM, verdict_on

FITS, NUMBERS, DRAWS = 20, 6, 150


def counts(numbers: int, chains: int) -> NDArray[np.float64]:
    """Independent draws of counts with ties, as raked tables have them."""
    return np.round(np.random.default_rng(1).normal(100, 1.3, (numbers, chains, DRAWS)))


def doubts(each: list[Sampling]) -> list[str]:
    return [doubt for doubt in problems(each, None, nuts=False) if "R-hat" in doubt]


def test_independent_draws_are_not_doubted_for_chance() -> None:
    """A fit is doubted with probability 1e-3, 4 or more of 20 with 5e-9; by 1.01 alone, half."""
    each = [sampling_of_chains(x) for x in counts(FITS * NUMBERS, chains=2)]
    fits = [each[k : k + NUMBERS] for k in range(0, len(each), NUMBERS)]
    assert sum(any(one.rhat > LARGEST_RHAT for one in fit) for fit in fits) >= 4
    assert sum(bool(doubts(fit)) for fit in fits) < 4
    chances = np.array([one.chance for one in each])
    for p in (0.1, 0.3):  # a bound, nearly that of either of two; 5.3 standard errors: 1e-7
        error = np.sqrt(p * (1 - p) / len(each))
        assert abs(np.mean(chances <= p) - (p - p**2 / 4)) < 5.3 * error


@pytest.mark.parametrize("planted", ["elsewhere", "wider", "still"])
def test_a_chain_unlike_the_others_is_convicted(planted: str) -> None:
    x = counts(NUMBERS, chains=4)
    x[2, 0] = {
        "elsewhere": x[2, 0] + 1.3,
        "wider": 100 + 2 * (x[2, 0] - 100),
        "still": np.full(DRAWS, 99.0),
    }[planted]
    each = [sampling_of_chains(one) for one in x]
    assert doubts(each) == ["R-hat is above 1.01 in 1 of 6 groups"]


def test_of_many_draws_the_limit_is_as_it_was() -> None:
    x = np.random.default_rng(1).normal(size=(4, 1000))
    x[0] += 0.45
    one = sampling_of_chains(x)
    assert LARGEST_RHAT < one.rhat < LARGEST_RHAT + 0.01
    assert doubts([one] * 1000) == ["R-hat is above 1.01 in 1000 of 1000 groups"]
    assert doubts([sampling_of_chains(np.zeros((4, 1000)))]) == ["R-hat is above 1.01"]


def test_chains_that_each_stay_where_they_are_are_convicted_without_numpy_s_words() -> None:
    """As of a rare label's share, of which every latent table of a chain has one number."""
    apart = np.repeat([[1.0], [2.0]], 20, axis=1)
    assert sampling_of_chains(apart).rhat == np.inf
    once = np.zeros((2, 20))
    once[0, 3] = 1.0
    assert np.isfinite(sampling_of_chains(once).rhat)


def test_a_known_constant_is_no_stuck_chain_and_a_stuck_chain_no_constant() -> None:
    """A number that could move and never does is doubted, be it at one value in all chains."""
    x = np.random.default_rng(1).normal(size=(4, 1000, 3))
    x[..., 1] = 200.0
    known = {"n": np.array([False, True, False])}
    drawn = Draws({"n": x}, {}, "metropolis", known=known)
    assert [column.tolist() for column in drawn.moving] == [x[..., k].tolist() for k in (0, 2)]
    assert verdict_on(drawn).startswith(NO_PROBLEM)
    x[..., 2] = 60.0
    with pytest.warns(UserWarning, match=r"R-hat is above 1.01 in 1 of 2 numbers; bulk ESS"):
        assert "of 2 numbers" in verdict_on(drawn)


def test_what_stays_in_all_chains_beside_what_moves_is_a_constant() -> None:
    moves = np.random.default_rng(1).normal(size=(2, 20, 2))
    still = np.stack([np.ones((2, 20)), moves[..., 0]], axis=-1)
    apart = np.repeat([[1.0], [2.0]], 20, axis=1)  # chains that are stuck at their starts
    marks = constants_beside({"moves": moves, "still": still, "apart": apart})
    assert {name: each.tolist() for name, each in marks.items()} == {"still": [True, False]}
    assert constants_beside({"still": np.ones((2, 20))}) == {}
