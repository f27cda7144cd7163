"""Utilities of candidates, taken exactly as the binary fractions they are."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput


def check_utilities(utilities: Any, k: int) -> NDArray[Any]:
    """Return utilities of k candidates as an array of 64-bit numbers, else raise InvalidInput."""
    u = np.asarray(utilities)
    if u.dtype.kind not in "iuf" or u.ndim == 0 or u.shape[-1] != k:
        raise InvalidInput(
            f"the statistic has type {u.dtype} and shape {u.shape}; it must hold one number, "
            f"a utility, for each of the {k} candidates along its last axis"
        )
    if u.dtype.kind != "f":
        return u
    u = u.astype(np.float64)
    if not np.all(np.isfinite(u)):
        raise InvalidInput(
            "the statistic has utilities that are not finite; leave out a candidate that may "
            "never be chosen, without looking at the data"
        )
    return u


def exponents(utilities: NDArray[Any], rate: Fraction) -> NDArray[np.float64]:
    """Exponents rate * (largest utility - utility), nearly to the last digit; shape (..., k).

    Above 1e300 it is 1e300: exp(-gamma) is 0 there.
    """
    top = utilities.max(axis=-1, keepdims=True)
    if utilities.dtype.kind == "f":
        half = top / 2 - utilities / 2  # the difference itself could overflow
    else:  # modulo 2^64 it is exact, since it is at least 0
        half = (top.astype(np.uint64) - utilities.astype(np.uint64)).astype(np.float64) / 2
    with np.errstate(over="ignore"):
        gamma: NDArray[np.float64] = np.minimum(float(2 * rate) * half, 1e300)
    return gamma


def exact_exponent(utilities: NDArray[Any], candidate: int, rate: Fraction) -> Fraction:
    """Exponent of one candidate, rate * (largest utility - its own), exactly."""
    gap = Fraction(utilities.max().item()) - Fraction(utilities[candidate].item())
    return rate * gap


def chosen_law(output: Any, law: NDArray[np.float64]) -> NDArray[np.float64]:
    """Select log-probabilities, shape (..., k), that outputs point to; -inf elsewhere."""
    z = np.asarray(output)
    k = law.shape[-1]
    inside = (z >= 0) & (z < k) & (z == np.floor(z))
    shape = np.broadcast_shapes(z.shape, law.shape[:-1])
    places = np.broadcast_to(np.where(inside, z, 0).astype(np.int64), shape)
    rows = np.broadcast_to(law, (*shape, k))
    chosen = np.take_along_axis(rows, places[..., None], axis=-1)[..., 0]
    return np.where(inside, chosen, -np.inf)
