"""The perturbed histogram synthesizer: cells, law, inference, records, costs and refusals."""

import collections
import dataclasses
import functools
import itertools
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.synthesis.histogram_bins import intervals

Synthesizer = bdp.synthesizers.PerturbedHistogramSynthesizer
RECORDS = stats.beta(0.5, 3).ppf((np.arange(1, 2001) - 0.5) / 2000)
MIXED = pd.DataFrame(
    {
        "age": [3, 99, 50, 50, 20],
        "sex": ["f", "m", "f", "f", "m"],
        "share": [0.0, 1.0, 0.25, 0.75, 0.5],
    }
)
MIXED_OPTIONS: dict[str, Any] = {
    "bounds": {"age": (0, 100), "share": (0.0, 1.0)},
    "categories": {"sex": ["m", "f", "x"]},
    "bins": {"age": [0, 18, 65, 100], "share": 2},
}


@pytest.mark.parametrize(
    ("rule", "n", "columns", "each"),
    [
        ("sqrt", 2000, 1, 45),
        ("log", 2000, 1, 8),
        ("sqrt", 2025, 1, 45),
        ("sqrt", 2026, 1, 46),
        ("log", 1, 1, 1),
        ("sqrt", 10**6, 3, 10),
        ("sqrt", 2000, 2, 7),
        ("log", 2000, 2, 3),
    ],
)
def test_the_rules(rule: str, n: int, columns: int, each: int):
    """S1: m = sqrt(n) or ln(n), rounded up; of several columns, at least as many boxes."""
    assert intervals(rule, n, columns) == each
    bounds = [(0.0, 1.0)] * columns if columns > 1 else (0.0, 1.0)
    data = np.full((n, columns)[: 1 + (columns > 1)], 0.5) if n < 10**5 else None
    if data is not None:
        release = Synthesizer(
            1.0, bounds=bounds, bins=rule, neighbours="replace_one", n=None
        ).release(data)
        assert [axis.size for axis in release.mechanism.axes] == [each] * columns


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("copies", [1, 3])
def test_scale_and_promise(neighbours: str, copies: int):
    """S1's scale is 2 / epsilon, under replace-one; under add/remove-one half that does."""
    made = Synthesizer(2.0, copies, bounds=(0, 1), neighbours=neighbours, n=2000)
    release = made.release(RECORDS)
    mechanism = release.mechanism
    times = 2 if neighbours == "replace_one" else 1
    assert mechanism.scale == pytest.approx(times * copies / 2.0, rel=1e-12)
    assert mechanism.cells == 45
    assert release.copies == copies
    guarantee = release.guarantee
    assert guarantee.epsilon == made.guarantee().epsilon
    assert guarantee.epsilon == pytest.approx(2.0, rel=1e-12)
    assert guarantee.epsilon <= 2.0
    assert guarantee.delta == 0
    assert guarantee.neighbours == neighbours
    assert guarantee.strength is bdp.Strength.PROVED
    assert mechanism.n == (2000 if neighbours == "replace_one" else None)


def neighbours_of(data: tuple[Any, ...], relation: str, domain: Any) -> list[tuple[Any, ...]]:
    if relation == "add_remove":
        return [(*data, one) for one in domain]
    return [(*data[:k], one, *data[k + 1 :]) for k in range(len(data)) for one in domain]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("columns", [1, 2])
def test_epsilon_by_enumeration_over_data_sets(relation: str, columns: int, monkeypatch):
    """Every data set of two records on a lattice, every neighbour, every output that matters.

    The largest log ratio is the claim: at most, and attained.
    """
    lattice = [0.0, 0.3, 0.5, 1.0] if columns == 1 else list(itertools.product([0.0, 1.0], [0, 2]))
    bounds = (0, 1) if columns == 1 else [(0, 1), (0, 2)]
    made = Synthesizer(1.3, bounds=bounds, bins=2, neighbours=relation)

    def law_of(data: tuple[Any, ...]) -> np.ndarray:
        mechanism = made.release(np.array(data, dtype=float)).mechanism
        counts = _counts(made, np.array(data, dtype=float))
        outputs = np.array(list(itertools.product(range(5), repeat=mechanism.cells)))
        assert mechanism.check_statistic(counts) is counts
        return mechanism.logp(outputs, counts)

    laws = {}
    worst = 0.0
    for data in itertools.combinations_with_replacement(lattice, 2):
        for other in neighbours_of(data, relation, lattice):
            for each in (data, other):
                key = tuple(sorted(each))
                if key not in laws:
                    laws[key] = law_of(key)
            ratio = laws[tuple(sorted(data))] - laws[tuple(sorted(other))]
            worst = max(worst, float(np.abs(ratio).max()))
    claim = made.guarantee().epsilon
    assert worst <= claim * (1 + 1e-12)
    assert worst == pytest.approx(claim, rel=1e-9)


def _counts(made: Any, data: Any) -> np.ndarray:
    """The statistic that a release is drawn from: what its mechanism is given."""
    from bayesdp.synthesis import base

    seen = []
    real = base.publish_groups

    def spy(parts: Any, **options: Any) -> Any:
        seen.extend(statistic for _, statistic in parts.values())
        return real(parts, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "publish_groups", spy)
        made.release(data)
    return seen[0]


def test_counts_are_numpys():
    made = Synthesizer(1.0, bounds=(0, 1), bins=[0.0, 0.1, 0.5, 1.0])
    data = np.concatenate([RECORDS, [0.0, 0.1, 0.5, 1.0]])
    assert np.array_equal(_counts(made, data), np.histogram(data, [0.0, 0.1, 0.5, 1.0])[0])
    random = np.random.default_rng(1)
    table = np.column_stack([random.random(500), random.normal(size=500).clip(-3, 3)])
    made = Synthesizer(1.0, bounds=[(0, 1), (-3, 3)], bins=[3, [-3.0, 0.0, 3.0]])
    expected = np.histogramdd(table, [np.linspace(0, 1, 4), [-3, 0, 3]])[0]
    assert np.array_equal(_counts(made, table), expected.ravel())


def test_a_mixed_table_counts_each_combination():
    made = Synthesizer(1.0, **MIXED_OPTIONS)
    found = _counts(made, MIXED)
    expected = np.zeros((3, 2, 3), dtype=int)
    for age, sex, share in MIXED.itertuples(index=False):
        expected[(age >= 18) + (age >= 65), int(share >= 0.5), ["m", "f", "x"].index(sex)] += 1
    assert np.array_equal(found, expected.ravel())
    assert np.array_equal(_counts(made, MIXED[["share", "sex", "age"]]), found)
    categorical = MIXED.assign(sex=MIXED["sex"].astype("category"))
    assert np.array_equal(_counts(made, categorical), found)


def test_clamped_records_count_at_the_bounds():
    options: dict[str, Any] = {"bounds": (0, 1), "bins": 4}
    data = [-5.0, 0.3, 1.5, math.inf, -math.inf, 0.9]
    found = _counts(Synthesizer(1.0, outside="clamp", **options), data)
    assert found.tolist() == [2, 1, 0, 3]
    huge = np.array([10**400, 0.3, -(10**400)], dtype=object)
    assert _counts(Synthesizer(1.0, outside="clamp", **options), huge).tolist() == [1, 1, 0, 1]


def test_a_record_s_bin_is_its_own_whatever_the_other_records_are():
    """Also where they change the column's type."""
    axis = Axis("x", edges=(0.0, 2.0**53, 2.0**60))
    large = 2**53 + 1
    one = axis.bins(np.array([large, 2**53 - 1]), clamp=False)
    for others in ([0.5], [1], [2**59]):
        mixed = axis.bins(np.array([large, 2**53 - 1, *others], dtype=object), clamp=False)
        plain = axis.bins([large, 2**53 - 1, *others], clamp=False)
        assert np.array_equal(mixed[:2], one)
        assert np.array_equal(plain[:2], one)


@functools.cache
def law_by_hand(z: int, count: int, scale: float) -> float:
    """Pr[max(0, count + K) = z] with Pr[K = k] proportional to exp(-|k| / scale)."""
    noise = {k: math.exp(-abs(k) / scale) for k in range(-400, 401)}
    total = math.fsum(noise.values())
    if z:
        return noise[z - count] / total
    return math.fsum(v for k, v in noise.items() if count + k <= 0) / total


def mixture(mechanism: Any, output: Any, alpha: np.ndarray, sizes: dict[int, float]) -> Any:
    """The analyst's exact posterior: Dirichlet components and their weights.

    The latent counts c of each n that may be have probability DirichletMultinomial(c), and
    `mechanism.logp` is the likelihood of the released counts given them.
    """
    latent = np.array(
        [
            c
            for n in sizes
            for c in itertools.product(range(n + 1), repeat=alpha.size)
            if sum(c) == n
        ]
    )
    n = latent.sum(axis=1)
    log_prior = np.log([sizes[k] for k in n]) + special.gammaln(n + 1)
    log_prior -= special.gammaln(latent + 1).sum(axis=1)
    log_prior += special.gammaln(alpha + latent).sum(axis=1) - special.gammaln(alpha.sum() + n)
    log_weight = log_prior + mechanism.logp(output, latent)
    return alpha + latent, np.exp(log_weight - special.logsumexp(log_weight))


@pytest.mark.parametrize("sizes", [{12: 1.0}, {k: math.exp(-abs(k - 9)) for k in range(16)}])
def test_the_law_is_a_likelihood_for_cell_probabilities(sizes: dict[int, float]):
    """Two cells, n public or confidential, against quadrature over p with the law by hand."""
    public = len(sizes) == 1
    neighbours = "replace_one" if public else "add_remove"
    made = Synthesizer(1.0, bounds=(0, 1), bins=2, neighbours=neighbours)
    release = made.release(np.linspace(0, 0.8, 12))
    scale = release.mechanism.scale
    for output in [(9, 0), (3, 11), release.outputs[0]]:
        components, weights = mixture(release.mechanism, output, np.array([1.0, 2.0]), sizes)
        found = weights @ (components[:, 0] / components.sum(axis=1))

        def density(p: float, output: Any = output) -> float:
            total = 0.0
            for n, mass in sizes.items():
                for c in range(n + 1):
                    likely = law_by_hand(output[0], c, scale) * law_by_hand(output[1], n - c, scale)
                    total += mass * likely * math.comb(n, c) * p**c * (1 - p) ** (n - c)
            return total * (1 - p)

        whole = integrate.quad(density, 0, 1, epsabs=0, epsrel=1e-11)[0]
        first = integrate.quad(lambda p, f=density: p * f(p), 0, 1, epsabs=0, epsrel=1e-11)[0]
        assert found == pytest.approx(first / whole, rel=1e-9)


@pytest.mark.parametrize("public", [True, False])
def test_three_cell_posteriors_are_calibrated(public: bool):
    """Ranks of the true probability among posterior draws are uniform: chi-square at 1e-6."""
    random = np.random.default_rng(20 + public)
    neighbours, sizes = ("replace_one", {8: 1.0}) if public else ("add_remove", {6: 0.5, 9: 0.5})
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism.calibrate(
        epsilon=1.0, cells=3, neighbours=neighbours
    )
    ranks = []
    with bdp.reproducible(6):
        for _ in range(400):
            p = random.dirichlet([1, 1, 1])
            n = int(random.choice(list(sizes), p=list(sizes.values())))
            (output,) = mechanism.release(random.multinomial(n, p))
            components, weights = mixture(mechanism, output, np.ones(3), sizes)
            chosen = components[random.choice(len(weights), 9, p=weights)]
            draws = random.beta(chosen[:, 0], chosen[:, 1:].sum(axis=1))
            ranks.append(int((draws < p[0]).sum()))
    seen = np.bincount(ranks, minlength=10)
    assert stats.chisquare(seen).pvalue > 1e-6


def test_frames_show_the_cells_and_records_are_drawn_from_them(tmp_path: Any):
    release = Synthesizer(50.0, **MIXED_OPTIONS).release(MIXED)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    (frame,) = loaded.to_frames()
    names = ["age_from", "age_to", "share_from", "share_to", "sex", "count"]
    assert list(frame.columns) == names
    assert tuple(frame["count"]) == release.outputs[0]
    first = frame.iloc[0].tolist()
    assert first[:5] == [0.0, 18.0, 0.0, 0.5, "m"]
    (one,) = Synthesizer.records(loaded, 300, seed=4)
    assert one.equals(Synthesizer.records(release, 300, seed=4)[0])
    assert list(one.columns) == ["age", "share", "sex"]
    cells = set(frame.index[frame["count"] > 0])
    again = _counts(Synthesizer(1.0, **MIXED_OPTIONS), one)
    assert again.sum() == 300
    assert set(np.flatnonzero(again)) <= cells
    text = json.loads((tmp_path / "release" / "manifest.json").read_text())
    parameters = text["parts"][0]["mechanism"]["parameters"]
    assert parameters["n"] is None
    assert parameters["axes"][0]["edges"] == [0.0, 18.0, 65.0, 100.0]


def test_synthetic_records_follow_the_released_counts():
    """Chi-square over cells and Kolmogorov-Smirnov within one, at 1e-6."""
    mechanism = bdp.mechanisms.PerturbedHistogramMechanism(
        1.0, 4, axes=(Axis("x", edges=(0, 1, 2, 4, 8)),)
    )
    release = bdp.Release.of(mechanism, [(3, 0, 6, 1)], variable="x")
    (frame,) = Synthesizer.records(release, 20_000, seed=2)
    seen = np.histogram(frame["x"], [0, 1, 2, 4, 8])[0]
    assert seen[1] == 0
    assert stats.chisquare(seen[[0, 2, 3]], np.array([0.3, 0.6, 0.1]) * 20_000).pvalue > 1e-6
    inside = frame["x"][(frame["x"] >= 2) & (frame["x"] < 4)]
    assert stats.kstest(inside, stats.uniform(2, 2).cdf).pvalue > 1e-6


def test_where_all_counts_are_zero_records_are_uniform_over_the_bounds():
    axes = (Axis("x", edges=(0, 1, 8)), Axis("c", categories=("a", "b")))
    release = bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, axes=axes), [(0, 0, 0, 0)]
    )
    (frame,) = Synthesizer.records(release, 20_000, seed=3)
    assert stats.kstest(frame["x"], stats.uniform(0, 8).cdf).pvalue > 1e-6
    assert stats.binomtest(int((frame["c"] == "a").sum()), 20_000).pvalue > 1e-6


def test_sizes_of_records():
    private = Synthesizer(1.0, bounds=(0, 1), bins=3).release([0.5])
    with pytest.raises(bdp.errors.InvalidInput, match="size is missing"):
        Synthesizer.records(private)
    public = Synthesizer(1.0, 2, bounds=(0, 1), neighbours="replace_one").release([0.5] * 7)
    assert [len(frame) for frame in Synthesizer.records(public)] == [7, 7]
    assert not Synthesizer.records(public)[0].equals(Synthesizer.records(public)[0])
    with pytest.raises(bdp.errors.InvalidInput, match="size is 0"):
        Synthesizer.records(public, 0)
    plain = bdp.Release.of(bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2), [(0, 1)])
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't say what its cells are"):
        Synthesizer.records(plain, 3)
    other = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(1.0), [3])
    with pytest.raises(bdp.errors.InvalidInput, match="discrete_laplace"):
        Synthesizer.records(other, 3)


def test_seeded_releases_promise_nothing_and_repeat():
    def seeded() -> tuple[bdp.Release, pd.DataFrame]:
        with bdp.reproducible(3):
            release = Synthesizer(1.0, bounds=(0, 1), bins=5).release(RECORDS)
            return release, Synthesizer.records(release, 9)[0]

    (one, frame), (other, again) = seeded(), seeded()
    assert one == other
    assert frame.equals(again)
    assert one.guarantee.epsilon == math.inf
    assert one.to_frames()[0].columns.tolist() == ["value_from", "value_to", "count"]
    named = Synthesizer(1.0, bounds=(0, 1), bins=5).release(pd.Series(RECORDS, name="share"))
    assert [axis.name for axis in named.mechanism.axes] == ["share"]


numbers = st.floats(-1e6, 1e6)


@given(
    edges=st.lists(numbers, min_size=2, max_size=8, unique=True).map(sorted),
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=9),
)
def test_every_number_within_the_bounds_is_in_its_interval(edges: Any, shares: Any):
    axis = Axis("x", edges=edges)
    values = np.clip([edges[0] + (edges[-1] - edges[0]) * s for s in shares], edges[0], edges[-1])
    for value, k in zip(values, axis.bins(values, clamp=False), strict=True):
        assert edges[k] <= value <= edges[k + 1]
        assert value < edges[k + 1] or k == axis.size - 1
    bins = np.arange(axis.size).repeat(20)
    assert np.array_equal(axis.bins(axis.points(bins, np.random.default_rng(0)), clamp=False), bins)
    assert math.fsum(axis.widths) == pytest.approx(1)


@pytest.fixture
def dataset(tmp_path: Any) -> Any:
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("records", epsilon=1.5, neighbours="add_remove")
    return ledger.dataset("records")


def test_the_ledger_is_spent_before_noise_is_drawn(dataset: Any, monkeypatch: Any):
    made = Synthesizer(1.0, bounds=(0, 1), bins=3)

    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bdp.mechanisms.PerturbedHistogramMechanism, "release", stop)
        with pytest.raises(KeyboardInterrupt):
            made.release(RECORDS, ledger=dataset)
    assert dataset.remaining().epsilon == pytest.approx(0.5)
    with pytest.raises(bdp.errors.BudgetExceeded):
        made.release(RECORDS, ledger=dataset)
    assert dataset.remaining().epsilon == pytest.approx(0.5)


ONE: dict[str, Any] = {"bounds": (0, 1), "bins": 4}
TWO: dict[str, Any] = {"bounds": [(0, 1), (0, 1)], "bins": 2}
PUBLIC = {"neighbours": "replace_one"}


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        (ONE, [0.25, 1.0625], "outside its bounds"),
        (ONE, [0.25, -0.0625], "outside its bounds"),
        (ONE, [0.25, math.inf], "outside its bounds"),
        (ONE, [0.25, math.nan], "missing"),
        (ONE | {"outside": "clamp"}, [0.25, math.nan], "missing"),
        (ONE, pd.Series([0.25, None]), "missing"),
        (ONE, np.ma.masked_array([0.25, 0.5], [False, True]), "missing"),
        (ONE | PUBLIC, [], "empty"),
        (ONE, 0.25, "one column"),
        (ONE, None, "one column"),
        (ONE, [[0.25], [0.5]], "one column"),
        (ONE, ["secret", "text"], "doesn't hold numbers"),
        (ONE, [0.25, 1j], "doesn't hold numbers"),
        (ONE, np.array([0, 1], dtype="m8[ns]"), "doesn't hold numbers"),
        (TWO, [0.25, 0.5], "a table of 2 columns"),
        (TWO, [[0.25, 0.5, 0.75]], "a table of 2 columns"),
        (TWO | PUBLIC, np.empty((0, 2)), "empty"),
        (TWO, [[0.25, 0.5], [0.5, math.nan]], "missing"),
        (MIXED_OPTIONS, MIXED.assign(more=1), "no others"),
        (MIXED_OPTIONS, MIXED[["age", "sex"]], "no others"),
        (MIXED_OPTIONS, MIXED.to_numpy(), "no names of columns"),
        (MIXED_OPTIONS, MIXED.assign(sex="secret"), "outside its categories"),
        (MIXED_OPTIONS, MIXED.assign(sex=[["secret"]] * 5), "outside its categories"),
        (MIXED_OPTIONS, MIXED.assign(sex=None), "missing"),
        (MIXED_OPTIONS, MIXED.assign(age=101.0625), "outside its bounds"),
        (MIXED_OPTIONS | PUBLIC, MIXED.iloc[:0], "empty"),
    ],
)
def test_bad_data_are_refused_and_nothing_is_spent(
    options: dict[str, Any], data: Any, message: str, dataset: Any
):
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        Synthesizer(1.0, **options).release(data, ledger=dataset)
    assert dataset.remaining().epsilon == 1.5
    for secret in ("0.25", "0625", "secret"):
        assert secret not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"copies": 0}, "copies"),
        ({"neighbours": "edge"}, "neighbours"),
        ({"outside": "drop"}, "outside is 'drop'"),
        ({"n": 0}, "n is 0"),
        ({"bins": "sqrt"}, "n is missing"),
        ({"bins": 0}, "bins of column"),
        ({"bins": -3}, "bins of column"),
        ({"bins": 2.5}, "bins of column"),
        ({"bins": True}, "bins of column"),
        ({"bins": "sturges"}, "bins of column.*'sturges'"),
        ({"bins": 10**7}, "bins of column"),
        ({"bins": [0.0, 0.5, 0.5, 1.0]}, "increase"),
        ({"bins": [0.0, 0.7, 0.3, 1.0]}, "increase"),
        ({"bins": [0.0, math.nan, 1.0]}, "increase"),
        ({"bins": [0.0]}, "increase"),
        ({"bins": [0.0, 0.5]}, "begin and end"),
        ({"bins": {"x": 3}}, "bins is for columns"),
        ({"bounds": None, "bins": 3}, "bounds is missing"),
        ({"bounds": (1, 0)}, "bounds must have two finite"),
        ({"bounds": (0, math.inf)}, "bounds must have two finite"),
        ({"bounds": (0, math.nan)}, "bounds must have two finite"),
        ({"bounds": (0, 1, 2)}, "bounds must have two finite"),
        ({"bounds": "ab"}, "bounds is 'ab'"),
        ({"bounds": ()}, "bounds is"),
        ({"bounds": [(0, 1), 3]}, "bounds must have two finite"),
        ({"bounds": (-1.5e308, 1.5e308)}, "bounds must have two finite"),
        ({"bounds": (0.0, 5e-324), "bins": 3}, "increase"),
        ({"bounds": [(0, 1)] * 2, "bins": [3]}, "for each of the 2 columns"),
        ({"bounds": [(0, 1)] * 4, "bins": 100}, "100,000,000 cells"),
        ({"bounds": {"x": (0, 1)}, "bins": {"y": 3}}, "bins is for columns"),
        ({"bounds": {"x": (0, 1)}, "categories": {"x": ["a"]}}, "two are the same"),
        ({"bounds": {"x": (0, 1)}, "categories": {"x_to": ["a"]}}, "two are the same"),
        ({"bounds": {"count": (0, 1)}}, "two are the same"),
        ({"bounds": {0: (0, 1)}}, "name is 0"),
        ({"categories": {"c": []}}, "categories of column 'c'"),
        ({"categories": {"c": ["a", "a"]}}, "categories of column 'c'"),
        ({"categories": {"c": [math.nan]}}, "categories of column 'c'"),
        ({"categories": {"c": "abc"}}, "categories of column 'c'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Synthesizer(**({"epsilon": 1.0, "bounds": (0, 1), "bins": 4} | options))


def test_axes_that_do_not_fit_are_refused():
    axis = Axis("x", edges=(0, 1, 2))
    assert bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2, axes=(axis,)).axes == (axis,)
    rebuilt = bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2, axes=(dataclasses.asdict(axis),))
    assert rebuilt.axes == (axis,)
    for axes, message in (
        ((axis, axis), "make 4 cells"),
        ((), "one or more"),
        (("x",), "one or more"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            bdp.mechanisms.PerturbedHistogramMechanism(1.0, 2, axes=axes)
    for options in ({}, {"edges": (0, 1), "categories": ("a",)}):
        with pytest.raises(bdp.errors.InvalidInput, match="either edges or categories"):
            Axis("x", **options)


def test_labels_keep_their_types():
    kinds = {(3, 1): "i", (True, False): "b", (0.5, 1.5): "f", ("a", 1): "O", ("a", "b"): "O"}
    for labels, kind in kinds.items():
        axis = Axis("c", categories=labels)
        assert axis.labels.dtype.kind == kind
        assert tuple(axis.labels.tolist()) == labels
        assert collections.Counter(axis.bins(list(labels), clamp=False).tolist()) == {0: 1, 1: 1}
