"""The question that a plan answers: the model, the expected data, and the interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.core.views import AnswersView, CountView, NoiseView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning import families, intervals
from bayesdp.evaluation.planning.counts import Proportion
from bayesdp.evaluation.planning.designs import Design, is_mechanism
from bayesdp.evaluation.planning.families import Simulator
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.mechanisms.counts.count import Count


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
    def family(self) -> str:
        """Family of the model, or an empty string."""
        return str(getattr(self.model, "family", ""))

    def proportion(self) -> Proportion | None:
        """Setting of the estimand, if that is a proportion of a public number of records."""
        if self.simulate is not None or not isinstance(self.n, int):
            return None
        if self.family == "binomial" and self.model.weights is None and self.model.n is None:
            return Proportion(self.n, self.model.prior, self.prior, self.level)
        if self.family == "multinomial":
            j = _category(self.model, self.estimand)
            own, design = ((a[j], sum(a) - a[j]) for a in (self.model.prior, self.prior))
            return Proportion(self.n, own, design, self.level)
        return None

    def simulator(self, design: Design) -> Simulator:
        """Simulator of the family's data, in the form that the design takes."""
        if self.simulate is not None:
            return Simulator(_checked(self.simulate), self.reference)
        made, estimand = design.make(1.0), self.estimand_of(design)
        if self.family == "binomial":
            return _as_taken(families.proportions(self.prior, self.n), made)
        if self.family == "multinomial" and is_mechanism(made):
            counted = view_of(made, AnswersView) is None
            return families.categories(self.prior, self.n, estimand, counted=counted)
        about = (self.model, self.prior, self.n, self.level)
        bounds = getattr(getattr(made, "family", None), "bounds", None)
        if self.family == "gaussian" and bounds is not None:
            return families.normal_records(*about, estimand, bounds)
        if self.family == "gamma" and bounds is not None:
            return families.gamma_records(*about, estimand, clip=made.clip)
        expected, bounds = getattr(made, "expected", None), getattr(made, "bounds", None)
        if self.family == "poisson" and isinstance(expected, Mapping):
            area = _second(estimand)
            return families.events(self.prior, self.model.prior, expected, self.level, area)
        if self.family == "linear_regression" and isinstance(bounds, Mapping):
            return families.regressions(*about, _second(estimand), bounds)
        raise families.no_simulator(self.model, made)

    def estimand_of(self, design: Design) -> Any:
        """Return the interval's estimand, in the form that the model's intervals take."""
        model, given = self.model, self.estimand
        if self.family == "binomial":
            return _one_of(given, ("p",), "p")
        if self.family == "multinomial":
            return _category(model, given)
        if self.family == "gaussian":
            return _one_of(given, ("mu",) if model.sd is not None else ("mu", "sigma"), "mu")
        if self.family == "gamma":
            return _one_of(given, ("mean", "rate"), "mean")
        if given is None and self.family == "poisson":
            expected = getattr(design.make(1.0), "expected", None)
            given = ("rate", next(iter(expected))) if isinstance(expected, Mapping) else None
        if given is None and self.family == "linear_regression":
            columns = model.predictors or getattr(design.make(1.0), "bounds", None) or ()
            names = [name for name in columns if name != model.response]
            given = ("beta", names[0]) if names else None
        pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)
        if not (pair or callable(given) or (isinstance(given, str) and given)):
            raise InvalidInput(
                f"estimand is {quoted(given)}; name what the interval is of, a variable of what "
                "the model's fit returns, as 'tau' or ('beta', 'age'), or give a function of the "
                "InferenceData that returns draws"
            )
        return given

    def interval(self, design: Design) -> intervals.Reader:
        """Return the function that finds the model's interval from a release and a seed."""
        known: dict[str, Any] = {
            "binomial": intervals.binomial,
            "multinomial": intervals.multinomial,
            "gamma": intervals.gamma,
            "gaussian": intervals.gaussian,
        }
        made: Callable[..., intervals.Reader] = known.get(self.family, intervals.by_draws)
        return made(self.model, self.estimand_of(design), self.level, self.fit_options)


def design_of(model: Any, n: Any, given: Any) -> Any:
    """Return the design prior, checked in the form of the model's prior.

    Raises
    ------
    InvalidInput
        If it isn't valid, or is missing where the model's prior is flat, or the family has no
        simulator.
    """
    family = getattr(model, "family", "")
    prior = getattr(model, "prior", None) if given is None else given
    if family == "binomial":
        return families.design_of_proportion(prior)
    if family in ("poisson", "gamma"):
        return check_prior(prior, "design_prior", law="gamma")
    if family == "multinomial":
        try:
            alike = type(model)(prior)
        except InvalidInput as error:
            raise InvalidInput(f"design_prior: {error}") from error
        if len(alike.prior) != len(model.prior):
            raise InvalidInput(
                f"design_prior has {len(alike.prior)} numbers; the model's prior has "
                f"{len(model.prior)}"
            )
        return alike.prior
    if family == "gaussian":
        if prior is None:
            raise InvalidInput(
                "design_prior is missing: the model's prior is flat, which says nothing of data; "
                "give (m0, s0), as design_prior=(170, 10)"
            )
        try:
            return type(model)(prior, model.sd).prior
        except InvalidInput as error:
            raise InvalidInput(f"design_prior: {error}") from error
    if family == "linear_regression":
        return prior
    raise InvalidInput(
        f"plan doesn't know what data a {type(model).__name__} expects; give simulate=, a function "
        "of a numpy generator that returns the estimand's true value and the data"
    )


def _one_of(given: Any, allowed: tuple[str, ...], default: str) -> str:
    if given is None:
        return default
    if given not in allowed:
        raise InvalidInput(f"estimand is {quoted(given)}; it must be one of {list(allowed)}")
    return str(given)


def _category(model: Any, given: Any) -> int:
    category = 0 if given is None else given
    if isinstance(category, bool) or category not in range(len(model.prior)):
        raise InvalidInput(
            f"estimand is {quoted(given)}; it must be a category, from 0 to {len(model.prior) - 1}"
        )
    return int(category)


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
