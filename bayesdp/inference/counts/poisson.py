r"""The Poisson model: rates of events by area, or in any cells.

    theta_i ~ Gamma(a, b),    x_i ~ Poisson(e_i theta_i),    z ~ mechanism(x),

with e_i the expected number of events in area i, a public number. The rates integrate out: x_i is
negative binomial, and given it theta_i ~ Gamma(a + x_i, b + e_i). Where the number of events is
public the x_i are conditioned on their sum, which leaves that law of the rates as it is. So only
the counts are drawn (`bayesdp.kernels.area_counts`), each from a table if they are independent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number, keep
from bayesdp.engines.draws import Draws
from bayesdp.engines.log_sums import log_sum
from bayesdp.engines.stan.replicates import replicates
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.inference.counts import poisson_release, predictive
from bayesdp.inference.counts.poisson_release import Known
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import groups_of
from bayesdp.inference.several import Releases, parts_of, releases_of
from bayesdp.inference.sizes import kept_numbers, number_of
from bayesdp.inference.variance_parts import Labelled, over_counts
from bayesdp.mechanisms.counts.beta_binomial import check_prior
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
_MOST_CELLS = 200_000


@dataclass(frozen=True)
class PoissonModel(Model):
    """Inference about the rates of events by area, relative to expected numbers.

    Parameters
    ----------
    prior : tuple of two floats
        (a, b), shape and rate of the gamma prior of each relative rate: mean a / b.
    expected : sequence of float, optional
        e_i, one for each area; 0 where no event can occur, where a rate keeps its prior. Default:
        those in the release of Poisson-gamma copies; for other releases 1, so that a rate is an
        expected count.
    n : int or mapping of group labels to int, optional
        The number of all events, where it is known but the release doesn't say it; in groups the
        same for all, or each group's, as {"2023": 51, "2024": 80}. The n of a noisy vector is a
        number of records, each of which may have several events or none: where every record is one
        event, give it here.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variable is "rate" with the dimension "area". The model reads Poisson-gamma copies
    or a noisy vector of counts. The "exact" engine draws independently where the number of events
    is confidential and no copies have a fixed total, where NUTS samples the same posterior, the
    counts summed out, by "pymc" or "stan"; otherwise "gibbs" samples the counts.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.synthesizers.PoissonGammaSynthesizer(
    ...     epsilon=4.0, expected={"A": 30.0, "B": 90.0}, copies=2
    ... )
    >>> release = made.release({"A": 51, "B": 80})
    >>> idata = bdp.models.PoissonModel(prior=(2.0, 2.0)).fit(release, draws=200, seed=1)
    >>> idata.posterior["rate"].dims
    ('chain', 'draw', 'area')
    """

    prior: tuple[float, float] = (1.0, 1.0)
    expected: tuple[float, ...] | None = None
    n: int | Mapping[Any, int] | None = None

    family: ClassVar[str] = "poisson"
    engines: ClassVar[tuple[str, ...]] = ("exact", "gibbs", "pymc", "stan")
    variables: ClassVar[Sequence[str]] = ("rate",)
    means: ClassVar[frozenset[str]] = frozenset({"rate"})
    reason: ClassVar[str] = (
        "counts are independent given what was released, so independent draws exist"
    )
    usual: ClassVar[tuple[int, int]] = (2000, 500)
    likelihood_dim: ClassVar[str | None] = "area"

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return poisson_release.is_of_events(mechanism)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", check_prior(self.prior, law="gamma"))
        if self.expected is not None:
            given = tuple(self.expected)
            if not given or not all(is_number(e) and 0 <= e < math.inf for e in given):
                raise InvalidInput(
                    f"expected is {quoted(given)}; it must hold a finite number of at least 0 an "
                    "area"
                )
            object.__setattr__(self, "expected", tuple(map(float, given)))
        keep(self, n=kept_numbers(self.n, "PoissonModel"))

    def log_evidence(self, release: Releases) -> float:
        """Compute the log of the outputs' probability under the model; summed over groups.

        Raises
        ------
        InvalidInput
            If a known number of events, or copies with a fixed total, make the counts dependent.
        """
        known = self.read(release)
        if any(each.tied for each in known):
            raise InvalidInput(
                "a known number of events, or copies with a fixed total, tie the counts, and there "
                "is no log evidence of them here; release with fixed=False and public_n=False"
            )
        return sum(float(special.logsumexp(law)) for each in known for law in each.laws)

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute the log probability of each area's outputs at draws of rates: (draws, areas).

        Raises
        ------
        InvalidInput
            If a known number of events, or copies with a fixed total, make the counts dependent.
        """
        known = poisson_release.read(parts, self.prior, self.expected, number_of(self.n, parts))
        if known.tied:
            raise _tied("a log likelihood sums the counts out one by one, but")
        rates = np.moveaxis(values["rate"], -1, 0)
        cells = poisson_release.cells_of(known)
        each = zip(rates, known.expected, cells, strict=True)
        return np.stack([_latent_events(rate, e, *cell) for rate, e, cell in each], axis=1)

    def given_population(self, release: Releases, idata: Any = None) -> Labelled:
        """Compute each rate's moments given its latent count of events, which is summed out.

        Raises
        ------
        InvalidInput
            If a known number of events, or copies with a fixed total, make the counts dependent.
        """
        groups = groups_of(release)
        for g, known in enumerate(self.read(release)):
            if known.tied:
                raise InvalidInput(
                    "a known number of events, or copies with a fixed total, tie the counts, which "
                    "aren't summed out then; release with fixed=False and public_n=False"
                )
            group = {} if groups is None else {"group": groups[g]}
            each = zip(known.areas, known.laws, known.firsts, strict=True)
            for i, (area, law, first) in enumerate(each):
                shape = known.shapes[i] + first + np.arange(law.size)
                mean = shape / known.rates[i]
                moments = over_counts(special.softmax(law), mean, mean / known.rates[i])
                yield {**group, "area": area}, moments

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw rates from their priors, of each area by itself."""
        shape, rate = self.prior
        return {"rate": rng.gamma(shape, 1 / rate, (*run.shape, len(run.read[0].areas)))}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a part's new events by area, given the rates."""
        return partial(predictive.events, self.expected, number_of(self.n, [part]), part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        return _noises(release, self.read(release) if read is None else read)

    def chosen(self, engine: str, read: Sequence[Known]) -> tuple[str, str]:
        """Choose independent draws where the counts are independent, and say why."""
        tied = any(each.tied for each in read)
        if engine == "auto" and tied:
            return "gibbs", "a known number of events, or copies with a fixed total, tie the counts"
        if engine != "gibbs" and tied:
            raise _tied(f"engine is {quoted(engine)}, but")
        return super().chosen(engine, read)

    def sample(self, run: Run) -> Draws:
        """Draw each area's rate, of each group."""
        if run.engine in ("exact", "gibbs"):
            return self._drawn(run, run.engine)
        drawn = super().sample(run)
        rate = drawn.posterior["rate"]
        if run.engine == "stan" and releases_of(run.release)[0].by is None:
            rate = rate[:, :, 0]
        return dataclasses.replace(drawn, posterior={"rate": rate})

    def read_naive(self, release: Release) -> list[Known]:
        """Read pooled copies as real counts, or raise InvalidInput where they can't be."""
        return [
            poisson_release.taken_for_real(part, self.prior, self.expected)
            for part in release.parts
        ]

    def naive(self, run: Run) -> Draws:
        """Draw independently, given counts that are treated as real."""
        return self._drawn(run, "exact")

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimension: one rate for each area."""
        return {"coords": {"area": list(run.read[0].areas)}}

    def _drawn(self, run: Run, engine: str) -> Draws:
        import numba

        _check_alike(run.read)
        options = run.chained
        seeds = np.random.SeedSequence(options.pop("seed")).spawn(len(run.read))
        rates, stats = [], []
        for each, seed in zip(run.read, seeds, strict=True):
            drawn, stat = poisson_release.drawn(each, engine, seed=seed, **options)
            rates.append(drawn)
            stats.append(stat)
        grouped = releases_of(run.release)[0].by is not None
        rate = np.stack(rates, axis=2) if grouped else rates[0]
        sample_stats = {"lp": np.sum([stat["lp"] for stat in stats], axis=0)}
        if "acceptance_rate" in stats[0]:
            rates_of = [stat["acceptance_rate"] for stat in stats]
            sample_stats["acceptance_rate"] = np.mean(rates_of, axis=0)
        return Draws({"rate": rate}, sample_stats, engine, {"numba": numba.__version__})

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the counts summed out.

        Raises
        ------
        InvalidInput
            If a known number of events, or copies with a fixed total, make the counts dependent.
        """
        from bayesdp.engines.pymc.programs import poisson

        known = self._untied(release)
        return poisson(self._data(known), groups_of(release), known[0].areas)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `poisson`.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        return {**self._data(self._untied(release)), **replicates(parts_of(release))}

    def _untied(self, release: Releases) -> list[Known]:
        """Read a release whose counts the programs can sum out one by one."""
        known = self.read(release)
        if any(each.tied for each in known):
            raise _tied("the programs of PyMC and Stan sum the counts out one by one, but")
        _check_alike(known)
        return known

    def _data(self, known: Sequence[Known]) -> dict[str, Any]:
        cells = [cell for each in known for cell in poisson_release.cells_of(each)]
        shape = len(known), len(known[0].areas)
        ends = ends_of_rows([events.size for events, _ in cells])
        many = int(ends["last"][-1])
        if many > _MOST_CELLS:
            raise InvalidInput(
                f"the programs of PyMC and Stan would sum over {many:,} counts of the areas at "
                f"every step, more than {_MOST_CELLS:,}; use engine='exact'"
            )
        return {
            "G": shape[0],
            "A": shape[1],
            "K": many,
            **{name: each.reshape(shape) for name, each in ends.items()},
            "log_weight": np.concatenate([log_weight for _, log_weight in cells]),
            "events": np.concatenate([events for events, _ in cells]),
            "expected": np.stack([each.expected for each in known]),
            "prior_shape": self.prior[0],
            "prior_rate": self.prior[1],
        }

    def read(self, release: Releases) -> list[Known]:
        """Read and check the laws of each group's counts.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        return [
            poisson_release.read(parts, self.prior, self.expected, number_of(self.n, parts))
            for parts in parts_of(release)
        ]


def _latent_events(rate: Floats, expected: float, events: Floats, log_weight: Floats) -> Floats:
    """Log probability of an area's outputs at rates, its count summed out."""
    log_rate = np.log(rate)[:, None]
    sums = log_sum(rate.size, events.size, lambda some: log_weight + events * log_rate[some])
    return np.asarray(sums - expected * rate)


def _check_alike(known: Sequence[Known]) -> None:
    if len({each.areas for each in known}) > 1:
        raise InvalidInput("the release's groups differ in their areas; fit each by itself")


def _tied(but: str) -> InvalidInput:
    return InvalidInput(
        f"{but} a known number of events, or copies with a fixed total, tie the counts; use "
        "engine='gibbs'"
    )


def _noises(release: Releases, known: Sequence[Known]) -> list[Noise]:
    """Compute the least noise that explains each group's outputs."""
    noises: list[Noise] = []
    for parts, each in zip(parts_of(release), known, strict=True):
        noises += noise_from(parts, 0, math.inf, each.total)
    return noises
