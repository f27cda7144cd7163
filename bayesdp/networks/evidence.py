r"""Evidence on a hidden graph, as a log-likelihood that a chain can follow.

    log L(x)  =  sum over ties d of x: offset_d
               + sum_k log h_k(seen_k - s_k(x))
               + sum_i log h(seen_i - degree_i(x))
               + log L of what depends on the whole graph
               + sum_j log sum_k Pr[law k | s(x)] Pr[copy j | law k]   + a constant

A dyad's offset is log Pr[seen | tie] - log Pr[seen | no tie] where each dyad was seen on its own;
the statistics s_k and the degrees were seen with independent noise of law h. These parts are
updated cheaply when one tie changes. What depends on the whole graph is computed anew, and so are
copies whose law was chosen by the statistics (`networks.hidden.whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.network import Network

Law = Literal["laplace", "gaussian"]
Constraint = Literal["max_degree", "none"]
"""Sample space of a model: graphs within the bound on degrees, or all graphs."""


@dataclass(frozen=True, eq=False)
class SeenStatistics:
    """Evidence: statistics of a formula, seen with noise.

    Attributes
    ----------
    formula : str
    values : ndarray of float, shape (statistics,)
        The noisy statistics.
    scale : ndarray of float, shape (statistics,)
        h(u) is proportional to exp(-|u| / scale), or exp(-(u / scale)**2 / 2).
    law : {"laplace", "gaussian"}
        Law of the noise.
    granularity : ndarray of float, shape (statistics,)
        Statistics were rounded to a multiple of this before the noise; 0 if they weren't rounded.
    """

    formula: str
    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    law: Law = "laplace"
    granularity: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class SeenDegrees:
    """Evidence: every node's degree, seen with independent noise.

    Attributes
    ----------
    values : ndarray of float, shape (n,), or (2, n) if directed
        The noisy degrees; if directed, out-degrees and in-degrees.
    scale : float
    law : {"laplace", "gaussian"}
    """

    values: NDArray[np.float64]
    scale: float
    law: Law = "laplace"


@dataclass(frozen=True, eq=False)
class SeenTruncated:
    """Evidence: sums over nodes of functions of their kept degree, each with Laplace noise.

    Ties are taken in the order of their lower, then their upper node, and kept where both ends
    have fewer than `max_degree` kept ties so far.

    Attributes
    ----------
    max_degree : int
    functions : ndarray of float, shape (statistics, max_degree + 1)
        f(0), f(1), ...
    values, scale : ndarray of float, shape (statistics,)
        The noisy statistics, and their scales: h(u) is proportional to exp(-|u| / scale).
    granularity : ndarray of float, shape (statistics,)
        Statistics were rounded to a multiple of this before the noise; 0 if they weren't rounded.
    """

    max_degree: int
    functions: NDArray[np.float64]
    values: NDArray[np.float64]
    scale: NDArray[np.float64]
    granularity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenTriangles:
    """Evidence: the number of triangles, with rounded Cauchy noise by smooth sensitivity.

    Attributes
    ----------
    value : int
    beta : float
        Parameter of the smooth sensitivity.
    alpha : float
        Smooth sensitivity divided by the half-width of the noise.
    furthest : float
        Outputs beyond this were cut off there, on either side.
    """

    value: int
    beta: float
    alpha: float
    furthest: float = np.inf


@dataclass(frozen=True)
class Histogram:
    """A noisy histogram of draws, from which one was chosen.

    Attributes
    ----------
    draws : int
        Number of draws.
    scale : float
        Scale of the discrete Laplace noise of a count.
    log_chosen : callable
        Function of log-weights of a draw, shape (rows, laws): log-probabilities of the laws.
    """

    draws: int
    scale: float
    log_chosen: Callable[[NDArray[np.float64]], NDArray[np.float64]] = field(compare=False)


@dataclass(frozen=True, eq=False)
class SeenCopies:
    """Evidence: copies, each drawn from one of several laws, which the graph's statistics chose.

    Law k was chosen with probability proportional to exp(base_k + slope_k . s(x)), as by the
    exponential mechanism, or from the noisy histogram of draws that have these probabilities, one
    for each copy. Which one it was isn't known.

    Attributes
    ----------
    formula : str
        Formula of the statistics s(x).
    slope : ndarray of float, shape (laws, statistics)
    base : ndarray of float, shape (laws,)
    log_likelihood : ndarray of float, shape (copies, laws)
        Log-likelihood of each copy under each law; whatever is common to a row doesn't matter.
    histogram : Histogram, or None
    """

    formula: str
    slope: NDArray[np.float64]
    base: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    histogram: Histogram | None = None

    def chosen_as(self, other: SeenCopies) -> bool:
        """Test whether the laws were chosen among in the same way."""
        return (self.formula, self.histogram) == (other.formula, other.histogram) and all(
            mine is theirs or np.array_equal(mine, theirs)
            for mine, theirs in ((self.slope, other.slope), (self.base, other.base))
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """All evidence on one hidden graph, whose parts are independent given the graph.

    Attributes
    ----------
    nodes : Network
        The nodes with their public attributes, without ties.
    ties : ndarray of int, shape (k, 2)
        Dyads that are more likely tied than others, sorted and distinct, where a chain looks first.
    offset : ndarray of float, shape (k,)
        Offsets of those dyads.
    constant : float
        The offset of every dyad that isn't listed.
    matrix : ndarray of float, shape (n, n), or None
        Offsets of all dyads, where those not listed differ; then `offset` and `constant`
        aren't read.
    statistics : tuple of SeenStatistics
    degrees : tuple of SeenDegrees
    truncated : tuple of SeenTruncated
    triangles : tuple of SeenTriangles
        The last two depend on the whole graph (`networks.hidden.whole`).
    max_degree : int or None
        Largest degree, out-degree if directed: L is zero for other graphs. Where a model's
        constraint is "max_degree", its sample space has no other graphs.
    copies : tuple of SeenCopies
    problems : tuple of str
        Reasons to doubt the evidence itself, in words.
    """

    nodes: Network
    ties: NDArray[np.int64]
    offset: NDArray[np.float64]
    constant: float = 0.0
    matrix: NDArray[np.float64] | None = None
    statistics: tuple[SeenStatistics, ...] = ()
    degrees: tuple[SeenDegrees, ...] = ()
    truncated: tuple[SeenTruncated, ...] = ()
    triangles: tuple[SeenTriangles, ...] = ()
    max_degree: int | None = None
    copies: tuple[SeenCopies, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def of_statistics(
        cls, nodes: Network, *seen: SeenStatistics, max_degree: int | None = None
    ) -> Evidence:
        """Make evidence of statistics alone."""
        none = np.empty((0, 2), np.int64)
        return cls(nodes, none, np.empty(0), statistics=seen, max_degree=max_degree)

    @classmethod
    def of_copies(
        cls, nodes: Network, *seen: SeenCopies, problems: tuple[str, ...] = ()
    ) -> Evidence:
        """Make evidence of copies alone."""
        none = np.empty((0, 2), np.int64)
        return cls(nodes, none, np.empty(0), copies=seen, problems=problems)

    @classmethod
    def of_degrees(cls, nodes: Network, *seen: SeenDegrees) -> Evidence:
        """Make evidence of degrees alone."""
        return cls(nodes, np.empty((0, 2), np.int64), np.empty(0), degrees=seen)

    @property
    def dyadwise(self) -> bool:
        """True if each dyad was seen on its own, without any joint evidence on several."""
        joint = (self.statistics, self.degrees, self.truncated, self.triangles, self.copies)
        return not any(joint) and self.max_degree is None

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.nodes.n

    @property
    def directed(self) -> bool:
        """True if the hidden graph is directed."""
        return self.nodes.directed


def check_constraint(constraint: Any) -> None:
    """Raise InvalidInput unless `constraint` is the name of a sample space."""
    if constraint not in get_args(Constraint):
        raise InvalidInput(f"constraint is {quoted(constraint)}; it must be 'max_degree' or 'none'")


def together(parts: Sequence[Evidence]) -> Evidence:
    """Combine independent evidence about one graph: offsets add up, the rest is joined.

    Raises
    ------
    InvalidInput
        If the parts are of graphs on other nodes.
    """
    first = parts[0]
    if any(part.nodes != first.nodes for part in parts):
        raise InvalidInput("evidence is of graphs on other nodes, or of other directions")
    if len(parts) == 1:
        return first
    keys = np.unique(np.concatenate([part.ties @ [first.n, 1] for part in parts]))
    ties = np.column_stack(np.divmod(keys, first.n))
    offset = np.zeros(len(keys))
    for part in parts:
        extra = np.full(len(keys), part.constant)
        extra[np.searchsorted(keys, part.ties @ [first.n, 1])] = part.offset
        offset += extra
    whole = None
    if any(part.matrix is not None for part in parts):
        whole = sum((offset_matrix(part) for part in parts), np.zeros((first.n, first.n)))
    return Evidence(
        first.nodes,
        ties,
        offset,
        float(sum(part.constant for part in parts)),
        whole,
        tuple(seen for part in parts for seen in part.statistics),
        tuple(seen for part in parts for seen in part.degrees),
        tuple(seen for part in parts for seen in part.truncated),
        tuple(seen for part in parts for seen in part.triangles),
        min((part.max_degree for part in parts if part.max_degree is not None), default=None),
        _merged([seen for part in parts for seen in part.copies]),
        tuple(dict.fromkeys(problem for part in parts for problem in part.problems)),
    )


def _merged(copies: Sequence[SeenCopies]) -> tuple[SeenCopies, ...]:
    """Join copies whose laws were chosen among in the same way."""
    kinds: list[SeenCopies] = []
    for seen in copies:
        for k, kind in enumerate(kinds):
            if seen.chosen_as(kind):
                rows = np.vstack([kind.log_likelihood, seen.log_likelihood])
                kinds[k] = replace(kind, log_likelihood=rows)
                break
        else:
            kinds.append(seen)
    return tuple(kinds)


def offset_matrix(part: Evidence) -> NDArray[Any]:
    """The offsets of all dyads, shape (n, n)."""
    if part.matrix is not None:
        return part.matrix
    matrix = np.full((part.n, part.n), part.constant)
    matrix[part.ties[:, 0], part.ties[:, 1]] = part.offset
    if not part.directed:
        matrix[part.ties[:, 1], part.ties[:, 0]] = part.offset
    np.fill_diagonal(matrix, 0.0)
    return matrix
