"""Calibration of whole tables' posteriors: ranks under their own prior, and coverage without it."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from tests.latent_classes import from_the_prior

FALSE_ALARM = 1e-6
KEPT = 40
pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),  # few draws
    pytest.mark.filterwarnings("ignore:the chains differ in:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*of the spread of:UserWarning"),  # of few records
    pytest.mark.slow,
]


def measured(schema, codes, epsilon, noise, seed):
    """All pairs of columns, with the number of records public."""
    made = bdp.mechanisms.NoisyTableMechanism.calibrate(
        epsilon=epsilon,
        delta=1e-6 if noise == "gaussian" else 0.0,
        schema=schema,
        marginals=[list(itertools.combinations(schema.columns, 2))],
        noise=noise,
        neighbours="replace_one",
        n=len(codes),
    )
    with bdp.reproducible(seed):
        return bdp.Release.of(made, made.release(made.statistic_of(codes)), delta=1e-6)


@pytest.mark.parametrize(
    ("noise", "epsilon", "replicates"),
    [
        ("laplace", 2.0, 40),
        pytest.param("gaussian", 2.0, 300, marks=pytest.mark.calibrate),
        pytest.param("laplace", 0.3, 300, marks=pytest.mark.calibrate),
    ],
)
def test_true_counts_rank_uniformly(noise, epsilon, replicates):
    """A record's cells, pairs and the triple: each true count among those of latent tables."""
    levels = (2, 3, 2)
    names = [f"c{k}" for k in range(3)]
    schema = bdp.Schema(
        {
            name: {"type": "integer", "bounds": (0, k - 1)}
            for name, k in zip(names, levels, strict=True)
        }
    )
    rng = np.random.default_rng(41)
    ranks = []
    for seed in range(replicates):
        codes = pd.DataFrame(from_the_prior(rng, levels, 3, 40), columns=names)
        release = measured(schema, codes, epsilon, noise, seed)
        run = {"draws": 10 * KEPT, "warmup": 100, "chains": 1, "thin": 1, "tables": KEPT}
        posterior = bdp.TableModel(classes=3, rake=False).fit(release, **run, seed=seed)
        for columns in ([names[1]], names[:2], names):
            places = [schema.cells[name] for name in columns]
            cell = rng.integers(np.prod(places))
            true = np.ravel_multi_index(codes[columns].to_numpy().T, places)
            counts = posterior.table(columns, target="data").draws[:, cell]
            low = np.sum(counts < np.sum(true == cell))
            ties = np.sum(counts == np.sum(true == cell))
            ranks.append(low + rng.integers(0, ties + 1))
    bins = 5
    found = np.bincount(np.array(ranks) * bins // (KEPT + 1), minlength=bins)
    assert stats.chisquare(found).pvalue > FALSE_ALARM


@pytest.mark.calibrate
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_intervals_cover_a_population_that_is_no_latent_class_model(epsilon):
    """A log-linear population with all pairs' interactions; 60 replicates of 500 records."""
    levels = (3, 2, 3, 2)
    names = list("abcd")
    schema = bdp.Schema(
        {
            name: {"type": "integer", "bounds": (0, k - 1)}
            for name, k in zip(names, levels, strict=True)
        }
    )
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        log = np.zeros(levels)
        for order, sd in ((1, 0.7), (2, 0.5)):
            for part in itertools.combinations(range(4), order):
                log = log + rng.normal(0, sd, [levels[k] if k in part else 1 for k in range(4)])
        p = np.exp(log) / np.exp(log).sum()
        cells = np.unravel_index(rng.choice(p.size, 500, p=p.ravel()), levels)
        codes = pd.DataFrame(np.stack(cells, axis=1), columns=names)
        release = measured(schema, codes, epsilon, "gaussian", seed)
        run = {"draws": 300, "warmup": 200, "chains": 2, "thin": 1, "tables": 150, "seed": seed}
        posterior = bdp.TableModel().fit(release, **run)
        for i, j in itertools.combinations(range(4), 2):
            rest = tuple(k for k in range(4) if k not in (i, j))
            ends = posterior.table([names[i], names[j]], seed=seed).interval()
            true = p.sum(axis=rest).ravel()
            covered.append(np.mean((ends["lower"] <= true) & (true <= ends["upper"])))
    each = np.array(covered).reshape(60, -1).mean(axis=1)
    error = each.std(ddof=1) / math.sqrt(60)
    assert abs(each.mean() - 0.95) < 0.02 + 5 * error


BINS = {"age": np.linspace(20, 80, 7), "income": np.array([0.0, 1, 2, 3, 4, 6, 10])}
TREND = bdp.Schema(
    {name: {"type": "real", "bounds": (a[0], a[-1]), "bins": list(a)} for name, a in BINS.items()}
    | {"college": {"type": "boolean"}}
)


def trend(rng, n):
    """Records whose income grows by 0.02 a year and by 1 with college, and both with chance."""
    age, college = rng.uniform(20, 80, n), rng.random(n) < 0.3
    income = np.clip(2.0 + 0.02 * (age - 50) + college + rng.normal(0, 1.2, n), 0, 10)
    return pd.DataFrame({"age": age, "income": income, "college": college})


def slopes(epsilon, replicates, rake=True):
    """Posterior means of the slope by age, whether its intervals cover the truth, and the truth."""
    big = trend(np.random.default_rng(1), 300_000)
    cells = TREND.coded(big)
    middles = {name: TREND.columns[name].middles[cells[name]] for name in ("age", "income")}
    design = np.column_stack([np.ones(len(big)), middles["age"], big["college"]])
    true = np.linalg.lstsq(design, middles["income"], rcond=None)[0][1]
    found = []
    for seed in range(replicates):
        codes = TREND.coded(trend(np.random.default_rng(100 + seed), 1500))
        release = measured(TREND, codes, epsilon, "gaussian", seed)
        run = {"draws": 60, "warmup": 80, "chains": 1, "thin": 1, "tables": 60, "seed": seed}
        posterior = bdp.TableModel(rake=rake).fit(release, **run)
        row = posterior.regression("income ~ age + college", by="tables", seed=seed)
        row = row.interval().loc["age"]
        found.append((row["mean"], row["lower"] <= true <= row["upper"]))
    means, covered = np.array(found).T
    return means, covered, true


def test_raking_gives_a_slope_back_what_the_prior_took():
    """At epsilon 1 half of what was lost at least, over 8 replicates of the same records."""
    with_it, _, true = slopes(1.0, 8)
    without, _, _ = slopes(1.0, 8, rake=False)
    assert np.mean(without) < 0.85 * true
    assert true - np.mean(with_it) < (true - np.mean(without)) / 2


@pytest.mark.calibrate
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0])
def test_intervals_cover_a_slope(epsilon):
    """Intervals of 95% from 60 tables, in 60 replicates.

    Quantiles of so few cover 93%; 46 of 60 or fewer then have a probability of 1e-6.
    """
    _, covered, _ = slopes(epsilon, 60)
    assert np.sum(covered) > 46
