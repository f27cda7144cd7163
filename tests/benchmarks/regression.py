"""Regressions from noisy releases: effective draws in time, and coverage of their intervals."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.mechanisms.counts.cells import Axis
from tests.benchmarks.measure import line

DRAWS = 2000  # effective ones, of every coefficient
REPLICATES = 500


def table(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Records within (-1, 1): predictors that are correlated, uniform, and a response."""
    common = rng.uniform(-0.5, 0.5, (n, 1))
    x = common + rng.uniform(-0.5, 0.5, (n, p))
    y = 0.1 + x @ (0.4 / np.arange(1, p + 1)) + rng.normal(0, 0.1, n)
    return np.column_stack([x, np.clip(y, -1, 1)])


def declared(p: int, epsilon: float, **known: Any) -> bdp.synthesizers.NoisyMomentsSynthesizer:
    names = [*(f"x{j}" for j in range(p)), "y"]
    return bdp.synthesizers.NoisyMomentsSynthesizer(
        dict.fromkeys(names, (-1.0, 1.0)), epsilon=epsilon, **known
    )


def regression() -> None:
    """10 covariates: the seconds that 2,000 effective draws take, of the worst coefficient."""
    az, rng = import_arviz(), np.random.default_rng(1)
    model = bdp.LinearRegressionModel("y")
    for n, epsilon, noise in (
        (1000, 1.0, "laplace"),
        (1000, 10.0, "laplace"),
        (10**5, 1.0, "laplace"),
        (1000, 1.0, "gaussian"),
    ):
        delta = 0.0 if noise == "laplace" else 1e-6
        release = declared(10, epsilon, noise=noise, delta=delta).release(table(rng, n, 10))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(release, draws=10, warmup=20, seed=1)  # compiles, or reads what was compiled
        first = time.perf_counter() - start
        start = time.perf_counter()
        idata = model.fit(release, draws=800, warmup=600, seed=1)
        took = time.perf_counter() - start
        ess = float(az.ess(idata, var_names=["beta"])["beta"].min())
        seconds = took * max(1.0, DRAWS / ess)
        line(f"10 covariates, n = {n}, epsilon {epsilon:g}, {noise}",
             f"{seconds:.1f} s", "of 10 s for 2,000 effective", seconds / 10, "1")  # fmt: skip
        print(f"    {ess:.0f} effective of 3,200 in {took:.1f} s; loading before: {first:.1f} s")


def coverage(replicates: int = REPLICATES) -> None:
    """Of 95% intervals, through release and fit: two predictors that aren't normal, n = 1,000."""
    truth = np.array([0.1, 0.4, 0.2])
    for epsilon in (0.1, 1.0, 10.0):
        covered, naive = np.zeros(3), []
        for i in range(replicates):
            records = table(np.random.default_rng([2, i]), 1000, 2)
            release = declared(2, epsilon).release(records)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of one in hundreds
                idata = bdp.LinearRegressionModel("y").fit(
                    release, draws=400, chains=2, warmup=300, seed=i
                )
            low, high = np.quantile(idata.posterior["beta"], [0.025, 0.975], axis=(0, 1))
            covered += (low <= truth) & (truth <= high)
            try:
                wrong = bdp.LinearRegressionModel("y").fit_naive(release, seed=i).posterior["beta"]
            except bdp.errors.InvalidInput:
                continue
            low, high = np.quantile(wrong, [0.025, 0.975], axis=(0, 1))
            naive.append((low <= truth) & (truth <= high))
        share = 100 * covered.mean() / replicates
        line(f"coverage of coefficients, epsilon {epsilon:g}", f"{share:.1f} %",
             "of 95 %", share / 95, "1")  # fmt: skip
        each = ", ".join(f"{100 * c / replicates:.1f}" for c in covered)
        print(f"    intercept and slopes: {each}; naive {_percent(naive)}, "
              f"where it exists, {len(naive)} of {replicates}")  # fmt: skip


AGES, SEXES = np.array([20, 35, 50, 65, 80]), np.array(["f", "m"])
LOGIT = np.array([-2.0, 0.03, 0.6])  # the intercept, a year and sex[m]


def survey(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records of age, sex and a response, as cells of their table; and its counts."""
    age, sex = rng.choice(5, n, p=[0.3, 0.25, 0.2, 0.15, 0.1]), rng.integers(2, size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-(LOGIT[0] + LOGIT[1] * AGES[age] + LOGIT[2] * sex)))
    cell = np.ravel_multi_index([age, sex, y.astype(int)], (5, 2, 2))
    return cell, np.bincount(cell, minlength=20)


LABELS = {"age": AGES.tolist(), "sex": SEXES.tolist(), "y": [0, 1]}


def logistic_releases(
    rng: np.random.Generator, n: int, epsilon: float
) -> tuple[dict[str, bdp.Release], dict[str, np.ndarray]]:
    """Of one survey, at the same price; answers of the response alone have public predictors."""
    axes = tuple(Axis(name, categories=tuple(labels)) for name, labels in LABELS.items())
    cell, counts = survey(rng, n)
    copies = bdp.mechanisms.DirichletMultinomialMechanism.calibrate(
        n=n, size=n, cells=20, epsilon=epsilon, axes=axes
    )
    return {
        "cells": bdp.publish(
            bdp.mechanisms.PerturbedHistogramMechanism(1 / epsilon, 20, axes=axes), counts
        ),
        "copies": bdp.publish(copies, counts),
        "answers": bdp.publish(
            bdp.mechanisms.RandomizedResponseMechanism.kary(epsilon, 20, n), cell
        ),
        "public": bdp.publish(
            bdp.mechanisms.RandomizedResponseMechanism.binary(epsilon, n), cell % 2
        ),
    }, {"age": AGES[cell // 4], "sex": SEXES[cell // 2 % 2]}


def logistic_models(data: Any) -> dict[str, bdp.LogisticRegressionModel]:
    """For each of these releases."""
    models = dict.fromkeys(("cells", "copies"), bdp.LogisticRegressionModel("y ~ age + sex"))
    models["answers"] = bdp.LogisticRegressionModel("y ~ age + sex", categories=LABELS)
    models["public"] = bdp.LogisticRegressionModel("y ~ age + sex", data=data)
    return models


def logistic() -> None:
    """Effective draws a second of the worst coefficient: 2,000 records, 20 cells, epsilon 1."""
    az = import_arviz()
    releases, data = logistic_releases(np.random.default_rng(1), 2000, 1.0)
    for kind, model in logistic_models(data).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(releases[kind], draws=10, warmup=20, seed=1)
            start = time.perf_counter()
            idata = model.fit(releases[kind], seed=1)
            took = time.perf_counter() - start
        ess = float(az.ess(idata)["beta"].min())
        seconds = took * max(1.0, DRAWS / ess)
        line(f"logistic regression, {kind}, epsilon 1, {idata.attrs['engine']}",
             f"{seconds:.1f} s", "of 10 s for 2,000 effective", seconds / 10, "1")  # fmt: skip


def logistic_coverage(replicates: int = 200) -> None:
    """Of 95% intervals, through release and fit: 2,000 records."""
    for epsilon in (0.1, 1.0, 10.0):
        covered: dict[str, list[Any]] = {}
        naive: dict[str, list[Any]] = {}
        for i in range(replicates):
            releases, data = logistic_releases(np.random.default_rng([3, i]), 2000, epsilon)
            for kind, model in logistic_models(data).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of one in hundreds
                    options: dict[str, Any] = {"draws": 250, "chains": 2, "warmup": 150, "seed": i}
                    idata = model.fit(releases[kind], **options)
                    covered.setdefault(kind, []).append(_covers(idata, LOGIT))
                    try:
                        wrong = model.fit_naive(releases[kind], **options)
                    except bdp.errors.InvalidInput:
                        continue
                naive.setdefault(kind, []).append(_covers(wrong, LOGIT))
        for kind, found in covered.items():
            share = 100 * float(np.mean(found))
            line(f"coverage, logistic, {kind}, epsilon {epsilon:g}", f"{share:.1f} %",
                 "of 95 %", share / 95, "1")  # fmt: skip
            each = ", ".join(f"{100 * c:.1f}" for c in np.mean(found, axis=0))
            print(f"    intercept and slopes: {each}; naive {_percent(naive.get(kind, []))}, "
                  f"where it exists, {len(naive.get(kind, []))} of {replicates}")  # fmt: skip


def _covers(idata: Any, truth: np.ndarray) -> np.ndarray:
    low, high = np.quantile(idata.posterior["beta"], [0.025, 0.975], axis=(0, 1))
    return np.asarray((low <= truth) & (truth <= high))


def _percent(covered: list[np.ndarray]) -> str:
    return f"{100 * np.mean(covered):.1f}" if covered else "-"
