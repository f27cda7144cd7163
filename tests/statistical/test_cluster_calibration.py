"""Coverage of shares from noisy weighted counts of a survey that was sampled by cluster.

Clusters are drawn in proportion to a size that is known roughly, with replacement, in strata that
differ; answers are alike within a cluster, and depend on its size. False alarm 1e-6 a test.
"""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

pytestmark = pytest.mark.slow
MANY = 5.2  # standard errors, of a false alarm of 2e-7 for each of three shares
LABELS = ("works", "studies", "neither")
LIKELY = np.array([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.7, 0.2, 0.1], [0.5, 0.3, 0.2]])
WITHIN = 2_000  # clusters of a stratum in the population


@dataclasses.dataclass(frozen=True)
class Survey:
    """Strata, sampled clusters of each, records of each cluster, and how alike they are."""

    strata: int
    clusters: int
    records: int
    alike: float

    def population(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """True and supposed sizes of clusters, (strata, WITHIN), and their shares."""
        rng = np.random.default_rng(1)
        size = rng.lognormal(0, 0.5, (self.strata, WITHIN))
        supposed = np.clip(size * rng.lognormal(0, 0.3, size.shape), size / 2, None)
        likely = LIKELY[np.arange(self.strata) % 4][:, None] * np.stack(
            [size**0.5, np.ones_like(size), size**-0.5], axis=-1
        )
        likely /= likely.sum(axis=-1, keepdims=True)
        return size, supposed, rng.standard_gamma(likely * (1 / self.alike - 1))

    def sample(self, seed: int, population: tuple) -> pd.DataFrame:
        """Records, with weights up to 2 / records of a stratum's mean."""
        size, supposed, odds = population
        rng = np.random.default_rng([2, seed])
        rows = []
        for h in range(self.strata):
            chance = supposed[h] / supposed[h].sum()
            drawn = rng.choice(WITHIN, self.clusters, p=chance)
            share = odds[h, drawn] / odds[h, drawn].sum(axis=-1, keepdims=True)
            below = share.cumsum(axis=-1)[:, None, :2]
            answer = (rng.random((self.clusters, self.records, 1)) > below).sum(axis=-1)
            weight = size[h, drawn] / (chance[drawn] * self.clusters * self.records)
            rows.append(
                pd.DataFrame(
                    {
                        "cluster": np.repeat(
                            np.arange(self.clusters) + h * self.clusters, self.records
                        ),
                        "answer": np.array(LABELS)[answer.ravel()],
                        "weight": np.repeat(weight, self.records),
                    }
                )
            )
        made = pd.concat(rows, ignore_index=True)
        made["sex"] = np.where(rng.random(len(made)) < 0.4, "f", "m")
        return made

    @property
    def model(self) -> bdp.models.WeightedShareModel:
        strata = {h: range(h * self.clusters, (h + 1) * self.clusters) for h in range(self.strata)}
        return bdp.models.WeightedShareModel(clusters="cluster", strata=strata)


def covered(survey: Survey, epsilon: float, replicates: int, by: str | None = None, **fields):
    """Coverage and mean length of 95% intervals, by method, for each share."""
    population = survey.population()
    size, supposed, odds = population
    share = odds / odds.sum(axis=-1, keepdims=True)
    truth = (size[..., None] * share).sum(axis=(0, 1)) / size.sum()
    largest = 2.0001 * supposed.sum(axis=-1).max() / (survey.clusters * survey.records)
    made = bdp.synthesizers.WeightedCountsSynthesizer(
        {"cluster": range(survey.strata * survey.clusters), "answer": LABELS},
        largest, epsilon, groups=["f", "m"] if by else None, **fields,
    )  # fmt: skip
    hit = {name: np.zeros(3) for name in ("model", "data", "independent", "first")}
    length = {name: np.zeros(3) for name in hit}
    for seed in range(replicates):
        people = survey.sample(seed, population)
        with bdp.reproducible(seed):
            release = made.release(people, by=None if by is None else people[by])
            whole = dataclasses.replace(made, categories={"answer": LABELS}, groups=None).release(
                people
            )
        name = "share" if by is None else "overall"
        sums = people.groupby("answer")["weight"].sum().reindex(LABELS, fill_value=0.0)
        sample = (sums / sums.sum()).to_numpy()
        options = {"draws": 500, "chains": 2, "seed": seed}
        of = {
            "model": (survey.model.fit(release, **options), name, truth),
            "data": (survey.model.fit(release, target="data", **options), name, sample),
            "independent": (bdp.models.WeightedShareModel().fit(whole, **options), "share", truth),
        }
        if by is not None:
            of["first"] = (of["model"][0].isel(group=0), "share", truth)
        for method, (idata, variable, true) in of.items():
            low, high = (
                idata.posterior[variable].quantile([0.025, 0.975], ("chain", "draw")).to_numpy()
            )
            hit[method] += (low <= true) & (true <= high)
            length[method] += high - low
    return (
        {name: count / replicates for name, count in hit.items()},
        {name: total / replicates for name, total in length.items()},
    )


@pytest.mark.parametrize(
    ("survey", "epsilon", "by", "fields", "replicates"),
    [
        (Survey(1, 20, 30, 0.1), 1.0, None, {}, 100),
        *[
            pytest.param(survey, epsilon, by, {}, 400, marks=pytest.mark.calibrate)
            for survey, epsilon, by in (
                (Survey(1, 20, 30, 0.1), 0.5, None),
                (Survey(15, 2, 30, 0.1), 1.0, None),
                (Survey(15, 2, 30, 0.1), 3.0, None),
                (Survey(4, 15, 30, 0.05), 0.5, None),
                (Survey(1, 60, 30, 0.02), 1.0, None),
                (Survey(4, 10, 30, 0.1), 1.0, "sex"),
            )
        ],
        *[
            pytest.param(Survey(1, 20, 30, 0.1), 1.0, None, fields, 400,
                         marks=pytest.mark.calibrate)
            for fields in ({"noise": "gaussian", "delta": 1e-6}, {"neighbours": "replace_one"},
                           {"copies": 3})
        ],
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the clusters tell little")  # of few of many samples
def test_intervals_of_shares_cover_them(survey, epsilon, by, fields, replicates):
    """And those that leave out that records of a cluster are alike don't."""
    found, length = covered(survey, epsilon, replicates, by, **fields)
    error = math.sqrt(0.95 * 0.05 / replicates)
    for name in ("model", "data", *(["first"] if by else [])):
        assert np.all(np.abs(found[name] - 0.95) < MANY * error), (name, found[name])
    if survey.alike >= 0.1:
        assert found["independent"].mean() < 0.85
    assert np.all(length["data"] < length["model"])
