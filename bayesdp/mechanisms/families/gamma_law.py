r"""The law of synthetic gamma records given n and the sum of the confidential ones.

With S* the noisy sum, of law P(s | S) on a lattice, A = a + n k and m records y in a copy, theta
integrates out in closed form: given S*, copies depend on it through their total T alone,

    p(y | S) = prod_j y_j^(k-1) / Gamma(k)^m  Gamma(A + m k) / Gamma(A)  sum_s P(s | S) g(b + s),
    g(z) = z^A / (z + T)^(A + m k),

so that T given S* is beta prime. Only the sum over the noisy sum is left.

Where n is confidential, v = max(n*, 1) stands for it in A, and S* = v c + Y*, moved into v times
the bounds, c their middle and Y* the noisy sum of the records less c. Given v the law is the same,
of a lattice that is moved by v c; that of a copy is its mean over v, by few points
(`bayesdp.mechanisms.noise.lattice_sums`).

The sum over the lattice. Its step h is less than a millionth of the noise's scale lambda, and g
varies over z / sqrt(A + m k), which is refused where it isn't many steps; so the sum is the
integral over the cells of width h around its points, with a relative error of the order of
(h / lambda)^2. What piles up at an inflated end, and what a truncated law divides by, are those of
the lattice.

The integral. Let L(z) be the log of the integrand. It is cut at its stationary points, and at the
kink of Laplace noise at S, so that L is monotone on each piece. With c = b + S they solve

    Laplace, z < c:  z^2 + (T - m k lambda) z + A T lambda = 0,
    Laplace, z > c:  z^2 + (T + m k lambda) z - A T lambda = 0,
    Gaussian:        (z - c) z (z + T) + lambda^2 (m k z - A T) = 0,

of which the first and the last may have more than one maximum between them. Pieces are halved until
L changes by at most 3 on each and z by at most a factor of 2, where Gauss and Legendre's rule
with 16 nodes is exact to 12 digits; a piece at both ends of which L is 50 below its largest, and so
everywhere between, is left out.

The law as a curve. Given n and the sum, what T depends on is a function of log T alone, analytic
where |Im log T| < pi. So where many totals have one sum, as the draws of an audit do, it is a
Chebyshev polynomial of log T, whose degree is doubled until its last coefficients are rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.sum_views import NoisySumView, PositiveSumView
from bayesdp.core.views import IntractableView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import MakerOfCopies, NoisyStatistic
from bayesdp.mechanisms.laws import HALF_LOG_2PI
from bayesdp.mechanisms.noise.lattice import to_steps

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FAR = 50.0  # log of what is negligible beside the largest
_CHANGE = 3.0  # of L over a piece
_FINE = 8  # steps of the lattice to the scale of g, at least
_LARGEST = 1e100
_BLOCK = 1 << 13  # sums and totals taken at once
_DEGREES = (32, 64, 128, 256)  # of the polynomials that stand for the law of many totals
_ROUNDING = 1e-13  # of logs, relative where they are beyond 1
_log_gamma = scipy.special.gammaln


class GammaFamily(Protocol):
    """Protocol of gamma records: their bounds, their known shape, and the prior of their rate."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Public ends of the confidential records."""

    @property
    def middle(self) -> float:
        """Point within the bounds from which sums are taken where n is confidential."""

    @property
    def shape(self) -> float:
        """Shape of the records' law."""

    @property
    def rate_prior(self) -> tuple[float, float]:
        """Shape and rate of the gamma prior of the records' rate."""


def gamma_law(
    family: GammaFamily, output: Any, statistic: Floats, mechanism: NoisyStatistic
) -> Floats:
    """Log-density of the records along the output's last axis, given those of the confidential.

    It is vectorised over both. The statistic's numbers are along its last axis: the sum, or where n
    is confidential n and the sum of records less the bounds' middle.

    Raises
    ------
    InvalidInput
        If the output has another shape, or the prior is so narrow that the noise's lattice shows.
    """
    y = np.asarray(output, dtype=np.float64)
    if y.ndim == 0 or y.shape[-1] != mechanism.size:
        raise InvalidInput(f"output has shape {y.shape}; it must be (..., {mechanism.size})")
    inside = np.all((y > 0) & np.isfinite(y), axis=-1)
    y = np.where(inside[..., None], y, 1.0)
    k = family.shape
    logs = (k - 1) * np.log(y).sum(axis=-1) - mechanism.size * _log_gamma(k)
    totals, sums, numbers = np.broadcast_arrays(
        y.sum(axis=-1), statistic[..., -1], statistic[..., 0] if mechanism.n is None else 0
    )
    blurred = np.empty(totals.size)
    for n in np.unique(numbers):
        (own,) = np.nonzero(numbers.ravel() == n)
        given = totals.ravel()[own], sums.ravel()[own]
        blurred[own] = _log_means(partial(_log_mean, family, mechanism, int(n)), *given)
    return np.asarray(np.where(inside, logs + blurred.reshape(totals.shape), -np.inf))


def _log_means(log_mean: Callable[..., Floats], totals: Floats, sums: Floats) -> Floats:
    """Compute a function of totals and sums, as a curve of the totals where few sums have many."""
    logs = np.empty(totals.size)
    left = np.ones(totals.size, dtype=bool)
    different, of = np.unique(sums, return_inverse=True)
    if different.size * _DEGREES[-1] < totals.size:
        for which, one in enumerate(different):
            own = of == which
            if curve := _curve(log_mean, totals[own], one):
                logs[own], left[own] = curve(np.log(totals[own])), False
    (rest,) = np.nonzero(left)
    for start in range(0, rest.size, _BLOCK):
        block = rest[start : start + _BLOCK]
        logs[block] = log_mean(totals[block], sums[block])
    return logs


def _curve(
    log_mean: Callable[..., Floats], totals: Floats, one: float
) -> np.polynomial.Chebyshev | None:
    """Return the polynomial of the totals' logs, given a sum; None if the last isn't exact."""
    ends = np.log(totals.min()), np.log(totals.max())
    if not ends[0] < ends[1]:
        return None
    for degree in _DEGREES:
        curve = np.polynomial.Chebyshev.interpolate(
            lambda logs: log_mean(np.exp(logs), np.full(logs.size, one)), degree, domain=ends
        )
        sizes = np.abs(curve.coef)
        if sizes[-4:].max() <= _ROUNDING * max(1.0, sizes.max()):
            return curve
    return None


def _log_mean(
    family: GammaFamily, mechanism: NoisyStatistic, n: int, total: Floats, sums: Floats
) -> Floats:
    """Log of what T depends on, given the sums; n is read where it is confidential."""
    if mechanism.n is not None:
        return _NoisySum.of_public(family, mechanism).log_mean(total, sums)
    from bayesdp.mechanisms.noise.lattice_sums import noisy_integers

    logs = np.full(total.size, -np.inf)
    for v, log_weight in zip(*noisy_integers(mechanism.parts[0], n, 1), strict=True):
        law = _NoisySum.of_noisy(family, mechanism, float(v))
        logs = np.logaddexp(logs, log_weight + law.log_mean(total, sums))
    return logs


def views_of_noisy_sum(family: GammaFamily, mechanism: MakerOfCopies) -> tuple[View, ...]:
    """The view of copies that are drawn given the noisy sum of gamma records."""
    public, prior, k = mechanism.n, family.rate_prior, family.shape

    def statistic(n: int, total: Any) -> Floats:
        sums = np.asarray(total, dtype=np.float64)
        if public is not None:
            return sums[..., None]
        return np.stack([np.full(sums.shape, float(n)), sums - n * family.middle], axis=-1)

    def law(outputs: Sequence[Any], sums: Floats, n: int) -> Floats:
        each = gamma_law(family, np.array(outputs)[:, None], statistic(n, sums), mechanism)
        return np.asarray(each.sum(axis=0))

    def scale(n: int) -> float:
        return 1 / math.sqrt(prior[0] + n * k)

    about = (family.bounds, mechanism.clip, k, scale, law, statistic)
    if public is not None:
        return (NoisySumView(public, *about, prior, mechanism.parts[0]),)
    return (
        PositiveSumView(None, *about),
        IntractableView(
            NoisySumView,
            "the copies are of gamma records whose number is confidential, whose law given the sum "
            "is one that bdp.models.GammaModel has, and PyMC has not",
        ),
    )


class _NoisySum:
    """Mean of g over the noisy sum, given the sum: the module's docstring has the formulas.

    Parameters
    ----------
    family, mechanism
    number : float
        The number of records that copies are drawn by.
    moved : float
        What is added to the noisy number to make it their sum.
    ends : tuple of two int
        First and last step of the lattice that aren't moved to an end.
    bounds : tuple of two floats
        The ends that sums are moved to.
    """

    def __init__(
        self,
        family: GammaFamily,
        mechanism: NoisyStatistic,
        number: float,
        moved: float,
        ends: tuple[int, int],
        bounds: tuple[float, float],
    ) -> None:
        self.part, (a, b) = mechanism.parts[-1], family.rate_prior
        self.alpha, self.beta = a + number * family.shape, mechanism.size * family.shape
        self.b, self.truncated = b + moved, mechanism.bounding == "truncated"
        self.scale = self.part.step * float(self.part.noise.scale)
        step, (self.first, self.last) = self.part.step, ends
        self.bounds = b + bounds[0], b + bounds[1]
        self.log_ratio = float(_log_gamma(self.alpha + self.beta) - _log_gamma(self.alpha))
        if self.bounds[0] / math.sqrt(self.alpha + self.beta) < _FINE * step:
            raise InvalidInput(
                f"prior is {family.rate_prior}, whose second number is so small that the "
                "law of the records is that of the noise's lattice, of step "
                f"{quoted(step)}: intractable; combine the copies with bdp.combine"
            )

    @classmethod
    def of_public(cls, family: GammaFamily, mechanism: NoisyStatistic) -> _NoisySum:
        """Make that of a public number of records, whose sum gets the noise."""
        (part,) = mechanism.parts
        first, last = (int(end or 0) for end in part.ends)
        bounds = first * part.step, last * part.step
        return cls(family, mechanism, int(mechanism.n or 0), 0.0, (first, last), bounds)

    @classmethod
    def of_noisy(cls, family: GammaFamily, mechanism: NoisyStatistic, v: float) -> _NoisySum:
        """Make that of a noisy number of records, whose sum less their middle's gets the noise."""
        (low, high), c, g = family.bounds, family.middle, mechanism.parts[-1].step
        ends = math.floor(v * (low - c) / g), math.ceil(v * (high - c) / g)
        return cls(family, mechanism, v, v * c, ends, (v * low, v * high))

    def log_g(self, z: Any, total: Any) -> Floats:
        """Log of g."""
        return np.asarray(self.alpha * np.log(z) - (self.alpha + self.beta) * np.log(z + total))

    def log_mean(self, total: Floats, sums: Floats) -> Floats:
        """Log of Gamma(A + m k) / Gamma(A) times the sum over s of P(s | S) g(b + s), (pairs,)."""
        part, step = self.part, self.part.step
        within = part.bounds if self.truncated else None
        steps = to_steps(sums, step, dimension=None, whole=False, within=within)
        edge = -0.5 if self.truncated else 0.5
        gaps = steps - self.first, self.last - steps
        centre = np.asarray(self.b + steps * step, dtype=np.float64)
        low, high = (self.b + step * (end + side) for end, side in
                     ((self.first, edge), (self.last, -edge)))  # fmt: skip
        logs = self._integral(total, centre, low, high)
        if self.truncated:
            return np.asarray(logs - part.noise.log_mass(*gaps)) + self.log_ratio
        for end, gap in zip(self.bounds, gaps, strict=True):
            logs = np.logaddexp(logs, part.noise.log_upper(gap) + self.log_g(end, total))
        return np.asarray(logs) + self.log_ratio

    def _log_noise(self, away: Floats) -> Floats:
        """Log of the noise's density at a distance from the sum."""
        t = away / self.scale
        if self.part.noise.laplace:
            return np.asarray(-np.abs(t) - math.log(2 * self.scale))
        return np.asarray(-(t**2) / 2 - math.log(self.scale) - HALF_LOG_2PI)

    def _integral(self, total: Floats, centre: Floats, low: float, high: float) -> Floats:
        """Log of the integral of noise times g over low <= z <= high, shape (pairs,)."""

        def log_integrand(z: Floats, of: Any) -> Floats:
            return self._log_noise(z - centre[of]) + self.log_g(z, total[of])

        cuts = np.clip(np.stack([*self._cuts(total, centre)], axis=1), low, high)
        ends = np.full((total.size, 1), low), np.full((total.size, 1), high)
        edges = np.sort(np.concatenate([ends[0], cuts, ends[1]], axis=1), axis=1)
        of = np.repeat(np.arange(total.size), edges.shape[1] - 1)
        best = log_integrand(edges, np.arange(total.size)[:, None]).max(axis=1)
        starts, stops = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        done: list[tuple[Any, Floats, Floats]] = []
        while of.size:
            at = log_integrand(starts, of), log_integrand(stops, of)
            matters = (np.maximum(*at) >= best[of] - _FAR) & (stops > starts)
            wide = (np.abs(at[0] - at[1]) > _CHANGE) | (stops > 2 * starts)
            middle = (starts + stops) / 2
            wide &= (middle > starts) & (middle < stops)
            done.append((of[matters & ~wide], starts[matters & ~wide], stops[matters & ~wide]))
            left = matters & wide
            of = np.concatenate([of[left], of[left]])
            starts, stops = (np.concatenate([starts[left], middle[left]]),
                             np.concatenate([middle[left], stops[left]]))  # fmt: skip
        of, starts, stops = (np.concatenate(each) for each in zip(*done, strict=True))
        z = starts[:, None] + (stops - starts)[:, None] * (1 + _NODES) / 2
        values = np.exp(log_integrand(z, of[:, None]) - best[of, None]) @ _WEIGHTS
        whole = np.bincount(of, values * (stops - starts) / 2, total.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(whole) + best)

    def _cuts(self, total: Floats, centre: Floats) -> Sequence[Floats]:
        """Points between which the integrand is monotone; any where there is none."""
        total = np.minimum(total, _LARGEST)  # beyond it, g is z^A
        if self.part.noise.laplace:
            x, mean = self.beta * self.scale, self.alpha * total * self.scale
            below, above = total - x, total + x
            root = np.sqrt(np.maximum(below**2 - 4 * mean, 0.0))
            larger = (np.abs(below) + root) / 2  # of one sign, and so without cancellation
            right = 2 * mean / (above + np.sqrt(above**2 + 4 * mean))
            return [centre, larger, mean / np.maximum(larger, 1e-300), right]
        size = np.maximum(np.abs(centre), self.scale)  # a noisy n may put the centre below 0
        c, t, unit = centre / size, total / size, (self.scale / size) ** 2
        companion = np.zeros((total.size, 3, 3))
        companion[:, 1, 0] = companion[:, 2, 1] = 1.0
        companion[:, 0, 2] = self.alpha * t * unit
        companion[:, 1, 2] = c * t - self.beta * unit
        companion[:, 2, 2] = c - t
        roots = np.linalg.eigvals(companion).real * size[:, None]
        return [centre, *roots.T]
