"""Exact beta-binomial and Dirichlet-multinomial draws by Polya's urn, in integer arithmetic."""

from collections.abc import Sequence
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
    """Draw BetaBinomial(size, prior[0] + ones, prior[1] + zeros), exactly: two colours.

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
    return polya_urns(np.stack([ones, zeros], axis=-1), prior, size)[..., 0]


def polya_urns(counts: NDArray[Any], prior: Sequence[float], size: int) -> NDArray[np.int64]:
    """Draw DirichletMultinomial(size, prior + counts), exactly: one colour for each category.

    An urn starts with prior[i] + counts[i] units of colour i, T in all; each of `size` draws
    returns its ball with one unit more of its colour. The numbers of draws of the colours are
    Dirichlet-multinomial, beta-binomial for two (Johnson and Kotz 1977). A float is a fraction
    whose denominator is a power of two, so everything is counted in units of 1 / s for one power of
    two s, and draw t picks a uniform integer below s (T + t): no probability is ever rounded.

    A pick below s T is an original ball and settles its colour; any other is a unit added by some
    draw j < t, and takes its colour. So all picks of a block of draws are made at once, and then
    these references are followed in rounds, each of which doubles the length of the path followed.

    Parameters
    ----------
    counts : ndarray of int, shape (..., k)
        The confidential counts.
    prior : sequence of k floats
        Positive; taken exactly as the binary fractions they are.
    size : int
        Draws per urn.

    Returns
    -------
    ndarray of int64, shape of `counts`, each row with sum `size`
    """
    flat = counts.reshape(-1, counts.shape[-1])
    drawn = np.empty(flat.shape, dtype=np.int64)
    step = max(1, _BLOCK // size)
    edges, scale = scaled_edges(flat, [Fraction(value) for value in prior], room=size)
    for start in range(0, len(flat), step):
        urns = slice(start, start + step)
        drawn[urns] = _draw(edges[urns], scale, size)
    return drawn.reshape(counts.shape)


def polya_sequences(counts: NDArray[Any], prior: Sequence[float], size: int) -> NDArray[Any]:
    """Draw the colours of urns' draws, in their order, exactly; see `polya_urns`.

    The first draws of an urn have the law of an urn that is drawn from so often.

    Parameters
    ----------
    counts : ndarray of int, shape (urns, k)
        The confidential counts.
    prior : sequence of k floats
        Positive; taken exactly as the binary fractions they are.
    size : int
        Draws per urn.

    Returns
    -------
    ndarray of int, shape (urns, size)
    """
    edges, scale = scaled_edges(counts, [Fraction(value) for value in prior], room=size)
    return _colours(edges, scale, size)


def scaled_edges(
    counts: NDArray[Any], prior: Sequence[Fraction], room: int = 0
) -> tuple[NDArray[Any], int]:
    """Cumulative sums of max(0, prior + counts), in integer units, and the units in one.

    The sums have the shape of `counts` and run along the last axis. They are 64-bit integers where
    the last, with `room` added, fits; else Python's.
    """
    scale = max(value.denominator for value in prior)
    most = int(counts.sum(axis=-1).max(initial=0))
    fits = scale * (sum(map(abs, prior)) + most + room) < 1 << _WORD_BITS
    dtype: Any = np.int64 if fits else np.object_
    start = [value.numerator * (scale // value.denominator) for value in prior]
    units = counts.astype(dtype) * np.asarray(scale, dtype) + np.array(start, dtype)
    edges = np.cumsum(np.maximum(units, 0), axis=-1, dtype=dtype)
    return edges.astype(np.uint64) if fits else edges, scale


def colour_of(picks: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Find the category in whose units each pick lies; the last, for those beyond all.

    Parameters
    ----------
    picks : ndarray, shape (rows, draws)
    edges : ndarray, shape (rows, k)
        Cumulative sums, as from `scaled_edges`.
    """
    kind = np.min_scalar_type(edges.shape[-1] - 1)
    colour = np.asarray(picks >= edges[:, :1]).astype(kind)
    for j in range(1, edges.shape[-1] - 1):
        colour += np.asarray(picks >= edges[:, j, None]).astype(kind)
    return colour


def colour_counts(colours: NDArray[Any], categories: int) -> NDArray[np.int64]:
    """Count each row's elements of each category, shape (rows, categories)."""
    counts = np.empty((len(colours), categories), dtype=np.int64)
    for j in range(1, categories):
        counts[:, j] = np.count_nonzero(colours == j, axis=1)
    counts[:, 0] = colours.shape[1] - counts[:, 1:].sum(axis=1)
    return counts


def _draw(edges: NDArray[Any], scale: int, size: int) -> NDArray[np.int64]:
    """Draw numbers of each colour in each urn; edges in units, shape (urns, k)."""
    return colour_counts(_colours(edges, scale, size), edges.shape[1])


def _colours(edges: NDArray[Any], scale: int, size: int) -> NDArray[Any]:
    """Draw the colours of each urn, shape (urns, size)."""
    urns, categories = edges.shape
    colours = np.empty((urns, size), dtype=np.min_scalar_type(categories - 1))
    width = max(1, _BLOCK // urns)
    for start in range(0, size, width):
        _draw_block(colours, edges, scale, start, start + width)
    return colours


def _draw_block(
    colours: NDArray[Any], edges: NDArray[Any], scale: int, start: int, stop: int
) -> None:
    """Settle draws start..stop of every urn, given those before."""
    block = colours[:, start:stop]
    original = edges[:, -1:]
    unit: Any = np.uint64(scale) if original.dtype == np.uint64 else scale
    index: NDArray[Any] = np.arange(start, start + block.shape[1]).astype(original.dtype)
    bounds = original + index * unit
    picks = uniform_below(bounds.ravel()).reshape(bounds.shape)
    is_original = (picks < original).astype(bool)
    draw = ((np.where(is_original, original, picks) - original) // unit).astype(np.int64)
    before = np.take_along_axis(colours, np.where(draw < start, draw, 0), axis=1)
    colour = np.where(is_original, colour_of(picks, edges), before)
    # Where a reference stays inside the block, follow it; a settled draw refers to itself.
    own = np.arange(block.size).reshape(block.shape)
    inside = ~is_original & (draw >= start)
    parent = np.where(inside, own[:, :1] + draw - start, own).ravel()
    while not np.array_equal(grandparent := parent[parent], parent):
        parent = grandparent
    block[:] = colour.ravel()[parent].reshape(block.shape)
