"""What an example of a mechanism is, and the pairs and outputs that several have."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.mechanisms.base import Mechanism

ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE


_LAWS: dict[tuple[int, int], tuple[Any, np.ndarray]] = {}


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    """A mechanism and data small enough to try everything.

    `pairs` are neighbouring statistics, all there are or the worst among them; `outputs` all
    but a negligible part of what it releases, in an array whose first axis lists them (for a
    continuous law, points, and then `continuous`). Where more than that is left, as of heavy
    tails, `beyond` is its probability given a statistic. An `intractable` law can't be computed,
    and says so. The claim of one that is `loose` is a bound that no output attains, as where the
    noise is post-processed.
    """

    mechanism: Mechanism
    pairs: Sequence[tuple[Any, Any]]
    outputs: Any
    delta: float = 0.0
    continuous: bool = False
    intractable: bool = False
    beyond: Callable[[Any], float] = lambda statistic: 0.0
    loose: bool = False

    @property
    def statistics(self) -> list[Any]:
        return [one for one, _ in self.pairs] + [self.pairs[-1][1]]

    def law(self, statistic: Any) -> np.ndarray:
        """log p(output | statistic) of each output; for one of `pairs`, computed only once."""
        key = id(self), id(statistic)
        if key not in _LAWS:
            log_p = np.array([float(self.mechanism.logp(z, statistic)) for z in self.outputs])
            log_p.setflags(write=False)
            _LAWS[key] = statistic, log_p  # a statistic that is kept keeps its id
        return _LAWS[key][1]


def counts(n: int) -> list[tuple[bdp.Count, bdp.Count]]:
    return list(itertools.pairwise(bdp.Count(x, n) for x in range(n + 1)))


def category_counts(n: int, k: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of counts of n records where one record changes its category."""
    all_counts = [c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n]
    return [
        (one, other)
        for one, other in itertools.combinations(all_counts, 2)
        if sum(abs(x - y) for x, y in zip(one, other, strict=True)) == 2
    ]


def integers(low: int, high: int, step: int = 1) -> list[tuple[int, int]]:
    return [(x, x + step) for x in range(low, high - step + 1)]


def plane(values: Any) -> np.ndarray:
    return np.array(list(itertools.product(values, repeat=2)))


def vectors(values: Any, d: int, near: Any) -> list[tuple[Any, Any]]:
    """All neighbours among the vectors of those values."""
    every = list(itertools.combinations(itertools.product(values, repeat=d), 2))
    return [(one, other) for one, other in every if near(np.subtract(one, other))]
