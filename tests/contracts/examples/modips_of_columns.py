"""Examples of model-based synthesis, column by column or of a family that is selected."""

import bayesdp as bdp
from tests.contracts.examples.example import Example, counts

Bernoulli = bdp.families.Bernoulli
STEPS = (
    bdp.synthesizers.CategoricalColumns({"sex": ("f", "m"), "old": (False, True)}),
    bdp.synthesizers.CategoricalColumns({"level": (1, 2, 3)}, by=["sex"]),
    bdp.synthesizers.NumericColumns({"dose": (0, 1)}, by=["sex", "old"]),
    bdp.synthesizers.NumericColumns({"age": (18, 90), "pressure": (70, 250)}, on=["dose"]),
)
EXAMPLES: list[Example] = [
    Example(
        bdp.mechanisms.SequentialModipsMechanism(STEPS, 2, (0.8, 1.5, 3.0, 6.0), n, noise),
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
LABELS = (STEPS[0], bdp.synthesizers.CategoricalColumns({"level": (1, 2, 3)}, ["sex"], 0.5))
EXAMPLES += [
    Example(
        bdp.mechanisms.SequentialModipsMechanism(LABELS, 3, (0.8, 1.5), n, noise),
        [(None, None)],
        [[(0, 1, 2), (1, 0, 0), (1, 1, 0)], [(0, 1, 2), (0, 1, 2), (0, 0, 1)]],
        delta=1e-6 if noise == "gaussian" else 0.0,
        intractable=True,
    )
    for n, noise in ((5, "laplace"), (None, "gaussian"))
]
TWO = (Bernoulli(), Bernoulli((0.5, 6.0)))
THREE_LABELS = tuple(bdp.families.Categorical(3, a) for a in ((1, 1, 1), (0.5, 4, 1), (2, 2, 2)))
EXAMPLES += [
    *(
        Example(made, counts(made.n), made.outputs(), delta=delta, loose=True)
        for made, delta in (
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.ModipsSBSMechanism(TWO[0], 3, (1.5,), 4), TWO, 0.7
                ),
                0.0,
            ),
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.ModipsSBSMechanism(TWO[0], 3, (1.5,), 3), TWO, 0.4, 2
                ),
                0.0,
            ),
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.ModipsSBSMechanism(TWO[0], 4, (1.2,), 3, "gaussian", "inflated"),
                    TWO,
                    0.5,
                ),
                0.01,
            ),
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.ModipsGridMechanism(TWO[0], 9, 1.0, (0, 1), n=3), TWO, 0.5
                ),
                0.0,
            ),
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.ModipsGridMechanism(
                        TWO[0], 9, 1.0, (0, 1), "sphc", bins=5, samples=20, n=3, scale=32.0
                    ),
                    TWO,
                    0.5,
                ),
                0.0,
            ),
            (
                bdp.mechanisms.SelectedModipsMechanism(
                    bdp.mechanisms.NestedModipsMechanism(
                        bdp.mechanisms.ModipsSBSMechanism(TWO[0], 2, (1.5,), 3), 2
                    ),
                    TWO,
                    0.5,
                ),
                0.0,
            ),
        )
    ),
    *(
        Example(made, made.pairs(), made.outputs(), loose=True)
        for made in (
            bdp.mechanisms.SelectedModipsMechanism(
                bdp.mechanisms.ModipsSBSMechanism(TWO[0], 4, (0.7, 1.1)), TWO, 0.5
            ),
            bdp.mechanisms.SelectedModipsMechanism(
                bdp.mechanisms.ModipsSBSMechanism(THREE_LABELS[0], 3, (0.8, 1.5, 1.0), 3),
                THREE_LABELS,
                0.5,
            ),
        )
    ),
    Example(
        bdp.mechanisms.SelectedModipsMechanism(
            bdp.mechanisms.ModipsGridMechanism(TWO[0], 4, 1.0, (0, 1), "sdd.mc", "published", n=5),
            TWO,
            0.5,
            2,
        ),
        [(None, None)],
        [[0, 3, 4], [1, 0, 0]],
        intractable=True,
    ),
]
