r"""Exponential random graph models of a graph that was released with noise.

    theta ~ Normal,    Pr[x | theta] = exp(theta . s(x)) / Z(theta),    z ~ mechanism(x).

Only z is seen. Where the terms make no dyad depend on another and the mechanism randomises each on
its own, x sums out and NUTS samples the posterior of theta (`bayesdp.inference.graphs.ergm_dyads`).
Elsewhere the sampler is a joint one of theta and the hidden graph (`bayesdp.networks.hidden`): Z
cancels by the exchange algorithm, and the mechanism's law is part of each tie's log-odds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_seed
from bayesdp.core.views import GraphView, view_of
from bayesdp.engines.draws import Draws, check_sampling
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.graphs import ergm_dyads
from bayesdp.inference.graphs.ergm_exchange import sample_jointly, sample_observed
from bayesdp.inference.graphs.network_release import evidence_in, graphs_in
from bayesdp.inference.result import network_inference_data
from bayesdp.networks.auxiliary import Auxiliary
from bayesdp.networks.dyad_table import DyadTable, hidden_table
from bayesdp.networks.evidence import Constraint, Evidence, check_constraint
from bayesdp.networks.formula import bind, parse
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

Engine = Literal["auto", "exchange", "pymc", "stan"]


@dataclass(frozen=True)
class ERGMModel:
    """Inference about an exponential random graph model from a released graph or its statistics.

    Parameters
    ----------
    formula : str
        As "edges + nodematch('grade') + gwesp(0.5)".
    prior : NormalPrior
        Of the coefficients.
    attributes : mapping of str to array_like, shape (n,), or to mappings
        Of nodes, in the release's order, or from each node's label, that the analyst knows beside
        those it holds.
    dyad_attributes : mapping of str to array_like, shape (n, n)
        For edgecov.
    constraint : {"max_degree", "none"}
        Sample space of the model, over which Pr[x | theta] sums to one: the graphs whose degrees
        are at most the release's public `max_degree` (where it has none, all), or all graphs, of
        which the bound then only says that this one kept to it. As `bd(maxout=)` and no constraint
        in R's ergm. The answers differ, by the sign too, where the bound is near usual degrees.

    Raises
    ------
    InvalidInput
        If the formula can't be read or the prior isn't one.

    Examples
    --------
    >>> import bayesdp as bdp, networkx as nx
    >>> release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0).release(nx.karate_club_graph())
    >>> model = bdp.models.ERGMModel("edges + gwesp(0.5)", bdp.networks.NormalPrior(0, [5, 3]))
    >>> idata = model.fit(release, chains=4, seed=1)  # doctest: +SKIP
    """

    formula: str
    prior: NormalPrior = field(default_factory=NormalPrior)
    attributes: Mapping[str, Any] = field(default_factory=dict, compare=False)
    dyad_attributes: Mapping[str, Any] = field(default_factory=dict, compare=False)
    constraint: Constraint = "max_degree"

    family: ClassVar[str] = "ergm"
    no_evidence: ClassVar[str] = (
        "an exponential-family graph model's likelihood has a constant of its own that "
        "depends on the coefficients and is intractable; compare networks that its posterior "
        "predicts with what was released (bdp.networks)"
    )
    """Why it has no log evidence here, and the way out."""

    @staticmethod
    def reads(mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return view_of(mechanism, GraphView) is not None

    def __post_init__(self) -> None:
        parse(self.formula)
        if not isinstance(self.prior, NormalPrior):
            raise InvalidInput(f"prior is {quoted(self.prior)}; it must be a NormalPrior(mean, sd)")
        check_constraint(self.constraint)

    def fit(
        self,
        release: Release,
        *,
        engine: Engine = "auto",
        draws: int = 4000,
        chains: int = 4,
        warmup: int = 1000,
        auxiliary: Auxiliary | None = None,
        tempering: int | None = None,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior of the coefficients given the release.

        Parameters
        ----------
        release : Release
            Of a graph, its degrees or its statistics. Several copies are used together.
        engine : {"auto", "exchange", "pymc", "stan"}
            "auto" takes PyMC where the hidden graph sums out, and else "exchange", the joint
            sampler, which is always possible.
        draws, chains, warmup : int
            Kept draws of each chain, after `warmup` draws of adaptation.
        auxiliary : int, "exact", "tempered" or None
            Where the joint sampler takes the model's normalizing constant from: "exact" lists all
            graphs, of at most 22 dyads; "tempered" takes chains that cross between sparse and dense
            graphs; a number is that of the proposals of auxiliary graphs, of which too few bias the
            answer. None takes "exact", or "tempered" for up to three coefficients and 5,000 dyads,
            or else twice as many proposals as there are dyads, at most 400 a tie, at least 1,000.
        tempering : int, optional
            Steps of all tempered chains together; 16,000 if not given.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own at once; None for where standard error is a terminal.

        Returns
        -------
        arviz.InferenceData
            posterior variable "theta" with dimension "term"; by the exchange also "statistics",
            those of the hidden graph. sample_stats, observed_data (the outputs), constant_data
            (the mechanism's parameters), and attrs: engine and why, the constraint in force,
            versions, guarantee, and "verdict", which says in words what speaks against the draws;
            by the joint sampler also "auxiliary", what was used.

        Raises
        ------
        InvalidInput
            If an argument is out of range or the model doesn't fit the release.
        MissingDependency, EngineFailed
            If an engine isn't installed or stops.

        Warns
        -----
        UserWarning
            If the chains haven't mixed or ran to graphs without ties or with all; if the
            normalizing constant isn't known well enough, or auxiliary graphs don't forget where
            they start; if graphs of the model are nothing like the hidden ones.
        """
        draws, chains, warmup, seed = check_sampling(
            seed, draws=draws, chains=chains, warmup=warmup
        ).values()
        nodes, evidence = self._hidden(release)
        closed = ergm_dyads.is_closed(bind(self.formula, nodes), evidence)
        reason = "asked for"
        if engine == "auto":
            engine = "pymc" if closed else "exchange"
            reason = (
                "no dyad depends on another, so the hidden graph sums out"
                if closed
                else "dyads depend on each other, so the hidden graph is sampled with theta"
            )
        common: dict[str, Any] = {"draws": draws, "chains": chains, "seed": seed}
        if engine == "exchange":
            common |= {"auxiliary": auxiliary, "tempering": tempering, "tune": warmup}
            return self._exchange(nodes, evidence, release, reason, progress=progress, **common)
        if engine in ("pymc", "stan"):
            if not closed:
                raise InvalidInput(
                    f"engine is {quoted(engine)}, but with {quoted(self.formula)} from this "
                    "release the hidden graph doesn't sum out; use engine='exchange', or 'auto'"
                )
            drawn = ergm_dyads.sample_dyads(
                self.formula, nodes, evidence, self.prior,
                engine=engine, warmup=warmup, progress=progress, **common,
            )  # fmt: skip
        else:
            raise InvalidInput(
                f"engine is {quoted(engine)}; it must be 'auto', 'exchange', 'pymc' or 'stan'"
            )
        return self._result(drawn, nodes, release, reason)

    def fit_naive(
        self,
        release: Release,
        *,
        copy: int = 0,
        draws: int = 4000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior that takes a released graph for the real one.

        Wrong, and shown beside the right one because it is what one gets by analysing the
        released graph as if it were the confidential one.

        Raises
        ------
        InvalidInput
            If the release isn't of graphs.
        """
        seed = check_seed(seed)
        graphs = graphs_in(release)
        if not 0 <= copy < release.copies:
            raise InvalidInput(f"copy is {copy}; the release has {release.copies}, from 0")
        nodes = self._with_covariates(graphs[copy])
        drawn, auxiliary, problems = sample_observed(
            self.formula,
            nodes,
            prior=self.prior,
            draws=draws,
            tune=warmup,
            chains=chains,
            seed=seed,
        )
        reason = "naive: takes the released graph for the real"
        return self._result(drawn, nodes, release, reason, auxiliary, problems)

    def log_likelihood(self, release: Release, theta: Any) -> NDArray[np.float64]:
        """Compute log Pr[outputs | theta] less that of no ties, where the hidden graph sums out.

        Parameters
        ----------
        release : Release
        theta : array_like, shape (..., terms)

        Raises
        ------
        InvalidInput
            Where it doesn't.
        """
        return self._table(release).log_likelihood(theta)

    def pymc_model(self, release: Release) -> pm.Model:
        """Build the model as a pm.Model, where the hidden graph sums out."""
        return ergm_dyads.pymc_model(self._table(release), self.prior)

    def stan_data(self, release: Release) -> dict[str, Any]:
        """Build the data of the Stan program `ergm_dyads`, where the hidden graph sums out."""
        return ergm_dyads.stan_data(self._table(release), self.prior)

    def _table(self, release: Release) -> DyadTable:
        nodes, evidence = self._hidden(release)
        return hidden_table(bind(self.formula, nodes), nodes, evidence)

    def _hidden(self, release: Release) -> tuple[Network, Evidence]:
        """Read the nodes, and the copies' joint evidence on the hidden graph."""
        evidence = evidence_in(release)
        return self._with_covariates(evidence.nodes), evidence

    def _with_covariates(self, nodes: Network) -> Network:
        return Network(
            nodes.nodes,
            nodes.edges,
            nodes.directed,
            {**nodes.attributes, **self.attributes},
            {**nodes.dyad_attributes, **self.dyad_attributes},
        )

    def _exchange(
        self, nodes: Network, evidence: Evidence, release: Release, reason: str, **options: Any
    ) -> az.InferenceData:
        options |= {"prior": self.prior, "constraint": self.constraint}
        drawn, auxiliary, problems = sample_jointly(self.formula, nodes, evidence, **options)
        return self._result(drawn, nodes, release, reason, auxiliary, problems)

    def _sample_space(self, release: Release) -> str:
        """Name the constraint in force, as "max_degree = 8" or "none"."""
        most = evidence_in(release).max_degree
        return "none" if most is None or self.constraint == "none" else f"max_degree = {most}"

    def _result(
        self,
        drawn: Draws,
        nodes: Network,
        release: Release,
        reason: str,
        auxiliary: str | None = None,
        problems: Sequence[str] = (),
    ) -> az.InferenceData:
        names = bind(self.formula, nodes).names
        return network_inference_data(
            drawn,
            release,
            of="terms",
            dims={name: ["term"] for name in drawn.posterior},
            coords={"term": list(names)},
            attrs={
                "family": self.family,
                "formula": self.formula,
                "prior": json.dumps([each.tolist() for each in self.prior.of(len(names))]),
                "constraint": self._sample_space(release),
                "engine_reason": reason,
                **({} if auxiliary is None else {"auxiliary": auxiliary}),
            },
            problems=problems,
        )
