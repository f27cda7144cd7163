"""The Dirichlet-multinomial synthesizer: records or counts in, tables out, nothing on error."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

Synthesizer = bdp.synthesizers.DirichletMultinomialSynthesizer
SEX_AND_ANSWER = {"sex": ["m", "f"], "pregnant": ["no", "yes"]}
IMPOSSIBLE = [{"sex": "m", "pregnant": "yes"}]
DATA = pd.DataFrame(
    {
        "sex": ["m", "f", "m", "f", "f"],
        "pregnant": ["no", "yes", "no", "no", "yes"],
        "age": [3.0, 40, 50, 60, 20],
    }
)


def test_records_are_counted_and_released_as_a_table(tmp_path):
    made = Synthesizer(
        epsilon=2.0, copies=2, categories=SEX_AND_ANSWER, bounds={"age": (0, 100)}, bins=4,
        zeros=IMPOSSIBLE,
    )  # fmt: skip
    release = made.release(DATA)
    assert release.guarantee.epsilon <= 2
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert release.mechanism.prior == pytest.approx(5 / math.expm1(1.0))
    frame = release.to_frames()[0]
    assert list(frame) == ["age_from", "age_to", "sex", "pregnant", "count"]
    assert frame["count"].sum() == 5
    assert not frame.loc[(frame["sex"] == "m") & (frame["pregnant"] == "yes"), "count"].any()
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    records = made.records(loaded, seed=1)[1]
    assert len(records) == 5
    assert records["age"].between(0, 100).all()
    assert not ((records["sex"] == "m") & (records["pregnant"] == "yes")).any()
    assert made.guarantee(n=5).epsilon == release.guarantee.epsilon


@pytest.mark.parametrize(
    "zeros",
    [
        IMPOSSIBLE,
        [{"sex": ["m"], "pregnant": "yes"}],
        np.array([[False, True], [False, False]]),
        [False, True, False, False],
        lambda cells: (cells["sex"] == "m") & (cells["pregnant"] == "yes"),
    ],
)
def test_structural_zeros_are_rules_masks_or_functions(zeros):
    made = Synthesizer(epsilon=2.0, copies=1, categories=SEX_AND_ANSWER, zeros=zeros)
    assert made.release(DATA.drop(columns="age")).mechanism.zeros == (1,)
    wrong = pd.DataFrame({"sex": ["m", "f"], "pregnant": ["yes", "no"]})
    with pytest.raises(bdp.errors.InvalidInput, match=r"zeros.* says that there can be none"):
        made.release(wrong)


def test_a_rule_is_named_and_no_record():
    made = Synthesizer(
        epsilon=1.0, categories={"a": [1, 2], "b": [3, 4]}, zeros=[{"a": 2}, {"a": 1, "b": 3}]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="at least 2 cells"):
        made.release(pd.DataFrame({"a": [1], "b": [4]}))
    with pytest.raises(bdp.errors.InvalidInput, match=r"zeros\[1\] says that there can be none"):
        made.release(pd.DataFrame({"a": [1], "b": [3]}))


@pytest.mark.parametrize(
    ("zeros", "message"),
    [
        ([{"sex": "x"}], "isn't a column with these"),
        ([{"age": 3}], "isn't a column with these"),
        ([{}], "empty rule"),
        ([True, False], "shape"),
        ([0, 1, 0, 0], "type"),
        (lambda cells: [1, 0, 0, 0], "what zeros returns"),
    ],
)
def test_bad_zeros_are_named(zeros, message):
    made = Synthesizer(epsilon=1.0, categories=SEX_AND_ANSWER, zeros=zeros)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made.release(DATA.drop(columns="age"))


def test_counts_are_the_same_as_their_records():
    table = np.array([[2, 0], [1, 2]])
    made = Synthesizer(epsilon=2.0, copies=3, categories=SEX_AND_ANSWER)
    releases = []
    for given in ({"data": DATA.drop(columns="age")}, {"counts": table}, {"counts": table.ravel()}):
        with bdp.reproducible(4):
            releases.append(made.release(**given))
    assert releases[0] == releases[1] == releases[2]
    bare = Synthesizer(epsilon=2.0, copies=1).release(counts=table)
    assert bare.mechanism.axes is None
    assert bare.to_frames()[0].shape == (4, 1)
    assert Synthesizer(epsilon=2.0, copies=1).guarantee(n=5, cells=4) == bare.guarantee


def test_an_informative_prior_is_scaled_to_the_budget_or_reported():
    older = np.array([[40, 10], [30, 20]])
    counts = np.array([[4, 1], [3, 2]])
    scaled = Synthesizer(epsilon=1.5, copies=1, prior=older).release(counts=counts)
    assert scaled.guarantee.epsilon == pytest.approx(1.5)
    assert np.array(scaled.mechanism.prior) / scaled.mechanism.prior[1] == pytest.approx(
        older.ravel() / 10
    )
    asis = Synthesizer(copies=2, prior=older).release(counts=counts)
    assert asis.mechanism.prior == tuple(older.ravel())
    assert asis.guarantee.epsilon == pytest.approx(2 * math.log(1 + 10 / 10))
    flat = Synthesizer(copies=1, prior=5.0).release(counts=counts)
    assert flat.guarantee.epsilon == pytest.approx(math.log(1 + 10 / 5))


def test_confidential_groups_are_charged_for_a_move():
    made = Synthesizer(
        epsilon=1.0, copies=2, size=30, public_n=False, groups=["a", "b", "c"],
        categories={"x": [0, 1, 2]}, prior=(1.0, 2.0, 4.0),
    )  # fmt: skip
    data = pd.DataFrame({"x": [0, 1, 2, 2]})
    release = made.release(data, by=["a", "b", "b", "a"])
    assert release.groups == ("a", "b", "c")
    assert release.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)
    assert release.guarantee.epsilon <= 1
    part = release["a"].mechanism
    least, total = min(part.prior), sum(part.prior)
    move = 2 * (math.log(1 + 30 / least) + math.log(1 + 30 / total))
    assert release.guarantee.epsilon == pytest.approx(move)
    frames = made.records(release, seed=1)
    assert frames[0].groupby("group").size().tolist() == [30, 30, 30]
    assert made.guarantee() == release.guarantee


def test_public_groups_compose_in_parallel():
    made = Synthesizer(epsilon=1.0, copies=1)
    release = made.release(counts={"a": [1, 2, 3], "b": [4, 0, 0]})
    assert release.guarantee.epsilon <= 1
    assert [sum(part.outputs[0]) for part in release.parts] == [6, 4]
    assert made.guarantee(n={"a": 6, "b": 4}, cells=3) == release.guarantee


def test_a_delta_goes_into_the_release():
    made = Synthesizer(epsilon=1.0, copies=1, delta=1e-6)
    release = made.release(counts=[40, 30, 30])
    assert release.guarantee.delta == 1e-6
    assert release.guarantee.epsilon <= 1
    assert release.mechanism.prior < 100 / math.expm1(1.0)


def test_the_budget_is_spent_first_and_not_on_errors(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("survey", epsilon=1.5, neighbours="replace_one")
    budget = ledger.dataset("survey")
    made = Synthesizer(epsilon=1.0, copies=1, zeros=[True, False, False])
    with pytest.raises(bdp.errors.InvalidInput):
        made.release(counts=[1, 2, 3], ledger=budget)
    assert budget.spent().epsilon == 0
    made.release(counts=[0, 2, 3], ledger=budget)
    with pytest.raises(bdp.errors.BudgetExceeded):
        made.release(counts=[0, 2, 3], ledger=budget)


def test_copies_of_a_large_table_have_the_laws_moments():
    """10^5 cells: standardised counts by their mean and variance, false alarm below 1e-7."""
    rng = np.random.default_rng(3)
    k, m = 10**5, 10**7
    x = rng.multinomial(m, rng.dirichlet(np.full(k, 0.3)))
    with bdp.reproducible(3):
        release = Synthesizer(epsilon=3.0, copies=1).release(counts=x)
    z, alpha = np.array(release.outputs[0]), release.mechanism.prior + x
    total = alpha.sum()
    p = alpha / total
    variance = m * p * (1 - p) * (total + m) / (total + 1)
    score = np.sum((z - m * p) ** 2 / variance)
    assert abs(stats.norm.isf(1e-8)) * math.sqrt(2 * k) * 1.2 > abs(score - (k - 1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"copies": 0}, "copies is 0"),
        ({"delta": 1}, "delta is 1"),
        ({"size": 0}, "size is 0"),
        ({"public_n": False}, "size is missing"),
        ({"outside": "drop"}, "outside is 'drop'"),
        ({"bounds": (0, 1)}, "bins is None"),
        ({"bounds": (0, 1), "bins": "sqrt"}, "bins is 'sqrt'"),
        ({"bins": 3}, "no bounds to cut"),
        ({"categories": {"x": ["a", "a"]}}, "categories of column 'x'"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(**{"epsilon": 1.0, **wrong})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either data or counts"),
        ({"data": [1], "counts": [1, 2]}, "either data or counts"),
        ({"data": pd.DataFrame({"x": []})}, "data is empty"),
        ({"data": pd.DataFrame({"y": ["a"]})}, "data must have the 0 columns that have bounds"),
        ({"data": pd.DataFrame({"x": ["c"]})}, "outside its categories"),
        ({"data": pd.DataFrame({"x": ["a", None]})}, "missing values"),
        ({"data": pd.DataFrame({"x": ["a", "b"]}), "by": [1]}, "as long as data"),
        ({"data": pd.DataFrame({"x": ["a", "b"]}), "by": [1, None]}, "by has missing"),
        ({"counts": [1, 2, 3]}, "the cells make"),
        ({"counts": [1.0, 2.0]}, "whole numbers"),
        ({"counts": [-1, 2]}, "whole numbers"),
        ({"counts": [0, 0]}, "no records"),
        ({"counts": {}}, "counts is empty"),
        ({"counts": {"g": [0, 0]}}, "n = 0"),
        ({"counts": [1, 2], "by": [1, 2]}, "by is given with counts"),
    ],
)
def test_bad_data_are_refused(given, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(epsilon=1.0, categories={"x": ["a", "b"]}).release(**given)


def test_priors_and_groups_that_do_not_fit_are_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="prior has type"):
        Synthesizer(prior=[1, 2, 3]).release(counts=[1, 2])
    with pytest.raises(bdp.errors.InvalidInput, match="groups is missing"):
        Synthesizer(epsilon=1.0, size=4, public_n=False).release(counts={"g": [1, 2]})
    with pytest.raises(bdp.errors.InvalidInput, match="outside the listed groups"):
        Synthesizer(epsilon=1.0, groups=["h"]).release(counts={"g": [1, 2]})
    with pytest.raises(bdp.errors.InvalidInput, match="listed group has no records"):
        Synthesizer(epsilon=1.0, groups=["g", "h"]).release(counts={"g": [1, 2]})
    with pytest.raises(bdp.errors.InvalidInput, match="groups is given"):
        Synthesizer(epsilon=1.0, groups=["g"]).release(counts=[1, 2])
    with pytest.raises(bdp.errors.InvalidInput, match="n is missing"):
        Synthesizer(epsilon=1.0).guarantee(cells=3)
    with pytest.raises(bdp.errors.InvalidInput, match="cells is missing"):
        Synthesizer(epsilon=1.0).guarantee(n=3)
    with pytest.raises(bdp.errors.InvalidInput, match="Dirichlet-multinomial table"):
        Synthesizer.records(bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1]))


TABLE = pd.crosstab(DATA["sex"], DATA["pregnant"])
CELLS = pd.Series([2, 0, 1, 2])


@pytest.mark.parametrize(
    "counts",
    [
        TABLE,  # has f before m
        TABLE.loc[["m", "f"], ["yes", "no"]],
        TABLE.loc[["m", "f"]].rename(columns=str.upper),
        CELLS.set_axis(pd.MultiIndex.from_product([["f", "m"], ["no", "yes"]])),
        {"g": TABLE},
    ],
)
def test_counts_with_labels_in_another_order_are_refused(counts):
    """They were read by position: `value_counts` gave the commonest label's count to the first."""
    made = Synthesizer(2.0, categories=SEX_AND_ANSWER)
    with pytest.raises(bdp.errors.InvalidInput, match=r"has other labels in its (index|col)"):
        made.release(counts=counts)
    with pytest.raises(bdp.errors.InvalidInput, match="labels in its index"):
        Synthesizer(2.0, categories={"a": [1, 0]}).release(counts=pd.Series([3, 4]))


@pytest.mark.parametrize(
    "counts",
    [
        TABLE.loc[["m", "f"]],
        CELLS,
        CELLS.set_axis(pd.MultiIndex.from_product([["m", "f"], ["no", "yes"]])),
    ],
)
def test_counts_with_the_cells_labels_or_none_are_read(counts):
    made = Synthesizer(2.0, categories=SEX_AND_ANSWER)
    (table,) = made.tables(None, counts, None, "value").values()
    assert table.counts.tolist() == [2, 0, 1, 2]


def test_counts_by_pandas_intervals_are_read_where_they_are_the_cells():
    """They were refused in any order; a cell holds its lower edge."""
    cut = pd.cut(pd.Series([1, 2, 3, 7, 9]), [0, 3, 6, 10], right=False)
    counts = cut.value_counts(sort=False)
    made = Synthesizer(2.0, bounds=(0, 10), bins=[0, 3, 6, 10])
    texts = Synthesizer(2.0, categories={"x": ["[0, 3)", "[3, 6)", "[6, 10)"]})
    for each in (made, texts):
        (table,) = each.tables(None, counts, None, "value").values()
        assert table.counts.tolist() == [2, 1, 2]
        with pytest.raises(bdp.errors.InvalidInput, match="other labels in its index"):
            each.release(counts=counts.iloc[::-1])
    upper = pd.cut(pd.Series([1, 2, 3]), [0, 3, 6, 10]).value_counts(sort=False)
    with pytest.raises(bdp.errors.InvalidInput, match=r"holds its lower edge, as by pd\.cut\(righ"):
        made.release(counts=upper)
    both = Synthesizer(2.0, bounds={"x": (0, 10)}, bins=[0, 3, 6, 10], categories={"a": ["n", "y"]})
    by = pd.crosstab(cut, pd.Series(list("nynny"), name="a"))
    for given in (by, by.stack(future_stack=True)):
        (table,) = both.tables(None, given, None, "value").values()
        assert table.counts.tolist() == by.to_numpy().ravel().tolist()
    with pytest.raises(bdp.errors.InvalidInput, match=r"make \(3, 2\), for x and a"):
        both.release(counts=by.T)


def test_masked_counts_are_refused():
    with pytest.raises(bdp.errors.InvalidInput, match="counts has masked cells"):
        Synthesizer(2.0, categories=SEX_AND_ANSWER).release(
            counts=np.ma.array([2, 0, 1, 2], mask=[1, 0, 0, 0])
        )


@pytest.mark.parametrize(
    "use",
    [
        bdp.publish,
        lambda made, counts: bdp.Release.of(made, [counts]),
        lambda made, counts: Synthesizer(2.0, categories=SIZES, prior=counts).release(counts=SEEN),
        lambda made, counts: Synthesizer(2.0, categories=SIZES, zeros=counts > 8).release(
            counts=SEEN
        ),
        lambda made, counts: bdp.models.LogLinearModel(
            "size", categories=SIZES, zeros=counts > 8
        ).fit(bdp.Release.of(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 3), [SEEN]), draws=9),
    ],
)
def test_a_tables_numbers_by_label_are_in_the_cells_order_wherever_they_are_given(use):
    """`value_counts` sorts by frequency, and all of these read its numbers by position."""
    made = bdp.mechanisms.PerturbedHistogramMechanism(
        1.0, 3, axes=[Axis("size", None, ("S", "M", "L"))]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="other labels in its index than the cells"):
        use(made, pd.Series([9, 5, 2], index=["M", "L", "S"]))


SIZES = {"size": ["S", "M", "L"]}
SEEN = [2, 9, 5]


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_no_table(kind):
    """It was said to have no names of columns, or no dimensions."""
    marginals = bdp.synthesizers.LogLinearSynthesizer(1.0, [("size",)], SIZES)
    for made in (Synthesizer(2.0, categories=SIZES), marginals):
        with pytest.raises(bdp.errors.InvalidInput, match=r"no records; .* bdp\.scan\(file, colum"):
            made.release(kind("sizes.csv"))
        with pytest.raises(bdp.errors.InvalidInput, match=r"data is a mapping; .* DataFrame"):
            made.release({"size": ["S"]})
