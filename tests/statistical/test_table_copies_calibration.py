"""Calibration of whole tables given sequential modips' copies, under their own prior."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines import latent_records
from tests.latent_classes import from_the_prior

FALSE_ALARM = 1e-6
KEPT = 40
LEVELS = (2, 3, 2)
NAMES = ("a", "b", "c")
Step = bdp.synthesizers.CategoricalColumns
STEPS = (
    Step({"a": (0, 1)}, prior=0.5),
    Step({"b": (0, 1, 2)}, by=["a"]),
    Step({"c": (0, 1)}, by=["b"]),
)
pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning"),  # few draws
    pytest.mark.filterwarnings("ignore:the chains differ in:UserWarning"),
    pytest.mark.filterwarnings("ignore:no released marginal has:UserWarning"),
    pytest.mark.slow,
]


def ranks(noise: str, epsilon: float, copies: int, public: bool, replicates: int) -> np.ndarray:
    """A column's cells, pairs and the triple: each true count among those of latent tables."""
    rng, n, found = np.random.default_rng(41), 40, []
    for seed in range(replicates):
        codes = pd.DataFrame(from_the_prior(rng, LEVELS, 3, n), columns=NAMES)
        synthesizer = bdp.synthesizers.SequentialModipsSynthesizer(
            STEPS,
            epsilon=epsilon,
            delta=1e-6 if noise == "gaussian" else 0.0,
            copies=copies,
            size=60,
            public_n=public,
            noise=noise,
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


def chance(found: np.ndarray) -> float:
    """Probability of ranks as far from uniform."""
    bins = 5
    seen = np.bincount(found * bins // (KEPT + 1), minlength=bins)
    sizes = np.bincount(np.arange(KEPT + 1) * bins // (KEPT + 1), minlength=bins)
    return float(stats.chisquare(seen, sizes / sizes.sum() * found.size).pvalue)


@pytest.mark.parametrize(
    ("noise", "epsilon", "copies", "public", "replicates"),
    [
        ("laplace", 4.0, 2, True, 25),
        pytest.param("laplace", 4.0, 2, True, 200, marks=pytest.mark.calibrate),
        pytest.param("gaussian", 2.0, 1, True, 200, marks=pytest.mark.calibrate),
        pytest.param("laplace", 20.0, 3, False, 200, marks=pytest.mark.calibrate),
    ],
)
def test_true_counts_rank_uniformly(noise, epsilon, copies, public, replicates):
    assert chance(ranks(noise, epsilon, copies, public, replicates)) > FALSE_ALARM


@pytest.mark.calibrate
def test_noise_taken_for_narrower_ranks_true_counts_in_the_tails(monkeypatch):
    """Noise a fifth as wide as it is."""
    layout_of = latent_records.layout_of

    def planted(problem):
        made = layout_of(problem)
        return made._replace(rates=5 * made.rates)

    def narrow(*given):
        made = unseen_of(*given)
        return made._replace(rates=5 * made.rates)

    unseen_of = latent_records.unseen_of
    monkeypatch.setattr(latent_records, "layout_of", planted)
    monkeypatch.setattr(latent_records, "unseen_of", narrow)
    assert chance(ranks("laplace", 1.5, 2, True, 200)) < FALSE_ALARM
