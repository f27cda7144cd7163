"""Whole numbers on a lattice coarser than they are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from bayesdp.mechanisms.noise.lattice import FURTHEST, to_steps


@pytest.mark.parametrize("bits", [1, 2, 5, 10])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_beyond_2_to_the_53_are_rounded_once(bits, kind):
    """Rounded to a float before, some that are one step apart would be two apart."""
    step, generator = 2**bits, np.random.default_rng(bits)
    x = np.concatenate(
        [2**e + generator.integers(-8 * step, 8 * step, 500) for e in range(52, 53 + bits)]
    )
    x = x[x <= (FURTHEST - 1) * step].astype(kind)
    assert x.max() > 2**53 or bits == 1
    places = {"dimension": None, "whole": False, "within": None}
    found = to_steps(x, float(step), **places)
    assert found.tolist() == [math.floor(Fraction(v, step) + Fraction(1, 2)) for v in x.tolist()]
    further = to_steps(x + kind(step), float(step), **places)
    assert np.all(further - found == 1)
    negative = to_steps(-x.astype(np.int64), float(step), **places)
    assert negative.tolist() == [
        math.floor(Fraction(-v, step) + Fraction(1, 2)) for v in x.tolist()
    ]
