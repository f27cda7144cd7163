r"""Draws of sums of survey weights given noisy ones, and of the population's shares given the sums.

Confidential sums
-----------------
u_c is a cell's sum of weights, v_c the sum of weights less their squares, both in steps, of which
the largest weight has G. Every pair with 0 <= v_c <= u_c is taken for equally likely before the
release or, where n records are public, those that n weights can have, by Cauchy and Schwarz:
u_c^2 <= n G (u_c - v_c). Cells are then independent, and so are their two noises. So u_c is drawn
with probability in proportion to its law times the sum of v_c's law over what u_c leaves possible,
and v_c from its law there: both by inverting sums over a grid of 1/64 of the noise's scale, uniform
between its points. Draws are independent.

Shares
------
The Bayesian bootstrap (Rubin 1981) gives each sampled record a standard exponential, so that a
cell's total is T = sum_i w_i g_i: its mean is the weighted count, and its variance the sum of
squared weights. Only these two sums are known, and T is taken for the gamma variable that has them,
which it is where a cell's weights are equal. Shares T_c / sum T then vary by their linearised
variance under the design, sum w^2 (y - p)^2 / (sum w)^2, to first order, and are Dirichlet(counts)
where all weights are equal. A prior adds, to each cell, pseudo-records of the weight
sum w^2 / sum w, which makes that Dirichlet(counts + pseudo-counts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from bayesdp.core.views import Floats, Integer
from bayesdp.errors import InvalidInput

_FINE = 64  # points of the grid to a scale of the noise
_REACH = 0.4  # of what noise reaches at most: 40 scales of Laplace noise, 8 of Gaussian
_SPREAD = 12.0  # standard deviations of a sum of noises, beyond the reach of one, that are kept
_ROUNDING = 1e-13  # of the largest probability of a sum: less is the transform's rounding


class Sums(NamedTuple):
    """Sums of weights and of squared weights by cell, in largest weights; shape (..., k) each."""

    weights: Floats
    squares: Floats


def draw_sums(
    total: Integer, rest: Integer, scale: float, most: float, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw one cell's sums u and v, in steps, given their noisy copies; shape (draws,) each.

    Parameters
    ----------
    total, rest : Integer
        The laws of the noisy copies of u, and of v.
    scale : float
        Scale of their noise, in steps.
    most : float
        n G, the largest sum of n weights, where n is public; else infinite.
    draws : int
    rng : numpy.random.Generator

    Raises
    ------
    InvalidInput
        If the copies are beyond the reach of one another, or of all sums that n weights have.
    """
    width = max(1, int(scale // _FINE))
    least = rest.reached((0, most / 4), _REACH)[0]  # no sum v is larger
    u = _grid(*total.reached((least, most), _REACH), width)
    v = _grid(*rest.reached((0, float(u[-1])), _REACH), width)
    below = np.logaddexp.accumulate(rest.logp(v))
    place = np.floor_divide(_largest_rest(u, most) - v[0], width).astype(np.int64)
    place = np.minimum(place, v.size - 1)
    log_p = np.where(place >= 0, total.logp(u) + below[np.maximum(place, 0)], -np.inf)
    if not np.isfinite(log_p).any():
        raise InvalidInput(
            "the released sums are further than noise reaches from one another, or from all that "
            "the public number of records can have; the release isn't what its manifest says, or "
            "several aren't of the same records"
        )
    at = rng.choice(u.size, draws, p=special.softmax(log_p))
    ends = below[place[at]]
    chosen = np.searchsorted(below, ends + np.log1p(-rng.random(draws)))
    apart = [width * (rng.random(draws) - 0.5) * (width > 1) for _ in range(2)]
    found = np.clip(u[at] + apart[0], 0, most)
    return found, np.clip(v[chosen] + apart[1], 0, _largest_rest(found, most))


def law_of_sum(parts: Sequence[Integer], scale: float) -> Integer:
    """Return the law of a sum of numbers, each of which has noisy copies, given all the copies.

    Each number's law, normalised, is that of the number under a flat prior; the sum's is their
    convolution, by a fast Fourier transform over the grid that `draw_sums` has for one number.
    Where noise is further from a sum than the transform resolves, at 1e-13 of the mode, its
    probability counts as 0. One number's law is returned as it is.

    Parameters
    ----------
    parts : sequence of Integer
        The laws of the noisy copies of each number.
    scale : float
        Scale of the noise on each, in steps.
    """
    if len(parts) == 1:
        return parts[0]
    width = max(1, int(scale // _FINE))
    ends = [part.reached((-math.inf, math.inf), _REACH) for part in parts]
    furthest = max(high - low for low, high in ends) / 2
    reach = math.ceil((furthest + _SPREAD * scale * math.sqrt(2 * len(parts))) / width)
    points = np.arange(-reach, reach + 1, dtype=np.int64) * width
    size = fft.next_fast_len(points.size, real=True)
    centres = [int(low + high) // 2 for low, high in ends]
    middle, together = sum(centres), np.ones(size // 2 + 1, dtype=complex)
    for part, centre in zip(parts, centres, strict=True):
        law: Floats = special.softmax(part.logp(points + centre))
        together *= fft.rfft(np.roll(np.pad(law, (0, size - law.size)), -reach))
    found = np.roll(fft.irfft(together, size), reach)[: points.size]
    least = _ROUNDING * found.max()
    log_p, kept = np.log(np.maximum(found, least)), np.flatnonzero(found > least)
    first, last = (middle + int(points[kept[end]]) for end in (0, -1))

    def logp(x: NDArray[np.int64]) -> Floats:
        at = np.interp(x - middle, points, log_p)
        return np.asarray(np.where((x >= first) & (x <= last), at, -np.inf))

    def reached(within: tuple[float, float], _: float) -> tuple[int, int]:
        low, high = (float(np.clip(end, *within)) for end in (first, last))
        return math.ceil(low), math.floor(high)

    return Integer(reached, logp)


def law_given_all(laws: Sequence[Integer]) -> Integer:
    """Return the law of a number given several releases of it, each with a law of its own."""
    if len(laws) == 1:
        return laws[0]

    def reached(within: tuple[float, float], times: float) -> tuple[int, int]:
        lows, highs = zip(*(law.reached(within, times) for law in laws), strict=True)
        return min(lows), max(highs)

    return Integer(reached, lambda x: np.asarray(sum(law.logp(x) for law in laws)))


def draw_shares(sums: Sums, pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Draw the population's shares given confidential sums; shape (..., k).

    Parameters
    ----------
    sums : Sums
    pseudo : ndarray, shape (k,)
        Pseudo-records of the prior, of each cell.
    rng : numpy.random.Generator
    """
    w, q = sums
    varies = (w > 0) & (q > 0)
    one = np.where(varies, q, 1.0) / np.where(varies, w, 1.0)  # the weight of a typical record
    drawn = np.where(varies, rng.standard_gamma(np.where(varies, w / one, 1.0)) * one, w)
    return with_prior(drawn, sums, pseudo, rng)


def with_prior(totals: Floats, sums: Sums, pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Shares of drawn totals, with the prior's pseudo-records of the mean weight; (..., k).

    Parameters
    ----------
    totals : ndarray, shape (..., k)
        Draws of the population's totals, in largest weights.
    sums, pseudo, rng
        As for `draw_shares`.
    """
    all_w, all_q = (each.sum(axis=-1, keepdims=True) for each in sums)
    typical = np.where((all_w > 0) & (all_q > 0), all_q / np.where(all_w > 0, all_w, 1.0), 1.0)
    drawn = totals + rng.standard_gamma(np.broadcast_to(pseudo, totals.shape)) * typical
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def effective_size(sums: Sums) -> Floats:
    """Kish's effective number of records, (sum w)^2 / sum w^2, over all cells; shape (...)."""
    squares = sums.squares.sum(axis=-1)
    total: Floats = sums.weights.sum(axis=-1) ** 2
    return np.asarray(np.where(squares > 0, total / np.where(squares > 0, squares, 1.0), 0.0))


def _grid(low: float, high: float, width: int) -> NDArray[np.int64]:
    """Multiples of the width around what lies between two ends."""
    return np.arange(math.floor(low / width), math.ceil(high / width) + 1, dtype=np.int64) * width


def _largest_rest(u: NDArray[np.number], most: float) -> Floats:
    """The largest sum of weights less their squares that weights of the sum u can have."""
    return np.asarray(u - (u / most) * u, dtype=np.float64)
