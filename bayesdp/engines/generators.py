"""Random generators of compiled chains, one for each."""

from __future__ import annotations

import numpy as np


def generators(seed: int | np.random.SeedSequence | None, chains: int) -> list[np.random.Generator]:
    """Make independent generators, one for each chain, the same for the same seed.

    They are numpy's SFC64, the fastest that compiled code draws from.

    Parameters
    ----------
    seed : int, SeedSequence or None
        None takes fresh entropy.
    chains : int
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return [np.random.Generator(np.random.SFC64(child)) for child in sequence.spawn(chains)]
