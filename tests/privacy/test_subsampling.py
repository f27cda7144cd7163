"""Amplification by subsampling, against enumeration of all samples."""

import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.privacy.profile import hockey_stick

SCHEMES = {"poisson": "add_remove", "without_replacement": "replace_one"}


def promise(epsilon, delta=0.0, neighbours="add_remove", rho=None):
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours(neighbours), bdp.Strength.PROVED, ("A.",), "a test", rho
    )


def response(sample, epsilon, delta):
    """Whether the sample has a 1, with noise, or with probability delta without."""
    p = 1 / (1 + math.exp(-epsilon))
    noisy, says = ((1 - p, p), (0, delta)) if 1 in sample else ((p, 1 - p), (delta, 0))
    return np.array([(1 - delta) * noisy[0], (1 - delta) * noisy[1], *says])


def poisson(data, rate, run):
    law = 0
    for kept in itertools.product((0, 1), repeat=len(data)):
        chance = math.prod(rate if k else 1 - rate for k in kept)
        law = law + chance * run([x for x, k in zip(data, kept, strict=True) if k])
    return law


def without_replacement(data, rate, run):
    samples = list(itertools.combinations(data, round(rate * len(data))))
    return sum(run(sample) for sample in samples) / len(samples)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_samples_enumerated(epsilon, delta, rate, scheme):
    """The claim holds for all neighbours, and the pair (all 0, one 1) attains it."""
    claim = bdp.privacy.subsampled(
        promise(epsilon, delta, SCHEMES[scheme]), rate=rate, scheme=scheme
    )
    attained = 0.0
    for data in itertools.product((0, 1), repeat=4):
        neighbours = (
            [data[:k] + data[k + 1 :] for k in range(4)]
            if scheme == "poisson"
            else [(*data[:k], 1 - data[k], *data[k + 1 :]) for k in range(4)]
        )
        for other in neighbours:
            sampler = poisson if scheme == "poisson" else without_replacement
            p, q = (sampler(d, rate, lambda s: response(s, epsilon, delta)) for d in (data, other))
            with np.errstate(divide="ignore"):
                p, q = np.log(p), np.log(q)
            for a, b in ((p, q), (q, p)):
                found = hockey_stick(a, b, claim.epsilon)
                assert found <= claim.delta + 1e-13  # of the sums here
                attained = max(attained, hockey_stick(a, b, claim.epsilon * (1 - 1e-6)))
    assert attained > claim.delta


def test_what_it_says():
    made = bdp.privacy.subsampled(promise(1.0, 1e-6, rho=0.3), rate=0.1)
    assert made.epsilon == pytest.approx(math.log1p(0.1 * math.expm1(1)), rel=1e-14)
    assert made.delta == pytest.approx(1e-7)
    assert (made.rho, made.neighbours) == (0.3, bdp.Neighbours.ADD_REMOVE)
    assert made.assumptions[0] == "A."
    assert "nobody learns" in made.assumptions[1]
    assert bdp.privacy.subsampled(promise(1.0, 0.1), rate=1).epsilon == 1.0
    assert bdp.privacy.subsampled(promise(900.0), rate=0.5).epsilon == pytest.approx(
        900 + math.log(0.5)
    )
    assert bdp.privacy.subsampled(promise(math.inf), rate=0.5).epsilon == math.inf
    assert bdp.privacy.subsampled(promise(0.0), rate=0.5).epsilon == 0.0


def test_what_is_too_small_for_a_float_is_not_nothing():
    assert bdp.privacy.subsampled(promise(1e-200), rate=1e-200).epsilon > 0


def test_bad_arguments():
    for rate in (0, -0.1, 1.1, math.nan, "all", True):
        with pytest.raises(bdp.errors.InvalidInput, match="rate is"):
            bdp.privacy.subsampled(promise(1.0), rate=rate)
    with pytest.raises(bdp.errors.InvalidInput, match="scheme is 'shuffle'"):
        bdp.privacy.subsampled(promise(1.0), rate=0.1, scheme="shuffle")
    with pytest.raises(bdp.errors.InvalidInput, match="guarantee is 1"):
        bdp.privacy.subsampled(1.0, rate=0.1)
    for scheme, own in SCHEMES.items():
        for other in bdp.Neighbours:
            if other.value != own:
                with pytest.raises(bdp.errors.InvalidInput, match=f"amplifies under '{own}' alone"):
                    bdp.privacy.subsampled(promise(1.0, 0.0, other.value), rate=0.1, scheme=scheme)
