"""Copies by sequential Dirichlet-multinomials: their law, what one record moves, and its price."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp

FALSE_ALARM = 1e-6
Labels = bdp.synthesizers.CategoricalColumns
Mechanism = bdp.mechanisms.SequentialDirichletMultinomialMechanism
ADD, REPLACE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE
JOINT = (Labels({"a": (0, 1), "b": (0, 1)}, prior=0.7),)
GIVEN = (Labels({"a": (0, 1)}, prior=1.3), Labels({"b": (0, 1)}, by=["a"], prior=0.4))
TREE = (
    Labels({"a": (0, 1), "b": (0, 1)}, prior=0.6),
    Labels({"c": (0, 1)}, by=["b"], prior=0.3),
)
CHAIN = (GIVEN[0], GIVEN[1], Labels({"c": (0, 1)}, by=["b"], prior=0.9))
FORKED = (
    Labels({"a": (0, 1)}, prior=2.0),
    Labels({"b": (0, 1)}, prior=0.5),
    Labels({"c": (0, 1)}, by=["a", "b"], prior=0.8),
)


def names_of(steps: Any) -> list[str]:
    return [name for step in steps for name, _ in step.columns]


def every_record(steps: Any) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=len(names_of(steps))))


def counts(steps: Any, rows: Any) -> np.ndarray:
    """The statistic of records: by step, by cell of its given columns and of its own."""
    names, found = names_of(steps), []
    for step in steps:
        own = [*step.by, *(name for name, _ in step.columns)]
        cells = Counter(tuple(row[names.index(name)] for name in own) for row in rows)
        found += [cells[cell] for cell in itertools.product((0, 1), repeat=len(own))]
    return np.array(found)


def log_law(steps: Any, copy: Any, rows: Any) -> float:
    """By the sequence of records: each step's label by the urn of its own cell so far."""
    names, log = names_of(steps), 0.0
    for step in steps:
        own = [*step.by, *(name for name, _ in step.columns)]
        cells = 2 ** len(step.columns)
        urns = Counter(tuple(row[names.index(name)] for name in own) for row in rows)
        for record in copy:
            cell = tuple(record[names.index(name)] for name in own)
            alike = sum(k for key, k in urns.items() if key[: len(step.by)] == cell[: len(step.by)])
            log += math.log((step.prior + urns[cell]) / (cells * step.prior + alike))
            urns[cell] += 1
    orders = special.gammaln(len(copy) + 1)
    return log + orders - sum(special.gammaln(k + 1) for k in Counter(copy).values())


@pytest.mark.parametrize("steps", [JOINT, GIVEN, TREE, CHAIN, FORKED])
def test_its_law_is_that_of_urns_and_sums_to_one(steps):
    records = every_record(steps)
    rows = [records[0], records[0], records[2], records[-1]]
    made, x = Mechanism(steps, 3, 4), counts(steps, rows)
    copies = list(itertools.combinations_with_replacement(records, 3))
    laws = np.array([float(made.logp(copy, x)) for copy in copies])
    assert math.fsum(np.exp(laws)) == pytest.approx(1, abs=1e-12)
    assert laws == pytest.approx([log_law(steps, copy, rows) for copy in copies], abs=1e-11)
    several = np.stack([x, counts(steps, rows[::-1]), counts(steps, [records[1]] * 4)])
    assert made.logp(copies[5], several)[:2] == pytest.approx(2 * [laws[5]], abs=1e-12)


@pytest.mark.parametrize("steps", [TREE, FORKED])
def test_draws_follow_the_law(steps):
    records, trials = every_record(steps), 40_000
    rows = [records[0]] * 3 + [records[3], records[-1]]
    made, x = Mechanism(steps, 2), counts(steps, rows)
    with bdp.reproducible(2):
        drawn = made.release(x, trials)
    seen = Counter(tuple(sorted(map(tuple, copy))) for copy in drawn.tolist())
    copies = list(itertools.combinations_with_replacement(records, 2))
    wanted = np.exp([float(made.logp(copy, x)) for copy in copies]) * trials
    found = np.array([seen[copy] for copy in copies])
    assert found.sum() == trials
    assert stats.chisquare(found, wanted / wanted.sum() * trials).pvalue > FALSE_ALARM


def worst(steps: Any, size: int, n: int, relation: bdp.Neighbours) -> float:
    """The largest log ratio of all copies, over all neighbours of n records or fewer."""
    records = every_record(steps)
    made = Mechanism(steps, size, None if relation is ADD else n)
    sizes = range(n) if relation is ADD else [n - 1]
    bases = [rows for k in sizes for rows in itertools.combinations_with_replacement(records, k)]
    found = 0.0
    before = np.stack([counts(steps, rows) for rows in bases])
    after = np.stack([counts(steps, [*rows, new]) for rows in bases for new in records])
    after = after.reshape(len(bases), len(records), -1)
    for copy in itertools.combinations_with_replacement(records, size):
        law = made.logp(copy, after)
        if relation is ADD:
            found = max(found, float(np.abs(law - made.logp(copy, before)[:, None]).max()))
        else:
            found = max(found, float(np.ptp(law, axis=1).max()))
    return found


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    ("steps", "size", "n"),
    [
        (JOINT, 3, 3),
        (GIVEN, 4, 4),
        (GIVEN, 1, 3),
        (TREE, 2, 3),
        pytest.param(TREE, 3, 2, marks=pytest.mark.slow),
        pytest.param(CHAIN, 3, 3, marks=pytest.mark.slow),
        pytest.param(FORKED, 3, 3, marks=pytest.mark.slow),
    ],
)
def test_no_neighbours_and_no_copy_exceed_the_promise(steps, size, n, relation):
    claim = Mechanism(steps, size, None if relation is ADD else n).pure_epsilon()
    found = worst(steps, size, n, relation)
    assert 0.3 * claim < found <= claim * (1 + 1e-12)
    if steps is JOINT and relation is REPLACE:
        assert found == pytest.approx(claim, abs=1e-12)


def log_ratio(made: Any, copy: Any, rows: Any, one: Any, other: Any) -> float:
    """Log ratio of a copy's probabilities; records are given with how many there are of each."""

    def weighed(extra: Any) -> np.ndarray:
        each = [k * counts(made.steps, [row]) for row, k in rows]
        return sum(each) + (counts(made.steps, [extra]) if extra else 0)

    return float(made.logp(copy, weighed(other)) - made.logp(copy, weighed(one)))


@pytest.mark.parametrize(
    ("steps", "others"),
    [
        (JOINT, [(0, 0)]),
        (TREE, [(0, 0, 0), (0, 1, 0)]),  # those that agree on b, and none on a and b, or b and c
        ((TREE[0], Labels({"c": (0, 1)}, by=["a"])), [(0, 0, 0), (1, 0, 0)]),
    ],
)
def test_the_price_of_an_addition_is_approached(steps, others):
    made = Mechanism(steps, 3)
    new = (1,) * len(others[0])
    found = log_ratio(made, [new] * 3, [(row, 10**8) for row in others], None, new)
    assert found == pytest.approx(made.pure_epsilon(), abs=1e-6)


def test_a_step_that_is_all_given_to_another_spends_less_than_it_costs():
    """And priors that fit together, 2 alpha of the second in the first, cost what one step does."""
    fitting = (Labels({"a": (0, 1)}, prior=1.4), Labels({"b": (0, 1)}, by=["a"], prior=0.7))
    found = worst(fitting, 3, 4, ADD)
    assert found == pytest.approx(worst(JOINT, 3, 4, ADD), abs=1e-12)
    assert found < Mechanism(JOINT, 3).pure_epsilon() < 0.7 * Mechanism(fitting, 3).pure_epsilon()


def test_a_record_that_changes_rows_may_exceed_one_addition():
    """Sum of log(1 + m / alpha) isn't what a replacement costs: this refutes it."""
    steps = (Labels({"a": (0, 1)}, prior=1e9), Labels({"b": (0, 1)}, by=["a"], prior=1.0))
    n, size = 10**6, 4
    made = Mechanism(steps, size, n)
    best = max(
        log_ratio(made, [(1, 1)] * (size - b) + [(0, 0)] * b, [((1, 0), n - 1)], (0, 1), (1, 1))
        for b in range(size + 1)
    )
    assert best == pytest.approx(math.log(6), abs=1e-4)  # (1 + 3) (1 + 1 / 2)
    assert sum(math.log1p(size / alpha) for alpha in made.alpha) < math.log(5) + 1e-6
    assert best <= made.pure_epsilon() == pytest.approx(math.log(49 / 8), abs=1e-6)


@pytest.mark.parametrize("n", [None, 700])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 9.0, 800.0])
@pytest.mark.parametrize("weights", [None, (0.7, 0.3)])
def test_priors_are_the_weakest_that_keep_the_promise(n, epsilon, weights):
    steps = [Labels({"a": (0, 1), "b": (0, 1)}), Labels({"c": (0, 1, 2)}, by=["b"])]
    made = Mechanism.calibrate(
        epsilon=epsilon, steps=steps, size=300, n=n, copies=3, weights=weights
    )
    spent = made.guarantee(copies=3).epsilon
    assert epsilon * (1 - 1e-9) < spent <= epsilon
    share = (weights or (0.5, 0.5))[0]
    assert made.costs()[0] == pytest.approx(share * epsilon / 3, rel=1e-9)
    assert made.relation() is (ADD if n is None else REPLACE)


def test_removal_costs_no_more_than_addition_and_a_replacement_less_than_both():
    made = Mechanism(TREE, 5)
    assert made.removal_guarantee().epsilon <= made.guarantee().epsilon
    moved = made.guarantee(neighbours=REPLACE).epsilon
    assert made.pure_epsilon() < moved < 2 * made.pure_epsilon()
    assert made.guarantee(copies=3).epsilon == pytest.approx(3 * made.pure_epsilon(), rel=1e-12)
    assert made.profile().delta(0.5 * made.pure_epsilon()) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Mechanism((bdp.synthesizers.NumericColumns({"x": (0, 1)}),), 3),
            r"numeric columns \['x'\].*SequentialModipsSynthesizer",
        ),
        (lambda: Mechanism((), 3), "steps is"),
        (lambda: Mechanism(TREE, 0), "size is 0"),
        (lambda: Mechanism(TREE, 3, 0), "n is 0.*None if confidential"),
        (lambda: Mechanism.calibrate(epsilon=1, steps=TREE, size=3), r"\[0.6, 0.3\].*leave prior"),
        (
            lambda: Mechanism.calibrate(epsilon=1, steps=[Labels({"a": (0, 1)})], size=3,
                                        weights=[0.5, 0.5]),
            "weights has 2 numbers",
        ),
        (lambda: Mechanism(GIVEN, 3, 2).release([1, 1, 1, 0, 1, 1]), "count the same records"),
        (lambda: Mechanism(GIVEN, 3, 2).release([2, 1, 1, 1, 0, 1]), "count the same records"),
        (lambda: Mechanism(GIVEN, 3).release([2, -1, 1, 0, 0, 0]), "whole numbers, at least 0"),
        (lambda: Mechanism(GIVEN, 3).release([2, 1]), "6 counts"),
        (lambda: Mechanism(GIVEN, 3, 2).guarantee(neighbours=ADD), "promises under"),
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_refused(make, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        make()
