"""Points (epsilon, delta) of a mechanism's privacy profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile


class SymmetricPromise:
    """Base of mechanisms for which a record removed costs what one added does."""

    __slots__ = ()
    if TYPE_CHECKING:

        def guarantee(
            self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
        ) -> Guarantee: ...

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record, the same as for its addition."""
        return self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta)


class ProfilePoints:
    """Base of mechanisms with a privacy profile of any number of copies, under each relation."""

    __slots__ = ()
    if TYPE_CHECKING:

        def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile: ...

    def delta(
        self, epsilon: float, *, copies: int = 1, neighbours: Neighbours | None = None
    ) -> float:
        """A delta with which `epsilon` in [0, inf] is promised: the smallest known, rounded up."""
        return self.profile(copies=copies, neighbours=neighbours).delta(epsilon)

    def epsilon(
        self, delta: float = 0.0, *, copies: int = 1, neighbours: Neighbours | None = None
    ) -> float:
        """The smallest epsilon known at `delta` in [0, 1), rounded up; inf where there is none."""
        return self.profile(copies=copies, neighbours=neighbours).epsilon(delta)
