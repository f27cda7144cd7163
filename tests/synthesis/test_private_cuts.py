"""Cut points chosen by a grid's released counts, and what is counted between them."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts import noisy_table
from bayesdp.mechanisms.counts.table_rounds import Pools
from bayesdp.synthesis.cut_choice import pools_of

COLUMNS = {
    "age": {"type": "integer", "bounds": (0, 19), "bins": {"private": 3, "share": 0.2}},
    "income": {
        "type": "real",
        "bounds": (0, 100),
        "bins": {"private": 4, "share": 0.1, "grid": (0, 1, 2, 5, 10, 20, 50, 100)},
        "missing": True,
    },
    "votes": {"type": "boolean"},
}
SCHEMA = bdp.Schema(COLUMNS)
MADE = bdp.TableSynthesizer(SCHEMA, epsilon=2.0, delta=1e-6)


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(1.5, 1.0, n)).clip(0, 100)
    income[rng.random(n) < 0.1] = np.nan
    age = rng.integers(0, 20, n)
    return pd.DataFrame({"age": age, "income": income, "votes": rng.random(n) < age / 20})


def test_pools_are_shorter_where_there_are_more_records():
    assert pools_of(np.full(100, 50), 4, 2.0) == (0, 25, 50, 75)
    assert pools_of(np.array([900, 900, 100, 100, 100, 100, 100, 100]), 4, 2.0) == (0, 1, 2, 5)
    assert pools_of(np.array([-5, 2, -9, 1]), 2, 10.0) == (0, 2)  # noise alone
    assert pools_of(np.array([7]), 5, 1.0) == (0,)
    rng = np.random.default_rng(2)
    law = np.exp(-np.arange(100) / 8)
    counts = rng.multinomial(10_000, law / law.sum()) + np.rint(rng.normal(0, 20, 100)).astype(int)
    firsts = pools_of(counts, 8, 20.0)
    lengths = np.diff([*firsts, 100])
    assert len(firsts) == 8
    assert np.all(np.diff(lengths) >= 0)
    assert firsts[-1] < 50  # of the tail, whose counts are noise, one pool is made
    assert all(a < b for a, b in itertools.pairwise(pools_of(counts, 60, 20.0)))


def test_rounds_count_the_grids_and_then_all_pairs_in_pools():
    huge = bdp.TableSynthesizer(SCHEMA, epsilon=1e4)
    frame = people()
    release = huge.release(frame)
    mechanism = release.mechanism
    marginals = [one.marginals for one in mechanism.rounds]
    assert marginals[:2] == [(("age",),), (("income",),)]
    assert set(marginals[2]) == {("age", "income"), ("age", "votes"), ("income", "votes")}
    assert mechanism.schema == SCHEMA.on_grid
    age, income = mechanism.pools
    assert (age.column, income.column) == ("age", "income")
    assert len(age.firsts) == 3
    assert income.firsts[-1] == 7  # missing values
    output = np.array(release.outputs[0])
    codes = SCHEMA.on_grid.coded(frame)
    for part, place in zip(mechanism.marginals, mechanism.slices, strict=True):
        each = [codes[name].to_numpy().astype(int) for name in part]
        if len(part) > 1:
            pool = mechanism.pool
            each = [pool[n][c] if n in pool else c for n, c in zip(part, each, strict=True)]
        shape = mechanism.shape_of(part)
        exact = np.bincount(np.ravel_multi_index(each, shape), minlength=np.prod(shape))
        np.testing.assert_array_equal(output[place], exact)  # noise of scale 0.001 is none
    assert np.diff([*age.firsts, 20]).tolist() == pytest.approx([20 / 3] * 3, abs=1)
    np.testing.assert_array_equal(mechanism.statistic_of(codes), output)


def test_the_cut_points_are_of_released_numbers_alone(monkeypatch):
    """Data that have nothing in common, and the same numbers from the grids."""
    first = np.array(MADE.release(people()).outputs[0][:28])
    draw, found = noisy_table.NoisyTableMechanism.draw, []

    def drawn(mechanism, statistic, copies):
        if mechanism.marginals == (("age",), ("income",)):
            return np.array([first])
        return draw(mechanism, statistic, copies)

    monkeypatch.setattr(noisy_table.NoisyTableMechanism, "draw", drawn)
    for frame in (people(), people(30, 2), people(0)):
        found.append(MADE.release(frame).mechanism.pools)
    assert found[0] == found[1] == found[2]


def test_shares_of_the_budget_are_kept():
    for made in (MADE, bdp.TableSynthesizer(SCHEMA, epsilon=2.0)):
        mechanism = made.mechanism(None, 2.0)
        power = 1.0 if mechanism.noise == "laplace" else 2.0
        spent = np.array([len(one.marginals) / one.scale**power for one in mechanism.rounds])
        np.testing.assert_allclose(spent / spent.sum(), [0.2, 0.1, 0.7], rtol=1e-9)
        assert made.guarantee().epsilon == pytest.approx(2.0)
        release = made.release(people(100))
        assert release.guarantee == made.guarantee()


@pytest.mark.parametrize("halved", [False, True])
def test_no_transcript_costs_more_than_epsilon(halved):
    """All outputs within a window, the cut points included: the largest ratio is e^epsilon.

    The neighbour has one record more, at any place of a grid of four cells. A fault, noise of half
    the scale after the cut points are chosen, is found.
    """
    columns = {
        "age": {"type": "integer", "bounds": (0, 3), "bins": {"private": 2, "share": 0.4}},
        "votes": {"type": "boolean"},
    }
    made = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=1.5)
    planned = made.mechanism(None, 1.5)
    grid, pairs = planned.rounds
    scales = grid.scale, pairs.scale / 2 if halved else pairs.scale

    def log_ratio(z, scale):
        """Log Pr[z | 1] / Pr[z | 0] of discrete Laplace noise."""
        return (abs(z) - abs(z - 1)) / scale

    window = range(-2, 3)
    second = [f(log_ratio(z, scales[1]) for z in window) for f in (max, min)]
    worst, cut = 0.0, set()
    for cell, z in itertools.product(range(4), window):
        for rest in itertools.product((0, 40), repeat=3):  # the same counts for both neighbours
            released = np.array([*rest[:cell], z, *rest[cell:]])
            (pools,) = made._decided(planned, released, 1).pools
            cut.add(pools.firsts)
            first = log_ratio(z, scales[0])  # in one cell of the grid, and in one of any pools
            worst = max(worst, *(abs(first + each) for each in second))
    assert len(cut) > 1
    assert (worst > 1.5 + 0.4) if halved else worst == pytest.approx(1.5, rel=1e-12)
    assert worst <= 1.5 * (1 + 1e-12) or halved


def test_a_second_round_follows_the_cut_points_and_can_be_chosen_again():
    made = bdp.TableSynthesizer(SCHEMA, epsilon=2.0, delta=1e-6, chosen=1)
    release = made.release(people())
    before = release.mechanism.slices[5].start
    assert len(release.mechanism.rounds) == 4
    assert made.choice(release.outputs[0][:before]) == release.mechanism.rounds[3].marginals
    with pytest.raises(InvalidInput, match="last axis"):
        made.choice(release.outputs[0][: before - 1])


def test_a_later_release_takes_the_cut_points_of_an_earlier_one():
    first = MADE.release(people())
    pools = {one.column: one.firsts for one in first.mechanism.pools}
    again = bdp.TableSynthesizer(SCHEMA.on_grid, epsilon=1.0, pools=pools)
    release = again.release(people())
    assert release.mechanism.pools == first.mechanism.pools
    assert len(release.mechanism.rounds) == 1
    problem = bdp.TableModel().read([first, release])
    assert problem.pools == (3, len(pools["income"]), 2)
    other = bdp.TableSynthesizer(SCHEMA.on_grid, pools={"age": (0, 1)}).release(people())
    with pytest.raises(InvalidInput, match="pool cells differently"):
        bdp.TableModel().read([first, other])


def test_it_is_saved_and_read_as_any_release(tmp_path):
    release = MADE.release(people())
    release.save(tmp_path / "release")
    again = bdp.Release.load(tmp_path / "release")
    assert again.mechanism == release.mechanism
    assert again.outputs == release.outputs
    frame = again.to_frames()[0]
    assert frame["marginal"].iloc[0] == "age"
    assert len(frame) == release.mechanism.slices[-1].stop


def test_what_cannot_be_pooled_is_refused():
    rounds = [{"marginals": [["age"]], "scale": 1.0}]
    for pools, message in (
        (3, "pools is 3"),
        ([Pools("age", (0, 2)), Pools("age", (0, 3))], "a column twice"),
        ([{"column": "age", "firsts": (0.0, 2)}], "list of whole numbers"),
        ([Pools("age", (1, 2))], "increasing from 0"),
        ([Pools("age", (0, 19))], "increasing from 0"),  # the upper bound alone has no edges
        ([Pools("income", (0, 3))], "increasing from 0"),  # missing values in a pool with others
        ([Pools("votes", (0, 1))], "increasing from 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            bdp.mechanisms.NoisyTableMechanism(SCHEMA.on_grid, rounds, "laplace", pools=pools)
    with pytest.raises(InvalidInput, match="data is an iterator"):
        MADE.release(iter([people()]))


@pytest.mark.slow
def test_the_posterior_has_the_grid_and_tables_have_the_pools():
    frame = people(1500)
    release = bdp.TableSynthesizer(SCHEMA, epsilon=4.0, delta=1e-6).release(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws
        posterior = bdp.TableModel().fit(release, draws=150, warmup=150, chains=2, seed=1)
    assert posterior.schema.cells == {"age": 20, "income": 8, "votes": 2}
    pooled = posterior.pooled
    assert pooled.schema.cells["age"] == len(release.mechanism.pools[0].firsts)
    assert pooled.pooled is pooled
    found = posterior.table(["age", "votes"], target="data", seed=1)
    ages = pooled.schema.columns["age"]
    exact = pd.crosstab(ages.coded(frame["age"]), frame["votes"]).to_numpy().ravel()
    inside = found.interval(0.9999)
    assert np.all((inside["lower"] <= exact) & (exact <= inside["upper"]))
    # The grid's share sums to the pools', and numbers come back at the grid's resolution.
    share = posterior.posterior["share"].to_numpy()[..., :20]
    np.testing.assert_allclose(
        np.add.reduceat(share, release.mechanism.pools[0].firsts, axis=-1),
        pooled.posterior["share"].to_numpy()[..., : len(release.mechanism.pools[0].firsts)],
    )
    assert posterior.posterior["share"].sizes["level"] == 30
    synthetic = posterior.synthetic(2, seed=1)[0]
    assert set(synthetic["age"].unique()) <= set(range(20))
    assert synthetic["age"].nunique() > 15
    assert synthetic["income"].isna().any()
    slope = posterior.regression("votes ~ age", target="data", seed=1)
    exact = np.polyfit(frame["age"], frame["votes"], 1)[0]
    inside = slope.interval(0.9999).loc["age"]
    assert slope.by == "moments"
    assert inside["lower"] <= exact <= inside["upper"]
    income = posterior.regression("votes ~ age + income", family="logit", seed=1, target="data")
    whole = frame.dropna().astype(float)
    fit = sm.Logit(whole["votes"], sm.add_constant(whole[["age", "income"]])).fit(disp=False)
    # The 0.9999 interval of a normal law: so few draws have no such quantiles, but their range.
    off = (income.draws.mean(axis=0) - fit.params.to_numpy()) / income.draws.std(axis=0)
    assert income.by == "moments"
    assert np.abs(off).max() < 3.89
    assert posterior.regression("income ~ age", draws=20, seed=1).by == "moments"
    with pytest.raises(InvalidInput, match="has no private cut points"):
        posterior.regression("age ~ votes", family="poisson", by="moments")
