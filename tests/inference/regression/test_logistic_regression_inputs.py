"""What a logistic regression refuses, and what its errors say."""

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.inference.regression.logistic_release import setting_of
from bayesdp.mechanisms.counts.cells import Axis

AXES = (Axis("dose", categories=(0, 4)), Axis("ill", categories=("no", "yes")))
CELLS = bdp.Release.of(
    bdp.mechanisms.PerturbedHistogramMechanism(1.2, 4, axes=AXES), [(4, 0, 2, 7)]
)
PUBLIC = bdp.Release.of(
    bdp.mechanisms.PerturbedHistogramMechanism(1.2, 4, bdp.Neighbours.REPLACE_ONE, 13, AXES),
    [(4, 0, 2, 7)],
)
ANSWERS = bdp.Release.of(
    bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 3)), n=3), [(0, 1, 1)]
)
DATA = {"dose": [0.0, 1.5, 4.0]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"formula": "ill"}, "formula is 'ill'"),
        ({"formula": "ill ~ "}, "formula is 'ill ~ '"),
        ({"formula": "~ dose"}, "formula is '~ dose'"),
        ({"formula": "ill ~ dose ~ sex"}, "formula is"),
        ({"formula": None}, "formula is None"),
        ({"formula": "ill ~ dose +"}, "it ends where a column should be"),
        ({"prior": (0.0,)}, "prior is"),
        ({"prior": 2.5}, "prior is 2.5"),
        ({"prior": (0.0, 0.0)}, "sds are positive"),
        ({"prior": (0.0, (1.0, -1.0))}, "sds are positive"),
        ({"prior": (0.0, np.inf)}, "prior is"),
        ({"prior": (np.nan, 1.0)}, "prior is"),
        ({"prior": ((), 1.0)}, "prior is"),
        ({"spread": 0.0}, "spread is 0.0"),
        ({"spread": np.inf}, "spread is inf"),
        ({"rate": 3.0}, "rate is 3.0"),
        ({"rate": (0.0, -1.0)}, "rate is"),
        ({"rate": ("a", 1.0)}, "rate is"),
        ({"factors": "dose"}, "factors is 'dose'"),
        ({"factors": None}, "factors is None; it must be a sequence of columns' names"),
        ({"formula": "ill ~ dose - 1"}, "the intercept is taken out, which the model always has"),
        ({"n": 0}, "n is 0"),
        ({"n": [0.5, 0.6]}, "n must be a number, a range"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.LogisticRegressionModel(**{"formula": "ill ~ dose", **given})


@pytest.mark.parametrize(
    ("release", "given", "message"),
    [
        (CELLS, {"formula": "sick ~ dose"}, r"'sick'; the table's columns are \['dose', 'ill'\]"),
        (CELLS, {"formula": "ill ~ age"}, "formula has 'age'"),
        (CELLS, {"formula": "ill ~ ill"}, "formula has 'ill'"),
        (CELLS, {"formula": "ill ~ dose", "success": "maybe"}, "success is 'maybe'"),
        (CELLS, {"formula": "ill ~ dose", "factors": ["age"]}, r"factors has \['age'\]"),
        (CELLS, {"formula": "ill ~ dose", "prior": ((0, 0, 0), 1.0)}, "prior has 3 means"),
        (CELLS, {"formula": "ill ~ dose", "prior": (0, (1.0,))}, "prior has 1 sds"),
        (CELLS, {"formula": "ill ~ dose", "categories": {"a": [1, 2]}}, "says its own"),
        (CELLS, {"formula": "ill ~ dose", "data": DATA}, "data is given, but the release's"),
        (PUBLIC, {"formula": "ill ~ dose", "n": 12}, "the release says n = 13"),
        (ANSWERS, {"formula": "ill ~ dose"}, "categories is None"),
        (ANSWERS, {"formula": "ill ~ age", "data": DATA}, "formula has 'age'"),
        (ANSWERS, {"formula": "dose ~ 1", "data": DATA}, "data has the response 'dose'"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {"dose": [1, 2]}}, "data has 2 records"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {"dose": [1, 2, np.nan]}}, "missing or inf"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {"dose": [1, 2, None]}}, "none missing"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {"dose": [1, 1, 1]}}, "a single value"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {}}, r"data has columns \[\]"),
        (ANSWERS, {"formula": "ill ~ dose", "data": {"a": [1], "b": [1, 2]}}, "of shapes"),
        (
            ANSWERS,
            {"formula": "ill ~ dose", "data": DATA, "categories": {"dose": [1, 2]}},
            "categories is of",
        ),
        (ANSWERS, {"formula": "ill ~ dose", "data": DATA, "zeros": [True]}, "zeros is given"),
    ],
)
def test_models_that_dont_fit_the_release(release, given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.LogisticRegressionModel(**given).fit(release, draws=10)


def test_releases_that_it_cant_read():
    made = bdp.LogisticRegressionModel("ill ~ dose")
    with pytest.raises(bdp.errors.InvalidInput, match="or a list of releases"):
        made.fit([])
    answers = bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 4, n=3), [(0, 1, 3)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match=r"a naive fit takes one bdp\.Release"):
        made.fit_naive([CELLS, CELLS])
    with pytest.raises(
        bdp.errors.InvalidInput, match="one of the 2 releases is by 'randomized_response'"
    ):
        made.fit([CELLS, answers])
    with bdp.reproducible(1):
        records = np.random.default_rng(1).uniform(-1, 1, (50, 2))
        bounds = {"dose": (-1, 1), "ill": (-1, 1)}
        moments = bdp.synthesizers.NoisyMomentsSynthesizer(bounds, epsilon=1.0).release(records)
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"bdp\.models\.RecordModel, with a logistic record model"
    ):
        made.fit(moments)
    count = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(10, 10, (1.0, 1.0)), [4])
    with pytest.raises(bdp.errors.InvalidInput, match="Dirichlet-multinomial copies of a table"):
        made.fit(count)
    groups = {"a": (CELLS.mechanism, CELLS.outputs), "b": (CELLS.mechanism, CELLS.outputs)}
    with pytest.raises(bdp.errors.InvalidInput, match="groups"):
        made.fit(bdp.Release.of_groups(groups))


def test_responses_of_other_than_two_categories():
    three = (AXES[0], Axis("ill", categories=("no", "some", "yes")))
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 6, axes=three), [(1, 2, 3, 4, 5, 6)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="'ill' has 3 categories"):
        bdp.LogisticRegressionModel("ill ~ dose").fit(release)
    edges = (AXES[0], Axis("ill", edges=(0.0, 1.0, 2.0)))
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, axes=edges), [(1, 2, 3, 4)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="'ill' has 2 intervals"):
        bdp.LogisticRegressionModel("ill ~ dose").fit(release)


def test_engines_that_cant_sample_it():
    made = bdp.LogisticRegressionModel("ill ~ dose")
    with pytest.raises(bdp.errors.InvalidInput, match="don't sum out: their total is known"):
        made.fit(PUBLIC, engine="hmc")
    made = bdp.LogisticRegressionModel("ill ~ dose", data=DATA)
    with pytest.raises(bdp.errors.InvalidInput, match="whose records sum out"):
        made.fit(ANSWERS, engine="gibbs")


def test_copies_are_known_by_their_view():
    """A conjugate draw of records of a table's cells has the Dirichlet-multinomial law."""
    prior, z = (1.0, 2.0, 0.5, 3.0), [(2, 0, 1, 3), (1, 1, 1, 3)]
    other = bdp.mechanisms.ConjugateMechanism("categorical", "synthetic_one", 9, prior, size=6)
    made = bdp.mechanisms.DirichletMultinomialMechanism(9, 6, 4, prior)
    categories = {"dose": (0, 1), "ill": (0, 1)}
    model = bdp.LogisticRegressionModel("ill ~ dose", categories=categories)
    assert model.reads(other)
    of_one, of_other = (setting_of(model, bdp.Release.of(m, z)).problem for m in (made, other))
    assert of_one.sizes == of_other.sizes == [(9, 1.0)]
    np.testing.assert_array_equal(of_one.released.table, of_other.released.table)


def test_copies_need_an_n():
    made = bdp.mechanisms.DirichletMultinomialMechanism(None, 6, 4, 1.0, (), AXES)
    release = bdp.Release.of(made, [(2, 0, 1, 3)])
    with pytest.raises(bdp.errors.InvalidInput, match="n is confidential"):
        bdp.LogisticRegressionModel("ill ~ dose").fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="zeros is given"):
        bdp.LogisticRegressionModel("ill ~ dose", n=9, zeros=np.zeros(4, bool)).fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="more than 20,000,000 values"):
        bdp.LogisticRegressionModel("ill ~ dose", n=10**7).fit(release)


def test_there_is_no_naive_posterior_of_negative_counts():
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism(1.2, dimension=4)
    release = bdp.Release.of(mechanism, [(4, -3, 2, 7)])
    categories = {axis.name: axis.categories for axis in AXES}
    made = bdp.LogisticRegressionModel("ill ~ dose", categories=categories)
    with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
        made.fit_naive(release)


def test_too_many_combinations_of_predictors():
    axes = (Axis("a", edges=tuple(float(k) for k in range(1027))), AXES[1])
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2052, axes=axes), [(1,) * 2052]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="1,026 combinations"):
        bdp.LogisticRegressionModel("ill ~ a").fit(release)
