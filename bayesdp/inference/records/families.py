"""Records of k categories by data augmentation of their counts, for several models."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.views import NoiseView, view_of
from bayesdp.engines.draws import Draws
from bayesdp.inference.counts.multinomial_response import Responses
from bayesdp.inference.records import chains as record_chains
from bayesdp.inference.records.release import law_of
from bayesdp.release import Part

Parts = Sequence[tuple[Part, record_chains.Sizes]]


@functools.lru_cache(maxsize=16)
def dirichlet(alpha: tuple[float, ...]) -> tuple[Any, Any]:
    """Make posterior and probabilities of a categorical family with a Dirichlet prior."""
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
    def probabilities(theta: Any, out: Any) -> None:
        for j in range(theta.size):
            out[j] = theta[j]

    return posterior, probabilities


def sample_categories(
    parts: Parts,
    prior: tuple[float, ...],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> list[record_chains.Chains]:
    """Run chains over theta and the counts of k categories, for each group.

    Parameters
    ----------
    parts : sequence of (Part, sizes)
    prior : tuple of k floats
    draws, chains, warmup : int
    seed : int, optional
    """
    k = len(prior)
    seeds = np.random.SeedSequence(seed).generate_state(len(parts)) >> 1
    chains_of = []
    for (part, sizes), child in zip(parts, seeds.tolist(), strict=True):
        law = law_of(part.mechanism, np.array(part.outputs))
        responding = isinstance(law, Responses)
        table = np.arange(k, dtype=np.float64)[:, None] if responding else np.eye(k)
        run = record_chains.of_counts(dirichlet(prior), table, law, sizes)
        chains_of.append(
            record_chains.sample(
                run,
                _start(part, prior, sizes),
                draws=draws,
                chains=chains,
                warmup=warmup,
                seed=child,
            )
        )
    return chains_of


def _start(part: Part, prior: tuple[float, ...], sizes: record_chains.Sizes) -> record_chains.Start:
    """Draw starts from the prior, or from noisy cells with three times their posterior's sd.

    Chains on counts that are much more dispersed than the noise allows would need long to converge,
    since theta and the counts slow each other down.
    """
    alpha, mechanism, k = np.array(prior), part.mechanism, len(prior)
    concentration = alpha
    if (noise := view_of(mechanism, NoiseView)) is not None:
        cells = np.maximum(np.mean(np.array(part.outputs, dtype=np.float64), axis=0), 0.0)
        n = max(float(np.median([size for size, _ in sizes])), 1.0)
        variance = noise.cell.scale**2 / len(part.outputs)
        cells *= n / max(cells.sum(), 1.0)
        concentration = alpha + cells / (9 * (1 + 2 * k * variance / n))
    return lambda rng: rng.dirichlet(concentration)


def draws_of(groups: Sequence[record_chains.Chains], name: str, category: int | None) -> Draws:
    """Join the chains of all groups: the whole theta, or that of one category."""
    import numba

    if category is None:
        theta = groups[0].theta if len(groups) == 1 else np.stack([f.theta for f in groups], axis=2)
    else:
        theta = np.stack([f.theta[..., category] for f in groups], axis=2)
    statistics = {
        "acceptance_rate": np.mean([f.acceptance_rate for f in groups], axis=0),
        "log_law": np.sum([f.log_law for f in groups], axis=0),
    }
    return Draws({name: theta}, statistics, "augmentation", {"numba": numba.__version__})


def sample_proportions(parts: Parts, prior: tuple[float, float], **options: Any) -> Draws:
    """Run chains over a proportion p and the counts of ones and zeros."""
    return draws_of(sample_categories(parts, prior, **options), "p", 0)
