"""What a record model refuses, and in which words."""

import numba
import numpy as np
import pytest

import bayesdp as bdp
from tests.inference import record_functions as f

REPLACE = bdp.Neighbours.REPLACE_ONE
SUM = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0), [3.0])


def plain(rng, theta):
    theta[0] = 1.0


def model(**changes):
    given = {
        "parameters": {"mu": ()},
        "start": f.normal_start,
        "posterior": f.normal_given,
        "statistic": f.itself,
        "record": f.normal,
        "n": 20,
    }
    return bdp.models.RecordModel(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": plain}, r"start is a function.*isn't compiled; write @numba.njit"),
        ({"posterior": 3}, "posterior is 3, which isn't compiled"),
        ({"start": f.itself, "statistic": f.normal}, r"statistic takes \(rng, theta, out\)"),
        ({"posterior": f.itself}, r"must be of posterior\(rng, records, theta\)"),
        ({"record": None}, "record is None and probabilities is None; without a support"),
        ({"support": [0, 1]}, "with a support the model takes `probabilities` and not `record`"),
        ({"support": [0, 0], "record": None, "probabilities": f.chances}, "a value twice"),
        ({"support": [0, np.nan], "record": None, "probabilities": f.chances}, "finite"),
        ({"support": "ab", "record": None, "probabilities": f.chances}, "support must hold"),
        ({"parameters": {}}, "parameters is a dict; it must map"),
        ({"parameters": {"n": ()}}, "but not 'n'"),
        ({"parameters": {"mu": 3}}, "to shapes"),
        ({"record_size": 0}, "record_size is 0"),
        ({"n": 0}, "n is 0"),
        ({"n": [0.5, 0.2]}, "sum 1"),
    ],
)
def test_bad_declarations(changes, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        model(**changes)


@numba.njit
def nothing(record, out):
    pass


@numba.njit
def three(record, out):
    for j in range(3):
        out[j] = 1.0


@numba.njit
def returning(record, out):
    out[0] = record[0]
    return 1.0


@numba.njit
def untypable(record, out):
    out[0] = "three"


@numba.njit
def dividing(record, out):
    out[0] = 1 // int(0 * record[0])


@numba.njit
def sometimes_nan(record, out):
    out[0] = np.nan if record[0] > 2 else record[0]


@numba.njit
def nan_given(rng, records, theta):
    theta[0] = np.nan


@numba.njit
def first_given(rng, records, theta):
    theta[0] = records[0, 0]


@numba.njit
def mean_given(rng, records, theta):
    theta[0] = records.mean()


@numba.njit
def share_given(rng, counts, theta):
    theta[0] = counts[0] / counts.sum()
    theta[1] = 1 - theta[0]


@numba.njit
def negative(theta, out):
    out[0], out[1] = 1.5, -0.5


TWO = {"parameters": {"theta": (2,)}, "start": f.start, "record": f.category}
COUNTED = {**TWO, "record": None, "support": [0, 1], "posterior": f.counts_given}
COUNTED |= {"probabilities": f.chances}
CELLS = bdp.Release.of(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 3), [(3, 1, 2)])
ANSWERS = bdp.Release.of(
    bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 3)), n=3), [(0, 1, 1)]
)
WHOLE = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1.0), [3])
FAR = bdp.mechanisms.LaplaceMechanism(1.0, 1.0, bounds=(900.0, 999.0), bounding="truncated")
KNOWN = bdp.Release.of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0, REPLACE, n=5), [3.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "release", "error", "message"),
    [
        ({"statistic": nothing}, SUM, bdp.errors.InvalidInput, "statistic leaves 1 of 1 elements"),
        (
            {"statistic": three},
            SUM,
            bdp.errors.InvalidInput,
            "outside its last argument, an array of l",
        ),
        ({}, CELLS, bdp.errors.InvalidInput, r"leaves 2 of 3 .*that of the release's statistic"),
        ({"statistic": returning}, SUM, bdp.errors.InvalidInput, "returns something"),
        (
            {"statistic": untypable},
            SUM,
            bdp.errors.InvalidInput,
            "statistic doesn't compile: [^\n\x1b]+$",
        ),
        (
            {"statistic": dividing},
            SUM,
            bdp.errors.EngineFailed,
            "statistic stopped: ZeroDivisionError",
        ),
        (
            {"statistic": sometimes_nan},
            SUM,
            bdp.errors.EngineFailed,
            "statistic gave what the mechanism",
        ),
        *(
            ({"posterior": given, "n": range(4)}, SUM, bdp.errors.InvalidInput, f"^{message}")
            for given, message in [
                (first_given, "posterior gives no finite numbers where there are no records, and"),
                (nan_given, "posterior gives no finite numbers where there are no records, and n"),
                (mean_given, "posterior stops with 'ZeroDivisionError' where there are no records"),
            ]
        ),
        (
            {**COUNTED, "posterior": share_given, "n": [0.5, 0.5]},
            SUM,
            bdp.errors.InvalidInput,
            "draw theta from its prior there, or give n a prior without 0, as",
        ),
        ({}, WHOLE, bdp.errors.EngineFailed, "not a whole number"),
        ({"posterior": nan_given}, SUM, bdp.errors.EngineFailed, "posterior or start gave NaN"),
        (
            {},
            bdp.Release.of(FAR, [950.0]),
            bdp.errors.EngineFailed,
            "no records that the model drew",
        ),
        ({"n": None}, SUM, bdp.errors.InvalidInput, "n isn't in this release"),
        ({}, KNOWN, bdp.errors.InvalidInput, "the release says n = 5; leave n out"),
        ({"n": None}, ANSWERS, bdp.errors.InvalidInput, "from 0 to k - 1"),
        (
            {**COUNTED, "support": [0, 2], "n": None},
            ANSWERS,
            bdp.errors.InvalidInput,
            "from 0 to 1",
        ),
        ({**COUNTED, "probabilities": negative}, SUM, bdp.errors.EngineFailed, "don't sum to 1"),
        (
            {**COUNTED, "support": [0, 1, 2]},
            SUM,
            bdp.errors.InvalidInput,
            "probabilities leaves 1 of 3",
        ),
        ({"parameters": {"a": (), "b": ()}}, SUM, bdp.errors.InvalidInput, "start leaves 1 of 2"),
        ({"record_size": 2}, SUM, bdp.errors.InvalidInput, "record leaves 1 of 2"),
    ],
)
def test_bad_functions(changes, release, error, message):
    with pytest.raises(error, match=message):
        model(**changes).fit(release, draws=50, warmup=50, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"chains": 0}, "chains is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"engine": "exact"}, "engine is 'exact'; it must be 'auto' or 'augmentation'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        model().fit(SUM, **arguments)


def test_bad_releases():
    noise = bdp.mechanisms.LaplaceMechanism(1.0, 1.0)
    groups = bdp.Release.of_groups({"a": (noise, [1.0]), "b": (noise, [2.0])})
    with pytest.raises(bdp.errors.InvalidInput, match="2 groups"):
        model().fit(groups)
    chosen = bdp.Release.of(bdp.mechanisms.PermuteAndFlipMechanism(1.0, 1.0, 2), [1])
    with pytest.raises(bdp.errors.InvalidInput, match="data augmentation takes LaplaceMechanism"):
        model().fit(chosen)
    sparse = bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism(((1, 0), (0, 1)), n=2), [(0, 1), (1, 0)]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="probability zero"):
        model(**TWO, posterior=f.categories_given, n=None).fit(sparse)
