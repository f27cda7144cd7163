"""Likelihoods of many kinds: where no clip binds, the censored density is the model's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pytensor.compile.mode import Mode

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import import_pymc, without_notices

pm = import_pymc()

N = 12
RANDOM = np.random.default_rng(31)
X = RANDOM.normal(size=N)
DESIGN = RANDOM.normal(size=(N, 3))
Y = RANDOM.normal(size=N)
COUNTS = RANDOM.poisson(2.0, N)
GROUP = RANDOM.integers(0, 4, N)
TIMES = RANDOM.uniform(0.2, 2, N)


def normal(name: str, **options: Any) -> Any:
    return pm.Normal(name, 0, 1, **options)


def hurdle() -> None:
    pm.HurdlePoisson("y", 0.3, pm.math.exp(normal("a") + normal("b") * X), observed=COUNTS)


def negative_binomial_by_matrix() -> None:
    mu = pm.math.exp(pm.math.dot(pm.Data("design", DESIGN), normal("b", shape=3)))
    pm.NegativeBinomial("y", mu=mu, alpha=2, observed=COUNTS)


def survival() -> None:
    law = pm.Weibull.dist(2, pm.math.exp(normal("a") * X))
    seen = np.minimum(TIMES, 1.0 + GROUP)
    pm.Censored("y", law, lower=None, upper=1.0 + GROUP, observed=seen)


def mixture_of_regressions() -> None:
    parts = [pm.Normal.dist(normal("a") * X, 1), pm.StudentT.dist(nu=3, mu=normal("b"), sigma=2)]
    pm.Mixture("y", w=pm.Dirichlet("w", np.ones(2)), comp_dists=parts, observed=Y)


def ordered() -> None:
    rising = pm.distributions.transforms.ordered
    cut = pm.Normal("cut", [-1, 1], 1, transform=rising)
    pm.OrderedLogistic("y", eta=normal("b") * X, cutpoints=cut, observed=GROUP.clip(0, 2))


def varying_slopes() -> None:
    slopes = normal("slopes", shape=(4, 3)) * pm.HalfNormal("scale", 1)
    level = pm.ZeroSumNormal("level", shape=4)
    pm.Normal("y", level[GROUP] + (slopes[GROUP] * DESIGN).sum(-1), 1, observed=Y)


def correlated_columns() -> None:
    chol, _, _ = pm.LKJCholeskyCov("c", n=3, eta=2, sd_dist=pm.HalfNormal.dist(1))
    pm.MvNormal("y", normal("m", shape=3), chol=chol, observed=DESIGN)


def series_of_each_record() -> None:
    start = pm.Normal.dist(0, 1)
    pm.AR("y", [normal("r")], 1.0, init_dist=start, observed=RANDOM.normal(size=(N, 6)))


def counts_by_category() -> None:
    a = pm.Gamma("a", 2, 1, shape=3)
    seen = RANDOM.multinomial(10, [0.2, 0.3, 0.5], N)
    pm.DirichletMultinomial("y", n=10, a=a, observed=seen)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "build",
    [
        hurdle,
        negative_binomial_by_matrix,
        survival,
        mixture_of_regressions,
        ordered,
        varying_slopes,
        correlated_columns,
        series_of_each_record,
        counts_by_category,
    ],
)
def test_without_binding_clips_the_density_is_the_models_own(
    build: Callable[[], None], neighbours: str
):
    with without_notices(), pm.Model() as model:
        build()
    private = bdp.censor(model, epsilon=1e8, center=0.0, neighbours=neighbours)
    plain = Mode(linker="py", optimizer="fast_compile")
    with without_notices():
        densities = [
            pm.compile(each.value_vars[: len(each.free_RVs)], each.logp(), mode=plain)
            for each in (model, private)
        ]
    names = [value.name for value in private.value_vars]
    assert names == [value.name for value in model.value_vars[: len(names)]]
    random = np.random.default_rng(1)
    with without_notices():
        start = model.initial_point()
    for _ in range(5):
        point = [start[name] + random.normal(scale=0.3, size=start[name].shape) for name in names]
        own, censored = (float(density(*point)) for density in densities)
        assert np.isfinite(own)
        assert censored == pytest.approx(own, rel=1e-10)
