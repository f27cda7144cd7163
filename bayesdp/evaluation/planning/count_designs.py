"""Designs that `plan` knows by name: mechanisms for counts, each calibrated by its own rule.

All are under replace-one, the number of records public. Another package adds one by an entry point
of the group "bayesdp.designs", a dataclass with the fields and members of `CountDesign`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bayesdp.mechanisms.counts.beta_binomial import BetaBinomialMechanism
from bayesdp.mechanisms.counts.dirichlet_multinomial import DirichletMultinomialMechanism
from bayesdp.mechanisms.counts.histogram import PerturbedHistogramMechanism
from bayesdp.mechanisms.counts.randomized_response import RandomizedResponseMechanism
from bayesdp.mechanisms.noise.gaussian import DiscreteGaussianMechanism
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.registry import Registry

DESIGNS = Registry(
    "bayesdp.designs",
    "bayesdp.evaluation.planning",
    {
        "beta_binomial": "count_designs:BetaBinomial",
        "dirichlet_multinomial": "count_designs:DirichletMultinomial",
        "discrete_laplace": "count_designs:DiscreteLaplace",
        "discrete_gaussian": "count_designs:DiscreteGaussian",
        "perturbed_histogram": "count_designs:PerturbedHistogram",
        "randomized_response": "count_designs:RandomizedResponse",
    },
)
"""By the names of their mechanisms; another package's are entry points of this group."""


@dataclass(frozen=True)
class CountDesign:
    """Base of the designs: how a mechanism for counts is made at any epsilon.

    Attributes
    ----------
    n : int
        Number of records.
    categories : int
        Number of categories; two for a proportion.
    copies : int
    delta : float
    """

    n: int
    categories: int
    copies: int
    delta: float

    families: ClassVar[tuple[str, ...]]
    """Of the models that it is compared for."""
    needs_delta: ClassVar[bool] = False
    """Whether it has no pure promise."""
    copied: ClassVar[bool] = False
    """Whether copies are offered: elsewhere one release tells as much as several."""

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        raise NotImplementedError


@dataclass(frozen=True)
class BetaBinomial(CountDesign):
    """Design of beta-binomial copies of a count of ones."""

    families = ("binomial",)
    copied = True

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return BetaBinomialMechanism.calibrate(
            n=self.n, size=self.n, epsilon=epsilon, copies=self.copies
        )


@dataclass(frozen=True)
class DirichletMultinomial(CountDesign):
    """Design of Dirichlet-multinomial copies of counts of categories."""

    families = ("multinomial",)
    copied = True

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return DirichletMultinomialMechanism.calibrate(
            n=self.n,
            size=self.n,
            cells=self.categories,
            epsilon=epsilon,
            copies=self.copies,
            delta=self.delta,
        )


@dataclass(frozen=True)
class DiscreteLaplace(CountDesign):
    """Design of a count of ones with discrete Laplace noise."""

    families = ("binomial",)

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return DiscreteLaplaceMechanism.calibrate(
            epsilon=epsilon, sensitivity=1, neighbours=Neighbours.REPLACE_ONE, n=self.n
        )


@dataclass(frozen=True)
class DiscreteGaussian(CountDesign):
    """Design of a count of ones with discrete Gaussian noise."""

    families = ("binomial",)
    needs_delta = True

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return DiscreteGaussianMechanism.calibrate(
            epsilon=epsilon,
            delta=self.delta,
            sensitivity=1,
            neighbours=Neighbours.REPLACE_ONE,
            n=self.n,
        )


@dataclass(frozen=True)
class PerturbedHistogram(CountDesign):
    """Design of counts of categories with discrete Laplace noise, none below 0."""

    families = ("multinomial",)

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return PerturbedHistogramMechanism.calibrate(
            epsilon=epsilon, cells=self.categories, neighbours=Neighbours.REPLACE_ONE, n=self.n
        )


@dataclass(frozen=True)
class RandomizedResponse(CountDesign):
    """Design of one randomized response for each record."""

    families = ("binomial", "multinomial")

    def make(self, epsilon: float) -> Any:
        """Calibrate the mechanism."""
        return RandomizedResponseMechanism.calibrate(
            epsilon=epsilon, categories=self.categories, n=self.n
        )
