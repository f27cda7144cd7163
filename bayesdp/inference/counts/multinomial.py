r"""The multinomial model: probabilities theta of k categories from a release of their counts.

    theta ~ Dirichlet(alpha),    x | theta ~ Multinomial(n, theta),    z_i | x ~ mechanism.

Only z is seen. Given x, theta is Dirichlet(alpha + x), so all is in the posterior of the latent
counts: a product given their sum, drawn exactly; a list of all vectors, where they are few; or a
mixture of products, by Gibbs sampling. A randomized response sums them out, and leaves a smooth
likelihood of theta for NUTS. See `bayesdp.inference.counts.multinomial_release`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.core.views import AnswersView, view_of
from bayesdp.engines.count_vectors import CountPosterior
from bayesdp.engines.draws import Draws
from bayesdp.engines.mixture import BetaMixture
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise, noise_from
from bayesdp.inference.counts import multinomial_engines as ways
from bayesdp.inference.counts import predictive
from bayesdp.inference.counts.multinomial_likelihood import log_law_of_counts
from bayesdp.inference.counts.multinomial_response import responses
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.result import groups_of, with_groups
from bayesdp.inference.several import Releases, parts_alone, parts_of
from bayesdp.inference.sizes import kept_sizes, sizes_of_records
from bayesdp.inference.variance_parts import Labelled, of_beta, over_counts
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
Sizes = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class MultinomialModel(Model):
    """Inference about the probabilities of k categories, or those in each group.

    Parameters
    ----------
    prior : sequence of k floats
        alpha of the Dirichlet prior of theta; all 1 is uniform, all 0.5 Jeffreys'.
    n : int, range, array_like of float, or mapping of group labels to these, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k]; the same for every group, or each group's,
        as {"north": 400, "south": range(50, 71)}.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variable is "theta" with the dimension "category". "auto" takes the "exact" engine
    where there is one; otherwise NUTS by "pymc" where the latent counts are summed out, as for
    randomized response; otherwise "gibbs" sampling of the latent counts, or, where they have too
    many values for that, data "augmentation", whose chains update batches of records. "marginal"
    is the fastest for randomized responses with few categories: Metropolis steps of theta alone,
    proposed from an approximation of its whole posterior; "pymc" and "stan" sample these too, and
    no other releases.

    Several randomized responses must have the records in one order.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mechanism = bdp.mechanisms.PerturbedHistogramMechanism(scale=2.0, cells=3)
    >>> release = bdp.publish(mechanism, [40, 35, 25])
    >>> model = bdp.MultinomialModel(prior=(1, 1, 1), n=100)
    >>> low, high = model.posterior(release, 0).interval(0.95)
    """

    prior: tuple[float, ...]
    n: Any = None

    family: ClassVar[str] = "multinomial"
    engines: ClassVar[tuple[str, ...]] = tuple(ways.NAMES)
    program: ClassVar[str] = "multinomial_response"
    likelihood_dim: ClassVar[str | None] = "record"
    variables: ClassVar[Sequence[str]] = ("theta",)
    means: ClassVar[frozenset[str]] = frozenset({"theta"})

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return ways.reads(mechanism)

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
        object.__setattr__(self, "n", kept_sizes(self.n))

    def counts(self, release: Releases) -> CountPosterior:
        """Compute the exact posterior of the latent counts.

        Parameters
        ----------
        release : Release, or several in a list
            With groups, take one of them: `counts(release["a"])`.

        Raises
        ------
        InvalidInput
            If the release has groups, the model doesn't fit it, or there is no exact posterior.
        """
        return self._counts(parts_alone(release))

    def posterior(self, release: Releases, category: int) -> BetaMixture:
        """Compute the exact posterior of one category's probability.

        Parameters
        ----------
        release : Release, or several in a list
            Releases without groups.
        category : int
            From 0 to k - 1.

        Raises
        ------
        InvalidInput
            As for `counts`, or if there is no such category.
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

    def given_population(self, release: Releases, idata: Any = None) -> Labelled:
        """Compute each probability's moments given the latent counts, which are summed out.

        Raises
        ------
        InvalidInput
            If the latent counts have no exact posterior.
        """
        groups, total = groups_of(release), sum(self.prior)
        for g, parts in enumerate(parts_of(release)):
            counts, group = self._counts(parts), {} if groups is None else {"group": groups[g]}
            for k, a in enumerate(self.prior):
                x, n, weights = counts.marginal(k)
                moments = of_beta(a + x, total - a + (n - x))
                yield {**group, "category": k}, over_counts(weights, *moments)

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw theta from its prior, of each group by itself."""
        return {"theta": rng.dirichlet(self.prior, size=run.shape)}

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a part's new counts or answers, given the parameters."""
        return partial(predictive.categories, self.n, part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        return _noises(self.read(release) if read is None else read)

    def read(self, release: Releases) -> ways.Parts:
        """Read each group's parts, one for each release, and its possible numbers of records."""
        return [(parts, self.sizes_of(parts)) for parts in parts_of(release)]

    def chosen(self, engine: str, read: ways.Parts) -> tuple[str, str]:
        """Choose the engine, and say why."""
        return ways.chosen(engine, read, self.prior)

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen."""
        if run.engine == "exact":
            counts = [self._counts(parts) for parts, _ in run.read]
            drawn = ways.sample_exact(counts, self.prior, **run.independent)
        elif run.engine in ways.CHAINS:
            drawn = ways.CHAINS[run.engine](run.read, self.prior, **run.chained)
        else:
            drawn = super().sample(run)
        return with_groups(drawn, "theta", run.release)

    def naive(self, run: Run) -> Draws:
        """Draw given pooled copies, or the average over copies of noisy counts of the same records.

        Raises
        ------
        InvalidInput
            If the outputs aren't counts.
        """
        counts = [np.array([self._naive_counts(part)]) for part in run.release.parts]
        drawn = ways.sample_dirichlet(counts, self.prior, **run.independent)
        return with_groups(drawn, "theta", run.release)

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimension: one probability for each category."""
        return {"coords": {"category": np.arange(len(self.prior))}}

    def _counts(self, parts: Sequence[Part]) -> CountPosterior:
        posterior = ways.exact_counts(parts, self.prior, self.sizes_of(parts))
        if posterior is None:
            why = (
                "answers at random are summed exactly over two categories alone"
                if ways.are_responses(parts)
                else "its law isn't a product over the categories, and there are too many counts "
                "to list all"
            )
            raise InvalidInput(
                f"mechanism {quoted(parts[0].mechanism.name)} at this size has no exact posterior: "
                f"{why}; use fit(), which samples it"
            )
        return posterior

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
                "they can't be mistaken for real data: there is no naive posterior"
            )
        return np.asarray(counts, dtype=np.float64)

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Floats]) -> Floats:
        """Compute log probabilities at draws of theta: of each record's answers, or of all counts.

        Shape (draws, records) where records answered; of counts, which are tied by their sum,
        (draws,).

        Raises
        ------
        InvalidInput
            If the release is of counts that are too many to be summed out at every draw.
        """
        if not ways.are_responses(parts):
            return log_law_of_counts(parts, self.prior, self.sizes_of(parts), values["theta"])
        seen = responses(parts, len(self.prior))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values["theta"] @ seen.columns)[:, seen.where])

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, from randomized responses, the categories summed out.

        Raises
        ------
        InvalidInput
            If the release is of counts, whose law doesn't sum out.
        """
        from bayesdp.engines.pymc.multinomial import multinomial_response

        seen = ways.responses_summed_out("pymc", self.read(release), self.prior)
        counts, columns = [each.counts for each in seen], [each.columns for each in seen]
        return multinomial_response(counts, columns, self.prior, groups_of(release))

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `multinomial_response`, from randomized responses.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        read = self.read(release)
        seen = ways.responses_summed_out("stan", read, self.prior)
        return {**ways.response_data(seen, self.prior), **ways.new_answers([p for p, _ in read])}

    def sizes_of(self, parts: Sequence[Part]) -> Sizes:
        """The possible numbers of records of a group and their probabilities."""
        for part in parts:
            ways.check_fit(part, len(self.prior))
        return sizes_of_records(self.n, parts, "MultinomialModel")


def _noises(groups: Sequence[tuple[Sequence[Part], Sizes]]) -> list[Noise]:
    """Compute the least noise that explains each group's outputs, given its possible sizes."""
    noises: list[Noise] = []
    for parts, sizes in groups:
        total = sizes[0][0] if len(sizes) == 1 else None
        noises += noise_from(parts, 0, sizes[-1][0], total)
    return noises
