r"""Flows of leaps: do they lead into a region of a posterior as often as out of it?

Moves that leave a law p invariant, accepted by the Metropolis-Hastings ratio, balance: for any
number t, the expected probability under p that a coordinate's leap takes it from above t to below
equals that of the way back. Chains that stay on one side of t see many leaps out of it and few into
it. That reveals a region which is missing among the draws even if all chains miss it and agree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import sampling_of_chains

Floats = NDArray[np.float64]

_PLACES = (-1.5, -1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 1.5)  # in the prior's sds
_QUANTILES = (0.02, 0.1, 0.9, 0.98)
_FEWEST = 20  # leaps over t that would be taken: fewer lead to a region without weight
_ERRORS = 5.0


def one_sided(leaps: Floats, u: Floats, mean: Floats, sd: Floats) -> Iterator[str]:
    """List reasons to doubt draws, where leaps aren't balanced, in words.

    Parameters
    ----------
    leaps : ndarray, shape (chains, draws, leaps, 4)
        Coordinate, old value, new value, and the probability that the leap is taken.
    u : ndarray, shape (chains, draws, coordinates)
        The draws.
    mean, sd : ndarray, shape (coordinates,)
        Means and standard deviations of the coordinates' priors.
    """
    worst = (0.0, 0.0, 0.0)
    for p in range(u.shape[-1]):
        chance = np.where(leaps[..., 0] == p, leaps[..., 3], 0.0)
        for t in (*(mean[p] + sd[p] * np.array(_PLACES)), *np.quantile(u[..., p], _QUANTILES)):
            old, new = leaps[..., 1] > t, leaps[..., 2] > t
            down, up = (chance * (old & ~new)).sum(axis=-1), (chance * (new & ~old)).sum(axis=-1)
            one, other = sorted((float(down.sum()), float(up.sum())))
            if other < _FEWEST:
                continue
            gap = down - up
            spread = float(gap.std())
            off = abs(float(gap.mean())) / spread * gap.size**0.5 if spread else 0.0
            if off > _ERRORS:  # if draws were independent; only then what takes time
                off = abs(float(gap.mean())) / sampling_of_chains(gap).error
            worst = max(worst, (off, one, other))
    off, one, other = worst
    if off > _ERRORS:
        yield (
            f"a region of the posterior is seldom visited: {other:.0f} moves would lead one way "
            f"between it and the rest, and only {one:.0f} back"
        )
