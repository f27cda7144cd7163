"""Laws of one area's events: of its released counts, and of what is known before any release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import Ends, Floats, Integer, Integers
from bayesdp.mechanisms.draws.negative_binomial import log_negative_binomial

NO_EVENTS = Integer(lambda ends, times: (0, 0), lambda x: np.where(x == 0, 0.0, -np.inf))
"""Of an area where no event can be."""


def area_events(z: NDArray[Any], shape: float, chance: float, negligible: float) -> Integer:
    """The law of an area's released counts given its events, which is log-concave in them."""

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(z[:, None], shape + x, chance).sum(axis=0))

    def likely(ends: Ends, times: float) -> Ends:
        first, step = int(max(ends[0], 0)), 1 + int(z.max())
        while math.isfinite(times):
            values = logp(x := np.arange(first, first + 64 * step, step))
            good = np.flatnonzero(values >= values.max() - times * negligible)
            if good[-1] < x.size - 1:
                return first, min(ends[1], int(x[good[-1] + 1]))
            step *= 8
        return first, ends[1]

    return Integer(likely, logp)


def events_before(shape: float, chance: float, negligible: float) -> Integer:
    """The law of an area's events before any release: negative binomial, or none."""
    if chance == 0:
        return NO_EVENTS

    def logp(x: Integers) -> Floats:
        return np.asarray(log_negative_binomial(x, shape, chance))

    def likely(ends: Ends, times: float) -> Ends:
        mode = math.floor(max(shape - 1, 0.0) * chance / (1 - chance))
        far = 2 * mode + 1
        while far < ends[1] and logp(np.array([mode, far])) @ (1, -1) < times * negligible:
            far *= 2
        return ends[0], min(ends[1], far)

    return Integer(likely, logp)
