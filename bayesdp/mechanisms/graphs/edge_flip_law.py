"""The law of a graph whose dyads are answered independently, as a likelihood and as evidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayesdp.networks.dyads import dyad_numbers, dyads_numbered
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.network import Network

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def log_law(tie: Floats, gap: Floats, dyads: int) -> Callable[[Integers, Integers], float]:
    """Make the function log Pr[released ties | true ties] of the two, as numbers of dyads.

    Parameters
    ----------
    tie, gap : ndarray, shape (dyads,) or (1,)
    dyads : int
    """
    # Row 2 [tie] + [released tie].
    law = np.array([np.log1p(-gap), np.log(gap), np.log1p(-tie), np.log(tie)])

    def alike(z: Integers, x: Integers) -> float:
        both = np.intersect1d(z, x, assume_unique=True).size
        counts = [dyads - z.size - x.size + both, z.size - both, x.size - both, both]
        return float(np.dot(law[:, 0], counts))

    def by_dyad(z: Integers, x: Integers) -> float:
        answers = np.zeros(dyads, dtype=np.int64)
        answers[z] += 1
        answers[x] += 2
        return float(law[answers, np.arange(dyads)].sum())

    return alike if tie.size == 1 < dyads else by_dyad


def evidence_of(released: Network, tie: Floats, gap: Floats) -> Evidence:
    """Log-odds that a released graph gives to each dyad of the hidden one, as its evidence."""
    n, directed, ties = released.n, released.directed, released.edges.astype(np.int64)
    nodes = released.with_edges(())
    seen, unseen = np.log(tie) - np.log(gap), np.log1p(-tie) - np.log1p(-gap)
    if tie.size == 1:
        return Evidence(nodes, ties, np.full(len(ties), seen[0]), float(unseen[0]))
    numbers = dyad_numbers(ties, n, directed)
    unseen[numbers] = seen[numbers]
    matrix = np.zeros((n, n))
    i, j = dyads_numbered(np.arange(released.dyads), n, directed).T
    matrix[i, j] = unseen
    if not directed:
        matrix[j, i] = unseen
    return Evidence(nodes, ties, seen[numbers], matrix=matrix)
