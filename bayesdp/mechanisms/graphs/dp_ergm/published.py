r"""Draws of coefficients as Liu, Eugenio, Jin and Bowen publish them; their claim is false.

A posterior is taken as normal and standardised, to N(0, r), with all correlations r public, and cut
into B bins of width h = 2 C / B along each of p axes on [-C, C]^p (Liu, modips, section 3.3):

=========  ===============================================  =====================================
method     perturbed                                        as printed
=========  ===============================================  =====================================
sdd        a bin is chosen with probability proportional    Delta_u = 2 A, A = sup abs(log f)
           to (f V)^(epsilon / (2 Delta_u)), f the density  (Algorithm 2, Proposition 3)
           at its middle, V its volume
sdd_mc     log(N_i / N) + Laplace(Delta / epsilon)          Delta = 2 A (Algorithm 3, Prop. 4)
sphc       N_i + Laplace(Delta / epsilon)                   Delta = N G V = N Pr[|z_t| <= h / 2 for
                                                            all t] (Algorithm 4, Proposition 5)
=========  ===============================================  =====================================

The probability is printed as Phi(h / 2) - Phi(-h / 2) with Phi the joint distribution function. For
p > 1 that difference isn't the probability of the box, which N G V means and which is used here. A
bound on f in the box [-C, C]^p is f's at 0, and A is at 0 or at a corner.

Why the claim is false
----------------------
- Every bin is perturbed with all of epsilon. Each depends on all ties, so the bins' losses add up:
  between expected counts N pi and N pi', to epsilon |pi - pi'|_1 / Pr[box], and the last is small.
- The draws are standardised by the posterior's mean and standard deviations, which depend on the
  ties, and a point drawn is moved back by them: where two graphs' differ, some coefficients are
  possible for one and impossible for the other. With sdd nothing but these two depends on the ties.
- N_i is random given the ties; "N_i is about N f V" bounds nothing.
- log(N_i / N) of an empty bin is minus infinity, and no noise moves it.
- The draws are those of a Markov chain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from bayesdp.mechanisms.graphs.dp_ergm.grid import steps_of
from bayesdp.mechanisms.selection.posterior_cells import cell_of, published_cell, uniform_in

Floats = NDArray[np.float64]


def central_probability(half_width: float, terms: int, correlation: float) -> float:
    r"""Probability that all |z_t| <= half_width, z normal with unit variances, equal correlations.

    With z_t = sqrt(r) y + sqrt(1 - r) e_t, the integral over y of
    phi(y) (Phi((a - sqrt(r) y) / sqrt(1 - r)) - Phi((-a - sqrt(r) y) / sqrt(1 - r)))^terms.
    """
    if terms == 1 or correlation == 0:
        return float(special.erf(half_width / math.sqrt(2))) ** terms
    slope, rest = math.sqrt(correlation), math.sqrt(1 - correlation)

    def integrand(y: float) -> float:
        upper, lower = (half_width - slope * y) / rest, (-half_width - slope * y) / rest
        inside = special.ndtr(upper) - special.ndtr(lower)
        return float(inside**terms) * math.exp(-y * y / 2) / math.sqrt(2 * math.pi)

    edge = (half_width + 10 * rest) / slope  # beyond it the power vanishes
    edge, fall = min(edge, 40.0), min(half_width / slope, 39.0)
    half, _ = integrate.quad(integrand, 0, edge, points=[fall], epsabs=0, epsrel=1e-11, limit=500)
    return 2 * float(half)


def largest_log_density(reach: float, terms: int, correlation: float) -> float:
    """The largest |log f|, A, of the standardised normal density on [-reach, reach]^terms."""
    r, p = correlation, terms
    at_zero = -0.5 * (
        p * math.log(2 * math.pi) + (p - 1) * math.log1p(-r) + math.log1p((p - 1) * r)
    )
    # The quadratic form is largest at a corner with as many ups as downs, or one more.
    form = reach**2 * (p - r * (p % 2) / (1 + (p - 1) * r)) / (1 - r)
    return max(abs(at_zero), abs(at_zero - form / 2))


def noise_scale(
    method: str, epsilon: float, reach: float, bins: int, terms: int, correlation: float, draws: int
) -> float:
    """Scale Delta / epsilon of the Laplace noise on a count or on log(N_i / N), as published."""
    if method == "sphc":
        return draws * central_probability(reach / bins, terms, correlation) / epsilon
    return 2 * largest_log_density(reach, terms, correlation) / epsilon


def log_masses(reach: float, bins: int, terms: int, correlation: float) -> Floats:
    """Log masses log(f V) of all bins of the standardised density, but for a constant."""
    middle = reach / bins * steps_of(bins)
    points = np.stack(np.meshgrid(*[middle] * terms, indexing="ij"), axis=-1).reshape(-1, terms)
    r = correlation
    total = points.sum(axis=1) ** 2
    form = ((points**2).sum(axis=1) - r / (1 + (terms - 1) * r) * total) / (1 - r)
    return np.asarray(-form / 2)


def histogram(standardised: Floats, reach: float, bins: int) -> NDArray[np.int64]:
    """Histogram of the draws in the bins, shape (bins^terms,); draws outside are left out."""
    inside = standardised[(np.abs(standardised) <= reach).all(axis=1)]
    places = np.floor((inside + reach) * (bins / (2 * reach))).astype(np.int64)
    places = np.minimum(places, bins - 1)
    shape = (bins,) * standardised.shape[1]
    flat = np.ravel_multi_index(tuple(places.T), shape)
    return np.bincount(flat, minlength=bins ** len(shape))


def published_points(
    method: str,
    posterior: Floats,
    *,
    epsilon: float,
    reach: float,
    bins: int,
    correlation: float,
    copies: int,
) -> Floats:
    """Draw coefficients, shape (copies, terms), from posterior draws, shape (draws, terms)."""
    draws, terms = posterior.shape
    mean, sd = posterior.mean(axis=0), posterior.std(axis=0, ddof=1)
    scale = noise_scale(method, epsilon, reach, bins, terms, correlation, draws)
    if method == "sdd":
        bound = largest_log_density(reach, terms, correlation)
        log_weights = log_masses(reach, bins, terms, correlation) * (epsilon / (4 * bound))
        weights = np.exp(log_weights - log_weights.max())
    else:
        counts = histogram((posterior - mean) / sd, reach, bins)

    def cell() -> int:
        if method == "sdd":
            return cell_of(weights)
        return published_cell(counts, draws, scale, logarithms=method == "sdd_mc")

    cells = np.array([cell() for _ in range(copies)])
    standardised = uniform_in(cells, bins, np.zeros(terms), np.full(terms, reach / bins))
    points: Floats = mean + sd * standardised
    return points
