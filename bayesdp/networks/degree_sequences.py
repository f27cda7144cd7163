r"""Degree sequences: which ones are graphical, the nearest graphical one, and its graph.

Sorted from the largest, integers d_1 >= ... >= d_n >= 0 with an even sum are the degrees of a
graph if and only if for every k (Erdos and Gallai 1960)

    d_1 + ... + d_k  <=  k (k - 1) + sum_{i > k} min(d_i, k).

The right side, less the left, is the smallest over disjoint S, T with |S| = k of

    slack(S, T) = |S| (n - 1 - |T|) - sum_S d + sum_T d,

attained at the k largest and the smallest degrees below k. In a graph, slack(S, T) counts the ties
that are missing within S and between S and all nodes outside T, and the ties within T and between T
and nodes outside S; ties and gaps within S or T count twice.

Projection. The smallest L1 distance from integers z to the degrees of a graph, by the construction
of Havel (1955) and Hakimi (1962) without its test (Karwa and Slavkovic 2016, Algorithm 1): let
c = z, clipped to [0, n - 1]; take any node v, tie it to the min(c_v, number of others with c > 0)
others with the largest c, lower theirs by one each, and go on without v. It is optimal:

1. Clipping. All degrees d are in [0, n - 1], so |d_i - z_i| = |d_i - c_i| + |c_i - z_i|.
2. Some nearest graph has d <= c: where d_i > c_i, taking out one of i's ties brings d_i nearer by
   one, and takes one other degree away by at most one; ties become fewer, so this ends.
   Among graphs with d <= c the distance is sum c - 2 (ties): the most ties are wanted.
3. Some graph with the most ties contains the step at v. Take one with v's degree as large as can
   be. If v has fewer ties than the step gives it, there is u with c_u > 0, not tied to v: u is at
   c_u, or one more tie would fit; so u has a neighbour w, and v-u in place of w-u gives v one
   more: a contradiction. If v is tied to u and not to w, and c_w >= c_u: where w is below c_w,
   v-w may take the place of v-u. Else w's degree is at least u's, so w has a neighbour x, not u
   nor tied to u (v is u's and not w's), and v-w, u-x may take the place of v-u, w-x. Each such
   exchange brings v's neighbours nearer to those with the largest c.
4. Without v, what is left is the same task with one node less.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.network_checks import check_unmasked, checked_nodes

Integers = NDArray[np.int64]
Slice = tuple[int, int]
_LARGEST = 2**53


def degrees(graph: Any) -> Integers:
    """Number of ties of each node.

    Parameters
    ----------
    graph : Network or networkx graph

    Returns
    -------
    ndarray of int64, shape (n,), or, directed, (2, n): out-degrees and in-degrees
    """
    network = as_network(graph)
    out, into = (np.bincount(ends, minlength=network.n) for ends in network.edges.T)
    return np.stack([out, into]) if network.directed else out + into


def check_degrees(degrees: ArrayLike) -> Integers:
    """Return the degrees of an undirected graph's nodes, or noisy ones, as integers, or raise."""
    if hasattr(degrees, "edges"):  # NumPy reads a networkx graph as its labels
        raise InvalidInput(
            f"degrees is {quoted(degrees)}; it must be integers, one for each node, as "
            "bdp.networks.degrees(graph)"
        )
    check_unmasked("degrees", degrees)
    try:
        d = np.asarray(degrees)
    except ValueError:
        raise InvalidInput(
            "degrees has entries of different lengths; it must be integers, one for each node"
        ) from None
    if d.ndim == 2 and len(d) == 2:
        raise InvalidInput(
            f"degrees has shape {d.shape}; out- and in-degrees of a directed network have no "
            "projection or beta-model here: give one degree for each node of an undirected network"
        )
    if d.ndim != 1 or d.size == 0 or d.dtype.kind not in "iu":
        raise InvalidInput(
            f"degrees has shape {d.shape} and type {d.dtype}; it must be integers, one per node"
        )
    if max(-int(d.min()), int(d.max())) > _LARGEST:
        raise InvalidInput("degrees has a number beyond 2**53; no release has such degrees")
    return d.astype(np.int64)


def erdos_gallai_slack(d: Integers) -> tuple[Integers, Integers]:
    """The smallest slack(S, T) with |S| = k, for k = 1, ..., n, and the size of its T.

    S are the k largest. For a size t of T, the t smallest; adding the next smallest, d_(t+1),
    changes the slack by d_(t+1) - k, which rises with t: so T is all below k, or all but S.
    """
    rising = np.sort(d)
    k = np.arange(1, d.size + 1)
    t = np.minimum(np.searchsorted(rising, k), d.size - k)
    bottom = np.concatenate([[0], np.cumsum(rising)])
    return k * (d.size - 1 - t) - np.cumsum(rising[::-1]) + bottom[t], t


def is_graphical(degrees: ArrayLike) -> bool:
    """Test whether some graph has these degrees (Erdos and Gallai 1960), in O(n log n).

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        Degrees of an undirected graph, one for each node, in any order.

    Raises
    ------
    InvalidInput
        If the degrees aren't integers, one for each node.

    Examples
    --------
    >>> is_graphical([2, 2, 1, 1]), is_graphical([3, 3, 1, 1])
    (True, False)
    """
    d = check_degrees(degrees)
    if d.min() < 0 or d.max() >= d.size:
        return False
    return bool(d.sum() % 2 == 0 and (erdos_gallai_slack(d)[0] >= 0).all())


def project_to_graphical(degrees: ArrayLike) -> Integers:
    """Find the degrees of a graph at the smallest L1 distance from these integers.

    Applied to released noisy degrees it is post-processing, which costs no privacy; for a single
    release it is the maximum likelihood estimate of the degrees (Karwa and Slavkovic 2016).

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        Noisy degrees, which may be negative or above n - 1.

    Returns
    -------
    ndarray of int64, shape (n,)
        Graphical degrees are returned unchanged. Where several are at the same distance, this one
        nowhere exceeds the degrees clipped to [0, n - 1].

    Raises
    ------
    InvalidInput
        If the degrees aren't integers, one for each node of an undirected network.

    Notes
    -----
    The module's docstring has the construction, of n steps, and its proof.

    Examples
    --------
    >>> project_to_graphical([3, -1, 1, 1]).tolist()
    [2, 0, 1, 1]
    """
    d = check_degrees(degrees)
    d = np.clip(d, 0, d.size - 1)
    order = np.argsort(-d, kind="stable")
    need = -d[order]
    for _ in _steps(need):
        pass
    d[order] += need
    return d


def network_with_degrees(
    degrees: ArrayLike, *, nodes: int | Sequence[Hashable] | None = None
) -> Network:
    """Construct one graph with these degrees (Havel 1955; Hakimi 1962).

    It is always the same graph, and not a typical one: nodes with many ties are tied to each other.
    `BetaModelFit.simulate` draws graphs that have these degrees on average.

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        Degrees of an undirected graph, one for each node.
    nodes : sequence of hashable, optional
        Labels of the nodes.

    Raises
    ------
    InvalidInput
        If no graph has these degrees.
    """
    d = check_degrees(degrees)
    check_graphical(d)
    order = np.argsort(-d, kind="stable")
    ties = [
        np.stack(np.broadcast_arrays(i, np.concatenate([np.arange(*a), np.arange(*b)])), axis=1)
        for i, a, b in _steps(-d[order])
    ]
    edges = order[np.concatenate([np.empty((0, 2), np.int64), *ties])]
    return Network(one_label_each(nodes, d), edges)


def one_label_each(nodes: int | Sequence[Hashable] | None, d: Integers) -> Sequence[Hashable]:
    """Return labels of as many nodes as there are degrees, numbers from 0 by default, or raise."""
    labels = checked_nodes(d.size if nodes is None else nodes)
    if len(labels) != d.size:
        raise InvalidInput(f"nodes has {len(labels)} labels, degrees {d.size}; give one each")
    return labels


def check_graphical(d: Integers) -> None:
    """Raise InvalidInput unless some graph has these degrees."""
    if not is_graphical(d):
        raise InvalidInput(
            f"no graph has these degrees (from {d.min()} to {d.max()}, sum {d.sum()}, {d.size} "
            "nodes); noisy ones are moved to the nearest that one has by "
            "bdp.networks.project_to_graphical"
        )


def _steps(need: Integers) -> Iterator[tuple[int, Slice, Slice]]:
    """Yield the construction's steps: each node, and the two runs of later nodes tied to it.

    `need` is minus the target degrees, ascending, and is changed to minus the part without a tie.
    Among nodes of equal need the last are taken, so that the rest stays sorted.
    """
    for i in range(need.size - 1):
        rest = need[i + 1 :]
        ties = min(-int(need[i]), int(rest.searchsorted(0)))
        if ties == 0:
            return  # those who come later want no more than this one, or nothing
        last = rest[ties - 1]
        first, end = int(rest.searchsorted(last)), int(rest.searchsorted(last, side="right"))
        rest[:first] += 1
        rest[first + end - ties : end] += 1
        need[i] += ties
        yield i, (i + 1, i + 1 + first), (i + 1 + first + end - ties, i + 1 + end)
