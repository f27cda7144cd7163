"""Spaces of records, answers and several outputs: what is refused, and what a table must hold."""

import math
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.core.outputs import OutputSpace, WholeNumbers
from bayesdp.core.outputs.answers import Answers
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.outputs.several import Several

ALONE = Records(2, (Column(low=0.0, high=1.0, ends=False),), alone=True)
MIXED = Records(2, (Column("x", -1.0, 4.0), Column("k", whole=True)))
ANSWERS = Answers(2, 3)
NESTED = Several(ALONE, 3)
OUTPUTS: list[tuple[OutputSpace, list[Any]]] = [
    (ALONE, [(0.25, 0.75), (0.5, 0.5), (0.125, 0.5)]),
    (MIXED, [((-1.0, 2**53 + 1), (4.0, -(2**63))), ((0.5, 0), (0.5, 2**63 - 1))]),
    (ANSWERS, [(0, 2), (1, 1), (2, 0)]),
    (NESTED, [((0.25, 0.75), (0.5, 0.5), (0.125, 0.5)), ((0.5, 0.5),) * 3]),
    (Several(WholeNumbers(0, 4), 2), [(0, 4), (3, 3)]),
]
each = pytest.mark.parametrize(("space", "outputs"), OUTPUTS)


def table(space: OutputSpace, outputs: list[Any]) -> dict[str, np.ndarray]:
    return {name: np.asarray(values) for name, values in space.encode(outputs).items()}


@each
def test_outputs_come_back_in_their_order_whatever_the_rows(space, outputs):
    columns = table(space, outputs)
    shuffled = np.random.default_rng(1).permutation(len(columns["copy"]))
    back = space.decode({name: values[shuffled] for name, values in columns.items()})
    assert [space.check(output) for output in back] == outputs


@each
def test_a_table_without_a_row_or_with_one_twice_is_refused(space, outputs):
    columns = table(space, outputs)
    rows = np.arange(len(columns["copy"]))
    for kept in (rows[1:], np.append(rows, 0), np.append(rows[1:], rows[-1])):
        damaged = {name: values[kept] for name, values in columns.items()}
        with pytest.raises(bdp.errors.InvalidInput):
            [space.check(output) for output in space.decode(damaged)]


@pytest.mark.parametrize(("space", "outputs"), OUTPUTS[:2])
@pytest.mark.parametrize("copy", [[1, 1, 2, 2], [0, 0, 2, 2], [0, 0, 0, 1], [math.nan] * 4])
def test_copies_of_records_are_numbered_from_0(space, outputs, copy):
    columns = table(space, outputs[:2]) | {"copy": np.array(copy)}
    with pytest.raises(bdp.errors.InvalidInput, match="for each copy, numbered from 0"):
        space.decode(columns)


@pytest.mark.parametrize(
    ("space", "output", "message"),
    [
        (ALONE, (0.5,), "size = 2 records"),
        (ALONE, 0.5, "size = 2 records"),
        (ALONE, ((0.5,), (0.5,)), "size = 2 records"),
        (ALONE, (0.0, 0.5), "both excluded"),
        (ALONE, (0.5, 1.0), "both excluded"),
        (ALONE, (math.nan, 0.5), "that aren't allowed"),
        (ALONE, ("0.5", "0.5"), "that aren't allowed"),
        (MIXED, ((0.5, 1),), "size = 2 rows of 2 numbers: x, k"),
        (MIXED, ((0.5, 1), (0.5,)), "size = 2 rows of 2 numbers: x, k"),
        (MIXED, 5, "size = 2 rows of 2 numbers: x, k"),
        (MIXED, ((0.5, 1), (4.5, 1)), "'x' that aren't allowed.* from -1.0 to 4.0"),
        (MIXED, ((0.5, 1), (0.5, 1.0)), "'k' that aren't allowed.* whole numbers"),
        (MIXED, ((0.5, 1), (0.5, True)), "'k'"),
        (MIXED, ((0.5, 1), (0.5, 2**63)), "'k'"),
        (MIXED, ((math.nan, 1), (0.5, 1)), "'x'"),
        (ANSWERS, (0, 3), "n = 2 integers from 0 to 2"),
        (ANSWERS, (0.0, 1.0), "n = 2 integers from 0 to 2"),
        (NESTED, ((0.5, 0.5),) * 2, "draws = 3 copies"),
        (NESTED, 0.5, "draws = 3 copies"),
        (NESTED, ((0.5, 0.5), (0.5, 0.5), (0.5,)), "size = 2 records"),
        (NESTED, ((0.5, 0.5), (0.5, 0.5), (0.5, 1.5)), "that aren't allowed"),
    ],
)
def test_what_cannot_be_is_refused(space, output, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        space.check(output)


def test_records_are_a_multiset_with_every_digit():
    assert MIXED.check([(0.5, 2**53 + 1), (0.5, 2**53)]) == ((0.5, 2**53), (0.5, 2**53 + 1))
    assert MIXED.check(np.array([[2, 1], [1, 2]])) == ((1.0, 2), (2.0, 1))
    shown = MIXED.records(((0.5, 2**53), (0.5, 2**53 + 1)))
    assert shown["k"].tolist() == [2**53, 2**53 + 1]
    assert (shown["x"].dtype, shown["k"].dtype) == (np.float64, np.int64)


def test_all_outputs_are_listed_where_they_are_few():
    assert ALONE.every() is MIXED.every() is NESTED.every() is None
    nine = [[i, j] for i in range(3) for j in range(3)]
    assert Several(WholeNumbers(0, 2), 2).every().tolist() == nine
    assert Several(WholeNumbers(0, 9), 6).every() is None
    assert ANSWERS.every().tolist() == nine
    assert Answers(30, 2).every() is None
