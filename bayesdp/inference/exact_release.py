"""Exact statistics as releases: known values, whose posteriors are the conjugate ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from bayesdp.core.views import ExactView, view_of
from bayesdp.engines.normal_mixture import normal_logpdf
from bayesdp.errors import InvalidInput
from bayesdp.inference.gaussian.mean import MeanPosterior, known_mean
from bayesdp.inference.gaussian.pair import PairPosterior, known_pair
from bayesdp.inference.readers import instead
from bayesdp.inference.unknown_size import Impossible
from bayesdp.mechanisms.counts.exact_statistic import value_of
from bayesdp.release import Part


def is_exact(mechanism: Any) -> bool:
    """Return True if the mechanism releases its statistic without randomisation."""
    return view_of(mechanism, ExactView) is not None


def checked_value(part: Part, dimension: int | None) -> Any:
    """Return an exact statistic for a Gaussian model; refuse one of another dimension."""
    if part.mechanism.dimension != dimension:  # type: ignore[attr-defined]
        raise InvalidInput(
            "the exact release isn't the statistic that the model reads: with sd known, the mean "
            "or the sum; else, as a vector, mean and variance or sum and sum of squares; "
            + instead(part.mechanism)
        )
    return value_of(part.outputs)


def sampled() -> InvalidInput:
    """The error for an exact real number that is given as a latent variable."""
    return InvalidInput(
        "the release is exact, so its statistic is known and not to be sampled; give bdp.observe "
        "the statistic's distribution without a name, as pm.Normal.dist(mu, sd / n ** 0.5)"
    )


def log_density_of(parts: Sequence[Part], law: Any) -> Any:
    """Log p(statistic | theta) as a PyTensor expression, of a continuous distribution."""
    import pymc as pm

    values = np.array([value_of(part.outputs) for part in parts], dtype=np.float64)
    values = values[0] if parts[0].group is None else values
    if law.ndim != values.ndim:
        raise InvalidInput(
            f"the distribution has {law.ndim} dimensions, but what was released has {values.ndim}"
        )
    return pm.logp(law, values).sum()


def posterior_given(
    parts: Sequence[Part],
    others: Sequence[Any],
    n: int,
    statistic: str,
    sd: float | None,
    prior: tuple[float, ...] | None,
) -> MeanPosterior | PairPosterior:
    """Compute the posterior of a Gaussian model where one part is exact.

    Parameters
    ----------
    parts : sequence of Part
        Exact parts, of the same records.
    others : sequence of Seen or SeenPair
        Likelihoods from other releases of these records, which matter to the evidence alone.
    n, statistic, sd, prior
        The model's fields.

    Raises
    ------
    InvalidInput
        If the parts contradict each other, or aren't of the statistic that the model reads.
    """
    values = {checked_value(part, None if sd is not None else 2) for part in parts}
    if len(values) > 1:
        raise InvalidInput("the exact releases differ, but are to be of one statistic")
    if sd is None and n < 2:
        raise InvalidInput(f"n is {n}; with sd unknown a Gaussian model needs 2 records or more")
    value = values.pop()
    if sd is not None:
        mean = value / (n if statistic == "sum" else 1)
        elsewhere = sum(float(each.log_law(np.array([mean]))[0]) for each in others)
        law = 0.0 if prior is None else _log_mean(mean, n, sd, prior)
        law -= math.log(n) if statistic == "sum" else 0.0
        normal = None if prior is None else (prior[0], prior[1])
        return MeanPosterior(known_mean(n, mean, sd, normal), _possible(law + elsewhere))
    mean, variance = value
    jacobian = 0.0
    if statistic == "sum":
        mean, variance = mean / n, (variance - mean * mean / n) / (n - 1)
        jacobian = math.log(n) + math.log(n - 1)
    if not variance > 0:
        raise Impossible("the exact variance isn't positive; under a normal law it is, always")
    at = np.array([mean]), np.array([variance])
    elsewhere = sum(float(np.ravel(each.log_law(*at))[0]) for each in others)
    law = _log_pair(mean, variance, n, prior or ()) - jacobian
    return PairPosterior(known_pair(n, mean, variance, prior or ()), _possible(law + elsewhere))


def _possible(log_evidence: float) -> float:
    if log_evidence == -math.inf:
        raise Impossible("the releases together have probability zero under the model")
    return log_evidence


def _log_mean(mean: float, n: int, sd: float, prior: tuple[float, ...]) -> float:
    width = math.hypot(sd / math.sqrt(n), prior[1])
    return float(normal_logpdf(np.array([mean]), prior[0], width)[0])


def _log_pair(mean: float, variance: float, n: int, prior: tuple[float, ...]) -> float:
    """Log-density of mean and variance, mu and sigma integrated out under the prior."""
    m0, k, a, b = prior
    h, c = (n - 1) / 2, 1 / n + 1 / k
    scale = b + h * variance + (mean - m0) ** 2 / (2 * c)
    return float(
        h * math.log(h)
        + (h - 1) * math.log(variance)
        - special.gammaln(h)
        - math.log(2 * math.pi * c) / 2
        + a * math.log(b)
        - special.gammaln(a)
        + special.gammaln(a + h + 0.5)
        - (a + h + 0.5) * math.log(scale)
    )
