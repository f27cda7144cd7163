"""New confidential statistics that a model predicts, and from which a mechanism draws outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.release import Part

Theta = Mapping[str, Any]
Rng = np.random.Generator
Statistic = Callable[[Theta, Rng], Any]
"""A function of one draw of the parameters and a generator: a statistic for the mechanism."""


def known_size(part: Part) -> int:
    """Return the number of records, or raise InvalidInput where the release doesn't say it."""
    if part.mechanism.n is None:
        raise InvalidInput(
            "n is confidential in this release, and a posterior has no draws of it; outputs can't "
            "be predicted"
        )
    return int(part.mechanism.n)
