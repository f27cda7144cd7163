"""Examples of mechanisms that add noise to numbers, or choose."""

import itertools
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.noisy_table import Pools, Round
from tests.contracts.examples.example import (
    ADD_REMOVE,
    REPLACE_ONE,
    Example,
    integers,
    plane,
    vectors,
)


def changes(mechanism: Any, *utilities: Sequence[float]) -> list[tuple[Any, Any]]:
    """All extreme changes of a few utilities, and the pair that the mechanism proposes."""
    steps = [(0, 1), (-1, 0)] if mechanism.monotone else [(-1, 0, 1)]
    moves = [np.array(d) for ends in steps for d in itertools.product(ends, repeat=mechanism.k)]
    near = [(np.array(u), u + mechanism.sensitivity * d) for u in utilities for d in moves]
    return near + mechanism.pairs()


CHOICES = [
    family(epsilon, sensitivity, candidates, monotone, None, "add_remove")
    for family in (bdp.mechanisms.ExponentialMechanism, bdp.mechanisms.PermuteAndFlipMechanism)
    for epsilon, sensitivity, candidates, monotone in (
        (1.0, 1, 3, False),
        (0.3, 0.5, ("bus", "car"), True),
    )
] + [
    bdp.mechanisms.ExponentialMechanism(2.0, 0.1, 3, n=40, neighbours="replace_one"),
    bdp.mechanisms.PermuteAndFlipMechanism(5.0, 3, 4, monotone=True),
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


QUANTILES = [
    bdp.mechanisms.QuantileMechanism(1.0, (0, 1, 2.5, 4), (0.5,)),
    bdp.mechanisms.QuantileMechanism(
        2.0, range(6), (0.125, 0.7), REPLACE_ONE, 5, "permute_and_flip"
    ),
]


TESTED = [
    bdp.mechanisms.ProposeTestReleaseMechanism(range(5), 1, 3, 1.5, 2.0, 2),
    bdp.mechanisms.ProposeTestReleaseMechanism((0, 1, 2.5, 4, 9), 2, 4, 1.0, 0.5, 1, (0.3, 0.7)),
    bdp.mechanisms.TrimmedMeanMechanism(range(5), 1, 3, 1.5, 2.0, 2),
    bdp.mechanisms.TrimmedMeanMechanism(range(0, 15, 3), 2, 4, 1.0, 0.5, 1, 0.25),
]


def neighbouring_counts(mechanism: Any, most: int = 3) -> list[tuple[Any, Any]]:
    """All counts of at most that many records, or of n, and their neighbours; and the worst."""
    public, k = mechanism.n is not None, mechanism.k
    sizes = [mechanism.n] if public else range(most + 1)
    every = [c for c in itertools.product(range(max(sizes) + 1), repeat=k) if sum(c) in sizes]
    one = np.eye(k, dtype=int)
    moves = [a - b for a in one for b in one if (a != b).any()] if public else list(one)
    near = [(np.array(c), c + move) for c in every for move in moves if (c + move >= 0).all()]
    return near + mechanism.pairs()


RESPONSES = [
    (bdp.mechanisms.RandomizedResponseMechanism.binary(1.0), 0.0),
    (bdp.mechanisms.RandomizedResponseMechanism.kary(0.5, 3, n=2), 0.0),
    (bdp.mechanisms.RandomizedResponseMechanism.of((0.75, 0.9375), n=3), 0.0),
    (bdp.mechanisms.RandomizedResponseMechanism(((5, 1, 0), (2, 3, 1), (1, 1, 1))), 0.4),
    (bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, n=2), 0.1),
]
TWO = (Axis("a", categories=(0, 1)), Axis("b", edges=(0.0, 1.0)))
CORNERS = [(1, 0, 1), (0, 1, 1)]  # one record's marginals (a, b) and b
MARGINALS = [
    Example(
        bdp.mechanisms.NoisyMarginalsMechanism(0.2, TWO, (("b", "a"), "b")),
        [((0, 0, 0), one) for one in CORNERS],
        np.array(list(itertools.product(range(-5, 7), repeat=3))),
    ),
    Example(
        bdp.mechanisms.NoisyMarginalsMechanism(
            0.6, TWO, (("a", "b"), "b"), "gaussian", REPLACE_ONE, 1
        ),
        [(CORNERS[0], CORNERS[1])],
        np.array(list(itertools.product(range(-5, 7), repeat=3))),
        delta=0.1,
    ),
    Example(
        bdp.mechanisms.NoisyMarginalsMechanism(
            0.5, (Axis("a", categories=("u", "v", "w")),), ("a",), zeros=(1,)
        ),
        [((0, 0, 0), (1, 0, 0)), ((2, 0, 1), (2, 0, 2))],
        np.array([(i, 0, j) for i, j in itertools.product(range(-20, 24), repeat=2)]),
    ),
]
DATED = bdp.Schema(
    {
        "day": {"type": "date", "bounds": (date(2020, 1, 1), date(2021, 12, 31)), "bins": "year"},
        "kind": {"type": "category", "labels": ("one",)},
    },
    zeros=[{"day": (date(2020, 1, 1), date(2021, 1, 1)), "kind": "one"}],
)
PERSONS = bdp.Schema({"smokes": {"type": "boolean"}}, unit={"person": "id", "most": 2})
ROUNDS = [
    Example(
        bdp.mechanisms.NoisyTableMechanism(
            DATED, [{"marginals": ["day"], "scale": 0.2}, Round([("kind",)], 0.15)], "laplace"
        ),
        [((0, 0, 0), one) for one in CORNERS],
        np.array(list(itertools.product(range(-6, 8), repeat=3))),
    ),
    Example(
        bdp.mechanisms.NoisyTableMechanism(
            DATED, [Round(["day"], 0.6), Round(["kind"], 0.5)], neighbours=REPLACE_ONE, n=1
        ),
        [(CORNERS[0], CORNERS[1])],
        np.array(list(itertools.product(range(-5, 7), repeat=3))),
        delta=0.1,
    ),
    Example(
        bdp.mechanisms.NoisyTableMechanism(
            DATED, [Round([("day", "kind")], 0.3)], "laplace", pools=[Pools("day", (0,))]
        ),
        [((0,), (1,))],
        np.arange(-20, 22)[:, None],
    ),
    Example(
        bdp.mechanisms.NoisyTableMechanism(PERSONS, [Round(["smokes"], 0.7)]),
        [((0, 0), (2, 0)), ((0, 0), (1, 1))],
        plane(range(-7, 10)),
        delta=0.1,
    ),
]
PLANE = (("x", (0.0, 1.0)), ("y", (-1.0, 3.0)))
EXAMPLES: list[Example] = [
    *MARGINALS,
    *ROUNDS,
    Example(bdp.mechanisms.DiscreteLaplaceMechanism(1.5), integers(-3, 3), np.arange(-60, 61)),
    Example(
        bdp.mechanisms.DiscreteLaplaceMechanism(0.8), integers(0, 2), np.arange(-60, 61), delta=0.01
    ),
    Example(
        bdp.mechanisms.DiscreteLaplaceMechanism(
            5.0, 2.0, REPLACE_ONE, None, (-2, 4), "truncated", 9
        ),
        integers(-2, 4, 2),
        np.arange(-2, 5),
    ),
    Example(
        bdp.mechanisms.DiscreteLaplaceMechanism(1.0, 2.0, ADD_REMOVE, 2, (0, 3), "truncated"),
        vectors(range(4), 2, lambda move: np.abs(move).sum() <= 2),
        plane(range(4)),
    ),
    Example(
        bdp.mechanisms.DiscreteLaplaceMechanism(0.7, 2.0, "replace_one", 2, (0, None), "inflated"),
        [((0, 3), (2, 3)), ((1, 1), (2, 0))],
        plane(range(27)),
    ),
    Example(
        bdp.mechanisms.LaplaceMechanism(
            0.7, 0.5, bounds=(-1, 1), bounding="inflated", granularity=0.125
        ),
        [(x, x + 0.5) for x in np.arange(-1.5, 1.5, 0.03125)],
        np.arange(-1, 1.1, 0.125),
    ),
    Example(
        bdp.mechanisms.LaplaceMechanism(
            0.7, 0.3, bounds=(-1, 1), bounding="truncated", granularity=0.125
        ),
        [(x, x + 0.3) for x in np.arange(-1, 0.7, 0.03125)],
        np.arange(-1, 1.1, 0.125),
    ),
    Example(
        bdp.mechanisms.LaplaceMechanism(0.25, 0.3, dimension=2, granularity=0.25),
        [((x, y), (x + 0.26, y + 0.04)) for x in (0, 0.12) for y in (0.37,)],
        plane(np.arange(-7, 8, 0.25)),
    ),
    Example(
        bdp.mechanisms.DiscreteGaussianMechanism(1.5, 2.0),
        integers(-2, 2, 2),
        np.arange(-25, 26),
        delta=1e-3,
    ),
    Example(
        bdp.mechanisms.DiscreteGaussianMechanism(1.2, 1.0, bounds=(-9, 9), bounding="inflated"),
        integers(-12, 12),
        np.arange(-9, 10),
        delta=1e-4,
    ),
    Example(
        bdp.mechanisms.DiscreteGaussianMechanism(2.0, 2.0, bounds=(-3, 4), bounding="truncated"),
        integers(-3, 4) + integers(-3, 4, 2),
        np.arange(-3, 5),
    ),
    Example(
        bdp.mechanisms.DiscreteGaussianMechanism(1.1, 1.5, REPLACE_ONE, 2),
        [((0, 0), (1, 1)), ((2, -1), (2, 0))],
        plane(range(-13, 14)),
        delta=0.01,
    ),
    Example(
        bdp.mechanisms.GaussianMechanism(1.0, 0.3, granularity=0.25),
        [(x, x + 0.3) for x in np.arange(-0.5, 0.5, 0.0625)],
        np.arange(-12, 12.1, 0.25),
        delta=1e-3,
    ),
    Example(
        bdp.mechanisms.GaussianMechanism(
            1.5, 1.0, "node", 2, (-1, 3), "truncated", granularity=0.5
        ),
        [((-1, 3), (0, 3)), ((-0.4, 2), (0.2, 2.8))],
        plane(np.arange(-1, 3.1, 0.5)),
    ),
    Example(
        bdp.mechanisms.PerturbedHistogramMechanism(0.5, 2),
        [((0, 0), (0, 1)), ((3, 2), (4, 2)), ((0, 7), (1, 7))],
        plane(range(27)),
    ),
    Example(
        bdp.mechanisms.PerturbedHistogramMechanism(0.6, 2, REPLACE_ONE, 5),
        [((0, 5), (1, 4)), ((2, 3), (3, 2))],
        plane(range(26)),
        delta=0.01,
    ),
    Example(
        bdp.mechanisms.PerturbedHistogramMechanism(
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
    *(
        Example(m, pairs, m.outputs(), loose=True)  # a supremum over numbers of cells
        for m, pairs in zip(
            QUANTILES, (neighbouring_counts(QUANTILES[0]), QUANTILES[1].pairs()), strict=True
        )
    ),
    *(
        Example(m, neighbouring_counts(m), m.outputs(), delta, loose=delta > 0)
        for m, delta in zip(TESTED, (0.0, 0.4, 0.02, 0.3), strict=True)
    ),
    *(Example(m, every_replacement(m), m.outputs(), delta) for m, delta in RESPONSES),
]
EXAMPLES += [
    Example(
        bdp.mechanisms.NoisyMomentsMechanism(PLANE, scale, n, noise, granularity=1.0),
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
ANY, WORK = (Axis("x", categories=("any",)),), (Axis("work", categories=("yes", "no")),)
EXAMPLES += [
    Example(
        bdp.mechanisms.WeightedCountsMechanism(ANY, 40.0, 0.125, steps=4),
        [((0, 0), (4, 0)), ((4, 1), (6, 2)), ((6, 0), (3, 0)), ((0, 0), (2, 1))],
        plane(range(-15, 22)),
    ),
    Example(
        bdp.mechanisms.WeightedCountsMechanism(ANY, 40.0, 0.4, clip=True, most=2, steps=1),
        [((0, 0), (2, 0)), ((3, 0), (2, 0))],
        plane(range(-13, 17)),
    ),
    Example(
        bdp.mechanisms.WeightedCountsMechanism(
            WORK, 1.5, 0.25, "w", n=1, noise="gaussian", steps=1
        ),
        [((1, 0, 0, 0), (0, 1, 0, 0)), ((1, 0, 0, 0), (0, 0, 0, 0))],
        np.array(list(itertools.product(*(range(-2, end) for end in (4, 4, 3, 3))))),
        delta=0.01,
    ),
]
EXAMPLES += [
    Example(made, made.pairs(), plane(range(-12, 13)), 0.01, loose=True)
    for made in (
        bdp.mechanisms.PerturbedCoefficientsMechanism(PLANE, "y", 1.0, 1.5, 2, granularity=1.0),
        bdp.mechanisms.PerturbedCoefficientsMechanism(
            PLANE, "x", 30.0, 1.25, 9, True, granularity=1.0
        ),
        bdp.mechanisms.PerturbedCoefficientsMechanism(
            PLANE, "x", 2.0, 1.25, 5, False, "logistic", 1.0
        ),
    )
]
