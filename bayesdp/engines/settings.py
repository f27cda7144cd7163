"""Settings of NUTS that a fit passes to the engines "pymc" and "stan", and their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayesdp.checks import check_at_least_one, check_numbers, check_one_of, check_share
from bayesdp.errors import InvalidInput, kind_of, quoted

SAMPLERS = ("nutpie", "pymc", "numpyro", "blackjax")
ADAPTED = ("diag", "low_rank")
METRICS = ("diag_e", "dense_e", "unit_e")


def check_start(name: str, value: Any) -> dict[str, Any]:
    """Return starting values of parameters, numbers by name, as lists; else raise InvalidInput."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(
            f"{name} is {kind_of(value)}; it must map names of parameters to numbers"
        )
    return {
        key: check_numbers(f"{name}[{quoted(key)}]", start).tolist() for key, start in value.items()
    }


def check_starts(name: str, value: Any) -> list[dict[str, Any]] | dict[str, Any]:
    """Return starting values of all chains, or a list of those of each."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [check_start(f"{name}[{k}]", each) for k, each in enumerate(value)]
    return check_start(name, value)


def check_parameters(name: str, start: Mapping[str, Any], parameters: Sequence[str]) -> None:
    """Raise InvalidInput if starting values are of what isn't a parameter."""
    if unknown := [each for each in start if each not in parameters]:
        raise InvalidInput(
            f"{name} has {quoted(unknown[0])}, which is no parameter of this model; it has "
            f"{', '.join(parameters)}"
        )


def _one_of(allowed: Sequence[str]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        check_one_of(name, value, allowed)
        return str(value)

    return check


SETTINGS: Mapping[str, Mapping[str, Callable[[str, Any], Any]]] = {
    "pymc": {
        "sampler": _one_of(SAMPLERS),
        "target_accept": check_share,
        "max_treedepth": check_at_least_one,
        "metric": _one_of(ADAPTED),
        "initvals": check_start,
        "cores": check_at_least_one,
    },
    "stan": {
        "adapt_delta": check_share,
        "max_treedepth": check_at_least_one,
        "metric": _one_of(METRICS),
        "inits": check_starts,
        "thin": check_at_least_one,
        "parallel_chains": check_at_least_one,
        "threads_per_chain": check_at_least_one,
    },
}
"""Checks of each engine's settings; `pymc.sampling.sample` and `stan.sampling.sample` say what they
are."""


def known_settings(engines: Sequence[str]) -> dict[str, list[str]]:
    """Names of the settings of each of these engines that has any."""
    return {engine: [*SETTINGS[engine]] for engine in engines if engine in SETTINGS}


def check_settings(engine: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked settings of the engine that draws.

    Raises
    ------
    InvalidInput
        If a setting is out of range or is another engine's.
    """
    own = SETTINGS.get(engine, {})
    if others := [name for name in given if name not in own]:
        able = [repr(each) for each, theirs in SETTINGS.items() if others[0] in theirs]
        takes = f"takes {', '.join(own)}" if own else "takes no such settings"
        raise InvalidInput(
            f"{others[0]} is a setting of engine={' and '.join(able)}, but engine={quoted(engine)} "
            f"draws here and {takes}; ask for that engine, or leave {others[0]} out"
        )
    return {name: own[name](name, value) for name, value in given.items()}
