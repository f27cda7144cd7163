r"""The multinomial model: probabilities theta of k categories from a release of their counts.

    theta ~ Dirichlet(alpha),    x | theta ~ Multinomial(n, theta),    z_i | x ~ mechanism.

Only z is seen. Given x, theta is Dirichlet(alpha + x), so all is in the posterior of the latent
counts: a product given their sum, drawn exactly; a list of all vectors, where they are few; or a
mixture of products, by Gibbs sampling. A randomized response sums them out, and leaves a smooth
likelihood of theta for NUTS. See `bayesdp.inference.counts.multinomial_release`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.core.views import AnswersView, view_of
from bayesdp.engines.count_vectors import CountPosterior
from bayesdp.engines.draws import check_sampling
from bayesdp.engines.mixture import BetaMixture
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.inference.counts import multinomial_engines as engines
from bayesdp.inference.counts import predictive
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import inference_data
from bayesdp.inference.several import Releases, agreed_size, parts_of, releases_of
from bayesdp.inference.sizes import check_said_once, sizes_of_prior
from bayesdp.inference.verdict import verdict_on
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import arviz as az

Engine = Literal["auto", "exact", "gibbs", "marginal", "augmentation", "pymc", "stan"]
Sizes = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class MultinomialModel:
    """Inference about the probabilities of k categories, or those in each group.

    Parameters
    ----------
    prior : sequence of k floats
        alpha of the Dirichlet prior of theta; all 1 is uniform, all 0.5 Jeffreys'.
    n : int, range or array_like of float, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k]. Applies to every group.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mechanism = bdp.mechanisms.PerturbedHistogramMechanism(scale=2.0, cells=3)
    >>> release = bdp.publish(mechanism, [40, 35, 25])
    >>> model = bdp.MultinomialModel(prior=(1, 1, 1), n=100)
    >>> low, high = model.posterior(release, 0).interval(0.95)
    """

    prior: tuple[float, ...]
    n: Any = field(default=None, compare=False)

    family: ClassVar[str] = "multinomial"

    @staticmethod
    def reads(mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return engines.reads(mechanism)

    def __post_init__(self) -> None:
        prior: Any = self.prior
        good = isinstance(prior, Sequence | np.ndarray) and len(prior) >= 2
        if not good or not all(is_number(a) and 0 < a < math.inf for a in prior):
            raise InvalidInput(
                f"prior is {quoted(prior)}; it must be a positive finite number for each of 2 "
                "categories or more, the parameters of a Dirichlet distribution, for example (1, "
                "1, 1)"
            )
        object.__setattr__(self, "prior", tuple(map(float, prior)))
        if self.n is not None:
            object.__setattr__(self, "n", sizes_of_prior(self.n))

    def counts(self, release: Releases) -> CountPosterior:
        """Compute the exact posterior of the latent counts.

        Parameters
        ----------
        release : Release, or several in a list
            For groups, take one: `counts(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, the model doesn't fit it, or there is no exact posterior.
        """
        for each in releases_of(release):
            _ = each.mechanism  # which refuses groups
        return self._counts(parts_of(release)[0])

    def posterior(self, release: Releases, category: int) -> BetaMixture:
        """Compute the exact posterior of one category's probability.

        Parameters
        ----------
        release : Release, or several in a list
            Without groups.
        category : int
            From 0 to k - 1.

        Raises
        ------
        InvalidInput
            As `counts`, or if there is no such category.
        """
        if category not in range(len(self.prior)):
            raise InvalidInput(
                f"category is {quoted(category)}; it must be from 0 to {len(self.prior) - 1}"
            )
        x, n, weights = self.counts(release).marginal(category)
        a = self.prior[category]
        rest = sum(self.prior) - a
        return BetaMixture(weights, np.asarray(a + x), np.asarray(rest + (n - x)))

    def log_evidence(self, release: Releases) -> float:
        """Compute log Pr[all outputs] under the model, exactly, summed over groups."""
        return sum(self._counts(parts).log_evidence for parts in parts_of(release))

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`: exactly, by a bridge or Chib's identity.

        See `bayesdp.inference.counts.multinomial_evidence`.
        """
        from bayesdp.inference.counts.multinomial_evidence import multinomial

        return multinomial(self, release, **options)

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return what draws new counts, or answered records, of a part, given the parameters."""
        return partial(predictive.categories, part)

    def noises(self, release: Releases) -> list[Noise]:
        """Compute the least noise that leads to what was released."""
        return _noises([(parts, self.sizes_of(parts)) for parts in parts_of(release)])

    def _counts(self, parts: Sequence[Part]) -> CountPosterior:
        found = engines.exact_counts(parts, self.prior, self.sizes_of(parts))
        if found is None:
            raise InvalidInput(
                f"mechanism {quoted(parts[0].mechanism.name)} at this size has no exact posterior: "
                "its law isn't a product over the categories, and there are too many counts to "
                "list all; use fit(), which samples it"
            )
        return found

    def fit(
        self,
        release: Releases,
        *,
        engine: Engine = "auto",
        draws: int = 4000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior of theta given the release.

        Parameters
        ----------
        release : Release, or several in a list
            What was released; its manifest says how. Several are of the same records; where they
            are randomized responses, with the records in one order.
        engine : {"auto", "exact", "gibbs", "marginal", "augmentation", "pymc", "stan"}
            "auto" takes the exact one where there is one; else NUTS by PyMC where the latent
            counts are summed out, which is so for randomized response; else Gibbs sampling of the
            latent counts, or where they have too many values for it data augmentation, whose
            chains move batches of records. "marginal" is the fastest for randomized responses of
            few categories: Metropolis steps of theta alone, from an approximation of all of it.
        draws, chains : int
            Draws per chain. The exact engine's are all independent.
        warmup : int
            Draws or sweeps that each chain leaves out first.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own at once; None for where standard error is a terminal.

        Returns
        -------
        arviz.InferenceData
            posterior variable "theta" with the dimension "category" (and "group" where there are
            groups), sample_stats, observed_data (the outputs), constant_data (the mechanism's
            public parameters), and attrs: engine and why, versions, guarantee, "verdict".

        Raises
        ------
        InvalidInput
            If an argument is out of range, the model doesn't fit the release, or the engine can't
            sample it.
        MissingDependency, EngineFailed
            If an engine isn't installed or stops.

        Warns
        -----
        UserWarning
            If chains haven't mixed.
        """
        draws, chains, warmup, seed = check_sampling(
            seed, draws=draws, chains=chains, warmup=warmup
        ).values()
        parts = [(each, self.sizes_of(each)) for each in parts_of(release)]
        options: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed}
        run, reason = engines.chosen(engine, parts, self.prior)
        if run == "exact":
            drawn = engines.sample_exact([self._counts(p) for p, _ in parts], self.prior, **options)
        elif run in engines.CHAINS:
            drawn = engines.CHAINS[run](parts, self.prior, warmup=warmup, **options)
        else:
            drawn = engines.sample_nuts(
                run, parts, self.prior, warmup=warmup, progress=progress, **options
            )
        return self._result(drawn, release, reason, _noises(parts))

    def fit_naive(
        self,
        release: Release,
        *,
        draws: int = 4000,
        chains: int = 4,
        seed: int | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior that takes the copies for real data; shaped as `fit`'s.

        Copies of records are pooled, as are answers. Of noisy counts of the same records the
        average over copies is taken for the true ones.

        Raises
        ------
        InvalidInput
            If what was released are no counts.
        """
        draws, chains, seed = check_sampling(seed, draws=draws, chains=chains).values()
        found = [np.array([self._naive_counts(part)]) for part in release.parts]
        drawn = engines.sample_dirichlet(found, self.prior, draws=draws, chains=chains, seed=seed)
        return self._result(drawn, release, "naive: takes the copies for real data")

    def _naive_counts(self, part: Part) -> NDArray[np.float64]:
        self.sizes_of([part])
        outputs = np.array(part.outputs)
        if view_of(part.mechanism, AnswersView) is not None:
            counts = np.bincount(outputs.ravel(), minlength=len(self.prior))
            return counts.astype(np.float64)
        synthetic = getattr(part.mechanism, "size", None) is not None
        counts = outputs.sum(axis=0) if synthetic else outputs.mean(axis=0)
        if np.any(counts < 0) or getattr(part.mechanism, "method", "").startswith("parameter"):
            raise InvalidInput(
                f"mechanism {quoted(part.mechanism.name)} released numbers that aren't counts, so "
                "nobody can take them for real data: there is no naive posterior"
            )
        return np.asarray(counts, dtype=np.float64)

    def _result(
        self, drawn: Any, release: Releases, reason: str, noises: Sequence[Noise] = ()
    ) -> az.InferenceData:
        about = {
            "family": self.family,
            "prior": json.dumps(self.prior),
            "verdict": verdict_on(drawn, noises),
        }
        coords = {"category": np.arange(len(self.prior))}
        return inference_data(
            drawn, *releases_of(release), reason=reason, model=about, coords=coords
        )

    def stan_data(self, release: Release) -> dict[str, Any]:
        """Build the data of the Stan program `multinomial_response`, from randomized responses."""
        _ = release.mechanism
        return engines.response_data(release.parts, self.prior)

    def sizes_of(self, parts: Sequence[Part]) -> Sizes:
        """The possible numbers of records of a group and their probabilities."""
        for part in parts:
            engines.check_fit(part, len(self.prior))
        public = agreed_size(parts, None)
        if public is not None:
            check_said_once(self.n, public)
            return [(public, 1.0)]
        if self.n is None:
            raise InvalidInput(
                "n is confidential in this release; give the model a prior on it, for example "
                "MultinomialModel(prior=(1, 1, 1), n=range(500, 1501)), or n itself if you know it"
            )
        sizes: Sizes = self.n
        return sizes


def _noises(groups: Sequence[tuple[Sequence[Part], Sizes]]) -> list[Noise]:
    """Compute the least noise that leads to each group's outputs, of so many records."""
    found: list[Noise] = []
    for parts, sizes in groups:
        total = sizes[0][0] if len(sizes) == 1 else None
        found += noise_from(parts, 0, sizes[-1][0], total)
    return found
