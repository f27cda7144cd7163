"""Ways to compute a log evidence, and their names in a result.

A model's `evidence` takes a release or several, and draws, chains, warmup and seed of chains. The
mechanism's law is that of its `logp`, a probability on its lattice, constant included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.engines.bridge import Integral
from bayesdp.inference.several import Releases

Answer = tuple[Integral, str, str]
"""An integral, how it was computed, and which of the released numbers it is of."""

EXACT = "exact: the latent data are summed out"
ALL = "all released numbers"
BRIDGE = "bridge sampling: {}"
FEW = 2000
"""Draws that a costly density is averaged over."""


def exact(model: Any, release: Releases) -> Answer:
    """Log evidence of a model with an exact `log_evidence`."""
    return Integral(float(model.log_evidence(release)), 0.0), EXACT, ALL


def proposals(seed: int | None) -> np.random.Generator:
    """Make the generator of a bridge's proposals."""
    return np.random.default_rng(None if seed is None else [seed, 2])


def moved(integral: Integral, constant: float) -> Integral:
    """Add a constant to a log integral."""
    return Integral(integral.log_value + constant, integral.standard_error, integral.problems)
