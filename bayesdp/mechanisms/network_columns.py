"""Released graphs as columns of a table, and what of a graph may be released at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.networks.network import Network

_OWN = -1  # `target` of the row that says a node is there


def public_part(network: Network, attributes: Sequence[str]) -> Network:
    """The nodes with the attributes named, which are public, and the ties; nothing else.

    Raises
    ------
    InvalidInput
        If a name isn't an attribute of the nodes, or labels or attributes are of a type that a
        table of a release can't hold.
    """
    for name in attributes:
        if name not in network.attributes:
            known = ", ".join(sorted(map(repr, network.attributes))) or "none"
            raise InvalidInput(
                f"attributes names {name!r}, which the network's nodes don't have; they have: "
                f"{known}"
            )
    kept = {name: _plain(name, network.attributes[name]) for name in attributes}
    if not isinstance(network.nodes, range):
        _plain("label", np.asarray(network.nodes))
    return Network(network.nodes, network.edges, network.directed, kept)


def _plain(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """One type of text, number or boolean, which a file gives back as it was."""
    kinds = {type(value) for value in values.tolist() if value is not None}
    if values.ndim != 1 or len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInput(
            f"the nodes' {name} has values of type {', '.join(sorted(k.__name__ for k in kinds))}; "
            "a release holds text, numbers or booleans, of one type: convert it, or leave it out"
        )
    return values


def encode_networks(networks: Sequence[Network]) -> dict[str, Any]:
    """`copy`, `source`, `target` and, of the source, its `label` and `node.<attribute>`s.

    A row a node, whose target is -1, and a row a tie: so isolates are there too. Without
    `label`, nodes are numbers.
    """
    columns: dict[str, list[NDArray[Any]]] = {"copy": [], "source": [], "target": []}
    for k, network in enumerate(networks):
        edges = network.edges.astype(np.int64)
        source = np.concatenate([np.arange(network.n), edges[:, 0]])
        target = np.concatenate([np.full(network.n, _OWN), edges[:, 1]])
        columns["copy"].append(np.full(source.size, k))
        columns["source"].append(source)
        columns["target"].append(target)
        if not isinstance(network.nodes, range):
            columns.setdefault("label", []).append(np.asarray(network.nodes)[source])
        for name, values in network.attributes.items():
            columns.setdefault(f"node.{name}", []).append(values[source])
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def decode_networks(columns: Mapping[str, Any], directed: bool) -> list[Network]:
    """What `encode_networks` encoded; rows in any order.

    Raises
    ------
    InvalidInput
        If nodes aren't numbered from 0, each once a copy, or ties aren't a graph's.
    """
    copy, source, target = (np.asarray(columns[name]) for name in ("copy", "source", "target"))
    networks = []
    for k in np.unique(copy):
        own = np.flatnonzero((copy == k) & (target == _OWN))
        own = own[np.argsort(source[own], kind="stable")]
        if not np.array_equal(source[own], np.arange(own.size)):
            raise InvalidInput("the table must have a row for every node of each copy, from 0")
        ties = (copy == k) & (target != _OWN)
        nodes = np.asarray(columns["label"])[own].tolist() if "label" in columns else own.size
        attributes = {
            name.removeprefix("node."): np.asarray(values)[own]
            for name, values in columns.items()
            if name.startswith("node.")
        }
        edges = np.column_stack([source[ties], target[ties]])
        networks.append(Network(nodes, edges, directed, attributes))
    return networks


def tie_records(network: Network) -> NDArray[Any]:
    """The ties as a structured array with the labels of `source` and `target`."""
    labels = np.asarray(network.nodes)
    records = np.empty(
        len(network.edges), dtype=[("source", labels.dtype), ("target", labels.dtype)]
    )
    records["source"], records["target"] = labels[network.edges[:, 0]], labels[network.edges[:, 1]]
    return records
