"""Exact beta-binomial draws by Polya's urn, in integer arithmetic."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import uniform_below

_BLOCK = 1 << 15  # balls drawn at once, to bound memory
_WORD_BITS = 63  # numbers that fit are drawn as 64-bit integers, others as Python's


def polya_urn(
    ones: NDArray[Any], zeros: NDArray[Any], prior: tuple[float, float], size: int
) -> NDArray[np.int64]:
    """Draw BetaBinomial(size, prior[0] + ones, prior[1] + zeros), exactly.

    An urn starts with a = prior[0] + ones units of one colour and b = prior[1] + zeros of
    the other; each of `size` draws returns its ball with one unit more of its colour. The
    number of draws of the first colour is beta-binomial (Johnson and Kotz 1977). A float
    is a fraction with a power of two below, so everything is counted in units of 1 / s for
    one power of two s, and draw i picks a uniform integer below s (a + b + i): no
    probability is ever rounded.

    A pick below s a or s (a + b) is an original ball and settles its colour; any other is a
    unit that draw j < i has put in, and takes the colour of j. So all picks of a block of
    draws are made at once, and then these references are followed in rounds, each of which
    doubles the length of the path followed.

    Parameters
    ----------
    ones, zeros : ndarray of int, one shape
        The confidential counts.
    prior : tuple of two floats
        Positive; taken exactly as the binary fractions they are.
    size : int
        Draws per urn.

    Returns
    -------
    ndarray of int64, shape of `ones`
    """
    a, b = (Fraction(value) for value in prior)
    scale = max(a.denominator, b.denominator)
    flat_ones, flat_zeros = ones.ravel(), zeros.ravel()
    most = int(flat_ones.max(initial=0)) + int(flat_zeros.max(initial=0))
    fits = scale * (a + b + most + size) < 1 << _WORD_BITS
    dtype: Any = np.uint64 if fits else np.object_
    step = max(1, _BLOCK // size)
    drawn = np.empty(flat_ones.size, dtype=np.int64)
    for start in range(0, flat_ones.size, step):
        urns = slice(start, start + step)
        first = _units(flat_ones[urns], a, scale, dtype)
        second = _units(flat_zeros[urns], b, scale, dtype)
        drawn[urns] = _draw(first, first + second, scale, size)
    return drawn.reshape(ones.shape)


def _units(counts: NDArray[Any], extra: Fraction, scale: int, dtype: Any) -> NDArray[Any]:
    """scale * (counts + extra), an integer since `scale` clears the fraction."""
    start = extra.numerator * (scale // extra.denominator)
    if dtype is np.uint64:
        return np.asarray(counts.astype(np.uint64) * np.uint64(scale) + np.uint64(start))
    return np.asarray(counts.astype(np.object_) * scale + start)


def _draw(first: NDArray[Any], original: NDArray[Any], scale: int, size: int) -> NDArray[np.int64]:
    """Number of draws of the first colour in each urn; arguments in units, shape (urns,)."""
    is_first = np.empty((first.size, size), dtype=bool)
    width = max(1, _BLOCK // first.size)
    for start in range(0, size, width):
        _draw_block(is_first, first[:, None], original[:, None], scale, start, start + width)
    return np.asarray(is_first.sum(axis=1, dtype=np.int64))


def _draw_block(
    is_first: NDArray[np.bool_],
    first: NDArray[Any],
    original: NDArray[Any],
    scale: int,
    start: int,
    stop: int,
) -> None:
    """Settle draws start..stop of every urn, given those before."""
    block = is_first[:, start:stop]
    unit: Any = np.uint64(scale) if original.dtype == np.uint64 else scale
    index: NDArray[Any] = np.arange(start, start + block.shape[1]).astype(original.dtype)
    bounds = original + index * unit
    picks = uniform_below(bounds.ravel()).reshape(bounds.shape)
    is_original = (picks < original).astype(bool)
    draw = ((np.where(is_original, original, picks) - original) // unit).astype(np.int64)
    before = np.take_along_axis(is_first, np.where(draw < start, draw, 0), axis=1)
    colour = np.where(is_original, (picks < first).astype(bool), before)
    # Where a reference stays inside the block, follow it; a settled draw refers to itself.
    own = np.arange(block.size).reshape(block.shape)
    inside = ~is_original & (draw >= start)
    parent = np.where(inside, own[:, :1] + draw - start, own).ravel()
    while not np.array_equal(grandparent := parent[parent], parent):
        parent = grandparent
    block[:] = colour.ravel()[parent].reshape(block.shape)
