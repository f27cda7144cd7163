"""Releases as a record model reads them: the mechanism's law given a sum of records.

A mechanism is record-additive where its law depends on the records through a sum of what each adds
to a statistic, or is a product over the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines import augmentation_laws as laws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts.multinomial_response import Responses, patterns_of
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism
from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism
from bayesdp.mechanisms.counts.randomized_response import RandomizedResponseMechanism
from bayesdp.mechanisms.noise.additive import AdditiveNoise
from bayesdp.mechanisms.noise.laws import LaplaceNoise
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism

Floats = NDArray[np.float64]

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
        Compiled; of `parameters` and a total, log Pr[all outputs | total].
    parameters : NamedTuple
        What is public.
    """

    size: int
    function: Callable[..., float]
    parameters: NamedTuple


@singledispatch
def law_of(mechanism: Any, outputs: Any) -> AdditiveLaw | Responses:
    """Return the law of a mechanism's outputs, shape (copies, ...), for data augmentation.

    Raises
    ------
    InvalidInput
        If the mechanism isn't one of those whose law is a function of a sum over the records.
    """
    raise _unlike(mechanism)


@law_of.register
def _(mechanism: AdditiveNoise, outputs: Any) -> AdditiveLaw:
    noise, step = mechanism.noise, mechanism.step
    scale, gaussian = float(noise.scale), not isinstance(noise, LaplaceNoise)
    low, high = mechanism.ends
    first, last = mechanism.bounds or (None, None)
    partial = np.zeros(0)
    if gaussian and scale < _NARROW:
        j = np.arange(1, math.ceil(40 * scale) + 1)
        partial = np.concatenate([[0.0], np.cumsum(np.exp(-((j / scale) ** 2) / 2))])
    size = mechanism.dimension or 1
    parameters = laws.NoiseLaw(
        outputs=np.asarray(outputs, dtype=np.float64).reshape(-1, size) / step,
        step=float(step),
        whole=mechanism.whole,
        gaussian=gaussian,
        scale=scale,
        log_peak=float(noise.log_pmf(0)),
        truncated=mechanism.bounding == "truncated",
        low=-math.inf if low is None else float(low),
        high=math.inf if high is None else float(high),
        first=-math.inf if first is None else float(first),
        last=math.inf if last is None else float(last),
        partial=partial,
    )
    function = laws.noise_law if mechanism.bounding is None else laws.bounded_noise_law
    return AdditiveLaw(size, function, parameters)


@law_of.register
def _(mechanism: RandomizedResponseMechanism, outputs: Any) -> Responses:
    return patterns_of([(mechanism, np.asarray(outputs))])


@law_of.register
def _(mechanism: ExponentialMechanism, outputs: Any) -> AdditiveLaw:
    chosen = np.asarray(outputs, dtype=np.int64).ravel()
    return AdditiveLaw(mechanism.k, laws.choice_law, laws.ChoiceLaw(chosen, float(mechanism.rate)))


@law_of.register
def _(mechanism: DirichletMultinomialMechanism, outputs: Any) -> AdditiveLaw:
    alpha = np.zeros(mechanism.cells)
    alpha[mechanism.support] = mechanism.alpha
    return _copies(np.asarray(outputs, dtype=np.float64), alpha, mechanism.size)


@law_of.register
def _(mechanism: BetaBinomialMechanism, outputs: Any) -> AdditiveLaw:
    ones = np.asarray(outputs, dtype=np.float64).ravel()
    both = np.stack([ones, mechanism.size - ones], axis=1)
    return _copies(both, np.array(mechanism.prior, dtype=np.float64), mechanism.size)


@law_of.register
def _(mechanism: ConjugateMechanism, outputs: Any) -> AdditiveLaw:
    if mechanism.method != "synthetic_one" or mechanism.family not in ("bernoulli", "categorical"):
        raise _unlike(mechanism)
    alpha, size = np.array(mechanism.prior, dtype=np.float64), int(mechanism.synthetic_size)
    z = np.asarray(outputs, dtype=np.float64)
    both = z if mechanism.family == "categorical" else np.stack([z, size - z], axis=1)
    return _copies(both, alpha, size)


def _unlike(mechanism: Any) -> InvalidInput:
    return InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} isn't one whose law is known here as "
        f"that of a sum over the records; data augmentation takes {TAKES}"
    )


def _copies(outputs: Floats, alpha: Floats, size: int) -> AdditiveLaw:
    each = special.gammaln(size + 1) - special.gammaln(outputs + 1).sum(axis=1)
    parameters = laws.CopiesLaw(outputs, alpha, float(size), float(each.sum()))
    return AdditiveLaw(alpha.size, laws.copies_law, parameters)
