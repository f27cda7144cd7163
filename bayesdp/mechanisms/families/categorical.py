r"""Categorical records: probabilities theta ~ Dirichlet(alpha), and counts given them multinomial.

The statistic is the k counts. A replaced record moves two of them by 1, and one added or removed
moves a single one: the counts are of disjoint records. Given noisy counts s_i >= 0 a copy is

    theta ~ Dirichlet(alpha + s),    z ~ Multinomial(size, theta).

Where n is public the noisy counts needn't sum to n, and are taken as they are, each within 0 and n.
For two categories and a public n, `Bernoulli` sanitises one number, and needs half the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least, is_number, keep, plain
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import MixtureTable, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.categorical_outputs import labelled
from bayesdp.mechanisms.counts.count import column_of
from bayesdp.mechanisms.families.base import Floats, MakerOfCopies, NoisyStatistic, Number, Sums
from bayesdp.mechanisms.families.count_laws import counts_law, mixture_tables
from bayesdp.mechanisms.randomness import generator


@dataclass(frozen=True, slots=True)
class Categorical:
    """Records that are labels from 0 to k - 1.

    Parameters
    ----------
    k : int
        Number of categories, at least 2. Public.
    prior : sequence of k floats, optional
        alpha of the Dirichlet prior, positive; by default all 1. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> print(bdp.ModipsSynthesizer(bdp.families.Categorical(3), epsilon=1.0).guarantee(n=500))
    epsilon = 1 (replace_one, proved)
    """

    k: int
    prior: tuple[float, ...] = None  # type: ignore[assignment]
    kind: str = field(default="categorical", init=False)

    def __post_init__(self) -> None:
        plain(self)
        keep(self, k=check_at_least("k", self.k, 2, "categories"))
        prior: Any = (1.0,) * self.k if self.prior is None else self.prior
        good = isinstance(prior, Sequence) and len(prior) == self.k
        if not good or not all(is_number(a) and 0 < a < math.inf for a in prior):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be k = {self.k} positive finite numbers, "
                "the parameters of a Dirichlet distribution"
            )
        object.__setattr__(self, "prior", tuple(map(float, prior)))

    def sums(self, records: Any, *, clip: bool = False) -> Sums:
        """Count the records of each category. Labels have no bounds to clip to."""
        if clip:
            raise InvalidInput("clip is True, but labels have no bounds; leave it out")
        if np.size(records) == 0:
            return Sums(0, (0,) * self.k)
        labels = column_of(records, f"labels from 0 to {self.k - 1}")
        if not np.all((labels >= 0) & (labels < self.k) & (labels == np.floor(labels))):
            raise InvalidInput(
                f"data has values other than the labels 0 to {self.k - 1}; recode the column, for "
                "example with pandas' Categorical(column, categories).codes"
            )
        counts = np.bincount(labels.astype(np.int64), minlength=self.k)
        return Sums(int(labels.size), tuple(counts.tolist()))

    def statistic(self, sums: Sums, *, public_n: bool) -> tuple[int, ...]:
        """Compute the statistic, the counts."""
        return sums.totals

    def numbers(self, n: int | None) -> tuple[Number, ...]:
        """Numbers of the statistic: the counts, from 0 to n where that is public."""
        return tuple(Number(f"count[{i}]", 1.0, 0, n, whole=True) for i in range(self.k))

    def together(self, n: int | None) -> int:
        """Return 2 where a record is replaced, 1 where it is added or removed."""
        return 1 if n is None else 2

    def vector(self, statistic: Any, n: int | None) -> NDArray[Any]:
        """Return the counts along the last axis of an array."""
        counts = np.asarray(statistic)
        if counts.dtype.kind not in "iu" or counts.shape[-1:] != (self.k,):
            raise InvalidInput(
                f"the statistic has type {counts.dtype} and shape {counts.shape}; it must be the "
                f"counts of the {self.k} categories, integers of shape (..., {self.k})"
            )
        if np.any(counts < 0) or (n is not None and np.any(counts.sum(axis=-1) != n)):
            raise InvalidInput(
                "the statistic must be counts, at least 0, whose sum is the mechanism's n, if that "
                "is public"
            )
        return counts

    def draw(self, noisy: NDArray[Any], mechanism: NoisyStatistic) -> NDArray[Any]:
        """Draw counts of `size` records, along the last axis."""
        rng, alpha = generator(), np.asarray(self.prior) + noisy
        # In logarithms, as gamma variables of a small shape may all round to 0.
        uniform = np.log1p(-rng.random(alpha.shape))
        log_gamma = np.log(rng.standard_gamma(alpha + 1)) + uniform / alpha
        theta = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
        theta /= theta.sum(axis=-1, keepdims=True)
        return np.asarray(rng.multinomial(mechanism.size, theta), dtype=np.int64)

    def logp(self, output: Any, statistic: Any, mechanism: NoisyStatistic) -> Floats:
        """Exact log-probability: the noisy counts are summed out; see `count_laws`."""
        counts, z = self.vector(statistic, mechanism.n), np.asarray(output)
        return counts_law(z, counts, self.prior, mechanism.size, mechanism.parts)

    def views(self, mechanism: MakerOfCopies) -> tuple[View, ...]:
        """The view of copies given the counts of categories, a mixture of products."""
        prior, size, parts = self.prior, mechanism.size, mechanism.parts

        def tables(z: Any, n: int, rare: int) -> tuple[list[Floats], float]:
            return mixture_tables(z, prior, size, parts, n, rare)

        return (MixtureTable(self.k, 0, tables, prior, size),)

    def pairs(self, n: int | None) -> list[tuple[Any, Any]]:
        """Pairs where a record moves from the last category to the first, or is added to it.

        All other records are in the last category, or spread over all categories.
        """
        others = 5 * self.k if n is None else n - 1
        spread = [others // self.k + (i < others % self.k) for i in range(self.k)]
        worst = []
        for rest in ([0] * (self.k - 1) + [others], spread):
            one, other = list(rest), list(rest)
            other[0] += 1
            if n is not None:
                one[-1] += 1
            worst.append((tuple(one), tuple(other)))
        return worst

    def space(self, size: int) -> OutputSpace:
        """Counts with sum `size`, shown as synthetic labels in order."""
        return labelled(self.k, size)
