r"""Law of the sum of gamma records, free or within public bounds, together with their rate.

Free records of Gamma(k, theta) have a sum S of Gamma(n k, theta). With theta ~ Gamma(a, b),

    p(S) = b^a S^(n k - 1) / (B(a, n k) (b + S)^(a + n k)),    theta | S ~ Gamma(a + n k, b + S).

Exponential records within bounds
---------------------------------
Let V_j(t) be the volume of the points of [0, u]^j, within the plane where they add up to t:
u^(j - 1) times the Irwin-Hall density at t / u. Of n records that are moved to u where they are
beyond it, let c be moved. Each of those has probability exp(-theta u), and the others the density
theta exp(-theta x), so that theta factors out whatever the records are:

    p(c, S | theta) = C(n, c) theta^(n - c) exp(-theta S) V_(n - c)(S - c u),
    theta | c, S ~ Gamma(a + n - c, b + S),
    p(c, S) = C(n, c) V_(n - c)(S - c u) b^a Gamma(a + n - c) / (Gamma(a) (b + S)^(a + n - c)),

and all are moved, S = n u, with probability (b / (b + n u))^a. Where records beyond the bounds
(l, u) are refused, what was released says that there is none: it is c = 0, with V_n(S - n l) for
u - l in place of u.

The sum over c is over those that aren't negligible. Where they are more than 128, it is over as
many of them, evenly spaced and 0.15 standard deviations of c apart: terms are smooth in c, and
negligible at c = 0 too, so that such a sum is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.inference.gamma.irwin_hall import log_irwin_hall, rough_log_irwin_hall

Floats = NDArray[np.float64]
Density = Callable[[Floats, Floats], Floats]
Atom = tuple[float, float, float]

_FAR = 45.0  # log of what is negligible beside the largest
_MOST = 128  # numbers of moved records summed over
_COARSE = 48
_ROUGH = 32  # records of which fewer make a law that isn't smooth


class Sums(Protocol):
    """Protocol of the law of a sum S together with the rate, which is gamma given some c and S."""

    @property
    def n(self) -> int:
        """Number of records."""

    @property
    def ends(self) -> tuple[float, float]:
        """Range of the sum."""

    def terms(self, log_totals: Floats) -> tuple[Floats, Floats]:
        """Log densities of log S at each c, and the rate's shapes, both of shape (totals, c)."""

    def kinks(self) -> Floats:
        """Sums where the density isn't smooth."""

    def atom(self) -> Atom | None:
        """Log probability of a single sum, that sum, and the rate's shape there; None without."""


@dataclass(frozen=True)
class FreeSums:
    """Law of the sum of n free records of Gamma(shape, theta)."""

    n: int
    shape: float
    prior: tuple[float, float]

    @property
    def ends(self) -> tuple[float, float]:
        """Range of the sum."""
        return 0.0, math.inf

    def terms(self, log_totals: Floats) -> tuple[Floats, Floats]:
        """Log density of log S, and the rate's shape."""
        (a, b), k = self.prior, self.n * self.shape
        logs = a * math.log(b) - special.betaln(a, k) + k * log_totals
        logs = logs - (a + k) * np.logaddexp(math.log(b), log_totals)
        return logs[:, None], np.full((log_totals.size, 1), a + k)

    def kinks(self) -> Floats:
        """None: the law is smooth."""
        return np.empty(0)

    def atom(self) -> Atom | None:
        """None: the law has a density."""
        return None


@dataclass(frozen=True)
class BoundedSums:
    """Law of the sum of n exponential records within bounds, those beyond moved there or refused.

    Attributes
    ----------
    n : int
    bounds : tuple of two floats
        Where records are moved, the lower is 0.
    clip : bool
        Whether records beyond the bounds are moved to the nearest one; if not, they are refused.
    prior : tuple of two floats
    """

    n: int
    bounds: tuple[float, float]
    clip: bool
    prior: tuple[float, float]

    @property
    def ends(self) -> tuple[float, float]:
        """Range of the sum."""
        return self.n * self.bounds[0], self.n * self.bounds[1]

    @property
    def width(self) -> float:
        """Distance of the bounds."""
        return self.bounds[1] - self.bounds[0]

    def terms(self, log_totals: Floats) -> tuple[Floats, Floats]:
        """Log densities of log S for numbers c of moved records, and the rate's shapes."""
        moved, logs = np.zeros((log_totals.size, 1)), np.zeros((log_totals.size, 1))
        if self.clip and self.n > 1:
            moved, logs = self._likely(log_totals)
        return logs + self._joint(log_totals, moved), self.prior[0] + self.n - moved

    def kinks(self) -> Floats:
        """Sums where few records are free, or so small that few may be moved."""
        few = np.arange(1, min(self.n, _ROUGH))
        ends = self.n * self.bounds[0], self.n * self.bounds[1]
        return np.unique([*(ends[0] + few * self.width), *(ends[1] - few * self.width)])

    def atom(self) -> Atom | None:
        """All records moved to the upper bound."""
        if not self.clip:
            return None
        (a, b), top = self.prior, self.ends[1]
        return -a * math.log1p(top / b), top, a

    def _joint(
        self, log_totals: Floats, moved: Floats, density: Density = log_irwin_hall
    ) -> Floats:
        """Log density of log S and c, of shape (totals, c) as `moved` has."""
        (a, b), n, x = self.prior, self.n, log_totals[:, None]
        free, totals = n - moved, np.exp(x)
        logs = special.gammaln(n + 1) - special.gammaln(moved + 1) - special.gammaln(free + 1)
        logs = logs + a * math.log(b) - special.gammaln(a) + special.gammaln(a + free)
        rest = (totals - n * self.bounds[0]) / self.width - moved
        logs = logs + (free - 1) * math.log(self.width) + density(free, rest)
        return np.asarray(logs + x - (a + free) * np.logaddexp(math.log(b), x))

    def _likely(self, log_totals: Floats) -> tuple[Floats, Floats]:
        """Numbers c that aren't negligible given each sum, and logs of how many each stands for."""
        first, last = np.zeros(log_totals.size), np.full(log_totals.size, self.n - 1.0)
        rows, grid = np.arange(log_totals.size), np.linspace(0, 1, _COARSE)
        while np.any(wide := last - first > _COARSE):
            tried = np.rint(first[:, None] + (last - first)[:, None] * grid)
            logs = self._joint(log_totals, tried, rough_log_irwin_hall)
            good = logs >= logs.max(axis=1, keepdims=True) - _FAR
            below = np.maximum(good.argmax(axis=1) - 1, 0)
            above = np.minimum(_COARSE - good[:, ::-1].argmax(axis=1), _COARSE - 1)
            wide &= above - below <= _COARSE / 2
            if not wide.any():
                break
            first = np.where(wide, tried[rows, below], first)
            last = np.where(wide, tried[rows, above], last)
        stride = np.ceil((last - first + 1) / _MOST)
        moved = first[:, None] + stride[:, None] * np.arange(np.max((last - first) // stride) + 1)
        within = moved <= last[:, None]
        return np.where(within, moved, 0.0), np.where(within, np.log(stride)[:, None], -np.inf)
