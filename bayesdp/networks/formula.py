"""Formulas such as "edges + nodematch('grade') + gwesp(0.5)", and their binding to a network."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.graphs.graph import Graph
from bayesdp.kernels.graphs.markov import Model, add_up
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.terms import TERMS, Coordinate


@dataclass(frozen=True)
class Call:
    """A term of a formula as written."""

    name: str
    arguments: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)


def parse(formula: str) -> tuple[Call, ...]:
    """Parse the terms of a formula; none is evaluated.

    Parameters
    ----------
    formula : str
        Names of terms, joined by +, with numbers, strings, True, False or lists of numbers as
        arguments; R's TRUE and FALSE and a leading ~ are accepted too.

    Raises
    ------
    InvalidInput
        If the formula isn't of this form, or a term is unknown or appears twice.
    """
    if not isinstance(formula, str) or not formula.strip(" ~"):
        raise InvalidInput(
            f"formula is {quoted(formula)}; it must be a string, as 'edges + gwesp(0.5)'"
        )
    return _parsed(formula)


@lru_cache
def _parsed(formula: str) -> tuple[Call, ...]:
    try:
        tree = ast.parse(formula.strip().removeprefix("~").strip(), mode="eval").body
    except SyntaxError as error:
        raise InvalidInput(
            f"formula is {quoted(formula)}, which can't be read: {error.msg}; write terms joined "
            "by +, as 'edges + gwesp(0.5)'"
        ) from None
    calls = tuple(_call(node) for node in _summands(tree))
    for k, call in enumerate(calls):
        if call in calls[:k]:
            raise InvalidInput(f"formula has {quoted(call.name)} twice with the same arguments")
    return calls


def _summands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


def _call(node: ast.expr) -> Call:
    called = node.func if isinstance(node, ast.Call) else node
    if not isinstance(called, ast.Name):
        raise InvalidInput(
            f"formula has {quoted(ast.unparse(node))}, which isn't a term; terms are joined by + "
            "alone"
        )
    if called.id not in TERMS:
        raise InvalidInput(
            f"formula has the term {quoted(called.id)}, which doesn't exist; "
            f"there are {', '.join(sorted(TERMS))}"
        )
    if not isinstance(node, ast.Call):
        return Call(called.id)
    named = {str(key.arg): _argument(called.id, key.value) for key in node.keywords}
    return Call(called.id, tuple(_argument(called.id, a) for a in node.args), named)


def _argument(term: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in ("TRUE", "FALSE"):
        return node.id == "TRUE"
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise InvalidInput(
            f"{term} has the argument {ast.unparse(node)}; it must be a number, a string in "
            "quotes, True, False or a list of numbers"
        ) from None


@dataclass(frozen=True)
class BoundFormula:
    """A formula on the nodes of a network, as kernels and results need it.

    Attributes
    ----------
    names : tuple of str
        Names of the statistics, in the order of the formula.
    model : Model
        The formula in the form that kernels take.
    at_empty : ndarray of float, shape (terms,)
        Statistics of the graph without ties.
    dyad_independent : bool
        Whether all terms are dyad-independent and the sample space has all graphs, so that the
        pseudo-likelihood is the likelihood.
    """

    names: tuple[str, ...]
    model: Model
    at_empty: NDArray[np.float64]
    dyad_independent: bool

    def within(self, max_degree: int | None) -> BoundFormula:
        """Restrict the formula to graphs whose degrees, or out-degrees, are up to `max_degree`."""
        if max_degree is None:
            return self
        most = check_at_least_one("max_degree", max_degree, "or None for any degrees")
        if most >= self.model.most - 1:
            return self
        return replace(self, model=self.model._replace(most=most), dyad_independent=False)

    def graph(self, network: Network) -> tuple[Graph, NDArray[np.float64]]:
        """Make the network for kernels, and its statistics, shape (terms,)."""
        statistics = self.at_empty.copy()
        empty = empty_graph(network.n, network.directed)
        return add_up(empty, self.model, network.edges, statistics), statistics


def bind(formula: str, network: Network) -> BoundFormula:
    """Bind a formula to a network.

    Raises
    ------
    InvalidInput
        If a term isn't defined for this network, or lacks an argument or an attribute.
    """
    return _bound(_coordinates(formula, network), network.n, [formula])


def bind_together(
    formulas: Sequence[str], network: Network
) -> tuple[BoundFormula, list[NDArray[np.int64]]]:
    """Bind several formulas as one, with the positions of each one's statistics.

    The statistics of the first come first; a statistic that is in several appears once.

    Raises
    ------
    InvalidInput
        As for `bind`.
    """
    bound: dict[str, Coordinate] = {}
    places = []
    for formula in formulas:
        own = _coordinates(formula, network)
        bound.update((coordinate.name, coordinate) for coordinate in own)
        order = list(bound)
        places.append(np.array([order.index(coordinate.name) for coordinate in own], np.int64))
    return _bound(list(bound.values()), network.n, formulas), places


def _coordinates(formula: str, network: Network) -> list[Coordinate]:
    every = [coordinate for call in parse(formula) for coordinate in coordinates(call, network)]
    names = [coordinate.name for coordinate in every]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"formula has the statistic {quoted(twice)} twice")
    return every


def _bound(coordinates: list[Coordinate], n: int, formulas: Sequence[str]) -> BoundFormula:
    calls = [call for formula in formulas for call in parse(formula)]
    return BoundFormula(
        names=tuple(coordinate.name for coordinate in coordinates),
        model=_model(coordinates, n),
        at_empty=np.array([coordinate.at_empty for coordinate in coordinates]),
        dyad_independent=all(TERMS[call.name].dyad_independent for call in calls),
    )


def coordinates(call: Call, network: Network) -> list[Coordinate]:
    """Build the statistics of a term on a network.

    Raises
    ------
    InvalidInput
        If the term isn't defined for this network, or lacks an argument or an attribute.
    """
    term = TERMS[call.name]
    here = "directed" if network.directed else "undirected"
    if not getattr(term, here):
        allowed = (name for name, row in TERMS.items() if getattr(row, here))
        raise InvalidInput(
            f"the term {quoted(call.name)} isn't defined for {here} networks; there are "
            f"{', '.join(sorted(allowed))}"
        )
    signature = _signature(term.build)
    try:
        signature.bind(network, *call.arguments, **call.named)
    except TypeError as error:
        arguments = ", ".join(list(signature.parameters)[1:])
        raise InvalidInput(
            f"the term {quoted(call.name)} has wrong arguments ({error}); it is written "
            f"{call.name}{arguments and f'({arguments})'}"
        ) from None
    return term.build(network, *call.arguments, **call.named)


_signature = lru_cache(inspect.signature)


def _model(coordinates: list[Coordinate], n: int) -> Model:
    values = [c.values for c in coordinates if c.values is not None]
    matrices = [c.matrix for c in coordinates if c.matrix is not None]
    row, next_values, next_matrix = np.zeros(len(coordinates), dtype=np.int64), 0, 0
    for t, coordinate in enumerate(coordinates):
        if coordinate.matrix is not None:
            row[t], next_matrix = next_matrix, next_matrix + 1
        elif coordinate.values is not None:
            row[t], next_values = next_values, next_values + 1
    return Model(
        kind=np.array([c.kind for c in coordinates], dtype=np.int64),
        row=row,
        parameter=np.array([c.parameter for c in coordinates]),
        values=np.array(values) if values else np.zeros((1, n)),
        matrices=np.array(matrices) if matrices else np.zeros((1, 1, 1)),
        most=n,
    )


def statistics(network: Any, formula: str) -> dict[str, float]:
    """Compute the statistics of a network by name, in the order of the formula.

    Parameters
    ----------
    network : Network or networkx graph
    formula : str
        As for `parse`.

    Raises
    ------
    InvalidInput
        If the formula can't be read, or uses an attribute that the network lacks.

    Examples
    --------
    >>> from bayesdp.networks import Network, statistics
    >>> statistics(Network(3, [[0, 1], [0, 2], [1, 2]]), "edges + triangle")
    {'edges': 3.0, 'triangle': 1.0}
    """
    network = as_network(network)
    bound = bind(formula, network)
    values = bound.graph(network)[1]
    return dict(zip(bound.names, values.tolist(), strict=True))
