r"""The law of a cell that is chosen from a noisy histogram of draws.

N draws from cells of probabilities pi_1, ..., pi_B are counted, n_c in cell c; each count gets
independent noise e_c of scale 1 / s, and one cell is drawn in proportion to
w_c = max(n_c + e_c, 0), uniformly if all are 0. With W the sum of all w, and as
1 / W = int_0^inf e^(-u W) du,

    Pr[c] = int_0^inf E[w_c e^(-u W)] du + Pr[W = 0] / B.

Given n the w are independent. Sums over multinomial n are coefficients of products: for any f_j,

    E[prod_j f_j(n_j)] = N! [z^N] prod_j sum_k f_j(k) (pi_j z)^k / k!.

With discrete Laplace noise, Pr[e] = (1 - a) / (1 + a) a^|e|, a = e^-s, and t = e^-u, a count k has

    E[e^(-u w)] = a^k / (1 + a) + (1 - a) / (1 + a) (t (t^k - a^k) / (t - a) + t^k t a / (1 - t a)),

so that its generating function is a sum of two exponentials: with x = pi_j z,

    G_j = e^(a x) / (1 + a) + (1 - a) / (1 + a) (t (e^(t x) - e^(a x)) / (t - a)
                                                 + e^(t x) t a / (1 - t a)),
    H_j = -dG_j / du, of E[w e^(-u w)],
    Pr[c] = int_0^inf N! [z^N] H_c prod_(j != c) G_j du + (1 + a)^-B a^N / B.

With Laplace noise, of density s / 2 e^(-s |e|), likewise

    G_j = e^(a x) / 2 + s / 2 ((e^(t x) - e^(a x)) / (s - u) + e^(t x) / (s + u)),

and Pr[W = 0] = 2^-B a^N.

Numbers
-------
The coefficient is a mean over equally spaced points of the circle |z| = N, where what belongs to
other powers is, relative to it, no more than a Poisson probability that far from its mean N; points
away from z = N have next to no weight, so that about 15 serve any N. The half line is
u = e^(pi / 2 sinh y) / (the mean of W), with equal steps of y placed so that u = s, where G is
defined by its limit, is halfway between two points. Steps are halved until the probabilities add up
to 1 within 1e-10.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.laws import stirling_error

if TYPE_CHECKING:
    from bayesdp.kernels.perturbed_histogram import Rule

Floats = NDArray[np.float64]

_STEP, _HALVINGS, _REACH = 0.1, 4, 4.2
_WITHIN = 1e-10
_AWAY = 9.0  # standard deviations of a Poisson number beyond which nothing counts
_LEAST = 1 / 500  # scale of discrete noise that is never there: it is 0 but for e^-500


def log_probabilities(log_weights: Floats, draws: int, scale: float, *, whole: bool) -> Floats:
    """Log-probabilities of the cells that one noisy histogram of draws leads to.

    Parameters
    ----------
    log_weights : ndarray, shape (..., cells)
        Logarithms of a draw's probabilities, but for a constant.
    draws : int
        N, the number of draws in the histogram.
    scale : float
        Scale of the noise of a count.
    whole : bool
        Whether the noise is discrete Laplace, as is proved, or Laplace, as was published.

    Raises
    ------
    FloatingPointError
        If the probabilities don't add up to 1.
    """
    from bayesdp.kernels.perturbed_histogram import chosen

    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    chances = weights / weights.sum(axis=-1, keepdims=True)
    rows = chances.reshape(-1, chances.shape[-1])
    s = 1 / max(scale, _LEAST if whole else 0)
    cells = rows.shape[1]
    none = -cells * math.log1p(math.exp(-s) if whole else 1.0) - s * draws
    found = np.full(rows.shape, math.exp(none) / cells)
    left, step = np.arange(len(rows)), _STEP
    for _ in range(_HALVINGS):
        made = chosen(rows[left], _rule(draws, s, cells, step), s, whole) + found[left]
        done = np.abs(made.sum(axis=1) - 1) <= _WITHIN
        found[left[done]] = made[done]
        left, step = left[~done], step / 2
        if not left.size:
            return np.log(found).reshape(chances.shape)
    raise FloatingPointError("the probabilities of cells don't add up to 1")


def _rule(draws: int, s: float, cells: int, step: float) -> Rule:
    """Lay out the points of the circle and of the half line."""
    from bayesdp.kernels.perturbed_histogram import Rule

    far = _AWAY * math.sqrt(draws)
    around = 2 * math.ceil(far / 2 + 10) + 1
    angles = 2 * np.pi * np.arange(around // 2 + 1) / around
    angles = angles[2 * draws * np.sin(angles / 2) ** 2 < _AWAY**2 / 2]
    error = float(stirling_error(np.array([float(draws)]))[0])
    log_size = 0.5 * math.log(2 * math.pi * draws) + error  # of N! e^N / N^N
    turned = 1j * draws * (np.sin(angles) - angles) - 2 * draws * np.sin(angles / 2) ** 2
    along = np.exp(log_size + turned) * np.where(angles > 0, 2, 1) / around
    return Rule(draws * np.exp(1j * angles), along, *half_line(draws, s, cells, step))


def half_line(
    draws: int, s: float, cells: int, step: float, reach: float = _REACH
) -> tuple[Floats, Floats]:
    """Lay out points u of the half line, and their weights.

    Parameters
    ----------
    draws : int
    s : float
        1 over the noise's scale.
    cells : int
    step, reach : float
        Of y: the distance of two points, and where they end on either side.
    """
    mean = draws + cells / (2 * s)
    at = math.asinh(2 / math.pi * math.log(s * mean))  # of u = s
    before = math.ceil((at + reach) / step)
    y = at + step * (np.arange(-before, math.ceil((reach - at) / step)) + 0.5)
    u = np.exp(math.pi / 2 * np.sinh(y)) / mean
    return u, u * math.pi / 2 * np.cosh(y) * step
