"""Calibration: the smallest scale of additive noise that keeps a promise."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, TypeVar

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.noise.fields import check_granularity, check_positive, scale_range
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.profile import gaussian_divergence, smallest_satisfying

if TYPE_CHECKING:
    from bayesdp.mechanisms.noise.additive import AdditiveNoise

M = TypeVar("M", bound="AdditiveNoise")


def calibrated(made: type[M], epsilon: float, delta: float, copies: int, **parameters: Any) -> M:
    """Find the mechanism of that class with the smallest scale that keeps (epsilon, delta).

    On the safe side of the root: the mechanism returned does keep the promise, by its own
    guarantee, and its scale exceeds the smallest by about one part in 10^12.

    Parameters
    ----------
    made : type
        The mechanism's class.
    epsilon, delta, copies
        The promise of all copies together; delta in [0, 1).
    **parameters
        The class's fields but the scale.

    Raises
    ------
    InvalidInput
        If no scale keeps the promise, or an argument is out of its range.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    copies = check_at_least_one("copies", copies)
    step = 1.0
    if any(field.name == "granularity" for field in dataclasses.fields(made)):
        sensitivity = check_positive("sensitivity", parameters.get("sensitivity"))
        guess = _continuous_scale(made.norm, epsilon, delta, copies, sensitivity)
        step = check_granularity(parameters.get("granularity"), guess, sensitivity)
        parameters["granularity"] = step

    def at(scale: float) -> M:
        build: Any = made
        mechanism: M = build(scale=scale, **parameters)
        return mechanism

    def cost(scale: float) -> float:
        mechanism = at(scale)
        if delta:
            return mechanism.delta(epsilon, copies=copies)
        return mechanism.epsilon(copies=copies)

    least, largest = scale_range(step)
    if not cost(largest) <= (delta or epsilon):
        raise InvalidInput(
            f"no scale up to {largest:.3g} keeps epsilon = {quoted(epsilon)} with delta = "
            f"{quoted(delta)}: ask for a positive delta, such as 1e-6, or for a larger epsilon or "
            "delta"
        )
    widest = at(largest)
    if delta == 0 and widest.norm == "L1" and widest.bounding != "truncated":
        scale = max(copies * widest.moved() * step / epsilon, least)
    else:
        start = min(max(step, least), largest)
        scale = smallest_satisfying(
            cost, delta or epsilon, start=start, least=least, largest=largest
        )
    more = 2.0**-52
    while at(scale).epsilon(delta, copies=copies) > epsilon:  # as the guarantee rounds it
        scale, more = scale * (1 + more), 2 * more
    return at(scale)


def _continuous_scale(
    norm: str, epsilon: float, delta: float, copies: int, sensitivity: float
) -> float:
    """Approximate scale of continuous noise, to choose a lattice by."""
    if norm == "L1" or delta == 0:
        return copies * sensitivity / epsilon
    length = sensitivity * math.sqrt(copies)
    return smallest_satisfying(
        lambda scale: gaussian_divergence(length / scale, epsilon),
        delta,
        start=length,
        least=length * 1e-9,
    )
