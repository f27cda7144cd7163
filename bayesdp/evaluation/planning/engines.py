"""Engines that predict a design's intervals: by listing all outputs, or by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesdp.core.views import CountView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning.counts import Proportion
from bayesdp.evaluation.planning.designs import Design, promise
from bayesdp.evaluation.planning.laws import law_of_count, total_variation
from bayesdp.evaluation.planning.lengths import Lengths, lengths_of
from bayesdp.evaluation.planning.outlook import Outlook, known_advantage, outlook
from bayesdp.evaluation.planning.question import Question
from bayesdp.mechanisms.randomness import reproducible

Engine = Callable[[float], Outlook]
MOST_LISTED = 2000
"""Records whose counts are all listed."""
REPLICATES = 100
"""Simulated releases, each analysed by the model."""
_DRAWS = 1000  # outputs of a count, analysed together


def engine_of(question: Question, design: Design) -> Engine:
    """Choose enumeration if a count's outputs can be listed, and otherwise simulation."""
    question.estimand_of(design)  # which refuses what the model hasn't
    about = question.proportion() if question.expected.listed else None
    if about is not None and design.named and about.n <= MOST_LISTED:
        return _enumerating(question, design, about)
    return _simulating(question, design)


def _enumerating(question: Question, design: Design, about: Proportion) -> Engine:
    def at(epsilon: float) -> Outlook:
        made = design.make(epsilon)
        law = law_of_count(made, about.n)
        if law is None:
            raise InvalidInput(
                f"epsilon is {quoted(epsilon)}, so small that the noise of {quoted(design.name)} "
                "has too many values to list; plan with larger ones"
            )
        draws = question.replicates or _DRAWS
        lengths = lengths_of(about, law, design.copies, draws, question.seed)
        apart = known_advantage(made, design.copies)
        if apart == 1.0 and view_of(made, CountView) is not None:  # no more than the count is seen
            apart = 1 - (1 - min(1.0, total_variation(law))) ** design.copies
        guarantee = promise([made], design.copies, design.delta, epsilon)
        return outlook(lengths, guarantee, question.assurance, apart)

    return at


def _simulating(question: Question, design: Design) -> Engine:
    """Simulate data from the prior, a release of them, and the model's own posterior.

    Replicate r has the same data, and the same seeds of the release and of the fit, at every
    epsilon, so that differences between epsilons are due to epsilon rather than chance.
    """
    simulator, interval = question.simulator(design), question.interval(design)
    replicates = question.replicates or REPLICATES
    state = np.random.SeedSequence(question.seed).generate_state(2 * replicates, np.uint32) >> 1

    def at(epsilon: float) -> Outlook:
        made, results = design.make(epsilon), np.empty((replicates, 2))
        release: Any = None
        for r, (one, other) in enumerate(state.reshape(-1, 2).tolist()):
            true, data = simulator.simulate(generator_of(question.seed, r))
            with reproducible(one):
                release = design.release(made, data)
            low, high = interval(release, other)
            results[r] = high - low, low <= true <= high
        parts = [part.mechanism for part in release.parts]
        chances = np.full(replicates, 1 / replicates)
        lengths = Lengths(chances, results[:, 0], results[:, 1], 0.0, exact=False)
        apart = known_advantage(parts[0], release.copies) if len(parts) == 1 else 1.0
        guarantee = promise(parts, release.copies, design.delta, epsilon)
        return outlook(lengths, guarantee, question.assurance, apart)

    return at


def generator_of(seed: int, replicate: int) -> np.random.Generator:
    """Make the generator of a replicate's data."""
    return np.random.default_rng([seed, replicate])
