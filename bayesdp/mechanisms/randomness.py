"""Source of the randomness of releases: secure, or seeded for tests and studies.

A release draws from the operating system's cryptographically secure generator and
takes no seed: whoever knows the seed can undo the noise. For tests, and for studies
on public or simulated data, `reproducible(seed)` replaces it by a seeded generator,
and every release made inside is marked and carries no guarantee.

What the generator does to a promise
------------------------------------
A proof of (epsilon, delta) speaks of truly random bits. The bits drawn here are those of a
cryptographic generator: the operating system's own, or ChaCha with 20 rounds and a fresh
256-bit key from the operating system for what numpy draws. If no efficient test tells them
from random ones, no efficient test tells a release from one made of random bits, and that
one is (epsilon, delta)-DP: the release is computationally private by simulation, SIM-CDP in the
sense of Mironov, Pandey, Reingold and Vadhan (2009; Groce 2014, Definition 4.3). Every
guarantee of this package says so, in `COMPUTATIONAL`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted

COMPUTATIONAL = (
    "Computational (SIM-CDP): the promise holds against whoever can't tell the operating system's "
    "cryptographic random generator from true randomness."
)
"""The assumption that every guarantee of a release drawn by a computer rests on."""

_seeded: ContextVar[np.random.Generator | None] = ContextVar("bayesdp_seeded", default=None)


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Draw releases from a seeded generator while the block runs.

    Releases made inside are the same for the same seed, are marked `reproducible`
    in their manifest, and promise nothing. For tests and for studies on public or
    simulated data; never for confidential data.

    Parameters
    ----------
    seed : int
        A non-negative integer.

    Raises
    ------
    InvalidInput
        If `seed` is not a non-negative integer.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> with bdp.reproducible(1):
    ...     release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1] * 50)
    >>> release.reproducible
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed is {quoted(seed)}; it must be a non-negative integer")
    token = _seeded.set(np.random.default_rng(int(seed)))
    try:
        yield
    finally:
        _seeded.reset(token)


def is_reproducible() -> bool:
    """Return True if releases made now are seeded, and so promise nothing."""
    return _seeded.get() is not None


def generator() -> np.random.Generator:
    """Make a cryptographically secure generator for what numpy draws, freshly keyed.

    ChaCha with 20 rounds and 256 bits of the operating system's randomness as its key, a new
    one at every call, so that a fork or a thread never repeats another's numbers. Under
    `reproducible`, the seeded generator.
    """
    seeded = _seeded.get()
    if seeded is not None:
        return seeded
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=int.from_bytes(os.urandom(32), "little"), rounds=20))


def generator_of(seed: int | None) -> np.random.Generator:
    """Make a generator with this seed, or a secure one if None, for draws that cost no privacy."""
    with nullcontext() if seed is None else reproducible(seed):
        return generator()


def separate_generator() -> np.random.Generator:
    """Make a generator that shares its numbers with no other, also under `reproducible`.

    For code that draws from several generators at once.
    """
    source = generator()
    if is_reproducible():
        return np.random.default_rng(source.integers(2**63, size=4))
    return source


def random_words(count: int) -> NDArray[np.uint64]:
    """Draw `count` independent uniform 64-bit words, shape (count,)."""
    generator = _seeded.get()
    raw = os.urandom(8 * count) if generator is None else generator.bytes(8 * count)
    return np.frombuffer(raw, dtype=np.uint64)


def uniform_below(bounds: NDArray[Any]) -> NDArray[Any]:
    """Draw independent uniform integers exactly, element i on {0, ..., bounds[i] - 1}.

    Words are rejected above the largest multiple of the bound, so no value is
    favoured: integer arithmetic throughout, no rounding.

    Parameters
    ----------
    bounds : ndarray of uint64 or of Python int (dtype object), shape (k,)
        Positive. Python integers have no size limit and cost more.

    Returns
    -------
    ndarray, shape (k,), dtype of `bounds`
    """
    values = np.empty_like(bounds)
    pending = np.arange(bounds.size)
    words: NDArray[Any]
    while pending.size:
        todo = bounds[pending]
        if bounds.dtype == np.uint64:
            words = random_words(pending.size)
            # 2^64 mod b, computed without leaving 64 bits.
            remainder = (np.uint64(0) - todo) % todo
            accepted = words <= np.uint64(2**64 - 1) - remainder
        else:
            limbs = (int(todo.max()).bit_length() + 63) // 64 + 1
            words = _wide_words(pending.size, limbs)
            top = 1 << (64 * limbs)
            accepted = (words < top - top % todo).astype(bool)
        values[pending[accepted]] = words[accepted] % todo[accepted]
        pending = pending[~accepted]
    return values


def _wide_words(count: int, limbs: int) -> NDArray[Any]:
    """Draw `count` uniform words of 64 * limbs bits, as Python ints."""
    raw = random_words(limbs * count).astype(object).reshape(count, limbs)
    words = raw[:, 0]
    for k in range(1, limbs):
        words = words * (1 << 64) + raw[:, k]
    return words
