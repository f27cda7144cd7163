"""Change of the evidence's log-likelihood when a dyad of the hidden graph is flipped."""

from __future__ import annotations

import math
from typing import Any

from bayesdp.kernels.compiling import inlined


@inlined
def _log_law(law: Any, scale: Any, step: Any, seen: Any, value: Any) -> Any:
    """Log-density of the noise without its constant; the value is rounded first, as released."""
    if step > 0.0:
        value = step * math.floor(value / step + 0.5)
    u = (seen - value) / scale
    return -abs(u) if law == 0 else -0.5 * u * u


@inlined
def support(seen: Any, graph: Any, i: Any, j: Any, r: Any, sign: Any, change: Any, now: Any) -> Any:
    """Gain in log L when the tie from i to j is added (sign 1) or taken out (sign -1).

    r is the dyad's number in the list, and `now`, shape (coordinates,), holds the statistics before
    the change.
    """
    if len(seen.matrix):
        total = sign * seen.matrix[i, j]
    else:
        total = sign * (seen.offset[r] if r >= 0 else seen.constant)
    for k in range(len(seen.coordinate)):
        t = seen.coordinate[k]
        if change[t] != 0.0:
            law, scale, step = seen.law[k], seen.scale[k], seen.step[k]
            total += _log_law(law, scale, step, seen.values[k], now[t] + sign * change[t])
            total -= _log_law(law, scale, step, seen.values[k], now[t])
    for k in range(len(seen.degrees)):
        for row in (i, graph.inward + j):
            degree, value = float(graph.degree[row]), seen.degrees[k, row]
            law, scale = seen.degree_law[k], seen.degree_scale[k]
            total += _log_law(law, scale, 0.0, value, degree + sign)
            total -= _log_law(law, scale, 0.0, value, degree)
    return total
