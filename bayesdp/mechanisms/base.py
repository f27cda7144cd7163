"""Contract of mechanisms, and the joint promise of releases from disjoint groups."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.core.fields import check_declared
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.accounting import least_sure, merged
from bayesdp.privacy.composition import one_record_moves, parallel, repeated
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee, refuse_distributional
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours
from bayesdp.privacy.profile import Profile, pure_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray


AnyGuarantee = Guarantee | DistributionalGuarantee


_WRITTEN = {
    "name": "its name in a manifest",
    "neighbours": "a bdp.Neighbours, the neighbouring relation of its promise",
    "n": "the number of confidential records where it is public, else None",
    "source": "the proof or publication that its promise rests on",
}
"""What a mechanism has to have that its base hasn't."""


class Mechanism:
    """Base of mechanisms, which randomise a release: their sampler, guarantee and law.

    A mechanism is a frozen dataclass whose fields are its public parameters, with their checks
    declared beside them (`core.fields.declared`). It writes its law and its proof,

    - `name`, `neighbours`, `n` where the number of records isn't a field, and `source`;
    - `pure_epsilon`, or its whole `profile`; `assumptions` beyond the usual ones;
    - `check_statistic`, `draw` and `logp`; `check_statistics` where it takes several at once;
    - `space`, `views` and `pairs`,

    and inherits the rest. A mechanism whose worst neighbours an audit may search for also has
    `nearby(pair, generator)`, a random pair near another (`privacy.audit_search`).
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def n(self) -> int | None:
            """The number of confidential records where it is public, else None."""

        @property
        def neighbours(self) -> Any:
            """The neighbouring relation of its promise, where no other is asked for.

            None for an `ExactStatisticMechanism`.
            """

        @property
        def source(self) -> str:
            """The proof or publication that its promise rests on."""

    name: ClassVar[str]
    """Its name in a manifest."""

    def __post_init__(self) -> None:
        made = type(self)
        for name, what in _WRITTEN.items():
            if not hasattr(made, name) and name not in getattr(made, "__dataclass_fields__", ()):
                raise TypeError(f"{made.__name__} has no {name}, and a mechanism needs it: {what}")
        check_declared(self)

    def _unwritten(self, method: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} has no method {method}, which a mechanism has to write for this"
        )

    # What is promised.

    @property
    def pure(self) -> bool:
        """True if `guarantee` promises a pure epsilon, whatever delta it is asked for."""
        return False

    def pure_epsilon(self) -> float:
        """Pure epsilon of one output under `neighbours`, rounded up."""
        raise self._unwritten("pure_epsilon, or profile")

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies: by default, what `pure_epsilon` implies.

        Under replace-one, where the mechanism promises under add/remove-one, a replacement is a
        removal and an addition: two moves.
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        moves = self.neighbours is Neighbours.ADD_REMOVE and relation is Neighbours.REPLACE_ONE
        times = 2 if moves else 1
        one = repeated(self.pure_epsilon(), times)
        return pure_profile(one, copies)

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, by default the mechanism's `neighbours`.

        Raises
        ------
        InvalidInput
            If it is neither the mechanism's own nor replace-one, which costs two moves.
        """
        own: Neighbours = self.neighbours
        if neighbours is None:
            return own
        asked = check_neighbours(neighbours)
        moves = own is Neighbours.ADD_REMOVE and asked is Neighbours.REPLACE_ONE
        if asked is not own and not moves:
            raise InvalidInput(
                f"neighbours is {quoted(asked.value)}; this release promises under "
                f"{quoted(own.value)}"
                + (", as n is public: keep it confidential (n=None)" if self.n is not None else "")
            )
        return asked

    def delta(
        self, epsilon: float, *, copies: int = 1, neighbours: Neighbours | None = None
    ) -> float:
        """The smallest delta known at `epsilon` in [0, inf], rounded up."""
        return self.profile(copies=copies, neighbours=neighbours).delta(epsilon)

    def epsilon(
        self, delta: float = 0.0, *, copies: int = 1, neighbours: Neighbours | None = None
    ) -> float:
        """The smallest epsilon known at `delta` in [0, 1), rounded up; inf where there is none."""
        return self.profile(copies=copies, neighbours=neighbours).epsilon(delta)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter rho of `copies` copies; None where epsilon says as much."""
        copies = check_at_least_one("copies", copies)
        return None

    @property
    def strength(self) -> Strength:
        """The promise's strength: proved, unless a mechanism says otherwise."""
        return Strength.PROVED

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        chosen = "The mechanism's parameters were chosen without the data."
        return (chosen,) if self.n is None else (chosen, PUBLIC_N)

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies at `delta`: one point of their `profile`.

        Where `delta` is too small for any finite epsilon, epsilon is inf and delta is raised to
        what that requires; where the promise is pure, delta is 0. The guarantee of an
        `ExactStatisticMechanism` is a `DistributionalGuarantee`.

        Raises
        ------
        InvalidInput
            If nothing is promised under that relation, or an argument is out of its range.
        """
        copies, delta = check_at_least_one("copies", copies), check_delta(delta)
        relation = self.relation(neighbours)
        delta = 0.0 if self.pure else delta
        profile = self.profile(copies=copies, neighbours=relation)
        epsilon = profile.epsilon(delta)
        why: tuple[str, ...] = ()
        if math.isinf(
            epsilon
        ):  # then outputs that one neighbour alone can have must be within delta
            delta = max(delta, profile.delta(math.inf))
            why = (profile.why,) if profile.why else ()
        return Guarantee(
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            strength=self.strength,
            # Each once: some are told elsewhere among a mechanism's own.
            assumptions=tuple(
                dict.fromkeys((*self.assumptions(relation), *why, COMPUTATIONAL)),
            ),
            source=self.source,
            rho=self.rho(copies=copies, neighbours=relation),
        )

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record: by default, the one for its addition."""
        moved = _REMOVED.get(self.neighbours, self.neighbours)
        return self.guarantee(copies=copies, neighbours=moved, delta=delta)

    def dp_event(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Any:
        """The event by which an accountant of dp_accounting charges for independent copies.

        It never promises more than `guarantee`, but for the accountant's own discretisation. The
        first of these that there is:

        - `DiscreteLaplaceDpEvent` of a scalar with Laplace noise, which is the law itself;
        - `GaussianDpEvent` of Gaussian noise of scale s > 2 steps of its lattice, for which the
          discrete Gaussian is a randomisation of the continuous one of variance s^2 - 4
          (`bayesdp.mechanisms.noise.gaussian_profiles`);
        - `DiscreteLaplaceDpEvent` of sensitivity 1 whose parameter is the pure epsilon: its loss is
          epsilon or -epsilon, as that of the worst mechanism of this epsilon is (Kairouz, Oh and
          Viswanath 2015, Theorem 3.3);
        - `ZCDpEvent` where there is a rho.

        dp_accounting's PLD accountant takes all but the last, its RDP accountant the last and
        Gaussian noise.

        Parameters
        ----------
        copies : int
            Independent copies; more than one make a `SelfComposedDpEvent`.
        neighbours : Neighbours, optional
            Relation that the event is about; by default the mechanism's own.

        Returns
        -------
        dp_accounting.DpEvent

        Raises
        ------
        InvalidInput
            If there is no such event, as of a promise with a delta that isn't Gaussian noise's; or
            the promise is only as published, which no event can say.

        Notes
        -----
        The noise is told in units of what a neighbour moves under `neighbours`. So have it
        accounted for under `NeighboringRelation.ADD_OR_REMOVE_ONE`, where dp_accounting doubles
        nothing, whatever the relation is: the epsilon is then about `neighbours`. Under its
        REPLACE_ONE, dp_accounting 0.6 refuses Laplace noise; its PLD accountant doubles the shift
        of Gaussian noise, and its RDP accountant doesn't. There is no `RandomizedResponseDpEvent`
        among these, as the PLD accountant charges for one of several copies.

        Examples
        --------
        >>> import dp_accounting
        >>> import bayesdp as bdp
        >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale=2.0)
        >>> noise.dp_event()
        DiscreteLaplaceDpEvent(noise_parameter=0.5, sensitivity=1)
        >>> accountant = dp_accounting.pld.PLDAccountant()
        >>> round(accountant.compose(noise.dp_event(copies=10)).get_epsilon(1e-6), 3)
        4.5
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        if self.strength is Strength.AS_PUBLISHED:
            raise InvalidInput(
                f"{self.name}'s promise is only as published, unproved or false, which an event of "
                "dp_accounting can't say; take a variant that is proved"
            )
        event = self._event(relation)
        if copies == 1:
            return event
        from dp_accounting.dp_event import SelfComposedDpEvent

        return SelfComposedDpEvent(event, copies)

    def _event(self, relation: Neighbours) -> Any:
        """The event of one copy."""
        from dp_accounting import dp_event as events

        profile = self.profile(neighbours=relation)
        if profile.event is not None:
            return profile.event()
        if profile.pure_epsilon == 0:
            return events.NoOpDpEvent()
        if math.isfinite(profile.pure_epsilon):
            return events.DiscreteLaplaceDpEvent(profile.pure_epsilon, 1)
        rho = self.rho(neighbours=relation)
        if rho is None:
            raise InvalidInput(
                f"{self.name} has no event of dp_accounting: no pure epsilon, no rho, and no noise "
                "of a law that it knows; compose the loss distribution "
                "mechanism.profile(copies=...).pld(interval) with those of dp_accounting.pld, or "
                "take bdp.compose"
            )
        return events.ZCDpEvent(rho)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return `release`'s statistic if valid, or raise InvalidInput without its values."""
        raise self._unwritten("check_statistic")

    def check_statistics(self, statistic: Any) -> Any:
        """Return one statistic for `draw`, or several along first axes, or raise InvalidInput.

        By default a single one, as `check_statistic` returns it.
        """
        return self.check_statistic(statistic)

    def draw(self, statistic: Any, copies: int) -> Any:
        """Draw copies, exactly, of what `check_statistics` returned, from the secure generator."""
        raise self._unwritten("draw")

    def release(self, statistic: Any, copies: int = 1) -> Any:
        """Draw copies, exactly, from the secure generator.

        Parameters
        ----------
        statistic : as `check_statistic` takes it, or as `check_statistics` takes several
            Confidential.
        copies : int
            Independent copies.

        Returns
        -------
        ndarray
            Copies along the first axis; then the axes of several statistics, if any.
        """
        copies = check_at_least_one("copies", copies)
        return self.draw(self.check_statistics(statistic), copies)

    @property
    def log_concave(self) -> bool:
        """True if the law is log-concave in an integer statistic, for every output."""
        return False

    def logp(self, output: Any, statistic: Any) -> NDArray[Any]:
        """Exact law, vectorised over the statistic; InvalidInput where it is intractable."""
        raise self._unwritten("logp")

    @property
    def tractable(self) -> bool:
        """True if the law of outputs can be computed; if it can't, outputs aren't listed either."""
        return True

    @property
    def views(self) -> tuple[View, ...]:
        """The laws of outputs that models read, by kind of statistic; see `core.views`."""
        return ()

    # What is written down, and what an audit tries.

    @property
    def space(self) -> OutputSpace:
        """The outputs that the mechanism may release."""
        return OutputSpace()

    def pairs(self) -> Iterable[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, the worst among them, for an audit."""
        raise self._unwritten("pairs")

    def outputs(self) -> NDArray[Any] | None:
        """All outputs, where they can be listed and have a law."""
        return self.space.every() if self.tractable else None

    def check_output(self, output: Any) -> Any:
        """Return the output as a Python number or a tuple of them, or raise InvalidInput."""
        return self.space.check(output)

    def records(self, output: Any) -> NDArray[Any]:
        """A column that shows a copy: its synthetic records, or else the released numbers.

        A structured array where a record has several columns.
        """
        return self.space.records(self.check_output(output))

    def encode(self, outputs: Sequence[Any]) -> Mapping[str, Any]:
        """Columns of equal length that hold the copies, one row or more each; `copy` from 0."""
        return self.space.encode(outputs)

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the copies that `encode` wrote; InvalidInput if one is missing or repeated."""
        return [self.check_output(output) for output in self.space.decode(columns)]


_REMOVED = {Neighbours.REPLACE_ONE: Neighbours.ADD_REMOVE}
"""The relation that a removal is asked under, where it isn't the mechanism's own."""


@runtime_checkable
class Declared(Protocol):
    """A way to release whose mechanism follows from the shape of what it is applied to."""

    def mechanism_like(self, example: Any) -> Mechanism:
        """Make the mechanism for statistics of the example's shape."""


def check_mechanism(given: Any) -> Mechanism:
    """Return a mechanism, or what can do as much of one as a release needs, else raise."""
    if isinstance(given, type) or not hasattr(given, "check_output"):
        raise InvalidInput(
            f"mechanism is {quoted(given)}; it must be one of bdp.mechanisms with its parameters, "
            "as bdp.mechanisms.DiscreteLaplaceMechanism(scale=2.0)"
        )
    return given  # type: ignore[no-any-return]


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
