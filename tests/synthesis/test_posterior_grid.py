"""The grid engine: exact epsilon on all neighbours, terms bit for bit, agreement, refusals."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import import_pymc, sample
from bayesdp.synthesis import posterior
from bayesdp.synthesis.censor.model import clipping_interval, is_discrete, traced
from bayesdp.synthesis.posterior_grid import PosteriorGrid, grid_of
from tests.synthesis.test_censor import CASES

pm = import_pymc()
import pytensor.tensor as pt  # noqa: E402

RANDOM = np.random.default_rng(11)
Y = 1.5 + RANDOM.normal(size=60)
X = RANDOM.normal(size=60)


def on_grid(model: Any, bounds: Any, size: Any = None, **options: Any) -> PosteriorGrid:
    """As the synthesizer makes it."""
    asked = {"epsilon": 4.0, "neighbours": "add_remove", "center": None, "weights": None}
    asked |= options
    tracer, terms = traced(model, asked.pop("record_dim", None), public_n=False)
    relation = bdp.Neighbours(asked["neighbours"])
    ends = clipping_interval(asked["epsilon"], relation, asked["center"], is_discrete(model))
    weights = None if asked["weights"] is None else np.asarray(asked["weights"], dtype=float)
    return PosteriorGrid(tracer, terms, *ends, weights, grid_of(model, bounds, size))


def normal(y: Any = Y) -> Any:
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 2)
        pm.Normal("y", theta, 1, observed=y)
    return model


def law(grid: PosteriorGrid) -> np.ndarray:
    """log probability of every cell."""
    made = np.full(math.prod(grid.shape), -np.inf)
    exact = [math.ldexp(int(v) - int(grid.log_weights.max()), -grid.bits) for v in grid.log_weights]
    made[grid.possible] = np.array(exact) - special.logsumexp(exact)
    return made


def tilted_coin(data: Any) -> Any:
    with pm.Model() as model:
        p = pm.Beta("p", 1, 30)
        pm.Bernoulli("y", p, observed=np.array(data))
    return model


def counted(data: Any) -> Any:
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1)
        shift = pm.Normal("shift", 0, 1)
        pm.Poisson("k", rate * pt.exp(shift), observed=np.array(data))
    return model


TOYS: list[tuple[Any, Any, Any, list[Any], dict[str, Any]]] = [
    (tilted_coin, {"p": (0, 1)}, 30, [0, 1], {}),
    (tilted_coin, {"p": (0, 1)}, 30, [0, 1], {"center": -0.3}),
    (counted, {"rate": (0, 6), "shift": (-2, 2)}, 6, [0, 1, 9], {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("toy", range(len(TOYS)))
def test_the_exact_epsilon_on_all_neighbours_is_at_most_the_claim(neighbours: str, toy: int):
    """All data sets of 3 records, and all their neighbours, by enumeration of the released law."""
    build, bounds, size, values, options = TOYS[toy]
    epsilon = 1.5
    laws: dict[Any, np.ndarray] = {}

    def of(data: Any) -> np.ndarray:
        key = tuple(sorted(data))
        if key not in laws:
            made = on_grid(
                build(key), bounds, size, epsilon=epsilon, neighbours=neighbours, **options
            )
            laws[key] = law(made)
        return laws[key]

    worst = 0.0
    for data in itertools.combinations_with_replacement(values, 3):
        if neighbours == "add_remove":
            others = [(*data, one) for one in values]
        else:
            others = [(*data[:k], one, *data[k + 1 :]) for k in range(3) for one in values]
        for other in others:
            worst = max(worst, float(np.nanmax(np.abs(of(data) - of(other)))))
    assert worst <= epsilon * (1 + 1e-12)
    assert worst > 0.2 * epsilon


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_worst_case_is_within_one_percent_of_the_claim(neighbours: str):
    """Many records far to the left, and one far to the right, more or in the place of one."""
    epsilon, left = 2.0, [-9.0] * 25
    before, after = [*left], [*left, 9.0]
    if neighbours == "replace_one":
        before = [*left, -9.0]
    one, other = (
        law(
            on_grid(
                normal(np.array(y)),
                {"theta": (-12, 12)},
                24,
                neighbours=neighbours,
                epsilon=epsilon,
                center=-3.0,
            )
        )
        for y in (before, after)
    )
    found = float(np.abs(one - other).max())
    assert 0.99 * epsilon < found <= epsilon * (1 + 1e-12)


@pytest.mark.slow
def test_a_record_s_term_is_the_same_whatever_the_others_are_to_the_last_bit():
    """Numbers of records around the widths of vector instructions, and every place."""

    def mixed(y: Any, x: Any, g: Any) -> Any:
        with pm.Model() as model:
            a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
            scale = pm.math.exp(pt.stack([a, b, a * b])[g])
            pm.StudentT("y", 3, a + b * pm.math.sin(x), sigma=scale, observed=y)
            pm.Poisson("k", pm.math.exp(a * x), observed=g)
        return model

    data = [RANDOM.normal(size=40), RANDOM.normal(size=40), RANDOM.integers(0, 3, 40)]
    bounds = {"a": (-2, 2), "b": (-2, 2)}
    grids = {}
    for n in (2, 3, 5, 8, 9, 17, 40):
        for start in (0, 40 - n):
            grids[start, n] = on_grid(
                mixed(*(each[start : start + n] for each in data)), bounds, 11, center=-3.0
            )
    seen: dict[int, np.ndarray] = {}
    for (start, n), grid in grids.items():
        for i in range(n):
            found = grid.record_terms(i, grid.centres)
            assert np.array_equal(found, seen.setdefault(start + i, found))
    assert len(seen) == 40
    low, high = (math.ldexp(v, grid.bits) for v in (grid.lower, grid.upper))
    every = np.concatenate(list(seen.values()))
    assert low <= every.min() < every.max() <= high
    assert np.mean((every > low) & (every < high)) > 0.2


PANEL = RANDOM.normal(size=(60, 2))
GROUP = RANDOM.integers(0, 3, 60)


def panel_and_counts() -> Any:
    """Several observed variables, trailing axes, names of dimensions, groups' indices."""
    coords = {"record": range(60), "wave": ["first", "second"]}
    with pm.Model(coords=coords) as model:
        mu, slope, s = pm.Normal("mu", 0, 1), pm.Normal("slope", 0, 1), pm.HalfNormal("s", 1)
        group = pm.Data("group", GROUP, dims="record")
        level = pt.stack([mu, slope, mu - slope])[group]
        panel = pm.Data("panel", PANEL, dims=("record", "wave"))
        pm.Normal("y", level[:, None], s, observed=panel, dims=("record", "wave"))
        pm.Poisson("k", pm.math.exp(level), observed=GROUP, dims="record")
    return model


def panel_by_hand(p: Any) -> np.ndarray:
    level = np.array([p["mu"], p["slope"], p["mu"] - p["slope"]])[GROUP]
    y = stats.norm.logpdf(PANEL, level[:, None], p["s"]).sum(axis=1)
    return np.asarray(y + stats.poisson.logpmf(GROUP, np.exp(level)))


def mixture() -> Any:
    with pm.Model() as model:
        w, mu = pm.Beta("w", 1, 1), pm.Normal("mu", 0, 1)
        parts = {"w": pt.stack([w, 1 - w]), "mu": pt.stack([mu, 0.5]), "sigma": [1.0, 2.0]}
        pm.NormalMixture("y", observed=Y, **parts)
    return model


def mixture_by_hand(p: Any) -> np.ndarray:
    one, other = stats.norm.pdf(Y, p["mu"], 1), stats.norm.pdf(Y, 0.5, 2)
    return np.asarray(np.log(p["w"] * one + (1 - p["w"]) * other))


def bivariate() -> Any:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.MvNormal("y", pt.stack([mu, 2 * mu]), np.array([[1.0, 0.3], [0.3, 2.0]]), observed=PANEL)
    return model


def bivariate_by_hand(p: Any) -> np.ndarray:
    centre = [p["mu"], 2 * p["mu"]]
    return np.asarray(stats.multivariate_normal(centre, [[1.0, 0.3], [0.3, 2.0]]).logpdf(PANEL))


FEW = (
    "logistic_with_data_containers",
    "censored_normal",
    "truncated_normal",
    "custom_density",
    "zero_inflated",
    "potential_of_parameters_and_own_scales",
)
WIDE = ({"epsilon": 6.0, "center": -2.0}, (-5.0, 1.0))
MODELS = [
    (panel_and_counts, panel_by_hand, *WIDE),
    (mixture, mixture_by_hand, *WIDE),
    (bivariate, bivariate_by_hand, *WIDE),
    *((c.build, c.by_hand, c.options, c.interval) for c in CASES if c.name in FEW),
]


@pytest.mark.parametrize("k", range(len(FEW) + 3))
def test_terms_are_those_by_hand(k: int):
    """The models of `censor` that have at most three numbers as parameters, and more."""
    build, by_hand, options, (lower, upper) = MODELS[k]
    model = build()
    names = [rv.name for rv in model.free_RVs]
    grid = on_grid(model, dict.fromkeys(names, (0.07, 1.3)), 5, **options)
    total, inside = np.zeros(grid.possible.size), 0
    for place, cell in enumerate(grid.possible):
        point = {name: each[cell] for name, each in zip(names, grid.centres, strict=True)}
        terms = np.clip(by_hand(point), lower, upper)
        total[place] = terms.sum()
        inside += np.count_nonzero((terms > lower) & (terms < upper))
    found = np.ldexp(grid.log_weights.astype(float), -grid.bits) - grid.prior[grid.possible]
    rounding = (grid.tracer.axes.n + 1) * 2.0**-grid.bits
    assert found == pytest.approx(total, rel=1e-8, abs=rounding + 1e-8)
    assert inside > 0


def test_without_binding_clips_it_is_the_exact_posterior():
    """Normal mean of known scale: moments by the formula, and draws by Kolmogorov-Smirnov."""
    grid = on_grid(normal(), {"theta": (-1, 4)}, 4000, epsilon=200.0)
    precision = Y.size + 1 / 4
    mean, sd = Y.sum() / precision, precision**-0.5
    p = np.exp(law(grid))
    found = p @ grid.centres[0]
    assert found == pytest.approx(mean, abs=1e-6)
    assert math.sqrt(p @ (grid.centres[0] - found) ** 2) == pytest.approx(sd, rel=1e-5)
    with bdp.reproducible(4):
        draws = np.array([point["theta"] for point in grid.draw(4000)])
    assert stats.kstest(draws, stats.norm(mean, sd).cdf).pvalue > 1e-6
    assert np.unique(draws).size == 4000  # jittered


def two_parameters() -> Any:
    with pm.Model() as model:
        a, s = pm.Normal("a", 0, 1), pm.HalfNormal("s", 1)
        pm.Normal("y", a * pm.Data("x", X), s, observed=0.5 * X + Y - 1.5)
    return model


@pytest.mark.slow
def test_it_agrees_with_nuts():
    """Two parameters, clips that bind: within 5 Monte Carlo standard errors."""
    grid = on_grid(
        two_parameters(), {"a": (-1.0, 2.0), "s": (0.0, 3.0)}, 150, epsilon=1.5, center=-1.0
    )
    p = np.exp(law(grid))
    private = bdp.censor(two_parameters(), epsilon=1.5, center=-1.0)
    draws = sample(private, variables=["a", "s"], draws=2000, chains=4, seed=3)
    az = posterior.import_arviz()
    data = az.convert_to_dataset(dict(draws.posterior))
    for name, centre in zip(("a", "s"), grid.centres, strict=True):
        for power in (1, 2):
            mean, of = p @ centre**power, data[name] ** power
            error = float(of.std()) / math.sqrt(float(az.ess(of)[name]))
            assert abs(float(of.mean()) - mean) < 5 * error


def test_draws_stay_in_the_prior_s_range_and_in_the_grid():
    """Cells that straddle 0 have a centre where the scale is positive, but not all of them is."""
    grid = on_grid(two_parameters(), {"a": (-1, 1), "s": (-0.9, 1.1)}, {"a": 2, "s": 1})
    with bdp.reproducible(1):
        points = grid.draw(300)
    scales = np.array([point["s"] for point in points])
    assert scales.min() > 0
    assert scales.max() <= 1.1
    assert np.any(scales == grid.centres[1][0])
    grid = on_grid(two_parameters(), {"a": (-1, 1), "s": (-3, 1)}, 8)
    assert grid.possible.size == 16
    assert (grid.centres[1][grid.possible] > 0).all()


def test_weights_scale_a_record_s_term():
    weights = np.tile([0.0, 0.5, 3.0], 20)
    grid = on_grid(normal(), {"theta": (-2, 4)}, 7, weights=weights, center=-1.0)
    by_hand = weights[:, None] * stats.norm.logpdf(Y[:, None], grid.centres[0], 1)
    total = np.clip(by_hand, grid.lower, grid.upper).sum(axis=0)
    found = np.ldexp(grid.log_weights.astype(float), -grid.bits) - grid.prior
    assert found == pytest.approx(total, abs=1e-8)


GRID: dict[str, Any] = {"engine": "grid", "grid_bounds": {"theta": (-5, 5)}}


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_release_end_to_end(neighbours: str, tmp_path: Any):
    release = bdp.PosteriorSynthesizer(
        normal(), epsilon=3.0, copies=2, neighbours=neighbours, size=25, center=-1.4, **GRID
    ).release()
    guarantee = release.guarantee
    assert guarantee.strength is bdp.Strength.PROVED
    assert guarantee.neighbours == neighbours
    assert guarantee.epsilon <= 3.0
    assert guarantee.epsilon == pytest.approx(3.0, rel=1e-12)
    assert any("floating-point" in each for each in guarantee.assumptions)
    assert not any("diagnostics" in each for each in guarantee.assumptions)
    assert release.mechanism.n == (None if neighbours == "add_remove" else 60)
    assert release.mechanism.grid == (("theta", -5.0, 5.0, 1000),)
    assert [len(frame) for frame in release.to_frames()] == [25, 25]
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.guarantee.strength is bdp.Strength.PROVED


def test_covariates_are_public():
    options: dict[str, Any] = {
        "engine": "grid",
        "grid_bounds": {"a": (-1, 2), "s": (0.05, 3)},
        "size": 50,
    }
    with pytest.raises(bdp.errors.InvalidInput, match="covariates"):
        bdp.PosteriorSynthesizer(two_parameters(), epsilon=2.0, **options).release()
    x = np.linspace(-1, 1, 50)
    release = bdp.PosteriorSynthesizer(
        two_parameters(), epsilon=2.0, covariates={"x": x}, **options
    ).release()
    assert np.array_equal(np.sort(release.to_frames()[0]["x"]), x)


def with_four() -> Any:
    with pm.Model() as model:
        each = [pm.Normal(name, 0, 1) for name in "abcd"]
        pm.Normal("y", sum(each), 1, observed=Y)
    return model


def with_discrete() -> Any:
    with pm.Model() as model:
        theta = pm.Bernoulli("theta", 0.5)
        pm.Normal("y", theta, 1, observed=Y)
    return model


def with_vector() -> Any:
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1, shape=2)
        pm.Normal("y", theta[0] + theta[1], 1, observed=Y)
    return model


def without_parameters() -> Any:
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=Y)
    return model


def with_place() -> Any:
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1)
        y = pm.Data("y_", Y)
        pm.Normal("y", theta * pt.arange(y.shape[0]), 1, observed=y)
    return model


def with_infinite_prior() -> Any:
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1)
        pm.Potential("wall", pt.log(theta))
        pm.Normal("y", theta, 1, observed=Y)
    return model


@pytest.fixture
def dataset(tmp_path: Any) -> Any:
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("records", epsilon=2.0, neighbours="add_remove")
    return ledger.dataset("records")


@pytest.mark.parametrize(
    ("build", "options", "message"),
    [
        (with_four, {"grid_bounds": dict.fromkeys("abcd", (-1, 1))}, "one to 3"),
        (with_discrete, {"grid_bounds": {"theta": (0, 1)}}, "are discrete"),
        (with_vector, {}, "are arrays"),
        (without_parameters, {"grid_bounds": {}}, "one to 3"),
        (with_place, {"neighbours": "replace_one"}, "place"),
        (with_infinite_prior, {}, "no number somewhere"),
        (normal, {"grid_bounds": None}, "grid_bounds is None"),
        (normal, {"grid_bounds": {}}, "each of the free variables \\['theta'\\]"),
        (normal, {"grid_bounds": {"mu": (0, 1)}}, "each of the free variables"),
        (normal, {"grid_bounds": {"theta": (0, 1), "mu": (0, 1)}}, "each of the free"),
        (normal, {"grid_bounds": {"theta": (-math.inf, 1)}}, "must be finite"),
        (normal, {"grid_bounds": {"theta": (0, math.nan)}}, "must be finite"),
        (normal, {"grid_bounds": {"theta": (None, 1)}}, "must be finite"),
        (normal, {"grid_bounds": {"theta": (1, 0)}}, "the lower first"),
        (normal, {"grid_bounds": {"theta": 3.0}}, "must be \\(low, high\\)"),
        (normal, {"grid_bounds": {"theta": (-1e308, 1e308)}}, "must be finite"),
        (normal, {"grid_size": 0}, "it must be a whole number, at least 1"),
        (normal, {"grid_size": 2.5}, "it must be a whole number, at least 1"),
        (normal, {"grid_size": 1}, "from 2 to"),
        (normal, {"grid_size": 10**7}, "from 2 to"),
        (normal, {"grid_size": {"mu": 3}}, "grid_size is"),
        (normal, {"size": None}, "size is missing"),
        (normal, {"epsilon": 1e-14}, "too narrow"),
        (normal, {"weights": [1.0]}, "weights must be"),
        (two_parameters, {"grid_bounds": {"a": (-1, 1), "s": (-2, -1)}}, "fewer than two cells"),
        (normal, {"engine": "pymc"}, "are for engine='grid'"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(
    build: Any, options: dict[str, Any], message: str, dataset: Any
):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.PosteriorSynthesizer(build(), **{"epsilon": 1.0, "size": 9, **GRID, **options}).release(
            ledger=dataset
        )
    assert dataset.remaining().epsilon == 2.0


def test_the_ledger_is_spent_before_anything_is_drawn(dataset: Any, monkeypatch: Any):
    def stop(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(PosteriorGrid, "draw", stop)
    with pytest.raises(KeyboardInterrupt):
        bdp.PosteriorSynthesizer(normal(), epsilon=1.5, size=9, **GRID).release(ledger=dataset)
    assert dataset.remaining().epsilon == pytest.approx(0.5)
