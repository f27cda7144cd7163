"""Whether a fit's draws can be relied on, in words."""

from __future__ import annotations

import warnings

import numpy as np

from bayesdp.engines.convergence import problems, sampling_of_chains
from bayesdp.engines.draws import Draws

INDEPENDENT = ("exact",)
HAMILTONIAN = ("pymc", "stan", "hmc")


def verdict_on(drawn: Draws) -> str:
    """A sentence for the attrs of a fit.

    Warns
    -----
    UserWarning
        If chains haven't mixed.
    """
    if drawn.engine in INDEPENDENT:
        return "independent draws from the exact posterior: nothing to diagnose"
    each = [
        sampling_of_chains(np.asarray(column))
        for draws in drawn.posterior.values()
        for column in np.moveaxis(draws.reshape(*draws.shape[:2], -1), -1, 0)
    ]
    diverging = drawn.sample_stats.get("diverging")
    divergences = None if diverging is None else int(diverging.sum())
    found = list(problems(each, divergences, of="numbers", nuts=drawn.engine in HAMILTONIAN))
    if found:
        warnings.warn(
            f"the chains of this fit can't be relied on: {'; '.join(found)}. Draw more (draws, "
            "warmup), or take another engine",
            UserWarning,
            stacklevel=4,
        )
    return "; ".join(found) or "no problem found: R-hat and ESS are as they should be"
