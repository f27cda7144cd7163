r"""Evidence on the hidden graph whose law is computed anew for each graph.

Copies of a choice of laws depend on the graph through a few statistics, but not by a sum of terms
that a tie changes one by one; their law and its cost are in `bayesdp.kernels.hidden.choices`. Two
statistics are not sums of the changes by single ties. Where ties are cut to a largest degree D
in the order of the nodes, one tie may change which ties are kept all along a path; and the largest
change of the number of triangles by one tie, to which the noise of a count of them is scaled, is a
maximum over all pairs. With kept degrees k_i, statistics t and triangles T,

    log L(x)  =  - sum_t |seen_t - sum_i f_t(k_i(x))| / scale_t
                 + sum_c log Pr[Cauchy noise of half-width S(x) / alpha_c = seen_c - T(x)],

    S(x) = max over pairs of reach(a, b),
    reach(a, b) = max over s >= 0 of exp(-beta s) min(a + floor((s + min(s, b)) / 2), n - 2)

for pairs with a nodes adjacent to both and b to exactly one (Nissim, Raskhodnikova and Smith 2007,
Claim 3.13). A proposal costs as many steps as the graph has nodes and ties for the first, and as
there are pairs of nodes for the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.kernels.hidden.whole import Whole
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.hidden.choices import choices_of

_MOST_NODES = 2_000  # a table has the square of it


def whole_of(evidence: Evidence, places: Sequence[NDArray[np.int64]]) -> Whole:
    """Convert the evidence that is computed anew for each graph for kernels.

    Parameters
    ----------
    evidence : Evidence
    places : sequence of ndarray of int64
        Numbers of the statistics of each of `evidence.copies` among the bound ones.

    Raises
    ------
    InvalidInput
        If the graph is directed, or has too few or too many nodes for triangles.
    """
    cut = sorted(evidence.truncated, key=lambda part: part.max_degree)
    counted = sorted(evidence.triangles, key=lambda part: part.beta)
    if evidence.directed and (cut or counted):
        raise InvalidInput(
            "the evidence is of truncated statistics or triangles, which are those of undirected "
            "graphs, and its nodes are of a directed one"
        )
    n = evidence.n
    if counted and not 3 <= n <= _MOST_NODES:
        raise InvalidInput(
            f"the evidence is of triangles of {n:,} nodes; a chain follows their smooth "
            f"sensitivity on 3 to {_MOST_NODES:,}"
        )
    betas = sorted({part.beta for part in counted})
    sizes = [len(part.values) for part in cut]
    gains = np.zeros((sum(sizes), 1 + max((part.max_degree for part in cut), default=0)))
    for row, f in enumerate(f for part in cut for f in part.functions):
        gains[row, : len(f)] = f
    empty = np.empty(0)
    return Whole(
        most=np.repeat([part.max_degree for part in cut], sizes).astype(np.int64),
        gains=gains,
        values=np.concatenate([empty, *(part.values for part in cut)]),
        scale=np.concatenate([empty, *(part.scale for part in cut)]),
        step=np.concatenate([empty, *(part.granularity for part in cut)]),
        triangles=np.array([float(part.value) for part in counted]),
        alpha=np.array([float(part.alpha) for part in counted]),
        furthest=np.array([float(part.furthest) for part in counted]),
        table=np.array([betas.index(part.beta) for part in counted], dtype=np.int64),
        reach=np.array([_reach(n, beta) for beta in betas]).reshape(len(betas), n - 1, n - 1),
        choices=choices_of(evidence.copies, places),
    )


def _reach(n: int, beta: float) -> NDArray[np.float64]:
    """Bound how far s changes elsewhere take a pair's common neighbours, discounted."""
    a = np.arange(n - 1)
    reach = np.zeros((n - 1, n - 1))
    for s in range(min(2 * (n - 2), math.ceil(2 + math.log(n - 2) / beta)) + 1):
        more = (s + np.minimum(s, a)) // 2
        np.maximum(reach, np.exp(-beta * s) * np.minimum(a[:, None] + more, n - 2), out=reach)
    return reach
