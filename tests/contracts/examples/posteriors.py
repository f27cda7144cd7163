"""Examples of mechanisms whose law is a posterior's, and of those that release without noise."""

import math

import numpy as np

import bayesdp as bdp
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.counts.cells import Axis
from tests.contracts.examples.example import Example, plane

EXAMPLES: list[Example] = [
    Example(
        CensoredPosteriorMechanism(None, 2, -0.7, 0.0, (("y[0]", "number"), ("k", "integer"))),
        [(None, None)],
        [[(0.5, 2), (-1.5, 3)], [(math.inf, 0), (0.25, -1)]],
        intractable=True,
    ),
    Example(
        CensoredPosteriorMechanism(
            None, 1, -1.0, 2.0, (("y", "number"),), (("a", 0.0, 1.0, 9), ("b", -2.0, 1.5, 3))
        ),
        [(None, None)],
        [[(1.5,)], [(0.5,)]],
        intractable=True,
    ),
    Example(
        CensoredPosteriorMechanism(9, 1, -1.0, 2.0, (("y", "number"),), engine="stan"),
        [(None, None)],
        [[(1.5,)]],
        intractable=True,
    ),
    Example(
        CensoredPosteriorMechanism(
            None,
            2,
            -1.0,
            0.0,
            (("y", "integer"), ("x", "number")),
            axes=(Axis("y", categories=("no", "yes")),),
        ),
        [(None, None)],
        [[(0, 0.5), (1, -1.5)]],
        intractable=True,
    ),
    *(
        Example(
            mechanism,
            mechanism.pairs(),
            np.random.default_rng(1).random((4, 3)),
            intractable=True,
        )
        for mechanism in (
            bdp.mechanisms.CensoredBetaMechanism((-2.0, 2.0), 3),
            bdp.mechanisms.CensoredBetaMechanism(
                (-1.0, 3.0), 3, "replace_one", prior_phi=(2, 1), n=4
            ),
            bdp.mechanisms.CensoredBetaMechanism((-2.0, 2.0), 3, weights="attached"),
            bdp.mechanisms.CensoredBetaMechanism(
                (-2.0, 2.0),
                3,
                "replace_one",
                weights=bdp.synthesizers.PublicWeights(2, (0.1, 0.5), (1, 9)),
            ),
        )
    ),
]
DISTRIBUTIONAL = bdp.distributional.DistributionalGuarantee(
    0.5, 1e-6, "uniform records", bdp.distributional.LawClass.of("uniform", n=9), known_records=3
)
EXAMPLES += [
    Example(bdp.distributional.ExactStatisticMechanism(DISTRIBUTIONAL, *shape), pairs, outputs)
    for shape, pairs, outputs in (
        ((9,), [(0.1, 1 / 3)], np.array([0.1, 1 / 3, -7.0])),
        ((None, None, True), [(3, 4), (0, 9)], np.arange(10)),
        ((9, None, True), [(bdp.Count(3, 9), bdp.Count(4, 9))], np.arange(10)),
        ((9, 2, True, 3), [((1, 8), (4, 5)), ((2, 7), (9, 0))], plane([0, *range(3, 10)])),
    )
]
