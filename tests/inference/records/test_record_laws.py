"""The compiled laws of sums against the mechanisms' own."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.inference.records.release import AdditiveLaw, law_of

REPLACE = bdp.Neighbours.REPLACE_ONE
BOUNDS = {None: None, "inflated": (-3, 9), "truncated": (-3, 9), "inflated above": (None, 9)}
NOISE = (
    bdp.mechanisms.LaplaceMechanism,
    bdp.mechanisms.DiscreteLaplaceMechanism,
    bdp.mechanisms.GaussianMechanism,
    bdp.mechanisms.DiscreteGaussianMechanism,
)


def value(law, total):
    return law.function(law.parameters, np.atleast_1d(np.asarray(total, dtype=np.float64)))


@pytest.mark.parametrize("dimension", [None, 2])
@pytest.mark.parametrize("bounding", BOUNDS)
@pytest.mark.parametrize("scale", [0.3, 5.0, 400.0])
@pytest.mark.parametrize("kind", NOISE)
def test_noise(kind, scale, bounding, dimension):
    mechanism = kind(
        scale, 1.0, REPLACE, dimension, BOUNDS[bounding], bounding and bounding.split()[0], n=7
    )
    rng, size = np.random.default_rng(1), dimension or 1
    inside = bounding == "truncated"
    low, high = (-3, 9) if inside else (-40, 40)
    for i in range(12):
        total = rng.integers(low, high + 1, size) + 0.0
        if not mechanism.whole:
            total = rng.uniform(low, high, size)
        shown = total if dimension else total[0]
        with bdp.reproducible(i):
            outputs = mechanism.release(shown, 3) + 0.0
        if bounding:
            ends = [9.0 if end is None else end * mechanism.step for end in mechanism.ends]
            outputs[:2] = np.reshape(ends, (2, 1) if dimension else 2)
        truth = sum(float(mechanism.logp(z, shown)) for z in outputs)
        assert value(law_of(mechanism, outputs), total) == pytest.approx(
            truth, rel=1e-11, abs=1e-11
        )


@pytest.mark.slow
def test_totals_that_cannot_be():
    whole = law_of(bdp.mechanisms.DiscreteLaplaceMechanism(2.0), np.array([3]))
    assert np.isnan(value(whole, 0.5))
    real = law_of(bdp.mechanisms.LaplaceMechanism(2.0, 1.0), np.array([3.0]))
    assert np.isnan(value(real, np.nan))
    assert np.isnan(value(real, np.inf))
    assert value(real, 1e300) == -np.inf
    bounded = bdp.mechanisms.LaplaceMechanism(2.0, 1.0, bounds=(0.0, 5.0), bounding="truncated")
    assert value(law_of(bounded, np.array([3.0])), -0.001) == -np.inf
    counts = law_of(
        bdp.mechanisms.DirichletMultinomialMechanism(None, 4, 3, 1.0), np.array([(1, 1, 2)])
    )
    assert np.isnan(value(counts, (1.0, -1.0, 0.0)))
    assert np.isnan(value(counts, (1.0, 0.5, 0.0)))
    utilities = law_of(bdp.mechanisms.ExponentialMechanism(1.0, 1.0, 2), np.array([1]))
    assert np.isnan(value(utilities, (1.0, np.nan)))


def test_other_laws():
    rng = np.random.default_rng(2)
    histogram = bdp.mechanisms.PerturbedHistogramMechanism(1.7, 3)
    zeros = bdp.mechanisms.DirichletMultinomialMechanism(
        None, 6, 4, (1.0, 2.0, 0.0, 0.5), zeros=(2,)
    )
    vectors = {
        histogram: [(4, 0, 2), (0, 3, 1)],
        bdp.mechanisms.ExponentialMechanism(1.3, 1.0, 3, monotone=True): [0, 2],
        bdp.mechanisms.ExponentialMechanism(0.7, 2.0, 3): [1],
        bdp.mechanisms.DirichletMultinomialMechanism(9, 5, 3, 1.5): [(1, 2, 2), (5, 0, 0)],
        bdp.mechanisms.ConjugateMechanism(
            "categorical", "synthetic_one", 9, (1.0, 2.0, 0.5), size=4
        ): [(2, 1, 1)],
        zeros: [(1, 2, 0, 3)],
    }
    for mechanism, outputs in vectors.items():
        for _ in range(10):
            k = 4 if mechanism is zeros else 3
            counts = rng.multinomial(9, np.full(k, 1 / k))
            if mechanism is zeros:
                counts[0] += counts[2]
                counts[2] = 0
            truth = sum(float(mechanism.logp(np.array(z), counts)) for z in outputs)
            assert value(law_of(mechanism, np.array(outputs)), counts) == pytest.approx(truth)
    assert value(law_of(zeros, np.array(vectors[zeros])), (1, 1, 1, 1)) == -np.inf
    draw = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 10, (1.5, 2.5), size=8)
    for of_ones in (bdp.mechanisms.BetaBinomialMechanism(10, 8, (1.5, 2.5)), draw):
        for ones in range(11):
            truth = sum(float(of_ones.logp(z, bdp.Count(ones, 10))) for z in (3, 8))
            both = law_of(of_ones, np.array([3, 8]))
            assert value(both, (ones, 10 - ones)) == pytest.approx(truth)


def test_answers_count_by_pattern():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (2, 5)), n=4)
    law = law_of(mechanism, np.array([(0, 1, 1, 0), (1, 1, 1, 1)]))
    assert not isinstance(law, AdditiveLaw)
    assert law.counts.tolist() == [2, 2]
    assert law.where.tolist() == [0, 1, 1, 0]
    assert law.columns == pytest.approx(np.array([[3 / 16, 1 / 16], [10 / 49, 25 / 49]]))


def test_others_are_refused():
    copies = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 10, (4.0, 4.0))
    for mechanism in (copies, bdp.mechanisms.PermuteAndFlipMechanism(1.0, 1.0, 3)):
        with pytest.raises(
            bdp.errors.InvalidInput, match=r"data augmentation takes LaplaceMechanism"
        ):
            law_of(mechanism, np.array([0]))
