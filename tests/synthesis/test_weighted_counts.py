"""The weighted counts synthesizer: sums, clipping, households, strata, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput

Synthesizer = bdp.synthesizers.WeightedCountsSynthesizer
Y = {"y": ["a", "b"]}
STEPS = 2**20
PEOPLE = pd.DataFrame(
    {
        "y": ["a", "b", "b", "a"],
        "sex": ["f", "m", "f", "m"],
        "weight": [1.0, 2.0, 4.0, 0.0],
        "home": ["p", "p", "q", "p"],
    }
)


def sums(made: Synthesizer, data=PEOPLE, **options) -> list[list[float]]:
    """Sums of weights, and of squared weights, of each group, in the weights' unit."""
    found = []
    for tally in made.tallies(data, **options).values():
        u, rest = np.split(tally.sums, 2)
        step = made.max_weight / STEPS
        found.append([*(u * step), *((u - rest) * step * made.max_weight)])
    return found


def test_weights_and_their_squares_are_summed_by_category():
    assert sums(Synthesizer(Y, 4.0)) == [[1.0, 6.0, 1.0, 20.0]]
    table = Synthesizer({"y": ["a", "b"], "sex": ["f", "m"]}, 4.0)
    assert sums(table) == [[1, 0, 4, 2, 1, 0, 16, 4]]
    assert table.release(PEOPLE).to_frames()[0].columns.tolist() == [
        "y", "sex", "weighted_count", "squared_weights"
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", object])
def test_weights_may_be_of_any_type_of_number(dtype):
    typed = PEOPLE.assign(weight=PEOPLE["weight"].astype(dtype))
    assert sums(Synthesizer(Y, 4.0), typed) == sums(Synthesizer(Y, 4.0))


def test_weights_above_the_largest_are_clipped_or_refused():
    assert sums(Synthesizer(Y, 2.0, clip=True)) == [[1.0, 4.0, 1.0, 8.0]]
    with pytest.raises(InvalidInput, match="weights above max_weight = 2") as raised:
        Synthesizer(Y, 2.0).release(PEOPLE)
    assert "4" not in str(raised.value)


def test_the_first_records_of_each_household_count():
    unit = {"person": "home", "most": 2}
    made = Synthesizer(Y, 4.0, unit=unit)
    assert sums(made, PEOPLE.assign(weight=[1.0, 2.0, 4.0, 3.0])) == [[1.0, 6.0, 1.0, 20.0]]
    assert made.release(PEOPLE).guarantee.epsilon == 1.0
    release, alone = made.release(PEOPLE), Synthesizer(Y, 4.0).release(PEOPLE)
    assert release.mechanism.scale == 2 * alone.mechanism.scale
    assert any("at most 2 records" in each for each in release.guarantee.assumptions)
    shuffled = PEOPLE.set_index(np.array([7, 7, 1, 0]))
    groups = Synthesizer(Y, 4.0, unit={"person": "home", "most": 1}, groups=["f", "m"])
    assert sums(groups, shuffled, by=shuffled["sex"]) == [[1, 4, 1, 16], [0, 0, 0, 0]]


def test_strata_have_sums_of_their_own_and_may_be_empty():
    made = Synthesizer(Y, 4.0, epsilon=2.0, copies=2, groups=["f", "m", "x"])
    assert sums(made, by=PEOPLE["sex"]) == [[1, 4, 1, 16], [0, 2, 0, 4], [0, 0, 0, 0]]
    release = made.release(PEOPLE, by=PEOPLE["sex"])
    assert (release.groups, release.copies) == (("f", "m", "x"), 2)
    assert release.guarantee == made.guarantee()
    assert 1.99 < release.guarantee.epsilon <= 2.0
    replaced = Synthesizer(Y, 4.0, neighbours="replace_one").release(PEOPLE, by=PEOPLE["sex"])
    assert [part.mechanism.n for part in replaced.parts] == [2, 2]


def test_noise_is_in_proportion_to_the_largest_weight():
    release = Synthesizer(Y, 4.0, epsilon=1e5).release(PEOPLE)
    shown = release.to_frames()[0]
    assert shown["weighted_count"].tolist() == pytest.approx([1, 6], abs=1e-2)
    assert shown["squared_weights"].tolist() == pytest.approx([1, 20], abs=1e-2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": -1}, "epsilon is -1"),
        ({"max_weight": -2}, "max_weight is -2"),
        ({"categories": ["a", "b"]}, "categories is"),
        ({"categories": {}}, "axes is"),
        ({"categories": {"y": ["a", "a"]}}, "different labels"),
        ({"categories": {"weighted_count": ["a"]}}, "'weighted_count'.*two are the same"),
        ({"weights": "y"}, "weights is 'y'"),
        ({"clip": "yes"}, "clip is 'yes'"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
        ({"noise": "gaussian"}, "positive delta"),
        ({"neighbours": "node"}, "neighbours is 'node'"),
        ({"unit": "person"}, "unit is 'person'"),
        ({"unit": {"person": "home", "most": 2}, "neighbours": "replace_one"}, "different sizes"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**{"categories": Y, "max_weight": 4.0, **fields})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": [1.0, -77.0, 1.0, 1.0]}, "negative or infinite"),
        ({"weight": [1.0, np.inf, 1.0, 1.0]}, "negative or infinite"),
        ({"weight": [1.0, np.nan, 1.0, 1.0]}, "missing values"),
        ({"weight": ["1", "77", "1", "1"]}, "doesn't hold numbers"),
        ({"weight": [True, False, True, True]}, "doesn't hold numbers"),
        ({"y": ["a", "77", "a", "a"]}, "outside its categories"),
        ({"y": ["a", None, "a", "a"]}, "missing values"),
    ],
)
def test_bad_records_are_refused_without_their_values(change, message):
    with pytest.raises(InvalidInput, match=message) as raised:
        Synthesizer(Y, 4.0).release(PEOPLE.assign(**change))
    assert "77" not in str(raised.value)


def test_bad_shapes_of_data_are_refused():
    made = Synthesizer(Y, 4.0)
    for data, message in (
        (PEOPLE[["y"]], "no single column 'weight'"),
        (PEOPLE[["y", "weight", "weight"]], "no single column 'weight'"),
        (PEOPLE.to_numpy(), "must be a DataFrame"),
    ):
        with pytest.raises(InvalidInput, match=message):
            made.release(data)
    homes = Synthesizer(Y, 4.0, unit={"person": "home", "most": 2}, groups=["f", "m"])
    with pytest.raises(InvalidInput, match="as long as data"):
        homes.release(PEOPLE, by=["f", "m"])
    with pytest.raises(InvalidInput, match="different indexes"):
        homes.release(PEOPLE, by=PEOPLE["sex"][::-1])
    with pytest.raises(InvalidInput, match="must be a DataFrame of pandas"):
        homes.release(iter([PEOPLE]))
    with pytest.raises(InvalidInput, match="'home'"):
        homes.release(PEOPLE.drop(columns="home"))
    with pytest.raises(InvalidInput, match="data is empty"):
        Synthesizer(Y, 4.0, neighbours="replace_one").release(PEOPLE[:0])
    assert Synthesizer(Y, 4.0).release(PEOPLE[:0]).copies == 1


def test_files_are_read_in_batches(tmp_path):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    made = Synthesizer(Y, 4.0, groups=["f", "m"])
    scan = bdp.scan(tmp_path / "people.csv", made.columns, by="sex")
    assert sums(made, scan) == sums(made, by=PEOPLE["sex"])
