"""Rounding of real outputs, whose last bits in floating point tell neighbours apart.

A sum of a mean and noise lands on floats that depend on the mean, and a quotient of a draw and a
rate on floats that depend on the rate (Mironov 2012). Rounded, each number that a release shows has
about a million floats that a sampler may give near it, whatever the mean or the rate is, and is as
probable as by the law to that degree. It costs nothing of a promise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BITS = 32  # that a release shows, of a standard deviation or of a number


def to_lattice(drawn: Floats, sd: float | Floats) -> Floats:
    """Round draws to multiples of a power of two, about 2^-32 of their public sd."""
    step = 2.0 ** (np.floor(np.log2(sd)) - _BITS)
    return np.asarray(np.rint(drawn / step) * step)


def to_bits(drawn: Floats) -> Floats:
    """Round each draw to 32 bits of its own."""
    mantissa, exponent = np.frexp(drawn)
    return np.asarray(np.ldexp(np.rint(mantissa * 2.0**_BITS), exponent - _BITS))
