"""`bdp.plan`: what it finds is what happens, and what it refuses."""

import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.evaluation.planning.counts import Proportion, width_at
from bayesdp.evaluation.planning.search import Curve, smallest_epsilon

MODEL = bdp.BinomialModel(prior=(2, 3))
FAMILY = bdp.families.Gaussian(bounds=(100, 240))
NORMAL = bdp.GaussianModel(prior=(170, 1, 20, 1000))
BOUNDS = {"age": (18, 90), "pressure": (50, 250)}


@pytest.fixture(scope="module")
def plan():
    return bdp.plan(MODEL, 150, target=0.2, copies=(1, 2), delta=1e-6)


@pytest.mark.slow
def test_the_cheapest_of_all_is_found(plan):
    assert len(plan.best) == 5
    assert plan.epsilon == min(epsilon for epsilon in plan.best.values() if epsilon)
    assert plan.best[plan.mechanism, plan.copies] == plan.epsilon
    assert plan.chosen["meets"]
    assert plan.chosen["width"] <= 0.2
    for key, epsilon in plan.best.items():
        rows = plan.table[(plan.table["mechanism"] == key[0]) & (plan.table["copies"] == key[1])]
        smaller = rows[rows["epsilon"] < (epsilon or math.inf)]
        assert not smaller["meets"].any()
        if epsilon is not None:
            assert epsilon / smaller["epsilon"].max() <= 1.051
            assert rows[rows["epsilon"] == epsilon]["meets"].all()


def test_exact_lengths_fall_with_epsilon_and_approach_those_without_privacy(plan):
    exact = plan.table[plan.table["how"] == "exact"]
    assert {"discrete_laplace", "discrete_gaussian"} < set(exact["mechanism"])
    for _, rows in exact.groupby(["mechanism", "copies"]):
        assert (np.diff(rows["width"]) < 0).all()
        assert (np.diff(rows["advantage"]) > 0).all()
    last = exact[(exact["mechanism"] == "discrete_laplace") & (exact["epsilon"] == 10)].iloc[0]
    assert last["ratio"] == pytest.approx(1, abs=1e-3)
    assert (exact["width_se"] == 0).all()
    assert exact["coverage"].to_numpy() == pytest.approx(0.95)
    assert (plan.table["ratio"] > 0.99).all()
    assert (plan.table["advantage"] <= np.tanh(plan.table["epsilon"] / 2) + 2e-6).all()


def test_only_noise_that_needs_a_delta_has_one(plan):
    with_delta = plan.table[plan.table["delta"] > 0]
    assert set(with_delta["mechanism"]) == {"discrete_gaussian"}
    assert (with_delta["odds_failure"] == 2e-6).all()


def released(name, epsilon, copies, n, count):
    """A release as a curator makes it, and the analyst's interval."""
    if name == "beta_binomial":
        made = bdp.BetaBinomialSynthesizer(epsilon=epsilon, copies=copies)
        assert made.guarantee(n).epsilon <= epsilon
        return MODEL.posterior(made.release(bdp.Count(count, n))).interval(0.95)
    if name == "randomized_response":
        made = bdp.mechanisms.RandomizedResponseMechanism.calibrate(epsilon=epsilon, n=n)
        assert made.guarantee().epsilon <= epsilon
        release = bdp.publish(made, (np.arange(n) < count).astype(int))
        return bdp.MultinomialModel(prior=(3, 2)).posterior(release, 1).interval(0.95)
    made = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=1, neighbours="replace_one", n=n
    )
    assert made.guarantee().epsilon <= epsilon
    return (
        dataclasses.replace(MODEL, weights={1.0: n})
        .posterior(bdp.publish(made, count))
        .interval(0.95)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "copies"),
    [("discrete_laplace", 1), ("randomized_response", 1), ("beta_binomial", 2)],
)
def test_what_was_planned_happens(plan, name, copies):
    """400 releases and fits by other seeds: length and coverage within 5.3 standard errors."""
    epsilon = plan.best[name, copies]
    row = plan.table[
        (plan.table["mechanism"] == name)
        & (plan.table["copies"] == copies)
        & (plan.table["epsilon"] == epsilon)
    ].iloc[0]
    rng, lengths, covered = np.random.default_rng(11), [], []
    with bdp.reproducible(12):
        for _ in range(400):
            p = rng.beta(2, 3)
            low, high = released(name, epsilon, copies, 150, int(rng.binomial(150, p)))
            lengths.append(high - low)
            covered.append(low <= p <= high)
    error = math.hypot(np.std(lengths) / 20, row["width_se"])
    assert abs(np.mean(lengths) - row["width"]) < 5.3 * error
    assert abs(np.mean(covered) - 0.95) < 5.3 * math.sqrt(0.95 * 0.05 / 400)


def test_an_assurance_asks_for_more():
    options = {"target": 0.2, "mechanisms": ["discrete_laplace"]}
    mean, most = (bdp.plan(MODEL, 100, assurance=a, **options) for a in (None, 0.9))
    assert mean.epsilon < most.epsilon
    assert most.chosen["width"] < most.chosen["assured"] <= 0.2
    assert np.isnan(mean.chosen["assured"])
    assert re.search(r"interval is 0\.\d+ long or shorter in 90% of releases", most.why())
    assert "long on average" in mean.why()


def test_one_true_value_gives_coverage_of_repeated_sampling():
    found = bdp.plan(MODEL, 100, target=0.25, mechanisms="discrete_laplace", design_prior=0.04)
    assert abs(found.chosen["coverage"] - 0.95) > 1e-3


def test_the_sentence_says_what_was_found(plan):
    said = plan.why()
    for part in (plan.mechanism, f"epsilon = {plan.epsilon:g} (replace_one)", "150 records"):
        assert part in said
    wide = bdp.plan(MODEL, 150, target=0.9, mechanisms="discrete_laplace")
    assert wide.epsilon == 0.05
    assert "the smallest epsilon considered" in wide.why()
    assert "the smallest epsilon considered" not in said


def test_the_same_seed_gives_the_same_plan():
    first, second, other = (
        bdp.plan(
            MODEL, 60, target=0.4, mechanisms="beta_binomial", copies=5, seed=seed, replicates=50
        ).table
        for seed in (1, 1, 2)
    )
    assert first.equals(second)
    assert not first.equals(other)
    assert set(first["how"]) == {"simulated"}


@pytest.mark.parametrize(
    ("length", "least"),
    [
        (lambda e: e**-0.5, 4.0),
        (lambda e: 0.3 + math.exp(-3 * e), math.log(5) / 3),
        (lambda e: 1.0 if e < 2.345 else 0.1, 2.345),
        (lambda e: math.inf if e < 1 else 0.4, 1.0),
    ],
)
def test_the_root_is_met_and_close(length, least):
    curve = fake(length)
    found = smallest_epsilon(curve, 0.5, (0.01, 10))
    assert length(found) <= 0.5
    assert found / 1.02 < least <= found
    assert len(curve.known) < 20


def test_lengths_that_rise_again_are_no_trap():
    def length(e):
        return 0.45 if 0.3 < e < 0.6 else 0.9 if e < 4 else 0.2

    found = smallest_epsilon(fake(length), 0.5, (0.01, 10))
    assert length(found) <= 0.5
    assert smallest_epsilon(fake(lambda e: 0.6), 0.5, (0.01, 10)) is None
    assert smallest_epsilon(fake(lambda e: 0.4), 0.5, (0.01, 10)) == 0.01


def fake(length):
    return Curve(lambda epsilon: SimpleNamespace(safe=length(epsilon), how="exact"))


@pytest.mark.slow
def test_where_no_epsilon_is_enough_the_records_are_named():
    with pytest.raises(bdp.errors.InvalidInput, match="no epsilon is enough") as error:
        bdp.plan(MODEL, 150, target=0.05, mechanisms=["discrete_laplace"])
    said = str(error.value)
    enough = int(re.search(r"About n = (\d+)", said).group(1))
    lengths = [
        float(chances @ widths)
        for chances, widths in (
            width_at(n, Proportion(n, (2, 3), (2, 3), 0.95)) for n in (150, enough, enough - 5)
        )
    ]
    assert f"Without privacy it is {lengths[0]:.4g} at n = 150" in said
    assert lengths[1] <= 0.05 < lengths[2]
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"up to epsilon = 0\.2.*a larger epsilon.*may do"
    ):
        bdp.plan(MODEL, 150, target=0.2, mechanisms="beta_binomial", epsilon=(0.1, 0.2))
    with pytest.raises(bdp.errors.InvalidInput, match="Allow a larger epsilon, a longer"):
        bdp.plan(
            MODEL, range(90, 110), target=0.01, replicates=20, epsilon=(0.1, 1),
            mechanisms=[bdp.BetaBinomialSynthesizer(epsilon=1)],
        )  # fmt: skip


def test_the_map(plan):
    axes = plan.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[-1] == f"found: epsilon = {plan.epsilon:g}"
    assert "beta_binomial, 2 copies" in labels
    assert len(labels) == len(plan.best) + 1
    again = plan.plot(axes.figure.add_subplot())
    assert again.get_xlabel() == "epsilon"
    with pytest.raises(bdp.errors.InvalidInput, match="axes is a int"):
        plan.plot(3)


# Where it is simulated.


@pytest.mark.slow
def test_a_confidential_number_of_records():
    made = bdp.BetaBinomialSynthesizer(epsilon=1, size=100, public_n=False, copies=1)
    model = bdp.BinomialModel(n=range(80, 121))
    found = bdp.plan(
        model, range(80, 121), target=0.4, mechanisms=[made], replicates=40, epsilon=(4, 8)
    )
    assert found.mechanism == "BetaBinomialSynthesizer"
    assert found.chosen["how"] == "simulated"
    assert np.isnan(found.chosen["ratio"])
    assert abs(found.chosen["coverage"] - 0.95) < 5.3 * math.sqrt(0.05 * 0.95 / 40)


@pytest.mark.slow
def test_a_count_too_large_to_list_agrees_with_listing(monkeypatch):
    """The same design both ways: within 5.3 standard errors at every epsilon."""
    options = {"target": 0.3, "mechanisms": ["beta_binomial", "discrete_laplace"], "copies": 1}
    listed = bdp.plan(MODEL, 80, epsilon=(0.5, 8), **options).table
    monkeypatch.setattr("bayesdp.evaluation.planning.engines.MOST_LISTED", 10)
    simulated = bdp.plan(MODEL, 80, epsilon=(0.5, 8), replicates=60, **options).table
    both = listed.merge(simulated, on=["mechanism", "epsilon"], suffixes=("", "_drawn"))
    assert len(both) >= 4
    assert set(both["how_drawn"]) == {"simulated"}
    assert (abs(both["width"] - both["width_drawn"]) < 5.3 * both["width_se_drawn"]).all()


@pytest.mark.slow
def test_more_answers_than_are_listed():
    """Of 6,000 the answers' posterior is drawn: its length is the normal approximation's."""
    found = bdp.plan(
        MODEL, 6000, target=0.2, mechanisms="randomized_response", replicates=20, epsilon=(1, 1.2),
        design_prior=0.5, fit_options={"draws": 2000},
    )  # fmt: skip
    truth = math.e / (1 + math.e)
    expected = 2 * 1.96 * 0.5 / math.sqrt(6000) / (2 * truth - 1)
    assert found.chosen["width"] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("model", "n", "options"),
    [
        (
            bdp.MultinomialModel(prior=(1, 2, 1)),
            120,
            {"target": 0.35, "estimand": 1, "copies": 1, "fit_options": {"draws": 1500}},
        ),
        (NORMAL, 100, {"target": 12, "mechanisms": [bdp.ModipsSynthesizer(FAMILY, copies=1)]}),
        (
            NORMAL,
            100,
            {
                "target": 20,
                "mechanisms": [bdp.ModipsSynthesizer(FAMILY, copies=1)],
                "estimand": "sigma",
            },
        ),
        (
            bdp.GaussianModel(sd=8.0),
            100,
            {
                "target": 12,
                "mechanisms": bdp.ModipsSynthesizer(
                    bdp.families.Gaussian(bounds=(100, 240), sd=8.0)
                ),
                "copies": (1, 3),
                "design_prior": (170, 3),
            },
        ),
        (
            bdp.models.GammaModel(prior=(30, 600)),
            200,
            {
                "target": 12,
                "mechanisms": [
                    bdp.ModipsSynthesizer(bdp.families.Gamma((0, 60)), copies=1, clip=True)
                ],
            },
        ),
        (
            bdp.models.PoissonModel(prior=(5, 5)),
            None,
            {
                "target": 1.3,
                "mechanisms": [
                    bdp.synthesizers.PoissonGammaSynthesizer(1.0, {"A": 30.0, "B": 90.0}, copies=1)
                ],
                "fit_options": {"draws": 500},
            },
        ),
        (
            bdp.LinearRegressionModel("pressure", predictors_prior=(0, 50, 50, 5)),
            200,
            {
                "target": 1.5,
                "mechanisms": [bdp.synthesizers.NoisyMomentsSynthesizer(BOUNDS)],
                "design_prior": ((0, 0.3), (20, 20), 20, 0.4),
                "fit_options": {"draws": 1000},
            },
        ),
    ],
    ids=["multinomial", "mu", "sigma", "sd known", "gamma", "poisson", "regression"],
)
@pytest.mark.slow
def test_every_family(model, n, options):
    found = bdp.plan(model, n, replicates=20, epsilon=(5, 8), **options)
    row = found.chosen
    assert row["how"] == "simulated"
    assert row["width"] + 2 * row["width_se"] <= options["target"]
    assert row["ratio"] > 0.9
    assert abs(row["coverage"] - 0.95) < 5.3 * math.sqrt(0.95 * 0.05 / 20)
    assert "The length is simulated" in found.why()


def noisy_mean(epsilon):
    return bdp.mechanisms.LaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=0.1, neighbours="replace_one", n=100
    )


def means(rng):
    mu = rng.normal(0, 1)
    return mu, np.clip(rng.normal(mu, 1, 100), -5, 5).mean()


@pytest.mark.slow
def test_anything_else_by_functions_of_ones_own():
    """The normal posterior's length is known where noise no longer matters."""
    found = bdp.plan(
        bdp.GaussianModel(prior=(0, 1), sd=1.0),
        target=0.6,
        simulate=means,
        reference=lambda mean: (mean - 0.2, mean + 0.2),
        mechanisms={"noisy mean": noisy_mean},
        replicates=40,
        epsilon=(0.1, 60),
    )
    assert (found.mechanism, found.copies) == ("noisy mean", 1)
    assert found.chosen["without_privacy"] == pytest.approx(0.4)
    last = found.table[found.table["epsilon"] == 60].iloc[0]
    assert last["width"] == pytest.approx(2 * 1.95996 / math.sqrt(101), rel=0.01)


class Rough:
    """A model of one's own: normal draws around what was released."""

    def fit(self, release, *, seed, width=0.1):
        draws = np.random.default_rng(seed).normal(release.outputs[0], width, (1, 4000))
        return SimpleNamespace(draws=draws)


def test_a_model_of_ones_own():
    found = bdp.plan(
        Rough(),
        target=1.2,
        simulate=means,
        mechanisms={"noisy mean": noisy_mean},
        estimand=lambda fitted: fitted.draws,
        fit_options={"width": 0.25},
        replicates=40,
        epsilon=(1, 10),
    )
    assert found.epsilon == 1
    assert found.chosen["width"] == pytest.approx(2 * 1.96 * 0.25, rel=0.02)
