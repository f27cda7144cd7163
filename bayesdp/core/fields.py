"""Fields that are declared with their checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from bayesdp.errors import InvalidInput, quoted

_CHECK = "check"
_LATER = "later"
WRITTEN = "written"
"""Key in a field's metadata of a function of its value, which isn't plain, that returns what a
manifest has."""


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


def later(default: Any) -> Any:
    """Declare a mechanism's field that releases written before it was there don't have.

    It is in a manifest only where it isn't the default, by which older releases were drawn.
    """
    return dataclasses.field(default=default, metadata={_LATER: True})


def written(made: Any) -> dict[str, Any]:
    """Return a mechanism's parameters as a manifest has them, by name."""
    return {
        field.name: write(getattr(made, field.name))
        if (write := field.metadata.get(WRITTEN))
        else value
        for field, value in zip(
            dataclasses.fields(made), dataclasses.asdict(made).values(), strict=True
        )
        if not (field.metadata.get(_LATER) and value == field.default)
    }


def is_later(field: dataclasses.Field[Any]) -> bool:
    """Return True for a field that a manifest may lack."""
    return bool(field.metadata.get(_LATER))


def of_table(kind: type[Any]) -> Callable[[str, Any], Any]:
    """Make a check that takes an instance of a dataclass, or a table of its fields, as in a file.

    Parameters
    ----------
    kind : type
        The dataclass, whose own checks are of the values.
    """

    def check(name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        known = [field.name for field in dataclasses.fields(kind) if field.init]
        if not isinstance(value, Mapping):
            raise InvalidInput(
                f"{name} is {quoted(value)}; it must be a {kind.__name__}, or a table of "
                f"{', '.join(known)}"
            )
        if unknown := [key for key in value if key not in known]:
            raise InvalidInput(
                f"{name} has {quoted(unknown[0])}; a {kind.__name__} has {', '.join(known)}"
            )
        try:
            return kind(**value)
        except TypeError as error:
            raise InvalidInput(f"{name} lacks one of {', '.join(known)}") from error

    return check


def check_declared(made: Any) -> None:
    """Set the fields of a frozen dataclass to what their declared checks return."""
    for field in dataclasses.fields(made):
        if check := field.metadata.get(_CHECK):
            object.__setattr__(made, field.name, check(field.name, getattr(made, field.name)))
