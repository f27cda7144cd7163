"""Examples of mechanisms that release graphs, or numbers that describe them."""

import itertools
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism
from bayesdp.networks import Network
from tests.contracts.examples.example import Example, plane

TRIANGLES = bdp.mechanisms.NoisyTrianglesMechanism(2.0, nodes=4)


def two_tails(statistic: Network) -> float:
    """Probability of a number of triangles below -40 or above 40."""
    from scipy import stats

    count = bdp.networks.statistics(statistic, "triangle")["triangle"]
    noise = stats.cauchy(scale=TRIANGLES.scale(statistic))
    return float(noise.sf(40.5 - count) + noise.sf(40.5 + count))


def edge_neighbours(mechanism: Any) -> list[tuple[Any, Any]]:
    """All graphs, and each with any one dyad's tie added."""
    graphs = list(mechanism.outputs())
    return [
        (one, other)
        for one, other in itertools.permutations(graphs, 2)
        if len(other.edges) == len(one.edges) + 1
        and {*map(tuple, one.edges.tolist())} < {*map(tuple, other.edges.tolist())}
    ]


OF_EACH = ((0, 0.9, 0.8), (0.75, 0, 0.6), (0.5, 0.95, 0))  # probabilities a dyad
FLIPS = [
    (bdp.mechanisms.EdgeFlipMechanism(3, 0.75, 0.25), 0.0),
    (bdp.mechanisms.EdgeFlipMechanism(3, 0.9, 0.02, attributes=("grade",)), 0.0),
    (bdp.mechanisms.EdgeFlipMechanism(2, 0.7, 0.1, directed=True), 0.1),
    (bdp.mechanisms.EdgeFlipMechanism(3, OF_EACH, 0.3, directed=True), 0.0),
]
DIRECTED = bdp.networks.Network(["a", "b", "c"], [[0, 1], [1, 0]], True, {"g": ["x", "y", "x"]})
LEVELS = (("g", ("a", "b", "a", "b")), ("x", (1.0, -2.5, None, 3.0)))
STATISTICS = [
    (bdp.mechanisms.NoisyStatisticsMechanism("edges", (0.4,), 4), np.arange(-14, 21)[:, None], 0.0),
    (
        bdp.mechanisms.NoisyStatisticsMechanism(
            "mutual + isolates", (0.3, 0.25), ["p", "q", "r"], True
        ),
        np.array(list(itertools.product(range(-9, 13), repeat=2))),
        0.0,
    ),
    (
        bdp.mechanisms.NoisyStatisticsMechanism(
            "gwesp(0.5)", (0.5,), 4, granularity=(0.25,), max_degree=2
        ),
        np.arange(-16, 20, 0.25)[:, None],
        0.0,
    ),
    (
        bdp.mechanisms.NoisyStatisticsMechanism(
            "nodematch('g', diff=True)", (0.3, 0.3), 4, attributes=LEVELS, neighbours="node"
        ),
        np.array(list(itertools.product(range(-9, 11), repeat=2))),
        0.0,
    ),
    (
        bdp.mechanisms.NoisyStatisticsMechanism("edges", (1.25,), 3, noise="gaussian"),
        np.arange(-14, 18)[:, None],
        0.01,
    ),
    (
        bdp.mechanisms.NoisyStatisticsMechanism(
            "edges + triangle", (0.75, 1.0), 3, noise="gaussian"
        ),
        np.array(list(itertools.product(range(-9, 12), repeat=2))),
        0.01,
    ),
]
EXAMPLES: list[Example] = [
    *(Example(m, edge_neighbours(m), m.outputs(), delta) for m, delta in FLIPS),
    Example(
        bdp.mechanisms.NoisyDegreesMechanism(0.5, 2),
        [(Network(2), Network(2, [(0, 1)]))],
        plane(range(-14, 16)),
    ),
    Example(
        bdp.mechanisms.NoisyDegreesMechanism(0.7, ("a", "b")),
        [(Network(["a", "b"]), Network(["a", "b"], [(0, 1)]))],
        plane(range(-20, 22)),
        delta=0.01,
    ),
    Example(
        bdp.mechanisms.NoisyDegreesMechanism(0.2, 2, directed=True),
        [
            (Network(2, [], True), Network(2, [(0, 1)], True)),
            (Network(2, [(1, 0)], True), Network(2, [(0, 1), (1, 0)], True)),
        ],
        np.array(list(itertools.product(range(-5, 7), repeat=4))),
    ),
    Example(TRIANGLES, TRIANGLES.pairs(), np.arange(-40, 41), beyond=two_tails),
    *(
        Example(mechanism, mechanism.pairs(), outputs)
        for mechanism, outputs in (
            (
                bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.5, 2),
                np.arange(-50, 51)[:, None],
            ),
            (
                bdp.mechanisms.TruncatedStatisticsMechanism("edges + isolates", 12.0, 1, (1, 2)),
                plane(range(-9, 12)),
            ),
        )
    ),
    Example(
        DPERGMMechanism("edges", 0.7, 4, False, (1.0,), centre=(-1.0,), scale=(0.5,)),
        [(None, None)],
        [Network(4, ties) for ties in ([], [[0, 1]], [[0, 1], [2, 3]])],
        intractable=True,
    ),
    Example(
        bdp.synthesizers.DPERGMSynthesizer(
            "edges + nodematch('g')",
            0.7,
            "sphc",
            prior=bdp.networks.NormalPrior(0, 2),
            attributes=("g",),
        ).mechanism_like(DIRECTED),
        [(None, None)],
        [DIRECTED, DIRECTED.with_edges([[1, 0]])],
        intractable=True,
    ),
    Example(
        DPERGMMechanism("edges", 1.0, 4, False, (1.0,), "sdd_mc", "published"),
        [(None, None)],
        [Network(4, [[0, 1]])],
        intractable=True,
    ),
]
EXAMPLES += [Example(m, m.pairs(), outputs, delta) for m, outputs, delta in STATISTICS]
