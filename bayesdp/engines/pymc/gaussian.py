"""The PyMC program of normal records, with latent statistics between them and a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.core.views import NoiseView, NormalCopiesView, view_of
from bayesdp.engines.observed_normals import Observed
from bayesdp.engines.pymc.noise import log_ndtr, noise_logp, unbounded_logp
from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.mechanisms.families.gaussian_draws import mean_posterior

if TYPE_CHECKING:
    import pymc as pm


def gaussian(
    parts: Sequence[Observed],
    sd: float | None,
    prior: tuple[float, ...] | None,
    groups: Sequence[Any] | None,
) -> pm.Model:
    """Model of means "mu" and, where sd is None, standard deviations "sigma"; as gaussian.stan.

    The latent variables are the mean of the confidential records, their variance where sd is None
    and, for modips copies, each copy's noisy statistic and parameters. Noise is treated as
    continuous, which makes no difference where the lattice is far finer than the noise.

    Parameters
    ----------
    parts : sequence of Observed
        One for each group.
    sd : float or None
        Standard deviation of the records, if it is known.
    prior : tuple of floats, or None
        (m0, s0), or where sd is None (m0, k, a, b); None is flat.
    groups : sequence or None
        Coordinate of the dimension "group" of the variables; None for a single mean.
    """
    pymc = import_pymc()
    dims = None if groups is None else "group"
    with pymc.Model(coords=None if groups is None else {"group": groups}) as model:
        sigma: Any = sd
        if sd is None:
            m0, k, a, b = prior or ()
            variance = pymc.InverseGamma("variance", a, b, dims=dims)
            sigma = pymc.Deterministic("sigma", variance**0.5, dims=dims)
            mu = pymc.Normal("mu", m0, sigma / math.sqrt(k), dims=dims)
        elif prior is None:
            start = np.zeros(() if groups is None else len(groups))
            mu = pymc.Flat("mu", initval=start, dims=dims)
        else:
            mu = pymc.Normal("mu", *prior, dims=dims)
        for g, seen in enumerate(parts):
            at = () if groups is None else g
            width = sigma if sd is not None else sigma[at]
            _observe(pymc, g, seen, mu[at], width, sd is not None)
    return model


def pooled(
    parts: Sequence[Observed],
    sd: float | None,
    variance: tuple[float, float] | None,
    prior: tuple[float, float],
    spread: float,
    groups: Sequence[Any],
) -> pm.Model:
    """Model of means "mu" from N("mean", "spread"^2), and one "sigma" where sd is None.

    stan/hierarchical_gaussian.stan is the same model.

    Parameters
    ----------
    parts : sequence of Observed
        One for each group.
    sd : float or None
        Standard deviation of the records, if it is known.
    variance : tuple of two floats, or None
        (a, b) of the inverse-gamma prior of sigma^2, where sd is None.
    prior : tuple of two floats
        Mean and sd of the normal prior of "mean".
    spread : float
        Scale of the half-normal prior of "spread".
    groups : sequence
        Coordinate of the dimension "group" of "mu".
    """
    pymc = import_pymc()
    with pymc.Model(coords={"group": groups}) as model:
        sigma: Any = sd
        if variance is not None:
            sigma = pymc.Deterministic("sigma", pymc.InverseGamma("variance", *variance) ** 0.5)
        away = pymc.HalfNormal("spread", spread) * pymc.Normal("away", dims="group")
        mu = pymc.Deterministic("mu", pymc.Normal("mean", *prior) + away, dims="group")
        for g, seen in enumerate(parts):
            _observe(pymc, g, seen, mu[g], sigma, sd is not None)
    return model


def _observe(pymc: Any, g: int, seen: Observed, mu: Any, sigma: Any, known: bool) -> None:
    """Add a group's latent statistic, and its release's law."""
    mean = _mean(pymc, g, seen, mu, sigma)
    variance = None if known else _variance(pymc, g, seen, sigma)
    if (copies := view_of(seen.part.mechanism, NormalCopiesView)) is not None:
        pymc.Potential(f"release_{g}", copies_logp(pymc, str(g), seen, copies, mean, variance))
        return
    noise: Any = view_of(seen.part.mechanism, NoiseView)
    numbers = [mean * (seen.n if seen.sums else 1)]
    if variance is not None:
        squares = (seen.n - 1) * variance + seen.n * mean**2
        numbers.append(squares if seen.sums else variance)
    outputs = np.array(seen.part.outputs, dtype=np.float64).reshape(-1, len(numbers))
    each = [noise_logp(noise.cell, outputs[:, i], number).sum() for i, number in enumerate(numbers)]
    pymc.Potential(f"release_{g}", sum(each))


def _mean(pymc: Any, g: int, seen: Observed, mu: Any, sigma: Any) -> Any:
    """Latent mean of n records."""
    import pytensor.tensor as pt

    spread = sigma / math.sqrt(seen.n)
    if seen.means is None:
        return mu + spread * pymc.Normal(f"around_{g}")
    mean = _between(pymc, f"mean_{g}", *seen.means)
    pymc.Potential(f"records_{g}", -(((mean - mu) / spread) ** 2) / 2 - pt.log(spread))
    return mean


def _variance(pymc: Any, g: int, seen: Observed, sigma: Any) -> Any:
    """Latent variance, with divisor n - 1: sigma^2 times a gamma variable over its shape."""
    import pytensor.tensor as pt

    half = np.float64((seen.n - 1) / 2)  # PyTensor may divide by Python's floats with 7 digits
    if seen.variances is None:
        return sigma**2 * pymc.Gamma(f"squares_{g}", half, half)
    v = _between(pymc, f"variance_{g}", *seen.variances)
    law = (half - 1) * pt.log(v) - half * v / sigma**2 - 2 * half * pt.log(sigma)
    pymc.Potential(f"squares_{g}", law)
    return v


def _between(pymc: Any, name: str, low: float, high: float) -> Any:
    """Latent number between two ends, one of which may be infinite, with a flat density."""
    if math.isfinite(low) and math.isfinite(high):
        return pymc.Uniform(name, low, high)
    away = pymc.HalfFlat(f"{name}_within", initval=1.0)
    return pymc.Deterministic(name, low + away if math.isfinite(low) else high - away)


def copies_logp(
    pymc: Any, g: str, seen: Observed, copies: NormalCopiesView, mean: Any, variance: Any
) -> Any:
    """Log-law of modips copies' records, whose noisy statistics and parameters join the model.

    Parameters
    ----------
    pymc : module
    g : str
        Suffix of the names of all variables that are added to the model.
    seen : Observed
    copies : NormalCopiesView
        The mechanism's view.
    mean, variance : tensors, the second None where sd is known
        The latent statistic.
    """
    import pytensor.tensor as pt

    family, (low, high) = copies.family, copies.bounds
    y, n = np.array(seen.part.outputs), seen.n
    alike, known = np.zeros(len(y), dtype=bool), 0.0
    if variance is not None:  # then a noisy variance was 0, and they tell the noisy mean
        alike = np.ptp(y, axis=1) == 0
        told = noise_logp(copies.parts[0], y[alike, 0], mean)
        atom = noise_logp(copies.parts[1], 0.0, variance) * int(alike.sum())
        known = told.sum() + atom
    y = y[~alike]
    if not len(y):
        return known
    noisy = _noisy_mean(pymc, g, copies, mean, len(y))
    draw = pymc.Normal(f"draw_{g}", shape=len(y))
    if variance is None:
        sd: Any = float(family.sd or 0)
        at_zero, tau = mean_posterior(family, n, 0.0)
        at_one, _ = mean_posterior(family, n, 1.0)
        theta = float(at_zero) + float(at_one - at_zero) * noisy + float(tau) * draw
    else:
        sd = _sigmas(pymc, g, copies, variance, y)
        theta = noisy + sd / math.sqrt(n) * draw
    truncated = copies.bounding == "truncated"
    inside = np.ones(y.shape, dtype=bool) if truncated else (y > low) & (y < high)
    count = inside.sum(axis=1)
    centre = np.where(inside, y, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = np.where(inside, (y - centre[:, None]) ** 2, 0.0).sum(axis=1)
    logs = -(count * (centre - theta) ** 2 + squares) / (2 * sd**2) - count * pt.log(sd)
    if truncated:
        logs = logs - count * _log_between((low - theta) / sd, (high - theta) / sd)
    else:
        below, above = (~inside & (y <= low)).sum(axis=1), (~inside & (y >= high)).sum(axis=1)
        logs = logs + below * log_ndtr((low - theta) / sd)
        logs = logs + above * log_ndtr((theta - high) / sd)
    return known + logs.sum()


def _noisy_mean(pymc: Any, g: str, copies: NormalCopiesView, mean: Any, count: int) -> Any:
    import pytensor.tensor as pt

    noise, (low, high) = copies.parts[0], copies.bounds
    if copies.bounding == "truncated":
        noisy = pymc.Uniform(f"noisy_{g}", low, high, shape=count)
        pymc.Potential(f"noise_{g}", noise_logp(noise, noisy, mean).sum())
        return noisy
    law = pymc.Laplace if noise.noise.laplace else pymc.Normal
    raw = law(f"noise_{g}", 0.0, 1.0, shape=count)
    return pt.clip(mean + noise.scale * raw, low, high)


def _sigmas(pymc: Any, g: str, copies: NormalCopiesView, variance: Any, y: Any) -> Any:
    """Latent sigma of each copy, given a noisy variance above 0."""
    import pytensor.tensor as pt

    noise, half, shape = copies.parts[1], (copies.n - 1) / 2, len(y)
    most, start = copies.largest_variance, y.var(axis=1)
    if copies.bounding == "truncated":
        noisy = pymc.Uniform(f"noisy_variance_{g}", 0.0, most, shape=shape)
        law = noise_logp(noise, noisy, variance)
    else:
        raw = pymc.HalfFlat(f"noisy_variance_{g}", shape=shape, initval=start)
        law, noisy = unbounded_logp(noise, raw, variance), pt.minimum(raw, most)
    log_sigma = pymc.Flat(f"log_sigma_{g}", shape=shape, initval=np.log(start) / 2)
    law = law + half * (pt.log(noisy) - 2 * log_sigma - noisy * pt.exp(-2 * log_sigma))
    pymc.Potential(f"sigmas_{g}", law.sum())
    return pt.exp(log_sigma)


def _log_between(a: Any, b: Any) -> Any:
    """Log of a standard normal's mass in [a, b], from the tail in which its logs keep digits."""
    import pytensor.tensor as pt

    far = a > 0
    low, high = log_ndtr(pt.switch(far, -b, a)), log_ndtr(pt.switch(far, -a, b))
    return high + pt.log1mexp(low - high)
