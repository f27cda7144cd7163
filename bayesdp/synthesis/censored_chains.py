r"""Censored posteriors of a law of records by Markov chains: Stan's or PyMC's.

The law of the parameters is a prior times exp of the sum of every record's weighted log density,
clipped. Chains reach it in the limit only, so what they release is conditional on their draws being
exact (`bayesdp.mechanisms.censored.posterior`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws, check_sampling, to_inference_data
from bayesdp.engines.settings import check_settings
from bayesdp.engines.stan import sampling as stan
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.randomness import random_words
from bayesdp.privacy.neighbours import Neighbours, check_of_records
from bayesdp.synthesis.censor.model import censor, clipping_interval
from bayesdp.synthesis.posterior import last_draws, share_of
from bayesdp.synthesis.withheld import sample

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

Floats = NDArray[np.float64]
_ANYTHING = 1e300  # an epsilon whose interval holds all log densities
_MOST_DENSITIES = 50_000_000  # 800 MB of both kinds


class Law(Protocol):
    """Protocol of a law of records: a prior and a density, as programs of PyMC and Stan."""

    @property
    def program(self) -> str:
        """Name of the Stan program."""

    @property
    def discrete(self) -> bool:
        """True for discrete records, whose log densities are all at most 0."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in both programs."""

    def count(self, records: Any) -> int:
        """The number of records."""

    def observed(self, records: Any) -> NDArray[Any]:
        """Return the number that was observed of each record; shape (n,)."""

    def model(self, records: Any, variable: str) -> pm.Model:
        """Build the model in which the records are observed under a name."""

    def stan_data(self, records: Any) -> dict[str, Any]:
        """Build the part of the Stan program's data that depends on the law."""

    def from_stan(self, drawn: Mapping[str, Floats]) -> dict[str, Floats]:
        """Give Stan's draws, shape (chains, draws, ...), the shapes of the PyMC model."""

    def log_density(self, drawn: Mapping[str, Floats], records: Any) -> Floats:
        """Each record's log density at draws: (chains, draws, n)."""


@dataclass(frozen=True)
class Chains:
    """Chains that draw a law's parameters by an engine; all of their settings are public.

    Parameters
    ----------
    engine : {"pymc", "stan"}
        NUTS, by nutpie or by Stan.
    epsilon, copies, neighbours, center
        As for `CensoredBetaSynthesizer`.
    law : Law
        The records' law.
    """

    engine: str
    epsilon: float
    copies: int
    neighbours: str
    center: float | None
    law: Law

    @property
    def share(self) -> float:
        """Epsilon of one copy."""
        return share_of(float(self.epsilon), self.copies)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval that every record's weighted log density is clipped to."""
        relation = check_of_records(self.neighbours)
        return clipping_interval(self.share, relation, self.center, self.law.discrete)

    @property
    def unclipped(self) -> Chains:
        """Chains of the law with an interval that clips nothing, of no use for a release."""
        return replace(
            self, epsilon=_ANYTHING, copies=1, neighbours=Neighbours.ADD_REMOVE, center=0.0
        )

    def mechanism(
        self, n: int, size: int, columns: tuple[tuple[str, str], ...]
    ) -> CensoredPosteriorMechanism:
        """Describe a release as a mechanism, which holds n under replace-one only."""
        public = n if check_of_records(self.neighbours) is Neighbours.REPLACE_ONE else None
        return CensoredPosteriorMechanism(public, size, *self.interval, columns, engine=self.engine)

    def points(
        self, records: Any, weights: Floats | None
    ) -> Callable[[], list[dict[str, NDArray[Any]]]]:
        """Prepare the draw of each copy's parameters, the last state of a chain of its own."""
        return partial(last_draws, self._run(records, weights), self.copies)

    def _run(self, records: Any, weights: Floats | None) -> Callable[..., Draws]:
        """The engine, with the model of these records."""
        if self.engine == "stan":
            return partial(self.by_stan, records, weights)
        model = self.censored_model(records, weights)
        # Clipping ties parameters to one another: they mix five times better by this metric.
        return partial(sample, model, variables=self.law.parameters, metric="low_rank")

    def pseudo_posterior(
        self,
        records: Any,
        weights: Floats | None,
        sampling: dict[str, int],
        seed: int | None,
        log_lik: bool,
        settings: dict[str, Any],
    ) -> az.InferenceData:
        """Draw the parameters, with the sampler's statistics and, if asked, log densities."""
        checked = check_sampling(seed, **sampling)
        if "sampler" in settings:
            raise InvalidInput(
                "sampler can't be chosen here: PyMC's own keeps compiled code, which holds a "
                "model's constants, on the disk, and these records are confidential; leave it out"
            )
        settings = check_settings(self.engine, settings)
        if log_lik:
            check_densities(checked["draws"] * checked["chains"], self.law.count(records))
        if seed is None:
            checked["seed"] = int(random_words(1)[0])
        draws = self._run(records, weights)(**checked, **settings)
        return as_inference_data(draws, self.law, self.interval, records, weights, log_lik=log_lik)

    def censored_model(self, records: Any, weights: Floats | None) -> pm.Model:
        """Clip every record's log density in the model of one copy's parameters."""
        return censor(
            self.law.model(records, "value"),
            epsilon=self.share,
            neighbours=self.neighbours,
            center=self.center,
            weights=weights,
        )

    def by_stan(
        self,
        records: Any,
        weights: Floats | None,
        *,
        draws: int,
        warmup: int,
        chains: int,
        seed: int,
        **settings: Any,
    ) -> Draws:
        """Draw by the law's Stan program."""
        drawn = stan.sample(
            self.law.program,
            self.stan_data(records, weights),
            variables=self.law.parameters,
            draws=draws,
            warmup=warmup,
            chains=chains,
            seed=seed,
            **settings,
        )
        return replace(drawn, posterior=self.law.from_stan(drawn.posterior))

    def stan_data(
        self, records: Any, weights: Floats | None, *, log_lik: bool = False
    ) -> dict[str, Any]:
        """Build the data of the law's Stan program."""
        low, high = self.interval
        return {
            "n": self.law.count(records),
            "weighted": int(weights is not None),
            "weight": np.empty(0) if weights is None else weights,
            "low": low,
            "high": high,
            "log_densities": int(log_lik),
            **self.law.stan_data(records),
        }


def check_densities(draws: int, records: int) -> None:
    """Raise InvalidInput if every record's log density at every draw would be too many numbers."""
    if draws * records > _MOST_DENSITIES:
        raise InvalidInput(
            f"log_lik asks for {draws * records:,} log densities, one of each record at every "
            f"draw, more than {_MOST_DENSITIES:,}; take fewer draws or chains"
        )


def as_inference_data(
    draws: Draws,
    law: Law,
    interval: tuple[float, float],
    records: Any,
    weights: Floats | None,
    *,
    log_lik: bool,
) -> az.InferenceData:
    """Assemble what `CensoredSynthesizer.pseudo_posterior` returns, which is confidential."""
    constant: dict[str, Any] = dict(zip(("low", "high"), interval, strict=True))
    densities, observed = {}, {}
    if log_lik:
        whole = law.log_density(draws.posterior, records)
        whole = whole if weights is None else whole * weights
        densities = {"log_lik": np.clip(whole, *interval), "log_lik_noM": whole}
        observed["value"] = law.observed(records)
        constant["weight"] = np.ones(law.count(records)) if weights is None else weights
        constant["lipschitz"] = np.abs(densities["log_lik"]).max(axis=(0, 1))
    each = [*densities, *observed, "weight", "lipschitz"] if log_lik else []
    return to_inference_data(
        draws,
        dims={name: ["record"] for name in each},
        coords={},
        observed_data=observed,
        constant_data=constant,
        attrs={"engine": draws.engine, **draws.versions, "privacy": "none: confidential"},
        log_likelihood=densities,
    )
