"""Private copies of mixed tables: categorical and numeric columns, one group given another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.mechanisms.families.base import Sums
from bayesdp.mechanisms.modips.sequential.counts import statistic_of
from bayesdp.mechanisms.modips.sequential.layout import check_steps, layouts_of
from bayesdp.mechanisms.modips.sequential.mechanism import SequentialModipsMechanism
from bayesdp.mechanisms.modips.sequential.steps import Step
from bayesdp.synthesis.sequential import SequentialSynthesizer


@dataclass(frozen=True)
class SequentialModipsSynthesizer(SequentialSynthesizer):
    """Synthesize whole tables, privately, from a sequence of conditional models.

    Every copy has all columns of all steps, and records of its own. Each step declares what its
    columns depend on: categorical ones on the labels in `by`, numeric ones also on the numeric
    columns in `on` and on those before them in the same step. Given these, they are independent of
    all other columns in the model, and so in the copies.
    `bayesdp.mechanisms.modips.sequential.mechanism` has the model and the proof.

    More cells cost nothing, but each has noise of its own: where a cell has few records relative to
    the noise's scale (``release.mechanism.scales``), its part of a copy is close to the prior.
    `bdp.TableModel` reads the copies' categorical columns, their noise and synthesis accounted for,
    and `bdp.LinearRegressionModel` numeric ones without `by`, where the number of records is
    public; analyse others in each copy as data, and combine the results by `bdp.combine`.

    Parameters
    ----------
    steps : sequence of CategoricalColumns and NumericColumns
        The steps, in the order of the model.
    epsilon, delta : float
        Total privacy cost of all copies; delta in [0, 1), 0 for a pure promise.
    copies : int
        Number of independent copies, each with noise and parameters of its own.
    size : int, optional
        Synthetic records in each copy. Default: the number of confidential ones, where it is
        public.
    public_n : bool
        Whether the number of records is public. If it is, it is written into the release, and the
        promise is about replacing one record. If not, the promise is about adding or removing one,
        and `size` must be given.
    weights : sequence of float, optional
        Each step's share of epsilon, or of rho with Gaussian noise, positive with sum 1. Default:
        equal shares.
    noise : {"laplace", "gaussian"}
        The noise of every number of the statistics. Gaussian noise needs a delta; its scale grows
        with the number of numeric columns in a step, that of Laplace noise with its square.
    clip : bool
        Whether numbers out of their bounds are clipped to them; if not, such data are refused. The
        release says which.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> import pandas as pd
    >>> synthesizer = SequentialModipsSynthesizer(
    ...     [
    ...         bdp.synthesizers.CategoricalColumns({"sex": ("f", "m"), "smokes": (False, True)}),
    ...         bdp.synthesizers.NumericColumns(
    ...             {"age": (18, 90), "pressure": (70, 250)}, by=["sex"]
    ...         ),
    ...     ],
    ...     epsilon=2.0,
    ...     copies=3,
    ... )
    >>> people = {"sex": ["f", "m"], "smokes": [False, True], "age": [30, 41]}
    >>> release = synthesizer.release(pd.DataFrame(people | {"pressure": [99, 120]}))
    >>> list(release.to_frames()[0].columns)
    ['sex', 'smokes', 'age', 'pressure']
    """

    steps: Sequence[Step]
    epsilon: float = 1.0
    copies: int = 5
    size: int | None = None
    public_n: bool = True
    weights: Sequence[float] | None = None
    noise: str = "laplace"
    delta: float = 0.0
    clip: bool = False

    check_own = staticmethod(check_steps)

    def statistic(self, tally: Sums) -> Any:
        """The joint statistic of all steps, from sums."""
        return statistic_of(layouts_of(self.steps), tally, self.known(tally))

    def mechanism(self, known: int | None, epsilon: Any) -> SequentialModipsMechanism:
        """The mechanism of a table of `known` records; None if that number is confidential."""
        return SequentialModipsMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            copies=self.copies,
            weights=self.weights,
            noise=self.noise,
            steps=self.steps,
            size=self.size or known,
            n=known,
            clip=self.clip,
        )
