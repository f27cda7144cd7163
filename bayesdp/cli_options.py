"""What the command line's options say, as Python values."""

from __future__ import annotations

from typing import Any

from bayesdp.errors import InvalidInput


def pair(name: str, text: str) -> tuple[float, float]:
    """Two numbers, from text such as 1,1."""
    found = numbers(name, text)
    if len(found) != 2:
        raise InvalidInput(f"{name} is {text!r}; it must be two numbers, as 1,1")
    return found[0], found[1]


def numbers(name: str, text: str) -> tuple[float, ...]:
    """Numbers, from text such as 0,0.01,2,1."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidInput(f"{name} is {text!r}; it must be numbers, as 1,1") from error


def sizes(text: str) -> range | int:
    """A size, from text such as 500; or a range of them, from 500:1500."""
    try:
        low, *high = (int(part) for part in text.split(":"))
    except ValueError:
        low, high = 0, [0, 0]
    if len(high) > 1:
        raise InvalidInput(f"n is {text!r}; it must be one or two whole numbers, as 500:1500")
    return range(low, high[0] + 1) if high else low


def parameters(lines: list[str]) -> dict[str, Any]:
    """Parameters of a model, from lines of TOML."""
    import tomllib

    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"set is {lines!r}; each must be a line of TOML: {error}") from error


def groups(text: str, labels: Any) -> list[Any]:
    """The listed labels, in the type of the column they are compared with."""
    if labels is None:
        raise InvalidInput("groups is given, but by is not: name the column of groups")
    import pandas as pd

    try:
        return list(pd.Series(text.split(",")).astype(labels.dtype))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"groups is {text!r}; the column of groups has another type") from error
