"""Random numbers by xoshiro256++ (Blackman and Vigna 2021), its state explicit in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.compiling import inlined

Seed = int | np.random.Generator | None


def generators(seed: Seed, count: int) -> list[np.random.Generator]:
    """Make independent generators, one a chain, the same for the same seed.

    Parameters
    ----------
    seed : int, numpy Generator or None
        None takes fresh entropy.
    count : int
        How many.

    Raises
    ------
    InvalidInput
        If `seed` is none of these.
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


@inlined
def next_word(state: Any) -> Any:
    """Draw 64 random bits; advances the state."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    total = a + d
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
    c ^= a
    d ^= b
    state[0] = a ^ d
    state[1] = b ^ c
    state[2] = c ^ (b << np.uint64(17))
    state[3] = (d << np.uint64(45)) | (d >> np.uint64(19))
    return word


@inlined
def uniform(state: Any) -> Any:
    """Draw a number on [0, 1), a multiple of 2**-53."""
    return (next_word(state) >> np.uint64(11)) * 2.0**-53


@inlined
def below(state: Any, bound: Any) -> Any:
    """Draw a whole number on {0, ..., bound - 1}, uniform but for bound * 2**-53."""
    return np.int64(uniform(state) * bound)
