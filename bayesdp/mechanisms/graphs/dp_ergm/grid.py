r"""Coefficients of a graph model from a public grid, by mechanisms of a proved epsilon.

Each coefficient has `bins` cells between centre_t - reach scale_t and centre_t + reach scale_t, all
public. With cell i_t of coefficient t and w_t = scale_t reach / bins, a cell's middle is

    theta_t = centre_t + (2 i_t + 1 - bins) w_t.

The cells' law
--------------
log Pr[theta | x] = log prior(theta) + theta . s(x) - log Z(theta) + a constant, for a graph x.
Z doesn't depend on x: whatever stands for it, exact or simulated with a public seed, is a public
function of theta, so its error costs accuracy and no privacy. Nor does c . s(x), c the centre,
depend on theta: it is common to all cells and cancels. What is left of x is

    u(theta, x) = R(theta) + sum_t (2 i_t + 1 - bins) T_t(x),
    T_t(x) = w_t s_t(x),        R = log prior - log Z.

SDD: the exponential mechanism
------------------------------
If one tie changes statistic t by D_t at most (`networks.sensitivity`), all u change by at most

    D = (bins - 1) sum_t w_t D_t = max over cells of sum_t |theta_t - c_t| D_t.

A cell drawn with probability proportional to exp(power u), power = min(1, epsilon / (2 D)), costs
2 D power <= epsilon by inequality (*) of `selection`, and the coefficients are then uniform in it.
It is a draw from the posterior on the grid with prior and likelihood both to that power; where 2 D
is at most epsilon, of the posterior itself. A wider grid lowers the power: `reach` and `scale` are
a trade.

In the code T_t is rounded to a whole multiple of 2^-bits: T_t = round(2^bits w_t s_t), in rational
arithmetic, and 2^bits R too, so that u is an integer, exact. Neighbours' T_t differ by at most
2^bits w_t D_t + 1, rounded down, since they are integers, and D is made of these. The cell is drawn
exactly (`exponential`). So the promise is about the code's own law, with no rounding left.

SPHC: the perturbed histogram
-----------------------------
`bayesdp.mechanisms.selection.posterior_cells` and `histogram_cost` beside it prove it: for
neighbours in one tie, in all ties of a node, or in anything. The draws are the grid's own, since a
Markov chain that refuses some graphs would say something by refusing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.mechanisms.selection.posterior_cells import perturbed_cells, uniform_in

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINEST, _BITS = 30, 60


@dataclass(frozen=True, eq=False)
class CoefficientGrid:
    """A grid of coefficients and the part of their law that doesn't depend on ties; public.

    Parameters
    ----------
    centre, width : tuple of float or Fraction, one for each coefficient
        Middle of the grid, and w, half a cell's width.
    bins : int
        Cells along each axis.
    sensitivities : tuple of float
        D_t of each statistic.
    largest : tuple of float
        A bound on each statistic's absolute value over all graphs on the nodes.
    public : ndarray of float, shape (bins, ...)
        R at the cells' middles.
    """

    centre: tuple[float, ...]
    width: tuple[Fraction, ...]
    bins: int
    sensitivities: tuple[float, ...]
    largest: tuple[float, ...]
    public: Floats

    @property
    def bits(self) -> int:
        """Number of bits: utilities are whole multiples of 2^-bits; public."""
        size = float(np.ptp(self.public)) + likelihood_range(self.width, self.bins, self.largest)
        return min(_FINEST, _BITS - math.frexp(size)[1])

    @property
    def sensitivity(self) -> int:
        """Sensitivity D of the utilities, as a multiple of 2^-bits."""
        moves = (
            math.floor(Fraction(2) ** self.bits * w * Fraction(d)) + 1
            for w, d in zip(self.width, self.sensitivities, strict=True)
        )
        return int((self.bins - 1) * sum(moves))

    def utilities(self, statistics: Sequence[Fraction]) -> Integers:
        """Utilities u at every cell, as multiples of 2^-bits; shape (cells,). Confidential."""
        scale = Fraction(2) ** self.bits
        total = np.rint(np.ldexp(self.public - self.public.max(), self.bits)).astype(np.int64)
        steps = steps_of(self.bins)
        for t, (w, s) in enumerate(zip(self.width, statistics, strict=True)):
            here = [1] * total.ndim
            here[t] = self.bins
            total += steps.reshape(here) * round(scale * w * s)
        flat: Integers = total.ravel()
        return flat

    def exponential(self, cost: float) -> ExponentialMechanism:
        """Exponential mechanism that chooses a cell, at epsilon `cost`."""
        return ExponentialMechanism(cost, up(self.sensitivity), self.public.size)

    def power(self, cost: float) -> float:
        """Power of prior and likelihood by which a cell is chosen at epsilon `cost`."""
        return float(self.exponential(cost).rate) * 2.0**self.bits

    def sdd(self, statistics: Sequence[Fraction], cost: float, copies: int) -> Floats:
        """Draw coefficients by SDD, shape (copies, terms), each at epsilon `cost`."""
        chosen = self.exponential(cost).release(self.utilities(statistics), copies)
        return self.within(chosen)

    def sphc(
        self, statistics: Sequence[Fraction], scale: Fraction, draws: int, copies: int
    ) -> Floats:
        """Draw coefficients by SPHC, shape (copies, terms), each from its own noisy histogram."""
        log_weights = np.ldexp(self.utilities(statistics).astype(np.float64), -self.bits)
        return self.within(perturbed_cells(log_weights, draws, scale, copies))

    def within(self, cells: Integers) -> Floats:
        """Draw a uniform point in each of these cells, shape (len(cells), terms)."""
        return uniform_in(
            cells, self.bins, np.array(self.centre), np.array([float(w) for w in self.width])
        )


def middles_along(centre: Sequence[float], width: Sequence[Fraction], bins: int) -> list[Floats]:
    """Middles of the cells along each axis, shape (bins,) each."""
    steps = steps_of(bins).astype(np.float64)
    return [c + float(w) * steps for c, w in zip(centre, width, strict=True)]


def steps_of(bins: int) -> Integers:
    """Middles of the cells along an axis, as multiples of half a width from the centre."""
    return 2 * np.arange(bins) + 1 - bins


def likelihood_range(width: tuple[Fraction, ...], bins: int, largest: tuple[float, ...]) -> float:
    """Bound the range of (theta - c) . s over the cells, for any graph."""
    return 2 * bins * sum(float(w) * s for w, s in zip(width, largest, strict=True))
