r"""Weights of the records of a censored beta posterior, attached to them or public.

A weight multiplies its record's log density before that is clipped, so a term stays in the
interval, and is a function of the record and its weight alone. The epsilon is the interval's,
whatever the weights are, provided that a record's weight is the same in all data sets which hold
the record. Two kinds satisfy this:

* *attached*: each record comes with a weight, and neighbours add, remove or replace a record
  together with its weight, which is then as protected as the record. It may be public, or a public
  function of the record alone; it must not depend on other records.
* *public*: `PublicWeights`, a function of the record that is part of the mechanism.

Weights fitted to all the records, as by their Lipschitz bounds under the unweighted posterior, are
neither: one more record changes the terms of all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted

Floats = NDArray[np.float64]
ATTACHED = "attached"
_LARGEST = 1000.0
_LARGEST_SCALE = 1000
_STEPS = 40  # bisections along an edge; what they leave is bounded


@dataclass(frozen=True, slots=True)
class PublicWeights:
    r"""Weights h(y) = min(1, bound / Delta(y)), Delta(y) the largest abs(log density) of y.

    Delta(y) = max abs(l(y; phi, lambda)) over a public box of parameters. So no record's weighted
    log density leaves [-bound, bound] for parameters in the box, and clipping to that does nothing
    there. h depends on the data through y alone.

    Parameters
    ----------
    bound : float
        Largest absolute weighted log density, positive. With the interval's half width around 0,
        epsilon / (2 copies) under add/remove-one, nothing is clipped for parameters in the box.
    phi : tuple of two floats
        The box's ends of phi, in (0, 1).
    lam : tuple of two floats
        The box's ends of lambda, from 1e-6 to 1e6.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    l is concave in the shapes (a, b), and the box is a trapezoid there, as phi <= c means
    a <= c (a + b). So l is least at a corner. Its largest value lies on an edge: where both
    derivatives were 0, log y = psi(a) - psi(a + b) and log(1 - y) = psi(b) - psi(a + b) would be
    the mean logarithms of a Beta(a, b) variable and its complement, whose exponentials add up to
    less than 1 by Jensen's inequality. Each edge is searched by bisection of l's slope along it,
    and the tangent plane at the point found, largest at a corner, bounds l from above. Delta is the
    least such bound: at least the truth, and beyond it by what bisection leaves.

    Examples
    --------
    >>> PublicWeights(2.0, phi=(0.1, 0.5), lam=(1.0, 20.0))([1e-9, 0.2]).round(4).tolist()
    [0.0116, 0.7254]
    """

    bound: float
    phi: tuple[float, float]
    lam: tuple[float, float]

    def __post_init__(self) -> None:
        if not (is_number(self.bound) and 0 < self.bound < math.inf):
            raise InvalidInput(f"bound is {quoted(self.bound)}; it must be a positive number")
        ends = {"phi": (2.0**-30, 1 - 2.0**-30), "lam": (1e-6, 1e6)}
        for name, (least, most) in ends.items():
            value = getattr(self, name)
            try:
                first, last = (float(v) if is_number(v) else math.nan for v in value)
            except (TypeError, ValueError):  # not a pair
                first = last = math.nan
            if not least <= first <= last <= most:
                raise InvalidInput(
                    f"{name} is {quoted(value)}; it must be two numbers from {least:g} to "
                    f"{most:.10g}, the lower first"
                )
            object.__setattr__(self, name, (first, last))
        object.__setattr__(self, "bound", float(self.bound))

    def __call__(self, y: Any) -> Floats:
        """The weights of records in (0, 1), each a function of its own record."""
        return np.asarray(self.bound / np.maximum(self.bound, self.largest(y)))

    def largest(self, y: Any) -> Floats:
        """Delta(y) of each record, the largest abs(log density) that it may have."""
        from bayesdp.kernels.censored.ordered import logs

        t1, t2 = logs(np.asarray(y, dtype=np.float64))
        corners = [(s * f, s * (1 - f)) for f in self.phi for s in self.lam]
        least = np.min([_density(t1, t2, *corner) for corner in corners], axis=0)
        upper = np.full(t1.shape, np.inf)
        (phi0, phi1), (lam0, lam1) = self.phi, self.lam
        edges = [((f, lam0), (f, lam1)) for f in self.phi]
        edges += [((phi0, s), (phi1, s)) for s in self.lam]
        for (f0, s0), (f1, s1) in edges:
            a, b = _highest(t1, t2, (s0 * f0, s0 * (1 - f0)), (s1 * f1, s1 * (1 - f1)))
            here, (da, db) = _density(t1, t2, a, b), _slopes(t1, t2, a, b)
            planes = [here + da * (u - a) + db * (v - b) for u, v in corners]
            upper = np.minimum(upper, np.max(planes, axis=0))
        return np.asarray(np.maximum(upper, -least))


def of_each_alone(weights: Callable[[Any], Any], records: Iterable[Any]) -> Floats:
    """Call a function with one record at a time: a weight can't depend on the other records.

    Raises
    ------
    InvalidInput
        If the function raises an error, whose text isn't shown.
    """
    made = [np.empty(0)]
    for record in records:
        try:
            made.append(np.ravel(weights(record)))
        except Exception:  # any that the user's own code may raise, with the record in its text
            raise InvalidInput(
                "weights raises an error for some record; try it on simulated ones (its error "
                "isn't shown, as it may hold a confidential one)"
            ) from None
    return np.concatenate(made)


def _density(t1: Floats, t2: Floats, a: Any, b: Any) -> Floats:
    from scipy import special

    return np.asarray((a - 1) * t1 + (b - 1) * t2 - special.betaln(a, b))


def _slopes(t1: Floats, t2: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Derivatives of a record's log density in a and in b."""
    from scipy import special

    whole = special.psi(a + b)
    return t1 - special.psi(a) + whole, t2 - special.psi(b) + whole


def _highest(
    t1: Floats, t2: Floats, start: tuple[float, float], end: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Find where between two points each record's log density is highest, nearly."""
    first, last = np.zeros(t1.shape), np.ones(t1.shape)
    along = end[0] - start[0], end[1] - start[1]

    def point(share: Floats) -> tuple[Floats, Floats]:
        return start[0] + share * along[0], start[1] + share * along[1]

    for _ in range(_STEPS):
        middle = 0.5 * (first + last)
        da, db = _slopes(t1, t2, *point(middle))
        rises = da * along[0] + db * along[1] > 0
        first, last = np.where(rises, middle, first), np.where(rises, last, middle)
    # An end that bisection never left is the highest itself.
    return point(np.where(last == 1, 1.0, first))


def check_weighting(weights: Any) -> PublicWeights | str | None:
    """Return the weighting of records, read from a manifest if need be, or raise InvalidInput."""
    if isinstance(weights, Mapping) and set(weights) == {"bound", "phi", "lam"}:
        return PublicWeights(**weights)
    if weights is None or isinstance(weights, PublicWeights):
        return weights
    if isinstance(weights, str) and weights == ATTACHED:
        return ATTACHED
    raise InvalidInput(
        f"weights is of type {type(weights).__name__}; a mechanism takes None, 'attached' (the "
        "statistic is then a pair, records and weights) or bdp.synthesizers.PublicWeights"
    )


def check_weights(weights: Any, n: int) -> Floats:
    """Return one weight for each record as floats, or raise InvalidInput without showing one."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(math.nan)
    if (
        np.ma.is_masked(weights)
        or values.shape != (n,)
        or not np.all((values >= 0) & (values <= _LARGEST))
    ):
        raise InvalidInput(
            "weights must be one number for each record, from 0 to 1000, none missing, in a "
            "vector as long as the records; or a function of a record, or "
            "bdp.synthesizers.PublicWeights"
        )
    return values


def unit_scale(low: float, high: float) -> float:
    """Return 2^k such that the interval's ends have at most 52 bits in units of 2^-k."""
    _, exponent = math.frexp(max(abs(low), abs(high)))
    return math.ldexp(1.0, min(52 - exponent, _LARGEST_SCALE))
