"""The adversary of Definition 5.2 against each calculator, who finds no more than is claimed."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.privacy.distributional.attack import attack, believed_delta

D = bdp.distributional


def histogram_worlds(size, k, mean_in_bin):
    """Draws of the truncated count of one bin, the record's value being whether it is there."""

    def others(generator, draws):
        return generator.binomial(round(mean_in_bin / size.rate), size.rate, size=draws)

    def shown(counts):
        return np.where(counts < k, 0, counts)

    def real(generator, value, draws):
        return shown(others(generator, draws) + value)

    def simulated(generator, value, draws):
        return shown(others(generator, draws))

    return real, simulated


@pytest.mark.parametrize("mean", [10.0, 20.0, 40.0])
def test_a_truncated_histogram_withstands(mean):
    size = D.BinomialSize(1000, 0.2)
    histogram = D.TruncatedHistogram(20, size)
    claim = histogram.guarantee(0.5)
    found = attack(claim, *histogram_worlds(size, 20, mean), values=(0, 1), seed=1)
    assert not found.refuted
    assert found.delta_lower > claim.delta - 0.12
    assert believed_delta(found, 1.5) < D.to_inference(claim, 1).delta


def test_a_histogram_without_a_threshold_falls():
    size = D.BinomialSize(1000, 0.2)
    claim = D.TruncatedHistogram(20, size).guarantee(0.5)
    found = attack(claim, *histogram_worlds(size, 1, 2.0), values=(0, 1), seed=2)
    assert found.refuted
    assert found.delta_lower <= D.TruncatedHistogram(1, size).delta(0.5)


def estimate_worlds(estimator, n, seen, true):
    """Draws of a MAP estimate; all of `seen` known, the others of the law with index `true`."""
    law = estimator.laws[true]

    def estimates(generator, draws, value):
        m = n - 1 - len(seen)
        ones = generator.binomial(m, law.args[0], size=draws)
        by_ones = [
            estimator.estimate([*value, *seen, *([1] * u), *([0] * (m - u))]) for u in range(m + 1)
        ]
        return np.array(by_ones)[ones]

    return (
        lambda generator, value, draws: estimates(generator, draws, (value,)),
        lambda generator, value, draws: estimates(generator, draws, ()),
    )


@pytest.mark.parametrize("known", [0, 1, 3])
def test_a_map_estimate_withstands(known):
    estimator = D.MAPEstimator([stats.bernoulli(0.2), stats.bernoulli(0.8)])
    claim = estimator.guarantee(31, known_records=known)
    worlds = estimate_worlds(estimator, 31, [1] * known, 0)
    found = attack(claim, *worlds, values=(0, 1), seed=3)
    assert not found.refuted
    assert found.shift < 0.01
    assert found.posterior.shape == (2, 2, found.outputs.size)


def test_corollary_6_1_falls():
    """The printed delta of known records is refuted by the draws alone."""
    estimator = D.MAPEstimator([stats.bernoulli(0.1), stats.bernoulli(0.9)])
    claim = estimator.guarantee(21, known_records=10)
    printed = dataclasses.replace(claim, delta=10 * 0.6**10)
    worlds = estimate_worlds(estimator, 21, [1] * 10, 0)
    assert attack(printed, *worlds, values=(0, 1), seed=4).refuted
    assert not attack(claim, *worlds, values=(0, 1), seed=4).refuted


def test_a_stable_function_withstands():
    n, p = 51, 0.3
    function = D.stable_function(lambda c: int(2 * c[1] > sum(c)), [stats.bernoulli(p)], n)
    claim = function.guarantee()

    def real(generator, value, draws):
        return (2 * (generator.binomial(n - 1, p, size=draws) + value) > n).astype(int)

    def simulated(generator, value, draws):
        return (2 * generator.binomial(n - 1, p, size=draws) > n - 1).astype(int)

    found = attack(claim, real, simulated, values=(0, 1), seed=5)
    assert not found.refuted
    assert found.delta_lower > -1e-3


def test_a_continuous_release_is_binned_and_a_normal_sum_withstands():
    """The sum of 200 standard normal records: its divergence from the sum of 199 is known."""
    n, epsilon, most = 200, 0.3, 3.0
    mean = most / math.sqrt(n - 1)
    exact = stats.norm.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * stats.norm.cdf(
        -mean / 2 - epsilon / mean
    )
    law = D.LawClass.of("normal", n=n)
    claim = D.DistributionalGuarantee(epsilon, float(exact), "normal records up to 3", law)

    def real(generator, value, draws):
        return generator.normal(0, math.sqrt(n - 1), size=draws) + value

    def simulated(generator, value, draws):
        return generator.normal(0, math.sqrt(n - 1), size=draws)

    found = attack(claim, real, simulated, values=(-most, most), trials=400_000, seed=6)
    assert not found.refuted
    smaller = dataclasses.replace(claim, epsilon=0.0, delta=float(exact))
    assert attack(smaller, real, simulated, values=(-most, most), seed=6).refuted


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"values": (1,)}, "two or more"),
        ({"trials": 10}, "at least 100"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"prior": (1.0, 0.0)}, "prior is"),
        ({"claim": "a promise"}, "DistributionalGuarantee"),
        ({"real": lambda g, v, k: np.zeros((k, 2))}, "one number or label"),
    ],
)
def test_bad_inputs(changes, match):
    claim = D.DistributionalGuarantee(1.0, 0.1, "any", D.LawClass.of("any"))
    arguments = {
        "claim": claim,
        "real": lambda g, v, k: g.normal(size=k),
        "simulated": lambda g, v, k: g.normal(size=k),
        "values": (0, 1),
        **changes,
    }
    if "real" in changes:
        arguments["simulated"] = changes["real"]
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        attack(**arguments)
