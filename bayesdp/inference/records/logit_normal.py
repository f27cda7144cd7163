r"""Records in (0, 1) with normal logits, from copies of a censored beta posterior.

    sigma^2 ~ InverseGamma(a, b),    mu ~ N(m, sigma^2 / k),    logit x_i ~ N(mu, sigma^2),

and the copies are the mechanism's given x, which are beta distributed given what it drew: the law
of the copies is the mechanism's, whatever the records are like. `bayesdp.engines.exchange` draws
from the posterior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from bayesdp.checks import as_float
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.predictive_statistics import Rng, Theta
from bayesdp.inference.records.copies import CensoredCopiesModel, Floats, Prior

_RANGES = (-1000.0, 1000.0), (0.001, 1e6), (0.1, 1e6), (0.1, 1e6)
# Nodes of the trapezoidal rule for means, whose error falls with exp(-2 pi^2 / (sigma step)): it is
# below 1e-13 for sigma up to 20, and there is less than 1e-14 beyond the ends.
_STEP = 0.03
_NODES = np.arange(-8.0, 8.0 + _STEP / 2, _STEP)


@dataclass(frozen=True)
class LogitNormalModel(CensoredCopiesModel):
    """Inference about records in (0, 1), or other bounds, whose logits are normal.

    Parameters
    ----------
    prior : tuple of four floats
        (m, k, a, b): sigma^2 ~ InverseGamma(a, b) and mu ~ N(m, sigma^2 / k), of the logits of
        records rescaled to (0, 1). m is from -1000 to 1000, k from 0.001, a and b from 0.1, and
        each at most 1e6.
    n : int, range or array_like of float, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k].
    quantiles : sequence of float
        Probabilities, each between 0 and 1, at which the population's quantiles are wanted.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "mu" and "sigma" of the logits, "mean" and "sd" of the population
    and its "quantile" with the dimension "probability", these in the records' own unit, and "n"
    where it has a prior. The model reads what `BetaModel` does, copies of the censored beta
    synthesizer, by the same engine and as exactly. That the mechanism takes records for beta
    distributed is part of the copies' law, and no assumption of the model.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> shares = 1 / (1 + np.exp(np.random.default_rng(1).normal(1, 0.7, 100)))
    >>> made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, size=100)
    >>> release = made.release(shares)
    >>> idata = bdp.models.LogitNormalModel(n=100).fit(release, draws=1000, chains=2, seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['mean', 'mu', 'quantile', 'sd', 'sigma']
    """

    prior: Prior = (0.0, 0.1, 2.0, 1.0)

    family: ClassVar[str] = "logit_normal"
    population: ClassVar[str] = "logit_normal"
    grouped: ClassVar[str] = "LogitNormalRegressionModel"
    derived: ClassVar[frozenset[str]] = frozenset({"mean", "sd", "quantile"})

    def _checked_prior(self) -> Prior:
        try:
            m, k, a, b = map(as_float, self.prior)
        except (TypeError, ValueError):  # not four
            m = k = a = b = math.nan
        if not all(low <= v <= high for v, (low, high) in zip((m, k, a, b), _RANGES, strict=True)):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be four numbers (m, k, a, b) of sigma^2 ~ "
                "InverseGamma(a, b) and mu ~ N(m, sigma^2 / k), as (0, 0.1, 2, 1): m from -1000 to "
                "1000, k from 0.001, a and b from 0.1, and each at most 1e6"
            )
        return m, k, a, b

    def _of_prior(self, draws: int, rng: Rng) -> tuple[Floats, Floats]:
        m, k, a, b = self.prior
        sigma = np.sqrt(b / rng.gamma(a, 1.0, draws))
        return m + sigma / math.sqrt(k) * rng.standard_normal(draws), np.log(sigma)

    @staticmethod
    def _new(theta: Theta, bounds: tuple[float, float], n: int, rng: Rng) -> Floats:
        drawn: Floats = special.expit(rng.normal(float(theta["mu"]), float(theta["sigma"]), n))
        return drawn

    def _named(self, g: Floats, h: Floats, bounds: tuple[float, float]) -> dict[str, Any]:
        low, width = bounds[0], bounds[1] - bounds[0]
        sigma = np.exp(h)
        mean, sd = moments(g, sigma)
        normal = special.ndtri(np.array(self.quantiles))
        quantile = special.expit(g[..., None] + sigma[..., None] * normal)
        return {
            "mu": g,
            "sigma": sigma,
            "mean": low + width * mean,
            "sd": width * sd,
            "quantile": low + width * quantile,
        }


def moments(mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of expit(mu + sigma z), z standard normal."""
    middle = special.expit(mu)
    first, second = np.zeros_like(mu), np.zeros_like(mu)
    weights = np.exp(-0.5 * _NODES**2)
    for z, weight in zip(_NODES, weights / weights.sum(), strict=True):
        away = special.expit(mu + sigma * z) - middle
        first += weight * away
        second += weight * away**2
    return middle + first, np.sqrt(np.maximum(second - first**2, 0.0))
