"""One marginal of a whole table's release, within a user's own model."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.inference.table.marginal import marginal_parts

SCHEMA = {
    "age": {"type": "integer", "bounds": (18, 77), "bins": 6},
    "smokes": {"type": "boolean"},
    "sex": {"type": "category", "labels": ["f", "m"]},
}


def survey(n, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 78, n)
    smokes = rng.random(n) < 1 / (1 + np.exp(0.04 * (age - 40)))
    return pd.DataFrame({"age": age, "smokes": smokes, "sex": rng.choice(["f", "m"], n)})


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("unit", ["record", {"person": "id", "most": 2}])
def test_its_law_is_its_part_of_the_whole_law(noise, unit):
    schema, frame = bdp.Schema(SCHEMA, unit=unit), survey(300)
    if unit != "record":
        frame["id"] = np.arange(300) // 2
    delta = {"delta": 1e-6} if noise == "gaussian" else {}
    release = bdp.TableSynthesizer(schema, epsilon=1, noise=noise, **delta).release(frame)
    mechanism, output = release.parts[0].mechanism, np.array(release.outputs[0])
    ((part,),) = marginal_parts(release, ["smokes", "age"])
    k = [set(one) for one in mechanism.marginals].index({"age", "smokes"})
    np.testing.assert_array_equal(
        np.reshape(part.outputs[0], (2, 6)),
        output[mechanism.slices[k]].reshape(mechanism.shape_of(mechanism.marginals[k])).T
        if mechanism.marginals[k] == ("age", "smokes")
        else output[mechanism.slices[k]].reshape(2, 6),
    )
    before, after = np.zeros(len(output), dtype=int), np.zeros(len(output), dtype=int)
    after[mechanism.slices[k]] = np.arange(12)
    own = np.arange(12)
    if mechanism.marginals[k] == ("age", "smokes"):
        own = own.reshape(6, 2).T.ravel()
    changed = mechanism.logp(output, after) - mechanism.logp(output, before)
    alone = part.mechanism.logp(part.outputs[0], own) - part.mechanism.logp(
        part.outputs[0], np.zeros(12, dtype=int)
    )
    assert alone == pytest.approx(changed, rel=1e-9)


def test_pools_and_several_rounds():
    columns = {
        "income": {"type": "real", "bounds": (0, 100), "bins": {"private": 4, "share": 0.2}},
        "sex": {"type": "category", "labels": ["f", "m"]},
    }
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.uniform(0, 40, 500), "sex": rng.choice(["f", "m"], 500)})
    release = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=2, delta=1e-6).release(frame)
    ((alone,),), ((both,),) = (
        marginal_parts(release, [*names]) for names in (("income",), ("sex", "income"))
    )
    assert len(alone.outputs[0]) == 100
    assert len(both.outputs[0]) == 8
    assert np.sum(both.outputs[0]) == pytest.approx(500, abs=60)


def test_observed_counts_are_summed_out_cell_by_cell():
    """Against the sum over counts up to 400, at two vectors of means."""
    release = bdp.TableSynthesizer(bdp.Schema(SCHEMA), epsilon=1).release(survey(300))
    ((part,),) = marginal_parts(release, ["smokes", "age"])
    means = pt.dvector("means")
    with pm.Model():
        law = bdp.observe(release, pm.Poisson.dist(mu=means), columns=["smokes", "age"])
    x, cell = np.arange(400), part.mechanism.cell

    def summed(mu):
        each = [
            special.logsumexp(stats.poisson.logpmf(x, m) + cell.logp(z, x))
            for m, z in zip(mu, part.outputs[0], strict=True)
        ]
        return sum(each)

    one, other = np.full(12, 25.0), np.linspace(5, 60, 12)
    log_ratio = law.eval({means: one}) - law.eval({means: other})
    assert log_ratio == pytest.approx(summed(one) - summed(other), rel=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_marginal_of_a_table_with_listed_cells(noise):
    """`observe` refused these: its law is what the whole law says of the marginal's counts."""
    categories = {"smokes": [False, True], "sex": ["f", "m"], "age": [0, 1, 2]}
    frame = survey(200).assign(age=lambda f: f.age % 3)
    delta = 1e-6 if noise == "gaussian" else 0.0
    made = bdp.synthesizers.LogLinearSynthesizer(
        1.0, [("sex",), ("smokes", "age")], categories, noise=noise, delta=delta
    )
    release = made.release(frame)
    ((part,),) = marginal_parts(release, ["age", "smokes"])
    output, own = np.array(release.outputs[0]), np.arange(6) * 7
    np.testing.assert_array_equal(np.reshape(part.outputs[0], (3, 2)).T.ravel(), output[2:])
    whole = [[0, 0, *counts] for counts in (np.zeros(6, int), own.reshape(3, 2).T.ravel())]
    before, after = (release.mechanism.logp(output, np.array(counts)) for counts in whole)
    alone = [part.mechanism.logp(part.outputs[0], counts) for counts in (np.zeros(6, int), own)]
    assert alone[1] - alone[0] == pytest.approx(after - before, rel=1e-9)
    with pm.Model():
        law = bdp.observe(release, pm.Poisson.dist(mu=np.full(6, 30.0)), columns=["age", "smokes"])
    x, cell = np.arange(400), part.mechanism.cell
    prior = stats.poisson.logpmf(x, 30.0)
    each = [special.logsumexp(prior + cell.logp(z, x)) for z in part.outputs[0]]
    assert law.eval() == pytest.approx(sum(each), rel=1e-9)
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"\(sex\), \(age, smokes\)\. .*LogLinearModel"
    ):
        marginal_parts(release, ["age"])
    zeros = bdp.synthesizers.LogLinearSynthesizer(
        1.0, [("sex",)], {"sex": ["f", "m", "x"]}, zeros=[{"sex": "x"}]
    ).release(frame[["sex"]])
    with pytest.raises(bdp.errors.InvalidInput, match="structural zeros"):
        marginal_parts(zeros, ["sex"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "weight"], r"it must be a list of the columns of a marginal .*\(age, smokes\)"),
        (["age", "smokes", "sex"], "it must be a list of the columns of a marginal"),
        ("age", "it must be a list of the columns"),
    ],
)
def test_what_was_not_released_is_refused(columns, message):
    release = bdp.TableSynthesizer(bdp.Schema(SCHEMA), epsilon=1).release(survey(50))
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        marginal_parts(release, columns)


def test_a_release_of_something_else_is_refused():
    release = bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1).release([0, 1, 1])
    with pytest.raises(bdp.errors.InvalidInput, match="not of a whole table"):
        bdp.stan.data(release, columns=["age"])


def test_data_of_a_stan_program():
    release = bdp.TableSynthesizer(bdp.Schema(SCHEMA), epsilon=1).release(survey(50))
    made = bdp.stan.data(release, columns=["smokes", "sex"])
    assert made["E"] == 4
    ((part,),) = marginal_parts(release, ["smokes", "sex"])
    best = [made["x"][a - 1 : b][np.argmax(made["log_law"][a - 1 : b])]
            for a, b in zip(made["first"], made["last"], strict=True)]  # fmt: skip
    np.testing.assert_array_equal(best, part.outputs[0])
