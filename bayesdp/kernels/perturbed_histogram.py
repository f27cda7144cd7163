"""Probabilities of cells that are chosen from noisy histograms, by a double integral.

`bayesdp.mechanisms.selection.histogram_law` has the formulas and their proof, and its names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel, leaf

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

_NOTHING = 1e-18  # mean number of draws in a cell that is as good as empty
_NEGLIGIBLE = 1e-18


class Rule(NamedTuple):
    """Points of the double integral.

    Attributes
    ----------
    z, along : ndarray of complex, shape (points of the circle,)
        Points of the upper half circle, and their weights.
    u, over : ndarray, shape (points of the half line,)
        Points of the half line, and their weights.
    """

    z: Complexes
    along: Complexes
    u: Floats
    over: Floats


@leaf
def _cell(x: complex, other: complex, u: float, s: float, whole: bool) -> tuple[complex, complex]:
    """Return a cell's G and H, the generating functions of e^(-u w) and w e^(-u w), over e^x.

    `other` is e^((a - 1) x), which is the same for all u.
    """
    t = math.exp(-u)
    own = np.exp(math.expm1(-u) * x)
    apart = own - other
    if not whole:
        near, far = s - u, s + u
        g = other / 2 + s / 2 * (apart / near + own / far)
        h = s / 2 * ((t * x * own - apart / near) / near + (t * x + 1 / far) * own / far)
        return g, h
    a, far = math.exp(-s), -math.expm1(-(s + u))
    near = -t * math.expm1(u - s) if u < s else a * math.expm1(s - u)  # t - a
    share = -math.expm1(-s) / (1 + a)
    g = other / (1 + a) + share * t * (apart / near + a / far * own)
    h = (apart * (1 - t / near) + t * x * own) / near + a * own * (1 / far + t * x) / far
    return g, share * t * h


@kernel
def chosen(chances: Floats, rule: Rule, s: float, whole: bool) -> Floats:
    """Integrate the probability of each cell, but for that of histograms without a positive count.

    Parameters
    ----------
    chances : ndarray, shape (rows, cells)
        Probabilities of a draw's cells.
    rule : Rule
    s : float
        1 over the noise's scale.
    whole : bool
        Whether the noise is of whole numbers.

    Returns
    -------
    ndarray, shape (rows, cells)
    """
    rows, cells = chances.shape
    found, full = np.zeros((rows, cells)), np.empty(cells, dtype=np.int64)
    others = np.empty((rule.z.size, cells), dtype=np.complex128)
    ratio = np.empty(cells, dtype=np.complex128)
    for i in range(rows):
        several = 0
        for c in range(cells):
            if chances[i, c] * abs(rule.z[0]) > _NOTHING:
                full[several] = c
                others[:, several] = np.exp(math.expm1(-s) * chances[i, c] * rule.z)
                several += 1
        rest = 0.0  # of each cell that is as good as empty
        for v in range(rule.u.size):
            u = rule.u[v]
            g_empty, h_empty = _cell(0j, 1 + 0j, u, s, whole)
            weight = rule.over[v] * g_empty.real ** (cells - several)
            ratio_empty = (h_empty / g_empty).real
            for k in range(rule.z.size):
                product = weight * rule.along[k]
                for c in range(several):
                    g, h = _cell(chances[i, full[c]] * rule.z[k], others[k, c], u, s, whole)
                    product *= g
                    ratio[c] = h / g if g != 0 else 0j  # both underflow together
                largest = abs(ratio_empty)
                for c in range(several):
                    found[i, full[c]] += (product * ratio[c]).real
                    largest = max(largest, abs(ratio[c]))
                rest += product.real * ratio_empty
                if k == 0 and abs(product) * largest < _NEGLIGIBLE:
                    break  # as |G| is largest where z is positive
        for c in range(cells):
            if chances[i, c] * abs(rule.z[0]) <= _NOTHING:
                found[i, c] = rest
    return found
