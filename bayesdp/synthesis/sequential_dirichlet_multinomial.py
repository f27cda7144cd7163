"""Private copies of categorical tables, from posterior predictives with perturbed priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.mechanisms.counts.sequential_dirichlet_multinomial import (
    SequentialDirichletMultinomialMechanism,
    check_categorical,
)
from bayesdp.mechanisms.families.base import Sums
from bayesdp.mechanisms.modips.sequential.steps import CategoricalColumns
from bayesdp.synthesis.sequential import SequentialSynthesizer


@dataclass(frozen=True)
class SequentialDirichletMultinomialSynthesizer(SequentialSynthesizer):
    """Synthesize tables of labels from a model of their associations, without noise on any count.

    Every copy has all columns of all steps, and records of its own, drawn from the posterior
    predictive of a sequence of Dirichlet-multinomial conditionals, whose priors are made strong
    enough for privacy (Charest 2010). Each step's columns depend on the labels in its `by`, and
    given these on no other column; steps in the order of a junction tree make a decomposable
    log-linear model. `bayesdp.mechanisms.counts.sequential_dirichlet_multinomial` has the law and
    the proof. `bdp.TableModel` reads the copies.

    Copies tell less than those of `SequentialModipsSynthesizer` at a common epsilon: of 2,000
    records, in two steps at epsilon = 2, a difference of two proportions, 0.25, has 95% intervals
    that are 0.31 long by a copy of 1,000 records, which cover in 37 of 40 releases, and 0.14 by a
    copy of modips, by the same model. Use it where epsilon is large, or noise on counts is out of
    the question; and choose `size`: more records draw less at random, but need stronger priors.

    Parameters
    ----------
    steps : sequence of CategoricalColumns
        The steps, in the order of the model, without priors, which follow from epsilon. Where all
        columns of one step, own and given, are given to another, join the two.
    epsilon : float
        Total privacy cost of all copies; a pure promise.
    copies : int
        Number of independent copies.
    size : int, optional
        Synthetic records in each copy. Default: the number of confidential ones, where it is
        public. Priors are in proportion to it.
    public_n : bool
        Whether the number of records is public. If it is, it is written into the release, and the
        promise is about replacing one record. If not, the promise is about adding or removing one,
        and `size` must be given.
    weights : sequence of float, optional
        Each step's share of epsilon, positive with sum 1. Default: equal shares.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a step is of numbers.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> import pandas as pd
    >>> Labels = bdp.synthesizers.CategoricalColumns
    >>> synthesizer = SequentialDirichletMultinomialSynthesizer(
    ...     [
    ...         Labels({"sex": ("f", "m"), "smokes": (False, True)}),
    ...         Labels({"coughs": (False, True)}, by=["smokes"]),
    ...     ],
    ...     epsilon=2.0,
    ...     copies=1,
    ... )
    >>> people = {"sex": ["f", "m"], "smokes": [False, True], "coughs": [False, True]}
    >>> release = synthesizer.release(pd.DataFrame(people))
    >>> list(release.to_frames()[0].columns)
    ['sex', 'smokes', 'coughs']
    """

    steps: Sequence[CategoricalColumns]
    epsilon: float = 1.0
    copies: int = 1
    size: int | None = None
    public_n: bool = True
    weights: Sequence[float] | None = None

    check_own = staticmethod(check_categorical)

    def statistic(self, tally: Sums) -> Any:
        """Counts of all steps' cells, one step after another."""
        return tally.totals

    def mechanism(self, known: int | None, epsilon: Any) -> SequentialDirichletMultinomialMechanism:
        """The mechanism of a table of `known` records; None if that number is confidential."""
        size: Any = self.size or known
        return SequentialDirichletMultinomialMechanism.calibrate(
            epsilon=epsilon,
            steps=self.steps,
            size=size,
            n=known,
            copies=self.copies,
            weights=self.weights,
        )
