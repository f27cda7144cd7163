r"""Exponential random graph models of a graph that was released with noise.

    theta ~ Normal,    Pr[x | theta] = exp(theta . s(x)) / Z(theta),    z ~ mechanism(x).

Only z is seen. Where the terms make no dyad depend on another and the mechanism randomises each on
its own, x sums out and NUTS samples the posterior of theta (`bayesdp.inference.graphs.ergm_dyads`).
Elsewhere the sampler is a joint one of theta and the hidden graph (`bayesdp.networks.hidden`): Z
cancels by the exchange algorithm, and the mechanism's law is part of each tie's log-odds. Of graphs
that were simulated at sanitised coefficients, these sum out
(`bayesdp.mechanisms.graphs.dp_ergm.law`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least
from bayesdp.core.views import GraphView, View
from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Option, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.fitted import check_fitted
from bayesdp.inference.graphs import ergm_dyads
from bayesdp.inference.graphs.ergm_exchange import sample_jointly, sample_observed
from bayesdp.inference.graphs.network_release import evidence_in, graphs_in
from bayesdp.inference.result import network_inference_data
from bayesdp.inference.several import Releases, only_one
from bayesdp.networks.dyad_table import DyadTable, hidden_table, is_pairwise
from bayesdp.networks.edge_probabilities import edge_probabilities
from bayesdp.networks.evidence import Constraint, Evidence, check_constraint
from bayesdp.networks.formula import bind, parse
from bayesdp.networks.network import Network
from bayesdp.networks.network_checks import check_agreeing, checked_attributes, named_items
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.simulation import several_coefficients
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm
    import xarray as xr


@dataclass(frozen=True)
class Hidden:
    """A hidden graph's nodes, the evidence on it, and whether it sums out."""

    nodes: Network
    evidence: Evidence
    closed: bool


@dataclass(frozen=True)
class ERGMModel(Model):
    """Inference about an exponential random graph model from a released graph or its statistics.

    Parameters
    ----------
    formula : str
        For example "edges + nodematch('grade') + gwesp(0.5)". Terms are those of R's ergm:
        "nodemix('grade')" leaves the first pair of grades out, as edges is the sum of all;
        "nodemix('grade', levels2=True)" by itself is a block model, with a coefficient each.
    prior : NormalPrior
        Prior of the coefficients.
    attributes : mapping of str to array_like, shape (n,), or to mappings
        Node attributes that the analyst knows besides those in the release: in the release's order
        of nodes, or by each node's label. One that is in the release too must agree with it, and
        fills in what is missing there.
    dyad_attributes : mapping of str to array_like, shape (n, n)
        Dyad attributes, for edgecov.
    constraint : {"max_degree", "none"}
        Sample space of the model, over which Pr[x | theta] sums to one: the graphs whose degrees
        are at most the release's public `max_degree` (where it has none, all), or all graphs, where
        the bound only says that this one kept to it. These are `bd(maxout=)` and no constraint in
        R's ergm. The answers differ, even in sign, where the bound is near typical degrees.

    Raises
    ------
    InvalidInput
        If the formula can't be read or `prior` isn't a `NormalPrior`.

    Notes
    -----
    The posterior variable is "theta" with the dimension "term"; the joint sampler adds
    "statistics", those of the hidden graph. Of classes of nodes, `edge_probabilities` has the
    probability of a tie between each two. The model reads a graph, its degrees or its statistics,
    and graphs from a sanitised model (`DPERGMSynthesizer`, corrected), whose formula need not be
    this one; several copies are used together. "auto" takes NUTS by "pymc" ("stan" does
    the same) where the hidden graph sums out, and otherwise "exchange", the joint sampler, which is
    always possible. The attrs have the constraint in force and, for the joint sampler, the
    "auxiliary" in use.

    `fit` has two options of the joint sampler. `auxiliary` (int, "exact", "tempered" or None) is
    the source of the model's normalizing constant: "exact" lists all graphs, of at most 22 dyads,
    or multiplies over pairs of nodes, where the model has them independent; "tempered" runs chains
    that cross between sparse and dense graphs; an int is the number of proposals for each auxiliary
    graph, of which too few bias the answer. None takes "exact", or "tempered" for up to three
    coefficients and 5,000 dyads, or else twice as many proposals as there are dyads, at most 400 a
    tie, at least 1,000. `tempering` is the number of steps of all tempered chains together, 16,000
    by default. `fit_naive` has `copy`, the number of the released graph that it treats as real.

    A fit warns if the chains haven't mixed or ran to graphs with no tie or with every tie; if the
    normalizing constant isn't known well enough, or auxiliary graphs still depend on their start;
    and if graphs of the model are nothing like the hidden ones.

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
    views: ClassVar[tuple[type[View], ...]] = (GraphView,)
    engines: ClassVar[tuple[str, ...]] = ("exchange", "pymc", "stan")
    takes_groups: ClassVar[bool] = False
    program: ClassVar[str] = "ergm_dyads"
    variables: ClassVar[Sequence[str]] = ("theta",)
    options: ClassVar[Mapping[str, Option]] = {"auxiliary": (None, None), "tempering": (None, None)}
    naive_options: ClassVar[Mapping[str, Option]] = {"copy": (0, partial(check_at_least, least=0))}
    naive_reason: ClassVar[str] = "naive: takes the released graph for the real"
    no_evidence: ClassVar[str] = (
        "an exponential-family graph model's likelihood has a constant of its own that "
        "depends on the coefficients and is intractable; compare networks that its posterior "
        "predicts with what was released (bdp.networks)"
    )
    """Why it has no log evidence here, and the way out."""

    def __post_init__(self) -> None:
        parse(self.formula)
        if not isinstance(self.prior, NormalPrior):
            raise InvalidInput(f"prior is {quoted(self.prior)}; it must be a NormalPrior(mean, sd)")
        named_items("attributes", self.attributes)
        named_items("dyad_attributes", self.dyad_attributes)
        check_constraint(self.constraint)

    def read(self, release: Releases) -> Hidden:
        """Read the nodes, and the copies' joint evidence on the hidden graph."""
        nodes, evidence = self._hidden(only_one(release, "exchange"))
        return Hidden(nodes, evidence, ergm_dyads.is_closed(bind(self.formula, nodes), evidence))

    def chosen(self, engine: str, read: Hidden) -> tuple[str, str]:
        """Choose NUTS where the hidden graph sums out, and say why."""
        if engine == "auto":
            return (
                ("pymc", "no dyad depends on another, so the hidden graph sums out")
                if read.closed
                else (
                    "exchange",
                    "dyads depend on each other, so the hidden graph is sampled with theta",
                )
            )
        if engine != "exchange" and not read.closed:
            raise InvalidInput(
                f"engine is {quoted(engine)}, but with {quoted(self.formula)} from this "
                "release the hidden graph doesn't sum out; use engine='exchange', or 'auto'"
            )
        return engine, "asked for"

    def sample(self, run: Run) -> Draws:
        """Draw by NUTS, or by the exchange algorithm with the hidden graph."""
        hidden: Hidden = run.read
        given = self.formula, hidden.nodes, hidden.evidence
        if run.engine == "exchange":
            options = {**run.independent, **run.options, "tune": run.warmup}
            return sample_jointly(
                *given,
                prior=self.prior,
                constraint=self.constraint,
                progress=run.progress,
                **options,
            )
        if unused := [name for name, value in run.options.items() if value is not None]:
            raise InvalidInput(
                f"{unused[0]} is for engine='exchange', the joint sampler, and the hidden graph "
                f"sums out here, so that engine is {quoted(run.engine)}; leave it out, or ask for "
                "'exchange'"
            )
        options = {**run.chained, "progress": run.progress}
        return ergm_dyads.sample_dyads(*given, self.prior, engine=run.engine, **options)

    def read_naive(self, release: Release) -> Sequence[Network]:
        """Read the released graphs as real ones, or raise InvalidInput if there are none."""
        return graphs_in(release)

    def naive(self, run: Run) -> Draws:
        """Draw by the exchange algorithm, given the released graph number `copy`."""
        copy = run.options["copy"]
        if copy >= len(run.read):
            raise InvalidInput(f"copy is {copy}; the release has {len(run.read)}, from 0")
        nodes = self._with_covariates(run.read[copy])
        options = {**run.independent, "tune": run.warmup}
        return sample_observed(self.formula, nodes, prior=self.prior, **options)

    def result(self, run: Run, drawn: Draws, noises: Sequence[Noise] = ()) -> az.InferenceData:
        """Make an InferenceData of the draws, one coefficient for each term, with a verdict."""
        one = run.read.nodes if isinstance(run.read, Hidden) else run.read[run.options["copy"]]
        names = bind(self.formula, self._with_covariates(one)).names
        return network_inference_data(
            drawn,
            run.release,
            of="terms",
            dims={name: ["term"] for name in drawn.posterior},
            coords={"term": list(names)},
            attrs={
                "family": self.family,
                "formula": self.formula,
                "prior": json.dumps([each.tolist() for each in self.prior.of(len(names))]),
                "constraint": self._sample_space(run.release),
                "engine_reason": run.reason,
                **run.told,
            },
        )

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw coefficients from their prior."""
        terms = len(bind(self.formula, run.read.nodes).names)
        mean, sd = self.prior.of(terms)
        return {"theta": rng.normal(mean, sd, (run.draws, terms))}

    def edge_probabilities(
        self, idata: az.InferenceData, release: Release, by: str
    ) -> xr.DataArray:
        """Compute the posterior of the probability of a tie between each two classes of nodes.

        Draw by draw it is the mean of Pr[tie | theta] over the dyads between the classes. Under
        the formula "nodemix('class', levels2=True)" all of these are alike, and it is expit of the
        pair's coefficient: the edge probabilities of a block model with public classes.

        Parameters
        ----------
        idata : arviz.InferenceData
            What `fit` returned.
        release : Release
            The release that it was fitted to.
        by : str
            Node attribute that has the classes; in the release, or in the model's `attributes`.

        Returns
        -------
        xarray.DataArray
            "edge_probability" with the dimensions chain, draw and pair, whose labels are "a.b",
            directed from a to b, in the order of nodemix. Pairs without dyads aren't there.

        Raises
        ------
        InvalidInput
            If `idata` isn't this model's posterior given this release, there is no such attribute,
            or pairs of nodes depend on each other, by a term or by a bound on degrees.

        Examples
        --------
        >>> import arviz as az, bayesdp as bdp, networkx as nx
        >>> declared = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=4.0, attributes=("club",))
        >>> release = declared.release(nx.karate_club_graph())
        >>> model = bdp.models.ERGMModel("nodemix('club', levels2=True)")
        >>> idata = model.fit(release, seed=1)  # doctest: +SKIP
        >>> az.summary(model.edge_probabilities(idata, release, by="club"))  # doctest: +SKIP
        """
        import_arviz()
        import xarray as xr

        check_fitted(self, idata, release)
        hidden = self.read(release)
        bound = bind(self.formula, hidden.nodes)
        most = None if self.constraint == "none" else hidden.evidence.max_degree
        if not is_pairwise(bound) or bound.within(most) is not bound:
            raise InvalidInput(
                f"formula is {quoted(self.formula)}, under which ties depend on each other, by a "
                "term or by the sample space's bound on degrees, so that no tie has a probability "
                "by itself; draw networks by bdp.networks.simulate at the posterior's "
                "coefficients, and count"
            )
        theta = idata.posterior["theta"].transpose("chain", "draw", "term")
        if tuple(theta["term"].to_numpy().tolist()) != bound.names:
            raise InvalidInput(
                "idata is the posterior of another formula's coefficients; they must be "
                f"{', '.join(bound.names)}"
            )
        pairs, found = edge_probabilities(self.formula, hidden.nodes, theta.to_numpy(), by)
        coords = {"chain": theta["chain"], "draw": theta["draw"], "pair": list(pairs)}
        return xr.DataArray(found, coords, ("chain", "draw", "pair"), "edge_probability")

    def log_likelihood(self, release: Releases, theta: Any) -> NDArray[np.float64]:
        """Compute log Pr[outputs | theta] - log Pr[outputs | no ties] by summing the graph out.

        Parameters
        ----------
        release : Release
        theta : array_like, shape (..., terms)
            What pandas, or xarray along "term", labels with the statistics' names is read by name.

        Raises
        ------
        InvalidInput
            If the hidden graph doesn't sum out, or theta hasn't a number for each statistic.
        """
        table = self._table(release)
        return table.log_likelihood(several_coefficients(theta, table.names, "theta"))

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, where the hidden graph sums out."""
        return ergm_dyads.pymc_model(self._table(release), self.prior)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `ergm_dyads`, where the hidden graph sums out."""
        return ergm_dyads.stan_data(self._table(release), self.prior)

    def _table(self, release: Releases) -> DyadTable:
        nodes, evidence = self._hidden(only_one(release, "pymc"))
        return hidden_table(bind(self.formula, nodes), nodes, evidence)

    def _hidden(self, release: Release) -> tuple[Network, Evidence]:
        """Read the nodes, and the copies' joint evidence on the hidden graph."""
        evidence = evidence_in(release)
        return self._with_covariates(evidence.nodes), evidence

    def _with_covariates(self, nodes: Network) -> Network:
        """Add what the analyst knows, or raise InvalidInput where the release says otherwise."""
        known = checked_attributes(self.attributes, nodes.nodes)
        check_agreeing(known, nodes.attributes)
        return Network(
            nodes.nodes,
            nodes.edges,
            nodes.directed,
            {**nodes.attributes, **known},
            {**nodes.dyad_attributes, **self.dyad_attributes},
        )

    def _sample_space(self, release: Release) -> str:
        """Name the constraint in force, for example "max_degree = 8" or "none"."""
        most = evidence_in(release).max_degree
        return "none" if most is None or self.constraint == "none" else f"max_degree = {most}"
