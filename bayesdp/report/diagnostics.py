"""Diagnostics of a report: was the posterior sampled well enough?"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import Sampling, problems, sampling_of_chains
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
        Whether the draws are independent, so that there is nothing to diagnose.
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
    divergences: int | None
    problems: tuple[str, ...]


def sampling_of(idata: Any, draws: NDArray[np.float64]) -> list[Sampling]:
    """Assess how well the posterior was sampled, with one element for each number.

    Parameters
    ----------
    idata : arviz.InferenceData
        A fit, whose attrs name the engine that ran.
    draws : ndarray, shape (chains, draws, numbers)
    """
    one = _of_independent if attribute(idata, "engine") in INDEPENDENT else sampling_of_chains
    return [one(draws[..., g]) for g in range(draws.shape[2])]


def _of_independent(x: NDArray[np.float64]) -> Sampling:
    return Sampling(float(x.std()) / math.sqrt(x.size))


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
    engine = attribute(idata, "engine")
    stats = getattr(idata, "sample_stats", {})
    divergences = int(stats["diverging"].sum()) if "diverging" in stats else None
    doubts = problems(sampling, divergences, of=of, nuts=engine in HAMILTONIAN)
    return Computation(
        engine=engine,
        reason=attribute(idata, "engine_reason"),
        versions=(
            ("bayesdp", attribute(idata, "bayesdp_version")),
            *json.loads(attribute(idata, "engine_versions")).items(),
        ),
        chains=idata.posterior.sizes["chain"],
        draws=idata.posterior.sizes["draw"],
        independent=engine in INDEPENDENT,
        divergences=divergences,
        problems=() if engine in INDEPENDENT else tuple(doubts),
    )
