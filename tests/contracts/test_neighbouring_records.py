"""Promises against all neighbouring data sets of a small domain, from the records on.

Other tests enumerate neighbouring statistics. Here records go through the synthesizers, as
they are given: so it is found out too if one is counted differently beside another, refused beside
another, or shows in the parameters of the mechanism, which are released.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.release.manifest import MechanismEntry

Records = tuple[Any, ...]
F = bdp.families
PRIORS = [F.Bernoulli((1, 1)), F.Bernoulli((1, 30)), F.Bernoulli((7, 0.5))]
AREAS = {"A": 1.5, "B": 20.0, "C": 0.3}
BY_SEX = {"m": {"A": 2.0, "B": 9.0}, "f": {"A": 3.0, "B": 1.0}}
TABLE = {"x": ["p", "q"], "y": [0, 1]}


class Asked(Exception):
    """What a synthesizer was about to publish."""


def ask(parts: Any, statistic: Any = None, **options: Any) -> None:
    raise Asked(parts if isinstance(parts, dict) else {None: (parts, statistic)}, options)


@pytest.fixture(autouse=True)
def nothing_is_published(monkeypatch):
    monkeypatch.setattr(importlib.import_module("bayesdp.synthesis.base"), "publish_groups", ask)
    monkeypatch.setattr(importlib.import_module("bayesdp.synthesis.select_family"), "publish", ask)


def binary(**options: Any) -> Callable[[Records], Any]:
    return lambda d: bdp.BetaBinomialSynthesizer(1.0, copies=2, size=3, **options).release([*d])


def binary_by(groups: list[Any]) -> Callable[[Records], Any]:
    made = bdp.BetaBinomialSynthesizer(1.0, copies=2, size=2, public_n=False, groups=groups)
    return lambda d: made.release([v for v, _ in d], by=[g for _, g in d])


def table(**options: Any) -> Callable[[Records], Any]:
    made = bdp.synthesizers.DirichletMultinomialSynthesizer(
        1.0, copies=2, size=2, categories=TABLE, **options
    )
    return lambda d: made.release(pd.DataFrame([*d], columns=["x", "y"]))


def table_by(d: Records) -> Any:
    made = bdp.synthesizers.DirichletMultinomialSynthesizer(
        1.0, size=2, categories={"x": [0, 1, 2.5]}, public_n=False, groups=["a", "b"]
    )
    return made.release(pd.DataFrame({"x": [v for v, _ in d]}), by=[g for _, g in d])


def sequence(**options: Any) -> Callable[[Records], Any]:
    steps = [
        bdp.synthesizers.CategoricalColumns({"x": ["p", "q"]}),
        bdp.synthesizers.CategoricalColumns({"y": [0, 1]}, by=["x"]),
    ]
    made = bdp.synthesizers.SequentialDirichletMultinomialSynthesizer(
        steps, 1.0, copies=2, size=2, **options
    )
    return lambda d: made.release(pd.DataFrame([*d], columns=["x", "y"]))


def events(**options: Any) -> Callable[[Records], Any]:
    made = bdp.synthesizers.PoissonGammaSynthesizer(1.0, AREAS, copies=2, total=3, **options)
    return lambda d: made.release([*d])


def events_by(d: Records) -> Any:
    made = bdp.synthesizers.PoissonGammaSynthesizer(1.0, BY_SEX, total=2, public_n=False)
    return made.release([a for a, _ in d], by=[g for _, g in d])


def quantiles(**options: Any) -> Callable[[Records], Any]:
    made = bdp.synthesizers.QuantileSynthesizer(1.0, (0, 3), 3, (0.3, 0.5), **options)
    return lambda d: made.release([*d])


def proposed(**options: Any) -> Callable[[Records], Any]:
    made = bdp.synthesizers.ProposeTestReleaseSynthesizer(2.0, (0, 4), 1, 4, delta=0.3, **options)
    return lambda d: made.release([*d])


def trimmed(**options: Any) -> Callable[[Records], Any]:
    made = bdp.synthesizers.TrimmedMeanSynthesizer(
        2.0, (0, 4), 1, 0.25, bins=4, delta=0.3, **options
    )
    return lambda d: made.release([*d])


def modips(family: Any, **options: Any) -> Callable[[Records], Any]:
    made = bdp.ModipsSynthesizer(family, epsilon=1.0, copies=2, **{"size": 2, **options})
    return lambda d: made.release([*d])


def modips_by(d: Records) -> Any:
    made = bdp.ModipsSynthesizer(
        F.Bernoulli(), epsilon=1.0, size=2, public_n=False, groups=[1, "b"]
    )
    return made.release([v for v, _ in d], by=[g for _, g in d])


def chosen(public_n: bool) -> Callable[[Records], Any]:
    return lambda d: bdp.synthesizers.select_family(PRIORS, [*d], epsilon=1.0, public_n=public_n)


def selected(**options: Any) -> Callable[[Records], Any]:
    return modips(PRIORS, selection=bdp.synthesizers.FamilySelection(0.7, **options))


BITS, MIXED, GROUPS = (0, 1), (0, True, 1.0), (1, "b")
PAIRS, CELLS = tuple(itertools.product(BITS, GROUPS)), tuple(itertools.product("pq", BITS))
HIDDEN, ZERO = {"public_n": False}, [{"x": "p", "y": 1}]
R, A = "replace_one", "add_remove"

# The synthesizer, the domain of records, the largest n, and the relation.
CASES: dict[str, tuple[Callable[[Records], Any], Records, int, str]] = {
    "binary, n public": (binary(), MIXED, 4, R),
    "binary": (binary(**HIDDEN), MIXED, 3, A),
    "binary, replaced": (binary(**HIDDEN), BITS, 5, R),
    "binary groups": (binary_by([*GROUPS]), PAIRS, 2, A),
    "binary groups, replaced": (binary_by([*GROUPS]), PAIRS, 3, R),
    "table, n public": (table(), CELLS, 3, R),
    "table": (table(**HIDDEN), CELLS, 2, A),
    "table with a zero": (table(zeros=ZERO, **HIDDEN), (CELLS[0], *CELLS[2:]), 2, A),
    "table groups": (table_by, tuple(itertools.product((0, 1.0, 2.5), "ab")), 2, R),
    "sequence, n public": (sequence(), CELLS, 3, R),
    "sequence": (sequence(**HIDDEN), CELLS, 2, A),
    "events, n public": (events(), tuple(AREAS), 3, R),
    "events": (events(**HIDDEN), tuple(AREAS), 3, A),
    "event groups": (events_by, tuple(itertools.product("AB", "mf")), 2, R),
    "quantiles": (quantiles(), (-1, 0.5, 1, 2, 9.5), 3, A),
    "quantiles, n public": (quantiles(neighbours=R, copies=2), (0, 1.5, 3), 4, R),
    "quantiles, tested": (proposed(), (-1, 1.5, 2, 9), 4, R),
    "trimmed mean": (trimmed(), (-1, 1.5, 2, 9), 4, R),
    "modips, n public": (modips(F.Bernoulli()), BITS, 5, R),
    "modips": (modips(F.Bernoulli(), **HIDDEN), BITS, 3, A),
    "modips, truncated": (modips(F.Bernoulli(), bounding="truncated"), BITS, 5, R),
    "modips groups": (modips_by, PAIRS, 2, A),
    "modips of labels, n public": (modips(F.Categorical(3)), (0, 1, 2), 3, R),
    "modips of labels": (modips(F.Categorical(3), **HIDDEN), (0, 1, 2), 2, A),
    "modips in cells, n public": (modips(F.Bernoulli(), method="sdd", bins=5), BITS, 5, R),
    "modips in cells": (modips(F.Bernoulli(), method="sdd", bins=5, **HIDDEN), BITS, 5, A),
    "modips chosen once": (selected(), BITS, 4, R),
    "modips chosen by DIC for each": (selected(each_copy=True, criterion="dic"), BITS, 4, R),
    "a family, n public": (chosen(True), BITS, 12, R),
    "a family": (chosen(False), BITS, 12, A),
}  # fmt: skip


def neighbours(domain: Records, most: int, relation: str) -> Iterator[tuple[Records, Records]]:
    for n in range(relation == R, most + (relation == R)):
        for data in itertools.combinations_with_replacement(domain, n):
            for record in domain:
                if relation == A:
                    yield data, (*data, record)
                    yield (*data, record), data
                else:
                    yield from ((data, (*data[:i], record, *data[i + 1 :])) for i in range(n))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_neighbours_are_told_apart_by_more_than_epsilon(name):
    release, domain, most, relation = CASES[name]

    @functools.cache
    def law(data: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
        with pytest.raises(Asked) as asked:
            release(tuple(record for _, record in data))
        parts, options = asked.value.args
        mechanisms = [mechanism for mechanism, _ in parts.values()]
        laws = [mechanism.logp(mechanism.outputs(), mechanism.check_statistic(statistic))
                for mechanism, statistic in parts.values()]  # fmt: skip
        copies = options.get("copies", 1)
        shown = [*parts, *(MechanismEntry.of(m).model_dump() for m in mechanisms)]
        together = joint_guarantee(mechanisms, copies)
        assert together.delta == 0
        return laws, shown, copies, together.epsilon

    def of(data: Records) -> tuple[Any, ...]:
        return law(tuple((type(record).__name__, record) for record in data))  # 1 is True, cached

    worst = 0.0
    for one, other in neighbours(domain, most, relation):
        laws, shown, copies, epsilon = of(one)
        further, also_shown, *_ = of(other)
        assert shown == also_shown
        both = zip(laws, further, strict=True)
        worst = max(worst, copies * sum(np.max(p - q) for p, q in both))
    assert 0.2 * epsilon < worst <= epsilon * (1 + 1e-9)
