"""The posterior mode with Laplace noise, against every pair of neighbours."""

import itertools

import numpy as np
import pytest

import bayesdp as bdp


def modes(release: bdp.mechanisms.ConjugateMechanism, data: list) -> np.ndarray:
    return np.array([release.release(release.statistic(x))[0] for x in data])


BERNOULLI = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_map", 5, (1.5, 2.0))
CATEGORICAL = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_map", 3, (1.0, 2.5, 1.25))
GAUSSIAN = bdp.mechanisms.ConjugateMechanism(
    "gaussian", "parameter_map", 2, (3.0, 0.7), R=2.0, sigma=1.5
)
CASES = [(BERNOULLI, (0, 1)), (CATEGORICAL, (0, 1, 2)), (GAUSSIAN, (-2.0, -0.3, 2.0))]


@pytest.mark.parametrize(("release", "values"), CASES, ids=["bernoulli", "categorical", "gaussian"])
def test_sensitivity_is_attained_by_some_neighbours_and_exceeded_by_none(release, values):
    mechanism = bdp.mechanisms.noisy_mode(release, epsilon=1.0)
    worst = 0.0
    for rest in itertools.product(values, repeat=release.n - 1):
        every = modes(release, [(v, *rest) for v in values])
        gaps = np.abs(every[:, None] - every[None]).reshape(len(values), len(values), -1)
        worst = max(worst, gaps.sum(axis=-1).max())
    assert worst <= mechanism.sensitivity <= worst * (1 + 1e-9)
    assert mechanism.guarantee().epsilon <= 1.0
    assert mechanism.guarantee().neighbours is bdp.Neighbours.REPLACE_ONE


def test_the_printed_sensitivities_are_too_small():
    """Zheng (2015), Corollaries 6.2 and 7.3: 1 / (n + a + b), and R / n."""
    assert bdp.mechanisms.noisy_mode(BERNOULLI, epsilon=1.0).sensitivity > 1 / (5 + 3.5)
    flat = bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_map", 100, (0.0, 1e6), R=1.0, sigma=1.0
    )
    assert bdp.mechanisms.noisy_mode(flat, epsilon=1.0).sensitivity == pytest.approx(
        2 / 100, rel=1e-6
    )


def test_a_noisy_mode_is_published():
    statistic = BERNOULLI.statistic([0, 1, 1, 0, 1])
    release = bdp.publish(
        bdp.mechanisms.noisy_mode(BERNOULLI, epsilon=2.0, copies=4),
        BERNOULLI.release(statistic)[0],
        copies=4,
    )
    assert release.guarantee.epsilon <= 2.0
    assert release.guarantee.epsilon == pytest.approx(2.0)
    assert all(0 <= z <= 1 for z in release.outputs)


def test_only_a_mode_needs_noise():
    drawn = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 5, (1, 1))
    with pytest.raises(bdp.errors.InvalidInput, match="randomised already"):
        bdp.mechanisms.noisy_mode(drawn, epsilon=1.0)
