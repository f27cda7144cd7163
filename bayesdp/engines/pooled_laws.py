"""Laws of groups' numbers on nodes, concatenated for the kernels of partial pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.curve_integrals import in_one
from bayesdp.engines.likelihood_curves import Curve

Floats = NDArray[np.float64]
Given = tuple[Any, ...]


def in_a_row(
    laws: Sequence[Floats],
    nodes: Sequence[Floats],
    ways: Sequence[Floats],
    own: Sequence[float],
    prior: tuple[float, float, float],
    tables: int = 0,
    curves: Sequence[Curve | None] | None = None,
) -> Given:
    """Concatenate groups' laws, nodes and weights for the kernels.

    Parameters
    ----------
    laws, nodes, ways : sequence of ndarray
        For each group, log laws at ascending nodes, and logs of the nodes' weights.
    own : sequence of float
        One number for each group.
    prior : tuple of three floats
        Parameters of the population's prior.
    tables : int
        Length of the kernels' tables, if they make any.
    curves : sequence of Curve or None, optional
        Curves of the groups that have one instead of nodes; by default none has.

    Returns
    -------
    tuple
        Where each group ends in the next five arrays; the laws, the nodes, the ways, and the
        largest law up to each node and from it on; where each group's largest law is; `own`; the
        prior; the curves; room for the terms of one sum, in its first row, and for two tables in
        others, if there are any. Nodes where a law is 0 are left out.
    """
    kept = [law > -np.inf for law in laws]
    laws = [law[keep] for law, keep in zip(laws, kept, strict=True)]
    nodes = [x[keep].astype(np.float64) for x, keep in zip(nodes, kept, strict=True)]
    ways = [way[keep] for way, keep in zip(ways, kept, strict=True)]
    before = [np.maximum.accumulate(law) for law in laws]
    after = [np.maximum.accumulate(law[::-1])[::-1] for law in laws]
    ends = np.cumsum([law.size for law in laws])
    bests = ends + [int(law.argmax()) - law.size if law.size else 0 for law in laws]
    rows = map(np.concatenate, (laws, nodes, ways, before, after))
    longest = max(1, *(law.size for law in laws))
    room = np.empty((3, max(longest, tables)) if tables else (1, longest))
    shared = np.array(own, dtype=np.float64), np.array(prior)
    return ends, *rows, bests, *shared, in_one(curves or [None] * len(laws)), room
