"""The best membership attack: laws that are known, the promise's bounds, and a planted fault."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation import membership

SURE = 1 - 1e-7  # of all intervals: the rate of false alarms is below 1e-6 in each test
SCHEMA = bdp.Schema({name: {"type": "boolean"} for name in "abc"})


def attack(mechanism, *pair, **more):
    with bdp.reproducible(7):
        found = bdp.evaluate.membership_attack(mechanism, *pair, level=SURE, **more)
    return found.set_index("measure")


def table(epsilon: float, delta: float = 1e-6):
    """The mechanism of all pairs of three columns, and counts without and with a record."""
    made = bdp.TableSynthesizer(SCHEMA, epsilon=epsilon, delta=delta).mechanism(None, epsilon)
    frame = pd.DataFrame({name: [False, True, False] for name in "abc"})
    counts = [made.statistic_of(SCHEMA.coded(each)) for each in (frame[:2], frame)]
    return made, counts


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_whole_tables_attack_finds_the_total_variation_and_no_more_than_is_promised(epsilon):
    """Three counts of Gaussian noise move by one: as one count that moves by sqrt(3)."""
    made, counts = table(epsilon)
    found = attack(made, *counts, delta=1e-6)
    scale = made.rounds[0].scale
    far = math.sqrt(3) / scale
    advantage = found.loc["advantage"]
    assert advantage["low"] < 2 * stats.norm.cdf(far / 2) - 1 < advantage["high"]
    assert advantage["low"] < made.delta(0.0)
    assert advantage["high"] < advantage["bound"]
    promised = (math.exp(epsilon) - 1 + 2e-6) / (math.exp(epsilon) + 1)
    assert advantage["bound"] == pytest.approx(promised, rel=1e-9)
    rates = found.drop("advantage")
    assert np.all(rates["value"] < rates["bound"])
    assert advantage["value"] == pytest.approx(rates["value"].sum() - 1)


def test_randomised_response_meets_the_bound():
    """No mechanism of its epsilon gives more away: the bounds are met, and not only kept."""
    found = attack(Coin(0.75), 0, 1, trials=100_000)
    assert found["bound"]["advantage"] == pytest.approx(0.5)
    assert found["low"]["advantage"] < 0.5 < found["high"]["advantage"]
    assert found["high"]["advantage"] - found["low"]["advantage"] < 0.04
    error = 1 - found["value"]["true_negative_rate"]
    expected = min(3 * error, 1 - (1 - error) / 3)
    assert found["bound"]["true_positive_rate"] == pytest.approx(expected)


def test_intervals_are_clopper_and_pearsons():
    found = attack(Coin(0.75), 0, 1, trials=1000)
    for measure in ("true_positive_rate", "true_negative_rate"):
        value, low, high, _ = found.loc[measure]
        exact = stats.binomtest(round(1000 * value), 1000).proportion_ci((1 + SURE) / 2)
        assert (low, high) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_a_release_of_the_exact_counts_is_convicted():
    """A planted fault: the record's own counts, published without noise."""
    made, counts = table(1.0)
    found = attack(Verbatim(made), *counts, delta=1e-6)
    assert found["value"]["advantage"] == 1
    assert found["low"]["advantage"] > found["bound"]["advantage"]
    assert found["high"]["true_positive_rate"] == 1


def test_blocks_change_nothing(monkeypatch):
    made, counts = table(1.0)
    whole = attack(made, *counts, delta=1e-6, trials=1000)
    monkeypatch.setattr(membership, "_BLOCK", 12 * 77)
    parts = attack(made, *counts, delta=1e-6, trials=1000)
    assert np.all((parts["low"] < whole["value"]) & (whole["value"] < parts["high"]))


def test_what_cannot_be_attacked_is_named():
    made, counts = table(1.0)
    for wrong in ({"trials": 99}, {"level": 1.0}, {"delta": -0.1}):
        with pytest.raises(bdp.errors.InvalidInput, match=f"{next(iter(wrong))} is"):
            bdp.evaluate.membership_attack(made, *counts, **wrong)
    with pytest.raises(bdp.errors.InvalidInput, match="last axis"):
        bdp.evaluate.membership_attack(made, counts[0][:-1], counts[1][:-1], delta=1e-6)


@dataclass
class Coin:
    """Tell the truth with probability p, by a seeded generator."""

    p: float

    def guarantee(self):
        epsilon, relation = math.log(self.p / (1 - self.p)), bdp.Neighbours.REPLACE_ONE
        return bdp.Guarantee(epsilon, 0.0, relation, bdp.Strength.PROVED, (), "a coin")

    def release(self, statistic, copies):
        lies = np.random.default_rng(statistic).random(copies) > self.p
        return np.where(lies, 1 - statistic, statistic)

    def logp(self, output, statistic):
        return np.log(np.where(output == statistic, self.p, 1 - self.p))


@dataclass
class Verbatim:
    """Promise what a mechanism promises, and publish the counts."""

    made: bdp.mechanisms.NoisyTableMechanism

    def guarantee(self, delta):
        return self.made.guarantee(delta=delta)

    def release(self, statistic, copies):
        return np.tile(statistic, (copies, 1))

    def logp(self, output, statistic):
        return self.made.logp(output, statistic)
