"""TableModel's posterior given sequential modips' copies, against enumeration of all tables."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.engines import latent_records
from tests.inference.table.test_exact import prior_of_tables

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the chains of this fit")]
CHAINS, DRAWS, LIKELY = 16, 1000, 12
FAR = 10.5
"""Standard errors of a mean of 16 chains: Student's t of 15 degrees is beyond once in 4e7."""
CELLS = list(itertools.product((0, 1), repeat=2))
Step = bdp.synthesizers.CategoricalColumns
JOINT = (Step({"a": (0, 1), "b": (0, 1)}, prior=0.7),)
GIVEN = (Step({"a": (0, 1)}), Step({"b": (0, 1)}, by=["a"], prior=0.5))
TURNED = (Step({"b": (0, 1)}, prior=2.0), Step({"a": (0, 1)}, by=["b"]))
Mechanism = bdp.mechanisms.SequentialModipsMechanism


def released(
    steps: Any, n: int | None, noise: str, copies: list[list[int]], scale: float = 1.1
) -> bdp.Release:
    """Copies with so many records in each cell of a and b, whatever the confidential ones."""
    size = sum(copies[0])
    scales = tuple(scale * (1 + j / 3) for j in range(len(steps)))
    made = Mechanism(steps, size, scales, n, noise)
    turned = steps is TURNED
    outputs = [
        [
            cell[::-1] if turned else cell
            for cell, k in zip(CELLS, copy, strict=True)
            for _ in range(k)
        ]
        for copy in copies
    ]
    return bdp.Release.of(made, outputs, delta=1e-6 if noise == "gaussian" else 0.0)


def log_copy(made: Any, table: np.ndarray, copy: np.ndarray) -> float:
    """Of a copy's records in order, by a, b: every row's noisy counts are summed out."""
    total = 0.0
    for j, step in enumerate(made.steps):
        names, (part,) = (*step.by, *(name for name, _ in step.columns)), made.parts(j)
        axes = tuple("ab".index(name) for name in names)
        rest = tuple({0, 1} - set(axes))
        x, y = (v.sum(axis=rest) if rest else v.transpose(axes) for v in (table, copy))
        shape = (2 ** len(step.by), -1)
        for row, seen in zip(x.reshape(shape), y.reshape(shape), strict=True):
            points = range(40 if made.n is None else made.n + 1)
            z = np.array(list(itertools.product(points, repeat=row.size)))
            alpha = step.prior + z
            whole = alpha.sum(axis=1)
            log = part.logp(z, row).sum(axis=1)
            log = log + (special.gammaln(alpha + seen) - special.gammaln(alpha)).sum(axis=1)
            log = log + special.gammaln(whole) - special.gammaln(whole + seen.sum())
            total += special.logsumexp(log)
    return total


def exact(release: bdp.Release, classes: int, n: int) -> dict[Any, float]:
    """Posterior probability of each table, as counts of its cells."""
    made: Any = release.parts[0].mechanism
    every = [(k, *cell) for k in range(classes) for cell in CELLS]
    found = prior_of_tables(every, CELLS, (n,), classes)
    names = [column.name for column in made.space.columns]
    for key in found:
        for output in release.parts[0].outputs:
            codes = pd.DataFrame(output, columns=names)[["a", "b"]].to_numpy().astype(int)
            copy = np.bincount(codes @ [2, 1], minlength=4).reshape(2, 2)
            found[key] *= math.exp(log_copy(made, np.array(key).reshape(2, 2), copy))
    total = math.fsum(found.values())
    return {key: weight / total for key, weight in found.items()}


def distances(release: bdp.Release, classes: int, wanted: dict[Any, float], **known: int) -> float:
    """Most standard errors between the fit's shares of the likeliest tables and the exact ones."""
    run = {"draws": DRAWS, "chains": CHAINS, "warmup": 50, "thin": 1, "tables": DRAWS, "seed": 5}
    posterior = bdp.TableModel(classes, **known).fit(release, **run)
    names = list(posterior.schema.columns)
    records = posterior.tables["records"].to_numpy().astype(int)
    cell = records @ [2 - names.index("a"), 2 - names.index("b")]
    counts = np.stack([(cell == k).sum(axis=-1) for k in range(4)], axis=-1)
    likely = sorted(wanted, key=lambda key: wanted[key])[-LIKELY:]
    shares = np.array([np.mean(np.all(counts == key, axis=-1), axis=1) for key in likely])
    error = shares.std(axis=1, ddof=1) / math.sqrt(CHAINS)
    gaps = np.abs(shares.mean(axis=1) - [wanted[key] for key in likely])
    return float(np.max(gaps / np.maximum(error, 1e-9)))


ONE, TWO, LONG = [[3, 0, 1, 2]], [[4, 0, 1, 1], [1, 0, 3, 2]], [[12, 1, 3, 9]]
MANY = 2 * [[12, 1, 3, 9], [11, 0, 3, 11], [12, 1, 2, 10]]


@pytest.mark.parametrize(
    ("steps", "n", "noise", "copies", "classes"),
    [
        (GIVEN, 3, "laplace", TWO, 1),
        (GIVEN, None, "gaussian", ONE, 2),
        (TURNED, 4, "gaussian", LONG, 1),
        pytest.param(JOINT, 3, "laplace", ONE, 1, marks=pytest.mark.calibrate),
        pytest.param(JOINT, 2, "gaussian", TWO, 2, marks=pytest.mark.calibrate),
        pytest.param(GIVEN, 4, "laplace", MANY, 1, marks=pytest.mark.calibrate),
        pytest.param(TURNED, None, "laplace", TWO, 1, marks=pytest.mark.calibrate),
        pytest.param(GIVEN, None, "laplace", LONG, 1, marks=pytest.mark.calibrate),
    ],
)
def test_tables_are_drawn_from_the_models_posterior(steps, n, noise, copies, classes):
    """Where n isn't public the analyst knows it, and noisy counts have no upper end."""
    release, records = released(steps, n, noise, copies), n or 3
    wanted = exact(release, classes, records)
    known = {} if n else {"n": records}
    assert distances(release, classes, wanted, **known) < FAR


def unclipped(noisy: list[Any]) -> list[Any]:
    return [one._replace(copied=one.copied._replace(ends=(-math.inf, math.inf))) for one in noisy]


def without_prior(noisy: list[Any]) -> list[Any]:
    return [one._replace(copied=one.copied._replace(prior=1e-3)) for one in noisy]


def noise_reused(noisy: list[Any]) -> list[Any]:
    """Take all copies for draws by the noisy counts of one."""
    steps = len(GIVEN)
    summed = [sum(one.copied.counts for one in noisy[j::steps]) for j in range(steps)]
    return [
        one._replace(copied=one.copied._replace(counts=counts))
        for one, counts in zip(noisy[:steps], summed, strict=True)
    ]


@pytest.mark.parametrize("fault", [unclipped, without_prior, noise_reused])
def test_a_wrong_law_of_copies_is_convicted(fault, monkeypatch):
    release = released(GIVEN, 4, "laplace", MANY, 1.0)
    wanted, read = exact(release, 1, 4), bdp.TableModel.read

    def planted(model: Any, release: Any) -> Any:
        problem = read(model, release)
        return dataclasses.replace(problem, noisy=fault(problem.noisy))

    monkeypatch.setattr(bdp.TableModel, "read", planted)
    assert distances(release, 1, wanted) > FAR


def test_noisy_counts_that_are_carried_alone_are_convicted(monkeypatch):
    """Noise then stays as it was at the start."""
    release = released(GIVEN, 3, "laplace", TWO)
    wanted = exact(release, 1, 3)
    monkeypatch.setattr(latent_records, "move_unseen", lambda *_: None)
    assert distances(release, 1, wanted) > FAR


def test_one_column_is_as_a_multinomial_model_has_it():
    """Copies of a single step, and modips' copies of the same family: one law, two models.

    With one class and a large concentration, shares are their base, whose prior is uniform.
    """
    seen, n, trials = [(25, 10, 5), (20, 12, 8)], 30, 1500
    family = bdp.families.Categorical(3, (0.5, 0.5, 0.5))
    modips = bdp.mechanisms.ModipsSBSMechanism(family, 40, (1.5, 1.5, 1.5), n)
    exact_of = bdp.MultinomialModel(prior=(1, 1, 1)).counts(bdp.Release.of(modips, seen))
    made = Mechanism((Step({"a": ("x", "y", "z")}, prior=0.5),), 40, (1.5,), n)
    copies = [[(k,) for k, times in enumerate(each) for _ in range(times)] for each in seen]
    run = {"draws": trials, "chains": CHAINS, "warmup": 50, "thin": 1, "tables": trials, "seed": 2}
    model = bdp.TableModel(1, concentration=(1e6, 1e6))
    posterior = model.fit(bdp.Release.of(made, copies), **run)
    counts = np.rint(posterior.posterior["share"].to_numpy() * n)
    for category in range(3):
        values, _, probabilities = exact_of.marginal(category)
        for power in (1, 2):
            found = np.mean(counts[..., category] ** power, axis=1)
            error = found.std(ddof=1) / math.sqrt(CHAINS)
            assert abs(found.mean() - np.sum(values**power * probabilities)) < FAR * error
