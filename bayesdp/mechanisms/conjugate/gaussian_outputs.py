r"""Conjugate releases of real records: how they are drawn, and their laws.

The statistic is the sum of the n records. Given it the posterior mean of theta is mu and its
variance tau^2 (`gaussian`). What is released is

- a parameter: mu, or one draw from N(mu, tau^2);
- m records y in the order drawn. They are exchangeable normal, and with mean y0 and sum of
  squares S around it their log density is

      -(m log 2 pi + (m - 1) log w + log v + S / w + m (y0 - mu)^2 / v) / 2,

  where w is the variance of a record around the others' common mean and v is m times the
  variance of y0: w = v = sigma^2 (`synthetic_map`), w = v = sigma^2 + tau^2
  (`synthetic_many`), or w = sigma^2 and v = sigma^2 + m tau^2 (`synthetic_one`).

Where `bounded`, the parameter is conditioned to [-R, R], and so is each record given its mean:
the density is divided by the probability of [-R, R], which depends on that mean. For
`synthetic_one` the mean, theta, is itself drawn, conditioned, and integrated out
(`truncated_normal`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace
from bayesdp.core.outputs.reals import Reals
from bayesdp.core.views import IntractableView, MeanLaw, NormalView, View
from bayesdp.mechanisms.conjugate.rounding import to_lattice
from bayesdp.mechanisms.conjugate.sums import check_one_sum, check_sums, sum_of
from bayesdp.mechanisms.conjugate.truncated_normal import (
    log_common_mean,
    log_mass,
    truncated_normal,
)
from bayesdp.mechanisms.randomness import generator

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]


def statistic_of(release: ConjugateMechanism, data: Any) -> float:
    """Sum the records, correctly rounded."""
    return sum_of(release, data, -_scale(release)[0])


def check_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sum or sums as floats if records within the bounds can have them, else raise."""
    return check_sums(release, statistic, -_scale(release)[0])


def one_statistic(release: ConjugateMechanism, statistic: Any) -> Floats:
    """Return the sum if it is that of one release alone, else raise InvalidInput."""
    return check_one_sum(release, statistic, -_scale(release)[0])


def draw(release: ConjugateMechanism, sums: Floats, copies: int) -> Floats:
    """Draw outputs, shape (copies, *shape of the sums), and then `size` for records."""
    (mean, tau), method = posterior(release, sums), release.method
    (R, sigma), size = _scale(release), release.synthetic_size
    mu = np.broadcast_to(mean, (copies, *mean.shape))
    if method == "parameter_map":
        return mu.copy()
    rng, bounded = generator(), release.bounded
    if method == "parameter_draw":
        return _normal(rng, mu, tau, R, bounded)
    spread = sigma
    if method == "synthetic_many":
        spread = math.hypot(sigma, tau)
    elif method == "synthetic_one":
        mu = _normal(rng, mu, tau, R, bounded)
    around = np.broadcast_to(mu[..., None], (*mu.shape, size))
    return _normal(rng, around, spread, R, bounded)


def logp(release: ConjugateMechanism, output: Any, sums: Floats) -> Floats:
    """Log-density of the output; of a tuple of records, along the output's last axis."""
    (mu, tau), method = posterior(release, sums), release.method
    (R, sigma), m = _scale(release), release.synthetic_size
    y = np.asarray(output, dtype=np.float64)
    if method == "parameter_map":
        return np.where(y == mu, 0.0, -np.inf)
    if not m:
        y, m, around, common = y[..., None], 1, tau**2, tau**2
    else:
        around = sigma**2 + (tau**2 if method == "synthetic_many" else 0.0)
        common = around + (m * tau**2 if method == "synthetic_one" else 0.0)
    centre = y.mean(axis=-1)
    squares = np.sum((y - centre[..., None]) ** 2, axis=-1)
    inside = np.all(np.abs(y) <= R, axis=-1)
    if release.bounded and method == "synthetic_one":
        constant = m * math.log(2 * math.pi * around) + math.log(2 * math.pi * tau**2)
        law = log_common_mean(mu, np.clip(centre, -R, R), m, tau, sigma, R)
        return np.where(
            inside, law - (constant + squares / around) / 2 - log_mass(mu, tau, R), -np.inf
        )
    constant = m * math.log(2 * math.pi) + (m - 1) * math.log(around) + math.log(common)
    law = -(constant + squares / around + m * (centre - mu) ** 2 / common) / 2
    if not release.bounded:
        return np.asarray(law)
    return np.where(inside, law - m * log_mass(mu, math.sqrt(around), R), -np.inf)


def pairs(release: ConjugateMechanism) -> list[tuple[float, float]]:
    """Pairs where a record moves from -R to R and all others are at R, or at -R.

    The distance is the largest, which decides all without bounds; with bounds the place matters
    too.
    """
    (R, _), n = _scale(release), release.n
    return [(n * R, (n - 2) * R), (-n * R, -(n - 2) * R)][: 1 if n == 1 else None]


def space(release: ConjugateMechanism) -> OutputSpace:
    """Parameters, or tuples of synthetic records in the order drawn, which are exchangeable."""
    R, _ = _scale(release)
    ends = (-R, R) if release.bounded else ()
    return Reals(release.synthetic_size, *ends)


def posterior(release: ConjugateMechanism, sums: Floats) -> tuple[Floats, float]:
    """Posterior mean of theta, with the shape of the sums, and its standard deviation."""
    (mean, sd), (R, sigma) = release.prior, _scale(release)
    precision = sd**-2 + release.n / sigma**2
    mu = np.asarray((mean * sd**-2 + sums / sigma**2) / precision)
    if release.bounded and release.method == "parameter_map":
        mu = np.clip(mu, -R, R)
    return mu, 1 / math.sqrt(precision)


def _normal(rng: np.random.Generator, mean: Floats, sd: float, R: float, bounded: bool) -> Floats:
    if bounded:
        drawn = truncated_normal(mean, sd, R, rng.uniform(size=mean.shape))
        return np.clip(to_lattice(drawn, sd), -R, R)
    return to_lattice(rng.normal(mean, sd), sd)


def _scale(release: ConjugateMechanism) -> tuple[float, float]:
    return float(release.R or 0), float(release.sigma or 0)


def views(release: Any) -> list[View]:
    """The view of the mean of normal records."""
    if release.method == "parameter_map":
        why = (
            "the release is a posterior mode, which tells the mean of the records exactly: they "
            "are no longer confidential, and no noise is to be integrated over"
        )
        return [IntractableView(NormalView, why)]
    (R, sigma), n = _scale(release), release.n
    law = partial(_law_of_mean, release)
    return [NormalView(n, (-R, R), sigma, lambda n, mean, _: n * mean, law)]


def _law_of_mean(release: ConjugateMechanism, outputs: Sequence[Any], n: int) -> MeanLaw:
    """The law, given the records' mean, of a posterior draw or of records around one."""
    R, sigma = _scale(release)
    y = np.array(outputs)
    y = y[:, None, :] if release.synthetic_size else y[:, None]
    variance = 1 / (release.prior[1] ** -2 + n / sigma**2)
    per_mean = variance * n / sigma**2  # how far the posterior's mean moves with the records'
    if release.method == "synthetic_map":
        variance = sigma**2 / release.synthetic_size

    def log_law(means: Floats) -> Floats:
        sums = np.clip(means * n, -n * R, n * R)
        return np.asarray(release.logp(y, sums).sum(axis=0))

    return MeanLaw(math.sqrt(variance) / per_mean, log_law)
