"""A mechanism, a synthesizer and a model of another package work wherever those here do.

They are in `own.py`, which is all that was written for them, and known by entry points alone.
"""

from dataclasses import dataclass
from pathlib import Path

import arviz as az
import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.declarations import model_of, synthesizer_of
from tests.contracts import own

POINTS = """
[bayesdp.mechanisms]
own_noisy_count = tests.contracts.own:NoisyCountMechanism

[bayesdp.synthesizers]
own_noisy_count = tests.contracts.own:NoisyCountSynthesizer

[bayesdp.models]
own_rare = tests.contracts.own:RareModel
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """What pip leaves of a package with these entry points."""
    info = tmp_path / "installed" / "own-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(info.parent)


@pytest.fixture(scope="module")
def grouped():
    records = [0] * 36 + [1] * 4 + [0] * 15 + [1] * 10
    with bdp.reproducible(3):
        made = own.NoisyCountSynthesizer(epsilon=6.0, copies=2)
        return made.release(records, by=["a"] * 40 + ["b"] * 25)


def exact_mean(release: bdp.Release) -> float:
    """Posterior mean of a proportion without groups, by sums over p."""
    n, p = release.mechanism.n, np.linspace(0, 0.5, 20_001)[1:-1]
    x = np.arange(n + 1)
    law = sum(release.mechanism.logp(z, bdp.Count(x, n)) for z in release.outputs)
    like = stats.binom.pmf(x[:, None], n, p)
    weights = np.exp(law) @ like
    return float(weights @ p / weights.sum())


def test_they_take_fewer_than_120_lines_and_are_the_skeletons_of_the_contributing_guide():
    text = Path(own.__file__).read_text()
    assert len(text.splitlines()) < 120
    assert f"```python\n{text}```" in (ROOT / "CONTRIBUTING.md").read_text()


def test_released_with_groups_and_paid_for(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    survey = ledger.create("survey", epsilon=7.0, neighbours="replace_one")
    made = own.NoisyCountSynthesizer(epsilon=6.0, copies=2)
    promised = made.guarantee({"a": 3, "b": 2})
    release = made.release([0, 1, 1, 0, 0], by=list("aaabb"), ledger=survey)
    assert release.guarantee.epsilon == promised.epsilon <= 6.0
    assert survey.spent().epsilon == release.guarantee.epsilon
    with pytest.raises(bdp.errors.BudgetExceeded):
        made.release([0, 1], ledger=survey)


def test_saved_and_loaded(installed, grouped, tmp_path):
    loaded = bdp.Release.load(grouped.save(tmp_path / "release"))
    assert loaded.fingerprint == grouped.fingerprint
    assert loaded["a"].mechanism == own.NoisyCountMechanism(40, 20)


def test_loading_without_the_package_says_what_is_missing(grouped, tmp_path):
    folder = grouped.save(tmp_path / "release")
    with pytest.raises(bdp.errors.InvalidRelease, match="own_noisy_count"):
        bdp.Release.load(folder)


def test_its_law_is_one_and_follows_the_draws():
    mechanism = own.NoisyCountMechanism(6, 4)
    law = np.exp(mechanism.logp(mechanism.outputs(), bdp.Count(2, 6)))
    assert law.sum() == pytest.approx(1)
    with bdp.reproducible(1):
        drawn = mechanism.release(bdp.Count(2, 6), 20_000)
    found = np.bincount(drawn, minlength=7)
    assert stats.chisquare(found, 20_000 * law).pvalue > 1e-6


def test_audited():
    honest = own.NoisyCountMechanism(9, 3)
    assert bdp.audit(honest, trials=20_000).epsilon_exact == pytest.approx(np.log(3))

    class Liar(own.NoisyCountMechanism):
        def pure_epsilon(self):
            return super().pure_epsilon() / 2

    assert bdp.audit(Liar(9, 3), trials=20_000).convicted


def test_a_replacement_costs_two_moves_and_copies_add_up():
    class Counter(own.NoisyCountMechanism):
        neighbours = bdp.Neighbours.ADD_REMOVE

    one = own.NoisyCountMechanism(9, 3).pure_epsilon()
    for copies in (1, 3):
        moved = Counter(9, 3).guarantee(copies=copies, neighbours="replace_one").epsilon
        assert moved == pytest.approx(2 * copies * one)
        assert Counter(9, 3).guarantee(copies=copies).epsilon == pytest.approx(copies * one)


@pytest.mark.slow
def test_fitted_with_two_engines(grouped):
    model = own.RareModel()
    drawn = model.fit(grouped, seed=1)
    nuts = model.fit(grouped, engine="pymc", draws=1500, warmup=500, seed=1)
    assert drawn.attrs["engine_reason"] == own.RareModel.reason
    assert drawn.posterior["p"].dims == nuts.posterior["p"].dims == ("chain", "draw", "group")
    for label in "ab":
        truth = exact_mean(grouped[label])
        for idata in (drawn, nuts):
            p = idata.posterior["p"].sel(group=label)
            error = float(az.mcse(p.to_dataset(name="p"))["p"])
            assert float(p.mean()) == pytest.approx(truth, abs=5 * error)


def test_its_evidence_is_the_sum_over_counts(grouped):
    alone = grouped["b"]
    law = sum(alone.mechanism.logp(z, bdp.Count(np.arange(26), 25)) for z in alone.outputs)
    p = (np.arange(20_000) + 0.5) / 40_000
    like = np.exp(law) @ stats.binom.pmf(np.arange(26)[:, None], 25, p)
    found = bdp.log_evidence(own.RareModel(), alone)
    assert found.standard_error == 0
    assert found.log_value == pytest.approx(np.log(like.mean()), abs=1e-6)
    both = bdp.log_evidence(own.RareModel(), grouped).log_value
    other = bdp.log_evidence(own.RareModel(), grouped["a"]).log_value
    assert both == pytest.approx(found.log_value + other)
    assert bdp.compare([own.RareModel(), bdp.BinomialModel()], grouped)["probability"].sum() == 1


def test_its_outputs_are_predicted(grouped):
    model = own.RareModel()
    alone = grouped["a"]
    checked = bdp.posterior_predictive(model, model.fit(alone, seed=1), alone, draws=400, seed=2)
    outputs = checked.posterior_predictive["outputs"].to_numpy()
    assert outputs.shape == (1, 400, 2)
    mean = exact_mean(alone)  # of the count, then of the output given it: a uniform one, or itself
    expected = (19 * 40 * mean + 41 * 20) / 60
    assert outputs.mean() == pytest.approx(expected, abs=5 * outputs.std() / np.sqrt(800) + 0.5)


def test_planned(grouped):
    def simulate(rng):
        p = rng.uniform(0, 0.5)
        return p, rng.binomial(1, p, 60)

    plan = bdp.plan(
        own.RareModel(), target=0.3, mechanisms=[own.NoisyCountSynthesizer(epsilon=1.0)],
        epsilon=(1.0, 8.0), simulate=simulate, estimand="p", replicates=20,
        fit_options={"draws": 200, "chains": 2},
    )  # fmt: skip
    assert 1.0 < plan.chosen["epsilon"] < 8.0


def test_its_models_and_mechanisms_are_found_by_name(installed):
    assert model_of("own_rare", {}) == own.RareModel()
    assert synthesizer_of("own_noisy_count", {"epsilon": 2.0}) == own.NoisyCountSynthesizer(2.0)
    read = bdp.Release.of(own.NoisyCountMechanism(40, 20), [4])
    posterior = bdp.BinomialModel().fit(read, draws=100, seed=1).posterior["p"]
    assert 0 < float(posterior.mean()) < 1


def test_fitted_and_reported_from_the_command_line(installed, grouped, tmp_path, run_cli):
    folder, out = grouped.save(tmp_path / "release"), tmp_path / "posterior.nc"
    status, said, _ = run_cli(f"fit {folder} --family own_rare --out {out} --seed 1")
    assert status == 0
    assert "the latent count can be summed out" in said
    status, _, _ = run_cli(f"report {out} {folder} --out {tmp_path / 'report'}")
    assert status == 0
    assert "own_noisy_count" in (tmp_path / "report" / "index.html").read_text()


def test_what_a_mechanism_has_left_out_is_named():
    """The first promise raised AttributeError, and an audit NotImplementedError without a word."""

    @dataclass(frozen=True, slots=True)
    class Unsigned(bdp.extending.Mechanism):
        n: int
        name, source = "unsigned", "none"

    @dataclass(frozen=True, slots=True)
    class Bare(Unsigned):
        neighbours = bdp.Neighbours.REPLACE_ONE

    with pytest.raises(TypeError, match=r"Unsigned has no neighbours, .* a bdp\.Neighbours"):
        Unsigned(3)
    for call in (lambda m: m.guarantee(), lambda m: m.pairs(), lambda m: m.release(1)):
        with pytest.raises(NotImplementedError, match=r"Bare has no method (pure_eps|pairs|check)"):
            call(Bare(3))


def test_what_an_option_of_its_own_is_called():
    with pytest.raises(TypeError, match="no option 'thin'"):
        own.RareModel().fit(bdp.Release.of(own.NoisyCountMechanism(4, 2), [1]), thin=2)
