"""Effective draws a second of every engine of every model, beside those of its own engine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput, MissingDependency
from tests.benchmarks.measure import line

M, S = bdp.mechanisms, bdp.synthesizers
GROUPS = "abcdefgh"


def _counts() -> dict[str, bdp.Count]:
    rng = np.random.default_rng(1)
    return {g: bdp.Count(int(rng.binomial(100, rng.beta(3, 5))), 100) for g in GROUPS}


def _proportion() -> tuple[Any, bdp.Release]:
    made = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=2)
    return bdp.BinomialModel(), made.release(bdp.Count(380, 1000))


def _proportions() -> tuple[Any, bdp.Release]:
    made = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=2)
    return bdp.models.HierarchicalBinomialModel(), made.release(_counts())


def _answers() -> tuple[Any, bdp.Release]:
    made = M.RandomizedResponseMechanism.kary(2.0, 3, 2000)
    records = np.random.default_rng(2).choice(3, 2000, p=(0.2, 0.3, 0.5))
    return bdp.MultinomialModel((1.0, 1.0, 1.0)), bdp.publish(made, records)


def _rates() -> tuple[Any, bdp.Release]:
    noise = M.DiscreteLaplaceMechanism(2.0, 1.0, dimension=12)
    events = np.random.default_rng(3).poisson(20, 12)
    return bdp.models.PoissonModel((2.0, 0.1)), bdp.publish(noise, events)


def _mean_and_sd() -> tuple[Any, bdp.Release]:
    noise = M.LaplaceMechanism(0.05, 0.02, "replace_one", 2, n=500)
    return bdp.GaussianModel((0.0, 0.1, 2.0, 1.0)), bdp.Release.of(noise, [(0.40625, 1.09375)])


def _means() -> tuple[Any, bdp.Release]:
    noise, rng = M.LaplaceMechanism(0.1, 0.02, "replace_one", n=50), np.random.default_rng(4)
    outputs = {g: (noise, [float(np.round(rng.normal(0, 1) * 64) / 64)]) for g in GROUPS}
    model = bdp.models.HierarchicalGaussianModel((0.0, 5.0), 2.0, sd=1.0)
    return model, bdp.Release.of_groups(outputs)


def _people() -> Any:
    import pandas as pd

    rng = np.random.default_rng(5)
    age, sex = rng.uniform(18, 90, 500), rng.integers(0, 2, 500)
    hours = np.clip(20 + 0.2 * age + 3 * sex + rng.normal(0, 5, 500), 0, 80)
    old = (age > 50).astype(np.int64)
    smokes = (rng.random(500) < 0.2 + 0.2 * sex).astype(np.int64)
    return pd.DataFrame({"age": age, "sex": sex, "hours": hours, "old": old, "smokes": smokes})


def _line() -> tuple[Any, bdp.Release]:
    bounds = {"age": (18, 90), "sex": (0, 1), "hours": (0, 80)}
    made = S.NoisyMomentsSynthesizer(bounds, epsilon=4.0)
    return bdp.LinearRegressionModel("hours"), made.release(_people()[[*bounds]])


def _cells() -> bdp.Release:
    categories = {"old": (0, 1), "sex": (0, 1), "smokes": (0, 1)}
    made = S.PerturbedHistogramSynthesizer(epsilon=1.0, categories=categories)
    return made.release(_people()[[*categories]])


def _table() -> tuple[Any, bdp.Release]:
    return bdp.models.LogLinearModel("old*sex + sex*smokes"), _cells()


def _odds() -> tuple[Any, bdp.Release]:
    return bdp.LogisticRegressionModel("smokes ~ old + sex"), _cells()


def _graph() -> bdp.Release:
    import networkx

    return S.EdgeFlipSynthesizer(3.0).release(networkx.karate_club_graph(), copies=1)


def _popularity() -> tuple[Any, bdp.Release]:
    return bdp.models.NetworkBetaModel(), _graph()


def _ties() -> tuple[Any, bdp.Release]:
    return bdp.models.ERGMModel("edges"), _graph()


CASES: dict[str, Callable[[], tuple[Any, bdp.Release]]] = {
    "a proportion, 2 copies": _proportion,
    "proportions of 8 groups": _proportions,
    "2,000 answers at random": _answers,
    "rates of 12 areas": _rates,
    "a mean and an sd": _mean_and_sd,
    "means of 8 groups": _means,
    "a regression on 2 columns": _line,
    "a logistic regression": _odds,
    "a log-linear model, 8 cells": _table,
    "popularity of 34 nodes": _popularity,
    "density of a graph": _ties,
}


def engines() -> None:
    """Of the number that mixes worst, in a second fit, whose code has been compiled."""
    for name, case in CASES.items():
        with bdp.reproducible(7):
            model, release = case()
        own = _chosen(model, release)
        ours = _effective(model, release, own)
        line(f"{name}: {own}", f"{ours:,.0f} /s", "effective draws, own engine", 1.0, "the fastest")
        for engine in model.engines:
            if engine == own:
                continue
            try:
                theirs = _effective(model, release, engine)
            except (InvalidInput, MissingDependency):
                continue  # which this release, or this machine, doesn't allow
            line(f"{name}: {engine}", f"{theirs:,.0f} /s", f"those by {own}", theirs / ours, "none")


def _chosen(model: Any, release: bdp.Release) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(model.fit(release, draws=100, warmup=100, seed=1).attrs["engine"])


def _effective(model: Any, release: bdp.Release, engine: str) -> float:
    az, best = import_arviz(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in (1, 2):  # the first compiles
            start = time.perf_counter()
            idata = model.fit(release, engine=engine, seed=seed)
            took = time.perf_counter() - start
            least = min(float(each.min()) for each in az.ess(idata).data_vars.values())
            best = least / took
    return best
