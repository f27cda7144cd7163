"""Calibration of whole tables given copies drawn by their own counts, under their own prior."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from tests.latent_classes import from_the_prior
from tests.statistical.test_table_copies_calibration import (
    FALSE_ALARM,
    KEPT,
    LEVELS,
    NAMES,
    chance,
)

Step = bdp.synthesizers.CategoricalColumns
STEPS = (Step({"a": (0, 1), "b": (0, 1, 2)}), Step({"c": (0, 1)}, by=["b"]))
pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),  # few draws
    pytest.mark.filterwarnings("ignore:the chains differ in:UserWarning"),
    pytest.mark.filterwarnings("ignore:no released marginal has:UserWarning"),
    pytest.mark.slow,
]


def ranks(epsilon: float, copies: int, public: bool, replicates: int) -> np.ndarray:
    """A column's cells, pairs and the triple: each true count among those of latent tables."""
    rng, n, found = np.random.default_rng(43), 40, []
    for seed in range(replicates):
        codes = pd.DataFrame(from_the_prior(rng, LEVELS, 3, n), columns=NAMES)
        synthesizer = bdp.synthesizers.SequentialDirichletMultinomialSynthesizer(
            STEPS, epsilon=epsilon, copies=copies, size=60, public_n=public
        )
        with bdp.reproducible(seed):
            release = synthesizer.release(codes)
        model = bdp.TableModel(classes=3, n=None if public else n)
        run = {"draws": 10 * KEPT, "warmup": 100, "chains": 1, "thin": 2, "tables": KEPT}
        posterior = model.fit(release, **run, seed=seed)
        for columns in (["b"], ["a", "b"], ["a", "c"], list(NAMES)):
            places = [LEVELS[NAMES.index(name)] for name in columns]
            cell = rng.integers(np.prod(places))
            true = np.sum(np.ravel_multi_index(codes[columns].to_numpy().T, places) == cell)
            counts = posterior.table(columns, target="data").draws[:, cell]
            low, ties = np.sum(counts < true), np.sum(counts == true)
            found.append(low + rng.integers(0, ties + 1))
    return np.array(found)


@pytest.mark.parametrize(
    ("epsilon", "copies", "public", "replicates"),
    [
        (6.0, 2, True, 25),
        pytest.param(6.0, 2, True, 200, marks=pytest.mark.calibrate),
        pytest.param(12.0, 1, False, 200, marks=pytest.mark.calibrate),
    ],
)
def test_true_counts_rank_uniformly(epsilon, copies, public, replicates):
    assert chance(ranks(epsilon, copies, public, replicates)) > FALSE_ALARM


@pytest.mark.calibrate
def test_a_prior_that_is_forgotten_ranks_true_counts_in_the_tails(monkeypatch):
    """Copies are then taken for near the table's own counts."""
    read = bdp.TableModel.read

    def planted(model: Any, release: Any) -> Any:
        problem = read(model, release)
        weak = [one._replace(prior=1e-3) for one in problem.drawn]
        return dataclasses.replace(problem, drawn=weak)

    monkeypatch.setattr(bdp.TableModel, "read", planted)
    assert chance(ranks(6.0, 2, True, 100)) < FALSE_ALARM
