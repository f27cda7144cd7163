"""Secrets: private parts of data, and the data left without their owner's part; see `worlds`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least, check_at_least_one
from bayesdp.errors import InvalidInput, kind_of, quoted


@dataclass(frozen=True)
class Secret:
    """A secret: what is private in the data, and what is left where its owner took no part.

    Attributes
    ----------
    alt, priv : callable
        Functions of the data, with hashable values: what is left of the data without their
        owner's part, and what is private.
    """

    alt: Callable[[Any], Hashable]
    priv: Callable[[Any], Hashable]


def records(n: int) -> list[Secret]:
    """Secrets of distributional privacy: each of n records, with None in its place.

    Parameters
    ----------
    n : int
        Number of records; other data are refused, as some would go unprotected.
    """
    n = check_at_least_one("n", n)
    return [_of(n, _without([i]), _value_at(i)) for i in range(n)]


def attributes(n: int, private: Sequence[int]) -> list[Secret]:
    """Secrets: the private attributes of each of n records, given by their positions in a record.

    Parameters
    ----------
    n : int
        Number of records; other data are refused, as some would go unprotected.
    private : sequence of int
        Positions of the private attributes in a record.

    Raises
    ------
    InvalidInput
        If `n` isn't a whole number from 1, or `private` is empty or isn't of positions.
    """
    n, private = check_at_least_one("n", n), _positions("private", private)
    if not private:
        raise InvalidInput("private is empty; give the position of at least one attribute")
    return [_of(n, _masked(i, private), _attributes_of(i, private)) for i in range(n)]


def groups(members: Sequence[Sequence[int]]) -> list[Secret]:
    """Secrets: each record of each group, in a world without its whole group; positions of records.

    Parameters
    ----------
    members : sequence of sequences of int
        Positions of each group's records.

    Raises
    ------
    InvalidInput
        If `members` isn't a list of groups of positions.
    """
    if not isinstance(members, Iterable):
        raise InvalidInput(f"members is {quoted(members)}; it must be a list of groups")
    members = [_positions("members", group) for group in members]
    least = 1 + max((i for group in members for i in group), default=-1)
    return [
        _of(least, _without(group), _value_at(i), more=True) for group in members for i in group
    ]


def nodes(n: int) -> list[Secret]:
    """Secrets: each of n nodes with its ties; data are symmetric adjacency matrices as tuples.

    Parameters
    ----------
    n : int
        Number of nodes.
    """
    n = check_at_least_one("n", n)

    def without(i: int) -> Callable[[Any], Hashable]:
        return lambda g: (i, *(tuple(x for k, x in enumerate(row) if k != i)
                               for j, row in enumerate(g) if j != i))  # fmt: skip

    return [_of(n, without(i), _value_at(i)) for i in range(n)]


def _of(
    n: int, alt: Callable[[Any], Hashable], priv: Callable[[Any], Hashable], *, more: bool = False
) -> Secret:
    """Make the secret of data of n records, or of at least n where `more`, and of no others."""

    def checked(of: Callable[[Any], Hashable]) -> Callable[[Any], Hashable]:
        def value(x: Any) -> Hashable:
            size = len(x) if hasattr(x, "__len__") else None
            if size is None or size < n or (size > n and not more):
                given = "are no sequence of records" if size is None else f"have {size}"
                raise InvalidInput(
                    f"the secrets are of data of {n} records{' or more' if more else ''}, and a "
                    f"law's data {given}; give the data's own number of records or nodes, or "
                    "declare other secrets by Secret(alt, priv)"
                )
            return of(x)

        return value

    return Secret(checked(alt), checked(priv))


def _without(removed: Sequence[int]) -> Callable[[Any], Hashable]:
    return lambda x: tuple(None if k in removed else r for k, r in enumerate(x))


def _value_at(i: int) -> Callable[[Any], Hashable]:
    return lambda x: x[i]


def _masked(i: int, private: Sequence[int]) -> Callable[[Any], Hashable]:
    def alt(x: Any) -> Hashable:
        seen = tuple(None if j in private else a for j, a in enumerate(x[i]))
        return (*x[:i], seen, *x[i + 1 :])

    return alt


def _attributes_of(i: int, private: Sequence[int]) -> Callable[[Any], Hashable]:
    def priv(x: Any) -> Hashable:
        if len(x[i]) <= max(private):
            raise InvalidInput(
                f"private has a position beyond a record's {len(x[i])} attributes, numbered from 0"
            )
        return tuple(x[i][j] for j in private)

    return priv


def _positions(name: str, values: Any) -> list[int]:
    if not isinstance(values, Iterable):
        raise InvalidInput(
            f"{name} has {kind_of(values)} in place of positions; give these in a list"
        )
    return [_position(name, value) for value in values]


def _position(name: str, value: Any) -> int:
    """Return one of several positions, which no message shows: it may be a record by mistake."""
    try:
        return check_at_least(name, value, 0)
    except InvalidInput:
        raise InvalidInput(
            f"{name} must hold whole numbers of at least 0; it has {kind_of(value)} that isn't one"
        ) from None
