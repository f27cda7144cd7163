"""Small spaces for tests: laws of bits, and kernels drawn at random."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def bits(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=n))


def nothing(x: Any) -> Any:
    return ()


def independent(n: int, p: float, known: Callable[[Any], Any] = nothing) -> dict[Any, float]:
    """n bits, 1 with probability p, and what the adversary knows of them."""
    law: dict[Any, float] = {}
    for x in bits(n):
        key = (x, known(x))
        law[key] = law.get(key, 0.0) + math.prod(p if b else 1 - p for b in x)
    return law


def mixture(laws: list[dict[Any, float]], weights: list[float]) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for law, weight in zip(laws, weights, strict=True):
        for key, p in law.items():
            found[key] = found.get(key, 0.0) + weight * p
    return found


def random_law(generator: np.random.Generator, data: list[Any], known: list[Any]) -> Any:
    keys = list(itertools.product(data, known))
    return dict(zip(keys, generator.dirichlet(np.full(len(keys), 0.7)), strict=True))


def random_kernel(generator: np.random.Generator, data: list[Any], outputs: int) -> Any:
    law = {x: dict(enumerate(generator.dirichlet(np.ones(outputs)))) for x in data}
    return lambda x: law[x]


def sum_of(alt: Any) -> int:
    """The sum of what is left of bits."""
    return sum(b for b in alt if b is not None)
