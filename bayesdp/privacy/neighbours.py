"""Neighbouring relations: which pairs of confidential data sets a promise speaks about."""

from enum import StrEnum

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


def check_neighbours(neighbours: str) -> Neighbours:
    """Return the relation of that name, or raise InvalidInput."""
    try:
        return Neighbours(neighbours)
    except ValueError:
        raise InvalidInput(
            f"neighbours is {quoted(neighbours)}; it must be one of "
            f"{[each.value for each in Neighbours]}"
        ) from None
