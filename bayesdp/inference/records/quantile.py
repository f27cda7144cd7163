r"""A population's quantiles, from order statistics of its records that were released privately.

    location ~ N(m, s^2),  log scale ~ N(log c, d^2),  x_i ~ N(location, scale^2), or log x_i does,

and for each quantile, or a mean between two, a position on a grid is released, or refused, given
the numbers of records by cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import (
    as_float,
    check_one_of,
    check_quantile_levels,
    keep,
)
from bayesdp.core.order_views import OrderStatisticsView
from bayesdp.core.views import View
from bayesdp.engines.draws import Draws
from bayesdp.engines.latent_quantiles import QuantilePosterior, sample_naive, sample_quantiles
from bayesdp.engines.trimmed_means import population_mean, sample_naive_mean
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta, known_size
from bayesdp.inference.readers import read_view
from bayesdp.inference.several import Releases, only_one
from bayesdp.inference.sizes import kept_sizes, known_sizes, sizes_of_records
from bayesdp.progress import bar
from bayesdp.release import Part, Release

Floats = NDArray[np.float64]
Prior = tuple[float, float, float, float]
POPULATIONS = ("normal", "lognormal")


class Known(NamedTuple):
    """Reading of one group's release: its view, its outputs, and the posterior that they make."""

    view: OrderStatisticsView
    outputs: NDArray[np.int64]
    target: QuantilePosterior

    @property
    def released(self) -> Floats:
        """Released values, averaged over copies that weren't refused, (m,); NaN where all were."""
        values = np.ma.masked_invalid(self.view.values(self.outputs))
        return np.asarray(values.mean(axis=0).filled(np.nan))

    @property
    def mean_between(self) -> tuple[float, float] | None:
        """Probabilities of the quantiles that a trimmed mean is between; None of quantiles."""
        first = self.view.windows[0]
        return None if first[0] == first[1] else first


@dataclass(frozen=True)
class QuantileModel(Model):
    """Inference about a population's quantiles, from a sample's that were released privately.

    Parameters
    ----------
    population : {"normal", "lognormal"}
        The law of the records, or of their logarithms: normal.
    prior : tuple of four floats, optional
        (m, s, c, d): location ~ N(m, s^2) and log scale ~ N(log c, d^2), of the records or their
        logarithms; s, c and d positive. Default, from the public bounds (of their logarithms): the
        location has their middle and half their distance, the scale a median of a sixth of it, and
        d = 1.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k], at least 1; the same for every group, or
        each group's, as {"north": 400, "south": range(50, 71)}.
    quantiles : sequence of float
        Probabilities, each between 0 and 1, at which the population's quantiles are wanted.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "quantile", in the records' unit, with the dimension "probability";
    "location" and "scale", of the records or their logarithms; and "n" where it has a prior. The
    model reads one release of `bayesdp.mechanisms.QuantileMechanism`,
    `bayesdp.mechanisms.ProposeTestReleaseMechanism` or `bayesdp.mechanisms.TrimmedMeanMechanism`,
    each group by itself, and learns from what the latter two refuse, too. Of a trimmed mean there
    is also "trimmed_mean", the population's; it is the location where that is normal. The one
    engine, "metropolis", runs chains over the parameters and the confidential records; the
    posterior is exact but for their length.

    A single quantile says where the population is, and next to nothing of its scale, which the
    prior then supplies, and with it how far a sample's quantile is from the population's. So
    release several. So it is with a trimmed mean, of which there is but one: give the model a prior
    of the scale. The naive posterior takes the middles of the released cells for the sample's
    quantiles, or a released trimmed mean for the sample's, and is the prior where all were refused.

    In 100 samples each of N(40.3, 9^2), with quartiles released on 100 cells from 0 to 100 under
    add/remove-one and n known, 95% intervals of the population's median covered it, and were long:

    =====  =======  ============  ============
    n      epsilon  model         naive
    =====  =======  ============  ============
    200    0.3      98%, 12.5     45%, 5.0
    200    1        96%, 3.4      89%, 2.8
    200    3        97%, 2.9      95%, 2.7
    2,000  0.3      94%, 1.3      79%, 0.9
    2,000  1        94%, 1.1      91%, 0.8
    2,000  3        96%, 1.1      95%, 0.9
    =====  =======  ============  ============

    Where the population has another shape the quartiles pull the median off, the more so the more
    there are records: of Gamma(4) records, scale 10, taken for normal ones, 86% to 95% of the
    intervals had it at n = 200, and 37% to 77% at n = 2,000.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 9, 200)
    >>> made = bdp.synthesizers.QuantileSynthesizer(epsilon=1.0, bounds=(0, 100))
    >>> idata = bdp.models.QuantileModel(n=200).fit(made.release(ages), draws=300, seed=1)
    >>> idata.posterior["quantile"].dims
    ('chain', 'draw', 'probability')
    """

    population: str = "normal"
    prior: Prior | None = None
    n: Any = None
    quantiles: tuple[float, ...] = (0.25, 0.5, 0.75)

    family: ClassVar[str] = "quantile"
    views: ClassVar[tuple[type[View], ...]] = (OrderStatisticsView,)
    engines: ClassVar[tuple[str, ...]] = ("metropolis",)
    reason: ClassVar[str] = (
        "a choice depends on all counts at once, so that records are drawn with the parameters"
    )
    usual: ClassVar[tuple[int, int]] = (1000, 200)
    naive_reason: ClassVar[str] = "naive: takes what is released for the sample's own"
    derived: ClassVar[frozenset[str]] = frozenset({"quantile", "trimmed_mean"})
    no_evidence: ClassVar[str] = (
        "the law of the chosen cells is summed over all samples by chains, which have no constant"
    )
    """Why it has no log evidence here."""

    def __post_init__(self) -> None:
        check_one_of("population", self.population, POPULATIONS)
        if self.prior is not None:
            object.__setattr__(self, "prior", _checked_prior(self.prior))
        object.__setattr__(self, "quantiles", check_quantile_levels("quantiles", self.quantiles))
        keep(self, n=kept_sizes(self.n, 1))

    def read(self, release: Releases) -> list[Known]:
        """Read each group's cells, the law of its choices, and what n may be.

        Raises
        ------
        InvalidInput
            If there are several releases, one isn't of private quantiles, or n is given by both or
            neither of release and model.
        """
        return [self._known(part) for part in only_one(release, "metropolis").parts]

    def read_naive(self, release: Release) -> list[Known]:
        """Read what `read` does."""
        return self.read(release)

    def sample(self, run: Run) -> Draws:
        """Run chains over the parameters and the records, of each group by itself."""
        sizes = {name: run.chained[name] for name in ("draws", "chains", "warmup")}
        seeds = np.random.SeedSequence(run.seed).spawn(len(run.read))
        total = len(run.read) * run.chains * (run.warmup + run.draws)
        with bar(run.progress, total) as step:
            each = [
                sample_quantiles(known.target, **sizes, seed=seed, step=step)
                for known, seed in zip(run.read, seeds, strict=True)
            ]
        kept = {name: np.stack([one[name] for one in each], axis=2) for name in each[0]}
        posterior = self._named(run, kept["location"], kept["log_scale"])
        if any(len(known.target.sizes) > 1 for known in run.read):
            posterior["n"] = kept["n"]
        statistics = {"lp": kept["lp"].sum(2), "acceptance_rate": kept["acceptance_rate"].mean(2)}
        known = known_sizes([known.target.sizes for known in run.read])
        shaped = self._shaped(run, posterior)
        return Draws(shaped, statistics, "metropolis", _versions(), known=known)

    def naive(self, run: Run) -> Draws:
        """Draw the parameters as if the sample had the released quantiles, or trimmed mean."""
        seeds = np.random.SeedSequence(run.seed).spawn(len(run.read))
        shape = (run.chains, run.draws)
        each = [
            self._naive(known, shape, seed) for known, seed in zip(run.read, seeds, strict=True)
        ]
        location, log_scale, lp = (np.stack(values, axis=2) for values in zip(*each, strict=True))
        posterior = self._named(run, location, log_scale)
        if any(len(known.target.sizes) > 1 for known in run.read):
            posterior["n"] = np.broadcast_to(
                [round(_mean_size(known.target)) for known in run.read], location.shape
            ).copy()
        shaped = self._shaped(run, posterior)
        known = {name: np.ones(n.shape[2:], bool) for name, n in shaped.items() if name == "n"}
        return Draws(shaped, {"lp": lp.sum(2)}, "grid", _versions(), known=known)

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The population, and the prior that was used, of each group where they differ."""
        import json

        used = list(dict.fromkeys(known.target.prior for known in run.read))
        return {
            "population": self.population,
            "prior": json.dumps(used[0] if len(used) == 1 else used),
        }

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: quantiles have their probabilities; other variables only groups."""
        group = [] if run.release.by is None else ["group"]
        dims = dict.fromkeys(drawn.posterior, group)
        coords = {"probability": list(self.quantiles)}
        return {"dims": {**dims, "quantile": [*group, "probability"]}, "coords": coords}

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the parameters from their prior, of each group by itself."""
        each = [known.target.from_prior(run.draws, rng) for known in run.read]
        location, log_scale = (np.stack(values, axis=1) for values in zip(*each, strict=True))
        made = self._named(run, location, log_scale)
        if any(len(known.target.sizes) > 1 for known in run.read):
            drawn = [_sizes_drawn(known.target, run.draws, rng) for known in run.read]
            made["n"] = np.stack(drawn, axis=1)
        return self._shaped(run, made, axis=1)

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that counts new records by cell, given the parameters."""
        return partial(_counts, self._known(part), part, self.n)

    def _known(self, part: Part) -> Known:
        kind, lacks = OrderStatisticsView, "release quantiles, or a trimmed mean"
        view = read_view(part.mechanism, kind, lacks, "QuantileModel")
        sizes = sorted(sizes_of_records(self.n, [part], "QuantileModel"))
        edges = self._scaled(np.array(view.edges))
        prior = _default_prior(self.population, edges) if self.prior is None else self.prior
        outputs = np.array(part.outputs)
        law = partial(_log_law, view, outputs)
        target = QuantilePosterior(law, edges[1:-1], prior, sizes, view.windows)
        return Known(view, outputs, target)

    def _scaled(self, values: Floats) -> Floats:
        """Values on the scale where records are normal; minus infinity where there is none."""
        if self.population == "normal":
            return values
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0))

    def _believed(self, known: Known) -> tuple[Floats, Floats, float]:
        """The released quantiles as if they were the sample's, in order, and the number of records.

        They are averaged over copies that weren't refused; where several quantiles have the same,
        so are their probabilities. None where all were refused.
        """
        found = known.released
        told = np.isfinite(found)
        found = found[told]
        least = np.finfo(float).tiny if self.population == "lognormal" else -math.inf
        values, place = np.unique(self._scaled(np.maximum(found, least)), return_inverse=True)
        # In order: a released quartile may be above the median.
        in_order = np.sort(np.array([q for q, _ in known.view.windows])[told])
        probabilities = in_order[np.argsort(np.argsort(found))]
        times = np.bincount(place)
        return values, np.bincount(place, probabilities) / times, _mean_size(known.target)

    def _naive(self, known: Known, shape: Any, seed: Any) -> tuple[Floats, Floats, Floats]:
        """Draw location, log scale and lp as if what was released were the sample's own."""
        window = known.mean_between
        if window is None:
            return sample_naive(*self._believed(known), known.target, shape, seed)
        (value,), n, lognormal = known.released, _mean_size(known.target), self._lognormal
        return sample_naive_mean(value, window, n, known.target, shape, seed, lognormal=lognormal)

    @property
    def _lognormal(self) -> bool:
        return self.population == "lognormal"

    def _named(self, run: Run, location: Floats, log_scale: Floats) -> dict[str, Any]:
        """Name draws of location and log scale as the model does, and derive the others."""
        scale = np.exp(log_scale)
        quantile = location[..., None] + scale[..., None] * special.ndtri(self.quantiles)
        with np.errstate(over="ignore"):
            shown = np.exp(quantile) if self._lognormal else quantile
        named = {"quantile": shown, "location": location, "scale": scale}
        if (window := run.read[0].mean_between) is not None:
            mean = population_mean(location, scale, window, lognormal=self._lognormal)
            named = {"trimmed_mean": mean, **named}
        return named

    def _shaped(self, run: Run, named: Mapping[str, Any], axis: int = 2) -> dict[str, Any]:
        """Leave the axis of groups out where there are none."""
        if run.release.by is not None:
            return dict(named)
        return {name: values.squeeze(axis) for name, values in named.items()}


def _log_law(view: OrderStatisticsView, outputs: Any, counts: NDArray[np.int64]) -> Floats:
    """Log Pr[all outputs | counts] of each chain."""
    return np.asarray(sum(view.logp(output, counts) for output in outputs))


def _counts(known: Known, part: Part, size: Any, theta: Theta, rng: Rng) -> NDArray[np.int64]:
    """Count new records by cell, given one draw of the parameters."""
    n = int(theta["n"]) if "n" in theta else known_size(part, size)
    location, log_scale = np.array([theta["location"]]), np.log([theta["scale"]])
    made = known.target.counted(location, log_scale, [np.sort(rng.standard_normal(n))])
    return np.asarray(made[0])


def _sizes_drawn(target: QuantilePosterior, draws: int, rng: Rng) -> NDArray[np.int64]:
    sizes, weights = zip(*target.sizes, strict=True)
    return np.asarray(rng.choice(sizes, draws, p=weights))


def _mean_size(target: QuantilePosterior) -> float:
    return math.fsum(size * weight for size, weight in target.sizes)


def _default_prior(population: str, edges: Floats) -> Prior:
    """The prior that public bounds suggest, or InvalidInput where there are none."""
    low, high = float(edges[0]), float(edges[-1])
    if not math.isfinite(high - low):
        raise InvalidInput(
            f"prior is missing; the release's lower bound has no logarithm for population = "
            f"{quoted(population)}: give (m, s, c, d) of the logarithms, as (10, 2, 0.7, 1)"
        )
    return (low + high) / 2, (high - low) / 2, (high - low) / 6, 1.0


def _checked_prior(prior: Any) -> Prior:
    try:
        m, s, c, d = map(as_float, prior)
    except (TypeError, ValueError):  # not four
        m = s = c = d = math.nan
    if not (math.isfinite(m) and all(0 < v < math.inf for v in (s, c, d)) and d <= 10):
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be four numbers (m, s, c, d), of location ~ N(m, "
            "s^2) and log scale ~ N(log c, d^2), s, c and d positive and d at most 10, as "
            "(40, 20, 10, 1)"
        )
    return m, s, c, d


def _versions() -> Mapping[str, str]:
    return {"numpy": np.__version__}
