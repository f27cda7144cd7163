"""Propose-test-release of a bounded column: its quantiles' cells with noise, or refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, check_delta, check_share
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.selection.propose_test_release import ProposeTestReleaseMechanism
from bayesdp.mechanisms.selection.quantiles import check_probabilities
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.synthesis.histogram_bins import check_one_pair
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.quantiles import CellSynthesizer


def check_some_delta(delta: float, statistic: str) -> None:
    """Raise InvalidInput unless delta is positive, which a test that noise may pass needs."""
    if delta == 0:
        raise InvalidInput(
            f"delta is 0; {statistic} that a record moves further than proposed may pass the test, "
            "and no pure epsilon allows that: take a positive delta, such as 1e-6"
        )


@dataclass(frozen=True, eq=False)
class ProposeTestReleaseSynthesizer(CellSynthesizer):
    """Release a bounded column's median, or other quantiles, with noise that a private test allows.

    It is proposed how far a record moves the median. A private test of how many records keep that
    from being wrong is passed or not; then the median's cell leaves with noise for such a move, or
    nothing but that it is refused (`ProposeTestReleaseMechanism`). `bdp.models.QuantileModel`
    infers the population's quantiles from either, with intervals that account for the test, the
    noise and the sample.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies and quantiles, which have equal shares: of tests and noise.
    bounds : tuple of two floats
        (low, high), chosen without the data. Records beyond them are counted in the cell at that
        end, whatever they are.
    proposal : int
        The most that a record is proposed to move a quantile, in cells, chosen without the data.
    bins : int, or sequence of float
        Number of cells of equal width, 3 or more, or their edges, from bound to bound. They cost
        nothing.
    probabilities : sequence of float
        Probabilities of the quantiles, decimals with at most three digits. Default: the median.
    delta : float
        Total delta of all copies and quantiles, positive: of that a quantile passes which a record
        may move further than proposed.
    test_share : float
        Share of epsilon that pays for the tests, between 0 and 1; the rest is for the noise.
    copies : int
        Number of independent releases; each gets an equal share of epsilon and delta. One is more
        informative.
    groups : sequence of labels, optional
        All groups that may occur. Each has a test of its own.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range; by `release`, before anything is spent, if there are so
        few records that a test is unlikely to be passed whatever they are.

    Notes
    -----
    The promise is stated where a record is replaced: the number of records is public, and in the
    release. A refusal costs as much as a quantile, and another proposal is another release.

    It is passed where about log(1 / delta) / (test_share epsilon) records, as many times as there
    are quantiles and copies, are in any `proposal` neighbouring cells about the quantile; the noise
    is then proposal / ((1 - test_share) epsilon) cells wide. `QuantileSynthesizer` has no such
    threshold and no delta, and its intervals are shorter wherever we looked: take this one where
    noise that doesn't depend on the data, or a refusal, is what is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 9, 2000)
    >>> made = ProposeTestReleaseSynthesizer(epsilon=1.0, bounds=(0, 100), proposal=1)
    >>> release = made.release(ages)
    >>> release.mechanism.threshold, release.mechanism.n
    (27, 2000)
    """

    epsilon: float = declared(by_value(check_epsilon))
    bounds: tuple[float, float] = declared(check_one_pair)
    proposal: int = declared(check_at_least_one)
    bins: Any = 100
    probabilities: Sequence[float] = declared(check_probabilities, default=(0.5,))
    delta: float = declared(by_value(check_delta), default=1e-6)
    test_share: float = declared(check_share, default=0.5)
    copies: int = declared(check_at_least_one, default=1)
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_some_delta(self.delta, "a quantile")
        # Whose own checks raise.
        edges, probabilities = self.axis.edges or (), tuple(self.probabilities)
        ProposeTestReleaseMechanism(edges, self.proposal, 1, 1.0, 1.0, 1, probabilities)

    def mechanism(self, known: int | None, epsilon: Any) -> ProposeTestReleaseMechanism:
        """The mechanism of a group of `known` records."""
        return ProposeTestReleaseMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            copies=self.copies,
            test_share=self.test_share,
            edges=self.axis.edges or (),
            proposal=self.proposal,
            n=known,
            probabilities=tuple(self.probabilities),
        )
