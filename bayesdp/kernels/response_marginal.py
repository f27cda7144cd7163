"""Kernel of a chain over categories' probabilities given randomised answers.

Derived in `bayesdp.engines.response_marginal`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import guarded

Floats = NDArray[np.float64]

_DEGREES = 6.0


@guarded
def response_chain(
    counts: Floats,
    columns: Floats,
    alpha: Floats,
    mode: Floats,
    spread: Floats,
    root: Floats,
    warmup: int,
    draws: int,
    rng: Any,
) -> Any:
    k, patterns = alpha.size, counts.size
    eta, now = np.zeros(k), np.zeros(k)
    z, theta, theta_now = np.empty(k - 1), np.empty(k), np.empty(k)
    kept, moved = np.empty((draws, k)), np.empty(draws)
    current, current_far = -np.inf, 0.0
    for step in range(-1, warmup + draws):
        near = step >= 0 and step % 2 == 1
        stretch = 2.4 / math.sqrt(k - 1.0)
        if not near:
            stretch = math.sqrt(_DEGREES / (2.0 * rng.standard_gamma(_DEGREES / 2.0)))
        for j in range(k - 1):
            z[j] = rng.standard_normal() * stretch
        best = 0.0
        for j in range(k - 1):
            eta[j] = now[j] if near else mode[j]
            for i in range(k - 1):
                eta[j] += spread[j, i] * z[i]
            best = max(best, eta[j])
        whole = 0.0
        for j in range(k):
            theta[j] = math.exp(eta[j] - best)
            whole += theta[j]
        target = 0.0
        for j in range(k):
            theta[j] /= whole
            target += alpha[j] * (eta[j] - best - math.log(whole))
        for a in range(patterns):
            chance = 0.0
            for j in range(k):
                chance += theta[j] * columns[a, j]
            target += counts[a] * math.log(chance) if chance > 0.0 else -np.inf
        # How far out a proposal about the mode is: the Student t's log density but its constant.
        far = 0.0
        for i in range(k - 1):
            along = 0.0
            for j in range(k - 1):
                along += root[i, j] * (eta[j] - mode[j])
            far += along * along
        far = -(_DEGREES + k - 1.0) / 2.0 * math.log1p(far / _DEGREES)
        ratio = target - current - (0.0 if near else far - current_far)
        accepted = step < 0 or ratio >= 0.0 or rng.random() < math.exp(ratio)
        if accepted:
            current, current_far = target, far
            for j in range(k):
                now[j] = eta[j]
                theta_now[j] = theta[j]
        if step >= warmup:
            moved[step - warmup] = 1.0 if accepted else 0.0
            for j in range(k):
                kept[step - warmup, j] = theta_now[j]
    return kept, moved
