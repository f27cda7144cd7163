"""Releases as a record model reads them: the mechanism's law given a sum of records.

A mechanism is record-additive where its law depends on the records through a sum of their
contributions to a statistic, or is a product over the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayesdp.core.views import AnswersView, ChoiceView, DrawnCountsView, NoiseView, view_of
from bayesdp.engines import augmentation_laws as laws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts.multinomial_response import Responses, patterns_of

TAKES = (
    "LaplaceMechanism, DiscreteLaplaceMechanism, GaussianMechanism, DiscreteGaussianMechanism and "
    "PerturbedHistogramMechanism (a record adds a number or a vector to the noisy statistic), "
    "RandomizedResponseMechanism (a record's statistic is its category), ExponentialMechanism (a "
    "record adds to every candidate's utility), DirichletMultinomialMechanism and "
    "BetaBinomialMechanism, and ConjugateMechanism of method 'synthetic_one' (a record adds 1 to "
    "the count of its category, or to that of ones or of zeros, in this order)"
)
_NARROW = 32.0  # scales of Gaussian noise whose tails are summed term by term, in steps


@dataclass(frozen=True)
class AdditiveLaw:
    """Law of a release given a sum over the records.

    Attributes
    ----------
    size : int
        Components of the sum.
    function : callable
        Compiled function of `parameters` and a total: log Pr[all outputs | total].
    parameters : NamedTuple
        The mechanism's public numbers.
    """

    size: int
    function: Callable[..., float]
    parameters: NamedTuple


def law_of(mechanism: Any, outputs: Any) -> AdditiveLaw | Responses:
    """Return the law of a mechanism's outputs, shape (copies, ...), for data augmentation.

    Raises
    ------
    InvalidInput
        If the mechanism's law isn't known here as a function of a sum over the records.
    """
    if (noise := view_of(mechanism, NoiseView)) is not None:
        return _noisy(noise, outputs)
    if (answers := view_of(mechanism, AnswersView)) is not None:
        return patterns_of([(answers, np.asarray(outputs))])
    if (choice := view_of(mechanism, ChoiceView)) is not None:
        chosen = np.asarray(outputs, dtype=np.int64).ravel()
        return AdditiveLaw(choice.k, laws.choice_law, laws.ChoiceLaw(chosen, choice.rate))
    if (drawn := view_of(mechanism, DrawnCountsView)) is not None:
        return _copies(drawn, outputs)
    raise InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} isn't one whose law is known here as "
        f"that of a sum over the records; data augmentation takes {TAKES}"
    )


def _noisy(view: NoiseView, outputs: Any) -> AdditiveLaw:
    cell, size = view.cell, math.prod(view.shape)
    scale, gaussian = float(cell.noise.scale), not cell.noise.laplace
    low, high = cell.ends
    first, last = cell.bounds or (None, None)
    partial = np.zeros(0)
    if gaussian and scale < _NARROW:
        j = np.arange(1, math.ceil(40 * scale) + 1)
        partial = np.concatenate([[0.0], np.cumsum(np.exp(-((j / scale) ** 2) / 2))])
    parameters = laws.NoiseLaw(
        outputs=np.asarray(outputs, dtype=np.float64).reshape(-1, size) / cell.step,
        step=float(cell.step),
        whole=cell.whole,
        gaussian=gaussian,
        scale=scale,
        log_peak=float(cell.noise.log_pmf(0)),
        truncated=cell.bounding == "truncated",
        low=-math.inf if low is None else float(low),
        high=math.inf if high is None else float(high),
        first=-math.inf if first is None else float(first),
        last=math.inf if last is None else float(last),
        partial=partial,
    )
    function = laws.noise_law if cell.bounding is None else laws.bounded_noise_law
    return AdditiveLaw(size, function, parameters)


def _copies(view: DrawnCountsView, outputs: Any) -> AdditiveLaw:
    counts, size = view.counts(outputs), view.size
    each = special.gammaln(size + 1) - special.gammaln(counts + 1).sum(axis=1)
    parameters = laws.CopiesLaw(counts, view.alpha, float(size), float(each.sum()))
    return AdditiveLaw(view.alpha.size, laws.copies_law, parameters)
