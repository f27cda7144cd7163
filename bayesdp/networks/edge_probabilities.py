r"""Probabilities of ties between classes of nodes, where pairs of nodes are independent.

With x_ij what a tie from i to j adds to the statistics, and D_ab the dyads from class a to class b,

    p_ab(theta)  =  mean over (i, j) in D_ab of  Pr[tie from i to j | theta],

which is expit(theta . x_ij) but for `mutual`, whose pairs have four states. Where all dyads of D_ab
are alike, as in a formula of nodemix alone, this is the probability of each: a block model's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.networks.dyad_table import known_table
from bayesdp.networks.formula import bind_together
from bayesdp.networks.network import Network

_AT_ONCE = 2_000_000
_STATES_WITH_TIE = {1: [[0]], 3: [[0, 2], [1, 2]]}
"""States of a pair that have the tie there, and back, by the number of states with any."""


def edge_probabilities(
    formula: str, nodes: Network, theta: ArrayLike, by: str
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Compute the mean probability of a tie between each two levels of a node attribute.

    Parameters
    ----------
    formula : str
        A formula under which pairs of nodes are independent.
    nodes : Network
        The nodes and their attributes; ties aren't read.
    theta : array_like, shape (..., terms)
    by : str
        A node attribute.

    Returns
    -------
    pairs : tuple of str
        "a.b" of each two levels between which there are dyads, in the order of nodemix.
    probabilities : ndarray of float, shape (..., pairs)

    Raises
    ------
    InvalidInput
        If pairs of nodes aren't independent, or there is no such attribute.

    Examples
    --------
    >>> nodes = Network(4, attributes={"g": list("aabb")})
    >>> edge_probabilities("edges + nodematch('g')", nodes, [-1.0, 1.0], "g")[1].round(2)
    array([0.5 , 0.27, 0.5 ])
    """
    mixing = f"nodemix({by!r}, levels2=True)"
    bound, (own, mixed) = bind_together([formula, mixing], nodes)
    table = known_table(bound, [nodes.with_edges(())])
    coef = np.asarray(theta, dtype=np.float64)
    full = np.zeros((coef[..., 0].size, len(bound.names)))
    full[:, own] = coef.reshape(len(full), -1)
    ways = _STATES_WITH_TIE[table.changes.shape[1]]
    # Share of a pair of levels that each row has, once for each way of its ties.
    share = [-table.weight[:, None] * table.changes[:, way[0]][:, mixed] for way in ways]
    total = np.sum([each.sum(axis=0) for each in share], axis=0)
    chunks = np.array_split(full, -(-full.shape[0] * table.changes.size // _AT_ONCE))
    tied = np.concatenate(
        [
            sum(p[..., way].sum(axis=-1) @ each for way, each in zip(ways, share, strict=True))
            for p in map(table.probabilities, chunks)
        ]
    )
    there = total > 0
    names = [bound.names[t].removeprefix(f"mix.{by}.") for t in mixed]
    pairs = tuple(name for name, any_dyad in zip(names, there, strict=True) if any_dyad)
    return pairs, (tied[:, there] / total[there]).reshape(*coef.shape[:-1], -1)
