"""Finite mixtures of normal-inverse-gamma distributions: the posterior of a mean and an sd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from bayesdp.display.words import count_of
from bayesdp.engines.log_sums import log_sum
from bayesdp.engines.mixture import check_level
from bayesdp.engines.normal_mixture import normal_logpdf
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_FURTHEST = 40.0  # standard deviations of a component, at the start of a search
_SHOWN = 0.999  # probability of the part of a law that a picture has


@dataclass(frozen=True)
class NormalInverseGammaMixture:
    """Mixture of sigma^2 ~ InverseGamma(shape, scales[i]), mu ~ N(means[i], sigma^2 / size).

    Shape and size may be the components' own too.

    Parameters
    ----------
    weights, means, scales : ndarray, shape (components,)
        Non-negative weights that sum to one.
    shape, size : float or ndarray, shape (components,)
        Positive.
    blur : tuple of two ndarrays, optional
        For components that stand for an interval longer than they are wide: the interval's length
        in mu, and in log sigma^2, over which draws are spread.
    """

    weights: Floats
    means: Floats
    scales: Floats
    shape: float | Floats
    size: float | Floats
    blur: tuple[Floats, Floats] | None = None

    @classmethod
    def joined(cls, shares: Floats, mixtures: Sequence[Self]) -> Self:
        """Make the mixture of several, each of which has its share; shares sum to one."""
        rows = [
            (share * each.weights, each.means, each.scales, *each._own())
            for share, each in zip(shares, mixtures, strict=True)
        ]
        *law, wide_mu, wide_scale = map(np.concatenate, zip(*rows, strict=True))
        weights, means, scales, shape, size = law
        blur = (wide_mu, wide_scale) if np.any(wide_mu) or np.any(wide_scale) else None
        return cls(weights, means, scales, shape, size, blur)

    def _own(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Each component's shape, size, and the intervals over which its draws are spread."""
        count = self.weights.size
        wide_mu, wide_scale = self.blur or (np.zeros(count),) * 2
        return np.full(count, self.shape), np.full(count, self.size), wide_mu, wide_scale

    def mean(self) -> tuple[float, float]:
        """Expected values of mu and of sigma."""
        root = np.exp(special.gammaln(self.shape - 0.5) - special.gammaln(self.shape))
        each = self.means, np.sqrt(self.scales) * root
        return float(self.weights @ each[0]), float(self.weights @ each[1])

    def sd(self) -> tuple[float, float]:
        """Standard deviations of mu and of sigma; the shape must be above 1."""
        mean, expected = self.mean()
        variances = self.scales / (self.shape - 1)
        within = float(self.weights @ (variances / self.size))
        between = float(self.weights @ (self.means - mean) ** 2)
        variance = float(self.weights @ variances)
        return float(np.sqrt(within + between)), float(np.sqrt(variance - expected**2))

    def cdf_mu(self, x: ArrayLike) -> Floats:
        """Probability that mu <= x, any shape: a mixture of Student's t."""
        width = np.sqrt(self.scales / (self.shape * self.size))
        flat = np.asarray(x, dtype=np.float64)
        chances = [
            self.weights @ special.stdtr(2 * self.shape, (v - self.means) / width)
            for v in flat.ravel()
        ]
        return np.array(chances).reshape(flat.shape)[()]

    def cdf_sigma(self, x: ArrayLike) -> Floats:
        """Probability that sigma <= x, any shape, x > 0."""
        flat = np.asarray(x, dtype=np.float64)
        chances = [
            self.weights @ special.gammaincc(self.shape, self.scales / v**2) for v in flat.ravel()
        ]
        return np.array(chances).reshape(flat.shape)[()]

    def interval_mu(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval of mu.

        Raises
        ------
        InvalidInput
            If `level` is not strictly between 0 and 1.
        """
        reach = _FURTHEST * np.sqrt(self.scales / (self.shape * self.size))
        low, high = float(np.min(self.means - reach)), float(np.max(self.means + reach))
        return _equal_tailed(self.cdf_mu, level, low, high)

    def interval_sigma(self, level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval of sigma.

        Raises
        ------
        InvalidInput
            If `level` is not strictly between 0 and 1.
        """
        ends = np.sqrt([np.min(self.scales), np.max(self.scales)])
        return _equal_tailed(self.cdf_sigma, level, float(ends[0]), float(ends[1]), positive=True)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        of: str = "mu",
        level: float = 0.95,
        label: str | None = None,
        color: str | None = None,
    ) -> Axes:
        """Plot the density of mu or of sigma, with its mean and equal-tailed interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.
        of : {"mu", "sigma"}
            The records' mean, or their standard deviation.
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
            If `of` or `level` is out of its range, or `ax` is anything else.
        """
        from bayesdp.display.density import plot_density

        if of not in ("mu", "sigma"):
            raise InvalidInput(f"of is {quoted(of)}; it must be 'mu' or 'sigma'")
        k = ("mu", "sigma").index(of)
        cdf = (self.cdf_mu, self.cdf_sigma)[k]
        interval = (self.interval_mu, self.interval_sigma)[k]
        about = f"{of}, with its mean and {100 * level:g}% interval"
        return plot_density(
            ax, cdf, self.mean()[k], interval(level), interval(_SHOWN), xlabel=about, label=label,
            color=color,
        )  # fmt: skip

    def __repr__(self) -> str:
        (mu, sigma), parts = self.mean(), count_of(self.weights.size, "component")
        return f"<{type(self).__name__} of {parts}: mean of mu {mu:.4g}, of sigma {sigma:.4g}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        intervals = {"mu": self.interval_mu(), "sigma": self.interval_sigma()}
        rows = [
            {"of": name, "mean": mean, "95% interval": f"{low:.4g} to {high:.4g}"}
            for (name, (low, high)), mean in zip(intervals.items(), self.mean(), strict=True)
        ]
        parts = count_of(self.weights.size, "component")
        return card("Exact posterior", {"as": f"{type(self).__name__} of {parts}"}, rows=rows)

    def log_density(self, mu: Floats, sigma: Floats) -> Floats:
        """Log density of (mu, sigma), shape (points,) each."""
        shape, size, wide_mu, wide_scale = self._own()
        precision = sigma**-2.0
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)

        def term(some: slice) -> Floats:
            root = sigma[some, None] / np.sqrt(size)
            law = _spread_normal(mu[some, None], self.means, root, wide_mu)
            given = _spread_gamma(precision[some, None], shape, self.scales, wide_scale)
            return np.asarray(weights + law + given)

        law = log_sum(mu.size, self.weights.size, term)
        # Of sigma: the density of its precision times 2 / sigma^3.
        return np.asarray(law + np.log(2.0) - 3 * np.log(sigma))

    def draw(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
        """Draw "mu" and "sigma" independently, with the draws' log density and components'."""
        cumulative = np.cumsum(self.weights)
        i = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        mean, scale = self.means[i], self.scales[i]
        shape, records, wide_mu, wide_scale = (each[i] for each in self._own())
        if self.blur is not None:
            mean = mean + (rng.random(size) - 0.5) * wide_mu
            scale = scale * np.exp((rng.random(size) - 0.5) * wide_scale)
        precision = rng.standard_gamma(shape) / scale
        sigma = precision**-0.5
        mu = rng.normal(mean, sigma / np.sqrt(records))
        # Of sigma: that of its precision times 2 / sigma^3.
        lp = np.log(self.weights[i]) + shape * np.log(scale) - special.gammaln(shape)
        lp += (shape - 1) * np.log(precision) - scale * precision
        lp += np.log(2.0) + 1.5 * np.log(precision)
        return {"mu": mu, "sigma": sigma}, lp + normal_logpdf(mu, mean, sigma / np.sqrt(records))


def _spread_normal(x: Floats, mean: Floats, sd: Floats, width: Floats) -> Floats:
    """Log density of a normal whose mean is uniform over an interval of some width, maybe 0."""
    law, wide = normal_logpdf(x, mean, sd), width > 0
    away, half, sd = np.abs(x - mean[wide]), width[wide] / 2, sd[:, wide]
    near = special.log_ndtr((half - away) / sd)  # of the tail, where differences keep their digits
    far = special.log_ndtr((-half - away) / sd)
    law[:, wide] = near + np.log1p(-np.exp(far - near)) - np.log(width[wide])
    return law


def _spread_gamma(x: Floats, shape: Floats, scale: Floats, width: Floats) -> Floats:
    """Log density of a gamma of rate `scale` whose log is uniform over an interval, maybe of 0."""
    log_x, wide = np.log(x), width > 0
    law = shape * np.log(scale) - special.gammaln(shape) + (shape - 1) * log_x - scale * x
    low, high = (scale[wide] * np.exp(sign * width[wide] / 2) * x for sign in (-1, 1))
    shape = shape[wide]
    below = special.gammainc(shape, high) - special.gammainc(shape, low)
    above = special.gammaincc(shape, low) - special.gammaincc(shape, high)
    with np.errstate(divide="ignore"):
        law[:, wide] = np.log(np.where(low < shape, below, above)) - log_x - np.log(width[wide])
    return np.asarray(law)


def _equal_tailed(
    cdf: Callable[[ArrayLike], Floats],
    level: float,
    low: float,
    high: float,
    positive: bool = False,
) -> tuple[float, float]:
    """Find both ends of an interval, bracketing each between `low` and `high` or further out."""
    tail = (1 - check_level(level)) / 2

    def quantile(q: float) -> float:
        first, last = low, high
        while cdf(first) > q:
            first = first / 2 if positive else 2 * first - last
        while cdf(last) < q:
            last = 2 * last if positive else 2 * last - first
        return float(optimize.brentq(lambda x: float(cdf(x)) - q, first, last, rtol=1e-12))

    return quantile(tail), quantile(1 - tail)
