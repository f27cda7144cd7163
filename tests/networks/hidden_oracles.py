"""Evidence of every kind on a few nodes, and its likelihood written once more."""

from collections.abc import Callable

import numpy as np

from bayesdp.networks import Network
from bayesdp.networks.evidence import Evidence, SeenDegrees, SeenStatistics, together
from tests.networks.oracles import ORACLES, all_graphs, ties, with_everything


def flipped(network: Network, epsilon: float) -> Evidence:
    """Of a network whose dyads were each flipped with probability 1 / (1 + exp(epsilon))."""
    edges = network.edges.astype(np.int64)
    return Evidence(network.with_edges(()), edges, np.full(len(edges), epsilon), constant=-epsilon)


def _symmetric(n: int, directed: bool) -> np.ndarray:
    matrix = np.random.default_rng(7).normal(size=(n, n))
    np.fill_diagonal(matrix, 0.0)
    return matrix if directed else matrix + matrix.T


def _listed(n: int, directed: bool) -> Evidence:
    return Evidence(
        Network(n, (), directed),
        np.array([[0, 1], [0, 2], [1, 2]]),
        np.array([1.2, 0.4, 2.0]),
        constant=-0.7,
    )


def _constant(n: int, directed: bool) -> Evidence:
    return Evidence(Network(n, (), directed), np.empty((0, 2), np.int64), np.empty(0), constant=0.6)


def _whole(n: int, directed: bool) -> Evidence:
    pairs = np.array([[0, 2], [1, 2]])
    return Evidence(Network(n, (), directed), pairs, np.zeros(2), matrix=_symmetric(n, directed))


def _statistics(law: str, step: list[float] | None) -> Callable[[int, bool], Evidence]:
    def made(n: int, directed: bool) -> Evidence:
        seen = SeenStatistics(
            "gwesp(0.5) + edges", np.array([2.3, 3.0]), np.array([1.5, 0.8]), law,
            None if step is None else np.array(step),
        )  # fmt: skip
        return Evidence.of_statistics(Network(n, (), directed), seen)

    return made


def _degrees(law: str) -> Callable[[int, bool], Evidence]:
    def made(n: int, directed: bool) -> Evidence:
        shape = (2, n) if directed else (n,)
        values = np.random.default_rng(5).integers(-1, n, shape).astype(float)
        return Evidence.of_degrees(Network(n, (), directed), SeenDegrees(values, 1.3, law))

    return made


def _bounded(n: int, directed: bool) -> Evidence:
    seen = SeenStatistics("edges", np.array([2.0]), np.array([0.7]))
    return Evidence.of_statistics(Network(n, (), directed), seen, max_degree=1 if directed else 2)


EVIDENCE: dict[str, Callable[[int, bool], Evidence]] = {
    "listed": _listed,
    "constant": _constant,
    "matrix": _whole,
    "statistics, laplace": _statistics("laplace", None),
    "statistics, rounded": _statistics("laplace", [0.5, 2.0]),
    "statistics, gaussian": _statistics("gaussian", [0.25, 0.0]),
    "degrees, laplace": _degrees("laplace"),
    "degrees, gaussian": _degrees("gaussian"),
    "degrees bounded": _bounded,
    "two flips": lambda n, directed: together([_listed(n, directed), _constant(n, directed)]),
    "all": lambda n, directed: together(
        [
            _listed(n, directed), _whole(n, directed), _degrees("laplace")(n, directed),
            _degrees("gaussian")(n, directed), _statistics("laplace", [0.5, 2.0])(n, directed),
            _statistics("gaussian", None)(n, directed),
        ]
    ),
}  # fmt: skip


def _log_noise(law: str, scale: float, u: np.ndarray) -> float:
    u = np.asarray(u) / scale
    return float(-np.abs(u).sum() if law == "laplace" else -(u**2).sum() / 2)


def log_likelihood(evidence: Evidence, a: np.ndarray, network: Network) -> float:
    """log L of one adjacency matrix, from the definition."""
    n = len(a)
    if evidence.max_degree is not None and (a.sum(axis=1) > evidence.max_degree).any():
        return -np.inf
    offset = evidence.matrix
    if offset is None:
        offset = np.full((n, n), evidence.constant)
        for (i, j), value in zip(evidence.ties.tolist(), evidence.offset, strict=True):
            offset[i, j] = value
    total = float((ties(a, network) * offset).sum())
    for part in evidence.statistics:
        for k, term in enumerate(part.formula.split(" + ")):
            value = ORACLES[term][0][0](a, network)
            if part.granularity is not None and part.granularity[k] > 0:
                step = part.granularity[k]
                value = step * np.floor(value / step + 0.5)
            total += _log_noise(part.law, part.scale[k], part.values[k] - value)
    for part in evidence.degrees:
        both = [a.sum(axis=1), a.sum(axis=0)] if network.directed else a.sum(axis=1)
        total += _log_noise(part.law, part.scale, part.values - both)
    return total


def every_graph(
    n: int, directed: bool, terms: list[str]
) -> tuple[Network, list[np.ndarray], np.ndarray]:
    """Nodes with attributes, all adjacency matrices on them, and their statistics."""
    nodes = with_everything(np.zeros((n, n), dtype=int), directed)
    graphs = list(all_graphs(n, directed))
    values = np.array([[ORACLES[term][0][0](a, nodes) for term in terms] for a in graphs])
    return nodes, graphs, values
