"""Fit of a logistic regression: choose the engine, name the draws."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.engines.log_linear.chains import sample
from bayesdp.errors import InvalidInput
from bayesdp.inference.log_linear.fit import engine_for, naive_counts, obstacle_of
from bayesdp.inference.log_linear.release import closed
from bayesdp.inference.regression.logistic_problem import Setting
from bayesdp.inference.regression.logistic_release import setting_of
from bayesdp.kernels.log_linear.moves import COEFFICIENTS, NUMBERS

_ANSWERS = (
    "the records' true categories are summed out, pattern by pattern of answers, and Hamiltonian "
    "Monte Carlo samples what is left"
)


def chosen(engine: str, setting: Setting) -> tuple[str, str]:
    """Choose the engine and say why, or raise InvalidInput if it can't sample this posterior."""
    if setting.noisy is None:
        if engine == "gibbs":
            raise InvalidInput(
                "engine is 'gibbs', but the release is of answers, whose records sum out; use "
                "engine='auto' or 'hmc'"
            )
        return ("hmc", _ANSWERS) if engine == "auto" else engine_for(engine, "")
    return engine_for(engine, obstacle(setting))


def obstacle(setting: Setting) -> str:
    """Say why the latent table or answers don't sum out; empty where they do."""
    if setting.noisy is None:
        return ""
    if setting.copies is not None:
        return "synthetic tables are drawn given all of them"
    if setting.problem.released.kind == COEFFICIENTS:
        return "the coefficients are a function of the whole table"
    return obstacle_of(setting.problem, setting.noisy)


def sampled(setting: Setting, *, summed: bool, seed: int | None, **options: Any) -> Draws:
    """Draw "beta", in the columns' own units, and "n" where it has a prior."""
    drawn = sample(setting.problem, summed=summed, seed=seed, **options)
    u = drawn.posterior["u"][..., -len(setting.design.labels) :]
    posterior = {"beta": u @ setting.design.shown.T}
    if "n" in drawn.posterior:
        posterior["n"] = drawn.posterior["n"]
    return dataclasses.replace(drawn, posterior=posterior)


def naive_setting(model: Any, release: Any) -> tuple[Setting, NDArray[np.int64] | None]:
    """Read a release as if it were true, and its table, or None where records answered."""
    setting = setting_of(model, release, naive=True)
    if setting.noisy is None:
        return setting, None
    if setting.problem.released.kind == COEFFICIENTS:
        raise InvalidInput(
            "the release is of coefficients, without the table that a posterior needs, so there "
            "is no naive one"
        )
    copies = setting.copies
    counts = naive_counts(setting.noisy) if copies is None else copies.sum(axis=0)
    sizes = None if setting.problem.sizes is None else [(int(counts.sum()), 1.0)]
    # Given the table, what was released of it doesn't matter, and may have no law at its size.
    told = setting.problem.released
    none = closed(np.zeros((len(told.first), 0)), 0.0, laplace=True)
    released = told._replace(kind=NUMBERS, table=np.zeros((len(told.first), 0)), **none)
    problem = dataclasses.replace(setting.problem, sizes=sizes, released=released)
    return dataclasses.replace(setting, problem=problem), counts
