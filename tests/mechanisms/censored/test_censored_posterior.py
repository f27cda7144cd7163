"""The mechanism of censored posteriors: what it costs, what it can release, what it refuses."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.privacy.neighbours import Neighbours

COLUMNS = (("y", "number"), ("k", "integer"))


def test_epsilon_is_the_width_and_twice_that_where_a_record_is_replaced():
    hidden = CensoredPosteriorMechanism(None, 3, -1.0, 0.5, COLUMNS)
    assert hidden.guarantee().epsilon == 1.5
    assert hidden.guarantee().neighbours is Neighbours.ADD_REMOVE
    assert hidden.guarantee(copies=4).epsilon == 6.0
    assert hidden.guarantee(neighbours=Neighbours.REPLACE_ONE).epsilon == 3.0
    assert hidden.removal_guarantee(copies=2).epsilon == 3.0
    public = CensoredPosteriorMechanism(10, 3, -1.0, 0.5, COLUMNS)
    assert public.guarantee(copies=2).epsilon == 6.0
    assert public.guarantee().neighbours is Neighbours.REPLACE_ONE
    assert "number of records is public" in " ".join(public.guarantee().assumptions)
    with pytest.raises(bdp.errors.InvalidInput, match="promises under"):
        public.guarantee(neighbours=Neighbours.ADD_REMOVE)
    for guarantee in (hidden.guarantee(), public.guarantee()):
        assert guarantee.strength is bdp.Strength.CONDITIONAL
        assert "convergence diagnostics are no proof" in guarantee.assumptions[0]
        assert "(1 + e^epsilon) gamma" in guarantee.assumptions[0]
        assert "proper" in guarantee.assumptions[1]


def test_epsilon_is_never_rounded_down():
    random = np.random.default_rng(2)
    for _ in range(200):
        low, high = np.sort(random.normal(size=2)).tolist()
        copies = int(random.integers(1, 9))
        epsilon = (
            CensoredPosteriorMechanism(None, 1, low, high, COLUMNS).guarantee(copies=copies).epsilon
        )
        exact = copies * (Fraction(high) - Fraction(low))
        assert exact <= Fraction(epsilon) <= exact * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n is 0"),
        ({"size": 0}, "size is 0"),
        ({"engine": "grid"}, "engine is 'grid'"),
        ({"lower": 1.0}, "lower and upper"),
        ({"upper": math.inf}, "lower and upper"),
        ({"lower": math.nan}, "lower and upper"),
        ({"lower": "0"}, "lower and upper"),
        ({"columns": ()}, "columns is"),
        ({"columns": (("y", "text"),)}, "columns is"),
        ({"columns": (("y",),)}, "columns is"),
        ({"columns": (("", "number"),)}, "columns is"),
        ({"columns": (("y", "number"), ("y", "number"))}, "columns is"),
        ({"columns": (("copy", "number"),)}, "are taken"),
        ({"axes": (Axis("y", categories=("a", "b")),)}, "axes is"),
        ({"axes": (Axis("k", edges=(0.0, 1.0)),)}, "axes is"),
        ({"axes": (Axis("k", categories=("a", "b")),) * 2}, "axes is"),
        ({"axes": ("k",)}, "axes is"),
        ({"axes": ({"name": "k", "categories": ("a", "a")},)}, "must be different labels"),
    ],
)
def test_bad_parameters_are_refused(change: dict[str, Any], message: str):
    good = {"n": 5, "size": 2, "lower": -1.0, "upper": 0.0, "columns": COLUMNS}
    CensoredPosteriorMechanism(**good)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        CensoredPosteriorMechanism(**{**good, **change})


def test_outputs_are_sorted_tables_of_their_columns_kinds():
    mechanism = CensoredPosteriorMechanism(5, 2, -1.0, 0.0, COLUMNS)
    assert mechanism.check_output([(2, 1), (1.5, 7)]) == ((1.5, 7), (2.0, 1))
    for bad, message in [
        ([(1.0, 1)], "rows"),
        ([(1.0, 1), (1.0,)], "rows"),
        ([(1.0, 1), (1.0, 1.5)], "that aren't allowed"),
        ([(1.0, 1), (math.nan, 1)], "that aren't allowed"),
        ([(1.0, 1), ("a", 1)], "that aren't allowed"),
    ]:
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            mechanism.check_output(bad)
    labelled = CensoredPosteriorMechanism(
        5, 2, -1.0, 0.0, COLUMNS, axes=(Axis("k", categories=("no", "yes")),)
    )
    outputs = [labelled.check_output([(2, 1), (1.5, 0)])]
    encoded = labelled.encode(outputs)
    assert encoded["k"].tolist() == ["no", "yes"]
    assert [labelled.check_output(each) for each in labelled.decode(encoded)] == outputs
    for wrong in (2, -1, 0.5):
        with pytest.raises(bdp.errors.InvalidInput, match="labels' numbers from 0 to 1"):
            labelled.check_output([(2, wrong), (1.5, 0)])
    with pytest.raises(bdp.errors.InvalidInput, match="copies is 0"):
        mechanism.guarantee(copies=0)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((), "it must have a name"),
        ((("a", 0.0, 1.0),), "it must have a name"),
        ((("a", 1.0, 1.0, 5),), "bounds of 'a'"),
        ((("a", 0.0, math.inf, 5),), "bounds of 'a'"),
        ((("a", 0.0, 1.0, 0),), "number of cells of 'a' is 0"),
        ((("a", 0.0, 1.0, 1),), "from 2 to"),
        ((("a", 0.0, 1.0, 2000), ("b", 0.0, 1.0, 2000)), "grid has 4,000,000 cells"),
    ],
)
def test_bad_grids_are_refused(grid, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        CensoredPosteriorMechanism(None, 2, -1.0, 1.0, (("y", "number"),), grid)


def test_a_grid_makes_the_same_epsilon_proved():
    columns = (("y", "number"),)
    chains = CensoredPosteriorMechanism(None, 2, -1.0, 1.0, columns).guarantee(copies=3)
    grid = CensoredPosteriorMechanism(None, 2, -1.0, 1.0, columns, (("a", 0, 1, 5),)).guarantee(
        copies=3
    )
    assert grid.epsilon == chains.epsilon
    assert (chains.strength, grid.strength) == (bdp.Strength.CONDITIONAL, bdp.Strength.PROVED)


@pytest.mark.parametrize("model", [bdp.models.BetaModel(n=3), bdp.BinomialModel(n=3)])
def test_a_fit_says_why_there_is_no_posterior(model):
    mechanism = bdp.mechanisms.CensoredPosteriorMechanism(None, 2, -1.0, 1.0, (("y", "number"),))
    release = bdp.Release.of(mechanism, [[(0.3,), (0.4,)]])
    with pytest.raises(bdp.errors.InvalidInput, match=r"a release doesn't hold.*bdp\.combine"):
        model.fit(release)
