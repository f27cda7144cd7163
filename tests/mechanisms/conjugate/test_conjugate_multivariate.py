"""Conjugate releases of real vectors: their profile, their law, and what is refused."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.core.fields import written
from bayesdp.core.vector_views import NormalVectorView
from bayesdp.core.views import view_of
from bayesdp.mechanisms.conjugate.exact_matrices import Exact, farthest, root_above
from bayesdp.mechanisms.conjugate.multivariate_gaussian import worst_corner
from bayesdp.privacy.profile import gaussian_divergence
from bayesdp.release.manifest import MechanismEntry

RANDOM = ("parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")
COVARIANCE = ((1.0, 0.6), (0.6, 2.0))
PRIOR = ((0.5, -1.0), ((0.3, -0.1), (-0.1, 0.2)))
TWO: dict[str, Any] = {"n": 6, "prior": PRIOR, "R": (1.5, 3.0), "covariance": COVARIANCE}


def conjugate(method: str, size: int = 4, **known: Any) -> Any:
    return bdp.mechanisms.ConjugateMechanism(
        "multivariate_gaussian",
        method,
        **{"size": size if method.startswith("synthetic") else None, **TWO, **known},
    )


def any_covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    rows = rng.normal(size=(d, d + 2)) * rng.uniform(0.3, 3, size=(d, 1))
    made = rows @ rows.T
    return np.asarray((made + made.T) / 2)


def any_release(rng: np.random.Generator, method: str, d: int) -> Any:
    return conjugate(
        method,
        n=int(rng.integers(1, 9)),
        size=int(rng.integers(1, 6)),
        prior=(rng.normal(size=d), any_covariance(rng, d)),
        R=rng.uniform(0.2, 3, size=d),
        covariance=any_covariance(rng, d),
    )


def posterior(made: Any) -> tuple[np.ndarray, np.ndarray]:
    """T, and how far the posterior's mean moves with a record, T Sigma^-1, by formula."""
    precision = np.linalg.inv(made.covariance)
    T = np.linalg.inv(np.linalg.inv(made.prior[1]) + made.n * precision)
    return T, T @ precision


def common_and_own(made: Any) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of what a copy's records share, and of each record around it."""
    T, _ = posterior(made)
    Sigma, none = np.array(made.covariance), np.zeros_like(T)
    return {
        "parameter_draw": (none, T),
        "synthetic_map": (none, Sigma),
        "synthetic_one": (T, Sigma),
        "synthetic_many": (none, Sigma + T),
    }[made.method]


def shift_of(made: Any, move: np.ndarray, copies: int = 1) -> float:
    """Mahalanobis distance of neighbours' laws of all records of all copies, without sufficiency.

    The records of a copy have one mean, and the covariance of all of them is inverted as it is.
    """
    common, own = common_and_own(made)
    m = made.size or 1
    whole = np.kron(np.eye(m), own) + np.kron(np.ones((m, m)), common)
    moved = np.tile(posterior(made)[1] @ move, m)
    return math.sqrt(copies * moved @ np.linalg.solve(whole, moved))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("method", RANDOM)
def test_no_neighbours_are_further_apart_than_its_profile_says(method, d):
    """Against random replaced records, and all corners, one of which attains it."""
    rng = np.random.default_rng(d)
    for copies in (1, 3):
        made = any_release(rng, method, d)
        ends = 2 * np.array(made.R)
        corners = [np.array(c) * ends for c in itertools.product((-1, 1), repeat=d)]
        inside = [rng.uniform(-ends, ends) for _ in range(100)]
        furthest = max(shift_of(made, move, copies) for move in corners)
        assert max(shift_of(made, move, copies) for move in inside) <= furthest
        at_worst = shift_of(made, worst_corner(made) * ends, copies)
        assert at_worst == pytest.approx(furthest, rel=1e-10)
        for epsilon in (0.0, 0.5, 2.0):
            x = epsilon / furthest - furthest / 2
            closed = stats.norm.sf(x) - math.exp(epsilon) * stats.norm.sf(x + furthest)
            found = made.delta(epsilon, copies=copies)
            assert found == pytest.approx(closed, rel=1e-8, abs=1e-14)
            assert found >= gaussian_divergence(furthest, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("method", RANDOM)
def test_its_profile_is_the_divergence_of_its_own_law(method):
    """Drawn, and integrated by its density: for both directions, by 5 standard errors."""
    made = conjugate(method, size=3)
    ((one, other),) = made.pairs()
    for first, second in ((one, other), (other, one)):
        with bdp.reproducible(1):
            drawn = made.release(first, copies=20_000)
        loss = made.logp(drawn, first) - made.logp(drawn, second)
        for epsilon in (0.0, 0.7):
            parts = np.maximum(-np.expm1(epsilon - loss), 0)
            error = parts.std() / math.sqrt(parts.size)
            assert abs(parts.mean() - made.delta(epsilon)) < 5 * error


def test_a_draw_s_profile_is_its_density_s_integral():
    made = conjugate("parameter_draw", n=2)
    ((one, other),) = made.pairs()
    axes = np.linspace(-6, 6, 1201)
    points = np.stack(np.meshgrid(axes, axes), axis=-1)
    p, q = (np.exp(made.logp(points, sums)) for sums in (one, other))
    cell = (axes[1] - axes[0]) ** 2
    assert p.sum() * cell == pytest.approx(1, abs=1e-9)
    for epsilon in (0.0, 1.0, 2.0):
        integral = np.maximum(p - math.exp(epsilon) * q, 0).sum() * cell
        assert made.delta(epsilon) == pytest.approx(integral, rel=2e-4)


@pytest.mark.parametrize("method", RANDOM)
def test_one_column_is_the_gaussian_family(method):
    n, sd, sigma, R = 7, 0.4, 1.3, 2.5
    size = 5 if method.startswith("synthetic") else None
    plain = bdp.mechanisms.ConjugateMechanism(
        "gaussian", method, n, (0.2, sd), size=size, R=R, sigma=sigma
    )
    made = conjugate(
        method, 5, n=n, prior=((0.2,), ((sd**2,),)), R=R, covariance=((sigma**2,),)
    )  # fmt: skip
    for copies in (1, 4):
        for epsilon in (0.0, 1.0):
            one, other = (each.delta(epsilon, copies=copies) for each in (plain, made))
            assert one == pytest.approx(other, rel=1e-9)
    y: Any = [0.3, -2.0, 9.0, 1.0, 1.0] if size else 0.3
    vectors = np.array(y)[:, None] if size else np.array([y])
    assert made.logp(vectors, [3.0]) == pytest.approx(float(plain.logp(y, 3.0)), rel=1e-12)


@pytest.mark.parametrize("method", RANDOM)
def test_independent_columns_have_the_root_of_the_sum_of_squares(method):
    sds, sigmas, R, n = (0.4, 2.0, 0.1), (1.0, 3.0, 0.5), (1.0, 5.0, 0.2), 5
    made = conjugate(
        method, n=n, prior=((0.0,) * 3, np.diag(np.square(sds))), R=R,
        covariance=np.diag(np.square(sigmas)),
    )  # fmt: skip
    square = 0.0
    for sd, sigma, end in zip(sds, sigmas, R, strict=True):
        tau2 = 1 / (sd**-2 + n / sigma**2)
        variance = {
            "parameter_draw": tau2,
            "synthetic_map": sigma**2 / 4,
            "synthetic_one": tau2 + sigma**2 / 4,
            "synthetic_many": (tau2 + sigma**2) / 4,
        }[method]
        square += (2 * end * tau2 / sigma**2) ** 2 / variance
    assert made.delta(0.5) == pytest.approx(gaussian_divergence(math.sqrt(square), 0.5), rel=1e-9)


def test_the_distance_has_no_rounding_errors_that_lower_it():
    """Of a covariance that floats invert with few digits, in 60 digits."""
    import mpmath

    d, rho = 4, 1 - 2e-8
    covariance = np.full((d, d), rho) + (1 - rho) * np.eye(d)
    spread = np.diag([1.0, 1e-6, 1e6, 1.0])
    made = conjugate("parameter_draw", prior=((0.0,) * d, spread), R=1.0, covariance=covariance)
    with mpmath.workdps(60):
        Sigma, S = mpmath.matrix(covariance.tolist()), mpmath.matrix(spread.tolist())
        T = (S**-1 + made.n * Sigma**-1) ** -1
        form = Sigma**-1 * T * Sigma**-1
        furthest = max(
            4 * (mpmath.matrix(v).T * form * mpmath.matrix(v))[0]
            for v in itertools.product((-1, 1), repeat=d)
        )
        root = float(mpmath.sqrt(furthest))
    epsilon = root**2 / 2 - root  # where delta moves by as much as the root
    assert made.delta(epsilon) == pytest.approx(gaussian_divergence(root, epsilon), rel=1e-8)


def test_exact_matrices():
    rng = np.random.default_rng(1)
    matrix = any_covariance(rng, 4)
    inverse = Exact.of(matrix).inverse()
    assert inverse is not None
    product = inverse @ Exact.of(matrix)
    assert product.under == 1
    assert np.array_equal(product.over, np.eye(4).astype(int))
    assert inverse.floats() == pytest.approx(np.linalg.inv(matrix), rel=1e-9)
    assert Exact.of([[1.0, 2.0], [2.0, 4.0]]).inverse() is None
    assert Exact.of([[1.0, 2.0], [2.0, 3.0]]).inverse() is None
    ends = (0.1, 2.0, 1.5, 0.7)
    best, signs = farthest(Exact.of(matrix), ends)
    every = [np.array(s) * ends for s in itertools.product((-1, 1), repeat=4)]
    assert float(best) == pytest.approx(max(v @ matrix @ v for v in every), rel=1e-12)
    assert signs * ends @ matrix @ (signs * ends) == pytest.approx(float(best), rel=1e-12)
    for square in (Fraction(2), Fraction(1, 3) ** 90, Fraction(7) ** 99, Fraction(9)):
        root = Fraction(root_above(square))
        assert square < root**2 < square * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("method", RANDOM)
def test_its_law_is_that_of_all_numbers_at_once(method):
    """The density of the records as one long vector, with its whole covariance."""
    made = conjugate(method, size=3)
    sums = np.array([2.0, -5.0])
    _, per_record = posterior(made)
    mean = np.array(PRIOR[0])
    mu = mean + per_record @ (sums - made.n * mean)
    common, own = common_and_own(made)
    m = made.size or 1
    whole = np.kron(np.eye(m), own) + np.kron(np.ones((m, m)), common)
    law = stats.multivariate_normal(np.tile(mu, m), whole)
    y = np.random.default_rng(2).normal(size=(5, m, 2)) * 3
    outputs = y if made.size else y[:, 0]
    assert made.logp(outputs, sums) == pytest.approx(law.logpdf(y.reshape(5, -1)), rel=1e-12)
    several = np.stack([sums, -sums])
    each = made.logp(outputs[:, None], several)
    assert each.shape == (5, 2)
    assert each[:, 1] == pytest.approx(made.logp(outputs, -sums), rel=1e-12)
    with bdp.reproducible(3):
        drawn = made.release(sums, copies=10_000).reshape(10_000, -1)
    white = np.linalg.solve(np.linalg.cholesky(whole), (drawn - np.tile(mu, m)).T)
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-6
    off = np.cov(white) - np.eye(len(white))  # each entry has an sd of 1 / 100, or 1.4 of it
    assert np.abs(off).max() < 0.08
    with bdp.reproducible(4):
        assert made.release(several, copies=3).shape == (3, 2, *np.shape(outputs)[1:])


@pytest.mark.parametrize("method", RANDOM)
def test_its_view_has_the_law_in_parts(method):
    made = conjugate(method, size=3, columns=("a", "b"))
    view: Any = view_of(made, NormalVectorView)
    x = np.array([0.3, -1.2])
    with bdp.reproducible(5):
        outputs = [made.check_output(z) for z in made.release(view.statistic(x), copies=4)]
    law = stats.multivariate_normal(view.slope @ x + view.offset, view.spread)
    parts = law.logpdf(view.means(outputs)).sum() + view.log_rest(outputs)
    whole = made.logp(np.array(outputs), made.n * x).sum()
    assert parts == pytest.approx(whole, rel=1e-12)
    assert (view.n, view.ends, view.columns) == (6, (1.5, 3.0), ("a", "b"))


@pytest.mark.parametrize("method", RANDOM)
def test_calibration_finds_the_weakest_prior(method):
    known = {name: TWO[name] for name in ("n", "R", "covariance")}
    size = 4 if method.startswith("synthetic") else None
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    made = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="multivariate_gaussian", method=method, size=size, **known, **asked
    )
    assert 1.0 - 1e-6 < made.epsilon(1e-6) <= 1.0
    spread = np.array(made.prior[1])
    assert spread == pytest.approx(np.array(COVARIANCE) * spread[0, 0])  # whose first is 1
    weaker = dataclasses.replace(made, prior=(made.prior[0], spread * (1 + 1e-6)))
    assert weaker.epsilon(1e-6) > 1.0
    one = {"n": 6, "epsilon": 1.0, "delta": 1e-6, "size": size, "method": method, "R": 1.5}
    plain = bdp.mechanisms.ConjugateMechanism.calibrate(family="gaussian", sigma=2.0, **one)
    alike = bdp.mechanisms.ConjugateMechanism.calibrate(
        family="multivariate_gaussian", covariance=((4.0,),), **one
    )
    assert math.sqrt(alike.prior[1][0][0]) == pytest.approx(plain.prior[1], rel=1e-8)


@pytest.mark.parametrize("method", RANDOM)
def test_a_prior_of_more_records_never_costs_more(method):
    costs = [
        conjugate(method, prior=(PRIOR[0], np.array(COVARIANCE) / c)).delta(0.5)
        for c in (1e-3, 0.1, 1.0, 3.0, 30.0)
    ]
    assert costs == sorted(costs, reverse=True)
    with pytest.raises(bdp.errors.InvalidInput, match="ask for a positive delta"):
        bdp.mechanisms.ConjugateMechanism.calibrate(
            family="multivariate_gaussian", method="parameter_draw", n=6, R=1.0,
            covariance=COVARIANCE, epsilon=1.0,
        )  # fmt: skip


def test_a_mode_is_released_with_noise_for_its_furthest_move():
    mode = conjugate("parameter_map")
    _, per_record = posterior(mode)
    ends = 2 * np.array(mode.R)
    moves = [np.array(c) * ends for c in itertools.product((-1, 1), repeat=2)]
    furthest = max(np.abs(per_record @ move).sum() for move in moves)
    noisy = bdp.mechanisms.noisy_mode(mode, epsilon=2.0)
    assert noisy.dimension == 2
    assert noisy.sensitivity == pytest.approx(furthest, rel=1e-10)
    assert noisy.sensitivity > furthest
    sums = mode.statistic(np.full((6, 2), 1.25))
    (found,) = mode.release(sums)
    precision, before = np.linalg.inv(COVARIANCE), np.linalg.inv(PRIOR[1])
    mean = np.linalg.solve(
        before + 6 * precision, before @ np.array(PRIOR[0]) + precision @ np.array(sums)
    )
    assert found == pytest.approx(mean, rel=1e-12)
    assert mode.logp(found, sums) == 0
    assert mode.logp(found + 1e-9, sums) == -np.inf
    assert mode.profile().limit == 1


def test_records_by_their_columns():
    import pandas as pd

    made = conjugate("synthetic_one", columns=("height", "weight"))
    table = pd.DataFrame({"weight": [3.0, -1.0] * 3, "height": [1.0, -1.5] * 3})
    assert made.statistic(table) == (-1.5, 6.0)
    with bdp.reproducible(1):
        release = bdp.publish(made, made.statistic(table), copies=2, delta=1e-6)
    assert list(release.to_frames()[0].columns) == ["height", "weight"]
    assert release.outputs[0] == tuple(sorted(release.outputs[0]))
    numbered = conjugate("synthetic_one", R=3.0)
    assert numbered.statistic(table) == (6.0, -1.5)  # in their order
    assert [column.name for column in numbered.space.columns] == ["x1", "x2"]
    with pytest.raises(bdp.errors.InvalidInput, match="other columns than"):
        made.statistic(table.rename(columns={"weight": "w"}))


def test_a_release_is_read_back_as_it_was(tmp_path):
    made = conjugate("synthetic_many", columns=("a", "b"))
    with bdp.reproducible(2):
        release = bdp.publish(made, (1.0, 2.0), copies=2, delta=1e-6)
    release.save(tmp_path / "made")
    assert bdp.Release.load(tmp_path / "made").mechanism == made
    parameters = json.loads(json.dumps(written(conjugate("synthetic_many", R=1.5))))
    assert parameters["R"] == [1.5, 1.5]
    assert "columns" not in parameters
    plain = bdp.mechanisms.ConjugateMechanism("gaussian", "parameter_draw", 3, (0, 1), R=1, sigma=1)
    old = MechanismEntry.of(plain)
    assert not {"covariance", "columns"} & set(old.parameters)  # as it always was
    assert old.build() == plain


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"covariance": None}, "covariance is None; it must be a square table"),
        ({"covariance": ((1.0, 0.5),)}, "must be a square table"),
        ({"covariance": ((1.0, math.nan), (0.5, 1.0))}, "must be a square table"),
        ({"covariance": ((1.0, 0.5), (0.4, 2.0))}, "isn't symmetric"),
        ({"covariance": ((1.0, 1.0), (1.0, 1.0))}, "isn't positive definite"),
        ({"covariance": ((1.0, 2.0), (2.0, 1.0))}, "isn't positive definite"),
        ({"covariance": ((1.0, 0.0), (0.0, -1.0))}, "variance on its diagonal"),
        ({"covariance": np.eye(13)}, "of 13 columns"),
        ({"prior": (0.0, 1.0)}, "prior is"),
        ({"prior": ((0.0,), PRIOR[1])}, "of 2 columns"),
        ({"prior": (PRIOR[0], np.eye(3))}, "of 2 columns"),
        ({"prior": (PRIOR[0], ((1.0, 2.0), (2.0, 1.0)))}, "second part of prior isn't positive"),
        ({"R": (1.0, 2.0, 3.0)}, "R is"),
        ({"R": 0.0}, "R is 0.0"),
        ({"R": None}, "R is None"),
        ({"R": (1.0, -2.0)}, "R is"),
        ({"columns": ("a", "a")}, "2 different names"),
        ({"columns": ("a", "copy")}, "none 'copy'"),
        ({"columns": "ab"}, "2 different names"),
        ({"bounded": True}, "has no bounded releases"),
        ({"sigma": 1.0}, "has no sigma"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        conjugate("parameter_draw", **wrong)


def test_other_families_have_no_covariance():
    with pytest.raises(bdp.errors.InvalidInput, match="has no covariance"):
        bdp.mechanisms.ConjugateMechanism(
            "gaussian", "parameter_draw", 3, (0, 1), R=1, sigma=1, covariance=((1.0,),)
        )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1.0, 2.0]] * 5, "another number of records"),
        ([[1.0, 3.5]] * 6, "aren't numbers in"),
        ([[1.75, 1.0]] * 6, "aren't numbers in"),
        ([[1.0, math.inf]] * 6, "aren't numbers in"),
        ([[1.0, math.nan]] * 6, "missing values"),
        ([[1.0, None]] * 6, "missing values"),
        ([[1.0, 2.0, 3.0]] * 6, "a table of d = 2 columns"),
        ([1.0] * 6, "a table of d = 2 columns"),
        ([["1.0", "2.0"]] * 6, "a table of d = 2 columns"),
        ([[1.0, "2.0"]] * 6, "a table of d = 2 columns"),
        ([[1.0], [1.0, 2.0]], "a table of d = 2 columns"),
        (np.ones((6, 2), dtype=bool), "a table of d = 2 columns"),
    ],
)
def test_wrong_records_are_refused(data, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        conjugate("parameter_draw").statistic(data)


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        ((1.0, 2.0, 3.0), "a vector of d = 2"),
        (3.0, "a vector of d = 2"),
        (("a", "b"), "a vector of d = 2"),
        ((0.0, 18.5), "isn't a sum of n = 6"),
        ((math.nan, 1.0), "isn't a sum of n = 6"),
    ],
)
def test_wrong_statistics_are_refused(statistic, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        conjugate("parameter_draw").check_statistic(statistic)


def test_several_statistics_are_no_single_release():
    with pytest.raises(bdp.errors.InvalidInput, match="one at a time"):
        conjugate("parameter_draw").check_statistic([[1.0, 2.0], [0.0, 0.0]])
