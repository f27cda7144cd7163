"""The Poisson-gamma synthesizer: events by area in, private copies of their counts out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_delta, check_flag, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.counts.poisson_gamma import PoissonGammaMechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.release.manifest import Label
from bayesdp.synthesis.area_counts import counts_of_areas, expected_by_group
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.parameters import by_value, check_cost

_LESS = 1 - 1e-6  # so that the parts of groups reach the budget from below
_Known = tuple[Label, int | None]
"""A group, and its number of events where that is public."""


@dataclass(frozen=True, eq=False)
class PoissonGammaSynthesizer(RecordSynthesizer):
    """Synthesize counts of events by area as independent Poisson-gamma copies (Quick 2021).

    Each area's count is drawn from its posterior predictive under a gamma prior around a public
    expected count, so that areas of different populations shrink towards different counts, which a
    symmetric Dirichlet prior can't do at the same privacy.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies. The priors are then the weakest within it, all equal or
        in the proportions of `prior`, and at least 1.
    expected : mapping of label to float, Series, or sequence of float
        Each area's expected number of events, its population times a public rate: positive, or 0 in
        an area where no event can occur, a structural zero. Chosen without the data. For disjoint
        groups of events, by sex, say, a mapping of every group that may occur to its own.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    total : int, or mapping of label to int, optional
        Number of events in each copy (of each group). Default: the number of confidential events,
        where that is public.
    prior : float or sequence of float, optional
        Weight of each area's prior as a number of events, at least 1. Without `epsilon` it is used
        as it is, and the release reports its epsilon.
    delta : float
        The delta, in [0, 1), at which the promise is stated; for `fixed=False`, which needs it.
    fixed : bool
        Whether a copy's total is fixed. If not, the counts are independent and negative binomial,
        and no pure epsilon holds.
    public_n : bool
        Whether the number of confidential events (in each group) is public: written into the
        release and not protected. If not, neither it nor an event's group is revealed,
        add/remove-one is protected too, and a fixed `total` must be given.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> synthesizer = PoissonGammaSynthesizer(epsilon=2.0, expected={"A": 3.5, "B": 20.0}, copies=1)
    >>> sum(synthesizer.release({"A": 5, "B": 17}).outputs[0])
    22
    """

    epsilon: float | None = None
    expected: Any = None
    copies: int = declared(check_at_least_one, default=5)
    total: int | None = None
    prior: Any = None
    delta: float = declared(by_value(check_delta), default=0.0)
    fixed: bool = True
    public_n: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, epsilon=check_cost(self.epsilon, self.prior))
        check_flag("fixed", self.fixed)
        check_flag("public_n", self.public_n)
        if self.expected is None:
            raise InvalidInput("expected is missing; give each area's expected number of events")
        if self.total is not None:
            if isinstance(given := self.total, Mapping):
                keep(self, total={k: check_at_least_one("total", given[k]) for k in given})
            else:
                keep(self, total=check_at_least_one("total", given))
            if not self.fixed:
                raise InvalidInput(f"total is {quoted(self.total)}, but fixed is False; choose one")
        elif self.fixed and not self.public_n:
            raise InvalidInput("total is missing; where n is confidential, choose a public total")
        for label in (groups := expected_by_group(self.expected)):
            if isinstance(self.total, Mapping) and label not in self.total:
                raise InvalidInput(
                    f"total has groups {list(self.total)}, but expected has {list(groups)}; give "
                    "each group's total"
                )

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Any]:
        """The events in each area of each group.

        Parameters
        ----------
        data : mapping of label to int, Series, or sequence of int
            The confidential number of events in each area: by the names in `expected`, or in its
            order where it has none. Or, where it has names, a sequence of the events' areas, or a
            scan of them (`bdp.scan`). With groups, a mapping of each to its own.
        by : array_like, optional
            Each event's group, as long as a sequence of the events' areas.
        name : str
            Not used: areas have names of their own.
        """
        groups = expected_by_group(self.expected)
        counts = counts_of_areas(groups, data, by)
        if self.public_n and not all(map(self.count, counts.values())):
            raise InvalidInput(
                "data holds no events; there is nothing to release"
                if None in counts
                else "a group has no events; where their number is public, leave it out of expected"
            )
        return {label: counts[label] for label in groups}

    def count(self, tally: Any) -> int:
        """The number of events."""
        return int(tally.sum())

    def guarantee(self, n: int | Mapping[Any, int] | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int or mapping of label to int, optional
            The number of events (of each group), where it is public.
        """
        groups = self.groups
        sizes = n if isinstance(n, Mapping) or n is None else dict.fromkeys(groups, n)
        if sizes is not None and set(sizes) != set(groups):
            raise InvalidInput(f"n has groups {list(sizes)}; it must have {list(groups)}")
        return super().guarantee(sizes)

    @property
    def groups(self) -> tuple[Label, ...]:
        """All groups that may occur, or None alone."""
        return tuple(expected_by_group(self.expected))

    def mechanisms(self, known: Mapping[Any, int | None]) -> dict[Label, PoissonGammaMechanism]:
        """One mechanism for each group, from public numbers alone, together within `epsilon`.

        Where an event may change group, `joint_guarantee` charges its removal from one and its
        addition to another, which is more than one group's cost: the groups' shares shrink until
        the total is within `epsilon`, to some thousandths.
        """
        share = self.epsilon
        while True:
            made = {label: self.mechanism((label, n), share) for label, n in known.items()}
            cost = joint_guarantee(list(made.values()), self.copies, self.delta).epsilon
            if self.epsilon is None or share is None or cost <= self.epsilon:
                return made
            share *= self.epsilon / cost * _LESS

    def mechanism(self, known: _Known, epsilon: float | None) -> PoissonGammaMechanism:
        """The mechanism of a group: with the given prior, or the weakest that keeps `epsilon`."""
        label, n = known
        areas, expected = expected_by_group(self.expected)[label]
        total = self.total[label] if isinstance(self.total, Mapping) else self.total
        public: dict[str, Any] = {"n": n, "areas": areas, "expected": expected}
        public |= {"total": (total or n) if self.fixed else None}
        prior = self.prior
        if np.ndim(prior) and len(prior) == len(expected):
            prior = np.where(np.array(expected) > 0, prior, 0.0)
        if epsilon is None:
            return PoissonGammaMechanism(prior=prior, **public)
        return PoissonGammaMechanism.calibrate(
            epsilon=epsilon,
            copies=self.copies,
            delta=self.delta,
            proportions=None if np.ndim(prior) == 0 else prior,
            **public,
        )
