"""Noisy network statistics as values, as columns of a table, and the neighbours an audit tries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import check_multiples, with_names
from bayesdp.errors import InvalidInput
from bayesdp.networks.network import Network
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.noisy_statistics import NoisyStatisticsMechanism

_ALL_PAIRS = 8  # nodes up to which every pair of them is tried
_KEPT = 4


def check_output(mechanism: NoisyStatisticsMechanism, output: Any) -> tuple[Any, ...]:
    """Return the output as a tuple of numbers, ints where the statistic is whole, or raise."""
    values = check_multiples(mechanism.statistics, mechanism.granularity, output)
    each = zip(values, mechanism.frame.whole, mechanism.granularity, strict=True)
    return tuple(int(v) if whole and step >= 1 else float(v) for v, whole, step in each)


def records(mechanism: NoisyStatisticsMechanism, output: Any) -> NDArray[Any]:
    """The released numbers with the names of their statistics: a structured array."""
    return with_names("statistic", mechanism.statistics, output)


def encode(mechanism: NoisyStatisticsMechanism, outputs: Sequence[Any]) -> dict[str, Any]:
    """Encode copies as columns copy, statistic and value, one row a statistic."""
    names = np.array(mechanism.statistics)
    return {
        "copy": np.repeat(np.arange(len(outputs)), len(names)),
        "statistic": np.tile(names, len(outputs)),
        "value": np.asarray(outputs, dtype=np.float64).ravel(),
    }


def decode(mechanism: NoisyStatisticsMechanism, columns: Mapping[str, Any]) -> list[Any]:
    """Decode the outputs, in the order of their copies; InvalidInput if a row is missing."""
    copy, names, value = (np.asarray(columns[name]) for name in ("copy", "statistic", "value"))
    number = {name: t for t, name in enumerate(mechanism.statistics)}
    place = np.array([number.get(str(name), -1) for name in names.tolist()], dtype=np.int64)
    size, copies = len(number), len(names) // len(number)
    order = np.lexsort((place, copy))
    expected = np.divmod(np.arange(len(names)), size)
    if (
        len(names) % size
        or np.any(copy[order] != expected[0])
        or np.any(place[order] != expected[1])
    ):
        raise InvalidInput(
            "the table must have one row for each copy, numbered from 0, and each of "
            f"{', '.join(number)}; rows are missing, repeated or of another name"
        )
    return [check_output(mechanism, row) for row in value[order].reshape(copies, size)]


def worst_pairs(mechanism: NoisyStatisticsMechanism) -> list[tuple[Network, Network]]:
    """Pairs of neighbours that are far apart, within the bound on degrees, for an audit.

    Two nodes with other ties to the same nodes, between whom a tie comes; under `node`, one node
    without ties, and with as many as it may have. The furthest apart of those.
    """
    node = mechanism.neighbours is Neighbours.NODE
    network, scales = mechanism.frame.network, [float(noise.scale) for noise in mechanism.noises]
    steps = np.array(scales) * mechanism.granularity

    def apart(pair: tuple[Network, Network]) -> float:
        one, other = (mechanism.frame.statistics(member) for member in pair)
        moved = [abs(float(a - b)) for a, b in zip(one, other, strict=True)]
        power = 1 if mechanism.noise == "laplace" else 2
        return float(np.sum((np.array(moved) / steps) ** power))

    made = _node_pairs(network, mechanism) if node else _edge_pairs(network, mechanism)
    return sorted(made, key=apart, reverse=True)[:_KEPT]


def _most(mechanism: NoisyStatisticsMechanism) -> int:
    n = mechanism.frame.network.n
    return n - 1 if mechanism.max_degree is None else min(n - 1, mechanism.max_degree)


def _ends(network: Network) -> list[int]:
    """Choose nodes to try: all if few, else those first and last by an attribute, and some."""
    n = network.n
    if n <= _ALL_PAIRS:
        return list(range(n))
    found = {0, 1}
    for values in network.attributes.values():
        order = np.argsort([str(v) if values.dtype.kind in "OU" else v for v in values.tolist()])
        found |= {int(order[k]) for k in (0, 1, -2, -1)}
    return sorted(found)


def _edge_pairs(
    network: Network, mechanism: NoisyStatisticsMechanism
) -> Iterator[tuple[Network, Network]]:
    most = _most(mechanism)
    degrees = {0, 1, 2, 3, most - 1} & set(range(most))
    ordered = itertools.permutations if network.directed else itertools.combinations
    for i, j in ordered(_ends(network), 2):
        yield _graph(network, []), _graph(network, [(i, j)])
        others = [k for k in range(network.n) if k not in (i, j)]
        for degree in sorted(degrees):
            ties = [(end, k) for end in (i, j) for k in others[:degree]]
            if network.directed:
                reach = others if most > 1 else []
                ties += [(k, end) for k in reach for end in (i, j)]
                ties += [(j, k) for k in others[degree : degree + 1] if degree < most]
            yield _graph(network, ties), _graph(network, [*ties, (i, j)])


def _node_pairs(
    network: Network, mechanism: NoisyStatisticsMechanism
) -> Iterator[tuple[Network, Network]]:
    most = _most(mechanism)
    for v in _ends(network):
        others = [k for k in range(network.n) if k != v]
        near = others[:most]
        star = [(v, k) for k in near]
        if network.directed:
            star += [(k, v) for k in others]
        ordered = itertools.permutations if network.directed else itertools.combinations
        inside = ordered(near[: most if network.directed else None], 2)
        clique = [pair for pair in inside if most > 1] if most < 100 else []
        for rest in ([], list(zip(near[::2], near[1::2], strict=False)), clique):
            if most > 1 or not rest:
                yield _graph(network, rest), _graph(network, [*rest, *star])


def _graph(network: Network, ties: Iterable[tuple[int, int]]) -> Network:
    return network.with_edges(np.array(list(ties), dtype=np.int64).reshape(-1, 2))
