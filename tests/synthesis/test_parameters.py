"""Parameters that synthesizers share."""

import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput


@pytest.mark.parametrize(
    "made",
    [
        lambda public: bdp.BetaBinomialSynthesizer(1.0, size=5, public_n=public),
        lambda public: bdp.synthesizers.DirichletMultinomialSynthesizer(
            1.0, size=5, public_n=public
        ),
        lambda public: bdp.synthesizers.PoissonGammaSynthesizer(
            1.0, [1.0, 2.0], total=5, public_n=public
        ),
        lambda public: bdp.ModipsSynthesizer(
            bdp.families.Bernoulli(), epsilon=1.0, size=5, public_n=public
        ),
    ],
)
@pytest.mark.parametrize("public", ["no", None, 0])
def test_whether_n_is_public_is_true_or_false(made, public):
    """The text no is true in Python, and would publish the number of records."""
    with pytest.raises(InvalidInput, match=r"public_n is .*; it must be True or False"):
        made(public)
    assert made(True).public_n
    assert not made(False).public_n


def test_whether_the_total_is_fixed_is_true_or_false():
    with pytest.raises(InvalidInput, match="fixed is 'no'"):
        bdp.synthesizers.PoissonGammaSynthesizer(1.0, [1.0, 2.0], fixed="no")


@pytest.mark.parametrize("wrong", [["laplace"], {}, None, 3])
@pytest.mark.parametrize("argument", ["method", "noise", "bounding", "allocation"])
def test_a_choice_is_one_of_the_texts(argument, wrong):
    with pytest.raises(InvalidInput, match=f"{argument} is .*; it must be one of"):
        bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=1.0, **{argument: wrong})
