r"""Coordinates in which regression moments are sampled, with the density and its gradient.

The mean is z_ + A_0 e and W = n A A', A = A_0 D C, with z_ and A_0 fixed, C lower triangular with
a unit diagonal and D diagonal with entries log(1 + exp(l)): so that any (e, l, C) is some records'
moments, and scales of rows, whose logarithms matter near 0 and which noise bounds above, don't
change what they correlate. Where coefficients were released, and not moments, A = A_0 C D, so that
scales, of which they say little, don't change what the regression is. The coordinates are rotated
and stretched on top of that: what is sampled is q, with (e, l, C) = origin + rotation' q.

An unknown n is a whole number from first to last, all as probable. It is sampled as v = n + w with
w triangular on [-1, 1]: at v = n + f the density of (v, q) is (1 - f) g(n, q) + f g(n + 1, q), with
g the density of (n, q), continuous, and given (v, q) n is one of the two in proportion to the
terms. That is exact, and v has a gradient. The last coordinate is the logit of v's place between
first - 1 and last + 1. Its noise is discrete.
"""

from __future__ import annotations

import math

import numpy as np

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.regression.moments import Floats, Prior, Seen, log_noise, moments_density

Frame = tuple[Floats, Floats]
"""z_ and A_0."""
Space = tuple[Floats, Floats, Floats, float, float, Frame, Seen, Prior]
"""origin, rotation, noisy n, first and last n, and what the density is given."""


@kernel
def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@kernel
def moments_at(u: Floats, frame: Frame, by_column: bool) -> tuple[Floats, Floats, Floats]:
    """Mean, A and D C, or by column C D, of coordinates (e, l, C)."""
    centre, base = frame
    d = centre.size
    own, root = np.zeros((d, d)), np.zeros((d, d))
    place = 2 * d
    for i in range(d):
        size = _softplus(u[d + i])
        own[i, i] = size
        for j in range(i):
            own[i, j] = (own[j, j] if by_column else size) * u[place]
            place += 1
    mean = centre.copy()
    for i in range(d):
        for j in range(i + 1):
            entry = 0.0
            for c in range(j, i + 1):
                entry += base[i, c] * own[c, j]
            root[i, j] = entry
            mean[i] += base[i, j] * u[j]
    return mean, root, own


@kernel
def latent_density(
    n: float,
    u: Floats,
    slope: Floats,
    frame: Frame,
    seen: Seen,
    prior: Prior,
) -> float:
    """Log p(outputs, e, l, C | n), whose slope is written into `slope`."""
    centre, base = frame
    d = centre.size
    by_column = seen[3] > 0.0
    mean, root, own = moments_at(u, frame, by_column)
    scatter = np.empty((d, d))
    for i in range(d):
        for j in range(i + 1):
            entry = 0.0
            for c in range(j + 1):
                entry += root[i, c] * root[j, c]
            scatter[i, j] = scatter[j, i] = n * entry
    total, at_mean, at_scatter = moments_density(n, mean, scatter, seen, prior)
    power = n - d - 2
    dimension = d + d * (d + 1) / 2
    total += (power * d / 2 + dimension) * math.log(n)
    # |d(mean, W / n) / d(e, l, C)|, and |W|^((n - d - 2) / 2)
    total += d * math.log(2.0)
    for i in range(d):
        times = power + (2 * d - 1 - 2 * i if by_column else d)
        total += (power + d + 2) * math.log(base[i, i]) + times * math.log(own[i, i])
        total -= _softplus(-u[d + i])
    at_root = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            entry = 0.0
            for c in range(d):
                entry += 2 * n * at_scatter[i, c] * root[c, j]
            at_root[i, j] = entry
        entry = 0.0
        for c in range(i, d):
            entry += base[c, i] * at_mean[c]
        slope[i] = entry
    place, at_size = 2 * d, np.empty(d)
    for i in range(d):
        at_size[i] = power + (2 * d - 1 - 2 * i if by_column else d)
        for j in range(i + 1):
            entry = 0.0
            for c in range(i, d):
                entry += base[c, i] * at_root[c, j]
            whose = j if by_column else i
            at_size[whose] += entry * own[i, j]
            if j < i:
                slope[place] = entry * own[whose, whose]
                place += 1
    for i in range(d):
        rate = 1 / (1 + math.exp(-u[d + i]))
        slope[d + i] = at_size[i] * rate / own[i, i] + 1 - rate
    return total


@kernel
def _two(
    u: Floats, at_low: Floats, at_high: Floats, space: Space
) -> tuple[float, float, float, float]:
    """Find the n below v, v - n, and the log of both terms; write their slopes in (e, l, C)."""
    _, _, noisy_n, first, last, frame, seen, prior = space
    v = first - 1 + (last - first + 2) / (1 + math.exp(-u[-1]))
    low = float(math.floor(v))
    rise = v - low
    below = above = -np.inf
    if first <= low <= last and rise < 1:
        below = latent_density(low, u, at_low, frame, seen, prior)
        below += math.log(1 - rise) + log_noise(noisy_n, low, seen[1], seen[2])[0]
    if first <= low + 1 <= last and rise > 0:
        above = latent_density(low + 1, u, at_high, frame, seen, prior)
        above += math.log(rise) + log_noise(noisy_n, low + 1, seen[1], seen[2])[0]
    return low, rise, below, above


@kernel
def sampled_density(q: Floats, slope: Floats, space: Space) -> float:
    """Log-density of q, whose slope is written into `slope`; n is `first` where that is `last`."""
    origin, rotation, _, first, last, frame, seen, prior = space
    size = q.size
    u = origin + np.dot(q, rotation)
    at_u = np.zeros(size)
    if first == last:
        total = latent_density(first, u, at_u, frame, seen, prior)
    else:
        other = np.zeros(size)
        _, rise, below, above = _two(u, at_u, other, space)
        most = max(below, above)
        if most == -np.inf:
            return most
        lower, upper = math.exp(below - most), math.exp(above - most)
        share = 1 / (1 + math.exp(-u[size - 1]))
        stretch = (last - first + 2) * share * (1 - share)
        if not stretch > 0:
            return -np.inf
        total = most + math.log(lower + upper) + math.log(stretch)
        lower, upper = lower / (lower + upper), upper / (lower + upper)
        at_v = 0.0
        if lower > 0:
            at_v -= lower / (1 - rise)
        if upper > 0:
            at_v += upper / rise
        for i in range(size):
            at_u[i] = lower * at_u[i] + upper * other[i]
        at_u[size - 1] = at_v * stretch + 1 - 2 * share
    at_q = np.dot(rotation, at_u)
    for i in range(size):
        slope[i] = at_q[i]
    return total


@kernel
def read_moments(q: Floats, uniform: Floats, space: Space) -> tuple[Floats, Floats, Floats]:
    """Read n, the mean and A' from draws of q, shape (draws, size); n by the uniform numbers."""
    origin, rotation, _, first, last, frame, seen, _ = space
    draws, size = q.shape
    d = frame[0].size
    n, means, rows = np.full(draws, first), np.empty((draws, d)), np.empty((draws, d, d))
    at_low, at_high = np.empty(size), np.empty(size)
    for t in range(draws):
        u = origin + np.dot(q[t], rotation)
        if first < last:
            low, _, below, above = _two(u, at_low, at_high, space)
            n[t] = low + (1.0 if uniform[t] * (1 + math.exp(below - above)) < 1 else 0.0)
        mean, root, _ = moments_at(u, frame, seen[3] > 0.0)
        for i in range(d):
            means[t, i] = mean[i]
            for j in range(d):
                rows[t, i, j] = root[j, i]
    return n, means, rows
