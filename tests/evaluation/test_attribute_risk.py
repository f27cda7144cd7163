"""Attribute risk by hand, and against exact laws."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism


def test_by_hand():
    """Two draws, one record, guesses 0 and 1 of which 1 is true.

    f(0) = 0.5, 0.2 and f(1) = 0.5, 0.8 at the draws: r(0) = 1, 1/4, so q(0) = 4/5, 1/5, and
    q(1) = 1/2, 1/2. p(Z) = 0.1, 0.3: p(Z | 0) = 0.08 + 0.06 = 0.14, p(Z | 1) = 0.2.
    """
    density = np.log([[[0.5, 0.5]], [[0.2, 0.8]]])
    found = bdp.evaluate.attribute_risk(density, np.log([0.1, 0.3]), [1]).iloc[0]
    assert found["prior"] == 0.5
    assert found["posterior"] == pytest.approx(0.2 / 0.34)
    assert found["odds_ratio"] == pytest.approx(0.2 / 0.14)
    assert (found["rank"], found["guess"]) == (1, 1)
    # shares 0.08/0.14, 0.06/0.14 and 0.05/0.2, 0.15/0.2
    effective = [0.14**2 / (0.08**2 + 0.06**2), 0.2**2 / (0.05**2 + 0.15**2)]
    assert found["effective_draws"] == pytest.approx(min(effective))

    skewed = bdp.evaluate.attribute_risk(density, np.log([0.1, 0.3]), [1], prior=[3, 1]).iloc[0]
    assert skewed["prior"] == 0.25
    assert skewed["posterior"] == pytest.approx(0.2 * 0.25 / (0.2 * 0.25 + 0.14 * 0.75))
    assert skewed["odds_ratio"] == pytest.approx(0.2 / 0.14)
    assert (skewed["rank"], skewed["guess"]) == (2, 0)

    # A second copy, p(Z_2) = 0.4, 0.1: p(Z_2 | 0) = 0.32 + 0.02, p(Z_2 | 1) = 0.25
    both = bdp.evaluate.attribute_risk(density, np.log([[0.1, 0.3], [0.4, 0.1]]), [1]).iloc[0]
    assert both["posterior"] == pytest.approx(0.2 * 0.25 / (0.2 * 0.25 + 0.14 * 0.34))


def test_impossible_guesses_and_one_guess():
    density = np.log([[[0.5, 0.5]], [[0.2, 0.8]]])
    wider = np.concatenate([density, np.full((2, 1, 1), -math.inf)], axis=2)
    found = bdp.evaluate.attribute_risk(wider, np.log([0.1, 0.3]), [1])
    assert found["posterior"].iloc[0] == pytest.approx(0.2 / 0.34)
    only = bdp.evaluate.attribute_risk(density[:, :, 1:], np.log([0.1, 0.3]), [0])
    assert only["posterior"].iloc[0] == 1
    known = bdp.evaluate.attribute_risk(density, np.log([0.1, 0.3]), [1], prior=[0, 2.0]).iloc[0]
    assert known["posterior"] == known["prior"] == 1


@pytest.mark.parametrize("truth", [0, 1])
def test_by_enumeration(truth):
    """theta is 1/4, 1/2 or 3/4, equally likely; three records hold two ones; two copies of five.

    Given them theta is as likely as 3, 8 and 9: as many draws of each are the whole posterior, and
    the answer is exact.
    """
    values = np.array([0.25, 0.5, 0.75])
    draws = np.repeat(values, [3, 8, 9])
    density = np.stack([np.log1p(-draws), np.log(draws)], axis=-1)[:, None, :]
    synthetic = [stats.binom(5, draws).logpmf(z) for z in (1, 5)]
    found = bdp.evaluate.attribute_risk(density, synthetic, [truth])
    rest = 2 - truth  # ones among the other two
    law = []
    for guess in (0, 1):
        weights = values ** (rest + guess) * (1 - values) ** (3 - rest - guess)
        weights /= weights.sum()
        law.append(math.prod(weights @ stats.binom(5, values).pmf(z) for z in (1, 5)))
    assert found["posterior"].iloc[0] == pytest.approx(law[truth] / sum(law), rel=1e-12)


@pytest.mark.parametrize("copies", [[3], [5, 7]])
def test_of_a_proportion_it_is_the_mechanisms_law(copies):
    """Beta posterior draws on a fine grid of quantiles, against the exact law of the copies.

    The grid is the midpoint rule, whose error falls with its size.
    """
    records = np.array([1] * 7 + [0] * 13)
    mechanism = BetaBinomialMechanism(20, 12, (2.0, 3.0))
    theta = stats.beta(2 + 7, 3 + 13).ppf((np.arange(200_000) + 0.5) / 200_000)
    density = np.stack([np.log1p(-theta), np.log(theta)], axis=-1)[:, None, :].repeat(2, axis=1)
    synthetic = [stats.binom(12, theta).logpmf(z) for z in copies]
    found = bdp.evaluate.attribute_risk(density, synthetic, records[[0, -1]])
    for i, truth in enumerate(records[[0, -1]]):
        rest = records.sum() - truth
        law = [
            math.prod(math.exp(mechanism.logp(z, bdp.Count(rest + g, 20))) for z in copies)
            for g in (0, 1)
        ]
        assert found["posterior"][i] == pytest.approx(law[truth] / sum(law), abs=1e-4)


def test_no_release_beats_its_epsilon():
    """Every output of a pure mechanism, every true value: odds at most exp(epsilon)."""
    mechanism = BetaBinomialMechanism.calibrate(n=6, size=4, epsilon=0.8)
    a, b = mechanism.prior
    largest = 0.0
    for truth, rest, z in itertools.product((0, 1), range(6), range(5)):
        successes = rest + truth
        theta = stats.beta(a + successes, b + 6 - successes).ppf((np.arange(4000) + 0.5) / 4000)
        density = np.stack([np.log1p(-theta), np.log(theta)], axis=-1)[:, None, :]
        found = bdp.evaluate.attribute_risk(density, stats.binom(4, theta).logpmf(z), [truth])
        largest = max(largest, found["odds_ratio"].iloc[0])
    assert largest == pytest.approx(math.exp(0.8), rel=1e-3)  # attained: calibrated exactly


GOOD = np.log([[[0.5, 0.5]], [[0.2, 0.8]]])
NOTHING = -math.inf


@pytest.mark.parametrize(
    ("arguments", "prior", "message"),
    [
        ((GOOD[0], [0.1, 0.3], [1]), None, r"log_likelihood has shape \(1, 2\)"),
        (("x", [0.1, 0.3], [1]), None, "log_likelihood must be an array"),
        ((GOOD, [0.1, 0.2, 0.3], [1]), None, "3 draws"),
        ((GOOD, [0.1, math.nan], [1]), None, "NaN or plus infinity"),
        ((GOOD, [NOTHING, NOTHING], [1]), None, "can't have come"),
        ((GOOD, [0.1, 0.3], [2]), None, "aren't among the guesses"),
        ((GOOD, [0.1, 0.3], [0.5]), None, "whole numbers"),
        ((GOOD, [0.1, 0.3], [0, 1]), None, "whole numbers"),
        ((np.where(GOOD[1, 0, 1] == GOOD, NOTHING, GOOD), [0.1, 0.3], [1]), None, "be possible"),
        ((GOOD, [0.1, 0.3], [1]), [1.0, 0.0], "be possible"),
        ((GOOD, [0.1, 0.3], [1]), [1.0, -1.0], "none negative"),
        ((GOOD, [0.1, 0.3], [1]), [1.0, 1.0, 1.0], "has shape"),
        ((GOOD, [0.1, 0.3], [1]), [0.0, 0.0], "at least one guess"),
        ((GOOD[:0], [], [1]), None, "none of them 0"),
    ],
)
def test_refusals(arguments, prior, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.attribute_risk(*arguments, prior=prior)
