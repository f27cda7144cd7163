"""Registry of the families of conjugate releases: a module of profiles and one of laws each."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.registry import Lazy

METHODS = ("parameter_map", "parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")
"""Names of what is released."""
_HOME = "bayesdp.mechanisms.conjugate"

_NAMES = ("bernoulli", "gaussian", "categorical", "gamma", "multivariate_gaussian")
FAMILIES = Lazy(_HOME, {name: name for name in _NAMES})
"""Each family's privacy.

The function of each of `METHODS`, which returns its profile; PARAMETERS and WHOLE (whether
synthetic records are counted, and drawn in integers); check, records_are, prior_of_strength,
least_strength, components (of the mode), map_sensitivity, largest_mode, mode_bounds and together.
"""

OUTPUTS = Lazy(_HOME, {name: f"{name}_outputs" for name in FAMILIES})
"""Each family's statistic, sampler, law and outputs."""


def check_named(argument: str, value: Any, names: Collection[str]) -> None:
    """Raise InvalidInput, which lists the names, unless the value is one of them."""
    if not isinstance(value, str) or value not in names:
        raise InvalidInput(f"{argument} is {quoted(value)}; it must be one of {', '.join(names)}")
