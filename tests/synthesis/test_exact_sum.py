"""Exact sums and regressions: what is released, what is promised, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp

D = bdp.distributional
UNIFORM = D.Uniform(0, 1)
PAIRS = D.Uniform([-1, -1], [1, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def test_a_sum_and_its_promise(rng, tmp_path):
    values = rng.random(1000)
    release = D.exact_sum(values, law=UNIFORM, known_records=50, delta=1e-6, variable="minutes")
    assert release.outputs == (math.fsum(values),)
    promise = release.guarantee
    assert isinstance(promise, D.DistributionalGuarantee)
    profile = D.SumProfile(1000, UNIFORM, 50)
    assert (promise.epsilon, promise.delta) == (profile.epsilon(1e-6), 1e-6)
    assert promise.known_records == 50
    assert promise.strength == bdp.Strength.CONDITIONAL
    assert "uniform on [0, 1]" in promise.class_in_words
    loaded = bdp.Release.load(release.save(tmp_path / "sum"))
    assert loaded.guarantee == promise
    assert loaded.outputs == release.outputs
    other = D.exact_sum(values, law=UNIFORM, known_records=50, epsilon=promise.epsilon)
    assert other.guarantee.delta == pytest.approx(1e-6, rel=1e-3)
    with pytest.raises(bdp.errors.InvalidInput, match="distributional"):
        bdp.compose([release.mechanism])


@pytest.mark.slow
def test_sums_of_several_coordinates_and_of_any_law(rng, tmp_path):
    values = rng.uniform(-1, 1, (2000, 2))
    release = D.exact_sum(values, law=PAIRS, delta=1e-6)
    assert release.outputs[0] == pytest.approx(values.sum(0))
    single = D.sum_guarantee(2000, D.Uniform(-1, 1), delta=1e-6).epsilon
    assert single < release.guarantee.epsilon < 2 * single
    shape = stats.truncexpon(4.0)
    law = D.BoundedLaw([(0, 4)], [(0, 1)], float(shape.pdf(1)), density=shape.pdf, log_concave=True)
    skewed = D.exact_sum(shape.rvs(3000, random_state=1), law=law, delta=1e-6)
    box = D.BoundedLaw([(0, 4)], [(0, 1)], float(shape.pdf(1)))
    assert skewed.guarantee.epsilon < 0.7 * D.sum_guarantee(3000, box, delta=1e-6).epsilon
    assert skewed.guarantee.class_as_data.name == "log_concave_records"
    assert len(skewed.guarantee.class_as_data["steps"]) == 256
    assert bdp.Release.load(skewed.save(tmp_path / "a")).guarantee == skewed.guarantee


def test_a_mean_is_what_the_model_reads(rng):
    """The law is a point mass: 0 at the sum, -inf elsewhere."""
    release = D.exact_sum(rng.random(200), law=UNIFORM, delta=1e-3)
    total = release.outputs[0]
    assert list(release.mechanism.logp(total, [total, total + 0.5])) == [0.0, -math.inf]


def test_regression_through_the_origin(rng):
    g = rng.uniform(-1, 1, 4000)
    h = rng.uniform(-1, 1, 4000)
    release = D.exact_slope(g, h, law=D.UniformProducts(), delta=1e-6)
    assert D.slope(release.outputs[0]) == pytest.approx(np.linalg.lstsq(g[:, None], h)[0][0])
    # The law that was derived: at least its height on each box, and of total 1.
    pairs = np.column_stack([g * g, g * h])
    for part in D.UniformProducts().parts()[::6]:
        inside = np.all([(low <= x) & (x <= high) for x, (low, high) in
                         zip(pairs.T, part.box, strict=True)], axis=0)  # fmt: skip
        assert inside.mean() > part.volume - 5.5 * math.sqrt(0.25 / 4000)
    scaled = D.sum_guarantee(4000, D.UniformProducts(3.0, 0.2), delta=1e-6).epsilon
    assert scaled == pytest.approx(release.guarantee.epsilon, rel=1e-6)


def test_a_line_from_split_records(rng):
    g, error = rng.uniform(-1, 1, 60_000), rng.uniform(-1, 1, 60_000)
    line = {"means_law": PAIRS, "products_law": D.UniformProducts(), "delta": 1e-6}
    release = D.exact_line(g, error, first=20_000, known_records=100, **line)
    parts = [
        D.sum_guarantee(20_000, PAIRS, known_records=100, delta=1e-6),
        D.sum_guarantee(40_000, D.UniformProducts(), known_records=100, delta=1e-6),
    ]
    assert release.guarantee.epsilon == max(p.epsilon for p in parts)
    assert release.guarantee.known_records == 100
    intercept, slope = D.line(release.outputs[0], 20_000, 40_000)
    assert abs(intercept) < 5.5 * math.sqrt(1 / 3 / 20_000)
    assert abs(slope) < 5.5 * math.sqrt(1 / 20_000)
    chosen = D.exact_line(g, error, first=range(0, 60_000, 3),
                          second=[k for k in range(60_000) if k % 3], **line)  # fmt: skip
    assert chosen.outputs[0][0] == pytest.approx(g[::3].sum())


@pytest.mark.parametrize(
    ("m", "probability"), [(1, lambda c: -c * math.log(c)), (2, lambda c: c * (1 - c))]
)
def test_products_have_the_density_that_the_promise_rests_on(rng, m, probability):
    """The box's probability is the density's integral over it; its least part is the volume."""
    bounds = (0.5, 4.0)[:m]
    law = D.UniformProducts(3.0, bounds)
    g, h = rng.uniform(-3, 3, 100_000), rng.uniform(-1, 1, (100_000, m)) * bounds
    records = np.column_stack([g * g, g[:, None] * h])
    low, high = np.array(law.support).T
    assert np.all((low <= records) & (records <= high))
    for part in law.parts()[::6]:
        c = part.box[1][1] / high[1]
        low, top = np.array(part.box).T
        inside = np.mean(np.all((low <= records) & (records <= top), axis=1))
        assert inside == pytest.approx(probability(c), abs=5.5 * 0.5 / math.sqrt(100_000))
        assert part.volume == pytest.approx((1 - c**2) / 2 * c**m)
        assert part.volume < probability(c)
        halved = D.UniformProducts(3.0, bounds, 0.5).parts()[0]
        assert halved.volume == pytest.approx(law.parts()[0].volume / 2)


def moments(g, h):
    """What `exact_regression` would release if each part had all the records, its means first."""
    both = np.column_stack([g, h])
    d = g.shape[1]
    orders = [[i, *(k for k in range(d + 1) if k != i)] for i in range(d)]
    products = [g[:, i, None] * both[:, order] for i, order in enumerate(orders)]
    return [each.sum(0) for each in (both, *products)]


@pytest.mark.parametrize("d", [1, 2, 4])
def test_coefficients_of_all_records_are_those_of_least_squares(rng, d):
    g = rng.normal(0.3, 1, (50, d)) @ rng.normal(size=(d, d))
    h = 0.7 + g @ rng.normal(size=d) + rng.normal(size=50)
    sums = moments(g, h)
    design = np.column_stack([np.ones(50), g])
    with_constant = D.coefficients(np.concatenate(sums), [50] * (d + 1))
    np.testing.assert_allclose(with_constant, np.linalg.lstsq(design, h)[0], rtol=1e-8)
    through = D.coefficients(np.concatenate(sums[1:]), [50] * d)
    np.testing.assert_allclose(through, np.linalg.lstsq(g, h)[0], rtol=1e-8)
    if d == 1:
        np.testing.assert_allclose(with_constant, D.line(np.concatenate(sums), 50, 50))
        assert through[0] == pytest.approx(D.slope(sums[1]))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_regression_from_parts_of_the_records(rng, intercept, tmp_path):
    n, bounds, share = 40_000, [1.0, 2.0, 3.0], 0.4
    g = rng.uniform(-1, 1, (n, 2)) * bounds[:2]
    g[:, 1] = np.where(rng.random(n) < 0.4, g[:, 1], np.clip(g[:, 1] + g[:, 0], -2, 2))
    h = np.clip(intercept * 0.5 + g @ [0.8, -0.3] + rng.uniform(-0.5, 0.5, n), -3, 3)
    told = {"bounds": bounds, "share": share, "intercept": intercept, "delta": 1e-6}
    release = D.exact_regression(g, h, known_records=50, **told)
    k = 2 + intercept
    sizes = [len(part) for part in np.array_split(np.arange(n), k)]
    found = D.coefficients(release.outputs[0], sizes)
    within = [0.015, 0.064, 0.033]  # 5.5 standard deviations, of 200 replicates
    truth = [0.5, 0.8, -0.3]
    assert np.all(np.abs(found - truth[1 - intercept :]) < within[1 - intercept :])
    laws = [D.UniformProducts(1.0, (2.0, 3.0), share), D.UniformProducts(2.0, (1.0, 3.0), share)]
    if intercept:
        box = [(-b, b) for b in bounds]
        laws.insert(0, D.BoundedLaw(box, box, share / (2 * 4 * 6)))
    each = [
        D.sum_guarantee(size, law, known_records=50, delta=1e-6)
        for size, law in zip(sizes, laws, strict=True)
    ]
    promise = release.guarantee
    assert (promise.epsilon, promise.delta) == (max(one.epsilon for one in each), 1e-6)
    assert promise.known_records == 50
    assert promise.class_as_data.name == "split_samples"
    assert promise.class_as_data["part_2"][0] == "uniform_products"
    assert "at least 0.4 of them" in promise.class_in_words
    loaded = bdp.Release.load(release.save(tmp_path / "regression"))
    assert (loaded.guarantee, loaded.outputs) == (promise, release.outputs)
    # Each part's records are in its own sums alone.
    parts = [range(j, 900, k + 1) for j in range(k)]
    own = D.exact_regression(g, h, parts=parts, **told | {"delta": 0.5}).outputs[0]
    expected = [moments(g[part], h[part])[j + 1 - intercept] for j, part in enumerate(parts)]
    np.testing.assert_allclose(own, np.concatenate(expected))
    several = D.exact_regression(g, h, parts=[300] * k, **told | {"delta": 0.5})
    first = moments(g[300:600], h[300:600])[2 - intercept]
    np.testing.assert_allclose(several.outputs[0][3:6], first)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"predictors": np.zeros(90)}, r"predictors has shape \(90,\)"),
        ({"bounds": [1, 1]}, "it must be 3 positive numbers"),
        ({"bounds": [1, 1, 0]}, "bounds has a value that isn't a positive"),
        ({"share": 0.0}, "share is 0.0"),
        ({"share": 1.5}, "share is 1.5"),
        ({"intercept": 1}, "intercept is 1"),
        ({"parts": [30, 30]}, "parts has 2 parts; it must have 3"),
        ({"parts": [60, 60, 60]}, "parts has 180 records in all, of 90"),
        ({"parts": [30, 30, 0]}, "parts has something else than whole numbers, at least 1"),
        ({"parts": [[0, 1], [2, 3], [3, 4]]}, "parts overlap"),
        ({"parts": [[0, 1], [2, 3], [90]]}, "from 0 to 89"),
        ({"known_records": 30}, "known_records"),
        ({"outcome": np.full(90, np.nan)}, "must be finite numbers; they aren't shown"),
        ({"outcome": np.linspace(-1, 1, 90)}, "degenerate"),
        ({"bounds": [1, 1, 0.1]}, "outside the law's support"),
    ],
)
def test_regressions_that_are_refused(rng, given, match):
    g = np.column_stack([np.linspace(-1, 1, 90), rng.uniform(-1, 1, 90)])
    usual = {"predictors": g, "outcome": rng.uniform(-1, 1, 90), "bounds": [1, 1, 1]}
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        D.exact_regression(**usual | {"delta": 0.9} | given)


@pytest.mark.parametrize(
    ("sums", "sizes", "match"),
    [
        ([1.0] * 5, [10, 10], "sums has 5 numbers and sizes 2"),
        ([1.0] * 8, [10] * 4, "sums has 8 numbers and sizes 4"),
        ([1.0, 2.0], [], "sums has 2 numbers and sizes 0"),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [10, 10], "positive definite|covariance that none"),
        ([1.0, math.nan], [10], "finite"),
        ([1.0, 1.0], [0], "sizes"),
    ],
)
def test_moments_that_no_records_have(sums, sizes, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        D.coefficients(sums, sizes)


SLOPED = {"means_law": PAIRS, "products_law": D.UniformProducts(), "delta": 1e-3}


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        (range(600), range(500, 1000), "overlap in 100 rows"),
        (range(600), None, "second is"),
        (1000, None, "leave some"),
        (0, None, "at least 1"),
        (300, [1], "so second is the rest"),
        ([0, 0, 1], [2], "each once"),
        ([0, 1], [2000], "from 0 to 999"),
    ],
)
def test_splits_that_are_refused(rng, first, second, match):
    g, h = rng.uniform(-1, 1, (2, 1000))
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        D.exact_line(g, h, first=first, second=second, **SLOPED)


def test_degenerate_regressions_are_refused_without_the_data(rng):
    g = rng.uniform(-1, 1, 900)
    for one, other in ((g, 0.3 * g), (0 * g, g)):
        with pytest.raises(bdp.errors.InvalidInput, match="degenerate"):
            D.exact_slope(one, other, law=D.UniformProducts(), delta=1e-3)
    for one, other in ((g, 0.3 * g + 0.1), (0 * g + 0.5, g)):
        with pytest.raises(bdp.errors.InvalidInput, match="degenerate"):
            D.exact_line(one, other, first=400, **SLOPED)
    with pytest.raises(bdp.errors.InvalidInput, match="variance"):
        D.line([100.0, 1.0, 30.0, 2.0], 100, 100)
    with pytest.raises(bdp.errors.InvalidInput, match="positive"):
        D.slope([0.0, 1.0])
    with pytest.raises(bdp.errors.InvalidInput, match="one predictor"):
        D.exact_slope(rng.random((5, 2)), rng.random(5), law=D.UniformProducts(), delta=0.1)
    with pytest.raises(bdp.errors.InvalidInput, match="finite"):
        D.exact_slope([1.0, math.nan], [1.0, 2.0], law=D.UniformProducts(), delta=0.1)


@pytest.mark.parametrize("bad", [-0.25, 1.7, math.nan, math.inf])
def test_a_record_outside_the_law_is_refused_and_not_shown(rng, bad):
    values = rng.random(500)
    values[123] = bad
    with pytest.raises(bdp.errors.InvalidInput, match="outside the law") as caught:
        D.exact_sum(values, law=UNIFORM, delta=1e-6)
    assert not any(text in str(caught.value) for text in ("123", "0.25", "1.7", "nan", "inf"))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"known_records": 100}, "known_records"),
        ({"known_records": 250}, "known_records"),
        ({"known_records": -1}, "known_records"),
        ({"known_records": 99}, "no epsilon is enough"),
        ({"delta": 0}, "no epsilon is enough"),
        ({"delta": 1.0}, "delta"),
        ({"delta": None}, "give one"),
        ({"epsilon": 1.0}, "give one"),
        ({"delta": None, "epsilon": -1.0}, "epsilon"),
        ({"law": "uniform"}, "law"),
        ({"law": PAIRS}, "numbers a record"),
        ({"values": []}, "one record a row"),
        ({"values": ["a"]}, "one record a row"),
        ({"values": [[[0.5]]]}, "one record a row"),
        ({"values": [[0.5], [0.1, 0.2]]}, "values has rows of different lengths"),
        ({"values": np.ma.array([0.5, 0.2], mask=[0, 1])}, "values has masked entries"),
    ],
)
def test_arguments_that_are_refused(given, match):
    given = {"values": np.full(100, 0.5), "law": UNIFORM, "delta": 1e-6} | given
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        D.exact_sum(given.pop("values"), **given)


def gaussian(x):
    return stats.norm.pdf(x)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)], 0.3, density=gaussian), "exceeds it there"),
        (lambda: D.BoundedLaw([(-3, 3)], [(-4, 1)], 0.1), "isn't within the support"),
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)], 0.7), "above 1"),
        (lambda: D.BoundedLaw([(-math.inf, 3)], [(-1, 1)], 0.2), "Top-code"),
        (lambda: D.BoundedLaw([(-3, 3)], [(1, -1)], 0.2), "lower end must be"),
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)] * 2, 0.2), "one for each"),
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)], -0.2), "height"),
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)], 0.2, log_concave=True), "needs the density"),
        (
            lambda: D.BoundedLaw(
                [(-3, 3)], [(2, 2.5)], 0.05, density=lambda x: x**2 / 18, log_concave=True
            ),
            "bends upwards",
        ),
        (lambda: D.BoundedLaw([(-3, 3)], [(-1, 1)], 0.2, density=lambda x: 1.0), "one number"),
        (lambda: D.TopCodedNormal(0, 1, -math.inf, 2.5), "Top-code"),
        (lambda: D.TopCodedNormal(0, 0, -1, 1), "sd"),
        (lambda: D.TopCodedNormal(5, 1, -1, 1), "mean"),
        (lambda: D.Uniform(0, math.inf), "finite"),
        (lambda: D.Uniform(1, 1), "lower end must be"),
        (lambda: D.Uniform([0, 0], [1]), "numbers"),
        (lambda: D.Uniform("a", "b"), "lower"),
        (lambda: D.UniformProducts(0.0), "g_bound"),
        (lambda: D.UniformProducts(1.0, []), "h_bound has something else"),
        (lambda: D.UniformProducts(1.0, [1.0, -2.0]), "h_bound has something else"),
        (lambda: D.UniformProducts(1.0, "wide"), "h_bound has 'wide'"),
        (lambda: D.UniformProducts(1.0, 1.0, 0.0), "share"),
        (lambda: D.SumProfile(10, UNIFORM, definition="pufferfish"), "definition"),
        (lambda: D.SumProfile(10, "uniform"), "law"),
        (lambda: D.SumProfile(10, UNIFORM).delta(-1.0), "epsilon"),
        (lambda: D.SumProfile(10, UNIFORM).delta(math.nan), "epsilon"),
        (lambda: D.simulator_floor(D.SumProfile(10, PAIRS), 0.1), "floor"),
        (lambda: D.best_bound(10, UNIFORM, delta=0.0), "above 0"),
        (lambda: D.best_bound(10, D.TopCodedNormal(0, 1, -2.5, 2.5), delta=1e-9), "no choice"),
        (lambda: D.best_bound_at_epsilon(100, UNIFORM, epsilon=1e-9), "no choice"),
    ],
)
def test_laws_and_profiles_that_are_refused(make, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        make()
