"""Laws of synthetic normal records, given the statistic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

if TYPE_CHECKING:
    from bayesdp.mechanisms.families.gaussian import Gaussian
    from bayesdp.mechanisms.modips_sbs import ModipsSBS

Floats = NDArray[np.float64]


def gaussian_law(family: Gaussian, output: Any, statistic: Any, mechanism: ModipsSBS) -> Floats:
    """Not known."""
    raise InvalidInput(
        "the law of these synthetic records isn't known; analyse each copy as data and combine the "
        "results with bdp.combine, whose caveats then hold"
    )
