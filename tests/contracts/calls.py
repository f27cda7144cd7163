"""A valid call of every public callable, for contracts that put something else for an argument.

A new callable adds its own; `test_numbers.py` says which are missing.
"""

import contextlib
import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import bayesdp as bdp
from bayesdp.mechanisms.registry import REGISTRY
from tests.contracts import analysis_calls as analysis
from tests.contracts.examples import EXAMPLES
from tests.contracts.given import (
    AXES,
    BOUNDS,
    COUNTED,
    GRAPH,
    LABEL_STEPS,
    LABELLED,
    ONES,
    SCHEMA,
    STEPS,
    TABLE,
    F,
    N,
    anew,
)
from tests.release.test_opendp import TABLE as OPENDP_TABLE


@dataclasses.dataclass(frozen=True)
class Call:
    """A function or class, by its public name, and all its arguments, the defaults included."""

    name: str
    function: Callable[..., Any]
    arguments: inspect.BoundArguments

    def __call__(self, **changed: Any) -> Any:
        """What it gives with some arguments changed; what is random is drawn from one seed."""
        given = self.arguments.arguments | changed
        bound = inspect.BoundArguments(self.arguments.signature, given)
        with quiet(), bdp.reproducible(1):
            return self.function(*bound.args, **bound.kwargs)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of chains that are too short, in a folder of its own."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def name_of(function: Any) -> str:
    """As users write it: a method after its class's name."""
    owner = getattr(function, "__self__", None)
    if owner is None:
        return str(function.__name__)
    return f"{(owner if isinstance(owner, type) else type(owner)).__name__}.{function.__name__}"


@functools.cache
def every() -> tuple[Call, ...]:
    """All of them."""
    found: list[Call] = []

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        found.append(Call(name_of(function), function, bound))
        return found[-1]()

    for part in (_mechanisms, _synthesizers, _graphs, *analysis.PARTS):
        with quiet():
            part(call)
    return tuple(found)


def _mechanisms(call: Any) -> None:
    seen = set()
    for example in EXAMPLES:
        made = example.mechanism
        if made.name in seen:
            continue
        seen.add(made.name)
        fields = [field for field in dataclasses.fields(made) if field.init]
        call(type(made), **{field.name: getattr(made, field.name) for field in fields})
        copies = 1 if made.name == "exact_statistic" else 3
        call(made.guarantee, copies=copies, delta=example.delta)
        if made.name != "exact_statistic":  # which has none of these
            call(made.rho)
            call(made.delta, 1.0)
            with contextlib.suppress(bdp.errors.InvalidInput):  # of what is too large to sum
                made.profile()
                call(made.profile)
            with contextlib.suppress(bdp.errors.InvalidInput):  # of what has none
                made.dp_event()
                call(made.dp_event, copies=3)
        statistic, _ = example.pairs[0]
        if statistic is not None:
            call(made.release, statistic, copies)
            call(made.check_statistic, statistic)
        call(made.check_output, example.outputs[0])
        call(made.encode, [example.outputs[0]])
        call(made.records, made.check_output(example.outputs[0]))
        if not example.intractable:
            call(made.logp, example.outputs[0], statistic)
    assert seen == set(REGISTRY)
    for made in {e.mechanism.name: e.mechanism for e in EXAMPLES if e.mechanism.n is None}.values():
        with contextlib.suppress(bdp.errors.InvalidInput):  # of a relation under which n is public
            made.removal_guarantee(copies=3)
            call(made.removal_guarantee, copies=3)
    shape: dict[str, Any] = {"n": 20, "size": 30, "epsilon": 2.0, "copies": 3}
    call(bdp.mechanisms.BetaBinomialMechanism.calibrate, **shape)
    call(bdp.mechanisms.BetaBinomialMechanism(9, 6, (0.5, 3.0)).epsilon, copies=3)
    call(bdp.mechanisms.CensoredBetaMechanism.calibrate, epsilon=2.0, copies=3, size=4)
    call(bdp.mechanisms.CensoredBetaMechanism((-2.0, 2.0), 3).epsilon, copies=3)
    few = shape | {"size": 12}
    call(bdp.mechanisms.DirichletMultinomialMechanism.calibrate, cells=3, delta=0.01, **few)
    call(
        bdp.mechanisms.PoissonGammaMechanism.calibrate,
        n=20,
        expected=(2.0, 3.0),
        total=9,
        epsilon=2.0,
        copies=3,
        delta=0.01,
    )
    call(
        bdp.mechanisms.ConjugateMechanism.calibrate,
        family="bernoulli",
        method="synthetic_one",
        n=20,
        size=5,
        epsilon=2.0,
        delta=0.01,
    )
    call(
        bdp.mechanisms.ConjugateMechanism.calibrate,
        family="categorical",
        method="synthetic_one",
        n=20,
        size=5,
        epsilon=2.0,
        categories=3,
    )
    call(
        bdp.mechanisms.ConjugateMechanism.calibrate,
        family="multivariate_gaussian",
        method="parameter_draw",
        n=20,
        epsilon=2.0,
        delta=0.01,
        copies=3,
        R=(3.0, 4.0),
        covariance=((1.0, 0.5), (0.5, 2.0)),
    )
    for kind in (bdp.mechanisms.LaplaceMechanism, bdp.mechanisms.DiscreteLaplaceMechanism):
        call(kind.calibrate, epsilon=2.0, sensitivity=1, copies=3, dimension=2)
    for kind in (bdp.mechanisms.GaussianMechanism, bdp.mechanisms.DiscreteGaussianMechanism):
        call(kind.calibrate, epsilon=2.0, delta=1e-4, sensitivity=1, copies=3)
    cells = [{"name": "y", "categories": ("a", "b")}]
    call(bdp.mechanisms.WeightedCountsMechanism, cells, 40.0, 2.0, n=9, steps=16)
    call(
        bdp.mechanisms.WeightedCountsMechanism.calibrate,
        epsilon=2.0, axes=cells, max_weight=40.0, most=3, copies=2,
    )  # fmt: skip
    call(
        bdp.mechanisms.ProposeTestReleaseMechanism,
        (0.0, 1.0, 3.0, 4.0),
        1,
        9,
        1.0,
        0.5,
        3,
        (0.25, 0.5),
    )
    call(bdp.mechanisms.TrimmedMeanMechanism, (0.0, 1.0, 2.0, 3.0), 1, 9, 1.0, 0.5, 3, 0.2)
    call(bdp.mechanisms.QuantileMechanism, 2.0, (0.0, 1.0, 3.0), (0.25, 0.5), "replace_one", 9)
    call(bdp.mechanisms.PerturbedHistogramMechanism.calibrate, epsilon=2.0, cells=3, copies=3)
    call(
        bdp.mechanisms.NoisyMarginalsMechanism.calibrate,
        epsilon=2.0,
        copies=3,
        marginals=[("a",)],
        axes=AXES,
    )
    call(
        bdp.mechanisms.NoisyTableMechanism.calibrate,
        epsilon=2.0,
        delta=1e-4,
        copies=3,
        marginals=[[("a",), ("b",)], [("a", "b")]],
        shares=(0.25, 0.75),
        schema=SCHEMA,
    )
    call(
        bdp.mechanisms.RandomizedResponseMechanism.calibrate,
        epsilon=2.0,
        categories=3,
        n=4,
        copies=3,
    )
    call(bdp.mechanisms.RandomizedResponseMechanism.binary, 2.0, 4)
    call(bdp.mechanisms.RandomizedResponseMechanism.kary, 2.0, 3, 4)
    call(bdp.mechanisms.RandomizedResponseMechanism.of, ((0.75, 0.25), (0.25, 0.75)), 4)
    call(
        bdp.mechanisms.ModipsSBSMechanism.calibrate,
        epsilon=2.0,
        copies=3,
        family=F.Bernoulli(),
        size=5,
        n=20,
        weights=(1.0,),
    )
    call(
        bdp.mechanisms.SequentialModipsMechanism.calibrate,
        epsilon=2.0,
        copies=3,
        steps=STEPS,
        size=5,
        n=20,
        weights=(0.5, 0.5),
    )
    call(
        bdp.mechanisms.SequentialDirichletMultinomialMechanism.calibrate,
        epsilon=2.0,
        copies=3,
        steps=LABEL_STEPS,
        size=5,
        n=20,
        weights=(0.5, 0.5),
    )
    call(bdp.mechanisms.NoisyMomentsMechanism.calibrate, epsilon=2.0, copies=3, bounds=BOUNDS, n=20)
    call(
        bdp.mechanisms.PerturbedCoefficientsMechanism.calibrate,
        epsilon=2.0,
        delta=1e-6,
        copies=3,
        n=90,
        bounds=BOUNDS,
        response="y",
        penalty=2.0,
    )
    made = call(
        bdp.mechanisms.ConjugateMechanism, "bernoulli", "synthetic_one", 20, (4.0, 4.0), size=10
    )
    call(made.epsilon, 0.01)
    call(bdp.mechanisms.average_case_delta, made, 1.0, theta=(0.2, 0.4))
    call(bdp.mechanisms.distributional_delta, made, 1.0, theta=(0.2, 0.4))
    call(
        bdp.mechanisms.noisy_mode,
        bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_map", 20, (4.0, 4.0)),
        epsilon=2.0,
        copies=3,
    )
    call(bdp.synthesizers.CategoricalColumns, {"sex": ("f", "m")}, prior=1.0)
    call(
        bdp.synthesizers.NumericColumns,
        {"dose": (0.0, 1.0)},
        by=["sex"],
        prior=(0.0, 0.1, 1.0, 0.1),
    )
    call(bdp.synthesizers.PublicWeights, 2.0, (0.5, 0.9), (1.0, 9.0))
    call(bdp.synthesizers.PublicRegressionWeights, 2.0, (0.5, 0.9), ((-1.0, 1.0),), (0.5, 2.0))
    call(bdp.Count, 3, 9)
    call(bdp.Count.of, [0, 1, 1])
    call(F.Bernoulli, (1.0, 1.0))
    call(F.Categorical, 3, (1.0, 2.0, 3.0))
    call(F.Gamma, (0.0, 4.0), 2.0, (1.0, 2.0))
    call(F.Gaussian, (-1.0, 1.0), 1.0, (0.0, 2.0))
    call(F.LinearRegression, BOUNDS, "y", (0.0, 0.1, 1.0, 0.1), (0.0, 0.1, 3.0, 0.1))
    call(F.Number, "n", 1.0, 0.0, 9.0)
    call(F.Sums, 4, (3,))
    call(F.check_family, {"kind": "bernoulli", "prior": (1.0, 1.0)})


def _synthesizers(call: Any) -> None:
    made = call(bdp.BetaBinomialSynthesizer, epsilon=2.0, copies=3, size=50)
    call(bdp.BetaBinomialSynthesizer, prior=(20.0, 30.0))
    call(bdp.synthesizers.DiscreteLaplaceSynthesizer, 2.0, 3)
    call(
        bdp.synthesizers.WeightedCountsSynthesizer, {"y": ["a", "b"]}, 40.0, 2.0, copies=3,
        unit={"person": "home", "most": 3},
    )  # fmt: skip
    call(
        bdp.synthesizers.ProposeTestReleaseSynthesizer, 9.0, (0, 9), 1, 3, (0.25, 0.5), 0.1, 0.6, 3
    )
    call(bdp.synthesizers.TrimmedMeanSynthesizer, 9.0, (0, 9), 1, 0.2, 3, 0.1, 0.6, 3)
    call(bdp.synthesizers.QuantileSynthesizer, 2.0, (0, 9), 3, (0.25, 0.5), 3)
    call(bdp.synthesizers.SubsampleAggregateSynthesizer, "mean", (0, 9), 2.0, 3, 5, (0.5,), 3)
    call(made.release, ONES)
    call(made.guarantee, 100)
    made = call(bdp.synthesizers.CensoredBetaSynthesizer, 2.0, copies=3, center=0.0, grid=(12, 12))
    call(made.release, TABLE["x"], size=5)
    call(made.pseudo_posterior, TABLE["x"])
    made = call(bdp.synthesizers.CensoredRegressionSynthesizer, 2.0, "normal", copies=3, center=0.1,
                prior_intercept=(0.0, 3.0), prior_slope=2.0, prior_sigma=1.5, size=5, engine="grid",
                grid_bounds={"intercept": (-1.0, 2.0), "sigma": (0.1, 2.0)},
                grid_size=9)  # fmt: skip
    call(made.release, TABLE["x"])
    made = call(
        bdp.synthesizers.ConjugateSynthesizer,
        "multivariate_gaussian",
        2.0,
        0.01,
        copies=3,
        size=20,
        R=(1.0, 2.0),
        covariance=((1.0, 0.5), (0.5, 2.0)),
        names=("x", "y"),
    )
    call(made.release, TABLE)
    call(made.guarantee, 90)
    call(bdp.synthesizers.ConjugateSynthesizer, "gaussian", 2.0, R=1.0, sigma=0.5, bounded=True)
    call(bdp.synthesizers.ConjugateSynthesizer, "gamma", 2.0, 0.01, R=1.0, shape=2.0)
    made = call(
        bdp.synthesizers.DirichletMultinomialSynthesizer,
        2.0,
        copies=3,
        size=15,
        delta=0.01,
        prior=4.0,
    )
    call(made.release, counts=[[3, 4], [5, 8]])
    call(made.guarantee, 20, cells=4)
    columns: Any = {"sex": ["f", "m"], "level": [1, 2]}
    made = bdp.synthesizers.DirichletMultinomialSynthesizer(2.0, categories=columns, size=50)
    call(made.records, made.release(counts=[3, 4, 5, 8]), seed=1)
    made = call(
        bdp.synthesizers.LogLinearSynthesizer,
        2.0,
        [("sex", "level")],
        categories=columns,
        copies=3,
        delta=0.0,
    )
    done = call(made.release, counts=[3, 4, 5, 8])
    call(made.records, done, 9, seed=1)
    call(made.fitted, done)
    family = F.Gaussian((-1.0, 2.0), sd=1.0)
    made = call(
        bdp.ModipsSynthesizer, family, epsilon=2.0, copies=3, size=20, weights=(1.0,), draws=2
    )
    call(made.release, TABLE["y"])
    call(made.guarantee, 90)
    call(
        bdp.ModipsSynthesizer,
        F.Bernoulli(),
        method="sdd",
        epsilon=9.0,
        copies=3,
        size=20,
        grid=(0.1, 0.9),
        bins=7,
        samples=50,
    )
    both = [F.Bernoulli(), F.Bernoulli((0.5, 6.0))]
    chosen = call(bdp.synthesizers.FamilySelection, 0.5)
    made = bdp.ModipsSynthesizer(both, epsilon=2.0, copies=3, size=20, selection=chosen)
    call(chosen.mechanism, bdp.mechanisms.ModipsSBSMechanism(both[0], 3, (1.5,), 4), both, 3)
    call(chosen.times, 3)
    call(bdp.synthesizers.select_family, both, [0, 1, 1], epsilon=2.0, copies=3)
    made = call(bdp.synthesizers.NoisyMomentsSynthesizer, dict(BOUNDS), epsilon=2.0, copies=3)
    call(made.release, TABLE)
    call(made.guarantee, 90)
    made = call(
        bdp.synthesizers.PerturbedCoefficientsSynthesizer,
        dict(BOUNDS),
        "y",
        2.0,
        epsilon=2.0,
        copies=3,
    )
    call(made.release, TABLE)
    call(made.guarantee, 90)
    made = call(
        bdp.synthesizers.PerturbedHistogramSynthesizer,
        2.0,
        copies=3,
        bounds=(0.0, 1.0),
        bins=4,
        n=90,
    )
    call(made.records, call(made.release, TABLE["x"]), 9, seed=1)
    made = call(
        bdp.synthesizers.PoissonGammaSynthesizer, 2.0, (20.0, 5.0), copies=3, total=40, delta=0.01
    )
    call(
        bdp.synthesizers.PoissonGammaSynthesizer,
        None,
        (20.0, 5.0),
        copies=3,
        total=40,
        prior=(9.0, 4.0),
    )
    call(made.release, [11, 4])
    call(made.guarantee, 15)
    made = call(
        bdp.synthesizers.SequentialModipsSynthesizer,
        STEPS,
        epsilon=2.0,
        copies=3,
        size=20,
        weights=(0.5, 0.5),
    )
    call(made.release, LABELLED)
    call(made.guarantee, 90)
    made = call(
        bdp.synthesizers.SequentialDirichletMultinomialSynthesizer,
        LABEL_STEPS,
        epsilon=2.0,
        copies=3,
        size=20,
        weights=(0.5, 0.5),
    )
    call(made.release, LABELLED)
    call(made.guarantee, 90)
    comparators = call(
        bdp.synthesizers.HuComparators, TABLE["x"].to_numpy(), count=20, scale=1.0, shift=0.0
    )
    fitted = call(comparators.weighted, 2.0, 0.5)
    call(comparators.weighted_e, 2.0, 0.5)
    call(comparators.censor_w, 2.0, 0.5)
    call(comparators.censor_uw, 2.0)
    call(comparators.truncated, fitted, 2.0)
    call(comparators.clipped, fitted, 2.0)
    call(comparators.perturbed_histogram, 2.0, 30, 5)

    def of_a_file() -> Any:
        TABLE.to_csv("table.csv")
        return bdp.scan

    call(anew(of_a_file), "table.csv", ["x", "y"], rows=40)
    call(bdp.publish, bdp.mechanisms.BetaBinomialMechanism(100, 9, (4.0, 4.0)), ONES, copies=3)
    _posteriors(call)
    _releases(call)
    _schemas(call)


def _schemas(call: Any) -> None:
    columns: Any = {
        "name": {"type": "category", "labels": ["f", "m"], "missing": True},
        "income": {"type": "real", "bounds": (0.0, 9.0), "bins": {"private": 3, "share": 0.1}},
        "code": {"type": "integer", "bounds": (0, 9), "bins": 3},
    }
    zeros = [{"name": "f", "code": "missing"}, {"name": "m", "income": (0.0, 9.0)}]
    columns["code"]["missing"] = True
    made = call(bdp.Schema, columns, zeros, {"person": "id", "most": 2})
    call(made.save, "survey.toml", force=False)

    def of_a_file() -> Any:
        made.save("survey.toml", force=True)
        return bdp.Schema.load

    call(anew(of_a_file), "survey.toml")
    call(bdp.Schema.template, ["name", "income"])
    cut = call(made.with_cuts, {"income": [1.0, 2.0]})
    frame = pd.DataFrame({"name": ["f", None], "income": [0.5, 9.0], "code": [3, 9], "id": [1, 1]})
    codes = call(cut.coded, frame)
    call(cut.decoded, codes, np.random.default_rng(1))
    call(cut.impossible, codes)
    call(cut.limited, frame)


def _posteriors(call: Any) -> None:
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10)
        pm.Normal("income", mu, 1.0, observed=np.array([2.9, 3.4, 2.2]))
    made = call(bdp.PosteriorSynthesizer, model, 4.0, center=-1.5, size=3, copies=3, engine="grid",
                grid_bounds={"mu": (0.0, 6.0)}, grid_size=50)  # fmt: skip
    call(made.release)
    call(bdp.censor, model, epsilon=4.0, center=-1.5)
    law = bdp.synthesizers.CensoredBetaSynthesizer(2.0, grid=(12, 12)).pseudo_posterior(TABLE["x"])
    call(law.sample, 4, 1)
    call(law.summary, (0.25, 0.5))
    call(law.to_inference_data, 4, 1)
    call(bdp.synthesizers.PseudoPosterior, law.law)


def _releases(call: Any) -> None:
    import pymc as pm

    mechanism = COUNTED.mechanism
    made = call(bdp.Release.of, mechanism, [38, 41], delta=0.0)
    call(bdp.Release, made.parts)
    call(bdp.Release.of_groups, {"a": (mechanism, [38]), "b": (mechanism, [41])})
    call(made.save, "folder")
    noisy = pd.DataFrame({"sex": ["f", "m"], "count": [7, -2]})
    call(bdp.Release.from_noisy_tables, [noisy], noise="laplace", scale=2.0)
    call(bdp.Release.from_opendp, OPENDP_TABLE, noise="gaussian", algorithm="fixed")

    def of_a_folder() -> Any:
        made.save(Path("saved"))
        return bdp.Release.load

    @functools.wraps(bdp.observe)
    def observe(*args: Any, **kwargs: Any) -> Any:
        with pm.Model():
            return bdp.observe(*args, **kwargs)

    call(anew(of_a_folder), "saved")
    call(observe, made, pm.Binomial.dist(n=100, p=0.4), n=100)
    call(bdp.stan.data, made, n=100)
    call(bdp.stan.include_path)
    call(bdp.stan.with_includes, "functions {\n  #include bayesdp.stanfunctions\n}")


def _graphs(call: Any) -> None:
    call(N.Network, 6, [(0, 1), (1, 2)], attributes={"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    call(GRAPH.with_edges, [(0, 1)])
    call(GRAPH.in_order, [5, 4, 3, 2, 1, 0])
    call(N.Network.from_edges, [("a", "b")], nodes=["a", "b", "c"])
    call(N.Network.from_networkx, GRAPH.to_networkx())
    call(N.Network.from_adjacency, [[0, 1], [1, 0]])
    call(N.Network.from_pandas, pd.DataFrame({"source": ["a"], "target": ["b"]}))
    call(N.degrees, GRAPH)
    call(N.is_graphical, [2, 2, 2])
    call(N.project_to_graphical, [2, 5, 2])
    call(N.network_with_degrees, [2, 2, 2], nodes=3)
    fit = call(N.fit_beta_model, [2, 2, 2, 1, 2, 1], nodes=6, prior=bdp.networks.NormalPrior(0, 2))
    call(fit.simulate, 3, seed=1)
    call(bdp.networks.NormalPrior, 0.0, 2.0)
    call(bdp.networks.NormalPrior(0.0, 2.0).of, 3)
    call(N.statistics, GRAPH, "edges + gwesp(0.5)")
    call(N.fit_mple, GRAPH, "edges")
    short: dict[str, Any] = {"burn_in": 100, "interval": 20, "seed": 1}
    call(N.fit_mle, GRAPH, "edges + gwesp(0.5)", draws=200, iterations=3, **short)
    call(N.goodness_of_fit, GRAPH, "edges", [-0.5], draws=9, **short)
    call(N.simulate, GRAPH, "edges", [-0.5], draws=9, chains=2, **short)
    call(N.simulate, 6, "edges", [-0.5], draws=9, seed=1)
    bayesian = call(N.BayesianERGM, "edges", bdp.networks.NormalPrior(0.0, 2.0))
    call(bayesian.fit, GRAPH, draws=20, tune=20, chains=2, auxiliary=60, seed=1)
    call(bayesian.compare_auxiliary, GRAPH, auxiliary=60, seed=1, draws=20, tune=20, chains=2)
    call(
        bdp.synthesizers.DPERGMSynthesizer,
        "edges",
        4.0,
        "sphc",
        prior=bdp.networks.NormalPrior(0.0, 2.0),
        draws=20,
        correlation=0.5,
        burn_in=50,
    )
    made = call(
        bdp.synthesizers.DPERGMSynthesizer,
        "edges",
        4.0,
        centre=(-1.0,),
        scale=(0.5,),
        bins=9,
        reach=2.0,
    )
    call(made.release, GRAPH, 3)
    call(made.mechanism_like, GRAPH)
    made = call(bdp.synthesizers.EdgeFlipSynthesizer, 2.0)
    call(bdp.synthesizers.EdgeFlipSynthesizer, tie=0.8, gap=0.1)
    call(made.release, GRAPH, copies=3)
    call(made.mechanism_like, GRAPH)
    made = call(bdp.synthesizers.NoisyDegreesSynthesizer, 2.0)
    call(made.mechanism_like, GRAPH)
    call(
        made.networks, call(made.release, GRAPH, 3), 2, prior=bdp.networks.NormalPrior(0, 2), seed=1
    )
    made = call(
        bdp.synthesizers.NoisyStatisticsSynthesizer,
        "edges + kstar(2)",
        2.0,
        weights=(1.0, 2.0),
        max_degree=4,
    )
    call(made.release, GRAPH, copies=3)
    call(made.mechanism_like, GRAPH)
    call(bdp.synthesizers.NoisyStatisticsSynthesizer, "edges", 2.0, 1e-4, noise="gaussian")
    made = call(bdp.synthesizers.NoisyTrianglesSynthesizer, 2.0, 0.3)
    call(made.release, GRAPH, 3)
    call(made.mechanism_like, GRAPH)
    made = call(bdp.synthesizers.TruncatedStatisticsSynthesizer, "edges", 2.0, 3, (1.0,))
    call(made.release, GRAPH, 3)
    call(made.mechanism_like, GRAPH)
