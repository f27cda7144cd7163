"""Categories are given by the columns' names, and other forms are refused in plain words."""

import pytest

import bayesdp as bdp


@pytest.mark.parametrize("given", [["low", "high"], (1, 2), "low", []])
@pytest.mark.parametrize(
    "kind",
    [bdp.synthesizers.DirichletMultinomialSynthesizer, bdp.synthesizers.LogLinearSynthesizer],
    ids=lambda kind: kind.__name__,
)
def test_categories_without_names_are_refused(kind, given):
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"categories is .*a mapping of each column's name"
    ):
        kind(epsilon=1.0, categories=given)


def test_a_histogram_of_categories_without_names_is_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="a mapping of each column's name"):
        bdp.synthesizers.PerturbedHistogramSynthesizer(1.0, categories=["low", "high"])
