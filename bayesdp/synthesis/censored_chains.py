r"""The censored beta posterior by Markov chains: Stan's or PyMC's.

The law is the grid engine's without a grid: phi ~ Beta(p, q), lambda ~ Pareto(smallest, shape) cut
off at `largest`, and every record's weighted log density clipped. Chains reach it in the limit
only, so what they release is conditional on their draws being exact
(`bayesdp.mechanisms.censored.posterior`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.draws import Draws, check_sampling, to_inference_data
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.engines.settings import check_settings
from bayesdp.engines.stan import sampling as stan
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.censored import synthetic_column
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.randomness import random_words
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.private_folder import sweep
from bayesdp.release import Release
from bayesdp.synthesis.censor.model import censor, check_relation, clipping_interval
from bayesdp.synthesis.posterior import last_draws, share_of
from bayesdp.synthesis.publish import pay_then_draw

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

Floats = NDArray[np.float64]
PARAMETERS = ("phi", "lambda")
_MOST_DENSITIES = 50_000_000  # 800 MB of both kinds


@dataclass(frozen=True)
class Chains:
    """Chains that draw (phi, lambda) by an engine; all of their settings are public.

    Parameters
    ----------
    engine : {"pymc", "stan"}
        NUTS, by nutpie or by Stan.
    epsilon, copies, neighbours, center, prior_phi, prior_lambda, largest, bounds
        As for `CensoredBetaSynthesizer`.
    """

    engine: str
    epsilon: float
    copies: int
    neighbours: str
    center: float
    prior_phi: tuple[float, float]
    prior_lambda: tuple[float, float]
    largest: float
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def share(self) -> float:
        """Epsilon of one copy."""
        return share_of(float(self.epsilon), self.copies)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval that every record's weighted log density is clipped to."""
        return clipping_interval(self.share, check_relation(self.neighbours), self.center, False)

    def mechanism(self, n: int, size: int, variable: str) -> CensoredPosteriorMechanism:
        """Describe a release as a mechanism, which holds n under replace-one only."""
        public = n if check_relation(self.neighbours) is Neighbours.REPLACE_ONE else None
        columns = ((variable, "number"),)
        return CensoredPosteriorMechanism(public, size, *self.interval, columns, engine=self.engine)

    def release(
        self,
        y: Floats,
        weights: Floats | None,
        size: int,
        variable: str,
        ledger: DatasetLedger | None,
    ) -> Release:
        """Draw each copy's parameters, the last state of its own chain, and records given them."""
        sweep()
        mechanism = self.mechanism(y.size, size, variable)
        if self.engine == "stan":  # what can fail does so before anything is spent
            stan.compile_program("censored_beta")
            run = partial(self.by_stan, y, weights)
        else:
            run = partial(pymc.sample, self.censored_model(y, weights), variables=PARAMETERS)

        @pymc.without_notices()
        def draw() -> dict[None, list[Any]]:
            points = last_draws(run, self.copies)
            phi, lam = (np.array([point[name] for point in points]) for name in PARAMETERS)
            drawn = synthetic_column.draw(phi, lam, size, self.bounds)
            return {None: drawn[:, :, None].tolist()}

        return pay_then_draw(
            {None: mechanism}, draw, copies=self.copies, variable="record", ledger=ledger
        )

    def pseudo_posterior(
        self,
        y: Floats,
        weights: Floats | None,
        sampling: dict[str, int],
        seed: int | None,
        log_lik: bool,
        settings: dict[str, Any],
    ) -> az.InferenceData:
        """Draw phi and lambda, with the sampler's statistics and, if asked, log densities."""
        checked = check_sampling(seed, **sampling)
        if "sampler" in settings:
            raise InvalidInput(
                "sampler can't be chosen here: PyMC's own keeps compiled code, which holds a "
                "model's constants, on the disk, and these records are confidential; leave it out"
            )
        settings = check_settings(self.engine, settings)
        if log_lik and (size := checked["draws"] * checked["chains"] * y.size) > _MOST_DENSITIES:
            raise InvalidInput(
                f"log_lik asks for {size:,} log densities, one of each record at every draw, more "
                f"than {_MOST_DENSITIES:,}; take fewer draws or chains"
            )
        if self.engine == "stan":
            run = partial(self.by_stan, y, weights)
        else:
            run = partial(pymc.sample, self.censored_model(y, weights), variables=PARAMETERS)
        if seed is None:
            checked["seed"] = int(random_words(1)[0])
        draws = run(**checked, **settings)
        low, high = self.interval
        constant, densities = {"low": low, "high": high}, {}
        if log_lik:
            densities = self.log_densities(draws, y, weights)
            constant["lipschitz"] = np.abs(densities["log_lik"]).max(axis=(0, 1))
        return to_inference_data(
            draws,
            dims={name: ["record"] for name in (*densities, "lipschitz")} if log_lik else {},
            coords={},
            observed_data={},
            constant_data=constant,
            attrs={"engine": draws.engine, **draws.versions, "privacy": "none: confidential"},
            log_likelihood=densities,
        )

    def log_densities(self, draws: Draws, y: Floats, weights: Floats | None) -> dict[str, Floats]:
        """Each record's weighted log density at every draw, clipped and not: (chain, draw, n)."""
        phi, lam = (draws.posterior[name][..., None] for name in PARAMETERS)
        a, b = lam * phi, lam * (1 - phi)
        whole = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
        if weights is not None:
            whole = whole * weights
        return {"log_lik": np.clip(whole, *self.interval), "log_lik_noM": whole}

    def censored_model(self, y: Floats, weights: Floats | None) -> pm.Model:
        """Clip every record's log density in the model of one copy's parameters."""
        return censor(
            self.model(y, "value"),
            epsilon=self.share,
            neighbours=self.neighbours,
            center=self.center,
            weights=weights,
        )

    def by_stan(
        self,
        y: Floats,
        weights: Floats | None,
        *,
        draws: int,
        warmup: int,
        chains: int,
        seed: int,
        **settings: Any,
    ) -> Draws:
        """Draw by stan/censored_beta.stan."""
        return stan.sample(
            "censored_beta",
            self.stan_data(y, weights),
            variables=PARAMETERS,
            draws=draws,
            warmup=warmup,
            chains=chains,
            seed=seed,
            **settings,
        )

    def stan_data(
        self, y: Floats, weights: Floats | None, *, log_lik: bool = False
    ) -> dict[str, Any]:
        """Build the data block of stan/censored_beta.stan."""
        low, high = self.interval
        return {
            "n": y.size,
            "y": y,
            "weighted": int(weights is not None),
            "weight": np.empty(0) if weights is None else weights,
            "low": low,
            "high": high,
            "phi_a": self.prior_phi[0],
            "phi_b": self.prior_phi[1],
            "smallest": self.prior_lambda[0],
            "shape": self.prior_lambda[1],
            "largest": self.largest,
            "log_densities": int(log_lik),
        }

    def model(self, y: Floats, variable: str) -> pm.Model:
        """Build the model whose observed variable is censored."""
        pm = pymc.import_pymc()
        smallest, shape = self.prior_lambda
        with pm.Model() as model:
            phi = pm.Beta("phi", *self.prior_phi)
            pareto = pm.Pareto.dist(shape, smallest)
            lam = pm.Truncated("lambda", pareto, lower=smallest, upper=self.largest)
            pm.Beta(variable, lam * phi, lam * (1 - phi), observed=y)
        return model
