"""Whether a posterior was sampled well enough to report it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import import_arviz
from bayesdp.report.inputs import attribute

LARGEST_RHAT = 1.01
SMALLEST_ESS = 400
_INDEPENDENT = ("exact",)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How well one group's posterior was sampled.

    `error` is the Monte Carlo standard error of the mean; the others are None for
    independent draws, `rhat` also for a single chain.
    """

    error: float
    rhat: float | None = None
    ess_bulk: float | None = None
    ess_tail: float | None = None


@dataclass(frozen=True, slots=True)
class Computation:
    """How the posterior was computed.

    Attributes
    ----------
    engine, reason : str
        Which engine ran, and why.
    versions : tuple of (name, version)
        Of the software that drew.
    chains, draws : int
        Number of chains, and of draws in each.
    independent : bool
        Whether the draws are independent, so that there is nothing to diagnose.
    divergences : int or None
        Divergent transitions; None where none were recorded.
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
    """One element a group.

    Parameters
    ----------
    idata : arviz.InferenceData
        Says which engine ran.
    draws : ndarray, shape (chains, draws, groups)
        Of the proportion.
    """
    one = _of_independent if attribute(idata, "engine") in _INDEPENDENT else _of_chains
    return [one(draws[..., g]) for g in range(draws.shape[2])]


def _of_independent(x: NDArray[np.float64]) -> Sampling:
    return Sampling(float(x.std()) / math.sqrt(x.size))


def _of_chains(x: NDArray[np.float64]) -> Sampling:
    # Fewer than 4 draws, or draws that never move, have no diagnostics: NaN fails them.
    if x.shape[1] < 4 or np.ptp(x) == 0:
        return Sampling(math.nan, math.nan, math.nan, math.nan)
    az, p = import_arviz(), {"p": x}
    return Sampling(
        error=float(az.mcse(p)["p"]),
        rhat=float(az.rhat(p)["p"]) if len(x) > 1 else None,
        ess_bulk=float(az.ess(p, method="bulk")["p"]),
        ess_tail=float(az.ess(p, method="tail")["p"]),
    )


def computation_of(idata: Any, sampling: Sequence[Sampling]) -> Computation:
    """How `idata` was computed, and what speaks against it.

    Parameters
    ----------
    idata : arviz.InferenceData
        With a posterior variable "p".
    sampling : sequence of Sampling
        One element a group.
    """
    engine = attribute(idata, "engine")
    stats = getattr(idata, "sample_stats", {})
    divergences = int(stats["diverging"].sum()) if "diverging" in stats else None
    return Computation(
        engine=engine,
        reason=attribute(idata, "engine_reason"),
        versions=(
            ("bayesdp", attribute(idata, "bayesdp_version")),
            *json.loads(attribute(idata, "engine_versions")).items(),
        ),
        chains=idata.posterior.sizes["chain"],
        draws=idata.posterior.sizes["draw"],
        independent=engine in _INDEPENDENT,
        divergences=divergences,
        problems=() if engine in _INDEPENDENT else tuple(_problems(sampling, divergences)),
    )


def _problems(sampling: Sequence[Sampling], divergences: int | None) -> Iterator[str]:
    """What speaks against a Markov chain's draws, in words; a NaN counts as too bad."""
    if any(one.rhat is None for one in sampling):
        yield "R-hat compares chains, and only one was run"
    elif bad := sum(not one.rhat <= LARGEST_RHAT for one in sampling):  # type: ignore[operator]
        yield f"R-hat is above {LARGEST_RHAT}{_where(bad, sampling)}"
    for name in ("bulk", "tail"):
        if bad := sum(not getattr(one, f"ess_{name}") >= SMALLEST_ESS for one in sampling):
            yield f"{name} ESS is under {SMALLEST_ESS}{_where(bad, sampling)}"
    if divergences is None:
        yield "divergent transitions weren't recorded"
    elif divergences:
        yield f"{divergences} divergent transition{'s' if divergences > 1 else ''}"


def _where(bad: int, sampling: Sequence[Sampling]) -> str:
    return f" in {bad} of {len(sampling)} groups" if len(sampling) > 1 else ""
