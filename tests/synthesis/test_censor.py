"""Censored models: the clipped sum against numpy on models of many shapes, and exact epsilon."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from pytensor.compile.mode import Mode
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.synthesis.censor.model import clipping_interval

pm = import_pymc()
import pytensor.tensor as pt  # noqa: E402

N = 11
RANDOM = np.random.default_rng(20)
X = RANDOM.normal(size=N)
DESIGN = RANDOM.normal(size=(N, 3))
Y = RANDOM.normal(size=N)
PANEL = RANDOM.normal(size=(N, 4))
BINARY = RANDOM.integers(0, 2, N)
COUNTS = RANDOM.poisson(2.0, N)
KIND = RANDOM.integers(0, 3, N)
GROUP = RANDOM.integers(0, 5, N)
PLAIN = Mode(linker="py", optimizer="fast_compile")

Parameters = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model, and each record's log-likelihood by hand, shape (N,)."""

    name: str
    build: Callable[[], Any]
    by_hand: Callable[[Parameters], np.ndarray]
    options: dict[str, Any]
    interval: tuple[float, float]


CASES: list[Case] = []


def case(by_hand: Callable[[Parameters], np.ndarray], interval=(-1.0, 1.0), **options: Any):
    """Collect a model; the options default to epsilon = 2 under add/remove-one."""

    def collect(build: Callable[[], None]) -> Callable[[], Any]:
        def model() -> Any:
            with pm.Model() as made:
                build()
            return made

        CASES.append(Case(build.__name__, model, by_hand, {"epsilon": 2.0, **options}, interval))
        return model

    return collect


@case(lambda p: stats.norm.logpdf(Y, DESIGN @ p["beta"], p["sigma"]))
def regression():
    beta = pm.Normal("beta", 0, 1, shape=3)
    sigma = pm.HalfNormal("sigma", 1)
    pm.Normal("y", DESIGN @ beta, sigma, observed=Y)


@case(
    lambda p: stats.bernoulli.logpmf(BINARY, special.expit(p["a"] + p["b"] * X)),
    interval=(-2.0, 0.0),
)
def logistic_with_data_containers():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    x = pm.Data("x", X)
    eta = pm.Deterministic("eta", a + b * x)
    pm.Bernoulli("y", logit_p=eta, observed=pm.Data("answer", BINARY))


def _several(p: Parameters) -> np.ndarray:
    of_panel = stats.norm.logpdf(PANEL, p["mu"], p["sigma"]).sum(axis=1)
    return of_panel + stats.poisson.logpmf(COUNTS, p["rate"])


@case(_several, interval=(-10.0, -8.0), center=-9.0, record_dim="person")
def several_observed_variables_and_trailing_axes():
    pm.modelcontext(None).add_coords({"person": range(N), "visit": range(4)})
    mu = pm.Normal("mu", 0, 1, dims="visit")
    sigma = pm.HalfNormal("sigma", 1)
    rate = pm.Gamma("rate", 2, 1)
    pm.Normal("panel", mu[:, None], sigma, observed=PANEL.T, dims=("visit", "person"))
    pm.Poisson("count", rate, observed=COUNTS, dims="person")


@case(
    lambda p: stats.norm.logpdf(Y, p["m"][GROUP] + p["slope"] * X, p["s"][GROUP]),
    interval=(-0.5, 0.5),
    neighbours="replace_one",
)
def hierarchical():
    pm.modelcontext(None).add_coord("group", range(5))
    centre = pm.Normal("centre", 0, 1)
    m = pm.Normal("m", centre, 1, dims="group")
    s = pm.HalfNormal("s", 1, dims="group")
    slope = pm.Normal("slope", 0, 1)
    place = pm.Data("place", GROUP)
    pm.Normal("y", m[place] + slope * X, s[place], observed=Y)


@case(
    lambda p: np.logaddexp(
        np.log(p["w"][0]) + stats.norm.logpdf(Y, p["mu"][0], 1),
        np.log(p["w"][1]) + stats.norm.logpdf(Y, p["mu"][1], 1),
    )
)
def mixture():
    w = pm.Dirichlet("w", np.ones(2))
    ordered = pm.distributions.transforms.ordered
    mu = pm.Normal("mu", [-1, 1], 1, transform=ordered)
    pm.NormalMixture("y", w, mu, 1, observed=Y)


CENSORED = np.clip(Y, -0.5, 0.7)


def _censored(p: Parameters) -> np.ndarray:
    law = stats.norm(p["mu"], p["sigma"])
    inside = np.where(CENSORED <= -0.5, law.logcdf(-0.5), law.logpdf(CENSORED))
    return np.where(CENSORED >= 0.7, law.logsf(0.7), inside)


@case(_censored)
def censored_normal():
    mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
    pm.Censored("y", pm.Normal.dist(mu, sigma), lower=-0.5, upper=0.7, observed=CENSORED)


@case(lambda p: stats.truncnorm.logpdf(Y, -3 - p["mu"], 3 - p["mu"], loc=p["mu"]))
def truncated_normal():
    mu = pm.Normal("mu", 0, 0.3)
    pm.Truncated("y", pm.Normal.dist(mu, 1), lower=-3, upper=3, observed=Y)


@case(
    lambda p: np.linspace(0, 3, N) * (-np.abs(Y - p["mu"] * X) / p["b"] - np.log(2 * p["b"])),
    weights=np.linspace(0, 3, N),
)
def custom_density():
    mu, b = pm.Normal("mu", 0, 1), pm.HalfNormal("b", 1)

    def logp(value, mu, b):
        return -pt.abs(value - mu) / b - pt.log(2 * b)

    pm.CustomDist("y", mu * X, b, logp=logp, observed=Y)


@case(
    lambda p: np.array([special.log_softmax(d @ p["b"])[k] for d, k in zip(DESIGN, KIND)]),  # noqa: B905
    interval=(-2.0, 0.0),
)
def multinomial_logistic():
    b = pm.Normal("b", 0, 1, shape=(3, 3))
    pm.Categorical("y", logit_p=DESIGN @ b, observed=KIND)


@case(
    lambda p: np.where(
        COUNTS == 0,
        np.log(1 - p["psi"] + p["psi"] * np.exp(-p["mu"])),
        np.log(p["psi"]) + stats.poisson.logpmf(COUNTS, p["mu"]),
    ),
    interval=(-2.0, 0.0),
)
def zero_inflated():
    psi, mu = pm.Beta("psi", 2, 2), pm.Gamma("mu", 2, 1)
    pm.ZeroInflatedPoisson("y", psi, mu, observed=COUNTS)


@case(
    lambda p: stats.multivariate_normal.logpdf(
        DESIGN - p["mu"] - np.outer(X, p["slope"]), np.zeros(3), p["L"] @ p["L"].T
    ),
    center=-3.0,
    interval=(-4.0, -2.0),
)
def multivariate_records():
    mu, slope = pm.Normal("mu", 0, 1, shape=3), pm.Normal("slope", 0, 1, shape=3)
    d = pm.HalfNormal("d", 1, shape=3)
    L = pm.Deterministic("L", pt.diag(0.5 + d) + np.tril(np.full((3, 3), 0.1), -1))
    pm.MvNormal("y", mu + X[:, None] * slope, chol=L, observed=DESIGN)


@case(lambda p: stats.norm.logpdf(Y, 0, np.exp(p["a"] + p["b"] * X)))
def potential_of_parameters_and_own_scales():
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
    pm.Potential("near", -((a - b) ** 2))
    pm.Normal("y", 0, pt.exp(a + b * X), observed=Y)


def parts(model: Any) -> Callable[[dict[str, np.ndarray]], tuple[float, float, Parameters]]:
    """log density, the prior's part of it, and the parameters, at a point."""
    named = [*model.free_RVs, *model.deterministics]
    values = [model.rvs_to_values[rv] for rv in model.free_RVs]
    prior = [*model.free_RVs, *model.potentials[:-1]]
    outputs = [model.logp(), model.logp(vars=prior), *model.replace_rvs_by_values(named)]
    run = pm.compile(values, outputs, mode=PLAIN, on_unused_input="ignore")

    def evaluate(point: dict[str, np.ndarray]) -> tuple[float, float, Parameters]:
        total, prior, *parameters = run(*(point[v.name] for v in values))
        shown = {rv.name: value for rv, value in zip(named, parameters, strict=True)}
        return float(total), float(prior), shown

    return evaluate


@pytest.mark.slow
@pytest.mark.parametrize("example", [pytest.param(c, id=c.name) for c in CASES])
def test_the_clipped_sum_is_the_one_by_hand(example: Case):
    model = example.build()
    before = {v.name for v in model.unobserved_RVs} | {v.name for v in model.data_vars}
    private = bdp.censor(model, **example.options)
    assert private.observed_RVs == []
    assert len(model.observed_RVs) >= 1
    assert {v.name for v in private.unobserved_RVs} | {v.name for v in private.data_vars} == before
    assert private.coords == model.coords
    assert [v.name for v in private.value_vars] == [
        model.rvs_to_values[rv].name for rv in model.free_RVs
    ]
    evaluate, random = parts(private), np.random.default_rng(3)
    start = model.initial_point()
    lower, upper = example.interval
    bound = 0
    for _ in range(100):
        point = {name: v + random.normal(size=v.shape) for name, v in start.items()}
        total, prior, parameters = evaluate(point)
        terms = np.clip(example.by_hand(parameters), lower, upper)
        # PyMC's log cdf of the normal is good to about 1e-9.
        assert total - prior == pytest.approx(terms.sum(), rel=1e-8, abs=1e-8)
        bound += np.count_nonzero((terms > lower) & (terms < upper))
    assert bound > 0


def test_there_are_more_than_ten_shapes():
    assert len(CASES) >= 10


@pytest.mark.slow
def test_impossible_records_cost_the_lower_end_and_no_one_else():
    """A record's own invalid parameter, a NaN or -inf is its own affair; a common one forbids."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        b = pm.Normal("b", 0, 1)
        pm.Normal("y", 0, a + pt.as_tensor(X) * 0 + np.arange(N), observed=Y)
        pm.Uniform("z", -1, b, observed=np.linspace(0, 1, N))
    evaluate = parts(bdp.censor(model, epsilon=2.0))

    def gain(a: float, b: float) -> float:
        total, prior, _ = evaluate({"a": np.array(a), "b": np.array(b)})
        return total - prior

    def by_hand(a: float, b: float) -> float:
        scale = a + np.arange(N)
        with np.errstate(invalid="ignore"):
            y = np.where(scale > 0, stats.norm.logpdf(Y, 0, np.abs(scale)), -np.inf)
            z = stats.uniform.logpdf(np.linspace(0, 1, N), -1, b + 1)
        return float(np.clip(y + z, -1, 1).sum())

    for a, b in [(0.5, 1.5), (-2.5, 1.5), (-2.5, 0.5), (-99.0, 0.2)]:
        assert gain(a, b) == pytest.approx(by_hand(a, b))
    assert gain(0.5, -1.5) == -math.inf  # lower > upper for every record


def test_a_censored_model_keeps_what_public_checks_forbid():
    with pm.Model() as model:
        sigma = pm.Normal("sigma", 0, 1)
        pm.Normal("y", 0, sigma, observed=Y)
    total, prior, _ = parts(bdp.censor(model, epsilon=2.0))({"sigma": np.array(-0.5)})
    assert math.isfinite(prior)
    assert total == -math.inf


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_exact_epsilon_on_all_neighbours_is_the_claim(neighbours: str, epsilon: float):
    """One parameter on a fine grid: the normalised censored posterior of 0/1 records.

    All data sets of 2 and 3 records and all their neighbours; the prior puts most of its mass
    near one end, so that the normalising constant moves as far as it can.
    """
    grid = np.linspace(-14, 14, 1401)
    log_prior = stats.norm.logpdf(grid, 9.0, 1.2)

    def law(data: tuple[int, ...]) -> np.ndarray:
        with pm.Model() as model:
            theta = pm.Normal("theta", 9.0, 1.2)
            pm.Bernoulli("y", logit_p=theta, observed=np.array(data))
        private = bdp.censor(model, epsilon=epsilon, neighbours=neighbours)
        theta = private["theta"]
        (potential,) = private.potentials
        points = pt.vector("points")
        import pytensor
        from pytensor.graph.replace import vectorize_graph

        run = pytensor.function([points], vectorize_graph(potential, {theta: points}), mode=PLAIN)
        log_density = run(grid) + log_prior
        return log_density - special.logsumexp(log_density)

    laws = {}
    for n in (2, 3):
        for ones in range(n + 1):
            laws[(n, ones)] = law((1,) * ones + (0,) * (n - ones))
    step = (1, 0) if neighbours == "add_remove" else (0, 1)
    worst = 0.0
    for (n, ones), (added, _) in product(laws, [step]):
        near = [(n + 1, ones), (n + 1, ones + 1)] if added else [(n, ones + 1)]
        for other in near:
            if other in laws:
                worst = max(worst, np.max(np.abs(laws[(n, ones)] - laws[other])))
    assert worst <= epsilon * (1 + 1e-12)
    assert worst >= 0.99 * epsilon


def test_intervals_are_never_wider_than_epsilon():
    from fractions import Fraction

    random = np.random.default_rng(1)
    for _ in range(500):
        epsilon, center = float(random.exponential(2)), float(random.normal() * 10)
        for relation, most in (("add_remove", epsilon), ("replace_one", epsilon / 2)):
            low, high = clipping_interval(epsilon, Neighbours(relation), center, False)
            width = Fraction(high) - Fraction(low)
            assert width <= Fraction(most)
            assert width > Fraction(most) * Fraction(999, 1000)
    assert clipping_interval(3.0, Neighbours.ADD_REMOVE, None, True) == (-3.0, 0.0)
    assert clipping_interval(3.0, Neighbours.REPLACE_ONE, None, False) == (-0.75, 0.75)
