"""Regressions by moments of columns that were counted in pools, with missing values or a link."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, special, stats

import bayesdp as bdp
from bayesdp.engines.latent_classes import Noisy
from bayesdp.inference.table import generalized, moments, pool_means
from bayesdp.inference.table.moments import estimates_by_moments
from bayesdp.inference.table.released import stored

CELLS = 40
SCHEMA = bdp.Schema(
    {
        "x": {"type": "real", "bounds": (0, 200), "bins": CELLS, "missing": True},
        "e": {"type": "category", "labels": ("u", "v", "w"), "missing": True},
        "s": {"type": "boolean"},
        "v": {"type": "integer", "bounds": (0, 9)},
    }
)
NAMES = list(SCHEMA.columns)
MIDDLES = SCHEMA.columns["x"].middles
LAID = np.array([0, 2, 4, 7, 12, 20, CELLS])
FIRSTS = LAID.tolist()
PAIRS = tuple(itertools.combinations(range(4), 2))
TRIPLES = tuple(itertools.combinations(range(4), 3))
MISSING = {0: CELLS, 1: 3}
"""The cell of missing values, by column."""


def records(
    rng: np.random.Generator, n: int, gaps: bool = True, *, linear: bool = False
) -> np.ndarray:
    """Cells of records, whose x has the evenest law within each pool, so that its mean says all."""
    e = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    pool = np.array([rng.choice(6, p=p) for p in POOLS[e]])
    place = np.minimum(rng.exponential(0.35, n), 0.999)  # a density exp(t x), but for its end
    starts, sizes = LAID[pool], np.diff(LAID)[pool]
    x = starts + (place * sizes).astype(int)
    s = rng.random(n) < 1 / (1 + np.exp(1 - 0.03 * MIDDLES[x] - 0.5 * (e == 1)))
    mean = np.exp(0.2 + 0.007 * MIDDLES[x] + 0.3 * (e == 1))
    if linear:
        mean = 1 + 0.02 * MIDDLES[x] + 0.5 * (e == 1)
    v = rng.poisson(mean).clip(0, 9)
    made = np.column_stack([x, e, s, v])
    if gaps:
        made[rng.random(n) < 0.05 + 0.15 * (e == 0), 0] = MISSING[0]
        made[rng.random(n) < 0.05 + 0.2 * s, 1] = MISSING[1]
    return made


POOLS = np.array(
    [
        [0.25, 0.25, 0.25, 0.15, 0.07, 0.03],
        [0.15, 0.2, 0.25, 0.2, 0.12, 0.08],
        [0.1, 0.15, 0.25, 0.25, 0.15, 0.1],
    ]
)


def pooled(codes: np.ndarray) -> np.ndarray:
    return pool_means.pooled_table(codes, {0: np.array(FIRSTS)})


def counted(codes: np.ndarray, scale: float, marginals=PAIRS, rng=None) -> list[Noisy]:
    """Counts of x alone in its cells and of columns together in its pools, with noise by `rng`."""
    made = []
    for columns in [(0,), *marginals]:
        sizes = [len(FIRSTS) if k == 0 else SCHEMA.columns[NAMES[k]].cells for k in columns]
        own = codes if columns == (0,) else pooled(codes)
        counts = np.zeros([CELLS + 1] if columns == (0,) else sizes)
        np.add.at(counts, tuple(own[:, k] for k in columns), 1)
        one = Noisy(columns, counts, scale, gaussian=True)
        made.append(one if rng is None else one._replace(counts=counts + one.noise(rng, 1)[0]))
    return made


def estimated(formula, family, noisy, tables, *, draws=3, target="data", seed=1):
    names = [name for name in NAMES if name in formula]
    columns = {name: SCHEMA.columns[name] for name in names}
    each = [table[:, [NAMES.index(name) for name in names]] for table in tables]
    rng = np.random.default_rng(seed)
    pools = {"x": FIRSTS} if "x" in names else {}
    group = stored(noisy, None, NAMES)
    return estimates_by_moments(
        formula, family, columns, group, pools, lambda: each, target, draws, rng
    )


def means_of(law: np.ndarray, values: np.ndarray = MIDDLES) -> np.ndarray:
    """Mean of values in each pool, by a law of cells."""
    pool = pool_means.pool_of(np.arange(CELLS), FIRSTS)
    return np.bincount(pool, law * values) / np.bincount(pool, law)


def seen(codes: np.ndarray, *columns: int) -> np.ndarray:
    """Records that have values in some columns."""
    return codes[np.all([codes[:, k] != MISSING.get(k, -1) for k in columns], axis=0)]


def law_of(codes: np.ndarray) -> np.ndarray:
    return np.bincount(seen(codes, 0)[:, 0], minlength=CELLS)


def dummies(codes: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    e = codes[:, 1]
    return np.column_stack([np.ones(len(e)), e == 1, e == 2, *columns]).astype(float)


def test_without_noise_a_pooled_predictor_is_its_pools_mean_in_complete_records():
    codes = records(np.random.default_rng(2), 2000)
    complete = seen(codes, 0, 1)
    x = means_of(law_of(codes))[pooled(complete)[:, 0]]
    fit = sm.OLS(complete[:, 3], dummies(complete, x)).fit()
    found = estimated("v ~ x + C(e)", "linear", counted(codes, 1e-6), [codes] * 2)
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-5, atol=1e-7)
    asked = {"draws": 4000, "target": "population"}
    many = estimated("v ~ x + C(e)", "linear", counted(codes, 1e-6), [codes] * 2, **asked)
    # 4,000 draws: a standard deviation is within .07 of its own but once in a million.
    np.testing.assert_allclose(many.draws.std(axis=0) / fit.bse, 1, atol=0.07)


@pytest.fixture
def _two_pools(monkeypatch):
    """Wide ones, so that much of what x says is within them."""
    monkeypatch.setitem(globals(), "FIRSTS", [0, 6, CELLS])


@pytest.mark.usefixtures("_two_pools")
def test_without_noise_a_pooled_outcome_has_the_grids_squares_in_complete_records():
    codes = records(np.random.default_rng(3), 2000)
    complete, law = seen(codes, 0, 1), law_of(codes)
    pool = pooled(complete)[:, 0]
    y, squares = means_of(law)[pool], means_of(law, MIDDLES**2)[pool]
    fit = sm.OLS(y, dummies(complete, complete[:, 3])).fit()
    asked = {"draws": 4000, "target": "population"}
    found = estimated("x ~ C(e) + v", "linear", counted(codes, 1e-6), [codes], **asked)
    errors = fit.bse * np.sqrt((squares.sum() - y @ fit.fittedvalues) / fit.ssr)
    np.testing.assert_allclose(found.draws.std(axis=0) / errors, 1, atol=0.07)
    assert np.abs((found.draws.mean(axis=0) - fit.params) / errors).max() * np.sqrt(4000) < 5.5


def test_two_columns_need_nothing_of_the_tables():
    rng = np.random.default_rng(3)
    codes = records(rng, 2000)
    torn = [rng.permuted(codes, axis=0) for _ in range(5)]
    complete = seen(codes, 0, 1)
    x = means_of(law_of(codes))[pooled(complete)[:, 0]]
    found = estimated("x ~ C(e)", "linear", counted(codes, 1e-6), torn)
    fit = sm.OLS(x, dummies(complete)).fit()
    np.testing.assert_allclose(found.draws, np.tile(fit.params, (3, 1)), rtol=1e-5)


@pytest.mark.parametrize("fault", ["left out", "pools of others", "records", "spread"])
def test_faults_are_seen(monkeypatch, fault):
    """Records that lack a value kept, another pool's mean, records miscounted, spread left out."""
    codes = records(np.random.default_rng(2), 2000)
    complete = seen(codes, 0, 1)
    x = means_of(law_of(codes))[pooled(complete)[:, 0]]
    if fault == "left out":
        found = moments.left_out
        monkeypatch.setattr(
            moments, "left_out", lambda *given: {k: 0 * v for k, v in found(*given).items()}
        )
    elif fault == "pools of others":
        mean = pool_means.means_of_pools
        monkeypatch.setattr(
            pool_means, "means_of_pools", lambda *given: np.roll(mean(*given), 1, axis=1)
        )
    elif fault == "records":
        count = moments._counted
        monkeypatch.setattr(moments, "_counted", lambda *given: 2 * count(*given))
    else:
        monkeypatch.setattr(
            generalized, "covariances_by_pools", lambda *given: (given[0][0], 0 * MEAN(*given)[1])
        )
        want, _ = root_of(codes, "logit")
        found = estimated("s ~ x + C(e)", "logit", counted(codes, 1e-6), [codes])
        assert np.abs(found.draws[0] / want - 1).max() > 0.01
        return
    fit = sm.OLS(complete[:, 3], dummies(complete, x)).fit()
    found = estimated("v ~ x + C(e)", "linear", counted(codes, 1e-6), [codes] * 2)
    assert found is None or np.abs((found.draws[0] - fit.params) / fit.bse).max() > 0.1


MEAN = pool_means.covariances_by_pools


def tilt(mean: float, first: int, last: int) -> np.ndarray:
    """The evenest law in cells, by a root."""
    place = np.linspace(0, 1, last - first)

    def law(t: float) -> np.ndarray:
        made = np.exp(t * place)
        return made / made.sum()

    x = MIDDLES[first:last]
    return law(optimize.brentq(lambda t: law(t) @ x - mean, -50, 50, xtol=1e-14))


def root_of(codes: np.ndarray, family: str, *, products: bool = False) -> Any:
    """Root of the pools' score, and errors by its derivative and the outcomes' variance.

    Of the mean of each record in a pool, two points are taken: their linear predictors are one
    standard deviation away from the mean's.
    """
    mean = means_of(law_of(codes))
    ends = itertools.pairwise(FIRSTS)
    evened = np.concatenate([tilt(m, a, b) for m, (a, b) in zip(mean, ends, strict=True)])
    sd = np.sqrt(means_of(evened, MIDDLES**2) - mean**2)
    complete = seen(codes, 0, 1)
    pool = pooled(complete)[:, 0]
    x, apart = (dummies(complete, each[pool]) for each in (mean, sd))
    apart[:, :3] = 0
    if products:
        x, apart = (np.column_stack([z, z[:, 3:] * x[:, 1:3]]) for z in (x, apart))
    y = complete[:, 2 if family == "logit" else 3]
    g = special.expit if family == "logit" else np.exp

    def points(beta: np.ndarray) -> np.ndarray:
        return np.array([g(x @ beta + sign * (apart @ beta)) for sign in (1, -1)])

    def score(beta: np.ndarray) -> np.ndarray:
        return x.T @ (y - points(beta).mean(axis=0)) / len(y)

    start = np.zeros(x.shape[1])
    start[0] = np.log(y.mean()) if family == "poisson" else 0
    found = optimize.root(score, start, tol=1e-12)
    assert found.success
    mu, between = points(found.x).mean(axis=0), points(found.x).var(axis=0)
    variance = mu * (1 - mu)
    if family == "poisson":
        phi = (y @ y - mu @ mu - between.sum()) / mu.sum()
        variance = phi * mu + between
    change = optimize.approx_fprime(found.x, score, 1e-7) * len(y)
    turned = np.linalg.solve(change, (x * np.sqrt(variance)[:, None]).T)
    return found.x, np.sqrt(np.sum(turned**2, axis=1))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    ("formula", "family"), [("s ~ x + C(e)", "logit"), ("v ~ x + C(e)", "poisson")]
)
def test_without_noise_a_link_s_mean_is_over_the_pool(gaps, formula, family):
    codes = records(np.random.default_rng(4), 2000, gaps)
    found = estimated(formula, family, counted(codes, 1e-6), [codes] * 2)
    want, errors = root_of(codes, family)
    np.testing.assert_allclose(found.draws, np.tile(want, (3, 1)), rtol=1e-4, atol=1e-6)
    asked = {"draws": 4000, "target": "population"}
    many = estimated(formula, family, counted(codes, 1e-6), [codes] * 2, **asked)
    # 4,000 draws: a standard deviation is within .06 of its own but once in ten million.
    np.testing.assert_allclose(many.draws.std(axis=0) / errors, 1, atol=0.06)


@pytest.mark.usefixtures("_two_pools")
def test_counts_within_a_pool_vary_by_more_than_their_mean():
    rng = np.random.default_rng(4)
    codes = records(rng, 2000)
    x = np.append(MIDDLES, 0)[codes[:, 0]]
    codes[:, 3] = rng.poisson(np.exp(0.018 * x - 1)).clip(0, 9)
    asked = {"draws": 4000, "target": "population"}
    found = estimated("v ~ x + C(e)", "poisson", counted(codes, 1e-6), [codes], **asked)
    _, errors = root_of(codes, "poisson")
    np.testing.assert_allclose(found.draws.std(axis=0) / errors, 1, atol=0.06)


def test_products_with_a_pooled_column_vary_together():
    codes = records(np.random.default_rng(4), 3000)
    seen_ = counted(codes, 1e-6, [*PAIRS, *TRIPLES])
    found = estimated("s ~ C(e) * x", "logit", seen_, [codes])
    want, _ = root_of(codes, "logit", products=True)
    np.testing.assert_allclose(found.draws, np.tile(want, (3, 1)), rtol=1e-4, atol=1e-6)


def test_an_outcome_in_pools_or_two_of_them_in_a_term_of_a_link_are_left_to_tables():
    codes = records(np.random.default_rng(5), 500)
    noisy = counted(codes, 1.0, [*PAIRS, *TRIPLES])
    assert estimated("x ~ C(e)", "poisson", noisy, [codes]) is None
    design = moments.design_of("s ~ x:v", SCHEMA.columns, "logit")
    assert moments._can_be_pooled(design, "logit", {0})
    assert not moments._can_be_pooled(design, "logit", {0, 3})
    assert moments._can_be_pooled(design, "linear", {0, 3})


def test_the_evenest_law_has_the_mean_and_is_even_where_that_is_the_middle():
    firsts, rng = np.array([0, 1, 5, 12]), np.random.default_rng(1)
    widths = np.array([1.0, 1, 2, 3, 4, *[1] * 7])
    middles = np.cumsum(widths) - widths / 2
    grid = rng.poisson(20, (50, 13)).astype(float)
    found = pool_means.smoothed(grid, middles, widths, firsts)
    assert found.min() >= 0
    for law in (grid, found):
        assert law.shape == (50, 13)
    by_grid, by_law = (
        pool_means.means_of_pools(each[:, :12], middles[None, :, None], firsts[:3])
        for each in (grid, found)
    )
    np.testing.assert_allclose(by_law, by_grid, rtol=1e-9)
    even = pool_means.smoothed(np.append(widths, 5.0)[None], middles, widths, firsts)
    np.testing.assert_allclose(even[0, 1:5], widths[1:5] / 10, rtol=1e-9)
    none = pool_means.smoothed(-grid, middles, widths, firsts)
    assert np.isfinite(none).all()


CASES = {
    "linear": ("v ~ x + C(e)", "linear", PAIRS),
    "outcome": ("x ~ C(e) + s", "linear", PAIRS),
    "logit": ("s ~ x + C(e)", "logit", PAIRS),
    "poisson": ("v ~ x + C(e)", "poisson", PAIRS),
    "products": ("s ~ x * C(e)", "logit", (*PAIRS, *TRIPLES)),
}


@functools.cache
def truth(case: str) -> np.ndarray:
    """Coefficients in a population of 400,000, whose x is known to the cell."""
    rng = np.random.default_rng(6)
    codes = seen(records(rng, 400_000, linear=case == "linear"), 0, 1)
    x = MIDDLES[codes[:, 0]]
    design = dummies(codes, codes[:, 2] if case == "outcome" else x)
    if case == "products":
        design = np.column_stack([design, design[:, 1:3] * x[:, None]])
    if case in ("linear", "outcome"):
        return sm.OLS(x if case == "outcome" else codes[:, 3], design).fit().params
    if case == "poisson":
        return sm.Poisson(codes[:, 3], design).fit(disp=False).params
    return sm.Logit(codes[:, 2], design).fit(disp=False).params


def covered(case: str, scale: float, surveys: int, n: int) -> np.ndarray:
    """How often 95% intervals have each coefficient; tables are resamples of the records."""
    rng, hits = np.random.default_rng(7), []
    formula, family, marginals = CASES[case]
    for _ in range(surveys):
        codes = records(rng, n, linear=case == "linear")
        noisy = counted(codes, scale, marginals, rng)
        tables = [codes[rng.integers(0, n, n)] for _ in range(10)]
        asked = {"draws": 300, "target": "population", "seed": rng}
        found = estimated(formula, family, noisy, tables, **asked)
        lower, upper = np.quantile(found.draws, [0.025, 0.975], axis=0)
        hits.append((lower < truth(case)) & (truth(case) < upper))
    return np.mean(hits, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "scale", "n"),
    [
        ("linear", 8.0, 2000),
        ("logit", 8.0, 2000),
        ("poisson", 8.0, 2000),
        pytest.param("outcome", 8.0, 2000, marks=pytest.mark.calibrate),
        pytest.param("products", 4.0, 2000, marks=pytest.mark.calibrate),
        *(
            pytest.param(case, scale, n, marks=pytest.mark.calibrate)
            for case in ("linear", "logit", "poisson")
            for scale, n in ((12.0, 2000), (1.0, 2000), (1.0, 10_000))
        ),
    ],
)
def test_intervals_cover(case, scale, n):
    """Cells of pairs have some 100 to 200 records on average, those of the grid 50."""
    found = covered(case, scale, 100, n)
    assert np.all(found >= stats.binom.ppf(1e-7, 100, 0.95) / 100), found
