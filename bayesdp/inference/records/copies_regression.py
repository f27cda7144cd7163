"""Base of regressions of groups' censored copies on predictors of the groups.

A model gives the population of a group's records, as in `bayesdp.inference.records.copies`, and
one of its two parameters is linear in the group's predictors: `bayesdp.engines.exchange_groups`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, as_mapping, is_number, plain
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.views import View
from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta, known_size
from bayesdp.inference.records.copies import (
    ENDS,
    CensoredCopiesModel,
    Floats,
    rescaled,
    versions,
    view_of_copies,
)
from bayesdp.inference.several import Releases, only_one
from bayesdp.inference.sizes import kept_sizes, known_sizes, of_label, sizes_of_records
from bayesdp.progress import bar
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    from bayesdp.engines.exchange_groups import Regression

_INTERCEPT = "intercept"


@dataclass(frozen=True)
class CopiesRegressionModel(Model):
    """Base of regressions of groups of records in (0, 1), or other bounds, from censored copies.

    A model says its `population`, the prior of the parameter that all groups share, and how a
    group's parameters are named and its new records drawn, all for records rescaled to (0, 1).
    """

    predictors: Any = field(compare=False)
    prior: tuple[Any, Any] = (0.0, 2.5)
    n: Any = None

    population: ClassVar[str]
    """Its name in `bayesdp.engines.exchange`."""
    alone: ClassVar[str]
    """The model of one group."""
    views: ClassVar[tuple[type[View], ...]] = CensoredCopiesModel.views
    engines: ClassVar[tuple[str, ...]] = CensoredCopiesModel.engines
    reason: ClassVar[str] = CensoredCopiesModel.reason
    usual: ClassVar[tuple[int, int]] = CensoredCopiesModel.usual
    no_evidence: ClassVar[str] = CensoredCopiesModel.no_evidence
    derived: ClassVar[frozenset[str]] = frozenset({"mean"})
    means: ClassVar[frozenset[str]] = frozenset({"mean"})

    def __post_init__(self) -> None:
        plain(self)
        object.__setattr__(self, "predictors", _checked_predictors(self.predictors))
        object.__setattr__(self, "prior", self._checked_prior())
        object.__setattr__(self, "n", kept_sizes(self.n))

    @property
    def spread(self) -> tuple[float, float]:
        """Prior of the parameter that all groups share."""
        raise NotImplementedError

    def _named(self, g: Floats, h: Floats, bounds: tuple[float, float]) -> dict[str, Any]:
        """Name the shared parameter, shape (...), and groups' means at g, shape (..., groups)."""
        raise NotImplementedError

    def _spread_of_prior(self, draws: int, rng: Rng) -> Floats:
        """Draw h, the shared parameter as the engine has it, from its prior."""
        raise NotImplementedError

    @staticmethod
    def _new(theta: Theta, g: float, n: int, rng: Rng) -> Floats:
        """Draw n new records of a group, in (0, 1)."""
        raise NotImplementedError

    @property
    def terms(self) -> list[str]:
        """Names of the coefficients."""
        return [_INTERCEPT, *self.predictors]

    def read(self, release: Releases) -> Any:
        """Read the law of each group's copies, the copies, its predictors and what its n may be.

        Raises
        ------
        InvalidInput
            If there are several releases, fewer than two groups, or other bounds in some; if a
            group has no predictors; if the release isn't one of censored beta copies, or its
            records had weights; or if n is given by both or neither of release and model.
        """
        from bayesdp.engines.exchange_groups import GroupsPosterior

        given = only_one(release, "exchange")
        views = self._views_of(given)
        sizes = [sizes_of_records(self.n, [part], type(self).__name__) for part in given.parts]
        outputs = [part.outputs for part in given.parts]
        return GroupsPosterior(views, outputs, sizes, self._regression(given))

    def read_naive(self, release: Release) -> Any:
        """Read all copies' records of each group as if they were confidential ones."""
        views = self._views_of(release)
        return self._regression(release), [rescaled(p, views[0].bounds) for p in release.parts]

    def sample(self, run: Run) -> Draws:
        """Run chains over the coefficients, the records and what the mechanism drew."""
        from bayesdp.engines.exchange_groups import sample_groups

        target, terms = run.read, len(self.terms)
        with bar(run.progress, run.chains * (run.warmup + run.draws)) as step:
            kept = sample_groups(target, **run.chained, step=step)
        posterior = self._posterior(kept, target.regression, target.views[0].bounds)
        if any(len(each) > 1 for each in target.sizes):
            posterior["n"] = kept[..., terms + 1 : -2].astype(np.int64)
        statistics = {"lp": kept[..., -2], "acceptance_rate": kept[..., -1]}
        known = known_sizes(target.sizes)
        return Draws(posterior, statistics, "exchange", versions(), known=known)

    def naive(self, run: Run) -> Draws:
        """Draw the coefficients given the copies' records, taken for confidential ones."""
        from bayesdp.engines.exchange_groups import sample_known

        regression, records = run.read
        kept = sample_known(regression, records, **run.chained)
        bounds = self._views_of(run.release)[0].bounds
        posterior = self._posterior(kept, regression, bounds)
        return Draws(posterior, {"lp": kept[..., -1]}, "metropolis", versions())

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: a coefficient for each term, means and sizes of groups."""
        own = {"beta": ["coefficient"], "mean": ["group"], "n": ["group"]}
        dims = {name: own.get(name, []) for name in drawn.posterior}
        return {"dims": dims, "coords": {"coefficient": self.terms}}

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the coefficients and the shared parameter from their priors."""
        regression, terms = run.read.regression, len(self.terms)
        beta = rng.normal(regression.mean, regression.sd, (run.draws, terms))
        h = self._spread_of_prior(run.draws, rng)
        bounds = run.read.views[0].bounds
        made = self._posterior(np.column_stack([beta, h]), regression, bounds)
        if any(len(each) > 1 for each in run.read.sizes):
            pairs = [tuple(zip(*each, strict=True)) for each in run.read.sizes]
            made["n"] = np.column_stack([rng.choice(n, run.draws, p=p) for n, p in pairs])
        return made

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a group's new records, rescaled to (0, 1)."""
        return partial(self._records, part)

    def _records(self, part: Part, theta: Theta, rng: Rng) -> Any:
        """Draw a group's new records given one draw of the parameters."""
        n = int(theta["n"]) if "n" in theta else known_size(part, self.n)
        g = float(self._row(part.group) @ np.asarray(theta["beta"]))
        return self._new(theta, g, n, rng).clip(*ENDS)

    def _posterior(
        self, kept: Floats, regression: Regression, bounds: tuple[float, float]
    ) -> dict[str, Any]:
        """Name draws whose first columns are the coefficients and h."""
        terms = len(self.terms)
        beta, h = kept[..., :terms], kept[..., terms]
        return {"beta": beta, **self._named(beta @ regression.rows.T, h, bounds)}

    def _regression(self, release: Release) -> Regression:
        from bayesdp.engines.exchange_groups import Regression

        mean, sd = self._each(self.prior)
        return Regression(self.design(release.groups), mean, sd, self.spread, self.population)

    def design(self, groups: Sequence[Any]) -> NDArray[np.float64]:
        """Values of the terms for groups, shape (groups, terms).

        Raises
        ------
        InvalidInput
            If a group has no value of a predictor.
        """
        return np.array([self._row(label) for label in groups])

    def _row(self, label: Any) -> NDArray[np.float64]:
        """Values of the terms for a group."""
        row = [1.0]
        for name, values in self.predictors.items():
            found = of_label(values, label)
            if found is None:
                raise InvalidInput(
                    f"predictors has no {quoted(name)} of the group {quoted(label)}; give a public "
                    "number for each of the release's groups"
                )
            row.append(found)
        return np.array(row)

    def _views_of(self, release: Release) -> list[BetaCopiesView]:
        name = type(self).__name__
        views = [view_of_copies(part, name) for part in release.parts]
        if release.by is None or len(views) < 2:
            raise InvalidInput(
                f"the release has no groups, or one, and {name} compares groups; release by "
                f"group, or fit bdp.models.{self.alone}"
            )
        if len({view.bounds for view in views}) > 1:
            raise InvalidInput(
                "the groups were released between other bounds, and their means aren't on one "
                "scale then; take groups with the same bounds"
            )
        return views

    def _checked_prior(self) -> tuple[Any, Any]:
        """Return the prior, plain, or raise InvalidInput."""
        given = self.prior
        try:
            mean, sd = self._each(given)
        except (TypeError, ValueError):  # not two, or of another length
            mean = sd = np.array([math.nan])
        if not np.all(np.abs(mean) <= 100) or not np.all((sd >= 0.001) & (sd <= 100)):
            raise InvalidInput(
                f"prior is {quoted(given)}; it must be means, from -100 to 100, and standard "
                "deviations, from 0.001 to 100, of the coefficients' normal priors, as (0, 2.5): "
                f"one number for all, or one for each of {', '.join(self.terms)}; rescale a "
                "predictor whose coefficient is elsewhere"
            )
        first, second = (
            float(one) if is_number(one) else tuple(each.tolist())
            for one, each in zip(given, (mean, sd), strict=True)
        )
        return first, second

    def _each(self, prior: tuple[Any, Any]) -> tuple[Floats, Floats]:
        """Means and standard deviations of all coefficients."""
        mean, sd = prior
        count = len(self.terms)
        each = [np.broadcast_to(np.asarray(v, dtype=np.float64), count) for v in (mean, sd)]
        return each[0], each[1]


def _checked_predictors(given: Any) -> dict[str, dict[Any, float]]:
    """Return predictors as a mapping of names to mappings of labels to numbers."""
    if hasattr(given, "columns"):
        given = as_mapping("predictors", given)
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"predictors is {kind_of(given)}; it must map each predictor to its values by group, "
            "as {'age': {'north': 41, 'south': 38}}, or be a DataFrame with a row for each group"
        )
    made: dict[str, dict[Any, float]] = {}
    for name, column in given.items():
        values = as_mapping("predictors", column)
        if not isinstance(name, str) or not name or name == _INTERCEPT:
            raise InvalidInput(
                f"predictors has the name {quoted(name)}; names must be texts, and not "
                f"{quoted(_INTERCEPT)}, which there is anyhow"
            )
        if not isinstance(values, Mapping):
            raise InvalidInput(
                f"predictors has {kind_of(values)} for {quoted(name)}; it must map groups to "
                "numbers, as {'north': 41, 'south': 38}"
            )
        numbers = {label: as_float(value) for label, value in values.items()}
        wrong = [label for label, value in numbers.items() if not abs(value) <= 1e6]
        if wrong:
            raise InvalidInput(
                f"predictors has no number for {quoted(name)} of {quoted(wrong[0])}; values must "
                "be finite numbers, at most 1e6 in size: code a category by 0 and 1"
            )
        made[name] = numbers
    return made


def check_pair(name: str, pair: Any, words: str) -> tuple[float, float]:
    """Return two numbers from 0.1 to 1e6, or raise InvalidInput."""
    values: Sequence[Any] = pair if isinstance(pair, Sequence) and len(pair) == 2 else (None, None)
    first, second = (as_float(v) if is_number(v) else math.nan for v in values)
    if not (0.1 <= first <= 1e6 and 0.1 <= second <= 1e6):
        raise InvalidInput(f"{name} is {quoted(pair)}; it must be {words}, each from 0.1 to 1e6")
    return first, second
