"""Coverage of 95% intervals: nominal for the posterior that knows the mechanism, and not else.

Data are simulated and released by the mechanism itself. Tests are exact binomial tests with a
false-alarm rate of 1e-6 each and a fixed seed.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.combining import proportions
from bayesdp.papers.charest.study import (
    Design,
    covered_by_posterior,
    covered_by_rule,
    every_pair,
    simulate,
)

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-6
REPLICATES = 20_000


def p_value(covered: np.ndarray) -> float:
    """Of the hypothesis that each is covered with probability 0.95."""
    return stats.binomtest(int(covered.sum()), covered.size, 0.95).pvalue


@pytest.mark.parametrize(
    ("epsilon", "copies"), [(0.25, 1), (2.0, 1), (1.0, 2), (2.0, 5), (8.0, 5), (5.0, 10)]
)
def test_posterior_is_nominal_over_its_prior(epsilon: float, copies: int):
    design = Design(epsilon, copies)
    outputs = simulate(design, None, REPLICATES, 11)
    assert p_value(covered_by_posterior(design.law(), outputs)) > FALSE_ALARM


def test_the_test_has_power():
    """It catches the posterior that assumes an epsilon a quarter too large, and the rule."""
    outputs = simulate(Design(2.0, 5), None, REPLICATES, 11)
    assert p_value(covered_by_posterior(Design(2.5, 5).law(), outputs)) < FALSE_ALARM
    assert p_value(covered_by_rule(outputs)) < FALSE_ALARM


def test_naive_posterior_is_not_nominal_over_its_prior():
    """Copies taken for real: their pooled counts, and Beta(1 + ones, 1 + zeros)."""
    design = Design(2.0, 5)
    outputs = simulate(design, None, REPLICATES, 11)
    ones = outputs.copies.sum(axis=0)
    below = stats.beta.cdf(outputs.p, 1 + ones, 1 + 500 - ones)
    covered = np.abs(below - 0.5) <= 0.475
    assert p_value(covered) < FALSE_ALARM
    assert covered.mean() < 0.5
    # The same as the model's own, at one of them.
    release = bdp.Release.of(design.mechanism, [int(z) for z in outputs.copies[:, 0]])
    naive = bdp.BinomialModel().naive_posterior(release)
    assert naive.cdf(float(outputs.p[0])) == pytest.approx(below[0], rel=1e-9)


RULES = ("liu", "rubin", "reiter_positive", "raab")


def covers(pair: tuple[int, int], rule: str) -> bool:
    """Whether the rule's 95% interval from two copies holds 0.25."""
    low, high = bdp.combine(*proportions(pair, 100), rule=rule).interval(0.95)
    return low <= 0.25 <= high


@pytest.fixture(scope="module")
def pairs_that_cover() -> dict[str, np.ndarray]:
    """By rule: which of the 101^2 outputs of two copies give an interval that holds 0.25."""
    found = {}
    for rule in RULES:
        table = np.zeros((101, 101), dtype=bool)
        for i, j in itertools.combinations_with_replacement(range(101), 2):
            table[i, j] = table[j, i] = covers((i, j), rule)
        found[rule] = table.ravel()
    return found


@pytest.mark.parametrize(
    ("epsilon", "rule", "exact"),
    [
        (0.5, "liu", 0.1579),
        (0.5, "rubin", 0.4129),
        (0.5, "reiter_positive", 0.6405),
        (0.5, "raab", 0.0107),
        (2.0, "liu", 0.5131),
        (2.0, "rubin", 0.6901),
        (2.0, "reiter_positive", 0.7544),
        (2.0, "raab", 0.4875),
    ],
)
def test_rules_are_not_nominal_exactly(pairs_that_cover, epsilon, rule, exact):
    """Two copies, p = 0.25: the exact coverage, by enumeration of all outputs."""
    pairs = every_pair(Design(epsilon, 2), 0.25)
    coverage, _ = pairs.average(pairs_that_cover[rule])
    assert coverage == pytest.approx(exact, abs=1e-4)
    assert coverage < 0.80


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0])
def test_posterior_at_one_p_exactly(epsilon: float):
    """Two copies, p = 0.25: close to nominal, and never below by more than half a point."""
    design = Design(epsilon, 2)
    pairs = every_pair(design, 0.25)
    coverage, _ = pairs.average(covered_by_posterior(design.law(), pairs))
    assert 0.945 < coverage < 0.985


@pytest.mark.parametrize("copies", [5, 10])
@pytest.mark.parametrize("rule", RULES)
def test_rules_are_not_nominal_with_more_copies(copies: int, rule: str):
    """p = 0.25, epsilon = 2, 1,000 releases: far from 95%."""
    outputs = simulate(Design(2.0, copies), 0.25, 1000, 12)
    covered = np.array([covers(z, rule) for z in outputs.copies.T])
    assert p_value(covered) < FALSE_ALARM


def test_simulated_rules_agree_with_enumeration(pairs_that_cover):
    design = Design(2.0, 2)
    outputs, pairs = simulate(design, 0.25, REPLICATES, 13), every_pair(design, 0.25)
    position = outputs.copies[0] * 101 + outputs.copies[1]
    for rule in RULES:
        exact, _ = pairs.average(pairs_that_cover[rule])
        count = int(pairs_that_cover[rule][position].sum())
        assert stats.binomtest(count, REPLICATES, exact).pvalue > FALSE_ALARM
