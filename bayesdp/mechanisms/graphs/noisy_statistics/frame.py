"""Public frame of noisy network statistics: nodes, formula and sensitivities."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.network_columns import public_part
from bayesdp.mechanisms.noise.fields import (
    check_granularity,
)
from bayesdp.networks.network import Network
from bayesdp.networks.network_checks import checked_nodes

if TYPE_CHECKING:
    from bayesdp.networks.formula import Call
    from bayesdp.networks.sensitivity import Moves
    from bayesdp.networks.terms import Coordinate

# Imports of terms and formulas are inside functions: they load a compiler, which those who read
# other releases don't need.

LARGEST = 2**51
"""Statistics lie within so many steps of 0, so that they, as floats, and their noise are exact."""

NOISES = ("laplace", "gaussian")
PUBLIC = ("formula", "nodes", "directed", "attributes", "max_degree")
"""Fields that say what is released of which graphs."""

Columns = tuple[tuple[str, tuple[Any, ...]], ...]
"""Attributes of nodes by name: the values as Python's, None where missing."""


@dataclass(frozen=True)
class Frame:
    """A formula on public nodes.

    Attributes
    ----------
    formula : str
    network : Network
        The nodes and their public attributes, without ties.
    max_degree : int or None
        Public bound on degrees, if there is one.
    """

    formula: str
    network: Network
    max_degree: int | None

    @cached_property
    def _terms(self) -> tuple[list[Coordinate], ...]:
        from bayesdp.networks.formula import coordinates, parse

        return tuple(coordinates(call, self.network) for call in parse(self.formula))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of statistics of each term."""
        return tuple(len(term) for term in self._terms)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics."""
        return tuple(c.name for term in self._terms for c in term)

    @cached_property
    def whole(self) -> tuple[bool, ...]:
        """Mark, as booleans, the statistics that are integers on every graph."""
        from bayesdp.networks.sensitivity_bounds import is_whole

        return tuple(is_whole(c) for term in self._terms for c in term)

    @cached_property
    def edge_moves(self) -> tuple[Moves, ...]:
        """Moves of each term's statistics when one dyad changes."""
        from bayesdp.networks.sensitivity import largest_changes

        return largest_changes(self.formula, self.network, max_degree=self.max_degree)

    @cached_property
    def node_moves(self) -> tuple[Moves, ...]:
        """Moves of each term's statistics when any dyads of one node change."""
        from bayesdp.networks.sensitivity import largest_changes

        return largest_changes(self.formula, self.network, max_degree=self.max_degree, node=True)

    def moves(self, node: bool) -> tuple[Moves, ...]:
        """Moves of each term's statistics, between node neighbours or edge neighbours."""
        return self.node_moves if node else self.edge_moves

    def sensitivities(self, node: bool) -> tuple[Fraction, ...]:
        """Sensitivity of each statistic, its largest change between neighbours."""
        return tuple(most for moves in self.moves(node) for most in moves.most)

    @cached_property
    def furthest(self) -> tuple[Fraction, ...]:
        """Bounds on the statistics' absolute values, from adding all possible ties one by one."""
        n = self.network.n
        most = n - 1 if self.max_degree is None else min(n - 1, self.max_degree)
        ties = n * most if self.network.directed else n * most // 2
        at_empty = [Fraction(c.at_empty) for term in self._terms for c in term]
        each = self.sensitivities(node=False)
        return tuple(start + ties * most for start, most in zip(at_empty, each, strict=True))

    def statistics(self, network: Network) -> tuple[Fraction, ...]:
        """Statistics of a graph on these nodes, exactly; its own attributes aren't read."""
        from bayesdp.networks.exact_statistics import exact_statistics

        return exact_statistics(self.network.with_edges(network.edges), self.formula)

    def check_network(self, network: Network) -> Network:
        """Return the graph if it is one on these nodes, else raise without showing its ties."""
        from bayesdp.networks.exact_statistics import degrees

        if network.directed != self.network.directed:
            kind = "directed" if self.network.directed else "undirected"
            raise InvalidInput(f"the statistic must be a graph that is {kind}, as the mechanism is")
        network = network.in_order(self.network.nodes)
        if self.max_degree is not None and np.any(degrees(network) > self.max_degree):
            raise InvalidInput(
                f"max_degree is {self.max_degree}, but a node of this graph has more ties: the "
                "public claim that none can have is false for these data, and no promise could "
                "rest on it. Give a bound that the way of collecting them ensures, or none"
            )
        return network


def frame(
    formula: str, nodes: Any, directed: bool, attributes: Columns, max_degree: int | None
) -> Frame:
    """Make the frame from a mechanism's fields, validated.

    Raises
    ------
    InvalidInput
        If a term has no finite sensitivity or isn't defined on these nodes.
    """
    # 1, 1.0 and True are equal as keys, but make statistics of other names.
    kinds = repr((nodes, attributes))
    return _frame(kinds, formula, nodes, directed, attributes, max_degree)


@lru_cache(maxsize=64)
def _frame(
    kinds: str, formula: str, nodes: Any, directed: bool, attributes: Columns, most: int | None
) -> Frame:
    check_formula(formula, [name for name, _ in attributes])
    network = Network(nodes, (), directed, {name: column(values) for name, values in attributes})
    made = Frame(formula, network, most)
    if not any(made.sensitivities(node=False)):
        raise InvalidInput(
            f"formula is {quoted(formula)}, whose statistics are the same for all graphs on these "
            "nodes; there is nothing to release"
        )
    for name, whole, furthest in zip(made.names, made.whole, made.furthest, strict=True):
        if whole and furthest >= LARGEST:
            raise InvalidInput(
                f"{name} can be as large as {float(furthest):.3g} on these nodes, and is offered "
                "below 2**51, where floats are exact; give a public max_degree, or leave it out"
            )
    return made


def check_formula(formula: str, public: Sequence[str]) -> tuple[Call, ...]:
    """Return a formula's terms if all have a finite sensitivity given the public attributes.

    Raises
    ------
    InvalidInput
        If the formula can't be read, uses an attribute that isn't public, or edgecov.
    """
    from bayesdp.networks.formula import parse
    from bayesdp.networks.terms import TERMS

    calls = parse(formula)
    for call in calls:
        if call.name == "edgecov":
            raise InvalidInput(
                "formula has edgecov, whose dyad attribute would have to be public and to cross "
                "with the release, a number for every pair of nodes; this isn't offered: write it "
                "by nodemix, nodecov or absdiff of public node attributes, or leave it out"
            )
        if "attribute" not in inspect.signature(TERMS[call.name].build).parameters:
            continue
        used = call.named.get("attribute", call.arguments[0] if call.arguments else None)
        if isinstance(used, str) and used not in public:
            raise InvalidInput(
                f"formula has {call.name}({quoted(used)}), but attributes is {list(public)}: where "
                "the values of a node attribute aren't public, no bound on the statistic's change "
                f"is, and there is no finite sensitivity. If they are public, add {quoted(used)} "
                "to attributes; else leave the term out"
            )
    return calls


def columns_of(network: Network, names: Sequence[str]) -> Columns:
    """Public attributes of a network as plain values."""
    kept = public_part(network, tuple(names)).attributes
    return tuple((name, tuple(map(_plain, kept[name].tolist()))) for name in names)


def nodes_of(network: Network) -> Any:
    """Return the nodes' labels or, where they have none, their number."""
    public_part(network, ())
    return network.n if isinstance(network.nodes, range) else tuple(network.nodes)


def check_columns(given: Any, n: int) -> Columns:
    """Return attributes in the standard form of a manifest, or raise InvalidInput."""
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        checked = tuple((name, tuple(map(_plain, values))) for name, values in pairs)
    except (TypeError, ValueError):
        raise InvalidInput(
            "attributes must be pairs of a name and a value for each node, as "
            "(('grade', (7, 8, 7)),)"
        ) from None
    for name, values in checked:
        kinds = {type(value) for value in values if value is not None}
        if not isinstance(name, str) or len(values) != n or len(kinds) > 1:
            raise InvalidInput(
                f"attribute {quoted(name)} has {len(values)} values; it must have a name and one "
                f"value, of one type, for each of {n} nodes"
            )
        if not kinds <= {bool, int, float, str}:
            raise InvalidInput(f"attribute {quoted(name)} must be text, numbers or booleans")
    if len({name for name, _ in checked}) < len(checked):
        raise InvalidInput("attributes has a name twice; each must be there once")
    return checked


def column(values: Sequence[Any]) -> Any:
    """Return one attribute as an array, of type object where a value is missing."""
    return np.array(values, dtype=object) if None in values else np.array(values)


def _plain(value: Any) -> Any:
    """Return a Python value; a missing number is None, which JSON can hold and equals itself."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def public_frame(
    formula: str,
    nodes: Any,
    directed: bool = False,
    attributes: Any = (),
    max_degree: int | None = None,
) -> Frame:
    """Make the formula's frame on its public nodes, all validated."""
    check_flag("directed", directed)
    if max_degree is not None:
        max_degree = check_at_least_one("max_degree", max_degree, "or None for any degrees")
    labels = _nodes(nodes)
    columns = check_columns(attributes, labels if isinstance(labels, int) else len(labels))
    return frame(formula, labels, directed, columns, max_degree)


def check_noise(noise: Any) -> str:
    """Return the noise's name, or raise InvalidInput."""
    if noise not in NOISES:
        raise InvalidInput(f"noise is {quoted(noise)}; it must be 'laplace' or 'gaussian'")
    return str(noise)


def default_granularity(made: Frame, scales: Sequence[float], node: bool) -> tuple[float, ...]:
    """Default granularity of each statistic: 1 for integers, else so fine as to cost little."""
    steps = []
    moved, furthest = made.sensitivities(node), made.furthest
    for scale, whole, most, far in zip(scales, made.whole, moved, furthest, strict=True):
        step = 1.0 if whole else check_granularity(None, scale, float(most) or scale)
        steps.append(max(step, 2.0 ** math.frexp(float(far / LARGEST))[1] if far else step))
    return tuple(steps)


def check_steps(made: Frame, steps: Sequence[float]) -> None:
    """Raise InvalidInput where a granularity is too coarse or too fine for its statistic."""
    for name, whole, step, far in zip(made.names, made.whole, steps, made.furthest, strict=True):
        if (whole and step > 1) or far / Fraction(step) > 2 * LARGEST:
            raise InvalidInput(
                f"granularity of {name} is {quoted(step)}; it must be at most 1 for an integer, "
                f"and at least 2**-52 of its largest value, {float(far):.3g}; None chooses one"
            )


def one_each(name: str, given: Any, made: Frame) -> tuple[Any, ...]:
    """Return the numbers given, one for each statistic, or raise InvalidInput."""
    values = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    if len(values) != len(made.names):
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be {len(made.names)} numbers, for "
            f"{', '.join(made.names)}"
        )
    return values


def _nodes(nodes: Any) -> Any:
    """Return the number of nodes, or their labels as a tuple."""
    labels = checked_nodes(nodes)
    if isinstance(labels, range):
        return len(labels)
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInput(
            "nodes has labels of type "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}; a release holds text, numbers "
            "or booleans, of one type: rename the nodes"
        )
    return labels
