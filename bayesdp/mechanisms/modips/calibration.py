"""Calibration: the smallest noise of a statistic's numbers that keeps a promise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.modips.promise import Noisy, check_weights, moved_together, profile_of
from bayesdp.mechanisms.noise.fields import scale_range
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.profile import gaussian_divergence, smallest_satisfying

M = TypeVar("M", bound=Noisy)
FURTHEST = 2.0**24
"""How many times the first guess the scales of Gaussian noise are looked for."""


def calibrated(
    made: Callable[..., M],
    epsilon: float,
    delta: float,
    copies: int,
    allocation: str,
    weights: Sequence[float] | None,
    **parameters: Any,
) -> M:
    """Find the mechanism with the smallest noise, allocated as asked, that keeps a promise.

    See `ModipsSBSMechanism.calibrate`. `made` takes `scales` and the parameters,
    among which are `family`, `n`, `noise` and `bounding`.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    copies = check_at_least_one("copies", copies)
    numbers = parameters["family"].numbers(parameters.get("n"))
    shares = check_weights(allocation, weights, len(numbers))
    sensitivities = [number.sensitivity for number in numbers]
    if allocation == "communal":
        ratios = [max(sensitivities)] * len(numbers)
    else:
        power = 0.5 if parameters.get("noise") == "gaussian" else 1.0
        ratios = [s / w**power for s, w in zip(sensitivities, shares, strict=True)]

    def at(factor: float) -> M:
        return made(scales=tuple(factor * ratio for ratio in ratios), **parameters)

    def cost(factor: float) -> float:
        profile = profile_of(at(factor), copies, None)
        return profile.delta(epsilon) if delta else profile.pure_epsilon

    moving = min(parameters["family"].together(parameters.get("n")), len(numbers))
    costs = sorted((s / r for s, r in zip(sensitivities, ratios, strict=True)), reverse=True)
    gaussian = parameters.get("noise") == "gaussian"
    joint = None
    if not gaussian and parameters.get("bounding", "inflated") == "inflated":
        joint = moved_together(parameters["family"], [*map(Fraction, ratios)], parameters.get("n"))
    if joint is not None:
        costs = [min(math.fsum(costs[:moving]), float(joint))]
    guess = _guess(costs[:moving], epsilon, delta, copies, gaussian)
    # Laplace noise of twice the pure scale keeps it even if truncated, and far wider noise would be
    # on a lattice that is coarser than the statistic's bounds.
    largest = guess * FURTHEST if gaussian else 4 * math.fsum(costs[:moving]) * copies / epsilon
    for number, ratio in zip(numbers, ratios, strict=True):
        if number.whole:
            least, most = scale_range(1.0)
            guess = max(guess, least / ratio)
            largest = min(max(largest, guess), most / ratio)
    if not cost(largest) <= (delta or epsilon):
        raise InvalidInput(
            f"no scale keeps epsilon = {quoted(epsilon)} with delta = {quoted(delta)}: ask for a "
            "positive delta, such as 1e-6, or for a larger epsilon or delta"
            + (", or take noise='laplace'" if gaussian else "")
        )
    factor = guess
    if not (delta == 0 and parameters.get("bounding", "inflated") != "truncated"):
        factor = smallest_satisfying(
            cost, delta or epsilon, start=guess, least=guess, largest=largest
        )
    more = 2.0**-52
    while profile_of(at(factor), copies, None).epsilon(delta) > epsilon:  # as the lattice rounds it
        factor, more = factor * (1 + more), 2 * more
    return at(factor)


def _guess(
    costs: Sequence[float], epsilon: float, delta: float, copies: int, gaussian: bool
) -> float:
    """Guess the scale: right for unbounded Laplace noise at delta = 0, otherwise too small."""
    if not gaussian:
        return math.fsum(costs) * (1 / (8 * (1 + epsilon)) if delta else copies / epsilon)
    length = math.sqrt(copies) * math.hypot(*costs)
    if delta == 0:
        return length / (8 * (1 + epsilon))
    return gaussian_scale(length, epsilon, delta) / 8


def gaussian_scale(length: float, epsilon: float, delta: float) -> float:
    """Compute the scale of continuous Gaussian noise for a move of `length`; delta above 0."""
    return smallest_satisfying(
        lambda scale: gaussian_divergence(length / scale, epsilon),
        delta,
        start=length,
        least=length * 1e-9,
    )
