"""Scales of noisy network statistics that keep a promise, a share of it to each term.

Within a term, scales are proportional to the statistics' own sensitivities; in nodefactor those of
levels of a single node are such that a tie between two costs as much as one within another level
(`Moves.proportions`). With Laplace noise a term of weight w has w of epsilon; with Gaussian noise,
w of mu^2, and the whole is then scaled to the smallest that the mechanism's profile allows. A
statistic that no change moves costs nothing, and gets a scale of 1; a term of such statistics has
no share.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.noisy_statistics.frame import (
    PUBLIC,
    check_noise,
    public_frame,
)
from bayesdp.mechanisms.graphs.noisy_statistics.mechanism import NoisyStatisticsMechanism
from bayesdp.mechanisms.noise.fields import check_positive, scale_range
from bayesdp.networks.formula import parse
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_edge_or_node
from bayesdp.privacy.profile import gaussian_divergence, smallest_satisfying


def check_weights(formula: str, weights: Any) -> tuple[float, ...]:
    """Return a weight for each term of the formula, all 1 if none are given, or InvalidInput."""
    terms = [call.name for call in parse(formula)]
    if weights is None:
        return (1.0,) * len(terms)
    if isinstance(weights, str) or not hasattr(weights, "__len__") or len(weights) != len(terms):
        raise InvalidInput(
            f"weights is {quoted(weights)}; it must be {len(terms)} positive numbers, one for "
            "each term "
            f"of the formula: {', '.join(terms)}"
        )
    return tuple(check_positive("weights", weight, "same unit as the others") for weight in weights)


def check_noise_delta(noise: str, delta: Any) -> None:
    """Raise InvalidInput unless Gaussian noise has a positive delta, and Laplace noise none."""
    if not is_number(delta) or not 0 <= delta < 1 or (delta > 0) != (noise == "gaussian"):
        raise InvalidInput(
            f"delta is {quoted(delta)} and noise is {quoted(noise)}; Gaussian noise is calibrated "
            "at a delta between 0 and 1, such as 1e-6, and Laplace noise needs none: leave it at 0"
        )


def calibrated(
    *, epsilon: float, delta: float = 0.0, weights: Sequence[float] | None = None, **parameters: Any
) -> NoisyStatisticsMechanism:
    """Find the mechanism whose single copy keeps (epsilon, delta) under its `neighbours`.

    The scales are on the safe side: the mechanism keeps the promise, by its own guarantee.

    Parameters
    ----------
    epsilon, delta : float
        The promise; delta is positive for Gaussian noise and 0 for Laplace noise.
    weights : sequence of float, optional
        One for each term, whose share of the budget is proportional to it. Default: equal.
    **parameters
        The mechanism's fields except `scales` and `granularity`.
    """
    epsilon = check_epsilon(epsilon)
    noise = check_noise(parameters.get("noise", "laplace"))
    each = check_weights(parameters["formula"], weights)
    check_noise_delta(noise, delta)
    frame = public_frame(**{name: parameters[name] for name in PUBLIC if name in parameters})
    node = check_edge_or_node(parameters.get("neighbours", "edge")) is Neighbours.NODE
    power = 1 if noise == "laplace" else 2
    scales = [part or 1.0 for moves in frame.moves(node) for part in moves.proportions(power)]
    shape = NoisyStatisticsMechanism(scales=scales, **parameters)
    costs = [float(cost) for cost in shape.term_costs()]
    total = math.fsum(weight for weight, cost in zip(each, costs, strict=True) if cost)
    first = 0
    for weight, cost, size in zip(each, costs, frame.sizes, strict=True):
        share = cost * total / weight or 1.0
        for t in range(first, first + size):
            scales[t] *= share if noise == "laplace" else math.sqrt(share)
        first += size
    if noise == "laplace":
        scales = _within(shape, [scale / epsilon for scale in scales], epsilon)
        return _kept(NoisyStatisticsMechanism(scales=scales, **parameters), epsilon, 0.0)
    factor = smallest_satisfying(
        lambda factor: gaussian_divergence(1 / factor, epsilon), delta, start=1.0, least=1e-9
    )
    near = NoisyStatisticsMechanism(
        scales=_within(shape, [factor * scale for scale in scales], epsilon), **parameters
    )
    return _kept(_smallest(near, epsilon, delta), epsilon, delta)


def _within(shape: NoisyStatisticsMechanism, scales: list[float], epsilon: float) -> list[float]:
    """Return scales no narrower than integers' lattice, or InvalidInput if epsilon's are too wide.

    Other statistics get lattices that are as fine as their scales.
    """
    least, most = scale_range(1.0)
    if max(scales) > most:
        raise InvalidInput(
            f"epsilon is {quoted(epsilon)}, which asks for noise of scale {max(scales):.3g}; it "
            f"may be at most {most:.3g}: ask for a larger epsilon"
        )
    whole = shape.frame.whole
    return [max(s, least) if each else s for s, each in zip(scales, whole, strict=True)]


def _smallest(
    near: NoisyStatisticsMechanism, epsilon: float, delta: float
) -> NoisyStatisticsMechanism:
    """Find the smallest multiples of these scales that keep the promise."""

    def at(factor: float) -> NoisyStatisticsMechanism:
        return dataclasses.replace(near, scales=[factor * scale for scale in near.scales])

    ranges = [
        (low / scale, high / scale)
        for scale, (low, high) in zip(near.scales, map(scale_range, near.granularity), strict=True)
    ]
    least = max(low for low, _ in ranges) * (1 + 2.0**-50)
    largest = min(high for _, high in ranges) * (1 - 2.0**-50)
    if at(largest).profile().delta(epsilon) > delta:
        raise InvalidInput(
            f"no scales keep epsilon = {quoted(epsilon)} with delta = {quoted(delta)}; ask for "
            "larger ones"
        )
    return at(
        smallest_satisfying(
            lambda factor: at(factor).profile().delta(epsilon),
            delta,
            start=min(max(1.0, least), largest),
            least=least,
            largest=largest,
        )
    )


def _kept(made: NoisyStatisticsMechanism, epsilon: float, delta: float) -> NoisyStatisticsMechanism:
    """Add a little noise, if it takes any, so that the mechanism's own guarantee is kept."""
    more = 2.0**-52
    while (reached := made.guarantee(delta=delta).epsilon) > epsilon:
        factor = (reached / epsilon) * (1 + more)
        made = dataclasses.replace(made, scales=[factor * scale for scale in made.scales])
        more *= 2
    return made
