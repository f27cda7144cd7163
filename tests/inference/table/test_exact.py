"""TableModel's posterior of a tiny table, against enumeration of all tables under its own prior."""

import dataclasses
import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines import latent_records
from bayesdp.engines.latent_records import ABSENT, CONCENTRATION, grid_of
from tests.latent_classes import over_bases

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit"),
    pytest.mark.filterwarnings("ignore:.*of the spread of"),  # of three records
]
CHAINS, DRAWS, LIKELY = 16, 750, 12
FAR = 10.5
"""Standard errors of a mean of 16 chains: Student's t of 15 degrees is beyond once in 4e7."""
CELLS = list(itertools.product((0, 1), repeat=3))
ZEROS = [{"a": 1, "c": 1}]
SHOWN = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]])


def released(noise: str, n: int | None, zeros: list) -> bdp.Release:
    columns = {name: {"type": "integer", "bounds": (0, 1)} for name in "abc"}
    rounds = [
        {"marginals": [("a", "b"), ("b", "c")], "scale": 0.9},
        {"marginals": [("c", "a")], "scale": 1.4},
    ]
    relation = "add_remove" if n is None else "replace_one"
    made = bdp.mechanisms.NoisyTableMechanism(
        bdp.Schema(columns, zeros), rounds, noise, relation, n
    )
    with bdp.reproducible(8):
        statistic = made.statistic_of(pd.DataFrame(SHOWN, columns=list("abc")))
        return bdp.Release.of(made, made.release(statistic), delta=1e-6)


def chosen(noise: str, n: int | None) -> bdp.Release:
    """One pair of three, chosen on confidential counts, which matters as much as the noise."""
    columns = {name: {"type": "integer", "bounds": (0, 1)} for name in "abc"}
    rounds = [
        {"marginals": [("a",), ("b",), ("c",)], "scale": 1.1},
        {"marginals": [("c", "a")], "scale": 1.4},
    ]
    choice = {"candidates": [("a", "b"), ("b", "c"), ("c", "a")], "rate": 1.5}
    relation = "add_remove" if n is None else "replace_one"
    made = bdp.mechanisms.NoisyTableMechanism(
        bdp.Schema(columns), rounds, noise, relation, n, choice=choice
    )
    with bdp.reproducible(8):
        statistic = made.statistic_of(pd.DataFrame(SHOWN, columns=list("abc")))
        return bdp.Release.of(made, made.release(statistic), delta=1e-6)


def rising(b, count: int):
    """log b (b + 1) ... (b + count - 1), of all values of b."""
    return np.log(np.add.outer(np.arange(count), b)).sum(axis=0)


def log_prior(records, classes: int, grid: np.ndarray) -> float:
    """Of labelled records, a class and its levels, over all concentrations and bases."""
    sizes = Counter(record[0] for record in records)
    log = sum(rising(grid, m) for m in sizes.values()) - rising(classes * grid, len(records))
    total = np.log(np.mean(np.exp(log)))
    for j in range(1, len(records[0]) if records else 1):
        cells = Counter((record[0], record[j]) for record in records)
        counts = tuple(tuple(cells[k, c] for c in (0, 1)) for k in range(classes))
        log = np.log([over_bases(counts, weight) for weight in 2 * grid])
        log = log - sum(rising(2 * grid, m) for m in sizes.values())
        total += np.log(np.mean(np.exp(log)))
    return float(total)


def prior_of_tables(every: list, cells: list, sizes, classes: int, ends=CONCENTRATION) -> Counter:
    """Prior weight of each table, as counts of its cells: of all records in all orders."""
    found: Counter = Counter()
    grid = grid_of(ends)
    for n in sizes:
        for records in itertools.combinations_with_replacement(every, n):
            orders = math.factorial(n)
            for times in Counter(records).values():
                orders //= math.factorial(times)
            table = Counter(record[1:] for record in records)
            key = tuple(table[cell] for cell in cells)
            found[key] += orders * math.exp(log_prior(records, classes, grid))
    return found


def exact(release: bdp.Release, classes: int, sizes, zeros: list, ends=CONCENTRATION) -> dict:
    """Posterior probability of each table, as counts of its cells."""
    made, output = release.parts[0].mechanism, np.array(release.parts[0].outputs[0])
    every = [(k, *cell) for k in range(classes) for cell in CELLS]
    if zeros:
        every = [record for record in every if not (record[1] and record[3])]
    found = prior_of_tables(every, CELLS, sizes, classes, ends)
    each = [made.statistic_of(pd.DataFrame([cell], columns=list("abc"))) for cell in CELLS]
    law = made.logp(output, np.array(list(found)) @ np.array(each))  # whose counts add up
    for key, log in zip(found, law, strict=True):
        found[key] *= math.exp(log)
    total = math.fsum(found.values())
    return {key: weight / total for key, weight in found.items()}


def distances(release: bdp.Release, classes: int, wanted: dict, **prior) -> np.ndarray:
    """Standard errors between the fit's shares of the likeliest tables and the exact ones."""
    run = {"draws": DRAWS, "chains": CHAINS, "warmup": 50, "thin": 1, "tables": DRAWS, "seed": 5}
    fit = bdp.TableModel(classes, rake=False, **prior).fit(release, **run)
    records = fit.tables["records"].to_numpy()
    cell = np.where(records[..., 0] == ABSENT, 8, records.astype(int) @ [4, 2, 1])
    counts = np.stack([(cell == k).sum(axis=-1) for k in range(8)], axis=-1)
    likely = sorted(wanted, key=wanted.get)[-LIKELY:]
    shares = np.array([np.mean(np.all(counts == key, axis=-1), axis=1) for key in likely])
    error = shares.std(axis=1, ddof=1) / math.sqrt(CHAINS)
    return np.abs(shares.mean(axis=1) - [wanted[key] for key in likely]) / np.maximum(error, 1e-9)


@pytest.mark.parametrize(
    ("noise", "n", "classes", "zeros", "flat"),
    [
        ("laplace", 3, 2, [], -1.0),
        ("gaussian", None, 1, ZEROS, math.inf),
        pytest.param("gaussian", 3, 1, [], -1.0, marks=pytest.mark.calibrate),
        pytest.param("laplace", None, 2, ZEROS, math.inf, marks=pytest.mark.calibrate),
        pytest.param("gaussian", None, 2, [], -1.0, marks=pytest.mark.calibrate),
        pytest.param("laplace", 3, 2, ZEROS, math.inf, marks=pytest.mark.calibrate),
    ],
)
def test_tables_are_drawn_from_the_models_posterior(noise, n, classes, zeros, flat, monkeypatch):
    """Of n = 3 records, or where n is confidential of 0 to 6, each as likely.

    Levels are drawn, or proposed, whatever the noise.
    """
    monkeypatch.setattr(latent_records, "_FLAT", flat)
    release = released(noise, n, zeros)
    largest = 6 if n is None else 3
    monkeypatch.setattr(latent_records.Problem, "capacity", lambda problem: largest)
    wanted = exact(release, classes, range(largest + 1) if n is None else [3], zeros)
    assert sum(sorted(wanted.values())[-LIKELY:]) > 0.2
    assert distances(release, classes, wanted).max() < FAR


@pytest.mark.parametrize(
    ("noise", "n", "classes", "flat"),
    [
        ("laplace", None, 1, math.inf),
        ("gaussian", 3, 1, -1.0),
        pytest.param("laplace", None, 2, -1.0, marks=pytest.mark.calibrate),
    ],
)
def test_a_choices_law_is_in_the_posterior(noise, n, classes, flat, monkeypatch):
    """And a fit is convicted where it is left out."""
    monkeypatch.setattr(latent_records, "_FLAT", flat)
    release = chosen(noise, n)
    largest = 6 if n is None else 3
    monkeypatch.setattr(latent_records.Problem, "capacity", lambda problem: largest)
    wanted = exact(release, classes, range(largest + 1) if n is None else [3], [])
    assert distances(release, classes, wanted).max() < FAR
    if n is not None:
        monkeypatch.setattr(bdp.TableModel, "read", without_choice(bdp.TableModel.read))
        assert distances(release, classes, wanted).max() > FAR


def test_another_range_of_concentrations_is_another_prior():
    """Where records of one class are nearly surely of one kind, or of all kinds alike."""
    release = released("laplace", 3, [])
    for ends in ((1e-3, 0.05), (5.0, 9.0)):
        wanted = exact(release, 2, [3], [], ends)
        assert distances(release, 2, wanted, concentration=ends).max() < FAR
        assert distances(release, 2, wanted).max() > FAR


def without_choice(read):
    return lambda model, release: dataclasses.replace(read(model, release), chosen=())


def test_a_wrong_sign_is_convicted(monkeypatch):
    """Noise whose log law has the other sign, in every move of the kernel."""
    release = released("laplace", 3, [])
    wanted = exact(release, 1, [3], [])
    layout = latent_records.layout_of
    planted = lambda problem: layout(problem)._replace(rates=-layout(problem).rates)  # noqa: E731
    monkeypatch.setattr(latent_records, "layout_of", planted)
    assert distances(release, 1, wanted).max() > FAR
