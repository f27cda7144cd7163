"""What every model keeps: the InferenceData that ArviZ takes as it is, and engines that agree."""

import dataclasses
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

REPLACE = bdp.Neighbours.REPLACE_ONE
pytestmark = pytest.mark.filterwarnings("ignore:the chains of this fit")  # few draws


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, a release that it fits, and the variables that it infers.

    `dims` are those of all variables but the `scalars`. Where the draws aren't independent,
    `engine` says what draws them.
    Where it has no evidence, `no_evidence` is a part of the reason given. Where one model is of all
    groups `together`, `dims_of` says which variables have them.
    """

    model: Any
    release: Callable[[], bdp.Release]
    variables: Collection[str]
    dims: tuple[str, ...] = ()
    engine: str = "exact"
    why: str = "exist"
    dims_of: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    no_evidence: str | None = None
    together: bool = False


def counted() -> bdp.Release:
    return bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [38])


def weighted_count() -> bdp.Release:
    return bdp.Release.of(bdp.mechanisms.LaplaceMechanism(3.0, 2.5, REPLACE, n=50), [38.5, 41.0])


def counted_groups() -> bdp.Release:
    counts = {"a": bdp.Count(20, 50), "b": bdp.Count(70, 80), "c": bdp.Count(0, 30)}
    with bdp.reproducible(5):
        return bdp.BetaBinomialSynthesizer(epsilon=3.0, copies=2).release(counts)


def normal_copies() -> bdp.Release:
    family = bdp.families.Gaussian(bounds=(-8.0, 8.0), sd=1.0)
    with bdp.reproducible(2):
        made = bdp.ModipsSynthesizer(family=family, epsilon=2.0, copies=3, size=40)
        return made.release(np.linspace(-2, 2, 50))


def noisy_mean_groups() -> bdp.Release:
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, n=20)
    return bdp.Release.of_groups({"a": (noise, [1.0, 1.5]), "b": (noise, [-2.0, 0.0])})


def positive_copies() -> bdp.Release:
    family = bdp.families.Gamma(bounds=(0.0, 3.0))
    with bdp.reproducible(2):
        made = bdp.ModipsSynthesizer(family=family, epsilon=2.0, copies=3, size=40, clip=True)
        return made.release(np.linspace(0, 4, 50))


def vector_copies() -> bdp.Release:
    given = ((0.5, -1.0), ((0.3, -0.1), (-0.1, 0.2)))
    made = bdp.mechanisms.ConjugateMechanism(
        "multivariate_gaussian", "synthetic_one", 20, given, 15, R=9.0,
        covariance=((1.0, 0.6), (0.6, 2.0)),
    )  # fmt: skip
    with bdp.reproducible(2):
        return bdp.publish(made, (6.0, 3.0), copies=3, delta=1e-3)


def drawn_vector_groups() -> bdp.Release:
    given = ((0.0,) * 3, ((0.3, 0.0, 0.0), (0.0, 0.2, 0.1), (0.0, 0.1, 0.2)))
    made = bdp.mechanisms.ConjugateMechanism(
        "multivariate_gaussian", "parameter_draw", 20, given, R=(9.0, 8.0, 7.0),
        covariance=((1.0, 0.5, 0.0), (0.5, 2.0, 0.0), (0.0, 0.0, 1.0)), columns=("a", "b", "c"),
    )  # fmt: skip
    with bdp.reproducible(2):
        parts = {label: (made, list(made.release((6.0, 3.0, 1.0), 2))) for label in "ab"}
    return bdp.Release.of_groups(parts, delta=1e-3)


def noisy_sum_groups() -> bdp.Release:
    noise = bdp.mechanisms.LaplaceMechanism(4.0, 4.0, REPLACE, n=20)
    return bdp.Release.of_groups({"a": (noise, [21.0, 18.5]), "b": (noise, [-2.0, 30.0])})


def moment_copies() -> bdp.Release:
    family = bdp.families.Gaussian(bounds=(-8.0, 8.0))
    with bdp.reproducible(2):
        made = bdp.ModipsSynthesizer(family=family, epsilon=6.0, copies=2, size=40)
        return made.release(np.linspace(-2, 2, 50))


def noisy_moment_groups() -> bdp.Release:
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, REPLACE, 2, n=20)
    return bdp.Release.of_groups({"a": (noise, [(1.0, 2.0)]), "b": (noise, [(-2.0, 1.0)])})


def noisy_cells() -> bdp.Release:
    return bdp.Release.of(
        bdp.mechanisms.PerturbedHistogramMechanism(2.0, 3, REPLACE, n=20), [(9, 7, 5), (10, 3, 8)]
    )


def table_groups() -> bdp.Release:
    large = bdp.mechanisms.ConjugateMechanism(
        "categorical", "synthetic_one", 30, (4.0, 4.0, 4.0), size=30
    )
    small = bdp.mechanisms.ConjugateMechanism(
        "categorical", "synthetic_one", 10, (4.0, 4.0, 4.0), size=10
    )
    return bdp.Release.of_groups({1: (large, [(12, 8, 10)]), 2: (small, [(1, 8, 1)])})


def noisy_table(n: int | None = None) -> bdp.Release:
    axes = tuple(Axis(name, categories=("x", "y")) for name in "ab")
    relation = bdp.Neighbours.ADD_REMOVE if n is None else REPLACE
    made = bdp.mechanisms.PerturbedHistogramMechanism(1.0, 4, relation, n, axes)
    return bdp.Release.of(made, [(9, 7, 5, 8), (10, 3, 8, 9)])


def answers() -> bdp.Release:
    return bdp.Release.of(
        bdp.mechanisms.RandomizedResponseMechanism(((3, 1), (1, 3)), n=4), [(0, 1, 1, 1)]
    )


def noisy_moments() -> bdp.Release:
    x = np.linspace(0, 2, 60)
    records = np.column_stack([x, np.cos(5 * x), 3 - x + np.sin(40 * x)])
    with bdp.reproducible(1):
        declared = bdp.synthesizers.NoisyMomentsSynthesizer(
            {"a": (0, 2), "b": (-1, 1), "y": (0, 4)}, epsilon=40.0
        )
        return declared.release(records)


def noisy_moments_of_any_size() -> bdp.Release:
    x = np.linspace(0, 2, 60)
    with bdp.reproducible(1):
        declared = bdp.synthesizers.NoisyMomentsSynthesizer(
            {"a": (0, 2), "y": (0, 4)}, epsilon=4.0, neighbours="add_remove", copies=2
        )
        return declared.release(np.column_stack([x, 3 - x + np.sin(40 * x)]))


def copied_numbers() -> bdp.Release:
    x = np.linspace(0, 2, 60)
    step = bdp.synthesizers.NumericColumns({"a": (0, 2), "y": (0, 4)})
    with bdp.reproducible(1):
        declared = bdp.synthesizers.SequentialModipsSynthesizer([step], epsilon=40.0, copies=2)
        return declared.release(pd.DataFrame({"a": x, "y": 3 - x + np.sin(40 * x) / 2}))


def events_by_area(total: int | None = None) -> bdp.Release:
    made = bdp.mechanisms.PoissonGammaMechanism(None, (20.0, 5.0), (9.0, 4.0), total)
    return bdp.Release.of(made, [(11, 4)])


def copied_table() -> bdp.Release:
    axes = tuple(Axis(name, categories=("x", "y")) for name in "ab")
    made = bdp.mechanisms.DirichletMultinomialMechanism(40, 80, 4, 1.0, (), axes)
    return bdp.Release.of(made, [(22, 18, 12, 28), (24, 16, 16, 24)])


TABLE = {"beta": ("term",), "tau": ("scale",), "probability": ("cell",)}


def beta_copies() -> bdp.Release:
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=30.0, size=60, center=0.5)
    with bdp.reproducible(1):
        return made.release(np.random.default_rng(1).beta(3, 5, 12))


def beta_copies_of_groups() -> bdp.Release:
    made = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=30.0, size=40, center=0.5, groups=("a", "b", "c")
    )
    with bdp.reproducible(1):
        records = np.random.default_rng(1).beta(3, 5, 30)
        return made.release(records, by=np.repeat(["a", "b", "c"], 10))


BETA_BY_GROUP = {
    "beta": ("coefficient",), "mean": ("group",), "precision": (), "sigma": ()
}  # fmt: skip
BY_GROUP = {"x": {"a": -1, "b": 0, "c": 1}}


def chosen_quantiles() -> bdp.Release:
    made = bdp.mechanisms.QuantileMechanism(2.0, range(11), (0.25, 0.5))
    return bdp.Release.of_groups({"a": (made, [(2, 4)])})


def proposed_quantiles() -> bdp.Release:
    made = bdp.mechanisms.ProposeTestReleaseMechanism(range(11), 1, 30, 1.0, 1.0, 4, (0.25, 0.5))
    return bdp.Release.of(made, [(2, -1)])


def trimmed_mean() -> bdp.Release:
    made = bdp.mechanisms.TrimmedMeanMechanism(range(11), 6, 30, 1.0, 1.0, 3, 0.2)
    return bdp.Release.of(made, [95, -1])


def weighted_counts() -> bdp.Release:
    made = bdp.mechanisms.WeightedCountsMechanism(
        (Axis("work", categories=("yes", "no")),), 40.0, 0.5, n=200
    )
    return bdp.Release.of(made, [(9_000_000, 5_000_000, 4_000_000, 3_000_000)])


def exact(value: Any, n: int, **shape: Any) -> Callable[[], bdp.Release]:
    kinds = bdp.distributional
    promise = kinds.DistributionalGuarantee(0.5, 1e-6, "any", kinds.LawClass.of("any"))
    return lambda: bdp.Release.of(kinds.ExactStatisticMechanism(promise, n, **shape), [value])


CASES = {
    "binomial, exact": Case(bdp.BinomialModel(), exact(38, 100, whole=True), ("p",)),
    "gaussian, exact": Case(
        bdp.GaussianModel(sd=1.0), exact(0.25, 40), ("mu",), no_evidence="the prior is flat"
    ),
    "gaussian, sd unknown, exact": Case(
        bdp.GaussianModel((0.0, 0.5, 3.0, 2.0)),
        exact((0.25, 1.5), 40, dimension=2),
        ("mu", "sigma"),
    ),
    "gamma, exact": Case(bdp.models.GammaModel((2.0, 3.0)), exact(35.5, 40), ("rate", "mean")),
    "multinomial, exact": Case(
        bdp.MultinomialModel((1.0, 0.5, 2.0)),
        exact((9, 0, 11), 20, dimension=3, whole=True, threshold=5),
        ("theta",),
        ("category",),
    ),
    "binomial, one count": Case(bdp.BinomialModel(), counted, ("p",)),
    "binomial, groups": Case(bdp.BinomialModel(prior=(0.5, 2.0)), counted_groups, ("p",)),
    "binomial, weighted count": Case(
        bdp.BinomialModel(weights={1.0: 40, 2.5: 10}), weighted_count, ("p",)
    ),
    "gaussian, copies": Case(
        bdp.GaussianModel(sd=1.0), normal_copies, ("mu",), no_evidence="the prior is flat"
    ),
    "gaussian, groups": Case(bdp.GaussianModel((0.0, 2.0), sd=1.0), noisy_mean_groups, ("mu",)),
    "gaussian, sd unknown": Case(
        bdp.GaussianModel((0.0, 0.5, 3.0, 2.0)), moment_copies, ("mu", "sigma")
    ),
    "gaussian, sd unknown, groups": Case(
        bdp.GaussianModel((0.0, 0.5, 3.0, 2.0)), noisy_moment_groups, ("mu", "sigma")
    ),
    "gamma, copies": Case(bdp.models.GammaModel((2.0, 3.0)), positive_copies, ("rate", "mean")),
    "gamma, groups": Case(
        bdp.models.GammaModel((2.0, 3.0), shape=1.5), noisy_sum_groups, ("rate", "mean")
    ),
    "multivariate gaussian, copies": Case(
        bdp.models.MultivariateGaussianModel(((0.0, 1.0), ((4.0, 1.0), (1.0, 2.0)))),
        vector_copies,
        ("mu",),
        ("column",),
    ),
    "multivariate gaussian, groups": Case(
        bdp.models.MultivariateGaussianModel(),
        drawn_vector_groups,
        ("mu",),
        ("column",),
        no_evidence="the prior is flat",
    ),
    "multinomial, cells": Case(
        bdp.MultinomialModel((1.0, 0.5, 2.0)), noisy_cells, ("theta",), ("category",)
    ),
    "multinomial, groups": Case(
        bdp.MultinomialModel((1.0, 1.0, 1.0)), table_groups, ("theta",), ("category",)
    ),
    "multinomial, answers": Case(
        bdp.MultinomialModel((1.0, 1.0)), answers, ("theta",), ("category",)
    ),
    "poisson": Case(bdp.models.PoissonModel((2.0, 2.0)), events_by_area, ("rate",), ("area",)),
    "poisson, fixed total": Case(
        bdp.models.PoissonModel((20.0, 20.0)),
        lambda: events_by_area(15),
        ("rate",),
        ("area",),
        "gibbs",
        "tie the counts",
        no_evidence="tie the counts",
    ),
    "beta, copies": Case(
        bdp.models.BetaModel((2.0, 2.0, 4.0, 0.5), n=12),
        beta_copies,
        ("mean", "precision", "sd", "quantile"),
        (),
        "exchange",
        "cancel",
        {"quantile": ("probability",)},
        no_evidence="nobody knows",
    ),
    "logit-normal, copies": Case(
        bdp.models.LogitNormalModel((-0.5, 10.0, 20.0, 10.0), n=12),
        beta_copies,
        ("mu", "sigma", "mean", "sd", "quantile"),
        (),
        "exchange",
        "cancel",
        {"quantile": ("probability",)},
        no_evidence="nobody knows",
    ),
    "beta regression, copies": Case(
        bdp.models.BetaRegressionModel(BY_GROUP, (-0.5, 0.1), n=10, precision=(60.0, 8.0)),
        beta_copies_of_groups,
        ("beta", "mean", "precision"),
        (),
        "exchange",
        "cancel",
        BETA_BY_GROUP,
        no_evidence="nobody knows",
        together=True,
    ),
    "logit-normal regression, copies": Case(
        bdp.models.LogitNormalRegressionModel(BY_GROUP, (-0.5, 0.1), n=10, variance=(60.0, 30.0)),
        beta_copies_of_groups,
        ("beta", "mean", "sigma"),
        (),
        "exchange",
        "cancel",
        BETA_BY_GROUP,
        no_evidence="nobody knows",
        together=True,
    ),
    "quantiles, groups": Case(
        bdp.models.QuantileModel("lognormal", (1.0, 1.0, 0.5, 0.5), range(20, 40)),
        chosen_quantiles,
        ("quantile", "location", "scale", "n"),
        (),
        "metropolis",
        "all counts at once",
        {"quantile": ("probability",)},
        no_evidence="summed over all samples",
    ),
    "trimmed mean": Case(
        bdp.models.QuantileModel("normal", (5.0, 2.0, 2.0, 0.5)),
        trimmed_mean,
        ("trimmed_mean", "quantile", "location", "scale"),
        (),
        "metropolis",
        "all counts at once",
        {"quantile": ("probability",)},
        no_evidence="summed over all samples",
    ),
    "quantiles, tested": Case(
        bdp.models.QuantileModel("normal", (5.0, 2.0, 2.0, 0.5)),
        proposed_quantiles,
        ("quantile", "location", "scale"),
        (),
        "metropolis",
        "all counts at once",
        {"quantile": ("probability",)},
        no_evidence="summed over all samples",
    ),
    "weighted shares": Case(
        bdp.models.WeightedShareModel((1.0, 2.0)),
        weighted_counts,
        ("share", "total", "effective_size"),
        ("category",),
        "design",
        "independent",
        {"effective_size": ()},
        no_evidence="flat",
    ),
    "regression": Case(
        bdp.LinearRegressionModel("y", prior=(0.0, 0.5, 2.0, 0.1)),
        noisy_moments,
        ("beta", "sigma"),
        ("coefficient",),
        "hmc",
        dims_of={"sigma": ()},
    ),
    "regression, n unknown": Case(
        bdp.LinearRegressionModel("y", n=range(20, 200)),
        noisy_moments_of_any_size,
        ("beta", "sigma", "n"),
        ("coefficient",),
        "hmc",
        dims_of={"sigma": (), "n": ()},
    ),
    "regression, copies": Case(
        bdp.LinearRegressionModel("y", prior=(0.0, 0.5, 2.0, 0.1)),
        copied_numbers,
        ("beta", "sigma"),
        ("coefficient",),
        "gibbs",
        "copies were drawn by",
        dims_of={"sigma": ()},
        no_evidence="there is no log evidence here",
    ),
    "log-linear, cells": Case(
        bdp.models.LogLinearModel("a*b"), noisy_table, TABLE, (), "hmc", "summed out", TABLE
    ),
    "log-linear, n public": Case(
        bdp.models.LogLinearModel("a*b"),
        lambda: noisy_table(30),
        TABLE,
        (),
        "gibbs",
        "known",
        TABLE,
    ),
    "logistic, cells": Case(
        bdp.LogisticRegressionModel("b ~ a"),
        noisy_table,
        ("beta",),
        ("coefficient",),
        "hmc",
        "summed out",
        no_evidence="log-linear models",
    ),
    "logistic, copies": Case(
        bdp.LogisticRegressionModel("b ~ a", (0.0, 1.5)),
        copied_table,
        ("beta",),
        ("coefficient",),
        "gibbs",
        "synthetic",
        no_evidence="log-linear models",
    ),
    "logistic, answers": Case(
        bdp.LogisticRegressionModel("y ~ x", data={"x": [1.0, 2.0, 2.0, 5.0]}),
        answers,
        ("beta",),
        ("coefficient",),
        "hmc",
        "summed out",
        no_evidence="log-linear models",
    ),
}
few = pytest.mark.filterwarnings("ignore:the chains of this fit")  # so few draws tell nothing


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if case.engine == "exact" else pytest.mark.slow)
        for name, case in CASES.items()
    ]
)
def case(request) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def fitted() -> Callable[[Case, str], Any]:
    """A short fit of a case, made once for all tests that look at it."""
    made: dict[tuple[int, str], Any] = {}

    def fit(case: Case, method: str = "fit") -> Any:
        key = id(case), method
        if key not in made:
            made[key] = getattr(case.model, method)(case.release(), draws=50, chains=3, seed=4)
        return made[key]

    return fit


@few
@pytest.mark.parametrize("method", ["fit", "fit_naive"])
def test_the_shape_of_a_fit(case, method, fitted):
    release, idata = case.release(), fitted(case, method)
    assert set(idata.posterior.data_vars) == set(case.variables)
    for name in case.variables:
        draws, own = idata.posterior[name], case.dims_of.get(name, case.dims)
        group = ["group"] if release.by and not case.together else []
        assert draws.dims == ("chain", "draw", *group, *own)
        assert (draws.sizes["chain"], draws.sizes["draw"]) == (3, 50)
        if "group" in draws.dims:
            assert draws["group"].to_numpy().tolist() == list(release.groups)
    for g, part in enumerate(release.parts):
        outputs = idata.observed_data["outputs"]
        outputs = outputs.isel(group=g) if release.by else outputs
        assert np.array_equal(outputs.to_numpy(), np.array(part.outputs))
    assert any(name.startswith("mechanism_") for name in idata.constant_data)
    assert set(idata.sample_stats["lp"].dims) == {"chain", "draw"}
    assert np.all(np.isfinite(idata.sample_stats["lp"]))


@few
def test_it_says_how_it_was_made(case, fitted):
    release, attrs = case.release(), fitted(case).attrs
    assert attrs["engine"] == case.engine
    assert case.why in attrs["engine_reason"]
    assert attrs["family"] == case.model.family
    assert attrs["release"] == release.fingerprint
    assert attrs["guarantee"] == str(release.guarantee)
    assert json.loads(attrs["prior"]) == json.loads(json.dumps(case.model.prior))
    assert json.loads(attrs["engine_versions"])
    assert ("n" in attrs) == (getattr(case.model, "n", None) is not None)
    assert "naive" in fitted(case, "fit_naive").attrs["engine_reason"]


@few
def test_a_seed_fixes_the_draws(case):
    release = case.release()
    fits = [case.model.fit(release, draws=30, seed=seed).posterior for seed in (7, 7, 8)]
    for name in case.variables:
        first, second, other = (fit[name].to_numpy() for fit in fits)
        assert np.array_equal(first, second)
        assert not np.array_equal(first, other)


@few
def test_every_chain_has_draws_of_its_own(case, fitted):
    """One seed for all chains would look like perfect agreement of them."""
    for name in case.variables:
        chains = fitted(case).posterior[name].to_numpy()
        assert len({chain.tobytes() for chain in chains}) == len(chains) == 3


@pytest.mark.filterwarnings("ignore:this log evidence")  # few draws
def test_its_evidence_is_a_probability_or_refused_with_a_reason(case):
    release = case.release()
    if case.no_evidence is not None:
        with pytest.raises(bdp.errors.InvalidInput, match=case.no_evidence):
            bdp.log_evidence(case.model, release)
        return
    found = bdp.log_evidence(case.model, release, draws=100, warmup=100, seed=1)
    assert np.isfinite(found.log_value)
    assert found.log_value < 0  # noise is on a lattice
    assert (found.standard_error == 0) == found.how.startswith("exact")


@few
def test_arviz_takes_it_as_it_is(case, tmp_path):
    release = case.release()
    idata = case.model.fit(release, draws=500, seed=1)
    summary = az.summary(idata)
    assert (summary["r_hat"] < 1.01).all()
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    again = az.from_netcdf(str(tmp_path / "posterior.nc"))
    assert again.attrs["release"] == release.fingerprint
    for name in case.variables:
        assert np.array_equal(again.posterior[name], idata.posterior[name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"chains": 0}, "chains is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"draws": 2.5}, "draws is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"engine": "jags"}, "engine is 'jags'"),
    ],
)
def test_bad_arguments_are_named(case, arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        case.model.fit(case.release(), **arguments)


@few
def test_a_saved_release_is_fitted_the_same(case, tmp_path, fitted):
    loaded = bdp.Release.load(case.release().save(tmp_path / "release"))
    one = fitted(case).posterior
    other = case.model.fit(loaded, draws=50, chains=3, seed=4).posterior
    assert all(np.array_equal(one[name], other[name]) for name in case.variables)


def test_it_says_whether_a_fit_is_of_all_groups(case):
    release = case.release()
    if release.by is None:
        release = bdp.Release.of_groups(
            dict.fromkeys("ab", (release.mechanism, list(release.outputs)))
        )
    if case.model.takes_groups:
        case.model.read(release)
        return
    with pytest.raises(bdp.errors.InvalidInput, match="groups"):
        case.model.fit(release)


def test_labels_of_several_types_become_text():
    mechanism = bdp.mechanisms.BetaBinomialMechanism(5, 5, (1.0, 1.0))
    release = bdp.Release.of_groups({True: (mechanism, [1]), "x": (mechanism, [2])})
    idata = bdp.BinomialModel().fit(release, draws=5)
    assert idata.posterior["group"].to_numpy().tolist() == ["True", "x"]


def test_groups_may_have_different_mechanisms():
    """Where a group's has no such parameter, it says null."""
    copies = bdp.mechanisms.BetaBinomialMechanism(5, 5, (1.0, 1.0))
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(0.5, 1.0, REPLACE, n=7)
    release = bdp.Release.of_groups({"a": (copies, [1]), "b": (noise, [2])})
    constant = bdp.BinomialModel().fit(release, draws=5).constant_data
    assert constant["mechanism_n"].to_numpy().tolist() == [5, 7]
    assert constant["mechanism_size"].to_numpy().tolist() == ["5", "null"]
    assert constant["mechanism_scale"].to_numpy().tolist()[0] == "null"


def test_groups_of_different_length_are_observed_apart():
    noise = {
        n: bdp.mechanisms.ModipsSBSMechanism(bdp.families.Gaussian((-9, 9), sd=1.0), n, (0.5,), n)
        for n in (3, 5)
    }
    outputs = {"a": (noise[3], [(0.1, 0.2, 0.3)]), "b": (noise[5], [(0.1, 0.2, 0.3, 0.4, 0.5)])}
    idata = bdp.GaussianModel(sd=1.0).fit(bdp.Release.of_groups(outputs), draws=5)
    assert idata.observed_data["outputs_a"].shape == (1, 3)
    assert idata.observed_data["outputs_b"].shape == (1, 5)
