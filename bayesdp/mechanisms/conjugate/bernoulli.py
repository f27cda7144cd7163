"""Privacy profiles of conjugate releases of binary records, under a beta prior.

The posterior given x ones among n is Beta(a + x, b + n - x); its mode is the MAP,
(a + x - 1) / (a + b + n - 2), or 0 where a + x <= 1, or 1 where b + n - x <= 1.

Pure epsilon of m synthetic records, with w = min(a, b), exactly and for every n >= 1:

- `synthetic_one` (all from one posterior draw): log(1 + m / w), proved in
  `bayesdp.mechanisms.counts.beta_binomial`;
- `synthetic_many` (each from its own draw, so independent, a one with probability
  (a + x) / (a + b + n)): the log ratio of x + 1 to x ones is linear in z, so it is largest or
  smallest where all records are alike: m log(1 + 1 / (a + x)) or m log(1 + 1 / (b + n - x - 1)),
  at most m log(1 + 1 / w), attained at x = 0 or x = n - 1;
- `synthetic_map`: the same with w - 1 for w, if w > 1. Else the MAP can be 0 or 1, the
  neighbour gives outputs that it can't, and no epsilon is enough.

Zheng (2015) prints thresholds on the prior larger by one (Theorems 6.9, 6.11 and 6.13): her
maxima sit at data sets that have no such neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.beta_pairs import worst_beta_divergence
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism, check_prior
from bayesdp.mechanisms.counts.count_pairs import (
    every_count,
    worst_beta_binomial_divergence,
    worst_binomial_divergence,
)
from bayesdp.privacy.profile import Profile, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]

PARAMETERS: tuple[str, ...] = ()
WHOLE = True
_LEAST, _MOST = 1e-300, 1e100  # of a prior: inverses and products stay floats
_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the product


def check(release: ConjugateMechanism) -> dict[str, Any]:
    """Validate the release's parameters."""
    return {"prior": check_range(check_prior(release.prior))}


def check_range(prior: tuple[float, ...]) -> tuple[float, ...]:
    """Return the prior if profiles can be computed for it in floats, else raise InvalidInput."""
    if not _LEAST <= min(prior) <= max(prior) <= _MOST:
        raise InvalidInput(
            f"prior is {quoted(prior)}; each number must be from {_LEAST} to {_MOST}, where "
            "delta(epsilon) can be computed"
        )
    return prior


def prior_of_strength(strength: float, parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Make the symmetric prior of a strength; a larger strength never costs more privacy."""
    return strength, strength


def least_strength(method: str, parameters: Mapping[str, Any]) -> float:
    """The weakest symmetric prior that calibration considers.

    Below 1 the mode sticks to 0 and 1, and the delta of `synthetic_map` can fall as the prior
    weakens: Beta(0.5, 0.5) has a delta(1) of 1/4 at n = 3, size = 1, and Beta(1, 1) of 1/3.
    """
    return 1.0 if method == "synthetic_map" else 1e-100


def records_are(release: ConjugateMechanism) -> tuple[str, ...]:
    """State what the promise assumes of the records: nothing that isn't checked."""
    return ()


def largest_mode(release: ConjugateMechanism) -> float:
    """Largest absolute value of a posterior mode, of a probability."""
    return 1.0


def mode_bounds(release: ConjugateMechanism) -> tuple[float, float]:
    """Give the ends that a noisy mode is moved to, those of probabilities."""
    return 0.0, 1.0


def together(release: ConjugateMechanism, copies: int) -> None:
    """Give no profile of several copies but those of as many more records."""


def components(release: ConjugateMechanism) -> int:
    """Number of components of the posterior mode."""
    return 1


def map_sensitivity(release: ConjugateMechanism) -> float:
    """Largest distance between the posterior modes of neighbours, rounded up.

    1 / (a + b + n - 2) for a, b >= 1. (Zheng 2015, Corollary 6.2, has 1 / (a + b + n), with a mode
    of (a + x) / (a + b + n): smaller than is true.) Below 1 all neighbours are tried.
    """
    ones, zeros, _ = _mode_weights(release)
    mode = ones / (ones + zeros)
    (a, b), n = release.prior, release.n
    if min(a, b) >= 1:
        return float(1 / (a + b + n - 2) * _SAFE)
    return min(1.0, float(np.diff(mode).max()) * (1 + 2.0**-40))


def parameter_map(release: ConjugateMechanism) -> Profile:
    """Profile of the posterior mode itself, which promises nothing."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateMechanism) -> Profile:
    """Profile of one posterior draw; `bayesdp.mechanisms.conjugate.beta_pairs` has the proof."""
    (a, b), n = release.prior, release.n
    return Profile(
        lambda epsilon: worst_beta_divergence(n, (a, b), epsilon),
        math.inf,
        why="The likelihood ratio of two neighbours is unbounded where the draw is near 0 or 1, "
        "so no pure epsilon holds.",
    )


def synthetic_one(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records from one posterior draw: the beta-binomial mechanism."""
    (a, b), n = release.prior, release.n
    mechanism = BetaBinomialMechanism(n, release.synthetic_size, (a, b))
    return Profile(
        lambda epsilon: worst_beta_binomial_divergence(mechanism, n, epsilon),
        mechanism.epsilon(),
    )


def synthetic_many(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records, each from its own posterior draw."""
    (a, b), n, size = release.prior, release.n, release.synthetic_size
    x, step = every_count(n), np.ones(n)
    return Profile(
        lambda epsilon: worst_binomial_divergence(size, a + x, b + x[::-1], step, epsilon),
        size * math.log1p(1 / min(a, b)) * _SAFE,
    )


def synthetic_map(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records with the posterior mode as their probability of a one."""
    (a, b), size = release.prior, release.synthetic_size
    ones, zeros, total = _mode_weights(release)
    at_zero, at_one = ones <= 0, zeros <= 0
    edge = at_zero | at_one
    step = np.where(at_one[1:], zeros[:-1], np.where(at_zero[:-1], ones[1:], 1.0))
    if not edge.any():
        pure, limit, why = size * math.log1p(1 / (min(a, b) - 1)) * _SAFE, 0.0, ""
    else:
        # Pr[not all alike] by the neighbour of a data set whose synthetic records are.
        nearest = [ones[1] / total if at_zero[0] else 0.0, zeros[-2] / total if at_one[-1] else 0.0]
        limit = max(-math.expm1(size * math.log1p(-p)) if p < 1 else 1.0 for p in nearest)
        pure = math.inf
        why = (
            f"The prior {release.prior} has a parameter of 1 or less, so the mode is 0 or 1 for "
            "some data sets, and a neighbour gives outputs that they can't."
        )
    return Profile(
        lambda epsilon: worst_binomial_divergence(size, ones, zeros, step, epsilon),
        pure,
        limit=limit,
        why=why,
    )


def _mode_weights(release: ConjugateMechanism) -> tuple[Floats, Floats, float]:
    """The mode and 1 - mode for x = 0..n, each times a common total; and that total."""
    (a, b), n = release.prior, release.n
    x = every_count(n)
    # a + (x - 1), positive for x >= 1 however small a is.
    ones, zeros = np.append(a - 1, a + x[:-1]), np.append(b + x[-2::-1], b - 1)
    at_zero, at_one = ones <= 0, zeros <= 0
    inside = ~at_zero & ~at_one
    # a + b + n - 2, of positive terms: with n = 2, small priors are all there is.
    total = float((ones + zeros)[inside][0]) if inside.any() else 1.0
    ones = np.where(at_zero, 0.0, np.where(at_one, total, ones))
    zeros = np.where(at_one, 0.0, np.where(at_zero, total, zeros))
    return ones, zeros, total
