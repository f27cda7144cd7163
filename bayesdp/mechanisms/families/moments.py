"""First and second moments of bounded columns: exact sums, in units of half a column's bounds.

Each column is rescaled by its public bounds to [-1, 1] and rounded, record by record, to steps of
2^-23. The numbers are n, where it is among them, the sums of columns, of their squares, and of the
products of pairs of columns, in the order of `itertools.combinations`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.families.base import Floats, Number
from bayesdp.mechanisms.noise.pure import up

STEPS = 2**23
"""From the middle of a column's bounds to an end."""
MOST = 2**29
"""Records, where their number is confidential: so sums stay exact floats."""
_BLOCK = 1 << 14  # products of at most 2^46 whose sum stays within 64 bits


def in_steps(x: Floats, ends: Floats) -> NDArray[np.int64]:
    """Records within the bounds as whole steps from the middle, shape (n, columns)."""
    middle, half = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
    u = np.rint((x - middle) / half * STEPS)
    return np.asarray(np.clip(u, -STEPS, STEPS), dtype=np.int64)


def totals_of(u: NDArray[np.int64]) -> tuple[int, ...]:
    """Sums, sums of squares and of products of whole steps, exactly."""
    d = u.shape[1]
    second = [[0] * d for _ in range(d)]
    for start in range(0, len(u), _BLOCK):
        block = u[start : start + _BLOCK]
        for row, added in zip(second, (block.T @ block).tolist(), strict=True):
            row[:] = [a + b for a, b in zip(row, added, strict=True)]
    squares = [second[j][j] for j in range(d)]
    products = [second[j][k] for j, k in combinations(range(d), 2)]
    return (*u.sum(axis=0).tolist(), *squares, *products)


def rescaled(totals: tuple[int, ...], d: int) -> tuple[float, ...]:
    """Sums of rescaled columns, each rounded once."""
    return tuple(
        float(Fraction(total, STEPS if i < d else STEPS**2)) for i, total in enumerate(totals)
    )


def moment_numbers(names: tuple[str, ...], n: int | None) -> tuple[Number, ...]:
    """Numbers of the statistic: n where it is confidential, and the sums, with their rounding."""
    rounding = Fraction(MOST if n is None else n, 2**52)
    one, two = up(1 + rounding), up((1 if n is None else 2) + rounding)
    low, high = (None, None) if n is None else (-float(n), float(n))
    made = [] if n is not None else [Number("n", 1.0, 0, None, whole=True)]
    made += [Number(f"sum[{name}]", two, low, high) for name in names]
    made += [Number(f"sum[{name}^2]", one, 0.0, high) for name in names]
    return (*made, *(Number(f"sum[{a}*{b}]", two, low, high) for a, b in combinations(names, 2)))


def check_vector(statistic: Any, numbers: tuple[Number, ...]) -> Floats:
    """Return the numbers along an array's last axis, or raise InvalidInput without showing them."""
    x = np.asarray(statistic)
    if x.dtype.kind not in "iuf" or x.shape[-1:] != (len(numbers),):
        raise InvalidInput(
            f"the statistic has type {x.dtype} and shape {x.shape}; it must be numbers of "
            f"shape (..., {len(numbers)}): {', '.join(number.name for number in numbers)}"
        )
    low = [-math.inf if number.low is None else number.low for number in numbers]
    high = [math.inf if number.high is None else number.high for number in numbers]
    if not np.all((x >= low) & (x <= high)):
        raise InvalidInput(
            "the statistic has numbers that can't be those of records within the bounds"
        )
    return x.astype(np.float64)


def moments_of(z: tuple[float, ...]) -> tuple[float, ...]:
    """Moments of one rescaled record: what it adds to the sums."""
    return (*z, *(v * v for v in z), *(a * b for a, b in combinations(z, 2)))
