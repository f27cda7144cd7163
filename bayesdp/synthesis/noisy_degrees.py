"""Noisy degrees of a network, and synthetic networks that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.network_columns import confidential
from bayesdp.mechanisms.graphs.noisy_degrees import NoisyDegreesMechanism
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.release import Release
from bayesdp.synthesis.graphs import GraphSynthesizer
from bayesdp.synthesis.parameters import by_value


@dataclass(frozen=True)
class NoisyDegreesSynthesizer(GraphSynthesizer):
    """Release every node's degree plus discrete Laplace noise (Karwa and Slavkovic 2016).

    Parameters
    ----------
    epsilon : float
        Total privacy cost of the copies under edge neighbours: one dyad's tie changes, and nodes
        are public. ``release.mechanism.guarantee(neighbours="node")`` has the cost under node
        neighbours, where all ties of one node change.

    Raises
    ------
    InvalidInput
        If epsilon isn't a positive finite number.

    Notes
    -----
    One tie is in two degrees (of a directed network, one out-degree and one in-degree), so the
    noise's scale is 2 copies / epsilon, rounded up. `NoisyDegreesMechanism` has the proofs.

    Examples
    --------
    >>> import networkx
    >>> release = NoisyDegreesSynthesizer(epsilon=2.0).release(networkx.karate_club_graph())
    >>> len(release.outputs[0])
    34
    >>> release.guarantee.epsilon, release.guarantee.neighbours.value
    (2.0, 'edge')
    >>> len(NoisyDegreesSynthesizer.networks(release, 3, prior=NormalPrior(0, 2), seed=1))
    3
    """

    epsilon: float = declared(by_value(check_epsilon))

    variable = "degree"

    def mechanism_like(self, example: Any) -> NoisyDegreesMechanism:
        """The mechanism for networks like the example, or for outputs of its shape.

        Parameters
        ----------
        example : Network, networkx graph, or array_like of int
            A network, or degrees: of an undirected network with shape (n,), or out- and in-degrees
            of a directed one with shape (2, n).
        """
        nodes: Any
        if hasattr(example, "edges"):
            network = confidential(example)
            nodes, directed = network.nodes, network.directed
        else:
            shape = np.shape(example)
            if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != 2):
                raise InvalidInput(
                    f"example has shape {shape}; it must be (n,), one degree for each node, or "
                    "(2, n), out- and in-degrees"
                )
            nodes, directed = shape[-1], len(shape) == 2
        return NoisyDegreesMechanism.calibrate(epsilon=self.epsilon, nodes=nodes, directed=directed)

    @staticmethod
    def networks(
        release: Release,
        size: int = 1,
        *,
        prior: NormalPrior | None = None,
        seed: int | None = None,
    ) -> list[Network]:
        """Draw synthetic networks from released degrees, by post-processing at no further cost.

        Each released copy is projected to the nearest degrees that a graph can have, the beta-model
        is fitted to them, and networks are drawn from it.

        Parameters
        ----------
        release : Release
            A release of noisy degrees of an undirected network, as drawn or loaded.
        size : int
            Number of networks from each released copy.
        prior : NormalPrior, optional
            Prior of every coefficient: the networks come from the posterior mode, which always
            exists. Without it they come from the maximum likelihood estimate, which often doesn't
            exist for noisy degrees: one node without ties is enough.
        seed : int, optional
            Seed of the draws, which need no secrecy.

        Returns
        -------
        list of Network
            `size` networks from the first copy, then from the next, and so on.

        Raises
        ------
        InvalidInput
            If the release isn't of noisy degrees, or is of a directed network, or the maximum
            likelihood estimate doesn't exist.

        Notes
        -----
        The networks carry the noise of the release and of the fit; statistics that degrees don't
        determine, such as triangles, are the beta-model's, not the confidential network's.
        """
        from bayesdp.networks.beta_model import fit_beta_model
        from bayesdp.networks.degree_sequences import project_to_graphical
        from bayesdp.networks.randomness import generators

        mechanism = release.mechanism
        if not isinstance(mechanism, NoisyDegreesMechanism):
            raise InvalidInput(
                f"release is of mechanism {quoted(mechanism.name)}; give a release of "
                "bdp.synthesizers.NoisyDegreesSynthesizer"
            )
        if mechanism.directed:
            raise InvalidInput(
                "release is of a directed network's degrees; the beta-model is of undirected "
                "networks: release the degrees of the ties without their direction"
            )
        size = check_at_least_one("size", size)
        drawn: list[Network] = []
        for output, random in zip(release.outputs, generators(seed, release.copies), strict=True):
            fit = fit_beta_model(project_to_graphical(output), nodes=mechanism.labels, prior=prior)
            drawn.extend(fit.simulate(size, seed=random))
        return drawn
