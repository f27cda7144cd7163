"""The normalising constant of a model on so few nodes that all graphs can be listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.errors import InvalidInput
from bayesdp.kernels.graphs.listing import list_all
from bayesdp.kernels.graphs.normalizer import Points
from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.formula import bind_together
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import Normalizer, merged
from bayesdp.networks.offset import offset_from

MOST_DYADS = 22


def listed(
    formula: str, nodes: Network, offset: Any = None, *, most: int | None = None
) -> Normalizer:
    """List the statistics of all graphs in the sample space, with the number of graphs for each.

    Parameters
    ----------
    formula : str
    nodes : Network
        Its own ties aren't read.
    offset : array_like of shape (n, n), or (pairs, values, constant), or None
        Added to the log-odds of dyads.
    most : int or None
        Largest degree in the sample space, out-degree if directed; None for any.

    Raises
    ------
    InvalidInput
        If there are more than `MOST_DYADS` dyads.
    """
    if nodes.dyads > MOST_DYADS:
        raise InvalidInput(
            f"auxiliary is 'exact', and nodes have {nodes.dyads:,} dyads; where these depend on "
            f"each other or have offsets, all graphs are listed up to {MOST_DYADS}: take "
            "'tempered', a number of proposals, or None"
        )
    bare = nodes.with_edges(())
    bound, places = bind_together([formula, "edges"], bare)
    dyads = dyads_numbered(np.arange(nodes.dyads), nodes.n, nodes.directed).astype(np.int32)
    values = np.empty((1 << len(dyads), len(bound.names)))
    shift, degree = np.zeros(len(values)), np.zeros(len(values), dtype=np.int64)
    own = offset_from(offset, nodes.n, nodes.directed)
    empty = empty_graph(nodes.n, nodes.directed)
    list_all(empty, bound.model, own, dyads, bound.at_empty.copy(), values, shift, degree)
    if most is not None and most < nodes.n - 1:
        values, shift = values[degree <= most], shift[degree <= most]
    first, kind = merged(values)
    weight = np.bincount(kind, np.exp(shift - shift.max()))
    points = Points(
        np.ascontiguousarray(values[first][:, places[0]].T), np.log(weight) + shift.max()
    )
    count = np.bincount(kind).astype(np.float64)
    ties = values[first, int(places[1][0])]
    whole = np.full(len(places[0]), np.inf)
    return Normalizer(points, ties, count, points.log_weight[None], -whole, whole, exact=True)
