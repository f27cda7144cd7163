r"""The law of synthetic normal records given the statistic, where n is public and sd known.

With m the noisy mean, of law P(m | s), kappa m + eta the posterior's mean of theta and tau its
standard deviation, a copy y has the density

    p(y | s) = integral L(theta) w(theta) dtheta,    L(theta) = prod_j p(y_j | theta),
    w(theta) = sum_m P(m | s) N(theta; kappa m + eta, tau^2).

Records at a bound, where `inflated`, have a probability in place of a density.

w in closed form. As a function of m, N(theta; kappa m + eta, tau^2) is N(m; r, rho^2) / kappa, with
r = (theta - eta) / kappa and rho = tau / kappa. The noise lives on a lattice whose step g is less
than a millionth of its scale, and is smooth but for a kink at one of its points; so the sum is the
integral over the cells of width g around the points, with a relative error below (g / scale)^2, if
g is small for rho too. The integral of Laplace noise times a normal density is a difference of
normal probabilities, by completing the square on either side of the kink, and that of Gaussian
noise is one of a product of normal densities. What piles up at an inflated end, and what a
truncated law divides by, are those of the lattice.

The integral. log L bends by at most size / sd^2, and so does w by 1 / tau^2: Gauss and Legendre's
rule on pieces of 3 (size / sd^2 + 1 / tau^2)^(-1/2). Beyond the bounds log L rises by at most
size sqrt(2 / pi) / sd (an inflated record's log probability, or a truncated one's constant), and w
falls like exp(-d^2 / (2 tau^2)) at a distance d; so what is further out than 9 tau + tau^2 times
that slope is less than exp(-40) of the peak.

`bayesdp.mechanisms.families.gaussian_sums_law` has the law where n is confidential. Where sd is
unknown, it is an integral over two or more noisy numbers beside the parameters, and isn't offered.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.truncated_normal import log_mass
from bayesdp.mechanisms.families.base import NoisyStatistic
from bayesdp.mechanisms.families.gaussian_blur import log_normal, log_smooth
from bayesdp.mechanisms.families.gaussian_draws import NormalFamily, mean_posterior
from bayesdp.mechanisms.laws import HALF_LOG_2PI
from bayesdp.mechanisms.noise.lattice import to_steps

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PIECE = 3.0
_REACH = 9.0
_UNLIKELY = 90.0  # log of a likelihood beside the largest
FINE = 8  # steps of the lattice to rho, at least
_BLOCK = 1 << 20  # numbers in a temporary array
_FAINT = 600.0  # log of how far below the largest a sum of exponentials is still to be trusted


def gaussian_law(
    family: NormalFamily, output: Any, mean: Floats, mechanism: NoisyStatistic
) -> Floats:
    """Log-density of the records along the output's last axis, given the mean, where sd is known.

    It is vectorised over both.
    """
    sd = float(family.sd or 0)
    y = np.asarray(output, dtype=np.float64)
    if y.ndim == 0 or y.shape[-1] != mechanism.size:
        raise InvalidInput(f"output has shape {y.shape}; it must be (..., {mechanism.size})")
    law = Blurred(family, mechanism, mean)
    records = GaussianRecords(family, mechanism.bounding, y)
    reach = reach_of(mechanism.size, sd, law.tau)
    low, high = family.bounds[0] - reach, family.bounds[1] + reach
    width = _PIECE / math.sqrt(mechanism.size / sd**2 + law.tau**-2)
    pieces = math.ceil((high - low) / width)
    width = (high - low) / pieces
    shape = np.broadcast_shapes(mean.shape, y.shape[:-1])
    logs = np.full(shape, -np.inf)
    many = max(1, _BLOCK // (max(1, math.prod(shape)) * _NODES.size))
    for start in range(0, pieces, many):
        first = np.arange(start, min(start + many, pieces))
        theta = (low + width * (first[:, None] + (1 + _NODES) / 2)).ravel()
        log_weights = np.log(np.tile(_WEIGHTS, first.size) * width / 2)
        terms = records.log_likelihood(theta) + law.log_density(theta) + log_weights
        logs = np.logaddexp(logs, scipy.special.logsumexp(terms, axis=-1))
    return np.where(records.inside, logs, -np.inf)


def likely_thetas(
    family: NormalFamily, mechanism: NoisyStatistic, y: Floats
) -> tuple[Floats, Floats]:
    """Nodes for integrals over theta, of several copies whatever their statistics.

    What is integrated is analytic, and its logarithm bends by at most c = size / sd^2 + 1 / tau^2:
    a sum over a lattice of step 0.7 / sqrt(c) is the integral within a factor 1 + 1e-17.

    Parameters
    ----------
    family : NormalFamily
        A family with a known sd.
    mechanism : NoisyStatistic
        A mechanism with a public n.
    y : ndarray, shape (copies, size)

    Returns
    -------
    thetas : ndarray
        Where at least one copy's records aren't unlikely beside where they are likeliest, so that
        the law of a copy at statistics for which it isn't negligible needs no others.
    log_likelihoods : ndarray, shape (copies, thetas)
        Log-likelihoods, with the logarithm of the step added.
    """
    records = GaussianRecords(family, mechanism.bounding, y)
    _, tau = mean_posterior(family, mechanism.n, 0.0)
    thetas, step = likely_lattice(records, mechanism.size, float(tau), float(tau))
    return thetas, records.log_likelihood(thetas) + math.log(step)


def likely_lattice(
    records: GaussianRecords, size: int, least: float, largest: float
) -> tuple[Floats, float]:
    """Lattice of theta where any copy is likely, and its step, for tau from least to largest."""
    low, high = _likely(records, size, np.full((len(records.inside), 1), largest))
    step = float(_step(size, records.sd, least))
    pieces = zip(np.floor(low[:, 0] / step), np.ceil(high[:, 0] / step), strict=True)
    return step * np.unique(np.concatenate([np.arange(a, b + 1) for a, b in pieces])), step


def likely_thetas_each(
    family: NormalFamily, mechanism: NoisyStatistic, y: Floats, sds: Floats
) -> tuple[Floats, Floats]:
    """Nodes and log-likelihoods of theta for one copy and several sds, under the flat prior.

    Returns
    -------
    thetas, log_likelihoods : ndarray, shape (sds, thetas)
    """
    sd = sds[:, None]
    records = GaussianRecords(family, mechanism.bounding, y, sd)
    tau = sd / math.sqrt(int(mechanism.n or 0))
    (low, high), step = _likely(records, mechanism.size, tau), _step(mechanism.size, sd, tau)
    first, last = np.floor(low / step), np.ceil(high / step)
    thetas = step * (first + np.arange(np.max(last - first) + 1))
    return thetas, records.log_likelihood(thetas) + np.log(step)


def reach_of(size: int, sd: Any, tau: Any) -> Any:
    """Distance from all means beyond which theta doesn't count; see the module's docstring."""
    return _REACH * tau + tau**2 * size * math.sqrt(2 / math.pi) / sd


def _step(size: int, sd: Any, tau: Any) -> Any:
    return 0.7 / np.sqrt(size / sd**2 + tau**-2)


def _likely(records: GaussianRecords, size: int, tau: Floats) -> tuple[Floats, Floats]:
    """Where theta is likely, a row each; `tau` has shape (rows, 1)."""
    reach = reach_of(size, records.sd, tau)
    low, high = records.family.bounds[0] - reach, records.family.bounds[1] + reach
    grid = np.linspace(0, 1, 64)
    for _ in range(60):  # log of the likelihood is concave
        points = low + (high - low) * grid
        values = records.log_likelihood(points)
        good = values >= values.max(axis=1, keepdims=True) - _UNLIKELY
        first = np.maximum(good.argmax(axis=1) - 1, 0)
        last = np.minimum(grid.size - good[:, ::-1].argmax(axis=1), grid.size - 1)
        low, high = (np.take_along_axis(points, k[:, None], axis=1) for k in (first, last))
        if np.all(last - first > grid.size / 4):
            break
    return low, high


def log_sums(given: Floats, each: Floats) -> Floats:
    """Log of sum_t exp(given[i, t] + each[c, t]), shape (len(given), len(each)).

    It is a matrix product. Only sums whose exponentials would underflow, since their largest terms
    are far from the largest of either matrix, are taken one by one.
    """
    rows, columns = (np.nan_to_num(a.max(axis=1), neginf=0.0) for a in (given, each))
    with np.errstate(divide="ignore"):
        logs = np.log(np.exp(given - rows[:, None]) @ np.exp(each - columns[:, None]).T)
    logs += rows[:, None] + columns
    i, c = np.nonzero(logs < rows[:, None] + columns - _FAINT)
    if i.size:
        logs[i, c] = scipy.special.logsumexp(given[i] + each[c], axis=1)
    return np.asarray(logs)


class GaussianRecords:
    """Normal records, reduced to what the likelihood of theta depends on.

    The records' sd is the family's, or an array that broadcasts with theta.
    """

    def __init__(
        self, family: NormalFamily, bounding: str, y: Floats, sd: Floats | None = None
    ) -> None:
        low, high = family.bounds
        self.family, self.truncated = family, bounding == "truncated"
        self.sd: Any = float(family.sd or 0) if sd is None else sd
        self.inside = np.all((y >= low) & (y <= high), axis=-1)
        between = np.ones(y.shape, dtype=bool) if self.truncated else (y > low) & (y < high)
        self.low = np.count_nonzero(~between & (y <= low), axis=-1)[..., None]
        self.high = np.count_nonzero(~between & (y >= high), axis=-1)[..., None]
        self.count = between.sum(axis=-1)[..., None]
        offset = np.where(between, y - family.middle, 0.0)
        self.mean = offset.sum(axis=-1)[..., None] / np.maximum(self.count, 1)
        deviations = np.where(between, offset - self.mean, 0.0)
        self.squares = np.sum(deviations**2, axis=-1)[..., None]

    def log_likelihood(self, theta: Floats) -> Floats:
        """Log-likelihood of theta; the outputs' axes, then theta's."""
        low, high = self.family.bounds
        away = self.mean - (theta - self.family.middle)
        logs = -(self.squares + self.count * away**2) / (2 * self.sd**2)
        logs = logs - self.count * (HALF_LOG_2PI + np.log(self.sd))
        if self.truncated:
            half = (high - low) / 2
            mass = log_mass(theta - (low + half), self.sd, half)
            return np.asarray(logs - self.count * mass)
        logs = logs + self.low * scipy.special.log_ndtr((low - theta) / self.sd)
        return np.asarray(logs + self.high * scipy.special.log_ndtr((theta - high) / self.sd))


class Blurred:
    """Law w of theta given the statistic, the noise blurred by the posterior.

    Parameters
    ----------
    family : NormalFamily
        A family with a known sd.
    mechanism : NoisyStatistic
        A mechanism with a public n.
    mean : ndarray
        The statistic.
    """

    def __init__(self, family: NormalFamily, mechanism: NoisyStatistic, mean: Floats) -> None:
        (self.part,) = mechanism.parts
        self.n, part, g = mechanism.n, self.part, self.part.step
        at_zero, tau = mean_posterior(family, self.n, 0.0)
        at_one, _ = mean_posterior(family, self.n, 1.0)
        self._set_widths(float(tau), float(at_zero), float(at_one - at_zero))
        truncated = mechanism.bounding == "truncated"
        within = part.bounds if truncated else None
        steps = to_steps(mean, g, dimension=None, whole=False, within=within)
        first, last = (int(end or 0) for end in part.ends)
        self.ends = (first * g, last * g)
        edge = -g / 2 if truncated else g / 2
        self.cells = (first * g + edge, last * g - edge)
        self.centre = np.asarray(steps * g, dtype=np.float64)[..., None]
        gaps = (steps - first)[..., None], (last - steps)[..., None]
        self.log_mass: Any = part.noise.log_mass(*gaps) if truncated else 0.0
        self.log_ends = None if truncated else tuple(part.noise.log_upper(gap) for gap in gaps)

    def _set_widths(self, tau: Any, eta: float, kappa: float) -> None:
        self.tau, self.eta, self.kappa, self.rho = tau, eta, kappa, tau / kappa
        if np.min(self.rho) < FINE * self.part.step:
            raise InvalidInput(
                f"the mean has standard deviation {float(np.min(tau)):.3g} given the noisy one, so "
                "small that the law of the records is that of the noise's lattice, of step "
                f"{quoted(self.part.step)}: intractable; combine the copies with bdp.combine"
            )

    def at(self, sds: Floats) -> Blurred:
        """Make the blurred law under a flat prior for records with these sds, which broadcast."""
        other = copy.copy(self)
        other._set_widths(sds / math.sqrt(int(self.n or 0)), 0.0, 1.0)
        return other

    def log_density(self, theta: Floats) -> Floats:
        """Log-density log w; the statistic's axes, then theta's."""
        r = np.asarray((theta - self.eta) / self.kappa, dtype=np.float64)
        logs = log_smooth(self.part, self.centre, r, self.rho, self.cells) - self.log_mass
        for end, probability in zip(self.ends, self.log_ends or (), strict=False):
            logs = np.logaddexp(logs, probability + log_normal(r - end, self.rho))
        return np.asarray(logs - math.log(self.kappa))
