"""Modips that are declared: what is taken, refused, written down and inferred from."""

import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import bayesdp as bdp

FALSE_ALARM = 1e-6
Bernoulli, Categorical, Gaussian = (
    bdp.families.Bernoulli,
    bdp.families.Categorical,
    bdp.families.Gaussian,
)
RECORDS = np.array([-3.5, 0.25, 1.0, 2.0, 3.75, -1.0])


def test_the_issues_example(tmp_path):
    x = np.clip(np.random.default_rng(1).normal(size=200), -4, 4)
    release = bdp.ModipsSynthesizer(
        family=Gaussian(bounds=(-4, 4)),
        method="sbs",
        epsilon=1.0,
        copies=10,
        allocation="individualized",
        weights=(0.5, 0.5),
        bounding="inflated",
    ).release(pd.Series(x, name="height"))
    assert (release.copies, release.variable) == (10, "height")
    assert release.guarantee.epsilon <= 1.0
    assert release.guarantee.epsilon == pytest.approx(1.0, rel=1e-5)
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert release.guarantee.neighbours is bdp.Neighbours.REPLACE_ONE
    assert [len(frame) for frame in release.to_frames()] == [200] * 10
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release


@pytest.mark.parametrize(
    ("family", "data"),
    [(Bernoulli(), [0, 1, 1]), (Categorical(3), [0, 2, 2]), (Gaussian((-4, 4)), RECORDS)],
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_confidential_n_is_nowhere_in_the_release(family, data, noise, tmp_path):
    delta = 1e-6 if noise == "gaussian" else 0.0
    declared = bdp.ModipsSynthesizer(
        family, delta=delta, size=7, public_n=False, noise=noise, copies=2
    )
    release = declared.release(data)
    assert release.mechanism.n is None
    assert release.guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    assert release.guarantee == declared.guarantee()
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release


def test_clipping_moves_each_record_by_itself_and_is_written_down():
    family = Gaussian((-2, 3), 1.0)
    with pytest.raises(bdp.errors.InvalidInput, match=r"clip=True") as error:
        bdp.ModipsSynthesizer(family, copies=1).release(RECORDS)
    assert "3.75" not in str(error.value)
    assert "-3.5" not in str(error.value)
    clipped = family.sums(RECORDS, clip=True)
    assert clipped == family.sums(np.clip(RECORDS, -2, 3))
    release = bdp.ModipsSynthesizer(family, copies=1, clip=True).release(RECORDS)
    assert release.mechanism.clip
    assert not any("refused" in note for note in release.guarantee.assumptions)
    # So is a whole number that no float can hold: there is nothing to refuse.
    beyond = family.sums([10**400, 1, Fraction(-(10**400)), 0.5], clip=True)
    assert beyond == family.sums([3, 1, -2, 0.5])


def budget(folder: Path, epsilon: float) -> Any:
    ledger = bdp.Ledger.open(f"sqlite:///{folder}/ledger.db")
    return ledger.create("survey", epsilon=epsilon, neighbours="replace_one")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"family": "gaussian"}, "family is 'gaussian'"),
    ({"family": {"kind": "weibull"}}, "it must be one of bdp.families"),
    ({"family": {"name": "bernoulli"}}, r'or in a file \{ kind = "bernoulli" \}'),
    ({"family": {"kind": "gaussian", "shape": 2}}, "family 'gaussian'"),
    ({"method": "mcmc"}, "method is 'mcmc'"),
    ({"method": "sdd"}, "with a known sd"),
    ({"method": "sdd", "delta": 1e-6}, "delta is 1e-06, but method is 'sdd'"),
    ({"method": "sphc", "noise": "gaussian"}, "noise is 'gaussian', but method is 'sphc'"),
    ({"grid": (0, 1)}, "grid is .* but method is 'sbs'"),
    ({"calibration": "published"}, "calibration is 'published', but method is 'sbs'"),
    ({"epsilon": 0}, "epsilon is 0"),
    ({"epsilon": float("nan")}, "epsilon is nan"),
    ({"delta": 1.0}, "delta is 1.0"),
    ({"copies": 0}, "copies is 0"),
    ({"copies": 2.5}, "copies is 2.5"),
    ({"size": 0}, "size is 0"),
    ({"public_n": False}, "size is missing"),
    ({"public_n": 3}, "public_n is 3"),
    ({"noise": "cauchy"}, "noise is 'cauchy'"),
    ({"noise": "gaussian"}, "ask for a positive delta"),
    ({"allocation": "equal"}, "allocation is 'equal'"),
    ({"weights": (0.5, 0.6)}, "with sum 1"),
    ({"weights": (1.5, -0.5)}, "positive numbers"),
    ({"weights": (0.2, 0.3, 0.5)}, "weights has 3 numbers"),
    ({"weights": 1.0}, "weights is 1.0"),
    ({"weights": (0.5, 0.5), "allocation": "communal"}, "leave weights out"),
    ({"bounding": None}, "bounding is None"),
    ({"bounding": "truncated", "public_n": False, "size": 9}, "no range where n is confidential"),
    ({"clip": 1}, "clip is 1"),
    ({"draws": 0}, "draws is 0"),
    ({"method": "sdd", "draws": 2}, "draws is 2, but method is 'sdd'"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_declarations_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.ModipsSynthesizer(**{"family": Gaussian((-4, 4)), **wrong})


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Gaussian((4, -4)), "lower first"),
        (lambda: Gaussian((0, 0)), "lower first"),
        (lambda: Gaussian((0, float("inf"))), "finite"),
        (lambda: Gaussian(3.0), "two finite numbers"),
        (lambda: Gaussian((0, 1), sd=0), "sd is 0"),
        (lambda: Gaussian((0, 1), prior=(0.5, 1)), "m0, k, a, b"),
        (lambda: Gaussian((0, 1), sd=1, prior=(2, 1)), "within the bounds"),
        (lambda: Gaussian((0, 1), sd=1, prior=(0.5, 0)), "positive"),
        (lambda: Bernoulli((0, 1)), "positive"),
        (lambda: Categorical(1), "at least 2"),
        (lambda: Categorical(3, (1, 1)), "k = 3 positive"),
        (lambda: Categorical(2, (1, -1)), "k = 2 positive"),
        (
            lambda: bdp.mechanisms.ModipsSBSMechanism(Gaussian((0, 1)), 5, (1.0,), 9),
            "2 numbers: mean, variance",
        ),
        (
            lambda: bdp.mechanisms.ModipsSBSMechanism(Gaussian((0, 1)), 5, (1.0, 0.0), 9),
            "scales has a value",
        ),
        (
            lambda: bdp.mechanisms.ModipsSBSMechanism(Gaussian((0, 1)), 5, (1.0, 1.0), 1),
            "a variance needs 2",
        ),
    ],
)
def test_wrong_families_and_mechanisms_are_named(made, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made()


@pytest.mark.parametrize(
    ("family", "data", "message"),
    [
        (Gaussian((-4, 4)), [], "empty"),
        (Gaussian((-4, 4)), iter([[], []]), "empty"),
        (Gaussian((-4, 4)), iter([]), "empty"),
        (Gaussian((-4, 4)), [0.5], "a variance needs 2"),
        (Gaussian((-4, 4)), [0.5, 4.125], "clip=True"),
        (Gaussian((-4, 4)), iter([[0.5, 1.0], [4.125]]), "clip=True"),
        (Gaussian((-4, 4)), [0.5, np.nan], "missing"),
        (Gaussian((-4, 4)), ["a", "b"], "clip=True"),
        (Gaussian((-4, 4)), [[0.5], [1.0]], "2 dimensions"),
        (Bernoulli(), [0, 2], "other than 0 and 1"),
        (Bernoulli(), [], "empty"),
        (Categorical(3), [0, 3], "labels 0 to 2"),
        (Categorical(3), [0.5, 1], "labels 0 to 2"),
    ],
)
def test_wrong_data_cost_nothing(family, data, message, tmp_path):
    ledger = budget(tmp_path, 3.0)
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        bdp.ModipsSynthesizer(family, copies=2).release(data, ledger=ledger)
    assert "4.125" not in str(error.value)
    assert ledger.spent().epsilon == 0


def test_a_release_is_paid_for_before_it_is_drawn(tmp_path):
    ledger = budget(tmp_path, 1.5)
    declared = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=1.0, copies=2)
    declared.release(RECORDS, ledger=ledger)
    assert ledger.spent().epsilon == pytest.approx(1.0, rel=1e-5)
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(RECORDS, ledger=ledger)
    with bdp.reproducible(1), pytest.raises(bdp.errors.InvalidInput, match="seeded"):
        declared.release(RECORDS, ledger=ledger)


def test_a_promise_is_known_before_the_data():
    declared = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=1.0, copies=3)
    assert declared.guarantee(6) == declared.release(RECORDS).guarantee
    for n, public in ((None, True), (6, False)):
        with pytest.raises(bdp.errors.InvalidInput, match="give n where it is public"):
            bdp.ModipsSynthesizer(Gaussian((-4, 4)), public_n=public, size=9).guarantee(n)


def test_a_parquet_file_is_read_in_batches(tmp_path):
    """Three million records, without ever holding all of them."""
    path, rng = tmp_path / "records.parquet", np.random.default_rng(1)
    schema = pa.schema([("x", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(30):
            x = np.clip(rng.normal(1, 1, 100_000), -4, 4)
            writer.write_table(pa.table({"x": x}, schema))
    tracemalloc.start()
    file = pq.ParquetFile(path, pre_buffer=False)
    batches = (batch.column("x").to_numpy() for batch in file.iter_batches(columns=["x"]))
    declared = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=1.0, copies=2, size=2000)
    with bdp.reproducible(1):
        release = declared.release(batches)
    assert release.mechanism.n == 3_000_000
    for copy in release.outputs:
        assert np.mean(copy) == pytest.approx(1, abs=0.15)
        assert np.std(copy) == pytest.approx(1, abs=0.15)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 10**6  # the file holds 24 million bytes


# Inference.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "copies", "bounding", "noise"),
    [
        (1.0, 1, "inflated", "laplace"),
        (1.0, 5, "inflated", "laplace"),
        (3.0, 2, "truncated", "laplace"),
        (2.0, 3, "inflated", "gaussian"),
    ],
)
def test_the_posterior_that_knows_the_sanitisation_is_calibrated(epsilon, copies, bounding, noise):
    """Its distribution function at the true proportion is uniform: so all intervals are nominal."""
    rng, pit, model = np.random.default_rng(7), [], bdp.BinomialModel()
    declared = bdp.ModipsSynthesizer(
        Bernoulli(),
        epsilon=epsilon,
        delta=1e-3 if noise == "gaussian" else 0.0,
        copies=copies,
        bounding=bounding,
        noise=noise,
    )
    for i in range(250):
        p = rng.beta(1, 1)
        with bdp.reproducible(i):
            release = declared.release(bdp.Count(int(rng.binomial(40, p)), 40))
        pit.append(model.posterior(release).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue > FALSE_ALARM


@pytest.mark.slow
def test_the_calibration_has_power():
    """The naive posterior, which takes the copies for real records, fails it."""
    rng, pit, model = np.random.default_rng(7), [], bdp.BinomialModel()
    declared = bdp.ModipsSynthesizer(Bernoulli(), epsilon=1.0, copies=5)
    for i in range(400):
        p = rng.beta(1, 1)
        with bdp.reproducible(i):
            release = declared.release(bdp.Count(int(rng.binomial(40, p)), 40))
        pit.append(model.naive_posterior(release).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue < FALSE_ALARM


@pytest.mark.slow
def test_an_unknown_n_is_calibrated_too():
    rng, pit, model = np.random.default_rng(8), [], bdp.BinomialModel(n=range(5, 16))
    declared = bdp.ModipsSynthesizer(Bernoulli(), epsilon=2.0, copies=2, size=10, public_n=False)
    for i in range(80):
        p, n = rng.beta(1, 1), int(rng.integers(5, 16))
        with bdp.reproducible(i):
            release = declared.release(bdp.Count(int(rng.binomial(n, p)), n))
        pit.append(model.posterior(release).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue > FALSE_ALARM


def test_a_fit_is_what_arviz_takes(tmp_path):
    release = bdp.ModipsSynthesizer(Bernoulli(), epsilon=2.0, copies=3).release([0, 1] * 20)
    idata = bdp.BinomialModel().fit(release, draws=50, seed=1)
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    assert "bernoulli" in str(idata.constant_data["mechanism_family"].item())


def test_other_families_have_no_binomial_model():
    release = bdp.ModipsSynthesizer(Gaussian((-4, 4)), copies=2).release(RECORDS)
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise a count"):
        bdp.BinomialModel().posterior(release)


@pytest.mark.parametrize("method", ["sdd", "sphc"])
@pytest.mark.parametrize(("public", "size"), [(True, None), (False, 8)])
@pytest.mark.parametrize(
    ("family", "data"),
    [
        (Bernoulli(), [0, 1, 1, 0, 1]),
        (Gaussian((-4, 4), 1.0), RECORDS),
        (Categorical(3), [0, 2, 1, 2, 2]),
    ],
)
def test_cells_of_a_posterior(family, data, public, size, method, tmp_path):
    declared = bdp.ModipsSynthesizer(
        family, method, epsilon=0.7, copies=3, public_n=public, size=size
    )
    release = declared.release(data)
    assert release.guarantee == declared.guarantee(len(data) if public else None)
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert 0.69 < release.guarantee.epsilon <= 0.7
    assert [len(frame) for frame in release.to_frames()] == [size or len(data)] * 3
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release


def test_a_ledger_takes_published_cells_only_as_unproved(tmp_path):
    ledger = budget(tmp_path, 10.0)
    declared = bdp.ModipsSynthesizer(
        Bernoulli(), "sphc", epsilon=1.0, copies=2, calibration="published", grid=(0.1, 0.9)
    )
    with pytest.raises(bdp.errors.BayesDPError, match="accept_unproved"):
        declared.release([0, 1, 1], ledger=ledger)
    assert declared.release([0, 1, 1]).guarantee.strength is bdp.Strength.AS_PUBLISHED


def test_the_exact_posterior_given_copies_from_cells():
    """Against all counts x, and all cells, by their exact laws."""
    release = bdp.ModipsSynthesizer(
        Bernoulli(), "sdd", epsilon=6.0, copies=3, grid=(0.2, 0.9), bins=5
    ).release([0, 1] * 6)
    found = bdp.BinomialModel(prior=(1.0, 1.0)).posterior(release)
    x = np.arange(13)
    edges = np.linspace(0.2, 0.9, 6)
    theta = (edges[1:] + edges[:-1]) / 2
    choice = release.mechanism.power * stats.binom.logpmf(x[:, None], 12, theta)
    choice = np.exp(choice - choice.max(axis=1, keepdims=True))
    choice /= choice.sum(axis=1, keepdims=True)
    weight = np.ones(13)
    for z in release.outputs:
        given = np.diff(stats.beta.cdf(edges, z + 1, 13 - z)) / 13 / np.diff(edges)
        weight = weight * (choice @ given)
    mean = (weight * (1 + x) / 14).sum() / weight.sum()
    assert found.mean() == pytest.approx(mean, rel=1e-6)


def test_nested_copies_cost_no_more_and_are_combined(tmp_path):
    data = np.clip(np.random.default_rng(1).normal(size=300), -4, 4)
    flat = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=1.0, copies=4)
    nested = bdp.ModipsSynthesizer(Gaussian((-4, 4)), epsilon=1.0, copies=4, draws=3)
    assert nested.guarantee(300) == flat.guarantee(300)
    release = nested.release(data)
    assert release.copies == 4
    assert [len(output) for output in release.outputs] == [3] * 4
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    groups = [frame.groupby("draw")["value"] for frame in release.to_frames()]
    means = np.array([group.mean() for group in groups])
    variances = np.array([group.var() / 300 for group in groups])
    assert means.shape == (4, 3)
    found = bdp.evaluate.combine_nested(means, variances)
    assert found.b22 == pytest.approx(variances.mean())


def test_draws_share_the_noise_of_their_statistic():
    """Between copies estimates differ by the noise; between draws, only by the model's own."""
    declared = bdp.ModipsSynthesizer(Bernoulli(), epsilon=0.4, copies=200, draws=20, size=100_000)
    with bdp.reproducible(5):
        release = declared.release(bdp.Count(50_000, 100_000))
    q = np.array(release.outputs) / 100_000
    within = q.var(axis=1, ddof=1).mean()
    assert within == pytest.approx(2 * 0.25 / 100_000, rel=0.15)
    noise = 2 * (200 / 0.4 / 100_000) ** 2
    assert q.mean(axis=1).var(ddof=1) == pytest.approx(noise, rel=1.5)
    assert q.mean(axis=1).var(ddof=1) > 4 * within


# Records of several columns.

COLUMNS = {"age": (18, 90), "pressure": (70, 250)}
PRESSURE = bdp.families.LinearRegression(COLUMNS, "pressure")


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, n)
    pressure = np.clip(100 + 0.6 * age + rng.normal(0, 8, n), 70, 250)
    return pd.DataFrame({"pressure": pressure, "name": "x", "age": age})


@pytest.mark.parametrize("public", [True, False])
def test_a_regressions_copies_are_whole_tables(public, tmp_path):
    data = people(3000)
    declared = bdp.ModipsSynthesizer(
        PRESSURE, epsilon=20.0, copies=3, public_n=public, size=None if public else 2000
    )
    with bdp.reproducible(2):
        release = declared.release(data)
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    assert declared.guarantee(3000 if public else None).epsilon == pytest.approx(20.0, rel=1e-5)
    for frame in release.to_frames():
        assert list(frame.columns) == ["age", "pressure"]
        assert len(frame) == (3000 if public else 2000)
        slope, at_zero = np.polyfit(frame["age"], frame["pressure"], 1)
        assert slope == pytest.approx(0.6, abs=0.15)
        assert at_zero == pytest.approx(100, abs=8)
        assert np.all(frame["age"].between(18, 90) & frame["pressure"].between(70, 250))


def test_columns_are_found_by_name_or_in_order_in_memory_or_in_batches():
    data = people(500)
    declared = bdp.ModipsSynthesizer(PRESSURE, copies=2)
    releases = []
    for given in (
        data,
        data[["age", "pressure"]].to_numpy(),
        iter([data[:123], data[123:123], data[123:]]),
    ):
        with bdp.reproducible(1):
            releases.append(declared.release(given))
    assert releases[0] == releases[1] == releases[2]


def test_values_out_of_bounds_are_moved_only_if_asked():
    data = people(50)
    data.loc[3, "age"] = 111.0
    with pytest.raises(bdp.errors.InvalidInput, match=r"column 'age'.*clip=True") as error:
        bdp.ModipsSynthesizer(PRESSURE).release(data)
    assert "111" not in str(error.value)
    assert bdp.ModipsSynthesizer(PRESSURE, clip=True).release(data).mechanism.clip
    moved = data.assign(age=data["age"].clip(18, 90))
    assert PRESSURE.sums(data, clip=True) == PRESSURE.sums(moved)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (people(0), "empty"),
        (iter([people(0)]), "empty"),
        (people(3).drop(columns="age"), r"no columns \['age'\]"),
        (people(3).assign(age=[30.0, None, 40.0]), "column 'age': data has missing values"),
        (people(3).assign(age=["30", "4", "x"]), "column 'age' has values that aren't numbers"),
        (people(3)["age"], r"shape \(3,\)"),
        (np.zeros((4, 3)), r"shape \(4, 3\)"),
        (np.full((4, 2), 17.5), "column 'age' has values"),
        (np.full((4, 2), np.inf), "column 'age' has values"),
        (np.full((4, 2), np.nan), "missing"),
    ],
)
@pytest.mark.parametrize("clip", [True, False])
def test_wrong_tables_cost_nothing(data, message, clip, tmp_path):
    if clip and "has values" in message and "aren't numbers" not in message:
        return
    ledger = budget(tmp_path, 3.0)
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        bdp.ModipsSynthesizer(PRESSURE, copies=2, clip=clip).release(data, ledger=ledger)
    assert "17.5" not in str(error.value)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bounds": {"a": (0, 1)}}, "two columns or more"),
        ({"bounds": (0, 1)}, "two columns or more"),
        ({"bounds": [("a", (0, 1)), ("a", (0, 1))]}, "named once"),
        ({"bounds": {"copy": (0, 1), "y": (0, 1)}}, "release's table"),
        ({"bounds": {"a": (1, 0), "y": (0, 1)}}, "column 'a': bounds is"),
        ({"response": "z"}, "response is 'z'"),
        ({"response": ["age"]}, "response is"),
        ({"prior": (0, 1, 1)}, "m0, k, a, b"),
        ({"prior": (0, 0, 1, 1)}, "positive"),
        ({"prior": ((0, 0, 0), 1, 1, 1)}, "one number or 2"),
        ({"prior": (0, 1, float("nan"), 1)}, "finite"),
        ({"predictors_prior": (0, 1, 0, 1)}, "degrees of freedom above"),
        ({"predictors_prior": "flat"}, "predictors_prior is 'flat'"),
    ],
)
def test_wrong_regressions_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.families.LinearRegression(**{"bounds": COLUMNS, "response": "pressure", **wrong})


def test_a_regression_has_no_cells():
    with pytest.raises(bdp.errors.InvalidInput, match="bounded on a grid of one parameter"):
        bdp.ModipsSynthesizer(PRESSURE, "sdd")


def test_nested_copies_of_a_regression_keep_their_columns(tmp_path):
    release = bdp.ModipsSynthesizer(PRESSURE, copies=2, draws=3).release(people(40))
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    for frame in release.to_frames():
        assert list(frame.columns) == ["draw", "age", "pressure"]
        assert frame["draw"].value_counts().to_dict() == {0: 40, 1: 40, 2: 40}
