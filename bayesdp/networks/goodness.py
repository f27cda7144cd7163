"""Goodness of fit: do networks drawn from a model look like the one observed?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.networks.formula import bind
from bayesdp.networks.graph import graph_of
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.randomness import Seed, generators
from bayesdp.networks.simulation import several_coefficients, simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

from bayesdp.kernels.graphs.goodness import count_partners

UNREACHABLE = "inf"
"""The label of pairs of nodes with no path."""


@dataclass(frozen=True)
class Distribution:
    """Distribution of a feature of graphs, observed and in simulated networks.

    Attributes
    ----------
    labels : tuple of str
        The values: degrees, numbers of shared partners, or lengths of shortest paths.
    observed : ndarray of int, shape (values,)
        Nodes, ties or pairs of nodes with each value.
    simulated : ndarray of int, shape (draws, values)
    """

    labels: tuple[str, ...]
    observed: NDArray[np.int64]
    simulated: NDArray[np.int64]

    @property
    def p_values(self) -> NDArray[np.float64]:
        """Two-sided p-values: twice the smaller share of draws on either side, at most 1."""
        low = (self.simulated <= self.observed).mean(axis=0)
        high = (self.simulated >= self.observed).mean(axis=0)
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(low, high)))

    def to_frame(self) -> pd.DataFrame:
        """Tabulate one row for each value: observed, draws' min, mean and max, and p_value."""
        import pandas as pd

        return pd.DataFrame(
            {
                "observed": self.observed,
                "minimum": self.simulated.min(axis=0),
                "mean": self.simulated.mean(axis=0),
                "maximum": self.simulated.max(axis=0),
                "p_value": self.p_values,
            },
            index=pd.Index(self.labels, name="value"),
        )


@dataclass(frozen=True)
class GoodnessOfFit:
    """Comparison of a network with draws from a model; see `goodness_of_fit`.

    Parameters
    ----------
    distributions : mapping of str to Distribution
        Observed and simulated, by name.
    """

    distributions: Mapping[str, Distribution]

    def plot(self) -> Figure:
        """Plot boxes of the simulated shares, and a line of the observed ones."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.2 * len(self.distributions), 3.6), layout="constrained")
        panels = figure.subplots(1, len(self.distributions), squeeze=False)[0]
        for panel, (name, each) in zip(panels, self.distributions.items(), strict=True):
            whole = np.maximum(each.simulated.sum(axis=1, keepdims=True), 1)
            places = np.arange(len(each.labels))
            panel.boxplot(each.simulated / whole, positions=places, widths=0.6, sym="")
            panel.plot(places, each.observed / max(each.observed.sum(), 1), "k-", lw=1.8)
            step = -(-len(places) // 12)  # as many labels as there is room for, and the last
            panel.set_xticks(places[::-step][::-1], each.labels[::-step][::-1])
            panel.set_xlabel(name)
            panel.set_ylabel("share")
        return figure


def goodness_of_fit(
    network: Any,
    formula: str,
    coef: ArrayLike,
    *,
    draws: int = 100,
    burn_in: int | None = None,
    interval: int | None = None,
    offset: Any = None,
    max_degree: int | None = None,
    seed: Seed = None,
) -> GoodnessOfFit:
    """Compare a network with draws of a model (Hunter, Goodreau and Handcock 2008).

    Parameters
    ----------
    network : Network or networkx graph
        The observed network.
    formula : str
        As for `parse`.
    coef : array_like, shape (terms,) or (..., terms)
        Estimates, or posterior draws, from each of which one network is drawn: some of those of
        `idata.posterior["theta"]`. What pandas, or xarray along "term", labels with the statistics'
        names is read by name.
    draws : int
        Number of networks, where `coef` is one vector.
    burn_in, interval, offset, max_degree, seed
        As for `simulate`.

    Returns
    -------
    GoodnessOfFit
        Its distributions are "degree" (or "out-degree" and "in-degree"), "edgewise shared partners"
        (of the two-paths i to k to j, for a tie from i to j) and "geodesic distance" (of all pairs
        of nodes, ordered if directed).

    Raises
    ------
    InvalidInput
        As for `simulate`.
    """
    network = as_network(network)
    given = several_coefficients(coef, bind(formula, network).names)
    options: dict[str, Any] = {
        "burn_in": burn_in, "interval": interval, "offset": offset, "max_degree": max_degree
    }  # fmt: skip
    if given.ndim < 2:
        drawn = simulate(network, formula, given, draws=draws, seed=seed, **options).networks[0]
    else:
        given = given.reshape(-1, given.shape[-1])
        drawn = tuple(
            simulate(network, formula, theta, seed=generator, **options).networks[0][0]
            for theta, generator in zip(given, generators(seed, len(given)), strict=True)
        )
    observed, simulated = _counts(network), [_counts(each) for each in drawn]
    return GoodnessOfFit(
        {
            name: _distribution(count, np.array([each[name] for each in simulated]))
            for name, count in observed.items()
        }
    )


def _distribution(observed: NDArray[np.int64], simulated: NDArray[np.int64]) -> Distribution:
    """Make a distribution without the values that never occur above the largest that does."""
    ever = (observed > 0) | (simulated > 0).any(axis=0)
    unreachable = len(observed) - 1
    last = int(np.flatnonzero(ever[:unreachable]).max(initial=0))
    keep = [*range(last + 1), *([unreachable] if ever[unreachable] else [])]
    labels = tuple(UNREACHABLE if k == unreachable else str(k) for k in keep)
    return Distribution(labels, observed[keep], simulated[:, keep])


def _counts(network: Network) -> dict[str, NDArray[np.int64]]:
    """Count values 0 to n - 1, then unreachable pairs."""
    n = network.n
    graph = graph_of(n, network.directed, network.edges)
    partners, distance = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    count_partners(graph, partners, distance, np.empty(n, dtype=np.int64))
    degrees = {"degree": graph.degree}
    if network.directed:
        degrees = {"out-degree": graph.degree[:n], "in-degree": graph.degree[n:]}
    else:
        distance //= 2
    counted = {name: np.bincount(each, minlength=n + 1) for name, each in degrees.items()}
    return {**counted, "edgewise shared partners": partners, "geodesic distance": distance}
