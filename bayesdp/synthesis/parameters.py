"""Checks of the parameters that synthesizers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.guarantee import check_epsilon


def by_value(check: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Turn a check of a value alone into one of a declared field's name and value."""
    return lambda _, value: check(value)


def check_cost(epsilon: Any, prior: Any) -> float | None:
    """Return the total privacy cost, or None where a prior is given instead."""
    if epsilon is None and prior is None:
        raise InvalidInput("epsilon is missing; give the total privacy cost, or else a prior")
    return None if epsilon is None else check_epsilon(epsilon)


def check_size(size: Any, public_n: Any) -> int | None:
    """Return a copy's size, or None where it is the public n; else raise InvalidInput."""
    check_flag("public_n", public_n)
    if size is not None:
        return check_at_least_one("size", size)
    if not public_n:
        raise InvalidInput("size is missing; where n is confidential, choose a public size")
    return None


def check_known(n: Any, public_n: bool) -> None:
    """Raise InvalidInput unless n is given where it is public, and only there."""
    if (n is None) == public_n:
        raise InvalidInput(
            f"n is {quoted(n)} and public_n is {public_n}; give n where it is public, and only "
            "there"
        )


def check_outside(name: str, outside: Any) -> Any:
    """Return how records outside the bounds are treated, or raise InvalidInput."""
    if outside not in ("refuse", "clamp"):
        raise InvalidInput(f"{name} is {quoted(outside)}; it must be 'refuse' or 'clamp'")
    return outside
