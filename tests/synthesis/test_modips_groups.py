"""Modips on disjoint groups of records: parallel composition, confidential groups, refusals."""

import itertools

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp

Bernoulli, Gaussian = bdp.families.Bernoulli, bdp.families.Gaussian
ANSWERS = [0, 1, 1, 0, 1, 1, 1]
REGIONS = pd.Series(["n", "s", "n", "n", "s", "s", "s"], name="region")


def test_groups_with_public_sizes_cost_what_the_dearest_does(tmp_path):
    declared = bdp.ModipsSynthesizer(Bernoulli(), epsilon=2.0, copies=3)
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=3.0, neighbours="replace_one")
    release = declared.release(pd.Series(ANSWERS, name="yes"), by=REGIONS, ledger=budget)
    assert budget.spent().epsilon == pytest.approx(release.guarantee.epsilon, rel=1e-9)
    each = [
        bdp.ModipsSynthesizer(Bernoulli(), epsilon=2.0, copies=3).guarantee(n).epsilon
        for n in (3, 4)
    ]
    assert release.guarantee.epsilon == max(each)
    assert release.guarantee == declared.guarantee({"n": 3, "s": 4})
    assert release.groups == ("n", "s")
    assert (release.by, release.variable) == ("region", "yes")
    assert [part.mechanism.n for part in release.parts] == [3, 4]
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    idata = bdp.BinomialModel().fit(release, draws=50, seed=1)
    assert list(idata.posterior["group"].values) == ["n", "s"]


@pytest.mark.parametrize("family", [Bernoulli(), Gaussian((-1, 2)), bdp.families.Categorical(2)])
def test_which_groups_have_records_is_confidential_with_n(family):
    declared = bdp.ModipsSynthesizer(
        family, epsilon=1.0, copies=2, size=5, public_n=False, groups=["n", "s", "w"]
    )
    release = declared.release(ANSWERS, by=REGIONS)
    assert release.groups == ("n", "s", "w")
    assert {part.mechanism.n for part in release.parts} == {None}
    assert len({part.mechanism for part in release.parts}) == 1
    assert release.guarantee == declared.guarantee()
    assert release.guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    assert release.guarantee.epsilon <= 1.0


def test_the_joint_law_of_confidential_groups_keeps_the_promise():
    """All counts of two groups with at most two records each, and one record more."""
    declared = bdp.ModipsSynthesizer(
        Bernoulli(), epsilon=0.8, copies=1, size=2, public_n=False, groups=["a", "b"]
    )
    release = declared.release([1, 0], by=["a", "b"])
    mechanism, epsilon = release.parts[0].mechanism, release.guarantee.epsilon
    outputs = [0, 1, 2]
    counts = [(ones, zeros) for ones in range(3) for zeros in range(3 - ones)]
    law = {
        (ones, zeros): np.array([mechanism.logp(z, bdp.Count(ones, ones + zeros)) for z in outputs])
        for ones, zeros in [
            *counts,
            *((a + 1, b) for a, b in counts),
            *((a, b + 1) for a, b in counts),
        ]
    }
    worst = 0.0
    for first, second in itertools.product(counts, repeat=2):
        whole = law[first][:, None] + law[second]
        assert np.exp(whole).sum() == pytest.approx(1.0)
        for added in ((1, 0), (0, 1)):
            more = tuple(np.add(first, added).tolist())
            worst = max(worst, np.abs(law[more][:, None] + law[second] - whole).max())
    assert 0.3 * epsilon < worst <= epsilon


def test_groups_of_tables_are_rows():
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.uniform(20, 80, 40), "dose": rng.uniform(0, 1, 40)})
    people.index = people.index[::-1]
    by = np.repeat(["f", "m"], [25, 15])
    family = bdp.families.LinearRegression({"age": (18, 90), "dose": (0, 1)}, "dose")
    release = bdp.ModipsSynthesizer(family, epsilon=2.0, copies=2).release(people, by=by)
    assert [part.mechanism.n for part in release.parts] == [25, 15]
    as_array = bdp.ModipsSynthesizer(family, epsilon=2.0, copies=2).release(
        people.to_numpy(), by=by
    )
    assert [part.mechanism.n for part in as_array.parts] == [25, 15]
    assert list(release.to_frames()[0]["group"].value_counts()) == [25, 15]


@pytest.mark.parametrize(
    ("options", "by", "message"),
    [
        ({"groups": ["n", "s"]}, None, "by is not"),
        ({"groups": ["n"]}, REGIONS, "outside the listed groups"),
        ({"groups": ["n", "s", "w"]}, REGIONS, "a listed group has no records"),
        ({"groups": ["n", "n", "s"]}, REGIONS, "list each group once"),
        ({"public_n": False, "size": 5}, REGIONS, "groups is missing"),
        ({}, REGIONS[:3], "as long as data"),
        ({}, ["n", None, "n", "n", "s", "s", "s"], "by has missing values"),
    ],
)
def test_groups_that_do_not_fit_are_refused(options, by, message):
    declared = bdp.ModipsSynthesizer(Bernoulli(), epsilon=1.0, copies=1, **options)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        declared.release(ANSWERS, by=by)


def test_batches_have_no_groups():
    with pytest.raises(bdp.errors.InvalidInput, match="by is given with batches"):
        bdp.ModipsSynthesizer(Bernoulli()).release(iter([ANSWERS]), by=REGIONS)
    with pytest.raises(bdp.errors.InvalidInput, match="data is empty"):
        bdp.ModipsSynthesizer(Bernoulli()).release([], by=[])
