r"""The law of synthetic normal records given n and the sum, where n is confidential and sd known.

With n* and S* the noisy number and sum, v = max(n*, 1) records of mean m = c + S* / v, c the middle
of the bounds and m moved into them, have the posterior N(kappa m + eta, tau^2) of theta, where
kappa, eta and tau depend on v. So a copy y has the density

    p(y | n, S) = sum_v Pr[v | n] integral L(theta) w_v(theta) dtheta,
    w_v(theta)  = sum_(S*) Pr[S* | S] N(theta; kappa m + eta, tau^2),

L(theta) = prod_j p(y_j | theta). As a function of S*, where m isn't moved, w_v's normal density is
v / kappa times one around v ((theta - eta) / kappa - c), of standard deviation v tau / kappa, so
that the sum over the noise's lattice is that of `bayesdp.mechanisms.families.gaussian_laws`, in
closed form; what is beyond the bounds is moved to them, with the lattice's probability. The
integral over theta is a sum over a lattice, as there, fine enough for the least tau. The sum over v
is by few points (`bayesdp.mechanisms.noise.lattice_sums`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import NoisyStatistic
from bayesdp.mechanisms.families.gaussian_blur import log_normal, log_smooth
from bayesdp.mechanisms.families.gaussian_draws import NormalFamily, mean_posterior
from bayesdp.mechanisms.families.gaussian_laws import (
    FINE,
    GaussianRecords,
    likely_lattice,
    log_sums,
    reach_of,
)
from bayesdp.mechanisms.noise.lattice import to_steps
from bayesdp.mechanisms.noise.lattice_sums import noisy_integers

Floats = NDArray[np.float64]

_LEAST = 1  # what a noisy number below it counts as
_BLOCK = 1 << 10  # outputs and statistics taken at once


def sums_law(
    family: NormalFamily, mechanism: NoisyStatistic, output: Any, statistic: Floats
) -> Floats:
    """Log-density of records along the output's last axis, given n and the sum, where sd is known.

    It is vectorised over both; n and the sum are along the statistic's last axis.
    """
    y = np.asarray(output, dtype=np.float64)
    if y.ndim == 0 or y.shape[-1] != mechanism.size:
        raise InvalidInput(f"output has shape {y.shape}; it must be (..., {mechanism.size})")
    shape = np.broadcast_shapes(y.shape[:-1], statistic.shape[:-1])
    rows = np.broadcast_to(y, (*shape, mechanism.size)).reshape(-1, mechanism.size)
    given = np.broadcast_to(statistic, (*shape, 2)).reshape(-1, 2)
    logs = np.empty(len(rows))
    for n in np.unique(given[:, 0]):
        (own,) = np.nonzero(given[:, 0] == n)
        for block in np.array_split(own, math.ceil(own.size / _BLOCK)):
            outputs, which = np.unique(rows[block], axis=0, return_inverse=True)
            sums, whose = np.unique(given[block, 1], return_inverse=True)
            law = SumsLaw.of(family, mechanism, outputs, int(n))
            logs[block] = law.log_density(sums)[whose.ravel(), which.ravel()]
    return logs.reshape(shape)


@dataclass(frozen=True)
class SumsLaw:
    """The law of copies given the sum of n records.

    Attributes
    ----------
    numbers, log_weights : ndarray
        Points of v, and the logs of their weights.
    thetas : ndarray
        Lattice of theta.
    log_likelihoods : ndarray, shape (copies, thetas)
        Log-likelihoods, with the logarithm of the lattice's step added.
    inside : ndarray of bool, shape (copies,)
        Whether all of a copy's records are within the bounds.
    """

    family: NormalFamily
    mechanism: NoisyStatistic
    numbers: Floats
    log_weights: Floats
    thetas: Floats
    log_likelihoods: Floats
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, family: NormalFamily, mechanism: NoisyStatistic, y: Floats, n: int) -> SumsLaw:
        """Make the law of copies y, shape (copies, size), of n records."""
        numbers, log_weights = noisy_integers(mechanism.parts[0], n, _LEAST)
        records = GaussianRecords(family, mechanism.bounding, y)
        _, tau = mean_posterior(family, numbers, 0.0)
        ends = float(tau.min()), float(tau.max())
        thetas, step = likely_lattice(records, mechanism.size, *ends)
        likelihoods = records.log_likelihood(thetas) + math.log(step)
        return cls(family, mechanism, numbers, log_weights, thetas, likelihoods, records.inside)

    def log_density(self, sums: Floats) -> Floats:
        """Log-density of each copy at each of these sums, shape (sums, copies)."""
        part = self.mechanism.parts[1]
        steps = to_steps(sums, part.step, dimension=None, whole=False, within=None)[:, None]
        logs = np.full((len(sums), len(self.inside)), -np.inf)
        for v, log_weight in zip(self.numbers, self.log_weights, strict=True):
            likely, given = self._given(float(v), steps)
            found = log_sums(given, self.log_likelihoods[:, likely]) if given.size else -np.inf
            logs = np.logaddexp(logs, log_weight + found)
        return np.where(self.inside, logs, -np.inf)

    def _given(self, v: float, steps: NDArray[np.int64]) -> tuple[slice, Floats]:
        """Log w_v at the thetas that aren't far from all means, and which these are."""
        (low, high), c, part = self.family.bounds, self.family.middle, self.mechanism.parts[1]
        at_zero, spread = mean_posterior(self.family, v, 0.0)
        at_one, _ = mean_posterior(self.family, v, 1.0)
        eta, kappa, tau, g = float(at_zero), float(at_one - at_zero), float(spread), part.step
        rho = v * tau / kappa
        if rho < FINE * g:
            raise InvalidInput(
                f"the sum has standard deviation {rho:.3g} given the noisy one, so small that the "
                "law of the records is that of the noise's lattice, of step "
                f"{quoted(g)}: intractable; combine the copies with bdp.combine"
            )
        reach = reach_of(self.mechanism.size, float(self.family.sd or 0), tau)
        near = kappa * low + eta - reach, kappa * high + eta + reach
        likely = slice(*np.searchsorted(self.thetas, near))
        theta = self.thetas[likely]
        first, last = math.floor(v * (low - c) / g), math.ceil(v * (high - c) / g)
        r = v * ((theta - eta) / kappa - c)
        smooth = log_smooth(
            part, np.asarray(steps * g), r, rho, ((first + 0.5) * g, (last - 0.5) * g)
        )
        logs = smooth + math.log(v / kappa)
        for end, beyond in ((low, steps - first), (high, last - steps)):
            at_end = log_normal(theta - (kappa * end + eta), tau)
            logs = np.logaddexp(logs, part.noise.log_upper(beyond) + at_end)
        return likely, logs
