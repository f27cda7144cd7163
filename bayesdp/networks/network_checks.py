"""Checks of a network's nodes, ties and attributes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least, check_numbers, is_missing
from bayesdp.errors import InvalidInput, quoted
from bayesdp.headers import shown_names

if TYPE_CHECKING:
    import pandas as pd


def checked_nodes(nodes: Any) -> Sequence[Hashable]:
    """Return labels of at least two nodes, each once, or raise InvalidInput."""
    labels = listed_nodes(nodes)
    if len(labels) < 2:
        raise InvalidInput(f"there are {len(labels)} nodes; a network needs at least 2")
    if not isinstance(labels, range) and len(set(labels)) < len(labels):
        again = next(i for i, label in enumerate(labels) if label in labels[:i])
        raise InvalidInput(
            f"nodes has one label twice, at {labels.index(labels[again])} and at {again}; each "
            "node needs its own"
        )
    return labels


def listed_nodes(nodes: Any) -> Sequence[Hashable]:
    """Return labels, or range(n) for n nodes without any, or raise InvalidInput."""
    if isinstance(nodes, Integral) and not isinstance(nodes, bool):
        return range(check_at_least("nodes", nodes, 2))
    if isinstance(nodes, dict) or hasattr(nodes, "columns") or hasattr(nodes, "is_directed"):
        raise InvalidInput(
            f"nodes is of type {type(nodes).__name__}, whose ties Network doesn't read; make the "
            "network with Network.from_networkx, from_adjacency, from_edges or from_pandas"
        )
    if (
        isinstance(nodes, str | bool)
        or not isinstance(nodes, Iterable)
        or getattr(nodes, "ndim", 1) == 0  # numpy calls it iterable
    ):
        raise InvalidInput(
            f"nodes is {quoted(nodes)}; it must be a whole number or a list of labels"
        )
    if isinstance(nodes, range) and nodes == range(len(nodes)):  # another one is labels
        return nodes
    labels = tuple(map(_python, nodes))
    check_labels("nodes", labels)
    return labels


def _python(label: Any) -> Any:
    """Return Python's number or text for numpy's, which a release would refuse."""
    return label.item() if isinstance(label, np.number | np.bool_ | np.str_) else label


def check_labels(name: str, labels: Sequence[Any]) -> None:
    """Raise InvalidInput, which shows no label, where one is missing or can't name a node."""
    try:
        each = set(labels)
    except TypeError:
        raise InvalidInput(
            f"{name} has a label that can't be looked up, such as a list; make labels text or "
            "numbers"
        ) from None
    if np.any(is_missing(np.fromiter(each, dtype=object))):
        raise InvalidInput(
            f"{name} has a label that is missing, None or NaN; a tie has two ends, and each node a "
            "label of its own: fill it in, or leave it out"
        )


def check_unmasked(what: str, given: Any) -> None:
    """Raise InvalidInput for a masked array, whose mask would be lost, if it hides anything."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):  # not pandas' arrays
        raise InvalidInput(f"{what} has masked values; fill them in, or leave them out")


def check_index(what: str, index: Any, nodes: Sequence[Hashable]) -> None:
    """Raise InvalidInput where a pandas index has labels of the nodes, but not in their order.

    What has another index, or the default one, 0, 1, 2 ..., is in the order of the nodes.
    """
    if index is None or callable(index):  # a list has a method of this name
        return
    labels, known = list(index), set(nodes)
    default = labels == list(range(len(labels))) and known != set(labels)
    if labels != list(nodes) and not default and not known.isdisjoint(labels):
        raise InvalidInput(
            f"{what} has an index with labels of the nodes, but not all of them in the network's "
            "order; put it into that order by .loc[nodes], or where it is in that order, and the "
            "index means something else, drop the index by .to_numpy()"
        )


def checked_edges(edges: Any, nodes: Sequence[Hashable], directed: bool) -> NDArray[np.int32]:
    """Return sorted pairs, the lower number first if undirected, or raise InvalidInput."""
    check_unmasked("edges", edges)
    try:
        given = np.asarray(edges if np.size(edges) else np.empty((0, 2), dtype=np.int64))
    except ValueError:
        raise InvalidInput(
            "edges has entries of different lengths; each must be a pair of node numbers"
        ) from None
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InvalidInput(
            f"edges has shape {given.shape} and type {given.dtype}; it must be pairs of node "
            "numbers, shape (ties, 2); Network.from_edges takes labels"
        )
    pairs = given.astype(np.int64)
    n = len(nodes)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        raise InvalidInput(f"edges has a node number outside 0 to {n - 1}")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():  # which node isn't shown: ties may be confidential
        raise InvalidInput("edges ties a node to itself; loops aren't allowed: take them out")
    if not directed:
        pairs = np.sort(pairs, axis=1)
    keys = np.sort(pairs[:, 0] * n + pairs[:, 1])
    if (keys[1:] == keys[:-1]).any():
        raise InvalidInput(
            "edges ties two nodes twice; multiple ties aren't allowed: keep one of each"
        )
    return np.column_stack(np.divmod(keys, n)).astype(np.int32)


def numbered_edges(
    batches: Iterable[pd.DataFrame], labels: pd.Index, source: str, target: str
) -> NDArray[np.int32]:
    """Return the node numbers of ties given in tables of labels, shape (ties, 2)."""
    blocks = [np.empty((0, 2), dtype=np.int32)]
    for batch in batches:
        if not {source, target} <= set(batch.columns):
            raise InvalidInput(
                f"edges doesn't have both {quoted(source)} and {quoted(target)}; its columns are "
                f"{shown_names(list(batch.columns))}"
            )
        pairs = np.column_stack(
            [labels.get_indexer(batch[name].array) for name in (source, target)]
        )
        if np.any(pairs < 0):
            raise InvalidInput("edges name a label that isn't among the nodes; add it")
        blocks.append(pairs.astype(np.int32))
    return np.concatenate(blocks)


def numbered_ties(matrix: Any, directed: bool) -> tuple[NDArray[np.int64], int]:
    """Return pairs of node numbers from a square 0/1 matrix, and the number of nodes."""
    from scipy import sparse

    if getattr(getattr(matrix, "dtype", None), "kind", "") == "O":  # as pandas' Int64 becomes
        matrix = check_numbers("matrix", matrix)
    try:
        entries = sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"matrix is {quoted(matrix)}; it must be a square one of numbers, zeros and ones"
        ) from None
    entries.sum_duplicates()
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InvalidInput(f"matrix has shape {entries.shape}; it must be square")
    entries.eliminate_zeros()
    if not (entries.data == 1).all():
        raise InvalidInput("matrix must hold zeros and ones; a tie is there once or not at all")
    rows, columns = entries.coords
    if not directed:
        upper = rows < columns
        mirrored = {*zip(rows[~upper].tolist(), columns[~upper].tolist(), strict=True)}
        if {(b, a) for a, b in mirrored if a != b} != {
            *zip(rows[upper].tolist(), columns[upper].tolist(), strict=True)
        }:
            raise InvalidInput("matrix isn't symmetric; make it so, or say directed=True")
        upper |= rows == columns
        rows, columns = rows[upper], columns[upper]
    return np.column_stack([rows, columns]), entries.shape[0]


def checked_attributes(
    attributes: Mapping[Any, Any], nodes: Sequence[Hashable]
) -> dict[str, NDArray[Any]]:
    """Return one value for each node, in their order; a mapping is read by label."""
    checked: dict[str, NDArray[Any]] = {}
    n = len(nodes)
    for key, given in named_items("attributes", attributes):
        if (name := str(key)) in checked:
            raise InvalidInput(
                f"two attributes have the name {quoted(name)}, as names are read as texts; rename "
                "one"
            )
        check_index(f"attribute {quoted(name)}", getattr(given, "index", None), nodes)
        check_unmasked(f"attribute {quoted(name)}", given)
        try:
            values = _column(_by_label(name, given, nodes) if isinstance(given, Mapping) else given)
        except ValueError as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(
                f"attribute {quoted(name)} has entries of different lengths; it must be one value "
                "for each node"
            ) from None
        if values.shape != (n,):
            raise InvalidInput(
                f"attribute {quoted(name)} has shape {values.shape}; it must be "
                f"{(n,)}, one value for each node, or a mapping from node to value"
            )
        checked[name] = values
    return checked


def check_agreeing(given: Mapping[str, NDArray[Any]], released: Mapping[str, NDArray[Any]]) -> None:
    """Raise InvalidInput where an attribute says another thing of a node than the release does."""
    for name in given.keys() & released.keys():
        own, public = given[name].astype(object), released[name].astype(object)
        lacking, there = is_missing(own), ~is_missing(public)
        both = zip(own, public, lacking, strict=True)
        differ = there & [bool(lacks or a != b) for a, b, lacks in both]
        if differ.any():
            raise InvalidInput(
                f"attribute {quoted(name)} differs from the release's own of that name, at "
                f"{int(differ.sum())} of {differ.size} nodes; leave it out, to take the "
                "release's, or give it another name, also in the formula"
            )


def named_items(what: str, given: Any) -> Iterable[tuple[Any, Any]]:
    """Return the names and values of a mapping or a pandas DataFrame, or raise InvalidInput."""
    if not hasattr(given, "items"):
        raise InvalidInput(
            f"{what} is {quoted(given)}; it must be a mapping from names to values, as "
            '{"age": [31, 40, 28]}'
        )
    items: Iterable[tuple[Any, Any]] = given.items()
    return items


def _column(given: Any) -> NDArray[Any]:
    """Return values as an array, in which none becomes text that isn't one."""
    values = np.asarray(given)
    texts = values.dtype.kind == "U" and isinstance(given, Sequence)
    mixed = texts and not all(isinstance(value, str) for value in given)
    return np.asarray(given, dtype=object) if mixed else values


def _by_label(name: str, given: Mapping[Any, Any], nodes: Sequence[Hashable]) -> list[Any]:
    """List a mapping's values by node, in order; errors count nodes and don't show labels."""
    lacking = sum(label not in given for label in nodes)
    if lacking or len(given) > len(nodes):
        raise InvalidInput(
            f"attribute {quoted(name)} is a mapping without a value for {lacking} of the "
            f"{len(nodes)} nodes, and with values for {len(given) - len(nodes) + lacking} others; "
            "give one for each node, None where it is missing, and none for others"
        )
    return [given[label] for label in nodes]


def checked_matrix(
    name: str, given: Any, nodes: Sequence[Hashable], directed: bool
) -> NDArray[np.float64]:
    """Return a matrix with one finite number for each dyad; the diagonal is zero."""
    n, what = len(nodes), f"dyad attribute {quoted(name)}"
    for side in ("index", "columns"):
        check_index(what, getattr(given, side, None), nodes)
    check_unmasked(what, given)
    try:
        dense = given.toarray() if hasattr(given, "toarray") else given  # scipy.sparse
        matrix = np.array(dense, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be a matrix of numbers, of shape {(n, n)}") from None
    if matrix.shape != (n, n):
        raise InvalidInput(f"{what} has shape {matrix.shape}; it must be {(n, n)}")
    np.fill_diagonal(matrix, 0.0)
    if not np.isfinite(matrix).all() or not (directed or np.array_equal(matrix, matrix.T)):
        raise InvalidInput(f"{what} must be finite, and symmetric in an undirected network")
    return matrix
