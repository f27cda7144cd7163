"""PyMC's program of a normal mean, with what lies between it and a release as latent variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.engines.pymc import import_pymc
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.gaussian_draws import mean_posterior
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.noise import AdditiveNoise
from bayesdp.mechanisms.noise_laws import LaplaceNoise
from bayesdp.release import Part

if TYPE_CHECKING:
    import pymc as pm


def gaussian(
    parts: Sequence[tuple[Part, int, float, tuple[float, float] | None]],
    sd: float,
    prior: tuple[float, float] | None,
) -> pm.Model:
    """Means "mu", one a group.

    Latent are the mean of the confidential records and, of modips copies, each copy's noisy mean
    and theta. Noise is taken as continuous, which on a lattice far finer than it makes no
    difference.

    Parameters
    ----------
    parts : sequence of (part, n, unit, bounds)
        Noise was added to `unit` times the mean of n records, which is within the bounds, if any.
    sd : float
        Of the records.
    prior : tuple of two floats, or None
        Mean and standard deviation of the normal prior; None is flat.
    """
    pymc = import_pymc()
    groups = len(parts)
    with pymc.Model() as model:
        if prior is None:
            start = np.zeros(groups)
            mu = pymc.Flat("mu", shape=groups, initval=start)
        else:
            mu = pymc.Normal("mu", *prior, shape=groups)
        for g, (part, n, unit, bounds) in enumerate(parts):
            spread = sd / math.sqrt(n)
            if bounds is None:
                mean = mu[g] + spread * pymc.Normal(f"around_{g}")
            else:  # a law that there is for means within them alone
                mean = pymc.Uniform(f"mean_{g}", *bounds)
                pymc.Potential(f"records_{g}", -(((mean - mu[g]) / spread) ** 2) / 2)
            if isinstance(part.mechanism, ModipsSBS):
                _copies(pymc, g, part, mean, n)
            else:
                seen = np.array(part.outputs, dtype=np.float64)
                law = noise_logp(part.mechanism, seen, mean * unit)  # type: ignore[arg-type]
                pymc.Potential(f"release_{g}", law.sum())
    return model


def _copies(pymc: Any, g: int, part: Part, mean: Any, n: int) -> None:
    """Noisy means, the copies' theta, and their records, some of them at a bound."""
    import pytensor.tensor as pt

    mechanism: Any = part.mechanism
    family: Gaussian = mechanism.family
    noise, (low, high), sd = mechanism.parts[0], family.bounds, float(family.sd or 0)
    copies = len(part.outputs)
    if mechanism.bounding == "truncated":
        noisy = pymc.Uniform(f"noisy_{g}", low, high, shape=copies)
        pymc.Potential(f"noise_{g}", noise_logp(noise, noisy, mean).sum())
    else:
        law = pymc.Laplace if isinstance(noise.noise, LaplaceNoise) else pymc.Normal
        raw = law(f"noise_{g}", 0.0, 1.0, shape=copies)
        noisy = pt.clip(mean + noise.scale * raw, low, high)
    at_zero, tau = mean_posterior(family, n, 0.0)
    at_one, _ = mean_posterior(family, n, 1.0)
    draw = pymc.Normal(f"draw_{g}", shape=copies)
    theta = float(at_zero) + float(at_one - at_zero) * noisy + float(tau) * draw
    y = np.array(part.outputs)
    truncated = mechanism.bounding == "truncated"
    inside = np.ones(y.shape, dtype=bool) if truncated else (y > low) & (y < high)
    count = inside.sum(axis=1)
    centre = np.where(inside, y, 0.0).sum(axis=1) / np.maximum(count, 1)
    found = -count * (centre - theta) ** 2 / (2 * sd**2)
    if truncated:
        found = found - count * _log_between((low - theta) / sd, (high - theta) / sd)
    else:
        below, above = (~inside & (y <= low)).sum(axis=1), (~inside & (y >= high)).sum(axis=1)
        found = found + below * _log_ndtr((low - theta) / sd)
        found = found + above * _log_ndtr((theta - high) / sd)
    pymc.Potential(f"release_{g}", found.sum())


def noise_logp(mechanism: AdditiveNoise, output: Any, statistic: Any) -> Any:
    """log density of noisy numbers given the statistic, as a PyTensor expression.

    Up to a constant; an output at an inflated end has the probability of all beyond.
    """
    import pytensor.tensor as pt

    scale, away = mechanism.scale, (output - statistic) / mechanism.scale
    laplace = isinstance(mechanism.noise, LaplaceNoise)
    law = -pt.abs(away) if laplace else -(away**2) / 2
    below = _log_laplace if laplace else _log_ndtr
    low, high = (None if e is None else e * mechanism.step for e in mechanism.ends)
    if mechanism.bounding == "truncated":
        mass: Any = 1.0
        mass = mass - (0 if low is None else pt.exp(below((low - statistic) / scale)))
        mass = mass - (0 if high is None else pt.exp(below((statistic - high) / scale)))
        return law - pt.log(mass)
    if mechanism.bounding == "inflated":
        # The density of the others lacks a factor, which an end's probability must have too.
        factor = math.log((2 if laplace else math.sqrt(2 * math.pi)) * scale)
        if low is not None:
            law = pt.where(pt.eq(output, low), factor + below((low - statistic) / scale), law)
        if high is not None:
            law = pt.where(pt.eq(output, high), factor + below((statistic - high) / scale), law)
    return law


def _log_ndtr(x: Any) -> Any:
    import pymc

    return pymc.logcdf(pymc.Normal.dist(0.0, 1.0), x)


def _log_laplace(x: Any) -> Any:
    """log Pr[a unit Laplace variable is below x]."""
    import pytensor.tensor as pt

    return pt.where(x < 0, x - math.log(2), pt.log1p(-pt.exp(-pt.abs(x)) / 2))


def _log_between(a: Any, b: Any) -> Any:
    import pytensor.tensor as pt

    return pt.log(pt.exp(_log_ndtr(b)) - pt.exp(_log_ndtr(a)))
