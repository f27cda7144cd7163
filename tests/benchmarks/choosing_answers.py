"""Questions of the page "Which mechanism, which model?", and answers to them, as intervals.

All epsilons are under replace-one, with n public; of networks they are about one tie.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis
from tests.benchmarks.regression import LABELS, LOGIT, survey

DELTA = 1e-6
N = 1000
PUBLIC: dict[str, Any] = {"neighbours": "replace_one", "n": N}
SHORT: dict[str, Any] = {"draws": 500, "chains": 2, "warmup": 300, "seed": 1}
FLAT = (1.0, 1.0)

M, S = bdp.mechanisms, bdp.synthesizers
Ends = tuple[Any, Any]
"""Lower and upper ends of the intervals for a question's numbers."""


@dataclass(frozen=True)
class Question:
    """What is asked, of which data."""

    data: Callable[[np.random.Generator], Any]
    truth: Any
    bare: Callable[[Any], Ends] | None
    """Interval from the confidential data."""


def _middle(idata: Any, variable: str, pick: Any = ...) -> Ends:
    low, high = np.quantile(idata.posterior[variable].to_numpy(), [0.025, 0.975], axis=(0, 1))
    return low[pick], high[pick]


def _laplace(sensitivity: float, epsilon: float, dimension: int | None = None) -> Any:
    return M.DiscreteLaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=sensitivity, dimension=dimension, **PUBLIC
    )


def gaussian(sensitivity: float, epsilon: float, dimension: int | None = None) -> Any:
    return M.DiscreteGaussianMechanism.calibrate(
        epsilon=epsilon, delta=DELTA, sensitivity=sensitivity, dimension=dimension, **PUBLIC
    )


# A proportion: 1,000 records, 30% ones, prior Beta(1, 1).


def proportion(release: bdp.Release) -> Ends:
    return bdp.BinomialModel(prior=FLAT).posterior(release).interval(0.95)


def noisy_count(copies: int) -> Callable[[Any, float], Ends]:
    return lambda x, epsilon: proportion(
        bdp.publish(_laplace(1, epsilon / copies), int(x.sum()), copies=copies)
    )


def beta_binomial(copies: int) -> Callable[[Any, float], Ends]:
    return lambda x, epsilon: proportion(
        bdp.BetaBinomialSynthesizer(epsilon=epsilon, copies=copies).release(x)
    )


def bernoulli_modips(copies: int) -> Callable[[Any, float], Ends]:
    family = bdp.families.Bernoulli()
    return lambda x, epsilon: proportion(
        bdp.ModipsSynthesizer(family, epsilon=epsilon, copies=copies).release(x)
    )


def combined_proportion(x: Any, epsilon: float) -> Ends:
    made = bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=epsilon, copies=5)
    means = [frame["value"].mean() for frame in made.release(x).to_frames()]
    return bdp.combine(means, [p * (1 - p) / N for p in means]).interval()


def answers(x: Any, epsilon: float) -> Ends:
    release = bdp.publish(M.RandomizedResponseMechanism.binary(epsilon, N), x)
    fit = bdp.MultinomialModel(prior=FLAT).fit(release, engine="marginal", **SHORT)
    return _middle(fit, "theta", 1)


@functools.cache
def _smallest_prior(epsilon: float) -> Any:
    """The smallest symmetric prior that keeps the promise, by bisection."""

    def made(a: float) -> Any:
        return M.ConjugateMechanism("bernoulli", "synthetic_one", n=N, prior=(a, a), size=N)

    low, high = 0.01, 1e5
    while high - low > 0.001 * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if made(middle).epsilon(DELTA) > epsilon else (low, middle)
    return made(high)


def conjugate(x: Any, epsilon: float) -> Ends:
    mechanism = _smallest_prior(epsilon)
    return proportion(bdp.publish(mechanism, mechanism.statistic(x), delta=DELTA))


# Counts of events in each of 10 areas, about 50 in each; the rates are asked.

AREAS = {f"area {k}": 50.0 for k in range(10)}


def _rates(release: bdp.Release, **known: Any) -> Ends:
    model = bdp.models.PoissonModel(prior=(2.0, 2.0), **known)
    return _middle(model.fit(release, **SHORT), "rate")


def area_copies(copies: int) -> Callable[[Any, float], Ends]:
    return lambda x, epsilon: _rates(
        S.PoissonGammaSynthesizer(epsilon=epsilon, expected=AREAS, copies=copies).release(
            dict(zip(AREAS, map(int, x), strict=True))
        )
    )


def area_noise(kind: str) -> Callable[[Any, float], Ends]:
    def answer(x: Any, epsilon: float) -> Ends:
        known = {"neighbours": "replace_one", "n": int(x.sum()), "dimension": len(AREAS)}
        mechanism: Any
        if kind == "laplace":
            mechanism = M.DiscreteLaplaceMechanism.calibrate(
                epsilon=epsilon, sensitivity=2, **known
            )
        else:
            mechanism = M.DiscreteGaussianMechanism.calibrate(
                epsilon=epsilon, delta=DELTA, sensitivity=math.sqrt(2), **known
            )
        release = bdp.publish(mechanism, x, delta=_delta_of(kind))
        return _rates(release, expected=[*AREAS.values()])

    return answer


def _delta_of(kind: str) -> float:
    """The delta at which a kind of noise promises."""
    return DELTA if kind == "gaussian" else 0.0


# A table of four categories.

SHARES = np.array([0.5, 0.3, 0.15, 0.05])


def _shares(release: bdp.Release, **options: Any) -> Ends:
    model = bdp.MultinomialModel(prior=(1.0,) * SHARES.size)
    return _middle(model.fit(release, **options, **SHORT), "theta")


def cells(x: Any, epsilon: float) -> Ends:
    made = M.PerturbedHistogramMechanism.calibrate(epsilon=epsilon, cells=SHARES.size, **PUBLIC)
    return _shares(bdp.publish(made, x))


def table_copies(copies: int) -> Callable[[Any, float], Ends]:
    def answer(x: Any, epsilon: float) -> Ends:
        made = M.DirichletMultinomialMechanism.calibrate(
            n=N, size=N, cells=SHARES.size, epsilon=epsilon, copies=copies
        )
        return _shares(bdp.publish(made, x, copies=copies))

    return answer


def table_noise(kind: str) -> Callable[[Any, float], Ends]:
    def answer(x: Any, epsilon: float) -> Ends:
        norm = {"laplace": 2.0, "gaussian": math.sqrt(2)}[kind]
        made = {"laplace": _laplace, "gaussian": gaussian}[kind](norm, epsilon, SHARES.size)
        return _shares(bdp.publish(made, x, delta=_delta_of(kind)))

    return answer


def table_answers(x: Any, epsilon: float) -> Ends:
    made = M.RandomizedResponseMechanism.kary(epsilon, SHARES.size, N)
    release = bdp.publish(made, np.repeat(np.arange(SHARES.size), x))
    return _shares(release, engine="marginal")


# A mean: normal records around 40, sd 10 and known, within the public bounds 0 and 100.

SD = 10.0
NORMAL = bdp.GaussianModel(prior=(50.0, 50.0), sd=SD)


def _noisy(kind: str, number: float, sensitivity: float, epsilon: float) -> bdp.Release:
    given: dict[str, Any] = {"epsilon": epsilon, "sensitivity": sensitivity, **PUBLIC}
    made: Any = (
        M.LaplaceMechanism.calibrate(**given)
        if kind == "laplace"
        else M.GaussianMechanism.calibrate(delta=DELTA, **given)
    )
    return bdp.publish(made, number, delta=_delta_of(kind))


def mean_noise(kind: str) -> Callable[[Any, float], Ends]:
    return lambda y, epsilon: NORMAL.posterior(
        _noisy(kind, float(y.mean()), 100 / N, epsilon)
    ).interval(0.95)


def normal_modips(copies: int) -> Callable[[Any, float], Ends]:
    family = bdp.families.Gaussian(bounds=(0.0, 100.0), sd=SD)
    return lambda y, epsilon: NORMAL.posterior(
        bdp.ModipsSynthesizer(family=family, epsilon=epsilon, copies=copies).release(y)
    ).interval(0.95)


def combined(frames: Any) -> Ends:
    columns = [frame["value"].to_numpy() for frame in frames]
    return bdp.combine(
        [c.mean() for c in columns], [c.var(ddof=1) / c.size for c in columns]
    ).interval()


def combined_mean(y: Any, epsilon: float) -> Ends:
    family = bdp.families.Gaussian(bounds=(0.0, 100.0), sd=SD)
    made = bdp.ModipsSynthesizer(family=family, epsilon=epsilon, copies=5)
    return combined(made.release(y).to_frames())


def censored_mean(y: Any, epsilon: float) -> Ends:
    """An epsilon of half under add/remove-one."""
    made = S.CensoredBetaSynthesizer(epsilon=epsilon / 2, copies=5, bounds=(0.0, 100.0))
    return combined(made.release(np.clip(y, 0.01, 99.99), size=N).to_frames())


# A mean duration: exponential records of mean 20, those above 60 or 200 moved there.

TIGHT, WIDE = 60.0, 200.0


def duration(release: bdp.Release, bounds: tuple[float, float] | None = None) -> Ends:
    model = bdp.models.GammaModel(prior=(1.0, 20.0), bounds=bounds)
    low, high = model.posterior(release).interval(0.95)
    return 1 / high, 1 / low


def duration_noise(kind: str, most: float) -> Callable[[Any, float], Ends]:
    return lambda x, epsilon: duration(
        _noisy(kind, float(np.minimum(x, most).sum()), most, epsilon), (0.0, most)
    )


def duration_copies(x: Any, epsilon: float, copies: int) -> bdp.Release:
    family = bdp.families.Gamma(bounds=(0.0, TIGHT))
    made = bdp.ModipsSynthesizer(family, epsilon=epsilon, copies=copies, clip=True)
    return made.release(x)


# A median: gamma records in 20 public bins from 0 to 100.

EDGES = np.linspace(0, 100, 21)
SKEWED = stats.gamma(3, scale=10)


def _median(release: bdp.Release) -> Ends:
    fit = bdp.MultinomialModel(prior=(0.5,) * 20).fit(release, **SHORT)
    theta = fit.posterior["theta"].to_numpy().reshape(-1, 20)
    below = np.concatenate([np.zeros((len(theta), 1)), theta.cumsum(axis=1)], axis=1)
    low, high = np.quantile([np.interp(0.5, row, EDGES) for row in below], [0.025, 0.975])
    return low, high


def _binned(y: Any) -> Any:
    return np.histogram(y, EDGES)[0]


def median_cells(y: Any, epsilon: float) -> Ends:
    made = M.PerturbedHistogramMechanism.calibrate(epsilon=epsilon, cells=20, **PUBLIC)
    return _median(bdp.publish(made, _binned(y)))


def median_gaussian(y: Any, epsilon: float) -> Ends:
    return _median(bdp.publish(gaussian(math.sqrt(2), epsilon, 20), _binned(y), delta=DELTA))


def median_table(y: Any, epsilon: float) -> Ends:
    schema = bdp.Schema({"y": {"type": "real", "bounds": (0, 100), "bins": 20}})
    frame = pd.DataFrame({"y": y})
    made = bdp.TableSynthesizer(schema, epsilon=epsilon, marginals=[["y"]], **_TABLE)
    posterior = bdp.TableModel().fit(made.release(frame), **_FIT)
    found = posterior.estimate(lambda table: table["y"].median(), draws=100, seed=1).interval(0.95)
    return found["lower"].to_numpy()[0], found["upper"].to_numpy()[0]


_TABLE: dict[str, Any] = {"noise": "laplace", "neighbours": "replace_one"}
_FIT: dict[str, Any] = {"draws": 200, "warmup": 200, "thin": 1, "seed": 1, "chains": 2}


def _middle_one(release: bdp.Release) -> Ends:
    """The median of records, or of estimates on blocks, taken for normal ones."""
    options = {"draws": 300, "chains": 2, "warmup": 150, "seed": 1}
    fit = bdp.models.QuantileModel(quantiles=(0.5,)).fit(release, **options)
    return _middle(fit, "quantile", 0)


def median_quantiles(*probabilities: float) -> Callable[[Any, float], Ends]:
    """Records in 100 cells; so for propose-test-release."""
    return lambda y, epsilon: _middle_one(
        S.QuantileSynthesizer(
            epsilon=epsilon,
            bounds=(0, 100),
            probabilities=probabilities,
            neighbours="replace_one",
        ).release(y)
    )


def median_tested(y: Any, epsilon: float) -> Ends:
    made = S.ProposeTestReleaseSynthesizer(epsilon, bounds=(0, 100), proposal=1, delta=DELTA)
    return _middle_one(made.release(y))


def median_blocks(y: Any, epsilon: float) -> Ends:
    made = S.SubsampleAggregateSynthesizer("median", (0, 100), epsilon, blocks=100)
    return _middle_one(made.release(y))


def _median_bare(y: Any) -> Ends:
    ranks = stats.binom.ppf([0.025, 0.975], N, 0.5).astype(int)
    ordered = np.sort(y)
    return ordered[ranks[0]], ordered[ranks[1]]


# A linear regression: two predictors in (-1, 1), the response's sd 0.2; the slopes are asked.

SLOPES = np.array([0.3, 0.2])
BOX = dict.fromkeys(("a", "b", "y"), (-1.0, 1.0))


def _regression_data(rng: np.random.Generator) -> pd.DataFrame:
    x = rng.uniform(-1, 1, (N, 2))
    y = np.clip(x @ SLOPES + rng.normal(0, 0.2, N), -1, 1)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})


def _ols(frame: pd.DataFrame) -> tuple[Any, Any]:
    x = np.column_stack([np.ones(len(frame)), frame[["a", "b"]]])
    inverse = np.linalg.inv(x.T @ x)
    coefficients = inverse @ x.T @ frame["y"].to_numpy()
    left = frame["y"].to_numpy() - x @ coefficients
    return coefficients[1:], np.diag(inverse)[1:] * (left @ left) / (len(frame) - 3)


def _regression_bare(frame: pd.DataFrame) -> Ends:
    slopes, variances = _ols(frame)
    return slopes - 1.962 * np.sqrt(variances), slopes + 1.962 * np.sqrt(variances)


def _slopes(release: bdp.Release) -> Ends:
    return _middle(bdp.LinearRegressionModel("y").fit(release, **SHORT), "beta", slice(1, None))


def moments(kind: str) -> Callable[[Any, float], Ends]:
    return lambda frame, epsilon: _slopes(
        S.NoisyMomentsSynthesizer(BOX, epsilon=epsilon, noise=kind, delta=_delta_of(kind)).release(
            frame
        )
    )


def coefficients(frame: pd.DataFrame, epsilon: float) -> Ends:
    made = S.PerturbedCoefficientsSynthesizer(BOX, "y", penalty=200, epsilon=epsilon, delta=DELTA)
    return _slopes(made.release(frame))


def combined_slopes(frame: pd.DataFrame, epsilon: float) -> Ends:
    """Sequential modips: an epsilon of half under add/remove-one."""
    step = S.NumericColumns(BOX)
    made = S.SequentialModipsSynthesizer([step], epsilon=epsilon / 2, copies=5)
    fits = [_ols(copy) for copy in made.release(frame).to_frames()]
    ends = [
        bdp.combine([fit[0][j] for fit in fits], [fit[1][j] for fit in fits]).interval()
        for j in range(2)
    ]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def whole(frame: pd.DataFrame, epsilon: float) -> Ends:
    schema = bdp.Schema({c: {"type": "real", "bounds": (-1, 1), "bins": 5} for c in BOX})
    made = bdp.TableSynthesizer(schema, epsilon=epsilon, **_TABLE)
    posterior = bdp.TableModel().fit(made.release(frame), **_FIT)
    found = posterior.regression("y ~ a + b", seed=1).interval(0.95).loc[["a", "b"]]
    return found["lower"].to_numpy(), found["upper"].to_numpy()


# A logistic regression on a table of 20 cells, 2,000 records: a binary predictor's coefficient.

CELLS = 2000


def _log_odds(release: bdp.Release, **known: Any) -> Ends:
    model = bdp.LogisticRegressionModel("y ~ age + sex", **known)
    options = {"draws": 250, "chains": 2, "warmup": 150, "seed": 1}
    return _middle(model.fit(release, **options), "beta", 2)


_AXES = tuple(Axis(name, categories=tuple(labels)) for name, labels in LABELS.items())


def logistic_cells(data: Any, epsilon: float) -> Ends:
    made = M.PerturbedHistogramMechanism.calibrate(
        epsilon=epsilon, cells=20, axes=_AXES, neighbours="replace_one", n=CELLS
    )
    return _log_odds(bdp.publish(made, data[1]))


def logistic_copies(data: Any, epsilon: float) -> Ends:
    made = M.DirichletMultinomialMechanism.calibrate(
        n=CELLS, size=CELLS, cells=20, epsilon=epsilon, axes=_AXES
    )
    return _log_odds(bdp.publish(made, data[1]))


def logistic_marginals(data: Any, epsilon: float) -> Ends:
    made = S.LogLinearSynthesizer(
        epsilon,
        marginals=[("age", "y"), ("sex", "y"), ("age", "sex")],
        categories=LABELS,
        neighbours="replace_one",
    )
    return _log_odds(made.release(counts=data[1]))


def logistic_whole(data: Any, epsilon: float) -> Ends:
    age, sex, y = np.unravel_index(data[0], (5, 2, 2))
    columns = {"age": {"type": "integer", "bounds": (0, 4)}}
    schema = bdp.Schema({**columns, "sex": {"type": "boolean"}, "y": {"type": "boolean"}})
    frame = pd.DataFrame({"age": age, "sex": sex == 1, "y": y == 1})
    made = bdp.TableSynthesizer(schema, epsilon=epsilon, **_TABLE)
    posterior = bdp.TableModel().fit(made.release(frame), **_FIT)
    found = posterior.regression("y ~ age + sex", family="logit", draws=500, seed=1)
    return tuple(found.interval(0.95).loc["sex", ["lower", "upper"]])


def logistic_answers(data: Any, epsilon: float) -> Ends:
    made = M.RandomizedResponseMechanism.kary(epsilon, 20, CELLS)
    return _log_odds(bdp.publish(made, data[0]), categories=LABELS)


# A network of 34 nodes: log odds of a tie.

NODES, DENSITY = 34, 0.14
PRIOR = bdp.networks.NormalPrior(0, 2)


def _ties(graph: nx.Graph) -> Ends:
    ties, pairs = graph.number_of_edges(), NODES * (NODES - 1) // 2
    low, high = special.logit(stats.beta.ppf([0.025, 0.975], ties + 0.5, pairs - ties + 0.5))
    return low, high


def graph(kind: str) -> Callable[[Any, float], Ends]:
    def answer(graph: Any, epsilon: float) -> Ends:
        made = {
            "edge_flip": lambda: S.EdgeFlipSynthesizer(epsilon=epsilon),
            "noisy_degrees": lambda: S.NoisyDegreesSynthesizer(epsilon=epsilon),
            "noisy_statistics": lambda: S.NoisyStatisticsSynthesizer("edges", epsilon=epsilon),
        }[kind]()
        engine, draws = ("exchange", 300) if kind == "edge_flip" else ("auto", 1500)
        fit = bdp.models.ERGMModel("edges", prior=PRIOR).fit(
            made.release(graph), draws=draws, warmup=300, chains=2, seed=1, engine=engine
        )
        return _middle(fit, "theta", 0)

    return answer


QUESTIONS = {
    "proportion": Question(
        lambda rng: rng.binomial(1, 0.3, N),
        0.3,
        lambda x: tuple(stats.beta.ppf([0.025, 0.975], 1 + x.sum(), 1 + N - x.sum())),
    ),
    "areas": Question(
        lambda rng: rng.poisson(50, len(AREAS)),
        1.0,
        lambda x: (
            stats.gamma.ppf(0.025, 2 + x, scale=1 / 52),
            stats.gamma.ppf(0.975, 2 + x, scale=1 / 52),
        ),
    ),
    "categories": Question(
        lambda rng: rng.multinomial(N, SHARES),
        SHARES,
        lambda x: (
            stats.beta.ppf(0.025, 1 + x, 3 + N - x),
            stats.beta.ppf(0.975, 1 + x, 3 + N - x),
        ),
    ),
    "mean": Question(
        lambda rng: np.clip(rng.normal(40, SD, N), 0, 100),
        40.0,
        lambda y: (y.mean() - 1.96 * SD / math.sqrt(N), y.mean() + 1.96 * SD / math.sqrt(N)),
    ),
    "duration": Question(
        lambda rng: rng.exponential(20, N),
        20.0,
        lambda x: tuple((20 + x.sum()) / stats.gamma.ppf([0.975, 0.025], 1 + N)),
    ),
    "median": Question(
        lambda rng: np.minimum(SKEWED.rvs(N, random_state=rng), 100),
        float(SKEWED.median()),
        _median_bare,
    ),
    "regression": Question(_regression_data, SLOPES, _regression_bare),
    "logistic": Question(lambda rng: survey(rng, CELLS), LOGIT[2], None),
    "density": Question(
        lambda rng: nx.gnp_random_graph(NODES, DENSITY, seed=int(rng.integers(2**31))),
        float(special.logit(DENSITY)),
        _ties,
    ),
}
