r"""Bridge sampling: the integral of a density that chains have sampled, with its standard error.

With q the unnormalised density, whose integral is c, and g a proposal's, for any function h

    c = E_g[h q] / E_q[h g],    and    h proportional to 1 / (s1 q + s2 c g)

has the smallest error; as it holds c, it is iterated (Meng and Wong 1996). s1 and s2 are the shares
of posterior draws, counted as their effective number, and of proposals. The error is that of both
averages, the chains' with their autocorrelation (Fruhwirth-Schnatter 2004; Gronau and others 2017).

The proposal is a normal law with the draws' mean and covariance, those of the first half of every
chain, and the second halves make the estimate. q is first made symmetric about that mean, by
averaging it with its mirror image, which doesn't change its integral and takes out its skewness
(Warp-III, Meng and Schilling 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayesdp.engines.convergence import (
    LARGEST_RHAT,
    SMALLEST_ESS,
    apart,
    chance_of_split_rhat,
)
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import EngineFailed
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]
"""A log density at points, shape (points, coordinates)."""

_ROUNDS = 1000
_SAME = 1e-10
_FEWEST = 4  # draws of a chain that have an R-hat and an effective number
_DOUBTFUL = 0.5  # a standard error beyond which the error itself isn't known


@dataclass(frozen=True)
class Integral:
    """An estimate of the log of an integral.

    Attributes
    ----------
    log_value, standard_error : float
        The standard error is that of the log, and relative to the integral.
    problems : tuple of str
        Reasons to doubt the estimate, in words.
    """

    log_value: float
    standard_error: float
    problems: tuple[str, ...] = ()


def log_integral(
    log_density: LogDensity, draws: Floats, *, generator: np.random.Generator
) -> Integral:
    """Estimate the log of the integral of a density over all space, by bridge sampling.

    Parameters
    ----------
    log_density : callable
        log q at points, shape (points, coordinates); -inf where there is none.
    draws : ndarray, shape (chains, draws, coordinates)
        Draws from it, in coordinates that range over all real numbers.
    generator : numpy.random.Generator
        Generator of the proposals.

    Raises
    ------
    EngineFailed
        If the draws don't move, or the density is NaN where it was drawn.
    """
    half = draws.shape[1] // 2
    first, second = draws[:, :half], draws[:, half:]
    size = draws.shape[2]
    flat = first.reshape(-1, size)
    if len(flat) < size + 2:
        raise EngineFailed(
            f"{draws.shape[0] * draws.shape[1]:,} draws of {size} coordinates are too few for a "
            "bridge; draw more (draws, chains)"
        )
    centre = flat.mean(axis=0)
    try:
        root = np.linalg.cholesky(np.atleast_2d(np.cov(flat.T)))
    except np.linalg.LinAlgError as error:
        raise EngineFailed("the chains don't move in some direction; draw more (draws)") from error
    log_det = float(np.sum(np.log(np.diag(root))))

    def log_warped(eta: Floats) -> Floats:
        step = eta @ root.T
        ahead, behind = log_density(centre + step), log_density(centre - step)
        if np.any(np.isnan(ahead) | np.isnan(behind)):
            raise EngineFailed("the density isn't a number somewhere; tighten the priors")
        return np.asarray(np.logaddexp(ahead, behind) + log_det - math.log(2))

    def log_normal(eta: Floats) -> Floats:
        return np.asarray(-np.sum(eta**2, axis=1) / 2 - size / 2 * math.log(2 * math.pi))

    chains, kept = second.shape[:2]
    away = (second.reshape(-1, size) - centre).T
    drawn: Floats = np.asarray(linalg.solve_triangular(root, away, lower=True)).T
    drawn *= generator.choice([-1.0, 1.0], size=(len(drawn), 1))
    proposed = generator.standard_normal(drawn.shape)
    at_drawn = log_warped(drawn) - log_normal(drawn)
    at_proposed = log_warped(proposed) - log_normal(proposed)
    if not np.all(np.isfinite(at_drawn)):
        raise EngineFailed("a draw has no density; tighten the priors")
    # The effective number of the draws, of the log ratio that the estimate is made of.
    effective = _effective(at_drawn.reshape(chains, kept))
    log_value, log_shares = _iterated(at_drawn, at_proposed, effective)
    of_draws = special.expit(log_shares[1] - log_shares[0] - at_drawn + log_value)
    of_proposals = special.expit(log_shares[0] - log_shares[1] + at_proposed - log_value)
    series = of_draws.reshape(chains, kept)
    spread = math.sqrt(
        _relative_variance(of_proposals) / of_proposals.size
        + _relative_variance(of_draws) / _effective(series)
    )
    return Integral(log_value, spread, tuple(_problems(series, spread, second)))


def _iterated(
    at_drawn: Floats, at_proposed: Floats, effective: float
) -> tuple[float, tuple[float, float]]:
    """Iterate the bridge to its fixed point; return it and logs of s1 and s2."""
    whole = effective + at_proposed.size
    shares = math.log(effective / whole), math.log(at_proposed.size / whole)
    log_ratio = float(np.median(at_drawn))
    for _ in range(_ROUNDS):
        above = at_proposed - np.logaddexp(shares[0] + at_proposed, shares[1] + log_ratio)
        below = -np.logaddexp(shares[0] + at_drawn, shares[1] + log_ratio)
        change = float(
            special.logsumexp(above)
            - math.log(above.size)
            - special.logsumexp(below)
            + math.log(below.size)
        )
        if abs(change - log_ratio) < _SAME:
            return change, shares
        log_ratio = change
    raise EngineFailed(
        f"bridge sampling didn't settle in {_ROUNDS:,} rounds: the draws and the normal law about "
        "them hardly overlap; draw more (draws, warmup)"
    )


def _relative_variance(x: Floats) -> float:
    return float(np.var(x) / np.mean(x) ** 2)


def _effective(series: Floats) -> float:
    """Effective sample size of the mean of a series, shape (chains, draws)."""
    if series.shape[1] < _FEWEST or np.ptp(series) == 0:
        return float(series.size)
    return min(float(import_arviz().ess({"x": series}, method="mean")["x"]), float(series.size))


def _problems(series: Floats, error: float, draws: Floats) -> list[str]:
    """List reasons to doubt an estimate; `draws` has shape (chains, draws, coordinates)."""
    problems = []
    if len(draws) > 1 and draws.shape[1] >= _FEWEST:
        rhat = np.asarray(import_arviz().rhat({"x": draws})["x"])
        if apart(rhat, chance_of_split_rhat(rhat, *draws.shape[:2])).any():
            problems.append(f"R-hat is above {LARGEST_RHAT}")
    if np.ptp(series) and not _effective(series) >= SMALLEST_ESS:
        problems.append(f"ESS is under {SMALLEST_ESS}")
    if error > _DOUBTFUL:
        problems.append(f"its standard error is above {_DOUBTFUL}, too large to be known well")
    return problems


def average_of_logs(log_values: Floats) -> Integral:
    """Log of the average of exp(log_values), shape (chains, draws), and its standard error."""
    top = float(log_values.max())
    scaled = np.exp(log_values - top)
    error = math.sqrt(_relative_variance(scaled) / _effective(scaled))
    return Integral(
        top + math.log(float(scaled.mean())),
        error,
        tuple(_problems(scaled, error, scaled[..., None])),
    )


def warn_of(estimate: Integral) -> None:
    """Warn of the reasons to doubt an estimate."""
    if estimate.problems:
        warn_about(
            f"this log evidence can't be relied on: {'; '.join(estimate.problems)}. Draw more "
            "(draws, warmup)",
            "evidence",
            stacklevel=4,
        )
