"""Neighbouring relations: which pairs of confidential data sets a promise speaks about."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted


class Neighbours(StrEnum):
    """Neighbouring relation of a privacy guarantee.

    A guarantee bounds how much the law of a release may differ between two
    neighbouring data sets. Relations never mix silently: a number stated under one
    means something else under another.
    """

    ADD_REMOVE = "add_remove"
    """One record is present in one data set and absent from the other."""
    REPLACE_ONE = "replace_one"
    """One record has any other value; the number of records is the same."""
    EDGE = "edge"
    """Two graphs differ in one edge."""
    NODE = "node"
    """Two graphs differ in one node and any of its edges."""


BELIEFS = {
    Neighbours.ADD_REMOVE: "that a record is among the data",
    Neighbours.REPLACE_ONE: "in one of two values of a record",
    Neighbours.EDGE: "that an edge is there",
    Neighbours.NODE: "in one of two states of a node and its edges",
}
"""The belief that a promise under each relation is about."""


def check_neighbours(neighbours: str) -> Neighbours:
    """Return the relation of that name, or raise InvalidInput."""
    try:
        return Neighbours(neighbours)
    except ValueError:
        raise InvalidInput(
            f"neighbours is {quoted(neighbours)}; it must be one of "
            f"{[each.value for each in Neighbours]}"
        ) from None


def check_edge_or_node(neighbours: str) -> Neighbours:
    """Return the relation of graphs that is asked for, or raise InvalidInput."""
    return _one_of("of graphs", neighbours, Neighbours.EDGE, Neighbours.NODE)


def check_of_records(neighbours: str) -> Neighbours:
    """Return the relation of records that is asked for, or raise InvalidInput."""
    return _one_of("for records", neighbours, Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)


def _one_of(what: str, neighbours: str, one: Neighbours, other: Neighbours) -> Neighbours:
    relation = check_neighbours(neighbours)
    if relation not in (one, other):
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; {what} it must be '{one}' or '{other}'"
        )
    return relation


def replace_one_alone(neighbours: Any, why: str) -> Neighbours:
    """Return replace-one, or raise InvalidInput, which ends in `why`, if another is asked for."""
    if neighbours is not None and check_neighbours(neighbours) is not Neighbours.REPLACE_ONE:
        raise InvalidInput(f"neighbours is {quoted(neighbours)}{why}")
    return Neighbours.REPLACE_ONE


PUBLIC_N = "The number of records is public and not protected."
"""The assumption of a promise by a mechanism that has `n`."""


def check_public_n(n: Any, neighbours: Neighbours) -> int | None:
    """Return a public number of records, or None; raise where add/remove-one would show it."""
    if n is None:
        return None
    if neighbours is Neighbours.ADD_REMOVE:
        raise InvalidInput(
            f"n is {quoted(n)}, public, but neighbours is 'add_remove', where a record added or "
            "removed shows in n; keep n confidential (n=None) or take neighbours='replace_one'"
        )
    return check_at_least_one("n", n, "or None if confidential")


def check_unshown(relation: Neighbours, n: int | None) -> None:
    """Raise InvalidInput where add/remove-one is asked of a mechanism whose n is public."""
    if relation is Neighbours.ADD_REMOVE and n is not None:
        raise InvalidInput(
            "neighbours is 'add_remove', but n is public, so a record added or removed "
            "shows; keep n confidential (n=None) for an add/remove promise"
        )
