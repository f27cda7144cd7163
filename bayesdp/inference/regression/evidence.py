"""Log evidence of a linear regression: a bridge over the moments' own coordinates."""

from __future__ import annotations

import numpy as np

from bayesdp.engines.bridge import Integral, log_integral
from bayesdp.inference.regression.chain import sample_coordinates
from bayesdp.inference.regression.start import Hidden
from bayesdp.kernels.regression.evidence import densities


def log_evidence_of_moments(
    hidden: Hidden, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Integral:
    """Log integral over all moments of their density and the noise's, without its constant.

    The density of n is taken as 1 at every number.
    """
    *seeds, last = np.random.SeedSequence(seed).spawn(chains + 1)
    generators = [np.random.default_rng(child) for child in seeds]
    space, kept, _ = sample_coordinates(hidden, generators, draws, warmup)
    integral = log_integral(
        lambda points: densities(np.ascontiguousarray(points), space),
        kept,
        generator=np.random.default_rng(last),
    )
    stretch = float(np.linalg.slogdet(space[1])[1])
    return Integral(integral.log_value + stretch, integral.standard_error, integral.problems)
