r"""Laws of a column regressed on others, as programs of PyMC and Stan.

    intercept ~ Normal(m, s),  slope_k ~ Normal(0, s_k),  sigma ~ HalfNormal(scale),
    eta_i = intercept + sum over k of x_ik slope_k,       y_i ~ family(eta_i, sigma).

A family says what eta and sigma are to it; they are in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.synthesis import censored_regression_bounds as bounds

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
_MOST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Family:
    """A family of laws of one number y, given a linear predictor eta and perhaps sigma.

    Attributes
    ----------
    number : int
        Its number in stan/censored_regression.stan.
    values : str
        The values that y may have, in words.
    allowed : callable
        Tells which numbers are such values.
    whole, spread : bool
        Whether y is an integer, and whether there is a sigma.
    observed : callable
        Adds y to a PyMC model: called with pymc, its name, eta, sigma and the values.
    log_density : callable
        Log density of y given eta and sigma.
    largest : callable or None
        Bound on its absolute value over intervals of eta and sigma; None for several categories.
    """

    number: int
    values: str
    allowed: Callable[[Floats], NDArray[np.bool_]]
    whole: bool
    spread: bool
    observed: Callable[..., Any]
    log_density: Callable[[Floats, Floats, Any], Floats]
    largest: Callable[[Floats, Any, Any], Floats] | None


def _is_positive(y: Floats) -> NDArray[np.bool_]:
    return np.isfinite(y) & (y > 0)


def _is_count(y: Floats) -> NDArray[np.bool_]:
    return np.asarray((y >= 0) & (y <= _MOST_COUNT) & (y == np.floor(y)))


def _gamma(pymc: Any, name: str, eta: Any, sigma: Any, y: Any) -> Any:
    shape = sigma**-2
    return pymc.Gamma(name, alpha=shape, beta=shape * pymc.math.exp(-eta), observed=y)


def _gamma_log_density(y: Floats, eta: Floats, sigma: Floats) -> Floats:
    return np.asarray(stats.gamma.logpdf(y, sigma**-2, scale=sigma**2 * np.exp(eta)))


def _poisson_log_density(y: Floats, eta: Floats, sigma: None) -> Floats:
    return np.asarray(y * eta - np.exp(eta) - special.gammaln(y + 1))


def _logit_log_density(y: Floats, eta: Floats, sigma: None) -> Floats:
    return np.asarray(y * eta - np.logaddexp(0.0, eta))


def _negative_binomial(pymc: Any, name: str, eta: Any, sigma: Any, y: Any) -> Any:
    return pymc.NegativeBinomial(name, mu=pymc.math.exp(eta), alpha=sigma**-2, observed=y)


def _negative_binomial_log_density(y: Floats, eta: Floats, sigma: Floats) -> Floats:
    shape = sigma**-2
    whole = np.logaddexp(np.log(shape), eta)
    number = special.gammaln(y + shape) - special.gammaln(shape) - special.gammaln(y + 1)
    return np.asarray(number + shape * (np.log(shape) - whole) + y * (eta - whole))


def _categorical(pymc: Any, name: str, eta: Any, sigma: None, y: Any) -> Any:
    return pymc.Categorical(name, logit_p=eta, observed=y)


def _categorical_log_density(y: Floats, eta: Floats, sigma: None) -> Floats:
    places = np.broadcast_to(y.astype(np.int64), eta.shape[:-1])
    chosen = np.take_along_axis(eta, places[..., None], axis=-1)
    return np.asarray(chosen[..., 0] - special.logsumexp(eta, axis=-1))


CATEGORICAL = "categorical"
FAMILIES: Mapping[str, Family] = {
    "normal": Family(
        1, "finite numbers", np.isfinite, False, True,
        lambda pymc, name, eta, sigma, y: pymc.Normal(name, eta, sigma, observed=y),
        lambda y, eta, sigma: np.asarray(stats.norm.logpdf(y, eta, sigma)),
        bounds.of_normal,
    ),
    "log_normal": Family(
        2, "positive numbers", _is_positive, False, True,
        lambda pymc, name, eta, sigma, y: pymc.LogNormal(name, eta, sigma, observed=y),
        lambda y, eta, sigma: np.asarray(stats.norm.logpdf(np.log(y), eta, sigma) - np.log(y)),
        bounds.of_log_normal,
    ),
    "gamma": Family(
        3, "positive numbers", _is_positive, False, True, _gamma, _gamma_log_density,
        bounds.of_gamma,
    ),
    "poisson": Family(
        4, f"whole numbers from 0 to {_MOST_COUNT:,}", _is_count, True, False,
        lambda pymc, name, eta, sigma, y: pymc.Poisson(name, pymc.math.exp(eta), observed=y),
        _poisson_log_density, bounds.of_concave(_poisson_log_density),
    ),
    "negative_binomial": Family(
        5, f"whole numbers from 0 to {_MOST_COUNT:,}", _is_count, True, True,
        _negative_binomial, _negative_binomial_log_density, bounds.of_negative_binomial,
    ),
    CATEGORICAL: Family(
        6, "places among the categories", _is_count, True, False,
        _categorical, _categorical_log_density, None,
    ),
}  # fmt: skip
"""Families by name.

- "normal": mean eta, standard deviation sigma.
- "log_normal": its log is normal, with that mean and standard deviation.
- "gamma": mean exp(eta), coefficient of variation sigma.
- "poisson": mean exp(eta).
- "negative_binomial": mean mu = exp(eta), variance mu + sigma^2 mu^2.
- "categorical": multinomial logit; eta is 0 for the first category, and a number of its own, with
  its own intercept and slopes, for each of the others.
"""


# Two categories need one number of each parameter, which a grid can have.
_BINARY = Family(
    6, "places among the categories", _is_count, True, False,
    lambda pymc, name, eta, sigma, y: pymc.Bernoulli(name, logit_p=eta, observed=y),
    _logit_log_density, bounds.of_concave(_logit_log_density),
)  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Confidential records: y, shape (n,), and predictors, shape (n, K)."""

    y: NDArray[Any]
    x: Floats


@dataclass(frozen=True)
class RegressionLaw:
    """Law of records whose parameters are intercept, slope and sigma.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    predictors : tuple of str
        Names of the K predictors.
    categories : int
        Number of categories of a categorical y; 2 for all other families.
    prior_intercept : tuple of two floats
        Mean and standard deviation of the normal prior.
    prior_slope : tuple of K floats
        Standard deviations of the normal priors, whose means are 0.
    prior_sigma : float
        Scale of the half-normal prior.
    scalars : bool
        Whether every slope is a variable of its own, "slope_age", as a grid needs it.
    """

    family: str
    predictors: tuple[str, ...]
    categories: int
    prior_intercept: tuple[float, float]
    prior_slope: tuple[float, ...]
    prior_sigma: float
    scalars: bool = False

    program: ClassVar[str] = "censored_regression"

    @property
    def known(self) -> Family:
        """The family itself."""
        return _BINARY if self._is_binary else FAMILIES[self.family]

    @property
    def discrete(self) -> bool:
        """True for discrete records."""
        return self.known.whole

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that this law has."""
        slope = ("slope",) if self.predictors else ()
        return ("intercept", *slope, *(("sigma",) if self.known.spread else ()))

    @property
    def _is_binary(self) -> bool:
        return self.family == CATEGORICAL and self.categories == 2

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the intercept: one number, or one for each category but the first."""
        several = self.family == CATEGORICAL and not self._is_binary
        return (self.categories - 1,) if several else ()

    def count(self, records: Rows) -> int:
        """The number of records."""
        return records.y.size

    def observed(self, records: Rows) -> NDArray[Any]:
        """Return the responses, as observed."""
        return records.y

    def largest(self, y: Floats, eta: Any, sigma: Any) -> Floats:
        """Bound each record's absolute log density over intervals of its eta and of sigma."""
        if self.known.largest is None:
            return bounds.of_categories(y, eta, self.categories - 1)
        return self.known.largest(y, eta, sigma)

    def model(self, records: Rows, variable: str) -> pm.Model:
        """Build the model in which the records are observed under a name."""
        pymc = import_pymc()
        mean, sd = (np.float64(number) for number in self.prior_intercept)
        with pymc.Model() as model:
            eta = self._of_all(pymc.Normal("intercept", mean, sd, shape=self._shape))
            for slope, name, x in zip(
                self._slopes(pymc), self.predictors, records.x.T, strict=True
            ):
                column = pymc.Data(name, x)
                eta = eta + (column[:, None] if self._shape else column) * self._of_all(slope)
            sigma = None
            if self.known.spread:
                sigma = pymc.HalfNormal("sigma", np.float64(self.prior_sigma))
            self.known.observed(pymc, variable, eta, sigma, records.y)
        return model

    def _of_all(self, coefficient: Any) -> Any:
        """Put the first category's coefficient, which is 0, before those of the others."""
        import pytensor.tensor as pt

        return pt.concatenate([[0.0], coefficient]) if self._shape else coefficient

    def _slopes(self, pymc: Any) -> list[Any]:
        """The slopes of each predictor, as parts of one variable or as variables of their own."""
        sds = np.array(self.prior_slope, dtype=np.float64)
        if self.scalars:
            named = zip(self.predictors, sds, strict=True)
            return [pymc.Normal(f"slope_{name}", 0.0, sd) for name, sd in named]
        if not self.predictors:
            return []
        shape = (len(self.predictors), *self._shape)
        sd = sds.reshape(-1, *(1 for _ in self._shape))
        slope = pymc.Normal("slope", 0.0, sd, shape=shape)
        return [slope[k] for k in range(len(self.predictors))]

    def stan_data(self, records: Rows) -> dict[str, Any]:
        """Build the part of the Stan program's data that depends on the law."""
        mean, sd = self.prior_intercept
        categorical = self.family == CATEGORICAL
        places = records.y.astype(np.int64) + 1 if categorical else np.ones(records.y.size, int)
        return {
            "K": len(self.predictors),
            "J": self.categories - 1,
            "family": self.known.number,
            "x": records.x,
            "y": records.y.astype(np.float64),
            "category": places,
            "intercept_mean": mean,
            "intercept_sd": sd,
            "slope_sd": np.array(self.prior_slope, dtype=np.float64),
            "sigma_scale": self.prior_sigma,
        }

    def from_stan(self, drawn: Mapping[str, Floats]) -> dict[str, Floats]:
        """Drop the axes of Stan's draws that the PyMC model hasn't."""
        made = dict(drawn)
        if "sigma" in made:
            made["sigma"] = made["sigma"][..., 0]
        if not self._shape:
            made |= {name: made[name][..., 0] for name in ("intercept", "slope") if name in made}
        return made

    def log_density(self, drawn: Mapping[str, Floats], records: Rows) -> Floats:
        """Each record's log density at draws: (chains, draws, n)."""
        intercept = drawn["intercept"]
        size, predicted = intercept.shape[:2], self.categories - 1
        slope = drawn.get("slope", np.empty((*size, 0)))
        slope = slope.reshape(*size, len(self.predictors), predicted)
        eta = intercept.reshape(*size, 1, predicted) + records.x @ slope
        eta = np.insert(eta, 0, 0.0, axis=-1) if self._shape else eta[..., 0]
        sigma = drawn["sigma"][..., None] if self.known.spread else None
        y = records.y.astype(np.float64)
        with np.errstate(all="ignore"):
            return self.known.log_density(y, eta, sigma)
