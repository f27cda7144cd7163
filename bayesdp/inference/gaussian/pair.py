r"""Posterior of mu and sigma, by quadrature over the records' mean s and variance v.

With sigma^2 ~ InverseGamma(a, b) and mu ~ N(m0, sigma^2 / k), n normal records have

    p(s, v)  proportional to  v^{(n - 3) / 2} B^{-(a + n / 2)},
    B = b + ((n - 1) v + k n / (k + n) (s - m0)^2) / 2,

and given them sigma^2 ~ InverseGamma(a + n / 2, B), mu ~ N((k m0 + n s) / (k + n), sigma^2 /
(k + n)). So mu, sigma | z is a mixture of such, with weights p(s, v) prod_j p(z_j | s, v): a sum
over nodes of Gauss and Legendre's rule in log v and in t, where s = m0 + w sinh t, as p(s | v) is
as wide as the root of B; on pieces that end where noise has a kink. Where a piece would be much
longer than the components are wide, as with noise far wider than the records' own uncertainty,
draws are spread over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.normal_inverse_gamma import NormalInverseGammaMixture
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.gaussian.windows import shared, within
from bayesdp.inference.unknown_size import Impossible
from bayesdp.mechanisms.laws import HALF_LOG_2PI

Floats = NDArray[np.float64]
Ends = tuple[float, float]

EVERYWHERE = (-math.inf, math.inf)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FAR = 45.0  # log of what is negligible beside the largest
_COARSE = 48  # points a side of a search for where the posterior is
_MOST_LOG = 300.0  # of a variance whose powers are numbers
_MOST_PIECES = (24, 16)  # of the mean, and of the logarithm of the variance
_LONGEST_LOG = 2.0  # piece of the latter, of which two or three records leave much


@dataclass(frozen=True)
class SeenPair:
    """Likelihood of mean and variance of n normal records, given the copies of one release.

    Attributes
    ----------
    n : int
    means, variances : tuple of two floats
        Ranges of possible means and variances; may be infinite.
    scales : tuple of two floats
        Scales on which the law varies.
    kinks : tuple of two ndarrays
        Means, and variances, at which the law isn't smooth.
    log_law : callable
        Log law of all copies at means and variances, a matrix. Where there are `moving_kinks` the
        variances are a matrix too, with one row for each mean.
    moving_kinks : callable, optional
        Kinks of the variance at each mean, shape (means, kinks), where they depend on the mean.
    near : tuple of two tuples of two floats
        Intervals of the mean and of the variance from which a search for the posterior's mass
        starts; infinite where the law doesn't fall.
    """

    n: int
    means: tuple[float, float]
    variances: tuple[float, float]
    scales: tuple[float, float]
    kinks: tuple[Floats, Floats]
    log_law: Callable[[Floats, Floats], Floats]
    moving_kinks: Callable[[Floats], Floats] | None = None
    near: tuple[Ends, Ends] = (EVERYWHERE, EVERYWHERE)


def seen_together(each: Sequence[SeenPair]) -> SeenPair:
    """Combine the likelihoods of several releases of the same records.

    Raises
    ------
    InvalidInput
        If the releases can't be of the same records, or one's kinks depend on the mean.
    """
    if len(each) == 1:
        return each[0]
    if any(one.moving_kinks is not None for one in each):
        raise InvalidInput(
            "one of the releases is of a noisy sum of squares, whose law has kinks that move with "
            "the mean, and isn't combined with others here; use a PyMC model and bdp.observe, or "
            "give sd if it is known"
        )
    means, variances = (
        (
            max(getattr(one, name)[0] for one in each),
            min(getattr(one, name)[1] for one in each),
        )
        for name in ("means", "variances")
    )
    if not (means[0] < means[1] and variances[0] < variances[1]):
        raise Impossible("the releases together have probability zero under the model")
    return SeenPair(
        each[0].n,
        means,
        variances,
        (min(one.scales[0] for one in each), min(one.scales[1] for one in each)),
        (
            np.concatenate([one.kinks[0] for one in each]),
            np.concatenate([one.kinks[1] for one in each]),
        ),
        lambda s, v: np.sum([one.log_law(s, v) for one in each], axis=0),
        near=(
            shared([one.near[0] for one in each], means),
            shared([one.near[1] for one in each], variances),
        ),
    )


@dataclass(frozen=True)
class PairPosterior:
    """Posterior of mu and sigma, and the log of the probability of the outputs."""

    mixture: NormalInverseGammaMixture
    log_evidence: float


def posterior_of_pair(seen: SeenPair, prior: tuple[float, ...]) -> PairPosterior:
    """Compute the posterior of mu and sigma; see the module's docstring."""
    m0, k, a, b = prior
    n, h = seen.n, (seen.n - 1) / 2
    c, shape = 1 / k + 1 / n, a + n / 2
    constant = a * math.log(b) - math.lgamma(a) + h * math.log(h) - math.lgamma(h)
    constant += math.lgamma(shape) - HALF_LOG_2PI - math.log(c) / 2

    narrow = math.sqrt(c * b / shape)  # of the mean, where the variance is smallest

    def scale(s: Floats, u: Floats) -> Floats:
        return np.asarray(b + h * np.exp(u) + ((s - m0) ** 2)[:, None] / (2 * c))

    def log_weight(t: Floats, u: Floats) -> Floats:
        s = m0 + narrow * np.sinh(t)
        law = seen.log_law(s, np.exp(u)) + np.log(narrow * np.cosh(t))[:, None]
        return np.asarray(law + constant + h * u - shape * np.log(scale(s, u)))

    def to_t(means: Ends) -> Ends:
        low, high = np.arcsinh((np.array(means) - m0) / narrow).tolist()
        return max(low, -_MOST_LOG), min(high, _MOST_LOG)

    start, u_start = _starts(seen, prior)
    limits = to_t(seen.means), _limits(seen.variances)
    t_ends, u_ends = _window(log_weight, to_t(start), u_start, limits)
    middle = math.exp(sum(u_ends) / 2)
    furthest = narrow * math.cosh(max(t_ends, key=abs))
    lengths = (
        3 * min(seen.scales[0], math.sqrt(middle / (k + n))) / furthest,
        2 * min(seen.scales[1] / math.exp(u_ends[1]), 1.5 / math.sqrt(shape)),
    )
    v_kinks = np.log(seen.kinks[1][seen.kinks[1] > 0])
    t_kinks = np.arcsinh((seen.kinks[0] - m0) / narrow)
    t, t_widths = _pieces(t_ends, t_kinks, lengths[0], _MOST_PIECES[0])
    most = max(_MOST_PIECES[1], math.ceil((u_ends[1] - u_ends[0]) / _LONGEST_LOG))
    u, u_widths = _pieces(u_ends, v_kinks, lengths[1], most)
    s, s_widths = m0 + narrow * np.sinh(t), t_widths * narrow * np.cosh(t)
    if seen.moving_kinks is not None:
        u, u_widths = _moving_pieces(u_ends, seen.moving_kinks(s), lengths[1])
    with np.errstate(divide="ignore"):  # of pieces without length
        logs = log_weight(t, u) + np.log(t_widths)[:, None] + np.log(u_widths)
    total = float(special.logsumexp(logs))
    weights = np.exp(logs - total)
    i, j = np.nonzero(weights > 1e-18)
    kept, scales = weights[i, j], scale(s, u)[i, j]
    u, u_widths = (np.broadcast_to(each, weights.shape)[i, j] for each in (u, u_widths))
    means = (k * m0 + n * s[i]) / (k + n)
    s_gap = s_widths[i] * n / (k + n)
    u_gap = u_widths * h * np.exp(u) / scales
    wide = s_gap > np.sqrt(scales / shape / (k + n)), u_gap > 1 / math.sqrt(shape)
    blur = np.where(wide[0], s_gap, 0.0), np.where(wide[1], u_gap, 0.0)
    mixture = NormalInverseGammaMixture(
        kept / kept.sum(), means, scales, shape, k + n, blur if np.any(wide) else None
    )
    return PairPosterior(mixture, total)


def known_pair(
    n: int, mean: float, variance: float, prior: tuple[float, ...]
) -> NormalInverseGammaMixture:
    """Compute the posterior of mu and sigma from the records' mean and variance: one component."""
    m0, k, a, b = prior
    scale = b + ((n - 1) * variance + k * n / (k + n) * (mean - m0) ** 2) / 2
    centre = (k * m0 + n * mean) / (k + n)
    arrays = np.ones(1), np.array([centre]), np.array([scale])
    return NormalInverseGammaMixture(*arrays, a + n / 2, k + n)


def _starts(seen: SeenPair, prior: tuple[float, ...]) -> tuple[Ends, Ends]:
    """Starts of a search for the mean and for log variance."""
    m0, k, a, b = prior
    h = (seen.n - 1) / 2
    low, high = within(seen.near[1], (max(seen.variances[0], 0.0), seen.variances[1]))
    if high <= 0:
        raise Impossible("the outputs have probability zero under the model")
    u_high = min(math.log(b) + 60 / a + 60 / h, math.log(high))
    if u_high > _MOST_LOG:
        raise InvalidInput(
            f"all outputs are at an upper bound, and a = {quoted(a)} of the prior leaves sigma "
            "free beyond any number; give a prior with a larger a, for example 2"
        )
    if low > 0 and math.log(low) >= u_high:  # the prior is of smaller ones
        u_high = math.log(high)
    u_low = min(math.log(b / max(h, 1.0)), u_high) - 60 / h - 5
    if low > 0:
        u_low = max(u_low, math.log(low))
    reach = math.exp(u_high / 2) * 60 * math.sqrt(1 / k + 1 / seen.n)
    first, last = within(seen.near[0], seen.means)
    first = min(m0, last) - reach if math.isinf(first) else first
    last = max(m0, first) + reach if math.isinf(last) else last
    return (first, last), (u_low, u_high)


def _limits(variances: Ends) -> Ends:
    """Limits of log variance."""
    low, high = variances
    return (
        max(math.log(low), -2 * _MOST_LOG) if low > 0 else -2 * _MOST_LOG,
        min(math.log(high), _MOST_LOG),
    )


def _window(
    log_weight: Callable[[Floats, Floats], Floats], s: Ends, u: Ends, limits: tuple[Ends, Ends]
) -> tuple[Ends, Ends]:
    """Find where a function with one peak isn't negligible: go outwards, then refine grids."""
    for _ in range(200):
        grids = [np.linspace(low, high, _COARSE) for low, high in (s, u)]
        values = log_weight(*grids)
        if not values.max() > -math.inf:
            raise Impossible("the outputs have probability zero under the model")
        windows, grown = [], False
        for axis, (grid, ends) in enumerate(zip(grids, limits, strict=True)):
            good = np.flatnonzero(values.max(axis=1 - axis) >= values.max() - _FAR)
            first, last = max(good[0] - 1, 0), min(good[-1] + 1, _COARSE - 1)
            low, high = float(grid[first]), float(grid[last])
            length = float(np.ptp(grid)) or 1e-9 * max(abs(low), 1.0)
            if good[0] == 0 and low > ends[0]:
                low, grown = max(ends[0], low - length), True
            if good[-1] == _COARSE - 1 and high < ends[1]:
                high, grown = min(ends[1], high + length), True
            windows.append((low, high))
        shrunk = [
            np.ptp(new) / max(np.ptp(old), 1e-300) for new, old in zip(windows, (s, u), strict=True)
        ]
        s, u = windows
        if not grown and min(shrunk) > 0.8:
            break
    return s, u


def _pieces(
    ends: tuple[float, float], kinks: Floats, longest: float, most: int
) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre's rule."""
    low, high = ends
    longest = min(max(longest, (high - low) / most), (high - low) / 12)
    edges = np.unique([low, *kinks[(kinks > low) & (kinks < high)], high])
    parts = np.ceil(np.diff(edges) / longest).astype(np.int64)
    every = np.concatenate(
        [np.linspace(x, y, p + 1)[:-1] for x, y, p in zip(edges, edges[1:], parts, strict=False)]
    )
    lengths = np.diff(np.append(every, high))
    nodes = every[:, None] + lengths[:, None] * (1 + _NODES) / 2
    return nodes.ravel(), (lengths[:, None] / 2 * _WEIGHTS).ravel()


def _moving_pieces(
    ends: tuple[float, float], kinks: Floats, longest: float
) -> tuple[Floats, Floats]:
    """Nodes and weights between kinks of the variance that depend on the mean: a row a mean."""
    low, high = ends
    whole = np.ceil((high - low) / max(longest, (high - low) / _MOST_PIECES[1]))
    each = max(6, math.ceil(2 * whole / (kinks.shape[1] + 1)))  # some segments are short
    with np.errstate(divide="ignore"):
        cuts = np.sort(np.clip(np.log(np.maximum(kinks, 0.0)), low, high), axis=1)
    edges = np.pad(cuts, ((0, 0), (1, 1)), constant_values=((0, 0), (low, high)))
    lengths = np.repeat(np.diff(edges) / each, each, axis=1)[..., None]
    starts = (edges[:, :-1, None] + np.diff(edges)[..., None] * np.arange(each) / each).reshape(
        len(kinks), -1, 1
    )
    nodes, weights = starts + lengths * (1 + _NODES) / 2, lengths / 2 * _WEIGHTS
    return nodes.reshape(len(kinks), -1), weights.reshape(len(kinks), -1)
