"""Draw graphs, or the trace of their statistics, from an exponential random graph model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import check_at_least_one, check_flag, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.graphs.offset import Offset
from bayesdp.kernels.graphs.simulation import trace
from bayesdp.networks.formula import BoundFormula, bind
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.offset import offset_from
from bayesdp.networks.randomness import Seed, generators, state_from
from bayesdp.threads import in_threads

_FEWEST, _MOST = 1_000, 100_000_000


@dataclass(frozen=True)
class Simulation:
    """Draws from a model: networks, or their statistics.

    Attributes
    ----------
    terms : tuple of str
    statistics : ndarray of float, shape (chains, draws, terms)
        The trace.
    networks : tuple of tuple of Network
        One tuple for each chain, one network for each draw; empty tuples where they weren't kept.
    """

    terms: tuple[str, ...]
    statistics: NDArray[np.float64]
    networks: tuple[tuple[Network, ...], ...]


def simulate(
    network_or_n: Any,
    formula: str,
    coef: ArrayLike,
    *,
    draws: int = 1,
    chains: int = 1,
    burn_in: int | None = None,
    interval: int | None = None,
    offset: Any = None,
    max_degree: int | None = None,
    keep_networks: bool = True,
    seed: Seed = None,
) -> Simulation:
    """Draw networks with probability proportional to exp(coef . statistics + offsets).

    Parameters
    ----------
    network_or_n : Network, networkx graph or int
        The network from which chains start, with the nodes' attributes; or the number of nodes of
        an undirected network, which starts without ties.
    formula : str
        As for `parse`.
    coef : array_like, shape (terms,)
        Coefficients of the formula's statistics, in their order; a Series with their names as its
        index, and what xarray labels so along "term", are read by name.
    draws, chains : int
        Number of draws kept from each chain, and of chains, which run in parallel threads.
    burn_in, interval : int or None
        Proposals before the first draw and between draws; None for twice the number of dyads,
        at least 1,000, and a tenth of that.
    offset : array_like of shape (n, n), or (pairs, values, constant), or None
        Fixed numbers added to the log-odds of the dyads.
    max_degree : int or None
        Largest degree in the sample space, out-degree if directed; None for any.
    keep_networks : bool
        Whether to keep the networks; if not, only the trace is kept.
    seed : int, numpy Generator or None
        The same seed gives the same draws, whatever the number of processors.

    Returns
    -------
    Simulation
        The trace of statistics, and the networks if kept.

    Raises
    ------
    InvalidInput
        If an argument isn't allowed.
    """
    network = Network(network_or_n) if is_number(network_or_n) else as_network(network_or_n)
    bound = bind(formula, network).within(max_degree)
    check_within(network, bound.model.most)
    theta = check_coefficients(coef, bound)
    draws = check_at_least_one("draws", draws)
    chains = check_at_least_one("chains", chains)
    check_flag("keep_networks", keep_networks)
    first, between = default_steps(network, burn_in), between_steps(network, interval)
    start = Start.of(bound, network, offset)

    def chain(generator: np.random.Generator) -> tuple[NDArray[np.float64], tuple[Network, ...]]:
        trace, edges, ends = start.trace(theta, generator, draws, first, between, keep_networks)
        kept = np.split(edges, ends[:-1]) if keep_networks else []
        return trace, tuple(network.with_edges(part) for part in kept)

    drawn = in_threads(chain, generators(seed, chains))
    return Simulation(bound.names, np.array([d[0] for d in drawn]), tuple(d[1] for d in drawn))


@dataclass(frozen=True)
class Start:
    """The start of chains: a graph that none of them changes."""

    bound: BoundFormula
    graph: Any
    statistics: NDArray[np.float64]
    offset: Offset

    @classmethod
    def of(cls, bound: BoundFormula, network: Network, offset: Any = None) -> Start:
        """Make the start from a network."""
        own = offset_from(offset, network.n, network.directed, network.nodes)
        return cls(bound, *bound.graph(network), own)

    def trace(
        self,
        theta: NDArray[np.float64],
        generator: np.random.Generator,
        draws: int,
        burn_in: int,
        interval: int,
        keep: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
        """Draw statistics, shape (draws, terms), the draws' ties, and where each one's ties end."""
        result: tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]] = trace(
            self.graph, self.bound.model, theta, self.offset, state_from(generator),
            self.statistics, draws, burn_in, interval, keep,
        )  # fmt: skip
        return result


def check_within(network: Network, most: int) -> None:
    """Raise InvalidInput if a degree, out-degree if directed, is above `most`."""
    ends = network.edges[:, 0] if network.directed else network.edges.ravel()
    if np.bincount(ends, minlength=1).max() > most:
        raise InvalidInput(
            f"max_degree is {most}, but a node of the network has more ties; raise max_degree, or "
            "start from another network"
        )


def as_coefficients(coef: Any, what: str = "coef") -> NDArray[np.float64]:
    """Return coefficients as an array of floats of any shape, or raise InvalidInput."""
    try:
        return np.array(coef, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{what} is {quoted(coef)}; it must be numbers, one for each statistic"
        ) from None


def several_coefficients(
    coef: Any, names: Sequence[str], what: str = "coef"
) -> NDArray[np.float64]:
    """Return vectors of coefficients in the statistics' order, shape (..., terms), or raise.

    What pandas or xarray labels is read by name.
    """
    axis = "index" if as_coefficients(coef, what).ndim < 2 else "columns"
    given = as_coefficients(by_name(coef, names, axis, what), what)
    if given.shape[-1:] != (len(names),) or not given.size:
        raise InvalidInput(
            f"{what} has shape {given.shape}; it must be (..., {len(names)}), one number for each "
            f"statistic: {', '.join(names)}"
        )
    return given


def by_name(coef: Any, names: Sequence[str], axis: str, what: str = "coef") -> Any:
    """Put what pandas labels along an axis, "index" or "columns", into the statistics' order.

    So is what xarray labels along "term", as fits do, which comes last. The default labels, 0, 1, 2
    ..., say nothing, and what has no labels is in that order.
    """
    named = "term" in getattr(coef, "dims", ())
    labels = coef["term"].to_numpy().tolist() if named else getattr(coef, axis, None)
    if labels is None or callable(labels):  # a list has a method of this name
        return coef
    coef = coef.transpose(..., "term") if named else coef
    given = list(labels)
    if given == list(range(len(names))):
        return coef
    if len(given) != len(names) or set(given) != set(names):
        raise InvalidInput(
            f"{what} has other labels than the statistics' names, {', '.join(names)}; give it "
            "these, or drop its labels by .to_numpy() if it is in this order"
        )
    return coef.sel(term=list(names)) if named else coef.reindex(**{axis: list(names)})


def check_coefficients(coef: ArrayLike, bound: BoundFormula) -> NDArray[np.float64]:
    """Return the coefficients as an array of one finite number for each statistic, or raise."""
    theta = as_coefficients(by_name(coef, bound.names, "index")).reshape(-1)
    finite = bool(np.isfinite(theta).all())
    if theta.shape != (len(bound.names),) or not finite:
        raise InvalidInput(
            f"coef has {theta.size} numbers{'' if finite else ', not all of them finite'}; it must "
            f"be {len(bound.names)} finite numbers, for {', '.join(bound.names)}"
        )
    return theta


def default_steps(network: Network, given: int | None, name: str = "burn_in") -> int:
    """Default number of burn-in proposals, to forget the start: twice the dyads, at least 1,000."""
    if given is not None:
        return check_at_least_one(name, given)
    steps = max(_FEWEST, 2 * network.dyads)
    if steps > _MOST:
        raise InvalidInput(
            f"{name} isn't given, and its default, twice the number of dyads, is {steps:,}; "
            "give a number, some hundred times the number of ties"
        )
    return steps


def between_steps(network: Network, interval: int | None) -> int:
    """Default number of proposals between draws: a tenth of `default_steps`, at least 1,000."""
    if interval is not None:
        return check_at_least_one("interval", interval)
    return min(max(_FEWEST, network.dyads // 5), _MOST)
