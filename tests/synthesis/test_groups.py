"""Records and their groups belong together by place, so their indexes may not differ."""

import dataclasses

import pandas as pd
import pytest

import bayesdp as bdp

GROUPS = pd.Series(list("abab") * 20)
MADE = {
    "count": (bdp.BetaBinomialSynthesizer(epsilon=2.0), pd.Series([1, 0, 1, 1] * 20)),
    "table": (
        bdp.synthesizers.DirichletMultinomialSynthesizer(2.0, categories={"x": [0, 1]}),
        pd.DataFrame({"x": [1, 0, 1, 1] * 20}),
    ),
    "modips": (
        bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=2.0),
        pd.Series([1, 0, 1, 1] * 20),
    ),
    "events": (
        bdp.synthesizers.PoissonGammaSynthesizer(4.0, {g: {"A": 9.0, "B": 9.0} for g in "ab"}),
        pd.Series(list("AABB") * 20),
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_groups_in_another_order_are_refused(kind):
    made, data = MADE[kind]
    moved = data.set_axis(pd.Index([*range(3, len(data)), 0, 1, 2]), axis=0)
    with pytest.raises(bdp.errors.InvalidInput, match="different indexes"):
        made.release(moved, by=GROUPS)
    for by in (GROUPS, GROUPS.to_numpy(), GROUPS.tolist()):
        assert made.release(data, by=by).groups == ("a", "b")
    assert made.release(moved, by=GROUPS.to_numpy()).groups == ("a", "b")
    assert made.release(moved, by=GROUPS.loc[moved.index]).groups == ("a", "b")


@pytest.mark.parametrize("kind", ["count", "table", "modips"])
def test_labels_that_are_nearly_each_records_own_are_published_on_request_alone(kind):
    made, data = MADE[kind]
    ids = pd.Series(range(80))
    with pytest.raises(bdp.errors.InvalidInput, match="by has 80 groups for 80 records"):
        made.release(data, by=ids)
    listed = dataclasses.replace(made, groups=ids.tolist())
    assert listed.release(data, by=ids).groups == tuple(range(80))
    assert len(made.release(data, by=ids // 2).groups) == 40
