"""New confidential statistics that a model predicts, and from which a mechanism draws outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.release import Part

Theta = Mapping[str, Any]
Rng = np.random.Generator
Statistic = Callable[[Theta, Rng], Any]
"""A function of one draw of the parameters and a generator: a statistic for the mechanism."""


def known_size(part: Part, sizes: Sequence[tuple[int, float]] | None) -> int:
    """Return the number of records, which the release says, or a model that has one alone.

    Raises
    ------
    InvalidInput
        If there are several `sizes`, or none.
    """
    if part.mechanism.n is not None:
        return int(part.mechanism.n)
    if sizes is None or len(sizes) > 1:
        raise InvalidInput(
            "n is confidential in this release, and a posterior has no draws of it; outputs can't "
            "be predicted, unless the model knows n"
        )
    return sizes[0][0]
