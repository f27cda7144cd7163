"""Finite mixtures of beta distributions: the exact posterior of a proportion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from bayesdp.checks import as_float, check_at_least, check_numbers, check_seed
from bayesdp.display.words import count_of
from bayesdp.engines.log_sums import log_sum
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.laws import beta_logpdf

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

_CHUNK = 1 << 20  # component-by-point pairs evaluated at once
_SHOWN = 0.9995  # probability of the part of a law that a picture has


class Mixture:
    """Base of finite mixtures of any law, made from the laws of the components.

    A law gives its `cdf`, its components' `moments` and `logpdfs`, and a `bracket` of a quantile.
    """

    weights: NDArray[np.float64]
    ends: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    """Ends of the values that are possible."""
    quantity: ClassVar[str] = "value"
    """What the law is of, for a picture."""
    variable: ClassVar[str] = ""
    """Name of the posterior variable that it is the law of."""
    if TYPE_CHECKING:

        def cdf(self, x: ArrayLike, /) -> Any:
            """Probability of at most x."""

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each component."""
        raise NotImplementedError

    def logpdfs(self, x: Floats) -> Floats:
        """Log density of each component at points of shape (..., 1)."""
        raise NotImplementedError

    def bracket(self, q: float) -> tuple[float, float]:
        """Ends between which the quantile at q lies."""
        raise NotImplementedError

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw the variable independently, with the draws' log density and components'."""
        raise NotImplementedError

    def mean(self) -> float:
        """Expected value."""
        return float((self.weights * self.moments()[0]).sum())

    def sd(self) -> float:
        """Standard deviation: the mean of the variances plus the variance of the means."""
        means, variances = self.moments()
        return float(np.sqrt((self.weights * (variances + (means - self.mean()) ** 2)).sum()))

    @overload
    def pdf(self, x: float) -> float: ...
    @overload
    def pdf(self, x: ArrayLike) -> Floats: ...
    def pdf(self, x: ArrayLike) -> Floats | float:
        """Density at x, any shape; 0 where there is none."""
        return averaged(self.weights, x, lambda points: np.exp(self.logpdfs(points)))

    def log_density(self, x: Floats) -> Floats:
        """Log density at points x, shape (points,), far out in the tails too."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)

        def term(some: slice) -> Floats:
            return np.asarray(weights + self.logpdfs(x[some, None]))

        return log_sum(x.size, self.weights.size, term)

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: ArrayLike) -> Floats: ...
    def quantile(self, q: ArrayLike) -> Floats | float:
        """Inverse of `cdf`, any shape.

        Raises
        ------
        InvalidInput
            If a value isn't strictly between 0 and 1.
        """
        probabilities = check_numbers("q", q)
        if not np.all((probabilities > 0) & (probabilities < 1)):
            raise InvalidInput(f"q is {quoted(q)}; probabilities lie strictly between 0 and 1")
        values = [self._quantile(float(x)) for x in probabilities.ravel()]
        return np.array(values).reshape(probabilities.shape)[()]

    def _quantile(self, q: float) -> float:
        def excess(x: float) -> float:
            return float(self.cdf(x)) - q

        return float(optimize.brentq(excess, *self.bracket(q), xtol=1e-300, rtol=1e-14))

    def sample(self, k: int, seed: int | np.random.Generator | None = None) -> Floats:
        """Draw `k` times independently, shape (k,)."""
        own = seed if isinstance(seed, np.random.Generator) else check_seed(seed)
        k = check_at_least("k", k, 0)
        return self.draw(k, np.random.default_rng(own))[0][self.variable]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval.

        Raises
        ------
        InvalidInput
            If `level` is not strictly between 0 and 1.
        """
        tail = (1 - check_level(level)) / 2
        return self._quantile(tail), self._quantile(1 - tail)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        label: str | None = None,
        color: str | None = None,
    ) -> Axes:
        """Plot the density, with the mean and the equal-tailed interval below it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.
        level : float
            Probability of the interval, in (0, 1).
        label, color : str, optional
            Of the curve, to tell it from others in the same axes.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInput
            If `level` is out of its range, or `ax` is anything else.
        """
        from bayesdp.display.density import plot_density

        interval, (low, high) = self.interval(level), self.interval(_SHOWN)
        ends = max(low, self.ends[0]), min(high, self.ends[1])
        about = f"{self.quantity}, with its mean and {100 * level:g}% interval"
        return plot_density(
            ax, self.cdf, self.mean(), interval, ends, xlabel=about, label=label, color=color
        )

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Mixture.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        parts = count_of(self.weights.size, "component")
        return f"<{type(self).__name__} of {parts}: mean {self.mean():.4g}, sd {self.sd():.4g}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        low, high = self.interval()
        return card(
            "Exact posterior",
            {
                "mean": self.mean(),
                "standard deviation": self.sd(),
                "95% interval": f"{low:.4g} to {high:.4g}",
                "as": f"{type(self).__name__} of {count_of(self.weights.size, 'component')}",
            },
        )

    @classmethod
    def joined(cls, shares: Floats, mixtures: Sequence[Self]) -> Self:
        """Make the mixture of several, each of which has its share; shares sum to one."""
        weights = [share * each.weights for share, each in zip(shares, mixtures, strict=True)]
        others = (field.name for field in fields(cls) if field.name != "weights")  # type: ignore[arg-type]
        rows = ([getattr(each, name) for each in mixtures] for name in others)
        return cls(np.concatenate(weights), *map(np.concatenate, rows))  # type: ignore[call-arg]

    def sample_components(self, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Indices of `k` independently drawn components."""
        cumulative = np.cumsum(self.weights)
        return np.asarray(np.searchsorted(cumulative, rng.random(k) * cumulative[-1], side="right"))


@dataclass(frozen=True)
class BetaMixture(Mixture):
    """Mixture of Beta(a[k], b[k]) with weights[k].

    Parameters
    ----------
    weights, a, b : ndarray, shape (components,)
        Non-negative weights that sum to one; positive parameters.
    """

    ends = (0.0, 1.0)
    quantity = "proportion"
    variable = "p"

    weights: NDArray[np.float64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each component."""
        total = self.a + self.b
        means = self.a / total
        return means, means * (self.b / total) / (total + 1)

    def logpdfs(self, x: Floats) -> Floats:
        """Log density of each component at points of shape (..., 1)."""
        return beta_logpdf(x, self.a, self.b)

    @overload
    def cdf(self, p: float) -> float: ...
    @overload
    def cdf(self, p: ArrayLike) -> NDArray[np.float64]: ...
    def cdf(self, p: ArrayLike) -> NDArray[np.float64] | float:
        """Probability of at most p, any shape."""
        points = np.clip(check_numbers("p", p), 0.0, 1.0)
        values = [self._average(special.betainc(self.a, self.b, x)) for x in points.ravel()]
        return np.array(values).reshape(points.shape)[()]

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: ArrayLike) -> NDArray[np.float64]: ...
    def quantile(self, q: ArrayLike) -> NDArray[np.float64] | float:
        """Inverse of `cdf`, any shape.

        Raises
        ------
        InvalidInput
            If a value is outside [0, 1].
        """
        probabilities = check_numbers("q", q)
        if not np.all((probabilities >= 0) & (probabilities <= 1)):
            raise InvalidInput(f"q is {quoted(q)}; probabilities lie between 0 and 1")
        values = [self._quantile(float(x)) for x in probabilities.ravel()]
        return np.array(values).reshape(probabilities.shape)[()]

    def _quantile(self, q: float) -> float:
        """Invert a cdf by Newton's method inside a bracket that shrinks at every step.

        The bracket is halved in the logarithm while its ends are far apart, since a quantile may be
        near the smallest float; below that it is 0, and next to 1 it is 1.
        """
        low, high = np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)
        if q <= float(self.cdf(low)):
            return 0.0
        if q >= float(self.cdf(high)):
            return 1.0
        x = float(np.clip(self.mean() + self.sd() * special.ndtri(q), 1e-3, 1 - 1e-3))
        for _ in range(200):
            excess = float(self.cdf(x)) - q
            low, high = (low, x) if excess > 0 else (x, high)
            density = float(self.pdf(x))
            step = excess / density if density > 0 else np.inf
            if abs(step) <= 1e-10 * min(x, 1 - x):
                return x - step  # Newton squares the error: this is the last digit
            target = x - step
            middle = np.sqrt(low) * np.sqrt(high) if low < high / 4 else 0.5 * (low + high)
            x = target if low < target < high else float(middle)
        return x

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw "p" independently, with the draws' log density and components'."""
        i = self.sample_components(size, rng)
        p = rng.beta(self.a[i], self.b[i])
        return {"p": p}, np.log(self.weights[i]) + beta_logpdf(p, self.a[i], self.b[i])

    def _average(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Average over the last axis by weights, without BLAS, whose threads would cost more."""
        return np.asarray((values * self.weights).sum(axis=-1))


def check_level(level: float) -> float:
    """Return an interval's level as a float if it is in (0, 1), else raise InvalidInput."""
    checked = as_float(level)
    if not 0 < checked < 1:
        raise InvalidInput(
            f"level is {quoted(level)}; it must lie strictly between 0 and 1, for example 0.95"
        )
    return checked


def averaged(weights: NDArray[np.float64], x: ArrayLike, function: Function) -> NDArray[np.float64]:
    """Average a function of points, shape (points, 1), over components by their weights."""
    points = check_numbers("x", x)
    flat, averages = points.ravel(), np.empty(points.size)
    step = max(1, _CHUNK // weights.size)
    for start in range(0, flat.size, step):
        values = function(flat[start : start + step, None])
        averages[start : start + step] = (values * weights).sum(axis=-1)
    return averages.reshape(points.shape)[()]
