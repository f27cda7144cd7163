"""The question that a plan answers: the model, the expected data, and the interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning import intervals
from bayesdp.evaluation.planning.counts import Proportion
from bayesdp.evaluation.planning.designs import Design
from bayesdp.evaluation.planning.expected import About, Expected, expected_of
from bayesdp.evaluation.planning.families import Simulator


@dataclass(frozen=True, eq=False)
class Question:
    """Arguments of `bdp.plan` that all designs share; `prior` is the design prior."""

    model: Any
    n: Any
    prior: Any
    level: float
    assurance: float | None
    estimand: Any
    simulate: Callable[[np.random.Generator], tuple[float, Any]] | None
    reference: Callable[[Any], tuple[float, float]] | None
    replicates: int | None
    fit_options: Mapping[str, Any]
    seed: int

    @property
    def expected(self) -> Expected:
        """The class of models that `plan` knows, or of others."""
        return expected_of(self.model)

    @property
    def _about(self) -> About:
        return About(self.prior, self.n, self.level)

    def proportion(self) -> Proportion | None:
        """Setting of the estimand, if that is a proportion of a public number of records."""
        if self.simulate is not None or not isinstance(self.n, int):
            return None
        return self.expected.proportion(self._about, self.estimand)

    def simulator(self, design: Design) -> Simulator:
        """Simulator of the model's data, in the form that the design takes."""
        if self.simulate is not None:
            return Simulator(_checked(self.simulate), self.reference)
        made = design.make(1.0)
        return self.expected.simulator(self._about, made, self.estimand_of(design))

    def estimand_of(self, design: Design) -> Any:
        """Return the interval's estimand, in the form that the model's intervals take."""
        return self.expected.estimand(self.estimand, design.make)

    def interval(self, design: Design) -> intervals.Reader:
        """Return the function that finds the model's interval from a release and a seed."""
        estimand = self.estimand_of(design)
        return self.expected.reader(self.model, estimand, self.level, self.fit_options)


def _checked(
    simulate: Callable[[np.random.Generator], tuple[float, Any]],
) -> Callable[[np.random.Generator], tuple[float, Any]]:
    """Wrap the user's function so that its answer is checked."""

    def checked(rng: np.random.Generator) -> tuple[float, Any]:
        simulated: Any = simulate(rng)
        if not isinstance(simulated, tuple) or len(simulated) != 2:
            raise InvalidInput(
                f"simulate returned a {type(simulated).__name__}; it must return two things, the "
                "estimand's true value and the data"
            )
        true = np.asarray(simulated[0])
        if true.ndim or true.dtype.kind not in "iuf" or not np.isfinite(true):
            raise InvalidInput(
                f"simulate returned {quoted(simulated[0])} for the estimand's true value; it must "
                "be a number"
            )
        return float(true), simulated[1]

    return checked
