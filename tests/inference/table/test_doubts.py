"""Doubts about numbers of latent tables: chains that differ, beside what chance does."""

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.inference.table.doubts import doubts_of_chains
from tests.inference.table.test_adversaries import posterior

COLUMNS = {"smokes": {"type": "boolean"}, "age": {"type": "integer", "bounds": (20, 22)}}
ALL = [tuple(COLUMNS)]


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


def test_intervals_of_the_population_are_doubted_where_persons_have_several_records():
    """Both records of each of 200 persons are the same: 400 tell no more than 200."""
    rng = np.random.default_rng(8)
    schema = {most: bdp.Schema(COLUMNS, unit={"person": "id", "most": most}) for most in (1, 2)}
    table = np.repeat(np.stack([rng.integers(0, 2, 200), rng.integers(0, 3, 200)], 1), 2, axis=0)
    made = {most: posterior([table] * 400, one, ALL) for most, one in schema.items()}
    says = r"a person has up to 2 records, .* may be up to 1\.4 times too short, but for the noise"
    for ask in (
        lambda one, target: one.table("smokes", target=target, seed=1),
        lambda one, target: one.estimate(lambda f: f["smokes"].mean(), target=target, seed=1),
        lambda one, target: one.regression("smokes ~ age", target=target, seed=1, draws=5),
    ):
        with pytest.warns(UserWarning, match=says):
            ask(made[2], "population")
        ask(made[2], "data")
        ask(made[1], "population")
    with pytest.warns(UserWarning, match=says):
        short = made[2].table("smokes", seed=1).interval()["sd"].iloc[0]
    right = np.sqrt(0.25 / 200)
    assert short == pytest.approx(right / np.sqrt(2), rel=0.2)


def test_a_fit_of_persons_says_so_in_its_verdict_and_once():
    frame = pd.DataFrame({"id": np.arange(300) // 3, "smokes": np.arange(300) % 2 > 0, "age": 20})
    schema = bdp.Schema(COLUMNS, unit={"person": "id", "most": 3})
    release = bdp.TableSynthesizer(schema, epsilon=20.0).release(frame)
    with pytest.warns(UserWarning, match=r"a person has up to 3 .* 1\.7 times.*md#persons"):
        fit = bdp.TableModel().fit(release, draws=200, seed=1)
    assert "a person has up to 3 records" in fit.attrs["verdict"]
    fit.table("smokes", seed=1)
    again = bdp.models.TablePosterior.of(fit)  # as another process reads it
    with pytest.warns(UserWarning, match="a person has up to 3 records"):
        again.table("smokes", seed=1)
