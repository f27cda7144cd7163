r"""Binary records: p ~ Beta(a, b), and the number of ones given p is binomial.

The statistic is a `Count`. Where n is public, its number of ones is sanitised, which a replaced
record moves by at most 1; where n is confidential, both the numbers of ones and of zeros are, and a
record added or removed moves only one of them, by 1: they count disjoint records. Given noisy
numbers s and t (t = n - s where n is public), within 0 and n or above 0, a copy is

    p ~ Beta(a + s, b + t),    z ~ Binomial(size, p).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.beta_binomial import check_prior, ones_among
from bayesdp.mechanisms.counts.count import Count, check_count, column_of, count_view
from bayesdp.mechanisms.families.base import Floats, MakerOfCopies, NoisyStatistic, Number, Sums
from bayesdp.mechanisms.families.count_laws import bernoulli_law, counts_law, nested_bernoulli_law
from bayesdp.mechanisms.randomness import generator


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Records that are 0 or 1.

    Parameters
    ----------
    prior : tuple of two floats
        (a, b) of the beta prior of the proportion of ones; (1, 1) is uniform. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> print(bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=1.0).guarantee(n=500))
    epsilon = 1 (replace_one, proved)
    """

    prior: tuple[float, float] = (1.0, 1.0)
    kind: str = field(default="bernoulli", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior))

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Count the ones; a `Count` is taken as it is. Binary records have no bounds to clip to."""
        if clip:
            raise InvalidInput("clip is True, but binary records have no bounds; leave it out")
        if not isinstance(records, Count):
            if np.size(records) == 0:
                return Sums(0, (0,))
            column_of(records, "0 and 1")
        count = Count.of(records, empty=True)
        return Sums(int(count.n), (int(count.successes),))

    def statistic(self, sums: Sums, *, public_n: bool) -> Count:
        """Compute the statistic, a Count."""
        return Count(sums.totals[0], sums.n)

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers of the statistic: the ones; and the zeros, where n is confidential."""
        if n is not None:
            return (Number("ones", 1.0, 0, n, whole=True),)
        return tuple(Number(name, 1.0, 0, None, whole=True) for name in ("ones", "zeros"))

    def together(self, n: int | None) -> int:
        """Return 1: ones and zeros count disjoint records."""
        return 1

    def vector(self, statistic: Any, n: int | None) -> NDArray[Any]:
        """Numbers of a Count, whose fields may be arrays."""
        count = check_count(statistic, n)
        ones, zeros = np.broadcast_arrays(count.successes, count.failures)
        return np.stack([ones] if n is not None else [ones, zeros], axis=-1)

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> NDArray[Any]:
        """Draw numbers of ones among `size` records."""
        ones = noisy[..., 0]
        zeros = noisy[..., 1] if mechanism.n is None else mechanism.n - ones
        rng = generator()
        p = rng.beta(self.prior[0] + ones, self.prior[1] + zeros)
        return np.asarray(rng.binomial(mechanism.size, p), dtype=np.int64)

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Exact log-probability: the noisy number of ones is summed out; see `count_laws`."""
        counts, size = self.vector(statistic, mechanism.n), mechanism.size
        if mechanism.n is not None:
            return bernoulli_law(output, counts[..., 0], self.prior, size, mechanism.parts[0])
        z = np.asarray(output)
        return counts_law(
            np.stack([z, size - z], axis=-1), counts, self.prior, size, mechanism.parts
        )

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """The view of copies given a count of ones."""
        return (count_view(mechanism),)

    def nested_logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Exact log-probability of numbers of ones along the output's last axis; n is public."""
        ones, size = self.vector(statistic, mechanism.n)[..., 0], mechanism.size
        return nested_bernoulli_law(output, ones, self.prior, size, mechanism.parts[0])

    def nested_views(self, nested: Any) -> tuple[View, ...]:
        """The view of several copies given a count of ones."""
        return (count_view(nested),)

    def pairs(self, n: int | None) -> list[tuple[Count, Count]]:
        """Pairs where a zero becomes a one, at both ends and between, or a record is added."""
        if n is None:
            alone = [(Count(0, k), Count(j, k + 1)) for k in (0, 5) for j in (0, 1)]
            return [*alone, (Count(5, 5), Count(5, 6)), (Count(5, 5), Count(6, 6))]
        return [(Count(x, n), Count(x + 1, n)) for x in sorted({0, n // 2, n - 1}) if x < n]

    def space(self, size: int) -> OutputSpace:
        """Numbers of ones, shown beside the numbers of records, ones first."""
        return ones_among(size, "value", beside=(("records", size),))
