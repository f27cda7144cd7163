r"""An exact statistic, without noise: its law is a point mass, and its promise distributional.

No deterministic release but a constant one is differentially private, at any epsilon and any
delta < 1 (Groce 2014, Theorem 3.5): two neighbours whose statistics differ have laws with disjoint
supports. A promise is possible about a class of laws of the data; it is computed from public
parameters by one of the calculators in `bayesdp.privacy.distributional` and carried by the
mechanism.

A second copy is the same number again, so copies cost nothing. Counts below a public `threshold`
may be shown as 0, as in a truncated histogram (Groce 2014, section 6.2): the law is then that of
the suppressed counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Never

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    check_at_least_one,
    check_delta,
    check_flag,
    check_one_statistic,
)
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import Ends, ExactView, Floats, Integer, Integers, IntegersView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.count import Count, count_view
from bayesdp.privacy.distributional.guarantee import DistributionalGuarantee
from bayesdp.privacy.neighbours import Neighbours

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExactStatisticMechanism(Mechanism):
    """Release a statistic as it is, under a distributional promise.

    Parameters
    ----------
    promise : DistributionalGuarantee
        The result of a calculator of `bdp.distributional`, from public parameters alone.
    n : int, optional
        Number of records, where it is public.
    dimension : int, optional
        Length of a vector statistic; None for scalars.
    whole : bool
        Whether the statistic is made of integers. A scalar one may be a `Count` of ones.
    threshold : int, optional
        Counts below it are shown as 0; for integers only.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Its guarantee has no neighbouring relation. `bdp.compose`, ledgers and audits refuse it.

    A real statistic is released as a float, which is post-processing of the exact one. Where the
    class of laws has densities, that the records were recorded to a finite precision is not part
    of the promise; laws on a lattice are classes of their own.
    """

    promise: DistributionalGuarantee
    n: int | None = None
    dimension: int | None = None
    whole: bool = False
    threshold: int | None = None

    name: ClassVar[str] = "exact_statistic"
    neighbours: ClassVar[None] = None  # its promise is under no relation
    log_concave: ClassVar[bool] = False  # it is, but a search for its mode would miss the point

    def __post_init__(self) -> None:
        promise: Any = self.promise
        if isinstance(promise, Mapping):
            try:
                promise = DistributionalGuarantee(**promise)
            except TypeError as error:
                raise InvalidInput(f"promise has the fields {sorted(promise)}: {error}") from error
            object.__setattr__(self, "promise", promise)
        if not isinstance(promise, DistributionalGuarantee):
            raise InvalidInput(
                f"promise is a {type(promise).__name__}; an exact statistic has no differential "
                "privacy, at any epsilon: it must be a bdp.distributional.DistributionalGuarantee"
            )
        for name in ("n", "dimension", "threshold"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_at_least_one(name, value, "or None"))
        check_flag("whole", self.whole)
        if self.threshold is not None and not self.whole:
            raise InvalidInput(
                f"threshold is {self.threshold}, but the statistic isn't made of counts; give "
                "whole=True, or leave it out"
            )

    # What is promised.

    def guarantee(  # type: ignore[override]  # the one promise of another kind
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> DistributionalGuarantee:
        """The distributional promise, the same for any number of copies and at any `delta`.

        Raises
        ------
        InvalidInput
            If a neighbouring relation is asked for: there is no promise under any.
        """
        copies = check_at_least_one("copies", copies)
        delta = check_delta(delta)
        if neighbours is not None:
            self._no_relation(f"neighbours is {quoted(neighbours)}")
        return self.promise

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Never:
        """Raise InvalidInput: nothing is promised about the removal of a record."""
        self._no_relation("a record removed is a neighbour")

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Never:
        """Raise InvalidInput: there is no epsilon, at any delta."""
        self._no_relation("a privacy profile is asked for")

    @staticmethod
    def _no_relation(what: str) -> Never:
        raise InvalidInput(
            f"{what}, but an exact statistic isn't differentially private under any relation; its "
            "promise is distributional: release.guarantee says for which laws of the data"
        )

    def pairs(self) -> Iterable[tuple[Any, Any]]:
        """Return no pairs: the promise isn't about neighbours."""
        return ()

    # What is released, and with what probability.

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return one statistic or several, as released; InvalidInput doesn't show them."""
        if isinstance(statistic, Count) and self.whole and self.dimension is None:
            if self.n is not None and np.any(np.asarray(statistic.n) != self.n):
                raise InvalidInput(f"the statistic is a Count of an n other than {self.n}")
            statistic = statistic.successes
        x = np.asarray(statistic)
        numbers = x.dtype.kind in "iuf" and not np.ma.is_masked(statistic)
        if not numbers or not np.all(np.isfinite(x)):
            raise InvalidInput(
                "the statistic must be made of finite numbers, none of them masked; it isn't shown"
            )
        if self.dimension is not None and (x.ndim == 0 or x.shape[-1] != self.dimension):
            raise InvalidInput(
                f"the statistic has shape {x.shape}; its last axis must have length dimension = "
                f"{self.dimension}"
            )
        if not self.whole:
            return x.astype(np.float64)
        if np.any(x != np.floor(x)) or np.any(np.abs(x) > _LARGEST):
            raise InvalidInput("the statistic is not whole; it isn't shown, being confidential")
        whole = x.astype(np.int64)
        if self.threshold is None:
            return whole
        if np.any(whole < 0):
            raise InvalidInput("the statistic has counts below 0; it isn't shown")
        return np.where(whole < self.threshold, 0, whole)

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one that can be released, else raise."""
        single = () if self.dimension is None else (self.dimension,)
        check_one_statistic(self.check_statistics(statistic).shape, single)
        return statistic

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[Any]:
        """Return the statistic itself, `copies` times."""
        return np.repeat(statistic[None], copies, axis=0)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log-probability: 0 where the output is what the statistic is shown as, else -inf.

        With a dimension, the last axis of both is the vector, and the others broadcast.
        """
        same = np.asarray(output) == self.check_statistics(statistic)
        if self.dimension is not None:
            same = same.all(axis=-1)
        return np.where(same, 0.0, -np.inf)

    @property
    def views(self) -> tuple[View, ...]:
        """Views of the statistic itself and, if it is made of integers, of the law of each."""
        shape = () if self.dimension is None else (self.dimension,)
        hidden = 0 if self.threshold is None else self.threshold - 1
        exact = ExactView(shape, self.whole, hidden)
        if not self.whole:
            return (exact,)
        whole = IntegersView(shape, partial(_integers, hidden))
        return (exact, whole) if shape else (exact, whole, count_view(self))

    @property
    def space(self) -> Numbers:
        """The statistic's numbers; those below the threshold are 0."""
        return Numbers(self.dimension, self.whole, threshold=self.threshold)


def value_of(outputs: Sequence[Any]) -> Any:
    """Return the statistic that all copies agree on.

    Raises
    ------
    InvalidInput
        If they differ.
    """
    if any(output != outputs[0] for output in outputs):
        raise InvalidInput(
            "copies of an exact statistic differ, so the outputs have probability zero under any "
            "model; was something else released?"
        )
    return outputs[0]


def _integers(hidden: int, outputs: Sequence[Any]) -> list[Integer]:
    """Laws of integers that are known or, where 0 is shown, at most `hidden`."""

    def integer(low: int, high: int) -> Integer:
        def within(ends: Ends, times: float) -> Ends:
            return max(ends[0], low), min(ends[1], high)

        def logp(x: Integers) -> Floats:
            return np.where((x >= low) & (x <= high), 0.0, -np.inf)

        return Integer(within, logp)

    known = np.atleast_1d(value_of(outputs)).tolist()
    return [integer(z, hidden if z == 0 else z) for z in known]
