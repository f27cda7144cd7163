"""The beta-binomial synthesizer: binary records in, private copies of their counts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism, check_prior
from bayesdp.mechanisms.counts.count import Count
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.counts import count_of, counts_of_groups
from bayesdp.synthesis.parameters import check_cost, check_size


@dataclass(frozen=True)
class BetaBinomialSynthesizer(RecordSynthesizer):
    """Synthesize confidential 0/1 records as independent beta-binomial copies.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies. The mechanism's prior is the smallest symmetric one
        within it: size / (exp(epsilon / copies) - 1) for each parameter, and a little more for
        groups between which a record may move.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    size : int, optional
        Synthetic records per copy (per group). Default: the number of confidential
        records, which is possible only where that is public.
    prior : tuple of two floats, optional
        The mechanism's prior (a, b), chosen without the data, instead of the one that follows
        from `epsilon`; it may be asymmetric. The release reports its exact epsilon. If `epsilon`
        is given too, a prior that costs more is refused.
    public_n : bool
        Whether the number of records (in each group) is public. If it is, it is written
        into the release and not protected. If not, neither it nor a record's group is revealed,
        add/remove-one is protected like replace-one, and `size` must be given.
    groups : sequence of labels, optional
        All groups that may occur. Required for grouped data where n is confidential, since
        the groups released would otherwise depend on the data.

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
    copies: int = declared(check_at_least_one, default=5)
    size: int | None = None
    prior: tuple[float, float] | None = None
    public_n: bool = True
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, epsilon=check_cost(self.epsilon, self.prior))
        if self.prior is not None:
            keep(self, prior=check_prior(self.prior))
        keep(self, size=check_size(self.size, self.public_n))

    def tally(self, records: Any) -> Count:
        """Count records that are 0 or 1, or take their `Count` as it is."""
        return count_of(records, empty=not self.public_n)

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Count]:
        """The count of each group's records, or of all records, whose label is None.

        `data` may also be a mapping of labels to `Count`s.
        """
        if not isinstance(data, Mapping):
            return super().tallies(data, by, name)
        return counts_of_groups(data, by, self.groups, public_n=self.public_n)

    def mechanisms(self, known: Mapping[Any, Any]) -> dict[Label, BetaBinomialMechanism]:
        """One mechanism for each group; refuses a given prior that costs more than epsilon."""
        if self.prior is None:
            return super().mechanisms(known)
        made = {label: self.mechanism(n, None) for label, n in known.items()}
        cost = joint_guarantee(list(made.values()), self.copies).epsilon
        if self.epsilon is not None and cost > self.epsilon:
            raise InvalidInput(
                f"prior is {self.prior} and costs epsilon = {cost:.6g}, more than the "
                f"epsilon = {self.epsilon} asked for; enlarge it, or leave it out"
            )
        return made

    def mechanism(self, known: int | None, epsilon: float | None) -> BetaBinomialMechanism:
        """The mechanism of a group: with the given prior, or the smallest that keeps `epsilon`."""
        size = known if self.size is None else self.size
        if size is None:
            raise InvalidInput("n is missing; without a size, it is the size of a copy")
        if self.prior is not None:
            return BetaBinomialMechanism(known, size, self.prior)
        given: dict[str, Any] = {"n": known, "size": size, "epsilon": epsilon}
        return BetaBinomialMechanism.calibrate(copies=self.copies, **given)
