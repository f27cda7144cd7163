"""Public numbers of records, and the promises about records that they allow."""

from __future__ import annotations

from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.neighbours import Neighbours

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
