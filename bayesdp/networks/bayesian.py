"""Bayesian exponential random graph models, by the exchange algorithm."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp._version import __version__
from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.chain import Plan
from bayesdp.networks.formula import BoundFormula, bind, parse
from bayesdp.networks.network import Network
from bayesdp.networks.prior import Normal
from bayesdp.networks.pseudolikelihood import check_rank, climb, dyads_of, inverse
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import Start, default_steps, in_threads

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd


_COLLAPSED = 0.5  # share of empty or complete graphs; on few nodes some are due


@dataclass(frozen=True)
class BayesianERGM:
    """An exponential random graph model with a prior.

    Parameters
    ----------
    formula : str
        As "edges + nodematch('grade') + gwesp(0.5)".
    prior : Normal
        Of the coefficients.

    Raises
    ------
    InvalidInput
        If the formula can't be read or the prior isn't one.
    """

    formula: str
    prior: Normal = field(default_factory=Normal)

    def __post_init__(self) -> None:
        parse(self.formula)
        if not isinstance(self.prior, Normal):
            raise InvalidInput(f"prior is {quoted(self.prior)}; it must be a Normal(mean, sd)")

    def fit(
        self,
        network: Network,
        *,
        draws: int = 4_000,
        tune: int = 1_000,
        chains: int = 4,
        auxiliary: int | None = None,
        offset: ArrayLike | tuple[ArrayLike, ArrayLike, float] | None = None,
        seed: Seed = None,
    ) -> az.InferenceData:
        """Draw from the posterior of the coefficients given a network.

        Chains start overdispersed about the maximum of pseudo-likelihood and prior. Moves
        have the pseudo-likelihood's covariance at first, then that of the chain's own
        warm-up, scaled to accept three in ten (Haario, Saksman and Tamminen 2001); see
        `bayesdp.networks.chain`. Nothing adapts after the warm-up. Auxiliary graphs that are
        too short bias the answer, the more the flatter the posterior: `compare_auxiliary`
        shows by how much.

        Parameters
        ----------
        network : Network
        draws, tune, chains : int
            Moves kept and of the warm-up, of each chain. Chains run in parallel threads.
        auxiliary : int or None
            Proposals of each auxiliary graph, from the observed one; None for twice the
            number of dyads, at least 1,000.
        offset : array_like of shape (n, n), or (pairs, values, constant), or None
        seed : int, numpy Generator or None

        Returns
        -------
        InferenceData
            `theta` with dimension `term`; `acceptance_rate` (whether the move was accepted)
            and `auxiliary_density` in sample_stats; the network's `statistics` in
            observed_data.

        Warns
        -----
        UserWarning
            If the network is empty or complete, or if auxiliary graphs were, in more than
            half of the moves: the coefficients then lie where the model is degenerate.
        """
        bound = bind(self.formula, network)
        counts = (("draws", draws), ("tune", tune), ("chains", chains))
        draws, tune, chains = (check_at_least_one(*count) for count in counts)
        steps = default_steps(network, auxiliary, "auxiliary")
        mean, sd = self.prior.of(len(bound.names))
        dyads = dyads_of(bound, network, offset)
        check_rank(bound, dyads)
        centre, information = climb(dyads, mean, 1.0 / sd**2)
        start = Start.of(bound, network, offset)
        prior = mean, np.diag(1.0 / sd**2)
        plan = Plan(start, centre, inverse(information), prior, steps, draws, tune)
        drawn = in_threads(plan.chain, generators(seed, chains))
        theta, accepted, density = (np.array(part) for part in zip(*drawn, strict=True))
        _warn_of_degeneracy(network, density)
        return self._inference_data(bound, start.statistics, theta, accepted, density, steps)

    def compare_auxiliary(
        self, network: Network, *, auxiliary: int | None = None, seed: Seed = None, **options: Any
    ) -> pd.DataFrame:
        """What doubling the auxiliary graphs' length changes.

        Fits twice. One row a term: mean and sd at the given length and at twice that, the
        change of the mean in posterior sds, and in standard errors of its simulation.

        Parameters
        ----------
        network, auxiliary, seed, **options
            As for `fit`.
        """
        import pandas as pd

        az = import_arviz()
        steps = default_steps(network, auxiliary, "auxiliary")
        once, twice = generators(seed, 2)
        rows = {}
        fits = [
            self.fit(network, auxiliary=length, seed=generator, **options).posterior["theta"]
            for length, generator in ((steps, once), (2 * steps, twice))
        ]
        for term in fits[0].coords["term"].values:
            short, long = (fit.sel(term=term) for fit in fits)
            change = float(long.mean() - short.mean())
            error = math.hypot(*(float(az.mcse(fit)["theta"]) for fit in (short, long)))
            rows[str(term)] = {
                "mean": float(short.mean()),
                "sd": float(short.std()),
                "mean_doubled": float(long.mean()),
                "sd_doubled": float(long.std()),
                "change_in_sd": change / float(long.std()),
                "change_in_mcse": change / error,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("term")

    def _inference_data(
        self,
        bound: BoundFormula,
        observed: NDArray[np.float64],
        theta: NDArray[np.float64],
        accepted: NDArray[np.bool_],
        density: NDArray[np.float64],
        auxiliary: int,
    ) -> az.InferenceData:
        idata = import_arviz().from_dict(
            posterior={"theta": theta},
            sample_stats={
                "acceptance_rate": accepted.astype(np.float64),
                "auxiliary_density": density,
            },
            observed_data={"statistics": observed},
            coords={"term": list(bound.names)},
            dims={"theta": ["term"], "statistics": ["term"]},
        )
        idata.attrs = {
            "bayesdp_version": __version__,
            "engine": "exchange",
            "engine_reason": "the likelihood's constant is intractable; the exchange cancels it",
            "formula": self.formula,
            "prior": json.dumps([values.tolist() for values in self.prior.of(len(bound.names))]),
            "auxiliary": str(auxiliary),
        }
        idata.posterior.attrs.update(idata.attrs)
        return idata


def _warn_of_degeneracy(network: Network, density: NDArray[np.float64]) -> None:
    if len(network.edges) in (0, network.dyads):
        warnings.warn(
            "the network is empty or complete: the posterior rests on the prior in some direction",
            UserWarning,
            stacklevel=3,
        )
        return
    warn_of_collapse("auxiliary", density, stacklevel=4)


def warn_of_collapse(which: str, density: NDArray[np.float64], *, stacklevel: int) -> None:
    """Warn where most graphs that were drawn, whose density is given, are empty or complete."""
    collapsed = float(np.isin(density, (0.0, 1.0)).mean())
    if collapsed > _COLLAPSED:
        warnings.warn(
            f"{collapsed:.0%} of the {which} graphs were empty or complete: the model is "
            "degenerate where these coefficients lie, and the posterior shouldn't be trusted; "
            "change a term (gwesp instead of triangle) or tighten the prior",
            UserWarning,
            stacklevel=stacklevel,
        )


def import_arviz() -> Any:
    """Import ArviZ without the notice it prints about its next major version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return arviz
