"""Spaces of outputs refuse what can't be an output, whatever its type."""

import math
from fractions import Fraction

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.core.outputs.counts import CellCounts, Probabilities
from bayesdp.core.outputs.named import NamedColumns, NamedNumbers, NamedRows
from bayesdp.core.outputs.numbers import Numbers

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    "made",
    [
        bdp.mechanisms.DirichletMultinomialMechanism(None, 4, 3, 1.0),
        bdp.mechanisms.PoissonGammaMechanism(None, (1.0, 2.0, 3.0), 1.0, 4),
        CellCounts(3, 4),
    ],
)
def test_counts_whose_sum_wraps_around_are_refused(made):
    check = made.check if isinstance(made, CellCounts) else made.check_output
    assert check(np.array([1, 0, 3], dtype=np.uint8)) == (1, 0, 3)
    for wrong in ((LARGEST, LARGEST, 6), np.array([LARGEST, LARGEST, 6]), (2**64, 0, 4 - 2**64)):
        with pytest.raises(bdp.errors.InvalidInput, match="sum is 4"):
            check(wrong)


@pytest.mark.parametrize("wrong", [{0: 1, 1: 1, 2: 1}, {1, 2}, iter((1, 1, 2)), "112", None, 4])
def test_what_has_no_order_or_is_no_vector_is_refused(wrong):
    steps = (1.0, 1.0, 1.0)
    for space in (CellCounts(3, 4), Numbers(3, True), NamedNumbers(("a", "b", "c"), steps)):
        with pytest.raises(bdp.errors.InvalidInput):
            space.check(wrong)


def test_numbers_beyond_64_bits_fit_in_no_table():
    for space in (Numbers(whole=True), Numbers(1, True)):
        assert space.check([LARGEST] if space.dimension else LARGEST) in (LARGEST, (LARGEST,))
        with pytest.raises(bdp.errors.InvalidInput, match="releases integers"):
            space.check([LARGEST + 1] if space.dimension else LARGEST + 1)


@pytest.mark.parametrize(
    ("space", "good", "wrong"),
    [
        (Numbers(step=0.25), (0.5, Fraction(1, 4)), (0.3, math.nan, math.inf, True)),
        (Numbers(bounds=(0, None)), (0.3, 7), (-0.1, math.inf)),
        (Numbers(whole=True, threshold=3), (0, 3, 5.0), (1, 2, -4, 3.5)),
        (Numbers(4, True, rows=2), ([1, 2, 3, 4], [[1, 2], [3, 4]]), ([[1, 2, 3], [4]], [1, 2])),
        (Numbers(2, True, zeros=(1,)), ((5, 0), (-5, 0.0)), ((5, 1),)),
        (Probabilities(), (0, 0.5, 1), (-0.1, 1.1, math.nan, (0.5,))),
        (Probabilities(2), ((0.5, 0.5), (1, 0)), ((0.5, 0.6), (1.0,), 1.0, (1.5, -0.5))),
    ],
)
def test_a_space_has_these_and_not_those(space, good, wrong):
    for output in good:
        checked = space.check(output)
        assert space.check(checked) == checked
        assert (
            space.decode(space.encode([checked, checked]))
            == [
                list(checked)
                if isinstance(checked, tuple) and isinstance(space, Numbers)
                else checked
            ]
            * 2
        )
    for output in wrong:
        with pytest.raises(bdp.errors.InvalidInput):
            space.check(output)


@pytest.mark.parametrize("kind", [NamedNumbers, NamedRows, NamedColumns])
def test_named_numbers_come_back_whatever_the_order_of_rows(kind):
    space = kind(("edges", "gwesp"), (1.0, 0.5), "statistic", (True, False))
    outputs = [space.check(each) for each in ((3, 0.5), (np.int8(-2), 4.0))]
    assert [type(value) for value in outputs[1]] == [int, float]
    columns = {name: np.asarray(values)[::-1] for name, values in space.encode(outputs).items()}
    assert [space.check(each) for each in space.decode(columns)] == outputs
    with pytest.raises(bdp.errors.InvalidInput, match=r"multiples of 0\.5"):
        space.check((3, 0.3))
    with pytest.raises(bdp.errors.InvalidInput, match="integers"):
        space.check((2.5, 0.5))
