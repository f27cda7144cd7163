"""New confidential statistics that a model predicts, and from which a mechanism draws outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.inference.sizes import said_of
from bayesdp.release import Part

Theta = Mapping[str, Any]
Rng = np.random.Generator
Statistic = Callable[[Theta, Rng], Any]
"""A function of one draw of the parameters and a generator: a statistic for the mechanism."""


def known_size(part: Part, n: Any) -> int:
    """Return the number of records, which the release says, or a model, whose field is n.

    Raises
    ------
    InvalidInput
        If the model has a prior on it, or says nothing of it.
    """
    if part.mechanism.n is not None:
        return int(part.mechanism.n)
    sizes = said_of(n, [part])
    if sizes is None or len(sizes) > 1:
        raise InvalidInput(
            "n is confidential in this release, and a posterior has no draws of it; outputs can't "
            "be predicted, unless the model knows n"
        )
    return sizes[0][0]
