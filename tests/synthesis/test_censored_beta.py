"""The censored beta synthesizer: quadrature, what is spent and when, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.mechanisms.censored import grid as censored_grid

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    """REFERENCE: Beta(0.5, 3) quantiles at (i - 0.5) / 2000."""
    return stats.beta(0.5, 3).ppf((np.arange(1, 2001) - 0.5) / 2000)


def test_the_pseudo_posterior_is_that_of_quadrature(reference):
    """REFERENCE, "Censored beta posterior": clip [-2, 2], by quadrature."""
    summary = (
        bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).pseudo_posterior(reference).summary()
    )
    assert summary.loc["phi", "mean"] == pytest.approx(0.143345, abs=1e-5)
    assert summary.loc["phi", "sd"] == pytest.approx(0.003885, abs=1e-5)
    assert summary.loc["lambda", "mean"] == pytest.approx(6.13230, abs=1e-3)
    assert summary.loc["lambda", "sd"] == pytest.approx(0.26782, abs=1e-3)


def test_samples_are_of_the_same_law(reference):
    """Within 6 Monte Carlo standard errors; quantiles by binomial tests at 1e-6."""
    posterior = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).pseudo_posterior(reference)
    k = 2000
    summary, draws = posterior.summary([0.1, 0.5, 0.9]), posterior.sample(k, seed=1)
    assert list(draws) == ["phi", "lambda"]
    for name in draws:
        mean, sd, *quantiles = summary.loc[name]
        assert draws[name].mean() == pytest.approx(mean, abs=6 * sd / math.sqrt(k))
        for level, value in zip((0.1, 0.5, 0.9), quantiles, strict=True):
            below = int((draws[name] < value).sum())
            assert stats.binomtest(below, k, level).pvalue > 1e-6
    assert posterior.sample(5, seed=2).equals(posterior.sample(5, seed=2))


@pytest.mark.parametrize(
    ("y", "options"),
    [
        ([0.2], {}),
        ([0.3] * 50, {"epsilon": 20.0}),
        ([1e-5, 0.999] * 30, {"center": 1.0, "prior_phi": (2.0, 0.5)}),
        ([0.1, 0.2, 0.7], {"grid": (6, 5)}),
    ],
)
def test_moments_of_odd_posteriors(y, options):
    """Against every record on a lattice of our own; wide, flat and narrow laws."""
    made = bdp.synthesizers.CensoredBetaSynthesizer(**({"epsilon": 4.0} | options))
    law = made.pseudo_posterior(y).law
    grid = law.grid
    points = [min(1 << bits, most) for bits, most in zip(grid.bits, (900, 4000), strict=True)]
    phi = ((np.arange(points[0]) + 0.5) / points[0])[:, None]
    log_lam = math.log(0.1) + math.log(1e4) * (np.arange(points[1]) + 0.5) / points[1]
    lam = np.exp(log_lam)
    total = stats.beta(*grid.prior_phi).logpdf(phi) - 1.5 * log_lam
    for value, times in zip(*np.unique(y, return_counts=True), strict=True):
        density = stats.beta(lam * phi, lam * (1 - phi)).logpdf(value)
        total = total + times * np.clip(density, law.low, law.high)
    p = np.exp(total - total.max())
    p /= p.sum()
    summary = made.pseudo_posterior(y).summary()
    for name, values, weights in (("phi", phi[:, 0], p.sum(1)), ("lambda", lam, p.sum(0))):
        mean = weights @ values
        sd = math.sqrt(weights @ (values - mean) ** 2)
        assert summary.loc[name, "mean"] == pytest.approx(mean, abs=2e-3 * sd)
        assert summary.loc[name, "sd"] == pytest.approx(sd, rel=2e-3)


def test_clipped_records_and_the_lipschitz_bound(reference):
    posterior = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).pseudo_posterior(reference)
    phi, lam = posterior.summary()["mean"]
    density = stats.beta(lam * phi, lam * (1 - phi)).logpdf(reference)
    assert posterior.censored == np.sum(np.abs(density) > posterior.law.high)
    assert posterior.lipschitz == posterior.law.high
    wide = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=400.0).pseudo_posterior(reference)
    largest = max(
        np.abs(stats.beta(lam * phi, lam * (1 - phi)).logpdf(reference)).max()
        for phi, lam in wide.sample(1000, seed=0).to_numpy()
    )
    assert wide.censored == 0
    assert wide.lipschitz == pytest.approx(largest, rel=1e-9)
    assert "0." not in repr(posterior)


def test_the_signature_and_the_promise(reference):
    made = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=4.0, copies=2, neighbours="add_remove", center=0.0, weights=None, engine="grid"
    )
    release = made.release(reference, size=700)
    assert release.copies == 2
    assert release.guarantee == made.guarantee()
    assert release.guarantee.epsilon <= 4.0
    assert release.guarantee.epsilon == pytest.approx(4.0, abs=1e-8)
    assert release.guarantee.strength is bdp.Strength.PROVED
    assert release.guarantee.neighbours is bdp.Neighbours.ADD_REMOVE
    low, high = release.mechanism.interval
    assert high - low == pytest.approx(2.0, abs=1e-8)
    assert [len(frame) for frame in release.to_frames()] == [700, 700]
    replaced = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=4.0, neighbours="replace_one", center=1.0
    )
    low, high = replaced.release(reference).mechanism.interval
    assert (low, high) == pytest.approx((0.0, 2.0), abs=1e-8)
    assert len(replaced.release(reference).outputs[0]) == 2000


def test_the_synthetic_records_resemble_a_draw(reference):
    """Their moments, over 40 copies, are those of the posterior's predictive law."""
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    phi = made.pseudo_posterior(reference).summary().loc["phi"]
    mechanism = made.release(reference, size=500).mechanism
    with bdp.reproducible(1):
        means = mechanism.release(reference, copies=40).mean(axis=1)
    spread = math.hypot(phi["sd"], 0.13 / math.sqrt(500))
    assert means.mean() == pytest.approx(phi["mean"], abs=5 * spread / math.sqrt(40))
    assert 0.5 < means.std() / spread < 2


def test_the_manifest_says_nothing_of_the_records(reference, tmp_path):
    series = pd.Series(reference, name="share")
    release = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).release(series, size=9)
    release.save(tmp_path / "out")
    text = (tmp_path / "out" / "manifest.json").read_text()
    assert '"share"' in text
    assert '"n": null' in text
    assert 'censored"' not in text
    assert bdp.Release.load(tmp_path / "out") == release


def test_releases_differ_and_seeded_ones_do_not(reference):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    one, other = (made.release(reference, size=20) for _ in range(2))
    assert one.outputs != other.outputs
    with bdp.reproducible(5):
        first = made.release(reference, size=20)
    with bdp.reproducible(5):
        again = made.release(np.flip(reference), size=20)
    assert first.outputs == again.outputs
    assert first.guarantee.epsilon == math.inf


@pytest.fixture
def dataset(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("records", epsilon=5.0, neighbours="add_remove")
    return ledger.dataset("records")


def test_the_ledger_is_spent_before_anything_is_drawn(dataset, reference, monkeypatch):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)

    def stop(self, count):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(censored_grid.ClippedPosterior, "draw", stop)
        with pytest.raises(KeyboardInterrupt):
            made.release(reference, ledger=dataset)
    assert dataset.remaining().epsilon == pytest.approx(1.0, abs=1e-8)
    with pytest.raises(bdp.errors.BudgetExceeded):
        made.release(reference, ledger=dataset)


PUBLIC = bdp.synthesizers.PublicWeights(2.0, phi=(0.05, 0.5), lam=(1.0, 20.0))
BAD_DATA = [
    ([0.25, 0.0], "at 0 or 1"),
    ([0.25, 1.0], "at 0 or 1"),
    ([0.25, -0.5], "outside"),
    ([0.25, 1.75], "outside"),
    ([0.25, math.nan], "missing"),
    ([0.25, math.inf], "outside"),
    ([[0.25], [0.5]], "one column"),
    (["a", "b"], "one column"),
    ([True, False], "at 0 or 1"),
    (0.25, "one column"),
    (None, "one column"),
]


@pytest.mark.parametrize("weights", [None, PUBLIC, lambda record: np.ones(1)])
def test_no_records_are_released_from_as_any_others(dataset, weights):
    """A refusal would tell them from one record, under add/remove-one."""
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
    assert len(made.release([], size=7, ledger=dataset).outputs[0]) == 7
    posterior = made.pseudo_posterior([])
    assert posterior.summary().loc["phi", "mean"] == pytest.approx(0.5, abs=1e-6)  # the prior's
    assert posterior.summary().loc["phi", "sd"] == pytest.approx(12**-0.5, rel=1e-3)
    assert posterior.lipschitz == posterior.censored == 0


@pytest.mark.parametrize("engine", ["stan", "pymc"])
def test_chains_need_a_record(engine):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, engine=engine)
    with pytest.raises(bdp.errors.InvalidInput, match="data is empty"):
        made.release([])
    if engine == "pymc":
        with pytest.raises(bdp.errors.InvalidInput, match="fewer than two records"):
            made.release([0.5])
    assert any("at least two records" in each for each in made.guarantee().assumptions)


@pytest.mark.parametrize(("data", "message"), BAD_DATA)
def test_bad_data_are_refused_and_nothing_is_spent(data, message, dataset):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        made.release(data, ledger=dataset)
    assert dataset.remaining().epsilon == 5.0
    for secret in ("0.25", "1.75", "0.5]", "'a'"):
        assert secret not in str(error.value)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made.pseudo_posterior(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"copies": 0}, "copies"),
        ({"neighbours": "edge"}, "neighbours"),
        ({"center": math.nan}, "center"),
        ({"center": "0"}, "center"),
        ({"engine": "nuts"}, "engine is 'nuts'; it must be 'grid'"),
        ({"weights": [1.0, -0.5]}, "weights must be"),
        ({"weights": [1.0, math.nan]}, "weights must be"),
        ({"weights": np.ma.array([1.0, 0.5], mask=[0, 1])}, "weights must be"),
        ({"weights": [[1.0, 0.5]]}, "weights must be"),
        ({"weights": [1001.0]}, "from 0 to 1000"),
        ({"weights": "fitted"}, "weights must be"),
        ({"prior_phi": (1.0, 0.0)}, "prior_phi"),
        ({"prior_lambda": (0.0, 1.5)}, "prior_lambda.*Pareto"),
        ({"largest": 0.05}, "largest"),
        ({"grid": (64, 64)}, "grid"),
        ({"epsilon": 1e15, "copies": 2}, "for 2 copies; it may be at most 4e.09"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.CensoredBetaSynthesizer(**({"epsilon": 4.0} | options))


@pytest.mark.parametrize("size", [0, -1, 2.5])
def test_a_bad_size_is_refused_and_nothing_is_spent(size, dataset):
    with pytest.raises(bdp.errors.InvalidInput, match="size"):
        bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0).release(
            [0.5], size=size, ledger=dataset
        )
    assert dataset.remaining().epsilon == 5.0


def by_the_record(y):
    return np.minimum(1.0, 5 * y)


@pytest.mark.parametrize("kind", ["vector", "function"])
def test_weights_of_every_kind_are_the_same_release(kind, reference):
    weights = by_the_record(reference) if kind == "vector" else by_the_record
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
    with bdp.reproducible(1):
        release = made.release(reference, size=20)
    posterior = made.pseudo_posterior(reference)
    assert release.mechanism.weights == "attached"
    assert release.mechanism.epsilon() == made.guarantee().epsilon <= 4.0
    assert made.guarantee().strength is bdp.Strength.PROVED
    assert any("together with its weight" in text for text in made.guarantee().assumptions)
    attached = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=4.0, weights=by_the_record(reference)
    )
    with bdp.reproducible(1):
        assert attached.release(reference, size=20).outputs == release.outputs
    terms = np.sort(posterior.law.weights)
    assert np.array_equal(terms, np.sort(by_the_record(reference)))
    phi, lam = posterior.summary()["mean"]
    density = by_the_record(reference) * stats.beta(lam * phi, lam * (1 - phi)).logpdf(reference)
    assert posterior.censored == np.sum(np.abs(density) > posterior.law.high)
    wide = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=400.0, weights=weights
    ).pseudo_posterior(reference)
    largest = max(
        np.abs(
            by_the_record(reference) * stats.beta(lam * p, lam * (1 - p)).logpdf(reference)
        ).max()
        for p, lam in wide.sample(1000, seed=0).to_numpy()
    )
    assert wide.lipschitz == pytest.approx(largest, rel=1e-9)


def test_a_function_sees_one_record_at_a_time(reference):
    """What would depend on the other records gets none: y / max(y) is 1."""
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=lambda y: y / y.max())
    assert np.all(made.pseudo_posterior(reference).law.weights == 1)


def test_public_weights_are_in_the_manifest_and_assume_nothing(reference, tmp_path):
    weights = bdp.synthesizers.PublicWeights(2.0, phi=(0.05, 0.5), lam=(1.0, 20.0))
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
    release = made.release(reference, size=9)
    assert not any("weight" in text for text in release.guarantee.assumptions)
    release.save(tmp_path / "out")
    assert bdp.Release.load(tmp_path / "out").mechanism.weights == weights
    assert np.array_equal(
        np.sort(made.pseudo_posterior(reference).law.weights), np.sort(weights(reference))
    )


@pytest.mark.parametrize(
    "weights", [[0.5], [0.5, 1.0, 1.0], lambda y: np.ones(2), lambda y: -y, lambda y: "a"]
)
def test_weights_that_do_not_fit_are_refused_and_nothing_is_spent(weights, dataset):
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
    with pytest.raises(bdp.errors.InvalidInput, match="weights must be"):
        made.release([0.25, 0.5], ledger=dataset)
    assert dataset.remaining().epsilon == 5.0


@pytest.mark.parametrize(
    "make",
    [
        bdp.synthesizers.CensoredBetaSynthesizer,
        lambda **given: bdp.synthesizers.CensoredRegressionSynthesizer(family="normal", **given),
    ],
)
def test_weights_in_another_order_than_the_records_are_refused(make):
    """They were taken by position, as groups never are."""
    records, weights = pd.Series([0.2, 0.5], index=[7, 3]), pd.Series([1.0, 0.1], index=[3, 7])
    with pytest.raises(bdp.errors.InvalidInput, match="weights and data have different indexes"):
        make(epsilon=4.0, weights=weights, size=3).release(records)


def test_the_error_of_a_function_of_weights_is_not_shown(dataset):
    def weights(record):
        raise ValueError(f"record {record}")

    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
    with pytest.raises(bdp.errors.InvalidInput, match="weights raises an error") as refused:
        made.release([0.123, 0.5], ledger=dataset)
    assert "0.123" not in str(refused.value)
    assert refused.value.__suppress_context__
    assert dataset.remaining().epsilon == 5.0


@pytest.mark.parametrize("quantiles", [[0.0], [1.5], 0.5])
def test_bad_quantiles_are_refused(quantiles):
    posterior = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, grid=(3, 3)).pseudo_posterior(
        [0.5]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="quantiles"):
        posterior.summary(quantiles)
