"""Bayesian exponential random graph models of an observed graph."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp._version import __version__
from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.auxiliary import (
    UNRELIABLE,
    Auxiliary,
    Constant,
    covers,
    normalizer_about,
    problems_of_auxiliary,
    problems_of_constant,
    thinned,
)
from bayesdp.networks.chain import Moves, Plan
from bayesdp.networks.formula import BoundFormula, bind, parse
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.normalizer import Normalizer, no_points
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.pseudolikelihood import check_rank, climb, dyads_of, inverse
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import Start, default_steps
from bayesdp.progress import bar
from bayesdp.threads import Halting, in_threads
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd


_ROUNDS = 8  # of tempering about coefficients, and finding where those of the posterior are
_EXPLORING, _EXPLORED = 0.25, (300, 300)  # share of the steps of a round; its moves


@dataclass(frozen=True)
class BayesianERGM:
    """An exponential random graph model with a prior.

    Parameters
    ----------
    formula : str
        For example "edges + nodematch('grade') + gwesp(0.5)".
    prior : NormalPrior
        Prior of the coefficients.

    Raises
    ------
    InvalidInput
        If the formula can't be read or `prior` isn't a `NormalPrior`.
    """

    formula: str
    prior: NormalPrior = field(default_factory=NormalPrior)

    def __post_init__(self) -> None:
        parse(self.formula)
        if not isinstance(self.prior, NormalPrior):
            raise InvalidInput(f"prior is {quoted(self.prior)}; it must be a NormalPrior(mean, sd)")

    def fit(
        self,
        network: Any,
        *,
        draws: int = 4_000,
        tune: int = 1_000,
        chains: int = 4,
        auxiliary: Auxiliary | None = None,
        tempering: int | None = None,
        offset: ArrayLike | tuple[ArrayLike, ArrayLike, float] | None = None,
        seed: Seed = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior of the coefficients given a network.

        Chains start overdispersed around the maximum of pseudo-likelihood times prior. Moves
        have the pseudo-likelihood's covariance at first, then that of the chain's own
        warm-up, scaled to accept three in ten (Haario, Saksman and Tamminen 2001); see
        `bayesdp.networks.chain`. Nothing adapts after the warm-up.

        The likelihood's constant is a sum over all graphs, where they can be listed, and a product
        over pairs of nodes, where these are independent and there is no offset; otherwise, for up
        to three coefficients and 5,000 dyads, it comes from tempered chains that cross between
        sparse and dense graphs (`bayesdp.networks.tempering`); beyond that, it cancels by auxiliary
        graphs. Auxiliary chains that are too short bias the answer, and badly where they stay in
        the phase in which they start: the fit checks for this afterwards, and `compare_auxiliary`
        estimates the bias.

        Parameters
        ----------
        network : Network or networkx graph
            The observed network.
        draws, tune, chains : int
            Moves of each chain that are kept, moves of its warm-up, and number of chains, which run
            in parallel threads.
        auxiliary : int, "exact", "tempered" or None
            Source of the constant: "exact" lists all graphs, of at most 22 dyads, or multiplies
            over independent pairs of nodes; "tempered" runs tempered chains; an int is the number
            of proposals for each auxiliary graph, from the observed one. None takes the first that
            is possible; an int is then twice the number of dyads, at most 400 a tie and at least
            1,000.
        tempering : int or None
            Steps of all tempered chains together, each of a quarter as many proposals as there are
            dyads; None for 16,000.
        offset : array_like of shape (n, n), or (pairs, values, constant), or None
            Fixed numbers added to the log-odds of the dyads.
        seed : int, numpy Generator or None
            The same seed gives the same draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on; None: only if
            standard error is a terminal.

        Returns
        -------
        InferenceData
            `theta` with dimension `term`; in sample_stats `acceptance_rate` (whether the move
            was accepted) and, where there are auxiliary graphs, `auxiliary_density`; the
            network's `statistics` in observed_data. The attrs have the `auxiliary` that was used,
            and `problems`, the reasons to doubt it, a list in JSON; judge the chains by ArviZ.

        Warns
        -----
        UserWarning
            If the network is empty or complete; if the constant isn't known well enough or
            auxiliary graphs still depend on their start; if graphs of the model are nothing like
            the network.
        """
        network = as_network(network)
        bound = bind(self.formula, network)
        counts = (("draws", draws), ("tune", tune), ("chains", chains))
        draws, tune, chains = (check_at_least_one(*count) for count in counts)
        mean, sd = self.prior.of(len(bound.names))
        dyads = dyads_of(bound, network, offset)
        check_rank(bound, dyads)
        centre, information = climb(dyads, mean, 1.0 / sd**2)
        ties = len(network.edges)
        constant = Constant.of(self.formula, network, auxiliary, tempering, offset, ties=ties)
        start = Start.of(bound, network, offset)
        *each, own = generators(seed, chains + 1)
        with bar(progress, chains * (draws + tune)) as step:
            halting = Halting(step)
            plan = Plan(
                start, centre, inverse(information), (mean, np.diag(1.0 / sd**2)),
                no_points(len(mean)), constant.proposals, draws, tune,
            )  # fmt: skip
            known, plan = _explored(constant, plan, own)
            drawn = in_threads(replace(plan, step=halting).chain, each, halting)
        moves = tuple(np.array(part) for part in zip(*drawn, strict=True))
        seen = np.array([float(ties)])
        if known is not None:
            problems = problems_of_constant(known, moves[0], seen, own)
        else:
            problems = problems_of_auxiliary(
                self.formula, network, offset, moves[0], constant, seen, own
            )
        _warn(network, problems)
        return self._inference_data(bound, start.statistics, moves, constant, problems)

    def compare_auxiliary(
        self, network: Any, *, auxiliary: int | None = None, seed: Seed = None, **options: Any
    ) -> pd.DataFrame:
        """Compare fits whose auxiliary graphs have the default length and twice that.

        It fits twice, with auxiliary graphs whatever the default source of the constant. The result
        has one row for each term: mean and sd at the given length and at twice that, and the change
        of the mean in posterior sds and in standard errors of its simulation.

        Parameters
        ----------
        network, auxiliary, seed, **options
            As for `fit`.
        """
        import pandas as pd

        az, network = import_arviz(), as_network(network)
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
        moves: Moves,
        constant: Constant,
        problems: list[str],
    ) -> az.InferenceData:
        theta, accepted, *density = moves
        stats = {"acceptance_rate": accepted.astype(np.float64)}
        if density:
            stats["auxiliary_density"] = density[0]
        idata = import_arviz().from_dict(
            posterior={"theta": theta},
            sample_stats=stats,
            observed_data={"statistics": observed},
            coords={"term": list(bound.names)},
            dims={"theta": ["term"], "statistics": ["term"]},
        )
        idata.attrs = {
            "bayesdp_version": __version__,
            "engine": "exchange",
            "engine_reason": constant.reason,
            "formula": self.formula,
            "prior": json.dumps([values.tolist() for values in self.prior.of(len(bound.names))]),
            "auxiliary": str(constant.kind),
            "problems": json.dumps(problems),
        }
        idata.posterior.attrs.update(idata.attrs)
        return idata


def _explored(
    constant: Constant, plan: Plan, generator: np.random.Generator
) -> tuple[Normalizer | None, Plan]:
    """Find the normalising constant around the posterior, and a plan that starts there.

    The pseudo-likelihood locates the posterior only roughly, and may be far off. So the constant is
    estimated roughly around it, and some moves under it show where to look next, until they settle.
    """
    if constant.tempering is None:
        known = constant.known
        return known, plan if known is None else replace(plan, points=known.points)
    draws, tune = _EXPLORED
    spread = generator.multivariate_normal(plan.centre, plan.covariance, draws)
    for _ in range(_ROUNDS):
        steps = int(_EXPLORING * constant.steps)
        rough = normalizer_about(constant.tempering, spread, steps, generator)
        short = replace(plan, points=rough.points, draws=draws, tune=tune)
        moves = in_threads(short.chain, generator.spawn(2))
        spread = np.vstack([theta for theta, _ in moves])
        plan = replace(plan, centre=spread.mean(axis=0), covariance=_covariance(spread, plan))
        if covers(rough, thinned(spread[None])):
            break
    known = normalizer_about(constant.tempering, spread, constant.steps, generator)
    return known, replace(plan, points=known.points)


def _covariance(spread: NDArray[np.float64], plan: Plan) -> NDArray[np.float64]:
    """Covariance of explored draws, with a little of the plan's own, so that it isn't singular."""
    own = np.cov(spread.T).reshape(plan.covariance.shape)
    return np.asarray(own + 1e-3 * plan.covariance, dtype=np.float64)


def _warn(network: Network, problems: list[str]) -> None:
    if len(network.edges) in (0, network.dyads):
        warn_about(
            "the network is empty or complete: the posterior rests on the prior in some direction",
            "empty-network",
            stacklevel=3,
        )
    elif problems:
        warn_about(f"{UNRELIABLE}: {'; '.join(problems)}", "network-fit", stacklevel=3)


def import_arviz() -> Any:
    """Import ArviZ without the notice it prints about its next major version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return arviz
