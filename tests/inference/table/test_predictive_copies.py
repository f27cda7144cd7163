"""TableModel's posterior given copies drawn by a table's own counts, against enumeration."""

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.engines.drawn_copies import log_predictive, predictive_of
from bayesdp.engines.latent_records import counted, layout_of
from bayesdp.inference.readers import models_of
from bayesdp.kernels.table.predictive import (
    shift_drawn_level,
    shift_drawn_record,
    weigh_drawn_level,
    weigh_drawn_record,
)
from bayesdp.kernels.table.records import switch_records
from bayesdp.report.html import write_report
from tests.inference.table.test_copies_exact import CELLS, CHAINS, FAR
from tests.inference.table.test_exact import prior_of_tables

pytestmark = [
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # few draws
    pytest.mark.filterwarnings("ignore:the chains differ in"),
]
DRAWS = 1000
Labels = bdp.synthesizers.CategoricalColumns
Mechanism = bdp.mechanisms.SequentialDirichletMultinomialMechanism
JOINT = (Labels({"a": (0, 1), "b": (0, 1)}, prior=0.7),)
GIVEN = (Labels({"a": (0, 1)}), Labels({"b": (0, 1)}, by=["a"], prior=0.5))
TURNED = (Labels({"b": (0, 1)}, prior=2.0), Labels({"a": (0, 1)}, by=["b"]))


def released(steps: Any, n: int | None, copies: list[list[int]]) -> bdp.Release:
    """Copies with so many records in each cell of a and b, whatever the confidential ones."""
    turned = steps is TURNED
    outputs = [
        [
            cell[::-1] if turned else cell
            for cell, k in zip(CELLS, copy, strict=True)
            for _ in range(k)
        ]
        for copy in copies
    ]
    return bdp.Release.of(Mechanism(steps, sum(copies[0]), n), outputs)


def exact(release: bdp.Release, classes: int, n: int) -> dict[Any, float]:
    """Posterior probability of each table, as counts of its cells, by the mechanism's own law."""
    made: Any = release.parts[0].mechanism
    every = [(k, *cell) for k in range(classes) for cell in CELLS]
    found = prior_of_tables(every, CELLS, (n,), classes)
    for key in found:
        table, parts = np.array(key).reshape(2, 2), []
        for step in made.steps:
            axes = tuple("ab".index(name) for name in (*step.by, *(c for c, _ in step.columns)))
            rest = tuple({0, 1} - set(axes))
            parts.append((table.sum(axis=rest) if rest else table.transpose(axes)).ravel())
        x = np.concatenate(parts)
        found[key] *= math.exp(sum(float(made.logp(y, x)) for y in release.parts[0].outputs))
    total = math.fsum(found.values())
    return {key: weight / total for key, weight in found.items()}


def distances(release: Any, classes: int, wanted: dict[Any, float], **known: int) -> float:
    """Most standard errors between the fit's shares of the likelier tables and the exact ones."""
    run = {"draws": DRAWS, "chains": CHAINS, "warmup": 50, "thin": 1, "tables": DRAWS, "seed": 5}
    posterior = bdp.TableModel(classes, **known).fit(release, **run)
    names = list(posterior.schema.columns)
    records = posterior.tables["records"].to_numpy().astype(int)
    cell = records @ [2 - names.index("a"), 2 - names.index("b")]
    counts = np.stack([(cell == k).sum(axis=-1) for k in range(4)], axis=-1)
    likely = [key for key, share in wanted.items() if share > 0.01]
    shares = np.array([np.mean(np.all(counts == key, axis=-1), axis=1) for key in likely])
    error = shares.std(axis=1, ddof=1) / math.sqrt(CHAINS)
    gaps = np.abs(shares.mean(axis=1) - [wanted[key] for key in likely])
    return float(np.max(gaps / np.maximum(error, 1e-9)))


ONE, TWO, LONG = [[3, 0, 1, 2]], [[4, 0, 1, 1], [1, 0, 3, 2]], [[12, 1, 3, 9]]
MANY = 2 * [[12, 1, 3, 9], [9, 4, 1, 11]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "n", "copies", "classes"),
    [
        (GIVEN, 3, TWO, 1),
        (TURNED, 4, LONG, 1),
        (GIVEN, None, ONE, 2),
        pytest.param(JOINT, 3, ONE, 1, marks=pytest.mark.calibrate),
        pytest.param(JOINT, 2, TWO, 2, marks=pytest.mark.calibrate),
        pytest.param(GIVEN, 4, MANY, 1, marks=pytest.mark.calibrate),
        pytest.param(TURNED, None, TWO, 1, marks=pytest.mark.calibrate),
    ],
)
def test_tables_are_drawn_from_the_models_posterior(steps, n, copies, classes):
    release, records = released(steps, n, copies), n or 3
    wanted = exact(release, classes, records)
    assert distances(release, classes, wanted, **({} if n else {"n": records})) < FAR


def other_alpha(drawn: list[Any]) -> list[Any]:
    return [one._replace(prior=3 * one.prior) for one in drawn]


def without_one(drawn: list[Any]) -> list[Any]:
    return drawn[: -len(GIVEN)]


def given_nothing(drawn: list[Any]) -> list[Any]:
    """The sums of rows are forgotten: a step's cells share one."""
    return [one._replace(given=0) for one in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("fault", [other_alpha, without_one, given_nothing])
def test_a_wrong_law_of_copies_is_convicted(fault, monkeypatch):
    release = released(GIVEN, 4, MANY)
    wanted, read = exact(release, 1, 4), bdp.TableModel.read

    def planted(model: Any, release: Any) -> Any:
        problem = read(model, release)
        return dataclasses.replace(problem, drawn=fault(list(problem.drawn)))

    monkeypatch.setattr(bdp.TableModel, "read", planted)
    assert distances(release, 1, wanted) > FAR


@pytest.mark.slow
def test_one_step_is_as_a_multinomial_model_has_it():
    """Copies of a single step, and Dirichlet-multinomial copies: one law, two models.

    With one class and a large concentration, shares are their base, whose prior is uniform.
    """
    seen, n, trials = [(25, 10, 5), (20, 12, 8)], 30, 1500
    table = bdp.mechanisms.DirichletMultinomialMechanism(n, 40, 3, 6.5)
    exact_of = bdp.MultinomialModel(prior=(1, 1, 1)).counts(bdp.Release.of(table, seen))
    made = Mechanism((Labels({"a": ("x", "y", "z")}, prior=6.5),), 40, n)
    assert made.pure_epsilon() == table.pure_epsilon()
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


STEPS = (
    Labels({"sex": ("f", "m"), "smokes": (False, True)}),
    Labels({"level": (3, 1, 2)}, by=["sex"]),
)
RUN = {"draws": 60, "warmup": 60, "chains": 2, "thin": 1, "seed": 1}


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], n)
    smokes = rng.random(n) < np.where(sex == "f", 0.1, 0.6)
    return pd.DataFrame({"sex": sex, "smokes": smokes, "level": rng.choice([1, 2, 3], n)})


def copies(**fields: Any) -> bdp.Release:
    made = bdp.synthesizers.SequentialDirichletMultinomialSynthesizer(
        STEPS, **({"epsilon": 30.0, "copies": 2} | fields)
    )
    with bdp.reproducible(5):
        return made.release(people())


def log_law(drawn: Any, records: np.ndarray) -> float:
    total = 0.0
    for one in drawn:
        x = np.zeros(one.seen.shape)
        np.add.at(x, tuple(records[:, k].astype(int) for k in one.columns), 1)
        u, y = (v.reshape(one.rows, -1) for v in (x + one.prior, one.seen))
        total += (special.gammaln(u + y) - special.gammaln(u)).sum()
        whole, sums = u.sum(axis=1), y.sum(axis=1)
        total += (special.gammaln(whole) - special.gammaln(whole + sums)).sum()
    return float(total)


def test_moves_are_weighed_by_the_law_of_the_copies():
    problem = bdp.TableModel().read(copies())
    assert problem.noisy == []
    assert [one.columns for one in problem.drawn] == 2 * [(0, 1), (0, 2)]
    assert problem.copied
    rng = np.random.default_rng(1)
    records = rng.integers(0, [2, 2, 3], (50, 3)).astype(np.uint16)
    state, here = predictive_of(problem.drawn, 3, records), list(range(50))
    assert log_predictive(state) == pytest.approx(log_law(problem.drawn, records), abs=1e-9)
    for _ in range(300):
        before, i, j = log_law(problem.drawn, records[here]), int(rng.choice(here)), rng.integers(3)
        if rng.random() < 0.3 and len(here) > 10:
            change = weigh_drawn_record(state, records, i, -1.0)
            shift_drawn_record(state, records, i, -1.0)
            here.remove(i)
        elif rng.random() < 0.4 and len(here) < 50:
            i = next(k for k in range(50) if k not in here)
            change = weigh_drawn_record(state, records, i, 1.0)
            shift_drawn_record(state, records, i, 1.0)
            here.append(i)
        else:
            new = int(rng.integers((2, 2, 3)[j]))
            change = weigh_drawn_level(state, records, i, int(j), new)
            shift_drawn_level(state, records, i, int(j), new)
            records[i, j] = new
        after = log_law(problem.drawn, records[here])
        assert change == pytest.approx(after - before, abs=1e-9)
        assert log_predictive(state) == pytest.approx(after, abs=1e-9)


def test_switches_keep_what_is_counted():
    problem = bdp.TableModel().read(copies())
    rng, layout = np.random.default_rng(1), layout_of(problem)
    records = rng.integers(0, [2, 2, 3], (200, 3)).astype(np.uint16)
    classes = rng.integers(0, problem.classes, 200).astype(np.int32)
    state = counted(problem, layout, records.copy(), classes, 200)
    switch_records(layout, state, rng)
    assert not np.array_equal(state.records, records)
    again = predictive_of(problem.drawn, 3, state.records)
    assert np.array_equal(state.drawn.counts, again.counts)
    assert np.array_equal(state.drawn.sums, again.sums)


@pytest.mark.slow
def test_all_that_a_tables_posterior_answers_is_answered(tmp_path):
    release = copies(epsilon=400.0)
    assert models_of(release.mechanism) == ("TableModel",)
    release.save(tmp_path / "release")
    posterior = bdp.TableModel().fit(bdp.Release.load(tmp_path / "release"), **RUN)
    assert "misfit" not in posterior.sample_stats
    assert "released" not in posterior.groups()
    found = posterior.table(["sex", "smokes"], seed=1).interval()
    among = found["mean"].unstack()
    true = people().groupby("sex")["smokes"].mean()
    assert (among[True] / among.sum(axis=1)).to_numpy() == pytest.approx(true.to_numpy(), abs=0.12)
    ends = posterior.regression("smokes ~ C(sex)", family="logit", seed=1).interval()
    assert ends["lower"].iloc[1] > 0
    assert posterior.synthetic(1, seed=1)[0]["smokes"].dtype == bool
    with pytest.raises(bdp.errors.InvalidInput, match="weren't released"):
        posterior.regression("smokes ~ C(sex)", by="moments")
    text = write_report(posterior, release, tmp_path / "page").read_text(encoding="utf-8")
    assert "Share in the copies, as released" in text
    assert "What synthetic copies drawn by the counts of 2 marginals say" in text
    assert "none: Dirichlet-multinomial draws, prior" in text
    assert "<td>50.0%</td>" in text  # a step's share of the budget, of two


@pytest.mark.slow
def test_noisy_counts_of_the_same_table_say_how_many_records_there_are():
    drawn = copies(public_n=False, size=150)
    with pytest.raises(bdp.errors.InvalidInput, match=r"TableModel\(n=1000\)"):
        bdp.TableModel().fit(drawn)
    schema = bdp.TableModel(n=200).schema_of(drawn)
    with bdp.reproducible(2):
        noisy = bdp.TableSynthesizer(schema, epsilon=3.0).release(people())
    posterior = bdp.TableModel().fit([drawn, noisy], **RUN)
    assert posterior.posterior["n"].mean() == pytest.approx(200, abs=12)
