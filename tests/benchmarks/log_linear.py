"""Log-linear models: ten binary columns, all main effects and two-way interactions."""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.mechanisms.counts.cells import Axis
from tests.benchmarks.measure import line

COLUMNS = {f"c{k}": [0, 1] for k in range(10)}
RECORDS = 10_000


def table() -> np.ndarray:
    """A draw of the model itself: effects with standard deviation 0.25."""
    rng = np.random.default_rng(1)
    cells = np.argwhere(np.ones((2,) * 10)) * -2 + 1
    pairs = [cells[:, i] * cells[:, j] for i, j in itertools.combinations(range(10), 2)]
    eta = np.concatenate([cells, np.stack(pairs, axis=1)], axis=1) @ rng.normal(0, 0.25, 55)
    return rng.multinomial(RECORDS, np.exp(eta) / np.exp(eta).sum())


def releases() -> dict[str, bdp.Release]:
    axes = tuple(Axis(name, categories=labels) for name, labels in COLUMNS.items())
    pairs = list(itertools.combinations(COLUMNS, 2))
    made = bdp.synthesizers.LogLinearSynthesizer(1.0, marginals=pairs, categories=COLUMNS)
    public = bdp.synthesizers.LogLinearSynthesizer(
        1.0, marginals=pairs, categories=COLUMNS, neighbours="replace_one"
    )
    replace = bdp.Neighbours.REPLACE_ONE
    with bdp.reproducible(1):
        return {
            "two-way marginals": made.release(counts=table()),
            "two-way marginals, n public": public.release(counts=table()),
            "cells": bdp.publish(
                bdp.mechanisms.PerturbedHistogramMechanism(1.0, 1024, axes=axes), table()
            ),
            "cells, n public": bdp.publish(
                bdp.mechanisms.PerturbedHistogramMechanism(2.0, 1024, replace, RECORDS, axes),
                table(),
            ),
        }


def quality(idata: Any) -> tuple[float, float]:
    """The worst R-hat and bulk ESS of all coefficients."""
    az = import_arviz()
    beta = idata.posterior["beta"].to_numpy()
    each = [{"b": beta[..., k]} for k in range(beta.shape[-1])]
    return (
        max(float(az.rhat(b)["b"]) for b in each),
        min(float(az.ess(b)["b"]) for b in each),
    )


def log_linear() -> None:
    """Whole fits, without the first call's compilation; the goal is 60 s, R-hat 1.01, ESS 400."""
    for prior, kind in ((1.0, "fixed"), (None, "hierarchical")):
        model = bdp.models.LogLinearModel("(.)^2", prior=prior)
        for what, release in releases().items():
            options: dict[str, Any] = {"seed": 1, "cells": False}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(release, draws=5, warmup=5, **options)
                start = time.perf_counter()
                idata = model.fit(release, draws=1000, warmup=500, thin=2, **options)
                took = time.perf_counter() - start
            rhat, ess = quality(idata)
            reached = f"60 s; R-hat {rhat:.3f}, ESS {ess:.0f}, {idata.attrs['engine']}"
            name = f"log-linear, 2^10 {what}, {kind} tau"
            line(name, f"{took:.1f} s", reached, 60 / took, "60 s, 1.01, 400")
