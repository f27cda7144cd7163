"""The beta-binomial synthesizer: binary records in, private copies of their counts out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, keep
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism, check_prior
from bayesdp.mechanisms.counts.count import Count
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.release.manifest import Label, check_label
from bayesdp.synthesis.groups import complete_groups, name_of, rows_by_group
from bayesdp.synthesis.parameters import check_cost, check_size
from bayesdp.synthesis.publish import publish_groups
from bayesdp.synthesis.tally import groups_name, tallied, typed


@dataclass(frozen=True)
class BetaBinomialSynthesizer:
    """Synthesize confidential 0/1 records as independent beta-binomial copies.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies. The mechanism's prior is the smallest symmetric
        one that keeps to it: size / (exp(epsilon / copies) - 1) for each parameter, and a
        little more for groups between which a record may move.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    size : int, optional
        Synthetic records per copy (per group). Default: the number of confidential
        records, which is possible only where that is public.
    prior : tuple of two floats, optional
        The mechanism's prior (a, b), chosen without the data, instead of the one that
        `epsilon` gives; may be asymmetric. The release reports its exact epsilon. With
        `epsilon` too, a prior that costs more is refused.
    public_n : bool
        Whether the number of records (in each group) is public. If it is, it is written
        into the release and not protected. If not, neither it nor a record's group shows,
        add/remove-one is protected like replace-one, and `size` must be given.
    groups : sequence of labels, optional
        All groups there may be. Required for grouped data where n is confidential, since
        which groups occur would otherwise depend on the data.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> release = BetaBinomialSynthesizer(epsilon=2.0, copies=5).release([0, 1, 1, 0, 1])
    >>> release.copies
    5
    """

    epsilon: float | None = None
    copies: int = 5
    size: int | None = None
    prior: tuple[float, float] | None = None
    public_n: bool = True
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        keep(self, epsilon=check_cost(self.epsilon, self.prior))
        if self.prior is not None:
            keep(self, prior=check_prior(self.prior))
        keep(self, copies=check_at_least_one("copies", self.copies))
        keep(self, size=check_size(self.size, self.public_n))

    def release(
        self,
        data: Any,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : array_like of 0 and 1, bool Series, Scan, Count, or mapping of label to Count
            The confidential records, in memory or in files (`bdp.scan`), or their counts.
        by : array_like, optional
            Each record's group, as long as `data`.
        variable : str, optional
            Name of what is counted. Default: the Series' name, or "value".
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are
            checked first, then the guarantee is spent, then the copies are drawn. What is
            spent stays spent, even if this process is killed before the release is saved.

        Returns
        -------
        Release

        Raises
        ------
        InvalidInput
            If the data are empty where n is public, missing somewhere or not 0/1, or the groups
            don't fit; or if the given prior costs more than epsilon; or if there is a ledger and
            the draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        counts = self._counts(data, by)
        mechanisms = self._mechanisms({label: count.n for label, count in counts.items()})
        grouped = None not in counts
        return publish_groups(
            {label: (mechanism, counts[label]) for label, mechanism in mechanisms.items()},
            by=groups_name(data, by) if grouped else None,
            copies=self.copies,
            variable=variable or name_of(data, "value"),
            ledger=ledger,
        )

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int or mapping of label to int, optional
            The public number of records (of each group); not needed where n is
            confidential.
        """
        if n is None and self.public_n:
            raise InvalidInput("n is missing; where it is public, the guarantee depends on it")
        if n is None:
            n = dict.fromkeys(self.groups or (None,))
        sizes = n if isinstance(n, Mapping) else {None: n}
        return joint_guarantee(list(self._mechanisms(sizes).values()), self.copies)

    def _mechanisms(self, sizes: Mapping[Any, Any]) -> dict[Any, BetaBinomialMechanism]:
        """Make one mechanism a group, from public numbers alone."""
        moving = not self.public_n and len(sizes) > 1
        share = 0.0 if self.epsilon is None else float(self.epsilon)
        if moving and self.prior is None:
            share = _share_of_a_move(share, self.copies)
        while True:
            made = {label: self._mechanism(n, share) for label, n in sizes.items()}
            cost = joint_guarantee(list(made.values()), self.copies).epsilon
            if self.epsilon is None or cost <= self.epsilon:
                return made
            if self.prior is not None:
                raise InvalidInput(
                    f"prior is {self.prior} and costs epsilon = {cost:.6g}, more than the "
                    f"epsilon = {self.epsilon} asked for; enlarge it, or leave it out"
                )
            share *= 1 - 2.0**-50

    def _mechanism(self, n: int | None, share: float) -> BetaBinomialMechanism:
        public = n if self.public_n else None
        size = n if self.size is None else self.size
        if size is None:
            raise InvalidInput("n is missing; without a size, it is the size of a copy")
        if self.prior is not None:
            return BetaBinomialMechanism(public, size, self.prior)
        return BetaBinomialMechanism.calibrate(
            n=public, size=size, epsilon=share, copies=self.copies
        )

    def _counts(self, data: Any, by: Any) -> dict[Label, Count]:
        if isinstance(data, Mapping):
            if by is not None:
                raise InvalidInput("by is given, but data is a mapping, whose keys are the groups")
            counts = {check_label(label): _whole(count) for label, count in data.items()}
        else:
            count = partial(_count_by, empty=not self.public_n)
            data = typed(data, groups=self.groups)
            counts = tallied(data, count, _plus, by, None if self.public_n else Count(0, 0))
            if None in counts and self.groups is not None:
                raise InvalidInput("groups is given, but by is not: say each record's group")
            if None in counts:
                return counts
        return complete_groups(
            counts, Count(0, 0), self.groups, public_n=self.public_n, size=lambda count: count.n
        )


def _share_of_a_move(epsilon: float, copies: int) -> float:
    """Epsilon to calibrate each group to, where a record may move between two.

    A move costs, per copy, log(1 + t / 2) + log(1 + t) with t = size / a: the removal from
    one group and the addition to another (`BetaBinomialMechanism`). It equals epsilon /
    copies at the positive root of t^2 + 3 t = 2 (exp(epsilon / copies) - 1).
    """
    excess = math.expm1(min(epsilon / copies, 600.0))
    t = 4 * excess / (3 + math.sqrt(9 + 8 * excess))
    return copies * math.log1p(t)


def _count_by(data: Any, by: Any, *, empty: bool) -> dict[Label, Count]:
    if hasattr(data, "columns"):  # a batch, or a table of one column
        data = data[data.columns[0]] if len(data.columns) == 1 else data
    if by is None:
        return {None: Count.of(data, empty=empty)}
    rows = rows_by_group(by, np.shape(data)[0], data)
    Count.of(data, empty=empty)  # every record is checked before any is counted
    values = np.asarray(data)
    return {label: Count.of(values[places]) for label, places in rows.items()}


def _plus(first: Count, second: Count) -> Count:
    return Count(first.successes + second.successes, first.n + second.n)


def _whole(count: Any) -> Count:
    if not isinstance(count, Count):
        raise InvalidInput(f"data maps a group to a {type(count).__name__}; it must be a Count")
    return count
