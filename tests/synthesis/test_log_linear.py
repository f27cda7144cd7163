"""Log-linear models of noisy marginals: fits against closed forms, records, what is refused."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import bayesdp as bdp
from bayesdp.synthesis.log_linear.fit import fit_log_linear

Synthesizer = bdp.synthesizers.LogLinearSynthesizer
COLUMNS = {"a": [0, 1], "b": ["u", "v", "w"], "c": [True, False]}
CHAIN = [("a", "b"), ("b", "c")]


def marginals_of(table: np.ndarray, places) -> list[np.ndarray]:
    every = range(table.ndim)
    return [table.sum(axis=tuple(k for k in every if k not in part)) for part in places]


def test_a_decomposable_model_has_its_closed_form():
    """p(a, b) p(b, c) / p(b)."""
    table = np.random.default_rng(1).integers(1, 30, (2, 3, 2)).astype(float)
    p = fit_log_linear((2, 3, 2), [(0, 1), (1, 2)], marginals_of(table, [(0, 1), (1, 2)]))
    q = table / table.sum()
    closed = q.sum(2)[:, :, None] * q.sum(0)[None] / q.sum((0, 2))[None, :, None]
    assert p == pytest.approx(closed, abs=1e-9)


def test_the_axes_of_a_marginal_may_be_in_any_order():
    table = np.random.default_rng(2).integers(1, 30, (2, 3, 4)).astype(float)
    one = fit_log_linear((2, 3, 4), [(0, 2), (1,)], marginals_of(table, [(0, 2), (1,)]))
    ac, b = marginals_of(table, [(0, 2), (1,)])
    other = fit_log_linear((2, 3, 4), [(1,), (2, 0)], [b, ac.T])
    assert one == pytest.approx(other, abs=1e-9)


def test_no_three_way_interaction_has_constant_odds_ratios():
    table = np.random.default_rng(3).integers(5, 60, (2, 2, 3)).astype(float)
    places = [(0, 1), (0, 2), (1, 2)]
    p = fit_log_linear((2, 2, 3), places, marginals_of(table, places))
    odds = p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0])
    assert odds == pytest.approx(np.full(3, odds[0]), rel=1e-6)
    for found, true in zip(marginals_of(p, places), marginals_of(table, places), strict=True):
        assert found == pytest.approx(true / table.sum(), abs=1e-8)


def test_inconsistent_marginals_get_the_closest_table():
    """The same smallest squared distance as a general optimiser's."""
    places = [(0, 1), (1, 2)]
    tables = [np.array([[9.0, 4, -2], [6, 1, 8]]), np.array([[3.0, 8], [5, 9], [2, 2]])]
    p = fit_log_linear((2, 3, 2), places, tables)
    targets = [np.maximum(t, 0) / np.maximum(t, 0).sum() for t in tables]

    def loss(flat):
        q = np.exp(flat - flat.max()).reshape(2, 3, 2)
        found = marginals_of(q / q.sum(), places)
        return sum(np.sum((f - t) ** 2) for f, t in zip(found, targets, strict=True))

    best = min(
        optimize.minimize(loss, np.random.default_rng(k).normal(size=12), tol=1e-14).fun
        for k in range(5)
    )
    ours = sum(np.sum((f - t) ** 2) for f, t in zip(marginals_of(p, places), targets, strict=True))
    assert ours <= best * 1.01 + 1e-9
    assert p.sum() == pytest.approx(1)
    assert p.min() >= 0


def test_counts_that_are_all_negative_are_uniform():
    p = fit_log_linear((2, 2), [(0,), (1,)], [np.array([-3, -1]), np.array([1, 3])])
    assert p == pytest.approx(np.array([[0.125, 0.375], [0.125, 0.375]]))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_release_holds_marginals_and_gives_records(tmp_path, neighbours):
    made = Synthesizer(2.0, marginals=CHAIN, categories=COLUMNS, neighbours=neighbours)
    rng = np.random.default_rng(4)
    data = pd.DataFrame({k: rng.choice(np.array(v), 200) for k, v in COLUMNS.items()})
    release = made.release(data)
    assert release.guarantee.epsilon == made.guarantee().epsilon == pytest.approx(2)
    assert release.mechanism.n == (200 if neighbours == "replace_one" else None)
    assert len(release.to_frames()[0]) == 6 + 6
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    (frame,) = made.records(loaded, size=1000, seed=1)
    assert {k: set(frame[k]) <= set(v) for k, v in COLUMNS.items()} == dict.fromkeys(COLUMNS, True)
    assert len(frame) == 1000
    if neighbours == "replace_one":
        assert len(made.records(loaded)[0]) == 200
    else:
        with pytest.raises(bdp.errors.InvalidInput, match="size is missing"):
            made.records(loaded)


def test_records_keep_what_the_marginals_say():
    """With next to no noise, pairs' frequencies are the data's: 6 standard errors."""
    counts = np.random.default_rng(5).integers(50, 500, (2, 3, 2))
    made = Synthesizer(1e4, marginals=CHAIN, categories=COLUMNS)
    (p,) = made.fitted(made.release(counts=counts))
    assert p.sum(axis=2) == pytest.approx(counts.sum(axis=2) / counts.sum(), abs=1e-3)
    (frame,) = made.records(made.release(counts=counts), size=40_000, seed=2)
    for (i, a), (j, b) in itertools.product(enumerate(COLUMNS["a"]), enumerate(COLUMNS["b"])):
        share = ((frame["a"] == a) & (frame["b"] == b)).mean()
        true = counts[i, j].sum() / counts.sum()
        assert abs(share - true) < 6 * np.sqrt(true * (1 - true) / 40_000) + 1e-3


def test_gaussian_noise_is_narrower_for_many_marginals():
    columns = {f"c{k}": [0, 1] for k in range(8)}
    pairs = list(itertools.combinations(columns, 2))
    known = {"marginals": pairs, "categories": columns, "delta": 1e-6}
    release = Synthesizer(1.0, noise="gaussian", **known).release(counts=np.ones((2,) * 8, int))
    assert release.guarantee.epsilon <= 1
    assert release.guarantee.delta == 1e-6
    laplace = Synthesizer(1.0, **known)
    assert release.mechanism.scale < laplace.release(counts=np.ones((2,) * 8, int)).mechanism.scale


def test_bounded_columns_are_cut_and_drawn_within():
    made = Synthesizer(
        3.0, marginals=[("x", "a")], categories={"a": [0, 1]}, bounds={"x": (0, 10)}, bins=5
    )
    data = pd.DataFrame({"x": np.linspace(0, 10, 50), "a": [0, 1] * 25})
    (frame,) = made.records(made.release(data), size=100, seed=1)
    assert frame["x"].between(0, 10).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"copies": 0}, "copies is 0"),
        ({"delta": 2}, "delta is 2"),
        ({"outside": "no"}, "outside is 'no'"),
        ({"marginals": []}, "marginals is"),
        ({"categories": None}, "categories is missing"),
        ({"categories": None, "bounds": (0, 1), "bins": 2}, "categories is missing"),
        ({"noise": "gaussian"}, "delta"),
        ({"neighbours": "node"}, "neighbours is 'node'"),
    ],
)
def test_bad_parameters_are_named(wrong, message):
    good = {"epsilon": 1.0, "marginals": CHAIN, "categories": COLUMNS}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(**{**good, **wrong})


def test_bad_data_and_releases_are_refused():
    made = Synthesizer(1.0, marginals=CHAIN, categories=COLUMNS)
    with pytest.raises(bdp.errors.InvalidInput, match="either data or counts"):
        made.release()
    with pytest.raises(bdp.errors.InvalidInput, match="the cells make"):
        made.release(counts=[1, 2, 3])
    with pytest.raises(bdp.errors.InvalidInput, match="data must have the 0 columns"):
        made.release(pd.DataFrame({"a": [0]}))
    public = dataclasses.replace(made, neighbours="replace_one")
    with pytest.raises(bdp.errors.InvalidInput, match="counts holds no records"):
        public.release(counts=np.zeros(12, int))
    with pytest.raises(bdp.errors.InvalidInput, match="data is empty"):
        public.release(pd.DataFrame({k: [] for k in COLUMNS}))
    other = bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1])
    with pytest.raises(bdp.errors.InvalidInput, match="log-linear"):
        made.fitted(other)


# Structural zeros and groups.

IMPOSSIBLE = [{"a": 1, "b": "u"}, {"b": "w", "c": [True, False]}]


def test_quasi_independence_keeps_the_margins_and_the_zeros():
    """Bishop, Fienberg and Holland's model of a square table without its diagonal."""
    possible = ~np.eye(3, dtype=bool)
    u, v = np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 2.0])
    true = np.outer(u, v) * possible
    p = fit_log_linear((3, 3), [(0,), (1,)], [true.sum(1), true.sum(0)], possible)
    assert p == pytest.approx(true / true.sum(), abs=1e-7)
    assert np.all(p[~possible] == 0)
    rng = np.random.default_rng(6)
    noisy = [true.sum(1) + rng.normal(0, 3, 3), true.sum(0) + rng.normal(0, 3, 3)]
    p = fit_log_linear((3, 3), [(0,), (1,)], noisy, possible)
    assert np.all(p[~possible] == 0)
    assert p.sum() == pytest.approx(1)
    assert p[0, 1] * p[1, 2] * p[2, 0] == pytest.approx(p[0, 2] * p[1, 0] * p[2, 1], rel=1e-6)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_structural_zeros_get_no_noise_and_no_records(noise, tmp_path):
    known = {"marginals": CHAIN, "categories": COLUMNS, "noise": noise}
    known["delta"] = 1e-6 if noise == "gaussian" else 0.0
    made = Synthesizer(0.5, zeros=IMPOSSIBLE, **known)
    counts = np.random.default_rng(7).integers(1, 9, (2, 3, 2))
    with pytest.raises(bdp.errors.InvalidInput, match=r"zeros\[0\] says that there can be none"):
        made.release(counts=counts)
    counts[1, 0] = counts[:, 2] = 0
    release = made.release(counts=counts)
    assert release.guarantee == made.guarantee()
    assert release.guarantee.epsilon == Synthesizer(0.5, **known).guarantee().epsilon
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    ab, bc = release.mechanism.tables(release.outputs[0])
    assert ab[1, 0] == ab[0, 2] == ab[1, 2] == 0
    assert np.all(bc[2] == 0)
    (frame,) = made.records(release, 5000, seed=1)
    assert not ((frame["a"] == 1) & (frame["b"] == "u")).any()
    assert set(frame["b"]) <= {"u", "v"}
    with pytest.raises(bdp.errors.InvalidInput, match="in a structural zero"):
        release.mechanism.statistic(np.ones((2, 3, 2), int))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_groups_together_cost_what_one_does(neighbours, tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=1.0, neighbours=neighbours)
    groups = ["n", "s", "e"] if neighbours == "add_remove" else None
    made = Synthesizer(
        1.0, marginals=CHAIN, categories=COLUMNS, neighbours=neighbours, groups=groups
    )
    rng = np.random.default_rng(8)
    data = pd.DataFrame({k: rng.choice(np.array(v), 90) for k, v in COLUMNS.items()})
    where = pd.Series(["n"] * 60 + ["s"] * 30, name="region")
    release = made.release(data, by=where, ledger=budget)
    assert release.by == "region"
    assert budget.spent().epsilon == release.guarantee.epsilon <= 1
    assert release.guarantee.epsilon == made.guarantee().epsilon == pytest.approx(1)
    if groups:
        assert release.groups == ("n", "s", "e")
        assert any("list of groups" in note for note in release.guarantee.assumptions)
        with pytest.raises(bdp.errors.InvalidInput, match="size is missing"):
            made.records(release)
        (frame,) = made.records(release, {"n": 7, "s": 5, "e": 1}, seed=1)
        assert frame["region"].value_counts().to_dict() == {"n": 7, "s": 5, "e": 1}
        with pytest.raises(bdp.errors.InvalidInput, match="size has no number for the group 's'"):
            made.records(release, {"n": 7})
        assert len(made.records(release, 10)[0]) == 30
    else:
        assert [part.mechanism.n for part in release.parts] == [60, 30]
        (frame,) = made.records(release, seed=1)
        assert frame["region"].value_counts().to_dict() == {"n": 60, "s": 30}
        assert any("group sizes are public" in note for note in release.guarantee.assumptions)
    assert made.fitted(release["s"])[0].sum() == pytest.approx(1)
    with pytest.raises(bdp.errors.InvalidInput, match="take one"):
        made.fitted(release)


def test_groups_are_models_of_their_own():
    """With next to no noise, each group's frequencies are its data's."""
    tables = {"x": np.array([[60, 20], [10, 10]]), "y": np.array([[1, 99], [200, 100]])}
    made = Synthesizer(
        1e4, marginals=[("p", "q")], categories={"p": [0, 1], "q": [0, 1]}, groups=["x", "y"]
    )
    release = made.release(counts=tables)
    for label, table in tables.items():
        assert made.fitted(release[label])[0] == pytest.approx(table / table.sum(), abs=1e-2)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_promise_of_groups_with_zeros_is_that_of_their_joint_law(relation):
    """Data sets of at most two records in two groups of three cells, one of them impossible."""
    made = Synthesizer(
        0.8,
        marginals=["p"],
        categories={"p": [0, 1, 2]},
        neighbours=relation,
        zeros=[{"p": 1}],
        groups=["x", "y"],
    )
    each = {"x": np.array([1, 0, 0]), "y": np.array([0, 0, 1])}
    release = made.release(counts=each)
    promise = release.guarantee.epsilon
    points = [(i, 0, j) for i, j in itertools.product(range(-4, 7), repeat=2)]
    mechanism = release["x"].mechanism

    def joint(x: tuple[int, int], y: tuple[int, int]) -> np.ndarray:
        laws = []
        for counts in (x, y):
            one = mechanism.__class__(
                mechanism.scale, mechanism.axes, mechanism.marginals, zeros=mechanism.zeros
            )
            laws.append(one.logp(np.array(points), (counts[0], 0, counts[1])))
        return np.add.outer(*laws)

    sets = [s for s in itertools.product(range(3), repeat=4) if sum(s) <= 2]
    worst = 0.0
    for one, other in itertools.permutations(sets, 2):
        moved = np.subtract(one, other)
        if relation == "add_remove":
            near = np.abs(moved).sum() == 1
        else:  # within a group, as each record's is public
            near = np.abs(moved).sum() == 2 and moved[:2].sum() == moved[2:].sum() == 0
        if near:
            apart = joint(one[:2], one[2:]) - joint(other[:2], other[2:])
            worst = max(worst, np.abs(apart).max())
    assert worst == pytest.approx(promise, rel=1e-9)
    assert worst <= promise * (1 + 1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": ["n"] * 6}, "groups is missing"),
        ({"by": ["n"] * 5, "groups": ["n"]}, "as long as data"),
        ({"by": ["n"] * 5 + ["z"], "groups": ["n"]}, "outside the listed groups"),
        ({"groups": ["n"]}, "by is not"),
    ],
)
def test_bad_groups_are_refused(wrong, message):
    made = Synthesizer(1.0, marginals=CHAIN, categories=COLUMNS, groups=wrong.get("groups"))
    data = pd.DataFrame({"a": [0] * 6, "b": ["u"] * 6, "c": [True] * 6})
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made.release(data, by=wrong.get("by"))
    with pytest.raises(bdp.errors.InvalidInput, match="by is given with counts"):
        made.release(counts=np.ones(12, int), by=["n"])
