"""The discrete Laplace synthesizer: binary records in, their number of ones plus noise out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.core.fields import declared
from bayesdp.mechanisms.counts.count import Count
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.counts import count_of, counts_of_groups
from bayesdp.synthesis.parameters import by_value


@dataclass(frozen=True)
class DiscreteLaplaceSynthesizer(RecordSynthesizer):
    """Release the number of ones among confidential 0/1 records plus discrete Laplace noise.

    `bdp.BinomialModel` infers the proportion from it, or that of each group. At any epsilon and any
    number of records, no other mechanism that `bdp.plan` compares by name and that has a pure
    epsilon gives a shorter interval on average; there are no synthetic records.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies. The noise's scale is copies / epsilon.
    copies : int
        Number of independent noisy counts; each gets epsilon / copies. Several are less informative
        than one.
    groups : sequence of labels, optional
        All groups that may occur. Default: those that do.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The number of records (in each group) is public, and written into the release. Replacing a
    record moves the number of ones by 1 at most, so that epsilon = copies / scale, exactly
    (Ghosh, Roughgarden and Sundararajan 2009). A noisy count may be below 0 or above n: the law
    that the analyst's model reads says how probable that is.

    Where the number of records is confidential, a noisy count alone says little of a proportion:
    `bdp.BetaBinomialSynthesizer` with ``public_n=False`` releases copies of a public size.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = DiscreteLaplaceSynthesizer(epsilon=2.0).release([0, 1, 1, 0, 1])
    >>> print(release.guarantee)
    epsilon = 2 (replace_one, proved)
    >>> low, high = bdp.BinomialModel().posterior(release).interval(0.95)
    """

    epsilon: float = declared(by_value(check_epsilon))
    copies: int = declared(check_at_least_one, default=1)
    groups: Sequence[Any] | None = None

    def tally(self, records: Any) -> Count:
        """Count records that are 0 or 1, or take their `Count` as it is."""
        return count_of(records)

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Count]:
        """The count of each group's records, or of all records, whose label is None.

        `data` may also be a mapping of labels to `Count`s.
        """
        if not isinstance(data, Mapping):
            return super().tallies(data, by, name)
        return counts_of_groups(data, by, self.groups, public_n=True)

    def statistic(self, tally: Count) -> int:
        """The number of ones."""
        return int(tally.successes)

    def mechanism(self, known: int, epsilon: Any) -> DiscreteLaplaceMechanism:
        """The mechanism of a group of `known` records, with the least noise that keeps epsilon."""
        return DiscreteLaplaceMechanism.calibrate(
            epsilon=epsilon,
            copies=self.copies,
            sensitivity=1,
            neighbours=Neighbours.REPLACE_ONE,
            n=known,
        )
