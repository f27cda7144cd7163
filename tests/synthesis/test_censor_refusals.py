"""Every model that can't be censored record by record is refused, with its reason."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.engines.pymc.sampling import import_pymc

pm = import_pymc()
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.ops import wrap_py  # noqa: E402

N = 9
RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=N)
Y = RANDOM.normal(size=N)
SQUARE = RANDOM.normal(size=(N, N))
KIND = RANDOM.integers(0, 3, N)


def model_of(build: Callable[[], Any], coords: Any = None) -> Any:
    with pm.Model(coords=coords) as model:
        build()
    return model


def normal(name: str = "theta") -> Any:
    return pm.Normal(name, 0, 1)


def missing() -> None:
    with pytest.warns(pm.exceptions.ImputationWarning):
        pm.Normal("y", normal(), 1, observed=np.ma.masked_less(Y, 0))


def minibatch() -> None:
    pm.Normal("y", normal(), 1, observed=pm.Minibatch(Y, batch_size=3), total_size=N)


def total_size() -> None:
    pm.Normal("y", normal(), 1, observed=Y, total_size=100)


def potential_of_data() -> None:
    theta = normal()
    pm.Normal("y", theta, 1, observed=Y)
    pm.Potential("more", -((theta - pm.Data("x", X)) ** 2).sum())


def potential_of_constants() -> None:
    theta = normal()
    pm.Normal("y", theta, 1, observed=Y)
    pm.Potential("more", -((theta - X) ** 2).sum())


def potential_of_observed() -> None:
    y = pm.Normal("y", normal(), 1, observed=Y)
    pm.Potential("more", -(y**2).sum())


@wrap_py(itypes=[pt.dscalar], otypes=[pt.dscalar])
def black_box(theta: Any) -> Any:
    return -np.sum((theta - Y) ** 2)


def potential_of_a_black_box() -> None:
    theta = normal()
    pm.Normal("y", theta, 1, observed=Y)
    pm.Potential("more", black_box(theta))


def likelihood_of_a_black_box() -> None:
    theta = normal()
    pm.CustomDist("y", theta, logp=lambda v, m: black_box(m[0]) - (v - m) ** 2, observed=Y)


def flat() -> None:
    pm.Normal("y", pm.Flat("theta"), 1, observed=Y)


def half_flat() -> None:
    pm.Normal("y", 0, pm.HalfFlat("theta"), observed=Y)


def prior_of_data() -> None:
    theta = pm.Normal("theta", pm.Data("x", X).mean(), 1)
    pm.Normal("y", theta, 1, observed=Y)


def prior_of_constants() -> None:
    theta = pm.Normal("theta", pt.as_tensor(X).max(), 1)
    pm.Normal("y", theta, 1, observed=Y)


def prior_whose_density_hides_constants() -> None:
    theta = pm.CustomDist("theta", logp=lambda v: -pt.sum((v - X) ** 2))
    pm.Normal("y", theta, 1, observed=Y)


def prior_of_observed() -> None:
    y = pm.Normal("y", normal("a"), 1, observed=Y)
    pm.Normal("z", pm.Normal("theta", y.sum(), 1), 1, observed=X)


def autoregression_by_parent() -> None:
    y = pm.Normal("y", normal(), 1, observed=Y)
    pm.Normal("z", y, 1, observed=X)


def deterministic_of_observed() -> None:
    y = pm.Normal("y", normal(), 1, observed=Y)
    pm.Deterministic("residual", y - 1)


def no_observed() -> None:
    normal()


def initial_value() -> None:
    pm.Normal("y", pm.Normal("theta", 0, 1, initval=0.5), 1, observed=Y)


def scalar() -> None:
    pm.Normal("y", normal(), 1, observed=2.0)


def one_record() -> None:
    pm.Normal("y", normal(), 1, observed=Y[:1])


def unequal_lengths() -> None:
    theta = normal()
    pm.Normal("y", theta, 1, observed=Y)
    pm.Normal("z", theta, 1, observed=X[:5])


def ar() -> None:
    pm.AR("y", [normal()], 1.0, init_dist=pm.Normal.dist(0, 1), observed=Y)


def random_walk() -> None:
    pm.GaussianRandomWalk("y", normal(), 1.0, init_dist=pm.Normal.dist(0, 1), observed=Y)


def multivariate_over_records() -> None:
    pm.MvNormal("y", normal() * np.ones(N), np.eye(N), observed=Y)


def gaussian_process() -> None:
    cov = pm.gp.cov.ExpQuad(1, pm.HalfNormal("ell", 1))
    gp = pm.gp.Marginal(cov_func=cov)
    gp.marginal_likelihood("y", X=X[:, None], y=Y, sigma=0.5)


def latent_gaussian_process_of_data() -> None:
    f = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, 1.0)).prior("f", X=X[:, None])
    pm.Normal("y", f, 1, observed=Y)


def standardised_inside() -> None:
    x = pm.Data("x", X)
    pm.Normal("y", normal() * (x - x.mean()) / x.std(), 1, observed=Y)


def standardised_constant() -> None:
    x = pt.as_tensor(X)
    pm.Normal("y", normal() * (x - x.min()), 1, observed=Y)


def cumulative() -> None:
    pm.Normal("y", normal() * pt.cumsum(pm.Data("x", X)), 1, observed=Y)


def lagged() -> None:
    x = pm.Data("x", X)
    pm.Normal("y", normal() * pt.concatenate([x[:1], x[:-1]]), 1, observed=Y)


def reversed_data() -> None:
    pm.Normal("y", normal() * pm.Data("x", X)[::-1], 1, observed=Y)


def dot_over_records() -> None:
    pm.Normal("y", normal() * pt.dot(pt.as_tensor(X), pt.as_tensor(Y)), 1, observed=Y)


def sorted_data() -> None:
    pm.Normal("y", normal() * pt.sort(pm.Data("x", X)), 1, observed=Y)


def neighbours_by_index() -> None:
    x = pm.Data("x", X)
    pm.Normal("y", normal() * x[pm.Data("next", np.roll(np.arange(N), 1))], 1, observed=Y)


def transposed() -> None:
    pm.Normal("y", normal() * pt.as_tensor(SQUARE).T, 1, observed=SQUARE)


def broadcast_by_mistake() -> None:
    mu, x = normal(), pm.Data("x", X)[:, None]
    pm.CustomDist("y", mu, logp=lambda v, m: -((v - m * x) ** 2).sum(0), observed=Y)


def standardised_behind_a_censoring() -> None:
    """PyMC derives this density by rewriting, where it would compute the mean of constants."""
    x = pt.as_tensor(X)
    law = pm.Normal.dist(normal() * (x - x.mean()), 1)
    pm.Censored("y", law, lower=-9, upper=9, observed=Y)


def standardised_inside_a_distribution() -> None:
    x = pt.as_tensor(X)

    def law(theta: Any, size: Any) -> Any:
        return pt.exp(pm.Normal.dist(theta * (x - x.mean()), 1, size=size))

    pm.CustomDist("y", normal(), dist=law, observed=np.exp(Y))


def prior_with_constants_inside() -> None:
    x = pt.as_tensor(X)
    law = pm.CustomDist("theta", dist=lambda size: pt.exp(pm.Normal.dist(x.mean(), 1, size=size)))
    pm.Normal("y", law, 1, observed=Y)


def normalised_over_records() -> None:
    share = pt.special.softmax(normal() * pm.Data("x", X), axis=0)
    pm.Bernoulli("y", share, observed=(Y > 0).astype(int))


def divided_by_the_number_of_records() -> None:
    x = pm.Data("x", X)
    pm.Normal("y", normal() * x, x.shape[0], observed=Y)


def trend_over_places() -> None:
    pm.Normal("y", normal() * pt.arange(pm.Data("x", X).shape[0]), 1, observed=Y)


def one_parameter_a_record() -> None:
    pm.Normal("y", pm.Normal("theta", 0, 1, shape=N), 1, observed=Y)


def one_parameter_a_record_by_index() -> None:
    pm.Normal("y", pm.Normal("theta", 0, 1, shape=N)[np.arange(N)], 1, observed=Y)


def sum_of_one_parameter_a_record() -> None:
    pm.Normal("y", pm.Normal("theta", 0, 1, shape=N).sum(), 1, observed=Y)


def above(x: Any) -> Any:
    """A transform that cuts a prior off below all x, which is in no density."""
    return pm.distributions.transforms.Interval(bounds_fn=lambda *inputs: (x.max(), None))


def transform_that_cuts_at_data() -> None:
    theta = pm.Normal("theta", 0, 1, transform=above(pm.Data("x", X)))
    pm.Normal("y", theta, 1, observed=Y)


def transform_that_cuts_at_constants() -> None:
    theta = pm.Normal("theta", 0, 1, transform=above(pt.as_tensor(X)))
    pm.Normal("y", theta, 1, observed=Y)


def density_that_takes_records_from_around_it() -> None:
    pm.CustomDist("y", normal(), logp=lambda v, m: -((v - m * X) ** 2), observed=Y)


def density_that_takes_covariates_from_around_it() -> None:
    x = pm.Data("x", X)
    pm.CustomDist("y", normal(), logp=lambda v, m: -((v - m * x) ** 2), observed=Y)


def noise_in_the_likelihood() -> None:
    noise = pm.Normal.dist(0, 1)
    pm.CustomDist("y", normal(), logp=lambda v, m: -((v - m - noise) ** 2), observed=Y)


def assertion() -> None:
    x = pt.as_tensor(X)
    from pytensor.raise_op import Assert

    pm.Normal("y", Assert("range")(normal() * x, (x < 9).all()), 1, observed=Y)


def loop() -> None:
    x = pt.as_tensor(X)
    out = pytensor.scan(lambda v, s: s + v, [x], [pt.zeros(())], return_updates=False)
    pm.Normal("y", normal() * out, 1, observed=Y)


def nan_in_a_covariate() -> None:
    pm.Normal("y", normal() * np.where(X > 1, np.nan, X), 1, observed=Y)


def name_taken() -> None:
    pm.Normal("censored_log_likelihood", normal(), 1, observed=Y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (missing, "missing values"),
        (minibatch, "minibatches or total_size"),
        (total_size, "minibatches or total_size"),
        (potential_of_data, "potential 'more' depends on x"),
        (potential_of_constants, "potential 'more' depends on a constant"),
        (potential_of_observed, "potential 'more' depends on the observed"),
        (potential_of_a_black_box, "potential 'more' goes through .* Python code"),
        (likelihood_of_a_black_box, "Python code may hold data"),
        (flat, "improper prior"),
        (half_flat, "improper prior"),
        (prior_of_data, "prior 'theta' depends on x"),
        (prior_of_constants, "prior 'theta' depends on a constant"),
        (prior_whose_density_hides_constants, "prior 'theta' depends on a constant"),
        (prior_of_observed, "'theta' depends on the observed variable 'y'"),
        (autoregression_by_parent, "'z' depends on the observed variable 'y'"),
        (deterministic_of_observed, "deterministic 'residual' depends on the observed"),
        (no_observed, "no observed variable"),
        (initial_value, "initval"),
        (scalar, "ambiguous"),
        (one_record, "fewer than two"),
        (unequal_lengths, "differ in length.*record_dim"),
        (ar, "can't be censored record by record"),
        (random_walk, "can't be censored record by record"),
        (multivariate_over_records, "can't be censored record by record"),
        (gaussian_process, "can't be censored record by record"),
        (latent_gaussian_process_of_data, "'f_rotated_' has one entry a record"),
        (standardised_inside, "combined with other records"),
        (standardised_constant, "combined with other records"),
        (cumulative, "combined with other records by Cumsum"),
        (lagged, "depends on some of the records"),
        (reversed_data, "those before or after"),
        (dot_over_records, "combined with other records"),
        (sorted_data, "goes through SortOp"),
        (neighbours_by_index, "looks up other records"),
        (transposed, "two axes as long as the records"),
        (broadcast_by_mistake, "combined with other records"),
        (standardised_behind_a_censoring, "combined with other records"),
        (standardised_inside_a_distribution, "holds data as long as the records inside"),
        (prior_with_constants_inside, "holds data as long as the records inside|depends on"),
        (normalised_over_records, "combined with other records by Softmax"),
        (divided_by_the_number_of_records, "depends on the number of records"),
        (trend_over_places, "place among the records"),
        (one_parameter_a_record, "'theta' has one entry a record"),
        (one_parameter_a_record_by_index, "'theta' has one entry a record"),
        (sum_of_one_parameter_a_record, "'theta' has one entry a record"),
        (transform_that_cuts_at_data, "transform of 'theta' depends on x"),
        (transform_that_cuts_at_constants, "transform of 'theta' depends on a constant"),
        (density_that_takes_records_from_around_it, "aren't arguments of its distribution"),
        (density_that_takes_covariates_from_around_it, "aren't arguments of its distribution"),
        (noise_in_the_likelihood, "something random"),
        (assertion, "fails an assertion|combined with other records"),
        (loop, "goes through|some of the records"),
        (nan_in_a_covariate, "has NaN"),
        (name_taken, "is it censored"),
    ],
)
def test_models_are_refused(build: Callable[[], Any], message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.censor(model_of(build), epsilon=1.0)


@pytest.mark.parametrize(
    "build", [one_parameter_a_record, divided_by_the_number_of_records, trend_over_places]
)
def test_a_public_number_of_records_allows_what_depends_on_places(build: Callable[[], Any]):
    private = bdp.censor(model_of(build), epsilon=1.0, neighbours="replace_one")
    assert [p.name for p in private.potentials] == ["censored_log_likelihood"]


def test_a_variable_for_each_record_is_known_by_its_dimension():
    def build() -> None:
        theta = pm.Normal("theta", 0, 1, dims="person")
        pm.Normal("y", theta.sum(), 1, observed=Y, dims="person")

    model = model_of(build, {"person": range(N)})
    with pytest.raises(bdp.errors.InvalidInput, match="one entry a record"):
        bdp.censor(model, epsilon=1.0)


def test_a_variable_as_long_as_the_records_by_chance_is_named():
    def build(**dims: Any) -> None:
        theta = pm.Normal("theta", 0, 1, **({} if dims else {"shape": N}), **dims)
        pm.Normal("y", theta.sum(), 1, observed=Y, dims="person")

    coords = {"person": range(N), "region": range(N)}
    with pytest.raises(bdp.errors.InvalidInput, match="as long by chance"):
        bdp.censor(model_of(build, coords), epsilon=1.0)
    bdp.censor(model_of(lambda: build(dims="region"), coords), epsilon=1.0)


def test_a_potential_of_the_number_of_records_is_refused():
    def build() -> None:
        theta = normal()
        pm.Normal("y", theta, 1, observed=Y, dims="person")
        pm.Potential("more", -theta / pm.modelcontext(None).dim_lengths["person"])

    model = model_of(build, {"person": range(N)})
    with pytest.raises(bdp.errors.InvalidInput, match="'more' depends on the number of records"):
        bdp.censor(model, epsilon=1.0)
    bdp.censor(model, epsilon=1.0, neighbours="replace_one")


def test_a_nested_or_a_censored_model_is_refused():
    with pm.Model() as outer:
        normal()
        with pm.Model("inner") as inner:
            pm.Normal("y", normal(), 1, observed=Y)
    with pytest.raises(bdp.errors.InvalidInput, match="inside another"):
        bdp.censor(inner, epsilon=1.0)
    del outer
    model = model_of(lambda: pm.Normal("y", normal(), 1, observed=Y))
    with pytest.raises(bdp.errors.InvalidInput, match="is it censored"):
        bdp.censor(bdp.censor(model, epsilon=1.0), epsilon=1.0)


def named(*dims: Any) -> Callable[[], None]:
    def build() -> None:
        theta = normal()
        for k, each in enumerate(dims):
            pm.Normal(f"y{k}", theta, 1, observed=Y, dims=each)

    return build


@pytest.mark.parametrize(
    ("dims", "record_dim", "message"),
    [
        (["person", "visit"], None, "ambiguous.*record_dim"),
        (["person", "visit"], "person", "has dims \\('visit',\\)"),
        ([None], "person", "has dims \\(\\)"),
    ],
)
def test_ambiguous_axes_are_refused(dims: Any, record_dim: Any, message: str):
    model = model_of(named(*dims), {"person": range(N), "visit": range(N)})
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.censor(model, epsilon=1.0, record_dim=record_dim)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"neighbours": "edge"}, "neighbours is 'edge'"),
        ({"neighbours": "others"}, "neighbours is 'others'"),
        ({"center": math.inf}, "center is inf"),
        ({"center": "0"}, "center is '0'"),
        ({"center": 1e300}, "too large for an interval"),
        ({"weights": np.ones(N - 1)}, "weights must be"),
        ({"weights": 1.0}, "weights must be"),
        ({"weights": -np.ones(N)}, "weights must be"),
        ({"weights": np.full(N, np.nan)}, "weights must be"),
        ({"weights": np.full(N, np.inf)}, "weights must be"),
        ({"weights": ["a"] * N}, "weights must be"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str):
    model = model_of(lambda: pm.Normal("y", normal(), 1, observed=Y))
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.censor(model, **{"epsilon": 1.0, **options})


def test_only_models_are_censored():
    with pytest.raises(bdp.errors.InvalidInput, match="must be a pm\\.Model"):
        bdp.censor(Y, epsilon=1.0)


def test_the_check_by_numbers_convicts_what_the_rules_would_miss():
    """Terms that depend on one another, or on their places, given to the second check alone."""
    from bayesdp.synthesis.censor.check import check_terms
    from bayesdp.synthesis.censor.graph import Tracer, record_axes
    from bayesdp.synthesis.censor.states import Setting

    model = model_of(lambda: pm.Normal("y", normal(), 1, observed=Y))

    def tracer(public_n: bool) -> Any:
        made = Tracer(model, record_axes(model, None), Setting(N, public_n))
        return made, made.terms()

    own, terms = tracer(False)
    check_terms(own, terms)
    for wrong in (terms - terms.mean(), pt.cumsum(terms), terms[::-1], terms * np.arange(N)):
        with pytest.raises(bdp.errors.InvalidInput, match="changed the terms of others"):
            check_terms(own, wrong)
    public, terms = tracer(True)
    check_terms(public, terms * np.arange(N))
    with pytest.raises(bdp.errors.InvalidInput, match="changed the terms of others"):
        check_terms(public, pt.cumsum(terms))
