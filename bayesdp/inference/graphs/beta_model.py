r"""The beta-model: every node has its own propensity to form ties.

    log odds of a tie between i and j  =  beta_i + beta_j            undirected
                      from i to j      =  sender_i + receiver_j      directed

with all dyads independent, so the degrees are sufficient (Chatterjee, Diaconis and Sly 2011;
Holland and Leinhardt 1981, without reciprocity). Where each dyad is seen through noise of its own,
with o_d = log Pr[seen | tie] - log Pr[seen | no tie], the hidden graph sums out:

    log Pr[seen | beta]  =  sum over dyads d of  softplus(eta_d + o_d) - softplus(eta_d)

up to a constant. With a_d = exp(|o_d|) - 1 that is sum log(1 + a_d expit(sign(o_d) eta_d)) up to
another one, which is what the programs add up: one logarithm a dyad, of a number above one.

A constant may be moved from all senders to all receivers; the prior determines it, to within
sd / sqrt(2n).

Coefficients have independent priors, or those of one population,

    beta_i ~ Normal(m, t^2),    m ~ Normal,    t ~ HalfNormal(c),

by which the data say how much nodes differ (t), and nodes of which noise leaves little are drawn
towards the others, as by the random effects of van Duijn, Snijders and Zijlstra (2004). Of a
directed graph, senders and receivers have a t each, and m in common.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.fields import check_declared, declared
from bayesdp.core.views import DyadsView, View
from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Option, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.graphs.network_release import evidence_in, graphs_in
from bayesdp.inference.result import network_inference_data
from bayesdp.inference.several import Releases, only_one
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.networks.dyad_table import check_dyadwise
from bayesdp.networks.evidence import offset_matrix
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm


_MOST_DYADS = 2_000_000
_SURE = 700.0  # of |o_d|: the dyad is known
_SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Hidden:
    """A hidden graph's nodes, and the data of the programs that infer its coefficients."""

    nodes: Network
    data: dict[str, Any]


def _check_spread(name: str, value: Any) -> float:
    return check_positive(name, value, "coefficients' unit, log odds")


def check_engine(name: str, engine: Any) -> str:
    """Return the NUTS engine of a naive fit, or raise InvalidInput."""
    if engine not in ("auto", "pymc", "stan"):
        raise InvalidInput(f"{name} is {quoted(engine)}; it must be 'auto', 'pymc' or 'stan'")
    return "pymc" if engine == "auto" else str(engine)


@dataclass(frozen=True)
class NetworkBetaModel(Model):
    """Inference about every node's propensity to form ties, from a release of graphs.

    Parameters
    ----------
    prior : NormalPrior
        Prior of every coefficient, independently: one mean and one sd. With `spread`, that of the
        coefficients' mean.
    spread : float, optional
        c, scale of the half-normal prior of t, the standard deviation of the nodes' coefficients
        about their mean. Default: they are independent.

    Raises
    ------
    InvalidInput
        If `prior` isn't a `NormalPrior` of two numbers, or `spread` isn't above zero.

    Notes
    -----
    The posterior variable is "beta" with the dimension "node", or, for directed graphs, "sender"
    and "receiver"; with `spread` also "mean" (m) and "spread" (t), the latter with the dimension
    "side" for directed graphs. The model reads graphs whose dyads were randomised one by one; NUTS
    samples the posterior, by "pymc" or "stan". A naive fit treats several copies as independent
    graphs of one model, and has the option `engine`.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> graph = bdp.networks.Network(5, [(0, 1), (0, 2), (0, 3), (1, 2)])
    >>> release = bdp.synthesizers.EdgeFlipSynthesizer(3.0).release(graph)
    >>> idata = bdp.models.NetworkBetaModel().fit(release, draws=200, chains=2, seed=1)
    >>> idata.posterior["beta"].dims
    ('chain', 'draw', 'node')
    """

    prior: NormalPrior = field(default_factory=lambda: NormalPrior(0.0, 2.0))
    spread: float | None = declared(_check_spread, optional=True, default=None)

    family: ClassVar[str] = "beta_model"
    views: ClassVar[tuple[type[View], ...]] = (DyadsView,)
    engines: ClassVar[tuple[str, ...]] = ("pymc", "stan")
    takes_groups: ClassVar[bool] = False
    variables: ClassVar[Sequence[str]] = ("beta",)
    reason: ClassVar[str] = (
        "the likelihood is closed, so NUTS samples it, by the engine always installed"
    )
    usual: ClassVar[tuple[int, int]] = (1000, 1000)
    naive_options: ClassVar[Mapping[str, Option]] = {"engine": ("pymc", check_engine)}
    no_evidence: ClassVar[str] = (
        "its likelihood of a hidden graph is kept up to a constant that depends on the "
        "mechanism; compare graphs that its posterior predicts with what was released"
    )
    """Why it has no log evidence here, and the way out."""

    def __post_init__(self) -> None:
        one = isinstance(self.prior, NormalPrior) and np.ndim(self.prior.mean) == np.ndim(
            self.prior.sd
        )
        if not one or np.ndim(self.prior.mean):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be a NormalPrior(mean, sd) of two "
                "numbers, the same for all nodes"
            )
        check_declared(self)

    def read(self, release: Releases) -> Hidden:
        """Read the nodes, and the data of the programs."""
        one = only_one(release, "pymc")
        return Hidden(evidence_in(one).nodes, self.stan_data(one))

    def read_naive(self, release: Release) -> Hidden:
        """Read the copies as independent graphs of one model."""
        graphs = graphs_in(release)
        return Hidden(graphs[0], self._data(graphs[0], None, graphs))

    def sample(self, run: Run) -> Draws:
        """Sample by NUTS."""
        return self._sampled(run, run.engine)

    def naive(self, run: Run) -> Draws:
        """Sample by NUTS, given graphs that are treated as real."""
        return self._sampled(run, run.options["engine"])

    def _sampled(self, run: Run, engine: str) -> Draws:
        hidden: Hidden = run.read
        names = ["beta"] if self.spread is None else ["beta", "mean", "spread"]
        nuts = {**run.chained, "progress": run.progress, "variables": names}
        if engine == "stan":
            from bayesdp.engines.stan import sampling as stan

            return _by_node(stan.sample(self.program, hidden.data, **nuts), hidden.nodes)
        from bayesdp.engines.pymc import sampling as pymc
        from bayesdp.engines.pymc.programs import beta_model

        return _by_node(pymc.sample(beta_model(hidden.data), **nuts), hidden.nodes)

    def result(self, run: Run, drawn: Draws, noises: Sequence[Noise] = ()) -> az.InferenceData:
        """Make an InferenceData of the draws, one coefficient for each node, with a verdict."""
        nodes = run.read.nodes
        dims = {name: ["node"] for name in drawn.posterior} | {"mean": [], "spread": []}
        coords = {"node": list(nodes.nodes)}
        if nodes.directed and self.spread is not None:
            dims["spread"], coords["side"] = ["side"], list(_SIDES)
        return network_inference_data(
            drawn,
            run.release,
            of="nodes" if self.spread is None else "coefficients, their mean and spread",
            dims=dims,
            coords=coords,
            attrs={
                "family": self.family,
                "prior": json.dumps([float(self.prior.mean), float(self.prior.sd)]),
                "spread": json.dumps(self.spread),
                "engine_reason": run.reason,
                **run.told,
            },
        )

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw every node's coefficients from their prior."""
        nodes, law = run.read.nodes, (float(self.prior.mean), float(self.prior.sd))
        names = _SIDES if nodes.directed else ("beta",)
        shape = (len(names), run.draws, nodes.n)
        if self.spread is None:
            return dict(zip(names, rng.normal(*law, shape), strict=True))
        mean = rng.normal(*law, run.draws)
        spread = np.abs(rng.normal(0.0, self.spread, (run.draws, len(names))))
        drawn = rng.normal(mean[:, None], spread.T[:, :, None], shape)
        also = {"mean": mean, "spread": spread if nodes.directed else spread[:, 0]}
        return dict(zip(names, drawn, strict=True)) | also

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `beta_model`, which the PyMC program reads too."""
        evidence = evidence_in(only_one(release, "stan"))
        nodes = evidence.nodes
        check_dyadwise(evidence, nodes)
        return self._data(nodes, offset_matrix(evidence), ())

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model; "beta" has senders, then receivers, if directed.

        With `spread` there are "mean" and "spread" too, vectors of one number, or of one a side.
        """
        from bayesdp.engines.pymc.programs import beta_model

        return beta_model(self.stan_data(release))

    def _data(
        self, nodes: Network, offset: NDArray[np.float64] | None, known: Sequence[Network]
    ) -> dict[str, Any]:
        """Build the data of a hidden graph, if offsets are given, or else of known graphs."""
        if nodes.dyads > _MOST_DYADS:
            raise InvalidInput(
                f"the network has {nodes.dyads:,} dyads; a beta-model of more than "
                f"{_MOST_DYADS:,}, each with its own odds, isn't offered: take fewer nodes"
            )
        n, directed = nodes.n, nodes.directed
        i, j = np.nonzero(~np.eye(n, dtype=bool)) if directed else np.triu_indices(n, 1)
        degrees = np.zeros(2 * n if directed else n)
        for graph in known:
            np.add.at(degrees, graph.edges[:, 0], 1.0)
            np.add.at(degrees, graph.edges[:, 1] + (n if directed else 0), 1.0)
        shift = np.empty(0) if offset is None else offset[i, j]
        return {
            "K": len(degrees),
            "D": nodes.dyads,
            "first": i + 1,
            "second": j + 1 + (n if directed else 0),
            "graphs": len(known),
            "degrees": degrees,
            # What is beyond a float's range shifts the likelihood by a constant, but for e^-700.
            "odds": np.expm1(np.minimum(np.abs(shift), _SURE)),
            "sign": np.sign(shift),
            "prior_mean": float(self.prior.mean),
            "prior_sd": float(self.prior.sd),
            "prior_spread": self.spread or 0.0,
            "sides": len(_SIDES) if directed else 1,
        }


def _by_node(drawn: Draws, nodes: Network) -> Draws:
    """Split "beta" into senders and receivers, and take vectors of one number for the number."""
    found = dict(drawn.posterior)
    for name in {"mean"} if nodes.directed else {"mean", "spread"}:
        if name in found:
            found[name] = found[name][..., 0]
    if nodes.directed:
        parts = np.split(found.pop("beta"), len(_SIDES), axis=-1)
        found = dict(zip(_SIDES, parts, strict=True)) | found
    return dataclasses.replace(drawn, posterior=found)
