"""The families of conjugate releases, each a file of privacy profiles and one of laws."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate import bernoulli as conjugate_bernoulli
from bayesdp.mechanisms.conjugate import bernoulli_outputs as conjugate_bernoulli_outputs
from bayesdp.mechanisms.conjugate import categorical as conjugate_categorical
from bayesdp.mechanisms.conjugate import categorical_outputs as conjugate_categorical_outputs
from bayesdp.mechanisms.conjugate import gaussian as conjugate_gaussian
from bayesdp.mechanisms.conjugate import gaussian_outputs as conjugate_gaussian_outputs

FAMILIES: dict[str, ModuleType] = {
    "bernoulli": conjugate_bernoulli,
    "gaussian": conjugate_gaussian,
    "categorical": conjugate_categorical,
}
"""Each family's privacy: PARAMETERS, METHODS, check, prior_of_strength, least_strength."""

OUTPUTS: dict[str, ModuleType] = {
    "bernoulli": conjugate_bernoulli_outputs,
    "gaussian": conjugate_gaussian_outputs,
    "categorical": conjugate_categorical_outputs,
}
"""Each family's statistic, sampler, law and outputs."""


def named(argument: str, value: Any, table: dict[str, Any]) -> Any:
    """Return the table's row of that name, or raise InvalidInput, which lists the names."""
    if not isinstance(value, str) or value not in table:
        raise InvalidInput(f"{argument} is {quoted(value)}; it must be one of {', '.join(table)}")
    return table[value]
