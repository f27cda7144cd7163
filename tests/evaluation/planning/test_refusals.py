"""What `bdp.plan` refuses: the argument, its value, what is allowed and the way out."""

import numpy as np
import pytest

import bayesdp as bdp

MODEL = bdp.BinomialModel(prior=(2, 3))
FAMILY = bdp.families.Gaussian(bounds=(100, 240))
NORMAL = bdp.GaussianModel(prior=(170, 1, 20, 1000))
MOMENTS = bdp.synthesizers.NoisyMomentsSynthesizer({"age": (18, 90), "pressure": (50, 250)})
SLOPE = bdp.LinearRegressionModel("pressure", predictors_prior=(0, 50, 50, 5))
TIGHT = ((0, 0.3), (20, 20), 20, 0.4)
EVENTS = bdp.synthesizers.PoissonGammaSynthesizer(1.0, {"A": 30.0, "B": 90.0}, copies=1)


def dear(epsilon):
    """It costs more than it is asked to."""
    return bdp.mechanisms.DiscreteLaplaceMechanism(0.1, n=10, neighbours="replace_one")


def noisy_count(epsilon, **more):
    return bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=epsilon, sensitivity=1, **more)


def pair(rng):
    return 0.5, 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 0}, "target is 0; it must be a positive number"),
        ({"target": "short"}, "target is 'short'"),
        ({"target": float("nan")}, "target is nan"),
        ({"epsilon": 2.0}, "epsilon is 2.0; it must be the smallest and the largest"),
        ({"epsilon": (2, 1)}, r"epsilon is \(2.0, 1.0\); the first must be smaller"),
        ({"epsilon": (-1, 1)}, "epsilon"),
        ({"epsilon": (1, float("inf"))}, "epsilon"),
        ({"level": 1}, "level is 1; it must lie strictly between 0 and 1"),
        ({"assurance": 0.0}, "assurance is 0.0"),
        ({"attacker_prior": 1.0}, "attacker_prior is 1.0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
        ({"replicates": 5}, "at least 20"),
        ({"replicates": 0.5}, "replicates is 0.5"),
        ({"delta": 2}, "delta is 2"),
        ({"n": 0}, "n is 0; it must be a whole number, at least 1 or a range"),
        ({"n": None}, "n is missing"),
        ({"n": range(3)}, "n is range"),
        ({"n": range(10, 12)}, "planned with a public number of records"),
        ({"model": 3}, "model is 3; it must be a model"),
        ({"model": bdp.BinomialModel}, "model is the class"),
        ({"copies": 0}, "copies is 0"),
        ({"copies": ()}, "copies is empty"),
        ({"copies": "5"}, "copies is a text"),
        ({"fit_options": 3}, "fit_options is 3; give a mapping"),
        ({"simulate": 3}, "simulate is a int; it must be a function"),
        ({"progress": "yes"}, "progress is a str; it must be a function"),
        ({"copies": (1, 2.5)}, "copies is 2.5"),
        ({"mechanisms": []}, "mechanisms is empty"),
        ({"mechanisms": "laplace"}, "mechanisms has 'laplace'; for a BinomialModel it must be one"),
        ({"mechanisms": ["discrete_gaussian"]}, "needs delta, such as 1e-6"),
        ({"mechanisms": ["beta_binomial"] * 2}, "one name twice"),
        ({"mechanisms": [3]}, "mechanisms has 3; it must be one of"),
        ({"mechanisms": {"mine": lambda copies: None}}, "it must have one called epsilon"),
        ({"mechanisms": {"mine": lambda epsilon: None}}, "returned a NoneType"),
        ({"mechanisms": {"mine": dear}}, "promises epsilon = 10.0, which is more"),
        (
            {"mechanisms": [bdp.mechanisms.GaussianMechanism(1.0, 1.0)]},
            "isn't a synthesizer with an epsilon",
        ),
        (
            {"mechanisms": [bdp.BetaBinomialSynthesizer(prior=(9, 9))]},
            "has a prior of its own",
        ),
        (
            {
                "mechanisms": {
                    "one": lambda epsilon: noisy_count(epsilon, neighbours="replace_one", n=20),
                    "other": noisy_count,
                },
                "model": bdp.BinomialModel(weights={1.0: 20}),
            },
            "one under replace_one, .*other under add_remove",
        ),
        ({"mechanisms": {"mine": noisy_count}}, "n isn't in this release"),
        ({"estimand": "q"}, "estimand is 'q'; it must be one of \\['p'\\]"),
        ({"design_prior": 1.5}, "design_prior is 1.5"),
        ({"design_prior": (1, -1)}, "design_prior is a tuple"),
        ({"reference": len}, "reference is given without simulate"),
        ({"simulate": pair}, "leave out n and design_prior"),
        (
            {"simulate": lambda rng: 3, "n": None, "mechanisms": "beta_binomial"},
            "n is None, but 'beta_binomial'",
        ),
        (
            {"simulate": lambda rng: 3, "n": None, "mechanisms": {"mine": dear}},
            "simulate returned a int; it must return two things",
        ),
        (
            {"simulate": lambda rng: ("x", 3), "n": None, "mechanisms": {"mine": dear}},
            "simulate returned 'x' for the estimand's true value",
        ),
        ({"model": bdp.MultinomialModel((1, 1, 1)), "estimand": 3}, "a category, from 0 to 2"),
        ({"model": bdp.MultinomialModel((1, 1, 1)), "design_prior": (1, 1)}, "has 2 numbers"),
        ({"model": bdp.MultinomialModel((1, 1, 1)), "design_prior": 4}, "design_prior: prior is 4"),
        (
            {
                "model": bdp.MultinomialModel((1, 1)),
                "mechanisms": [bdp.synthesizers.DirichletMultinomialSynthesizer(1.0)],
            },
            "give simulate=, a function of a numpy generator",
        ),
        ({"model": NORMAL}, "mechanisms is missing; for a GaussianModel give synthesizers"),
        (
            {
                "model": bdp.models.GammaModel((1, 20)),
                "mechanisms": [bdp.ModipsSynthesizer(bdp.families.Gamma((0, 60)))],
            },
            "clip=True",
        ),
        ({"model": NORMAL, "mechanisms": "modips"}, "must be a synthesizer, such as"),
        (
            {"model": NORMAL, "mechanisms": [bdp.ModipsSynthesizer(FAMILY)], "estimand": "nu"},
            "'mu', 'sigma'",
        ),
        (
            {
                "model": NORMAL,
                "mechanisms": [bdp.ModipsSynthesizer(FAMILY)],
                "design_prior": (1, 2),
            },
            "design_prior: prior",
        ),
        (
            {"model": bdp.GaussianModel(sd=8.0), "mechanisms": [bdp.ModipsSynthesizer(FAMILY)]},
            "design_prior is missing: the model's prior is flat",
        ),
        (
            {
                "model": NORMAL,
                "mechanisms": [bdp.ModipsSynthesizer(FAMILY)],
                "design_prior": (100, 1, 20, 1000),
            },
            "puts 5\\d% of the values beyond the synthesizer's bounds",
        ),
        ({"model": bdp.LogisticRegressionModel("y ~ x")}, "mechanisms is missing"),
        (
            {"model": bdp.LogisticRegressionModel("y ~ x"), "mechanisms": [MOMENTS]},
            "what data a LogisticRegressionModel expects; give simulate=",
        ),
        ({"model": SLOPE, "mechanisms": [MOMENTS]}, "% of the values beyond"),
        (
            {
                "model": SLOPE,
                "mechanisms": [MOMENTS],
                "design_prior": TIGHT,
                "estimand": ("beta", "height"),
            },
            "estimand names predictor 'height'",
        ),
        (
            {
                "model": SLOPE,
                "mechanisms": [MOMENTS],
                "design_prior": TIGHT,
                "estimand": "sigma",
            },
            "estimand is 'sigma', of which plan can't make up the true value",
        ),
        (
            {"model": SLOPE, "mechanisms": [MOMENTS], "design_prior": (1, 2)},
            "prior is a tuple",
        ),
        (
            {"model": bdp.models.PoissonModel(), "mechanisms": [EVENTS]},
            "n is 20; rates say how many",
        ),
        (
            {
                "model": bdp.models.PoissonModel(),
                "mechanisms": [EVENTS],
                "n": None,
                "estimand": ("rate", "C"),
            },
            "estimand names area 'C'",
        ),
        (
            {"model": bdp.models.PoissonModel(), "mechanisms": {"mine": dear}, "n": None},
            "estimand is None; name what the interval is of",
        ),
    ],
)
def test_refusals(options, message):
    given = {"model": MODEL, "n": 20, "target": 0.5, "replicates": 20, **options}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.plan(given.pop("model"), given.pop("n"), **given)


def normal_means(rng):
    mu = rng.normal(0, 1)
    return mu, np.clip(rng.normal(mu, 1, 100), -5, 5).mean()


@pytest.mark.parametrize(
    ("estimand", "message"),
    [
        ("rate", "the variables are \\['beta', 'sigma'\\]"),
        ("beta", "give one number, as \\('beta', label\\)"),
        (("beta", "height"), "'beta' has \\['intercept', 'age'\\]"),
        (("sigma", "age"), "'sigma' has the dimensions \\[\\]"),
        (None, "estimand is None"),
        (("beta", "age", 3), "estimand is"),
    ],
)
def test_estimands_that_a_fit_has_not(estimand, message):
    """Of a fit whose variables are a vector and a number."""
    import xarray as xr

    class Fitted:
        def fit(self, release, *, seed):
            beta = xr.DataArray(
                np.zeros((1, 50, 2)),
                dims=("chain", "draw", "coefficient"),
                coords={"coefficient": ["intercept", "age"]},
            )
            sigma = xr.DataArray(np.ones((1, 50)), dims=("chain", "draw"))
            return type("Data", (), {"posterior": xr.Dataset({"beta": beta, "sigma": sigma})})

    def noisy(epsilon):
        return bdp.mechanisms.LaplaceMechanism.calibrate(epsilon=epsilon, sensitivity=0.1)

    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.plan(
            Fitted(),
            target=1.0,
            simulate=normal_means,
            mechanisms={"noisy": noisy},
            estimand=estimand,
            replicates=20,
        )


def test_noise_with_too_many_values_is_refused_by_name():
    with pytest.raises(
        bdp.errors.InvalidInput, match="the noise of 'discrete_laplace' has too many"
    ):
        bdp.plan(MODEL, 20, target=0.5, mechanisms="discrete_laplace", epsilon=(1e-9, 1e-8))
