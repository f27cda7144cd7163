"""Points of a mechanism's privacy profile: methods that mechanisms which have one share."""

from __future__ import annotations

from typing import Protocol

from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile


class Profiled(Protocol):
    """A mechanism with a privacy profile of each number of copies, under each relation."""

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` independent copies."""


class Promised(Protocol):
    """A mechanism with a guarantee."""

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies at `delta`."""


def delta(
    self: Profiled, epsilon: float, *, copies: int = 1, neighbours: Neighbours | None = None
) -> float:
    """A delta with which `epsilon` in [0, inf] is promised: the smallest known, rounded up."""
    return self.profile(copies=copies, neighbours=neighbours).delta(epsilon)


def epsilon(
    self: Profiled, delta: float = 0.0, *, copies: int = 1, neighbours: Neighbours | None = None
) -> float:
    """The smallest epsilon known at `delta` in [0, 1), rounded up; inf where there is none."""
    return self.profile(copies=copies, neighbours=neighbours).epsilon(delta)


def removal_guarantee(self: Promised, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
    """What holds when a record is removed: the same as when one is added."""
    return self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta)
