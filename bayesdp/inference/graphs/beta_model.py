r"""The beta-model: every node has its own inclination to be tied.

    log odds of a tie between i and j  =  beta_i + beta_j            undirected
                      from i to j      =  sender_i + receiver_j      directed

with all dyads independent, so the degrees are sufficient (Chatterjee, Diaconis and Sly 2011;
Holland and Leinhardt 1981, without reciprocity). From a graph seen dyad by dyad through noise,
o_d = log Pr[seen | tie] - log Pr[seen | no tie], the hidden graph sums out:

    log Pr[seen | beta]  =  sum over dyads d of  softplus(eta_d + o_d) - softplus(eta_d)

up to a constant. With a_d = exp(|o_d|) - 1 that is sum log(1 + a_d expit(sign(o_d) eta_d)) up to
another one, which is what the programs add up: one logarithm a dyad, of a number above one.

A constant may pass from all senders to all receivers; the prior settles it, within sd / sqrt(2n).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import DyadsView, view_of
from bayesdp.engines.draws import Draws, check_sampling
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.graphs.network_release import evidence_in, graphs_in
from bayesdp.inference.result import network_inference_data
from bayesdp.networks.dyad_table import check_dyadwise
from bayesdp.networks.evidence import offset_matrix
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

Engine = Literal["auto", "pymc", "stan"]

_MOST_DYADS = 2_000_000
_SURE = 700.0  # of |o_d|: the dyad is known


@dataclass(frozen=True)
class NetworkBetaModel:
    """Inference about every node's inclination to be tied, from a release of graphs.

    Parameters
    ----------
    prior : NormalPrior
        Of every coefficient, independent: one mean and one sd.

    Raises
    ------
    InvalidInput
        If the prior isn't one.
    """

    prior: NormalPrior = field(default_factory=lambda: NormalPrior(0.0, 2.0))

    family: ClassVar[str] = "beta_model"
    no_evidence: ClassVar[str] = (
        "its likelihood of a hidden graph is kept up to a constant that depends on the "
        "mechanism; compare graphs that its posterior predicts with what was released"
    )
    """Why it has no log evidence here, and the way out."""

    @staticmethod
    def reads(mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return view_of(mechanism, DyadsView) is not None

    def __post_init__(self) -> None:
        one = isinstance(self.prior, NormalPrior) and np.ndim(self.prior.mean) == np.ndim(
            self.prior.sd
        )
        if not one or np.ndim(self.prior.mean):
            raise InvalidInput(
                f"prior is {quoted(self.prior)}; it must be a NormalPrior(mean, sd) of two "
                "numbers, the same for all nodes"
            )

    def fit(
        self,
        release: Release,
        *,
        engine: Engine = "auto",
        draws: int = 1000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior given the release, by NUTS.

        Parameters
        ----------
        release : Release
            Of graphs whose dyads were randomised one by one.
        engine : {"auto", "pymc", "stan"}
            "auto" takes PyMC, which is always installed.
        draws, chains, warmup : int
            Draws per chain, after `warmup` draws of adaptation.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own at once; None for where standard error is a terminal.

        Returns
        -------
        arviz.InferenceData
            posterior variable "beta" with the dimension "node", or, of directed graphs, "sender"
            and "receiver"; sample_stats, observed_data, constant_data, attrs.

        Raises
        ------
        InvalidInput
            If an argument is out of range or the model doesn't fit the release.
        MissingDependency, EngineFailed
            If an engine isn't installed or stops.
        """
        reason = "asked for"
        if engine == "auto":
            reason = "the likelihood is closed, so NUTS samples it, by the engine always installed"
        options = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
        nodes = evidence_in(release).nodes
        data = self.stan_data(release)
        return self._fit(release, nodes, data, engine, reason, progress=progress, **options)

    def fit_naive(
        self,
        release: Release,
        *,
        engine: Engine = "auto",
        draws: int = 1000,
        chains: int = 4,
        warmup: int = 1000,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> az.InferenceData:
        """Draw from the posterior that takes the copies for real graphs; shaped as `fit`'s.

        Several copies count as independent graphs of one model.
        """
        reason = "naive: takes the copies for real data"
        options = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
        graphs = graphs_in(release)
        data = self._data(graphs[0], None, graphs)
        return self._fit(release, graphs[0], data, engine, reason, progress=progress, **options)

    def stan_data(self, release: Release) -> dict[str, Any]:
        """Build the data of the Stan program `beta_model`, which the PyMC program reads too."""
        evidence = evidence_in(release)
        nodes = evidence.nodes
        check_dyadwise(evidence, nodes)
        return self._data(nodes, offset_matrix(evidence), ())

    def pymc_model(self, release: Release) -> pm.Model:
        """Build the model as a pm.Model; "beta" has senders, then receivers, if directed."""
        from bayesdp.engines.pymc.programs import beta_model

        return beta_model(self.stan_data(release))

    def _data(
        self, nodes: Network, offset: NDArray[np.float64] | None, known: Sequence[Network]
    ) -> dict[str, Any]:
        """Build the data of a hidden graph, if offsets are given, else of known ones."""
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
        }

    def _fit(
        self,
        release: Release,
        nodes: Network,
        data: dict[str, Any],
        engine: Engine,
        reason: str,
        **options: Any,
    ) -> az.InferenceData:
        options |= check_sampling(**{n: options[n] for n in ("seed", "draws", "chains", "warmup")})
        if engine == "stan":
            from bayesdp.engines.stan import sampling as stan

            drawn = stan.sample(self.family, data, variables=["beta"], **options)
        elif engine in ("auto", "pymc"):
            from bayesdp.engines.pymc import sampling as pymc
            from bayesdp.engines.pymc.programs import beta_model

            drawn = pymc.sample(beta_model(data), variables=["beta"], **options)
        else:
            raise InvalidInput(f"engine is {quoted(engine)}; it must be 'auto', 'pymc' or 'stan'")
        named = _by_node(drawn, nodes)
        return network_inference_data(
            named,
            release,
            of="nodes",
            dims={name: ["node"] for name in named.posterior},
            coords={"node": list(nodes.nodes)},
            attrs={
                "family": self.family,
                "prior": json.dumps([float(self.prior.mean), float(self.prior.sd)]),
                "engine_reason": reason,
            },
        )


def _by_node(drawn: Draws, nodes: Network) -> Draws:
    """Split "beta" into senders and receivers."""
    if not nodes.directed:
        return drawn
    sender, receiver = np.split(drawn.posterior["beta"], 2, axis=-1)
    return dataclasses.replace(drawn, posterior={"sender": sender, "receiver": receiver})
