"""Registry of the families of conjugate releases: a module of profiles and one of laws each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.registry import Lazy

_HOME = "bayesdp.mechanisms.conjugate"

FAMILIES = Lazy(_HOME, {name: name for name in ("bernoulli", "gaussian", "categorical", "gamma")})
"""Each family's privacy.

PARAMETERS, METHODS and WHOLE (whether synthetic records are counted, and drawn in integers); check,
records_are, prior_of_strength, least_strength, map_sensitivity, largest_mode, mode_bounds and
together.
"""

OUTPUTS = Lazy(_HOME, {name: f"{name}_outputs" for name in FAMILIES})
"""Each family's statistic, sampler, law and outputs."""


def named(argument: str, value: Any, table: Mapping[str, Any]) -> Any:
    """Return the table's row of that name, or raise InvalidInput, which lists the names."""
    if not isinstance(value, str) or value not in table:
        raise InvalidInput(f"{argument} is {quoted(value)}; it must be one of {', '.join(table)}")
    return table[value]
