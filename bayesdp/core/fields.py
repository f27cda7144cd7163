"""Fields that are declared with their checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

_CHECK = "check"


def declared(check: Callable[[str, Any], Any], *, optional: bool = False, **options: Any) -> Any:
    """Declare a dataclass's field together with its check.

    Parameters
    ----------
    check : callable
        Called with the field's name and value; returns the plain value, or raises InvalidInput
        (`bayesdp.checks` has the usual ones).
    optional : bool
        Whether None passes unchecked.
    **options
        Options of `dataclasses.field`, such as `default`.

    Examples
    --------
    >>> from bayesdp.checks import check_at_least_one
    >>> @dataclasses.dataclass(frozen=True)
    ... class Sized:
    ...     size: int = declared(check_at_least_one)
    ...
    ...     def __post_init__(self) -> None:
    ...         check_declared(self)
    >>> Sized(0)
    Traceback (most recent call last):
        ...
    bayesdp.errors.InvalidInput: size is 0; it must be a whole number, at least 1
    """

    def checked(name: str, value: Any) -> Any:
        return None if optional and value is None else check(name, value)

    return dataclasses.field(metadata={_CHECK: checked}, **options)


def check_declared(made: Any) -> None:
    """Set the fields of a frozen dataclass to what their declared checks return."""
    for field in dataclasses.fields(made):
        if check := field.metadata.get(_CHECK):
            object.__setattr__(made, field.name, check(field.name, getattr(made, field.name)))
