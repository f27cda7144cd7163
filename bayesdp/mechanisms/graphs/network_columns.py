"""Released graphs as columns of a table, and the part of a graph that may be released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_text
from bayesdp.core.outputs import structured
from bayesdp.errors import InvalidInput, quoted
from bayesdp.networks.network import Network, as_network

_OWN = -1  # `target` of the row that says a node is there


def confidential(graph: Any) -> Network:
    """Prepare a confidential graph for release, its nodes in the order of their labels.

    The labels are public; an order that follows from the ties, such as that of a graph built from a
    list of them, isn't.
    """
    return as_network(graph).in_label_order()


def public_part(network: Network, attributes: Sequence[str]) -> Network:
    """Keep the nodes, their public attributes as named, and the ties; nothing else.

    Raises
    ------
    InvalidInput
        If a name isn't an attribute of the nodes, or if labels or attributes have a type that a
        release's table can't hold.
    """
    for name in attributes:
        if name not in network.attributes:
            known = ", ".join(sorted(map(repr, network.attributes))) or "none"
            raise InvalidInput(
                f"attributes names {quoted(name)}, which the network's nodes don't have; they "
                f"have: {known}; give values with the graph, as "
                "Network(attributes={name: ...})"
            )
    if not isinstance(network.nodes, range):
        _labels(network)
    network = confidential(network)
    kept = {name: _plain(name, network.attributes[name].tolist()) for name in attributes}
    return Network(network.nodes, network.edges, network.directed, kept)


def check_attribute_names(attributes: Any) -> tuple[str, ...]:
    """Return names of node attributes as a tuple, each once, else raise InvalidInput."""
    names = tuple(attributes) if isinstance(attributes, list | tuple) else (None,)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidInput(
            f"attributes is {quoted(attributes)}; it must be names of node attributes, each once, "
            'for example ("grade",); their values come with the graph, as '
            "Network(attributes={name: {node: value}})"
        )
    return names


def check_on_nodes(what: str, graph: Any, nodes: int, directed: bool) -> Network:
    """Return the graph as a Network of that many nodes and that direction, else InvalidInput."""
    network = confidential(graph)
    if (network.n, network.directed) != (nodes, directed):
        kinds = {True: "directed", False: "undirected"}
        raise InvalidInput(
            f"{what} isn't one of this mechanism's: it has {network.n} nodes and is "
            f"{kinds[network.directed]}; this mechanism is for {nodes} nodes, {kinds[directed]}"
        )
    return network


def check_released(network: Network, attributes: Sequence[str]) -> Network:
    """Return a released graph if it holds these attributes of nodes and no others, else raise."""
    extra = [name for name in network.attributes if name not in attributes]
    if extra or network.dyad_attributes:
        raise InvalidInput(
            f"the output has attributes {[*extra, *network.dyad_attributes]}, which this mechanism "
            "doesn't release: name those of nodes that are public in attributes=, and take the "
            "others out"
        )
    return public_part(network, attributes)


def as_networks(graphs: Any) -> NDArray[Any]:
    """Return an array of Networks from one graph, shape (), or from a list or an array."""
    if isinstance(graphs, np.ndarray):
        return graphs
    if not isinstance(graphs, list | tuple):
        return as_networks([graphs]).reshape(())
    networks = np.empty(len(graphs), dtype=object)
    for k, graph in enumerate(graphs):
        networks[k] = confidential(graph)
    return networks


def check_texts(what: str, values: Iterable[Any]) -> None:
    """Raise InvalidInput if a text has characters that no file keeps; none is shown."""
    if not all(is_text(value) for value in values if isinstance(value, str)):
        raise InvalidInput(
            f"{what} has NUL or half a surrogate pair in a text, which files don't keep: correct "
            "it where it is read, as by encoding= of open()"
        )


def _plain(name: str, values: Iterable[Any]) -> NDArray[Any]:
    """Return values of one type, text, number or boolean, which survive a file unchanged."""
    listed = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in listed if value is not None}
    if len(kinds) != 1 or not kinds <= {bool, int, float, str}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none at all"
        raise InvalidInput(
            f"the nodes' {name} has values of type {names}; a release holds text, numbers or "
            "booleans, of one type: convert it, or leave it out"
        )
    check_texts(f"the nodes' {name}", listed)
    missing = any(value is None for value in listed)
    if kinds == {int}:
        if missing or not all(-(1 << 63) <= value < 1 << 63 for value in listed):
            raise InvalidInput(
                f"the nodes' {name} has whole numbers, and some are missing or beyond 64 bits, "
                "which a table can't hold: convert it to floats (NaN is missing) or to text"
            )
        return np.array(listed, dtype=np.int64)
    if kinds == {float}:
        return np.array([np.nan if value is None else value for value in listed])
    return np.array(listed, dtype=object if missing or kinds == {str} else None)


def _labels(network: Network) -> NDArray[Any]:
    """Return the nodes' labels, of one type."""
    return _plain("label", network.nodes)


def encode_networks(networks: Sequence[Network]) -> dict[str, Any]:
    """Encode networks as columns `copy`, `source`, `target`, `label` and `node.<attribute>`.

    There is one row for each node, whose target is -1, and one for each tie, so that isolates are
    there too. Without `label`, nodes are numbers.

    Raises
    ------
    InvalidInput
        If the copies differ in labels, or in the names or types of attributes.
    """
    _check_alike(networks)
    labelled = any(not isinstance(network.nodes, range) for network in networks)
    columns: dict[str, list[NDArray[Any]]] = {"copy": [], "source": [], "target": []}
    for k, network in enumerate(networks):
        edges = network.edges.astype(np.int64)
        source = np.concatenate([np.arange(network.n), edges[:, 0]])
        target = np.concatenate([np.full(network.n, _OWN), edges[:, 1]])
        columns["copy"].append(np.full(source.size, k))
        columns["source"].append(source)
        columns["target"].append(target)
        if labelled:
            columns.setdefault("label", []).append(_labels(network)[source])
        for name, values in network.attributes.items():
            plain = _plain(name, values.tolist())
            columns.setdefault(f"node.{name}", []).append(plain[source])
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _check_alike(networks: Sequence[Network]) -> None:
    def shape(network: Network) -> Any:
        kinds = {name: values.dtype.kind for name, values in network.attributes.items()}
        return tuple(network.nodes), kinds

    if len(networks) > 1 and any(shape(network) != shape(networks[0]) for network in networks[1:]):
        raise InvalidInput(
            "the copies have other nodes, or attributes of other names or types; copies are of one "
            "graph, whose nodes and their attributes are public: give them all the same"
        )


def decode_networks(columns: Mapping[str, Any], directed: bool) -> list[Network]:
    """Decode the columns of `encode_networks`; rows in any order.

    Raises
    ------
    InvalidInput
        If copies or nodes aren't numbered from 0, a node isn't there once in each copy, or ties
        aren't a graph's.
    """
    copies = np.unique(columns["copy"])
    if not np.array_equal(copies, np.arange(copies.size)):
        raise InvalidInput("the table must have copies numbered from 0")
    order = np.lexsort(tuple(np.asarray(columns[c]) for c in ("source", "target", "copy")))
    table = {name: np.asarray(values)[order] for name, values in columns.items()}
    ends = np.flatnonzero(np.diff(table["copy"])) + 1
    networks = []
    for rows in np.split(np.arange(order.size), ends) if order.size else ():
        source, target = table["source"][rows], table["target"][rows]
        n = int(np.count_nonzero(target == _OWN))
        if not np.array_equal(target[:n], np.full(n, _OWN)) or not np.array_equal(
            source[:n], np.arange(n)
        ):
            raise InvalidInput("the table must have a row for every node of each copy, from 0")
        own = rows[:n]
        nodes: Any = table["label"][own].tolist() if "label" in table else n
        attributes = {
            name.removeprefix("node."): table[name][own].tolist()
            for name in columns
            if name.startswith("node.")
        }
        networks.append(Network(nodes, np.column_stack([source, target])[n:], directed, attributes))
    return networks


def tie_records(network: Network) -> NDArray[Any]:
    """The ties as a structured array with the labels of `source` and `target`."""
    labels = np.asarray(network.nodes)
    source, target = network.edges.T
    return structured([("source", labels[source]), ("target", labels[target])])


def known_nodes(mechanism: Any) -> Network:
    """Make the empty network of the mechanism's field `nodes`, numbered in label order.

    Raises
    ------
    InvalidInput
        If the field is None.
    """
    if mechanism.nodes is None:
        raise InvalidInput(
            f"the mechanism {quoted(mechanism.name)} doesn't say how many nodes the graph has; "
            "where you know: bdp.Release.of(dataclasses.replace(release.mechanism, nodes=...), "
            "outputs=release.outputs)"
        )
    return Network(mechanism.nodes)
