"""Contract of mechanisms, and the joint promise of releases from disjoint groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bayesdp.errors import InvalidInput
from bayesdp.privacy.accounting import least_sure, merged
from bayesdp.privacy.composition import one_record_moves, parallel
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee, refuse_distributional
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray


AnyGuarantee = Guarantee | DistributionalGuarantee


@runtime_checkable
class Mechanism(Protocol):
    """Protocol of a mechanism, which randomises a release: its sampler, guarantee and law.

    A mechanism is a frozen dataclass whose fields are its public parameters. One that has a
    whole privacy profile also has `profile()`, `delta(epsilon)`, `epsilon(delta)` and `pld()`,
    as `bayesdp.mechanisms.conjugate.release.ConjugateMechanism`. One whose worst neighbours an
    audit may search for has `nearby(pair, generator)`, a random pair near another
    (`privacy.audit_search`). One whose outputs models read has `views`, a tuple of the laws that
    `bayesdp.core.views` lists.
    """

    name: ClassVar[str]
    """Its name in a manifest."""
    log_concave: ClassVar[bool]
    """Whether its law is log-concave in an integer statistic, for every output."""

    @property
    def n(self) -> int | None:
        """The number of confidential records where it is public, else None."""

    @property
    def neighbours(self) -> Neighbours | None:
        """The relation that its promise is stated under where none is asked for.

        None of an `ExactStatisticMechanism`.
        """

    def guarantee(
        self, *, copies: int = ..., neighbours: Any = ..., delta: float = ...
    ) -> AnyGuarantee:
        """Promise of `copies` independent copies: the smallest epsilon known at `delta`.

        Its epsilon is inf where `delta` is too small for any promise, and its delta 0 where
        none is needed. Of an `ExactStatisticMechanism` it is a `DistributionalGuarantee`.
        """

    def removal_guarantee(self, *, copies: int = ..., delta: float = ...) -> AnyGuarantee:
        """Guarantee for the removal of a record, if that costs less than an addition."""

    def check_statistic(self, statistic: Any) -> Any:
        """The statistic as `release` takes it, or InvalidInput that doesn't show its values."""

    def release(self, statistic: Any, copies: int = ...) -> Any:
        """Draw copies from the secure generator."""

    def logp(self, output: Any, statistic: Any) -> NDArray[Any]:
        """Exact law, vectorised over the statistic; InvalidInput where it is intractable."""

    def pairs(self) -> Iterable[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, the worst among them, for an audit."""

    def outputs(self) -> NDArray[Any] | None:
        """All outputs, where they can be listed."""

    def check_output(self, output: Any) -> Any:
        """The output as a Python number or a tuple of them, or InvalidInput if it can't be one."""

    def records(self, output: Any) -> NDArray[Any]:
        """A column that shows a copy: its synthetic records, or else the released numbers.

        A structured array where a record has several columns.
        """

    def encode(self, outputs: Sequence[Any]) -> Mapping[str, Any]:
        """Columns of equal length that hold the copies, one row or more each; `copy` from 0."""

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """The copies that `encode` wrote."""


@runtime_checkable
class Declared(Protocol):
    """A way to release whose mechanism follows from the shape of what it is applied to."""

    def mechanism_like(self, example: Any) -> Mechanism:
        """The mechanism that releases outputs of this one's shape."""


def joint_guarantee(mechanisms: Sequence[Mechanism], copies: int, delta: float = 0.0) -> Guarantee:
    """Return the joint guarantee of releases from disjoint groups at `delta`, `copies` each.

    Where a record is added or removed, it is in one group: parallel composition. Where one is
    replaced and the groups' sizes are public, its group is public too and stays: parallel again.
    Where they are confidential, a record may also change group, and the worst such move is
    charged: its removal from one and its addition to another (`one_record_moves`).

    Raises
    ------
    InvalidInput
        If a group's statistic is exact, or the relations differ.
    """
    promises = [mechanism.guarantee(copies=copies, delta=delta) for mechanism in mechanisms]
    for promise in promises:
        refuse_distributional(promise, "a joint promise of groups, or a ledger")
    each = [promise for promise in promises if isinstance(promise, Guarantee)]
    if len(each) == 1:
        return each[0]
    if len({guarantee.neighbours for guarantee in each}) > 1:
        raise InvalidInput(
            "the groups' mechanisms promise under different relations: "
            f"{', '.join(sorted({g.neighbours.value for g in each}))}; choose one"
        )
    known = [guarantee.rho for guarantee in each if guarantee.rho is not None]
    together = dataclasses.replace(
        max(each, key=lambda guarantee: guarantee.epsilon),
        epsilon=parallel([guarantee.epsilon for guarantee in each]),
        delta=max(guarantee.delta for guarantee in each),
        strength=least_sure(each),
        assumptions=merged(each),
        rho=max(known) if len(known) == len(each) else None,
    )
    listed = "The list of groups was chosen without the data."
    if together.neighbours is not Neighbours.REPLACE_ONE:
        return dataclasses.replace(together, assumptions=(listed, *together.assumptions))
    if mechanisms[0].n is not None:
        note = (
            "Each record's group and the group sizes are public and not protected: the promise "
            "is about a record's answer, within its group."
        )
        return dataclasses.replace(together, assumptions=(note, *together.assumptions))
    half, moved = delta / 2, Neighbours.ADD_REMOVE
    # Of differential privacy, as found above.
    addition: Any = [m.guarantee(copies=copies, neighbours=moved, delta=half) for m in mechanisms]
    removal: Any = [m.removal_guarantee(copies=copies, delta=half) for m in mechanisms]
    note = "A record's answer and its group are both protected: it may move to any listed group."
    return dataclasses.replace(
        together,
        epsilon=one_record_moves(
            *([g.epsilon for g in part] for part in (each, addition, removal))
        ),
        delta=max(together.delta, max(g.delta for g in addition) + max(g.delta for g in removal)),
        rho=None,
        assumptions=(
            note,
            listed,
            *together.assumptions,
        ),
    )
