"""Names of a study's functions, and the arguments that they take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bayesdp.errors import InvalidInput, quoted

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def named(what: str, things: Any) -> dict[str, Any]:
    """Name synthesizers or analyses, from a mapping or a sequence.

    Raises
    ------
    InvalidInput
        If there are none, or two have the same name.
    """
    if isinstance(things, Mapping):
        by_name = {str(name): thing for name, thing in things.items()}
    elif isinstance(things, str) or not isinstance(things, Iterable):
        raise InvalidInput(f"{what} is a {type(things).__name__}; it must be a list or a mapping")
    else:
        by_name = {}
        for thing in things:
            name = name_of(thing)
            if name in by_name:
                raise InvalidInput(
                    f"{what} has {quoted(name)} twice; tell them apart by names of their own, as "
                    f"{what}={{'first': ..., 'second': ...}}"
                )
            by_name[name] = thing
    if not by_name:
        raise InvalidInput(f"{what} is empty; give at least one")
    return by_name


def name_of(thing: Any) -> str:
    """Name a class or a function, or an instance by its class."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    return str(getattr(thing, "__name__", type(thing).__name__))


def taken(what: str, function: Callable[..., Any], given: int, offered: Iterable[str]) -> list[str]:
    """List which of the offered arguments a function takes, after `given` positional ones.

    Arguments that functools.partial has fixed stay fixed.

    Raises
    ------
    InvalidInput
        If it can't be called, doesn't take the positional arguments, or needs others.
    """
    if not callable(function):
        raise InvalidInput(f"{what} is a {type(function).__name__}, which can't be called")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{what} has no signature to read; wrap it in a function of your own"
        ) from None
    kinds = [parameter.kind for parameter in parameters]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < given and inspect.Parameter.VAR_POSITIONAL not in kinds:
        raise InvalidInput(f"{what} takes no positional argument; it must take {given}")
    fixed = function.keywords if isinstance(function, functools.partial) else {}
    rest = [p for p in parameters if p not in positional[:given] and p.name not in fixed]
    known = {p.name for p in rest if p.kind in _NAMED}
    offered = list(offered)
    for parameter in rest:
        needed = parameter.default is parameter.empty and parameter.kind in (
            *_NAMED,
            parameter.POSITIONAL_ONLY,
        )
        if needed and parameter.name not in offered:
            raise InvalidInput(
                f"{what} needs {quoted(parameter.name)}, which the study doesn't offer; it offers "
                f"{', '.join(offered) or 'nothing else'} (fix others with functools.partial)"
            )
    everything = inspect.Parameter.VAR_KEYWORD in kinds
    return [name for name in offered if name not in fixed and (everything or name in known)]
