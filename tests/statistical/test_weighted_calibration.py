"""Coverage of shares from a survey's noisy weighted counts, whose weights tell of the answers.

Records are sampled in proportion to a size that the answer depends on, so that shares without
weights are biased. False alarm 1e-6 a test.
"""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines.weighted_sums import draw_shares
from bayesdp.inference.counts import weighted_share

pytestmark = pytest.mark.slow
MANY = 5.2  # standard errors, of a false alarm of 2e-7 for each of three shares
LABELS = ("works", "studies", "neither")


def population(members: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of members, from 1/5 to 8, and their answers, in which they tell."""
    rng = np.random.default_rng(1)
    size = np.clip(rng.lognormal(0, 0.6, members), 0.2, 8)
    odds = np.stack([size**0.9, np.full(members, 0.37), 0.11 / np.sqrt(size)], axis=-1)
    below = (odds / odds.sum(-1, keepdims=True)).cumsum(-1)
    return size, (rng.random((members, 1)) > below).sum(-1)


def covered(
    n: int, epsilon: float, replicates: int, fields: dict, draws: int = 1000
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Coverage and mean length of 95% intervals, by method, for each share."""
    size, answer = population()
    truth = np.bincount(answer, minlength=3) / answer.size
    chance, largest = size / size.sum(), size.sum() / (0.2 * n)
    below = chance.cumsum()
    made = bdp.synthesizers.WeightedCountsSynthesizer(
        {"answer": LABELS}, largest, epsilon, **fields
    )
    model = bdp.models.WeightedShareModel()
    hit = {name: np.zeros(3) for name in ("model", "data", "naive", "unweighted")}
    length = {name: np.zeros(3) for name in hit}
    for seed in range(replicates):
        rng = np.random.default_rng([n, seed])
        drawn = np.searchsorted(below, rng.random(n) * below[-1])
        weight, codes = 1 / (n * chance[drawn]), answer[drawn]
        people = pd.DataFrame({"answer": np.array(LABELS)[codes], "weight": weight})
        with bdp.reproducible(seed):
            (known,) = model.read(made.release(people))
        sums = weighted_share._given_noise(known, draws, rng)
        believed = weighted_share._believed(known, draws, rng)
        sample = np.bincount(codes, weight, 3) / weight.sum()
        for name, share, true in (
            ("model", draw_shares(sums, known.pseudo, rng), truth),
            ("data", weighted_share._shares_of(sums), sample),
            ("naive", draw_shares(believed, known.pseudo, rng), truth),
            ("unweighted", rng.dirichlet(np.bincount(codes, minlength=3) + 1, draws), truth),
        ):
            low, high = np.quantile(share, [0.025, 0.975], axis=0)
            hit[name] += (low <= true) & (true <= high)
            length[name] += high - low
    return (
        {name: count / replicates for name, count in hit.items()},
        {name: total / replicates for name, total in length.items()},
    )


@pytest.mark.parametrize(
    ("n", "epsilon", "fields", "replicates"),
    [
        (500, 1.0, {}, 300),
        *[
            pytest.param(n, epsilon, fields, 600, marks=pytest.mark.calibrate)
            for n in (500, 2000)
            for epsilon in (0.5, 1.0, 3.0)
            for fields in ({}, {"neighbours": "replace_one"})
        ],
        pytest.param(500, 1.0, {"noise": "gaussian", "delta": 1e-6}, 600,
                     marks=pytest.mark.calibrate),
        pytest.param(2000, 1.0, {"copies": 4}, 600, marks=pytest.mark.calibrate),
    ],
)  # fmt: skip
def test_intervals_of_shares_cover_them(n, epsilon, fields, replicates):
    """And those that leave out the noise, where it is large, or the weights, don't."""
    found, _ = covered(n, epsilon, replicates, fields, draws=400 if replicates == 300 else 1000)
    error = math.sqrt(0.95 * 0.05 / replicates)
    for name in ("model", "data"):
        assert np.all(np.abs(found[name] - 0.95) < MANY * error), (name, found[name])
    assert found["unweighted"].min() < 0.5
    if n * epsilon <= 500:
        assert found["naive"].min() < 0.95 - MANY * error
