"""What every mechanism of the registry keeps, on examples of its own.

A new mechanism adds its examples here, and can't skip a check.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.manifest import MechanismEntry
from bayesdp.mechanisms.base import REGISTRY, Mechanism
from bayesdp.mechanisms.cells import Axis
from bayesdp.mechanisms.censored_posterior import CensoredPosterior
from bayesdp.mechanisms.dp_ergm import DPERGMMechanism
from bayesdp.networks import Network
from bayesdp.privacy.profile import hockey_stick


@dataclasses.dataclass(frozen=True)
class Example:
    """A mechanism and data small enough to try everything.

    `pairs` are neighbouring statistics, all there are or the worst among them; `outputs` all
    but a negligible part of what it releases, in an array whose first axis lists them (for a
    continuous law, points, and then `continuous`). Where more than that is left, as of heavy
    tails, `beyond` is its probability given a statistic. An `intractable` law can't be computed,
    and says so. The claim of one that is `loose` is a bound that no output attains, as where the
    noise is post-processed.
    """

    mechanism: Mechanism
    pairs: Sequence[tuple[Any, Any]]
    outputs: Any
    delta: float = 0.0
    continuous: bool = False
    intractable: bool = False
    beyond: Callable[[Any], float] = lambda statistic: 0.0
    loose: bool = False

    @property
    def statistics(self) -> list[Any]:
        return [one for one, _ in self.pairs] + [self.pairs[-1][1]]


def counts(n: int) -> list[tuple[bdp.Count, bdp.Count]]:
    return list(itertools.pairwise(bdp.Count(x, n) for x in range(n + 1)))


def category_counts(n: int, k: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of counts of n records where one record changes its category."""
    all_counts = [c for c in itertools.product(range(n + 1), repeat=k) if sum(c) == n]
    return [
        (one, other)
        for one, other in itertools.combinations(all_counts, 2)
        if sum(abs(x - y) for x, y in zip(one, other, strict=True)) == 2
    ]


def conjugate(
    family: str,
    method: str,
    *,
    pairs: Sequence[tuple[Any, Any]] = (),
    points: Any = None,
    delta: float = 0.0,
    **known: Any,
) -> Example:
    mechanism = bdp.ConjugateRelease(family, method, **known)
    pairs = pairs or mechanism.pairs()
    if points is None:
        return Example(mechanism, pairs, mechanism.outputs(), delta)
    return Example(mechanism, pairs, np.array(points), delta=1e-5, continuous=True)


SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
NORMAL: dict[str, Any] = {"n": 6, "prior": (0.5, 2.0), "R": 1.5, "sigma": 1.2}
THREE: dict[str, Any] = {"n": 3, "prior": (2.5, 1.25, 7.0)}
POINTS = [[-1.25, 0.1, 3.0], [1 / 3, 1e-7, 0.5], [0.0, -0.0, 1e10]]
INSIDE = [[-1.25, 0.1, 1.5], [1 / 3, 1e-7, 0.5], [0.0, -0.0, -1.5]]
PROBABILITIES = [[0.25, 0.5, 0.25], [0.1, 0.2, 0.7], [1 / 3, 0.5, 1 / 6]]


def integers(low: int, high: int, step: int = 1) -> list[tuple[int, int]]:
    return [(x, x + step) for x in range(low, high - step + 1)]


def plane(values: Any) -> np.ndarray:
    return np.array(list(itertools.product(values, repeat=2)))


def vectors(values: Any, d: int, near: Any) -> list[tuple[Any, Any]]:
    """All neighbours among the vectors of those values."""
    every = list(itertools.combinations(itertools.product(values, repeat=d), 2))
    return [(one, other) for one, other in every if near(np.subtract(one, other))]


ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE


def changes(mechanism: Any, *utilities: Sequence[float]) -> list[tuple[Any, Any]]:
    """All extreme changes of a few utilities, and the pair that the mechanism proposes."""
    steps = [(0, 1), (-1, 0)] if mechanism.monotone else [(-1, 0, 1)]
    moves = [np.array(d) for ends in steps for d in itertools.product(ends, repeat=mechanism.k)]
    near = [(np.array(u), u + mechanism.sensitivity * d) for u in utilities for d in moves]
    return near + mechanism.pairs()


CHOICES = [
    family(epsilon, sensitivity, candidates, monotone, None, "add_remove")
    for family in (bdp.ExponentialMechanism, bdp.PermuteAndFlip)
    for epsilon, sensitivity, candidates, monotone in (
        (1.0, 1, 3, False),
        (0.3, 0.5, ("bus", "car"), True),
    )
] + [
    bdp.ExponentialMechanism(2.0, 0.1, 3, n=40, neighbours="replace_one"),
    bdp.PermuteAndFlip(5.0, 3, 4, monotone=True),
]


def every_replacement(mechanism: Any) -> list[tuple[Any, Any]]:
    """All data sets, and all replacements of their first record."""
    data = list(itertools.product(range(mechanism.k), repeat=mechanism.n))
    return [
        (np.array(one), np.array((other, *one[1:])))
        for one in data
        for other in range(mechanism.k)
        if other != one[0]
    ]


def with_a_hole(counts: Any) -> tuple[int, ...]:
    """Counts of three cells as those of four, the second of which is a structural zero."""
    return (counts[0], 0, *counts[1:])


TABLES = [
    Example(m, pairs, m.outputs(), delta)
    for m, pairs, delta in (
        (bdp.DirichletMultinomialMechanism(3, 4, 3, (2.5, 1.25, 7)), category_counts(3, 3), 0.0),
        (bdp.DirichletMultinomialMechanism(3, 3, 4, 2.0), category_counts(3, 4), 0.02),
        (bdp.DirichletMultinomialMechanism(None, 3, 2, 1.5), category_counts(1, 2), 0.02),
        (
            bdp.DirichletMultinomialMechanism(
                None,
                5,
                4,
                (0.5, 0, 2, 1),
                (1,),
                (Axis("c", categories=("a", 2)), Axis("x", edges=(0, 0.5, 1))),
            ),
            [(with_a_hole(p), with_a_hole(q)) for n in (1, 3) for p, q in category_counts(n, 3)],
            0.0,
        ),
    )
]


BY_AREA = [
    Example(m, m.pairs() + category_counts(1, 3), m.outputs())
    for m in (
        bdp.PoissonGammaMechanism(None, (0.5, 2.0, 7.0), 3.0, 4),
        bdp.PoissonGammaMechanism(1, (0.5, 2.0, 7.0), (1.0, 1.5, 4.0), 5, ("a", 2, "c")),
        bdp.PoissonGammaMechanism(None, (1.0, 2.0, 4.0), (1.5, 3.0, 6.0), 4),
    )
] + [
    Example(m, m.pairs(), plane(range(36)), delta=0.05)
    for m in (
        bdp.PoissonGammaMechanism(None, (2.0, 0.5), 9.0, None),
        bdp.PoissonGammaMechanism(3, (2.0, 1.0), (30.0, 1.0), None, ("a", "b")),
    )
]
BY_AREA += [
    Example(m, m.pairs(), m.outputs())
    for m in (bdp.PoissonGammaMechanism(None, (0.5, 0.0, 2.0, 7.0), (3.0, 0.0, 1.0, 2.0), 4),)
]
TWO = (Axis("a", categories=(0, 1)), Axis("b", edges=(0.0, 1.0)))
CORNERS = [(1, 0, 1), (0, 1, 1)]  # one record's marginals (a, b) and b
MARGINALS = [
    Example(
        bdp.NoisyMarginals(0.2, TWO, (("b", "a"), "b")),
        [((0, 0, 0), one) for one in CORNERS],
        np.array(list(itertools.product(range(-5, 7), repeat=3))),
    ),
    Example(
        bdp.NoisyMarginals(0.6, TWO, (("a", "b"), "b"), "gaussian", REPLACE_ONE, 1),
        [(CORNERS[0], CORNERS[1])],
        np.array(list(itertools.product(range(-5, 7), repeat=3))),
        delta=0.1,
    ),
    Example(
        bdp.NoisyMarginals(0.5, (Axis("a", categories=("u", "v", "w")),), ("a",), zeros=(1,)),
        [((0, 0, 0), (1, 0, 0)), ((2, 0, 1), (2, 0, 2))],
        np.array([(i, 0, j) for i, j in itertools.product(range(-20, 24), repeat=2)]),
    ),
]
TRIANGLES = bdp.NoisyTrianglesMechanism(2.0, nodes=4)


def two_tails(statistic: bdp.networks.Network) -> float:
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


def as_numbers(outputs: Any) -> np.ndarray:
    """Outputs as one array, graphs by their matrices."""
    return np.array([z.to_adjacency() if hasattr(z, "to_adjacency") else z for z in outputs])


OF_EACH = ((0, 0.9, 0.8), (0.75, 0, 0.6), (0.5, 0.95, 0))  # probabilities a dyad
FLIPS = [
    (bdp.EdgeFlipMechanism(3, 0.75, 0.25), 0.0),
    (bdp.EdgeFlipMechanism(3, 0.9, 0.02, attributes=("grade",)), 0.0),
    (bdp.EdgeFlipMechanism(2, 0.7, 0.1, directed=True), 0.1),
    (bdp.EdgeFlipMechanism(3, OF_EACH, 0.3, directed=True), 0.0),
]
RESPONSES = [
    (bdp.RandomizedResponse.binary(1.0), 0.0),
    (bdp.RandomizedResponse.kary(0.5, 3, n=2), 0.0),
    (bdp.RandomizedResponse.of((0.75, 0.9375), n=3), 0.0),
    (bdp.RandomizedResponse(((5, 1, 0), (2, 3, 1), (1, 1, 1))), 0.4),
    (bdp.RandomizedResponse.binary(1.0, n=2), 0.1),
]
DIRECTED = bdp.networks.Network(["a", "b", "c"], [[0, 1], [1, 0]], True, {"g": ["x", "y", "x"]})
LEVELS = (("g", ("a", "b", "a", "b")), ("x", (1.0, -2.5, None, 3.0)))
STATISTICS = [
    (bdp.NoisyStatisticsMechanism("edges", (0.4,), 4), np.arange(-14, 21)[:, None], 0.0),
    (
        bdp.NoisyStatisticsMechanism("mutual + isolates", (0.3, 0.25), ["p", "q", "r"], True),
        np.array(list(itertools.product(range(-9, 13), repeat=2))),
        0.0,
    ),
    (
        bdp.NoisyStatisticsMechanism("gwesp(0.5)", (0.5,), 4, granularity=(0.25,), max_degree=2),
        np.arange(-16, 20, 0.25)[:, None],
        0.0,
    ),
    (
        bdp.NoisyStatisticsMechanism(
            "nodematch('g', diff=True)", (0.3, 0.3), 4, attributes=LEVELS, neighbours="node"
        ),
        np.array(list(itertools.product(range(-9, 11), repeat=2))),
        0.0,
    ),
    (
        bdp.NoisyStatisticsMechanism("edges", (1.25,), 3, noise="gaussian"),
        np.arange(-14, 18)[:, None],
        0.01,
    ),
    (
        bdp.NoisyStatisticsMechanism("edges + triangle", (0.75, 1.0), 3, noise="gaussian"),
        np.array(list(itertools.product(range(-9, 12), repeat=2))),
        0.01,
    ),
]
MODIPS: list[Example] = [
    *(
        Example(
            bdp.ModipsSBS(bdp.families.Bernoulli(prior), size, (scale,), n, noise, bounding),
            counts(n),
            np.arange(size + 1),
            delta=delta,
            loose=True,
        )
        for prior, size, scale, n, noise, bounding, delta in (
            ((1.0, 1.0), 5, 1.5, 7, "laplace", "inflated", 0.0),
            ((0.5, 3.0), 4, 0.8, 3, "laplace", "truncated", 0.0),
            ((1.0, 1.0), 9, 1.0, 2, "laplace", "inflated", 0.01),
            ((1.0, 2.0), 5, 1.2, 6, "gaussian", "inflated", 0.01),
            ((1.0, 1.0), 5, 2.0, 4, "gaussian", "truncated", 0.0),
        )
    ),
    *(
        Example(
            bdp.ModipsSBS(bdp.families.Bernoulli(), 5, (0.7, 1.1), None, "laplace", bounding),
            [
                pair
                for x, y in itertools.product(range(3), repeat=2)
                for pair in (
                    (bdp.Count(x, x + y), bdp.Count(x + 1, x + y + 1)),
                    (bdp.Count(x, x + y), bdp.Count(x, x + y + 1)),
                )
            ],
            np.arange(6),
            loose=True,
        )
        for bounding in ("inflated", "truncated")
    ),
    Example(
        bdp.ModipsSBS(bdp.families.Categorical(3, (1.0, 0.5, 2.0)), 4, (0.8, 1.5, 1.0), 3),
        category_counts(3, 3),
        bdp.families.Categorical(3).outputs(4),
        loose=True,
    ),
    Example(
        bdp.ModipsSBS(bdp.families.Categorical(3), 3, (2.0, 1.5, 1.5), 2, "gaussian", "truncated"),
        category_counts(2, 3),
        bdp.families.Categorical(3).outputs(3),
        loose=True,
    ),
    Example(
        bdp.ModipsSBS(bdp.families.Categorical(2, (0.25, 3.0)), 4, (0.8, 0.5)),
        [((x, y), (x + 1, y)) for x in range(3) for y in range(3)]
        + [((x, y), (x, y + 1)) for x in range(3) for y in range(3)],
        bdp.families.Categorical(2).outputs(4),
        loose=True,
    ),
    *(
        Example(
            bdp.ModipsSBS(
                bdp.families.Gaussian((-1, 1), 0.75, prior), 3, (scale,), 6, noise, bounding
            ),
            [((-1.0,), (-2 / 3,)), ((0.1,), (0.3,))],
            np.array([[-1.0, 0.25, 1.0], [-0.5, -0.125, 0.5]]),
            delta=delta,
            continuous=True,
            loose=True,
        )
        for prior, scale, noise, bounding, delta in (
            (None, 0.5, "laplace", "inflated", 0.0),
            ((0.25, 2.0), 0.25, "gaussian", "truncated", 1e-3),
        )
    ),
    *(
        Example(
            bdp.ModipsSBS(bdp.families.Gaussian((-1, 1), sd), 3, scales, n),
            [(None, None)],
            [[-1.0, 0.25, 1.0], [0.0, -0.125, 0.5]],
            intractable=True,
        )
        for sd, scales, n in (
            (None, (0.25, 0.5), 5),
            (None, (1.5, 1.5, 3.0), None),
            (0.5, (1.5, 1.5), None),
        )
    ),
]
EXAMPLES: list[Example] = [
    Example(bdp.BetaBinomialMechanism(9, 6, (0.5, 3.0)), counts(9), np.arange(7)),
    Example(bdp.BetaBinomialMechanism(1, 1, (1.0, 1.0)), counts(1), np.arange(2)),
    Example(bdp.BetaBinomialMechanism(None, 4, (7.25, 0.1)), counts(5), np.arange(5)),
    *TABLES,
    *BY_AREA,
    *MARGINALS,
    conjugate("bernoulli", "parameter_draw", points=[0.1, 1 / 3, 0.98], n=9, prior=(0.5, 3.0)),
    conjugate("categorical", "parameter_draw", points=PROBABILITIES, **THREE),
    conjugate("gaussian", "parameter_draw", points=[-3.0, 0.1, 2 / 7], **NORMAL),
    conjugate("gaussian", "parameter_draw", points=[-1.5, 0.1, 2 / 7], bounded=True, **NORMAL),
    *(
        example
        for method in SYNTHETIC
        for example in (
            conjugate("bernoulli", method, pairs=counts(7), n=7, prior=(1.25, 3.0), size=5),
            conjugate("bernoulli", method, delta=0.02, n=2, prior=(1.5, 4.0), size=3),
            conjugate("categorical", method, pairs=category_counts(3, 3), size=4, **THREE),
            conjugate("categorical", method, delta=0.02, size=3, **THREE),
            conjugate("gaussian", method, points=POINTS, size=3, **NORMAL),
            conjugate("gaussian", method, points=INSIDE, size=3, bounded=True, **NORMAL),
        )
    ),
    Example(bdp.DiscreteLaplaceMechanism(1.5), integers(-3, 3), np.arange(-60, 61)),
    Example(bdp.DiscreteLaplaceMechanism(0.8), integers(0, 2), np.arange(-60, 61), delta=0.01),
    Example(
        bdp.DiscreteLaplaceMechanism(5.0, 2.0, REPLACE_ONE, None, (-2, 4), "truncated", 9),
        integers(-2, 4, 2),
        np.arange(-2, 5),
    ),
    Example(
        bdp.DiscreteLaplaceMechanism(1.0, 2.0, ADD_REMOVE, 2, (0, 3), "truncated"),
        vectors(range(4), 2, lambda move: np.abs(move).sum() <= 2),
        plane(range(4)),
    ),
    Example(
        bdp.DiscreteLaplaceMechanism(0.7, 2.0, "replace_one", 2, (0, None), "inflated"),
        [((0, 3), (2, 3)), ((1, 1), (2, 0))],
        plane(range(27)),
    ),
    Example(
        bdp.LaplaceMechanism(0.7, 0.5, bounds=(-1, 1), bounding="inflated", granularity=0.125),
        [(x, x + 0.5) for x in np.arange(-1.5, 1.5, 0.03125)],
        np.arange(-1, 1.1, 0.125),
    ),
    Example(
        bdp.LaplaceMechanism(0.7, 0.3, bounds=(-1, 1), bounding="truncated", granularity=0.125),
        [(x, x + 0.3) for x in np.arange(-1, 0.7, 0.03125)],
        np.arange(-1, 1.1, 0.125),
    ),
    Example(
        bdp.LaplaceMechanism(0.25, 0.3, dimension=2, granularity=0.5),
        [((x, y), (x + 0.2, y - 0.1)) for x in (0, 0.24) for y in (0.26,)],
        plane(np.arange(-8.5, 9, 0.5)),
    ),
    Example(
        bdp.DiscreteGaussianMechanism(1.5, 2.0), integers(-2, 2, 2), np.arange(-25, 26), delta=1e-3
    ),
    Example(
        bdp.DiscreteGaussianMechanism(1.2, 1.0, bounds=(-9, 9), bounding="inflated"),
        integers(-12, 12),
        np.arange(-9, 10),
        delta=1e-4,
    ),
    Example(
        bdp.DiscreteGaussianMechanism(2.0, 2.0, bounds=(-3, 4), bounding="truncated"),
        integers(-3, 4) + integers(-3, 4, 2),
        np.arange(-3, 5),
    ),
    Example(
        bdp.DiscreteGaussianMechanism(1.1, 1.5, REPLACE_ONE, 2),
        [((0, 0), (1, 1)), ((2, -1), (2, 0))],
        plane(range(-13, 14)),
        delta=0.01,
    ),
    Example(
        bdp.GaussianMechanism(1.0, 0.3, granularity=0.25),
        [(x, x + 0.3) for x in np.arange(-0.5, 0.5, 0.0625)],
        np.arange(-12, 12.1, 0.25),
        delta=1e-3,
    ),
    Example(
        bdp.GaussianMechanism(1.5, 1.0, "node", 2, (-1, 3), "truncated", granularity=0.5),
        [((-1, 3), (0, 3)), ((-0.4, 2), (0.2, 2.8))],
        plane(np.arange(-1, 3.1, 0.5)),
    ),
    Example(
        bdp.PerturbedHistogram(0.5, 2),
        [((0, 0), (0, 1)), ((3, 2), (4, 2)), ((0, 7), (1, 7))],
        plane(range(27)),
    ),
    Example(
        bdp.PerturbedHistogram(0.6, 2, REPLACE_ONE, 5),
        [((0, 5), (1, 4)), ((2, 3), (3, 2))],
        plane(range(26)),
        delta=0.01,
    ),
    Example(
        bdp.PerturbedHistogram(
            0.5,
            2,
            axes=(Axis("x", edges=(0.0, 0.5)), Axis("c", categories=("a", 2))),
        ),
        [((0, 0), (0, 1)), ((3, 2), (4, 2)), ((0, 7), (1, 7))],
        plane(range(27)),
    ),
    *(
        Example(m, changes(m, [0.0] * m.k, np.arange(m.k) * 1.75 * m.sensitivity), np.arange(m.k))
        for m in CHOICES
    ),
    *(Example(m, every_replacement(m), m.outputs(), delta) for m, delta in RESPONSES),
    *(Example(m, edge_neighbours(m), m.outputs(), delta) for m, delta in FLIPS),
    Example(
        CensoredPosterior(None, 2, -0.7, 0.0, (("y[0]", "number"), ("k", "integer"))),
        [(None, None)],
        [[(0.5, 2), (-1.5, 3)], [(math.inf, 0), (0.25, -1)]],
        intractable=True,
    ),
    Example(
        CensoredPosterior(
            None, 1, -1.0, 2.0, (("y", "number"),), (("a", 0.0, 1.0, 9), ("b", -2.0, 1.5, 3))
        ),
        [(None, None)],
        [[(1.5,)], [(0.5,)]],
        intractable=True,
    ),
    Example(
        CensoredPosterior(9, 1, -1.0, 2.0, (("y", "number"),), engine="stan"),
        [(None, None)],
        [[(1.5,)]],
        intractable=True,
    ),
    Example(
        bdp.NoisyDegreesMechanism(0.5, 2),
        [(Network(2), Network(2, [(0, 1)]))],
        plane(range(-14, 16)),
    ),
    Example(
        bdp.NoisyDegreesMechanism(0.7, ("a", "b")),
        [(Network(["a", "b"]), Network(["a", "b"], [(0, 1)]))],
        plane(range(-20, 22)),
        delta=0.01,
    ),
    Example(
        bdp.NoisyDegreesMechanism(0.2, 2, directed=True),
        [
            (Network(2, [], True), Network(2, [(0, 1)], True)),
            (Network(2, [(1, 0)], True), Network(2, [(0, 1), (1, 0)], True)),
        ],
        np.array(list(itertools.product(range(-5, 7), repeat=4))),
    ),
    *(
        Example(
            mechanism,
            mechanism.pairs(),
            np.random.default_rng(1).random((4, 3)),
            intractable=True,
        )
        for mechanism in (
            bdp.CensoredBetaMechanism((-2.0, 2.0), 3),
            bdp.CensoredBetaMechanism((-1.0, 3.0), 3, "replace_one", prior_phi=(2, 1), n=4),
            bdp.CensoredBetaMechanism((-2.0, 2.0), 3, weights="attached"),
            bdp.CensoredBetaMechanism(
                (-2.0, 2.0), 3, "replace_one", weights=bdp.PublicWeights(2, (0.1, 0.5), (1, 9))
            ),
        )
    ),
    Example(TRIANGLES, TRIANGLES.pairs(), np.arange(-40, 41), beyond=two_tails),
    *(
        Example(mechanism, mechanism.pairs(), outputs)
        for mechanism, outputs in (
            (bdp.TruncatedStatisticsMechanism("edges", 1.5, 2), np.arange(-50, 51)[:, None]),
            (
                bdp.TruncatedStatisticsMechanism("edges + isolates", 12.0, 1, (1, 2)),
                plane(range(-9, 12)),
            ),
        )
    ),
    Example(
        DPERGMMechanism("edges", 0.7, 4, False, (1.0,), centre=(-1.0,), scale=(0.5,)),
        [(None, None)],
        [bdp.networks.Network(4, ties) for ties in ([], [[0, 1]], [[0, 1], [2, 3]])],
        intractable=True,
    ),
    Example(
        bdp.DPERGM(
            "edges + nodematch('g')", 0.7, "sphc", prior=bdp.Normal(0, 2), attributes=("g",)
        ).mechanism_like(DIRECTED),
        [(None, None)],
        [DIRECTED, DIRECTED.with_edges([[1, 0]])],
        intractable=True,
    ),
    Example(
        DPERGMMechanism("edges", 1.0, 4, False, (1.0,), "sdd_mc", "published"),
        [(None, None)],
        [bdp.networks.Network(4, [[0, 1]])],
        intractable=True,
    ),
]
EXAMPLES += [Example(m, m.pairs(), outputs, delta) for m, outputs, delta in STATISTICS]
PLANE = (("x", (0.0, 1.0)), ("y", (-1.0, 3.0)))
EXAMPLES += [
    Example(
        bdp.NoisyMomentsMechanism(PLANE, scale, n, noise, granularity=1.0),
        pairs,
        np.array(list(itertools.product(*(range(low, high + 1) for low, high in ends)))),
        delta,
        loose=True,  # of numbers that move by a bit more than a step
    )
    for scale, n, noise, delta, pairs, ends in (
        (
            0.03,
            1,
            "laplace",
            0.0,
            [((1.0,) * 5, (-1.0, -1.0, 1.0, 1.0, 1.0)), ((1.0,) * 5, (0.0,) * 5)],
            [(-1, 1), (-1, 1), (0, 1), (0, 1), (0, 1)],
        ),
        (0.25, 1, "gaussian", 0.01, [((1.0,) * 5, (0.0,) * 5)], [(-1, 2)] * 5),
        (0.03, None, "laplace", 0.0, [((0.0,) * 6, (1.0,) * 6)], [(0, 1)] * 6),
    )
]
EXAMPLES += [
    Example(made, made.pairs(), plane(range(-12, 13)), 0.01, loose=True)
    for made in (
        bdp.PerturbedCoefficientsMechanism(PLANE, "y", 1.0, 1.5, 2, granularity=1.0),
        bdp.PerturbedCoefficientsMechanism(PLANE, "x", 30.0, 1.25, 9, True, granularity=1.0),
        bdp.PerturbedCoefficientsMechanism(PLANE, "x", 2.0, 1.25, 5, False, "logistic", 1.0),
    )
]
EXAMPLES += MODIPS
Bernoulli, Gaussian = bdp.families.Bernoulli, bdp.families.Gaussian
CELLS: list[Example] = [
    *(
        Example(
            bdp.ModipsGrid(Bernoulli(prior), size, epsilon, grid, "sdd", calibration, bins, n=n),
            counts(n),
            np.arange(size + 1),
            loose=True,
        )
        for prior, size, epsilon, grid, calibration, bins, n in (
            ((1.0, 1.0), 60, 1.0, (0.0, 1.0), "corrected", 9, 4),
            ((0.5, 3.0), 5, 50.0, (0.1, 0.7), "corrected", 4, 3),
            ((1.0, 1.0), 200, 2.0, (0.0, 1.0), "published", 5, 2),
        )
    ),
    Example(
        bdp.ModipsGrid(bdp.families.Categorical(3, (1.0, 2.0, 0.5)), 8, 2.0, (0, 1), bins=3, n=2),
        category_counts(2, 3),
        bdp.families.Categorical(3).outputs(8),
        loose=True,
    ),
    Example(
        bdp.ModipsGrid(bdp.families.Categorical(3), 8, 2.0, (0.1, 0.8), bins=4),
        bdp.families.Categorical(3).pairs(None),
        bdp.families.Categorical(3).outputs(8),
        loose=True,
    ),
    Example(
        bdp.ModipsGrid(Bernoulli(), 50, 1.0, (0.2, 0.9), bins=7),
        Bernoulli().pairs(None),
        np.arange(51),
        loose=True,
    ),
    *(
        Example(
            bdp.ModipsGrid(Gaussian((-1, 1), sd), size, 1.0, grid, bins=5, n=n, bounding=bounding),
            Gaussian((-1, 1), sd).pairs(n),
            np.array([[-1.0, 0.25, 1.0], [-0.5, -0.125, 0.5]]),
            continuous=True,
            loose=True,
        )
        for sd, size, grid, n, bounding in (
            (0.5, 3, (-1, 1), 5, "inflated"),
            (0.7, 3, (-0.5, 2.0), None, "truncated"),
        )
    ),
    *(
        Example(
            bdp.ModipsGrid(Bernoulli(), 4, 1.0, (0, 1), method, calibration, 3, 10, n),
            [(None, None)],
            [0, 3, 4],
            intractable=True,
        )
        for method, calibration, n in (
            ("sphc", "corrected", 5),
            ("sphc", "corrected", None),
            ("sphc", "published", 5),
            ("sdd.mc", "published", 5),
        )
    ),
]
EXAMPLES += CELLS
EXAMPLES += [
    *(
        Example(
            bdp.NestedModips(bdp.ModipsSBS(Bernoulli(), 3, (scale,), 5, "laplace", bounding), 2),
            counts(5),
            plane(range(4)),
            loose=True,
        )
        for scale, bounding in ((1.5, "inflated"), (0.6, "truncated"))
    ),
    Example(
        bdp.NestedModips(bdp.ModipsSBS(bdp.families.Categorical(3), 4, (1.0,) * 3, 6), 2),
        [(None, None)],
        [[(1, 2, 1), (0, 0, 4)], [(4, 0, 0), (2, 2, 0)]],
        intractable=True,
    ),
    Example(
        bdp.NestedModips(bdp.ModipsSBS(Gaussian((-1, 1)), 2, (0.25, 0.5), 5), 2),
        [(None, None)],
        [[(-1.0, 0.25), (0.5, 1.0)]],
        intractable=True,
    ),
]
COLUMNS = {"age": (18, 90), "dose": (0, 1), "pressure": (70, 250)}
ROWS = [[(18, 0.5, 70), (90, 0.25, 120.5)], [(20, 1, 250), (20, 0, 250)]]
EXAMPLES += [
    *(
        Example(
            bdp.ModipsSBS(
                bdp.families.LinearRegression(COLUMNS, "pressure"), 2, scales, n, bounding=bounding
            ),
            [(None, None)],
            ROWS,
            intractable=True,
        )
        for scales, n, bounding in (
            ((0.25,) * 9, 5, "inflated"),
            ((0.5,) * 9, 5, "truncated"),
            ((1.5,) * 10, None, "inflated"),
        )
    ),
    Example(
        bdp.NestedModips(
            bdp.ModipsSBS(bdp.families.LinearRegression(COLUMNS, "dose"), 2, (0.5,) * 9, 4), 2
        ),
        [(None, None)],
        [ROWS, ROWS[::-1]],
        intractable=True,
    ),
]
STEPS = (
    bdp.CategoricalColumns({"sex": ("f", "m"), "old": (False, True)}),
    bdp.CategoricalColumns({"level": (1, 2, 3)}, by=["sex"]),
    bdp.NumericColumns({"dose": (0, 1)}, by=["sex", "old"]),
    bdp.NumericColumns({"age": (18, 90), "pressure": (70, 250)}, on=["dose"]),
)
EXAMPLES += [
    Example(
        bdp.SequentialModipsMechanism(STEPS, 2, (0.8, 1.5, 3.0, 6.0), n, noise),
        [(None, None)],
        [
            [(0, 1, 2, 0.25, 18, 250), (1, 0, 0, 1, 90, 70)],
            [(0, 1, 2, 0.25, 18, 250), (0, 1, 2, 0, 20.5, 100)],
        ],
        delta=1e-6 if noise == "gaussian" else 0.0,
        intractable=True,
    )
    for n, noise in ((5, "laplace"), (None, "laplace"), (5, "gaussian"), (None, "gaussian"))
]
TWO = (Bernoulli(), Bernoulli((0.5, 6.0)))
THREE_LABELS = tuple(bdp.families.Categorical(3, a) for a in ((1, 1, 1), (0.5, 4, 1), (2, 2, 2)))
EXAMPLES += [
    *(
        Example(made, counts(made.n), made.outputs(), delta=delta, loose=True)
        for made, delta in (
            (bdp.SelectedModips(bdp.ModipsSBS(TWO[0], 3, (1.5,), 4), TWO, 0.7), 0.0),
            (bdp.SelectedModips(bdp.ModipsSBS(TWO[0], 3, (1.5,), 3), TWO, 0.4, 2), 0.0),
            (
                bdp.SelectedModips(
                    bdp.ModipsSBS(TWO[0], 4, (1.2,), 3, "gaussian", "inflated"), TWO, 0.5
                ),
                0.01,
            ),
            (bdp.SelectedModips(bdp.ModipsGrid(TWO[0], 9, 1.0, (0, 1), n=3), TWO, 0.5), 0.0),
            (
                bdp.SelectedModips(
                    bdp.NestedModips(bdp.ModipsSBS(TWO[0], 2, (1.5,), 3), 2), TWO, 0.5
                ),
                0.0,
            ),
        )
    ),
    *(
        Example(made, made.pairs(), made.outputs(), loose=True)
        for made in (
            bdp.SelectedModips(bdp.ModipsSBS(TWO[0], 4, (0.7, 1.1)), TWO, 0.5),
            bdp.SelectedModips(
                bdp.ModipsSBS(THREE_LABELS[0], 3, (0.8, 1.5, 1.0), 3), THREE_LABELS, 0.5
            ),
        )
    ),
    Example(
        bdp.SelectedModips(bdp.ModipsGrid(TWO[0], 4, 1.0, (0, 1), "sphc", n=5), TWO, 0.5, 2),
        [(None, None)],
        [[0, 3, 4], [1, 0, 0]],
        intractable=True,
    ),
]
DISTRIBUTIONAL = bdp.distributional.DistributionalGuarantee(
    0.5, 1e-6, "uniform records", bdp.distributional.LawClass.of("uniform", n=9), known_records=3
)
EXAMPLES += [
    Example(bdp.distributional.ExactStatistic(DISTRIBUTIONAL, *shape), pairs, outputs)
    for shape, pairs, outputs in (
        ((9,), [(0.1, 1 / 3)], np.array([0.1, 1 / 3, -7.0])),
        ((None, None, True), [(3, 4), (0, 9)], np.arange(10)),
        ((9, None, True), [(bdp.Count(3, 9), bdp.Count(4, 9))], np.arange(10)),
        ((9, 2, True, 3), [((1, 8), (4, 5)), ((2, 7), (9, 0))], plane([0, *range(3, 10)])),
    )
]
each = pytest.mark.parametrize(
    "example", [pytest.param(e, id=f"{e.mechanism.name}-{i}") for i, e in enumerate(EXAMPLES)]
)


def law(example: Example, statistic: Any) -> np.ndarray:
    return np.array([float(example.mechanism.logp(z, statistic)) for z in example.outputs])


def skip_intractable(example: Example) -> None:
    if example.intractable:
        pytest.skip("an intractable law; another test holds that it says so")


def skip_distributional(example: Example) -> None:
    if isinstance(example.mechanism, bdp.distributional.ExactStatistic):
        pytest.skip("a promise under no relation; another test holds that it is refused there")


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.mechanism.name == "exact_statistic"])
def test_an_exact_statistic_promises_nothing_about_neighbours(example: Example):
    mechanism: Any = example.mechanism
    assert mechanism.neighbours is None
    assert mechanism.guarantee(copies=3, delta=0.1) == mechanism.promise
    assert mechanism.outputs() is None
    assert not list(mechanism.pairs())
    for attempt in (
        lambda: mechanism.guarantee(neighbours="add_remove"),
        mechanism.removal_guarantee,
        lambda: bdp.audit(mechanism, trials=100, pairs=example.pairs),
        lambda: bdp.compose([mechanism]),
    ):
        with pytest.raises(bdp.InvalidInput, match="distributional"):
            attempt()
    for one, other in example.pairs:
        assert mechanism.logp(mechanism.release(one)[0], other) == -math.inf


@each
def test_an_intractable_law_says_so_and_is_never_a_wrong_one(example: Example):
    if not example.intractable:
        pytest.skip("a law that can be computed")
    mechanism = example.mechanism
    assert mechanism.outputs() is None
    with pytest.raises(bdp.InvalidInput):
        mechanism.release(None)
    for attempt in (
        lambda: mechanism.logp(example.outputs[0], None),
        lambda: bdp.audit(mechanism, trials=100, delta=example.delta),
    ):
        with pytest.raises(bdp.InvalidInput, match=r"bdp\.|conditional"):
            attempt()


def test_every_mechanism_has_examples():
    assert {example.mechanism.name for example in EXAMPLES} == set(REGISTRY)


@each
def test_it_is_a_frozen_value_of_the_protocol(example: Example):
    mechanism = example.mechanism
    assert isinstance(mechanism, Mechanism)
    assert REGISTRY[mechanism.name] is type(mechanism)
    first = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, first, 1)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))


@each
def test_its_law_sums_to_one(example: Example):
    skip_intractable(example)
    if example.continuous:
        pytest.skip("a density; its own tests integrate it")
    for statistic in example.statistics:
        listed = math.fsum(np.exp(law(example, statistic)))
        assert listed + example.beyond(statistic) == pytest.approx(1, abs=1e-12)


@each
@pytest.mark.parametrize("secure", [True, False])
def test_its_sampler_follows_its_law(example: Example, secure: bool):
    """Chi-square over all outputs, 20,000 draws, false alarm below 1e-8 per statistic."""
    from scipy import stats

    skip_intractable(example)
    if example.continuous:
        pytest.skip("a density; its own tests compare distribution functions")
    outputs = as_numbers(example.outputs)
    for i, statistic in enumerate(example.statistics[:: max(1, len(example.pairs) // 2)]):
        if secure:
            drawn = example.mechanism.release(statistic, copies=20_000)
        else:
            with bdp.reproducible(i):
                drawn = example.mechanism.release(statistic, copies=20_000)
        values, times = np.unique(as_numbers(drawn), axis=0, return_counts=True)
        number = {np.asarray(v).tobytes(): k for v, k in zip(values, times, strict=True)}
        seen = np.array([number.get(z.astype(values.dtype).tobytes(), 0) for z in outputs])
        expected = np.exp(law(example, statistic)) * len(drawn)
        likely = expected >= 5
        if likely.sum() > 1:
            expected = np.append(expected[likely], max(len(drawn) - expected[likely].sum(), 1.0))
            observed = np.append(seen[likely], len(drawn) - seen[likely].sum())
            distance = np.sum((observed - expected) ** 2 / expected)
            assert stats.chi2.sf(distance, likely.sum()) > 1e-8


@each
def test_no_neighbour_costs_more_than_it_claims(example: Example):
    """The hockey-stick divergence at the claimed epsilon is within the claimed delta."""
    skip_distributional(example)
    skip_intractable(example)
    if example.continuous:
        pytest.skip("a density; its own tests integrate it")
    guarantee = example.mechanism.guarantee(delta=example.delta)
    for one, other in example.pairs:
        for p, q in ((one, other), (other, one)):
            log_p, log_q = law(example, p), law(example, q)
            found = hockey_stick(log_p, log_q, guarantee.epsilon)
            assert found <= guarantee.delta + 1e-13
            if guarantee.delta == 0:
                assert np.nanmax(log_p - log_q) <= guarantee.epsilon * (1 + 1e-12)


@each
def test_an_audit_acquits_it_and_tries_the_worst_pair(example: Example):
    skip_distributional(example)
    skip_intractable(example)
    mechanism = example.mechanism
    with bdp.reproducible(3):
        found = bdp.audit(mechanism, trials=20_000, delta=example.delta)
    assert not found.convicted
    if found.epsilon_exact is not None:
        claim = mechanism.guarantee(delta=example.delta).epsilon
        if example.loose:
            assert 0.1 * claim < found.epsilon_exact < claim
        else:
            assert found.epsilon_exact == pytest.approx(claim, rel=1e-9)


@each
def test_copies_cost_more_and_the_promise_names_its_relation(example: Example):
    skip_distributional(example)
    mechanism, delta = example.mechanism, example.delta
    one = mechanism.guarantee(delta=delta)
    three = mechanism.guarantee(copies=3, delta=delta)
    assert one.epsilon < three.epsilon
    if one.delta == 0:
        assert three.epsilon == pytest.approx(3 * one.epsilon)
    assert one.delta <= delta
    assert one.neighbours is mechanism.neighbours
    assert one.source
    assert any("Computational" in assumption for assumption in one.assumptions)
    try:
        added = mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE, delta=delta)
    except bdp.InvalidInput:
        return
    assert mechanism.removal_guarantee(delta=delta).epsilon <= added.epsilon * (1 + 1e-12)


@each
def test_outputs_survive_encoding(example: Example):
    mechanism = example.mechanism
    outputs = [mechanism.check_output(z) for z in example.outputs]
    columns = {name: np.asarray(values) for name, values in mechanism.encode(outputs).items()}
    rows = len(columns["copy"])
    assert {len(column) for column in columns.values()} == {rows}
    shuffled = np.random.default_rng(0).permutation(rows)
    assert mechanism.decode({k: v[shuffled] for k, v in columns.items()}) == outputs


@each
def test_a_release_of_it_survives_the_disk(example: Example, tmp_path):
    outputs = [example.mechanism.check_output(z) for z in example.outputs][:3]
    release = bdp.Release.of(example.mechanism, outputs, delta=example.delta)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    assert len(loaded.to_frames()) == len(outputs)


@each
def test_parameters_survive_the_manifest(example: Example):
    entry = MechanismEntry.of(example.mechanism)
    entry = MechanismEntry.model_validate_json(entry.model_dump_json())
    assert entry.build() == example.mechanism
