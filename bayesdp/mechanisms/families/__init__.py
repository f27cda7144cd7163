"""Families of models that confidential records are synthesized from.

Each is a frozen dataclass with its priors and the public bounds of its records, and knows its
sufficient statistic, what one record can move of it, and how a copy follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.families.base import Family, Number, Sums
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.linear_regression import LinearRegression

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Categorical",
    "Family",
    "Gaussian",
    "LinearRegression",
    "Number",
    "Sums",
    "check_family",
]

FAMILIES: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "gaussian": Gaussian,
    "linear_regression": LinearRegression,
}
"""By the name that a manifest calls them."""


def check_family(family: Any) -> Family:
    """Return the family, from itself or from the mapping that a manifest holds.

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
    """Return the families, as `check_family` takes each; a message shows none of them."""
    return tuple(_checked(each, kind_of(each)) for each in given)


def _checked(family: Any, shown: str) -> Family:
    if type(family) in FAMILIES.values():
        known: Family = family
        return known
    if not isinstance(family, Mapping) or family.get("kind") not in FAMILIES:
        raise InvalidInput(
            f"family is {shown}; it must be one of bdp.families, for example "
            f"bdp.families.Bernoulli(); there are {', '.join(sorted(FAMILIES))}"
        )
    parameters = {name: value for name, value in family.items() if name != "kind"}
    try:
        made: Family = FAMILIES[family["kind"]](**parameters)
    except TypeError as error:
        raise InvalidInput(f"family {quoted(family['kind'])}: {error}") from error
    return made
