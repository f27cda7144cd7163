"""Subsample and aggregate: blocks, estimates that fail, the promise, and what is refused."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.evaluation.truth import truth
from bayesdp.synthesis import subsample_aggregate

Synthesizer = bdp.synthesizers.SubsampleAggregateSynthesizer


def estimates(made, records, seed=1):
    with bdp.reproducible(seed):
        return made.estimates(made.tally(records))


def test_every_record_is_in_one_block_drawn_for_it_alone():
    """The division is the same for other values; the chi-squared test has a false alarm of 1e-6."""
    blocks = []

    def first(block):
        blocks.append(block.tolist())
        return 0.5

    made = Synthesizer(first, (0, 1), blocks=7)
    estimates(made, np.arange(2000))
    drawn = blocks[:]
    assert sorted(itertools.chain(*drawn)) == list(range(2000))
    assert all(sorted(block) == block for block in drawn)
    sizes = [len(block) for block in drawn]
    assert len(set(sizes)) > 1
    assert stats.chisquare(sizes).pvalue > 1e-6
    blocks.clear()
    estimates(made, np.arange(2000) + 5.0)
    assert [[int(v - 5) for v in block] for block in blocks] == drawn


def test_named_estimators_are_those_of_a_block():
    x = np.random.default_rng(1).gamma(2, 5, 300)
    for named, own in [
        ("mean", np.mean),
        ("median", np.median),
        ({"quantile": 0.9}, lambda block: np.quantile(block, 0.9)),
        ({"trimmed_mean": 0.2}, lambda block: stats.trim_mean(block, 0.2)),
    ]:
        given = estimates(Synthesizer(named, (0, 100), blocks=9), pd.Series(x))
        np.testing.assert_allclose(given, estimates(Synthesizer(own, (0, 100), blocks=9), x))


def test_a_block_shows_nothing_of_the_others():
    """Neither in its index nor in its columns' types; and it is a copy."""
    seen = []

    def look(block):
        seen.append((block.index.tolist(), [kind.kind for kind in block.dtypes]))
        block.loc[:, "x"] = 0.0
        return 0.5

    table = pd.DataFrame({"x": [1, 2, 3] * 4, "y": pd.Categorical(["a", "b", "c"] * 4)})
    table.index = range(100, 112)
    made = Synthesizer(look, (0, 1), blocks=3)
    held = made.tally(table)
    with bdp.reproducible(1):
        made.estimates(held)
    assert seen
    assert all(index == list(range(len(index))) for index, _ in seen)
    assert {tuple(kinds) for _, kinds in seen} == {("f", "O")}
    assert held.records["x"].tolist() == table["x"].tolist()


@pytest.mark.parametrize("odd", ["text", None, 2.5, pd.Timestamp("2026-01-01")])
def test_a_record_of_another_type_changes_its_own_block_alone(odd):
    """Though it changes the type of its whole column."""
    made = Synthesizer(lambda block: float(block.dtype == float), (0, 1), blocks=12)
    framed = Synthesizer(lambda block: float(block["x"].dtype == float), (0, 1), blocks=12)
    values = [*range(40)]
    for changed in (False, True):
        given = [*values[:-1], odd] if changed else values
        array = np.array(given, dtype=object) if changed else np.array(given)
        frame = pd.DataFrame({"x": given, "flag": [True, None] * 20})
        assert np.sum(estimates(made, array) == 0) <= changed
        assert np.sum(estimates(framed, frame) == 0) <= changed


def test_what_fails_counts_as_the_middle_and_is_not_shown(capfd):
    def fails(block):
        if 3.0 in block:
            raise ValueError(f"record {block}")
        if 5.0 in block:
            import warnings

            warnings.warn(f"record {block}", stacklevel=1)
            return math.nan
        return None if 7.0 in block else 1.0

    made = Synthesizer(fails, (0, 8), blocks=40)
    found = estimates(made, np.arange(20.0))
    empty = 40 - len(set(np.random.default_rng(0).integers(0, 40, 20)))  # about as many
    assert set(found.tolist()) == {1.0, 4.0}
    assert 3 < np.sum(found == 4.0) < 2 * empty
    assert capfd.readouterr() == ("", "")

    def always(block):
        raise ValueError(f"record {block}")

    with pytest.raises(InvalidInput, match="try it on simulated") as refused:
        Synthesizer(always, (0, 1), blocks=2).release([0.25, 0.75])
    assert "0.75" not in str(refused.value)
    assert refused.value.__context__ is None


DOMAIN = (0.0, 1.0, 3.0)


def law_of(made, records):
    """Log Pr[output], averaged over all divisions of the records into blocks."""
    mechanism, each = made.mechanism(None, made.epsilon), []
    divisions = np.array([*itertools.product(range(made.blocks), repeat=len(records))], np.uint64)
    for division in divisions:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(subsample_aggregate, "uniform_below", lambda _, d=division: d)
            counts = made.statistic(made.tally(np.array(records)))
        each.append(mechanism.logp(mechanism.outputs(), counts))
    return np.logaddexp.reduce(each, axis=0) - math.log(len(divisions))


@pytest.mark.parametrize("moved", [0, 1], ids=["replaced", "added or removed"])
def test_the_promise_holds_over_all_divisions_of_all_small_data(moved):
    """Enumerated: of up to three records, one is replaced, or added or removed."""
    made = Synthesizer(np.max, (0, 3), 1.0, blocks=2, bins=12, probabilities=(0.5,))
    all_data = [
        data for n in (1, 2, 3) for data in itertools.combinations_with_replacement(DOMAIN, n)
    ]
    laws, worst = {data: law_of(made, data) for data in all_data}, 0.0
    for one, other in itertools.permutations(all_data, 2):
        common = sum(min(one.count(v), other.count(v)) for v in DOMAIN)
        if abs(len(one) - len(other)) == moved and common == max(len(one), len(other)) - 1:
            worst = max(worst, float(np.max(laws[one] - laws[other])))
    assert 0.4 < worst <= 1.0 + 1e-9


def law_of_a_division(made, records):
    """Log Pr[output] for one division at random, the same for as many records."""
    mechanism = made.mechanism(None, made.epsilon)
    with bdp.reproducible(1):
        counts = made.statistic(made.tally(records))
    return mechanism.logp(mechanism.outputs(), counts)


def test_the_audit_of_worst_neighbours_convicts_a_sensitivity_that_is_halved():
    """Whatever the division, nine blocks are in the middle, and one is at an end that moves."""

    def marked(block):
        return 0.0 if -1.0 in block else 3.0 if 1.0 in block else 1.5

    def loss(epsilon):
        made = Synthesizer(marked, (0, 3), epsilon, 10, bins=600, probabilities=(0.9,))
        return np.max(law_of_a_division(made, one) - law_of_a_division(made, other))

    one, other = np.zeros(40), np.zeros(40)
    one[7], other[7] = -1.0, 1.0
    assert 0.95 < loss(1.0) <= 1.0
    assert loss(2.0) > 1.0


def test_the_audit_convicts_an_estimator_that_sees_other_blocks():
    one, other = np.zeros(40), np.zeros(40)
    other[7] = 3.0

    def loss(*estimators):
        each = [Synthesizer(estimator, (0, 3), 1.0, 10, bins=60) for estimator in estimators]
        laws = map(law_of_a_division, each, (one, other))
        return np.max(np.subtract(*laws))

    assert loss(np.max, np.max) <= 1.0
    assert loss(lambda _: one.max(), lambda _: other.max()) > 1.0


def test_groups_copies_and_the_promise(tmp_path):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 90), "g": ["a", "b", "b"] * 30})
    made = Synthesizer("median", (0, 1), 2.0, blocks=10, copies=2)
    release = made.release(frame["x"], by=frame["g"])
    assert (release.variable, release.groups, release.copies) == ("block_median", ("a", "b"), 2)
    assert [part.mechanism.n for part in release.parts] == [10, 10]
    assert made.guarantee() == made.guarantee(500)
    assert release.guarantee.epsilon == made.guarantee({"a": 30, "b": 60}).epsilon <= 2.0
    release.save(tmp_path / "r")
    assert bdp.Release.load(tmp_path / "r") == release
    assert "median" not in str(release.parts[0].mechanism)


def test_what_the_proof_asks_of_the_estimator_is_in_the_promise():
    made = Synthesizer("median", (0, 1), 2.0, blocks=10)
    promise = made.release(np.linspace(0, 1, 90)).guarantee
    assert any("function of its block's records alone" in note for note in promise.assumptions)
    assert not any("number of records is public" in note for note in promise.assumptions)
    plain = dataclasses.replace(made.mechanism(None, 2.0), of_blocks=False).guarantee()
    assert not any("block" in note for note in plain.assumptions)
    assert any("number of records is public" in note for note in plain.assumptions)


def test_batches_are_put_together(tmp_path):
    frame = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50) % 3})
    frame.to_csv(tmp_path / "x.csv", index=False)
    slope = Synthesizer(lambda block: block["x"].max() - block["y"].min(), (0, 60), blocks=4)
    for made, columns in ((Synthesizer("mean", (0, 60), blocks=4), ["x"]), (slope, ["x", "y"])):
        with bdp.reproducible(1):
            batches = made.release(bdp.scan(tmp_path / "x.csv", columns, rows=20))
        with bdp.reproducible(1):
            assert made.release(frame[columns]).outputs == batches.outputs


def test_variables_are_named_by_the_estimator():
    def gini(block):
        return 0.5

    for estimator, name in [
        (gini, "block_gini"),
        (lambda block: 0.5, "block_estimate"),
        ({"quantile": 0.9}, "block_quantile_0.9"),
    ]:
        assert Synthesizer(estimator, (0, 1)).variable == name


def test_public_data_have_no_truth_of_the_blocks_quantiles():
    x = pd.Series(np.linspace(0, 1, 90))
    release = Synthesizer("mean", (0, 1), blocks=10).release(x)
    assert truth(bdp.models.QuantileModel(), x, None, release, None) == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"estimator": "mode"}, "estimator is 'mode'"),
        ({"estimator": {"quantile": 1.5}}, "quantile is 1.5"),
        ({"estimator": {"trimmed_mean": 0.5}}, "trimmed_mean is 0.5"),
        ({"estimator": {"quantile": "x"}}, "estimator is a dict"),
        ({"bounds": [(0, 1), (0, 2)]}, "one pair"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"blocks": 0}, "blocks is 0"),
        ({"probabilities": (0.5, 1.5)}, "probabilities is"),
        ({"choice": "first"}, "choice is 'first'"),
    ],
)
def test_bad_parameters_are_named(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**{"estimator": "mean", "bounds": (0, 1), **fields})


def test_bad_records_are_refused_and_cost_nothing():
    made = Synthesizer("mean", (0, 1), blocks=2)
    own = Synthesizer(np.nanmean, (0, 1), blocks=2)
    for synthesizer, records, message in [
        (made, [0.5, None], "missing"),
        (made, ["x", "y"], "aren't numbers"),
        (made, [0.5], "more than there are records"),
        (own, 3.5, "array or a DataFrame"),
        (own, np.ma.array([0.5, 0.7], mask=[0, 1]), "masked"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            synthesizer.release(records)


def test_a_frame_that_is_not_pandas_is_refused_with_the_way_out():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": np.linspace(0, 1, 20)})
    with pytest.raises(InvalidInput, match=r"data\.to_pandas\(\)"):
        Synthesizer(lambda block: block["x"].mean(), (0, 1), blocks=2).release(frame)
    Synthesizer(lambda block: block["x"].mean(), (0, 1), blocks=2).release(frame.to_pandas())


def test_whole_numbers_beyond_all_floats_reach_the_estimator():
    made = Synthesizer(lambda block: float(max(block) > 10**399), (0, 1), blocks=2)
    assert made.release([10**400, 1, 0, 1]).parts[0].mechanism.n == 2
