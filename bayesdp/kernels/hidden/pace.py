"""Kernel of an annealing's levels.

Derived in `bayesdp.networks.hidden.pace`.
"""

from __future__ import annotations

import math
from typing import Any

from bayesdp.kernels.compiling import leaf

PARTS = 64
"""Of the line between two coefficients, that its length is added up from."""
_VARIANCE = 0.3  # of a move's log ratio that is aimed at, if graphs followed at once


@leaf
def levels_between(a: Any, b: Any, pace: Any, most: Any, length: Any, times: Any) -> Any:
    """Choose the levels from a to b, 2 to `most`; fill `times`, where they lie, 0 to 1.

    `pace`, shape (terms, terms + 1), has beta_t and alpha_t in row t; `length`, shape
    (`PARTS` + 1,), is for the kernel's own use; `times` has room for `most` + 1.
    """
    terms = len(a)
    length[0] = 0.0
    for g in range(PARTS):
        square = 0.0
        for t in range(terms):
            power = pace[t, terms]
            for u in range(terms):
                power += pace[t, u] * (a[u] + (g + 0.5) / PARTS * (b[u] - a[u]))
            square += (b[t] - a[t]) ** 2 * math.exp(min(max(power, -50.0), 50.0))
        length[g + 1] = length[g] + math.sqrt(square) / PARTS
    whole = length[PARTS]
    levels = int(min(max(math.ceil(whole * whole / _VARIANCE), 2.0), float(most)))
    times[0], times[levels] = 0.0, 1.0
    g = 0
    for k in range(1, levels):
        goal = whole * k / levels
        while length[g + 1] < goal:
            g += 1
        part = (goal - length[g]) / (length[g + 1] - length[g]) if whole > 0.0 else 0.0
        times[k] = (g + part) / PARTS
    return levels
