"""The prior of a latent class model of tables, enumerated and simulated."""

import functools
import itertools
import math

import numpy as np

from bayesdp.engines.latent_records import CONCENTRATION, grid_of


@functools.cache
def over_bases(counts: tuple[tuple[int, ...], ...], weight: float) -> float:
    """Mean of the product over levels c and classes k of w (w + 1) ... (w + counts[k][c] - 1).

    w is `weight` base_c, of a base that is uniform. A level's part is a polynomial in base_c, and
    the product of base_c^t_c has the mean Gamma(L) prod t_c! / Gamma(L + sum t_c).
    """
    parts = []
    for each in zip(*counts, strict=True):
        part = np.ones(1)
        for i in itertools.chain.from_iterable(map(range, each)):
            part = np.polynomial.polynomial.polymul(part, [i, weight])
        parts.append(part)
    last, total = len(parts) - 1, 0.0
    for powers in itertools.product(*(range(part.size) for part in parts)):
        moment = math.prod(map(math.factorial, powers)) * math.factorial(last)
        moment /= math.factorial(last + sum(powers))
        total += moment * math.prod(part[t] for part, t in zip(parts, powers, strict=True))
    return total


def from_the_prior(
    rng: np.random.Generator, levels: tuple[int, ...], classes: int, n: int
) -> np.ndarray:
    """Records of a latent class model with bases and concentrations from their prior."""
    grid = grid_of(CONCENTRATION)
    shares = rng.dirichlet(np.full(classes, rng.choice(grid)))
    each = rng.choice(classes, n, p=shares)
    columns = []
    for size in levels:
        base = rng.dirichlet(np.ones(size))
        psi = rng.dirichlet(rng.choice(grid) * size * base, classes)
        ends = np.cumsum(psi, axis=1)[each]
        columns.append(np.minimum((rng.random(n)[:, None] >= ends).sum(axis=1), size - 1))
    return np.stack(columns, axis=1)
