"""Laws of noise as PyTensor expressions, which have a gradient in the statistic."""

from __future__ import annotations

import math
from typing import Any

from bayesdp.core.views import Cell


def unbounded_logp(cell: Cell, output: Any, statistic: Any) -> Any:
    """Log-density of the noise, up to a constant."""
    import pytensor.tensor as pt

    away = (output - statistic) / cell.scale
    return -pt.abs(away) if cell.noise.laplace else -(away**2) / 2


def noise_logp(cell: Cell, output: Any, statistic: Any) -> Any:
    """Log-density of noisy numbers given the statistic, as a PyTensor expression.

    It is up to a constant; an output at an inflated end has the probability of everything beyond.
    """
    import pytensor.tensor as pt

    scale, law = cell.scale, unbounded_logp(cell, output, statistic)
    laplace = cell.noise.laplace
    below = _log_laplace if laplace else log_ndtr
    low, high = (None if e is None else e * cell.step for e in cell.ends)
    if cell.bounding == "truncated":
        mass: Any = 1.0
        mass = mass - (0 if low is None else pt.exp(below((low - statistic) / scale)))
        mass = mass - (0 if high is None else pt.exp(below((statistic - high) / scale)))
        return law - pt.log(mass)
    if cell.bounding == "inflated":
        # The density of the others lacks a factor, which an end's probability must have too.
        factor = math.log((2 if laplace else math.sqrt(2 * math.pi)) * scale)
        if low is not None:
            law = pt.where(pt.eq(output, low), factor + below((low - statistic) / scale), law)
        if high is not None:
            law = pt.where(pt.eq(output, high), factor + below((statistic - high) / scale), law)
    return law


def log_ndtr(x: Any) -> Any:
    """Log Pr[a standard normal variable is below x], to 15 digits.

    PyMC's has 8, as PyTensor takes the root of Python's 2.0 in single precision.
    """
    import pytensor.tensor as pt

    below, above = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    tail = pt.log(pt.erfcx(-below / math.sqrt(2)) / 2) - below**2 / 2
    return pt.where(x < -1, tail, pt.log1p(-pt.erfc(above / math.sqrt(2)) / 2))


def _log_laplace(x: Any) -> Any:
    """Log Pr[a unit Laplace variable is below x]."""
    import pytensor.tensor as pt

    return pt.where(x < 0, x - math.log(2), pt.log1p(-pt.exp(-pt.abs(x)) / 2))
