r"""The clipped sum of a beta posterior, exact and bounded: sorted records, or weighted ones.

Without weights the records are sorted, and `bayesdp.kernels.censored.ordered` finds the sum in
O(log n). With weights w_i, which of them are clipped has no such order, and every record is
visited: O(n).

Weighted terms
--------------
A cell's A, B, C are floating-point numbers, as without weights, and

    f_j(y, w) = trunc(2^k v) / 2^k,    v = clip(w (A t1(y) + B t2(y) - C), low, high),

v being rounded as IEEE 754 says, operation by operation. So f_j is a function of the cell, the
record and its weight alone, however v was rounded. It is between trunc(2^k low) / 2^k and
trunc(2^k high) / 2^k, hence within the unit 2^-k of the interval: the eta of the mechanism's proof.
The integers trunc(2^k v), of at most 52 bits, are added in two halves, exactly for up to 2^33
records.

The bound of a block
--------------------
As w >= 0, w l is concave in the shapes too, and the proof in `bayesdp.mechanisms.censored.grid`
holds with w l for l: m = min(w l, high) is below `high` where w l >= high at the centre, and below
w times l's tangent plane elsewhere. The terms' sizes add up to less than the sum of
w ((lambda + 2) (abs(t1) + abs(t2)) + lambda (1 + abs(log lambda)) + 64) + abs(low) + abs(high),
and are summed in chunks of 1024, so that 2^-45 + 2^-52 (1024 + n / 1024) of it covers the rounding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.censored import ordered as censored_kernels
from bayesdp.kernels.censored import weighted as censored_weighted_kernels
from bayesdp.mechanisms.censored.disk_column import DiskColumn, forget, mapped
from bayesdp.mechanisms.censored.weights import unit_scale

Floats = NDArray[np.float64]
_PIECE = 1 << 16  # records read at a time, a multiple of the weighted kernels' chunks
_MOST_SUMS = 1 << 20
_POINTS, _BLOCKS = 512, 8  # looked at before records are forgotten


@dataclass(frozen=True, eq=False)
class SortedRecords:
    """Clipped sums over sorted records of equal weight.

    Parameters
    ----------
    records : ndarray or DiskColumn
        The records in (0, 1), sorted.
    low, high : float
        Ends of the interval.
    """

    records: Floats | DiskColumn
    low: float
    high: float

    @cached_property
    def table(self) -> tuple[Floats, NDArray[np.int64], int]:
        """The records, sums of logarithms over the first i 2^k of them in row i, and k.

        k is the least for which there are about `_MOST_SUMS` rows, 32 MB, or fewer.
        """
        n = self.records.size
        shift = (n // _MOST_SUMS).bit_length()
        sums, total = np.zeros(((n >> shift) + 1, 4), dtype=np.int64), np.zeros(4, dtype=np.int64)
        for start in range(0, n, _PIECE):
            y = self.records[start : start + _PIECE]
            censored_kernels.add_sums(y, start, total, sums, shift)
        return mapped(self.records), sums, shift

    def exact(self, phi: float, lam: float) -> Fraction:
        """The clipped sum at (phi, lambda), exactly."""
        bits, half = censored_kernels.FRACTION_BITS, censored_kernels.HALF
        curve, counts = censored_kernels.clipped_parts(self.table, phi, lam, self.low, self.high)
        forget(self.records)
        at_low, at_high, between, *halves = (int(v) for v in counts)
        a, b, c, low, high = (Fraction(float(v)) for v in (*curve, self.low, self.high))
        t1, t2 = ((halves[k] << half) + halves[k + 1] for k in (0, 2))
        return low * at_low + high * at_high + (a * t1 + b * t2) / (1 << bits) - c * between

    def rounded(self, phi: Floats, lam: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Clipped sums and numbers of clipped records at points, in floating point."""
        values, clipped = self._in_steps(censored_kernels.clipped_sums, _POINTS, phi, lam)
        return values, clipped

    def bounds(
        self, phi: tuple[Floats, Floats], lam: tuple[Floats, Floats], prior: Floats
    ) -> tuple[Floats, Floats]:
        """Bounds on prior and sum over rectangles, and the sums at their centres and corners."""
        bounds, guesses = self._in_steps(censored_kernels.block_bounds, _BLOCKS, *phi, *lam, prior)
        halves = censored_kernels.sums_to(self.table, self.records.size)
        logs = np.abs(halves * [2.0**-20, 2.0**-50, 2.0**-20, 2.0**-50]).sum()
        each = _shape_size(lam[1]) + abs(self.low) + abs(self.high)
        size = (lam[1] + 2) * logs + self.records.size * each
        return bounds + 2.0**-45 * size, guesses

    def _in_steps(self, kernel: Any, step: int, *columns: Floats) -> tuple[Any, ...]:
        """Apply a kernel to some rows at a time, so that few records come into memory."""
        parts = []
        for start in range(0, columns[0].size, step):
            some = (column[start : start + step] for column in columns)
            parts.append(kernel(self.table, *some, self.low, self.high))
            forget(self.records)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


@dataclass(frozen=True, eq=False)
class WeightedRecords:
    """Clipped sums over records with weights of their own.

    Parameters
    ----------
    records : ndarray or DiskColumn
        The records in (0, 1), in any order.
    weights : ndarray or DiskColumn
        Weight of each record, from 0 to 1000.
    low, high : float
        Ends of the interval.
    """

    records: Floats | DiskColumn
    weights: Floats | DiskColumn
    low: float
    high: float

    @cached_property
    def _logs(self) -> tuple[Floats, Floats] | None:
        """Logarithms of records in memory; those of records on disk are recomputed each time."""
        if isinstance(self.records, DiskColumn):
            return None
        t1, t2 = censored_kernels.logs(self.records)
        return t1, t2

    def _read(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield the records' logarithms and weights, some at a time."""
        for start in range(0, self.records.size, _PIECE):
            some = slice(start, start + _PIECE)
            if self._logs is None:
                t1, t2 = censored_kernels.logs(self.records[some])
            else:
                t1, t2 = (log[some] for log in self._logs)
            yield t1, t2, self.weights[some]

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """Sizes of the sums of weighted logarithms, and the sum of weights."""
        sums = [((w * -(t1 + t2)).sum(), w.sum()) for t1, t2, w in self._read()]
        return math.fsum(s for s, _ in sums), math.fsum(s for _, s in sums)

    def exact(self, phi: float, lam: float) -> Fraction:
        """The clipped sum at (phi, lambda), exactly."""
        scale = unit_scale(self.low, self.high)
        a, b = _shapes(phi, lam)
        curve = np.array([a - 1.0, b - 1.0, censored_kernels.log_beta(a, b)])
        total = 0
        for some in self._read():
            halves = censored_weighted_kernels.weighted_parts(
                *some, curve, self.low, self.high, scale
            )
            total += (int(halves[0]) << censored_weighted_kernels.HALF) + int(halves[1])
        return Fraction(total) / Fraction(scale)

    def rounded(self, phi: Floats, lam: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Clipped sums and numbers of clipped records at points, in floating point."""
        curves = _curves(phi, lam)
        values, clipped = np.zeros(phi.size), np.zeros(phi.size, dtype=np.int64)
        for some in self._read():
            censored_weighted_kernels.weighted_sums(
                *some, curves, self.low, self.high, values, clipped
            )
        return values, clipped

    def bounds(
        self, phi: tuple[Floats, Floats], lam: tuple[Floats, Floats], prior: Floats
    ) -> tuple[Floats, Floats]:
        """Bounds on prior and sum over rectangles, and the sums at their centres and corners."""
        from scipy import special

        middle = 0.5 * (phi[0] + phi[1]), 0.5 * (lam[0] + lam[1])
        a, b = _shapes(*middle)
        centre = _curves(*middle)
        da, db = (special.psi(v) - special.psi(middle[1]) for v in (a, b))
        curves, planes = [centre], []
        for corner in itertools.product(phi, lam):
            u, v = _shapes(*corner)
            curve = _curves(*corner)
            plane = curve.copy()
            plane[:, 2] = centre[:, 2] + da * (u - a) + db * (v - b)
            curves.append(curve)
            planes.append(plane)
        corners = np.stack(curves, 1), np.stack(planes, 1)
        sums = np.zeros((9, a.size))
        for some in self._read():
            censored_weighted_kernels.weighted_bounds(*some, *corners, self.low, self.high, sums)
        (logs, weight), n = self._sizes, self.records.size
        bounds = np.minimum((sums[5:] + prior.T).max(axis=0), n * self.high + prior.max(axis=1))
        size = (lam[1] + 2) * logs + weight * _shape_size(lam[1])
        size += n * (abs(self.low) + abs(self.high))
        return bounds + (2.0**-45 + 2.0**-52 * (1024 + n / 1024)) * size, sums[:5].T.copy()


def _shapes(phi: Any, lam: Any) -> tuple[Any, Any]:
    """The shapes (a, b) of a beta distribution."""
    return lam * phi, lam * (1.0 - phi)


def _curves(phi: Floats, lam: Floats) -> Floats:
    """Coefficients A, B, C of the log densities at points; shape (points, 3)."""
    a, b = _shapes(phi, lam)
    return np.stack([a - 1.0, b - 1.0, censored_kernels.log_betas(a, b)], axis=1)


def _shape_size(lam: Any) -> Any:
    """Upper bound on the size of log Beta's terms."""
    return lam * (1 + np.abs(np.log(lam))) + 64
