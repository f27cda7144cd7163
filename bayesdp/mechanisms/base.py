"""What every mechanism offers, and the registry that finds one by its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bayesdp.errors import InvalidRelease
from bayesdp.mechanisms.beta_binomial import BetaBinomialMechanism
from bayesdp.privacy.composition import one_record_moves, parallel
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray


@runtime_checkable
class Mechanism(Protocol):
    """How a release is randomised: its sampler, its guarantee and its exact law.

    A mechanism is a frozen dataclass whose fields are its public parameters.
    """

    name: ClassVar[str]
    """Its name in a manifest."""
    log_concave: ClassVar[bool]
    """Whether its law is log-concave in an integer statistic, for every output."""

    @property
    def n(self) -> int | None:
        """The number of confidential records where it is public, else None."""

    def guarantee(self, *, copies: int = ..., neighbours: Neighbours = ...) -> Guarantee:
        """Promise of `copies` independent copies."""

    def removal_epsilon(self, *, copies: int = ...) -> float:
        """How far removing one record can raise an output's log probability."""

    def release(self, statistic: Any, copies: int = ...) -> Any:
        """Draw copies from the secure generator."""

    def logp(self, output: Any, statistic: Any) -> NDArray[Any]:
        """Exact law, vectorised over the statistic."""

    def neighbours(self) -> Iterable[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, the worst among them, for an audit."""

    def outputs(self) -> NDArray[Any] | None:
        """All outputs, where they can be listed."""

    def check_output(self, output: Any) -> Any:
        """The output in its own type, or InvalidInput if it can't be one."""

    def records(self, output: Any) -> NDArray[Any]:
        """The synthetic records that an output stands for."""

    def encode(self, outputs: Sequence[Any]) -> Mapping[str, Any]:
        """Columns of equal length that hold the copies; among them `copy`, from 0."""

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """The copies that `encode` wrote."""


def joint_guarantee(mechanisms: Sequence[Mechanism], copies: int) -> Guarantee:
    """What releases from disjoint groups promise together, `copies` from each.

    Where the groups' sizes are public, a record's group is public too and stays: parallel
    composition over replacements within a group. Where they are confidential, a record may
    also change group, and the worst such move is charged (`one_record_moves`).
    """
    each = [mechanism.guarantee(copies=copies) for mechanism in mechanisms]
    if len(each) == 1:
        return each[0]
    within = [guarantee.epsilon for guarantee in each]
    if mechanisms[0].n is not None:
        epsilon = parallel(within)
        assumptions: tuple[str, ...] = (
            "Each record's group and the group sizes are public and not protected: the promise "
            "is about a record's answer, within its group.",
        )
    else:
        addition = [
            m.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE).epsilon for m in mechanisms
        ]
        removal = [m.removal_epsilon(copies=copies) for m in mechanisms]
        epsilon = one_record_moves(within, addition, removal)
        assumptions = (
            "A record's answer and its group are both protected: it may move to any listed group.",
            "The list of groups and the size of the copies were chosen without the data.",
        )
    return dataclasses.replace(each[0], epsilon=epsilon, assumptions=assumptions, rho=None)


REGISTRY: dict[str, type[Any]] = {
    mechanism.name: mechanism for mechanism in (BetaBinomialMechanism,)
}


def mechanism_named(name: str) -> type[Any]:
    """The mechanism class of that name.

    Raises
    ------
    InvalidRelease
        If there is none; the message lists those there are.
    """
    if name not in REGISTRY:
        raise InvalidRelease(
            f"mechanism is {name!r}, which this version of bayesdp doesn't know; "
            f"it knows {', '.join(sorted(REGISTRY))}"
        )
    return REGISTRY[name]
