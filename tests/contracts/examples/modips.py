"""Examples of model-based synthesis from noisy statistics."""

import itertools

import numpy as np

import bayesdp as bdp
from tests.contracts.examples.example import Example, category_counts, counts, plane

Bernoulli, Gamma, Gaussian = (
    bdp.families.Bernoulli, bdp.families.Gamma, bdp.families.Gaussian,
)  # fmt: skip
MODIPS: list[Example] = [
    *(
        Example(
            bdp.mechanisms.ModipsSBSMechanism(
                bdp.families.Bernoulli(prior), size, (scale,), n, noise, bounding
            ),
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
            bdp.mechanisms.ModipsSBSMechanism(
                bdp.families.Bernoulli(), 5, (0.7, 1.1), None, "laplace", bounding
            ),
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
        bdp.mechanisms.ModipsSBSMechanism(
            bdp.families.Categorical(3, (1.0, 0.5, 2.0)), 4, (0.8, 1.5, 1.0), 3
        ),
        category_counts(3, 3),
        bdp.families.Categorical(3).space(4).every(),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsSBSMechanism(
            bdp.families.Categorical(3), 3, (2.0, 1.5, 1.5), 2, "gaussian", "truncated"
        ),
        category_counts(2, 3),
        bdp.families.Categorical(3).space(3).every(),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsSBSMechanism(bdp.families.Categorical(2, (0.25, 3.0)), 4, (0.8, 0.5)),
        [((x, y), (x + 1, y)) for x in range(3) for y in range(3)]
        + [((x, y), (x, y + 1)) for x in range(3) for y in range(3)],
        bdp.families.Categorical(2).space(4).every(),
        loose=True,
    ),
    *(
        Example(
            bdp.mechanisms.ModipsSBSMechanism(
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
            bdp.mechanisms.ModipsSBSMechanism(
                Gamma(bounds, shape, prior), 3, (scale,), 6, noise, bounding
            ),
            Gamma(bounds, shape).pairs(6),
            np.array([[0.25, 0.5, 3.0], [1.0, 1.125, 1.5]]),
            delta=delta,
            continuous=True,
            loose=True,
        )
        for bounds, shape, prior, scale, noise, bounding, delta in (
            ((0, 4), 1.0, None, 3.0, "laplace", "inflated", 0.0),
            ((0.5, 3), 2.5, (2.0, 1.5), 2.0, "gaussian", "truncated", 1e-3),
        )
    ),
    Example(
        bdp.mechanisms.ModipsSBSMechanism(Gamma((0, 4)), 3, (1.5, 3.0)),
        Gamma((0, 4)).pairs(None),
        np.array([[0.25, 0.5, 9.0], [1.0, 1.125, 1.5]]),
        continuous=True,
        loose=True,
    ),
    *(
        Example(
            bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gaussian((-1, 1), sd), 3, scales, n),
            [(None, None)],
            [[-1.0, 0.25, 1.0], [0.0, -0.125, 0.5]],
            intractable=True,
        )
        for sd, scales, n in (
            (None, (0.25, 0.5), 5),
            (None, (1.5, 1.5, 3.0), None),
        )
    ),
    *(
        Example(
            bdp.mechanisms.ModipsSBSMechanism(
                Gaussian((-1, 1), 0.5, prior), 3, (1.5, 1.5), noise=noise
            ),
            Gaussian((-1, 1), 0.5).pairs(None),
            np.array([[-1.0, 0.25, 1.0], [-0.5, -0.125, 0.5]]),
            delta=delta,
            continuous=True,
            loose=True,
        )
        for prior, noise, delta in ((None, "laplace", 0.0), ((0.25, 1.0), "gaussian", 1e-3))
    ),
]
CELLS: list[Example] = [
    *(
        Example(
            bdp.mechanisms.ModipsGridMechanism(
                Bernoulli(prior), size, epsilon, grid, "sdd", calibration, bins, n=n
            ),
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
        bdp.mechanisms.ModipsGridMechanism(
            bdp.families.Categorical(3, (1.0, 2.0, 0.5)), 8, 2.0, (0, 1), bins=3, n=2
        ),
        category_counts(2, 3),
        bdp.families.Categorical(3).space(8).every(),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(bdp.families.Categorical(3), 8, 2.0, (0.1, 0.8), bins=4),
        bdp.families.Categorical(3).pairs(None),
        bdp.families.Categorical(3).space(8).every(),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 50, 1.0, (0.2, 0.9), bins=7),
        Bernoulli().pairs(None),
        np.arange(51),
        loose=True,
    ),
    *(
        Example(
            bdp.mechanisms.ModipsGridMechanism(
                Gaussian((-1, 1), sd), size, 1.0, grid, bins=5, n=n, bounding=bounding
            ),
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
            bdp.mechanisms.ModipsGridMechanism(
                Bernoulli(), 4, 1.0, (0, 1), "sphc", calibration, 3, 10, n
            ),
            counts(5) if n else Bernoulli().pairs(None),
            np.arange(5),
            loose=True,
        )
        for calibration, n in (("corrected", 5), ("corrected", None), ("published", 5))
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(
            Bernoulli(), 40, 2.0, (0, 1), "sphc", bins=9, samples=20, n=5, scale=7.0
        ),
        counts(5),
        np.arange(41),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(
            Bernoulli(), 4, 1.0, (0, 1), "sdd.mc", "published", 3, 10, 5
        ),
        [(None, None)],
        [0, 3, 4],
        intractable=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(
            bdp.families.Categorical(3), 6, 4.0, (0, 1), "sphc", bins=3, samples=4, n=2
        ),
        category_counts(2, 3),
        bdp.families.Categorical(3).space(6).every(),
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(
            Gaussian((-1, 1), 0.5), 3, 8.0, (-1, 1), "sphc", bins=5, samples=30, n=5
        ),
        Gaussian((-1, 1), 0.5).pairs(5),
        np.array([[-1.0, 0.25, 1.0], [-0.5, -0.125, 0.5]]),
        continuous=True,
        loose=True,
    ),
    Example(
        bdp.mechanisms.ModipsGridMechanism(Gaussian((-1, 1), 0.5), 3, 2.0, (-1, 1), bins=5),
        Gaussian((-1, 1), 0.5).pairs(None),
        np.array([[-1.0, 0.25, 1.0], [-0.5, -0.125, 0.5]]),
        continuous=True,
        loose=True,
    ),
]
EXAMPLES = [*MODIPS, *CELLS]
EXAMPLES += [
    *(
        Example(
            bdp.mechanisms.NestedModipsMechanism(
                bdp.mechanisms.ModipsSBSMechanism(Bernoulli(), 3, (scale,), 5, "laplace", bounding),
                2,
            ),
            counts(5),
            plane(range(4)),
            loose=True,
        )
        for scale, bounding in ((1.5, "inflated"), (0.6, "truncated"))
    ),
    Example(
        bdp.mechanisms.NestedModipsMechanism(
            bdp.mechanisms.ModipsSBSMechanism(bdp.families.Categorical(3), 4, (1.0,) * 3, 6), 2
        ),
        [(None, None)],
        [[(1, 2, 1), (0, 0, 4)], [(4, 0, 0), (2, 2, 0)]],
        intractable=True,
    ),
    Example(
        bdp.mechanisms.NestedModipsMechanism(
            bdp.mechanisms.ModipsSBSMechanism(Gaussian((-1, 1)), 2, (0.25, 0.5), 5), 2
        ),
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
            bdp.mechanisms.ModipsSBSMechanism(
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
        bdp.mechanisms.NestedModipsMechanism(
            bdp.mechanisms.ModipsSBSMechanism(
                bdp.families.LinearRegression(COLUMNS, "dose"), 2, (0.5,) * 9, 4
            ),
            2,
        ),
        [(None, None)],
        [ROWS, ROWS[::-1]],
        intractable=True,
    ),
]
