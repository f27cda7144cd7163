"""Generators of the networks' chains, and the states of random numbers that kernels take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted

Seed = int | np.random.Generator | None


def generators(seed: Seed, count: int) -> list[np.random.Generator]:
    """Make independent generators, one for each chain, the same for the same seed.

    Parameters
    ----------
    seed : int, numpy Generator or None
        None takes fresh entropy.
    count : int
        Number of generators.

    Raises
    ------
    InvalidInput
        If `seed` isn't one of these.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not (seed is None or isinstance(seed, np.random.Generator) or (whole and seed >= 0)):
        raise InvalidInput(
            f"seed is {quoted(seed)}; it must be None, a non-negative integer or a numpy Generator"
        )
    return list(np.random.default_rng(seed).spawn(count))


def state_from(generator: np.random.Generator) -> NDArray[np.uint64]:
    """Draw a fresh state for kernels, shape (4,); all zero with probability 2**-256."""
    return generator.integers(0, 2**64, size=4, dtype=np.uint64)
