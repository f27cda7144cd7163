r"""Linear regression of groups of records with normal logits, from censored copies.

    mu_k = beta_0 + z_k . beta,    sigma^2 ~ InverseGamma(a, b),    logit x_ki ~ N(mu_k, sigma^2),

and each group's copies are the mechanism's given its records. `bayesdp.engines.exchange_groups`
draws from the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from bayesdp.inference.predictive_statistics import Rng, Theta
from bayesdp.inference.records.copies import Floats
from bayesdp.inference.records.copies_regression import CopiesRegressionModel, check_pair
from bayesdp.inference.records.logit_normal import moments


@dataclass(frozen=True)
class LogitNormalRegressionModel(CopiesRegressionModel):
    """Inference about a linear regression of groups' logits, of records in (0, 1) or other bounds.

    Parameters
    ----------
    predictors : mapping of str to mapping of label to number, or DataFrame
        Each predictor's public value for each group, as for `BetaRegressionModel`.
    prior : tuple (mean, sd)
        Mean and sd of the normal priors of the intercept and the coefficients: one number for all,
        or one for each.
    n : int, range, array_like of float, or mapping of label to any of these, optional
        Each group's number of records where the release doesn't say it, or a prior on it, as for
        `BetaRegressionModel`.
    variance : tuple of two floats
        (a, b), each at least 0.1: sigma^2 ~ InverseGamma(a, b), common to all groups.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "beta", with the dimension "coefficient"; "sigma" of logits within a
    group; "mean" of each group's population, in the records' own unit; and "n" of each group where
    any has a prior. The model reads the releases that `BetaRegressionModel` does, by the same
    algorithm and as exactly, and predictors are of groups for the same reason.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> rng = np.random.default_rng(1)
    >>> shares = 1 / (1 + np.exp(-rng.normal(np.repeat([0.0, 0.5, 1.0], 60), 0.7)))
    >>> made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=6.0, size=60, groups=[0, 1, 2])
    >>> release = made.release(shares, by=np.repeat([0, 1, 2], 60))
    >>> model = bdp.models.LogitNormalRegressionModel({"dose": {0: 0, 1: 0.5, 2: 1}}, n=60)
    >>> idata = model.fit(release, draws=1000, chains=2, seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['beta', 'mean', 'sigma']
    """

    variance: tuple[float, float] = (2.0, 1.0)

    family: ClassVar[str] = "logit_normal_regression"
    population: ClassVar[str] = "logit_normal"
    alone: ClassVar[str] = "LogitNormalModel"
    told: ClassVar[tuple[str, ...]] = ("prior", "variance")

    def __post_init__(self) -> None:
        words = "(a, b) of sigma^2 ~ InverseGamma(a, b), as (2, 1)"
        object.__setattr__(self, "variance", check_pair("variance", self.variance, words))
        super().__post_init__()

    @property
    def spread(self) -> tuple[float, float]:
        """Prior of sigma^2."""
        return self.variance

    def _spread_of_prior(self, draws: int, rng: Rng) -> Floats:
        a, b = self.variance
        return 0.5 * np.log(b / rng.gamma(a, 1.0, draws))

    def _named(self, g: Floats, h: Floats, bounds: tuple[float, float]) -> dict[str, Any]:
        low, high = bounds
        sigma = np.exp(h)
        mean, _ = moments(g, np.broadcast_to(sigma[..., None], g.shape))
        return {"sigma": sigma, "mean": low + (high - low) * mean}

    @staticmethod
    def _new(theta: Theta, g: float, n: int, rng: Rng) -> Floats:
        drawn: Floats = special.expit(rng.normal(g, float(theta["sigma"]), n))
        return drawn
