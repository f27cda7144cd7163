"""Draws of synthetic records in (0, 1), or between other bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import generator


def draw(
    phi: Any, lam: Any, size: int, bounds: tuple[float, float] = (0.0, 1.0)
) -> NDArray[np.float64]:
    """Draw `size` sorted Beta(lambda phi, lambda (1 - phi)) records per copy; (copies, size).

    Records that the sampler rounds to 0 or 1 are moved to 2^-1022 or 1 - 2^-53. Then all are
    rescaled to the bounds, and none is rounded to an end of them.
    """
    phi, lam = np.reshape(phi, (-1, 1)), np.reshape(lam, (-1, 1))
    records = generator().beta(lam * phi, lam * (1 - phi), size=(phi.size, size))
    low, high = bounds
    rescaled = low + (high - low) * np.clip(records, 2.0**-1022, 1 - 2.0**-53)
    ends = math.nextafter(low, high), math.nextafter(high, low)
    return np.sort(np.clip(rescaled, *ends), axis=1)


def rescaled(records: Any, bounds: tuple[float, float]) -> Any:
    """Rescale confidential records from their public bounds to (0, 1), each by itself."""
    if bounds == (0.0, 1.0):
        return records
    values = np.ma.asarray(records) if np.ma.isMaskedArray(records) else np.asarray(records)
    if values.dtype.kind not in "fiub":
        return records  # which whoever reads them refuses
    low, high = bounds
    return (values.astype(np.float64) - low) / (high - low)
