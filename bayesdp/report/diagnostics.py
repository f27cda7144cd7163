"""Diagnostics of a report: was the posterior sampled well enough?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import (
    KNOWN,
    Sampling,
    problems,
    problems_of_weights,
    sampling_of_chains,
)
from bayesdp.engines.draws import APPROXIMATE
from bayesdp.inference.result import known_of
from bayesdp.inference.verdict import HAMILTONIAN, INDEPENDENT
from bayesdp.report.inputs import attribute


@dataclass(frozen=True, slots=True)
class Computation:
    """Computation of a posterior: engine, versions, sizes and the problems found.

    Attributes
    ----------
    engine, reason : str
        The engine that ran, and why it was chosen.
    versions : tuple of (name, version)
        Versions of the software that drew.
    chains, draws : int
        Number of chains, and of draws in each.
    independent : bool
        Whether the draws are independent, so that there is no chain to diagnose.
    pareto_k : float or None
        Of an approximation's weights, how heavy their tail is.
    divergences : int or None
        Number of divergent transitions; None where they weren't recorded.
    problems : tuple of str
        Failed checks in words; empty if every check passed.
    """

    engine: str
    reason: str
    versions: tuple[tuple[str, str], ...]
    chains: int
    draws: int
    independent: bool
    pareto_k: float | None
    divergences: int | None
    problems: tuple[str, ...]


def sampling_of(idata: Any, draws: NDArray[np.float64], name: str | None = None) -> list[Sampling]:
    """Assess how well the posterior was sampled, with one element for each number.

    Parameters
    ----------
    idata : arviz.InferenceData
        A fit, whose attrs name the engine that ran.
    draws : ndarray, shape (chains, draws, numbers)
    name : str, optional
        The variable that the draws are of, where some of its numbers may be known constants.
    """
    engine, each = attribute(idata, "engine"), np.moveaxis(draws, -1, 0)
    if engine not in (*INDEPENDENT, *APPROXIMATE):
        known = np.zeros(len(each), dtype=np.bool_)
        constant = getattr(idata, "constant_data", {})
        if name is not None and (marks := known_of(name)) in constant:
            known = np.asarray(constant[marks], dtype=np.bool_).ravel()
        return [
            KNOWN if still else sampling_of_chains(x) for x, still in zip(each, known, strict=True)
        ]
    worth = float(attribute(idata, "importance_ess")) if engine in APPROXIMATE else math.inf
    return [Sampling(float(x.std()) / math.sqrt(min(worth, x.size))) for x in each]


def computation_of(idata: Any, sampling: Sequence[Sampling], *, of: str = "groups") -> Computation:
    """Describe the computation of `idata`, with reasons to doubt it.

    Parameters
    ----------
    idata : arviz.InferenceData
    sampling : sequence of Sampling
        Diagnostics, one for each number.
    of : str
        The items that the numbers belong to, for example "groups".
    """
    engine, k = attribute(idata, "engine"), None
    stats = getattr(idata, "sample_stats", {})
    divergences = int(stats["diverging"].sum()) if "diverging" in stats else None
    if engine in APPROXIMATE:
        k = float(attribute(idata, "pareto_k"))
        doubts = problems_of_weights(k, float(attribute(idata, "importance_ess")))
    elif engine in INDEPENDENT:
        verdict = attribute(idata, "verdict")
        doubts = [] if verdict in INDEPENDENT.values() else [verdict]
    else:
        doubts = list(problems(sampling, divergences, of=of, nuts=engine in HAMILTONIAN))
    return Computation(
        engine=engine,
        reason=attribute(idata, "engine_reason"),
        versions=(
            ("bayesdp", attribute(idata, "bayesdp_version")),
            *json.loads(attribute(idata, "engine_versions")).items(),
        ),
        chains=idata.posterior.sizes["chain"],
        draws=idata.posterior.sizes["draw"],
        independent=engine in (*INDEPENDENT, *APPROXIMATE),
        pareto_k=k,
        divergences=divergences,
        problems=tuple(doubts),
    )
