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
