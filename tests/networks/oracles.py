"""Statistics written once more, from their definitions on a dense matrix; real networks."""

import itertools
from collections.abc import Callable, Iterator

import networkx as nx
import numpy as np

from bayesdp.networks import Network

FAMILIES = [
    "Acciaiuoli", "Albizzi", "Barbadori", "Bischeri", "Castellani", "Ginori", "Guadagni",
    "Lamberteschi", "Medici", "Pazzi", "Peruzzi", "Pucci", "Ridolfi", "Salviati", "Strozzi",
    "Tornabuoni",
]  # fmt: skip
WEALTH = [10, 36, 55, 44, 20, 32, 8, 42, 103, 48, 49, 3, 27, 10, 146, 48]


def florentine() -> Network:
    """Marriages of 16 families; networkx's graph lacks Pucci, who married nobody."""
    marriages = nx.florentine_families_graph().edges
    return Network.from_edges(marriages, nodes=FAMILIES, attributes={"wealth": WEALTH})


def karate() -> Network:
    return Network.from_networkx(nx.karate_club_graph())


def with_everything(adjacency: np.ndarray, directed: bool) -> Network:
    """A network with a factor of three levels, a number and a dyad attribute."""
    n = len(adjacency)
    rng = np.random.default_rng(n)
    matrix = rng.normal(size=(n, n))
    pairs = np.argwhere(adjacency if directed else np.triu(adjacency))
    return Network(
        n,
        pairs,
        directed,
        {"group": np.array(list("abc"))[np.arange(n) % 3], "x": rng.normal(size=n)},
        {"near": matrix if directed else matrix + matrix.T},
    )


def _weight(decay: float, counts: np.ndarray) -> float:
    return float(np.exp(decay) * (1 - (1 - np.exp(-decay)) ** counts).sum())


Statistic = Callable[[np.ndarray, Network], float]


def ties(a: np.ndarray, network: Network) -> np.ndarray:
    """Each tie once, with a weight of one."""
    return a if network.directed else np.triu(a)


def _of_dyads(weight: Callable[[Network], np.ndarray]) -> Statistic:
    return lambda a, net: float((ties(a, net) * weight(net)).sum())


def _same(net: Network, level: str | None = None) -> np.ndarray:
    g = net.attributes["group"]
    same = g[:, None] == g[None, :]
    return same if level is None else same & (g == level)[:, None]


def _mixed(net: Network, a: str, b: str) -> np.ndarray:
    g = net.attributes["group"]
    there = np.outer(g == a, g == b)
    return there if net.directed else there | there.T


def _is_level(net: Network, level: str) -> np.ndarray:
    there = (net.attributes["group"] == level).astype(float)
    return there[:, None] + there[None, :]


def _triangles(a: np.ndarray, net: Network) -> float:
    """Undirected: closed triples. Directed: transitive and cyclic ones (R's triangle)."""
    if not net.directed:
        return float(np.trace(a @ a @ a)) / 6
    transitive = ((a @ a) * a).sum()
    return float(transitive + np.trace(a @ a @ a) / 3)


def _dyadwise(decay: float) -> Statistic:
    def value(a: np.ndarray, net: Network) -> float:
        shared = (a @ a)[~np.eye(len(a), dtype=bool)]
        return _weight(decay, shared) / (1 if net.directed else 2)

    return value


def _stars(k: int) -> Statistic:
    return lambda a, net: float(sum(_choose(d, k) for d in a.sum(axis=1)))


def _choose(d: int, k: int) -> int:
    return len(list(itertools.combinations(range(int(d)), k)))


ORACLES: dict[str, tuple[list[Statistic], str]] = {
    "edges": ([_of_dyads(lambda net: np.ones((net.n, net.n)))], "both"),
    "mutual": ([lambda a, net: float((a * a.T).sum()) / 2], "directed"),
    "nodematch('group')": ([_of_dyads(_same)], "both"),
    "nodematch('group', diff=True)": (
        [_of_dyads(lambda net, level=level: _same(net, level)) for level in "abc"],
        "both",
    ),
    "nodefactor('group')": (
        [_of_dyads(lambda net, level=level: _is_level(net, level)) for level in "bc"],
        "both",
    ),
    "nodemix('group')": (
        [_of_dyads(lambda net, p=p: _mixed(net, *p)) for p in ("ab", "bb", "ac", "bc", "cc")],
        "undirected",
    ),
    "nodemix('group', levels2=True)": (
        [_of_dyads(lambda net, a=a, b=b: _mixed(net, a, b)) for b in "abc" for a in "abc"],
        "directed",
    ),
    "nodecov('x')": ([_of_dyads(lambda net: np.add.outer(*[net.attributes["x"]] * 2))], "both"),
    "absdiff('x')": (
        [_of_dyads(lambda net: np.abs(np.subtract.outer(*[net.attributes["x"]] * 2)))],
        "both",
    ),
    "edgecov('near')": ([_of_dyads(lambda net: net.dyad_attributes["near"])], "both"),
    "degree([0, 2])": (
        [lambda a, net, k=k: float((a.sum(axis=1) == k).sum()) for k in (0, 2)],
        "undirected",
    ),
    "kstar([2, 3])": ([_stars(2), _stars(3)], "undirected"),
    "triangle": ([_triangles], "both"),
    "gwesp(0.5)": (
        [lambda a, net: _weight(0.5, (a @ a)[ties(a, net) == 1])],
        "both",
    ),
    "gwdsp(0.7)": ([_dyadwise(0.7)], "both"),
    "gwdegree(0.3)": ([lambda a, net: _weight(0.3, a.sum(axis=1))], "undirected"),
    "isolates": (
        [lambda a, net: float(((a.sum(axis=0) + a.sum(axis=1)) == 0).sum())],
        "both",
    ),
    "concurrent": ([lambda a, net: float((a.sum(axis=1) >= 2).sum())], "undirected"),
}
"""Term as written to its statistics and where it has them."""


def all_graphs(n: int, directed: bool) -> Iterator[np.ndarray]:
    """Every adjacency matrix on n nodes."""
    pairs = [(i, j) for i in range(n) for j in range(n) if (i != j if directed else i < j)]
    for present in itertools.product((0, 1), repeat=len(pairs)):
        a = np.zeros((n, n), dtype=int)
        for (i, j), tie in zip(pairs, present, strict=True):
            a[i, j] = tie
            if not directed:
                a[j, i] = tie
        yield a
