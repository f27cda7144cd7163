"""Models that `plan` knows: the data that each expects, and the interval that it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayesdp.core.views import AnswersView, CountView, NoiseView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning import families, intervals
from bayesdp.evaluation.planning.counts import Proportion
from bayesdp.evaluation.planning.designs import is_mechanism
from bayesdp.evaluation.planning.families import Simulator
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.counts.count import Count


class About(NamedTuple):
    """Knowledge of the data: the design prior and the number of records; and intervals' level."""

    prior: Any
    n: Any
    level: float


@dataclass(frozen=True)
class Expected:
    """Base of the models that `plan` knows; by itself any other, whose data it can't make up."""

    model: Any

    sized: ClassVar[bool] = True
    """Whether the number of records is asked for."""
    listed: ClassVar[bool] = False
    """Whether the outputs of `DESIGNS` are listed for the model, if they aren't too many."""
    reader: ClassVar[Callable[..., intervals.Reader]] = staticmethod(intervals.by_draws)

    def design(self, given: Any) -> Any:
        """Return the design prior, checked in the form of the model's prior, which is the default.

        Raises
        ------
        InvalidInput
            If it isn't valid, or is missing where the model's prior is flat, or there is no
            simulator.
        """
        raise InvalidInput(
            f"plan doesn't know what data a {type(self.model).__name__} expects; give simulate=, a "
            "function of a numpy generator that returns the estimand's true value and the data"
        )

    def proportion(self, about: About, estimand: Any) -> Proportion | None:
        """Setting of the estimand, if that is a proportion of a public number of records."""
        return None

    def estimand(self, given: Any, make: Callable[[float], Any]) -> Any:
        """Return the estimand as the intervals take it, given a design's `make`, or refuse it."""
        if given is None:
            given = self.usual(make)
        pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)
        if not (pair or callable(given) or (isinstance(given, str) and given)):
            raise InvalidInput(
                f"estimand is {quoted(given)}; name what the interval is of, a variable of what "
                "the model's fit returns, as 'tau' or ('beta', 'age'), or give a function of the "
                "InferenceData that returns draws"
            )
        return given

    def usual(self, make: Callable[[float], Any]) -> Any:
        """The estimand where none is given, if there is one."""
        return None

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        """Simulator of data in the form that what a design makes takes, or InvalidInput."""
        raise families.no_simulator(self.model, made)


class _Binomial(Expected):
    listed = True
    reader = staticmethod(intervals.binomial)

    def design(self, given: Any) -> Any:
        return families.design_of_proportion(self.model.prior if given is None else given)

    def proportion(self, about: About, estimand: Any) -> Proportion | None:
        if self.model.weights is not None or self.model.n is not None:
            return None
        return Proportion(about.n, self.model.prior, about.prior, about.level)

    def estimand(self, given: Any, make: Callable[[float], Any]) -> Any:
        return _one_of(given, ("p",), "p")

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        return _as_taken(families.proportions(about.prior, about.n), made)


class _Multinomial(Expected):
    reader = staticmethod(intervals.multinomial)

    def design(self, given: Any) -> Any:
        alike = _alike(self.model, self.model.prior if given is None else given)
        if len(alike.prior) != len(self.model.prior):
            raise InvalidInput(
                f"design_prior has {len(alike.prior)} numbers; the model's prior has "
                f"{len(self.model.prior)}"
            )
        return alike.prior

    def proportion(self, about: About, estimand: Any) -> Proportion | None:
        j = self._category(estimand)
        own, design = ((a[j], sum(a) - a[j]) for a in (self.model.prior, about.prior))
        return Proportion(about.n, own, design, about.level)

    def estimand(self, given: Any, make: Callable[[float], Any]) -> Any:
        return self._category(given)

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        if not is_mechanism(made):
            return super().simulator(about, made, estimand)
        counted = view_of(made, AnswersView) is None
        return families.categories(about.prior, about.n, estimand, counted=counted)

    def _category(self, given: Any) -> int:
        category, cells = 0 if given is None else given, len(self.model.prior)
        if isinstance(category, bool) or category not in range(cells):
            raise InvalidInput(
                f"estimand is {quoted(given)}; it must be a category, from 0 to {cells - 1}"
            )
        return int(category)


class _Gaussian(Expected):
    reader = staticmethod(intervals.gaussian)

    def design(self, given: Any) -> Any:
        prior = self.model.prior if given is None else given
        if prior is None:
            raise InvalidInput(
                "design_prior is missing: the model's prior is flat, which says nothing of data; "
                "give (m0, s0), as design_prior=(170, 10)"
            )
        return _alike(self.model, prior, self.model.sd).prior

    def estimand(self, given: Any, make: Callable[[float], Any]) -> Any:
        return _one_of(given, ("mu",) if self.model.sd is not None else ("mu", "sigma"), "mu")

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        bounds = getattr(getattr(made, "family", None), "bounds", None)
        if bounds is None:
            return super().simulator(about, made, estimand)
        return families.normal_records(self.model, *about, estimand, bounds)


class _Gamma(Expected):
    reader = staticmethod(intervals.gamma)

    def design(self, given: Any) -> Any:
        return _rate_prior(self.model, given)

    def estimand(self, given: Any, make: Callable[[float], Any]) -> Any:
        return _one_of(given, ("mean", "rate"), "mean")

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        if getattr(getattr(made, "family", None), "bounds", None) is None:
            return super().simulator(about, made, estimand)
        return families.gamma_records(self.model, *about, estimand, clip=made.clip)


class _Poisson(Expected):
    sized = False

    def design(self, given: Any) -> Any:
        return _rate_prior(self.model, given)

    def usual(self, make: Callable[[float], Any]) -> Any:
        expected = getattr(make(1.0), "expected", None)
        return ("rate", next(iter(expected))) if isinstance(expected, Mapping) else None

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        expected = getattr(made, "expected", None)
        if not isinstance(expected, Mapping):
            return super().simulator(about, made, estimand)
        own, area = self.model.prior, _second(estimand)
        return families.events(about.prior, own, expected, about.level, area)


class _LinearRegression(Expected):
    def design(self, given: Any) -> Any:
        return self.model.prior if given is None else given

    def usual(self, make: Callable[[float], Any]) -> Any:
        columns = self.model.predictors or getattr(make(1.0), "bounds", None) or ()
        names = [name for name in columns if name != self.model.response]
        return ("beta", names[0]) if names else None

    def simulator(self, about: About, made: Any, estimand: Any) -> Simulator:
        bounds = getattr(made, "bounds", None)
        if not isinstance(bounds, Mapping):
            return super().simulator(about, made, estimand)
        return families.regressions(self.model, *about, _second(estimand), bounds)


EXPECTED: dict[str, type[Expected]] = {
    "binomial": _Binomial,
    "gamma": _Gamma,
    "gaussian": _Gaussian,
    "linear_regression": _LinearRegression,
    "multinomial": _Multinomial,
    "poisson": _Poisson,
}
"""By a model's family."""


def expected_of(model: Any) -> Expected:
    """Look up the class of a model by its family."""
    return EXPECTED.get(getattr(model, "family", ""), Expected)(model)


def _alike(model: Any, *given: Any) -> Any:
    """Make a model with the design prior, which is checked by it."""
    try:
        return type(model)(*given)
    except InvalidInput as error:
        raise InvalidInput(f"design_prior: {error}") from error


def _rate_prior(model: Any, given: Any) -> Any:
    return check_prior(model.prior if given is None else given, "design_prior", law="gamma")


def _one_of(given: Any, allowed: tuple[str, ...], default: str) -> str:
    if given is None:
        return default
    if given not in allowed:
        raise InvalidInput(f"estimand is {quoted(given)}; it must be one of {list(allowed)}")
    return str(given)


def _second(estimand: Any) -> Any:
    if not isinstance(estimand, tuple):
        raise InvalidInput(
            f"estimand is {quoted(estimand)}, of which plan can't make up the true value; give one "
            "number's name, as ('beta', 'age') or ('rate', 'north'), or simulate="
        )
    return estimand[1]


def _as_taken(simulator: Simulator, made: Any) -> Simulator:
    """Return binary records as a mechanism's own statistic."""
    summed = view_of(made, NoiseView) is not None
    counted = view_of(made, CountView) is not None

    def simulate(rng: np.random.Generator) -> tuple[float, Any]:
        true, records = simulator.simulate(rng)
        if summed:
            return true, int(records.sum())
        return true, Count.of(records) if counted else records

    return Simulator(simulate)
