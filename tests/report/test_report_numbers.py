"""How the report writes percentages and privacy numbers, and where its axes begin and end."""

import math
import unicodedata

import pytest

from bayesdp.report.axis import axis_over
from bayesdp.report.html import METHODS, number, percent, rounded_up
from bayesdp.report.summary import RULES


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "12.3%"),
        (1, "100%"),
        (0, "0%"),
        (0.00589, "0.589%"),
        (-0.116, "\N{MINUS SIGN}11.6%"),
        (1.14, "114%"),
        (-math.inf, "under \N{MINUS SIGN}200%"),
        (1e40, "over 200%"),
        (math.nan, "undefined"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (2.0, "2"),
        (2.0000000000000004, "2"),
        (2.0001, "2.001"),
        (999.999, "1000"),
        (20.0855, "20.09"),
        (1e9, "1.000 \N{MULTIPLICATION SIGN} 10\N{SUPERSCRIPT NINE}"),
        (
            3e-7,
            "3.000 \N{MULTIPLICATION SIGN} 10\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT SEVEN}",
        ),
        (math.inf, "infinity"),
    ],
)
def test_privacy_numbers_round_up(value, text):
    assert rounded_up(value) == text


ORDINARY = {
    ord(unicodedata.lookup(f"SUPERSCRIPT {name}")): digit
    for name, digit in zip(
        ["MINUS", "ZERO", "ONE", "TWO", "FIVE"], ["-", "0", "1", "2", "5"], strict=True
    )
}


@pytest.mark.parametrize("value", [0.3, 1.467, 12345.678, 1e-5, 7.5e12])
def test_rounded_up_is_never_below(value):
    text = (
        rounded_up(value)
        .replace(",", "")
        .replace(" \N{MULTIPLICATION SIGN} 10", "e")
        .translate(ORDINARY)
    )
    assert value * (1 - 1e-12) <= float(text) <= value * 1.001


def test_number():
    assert number(201.29123, 4) == "201.3"
    assert number(2019.01, 4) == "2,019"
    assert number(5.87197) == "5.87"


@pytest.mark.parametrize("values", [[0.2, 0.7], [0.5], [0.0], [1.0], [-4.0, 9.0], [0.101, 0.102]])
@pytest.mark.parametrize("snap", [True, False])
def test_axis_shows_its_values(values, snap):
    axis = axis_over(values, snap=snap)
    assert 0 <= axis.low < axis.high <= 1
    assert all(axis.low <= min(max(v, 0), 1) <= axis.high for v in values)
    assert 2 <= len(axis.ticks) <= 11
    assert len({axis.text(tick) for tick in axis.ticks}) == len(axis.ticks)
    positions = [axis.position(tick) for tick in axis.ticks]
    assert positions == sorted(positions)
    assert positions[0] >= 0
    assert positions[-1] <= 100


def test_axis_cuts_what_lies_outside():
    axis = axis_over([-3.0, 0.4, 2.0])
    assert (axis.low, axis.high) == (0, 1)
    assert axis.position(-3.0) == 0
    assert axis.position(2.0) == 100
    assert axis.cuts(2.0)
    assert not axis.cuts(0.4)


def test_every_method_has_a_name():
    assert set(METHODS) == {"posterior", "naive", *RULES}
