"""Examples of mechanisms that release counts, or a draw or a mode of a parameter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from tests.contracts.examples.example import Example, category_counts, counts, plane


def conjugate(
    family: str,
    method: str,
    *,
    pairs: Sequence[tuple[Any, Any]] = (),
    points: Any = None,
    delta: float = 0.0,
    **known: Any,
) -> Example:
    mechanism = bdp.mechanisms.ConjugateMechanism(family, method, **known)
    pairs = pairs or mechanism.pairs()
    if points is None:
        return Example(mechanism, pairs, mechanism.outputs(), delta)
    return Example(mechanism, pairs, np.array(points), delta=1e-5, continuous=True)


SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
NORMAL: dict[str, Any] = {"n": 6, "prior": (0.5, 2.0), "R": 1.5, "sigma": 1.2}
THREE: dict[str, Any] = {"n": 3, "prior": (2.5, 1.25, 7.0)}
RATES: dict[str, Any] = {"n": 6, "prior": (2.0, 7.5), "R": 1.5, "shape": 1.25}
VECTORS: dict[str, Any] = {
    "n": 6,
    "prior": ((0.5, -1.0), ((2.0, 0.5), (0.5, 1.0))),
    "R": (1.5, 3.0),
    "covariance": ((1.0, 0.6), (0.6, 2.0)),
    "columns": ("height", "weight"),
}
PLANE = [[-3.0, 0.1], [2 / 7, 1e-7], [0.0, -0.0]]
TABLED = [[[-1.25, 0.1], [3.0, 1 / 3]], [[1e-7, 0.5], [0.0, 1e10]]]
POSITIVE = [[1e-7, 0.1, 3.0], [1 / 3, 0.5, 1e10]]
POINTS = [[-1.25, 0.1, 3.0], [1 / 3, 1e-7, 0.5], [0.0, -0.0, 1e10]]
INSIDE = [[-1.25, 0.1, 1.5], [1 / 3, 1e-7, 0.5], [0.0, -0.0, -1.5]]
PROBABILITIES = [[0.25, 0.5, 0.25], [0.1, 0.2, 0.7], [1 / 3, 0.5, 1 / 6]]


def with_a_hole(counts: Any) -> tuple[int, ...]:
    """Counts of three cells as those of four, the second of which is a structural zero."""
    return (counts[0], 0, *counts[1:])


TABLES = [
    Example(m, pairs, m.outputs(), delta)
    for m, pairs, delta in (
        (
            bdp.mechanisms.DirichletMultinomialMechanism(3, 4, 3, (2.5, 1.25, 7)),
            category_counts(3, 3),
            0.0,
        ),
        (bdp.mechanisms.DirichletMultinomialMechanism(3, 3, 4, 2.0), category_counts(3, 4), 0.02),
        (
            bdp.mechanisms.DirichletMultinomialMechanism(None, 3, 2, 1.5),
            category_counts(1, 2),
            0.02,
        ),
        (
            bdp.mechanisms.DirichletMultinomialMechanism(
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


LABELS = (
    bdp.synthesizers.CategoricalColumns({"sex": ("f", "m"), "old": (False, True)}, prior=0.75),
    bdp.synthesizers.CategoricalColumns({"level": (1, 2, 3)}, by=["sex"], prior=0.5),
)
SEQUENCES = [
    Example(made, made.pairs(), made.outputs(), loose=True)
    for made in (
        bdp.mechanisms.SequentialDirichletMultinomialMechanism(LABELS, 2, 4),
        bdp.mechanisms.SequentialDirichletMultinomialMechanism(LABELS, 2),
    )
] + [
    Example(made, made.pairs(), made.outputs())
    for made in (bdp.mechanisms.SequentialDirichletMultinomialMechanism(LABELS[:1], 4, 3),)
]


BY_AREA = [
    Example(m, m.pairs() + category_counts(1, 3), m.outputs())
    for m in (
        bdp.mechanisms.PoissonGammaMechanism(None, (0.5, 2.0, 7.0), 3.0, 4),
        bdp.mechanisms.PoissonGammaMechanism(1, (0.5, 2.0, 7.0), (1.0, 1.5, 4.0), 5, ("a", 2, "c")),
        bdp.mechanisms.PoissonGammaMechanism(None, (1.0, 2.0, 4.0), (1.5, 3.0, 6.0), 4),
    )
] + [
    Example(m, m.pairs(), plane(range(36)), delta=0.05)
    for m in (
        bdp.mechanisms.PoissonGammaMechanism(None, (2.0, 0.5), 9.0, None),
        bdp.mechanisms.PoissonGammaMechanism(3, (2.0, 1.0), (30.0, 1.0), None, ("a", "b")),
    )
]
BY_AREA += [
    Example(m, m.pairs(), m.outputs())
    for m in (
        bdp.mechanisms.PoissonGammaMechanism(None, (0.5, 0.0, 2.0, 7.0), (3.0, 0.0, 1.0, 2.0), 4),
    )
]
EXAMPLES: list[Example] = [
    Example(bdp.mechanisms.BetaBinomialMechanism(9, 6, (0.5, 3.0)), counts(9), np.arange(7)),
    Example(bdp.mechanisms.BetaBinomialMechanism(1, 1, (1.0, 1.0)), counts(1), np.arange(2)),
    Example(bdp.mechanisms.BetaBinomialMechanism(None, 4, (7.25, 0.1)), counts(5), np.arange(5)),
    *TABLES,
    *BY_AREA,
    *SEQUENCES,
    conjugate("bernoulli", "parameter_draw", points=[0.1, 1 / 3, 0.98], n=9, prior=(0.5, 3.0)),
    conjugate("categorical", "parameter_draw", points=PROBABILITIES, **THREE),
    conjugate("gaussian", "parameter_draw", points=[-3.0, 0.1, 2 / 7], **NORMAL),
    conjugate("gaussian", "parameter_draw", points=[-1.5, 0.1, 2 / 7], bounded=True, **NORMAL),
    conjugate("multivariate_gaussian", "parameter_draw", points=PLANE, **VECTORS),
    conjugate("gamma", "parameter_draw", points=[1e-7, 0.1, 2 / 7], **RATES),
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
            conjugate("gamma", method, points=POSITIVE, size=3, **RATES),
            conjugate("multivariate_gaussian", method, points=TABLED, size=2, **VECTORS),
        )
    ),
]
