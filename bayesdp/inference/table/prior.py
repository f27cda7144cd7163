"""The prior of a table's concentrations: its range, as a user gives it and as a fit keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bayesdp.checks import is_number
from bayesdp.engines.latent_records import CONCENTRATION
from bayesdp.errors import InvalidInput, quoted

_ALLOWED = 1e-6, 1e6


def check_concentration(name: str, given: Any) -> tuple[float, float]:
    """Return the least and the largest value of a concentration, or raise InvalidInput."""
    low, high = _ALLOWED
    pair = isinstance(given, list | tuple) and len(given) == 2 and all(map(is_number, given))
    if not pair or not low <= given[0] <= given[1] <= high:
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be the least and the largest value of the prior's "
            f"concentrations, from {low:g} to {high:g}, such as {CONCENTRATION}"
        )
    return float(given[0]), float(given[1])


def concentration_of(attrs: Mapping[str, Any]) -> tuple[float, float]:
    """Read the range of concentrations from a fit's attributes, the usual one if it has none."""
    low, high = json.loads(attrs.get("concentration", json.dumps(CONCENTRATION)))
    return low, high
