"""The family that an argument or a manifest names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.families.base import Family
from bayesdp.registry import Lazy

FAMILIES = Lazy(
    "bayesdp.mechanisms.families",
    {
        "bernoulli": "bernoulli:Bernoulli",
        "categorical": "categorical:Categorical",
        "gamma": "gamma:Gamma",
        "gaussian": "gaussian:Gaussian",
        "linear_regression": "linear_regression:LinearRegression",
    },
)
"""By the name that a manifest calls them."""


def check_family(family: Any) -> Family:
    """Return the family given, or make it from the mapping that a manifest holds.

    Parameters
    ----------
    family : Family, or mapping with its name as "kind"

    Raises
    ------
    InvalidInput
        If it is neither, or there is no such family, or a parameter is out of its range.
    """
    return _checked(family, quoted(family))


def check_families(given: Iterable[Any]) -> tuple[Family, ...]:
    """Return the families, each checked by `check_family`; no message shows them."""
    return tuple(_checked(each, kind_of(each)) for each in given)


def _checked(family: Any, shown: str) -> Family:
    own = getattr(family, "kind", None)
    if isinstance(own, str) and type(family) is FAMILIES.get(own):
        known: Family = family
        return known
    kind = family.get("kind") if isinstance(family, Mapping) else None
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise InvalidInput(
            f"family is {shown}; it must be one of bdp.families, for example "
            'bdp.families.Bernoulli(), or in a file { kind = "bernoulli" }; there are '
            f"{', '.join(sorted(FAMILIES))}"
        )
    parameters = {name: value for name, value in family.items() if name != "kind"}
    try:
        made: Family = FAMILIES[kind](**parameters)
    except TypeError as error:
        raise InvalidInput(f"family {quoted(kind)}: {error}") from error
    return made
