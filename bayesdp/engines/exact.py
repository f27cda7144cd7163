"""The exact engine: independent draws from a posterior that is known, no Markov chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws


class Posterior(Protocol):
    """Protocol of a posterior from which independent draws can be made."""

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[Mapping[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Draw each variable, shape (size, ...), with the draws' and components' log density."""


def sample(
    posteriors: Sequence[Posterior],
    *,
    draws: int,
    chains: int,
    seed: int | None,
    scalar: bool,
) -> Draws:
    """Draw the variables of independent posteriors, one for each group.

    Parameters
    ----------
    posteriors : sequence of Posterior
        One for each group.
    draws, chains : int
        Shape of the result; all chains * draws are independent.
    seed : int or None
        Seed, for reproducible draws.
    scalar : bool
        Whether the variables have no group dimension; then there is one posterior.

    Returns
    -------
    Draws
        Variables of shape (chains, draws[, groups], ...); `lp` is the log posterior density of them
        and the latent component together, summed over groups.
    """
    rng = np.random.default_rng(seed)
    each = [posterior.draw(chains * draws, rng) for posterior in posteriors]
    shape = (chains, draws) if scalar else (chains, draws, len(posteriors))
    return Draws(
        posterior={
            name: np.stack([values[name] for values, _ in each], axis=1).reshape(
                *shape, *first.shape[1:]
            )
            for name, first in each[0][0].items()
        },
        sample_stats={"lp": np.sum([lp for _, lp in each], axis=0).reshape(chains, draws)},
        engine="exact",
        versions={"numpy": np.__version__},
    )
