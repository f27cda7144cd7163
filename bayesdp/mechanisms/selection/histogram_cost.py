r"""The cost of one cell that is chosen from a noisy histogram of draws.

All noisy counts together cost 2 N / scale (`bayesdp.mechanisms.selection.posterior_cells`), and one
cell chosen from them far less. In the notation of `bayesdp.mechanisms.selection.histogram_law`, let
f = w_c / W, or 1 / B where W = 0, be the probability of cell c given the noisy counts, and p(n) its
mean given the counts n of the N draws. f increases with w_c and decreases with every other w, also
where W becomes 0; so, with the same noise, p increases with n_c and decreases with the others, and

    p(n) <= p(N draws in c, none elsewhere) = A.

And p(n) >= p(n'), n' with n'_c = 0. There w_c = e_c^+, x^+ = max(x, 0), and as
(m + e)^+ <= m + e^+ for m >= 0, W <= w_c + N + the sum over the others of e_j^+, so that

    p(n) >= E[e_c^+ / (e_c^+ + N + sum_(j != c) e_j^+)] = L.

Cells are alike: neither A nor L depends on c. Whatever the data and however the N cells are drawn,
Pr[c] is a mean of p(n), within [L, A]; so for any two data sets, neighbours or not,

    |log Pr[c | x] - log Pr[c | x']| <= log(A / L).

Of two posteriors with all of their mass in c and in another cell it is attained but for e_j^+ in
place of e_j: 1.48 for the 1.53 of 20 cells, 1,000 draws and scale 500, where the histogram costs 4.

With g_k = E[e^(-u w)] and h_k = E[w e^(-u w)] of a count k, as there,

    A = int_0^inf h_N g_0^(B - 1) du + a^N / (B (1 + a)^B),
    L = int_0^inf h_0 e^(-u N) g_0^(B - 1) du,

integrals of positive functions, computed twice on points of other steps and ends. Where they agree
within 1e-10 the cost is theirs, rounded up by 1e-8, and elsewhere that of the whole histogram.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.draws.integer_noise import LARGEST_SCALE
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.histogram_law import half_line

Floats = NDArray[np.float64]

_GRIDS = ((0.05, 4.2), (0.04, 4.6))  # steps and reaches
_AGREE, _SLACK = 1e-10, 1e-8
_PLATFORMS = 1e-9  # a tenth of the slack: floats differ between machines
_HALVINGS = 60
_LARGEST = 300.0  # 1 / scale up to which the integrals were compared, and epsilon: none needs more


@lru_cache(maxsize=64)
def cell_cost(draws: int, cells: int, scale: float) -> float:
    """Bound the epsilon of one cell, for any two data sets; rounded up.

    Parameters
    ----------
    draws, cells : int
        N and B.
    scale : float
        Scale of the discrete Laplace noise of each count.
    """
    histogram = up(2 * draws / Fraction(scale))
    if scale * _LARGEST < 1:
        return histogram
    one, other = (_log_ratio(draws, cells, 1 / scale, *grid) for grid in _GRIDS)
    if not abs(one - other) <= _AGREE * max(1.0, abs(one)):
        return histogram
    return min(max(one, other) + _SLACK, histogram)


@lru_cache(maxsize=64)
def scale_for(draws: int, cells: int, epsilon: float) -> float:
    """Find the least scale of noise, but for 1e-9 of it, at which a cell costs at most `epsilon`.

    Parameters
    ----------
    draws, cells : int
        N and B.
    epsilon : float
    """
    epsilon = min(epsilon, _LARGEST)
    high = 2 * draws / epsilon * (1 + 1e-12)
    low = high
    while cell_cost(draws, cells, low) <= epsilon:
        high, low = low, low / 2
    for _ in range(_HALVINGS):
        if high <= low * (1 + 1e-9):
            break
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cell_cost(draws, cells, middle) <= epsilon else (middle, high)
    return high


def check_scale(name: str, scale: Any, draws: int, cells: int, epsilon: float) -> float:
    """Return a scale of noise, at which a cell must cost at most `epsilon`, else raise."""
    given: float = check_positive(name, scale)
    if given > LARGEST_SCALE:
        raise InvalidInput(f"{name} is {given}, whose noise exceeds 64 bits; take a smaller one")
    cost = cell_cost(draws, cells, given)
    if cost > epsilon + _PLATFORMS:
        raise InvalidInput(
            f"{name} is {given}, at which one cell costs up to {cost:.6g}, more than epsilon, "
            f"{epsilon}; give a larger scale, or leave it out"
        )
    return given


def _log_ratio(draws: int, cells: int, s: float, step: float, reach: float) -> float:
    """Return log(A / L), by one grid of points."""
    u, over = half_line(draws, s, cells, step, reach)
    a, t = math.exp(-s), np.exp(-u)
    near = np.where(u < s, -t, a) * np.expm1(-abs(u - s))  # t - a
    far, share = -np.expm1(-(s + u)), -math.expm1(-s) / (1 + a)
    own, old = np.exp(-u * draws), math.exp(-s * draws)
    apart = own - old
    others = (1 / (1 + a) + share * t * a / far) ** (cells - 1)
    full = (apart * (1 - t / near) + draws * own) / near + a * own * (1 / far + draws) / far
    none = math.exp(-s * draws - cells * math.log1p(a)) / cells
    most = over @ (share * t * full * others) + none
    least = over @ (share * t * a / far**2 * own * others)
    return math.log(most / least)
