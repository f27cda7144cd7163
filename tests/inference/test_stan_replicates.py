"""New outputs that Stan programs draw, against posterior_predictive given the same parameters."""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.engines.stan import sampling
from bayesdp.errors import EngineFailed
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.resources import shipped
from tests.conftest import require_pystan
from tests.inference.test_programs import counts_of_groups, events_by_area

M = bdp.mechanisms
REPLACE = "replace_one"
CHAINS, DRAWS = 4, 300
D = bdp.distributional
PROMISE = D.DistributionalGuarantee(0.5, 1e-6, "any records", D.LawClass.of("any"))
EXACT = D.ExactStatisticMechanism(PROMISE, 12, whole=True)

pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")


class Case(NamedTuple):
    """A model and a release; whether Stan's outputs of a group come number by number."""

    model: Any
    release: Callable[[], bdp.Release]
    numbers: bool = False
    options: Any = MappingProxyType({})


def noisy_counts() -> bdp.Release:
    """Noise of all kinds on counts, with and without ends, and beta-binomial copies."""
    ends = {"neighbours": REPLACE, "n": 12, "bounds": (0, 12)}
    made = {
        "a": (M.BetaBinomialMechanism(12, 20, (5.0, 3.0)), [3, 4]),
        "b": (M.DiscreteLaplaceMechanism(2.0, 1.0, REPLACE, n=12), [5, -1]),
        "c": (M.DiscreteLaplaceMechanism(4.0, 1.0, **ends, bounding="inflated"), [12, 9]),
        "d": (M.DiscreteGaussianMechanism(3.0, 1.0, **ends, bounding="truncated"), [0, 2]),
        "e": (M.GaussianMechanism(1.5, 1.0, neighbours=REPLACE, n=12), [7.25, 8.5]),
        "f": (M.LaplaceMechanism(1.5, 1.0, **ends, bounding="truncated"), [7.25, 8.5]),
    }
    return bdp.Release.of_groups(made, delta=1e-6)


def noisy_events() -> bdp.Release:
    noise = M.PerturbedHistogramMechanism(2.0, 3, "add_remove")
    return bdp.Release.of(noise, [(3, 0, 40), (5, 0, 37)])


def answers() -> bdp.Release:
    kary = M.RandomizedResponseMechanism.kary
    one = (kary(1.0, 3, n=4), [(0, 1, 1, 2), (0, 1, 1, 2)])
    return bdp.Release.of_groups({"a": one, "b": (kary(2.0, 3, n=4), [(2, 2, 1, 2), (2, 2, 2, 0)])})


def noisy_moments() -> bdp.Release:
    """Means and variances of two groups, one of which kept them between ends."""
    one = M.GaussianMechanism(0.4, 0.1, neighbours=REPLACE, n=20, dimension=2)
    ends = {"bounds": (0.0, 4.0), "bounding": "truncated"}
    two = M.LaplaceMechanism(0.5, 0.1, neighbours=REPLACE, n=30, dimension=2, **ends)
    groups = {"a": (one, [(1.0, 0.5), (1.5, 0.25)]), "b": (two, [(0.5, 3.5), (0.25, 3.0)])}
    return bdp.Release.of_groups(groups, delta=1e-6)


def noisy_sums() -> bdp.Release:
    noise = M.LaplaceMechanism(2.0, 1.0, neighbours=REPLACE, n=20)
    return bdp.Release.of_groups({"a": (noise, [25.0]), "b": (noise, [-10.0])})


def noisy_table() -> bdp.Release:
    axes = tuple(Axis(name, categories=("x", "y")) for name in "ab")
    made = M.PerturbedHistogramMechanism(3.0, 4, "add_remove", None, axes)
    return bdp.Release.of(made, [(9, 0, 5, 8), (10, 3, 8, 9)])


CASES = {
    "binomial": Case(bdp.BinomialModel((0.5, 2.0)), noisy_counts),
    "hierarchical_binomial": Case(bdp.models.HierarchicalBinomialModel(), counts_of_groups),
    "poisson": Case(bdp.models.PoissonModel((2.0, 0.7)), events_by_area),
    "noisy_events": Case(bdp.models.PoissonModel((2.0, 0.7)), noisy_events),
    "multinomial": Case(bdp.MultinomialModel((2.0, 0.7, 1.0)), answers, options={"engine": "stan"}),
    "gaussian": Case(bdp.GaussianModel((0.5, 1, 3, 2)), noisy_moments, numbers=True),
    "sums": Case(
        bdp.models.HierarchicalGaussianModel((0.0, 2.0), spread=1.0, sd=1.0, statistic="sum"),
        noisy_sums,
        numbers=True,
    ),
    "log_linear": Case(
        bdp.models.LogLinearModel("a + b", prior=0.5), noisy_table, options={"cells": True}
    ),
}


def agree(found: Any, expected: Any) -> None:
    """Means of functions of each number and of their sum, draw by draw.

    Both are independent given the parameters, which are the same, so that differences have mean 0;
    of 4 functions of at most 12 numbers, none is beyond 6 standard errors but with chance 1e-7.
    """
    assert found.shape == expected.shape
    for z, right in zip(with_sum(found), with_sum(expected), strict=True):
        middle = np.quantile(right, [0.2, 0.5])
        for of in (lambda x: x, np.square, *(lambda x, m=m: x <= m for m in middle)):
            away = of(z).astype(float) - of(right)
            assert abs(away.mean()) <= 6 * away.std() / np.sqrt(away.size) + 1e-12


def with_sum(outputs: Any) -> Any:
    flat = outputs.reshape(len(outputs), -1).astype(float)
    return np.column_stack([flat, flat.sum(axis=1)]).T


def sample(model: Any, release: bdp.Release, variables: Any) -> Any:
    """Draws of some variables and y_rep, by the model's program."""
    sizes = {"draws": DRAWS, "chains": CHAINS, "warmup": 300, "seed": 1}
    data = {**model.stan_data(release), "replicates": 1}
    return sampling.sample(model.program, data, variables=[*variables, "y_rep"], **sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_new_outputs_have_the_law_of_posterior_predictive(name: str) -> None:
    require_pystan()
    model, make, numbers, options = CASES[name]
    release = make()
    kept = {"log_linear": ["beta", "probability"], "hierarchical_binomial": ["p"]}
    drawn = sample(model, release, kept.get(name, model.variables))
    idata = model.fit(release, draws=DRAWS, chains=CHAINS, seed=1, **options)
    for variable in drawn.posterior.keys() - {"y_rep"}:  # the same parameters in both
        place = idata.posterior[variable]
        place[:] = np.reshape(drawn.posterior[variable], place.shape)
    made = bdp.posterior_predictive(model, idata, release, draws=CHAINS * DRAWS, seed=2)
    outputs = made.posterior_predictive["outputs"].to_numpy()[0]
    if release.by is not None:  # groups first, as in Stan
        outputs = np.moveaxis(outputs, 2, 1)
        if numbers and outputs.ndim == 4:  # and every group's first number before the second
            outputs = np.moveaxis(outputs, 3, 1)
    y_rep = drawn.posterior["y_rep"].reshape(CHAINS * DRAWS, -1)
    agree(y_rep - (name == "multinomial"), outputs.reshape(CHAINS * DRAWS, -1))


@pytest.mark.slow
def test_new_tables_of_a_logistic_regression() -> None:
    """Whose response is the first column, so that its cells are in another order."""
    require_pystan()
    axes = (Axis("ill", categories=("no", "yes")), Axis("age", categories=(30, 50, 70)))
    mechanism = M.PerturbedHistogramMechanism(2.0, 6, "add_remove", None, axes)
    release = bdp.Release.of(mechanism, [(30, 20, 9, 3, 12, 18), (28, 22, 8, 0, 11, 17)])
    model = bdp.LogisticRegressionModel("ill ~ age")
    drawn, data = sample(model, release, ["u"]), model.stan_data(release)
    rng = np.random.default_rng(1)
    u = drawn.posterior["u"].reshape(CHAINS * DRAWS, -1)
    frequency, odds = u[:, :1] + u[:, 1:4], u[:, 4:] @ data["predictors"].T
    rates = np.exp([frequency - np.logaddexp(0, way * odds) for way in (1, -1)])  # no, yes
    counts = rng.poisson(np.concatenate(rates, axis=1))
    with bdp.reproducible(1):
        expected = [[mechanism.release(each, 2)] for each in counts]
    agree(drawn.posterior["y_rep"].reshape(CHAINS * DRAWS, -1), np.reshape(expected, (len(u), -1)))


@pytest.mark.slow
def test_a_number_of_records_that_is_unknown_is_drawn_too() -> None:
    """Against the mean given p, over the numbers' posterior given p; 5 standard errors, 6e-7."""
    require_pystan()
    release = bdp.Release.of(M.BetaBinomialMechanism(None, 40, (4.0, 3.0)), [3, 5])
    model = bdp.BinomialModel(n=range(1, 60))
    drawn, data = sample(model, release, ["p"]), model.stan_data(release)
    p = drawn.posterior["p"].reshape(-1, 1)
    ones, zeros = data["successes"], data["failures"]
    weights = special.softmax(data["log_weight"] + ones * np.log(p) + zeros * np.log1p(-p), axis=1)
    n = ones + zeros
    mean = (weights * (40 * (4 + n * p) / (7 + n))).sum(axis=1)
    assert n.min() < 5
    assert n.max() > 50
    for away in (drawn.posterior["y_rep"].reshape(-1, 2) - mean[:, None]).T:
        assert abs(away.mean()) < 5 * away.std() / np.sqrt(away.size)


def outputs_of(model: Any, release: Any) -> int:
    """How many outputs the model's program can draw."""
    data = model.stan_data(release)
    assert data["replicates"] == 0
    return int(data["R"])


def test_outputs_whose_law_stan_does_not_have_are_none() -> None:
    noise = M.DiscreteLaplaceMechanism(2.0, 1.0, REPLACE, n=12)
    coarse = M.LaplaceMechanism(2.0, 1.0, neighbours=REPLACE, n=12, granularity=0.25)
    model = bdp.BinomialModel()
    assert outputs_of(model, bdp.Release.of(noise, [3, 5])) == 2
    assert outputs_of(model, [bdp.Release.of(noise, [3, 5]), bdp.Release.of(noise, [4])]) == 3
    for law in (coarse, EXACT):
        assert outputs_of(model, bdp.Release.of(law, [3])) == 0
        both = {"a": (noise, [3]), "b": (law, [3])}
        assert outputs_of(model, bdp.Release.of_groups(both)) == 0
    weighted = M.LaplaceMechanism(2.0, 2.0, neighbours=REPLACE, n=12)
    model = bdp.BinomialModel(weights={1.0: 8, 2.0: 4})
    assert outputs_of(model, bdp.Release.of(weighted, [7.0])) == 0
    table, model = noisy_table(), bdp.models.LogLinearModel("a + b")
    assert outputs_of(model, table) == 8
    assert outputs_of(model, [table, table]) == 0
    unlike = [M.RandomizedResponseMechanism.kary(e, 3, n=4) for e in (1.0, 2.0)]
    model = bdp.MultinomialModel((1.0, 1.0, 1.0))
    one, two = (bdp.Release.of(each, [(0, 1, 1, 2)]) for each in unlike)
    assert outputs_of(model, [one, one]) == 8
    assert outputs_of(model, [one, two]) == 0


@pytest.mark.slow
def test_asking_for_them_all_the_same_is_refused() -> None:
    require_pystan()
    release = bdp.Release.of(EXACT, [3])
    with pytest.raises(EngineFailed, match=r"Stan has no draws .* use bdp\.posterior_pred"):
        sample(bdp.BinomialModel(), release, ["p"])


def test_every_program_says_what_its_new_outputs_are_or_why_it_draws_none() -> None:
    for path in shipped("stan").glob("*.stan"):
        code = path.read_text()
        assert re.search(r"\by_rep\b", code[: code.index("*/")]), path.name
        assert ("int<lower=0, upper=1> replicates;" in code) == (" y_rep;" in code), path.name
