"""Random numbers by xoshiro256++ (Blackman and Vigna 2021), its state explicit in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.kernels.compiling import inlined


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
