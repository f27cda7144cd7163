"""Draws of synthetic records in (0, 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.randomness import generator


def draw(phi: Any, lam: Any, size: int) -> NDArray[np.float64]:
    """Draw `size` sorted Beta(lambda phi, lambda (1 - phi)) records per copy; (copies, size).

    Records that the sampler rounds to 0 or 1 are moved to 2^-1022 or 1 - 2^-53.
    """
    phi, lam = np.reshape(phi, (-1, 1)), np.reshape(lam, (-1, 1))
    records = generator().beta(lam * phi, lam * (1 - phi), size=(phi.size, size))
    return np.sort(np.clip(records, 2.0**-1022, 1 - 2.0**-53), axis=1)
