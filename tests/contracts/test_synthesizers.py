"""What every public synthesizer does: it inherits the base, and pays before it draws."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import BudgetExceeded, InvalidInput
from bayesdp.mechanisms import randomness
from bayesdp.synthesis.base import RecordSynthesizer, Synthesizer
from bayesdp.synthesis.graphs import GraphSynthesizer
from bayesdp.synthesis.posterior import PosteriorSynthesizer

S = bdp.synthesizers
BOUNDS = {"x": (0.0, 1.0), "y": (-1.0, 2.0)}
CELLS = {"sex": ["f", "m"], "smokes": [0, 1]}
PEOPLE = pd.DataFrame(
    {
        "x": np.linspace(0.1, 0.9, 12),
        "y": np.linspace(-0.5, 1.5, 12),
        "sex": ["f", "m", "m"] * 4,
        "smokes": [0, 1] * 6,
    }
)
BITS, GROUPS, NUMBERS, LABELS = (
    PEOPLE["smokes"],
    PEOPLE["sex"],
    PEOPLE[["x", "y"]],
    PEOPLE[[*CELLS]],
)
GRAPH = bdp.networks.Network(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)])
EVENTS = {"f": {"a": 3, "b": 4}, "m": {"a": 5, "b": 0}}


def posterior() -> Any:
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10)
        pm.Normal("income", mu, 1.0, observed=np.array([2.9, 3.4, 2.2]))
    return PosteriorSynthesizer(
        model, 4.0, center=-1.5, size=3, engine="grid", grid_bounds={"mu": (0, 6)}, grid_size=20
    )


# How each is made, and what is released, with groups where there are any.
CASES: dict[str, tuple[Callable[[], Any], tuple[Any, ...], dict[str, Any]]] = {
    "BetaBinomialSynthesizer": (
        lambda: S.BetaBinomialSynthesizer(2.0, copies=2), (BITS,), {"by": GROUPS}
    ),
    "CensoredBetaSynthesizer": (
        lambda: S.CensoredBetaSynthesizer(4.0), (PEOPLE["x"],), {"size": 5}
    ),
    "CensoredRegressionSynthesizer": (
        lambda: S.CensoredRegressionSynthesizer(
            4.0, "normal", "y", ("x",), {"x": [0.2, 0.8]}, size=2, engine="grid", grid_size=9,
            grid_bounds={"intercept": (-1, 1), "slope_x": (-1, 3), "sigma": (0.1, 2)},
        ),
        (NUMBERS,), {},
    ),
    "ConjugateSynthesizer": (
        lambda: S.ConjugateSynthesizer(
            "multivariate_gaussian", 2.0, 1e-6, copies=2, R=(2, 3), names=("x", "y"),
            covariance=((1.0, 0.5), (0.5, 2.0)),
        ),
        (NUMBERS,), {"by": GROUPS},
    ),
    "DirichletMultinomialSynthesizer": (
        lambda: S.DirichletMultinomialSynthesizer(2.0, copies=2, categories={"smokes": [0, 1]}),
        (PEOPLE[["smokes"]],), {"by": GROUPS},
    ),
    "DiscreteLaplaceSynthesizer": (
        lambda: S.DiscreteLaplaceSynthesizer(2.0), (BITS,), {"by": GROUPS}
    ),
    "DPERGMSynthesizer": (
        lambda: S.DPERGMSynthesizer("edges", 4.0, centre=-1.0, scale=0.5, burn_in=9), (GRAPH, 2), {}
    ),
    "EdgeFlipSynthesizer": (lambda: S.EdgeFlipSynthesizer(2.0), (GRAPH,), {"copies": 2}),
    "LogLinearSynthesizer": (
        lambda: S.LogLinearSynthesizer(2.0, marginals=[("sex", "smokes")], categories=CELLS),
        (LABELS,), {},
    ),
    "ModipsSynthesizer": (
        lambda: S.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=2.0, copies=2),
        (BITS,), {"by": GROUPS},
    ),
    "NoisyDegreesSynthesizer": (lambda: S.NoisyDegreesSynthesizer(2.0), (GRAPH, 2), {}),
    "NoisyMomentsSynthesizer": (
        lambda: S.NoisyMomentsSynthesizer(BOUNDS, epsilon=2.0, copies=2), (NUMBERS,), {}
    ),
    "NoisyStatisticsSynthesizer": (
        lambda: S.NoisyStatisticsSynthesizer("edges + triangle", 2.0), (GRAPH,), {}
    ),
    "TableSynthesizer": (
        lambda: S.TableSynthesizer(
            {
                "columns": {
                    "sex": {"type": "category", "labels": ["f", "m"]},
                    "smokes": {"type": "integer", "bounds": (0, 1)},
                }
            },
            epsilon=2.0,
            copies=2,
        ),
        (LABELS,), {},
    ),
    "NoisyTrianglesSynthesizer": (lambda: S.NoisyTrianglesSynthesizer(2.0), (GRAPH,), {}),
    "PerturbedCoefficientsSynthesizer": (
        lambda: S.PerturbedCoefficientsSynthesizer(BOUNDS, "y", 10.0), (NUMBERS,), {"clip": True}
    ),
    "PerturbedHistogramSynthesizer": (
        lambda: S.PerturbedHistogramSynthesizer(2.0, bounds=BOUNDS, bins=3), (NUMBERS,), {}
    ),
    "PoissonGammaSynthesizer": (
        lambda: S.PoissonGammaSynthesizer(2.0, EVENTS | {"m": {"a": 2.0, "b": 1.5}}), (EVENTS,), {}
    ),
    "PosteriorSynthesizer": (posterior, (), {}),
    "ProposeTestReleaseSynthesizer": (
        lambda: S.ProposeTestReleaseSynthesizer(9.0, (0, 1), 1, 5, delta=0.2),
        (PEOPLE["x"],), {"by": GROUPS},
    ),
    "TrimmedMeanSynthesizer": (
        lambda: S.TrimmedMeanSynthesizer(9.0, (0, 1), 3, 0.2, 5, delta=0.2),
        (PEOPLE["x"],), {"by": GROUPS},
    ),
    "QuantileSynthesizer": (
        lambda: S.QuantileSynthesizer(2.0, (0, 1), 5, groups=[*sorted(set(GROUPS))]),
        (PEOPLE["x"],), {"by": GROUPS},
    ),
    "SequentialDirichletMultinomialSynthesizer": (
        lambda: S.SequentialDirichletMultinomialSynthesizer(
            [
                S.CategoricalColumns({"sex": ("f", "m")}),
                S.CategoricalColumns({"smokes": (0, 1)}, by=["sex"]),
            ],
            epsilon=2.0, copies=2,
        ),
        (PEOPLE,), {},
    ),
    "SequentialModipsSynthesizer": (
        lambda: S.SequentialModipsSynthesizer(
            [S.CategoricalColumns({"sex": ("f", "m")}), S.NumericColumns(BOUNDS, by=["sex"])],
            epsilon=2.0, copies=2,
        ),
        (PEOPLE,), {},
    ),
    "SubsampleAggregateSynthesizer": (
        lambda: S.SubsampleAggregateSynthesizer("median", (0, 1), 2.0, 3, 5),
        (PEOPLE["x"],), {"by": GROUPS},
    ),
    "TruncatedStatisticsSynthesizer": (
        lambda: S.TruncatedStatisticsSynthesizer("edges", 2.0, 3), (GRAPH,), {}
    ),
    "WeightedCountsSynthesizer": (
        lambda: S.WeightedCountsSynthesizer(
            {"smokes": [0, 1]}, 2.0, weights="x", groups=["f", "m"]
        ),
        (PEOPLE,), {"by": GROUPS},
    ),
}  # fmt: skip


# Of generators that are made before, from which nothing is drawn then.
KEYS = {"CensoredRegressionSynthesizer": [32, 32], "PosteriorSynthesizer": [32, 32]}


@pytest.fixture
def drawn(monkeypatch) -> list[int]:
    """How many random bytes were asked for, each time."""
    found: list[int] = []
    real = randomness.os.urandom

    def urandom(count: int) -> bytes:
        found.append(count)
        return real(count)

    monkeypatch.setattr(randomness, "os", types.SimpleNamespace(urandom=urandom))
    return found


def test_all_are_here():
    assert {name for name in S.__all__ if name.endswith("Synthesizer")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_each_pays_before_it_draws(name, drawn, tmp_path):
    make, data, options = CASES[name]
    made = make()
    assert isinstance(made, Synthesizer)
    cost = made.release(*data, **options).guarantee
    assert drawn  # so that what is drawn below is seen
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    relation, enough = cost.neighbours.value, 1.5 * cost.epsilon
    budget = ledger.create("d", epsilon=enough, delta=3 * cost.delta, neighbours=relation)
    release = made.release(*data, ledger=budget, **options)
    assert release.guarantee == cost
    assert len(release.parts) == (2 if "by" in options or name.startswith("PoissonGamma") else 1)
    if isinstance(made, GraphSynthesizer):
        assert made.guarantee(*data, **options) == cost
    (entry,) = budget.history()
    assert entry.guarantee.epsilon == cost.epsilon
    assert sum(one["groups"] for one in entry.released["mechanisms"]) == len(release.parts)
    drawn.clear()
    with pytest.raises(BudgetExceeded):
        made.release(*data, ledger=budget, **options)
    assert drawn == KEYS.get(name, [])
    with bdp.reproducible(1), pytest.raises(InvalidInput):  # a seeded one promises nothing
        made.release(*data, ledger=budget, **options)
    assert len(budget.history()) == 1


@pytest.mark.parametrize("name", [name for name in CASES if name != "PosteriorSynthesizer"])
def test_each_spends_and_draws_nothing_of_data_that_it_refuses(name, drawn, tmp_path):
    made = CASES[name][0]()
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("d", epsilon=100.0, delta=0.1, neighbours="replace_one")
    for wrong in ([[None]], pd.DataFrame({"z": ["?"]}), ["?"]):
        with pytest.raises(InvalidInput):
            made.release(wrong, ledger=budget)
    assert not budget.history()
    assert not drawn


UNGROUPED = [name for name in CASES if not getattr(getattr(S, name), "grouped", True)]


@pytest.mark.parametrize("name", UNGROUPED)
def test_groups_are_refused_where_there_are_none(name, drawn):
    make, data, options = CASES[name]
    made = make()
    assert isinstance(made, RecordSynthesizer)
    with pytest.raises(InvalidInput, match="no groups"):
        made.release(*data, by=GROUPS, **options)
    assert not drawn
