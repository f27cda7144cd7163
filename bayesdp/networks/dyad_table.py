r"""The likelihood of a model whose pairs of nodes are independent, as a short table.

A pair of nodes is in one of the states 0 (no tie), 1, ..., S: S = 1 for a dyad on its own, and
S = 3 for two nodes whose ties there and back depend on each other (`mutual`). State s adds x_s to
the statistics, and what was seen makes it exp(o_s) times as likely as no tie would have. So

    Pr[seen | theta] / Pr[seen | no ties]
        =  product over pairs of  Z(theta . x + o) / Z(theta . x),     Z(u) = 1 + sum_s exp(u_s),

and a graph that is known has theta . its statistics in the place of log Z(theta . x + o). Both are

    log L(theta)  =  observed . theta  +  sum_r weight_r log Z(theta . x_r + o_r)

over rows of pairs with equal x and o, weighted by their number. Nodes with equal attributes are
grouped first, so that the cost grows with a sparse graph's ties and kinds of nodes, not its dyads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput
from bayesdp.kernels.graphs.change_statistics import EDGECOV, MUTUAL, WITHIN_PAIRS
from bayesdp.kernels.graphs.markov import changes_of
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.formula import BoundFormula
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.network import Network

_MOST_NUMBERS = 20_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DyadTable:
    """Table of a dyadic model's likelihood: the rows of the module's sum.

    Attributes
    ----------
    names : tuple of str
        Names of the terms.
    changes : ndarray of float, shape (rows, states, terms)
        x, for the states with a tie.
    offset : ndarray of float, shape (rows, states)
        o, for the states with a tie.
    weight : ndarray of float, shape (rows,)
        Number of pairs; negative in a denominator.
    observed : ndarray of float, shape (terms,)
        Statistics of the graph if it is known, summed over several graphs; zero if it is hidden.
    """

    names: tuple[str, ...]
    changes: Floats
    offset: Floats
    weight: Floats
    observed: Floats

    def log_likelihood(self, theta: ArrayLike) -> Floats:
        """Log-likelihood log L at coefficients of shape (..., terms), minus that of no ties."""
        coef = np.asarray(theta, dtype=np.float64)
        value: Floats = coef @ self.observed + self._log_z(coef) @ self.weight
        return value

    def derivatives(self, theta: ArrayLike) -> tuple[float, Floats, Floats]:
        """Log-likelihood, gradient, shape (terms,), and Hessian, shape (terms, terms), at theta."""
        coef = np.asarray(theta, dtype=np.float64)
        log_z = self._log_z(coef)
        p = self.probabilities(coef)
        mean = np.einsum("rs,rst->rt", p, self.changes)
        weighted = p * self.weight[:, None]
        hessian = np.einsum("rs,rst,rsu->tu", weighted, self.changes, self.changes, optimize=True)
        hessian -= (mean * self.weight[:, None]).T @ mean
        value = float(coef @ self.observed + log_z @ self.weight)
        return value, self.observed + self.weight @ mean, hessian

    def probabilities(self, theta: ArrayLike) -> Floats:
        """Probabilities of states with a tie given what was seen, shape (..., rows, states)."""
        coef = np.asarray(theta, dtype=np.float64)
        log_odds = np.einsum("...t,rst->...rs", coef, self.changes, optimize=True) + self.offset
        p: Floats = np.exp(log_odds - self._log_z(coef)[..., None])
        return p

    def draw_ties(self, theta: Floats, generator: np.random.Generator) -> Floats:
        """Draw the number of ties of a graph at each theta, shape (thetas,); of a known graph."""
        p = self.probabilities(theta)
        none = 1.0 - p.sum(axis=-1, keepdims=True)
        chances = np.concatenate([p, none.clip(0)], axis=-1)
        number = np.broadcast_to((-self.weight).astype(np.int64), p.shape[:-1])
        drawn = generator.multinomial(number, chances / chances.sum(axis=-1, keepdims=True))
        return np.asarray((drawn[..., :-1] @ self._ties).sum(axis=-1))

    def mean_ties(self, theta: Floats) -> Floats:
        """Expected number of ties at coefficients of shape (..., terms); of a known graph."""
        return np.asarray(self.probabilities(theta) @ self._ties @ -self.weight)

    @property
    def _ties(self) -> Floats:
        """Ties in each state: of one dyad, or of two nodes' there, back and both."""
        return np.array([1.0, 1.0, 2.0])[: self.offset.shape[1]]

    def _log_z(self, theta: Floats) -> Floats:
        log_z = np.zeros((*theta.shape[:-1], len(self.weight)))
        for s in range(self.offset.shape[1]):
            log_z = np.logaddexp(log_z, theta @ self.changes[:, s].T + self.offset[:, s])
        return log_z


def is_pairwise(bound: BoundFormula) -> bool:
    """Test whether pairs of nodes are independent under a formula: only `mutual` ties dyads."""
    return bool(np.isin(bound.model.kind, WITHIN_PAIRS).all())


def number_of_kinds(bound: BoundFormula, nodes: Network) -> int:
    """Count the kinds of nodes that a formula tells apart, whose pairs are the table's rows."""
    return len(_kinds(bound, nodes)[0])


def _kinds(
    bound: BoundFormula, nodes: Network, *, apart: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number a node of each kind, and the kind of each node; its own if `apart`."""
    each = np.arange(nodes.n)
    if apart or EDGECOV in bound.model.kind:
        return each, each
    _, first, kind = np.unique(bound.model.values.T, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def hidden_table(bound: BoundFormula, nodes: Network, evidence: Evidence) -> DyadTable:
    """Tabulate the likelihood of a hidden graph's evidence, each dyad seen on its own.

    Parameters
    ----------
    bound : BoundFormula
        The formula, bound to these nodes.
    nodes : Network
        The nodes; ties aren't read.
    evidence : Evidence
        Evidence on the hidden graph.

    Raises
    ------
    InvalidInput
        If pairs of nodes aren't independent given what was seen, an offset isn't finite, the
        evidence is of other nodes, or the table would be too long.
    """
    check_dyadwise(evidence, nodes)
    pairs = _Pairs.of(bound, nodes, apart=evidence.matrix is not None)
    all_of_them = np.arange(len(pairs.number))
    if evidence.matrix is not None:
        i, j = pairs.ends.T
        seen = [pairs.rows(all_of_them, evidence.matrix[i, j], evidence.matrix[j, i], pairs.number)]
    else:
        listed, there, back = _listed(evidence)
        which, turned = pairs.containing(listed)
        there, back = np.where(turned, back, there), np.where(turned, there, back)
        others = pairs.number - np.bincount(which, minlength=len(pairs.number))
        constant = np.full(len(others), evidence.constant)
        seen = [
            pairs.rows(which, there, back, np.ones(len(which))),
            pairs.rows(all_of_them, constant, constant, others),
        ]
    return _table(bound, [*seen, pairs.unseen(1)], np.zeros(len(bound.names)))


def known_table(bound: BoundFormula, networks: Sequence[Network]) -> DyadTable:
    """Tabulate the likelihood of known graphs on one set of nodes, drawn independently.

    Raises
    ------
    InvalidInput
        If pairs of nodes aren't independent, or the table would be too long.
    """
    observed = np.sum([bound.graph(network)[1] for network in networks], axis=0)
    pairs = _Pairs.of(bound, networks[0], apart=False)
    return _table(bound, [pairs.unseen(len(networks))], observed)


def check_dyadwise(evidence: Evidence, nodes: Network) -> None:
    """Raise InvalidInput unless each dyad of these nodes was seen on its own, with finite odds."""
    if not evidence.dyadwise:
        raise InvalidInput(
            "the evidence has noisy statistics or degrees, copies from sanitised coefficients, or "
            "a bound on degrees, which tie all dyads to each other: there is no closed likelihood"
        )
    if (evidence.n, evidence.directed) != (nodes.n, nodes.directed):
        raise InvalidInput(
            f"the evidence is of {evidence.n} nodes, directed={evidence.directed}; the network has "
            f"{nodes.n} nodes, directed={nodes.directed}"
        )
    numbers = np.append(evidence.offset, evidence.constant)
    if evidence.matrix is not None:
        numbers = evidence.matrix[~np.eye(nodes.n, dtype=bool)]
    if not np.isfinite(numbers).all():
        raise InvalidInput("the evidence has an offset that isn't finite; all must be")


def _listed(evidence: Evidence) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Pairs of nodes with a listed dyad, the lower first, and their offsets there and back."""
    low, high = evidence.ties.min(axis=1), evidence.ties.max(axis=1)
    keys, which = np.unique(low * evidence.n + high, return_inverse=True)
    there, back = np.full((2, len(keys)), evidence.constant)
    forth = evidence.ties[:, 0] == low
    there[which[forth]] = evidence.offset[forth]
    back[which[~forth]] = evidence.offset[~forth]
    return np.column_stack(np.divmod(keys, evidence.n)), there, back


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of nodes, where pairs between nodes of equal kinds are counted together.

    Attributes
    ----------
    kind : ndarray of int, shape (n,)
        Kind of each node, from 0 to `kinds` - 1.
    ends : ndarray of int, shape (pairs, 2)
        Two example nodes for each pair of kinds, in the order of `np.triu_indices`.
    number : ndarray of float, shape (pairs,)
        Number of pairs of nodes.
    there, back : ndarray of float, shape (pairs, terms)
        Change of the statistics by a tie in either direction.
    both : ndarray of float, shape (terms,), or None
        Further change by both ties together, if there is any: a pair is then one block of 3 states.
    """

    kind: NDArray[np.int64]
    kinds: int
    directed: bool
    ends: NDArray[np.int64]
    number: Floats
    there: Floats
    back: Floats
    both: Floats | None

    @classmethod
    def of(cls, bound: BoundFormula, nodes: Network, *, apart: bool) -> _Pairs:
        """Collect the pairs of all nodes, each of its own kind if `apart`."""
        if not is_pairwise(bound):
            raise InvalidInput(
                "the formula has a term that makes dyads depend on each other, so there is no "
                "closed likelihood; leave it out, or sample the hidden graph too"
            )
        model = bound.model
        first, kind = _kinds(bound, nodes, apart=apart)
        kinds = len(first)
        if kinds * (kinds + 1) // 2 * (len(bound.names) + 1) * (3 if nodes.directed else 1) > (
            _MOST_NUMBERS
        ):
            raise InvalidInput(
                f"the formula tells {kinds:,} kinds of nodes apart, and its likelihood would be "
                f"a table of more than {_MOST_NUMBERS:,} numbers; round the attributes"
            )
        a, b = np.triu_indices(kinds)
        size = np.bincount(kind).astype(np.float64)
        ends = np.column_stack([first[a], first[b]])
        empty = empty_graph(nodes.n, nodes.directed)
        there, back = np.empty((2, len(ends), len(bound.names)))
        changes_of(empty, model, ends, 0, there)
        changes_of(empty, model, ends[:, ::-1].copy(), 0, back)
        mutual = (model.kind == MUTUAL).astype(np.float64)
        return cls(
            kind, kinds, nodes.directed, ends,
            np.where(a == b, size[a] * (size[a] - 1) / 2, size[a] * size[b]),
            there, back, mutual if mutual.any() else None,
        )  # fmt: skip

    def containing(self, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Find the pair of kinds of each pair of nodes, and whether it is the other way round."""
        kinds = self.kind[pairs]
        low, high = kinds.min(axis=1), kinds.max(axis=1)
        which: NDArray[np.int64] = low * self.kinds - low * (low - 1) // 2 + high - low
        return which, (kinds[:, 0] > kinds[:, 1]) & self.directed

    def rows(self, which: NDArray[np.int64], there: Floats, back: Floats, weight: Floats) -> Floats:
        """Columns x, o and weight of pairs of these kinds, states side by side."""
        forth, reverse = self.there[which], self.back[which]
        columns = [forth, there[:, None], weight[:, None]]
        if not self.directed:
            return np.column_stack(columns)
        if self.both is None:
            again = [reverse, back[:, None], weight[:, None]]
            return np.concatenate([np.column_stack(columns), np.column_stack(again)])
        apart = forth - reverse  # of equal offsets, the first difference decides
        first = apart[np.arange(len(apart)), (apart != 0).argmax(axis=1)]
        swap = (there > back) | ((there == back) & (first > 0))
        x = np.where(swap[:, None], reverse, forth), np.where(swap[:, None], forth, reverse)
        o = np.sort(np.column_stack([there, back]), axis=1)
        return np.column_stack([*x, x[0] + x[1] + self.both, o, o.sum(axis=1), weight])

    def unseen(self, times: int) -> Floats:
        """Rows of the denominators."""
        none = np.zeros(len(self.number))
        return self.rows(np.arange(len(none)), none, none, -times * self.number)


def _table(bound: BoundFormula, parts: Sequence[Floats], observed: Floats) -> DyadTable:
    """Merge equal rows, and keep one where all cancel, as the evidence is then uninformative."""
    together = np.concatenate(parts)
    alike, which = np.unique(together[:, :-1], axis=0, return_inverse=True)
    weight = np.bincount(which.reshape(-1), weights=together[:, -1], minlength=len(alike))
    kept = weight != 0
    kept[0] |= not kept.any()
    terms = len(bound.names)
    states = alike.shape[1] // (terms + 1)
    return DyadTable(
        bound.names,
        alike[kept, : states * terms].reshape(-1, states, terms),
        alike[kept, states * terms :],
        weight[kept],
        observed,
    )
