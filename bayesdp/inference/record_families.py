"""Records of k categories by data augmentation: the family that other models share, counted."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.inference import record_chains
from bayesdp.inference.multinomial_response import Responses
from bayesdp.inference.record_release import law_of
from bayesdp.release import Part

Parts = Sequence[tuple[Part, record_chains.Sizes]]


@functools.lru_cache(maxsize=16)
def dirichlet(alpha: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """start, posterior and probabilities of a categorical family with a Dirichlet prior."""
    from bayesdp.engines.augmentation_records import compiled

    prior = np.array(alpha)

    @compiled
    def posterior(rng: Any, counts: Any, theta: Any) -> None:
        whole = 0.0
        for j in range(theta.size):
            # A gamma variable of a small shape may round to 0.
            theta[j] = max(rng.standard_gamma(prior[j] + counts[j]), 1e-300)
            whole += theta[j]
        for j in range(theta.size):
            theta[j] /= whole

    @compiled
    def start(rng: Any, theta: Any) -> None:
        posterior(rng, np.zeros(theta.size, dtype=np.int64), theta)

    @compiled
    def probabilities(theta: Any, out: Any) -> None:
        for j in range(theta.size):
            out[j] = theta[j]

    return start, posterior, probabilities


def sample_categories(
    parts: Parts,
    prior: tuple[float, ...],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    categories: NDArray[np.float64] | None = None,
) -> list[record_chains.Chains]:
    """Chains over theta and the counts of k categories, one a group.

    Parameters
    ----------
    parts : sequence of (Part, sizes)
    prior : tuple of k floats
    draws, chains, warmup : int
    seed : int, optional
    categories : ndarray, shape (k, components), optional
        What a record of each adds to the statistic; by default 1 to the component of its own.
    """
    k = len(prior)
    seeds = np.random.SeedSequence(seed).generate_state(len(parts)) >> 1
    found = []
    for (part, sizes), child in zip(parts, seeds.tolist(), strict=True):
        law = law_of(part.mechanism, np.array(part.outputs))
        if isinstance(law, Responses):
            table = np.arange(k, dtype=np.float64)[:, None]
        elif categories is None or law.size == k:
            table = np.eye(k)
        else:
            table = categories
        run = record_chains.of_counts(dirichlet(prior), table, law, sizes, k)
        found.append(
            record_chains.sample(run, draws=draws, chains=chains, warmup=warmup, seed=child)
        )
    return found


def draws_of(found: Sequence[record_chains.Chains], name: str, category: int | None) -> Draws:
    """The chains of all groups together: theta whole, or one category's as groups of numbers."""
    import numba

    if category is None:
        theta = found[0].theta if len(found) == 1 else np.stack([f.theta for f in found], axis=2)
    else:
        theta = np.stack([f.theta[..., category] for f in found], axis=2)
    statistics = {
        "acceptance_rate": np.mean([f.acceptance_rate for f in found], axis=0),
        "log_law": np.sum([f.log_law for f in found], axis=0),
    }
    return Draws({name: theta}, statistics, "augmentation", {"numba": numba.__version__})


def sample_proportions(parts: Parts, prior: tuple[float, float], **options: Any) -> Draws:
    """Chains over a proportion p and the counts of ones and zeros."""
    ones = np.array([[1.0], [0.0]])
    return draws_of(sample_categories(parts, prior, categories=ones, **options), "p", 0)
