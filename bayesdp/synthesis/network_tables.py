"""Reading of a confidential network from a table of its ties and a public list of its nodes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.network import Network
from bayesdp.optional import needed
from bayesdp.synthesis.tables import as_written, read_table
from bayesdp.table_files import is_table

NETWORKX = "networkx:"
_SUFFIX = "_graph"
_MOST = 10_000_000  # nodes by number; a typing error of more would fill the memory

Nodes = int | str | Sequence[int | str]


def read_network(
    source: str | Path,
    ties: Sequence[str] | None = None,
    nodes: Nodes | None = None,
    *,
    directed: bool = False,
) -> Network:
    """Read a network from a table of ties, or take one of those that networkx has.

    Parameters
    ----------
    source : path or str
        A `.csv` or `.parquet` file with a row for each tie, or `networkx:NAME`.
    ties : sequence of two str, optional
        The columns with the labels of each tie's two ends, for a file.
    nodes : int, str or sequence, optional
        All nodes, for a file: which there are is public, and those without ties aren't among the
        ties. A number of nodes, called 0, 1, 2 ...; "1:40" for those from 1 to 40; their labels,
        also as text, "a,b,c"; or a `.csv` or `.parquet` file whose first column has the labels, and
        whose others are the nodes' attributes.
    directed : bool
        Whether a file's ties go from the first end to the second.

    Raises
    ------
    InvalidInput
        If a file isn't there or isn't such a table, nodes are missing, or a tie is with none of
        them, of a node with itself or there twice; no tie is shown.
    """
    name = str(source)
    if name.startswith(NETWORKX):
        return _of_networkx(name.removeprefix(NETWORKX))
    if ties is None or len(ties) != 2 or len(set(ties)) != 2:
        raise InvalidInput("ties must name two columns, of each tie's ends, such as from,to")
    if nodes is None:
        raise InvalidInput(
            "nodes is missing: those without ties aren't among the ties, and which there are is "
            "public; give their number, their labels, or a file of them"
        )
    labels, attributes = _nodes(nodes)
    frame = read_table(name, list(ties), text=ties)
    known = {str(label): label for label in labels}
    ends = [[known.get(as_written(end, known), _NOBODY) for end in frame[tie]] for tie in ties]
    if any(end is _NOBODY for each in ends for end in each):  # which isn't shown
        raise InvalidInput(
            f"{quoted(name)} has a tie with a node that isn't among the {len(labels)} nodes, or "
            "that lacks an end; list all nodes there are"
        )
    pairs = zip(*ends, strict=True)
    return Network.from_edges(pairs, nodes=labels, directed=directed, attributes=attributes)


_NOBODY: Any = object()


def _of_networkx(name: str) -> Network:
    """Return one of networkx's social networks."""
    social = needed("networkx.generators.social", f"{NETWORKX}{name}", "networks")
    known = {each.removesuffix(_SUFFIX): each for each in social.__all__}
    if name.removesuffix(_SUFFIX) not in known:
        raise InvalidInput(
            f"networkx has no social network {quoted(name)}; it has {', '.join(known)}"
        )
    return Network.from_networkx(getattr(social, known[name.removesuffix(_SUFFIX)])())


def _nodes(given: Nodes) -> tuple[list[Hashable], Mapping[str, Any]]:
    """Return all labels, and the nodes' attributes."""
    if isinstance(given, str) and is_table(given):
        frame = read_table(given)
        label, *attributes = frame.columns
        return frame[label].tolist(), {str(name): frame[name].tolist() for name in attributes}
    if isinstance(given, str):
        first, colon, last = given.partition(":")
        if colon and first.strip().isdecimal() and last.strip().isdecimal():
            return _numbers(given, range(int(first), int(last) + 1)), {}
        if given.strip().isdecimal():
            return _numbers(given, range(int(given))), {}
        return [label.strip() for label in given.split(",")], {}
    return _numbers(given, range(given)) if isinstance(given, int) else list(given), {}


def _numbers(given: Any, numbers: range) -> list[Hashable]:
    """List the nodes' numbers, if there are any and memory holds them."""
    count = max(0, numbers.stop - numbers.start)  # len overflows
    if not 2 <= count <= _MOST:
        raise InvalidInput(
            f"nodes is {quoted(given)}, which is {count:,} nodes; a table of ties is read "
            f"for 2 to {_MOST:,}"
        )
    return list(numbers)
