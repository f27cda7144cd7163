"""Base of models of the confidential records behind copies of a censored beta posterior.

A model gives the population of the records in (0, 1): its prior, its draws and its named variables.
The copies' law is an integral with a normalizing constant that depends on the records, and the
exchange algorithm does without it: `bayesdp.engines.exchange`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_quantile_levels, keep
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.views import View, check_tractable
from bayesdp.engines.draws import Draws
from bayesdp.inference.base import Model, Run
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta, known_size
from bayesdp.inference.readers import read_view
from bayesdp.inference.several import Releases, one_group, only_one
from bayesdp.inference.sizes import kept_sizes, sizes_of_records
from bayesdp.progress import bar
from bayesdp.release import Part, Release

Floats = NDArray[np.float64]
Prior = tuple[float, float, float, float]
ENDS = 2.0**-1022, 1 - 2.0**-53  # of the floating-point numbers that records are


@dataclass(frozen=True)
class CensoredCopiesModel(Model):
    """Base of models of records in (0, 1), or other bounds, from censored beta copies.

    A model says its `population`, and how its prior is checked, its parameters drawn and named,
    and new records drawn, all for records rescaled to (0, 1).
    """

    prior: Prior
    n: Any = None
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)

    population: ClassVar[str]
    """Its name in `bayesdp.engines.exchange`."""
    grouped: ClassVar[str]
    """Name of the model that takes groups."""
    views: ClassVar[tuple[type[View], ...]] = (BetaCopiesView,)
    engines: ClassVar[tuple[str, ...]] = ("exchange",)
    takes_groups: ClassVar[bool] = False
    reason: ClassVar[str] = (
        "the copies' law has a constant that nobody knows, and drawing from the mechanism again "
        "makes it cancel"
    )
    usual: ClassVar[tuple[int, int]] = (4000, 1000)
    no_evidence: ClassVar[str] = (
        "the copies' law has a constant that nobody knows, which the exchange algorithm cancels "
        "and evidence would need"
    )
    """Why it has no log evidence here."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", self._checked_prior())
        object.__setattr__(self, "quantiles", check_quantile_levels("quantiles", self.quantiles))
        keep(self, n=kept_sizes(self.n))

    def _checked_prior(self) -> Prior:
        """Return the prior's numbers, or raise InvalidInput."""
        raise NotImplementedError

    def _named(self, g: Floats, h: Floats, bounds: tuple[float, float]) -> dict[str, Any]:
        """Name draws of the population's two parameters as the model does."""
        raise NotImplementedError

    def _of_prior(self, draws: int, rng: Rng) -> tuple[Floats, Floats]:
        """Draw the population's two parameters from their prior."""
        raise NotImplementedError

    @staticmethod
    def _new(theta: Theta, bounds: tuple[float, float], n: int, rng: Rng) -> Floats:
        """Draw n new records, in (0, 1), given one draw of the named variables."""
        raise NotImplementedError

    def read(self, release: Releases) -> Any:
        """Read the law of the copies, the copies, and what n may be.

        Raises
        ------
        InvalidInput
            If there are several releases or groups, the release isn't one of censored beta copies,
            its records had weights, or n is given by both or neither of release and model.
        """
        from bayesdp.engines.exchange import CopiesPosterior

        part = self._alone(only_one(release, "exchange")).parts[0]
        view = self._view_of(part)
        sizes = sizes_of_records(self.n, [part], type(self).__name__)
        return CopiesPosterior(view, part.outputs, self.prior, sizes, self.population)

    def read_naive(self, release: Release) -> Any:
        """Read all copies' records as if they were confidential ones."""
        part = self._alone(release).parts[0]
        return rescaled(part, self._view_of(part).bounds)

    def _alone(self, release: Release) -> Release:
        return one_group(release, f"fit bdp.models.{self.grouped}")

    def sample(self, run: Run) -> Draws:
        """Run chains over the parameters, the records and what the mechanism drew."""
        from bayesdp.engines.exchange import sample_exchange

        sweeps = run.chains * (run.warmup + run.draws)
        with bar(run.progress, sweeps) as step:
            kept = sample_exchange(run.read, **run.chained, step=step)
        posterior = self._named(kept[..., 0], kept[..., 1], run.read.view.bounds)
        if len(run.read.sizes) > 1:
            posterior["n"] = kept[..., 2].astype(np.int64)
        statistics = {"lp": kept[..., 3], "acceptance_rate": kept[..., 4]}
        return Draws(posterior, statistics, "exchange", versions())

    def naive(self, run: Run) -> Draws:
        """Draw the parameters given the copies' records, taken for confidential ones."""
        from bayesdp.engines.exchange import sample_records

        kept = sample_records(self.population, run.read, self.prior, **run.chained)
        bounds = self._view_of(run.release.parts[0]).bounds
        posterior = self._named(kept[..., 0], kept[..., 1], bounds)
        return Draws(posterior, {"lp": kept[..., 2]}, "metropolis", versions())

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: quantiles have their probabilities; other variables have none."""
        dims: dict[str, list[str]] = {name: [] for name in drawn.posterior}
        coords = {"probability": list(self.quantiles)}
        return {"dims": {**dims, "quantile": ["probability"]}, "coords": coords}

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw the parameters from their prior."""
        made = self._named(*self._of_prior(run.draws, rng), run.read.view.bounds)
        sizes, weights = zip(*run.read.sizes, strict=True)
        if len(sizes) > 1:
            made["n"] = rng.choice(sizes, run.draws, p=weights)
        return made

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws new records, rescaled to (0, 1), given the parameters."""
        return partial(self._records, part)

    def _records(self, part: Part, theta: Theta, rng: Rng) -> Any:
        """Draw new records given one draw of the parameters."""
        n = int(theta["n"]) if "n" in theta else known_size(part, self.n)
        return self._new(theta, self._view_of(part).bounds, n, rng).clip(*ENDS)

    def _view_of(self, part: Part) -> BetaCopiesView:
        return view_of_copies(part, type(self).__name__)


def view_of_copies(part: Part, model: str) -> BetaCopiesView:
    """Return the law of a part's copies, or raise InvalidInput where the model named has none."""
    check_tractable(part.mechanism, BetaCopiesView)
    does = "draw copies from a clipped beta posterior"
    return read_view(part.mechanism, BetaCopiesView, does, model)


def rescaled(part: Part, bounds: tuple[float, float]) -> Floats:
    """Return all copies' records, rescaled from their bounds to (0, 1)."""
    low, high = bounds
    return ((np.concatenate(part.outputs) - low) / (high - low)).clip(*ENDS)


def versions() -> Mapping[str, str]:
    """Return the versions of the packages that the exchange algorithm runs on."""
    import numba

    return {"numba": numba.__version__, "numpy": np.__version__}
