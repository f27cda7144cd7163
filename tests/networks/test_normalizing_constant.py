"""log Z on a grid against the sum over all graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from bayesdp.errors import InvalidInput
from bayesdp.networks import Network, statistics
from bayesdp.networks.normalizing_constant import integrated, log_constants

GROUPS = {"group": ["a", "b", "a", "b", "a"]}


def enumerated(n: int, directed: bool, formula: str, axes) -> np.ndarray:
    """log Z at every point, the largest taken as 0."""
    pairs = [(i, j) for i in range(n) for j in range(n) if (i != j if directed else i < j)]
    found = np.array(
        [
            list(
                statistics(
                    Network(
                        n,
                        [pair for pair, tied in zip(pairs, ties, strict=True) if tied],
                        directed,
                        {"group": GROUPS["group"][:n]},
                    ),
                    formula,
                ).values()
            )
            for ties in itertools.product((0, 1), repeat=len(pairs))
        ]
    )
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = logsumexp(points @ found.T, axis=-1)
    return values - values.max()


@pytest.mark.parametrize("directed", [False, True])
def test_where_dyads_are_independent_it_is_exact(directed):
    axes = [np.linspace(-4, 2, 7), np.linspace(-1, 3, 5)]
    formula, n = "edges + nodematch('group')", 4 if directed else 5
    network = Network(n, [[0, 1]], directed, {"group": GROUPS["group"][:n]})
    found = log_constants(network, formula, axes)
    assert np.allclose(found, enumerated(n, directed, formula, axes), atol=1e-11)


@pytest.mark.parametrize(
    ("n", "directed", "formula"),
    [(5, False, "edges + gwesp(0.5)"), (4, True, "edges + mutual"), (5, False, "isolates")],
)
def test_elsewhere_it_is_integrated_from_simulations(n, directed, formula):
    """Its range is 10 to 30; with a hundred draws a point the error's spread is about 0.05."""
    axes = [np.linspace(-3, 1, 10), np.linspace(-1, 1.5, 8)][: formula.count("+") + 1]
    found = log_constants(Network(n, directed=directed), formula, axes, seed=1)
    assert found.max() == 0
    assert np.std(found - enumerated(n, directed, formula, axes)) < 0.12


def test_the_ties_are_not_read():
    axes = [np.linspace(-3, 1, 4), np.linspace(-1, 1, 3)]
    for formula in ("edges + triangle", "edges + absdiff('x')"):
        attributes = {"x": [0.5, 1.0, 3.0, 0.0]}
        one, other = (
            log_constants(Network(4, ties, False, attributes), formula, axes, seed=3)
            for ties in ([], [[0, 1], [1, 2], [0, 2]])
        )
        assert np.array_equal(one, other)


@given(
    shape=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=30, deadline=None)
def test_steps_that_disagree_are_reconciled_by_least_squares(shape, seed):
    random = np.random.default_rng(seed)
    truth = random.normal(size=shape)
    truth -= truth.mean()
    steps = [np.diff(truth, axis=t) for t in range(truth.ndim)]
    assert np.allclose(integrated(steps), truth, atol=1e-10)
    noisy = [step + random.normal(size=step.shape) for step in steps]
    cells = np.eye(truth.size).reshape(truth.size, *shape)
    rows = [np.diff(cells, axis=t + 1).reshape(truth.size, -1).T for t in range(truth.ndim)]
    best = np.linalg.lstsq(np.concatenate(rows), np.concatenate([s.ravel() for s in noisy]))[0]
    assert np.allclose(integrated(noisy).ravel(), best - best.mean(), atol=1e-10)


@pytest.mark.parametrize("axes", [[[0, 1]], [[0, 1], [1]], [[0, 1], [[0, 1]]]])
def test_axes_must_fit_the_formula(axes):
    with pytest.raises(InvalidInput, match=r"edges, triangle"):
        log_constants(Network(4), "edges + triangle", axes)
